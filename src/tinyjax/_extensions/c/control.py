"""Branches and loops: of C, so that only what is taken is computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tinyjax._extensions.c import rules, syntax
from tinyjax._extensions.c.rules import C
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CBlock, CBuffer, CValue, Storage, Writer, bare
from tinyjax.core.control_flow.primitives import cond_p, scan_p, while_p
from tinyjax.core.tracing import jaxpr as jx


def _declared(w: Writer, x: CValue, name: str = "") -> Storage:
    """Return the place of a value that changes: a variable for one element, or an array."""
    if x.size != 1:
        return Storage(w.buffer(x.shape, x.dtype, name), x.shape)
    return Storage(w.variable(x.dtype, name), x.shape)


def _set(w: Writer, storage: Storage, x: CValue, declares: bool = False) -> None:
    if not x.size:
        return
    if storage.buffer.is_variable:
        ctype = f"{syntax.c_type(x.dtype)} " * declares
        w.line(f"{ctype}{storage.buffer.name} = {bare(x.first())};", w.filled(storage))
    else:
        w.stored(x, storage)
        w.close()


@cond_p.def_rule(C)
def _cond(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    chosen, branches = operands[0], eqn.params.branches
    chosen = chosen if len(branches) == 2 else w.cheap(chosen)
    values = [w.cheap(x) for x in operands[1:]]
    outs = []
    for i, x in enumerate(eqn.out_binders):
        shape, dtype = rules.shape_of(x.aval), rules.dtype_of(x.aval)
        target = w.targets.get(i)
        blank = CValue(shape, dtype, lambda index: "")
        outs.append(_declared(w, blank) if target is None else target)
        if outs[-1].buffer.is_variable:
            w.line(f"{syntax.c_type(dtype)} {outs[-1].buffer.name};", w.filled(outs[-1]))
    if len(branches) == 2:
        branches = branches[::-1]
    for i, branch in enumerate(branches):
        text = bare(chosen.first())
        test = text.removeprefix("(int32_t)") if len(branches) == 2 else f"{text} == {i}"
        head = f"{'else ' * (i > 0)}if ({bare(test)})" if i < len(branches) - 1 else "else"
        with w.inside(head if len(branches) > 1 else ""):
            targets = {j: out for j, out in enumerate(outs) if not out.buffer.is_variable}
            results = rules.write_program(w, branch, values, targets)
            for out, value in zip(outs, results, strict=True):
                if value.storage is not out:
                    _set(w, out, value)
    return [w.value(out) for out in outs]


class _Carry:
    """The values that a loop carries, each in a place of its own."""

    def __init__(self, w: Writer, values: Sequence[CValue], names: Sequence[str]) -> None:
        self._w = w
        values = [w.cheap(x) for x in values]
        self.places = [_declared(w, x, name) for x, name in zip(values, names, strict=True)]
        for place in self.places:
            place.buffer.is_kept = True
        for place, x in zip(self.places, values, strict=True):
            _set(w, place, x, declares=True)

    @property
    def values(self) -> list[CValue]:
        return [self._w.value(place) for place in self.places]

    def own(self, block: CBlock) -> None:
        """Let a block write to the arrays again."""
        for place in self.places:
            place.buffer.block = block

    def update(self, values: Sequence[CValue]) -> None:
        """Write the next values: those that read others of the old ones aside, first."""
        w = self._w
        old: frozenset[CBuffer] = frozenset([place.buffer for place in self.places])
        ready = []
        for place, x in zip(self.places, values, strict=True):
            is_there = x.storage is not None and x.storage.buffer is place.buffer
            if is_there or not x.reads & old:
                ready.append(x)
            elif x.size == 1:
                name = w.variable(x.dtype, f"next_{place.buffer.name}").name
                w.line(f"const {syntax.c_type(x.dtype)} {name} = {bare(x.first())};", name)
                ready.append(rules.named(name, x.shape, x.dtype))
            else:
                ready.append(w.stored(x, Storage(w.buffer(x.shape, x.dtype), x.shape)))
        w.close()  # what reads the old values is written before they change
        for place, x in zip(self.places, ready, strict=True):
            if x.storage is None or x.storage.buffer is not place.buffer:
                _set(w, place, x)


@while_p.def_rule(C)
def _while(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, n = eqn.params, eqn.params.num_condition + eqn.params.num_body
    fixed = [w.cheap(x) for x in operands[:n]]
    outer, source = w.block, w.source
    carry = _Carry(w, operands[n:], [w.name] * (len(operands) - n))
    with w.inside("for (;;)", repeats=True) as block:
        carry.own(block)
        tested = [*fixed[: params.num_condition], *carry.values]
        (goes_on,) = rules.write_program(w, params.condition, tested)
        w.source = source
        w.line(f"if (!({bare(goes_on.first())})) break;")
        values = [*fixed[params.num_condition :], *carry.values]
        carry.update(rules.write_program(w, params.body, values))
    carry.own(outer)
    return carry.values


@scan_p.def_rule(C)
def _scan(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, n, m = eqn.params, eqn.params.num_consts, eqn.params.num_carry
    fixed, inputs = ([w.cheap(x) for x in part] for part in (operands[:n], operands[n + m :]))
    outer, name = w.block, w.name
    stacks = []
    for i, x in enumerate(eqn.out_binders[m:]):
        shape, dtype = rules.shape_of(x.aval), rules.dtype_of(x.aval)
        target = w.targets.get(m + i)
        buffer_name = f"{name}_all" if name else ""
        stacks.append(
            Storage(w.buffer(shape, dtype, buffer_name), shape) if target is None else target
        )
    if not params.length:
        return [*operands[n : n + m], *[w.value(stack) for stack in stacks]]
    carry = _Carry(w, operands[n : n + m], [name] * m)
    with w.loop(params.length, "t") as t:
        step = t * -1 + (params.length - 1) if params.reverse else t
        carry.own(w.block)
        rows = [_row(w, x, step) for x in inputs]
        slots = [_slot(stack, step) for stack in stacks]
        targets = {m + i: slot for i, slot in enumerate(slots)}
        results = rules.write_program(w, params.jaxpr, [*fixed, *carry.values, *rows], targets)
        for slot, row in zip(slots, results[m:], strict=True):
            if row.storage is not slot and row.size:
                w.stored(row, slot)
        w.close()
        carry.update(results[:m])
    carry.own(outer)
    return [*carry.values, *[w.value(stack) for stack in stacks]]


def _slot(stack: Storage, step: Index) -> Storage:
    """Return the place of a row in a stack."""
    shape = stack.shape[1:]
    return Storage(stack.buffer, shape, step * prod(shape) + stack.offset)


def _row(w: Writer, x: CValue, step: Index) -> CValue:
    if x.storage is not None:
        return w.value(_slot(x.storage, step))
    return x.indexed(x.shape[1:], lambda index: [step, *index])
