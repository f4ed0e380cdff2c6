"""A type of one's own, registered as a node of trees: quantities with units.

A `Quantity` is an array and the dimension it is measured in. Registered with `tinyjax.tree`, it
goes through `jit`, `vmap` and `grad` like any container. Its array is the leaf, and its dimension
is static, so that adding metres to seconds is an error while a function is traced.

A derivative has the type of what it is taken in, as for every tree: the derivative of an energy in
a position comes as a `Quantity` of length. Its number is right, and `slope` below
corrects its dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import attrs

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax import Array, tree


class Dimension(NamedTuple):
    """The powers of the metre, the kilogram and the second."""

    metre: int = 0
    kilogram: int = 0
    second: int = 0

    def __str__(self) -> str:
        names = zip(("m", "kg", "s"), self, strict=True)
        return " ".join(name if n == 1 else f"{name}^{n}" for name, n in names if n) or "1"


@attrs.frozen(eq=False)
class Quantity:
    """An array of numbers, all of one dimension."""

    number: Array
    dimension: Dimension

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.number + self.same(other).number, self.dimension)

    def __sub__(self, other: Quantity) -> Quantity:
        return Quantity(self.number - self.same(other).number, self.dimension)

    def __mul__(self, other: Quantity) -> Quantity:
        powers = zip(self.dimension, other.dimension, strict=True)
        return Quantity(self.number * other.number, Dimension(*[a + b for a, b in powers]))

    def __truediv__(self, other: Quantity) -> Quantity:
        powers = zip(self.dimension, other.dimension, strict=True)
        return Quantity(self.number / other.number, Dimension(*[a - b for a, b in powers]))

    def __str__(self) -> str:
        return f"{self.number} {self.dimension}"

    def same(self, other: Quantity) -> Quantity:
        """The other quantity, which must be of the dimension of this one."""
        if other.dimension != self.dimension:
            raise TypeError(f"{self.dimension} and {other.dimension} cannot be added")
        return other


tree.register_dataclass(Quantity, ("number",), ("dimension",))


def metres(x: float) -> Quantity:
    return Quantity(jnp.asarray(x), Dimension(metre=1))


def seconds(x: float) -> Quantity:
    return Quantity(jnp.asarray(x), Dimension(second=1))


def kilograms(x: float) -> Quantity:
    return Quantity(jnp.asarray(x), Dimension(kilogram=1))


def slope(fun: Callable[[Quantity], Quantity]) -> Callable[[Quantity], Quantity]:
    """The derivative of a function of one quantity, with its dimension."""

    def derivative(x: Quantity) -> Quantity:
        def number(x: Quantity) -> tuple[Array, Quantity]:
            y = fun(x)
            return y.number, y

        gradient, y = tj.grad(number, has_aux=True)(x)
        return Quantity(gradient.number, (y / x).dimension)

    return derivative


STIFFNESS = kilograms(8.0) / (seconds(1.0) * seconds(1.0))
HALF = Quantity(jnp.asarray(0.5), Dimension())


def energy(x: Quantity) -> Quantity:
    """Of a spring."""
    return HALF * STIFFNESS * x * x


def released(state: tuple[Quantity, Quantity], _: None) -> tuple[tuple[Quantity, Quantity], None]:
    """A body of 2 kg at the spring, a thousandth of half a turn later."""
    place, speed = state
    step = seconds(math.pi / 2000)
    speed = speed - slope(energy)(place) / kilograms(2.0) * step
    return (place + speed * step, speed), None


def main() -> None:
    x = metres(0.25)
    force = slope(energy)
    print("energy:", energy(x))
    print("force:", force(x))
    print("stiffness:", slope(force)(x))
    print("compiled:", tj.jit(force)(x))
    print("batched:", tj.vmap(force)(Quantity(jnp.array([0.25, 0.5, 0.75]), x.dimension)))
    print("along a metre:", tj.jvp(energy, (x,), (metres(1.0),))[1])
    rest, _ = tj.lax.scan(released, (x, metres(0.0) / seconds(1.0)), None, length=1000)
    print("after half a turn:", Quantity(jnp.round(rest[0].number, 3), rest[0].dimension))
    try:
        tj.jit(lambda x, t: x + t)(x, seconds(1.0))
    except TypeError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
