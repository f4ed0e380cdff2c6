"""Meshes, specifications and shardings, held against jax's."""

import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import NamedSharding, P, config, sharding
from tinyjax._extensions.parallel.meshes import Mesh
from tinyjax.core.devices import own_device_count
from tinyjax.core.tracing.encoding import encode
from tinyjax.errors import ArgumentError, ShardingError

SHAPE = (8, 4, 2)
SPECS: list[tuple[Any, ...]] = [
    (),
    ("x",),
    ("y", "x"),
    (None, "x"),
    (("x", "y"),),
    (None, ("y", "x")),
    ("x", None, "y"),
    ((), "y", None),
]
ORDERS = [(0, 1, 2, 3), (2, 0, 3, 1)]


def meshes(order: tuple[int, ...] = ORDERS[0]) -> tuple[Mesh, Any]:
    """The same mesh of two by two devices, ours and theirs."""
    pair: list[Any] = []
    for library in (tinyjax, jax):
        grid = devices(library, *order).reshape(2, 2)
        pair.append(library.sharding.Mesh(grid, ("x", "y")))
    return pair[0], pair[1]


def parts(sharding: Any) -> dict[int, Any]:
    return {device.id: part for device, part in sharding.devices_indices_map(SHAPE).items()}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_arrays_are_divided_as_by_jax(spec: tuple[Any, ...], order: tuple[int, ...]) -> None:
    mesh, theirs_mesh = meshes(order)
    ours = NamedSharding(mesh, P(*spec))
    theirs = jax.NamedSharding(theirs_mesh, jax.P(*spec))
    assert repr(ours) == repr(theirs)
    assert parts(ours) == parts(theirs)
    assert ours.shard_shape(SHAPE) == theirs.shard_shape(SHAPE)
    for name in ("num_devices", "is_fully_replicated", "is_fully_addressable", "memory_kind"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert {d.id for d in ours.device_set} == {d.id for d in theirs.device_set}
    for other in SPECS:
        equivalent = ours.is_equivalent_to(NamedSharding(mesh, P(*other)), 3)
        assert equivalent == theirs.is_equivalent_to(
            jax.NamedSharding(theirs_mesh, jax.P(*other)), 3
        )


def test_names_of_jax() -> None:
    ours, theirs = meshes()
    assert (repr(ours), str(ours)) == (repr(theirs), str(theirs))
    for name in ("axis_names", "axis_sizes", "size", "empty", "shape", "shape_tuple"):
        assert getattr(ours, name) == getattr(theirs, name)
    np.testing.assert_array_equal(ours.device_ids, theirs.device_ids)
    assert ours.devices.tolist() == np.array(tinyjax.devices(), object).reshape(2, 2).tolist()
    single = tinyjax.devices()[1]
    assert repr(sharding.SingleDeviceSharding(single)) == repr(
        jax.sharding.SingleDeviceSharding(jax.devices()[1])
    )
    for spec in SPECS:
        assert repr(P(*spec)) == repr(jax.P(*spec))
        assert len(P(*spec)) == len(jax.P(*spec))
        assert [*P(*spec)] == [*jax.P(*spec)]
    sums = [
        lib.P("x", unreduced={"y"}, reduced={"a"}) + lib.P(None, unreduced={"z"}, reduced={"b"})
        for lib in (tinyjax, jax)
    ]
    for part in ("unreduced", "reduced"):
        assert getattr(sums[0], part) == getattr(sums[1], part)


def test_equal_ones_are_one() -> None:
    mesh, same = meshes()[0], meshes()[0]
    assert mesh == same
    assert hash(mesh) == hash(same)
    a, b = NamedSharding(mesh, P("x")), NamedSharding(same, P(("x",)))
    assert a == b
    assert len({a, b, NamedSharding(mesh, P("y"))}) == 2
    assert encode(a) == encode(b) != encode(NamedSharding(mesh, P("y")))
    assert encode(a) != encode(NamedSharding(meshes(ORDERS[1])[0], P("x")))
    assert pickle.loads(pickle.dumps(a)) == a


def devices(library: Any, *ids: int) -> Any:
    return np.array([library.devices()[i] for i in ids], object)


MISTAKES: list[tuple[str, Callable[[Any], Any]]] = [
    ("names the axis 'z'", lambda lib: lib.NamedSharding(mesh_of(lib), lib.P("z"))),
    ("an axis twice", lambda lib: lib.NamedSharding(mesh_of(lib), lib.P("x", "x"))),
    ("no multiple of 2", lambda lib: lib.device_put(np.ones(7), sharding_by(lib, "x"))),
    (
        "no multiple of 4",
        lambda lib: lib.device_put(np.ones((8, 6)), sharding_by(lib, None, ("x", "y"))),
    ),
    ("at least 1 axes", lambda lib: lib.device_put(np.float32(1), sharding_by(lib, "x"))),
    (
        "no multiple of 2",
        lambda lib: lib.jit(lambda x: x, in_shardings=sharding_by(lib, "x"))(np.ones(7)),
    ),
    (
        "no multiple of 2",
        lambda lib: lib.jit(lambda: np.ones(7), out_shardings=sharding_by(lib, "x"))(),
    ),
    ("set_mesh", lambda lib: lib.lax.with_sharding_constraint(np.ones(4), lib.P("x"))),
    ("set_mesh", lambda lib: lib.jit(lambda x: x, in_shardings=lib.P("x"))(np.ones(4))),
    ("takes 8 devices", lambda lib: lib.make_mesh((8,), ("x",))),
    ("a name of its own", lambda lib: lib.make_mesh((2,), ("x", "y"))),
    ("a name of its own", lambda lib: lib.sharding.Mesh(devices(lib, 0, 1), ("x", "y"))),
    (
        "on the devices 0, 1, 2, 3 and on 0, 1",
        lambda lib: lib.numpy.add(
            lib.device_put(np.ones(4), sharding_by(lib, "x")),
            lib.device_put(
                np.ones(4),
                lib.NamedSharding(lib.sharding.Mesh(devices(lib, 0, 1), "z"), lib.P("z")),
            ),
        ),
    ),
]


def mesh_of(library: Any) -> Any:
    return library.sharding.Mesh(devices(library, 0, 1, 2, 3).reshape(2, 2), ("x", "y"))


def sharding_by(library: Any, *spec: Any) -> Any:
    return library.NamedSharding(mesh_of(library), library.P(*spec))


@pytest.mark.wrong_types
@pytest.mark.parametrize(("message", "call"), MISTAKES, ids=lambda x: x if type(x) is str else "")
def test_mistakes(message: str, call: Callable[[Any], Any]) -> None:
    with raises(ShardingError, match=message):
        call(tinyjax)
    with pytest.raises(Exception):  # noqa: B017, PT011 (jax has a class for each)
        call(jax)


def test_meshes_that_jax_takes() -> None:
    with raises(ShardingError, match="a name of its own"):
        tinyjax.make_mesh((2, 2), ("x", "x"))
    with raises(ShardingError, match="a mesh is made of"):
        Mesh(np.array([1, 2]), ("x",))


def test_the_number_of_devices_is_read_once() -> None:
    assert len(tinyjax.devices()) == tinyjax.device_count() == jax.device_count() == 4
    config.update("num_cpu_devices", 4)
    with raises(ArgumentError, match="TINYJAX_NUM_CPU_DEVICES=8"):
        config.update("num_cpu_devices", 8)
    with raises(ArgumentError, match="number of devices"):
        config.update("num_cpu_devices", 0)


@pytest.mark.parametrize(("counts", "number"), [("", 1), ("3", 3), ("3 5", 5), ("2 5 0", 1)])
def test_the_flag_that_jax_reads(monkeypatch: pytest.MonkeyPatch, counts: str, number: int) -> None:
    flag = "--xla_force_host_platform_device_count="
    monkeypatch.setenv("XLA_FLAGS", " ".join(f"{flag}{n}" for n in counts.split()))
    monkeypatch.setattr(config, "settle", lambda name: -1)
    assert own_device_count() == number


def test_a_mesh_in_force() -> None:
    mesh, other = mesh_of(tinyjax), tinyjax.make_mesh((4,), "z")
    assert sharding.get_mesh().empty
    with tinyjax.set_mesh(mesh):
        assert sharding.get_mesh() == mesh
        with other:
            assert tinyjax.device_put(np.ones(4), P("z")).sharding == NamedSharding(other, P("z"))
        assert tinyjax.device_put(np.ones(4), P("y")).sharding == NamedSharding(mesh, P("y"))
    assert sharding.get_mesh().empty
    for_good = tinyjax.set_mesh(mesh)
    assert sharding.get_mesh() == mesh
    for_good.__exit__(None, None, None)
    assert sharding.get_mesh().empty


def test_specifications_are_sequences() -> None:
    for spec in (P, jax.sharding.PartitionSpec):
        x = spec("a", ("b", "c"), None, "a")
        assert (x.index(None), x.index(("b", "c")), x.count("a"), len(x)) == (2, 1, 2, 4)
        one, other = spec("a"), spec("b")
        for joined in (one + other, one + other.partitions, one.partitions + other):
            assert joined == spec("a", "b")
        with raises(ValueError, match="not in"):
            x.index("z")
    meshes = [
        tinyjax.sharding.AbstractMesh((1,) * len(types), tuple("xy"[: len(types)]), types)
        for auto, explicit in [(sharding.AxisType.Auto, sharding.AxisType.Explicit)]
        for types in ((), (auto,), (explicit,), (auto, explicit))
    ]
    for mesh in (tinyjax.make_mesh((1,), ("x",)), *meshes):
        theirs = jax.sharding.AbstractMesh(
            mesh.axis_sizes,
            mesh.axis_names,
            tuple([jax.sharding.AxisType[of.name] for of in mesh.axis_types]),
        )
        for kind in ("auto", "explicit", "manual"):
            name = f"are_all_axes_{kind}"
            assert getattr(mesh, name) == getattr(theirs, name)


def test_a_function_is_traced_anew_for_another_mesh() -> None:
    @tinyjax.jit
    def f(x: Any) -> Any:
        return tinyjax.lax.with_sharding_constraint(x, P("x"))

    for shape in ((2,), (4,)):
        mesh = tinyjax.make_mesh(shape, ("x",))
        with tinyjax.set_mesh(mesh):
            assert f(np.ones(4)).sharding == NamedSharding(mesh, P("x"))


def test_other_axes() -> None:
    found = []
    for lib in (jax, tinyjax):
        auto, explicit = lib.sharding.AxisType.Auto, lib.sharding.AxisType.Explicit
        mesh = lib.make_mesh((2, 2), ("x", "y"), (auto, explicit))
        empty = mesh.abstract_mesh
        rows = lib.NamedSharding(mesh, lib.P("x"))
        meshes_ = [
            mesh.update(axis_names=("a", "b")),
            mesh.update(axis_types=(explicit, explicit)),
            mesh.update(devices=mesh.devices[::-1]),
            empty.update(axis_sizes=(4, 1)),
            empty.update(axis_names=("a", "b"), axis_types=(auto, auto)),
            empty.update_axis_types({"x": explicit}),
            rows.update(mesh=mesh.update(axis_names=("x", "z"))).mesh,
        ]
        shown = [(m.axis_names, m.axis_sizes, str(m.axis_types)) for m in meshes_]
        ids = [d.id for d in meshes_[2].devices.flat]
        kinds = [rows.update(memory_kind="pinned_host").memory_kind, rows.update().memory_kind]
        found.append((shown, ids, kinds, str(rows.update(spec=lib.P("y")).spec[0])))
    assert found[0] == found[1]
    assert meshes()[0](sharding.get_mesh)() == meshes()[0]
    with raises(ShardingError, match=r"types of \['q'\]"):
        meshes()[0].abstract_mesh.update_axis_types({"q": sharding.AxisType.Auto})


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_types_of_examples_lack_the_axis_that_is_mapped(axis: int) -> None:
    types: list[str] = []
    for lib in (jax, tinyjax):
        explicit = lib.sharding.AxisType.Explicit

        def example(x: Any, lib: Any = lib) -> Any:
            types.append(str(lib.typeof(x)))
            return x

        with lib.set_mesh(lib.make_mesh((2, 2), ("x", "y"), (explicit, explicit))):
            whole = lib.device_put(np.zeros((2, 4, 6), np.float32), lib.P("x", None, "y"))
            lib.eval_shape(lib.vmap(example, axis), whole)
    theirs, ours = types
    assert ours == theirs == ("float32[4,6@y]", "float32[2@x,6@y]", "float32[2@x,4]")[axis]


@pytest.mark.wrong_types
def test_types_of_axes() -> None:
    kinds = sharding.AxisType
    grid = np.array(tinyjax.devices()[:4]).reshape(2, 2)
    both = sharding.Mesh(grid, ("x", "y"), (kinds.Explicit, kinds.Auto))
    assert both.axis_types == both.abstract_mesh.axis_types == (kinds.Explicit, kinds.Auto)
    assert pickle.loads(pickle.dumps(both)) == both != meshes()[0]
    assert encode(NamedSharding(both, P("x"))) != encode(NamedSharding(meshes()[0], P("x")))
    manual = both.update(axis_types=(kinds.Explicit, kinds.Manual))
    with raises(ShardingError, match="Manual within shard_map alone"):
        tinyjax.set_mesh(manual)
    wrongs: list[Any] = [(kinds.Explicit,), "Explicit"]
    for wrong in wrongs:
        with raises(ArgumentError, match="axis_types"):
            tinyjax.make_mesh((2, 2), ("x", "y"), wrong)
    with raises(AttributeError, match=r"'NamedShardin'.*Did you mean 'NamedSharding'"):
        getattr(sharding, "NamedShardin")  # noqa: B009


def test_types_tell_what_devices_share_as_in_jax() -> None:
    types: list[list[str]] = []
    for lib in (tinyjax, jax):
        explicit: Any = (lib.sharding.AxisType.Explicit,) * 2
        own: list[Any] = []

        def body(x: Any, w: Any, lib: Any = lib, own: list[Any] = own) -> Any:
            parts = lib.lax.pcast(x, "y", to="varying")
            shared = lib.lax.pcast(w, "x", to="reduced")
            values = (x, w, parts, lib.lax.psum(parts, "y"), shared, x * shared)
            own.extend(lib.typeof(value).mat for value in values)
            return x

        with lib.set_mesh(lib.make_mesh((2, 2), ("x", "y"), explicit)):
            spec = lib.P("x")
            x = lib.sharding.reshard(np.ones(4, np.float32), spec)
            lib.shard_map(body, in_specs=(spec, lib.P()), out_specs=spec)(x, np.float32(1))
        own.append(lib.typeof(np.ones(3)).mat)
        own.append(lib.sharding.ManualAxisType(unreduced=frozenset("x")).to_ct_mat())
        types.append(
            [f"{[*map(sorted, (x.varying, x.unreduced, x.reduced))]} {x.empty}" for x in own]
        )
    assert types[0] == types[1]
    with raises(ArgumentError, match="an axis is varying, unreduced or reduced"):
        sharding.ManualAxisType(varying=frozenset("x"), reduced=frozenset("x"))


def test_types_of_tangents_by_older_names() -> None:
    for x in (np.float32(1), np.ones(3), np.arange(3)):
        aval = tinyjax.typeof(x)
        assert aval.at_least_vspace() is aval.to_tangent_aval()
    first = tinyjax.devices()[0]
    assert sharding.make_single_device_sharding(first) == sharding.SingleDeviceSharding(first)
