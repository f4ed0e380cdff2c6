"""A closed-over traced value in every position where a function is taken.

Each row computes sin(x) c with a function of x that closes over c, given to something that takes
functions. It is held against the plain product through every transformation of both. What
``custom_batch`` may close over is in ``test_custom_derivatives.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import grad, hessian, jacfwd, jacrev, jit, jvp, lax, linearize, vjp, vmap

Fun = Callable[..., Any]


def times(c: Any) -> Fun:
    return lambda x: jnp.sin(x) * c


def integral(c: Any) -> Fun:
    return lambda x: -jnp.cos(x) * c


def other(x: Any) -> Any:
    return x


def host_sin(x: Any) -> Any:
    return np.sin(x)


def in_condition(x: Any, c: Any) -> Any:
    """One iteration, as the condition says with the help of c."""
    return (
        c
        * lax.while_loop(
            lambda s: s[0] < 1 + 0 * c, lambda s: (s[0] + 1, jnp.sin(s[1])), (0.0 * x, x)
        )[1]
    )


def one_iteration(x: Any, c: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, times(c)(s[1])), (0, x))[1]


def by_custom_jvp(x: Any, c: Any) -> Any:
    f = tinyjax.custom_jvp(times(c))
    f.defjvp(lambda primals, tangents: (f(*primals), c * jnp.cos(primals[0]) * tangents[0]))
    return f(x)


def by_custom_derivative(x: Any, c: Any) -> Any:
    f = tinyjax.custom_derivative(times(c))
    f.defderivative(lambda x: (times(c)(x), lambda t: c * jnp.cos(x) * t))
    return f(x)


def by_forward_rule(x: Any, c: Any) -> Any:
    f = tinyjax.custom_vjp(times(c))
    f.defvjp(lambda x: (f(x), (x, c)), lambda saved, ct: (ct * jnp.cos(saved[0]) * saved[1],))
    return f(x)


def by_backward_rule(x: Any, c: Any) -> Any:
    f = tinyjax.custom_vjp(times(c))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * jnp.cos(x) * c,))
    return f(x)


def by_static_argument(x: Any, c: Any) -> Any:
    """Apply a static function that closes over c, which the backward rule calls."""
    f = tinyjax.custom_vjp(lambda fun, x: fun(x), nondiff_argnums=(0,))
    f.defvjp(
        lambda fun, x: (fun(x), x), lambda fun, x, ct: (ct * fun(x) / jnp.sin(x) * jnp.cos(x),)
    )
    return f(times(c), x)


def by_callback(x: Any, c: Any) -> Any:
    """The derivative closes over two values that c goes into, whose product is one."""
    d = 1 / c
    product: Any = tinyjax.pure_callback(
        host_sin,
        jnp.asarray(x),
        x,
        vmap_method="sequential",
        derivative=lambda xs, ts: jnp.cos(xs[0]) * ts[0] * d * c,
    )
    return product * c


POSITIONS: dict[str, Fun] = {
    "cond, true": lambda x, c: lax.cond(c > 0, times(c), other, x),
    "cond, false": lambda x, c: lax.cond(c < 0, other, times(c), x),
    "switch": lambda x, c: lax.switch(jnp.asarray(c > 0).astype(int), [other, times(c)], x),
    "while_loop, condition": in_condition,
    "while_loop, body": one_iteration,
    "fori_loop": lambda x, c: lax.fori_loop(0, 1, lambda _, y: times(c)(y), x),
    "fori_loop, traced bounds": lambda x, c: jit(
        lambda n: lax.fori_loop(0, n, lambda _, y: times(c)(y), x)
    )(1),
    "scan, carry": lambda x, c: lax.scan(lambda y, _: (times(c)(y), None), x, None, 1)[0],
    "scan, output": lambda x, c: lax.scan(lambda y, _: (y, times(c)(y)), x, None, 2)[1][1],
    "map": lambda x, c: lax.map(times(c), jnp.stack([x, x]))[0],
    "map, batch_size": lambda x, c: lax.map(times(c), jnp.stack([x, x, x]), batch_size=2)[2],
    "associative_scan": lambda x, c: lax.associative_scan(
        lambda a, b: a + b * c, jnp.stack([0 * x, jnp.sin(x)])
    )[1],
    "checkpoint": lambda x, c: tinyjax.checkpoint(times(c))(x),
    "checkpoint, policy": lambda x, c: tinyjax.checkpoint(
        times(c), policy=tinyjax.checkpoint_policies.everything_saveable
    )(x),
    "custom_jvp": by_custom_jvp,
    "custom_derivative": by_custom_derivative,
    "custom_vjp, forward rule": by_forward_rule,
    "custom_vjp, backward rule": by_backward_rule,
    "custom_vjp, static argument": by_static_argument,
    "pure_callback, derivative": by_callback,
    "jit": lambda x, c: jit(times(c))(x),
    "vmap": lambda x, c: vmap(times(c))(jnp.stack([x, x]))[1],
    "vmap, chunk_size": lambda x, c: vmap(times(c), chunk_size=2)(jnp.stack([x, x, x]))[2],
    "grad": lambda x, c: grad(integral(c))(x),
    "value_and_grad": lambda x, c: tinyjax.value_and_grad(integral(c))(x)[1],
    "jvp": lambda x, c: jvp(integral(c), (x,), (1.0,))[1],
    "vjp": lambda x, c: vjp(integral(c), x)[1](1.0)[0],
    "linearize": lambda x, c: linearize(integral(c), x)[1](1.0),
    "jacfwd": lambda x, c: jacfwd(integral(c))(x),
    "jacrev": lambda x, c: jacrev(integral(c))(x),
    "hessian": lambda x, c: -hessian(times(c))(x),
    "make_jaxpr": lambda x, c: tinyjax.make_jaxpr(times(c))(x)(jnp.asarray(x))[0],
}
REVERSE = {name for name in POSITIONS if name.startswith("custom_vjp")}
# Whose reverse mode is a large program; its second order has tests of its own.
LARGE = {"while_loop, condition", "while_loop, body", "fori_loop, traced bounds"}


def firsts(f: Fun, x: Any, c: Any, xs: Any, cs: Any) -> dict[str, Any]:
    """Values and first derivatives, eager but for the loops in them."""
    return {
        "value": f(x, c),
        "grad": grad(f, (0, 1))(x, c),
        "vmap of grad over what is closed over": vmap(grad(f, (0, 1)), (None, 0))(x, cs),
        "vmap of grad over the argument": vmap(grad(f, (0, 1)), (0, None))(xs, c),
    }


def stacks(f: Fun, name: str, x: Any, c: Any, xs: Any, cs: Any) -> dict[str, Any]:
    slopes = grad(f, (0, 1))
    over_x = (0, None)
    found = {
        **firsts(f, x, c, xs, cs),
        "grad of jit": grad(jit(f), (0, 1))(x, c),
        "vmap of jit over the argument": vmap(jit(f), over_x)(xs, c),
        "vmap of jit over what is closed over": vmap(jit(f), (None, 0))(x, cs),
        "grad of vmap": grad(lambda c: vmap(f, over_x)(xs, c).sum())(c),
    }
    if name not in LARGE:
        found |= {
            "vmap of vmap of grad": vmap(vmap(slopes, (None, 0)), over_x)(xs, cs),
            "grad of grad": grad(grad(f), 1)(x, c),
            "grad of jit of grad of jit": grad(jit(grad(jit(f), 1)))(x, c),
            "vmap": vmap(f)(xs, cs),
            "vmap of grad of jit": vmap(grad(jit(f), (0, 1)))(xs, cs),
            "grad of vmap of both": grad(lambda x, c: vmap(f)(x, c).sum(), (0, 1))(xs, cs),
        }
    if name not in REVERSE:
        found |= {
            "jvp": jvp(f, (x, c), (0.5, 2.0)),
            "vmap of jvp": vmap(lambda x: jvp(f, (x, c), (0.5, 2.0)))(xs),
            "jvp of vmap": jvp(vmap(f, (None, 0)), (x, cs), (0.5, 2 * cs)),
            "linearize": linearize(f, x, c)[1](0.5, 2.0),
        }
    if name not in REVERSE | LARGE:
        found["hessian"] = hessian(f, (0, 1))(x, c)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", POSITIONS)
def test_a_closed_over_tracer_in_every_position(name: str) -> None:
    f = POSITIONS[name]
    args = (np.float64(0.5), np.float64(2.0), np.array([0.5, -0.7]), np.array([2.0, 3.0]))

    def plain(x: Any, c: Any) -> Any:
        return np.sin(x) * c if isinstance(x, float) else jnp.sin(x) * c

    expected = stacks(plain, name, *args)
    for found in (
        firsts(f, *[jnp.asarray(x) for x in args]),
        jit(lambda *args: stacks(f, name, *args))(*args),
    ):
        for stack, value in found.items():
            for a, b in zip(
                tinyjax.tree.leaves(value), tinyjax.tree.leaves(expected[stack]), strict=True
            ):
                np.testing.assert_allclose(a, b, 1e-10, 1e-12, err_msg=stack)
