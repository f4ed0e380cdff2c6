"""The tenth set: bodies, vehicles, faces of buildings, rational functions, and plans."""

import warnings
from typing import Any, Final

import baryrat
import hoggorm
import numpy as np
import pints
import pints.toy
from ladybug_geometry.geometry2d.pointvector import Point2D, Vector2D
from ladybug_geometry.geometry2d.polygon import Polygon2D
from ladybug_geometry.geometry3d import (
    Arc3D,
    Cone,
    Cylinder,
    Face3D,
    Plane,
    Point3D,
    Sphere,
    Vector3D,
)
from pycoare import coare_35, coare_36
from pycoare.util import psiu_26, qair, qsea, rhcalc
from skinematics import imus, quat, rotmat, vector
from stockpyl.eoq import (
    economic_order_quantity,
    economic_order_quantity_with_all_units_discounts,
    economic_order_quantity_with_backorders,
)
from stockpyl.loss_functions import gamma_loss, lognormal_loss, normal_loss, normal_second_loss
from stockpyl.newsvendor import newsvendor_normal, newsvendor_normal_cost
from stockpyl.rq import r_q_cost, r_q_eoqb_approximation
from stockpyl.supply_uncertainty import eoq_with_additive_yield_uncertainty, eoq_with_disruptions
from stockpyl.wagner_whitin import wagner_whitin
from vehiclemodels.init_mb import init_mb
from vehiclemodels.init_std import init_std
from vehiclemodels.parameters_vehicle2 import parameters_vehicle2
from vehiclemodels.vehicle_dynamics_ks import vehicle_dynamics_ks
from vehiclemodels.vehicle_dynamics_mb import vehicle_dynamics_mb
from vehiclemodels.vehicle_dynamics_st import vehicle_dynamics_st
from vehiclemodels.vehicle_dynamics_std import vehicle_dynamics_std

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
TURNS: Final = (
    np.array([0.3, -0.2, 0.5]),
    np.array([-0.4, 0.6, 0.1]),
    np.array([0.2, 0.35, -0.45]),
)
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)


def oriented(turn: Any) -> Any:
    matrix = rotmat.seq2quat(40.0 * turn[np.newaxis], "nautical")
    both = quat.q_mult(quat.unit_q(turn), matrix)
    seen = vector.rotate_vector(np.array([[1.0, 2.0, 0.5], [0.3, 0.1, 2.0]]), both)
    return (
        np.sum(seen[0])
        + np.sum(quat.quat2seq(both, "Euler")) / 90.0
        + np.sum(quat.convert(both, "rotmat") ** 3)
    )


def measured(turn: Any) -> Any:
    speeds = np.outer(np.cos(np.linspace(0.0, 2.0, 12)), turn)
    forces = np.outer(np.sin(np.linspace(0.0, 2.0, 12)), turn[::-1]) + np.array([0.1, 0.0, 9.81])
    quaternions, position, velocity = imus.analytical(np.eye(3), speeds, np.zeros(3), forces, 10)
    return np.sum(quaternions[-1]) + np.sum(position[-1]) + np.sum(velocity**2)


def fused(turn: Any) -> Any:
    first = imus.Madgwick(rate=50.0, Beta=0.5, Quaternion=[1.0, 0.0, 0.0, 0.0])
    second = imus.Mahony(rate=50.0, Kp=0.8, Ki=0.1, Quaternion=np.array([1.0, 0.0, 0.0, 0.0]))
    for k in range(4):
        force = vector.normalize(turn + np.array([0.1 * k, 0.0, 1.0]))
        field = vector.normalize(np.array([0.6, 0.1 * k, -0.5]) + 0.2 * turn)
        first.Update(turn, force, field)
        second.Update(turn, force, field)
    return np.sum(np.array(first.Quaternion) ** 3) + np.sum(np.array(second.Quaternion) ** 3)


def jointed(turn: Any) -> Any:
    arm = rotmat.dh(40.0 * turn[0], 0.3, 0.5 + turn[1], 20.0) @ rotmat.stm("y", 30.0, turn)
    plane = vector.plane_orientation(turn, np.array([1.0, 0.2, 0.1]), np.array([0.3, 1.0, 0.4]))
    basis = vector.GramSchmidt(turn, np.array([1.0, 0.2, 0.1]), np.array([0.3, 1.0, 0.4]))
    angles = rotmat.sequence(rotmat.R("x", 30.0) @ rotmat.R("z", 50.0 * turn[2]), to="Fick")
    return np.sum(arm) + np.sum(plane) + np.sum(basis**3) + np.sum(angles)


def steered(turn: Any) -> Any:
    p = parameters_vehicle2()
    state = [0.0, 0.0, 0.1 * turn[0], 15.0, 0.3, 0.2 * turn[1], 0.05]
    for _ in range(5):
        slope = vehicle_dynamics_st(state, [0.2 * turn[2], 1.5], p)
        state = [x + 0.01 * dx for x, dx in zip(state, slope, strict=True)]
    return np.sum(np.array(state) ** 2) / 100.0


def simple(turn: Any) -> Any:
    p = parameters_vehicle2()
    state = np.array([0.0, 0.0, 0.1, 12.0, 0.3]) + 0.1 * np.append(turn, turn[:2])
    slope = np.array(vehicle_dynamics_ks(state, [0.1 * turn[0], 0.7 * turn[1]], p))
    return np.sum(slope**2) / 100.0


def drifting(turn: Any) -> Any:
    p = parameters_vehicle2()
    state = init_std([0.0, 0.0, 0.1 * turn[0], 15.0, 0.3, 0.2 * turn[1], 0.05], p)
    slope = vehicle_dynamics_std(state, [0.2 * turn[2], 1.5], p)
    return np.sum(np.array(slope) ** 2) / 1e3


def bodied(turn: Any) -> Any:
    p = parameters_vehicle2()
    state = init_mb([0.0, 0.0, 0.1 * turn[0], 15.0, 0.3, 0.2 * turn[1], 0.05], p)
    slope = vehicle_dynamics_mb(state, [0.2 * turn[2], 1.5], p)
    return np.sum(np.array(slope) ** 2) / 1e3


def faced(turn: Any) -> Any:
    corners = [Point3D(0.0, 0.0, 0.0), Point3D(3.0 + turn[0], 0.0, 0.2), Point3D(3.0, 2.0, 0.2),
               Point3D(0.0, 2.0 + turn[1], 0.0)]  # fmt: skip
    face = Face3D(corners, plane=Plane(Vector3D(-0.2 / 3.0, 0.0, 1.0), corners[0]))
    moved = face.rotate(Vector3D(0.0, 1.0, 0.2), turn[2], Point3D(1.0, 1.0, 0.0))
    return (
        face.area
        + face.perimeter
        + moved.centroid.x
        + moved.tilt
        + face.normal.angle(Vector3D(1.0, 0.0, 0.3))
    )


def flat(turn: Any) -> Any:
    corners = [(0.0, 0.0), (3.0 + turn[0], 0.2), (2.5, 2.0 + turn[1]), (0.3, 1.6)]
    polygon = Polygon2D([Point2D(*corner) for corner in corners])
    inset = polygon.offset(0.2)
    direction = Vector2D(1.0, turn[2]).normalize()
    return polygon.area + inset.area + polygon.center.dot(direction) + polygon.perimeter


def solid(turn: Any) -> Any:
    sphere = Sphere(Point3D(*turn), 1.5 + turn[0])
    cone = Cone(Point3D(0.0, 0.0, 0.0), Vector3D(0.0, turn[1], 2.0), 0.5)
    cylinder = Cylinder(Point3D(0.0, 0.0, 0.0), Vector3D(1.0, turn[2], 0.0), 0.7)
    arc = Arc3D(Plane(Vector3D(0.0, 0.0, 1.0)), 2.0 + turn[0], 0.1, 1.5 + turn[1])
    plane = Plane(Vector3D(0.1, 0.2, 1.0) + Vector3D(*turn), Point3D(0.0, 0.0, 0.2))
    near = plane.closest_point(Point3D(1.0, 2.0, 3.0))
    return sphere.volume + cone.area + cylinder.volume + arc.length + near.x * near.z


def rational(turn: Any) -> Any:
    nodes = np.linspace(-1.0, 1.0, 7)
    values = np.exp(nodes * turn[0]) / (2.0 + turn[1] * nodes)
    both = [baryrat.floater_hormann(nodes, values, 3), baryrat.interpolate_poly(nodes, values)]
    return (
        sum(np.sum(r(np.array([0.13, -0.51, 0.77])) ** 2) for r in both)
        + (both[0].eval_deriv(np.array([0.2]), k=1)[0])
    )


def fitted(turn: Any) -> Any:
    nodes = np.linspace(-1.0, 1.0, 7)
    values = np.exp(nodes * turn[0]) / (2.0 + turn[1] * nodes)
    r = baryrat.interpolate_rat(nodes, values)
    return np.sum(r(np.array([0.13, -0.51, 0.77])) ** 2)


def poled(turn: Any) -> Any:
    nodes = np.linspace(-1.0, 1.0, 6)
    poles = np.append(2.0 + turn, [-3.0, -4.5])
    r = baryrat.interpolate_with_poles(nodes, np.cos(nodes * turn[0]), poles)
    return np.sum(r(np.array([0.13, -0.51, 0.77])) ** 2) + np.abs(r.gain())


def stocked(number: Any) -> Any:
    quantity, cost = economic_order_quantity(8.0 * number[0], 0.225, 1300.0 * number[1])
    *_, discounted = economic_order_quantity_with_all_units_discounts(
        8.0 * number[0], 0.3, 1300.0 * number[1], [0, 400, 800], [0.75, 0.72, 0.68]
    )
    back = economic_order_quantity_with_backorders(8.0, 0.225 * number[0], 5.0 * number[1], 1300.0)
    return quantity / 100.0 + cost / 100.0 + discounted / 100.0 + back[1] * 10.0


def sold(number: Any) -> Any:
    level, cost = newsvendor_normal(0.18 * number[0], 0.7 * number[1], 50.0, 8.0 * number[0])
    losses = [
        normal_loss(52.0, 50.0 * number[0], 8.0),
        normal_second_loss(5.0 * number[1], 4.0, 3.0),
        lognormal_loss(10.0, 2.0 * number[0], 0.3),
        gamma_loss(2.0, 1.5 * number[0], 2.0),
    ]
    return (
        level / 10.0
        + cost
        + newsvendor_normal_cost(40.0 * number[1], 0.18, 0.7, 50.0, 8.0)
        + sum(np.sum(np.array(loss)) for loss in losses) / 10.0
    )


def ordered(number: Any) -> Any:
    cost = r_q_cost(108.0, 500.0 * number[1], 20.0 * number[0], 150.0, 100.0, 1500.0, 6.0, 0.25)
    point = r_q_eoqb_approximation(20.0 * number[0], 150.0, 100.0 * number[1], 1500.0, 20.0, 0.25)
    return cost / 100.0 + sum(point) / 100.0


def disrupted(number: Any) -> Any:
    plan = wagner_whitin(4, 2.0, 500.0 * number[0], [90.0, 120.0 * number[1], 80.0, 70.0])
    stopped = eoq_with_disruptions(
        8.0, 0.225 * number[0], 5.0, 1300.0, 1.5, 14.0 * number[1], approximate=True
    )
    uneven = eoq_with_additive_yield_uncertainty(
        18.5 * number[0], 0.06, 75.0, -15.0, 9.0 * number[1]
    )
    return plan[1] / 100.0 + sum(stopped) / 100.0 + sum(uneven) / 100.0


def logistic(number: Any) -> Any:
    model = pints.toy.LogisticModel(2.0)
    times = np.linspace(0.0, 5.0, 9)
    problem = pints.SingleOutputProblem(model, times, 3.0 + NOISE[:9])
    likelihood = pints.GaussianLogLikelihood(problem)
    student = pints.StudentTLogLikelihood(problem)
    place = np.array([1.0 * number[0], 9.0 * number[1]])
    return (
        likelihood([*place, 0.8]) / 10.0
        + student([*place, 3.0, number[0]]) / 10.0
        + (pints.SumOfSquaresError(problem)(place) / 100.0)
    )


def prior(number: Any) -> Any:
    parts = [pints.GammaLogPrior(2.0, 1.5), pints.StudentTLogPrior(0.5, 3.0, 1.2)]
    together = pints.ComposedLogPrior(*parts)
    change = pints.ComposedTransformation(
        pints.LogTransformation(1), pints.RectangularBoundariesTransformation([0.0], [3.0])
    )
    moved = change.to_search(number)
    halves = [pints.HalfCauchyLogPrior(0.0, 2.0), pints.InverseGammaLogPrior(3.0, 1.0)]
    return (
        together(number)
        + np.sum(moved)
        + change.log_jacobian_det(moved)
        + sum(x([number[0]]) for x in halves)
        + pints.MultivariateGaussianLogPrior(np.zeros(2), np.eye(2) + 0.1)(number)
    )


def chained(number: Any) -> Any:
    chains = NOISE[:240].reshape(3, 40, 2) ** 2 + np.outer(np.arange(3.0), number)[:, np.newaxis]
    return (
        np.sum(pints.rhat(chains))
        + np.sum(np.array(pints.effective_sample_size(np.exp(chains[0] * number)))) / 40.0
    )


def oscillating(number: Any) -> Any:
    model = pints.toy.SimpleHarmonicOscillatorModel()
    times = np.linspace(0.0, 5.0, 9)
    values, slopes = model.simulateS1([1.0, 0.5 * number[0], 0.3 * number[1]], times)
    return np.sum(values**2) + np.sum(slopes) / 10.0


def scattered(turn: Any) -> Any:
    data = NOISE[:60].reshape(12, 5) + np.outer(NOISE[60:72], np.append(turn, [0.5, -0.3])) * 3.0
    model = hoggorm.nipalsPCA(arrX=data, numComp=2, Xstand=False)
    return (
        np.sum(model.X_loadings() ** 4) + model.X_calExplVar()[0] / 100.0 + np.sum(model.X_PRESSE())
    )


def related(turn: Any) -> Any:
    data = NOISE[:60].reshape(12, 5) + np.outer(NOISE[60:72], np.append(turn, [0.5, -0.3])) * 3.0
    target = data[:, :2] ** 2 + NOISE[100:112, np.newaxis] * turn[0]
    model = hoggorm.nipalsPLS2(arrX=data, arrY=target, numComp=2)
    return np.sum(model.regressionCoefficients(2) ** 2) + np.sum(model.Y_predCal()[2] ** 2)


def correlated(turn: Any) -> Any:
    data = NOISE[:60].reshape(12, 5) + np.outer(NOISE[60:72], np.append(turn, [0.5, -0.3])) * 3.0
    blocks = [hoggorm.center(data), hoggorm.center(NOISE[200:248].reshape(12, 4))]
    return (
        hoggorm.RVcoeff(blocks)[0, 1]
        + hoggorm.RV2coeff(blocks)[0, 1]
        + (hoggorm.SMI(data, blocks[1], ncomp1=2, ncomp2=2).smi[0, 1])
    )


def windy(number: Any) -> Any:
    air = coare_35(
        u=[7.0 * number[0], 3.0, 11.0], t=[14.0, 15.0, 12.0 * number[1]], rh=80.0, ts=15.0
    )
    return (
        np.sum(air.fluxes.tau) * 10.0 + np.sum(air.fluxes.hsb) / 10.0 + np.sum(air.fluxes.hlb) / 100
    )


def salty(number: Any) -> Any:
    air = coare_36(
        u=[7.0 * number[0], 4.0], t=[14.0, 15.0 * number[1]], rh=[80.0, 70.0], ts=[16.0, 14.0]
    )
    return (
        np.sum(air.fluxes.tau) * 10.0
        + np.sum(air.transfer_coefficients.cd) * 1e3
        + np.sum(air.velocities.u_n_rf)
    )


def humid(number: Any) -> Any:
    moist = qair(15.0 * number[0], 1010.0, 70.0 * number[1])
    stable = psiu_26(np.array([0.3, -0.2, 1.5]) * number[0])
    return (
        np.sum(moist)
        + np.sum(qsea(18.0 * number[1], 1010.0))
        + np.sum(stable)
        + np.sum(rhcalc(15.0, 1010.0, 0.008 * number[0])) / 10.0
    )


ROWS: Final = (
    Row("scikit-kinematics", "quat.q_mult", oriented, TURNS),
    Row("scikit-kinematics", "imus.analytical", measured, TURNS),
    Row("scikit-kinematics", "imus.Madgwick, Mahony", fused, TURNS),
    Row("scikit-kinematics", "rotmat.dh", jointed, TURNS),
    Row("commonroad-vehicle-models", "vehicle_dynamics_st", steered, TURNS),
    Row("commonroad-vehicle-models", "vehicle_dynamics_ks", simple, TURNS),
    Row("commonroad-vehicle-models", "vehicle_dynamics_std", drifting, TURNS),
    Row("commonroad-vehicle-models", "vehicle_dynamics_mb", bodied, TURNS),
    Row("ladybug-geometry", "Face3D", faced, TURNS),
    Row("ladybug-geometry", "Polygon2D", flat, TURNS),
    Row("ladybug-geometry", "Sphere, Cone, Plane", solid, TURNS),
    Row("baryrat", "floater_hormann", rational, TURNS),
    Row("baryrat", "interpolate_rat", fitted, TURNS),
    Row("baryrat", "interpolate_with_poles", poled, TURNS),
    Row("stockpyl", "economic_order_quantity", stocked, NUMBERS),
    Row("stockpyl", "newsvendor_normal", sold, NUMBERS),
    Row("stockpyl", "r_q_cost", ordered, NUMBERS),
    Row("stockpyl", "wagner_whitin", disrupted, NUMBERS),
    Row("pints", "GaussianLogLikelihood", logistic, NUMBERS),
    Row("pints", "ComposedLogPrior", prior, NUMBERS),
    Row("pints", "rhat", chained, NUMBERS),
    Row("pints", "simulateS1", oscillating, NUMBERS),
    Row("hoggorm", "nipalsPCA", scattered, TURNS),
    Row("hoggorm", "nipalsPLS2", related, TURNS),
    Row("hoggorm", "RVcoeff", correlated, TURNS),
    Row("pycoare", "coare_35", windy, NUMBERS),
    Row("pycoare", "coare_36", salty, NUMBERS),
    Row("pycoare", "psiu_26", humid, NUMBERS),
)
