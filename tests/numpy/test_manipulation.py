"""Rearranging arrays, choosing among them, and calculus on samples, against jax.numpy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as oracle
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, AxisError, ConcretizationError, ShapeError


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for g, e in zip(got, expected, strict=True):
            same(g, e)
        return
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    assert got.weak_type == expected.weak_type
    np.testing.assert_allclose(
        np.asarray(got).astype(np.float64), np.asarray(expected).astype(np.float64), rtol=1e-5
    )


def cube(np_: Any) -> Any:
    return np_.arange(24.0).reshape(2, 3, 4)


def line(np_: Any) -> Any:
    return np_.array([3, 1, 4, 1, 5])


# Calls that mean the same in either namespace.
Calls = list[tuple[str, Callable[[Any], Any]]]
SHAPES: Calls = [
    ("reshape", lambda np_: np_.reshape(cube(np_), (4, -1))),
    ("reshape to one axis", lambda np_: np_.reshape(cube(np_), -1)),
    ("reshape from the first", lambda np_: np_.reshape(cube(np_), (6, 4), order="F")),
    ("ravel", lambda np_: np_.ravel(cube(np_))),
    ("ravel of a number", lambda np_: np_.ravel(1)),
    ("ravel from the first", lambda np_: np_.ravel(cube(np_), order="F")),
    ("transpose", lambda np_: np_.transpose(cube(np_))),
    ("transpose axes", lambda np_: np_.transpose(cube(np_), (1, -1, 0))),
    ("permute_dims", lambda np_: np_.permute_dims(cube(np_), (2, 0, 1))),
    ("matrix_transpose", lambda np_: np_.matrix_transpose(cube(np_))),
    ("swapaxes", lambda np_: np_.swapaxes(cube(np_), 0, -1)),
    ("moveaxis", lambda np_: np_.moveaxis(cube(np_), 0, -1)),
    ("moveaxis of two", lambda np_: np_.moveaxis(cube(np_), (0, 1), (-1, 0))),
    ("rollaxis", lambda np_: np_.rollaxis(cube(np_), 2, 0)),
    ("rollaxis back", lambda np_: np_.rollaxis(cube(np_), 0, 3)),
    ("rollaxis before the last", lambda np_: np_.rollaxis(cube(np_), 0, -1)),
    ("expand_dims", lambda np_: np_.expand_dims(cube(np_), 1)),
    ("expand_dims of two", lambda np_: np_.expand_dims(cube(np_), (0, -1))),
    ("squeeze", lambda np_: np_.squeeze(cube(np_)[:1, :, :1])),
    ("squeeze axis", lambda np_: np_.squeeze(cube(np_)[:1, :, :1], -1)),
    ("broadcast_to", lambda np_: np_.broadcast_to(line(np_), (2, 5))),
    ("broadcast_to of a number", lambda np_: np_.broadcast_to(1.0, (2,))),
    ("broadcast_arrays", lambda np_: np_.broadcast_arrays(cube(np_)[:, :1], np_.ones(4))),
    ("atleast_1d", lambda np_: np_.atleast_1d(1.0, cube(np_))),
    ("atleast_2d", lambda np_: np_.atleast_2d(line(np_))),
    ("atleast_3d", lambda np_: np_.atleast_3d(1, line(np_), cube(np_)[0], cube(np_))),
]
JOINING: Calls = [
    ("concatenate", lambda np_: np_.concatenate([line(np_), np_.ones(2)])),
    ("concatenate axis", lambda np_: np_.concatenate([cube(np_), cube(np_)], axis=-1)),
    ("concatenate flat", lambda np_: np_.concatenate([cube(np_), line(np_)], axis=None)),
    ("concatenate rows", lambda np_: np_.concatenate(cube(np_))),
    ("concatenate dtype", lambda np_: np_.concatenate([line(np_)] * 2, dtype="int8")),
    ("stack", lambda np_: np_.stack([line(np_), line(np_) + 0.5])),
    ("stack axis", lambda np_: np_.stack([cube(np_), cube(np_)], axis=-2)),
    ("stack numbers", lambda np_: np_.stack([1, 2.5])),
    ("unstack", lambda np_: np_.unstack(cube(np_), axis=1)),
    ("vstack", lambda np_: np_.vstack([line(np_), line(np_)])),
    ("hstack", lambda np_: np_.hstack([line(np_), line(np_)])),
    ("hstack numbers", lambda np_: np_.hstack([1, 2])),
    ("hstack matrices", lambda np_: np_.hstack([cube(np_)[0], cube(np_)[1]])),
    ("dstack", lambda np_: np_.dstack([line(np_), line(np_)])),
    ("column_stack", lambda np_: np_.column_stack([line(np_), line(np_)])),
    ("append", lambda np_: np_.append(line(np_), 7)),
    ("append axis", lambda np_: np_.append(cube(np_), cube(np_), axis=1)),
    ("block", lambda np_: np_.block([[np_.ones((2, 2)), np_.zeros((2, 1))], [np_.ones((1, 3))]])),
]
SPLITTING: Calls = [
    ("split", lambda np_: np_.split(cube(np_), 2, axis=2)),
    ("split at", lambda np_: np_.split(line(np_), [1, 3])),
    ("array_split", lambda np_: np_.array_split(line(np_), 3)),
    ("vsplit", lambda np_: np_.vsplit(cube(np_), 2)),
    ("hsplit", lambda np_: np_.hsplit(cube(np_), 3)),
    ("hsplit of a line", lambda np_: np_.hsplit(line(np_), [2])),
    ("dsplit", lambda np_: np_.dsplit(cube(np_), 2)),
]
REPETITION: Calls = [
    ("tile", lambda np_: np_.tile(line(np_), 2)),
    ("tile axes", lambda np_: np_.tile(cube(np_)[0], (2, 1, 2))),
    ("tile fewer", lambda np_: np_.tile(cube(np_), (2,))),
    ("tile none", lambda np_: np_.tile(line(np_), 0)),
    ("repeat", lambda np_: np_.repeat(line(np_), 2)),
    ("repeat axis", lambda np_: np_.repeat(cube(np_), 2, axis=1)),
    ("repeat flat", lambda np_: np_.repeat(cube(np_), 2)),
    ("repeat array", lambda np_: np_.repeat(line(np_), np.array([0, 1, 2, 0, 3]))),
    ("repeat array axis", lambda np_: np_.repeat(cube(np_), np.array([2, 0, 1]), axis=1)),
    ("repeat cut", lambda np_: np_.repeat(line(np_), 2, total_repeat_length=7)),
    ("repeat filled", lambda np_: np_.repeat(line(np_), 1, total_repeat_length=7)),
    ("resize", lambda np_: np_.resize(line(np_), (2, 4))),
]
ORDER: Calls = [
    ("flip", lambda np_: np_.flip(cube(np_))),
    ("flip axis", lambda np_: np_.flip(cube(np_), (0, -1))),
    ("fliplr", lambda np_: np_.fliplr(cube(np_))),
    ("flipud", lambda np_: np_.flipud(cube(np_))),
    *[(f"rot90 by {k}", lambda np_, k=k: np_.rot90(cube(np_), k, (1, 2))) for k in range(-1, 4)],
    ("roll", lambda np_: np_.roll(line(np_), 2)),
    ("roll back", lambda np_: np_.roll(line(np_), -7)),
    ("roll flat", lambda np_: np_.roll(cube(np_), 5)),
    ("roll axis", lambda np_: np_.roll(cube(np_), 1, axis=1)),
    ("roll axes", lambda np_: np_.roll(cube(np_), (1, 2), axis=(0, 2))),
    ("roll array", lambda np_: np_.roll(line(np_), np_.array(3))),
    ("roll many", lambda np_: np_.roll(cube(np_), (1, 2), axis=1)),
]
PAD_MODES = (
    *("edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect", "symmetric"),
    "wrap",
)


def _fill(np_: Any) -> Any:
    def fill(vector: Any, widths: Any, axis: int, options: Any) -> Any:
        before, after = widths
        if np_ is np:  # which wants the vector changed in place
            vector[:before] = vector[-after:] = options["padder"]
            return None
        return vector.at[:before].set(options["padder"]).at[-after:].set(options["padder"])

    return fill


PADDING: Calls = [
    ("pad", lambda np_: np_.pad(line(np_), 2)),
    ("pad sides", lambda np_: np_.pad(cube(np_)[0], (1, 2))),
    ("pad axes", lambda np_: np_.pad(cube(np_)[0], ((1, 2), (0, 3)))),
    ("pad value", lambda np_: np_.pad(line(np_), 1, constant_values=2.5)),
    ("pad values", lambda np_: np_.pad(cube(np_)[0], 2, constant_values=(7, 8))),
    (
        "pad values of axes",
        lambda np_: np_.pad(cube(np_)[0], 1, constant_values=((1, 2), (3, 4))),
    ),
    *[
        (f"pad {mode}", lambda np_, mode=mode: np_.pad(cube(np_), ((1, 1), (2, 0), (1, 3)), mode))
        for mode in PAD_MODES
    ],
    *[
        (f"pad {mode} far", lambda np_, mode=mode: np_.pad(line(np_)[:3], (8, 11), mode))
        for mode in PAD_MODES
    ],
    *[
        (
            f"pad {mode} {options}",
            lambda np_, mode=mode, options=options: np_.pad(cube(np_)[0], (3, 4), mode, **options),
        )
        for mode, options in (
            ("reflect", {"reflect_type": "odd"}),
            ("symmetric", {"reflect_type": "odd"}),
            ("linear_ramp", {"end_values": ((5, -7), (2.5, 0))}),
            ("maximum", {"stat_length": 1}),
            ("mean", {"stat_length": (2, 1)}),
            ("median", {"stat_length": ((1, 2), (3, 2))}),
        )
    ],
    ("pad by a function", lambda np_: np_.pad(line(np_), 2, _fill(np_), padder=7)),
    ("pad reflect one", lambda np_: np_.pad(line(np_)[:1], 2, "reflect")),
]
INDICES: Calls = [
    ("unravel_index", lambda np_: np_.unravel_index(np_.array([0, 5, -1]), (2, 3))),
    ("ravel_multi_index", lambda np_: np_.ravel_multi_index((line(np_), line(np_)), (6, 7))),
    ("where", lambda np_: np_.where(line(np_) > 2, line(np_), 0)),
    ("where of a number", lambda np_: np_.where(True, 1, 2.5)),
    ("where broadcasts", lambda np_: np_.where(cube(np_) > 5, cube(np_)[0, 0], -1.0)),
    ("where alone", lambda np_: np_.where(cube(np_) > 20)),
    ("where of ints", lambda np_: np_.where(line(np_) - 1, 1.0, 2)),
    ("select", lambda np_: np_.select([line(np_) < 2, line(np_) < 4], [line(np_), 0.5], 9)),
    ("nonzero", lambda np_: np_.nonzero(cube(np_) % 2)),
    ("nonzero size", lambda np_: np_.nonzero(cube(np_) % 2, size=14, fill_value=-1)),
    ("nonzero cut", lambda np_: np_.nonzero(cube(np_) % 2, size=3)),
    ("nonzero fills", lambda np_: np_.nonzero(np_.zeros((2, 2)), size=2, fill_value=(5, 6))),
    ("nonzero long", lambda np_: np_.nonzero(line(np_) > 1, size=9)),
    ("flatnonzero", lambda np_: np_.flatnonzero(cube(np_) > 20)),
    ("argwhere", lambda np_: np_.argwhere(cube(np_) > 20)),
]
CALCULUS: Calls = [
    ("diff", lambda np_: np_.diff(line(np_))),
    ("diff twice", lambda np_: np_.diff(cube(np_) ** 2, 2, axis=1)),
    ("diff of bools", lambda np_: np_.diff(line(np_) > 2)),
    ("diff too often", lambda np_: np_.diff(line(np_), 7)),
    ("diff with ends", lambda np_: np_.diff(line(np_), prepend=0, append=np_.array([1, 2]))),
    ("ediff1d", lambda np_: np_.ediff1d(line(np_), to_begin=np_.array([9, 9]), to_end=8)),
    ("gradient", lambda np_: np_.gradient(line(np_) ** 2)),
    ("gradient axes", lambda np_: np_.gradient(cube(np_) ** 2, 2.0, axis=(0, 2))),
    ("gradient of two", lambda np_: np_.gradient(line(np_)[:2])),
    (
        "gradient of points",
        lambda np_: np_.gradient(line(np_) * 1.0, np_.array([0.0, 1.0, 3.0, 4.5, 9.0])),
    ),
    ("trapezoid", lambda np_: np_.trapezoid(line(np_))),
    ("trapezoid dx", lambda np_: np_.trapezoid(cube(np_), dx=0.5, axis=1)),
    ("trapezoid x", lambda np_: np_.trapezoid(cube(np_), np_.array([0.0, 1.0, 4.0]), axis=1)),
    (
        "interp",
        lambda np_: np_.interp(
            np_.array([-1.0, 0.0, 0.5, 1.0, 2.7, 4.0, 9.0]),
            np_.array([0.0, 1.0, 4.0]),
            np_.array([1.0, 3.0, -3.0]),
        ),
    ),
    (
        "interp ends",
        lambda np_: np_.interp(cube(np_), np_.array([5.0, 9.0]), np_.array([1.0, 3.0]), -1, 8.0),
    ),
    (
        "interp with a period",
        lambda np_: np_.interp(
            np_.array([-180.0, -170.0, 185.0, -10.0, 0.0, 365.0]),
            np_.array([190.0, -190.0, 350.0, -350.0]),
            np_.array([5.0, 10.0, 3.0, 4.0]),
            period=-360,
        ),
    ),
    ("interp of one", lambda np_: np_.interp(2.0, np_.array([5.0]), np_.array([1.0]))),
    ("polyval", lambda np_: np_.polyval(np_.array([1.0, 2.0, 3.0]), line(np_))),
    ("polyval of nothing", lambda np_: np_.polyval(np_.zeros(0), line(np_))),
    ("cross", lambda np_: np_.cross(cube(np_)[..., :3], np_.array([1.0, 2.0, 4.0]))),
    ("cross axis", lambda np_: np_.cross(cube(np_), cube(np_) ** 2, axis=1)),
]
CALLS = [
    *[*SHAPES, *JOINING, *SPLITTING, *REPETITION, *ORDER],
    *[*PADDING, *INDICES, *CALCULUS],
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "call"), CALLS, ids=[c[0] for c in CALLS])
def test_results_are_those_of_jax(name: str, call: Callable[[Any], Any]) -> None:
    same(call(jnp), call(oracle))


#: Functions of a traced int, 1 to 3.
OF_TRACED_INTS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("roll by two", lambda np_, s: np_.roll(cube(np_), (s, -s), axis=(0, 2))),
    ("roll by a list", lambda np_, s: np_.roll(cube(np_), [s, 2], axis=[1, 2])),
    ("roll flat", lambda np_, s: np_.roll(line(np_), (s, 2))),
    ("roll by a vector", lambda np_, s: np_.roll(cube(np_), np_.stack([s, s]), axis=(0, 1))),
    ("nonzero", lambda np_, s: np_.nonzero(cube(np_) > 17, size=8, fill_value=-s)),
    ("nonzero by axes", lambda np_, s: np_.nonzero(line(np_) > 3, size=4, fill_value=(s,))),
    ("argwhere", lambda np_, s: np_.argwhere(cube(np_) > 20, size=4, fill_value=(0, s, 7))),
    ("flatnonzero", lambda np_, s: np_.flatnonzero(line(np_) > 3, size=4, fill_value=s)),
    ("where", lambda np_, s: np_.where(line(np_) > 3, size=4, fill_value=s)),
    ("unravel", lambda np_, s: np_.unravel_index(np_.arange(-20, 20, 3), (s, 4))),
    ("unravel one", lambda np_, s: np_.unravel_index(np_.arange(-9, 9), s)),
    ("unravel unsigned", lambda np_, s: np_.unravel_index(np_.arange(9, dtype="uint8"), (2, s))),
    ("unravel by a vector", lambda np_, s: np_.unravel_index(line(np_), np_.stack([s, s]))),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "call"), OF_TRACED_INTS, ids=[c[0] for c in OF_TRACED_INTS])
def test_ints_may_be_traced(name: str, call: Callable[[Any, Any], Any]) -> None:
    def ours(s: Any) -> Any:
        return call(jnp, s)

    values = np.arange(1, 4, dtype=np.int32)
    expected = [jax.jit(lambda s: call(oracle, s))(s) for s in values]
    batched = tinyjax.vmap(ours)(values)
    for i, s in enumerate(values):
        same(tinyjax.jit(ours)(s), expected[i])
        same(tinyjax.tree.map(lambda x, i=i: x[i], batched), expected[i])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.wrong_types
def test_what_is_traced_must_be_an_int() -> None:
    for x in (1.5, np.ones(2, np.int32)):
        for fun in (
            lambda s: jnp.roll(line(jnp), (s, 1)),
            lambda s: jnp.nonzero(line(jnp), size=9, fill_value=(s,)),
            lambda s: jnp.unravel_index(line(jnp), (s, 2)),
        ):
            with raises(ArgumentError, match="must be an int"):
                tinyjax.jit(fun)(x)


def test_cross_products_of_vectors_in_the_plane() -> None:
    """Later releases of jax refuse them."""
    x, y, in_space = line(jnp)[:2], line(jnp)[2:4], line(oracle)[2:5]
    wide_x, wide_y = [oracle.append(np.asarray(v), 0) for v in (x, y)]
    same(jnp.cross(x, y), oracle.cross(wide_x, wide_y)[2])
    same(jnp.cross(x, np.asarray(in_space)), oracle.cross(wide_x, in_space))


#: Functions of one array of shape (2, 3).
TRACED: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("reshape", lambda np_, x: np_.reshape(x, (3, -1)) ** 2),
    ("transpose", lambda np_, x: np_.transpose(x) ** 2),
    ("concatenate", lambda np_, x: np_.concatenate([x, x * x], 1)),
    ("stack", lambda np_, x: np_.stack([x, x * 2, np_.ones((2, 3))], 1) ** 2),
    ("split", lambda np_, x: np_.split(x, [1], axis=1)[1] ** 2),
    ("tile", lambda np_, x: np_.tile(x, (2, 2)) * np_.arange(6.0)),
    ("repeat", lambda np_, x: np_.repeat(x, 2, 1) * np_.arange(6.0)),
    ("repeat array", lambda np_, x: np_.repeat(x, np.array([2, 0, 3]), 1) * np_.arange(5.0)),
    ("flip", lambda np_, x: np_.flip(x, 1) * np_.arange(3.0)),
    ("roll", lambda np_, x: np_.roll(x, 1, 1) * np_.arange(3.0)),
    ("pad", lambda np_, x: np_.pad(x, 1, constant_values=2.0) ** 2),
    ("pad reflect", lambda np_, x: np_.pad(x, 1, "reflect") * np_.arange(5.0)),
    ("pad edge", lambda np_, x: np_.pad(x, 2, "edge") * np_.arange(7.0)),
    ("pad wrap", lambda np_, x: np_.pad(x, 2, "wrap") * np_.arange(7.0)),
    ("pad mean", lambda np_, x: np_.pad(x, 2, "mean", stat_length=2) * np_.arange(7.0)),
    ("pad ramp", lambda np_, x: np_.pad(x, 2, "linear_ramp") * np_.arange(7.0)),
    ("pad odd", lambda np_, x: np_.pad(x, 2, "reflect", reflect_type="odd") * np_.arange(7.0)),
    ("where", lambda np_, x: np_.where(x > 2, x**2, -x)),
    ("select", lambda np_, x: np_.select([x > 4, x > 2], [x**2, -x], 1.0)),
    ("nonzero", lambda np_, x: x * np_.nonzero(x > 2, size=3)[1]),
    ("diff", lambda np_, x: np_.diff(x, axis=1) ** 2),
    ("gradient", lambda np_, x: np_.gradient(x, axis=1) ** 2),
    ("trapezoid", lambda np_, x: np_.trapezoid(x**2)),
    (
        "interp",
        lambda np_, x: np_.interp(x, np_.array([0.0, 3.5, 7.0]), np_.array([0.0, 1.0, 9.0])),
    ),
    ("interp values", lambda np_, x: np_.interp(np_.array([0.5, 1.5]), np_.arange(3.0), x[0])),
    ("polyval", lambda np_, x: np_.polyval(np_.array([1.0, 2.0, 3.0]), x)),
    ("cross", lambda np_, x: np_.cross(x, x[::-1])),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "fun"), TRACED, ids=[t[0] for t in TRACED])
def test_derivatives_and_transformations(name: str, fun: Callable[[Any, Any], Any]) -> None:
    x = np.array([[1.0, 2.5, 3.0], [4.5, 5.0, 6.0]], np.float32)

    def ours(x: Any) -> Any:
        return fun(jnp, x)

    expected = ours(jnp.asarray(x))
    np.testing.assert_allclose(tinyjax.jit(ours)(x), expected, rtol=1e-5)
    batch = jnp.stack([jnp.asarray(x), 2 * jnp.asarray(x)], axis=1)
    np.testing.assert_allclose(tinyjax.vmap(ours, 1)(batch)[1], ours(batch[:, 1]), rtol=1e-5)
    got = tinyjax.grad(lambda x: ours(x).sum())(jnp.asarray(x))
    wanted = jax.grad(lambda x: fun(oracle, x).sum())(oracle.asarray(x))
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("each_tier")
def test_shifts_may_be_traced() -> None:
    x = jnp.arange(12).reshape(3, 4)
    for shift in (-5, 0, 1, 4):
        got = tinyjax.jit(lambda s: jnp.roll(x, s, axis=1))(shift)
        assert got.tolist() == np.roll(np.asarray(x), shift, 1).tolist()
    got = tinyjax.vmap(lambda s: jnp.roll(x[0], s))(jnp.array([0, 1]))
    assert got.tolist() == [[0, 1, 2, 3], [3, 0, 1, 2]]


@pytest.mark.usefixtures("each_tier")
def test_places_may_be_found_while_tracing() -> None:
    found = tinyjax.jit(lambda x: jnp.nonzero(x > 1, size=3, fill_value=9))(jnp.array([5, 0, 2]))
    assert found[0].tolist() == [0, 2, 9]
    with raises(ConcretizationError, match="size="):
        tinyjax.jit(jnp.nonzero)(jnp.ones(3))


@pytest.mark.wrong_types
def test_errors() -> None:
    untyped: Any = jnp
    x = jnp.ones((2, 3))
    with raises(ShapeError, match=r"\(2, 3\) \(6 elements\) cannot become \(4, 2\)"):
        jnp.reshape(x, (4, 2))
    with raises(ShapeError, match="at most one"):
        jnp.reshape(x, (-1, -1))
    with raises(ArgumentError, match="a size in reshape must be an int"):
        untyped.reshape(x, (2.0, 3.0))
    with raises(AxisError, match="axis 3"):
        jnp.transpose(x, (0, 3))
    with raises(ShapeError, match="each axis"):
        jnp.transpose(x, (0,))
    with raises(AxisError, match="repeated"):
        jnp.moveaxis(x, (0, 0), (0, 1))
    with raises(ShapeError, match="size one"):
        jnp.squeeze(x, 0)
    with raises(AxisError, match="axis 5"):
        jnp.expand_dims(x, 5)
    with raises(ShapeError, match="all other axes"):
        jnp.concatenate([x, jnp.ones((2, 4))])
    with raises(ShapeError, match="without axes"):
        jnp.concatenate([1, 2])
    with raises(ArgumentError, match="at least one"):
        jnp.concatenate([])
    with raises(ArgumentError, match="sequence"):
        untyped.stack(1)
    with raises(ShapeError, match="one shape"):
        jnp.stack([jnp.ones(2), jnp.ones(3)])
    with raises(ShapeError, match="array_split"):
        jnp.split(x, 2, axis=1)
    with raises(ShapeError, match="one for each"):
        jnp.repeat(x, jnp.array([1, 2]), axis=1)
    with raises(ArgumentError, match="mode"):
        jnp.pad(x, 1, "average")
    with raises(ArgumentError, match="not for mode"):
        jnp.pad(x, 1, "mean", end_values=1)
    with raises(ArgumentError, match="stat_length of 0"):
        jnp.pad(x, 1, "mean", stat_length=0)
    with raises(ArgumentError, match="'even' or 'odd'"):
        untyped.pad(x, 1, "reflect", reflect_type="other")
    with raises(ArgumentError, match="at least 0"):
        jnp.pad(x, -1)
    with raises(ShapeError, match="widths"):
        jnp.pad(x, (1, 2, 3))
    with raises(ArgumentError, match="neither"):
        untyped.where(x, x)
    with raises(ShapeError, match="incompatible shapes for broadcasting"):
        jnp.where(x > 0, x, jnp.ones(4))
    with raises(ShapeError, match="Incompatible shapes for broadcasting"):
        jnp.broadcast_arrays(jnp.ones(2), jnp.ones(3))
    with raises(ArgumentError, match="one shift"):
        jnp.roll(x, (1, 2, 3), axis=(0, 1))
    with raises(ArgumentError, match="conditions"):
        jnp.select([], [])
    with raises(ShapeError, match="size 2 or 3"):
        jnp.cross(jnp.ones(4), jnp.ones(4))


def test_cuts_beyond_the_end_leave_nothing() -> None:
    assert [x.tolist() for x in jnp.split(jnp.arange(3), [2, 9])] == [[0, 1], [2], []]


def test_broadcast_shapes() -> None:
    assert jnp.broadcast_shapes((2, 1), 3, ()) == (2, 3)
    with raises(ShapeError, match=r"\(2,\) and \(3,\)"):
        jnp.broadcast_shapes((2,), (3,))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("counts", [[1, 0], [0, 2], [0, 0], [2, 1], [2], 3])
@pytest.mark.parametrize("length", [0, 1, 4])
def test_repeat_to_a_length_by_traced_numbers(counts: Any, length: int) -> None:
    x = np.arange(4.0, dtype=np.float32).reshape(2, 2)

    def repeated(m: Any, counts: Any) -> Any:
        return m.repeat(x, counts, axis=1, total_repeat_length=length)

    expected = repeated(jax.numpy, jax.numpy.asarray(counts))
    np.testing.assert_array_equal(repeated(jnp, jnp.asarray(counts)), expected)
    staged = tinyjax.jit(lambda c: repeated(jnp, c))
    np.testing.assert_array_equal(staged(np.array(counts)), expected)
