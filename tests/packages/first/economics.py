"""Economics and control: control, numpy-financial, quantecon."""

from typing import Any, Final

import control
import numpy as np
import numpy_financial as npf
import quantecon as qe
from quantecon import inequality

from packages.row import Row

GAINS: Final = (2.0, 3.0, 5.0)
RATES: Final = (0.05, 0.06, 0.1)
SCALES: Final = (0.9, 1.0, 1.1)
INPUT: Final = np.array([[0.0], [1.0]])
SHIFT: Final = np.array([[0.5, 0.1], [0.0, 0.3]])
INCOMES: Final = (
    np.array([1.0, 2.0, 5.0]),
    np.array([2.0, 2.5, 3.0]),
    np.array([1.0, 9.0, 4.0]),
)
PAYMENTS: Final = (
    np.array([-1000.0, 300.0, 500.0, 600.0]),
    np.array([-900.0, 300.0, 500.0, 600.0]),
    np.array([-1000.0, 400.0, 500.0, 500.0]),
)


def dynamics(gain: Any) -> Any:
    return np.array([[0.0, 1.0], [-1.0, -2.0]]) * gain


def system(gain: Any) -> Any:
    return control.ss(dynamics(gain), INPUT, np.array([[1.0, 0.0]]), 0.0)


def response(gain: Any) -> Any:
    return control.forced_response(system(gain), np.linspace(0, 1, 5), np.ones(5)).outputs[-1]


def regulator(scale: Any) -> Any:
    problem = qe.LQ(np.eye(1), np.eye(2), scale * SHIFT, np.ones((2, 1)), beta=0.95)
    return np.sum(problem.stationary_values()[0])


def estimate(scale: Any) -> Any:
    space = qe.LinearStateSpace(scale * SHIFT, np.eye(2), np.array([[1.0, 0.0]]), np.eye(1))
    kalman = qe.Kalman(space, np.zeros(2), np.eye(2))
    kalman.update(np.array([[1.0]]))
    return kalman.x_hat[0, 0]


ROWS: Final = (
    Row("control", "tf", lambda k: np.abs(control.tf([k], [1.0, 2.0, k])(1j)), GAINS),
    Row(
        "control",
        "ss.frequency_response",
        lambda k: system(k).frequency_response([1.0]).magnitude.ravel()[0],
        GAINS,
    ),
    Row("control", "ss.dcgain", lambda k: system(k).dcgain(), GAINS),
    Row("control", "forced_response", response, GAINS),
    Row(
        "control",
        "lqr",
        lambda k: np.sum(control.lqr(dynamics(k), INPUT, np.eye(2), np.eye(1))[0]),
        GAINS,
    ),
    Row("numpy-financial", "pv", lambda r: npf.pv(r, 10, -100.0), RATES),
    Row("numpy-financial", "fv", lambda r: npf.fv(r, 10, -100.0, -50.0), RATES),
    Row("numpy-financial", "pmt", lambda r: npf.pmt(r, 10, 1000.0), RATES),
    Row("numpy-financial", "npv", lambda r: npf.npv(r, [-1000.0, 300.0, 500.0, 600.0]), RATES),
    Row("numpy-financial", "irr", npf.irr, PAYMENTS),
    Row(
        "numpy-financial",
        "rate",
        lambda p: npf.rate(10, p, 3500.0, -10000.0),
        (-100.0, -150.0, -50.0),
    ),
    Row(
        "quantecon",
        "solve_discrete_lyapunov",
        lambda a: np.sum(qe.solve_discrete_lyapunov(a * SHIFT, np.eye(2))),
        SCALES,
    ),
    Row(
        "quantecon",
        "solve_discrete_riccati",
        lambda a: np.sum(
            qe.solve_discrete_riccati(a * SHIFT, np.ones((2, 1)), np.eye(2), np.eye(1))
        ),
        SCALES,
    ),
    Row("quantecon", "gini_coefficient", inequality.gini_coefficient, INCOMES),
    Row("quantecon", "LQ.stationary_values", regulator, SCALES),
    Row("quantecon", "Kalman.update", estimate, SCALES),
)
