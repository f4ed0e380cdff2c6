"""Arrays that are written in place, and functions that read and write them: ``jax.ref``."""

from __future__ import annotations

from typing import Any

from tinyjax import numpy as jnp
from tinyjax._base import lazy
from tinyjax._extensions.state.references import (
    AbstractRef,
    Ref,
    RefView,
    free_ref,
    freeze,
    new_ref,
)
from tinyjax.core.tracing import checking
from tinyjax.core.values import Array, ArrayLike, avals as av
from tinyjax.errors import ArgumentError, type_name

__all__ = ["AbstractRef", "Ref", "RefView", "free_ref", "freeze", "new_ref"]
lazy.answer_for(__name__, "addupdate empty_ref get set swap")


@checking.explained
def empty_ref(ty: av.ShapedArray | av.ShapeDtypeStruct, memory_space: None = None) -> Ref:
    """Make an array of zeros that can be written in place.

    Args:
        ty: an object with its shape and dtype.
        memory_space: must be None.

    Raises:
        ArgumentError: there is a memory space.

    Example:
        >>> import tinyjax
        >>> tinyjax.empty_ref(tinyjax.ShapeDtypeStruct((2,), "int32"))
        Ref([0, 0], dtype=int32)
    """
    return new_ref(jnp.zeros(ty.shape, ty.dtype), memory_space=memory_space)


def _checked(ref: Ref | RefView) -> Ref | RefView:
    if not isinstance(ref, Ref | RefView):
        raise ArgumentError(f"expected a Ref, but got {type_name(ref)}: new_ref makes one.")
    return ref


def get(ref: Ref | RefView, idx: Any = None) -> Array:
    """Return the elements at an index of a reference, or all of it: ``ref[idx]``.

    Raises:
        RefError: it cannot be used here.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.ref.get(tinyjax.new_ref(jnp.arange(5)), slice(1, 3))
        Array([1, 2], dtype=int32)
    """
    return _checked(ref)[... if idx is None else idx]


def set(ref: Ref | RefView, idx: Any, value: ArrayLike) -> None:
    """Write at an index of a reference, or all of it where that is None: ``ref[idx] = value``.

    See also ``ref.addupdate``, which adds, and ``ref.swap``, which returns what was there.

    Raises:
        RefError: it cannot be used here, or not hold this value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import ref
        >>> x = tinyjax.new_ref(jnp.zeros(3))
        >>> ref.set(x, 1, 5.0)
        >>> x
        Ref([0., 5., 0.], dtype=float32)
    """
    _checked(ref)[... if idx is None else idx] = value


def swap(ref: Ref | RefView, idx: Any, value: ArrayLike) -> Array:
    """Write at an index of a reference, and return the old elements.

    Raises:
        RefError: it cannot be used here, or not hold this value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.arange(3))
        >>> tinyjax.ref.swap(ref, 2, 7), ref
        (Array(2, dtype=int32), Ref([0, 1, 7], dtype=int32))
    """
    before = get(ref, idx)
    set(ref, idx, value)
    return before


def addupdate(ref: Ref | RefView, idx: Any, x: ArrayLike) -> None:
    """Add at an index of a reference, or everywhere where that is None.

    Raises:
        RefError: it cannot be used here, or not hold the sum.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> ref = tinyjax.new_ref(jnp.zeros(3))
        >>> tinyjax.ref.addupdate(ref, jnp.array([0, 0]), 1.0)
        >>> ref
        Ref([2., 0., 0.], dtype=float32)
    """
    _checked(ref).addupdate(x, ... if idx is None else idx)
