"""Histograms, correlation, polynomials, bits, grids and ufuncs, against NumPy and jax."""

from typing import Any, Final

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest

import tinyjax as tj
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, DtypeError, ShapeError

X: Final = np.sin(np.arange(12.0, dtype=np.float32)).reshape(3, 4)
V: Final = X[0]
Whole: Final = np.array([0, 12, 7, 18, 250], np.int32)

#: Functions of X, V or Whole, by what they are to be compared with.
OF_FLOATS: Final[dict[str, Any]] = {
    "histogram": lambda np, x: np.histogram(x, 3, weights=x * x)[0],
    "histogram, density": lambda np, x: np.histogram(x, 4, (-1, 1), density=True)[0],
    "histogram2d": lambda np, x: np.histogram2d(x[0], x[1], (2, 3), weights=x[2])[0],
    "histogramdd": lambda np, x: np.histogramdd(x, 2, weights=x[:, 0])[0],
    "bincount": lambda np, x: np.bincount(np.array([0, 2, 1]), x[:, 0], length=3),
    "convolve": lambda np, x: np.convolve(x[0], x[1, :3]),
    "convolve, same": lambda np, x: np.convolve(x[0, :2], x[1], "same"),
    "correlate": lambda np, x: np.correlate(x[0, :2], x[1], "full"),
    "cov": lambda np, x: np.cov(x, aweights=np.array([1.0, 2, 1, 3])),
    "corrcoef": lambda np, x: np.corrcoef(x, x[:1] ** 2, rowvar=True)[0],
    "unwrap": lambda np, x: np.unwrap(5 * x, axis=0),
    "frexp": lambda np, x: np.frexp(100 * x)[0],
    "poly": lambda np, x: np.poly(x[0]),
    "poly of nothing": lambda np, x: np.poly(x[0, :0]),
    "polydiv, exact": lambda np, x: np.polydiv(np.convolve(x[0], x[1]), x[1])[0],
    "polyint, not at all": lambda np, x: np.polyint(x[0], 0),
    "polyder, not at all": lambda np, x: np.polyder(x[0], 0),
    "polyder, all": lambda np, x: np.polyder(x[0], 5),
    "polyfit, residuals": lambda np, x: np.polyfit(x[1] + np.arange(4.0), x[2], 1, full=True)[1],
    "polyfit, covariance": lambda np, x: np.polyfit(np.arange(4.0), x[1], 1, cov=True)[1],
    "polyfit, unscaled": lambda np, x: np.polyfit(np.arange(4.0), x[1], 1, cov="unscaled")[1],
    "polyfit, of several": lambda np, x: np.polyfit(np.arange(4.0), x.T, 1, cov=True)[1],
    "histogramdd, density": lambda np, x: np.histogramdd(x, 2, density=True)[0],
    "histogram, one place": lambda np, x: np.histogram(x[0, :1], 2)[0],
    "polyadd": lambda np, x: np.polyadd(x[0], x[1, :2]),
    "polysub": lambda np, x: np.polysub(x[0, :2], x[1]),
    "polymul": lambda np, x: np.polymul(x[0], x[1]),
    "polydiv": lambda np, x: np.polydiv(x[0] + 1, x[1, :2])[0],
    "polyder": lambda np, x: np.polyder(x[0], 2),
    "polyint": lambda np, x: np.polyint(x[0], 2, x[1, :2]),
    "polyfit": lambda np, x: np.polyfit(x[0] + np.arange(1.0, 5), x[1], 1, w=x[2] ** 2 + 1),
    "r_": lambda np, x: np.r_["0,2", x[0], 1:5] * x[1],
    "c_": lambda np, x: np.c_[x[0], x[1]],
    "mgrid": lambda np, x: x[:2, :3] * np.mgrid[0:2, 0:1:3j].sum(0),
    "ogrid": lambda np, x: x[:2, :3] * np.ogrid[0:2, 0:3][0],
    "nanargmax": lambda np, x: x.ravel()[np.nanargmax(np.where(x > 0.9, np.nan, x))],
}

UNKNOWN: Final[Any] = "half"

OF_INTEGERS: Final[dict[str, Any]] = {
    "gcd": lambda np, x: np.gcd(x, x[::-1]),
    "lcm": lambda np, x: np.lcm(x, 6),
    "packbits": lambda np, x: np.packbits(x > 10),
    "unpackbits": lambda np, x: np.unpackbits(x.astype("uint8"), count=13, bitorder="little"),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", [*OF_FLOATS, *OF_INTEGERS])
def test_values_are_those_of_jax_eagerly_compiled_and_mapped(name: str) -> None:
    fun = (OF_FLOATS | OF_INTEGERS)[name]
    x = X if name in OF_FLOATS else Whole
    wanted = fun(jax_numpy, jax_numpy.asarray(x))
    for got in (
        fun(jnp, jnp.asarray(x)),
        tj.jit(lambda x: fun(jnp, x))(x),
        tj.vmap(lambda x: fun(jnp, x))(x[None])[0],
    ):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=2e-4, atol=1e-5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OF_FLOATS)
def test_derivatives_are_those_of_jax(name: str) -> None:
    fun = OF_FLOATS[name]
    got = tj.grad(lambda x: (fun(jnp, x) ** 2).sum())(X)
    wanted = jax.grad(lambda x: (fun(jax_numpy, x) ** 2).sum())(X)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=2e-3, atol=2e-4)


ADD: Final = (
    jnp.frompyfunc(lambda x, y: x + 2 * y, 2, 1, identity=0),
    jax_numpy.frompyfunc(lambda x, y: x + 2 * y, 2, 1, identity=0),
)
UFUNC_CALLS: Final[dict[str, Any]] = {
    "call": lambda f, x: f(x, 2.0),
    "reduce": lambda f, x: f.reduce(x),
    "reduce, all": lambda f, x: f.reduce(x, None, keepdims=True),
    "reduce, masked": lambda f, x: f.reduce(x, 1, where=x > 0, initial=1.0),
    "accumulate": lambda f, x: f.accumulate(x, 1),
    "at": lambda f, x: f.at(x, np.array([0, 0, 2]), 3.0, inplace=False),
    "reduceat": lambda f, x: f.reduceat(x, np.array([0, 2, 1]), 1),
    "outer": lambda f, x: f.outer(x, x[0]),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", UFUNC_CALLS)
def test_ufuncs_are_those_of_jax(name: str) -> None:
    call = UFUNC_CALLS[name]
    wanted = call(ADD[1], jax_numpy.asarray(X))
    for got in (call(ADD[0], jnp.asarray(X)), tj.jit(lambda x: call(ADD[0], x))(X)):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-5)


METHODS: Final[dict[str, Any]] = {
    "reduce": lambda f, x: f.reduce(x),
    "reduce, both axes": lambda f, x: f.reduce(x, axis=(0, 1), keepdims=True),
    "reduce, masked": lambda f, x: f.reduce(x, axis=1, where=x > 2, initial=1),
    "accumulate": lambda f, x: f.accumulate(x, axis=1),
    "reduceat": lambda f, x: f.reduceat(x, np.array([0, 2, 1]), axis=1),
    "outer": lambda f, x: f.outer(x, x[0]),
    "at": lambda f, x: f.at(x, np.array([0, 0, 1]), x[0], inplace=False),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_functions_are_those_of_numpy(name: str) -> None:
    names = "add multiply maximum minimum bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2"
    for function in (*names.split(), *(["logical_and", "logical_or"] if name == "reduce" else [])):
        ours, theirs = getattr(jnp, function), getattr(np, function)
        x = np.arange(1, 7, dtype=np.float32 if "exp" in function else np.int32).reshape(2, 3)
        got = METHODS[name](ours, x)
        expected: Any = x.copy()
        if name == "at":
            theirs.at(expected, np.array([0, 0, 1]), x[0])
        else:
            expected = METHODS[name](theirs, x)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-6, err_msg=function)
        assert (ours.nin, ours.nout, ours.identity) == (2, 1, theirs.identity)


def test_indices_of_parts() -> None:
    assert jnp.s_[1:, ::2] == (slice(1, None), slice(None, None, 2))
    assert jnp.index_exp[3] == (3,)
    for got, like in (
        (jnp.mask_indices(3, jnp.tril, -1), np.mask_indices(3, np.tril, -1)),
        (jnp.diag_indices_from(jnp.ones((2, 2, 2))), np.diag_indices_from(np.ones((2, 2, 2)))),
    ):
        np.testing.assert_array_equal(np.asarray(got), like)


@pytest.mark.wrong_types
@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows_are_those_of_numpy(name: str, n: int) -> None:
    for count in (n, float(n), np.float32(n), jnp.float32(n), jnp.asarray(n)):
        np.testing.assert_allclose(
            np.asarray(getattr(jnp, name)(count)), getattr(np, name)(n), rtol=1e-6, atol=1e-6
        )
    with raises(ArgumentError, match=r"M must be an int, but got 2\.5"):
        getattr(jnp, name)(2.5)
    assert jnp.kaiser(float(n), 14.0).tolist() == jnp.kaiser(n, 14.0).tolist()


def test_exponents_down_to_the_least_float() -> None:
    for dtype in (np.float16, np.float32, np.float64):
        limits = np.finfo(dtype)
        x = np.array([limits.max, limits.tiny, limits.smallest_subnormal, -0.0, np.inf], dtype)
        for got, like in zip(jnp.frexp(x), np.frexp(x), strict=True):
            np.testing.assert_array_equal(np.asarray(got), like)


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: jnp.bincount(jnp.ones(2)), DtypeError),
        (lambda: jnp.histogram(jnp.ones(2), UNKNOWN), ArgumentError),
        (lambda: jnp.convolve(jnp.ones(0), jnp.ones(2)), ShapeError),
        (lambda: jnp.convolve(jnp.ones(2), jnp.ones(2), UNKNOWN), ArgumentError),
        (lambda: jnp.gcd(1.0, 2), DtypeError),
        (lambda: jnp.frompyfunc(jnp.sin, 1, 1).reduce(jnp.ones(2)), ArgumentError),
        (lambda: jnp.frompyfunc(jnp.add, 2, 1).reduce(jnp.ones(0)), ArgumentError),
        (lambda: jnp.subtract.reduce(jnp.ones((2, 2)), axis=(0, 1)), ArgumentError),
        (lambda: jnp.r_["z", 1], ArgumentError),
        (lambda: jnp.polyder(jnp.ones(2), -1), ArgumentError),
    ],
)
def test_mistakes_are_named(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.usefixtures("each_tier")
def test_integer_results_of_floats_are_made_at_the_end() -> None:
    x, y = np.array([-2.19637534]), np.array([1.73216178, 1.98484528, 2.45711886])
    expected = np.correlate(x, y, "full").astype(np.int32)
    compiled = tj.jit(jnp.correlate, static_argnames=("mode", "preferred_element_type"))
    for fun in (jnp.correlate, compiled):
        found = fun(x, y, mode="full", preferred_element_type=np.dtype("int32"))
        np.testing.assert_array_equal(found, expected)


def test_real_results_of_complex_products_are_refused() -> None:
    z = jnp.ones(3, np.complex64)
    for fun in (jnp.correlate, jnp.convolve, jnp.dot):
        with raises(DtypeError, match="would lose the imaginary part"):
            fun(z, z, preferred_element_type=np.float32)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_divisors_of_the_least_integer(dtype: str) -> None:
    least = np.iinfo(dtype).min
    x = np.array([least, least, least, 0, -1, 12, least + 1], dtype)
    y = np.array([6, -1, 0, least, least, 18, least], dtype)
    for ours, theirs in ((jnp.gcd, np.gcd), (jnp.lcm, np.lcm)):
        np.testing.assert_array_equal(ours(x, y), theirs(x, y))
        np.testing.assert_array_equal(tj.jit(ours)(x, y), theirs(x, y))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(12))
def test_values_at_edges_of_equal_bins_are_in_the_bin_to_the_right(seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    n, ends = int(rng.integers(1, 90)), np.sort(rng.normal(10.0 ** rng.integers(0, 4), 1.0, 2))
    with tj.default_dtypes("float64"):
        first, last = ends.astype(dtype)
        edges = np.asarray(jnp.histogram_bin_edges(jnp.zeros(1, dtype), n, (first, last)))
        near = [edges, np.nextafter(edges, dtype(np.inf)), np.nextafter(edges, dtype(-np.inf))]
        others = rng.uniform(first - 0.1, last + 0.1, 200).astype(dtype)
        x = np.concatenate([*near, others, np.array([np.nan, np.inf, -np.inf], dtype)])
        weights = rng.integers(1, 9, x.size).astype(dtype)
        is_in = (x >= edges[:-1, None]) & (x < edges[1:, None])
        is_in[-1] |= x == edges[-1]
        counts, bounds = jnp.histogram(x, n, (first, last), weights)
        np.testing.assert_array_equal(bounds, edges)
        np.testing.assert_array_equal(counts, is_in @ weights)
        pairs = np.stack([x, x], 1)
        grid, _ = jnp.histogramdd(pairs, n, [(first, last)] * 2, weights=weights)
        np.testing.assert_array_equal(grid, np.diag(is_in @ weights))
