"""Rewriting of programs of arrays before they are differentiated.

Augmented assignments that change arrays become assignments to items. Loops over several arrays
together take items of each. Equal indices are computed once.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Final

import attrs

from tinyjax.source.adjoint import certainty
from tinyjax.source.adjoint.aliases import WRITING
from tinyjax.source.adjoint.kinds import Kind
from tinyjax.source.adjoint.ranks import Ranks
from tinyjax.source.adjoint.rules import arrays
from tinyjax.source.ir import assembly, program as ir, runtime


def lowered(program: ir.IR, arguments: tuple[Kind, ...], *, is_cautious: bool) -> ir.IR:
    """Return the program that is differentiated in place of another one.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        is_cautious: whether functions of unknown effect may change arrays, too.
    """
    functions = {statement.function for statement in program.statements}
    if not functions.isdisjoint(runtime.AUGMENTING):
        program = _with_changes(program, arguments, is_cautious=is_cautious)
        functions |= {statement.function for statement in program.statements}
    if not functions.isdisjoint(_GOING_THROUGH):
        program = _with_checked_iterators(program)
    has_arrays = any(kind.is_array for kind in arguments) or runtime.exchange in functions
    if has_arrays and functions & _TOGETHER.keys() and runtime.items_of in functions:
        program = _with_direct_items(program, Ranks(program, arguments))
    if is_cautious or not functions.isdisjoint(WRITING):
        program = _taken_apart(program)
    for rewrite in (_with_copies, _with_common_indices, _without_fitting) if has_arrays else ():
        program = rewrite(program, Ranks(program, arguments))
    return program


def _rewritten(
    program: ir.IR,
    rewrite: Callable[[ir.Statement], Iterable[ir.Statement]],
    atoms: dict[ir.Atom, ir.Atom],
    unused: tuple[Any, ...] = (),
) -> ir.IR:
    """Return a program with other statements.

    Args:
        program: the program.
        rewrite: returns the statements in place of one.
        atoms: what replaces values; ``rewrite`` may add to it.
        unused: the functions whose calls are dropped where nothing uses the result; one that uses
            the result of another comes first.
    """
    blocks = [[new for s in block.statements for new in rewrite(s)] for block in program.blocks]
    if not atoms and [s for statements in blocks for s in statements] == program.statements:
        return program
    ends = {v for block in program.blocks for v in block.used_at_end}
    for _ in unused:
        uses = ends.union(*[s.call.variables for block in blocks for s in block])
        blocks = [[s for s in b if s.variable in uses or s.function not in unused] for b in blocks]

    def replace(atom: ir.Atom) -> ir.Atom:
        while atom in atoms:
            atom = atoms[atom]
        return atom

    results = [
        attrs.evolve(block, statements=tuple(statements)).map(replace)
        for block, statements in zip(program.blocks, blocks, strict=True)
    ]
    return assembly.assembled(program.name, tuple(results), program.filename)


def _with_checked_iterators(program: ir.IR) -> ir.IR:
    """Return a program that refuses to go through iterators which others may go through, too.

    Those are what a loop goes through that is not made where it begins, and variables of others.
    """
    calls = program.calls

    def checked(statement: ir.Statement) -> list[ir.Statement]:
        if not runtime.is_in(statement.function, _GOING_THROUGH):
            return [statement]
        is_loop = statement.function is runtime.items_of
        held = [
            ir.call(runtime.check_no_iterator, x)
            for x in statement.call.args
            if x in calls and _may_be_held(calls[x], is_loop=is_loop)
        ]
        checks = [ir.Statement(ir.Variable(0), call, statement.line) for call in held]
        return [*checks, statement]

    return _rewritten(program, checked, {})


#: What goes through what it is given.
_GOING_THROUGH: Final = certainty.ITERATING | {
    *(runtime.items_of, runtime.unpacked, runtime.unpacked_star, runtime.contains, runtime.lacks)
}


def _may_be_held(call: ir.Call, *, is_loop: bool) -> bool:
    """Return whether something else may hold an iterator that a call gives."""
    function = ir.value_of(call.function)
    if function in (runtime.global_value, runtime.captured):
        return True
    if not is_loop:
        return False
    if function is getattr:
        return bool(ir.value_of(call.args[1]) != "flat")
    if isinstance(function, FunctionType) and not inspect.isgeneratorfunction(function):
        return (function.__module__ or "").partition(".")[0] not in ("numpy", "tinyjax")
    return function in (None, operator.getitem)


def _taken_apart(program: ir.IR) -> ir.IR:
    """Return a program that takes items of what it takes apart, of which an array's are views."""
    items: dict[ir.Atom, ir.Variable] = {}

    def parts(statement: ir.Statement) -> list[ir.Statement]:
        call = statement.call
        if statement.function is runtime.unpacked_star:
            check = ir.call(runtime.check_container, call.args[0])
            return [ir.Statement(ir.Variable(0), check, statement.line), statement]
        if statement.function is runtime.unpacked:
            of_all = items[statement.variable] = ir.Variable(0)
            taken = ir.call(runtime.items_of, call.args[0])
            counted = ir.Call(call.function, (of_all, *call.args[1:]))
            return [
                ir.Statement(of_all, taken, statement.line),
                attrs.evolve(statement, call=counted),
            ]
        if statement.function is operator.getitem and call.args[0] in items:
            return [attrs.evolve(statement, call=call.map(lambda x: items.get(x, x)))]
        return [statement]

    return _rewritten(program, parts, {})


#: What goes through several sequences together: the position of the first in its arguments' items.
_TOGETHER: Final[dict[Any, int]] = {builtins.zip: 0, builtins.enumerate: 1}


def _with_direct_items(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program whose loops over arrays together take items of each array.

    As Python's loops do, they see values that are written to the arrays meanwhile.
    """
    calls = program.calls
    atoms: dict[ir.Atom, ir.Atom] = {}

    def call_of(atom: ir.Atom, *functions: Any) -> ir.Call | None:
        call = calls.get(atom)
        return call if call is not None and ir.value_of(call.function) in functions else None

    def direct(statement: ir.Statement) -> list[ir.Statement]:
        """Take the item of an array, or the count, in place of an item of both."""
        taken = call_of(statement.variable, operator.getitem)
        several = taken and call_of(taken.args[0], runtime.unpacked)
        item = several and call_of(several.args[0], operator.getitem)
        items = item and call_of(item.args[0], runtime.items_of)
        together = items and call_of(items.args[0], *_TOGETHER)
        if taken is None or item is None or together is None:
            return [statement]
        place, index = ir.value_of(taken.args[1]), item.args[1]
        first = _TOGETHER[ir.value_of(together.function)]
        counts_otherwise = first and (len(together.args) != 1 or together.keywords)
        if not isinstance(place, int) or counts_otherwise:
            return [statement]
        if place < first:
            atoms[statement.variable] = index
            return []
        array = together.args[place - first]
        if not ranks.is_array(array):
            return [statement]
        return [attrs.evolve(statement, call=ir.Call(taken.function, (array, index)))]

    # an item is taken apart, and the item is one of all
    return _rewritten(program, direct, atoms, (runtime.unpacked, operator.getitem))


def _with_copies(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program that calls a function where another calls ``a.copy()`` of an array."""
    calls = program.calls

    def with_copy(statement: ir.Statement) -> list[ir.Statement]:
        call = statement.call
        method = calls.get(call.function)
        if method is None or call.args or call.keywords or not ir.is_attribute(method):
            return [statement]
        if ir.value_of(method.args[1]) != "copy" or not ranks.is_array(method.args[0]):
            return [statement]
        return [attrs.evolve(statement, call=ir.call(arrays.copied, method.args[0]))]

    return _rewritten(program, with_copy, {}, (getattr,))


#: What indices are made with.
_OF_INDICES: Final = (runtime.make_tuple, slice, operator.add, operator.sub, operator.mul)


def _with_common_indices(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program that computes an index once in a block."""
    atoms: dict[ir.Atom, ir.Atom] = {}
    variables: dict[Any, ir.Variable] = {}
    homes = {v: i for i, block in enumerate(program.blocks) for v in block.defined}

    def once(statement: ir.Statement) -> list[ir.Statement]:
        v, call = statement.variable, statement.call
        if statement.function in _OF_INDICES and all(map(ranks.is_index, call.args)):
            parts = [atoms.get(x, x) for x in call.args]
            names = [x if isinstance(x, ir.Variable) else repr(x) for x in parts]
            key = (homes[v], statement.function, *names)
            if key in variables and v.name is None:
                atoms[v] = variables[key]
                return []
            variables.setdefault(key, v)
        return [statement]

    return _rewritten(program, once, atoms)


def _with_changes(program: ir.IR, arguments: tuple[Kind, ...], *, is_cautious: bool) -> ir.IR:
    """Return a program with those augmented assignments expanded that change arrays.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        is_cautious: whether functions of unknown effect may change arrays, too.
    """
    ranks = Ranks(program, arguments)
    changed: dict[ir.Atom, ir.Atom] = {}
    augmented = ir.function(runtime.augmented)

    def change(statement: ir.Statement) -> list[ir.Statement]:
        call = statement.call
        if statement.function not in runtime.AUGMENTING:
            return [statement]
        if ranks.is_array(call.args[1]):
            changed[statement.variable] = array = call.args[1]
            result, fitting = ir.Variable(0), ir.Variable(0)
            calls = {
                result: ir.Call(call.args[0], call.args[1:]),
                fitting: ir.call(runtime.fitting, result, array, array),
                ir.Variable(0): ir.call(runtime.exchange, array, ir.literal(...), fitting),
            }
            return [ir.Statement(v, c, statement.line) for v, c in calls.items()]
        function = augmented if is_cautious else call.function
        return [attrs.evolve(statement, call=attrs.evolve(call, function=function))]

    return _rewritten(program, change, changed)


def _without_fitting(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program without checks that real numbers fit into real arrays."""

    def fits(result: ir.Atom, array: ir.Atom, place: ir.Atom) -> bool:
        has_axes = ranks.kind_of(result).axes == ranks.kind_of(place).axes
        return has_axes and all(map(ranks.is_real, (result, array, place)))

    results: dict[ir.Atom, ir.Atom] = {
        s.variable: s.call.args[0]
        for s in program.statements
        if s.function is runtime.fitting and fits(*s.call.args)
    }
    return _rewritten(program, lambda s: [] if s.variable in results else [s], results)
