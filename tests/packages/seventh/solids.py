"""The seventh set: tensors of materials, fatigue, beams, earthquakes, robots, and rotations."""

import warnings
from typing import Any, Final

import eqsig
import fatpack
import hyperelastic
import mechkit
import numpy as np
import pycba
import rowan
from visual_kinematics.Frame import Frame
from visual_kinematics.RobotSerial import RobotSerial

from packages.row import Row

warnings.filterwarnings("ignore")

STIFFNESSES: Final = (np.array([2.1, 0.3]), np.array([1.2, 0.25]), np.array([0.7, 0.4]))
TURNS: Final = (np.array([0.4, -0.7, 1.1]), np.array([-0.9, 0.5, 0.3]), np.array([1.3, 0.2, -0.6]))
LOADS: Final = (np.array([10.0, 4.0]), np.array([7.0, 9.0]), np.array([14.0, 2.5]))
MIXES: Final = (np.array([1.0, 0.4]), np.array([0.7, -0.5]), np.array([1.3, 0.8]))
TIMES: Final = np.arange(200) * 0.02
NOISE: Final = np.sin(np.arange(60.0) ** 1.7)
STRAIN: Final = np.array([[1.0, 0.2, -0.3], [0.2, -0.5, 0.4], [-0.3, 0.4, 0.8]])


def isotropic(numbers: Any) -> Any:
    material = mechkit.material.Isotropic(E=numbers[0], nu=numbers[1])
    mixture = 0.5 * material + 0.5 * mechkit.material.Isotropic(K=2.0, G=numbers[0])
    stress = np.einsum("ijkl,kl->ij", material.stiffness, STRAIN)
    return np.sum(stress**2) + material.K + mixture.E + np.sum(material.compliance_mandel6[0])


def notations(numbers: Any) -> Any:
    converter = mechkit.notation.Converter()
    material = mechkit.material.Isotropic(M=numbers[0] + 3.0, nu=numbers[1])
    six = converter.to_mandel6(material.stiffness)
    strain = converter.to_mandel6(STRAIN * numbers[1])
    return strain @ six @ strain + np.sum(converter.to_tensor(six)[0, 0]) + six[3, 3]


def deviators(numbers: Any) -> Any:
    orientations = np.array([[1.0, 0.2, 0.1], [0.3, 1.0, 0.4], [0.2, 0.1, 1.0]])
    orientations = orientations + numbers[1] * np.eye(3)[::-1]
    fabric = mechkit.fabric_tensors.first_kind_discrete(orientations)
    deviator = mechkit.operators.dev(fabric, order=4)
    symmetric = mechkit.operators.Sym()(numbers[0] * fabric + np.ones((3, 3, 3, 3)))
    return np.sum(deviator**2) + np.sum(symmetric[0] ** 2)


def series(mix: Any) -> Any:
    return 100.0 * (mix[0] * NOISE + mix[1] * np.sin(0.9 * np.arange(60.0)))


def damaged(mix: Any) -> Any:
    curve = fatpack.LinearEnduranceCurve(90.0)
    ranges = fatpack.find_rainflow_ranges(series(mix), k=512)
    return 1e6 * curve.find_miner_sum(ranges)


def corrected(mix: Any) -> Any:
    ranges, means = fatpack.find_rainflow_ranges(series(mix), return_means=True, k=512)
    goodman = fatpack.find_goodman_equivalent_stress(ranges, means, 900.0)
    curve = fatpack.BiLinearEnduranceCurve(71.0)
    return 1e4 * curve.find_miner_sum(goodman) + np.sum(goodman) / 1e3


def endured(numbers: Any) -> Any:
    curve = fatpack.TriLinearEnduranceCurve(60.0 + numbers[0])
    lives = curve.get_endurance(np.array([150.0, 60.0, 40.0]) * (1.0 + 0.1 * numbers[1]))
    return np.sum(np.log10(lives)) + curve.get_stress(3e6) / 100.0


def stretched(turn: Any) -> Any:
    gradient = np.eye(3) + 0.2 * np.outer(turn, np.array([0.5, -0.3, 0.8]))
    return gradient[:, :, None]


def deformed(turn: Any) -> Any:
    model = hyperelastic.models.invariants.ThirdOrderDeformation(C10=0.4, C01=0.1, C11=0.02)
    space = hyperelastic.DistortionalSpace(hyperelastic.InvariantsFramework(model))
    stress, _ = space.gradient([stretched(turn), None])
    return np.sum(stress[:, :, 0] * np.arange(9.0).reshape(3, 3))


def ogden(turn: Any) -> Any:
    model = hyperelastic.models.stretches.Ogden(mu=[1.0, 0.2], alpha=[1.7, -1.5])
    space = hyperelastic.DeformationSpace(hyperelastic.StretchesFramework(model))
    stress, _ = space.gradient([stretched(turn), None])
    (elasticity,) = space.hessian([stretched(turn), None])
    return np.sum(stress**2) + np.sum(elasticity[0]) / 10.0


def continuous(load: Any) -> Any:
    beam = pycba.BeamAnalysis([7.5, 7.0, 6.0], 30e3, [-1, 0, -1, 0, -1, 0, -1, 0])
    beam.add_udl(1, load[0])
    beam.add_pl(2, 5.0 * load[1], 3.0)
    beam.analyze()
    results = beam.beam_results.results
    return np.max(results.M) + np.min(results.V) + np.sum(beam.beam_results.R)


def stiffened(load: Any) -> Any:
    beam = pycba.BeamAnalysis([5.0, 8.0], 1e3 * load[0], [-1, -1, -1, 0, 50.0 * load[1], 0])
    beam.set_loads([[1, 1, 20, 0, 0], [2, 2, 35, 2.5, 0], [2, 4, 12, 3.0, 0]])
    beam.analyze()
    return np.sum(beam.beam_results.D) + np.min(beam.beam_results.results.M) / 10.0


def enveloped(load: Any) -> Any:
    beam = pycba.BeamAnalysis([10.0, 10.0], 30e3, [-1, 0, -1, 0, -1, 0])
    pattern = pycba.LoadPattern(beam)
    pattern.set_dead_loads([[1, 1, load[0], 0, 0], [2, 1, load[0], 0, 0]], 1.4, 1.0)
    pattern.set_live_loads([[1, 1, load[1], 0, 0], [2, 1, load[1], 0, 0]], 1.6, 0.0)
    envelope = pattern.analyze()
    return np.max(envelope.Mmax) + np.min(envelope.Vmin)


def shaken(mix: Any) -> Any:
    return mix[0] * np.sin(7.0 * TIMES) * np.exp(-0.4 * TIMES) + mix[1] * np.sin(23.0 * TIMES)


def spectrum(mix: Any) -> Any:
    record = eqsig.AccSignal(shaken(mix), 0.02, response_times=np.array([0.2, 0.5, 1.0]))
    return np.sum(record.s_a) + record.pgv + record.pga + np.sum(np.abs(record.fa_spectrum)) / 10.0


def intensities(mix: Any) -> Any:
    record = eqsig.AccSignal(shaken(mix), 0.02)
    record.remove_poly(poly_fit=1)
    arias = eqsig.im.calc_arias_intensity(record)[-1]
    cav = eqsig.im.calc_cav(record)[-1]
    return arias + cav + eqsig.im.calc_isv(record)[-1]


def filtered(mix: Any) -> Any:
    record = eqsig.AccSignal(shaken(mix), 0.02)
    record.butter_pass([0.5, 15.0])
    record.generate_displacement_and_velocity_series()
    smooth = record.smooth_fa_spectrum
    return np.sum(record.displacement**2) * 100.0 + np.sum(smooth) / 10.0


def arm() -> Any:
    parameters = np.array(
        [
            [0.163, 0.0, 0.5 * np.pi, 0.0],
            [0.0, 0.632, np.pi, 0.5 * np.pi],
            [0.0, 0.6005, np.pi, 0.0],
        ]
    )
    return RobotSerial(parameters)


def placed(turn: Any) -> Any:
    robot = arm()
    end = robot.forward(turn)
    return np.sum(end.t_3_1) + np.sum(robot.jacobian**2) + end.euler_3[0]


def framed(turn: Any) -> Any:
    first = Frame.from_euler_3(turn, np.array([[1.0], [2.0], [0.5]]))
    second = first * Frame.from_r_3(0.5 * turn, np.zeros((3, 1)))
    return second.angle_to(first) + np.sum(second.inv.t_3_1) + np.sum(second.q_4)


def reached(turn: Any) -> Any:
    robot = arm()
    robot.inv_m = "jac_pinv"
    target = arm().forward(np.array([0.3, 0.6, -0.5]) + 0.1 * turn)
    robot.forward(np.array([0.25, 0.5, -0.4]))
    robot.final_loss = 1e-10
    return np.sum(np.asarray(robot.inverse(target)) * [1.0, 2.0, 3.0])


def versors(turn: Any) -> Any:
    first = rowan.from_euler(turn[0], turn[1], turn[2])
    second = rowan.from_axis_angle(turn + 2.0, 0.8)
    between = rowan.interpolate.slerp(first, second, 0.3)
    return np.sum(rowan.rotate(between, [1.0, 2.0, 3.0])) + rowan.geometry.distance(first, second)


def exponentials(turn: Any) -> Any:
    first = rowan.normalize(np.concatenate([turn, turn[:1] + 2.0]))
    power = rowan.power(first, 1.7)
    tangent = rowan.geometry.riemann_log_map(first, rowan.exp(0.3 * power))
    return np.sum(power) + np.sum(tangent) + np.sum(rowan.log(first)[1:])


def matrices(turn: Any) -> Any:
    first = rowan.from_euler(turn[0], 0.5 * turn[1], turn[2], convention="xyz")
    matrix = rowan.to_matrix(first)
    axis, angle = rowan.to_axis_angle(first)
    back = rowan.rotate(rowan.from_matrix(matrix), [1.0, 2.0, 3.0])
    total = np.sum(rowan.to_euler(first)) + np.sum(axis) * np.sum(angle)
    return total + np.sum(matrix[0]) + np.sum(back)


def matched(turn: Any) -> Any:
    points = np.array([[1.0, 0.0, 0.2], [0.0, 2.0, 0.1], [0.3, 0.1, 1.5], [1.0, -1.0, 0.5]])
    moved = rowan.rotate(rowan.from_euler(0.4, 0.2, 0.1), points) + 0.1 * np.outer(NOISE[:4], turn)
    rotation, shift = rowan.mapping.kabsch(points, moved)
    versor, _ = rowan.mapping.horn(points, moved)
    spin = rowan.calculus.integrate(versor, turn, 0.1)
    return np.sum(rotation[0]) + np.sum(shift) + np.sum(spin)


ROWS: Final = (
    Row("mechkit", "material.Isotropic", isotropic, STIFFNESSES),
    Row("mechkit", "notation.Converter", notations, STIFFNESSES),
    Row("mechkit", "operators.dev", deviators, STIFFNESSES),
    Row("fatpack", "find_rainflow_ranges", damaged, MIXES, step=1e-5),
    Row("fatpack", "find_goodman_equivalent_stress", corrected, MIXES, step=1e-5),
    Row("fatpack", "TriLinearEnduranceCurve", endured, STIFFNESSES),
    Row("hyperelastic", "DistortionalSpace", deformed, TURNS),
    Row("hyperelastic", "StretchesFramework", ogden, TURNS),
    Row("pycba", "BeamAnalysis", continuous, LOADS),
    Row("pycba", "BeamAnalysis.set_loads", stiffened, LOADS),
    Row("pycba", "LoadPattern", enveloped, LOADS),
    Row("eqsig", "AccSignal.s_a", spectrum, MIXES),
    Row("eqsig", "im.calc_arias_intensity", intensities, MIXES),
    Row("eqsig", "AccSignal.butter_pass", filtered, MIXES),
    Row("visual-kinematics", "RobotSerial.forward", placed, TURNS),
    Row("visual-kinematics", "Frame", framed, TURNS),
    Row("visual-kinematics", "RobotSerial.inverse", reached, TURNS, rounding=1e-6),
    Row("rowan", "interpolate.slerp", versors, TURNS),
    Row("rowan", "power", exponentials, TURNS),
    Row("rowan", "to_matrix", matrices, TURNS),
    Row("rowan", "mapping.kabsch", matched, TURNS),
)
