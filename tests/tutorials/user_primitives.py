"""Primitives as classes: an implementation, and a rule for each transformation that needs one."""

from functools import partial
from importlib import import_module
from typing import Any


def _hijax_of(module: Any) -> Any:
    return import_module(f"{module.__name__}.experimental.hijax")


def _primitive(rules: type, base: Any) -> Any:
    return type(rules.__name__, (rules, base.VJPHiPrimitive), {})


def both_modes(jax: Any) -> Any:
    """A stable derivative."""
    jnp, hijax = jax.numpy, _hijax_of(jax)

    class Softplus:
        def __init__(self: Any, aval: Any, sharpness: float) -> None:
            self.in_avals, self.out_aval = (aval,), aval
            self.params = {"sharpness": sharpness}
            super().__init__()

        def expand(self: Any, x: Any) -> Any:
            return jnp.log(1.0 + jnp.exp(self.sharpness * x)) / self.sharpness

        def vjp_fwd(self: Any, nzs_in: Any, x: Any) -> Any:
            return self(x), x

        def vjp_bwd_retval(self: Any, x: Any, ct: Any) -> Any:
            return (ct / (1.0 + jnp.exp(-self.sharpness * x)),)

        def jvp(self: Any, primals: Any, tangents: Any) -> Any:
            (x,), (t,) = primals, tangents
            return self(x), t / (1.0 + jnp.exp(-self.sharpness * x))

        def batch_dim_rule(self: Any, axis_data: Any, dims: Any) -> Any:
            return dims[0]

    def f(x: Any, sharpness: float = 2.0) -> Any:
        return _primitive(Softplus, hijax)(jax.typeof(x), sharpness)(x)

    xs = jnp.array([-60.0, -0.5, 1.5, 60.0])
    nested = jax.vmap(jax.vmap(f), in_axes=1)
    return (
        [f(1.5), f(1.5, 3.0), jax.jit(f)(1.5), jax.jvp(f, (1.5,), (2.0,))],
        [jax.grad(f)(60.0), jax.grad(jax.grad(f))(1.5), jax.hessian(f)(1.5)],
        [jax.vmap(g)(xs[1:3]) for g in (f, jax.grad(f), jax.jit(jax.grad(f)))],
        jax.grad(lambda m: (nested(m) ** 2).sum())(xs[1:3].reshape(1, 2)),
        jax.grad(jax.checkpoint(lambda x: jnp.sin(f(x))))(1.5),
        jax.grad(lambda xs: jax.lax.scan(lambda c, x: (c * f(x), c), 1.0, xs)[0])(xs[1:3]),
        jax.jvp(jax.grad(f), (0.5,), (1.0,)),
        jax.vjp(f, 1.5)[1](2.0),
    )


def clipped(jax: Any) -> Any:
    """Cotangents between bounds that are arguments."""
    jnp, hijax = jax.numpy, _hijax_of(jax)

    class Clip:
        def __init__(self: Any, *avals: Any) -> None:
            self.in_avals, self.out_aval, self.params = avals, avals[2], dict[str, Any]()
            super().__init__()

        def expand(self: Any, low: Any, high: Any, x: Any) -> Any:
            return x

        def vjp_fwd(self: Any, nzs_in: Any, low: Any, high: Any, x: Any) -> Any:
            return self(low, high, x), (low, high) if nzs_in[2] else None

        def vjp_bwd_retval(self: Any, bounds: Any, ct: Any) -> Any:
            return None, None, None if bounds is None else jnp.clip(ct, *bounds)

        def batch_dim_rule(self: Any, axis_data: Any, dims: Any) -> Any:
            return dims[2]

    clip = _primitive(Clip, hijax)

    def loss(low: Any, x: Any) -> Any:
        return jnp.sin(clip(*map(jax.typeof, (low, 0.5, x)))(low, 0.5, x))

    xs = jnp.linspace(0.0, 3.0, 5)
    return (
        jax.vmap(jax.grad(loss, (0, 1)), (None, 0))(-0.25, xs),
        jax.grad(lambda low: jax.vmap(partial(loss, low))(xs).sum())(-0.25),
        jax.jit(jax.vmap(jax.grad(loss, 1)))(-xs, xs),
    )


def trees_and_accumulators(jax: Any) -> Any:
    """Trees of types, zeros that are known, and cotangents that are added where they belong."""
    jnp, hijax = jax.numpy, _hijax_of(jax)

    class Rotate:
        def __init__(self: Any, point: Any, axis: int) -> None:
            self.in_avals = (point,)
            self.out_aval = {"length": point["x"], "turned": [point["y"], point["x"]]}
            self.params = {"axis": axis}
            super().__init__()

        def expand(self: Any, p: Any) -> Any:
            return {"length": jnp.hypot(p["x"], p["y"]), "turned": [-p["y"], p["x"]]}

        def vjp_fwd(self: Any, nzs_in: Any, p: Any) -> Any:
            out = self(p)
            return out, (p, out["length"])

        def vjp_bwd(self: Any, res: Any, ct: Any, accums: Any) -> None:
            p, length = res
            if not isinstance(ct["length"], hijax.Zero):
                accums["x"].accum(ct["length"] * p["x"] / length)
                accums["y"].accum(ct["length"] * p["y"] / length)
            first, second = map(hijax.instantiate_zeros, ct["turned"])
            accums["y"].accum(-first)
            accums["x"].accum(second)

    def turn(p: Any) -> Any:
        return _primitive(Rotate, hijax)(jax.tree.map(jax.typeof, p), 0)(p)

    point = {"x": 3.0, "y": 4.0}
    total = {"x": jax.new_ref(1.0), "y": jax.new_ref(1.0)}
    _, pull_back = jax.vjp(lambda p: turn(p)["length"], point)
    pull_back.with_refs(total)(2.0)
    return (
        turn(point),
        jax.grad(lambda p: turn(p)["length"])(point),
        jax.grad(lambda p: turn(p)["length"] * turn(p)["turned"][1])(point),
        jax.tree.map(jax.ref.get, total),
    )


def linear_maps(jax: Any) -> Any:
    """A linearization, a batch and a transpose by hand."""
    jnp, hijax = jax.numpy, _hijax_of(jax)

    class Sine:
        def __init__(self: Any, aval: Any) -> None:
            self.in_avals, self.out_aval, self.params = (aval,), aval, dict[str, Any]()
            super().__init__()

        def expand(self: Any, x: Any) -> Any:
            return jnp.sin(x)

        def lin(self: Any, nzs_in: Any, x: Any) -> Any:
            return self(x), jnp.cos(x)

        def linearized(self: Any, cos_x: Any, t: Any) -> Any:
            return cos_x * t

    class Apply:
        def __init__(self: Any, matrix: Any, vector: Any) -> None:
            self.in_avals = (matrix, vector)
            self.out_aval = hijax.ShapedArray((matrix.shape[0],), matrix.dtype)
            self.params = dict[str, Any]()
            super().__init__()

        def expand(self: Any, a: Any, x: Any) -> Any:
            return a @ x

        def batch(self: Any, axis_data: Any, args: Any, dims: Any) -> Any:
            a, xs = args
            assert dims[0] is None
            assert axis_data.size == xs.shape[dims[1]]
            return a @ jnp.moveaxis(xs, dims[1], -1), 1

        def transpose(self: Any, ct: Any, a: Any, x: Any) -> None:
            x.accum(ct @ a)

    def sine(x: Any) -> Any:
        return _primitive(Sine, hijax)(jax.typeof(x))(x)

    def apply(a: Any, x: Any) -> Any:
        return _primitive(Apply, hijax)(jax.typeof(a), jax.typeof(x))(a, x)

    y, push = jax.linearize(sine, 1.0)
    matrix = jnp.arange(6.0).reshape(2, 3)
    xs = jnp.arange(12.0).reshape(3, 4)
    return (
        [y, push(2.0), push(-1.0)],
        jax.vmap(apply, (None, 1))(matrix, xs),
        jax.linear_transpose(lambda x: apply(matrix, x), xs[:, 0])(jnp.array([1.0, -2.0])),
    )
