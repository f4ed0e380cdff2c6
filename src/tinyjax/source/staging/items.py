"""What a ``for`` loop goes over, where it is traced."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, TypeGuard

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import errors, tree
from tinyjax.core.values.array import Array
from tinyjax.numpy.promotion import convert
from tinyjax.source.ir import runtime
from tinyjax.source.staging import numbers, values as vals


@attrs.frozen(eq=False)
class Rows:
    """Values of one structure, their parts stacked along the first axes of arrays.

    Attributes:
        arrays: one for each part.
        length: how many values there are.
        structure: how a value is put together.
    """

    arrays: tuple[Array, ...]
    length: int
    structure: tree.PyTreeDef

    def at(self, index: Any) -> Any:
        return tree.unflatten(self.structure, [array[index] for array in self.arrays])

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        return tree.unflatten(self.structure, slices)


@attrs.frozen(eq=False)
class Steps:
    """A range, its bounds traced or not."""

    start: Any
    step: Any
    length: Any
    arrays: tuple[Array, ...] = ()

    def at(self, index: Any) -> Any:
        distance = index if vals.is_same(self.step, 1) else self.step * index
        return distance if vals.is_same(self.start, 0) else self.start + distance

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        return self.at(index)


@attrs.frozen(eq=False)
class Together:
    """The items of several, at the same place (``zip``)."""

    parts: tuple[Items, ...]
    length: Any

    @property
    def arrays(self) -> tuple[Array, ...]:
        return tuple([array for part in self.parts for array in part.arrays])

    def at(self, index: Any) -> Any:
        return tuple([part.at(index) for part in self.parts])

    def row(self, slices: Sequence[Array], index: Any) -> Any:
        row, rest = [], list(slices)
        for part in self.parts:
            n = len(part.arrays)
            row.append(part.row(rest[:n], index))
            rest = rest[n:]
        return tuple(row)


Items = Rows | Steps | Together


@attrs.frozen(eq=False)
class Current:
    """Stands for the items within an iteration of a scan: at every index its own item."""

    value: Any


def is_scanned(value: object) -> TypeGuard[Items]:
    """Whether a loop over a value becomes a scan: some of it is traced, and its length is known."""
    if not isinstance(value, Items) or vals.is_undecided(value.length) or not value.length:
        return False
    return any(map(vals.is_undecided, value.arrays))


def items_of(value: Any) -> Any:
    """What a loop goes over, with a length and an index."""
    if isinstance(value, Array) and value.shape:
        return Rows((value,), value.shape[0], tree.LEAF)
    return value if isinstance(value, Items) else runtime.items_of(value)


def stacked(values: Sequence[Any]) -> Rows | None:
    """Values of one structure and shapes, stacked; None where they are not."""
    apart = [vals.take_apart(value) for value in values]
    if not apart or any(structure != apart[0][1] for _, structure in apart):
        return None
    columns = []
    for column in zip(*(parts for parts, _ in apart), strict=True):
        if not all(map(vals.is_dynamic, column)):
            return None
        arrays = [vals.as_array(part) for part in column]
        if any(a.shape != arrays[0].shape for a in arrays):
            return None
        try:
            aval = functools.reduce(vals.join_avals, [a.aval for a in arrays])
        except errors.PromotionError:
            return None
        columns.append(jnp.stack([convert(a, aval.dtype, aval.weak_type) for a in arrays]))
    return Rows(tuple(columns), len(values), apart[0][1])


def as_items(value: Any) -> Items | None:
    """Something that a loop goes over, as items that a traced index may be applied to."""
    match value:
        case Rows() | Steps() | Together():
            return value
        case range():
            return Steps(value.start, value.step, len(value))
        case Array() | np.ndarray() if value.ndim:
            return Rows((vals.as_array(value),), value.shape[0], tree.LEAF)
        case _:
            return stacked(runtime.items_of(value))


def traced_range(*bounds: Any) -> Steps:
    """``range`` of traced bounds."""
    for bound in bounds:
        if not numbers.is_integer(bound) or jnp.ndim(bound):
            shown = bound.aval if isinstance(bound, Array) else type(bound).__name__
            raise TypeError(f"range() takes integers, but got {shown}")
    start, stop, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
    start, stop, step = [numbers.as_number(bound) for bound in (start, stop, step)]
    numbers.check(vals.as_array(step) == 0, ValueError("range() arg 3 must not be zero"))
    iterations = -((start - stop) // step)
    return Steps(start, step, jnp.maximum(iterations, 0))


def enumerated(value: Any, start: Any = 0) -> Any:
    """``enumerate`` of traced items."""
    items = as_items(items_of(value))
    if items is None:
        return enumerate(value, start)
    return Together((Steps(start, 1, items.length), items), items.length)


def zipped(*values: Any, strict: bool = False) -> Any:
    """``zip`` of which some are traced."""
    items = [as_items(items_of(value)) for value in values]
    known = [part for part in items if part is not None]
    if len(known) < len(items):
        return zip(*values, strict=strict)
    lengths = [part.length for part in known]
    if any(map(vals.is_undecided, lengths)):
        length = lengths[0]
        for other in lengths[1:]:
            length = jnp.minimum(length, other)
    else:
        length = min(lengths)
        if strict and length != max(lengths):
            raise ValueError(f"zip() was given arguments of lengths {lengths}")
    return Together(tuple(known), length)


def in_reverse(value: Any) -> Any:
    """``reversed`` of traced items."""
    items = as_items(items_of(value))
    if isinstance(items, Rows):
        return Rows(tuple([array[::-1] for array in items.arrays]), items.length, items.structure)
    if isinstance(items, Steps):
        last = items.at(items.length - 1)
        return Steps(last, -items.step, items.length)
    return reversed(value)


def expanded(value: Items) -> list[Any]:
    """The items one by one.

    Raises:
        SourceError: how many there are depends on a traced value.
    """
    if vals.is_undecided(value.length):
        raise errors.SourceError(
            "a list or a tuple whose length depends on a traced value cannot be made, since arrays "
            "have fixed shapes. Loop over the items, or compute with masks (jnp.where)."
        )
    return [value.at(i) for i in range(value.length)]


def item_at(value: Any, index: Any) -> Any:
    """The item at a traced index of a sequence."""
    if index.dtype.kind == "b":
        index = numbers.integer(index)
    items = as_items(value) if isinstance(value, (tuple, list, range)) else None
    if items is not None:
        if isinstance(items, Steps):
            index = jnp.where(index < 0, index + items.length, index)
        return items.at(index)
    return value[index]
