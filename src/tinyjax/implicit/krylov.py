"""Conjugate gradients, BiCGSTAB and GMRES: linear systems by products with the matrix alone.

All work on vectors, real or complex, and stop when the residual is at most a tolerance, when the
iterations are used up, or when they can make no progress.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tinyjax import dtypes, numpy as jnp
from tinyjax.core.control_flow import loops
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.values import Array

Operator = Callable[[Array], Array]


class Info(NamedTuple):
    """Say how an iteration ended, in arrays, so that ``jit`` and ``vmap`` can return it.

    Attributes:
        converged: whether the tolerance was met.
        iterations: how many iterations, or steps, were made.
        residual: the Euclidean norm of the residual.

    Example:
        >>> from tinyjax import implicit
        >>> x, info = implicit.root(lambda x: x**2 - 2.0, 1.0, has_aux=True)
        >>> info.converged, bool(info.iterations < 10)
        (Array(True, dtype=bool), True)
    """

    converged: Array
    iterations: Array
    residual: Array


def default_tolerance(dtype: dtypes.DType) -> float:
    """Return the machine epsilon to the power 3/4: 1.8e-12 for float64, 6.4e-6 for float32."""
    eps = float(np.finfo(dtype).eps)
    return math.pow(eps, 0.75)


def norm(x: Array) -> Array:
    """Return the Euclidean norm."""
    return jnp.sqrt(_square(x))


def _square(x: Array) -> Array:
    return jnp.sum(jnp.real(x) ** 2 + jnp.imag(x) ** 2)


def _ratio(a: Array, b: Array) -> Array:
    """Return the quotient, or zero where the divisor is zero: nothing is left to be done."""
    dead = b == 0
    return jnp.where(dead, 0, a / jnp.where(dead, 1, b))


def _finish(
    matvec: Operator, b: Array, x: Array, iterations: Array, least: Array
) -> tuple[Array, Info]:
    residual = norm(b - matvec(x))
    # what recurrences say of the residual, and what it is, may differ by rounding
    return x, Info(residual <= 2.0 * least, iterations, residual)


class _CG(NamedTuple):
    x: Array
    r: Array
    p: Array
    gamma: Array
    iterations: Array


def cg(
    matvec: Operator, b: Array, x0: Array, precondition: Operator, least: Array, maxiter: int
) -> tuple[Array, Info]:
    """Solve a Hermitian positive definite system (Hestenes and Stiefel, 1952)."""
    r = b - matvec(x0)
    z = precondition(r)
    iterations = jnp.zeros((), dtypes.int32)

    def going(s: _CG) -> Array:
        return (norm(s.r) > least) & (s.iterations < maxiter)

    def step(s: _CG) -> _CG:
        q = matvec(s.p)
        alpha = _ratio(s.gamma, jnp.vdot(s.p, q))
        r = s.r - alpha * q
        z = precondition(r)
        gamma = jnp.vdot(r, z)
        return _CG(s.x + alpha * s.p, r, z + _ratio(gamma, s.gamma) * s.p, gamma, s.iterations + 1)

    last = while_loop(going, step, _CG(x0, r, z, jnp.vdot(r, z), iterations))
    return _finish(matvec, b, last.x, last.iterations, least)


class _BiCGSTAB(NamedTuple):
    x: Array
    r: Array
    p: Array
    v: Array
    rho: Array
    alpha: Array
    omega: Array
    iterations: Array


def bicgstab(
    matvec: Operator, b: Array, x0: Array, precondition: Operator, least: Array, maxiter: int
) -> tuple[Array, Info]:
    """Solve a system (van der Vorst, SIAM J. Sci. Stat. Comput. 13(2), 1992)."""
    shadow = b - matvec(x0)
    one, iterations = jnp.ones((), b.dtype), jnp.zeros((), dtypes.int32)
    zeros = jnp.zeros_like(shadow)

    def going(s: _BiCGSTAB) -> Array:
        # a product that is zero ends the recurrence
        return (
            (norm(s.r) > least)
            & (s.iterations < maxiter)
            & (jnp.abs(s.rho) > 0)
            & (jnp.abs(s.omega) > 0)
        )

    def step(s: _BiCGSTAB) -> _BiCGSTAB:
        rho = jnp.vdot(shadow, s.r)
        beta = _ratio(rho, s.rho) * _ratio(s.alpha, s.omega)
        p = s.r + beta * (s.p - s.omega * s.v)
        ahead = precondition(p)
        v = matvec(ahead)
        alpha = _ratio(rho, jnp.vdot(shadow, v))
        half = s.r - alpha * v
        across = precondition(half)
        t = matvec(across)
        omega = _ratio(jnp.vdot(t, half), jnp.vdot(t, t))
        x = s.x + alpha * ahead + omega * across
        return _BiCGSTAB(x, half - omega * t, p, v, rho, alpha, omega, s.iterations + 1)

    first = _BiCGSTAB(x0, shadow, zeros, zeros, one, one, one, iterations)
    last = while_loop(going, step, first)
    return _finish(matvec, b, last.x, last.iterations, least)


class _GMRES(NamedTuple):
    x: Array
    residual: Array
    iterations: Array
    progress: Array


def gmres(
    matvec: Operator,
    b: Array,
    x0: Array,
    precondition: Operator,
    least: Array,
    maxiter: int,
    restart: int,
) -> tuple[Array, Info]:
    """Solve a system (Saad and Schultz, SIAM J. Sci. Stat. Comput. 7(3), 1986).

    It is preconditioned on the right, so it minimises the true residual.
    """
    size = min(restart, b.shape[0])
    eps = float(np.finfo(b.dtype).eps)

    def iteration(x: Array) -> tuple[Array, Array]:
        r = b - matvec(x)
        beta = norm(r).astype(b.dtype)
        basis = jnp.zeros((size + 1, b.shape[0]), b.dtype).at[0].set(_ratio(r, beta))
        hessenberg = jnp.zeros((size + 1, size), b.dtype)

        def expand(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            basis, hessenberg = state
            w = matvec(precondition(basis[k]))
            before = norm(w)
            column = jnp.zeros(size + 1, b.dtype)
            for _ in range(2):  # once leaves what rounding makes of nearly parallel vectors
                part = jnp.conj(basis) @ w
                w = w - part @ basis
                column = column + part
            after = norm(w)
            dead = after <= 10 * eps * before  # the space is complete: the solution is in it
            column = column.at[k + 1].set(jnp.where(dead, 0, after).astype(b.dtype))
            # where the space ended before, a unit column keeps the small system regular
            unit = jnp.zeros(size + 1, b.dtype).at[k].set(1)
            column = jnp.where(before == 0, unit, column)
            added = jnp.where(dead, 0, _ratio(w, after.astype(b.dtype)))
            return basis.at[k + 1].set(added), hessenberg.at[:, k].set(column)

        basis, hessenberg = loops.fori_loop(0, size, expand, (basis, hessenberg))
        # The least squares by its QR factors.
        q, upper = jnp.linalg.qr(hessenberg)
        y = jnp.linalg.solve(upper, jnp.conj(q[0]) * beta)
        x = x + precondition(y @ basis[:size])
        return x, norm(b - matvec(x))

    def going(s: _GMRES) -> Array:
        return (s.residual > least) & (s.iterations < maxiter) & s.progress

    def step(s: _GMRES) -> _GMRES:
        x, residual = iteration(s.x)
        better = residual < 0.999 * s.residual
        return _GMRES(
            jnp.where(residual < s.residual, x, s.x),
            jnp.minimum(residual, s.residual),
            s.iterations + 1,
            better,
        )

    residual = norm(b - matvec(x0))
    first = _GMRES(x0, residual, jnp.zeros((), dtypes.int32), jnp.ones((), dtypes.bool_))
    last = while_loop(going, step, first)
    return _finish(matvec, b, last.x, last.iterations, least)
