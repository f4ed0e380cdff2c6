"""Complex numbers with a NaN as one part, and other values where NumPy has a rule of its own."""

from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import numpy as jnp

PARTS = [0.0, 1.0, -2.0, np.nan, np.inf, -np.inf]
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS])
FUNCTIONS = [
    *("maximum", "minimum", "fmax", "fmin", "greater", "less", "greater_equal", "less_equal"),
    *("equal", "not_equal"),
]


@pytest.mark.parametrize("tier", [None, "host", "compiled"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_comparisons_of_complex_numbers(dtype: str, tier: Any) -> None:
    a, b = (x.reshape(-1).astype(dtype) for x in np.meshgrid(NUMBERS, NUMBERS))

    def program(a: Any, b: Any) -> Any:
        return [getattr(jnp, name)(a, b) for name in FUNCTIONS]

    f = program if tier is None else tinyjax.jit(program, tier=tier)
    with tinyjax.enable_x64(True):
        outs = f(jnp.asarray(a), jnp.asarray(b))
    for name, out in zip(FUNCTIONS, outs, strict=True):
        right, out = getattr(np, name)(a, b), np.asarray(out)
        numbers = ~np.isnan(right)
        np.testing.assert_array_equal(~np.isnan(out), numbers, name)
        np.testing.assert_array_equal(out[numbers], right[numbers], name)


def test_derivatives_of_complex_extrema() -> None:
    x, y = jnp.array([1 + 1j, 2 + 2j, 1 + 3j]), jnp.array([2 + 0j, 2 + 2j, 1 - 1j])
    tangents = jnp.ones(3, x.dtype), jnp.zeros(3, x.dtype)
    for f, right in ((jnp.maximum, [0, 0.5, 1]), (jnp.minimum, [1, 0.5, 0])):
        np.testing.assert_array_equal(tinyjax.jvp(f, (x, y), tangents)[1], right)


@pytest.mark.filterwarnings("ignore")
def test_covariances_with_more_lost_than_observed() -> None:
    draw = np.random.default_rng(0)
    with tinyjax.enable_x64(True):
        for n in (1, 2, 4):
            x = draw.normal(size=(2, n))
            x[1] = 1
            shares, counts = np.linspace(0.3, 1, n), np.arange(1, n + 1)
            for ddof in (0, 1, 2, 3, 5):
                for a in (None, shares):
                    for f in (None, counts):
                        right = np.cov(x, ddof=ddof, aweights=a, fweights=f)
                        out = jnp.cov(x, ddof=ddof, aweights=a, fweights=f)
                        np.testing.assert_allclose(out, right, 1e-12, 1e-15)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
def test_unwrapping_by_all_periods(dtype: str) -> None:
    x = np.random.default_rng(0).integers(-20, 20, (3, 12)).astype(dtype)
    with tinyjax.enable_x64(True):
        for number in range(1, 13):
            period: Any = np.dtype(dtype).type(number)
            for how in ({}, {"discont": 3}, {"discont": 4.5}):
                right = np.unwrap(x, period=period, **how)
                np.testing.assert_allclose(jnp.unwrap(jnp.asarray(x), period=period, **how), right)
