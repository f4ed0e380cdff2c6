"""Astronomy: astropy, galpy, sgp4."""

from typing import Any, Final

import numpy as np
from astropy import cosmology, stats
from astropy.coordinates import angular_separation, matrix_utilities
from astropy.modeling import models
from galpy import potential
from galpy.util import coords
from sgp4.model import Satrec

from packages.row import Row

GRID: Final = np.linspace(-3, 3, 7)
PEAKS: Final = (
    np.array([2.0, 0.3, 1.2]),
    np.array([1.0, 0.0, 0.8]),
    np.array([3.0, -0.5, 2.0]),
)
SAMPLES: Final = (
    np.array([1.0, 2.5, 3.1, 4.7, 9.0]),
    np.array([2.0, 2.2, 3.1, 1.7, 5.0]),
    np.array([0.0, 2.5, -3.1, 4.7, 1.0]),
)
REDSHIFTS: Final = (0.5, 1.0, 2.0)
UNIVERSE: Final = cosmology.FlatLambdaCDM(70.0, 0.3)
PLACES: Final = (np.array([1.0, 0.1]), np.array([0.8, 0.2]), np.array([1.5, -0.1]))
MILKY_WAY: Final = potential.MWPotential2014
DISK: Final = potential.MiyamotoNagaiPotential(a=0.5, b=0.0375, normalize=0.6)
HALO: Final = potential.NFWPotential(a=4.8, normalize=0.35)
STATION: Final = Satrec.twoline2rv(
    "1 25544U 98067A   19343.69339541  .00001764  00000-0  38792-4 0  9991",
    "2 25544  51.6439 211.2001 0007417  17.6667  85.6398 15.50103472202482",
)


def orbit(eccentricity: Any) -> Any:
    satellite = Satrec()
    angles = (0.3083420829620822, 0.9013560935706996, 0.0676360223324893)
    epoch, drag = 25545.69339541, 3.8792e-05
    satellite.sgp4init(
        1,
        "i",
        25544,
        epoch,
        drag,
        0.0,
        0.0,
        eccentricity,
        *angles,
        3.686137125541276,
        1.4946964807494398,
    )
    return satellite.sgp4_tsince(30.0)[1][0]


ROWS: Final = (
    Row(
        "astropy",
        "Gaussian1D.evaluate",
        lambda p: np.sum(models.Gaussian1D.evaluate(GRID, p[0], p[1], p[2]) ** 2),
        PEAKS,
    ),
    Row(
        "astropy",
        "Gaussian1D(...)(x)",
        lambda p: np.sum(models.Gaussian1D(p[0], p[1], p[2])(GRID) ** 2),
        PEAKS,
    ),
    Row(
        "astropy",
        "Moffat1D.evaluate",
        lambda p: np.sum(models.Moffat1D.evaluate(GRID, p[0], p[1], p[2], 1.5)),
        PEAKS,
    ),
    Row(
        "astropy",
        "Sersic1D.evaluate",
        lambda r: np.sum(models.Sersic1D.evaluate(np.abs(GRID) + 0.1, 1.0, r, 2.0)),
        (1.0, 2.0, 3.0),
    ),
    Row(
        "astropy",
        "angular_separation",
        lambda x: angular_separation(x[0], x[1], 0.5, 0.2),
        (np.array([0.1, 0.2]), np.array([0.3, -0.2]), np.array([1.0, 0.4])),
    ),
    Row(
        "astropy",
        "rotation_matrix",
        lambda a: np.sum(matrix_utilities.rotation_matrix(a, "x") @ np.arange(9.0).reshape(3, 3)),
        (30.0, 50.0, 80.0),
    ),
    Row(
        "astropy",
        "FlatLambdaCDM.comoving_distance",
        lambda z: UNIVERSE.comoving_distance(z).value,
        REDSHIFTS,
    ),
    Row("astropy", "FlatLambdaCDM.efunc", UNIVERSE.efunc, REDSHIFTS),
    Row("astropy", "biweight_location", stats.biweight_location, SAMPLES, step=1e-4),
    Row("galpy", "MiyamotoNagaiPotential", lambda x: DISK(x[0], x[1]), PLACES),
    Row("galpy", "NFWPotential", lambda x: HALO(x[0], x[1]), PLACES),
    Row(
        "galpy",
        "evaluatePotentials",
        lambda x: potential.evaluatePotentials(MILKY_WAY, x[0], x[1]),
        PLACES,
    ),
    Row(
        "galpy",
        "MiyamotoNagaiPotential(a).Rforce",
        lambda a: potential.MiyamotoNagaiPotential(amp=1.0, a=a, b=0.04).Rforce(1.0, 0.1),
        (0.5, 0.6, 0.7),
    ),
    Row(
        "galpy",
        "coords.radec_to_lb",
        lambda x: coords.radec_to_lb(x[0], x[1])[0],
        (np.array([1.0, 0.3]), np.array([2.0, -0.2]), np.array([0.5, 0.1])),
        compiled="ERFA, in C",
    ),
    Row("galpy", "vcirc", lambda r: potential.vcirc(MILKY_WAY, r), (1.0, 0.8, 1.2)),
    Row("sgp4", "sgp4_tsince", lambda t: STATION.sgp4_tsince(t)[1][0], (10.0, 50.0, 70.0)),
    Row("sgp4", "sgp4", lambda t: STATION.sgp4(2458827.0, t)[1][0], (0.36, 0.4, 0.5), step=1e-5),
    Row("sgp4", "sgp4init", orbit, (0.01, 0.02, 0.03), step=1e-5),
)
