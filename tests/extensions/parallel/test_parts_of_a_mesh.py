"""``shard_map`` along some axes of a mesh, one in another, and without checks: against jax's."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import NamedSharding, P, lax
from tinyjax.errors import ShardingError
from tinyjax.sharding import AxisType, reshard

DATA = np.arange(64, dtype=np.float32).reshape(8, 8) / 100
W = np.cos(np.arange(64, dtype=np.float32)).reshape(8, 8)
SPEC = ("x", "y")


def mapped_over(lib: Any, f: Any, ins: Any, outs: Any, names: Any = SPEC, **options: Any) -> Any:
    return lib.shard_map(f, in_specs=ins, out_specs=outs, axis_names={*names}, **options)


def free(lib: Any, f: Any, ins: Any, outs: Any, names: Any = SPEC) -> Any:
    return mapped_over(lib, f, ins, outs, names, check_vma=False)


def nested_map(lib: Any, inner: Any, ins: Any, outs: Any) -> Any:
    """Run a function along y within one that is run along x."""
    p = lib.P
    return mapped_over(lib, mapped_over(lib, inner, ins, outs, "y"), p("x"), p("x"), "x")


#: What is computed of an array whose rows are divided over x, and columns over y.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    # along one axis; XLA divides the rest
    "sums": lambda lib, x: mapped_over(
        lib, lambda a: lib.lax.psum(a, "x"), lib.P("x"), lib.P(), "x"
    )(x),
    "by smap": lambda lib, x: lib.smap(
        lambda a, b: (a + lib.lax.psum(a, "x")).T + b,
        in_axes=(0, None),
        out_axes=1,
        axis_name="x",
    )(x, W[:4].T),
    "products": lambda lib, x: mapped_over(
        lib, lambda a, w: a @ w, (lib.P("x"), lib.P()), lib.P("x"), "x"
    )(x, W),
    "numbers": lambda lib, x: mapped_over(
        lib, lambda a: a * lib.lax.axis_index("x"), lib.P("x"), lib.P("x"), "x"
    )(x),
    "one gathered value": lambda lib, x: mapped_over(
        lib,
        lambda a: lib.lax.all_gather(a, "x", tiled=True, to="invarying"),
        *(lib.P("x"), lib.P(), "x"),
    )(x),
    "turns": lambda lib, x: mapped_over(
        lib,
        lambda a: lib.lax.ppermute(a, "y", [(0, 1), (1, 0)]) + lib.numpy.cumsum(a, 1),
        *(lib.P(None, "y"), lib.P(None, "y"), "y"),
    )(x),
    "loops": lambda lib, x: mapped_over(
        lib,
        lambda a: lib.lax.scan(lambda c, _: (c + lib.lax.pmean(c, "x"), None), a, None, 3)[0],
        *(lib.P("x"), lib.P("x"), "x"),
    )(x),
    "vmapped": lambda lib, x: lib.vmap(
        mapped_over(lib, lambda a: lib.lax.psum(a, "x"), lib.P("x"), lib.P(), "x"), 1, 1
    )(x),
    # one in another
    "nested": lambda lib, x: nested_map(
        lib, lambda b: lib.lax.psum(b, "y"), lib.P(None, "y"), lib.P()
    )(x),
    "nested, both axes": lambda lib, x: nested_map(
        lib,
        lambda b: b * lib.lax.psum(b.sum(), ("x", "y")) + lib.lax.axis_index(("x", "y")),
        *(lib.P(None, "y"), lib.P(None, "y")),
    )(x),
    "nested, of the mesh that is left": lambda lib, x: mapped_over(
        lib,
        lambda a: (
            2
            * mapped_over(
                lib,
                lambda b: lib.lax.psum(b, "y"),
                *(lib.P(None, "y"), lib.P(), "y"),
                mesh=lib.sharding.get_abstract_mesh(),
            )(a)
        ),
        *(lib.P("x"), lib.P("x"), "x"),
    )(x),
    # without checks
    "free sums": lambda lib, x: free(lib, lambda a: lib.lax.psum(a, "x"), lib.P("x"), lib.P())(x),
    "free gathers": lambda lib, x: free(
        lib, lambda a: lib.lax.all_gather(a, "x", tiled=True), lib.P("x"), lib.P()
    )(x),
    "free loops": lambda lib, x: free(
        lib,
        lambda a: lib.lax.while_loop(
            lambda c: lib.lax.psum(c.sum(), "x") < 1e3, lambda c: c + lib.lax.pmean(c, "x"), a
        ),
        *(lib.P("x"), lib.P("x")),
    )(x),
    "free along one": lambda lib, x: free(
        lib, lambda a: lib.lax.psum(a * W[:4], "x"), lib.P("x"), lib.P(), "x"
    )(x),
    "free derivatives": lambda lib, x: free(
        lib,
        lambda a, w: lib.grad(lambda w: lib.lax.psum(((a @ w) ** 2).sum(), "x"))(w)[:4],
        *((lib.P("x"), lib.P()), lib.P("x")),
    )(x, W),
    "free derivatives in constants": lambda lib, x: free(
        lib,
        lambda a: lib.grad(lambda w: (w * a).sum())(lib.numpy.ones((4, 8))),
        *(lib.P("x"), lib.P("x")),
    )(x),
}
#: What is not differentiable in reverse mode.
FORWARD = {"free loops"}
#: The same without ``shard_map``, where jax fails to differentiate one in another.
WHOLE: dict[str, Callable[[Any], Any]] = {
    "nested, both axes": lambda x: x * x.sum() + np.kron([[0, 1], [2, 3]], np.ones((4, 4))),
}


def computed(lib: Any, name: str, x: Any, jit: bool) -> list[Any]:
    def program(x: Any) -> Any:
        return WHOLE[name](x) if lib is jax and name in WHOLE else PROGRAMS[name](lib, x)

    def slope(x: Any) -> Any:
        return lib.grad(lambda x: lib.numpy.sum(lib.numpy.sin(program(x))))(x)

    wrap = lib.jit if jit else lambda f: f
    funs = [program] if name in FORWARD else [program, slope]
    return [np.asarray(wrap(f)(x)) for f in funs]


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sampled(14)
def test_against_jax(name: str, kind: str) -> None:
    with jax.set_mesh(jax.make_mesh((2, 2), SPEC, (jax.sharding.AxisType.Auto,) * 2)):
        expected = computed(jax, name, DATA, True)
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC, AxisType[kind])) as mesh:
        assert mesh is not None
        on_devices = tinyjax.device_put(DATA, NamedSharding(mesh, P(*SPEC)))
        for x, jit in ((DATA, False), (on_devices, True)):
            for found, other in zip(computed(tinyjax, name, x, jit), expected, strict=True):
                np.testing.assert_allclose(found, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("names", [("x",), ("y",), ("x", "y")])
def test_without_arguments(names: tuple[str, ...]) -> None:
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC, AxisType.Auto)):
        place = mapped_over(tinyjax, lambda: lax.axis_index(names)[None], (), P(names), names)
        total = mapped_over(tinyjax, lambda: lax.psum(lax.axis_index(names), names), (), P(), names)
        count = 2 ** len(names)
        for wrap in (lambda f: f, tinyjax.jit):
            np.testing.assert_array_equal(wrap(place)(), np.arange(count))
            np.testing.assert_array_equal(wrap(total)(), count * (count - 1) // 2)


#: What is computed of rows divided over x, and of weights whose columns, or rows, are over y.
TYPED: dict[str, Callable[..., Any]] = {
    "layer": lambda lib, x, w, v: lib.numpy.tanh(x @ w),
    "two layers": lambda lib, x, w, v: lib.numpy.matmul(
        lib.nn.relu(x @ w), v, out_sharding=lib.P(None, None)
    ),
    "loop": lambda lib, x, w, v: lib.lax.scan(lambda c, _: (c * 2, c), x @ w, None, 2),
    "program": lambda lib, x, w, v: lib.jit(lambda a: a.T)(x @ w).T[:, ::-1],
    "choice": lambda lib, x, w, v: lib.lax.cond(w.sum() > 0, lib.numpy.sin, lib.numpy.cos, x @ w),
    "said": lambda lib, x, w, v: lib.sharding.reshard(x, lib.P(None, "y")),
    "rows": lambda lib, x, w, v: lib.vmap(lambda row: (row @ w).sum() * row)(x),
}


@pytest.mark.parametrize("name", TYPED)
@pytest.mark.sampled(3)
def test_results_lie_as_the_program_says(name: str) -> None:
    found = []
    for lib in (jax, tinyjax):
        explicit = lib.sharding.AxisType.Explicit
        with lib.set_mesh(lib.make_mesh((2, 2), SPEC, (explicit, explicit))):
            args = [
                lib.device_put(a, lib.P(*spec))
                for a, spec in ((DATA, ("x",)), (W, (None, "y")), (W.T, ("y",)))
            ]
            outs = lib.P(None, "x") if name == "loop" else lib.P("x")
            if name == "loop":
                outs = (lib.P("x"), outs)

            def body(*parts: Any, lib: Any = lib) -> Any:
                return TYPED[name](lib, *parts)

            f = mapped_over(lib, body, (lib.P("x"), lib.P(), lib.P()), outs, "x")

            def total(*args: Any, lib: Any = lib, f: Any = f) -> Any:
                return sum(lib.numpy.sin(out).sum() for out in lib.tree.leaves(f(*args)))

            results = lib.tree.leaves((f(*args), lib.jit(f)(*args)))
            results += lib.jit(lib.grad(total, (0, 1)))(*args)
            found.append([(f"{lib.typeof(x)} {x.sharding.spec}", np.asarray(x)) for x in results])
    for (ours, a), (theirs, b) in zip(*found, strict=True):
        assert ours == theirs
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


# Types inside tell of the other axes


class Told(list[str]):
    """The types of values inside programs, as they are met."""

    def __init__(self, lib: Any) -> None:
        super().__init__()
        self.lib = lib

    def __call__(self, *xs: Any) -> Any:
        for x in xs:
            text = str(self.lib.typeof(x))
            if text not in self:
                self.append(text)
        return xs[0]


def random(*shape: int) -> Any:
    return (np.cos(np.arange(np.prod(shape)) * 0.7).reshape(shape) / 2).astype(np.float32)


def tensor_in_data_parallel(lib: Any, record: Any, x: Any, w: Any, v: Any) -> Any:
    def loss(w: Any, v: Any, x: Any) -> Any:
        h = record(lib.numpy.tanh(x @ w))
        y = lib.numpy.matmul(h, v, out_sharding=lib.P(None, None))
        return record(lib.numpy.mean((record(y) - x) ** 2))

    def step(x: Any, w: Any, v: Any) -> Any:
        record(x, w, v)
        value, grads = lib.value_and_grad(loss, (0, 1))(w, v, x)
        record(value, *grads)
        return lib.lax.pmean(value, "x"), grads

    p = lib.P
    return mapped_over(lib, step, (p("x"), p(), p()), (p(), p()), "x")(x, w, v)


def layers_computed_again(lib: Any, record: Any, x: Any, w: Any, v: Any) -> Any:
    def layer(x: Any, wv: Any) -> Any:
        record(x, *wv)
        h = record(lib.nn.gelu(x @ wv[0]))
        return x + lib.numpy.matmul(h, wv[1], out_sharding=lib.P(None, None))

    again = lib.checkpoint(layer)

    def loss(x: Any, w: Any, v: Any) -> Any:
        y, _ = lib.lax.scan(lambda c, wv: (again(c, wv), None), x, (w, v))
        return lib.lax.psum(lib.numpy.sum(y**2), "x")

    p = lib.P
    return mapped_over(lib, loss, (p("x"), p(), p()), p(), "x")(x, w, v)


def pipeline(lib: Any, record: Any, xs: Any, w: Any, v: Any) -> Any:
    jnp, lax, p = lib.numpy, lib.lax, lib.P

    def body(xs: Any, w: Any, v: Any) -> Any:
        place, count = lax.axis_index("x"), 2

        def turn(state: Any, t: Any) -> Any:
            given = xs[jnp.clip(t, 0, 2)]
            x = jnp.where(place == 0, given, state)
            h = record(jnp.tanh(x @ w[0]))
            y = record(x + jnp.matmul(h, v[0], out_sharding=p(None, None)))
            last = jnp.where(place == count - 1, y, 0)
            return record(lax.ppermute(y, "x", [(0, 1), (1, 0)])), lax.psum(last, "x")

        first = lax.pcast(jnp.zeros_like(xs[0]), "x", to="varying")
        return record(lax.scan(turn, first, jnp.arange(4))[1][1:])

    return mapped_over(lib, body, (p(), p("x"), p("x")), p(), "x")(xs, w, v)


def experts(lib: Any, record: Any, x: Any, w: Any, v: Any) -> Any:
    def body(x: Any, w: Any, v: Any) -> Any:
        record(x, w, v)
        exchange, reshard = lib.lax.all_to_all, lib.sharding.reshard
        sent = record(exchange(x.reshape(4, 1, 8), "x", 0, 1, tiled=True))
        h = record(lib.numpy.tanh(lib.numpy.einsum("etd,edf->etf", sent, reshard(w, lib.P()))))
        y = lib.numpy.einsum("etf,efd->etd", h, reshard(v, lib.P()))
        return record(exchange(y, "x", 1, 0, tiled=True)).reshape(4, 8)

    rows = lib.P("x")
    return mapped_over(lib, body, (rows, rows, rows), rows, "x")(x, w, v)


def collectives(lib: Any, record: Any, x: Any) -> Any:
    lax = lib.lax

    def body(x: Any) -> Any:
        found = (
            lax.all_gather(x, "x", axis=1, tiled=True),
            lax.all_gather(x, "x", tiled=True, to="invarying"),
            lax.all_to_all(x, "x", 1, 0, tiled=True),
            lax.ppermute(x.T, "x", [(0, 1)]),
            lax.pmean(x, "x") + lax.axis_index("x"),
        )
        record(*found)
        return found

    p = lib.P
    return mapped_over(lib, body, p("x"), (p("x"), p(), p("x"), p("x"), p("x")), "x")(x)


def others(lib: Any, record: Any, x: Any, w: Any, v: Any) -> Any:
    jnp, lax = lib.numpy, lib.lax
    halved = lib.sharding.auto_axes(
        lambda x: record(x @ x.T), axes="y", out_sharding=lib.P(None, "y")
    )

    def body(x: Any, w: Any, v: Any) -> Any:
        record(x, w)
        mapped = lib.vmap(lambda c: record(c) + lax.psum(c, "x"), 1, 1)(x)
        chosen = lax.cond(lax.psum(x.sum(), "x") > 0, jnp.sin, jnp.cos, record(mapped))
        looped = lib.lax.fori_loop(0, 2, lambda i, c: record(c * x), chosen)
        moved = record(lib.sharding.reshard(looped, lib.P("y")))
        made = (
            jnp.ones((4, 8))
            + record(jnp.zeros_like(x))
            + lib.jit(lambda y: 2 * record(y))(x * w[:4])
        )
        return moved, made, halved(x), record(lib.grad(lambda x: jnp.sin(x).sum())(x))

    p = lib.P
    return mapped_over(lib, body, (p("x"), p(), p()), p("x"), "x")(x, w, v)


#: On which mesh, programs and their arguments, with how these lie.
INSIDE: dict[str, tuple[Any, Any, list[tuple[Any, Any]]]] = {
    "tensor in data parallel": (
        (2, 2),
        tensor_in_data_parallel,
        [(DATA, ("x",)), (W, (None, "y")), (W.T, ("y",))],
    ),
    "layers computed again": (
        (2, 2),
        layers_computed_again,
        [
            (DATA, ("x",)),
            (random(3, 8, 4), (None, None, "y")),
            (random(3, 4, 8), (None, "y")),
        ],
    ),
    "pipeline": (
        (2, 2),
        pipeline,
        [(random(3, 2, 8), ()), (random(2, 8, 4), ("x", None, "y")), (random(2, 4, 8), ("x", "y"))],
    ),
    "pipeline of batches": (
        (2, 2, 1),
        pipeline,
        [
            (random(3, 2, 8), (None, "z")),
            (random(2, 8, 4), ("x", None, "y")),
            (random(2, 4, 8), ("x", "y")),
        ],
    ),
    "experts": (
        (2, 2),
        experts,
        [
            (DATA, ("x",)),
            (random(4, 8, 4), ("x", None, "y")),
            (random(4, 4, 8), ("x", None, "y")),
        ],
    ),
    "collectives": ((2, 2), collectives, [(DATA, SPEC)]),
    "others": ((2, 2), others, [(DATA, SPEC), (W, (None, "y")), (W, ("y",))]),
}
#: Programs that jax does not differentiate.
NO_SLOPES = {"collectives", "others"}


@pytest.mark.parametrize("name", INSIDE)
@pytest.mark.sampled(3)
def test_types_inside_tell_of_other_axes(name: str) -> None:
    sizes, program, given = INSIDE[name]
    found = []
    for lib in (jax, tinyjax):
        kinds = (lib.sharding.AxisType.Explicit,) * len(sizes)
        with lib.set_mesh(lib.make_mesh(sizes, ("x", "y", "z")[: len(sizes)], kinds)):
            args = [lib.device_put(a, lib.P(*spec)) for a, spec in given]
            told = Told(lib)

            def run(*args: Any, record: Any = told, lib: Any = lib) -> Any:
                return lib.tree.leaves(program(lib, record, *args))

            def total(*args: Any, run: Any = run, lib: Any = lib) -> Any:
                return sum(lib.numpy.sum(lib.numpy.sin(out)) for out in run(*args))

            outs = lib.jit(run)(*args)
            types = [str(lib.typeof(x)) for x in outs]
            slopes = []
            if name not in NO_SLOPES:
                slopes = lib.jit(lib.grad(total, range(len(args))))(*args)
            found.append(([*told], types, [*map(np.asarray, (*outs, *slopes))]))
            if lib is tinyjax:  # the same for arrays of the host, and one operation at a time
                for again in (run(*[np.asarray(x) for x in args]), run(*args)):
                    for a, b in zip(again, outs, strict=True):
                        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)
    (inside, types, values), (ours, our_types, our_values) = found
    assert (ours, our_types) == (inside, types)
    for a, b in zip(our_values, values, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_axes_that_are_auto_inside_are_not_told_of() -> None:
    told = []
    auto = tinyjax.make_mesh((2, 2), SPEC, AxisType.Auto)
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC)):
        x, w = tinyjax.reshard(DATA, P(*SPEC)), tinyjax.reshard(W, P("y"))

        def product(part: Any) -> Any:
            told.append(str(tinyjax.typeof(part)))
            return part @ w  # which is divided along y, as columns of the part are

        found = tinyjax.jit(mapped_over(tinyjax, product, P("x"), P("x"), "x", mesh=auto))(x)
    assert told == ["float32[4,8]{V:x}"]
    np.testing.assert_allclose(found, DATA @ W, rtol=2e-5, atol=2e-5)


def test_axes_within_are_manual() -> None:
    found = []
    for lib in (jax, tinyjax):

        def record(x: Any, lib: Any = lib) -> Any:
            mesh = lib.sharding.get_abstract_mesh()
            found.append((str(mesh.axis_types), mesh.manual_axes, mesh.are_all_axes_manual))
            return x

        auto = lib.sharding.AxisType.Auto
        with lib.set_mesh(lib.make_mesh((2, 2), SPEC, (auto, auto))):
            for names in (SPEC, "y"):
                lib.jit(mapped_over(lib, record, lib.P(None, "y"), lib.P(None, "y"), names))(DATA)
    assert found[:2] == found[2:]


def test_as_a_decorator() -> None:
    mesh = tinyjax.make_mesh((2, 2), SPEC)
    alone = tinyjax.shard_map(mesh=mesh, in_specs=P(SPEC), out_specs=P(), check_vma=False)
    assert float(alone(tinyjax.numpy.sum)(np.ones(8))) == 2.0  # of the first device
    # where the devices' results lie side by side along another axis than the first
    found = alone(lambda a: tinyjax.numpy.einsum("ij,kj->ki", a, W))(DATA)
    np.testing.assert_allclose(found, W @ DATA[:2].T, rtol=1e-6)


def test_what_a_function_closes_over_is_a_copy_on_each_device() -> None:
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC)):
        x = tinyjax.device_put(DATA, P(*SPEC))
        for spec in (P(), P("x"), P("y", "x")):
            w = tinyjax.device_put(W[:4, :4], spec)
            for check in (True, False):

                def product(w: Any, x: Any, check: bool = check) -> Any:
                    return tinyjax.shard_map(
                        lambda a: a * w, in_specs=P(*SPEC), out_specs=P(*SPEC), check_vma=check
                    )(x)

                found = tinyjax.jit(product)(w, x)
                np.testing.assert_allclose(found, DATA * np.tile(W[:4, :4], (2, 2)), rtol=1e-6)
                slope = tinyjax.jit(tinyjax.grad(lambda w: tinyjax.numpy.sum(product(w, x))))(w)
                tiles = DATA.reshape(2, 4, 2, 4).sum((0, 2))
                np.testing.assert_allclose(slope, tiles, rtol=1e-6)


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("has 'z'", mapped_over(tinyjax, lambda a: a, P(), P(), "z")),
        ("along x only", mapped_over(tinyjax, lambda a: a, P("y"), P(), "x")),
        ("along x only", mapped_over(tinyjax, lambda a: a, P("x"), P("y"), "x")),
        (
            "inside a function given",
            mapped_over(
                tinyjax,
                mapped_over(tinyjax, lambda b: b, P(), P(), "x"),
                *(P("x"), P("x"), "x"),
            ),
        ),
        (
            "may differ",
            mapped_over(tinyjax, lambda a: a + lax.axis_index("x"), P(), P(), "x"),
        ),
        (
            "runs on its own part",
            mapped_over(tinyjax, lambda a: reshard(a, P("x")), P("x"), P(), "x"),
        ),
        (
            "on a mesh of",
            mapped_over(
                tinyjax,
                lambda a: reshard(a, NamedSharding(tinyjax.make_mesh((2,), ("z",)), P("z"))),
                *(P("x"), P(), "x"),
            ),
        ),
    ],
)
def test_mistakes(message: str, call: Callable[[Any], Any]) -> None:
    with (
        tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC)),
        raises(ShardingError, match=message),
    ):
        call(DATA)
