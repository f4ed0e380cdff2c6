"""Detection of keys of random numbers that are used more than once.

A use is recorded by the identity of the key's array. In a staged function it is recorded for the
tracer, and stored with the program (``KeyUses``). A call of the program uses its operands. Nothing
here runs unless the setting ``debug_key_reuse`` is on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final
from weakref import ref

import attrs

from tinyjax import errors
from tinyjax._base import frames, records
from tinyjax.core.tracing import jaxpr as jx, staging, trace as tr
from tinyjax.core.values import Array, ConcreteArray


@attrs.frozen(eq=False, repr=False)
class KeyUse(records.Record):
    """The use of a key.

    Attributes:
        name: the function that received it.
        location: the user's line.
    """

    name: str
    location: frames.Location | None

    def __str__(self) -> str:
        return self.name if self.location is None else f"{self.name} at {self.location}"


class KeyUses(staging.Hook):
    """The uses of keys in a program that is staged.

    The identity of a key is its variable, or the literal itself.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[jx.Var | int, tuple[KeyUse, ConcreteArray | None]] = {}

    def use_of(self, x: jx.Atom) -> KeyUse | None:
        """Return the use of a key, or None."""
        entry = self._entries.get(x if isinstance(x, jx.Var) else id(x.value))
        return None if entry is None else entry[0]

    def add(self, x: jx.Atom, used: KeyUse) -> None:
        """Record the use of a key."""
        if isinstance(x, jx.Var):
            self._entries[x] = used, None
        else:
            self._entries[id(x.value)] = used, x.value

    def moved(self, before: jx.Jaxpr, after: jx.Jaxpr) -> KeyUses:
        """Return the same uses in another recording of the same program."""
        uses = KeyUses()
        for old, new in zip(
            (*before.in_binders, *before.outs), (*after.in_binders, *after.outs), strict=True
        ):
            used = self.use_of(old)
            if used is not None:
                uses.add(new, used)
        for value, used in self.literals():
            uses.add(jx.Lit(value, value.aval), used)
        return uses

    def literals(self) -> Iterator[tuple[ConcreteArray, KeyUse]]:
        """Go through the keys that stand as literals."""
        for used, value in self._entries.values():
            if value is not None:
                yield value, used

    @classmethod
    def before(cls, calls: Sequence[tuple[staging.Hook, jx.Jaxpr, Sequence[Array]]]) -> None:
        """Record that one of some programs uses keys: operands, and literals.

        Raises:
            KeyReuseError: one was used before.
        """
        used: dict[tuple[int, int], tuple[Array, KeyUse]] = {}
        for uses, jaxpr, operands in calls:
            assert isinstance(uses, KeyUses), "notes are of this class"
            times: Counter[int] = Counter()
            for key, by in uses._among(jaxpr, operands):
                times[id(key)] += 1
                used.setdefault((id(key), times[id(key)]), (key, by))
        for key, by in used.values():
            note(key, by)

    def _among(self, jaxpr: jx.Jaxpr, operands: Sequence[Array]) -> Iterator[tuple[Array, KeyUse]]:
        for var, operand in zip(jaxpr.in_binders, operands, strict=True):
            used = self.use_of(var)
            if used is not None:
                yield operand, used
        yield from self.literals()

    def repeats(self, loop: str, constants: Sequence[jx.Var], carried: Sequence[jx.Atom]) -> None:
        """Refuse a loop every iteration of which uses the same key.

        Raises:
            KeyReuseError: there is such a key.
        """
        same = [*map(self.use_of, (*constants, *carried)), *[used for _, used in self.literals()]]
        for used in same:
            if used is not None:
                raise errors.KeyReuseError(
                    f"every iteration of {loop} draws from the same key, which is used by {used}. "
                    "Carry a key and split it in each iteration, or go over keys."
                )

    def after(self, atoms: Sequence[jx.Atom], outs: Sequence[Array]) -> None:
        """Record which results are keys that the program has used."""
        for atom, out in zip(atoms, outs, strict=True):
            used = self.use_of(atom)
            if used is not None:
                for root, stager in _roots(out):
                    _set(root, stager, used)


#: By the array's identity.
_uses: Final[dict[int, tuple[ref[Array], KeyUse]]] = {}


def use(value: Array, name: str) -> None:
    """Record that a function of this name uses a value.

    Raises:
        KeyReuseError: it was used before.
    """
    note(value, KeyUse(name, frames.user_location()))


def note(value: Array, used: KeyUse) -> None:
    """Record the use of a value.

    Raises:
        KeyReuseError: it was used before.
    """
    for root, trace in _roots(value):
        before = _find(root, trace)
        if before is not None:
            raise errors.KeyReuseError(
                f"a key is used by {used} that was used before, by {before}: both draw the same "
                "numbers. Make keys of it with random.split; or if this is meant, give one of them "
                "random.clone(key)."
            )
        _set(root, trace, used)


def _roots(value: Array) -> Iterator[tuple[Array, staging.StagingTrace | None]]:
    """Yield the arrays that a value depends on, with the staging trace they belong to, if any."""
    inner: list[tr.Trace] = []
    trace = tr.current_trace()
    while not isinstance(trace, staging.StagingTrace) and trace.parent is not trace:
        inner.append(trace)
        trace = trace.parent
    stager = trace if isinstance(trace, staging.StagingTrace) else None
    left = [value]
    while left:
        x = left.pop()
        if isinstance(x, tr.Tracer) and x._trace in inner:
            left += [part for part in x.components() if part.aval.dtype == value.aval.dtype]
        else:
            yield x, stager


def _find(root: Array, stager: staging.StagingTrace | None) -> KeyUse | None:
    if stager is not None:
        uses = stager.hooks.get(KeyUses)
        return uses.use_of(stager.atom(root)) if isinstance(uses, KeyUses) else None
    entry = _uses.get(id(root))
    return None if entry is None else entry[1]


def _set(root: Array, stager: staging.StagingTrace | None, used: KeyUse) -> None:
    if stager is not None:
        uses = stager.hooks.setdefault(KeyUses, KeyUses())
        assert isinstance(uses, KeyUses), "notes are by class"
        uses.add(stager.atom(root), used)
        return
    key = id(root)
    _uses[key] = ref(root, lambda _: _uses.pop(key, None)), used
