"""``jax.experimental.layout``: in which order the elements of arrays lie in memory."""

from __future__ import annotations

from typing import Any, TypeVar

from tinyjax import tree
from tinyjax._extensions.parallel.layout import Format, Layout

__all__ = ["Format", "Layout", "with_layout_constraint"]

T = TypeVar("T")


def with_layout_constraint(x: T, layouts: object) -> T:
    """Return a tree of arrays as it is: XLA chooses in which order elements lie."""
    return x


def shardings(formats: Any) -> Any:
    """Take the shardings out of a tree with formats in it."""
    return tree.map(
        lambda x: x.sharding if isinstance(x, Format) else x,
        formats,
        is_leaf=lambda x: x is None or isinstance(x, Format),
    )
