"""Masking of unselected operands: they are replaced by harmless values before differentiation.

In ``np.where(x > 0, np.sqrt(x), 0.0)`` the root is not selected at 0, where its slope is infinite.
So the program becomes ``np.where(x > 0, np.sqrt(chosen(x, x > 0, 0.5)), 0.0)``. Its value is the
same, and its derivatives of all orders are those of the selected values.

All elementwise functions get such operands, from a selection back to the beginning of its block or
to the last change of an array. A value that is also used elsewhere is left as it is.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.adjoint import aliases, cotangents
from tinyjax.source.adjoint.kinds import INERT, Kind, infer
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.ir import analysis, assembly, program as ir, runtime

# What programs call


def chosen(x: Any, mask: Any, other: Any) -> Any:
    """Select a number or an array where a mask holds, else another, without a derivative."""
    if isinstance(mask, (bool, np.bool_)) and isinstance(x, float):
        return x if mask else other
    library: Any = jnp if isinstance(x, Array) or isinstance(mask, Array) else np
    if type(x) in (int, float):
        if library is np and not np.any(mask):
            return other if isinstance(x, float) else 1
        # it stays a number, for the type of what is computed with it
        return x if x and math.isfinite(x) else library.where(mask, x, other)
    if not cotangents.is_differentiable(x):
        if not hasattr(x, "dtype") or not dtypes.is_integer(x.dtype):
            return x
        other = 1
    return library.where(cotangents.fitted(mask, np.shape(x)), x, other)[()]


@registry.adjoint_of(chosen)
def chosen_adjoint(ct: Any, y: Any, x: Any, mask: Any, other: Any) -> Any:
    """Return the cotangents of the arguments of chosen."""
    return cotangents.reduce_to(cotangents.masked(ct, y, mask), x), None, None


def fixed(x: Any) -> Any:
    """Return a value without a derivative."""
    return x


def holds(condition: Any) -> Any:
    """Return the mask of the elements where a selection takes its second argument."""
    return (np.asarray(condition) if isinstance(condition, (list, tuple)) else condition) != 0


def fails(condition: Any) -> Any:
    """Return the mask of the elements where a selection takes its third argument."""
    return (np.asarray(condition) if isinstance(condition, (list, tuple)) else condition) == 0


def of_item(mask: Any, items: Any, index: int) -> Any:
    """Return the part of a mask that belongs to one item of nested lists."""
    return cotangents.fitted(mask, arrays.nested_shape(items))[index]


registry.inert.update((fixed, holds, fails, of_item, cotangents.fitted))

# What is known of functions


_WHERES: Final = frozenset((np.where, jnp.where))
#: Functions that choose one of their arguments by comparing them.
_EXTREMES: Final = facts.CHOOSING | {getattr(jnp, f.__name__) for f in facts.CHOOSING}
_DISPLAYS: Final = frozenset((runtime.make_list, runtime.make_tuple))
#: What makes an array of a display.
_ARRAYS: Final = frozenset((np.array, np.asarray, jnp.array, jnp.asarray))
#: Functions whose derivatives are not harmless at a half.
_AT_TWO: Final = frozenset(("acosh", "arccosh"))
_HALF: Final = ir.literal(0.5)
_TWO: Final = ir.literal(2.0)


def _is_where(call: ir.Call) -> bool:
    """Return whether a call chooses by its first argument."""
    return len(call.args) == 3 and runtime.is_in(ir.value_of(call.function), _WHERES)


def _is_choice(call: ir.Call) -> bool:
    """Return whether a call chooses among its arguments, element by element."""
    is_extreme = runtime.is_in(ir.value_of(call.function), _EXTREMES) and not call.keywords
    return is_extreme or _is_where(call)


def _is_shown(call: ir.Call) -> bool:
    """Return whether a call only puts its arguments together, to be chosen among as an array."""
    function = ir.value_of(call.function)
    is_array = len(call.args) == 1 and runtime.is_in(function, _ARRAYS)
    return is_array or runtime.is_in(function, _DISPLAYS)


def _carries(call: ir.Call) -> bool:
    """Return whether the arguments of a call are taken where its result is."""
    function = ir.value_of(call.function)
    if call.keywords or function is None:
        return False
    return _is_choice(call) or _is_shown(call) or registry.is_elementwise(function)


def _multiplied(call: ir.Call, active: Callable[[ir.Atom], bool]) -> Sequence[bool]:
    """Return the mask of arguments that an elementwise function's derivatives depend on."""
    function = ir.value_of(call.function)
    rule = registry.rule_of(function)
    if rule is None or not rule.formulas:
        rule = registry.rule_of(getattr(np, function.__name__, None))
    if rule is None or len(rule.formulas) != len(call.args):
        return [True for _ in call.args]
    pairs = zip(rule.formulas, call.args, strict=True)
    names = re.findall(r"\w+", " ".join([text for text, x in pairs if text and active(x)]))
    return ["y" in names or name in names for name in rule.parameters]


def _is_regular(x: ir.Atom) -> bool:
    """Return whether it is a number that nothing becomes infinite by."""
    value = ir.value_of(x)
    return isinstance(value, (int, float)) and bool(value) and math.isfinite(value)


# Programs


#: The variable of a program that says which elements are taken; None where all are.
Mask: TypeAlias = ir.Variable | None


def with_harmless_operands(
    program: ir.IR, arguments: tuple[Kind, ...], *, is_cautious: bool = False
) -> ir.IR:
    """Return a program that computes unselected values from harmless operands.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        is_cautious: whether functions that are called may change their arguments.
    """
    if not any(_is_choice(s.call) for s in program.statements):
        return program
    kinds = infer(program, arguments)
    live = analysis.liveness(program.blocks).exit
    blocks: list[ir.Block] = []
    for block, after in zip(program.blocks, live, strict=True):
        statements: list[ir.Statement] = []
        for part, needed in _parts(block, after, is_cautious=is_cautious):
            statements += _Chooser(part, needed, kinds).block().statements
        blocks.append(attrs.evolve(block, statements=tuple(statements)))
    return assembly.assembled(program.name, tuple(blocks), program.filename)


def _parts(
    block: ir.Block, live: Iterable[ir.Variable], *, is_cautious: bool
) -> list[tuple[ir.Block, set[ir.Variable]]]:
    """Split a block where it may change arrays, which changes earlier values.

    Returns:
        The parts, each with the variables that are used after it.
    """
    parts: list[tuple[ir.Block, set[ir.Variable]]] = []
    needed, end, exits = {*live}, len(block.statements), block.exits
    for place in range(end - 1, -1, -1):
        if place == 0 or aliases.may_change(block.statements[place].call, is_cautious=is_cautious):
            part = ir.Block((), block.statements[place:end], exits)
            parts.append((part, needed))
            needed, end, exits = needed.union(part.uses), place, ()
    return parts[::-1]


class _Chooser:
    """Writes a block anew.

    Args:
        block: the block.
        live: the variables that blocks after it use.
        kinds: the kinds of the program's variables.
    """

    def __init__(
        self, block: ir.Block, live: Iterable[ir.Variable], kinds: dict[ir.Variable, Kind]
    ) -> None:
        self._block = block
        self._kinds = kinds
        self._statements: list[ir.Statement] = []
        #: Statements that are emitted only if something uses them.
        self._optional: set[ir.Variable] = set()
        #: Calls that are emitted once: of masks, and of selections by them.
        self._emitted: dict[tuple[Any, ...], ir.Variable] = {}
        #: The mask and the condition that a mask is made of, and whether the condition holds.
        self._parts: dict[Mask, tuple[Mask, ir.Atom, bool]] = {}
        self._needed: set[ir.Variable] = {*live, *block.used_at_end}
        #: Values that count wherever they are, as something else is computed of them.
        self._bare: set[ir.Variable] = {*self._needed}
        shown = {s.variable for s in block.statements if _is_shown(s.call)}
        for statement in reversed(block.statements):
            variable, call = statement.variable, statement.call
            if not self._active(variable):
                continue
            if not _carries(call) or (variable in self._bare and not _is_choice(call)):
                self._bare.update(call.variables)
            elif not _is_choice(call) and not _is_shown(call):
                self._bare.update(shown.intersection(call.variables))

    def block(self) -> ir.Block:
        """Write it."""
        for place, statement in enumerate(self._block.statements):
            variable = statement.variable
            is_root = variable in self._bare and self._active(variable)
            if is_root and _is_choice(statement.call):
                self._root(statement, self._block.statements[:place])
            else:
                self._statements.append(statement)
        statements = []
        for statement in reversed(self._statements):
            if statement.variable in self._needed or statement.variable not in self._optional:
                statements.append(statement)
                self._needed.update(statement.call.variables)
        return attrs.evolve(self._block, statements=tuple(statements[::-1]))

    def _active(self, x: ir.Atom) -> bool:
        return isinstance(x, ir.Variable) and self._kinds.get(x, INERT).active

    def _root(self, root: ir.Statement, before: Sequence[ir.Statement]) -> None:
        """Write a selection that always counts, and the statements only selections depend on."""
        values = {root.variable: root.variable}
        if not _is_where(root.call):  # what is chosen is known when all are
            values[root.variable] = self._emit(root.call, root.line)
        masks: dict[ir.Atom, list[Mask]] = {root.variable: [None]}
        tree: list[tuple[ir.Statement, Sequence[Mask]]] = []
        for statement in (root, *reversed(before)):
            v, call = statement.variable, statement.call
            inside = v in masks and v not in self._bare and self._active(v) and _carries(call)
            if inside or statement is root:
                masks_in = self._of_arguments(call, values.get(v, v), self._either(masks[v]))
                tree.append((statement, masks_in))
                for x, mask in zip(call.args[-len(masks_in) :], masks_in, strict=True):
                    masks.setdefault(x, []).append(mask)
        names: dict[ir.Atom, ir.Atom] = {}
        for statement, masks_in in reversed(tree):
            v, call = statement.variable, statement.call
            args = self._harmless(call, [names.get(x, x) for x in call.args], masks_in)
            if statement is root:
                self._statements.append(attrs.evolve(root, call=attrs.evolve(call, args=args)))
            elif args != call.args:
                names[v] = self._emit(ir.Call(call.function, args), statement.line, v.name)
                self._optional.add(v)

    def _of_arguments(self, call: ir.Call, value: ir.Variable, mask: Mask) -> Sequence[Mask]:
        """Return the masks of a call's arguments, without its condition, from that of its result.

        Args:
            call: the call.
            value: its result.
            mask: the mask of its result.
        """
        args = call.args
        if _is_choice(call):
            if _is_where(call):
                return [self._and(mask, args[0], is_first) for is_first in (True, False)]
            equal = [self._once(operator.eq, value, x) for x in args]
            return [self._and(mask, x, True) for x in equal]
        if ir.value_of(call.function) in _DISPLAYS and mask is not None:
            return [self._once(of_item, mask, value, ir.literal(i)) for i in range(len(args))]
        return [mask] * len(args)

    def _harmless(
        self, call: ir.Call, args: Sequence[ir.Atom], masks: Sequence[Mask]
    ) -> tuple[ir.Atom, ...]:
        """Return arguments for a call that are harmless where, by their masks, none is taken."""
        if _is_where(call):
            return (call.args[0], *args[1:])
        if _is_shown(call):
            return tuple(args)
        others: list[ir.Atom | None]
        if _is_choice(call):  # it compares them once more
            pairs = zip(args, call.args, strict=True)
            others = [None if x is before else self._once(fixed, before) for x, before in pairs]
        else:
            at = _TWO if ir.value_of(call.function).__name__ in _AT_TWO else _HALF
            depends = zip(args, _multiplied(call, self._active), strict=True)
            others = [at if of_x and not _is_regular(x) else None for x, of_x in depends]
        return tuple(
            [
                x if mask is None or other is None else self._once(chosen, x, mask, other)
                for x, mask, other in zip(args, masks, others, strict=True)
            ]
        )

    def _and(self, mask: Mask, condition: ir.Atom, is_first: bool) -> ir.Variable:
        """Return where a mask holds, and a condition holds, or does not."""
        both = self._once(holds if is_first else fails, condition)
        if mask is not None:
            both = self._once(operator.and_, mask, both)
        self._parts[both] = (mask, condition, is_first)
        return both

    def _either(self, masks: Iterable[Mask]) -> Mask:
        """Return where one of several masks holds."""
        several: dict[Mask, None] = {}
        for mask in masks:
            self._join(several, mask)
        some = [mask for mask in several if mask is not None]
        if len(some) < len(several):
            return None
        return reduce(lambda x, y: self._once(operator.or_, x, y), some)

    def _join(self, several: dict[Mask, None], mask: Mask) -> None:
        """Add a mask to several; replace the two masks of a selection's cases by their union."""
        if mask in self._parts:
            outer, condition, is_first = self._parts[mask]
            other = self._and(outer, condition, not is_first)
            if other in several:
                del several[other]
                self._join(several, outer)
                return
        several[mask] = None

    def _once(self, function: Callable[..., Any], *args: ir.Atom) -> ir.Variable:
        """Write a call, unless it was emitted before."""
        key = (function, *args)
        if key not in self._emitted:
            self._emitted[key] = self._emit(ir.call(function, *args))
        return self._emitted[key]

    def _emit(self, call: ir.Call, line: int = 0, name: str | None = None) -> ir.Variable:
        variable = ir.Variable(0, name)
        self._statements.append(ir.Statement(variable, call, line))
        self._optional.add(variable)
        return variable
