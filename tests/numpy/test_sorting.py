"""Sorting, running sums and quantiles against NumPy and jax, and their derivatives."""

from collections.abc import Callable
from functools import partial
from math import prod
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy.sorting as so
from raising import raises
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, AxisError, DtypeError, ShapeError
from tinyjax.test_util import check_grads


def rand(*shape: int, dtype: Any = np.float32, seed: int = 0, most: int = 9) -> HostArray:
    rng = np.random.default_rng([seed, *shape])
    x: HostArray = np.asarray(rng.integers(0, most, shape))
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.integers(0, most, shape)
    return x.astype(dtype)


def distinct(*shape: int) -> HostArray:
    rng = np.random.default_rng(7)
    return rng.permutation(np.arange(float(np.prod(shape)))).reshape(shape) / 3


def same(got: Any, expected: Any) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    np.testing.assert_allclose(
        got.astype(np.complex128), expected.astype(np.complex128), rtol=1e-5, atol=1e-6
    )


DTYPES = ["float32", "int32", "uint8", "bool", "complex64", "bfloat16"]
WITH_NAN = np.array([[3.0, np.nan, 1.0, -0.0], [0.0, 2.0, np.inf, -np.inf]], np.float32)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_sort_and_argsort(axis: int | None, descending: bool, dtype: str) -> None:
    x = rand(4, 5, dtype=jax.numpy.dtype(dtype), most=3)
    how: dict[str, Any] = {"axis": axis, "descending": descending}
    same(so.sort(x, **how), jax.numpy.sort(x, **how))
    same(so.argsort(x, **how), jax.numpy.argsort(x, **how))


@pytest.mark.parametrize("descending", [False, True])
def test_sort_puts_nan_last(descending: bool) -> None:
    how: dict[str, Any] = {"descending": descending}
    same(so.sort(WITH_NAN, **how), jax.numpy.sort(WITH_NAN, **how))
    same(so.argsort(WITH_NAN, **how), jax.numpy.argsort(WITH_NAN, **how))


def test_sort_of_unstable_and_of_other_index_types() -> None:
    x = rand(5)
    same(so.sort(x, stable=False), np.sort(x))
    assert so.argsort(x, dtype="int64").dtype == np.int64
    same(so.sort(rand(0)), rand(0))
    same(so.partition(x, 2), np.sort(x))
    same(so.argpartition(distinct(5), 2), np.argsort(distinct(5)).astype(np.int32))


def test_lexsort() -> None:
    keys = rand(3, 4, 5, most=2)
    for axis in (0, 1, -1):
        same(so.lexsort(keys, axis), np.lexsort(keys, axis).astype(np.int32))
    same(so.lexsort(list(keys)), np.lexsort(keys).astype(np.int32))
    first, second = rand(6, most=2), rand(6, dtype="int8", seed=1)
    same(so.lexsort((second, first)), np.lexsort((second, first)).astype(np.int32))


def test_derivatives_of_sort() -> None:
    x = distinct(3, 4)
    check_grads(so.sort, (x,), 2)
    check_grads(lambda x: so.sort(x, axis=0, descending=True), (x,), 2)
    check_grads(lambda x: so.sort(x, axis=None), (x,), 2)
    weights = np.arange(12.0)

    def weighted(sort: Any, x: Any) -> Any:
        return (sort(x, axis=None) * weights).sum()

    with jax.enable_x64(True):
        expected = jax.grad(lambda x: weighted(jax.numpy.sort, x))(x)
    same(tinyjax.grad(lambda x: weighted(so.sort, x))(x), expected)


CUMULATIVE = ["cumsum", "cumprod", "nancumsum", "cumulative_sum", "cumulative_prod"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CUMULATIVE)
def test_running_sums_and_products(name: str, dtype: str) -> None:
    x = rand(3, 4, dtype=jax.numpy.dtype(dtype), most=3)
    if (name, dtype) == ("cumulative_prod", "uint8"):
        # the standard widens, as sums do; jax does not
        assert so.cumulative_prod(x, axis=0).dtype == np.uint32
        return
    for axis in (0, -1):
        same(getattr(so, name)(x, axis=axis), getattr(jax.numpy, name)(x, axis=axis))
    if not name.startswith("cumulative"):
        same(getattr(so, name)(x), getattr(jax.numpy, name)(x))
    else:
        same(getattr(so, name)(x[0]), getattr(jax.numpy, name)(x[0]))
        how = {"axis": 1, "include_initial": True}
        same(getattr(so, name)(x, **how), getattr(jax.numpy, name)(x, **how))


def test_running_sums_in_another_dtype_and_with_nan() -> None:
    x = rand(4, dtype="int8")
    same(so.cumsum(x, dtype="float32"), np.cumsum(x, dtype=np.float32))
    same(so.nancumsum(WITH_NAN[:, :2]), np.nancumsum(WITH_NAN[:, :2]))
    same(so.nancumprod(WITH_NAN[:, :2], axis=0), np.nancumprod(WITH_NAN[:, :2], axis=0))


def test_derivatives_of_running_products_at_zeros() -> None:
    x = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 1.0]])
    check_grads(lambda x: so.cumprod(x, axis=1), (x,), 2)
    check_grads(so.cumsum, (x,), 2)


QS: list[Any] = [0.5, 0.0, 1.0, 0.3, np.array([0.1, 0.5, 0.9], np.float32)]
METHODS = ["linear", "lower", "higher", "midpoint", "inverted_cdf", "nearest"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), (1, 2)])
def test_quantiles(axis: Any, method: str) -> None:
    x = rand(2, 3, 4)
    for q in QS:
        how: dict[str, Any] = {"axis": axis, "method": method, "keepdims": q is QS[0]}
        same(so.quantile(x, q, **how), np.quantile(x, q, **how).astype(np.float32))
        same(so.percentile(x, q * 100, **how), np.percentile(x, q * 100, **how).astype(np.float32))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [None, 1, (0, 2)])
def test_weighted_quantiles(axis: Any) -> None:
    x, weights = rand(2, 3, 4), np.array(rand(2, 3, 4) > 0.2, np.float32)
    over = () if axis is None else (axis,) if isinstance(axis, int) else axis
    fewer = np.arange(1.0, prod([x.shape[i] for i in over]) + 1, dtype=np.float32)
    cases = [(x, weights), (x, fewer.reshape([x.shape[i] for i in over]))] if over else [(x, x)]
    cases += [(np.where(x > 0.5, np.nan, x), weights + 1), (x, np.where(x > 0.8, -1, 1))]
    for a, w in cases:
        for q in QS:
            for name in ("quantile", "nanquantile"):
                how: dict[str, Any] = {"axis": axis, "weights": w, "method": "inverted_cdf"}
                same(getattr(so, name)(a, q, **how), getattr(jax.numpy, name)(a, q, **how))
    mapped = tinyjax.vmap(lambda a, w: so.quantile(a, 0.3, weights=w, method="inverted_cdf"))
    got = tinyjax.jit(mapped)(x, weights)
    same(got, so.quantile(x, 0.3, (1, 2), weights=weights, method="inverted_cdf"))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_quantiles_with_nan(axis: int | None) -> None:
    x = rand(4, 5)
    x[1, 2] = np.nan
    x[:, 4] = np.nan
    for q in QS:
        same(so.quantile(x, q, axis), np.quantile(x, q, axis).astype(np.float32))
    some = x[:, :4]
    for q in QS:
        same(so.nanquantile(some, q, axis), np.nanquantile(some, q, axis).astype(np.float32))
        got = so.nanpercentile(some, q * 100, axis)
        same(got, np.nanpercentile(some, q * 100, axis).astype(np.float32))
    same(so.nanmedian(some, axis), np.nanmedian(some, axis))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.filterwarnings("ignore:.*empty slice|invalid value|All-NaN")
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
def test_of_no_elements(axis: Any, keepdims: bool) -> None:
    """As in NumPy, whose ``quantile`` raises where its ``nanquantile`` gives NaN."""
    x = np.empty((0, 4), np.float32)
    for name, *args in (
        ("median",),
        ("nanmedian",),
        ("nanquantile", 0.5),
        ("nanpercentile", 30.0),
    ):
        expected = getattr(np, name)(x, *args, axis=axis, keepdims=keepdims)
        fun = partial(getattr(so, name), axis=axis, keepdims=keepdims)
        for found in (fun(x, *args), tinyjax.jit(fun)(x, *args)):
            same(found, np.asarray(expected, np.float32))
    assert so.nanquantile(x, QS[-1], axis).shape == (3, *np.nanquantile(x, 0.5, axis).shape)
    if axis != 1:
        with raises(ShapeError, match="no element to choose"):
            so.quantile(x, 0.5, axis, keepdims=keepdims)


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16", "float64"])
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_median(axis: Any, dtype: str) -> None:
    x = rand(3, 4, dtype=jax.numpy.dtype(dtype))
    with jax.enable_x64(dtype == "float64"):
        expected = jax.numpy.median(x, axis, keepdims=True)
    same(so.median(x, axis, keepdims=True), expected)


def test_quantiles_of_infinities() -> None:
    x = np.array([-np.inf, 0.0, np.inf, np.inf], np.float32)
    expected = np.array([-np.inf, np.inf, np.inf], np.float32)  # the type is the array's, not q's
    same(so.quantile(x, np.array([0.0, 0.9, 1.0])), expected)


def test_derivatives_of_quantiles() -> None:
    x = distinct(3, 5)
    check_grads(lambda x: so.quantile(x, 0.3, axis=1), (x,), 2)
    check_grads(lambda x: so.quantile(x, 0.3, 1, weights=x * x + 1, method="inverted_cdf"), (x,), 2)
    check_grads(so.median, (x,), 2)
    check_grads(lambda q: so.quantile(x, q, axis=0), (np.array([0.3, 0.6]),), 2)


@pytest.mark.usefixtures("each_tier")
def test_compiled_and_mapped() -> None:
    x, q = distinct(3, 5).astype(np.float32), np.array([0.25, 0.7], np.float32)

    def run(x: Any, q: Any) -> Any:
        return (
            so.sort(x),
            so.argsort(x, axis=0, descending=True),
            so.lexsort((x, x)),
            so.cumprod(x),
            so.quantile(x, q, axis=1),
            so.median(x),
        )

    for got, expected in zip(tinyjax.jit(run)(x, q), run(x, q), strict=True):
        same(got, expected)
    quantile: Callable[[Any, Any], Any] = so.quantile
    mapped = tinyjax.vmap(quantile, in_axes=(0, None))
    same(mapped(x, q), np.quantile(x, q, axis=1).T.astype(np.float32))
    mapped = tinyjax.vmap(quantile, in_axes=(None, 0))
    same(mapped(x, q), np.quantile(x, q).astype(np.float32))


def untyped(fun: Any) -> Any:
    """The function as callers without a type checker have it."""
    return fun


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: so.sort(rand(3), axis=1), AxisError, r"sort: axis 1"),
    (lambda: so.argsort(np.float32(3)), AxisError, r"argsort: axis -1 is out of bounds"),
    (lambda: untyped(so.sort)(rand(3), kind="heapsort"), ArgumentError, r"stable"),
    (lambda: so.lexsort([]), ArgumentError, r"key"),
    (lambda: so.lexsort((rand(3), rand(2))), ShapeError, r"one shape"),
    (lambda: so.partition(rand(3), 3), ArgumentError, r"size 3, but got 3"),
    (lambda: so.cumulative_sum(rand(3, 3)), ArgumentError, r"needs axis"),
    (lambda: untyped(so.cumsum)(rand(3), out=rand(3)), ArgumentError, r"immutable"),
    (lambda: so.quantile(rand(3, dtype="complex64"), 0.5), DtypeError, r"no order"),
    (lambda: so.quantile(rand(3), rand(2, 2)), ShapeError, r"one axis"),
    (lambda: so.quantile(rand(0), 0.5), ShapeError, r"no element"),
    (lambda: so.quantile(rand(3), 0.5, weights=rand(3)), ArgumentError, r"inverted_cdf"),
    (
        lambda: so.quantile(rand(3, 2), 0.5, 0, weights=rand(2), method="inverted_cdf"),
        ShapeError,
        r"\(3,\), but have \(2,\)",
    ),
    (lambda: untyped(so.quantile)(rand(3), 0.5, method="best"), ArgumentError, r"'best'"),
]


@pytest.mark.parametrize(("call", "error", "says"), ERRORS)
@pytest.mark.wrong_types
def test_errors(call: Callable[[], Any], error: type[Exception], says: str) -> None:
    with raises(error, match=says):
        call()
