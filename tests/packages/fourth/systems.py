"""The fourth set: arms, networks, curves, markets, and questionnaires."""

import warnings
from typing import Any, Final

import blackscholes
import csaps
import girth
import numpy as np
import properscoring
import pypower.api as pypower
import skfuzzy
from blackscholes.straddle import BlackScholesStraddleLong
from geomdl import NURBS, BSpline, fitting, knotvector, operations
from girth import factoranalysis
from ikpy.chain import Chain
from ikpy.link import DHLink, OriginLink, URDFLink
from ikpy.utils import geometry
from pypower.makePTDF import makePTDF
from pypower.totcost import totcost
from skfuzzy import control

from packages.row import Row

warnings.filterwarnings("ignore")

NOISE: Final = np.array(
    [0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22, 0.81, -0.47]
)
JOINTS: Final = (np.array([0.4, 1.1, 0.3]), np.array([-0.7, 0.6, 0.1]), np.array([1.2, -0.4, 0.5]))
SERIES: Final = (NOISE, NOISE[::-1] ** 2 + 0.3, np.sin(NOISE) + 0.2 * NOISE)
SITES: Final = np.linspace(0.0, 3.0, 12)
UNIVERSE: Final = np.linspace(0.0, 10.0, 44)
RESPONSES: Final = np.array([[1, 0, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0], [1, 1, 0, 1, 0, 0]])

ARM: Final = Chain(
    name="arm",
    links=[
        OriginLink(),
        URDFLink("shoulder", [0.0, 0.1, 0.4], [0.0, 0.3, 0.0], rotation=[0.0, 0.0, 1.0]),
        URDFLink("elbow", [0.5, 0.0, 0.0], [0.1, 0.0, 0.2], rotation=[0.0, 1.0, 0.0]),
        URDFLink(
            "slide", [0.3, 0.0, 0.1], [0.0, 0.0, 0.0], translation=[1.0, 0.0, 0.0],
            joint_type="prismatic",
        ),
    ],
    active_links_mask=[False, True, True, True],
)  # fmt: skip


def reach(joints: Any) -> Any:
    pose = ARM.forward_kinematics([0.0, *joints])
    return np.sum(pose[:3, 3] ** 2) + pose[0, 1]


def frames(joints: Any) -> Any:
    link = URDFLink(
        "elbow", [0.5, 0.0, 0.0], joints, rotation=[0.0, 1.0, 0.0], use_symbolic_matrix=False
    )
    return np.sum(link.get_link_frame_matrix(joints[0])[:3, 3]) + np.sum(link.get_rotation_axis())


def denavit(joints: Any) -> Any:
    link = DHLink("wrist", d=0.2, a=0.5, bounds=None)
    return np.sum(link.get_link_frame_matrix(joints[1]) * np.arange(16.0).reshape(4, 4))


def oriented(joints: Any) -> Any:
    matrix = geometry.rpy_matrix(*joints) @ geometry.axis_rotation_matrix([0.0, 0.6, 0.8], 0.3)
    return np.sum(np.array(geometry.rotation_matrix_to_rpy(matrix)) * [1.0, 2.0, 3.0])


def voltages(load: Any) -> Any:
    case = pypower.case9()
    case["bus"][4, 2] = load
    results, _ = pypower.runpf(case, pypower.ppoption(VERBOSE=0, OUT_ALL=0))
    return np.sum(results["bus"][:, 7]) + results["gen"][0, 1]


def admittance(reactances: Any) -> Any:
    case = pypower.ext2int(pypower.case9())
    branch = case["branch"].copy()
    branch[:3, 3] = reactances
    matrix, _, _ = pypower.makeYbus(case["baseMVA"], case["bus"], branch)
    return np.sum(np.abs(matrix @ np.exp(0.1j * np.arange(9.0))) ** 2)


def angles(reactances: Any) -> Any:
    case = pypower.ext2int(pypower.case9())
    branch = case["branch"].copy()
    branch[:3, 3] = reactances
    return np.sum(makePTDF(case["baseMVA"], case["bus"], branch)[:4] ** 2)


def costs(powers: Any) -> Any:
    return np.sum(totcost(pypower.case9()["gencost"], 100.0 * powers))


def smoothing(values: Any) -> Any:
    return np.sum(csaps.csaps(SITES, values, np.array([0.4, 1.7, 2.2]), smooth=0.8) ** 2)


def smoothed(weight: Any) -> Any:
    spline = csaps.CubicSmoothingSpline(SITES, NOISE, smooth=weight).spline
    return np.sum(spline(np.array([0.4, 1.7, 2.2])))


def automatic(values: Any) -> Any:
    result = csaps.csaps(SITES, values, np.array([0.4, 1.7]))
    return np.sum(result.values) + result.smooth


def curve(points: Any) -> Any:
    made = BSpline.Curve()
    made.degree = 3
    made.ctrlpts = [list(row) for row in points.reshape(6, 2)]
    made.knotvector = knotvector.generate(3, 6)
    x, y = made.evaluate_single(0.37)
    return x * y + made.derivatives(0.6, order=1)[1][0]


def rational(points: Any) -> Any:
    made = NURBS.Curve()
    made.degree = 2
    made.ctrlptsw = [[x, y, 1.0 + 0.1 * i] for i, (x, y) in enumerate(points.reshape(6, 2))]
    made.knotvector = knotvector.generate(2, 6)
    made.delta = 0.1
    return sum(x**2 + y for x, y in made.evalpts) + operations.tangent(made, 0.3)[1][0]


def fitted(points: Any) -> Any:
    made = fitting.interpolate_curve([list(row) for row in points.reshape(6, 2)], 3)
    return sum(x * y for x, y in made.ctrlpts)


def surface(points: Any) -> Any:
    made = BSpline.Surface()
    made.degree_u, made.degree_v = 2, 1
    made.set_ctrlpts([[i // 3, i % 3, z] for i, z in enumerate(points)], 4, 3)
    made.knotvector_u, made.knotvector_v = knotvector.generate(2, 4), knotvector.generate(1, 3)
    return made.evaluate_single((0.4, 0.7))[2] ** 2


def priced(numbers: Any) -> Any:
    call = blackscholes.BlackScholesCall(
        S=100 * numbers[0], K=95.0, T=0.5, r=0.03, sigma=numbers[1]
    )
    return call.price() + call.vanna() + sum(call.get_core_greeks().values())


def straddle(numbers: Any) -> Any:
    long = BlackScholesStraddleLong(S=100 * numbers[0], K=95.0, T=0.5, r=0.03, sigma=numbers[1])
    return long.price() + long.gamma()


def futures(numbers: Any) -> Any:
    put = blackscholes.Black76Put(F=100 * numbers[0], K=95.0, T=0.5, r=0.03, sigma=numbers[1])
    return put.price() + put.theta()


def ensemble(forecasts: Any) -> Any:
    observed = np.array([0.1, 0.4, -0.2])
    return np.sum(properscoring.crps_ensemble(observed, forecasts.reshape(3, 4)))


def gaussian(numbers: Any) -> Any:
    score, slopes = properscoring.crps_gaussian(0.3, numbers[0], numbers[1], grad=True)
    return score + slopes[0]


def brier(forecasts: Any) -> Any:
    chances = 1.0 / (1.0 + np.exp(-forecasts))
    return np.mean(properscoring.brier_score(np.array([0, 1, 1] * 4), chances))


def rating(service: Any) -> Any:
    quality = control.Antecedent(np.arange(0, 11, 1.0), "quality")
    tip = control.Consequent(np.arange(0, 26, 1.0), "tip")
    quality.automf(3)
    tip["low"] = skfuzzy.trimf(tip.universe, [0, 0, 13])
    tip["high"] = skfuzzy.trimf(tip.universe, [13, 25, 25])
    rules = [control.Rule(quality["poor"], tip["low"]), control.Rule(quality["good"], tip["high"])]
    simulation = control.ControlSystemSimulation(control.ControlSystem(rules))
    simulation.input["quality"] = service
    simulation.compute()
    return simulation.output["tip"]


def centroid(corners: Any) -> Any:
    membership = skfuzzy.trapmf(UNIVERSE, [1.0, 3.0 + corners[0], 5.0 + corners[1], 9.0])
    return skfuzzy.defuzz(UNIVERSE, membership, "centroid")


def bell(numbers: Any) -> Any:
    first = skfuzzy.gbellmf(UNIVERSE, 2.0 + numbers[0], 2.0, 5.0)
    second = skfuzzy.gauss2mf(UNIVERSE, 4.0, 1.0 + numbers[1] ** 2, 6.0, 1.0)
    return np.sum(np.fmin(first, second)) + skfuzzy.defuzz(UNIVERSE, second, "bisector")


def clusters(values: Any) -> Any:
    found = skfuzzy.cluster.cmeans(
        values.reshape(2, 6), 2, 2.0, error=1e-9, maxiter=200,
        init=np.tile([[0.9, 0.1], [0.1, 0.9]], 3),
    )  # fmt: skip
    return np.sum(found[0] ** 2) + found[-1]


def ability(difficulty: Any) -> Any:
    return np.sum(girth.ability_eap(RESPONSES, difficulty, np.array([1.1, 0.8, 1.3])) ** 2)


def reliable(scores: Any) -> Any:
    data = np.outer([1.0, 0.7, 1.2], scores) + 0.1 * np.cos(np.arange(36.0)).reshape(3, 12)
    return girth.common.cronbach_alpha(data)


def factors(values: Any) -> Any:
    half = np.eye(4)
    half[1:, :3] += 0.2 * values[:9].reshape(3, 3)
    loadings, _eigenvalues, unique = factoranalysis.maximum_likelihood_factor_analysis(
        half @ half.T, 1
    )
    return np.sum(loadings**2) + np.sum(unique)


def components(values: Any) -> Any:
    half = np.eye(4)
    half[1:, :3] += 0.2 * values[:9].reshape(3, 3)
    loadings, eigenvalues, _ = factoranalysis.principal_components_analysis(half @ half.T, 2)
    return np.sum(loadings**2 * np.arange(8.0).reshape(4, 2)) + eigenvalues[0]


NUMBERS: Final = (np.array([1.0, 0.2]), np.array([0.9, 0.35]), np.array([1.15, 0.5]))
REACTANCES: Final = (
    np.array([0.05, 0.09, 0.2]),
    np.array([0.07, 0.12, 0.15]),
    np.array([0.04, 0.2, 0.1]),
)

ROWS: Final = (
    Row("ikpy", "Chain.forward_kinematics", reach, JOINTS),
    Row("ikpy", "URDFLink.get_link_frame_matrix", frames, JOINTS),
    Row("ikpy", "DHLink.get_link_frame_matrix", denavit, JOINTS),
    Row("ikpy", "geometry.rotation_matrix_to_rpy", oriented, JOINTS),
    Row("PYPOWER", "runpf", voltages, (90.0, 110.0, 60.0)),
    Row("PYPOWER", "makeYbus", admittance, REACTANCES),
    Row("PYPOWER", "makePTDF", angles, REACTANCES),
    Row("PYPOWER", "totcost", costs, REACTANCES),
    Row("csaps", "csaps", smoothing, SERIES),
    Row("csaps", "CubicSmoothingSpline", smoothed, (0.5, 0.8, 0.95)),
    Row("csaps", "csaps of no weight", automatic, SERIES),
    Row("geomdl", "BSpline.Curve", curve, SERIES),
    Row("geomdl", "NURBS.Curve", rational, SERIES),
    Row("geomdl", "fitting.interpolate_curve", fitted, SERIES),
    Row("geomdl", "BSpline.Surface", surface, SERIES),
    Row("blackscholes", "BlackScholesCall", priced, NUMBERS),
    Row("blackscholes", "BlackScholesStraddleLong", straddle, NUMBERS),
    Row("blackscholes", "Black76Put", futures, NUMBERS),
    Row("properscoring", "crps_ensemble", ensemble, SERIES, compiled="a gufunc of numba"),
    Row("properscoring", "crps_gaussian", gaussian, NUMBERS),
    Row("properscoring", "brier_score", brier, SERIES),
    Row("scikit-fuzzy", "ControlSystemSimulation", rating, (2.3, 6.4, 8.7)),
    Row("scikit-fuzzy", "trapmf and defuzz", centroid, NUMBERS),
    Row("scikit-fuzzy", "gbellmf and defuzz", bell, NUMBERS),
    Row("scikit-fuzzy", "cmeans", clusters, SERIES),
    Row("girth", "ability_eap", ability, JOINTS),
    Row("girth", "cronbach_alpha", reliable, SERIES),
    Row("girth", "maximum_likelihood_factor_analysis", factors, SERIES),
    Row("girth", "principal_components_analysis", components, SERIES),
)
