"""The key of rules, and programs written equation by equation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import frames
from tinyjax._extensions.c import branches, syntax
from tinyjax._extensions.c.syntax import Index
from tinyjax._extensions.c.writing import CValue, Shape, Storage, ValueScope, Writer
from tinyjax._extensions.host import simplify
from tinyjax.core.api import make_jaxpr
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.values import Array, ShapedArray, operands as opd
from tinyjax.core.xla import updates
from tinyjax.dtypes import HostArray

#: Integers that count are written as such from so many on, as far as C's int goes.
_SHORTEST_COUNT: Final = 3
_LARGEST: Final = 2**30
#: Writes an equation, given the values of its operands; returns those of its results.
CRule: TypeAlias = Callable[[Writer, Sequence[CValue], jx.JaxprEqn], Sequence[CValue]]

#: The rule of a primitive that writes it in C.
C: Final[prim.RuleKey[CRule]] = prim.RuleKey("C")


def shape_of(aval: ShapedArray) -> Shape:
    """Return the shape in C: keys have their two words along a last axis."""
    return (*aval.shape, 2) if dtypes.is_key(aval.dtype) else aval.shape


def dtype_of(aval: ShapedArray) -> dtypes.DType:
    """Return the dtype in C: that of the words for keys."""
    return dtypes.uint32 if dtypes.is_key(aval.dtype) else aval.dtype


def splat(value: Any, shape: Shape, dtype: dtypes.DType) -> CValue:
    """Return a number repeated over a shape."""
    return named(syntax.constant(value, dtype), shape, dtype)


def named(text: str, shape: Shape, dtype: dtypes.DType) -> CValue:
    """Return an expression that is the same for all elements."""
    return CValue(shape, dtype, lambda index: text)


def constant(w: Writer, array: Array, aval: ShapedArray) -> CValue:
    """Return the value of a constant: a number, or a table beside the function."""
    host = array.host if hasattr(array, "host") else array.concrete("data")
    shape, dtype = shape_of(aval), dtype_of(aval)
    host = host.view(dtype).reshape(shape) if dtypes.is_key(aval.dtype) else host
    is_same = dtype.kind == "f" and host.tobytes() == host.ravel()[:1].tobytes() * host.size
    if host.size and (host.size == 1 or not any(host.strides) or is_same):
        return splat(opd.first_element(host), shape, dtype)
    for axis in range(host.ndim if host.size else 0):
        counted = _counted(host, axis)
        if counted is not None:
            return counted
    buffer = w.buffer(shape, dtype, "table")
    buffer.block = None
    del w.buffers[buffer.name]
    if w.sizes_vary and host.size > w.most_unrolled:
        w.tables[buffer.name] = np.ascontiguousarray(host)
        return w.value(Storage(buffer, shape))
    texts = [syntax.constant(x, dtype) for x in host.ravel().tolist()]
    lines = [", ".join(texts[i : i + 6]) for i in range(0, len(texts), 6)]
    head = f"static const {syntax.c_type(dtype)} {buffer.name}[{max(len(texts), 1)}]"
    w.constants[buffer.name] = head + " = {\n    " + ",\n    ".join(lines or ["0"]) + "\n};"
    value = w.value(Storage(buffer, shape)).pinned(texts.__getitem__)
    return attrs.evolve(value, constant=host)


def _counted(host: HostArray, axis: int) -> CValue | None:
    """Return integers that grow by equal steps along an axis, and are equal along the others."""
    line = np.moveaxis(host, axis, -1).reshape(-1, host.shape[axis])[:1]
    if host.dtype.kind not in "iu" or line.size < _SHORTEST_COUNT:
        return None
    if int(line.min()) < -_LARGEST or int(line.max()) > _LARGEST:
        return None
    first, step = int(line[0, 0]), int(line[0, 1]) - int(line[0, 0])
    counted = first + step * np.arange(line.size)
    if not (host == counted.reshape(-1, *[1] * (host.ndim - axis - 1))).all():
        return None
    dtype = host.dtype

    def element(index: Sequence[Index]) -> str:
        place = index[axis] * step + first
        return syntax.index_text(place, dtype) or f"({syntax.c_type(dtype)})({place})"

    return CValue(host.shape, dtype, element)


def write_program(
    w: Writer,
    jaxpr: jx.Jaxpr,
    operands: Sequence[CValue],
    targets: Mapping[int, Storage] | None = None,
) -> list[CValue]:
    """Write a program.

    Args:
        w: the writer.
        jaxpr: the program.
        operands: the values of its parameters.
        targets: where results belong that are not there by themselves, by number.

    Returns:
        The values of its results.
    """
    simplified = simplify.simplify(simplify.with_calls_inlined(jaxpr))
    program = updates.with_sums_in_place(branches.with_sums_in_branches(simplified.program))
    eqns = _ordered(program)
    remaining = Counter(x for eqn in program.eqns for x in eqn.inputs)
    remaining.update(program.outs)
    scope = ValueScope({}, remaining)
    w.scopes.append(scope)
    readers = {x: eqn for eqn in program.eqns for x in eqn.inputs}
    places = {
        program.outs[i]: storage
        for i, storage in (targets or {}).items()
        if program.outs.index(program.outs[i]) == i
    }

    def read(x: jx.Atom) -> CValue:
        if x not in scope.values:
            array = simplify.value_of(x, simplified.constants)
            assert array is not None, "a variable that no equation binds is known"
            scope.values[x] = constant(w, array, x.aval)
        return scope.values[x]

    try:
        for var, operand in zip(program.in_binders, operands, strict=True):
            scope.values[var] = w.settle(operand, remaining[var])
        for eqn in eqns:
            values = [read(x) for x in eqn.inputs]
            remaining.subtract(eqn.inputs)
            line = w.source, w.name = _located(eqn.source)
            w.targets = {i: places[x] for i, x in enumerate(eqn.out_binders) if x in places}
            here = dict(w.targets)
            if any(shape_of(x.aval).count(0) == 0 for x in eqn.out_binders):
                results = write_eqn(w, values, eqn)
            else:  # nothing is to be computed
                results = [splat(0, shape_of(x.aval), dtype_of(x.aval)) for x in eqn.out_binders]
            for i, (var, value) in enumerate(zip(eqn.out_binders, results, strict=True)):
                w.source, w.name = line
                if i in here and value.storage is not here[i] and value.size > 1:
                    scope.values[var] = w.stored(value, here[i])
                else:
                    # what a line of the user's names has this name in other lines
                    reader = readers.get(var, eqn)
                    elsewhere = _line_of(reader.source) != _line_of(eqn.source)
                    uses = remaining[var] + (value.size == 1 and w.name != "" and elsewhere)
                    scope.values[var] = w.settle(value, uses)
            w.targets = {}
        return [read(x) for x in program.outs]
    finally:
        w.scopes.pop()


def is_update(eqn: jx.JaxprEqn) -> bool:
    """Return whether an equation changes some elements of its first operand."""
    marks = eqn.primitive.rules.extensions
    return prim.MATERIALIZES in marks and bool(eqn.primitive.rule(prim.MATERIALIZES)())


def overwritten(eqn: jx.JaxprEqn) -> Sequence[jx.Atom]:
    """Return the operands whose memory results may take: those of updates, loops and branches."""
    if is_update(eqn):
        return eqn.inputs[:1]
    if program_rules.STATE in eqn.primitive.rules.extensions:
        parts, _ = eqn.primitive.rule(program_rules.STATE)(eqn)
        return [eqn.inputs[part.operand] for part in parts]
    return eqn.inputs if program_rules.CHOICE in eqn.primitive.rules.extensions else ()


def _ordered(program: jx.Jaxpr) -> Sequence[jx.JaxprEqn]:
    """Return the equations in an order in which arrays are read before they are changed."""
    changed = {eqn: [x for x in overwritten(eqn) if x.aval.size > 1] for eqn in program.eqns}
    if not any(changed.values()):
        return program.eqns
    readers = Counter(x for eqn in program.eqns for x in {*eqn.inputs})
    missing = {x for eqn in program.eqns for x in eqn.out_binders}
    order: list[jx.JaxprEqn] = []
    waiting: Sequence[jx.JaxprEqn] = program.eqns
    forced: jx.JaxprEqn | None = None
    while waiting:
        postponed: list[jx.JaxprEqn] = []
        for eqn in waiting:
            waits = any(readers[x] > 1 for x in changed[eqn]) and eqn is not forced
            if waits or not missing.isdisjoint(eqn.inputs):
                postponed.append(eqn)
                continue
            order.append(eqn)
            missing.difference_update(eqn.out_binders)
            readers.subtract({*eqn.inputs})
        stuck = len(postponed) == len(waiting)  # what reads the old array needs the new one
        ready = (eqn for eqn in postponed if missing.isdisjoint(eqn.inputs))
        forced = next(ready) if stuck else None
        waiting = postponed
    return order


def _located(source: frames.Source | None) -> tuple[frames.Source | None, str]:
    """Return the line of an equation, and the name that it gives a value."""
    if source is None or not source.location.text:
        return None, ""
    assigned = re.match(r"([A-Za-z_]\w*)\s*(?::[^=]*)?[-+*/@]?=(?!=)", source.location.text)
    return source, assigned[1] if assigned else ""


def _line_of(source: frames.Source | None) -> tuple[str, int] | None:
    return None if source is None else (source.location.filename, source.location.lineno)


def program_in(eqn: jx.JaxprEqn) -> jx.Jaxpr | None:
    """Return the program that an equation stands for, where it is written as one."""
    rules = eqn.primitive.rules.extensions
    if program_rules.INLINING in rules:
        program = eqn.primitive.rule(program_rules.INLINING)(eqn.params)
        if program is not None:
            return program
    if program_rules.LOWERED in rules:
        return eqn.primitive.rule(program_rules.LOWERED)(eqn)
    if program_rules.COMPOSITION in rules:
        avals = [x.aval for x in eqn.inputs]
        composed: jx.Jaxpr | None = eqn.primitive.rule(program_rules.COMPOSITION)(avals, eqn.params)
        return composed
    return None


def write_eqn(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    """Write an equation."""
    rules = eqn.primitive.rules.extensions
    if C in rules:
        return eqn.primitive.rule(C)(w, operands, eqn)
    if prim.IDENTITY in rules:
        return operands
    program = program_in(eqn)
    assert program is not None, "programs are checked before they are written"
    return write_program(w, program, operands, dict(w.targets))


def by_formula(formula: Callable[..., Sequence[Array]]) -> CRule:
    """Return the rule of a primitive that is made of others.

    Args:
        formula: takes the operands, and the parameters where there are some; returns the results.
    """

    def rule(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
        params = () if eqn.params is prim.NO_PARAMS else (eqn.params,)
        staged = make_jaxpr(lambda *xs: [*formula(*xs, *params)])
        program = staged(*[opd.splat(0, x.aval) for x in eqn.inputs]).jaxpr
        return write_program(w, program, operands, dict(w.targets))

    return rule


# What cannot be written is refused before anything is.


def refuse(eqn: jx.JaxprEqn, what: str) -> NoReturn:
    """Refuse an equation.

    Raises:
        ExportError: always.
    """
    raise errors.ExportError(
        f"export.c cannot write {eqn.primitive.name}{_in_line(eqn.source)} in C: {what}. Compute "
        "this part outside of the function."
    )


def check(jaxpr: jx.Jaxpr) -> None:
    """Refuse a program that cannot be written in C.

    Raises:
        ExportError: it has an operation without a rule, or a dtype that C has not.
    """
    for var in jaxpr.in_binders:
        _check_dtype(var.aval, "an argument", None)
    for eqn in jaxpr.eqns:
        for x in (*eqn.inputs, *eqn.out_binders):
            _check_dtype(x.aval, f"an operand or a result of {eqn.primitive.name}", eqn.source)
        rules = eqn.primitive.rules.extensions
        if C in rules or prim.IDENTITY in rules:
            inner: Sequence[jx.Jaxpr] = jx.subjaxprs(eqn.params) if C in rules else ()
        else:
            program = program_in(eqn)
            if program is None:
                refuse(eqn, "the primitive has no rule under extend.C")
            inner = (program,)
        for program in inner:
            check(program)


def _check_dtype(aval: ShapedArray, what: str, source: frames.Source | None) -> None:
    if dtype_of(aval) not in syntax.TYPES:
        raise errors.ExportError(
            f"export.c writes programs of float64, float32, integers and bools, but {what} is "
            f"{aval}{_in_line(source)}. Split complex numbers into their parts, and convert "
            "other floats with .astype(...)."
        )


def _in_line(source: frames.Source | None) -> str:
    return "" if source is None else f" ({source.location})"
