"""The eighth set: rockets, robot arms, stellarators, and light through layers."""

import warnings
from typing import Any, Final

import abel
import elli
import iadpython
import numpy as np
import ofiber
import qsc
from pybotics import predefined_models
from pybotics.geometry import matrix_2_vector, vector_2_matrix
from pybotics.optimization import compute_absolute_errors
from pybotics.robot import Robot
from rocketpy import Environment, Function, Rocket
from rocketpy.mathutils.vector_matrix import Matrix, Vector

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
ANGLES: Final = (
    np.array([0.3, -0.8, 0.5, 0.2, 0.9, -0.4]),
    np.array([-0.6, -1.1, 0.8, -0.3, 0.4, 0.7]),
    np.array([1.2, -0.5, -0.4, 0.6, -0.7, 0.1]),
)


def tabulated(number: Any) -> Any:
    points = np.stack([np.linspace(0.0, 4.0, 9), np.sin(np.linspace(0.0, 4.0, 9) * number[0])])
    linear = Function(points.T, interpolation="linear")
    spline = Function(points.T, interpolation="spline")
    akima = Function(points.T * number[1], interpolation="akima", extrapolation="natural")
    product = linear * spline + 2.0
    return product(1.3) + spline.integral(0.2, 3.1) + akima(2.2) + spline.differentiate(1.1)


def flown(number: Any) -> Any:
    air = Environment(elevation=100.0)
    rocket = Rocket(
        radius=0.0635, mass=14.4 + number[0], inertia=(6.3, 6.3, 0.034), power_off_drag=0.5,
        power_on_drag=0.5, center_of_mass_without_motor=0.0,
        coordinate_system_orientation="tail_to_nose",
    )  # fmt: skip
    rocket.add_nose(length=0.5 * number[1], kind="von karman", position=1.2)
    rocket.add_trapezoidal_fins(n=4, root_chord=0.12, tip_chord=0.06 * number[0], span=0.1,
                                position=-1.05)  # fmt: skip
    margin = rocket.cp_position(0.3 * number[1])
    return margin * 10.0 + air.density(500.0 * number[0]) + air.speed_of_sound(900.0) / 300.0


def turned(number: Any) -> Any:
    vector = Vector([number[0], 2.0, number[1]])
    matrix = Matrix.transformation([np.cos(0.5), 0.0, np.sin(0.5), 0.1 * number[0]])
    rotated = matrix @ vector
    return abs(rotated ^ vector) + rotated @ Vector([1.0, -1.0, 0.5]) + matrix.inverse[0][1]


def kinematics(angles: Any) -> Any:
    robot = Robot.from_parameters(predefined_models.ur10())
    pose = robot.fk(angles)
    vector = matrix_2_vector(pose)
    world = robot.jacobian_world(angles)
    return vector[0] / 1e3 + vector[3] + np.sum(world * world) / 1e6 + vector[5]


def torques(angles: Any) -> Any:
    robot = Robot.from_parameters(predefined_models.puma560())
    torque = robot.compute_joint_torques(np.array([10.0, -5.0, 3.0, 1.0, 2.0, -1.0]), angles)
    flange = robot.jacobian_flange(angles)
    return np.sum(torque**2) / 1e6 + np.linalg.norm(flange) / 1e2


def calibrated(angles: Any) -> Any:
    robot = Robot.from_parameters(predefined_models.ur10())
    chain = robot.kinematic_chain.vector.copy()
    robot.kinematic_chain.vector = chain + np.tile(0.01 * angles[:4], 6)
    joints = np.outer([0.5, 1.0, -0.7], [0.1, -0.8, 0.9, 0.3, 0.5, -0.2])
    target = vector_2_matrix([200.0, 300.0, 400.0, angles[4], angles[5], 0.2])
    errors = compute_absolute_errors(joints, np.tile(target[:3, 3], (3, 1)), robot)
    return np.sum(errors) / 1e3 + target[0, 1]


def axis(number: Any) -> Any:
    shape = qsc.Qsc(rc=[1.0, 0.045 * number[0]], zs=[0.0, -0.045 * number[0]], nfp=3,
                    etabar=-0.9 * number[1], nphi=21)  # fmt: skip
    return shape.iota + shape.max_elongation / 10.0 + shape.axis_length


def second(number: Any) -> Any:
    shape = qsc.Qsc(rc=[1.0, 0.155 * (0.9 + 0.1 * number[0]), 0.0102], zs=[0.0, 0.154, 0.0111],
                    nfp=2, etabar=0.64 * (0.9 + 0.1 * number[1]), order="r2", B2c=-0.00322,
                    nphi=21)  # fmt: skip
    return shape.iota + np.sum(shape.X20**2) / 10.0 + shape.DMerc_times_r2 + shape.B20_variation


def fibers(number: Any) -> Any:
    glass = np.array([0.6961663, 0.4079426, 0.8974794, 0.00467914826, 0.0135120631, 97.9340025])
    wavelength = 1.55e-6 * (0.8 + 0.2 * number[0])
    index = ofiber.n(glass, wavelength) + ofiber.n_group(glass, wavelength)
    dispersion = ofiber.Material_Dispersion(glass, wavelength) * 1e6
    loss = ofiber.R_unpolarized(1.45, 0.4 * number[1]) + ofiber.MFR(1.2 + number[1])
    return index + dispersion + loss + ofiber.best_APD_gain(1e-6 * number[0], 50, 1e-9, 0.5, 300)


def guided(number: Any) -> Any:
    v = 2.2 + 0.2 * number[0]
    b = ofiber.LP_mode_value(v, 0, 1)
    field = ofiber.LP_radial_field(v, b, 0, np.array([0.2, 0.7]) * number[1])
    waveguide = ofiber.Waveguide_Dispersion(1.4504, 1.447, 4.1e-6 * number[0], 1.7e-6)
    return 10.0 * b + np.sum(field**2) + ofiber.PetermannW_Approx(v) + waveguide * 1e6


def planar(number: Any) -> Any:
    v = 4.0 + number[0]
    modes = ofiber.TE_crossings(v)
    field = ofiber.TE_field(v, 1.0, np.array([0.1, 0.4]) * number[1], 1)
    return np.sum(modes) + np.sum(field) + ofiber.TM_propagation_constant(v, 1.5, 1.48, 1)


def scattered(number: Any) -> Any:
    sample = iadpython.Sample(a=0.8 + 0.1 * np.tanh(number[0]), b=number[1], g=0.5, n=1.4)
    sample.quad_pts = 8
    r, t, ru, tu = sample.rt()
    direct, through = sample.unscattered_rt()
    return r + 2.0 * t + ru - tu + direct + 3.0 * through


def layers(number: Any) -> Any:
    nu = np.linspace(0.2, 1.0, 5)
    slide = iadpython.fresnel.absorbing_glass_RT(1.0, 1.3 + 0.2 * number[0], 1.4, 0.8, 0.1)
    specular = iadpython.specular_rt(1.5, 1.3 + 0.1 * number[1], 1.4, 0.2 * number[0], nu)
    return sum(slide) + np.sum(specular) + iadpython.fresnel.R1(1.0, 1.2 + 0.2 * number[1])


def layered(number: Any) -> Any:
    film = elli.Cauchy(n0=1.3 + 0.2 * number[0], n1=30.0, k0=0.01).get_mat()
    substrate = elli.Cauchy(n0=3.5, n1=100.0, k0=0.2).get_mat()
    air = elli.IsotropicMaterial(elli.ConstantRefractiveIndex(n=1.0))
    structure = elli.Structure(air, [elli.Layer(film, 120.0 * number[1])], substrate)
    return structure, np.linspace(400.0, 700.0, 4)


def ellipsometry(number: Any) -> Any:
    structure, wavelengths = layered(number)
    result = structure.evaluate(wavelengths, 65.0, solver=elli.Solver2x2)
    return np.sum(result.psi) / 10.0 + np.sum(result.R) + np.sum(np.cos(result.delta / 57.3))


def matrices(number: Any) -> Any:
    structure, wavelengths = layered(number)
    result = structure.evaluate(wavelengths, 60.0, solver=elli.Solver4x4)
    return np.sum(result.psi) / 10.0 + np.sum(result.mueller_matrix[:, 0, 1]) + np.sum(result.R)


def dispersive(number: Any) -> Any:
    oscillator = elli.TaucLorentz(Eg=1.1).add(A=20.0 * number[0], E=3.0, C=0.5 * number[1])
    gauss = elli.Gaussian().add(A=2.0 * number[1], E=2.5, sigma=0.4)
    mixed = elli.BruggemanEMA(
        elli.IsotropicMaterial(oscillator), elli.IsotropicMaterial(gauss), 0.3 * number[0]
    )
    tensor = mixed.get_tensor(np.linspace(300.0, 800.0, 5))
    return np.sum(np.abs(tensor[:, 0, 0])) + np.sum(np.real(oscillator.get_dielectric()))


def image(number: Any) -> Any:
    r = np.arange(12.0)
    return np.exp(-((r / (4.0 * number[0])) ** 2)) * (1.0 + 0.3 * np.cos(number[1] * r))


def projected(number: Any) -> Any:
    rows = np.outer([1.0, 0.5, 2.0], image(number))
    forward = abel.direct.direct_transform(rows, direction="forward", backend="Python")
    back = abel.direct.direct_transform(forward, direction="inverse", backend="Python")
    return np.sum(forward**2) / 10.0 + np.sum(back * rows)


def recursive(number: Any) -> Any:
    rows = np.outer([1.0, 0.5, 2.0], image(number))
    hansen = abel.hansenlaw.hansenlaw_transform(rows, direction="forward")
    inverse = abel.hansenlaw.hansenlaw_transform(hansen, hold_order=1)
    bordas = abel.onion_bordas.onion_bordas_transform(rows)
    return np.sum(hansen**2) / 10.0 + np.sum(inverse * rows) + np.sum(bordas**2)


def bases(number: Any) -> Any:
    rows = np.outer([1.0, 0.5, 2.0], image(number))
    dasch = abel.dasch.three_point_transform(rows, basis_dir=None)
    daun = abel.daun.daun_transform(rows, reg=0.5 * number[0], verbose=False)
    basex = abel.basex.basex_transform(rows, basis_dir=None, verbose=False)
    return np.sum(dasch**2) + np.sum(daun**2) + np.sum(basex**2)


ROWS: Final = (
    Row("rocketpy", "Function", tabulated, NUMBERS, tolerance=1e-4),
    Row("rocketpy", "Rocket.cp_position", flown, NUMBERS),
    Row("rocketpy", "Matrix.transformation", turned, NUMBERS),
    Row("pybotics", "Robot.fk", kinematics, ANGLES),
    Row("pybotics", "Robot.compute_joint_torques", torques, ANGLES),
    Row("pybotics", "compute_absolute_errors", calibrated, ANGLES),
    Row("qsc", "Qsc", axis, NUMBERS),
    Row("qsc", "Qsc(order='r2')", second, NUMBERS),
    Row("ofiber", "n_group", fibers, NUMBERS),
    Row("ofiber", "LP_mode_value", guided, NUMBERS),
    Row("ofiber", "TE_crossings", planar, NUMBERS),
    Row("iadpython", "Sample.rt", scattered, NUMBERS),
    Row("iadpython", "specular_rt", layers, NUMBERS),
    Row("pyElli", "Solver2x2", ellipsometry, NUMBERS),
    Row("pyElli", "Solver4x4", matrices, NUMBERS),
    Row("pyElli", "TaucLorentz", dispersive, NUMBERS),
    Row("PyAbel", "direct_transform", projected, NUMBERS),
    Row("PyAbel", "hansenlaw_transform", recursive, NUMBERS),
    Row("PyAbel", "basex_transform", bases, NUMBERS),
)
