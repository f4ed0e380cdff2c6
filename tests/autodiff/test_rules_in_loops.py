"""Rules for reverse mode alone, inside of loops and calls, and second derivatives of loops."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import autodiff, lax, numpy as jnp


@tinyjax.custom_vjp
def square(x: Any) -> Any:
    return x * x


square.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * ct * x,))


def while_loop(f: Callable[[Any], Any], x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, x))[1]


#: How a function is called, and how many times.
CALLS: dict[str, tuple[Callable[..., Any], int]] = {
    "plain": (lambda f, x: f(x), 1),
    "jit": (lambda f, x: tinyjax.jit(f)(x), 1),
    "checkpoint": (lambda f, x: tinyjax.checkpoint(f)(x), 1),
    "scan": (lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0], 2),
    "checkpoints": (
        lambda f, x: lax.scan(lambda c, _: (f(c), None), x, None, length=2, checkpoints=1)[0],
        2,
    ),
    "fori_loop": (lambda f, x: lax.fori_loop(0, 2, lambda i, c: f(c), x), 2),
    "while_loop": (while_loop, 2),
    "cond": (lambda f, x: lax.cond(x[0] > 0, f, lambda x: x, x), 1),
    "switch": (lambda f, x: lax.switch(1, [lambda x: x, f], x), 1),
    "map": (lax.map, 1),
    "scan in cond": (
        lambda f, x: lax.cond(
            x[0] > 0, lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0], f, x
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_jacobians_take_the_mode_that_there_is(name: str) -> None:
    call, times = CALLS[name]
    x, v = np.array([0.5, 1.3, 0.7]), np.array([1.0, -0.5, 2.0])
    power = 2**times
    slope = power * x ** (power - 1)

    def f(x: Any) -> Any:
        return call(square, x)

    with tinyjax.enable_x64(True):
        for jacobian in (
            tinyjax.jacrev(f),
            tinyjax.jacobian(f),
            tinyjax.jit(tinyjax.jacobian(f)),
            tinyjax.jit(tinyjax.jacobian(lambda x: jnp.outer(f(x), jnp.ones(2))[:, 0])),
        ):
            np.testing.assert_allclose(jacobian(x), np.diag(slope), 1e-12)
        value, tangent = autodiff.jvp_from_vjp(f, (x,), (v,))
        np.testing.assert_allclose(value, x**power, 1e-12)
        np.testing.assert_allclose(tangent, slope * v, 1e-12)
        second = tinyjax.grad(lambda x: jnp.sum(tinyjax.grad(lambda x: jnp.sum(f(x)))(x)))(x)
        np.testing.assert_allclose(second, power * (power - 1) * x ** (power - 2), 1e-12)


#: Bodies whose second derivatives are partly zero.
BODIES: dict[str, Callable[[Any, Any], Any]] = {
    "abs": lambda c, x: jnp.abs(c),
    "abs by x": lambda c, x: jnp.abs(c) * x,
    "sign": lambda c, x: jnp.sign(c) * x * x,
    "floor": lambda c, x: jnp.floor(c) + x * c,
    "maximum": lambda c, x: jnp.maximum(c, 0.1 * x) * x,
    "copysign": lambda c, x: jnp.copysign(c, x) + x**3,
}


@pytest.mark.parametrize("name", BODIES)
def test_laplacians_of_reverse_mode_of_loops(name: str) -> None:
    body, weights = BODIES[name], jnp.array([0.5, -1.0, 0.3, 0.8])

    def unrolled(x: Any) -> Any:
        return body(body(x * x, x), x)

    loops = [
        lambda x: while_loop(lambda c: body(c, x), x * x),
        lambda x: lax.scan(lambda c, _: (body(c, x), None), x * x, None, length=2, checkpoints=1)[
            0
        ],
        lambda x: tinyjax.jit(lambda x, k: lax.fori_loop(0, k, lambda i, c: body(c, x), x * x))(
            x, 2
        ),
    ]
    with tinyjax.enable_x64(True):
        x = jnp.array([0.5, -1.0, 2.0, 0.3], "float64")
        hessian = tinyjax.jacfwd(tinyjax.jacfwd(lambda x: weights @ tinyjax.jacfwd(unrolled)(x)))
        right = jnp.trace(hessian(x), axis1=1, axis2=2)
        for loop in loops:
            for jacobian in (tinyjax.jacrev, tinyjax.jacobian, tinyjax.jacfwd):
                slopes = jacobian(loop)
                out = autodiff.laplacian(lambda x, slopes=slopes: weights @ slopes(x))(x)[2]
                np.testing.assert_allclose(out, right, 1e-9, 1e-9)
