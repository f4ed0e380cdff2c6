"""take, take_along_axis, searchsorted and kin, against jax and NumPy."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jax_numpy
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax as tj
from raising import raises
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, AxisError, ConcretizationError, DtypeError, ShapeError
from tinyjax.numpy import taking
from tinyjax.test_util import check_grads

pytestmark = pytest.mark.usefixtures("each_tier")


@pytest.fixture(autouse=True)
def _wide() -> Iterator[None]:
    """Jax keeps float64 and int64 only when told to."""
    with jax.enable_x64(True):
        yield


X = np.cos(np.arange(24.0)).reshape(2, 3, 4)


def ints(*values: Any) -> HostArray:
    return np.array(values, np.int32)


def check(got: Any, expected: Any) -> None:
    expected = np.asarray(expected)
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12)


def everywhere(fun: Callable[..., Any], *args: Any) -> list[Any]:
    """Eagerly, with everything traced, and by the primitives' NumPy rules."""
    return [
        fun(*args),
        tj.jit(fun)(*args),
        tj.jvp(lambda x: fun(x, *args[1:]), args[:1], args[:1])[0],
    ]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("mode", [None, "fill", "clip", "wrap"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [1, -1, 9, -30, ints(0, -1), ints([0, 25], [-99, -2])])
def test_take(indices: Any, axis: int | None, mode: str | None) -> None:
    wanted = jax_numpy.take(X, indices, axis, mode=mode)
    for got in everywhere(lambda x, i: taking.take(x, i, axis, mode=mode), X, indices):
        check(got, wanted)


def test_take_gradient_and_vmap() -> None:
    index = ints(0, 2, 2, -1)
    weight = np.sin(np.arange(4.0))
    got = tj.grad(lambda x: (taking.take(x, index, 1) * weight[:, None]).sum())(X)
    wanted = jax.grad(lambda x: (jax_numpy.take(x, index, 1) * weight[:, None]).sum())(X)
    check(got, wanted)
    several = ints([0, 1], [2, -1])
    check(
        tj.vmap(taking.take, in_axes=(None, 0))(X, several),
        jax.vmap(jax_numpy.take, (None, 0))(X, several),
    )
    with raises(DtypeError, match="needs integer indices"):
        taking.take(X, 1.5)
    with pytest.raises(AxisError):
        taking.take(X, 1, axis=3)
    with raises(ArgumentError, match="expected a mode"):
        taking.take(X, 1, mode="nearest")


ALONG = [
    ((3, 4), ints([0, 3, -1], [1, 1, 2], [0, 0, 0]), 1),
    ((3, 4), ints([0, 2, 1, -1]), 0),
    ((3, 4), ints([1], [2], [0]), 1),
    ((3, 4), ints([1]), 1),
    ((1, 4), ints([1], [2], [7]), 1),
    ((2, 1, 4), ints([[1, 0]]), -1),
    ((2, 3, 4), np.argsort(X, 1), 1),
    ((5,), ints(4, -5, 9), 0),
    ((2, 3), ints(4, -5, 9), None),
    ((0, 4), np.zeros((0, 2), np.int32), 1),
    ((3, 1), np.zeros((3, 0), np.int32), 1),
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mode", [None, "clip"])
@pytest.mark.parametrize(("shape", "indices", "axis"), ALONG)
def test_take_along_axis(shape: tuple[int, ...], indices: Any, axis: int, mode: str | None) -> None:
    x = np.cos(np.arange(np.prod(shape, dtype=float))).reshape(shape)
    wanted = jax_numpy.take_along_axis(x, indices, axis, mode=mode)
    for got in everywhere(lambda x, i: taking.take_along_axis(x, i, axis, mode=mode), x, indices):
        check(got, wanted)

    def loss(take: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: (take(x, indices, axis, mode="clip") ** 2).sum()

    gradient = jax.grad(loss(jax_numpy.take_along_axis))(x)
    check(tj.grad(loss(taking.take_along_axis))(x), gradient)


def test_take_along_axis_errors() -> None:
    with raises(ShapeError, match="as many axes"):
        taking.take_along_axis(X, ints(0), 0)
    with raises(ShapeError, match="broadcast"):
        taking.take_along_axis(np.zeros((3, 4)), np.zeros((2, 4), int), 1)


@pytest.mark.parametrize(
    ("indices", "axis"),
    [(ints([1], [0], [3]), 1), (ints([0, 2, 1, -1]), 0), (ints(0, 11, 50), None)],
)
def test_put_along_axis(indices: Any, axis: int | None) -> None:
    x = np.zeros((3, 4))
    wanted = jax_numpy.put_along_axis(x, indices, 7.0, axis, inplace=False)

    def put(x: Any, i: Any) -> Any:
        return taking.put_along_axis(x, i, 7.0, axis, inplace=False)

    for got in everywhere(put, x, indices):
        check(got, wanted)
    with raises(ArgumentError, match="inplace=False"):
        taking.put_along_axis(x, indices, 7.0, axis)


SORTED: list[tuple[HostArray, Any]] = [
    (np.array([1.0, 2.0, 2.0, 5.0]), np.array([[0.0, 1.0], [2.0, 9.0], [np.nan, 4.0]])),
    (np.array([1.0, 2.0, np.nan, np.nan]), np.array([np.nan, 3.0, np.inf])),
    (np.arange(17), 5),
    (np.arange(0), np.array([1, 2])),
    (np.array([3]), np.array([2, 3, 4])),
    (np.arange(33, dtype=np.uint8), np.array([0, 32, 33])),
]


@pytest.mark.parametrize("method", ["scan", "compare_all"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("case", range(len(SORTED)))
def test_searchsorted(case: int, side: Any, method: str) -> None:
    line, wanted = SORTED[case]
    expected = np.searchsorted(line, wanted, side).astype(np.int32)

    def fun(v: Any) -> Any:
        return taking.searchsorted(line, v, side, method=method)

    check(fun(wanted), expected)
    check(tj.jit(fun)(wanted), expected)


@pytest.mark.wrong_types
def test_searchsorted_by_a_sorter() -> None:
    line = np.array([3.0, 1.0, 2.0])
    got = tj.jit(lambda a, v: taking.searchsorted(a, v, sorter=np.argsort(line)))(
        line, np.array([1.5])
    )
    assert got.tolist() == [1]
    with raises(ArgumentError, match="side of searchsorted"):
        taking.searchsorted(line, 1.0, unchecked("middle"))
    with raises(ShapeError, match="sorted vector"):
        taking.searchsorted(X, 1.0)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    "edges", [np.array([0.0, 1.0, 2.5]), np.array([2.5, 1.0, 0.0]), np.zeros(0)]
)
def test_digitize(edges: HostArray, right: bool) -> None:
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.5, 3.0])
    expected = np.asarray(np.digitize(x, edges, right)).astype(np.int32)
    check(taking.digitize(x, edges, right), expected)
    check(tj.jit(lambda x, e: taking.digitize(x, e, right))(x, edges), expected)


@pytest.mark.parametrize("mode", ["largest", "smallest"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "bool"])
@pytest.mark.parametrize(("axis", "k"), [(-1, 2), (0, 6), (1, 0)])
def test_top_k(axis: int, k: int, dtype: str, mode: Any) -> None:
    x = np.random.default_rng(k).integers(0, 4, (6, 5)).astype(dtype)
    if x.dtype.kind == "f":
        x[:, 1], x[2], x[3, 0] = np.nan, -np.inf, -np.nan
    # the last key counts first, and equal elements keep their order
    number = x.astype(np.float64)
    key = -number if mode == "largest" else number
    order = np.lexsort((key, np.isnan(number)), axis=axis)
    places = np.take(order, np.arange(k), axis).astype(np.int32)
    expected = np.take_along_axis(x, places, axis), places

    def fun(x: Any) -> tuple[tj.Array, tj.Array]:
        return taking.top_k(x, k, axis=axis, mode=mode)

    for got in (fun(x), tj.jit(fun)(x)):
        for part, right in zip(got, expected, strict=True):
            check(part, right)
    if axis == -1:
        for part, right in zip(tj.vmap(fun)(x), expected, strict=True):
            check(part, right)


def test_top_k_errors_and_derivatives() -> None:
    check_grads(lambda x: taking.top_k(x, 2, axis=1)[0], (X,), 2)
    check_grads(lambda x: taking.top_k(x, 2, mode="smallest")[0], (X,), 2)
    with raises(ArgumentError, match="mode of top_k"):
        taking.top_k(X, 1, mode=unchecked("least"))
    with raises(ShapeError, match="k=5"):
        taking.top_k(X, 5)
    with raises(DtypeError, match="top_k does not accept dtype complex128"):
        taking.top_k(X + 1j, 1)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_choose(mode: Any) -> None:
    a = ints([0, 1], [2, 5], [-1, 1])
    rows = [np.array([1.0, 2.0]), np.array(7), np.array([[3], [4], [5]])]
    expected = np.choose(a, rows, mode=mode)
    check(taking.choose(a, rows, mode=mode), expected)
    check(tj.jit(lambda a: taking.choose(a, rows, mode=mode))(a), expected)


def test_choose_errors() -> None:
    assert taking.choose(ints(0, 1), np.array([[1, 2], [3, 4]])).tolist() == [1, 4]
    with raises(ArgumentError, match=r"numbers in \[0, 2\)"):
        taking.choose(ints(0, 2), [1, 2])
    with raises(ConcretizationError, match="mode='clip'"):
        tj.jit(lambda a: taking.choose(a, [1, 2]))(ints(0))


def test_ix() -> None:
    for args in ((ints(0, 2), ints(1, 3)), (ints(1), np.array([True, False, True, False]))):
        index = taking.ix_(*args)
        check(tj.numpy.asarray(X[0])[index], X[0][np.ix_(*args)])
    with raises(ShapeError, match="needs vectors"):
        taking.ix_(X)


def test_compress_and_extract() -> None:
    mask = np.array([True, False, True])
    check(taking.compress(mask, X, 1), np.compress(mask, X, 1))
    check(taking.compress(mask, X), np.compress(mask, X))
    check(taking.extract(X > 0, X), np.extract(X > 0, X))
    got = tj.jit(lambda m, x: taking.compress(m, x, 1, size=3, fill_value=-1))(mask, X)
    check(got, np.concatenate([X[:, mask], np.full((2, 1, 4), -1.0)], 1))
    with raises(ConcretizationError, match=r"jnp\.where"):
        tj.jit(lambda m: taking.compress(m, X, 1))(mask)
    traced = tj.jit(lambda v: taking.compress(mask, X, 1, size=3, fill_value=v))(np.float32(-1))
    np.testing.assert_array_equal(traced, got)


@pytest.mark.parametrize("default", ["float32", "float64"])
def test_places_in_a_short_vector_are_of_the_default_int(default: str) -> None:
    line = np.array([1, 3, 5], np.int8)
    with tj.default_dtypes(default):
        for wanted in (3, 300, -300, np.array([2, 9]), 2.5):
            for call in (taking.searchsorted, tj.jit(taking.searchsorted)):
                assert call(line, wanted).dtype == tj.dtypes.default_int()
