"""Arrays beside other classes of arrays: NumPy's result, the other class's own, or an error."""

import copy
import itertools
import tempfile
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pandas as pd
import pytest

import tinyjax.numpy as jnp
from raising import raises
from tinyjax import core, grad, jit, jvp, source, vmap
from tinyjax._library.laplacians import trace
from tinyjax.autodiff import taylor
from tinyjax.core.values.array import Array, has_own_semantics
from tinyjax.errors import ArgumentError

X = np.array([[2.0, 3.0], [4.0, 5.0]])


class Quantity(np.ndarray):
    """Data with a unit, which operators and functions of NumPy's keep."""

    unit = "km"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        options.pop("out", None)
        data = [1000 * np.asarray(getattr(x, "value", x)) for x in inputs]
        return getattr(ufunc, method)(*data, **options).view(Quantity)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        def data(x: Any) -> Any:
            return [data(y) for y in x] if isinstance(x, list) else np.asarray(x)

        return func(*[data(getattr(x, "value", x)) for x in args])


class Doubled(np.ndarray):
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        options.pop("out", None)
        return 2 * getattr(ufunc, method)(*[np.asarray(x) for x in inputs], **options)


class Functions(np.ndarray):
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return -1.0


class Product(np.ndarray):
    def __mul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 10

    __rmul__ = __mul__


class Reflected(np.ndarray):
    def __rmul__(self, other: Any) -> Any:
        return np.asarray(self) * other * 10


class Equal(np.ndarray):
    __hash__ = np.ndarray.__hash__

    def __eq__(self, other: Any) -> Any:
        return "equal"


class Alone(np.ndarray):
    __array_ufunc__: Any = None

    def __radd__(self, other: Any) -> Any:
        return "added"


class Total(np.ndarray):
    def sum(self, *args: Any, **options: Any) -> Any:
        return 7.0


class Periodic(np.ndarray):
    def __getitem__(self, index: Any) -> Any:
        return np.asarray(self)[index % 2]


class Labelled(np.ndarray):
    """Data with an attribute, which computes as data does."""

    def __array_finalize__(self, array: Any) -> None:
        self.label = getattr(array, "label", "none")


class Duck:
    """No array, with data that NumPy finds."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return X + 1


class Metres(float):
    __array_ufunc__ = None

    def __rmul__(self, other: Any) -> Any:
        return other * 1000.0

    __radd__ = __rsub__ = __rmul__


def memory_map() -> Any:
    with tempfile.TemporaryFile() as file:
        data = np.memmap(file, float, "w+", shape=(2, 2))
    data[...] = X + 1
    return data


OWN: dict[str, Any] = {
    kind.__name__: (X + 1).view(kind)
    for kind in (
        Quantity, Doubled, Functions, Product, Reflected, Equal, Alone, Total, Periodic, np.matrix
    )
}  # fmt: skip
OWN["masked"] = np.ma.array(X + 1, mask=X % 2 > 0)
OWN["Metres"] = Metres(3.0)
PLAIN: dict[str, Any] = {
    "Labelled": (X + 1).view(Labelled),
    "recarray": (X + 1).view(np.recarray),
    "memmap": memory_map(),
}
PLAIN["Labelled"].label = "a"
OTHERS: dict[str, Any] = {
    "Duck": Duck(),
    "Series": pd.Series([1.0, 2.0], index=[1, 0]),
    "DataFrame": pd.DataFrame(X, index=[1, 0]),
}
EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "x * q": lambda x, q: x * q,
    "q * x": lambda x, q: q * x,
    "x + q": lambda x, q: x + q,
    "q + x": lambda x, q: q + x,
    "q - x": lambda x, q: q - x,
    "x / q": lambda x, q: x / q,
    "x // q": lambda x, q: x // q,
    "divmod": lambda x, q: divmod(x, q)[1],
    "x ** q": lambda x, q: x**q,
    "x @ q": lambda x, q: x @ q,
    "q @ x": lambda x, q: q @ x,
    "x == q": lambda x, q: x == q,
    "q == x": lambda x, q: q == x,
    "x != q": lambda x, q: x != q,
    "x < q": lambda x, q: x < q,
    "np.multiply": np.multiply,
    "np.add": lambda x, q: np.add(q, x),
    "np.arctan2": np.arctan2,
    "np.add.outer": np.add.outer,
    "np.dot": lambda x, q: np.dot(q, x),
    "np.where": lambda x, q: np.where(X > 3, x, q),
    "np.concatenate": lambda x, q: np.concatenate([x, q]),
    "np.stack": lambda x, q: np.stack([q, x]),
    "np.sum of both": lambda x, q: np.sum(x * q),
    "np.mean of both": lambda x, q: np.mean(q + x, axis=0),
    "np.average": lambda x, q: np.average(x, weights=q),
    "np.clip": lambda x, q: np.clip(x, q, None),
    "np.interp": lambda x, q: np.interp(x[0], q[0], q[1]),
    "np.einsum": lambda x, q: np.einsum("ij,jk", x, q),
    "np.linalg.solve": lambda x, q: np.linalg.solve(q, x),
    "in place": lambda x, q: added_in_place(q, x),
    "the result": lambda x, q: q,
}


def added_in_place(q: Any, x: Any) -> Any:
    q = copy.copy(q)
    q += x
    return q


def summed(result: Any) -> Any:
    """Return the data of a result of NumPy's, without what is masked."""
    return np.asarray(np.ma.filled(result, 0.0))


REFUSED = (
    TypeError, ValueError, AttributeError, IndexError, NotImplementedError, ZeroDivisionError
)  # fmt: skip
TRACED: dict[str, Callable[[Any], Any]] = {
    "jit": lambda f: jit(f)(X),
    "jvp": lambda f: jvp(f, (X,), (X,))[0],
    "vmap": lambda f: vmap(f)(np.stack([X, X]))[0],
    "vmap of jit": lambda f: vmap(jit(f))(np.stack([X, X]))[1],
    "concrete": lambda f: f(jnp.asarray(X)),
}


@pytest.mark.wrong_types
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("traced", TRACED)
@pytest.mark.parametrize("other", [*OWN, *PLAIN, *OTHERS])
def test_nothing_is_lost_in_silence(other: str, traced: str) -> None:
    q = {**OWN, **PLAIN, **OTHERS}[other]
    right = 0
    for name, expression in EXPRESSIONS.items():
        try:
            expected = expression(X, q)
        except REFUSED:
            continue  # nothing that NumPy has
        try:
            actual = TRACED[traced](lambda x, e=expression: e(x, q))
        except REFUSED:
            continue
        right += 1
        if isinstance(expected, str | bool):
            assert actual == expected, name
            continue
        if isinstance(actual, Array):
            assert not has_own_semantics(type(expected)), name
            assert not isinstance(expected, pd.Series | pd.DataFrame), name
        else:
            assert type(actual) is type(expected), name
        np.testing.assert_allclose(summed(actual), summed(expected), 1e-12, err_msg=name)
    if other in PLAIN:
        assert right > 25


@pytest.mark.parametrize("other", OWN)
@pytest.mark.parametrize("transformation", [jit, grad, vmap])
def test_an_argument_of_another_class_is_refused(transformation: Any, other: str) -> None:
    q = OWN[other]
    with raises(ArgumentError, match="lost"):
        transformation(jnp.sum)(q)
    with raises(ArgumentError, match="lost"):
        jnp.sin(q)
    if other != "matrix":
        with raises(ArgumentError, match="lost"):
            jnp.asarray(q)


def test_data_of_plain_subclasses_and_of_matrices() -> None:
    for q in PLAIN.values():
        np.testing.assert_array_equal(jit(lambda x: x + x)(q), 2 * np.asarray(q))
    np.testing.assert_array_equal(jnp.asarray(X.view(np.matrix)), jnp.asarray(X))


#: Of these ``tinyjax.source`` has rules that are written by hand.
SOURCE = {
    "np.matmul": np.matmul,
    "np.outer": lambda x, q: np.outer(q, x),
    "np.copysign": np.copysign,
    "np.linalg.norm": lambda x, q: np.linalg.norm(x - q),
    "q.dot": lambda x, q: q.dot(x),
    "-(x * q)": lambda x, q: -(x * q),
    "q[0]": lambda x, q: q[0] * x,
    **{
        name: EXPRESSIONS[name]
        for name in ("x * q", "q + x", "x ** q", "q @ x", "np.multiply", "np.dot", "np.sum of both")
    },
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("other", [*OWN, *PLAIN])
def test_source_loses_nothing_in_silence(other: str) -> None:
    q = {**OWN, **PLAIN}[other]
    right = 0
    for name, expression in SOURCE.items():

        def f(x: Any, expression: Any = expression) -> Any:
            return np.sum(expression(x, q)) * 1.0

        try:
            steps = 1e-6 * np.eye(4).reshape(4, 2, 2)
            expected = [(float(f(X + h)) - float(f(X - h))) / 2e-6 for h in steps]
        except REFUSED:
            continue
        try:
            actual = source.grad(f)(X)
        except REFUSED:
            continue
        right += 1
        if np.isfinite(f(X)):  # differences of infinities say nothing
            np.testing.assert_allclose(np.ravel(actual), expected, 1e-4, 1e-5, err_msg=name)
    if other in PLAIN:
        assert right >= len(SOURCE) - 2  # beside arrays that change, 0-d ones are refused


#: What tracers have beside the attributes of NumPy's and JAX's arrays. Another library takes an
#: object with a ``value``, ``unit``, ``mask``, ``data``, ``name`` and the like for one of its own.
EXTRA = {
    "Tracer": "advise components data_of describe_origin describe_trace named_data origin_traces",
    "StagingTracer": "binder line origins",
    "BatchTracer": "axis val",
    "JVPTracer": "primal tangent",
    "SeriesTracer": "derivative term terms",
    "LaplacianTracer": "primal rows",
    "WitnessTracer": "decided guards staged",
    "ShadowTracer": "born examples loops operands params parts place primitive source value",
}


def classes(kind: type) -> list[type]:
    return [kind, *itertools.chain(*map(classes, kind.__subclasses__()))]


def test_tracers_have_no_attributes_of_other_libraries() -> None:
    assert {taylor.SeriesTracer, trace.LaplacianTracer} < set(classes(core.Tracer))
    known = {*dir(np.ndarray), *dir(jax.Array), *dir(Array)}
    for kind in classes(core.Tracer):
        if kind.__module__.startswith("tinyjax."):
            names = " ".join(EXTRA[x.__name__] for x in kind.__mro__ if x.__name__ in EXTRA)
            assert {x for x in dir(kind) if x[0] != "_"} - known == set(names.split())
