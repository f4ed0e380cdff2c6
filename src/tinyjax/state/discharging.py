"""State is discharged: a staged function that uses references becomes one of their contents.

In a recorder whose program is called by somebody who passes on what is kept in place, a reference
made outside has a cell of its own. Elsewhere it cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

import attrs

from tinyjax.core.tracing.jaxpr import Var
from tinyjax.core.tracing.staging import Note, Recorder, StagingTracer
from tinyjax.core.tracing.trace import Trace, Tracer
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.errors import RefError


class Cell:
    """What a reference holds, within one staged function or outside of all.

    Attributes:
        value: the contents.
        trace: the trace whose values these are, or its parents'.
        written: whether it was written to.
    """

    __slots__ = ("trace", "value", "written")

    def __init__(self, value: Array, trace: Trace) -> None:
        self.value: Array = value
        self.trace: Trace = trace
        self.written: bool = False


class CellElsewhere(Cell):
    """What a reference holds whose contents are kept in an object of another class."""

    __slots__ = ("_get", "_put")

    def __init__(self, get: Callable[[], Array], put: Callable[[Array], None], home: Trace) -> None:
        self._get = get
        self._put = put
        self.trace = home
        self.written = False

    @property
    def value(self) -> Array:
        """The contents."""
        return self._get()

    @value.setter
    def value(self, value: Array) -> None:
        self._put(value)


class Reference:
    """What a reference is to this module."""

    __slots__ = ()

    aval: ShapedArray

    @property
    def contents(self) -> Array:
        """The array that it holds here."""
        raise NotImplementedError

    @property
    def is_written(self) -> bool:
        """Whether there is something in it that was written."""
        raise NotImplementedError

    @property
    def _is_usable(self) -> bool:
        raise NotImplementedError

    def _write(self, value: Array) -> None:
        raise NotImplementedError


class Form(Hashable, Protocol):
    """What is known of an object that holds arrays in place, but for these."""

    @property
    def is_one(self) -> bool:
        """Whether it holds one array, and paths name it by the object's own."""
        ...

    def make(self, refs: Sequence[Any]) -> object:
        """Make an object of this form, which reads and writes these references."""
        ...

    def put(self, into: Any, contents: Sequence[Array]) -> None:
        """Give an object this form, and these arrays to hold."""
        ...


#: Takes an object apart: references to its contents, and its form.
Opener: TypeAlias = Callable[[Any], tuple[Sequence[Reference], Form]]

#: How objects are taken apart, by class.
OPENERS: Final[dict[type, Opener]] = {}


def parts_of(x: Any) -> tuple[Sequence[Reference], Form]:
    """Return references to the contents of an object, and its form."""
    return OPENERS[type(x)](x)


@attrs.frozen
class _Part:
    """A place for a result: part of an object that a function was given.

    Attributes:
        place: which object.
        index: which part.
        form: the object's new form, if it has another.
    """

    place: int
    index: int
    form: Form | None = None


class Used(Note):
    """What a function that is staged uses of references: made outside of it, or given to it.

    What only is read may be known while it is staged. A function that writes to it is staged again.

    Attributes:
        cells: of references made outside.
        given: the objects made in place of arguments, and their forms, by place.
    """

    __slots__ = ("_closed", "_known", "_parameters", "_traced", "cells", "given")

    lasting = False

    def __init__(self, traced: frozenset[Reference] = frozenset()) -> None:
        self._traced: frozenset[Reference] = traced
        self._parameters: dict[Reference, Var] = {}
        self._known: set[Reference] = set()
        self._closed: tuple[Reference, ...] = ()
        self.cells: dict[Reference, Cell] = {}
        self.given: dict[int, tuple[Any, Form]] = {}

    def enter(self, ref: Reference, outer: Cell, recorder: Recorder) -> Cell:
        """Give a reference a cell in a recorder."""
        value = outer.value
        known = recorder.outside == "data" and not isinstance(value, Tracer)
        if not known or ref in self._traced:
            var = self._parameters[ref] = Var(ref.aval)
            value = StagingTracer(recorder, var, ref.aval)
        cell = self.cells[ref] = Cell(value, recorder)
        return cell

    def taken(self) -> Sequence[tuple[Reference, Var]]:
        return [*self._parameters.items()]

    def left(self) -> Sequence[tuple[Hashable, Array]]:
        written = [(ref, cell.value) for ref, cell in self.cells.items() if cell.written]
        self._known = {ref for ref, _ in written}.difference(self._parameters)
        outs: list[tuple[Hashable, Array]] = [*written]
        for place, (holder, before) in self.given.items():
            refs, form = parts_of(holder)
            changed = None if form == before else form
            for i, ref in enumerate(refs):
                if changed is not None or ref.is_written:
                    outs.append((_Part(place, i, changed), ref.contents))
        # what was traced is kept no longer
        self._closed, self.cells, self.given = tuple(self.cells), {}, {}
        return outs

    def restarted(self) -> Used | None:
        return Used(self._traced | self._known) if self._known else None

    def serves(self, by: str, objects: Sequence[Any]) -> bool:
        if not all(ref._is_usable for ref in self._closed):
            return False
        check_given_once([*self._closed, *[ref for x in objects for ref in parts_of(x)[0]]], by)
        return True

    @classmethod
    def keep(cls, left: Sequence[tuple[Hashable, Array]], objects: Sequence[Any]) -> None:
        refilled: dict[tuple[int, Form], list[Array]] = {}
        for key, value in left:
            if isinstance(key, Reference):
                key._write(value)
            elif isinstance(key, _Part) and key.form is None:
                parts_of(objects[key.place])[0][key.index]._write(value)
            elif isinstance(key, _Part) and key.form is not None:
                refilled.setdefault((key.place, key.form), []).append(value)
        for (place, form), contents in refilled.items():
            form.put(objects[place], contents)


def used_in(recorder: Recorder) -> Used:
    """Return what a recorder's function has used of references so far."""
    note = recorder.notes.get(Used)
    if not isinstance(note, Used):
        note = recorder.notes[Used] = Used()
    return note


def cells_in(recorder: Recorder) -> Mapping[Reference, Cell]:
    """Return the cells of references that a recorder has."""
    note = recorder.notes.get(Used)
    return note.cells if isinstance(note, Used) else {}


def entered(ref: Reference, outer: Cell, recorder: Recorder) -> Cell:
    """Return a reference's own cell in a recorder, which begins as another cell is."""
    return used_in(recorder).enter(ref, outer, recorder)


def check_given_once(refs: Sequence[Reference], by: str) -> None:
    """Raise where a function is given a reference twice, or one that it uses besides."""
    if len({*refs}) < len(refs):
        raise RefError(
            f"{by} is given a Ref twice, or one that it uses from outside as well. It may know a "
            "Ref by one name only."
        )
