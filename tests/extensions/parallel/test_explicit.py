"""Types that say where values lie: those after each operation, and of derivatives, as jax has."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import NamedSharding, P, source
from tinyjax.core.tracing.jaxpr import ClosedJaxpr
from tinyjax.errors import ArgumentError, BranchTypeError, CarryTypeError, ShardingError
from tinyjax.sharding import auto_axes

Specs = tuple[tuple[Any, ...], ...]
#: Of a library and arrays that lie so.
Program = Callable[..., Any]
Row = tuple[str, tuple[tuple[int, ...], ...], Specs, Program]

B, V, X, Y = (8, 4), (8,), ("x",), (None, "y")
XY, YX, NONE = ("x", "y"), ("y", "x"), (None, None)
WEIGHTS = np.arange(8, dtype=np.float32).reshape(4, 2)


def row(name: str, *arrays: tuple[tuple[int, ...], tuple[Any, ...]], program: Program) -> Row:
    return name, tuple([a for a, _ in arrays]), tuple([s for _, s in arrays]), program


def rows_of_shapes() -> list[Row]:
    found = []
    for shape, spec, new in (
        (B, X, (32,)),
        (B, Y, (32,)),
        (B, XY, (32,)),
        (B, X, (2, 4, 4)),
        (B, X, (4, 8)),
        (B, X, (16, 2)),
        (B, (("x", "y"),), (2, 4, 4)),
        (B, (("x", "y"),), (8, 2, 2)),
        (B, (("x", "y"),), (1, 8, 4)),
        ((2, 8, 4), Y, (16, 4)),
        ((2, 8, 4), YX, (16, 4)),
        ((2, 8, 4), YX, (2, 32)),
        ((8, 1, 4), ("x", None, "y"), B),
        ((6,), X, (3, 2)),
    ):
        found.append(
            row(f"reshape {spec} {new}", (shape, spec), program=lambda lib, x, n=new: x.reshape(n))
        )
    return found


def dots() -> list[Row]:
    found = []
    for left, right in (
        (X, NONE),
        (X, Y),
        (Y, NONE),
        (NONE, X),
        (NONE, Y),
        (XY, NONE),
        (X, (None, "x")),
        ((None, "x"), ("y",)),
    ):
        found.append(
            row(f"{left} @ {right}", (B, left), ((4, 6), right), program=lambda lib, x, w: x @ w)
        )
    return found


def layers(lib: Any, x: Any, ws: Any) -> Any:
    return lib.lax.scan(lambda h, w: (lib.numpy.tanh(h @ w), None), x, ws)[0]


def mlp(lib: Any, x: Any, w: Any, v: Any) -> Any:
    return lib.numpy.matmul(lib.nn.relu(x @ w), v, out_sharding=lib.P("x"))


# What follows from the types of operands, or is refused
ROWS: list[Row] = [
    *rows_of_shapes(),
    *dots(),
    row("sin", (B, XY), program=lambda lib, x: lib.numpy.sin(x)),
    row("add", (B, X), (B, Y), program=lambda lib, x, y: x + y),
    row("add none", (B, XY), (B, NONE), program=lambda lib, x, y: x + y),
    row("mul twice", (B, X), (B, (None, "x")), program=lambda lib, x, y: x * y),
    row("mul other", (B, X), (B, ("y",)), program=lambda lib, x, y: x * y),
    row("number", (B, XY), program=lambda lib, x: 2 * x + 1),
    row("host", (B, XY), program=lambda lib, x: x * np.ones((8, 4), np.float32)),
    row("broadcast", (B, X), ((4,), ("y",)), program=lambda lib, x, b: x + b),
    row("outer", (V, X), (V, ("y",)), program=lambda lib, x, y: lib.numpy.outer(x, y)),
    row("outer twice", (V, X), (V, X), program=lambda lib, x, y: lib.numpy.outer(x, y)),
    row("sum", (B, XY), program=lambda lib, x: x.sum(0)),
    row("mean", (B, XY), program=lambda lib, x: x.mean()),
    row("max", (B, XY), program=lambda lib, x: x.max(1)),
    row("argmax", (B, XY), program=lambda lib, x: x.argmax(1)),
    row("var", (B, XY), program=lambda lib, x: lib.numpy.var(x, 0)),
    row("softmax", (B, XY), program=lambda lib, x: lib.nn.softmax(x)),
    row("where", (B, XY), program=lambda lib, x: lib.numpy.where(x > 0, x, 0.0)),
    row("transpose", (B, XY), program=lambda lib, x: x.T),
    row("expand", (B, XY), program=lambda lib, x: x[:, None]),
    row("flip", (B, XY), program=lambda lib, x: lib.numpy.flip(x, 0)),
    row(
        "concatenate", (B, XY), (B, XY), program=lambda lib, x, y: lib.numpy.concatenate([x, y], 1)
    ),
    row(
        "concatenate other", (B, X), (B, Y), program=lambda lib, x, y: lib.numpy.concatenate([x, y])
    ),
    row("stack", (B, XY), program=lambda lib, x: lib.numpy.stack([x, x])),
    row("split", (B, XY), program=lambda lib, x: lib.numpy.split(x, 2)),
    row("split too far", (B, XY), program=lambda lib, x: lib.numpy.split(x, 4, 1)),
    row("pad", (B, Y), program=lambda lib, x: lib.numpy.pad(x, ((1, 1), (0, 0)))),
    row("pad to odd", (B, X), program=lambda lib, x: lib.numpy.pad(x, ((1, 0), (0, 0)))),
    row("lax.slice", (B, Y), program=lambda lib, x: lib.lax.slice(x, (0, 1), (8, 3))),
    row("element", (B, Y), program=lambda lib, x: x[0]),
    row("element of parts", (B, X), program=lambda lib, x: x[0]),
    row("elements", (B, Y), program=lambda lib, x: x[np.array([0, 5])]),
    row("elements of parts", (B, X), program=lambda lib, x: x[np.array([0, 5])]),
    row("update", (B, Y), program=lambda lib, x: x.at[0].set(1.0)),
    row("dynamic_slice", (B, Y), program=lambda lib, x: lib.lax.dynamic_slice(x, (1, 0), (2, 4))),
    row(
        "update of a part",
        *((B, X), ((4, 4), X)),
        program=lambda lib, x, u: lib.lax.dynamic_update_slice(x, u, (1, 0)),
    ),
    row("sort parts", (B, X), program=lambda lib, x: lib.numpy.sort(x, 0)),
    row("cumsum", (B, Y), program=lambda lib, x: lib.numpy.cumsum(x, 0)),
    row("cumsum of parts", (B, Y), program=lambda lib, x: lib.numpy.cumsum(x, 1)),
    row("top_k", (B, X), program=lambda lib, x: tuple(lib.lax.top_k(x, 2))),
    row("top_k of parts", (B, Y), program=lambda lib, x: tuple(lib.lax.top_k(x, 2))),
    row("fft", (B, X), program=lambda lib, x: lib.numpy.fft.fft(x).real),
    row("zeros_like", (B, XY), program=lambda lib, x: lib.numpy.zeros_like(x) + x),
    row("astype", (B, XY), program=lambda lib, x: x.astype(np.int32)),
    row("solve", ((8, 3, 3), X), program=lambda lib, a: lib.numpy.linalg.solve(a, a[:, :, :1])),
    row("batches", ((8, 4, 2), X), ((8, 2, 4), X), program=lambda lib, x, y: x @ y),
    row(
        "batches otherwise",
        ((8, 4, 2), X),
        ((8, 2, 4), ("y",)),
        program=lambda lib, x, y: x @ y,
    ),
    row(
        "conv",
        ((8, 3, 8), X),
        program=lambda lib, x: lib.lax.conv_general_dilated(
            x, np.ones((4, 3, 3), np.float32), (1,), "SAME"
        ),
    ),
    # the user says it
    row("reshard", (B, XY), program=lambda lib, x: lib.sharding.reshard(x, lib.P("y"))),
    row("reshard none", (B, XY), program=lambda lib, x: lib.sharding.reshard(x, lib.P()) * 2),
    row("constraint", (B, XY), program=lambda lib, x: constrained(lib, x, "x", "y")),
    row("constraint otherwise", (B, XY), program=lambda lib, x: constrained(lib, x, "y")),
    row("einsum", (B, XY), (B, XY), program=lambda lib, x, y: einsum(lib, x, y, "x")),
    row("dot", (B, X), program=lambda lib, x: lib.numpy.dot(x.T, x, out_sharding=lib.P("y"))),
    row("matmul", (B, X), program=lambda lib, x: lib.numpy.matmul(x.T, x, out_sharding=lib.P())),
    row(
        "reshape to",
        (B, Y),
        program=lambda lib, x: lib.numpy.reshape(x, 32, out_sharding=lib.P("y")),
    ),
    row("get", (B, X), program=lambda lib, x: x.at[np.array([0, 3])].get(out_sharding=lib.P("y"))),
    row(
        "ones", (B, X), program=lambda lib, x: x * lib.numpy.ones(B, out_sharding=lib.P(None, "y"))
    ),
    row("auto_axes", (B, XY), program=lambda lib, x: auto(lib, lambda x: x @ x.T, x, "y")),
    row("auto_axes in rows", (B, XY), program=lambda lib, x: auto(lib, lambda x: x[1:3], x, "x")),
    # programs
    row("vmap", (B, XY), program=lambda lib, x: lib.vmap(lambda v: v * v.sum())(x)),
    row("vmap of columns", (B, XY), program=lambda lib, x: lib.vmap(lambda v: v[::-1], 1, 1)(x)),
    row(
        "vmap of products",
        (B, X),
        program=lambda lib, x: lib.vmap(lambda v: v[:3] @ np.eye(3, 2, dtype=v.dtype))(x),
    ),
    row("vmap of dot", (B, X), program=lambda lib, x: lib.vmap(lambda v: dot(lib, v, v))(x)),
    row("vmap of jit", (B, XY), program=lambda lib, x: lib.vmap(lib.jit(lambda v: v * 2))(x)),
    row("vmap otherwise", (B, X), (B, ("y",)), program=lambda lib, x, y: lib.vmap(times)(x, y)),
    row(
        "vmap of reshard",
        (B, X),
        program=lambda lib, x: lib.vmap(lambda v: reshard(lib, v, "y"))(x),
    ),
    row("scan", (B, Y), program=lambda lib, x: lib.lax.scan(lambda c, v: (c + v, c * v), x[0], x)),
    row(
        "scan over parts", (B, X), program=lambda lib, x: lib.lax.scan(lambda c, v: (c, v), 0.0, x)
    ),
    row("scan from zero", (B, Y), program=lambda lib, x: lib.lax.scan(carry_sum, 0.0, x)),
    row(
        "scan from whole",
        (B, Y),
        program=lambda lib, x: lib.lax.scan(carry_all, lib.numpy.zeros(4), x),
    ),
    row(
        "fori_loop", (B, XY), program=lambda lib, x: lib.lax.fori_loop(0, 2, lambda i, c: c * x, x)
    ),
    row("cond", (B, XY), program=lambda lib, x: lib.lax.cond(x.sum() > 0, times, add, x, x)),
    row(
        "cond otherwise",
        (B, XY),
        program=lambda lib, x: lib.lax.cond(x.sum() > 0, *zero(lib), x),
    ),
    row(
        "switch by example",
        (V, X),
        program=lambda lib, x: lib.vmap(
            lambda v: lib.lax.switch((v > 0).astype(int), [lib.numpy.sin, lib.numpy.exp], v)
        )(x),
    ),
    row("layers", (B, X), ((3, 4, 4), NONE), program=layers),
    row("tensor parallel", (B, X), ((4, 8), Y), ((8, 4), ("y",)), program=mlp),
    row("unused", (B, XY), (B, X), program=lambda lib, x, y: x),
    row("custom rule", (B, XY), program=lambda lib, x: custom(lib)(x)),
    row("checkpoint", (B, XY), program=lambda lib, x: lib.checkpoint(lambda x: x * x)(x)),
    row(
        "shard_map",
        (B, XY),
        program=lambda lib, x: mapped(lib, lambda x: x * 2, x, lib.P("x", "y")),
    ),
    row(
        "shard_map sum",
        (B, XY),
        program=lambda lib, x: mapped(lib, total(lib), x, lib.P(None, "y")),
    ),
    row("layer", (B, X), ((4, 4), NONE), ((4,), ()), program=lambda lib, x, w, b: (x @ w + b) ** 2),
    row(
        "scale",
        *((B, XY), ((1, 4), ()), ((), ())),
        program=lambda lib, x, a, b: (
            lib.numpy.maximum(x * a, b) / lib.numpy.sqrt(x.var(1) + 1)[:, None]
        ),
    ),
    row("key_data", (V, X), program=lambda lib, x: (x, lib.random.key_data(keys_of(lib, x)))),
    row(
        "draws",
        (V, X),
        program=lambda lib, x: (
            x[:, None] * lib.vmap(lambda k: lib.random.uniform(k, (4,)))(keys_of(lib, x))
        ),
    ),
    row(
        "segment_sum",
        *((B, X), (V, X)),
        program=lambda lib, x, i: lib.ops.segment_sum(x, i.astype(int), 4, out_sharding=lib.P("y")),
    ),
    row(
        "reduce",
        (B, XY),
        program=lambda lib, x: lib.lax.reduce(x, 0.0, lib.lax.add, (0,), out_sharding=lib.P("x")),
    ),
    row("weights", (B, XY), program=lambda lib, x: x * weights(lib, B, lib.P("x", "y"))),
    row(
        "reduce_sum",
        (B, XY),
        program=lambda lib, x: lib.lax.reduce_sum(x, (0,), out_sharding=lib.P("x")),
    ),
]


def keys_of(lib: Any, x: Any) -> Any:
    """A key for each element."""
    return lib.vmap(lambda i: lib.random.fold_in(lib.random.key(0), i))(x.astype("uint32"))


def weights(lib: Any, shape: Any, spec: Any) -> Any:
    init = lib.nn.initializers.he_normal()
    return init(lib.random.key(0), shape, lib.numpy.float32, out_sharding=spec)


def times(x: Any, y: Any) -> Any:
    return x * y


def add(x: Any, y: Any) -> Any:
    return x + y


def zero(lib: Any) -> tuple[Any, Any]:
    return lambda x: x * 2, lambda x: lib.numpy.zeros(x.shape)


def carry_sum(c: Any, v: Any) -> Any:
    return c + v.sum(), v


def carry_all(c: Any, v: Any) -> Any:
    return c + v, v


def custom(lib: Any) -> Any:
    square = lib.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))
    return square


def reshard(lib: Any, x: Any, *spec: Any) -> Any:
    return lib.sharding.reshard(x, lib.P(*spec))


def constrained(lib: Any, x: Any, *spec: Any) -> Any:
    return lib.lax.with_sharding_constraint(x, lib.P(*spec))


def einsum(lib: Any, x: Any, y: Any, *spec: Any) -> Any:
    return lib.numpy.einsum("ij,kj->ik", x, y, out_sharding=lib.P(*spec))


def auto(lib: Any, f: Any, x: Any, *spec: Any) -> Any:
    return lib.sharding.auto_axes(f, out_sharding=lib.P(*spec))(x)


def dot(lib: Any, x: Any, y: Any) -> Any:
    return lib.numpy.dot(x, y, out_sharding=lib.P())


def mapped(lib: Any, f: Any, x: Any, out: Any) -> Any:
    return lib.shard_map(f, out_specs=out)(x)


def total(lib: Any) -> Any:
    return lambda x: lib.lax.psum(x, "x")


class Found:
    """The results of a program in a library: types and values."""

    def __init__(
        self, lib: Any, transformed: Callable[[Any], Any], case: Row, *, mesh: bool = True
    ) -> None:
        _, shapes, specs, program = case
        rng = np.random.default_rng(0)
        args = [rng.normal(size=shape).astype(np.float32) for shape in shapes]
        call = transformed(lambda *args: program(lib, *args))
        with mesh_in_force(lib) if mesh else nullcontext():
            if mesh:
                args = [lib.device_put(x, lib.P(*s)) for x, s in zip(args, specs, strict=True)]
            found = lib.tree.leaves(call(*args))
            self.types = [str(lib.typeof(x)) for x in found]
            self.values = [np.asarray(x) for x in found]


def mesh_in_force(lib: Any, *kinds: str) -> Any:
    of = [getattr(lib.sharding.AxisType, kind) for kind in kinds or ("Explicit",) * 2]
    return lib.set_mesh(lib.make_mesh((2, 2), ("x", "y"), tuple(of)))


def gradient(lib: Any) -> Callable[[Any], Any]:
    def transformed(program: Any) -> Any:
        def loss(*args: Any) -> Any:
            outs = lib.tree.leaves(program(*args))
            squares = [(x * x).sum() for x in outs if x.dtype == np.float32]
            return sum(squares, start=0 * args[0].sum())

        def gradients(*args: Any) -> Any:
            return lib.grad(loss, tuple(range(len(args))))(*args)

        return gradients

    return transformed


#: The transformations that both libraries apply.
TRANSFORMED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda lib: lambda f: f,
    "jit": lambda lib: lib.jit,
    "grad": gradient,
    "jit of grad": lambda lib: lambda f: lib.jit(gradient(lib)(f)),
}


def check_close(ours: Found, theirs: Found) -> None:
    for a, b in zip(ours.values, theirs.values, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.sampled(40)
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize("case", ROWS, ids=lambda case: case[0])
def test_types_values_and_gradients(case: Row, how: str) -> None:
    try:
        theirs = Found(jax, TRANSFORMED[how](jax), case)
    except Exception:
        with pytest.raises((ShardingError, CarryTypeError, BranchTypeError)):
            Found(tinyjax, TRANSFORMED[how](tinyjax), case)
        return
    ours = Found(tinyjax, TRANSFORMED[how](tinyjax), case)
    assert ours.types == theirs.types
    check_close(ours, theirs)


def types_of(lib: Any, transformed: Callable[[Any], Any], case: Row, refusal: Any) -> list[str]:
    """The types of what a program gives, or that it is refused; nothing is computed."""
    _, shapes, specs, program = case
    with mesh_in_force(lib):
        mesh = lib.sharding.get_mesh()
        args = [
            lib.ShapeDtypeStruct(shape, np.float32, sharding=lib.NamedSharding(mesh, lib.P(*spec)))
            for shape, spec in zip(shapes, specs, strict=True)
        ]
        try:
            found = lib.eval_shape(transformed(lambda *args: program(lib, *args)), *args)
        except refusal:
            return ["refused"]
    return [f"{x.dtype}{x.shape}{x.sharding and x.sharding.spec}" for x in lib.tree.leaves(found)]


@pytest.mark.parametrize("how", ["eager", "grad"])
def test_types_of_all_programs(how: str) -> None:
    for given in ROWS:
        theirs = types_of(jax, TRANSFORMED[how](jax), given, Exception)
        kinds = (ShardingError, CarryTypeError, BranchTypeError)
        assert types_of(tinyjax, TRANSFORMED[how](tinyjax), given, kinds) == theirs, given[0]


# What jax refuses, or some derivatives of it
MORE: list[tuple[Row, str]] = [
    (row("median", (B, Y), program=lambda lib, x: lib.numpy.sort(x, 0)[4]), "float32[4@y]"),
    (row("stride", (B, X), program=lambda lib, x: x[::2]), "float32[4@x,4]"),
    (
        row("where", (B, X), program=lambda lib, x: lib.numpy.where(x > 0, x, 2 * WEIGHTS[0, 0])),
        "float32[8@x,4]",
    ),
    (
        row("reshape", ((8, 2, 4), X), program=lambda lib, x: x.reshape(4, 2, 4, 2)),
        "float32[4@x,2,4,2]",
    ),
    (row("places", (B, Y), (V, X), program=lambda lib, x, i: x[i.astype(int)]), "float32[8@x,4@y]"),
    (
        row("vmap", (B, X), (B, NONE), program=lambda lib, x, y: lib.vmap(times)(x, y)),
        "float32[8@x,4]",
    ),
    (
        row(  # jax's gradient in the window is twice what it should be
            "conv along space",
            *(((2, 2, 8), (None, None, "x")), ((2, 2, 3), ())),
            program=lambda lib, x, w: lib.lax.conv(x, w, (1,), "SAME"),
        ),
        "float32[2,2,8@x]",
    ),
    (
        row(
            "update of parts", (B, X), program=lambda lib, x: (2 * lib.numpy.sin(x)).at[0].set(1.0)
        ),
        "float32[8@x,4]",
    ),
    (
        row(  # jax's gradient is wrong, as XLA divides it
            "windows of parts",
            (B, X),
            program=lambda lib, x: lib.lax.reduce_window(
                x, -np.inf, lib.lax.max, (3, 1), (1, 1), "SAME"
            ),
        ),
        "float32[8@x,4]",
    ),
    (row("argsort", (B, Y), program=lambda lib, x: lib.numpy.argsort(x, 0)), "int32[8,4@y]"),
    (
        row(
            "vmap of convolve",
            (B, X),
            program=lambda lib, x: lib.vmap(lambda v: lib.numpy.convolve(v, v[:2]))(x),
        ),
        "float32[8@x,5]",
    ),
    (
        row("inverse", ((8, 3, 3), X), program=lambda lib, a: lib.numpy.linalg.inv(a)),
        "float32[8@x,3,3]",
    ),
]


@pytest.mark.sampled(6, always=("vmap of convolve--jit",))
@pytest.mark.parametrize("how", TRANSFORMED)
@pytest.mark.parametrize(
    ("case", "expected_type"), MORE, ids=lambda x: x[0] if isinstance(x, tuple) else ""
)
def test_more_than_jax_takes(case: Row, expected_type: str, how: str) -> None:
    ours = Found(tinyjax, TRANSFORMED[how](tinyjax), case)
    check_close(ours, Found(jax, TRANSFORMED[how](jax), case, mesh=False))
    if "grad" not in how:
        assert ours.types == [expected_type]


def test_what_programs_communicate() -> None:
    """Gradients of what all devices have are summed, once; of what is divided nothing is."""
    with mesh_in_force(tinyjax):
        w, x = np.ones((4, 4), np.float32), tinyjax.numpy.ones(B, out_sharding=P("x"))
        step = tinyjax.jit(tinyjax.grad(lambda w, x: ((x @ w) ** 2).sum())).lower(w, x).compile()
        (sums,) = step.communication_analysis().collectives
        assert (sums.kind, sums.axes, sums.bytes) == ("all-reduce", ("x",), w.nbytes)
        assert step.output_shardings.spec == P(None, None)
        # what is repeated along what is divided is summed where it lies, not gathered
        bias = tinyjax.jit(tinyjax.grad(lambda b, x: ((x + b) ** 2).sum())).lower(w[0], x)
        assert bias.compile().communication_analysis().counts == {"all-reduce": 1}
        none = tinyjax.jit(lambda x: tinyjax.numpy.tanh(x).T * 2).lower(x).compile()
        assert none.communication_analysis().counts == {}


def test_types_that_are_asked_for() -> None:
    """``eval_shape``, and what a compiled function gives, say how results lie."""
    for lib in (jax, tinyjax):
        with mesh_in_force(lib):
            lies = lib.NamedSharding(lib.sharding.get_mesh(), lib.P("x"))
            x = lib.ShapeDtypeStruct(B, np.float32, sharding=lies)
            found = lib.eval_shape(lambda x: x.T, x)
            assert [*found.sharding.spec] == [None, "x"]
            assert lib.eval_shape(lambda x: x.T, found).sharding.spec[0] == "x"


def test_programs_that_call_python() -> None:
    """The host computes them, where a value lies in one place."""

    def called(x: Any, w: Any) -> Any:
        y = tinyjax.pure_callback(lambda x: 2 * np.asarray(x), x.aval.plain, x)
        return tinyjax.reshard(y, P("x")) * auto_axes(tinyjax.numpy.multiply, out_sharding=P("x"))(
            w, 3.0
        )

    with mesh_in_force(tinyjax):
        x, w = (tinyjax.reshard(WEIGHTS, P(*spec)) for spec in (X, Y))
        for f in (called, tinyjax.jit(called)):
            assert str(f(x, w).aval) == "float32[4@x,2]"
            np.testing.assert_array_equal(f(x, w), 6 * WEIGHTS**2)
        slope = tinyjax.jit(tinyjax.grad(lambda w: called(x, w).sum()))(w)
        assert str(slope.aval) == "float32[4,2@y]"
        np.testing.assert_array_equal(slope, 6 * WEIGHTS)


def test_gradients_of_loops_whose_length_is_found() -> None:
    def cube(x: Any) -> Any:
        found = tinyjax.lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * x), (0, x))
        return found[1]

    inside = tinyjax.shard_map(cube, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    with mesh_in_force(tinyjax):
        x = tinyjax.reshard(WEIGHTS, P("x", "y"))
        for f in (cube, inside):
            slope = tinyjax.jit(tinyjax.grad(lambda x, f=f: f(x).sum()))(x)
            assert str(slope.aval) == "float32[4@x,2@y]"
            np.testing.assert_allclose(slope, 3 * WEIGHTS**2, rtol=1e-5)


def test_arrays_without_elements() -> None:
    with mesh_in_force(tinyjax):
        x = tinyjax.device_put(np.ones((0, 4), np.float32), P("x", "y"))
        for found in (2.0 * x, tinyjax.jit(lambda x: tinyjax.numpy.concatenate([x, x]))(x)):
            assert str(found.aval) == "float32[0@x,4@y]"
            assert (np.asarray(found).shape, np.asarray(found + x).shape) == ((0, 4), (0, 4))
            assert [s.data.shape for s in found.addressable_shards] == [(0, 2)] * 4


def test_rows_of_what_is_divided_along_them_are_read_on_the_host() -> None:
    with mesh_in_force(tinyjax):
        found = [*tinyjax.reshard(WEIGHTS, P("x"))]
        np.testing.assert_array_equal(np.stack(found), WEIGHTS)


def test_types_of_axes_for_a_while() -> None:
    """Meshes, and types, within ``auto_axes`` and ``explicit_axes`` of some axes, as in jax."""

    def seen_types(lib: Any) -> list[str]:
        seen = []

        def note(x: Any) -> Any:
            types = lib.sharding.get_abstract_mesh().axis_types
            seen.append(f"{lib.typeof(x)} {types}")
            return x * 2

        with mesh_in_force(lib):
            x = lib.numpy.ones(B, out_sharding=lib.P("x", "y"))
            explicit = lib.sharding.auto_axes(note, axes="x", out_sharding=lib.P("x", "y"))
            calls = (explicit, lib.jit(explicit), lib.grad(lambda x: explicit(x).sum()))
            seen += [str(lib.typeof(call(x))) for call in calls]
        with mesh_in_force(lib, "Auto", "Auto"):
            x = lib.numpy.ones(B)
            explicit = lib.sharding.explicit_axes(note, in_sharding=lib.P("x", "y"))
            for call in (explicit, lib.jit(explicit)):
                seen += [str(lib.typeof(call(x))), str(call(x).sharding.spec)]
        with mesh_in_force(lib):
            one = lib.sharding.AbstractMesh((4,), ("z",), (lib.sharding.AxisType.Explicit,))

            def on_one(x: Any) -> Any:
                with lib.sharding.use_abstract_mesh(one):
                    return note(lib.sharding.reshard(x, lib.P("z")))

            seen.append(str(lib.typeof(lib.jit(on_one)(x))))
        return seen

    assert seen_types(tinyjax) == seen_types(jax)


MISTAKES: list[tuple[str, Callable[[Any], Any]]] = [
    (r"dot_general of float32\[4@y,8@x\] and .*out_sharding=.*auto_axes", lambda x: x.T @ x),
    ("given to auto_axes, needs out_sharding", lambda x: auto_axes(times)(x, x)),
    ("has no axis 'z'", lambda x: auto_axes(add, axes="z", out_sharding=P())(x, x)),
    ("axis 0, of the matrices, is divided", lambda x: tinyjax.numpy.linalg.eigvals(x[:4])),
    ("no rule for operands that are", lambda x: tinyjax.scipy.linalg.rsf2csf(x[:4], x[:4])),
    ("different meshes", lambda x: x + tinyjax.device_put(x, other("a", "b"))),
    ("It moves nothing", lambda x: tinyjax.lax.with_sharding_constraint(x, P("y"))),
    ("over 'x'.*goes over|goes over.*divided along it", lambda x: tinyjax.lax.map(np.sin, x)),
    ("vmap maps over is divided over", lambda x: tinyjax.vmap(times)(x, reshard(tinyjax, x, "y"))),
]


def other(*names: str) -> NamedSharding:
    mesh = tinyjax.make_mesh((2, 2), names, tinyjax.sharding.AxisType.Explicit)
    return NamedSharding(mesh, P(*names))


@pytest.mark.parametrize(("message", "call"), MISTAKES, ids=lambda x: x if type(x) is str else "")
def test_mistakes(message: str, call: Callable[[Any], Any]) -> None:
    with mesh_in_force(tinyjax):
        x = tinyjax.numpy.ones(B, out_sharding=P("x", "y"))
        for f in (call, tinyjax.jit(call)):
            with raises((ShardingError, ArgumentError), match=message):
                f(x)


WIDE = np.arange(32, dtype=np.float32).reshape(8, 4)
#: Programs of an array that is divided along ``x``.
WRITTEN: dict[str, Callable[[Any], Any]] = {
    "numbers and constants": lambda x: x * WIDE + 2,
    "moved": lambda x: reshard(tinyjax, x, "y"),
    "derivative": tinyjax.grad(lambda x: (x @ WEIGHTS).sum()),
    "loop": lambda x: tinyjax.lax.scan(lambda c, x: (c + x, x), x[:, 0], x.T),
    "sum of parts": lambda x: tinyjax.numpy.dot(x.T, x, out_sharding=P(unreduced={"x"})),
    "program for each device": lambda x: each_device(x, axis_names={"x"}),
    "all axes": lambda x: each_device(x, axis_names={"x", "y"}),
    "XLA chooses": lambda x: auto_axes(times, axes="y", out_sharding=P("x"))(x, x),
}


def each_device(x: Any, **options: Any) -> Any:
    return tinyjax.shard_map(tinyjax.numpy.sin, in_specs=P("x"), out_specs=P("x"), **options)(x)


@pytest.mark.parametrize("name", WRITTEN)
def test_programs_are_written_and_read(name: str) -> None:
    with mesh_in_force(tinyjax):
        x = tinyjax.device_put(WIDE, P("x"))
        closed = tinyjax.make_jaxpr(lambda x: WRITTEN[name](x + reshard(tinyjax, WIDE, "x")))(x)
    again = source.jaxpr_of_source(source.jaxpr_source(closed))
    assert isinstance(again, ClosedJaxpr)
    assert again.jaxpr == closed.jaxpr
    for mine, own in zip(again.consts, closed.consts, strict=True):
        assert mine.aval is own.aval
        assert np.array_equal(mine, own)
