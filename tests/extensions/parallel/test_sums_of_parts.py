"""Values that are sums of which each device has a part, and their derivatives, as jax has them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import P
from tinyjax.errors import CarryTypeError, ShardingError
from tinyjax.experimental import checkpoints

#: Of a library and three arrays, of which the first two are divided along what is multiplied and
#: summed, and the third along the batch.
Program = Callable[[Any, Any, Any, Any], Any]
Found = list[tuple[str, np.ndarray[Any, Any]]]

RNG = np.random.default_rng(0)
A, B, X = [RNG.normal(size=shape).astype(np.float32) for shape in ((4, 4), (4, 4), (8, 4))]


def dot(lib: Any, a: Any, b: Any) -> Any:
    return lib.numpy.dot(a, b, out_sharding=lib.P(unreduced={"x"}))


def reduced(lib: Any, a: Any) -> Any:
    return lib.reshard(a, lib.P(reduced={"x"}))


def whole(lib: Any, x: Any) -> Any:
    return lib.reshard(x, lib.P())


def loss(lib: Any, w: Any, x: Any) -> Any:
    return (lib.numpy.tanh(x @ w) ** 2).sum()


def accumulated(lib: Any, w: Any, xs: Any) -> Any:
    w = reduced(lib, w)
    zeros = lib.reshard(lib.numpy.zeros((4, 4)), lib.P(unreduced={"x"}))

    def step(total: Any, x: Any) -> Any:
        return total + lib.grad(lambda w: loss(lib, w, x))(w), None

    return whole(lib, lib.lax.scan(step, zeros, xs)[0])


def layers(lib: Any, ws: Any, x: Any) -> Any:
    def layer(h: Any, w: Any) -> Any:
        return lib.numpy.tanh(h @ reduced(lib, w)), None

    return lib.lax.scan(layer, x, ws)[0].sum()


def pulled(lib: Any, f: Any, ct: Any, *args: Any) -> Any:
    return lib.vjp(f, *args)[1](ct)


def sines(lib: Any) -> Any:
    """A product's sine, with a rule that says of a cotangent that devices have parts of it."""

    def sine(w: Any, x: Any) -> Any:
        return lib.numpy.sin(x @ w)

    def bwd(residuals: Any, ct: Any) -> Any:
        w, x = residuals
        own = ct * lib.numpy.cos(x @ w)
        return lib.lax.pcast(x.T @ own, "x", to="unreduced"), own @ w.T

    f = lib.custom_vjp(sine)
    f.defvjp(lambda w, x: (sine(w, x), (w, x)), bwd)
    return f


U, R = P(unreduced={"x"}), P(reduced={"x"})


def recorded_map(lib: Any, f: Any, ins: Any, outs: Any = None) -> Any:
    """Run a function on each device, and note the types of what it takes and returns."""

    def noting(*args: Any) -> Any:
        out = f(*args)
        INSIDE.extend([str(lib.typeof(x)) for x in lib.tree.leaves((args, out))])
        return out

    ins, outs = [
        tinyjax.tree.map(
            lambda s: lib.P(*s, unreduced=s.unreduced, reduced=s.reduced),
            specs,
            is_leaf=lambda s: isinstance(s, P),
        )
        for specs in (ins, ins if outs is None else outs)
    ]
    return lib.shard_map(noting, in_specs=ins, out_specs=outs)


#: The types of values within ``shard_map``.
INSIDE: list[str] = []

ROWS: dict[str, Program] = {
    "dot": lambda lib, a, b, x: dot(lib, a, b),
    "einsum": lambda lib, a, b, x: lib.numpy.einsum(
        "ij,jk->ki", a, b, out_sharding=lib.P(unreduced={"x"})
    ),
    "one factor divided": lambda lib, a, b, x: dot(lib, a, whole(lib, b)),
    "along another axis": lambda lib, a, b, x: lib.numpy.dot(
        a, b, out_sharding=lib.P(unreduced={"y"})
    ),
    "divided, too": lambda lib, a, b, x: lib.reshard(dot(lib, a, b), lib.P("y", unreduced={"x"})),
    "added by devices": lambda lib, a, b, x: lib.reshard(dot(lib, a, b), lib.P("x")),
    "from copies": lambda lib, a, b, x: lib.reshard(whole(lib, a), lib.P(unreduced={"x"})),
    "sum": lambda lib, a, b, x: dot(lib, a, b) + dot(lib, a, 2 * b),
    "sum with another": lambda lib, a, b, x: dot(lib, a, b) + whole(lib, a),
    "number added": lambda lib, a, b, x: dot(lib, a, b) + 2,
    "product": lambda lib, a, b, x: dot(lib, a, b) * reduced(lib, a),
    "product with copies": lambda lib, a, b, x: dot(lib, a, b) * whole(lib, a),
    "square": lambda lib, a, b, x: dot(lib, a, b) * dot(lib, a, b),
    "sine": lambda lib, a, b, x: lib.numpy.sin(dot(lib, a, b)),
    "contracted": lambda lib, a, b, x: dot(lib, a, b) @ whole(lib, a),
    "transpose": lambda lib, a, b, x: dot(lib, a, b).T,
    "sum over an axis": lambda lib, a, b, x: dot(lib, a, b).sum(0),
    "broadcast": lambda lib, a, b, x: lib.numpy.broadcast_to(dot(lib, a, b), (2, 4, 4)),
    "choice": lambda lib, a, b, x: lib.numpy.where(A > 0, dot(lib, a, b), dot(lib, a, 2 * b)),
    "sine of reduced": lambda lib, a, b, x: lib.numpy.sin(reduced(lib, a)) * 2,
    "reduced and copies": lambda lib, a, b, x: reduced(lib, a) + whole(lib, a),
    "reduced and divided": lambda lib, a, b, x: x @ reduced(lib, a),
    "gradient": lambda lib, a, b, x: lib.grad(lambda w: loss(lib, w, x))(reduced(lib, a)),
    "gradient of divided weights": lambda lib, a, b, x: lib.grad(
        lambda w: loss(lib, reduced(lib, w), x)
    )(lib.reshard(a, lib.P("x"))),
    "Hessian by a vector": lambda lib, a, b, x: lib.jvp(
        lib.grad(lambda w: loss(lib, w, x)), (reduced(lib, a),), (reduced(lib, a),)
    ),
    "both cotangents": lambda lib, a, b, x: pulled(
        lib, lambda u, r: u * r, reduced(lib, a), dot(lib, a, b), reduced(lib, b)
    ),
    "through dot": lambda lib, a, b, x: lib.grad(
        lambda a, b: whole(lib, dot(lib, a, b)).sum(), (0, 1)
    )(a, b),
    "accumulated": lambda lib, a, b, x: accumulated(
        lib, a, lib.reshard(np.stack([X, 2 * X]), lib.P(None, "x"))
    ),
    "layers": lambda lib, a, b, x: lib.grad(lambda ws: layers(lib, ws, x))(
        lib.reshard(np.stack([A, B]), lib.P(None, "x"))
    ),
    "carry": lambda lib, a, b, x: lib.lax.fori_loop(
        0, 3, lambda i, c: c + dot(lib, a, b), dot(lib, a, b)
    ),
    "branches": lambda lib, a, b, x: lib.lax.cond(
        a.sum() > 0, lambda u: u + u, lambda u: u, dot(lib, a, b)
    ),
    "shard_map of parts": lambda lib, a, b, x: recorded_map(lib, lambda u: u + u, U)(
        dot(lib, a, b)
    ),
    "shard_map of parts, added": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.psum(u, "x"), U, P()
    )(dot(lib, a, b)),
    "shard_map of parts, added and divided": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.psum_scatter(u, "x", tiled=True), U, P("x")
    )(dot(lib, a, b)),
    "shard_map of parts along two axes": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.psum(u, "x"), P(unreduced={"x", "y"}), P(unreduced={"y"})
    )(lib.reshard(whole(lib, a), lib.P(unreduced={"x", "y"}))),
    "shard_map of parts and copies": lambda lib, a, b, x: recorded_map(
        lib, lambda u, c: u + c, (U, P()), U
    )(dot(lib, a, b), whole(lib, b)),
    "shard_map of parts and what varies": lambda lib, a, b, x: recorded_map(
        lib, lambda u, v: u[:2] + v, (U, P("x")), U
    )(dot(lib, a, b), b),
    "shard_map, product of parts": lambda lib, a, b, x: lib.grad(
        lambda u, r: recorded_map(lib, lambda u, r: lib.lax.psum(u * r, "x"), (U, R), P())(
            u, r
        ).sum(),
        (0, 1),
    )(dot(lib, a, b), reduced(lib, b)),
    "shard_map, parts carried": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.fori_loop(0, 3, lambda i, c: c + c, u), U
    )(dot(lib, a, b)),
    "shard_map, parts from a branch": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.cond(True, lambda u: (u + u).T, lambda u: u, u), U
    )(dot(lib, a, b)),
    "shard_map, sine of parts": lambda lib, a, b, x: recorded_map(lib, lib.numpy.sin, U)(
        dot(lib, a, b)
    ),
    "shard_map of reduced": lambda lib, a, b, x: recorded_map(lib, lib.numpy.sin, R)(
        reduced(lib, a)
    ),
    "shard_map of reduced, as copies": lambda lib, a, b, x: recorded_map(
        lib, lib.numpy.sin, R, P()
    )(reduced(lib, a)),
    "shard_map of reduced and copies": lambda lib, a, b, x: recorded_map(
        lib, lambda r, c: r + c, (R, P()), R
    )(reduced(lib, a), whole(lib, b)),
    "shard_map, casts": lambda lib, a, b, x: recorded_map(
        lib,
        lambda c, v: [
            lib.lax.pcast(c, "x", to="reduced"),
            lib.lax.pcast(lib.lax.pcast(c, "x", to="reduced"), "x", to="varying"),
            lib.lax.pcast(v, "x", to="unreduced"),
            lib.lax.all_gather(v, "x", tiled=True, to="reduced"),
        ],
        (P(), P("x")),
        [R, P("x"), U, R],
    )(whole(lib, a), b),
    "shard_map, copies as parts": lambda lib, a, b, x: recorded_map(
        lib, lambda c: lib.lax.pcast(c, "x", to="unreduced"), P(), U
    )(whole(lib, a)),
    "shard_map, parts as each device's": lambda lib, a, b, x: recorded_map(
        lib, lambda u: lib.lax.pcast(u, "x", to="varying"), U, P("x")
    )(dot(lib, a, b)),
    "shard_map, Hessian by a vector": lambda lib, a, b, x: lib.jvp(
        lib.grad(
            lambda w: recorded_map(
                lib, lambda w, x: lib.lax.psum(loss(lib, w, x), "x"), (R, P("x")), P()
            )(w, x)
        ),
        (reduced(lib, a),),
        (reduced(lib, b),),
    ),
    "shard_map, residuals that are parts": lambda lib, a, b, x: lib.grad(
        lambda r: recorded_map(lib, lambda u, r: lib.lax.psum((u + u) * r, "x"), (U, R), P())(
            dot(lib, a, b), r
        ).sum()
    )(reduced(lib, b)),
    "shard_map, residuals that are reduced": lambda lib, a, b, x: lib.grad(
        lambda w: recorded_map(
            lib, lambda w, x: lib.lax.psum(loss(lib, lib.numpy.sin(w), x), "x"), (R, P("x")), P()
        )(w, x)
    )(reduced(lib, a)),
    "shard_map, custom derivative": lambda lib, a, b, x: lib.grad(
        lambda w: recorded_map(
            lib, lambda w, x: lib.lax.psum(sines(lib)(w, x).sum(), "x"), (R, P("x")), P()
        )(w, x)
    )(reduced(lib, a)),
    "shard_map, minibatches": lambda lib, a, b, x: recorded_map(
        lib,
        lambda w, xs: lib.lax.psum(
            lib.lax.scan(
                lambda total, x: (total + lib.grad(lambda w: loss(lib, w, x))(w), None),
                lib.lax.pcast(
                    lib.lax.pcast(lib.numpy.zeros((4, 4)), "x", to="varying"), "x", to="unreduced"
                ),
                xs[:, None],
            )[0],
            "x",
        ),
        (R, P("x")),
        P(),
    )(reduced(lib, a), x),
    "shard_map, parts of results": lambda lib, a, b, x: lib.shard_map(
        lambda x: lib.lax.pcast(x.T @ x, "x", to="unreduced"),
        in_specs=lib.P("x"),
        out_specs=lib.P(unreduced={"x"}),
    )(x),
    "shard_map, gradients as parts": lambda lib, a, b, x: lib.shard_map(
        lambda w, x: lib.grad(lambda w: loss(lib, w, x))(w),
        in_specs=(lib.P(reduced={"x"}), lib.P("x")),
        out_specs=lib.P(unreduced={"x"}),
    )(reduced(lib, a), x),
    "shard_map, gathered weights": lambda lib, a, b, x: lib.shard_map(
        lambda w, x: lib.grad(
            lambda w: loss(lib, lib.lax.all_gather(w, "x", tiled=True, to="reduced"), x)
        )(w),
        in_specs=(lib.P("x"), lib.P("x")),
        out_specs=lib.P("x"),
    )(b, x),
    "shard_map, parts added": lambda lib, a, b, x: lib.shard_map(
        lambda x: lib.lax.psum(lib.lax.pcast(x.T @ x, "x", to="unreduced"), "x"),
        in_specs=lib.P("x"),
        out_specs=lib.P(),
    )(x),
    "shard_map, its gradient": lambda lib, a, b, x: lib.grad(
        lib.shard_map(
            lambda w, x: lib.lax.psum(loss(lib, w, x), "x"),
            in_specs=(lib.P(reduced={"x"}), lib.P("x")),
            out_specs=lib.P(),
        )
    )(reduced(lib, a), x),
    "jit": lambda lib, a, b, x: lib.jit(lambda u: u + u)(dot(lib, a, b)),
}


def results(lib: Any, program: Program, how: str) -> Found:
    explicit = lib.sharding.AxisType.Explicit
    with lib.set_mesh(lib.make_mesh((2, 2), ("x", "y"), (explicit,) * 2)):
        specs = [lib.P(None, "x"), lib.P("x"), lib.P("x")]
        args = [lib.device_put(v, s) for v, s in zip((A, B, X), specs, strict=True)]
        run = partial(program, lib)
        INSIDE.clear()
        outs = lib.tree.leaves((lib.jit(run) if how == "jit" else run)(*args))
        inside = [(kind, np.zeros(0)) for kind in INSIDE]
        # jax reads no such sums
        return inside + [(str(lib.typeof(x)), np.asarray(lib.reshard(x, lib.P()))) for x in outs]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("how", ["eager", "jit"])
@pytest.mark.parametrize("name", ROWS)
def test_types_and_values(name: str, how: str) -> None:
    try:
        theirs = results(jax, ROWS[name], how)
    except Exception:
        with pytest.raises(ShardingError):
            results(tinyjax, ROWS[name], how)
        return
    for ours, (kind, value) in zip(results(tinyjax, ROWS[name], how), theirs, strict=True):
        assert ours[0] == kind
        np.testing.assert_allclose(ours[1], value, rtol=1e-4, atol=1e-4)


def kept_loop(r: Any) -> Any:
    step = tinyjax.checkpoint(lambda c, _: (c * r, None))
    return tinyjax.lax.scan(step, r, None, length=3)[0].sum()


@pytest.fixture
def parts() -> Any:
    """A sum on two devices, of the rows of the first factor."""
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), ("x", "y"))):
        a, b = tinyjax.reshard(A, P(None, "x")), tinyjax.reshard(B, P("x"))
        yield dot(tinyjax, a, b)


#: More than jax takes, and what comes out.
LINEAR: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "number": (lambda u: 3 * u / 2 - u, lambda v: v / 2),
    "slice": (lambda u: u[1:], lambda v: v[1:]),
    "cumulative sum": (lambda u: tinyjax.numpy.cumsum(u, 0), lambda v: np.cumsum(v, 0)),
    "conjugate": (lambda u: tinyjax.numpy.conj(1j * u), lambda v: -1j * v),
    "vmap": (tinyjax.vmap(lambda x: 2 * x, 1, 1), lambda v: 2 * v),
    "scan over": (
        lambda u: tinyjax.lax.scan(lambda c, x: (c, x + x), 0, u)[1],
        lambda v: 2 * v,
    ),
    "loop beside it": (
        lambda u: tinyjax.lax.fori_loop(0, 2, lambda i, c: (c[0], c[1] + c[0]), (u, u))[1],
        lambda v: 3 * v,
    ),
    "unrolled": (
        lambda u: tinyjax.lax.scan(lambda c, x: (c + u[0], x + c), u[0], u, unroll=3)[1],
        lambda v: v + np.arange(1, 5)[:, None] * v[:1],
    ),
    "branch with another result": (
        lambda u: tinyjax.lax.cond(u.shape[0] > 1, lambda: (u, 1), lambda: (u + u, 2))[0],
        lambda v: v,
    ),
    "derivative of a checkpointed loop": (
        lambda u: tinyjax.grad(kept_loop)(tinyjax.reshard(u, P(reduced={"x"}))),
        lambda v: 4 * v**3,
    ),
    "another axis": (lambda u: tinyjax.reshard(u, P(unreduced={"y"})), lambda v: v),
    "stack": (lambda u: tinyjax.numpy.stack([u, u]), lambda v: np.stack([v, v])),  # jax: twice that
    "flip": (lambda u: u[::-1], lambda v: v[::-1]),
}


@pytest.mark.parametrize("name", LINEAR)
def test_what_is_linear(parts: Any, name: str) -> None:
    of_parts, of_whole = LINEAR[name]
    for run in (of_parts, tinyjax.jit(of_parts)):
        out = run(parts)
        assert tinyjax.typeof(out).sharding.spec.unreduced
        np.testing.assert_allclose(out, of_whole(A @ B), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16", "float64", "complex64"])
def test_dtypes(parts: Any, dtype: str) -> None:
    def of_parts(u: Any) -> Any:
        rows = tinyjax.lax.scan(lambda c, x: (c, -x), 0, tinyjax.reshard(u, P(unreduced={"x"})))[1]
        return rows + rows

    with tinyjax.set_mesh(parts.sharding.mesh):
        value = np.arange(16).reshape(4, 4).astype(dtype)
        for run in (of_parts, tinyjax.jit(of_parts)):
            out = run(tinyjax.reshard(value, P()))
            assert str(tinyjax.typeof(out)) == f"{dtype}[4,4]{{U:x}}"
            np.testing.assert_array_equal(out, value * np.asarray(-2).astype(dtype))


def test_arrays_without_elements() -> None:
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), ("x", "y"))):
        parts = tinyjax.reshard(tinyjax.reshard(A[:0], P()), U)

        def last(u: Any) -> Any:
            first = tinyjax.numpy.zeros((0, 4))
            return tinyjax.lax.scan(lambda c, _: (u, None), first, None, length=2)[0]

        found = tinyjax.shard_map(last, in_specs=U, out_specs=U)(parts)
        assert str(tinyjax.typeof(found)) == "float32[0,4]{U:x}"


def test_a_checkpointed_layer(parts: Any) -> None:
    """XLA ends the process if it finds that two results of a conditional differ in being sums."""
    layer = tinyjax.checkpoint(lambda x, w, b: tinyjax.numpy.tanh(x @ w + b))

    def total(w: Any, b: Any, x: Any, lay: Callable[[Any], Any]) -> Any:
        return (layer(x, lay(w), lay(b)) ** 2).sum()

    expected = tinyjax.grad(total, (0, 1))(A, B[0], X, lambda v: v)
    with tinyjax.set_mesh(parts.sharding.mesh):
        w, b, x = [tinyjax.reshard(v, P(*spec)) for v, spec in ((A, ()), (B[0], ()), (X, ("x",)))]
        gradients = tinyjax.grad(partial(total, lay=partial(reduced, tinyjax)), (0, 1))
        for found, value in zip(tinyjax.jit(gradients)(w, b, x), expected, strict=True):
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-4)


def along_y(f: Callable[..., Any], ins: Any, outs: Any) -> Callable[..., Any]:
    return tinyjax.shard_map(f, in_specs=ins, out_specs=outs, axis_names={"y"})


def unchecked(f: Callable[..., Any], ins: Any, outs: Any) -> Callable[..., Any]:
    return tinyjax.shard_map(f, in_specs=ins, out_specs=outs, check_vma=False)


def steps(w: Any, x: Any) -> Any:
    """Gradients of minibatches, added up in a loop, of weights that are reduced along x."""
    w = tinyjax.reshard(w, P(reduced={"x"}))
    slope = tinyjax.checkpoint(tinyjax.grad(lambda w, x: ((x @ w) ** 2).sum()))
    first = tinyjax.reshard(tinyjax.numpy.zeros((4, 4)), P(unreduced={"x"}))
    return tinyjax.lax.scan(lambda c, x: (c + slope(w, x), None), first, x)[0]


MINIBATCHES = RNG.standard_normal((3, 8, 4)).astype(np.float32)
U_OF_X = P(unreduced={"x"})
#: Programs in which jax ends the process, or raises an error; the result's type; what it is.
WITHIN: dict[str, tuple[Callable[[Any, Any], Any], str, Callable[[Any, Any], Any]]] = {
    "taken and given": (
        lambda a, b: along_y(lambda u: 3 * u, P("y"), P("y"))(dot(tinyjax, a, b)),
        "float32[4@y,4]{U:x}",
        lambda a, b: 3 * a @ b,
    ),
    "taken and added": (
        lambda a, b: along_y(
            lambda u: tinyjax.lax.psum(tinyjax.reshard(u.T, P("x")), "y"), P("y"), P()
        )(dot(tinyjax, a, b)),
        "float32[4@x,2]",
        lambda a, b: (a @ b)[:2].T + (a @ b)[2:].T,
    ),
    "made": (
        along_y(lambda a, b: tinyjax.lax.psum(dot(tinyjax, a, b), "y"), (P("y"), P()), P()),
        "float32[2,4]{U:x}",
        lambda a, b: (a @ b)[:2] + (a @ b)[2:],
    ),
    "made and added": (
        along_y(
            lambda a, b: tinyjax.numpy.sin(whole(tinyjax, dot(tinyjax, a, b))),
            *((P("y"), P()), P("y")),
        ),
        "float32[4@y,4]",
        lambda a, b: tinyjax.numpy.sin(a @ b),
    ),
    "added up in a loop": (
        lambda a, b: along_y(
            lambda w: steps(w, tinyjax.reshard(MINIBATCHES, P(None, "x"))), P(), P()
        )(whole(tinyjax, a)),
        "float32[4,4]{U:x}",
        lambda a, b: 2 * sum(x.T @ x for x in MINIBATCHES) @ a,
    ),
    "unchecked, taken": (
        lambda a, b: unchecked(lambda u: tinyjax.lax.psum(u, "x") ** 2, U_OF_X, P())(
            dot(tinyjax, a, b)
        ),
        "float32[4,4]",
        lambda a, b: (a @ b) ** 2,
    ),
    "unchecked, given": (
        unchecked(lambda a, b: a @ b, (P("y", "x"), P("x")), P("y", unreduced={"x"})),
        "float32[4@y,4]{U:x}",
        lambda a, b: a @ b,
    ),
    "unchecked, reduced": (
        lambda a, b: unchecked(lambda r: r * r, P(reduced={"x"}), P(reduced={"x"}))(
            reduced(tinyjax, b)
        ),
        "float32[4,4]{R:x}",
        lambda a, b: b * b,
    ),
}


@pytest.mark.parametrize("name", WITHIN)
@pytest.mark.sampled(2)
def test_within_other_axes_and_without_checks(name: str) -> None:
    program, told, of_whole = WITHIN[name]

    def total(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        return lambda a, b: tinyjax.numpy.sum(tinyjax.reshard(f(a, b), P()) ** 2)

    slopes = tinyjax.grad(lambda a, b: tinyjax.numpy.sum(of_whole(a, b) ** 2), (0, 1))(A, B)
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), ("x", "y"))):
        a, b = tinyjax.reshard(A, P(None, "x")), tinyjax.reshard(B, P("x"))
        for run in (program, tinyjax.jit(program)):
            out = run(a, b)
            assert str(tinyjax.typeof(out)) == told
            np.testing.assert_allclose(out, of_whole(A, B), rtol=1e-4, atol=1e-4)
        for mine, own in zip(
            tinyjax.jit(tinyjax.grad(total(program), (0, 1)))(a, b), slopes, strict=True
        ):
            np.testing.assert_allclose(mine, own, rtol=1e-3, atol=1e-3)


def test_an_axis_of_vmap_has_no_parts_though_one_of_its_name_has() -> None:
    with tinyjax.set_mesh(tinyjax.make_mesh((2, 2), ("x", "y"))):
        for kind in ("unreduced", "reduced", "varying"):
            cast = tinyjax.vmap(
                lambda row, kind=kind: tinyjax.lax.pcast(row, "x", to=kind), axis_name="x"
            )
            found = tinyjax.shard_map(cast, in_specs=P(), out_specs=P())(tinyjax.reshard(A, P()))
            np.testing.assert_array_equal(found, A)


def test_devices_add_once() -> None:
    explicit = tinyjax.make_mesh((4,), ("x",))
    with tinyjax.set_mesh(explicit):
        whole_w, xs = tinyjax.reshard(A, P()), tinyjax.reshard(np.stack([X, X]), P(None, "x"))
        lowered = tinyjax.jit(lambda w, xs: accumulated(tinyjax, w, xs)).lower(whole_w, xs)
        assert lowered.compile().communication_analysis().counts == {"all-reduce": 1}


def test_arrays(parts: Any, tmp_path: Any) -> None:
    shards = [np.asarray(shard.data) for shard in parts.addressable_shards]
    np.testing.assert_allclose(shards[0], A[:, :2] @ B[:2], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(shards[0] + shards[2], A @ B, rtol=1e-5, atol=1e-6)
    assert not parts.is_fully_replicated
    assert [shard.replica_id for shard in parts.addressable_shards] == [0, 1, 0, 1]
    checkpoints.save(tmp_path, {"u": parts})
    restored = checkpoints.restore(tmp_path, like={"u": parts})["u"]
    assert tinyjax.typeof(restored) is tinyjax.typeof(parts)
    np.testing.assert_allclose(restored, A @ B, rtol=1e-5, atol=1e-6)
    made = tinyjax.make_array_from_single_device_arrays(
        parts.shape, parts.sharding, [shard.data for shard in parts.addressable_shards]
    )
    np.testing.assert_array_equal(made, parts)


def test_arguments_lie_as_their_types_say(parts: Any) -> None:
    total = tinyjax.shard_map(lambda u, r: tinyjax.lax.psum(u * r, "x"), out_specs=P())
    found = total(parts, reduced(tinyjax, B))
    np.testing.assert_allclose(found, np.asarray(whole(tinyjax, parts)) * B, rtol=1e-5)


def test_mistakes(parts: Any) -> None:
    name: Any = "x"
    for mistake, message in (
        (lambda: P("x", unreduced={"x"}), "names 'x' twice"),
        (lambda: P(unreduced=name), "a set of names"),
        (lambda: tinyjax.reshard(A, P(reduced={"z"})), "'z', which is no axis"),
        (lambda: tinyjax.reshard(A > 0, P(unreduced={"x"})), "no sum"),
        (
            lambda: tinyjax.make_array_from_callback((4, 4), parts.sharding, lambda i: A[i]),
            "parts of a sum",
        ),
        (lambda: parts.astype(int), "not linear"),
        (lambda: recorded_map(tinyjax, lambda x: x, U, P())(parts), "by lax.psum"),
        (lambda: recorded_map(tinyjax, lambda x: x, P(), U)(A), "have the same"),
        (
            lambda: recorded_map(tinyjax, lambda x: tinyjax.lax.pmax(x, "x"), U)(parts),
            "Let devices add",
        ),
        (
            lambda: recorded_map(
                tinyjax,
                lambda u: tinyjax.lax.scan(
                    lambda c, _: (u, None), tinyjax.numpy.ones((4, 4)), None, length=2
                )[0],
                U,
            )(parts),
            r"the number 1\.0 is to be a sum .* along 'x' has a part",
        ),
        (lambda: tinyjax.lax.with_sharding_constraint(parts, P()), "use tinyjax.reshard"),
        (
            lambda: recorded_map(
                tinyjax,
                lambda u: tinyjax.lax.switch(
                    tinyjax.lax.axis_index("y"),
                    [lambda u: u, lambda u: tinyjax.numpy.ones((4, 4))],
                    u,
                ),
                U,
            )(parts),
            "Make it one by lax.pcast",
        ),
    ):
        with raises(ShardingError, match=message):
            mistake()
    with raises(CarryTypeError, match="U:x"):
        tinyjax.lax.fori_loop(0, 2, lambda i, c: whole(tinyjax, c), parts)
