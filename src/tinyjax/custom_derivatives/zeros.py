"""Tangents and cotangents that are known to be zero, for rules with ``symbolic_zeros``."""

from typing import Any

import attrs

from tinyjax import errors, tree
from tinyjax.core.primitives import shape as sh
from tinyjax.core.tracing import checking
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array


@attrs.frozen
class SymbolicZero(av.Typed):
    """Stand for a tangent or cotangent that is known to be zero, without data.

    Attributes:
        aval: its type.
    """

    aval: av.ShapedArray

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @staticmethod
    def from_primal_value(val: Any) -> "SymbolicZero":
        """The zero tangent of a value."""
        return SymbolicZero(opd.as_array(val).aval.tangent())


@attrs.frozen
class Zero:
    """A tangent or cotangent that is known to be zero, as rules of primitives meet it.

    It is a node of a tree, without leaves.

    Attributes:
        aval: its type.
    """

    aval: av.ShapedArray

    @staticmethod
    def from_primal_value(val: Any) -> "Zero":
        """The zero tangent of a value."""
        return Zero(opd.as_array(val).aval.tangent())


tree.register_static(Zero)


def instantiate_zeros(tangent: Any) -> Any:
    """Return a tangent or cotangent as an array: of zeros, if that is what it is known to be."""
    return sh.zero_tangent(tangent.aval) if isinstance(tangent, Zero) else tangent


@checking.explained
def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """Return the zero tangent of a value.

    Args:
        val: arrays and numbers in any containers.
        symbolic_zeros: whether to return ``SymbolicZero`` in place of arrays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.custom_derivatives import zero_from_primal
        >>> zero_from_primal(jnp.ones(2))
        Array([0., 0.], dtype=float32)
    """
    if symbolic_zeros:
        return tree.map(SymbolicZero.from_primal_value, val)
    return tree.map(lambda leaf: sh.zero_tangent(opd.as_array(leaf).aval), val)


@attrs.frozen
class CustomVJPPrimal:
    """Pass an array to the forward rule of a ``custom_vjp`` with symbolic zeros.

    Attributes:
        value: the array.
        perturbed: whether a derivative is taken in it.
    """

    value: Array
    perturbed: bool


def custom_vjp_primal_tree_values(primals: Any) -> Any:
    """Replace each ``CustomVJPPrimal`` in a tree by its value.

    Raises:
        ArgumentError: a leaf is something else.
    """
    return tree.map(_value, primals)


def _value(leaf: object) -> Array:
    if not isinstance(leaf, CustomVJPPrimal):
        raise errors.ArgumentError(f"expected a CustomVJPPrimal, but got {type(leaf).__name__}.")
    return leaf.value
