"""Decisions and power: electricpy, empyrical-reloaded, nashpy, pingouin."""

from typing import Any, Final

import electricpy
import empyrical
import nashpy
import numpy as np
import pingouin
from electricpy import conversions, fault, machines
from nashpy.learning import imitation_dynamics, replicator_dynamics

from packages.row import Row

RETURNS: Final = (
    np.array([0.01, -0.02, 0.03, 0.015, -0.005, 0.02]),
    np.array([0.02, 0.01, -0.01, 0.005, -0.015, 0.03]),
    np.array([-0.01, 0.012, 0.025, -0.03, 0.01, 0.007]),
)
MARKET: Final = np.array([0.011, -0.0015, 0.0085, 0.016, -0.009, 0.006])
PHASES: Final = (
    np.array([1.0, 2.0, 4.0]),
    np.array([2.0, 0.5, 1.0]),
    np.array([-1.0, 3.0, 0.3]),
)
PAYOFFS: Final = np.array([[3.0, 1.0], [0.0, 2.0]])
GAMES: Final = (PAYOFFS, PAYOFFS * 1.2, PAYOFFS + np.array([[0.1, 0.3], [0.2, -0.1]]))
MIXED: Final = (np.array([0.3, 0.7]), np.array([0.5, 0.5]), np.array([0.8, 0.2]))
SAMPLES: Final = (
    np.array([1.0, 2.5, 3.1, 4.7]),
    np.array([0.5, 2.2, 1.1, 3.7]),
    np.array([2.0, 1.5, 2.6, 0.7]),
)
OTHERS: Final = np.array([2.0, 2.2, 3.5, 6.0])


def machine(slip: Any) -> Any:
    inductances = {"Lm": 0.05, "Lls": 0.002, "Llr": 0.002}
    return machines.indmachpem(slip, 0.2, Vas=230.0, Rs=0.1, **inductances)


def equilibrium(payoffs: Any) -> Any:
    strategies = list(nashpy.Game(payoffs, PAYOFFS.T).support_enumeration())
    return sum(np.sum(row * np.array([1.0, 2.0]) + column**2) for row, column in strategies)


def replicated(payoffs: Any) -> Any:
    game = nashpy.Game(payoffs)
    return game.replicator_dynamics(y0=MIXED[0], timepoints=np.linspace(0, 1, 3))[-1, 0]


ROWS: Final = (
    Row(
        "electricpy",
        "tap_changing_transformer",
        lambda p: electricpy.tap_changing_transformer(1.0, 0.95, p, 0.1, 0.01, 0.1),
        (0.3, 0.5, 0.8),
    ),
    Row(
        "electricpy",
        "suspension_insulators",
        lambda c: electricpy.suspension_insulators(4, c, 33.0)[1],
        (0.2, 0.1, 0.3),
    ),
    Row(
        "electricpy",
        "fault.toctriptime",
        lambda current: fault.toctriptime(current, 2.0, 1.5),
        (10.0, 5.0, 20.0),
    ),
    Row(
        "electricpy",
        "conversions.abc_to_seq",
        lambda v: np.sum(np.abs(conversions.abc_to_seq(v + 0.5j)) ** 2 * np.arange(3.0)),
        PHASES,
    ),
    Row("electricpy", "machines.indmachpem", machine, (0.03, 0.05, 0.1)),
    Row("empyrical-reloaded", "sharpe_ratio", empyrical.sharpe_ratio, RETURNS),
    Row("empyrical-reloaded", "sortino_ratio", empyrical.sortino_ratio, RETURNS),
    Row("empyrical-reloaded", "max_drawdown", empyrical.max_drawdown, RETURNS),
    Row(
        "empyrical-reloaded",
        "beta_aligned",
        lambda r: empyrical.beta_aligned(r, MARKET),
        RETURNS,
    ),
    Row("nashpy", "Game[...]", lambda x: nashpy.Game(PAYOFFS)[x, MIXED[1]][0], MIXED),
    Row(
        "nashpy",
        "get_derivative_of_fitness",
        lambda x: replicator_dynamics.get_derivative_of_fitness(x, 0.0, PAYOFFS)[0],
        MIXED,
    ),
    Row("nashpy", "Game.support_enumeration", equilibrium, GAMES),
    Row(
        "nashpy",
        "imitation_dynamics.payoff",
        lambda x: imitation_dynamics.payoff(x, MIXED[2], PAYOFFS),
        MIXED,
    ),
    Row(
        "nashpy",
        "Game.replicator_dynamics",
        replicated,
        GAMES,
        tolerance=1e-4,
        rounding=1e-6,
    ),
    Row(
        "pingouin",
        "compute_effsize",
        lambda x: pingouin.compute_effsize(x, OTHERS, eftype="hedges"),
        SAMPLES,
    ),
    Row("pingouin", "circ_r", pingouin.circ_r, SAMPLES),
    Row("pingouin", "harrelldavis", lambda x: pingouin.harrelldavis(x, 0.5), SAMPLES),
    Row("pingouin", "bicor", lambda x: pingouin.correlation.bicor(x, OTHERS)[0], SAMPLES),
)
