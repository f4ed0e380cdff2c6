"""A type of one's own that stands for an array: a matrix of low rank.

A `LowRank` of n by m numbers is stored as two factors, n by r and r by m, and is multiplied without
becoming a dense matrix. It behaves like the matrix that it represents, and is a node of trees, so
that it is compiled, batched and differentiated in its factors.

It is fitted here to a picture of noise and one smooth hill, by gradient descent on the factors.
"""

from __future__ import annotations

import attrs

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, random, tree

SIZE, RANK, STEPS, RATE = 40, 2, 300, 0.01


@attrs.frozen(eq=False)
class LowRank:
    """The matrix `left @ right`."""

    left_factor: Array
    right_factor: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.left_factor.shape[-2], self.right_factor.shape[-1]

    @property
    def T(self) -> LowRank:
        return LowRank(self.right_factor.T, self.left_factor.T)

    def __matmul__(self, other: Array) -> Array:
        return self.left_factor @ (self.right_factor @ other)

    def __mul__(self, factor: float) -> LowRank:
        return LowRank(self.left_factor * factor, self.right_factor)

    def norm_squared(self) -> Array:
        """The sum of the squares of all elements, at r (n + m) r operations."""
        return jnp.sum(
            (self.left_factor.T @ self.left_factor) * (self.right_factor @ self.right_factor.T)
        )

    def dot(self, other: Array) -> Array:
        """The sum of the products of all elements with those of a matrix."""
        return jnp.sum((self.left_factor.T @ other) * self.right_factor)

    def dense(self) -> Array:
        return self.left_factor @ self.right_factor


tree.register_dataclass(LowRank, ("left_factor", "right_factor"), ())


def distance(matrix: LowRank, picture: Array) -> Array:
    """The squared distance to a picture, less the part that does not depend on the matrix."""
    return matrix.norm_squared() - 2 * matrix.dot(picture)


@tj.jit
def fitted(start: LowRank, picture: Array) -> LowRank:
    def step(_: Array, matrix: LowRank) -> LowRank:
        gradient = tj.grad(distance)(matrix, picture)
        return tree.map(lambda x, slope: x - RATE * slope, matrix, gradient)

    return tj.lax.fori_loop(0, STEPS, step, start)


def main() -> None:
    noise, left, right, probe = random.split(random.key(0), 4)
    at = jnp.linspace(-2.0, 2.0, SIZE)
    hill = jnp.exp(-(at[:, None] ** 2) - at[None, :] ** 2)
    picture = hill + 0.01 * random.normal(noise, (SIZE, SIZE))
    start = LowRank(
        0.1 * random.normal(left, (SIZE, RANK)), 0.1 * random.normal(right, (RANK, SIZE))
    )
    fit = fitted(start, picture)
    error = jnp.linalg.norm(fit.dense() - picture) / jnp.linalg.norm(picture)
    print(f"numbers kept: {fit.left_factor.size + fit.right_factor.size} of {SIZE * SIZE}")
    print(f"relative error: {float(error):.3f}")

    v = random.normal(probe, (SIZE,))
    print("as a matrix:", bool(jnp.allclose(fit @ v, fit.dense() @ v, atol=1e-4)))
    # the derivative of a function of a matrix is a matrix of the same kind
    gradient = tj.grad(lambda m: jnp.sum((m @ v) ** 2))(fit)
    print("its gradient:", type(gradient).__name__, gradient.shape)
    many = tree.map(lambda x: jnp.stack([x, 2 * x, 3 * x]), fit)
    norms = tj.vmap(LowRank.norm_squared)(many) / fit.norm_squared()
    print("batched:", [round(float(x), 3) for x in norms])
    tangent = LowRank(jnp.ones_like(fit.left_factor), jnp.zeros_like(fit.right_factor))
    value, slope = tj.jvp(LowRank.norm_squared, (fit,), (tangent,))
    step = 1e-2
    ahead = LowRank(fit.left_factor + step, fit.right_factor).norm_squared()
    behind = LowRank(fit.left_factor - step, fit.right_factor).norm_squared()
    print("jvp:", bool(jnp.allclose(slope, (ahead - behind) / (2 * step), rtol=1e-2)))
    print("its value:", bool(jnp.allclose(value, jnp.sum(fit.dense() ** 2), rtol=1e-4)))


if __name__ == "__main__":
    main()
