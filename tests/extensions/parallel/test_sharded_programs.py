"""Programs on several devices: arguments, results, constraints, donation, caches."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, NamedSharding, P, cache, config, lax, scipy
from tinyjax.errors import ArgumentError, DonatedArrayError, ShardingError
from tinyjax.sharding import AxisType, SingleDeviceSharding

MESH = tinyjax.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
DATA = np.arange(16, dtype=np.float32).reshape(4, 4)
#: where arguments of programs lie
PLACES = [None, P(), P("x"), P("y", "x"), P(None, ("x", "y"))]


def sharding_by(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


def put(x: Any, spec: P | None) -> Any:
    return x if spec is None else tinyjax.device_put(x, NamedSharding(MESH, spec))


def f(x: Any, y: Any) -> tuple[Any, Any]:
    return x @ y, jnp.sin(x).sum(0)


@pytest.mark.parametrize("second", PLACES, ids=repr)
@pytest.mark.parametrize("first", PLACES, ids=repr)
@pytest.mark.sampled(5)
def test_arguments_lie_anywhere(first: P | None, second: P | None) -> None:
    expected = f(DATA, DATA + 1)
    given = put(DATA, first), put(DATA + 1, second)
    free = tinyjax.jit(f)
    fixed = tinyjax.jit(
        f,
        in_shardings=(sharding_by("x"), None),
        out_shardings=(sharding_by("x", "y"), sharding_by("y")),
    )
    for program in (f, free, fixed, tinyjax.jit(free)):
        for found, wanted in zip(program(*given), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-5)
    assert [out.sharding for out in fixed(*given)] == [sharding_by("x", "y"), sharding_by("y")]


def test_where_results_lie() -> None:
    x = put(DATA, P("x", "y"))
    double = tinyjax.jit(lambda x: 2 * x)
    assert double(x).sharding == sharding_by("x", "y")
    assert tinyjax.jit(lambda x: (x, x.T, x.sum()))(x)[1].sharding == sharding_by("y", "x")
    assert tinyjax.jit(lambda x: x[:3])(x).sharding.shard_shape((3, 4))[0] == 3  # cannot be halved
    assert tinyjax.jit(jnp.ones_like, out_shardings=sharding_by("y"))(DATA).sharding == sharding_by(
        "y"
    )
    assert tinyjax.jit(
        lambda: jnp.ones(4), out_shardings=sharding_by("y")
    )().sharding == sharding_by("y")


def test_prefixes() -> None:
    listed = tinyjax.jit(
        lambda x, y: [(x, [y])],
        in_shardings=[sharding_by("x"), None],
        out_shardings=[(sharding_by("y"), [sharding_by("x")])],
    )
    ((first, (second,)),) = listed(DATA, DATA)
    assert (first.sharding, second.sharding) == (sharding_by("y"), sharding_by("x"))
    g = tinyjax.jit(
        lambda tree, n: {"out": tree, "n": n},
        in_shardings=({"a": sharding_by("x"), "b": sharding_by("y")}, None),
        out_shardings={"out": sharding_by("x", "y"), "n": None},
    )
    found = g({"a": DATA, "b": [DATA, DATA]}, 3)
    assert {leaf.sharding for leaf in tinyjax.tree.leaves(found["out"])} == {sharding_by("x", "y")}
    h = tinyjax.jit(lambda x, y, n: (x * n, y), in_shardings=sharding_by("x"), static_argnums=2)
    assert [out.sharding for out in h(DATA, DATA, 3)] == [sharding_by("x"), sharding_by("x")]
    with raises(ValueError, match="shardings"):
        tinyjax.jit(lambda x: x, in_shardings=(sharding_by("x"), sharding_by("y")))(DATA)


def test_another_device() -> None:
    third = SingleDeviceSharding(tinyjax.devices()[2])
    for program in (
        tinyjax.jit(lambda x: x + 1, device=tinyjax.devices()[2]),
        tinyjax.jit(lambda x: x + 1, in_shardings=third),
        tinyjax.jit(lambda x: x + 1, out_shardings=third),
        lambda x: tinyjax.device_put(x, tinyjax.devices()[2]) + 1,
    ):
        result: Array = program(DATA)
        assert result.sharding == third
        np.testing.assert_array_equal(np.asarray(result), DATA + 1)
    with raises(ArgumentError, match="not both"):
        tinyjax.jit(f, device=tinyjax.devices()[2], in_shardings=third)


def constrained(x: Any) -> Any:
    return (lax.with_sharding_constraint(jnp.sin(x), sharding_by("y", "x")) ** 2).sum(1)


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "itself": constrained,
    "grad": tinyjax.grad(lambda x: constrained(x).sum()),
    "jvp": lambda x: tinyjax.jvp(constrained, (x,), (x + 1,))[1],
    "linearize": lambda x: tinyjax.linearize(constrained, x)[1](x),
    "vmap": lambda x: tinyjax.vmap(constrained)(jnp.stack([x, x + 1])),
    "vmap of grad": lambda x: tinyjax.vmap(tinyjax.grad(lambda x: constrained(x).sum()))(x[None]),
    "scan": lambda x: lax.scan(lambda c, _: (c + constrained(x), None), x[0], None, length=3)[0],
    # another one each time: a program is kept, with the constraint or without
    "in a program": lambda x: 1.0 * tinyjax.jit(lambda y: 1.0 * constrained(y))(x),
    "checkpoint": tinyjax.grad(lambda x: tinyjax.checkpoint(constrained)(x).sum()),
}


@pytest.mark.parametrize("spec", [None, P("x"), P("x", "y")], ids=repr)
@pytest.mark.parametrize("name", TRANSFORMED)
@pytest.mark.sampled(3)
def test_constraints_are_transformed(name: str, spec: P | None) -> None:
    transformed, before = TRANSFORMED[name], lax.with_sharding_constraint
    lax.with_sharding_constraint = lambda x, shardings: x
    try:
        expected = np.asarray(transformed(jnp.asarray(DATA)))
    finally:
        lax.with_sharding_constraint = before
    for call in (transformed, tinyjax.jit(transformed)):
        found = call(put(jnp.asarray(DATA), spec))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


def test_constraints_reach_the_compiler() -> None:
    def text(f: Callable[..., Any], *args: Any) -> str:
        return tinyjax.jit(f).lower(*args).as_text()

    assert 'sdy.sharding_constraint"' in text(constrained, DATA)
    assert '"sdy.sharding_constraint"' in text(tinyjax.grad(lambda x: constrained(x).sum()), DATA)
    assert '[{?}, {"y"}, {"x"}]' in text(tinyjax.vmap(constrained), DATA[None])
    parts = tinyjax.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("x"), out_specs=P("x"))
    whole = lambda x: lax.pad(parts(x), 0.0, [(-1, 1, 0), (0, 0, 0)])  # noqa: E731
    assert 'sdy.sharding_constraint"' in text(whole, put(DATA, P("x")))
    free = P("x", P.UNCONSTRAINED)
    f = tinyjax.jit(lambda x: lax.with_sharding_constraint(x, NamedSharding(MESH, free)))
    assert '[{"x"}, {?}]' in f.lower(DATA).as_text()
    for argument in (DATA, put(DATA, P(None, "y")), put(DATA, P(None, "x"))):
        assert f(argument).sharding.shard_shape((4, 4))[0] == 2
        np.testing.assert_array_equal(np.asarray(f(argument)), DATA)
    eager = lax.with_sharding_constraint(put(DATA, P(None, "y")), NamedSharding(MESH, free))
    assert eager.sharding == sharding_by("x", "y")


@pytest.mark.parametrize("spec", [None, ("x",), (None, "y")])
def test_spmd_axis_name_divides_examples(spec: tuple[Any, ...] | None) -> None:
    found = []
    for lib in (jax, tinyjax):
        mesh = lib.make_mesh((2, 2), ("x", "y"), (lib.sharding.AxisType.Auto,) * 2)

        def f(x: Any, lib: Any = lib, mesh: Any = mesh) -> Any:
            rows = lib.NamedSharding(mesh, lib.P("x"))
            return lib.lax.with_sharding_constraint(lib.numpy.sin(x), rows)

        g = lib.vmap(f, spmd_axis_name="y")
        x = DATA if spec is None else lib.device_put(DATA, lib.NamedSharding(mesh, lib.P(*spec)))
        outs = [call(x) for call in (g, lib.jit(g), lib.vmap(lib.jit(f), spmd_axis_name=("y",)))]
        outs.append(lib.jit(lib.grad(lambda x, g=g: g(x).sum()))(x))
        found.append([(np.asarray(x), x.sharding.shard_shape(x.shape)) for x in outs])
        with raises(ValueError, match=r"spmd_axis_name|twice"):
            lib.vmap(f, spmd_axis_name="x")(x)
    for (a, parts), (b, others) in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
        assert parts == others


def test_spmd_axis_name_divides_examples_of_a_shard_map() -> None:
    def mapped_over(f: Any, out: Any, specs: Any = "x", lib: Any = tinyjax) -> Any:
        mesh = lib.make_mesh((2, 2), ("x", "y"), (lib.sharding.AxisType.Auto,) * 2)
        options = {"mesh": mesh, "in_specs": lib.P(specs), "out_specs": lib.P(out)}
        return lib.vmap(lib.shard_map(f, **options, check_vma=False), spmd_axis_name="y")

    found = []
    for lib in (jax, tinyjax):
        index = mapped_over(
            lambda x, lib=lib: lib.numpy.sin(x) + lib.lax.axis_index("y"), "x", lib=lib
        )
        across = mapped_over(lambda x, lib=lib: lib.lax.psum(x, "x"), None, lib=lib)
        along = mapped_over(lambda x, lib=lib: lib.lax.psum(x, "y"), "x", lib=lib)
        outs = [
            f(DATA) for call in (lib.jit, lambda f: f) for f in map(call, (index, across, along))
        ]
        outs.append(lib.jit(lib.grad(lambda x, f=index: (f(x) ** 2).sum()))(DATA))
        found.append([(np.asarray(x), x.sharding.shard_shape(x.shape)) for x in outs])
        with raises(ValueError, match=r"spmd_axis_name .*cannot appear in"):
            mapped_over(lambda x: x, "y", "y", lib)(DATA)
    for i, ((a, parts), (b, others)) in enumerate(zip(*found, strict=True)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
        assert parts == others or i > 2  # what is on the host is not divided by eager functions
    with raises(ShardingError, match="divides 3 examples over y, of 2 devices"):
        mapped_over(lambda x: x, "x")(DATA[:3])


def test_each_device_of_a_pmap_calls_a_function_of_the_host() -> None:
    def program(lib: Any) -> Any:
        def f(x: Any) -> Any:
            return lib.pure_callback(lambda x: np.sort(x)[::-1], x, x)

        mapped = lib.pmap(f, axis_name="i")
        return mapped(DATA), lib.pmap(f, in_axes=1, out_axes=1)(DATA)

    for found, expected in zip(program(tinyjax), program(jax), strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_gradients_go_back_to_the_devices_of_arguments() -> None:
    first = tinyjax.sharding.Mesh(tinyjax.devices()[:2], "x")
    second = tinyjax.sharding.Mesh(tinyjax.devices()[2:4], "x")
    stage = tinyjax.jit(lambda w, x: jnp.tanh(x @ w))

    def loss(w: Any, v: Any, x: Any) -> Any:
        there = tinyjax.device_put(stage(w, x), NamedSharding(second, P("x")))
        return (stage(v, there) ** 2).sum()

    # small, since JAX's slopes of tanh lose digits where it is near 1
    whole = [jnp.asarray(DATA / 30), jnp.asarray(DATA.T / 30), jnp.asarray(DATA / 9)]
    meshes = [first, second, first]
    placed = [
        tinyjax.device_put(x, NamedSharding(mesh, P("x")))
        for x, mesh in zip(whole, meshes, strict=True)
    ]
    jnp_ = jax.numpy
    same = jax.grad(lambda w, v, x: (jnp_.tanh(jnp_.tanh(x @ w) @ v) ** 2).sum(), (0, 1, 2))
    expected = same(*map(np.asarray, whole))
    for a, b, mesh in zip(tinyjax.grad(loss, (0, 1, 2))(*placed), expected, meshes, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6)
        assert a.devices() == {*mesh.devices}


def test_a_mesh_without_devices_means_that_of_the_arguments() -> None:
    rows = NamedSharding(MESH.abstract_mesh, P("x"))
    x = put(DATA, P("y"))
    for call in (lambda f: f, tinyjax.jit):
        found = call(lambda x: lax.with_sharding_constraint(x, rows) * 2)(x)
        assert found.sharding == sharding_by("x")
    for other in (DATA, put(DATA, None)):
        with raises(ShardingError, match="names no devices"):
            lax.with_sharding_constraint(other, rows)


def test_inside_a_program_device_put_is_a_constraint() -> None:
    g = tinyjax.jit(lambda x: tinyjax.device_put(x * 2, sharding_by("x", "y")))
    assert g(DATA).sharding == sharding_by("x", "y")


def test_calls_like_earlier_ones_on_one_device() -> None:
    # those take a short way, which knows only arrays on the first device
    for first in (DATA, jnp.asarray(DATA)):
        flat, nested = tinyjax.jit(lambda x: 2 * x), tinyjax.jit(lambda tree: 2 * tree["x"])
        for given in (first, put(DATA, P("x")), put(DATA, P("x")), first, put(DATA, P("y"))):
            for found in (flat(given), nested({"x": given})):
                np.testing.assert_array_equal(np.asarray(found), 2 * DATA)
                assert found.committed == (given is not first)


def test_closed_over_arrays() -> None:
    w = put(DATA, P("x"))
    g = tinyjax.jit(lambda x: x @ w)
    np.testing.assert_allclose(np.asarray(g(DATA)), DATA @ DATA)
    gradient = tinyjax.grad(lambda x: (x @ w).sum())(jnp.asarray(DATA))
    np.testing.assert_allclose(np.asarray(gradient), np.ones((4, 4)) @ DATA.T)


def test_repeated_calls_take_along_what_is_closed_over() -> None:
    table = jnp.arange(4.0)
    program = tinyjax.jit(lambda x: x * table)
    for i in range(4):
        found = program(put(DATA + i, P("x")))
        np.testing.assert_array_equal(np.asarray(found), (DATA + i) * np.arange(4))


def test_donation() -> None:
    update = tinyjax.jit(lambda state, x: (state + x, x.sum()), donate_argnums=0)
    state = put(DATA, P("x", "y"))
    after, _ = update(state, put(DATA, P("x")))
    assert state.is_deleted()
    with pytest.raises(DonatedArrayError):
        update(state, DATA)
    with pytest.raises(DonatedArrayError):
        state + 1
    np.testing.assert_array_equal(np.asarray(after), 2 * DATA)
    moved = put(DATA, P("y"))  # is not what the program was compiled for
    compiled = update.lower(after, DATA).compile()
    np.testing.assert_array_equal(np.asarray(compiled(moved, DATA)[0]), 2 * DATA)
    host = jnp.asarray(DATA)
    np.testing.assert_array_equal(np.asarray(compiled(host, DATA)[0]), 2 * DATA)
    np.testing.assert_array_equal(host, DATA)
    twice = tinyjax.jit(lambda a, b: (a + 1, b * 2), donate_argnums=1)
    for call in (twice, twice.lower(after, after).compile()):
        with raises(DonatedArrayError, match=r"an argument of .* is the same array"):
            call(after, after)
    assert not after.is_deleted()


def test_ahead_of_time() -> None:
    g = tinyjax.jit(lambda x: x * 2)
    like = tinyjax.ShapeDtypeStruct((4, 4), np.float32, sharding=sharding_by("x"))
    for lowered in (g.lower(like), g.lower(put(DATA, P("x")))):
        assert "sdy.mesh" in lowered.as_text()
        assert "sdy.mesh" in str(lowered.compiler_ir())
        compiled = lowered.compile()
        assert (compiled.out_info.shape, compiled.out_info.sharding) == ((4, 4), sharding_by("x"))
        for spec in PLACES:
            found = compiled(put(DATA, spec))
            assert found.sharding == sharding_by("x")
            np.testing.assert_array_equal(np.asarray(found), 2 * DATA)
    with tinyjax.set_mesh(MESH):
        assert tinyjax.ShapeDtypeStruct((4, 4), np.float32, sharding=P("x")) == like
    with raises(ShardingError, match="no mesh is in force"):
        tinyjax.ShapeDtypeStruct((4, 4), np.float32, sharding=P("x"))
    with raises(ArgumentError, match="compiled for one device"):
        g.lower(DATA).compile()(put(DATA, P("x")))


def test_programs_are_compiled_once() -> None:
    def program() -> Any:
        return tinyjax.jit(lambda x: jnp.tanh(x) * 3)

    x = put(DATA, P("y", "x"))
    program()(x)
    before = cache.info().memory.misses
    program()(x)
    program()(put(DATA + 1, P("y", "x")))
    assert cache.info().memory.misses == before
    program()(put(DATA, P("x")))
    assert cache.info().memory.misses == before + 1


def test_programs_are_kept_on_disk(tmp_path: Path) -> None:
    def program(x: Any) -> Any:
        return jnp.cosh(x).sum(0), x.T

    x = put(DATA, P("x", "y"))
    tinyjax.clear_caches()
    with config.scoped(cache_dir=str(tmp_path)):
        first = tinyjax.jit(program)(x)
        tinyjax.clear_caches()
        again = tinyjax.jit(program)(x)
        assert cache.info().disk.hits > 0
    for a, b in zip(first, again, strict=True):
        assert a.sharding == b.sharding
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def test_two_meshes_of_the_same_devices() -> None:
    line = NamedSharding(tinyjax.make_mesh((4,), "z", AxisType.Auto), P("z"))
    x, y = put(DATA, P("x", "y")), tinyjax.device_put(DATA, line)
    for program in (jnp.matmul, tinyjax.jit(jnp.matmul)):
        np.testing.assert_allclose(np.asarray(program(x, y)), DATA @ DATA)
        np.testing.assert_allclose(np.asarray(program(y, x)), DATA @ DATA)
    both = tinyjax.jit(
        lambda x: lax.with_sharding_constraint(x * 2, line), in_shardings=sharding_by("x")
    )
    assert both(DATA).sharding == line
    np.testing.assert_array_equal(np.asarray(both(DATA)), 2 * DATA)


def test_jit_turned_off() -> None:
    g = tinyjax.jit(lambda x: x + 1, out_shardings=sharding_by("x"))
    with tinyjax.disable_jit():
        np.testing.assert_array_equal(np.asarray(g(DATA)), DATA + 1)


@pytest.mark.parametrize("donated", [(), 0])
def test_calls_like_earlier_ones(donated: Any) -> None:
    """However arguments lie, and whatever was called before, a call computes the same."""
    scale = put(np.float32(3), P())

    @tinyjax.jit(donate_argnums=donated)
    def f(params: Any, y: Any) -> Any:
        return {"sum": (params["w"] @ y).sum(0) * scale, "next": params["w"] + y}

    for way, other in 2 * [*product(PLACES[:3], PLACES[:3])]:
        params, y = {"w": put(jnp.asarray(DATA), way)}, put(jnp.asarray(DATA), other)
        found = f(params, y)
        np.testing.assert_allclose(found["sum"], 3 * (DATA @ DATA).sum(0))
        np.testing.assert_array_equal(found["next"], 2 * DATA)
        assert not y.is_deleted()
        if donated == 0 and way is not None and way == other:  # others may not be of use
            assert params["w"].is_deleted()
            with raises(DonatedArrayError, match="donated"):
                f(params, y)


def test_jit_turned_off_after_calls() -> None:
    called: list[int] = []

    @tinyjax.jit
    def g(x: Array) -> Array:
        called.append(0)
        return x + 1

    for _ in range(3):
        g(put(DATA, P("x")))
    with tinyjax.disable_jit():
        g(put(DATA, P("x")))
    assert len(called) == 2


#: Of a library, an array and a sharding: an array, how whose specification is written.
WRITTEN: dict[str, Callable[[Any, Any, Any], Any]] = {
    "put": lambda lib, x, s: x,
    "sine": lambda lib, x, s: lib.numpy.sin(x),
    "sum": lambda lib, x, s: x + x,
    "transpose": lambda lib, x, s: x.T,
    "sum over an axis": lambda lib, x, s: x.sum(0),
    "reshape": lambda lib, x, s: x.reshape(8, 4, 2),
    "zeros_like": lambda lib, x, s: lib.numpy.zeros_like(x),
    "matmul": lambda lib, x, s: x @ np.eye(8, dtype=np.float32),
    "jit": lambda lib, x, s: lib.jit(lambda x: x * 2)(x),
    "jit, another shape": lambda lib, x, s: lib.jit(lambda x: x.T)(x),
    "out_shardings": lambda lib, x, s: lib.jit(lambda: lib.numpy.ones((8, 8)), out_shardings=s)(),
    "constraint": lambda lib, x, s: lib.lax.with_sharding_constraint(x, s),
    "constraint in a program": lambda lib, x, s: lib.jit(
        lambda x: lib.lax.with_sharding_constraint(x * 2, s)
    )(lib.device_put(np.ones((8, 8)), s.update(spec=lib.P())) if is_auto(s) else x),
    "reshard": lambda lib, x, s: x if is_auto(s) else lib.reshard(x, s.spec),
    "shard_map": lambda lib, x, s: lib.shard_map(
        lambda x: x * 2, mesh=s.mesh, in_specs=s.spec, out_specs=s.spec
    )(x),
    "shard_map in a program": lambda lib, x, s: lib.jit(
        lib.shard_map(lambda x: x * 2, mesh=s.mesh, in_specs=s.spec, out_specs=s.spec)
    )(x),
    "from single devices": lambda lib, x, s: lib.make_array_from_single_device_arrays(
        (8, 8), s, [shard.data for shard in x.addressable_shards]
    ),
    "scan": lambda lib, x, s: lib.lax.scan(lambda c, _: (c * 2, None), x, None, length=2)[0],
}


def is_auto(sharding: Any) -> bool:
    return bool(sharding.mesh.axis_types[0].name == "Auto")


@pytest.mark.sampled(6, always=("Auto-entries1", "Explicit-entries0"))
@pytest.mark.parametrize("entries", [("x", None), (), ("x",), (None, "y"), (("x", "y"), None)])
@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_specifications_are_written_as_in_jax(kind: str, entries: tuple[Any, ...]) -> None:
    """``P("x", None)`` means what ``P("x")`` does, but is not equal to it."""

    def specifications(lib: Any) -> dict[str, tuple[Any, ...]]:
        types = (getattr(lib.sharding.AxisType, kind),) * 2
        mesh = lib.make_mesh((2, 2), ("x", "y"), types)
        with lib.set_mesh(mesh):
            there = lib.NamedSharding(mesh, lib.P(*entries))
            x = lib.device_put(np.ones((8, 8), np.float32), there)
            return {name: tuple(f(lib, x, there).sharding.spec) for name, f in WRITTEN.items()}

    assert specifications(tinyjax) == specifications(jax)


#: What is computed of an array whose rows do not divide.
UNEVEN: dict[str, Any] = {
    "sums": lambda x: (x.sum(0), x.max(0), jnp.argmin(x, 0), x.mean()),
    "scans": lambda x: (jnp.cumsum(x, 0), jnp.sort(x, 0), x[::-1], jnp.roll(x, 2, 0)),
    "shapes": lambda x: (jnp.concatenate([x, x]), jnp.pad(x, 1), x.reshape(-1), x[2:5]),
    "products": lambda x: (x @ x.T, x.T @ x, jnp.linalg.norm(x), jnp.fft.fft(x, axis=0).real),
    "indices": lambda x: (x[jnp.array([6, 0, 3])], x.at[jnp.array([1, 6])].add(1), jnp.nanmax(x)),
    "loops": lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(3), x),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_what_is_no_multiple_is_padded_within_programs(name: str) -> None:
    x = np.cos(np.arange(21, dtype=np.float32)).reshape(7, 3)
    rows = NamedSharding(tinyjax.make_mesh((4,), ("x",), AxisType.Auto), P("x"))

    def program(x: Any) -> Any:
        return UNEVEN[name](lax.with_sharding_constraint(jnp.sin(x), rows))

    def whole(x: Any) -> Any:
        return UNEVEN[name](jnp.sin(x))

    def slope(f: Callable[[Any], Any], x: Any) -> Any:
        def loss(x: Any) -> Any:
            return sum(jnp.sum(y * y) for y in tinyjax.tree.leaves(f(x)) if y.dtype == "f4")

        return tinyjax.grad(loss)(x)

    on_devices = tinyjax.jit(lambda x: (program(x), slope(program, x)))(x)
    on_one = (whole(x), slope(whole, x))
    leaves = map(tinyjax.tree.leaves, (on_devices, on_one))
    for found, expected in zip(*leaves, strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-5)
    with raises(ShardingError, match="no multiple of 4"):
        lax.with_sharding_constraint(x, rows)


#: Of a stack of matrices, by LAPACK's routines.
OF_STACKS: dict[str, Any] = {
    "cholesky": jnp.linalg.cholesky,
    "qr": jnp.linalg.qr,
    "complex qr": lambda x: jnp.linalg.qr(x + 1j * x),
    "eigh": jnp.linalg.eigh,
    "eigvals": lambda x: jnp.sort(jnp.linalg.eigvals(x).real),
    "svd": lambda x: jnp.linalg.svd(x, compute_uv=False),
    "solve": lambda x: jnp.linalg.solve(x, x[..., :1]),
    "inv": jnp.linalg.inv,
    "slogdet": jnp.linalg.slogdet,
    "lu": scipy.linalg.lu,
    "triangular": lambda x: scipy.linalg.solve_triangular(x, x, lower=True),
    "schur": tinyjax.vmap(tinyjax.vmap(scipy.linalg.schur)),
    "gradient": tinyjax.grad(lambda x: jnp.linalg.eigh(x)[0].sum() + jnp.linalg.qr(x)[1].sum()),
}


@pytest.mark.parametrize("name", OF_STACKS)
@pytest.mark.parametrize("spec", [P("x"), P(None, "y"), P("y", "x")], ids=repr)
@pytest.mark.sampled(4)
def test_linear_algebra_of_divided_stacks_is_divided(name: str, spec: P) -> None:
    entries = np.random.default_rng(0).normal(size=(2, 4, 3, 3)).astype(np.float32)
    stack = entries + entries.swapaxes(-1, -2) + 9 * np.eye(3, dtype=np.float32)
    f = tinyjax.jit(OF_STACKS[name])
    compiled = f.lower(put(stack, spec)).compile()
    assert not compiled.communication_analysis().collectives
    results = [tinyjax.tree.leaves(x) for x in (compiled(put(stack, spec)), f(stack))]
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        if name != "eigvals":
            assert found.sharding.spec == spec
