"""Filters of arrays, and values between their elements, by SciPy's names."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "coordinates": "map_coordinates",
        "filters": (
            "convolve convolve1d correlate correlate1d gaussian_filter gaussian_filter1d laplace "
            "median_filter sobel uniform_filter"
        ),
        "resampling": "affine_transform rotate shift zoom",
    },
)
