"""``jax.experimental.layout``: in which order the elements of arrays lie in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import attrs

from tinyjax import tree
from tinyjax.core.devices import Device, Sharding

__all__ = ["Format", "Layout", "with_layout_constraint"]

T = TypeVar("T")


def _axes(given: Sequence[int]) -> tuple[int, ...]:
    return tuple(given)


@attrs.frozen
class Layout:
    """An order of the axes of an array in memory.

    Attributes:
        major_to_minor: the axes, from the one along which elements lie farthest apart.
        tiling: of no account.
        sub_byte_element_size_in_bits: of no account.
    """

    major_to_minor: Sequence[int] = attrs.field(converter=_axes)
    tiling: Sequence[Sequence[int]] | None = None
    sub_byte_element_size_in_bits: int = 0


@attrs.frozen
class Format:
    """How an array lies in memory, and on which devices.

    Attributes:
        layout: in which order, which is left to XLA whatever it says.
        sharding: on which devices.
    """

    layout: Layout | None = None
    sharding: Device | Sharding | None = None


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
