"""Earth, sea and sky: bruges, pyet, pymap3d, seawater, skyfield."""

from typing import Any, Final

import bruges
import numpy as np
import pandas as pd
import pyet
import pymap3d
import pymap3d.lox
import pymap3d.vincenty
import seawater
from skyfield import earthlib, functions, keplerlib, precessionlib

from packages.row import Row

ABOVE: Final = (2300.0, 1200.0, 2.1)
BELOW: Final = (2800.0, 1500.0, 2.3)
ANGLES: Final = (10.0, 20.0, 30.0)
SPEEDS: Final = np.array([2300.0, 2500.0, 2800.0, 2600.0])
DENSITIES: Final = np.array([2100.0, 2200.0, 2300.0, 2250.0])
DAYS: Final = pd.date_range("2020-06-01", periods=3)
SALINITY: Final = np.array([35.0, 35.1, 35.2])
PRESSURE: Final = np.array([0.0, 50.0, 100.0])
PLACES: Final = (
    np.array([42.0, -82.0, 200.0]),
    np.array([10.0, 20.0, 500.0]),
    np.array([-35.0, 140.0, 20.0]),
)
COLUMNS: Final = (
    np.array([20.0, 18.0, 10.0]),
    np.array([15.0, 12.0, 9.0]),
    np.array([25.0, 20.0, 18.0]),
)
JULIAN_DAYS: Final = (2455545.0, 2461545.0, 2441545.0)


def backus(shear: Any) -> Any:
    return np.sum(bruges.rockphysics.backus(SPEEDS, shear, DENSITIES, 8.0, 4.0).Vs)


def ricker(frequency: Any) -> Any:
    wavelet = bruges.filters.ricker(0.02, 0.004, frequency)
    return np.sum(wavelet.amplitude * np.arange(5.0))


def jensen_haise(temperatures: Any) -> Any:
    series = pd.Series(temperatures, index=DAYS)
    return pyet.jensen_haise(series, rs=15.0).sum()


def orbit(days: Any) -> Any:
    position, velocity = np.array([1.0, 0.1, 0.0]), np.array([0.0, 0.017, 0.001])
    return keplerlib.propagate(position, velocity, 0.0, days, 0.000295912)[0][1]


ROWS: Final = (
    Row(
        "bruges",
        "reflection.zoeppritz_rpp",
        lambda a: np.real(bruges.reflection.zoeppritz_rpp(*ABOVE, *BELOW, a)),
        ANGLES,
    ),
    Row(
        "bruges",
        "reflection.akirichards",
        lambda a: np.real(bruges.reflection.akirichards(*ABOVE, *BELOW, a)),
        ANGLES,
    ),
    Row(
        "bruges",
        "rockphysics.backus",
        backus,
        (SPEEDS / 2, SPEEDS / 1.8, SPEEDS / 1.9 + np.array([0.0, 10.0, 20.0, -10.0])),
    ),
    Row("bruges", "filters.ricker", ricker, (20.0, 25.0, 30.0)),
    Row("pyet", "calc_e0", lambda t: np.sum(pyet.calc_e0(t)), COLUMNS),
    Row("pyet", "calc_es", lambda t: np.sum(pyet.calc_es(tmax=t, tmin=t - 8.0)), COLUMNS),
    Row(
        "pyet",
        "calc_rho",
        lambda t: np.sum(pyet.calc_rho(101.0, t, np.array([1.2, 1.1, 1.0]))),
        COLUMNS,
    ),
    Row("pyet", "jensen_haise", jensen_haise, COLUMNS),
    Row(
        "pymap3d",
        "geodetic2ecef",
        lambda x: pymap3d.geodetic2ecef(x[0], x[1], x[2])[2],
        PLACES,
    ),
    Row(
        "pymap3d",
        "ecef2geodetic",
        lambda x: pymap3d.ecef2geodetic(x[0], x[1], x[2])[0],
        (
            np.array([660e3, -4700e3, 4247e3]),
            np.array([3000e3, 4000e3, -4000e3]),
            np.array([-5000e3, 1000e3, 3700e3]),
        ),
    ),
    Row(
        "pymap3d",
        "vincenty.vdist",
        lambda lat: pymap3d.vincenty.vdist(10.0, 20.0, lat, 21.0)[0],
        (11.0, 15.0, 30.0),
    ),
    Row(
        "pymap3d",
        "lox.loxodrome_inverse",
        lambda lat: pymap3d.lox.loxodrome_inverse(40.0, -80.0, lat, -148.0)[0],
        (65.0, 50.0, 30.0),
    ),
    Row("seawater", "dens", lambda t: seawater.dens(35.0, t, 1000.0), (10.0, 5.0, 15.0)),
    Row("seawater", "ptmp", lambda t: seawater.ptmp(35.0, t, 1000.0), (10.0, 5.0, 15.0)),
    Row(
        "seawater",
        "gpan",
        lambda t: seawater.gpan(SALINITY, t, PRESSURE).sum(),
        COLUMNS,
    ),
    Row(
        "seawater",
        "dist",
        lambda lat: seawater.dist(lat, np.array([10.0, 20.0]))[0][0],
        (np.array([35.0, 40.0]), np.array([10.0, 12.0]), np.array([-20.0, 5.0])),
    ),
    Row(
        "skyfield",
        "earthlib.refraction",
        lambda a: earthlib.refraction(a, 10.0, 1010.0),
        (10.0, 30.0, 5.0),
    ),
    Row(
        "skyfield",
        "functions.angle_between",
        lambda v: functions.angle_between(v, np.array([3.0, 1.0, 1.0])),
        (np.array([1.0, 2.0, 3.0]), np.array([-1.0, 0.5, 2.0]), np.array([0.3, 0.1, -0.4])),
    ),
    Row("skyfield", "keplerlib.propagate", orbit, (10.0, 40.0, 100.0)),
    # the matrix at another day: its slopes are some 1e-6, and the step is of some hundred days
    Row(
        "skyfield",
        "precessionlib.compute_precession",
        lambda jd: precessionlib.compute_precession(jd)[0, 1],
        JULIAN_DAYS,
        step=1e-4,
    ),
)
