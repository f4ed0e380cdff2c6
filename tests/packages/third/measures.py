"""Measured things: emcee, lmfit, mir_eval, pint, POT, statsmodels, tensorly, uncertainties."""

from typing import Any, Final

import emcee
import lmfit
import mir_eval
import numpy as np
import ot
import pint
import statsmodels.api as sm
import tensorly
import uncertainties
from statsmodels.stats import moment_helpers, stattools
from statsmodels.stats.weightstats import DescrStatsW
from tensorly.metrics import regression
from uncertainties import umath

from packages.row import Row

UNITS: Final[Any] = pint.UnitRegistry()
GRID: Final = np.linspace(-3.0, 4.0, 15)
NOISE: Final = np.sin(np.arange(24.0) ** 2)
TIMES: Final = np.linspace(0.0, 2.0, 12)
DESIGN: Final = np.stack([np.ones(12), TIMES, TIMES**2], axis=1)
SERIES: Final = (
    np.array([0.3, 1.2, -0.5, 0.8, 2.1, 1.7, -0.2, 0.9, 1.1, 0.4, -1.3, 0.6]),
    np.array([1.3, 0.2, 0.5, -0.8, 1.1, 0.7, 1.2, -0.9, 0.1, 1.4, 0.3, -0.6]),
    np.array([-0.3, 0.7, 1.5, 1.8, 0.1, -0.7, 0.2, 0.5, -1.1, 0.8, 1.9, 2.6]),
)
SHAPES: Final = (
    np.array([2.0, 0.3, 0.7]),
    np.array([1.0, -0.4, 1.2]),
    np.array([3.5, 0.9, 0.5]),
)
CLOUDS: Final = (
    np.array([[0.1, 0.5], [1.2, 0.3], [-0.4, 0.9]]),
    np.array([[0.6, -0.5], [0.2, 1.3], [1.4, 0.1]]),
    np.array([[-0.1, 0.2], [0.9, 1.1], [0.3, -0.8]]),
)
TARGETS: Final = np.array([[0.0, 0.1], [1.0, 0.8], [0.5, -0.3]])
THIRDS: Final = np.full(3, 1 / 3)
FACTORS: Final = [np.sin(np.arange(6.0) + k).reshape(3, 2) for k in range(2)]
FULL: Final = np.cos(np.arange(27.0)).reshape(3, 3, 3)
MATRICES: Final = (
    np.array([[0.9, 0.5], [-0.3, 1.2], [0.4, 0.1]]),
    np.array([[1.1, -0.2], [0.7, 0.3], [-0.6, 0.8]]),
    np.array([[0.2, 0.6], [1.3, -0.4], [0.5, 0.9]]),
)


def voigt(shape: Any) -> Any:
    return np.sum(GRID * lmfit.lineshapes.voigt(GRID, shape[0], shape[1], shape[2]))


def model(shape: Any) -> Any:
    line = lmfit.models.SkewedGaussianModel()
    parameters = line.make_params(amplitude=shape[0], center=shape[1], sigma=shape[2], gamma=0.5)
    return np.sum(GRID * line.eval(parameters, x=GRID))


def residual(shape: Any) -> Any:
    parameters = lmfit.Parameters()
    parameters.add("height", value=shape[0])
    parameters.add("width", value=shape[2], min=0.0)
    parameters.add("area", expr="height * width")
    values = parameters.valuesdict()
    return values["area"] ** 2 + values["width"]


def autocorrelation(samples: Any) -> Any:
    return emcee.autocorr.integrated_time(samples, tol=0, has_walkers=False)[0]


def stretched(width: Any) -> Any:
    walkers = np.stack([NOISE[:8], NOISE[8:16]], axis=1) * width
    sampler = emcee.EnsembleSampler(8, 2, lambda x: -0.5 * np.sum(x**2 / width))
    return sampler.compute_log_prob(walkers)[0].sum()


def chain(width: Any) -> Any:
    backend = emcee.backends.Backend()
    backend.reset(4, 2)
    backend.grow(3, None)
    for k in range(3):
        points = NOISE[8 * k : 8 * k + 8].reshape(4, 2) * width
        state = emcee.State(points, log_prob=-0.5 * np.sum(points**2, axis=1))
        backend.save_step(state, np.ones(4, dtype=bool))
    return backend.get_chain(flat=True).std() + backend.get_log_prob().mean()


def ordinary(series: Any) -> Any:
    fit = sm.OLS(series, DESIGN).fit()
    return fit.rsquared + np.sum(fit.params)


def described(series: Any) -> Any:
    weighted = DescrStatsW(series, weights=np.arange(1.0, 13.0))
    return weighted.mean + weighted.std + weighted.tconfint_mean()[0]


def poisson(coefficients: Any) -> Any:
    counts = np.array([1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 8])
    return sm.Poisson(counts, DESIGN).loglike(coefficients)


def sinkhorn(points: Any) -> Any:
    costs = ot.dist(points, TARGETS)
    return ot.sinkhorn2(THIRDS, THIRDS, costs, 0.5)


def projected(points: Any) -> Any:
    return ot.sliced_wasserstein_distance(points, TARGETS, n_projections=8, seed=3)


def canonical(factor: Any) -> Any:
    full = tensorly.cp_to_tensor((np.array([1.0, 0.5]), [factor, *FACTORS]))
    return tensorly.norm(full) + full[0, 1, 2]


def tucker(factor: Any) -> Any:
    core = np.arange(8.0).reshape(2, 2, 2)
    return np.sum(tensorly.tucker_to_tensor((core, [factor, *FACTORS])) * FULL)


def measured(number: Any) -> Any:
    x, y = uncertainties.ufloat(number, 0.1), uncertainties.ufloat(2.0, 0.2)
    return (x * y + umath.sin(x)).nominal_value


def spread(number: Any) -> Any:
    x, y = uncertainties.ufloat(number, 0.1), uncertainties.ufloat(2.0, 0.2)
    return (x**2 * y / (x + y)).std_dev


def propagated(number: Any) -> Any:
    wrapped = uncertainties.wrap(lambda a, b: a**2 * b, [lambda a, b: 2 * a * b, lambda a, b: a**2])
    return wrapped(uncertainties.ufloat(number, 0.1), uncertainties.ufloat(2.0, 0.2)).std_dev


def correlated(number: Any) -> Any:
    matrix = np.array([[0.2, 0.05], [0.05, 0.1]])
    x, y = uncertainties.correlated_values([number, 2.0], matrix)
    return (x * y).std_dev


def kinetic(speed: Any) -> Any:
    energy = 0.5 * (2.0 * UNITS.pound) * (speed * UNITS.mile / UNITS.hour) ** 2
    return energy.to("joule").magnitude


def heated(degrees: Any) -> Any:
    return UNITS.Quantity(degrees, "degF").to("kelvin").magnitude ** 2


def path(lengths: Any) -> Any:
    distances = lengths * UNITS.kilometer
    return np.sum(np.sqrt(distances**2 + (500.0 * UNITS.meter) ** 2)).to("mile").magnitude


def reduced(mass: Any) -> Any:
    total = UNITS.Quantity(mass, "gram") + 2.0 * UNITS.kilogram
    return (total / (3.0 * UNITS.liter)).to_base_units().m


ROWS: Final = (
    Row(
        "emcee", "autocorr.function_1d", lambda x: emcee.autocorr.function_1d(x)[1:4].sum(), SERIES
    ),
    Row("emcee", "autocorr.integrated_time", autocorrelation, SERIES),
    Row("emcee", "EnsembleSampler.compute_log_prob", stretched, (1.0, 0.7, 2.0)),
    Row("emcee", "Backend.save_step", chain, (1.0, 0.7, 2.0)),
    Row("lmfit", "lineshapes.voigt", voigt, SHAPES),
    Row("lmfit", "SkewedGaussianModel.eval", model, SHAPES),
    Row("lmfit", "Parameters.valuesdict", residual, SHAPES),
    Row(
        "lmfit",
        "lineshapes.thermal_distribution",
        lambda x: np.sum(lmfit.lineshapes.thermal_distribution(GRID, 1.0, -4.0, x, form="fermi")),
        (1.0, 0.7, 2.0),
    ),
    Row(
        "mir_eval",
        "util.hz_to_midi",
        lambda x: np.sum(mir_eval.util.hz_to_midi(x)),
        (440.0, 261.6, 880.0),
    ),
    Row("mir_eval", "util.f_measure", lambda x: mir_eval.util.f_measure(x, 0.6), (0.5, 0.8, 0.3)),
    Row(
        "mir_eval",
        "melody.freq_to_voicing",
        lambda x: np.sum(mir_eval.melody.freq_to_voicing(100.0 * x)[0] ** 2),
        SERIES,
    ),
    Row(
        "mir_eval",
        "separation._safe_db",
        lambda x: mir_eval.separation._safe_db(np.sum(x**2), np.sum((x - NOISE[:12]) ** 2)),
        SERIES,
    ),
    Row("Pint", "Quantity.to", kinetic, (20.0, 45.0, 60.0)),
    Row("Pint", "Quantity degF", heated, (50.0, 70.0, 212.0)),
    Row("Pint", "np.sqrt of quantities", path, SHAPES),
    Row("Pint", "to_base_units", reduced, (100.0, 250.0, 900.0)),
    Row("POT", "sinkhorn2", sinkhorn, CLOUDS),
    Row("POT", "sliced_wasserstein_distance", projected, CLOUDS),
    Row(
        "POT",
        "gaussian.bures_wasserstein_distance",
        lambda x: ot.gaussian.bures_wasserstein_distance(
            x[0], TARGETS[0], x.T @ x, TARGETS.T @ TARGETS
        ),
        CLOUDS,
    ),
    Row(
        "POT",
        "wasserstein_1d",
        lambda x: ot.wasserstein_1d(x, SERIES[2] + 0.1, p=2),
        (*SERIES[:2], -SERIES[2]),
    ),
    Row("statsmodels", "OLS.fit", ordinary, SERIES),
    Row("statsmodels", "DescrStatsW", described, SERIES),
    Row("statsmodels", "Poisson.loglike", poisson, SHAPES),
    Row(
        "statsmodels",
        "stattools.durbin_watson",
        lambda x: stattools.durbin_watson(x) + moment_helpers.mc2mvsk((x[0], 2.0, x[1], 4.0))[2],
        SERIES,
    ),
    Row("tensorly", "cp_to_tensor", canonical, MATRICES),
    Row("tensorly", "tucker_to_tensor", tucker, MATRICES),
    Row(
        "tensorly",
        "metrics.correlation",
        lambda x: regression.correlation(x, NOISE[:12]) + regression.RMSE(x, NOISE[:12]),
        SERIES,
    ),
    Row(
        "tensorly",
        "tenalg.khatri_rao",
        lambda x: np.sum(tensorly.tenalg.khatri_rao([x, *FACTORS])[::5] ** 2),
        MATRICES,
    ),
    Row("uncertainties", "nominal_value", measured, (1.0, 0.4, 2.5)),
    Row("uncertainties", "std_dev", spread, (1.0, 0.4, 2.5)),
    Row("uncertainties", "wrap", propagated, (1.0, 0.4, 2.5)),
    Row("uncertainties", "correlated_values", correlated, (1.0, 0.4, 2.5)),
)
