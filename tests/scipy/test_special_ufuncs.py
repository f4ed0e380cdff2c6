"""SciPy's universal functions: values against SciPy's, derivatives against differences of these.

One table says where each function is tried. ``nox -s fuzz`` tries all points; plain runs try fewer.
"""

from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

import numpy as np
import pytest
import scipy.special

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import errors
from tinyjax._library.ufuncs.table import TABLE
from tinyjax.dtypes import HostArray
from tinyjax.scipy import special

pytestmark = pytest.mark.usefixtures("double_precision")

#: Where parameters lie, by their names, and by those of functions where these say otherwise; whole
#: numbers where the ends are.
DEFAULT: Final[dict[str, tuple[float, float]]] = {
    "x": (0.1, 3.0),
    "z": (0.3, 3.0),
    "y": (0.3, 3.0),
    "v": (0.3, 3.0),
    "n": (0, 6),
    "m": (0.1, 0.9),
    "p": (0.1, 0.9),
    "a": (0.5, 4.0),
    "b": (0.5, 4.0),
    "k": (0, 4),
    "df": (1.5, 9.0),
    "dfn": (1.5, 9.0),
    "dfd": (1.5, 9.0),
    "nc": (0.2, 4.0),
    "t": (-3.0, 3.0),
    "f": (0.3, 3.0),
    "q": (0.1, 3.0),
    "c": (0.3, 2.0),
    "d": (0.1, 0.9),
    "s": (0.0, 60.0),
    "alpha": (0.5, 2.0),
    "beta": (0.5, 2.0),
    "delta": (0.5, 2.0),
    "r": (-3.0, 3.0),
    "lmbda": (0.3, 2.0),
    "lmb": (0.3, 2.0),
    "nu": (0.3, 2.0),
    "phi": (-6.0, 6.0),
    "u": (-4.0, 4.0),
    "sigma": (0.5, 2.0),
    "gamma": (0.5, 2.0),
    "std": (0.5, 2.0),
    "mn": (-1.0, 1.0),
    "cv": (5.0, 7.0),
}
_ORDER: Final[dict[str, tuple[float, float]]] = {"m": (1, 4), "q": (0.1, 3.0), "x": (0.1, 2.0)}
_ANGULAR: Final[dict[str, tuple[float, float]]] = {"m": (0, 2), "n": (2, 5), "x": (-0.8, 0.8)}
_RADIAL: Final[dict[str, tuple[float, float]]] = _ANGULAR | {"x": (1.2, 3.0)}
_OBLATE: Final[dict[str, tuple[float, float]]] = _ANGULAR | {"x": (0.2, 3.0)}
_UNIT: Final[dict[str, tuple[float, float]]] = {"x": (0.1, 0.9), "n": (5, 9)}
OWN: Final[dict[str, dict[str, tuple[float, float]]]] = {
    **dict.fromkeys((name for name in TABLE if name.startswith("mathieu")), _ORDER),
    **dict.fromkeys((name for name in TABLE if name.startswith("pro_")), _RADIAL),
    **dict.fromkeys((name for name in TABLE if name.startswith("obl_")), _OBLATE),
    **dict.fromkeys(("pro_ang1", "pro_ang1_cv", "obl_ang1", "obl_ang1_cv"), _ANGULAR),
    **dict.fromkeys(("betaincc", "btdtria", "btdtrib", "bdtr", "bdtrc", "bdtri"), _UNIT),
    **dict.fromkeys(("nbdtr", "nbdtrc", "nbdtri", "smirnov", "smirnovi"), _UNIT),
    "mathieu_cem": _ORDER | {"x": (-90.0, 90.0)},
    "mathieu_sem": _ORDER | {"x": (-90.0, 90.0)},
    "lpmv": {"m": (0, 2), "x": (-0.9, 0.9)},
    "erfcinv": {"x": (0.1, 1.9)},
    "ndtri_exp": {"x": (-9.0, -0.1)},
    "pdtrik": {"p": (0.6, 0.9), "m": (0.5, 3.0)},
    "bdtri": _UNIT | {"y": (0.1, 0.9)},
    "bdtrik": {"y": (0.4, 0.9), "n": (6.0, 9.0), "p": (0.2, 0.4)},
    "bdtrin": {"k": (1.0, 4.0), "y": (0.1, 0.6), "p": (0.2, 0.6)},
    "nbdtri": _UNIT | {"y": (0.1, 0.9)},
    "nbdtrik": {"y": (0.5, 0.9), "n": (2.0, 9.0), "p": (0.2, 0.5)},
    "nbdtrin": {"k": (1.0, 4.0), "y": (0.1, 0.6), "p": (0.2, 0.6)},
    "fdtridfd": {"dfn": (2.0, 9.0), "p": (0.52, 0.54), "x": (1.0, 1.02)},
    "stdtridf": {"p": (0.72, 0.75), "t": (0.75, 0.85)},
    "chndtrinc": {"x": (5.0, 9.0), "df": (1.5, 3.0), "p": (0.1, 0.5)},
    "ncfdtrinc": {"p": (0.1, 0.4), "f": (2.0, 4.0)},
    "cbrt": {"x": (-3.0, 3.0)},
    "radian": {"d": (-90.0, 90.0), "m": (0.0, 60.0)},
    "eval_hermite": {"x": (-3.0, 3.0)},
    "ber": {"x": (-3.0, 3.0)},
    "inv_boxcox": {"lmbda": (-0.3, 0.3)},
    "powm1": {"y": (-3.0, 3.0)},
}


def points(name: str, count: int = 12) -> list[HostArray]:
    """Draw arguments of a function: where it is defined, and has derivatives."""
    rng = np.random.default_rng(crc32(name.encode()))
    ranges = DEFAULT | OWN.get(name, {})
    found: list[HostArray] = []
    for parameter in TABLE[name].parameters:
        low, high = ranges[parameter]
        drawn = rng.uniform(low, high + 0.99 * (type(low) is int), count)
        found.append(np.floor(drawn).astype(int) if type(low) is int else drawn)
    if "cv" in TABLE[name].parameters:  # SciPy's series are solutions for characteristic values
        found[3] = reference(f"{name[:3]}_cv")(*found[:3])
    return found


def reference(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(scipy.special, name)
    return found


def tuple_of(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def differences(name: str, xs: list[HostArray], position: int) -> list[HostArray]:
    """Extrapolate central differences (Ridders)."""
    fun = reference(name)

    def at(step: float) -> list[HostArray]:
        high, low = list(xs), list(xs)
        high[position], low[position] = xs[position] + step, xs[position] - step
        pairs = zip(tuple_of(fun(*high)), tuple_of(fun(*low)), strict=True)
        return [(a - b) / (2 * step) for a, b in pairs]

    step = 0.02
    rows = [at(step / 2**k) for k in range(5)]
    for order in range(1, 5):
        rows = [
            [(4**order * b - a) / (4**order - 1) for a, b in zip(r, s, strict=True)]
            for r, s in zip(rows, rows[1:], strict=False)
        ]
    return rows[0]
