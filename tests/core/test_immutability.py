"""Arrays cannot be written to: not through what they give out, nor through what they were given."""

import copy
import pickle
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.dlpack
import jax.numpy
import ml_dtypes
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, jit, vmap
from tinyjax.dtypes import HostArray

DTYPES: Final = (
    np.float32, np.float64, np.complex64, np.int8, np.uint64, np.bool_, np.float16,
    ml_dtypes.bfloat16, ml_dtypes.float8_e5m2,
)  # fmt: skip

#: Ways to come to an array of shape (3, 2): made of user's data, by evaluation, as a view, as one
#: value repeated, from the device, from memory that another array has, too.
ARRAYS: Final[dict[str, Callable[[Any], Array]]] = {
    "of data": lambda dtype: jnp.asarray(np.arange(6).reshape(3, 2).astype(dtype)),
    "evaluated": lambda dtype: jnp.ones((3, 2), dtype) * jnp.ones((3, 2), dtype),
    "reshaped": lambda dtype: jnp.arange(6).astype(dtype).reshape(3, 2),
    "transposed": lambda dtype: jnp.asarray(np.arange(6).reshape(2, 3).astype(dtype)).T,
    "sliced": lambda dtype: jnp.asarray(np.arange(24).reshape(6, 4).astype(dtype))[::-2, 1:3],
    "repeated": lambda dtype: jnp.zeros((3, 2), dtype),
    "broadcast": lambda dtype: jnp.broadcast_to(jnp.asarray(np.arange(2).astype(dtype)), (3, 2)),
    "compiled": lambda dtype: jit(lambda: jnp.arange(6).reshape(3, 2).astype(dtype))(),
    "passed through": lambda dtype: jit(lambda x: x)(np.arange(6).reshape(3, 2).astype(dtype)),
    "mapped": lambda dtype: vmap(lambda x: x)(
        jnp.asarray(np.arange(6).reshape(3, 2).astype(dtype))
    ),
    "copied": lambda dtype: copy.deepcopy(jnp.arange(6).astype(dtype).reshape(3, 2)),
    "unpickled": lambda dtype: pickle.loads(
        pickle.dumps(jnp.arange(6).astype(dtype).reshape(3, 2))
    ),
}


def received(x: Array) -> Any:
    """Return the arguments of a callback."""
    seen: list[Any] = []

    def see(argument: Any) -> Any:
        seen.append(argument)
        return np.int32(0)

    tinyjax.pure_callback(see, jax.ShapeDtypeStruct((), np.int32), x)
    return seen[0]


def received_compiled(x: Array) -> Any:
    seen: list[Any] = []

    def see(argument: Any) -> Any:
        seen.append(argument)
        return np.int32(0)

    result = jax.ShapeDtypeStruct((), np.int32)
    jit(lambda x: tinyjax.pure_callback(see, result, x))(x).block_until_ready()
    return seen[0]


#: Ways to come to the data.
VIEWS: Final[dict[str, Callable[[Any], Any]]] = {
    "asarray": np.asarray,
    "asarray without a copy": lambda x: np.asarray(x, copy=False),
    "__array__": lambda x: x.__array__(),
    "host": lambda x: x.host,
    "__reduce__": lambda x: x.__reduce__()[1][0],
    "ravel": lambda x: np.asarray(x)[...],
    "memoryview": lambda x: np.asarray(x).view(f"u{x.itemsize}").data,
    "dlpack": np.from_dlpack,
    "numpy of jax's": lambda x: np.asarray(jax.dlpack.from_dlpack(x)),
    "a callback": received,
    "a compiled callback": received_compiled,
}


def openings(view: Any) -> list[HostArray]:
    """Everything that can be reached from a view and might be writable, with all flags tried."""
    arrays: list[HostArray] = []
    while view is not None:
        if isinstance(view, memoryview):
            if not view.readonly:
                arrays.append(np.asarray(view))
            view = view.obj
            continue
        if not isinstance(view, np.ndarray):
            break
        try:
            view.setflags(write=True)
        except ValueError:
            assert not view.flags.writeable
        else:
            arrays.append(view)
        view = view.base
    return arrays


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", VIEWS)
@pytest.mark.parametrize("kind", ARRAYS)
def test_no_array_can_be_written(kind: str, way: str) -> None:
    for dtype in DTYPES:
        if np.dtype(dtype).itemsize not in (1, 2, 4, 8) and way == "memoryview":
            continue
        if way in ("dlpack", "numpy of jax's") and dtype in DTYPES[-2:]:
            continue  # not among the types of DLPack, or of NumPy's
        x = ARRAYS[kind](dtype)
        before = x.tolist()
        view = VIEWS[way](x)
        assert np.asarray(view).shape == (3, 2)
        with pytest.raises((ValueError, TypeError)):
            view[0, 0] = 5
        for opened in openings(view):
            if way == "numpy of jax's":
                continue  # jax's own
            opened[...] = 5
        assert x.tolist() == before, dtype
        # nor has that changed what is computed next
        assert (x + jnp.zeros((3, 2), dtype)).tolist() == before, dtype


@pytest.mark.parametrize("kind", ARRAYS)
def test_numpy_is_given_data_in_order(kind: str) -> None:
    for dtype in DTYPES:
        x = ARRAYS[kind](dtype)
        for view in (np.asarray(x), np.array(x), np.asarray(x, "complex128"), received(x)):
            assert view.flags.c_contiguous
        np.testing.assert_array_equal(
            np.asarray(ARRAYS[kind](dtype)).view(np.uint8),
            np.array(x.tolist()).astype(dtype).view(np.uint8),
        )
        assert np.shares_memory(np.asarray(x), np.asarray(x)) or kind == "repeated"


def test_every_way_to_the_data_shows_it() -> None:
    for dtype in DTYPES[:-2]:
        for kind, make in ARRAYS.items():
            x: Any = make(dtype)
            for way in ("asarray", "host", "dlpack", "a callback"):
                np.testing.assert_array_equal(VIEWS[way](x), x.tolist(), err_msg=f"{kind}, {way}")


def test_a_copy_may_be_written() -> None:
    x: Any = jnp.zeros(3)
    for made in (
        np.array(x),
        np.asarray(x, np.float64),
        np.from_dlpack(x, copy=True),
        np.asarray(x.__array__(copy=True)),
    ):
        made[0] = 5
    assert x.tolist() == [0.0, 0.0, 0.0]
    with raises(ValueError, match="copy"):
        np.asarray(x, np.float64, copy=False)


class OlderConsumer:
    """One that imports by a DLPack version that cannot say that data is read-only."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack__(self, **options: Any) -> Any:
        return self._x.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._x.__dlpack_device__()
        return device


def test_a_consumer_that_knows_no_read_only_data_gets_a_copy() -> None:
    for x in (jnp.zeros(3), jit(lambda: jnp.zeros(3) + 0)()):
        exporter: Any = x
        capsule = np.from_dlpack(OlderConsumer(exporter))
        assert not np.shares_memory(capsule, np.asarray(x))
        with raises(BufferError, match="max_version"):
            exporter.__dlpack__(copy=False)
        assert exporter.__dlpack_device__() == (1, 0)


def test_jax_imports_results_without_a_copy() -> None:
    for dtype in (np.float32, np.int32, np.complex64):
        x = jit(lambda dtype=dtype: jnp.arange(1024).astype(dtype) + 1, tier="compiled")()
        theirs = jax.dlpack.from_dlpack(x, copy=False)
        assert theirs.unsafe_buffer_pointer() == np.asarray(x).ctypes.data
        np.testing.assert_array_equal(theirs, x)
        np.testing.assert_array_equal(jax.numpy.from_dlpack(x) * 2, x * 2)
    # the data lives as long as someone has it
    x = jit(lambda: jnp.arange(1024) + 1, tier="compiled")()
    theirs = jax.dlpack.from_dlpack(x, copy=False)
    del x
    others = [jit(lambda i=i: jnp.arange(1024) * i, tier="compiled")() for i in range(20)]
    np.testing.assert_array_equal(theirs, np.arange(1024) + 1)
    assert len(others) == 20


@pytest.mark.parametrize("make", ARRAYS.values(), ids=ARRAYS)
def test_buffers_are_of_the_same_shape_and_read_only(make: Callable[..., Any]) -> None:
    for x in (make(np.float32), make(np.float32)[0, 0]):
        view = x.__buffer__(0)  # which Python calls from 3.12 on, and so does np.asarray
        assert view.readonly
        assert view.shape == x.shape
        np.testing.assert_array_equal(np.asarray(view), x.host)


def test_keys_give_no_buffer() -> None:
    with raises(BufferError, match="it is of keys"):
        tinyjax.random.key(0).__buffer__(0)


def test_jax_imports_every_array() -> None:
    for make in ARRAYS.values():
        x = make(np.float32)
        np.testing.assert_array_equal(jax.dlpack.from_dlpack(x), x)


def test_what_was_exported_stays_when_the_array_is_donated() -> None:
    double = jit(lambda x: x * 2, donate_argnums=0)
    makers: list[Callable[[], Any]] = [lambda: jnp.ones(4096) + 0, jit(lambda: jnp.ones(4096) + 0)]
    for make in makers:
        for view_of in (np.asarray, np.from_dlpack):
            x = make()
            view = view_of(x)
            assert float(double(x)[0]) == 2.0
            np.testing.assert_array_equal(view, np.ones(4096))


#: Ways from data of the user's to an array of shape (3,).
TAKEN: Final[dict[str, Callable[[Any], Any]]] = {
    "asarray": jnp.asarray,
    "array": jnp.array,
    "of its own dtype": lambda a: jnp.asarray(a, a.dtype),
    "in a list": lambda a: jnp.array([a])[0],
    "reshaped": lambda a: jnp.reshape(a, (3, 1))[:, 0],
    "passed through": jit(lambda x: x),
    "passed through without jit": vmap(lambda x: x),
    "an update": jnp.zeros(3).at[:].set,
    "captured": lambda a: jit(lambda: jnp.asarray(a))(),
    "from a callback": lambda a: tinyjax.pure_callback(
        lambda: a, jax.ShapeDtypeStruct((3,), np.float32)
    ),
    "from a compiled callback": lambda a: jit(
        lambda: tinyjax.pure_callback(lambda: a, jax.ShapeDtypeStruct((3,), np.float32))
    )(),
}


@pytest.mark.parametrize("way", TAKEN)
def test_data_may_be_written_after_an_array_was_made_of_it(way: str) -> None:
    given = np.arange(3, dtype=np.float32)
    x = TAKEN[way](given)
    given[:] = 7
    assert x.tolist() == [0.0, 1.0, 2.0]
    TAKEN[way](given)
    assert x.tolist() == [0.0, 1.0, 2.0]
