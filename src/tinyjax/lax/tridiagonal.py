"""Tridiagonal systems with nearly singular matrices, as inverse iteration needs them."""

from __future__ import annotations

from typing import TypeAlias

from tinyjax import dtypes, numpy as jnp
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.values import Array
from tinyjax.implicit.linear_operators import custom_linear_solve

#: A row of the triangular factor: the elements on its diagonal and on the next two, and its side.
Row: TypeAlias = tuple[Array, Array, Array, Array]


def perturbed_solve(dl: Array, d: Array, du: Array, b: Array) -> Array:
    """Solve a system with a tridiagonal matrix, in which pivots that are nearly zero are perturbed.

    It is eliminated with partial pivoting. A pivot smaller than ``eps`` times the largest element
    of the triangular factor is moved away from zero by so much. Derivatives and the transposed
    system are solved in the same way.

    Args:
        dl: the diagonal below the main one, shape ``(n,)``; the first element is not looked at.
        d: the main diagonal.
        du: the diagonal above; the last element is not looked at.
        b: right-hand sides, shape ``(n, m)``.
    """
    below = jnp.roll(dl.at[0].set(0), -1)
    above = jnp.roll(du.at[-1].set(0), 1)

    def product(x: Array) -> Array:
        upper, lower = jnp.roll(x, -1, 0), jnp.roll(x, 1, 0)
        return d[:, None] * x + du.at[-1].set(0)[:, None] * upper + dl.at[0].set(0)[:, None] * lower

    solution: Array = custom_linear_solve(
        product,
        b,
        lambda _, y: _eliminate(dl, d, du, y),
        lambda _, y: _eliminate(above, d, below, y),
    )
    return solution


def _eliminate(dl: Array, d: Array, du: Array, b: Array) -> Array:
    zero = jnp.zeros((), d.dtype)

    def step(row: Row, following: Row) -> tuple[Row, Row]:
        swaps = abs(following[0]) > abs(row[0])
        pairs = [*zip(row, following, strict=True)]
        pivot = [jnp.where(swaps, y, x) for x, y in pairs]
        other = [jnp.where(swaps, x, y) for x, y in pairs]
        factor = other[0] / jnp.where(pivot[0] == 0, 1, pivot[0])
        _, first, second, side = [x - factor * p for x, p in zip(other, pivot, strict=True)]
        return (first, second, zero, side), (pivot[0], pivot[1], pivot[2], pivot[3])

    upper = du.at[-1].set(0)
    last, rows = scan(step, (d[0], upper[0], zero, b[0]), (dl[1:], d[1:], upper[1:], b[1:]))
    pivots, first, second, side = (
        jnp.concatenate([several, one[None]]) for several, one in zip(rows, last, strict=True)
    )
    largest = jnp.max(jnp.maximum(jnp.maximum(abs(pivots), abs(first)), abs(second)))
    eps, tiny = (getattr(dtypes.finfo(largest.dtype), name) for name in ("eps", "tiny"))
    least = jnp.maximum(eps * largest, tiny).astype(largest.dtype)
    direction = jnp.where(pivots == 0, 1, jnp.sign(pivots))
    pivots = jnp.where(abs(pivots) < least, pivots + direction * least, pivots)

    def back(after: tuple[Array, Array], row: Row) -> tuple[tuple[Array, Array], Array]:
        x = (row[3] - row[1] * after[0] - row[2] * after[1]) / row[0]
        return (x, after[0]), x

    nothing = jnp.zeros_like(b[0])
    return scan(back, (nothing, nothing), (pivots, first, second, side), reverse=True)[1]
