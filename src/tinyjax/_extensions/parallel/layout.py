"""Memory layouts of arrays, as in JAX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from tinyjax._base import records
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax.core.devices import Device
from tinyjax.core.values import Array


def _listed(axes: Iterable[int]) -> tuple[int, ...]:
    return tuple(axes)


@records.leaf
@attrs.frozen
class Layout:
    """An order of the axes of an array in memory.

    Attributes:
        major_to_minor: the axes, from the one whose elements are farthest apart.
        tiling: has no effect.
        sub_byte_element_size_in_bits: has no effect.
    """

    major_to_minor: tuple[int, ...] = attrs.field(converter=_listed)
    tiling: Sequence[Sequence[int]] | None = ()
    sub_byte_element_size_in_bits: int = 0


@records.leaf
@attrs.frozen
class Format:
    """The memory layout and the sharding of an array.

    Attributes:
        layout: the order of elements, which XLA chooses whatever is given.
        sharding: the devices.
    """

    layout: Layout | None = None
    sharding: Device | Sharding | None = None


def format_of(x: Array) -> Format:
    """Return the format of an array: its last axis' elements lie side by side."""
    return Format(Layout(range(x.ndim)), x.sharding)
