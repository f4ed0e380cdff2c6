"""A type of one's own with other derivatives than its parts: a matrix of 8-bit numbers.

A `Quantized` matrix is an int8 for each element and a scale for each row. Integers have no
derivatives, but what the matrix stands for has: a third part, `change`, carries them. It is zero
everywhere, no product reads it, and it is None where nothing is differentiated. So a derivative in
a matrix of bytes is an array of floats.

A layer is fitted here so that its rounded weights fit, and not those before they are rounded.
"""

from __future__ import annotations

from collections.abc import Callable

import attrs

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, lax, random, tree

ROWS, COLUMNS, STEPS, RATE = 6, 8, 400, 0.05


@attrs.frozen(eq=False)
class Quantized:
    """The matrix `scales * codes`."""

    codes: Array
    scales: Array
    change: Array | None = None

    def __matmul__(self, x: Array) -> Array:
        if self.change is None:
            return product(self.codes, self.scales, jnp.zeros(self.codes.shape), x)
        return product(self.codes, self.scales, self.change, x)

    def dense(self) -> Array:
        return self.codes * self.scales


tree.register_dataclass(Quantized, ("codes", "scales", "change"), ())


@tj.custom_jvp
def product(codes: Array, scales: Array, change: Array, x: Array) -> Array:
    return scales[..., 0] * (codes.astype(x.dtype) @ x)


@product.defjvp
def product_jvp(
    primals: tuple[Array, Array, Array, Array], tangents: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array]:
    codes, scales, change, x = primals
    _, _, direction, dx = tangents
    return product(*primals), direction @ x + product(codes, scales, change, dx)


def quantized(matrix: Array) -> Quantized:
    """Round a matrix; the derivative is that of the matrix itself."""
    fixed = lax.stop_gradient(matrix)
    scales = jnp.max(jnp.abs(fixed), axis=-1, keepdims=True) / 127
    return Quantized(jnp.round(fixed / scales).astype("int8"), scales, matrix - fixed)


def slope(fun: Callable[[Quantized], Array]) -> Callable[[Quantized], Array]:
    """The derivative of a function of a quantized matrix: a matrix of floats."""

    def derivative(matrix: Quantized) -> Array:
        def changed(change: Array) -> Array:
            return fun(attrs.evolve(matrix, change=change))

        return tj.grad(changed)(jnp.zeros(matrix.codes.shape))

    return derivative


def loss(weights: Quantized, inputs: Array, outputs: Array) -> Array:
    predicted = tj.vmap(lambda x: weights @ x)(inputs)
    return jnp.mean((predicted - outputs) ** 2)


@tj.jit
def fitted(weights: Array, inputs: Array, outputs: Array) -> Array:
    """Descend from some weights, by the gradient where they are rounded."""

    def step(weights: Array, _: None) -> tuple[Array, Array]:
        def rounded(weights: Array) -> Array:
            return loss(quantized(weights), inputs, outputs)

        value, gradient = tj.value_and_grad(rounded)(weights)
        return weights - RATE * gradient, value

    return lax.scan(step, weights, None, length=STEPS)[0]


def main() -> None:
    first, second, third = random.split(random.key(0), 3)
    true = random.normal(first, (ROWS, COLUMNS))
    inputs = random.normal(second, (64, COLUMNS))
    outputs = inputs @ true.T
    weights = quantized(fitted(jnp.zeros((ROWS, COLUMNS)) + 0.1, inputs, outputs))
    size = weights.codes.nbytes + weights.scales.nbytes
    print(f"bytes kept: {size} of {true.nbytes}")
    print("fits:", float(loss(weights, inputs, outputs)) < 1e-3)

    x = random.normal(third, (COLUMNS,))
    print("as a matrix:", bool(jnp.allclose(weights @ x, weights.dense() @ x, rtol=1e-5)))
    stored = attrs.evolve(weights, change=None)

    def energy(w: Quantized) -> Array:
        return jnp.sum((w @ x) ** 2)

    def changed(change: Array) -> Array:
        return energy(attrs.evolve(stored, change=change))

    expected = tj.grad(lambda matrix: jnp.sum((matrix @ x) ** 2))(weights.dense())
    for name, derivative in (("gradient", slope(energy)), ("compiled", tj.jit(slope(energy)))):
        print(f"{name}:", bool(jnp.allclose(derivative(stored), expected, rtol=1e-5)))
    direction = jnp.ones((ROWS, COLUMNS))
    _, along = tj.jvp(changed, (0 * direction,), (direction,))
    print("jvp:", bool(jnp.allclose(along, jnp.sum(expected), rtol=1e-5)))
    many = tree.map(lambda part: jnp.stack([part, part]), attrs.evolve(stored, codes=-stored.codes))
    print("batched:", bool(jnp.allclose(tj.vmap(lambda w: w @ x)(many), -(weights @ x))))
    _, turn = lax.scan(lambda c, w: (c, w @ x), 0.0, many)
    print("layers of a scan:", bool(jnp.allclose(turn, -(weights @ x))))


if __name__ == "__main__":
    main()
