"""Programs that several processes run, as ``python process_programs.py NAME,NAME FILE``.

Each takes a mesh of all devices, in one process or in several, and returns what every process knows
in the end.
"""

import operator
import pickle
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, NamedSharding, P, lax
from tinyjax.errors import (
    ArgumentError,
    DistributedError,
    NotAddressableError,
    ProcessesDifferError,
    ShardingError,
    TinyjaxError,
)
from tinyjax.experimental import multihost_utils
from tinyjax.sharding import AxisType, Mesh

Program = Callable[[Mesh], Any]
DATA = np.arange(48, dtype=np.float32).reshape(8, 6) / 7


def grid(devices: int) -> Mesh:
    return tinyjax.make_mesh((2, devices // 2), ("x", "y"), AxisType.Auto)


def rows(mesh: Mesh) -> NamedSharding:
    return NamedSharding(mesh, P("x"))


def whole(mesh: Mesh, x: Any) -> Any:
    """The data of an array over several processes, on the host of each."""
    return np.asarray(tinyjax.device_put(x, NamedSharding(mesh, P())))


def operations(mesh: Mesh) -> Any:
    x = tinyjax.device_put(DATA, rows(mesh))
    y = tinyjax.device_put(DATA, NamedSharding(mesh, P(None, "y")))
    found = [x + y, x @ x.T, jnp.sort(x, axis=0), jnp.cumsum(x, 0), x[1:5:2], x.sum(), y.mean(1)]
    found += [jnp.concatenate([x, y]), jnp.linalg.norm(x), (x > 2).astype("bfloat16"), -x * 2.0]
    key = tinyjax.device_put(tinyjax.random.key(3), NamedSharding(mesh, P()))
    found.append(tinyjax.random.normal(key, (4, 2)))
    return [whole(mesh, each) for each in found]


def programs(mesh: Mesh) -> Any:
    def loss(w: Any, x: Any) -> Any:
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    x, w = tinyjax.device_put(DATA, rows(mesh)), DATA[:6, :4]
    step = tinyjax.jit(lambda w, x: w - 0.1 * tinyjax.grad(loss)(w, x))
    for _ in range(3):
        w = step(w, x)
    spread = tinyjax.jit(lambda x: jnp.tanh(x) + 1, out_shardings=NamedSharding(mesh, P("y", "x")))
    scanned = tinyjax.jit(lambda x: lax.scan(lambda c, row: (c + row, c), x[0] * 0, x))
    carry, sums = scanned(x)
    local = tinyjax.jit(lambda v: v * 2)(np.arange(3.0))  # where each process is alone
    return [*[whole(mesh, each) for each in (w, spread(DATA[:, :4]), carry, sums)], local]


def collectives(mesh: Mesh) -> Any:
    def body(x: Any) -> Any:
        total = lax.psum(x, "x")
        turned = lax.ppermute(x, "y", [(0, 1), (1, 0)])
        every = lax.all_gather(x, "x", axis=0, tiled=True)
        part = lax.psum_scatter(every, "x", scatter_dimension=0, tiled=True)
        mixed = lax.all_to_all(x, "y", 1, 0, tiled=True)
        where = lax.axis_index("x") + 10 * lax.axis_index("y")
        return total, turned, part, mixed, jnp.full((1, 1), where), lax.pmean(x.sum(), ("x", "y"))

    spec = P("x", "y")
    outs = (P(None, "y"), spec, spec, P(("x", "y")), spec, P())
    fun = tinyjax.shard_map(body, mesh=mesh, in_specs=spec, out_specs=outs)
    x = tinyjax.device_put(DATA[:, :4], NamedSharding(mesh, spec))
    gradient = tinyjax.grad(lambda x: sum(jnp.sum(jnp.sin(y * 1.0)) for y in fun(x)))
    found = [*fun(x), *tinyjax.jit(fun)(x), tinyjax.jit(gradient)(x)]
    return [whole(mesh, each) for each in found]


def many(mesh: Mesh) -> Any:
    """Programs that do not wait for each other, of which hundreds are under way."""
    x = tinyjax.device_put(DATA, rows(mesh))
    funs = [tinyjax.jit(lambda x, k=k: (x + k).sum(0) * jnp.max(x)) for k in range(5)]
    found = [funs[k % 5](x + k) for k in range(200)]
    return whole(mesh, sum(found[1:], found[0]))


def assembled(mesh: Mesh) -> Any:
    """Arrays made of what each process has, and told to all others."""
    sharding = NamedSharding(mesh, P(("x", "y")))
    columns = NamedSharding(mesh, P(None, "y"))
    count, number = tinyjax.process_count(), tinyjax.process_index()
    mine = DATA[number * 8 // count : (number + 1) * 8 // count]
    (x,) = tinyjax.make_array_from_process_local_data(sharding, (jnp.asarray(mine),))
    assert (x.shape, x.is_fully_addressable) == (DATA.shape, count == 1)
    y = tinyjax.make_array_from_callback(DATA.shape, columns, lambda index: DATA[index])
    z = tinyjax.make_array_from_process_local_data(columns, DATA, DATA.shape)
    here = sharding.addressable_devices_indices_map(DATA.shape)
    parts = [tinyjax.device_put(DATA[index], device) for device, index in here.items()]
    w = tinyjax.make_array_from_single_device_arrays(DATA.shape, sharding, parts[::-1])
    assert [s.device for s in w.addressable_shards] == tinyjax.local_devices()
    local = multihost_utils.global_array_to_host_local_array(x, mesh, sharding.spec)
    assert local.shape == (8 // count, 6)
    back = multihost_utils.host_local_array_to_global_array(local, mesh, sharding.spec)
    assert back.sharding == x.sharding
    multihost_utils.sync_global_devices("a place")
    told = multihost_utils.broadcast_one_to_all({"a": DATA + number, "b": np.float64(-0.0)})
    np.testing.assert_array_equal(told["a"], DATA)
    assert np.signbit(np.asarray(told["b"]))
    rows = multihost_utils.process_allgather((np.full(3, number), number > 0, jnp.bfloat16(2)))
    for i in range(count):
        assert [np.asarray(row[i]).tolist() for row in rows] == [[i] * 3, i > 0, 2]
    joined = multihost_utils.process_allgather(mine, tiled=True)
    keys = tinyjax.random.split(tinyjax.random.key(number), 2)
    assert multihost_utils.process_allgather(keys).shape == (count, 2)
    multihost_utils.assert_equal({"a": [1, DATA]})
    gathered = multihost_utils.process_allgather([x, back], tiled=True)
    return [*[whole(mesh, a) for a in (x, y, z, w, back, x + w)], joined, *gathered]


def arranged(mesh: Mesh) -> Any:
    """Meshes of the same devices in other orders, and of some of them."""
    devices = mesh.devices.ravel()
    found = []
    x = tinyjax.device_put(DATA[:, :4], rows(mesh))
    for order in ([0, 2, 1, 3], [3, 2, 1, 0], [0, 3, 1, 2]):
        other = Mesh(devices[order].reshape(2, 2), ("x", "y"))
        y = tinyjax.device_put(DATA[:, :4], NamedSharding(other, P("x", "y")))
        for shard in (y * 2).addressable_shards:
            np.testing.assert_array_equal(shard.data, 2 * DATA[:, :4][shard.index])
        assert {s.device for s in y.addressable_shards} == {*tinyjax.local_devices()}
        assert {*other.local_mesh.devices.flat} == {*tinyjax.local_devices()}
        found += [
            whole(other, jnp.sort(-y, axis=0)),
            whole(mesh, tinyjax.jit(jnp.subtract)(x, 3 * y)),
        ]
    if tinyjax.process_count() == 2:  # each has a part
        some = Mesh(devices[[0, 3]], ("z",))
        z = tinyjax.device_put(x, NamedSharding(some, P("z")))
        return [*found, whole(some, z), whole(mesh, tinyjax.device_put(z, rows(mesh)))]
    return [*found, DATA[:, :4], DATA[:, :4]]


def refused(mesh: Mesh) -> Any:
    """Check the errors where processes do not agree, or do not have all of an array."""

    def check_message(kind: type[TinyjaxError], call: Callable[[], Any], *words: str) -> None:
        if tinyjax.process_count() == 1:
            return
        with pytest.raises(kind) as error:
            call()
        assert all(word in error.value.message for word in words), error.value.message

    number = tinyjax.process_index()
    x = tinyjax.device_put(DATA, rows(mesh))
    global_shards = operator.attrgetter("global_shards")
    calls: list[Callable[[Any], Any]] = [np.asarray, pickle.dumps, Array.tolist, global_shards]
    for call in calls:
        check_message(NotAddressableError, partial(call, x), "other processes", "process_allgather")
    last = tinyjax.process_count() - 1
    check_message(
        ProcessesDifferError,
        lambda: tinyjax.device_put(DATA + number, rows(mesh)),
        f"{last}]",
        "process_local_data",
    )
    tree = {"a": DATA, "b": np.arange(number == 0, 5)}
    check_message(
        ProcessesDifferError, lambda: multihost_utils.assert_equal(tree, "no"), "no: ", "['b']"
    )
    check_message(
        ProcessesDifferError, lambda: multihost_utils.assert_equal([1] * (number + 1)), "structure"
    )
    check_message(
        ProcessesDifferError, lambda: multihost_utils.sync_global_devices(f"{number}"), "sync"
    )
    check_message(
        ArgumentError, lambda: multihost_utils.broadcast_one_to_all(1, True), "one process is"
    )
    check_message(NotAddressableError, lambda: multihost_utils.process_allgather(x), "tiled=True")
    check_message(DistributedError, tinyjax.distributed.initialize, "before")
    other = [d for d in tinyjax.devices() if d not in tinyjax.local_devices()][:1]
    check_message(ShardingError, lambda: tinyjax.device_put(DATA, other[0]), "other processes")
    check_message(
        ShardingError,
        lambda: tinyjax.make_array_from_process_local_data(rows(mesh), DATA, (3, 6)),
        "global_shape",
    )
    return []


PROGRAMS: dict[str, Program] = {
    f.__name__: f for f in (operations, programs, collectives, many, assembled, arranged, refused)
}


def results(names: str, mesh: Mesh) -> list[Any]:
    return tinyjax.tree.leaves([PROGRAMS[name](mesh) for name in names.split(",")])


def main(names: str, file: str) -> None:
    tinyjax.distributed.initialize()
    mesh = grid(tinyjax.device_count())
    found = results(names, mesh)
    np.savez(f"{file}.{tinyjax.process_index()}", *[np.asarray(x, np.float32) for x in found])


if __name__ == "__main__":
    main(*sys.argv[1:])
