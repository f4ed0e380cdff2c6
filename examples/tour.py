"""A tour of tinyjax, to be read from top to bottom and run: `nox -s tour`."""

import attrs
import numpy as np

import tinyjax as tj
import tinyjax.numpy as jnp
from tinyjax.core.primitives.families import composed
from tinyjax.core.primitives.rules import def_linear
from tinyjax.core.primitives.shape import def_simple_batch
from tinyjax.core.primitives.slicing import concatenate, slice_in_dim
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing.primitive import (
    ZERO,
    Avals,
    Cotangents,
    Hosts,
    Operands,
    Primitive,
    Tangents,
)
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array


def show(title: str, value: object) -> None:
    print(f"\n# {title}\n{str(value).rstrip()}")


# Values. Arrays are immutable and typed; evaluation outside `jit` is NumPy, at once.

x = jnp.linspace(0.0, 1.0, 5)
show("An array", x)
show("The same with one element changed", x.at[0].set(9.0))
show("64-bit types exist without a switch", jnp.asarray(np.arange(3.0)).dtype)


# Derivatives. Python's control flow is no obstacle: values are there while it runs.


def square_root(x: Array) -> Array:
    """Newton's method, for as long as it takes."""
    y = x
    while abs(y * y - x) > 1e-6 * x:
        y = (y + x / y) / 2
    return y


show("grad through a while loop", tj.grad(square_root)(jnp.array(2.0)))


def eighth_power(x: Array) -> Array:
    return x**8


derivative = eighth_power
for _ in range(6):
    derivative = tj.grad(derivative)
show("The sixth derivative of x^8 at 1", derivative(jnp.array(1.0)))


# Programs. A jaxpr is what a function does with arrays, typed; it is what gets compiled.


def energy(x: Array) -> Array:
    """Neighbouring values attract each other."""
    return jnp.sum(jnp.sin(x[1:] - x[:-1]) ** 2)


program = tj.make_jaxpr(energy)(x)
show("A jaxpr", program)
show("Its type", program.jaxpr.type)
show("The jaxpr of its derivative", tj.make_jaxpr(tj.grad(energy))(x))
show("The same as StableHLO, for XLA", tj.jit(tj.grad(energy)).lower(x).as_text())


# Composition. Any transformation of any other, in any order.

batch = jnp.stack([x**2, jnp.exp(x), jnp.cos(x)])
show("vmap of grad of jit", tj.vmap(tj.grad(tj.jit(energy)))(batch))
show("A Jacobian, by columns", tj.jacfwd(lambda x: jnp.cumsum(x**2))(x))
show("A Hessian", tj.hessian(energy)(x))


# A new primitive. Its parameters, its rules, its function: one block, and all of the above works.


@attrs.frozen
class ShiftParams:
    """The distance to shift."""

    shift: int


ring_shift_p: Primitive[ShiftParams] = Primitive("ring_shift", ShiftParams)


@ring_shift_p.def_impl  # how NumPy computes it
def _impl(operands: Hosts, params: ShiftParams) -> Hosts:
    return (np.roll(operands[0], params.shift, -1),)


@ring_shift_p.def_abstract_eval  # its type
def _type(avals: Avals, params: ShiftParams) -> Avals:
    return avals


@ring_shift_p.def_lowering  # how XLA computes it
def _lowering(b: Lowering, operands: Values, params: ShiftParams) -> Values:
    def swap(x: Array) -> Array:
        n, axis = x.shape[-1], x.ndim - 1
        cut = -params.shift % n
        halves = slice_in_dim(x, cut, n, axis=axis), slice_in_dim(x, 0, cut, axis=axis)
        return concatenate(halves, axis)

    return [composed(swap)(b, *operands)]


def_linear(ring_shift_p)  # its derivative is itself


@ring_shift_p.def_transpose  # backwards, it shifts back
def _transpose(cotangents: Tangents, operands: Operands, params: ShiftParams) -> Cotangents:
    (ct,) = cotangents
    return (ZERO if ct is ZERO else ring_shift(ct, -params.shift),)


def_simple_batch(ring_shift_p, lambda params, size: params)  # a batch axis in front changes nothing


def ring_shift(x: Array, shift: int) -> Array:
    """Move every element on by so many places along the last axis, round the ring."""
    return bind1(ring_shift_p, (x,), ShiftParams(shift))


def ring_energy(x: Array) -> Array:
    """The energy of values on a ring."""
    return jnp.sum((ring_shift(x, 1) - x) ** 2)


show("Eager", ring_shift(x, 2))
show("Compiled", tj.jit(ring_shift, static_argnums=1)(x, 2))
show("grad", tj.grad(ring_energy)(x))
show("vmap of jit of grad", tj.vmap(tj.jit(tj.grad(ring_energy)))(batch))
show("A Hessian that shows the ring", tj.hessian(ring_energy)(x))
show("The jaxpr of its derivative", tj.make_jaxpr(tj.grad(ring_energy))(x))
