"""Data of NumPy's is read whole, whatever its layout and however often, and is nobody else's."""

from collections.abc import Callable
from math import gcd
from typing import Any, Final, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import config, dtypes, export, jit, lax, vmap
from tinyjax.dtypes import DType, HostArray

#: Every dtype that arrays can have, but for keys.
DTYPES: Final = (*dtypes.ALL, *dtypes.STORED)


class Given(NamedTuple):
    """An array to be given to a function, and the memory that it is a view of."""

    array: HostArray
    memory: HostArray


def every_second(shape: tuple[int, ...], dtype: DType) -> Given:
    memory = np.zeros([2 * n + 1 for n in shape], dtype)
    return Given(memory[tuple([slice(1, None, 2)] * len(shape))], memory)


def one_byte_off(shape: tuple[int, ...], dtype: DType) -> Given:
    data = np.zeros(int(np.prod(shape)) * dtype.itemsize + 1, np.uint8)
    array = data[1:].view(dtype).reshape(shape)
    return Given(array, array)


def lines_of_cache(shape: tuple[int, ...], dtype: DType) -> Given:
    """As XLA wants memory that it reads without a copy."""
    data = np.zeros(int(np.prod(shape)) * dtype.itemsize + 64, np.uint8)
    start = -data.ctypes.data % 64
    array = data[start : len(data) - 64 + start].view(dtype).reshape(shape)
    return Given(array, array)


def a_field(shape: tuple[int, ...], dtype: DType) -> Given:
    memory = np.zeros(shape, [("before", "i1"), ("here", dtype)])["here"]
    return Given(memory, memory)


def read_only(shape: tuple[int, ...], dtype: DType) -> Given:
    memory = np.zeros(shape, dtype)
    array = memory.view()
    array.flags.writeable = False
    return Given(array, memory)


def overlapping(shape: tuple[int, ...], dtype: DType) -> Given:
    memory = np.zeros(sum(shape) + 1, dtype)
    step = (dtype.itemsize,) * len(shape)
    return Given(np.ndarray(shape, dtype, memory.view(np.uint8), 0, step), memory)


def viewed(array: HostArray, view: Callable[[HostArray], HostArray] = lambda a: a) -> Given:
    return Given(view(array), array)


#: Arrays of a shape and a dtype, by how they lie in memory.
LAYOUTS: Final[dict[str, Callable[[tuple[int, ...], DType], Given]]] = {
    "in order": lambda s, d: viewed(np.zeros(s, d)),
    "in Fortran's order": lambda s, d: viewed(np.zeros(s, d, order="F")),
    "transposed": lambda s, d: viewed(np.zeros(s[::-1], d), np.transpose),
    "turned round": lambda s, d: viewed(
        np.zeros(s, d), lambda a: a[(slice(None, None, -1),) * a.ndim]
    ),
    "every second": every_second,
    "one number everywhere": lambda s, d: viewed(np.zeros((), d), lambda a: np.broadcast_to(a, s)),
    "equal rows": lambda s, d: viewed(np.zeros(s[1:], d), lambda a: np.broadcast_to(a, s)),
    "one byte off": one_byte_off,
    "in lines of the cache": lines_of_cache,
    "a field of records": a_field,
    "read-only": read_only,
    "overlapping": overlapping,
}


def reverse(x: Any) -> Any:
    """Bits that are moved, and no arithmetic."""
    return jnp.ravel(x)[::-1]


def reverse_late(x: Any) -> Any:
    """The same, after the call has returned."""
    number = lax.fori_loop(0, 5000, lambda i, y: jnp.sin(y) + 1.0, jnp.float32(1.0))
    return lax.cond(number < 3.0, reverse, lambda x: jnp.zeros(x.size, x.dtype), x)


def of_a_type(x: HostArray) -> Any:
    return tinyjax.ShapeDtypeStruct(x.shape, dtypes.allowed(x.dtype))


def through_export(x: HostArray) -> Any:
    return export.deserialize(export.export(jit(reverse))(of_a_type(x)).serialize()).call(x)


def from_callback(x: HostArray) -> Any:
    narrow = x.dtype if dtypes.allowed(x.dtype) == x.dtype else dtypes.allowed(x.dtype)
    data = x if narrow == x.dtype else x.astype(narrow)
    return tinyjax.pure_callback(lambda: data, of_a_type(x))


def few_rows(x: HostArray) -> Any:
    """Divide an array into a hundred rows at most.

    XLA converts stacked results of narrow floats as a whole in each step of a loop.
    """
    return jnp.ravel(x).reshape(gcd(max(x.size, 1), 100), -1)


compiled = jit(reverse, tier="compiled")
evaluated = jit(reverse, tier="first")
beside = jit(lambda tree, number: (reverse(tree["x"]), number), tier="compiled")
late = jit(reverse_late, tier="compiled")
beside_itself = jit(lambda x: (x, reverse(x), jnp.ravel(x)[:1]), tier="compiled")
donating = jit(reverse, donate_argnums=0, tier="compiled")
twice = jit(lambda x, y: (reverse(x), reverse(y)), tier="compiled")

#: Ways in, of which each returns the elements in the opposite order.
WAYS: Final[dict[str, Callable[[HostArray], Any]]] = {
    "eager": reverse,
    "compiled": compiled,
    "evaluated": evaluated,
    "in a tree": lambda x: beside({"x": x}, 2.5)[0],
    "twice": lambda x: twice(x, x)[1],
    "beside a view": lambda x: twice(x[:0], x)[1] if x.ndim else twice(x, x)[0],
    "late": late,
    "beside itself": lambda x: beside_itself(x)[1],
    "passed through": lambda x: jnp.ravel(beside_itself(x)[0])[::-1],
    "donated": donating,
    "put, then donated": lambda x: donating(tinyjax.device_put(x)),
    "put on the second device": lambda x: reverse(tinyjax.device_put(x, tinyjax.devices()[1])),
    "as an array": lambda x: compiled(jnp.asarray(x)),
    "in a list": lambda x: jnp.array([x])[0].ravel()[::-1],
    "mapped": lambda x: vmap(lambda row: row)(jnp.ravel(x))[::-1],
    "closed over": lambda x: jit(lambda: reverse(x))(),
    "scanned": lambda x: lax.scan(lambda c, row: (c, row), 0, few_rows(x))[1].ravel()[::-1],
    "from a callback": lambda x: reverse(from_callback(x)),
    "from a compiled callback": lambda x: jit(lambda: reverse(from_callback(x)))(),
    "exported": through_export,
    "compiled ahead": lambda x: jit(reverse).lower(of_a_type(x)).compile()(x),
}
#: Those that keep a way for later calls, which are made a hundred times.
REPEATED: Final = (
    *("compiled", "evaluated", "in a tree", "twice", "beside a view", "late", "beside itself"),
    *("passed through", "donated"),
)


def fill(memory: HostArray, seed: int) -> None:
    """Write numbers, others for each seed."""
    most = 2 if memory.dtype in dtypes.STORED else 64
    real, imaginary = np.random.default_rng(seed).integers(-most, most, (2, *memory.shape))
    numbers = real + 1j * imaginary if memory.dtype.kind == "c" else real
    memory[...] = numbers.astype(memory.dtype)


def plain(x: Any) -> HostArray:
    """The elements in a dtype that holds them all: of 4 bits, the other bits are left open."""
    host = np.asarray(x)
    return host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)


class Case(NamedTuple):
    """A way in, and what is given."""

    way: str
    layout: str
    dtype: DType
    shape: tuple[int, ...]
    wide: bool
    seed: int


SHAPES: Final = st.one_of(
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
    st.sampled_from([(8192,), (4099,), (65, 129), (140_000,), (3_000_000,)]),
)
CASES: Final = st.builds(
    Case,
    st.sampled_from([*WAYS]),
    st.sampled_from([*LAYOUTS]),
    st.sampled_from(DTYPES),
    SHAPES,
    st.booleans(),
    st.integers(0, 2**16),
)


def check(case: Case) -> None:
    array, memory = LAYOUTS[case.layout](case.shape, case.dtype)
    way = WAYS[case.way]
    calls = 3
    if case.way in REPEATED:
        calls = 100 if array.size < 100 else 40 if array.size < 100_000 else 5
    under_way: list[Any] = []
    with config.scoped(wide_dtypes=case.wide):
        for i in range(calls):
            fill(memory, case.seed + i)
            under_way.append(way(array))
        fill(memory, case.seed + calls)  # what was given is read
        for i, result in enumerate(under_way):
            fill(memory, case.seed + i)
            expected = plain(array.astype(dtypes.allowed(array.dtype))).ravel()[::-1]
            assert result.dtype == dtypes.allowed(case.dtype)
            np.testing.assert_array_equal(plain(result), expected, err_msg=f"call {i}: {case}")


@settings(max_examples=15)
@given(CASES)
def test_data_is_read_whole(case: Case) -> None:
    check(case)


@pytest.mark.fuzz
@given(CASES)
def test_data_is_read_whole_at_length(case: Case) -> None:
    check(case)
    forget_sometimes()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("way", ["compiled", "in a tree"])
def test_data_of_every_dtype_is_read_in_every_call(way: str, dtype: DType) -> None:
    check(Case(way, "in order", dtype, (6,), wide=True, seed=0))
