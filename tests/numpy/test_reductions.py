"""Reductions against jax.numpy: values, dtypes, arguments, derivatives and errors."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as oracle
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array
from tinyjax.errors import ArgumentError, AxisError, ShapeError

rng = np.random.default_rng(0)
FLOATS = rng.normal(size=(2, 3, 4)).astype(np.float32)
INPUTS: dict[str, Any] = {
    "float32": FLOATS,
    "float16": FLOATS.astype(np.float16),
    "int8": rng.integers(-9, 9, (2, 3)).astype(np.int8),
    "int32": rng.integers(-9, 9, (2, 3)).astype(np.int32),
    "uint8": rng.integers(0, 200, (2, 3)).astype(np.uint8),
    "bool": rng.integers(0, 2, (2, 3)).astype(np.bool_),
    "weak": 3.0,
    "scalar": np.float32(2.0),
}
HOLES = np.where(rng.random((3, 4)) < 0.4, np.nan, FLOATS[0]).astype(np.float32)
MASK = rng.integers(0, 2, (3, 4)).astype(np.bool_)


def both(name: str, x: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    def call(module: Any) -> Any:
        given = {
            k: module.asarray(v) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()
        }
        return getattr(module, name)(
            module.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x, *args, **given
        )

    return call(jnp), call(oracle)


def same(got: Any, expected: Any, rtol: float = 1e-5) -> None:
    if isinstance(expected, tuple):
        for g, e in zip(got, expected, strict=True):
            same(g, e, rtol)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.weak_type == expected.weak_type
    wide = np.complex128 if np.dtype(expected.dtype).kind == "c" else np.float64
    if expected.dtype == np.float16:
        rtol = 2e-3
    np.testing.assert_allclose(
        np.asarray(got).astype(wide), np.asarray(expected).astype(wide), rtol=rtol, atol=1e-6
    )


NAMES = ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "ptp", "count_nonzero"]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("name", [*NAMES, "argmax", "argmin", "nansum", "nanprod", "average"])
def test_results_and_their_types_are_those_of_jax(name: str, dtype: str) -> None:
    if name == "ptp" and dtype == "bool":
        return
    same(*both(name, INPUTS[dtype]))


@pytest.mark.parametrize("axis", [0, -1, (0, 2), (1, -1), (), None])
@pytest.mark.parametrize("name", [*NAMES, "nanmean"])
def test_axes(name: str, axis: Any) -> None:
    for keepdims in (False, True):
        got = getattr(jnp, name)(jnp.asarray(FLOATS), axis, keepdims=keepdims)
        fun = getattr(np, name)
        expected = (
            fun(FLOATS, axis, keepdims=keepdims)
            if axis != () or name != "ptp"
            else np.zeros_like(FLOATS)
        )
        assert got.shape == np.shape(expected)
        np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keepdims", [False, True])
def test_places_of_extrema(name: str, axis: int | None, keepdims: bool) -> None:
    same(*both(name, FLOATS, axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8", "int32", "bool", "complex64"])
def test_dtypes_that_are_asked_for(dtype: str) -> None:
    for name in ("sum", "prod"):
        same(*both(name, INPUTS["int8"], dtype=dtype))
        if dtype == "bool":  # by truth: small numbers are true, and so is NaN
            same(*both(name, FLOATS / 9, 0, dtype=dtype, initial=0.25, where=MASK))
            same(*both(name, np.zeros((2, 0), np.float32), 1, dtype=dtype))
    for name in ("mean", "var") if dtype in ("float16", "float32") else ():
        same(*both(name, FLOATS, dtype=dtype))
        same(*both(name, INPUTS["int8"], dtype=dtype))


def test_integers_need_not_be_promoted() -> None:
    same(*both("sum", INPUTS["int8"], promote_integers=False))


@pytest.mark.usefixtures("each_tier")
def test_16_bit_floats_are_summed_in_32_bits() -> None:
    many = jnp.full(4096, 1.0, jnp.bfloat16)
    assert float(jnp.sum(many)) == 4096
    large = jnp.full(100, 60000.0, jnp.float16)
    assert float(jnp.mean(large)) == 60000
    assert float(tinyjax.jit(jnp.mean)(large)) == 60000
    assert jnp.mean(many).dtype == jnp.bfloat16


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((9000, 10), (0,)),
        ((10, 9000), (1,)),
        ((3, 3000, 7), (1, 2)),
        ((3, 3000, 7), (0, 1)),
        ((70, 1500, 3), (1,)),
        ((3, 3000, 7), (0, 1, 2)),
        ((1030, 1), (0,)),
        ((1025, 2), (0,)),
    ],
)
def test_long_sums_are_as_right_along_any_axis_in_any_layout(shape: Any, axes: Any) -> None:
    # one by one, as NumPy adds them up along most axes, errors are ten times these
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    expected = x.astype(np.float64).sum(axes)
    for laid in (x, np.asfortranarray(x), np.repeat(x, 2, -1)[..., ::2]):
        for total in (jnp.sum(jnp.asarray(laid), axes), jnp.sum(jnp.asarray(laid + 1j), axes).real):
            assert total.dtype == np.float32
            np.testing.assert_allclose(np.asarray(total), expected, 7e-7)
    assert np.array_equal(jnp.sum(jnp.asarray(x > 0.5), axes), (x > 0.5).sum(axes))


def test_64_bit_types_keep_their_width() -> None:
    for dtype in (jnp.int64, jnp.uint64, jnp.float64):
        assert jnp.sum(jnp.ones(2, dtype)).dtype == dtype
    with tinyjax.default_dtypes("float64"):
        assert jnp.sum(jnp.ones(2, jnp.int32)).dtype == jnp.int64
        assert jnp.sum(jnp.ones(2, jnp.uint8)).dtype == jnp.uint64


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_initial_and_where(name: str) -> None:
    x = FLOATS[0]
    same(*both(name, x, initial=0.5))
    same(*both(name, x, 0, initial=0.5, where=MASK))
    same(*both(name, INPUTS["int8"], initial=2))
    same(*both(name, x, 1, where=MASK[:1], initial=0.25))
    same(*both(name, np.zeros((0, 3), np.float32), 0, initial=3.0))


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "any", "all"])
def test_where(name: str) -> None:
    mask = MASK.copy()
    mask[0] = True
    same(*both(name, FLOATS[0], 0, where=mask))
    same(*both(name, FLOATS[0], where=mask, keepdims=True))


@pytest.mark.parametrize(
    "name", ["nansum", "nanprod", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin"]
)
def test_reductions_without_nan(name: str) -> None:
    for axis in (0, 1, None):
        same(*both(name, HOLES, axis))
    empty = np.full((2, 2), np.nan, np.float32)
    if name in ("nanmax", "nanmin", "nansum", "nanprod", "nanmean"):
        same(*both(name, empty, 0))
    if name in ("nanvar", "nanstd"):
        same(*both(name, HOLES, 1, mean=np.nanmean(HOLES, 1, keepdims=True)))


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd"])
def test_what_is_divided_by_nothing_has_no_derivative(name: str) -> None:
    x = jnp.array([1.0, 2.0, 4.0])

    def total(x: Array) -> Array:
        rows = jnp.stack([x, 2 * x])
        mask = np.array([[True, True, False], [False, False, False]])
        found = getattr(jnp, name)(rows, 1, where=mask)
        return jnp.sum(jnp.where(jnp.isnan(found), 0.0, found))

    tested = tinyjax.grad(total)(x)
    np.testing.assert_allclose(tested, tinyjax.grad(lambda x: getattr(jnp, name)(x[:2]))(x), 1e-6)


def test_extrema_without_nan_in_a_type_without_infinities() -> None:
    x = jnp.array([-1.5, np.nan, -3.0], jnp.float8_e4m3fn)
    assert float(jnp.nanmax(x)) == -1.5
    assert float(jnp.nanmin(x)) == -3.0


def test_variance_of_complex_numbers() -> None:
    z = (FLOATS + 1j * FLOATS[::-1]).astype(np.complex64)
    same(*both("var", z, 0))
    same(*both("mean", z, 0))
    same(*both("std", z))
    same(*both("sum", z, 1))


@pytest.mark.parametrize("kwargs", [{"ddof": 1}, {"correction": 0.5}, {"mean": FLOATS[:, :1, :1]}])
@pytest.mark.parametrize("x", [FLOATS, np.tile(FLOATS, (1, 300, 30))], ids=["small", "large"])
def test_arguments_of_var(x: Any, kwargs: dict[str, Any]) -> None:
    same(*both("var", x, (1, 2), **kwargs))


def test_average_with_weights() -> None:
    weights = np.abs(FLOATS)
    same(*both("average", FLOATS, weights=weights))
    same(*both("average", FLOATS, 1, weights=weights[0, :, 0].copy(), returned=True))
    same(*both("average", FLOATS, (0, 1), weights=weights, keepdims=True))
    same(*both("average", INPUTS["int8"], 0, returned=True))
    with raises(ShapeError, match="weights"):
        jnp.average(jnp.ones((2, 3)), weights=jnp.ones(3))


def test_reductions_of_nothing() -> None:
    assert float(jnp.sum(jnp.zeros((0,)))) == 0
    assert float(jnp.prod(jnp.zeros((0,)))) == 1
    assert bool(jnp.all(jnp.zeros((0,))))
    assert not bool(jnp.any(jnp.zeros((0,))))
    assert np.isnan(float(jnp.mean(jnp.zeros((0,)))))
    assert jnp.max(jnp.zeros((0, 3)), axis=1).shape == (0,)


@pytest.mark.wrong_types
def test_errors() -> None:
    x = jnp.ones((2, 3))
    with raises(AxisError, match="axis 2 is out of bounds"):
        jnp.sum(x, axis=2)
    with raises(AxisError, match="repeated"):
        jnp.sum(x, axis=(0, -2))
    with raises(ShapeError, match="there is no element"):
        jnp.max(jnp.zeros((0,)))
    with raises(ShapeError, match="there is no element"):
        jnp.argmin(jnp.zeros((3, 0)), axis=1)
    with raises(ArgumentError, match="needs an initial"):
        jnp.max(x, where=x > 0)
    with raises(ShapeError, match="where"):
        jnp.sum(x, where=jnp.ones((4, 2, 3), bool))
    with raises(ShapeError, match="initial must be a scalar"):
        jnp.sum(x, initial=jnp.ones(3))
    with raises(ArgumentError, match="only one"):
        jnp.var(x, ddof=1, correction=1)
    with raises(ShapeError, match="mean must broadcast"):
        jnp.std(1.0, mean=x)
    untyped: Any = jnp
    with raises(ArgumentError, match=r"sum: .*list"):
        untyped.sum([1, 2])
    for name in ("sum", "nanprod", "nanmax", "nanmean", "std", "nanvar", "nanstd"):
        with raises(ArgumentError, match=f"^{name}: arrays are immutable"):
            getattr(untyped, name)(x, out=x)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_agreement(equal_nan: bool) -> None:
    x = np.array([1.0, np.nan], np.float32)
    same(*both("allclose", x, x, equal_nan=equal_nan))
    same(*both("array_equal", x, x, equal_nan=equal_nan))
    assert bool(jnp.array_equal(jnp.array([1, 2]), [1, 2]))
    assert not bool(jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2, 3])))
    assert bool(jnp.array_equiv(jnp.array([1, 1]), 1))


GRADIENTS: list[tuple[str, Callable[[Any, Any], Any], Any]] = [
    ("sum", lambda np_, x: np_.sum(x**2), [1.0, 2.0]),
    ("mean", lambda np_, x: np_.mean(x**2), [1.0, 2.0]),
    ("prod without zero", lambda np_, x: np_.prod(x), [1.0, 2.0, 3.0]),
    ("prod with a zero", lambda np_, x: np_.prod(x), [0.0, 2.0, 3.0]),
    ("prod with zeros", lambda np_, x: np_.prod(x), [0.0, 0.0, 3.0]),
    ("max with a tie", lambda np_, x: np_.max(x), [1.0, 3.0, 3.0]),
    ("min with a tie", lambda np_, x: np_.min(x), [1.0, 1.0, 3.0]),
    ("var", lambda np_, x: np_.var(x), [1.0, 3.0, 4.0]),
    ("var of equal numbers", lambda np_, x: np_.var(x), [1.0, 1.0]),
    ("std", lambda np_, x: np_.std(x), [1.0, 3.0, 4.0]),
    ("sum where", lambda np_, x: np_.sum(x, where=x > 1.0), [1.0, 3.0, 4.0]),
    ("nanmax", lambda np_, x: np_.nanmax(x), [1.0, np.nan, 4.0]),
    ("average", lambda np_, x: np_.average(x, weights=x), [1.0, 3.0, 4.0]),
    ("max with initial", lambda np_, x: np_.max(x, initial=2.0), [1.0, 3.0]),
    ("ptp", lambda np_, x: np_.ptp(x), [1.0, 3.0, 2.0]),
]


@pytest.mark.parametrize(("name", "fun", "x"), GRADIENTS, ids=[g[0] for g in GRADIENTS])
def test_gradients_are_those_of_jax(name: str, fun: Callable[[Any, Any], Any], x: Any) -> None:
    got = tinyjax.grad(lambda x: fun(jnp, x))(jnp.array(x))
    expected = jax.grad(lambda x: fun(oracle, x))(oracle.array(x))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


def test_a_nan_left_out_of_a_sum_has_no_gradient() -> None:
    """In jax it is NaN: what was not chosen counts there."""
    gradient = tinyjax.grad(lambda x: jnp.nansum(x**2))(jnp.array([1.0, np.nan, 4.0]))
    np.testing.assert_array_equal(gradient, [2.0, 0.0, 8.0])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", ["sum", "max", "var", "argmax", "any", "prod", "mean"])
def test_the_same_eagerly_compiled_and_mapped(name: str) -> None:
    fun: Callable[..., tinyjax.Array] = getattr(jnp, name)
    x = jnp.asarray(FLOATS)
    expected = fun(x, axis=1)
    np.testing.assert_allclose(tinyjax.jit(lambda x: fun(x, axis=1))(x), expected, rtol=1e-5)
    np.testing.assert_allclose(tinyjax.vmap(lambda x: fun(x, axis=0))(x), expected, rtol=1e-5)
    mapped = tinyjax.vmap(lambda x: fun(x, axis=0), 2, 1)(x)
    np.testing.assert_allclose(mapped, fun(x, axis=0), rtol=1e-5)
