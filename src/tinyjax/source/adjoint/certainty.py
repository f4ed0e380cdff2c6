"""Certainty: which programs that change arrays have an adjoint.

An adjoint keeps the cotangents of arrays that change in shadows, whose views are those of the
arrays. That is right where it is certain, statement by statement, what a result shares memory with.
A program with any other statement is refused; ``source.grad`` captures it.
"""

from __future__ import annotations

import builtins
import functools
import operator
import re
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import errors
from tinyjax._base.frames import PACKAGE_DIRECTORY, Location
from tinyjax.source import facts
from tinyjax.source.adjoint.aliases import WRITING, Aliases
from tinyjax.source.adjoint.kinds import ACTIVE, INERT, Kind
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.ir import analysis, find, program as ir, read, runtime, syntax


@attrs.frozen
class Follower:
    """Describes the views of arrays that an interpreter of programs follows.

    Attributes:
        views: the functions whose views it follows, whatever they are given.
        methods: the methods of which that holds.
        iterating: the functions that go through arrays whose items it follows.
    """

    views: frozenset[Any]
    methods: frozenset[str]
    iterating: frozenset[Any] = frozenset()


#: Shadows are found by memory. Elements have to lie apart from each other.
ADJOINT: Final = Follower(
    frozenset(
        (np.asarray, np.ascontiguousarray, np.diagonal, np.moveaxis, np.ravel, np.reshape,
         np.squeeze, np.swapaxes, np.transpose)
    ),
    facts.VIEW_METHODS - {"view"} | facts.VIEW_ATTRIBUTES,
)  # fmt: skip
#: Functions that go through what they are given.
ITERATING: Final[frozenset[Any]] = frozenset(
    (builtins.sum, min, max, sorted, list, tuple, set, dict, map, filter, zip, enumerate, reversed,
     any, all, functools.reduce, runtime.joined)
)  # fmt: skip
#: Staged arrays have views of their own; NumPy says which.
STAGING: Final = Follower(
    facts.VIEWING - {np.lib.stride_tricks.as_strided},
    facts.VIEW_METHODS | facts.VIEW_ATTRIBUTES | {"astype", "flat"},
    iterating=ITERATING,
)
#: Functions and operators of Python's that keep nothing of what they are given.
READING: Final[frozenset[Any]] = syntax.OPERATORS | {
    *(abs, bool, callable, complex, divmod, float, format, getattr, hasattr, hash, id, int),
    *(isinstance, len, pow, print, range, repr, round, slice, str, type),
}
#: Those, and functions that go through arrays and give none.
COMPUTING: Final = READING | {sum, any, all}
#: What holds its parts, and is no array.
_CONTAINERS: Final[frozenset[Any]] = frozenset(
    (*runtime.BUILDING, dict, enumerate, filter, list, map, range, reversed, sorted, tuple, zip)
)


def _is_users(function: Any) -> bool:
    """Return whether a function or a class is the user's, and is read where it is called."""
    if isinstance(function, FunctionType):
        filename = function.__code__.co_filename
        return not (find.is_library(filename) or filename.startswith(PACKAGE_DIRECTORY))
    return isinstance(function, type) and function.__module__.partition(".")[0] not in _LIBRARIES


_LIBRARIES: Final = frozenset((*sys.stdlib_module_names, "numpy", "scipy", "tinyjax", "jax"))


def uncertain(what: str) -> str:
    """Return the message for what is not certain in a program that changes arrays."""
    return (
        f"{what}, in a function that changes arrays, is not taken by tinyjax.source: it is not "
        "certain what shares memory with what. Capture the function: source.capture(f)."
    )


def check_iteration(function: Any, args: tuple[Any, ...]) -> None:
    """Refuse a call that goes through an array, which may change meanwhile.

    Raises:
        SourceError: it does.
    """
    of_library = getattr(function, "__module__", None) in ("functools", "itertools")
    iterates = of_library or runtime.is_in(function, ITERATING)
    if iterates and any(isinstance(x, np.ndarray) and x.ndim for x in args):
        raise find.refusal(uncertain("an iteration over an array"))


class Certainty:
    """The statements of a program of which it is certain what their results share memory with."""

    def __init__(
        self,
        program: ir.IR,
        ranks: Ranks,
        kinds: Mapping[ir.Variable, Kind],
        aliases: Aliases,
        follower: Follower = ADJOINT,
        *,
        is_cautious: bool,
    ) -> None:
        self._program = program
        self._ranks = ranks
        self._kinds = kinds
        self._aliases = aliases
        self._follower = follower
        self._is_cautious = is_cautious
        self._calls: dict[ir.Atom, ir.Call] = program.calls

    def check(self) -> None:
        """Refuse the program if it has a statement that is not certain.

        Raises:
            SourceError: it has.
            InPlaceError: it calls a function with an array that changes, which is not checked yet.
        """
        for statement in self._program.statements:
            if not self._is_cautious and self._passes_changing(statement):
                raise runtime.InPlaceError
            reason = self._reason(statement)
            is_iteration = runtime.is_in(statement.function, ITERATING)
            if reason and (is_iteration or not self._is_read_at_once(statement.variable)):
                place = Location(self._program.filename, statement.line, self._program.name)
                raise errors.SourceError(uncertain(reason), place)

    def _is_read_at_once(self, variable: ir.Variable) -> bool:
        """Return whether new values are computed of a view before anything changes."""
        uses = self._program.uses
        (following,) = [
            block.statements[place:]
            for block in self._program.blocks
            for place, statement in enumerate(block.statements, 1)
            if statement.variable is variable
        ]
        return variable in uses and analysis.is_used_before_changes(
            following, variable, uses, lambda s, _: self._makes(s), self._computes
        )

    def _makes(self, statement: ir.Statement) -> bool:
        """Return whether a statement makes something new of an array."""
        is_operator = runtime.is_in(statement.function, syntax.OPERATORS)
        return is_operator or self._aliases.reads_only(statement.call)

    def _computes(self, statement: ir.Statement) -> bool:
        return self._makes(statement) or self._aliases.is_reading(statement)

    def _is_open(self, atom: ir.Atom) -> bool:
        """Return whether a value may be, or hold, an array with a derivative."""
        if not isinstance(atom, ir.Variable) or self._ranks.kind_of(atom).shares_nothing:
            return False
        return self._kinds.get(atom, ACTIVE).holds_arrays

    def _reason(self, statement: ir.Statement) -> str:
        """Return what of a statement is not certain; nothing if all is."""
        call, function = statement.call, statement.function
        if function is getattr:
            return self._reason_of_attribute(call)
        if function is operator.getitem or function in WRITING:
            return self._reason_of_index(call.args[1], function in WRITING)
        if not any(map(self._is_open, call.atoms)):
            return ""
        is_default = function is runtime.make_functions and self._follower is ADJOINT
        if is_default and any(map(self._is_open, call.args[2:4])):
            return "a default that is an array"
        if function is runtime.items_of and self._changes_in_loop(statement.variable):
            return "a loop over an array that it changes"
        if runtime.is_in(function, self._follower.iterating):
            return ""
        if runtime.is_in(function, ITERATING):
            return "" if self._is_counted(statement.variable) else self._reason_of_iteration(call)
        if function is None:
            return self._reason_of_method(call)
        if runtime.is_in(function, READING) or self._aliases.copies(call):
            return ""
        if runtime.is_in(function, facts.VIEWING) and self._follows(call, function):
            return ""
        module = getattr(function, "__module__", None) or "builtins"
        if _is_users(function) or module.startswith("tinyjax."):
            return ""
        return f"{module}.{getattr(function, '__name__', function)}()"

    def _passes_changing(self, statement: ir.Statement) -> bool:
        """Return whether a statement calls a function of the user's with an array that changes."""
        call, function = statement.call, statement.function
        is_users = _is_users(function)
        if function is None:
            is_users = not hasattr(np.ndarray, str(self._aliases.method_of(call)))
        return is_users and self._is_written(call.atoms) and not self._only_reads(call)

    def _only_reads(self, call: ir.Call) -> bool:
        """Return whether a function of the user's changes nothing, and gives something new."""
        function = ir.value_of(call.function)
        if not isinstance(function, FunctionType) or function.__closure__ or call.keywords:
            return False
        try:
            program = read.program_of(function)
        except errors.SourceError:
            return False
        kinds = (INERT, *map(self._kind_of, call.args))
        if len(program.blocks[0].arguments) != len(kinds):
            return False
        aliases = Aliases(program, kinds)
        returned = [x for b in program.blocks if isinstance(x := b.returned, ir.Variable)]
        is_new = not any(map(aliases.is_outside, returned))
        return is_new and all(map(aliases.is_reading, program.statements))

    def _kind_of(self, atom: ir.Atom) -> Kind:
        kind = self._ranks.kind_of(atom)
        if isinstance(atom, ir.Constant) or kind is not ACTIVE:
            return kind
        return self._kinds.get(atom, ACTIVE)

    def _is_written(self, atoms: tuple[ir.Atom, ...]) -> bool:
        return bool(
            {x for x in atoms if isinstance(x, ir.Variable)} & self._aliases.written_variables
        )

    def _follows(self, call: ir.Call, view: Any) -> bool:
        """Return whether a view is followed, or is one of nothing that changes."""
        follower, (owner, *_) = self._follower, call.args
        if not (self._is_written((owner,)) or self._is_cautious):
            return True
        return view in follower.views or view in follower.methods

    def _reason_of_method(self, call: ir.Call) -> str:
        """Return which option of a method may let its result share memory."""
        name, names = self._aliases.method_of(call), call.names
        is_decided = name in facts.FRESH_WITHOUT or "out" in names
        if name in self._follower.methods and "out" not in names:
            return ""
        if not is_decided or facts.is_fresh(name, len(call.args), names):
            return ""
        return f".{name}() with {', '.join(names) or 'so many arguments'}"

    def _reason_of_attribute(self, call: ir.Call) -> str:
        owner, name = call.args[0], ir.value_of(call.args[1])
        if not self._is_open(owner) or not hasattr(np.ndarray, str(name)):
            return ""
        if name in facts.PLAIN_ATTRIBUTES or facts.is_fresh(name, 0):
            return ""
        is_view = name in facts.VIEW_METHODS or name in facts.VIEW_ATTRIBUTES or name == "flat"
        if is_view and self._follows(call, name):
            return ""
        return f".{name}"

    def _reason_of_index(self, index: ir.Atom, is_write: bool) -> str:
        parts = ir.index_parts(index, self._calls)
        if self._follower is STAGING:
            return ""
        if is_write and any(isinstance(x, ir.Constant) and x.value is None for x in parts):
            return "an assignment to an index with None"
        if not parts:
            return "an index without parts"
        if len(parts) > 1 and any(ir.value_of(x) is Ellipsis for x in parts):
            return "an index with an ellipsis"
        return ""

    def _changes_in_loop(self, items: ir.Variable) -> bool:
        """Return whether a loop over items changes what they are of, otherwise than by an item.

        Staged loops see the array as it was before.
        """
        if self._follower is ADJOINT or len(self._program.blocks) == 1:
            return False
        parts, blocks = {items}, self._program.blocks
        for statement in self._program.statements:
            takes = (operator.getitem, runtime.unpacked)
            if statement.function in takes and statement.call.args[0] in parts:
                parts.add(statement.variable)
        for body in analysis.natural_loops(blocks).values():
            inside = [s for index in body for s in blocks[index].statements]
            if any(s.function is operator.getitem and s.call.args[0] is items for s in inside):
                targets = [s.call.args[0] for s in inside if s.function in WRITING]
                targets += [s.call.args[1] for s in inside if s.function in runtime.AUGMENTING]
                calls = [s.call for s in inside if self._passes_changing(s)]
                targets += [x for call in calls for x in call.args if self._is_open(x)]
                targets += [call.function for call in calls if self._closes_over(call.function)]
                kin = [v for v in targets if isinstance(v, ir.Variable) and v not in parts]
                if self._aliases.class_of(items) in map(self._aliases.class_of, kin):
                    return True
        return False

    def _closes_over(self, function: ir.Atom) -> bool:
        """Return whether a function that the program defines closes over arrays that change."""
        taken = self._calls.get(function)
        defined = taken and self._calls.get(taken.args[0])
        if not defined or ir.value_of(defined.function) is not runtime.make_functions:
            return False
        return self._is_written(defined.args[2:])

    def _is_counted(self, variable: ir.Variable) -> bool:
        """Return whether only the length of what goes through arrays is used."""
        users = [s for s in self._program.statements if variable in s.call.variables]
        return not any(variable in block.used_at_end for block in self._program.blocks) and all(
            s.function is len or (s.function is runtime.items_of and self._is_counted(s.variable))
            for s in users
        )

    def _reason_of_iteration(self, call: ir.Call) -> str:
        if any(self._is_open(x) and self._may_be_array(x) for x in call.args):
            return "an iteration over an array"
        return ""

    def _may_be_array(self, atom: ir.Atom) -> bool:
        """Return whether a value may be an array, by what defines it."""
        call, variadic = self._calls.get(atom), self._program.variadic
        if variadic is not None and atom is self._program.blocks[0].arguments[variadic]:
            return False
        if call is None:
            kind = self._kinds.get(atom) if isinstance(atom, ir.Variable) else None
            return kind is not None and (kind.is_array or kind is ACTIVE)
        if ir.value_of(call.function) is runtime.items_of:
            return self._may_be_array(call.args[0])
        return not runtime.is_in(ir.value_of(call.function), _CONTAINERS)


#: Functions that write numbers as texts or bytes, and methods that do.
_WRITING_TEXTS: Final = facts.TEXTS | {
    *(ascii, bytes, format, repr, str, runtime.formatted, runtime.text),
}
_METHODS_OF_TEXT: Final = ("__format__", "__repr__", "__str__", "tobytes")
#: What gives texts, or holds them, if it is given some.
_PASSING_TEXTS: Final = _WRITING_TEXTS | {
    *(operator.add, operator.getitem, operator.mod, operator.mul, getattr, len, list, tuple),
    *(runtime.collected, runtime.defined, runtime.items_of, runtime.joined, runtime.make_list),
    *(runtime.make_tuple, runtime.unpacked),
}
#: What says something of a text that has no derivative.
_ASKING: Final = {
    *(*syntax.COMPARISONS.values(), bool, hash, int, isinstance, len, print, runtime.thrown, type),
}


def check_texts(program: ir.IR, kinds: Mapping[ir.Variable, Kind]) -> None:
    """Refuse a program that may read numbers again which it has written as texts, or thrown.

    Raises:
        SourceError: it gives such a text to a function that is not known, or returns it.
    """
    methods = {s.variable: s.call.args for s in program.statements if s.function is getattr}

    def is_text(call: ir.Call, operands: list[bool]) -> bool:
        function = ir.value_of(call.function)
        is_passing = operands[0] or runtime.is_in(function, _PASSING_TEXTS) or _is_error(function)
        if is_passing and any(operands):
            return True
        return any(kinds.get(x, ACTIVE).active for x in call.variables) and _writes_texts(
            call, methods
        )

    arguments = dict.fromkeys(program.blocks[0].arguments, False)
    known = analysis.propagate(program, arguments, lambda _: False, is_text, operator.or_)
    texts = {variable for variable, is_one in known.items() if is_one}
    for statement in program.statements:
        function, atoms = statement.function, {*statement.call.atoms}
        is_known = runtime.is_in(function, _ASKING) or statement.variable in texts
        is_file = function is print and "file" in statement.call.names
        is_file = is_file or runtime.is_in(function, runtime.REDIRECTING)
        if is_file or (not is_known and not texts.isdisjoint(atoms)):
            raise _of_text(program, statement.line)
    for block in program.blocks:
        if block.returned in texts:
            raise _of_text(program, block.statements[-1].line if block.statements else None)


def _writes_texts(call: ir.Call, methods: Mapping[ir.Variable, tuple[ir.Atom, ...]]) -> bool:
    """Return whether a call writes a number as a text, or throws it."""
    function: Any = ir.value_of(call.function)
    if isinstance(call.function, ir.Variable) and call.function in methods:
        owner, name, *_ = methods[call.function]
        if ir.value_of(name) in ("astype", "view"):
            return any(_is_dtype_of_text(ir.value_of(x)) for x in call.atoms)
        return ir.value_of(name) in _METHODS_OF_TEXT or isinstance(ir.value_of(owner), str)
    if runtime.is_of_numpy(function) and any(_is_dtype_of_text(ir.value_of(x)) for x in call.atoms):
        return True
    if function is operator.mod:
        return isinstance(ir.value_of(call.args[0]), (str, bytes))
    is_method = isinstance(getattr(function, "__self__", None), str)
    return is_method or _is_error(function) or runtime.is_in(function, _WRITING_TEXTS)


def _is_dtype_of_text(x: Any) -> bool:
    """Return whether a value names a dtype of texts or bytes."""
    if isinstance(x, type):
        return issubclass(x, str | bytes | np.flexible)
    if isinstance(x, np.dtype):
        return x.kind in "USV"
    return isinstance(x, str) and re.fullmatch(r"[<>|=]?[USVa]\d*|(str|bytes)_?", x) is not None


def _is_error(function: Any) -> bool:
    """Return whether a function is the class of an exception, which keeps what it is given."""
    return isinstance(function, type) and issubclass(function, BaseException)


def _of_text(program: ir.IR, line: int | None) -> errors.SourceError:
    return errors.SourceError(
        "a number that was written as a text, or given to an exception, may be read again there, "
        "where it has no derivative in tinyjax.source. Compute with the number.",
        None if line is None else Location(program.filename, line, program.name),
    )
