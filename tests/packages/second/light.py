"""Light and images: colour-science, prysm, pvlib, sewar."""

from typing import Any, Final

import colour
import numpy as np
import pvlib
import sewar
from prysm import psf, refractive, thinfilm
from prysm.polynomials import zernike_nm

from packages.row import Row

COLOURS: Final = (
    np.array([0.2, 0.12, 0.05]),
    np.array([0.4, 0.5, 0.3]),
    np.array([0.1, 0.2, 0.6]),
)
LABS: Final = (
    np.array([60.0, 21.0, 27.0]),
    np.array([50.0, -10.0, 30.0]),
    np.array([70.0, 5.0, -40.0]),
)
RADII: Final = (np.array([0.2, 0.7]), np.array([0.5, 0.9]), np.array([0.1, 0.3]))
IMAGE: Final = np.random.default_rng(1).uniform(20.0, 200.0, (6, 6))
NOISE: Final = np.random.default_rng(2).normal(size=(3, 6, 6))
IMAGES: Final = (IMAGE + 9.0 * NOISE[0], IMAGE + 5.0 * NOISE[1], IMAGE + 20.0 * NOISE[2])


def stack(thickness: Any) -> Any:
    layers = [(1.38, thickness), (1.52, 500.0)]
    reflected, _ = thinfilm.multilayer_stack_rt(layers, 0.587, "p", aoi=10.0)
    return np.abs(reflected) ** 2


def spectral_angle(image: Any) -> Any:
    return sewar.sam(
        np.stack([IMAGE, IMAGE.T, IMAGE[::-1]], -1),
        np.stack([image, 1.5 * image + 30.0, 250.0 - image], -1),
    )


ROWS: Final = (
    Row("colour-science", "XYZ_to_Lab", lambda c: np.sum(colour.XYZ_to_Lab(c)), COLOURS),
    Row("colour-science", "XYZ_to_sRGB", lambda c: np.sum(colour.XYZ_to_sRGB(c)), COLOURS),
    Row(
        "colour-science",
        "delta_E",
        lambda c: colour.delta_E(c, np.array([55.0, 10.0, 20.0]), method="CIE 2000"),
        LABS,
    ),
    Row("colour-science", "XYZ_to_CAM16UCS", lambda c: colour.XYZ_to_CAM16UCS(c)[0], COLOURS),
    Row(
        "prysm",
        "zernike_nm",
        lambda r: np.sum(zernike_nm(4, 2, r, np.array([0.1, 1.0]))),
        RADII,
    ),
    Row("prysm", "thinfilm.multilayer_stack_rt", stack, (0.1, 0.2, 0.15)),
    Row(
        "prysm",
        "refractive.sellmeier",
        lambda w: refractive.sellmeier(w, [1.03, 0.23, 1.01], [0.006, 0.02, 103.0]),
        (0.55, 0.45, 0.65),
    ),
    Row(
        "prysm",
        "psf.airydisk",
        lambda r: np.sum(psf.airydisk(r, 4.0, 0.5)),
        (np.array([1.2, 2.0]), np.array([0.5, 3.0]), np.array([0.8, 1.7])),
    ),
    Row(
        "pvlib",
        "irradiance.aoi",
        lambda z: pvlib.irradiance.aoi(30.0, 180.0, z, 170.0),
        (40.0, 50.0, 60.0),
    ),
    Row(
        "pvlib",
        "irradiance.perez",
        lambda z: pvlib.irradiance.perez(30.0, 180.0, 100.0, 600.0, 1300.0, z, 170.0, 1.3),
        (40.0, 50.0, 60.0),
    ),
    Row(
        "pvlib",
        "pvsystem.i_from_v",
        lambda v: pvlib.pvsystem.i_from_v(v, 7.0, 1e-9, 0.3, 300.0, 1.5),
        (20.0, 10.0, 30.0),
    ),
    Row(
        "pvlib",
        "pvsystem.singlediode",
        lambda current: pvlib.pvsystem.singlediode(current, 1e-9, 0.3, 300.0, 1.5)["p_mp"],
        (7.0, 6.0, 4.0),
        tolerance=1e-4,
    ),
    Row("sewar", "rmse", lambda x: sewar.rmse(IMAGE, x), IMAGES),
    Row("sewar", "ssim", lambda x: sewar.ssim(IMAGE, x, ws=5, MAX=255)[0], IMAGES),
    Row("sewar", "uqi", lambda x: sewar.uqi(IMAGE, x, ws=4), IMAGES),
    Row("sewar", "sam", spectral_angle, IMAGES),
)
