"""Filters: filterpy, hmmlearn, pykalman."""

from typing import Any, Final

import numpy as np
import pykalman
from filterpy import kalman, stats as filter_stats
from filterpy.common import Q_discrete_white_noise
from hmmlearn import hmm, stats as hmm_stats
from pykalman.standard import _filter_predict

from packages.row import Row

OBSERVATIONS: Final = (1.0, 2.1, 2.9, 4.2)
COLUMN: Final = np.array(OBSERVATIONS)[:, None]
MOTION: Final = np.array([[1.0, 1.0], [0.0, 1.0]])
FIRST: Final = np.array([[1.0, 0.0]])
NOISES: Final = (0.1, 0.2, 0.5)
POINTS: Final = np.array([[0.1, 0.2], [0.5, 0.9], [1.0, 0.3]])
MEANS: Final = (POINTS[:2], POINTS[1:], POINTS[:2] * 2)


def likelihood(noise: Any) -> Any:
    model = kalman.KalmanFilter(dim_x=2, dim_z=1)
    model.x = np.array([[0.0], [1.0]])
    model.F, model.H, model.Q = MOTION.copy(), FIRST.copy(), noise * np.eye(2)
    total = 0.0
    for observation in OBSERVATIONS:
        model.predict()
        model.update(observation)
        total = total + model.log_likelihood
    return total


def likelihood_by_functions(noise: Any) -> Any:
    x, p, total = np.array([0.0, 1.0]), np.eye(2), 0.0
    for observation in OBSERVATIONS:
        x, p = kalman.predict(x, p, F=MOTION, Q=noise * np.eye(2))
        z, r = np.array([observation]), np.array([[1.0]])
        x, p, _, _, _, log_likelihood = kalman.update(x, p, z, r, H=FIRST, return_all=True)
        total = total + log_likelihood
    return total


def unscented(noise: Any) -> Any:
    model = kalman.UnscentedKalmanFilter(
        2,
        1,
        1.0,
        hx=lambda x: x[:1] ** 2,
        fx=lambda x, dt: np.array([x[0] + dt * x[1], x[1]]),
        points=kalman.MerweScaledSigmaPoints(2, alpha=0.1, beta=2.0, kappa=1.0),
    )
    model.x, model.Q = np.array([0.5, 1.0]), noise * np.eye(2)
    for observation in OBSERVATIONS:
        model.predict()
        model.update(observation)
    return model.x[0]


def model_of(noise: Any) -> Any:
    return pykalman.KalmanFilter(
        transition_matrices=MOTION,
        observation_matrices=FIRST,
        transition_covariance=noise * np.eye(2),
    )


def smoothed(observations: Any) -> Any:
    model = pykalman.KalmanFilter(transition_matrices=MOTION, observation_matrices=FIRST)
    return model.smooth(observations)[0][0, 0]


def density(means: Any) -> Any:
    densities = hmm_stats.log_multivariate_normal_density(POINTS, means, np.ones((2, 2)), "diag")
    return np.sum(densities)


def density_of_covariance(scale: Any) -> Any:
    covariances = (scale * np.eye(2))[None]
    densities = hmm_stats.log_multivariate_normal_density(POINTS, POINTS[:1], covariances, "full")
    return np.sum(densities)


def score(means: Any) -> Any:
    model = hmm.GaussianHMM(2, covariance_type="diag")
    model.n_features = 2
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.7, 0.3], [0.4, 0.6]])
    model.means_, model.covars_ = means, np.ones((2, 2))
    return model.score(POINTS)


ROWS: Final = (
    Row("filterpy", "KalmanFilter.log_likelihood", likelihood, NOISES),
    Row("filterpy", "kalman.predict, update", likelihood_by_functions, NOISES),
    Row(
        "filterpy",
        "Q_discrete_white_noise",
        lambda dt: np.sum(Q_discrete_white_noise(2, dt, 0.3)),
        (0.5, 1.0, 2.0),
    ),
    Row(
        "filterpy",
        "stats.gaussian",
        lambda m: filter_stats.gaussian(1.0, m, 2.0),
        (0.5, 1.5, 0.1),
    ),
    Row(
        "filterpy",
        "stats.mahalanobis",
        lambda x: filter_stats.mahalanobis(x, np.zeros(2), np.array([[2.0, 0.5], [0.5, 1.0]])),
        (np.array([1.0, 2.0]), np.array([0.5, 0.1]), np.array([-1.0, 2.0])),
    ),
    Row("filterpy", "UnscentedKalmanFilter", unscented, NOISES),
    Row("hmmlearn", "log_multivariate_normal_density(means)", density, MEANS),
    Row(
        "hmmlearn",
        "log_multivariate_normal_density(covars)",
        density_of_covariance,
        (0.5, 1.0, 2.0),
    ),
    Row("hmmlearn", "GaussianHMM.score", score, MEANS, compiled="the forward recursion, in C++"),
    Row(
        "pykalman",
        "KalmanFilter.loglikelihood",
        lambda q: model_of(q).loglikelihood(COLUMN),
        NOISES,
    ),
    Row(
        "pykalman",
        "KalmanFilter.filter",
        lambda q: model_of(q).filter(COLUMN)[0][-1, 0],
        NOISES,
    ),
    Row("pykalman", "KalmanFilter.smooth", smoothed, (COLUMN, COLUMN + 1, COLUMN * 2)),
    Row(
        "pykalman",
        "standard._filter_predict",
        lambda m: np.sum(
            _filter_predict(np.eye(2) * 1.1, np.eye(2), np.zeros(2), m, np.eye(2))[0] ** 2
        ),
        (np.array([1.0, 2.0]), np.array([0.0, 1.0]), np.array([3.0, 1.0])),
    ),
)
