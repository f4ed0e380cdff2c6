"""Custom derivative rules for functions that Python can transform."""

from functools import partial
from typing import Any

import numpy as np


def log1pexp(jax: Any) -> Any:
    jnp = jax.numpy

    @jax.custom_jvp
    def log1pexp(x: Any) -> Any:
        return jnp.log(1.0 + jnp.exp(x))

    @log1pexp.defjvp
    def log1pexp_jvp(primals: Any, tangents: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        ans = log1pexp(x)
        return ans, (1 - 1 / (1 + jnp.exp(x))) * x_dot

    return (
        jax.jit(log1pexp)(3.0),
        jax.jit(jax.grad(log1pexp))(3.0),
        jax.vmap(jax.jit(jax.grad(log1pexp)))(jnp.arange(3.0)),
        jax.grad(log1pexp)(100.0),
        jax.grad(jax.grad(log1pexp))(1.0),
        jax.jacfwd(jax.jacrev(log1pexp))(1.0),
    )


def defjvps(jax: Any) -> Any:
    jnp = jax.numpy

    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x**2 * y

    f.defjvps(
        lambda x_dot, primal_out, x, y: 2 * x * y * x_dot,
        lambda y_dot, primal_out, x, y: x**2 * y_dot,
    )
    g = jax.custom_jvp(lambda x, y: x**2 * y)
    g.defjvps(lambda x_dot, primal_out, x, y: 2 * x * y * x_dot, None)
    return jax.grad(f)(2.0, 3.0), jax.grad(f, 1)(2.0, 3.0), jax.grad(g, (0, 1))(2.0, 3.0), jnp.pi


def nondiff(jax: Any) -> Any:
    @partial(jax.custom_jvp, nondiff_argnums=(0,))
    def app(f: Any, x: Any) -> Any:
        return f(x)

    @app.defjvp
    def app_jvp(f: Any, primals: Any, tangents: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        return f(x), 2.0 * x_dot

    @partial(jax.custom_jvp, nondiff_argnums=(0, 2))
    def app2(f: Any, x: Any, g: Any) -> Any:
        return f(g(x))

    @app2.defjvp
    def app2_jvp(f: Any, g: Any, primals: Any, tangents: Any) -> Any:
        (x,), (x_dot,) = primals, tangents
        return f(g(x)), 3.0 * x_dot

    return (
        app(lambda x: x**3, 3.0),
        jax.grad(app, 1)(lambda x: x**3, 3.0),
        jax.grad(app2, 1)(lambda x: x**3, 3.0, lambda y: 5 * y),
    )


def clipping(jax: Any) -> Any:
    jnp = jax.numpy

    @jax.custom_vjp
    def clip_gradient(lo: Any, hi: Any, x: Any) -> Any:
        return x

    def fwd(lo: Any, hi: Any, x: Any) -> Any:
        return x, (lo, hi)

    def bwd(res: Any, g: Any) -> Any:
        lo, hi = res
        return (None, None, jnp.clip(g, lo, hi))

    clip_gradient.defvjp(fwd, bwd)
    t = jnp.linspace(0, 10, 7)
    return jax.vmap(jax.grad(lambda x: jnp.sin(clip_gradient(-0.75, 0.75, x))))(t)


def nondiff_vjp(jax: Any) -> Any:
    jnp = jax.numpy

    @partial(jax.custom_vjp, nondiff_argnums=(0, 1))
    def clip_gradient(lo: float, hi: float, x: Any) -> Any:
        return x

    def fwd(lo: float, hi: float, x: Any) -> Any:
        return x, None

    def bwd(lo: float, hi: float, _: Any, g: Any) -> Any:
        return (jnp.clip(g, lo, hi),)

    clip_gradient.defvjp(fwd, bwd)
    return jax.grad(lambda x: 10 * clip_gradient(-1.0, 1.0, x))(2.0)


def fixed_point(jax: Any) -> Any:
    jnp = jax.numpy

    @partial(jax.custom_vjp, nondiff_argnums=(0,))
    def fixed_point(f: Any, a: Any, x_guess: Any) -> Any:
        def cond_fun(carry: Any) -> Any:
            x_prev, x = carry
            return jnp.abs(x_prev - x) > 1e-6

        def body_fun(carry: Any) -> Any:
            _, x = carry
            return x, f(a, x)

        _, x_star = jax.lax.while_loop(cond_fun, body_fun, (x_guess, f(a, x_guess)))
        return x_star

    def fixed_point_fwd(f: Any, a: Any, x_init: Any) -> Any:
        x_star = fixed_point(f, a, x_init)
        return x_star, (a, x_star)

    def rev_iter(f: Any, packed: Any, u: Any) -> Any:
        a, x_star, x_star_bar = packed
        _, vjp_x = jax.vjp(lambda x: f(a, x), x_star)
        return x_star_bar + vjp_x(u)[0]

    def fixed_point_rev(f: Any, res: Any, x_star_bar: Any) -> Any:
        a, x_star = res
        _, vjp_a = jax.vjp(lambda a: f(a, x_star), a)
        (a_bar,) = vjp_a(fixed_point(partial(rev_iter, f), (a, x_star, x_star_bar), x_star_bar))
        return a_bar, jnp.zeros_like(x_star)

    fixed_point.defvjp(fixed_point_fwd, fixed_point_rev)

    def newton_sqrt(a: Any) -> Any:
        update = lambda a, x: 0.5 * (x + a / x)  # noqa: E731
        return fixed_point(update, a, a)

    return newton_sqrt(2.0), jax.grad(newton_sqrt)(2.0), jax.grad(jax.grad(newton_sqrt))(2.0)


def python_debugging(jax: Any) -> Any:
    seen: list[float] = []

    @jax.custom_vjp
    def debug(x: Any) -> Any:
        return x

    def fwd(x: Any) -> Any:
        return x, x

    def bwd(x: Any, g: Any) -> Any:
        seen.append(float(g))
        return (g,)

    debug.defvjp(fwd, bwd)
    y = jax.grad(lambda x: jax.numpy.sin(debug(x**2)))(3.0)
    return y, seen


def containers(jax: Any) -> Any:
    from collections import namedtuple

    Point = namedtuple("Point", ["x", "y"])
    jnp = jax.numpy

    @jax.custom_jvp
    def f(pt: Any) -> Any:
        return {"a": pt.x**2, "b": (jnp.sin(pt.x), jnp.cos(pt.y))}

    @f.defjvp
    def f_jvp(primals: Any, tangents: Any) -> Any:
        (pt,), (pt_dot,) = primals, tangents
        ans = f(pt)
        ans_dot = {
            "a": 2 * pt.x * pt_dot.x,
            "b": (jnp.cos(pt.x) * pt_dot.x, -jnp.sin(pt.y) * pt_dot.y),
        }
        return ans, ans_dot

    def fun(pt: Any) -> Any:
        dct = f(pt)
        return dct["a"] + dct["b"][0]

    return f(Point(1.0, 2.0)), jax.grad(fun)(Point(1.0, 2.0))


def symbolic_zeros(jax: Any) -> Any:
    from importlib import import_module

    custom = import_module(f"{jax.__name__}.custom_derivatives")
    seen = []

    @jax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([type(t) is custom.SymbolicZero for t in tangents])
        x, y = primals
        return f(x, y), tangents[0] * y

    f.defjvp(rule, symbolic_zeros=True)
    return jax.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)), seen


def gradients(jax: Any) -> Any:
    @jax.custom_gradient
    def f(x: Any) -> Any:
        return x**2, lambda g: (g * x,)

    linear = jax.custom_derivatives.linear_call(
        lambda res, x: res * x, lambda res, ct: res * ct, np.float32(2), np.float32(3)
    )
    converted, consts = jax.closure_convert(lambda x: x * np.float32(4), 1.0)
    return jax.grad(f)(3.0), linear, converted(2.0, *consts)
