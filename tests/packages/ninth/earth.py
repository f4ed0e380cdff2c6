"""The ninth set: wells, rain in radio links, microwaves in air, waves on water, and kriging."""

import warnings
from typing import Any, Final

import numpy as np
import raschii
import wellpathpy
from itur.models import itu453, itu618, itu676, itu835, itu838, itu840
from pykrige.ok import OrdinaryKriging
from pykrige.uk import UniversalKriging
from pyrtlib.rt_equation import RTEquation
from pyrtlib.tb_spectrum import TbCloudRTE
from pyrtlib.utils import dewpoint2rh, mr2rh, ppmv2gkg, tk2b_mod

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
PLACES: Final = (np.array([0.3, -0.8]), np.array([-0.6, 0.4]), np.array([0.9, 0.2]))
NOISE: Final = np.sin(np.arange(400.0) ** 1.7)
DEPTHS: Final = np.linspace(0.0, 900.0, 10)
HEIGHTS: Final = np.linspace(0.0, 15.0, 31)


def well(number: Any) -> Any:
    inclinations = 5.0 * number[0] * np.arange(10.0)
    azimuths = 40.0 + 6.0 * number[1] * np.arange(10.0)
    return wellpathpy.deviation(DEPTHS, inclinations, azimuths)


def drilled(number: Any) -> Any:
    path = well(number).minimum_curvature(course_length=30)
    zero = path.to_wellhead(1000.0, 500.0 * number[0])
    return np.sum(path.depth) / 1e3 + np.sum(zero.easting) / 1e3 + np.sum(path.dls**2)


def bent(number: Any) -> Any:
    path = well(number).radius_curvature()
    straight = well(number).tan_method(choice="bal")
    return (np.sum(path.northing) + np.sum(straight.depth) + np.sum(path.easting**2) / 1e3) / 1e3


def resampled(number: Any) -> Any:
    path = well(number).minimum_curvature()
    finer = path.resample(depths=np.arange(10.0, 880.0, 45.0))
    return (np.sum(finer.depth) + np.sum(finer.northing)) / 1e4 + np.sum(path.deviation().inc) / 10


def damped(number: Any) -> Any:
    rain = itu838.rain_specific_attenuation(30.0 * number[0], 14.25, 31.0, 0.0)
    slant = itu676.gaseous_attenuation_slant_path(22.0 * number[1], 45.0, 7.5, 1013.0, 290.0)
    return rain.value + slant.value


def absorbed(number: Any) -> Any:
    exact = itu676.gamma_exact(30.0 + 20.0 * number[0], 1000.0, 7.5 * number[1], 288.0)
    cloud = itu840.specific_attenuation_coefficients(30.0 * number[1], 2.0)
    return exact.value + cloud


def refracted(number: Any) -> Any:
    temperature = itu835.standard_temperature(3.0 * number[0]).value
    pressure = itu835.standard_pressure(3.0 * number[0]).value
    vapour = itu453.water_vapour_pressure(10.0 * number[1], pressure, 60.0).value
    return temperature + itu453.radio_refractive_index(pressure, vapour, temperature).value * 1e2


def faded(number: Any) -> Any:
    rain = itu618.rain_attenuation(41.0, -77.0, 22.0 * number[0], 38.0, hs=0.1, p=0.01,
                                   R001=40.0 * number[1], tau=45.0, Ls=4.0)  # fmt: skip
    cross = itu618.rain_cross_polarization_discrimination(5.0 * number[1], 20.0, 30.0, 0.1, 45.0)
    return rain.value + cross.value


def radiated(number: Any) -> Any:
    temperature = 288.0 + number[0] - 6.5 * np.minimum(HEIGHTS, 11.0)
    pressure = 1013.0 * np.exp(-HEIGHTS / 7.6)
    humidity = 0.7 * number[1] / 2.0 * np.exp(-HEIGHTS / 3.0)
    model = TbCloudRTE(HEIGHTS, pressure, temperature, humidity, np.array([22.2, 31.4, 58.0]))
    model.init_absmdl("R19SD")
    model.satellite = False
    return np.sum(model.execute().tbtotal.to_numpy()) / 10.0


def emitted(number: Any) -> Any:
    temperature = 288.0 + number[0] - 6.5 * np.minimum(HEIGHTS, 11.0)
    vapour, density = RTEquation.vapor(temperature, 0.5 * number[1] * np.exp(-HEIGHTS / 3.0))
    pressure = 1013.0 * np.exp(-HEIGHTS / 7.6)
    dry, wet, index = RTEquation.refractivity(pressure, temperature, vapour)
    path = RTEquation.ray_tracing(HEIGHTS, index, 30.0 * number[1], 0.0)
    return np.sum(path) + np.sum(density) * 10.0 + np.sum(dry + wet) / 100.0


def moist(number: Any) -> Any:
    ratio = ppmv2gkg(5000.0 * number[0], 1)
    humidity, _ = mr2rh(900.0, 280.0 + number[1], ratio)
    return ratio + humidity + dewpoint2rh(5.0 * number[0], 12.0) + tk2b_mod(0.5 * number[1], 250.0)


def stokes(number: Any) -> Any:
    wave = raschii.StokesWave(height=3.0 * number[0], depth=20.0, length=80.0 * number[1], N=5)
    return np.sum(wave.velocity([0.0, 5.0], [18.0, 15.0], t=0.3)) + wave.surface_elevation([4.0])[0]


def fenton(number: Any) -> Any:
    wave = raschii.FentonWave(height=2.0 * number[0], depth=15.0, length=60.0 * number[1], N=5)
    return np.sum(wave.velocity(3.0, 12.0)) + wave.c + wave.surface_elevation([4.0, 9.0])[1]


def airy(number: Any) -> Any:
    wave = raschii.AiryWave(height=1.0 * number[0], depth=15.0, period=6.0 * number[1])
    return wave.length / 10.0 + np.sum(wave.velocity([3.0, 6.0], 14.0, t=1.0)) + wave.c


def measured(place: Any) -> Any:
    x, y = 5.0 + 4.0 * NOISE[:12], 5.0 + 4.0 * NOISE[12:24]
    z = NOISE[24:36] + place[0] * x / 5.0 + np.sin(place[1] * y)
    return x, y, z


def kriged(place: Any) -> Any:
    x, y, z = measured(place)
    model = OrdinaryKriging(x, y, z, variogram_model="exponential",
                            variogram_parameters={"sill": 1.2, "range": 5.0, "nugget": 0.1},
                            )  # fmt: skip
    values, variances = model.execute("grid", np.array([2.0, 4.5]), np.array([3.0, 6.5, 8.0]))
    return np.sum(values**2) + np.sum(variances)


def located(place: Any) -> Any:
    x, y, z = measured(np.array([0.3, 0.5]))
    model = OrdinaryKriging(x, y, z, variogram_model="gaussian", anisotropy_scaling=1.5,
                            anisotropy_angle=30.0, variogram_parameters=[1.2, 5.0, 0.1],
                            )  # fmt: skip
    values, variances = model.execute("points", 4.0 + place[:1], 5.0 + place[1:])
    return np.sum(values) + np.sum(variances)


def drifting(place: Any) -> Any:
    x, y, z = measured(place)
    model = UniversalKriging(x, y, z, variogram_model="spherical", drift_terms=["regional_linear"],
                             variogram_parameters=[1.2, 5.0, 0.1])  # fmt: skip
    values, variances = model.execute("points", np.array([2.1, 6.3]), np.array([4.4, 1.7]))
    return np.sum(values**2) + np.sum(variances)


def fitted(place: Any) -> Any:
    x, y, z = measured(place)
    model = OrdinaryKriging(x, y, z, variogram_model="linear", nlags=5)
    values, _ = model.execute("points", np.array([2.1, 6.3]), np.array([4.4, 1.7]))
    return np.sum(values**2) + np.sum(model.variogram_model_parameters)


ROWS: Final = (
    Row("wellpathpy", "deviation.minimum_curvature", drilled, NUMBERS),
    Row("wellpathpy", "deviation.radius_curvature", bent, NUMBERS),
    Row("wellpathpy", "minimum_curvature.resample", resampled, NUMBERS),
    Row("itur", "gaseous_attenuation_slant_path", damped, NUMBERS),
    Row("itur", "gamma_exact", absorbed, NUMBERS),
    Row("itur", "radio_refractive_index", refracted, NUMBERS),
    Row("itur", "rain_attenuation", faded, NUMBERS),
    Row("pyrtlib", "TbCloudRTE.execute", radiated, NUMBERS),
    Row("pyrtlib", "RTEquation.ray_tracing", emitted, NUMBERS),
    Row("pyrtlib", "mr2rh", moist, NUMBERS),
    Row("raschii", "StokesWave", stokes, NUMBERS),
    Row("raschii", "FentonWave", fenton, NUMBERS),
    Row("raschii", "AiryWave", airy, NUMBERS),
    Row("PyKrige", "OrdinaryKriging.execute", kriged, PLACES),
    Row("PyKrige", "anisotropy_scaling", located, PLACES),
    Row("PyKrige", "UniversalKriging.execute", drifting, PLACES),
    Row("PyKrige", "variogram_model", fitted, PLACES, rounding=1e-6, tolerance=1e-4),
)  # fmt: skip
