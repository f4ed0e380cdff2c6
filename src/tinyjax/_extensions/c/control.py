"""Branches and loops: of C, so that only what is taken is computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import prod

import attrs

from tinyjax._extensions.c import rules, syntax
from tinyjax._extensions.c.rules import C
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CBlock, CBuffer, CValue, Storage, Writer, bare
from tinyjax._extensions.host import simplify
from tinyjax.core.control_flow.primitives import WhileParams, cond_p, scan_p, while_p
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.tracing import jaxpr as jx, program_rules
from tinyjax.core.values import operands as opd
from tinyjax.core.xla import updates


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


def _origin(program: jx.Jaxpr, x: jx.Atom) -> int | None:
    """Return the number of the parameter that a result is an update of; None where it is none."""
    makers = {out: eqn for eqn in program.eqns for out in eqn.out_binders}
    while isinstance(x, jx.Var) and x in makers:
        eqn, source = makers[x], None
        i = eqn.out_binders.index(x)
        if rules.is_update(eqn):
            source = eqn.inputs[0]
        elif program_rules.STATE in eqn.primitive.rules.extensions:
            parts, _ = eqn.primitive.rule(program_rules.STATE)(eqn)
            source = next((eqn.inputs[part.operand] for part in parts if part.result == i), None)
        elif eqn.primitive is cond_p:
            k = _origins(eqn)[i]
            source = None if k is None else eqn.inputs[1 + k]
        if source is None:
            return None
        x = source
    return program.in_binders.index(x) if x in program.in_binders else None


def _origins(eqn: jx.JaxprEqn) -> list[int | None]:
    """Return for each result of branches the number of the operand that it is an update of."""
    programs = [
        updates.with_sums_in_place(simplify.with_calls_inlined(x)) for x in eqn.params.branches
    ]
    found = [{_origin(p, p.outs[i]) for p in programs} for i in range(len(eqn.out_binders))]
    numbers = [[k for k in numbers if k is not None] for numbers in found]
    return [ks[0] if len(ks) == 1 else None for ks in numbers]


@cond_p.def_rule(C)
def _cond(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    chosen, branches = operands[0], eqn.params.branches
    chosen = chosen if len(branches) == 2 else w.cheap(chosen)
    values = [w.cheap(x) for x in operands[1:]]
    outs: list[Storage] = []
    buffers: list[CBuffer] = []
    for i, (x, k) in enumerate(zip(eqn.out_binders, _origins(eqn), strict=True)):
        shape, dtype = rules.shape_of(x.aval), rules.dtype_of(x.aval)
        blank = CValue(shape, dtype, lambda index: "")
        target, others = w.targets.get(i), [y for j, y in enumerate(values) if j != k]
        own = blank if k is None or target is not None else values[k]
        place = own.storage
        if place and place.buffer not in buffers and w.may_overwrite(own, others):
            buffers.append(place.buffer)
            outs.append(place)
            continue
        outs.append(_declared(w, blank) if target is None else target)
        if outs[-1].buffer.is_variable:
            w.line(f"{syntax.c_type(dtype)} {outs[-1].buffer.name};", w.filled(outs[-1]))
    if len(branches) == 2:
        branches = branches[::-1]
    for i, branch in enumerate(branches):
        text = bare(chosen.first())
        test = text.removeprefix("(int32_t)") if len(branches) == 2 else f"{text} == {i}"
        head = f"{'else ' * (i > 0)}if ({bare(test)})" if i < len(branches) - 1 else "else"
        with w.inside(head if len(branches) > 1 else "") as block, owned(block, buffers):
            targets = {
                j: out
                for j, out in enumerate(outs)
                if not out.buffer.is_variable and out.buffer not in buffers
            }
            _update(w, outs, rules.write_program(w, branch, values, targets))
    return [w.value(out) for out in outs]


@contextmanager
def owned(block: CBlock, buffers: Sequence[CBuffer]) -> Iterator[None]:
    """Let a block write to buffers."""
    before = [buffer.block for buffer in buffers]
    for buffer in buffers:
        buffer.block = block
    yield
    for buffer, outer in zip(buffers, before, strict=True):
        buffer.block = outer


def _update(w: Writer, places: Sequence[Storage], values: Sequence[CValue]) -> None:
    """Write values to places: those that read others of what is there aside, first."""
    old: frozenset[CBuffer] = frozenset([place.buffer for place in places])
    ready = []
    for place, x in zip(places, values, strict=True):
        own = x.reads & old <= {place.buffer} and w.is_aligned(x, place)
        if own or not x.size:
            ready.append(x)
        elif x.size == 1:
            name = w.variable(x.dtype, f"next_{place.buffer.name}").name
            w.line(f"const {syntax.c_type(x.dtype)} {name} = {bare(x.first())};", name)
            ready.append(rules.named(name, x.shape, x.dtype))
        else:
            ready.append(w.stored(x, Storage(w.buffer(x.shape, x.dtype), x.shape)))
    w.close()  # what reads the old values is written before they change
    for place, x in zip(places, ready, strict=True):
        if x.storage is None or (x.storage.buffer, x.storage.offset) != (
            place.buffer,
            place.offset,
        ):
            _set(w, place, x)
    w.close()


class _Carry:
    """The values that a loop carries, each in a place of its own, which may be an operand's."""

    def __init__(
        self, w: Writer, values: Sequence[CValue], names: Sequence[str], others: Sequence[CValue]
    ) -> None:
        self._w = w
        values = [w.cheap(x) for x in values]
        self.places: list[Storage] = []
        starts = []
        for i, (x, name) in enumerate(zip(values, names, strict=True)):
            rest = [*others, *values[:i], *values[i + 1 :]]
            if x.storage is not None and x.size > 1 and w.may_overwrite(x, rest):
                self.places.append(x.storage)
            else:
                target = w.targets.get(i)
                is_result = target is not None and target.buffer.is_kept and x.size > 1
                self.places.append(target if target and is_result else _declared(w, x, name))
                starts.append((self.places[-1], x))
            buffer = self.places[-1].buffer
            if not buffer.is_kept:
                w.carried.add(buffer.name)
            buffer.is_kept = True
        for place, x in starts:
            _set(w, place, x, declares=True)

    @property
    def buffers(self) -> list[CBuffer]:
        return [place.buffer for place in self.places]

    @property
    def values(self) -> list[CValue]:
        return [self._w.value(place) for place in self.places]


def _counter(params: WhileParams, operands: Sequence[CValue]) -> tuple[int, Index] | None:
    """Return the number of the counter of a loop, and its bounds where the body is; None for none.

    A counter grows by one from a known index while it is less than another known one.
    """
    condition, body, n = params.condition, params.body, params.num_condition
    (test,) = condition.outs
    made = [eqn for eqn in condition.eqns if eqn.primitive is ew.lt and test in eqn.out_binders]
    if len(made) != 1 or made[0].inputs[0] not in condition.in_binders[n:]:
        return None
    x, bound = made[0].inputs
    k = condition.in_binders.index(x) - n
    step = next((eqn for eqn in body.eqns if body.outs[k] in eqn.out_binders), None)
    if step is None or step.primitive is not ew.add or bound not in condition.in_binders[:n]:
        return None
    parameter = body.in_binders[params.num_body + k]
    other = step.inputs[parameter is step.inputs[0]]
    if not isinstance(other, jx.Lit) or parameter not in step.inputs:
        return None
    if parameter.aval.dtype.kind not in "iu" or opd.first_element(other.value.host) != 1:
        return None
    first = operands[n + params.num_body + k]
    end = operands[condition.in_binders.index(bound)]
    low, high = (syntax.index_of(y.first()) if y.size == 1 else None for y in (first, end))
    if low is None or high is None:
        return None
    return k, Index((), 0, low.least, max(high.most - 1, low.least))


@while_p.def_rule(C)
def _while(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, n = eqn.params, eqn.params.num_condition + eqn.params.num_body
    fixed = [w.cheap(x) for x in operands[:n]]
    source = w.source
    carry = _Carry(w, operands[n:], [w.name] * (len(operands) - n), fixed)
    with w.inside("for (;;)", repeats=True) as block, owned(block, carry.buffers):
        tested = [*fixed[: params.num_condition], *carry.values]
        (goes_on,) = rules.write_program(w, params.condition, tested)
        w.source = source
        w.line(f"if (!({bare(goes_on.first())})) break;")
        values = [*fixed[params.num_condition :], *carry.values]
        counted = _counter(params, [*fixed, *operands[n:]])
        if counted is not None:
            k, index = counted
            name = w.new_name(w.name)
            w.line(f"const int {name} = (int){carry.places[k].buffer.name};", name)
            number = attrs.evolve(index, terms=((name, 1),))
            text, x = syntax.index_text(number, carry.values[k].dtype), carry.values[k]
            assert text is not None, "bounds of a counter are those of indices"
            values[params.num_body + k] = rules.named(text, x.shape, x.dtype)
        _update(w, carry.places, rules.write_program(w, params.body, values))
    return carry.values


@scan_p.def_rule(C)
def _scan(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    params, n, m = eqn.params, eqn.params.num_consts, eqn.params.num_carry
    fixed, inputs = ([w.cheap(x) for x in part] for part in (operands[:n], operands[n + m :]))
    name = w.name
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
    carry = _Carry(w, operands[n : n + m], [name] * m, [*fixed, *inputs])
    with w.loop(params.length, "t") as t, owned(w.block, carry.buffers):
        step = t * -1 + (params.length - 1) if params.reverse else t
        rows = [_row(w, x, step) for x in inputs]
        slots = [_slot(stack, step) for stack in stacks]
        targets = {m + i: slot for i, slot in enumerate(slots)}
        results = rules.write_program(w, params.jaxpr, [*fixed, *carry.values, *rows], targets)
        for slot, row in zip(slots, results[m:], strict=True):
            if row.storage is not slot and row.size:
                w.stored(row, slot)
        w.close()
        _update(w, carry.places, results[:m])
    return [*carry.values, *[w.value(stack) for stack in stacks]]


def _slot(stack: Storage, step: Index) -> Storage:
    """Return the place of a row in a stack."""
    shape = stack.shape[1:]
    return Storage(stack.buffer, shape, step * prod(shape) + stack.offset)


def _row(w: Writer, x: CValue, step: Index) -> CValue:
    if x.storage is not None:
        return w.value(_slot(x.storage, step))
    return x.indexed(x.shape[1:], lambda index: [step, *index])
