"""The origins of the NaNs of an array, for the setting ``debug_nans``.

An array with NaNs that evaluation returns is tracked, by identity, for as long as it lives. Each of
its NaNs has the number of an origin, or none where it came in as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from weakref import ref

import attrs
import numpy as np

from tinyjax._base.frames import Direction, ExampleAxis, Location
from tinyjax.config import settings
from tinyjax.core.values import Array, ConcreteArray, concrete
from tinyjax.core.values.array import followed
from tinyjax.dtypes import HostArray, is_inexact


@attrs.define(eq=False)
class LoopIteration:
    """One iteration of a loop.

    Attributes:
        loop: the name of the loop.
        location: the user's line.
        index: the index of the iteration; in a backward pass, that of the forward iteration.
    """

    loop: str
    location: Location | None
    index: int


@attrs.frozen(eq=False)
class Example:
    """One example of a ``vmap``.

    Attributes:
        index: its index.
        size: the number of examples.
        vmap: the ``vmap``, by identity.
        axis: the batch axis in the array in which it was found.
        shape: the shape of that array.
    """

    index: int
    size: int
    vmap: object
    axis: int
    shape: tuple[int, ...]


@attrs.define(eq=False)
class NanOrigin:
    """The origin of NaNs: one operation, applied once.

    Attributes:
        primitive: the operation's name.
        location: the user's line.
        direction: the pass of the line's computation.
        iterations: the iterations of the loops around it, the outermost first.
        values: the operands at the place of the first NaN, as text.
        zero: whether one of these is zero.
        what: NaN or infinity.
        examples: its example in each ``vmap``, the outermost first; traces add theirs on the way
            out.
        closed: whether all traces have added theirs.
        reported: whether an error has named it.
        serial: its number in the order of operations.
    """

    primitive: str
    location: Location | None
    direction: Direction
    iterations: tuple[LoopIteration, ...] = ()
    values: str = ""
    zero: bool = False
    what: str = "a NaN"
    examples: list[Example] = attrs.field(factory=list)
    closed: bool = False
    reported: bool = False
    serial: int = attrs.field(init=False, factory=count(1).__next__)


@attrs.frozen(eq=False)
class NanMarks:
    """The origins of an array's NaNs.

    Attributes:
        where: for each element the number of its origin, counted from 1; 0 where there is none.
        causes: the origins.
        array: the array.
    """

    where: HostArray
    causes: tuple[NanOrigin, ...]
    array: ref[ConcreteArray]


def marks_of(array: Array) -> NanMarks | None:
    """Return the known origins of an array's NaNs; None where there are none."""
    marks = followed.get(id(array))
    return marks if isinstance(marks, NanMarks) and marks.array() is array else None


def mark(array: ConcreteArray, where: HostArray, causes: Sequence[NanOrigin]) -> None:
    """Remember the origins of an array's NaNs, for as long as the array lives."""
    if where.any():
        key = id(array)

        def forget(_: object) -> None:
            followed.pop(key, None)

        followed[key] = NanMarks(where, tuple(causes), ref(array, forget))


def next_serial() -> int:
    """Return a number greater than those of all origins so far."""
    return NanOrigin("", None, "forward").serial


def nans_in(array: Array) -> HostArray | None:
    """Return the mask of an array's NaNs; None where it has none."""
    return _where(array, np.isnan)


def wanted_in(array: Array) -> HostArray | None:
    """Return the mask of the NaNs or infinities that the settings track, or None."""
    current = settings()
    if not current.debug_infs:
        return _where(array, np.isnan)
    return _where(array, _is_not_finite if current.debug_nans else np.isinf)


def _is_not_finite(host: HostArray) -> HostArray:
    return ~np.isfinite(host)


def _where(array: Array, find: Callable[[HostArray], HostArray]) -> HostArray | None:
    if not is_inexact(array.dtype) or isinstance(
        array, concrete.PlacedArray
    ):  # which are not followed
        return None
    assert isinstance(array, ConcreteArray), "evaluation gives arrays with data"
    mask = np.asarray(find(array.host))
    return mask if mask.any() else None


def first_cause(leaf: object) -> NanOrigin | None:
    """Return the earliest of the origins of an array's NaNs."""
    marks = marks_of(leaf) if isinstance(leaf, ConcreteArray) else None
    if marks is None:
        return None
    numbers: list[int] = np.unique(marks.where[marks.where > 0]).tolist()
    return min([marks.causes[i - 1] for i in numbers], key=lambda cause: cause.serial)


# Examples


def add_examples(
    array: ConcreteArray, examples: Sequence[ExampleAxis], below: Sequence[ExampleAxis], start: int
) -> None:
    """Record the examples in which the NaNs of an array originate.

    Args:
        array: a result of a batched operation.
        examples: which of its axes are batches, the outermost first.
        below: the batch axes that were recorded before.
        start: the origins from this number on are the operation's.
    """
    marks = marks_of(array)
    if marks is None:
        return
    for number, cause in enumerate(marks.causes, start=1):
        if cause.serial <= start or (cause.closed and cause.examples):
            continue
        places = np.argwhere(marks.where == number)
        for pin in below:
            index = next(
                (example.index for example in cause.examples if example.vmap is pin.vmap), None
            )
            if index is not None and fits(pin, array.shape):
                places = places[places[:, pin.axis] == index]
        for example in examples:
            if len(places) and fits(example, array.shape):
                if any(known.vmap is example.vmap for known in cause.examples):
                    continue
                index = int(places[0, example.axis])
                cause.examples.append(
                    Example(index, example.size, example.vmap, example.axis, array.shape)
                )
                places = places[places[:, example.axis] == index]


def belong_to_tangents(primals: Sequence[Array], tangents: Sequence[Array], start: int) -> None:
    """Mark the origins from a number on that occur in tangents only as belonging to these."""
    of_primals = {id(cause) for x in primals for cause in causes_in(x)}
    for cause in [cause for x in tangents for cause in causes_in(x)]:
        own = cause.serial > start and not cause.closed and id(cause) not in of_primals
        if own and cause.direction == "forward":
            cause.direction = "tangent"


def causes_in(array: Array) -> Sequence[NanOrigin]:
    """Return the origins of an array's NaNs."""
    marks = marks_of(array)
    return () if marks is None else marks.causes


def choose_examples(cause: NanOrigin, before: Sequence[HostArray | None], after: HostArray) -> None:
    """Move an origin to an example that a conditional has selected.

    Under ``vmap`` a branch is computed for all examples, those that do not take it with copies of
    one that does. So a NaN may originate in the copies too, which the conditional then drops.
    """
    for i, example in enumerate(cause.examples):
        if example.shape != after.shape or not after.any():
            continue
        there = (slice(None),) * example.axis + (example.index,)
        was = any(x is not None and x.shape == example.shape and x[there].any() for x in before)
        if was and not after[there].any():
            index = int(np.argwhere(after)[0][example.axis])
            cause.examples[i] = attrs.evolve(example, index=index)


def fits(example: ExampleAxis, shape: tuple[int, ...]) -> bool:
    """Return whether an array of this shape can have the batch axis."""
    return example.axis < len(shape) and shape[example.axis] == example.size
