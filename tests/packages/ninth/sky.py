"""The ninth set: plasmas, satellites over the ground, and the sun."""

import datetime
import warnings
from typing import Any, Final

import numpy as np
from astropy import units
from plasmapy import formulary
from pyorbital import astronomy, geoloc, orbital

from packages.row import Row

warnings.filterwarnings("ignore")

NUMBERS: Final = (np.array([0.8, 1.3]), np.array([1.4, 0.7]), np.array([1.1, 1.9]))
SHAPES: Final = (
    np.array([0.4, -0.7, 0.2, 0.9]),
    np.array([-0.3, 0.5, 1.1, -0.6]),
    np.array([0.8, 0.1, -0.5, 0.3]),
)
NOON: Final = datetime.datetime(2024, 5, 17, 11, 20)


def waves(number: Any) -> Any:
    field, density = number[0] * 0.1 * units.T, 1e19 * number[1] * units.m**-3
    speed = formulary.Alfven_speed(field, density, ion="p+")
    gyro = formulary.gyrofrequency(field, "e-") / (1e10 * units.rad / units.s)
    plasma = formulary.plasma_frequency(density, "e-") / (1e11 * units.rad / units.s)
    hybrid = formulary.upper_hybrid_frequency(field, density) / (1e11 * units.rad / units.s)
    return speed.value / 1e6 + gyro.value + plasma.value + hybrid.value


def lengths(number: Any) -> Any:
    temperature, density = 5e4 * number[0] * units.K, 1e15 * number[1] * units.m**-3
    debye = formulary.Debye_length(temperature, density)
    gyro = formulary.gyroradius(0.2 * number[1] * units.T, particle="p+", T=temperature)
    speed = formulary.ion_sound_speed(T_e=temperature, T_i=2e4 * units.K, ion="p+")
    return debye.value * 1e4 + gyro.value * 1e3 + speed.value / 1e4


def spread(number: Any) -> Any:
    temperature = 3e4 * number[0] * units.K
    velocity = 1e6 * number[1] * units.m / units.s
    density = formulary.Maxwellian_1D(velocity, temperature, particle="e")
    beta = formulary.beta(temperature, 1e19 * units.m**-3, 0.1 * number[1] * units.T)
    stix = formulary.cold_plasma_permittivity_SDP(
        2.0 * units.T,
        ["e", "D+"],
        [1e18, 1e18] * units.m**-3,
        3e11 * number[1] * units.rad / units.s,
    )
    return density.value * 1e7 + beta.value * 10.0 + stix.sum.value + stix.plasma.value


def shining(number: Any) -> Any:
    longitude, latitude = 10.0 * number[0], 50.0 * number[1]
    altitude, azimuth = astronomy.get_alt_az(NOON, longitude, latitude)
    return altitude + azimuth + astronomy.cos_zen(NOON, longitude, latitude)


def watched(number: Any) -> Any:
    azimuth, elevation = orbital.get_observer_look(
        10.0 * number[:1], 45.0 * np.ones(1), 800.0 * number[1:], NOON, np.array([12.0]),
        np.array([48.0]), np.array([0.3]),
    )  # fmt: skip
    return (azimuth[0] + elevation[0]) / 10.0


def subpoint(shape: Any) -> Any:
    point = np.array([4000.0, 3000.0, 5000.0]) + 200.0 * shape[:3]
    ground = geoloc.subpoint(point)
    turned = geoloc.qrotate(ground[:, None], shape[:3, None] + 1.0, shape[3:])
    return np.sum(ground) / 1e3 + np.sum(turned) / 1e3 + geoloc.geodetic_lat(point)


ROWS: Final = (
    Row("plasmapy", "Alfven_speed", waves, NUMBERS),
    Row("plasmapy", "Debye_length", lengths, NUMBERS),
    Row("plasmapy", "Maxwellian_1D", spread, NUMBERS),
    Row("pyorbital", "get_alt_az", shining, NUMBERS),
    Row("pyorbital", "get_observer_look", watched, NUMBERS),
    Row("pyorbital", "subpoint", subpoint, SHAPES),
)  # fmt: skip
