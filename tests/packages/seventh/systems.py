"""The seventh set: block diagrams, crystals, multilayers, and steam."""

import warnings
from typing import Any, Final

import numpy as np
import PyMoosh
import pyromat
import pythtb
from pathsim import Connection, Simulation
from pathsim.blocks import (
    ODE,
    PID,
    Adder,
    Amplifier,
    Constant,
    Function,
    Integrator,
    Scope,
    SinusoidalSource,
    TransferFunctionNumDen,
)  # fmt: skip
from pathsim.solvers import ESDIRK32, RK4, RKCK54
from PyMoosh import modes, vectorized

from packages.row import Row

warnings.filterwarnings("ignore")

RATES: Final = (np.array([0.8, 0.5]), np.array([1.1, 0.3]), np.array([0.6, 0.9]))
STATES: Final = (np.array([0.3, -0.8]), np.array([-0.6, 0.4]), np.array([0.9, 0.2]))


def oscillator(rate: Any) -> Any:
    speed, place = Integrator(0.0), Integrator(1.0)
    damping, spring, total = Amplifier(-rate[0]), Amplifier(-3.0 * rate[1]), Adder()
    scope = Scope()
    simulation = Simulation(
        [speed, place, damping, spring, total, scope],
        [
            Connection(speed, place, damping),
            Connection(place, spring, scope),
            Connection(damping, total),
            Connection(spring, total[1]),
            Connection(total, speed),
        ],
        dt=0.05, Solver=RK4, log=False,
    )  # fmt: skip
    simulation.run(1.5)
    _, data = scope.read()
    return np.sum(data[0] ** 2)


def predators(rate: Any) -> Any:
    def change(x: Any, u: Any, t: float) -> Any:
        return np.array([x[0] * (rate[0] - x[1]), x[1] * (rate[1] * x[0] - 1.0)])

    block = ODE(change, np.array([1.2, 0.7]))
    simulation = Simulation([block], [], dt=0.1, Solver=RKCK54, log=False,
                            tolerance_lte_abs=1e-9, tolerance_lte_rel=1e-8)  # fmt: skip
    simulation.run(2.0)
    return np.sum(block.engine.state * [1.0, 2.0])


def controlled(rate: Any) -> Any:
    target, error = Constant(1.0), Adder("+-")
    controller = PID(Kp=2.0 * rate[0], Ki=rate[1], Kd=0.0)
    plant = TransferFunctionNumDen(Num=[1.0], Den=[1.0, rate[0], 1.0])
    simulation = Simulation(
        [target, error, controller, plant],
        [
            Connection(target, error[0]),
            Connection(plant, error[1]),
            Connection(error, controller),
            Connection(controller, plant),
        ],
        dt=0.1, Solver=ESDIRK32, log=False,
    )  # fmt: skip
    simulation.run(1.0, adaptive=False)
    return np.sum(plant.engine.state) + plant.outputs[0]


def driven(rate: Any) -> Any:
    source, shape = SinusoidalSource(2.0, rate[0], 0.3), Function(lambda u: np.tanh(2.0 * u))
    tank = Integrator(rate[1])
    simulation = Simulation(
        [source, shape, tank], [Connection(source, shape), Connection(shape, tank)],
        dt=0.05, log=False,
    )  # fmt: skip
    simulation.run(0.7)
    return tank.outputs[0] + simulation.blocks[2].engine.state.sum()


def graphene(rate: Any) -> Any:
    lattice = [[1.0, 0.0], [0.5, np.sqrt(3.0) / 2.0]]
    model = pythtb.tb_model(2, 2, lattice, [[1 / 3, 1 / 3], [2 / 3, 2 / 3]])
    model.set_onsite([-rate[1], rate[1]])
    for cell in ([0, 0], [-1, 0], [0, -1]):
        model.set_hop(-rate[0], 0, 1, cell)
    return model


def bands(rate: Any) -> Any:
    points = np.array([[0.1, 0.2], [0.3, -0.1], [0.45, 0.25]])
    energies = graphene(rate).solve_all(points)
    return np.sum(energies**3) + np.sum(energies[1] * [1.0, 2.0, 3.0])


def phases(rate: Any) -> Any:
    chain = pythtb.tb_model(1, 1, [[1.0]], [[0.0], [0.5]])
    chain.set_onsite([rate[1], -rate[1]])
    chain.set_hop(rate[0], 0, 1, [0])
    chain.set_hop(0.4 + 0.2j, 1, 0, [1])
    waves = pythtb.wf_array(chain, [15])
    waves.solve_on_grid([0.0])
    return waves.berry_phase([0])


def ribbon(rate: Any) -> Any:
    cut = graphene(rate).cut_piece(3, 0)
    cut.set_hop(0.2 * rate[1], 0, 2, [0, 0], mode="add")
    energies, states = cut.solve_one([0.2], eig_vectors=True)
    places = cut.position_expectation(states, 0)
    return np.sum(energies[:3] ** 2) + places[0] + cut.get_num_orbitals()


def stack(rate: Any) -> Any:
    return PyMoosh.Structure(
        [1.0, 2.25 + 0.3 * rate[1], 5.0 + 0.1j], [0, 2, 1, 2, 0],
        [0.0, 100.0 * rate[0], 150.0, 80.0, 0.0], verbose=False,
    )  # fmt: skip


def reflected(rate: Any) -> Any:
    r, t, whole, through = PyMoosh.coefficient(stack(rate), 600.0, 0.4 * rate[1], 1)
    return whole + through + np.real(r) + np.abs(t)


def absorbed(rate: Any) -> Any:
    shares, _, _, _, _ = PyMoosh.absorption(stack(rate), 550.0, 0.3, 0)
    _, _, _, whole, _ = vectorized.angular(stack(rate), 550.0, 1, 0.0, 60.0, 5)
    return np.sum(np.real(shares)) + np.sum(whole)


def guided(rate: Any) -> Any:
    core = PyMoosh.Structure([1.0, 4.0 + 0.2 * rate[0], 2.0], [0, 1, 2],
                             [200.0, 300.0 + 20.0 * rate[1], 200.0], verbose=False)  # fmt: skip
    mode = modes.steepest(1.85 + 0j, 1e-12, 1000, core, 600.0, 0)
    return np.real(mode)


STEAM: Final = pyromat.get("mp.H2O")
AIR: Final = pyromat.get("ig.air")
NITROGEN: Final = pyromat.get("ig.N2")


def steam(state: Any) -> Any:
    enthalpy, entropy, density = STEAM.hsd(T=500.0 + 20.0 * state[0], p=5.0 + state[1])
    saturation = STEAM.ps(T=380.0 + 10.0 * state[1])
    return np.sum(enthalpy) / 1e3 + np.sum(entropy) + np.sum(density) + np.sum(saturation)


def gases(state: Any) -> Any:
    temperature = 400.0 + 50.0 * state
    heat = NITROGEN.cp(T=temperature) + NITROGEN.h(T=temperature) / 1e3
    return np.sum(heat) + np.sum(AIR.s(T=temperature, p=2.0 + state[0])) + np.sum(AIR.gam(T=500.0))


def inverted(state: Any) -> Any:
    temperature = AIR.T_s(s=6.9 + 0.05 * state[0], p=3.0 + state[1])
    hot = NITROGEN.T_h(h=100.0 + 20.0 * state[0])
    boiling = STEAM.Ts(p=2.0 + state[1])
    return np.sum(temperature) / 100.0 + np.sum(hot) / 100.0 + np.sum(boiling) / 100.0


ROWS: Final = (
    Row("pathsim", "Integrator", oscillator, RATES),
    Row("pathsim", "ODE", predators, RATES, rounding=1e-8),
    Row("pathsim", "PID", controlled, RATES, rounding=1e-8),
    Row("pathsim", "Function", driven, RATES),
    Row("pythtb", "tb_model.solve_all", bands, RATES),
    Row("pythtb", "wf_array.berry_phase", phases, RATES),
    Row("pythtb", "tb_model.cut_piece", ribbon, RATES),
    Row("PyMoosh", "coefficient", reflected, RATES),
    Row("PyMoosh", "absorption", absorbed, RATES),
    Row("PyMoosh", "modes.steepest", guided, RATES, rounding=1e-8),
    Row("PYroMat", "mp1.hsd", steam, STATES),
    Row("PYroMat", "ig.cp", gases, STATES),
    Row("PYroMat", "ig2.T_s", inverted, STATES, rounding=1e-7),
)
