"""Collectives over the named axes of vmap, alone and under the other transformations."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax._extensions.parallel import collective
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, ShapeError, UnboundAxisError
from tinyjax.test_util import check_grads

XS = np.array([1.0, 2.0, 4.0], np.float32)
GRID = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def same(got: Any, expected: Any) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def both(fun: Callable[[Any], Any], x: HostArray, **how: Any) -> None:
    """The same function of a library's collectives, through tinyjax and through jax."""
    got = tinyjax.vmap(fun(collective), axis_name="i", **how)(x)
    same(got, jax.vmap(fun(jax.lax), axis_name="i", **how)(x))


def total(x: Any) -> Any:
    return reduce_sum(x, tuple(range(x.ndim)))


def test_constants_are_counted() -> None:
    seen: list[Any] = []

    def fun(x: Any) -> Any:
        seen.extend([collective.psum(1, "i"), collective.psum(2.5, "i"), collective.axis_size("i")])
        return x * collective.psum(as_array(np.float32(2)), "i")

    same(tinyjax.vmap(fun, axis_name="i")(XS), XS * 6)
    assert seen == [3, 7.5, 3]
    assert type(seen[0]) is int


def test_results_are_not_batched() -> None:
    for fun in (
        collective.psum,
        collective.pmean,
        collective.pmax,
        collective.pmin,
        collective.all_gather,
    ):
        unbatched = tinyjax.vmap(lambda x, fun=fun: fun(x, "i"), axis_name="i", out_axes=None)
        reference = getattr(jax.lax, fun.__name__)
        expected = jax.vmap(lambda x, f=reference: f(x, "i"), axis_name="i", out_axes=None)(XS)
        same(unbatched(XS), expected)


@pytest.mark.parametrize(
    "fun",
    [
        lambda m, x, shift: m.all_gather(x, "i", axis=1 + shift),
        lambda m, x, shift: m.all_gather(x, "i", axis=0 + shift, tiled=True),
        lambda m, x, shift: m.all_to_all(x, "i", 0 + shift, 1 + shift),
        lambda m, x, shift: m.all_to_all(x, "i", 1 + shift, 0 + shift, tiled=True),
        lambda m, x, shift: m.psum_scatter(x, "i", scatter_dimension=1 + shift, tiled=True),
        lambda m, x, shift: m.psum_scatter(x, "i", scatter_dimension=0 + shift),
        lambda m, x, shift: m.pswapaxes(x, "i", 0 + shift),
    ],
)
def test_negative_axes_count_from_the_end(fun: Callable[..., Any]) -> None:
    x = np.arange(16.0, dtype=np.float32).reshape(2, 2, 4)
    expected = jax.vmap(lambda x: fun(jax.lax, x, 0), axis_name="i")(x)

    # a new axis is one more to count
    def run(x: Any) -> Any:
        out = fun(collective, x, 0)
        return fun(collective, x, -out.ndim if out.ndim > 2 else -2)

    for call in (tinyjax.vmap(run, axis_name="i"), tinyjax.jit(tinyjax.vmap(run, axis_name="i"))):
        same(call(x), expected)


def test_a_permutation_over_several_axes() -> None:
    x = np.arange(12.0).reshape(2, 3, 2) + 1
    pairs = [(0, 5), (5, 1), (4, 0), (3, 3)]
    expected = np.zeros((6, 2))
    for source, to in pairs:
        expected[to] = x.reshape(6, 2)[source]

    def send(x: Any, names: Any = ("i", "j")) -> Any:
        inner = tinyjax.vmap(
            lambda x: collective.ppermute({"a": x}, names, pairs)["a"], axis_name="j"
        )
        return tinyjax.vmap(inner, axis_name="i")(x)

    for call in (send, tinyjax.jit(send)):
        np.testing.assert_array_equal(call(x), expected.reshape(x.shape))
    # numbered the other way round
    turned = np.zeros((6, 2))
    for source, to in pairs:
        turned[to] = x.transpose(1, 0, 2).reshape(6, 2)[source]
    np.testing.assert_array_equal(send(x, ["j", "i"]), turned.reshape(3, 2, 2).transpose(1, 0, 2))
    check_grads(send, (x,), 2)
    pairs = [(0, 6)]
    with raises(ArgumentError, match="from 0 to 5"):
        send(x)


@pytest.mark.parametrize("name", ["psum", "pmean"])
def test_bools_and_integers(name: str) -> None:
    both(lambda lib: lambda x: getattr(lib, name)(x, "i"), np.array([True, False, True]))
    both(lambda lib: lambda x: getattr(lib, name)(x, "i"), np.array([1, 2, 4], np.int32))


def test_trees() -> None:
    got = tinyjax.vmap(lambda x: collective.psum({"a": x, "b": (x, x)}, "i"), axis_name="i")(XS)
    assert set(got) == {"a", "b"}
    same(got["b"][1], np.full(3, 7, np.float32))


def nested(lib: Any, vmap: Any, fun: Callable[[Any], Any]) -> Any:
    return vmap(vmap(fun, axis_name="j"), axis_name="i")(GRID)


@pytest.mark.parametrize("name", ["psum", "pmean", "pmax", "pmin"])
@pytest.mark.parametrize("axes", ["i", "j", ("i", "j"), ("j", "i"), ["i"]])
def test_nested_axes(name: str, axes: Any) -> None:
    got = nested(collective, tinyjax.vmap, lambda x: getattr(collective, name)(x, axes))
    axes = tuple(axes) if isinstance(axes, list) else axes
    same(got, nested(jax.lax, jax.vmap, lambda x: getattr(jax.lax, name)(x, axes)))


def test_index_and_gather_over_several_axes() -> None:
    got = nested(collective, tinyjax.vmap, lambda x: collective.axis_index(("i", "j")))
    same(got, np.arange(6, dtype=np.int32).reshape(2, 3))
    got = nested(collective, tinyjax.vmap, lambda x: collective.axis_index(("j", "i")))
    same(got, np.array([[0, 2, 4], [1, 3, 5]], np.int32))
    got = nested(collective, tinyjax.vmap, lambda x: collective.all_gather(x, ("i", "j")))
    same(got, np.broadcast_to(GRID.reshape(6), (2, 3, 6)))
    got = nested(collective, tinyjax.vmap, lambda x: x * collective.axis_size(("i", "j")))
    same(got, 6 * GRID)


def test_the_innermost_axis_of_a_name_counts() -> None:
    got = tinyjax.vmap(
        tinyjax.vmap(lambda x: collective.psum(x, "i"), axis_name="i"), axis_name="i"
    )(GRID)
    same(got, np.broadcast_to(GRID.sum(1)[:, None], (2, 3)))


def test_names_are_any_hashable() -> None:
    same(tinyjax.vmap(lambda x: collective.psum(x, 7), axis_name=7)(XS), np.full(3, 7, np.float32))


TILED = np.arange(24.0, dtype=np.float32).reshape(2, 4, 3)


def test_tiled_forms() -> None:
    both(lambda lib: lambda x: lib.all_gather(x, "i", axis=1, tiled=True), TILED)
    both(lambda lib: lambda x: lib.all_gather(x, "i", axis=-1), TILED)
    both(lambda lib: lambda x: lib.psum_scatter(x, "i", tiled=True), TILED)
    both(lambda lib: lambda x: lib.all_to_all(x, "i", 0, 1, tiled=True), TILED)
    both(lambda lib: lambda x: lib.all_to_all(x, "i", 1, 0), TILED.swapaxes(1, 2)[:, :, :2])
    both(lambda lib: lambda x: lib.pswapaxes(x, "i", 0), TILED[:, :2])
    both(lambda lib: lambda x: lib.pshuffle(x, "i", [2, 0, 1]), XS)
    both(lambda lib: lambda x: lib.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)]), XS)


# Under the other transformations


GRADIENTS: list[Callable[[Any], Callable[[Any], Any]]] = [
    lambda lib: lambda x: lib.psum(x * x, "i"),
    lambda lib: lambda x: x * lib.psum(x, "i"),
    lambda lib: lambda x: lib.pmean(x * x, "i"),
    lambda lib: lambda x: x * lib.psum(x * lib.psum(x, "i"), "i"),
    lambda lib: lambda x: lib.psum(2.0 * lib.psum(x * x, "i"), "i"),
    lambda lib: lambda x: lib.ppermute(x * x, "i", [(0, 1), (1, 2), (2, 0)]),
    lambda lib: lambda x: x * lib.axis_index("i"),
]


@pytest.mark.parametrize("fun", GRADIENTS)
def test_gradients_inside_and_outside(fun: Callable[[Any], Callable[[Any], Any]]) -> None:
    both(lambda lib: (jax if lib is jax.lax else tinyjax).grad(fun(lib)), XS)

    def outside(x: Any) -> Any:
        return total(tinyjax.vmap(fun(collective), axis_name="i")(x))

    expected = jax.grad(lambda x: jax.vmap(fun(jax.lax), axis_name="i")(x).sum())(XS)
    same(tinyjax.grad(outside)(XS), expected)
    got = tinyjax.vmap(lambda x: tinyjax.jvp(fun(collective), (x,), (x,))[1], axis_name="i")(XS)
    same(got, jax.vmap(lambda x: jax.jvp(fun(jax.lax), (x,), (x,))[1], axis_name="i")(XS))
    twice = tinyjax.vmap(tinyjax.grad(tinyjax.grad(fun(collective))), axis_name="i")(XS)
    same(twice, jax.vmap(jax.grad(jax.grad(fun(jax.lax))), axis_name="i")(XS))


def test_gradients_of_gather_and_its_kin() -> None:
    weights = np.arange(3.0, dtype=np.float32)
    square = np.arange(9.0, dtype=np.float32).reshape(3, 3)

    def of_gather(x: Any) -> Any:
        return total(collective.all_gather(x, "i") * weights)

    def of_scatter(x: Any) -> Any:
        return collective.psum_scatter(x * x, "i") * weights[1]

    def of_exchange(x: Any) -> Any:
        return total(collective.all_to_all(x * x, "i", 0, 0) * weights)

    same(tinyjax.vmap(tinyjax.grad(of_gather), axis_name="i")(XS), 3 * weights)
    # the derivative inside is that of the sum of all the examples' outputs, from outside
    for fun in (of_scatter, of_exchange):

        def outside(x: Any, fun: Callable[[Any], Any] = fun) -> Any:
            return total(tinyjax.vmap(fun, axis_name="i")(x))

        got = tinyjax.vmap(tinyjax.grad(fun), axis_name="i")(square)
        same(got, tinyjax.grad(outside)(square))


def test_the_greatest_takes_the_gradient() -> None:
    got = tinyjax.vmap(tinyjax.grad(lambda x: collective.pmax(x * x, "i")), axis_name="i")(XS)
    # of the sum of the examples' outputs: three of them
    same(got, np.array([0, 0, 24], np.float32))


def test_jit_inside_and_outside() -> None:
    def fun(x: Any) -> Any:
        return x / collective.psum(x, "i") + collective.axis_index("i") * collective.psum(1, "i")

    def reference(x: HostArray) -> HostArray:
        n = len(x)
        out: HostArray = (x / x.sum() + np.arange(n) * n).astype(np.float32)
        return out

    inside = tinyjax.jit(fun)
    for xs in (XS, np.ones(5, np.float32), XS):
        same(tinyjax.vmap(inside, axis_name="i")(xs), reference(xs))
        same(tinyjax.jit(tinyjax.vmap(fun, axis_name="i"))(xs), reference(xs))
        same(tinyjax.jit(tinyjax.vmap(inside, axis_name="i"))(xs), reference(xs))
    gradient = tinyjax.vmap(
        tinyjax.grad(tinyjax.jit(lambda x: collective.psum(x * x, "i"))), axis_name="i"
    )
    same(gradient(XS), 6 * XS)


def test_jit_of_what_is_not_mapped() -> None:
    inside = tinyjax.jit(lambda c: collective.psum(c, "i") * collective.axis_index("i"))
    got = tinyjax.vmap(lambda x: x + inside(as_array(np.float32(2))), axis_name="i")(XS)
    same(got, XS + 6 * np.arange(3, dtype=np.float32))


# Errors


def test_an_unbound_name_is_an_error() -> None:
    for fun in (collective.psum, collective.pmean, collective.pmax, collective.all_gather):
        with raises(UnboundAxisError, match=r"the axis 'i', but no enclosing vmap"):
            fun(XS, "i")
    with raises(UnboundAxisError, match="axis_name='k'"):
        tinyjax.vmap(lambda x: collective.psum(x, "k"), axis_name="i")(XS)
    with pytest.raises(NameError):
        collective.axis_index("i")
    with pytest.raises(UnboundAxisError):
        tinyjax.jit(lambda x: collective.psum(x, "i"))(XS)


def untyped(fun: Any) -> Any:
    """The function as callers without a type checker have it."""
    return fun


ERRORS: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (lambda x: untyped(collective.psum)(x, "i", axis_index_groups=[[0]]), ArgumentError, "groups"),
    (lambda x: collective.ppermute(x, "i", [(0, 3)]), ArgumentError, "distinct"),
    (lambda x: collective.ppermute(x, "i", [(0, 1), (2, 1)]), ArgumentError, "distinct"),
    (lambda x: collective.psum_scatter(GRID, "i"), ShapeError, "size of the mapped"),
    (lambda x: collective.psum_scatter(GRID, "i", tiled=True), ShapeError, "divisible"),
    (lambda x: collective.all_to_all(GRID, "i", 0, 0), ShapeError, "size of the mapped"),
    (
        lambda x: tinyjax.vmap(
            lambda y: collective.all_to_all(GRID, ("j", "i"), 0, 0), axis_name="j"
        )(np.ones(4)),
        ShapeError,
        "the size 12 of the mapped axes together",
    ),
]


@pytest.mark.parametrize(("fun", "error", "says"), ERRORS)
@pytest.mark.wrong_types
def test_errors(fun: Callable[[Any], Any], error: type[Exception], says: str) -> None:
    with raises(error, match=says):
        tinyjax.jit(tinyjax.vmap(fun, axis_name="i"))(XS)
