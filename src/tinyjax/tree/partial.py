"""``Partial``: a function with some arguments bound, as a tree of those arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import attrs

from tinyjax.errors import check_function
from tinyjax.tree import keys, node

R = TypeVar("R")


@attrs.frozen(repr=False, eq=False)
class _Whole:
    """A ``functools.partial`` taken as one function.

    Python merges a partial of a partial, which would make leaves of arguments that somebody bound
    with ``functools`` so that they are none.
    """

    func: functools.partial[Any]

    def __eq__(self, other: object) -> bool:
        """Return whether this is the same function, which may be given by itself."""
        return self.func is (other.func if isinstance(other, _Whole) else other)

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return repr(self.func)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.func(*args, **kwargs)


class Partial(functools.partial[R]):
    """Bind arguments of a function, as ``functools.partial`` does, in a tree.

    The bound arguments are children, and the function is metadata. So a transformed function can
    take it as an argument, and the bound arrays are traced and differentiated. Two have equal
    structures if their functions are equal. A ``Partial`` of a ``Partial`` is merged into one. A
    ``Partial`` of a ``functools.partial`` is not, and what that binds are no leaves.

    Args:
        func: the function.
        args: its first arguments.
        keywords: its keyword arguments.

    Raises:
        ArgumentError: ``func`` cannot be called.

    Example:
        >>> from tinyjax import tree
        >>> scale = tree.Partial(pow, 3)
        >>> tree.map(lambda x: x + 1, scale)(2)
        16
        >>> tree.structure(scale)
        PyTreeDef(CustomNode(Partial[<built-in function pow>], [(*,), {}]))
    """

    # The underscores leave every keyword to the function, as "/" would; typeguard cannot instrument
    # a __new__ that has the slash.
    def __new__(cls, __func: Callable[..., R], *args: Any, **keywords: Any) -> Partial[R]:
        func = __func
        check_function("Partial", func, "func")
        if isinstance(func, Partial):
            args, keywords = func.args + args, {**func.keywords, **keywords}
            func = func.func
        elif isinstance(func, functools.partial):
            func = _Whole(func)
        return super().__new__(cls, func, *args, **keywords)


def _name(func: object) -> str:
    return getattr(func, "__qualname__", None) or repr(func)


def _unflatten(func: Callable[..., R], children: tuple[Any, ...]) -> Partial[R]:
    args, keywords = children
    return Partial(func, *args, **keywords)


node.add_kind(
    node.NodeKind(
        Partial,
        flatten=lambda partial: ((partial.args, partial.keywords), partial.func),
        unflatten=_unflatten,
        describe=lambda func, size: f"Partial of {_name(func)}",
        keys=lambda partial, func: (keys.GetAttrKey("args"), keys.GetAttrKey("keywords")),
    )
)
