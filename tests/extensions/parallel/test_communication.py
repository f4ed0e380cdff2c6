"""The collectives of compiled programs, compared with counts by hand."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import NamedSharding, P, ShapeDtypeStruct, lax
from tinyjax._extensions.parallel.communication import Collective, Communication, collectives_of
from tinyjax.errors import ShardingError
from tinyjax.sharding import AbstractMesh, AxisType, Mesh

MESH = tinyjax.make_mesh((2, 2), ("x", "y"))
RING = [(0, 1), (1, 0)]
#: programs for each device on ``f32[4, 8]``, which has 128 bytes, and their collectives
TOLD: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "psum": (lambda x: lax.psum(x, "x"), [("all-reduce", 128, 2, 2, ("x",), 1)]),
    "pmax over both": (
        lambda x: lax.pmax(x, ("x", "y")),
        [("all-reduce", 128, 2, 2, (name,), 1) for name in "xy"],
    ),
    "all_gather": (lambda x: lax.all_gather(x, "y"), [("all-gather", 128, 2, 2, ("y",), 1)]),
    "psum_scatter": (
        lambda x: lax.psum_scatter(x, "x", tiled=True),
        [("reduce-scatter", 128, 2, 2, ("x",), 1)],
    ),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "y", 0, 1, tiled=True),
        [("all-to-all", 128, 2, 2, ("y",), 1)],
    ),
    "ppermute": (
        lambda x: lax.ppermute(x, "x", RING),
        [("collective-permute", 128, 4, 1, ("x",), 1)],
    ),
    "loop": (
        lambda x: lax.fori_loop(0, 5, lambda _, x: lax.ppermute(x, "y", RING) * 2, x),
        [("collective-permute", 128, 4, 1, ("y",), 5)],
    ),
    "loops in loops": (
        lambda x: lax.fori_loop(
            0, 3, lambda _, x: lax.fori_loop(0, 4, lambda _, x: lax.ppermute(x, "y", RING), x), x
        ),
        [("collective-permute", 128, 4, 1, ("y",), 12)],
    ),
    "nothing": (lambda x: x + 1, []),
}


@pytest.mark.parametrize("name", TOLD)
def test_collectives_of_programs(name: str) -> None:
    f, expected = TOLD[name]
    program = tinyjax.shard_map(f, mesh=MESH, in_specs=P(), out_specs=P(("x", "y")))
    compiled = tinyjax.jit(program).lower(np.ones((4, 8), np.float32)).compile()
    found = compiled.communication_analysis()
    assert found.collectives == tuple([Collective(*row) for row in expected])
    assert found.is_exact
    assert sum(found.counts.values()) == sum(row[-1] for row in expected)
    assert found.memory >= 128 + 32


def test_bytes_sent_around_a_ring() -> None:
    def sent(kind: str) -> int:
        return Collective(kind, 1000, 4, 2, ("x",), 3).bytes_sent

    kinds = "all-reduce reduce-scatter all-gather all-to-all collective-permute"
    assert [sent(kind) for kind in kinds.split()] == [1500, 750, 3000, 750, 1000]
    twice = tuple(
        [Collective(kind, 1000, 4, 2, ("x",), 3) for kind in ("all-reduce", "all-to-all")]
    )
    assert Communication(twice, is_exact=True, memory=0).bytes_sent == 3 * 1500 + 3 * 750


def test_loops_that_data_decides() -> None:
    def until(x: Any) -> Any:
        return lax.while_loop(lambda x: x.sum() < 9, lambda x: x + lax.psum(x, "x"), x)

    f = tinyjax.shard_map(until, mesh=MESH, in_specs=P(), out_specs=P())
    found = tinyjax.jit(f).lower(np.ones(4, np.float32)).compile().communication_analysis()
    assert (found.is_exact, found.counts) == (False, {"all-reduce": 1})


def _layer(x: Any, w: Any) -> Any:
    return jnp.tanh(jnp.tanh(x @ w[0]) @ w[1])


def _in_turn(ws: Any, x: Any) -> Any:
    for i in range(3):
        x = tinyjax.checkpoint(_layer)(x, (ws[0][i], ws[1][i]))
    return jnp.mean(x**2)


def _scanned(ws: Any, x: Any) -> Any:
    layer = tinyjax.checkpoint(_layer)
    return jnp.mean(lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0] ** 2)


def _twice(ws: Any, x: Any) -> Any:
    layer = tinyjax.checkpoint(tinyjax.checkpoint(_layer))
    return jnp.mean(lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0] ** 2)


#: three layers, over which axes columns and rows of the first weights are divided, the step's
#: collectives, and how many computations are kept apart from the same ones before; scans of layers
#: that are computed again once have as many as JAX's
REMATERIALIZED: dict[str, tuple[Callable[..., Any], P, dict[str, int], int]] = {
    "scan, data": (_scanned, P(), {"all-reduce": 3}, 1),
    "scan, tensor": (_scanned, P("y"), {"all-reduce": 3 * 4}, 1),
    "scan, both": (_scanned, P("y", "x"), {"all-gather": 3 * 3, "all-reduce": 3 * 4}, 1),
    "scan, nested": (_twice, P("y"), {"all-reduce": 3 * 5}, 2),
    # of which three tell conditions
    "list, tensor": (_in_turn, P("y"), {"all-reduce": 14}, 3),
}


@pytest.mark.parametrize("name", REMATERIALIZED)
def test_layers_that_are_computed_again(name: str) -> None:
    loss, spec, counts, kept = REMATERIALIZED[name]
    mesh = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
    columns, *rows = *spec, None

    def shape(*sizes: int, spec: P) -> ShapeDtypeStruct:
        return ShapeDtypeStruct(sizes, jnp.float32, sharding=NamedSharding(mesh, spec))

    ws = shape(3, 16, 64, spec=P(None, *rows[:1], columns)), shape(3, 64, 16, spec=P(None, columns))
    x = shape(32, 16, spec=P("x"))
    step = tinyjax.jit(tinyjax.grad(loss)).lower(ws, x).compile()
    assert step.communication_analysis().counts == counts
    assert step.as_text().count(" conditional(") == kept


@pytest.mark.parametrize(("data", "model"), [(4, 2), (64, 8), (256, 4)])
def test_meshes_of_more_devices_than_there_are(data: int, model: int) -> None:
    mesh = AbstractMesh((data, model), ("data", "model"))
    features, hidden, batch = 64, 128, 2048

    def shape(*sizes: int, spec: P) -> ShapeDtypeStruct:
        return ShapeDtypeStruct(sizes, jnp.float32, sharding=NamedSharding(mesh, spec))

    def loss(params: Any, x: Any) -> Any:
        v, w = params
        return jnp.mean(jnp.tanh(x @ v) @ w)

    params = (
        shape(features, hidden, spec=P(None, "model")),
        shape(hidden, features, spec=P("model")),
    )
    x = shape(batch, features, spec=P("data"))
    compiled = tinyjax.jit(tinyjax.value_and_grad(loss)).lower(params, x).compile()
    found = compiled.communication_analysis()
    over = {c.axes for c in found.collectives}
    assert {c.kind for c in found.collectives} == {"all-reduce"}
    assert ("data",) in over or ("data", "model") in over
    # gradients are added up over the data: both matrices' shards
    weights = 2 * features * hidden // model * 4
    gradients = [c.bytes for c in found.collectives if c.axes == ("data",) and c.bytes > 64]
    assert weights <= sum(gradients) <= weights + 8  # and the loss
    assert found.memory >= 2 * weights + batch // data * features * 4
    assert all(c.group_size == data for c in found.collectives if c.axes == ("data",))


def test_shard_map_on_meshes_without_devices() -> None:
    stages, size = 32, 16
    mesh = AbstractMesh((stages,), "stages")
    ring = [(i, (i + 1) % stages) for i in range(stages)]

    @tinyjax.shard_map(mesh=mesh, in_specs=(P("stages"), P()), out_specs=P())
    def pipeline(weights: Any, x: Any) -> Any:
        def hop(_: Any, x: Any) -> Any:
            return lax.ppermute(jnp.tanh(x @ weights[0]), "stages", ring)

        return lax.psum(lax.fori_loop(0, stages, hop, x).mean(), "stages")

    weights = ShapeDtypeStruct((stages, size, size), jnp.float32)
    x = ShapeDtypeStruct((4, size), jnp.float32)
    gradient = tinyjax.jit(tinyjax.grad(pipeline))
    for f, hops in ((tinyjax.jit(pipeline), stages), (gradient, 2 * stages)):
        found = f.lower(weights, x).compile().communication_analysis()
        assert hops - 1 <= found.counts["collective-permute"] <= hops
        sizes = {c.bytes for c in found.collectives if c.kind == "collective-permute"}
        assert sizes == {4 * 4 * size}
    whole = np.ones((stages, size, size), np.float32)
    assert pipeline(whole, np.ones((4, size), np.float32)).shape == ()  # by NumPy, on the host
    with raises(ShardingError, match="no devices to run it"):
        tinyjax.jit(pipeline)(whole, np.ones((4, size), np.float32))


def test_orders_of_devices() -> None:
    turned = Mesh(np.array([tinyjax.devices()[i] for i in (3, 1, 0, 2)]).reshape(2, 2), ("x", "y"))
    total = partial(lax.psum, axis_name="y")
    f = tinyjax.shard_map(total, mesh=turned, in_specs=P("x", "y"), out_specs=P("x"))
    found = tinyjax.jit(f).lower(np.ones((2, 2), np.float32)).compile().communication_analysis()
    assert [c.axes for c in found.collectives] == [("y",)]


def test_texts_of_hlo() -> None:
    text = """HloModule m

%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %s = f32[] add(%a, %b)
}

ENTRY %main (p: bf16[8,4]) -> bf16[8,4] {
  %p = bf16[8,4]{1,0} parameter(0)
  %r = (bf16[8,4], /*index=1*/pred[3]) all-reduce(%p), replica_groups=[2,4]<=[4,2]T(1,0)
  %g = s32[8]{0} all-gather(%p), replica_groups={}, dimensions={0}
  %m = f32[] all-reduce(%p), replica_groups=mesh['a'=2,'b'=4] {'a','b':(2)2}, to_apply=%add
  %n = f32[] all-reduce(%p), replica_groups=mesh['a'=4,'b'=1,'c'=2] {'a'}, to_apply=%add
  %b = f8e4m3fn[8]{0} collective-broadcast(%p), replica_groups={{0,3},{1,2}}
}
"""
    found, exact = collectives_of(text, {"x": 4, "y": 2})
    assert exact
    assert found == (
        Collective("all-reduce", 67, 4, 2, ("x",), 1),
        Collective("all-gather", 4, 8, 1, ("x", "y"), 1),
        Collective("all-reduce", 4, 4, 2, None, 1),
        Collective("all-reduce", 4, 4, 2, ("x",), 1),
        Collective("collective-broadcast", 8, 2, 2, None, 1),
    )


def test_numbers_of_devices_along_some_axes_cost_nothing() -> None:
    mesh = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
    numbered = tinyjax.shard_map(
        lambda x: x + lax.axis_index("x"),
        mesh=mesh,
        in_specs=P("x"),
        out_specs=P("x"),
        axis_names={"x"},
    )
    x = tinyjax.device_put(np.zeros((4, 4), np.float32), NamedSharding(mesh, P("x", "y")))
    program = tinyjax.jit(numbered).lower(x).compile()
    assert not program.communication_analysis().collectives
    np.testing.assert_array_equal(program(x)[:, 0], [0, 0, 1, 1])
