"""Rewriting of programs of arrays before they are differentiated.

Augmented assignments that change arrays become assignments to items. Loops over several arrays
together take items of each. Equal indices are computed once.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any, Final

import attrs

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
    has_arrays = any(kind.is_array for kind in arguments) or runtime.exchange in functions
    if has_arrays and functions & _TOGETHER.keys() and runtime.items_of in functions:
        program = _with_direct_items(program, Ranks(program, arguments))
    if is_cautious or not functions.isdisjoint(WRITING):
        program = _taken_apart(program)
    if not has_arrays:
        return program
    program = _with_copies(program, Ranks(program, arguments))
    ranks = Ranks(program, arguments)
    if any(map(ranks.is_array, [v for block in program.blocks for v in block.defined])):
        program = _with_common_indices(program, ranks)
    if runtime.fitting in functions or runtime.updated in functions:
        program = _without_fitting(program, Ranks(program, arguments))
    return program


def _replaced(program: ir.IR, blocks: list[ir.Block], atoms: dict[ir.Atom, ir.Atom]) -> ir.IR:
    """Return a program of other blocks, in which values are replaced by others."""

    def replace(atom: ir.Atom) -> ir.Atom:
        while atom in atoms:
            atom = atoms[atom]
        return atom

    results = tuple([block.map(replace) for block in blocks])
    return assembly.assembled(program.name, results, program.filename)


def _without_unused(blocks: list[ir.Block], functions: tuple[Any, ...]) -> list[ir.Block]:
    """Return blocks without calls of these functions whose results nothing uses."""
    uses = {v for block in blocks for v in block.uses}
    return [
        attrs.evolve(
            block,
            statements=tuple(
                [s for s in block.statements if s.variable in uses or s.function not in functions]
            ),
        )
        for block in blocks
    ]


def _taken_apart(program: ir.IR) -> ir.IR:
    """Return a program that takes items of what it takes apart, of which an array's are views."""
    items: dict[ir.Atom, ir.Variable] = {}

    def parts(statement: ir.Statement) -> list[ir.Statement]:
        call = statement.call
        if statement.function is runtime.unpacked_star:
            check = ir.Call(ir.function(runtime.check_container), call.args[:1])
            return [ir.Statement(ir.Variable(0), check, statement.line), statement]
        if statement.function is runtime.unpacked:
            of_all = items[statement.variable] = ir.Variable(0)
            taken = ir.Call(ir.function(runtime.items_of), call.args[:1])
            counted = ir.Call(call.function, (of_all, *call.args[1:]))
            return [
                ir.Statement(of_all, taken, statement.line),
                attrs.evolve(statement, call=counted),
            ]
        if statement.function is operator.getitem and call.args[0] in items:
            return [attrs.evolve(statement, call=call.map(lambda x: items.get(x, x)))]
        return [statement]

    blocks = [
        attrs.evolve(b, statements=tuple([s for old in b.statements for s in parts(old)]))
        for b in program.blocks
    ]
    return _replaced(program, blocks, {})


#: What goes through several sequences together: the position of the first in its arguments' items.
_TOGETHER: Final[dict[Any, int]] = {builtins.zip: 0, builtins.enumerate: 1}


def _with_direct_items(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program whose loops over arrays together take items of each array.

    As Python's loops do, they see values that are written to the arrays meanwhile.
    """
    calls = {s.variable: s.call for s in program.statements}

    def call_of(atom: ir.Atom, *functions: Any) -> ir.Call | None:
        call = calls.get(atom) if isinstance(atom, ir.Variable) else None
        return call if call is not None and ir.value_of(call.function) in functions else None

    def direct(statement: ir.Statement) -> ir.Call | ir.Atom | None:
        """Return the item of an array, or the count, that a statement takes."""
        taken = call_of(statement.variable, operator.getitem)
        several = taken and call_of(taken.args[0], runtime.unpacked)
        item = several and call_of(several.args[0], operator.getitem)
        items = item and call_of(item.args[0], runtime.items_of)
        together = items and call_of(items.args[0], *_TOGETHER)
        if taken is None or item is None or together is None:
            return None
        place, index = ir.value_of(taken.args[1]), item.args[1]
        first = _TOGETHER[ir.value_of(together.function)]
        counts_otherwise = first and (len(together.args) != 1 or together.keywords)
        if not isinstance(place, int) or counts_otherwise:
            return None
        if place < first:
            return index
        array = together.args[place - first]
        return ir.Call(taken.function, (array, index)) if ranks.is_array(array) else None

    atoms: dict[ir.Atom, ir.Atom] = {}
    blocks: list[ir.Block] = []
    for block in program.blocks:
        statements: list[ir.Statement] = []
        for statement in block.statements:
            item = direct(statement)
            if isinstance(item, ir.Call):
                statements.append(attrs.evolve(statement, call=item))
            elif item is not None:
                atoms[statement.variable] = item
            else:
                statements.append(statement)
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    apart = (runtime.unpacked, operator.getitem)
    for _ in apart:  # an item is taken apart, and the item is one of all
        blocks = _without_unused(blocks, apart)
    return _replaced(program, blocks, atoms)


def _with_copies(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program that calls a function where another calls ``a.copy()`` of an array."""
    calls = {s.variable: s.call for s in program.statements}

    def with_copy(statement: ir.Statement) -> ir.Statement:
        call = statement.call
        method = calls.get(call.function) if isinstance(call.function, ir.Variable) else None
        if method is None or call.args or call.keywords or not ir.is_attribute(method):
            return statement
        if ir.value_of(method.args[1]) != "copy" or not ranks.is_array(method.args[0]):
            return statement
        copied = ir.Call(ir.function(arrays.copied), (method.args[0],))
        return attrs.evolve(statement, call=copied)

    blocks = [
        attrs.evolve(block, statements=tuple(map(with_copy, block.statements)))
        for block in program.blocks
    ]
    return _replaced(program, _without_unused(blocks, (getattr,)), {})


#: What indices are made with.
_OF_INDICES: Final = (runtime.make_tuple, slice, operator.add, operator.sub, operator.mul)


def _with_common_indices(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program that computes an index once in a block."""
    atoms: dict[ir.Atom, ir.Atom] = {}
    blocks: list[ir.Block] = []
    for block in program.blocks:
        variables: dict[Any, ir.Variable] = {}
        statements: list[ir.Statement] = []
        for statement in block.statements:
            call = statement.call
            if statement.function in _OF_INDICES and all(map(ranks.is_index, call.args)):
                parts = [atoms.get(x, x) for x in call.args]
                key = (
                    statement.function,
                    *[x if isinstance(x, ir.Variable) else repr(x) for x in parts],
                )
                if key in variables and statement.variable.name is None:
                    atoms[statement.variable] = variables[key]
                    continue
                variables.setdefault(key, statement.variable)
            statements.append(statement)
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    return _replaced(program, blocks, atoms) if atoms else program


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
    blocks: list[ir.Block] = []
    for block in program.blocks:
        statements: list[ir.Statement] = []
        for statement in block.statements:
            call = statement.call
            if statement.function not in runtime.AUGMENTING:
                statements.append(statement)
            elif ranks.is_array(call.args[1]):
                changed[statement.variable] = array = call.args[1]
                result, fitting = ir.Variable(0), ir.Variable(0)
                whole = (array, ir.literal(...), fitting)
                calls = {
                    result: ir.Call(call.args[0], call.args[1:]),
                    fitting: ir.Call(ir.function(runtime.fitting), (result, array)),
                    ir.Variable(0): ir.Call(ir.function(runtime.exchange), whole),
                }
                statements += [ir.Statement(v, c, statement.line) for v, c in calls.items()]
            elif is_cautious:
                statements.append(
                    attrs.evolve(statement, call=attrs.evolve(call, function=augmented))
                )
            else:
                statements.append(statement)
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    return _replaced(program, blocks, changed)


def _without_fitting(program: ir.IR, ranks: Ranks) -> ir.IR:
    """Return a program without checks that real numbers fit into real arrays."""
    results: dict[ir.Atom, ir.Atom] = {
        s.variable: s.call.args[0]
        for s in program.statements
        if s.function is runtime.fitting and all(map(ranks.is_real, s.call.args))
    }
    if not results:
        return program
    blocks = [
        attrs.evolve(b, statements=tuple([s for s in b.statements if s.variable not in results]))
        for b in program.blocks
    ]
    return _replaced(program, blocks, results)
