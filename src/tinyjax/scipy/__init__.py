"""SciPy's functions on tinyjax arrays, in modules of SciPy's names."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "": (
            "cluster fft integrate interpolate linalg ndimage optimize signal sparse spatial "
            "special stats"
        ),
    },
)
