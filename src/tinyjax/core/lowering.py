"""Lowering: from a jaxpr to a module of StableHLO, by the lowering rules of its primitives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any, Final, TypeAlias

import attrs

from tinyjax._base import frames
from tinyjax._base.records import Record
from tinyjax.core.stablehlo.lowering import HostFunction, Lowering, Module, function_text
from tinyjax.core.stablehlo.types import SSAValue, TensorType, tensor
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import integers as ints
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import HostArray
from tinyjax.errors import InconclusiveDimensionOperation


class _Tensors(dict[ShapedArray, TensorType]):
    """The types of StableHLO, which knows no weak types."""

    def __missing__(self, aval: ShapedArray) -> TensorType:
        text = self[aval] = tensor(aval.shape, aval.dtype)
        return text


_tensors: Final = _Tensors()


def tensors(avals: Sequence[ShapedArray]) -> list[TensorType]:
    """Return the types of StableHLO, which knows no weak types."""
    return [_tensors[aval] for aval in avals]


@attrs.frozen(eq=False, repr=False)
class Schedule(Record):
    """The equations of an iteration, with reads of arrays before updates of these.

    Attributes:
        eqns: the equations.
        reads: the values read from an updated array, with the array. An array is left out if only
            its next update uses the values, since they are read there.
        arrays: the updated arrays that the iteration computes, read or not.
        apart: the results of reads and updates of updated arrays which XLA joins to no other slice.
    """

    eqns: Sequence[jx.JaxprEqn]
    reads: Mapping[jx.Var, jx.Var]
    arrays: Collection[jx.Var]
    apart: Set[jx.Var]


#: Orders the equations of a loop's body for a platform.
Scheduler: TypeAlias = Callable[[jx.Jaxpr], Schedule]
#: Returns the location of an equation in MLIR's syntax; an empty text is the location of the
#: equation around it.
Locate: TypeAlias = Callable[[jx.JaxprEqn], str]


def location_text(eqn: jx.JaxprEqn, name: str | None = None) -> str:
    """Return the user's function, file, line and column of an equation, as MLIR writes locations.

    Args:
        eqn: the equation.
        name: its name in XLA; by default its primitive's name.
    """
    named = _quoted(eqn.primitive.name if name is None else name)
    if eqn.source is None:
        return named
    span = eqn.source.span
    code = eqn.source.code
    # columns are counted from 1 there
    start, end = f"{span.line}:{span.column + 1}", f"{span.end_line}:{span.end_column + 1}"
    place = f"{_quoted(code.co_filename)}:{start} to {end}"
    return f"{named}({_quoted(code.co_qualname)}({place}))"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


class LocatedLowering(Lowering):
    """A function under construction whose operations say which equation they come from.

    Attributes:
        locate: returns the location of an equation.
        location: the location of the current equation.
    """

    def __init__(
        self,
        module: Module,
        platform: str,
        locate: Locate,
        location: str = "",
        part: Any = None,
    ) -> None:
        super().__init__(module, platform, part)
        self.locate = locate
        self.location = location

    def beside(self) -> LocatedLowering:
        return LocatedLowering(self.module, self.platform, self.locate, self.location, self.part)

    def emit(
        self,
        name: str,
        operands: Sequence[SSAValue],
        results: Sequence[TensorType],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> list[SSAValue]:
        outs = super().emit(name, operands, results, attributes, regions)
        self._mark_last()
        return outs

    def constant(self, value: HostArray) -> SSAValue:
        written = len(self.lines)
        constant = super().constant(value)
        if len(self.lines) > written:
            self._mark_last()
        return constant

    def _mark_last(self) -> None:
        if self.location:
            self.lines[-1] += f" loc({self.location})"


def lower_jaxpr(
    b: Lowering, jaxpr: jx.Jaxpr, operands: Sequence[SSAValue], *, repeated: bool = False
) -> list[SSAValue]:
    """Write the equations of a jaxpr inline, and return its results.

    Args:
        b: the builder.
        jaxpr: the program.
        operands: its arguments.
        repeated: whether it is the body of a loop, which is to update its state in place.
    """
    env: dict[jx.Atom, SSAValue] = dict(zip(jaxpr.in_binders, operands, strict=True))

    def read(atoms: Sequence[jx.Atom]) -> list[SSAValue]:
        for x in atoms:
            if type(x) is jx.Lit and x not in env:  # most numbers stand in several equations
                env[x] = b.constant(x.value.host)
        return [*map(env.__getitem__, atoms)]

    outer = b.results
    divided = b.module.divided
    eqns: Sequence[jx.JaxprEqn] = jaxpr.eqns
    reads: Mapping[jx.Var, jx.Var] = {}
    updated: Collection[jx.Var] = ()
    apart: Set[jx.Var] = frozenset()
    if repeated and b.module.schedule is not None:
        scheduled: Schedule = b.module.schedule(jaxpr)
        eqns, reads, updated = scheduled.eqns, scheduled.reads, scheduled.arrays
        apart = scheduled.apart
    located = b if isinstance(b, LocatedLowering) else None
    outer_location = "" if located is None else located.location
    with frames.LEVEL:
        for eqn in eqns:
            if located is not None:
                located.location = located.locate(eqn) or outer_location
            rules = eqn.primitive.rules
            values = read(eqn.inputs)
            b.results = [_tensors[var.aval] for var in eqn.out_binders]
            b.is_apart = not apart.isdisjoint(eqn.out_binders)
            if divided is None:
                outs = rules.lowerings.get(b.platform, rules.lowering)(b, values, eqn.params)
            else:
                outs = divided.equation(b, eqn, values)
            if len(outs) == len(eqn.out_binders) == 1:
                (out,) = eqn.out_binders
                if out in reads:
                    outs = b.barrier([outs[0], env[reads[out]]])
                    env[reads[out]] = outs[1]
                elif out in updated:
                    outs = b.barrier(outs)
                env[out] = outs[0]
            else:
                env.update(zip(eqn.out_binders, outs, strict=True))
    b.results = outer
    if located is not None:
        located.location = outer_location
    return read(jaxpr.outs)


# Programs for several devices: what writes these, their module holds


def as_parts(b: Lowering, x: SSAValue, aval: ShapedArray, rows: int | None = None) -> SSAValue:
    """Annotate the lowered value of an equation with its sharding on devices, if its type has one.

    Args:
        b: the builder.
        x: the lowered value.
        aval: its type.
        rows: the number of values of the type that it stacks; None where it is one itself.
    """
    divided = b.module.divided
    return x if divided is None else divided.as_parts(b, x, _in_rows(aval, rows))


def all_as_parts(
    b: Lowering, xs: Sequence[SSAValue], avals: Sequence[ShapedArray], rows: int | None = None
) -> list[SSAValue]:
    """Annotate several values: the state of a loop, where it begins and where it ends."""
    if b.module.divided is None:
        return [*xs]
    return [as_parts(b, x, aval, rows) for x, aval in zip(xs, avals, strict=True)]


def parts_of_whole(b: Lowering, x: SSAValue, aval: ShapedArray, rows: int) -> SSAValue:
    """Make parts of a stack of so many values, if their type is to say so."""
    divided = b.module.divided
    return x if divided is None else divided.parts_of_whole(b, x, _in_rows(aval, rows))


def _in_rows(aval: ShapedArray, rows: int | None) -> ShapedArray:
    return aval if rows is None or aval.where is None else aval.stacked(rows)


def from_branch(
    b: Lowering, xs: Sequence[SSAValue], avals: Sequence[ShapedArray]
) -> Sequence[SSAValue]:
    """Prepare the results of a branch."""
    return xs if b.module.divided is None else b.module.divided.from_branch(b, xs, avals)


def from_branches(
    b: Lowering, xs: Sequence[SSAValue], avals: Sequence[ShapedArray]
) -> Sequence[SSAValue]:
    """Return the results of a conditional, whose branches returned prepared ones."""
    return xs if b.module.divided is None else b.module.divided.from_branches(b, xs, avals)


def call_jaxpr(
    b: Lowering, jaxpr: jx.Jaxpr, name: str, operands: Sequence[SSAValue]
) -> list[SSAValue]:
    """Emit a call of the function for a jaxpr, which a module has once.

    A program with ordered effects is inlined, so that its callbacks stay in order with others.
    """
    if jx.effects(jaxpr).ordered:
        return lower_jaxpr(b, jaxpr, operands)
    # on devices that have values of their own, what they tell each other depends on which they are
    key = jaxpr.digest if b.part is None else jaxpr.digest + repr(b.part).encode()
    function = b.module.called(
        key,
        name,
        lambda symbol: define(b.beside(), jaxpr, f"private @{symbol}"),
    )
    return b.emit("func.call", operands, tensors(jaxpr.out_avals), {"callee": f"@{function}"})


def define(
    b: Lowering,
    jaxpr: jx.Jaxpr,
    name: str,
    attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
) -> None:
    """Write a function; each parameter and each result may have attributes."""
    operands = [SSAValue(f"%arg{i}", of) for i, of in enumerate(tensors(jaxpr.in_avals))]
    b.parameters = operands
    outs = lower_jaxpr(b, jaxpr, operands)
    b.module.define(function_text(b, name, operands, outs, attributes, result_attributes))


def new_lowering(
    platform: str, locate: Locate | None, divided: Any = None, schedule: Scheduler | None = None
) -> Lowering:
    """Begin a module.

    Args:
        platform: the platform that the program runs on.
        locate: returns the locations of equations, if they are to be written.
        divided: the lowering for several devices, for a program on these.
        schedule: orders the bodies of loops.
    """
    module = Module(divided, schedule)
    if locate is None:
        return Lowering(module, platform)
    return LocatedLowering(module, platform, locate)


def write_module(
    jaxpr: jx.Jaxpr,
    name: str,
    aliases: Sequence[int | None] = (),
    platform: str = "cpu",
    locate: Locate | None = None,
    schedule: Scheduler | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls.

    Args:
        jaxpr: the program; its function is called ``main``.
        name: the module's name.
        aliases: for each parameter, which result may take its memory.
        platform: what the program runs on.
        locate: says where equations come from; nothing does by default.
        schedule: orders the bodies of loops; they stay as they are by default.

    Raises:
        InconclusiveDimensionOperation: it is for symbolic sizes.
    """
    for aval in (*jaxpr.in_avals, *jaxpr.out_avals):
        if any(isinstance(n, ints.SymbolicSize) for n in aval.shape):
            raise InconclusiveDimensionOperation(
                f"'{name}' takes or returns {aval}, whose sizes are symbolic, so it is not "
                "compiled. Export it, and call what is exported: export.export(f)(*types)."
            )
    b = new_lowering(platform, locate, None, schedule)
    b.is_entry = True
    attributes = [
        "" if alias is None else f" {{tf.aliasing_output = {alias} : i32}}" for alias in aliases
    ]
    define(b, jaxpr, "public @main", attributes)
    return b.module.text(name), tuple(b.module.host_functions)
