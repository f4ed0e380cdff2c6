"""The sixth set: options, learning, filters, and targets that are tracked."""

import datetime
import warnings
from typing import Any, Final

import numpy as np
import simdkalman
from mlxtend.classifier import LogisticRegression, MultiLayerPerceptron
from mlxtend.feature_extraction import PrincipalComponentAnalysis
from mlxtend.preprocessing import minmax_scaling, standardize
from mlxtend.regressor import LinearRegression
from pysabr import Hagan2002LognormalSABR, Hagan2002NormalSABR, black
from stonesoup.measures import Euclidean, GaussianHellinger, Mahalanobis
from stonesoup.models.measurement.linear import LinearGaussian
from stonesoup.models.measurement.nonlinear import CartesianToBearingRange
from stonesoup.models.transition.linear import (
    CombinedLinearGaussianTransitionModel,
    ConstantVelocity,
    OrnsteinUhlenbeck,
)
from stonesoup.predictor.kalman import (
    KalmanPredictor,
    UnscentedKalmanPredictor,
)
from stonesoup.smoother.kalman import KalmanSmoother
from stonesoup.types.detection import Detection
from stonesoup.types.hypothesis import SingleHypothesis
from stonesoup.types.state import GaussianState
from stonesoup.types.track import Track
from stonesoup.updater.kalman import KalmanUpdater, UnscentedKalmanUpdater

from packages.row import Row

warnings.filterwarnings("ignore")

SMILES: Final = (
    np.array([0.025, 0.006, -0.2]),
    np.array([0.031, 0.009, 0.1]),
    np.array([0.019, 0.004, -0.5]),
)
STRIKES: Final = np.array([0.012, 0.018, 0.027, 0.035])
NOISE: Final = np.array(
    [0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22, 0.81, -0.47]
)
SERIES: Final = (NOISE, NOISE[::-1] ** 2 + 0.3, np.sin(NOISE) + 0.2 * NOISE)
LABELS: Final = np.array([0, 1, 0, 1, 1, 0])
STARTS: Final = (
    np.array([1.0, 0.8, 2.0]),
    np.array([-3.0, 0.4, 5.0]),
    np.array([2.5, -0.6, 4.2]),
)
OFFSET: Final = np.array([[-2.0], [1.0]])
BEGIN: Final = datetime.datetime(2026, 1, 1)


def smile(numbers: Any) -> Any:
    sabr = Hagan2002LognormalSABR(
        f=numbers[0], shift=0.01, t=3.0, v_atm_n=numbers[1], beta=0.6, rho=numbers[2], volvol=0.4
    )
    return sum(sabr.lognormal_vol(k) for k in STRIKES) + 100.0 * sabr.call(0.02) + sabr.alpha()


def normal(numbers: Any) -> Any:
    sabr = Hagan2002NormalSABR(
        f=numbers[0], shift=0.0, t=2.0, v_atm_n=numbers[1], beta=0.5, rho=numbers[2], volvol=0.3
    )
    return 100.0 * sabr.normal_vol(0.03) + sabr.lognormal_vol(0.021) + 1e3 * sabr.call(0.024)


def priced(numbers: Any) -> Any:
    call = black.lognormal_call(0.02, numbers[0], 1.5, 0.3 + 0.1 * numbers[2], 0.01)
    put = black.normal_call(0.03, numbers[0], 1.5, numbers[1], 0.01, cp="put")
    volatility = black.hagan_normal_to_lognormal(0.02, numbers[0], 0.01, 1.5, numbers[1])
    return 1e3 * (call + put) + volatility


def implied(numbers: Any) -> Any:
    volatility = black.normal_to_shifted_lognormal(0.022, numbers[0], 0.01, 1.5, numbers[1])
    return 10.0 * volatility


def table(numbers: Any) -> Any:
    return numbers.reshape(6, 2) + 0.3 * np.arange(12.0).reshape(6, 2) ** 0.5


def regressed(numbers: Any) -> Any:
    target = np.cos(np.arange(6.0)) + numbers[:6]
    direct = LinearRegression().fit(table(numbers), target)
    stable = LinearRegression(method="qr").fit(table(numbers), target)
    return np.sum(direct.predict(table(numbers)) ** 2) + np.sum(stable.w_) + direct.b_[0]


def classified(numbers: Any) -> Any:
    scaled = standardize(table(numbers), columns=[0, 1])
    model = LogisticRegression(eta=0.1, l2_lambda=0.01, epochs=30, minibatches=1, random_seed=1)
    model.fit(scaled, LABELS)
    return np.sum(model.predict_proba(scaled) ** 2) + model.cost_[-1]


def reduced(numbers: Any) -> Any:
    wide = np.column_stack([table(numbers), np.sin(3.0 * numbers[:6])])
    scaled = minmax_scaling(wide, columns=[0, 1])
    components = PrincipalComponentAnalysis(n_components=2, solver="svd").fit(wide)
    return np.sum(components.transform(wide) ** 2) + components.e_vals_[2] + np.sum(scaled**2)


def layered(numbers: Any) -> Any:
    model = MultiLayerPerceptron(
        hidden_layers=[4], l2=0.01, eta=0.3, epochs=12, momentum=0.1, minibatches=2, random_seed=3
    )
    model.fit(table(numbers), LABELS)
    return np.sum(model.predict_proba(table(numbers))[:, 0] ** 2) + model.cost_[-1]


def trend(noise: Any) -> Any:
    return simdkalman.KalmanFilter(
        state_transition=np.array([[1, 1], [0, 1]]),
        process_noise=np.diag([0.1, 0.01]),
        observation_model=np.array([[1, 0]]),
        observation_noise=noise,
    )


def smoothed(series: Any) -> Any:
    data = np.stack([series, series[::-1] ** 2])
    result = trend(1.0).smooth(data, initial_value=[0.0, 1.0], initial_covariance=np.eye(2) * 3)
    return np.sum(result.states.mean**2) + np.sum(result.observations.cov[0])


def forecast(series: Any) -> Any:
    data = np.where(np.arange(12) == 4, np.nan, series)
    result = trend(0.5 + series[0] ** 2).predict(data, 3, initial_covariance=np.eye(2))
    return np.sum(result.observations.mean) + np.sum(result.observations.cov**2)


def likely(series: Any) -> Any:
    result = trend(0.7).compute(
        series, 2, initial_value=[series[0], 0.0], initial_covariance=np.eye(2), filtered=True,
        likelihoods=True, log_likelihood=True,
    )  # fmt: skip
    fitted = trend(0.7).em(np.stack([series, -series]), n_iter=2)
    return (
        np.sum(result.filtered.states.mean**2)
        + np.sum(result.log_likelihood)
        + np.sum(fitted.process_noise)
    )


def motion() -> Any:
    return CombinedLinearGaussianTransitionModel([ConstantVelocity(0.1), ConstantVelocity(0.2)])


def state(start: Any) -> Any:
    return GaussianState([start[0], 0.5, start[2], start[1]], np.diag([1.5, 0.5, 1.5, 0.5]), BEGIN)


def later(seconds: float) -> datetime.datetime:
    return BEGIN + datetime.timedelta(seconds=seconds)


def tracked(start: Any) -> Any:
    predictor = KalmanPredictor(motion())
    updater = KalmanUpdater(LinearGaussian(4, (0, 2), np.diag([0.5, 0.3])))
    estimate = state(start)
    for k in range(1, 4):
        prediction = predictor.predict(estimate, timestamp=later(k))
        seen = Detection([1.0 + 0.7 * k, 2.0 + 0.9 * k], timestamp=later(k))
        estimate = updater.update(SingleHypothesis(prediction, seen))
    return np.sum(estimate.state_vector) + estimate.mean[1] ** 2 + np.trace(estimate.covar)


def compared(start: Any) -> Any:
    reference = GaussianState([0.5, 0.2, 1.0, -0.3], np.diag([2.0, 0.4, 1.1, 0.6]), BEGIN)
    distance = Mahalanobis()(state(start), reference) + GaussianHellinger()(state(start), reference)
    return distance + Euclidean(mapping=[0, 2])(state(start), reference)


def unscented(start: Any) -> Any:
    sensor = CartesianToBearingRange(4, (0, 2), np.diag([0.02, 0.4]), translation_offset=OFFSET)
    prediction = UnscentedKalmanPredictor(motion()).predict(state(start), timestamp=later(0.5))
    seen = Detection([[1.1], [6.0]], timestamp=later(0.5))
    estimate = UnscentedKalmanUpdater(sensor).update(SingleHypothesis(prediction, seen))
    return np.sum(estimate.mean) + np.sum(estimate.covar)


def retraced(start: Any) -> Any:
    model = CombinedLinearGaussianTransitionModel(
        [ConstantVelocity(0.1 + start[1] ** 2), OrnsteinUhlenbeck(0.2, 0.3)]
    )
    predictor = KalmanPredictor(model)
    updater = KalmanUpdater(LinearGaussian(4, (0, 2), np.diag([0.5, 0.3])))
    track = Track([state(start)])
    for k in range(1, 4):
        prediction = predictor.predict(track[-1], timestamp=later(k))
        seen = Detection([1.0 + 0.7 * k, 2.0 + 0.9 * k], timestamp=later(k))
        track.append(updater.update(SingleHypothesis(prediction, seen)))
    first = KalmanSmoother(model).smooth(track)[1]
    return np.sum(first.mean**2) + np.trace(first.covar)


ROWS: Final = (
    Row("pysabr", "Hagan2002LognormalSABR", smile, SMILES),
    Row("pysabr", "Hagan2002NormalSABR", normal, SMILES, tolerance=1e-4),
    Row("pysabr", "black.lognormal_call", priced, SMILES),
    Row("pysabr", "black.normal_to_shifted_lognormal", implied, SMILES, tolerance=1e-3),
    Row("mlxtend", "LinearRegression", regressed, SERIES),
    Row("mlxtend", "LogisticRegression", classified, SERIES),
    Row("mlxtend", "PrincipalComponentAnalysis", reduced, SERIES),
    Row("mlxtend", "MultiLayerPerceptron", layered, SERIES),
    Row("simdkalman", "KalmanFilter.smooth", smoothed, SERIES),
    Row("simdkalman", "KalmanFilter.predict", forecast, SERIES),
    Row("simdkalman", "KalmanFilter.em", likely, SERIES),
    Row("stonesoup", "KalmanUpdater", tracked, STARTS),
    Row("stonesoup", "measures", compared, STARTS),
    Row("stonesoup", "UnscentedKalmanUpdater", unscented, STARTS),
    Row("stonesoup", "KalmanSmoother", retraced, STARTS),
)
