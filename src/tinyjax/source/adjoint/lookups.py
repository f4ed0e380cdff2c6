"""Numbers that a program looks for in what it may have kept, as programs with caches do.

Where it finds one, what it has kept beside it are numbers, which have no derivative. So
``source.grad`` captures such a program, which is refused where a key is found, and a staged program
checks that when it is differentiated.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base.frames import Location
from tinyjax.source.adjoint.kinds import ACTIVE, Kind
from tinyjax.source.ir import analysis, program as ir, runtime


@attrs.frozen
class KeySearch:
    """Represent that a statement looks for a number in what a program may have kept.

    Attributes:
        statement: the statement.
        key: the number.
        table: what may have it.
        is_part: whether the number, too, is of what the program may have kept.
    """

    statement: ir.Statement
    key: ir.Atom
    table: ir.Atom
    is_part: bool = False


def lookups(program: ir.IR, arguments: tuple[Kind, ...]) -> Iterator[KeySearch]:
    """Yield what a program looks for, as programs with caches do, if the key is no constant.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
    """
    compares = any(
        runtime.is_in(s.function, (*_CONTAINING, *_EQUALITIES)) for s in program.statements
    )
    origins = _origins(program, arguments) if compares else {}
    of_outside = {variable for variable, origin in origins.items() if origin.of_outside}
    for statement in program.statements:
        operands = statement.call.args[:2]
        if runtime.is_in(statement.function, _CONTAINING):
            is_kept = operands[1] in of_outside or _may_be_kept(operands[1], program.calls)
            pairs = [operands] if is_kept else []
        elif runtime.is_in(statement.function, _EQUALITIES):
            pairs = [x for x in itertools.permutations(operands) if x[1] in of_outside]
        else:
            pairs = [*_keys_of(statement, program.calls)]
        for key, table in pairs:
            if isinstance(key, ir.Variable):
                yield KeySearch(statement, key, table, {key, table} <= of_outside)


def check_keys(
    program: ir.IR, arguments: tuple[Kind, ...], kinds: Mapping[ir.Variable, Kind]
) -> None:
    """Refuse a program that compares a number with a derivative with what it may have kept.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        kinds: those of its variables.

    Raises:
        SourceError: it does, as programs with caches do.
    """

    def is_active(atom: ir.Atom) -> bool:
        return isinstance(atom, ir.Variable) and kinds.get(atom, ACTIVE).active

    for lookup in lookups(program, arguments):
        if is_active(lookup.key) and not (lookup.is_part and is_active(lookup.table)):
            where = Location(program.filename, lookup.statement.line, program.name)
            raise errors.SourceError(OF_KEY, where)


#: The message of a key that equals a number with a derivative.
OF_KEY: Final = (
    "a number may equal one that the program has kept, as keys of caches do, with what has no "
    "derivative in tinyjax.source. Compute without the cache."
)


def _keys_of(
    statement: ir.Statement, calls: Mapping[ir.Atom, ir.Call]
) -> Iterator[tuple[ir.Atom, ir.Atom]]:
    """Yield what a call looks for in a dictionary, a list or a set, and that."""
    if statement.function is hash:
        yield from ((key, statement.call.function) for key in statement.call.args)
    method = calls.get(statement.call.function)
    if method is not None and runtime.is_in(ir.value_of(method.function), (getattr,)):
        owner, name = method.args[:2]
        if ir.value_of(name) in _LOOKUPS and _may_be_kept(owner, calls):
            yield from ((key, owner) for key in statement.call.args[:1])


#: Methods of dictionaries, lists and sets that look for their first argument.
_LOOKUPS: Final = {
    *("get", "pop", "setdefault", "count", "index", "remove", "discard", "__contains__"),
    "__getitem__",
}

_CONTAINING: Final = (runtime.contains, runtime.lacks)
#: Functions of two operands, of which either may be a key.
_EQUALITIES: Final = (
    *(operator.eq, operator.ne, np.equal, np.not_equal, np.array_equal, np.array_equiv),
    *(np.isclose, np.allclose, np.isin, np.setdiff1d),
)


@attrs.frozen
class _Origin:
    """Represent where a value comes from.

    Attributes:
        of_outside: whether it is of what a module has, or of an argument without a derivative: a
            part of it, or computed of such parts only.
        active: whether it may have a derivative.
    """

    of_outside: bool = False
    active: bool = False


def _origins(program: ir.IR, arguments: tuple[Kind, ...]) -> dict[ir.Variable, _Origin]:
    """Return where the values of a program come from."""

    def of_constant(constant: ir.Constant) -> _Origin:
        return _Origin(isinstance(constant.value, _CHANGING))

    def of_call(call: ir.Call, operands: list[_Origin]) -> _Origin:
        function = ir.value_of(call.function)
        if function is runtime.global_value:
            return _Origin(of_outside=True)
        active = any(x.active for x in operands)
        if not active:
            return _Origin(any(x.of_outside for x in operands))
        is_part = runtime.is_in(function, _READING_PARTS)
        return _Origin(is_part and operands[1].of_outside, active)

    def join(x: _Origin, y: _Origin) -> _Origin:
        return _Origin(x.of_outside or y.of_outside, x.active or y.active)

    pairs = zip(program.blocks[0].arguments, arguments, strict=True)
    known = {
        v: _Origin(not kind.numeric and not (kind.active and kind.is_array), kind.active)
        for v, kind in pairs
    }
    return analysis.propagate(program, known, of_constant, of_call, join)


_READING_PARTS: Final = (getattr, operator.getitem)
#: Classes of what a module has and a program may have changed.
_CHANGING: Final = (dict, list, set, np.ndarray)


def _may_be_kept(container: ir.Atom, calls: Mapping[ir.Atom, ir.Call]) -> bool:
    """Return whether a container may be of an earlier call, which no constant is."""
    if isinstance(container, ir.Constant):
        return isinstance(container.value, _CHANGING)
    if container not in calls:
        return True
    call = calls[container]
    if runtime.is_in(ir.value_of(call.function), _COPYING):
        return any(_may_be_kept(x, calls) for x in call.args)
    return not runtime.is_in(ir.value_of(call.function), _MAKING)


#: Functions that make containers of their arguments, and of those in containers.
_MAKING: Final = (runtime.make_list, runtime.make_tuple, runtime.make_dict)
_COPYING: Final = (set, frozenset, list, tuple, dict)
