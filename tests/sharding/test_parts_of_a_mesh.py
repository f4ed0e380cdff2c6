"""``shard_map`` along some axes of a mesh, one in another, and without checks: against jax's."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from tinyjax import NamedSharding, P, lax
from tinyjax.errors import ShardingError
from tinyjax.sharding import AxisType

DATA = np.arange(64, dtype=np.float32).reshape(8, 8) / 100
W = np.cos(np.arange(64, dtype=np.float32)).reshape(8, 8)
SPEC = ("x", "y")


def over(lib: Any, f: Any, ins: Any, outs: Any, names: Any = SPEC, **options: Any) -> Any:
    return lib.shard_map(f, in_specs=ins, out_specs=outs, axis_names={*names}, **options)


def free(lib: Any, f: Any, ins: Any, outs: Any, names: Any = SPEC) -> Any:
    return over(lib, f, ins, outs, names, check_vma=False)


def within(lib: Any, inner: Any, ins: Any, outs: Any) -> Any:
    """Run a function along y within one that is run along x."""
    p = lib.P
    return over(lib, over(lib, inner, ins, outs, "y"), p("x"), p("x"), "x")


#: What is computed of an array whose rows are divided over x, and columns over y.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    # along one axis; XLA divides the rest
    "sums": lambda lib, x: over(lib, lambda a: lib.lax.psum(a, "x"), lib.P("x"), lib.P(), "x")(x),
    "by smap": lambda lib, x: lib.smap(
        lambda a, b: (a + lib.lax.psum(a, "x")).T + b,
        in_axes=(0, None),
        out_axes=1,
        axis_name="x",
    )(x, W[:4].T),
    "products": lambda lib, x: over(
        lib, lambda a, w: a @ w, (lib.P("x"), lib.P()), lib.P("x"), "x"
    )(x, W),
    "numbers": lambda lib, x: over(
        lib, lambda a: a * lib.lax.axis_index("x"), lib.P("x"), lib.P("x"), "x"
    )(x),
    "turns": lambda lib, x: over(
        lib,
        lambda a: lib.lax.ppermute(a, "y", [(0, 1), (1, 0)]) + lib.numpy.cumsum(a, 0),
        *(lib.P(None, "y"), lib.P(None, "y"), "y"),
    )(x),
    "loops": lambda lib, x: over(
        lib,
        lambda a: lib.lax.scan(lambda c, _: (c + lib.lax.pmean(c, "x"), None), a, None, 3)[0],
        *(lib.P("x"), lib.P("x"), "x"),
    )(x),
    "vmapped": lambda lib, x: lib.vmap(
        over(lib, lambda a: lib.lax.psum(a, "x"), lib.P("x"), lib.P(), "x"), 1, 1
    )(x),
    # one in another
    "nested": lambda lib, x: within(lib, lambda b: lib.lax.psum(b, "y"), lib.P(None, "y"), lib.P())(
        x
    ),
    "nested, both axes": lambda lib, x: within(
        lib,
        lambda b: b * lib.lax.psum(b.sum(), ("x", "y")) + lib.lax.axis_index(("x", "y")),
        *(lib.P(None, "y"), lib.P(None, "y")),
    )(x),
    "nested, of the mesh that is left": lambda lib, x: over(
        lib,
        lambda a: (
            2
            * over(
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

            f = over(lib, body, (lib.P("x"), lib.P(), lib.P()), outs, "x")

            def total(*args: Any, lib: Any = lib, f: Any = f) -> Any:
                return sum(lib.numpy.sin(out).sum() for out in lib.tree.leaves(f(*args)))

            results = lib.tree.leaves((f(*args), lib.jit(f)(*args)))
            results += lib.jit(lib.grad(total, (0, 1)))(*args)
            found.append([(f"{lib.typeof(x)} {x.sharding.spec}", np.asarray(x)) for x in results])
    for (ours, a), (theirs, b) in zip(*found, strict=True):
        assert ours == theirs
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


def test_axes_within_are_manual() -> None:
    found = []
    for lib in (jax, tinyjax):

        def told(x: Any, lib: Any = lib) -> Any:
            mesh = lib.sharding.get_abstract_mesh()
            found.append((str(mesh.axis_types), mesh.manual_axes, mesh.are_all_axes_manual))
            return x

        auto = lib.sharding.AxisType.Auto
        with lib.set_mesh(lib.make_mesh((2, 2), SPEC, (auto, auto))):
            for names in (SPEC, "y"):
                lib.jit(over(lib, told, lib.P(None, "y"), lib.P(None, "y"), names))(DATA)
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
        ("has 'z'", over(tinyjax, lambda a: a, P(), P(), "z")),
        ("along x only", over(tinyjax, lambda a: a, P("y"), P(), "x")),
        ("along x only", over(tinyjax, lambda a: a, P("x"), P("y"), "x")),
        (
            "inside a function given",
            over(
                tinyjax,
                over(tinyjax, lambda b: b, P(), P(), "x"),
                *(P("x"), P("x"), "x"),
            ),
        ),
        (
            "may differ",
            over(tinyjax, lambda a: a + lax.axis_index("x"), P(), P(), "x"),
        ),
    ],
)
def test_mistakes(message: str, call: Callable[[Any], Any]) -> None:
    with (
        tinyjax.set_mesh(tinyjax.make_mesh((2, 2), SPEC)),
        pytest.raises(ShardingError, match=message),
    ):
        call(DATA)
