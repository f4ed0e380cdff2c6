"""Arrays are NumPy's neighbours: NumPy's functions on them, and the methods of jax.Array."""

import copy
import ctypes
import inspect
import operator
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import jax
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import dtypes
from tinyjax.errors import (
    ArgumentError,
    ConcretizationError,
    DifferentiationError,
    IndexingError,
)

DATA = {
    "floats": np.array([[3.5, -1.0, 2.0], [0.0, 7.25, -4.0]], np.float32),
    "integers": np.array([[3, 1, 2], [0, 7, 4]], np.int32),
    "bools": np.array([[True, False, True], [False, False, True]]),
    "complex": np.array([[1 + 2j, 0, -1j], [3, 2 - 1j, 1j]], np.complex64),
}
LINE = np.array([1, 2, 2, 5, 9], np.int32)
MASK = np.array([[True, False, True], [True, True, False]])

Call = Callable[[Any], Any]

REDUCTIONS = ["sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "ptp"]
OF_NUMPY: dict[str, Call] = {
    **{name: partial(getattr(np, name)) for name in REDUCTIONS},
    **{f"{name} of rows": partial(getattr(np, name), axis=1, keepdims=True) for name in REDUCTIONS},
    **{
        f"{name} where": partial(getattr(np, name), axis=0, where=MASK)
        for name in ("sum", "prod", "mean", "any", "all")
    },
    "sum from": lambda x: np.sum(x, initial=2),
    "max from": lambda x: np.max(x, axis=1, initial=2, where=MASK),
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmin": lambda x: np.argmin(x, keepdims=True),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "cumprod": np.cumprod,
    "sort": lambda x: np.sort(x, axis=0),
    "argsort": lambda x: np.argsort(x, axis=1, stable=True),
    "round": lambda x: np.round(x, 1),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "reshape by columns": lambda x: np.reshape(x, (3, 2), order="F"),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "transpose axes": lambda x: np.transpose(x, (1, 0)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "squeeze": lambda x: np.squeeze(x[None]),
    "repeat": lambda x: np.repeat(x, 2, axis=1),
    "take": lambda x: np.take(x, [2, 0], axis=1),
    "clip": lambda x: np.clip(x, 0, 2),
    "trace": np.trace,
    "diagonal": np.diagonal,
    "nonzero": np.nonzero,
    "compress": lambda x: np.compress([True, False], x, axis=0),
    "dot": lambda x: np.dot(x, x.T),
    "searchsorted": lambda x: np.searchsorted(np.sort(np.ravel(x)), 2),
    "sin": np.sin,
    "add": lambda x: np.add(x, x),
    "concatenate": lambda x: np.concatenate([x, x]),
    "stack": lambda x: np.stack([x, x]),
    "where": lambda x: np.where(MASK, x, 0),
    "isfinite": np.isfinite,
    "allclose": lambda x: np.allclose(x, x),
    "shape": np.shape,
    "ndim": np.ndim,
    "size": np.size,
    "array": np.array,
    "asarray": lambda x: np.asarray(x, dtype=np.complex64),
    "copy": np.copy,
    "linalg.norm": np.linalg.norm,
    "einsum": lambda x: np.einsum("ij->j", x),
    "fft": np.fft.fft,
}

OF_ARRAYS: dict[str, Call] = {
    "all": lambda x: x.all(0, None, True, where=MASK),
    "any": lambda x: x.any(axis=1, out=None, keepdims=True),
    "argmax": lambda x: x.argmax(1, None, True),
    "argpartition": lambda x: x[0].argpartition(1)[1],
    "argsort": lambda x: x.argsort(axis=0, descending=True, stable=True, kind=None, order=None),
    "sort": lambda x: x.sort(descending=True, stable=False),
    "astype": lambda x: x.astype("complex64", copy=True),
    "byteswap": lambda x: x.byteswap().view("uint8"),
    "choose": lambda x: x.astype("int32").choose([x + 1, x], mode="clip"),
    "clip": lambda x: x.clip(max=2),
    "compress": lambda x: x.compress(np.array([True, False, True]), axis=1, size=3, fill_value=1),
    "conjugate": lambda x: x.conjugate() + x.conj(),
    "copy": lambda x: x.copy(),
    "cumsum": lambda x: x.cumsum(1, "float32", None),
    "cumprod": lambda x: x.cumprod(axis=0, out=None),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T, precision="highest", preferred_element_type=None),
    "flatten": lambda x: x.flatten("F"),
    "item": lambda x: [x.item(1), x.item(1, 2), x[0, 0].item()],
    "max": lambda x: x.max(1, None, True, 1, MASK),
    "mean": lambda x: x.mean(1, None, None, True, where=MASK),
    "min": lambda x: x.min(axis=0, initial=2),
    "nonzero": lambda x: x.nonzero(size=4, fill_value=9),
    "prod": lambda x: x.prod(0, None, None, False, 2, MASK, False),
    "ptp": lambda x: x.ptp(1, keepdims=True),
    "ravel": lambda x: x.ravel(order="C"),
    "repeat": lambda x: x.repeat(np.array([1, 0, 2]), axis=1, total_repeat_length=4),
    "reshape": lambda x: x.reshape(3, 2, order="F"),
    "reshape a tuple": lambda x: x.reshape((3, -1)),
    "round": lambda x: x.round(decimals=1, out=None),
    "searchsorted": lambda x: x[0].sort().searchsorted(x[1], side="right", method="scan"),
    "std": lambda x: x.std(0, ddof=1),
    "sum": lambda x: x.sum(1, "complex64", None, True, None, MASK, True),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take(np.array([0, 7]), 1, mode="fill", fill_value=3),
    "tobytes": lambda x: np.frombuffer(x.tobytes(), "uint8"),
    "tolist": lambda x: x.tolist(),
    "trace": lambda x: x.trace(1, 0, 1, None, None),
    "transpose": lambda x: x.transpose(None) + x.transpose() + x.transpose(1, 0),
    "var": lambda x: x.var(None, None, None, 0, True, where=MASK, correction=1),
    "view": lambda x: x.view("uint8"),
    "view complex": lambda x: x.astype("complex64").view("float32"),
    "view as complex": lambda x: x.astype("float32").repeat(2, 1).view("complex64"),
    "view narrow": lambda x: x.astype("float32").view("int16"),
    "view wide": lambda x: x.astype("int16").repeat(2, 1).view("float32"),
    "view bools": lambda x: (x.astype("uint8") % 2).view("bool"),
    "contains": lambda x: [2 in x[0], 99 in x[0]],
    "divmod": lambda x: divmod(5, x + 8),
    "to_device": lambda x: x.to_device(x.device),
    "addressable_data": lambda x: x.addressable_data(0),
    "attributes": lambda x: (
        [x.shape, x.ndim, x.size, x.nbytes, x.itemsize, str(x.dtype)],
        [x.is_fully_addressable, x.is_fully_replicated, x.is_deleted()],
    ),
    "parts": lambda x: [x.T, x.mT, x.real, x.imag],
    "block": lambda x: x.block_until_ready(),
    "format": lambda x: f"{x[0, 1]:.2f}" if x.dtype == "float32" else f"{x}",
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": lambda x: [copy.deepcopy(x), copy.copy(x)],
    "iteration": list,
    "namespace": lambda x: x.__array_namespace__().sum(x),
}


def outcome(call: Call, x: Any) -> Any:
    try:
        return call(x)
    except Exception as error:
        return error


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, Exception):
        kinds = (TypeError, ValueError, NotImplementedError)
        assert isinstance(ours, kinds), (ours, theirs)
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            same(a, b)
    elif hasattr(theirs, "dtype"):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


#: What one of the two refuses or warns of, or JAX does otherwise than NumPy.
MORE_THAN_JAX = {
    *((name, "complex") for name in ("all", "argpartition", "choose", "cumsum", "searchsorted")),
    *((f"view {what}", "complex") for what in ("as complex", "narrow", "wide", "bools")),
    *((name, "bools") for name in ("argpartition", "round")),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", OF_NUMPY)
def test_functions_of_numpy(name: str, kind: str) -> None:
    if (name, kind) in MORE_THAN_JAX:
        return
    call, data = OF_NUMPY[name], DATA[kind]
    with np.errstate(all="ignore"):
        ours, theirs = outcome(call, jnp.asarray(data)), outcome(call, jaxnp.asarray(data))
        values = outcome(call, data)
    if isinstance(values, Exception):
        same(ours, theirs)
        return
    for a, value in zip(tinyjax.tree.leaves(ours), tinyjax.tree.leaves(values), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(value), rtol=1e-5, atol=1e-5)
    for a, b in zip(tinyjax.tree.leaves(ours), tinyjax.tree.leaves(theirs), strict=False):
        assert getattr(a, "dtype", None) == getattr(b, "dtype", None)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("name", OF_ARRAYS)
def test_methods(name: str, kind: str) -> None:
    if (name, kind) in MORE_THAN_JAX:
        return
    ours = outcome(OF_ARRAYS[name], jnp.asarray(DATA[kind]))
    same(ours, outcome(OF_ARRAYS[name], jaxnp.asarray(DATA[kind])))


def test_all_methods_and_their_arguments_exist() -> None:
    theirs: Any = jax.Array
    for name in dir(theirs):
        if name.startswith("_"):
            continue
        assert hasattr(tinyjax.Array, name), name
        method, own = getattr(type(jaxnp.ones(1)), name), getattr(tinyjax.Array, name)
        if inspect.isfunction(method) and name not in ("reshape", "transpose"):
            given = {*inspect.signature(method).parameters} - {"self", "out_sharding", "b"}
            assert given <= {*inspect.signature(own).parameters}, name


OPERATORS = (
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow", "matmul"),
    *("and", "or", "xor", "lshift", "rshift"),
)


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_leave_an_operation_to_an_object_that_knows_it(name: str) -> None:
    class Other:
        pass

    setattr(Other, f"__r{name}__", lambda self, x: ("taken", x))
    function: Any = divmod if name == "divmod" else getattr(operator, f"__{name}__")
    x = jnp.arange(3)
    taken, by = function(x, Other())
    assert taken == "taken"
    assert by is x


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge"])
def test_comparisons_leave_an_operation_to_an_object_that_knows_it(name: str) -> None:
    class Other:
        pass

    turned = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}[name]
    setattr(Other, f"__{turned}__", lambda self, x: ("taken", x))
    x = jnp.arange(3)
    assert getattr(operator, name)(x, Other())[0] == "taken"
    with pytest.raises(TypeError):
        getattr(operator, name)(x, object())
    with pytest.raises(TypeError):
        getattr(operator, f"__i{'add' if name == 'lt' else 'xor'}__")(x, object())


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_refuse_what_nobody_knows(name: str) -> None:
    function: Any = divmod if name == "divmod" else getattr(operator, f"__{name}__")
    for operands in ((jnp.arange(3), object()), (object(), jnp.arange(3))):
        with pytest.raises(TypeError):
            function(*operands)


def test_methods_of_tracers() -> None:
    x = jnp.asarray(DATA["floats"])
    for name in ("view", "byteswap", "trace", "diagonal", "compress", "argsort", "sum", "choose"):
        found = tinyjax.jit(OF_ARRAYS[name])(x)
        same(found, OF_ARRAYS[name](x))
    gradient = tinyjax.grad(lambda x: x.trace() + x.diagonal(1).sum() + x.conjugate()[0, 0])(x)
    np.testing.assert_allclose(gradient, [[2, 1, 0], [0, 1, 1]])


def test_devices_of_arrays() -> None:
    x = jnp.ones(3)
    assert x.devices() == {x.device} == {tinyjax.devices()[0]} == x.sharding.device_set
    assert not x.committed
    assert "sum" in dir(x)
    assert x.is_fully_replicated
    assert x.is_fully_addressable
    assert [s.data is x and s.index for s in x.global_shards] == [(slice(None),)]
    assert [s.replica_id for s in x.addressable_shards] == [0]
    x.copy_to_host_async()
    assert [float(v) for v in x.flat] == [1.0, 1.0, 1.0]
    assert x.__array_namespace__(api_version="2023.12") is jnp


def test_the_address_of_an_array_is_that_of_its_elements() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    for array in (x, x.T, tinyjax.jit(lambda x: x * 2)(x)):
        address = array.unsafe_buffer_pointer()
        there = np.ctypeslib.as_array(
            ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), shape=array.shape
        )
        np.testing.assert_array_equal(there, np.asarray(array))
        assert array.unsafe_buffer_pointer() == address
    with raises(ConcretizationError, match="unsafe_buffer_pointer"):
        tinyjax.jit(lambda x: x.unsafe_buffer_pointer())(x)


@pytest.mark.wrong_types
def test_what_methods_refuse() -> None:
    x = jnp.ones(3)
    wrong: Any = "tpu"
    with raises(ArgumentError, match="takes a device"):
        x.to_device(wrong)
    with raises(IndexingError, match="number 1"):
        x.addressable_data(1)
    with raises(ArgumentError, match="version '1999'"):
        x.__array_namespace__(api_version="1999")
    with raises(ArgumentError, match="no type of array"):
        x.view(type=wrong)
    with raises(ValueError, match="whole number of elements of 8 bytes"):
        x.view("float64")


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "<", "<=", ">", ">="])
def test_operators_of_floats_at_hand_are_the_functions(symbol: str) -> None:
    data = np.array([0.0, -0.0, 1.5, -2.0, np.nan, np.inf], np.float32)
    x, y = jnp.asarray(data), jnp.asarray(data[::-1].copy())
    others: list[Any] = [2.0, 0.0, -0.0, 3, True, 1e30, x, y, y[0], y[:, None], jnp.asarray(0.5)]
    operation = eval(f"lambda a, b: a {symbol} b")
    for other in others:
        for a, b in ((x, other), (other, x)):
            compiled = tinyjax.jit(operation)(a, b)
            for _ in range(3):  # the first time is not the quick one
                found = operation(a, b)
                assert found.aval is compiled.aval
                np.testing.assert_array_equal(np.asarray(found), np.asarray(compiled))
                if found.dtype != bool:
                    signs = [np.signbit(np.nan_to_num(v)) for v in (found, compiled)]
                    np.testing.assert_array_equal(*signs)


def test_nothing_is_in_an_array_without_axes() -> None:
    for x in (jnp.array(1), tinyjax.ShapeDtypeStruct((), "int32")):
        with raises(ValueError, match="0-d array"):
            tinyjax.eval_shape(lambda x: 1 in x, x)
    with raises(ArgumentError, match="0-d array"):
        bool(1 in jnp.array(1))
    with raises(TypeError, match="0-d array"):
        iter(jnp.array(1))


def test_arrays_and_traced_values_are_no_records() -> None:
    """Code that takes records apart, a printer or a derivative from source, leaves arrays whole."""
    kinds: set[type] = set()

    def look(x: Any) -> Any:
        kinds.add(type(x))
        return x

    x = jnp.arange(3.0)
    look(x)
    tinyjax.jvp(look, (x,), (x,))
    tinyjax.vmap(look)(x)
    tinyjax.make_jaxpr(look)(x)
    assert len(kinds) == 4
    assert not any(map(attrs.has, kinds))
    with raises(DifferentiationError, match="no derivative"):
        tinyjax.source.grad(lambda x: x.sum())(jnp.arange(3))


def test_buffers_of_every_dtype() -> None:
    """From Python 3.12 on ``memoryview(x)`` calls the method."""
    for dtype in dtypes.ALL:
        x = jnp.array([[0, 1, 1], [1, 0, 1]], dtype)
        shown: Any = np.asarray(x)
        try:
            view = x.__buffer__(0)
        except BufferError as error:  # NumPy has no such type: do as the message says
            advice = str(error).partition("by ")[2].rstrip(".")
            shown = shown.view(f"u{dtype.itemsize}")
            view = eval(advice, {"np": np, "x": x})
        assert view.readonly
        assert bytes(view) == shown.tobytes()
        np.testing.assert_array_equal(np.asarray(view), shown)
    with raises(BufferError, match="it is of keys"):
        tinyjax.random.key(0).__buffer__(0)
