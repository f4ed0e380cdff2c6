"""``symbolic_shape`` and ``symbolic_args_specs``: types of arguments for many sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinyjax import tree
from tinyjax.core.tracing import checking
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.errors import ArgumentError, shortened
from tinyjax.export import dims, parsing
from tinyjax.tree.ops import flatten_prefix


@checking.explained
def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: dims.SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[int, ...]:
    """Return a shape whose sizes are known by name only, from text.

    Args:
        shape_spec: the sizes, separated by commas: numbers, names of variables, and what is made of
            these by ``+``, ``-``, ``*``, ``^``, ``floordiv``, ``mod``, ``max`` and ``min``. ``_``
            stands for the size of ``like`` at the same place, and a last ``...`` for all sizes of
            ``like`` that remain. None is ``...``.
        constraints: what is known of the sizes, as for ``SymbolicScope``.
        scope: what the sizes belong to, if other sizes that they are used with exist already.
        like: a shape for placeholders.

    Returns:
        Sizes that are used like ints, in shapes for ``ShapeDtypeStruct`` and within functions that
        are exported. Type checkers take them for ints.

    Raises:
        ArgumentError: the text or a constraint cannot be read, or constraints are given for a scope
            that exists.

    Example:
        >>> from tinyjax import export
        >>> a, b = export.symbolic_shape("a, 2*b", constraints=["a >= 8"])
        >>> a * b + 1, a // 3, b % 2, a >= 3
        (2*a*b + 1, floordiv(a, 3), 0, True)
        >>> export.symbolic_shape("batch, ...", like=(32, 28, 28))
        (batch, 28, 28)
    """
    if shape_spec is not None and not isinstance(shape_spec, str):
        raise ArgumentError(
            f"a symbolic shape is given as a string or None, but got {shortened(shape_spec)}."
        )
    text = "..." if shape_spec is None else shape_spec
    return parsing.parse_shape(text, _scope(constraints, scope), like)


def _scope(constraints: Sequence[str], scope: dims.SymbolicScope | None) -> dims.SymbolicScope:
    if scope is None:
        return dims.SymbolicScope(constraints)
    if constraints:
        raise ArgumentError("symbolic sizes are given constraints or a scope, which has its own.")
    return scope


@checking.explained
def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: dims.SymbolicScope | None = None,
) -> Any:
    """Return types of arguments with symbolic sizes, from examples of the arguments.

    Args:
        args: the arguments: arrays, or ``ShapeDtypeStruct``, in any structure.
        shapes_specs: their shapes, as for ``symbolic_shape``: one string for all, or strings in a
            structure that is a prefix of that of ``args``. None, as a whole or for some, leaves the
            shapes as they are.
        constraints: what is known of the sizes, as for ``SymbolicScope``.
        scope: what the sizes belong to.

    Returns:
        A ``ShapeDtypeStruct`` for each array, in the structure of ``args``.

    Raises:
        ArgumentError: a string cannot be read, or the structures do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import export
        >>> params, x = {"w": jnp.ones((3, 2))}, jnp.ones((4, 3))
        >>> export.symbolic_args_specs((params, x), (None, "batch, ..."))[1]
        ShapeDtypeStruct(shape=(batch, 3), dtype=float32)
    """
    scope = _scope(constraints, scope)
    if isinstance(args, tuple) and isinstance(shapes_specs, list):
        shapes_specs = tuple(shapes_specs)
    leaves, treedef = tree.flatten(args)
    specs = flatten_prefix(shapes_specs, treedef, lambda x: x is None, "shapes_specs")

    def one(spec: str | None, x: Any) -> av.ShapeDtypeStruct:
        like = av.ShapeDtypeStruct.like(x)
        return like.update(shape=symbolic_shape(spec, scope=scope, like=like.shape))

    return tree.unflatten(treedef, [one(s, x) for s, x in zip(specs, leaves, strict=True)])


@checking.explained
def max_dim(d1: int, d2: int) -> int:
    """Return the larger of two sizes, either of which may be symbolic.

    Example:
        >>> from tinyjax import export
        >>> b, = export.symbolic_shape("b")
        >>> export.max_dim(b, 3), export.max_dim(b, 1)
        (max(b, 3), b)
    """
    return ints.larger(d1, d2)


@checking.explained
def min_dim(d1: int, d2: int) -> int:
    """Return the smaller of two sizes, either of which may be symbolic.

    Example:
        >>> from tinyjax import export
        >>> b, = export.symbolic_shape("b")
        >>> export.min_dim(b, 3), export.min_dim(b, 0)
        (min(b, 3), 0)
    """
    return ints.smaller(d1, d2)
