"""The tenth set: molecules, orbitals, crystals, adsorption, rocks, and the mixing of quarks."""

import logging
import warnings
from typing import Any, Final

import numpy as np
import quantities
from berny.coords import InternalCoords
from berny.geomlib import Geometry
from ckmutil import ckm, diag
from diffpy.structure import Atom, Lattice, Structure
from gbasis.contractions import GeneralizedContractionShell
from gbasis.evals.density import evaluate_density, evaluate_density_gradient
from gbasis.evals.eval import evaluate_basis
from gbasis.integrals.electron_repulsion import electron_repulsion_integral
from gbasis.integrals.kinetic_energy import kinetic_energy_integral
from gbasis.integrals.nuclear_electron_attraction import nuclear_electron_attraction_integral
from gbasis.integrals.overlap import overlap_integral
from pmutt.empirical.nasa import Nasa
from pmutt.empirical.shomate import Shomate
from pmutt.eos import IdealGasEOS, vanDerWaalsEOS
from pmutt.statmech import StatMech
from pmutt.statmech.elec import GroundStateElec
from pmutt.statmech.rot import RigidRotor
from pmutt.statmech.trans import FreeTrans
from pmutt.statmech.vib import DebyeVib, HarmonicVib, QRRHOVib
from pygaps.core.modelisotherm import ModelIsotherm
from pygaps.modelling import get_isotherm_model
from pygaps.prediction.iast import iast_point_fraction
from rockphypy import EM, GM, Fluid

from packages.row import Row

warnings.filterwarnings("ignore")
logging.disable()

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
SHIFTS: Final = (
    np.array([0.1, -0.05, 0.08]),
    np.array([-0.06, 0.12, 0.03]),
    np.array([0.04, 0.09, -0.1]),
)
ANGLES: Final = (
    np.array([0.2257, 0.0037, 0.0415, 1.2]),
    np.array([0.3, 0.1, 0.2, 0.7]),
    np.array([0.5, 0.2, 0.3, 2.1]),
)
DEGREES: Final = np.array([310.0, 450.0, 780.0])
PRESSURES: Final = np.array([0.1, 0.7, 2.3, 6.1])


def molecule(shift: Any) -> Any:
    """Return hydrogen peroxide, whose second oxygen is moved."""
    return [[0.0, 0.72, -0.05], np.array([0.0, -0.72, -0.05]) + shift,
            [0.77, 0.93, 0.41], [-0.71, -0.95, 0.46]]  # fmt: skip


def internal(shift: Any) -> Any:
    geometry = Geometry(["O", "O", "H", "H"], molecule(shift))
    coordinates = InternalCoords(geometry)
    return np.sum(np.sin(coordinates.eval_geom(geometry)))


def stiff(shift: Any) -> Any:
    geometry = Geometry(["O", "O", "H", "H"], molecule(shift))
    coordinates = InternalCoords(geometry)
    hessian = coordinates.hessian_guess(geometry)
    return np.sum(hessian) + np.sum(coordinates.weights(geometry) ** 2)


def wilson(shift: Any) -> Any:
    geometry = Geometry.from_atoms(list(zip(["O", "O", "H", "H"], molecule(shift), strict=True)))
    matrix = InternalCoords(geometry).B_matrix(geometry)
    return (
        np.sum(np.linalg.inv(matrix @ matrix.T + np.eye(len(matrix))))
        + np.sum(geometry.inertia**2) / 100.0
    )


def shells(shift: Any) -> Any:
    s = np.array([3.42525091, 0.62391373, 0.1688554])
    c = np.array([0.15432897, 0.53532814, 0.44463454])
    first = GeneralizedContractionShell(0, np.zeros(3), c, s, "spherical")
    second = GeneralizedContractionShell(0, np.array([0.0, 0.0, 1.4]) + shift, c, s, "spherical")
    third = GeneralizedContractionShell(1, np.array([0.5, 0.2, 0.1]), c, 0.8 * s, "spherical")
    return [first, second, third]


def overlapping(shift: Any) -> Any:
    basis = shells(shift)
    return np.sum(overlap_integral(basis) ** 2) + np.sum(kinetic_energy_integral(basis) ** 2)


def attracted(shift: Any) -> Any:
    centers = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.4]]) + np.stack([0.0 * shift, shift])
    energy = nuclear_electron_attraction_integral(shells(shift), centers, np.array([1.0, 2.0]))
    return np.sum(energy**2)


def dense(shift: Any) -> Any:
    points = np.array([[0.3, 0.1, 0.5], [-0.4, 0.6, 0.2], [0.1, -0.7, 1.1]])
    matrix = np.eye(5) + 0.1
    basis = shells(shift)
    return (
        np.sum(evaluate_density(matrix, basis, points) ** 2)
        + np.sum(evaluate_basis(basis, points + shift) ** 2)
        + np.sum(evaluate_density_gradient(matrix, basis, points))
    )


def repelled(shift: Any) -> Any:
    return np.sum(electron_repulsion_integral(shells(shift)[:2], notation="chemist") ** 2)


def gas(number: Any) -> Any:
    return StatMech(
        trans_model=FreeTrans(n_degrees=3, molecular_weight=18.0 * number[0]),
        vib_model=HarmonicVib(vib_wavenumbers=number[1] * np.array([3825.4, 3710.3, 1582.4])),
        rot_model=RigidRotor(symmetrynumber=2, rot_temperatures=[40.1, 20.9 * number[0], 13.4],
                             geometry="nonlinear"),
        elec_model=GroundStateElec(potentialenergy=-14.2209 * number[0], spin=0.0),
    )  # fmt: skip


def statistical(number: Any) -> Any:
    molecules = gas(number)
    return (
        molecules.get_GoRT(T=400.0 * number[1], P=1.2) / 100.0
        + molecules.get_CpoR(T=500.0) + molecules.get_SoR(T=350.0 * number[0], P=1.0) / 10.0
    )  # fmt: skip


def tabulated(number: Any) -> Any:
    low = np.array([3.4, 6e-4 * number[0], 2e-6, -1e-9, 5e-13, -1e3 * number[1], 3.0])
    water = Nasa("W", T_low=200.0, T_mid=1000.0, T_high=3500.0, a_low=low, a_high=0.9 * low)
    heat = Shomate("H", 298.0, 1000.0, number[0] * np.array([30.1, 6.8, 6.8, -2.5, 0.08, -251.0,
                                                             223.0, -242.0]))  # fmt: skip
    return (
        np.sum(water.get_HoRT(T=DEGREES)) + water.get_S(T=700.0 * number[1], units="J/mol/K") / 100
        + np.sum(heat.get_GoRT(T=DEGREES)) + np.sum(heat.get_CpoR(T=DEGREES))
    )  # fmt: skip


def vibrating(number: Any) -> Any:
    waves = number[0] * np.array([120.0, 640.0, 1580.0])
    near = QRRHOVib(vib_wavenumbers=waves, Bav=1e-44, v0=100.0 * number[1], alpha=4)
    solid = DebyeVib(debye_temperature=300.0 * number[0], interaction_energy=-0.2 * number[1])
    return near.get_FoRT(T=400.0) + near.get_SoR(T=400.0) + solid.get_UoRT(T=350.0 * number[1])


def dense_gas(number: Any) -> Any:
    real = vanDerWaalsEOS.from_critical(Tc=304.0 * number[0], Pc=73.8)
    ideal = IdealGasEOS()
    return (
        real.get_P(T=400.0, V=0.004 * number[1]) / 10.0
        + ideal.get_V(T=300.0 * number[1])
        + (real.get_V(T=500.0 * number[1], P=20.0))
    )


def mixed(angles: Any) -> Any:
    matrix = ckm.ckm_standard(*angles)
    Vus, Vub, Vcb, gamma = ckm.standard_to_tree(*angles)
    again = ckm.ckm_tree(Vus, Vub, Vcb, gamma)
    return np.sum(np.abs(matrix) ** 3) + np.sum(np.imag(again[0] * matrix[1])) + gamma


def parametrized(angles: Any) -> Any:
    values = ckm.standard_to_wolfenstein(*angles)
    matrix = ckm.ckm_wolfenstein(*values)
    back = ckm.wolfenstein_to_tree(*values)
    return np.sum(np.real(matrix)) + sum(back) + values[2]


def diagonal(angles: Any) -> Any:
    masses = np.outer(np.array([0.1, 1.0, 3.0]), angles[:3]) + np.diag(1.0 + angles[1:])
    left, singular, right = diag.msvd(masses + 0.2j * np.eye(3))
    return np.sum(singular**3) + np.sum(np.abs(left) ** 4) + np.sum(np.abs(right) ** 4)


def lattice(number: Any) -> Any:
    cell = Lattice(5.1 * number[0], 6.2, 7.3 * number[1], 88.0, 95.0 + number[0], 101.0)
    rotated = Lattice(base=cell.base * (1.0 + 0.01 * number[1]))
    return (
        cell.volume / 100.0 + cell.dist([0.1, 0.2, 0.3], [0.4, 0.7, 0.9]) + cell.rnorm([1, 2, 1])
        + cell.angle([1.0, 0.2, 0.0], [0.3, 1.0, 0.1]) / 50.0 + rotated.reciprocal().volume
    )  # fmt: skip


def crystal(number: Any) -> Any:
    cell = Lattice(4.1 * number[0], 4.2, 5.0, 90.0, 90.0, 90.0 + 10.0 * number[1])
    salt = Structure([Atom("Na", [0.0, 0.1, 0.2]), Atom("Cl", [0.5, 0.4 * number[1], 0.5])], cell)
    salt[1].U = np.array([[0.02, 0.005, 0.0], [0.005, 0.03, 0.001], [0.0, 0.001, 0.01 * number[0]]])
    return salt.distance(0, 1) + salt[1].Uisoequiv * 100.0 + np.sum(salt.xyz_cartn) + salt[1].B23


def loaded(number: Any) -> Any:
    kinds = [
        ("Langmuir", {"K": number[0], "n_m": 5.0 * number[1]}),
        ("Toth", {"n_m": 5.0, "K": number[0], "t": 0.7 * number[1]}),
        ("DSLangmuir", {"n_m1": 2.0, "K1": number[0], "n_m2": 1.0, "K2": 0.3 * number[1]}),
        ("Quadratic", {"n_m": 3.0, "Ka": number[0], "Kb": 0.4 * number[1]}),
        ("TemkinApprox", {"n_m": 4.0, "K": number[0], "tht": -0.1 * number[1]}),
    ]
    models = [get_isotherm_model(name, parameters=values) for name, values in kinds]
    loads = sum(np.sum(model.loading(PRESSURES)) for model in models)
    return loads + sum(model.spreading_pressure(1.7) for model in models)


def pressed(number: Any) -> Any:
    henry = get_isotherm_model("JensenSeaton", parameters={
        "K": 2.0 * number[0], "n_m": 3.0, "k": 0.1 * number[1], "t": 0.8})  # fmt: skip
    gab = get_isotherm_model("GAB", parameters={"n_m": 2.0, "C": 8.0 * number[0], "K": 0.1})
    loads = np.sum(henry.loading(PRESSURES)) + np.sum(gab.loading(PRESSURES))
    return loads + np.sum(henry.pressure(1.1 * number[1]))


def selective(number: Any) -> Any:
    isotherms = [
        ModelIsotherm(
            model=get_isotherm_model("Langmuir", parameters={"K": k, "n_m": n},
                                     pressure_range=(0.0, 20.0), loading_range=(0.0, 9.0)),
            material="sieve", adsorbate=name, temperature=300.0,
        )
        for name, k, n in (("N2", 0.5 * number[0], 4.0), ("CO2", 2.0, 3.0 * number[1]))
    ]  # fmt: skip
    return np.sum(iast_point_fraction(isotherms, np.array([0.6, 0.4]), 2.0, warningoff=True) ** 2)


def porous(number: Any) -> Any:
    upper = EM.HS(0.6, 37.0 * number[0], 15.0, 44.0, 7.0 * number[1], bound="upper")
    dry = GM.softsand(37.0 * number[0], 44.0, np.array([0.2, 0.3]), 0.4, 8.6, 20.0 * number[1], 0.5)
    cement = GM.contactcement(
        37.0, 44.0, 37.0 * number[0], 44.0, np.array([0.3, 0.35]), 0.4, 8.6, 2
    )
    return np.sum(upper) + np.sum(dry) + np.sum(cement)


def soaked(number: Any) -> Any:
    wet = Fluid.Gassmann(12.0 * number[0], 9.0, 37.0, 2.2 * number[1], 0.25)
    speeds = Fluid.vels(12.0 * number[0], 9.0, 37.0, 2.65, 2.2, 1.0 * number[1], 0.25)
    fast = Fluid.Biot_HF(12.0, 9.0 * number[0], 37.0, 2.2, 2.65, 1.0 * number[1], 0.25, 2.0)
    return np.sum(wet) + np.sum(speeds) / 1e3 + np.sum(fast) / 1e3


def cracked(number: Any) -> Any:
    stiffness = EM.hudson(37.0 * number[0], 44.0, 2.2, 0.0, 0.01, 0.05 * number[1], 1, 3)
    mixture = EM.Berryman_sc(
        [37.0 * number[0], 2.2], [44.0, 0.1], [0.8, 0.2], [1.0, 0.5 * number[1]]
    )
    steps = EM.SC_dilute(37.0, 44.0, 15.0 * number[0], 7.0, 0.2, "stress")
    return np.sum(stiffness) / 100.0 + np.sum(mixture) + np.sum(steps)


def measured(number: Any) -> Any:
    speed = number * quantities.km / quantities.hour
    energy = 0.5 * 3.0 * quantities.kg * speed**2
    return energy.sum().rescale("J").magnitude + np.sum(speed.rescale("m/s")).item()


def scaled(number: Any) -> Any:
    lengths = quantities.Quantity(np.array([1.0, 2.0, 3.0]), "m")
    lengths[1] = number[0] * quantities.cm
    area = lengths * (number[1] * quantities.ft)
    side = np.sqrt(area[0] * area[1])
    return np.sum(area.simplified.magnitude) + float(side.simplified)


def turning(number: Any) -> Any:
    angle = (number * 30.0 * quantities.degree).rescale("rad")
    field = np.sin(angle) * 2.0 * quantities.tesla
    force = field * quantities.constants.electron_mass * (3e5 * quantities.m / quantities.s)
    return np.sum(force.magnitude * 1e28) * 1e-2 + np.dot(field.magnitude, number)


ROWS: Final = (
    Row("pyberny", "InternalCoords.eval_geom", internal, SHIFTS),
    Row("pyberny", "hessian_guess", stiff, SHIFTS),
    Row("pyberny", "B_matrix", wilson, SHIFTS),
    Row("qc-gbasis", "overlap_integral", overlapping, SHIFTS),
    Row("qc-gbasis", "nuclear_electron_attraction_integral", attracted, SHIFTS),
    Row("qc-gbasis", "evaluate_density", dense, SHIFTS),
    Row("qc-gbasis", "electron_repulsion_integral", repelled, SHIFTS),
    Row("pmutt", "StatMech", statistical, NUMBERS),
    Row("pmutt", "Nasa, Shomate", tabulated, NUMBERS),
    Row("pmutt", "QRRHOVib, DebyeVib", vibrating, NUMBERS),
    Row("pmutt", "vanDerWaalsEOS", dense_gas, NUMBERS),
    Row("ckmutil", "ckm_standard", mixed, ANGLES),
    Row("ckmutil", "standard_to_wolfenstein", parametrized, ANGLES),
    Row("ckmutil", "msvd", diagonal, ANGLES),
    Row("diffpy.structure", "Lattice", lattice, NUMBERS),
    Row("diffpy.structure", "Structure", crystal, NUMBERS),
    Row("pygaps", "loading", loaded, NUMBERS),
    Row("pygaps", "pressure", pressed, NUMBERS),
    Row("pygaps", "iast_point_fraction", selective, NUMBERS),
    Row("rockphypy", "HS, softsand", porous, NUMBERS),
    Row("rockphypy", "Gassmann", soaked, NUMBERS),
    Row("rockphypy", "hudson", cracked, NUMBERS),
    Row("quantities", "rescale", measured, NUMBERS),
    Row("quantities", "Quantity.__setitem__", scaled, NUMBERS),
    Row("quantities", "constants", turning, NUMBERS),
)
