"""Sums of many numbers go on where single precision has no next number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import lax, numpy as jnp

#: Beside this number, one more is lost in the dtype.
LAST = {"float16": 2.0**11, "bfloat16": 2.0**8, "float32": 2.0**24, "complex64": 2.0**24}

RUNNING: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "cumsum": (jnp.cumsum, np.cumsum),
    "nancumsum": (jnp.nancumsum, np.nancumsum),
    "cumulative_sum": (lambda x, axis: jnp.cumulative_sum(x, axis=axis), np.cumsum),
    "reverse": (
        lambda x, axis: jnp.flip(lax.cumsum(jnp.flip(x, axis), axis, reverse=True), axis),
        np.cumsum,
    ),
    "scan": (lambda x, axis: lax.associative_scan(jnp.add, x, axis=axis), np.cumsum),
    "jvp": (lambda x, axis: tinyjax.jvp(lambda y: jnp.cumsum(y, axis), (x,), (x,))[1], np.cumsum),
}


def numbers(dtype: str, shape: tuple[int, ...], axis: int) -> Any:
    x = np.ones(shape)
    np.moveaxis(x, axis, 0)[0] = LAST[dtype]
    return x


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", LAST)
def test_running_sums_do_not_stick(dtype: str, tier: Any) -> None:
    cases = [((600,), 0), ((600, 3), 0), ((2, 600), 1), ((300, 200), 0)]
    eps = float(jnp.finfo(dtype).eps)
    given = [numbers(dtype, *case) for case in cases]
    names = [name for name in RUNNING if name != "scan" or dtype in {"float32", "complex64"}]

    def all_of_them(xs: Any) -> Any:
        return [[RUNNING[n][0](x, c[1]) for x, c in zip(xs, cases, strict=True)] for n in names]

    outs = tinyjax.jit(all_of_them, tier=tier)([jnp.asarray(x).astype(dtype) for x in given])
    for name, row in zip(names, outs, strict=True):
        for out, x, (_, axis) in zip(row, given, cases, strict=True):
            right = RUNNING[name][1](x, axis)
            assert np.max(abs(np.asarray(out).astype(complex) - right) / right) <= eps, name


@pytest.mark.parametrize("tier", ["host", "compiled"])
def test_products_logarithms_and_gradients_do_not_drift(tier: Any) -> None:
    n, growth = 100_000, np.float32(1 + 2.0**-20)
    x, exponents = np.full(n, growth), np.zeros(n, np.float32)

    def program(x: Any, exponents: Any, weights: Any) -> Any:
        by_sum = tinyjax.grad(lambda x: jnp.sum(jnp.cumsum(x) * weights))(x)
        by_product = tinyjax.grad(lambda x: jnp.cumprod(x)[-1])(x)
        by_logarithm = tinyjax.grad(lambda x: lax.cumlogsumexp(x)[-1])(exponents)
        return jnp.cumprod(x), lax.cumlogsumexp(exponents), by_sum, by_product, by_logarithm

    weights = np.ones(n, np.float32)
    weights[-1] = 2.0**24
    outs = tinyjax.jit(program, tier=tier)(x, exponents, weights)
    counts = np.arange(1.0, n + 1)
    rights = [
        np.exp(counts * np.log1p(2.0**-20)),
        np.log(counts),
        np.cumsum(weights[::-1].astype(float))[::-1],
        np.full(n, np.exp((n - 1) * np.log1p(2.0**-20))),
        np.full(n, 1 / n),
    ]
    for out, right in zip(outs, rights, strict=True):
        np.testing.assert_allclose(out, right, 1e-6)


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_means_of_running_derivatives_do_not_drift(dtype: str, tier: Any) -> None:
    n = 1000

    def program(x: Any) -> Any:
        functions = [lax.cumlogsumexp, lax.cummax, lax.cummin]
        return [tinyjax.grad(lambda x, f=f: f(x)[-1])(x)[:: n // 2] for f in functions]

    for gradient in tinyjax.jit(program, tier=tier)(jnp.zeros(n, dtype)):
        right = np.asarray(jnp.full(2, 1 / n, dtype))
        np.testing.assert_allclose(
            np.asarray(gradient, float), right.astype(float), 2 * float(jnp.finfo(dtype).eps)
        )


@pytest.mark.parametrize("shape", [(200_000,), (3, 70_000), (70_000, 3), (3, 100_000, 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_blocks_agree_with_float64(shape: tuple[int, ...], reverse: bool) -> None:
    x = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
    axis = int(np.argmax(shape))
    right = np.cumsum(np.flip(x, axis) if reverse else x, axis, dtype=float)
    out = lax.cumsum(x, axis, reverse=reverse)
    np.testing.assert_allclose(out, np.flip(right, axis) if reverse else right, 1e-7)


@pytest.mark.parametrize("tier", ["host", "compiled"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_updates_of_narrow_floats_do_not_stick(dtype: str, tier: Any) -> None:
    x, ids = jnp.ones(3000, dtype), jnp.zeros(3000, int)

    def program(x: Any, ids: Any) -> Any:
        total = tinyjax.ops.segment_sum(x, ids, 2)[0]
        updated = 4096 - jnp.full(2, 4096, x.dtype).at[ids].subtract(x)[0]
        gradient = tinyjax.grad(lambda c: jnp.sum(c[ids] * x))(jnp.ones(2, x.dtype))[0]
        product = jnp.ones(2, x.dtype).at[ids[:300]].multiply(x[0] + float(jnp.finfo(dtype).eps))
        return total, updated, gradient, product[0]

    eps = float(jnp.finfo(dtype).eps)
    out = np.array([float(value) for value in tinyjax.jit(program, tier=tier)(x, ids)])
    right = [3000, 3000, 3000, np.exp(300 * np.log1p(eps))]
    np.testing.assert_allclose(out, right, 2 * eps)
