"""Arrays on several devices: where they lie, what is read of them, operations on them."""

import copy
import pickle
import re
import threading
from collections.abc import Callable
from itertools import chain
from typing import Any

import jax
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, NamedSharding, P, lax, random
from tinyjax._base.display import shown_grid
from tinyjax.core.devices import PER_PROCESS, Device
from tinyjax.errors import ArgumentError, DonatedArrayError, IndexingError, ShardingError
from tinyjax.experimental.mesh_utils import create_device_mesh, create_hybrid_device_mesh
from tinyjax.memory import Space
from tinyjax.sharding import AbstractMesh, AxisType, SingleDeviceSharding

MESH = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
JAX_MESH = jax.make_mesh((2, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2)
DATA = np.arange(32, dtype=np.float32).reshape(4, 8)
SPECS = [P(), P("x"), P("y", "x"), P(None, ("x", "y")), P(("y", "x"))]


def sharding_by(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


def on_device(number: int) -> SingleDeviceSharding:
    return SingleDeviceSharding(tinyjax.devices()[number])


#: Results that hold nothing of an array of shape (4,), or have another shape.
BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "a mask of nothing": lambda m, x: x[np.zeros(4, bool)],
    "a mask of nothing, our own": lambda m, x: x[m.zeros(4, bool)],
    "no indices": lambda m, x: x[np.zeros(0, int)],
    "an empty slice": lambda m, x: x[:0],
    "compress": lambda m, x: m.compress(np.zeros(4, bool), x),
    "compress by a mask beside it": lambda m, x: m.compress(x > 1, x),
    "choose": lambda m, x: m.choose(x.astype(int) % 2, [x, -x]),
    "unique of nothing": lambda m, x: m.unique(x[:0]),
    "unique rows of nothing": lambda m, x: m.unique(x[:0].reshape(0, 2), axis=0),
    "unique of nothing, filled": lambda m, x: m.unique(x[:0], size=2, fill_value=3),
    "union1d": lambda m, x: m.union1d(x[:0], x[:0]),
    "setdiff1d": lambda m, x: m.setdiff1d(x[:0], x[:0]),
    "delete": lambda m, x: m.delete(x, np.arange(4)),
    "full_like": lambda m, x: m.full_like(x, 1, shape=(2,)),
    "zeros_like": lambda m, x: m.zeros_like(x, shape=(2, 2)),
    "ones_like": lambda m, x: m.ones_like(x, shape=()),
    "empty_like": lambda m, x: m.empty_like(x, shape=(0,)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BESIDE)
def test_results_lie_on_the_device_of_their_operand(name: str) -> None:
    x = tinyjax.device_put(DATA[0, :4], tinyjax.devices()[1])
    theirs = jax.device_put(DATA[0, :4], jax.devices()[1])
    found, expected = BESIDE[name](jnp, x), BESIDE[name](jax.numpy, theirs)
    assert {d.id for d in found.devices()} == {d.id for d in expected.devices()} == {1}
    np.testing.assert_array_equal(found, expected)


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
    with raises(IndexingError, match="4 devices"):
        x.addressable_data(4)
    with raises(ShardingError, match="as many addresses"):
        x.unsafe_buffer_pointer()
    part = x.addressable_data(3)
    assert part.unsafe_buffer_pointer() == np.asarray(part).ctypes.data


@pytest.mark.parametrize("end", [*SPECS, 0, 2], ids=repr)
@pytest.mark.parametrize("start", [*SPECS, 0, 2, None], ids=repr)
def test_moving(start: Any, end: Any) -> None:
    def place(target: Any) -> Any:
        return (
            target
            if target is None
            else on_device(target)
            if isinstance(target, int)
            else NamedSharding(MESH, target)
        )

    x = tinyjax.device_put(DATA, place(start))
    y = tinyjax.device_put(x, place(end))
    assert y.sharding == place(end)
    np.testing.assert_array_equal(np.asarray(y), DATA)
    np.testing.assert_array_equal(np.asarray(x), DATA)
    np.testing.assert_array_equal(np.asarray(x.to_device(place(end))), DATA)


def test_moving_to_the_same_devices_in_another_order() -> None:
    turned = tinyjax.sharding.Mesh(MESH.devices[::-1, ::-1], ("x", "y"))
    x = tinyjax.device_put(DATA, sharding_by("x", "y"))
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
    x = tinyjax.device_put(data, sharding_by("y", "x"))
    assert x.dtype == data.dtype
    np.testing.assert_array_equal(np.asarray(x), np.asarray(data))
    np.testing.assert_array_equal(np.asarray(x[1:3] == x[1:3]), True)
    shard = x.addressable_shards[1]
    np.testing.assert_array_equal(np.asarray(shard.data), np.asarray(data)[shard.index])


def test_keys_of_random_numbers() -> None:
    keys = tinyjax.random.split(tinyjax.random.key(3), 8)
    spread = tinyjax.device_put(keys, sharding_by(("x", "y")))
    assert spread.dtype == keys.dtype
    draw = tinyjax.vmap(lambda key: tinyjax.random.normal(key, (3,)))
    np.testing.assert_array_equal(np.asarray(draw(spread)), draw(keys))
    np.testing.assert_array_equal(np.asarray(tinyjax.jit(draw)(spread)), draw(keys))
    np.testing.assert_array_equal(tinyjax.random.key_data(spread), tinyjax.random.key_data(keys))


@pytest.mark.parametrize("kind", ["pinned_host", "unpinned_host"])
def test_memories(kind: str) -> None:
    assert kind in [memory.kind for memory in on_device(0).device.addressable_memories()]
    for place in (on_device(0), on_device(2), sharding_by("x"), sharding_by()):
        there = place.with_memory_kind(kind)
        assert (there == place, there.is_equivalent_to(place, 2)) == (False, False)
        assert there.with_memory_kind("device") == place
        for x in (
            tinyjax.device_put(DATA, there),
            tinyjax.device_put(tinyjax.device_put(DATA, place), there),
            tinyjax.jit(lambda x: x * 1, out_shardings=there)(tinyjax.device_put(DATA, place)),
            tinyjax.jit(lambda x, target=there: tinyjax.device_put(x * 1, target))(DATA),
        ):
            assert x.sharding == there
            np.testing.assert_array_equal(np.asarray(x), DATA)
            np.testing.assert_array_equal(np.asarray(x + 1), DATA + 1)
            assert tinyjax.device_put(x, place).sharding == place
            assert tinyjax.device_put(x, Space.Device).sharding == place
            assert tinyjax.device_put(x, Space.Any) is x
            host = tinyjax.device_put([x, jnp.ones(2)], Space.Host)
            assert [y.sharding.memory_kind for y in host] == ["pinned_host"] * 2
    assert {s.name: s.value for s in Space} == {s.name: s.value for s in jax.memory.Space}
    assert tinyjax.jit(lambda x: tinyjax.device_put(x, Space.Host) + 1)(1.0) == 2
    with raises(ShardingError, match="no other memories"):
        on_device(0).with_memory_kind("disk")


def test_trees() -> None:
    tree: dict[str, Any] = {"w": DATA, "b": (np.ones(4), 2.0)}
    rows, whole = sharding_by("x"), sharding_by()
    moved = tinyjax.device_put(tree, {"w": sharding_by("x", "y"), "b": whole})
    assert moved["w"].sharding == sharding_by("x", "y")
    assert [leaf.sharding for leaf in moved["b"]] == [whole, whole]
    assert tinyjax.device_put(tree["b"], (rows, None))[0].sharding == rows
    assert tinyjax.device_put(tree["b"], (rows, None))[1].sharding == on_device(0)


def test_what_is_read_of_it_cannot_be_written_to() -> None:
    for spec in SPECS:
        x = tinyjax.device_put(DATA, NamedSharding(MESH, spec))
        assert not np.asarray(x).flags.writeable
        with raises(ValueError, match="read-only"):
            np.asarray(x)[0] = 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("n", [64, 1024], ids=["small", "large"])
def test_what_was_put_there_may_be_written_to(n: int, order: Any) -> None:
    data = np.asarray(np.arange(n * n, dtype=np.float32).reshape(n, n), order=order)
    before = data.copy()
    arrays = [
        tinyjax.device_put(data, place)
        for place in (sharding_by("x"), sharding_by(None, "y"), sharding_by(), None)
    ]
    data[:] = 1
    # what was moved does not lie in the memory of what it was moved from
    arrays += [tinyjax.device_put(arrays[2], sharding_by("x")), tinyjax.jit(lambda x: x)(before)]
    tinyjax.jit(lambda x: x + 1, donate_argnums=0)(arrays.pop(2)).block_until_ready()
    for x in arrays:
        np.testing.assert_array_equal(np.asarray(x), before)


def test_python_protocols() -> None:
    x = tinyjax.device_put(DATA, sharding_by("x"))
    for copied in (copy.copy(x), copy.deepcopy(x), x.copy(), jnp.array(x)):
        assert copied.sharding == x.sharding
        tinyjax.jit(lambda x: x + 1, donate_argnums=0)(copied)
        assert (copied.is_deleted(), x.is_deleted()) == (True, False)
    loaded = pickle.loads(pickle.dumps(x))
    assert loaded.sharding == on_device(0)
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
    x = tinyjax.device_put(np.ones((0, 4), np.float32), sharding_by("x", "y"))
    for found in (2.0 * x + 1.0, tinyjax.jit(lambda x: 2.0 * x)(x), jnp.concatenate([x, x])):
        assert np.asarray(found).shape == (0, 4)
    assert float(x.sum()) == 0.0


def test_operations_keep_shardings() -> None:
    x = tinyjax.device_put(DATA, sharding_by("x", "y"))
    assert (x + 1).sharding == (x * x).sharding == jnp.sin(x).sharding == sharding_by("x", "y")
    assert x.T.sharding == sharding_by("y", "x")
    assert x.sum(0).sharding == sharding_by("y")
    assert x.sum().sharding == sharding_by()
    assert tinyjax.grad(lambda x: (x**2).sum())(x).sharding == sharding_by("x", "y")
    assert tinyjax.vmap(jnp.sin)(x).sharding == sharding_by("x", "y")


def test_many_programs_at_once() -> None:
    # XLA hangs from 32 on, and ends the process after 40 seconds
    f = tinyjax.jit(lambda x: x * 0.5 + x.sum())
    x = tinyjax.device_put(np.ones(8, np.float32), sharding_by(("x", "y")))
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
    x = tinyjax.device_put(np.array([-1.0, 1.0], np.float32), sharding_by("x"))
    with tinyjax.debug_nans(True):
        assert np.isnan(np.asarray(jnp.log(x))[0])
        assert np.isnan(np.asarray(tinyjax.jit(jnp.log)(x))[0])


def test_callbacks() -> None:
    x = tinyjax.device_put(np.ones(4, np.float32), sharding_by("x"))
    f = tinyjax.jit(lambda x: tinyjax.pure_callback(np.sin, x, x))
    np.testing.assert_allclose(f(x), np.sin(np.ones(4)), rtol=1e-6)
    with raises(ArgumentError, match="calls Python functions"):
        f.lower(x).compile()
    np.testing.assert_allclose(tinyjax.pure_callback(np.sin, x, x), np.sin(np.ones(4)), rtol=1e-6)


KEY = random.key(0)
#: functions that say where their result lies
MADE: dict[str, Callable[..., Array]] = {
    "zeros": lambda **where: jnp.zeros((4, 4), device=where["at"]),
    "array": lambda **where: jnp.array(DATA, device=where["at"]),
    "full_like": lambda **where: jnp.full_like(DATA, 3, device=where["at"]),
    "arange": lambda **where: jnp.arange(8, device=where["at"]),
    "linspace": lambda **where: jnp.linspace(0, 1, 8, retstep=True, device=where["at"])[0],
    "eye": lambda **where: jnp.eye(4, device=where["at"]),
    "astype": lambda **where: jnp.astype(DATA, jnp.int32, device=where["at"]),
    "from_dlpack": lambda **where: jnp.from_dlpack(DATA.copy(), device=where["at"]),
    "fftfreq": lambda **where: jnp.fft.fftfreq(8, device=where["at"]),
    "normal": lambda **where: random.normal(KEY, (4, 4), out_sharding=where["at"]),
    "randint": lambda **where: random.randint(KEY, (4,), 0, 9, out_sharding=where["at"]),
    "gamma": lambda **where: random.gamma(KEY, 2.0, (4,), out_sharding=where["at"]),
    "permutation": lambda **where: random.permutation(KEY, DATA, out_sharding=where["at"]),
    "einsum": lambda **where: jnp.einsum("ij,kj->ik", DATA, DATA, out_sharding=where["at"]),
    "dot": lambda **where: jnp.dot(DATA, DATA.T, out_sharding=where["at"]),
    "dot by a number": lambda **where: jnp.dot(DATA, 2.0, out_sharding=where["at"]),
    "matmul": lambda **where: jnp.matmul(DATA[:, None], DATA.T, out_sharding=where["at"]),
    "tensordot": lambda **where: jnp.linalg.tensordot(
        DATA, DATA.T, axes=1, out_sharding=where["at"]
    ),
    "lax.dot": lambda **where: lax.dot(DATA, DATA.T, out_sharding=where["at"]),
    "lax.full_like": lambda **where: lax.full_like(DATA, 2.0, sharding=where["at"]),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MADE)
def test_results_are_made_where_they_are_wanted(name: str) -> None:
    make, rows = MADE[name], sharding_by("x")
    whole = make(at=None)
    for where in (rows, P("x"), tinyjax.devices()[2]):
        with tinyjax.set_mesh(MESH):
            found = make(at=where)
            staged = tinyjax.jit(lambda where=where: make(at=where))()
        for x in (found, staged):
            assert x.sharding.is_equivalent_to(rows if where == P("x") else _as(where), x.ndim)
            np.testing.assert_allclose(np.asarray(x), np.asarray(whole), rtol=1e-6)
    assert make(at=tinyjax.devices()[0]).sharding == make(at=None).sharding


@pytest.mark.parametrize("module", [jnp, jax.numpy], ids=["tinyjax", "jax"])
def test_arrays_like_another_lie_as_it_does(module: Any) -> None:
    """Here as in jax, where there is one device."""
    if module is jnp:
        x, place = tinyjax.device_put(DATA, sharding_by("x")), sharding_by("x")
    else:
        mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
        place = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
        x = jax.device_put(DATA, place)
    of_lax = lax if module is jnp else jax.lax
    for like in (
        module.zeros_like(x),
        module.ones_like(x, dtype="int32"),
        module.empty_like(x, shape=x.shape),
        module.full_like(x, 2.0),
        of_lax.full_like(x, 2.0),
    ):
        assert like.sharding == place
    if module is jnp:
        assert jnp.zeros_like(x, shape=(4,)).sharding == SingleDeviceSharding(tinyjax.devices()[0])


def _as(where: Any) -> Any:
    return where if isinstance(where, NamedSharding) else SingleDeviceSharding(where)


def test_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    x = tinyjax.device_put(DATA, sharding_by("x"))
    tinyjax.debug.visualize_array_sharding(x)
    tinyjax.debug.visualize_array_sharding(x.T, min_width=3, max_width=20)
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        *("┌───────┐", "│CPU 0,1│", "├───────┤", "│CPU 2,3│", "└───────┘"),
        *("┌───────┬───────┐", "│CPU 0,1│CPU 2,3│", "└───────┴───────┘"),
    ]
    with raises(ShardingError, match="one axis or two"):
        tinyjax.debug.visualize_sharding((2, 2, 2), sharding_by())
    with raises(ShardingError, match="is traced"):
        tinyjax.jit(tinyjax.debug.visualize_array_sharding)(x)


def test_notebooks_show_who_has_which_part() -> None:
    """Of meshes, shardings and arrays: by hand here, by the index maps of what lies there."""

    def cells(value: Any) -> list[list[str]]:
        rows = re.findall(r"<tr>(.*?)</tr>", value._repr_html_())
        return [re.findall(r">([^<>]+)</td>", row) for row in rows]

    assert cells(MESH) == [["CPU 0", "CPU 1"], ["CPU 2", "CPU 3"]]
    assert cells(sharding_by("x", None)) == [["CPU 0,1"], ["CPU 2,3"]]
    assert cells(sharding_by(None, "x")) == [["CPU 0,1", "CPU 2,3"]]
    assert cells(sharding_by()) == [["CPU 0,1,2,3"]]
    for spec in (("x", "y"), ("y", "x"), (("x", "y"),), (None, ("y", "x"))):
        x: Any = tinyjax.device_put(jnp.arange(64).reshape(8, 8), sharding_by(*spec))
        held = {shard.device.id: shard.index for shard in x.addressable_shards}
        order = sorted(held, key=lambda i: [s.start or 0 for s in held[i]])
        assert [*chain(*cells(x))] == [f"CPU {i}" for i in order]
        assert "int32[8" in x._repr_html_()
    grid = np.full((40, 20), "CPU")
    assert "24 more rows · 4 more columns" in shown_grid("many", grid)
    for unplaced in (MESH.abstract_mesh, NamedSharding(MESH.abstract_mesh, P("x"))):
        assert getattr(unplaced, "_repr_html_", lambda: None)() is None
    assert tinyjax.sharding.get_mesh()._repr_html_() is None


def test_meshes_without_devices() -> None:
    mesh = AbstractMesh((64, 2), ("x", "y"))
    assert (mesh.size, dict(mesh.shape), mesh.abstract_mesh) == (128, {"x": 64, "y": 2}, mesh)
    assert MESH.abstract_mesh == AbstractMesh((2, 2), ("x", "y"))
    rows = NamedSharding(mesh, P("x"))
    assert rows.shard_shape((128, 3)) == (2, 3)
    assert not NamedSharding(MESH.abstract_mesh, P("x")).is_equivalent_to(sharding_by("x"), 1)
    shape = tinyjax.ShapeDtypeStruct((128, 4), jnp.float32, sharding=rows)
    f = tinyjax.jit(lambda x: x.T @ x)
    compiled = f.lower(shape).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 2 * 4 * 4
    assert "all-reduce" in compiled.as_text()
    assert compiled.input_shardings == ((rows,), {})
    assert compiled.output_shardings.is_fully_replicated
    with raises(ShardingError, match="no devices to run it"):
        compiled(np.ones((128, 4), np.float32))
    with raises(ShardingError, match="names no devices"):
        tinyjax.device_put(np.ones((128, 4)), rows)
    with tinyjax.set_mesh(MESH):  # that of the mesh in force means it
        here = NamedSharding(MESH.abstract_mesh, P("x"))
        for put in (tinyjax.device_put, lax.with_sharding_constraint):
            assert put(jnp.ones(4), here).sharding == sharding_by("x")
        assert tinyjax.jit(jnp.sin, out_shardings=here)(np.ones(4)).sharding == sharding_by("x")
    with raises(ShardingError, match="with devices and an AbstractMesh"):
        tinyjax.jit(f, out_shardings=sharding_by()).lower(shape)
    huge = NamedSharding(AbstractMesh((4096,), "x"), P("x"))
    with raises(ShardingError, match="for 2048 devices at most"):
        tinyjax.jit(jnp.sin, in_shardings=huge).lower(np.ones(4096)).compile()
    for sizes, names in [((2,), ("x", "y")), ((2, 2), ("x", "x")), ((0,), "x")]:
        with raises(ShardingError, match="a positive size and a name"):
            AbstractMesh(sizes, names)


def test_grids_of_devices() -> None:
    assert create_device_mesh((2, 2)).shape == (2, 2)
    assert [d.id for d in create_device_mesh((2,), tinyjax.devices()[2:])] == [2, 3]
    with raises(ShardingError, match="takes 3 devices, but there are 4"):
        create_device_mesh((3,))


def test_grids_of_processes() -> None:
    devices = [Device(id=PER_PROCESS * process + i) for process in (1, 0) for i in range(4)]
    for inner, outer, ordered in (((2, 2), (2, 1), True), ((4, 1), (1, 2), False)):
        grid = create_hybrid_device_mesh(inner, outer, devices, should_sort_granules_by_key=ordered)
        processes = np.vectorize(lambda device: device.process_index)(grid)
        numbers = [0, 1] if ordered else [1, 0]
        expected = np.kron(np.reshape(numbers, outer), np.ones(inner, int))
        np.testing.assert_array_equal(processes, expected)
        assert {d.id for d in grid.flat} == {d.id for d in devices}
    with raises(ShardingError, match="takes 3 processes, but the devices are of 2"):
        create_hybrid_device_mesh((4,), (3,), devices)
    with raises(ShardingError, match="same number of axes"):
        create_hybrid_device_mesh((4,), (2, 1), devices)
