"""Derivatives taken inside the function given to ``shard_map``: evaluated, compiled, and jax's."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from specs import Spec, all_specs
from tinyjax import P, dtypes, lax
from tinyjax.implicit import odeint
from tinyjax.scipy.sparse.linalg import cg

LINE = tinyjax.make_mesh((4,), ("x",))
GRID = tinyjax.make_mesh((2, 2), ("x", "y"))
TO_JAX = {
    LINE: jax.make_mesh((4,), ("x",), (jax.sharding.AxisType.Auto,)),
    GRID: jax.make_mesh((2, 2), ("x", "y"), (jax.sharding.AxisType.Auto,) * 2),
}
BY_X = P("x")
W = np.array([0.5, -1.5, 2.0], np.float32)
X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
V = np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)


def local(lib: Any, w: Any, x: Any) -> Any:
    return lib.numpy.sum(lib.numpy.sin(w * x))


def summed(lib: Any, w: Any, x: Any) -> Any:
    return lib.lax.psum(local(lib, w, x), "x")


def averaged(lib: Any, w: Any, x: Any) -> Any:
    return lib.lax.pmean(local(lib, w, x), "x")


Loss = Callable[[Any, Any, Any], Any]
LOSSES: dict[str, Loss] = {
    "local": local,
    "psum": summed,
    "pmean": averaged,
    "psum of a psum": lambda lib, w, x: lib.lax.psum(local(lib, lib.lax.psum(w, "x"), x), "x"),
    "psum within": lambda lib, w, x: local(lib, w, x * lib.lax.psum(x, "x")),
    "psum of what all have": lambda lib, w, x: lib.lax.psum(lib.numpy.sum(w**2), "x"),
    "what all have": lambda lib, w, x: lib.numpy.sum(w**2),
    "handed on": lambda lib, w, x: lib.lax.psum(lib.numpy.sum(x + w), "x"),
    "cast": lambda lib, w, x: local(lib, lib.lax.pcast(w, "x", to="varying"), x),
    "all_gather": lambda lib, w, x: lib.numpy.sum(
        lib.numpy.sin(lib.lax.all_gather(w * x, "x")) * x[0]
    ),
    "all_gather, invarying": lambda lib, w, x: lib.numpy.sum(
        lib.numpy.sin(lib.lax.all_gather(w * x, "x", axis=1, to="invarying")) * w
    ),
    "all_gather, invarying, tiled": lambda lib, w, x: lib.numpy.sum(
        lib.lax.all_gather(w * x, "x", tiled=True, to="invarying") ** 3
    ),
    "psum_scatter": lambda lib, w, x: lib.numpy.sum(
        lib.lax.psum_scatter(lib.numpy.outer(x[:, :2].ravel(), w), "x", tiled=True) ** 2
    ),
    "ppermute": lambda lib, w, x: local(
        lib, w, lib.lax.ppermute(x * w, "x", [(0, 1), (1, 2), (2, 3)])
    ),
    "all_to_all": lambda lib, w, x: lib.numpy.sum(
        lib.lax.all_to_all(lib.numpy.outer(w, x[:, :2].ravel()), "x", 1, 1, tiled=True) ** 2
    ),
    "axis_index": lambda lib, w, x: lib.numpy.sum(w**2) * lib.lax.axis_index("x"),
    "jit": lambda lib, w, x: lib.jit(lambda w, x: local(lib, w, x))(w, x),
    "jit of psum": lambda lib, w, x: lib.jit(lambda w, x: summed(lib, w, x))(w, x) * w[0],
    "jit, closed over": lambda lib, w, x: lib.jit(lambda w: summed(lib, w, x))(w),
    "checkpoint": lambda lib, w, x: lib.checkpoint(lambda w: summed(lib, w, lib.numpy.sin(x)))(w),
    "vmap": lambda lib, w, x: lib.numpy.sum(lib.vmap(lambda row: summed(lib, w, row))(x) ** 2),
    "scan": lambda lib, w, x: lib.lax.scan(
        lambda c, row: (c * lib.numpy.sin(lib.numpy.sum(w * row)), None),
        lib.lax.pcast(1.0, "x", to="varying"),
        x,
    )[0],
    "scan, psum within": lambda lib, w, x: lib.lax.scan(
        lambda c, row: (lib.numpy.sin(c + lib.lax.psum(w * row, "x")), lib.numpy.sum(c * row)),
        w,
        x,
    )[1].sum(),
    "cond": lambda lib, w, x: lib.lax.cond(
        lib.lax.psum(x[0, 0], "x") > 0,
        lambda w: lib.lax.psum(local(lib, w, x), "x"),
        lambda w: lib.lax.psum(local(lib, w * 2, x), "x"),
        w,
    ),
    "cond by what varies": lambda lib, w, x: lib.lax.cond(
        x[0, 0] > 0,
        lambda w: local(lib, w, x),
        lambda w: local(lib, w * 2, x),
        lib.lax.pcast(w, "x", to="varying"),
    ),
    "switch": lambda lib, w, x: lib.lax.switch(
        lib.lax.axis_index("x"),
        [lambda w, x: local(lib, w, x), lambda w, x: x[0, 0] ** 2 + w[0]],
        lib.lax.pcast(w, "x", to="varying"),
        x,
    ),
    "fori_loop": lambda lib, w, x: lib.lax.fori_loop(
        0, 3, lambda i, c: lib.numpy.sin(c * w) + x[0], x[1]
    ).sum(),
    "two casts": lambda lib, w, x: lib.numpy.sum(w * x) * lib.numpy.sum(w**2),
    "matmul": lambda lib, w, x: lib.numpy.sum(lib.numpy.tanh(x @ lib.numpy.outer(w, w)) ** 2),
    "solve": lambda lib, w, x: lib.numpy.sum(
        lib.numpy.linalg.solve(lib.numpy.eye(3) * 9 + lib.numpy.outer(w, w), x[0]) ** 2
    ),
    "sort and gather": lambda lib, w, x: lib.numpy.sum(lib.numpy.sort(w * x[0])[1:] ** 2 * w[:2]),
    "scatter": lambda lib, w, x: lib.numpy.sum(lib.numpy.zeros(5).at[1:4].add(w * x[0]) ** 2),
    "where": lambda lib, w, x: lib.numpy.sum(lib.numpy.where(x > 0, w * x, w)),
    "complex": lambda lib, w, x: lib.numpy.abs(lib.numpy.sum(lib.numpy.exp(1j * w * x))) ** 2,
    "stop_gradient": lambda lib, w, x: local(lib, w * lib.lax.stop_gradient(summed(lib, w, x)), x),
}


def custom_jvp(lib: Any) -> Any:
    f = lib.custom_jvp(lambda w, x: lib.numpy.sum(w * x))

    def rule(primals: Any, tangents: Any) -> Any:
        (w, x), (dw, dx) = primals, tangents
        return f(w, x), lib.numpy.sum(2 * dw * x) + lib.numpy.sum(w * dx)

    f.defjvp(rule)
    return f


def custom_vjp(lib: Any, reduce: bool) -> Any:
    """A product whose rule adds the parts of the devices' cotangents itself, doubled."""
    f = lib.custom_vjp(lambda w, x: lib.numpy.sum(w * x))

    def backward(saved: Any, ct: Any) -> Any:
        w, x = saved
        own = 2 * ct * lib.numpy.sum(x, 0)
        return lib.lax.psum(own, "x") if reduce else own, ct * lib.numpy.broadcast_to(w, x.shape)

    f.defvjp(lambda w, x: (f(w, x), (w, x)), backward)
    return f


def squared_ct(lib: Any) -> Any:
    """A rule that is not linear in the cotangent."""
    f = lib.custom_vjp(lib.numpy.sin)
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct**2 * x,))
    return f


LOSSES |= {
    "custom_jvp": lambda lib, w, x: custom_jvp(lib)(w, x),
    "custom_jvp in jit": lambda lib, w, x: lib.jit(lambda w: custom_jvp(lib)(w, x))(w),
    "custom_vjp, summed": lambda lib, w, x: custom_vjp(lib, True)(w, x),
    "custom_vjp, of what varies": lambda lib, w, x: custom_vjp(lib, False)(w + 0 * x[0], x),
    "custom_vjp in jit": lambda lib, w, x: lib.jit(custom_vjp(lib, True))(w, x),
    "custom_vjp in scan": lambda lib, w, x: lib.lax.scan(
        lambda c, row: (c + custom_vjp(lib, True)(w, row[None]), None), 0 * x[0, 0], x
    )[0],
    "custom_vjp, not linear": lambda lib, w, x: lib.lax.psum(
        lib.numpy.sum(squared_ct(lib)(w) * 3 * x), "x"
    ),
}
#: What takes no forward mode, or of no higher order.
REVERSE = [name for name in LOSSES if name.startswith("custom_vjp")]


Derivative = Callable[[Any, Loss], Callable[[Any, Any, Any], Any]]
DERIVATIVES: dict[str, Derivative] = {
    "grad": lambda lib, f: lambda w, x, v: lib.grad(lambda w: f(lib, w, x))(w)[None],
    "grad in x": lambda lib, f: lambda w, x, v: lib.grad(lambda x: f(lib, w, x))(x),
    "grad of psum": lambda lib, f: (
        lambda w, x, v: lib.grad(lambda w: lib.lax.psum(f(lib, w, x), "x"))(w)[None]
    ),
    "psum of grad": lambda lib, f: (
        lambda w, x, v: lib.lax.psum(lib.grad(lambda w: f(lib, w, x))(w), "x")[None]
    ),
    "jvp": lambda lib, f: lambda w, x, v: lib.jvp(lambda x: f(lib, w, x), (x,), (v,))[1].reshape(1),
    "jvp, both": lambda lib, f: (
        lambda w, x, v: lib.jvp(lambda w, x: f(lib, w, x), (w, x), (w, v))[1].reshape(1)
    ),
    "linearize": lambda lib, f: (
        lambda w, x, v: lib.linearize(lambda w: f(lib, w, x), w)[1](w).reshape(1)
    ),
    "jacfwd": lambda lib, f: lambda w, x, v: lib.jacfwd(lambda w: f(lib, w, x))(w)[None],
    "jacrev": lambda lib, f: lambda w, x, v: lib.jacrev(lambda w: f(lib, w, x))(w)[None],
    "hessian": lambda lib, f: lambda w, x, v: lib.hessian(lambda w: f(lib, w, x))(w)[None],
    "grad of grad": lambda lib, f: (
        lambda w, x, v: lib.grad(lambda x: lib.numpy.sum(lib.grad(lambda w: f(lib, w, x))(w) ** 2))(
            x
        )
    ),
    "jvp of grad": lambda lib, f: (
        lambda w, x, v: lib.jvp(lambda x: lib.grad(lambda w: f(lib, w, x))(w), (x,), (v,))[1][None]
    ),
    "jit of grad": lambda lib, f: (
        lambda w, x, v: lib.jit(lib.grad(lambda w, x: f(lib, w, x)))(w, x)[None]
    ),
    "vmap of grad": lambda lib, f: (
        lambda w, x, v: lib.vmap(lib.grad(lambda w: f(lib, w, x)))(lib.numpy.stack([w, 2 * w]))[
            None
        ]
    ),
}
FORWARD = [name for name in DERIVATIVES if "grad" not in name and name != "jacrev"]
HIGHER = ["grad of grad", "jvp of grad", "hessian"]

CASES = [
    (derivative, loss)
    for derivative in DERIVATIVES
    for loss in LOSSES
    if loss not in REVERSE or derivative not in (*FORWARD, *HIGHER)
]


def agree(actual: Any, expected: Any, rtol: float = 2e-4) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), rtol=rtol, atol=2e-4)


def mapped(lib: Any, derivative: str, loss: str, mesh: Any, spec: Any) -> Any:
    inside = DERIVATIVES[derivative](lib, LOSSES[loss])
    by_x = spec("x")
    return lib.shard_map(inside, mesh=mesh, in_specs=(spec(), by_x, by_x), out_specs=by_x)


@pytest.mark.parametrize(("derivative", "loss"), CASES)
@pytest.mark.sampled(80)
def test_derivatives(derivative: str, loss: str) -> None:
    ours = mapped(tinyjax, derivative, loss, LINE, P)
    evaluated = ours(W, X, V)
    agree(tinyjax.jit(ours)(W, X, V), evaluated)
    theirs = mapped(jax, derivative, loss, TO_JAX[LINE], jax.P)
    agree(evaluated, jax.jit(theirs)(W, X, V))


def of_choices(lib: Any, loss: str, mesh: Any, spec: Any, x: Any) -> Any:
    """Derivatives of what is chosen inside of ``shard_map``, and again outside."""

    def part(w: Any, x: Any) -> Any:
        value = LOSSES[loss](lib, lib.numpy.exp(w), lib.numpy.sqrt(x + 1))
        return lib.numpy.where(x > 0.5, value * lib.numpy.sqrt(x), x)

    parts = lib.shard_map(part, mesh=mesh, in_specs=(spec(), spec("x")), out_specs=spec("x"))

    def total(w: Any, x: Any) -> Any:
        return lib.numpy.sum(lib.numpy.where(x > 0, parts(w, x) * lib.numpy.log(x), x))

    return lib.jit(lib.grad(total, (0, 1)))(W, x)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.sampled(10)
def test_choices(loss: str) -> None:
    """As jax has it; and finite where x is 0 and the root and the logarithm are not taken."""
    x = X**2 + np.float32(0.1)
    theirs = of_choices(jax, loss, TO_JAX[LINE], jax.P, x)
    for ours, expected in zip(of_choices(tinyjax, loss, LINE, P, x), theirs, strict=True):
        agree(ours, expected, 2e-3)
    x[::3] = 0
    assert all(np.all(np.isfinite(g)) for g in of_choices(tinyjax, loss, LINE, P, x))


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
@pytest.mark.parametrize("checks", [False, True])
def test_a_loss_that_is_not_taken_has_no_gradient(kind: str, checks: bool) -> None:
    """By hand: zero where the loss is not finite, and elsewhere the gradient of the loss."""
    axis_type = tinyjax.sharding.AxisType[kind]
    mesh = tinyjax.make_mesh((4,), ("x",), axis_types=(axis_type,))
    loss = tinyjax.shard_map(
        lambda w, x: lax.psum(jnp.sum(jnp.tanh(x @ w) ** 2), "x"),
        mesh=mesh,
        in_specs=(P(), BY_X),
        out_specs=P(),
        check_vma=checks,
    )

    def whole(w: Any, x: Any) -> Any:
        return loss(jnp.outer(w, w) @ jnp.outer(w, w), x)

    def chosen(w: Any, x: Any) -> Any:
        value = whole(w, x)
        return jnp.where(jnp.isfinite(value), value, 0.0)

    gradients = tinyjax.grad(chosen, (0, 1))
    spoilt = X.copy()
    spoilt[2, 1] = np.nan
    for x, factor in ((X, 1), (spoilt, 0)):
        expected = [factor * g for g in tinyjax.grad(whole, (0, 1))(W, X)]
        for given in (x, tinyjax.device_put(x, tinyjax.NamedSharding(mesh, BY_X))):
            for run in (
                gradients,
                tinyjax.jit(gradients),
                tinyjax.grad(tinyjax.jit(chosen), (0, 1)),
            ):
                for ours, right in zip(run(W, given), expected, strict=True):
                    agree(ours, right)


# Held to other things than jax


def over_x(f: Any, in_specs: Any, out_specs: Any = BY_X) -> Any:
    return tinyjax.shard_map(f, mesh=LINE, in_specs=in_specs, out_specs=out_specs)


PROGRAM = tinyjax.make_jaxpr(
    lambda w, x: lax.while_loop(
        lambda s: s[0] < 3,
        lambda s: (s[0] + 1, lax.cond(x[0, 0] > 0, jnp.sin, jnp.cos, s[1] * w[0] + x[1, 1])),
        (0, tinyjax.jit(lambda w: lax.scan(lambda c, r: (jnp.sin(c * r), r[0]), w, x)[0].sum())(w)),
    )[1]
)(W, X[:2])


@tinyjax.jit(control_flow="source")
def by_source(w: Any, x: Any) -> Any:
    total = w[0] * 0
    for i in range(4):
        if x[i % 2, 0] > 0:
            total = total + jnp.sum((w * x[i % 2]) ** 2)
        total = total * w[1]
    return total


Whole = Callable[[Any, Any], Any]
#: name: a device's loss, and from it the one of the whole rows, whose derivative is the sum of the
#: devices'. In jax they have no derivative, are refused, or what devices have in common has the
#: derivative of each.
OTHERS: dict[str, tuple[Whole, Whole]] = {
    "pmax": (
        lambda w, x: lax.pmax(jnp.max(w * x), "x"),
        lambda w, x: jnp.max(w * x),
    ),
    "pmin": (
        lambda w, x: jnp.sum(lax.pmin(jnp.min(w * x, 0), "x")),
        lambda w, x: jnp.sum(jnp.min(w * x, 0)),
    ),
    "vmap with a name": (
        lambda w, x: lax.psum(
            jnp.sum(
                tinyjax.vmap(lambda r: (r * w - lax.pmean(r * w, ("i", "x"))) ** 2, axis_name="i")(
                    x
                )
            ),
            "x",
        ),
        lambda w, x: jnp.sum((x * w - jnp.mean(x * w, 0)) ** 2),
    ),
    "vmap with the mesh's name": (
        lambda w, x: jnp.sum(
            tinyjax.vmap(lambda r: jnp.sin(r * w * lax.psum(r, "x")), axis_name="x")(x)
        ),
        lambda w, x: sum(
            jnp.sum(jnp.sin(p * w * jnp.sum(p, 0))) for p in jnp.split(jnp.asarray(x), 4)
        ),
    ),
    "cond by what varies": (
        lambda w, x: lax.cond(x[0, 0] > 0, lambda: jnp.sum(w * x), lambda: jnp.sum(w**2)),
        lambda w, x: sum(
            jnp.sum(w * p) if p[0, 0] > 0 else jnp.sum(w**2) for p in np.split(np.asarray(x), 4)
        ),
    ),
    "while_loop of lengths that vary": (
        lambda w, x: lax.while_loop(
            lambda s: s[0] <= lax.axis_index("x"), lambda s: (s[0] + 1, s[1] * w[0]), (0, 1.0)
        )[1],
        lambda w, x: w[0] + w[0] ** 2 + w[0] ** 3 + w[0] ** 4,
    ),
    "scan with checkpoints": (
        lambda w, x: lax.scan(lambda c, r: (jnp.sin(c * w) + r, None), 0.5 * w, x, checkpoints=1)[
            0
        ].sum(),
        lambda w, x: sum(
            jnp.sum(jnp.sin((jnp.sin(0.5 * w * w) + p[0]) * w) + p[1])
            for p in jnp.split(jnp.asarray(x), 4)
        ),
    ),
    "linear_call": (
        lambda w, x: jnp.sum(
            tinyjax.custom_derivatives.linear_call(
                lambda r, w: r * w, lambda r, ct: jnp.sum(r * ct, 0), x, w
            )
        ),
        lambda w, x: jnp.sum(w * x),
    ),
    "a linear system": (
        lambda w, x: jnp.sum(
            lax.custom_linear_solve(
                lambda v: (4 + x[0] ** 2) * v + w * v,
                w,
                lambda mv, b: b / mv(jnp.ones(3)),
                lambda vm, b: b / vm(jnp.ones(3)),
            )
        ),
        lambda w, x: sum(jnp.sum(w / (4 + p[0] ** 2 + w)) for p in jnp.split(jnp.asarray(x), 4)),
    ),
    "a program staged outside": (
        lambda w, x: PROGRAM(w, x)[0],
        lambda w, x: sum(PROGRAM(w, p)[0] for p in jnp.split(jnp.asarray(x), 4)),
    ),
    "Python's control flow": (
        by_source,
        lambda w, x: sum(by_source(w, p) for p in jnp.split(jnp.asarray(x), 4)),
    ),
    "a matrix of which each device has rows": (
        lambda w, x: jnp.sum(
            cg(lambda v: lax.psum(x.T @ (x @ (v * w**2)), "x") * w**2 + v, w)[0] * x[0]
        ),
        lambda w, x: jnp.sum(
            jnp.linalg.solve((x.T @ x) * w[:, None] ** 2 * w**2 + jnp.eye(3), w)
            * jnp.sum(x[::2], 0)
        ),
    ),
    "odeint": (
        lambda w, x: odeint(lambda y, t, w: x[0] - w**2 * y, w, jnp.array([0.0, 1.0]), w)[1].sum(),
        lambda w, x: sum(
            jnp.sum(r / w**2 + (w - r / w**2) * jnp.exp(-(w**2))) for r in jnp.asarray(x[::2])
        ),
    ),
    "odd rows by ppermute over both": (
        lambda w, x: jnp.sum(lax.ppermute(w * x, ("x",), [(0, 3), (3, 0)]) ** 2),
        lambda w, x: jnp.sum((w * x)[:2] ** 2) + jnp.sum((w * x)[6:] ** 2),
    ),
}


@pytest.mark.parametrize("run", [lambda f: f, tinyjax.jit], ids=["evaluated", "compiled"])
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.sampled(4)
def test_sums_over_devices(name: str, run: Any) -> None:
    own, whole = OTHERS[name]
    expected = tinyjax.grad(whole)(jnp.asarray(W), X)
    with tinyjax.config.scoped(check_jaxprs=True):
        gradient = over_x(tinyjax.grad(own), (P(), BY_X), P())
        agree(run(gradient)(W, X), expected)
        # of the function that shard_map returns; what devices have of their own is added up
        common = name in ("pmax", "pmin", "vmap with a name")

        def total(w: Any) -> Any:
            return over_x(
                own if common else lambda w, x: lax.psum(own(w, x), "x"), (P(), BY_X), P()
            )(w, X)

        agree(run(tinyjax.grad(total))(W), expected)


def plain_vjp(fun: Any, operands: Any, chosen: Any) -> Any:
    """The gradient of a weighted sum of the results."""

    def loss(*values: Any) -> Any:
        given = dict(zip(chosen, values, strict=True))
        outs = fun(*[given.get(i, jnp.asarray(x)) for i, x in enumerate(operands)])
        rng = np.random.default_rng(5)
        total: Any = 0.0
        for out in tinyjax.tree.leaves(outs):
            if dtypes.kind(out.dtype) in "fc":
                total = total + jnp.sum(jnp.real(out) * rng.normal(size=out.shape))
        return total

    return loss


#: They are bound in functions given to shard_map already, or say how whole values lie.
WITHIN = (
    "shard_map",
    "pvary",
    "unvary",
    "recast",
    "all_gather_invariant",
    "sharding_constraint",
)


def test_what_is_compared_varies_after_it_was_compared_under_vmap() -> None:
    """The branch of each device is one of the residuals, and differs between devices."""

    @tinyjax.shard_map(mesh=LINE, in_specs=BY_X, out_specs=BY_X)
    def branch(x: Any) -> Any:
        met = tinyjax.vmap(lambda y: y > 0.5)(x)  # the first comparison of such types
        return lax.cond(x[0] > 0.5, lambda y: y * y, jnp.sin, x) + 0 * met

    x = np.resize([0.3, 0.9], LINE.size)
    _, pull = tinyjax.vjp(branch, x)
    np.testing.assert_allclose(pull(np.ones(LINE.size))[0], np.where(x > 0.5, 2 * x, np.cos(x)))


def test_what_is_made_like_a_value_varies_as_it_does() -> None:
    def inside(lib: Any) -> Callable[[Any], Any]:
        def body(x: Any) -> Any:
            y, pull_back = lib.vjp(lambda x: lib.numpy.sin(x) * x, x)
            zeros = [getattr(lib.numpy, f"{name}_like") for name in ("zeros", "ones", "empty")]
            zeros += [lambda y: lib.lax.full_like(y, 2), lambda y: lib.numpy.full_like(y, 3)]
            return [lib.vjp(lambda c: pull_back(c)[0], like(y))[1](2 * x)[0] for like in zeros]

        return body

    ours = tinyjax.shard_map(inside(tinyjax), mesh=LINE, in_specs=BY_X, out_specs=BY_X)
    theirs = jax.shard_map(
        inside(jax), mesh=TO_JAX[LINE], in_specs=jax.P("x"), out_specs=jax.P("x")
    )
    expected = jax.jit(theirs)(X)
    for result in (ours(X), tinyjax.jit(ours)(X)):
        for a, b in zip(result, expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-5, 1e-5)


ROWS = [row for row in all_specs() if row.grad and row.name not in WITHIN]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
@pytest.mark.sampled(12)
def test_rows(row: Spec) -> None:
    """Every derivative: of an operand of which devices have their own, and of what all have."""
    for case in row.cases[:2]:
        dtype = row.grad_dtypes[-1] if case.generic else None
        operands = case.sample(row.rng("smooth"), dtype, special=False)
        chosen = [i for i, x in enumerate(operands) if dtypes.kind(np.asarray(x).dtype) in "fc"]
        if not chosen:
            continue

        def fun(*args: Any, case: Any = case) -> Any:
            return row.fun(*args, **case.params)

        every = tuple(range(len(chosen)))
        values = [operands[i] for i in chosen]
        loss = plain_vjp(fun, operands, chosen)
        expected = tinyjax.grad(loss, every)(*values)

        def inside(first: Any, *rest: Any, loss: Any = loss, every: Any = every) -> Any:
            own, *common = tinyjax.grad(lambda *v: lax.pmean(loss(*v), "x"), every)(
                lax.pcast(first, "x", to="varying"), *rest
            )
            return own[None] * 2, common

        mapped = tinyjax.shard_map(
            inside, mesh=GRID, in_specs=P(), out_specs=(P("x"), [P()] * (len(chosen) - 1))
        )
        with tinyjax.config.scoped(check_jaxprs=True):
            own, common = mapped(*values)
        for x in own:
            agree(x, expected[0])
        for x, y in zip(common, expected[1:], strict=True):
            agree(x, y)
