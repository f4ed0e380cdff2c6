"""Primitives of the library, one file per family, every rule of a primitive in one place.

Primitives that a first operation does not need are loaded on first use.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "bitcast": "bitcast_convert_type",
        "bits": "power",
        "cumulative": "cumsum",
        "gather_scatter": (
            "GatherDimensionNumbers GatherParams ScatterDimensionNumbers ScatterParams gather_p "
            "gather_windows scatter_p scatter_windows"
        ),
    },
)
