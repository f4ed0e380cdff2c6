"""Steps that are defined by equations, with a function inside. The other side solves by hand.

The equations have one solution, of moderate size, whatever the function inside gives; it takes part
in all of them, together with what it closes over. The linear systems' matrices are made of its
Jacobian, scaled so that they are well conditioned. The other equations are ``z + 0.3 sin z = t(z)``
with a right side that hardly depends on ``z``.
The other side repeats two steps: Newton's method with a constant ``t``, and a new ``t``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.algebra import eliminate
from fuzz.plain import F64, Body, fitted, total
from tinyjax import implicit, lax
from tinyjax.core.primitives.shape import reshape
from tinyjax.core.values.array import Array

#: How much of the unknown goes through the function inside, which may be steep.
COUPLING = 2.0**-20
TIGHT = 1e-13


def right_side(body: Body, x: Array, c: Array, z: Array) -> Array:
    return jnp.sin(x) + jnp.cos(fitted(body(x + COUPLING * jnp.sin(z), c), x.shape))


def by_hand(body: Body, x: Array, c: Array, coupled: bool) -> Array:
    z = jnp.zeros_like(x)
    for _ in range(4 if coupled else 1):
        t = right_side(body, x, c, z if coupled else jnp.zeros_like(z))
        for _ in range(8):
            z = z - (z + 0.3 * jnp.sin(z) - t) / (1 + 0.3 * jnp.cos(z))
    return z


def nested_root(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """By Newton's method, and by bisection, closing over values or given them."""
    if not ours:
        return by_hand(body, x, c, coupled=True)

    def residual(z: Array, x: Array, c: Array) -> Array:
        return z + 0.3 * jnp.sin(z) - right_side(body, x, c, z)

    def closing_over(z: Array) -> Array:
        return residual(z, x, c)

    if not x.ndim and k % 2:
        found = implicit.root(closing_over, bracket=(jnp.full((), -4.0, F64), 4.0))
    elif k % 3 == 0:
        found = implicit.root(residual, jnp.zeros_like(x), (x, c), tol=TIGHT)
    else:
        solver: Any = ("dense", "gmres")[k % 2]
        found = implicit.root(closing_over, x, linear_solver=solver, tol=TIGHT)
    return jnp.asarray(found)


def nested_fixed_point(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    if not ours:
        return by_hand(body, x, c, coupled=True)
    methods: list[Literal["iteration", "anderson", "newton"]]
    methods = ["iteration", "anderson", "newton"]

    def step(z: Array) -> Array:
        return right_side(body, x, c, z) - 0.3 * jnp.sin(z)

    return jnp.asarray(implicit.fixed_point(step, x, method=methods[k % 3], tol=TIGHT))


def nested_minimum(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """Of a convex function whose gradient is the equation, without the coupling."""
    if not ours:
        return by_hand(body, x, c, coupled=False)
    methods: list[Literal["lbfgs", "gradient_descent"]] = ["lbfgs", "gradient_descent"]

    def energy(z: Array) -> Array:
        t = right_side(body, x, c, jnp.zeros_like(z))
        return total(z * z / 2 - 0.3 * jnp.cos(z) - z * t)

    return jnp.asarray(implicit.minimize(energy, x, method=methods[k % 2], tol=1e-12))


# Linear systems


def system(body: Body, x: Array, c: Array, positive: bool, ours: bool) -> tuple[Any, Array]:
    """A matrix of the body's Jacobian ``J``: a function on our side, an array on the other.

    It is ``2 + J / s``, or positive definite ``2 + J^T J / s^2``, where ``s`` exceeds the norm.
    """

    def inner(z: Array) -> Array:
        return jnp.sin(fitted(body(z, c), x.shape))

    b = jnp.cos(x)
    columns = reshape(tinyjax.jacfwd(inner)(x), (x.size, x.size))
    size = 1 + jnp.sum(columns * columns)
    if not ours:
        slope = columns.T @ columns / size if positive else columns / jnp.sqrt(size)
        return 2 * np.eye(x.size) + slope, b

    def multiply(z: Array) -> Array:
        pushed: Array = tinyjax.jvp(inner, (x,), (z,))[1]
        if not positive:
            return 2 * z + pushed / jnp.sqrt(size)
        pulled: Array = tinyjax.vjp(inner, x)[1](pushed)[0]
        return 2 * z + pulled / size

    return multiply, b


def nested_linear_solve(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    methods: list[Literal["dense", "gmres", "bicgstab", "cg"]]
    methods = ["dense", "gmres", "bicgstab", "cg"]
    a, b = system(body, x, c, k % 4 == 3, ours)
    if ours:
        return jnp.asarray(implicit.linear_solve(a, b, method=methods[k % 4], tol=TIGHT))
    return eliminated(a, b)


def eliminated(a: Array, b: Array) -> Array:
    return reshape(eliminate(a, reshape(b, (b.size, 1)))[0], b.shape)


def nested_custom_linear_solve(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """By Richardson's iteration, whose error is halved in every iteration."""
    positive = k % 2 == 1
    a, b = system(body, x, c, positive, ours)
    if not ours:
        return eliminated(a, b)

    def solve(multiply: Callable[[Array], Array], b: Array) -> Array:
        return lax.fori_loop(0, 48, lambda _, z: z + (b - multiply(z)) / 2, jnp.zeros_like(b))

    transposed = None if positive else solve
    return jnp.asarray(implicit.custom_linear_solve(a, b, solve, transposed, symmetric=positive))


# Differential equations


def nested_flow(body: Body, x: Array, c: Array, k: int, ours: bool) -> Array:
    """A flow with a polynomial in time, of degree 3, for its solution: every step is exact."""
    end = 0.6 + 0.2 * jnp.sin(total(c))
    times = jnp.stack([jnp.zeros_like(end), end / 2, end])
    y0 = (jnp.sin(x), jnp.cos(x))

    def field(y: tuple[Array, Array], t: Array, x: Array, c: Array) -> tuple[Array, Array]:
        u, _ = y
        w = jnp.sin(fitted(body(x, c), x.shape))
        return w, u * u + t * w

    if ours:
        gradients: list[Literal["adjoint", "checkpointed"]] = ["adjoint", "checkpointed"]
        flow = partial(implicit.odeint, rtol=1e-9, atol=1e-9, gradient=gradients[k % 2])
        if k % 3:
            _, v = flow(field, y0, times, x, c)
        else:
            _, v = flow(lambda y, t: field(y, t, x, c), y0, times)
        return jnp.sin(v[1] - v[2])
    (u, v), w = y0, jnp.sin(fitted(body(x, c), x.shape))
    middle, last = (
        v + u * u * t + (u * w + w / 2) * t**2 + w * w * t**3 / 3 for t in (times[1], times[2])
    )
    return jnp.sin(middle - last)


EQUATIONS: dict[str, Callable[[Body, Array, Array, int, bool], Array]] = {
    "root": nested_root,
    "fixed_point": nested_fixed_point,
    "minimum": nested_minimum,
    "linear_solve": nested_linear_solve,
    "custom_linear_solve": nested_custom_linear_solve,
    "flow": nested_flow,
}
