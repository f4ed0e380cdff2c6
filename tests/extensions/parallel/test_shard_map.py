"""``shard_map``: evaluated by NumPy, compiled for four devices, and jax's."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import NamedSharding, P, lax
from tinyjax._extensions.parallel.program import _divided
from tinyjax.errors import (
    ArgumentError,
    DifferentiationError,
    ShardingError,
    UnboundAxisError,
)
from tinyjax.experimental import checkify, shard_map as older
from tinyjax.experimental.pjit import pjit

GRID = tinyjax.make_mesh((2, 2), ("x", "y"))
LINE = tinyjax.make_mesh((4,), ("x",))
DATA = np.arange(64, dtype=np.float32).reshape(8, 8) / 7 - 3
TO_JAX = {
    GRID: jax.make_mesh((2, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2),
    LINE: jax.make_mesh((4,), ("x",), (jax.sharding.AxisType.Auto,)),
}

#: name: what is called with a library's lax and its vmap and a part, and mesh and specifications;
#: "ours" where jax does not find that devices have the same.
Body = Callable[[Any, Any], Any]
BODIES: dict[str, tuple[Callable[[Any], Body], Any, Any, Any, bool]] = {
    "by itself": (lambda lib: lambda lax, a: a * 2, LINE, P("x"), P("x"), True),
    "columns": (lambda lib: lambda lax, a: a.T, GRID, P("x", "y"), P("y", "x"), True),
    "parts side by side": (
        lambda lib: lambda lax, a: np.arange(6, dtype=np.float32).reshape(3, 2) @ a,
        *(LINE, P("x"), P("x"), True),
    ),
    "psum": (lambda lib: lambda lax, a: lax.psum(a, "x"), LINE, P("x"), P(), True),
    "psum of two": (
        lambda lib: lambda lax, a: lax.psum(a.sum(), ("x", "y")),
        *(GRID, P("x", "y"), P(), True),
    ),
    "psum of copies": (lambda lib: lambda lax, a: lax.psum(a, "y"), GRID, P("x"), P("x"), True),
    "extrema": (
        lambda lib: lambda lax, a: (lax.pmax(a, "y"), lax.pmin(a, "y"), lax.pmean(a, "y")),
        *(GRID, P("x", "y"), P("x"), True),
    ),
    "bools": (
        lambda lib: lambda lax, a: (lax.pmax(a > 3, "x"), lax.psum(a > 3, "x")),
        *(LINE, P("x"), P(), False),
    ),
    "complex": (lambda lib: lambda lax, a: lax.psum(a * 1j, "x"), LINE, P("x"), P(), True),
    "axis_index": (
        lambda lib: lambda lax, a: a + 10 * lax.axis_index("x") + lax.axis_index(("y", "x")),
        *(GRID, P("x", "y"), P("x", "y"), True),
    ),
    "axis_size": (
        lambda lib: lambda lax, a: a / lax.axis_size("x"),
        *(GRID, P("x"), P("x"), True),
    ),
    "all_gather": (
        lambda lib: lambda lax, a: lax.all_gather(a, "x"),
        *(LINE, P("x"), P("x"), True),
    ),
    "all_gather, tiled": (
        lambda lib: lambda lax, a: lax.all_gather(a, "x", axis=1, tiled=True, to="invarying"),
        *(LINE, P("x"), P(), True),
    ),
    "psum_scatter": (
        lambda lib: lambda lax, a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
        *(LINE, P("x"), P(None, "x"), True),
    ),
    "psum_scatter over two": (
        lambda lib: lambda lax, a: lax.psum_scatter(a, ("y", "x"), tiled=True),
        *(GRID, P("x", "y"), P(("y", "x")), True),
    ),
    "ppermute": (
        lambda lib: lambda lax, a: lax.ppermute(a, "x", [(0, 1), (1, 2), (3, 3)]),
        *(LINE, P("x"), P("x"), True),
    ),
    "ppermute over two": (
        lambda lib: lambda lax, a: lax.ppermute(a, ("x", "y"), [(0, 1), (1, 2), (3, 0)]),
        *(GRID, P(("x", "y")), P(("x", "y")), True),
    ),
    "scan": (
        lambda lib: (
            lambda lax, a: lax.scan(lambda c, row: (lax.psum(row.sum(), "x") + c, row + c), 0.0, a)
        ),
        *(LINE, P("x"), (P(), P("x")), True),
    ),
    "while_loop": (
        lambda lib: (
            lambda lax, a: lax.while_loop(
                lambda s: lax.psum(s.sum(), "x") < 500, lambda s: s + lax.pmax(s, "x"), a
            )
        ),
        *(LINE, P("x"), P("x"), True),
    ),
    "cond": (
        lambda lib: (
            lambda lax, a: lax.cond(
                lax.psum(a.sum(), "x") > 0,
                lambda a: lax.psum(a, "x"),
                lambda a: lax.pmax(a, "x"),
                a,
            )
        ),
        *(LINE, P("x"), P(), True),
    ),
    "vmap inside": (
        lambda lib: (
            lambda lax, a: lib.vmap(lambda row: row - lax.pmean(row, ("i", "x")), axis_name="i")(a)
        ),
        *(LINE, P("x"), P("x"), False),
    ),
    "a function with a rule": (
        lambda lib: lambda lax, a: doubled(lib, lax.pmean(a, "x"), a),
        *(LINE, P("x"), (P(), P("x")), True),
    ),
    "jit inside": (
        lambda lib: lambda lax, a: lib.jit(lambda a: lax.psum(a, "x"))(a),
        *(LINE, P("x"), P(), True),
    ),
}


def doubled(lib: Any, a: Any, b: Any) -> Any:
    """Twice each, by a function that says so itself of the derivative."""
    f = lib.custom_jvp(lambda a, b: (2 * a, 2 * b))
    f.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
    return f(a, b)


def exchange(split: int, concat: int, tiled: bool) -> Callable[[Any], Body]:
    def body(lax: Any, a: Any) -> Any:
        parts = a if tiled else a.reshape(4, 4)
        return lax.all_to_all(parts, "x", split, concat, tiled=tiled)

    return lambda lib: body


for split in (0, 1):
    for concat in (0, 1):
        name = f"all_to_all {split} {concat}"
        BODIES[name] = (exchange(split, concat, False), LINE, P("x"), P("x"), True)
        BODIES[f"{name}, tiled"] = (exchange(split, concat, True), GRID, P("x"), P("x"), True)


def in_jax(specs: Any) -> Any:
    if isinstance(specs, P):
        return jax.P(*specs)
    return tuple(map(in_jax, specs))


def agree(actual: Any, expected: Any, rtol: float = 1e-5) -> None:
    ours, theirs = tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected)
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", BODIES)
def test_bodies(name: str) -> None:
    make, mesh, in_specs, out_specs, in_theirs = BODIES[name]
    body = make(tinyjax)
    mapped = tinyjax.shard_map(
        lambda a: body(lax, a), mesh=mesh, in_specs=in_specs, out_specs=out_specs
    )
    evaluated = mapped(DATA)
    compiled = tinyjax.jit(mapped)(DATA)
    agree(compiled, evaluated)
    specs = [out_specs] if isinstance(out_specs, P) else out_specs
    for out, spec in zip(tinyjax.tree.leaves(compiled), [*specs, *specs, *specs], strict=False):
        assert out.sharding.is_equivalent_to(NamedSharding(mesh, spec), out.ndim)
    on_devices = mapped(tinyjax.device_put(DATA, NamedSharding(mesh, in_specs)))
    agree(on_devices, evaluated)
    if in_theirs:
        their_body = make(jax)
        theirs = jax.shard_map(
            lambda a: their_body(jax.lax, a),
            mesh=TO_JAX[mesh],
            in_specs=in_jax(in_specs),
            out_specs=in_jax(out_specs),
        )
        agree(evaluated, jax.jit(theirs)(DATA))


# Derivatives, of the function of whole arrays


def network(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    """Rows of data over x, hidden units over y."""

    def layer(h: Any, _: None) -> tuple[Any, Any]:
        a = jnp.tanh(h @ w1)
        return lax.psum(a @ w2, "y") + h, jnp.sum(a)

    h, sums = lax.scan(layer, x, None, length=3)
    extra = lax.cond(
        lax.axis_index("x") > 0, lambda h: jnp.sum(h**2), lambda h: jnp.sum(jnp.sin(h)), h
    )
    total = lax.psum(jnp.sum((h - y) ** 2) + extra, "x") + lax.psum(jnp.sum(sums), ("x", "y"))
    return total + lax.pmax(jnp.max(h), "x")


def plain(w1: Any, w2: Any, x: Any, y: Any) -> Any:
    total: Any = 0.0
    largest: list[Any] = []
    for part, target, last in ((x[:2], y[:2], jnp.sin), (x[2:], y[2:], jnp.square)):
        h = part
        for _ in range(3):
            a = jnp.tanh(h @ w1)
            h = a @ w2 + h
            total = total + jnp.sum(a)
        total = total + jnp.sum((h - target) ** 2) + jnp.sum(last(h))
        largest.append(jnp.max(h))
    return total + jnp.max(jnp.stack(largest))


SPECS = (P(None, "y"), P("y"), P("x"), P("x"))
mapped = tinyjax.shard_map(network, mesh=GRID, in_specs=SPECS, out_specs=P())
rng = np.random.default_rng(0)
ARGS = [0.4 * rng.normal(size=s).astype(np.float32) for s in ((6, 8), (8, 6), (4, 6), (4, 6))]
TANGENTS = [rng.normal(size=a.shape).astype(np.float32) for a in ARGS]
EVERY = (0, 1, 2, 3)

DERIVATIVES: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "value": lambda f: f,
    "grad": lambda f: tinyjax.grad(f, EVERY),
    "jvp": lambda f: lambda *args: tinyjax.jvp(f, args, tuple(TANGENTS))[1],
    "linearize": lambda f: lambda *args: tinyjax.linearize(f, *args)[1](*TANGENTS),
    "jvp of grad": lambda f: (
        lambda *args: tinyjax.jvp(tinyjax.grad(f, EVERY), args, tuple(TANGENTS))[1]
    ),
    "grad of jvp": lambda f: tinyjax.grad(
        lambda *args: tinyjax.jvp(f, args, tuple(TANGENTS))[1], EVERY
    ),
    "vmap": lambda f: (
        lambda w1, *rest: tinyjax.vmap(f, (0, None, None, None))(jnp.stack([w1, 2 * w1]), *rest)
    ),
    "vmap of grad": lambda f: (
        lambda w1, *rest: tinyjax.vmap(tinyjax.grad(f, EVERY), (0, None, None, None))(
            jnp.stack([w1, 2 * w1]), *rest
        )
    ),
    "grad of vmap": lambda f: tinyjax.grad(
        lambda w1, *rest: tinyjax.vmap(f, (0, None, None, None))(
            jnp.stack([w1, 2 * w1]), *rest
        ).sum(),
        EVERY,
    ),
    "checkpoint": lambda f: tinyjax.grad(tinyjax.checkpoint(f), EVERY),
}


@pytest.mark.parametrize("where", ["host", "compiled", "devices"])
@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.sampled(5)
def test_derivatives_are_those_of_the_whole(name: str, where: str) -> None:
    transformed = DERIVATIVES[name]
    expected = transformed(plain)(*map(jnp.asarray, ARGS))
    call, args = transformed(mapped), [jnp.asarray(a) for a in ARGS]
    if where == "compiled":
        call = tinyjax.jit(call)
    if where == "devices":
        args = [
            tinyjax.device_put(a, NamedSharding(GRID, spec))
            for a, spec in zip(args, SPECS, strict=True)
        ]
    agree(call(*args), expected, rtol=2e-4)


def test_derivatives_of_results_that_devices_share() -> None:
    # x + w: the tangent of w is handed on without an operation
    def f(w: Any, x: Any) -> tuple[Any, Any]:
        return lax.psum(jnp.sum(x + w), "x"), w

    both = tinyjax.shard_map(f, mesh=LINE, in_specs=(P(), P("x")), out_specs=(P(), P()))
    for run in (lambda f: f, tinyjax.jit):
        pulled = run(lambda w, x: tinyjax.vjp(both, w, x)[1]((1.0, 10.0)))(2.0, np.ones(8, "f"))
        assert [float(ct) for ct in (pulled[0], pulled[1][0])] == [18.0, 1.0]


def test_derivatives_of_what_devices_share_and_is_joined() -> None:
    shared = tinyjax.shard_map(
        lambda a: lax.psum(jnp.sin(a), "x"), mesh=LINE, in_specs=P("x"), out_specs=P("x")
    )
    weights = np.cos(DATA)
    expected = np.tile(weights.reshape(4, 2, 8).sum(0), (4, 1)) * np.cos(DATA)
    for run in (lambda f: f, tinyjax.jit):
        found = run(tinyjax.grad(lambda x: jnp.sum(weights * shared(x))))(DATA)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_a_vmap_of_the_same_name_is_another_axis() -> None:
    sums = tinyjax.shard_map(lambda a: lax.psum(a, "x"), mesh=LINE, in_specs=P("x"), out_specs=P())
    for run in (lambda f: f, tinyjax.jit):
        found = run(tinyjax.vmap(sums, 1, axis_name="x"))(DATA)
        np.testing.assert_allclose(
            np.asarray(found), DATA.T.reshape(8, 4, 2).sum(1), rtol=1e-5, atol=1e-5
        )


@tinyjax.custom_vjp
def cubes(w: Any, a: Any) -> Any:
    return w + a**3


cubes.defvjp(lambda w, a: (cubes(w, a), a), lambda a, ct: (ct.sum(0), 3 * a**2 * ct))


def test_what_differs_need_not_be_said() -> None:
    def f(a: Any, kind: str = "varying") -> Any:
        return lax.scan(lambda c, row: (c + row, None), lax.pcast(a[0] * 0, "x", to=kind), a)[0][
            None
        ]

    sums = over_x(f)(DATA)
    np.testing.assert_allclose(sums, DATA.reshape(4, 2, 8).sum(1), rtol=1e-5)
    with raises(ArgumentError, match="varying"):
        over_x(lambda a: f(a, "invariant"))(DATA)


def test_older_names() -> None:
    assert pjit is tinyjax.jit
    total = older.shard_map(lambda x: lax.psum(x.sum(), "x"), LINE, P("x"), P())
    assert float(total(jnp.arange(8.0))) == 28.0
    unchecked = older.shard_map(lambda x: x.sum(), LINE, P(), P(), check_rep=False)
    assert float(unchecked(jnp.arange(8.0))) == 28.0


def test_one_device() -> None:
    mesh = tinyjax.make_mesh((1,), ("x",))

    def f(a: Any) -> Any:
        gathered = lax.all_gather(a, "x", tiled=True) + lax.psum_scatter(a, "x", tiled=True)
        moved = lax.ppermute(a, "x", [(0, 0)]) + lax.ppermute(a, "x", [])
        return gathered + moved + lax.all_to_all(a, "x", 0, 1, tiled=True) + lax.axis_index("x")

    mapped = tinyjax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    agree(tinyjax.jit(mapped)(DATA), mapped(DATA))
    np.testing.assert_allclose(mapped(DATA), 4 * DATA, rtol=1e-6)


def test_a_mapped_function_is_called_as_the_function_is() -> None:
    def total(a: Any) -> Any:
        """Add what all devices have."""
        return lax.psum(a, "x")

    mapped = tinyjax.shard_map(total, mesh=LINE, in_specs=P("x"), out_specs=P())
    assert (mapped.__name__, mapped.__doc__) == ("total", "Add what all devices have.")
    assert (total.__name__, total.__doc__) == ("total", "Add what all devices have.")


def test_checks() -> None:
    def body(a: Any) -> Any:
        checkify.check((a < 5).all(), "{} on {}, {}", a.max() / 4, lax.axis_index("x"), a.max() > 5)
        return jnp.sqrt(a)

    f = tinyjax.shard_map(body, mesh=LINE, in_specs=P("x"), out_specs=P("x"))
    for call in (f, tinyjax.jit(f), tinyjax.grad(lambda x: f(x).sum())):
        for x in (DATA, tinyjax.device_put(DATA, NamedSharding(LINE, P("x")))):
            error, _ = checkify.checkify(call)(x)
            largest = DATA[6:].max() / 4
            assert str(error.get()).startswith(f"{largest} on 3, True")
            assert checkify.checkify(call)(x / 2)[0].get() is None
    found, _ = checkify.checkify(f, checkify.nan_checks)(DATA)
    assert "nan generated by primitive: sqrt" in str(found.get())


def test_trees_and_what_is_closed_over() -> None:
    shift = jnp.arange(8.0)

    @tinyjax.shard_map(
        mesh=GRID, in_specs=({"a": P("x"), "b": P("y")}, P()), out_specs={"out": (P("x"), P())}
    )
    def f(tree: Any, scale: Any) -> Any:
        return {"out": (tree["a"] * scale + shift, lax.psum(tree["b"], "y"))}

    tree = {"a": DATA, "b": (np.ones(4, "f"), np.ones(2, "f"))}
    agree(tinyjax.jit(f)(tree, 2.0), f(tree, 2.0))
    np.testing.assert_allclose(f(tree, 2.0)["out"][0], 2 * DATA + np.arange(8.0), rtol=1e-6)
    gradient = tinyjax.grad(lambda s: f(tree, s)["out"][0].sum())
    np.testing.assert_allclose(tinyjax.jit(gradient)(2.0), DATA.sum(), rtol=1e-5)
    with tinyjax.set_mesh(LINE):
        doubled = tinyjax.shard_map(lambda a: 2 * a, in_specs=P("x"), out_specs=P("x"))(DATA)
    np.testing.assert_allclose(doubled, 2 * DATA)


BY_X = P("x")


def over_x(f: Callable[..., Any], in_specs: Any = BY_X, out_specs: Any = BY_X) -> Any:
    return tinyjax.shard_map(f, mesh=LINE, in_specs=in_specs, out_specs=out_specs)


MISTAKES: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (ShardingError, "result of .* may differ", lambda: over_x(jnp.sin, out_specs=P())(DATA)),
    (
        ShardingError,
        r"result\[1\] of .* may differ .* along 'x'",
        lambda: over_x(lambda a: (1.0, a), out_specs=P())(DATA),
    ),
    (
        ShardingError,
        "wait for others for ever",
        lambda: over_x(lambda a: lax.cond(a[0, 0] > 0, lambda a: lax.psum(a, "x"), jnp.sin, a))(
            DATA
        ),
    ),
    (
        ShardingError,
        "a while_loop has a collective",
        lambda: over_x(
            lambda a: lax.while_loop(lambda s: s[0, 0] < 9, lambda s: s + lax.psum(s, "x"), a)
        )(DATA),
    ),
    (
        ShardingError,
        "result of .* may differ",
        lambda: over_x(lambda a: lax.all_gather(a, "x", tiled=True), out_specs=P())(DATA),
    ),
    (
        DifferentiationError,
        r"cotangent of type float32\[2,8\]{V:x} was given for a result of type float32\[2,8\]",
        lambda: over_x(lambda a: tinyjax.vjp(jnp.sin, lax.psum(a, "x"))[1](a)[0])(DATA),
    ),
    (
        DifferentiationError,
        r"bwd rule, of .*cube.* for an operand .* Let it add theirs: lax.psum\(ct, 'x'\)",
        lambda: over_x(lambda a: tinyjax.grad(lambda w: cubes(w, a).sum())(jnp.ones(8)))(DATA),
    ),
    (
        ArgumentError,
        "to='varying' or",
        lambda: over_x(lambda a: lax.all_gather(a, "x", to="x"))(DATA),
    ),
    (
        ShardingError,
        r"axis 0 of args\[0\] of sin .* no multiple of 4",
        lambda: over_x(jnp.sin)(np.ones(6)),
    ),
    (ShardingError, "not as many axes", lambda: over_x(jnp.sum)(DATA)),
    (UnboundAxisError, "'z'", lambda: over_x(lambda a: lax.psum(a, "z"))(DATA)),
    (
        ShardingError,
        "needs a mesh",
        lambda: tinyjax.shard_map(jnp.sin, in_specs=P(), out_specs=P())(1.0),
    ),
    (ShardingError, "inside a function given", lambda: over_x(over_x(jnp.sin))(DATA)),
    (
        ShardingError,
        "in_specs of shard_map .* leave nothing open",
        lambda: over_x(jnp.sin, in_specs=P(P.UNCONSTRAINED))(DATA),
    ),
    *[
        (
            ArgumentError,
            "ints from 0 to 63",
            lambda axis=axis: tinyjax.smap(jnp.sin, in_axes=axis, out_axes=0, axis_name="x"),
        )
        for axis in (-1, True, "x")
    ],
    (ArgumentError, "by position only", lambda: over_x(lambda a: a)(a=DATA)),
    (
        ShardingError,
        "runs the function along x only, and XLA takes parts of sums along all axes",
        lambda: tinyjax.shard_map(
            lambda a: a,
            mesh=GRID,
            in_specs=P(),
            out_specs=P(unreduced={"x"}),
            axis_names={"x"},
        )(DATA),
    ),
]


@pytest.mark.parametrize(("error", "message", "call"), MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with raises(error, match=message):
        call()


def test_arrays_in_one_place_are_divided_there_and_nothing_is_compiled() -> None:
    before = tinyjax.cache.info().memory
    found = tinyjax.shard_map(lambda a: 2 * a, mesh=LINE, in_specs=BY_X, out_specs=BY_X)(DATA)
    np.testing.assert_array_equal(np.asarray(found), 2 * DATA)
    assert tinyjax.cache.info().memory == before


def test_of_a_sum_the_first_device_has_all() -> None:
    explicit = tinyjax.make_mesh((4,), ("x",), axis_types=(tinyjax.sharding.AxisType.Explicit,))
    parts = _divided(jnp.asarray(DATA[0]), explicit, P(unreduced={"x"}))
    np.testing.assert_array_equal(np.asarray(parts), [DATA[0], *[0 * DATA[0]] * 3])


def test_arguments_without_a_specification() -> None:
    found = []
    for lib in (tinyjax, jax):
        mesh = GRID if lib is tinyjax else TO_JAX[GRID]

        def program(a: Any, w: Any, lib: Any = lib, mesh: Any = mesh) -> Any:
            mapped = lib.shard_map(
                lambda a, n, rest: a.reshape(n, -1) * rest["w"][0] + len(rest["name"]),
                mesh=mesh,
                in_specs=(lib.P("x"), None, None),
                out_specs=lib.P("x"),
            )
            return mapped(a, 8, {"w": w, "name": "abc"})

        whole = lib.jit(program)(DATA, DATA[0])
        found.append([whole, lib.grad(lambda w, f=program: f(DATA, w).sum())(DATA[0])])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
