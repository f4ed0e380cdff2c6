"""Learning: pymoo, pyriemann, pysindy, scikit-learn."""

from typing import Any, Final

import numpy as np
import pysindy
from pymoo.decomposition.tchebicheff import Tchebicheff
from pymoo.indicators.gd import GD
from pymoo.problems import get_problem
from pymoo.problems.single import Rastrigin
from pyriemann.utils import base, distance, kernel, mean
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from sklearn.metrics import log_loss, mean_squared_error, pairwise
from sklearn.neural_network import MLPRegressor

from packages.row import Row

DESIGNS: Final = (
    np.array([0.3, 0.4, 0.5]),
    np.array([0.1, 0.9, 0.2]),
    np.array([0.6, 0.7, 0.8]),
)
RASTRIGIN: Final = Rastrigin(n_var=3)
ZDT1: Final = get_problem("zdt1", n_var=3)
DTLZ2: Final = get_problem("dtlz2", n_var=3, n_obj=2)
FRONT: Final = np.array([[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
A: Final = np.array([[2.0, 0.3], [0.3, 1.0]])
B: Final = np.array([[1.5, -0.2], [-0.2, 0.8]])
SWAP: Final = np.array([[0.0, 1.0], [1.0, 0.0]])
TIMES: Final = (0.1, 0.2, 0.3)
STATES: Final = np.random.default_rng(0).normal(size=(6, 2))
TRAJECTORIES: Final = (STATES, STATES * 1.3, STATES + 0.1)
POLYNOMIALS: Final = pysindy.PolynomialLibrary(degree=2).fit(STATES)
FOURIER: Final = pysindy.FourierLibrary(n_frequencies=1).fit(STATES)
DIFFERENCES: Final = pysindy.FiniteDifference(order=2)
POINTS: Final = np.array([[0.1, 0.2], [0.5, 0.9], [1.0, 0.3]])
TARGETS: Final = [1.0, 2.0, 0.5]
CLOUDS: Final = (
    POINTS,
    POINTS * 1.5,
    POINTS + np.array([[0.1, 0.0]]) * np.arange(3.0)[:, None],
)
QUERIES: Final = (POINTS[:1] + 0.2, POINTS[1:2], POINTS[2:])
PROCESS: Final = GaussianProcessRegressor(kernels.RBF(1.0), optimizer=None).fit(POINTS, TARGETS)
NETWORK: Final = MLPRegressor(hidden_layer_sizes=(4,), max_iter=20, random_state=0).fit(
    POINTS, TARGETS
)


def rastrigin(x: Any) -> Any:
    out: dict[str, Any] = {}
    RASTRIGIN._evaluate(x[None], out)
    return np.sum(out["F"])


def tchebicheff(x: Any) -> Any:
    weights = np.array([[0.3, 0.4, 0.5]])
    return Tchebicheff().do(x[None], weights, utopian_point=np.zeros(3)).sum()


def matrix(t: Any) -> Any:
    return A + t * SWAP


ROWS: Final = (
    Row("pymoo", "Rastrigin.evaluate", lambda x: RASTRIGIN.evaluate(x)[0], DESIGNS),
    Row("pymoo", "ZDT1.evaluate", lambda x: ZDT1.evaluate(x)[1], DESIGNS),
    Row("pymoo", "DTLZ2.evaluate", lambda x: np.sum(DTLZ2.evaluate(x)), DESIGNS),
    Row("pymoo", "GD", lambda x: GD(FRONT)(x[None]), DESIGNS),
    Row("pymoo", "Tchebicheff.do", tchebicheff, DESIGNS, step=1e-4),
    Row("pymoo", "Rastrigin._evaluate", rastrigin, DESIGNS),
    Row("pyriemann", "distance_riemann", lambda t: distance.distance_riemann(matrix(t), B), TIMES),
    Row(
        "pyriemann",
        "distance_logeuclid",
        lambda t: distance.distance_logeuclid(matrix(t), B),
        TIMES,
    ),
    Row(
        "pyriemann",
        "distance_kullback",
        lambda t: distance.distance_kullback(matrix(t), B),
        TIMES,
    ),
    Row("pyriemann", "base.sqrtm", lambda t: np.sum(base.sqrtm(matrix(t)) ** 3), TIMES),
    Row(
        "pyriemann",
        "mean_riemann",
        lambda t: np.sum(mean.mean_riemann(np.stack([matrix(t), B])) ** 3),
        TIMES,
        tolerance=1e-4,
    ),
    Row(
        "pyriemann",
        "kernel_euclid",
        lambda t: np.sum(kernel.kernel_euclid(np.stack([matrix(t), B]), np.stack([A, B]))),
        TIMES,
    ),
    Row(
        "pysindy",
        "PolynomialLibrary.transform",
        lambda x: np.sum(np.asarray(POLYNOMIALS.transform(x)) ** 2),
        TRAJECTORIES,
    ),
    Row(
        "pysindy",
        "FourierLibrary.transform",
        lambda x: np.sum(FOURIER.transform(x) ** 2),
        TRAJECTORIES,
    ),
    Row(
        "pysindy",
        "FiniteDifference",
        lambda x: np.sum(DIFFERENCES._differentiate(x, 0.1) ** 2),
        TRAJECTORIES,
    ),
    Row(
        "pysindy",
        "get_prox",
        lambda x: np.sum(pysindy.utils.get_prox("l1")(x, np.full_like(STATES, 0.05)) ** 2),
        TRAJECTORIES,
    ),
    Row(
        "scikit-learn",
        "pairwise.rbf_kernel",
        lambda x: np.sum(pairwise.rbf_kernel(x, POINTS[:2], gamma=0.5)),
        CLOUDS,
    ),
    Row(
        "scikit-learn",
        "kernels.RBF",
        lambda length: np.sum(kernels.RBF(length)(POINTS)),
        (0.5, 1.0, 2.0),
    ),
    Row(
        "scikit-learn",
        "kernels.Matern",
        lambda x: np.sum(kernels.Matern(1.0, nu=1.5)(x, POINTS[:2] + 0.05)),
        CLOUDS,
    ),
    Row(
        "scikit-learn",
        "log_marginal_likelihood",
        PROCESS.log_marginal_likelihood,
        (np.array([0.1]), np.array([0.5]), np.array([-0.5])),
    ),
    Row(
        "scikit-learn",
        "GaussianProcessRegressor.predict",
        lambda x: PROCESS.predict(x)[0],
        QUERIES,
    ),
    Row(
        "scikit-learn",
        "mean_squared_error",
        lambda p: mean_squared_error(np.array([1.0, 2.0, 3.0]), p),
        (np.array([1.1, 2.2, 2.5]), np.array([1.0, 3.0, 2.0]), np.array([0.0, 1.0, 5.0])),
    ),
    Row("scikit-learn", "MLPRegressor.predict", lambda x: NETWORK.predict(x)[0], QUERIES),
    Row(
        "scikit-learn",
        "log_loss",
        lambda p: log_loss([0, 1, 1], p),
        (np.array([0.2, 0.7, 0.9]), np.array([0.4, 0.6, 0.5]), np.array([0.1, 0.3, 0.8])),
    ),
)
