"""Exported programs for several devices: called on any of as many, read back, pulled back."""

from collections.abc import Callable
from typing import Any

import jax
import jax.export
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import NamedSharding, P, lax
from tinyjax.errors import ArgumentError, ExportError
from tinyjax.export import Exported, deserialize, export
from tinyjax.sharding import AxisType

A = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
W = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)


def mesh_of(lib: Any, kind: str = "Auto", first: int = 0) -> Any:
    devices = np.array(lib.devices()[first : first + 4]).reshape(2, 2)
    return lib.sharding.Mesh(devices, ("x", "y"), (getattr(lib.sharding.AxisType, kind),) * 2)


MESH = mesh_of(tinyjax)


def sharding_by(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


def product(lib: Any) -> Any:
    rows, whole, both = [
        lib.sharding.NamedSharding(mesh_of(lib), lib.P(*spec)) for spec in (("x",), (), ("x", "y"))
    ]
    f = lambda a, w: lib.numpy.sin(a) @ w  # noqa: E731 (of either library)
    return lib.jit(f, in_shardings=(rows, whole), out_shardings=both)


def exported_of(f: Any, *args: Any, **options: Any) -> Any:
    make: Any = export(f, **options)
    return make(*args)


def layers(a: Any, w: Any) -> Any:
    def layer(h: Any, _: Any) -> Any:
        return lax.with_sharding_constraint(tinyjax.numpy.tanh(h @ w), sharding_by("x", "y")), None

    return lax.scan(layer, lax.with_sharding_constraint(a, sharding_by("x")), None, length=3)[0]


def on_two_meshes(a: Any, w: Any) -> Any:
    line = tinyjax.make_mesh((4,), ("z",), AxisType.Auto)
    turned = tinyjax.shard_map(
        lambda a: a * lax.axis_index("z") - lax.psum(a, "z"),
        mesh=line,
        in_specs=P("z"),
        out_specs=P("z"),
    )
    return lax.with_sharding_constraint(turned(a) @ w, sharding_by("x", "y"))


def gathered(a: Any, w: Any) -> Any:
    def own(a: Any, w: Any) -> Any:
        whole = lax.all_gather(w, "x", tiled=True)
        return a @ whole + lax.pmean(lax.ppermute(a, "x", [(0, 1), (1, 0)]).sum(), "x")

    return tinyjax.shard_map(own, mesh=MESH, in_specs=(P("x"), P("x")), out_specs=P("x"))(a, w)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "shardings of jit": product(tinyjax),
    "constraints in a loop": tinyjax.jit(layers),
    "shard_map": tinyjax.jit(gathered),
    "two meshes": tinyjax.jit(on_two_meshes),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls(name: str) -> None:
    f = PROGRAMS[name]
    a, w = tinyjax.device_put((A, W), (sharding_by("x"), sharding_by()))
    found = exported_of(f, a, w)
    value, gradient = f(a, w), tinyjax.grad(lambda *xs: (f(*xs) ** 2).sum(), (0, 1))(a, w)
    assert found.nr_devices == 4
    for exported in (found, deserialize(found.serialize(vjp_order=1))):
        for call in (exported.call, tinyjax.jit(exported.call)):
            out = call(a, w)
            np.testing.assert_allclose(out, value, rtol=1e-5, atol=1e-5)
            assert out.sharding.is_equivalent_to(value.sharding, 2)
        loss = lambda *xs, e=exported: (e.call(*xs) ** 2).sum()  # noqa: E731 (of the loop)
        for part, expected in zip(tinyjax.grad(loss, (0, 1))(a, w), gradient, strict=True):
            np.testing.assert_allclose(part, expected, rtol=1e-4, atol=1e-4)


def test_as_jax_says() -> None:
    ours, theirs = exported_of(product(tinyjax), A, W), jax.export.export(product(jax))(A, W)
    for what in ("nr_devices", "in_shardings_hlo", "out_shardings_hlo"):
        assert getattr(ours, what) == getattr(theirs, what)
    for what in ("in_shardings_jax", "out_shardings_jax"):
        specs = [
            [sharding.spec for sharding in getattr(exported, what)(mesh_of(lib))]
            for exported, lib in ((ours, tinyjax), (theirs, jax))
        ]
        assert repr(specs[0]) == repr(specs[1]).replace("PartitionSpec", "P")
    assert '"x"=2, "y"=2' in ours.mlir_module()
    assert ours.vjp().nr_devices == 4


def test_other_devices() -> None:
    exported = deserialize(exported_of(product(tinyjax), A, W).serialize())
    line = tinyjax.make_mesh((4,), ("z",), AxisType.Auto)
    a = tinyjax.device_put(A, NamedSharding(line, P(None, "z")))  # it is moved
    np.testing.assert_allclose(exported.call(a, W), np.sin(A) @ W, rtol=1e-5, atol=1e-5)
    with tinyjax.set_mesh(line):  # of devices that arguments on the host do not name
        out = tinyjax.jit(exported.call)(A, W)
    np.testing.assert_allclose(out, np.sin(A) @ W, rtol=1e-5, atol=1e-5)
    assert out.sharding.spec == P("x", "y")


def test_one_device() -> None:
    alone = NamedSharding(tinyjax.make_mesh((1,), ("z",), AxisType.Auto), P("z"))
    f = tinyjax.jit(lambda a: lax.with_sharding_constraint(2 * a, alone))
    np.testing.assert_allclose(exported_of(f, A).call(A), 2 * A)


def test_types() -> None:
    explicit = mesh_of(tinyjax, "Explicit")
    with tinyjax.set_mesh(explicit):
        a = tinyjax.reshard(A, P("x"))
        along_y = tinyjax.shard_map(
            tinyjax.numpy.sin, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"}
        )
        for f, told in ((tinyjax.numpy.sin, "float32[8@x,4]"), (along_y, "float32[8@x,4@y]")):
            exported: Exported = deserialize(exported_of(tinyjax.jit(f), a).serialize(vjp_order=1))
            assert str(exported.out_avals[0]) == told
            assert tinyjax.typeof(exported.call(a)) is tinyjax.typeof(tinyjax.jit(f)(a))
            gradient = tinyjax.grad(lambda a, e=exported: e.call(a).sum())(a)
            np.testing.assert_allclose(gradient, np.cos(A), rtol=1e-5)


def test_refused() -> None:
    exported = exported_of(product(tinyjax), A, W)
    with raises(ArgumentError, match="for 4 devices, but is called with arguments on 1"):
        exported.call(A, W)
    pair = tinyjax.make_mesh((2,), ("z",), AxisType.Auto)
    with raises(ArgumentError, match="for 4 devices, but is called with arguments on 2"):
        exported.call(tinyjax.device_put(A, NamedSharding(pair, P("z"))), W)
    with raises(ArgumentError, match="for 4 devices"):
        exported.in_shardings_jax(pair)
    with raises(ExportError, match="for several devices"):
        exported_of(product(tinyjax), A, W, platforms=["cpu", "cuda"])
    calls = tinyjax.jit(
        lambda a: tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((8, 4), np.float32), a),
        in_shardings=sharding_by("x"),
    )
    with raises(ExportError, match="calls Python functions"):
        exported_of(calls, A)
