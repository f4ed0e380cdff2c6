"""Arrays on several devices: where they lie, what is read of them, operations on them."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, NamedSharding, P
from tinyjax.errors import ArgumentError, DonatedArrayError, IndexingError
from tinyjax.sharding import SingleDeviceSharding

MESH = tinyjax.make_mesh((2, 2), ("x", "y"))
JAX_MESH = jax.make_mesh((2, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2)
DATA = np.arange(32, dtype=np.float32).reshape(4, 8)
SPECS = [P(), P("x"), P("y", "x"), P(None, ("x", "y")), P(("y", "x"))]


def by(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


def on(number: int) -> SingleDeviceSharding:
    return SingleDeviceSharding(tinyjax.devices()[number])


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_what_lies_where(spec: P) -> None:
    x = tinyjax.device_put(DATA, NamedSharding(MESH, spec))
    theirs = jax.device_put(DATA, jax.NamedSharding(JAX_MESH, jax.P(*spec)))
    assert (x.shape, x.dtype.name, x.ndim, x.size) == ((4, 8), "float32", 2, 32)
    assert (x.committed, x.is_fully_addressable) == (True, True)
    assert x.is_fully_replicated == theirs.is_fully_replicated
    assert {d.id for d in x.devices()} == {d.id for d in theirs.devices()}
    np.testing.assert_array_equal(np.asarray(x), DATA)
    assert (repr(x), str(x)) == (repr(theirs), str(theirs))
    for ours, other in zip(x.addressable_shards, theirs.addressable_shards, strict=True):
        assert ours.device.id == other.device.id
        assert (ours.index, ours.replica_id) == (other.index, other.replica_id)
        np.testing.assert_array_equal(ours.data, np.asarray(other.data))
        assert ours.data.devices() == {ours.device}
        np.testing.assert_array_equal(ours.data + 1, DATA[ours.index] + 1)
        assert (ours.data + 1).devices() == {ours.device}
    np.testing.assert_array_equal(x.addressable_data(3), np.asarray(theirs.addressable_data(3)))
    with pytest.raises(IndexingError, match="4 devices"):
        x.addressable_data(4)


@pytest.mark.parametrize("end", [*SPECS, 0, 2], ids=repr)
@pytest.mark.parametrize("start", [*SPECS, 0, 2, None], ids=repr)
def test_moving(start: Any, end: Any) -> None:
    def place(of: Any) -> Any:
        return of if of is None else on(of) if isinstance(of, int) else NamedSharding(MESH, of)

    x = tinyjax.device_put(DATA, place(start))
    y = tinyjax.device_put(x, place(end))
    assert y.sharding == place(end)
    np.testing.assert_array_equal(np.asarray(y), DATA)
    np.testing.assert_array_equal(np.asarray(x), DATA)
    np.testing.assert_array_equal(np.asarray(x.to_device(place(end))), DATA)


def test_moving_to_the_same_devices_in_another_order() -> None:
    turned = tinyjax.sharding.Mesh(MESH.devices[::-1, ::-1], ("x", "y"))
    x = tinyjax.device_put(DATA, by("x", "y"))
    y = tinyjax.device_put(x, NamedSharding(turned, P("x", "y")))
    np.testing.assert_array_equal(np.asarray(y), DATA)
    assert [s.device for s in y.addressable_shards] == [*turned.devices.flat]
    # what a program is compiled for is one order
    np.testing.assert_array_equal(np.asarray(x + y), 2 * DATA)
    np.testing.assert_array_equal(np.asarray(tinyjax.jit(jnp.subtract)(y, x)), 0 * DATA)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "int64", "bfloat16", "float16", "float64", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    data = jnp.asarray(DATA).astype(dtype)
    x = tinyjax.device_put(data, by("y", "x"))
    assert x.dtype == data.dtype
    np.testing.assert_array_equal(np.asarray(x), np.asarray(data))
    np.testing.assert_array_equal(np.asarray(x[1:3] == x[1:3]), True)
    shard = x.addressable_shards[1]
    np.testing.assert_array_equal(np.asarray(shard.data), np.asarray(data)[shard.index])


def test_keys_of_random_numbers() -> None:
    keys = tinyjax.random.split(tinyjax.random.key(3), 8)
    spread = tinyjax.device_put(keys, by(("x", "y")))
    assert spread.dtype == keys.dtype
    draw = tinyjax.vmap(lambda key: tinyjax.random.normal(key, (3,)))
    np.testing.assert_array_equal(np.asarray(draw(spread)), draw(keys))
    np.testing.assert_array_equal(np.asarray(tinyjax.jit(draw)(spread)), draw(keys))
    np.testing.assert_array_equal(tinyjax.random.key_data(spread), tinyjax.random.key_data(keys))


def test_trees() -> None:
    tree: dict[str, Any] = {"w": DATA, "b": (np.ones(4), 2.0)}
    rows, whole = by("x"), by()
    moved = tinyjax.device_put(tree, {"w": by("x", "y"), "b": whole})
    assert moved["w"].sharding == by("x", "y")
    assert [leaf.sharding for leaf in moved["b"]] == [whole, whole]
    assert tinyjax.device_put(tree["b"], (rows, None))[0].sharding == rows
    assert tinyjax.device_put(tree["b"], (rows, None))[1].sharding == on(0)


def test_what_is_read_of_it_cannot_be_written_to() -> None:
    for spec in SPECS:
        x = tinyjax.device_put(DATA, NamedSharding(MESH, spec))
        assert not np.asarray(x).flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(x)[0] = 1


def test_what_was_put_there_may_be_written_to() -> None:
    data = np.zeros(1 << 12, np.float32)
    x = tinyjax.device_put(data, by("x"))
    data[:] = 1
    np.testing.assert_array_equal(np.asarray(x), 0)


def test_python_protocols() -> None:
    x = tinyjax.device_put(DATA, by("x"))
    assert copy.copy(x) is copy.deepcopy(x) is x
    loaded = pickle.loads(pickle.dumps(x))
    assert loaded.sharding == on(0)
    np.testing.assert_array_equal(loaded, DATA)
    assert (len(x), float(x[1, 2]), f"{x.sum():.1f}") == (4, 10.0, "496.0")
    np.testing.assert_array_equal(np.from_dlpack(unchecked(x)), DATA)
    np.testing.assert_array_equal(np.stack([*x]), DATA)
    assert bool((x == DATA).all())
    assert 3.0 in x
    assert -1.0 not in x
    assert any(a is x for a in tinyjax.live_arrays())
    np.testing.assert_array_equal(np.sin(x), np.sin(DATA))
    tinyjax.jit(jnp.negative, donate_argnums=0)(x)
    assert x.is_deleted()
    for use in (np.asarray, repr, lambda x: x + 1, tinyjax.jit(jnp.sin)):
        with pytest.raises(DonatedArrayError):
            use(x)


OPERATIONS: list[Callable[[Any], Any]] = [
    lambda x: x + 1,
    lambda x: 2.0 * x - x,
    lambda x: x @ x.T,
    lambda x: jnp.sin(x).sum(0),
    lambda x: x.max(axis=1),
    lambda x: x.T,
    lambda x: x[1:3, ::2],
    lambda x: x[1],
    lambda x: x[x > 5.0],
    lambda x: x.at[1].set(0.0),
    lambda x: x.at[:, 2].add(1.0),
    lambda x: jnp.where(x > 3, x, 0),
    lambda x: jnp.sort(x, axis=0),
    jnp.argmax,
    lambda x: jnp.cumsum(x, axis=0),
    lambda x: jnp.concatenate([x, x * 2], axis=0),
    lambda x: x.reshape(8, 4),
    lambda x: x.astype(jnp.int32) // 3,
    lambda x: jnp.linalg.qr(x[:, :4])[1],
    lambda x: jnp.linalg.solve(x[:, :4] + 50 * jnp.eye(4), x[:, 1]),
    lambda x: jnp.einsum("ij,kj->ik", x, x),
    lambda x: x[:3],
    lambda x: jnp.pad(x, 1),
    lambda x: x.mean(),
    lambda x: jnp.fft.fft(x, axis=1).real,
    lambda x: jnp.broadcast_to(x[0], (3, 8)),
    lambda x: tinyjax.lax.scan(lambda c, row: (c + row, c.sum()), jnp.zeros(8), x)[1],
    lambda x: tinyjax.lax.while_loop(lambda s: s.sum() < 1e4, lambda s: 2 * s, x),
    lambda x: tinyjax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    lambda x: tinyjax.lax.fori_loop(0, 3, lambda i, s: s * x[i, i], x),
    tinyjax.grad(lambda x: (jnp.sin(x) ** 2).sum()),
    lambda x: tinyjax.jvp(lambda x: x @ x.T, (x,), (2 * x,))[1],
    lambda x: tinyjax.linearize(lambda x: x @ x.T, x)[1](x),
    lambda x: tinyjax.vmap(lambda row: row / row.sum())(x + 1),
    lambda x: tinyjax.vmap(lambda a, b: a * b, (1, 1))(x, x),
    tinyjax.vmap(tinyjax.grad(lambda row: (row**3).sum())),
    lambda x: tinyjax.hessian(lambda v: (v**3).sum())(x[0]).sum(0),
    tinyjax.checkpoint(jnp.sin),
    tinyjax.nn.softmax,
    lambda x: tinyjax.random.permutation(tinyjax.random.key(0), x),
    lambda x: jnp.logical_and(x > 1, x < 9).sum(),
]


@pytest.mark.parametrize("spec", [P("x", "y"), P(None, "y"), P(("x", "y"))], ids=repr)
@pytest.mark.parametrize("number", range(len(OPERATIONS)))
@pytest.mark.sampled(10)
def test_operations(number: int, spec: P) -> None:
    operation = OPERATIONS[number]
    expected = np.asarray(operation(jnp.asarray(DATA)))
    x = tinyjax.device_put(DATA, NamedSharding(MESH, spec))
    found = operation(x)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-5)
    if number != 8:  # whose shape depends on data
        compiled = tinyjax.jit(operation)(x)
        np.testing.assert_allclose(np.asarray(compiled), expected, rtol=1e-5, atol=1e-5)
        assert {*compiled.devices()} == {*tinyjax.devices()}


def test_arrays_without_elements() -> None:
    x = tinyjax.device_put(np.ones((0, 4), np.float32), by("x", "y"))
    for found in (2.0 * x + 1.0, tinyjax.jit(lambda x: 2.0 * x)(x), jnp.concatenate([x, x])):
        assert np.asarray(found).shape == (0, 4)
    assert float(x.sum()) == 0.0


def test_operations_keep_shardings() -> None:
    x = tinyjax.device_put(DATA, by("x", "y"))
    assert (x + 1).sharding == (x * x).sharding == jnp.sin(x).sharding == by("x", "y")
    assert x.T.sharding == by("y", "x")
    assert x.sum(0).sharding == by("y")
    assert x.sum().sharding == by()
    assert tinyjax.grad(lambda x: (x**2).sum())(x).sharding == by("x", "y")
    assert tinyjax.vmap(jnp.sin)(x).sharding == by("x", "y")


def test_many_programs_at_once() -> None:
    # XLA hangs from 32 on, and ends the process after 40 seconds
    f = tinyjax.jit(lambda x: x * 0.5 + x.sum())
    x = tinyjax.device_put(np.ones(8, np.float32), by(("x", "y")))
    results: list[list[Array]] = []

    def work() -> None:
        results.append([f(x) for _ in range(40)])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3
    for found in results:
        np.testing.assert_array_equal(np.asarray(found[-1]), 8.5)


def test_the_debugger_of_nans_leaves_them_alone() -> None:
    x = tinyjax.device_put(np.array([-1.0, 1.0], np.float32), by("x"))
    with tinyjax.debug_nans(True):
        assert np.isnan(np.asarray(jnp.log(x))[0])
        assert np.isnan(np.asarray(tinyjax.jit(jnp.log)(x))[0])


def test_callbacks_are_refused() -> None:
    x = tinyjax.device_put(np.ones(4, np.float32), by("x"))
    f = tinyjax.jit(lambda x: tinyjax.pure_callback(np.sin, x, x))
    with pytest.raises(ArgumentError, match="calls Python functions"):
        f(x)
    np.testing.assert_allclose(tinyjax.pure_callback(np.sin, x, x), np.sin(np.ones(4)), rtol=1e-6)
