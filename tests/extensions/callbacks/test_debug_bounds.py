"""The setting ``debug_bounds``: an index out of bounds raises, unless a mode says what to do.

Each function is tried with an index in bounds and one that is not, and so is each composition of
transformations. tests/numpy/test_random_indices.py holds it to NumPy's IndexError.
"""

import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pytest

import tinyjax as tj
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.errors import ExportError, OutOfBoundsError

Function = Callable[..., Any]


def getitem(x: Any, i: Any) -> Any:
    return x[i]


ROWS: Final = lax.GatherDimensionNumbers((), (0,), (0,))
PAIRS: Final = lax.GatherDimensionNumbers((1,), (), (0,))
INTO: Final = lax.ScatterDimensionNumbers((), (0,), (0,))
X: Final = jnp.arange(1.0, 6.0)


@pytest.fixture(autouse=True)
def looks_at_indices() -> Iterator[None]:
    with tj.debug_bounds():
        yield


def stored(x: Any, i: Any) -> Any:
    ref = tj.new_ref(x)
    ref[i] = 2.0
    return ref[...]


#: Functions of an array of five elements and of an index, whose last one in bounds is given.
FUNCTIONS: Final[dict[str, tuple[Function, int]]] = {
    "x[i]": (getitem, 4),
    "x[i, None]": (lambda x, i: x[i, None], 4),
    "x[..., [i]]": (lambda x, i: jnp.outer(x, x)[1:3, jnp.stack([i, i])], 4),
    "x[True, i]": (lambda x, i: x[True, i], 4),
    "x[-i]": (lambda x, i: x[-i], 5),
    "x[narrow]": (lambda x, i: x[i.astype(jnp.int8)], 4),
    "x[unsigned]": (lambda x, i: x[i.astype(jnp.uint32)], 4),
    "take": (jnp.take, 4),
    "x.take": (lambda x, i: x.take(i), 4),
    "take promised": (lambda x, i: jnp.take(x, i, mode="promise_in_bounds"), 4),
    "take_along_axis": (lambda x, i: jnp.take_along_axis(x, i[None], 0), 4),
    "put_along_axis": (lambda x, i: jnp.put_along_axis(x, i[None], 1.0, 0, inplace=False), 4),
    "put": (lambda x, i: jnp.put(x, i, 1.0, inplace=False), 4),
    "delete": (lambda x, i: jnp.delete(x, i[None], assume_unique_indices=True), 4),
    **{
        f"at {kind}": (lambda x, i, kind=kind: getattr(x.at[i], kind)(2.0), 4)
        for kind in ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")
    },
    "at get": (lambda x, i: x.at[i].get(), 4),
    "at apply": (lambda x, i: x.at[i].apply(jnp.sin), 4),
    "ref[i] = v": (stored, 4),
    "dynamic_slice": (lambda x, i: lax.dynamic_slice(x, (i,), (2,)), 3),
    "dynamic_slice counted back": (lambda x, i: lax.dynamic_slice(x, (i - 5,), (2,)), 3),
    "dynamic_slice_in_dim": (lambda x, i: lax.dynamic_slice_in_dim(x, i, 3), 2),
    "dynamic_index_in_dim": (lax.dynamic_index_in_dim, 4),
    "dynamic_update_slice": (lambda x, i: lax.dynamic_update_slice(x, x[:2], (i,)), 3),
    "dynamic_update_index": (lambda x, i: lax.dynamic_update_index_in_dim(x, 1.0, i, 0), 4),
    "dynamic_update_in_dim": (lambda x, i: lax.dynamic_update_slice_in_dim(x, x[:4], i, 0), 1),
    "gather": (lambda x, i: lax.gather(x, i[None, None], ROWS, (1,)), 4),
    "gather windows": (lambda x, i: lax.gather(x, i[None, None], PAIRS, (2,)), 3),
    **{
        scatter.__name__: (lambda x, i, f=scatter: f(x, i[None, None], x[:1], INTO), 4)
        for scatter in (
            *(lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul),
            *(lax.scatter_min, lax.scatter_max),
        )
    },
    "scatter_apply": (
        lambda x, i: lax.scatter_apply(x, i[None, None], jnp.sin, INTO, update_shape=(1,)),
        4,
    ),
}


def refuses(call: Callable[[], Any]) -> OutOfBoundsError:
    with raises(OutOfBoundsError, match=r"is out of bounds for axis \d of size 5") as caught:
        call()
    return caught.value


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_indexes(name: str) -> None:
    fun, last = FUNCTIONS[name]
    good, bad = jnp.array(last), jnp.array(last + 1)
    mapped = tj.vmap(fun, in_axes=(None, 0))
    for call in (fun, tj.jit(fun), tj.jit(fun, tier="first"), tj.jit(partial(fun))):
        call(X, good)
        error = refuses(partial(call, X, bad))
        assert (error.size, error.examples) == (5, ())
        assert error.index in (last + 1, -last - 1, last - 4)  # as it was given
        assert error.location is not None
        assert error.location.filename == __file__
    for call in (mapped, tj.jit(mapped)):
        call(X, jnp.stack([good, good]))
        assert refuses(partial(call, X, jnp.stack([good, bad]))).examples == (1,)


#: Functions of an array and of an index that say what becomes of one out of bounds, or never read
#: there.
LEFT_ALONE: Final[dict[str, Function]] = {
    "get clip": lambda x, i: x.at[i].get(mode="clip"),
    "get fill": lambda x, i: x.at[i].get(mode="fill"),
    "get fill_value": lambda x, i: x.at[i].get(fill_value=0.0),
    "set drop": lambda x, i: x.at[i].set(1.0, mode="drop"),
    "apply drop": lambda x, i: x.at[i].apply(jnp.sin, mode="drop"),
    "add clip": lambda x, i: x.at[i].add(1.0, mode="clip"),
    "take clip": lambda x, i: jnp.take(x, i, mode="clip"),
    "take wrap": lambda x, i: jnp.take(x, i, mode="wrap"),
    "take fill": lambda x, i: jnp.take(x, i, fill_value=0.0),
    "take_along_axis": lambda x, i: jnp.take_along_axis(x, i[None], 0, mode="fill"),
    "put wrap": lambda x, i: jnp.put(x, i, 1.0, mode="wrap", inplace=False),
    "choose": lambda x, i: jnp.choose(i, [x, x], mode="clip"),
    "gather": lambda x, i: lax.gather(x, i[None, None], ROWS, (1,), mode="fill"),
    "scatter": lambda x, i: lax.scatter(x, i[None, None], x[:1], INTO, mode="drop"),
    "index_take": lambda x, i: lax.index_take(x, (i[None],), (0,)),
    "segment_sum": lambda x, i: tj.ops.segment_sum(x, jnp.full(5, i), 3),
    "roll": jnp.roll,
    "one_hot": lambda x, i: tj.nn.one_hot(i, 3),
    "bincount": lambda x, i: jnp.bincount(i[None], length=3),
    "map_coordinates": lambda x, i: tj.scipy.ndimage.map_coordinates(x, [i[None]], 1),
    "cond": lambda x, i: lax.cond(i < 5, lambda: x[i], lambda: 0.0),
    "while": lambda x, i: lax.fori_loop(i, 5, lambda j, total: total + x[j], 0.0),
    "mask": lambda x, i: x.at[x > i].set(0.0),
    "slice": lambda x, i: x[3:9],
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_said_to_be_meant_is_left_alone(name: str) -> None:
    fun = LEFT_ALONE[name]
    with tj.debug_bounds(False):
        expected = fun(X, jnp.array(7))
    mapped = tj.vmap(fun, in_axes=(None, 0))
    np.testing.assert_array_equal(fun(X, jnp.array(7)), expected)
    np.testing.assert_array_equal(tj.jit(fun)(X, jnp.array(7)), expected)
    np.testing.assert_array_equal(mapped(X, jnp.array([2, 7]))[1], expected)


def summed(x: Any, n: Any) -> Any:
    return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + x[c[0]] ** 2), (0, 0.0))[
        1
    ]


def scanned(x: Any, i: Any) -> Any:
    start: Any = 1.0
    return lax.scan(lambda c, j: (jnp.sin(c) * x[j], None), start, jnp.stack([i, i - 1]))[0]


def chosen(x: Any, i: Any) -> Any:
    return lax.switch(i % 2, [lambda: x[i] ** 2, lambda: 0.0])


@partial(tj.custom_vjp, nondiff_argnums=(1,))
def ruled(x: Any, i: Any) -> Any:
    return x[0]


ruled.defvjp(lambda x, i: (x[0], x), lambda i, x, ct: (jnp.zeros(5).at[i].add(ct),))

#: Functions of five numbers and of an index, whose last one in bounds is given.
COMPOSED: Final[dict[str, tuple[Function, int]]] = {
    "while": (summed, 5),
    "grad of while": (tj.grad(summed), 5),
    "scan": (scanned, 4),
    "grad of scan": (tj.grad(scanned), 4),
    "hessian of scan": (tj.hessian(scanned), 4),
    "checkpointed": (tj.grad(tj.checkpoint(scanned)), 4),
    "map": (lambda x, i: lax.map(partial(getitem, x), i[None]), 4),
    "switch": (lambda x, i: chosen(x, i - i % 2), 5),
    "jvp": (lambda x, i: tj.jvp(lambda x: jnp.sin(x)[i], (x,), (x,)), 4),
    "linearize": (lambda x, i: tj.linearize(lambda x: jnp.sin(x)[i], x)[1](x), 4),
    "jacobians": (lambda x, i: tj.jacfwd(tj.jacrev(lambda x: x[i] ** 3))(x), 4),
    "backward rule": (tj.grad(ruled), 4),
    "vmap of vmap": (
        lambda x, i: tj.vmap(tj.vmap(getitem, in_axes=(None, 0)), in_axes=(None, 1))(
            x, jnp.full((2, 3), i)
        ),
        4,
    ),
    "from source": (
        tj.jit(lambda x, i: x[i] if i > 2 else x[0], control_flow="source"),
        4,
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMPOSED)
def test_within_transformations(name: str) -> None:
    fun, last = COMPOSED[name]
    mapped = tj.vmap(fun, in_axes=(None, 0))
    for call in (fun, tj.jit(fun), tj.jit(fun, tier="first")):
        with tj.debug_bounds(False):
            expected = fun(X, jnp.array(last))
        for got, wanted in zip(
            tj.tree.leaves(call(X, jnp.array(last))), tj.tree.leaves(expected), strict=True
        ):
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        refuses(partial(call, X, jnp.array(last + 2)))
    if name != "from source":
        for call in (mapped, tj.jit(mapped)):
            call(X, jnp.array([last - 2, last]))
            assert refuses(partial(call, X, jnp.array([last, last + 2]))).examples[0] == 1


def test_only_examples_that_go_there_are_looked_at() -> None:
    def read(x: Any, i: Any) -> Any:
        return lax.cond(i < 7, lambda: x[i], lambda: 0.0)

    for call in (tj.vmap(read, (None, 0)), tj.jit(tj.vmap(read, (None, 0)))):
        np.testing.assert_array_equal(call(X, jnp.array([1, 9])), [2.0, 0.0])
        assert refuses(partial(call, X, jnp.array([1, 9, 6]))).examples == (2,)
    for loop in (tj.vmap(summed, (None, 0)), tj.jit(tj.vmap(summed, (None, 0)))):
        np.testing.assert_array_equal(loop(X, jnp.array([1, 5])), [1.0, 55.0])


@pytest.mark.parametrize("index", [5, -6, 2**40, np.int8(7), np.array([2, 9]), [0, -7]])
def test_indices_that_are_known(index: Any) -> None:
    for call in (lambda x: x[(index,)], lambda x: x.at[(index,)].set(0.0)):
        refuses(partial(call, X))
        refuses(partial(tj.jit(call), X))


def test_the_error_says_where() -> None:
    def read(x: Any, i: Any) -> Any:
        return x[1, i]

    error = refuses(partial(tj.jit(read), jnp.outer(X[:2], X), jnp.array([[0, 1], [-6, 2]])))
    assert str(error).startswith("index -6 is out of bounds for axis 1 of size 5, at (1, 0) of the")
    assert "return x[1, i]" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert (again.index, again.axis, again.size, again.message) == (-6, 1, 5, error.message)


def test_without_the_setting_programs_are_as_ever() -> None:
    with tj.debug_bounds(False):
        before = tj.make_jaxpr(getitem)(X, 1)
        assert "error_if" not in str(before)
    assert "error_if" in str(tj.make_jaxpr(getitem)(X, 1))
    assert X[2] == 3  # what is known to be in bounds needs no look
    known = jnp.array([0, 4])
    assert "error_if" not in str(tj.make_jaxpr(lambda x: x[known])(X))
    with raises(ExportError, match="error_if"):
        tj.export.export(tj.jit(getitem))(X, 1)


def squares(x: Any, i: Any) -> Any:
    return x[i] ** 2


#: Transformations that are handed a function that indexes, of an array and of an index.
HANDED_OVER: Final[dict[str, Function]] = {
    "grad": tj.grad(jnp.take),
    "jacfwd": tj.jacfwd(jnp.take),
    "hessian": tj.hessian(jnp.take),
    "vjp": lambda x, i: tj.vjp(partial(jnp.take, indices=i), x)[0],
    "linearize": lambda x, i: tj.linearize(partial(jnp.take, indices=i), x)[0],
    "checkpoint": tj.grad(tj.checkpoint(jnp.take)),
    "cond": lambda x, i: lax.cond(i > 0, jnp.take, jnp.take, x, i),
    "map": lambda x, i: lax.map(x.__getitem__, jnp.stack([i, i])),
    "tree.map": lambda x, i: tj.tree.map(x.__getitem__, [i, i]),
    "vectorize": lambda x, i: jnp.vectorize(x.__getitem__)(jnp.stack([i, i])),
    "apply_along_axis": lambda x, i: jnp.apply_along_axis(partial(jnp.take, indices=i), 0, x),
    "NumPy's": tj.jit(np.take),
    "source": tj.source.grad(jnp.take),
    "source of a program": tj.source.grad(squares),
}


@pytest.mark.parametrize("name", HANDED_OVER)
def test_a_function_that_is_handed_over_indexes_for_the_user(name: str) -> None:
    fun = HANDED_OVER[name]
    fun(X, jnp.array(4))
    refuses(partial(fun, X, jnp.array(5)))


def test_what_the_library_indexes_itself_is_left_alone() -> None:
    functions: list[Function] = [jnp.sort, jnp.median, jnp.unwrap, jnp.linalg.det]
    for fun in functions:
        assert "error_if" not in str(tj.make_jaxpr(fun)(jnp.outer(X, X))), fun
