"""SciPy's functions on tinyjax arrays, in modules of SciPy's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.scipy import cluster as cluster
    from tinyjax.scipy import fft as fft
    from tinyjax.scipy import integrate as integrate
    from tinyjax.scipy import interpolate as interpolate
    from tinyjax.scipy import linalg as linalg
    from tinyjax.scipy import ndimage as ndimage
    from tinyjax.scipy import optimize as optimize
    from tinyjax.scipy import signal as signal
    from tinyjax.scipy import sparse as sparse
    from tinyjax.scipy import spatial as spatial
    from tinyjax.scipy import special as special
    from tinyjax.scipy import stats as stats

__all__ = [
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, {"": " ".join(__all__)})
