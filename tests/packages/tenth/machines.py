"""The tenth set: electric drives, gas at high speed, wells that decline, and the magnetosphere."""

import warnings
from typing import Any, Final

import numpy as np
from geopack import t01, t04, t89, t96
from motulator.common.control import PWM, ComplexPIController, PIController
from motulator.common.utils import abc2complex, complex2abc
from motulator.drive.control.sm import TorqueCharacteristics
from motulator.drive.model import InductionMachine, SynchronousMachine
from motulator.drive.utils import (
    InductionMachineInvGammaPars,
    InductionMachinePars,
    SynchronousMachinePars,
)
from petbox import dca
from pygasflow import isentropic, shockwave
from pygasflow.solvers import fanno_solver, isentropic_solver, rayleigh_solver

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
PLACES: Final = (
    np.array([-5.1, 0.3, 2.8]),
    np.array([-4.2, 3.1, -1.7]),
    np.array([3.9, -2.2, 1.4]),
)
MACHS: Final = (np.float64(2.3), np.float64(1.7), np.float64(3.1))
DAYS: Final = np.array([10.0, 55.0, 210.0, 800.0, 2900.0])


def steered(number: Any) -> Any:
    par = SynchronousMachinePars(n_p=3, R_s=3.6, L_d=0.036 * number[0], L_q=0.051, psi_f=0.545)
    curve = TorqueCharacteristics(par)
    currents = curve.mtpa(np.array([2.0, 5.0, 9.0]) * number[1])
    fluxes = curve.flux(currents)
    return np.sum(curve.torque(fluxes)) + np.abs(curve.mtpv(0.6 * number[1]))


def spun(number: Any) -> Any:
    par = InductionMachinePars.from_inv_gamma_model_pars(
        InductionMachineInvGammaPars(n_p=2, R_s=3.7, R_R=2.1 * number[0], L_sgm=0.021, L_M=0.224)
    )
    machine = InductionMachine(par)
    machine.inp.u_ss, machine.inp.w_M = 300.0 + 0j, 150.0 * number[1]
    for _ in range(20):
        machine.set_outputs(0.0)
        stator, rotor = machine.rhs()
        machine.state.psi_ss = machine.state.psi_ss + 1e-4 * stator
        machine.state.psi_rs = machine.state.psi_rs + 1e-4 * rotor
    return machine.tau_M + np.abs(machine.i_ss)


def switched(number: Any) -> Any:
    pwm = PWM(overmodulation="MME")
    speed = PIController(2.0 * number[0], 5.0, max_u=14.0)
    current = ComplexPIController(3.0, 7.0 * number[1])
    total = 0.0
    for k in range(8):
        torque = speed.output(10.0 * number[1], 3.0 + 0.4 * k)
        speed.update(1e-3, torque)
        voltage = current.output(torque + 1j * number[0], 2.0 + 0.5j, u_ff=40.0)
        current.update(1e-3, voltage, 30.0)
        ratios, realized = pwm.output(1e-3, voltage, 540.0, 310.0)[:2]
        pwm.update(realized)
        total = total + np.sum(ratios**2) + np.abs(realized) / 100.0
    return total + np.sum(complex2abc(abc2complex(np.append(number, 0.3))) ** 2)


def salient(number: Any) -> Any:
    par = SynchronousMachinePars(n_p=2, R_s=0.54, L_d=0.0415, L_q=0.0062 * number[0], psi_f=0.0)
    machine = SynchronousMachine(par, psi_s0=0.4 * number[1] + 0.1j)
    machine.inp.u_ss, machine.inp.w_M = 120.0 + 30.0j, 60.0
    machine.state.exp_j_theta_m = np.exp(0.3j)
    machine.set_outputs(0.0)
    slope = machine.rhs()
    return machine.tau_M + np.abs(slope[0]) + np.abs(machine.i_s)


def choked(mach: Any) -> Any:
    ratios = isentropic.get_ratios_from_mach(mach, 1.4)
    angle = isentropic.prandtl_meyer_angle(mach)
    back = isentropic.m_from_prandtl_meyer_angle(0.9 * angle)
    return sum(np.sum(ratio) for ratio in ratios) + angle / 10.0 + np.sum(back)


def shocked(mach: Any) -> Any:
    beta = shockwave.beta_from_mach_theta(mach, 6.0)
    behind = shockwave.oblique_mach_downstream(mach, theta=6.0)
    turning = shockwave.theta_from_mach_beta(mach, 48.0)
    return beta["weak"] + np.sum(behind) + turning + shockwave.rayleigh_pitot_formula(mach)


def heated(mach: Any) -> Any:
    fanno = fanno_solver("m", mach)
    rayleigh = rayleigh_solver("m", mach)
    return sum(np.sum(x) for x in fanno) + sum(np.sum(x) for x in rayleigh)


def inverted(mach: Any) -> Any:
    ratio = isentropic.pressure_ratio(mach)
    flow = isentropic_solver("pressure", ratio, gamma=1.33)
    area = isentropic.m_from_critical_area_ratio(1.0 + mach, "super")
    return flow[0] + flow[5] + np.sum(area)


def declining(number: Any) -> Any:
    curve = dca.THM(1000.0 * number[0], 0.8, 2.0, 0.4 * number[1], 30.0)
    return np.sum(curve.rate(DAYS)) / 1e3 + np.sum(curve.cum(DAYS)) / 1e5 + np.sum(curve.b(DAYS))


def hyperbolic(number: Any) -> Any:
    curve = dca.MH(1000.0, 0.5 + 0.2 * number[0], 0.6 * number[1], 0.08)
    volumes = curve.monthly_vol(DAYS)
    return np.sum(curve.rate(DAYS)) / 1e3 + np.sum(volumes) / 1e4 + np.sum(curve.D(DAYS))


def stretched(number: Any) -> Any:
    curve = dca.SE(1000.0, 60.0 * number[0], 0.3 * number[1])
    power = dca.PLE(1000.0, 0.02 * number[0], 0.001, 0.4 * number[1])
    duong = dca.Duong(1000.0, 1.2 + number[0], 1.1 + 0.1 * number[1])
    rates = [x.rate(DAYS) + x.cum(DAYS) / 100.0 for x in (curve, power, duong)]
    return sum(np.sum(x) for x in rates) / 1e3


def yielding(number: Any) -> Any:
    curve = dca.THM(1000.0, 0.8, 2.0, 0.8, 30.0)
    curve.add_secondary(dca.PLYield(1000.0 * number[0], -0.1 * number[1], 0.0, 180.0))
    slope = dca.bourdet(number[0] * DAYS ** number[1], DAYS, 0.35)
    return (
        np.sum(curve.secondary.gor(DAYS)) / 1e3 + np.sum(curve.secondary.cum(DAYS)) / 1e5
        + np.sum(slope[1:-1]) / 1e3
    )  # fmt: skip


def tailed(place: Any) -> Any:
    field = t89.t89(3, 0.3, *place)
    return field[0] + 2.0 * field[1] - field[2]


def windy(place: Any) -> Any:
    field = t96.t96([2.0, -20.0, 1.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], 0.3, *place)
    return field[0] + 2.0 * field[1] - field[2]


def ringed(place: Any) -> Any:
    storm = [3.0, -30.0, 2.0, -4.0, 5.0, 8.0, 0.0, 0.0, 0.0, 0.0]
    field = t01.t01(storm, 0.2, *place)
    return field[0] + 2.0 * field[1] - field[2]


def stormy(place: Any) -> Any:
    storm = [3.0, -30.0, 2.0, -4.0, 0.4, 0.3, 0.6, 0.9, 0.5, 1.2]
    field = t04.t04(storm, 0.2, *place)
    return field[0] + 2.0 * field[1] - field[2]


ROWS: Final = (
    Row("motulator", "TorqueCharacteristics", steered, NUMBERS),
    Row("motulator", "InductionMachine.rhs", spun, NUMBERS),
    Row("motulator", "PWM, PIController", switched, NUMBERS),
    Row("motulator", "SynchronousMachine", salient, NUMBERS),
    Row("pygasflow", "prandtl_meyer_angle", choked, MACHS),
    Row("pygasflow", "beta_from_mach_theta", shocked, MACHS),
    Row("pygasflow", "fanno_solver", heated, MACHS),
    Row("pygasflow", "isentropic_solver", inverted, MACHS),
    Row("petbox-dca", "THM", declining, NUMBERS),
    Row("petbox-dca", "MH", hyperbolic, NUMBERS),
    Row("petbox-dca", "SE, PLE, Duong", stretched, NUMBERS),
    Row("petbox-dca", "PLYield, bourdet", yielding, NUMBERS),
    Row("geopack", "t89", tailed, PLACES),
    Row("geopack", "t96", windy, PLACES),
    Row("geopack", "t01", ringed, PLACES),
    Row("geopack", "t04", stormy, PLACES),
)
