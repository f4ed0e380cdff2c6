"""The fourth set: water, air, solutions, heat, and where on Earth they are."""

import warnings
from typing import Any, Final

import chempy
import gstools
import hydroeval
import numpy as np
import nvector
import thermofeel
from chempy import electrolytes
from chempy.henry import Henry
from chempy.kinetics import integrated
from chempy.kinetics.arrhenius import ArrheniusParam
from chempy.properties.water_density_tanaka_2001 import water_density
from chempy.properties.water_permittivity_bradley_pitzer_1979 import water_permittivity
from iapws import IAPWS97, _iapws, iapws97

from packages.row import Row

warnings.filterwarnings("ignore")

NOISE: Final = np.array(
    [0.31, -0.75, 0.56, 0.94, -0.89, 0.12, -0.38, 0.67, 0.05, -0.22, 0.81, -0.47]
)
FLOWS: Final = np.array([3.1, 2.4, 5.6, 9.4, 4.2, 3.3, 2.9, 2.1, 1.8, 4.4, 6.1, 3.9])
SIMULATED: Final = (FLOWS + NOISE, 1.2 * FLOWS - 0.7 * NOISE, FLOWS * (1.0 + 0.2 * NOISE[::-1]))
ANGLES: Final = (np.array([0.4, 1.1]), np.array([-0.7, 2.3]), np.array([1.2, -0.4]))
CLIMATES: Final = (
    np.array([303.0, 290.0, 4.0]),
    np.array([298.0, 285.0, 2.5]),
    np.array([308.0, 296.0, 3.5]),
)
PLACES: Final = np.array([[0.0, 1.0, 2.5, 4.0], [0.0, 2.0, 0.5, 3.0]])
VALUES: Final = (np.array([0.4, 1.3, -0.2, 0.9]), np.array([1.0, 0.1, 0.6, 2.0]), FLOWS[:4])
GRID: Final = np.linspace(0.1, 4.0, 9)


def steam(state: Any) -> Any:
    water = IAPWS97(T=state[0], P=state[1])
    return water.h + 10.0 * water.s + water.rho


def boiling(pressure: Any) -> Any:
    return IAPWS97(P=pressure, x=0.3).h


def viscosity(state: Any) -> Any:
    return 1e6 * _iapws._Viscosity(100.0 * state[1], state[0]) + _iapws._Tension(state[0])


def activity(strength: Any) -> Any:
    a = electrolytes.A(water_permittivity(298.15), 298.15, water_density(298.15))
    return electrolytes.davies_log_gamma(strength, 2, a)


def strength(amount: Any) -> Any:
    ions = {"Fe+3": amount, "Cl-": 3 * amount}
    return electrolytes.ionic_strength(ions) + chempy.Substance.from_formula("H2O").mass * amount


def rate(temperature: Any) -> Any:
    reaction = chempy.Reaction({"A": 2}, {"B": 1}, ArrheniusParam(1e10, 40e3))
    speeds = chempy.ReactionSystem([reaction], "A B").rates(
        {"A": 3.0, "B": 0.0, "temperature": 298}
    )
    return reaction.param(temperature) + speeds["A"] * temperature


def dissolved(temperature: Any) -> Any:
    oxygen = Henry(1.3e-3, 1500.0)
    return oxygen.get_c_at_T_and_P(temperature, 0.2) * 1e3 + water_density(temperature)


def product(concentration: Any) -> Any:
    return integrated.binary_rev(0.7, 3.0, 0.5, 0.1, concentration, 0.6, backend=np)


def walk(angles: Any) -> Any:
    start = nvector.lat_lon2n_E(angles[0], angles[1])
    end = nvector.n_EA_E_distance_and_azimuth2n_EB_E(start, 3e5, 0.8)
    latitude, longitude = nvector.n_E2lat_lon(end)
    return np.sum(latitude + 2.0 * longitude)


def ellipsoid(angles: Any) -> Any:
    point = nvector.n_EB_E2p_EB_E(nvector.lat_lon2n_E(angles[0], angles[1]), -300.0)
    direction, depth = nvector.p_EB_E2n_EB_E(1.01 * point)
    return np.sum(direction * [[1.0], [2.0], [3.0]]) + 1e-4 * np.sum(depth)


def geodesic(angles: Any) -> Any:
    frame = nvector.FrameE(name="WGS84")
    a = frame.GeoPoint(latitude=angles[0], longitude=angles[1], z=0)
    b = frame.GeoPoint(latitude=0.3, longitude=0.2, z=0)
    return 1e-6 * np.sum(a.distance_and_azimuth(b)[0])


def turned(angles: Any) -> Any:
    rotation = nvector.zyx2R(angles[0], angles[1], 0.3)
    z, y, x = nvector.R2zyx(rotation @ nvector.E_rotation("E"))
    return z + y * x


def kriged(values: Any) -> Any:
    model = gstools.Exponential(dim=2, var=1.5, len_scale=2.0, nugget=0.1)
    krige = gstools.krige.Ordinary(model, PLACES, values)
    field, variance = krige((np.array([1.5, 3.0]), np.array([1.0, 2.0])))
    return field.sum() + variance.sum()


def covariance(scale: Any) -> Any:
    model = gstools.Matern(dim=2, var=2.0, len_scale=scale, nu=1.5, nugget=0.2)
    return model.variogram(GRID).sum() + model.cov_nugget(GRID).sum()


def normalized(values: Any) -> Any:
    normalizer = gstools.normalizer.BoxCox(lmbda=0.4)
    positive = np.exp(values)
    return normalizer.loglikelihood(positive) + normalizer.denormalize(0.2 * values).sum()


def efficiency(name: str, **options: Any) -> Any:
    objective = getattr(hydroeval, name)
    return lambda flows: np.ravel(hydroeval.evaluator(objective, flows, FLOWS, **options))[0]


ROWS: Final = (
    Row(
        "iapws",
        "IAPWS97",
        steam,
        (np.array([300.0, 3.0]), np.array([700.0, 0.5]), np.array([450.0, 5.0])),
    ),
    Row("iapws", "IAPWS97 of two phases", boiling, (0.5, 1.0, 4.0)),
    Row(
        "iapws",
        "iapws97._PSat_T",
        lambda t: iapws97._TSat_P(1.1 * iapws97._PSat_T(t)),
        (350.0, 420.0, 500.0),
    ),
    Row(
        "iapws",
        "_Viscosity",
        viscosity,
        (np.array([300.0, 9.97]), np.array([350.0, 9.7]), np.array([420.0, 9.2])),
    ),
    Row("chempy", "electrolytes.davies_log_gamma", activity, (0.01, 0.1, 0.5)),
    Row("chempy", "electrolytes.ionic_strength", strength, (0.01, 0.1, 0.5)),
    Row("chempy", "ReactionSystem.rates", rate, (298.0, 310.0, 350.0)),
    Row("chempy", "Henry.get_c_at_T_and_P", dissolved, (285.0, 298.0, 305.0)),
    Row("chempy", "integrated.binary_rev", product, (0.9, 1.4, 2.0)),
    Row("nvector", "n_EA_E_distance_and_azimuth2n_EB_E", walk, ANGLES),
    Row("nvector", "p_EB_E2n_EB_E", ellipsoid, ANGLES),
    Row("nvector", "GeoPoint.distance_and_azimuth", geodesic, ANGLES),
    Row("nvector", "zyx2R", turned, ANGLES),
    Row(
        "thermofeel",
        "calculate_utci",
        lambda x: thermofeel.calculate_utci(t2_k=x[0], va=x[2], mrt=x[0] + 5.0, td_k=x[1]),
        CLIMATES,
    ),
    Row(
        "thermofeel",
        "calculate_heat_index_adjusted",
        lambda x: np.sum(thermofeel.calculate_heat_index_adjusted(x[:1], x[1:2])),
        CLIMATES,
    ),
    Row(
        "thermofeel",
        "calculate_wbgt",
        lambda x: np.sum(thermofeel.calculate_wbgt(x[0], x[0] + 4.0, x[2], x[1])),
        CLIMATES,
    ),
    Row(
        "thermofeel",
        "calculate_pmv",
        lambda x: np.sum(thermofeel.calculate_pmv(x[0] - 8.0, x[0] - 6.0, x[2] / 10.0, 50.0)),
        CLIMATES,
    ),
    Row("GSTools", "krige.Ordinary", kriged, VALUES, compiled="gstools_cython"),
    Row("GSTools", "Matern.variogram", covariance, (1.0, 2.0, 3.5)),
    Row("GSTools", "normalizer.BoxCox", normalized, VALUES),
    Row("hydroeval", "nse", efficiency("nse"), SIMULATED),
    Row("hydroeval", "kge", efficiency("kge"), SIMULATED),
    Row("hydroeval", "kgenp", efficiency("kgenp"), SIMULATED),
    Row("hydroeval", "rmse of logarithms", efficiency("rmse", transform="log"), SIMULATED),
)
