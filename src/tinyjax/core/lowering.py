"""Lowering: from a jaxpr to a module of StableHLO, by the lowering rules of its primitives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeAlias

from tinyjax.core import devices as dev
from tinyjax.core.stablehlo.lowering import Axes, Lowering, function_text
from tinyjax.core.stablehlo.module import HostFunction, Module
from tinyjax.core.stablehlo.types import TensorType, Value, tensor
from tinyjax.core.tracing import jaxpr as jx, nesting
from tinyjax.core.values import integers as ints
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import HostArray, is_complex, real_part
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


#: Returns where an equation comes from, as MLIR writes locations; nothing stands for the place of
#: the equation around it.
Locate: TypeAlias = Callable[[jx.JaxprEqn], str]


def location_text(eqn: jx.JaxprEqn, name: str | None = None) -> str:
    """Return the user's function, file, line and column of an equation, as MLIR writes locations.

    Args:
        eqn: the equation.
        name: what XLA calls what becomes of it; by default its primitive's name.
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
        locate: says where an equation comes from.
        location: that of the current equation.
    """

    def __init__(
        self,
        module: Module,
        platform: str,
        locate: Locate,
        location: str = "",
        manual: Axes = (),
        partly: bool = False,
        free: tuple[str, ...] = (),
        mesh: str = "",
    ) -> None:
        super().__init__(module, platform, manual, partly, free, mesh)
        self.locate = locate
        self.location = location

    def beside(self) -> LocatedLowering:
        return LocatedLowering(
            self.module,
            self.platform,
            self.locate,
            self.location,
            self.manual,
            self.partly,
            self.free,
            self.mesh,
        )

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        results: Sequence[TensorType],
        attributes: Mapping[str, str] | None = None,
        regions: Sequence[str] = (),
    ) -> list[Value]:
        outs = super().emit(name, operands, results, attributes, regions)
        self._mark_last()
        return outs

    def constant(self, value: HostArray) -> Value:
        written = len(self.lines)
        constant = super().constant(value)
        if len(self.lines) > written:
            self._mark_last()
        return constant

    def _mark_last(self) -> None:
        if self.location:
            self.lines[-1] += f" loc({self.location})"


def lower_jaxpr(b: Lowering, jaxpr: jx.Jaxpr, operands: Sequence[Value]) -> list[Value]:
    """Write the equations of a jaxpr inline, and return its results."""
    env: dict[jx.Var, Value] = dict(zip(jaxpr.in_binders, operands, strict=True))
    literals: dict[int, Value] = {}  # by identity: most numbers stand in several equations

    def read(x: jx.Atom) -> Value:
        if isinstance(x, jx.Var):
            return env[x]
        constant = literals.get(id(x.value))
        if constant is None:
            constant = literals[id(x.value)] = b.constant(x.value.host)
        return constant

    outer = b.results
    is_divided = b.module.is_divided
    located = b if isinstance(b, LocatedLowering) else None
    outer_location = "" if located is None else located.location
    with nesting.LEVEL:
        for eqn in jaxpr.eqns:
            if located is not None:
                located.location = located.locate(eqn) or outer_location
            rules = eqn.primitive.rules
            values = [read(x) for x in eqn.inputs]
            b.results = [_tensors[var.aval] for var in eqn.out_binders]
            at_once = True
            if is_divided and any(map(_is_summed, eqn.out_binders)):
                at_once = _are_parts_kept(b, eqn, values)
                if not at_once:
                    values = [whole(b, v, x.aval) for v, x in zip(values, eqn.inputs, strict=True)]
            outs = rules.lowerings.get(b.platform, rules.lowering)(b, values, eqn.params)
            if is_divided:
                outs = [*map(partial(_lying, b, at_once), outs, eqn.out_binders)]
            if len(outs) == len(eqn.out_binders) == 1:
                env[eqn.out_binders[0]] = outs[0]
            else:
                env.update(zip(eqn.out_binders, outs, strict=True))
    b.results = outer
    if located is not None:
        located.location = outer_location
    return [read(x) for x in jaxpr.outs]


def _is_summed(x: jx.Atom) -> bool:
    return x.aval.where is not None and bool(x.aval.sharding.summed)


#: Operations that stand for several.
_SEVERAL: Final = ("chlo.", "func.call", "stablehlo.while", "stablehlo.custom_call")


def _are_parts_kept(b: Lowering, eqn: jx.JaxprEqn, values: Sequence[Value]) -> bool:
    """Whether XLA computes sums of which each device has a part from the devices' parts.

    It does where an equation is written as one operation. Of what lies between several it makes
    whole values, which it would then take for parts.
    """
    rules = eqn.primitive.rules
    if rules.evaluate is not None:  # what it calls has types of its own, if it is no constraint
        return bool(jx.subjaxprs(eqn.params)) or any(map(_is_summed, eqn.inputs))
    if len(eqn.out_binders) > 1:
        return False  # XLA ends the process if it finds that results of one operation differ
    trial = b.beside()
    trial.results = b.results
    rules.lowerings.get(b.platform, rules.lowering)(trial, values, eqn.params)
    lines = [line for line in trial.lines if "stablehlo.constant" not in line]
    return len(lines) <= 1 and not any(name in line for line in lines for name in _SEVERAL)


def whole(b: Lowering, x: Value, aval: ShapedArray) -> Value:
    """Let devices add a sum of which each has a part, if its type says so."""
    if aval.where is None or not aval.sharding.summed:
        return x
    return _said(b, x, aval.sharding.settled, aval.ndim)


def _said(b: Lowering, x: Value, sharding: dev.Sharding, ndim: int) -> Value:
    """Write what a type says of where a value lies."""
    text = sharding.constraint_text(ndim, b.module.mesh(sharding.mesh_text or ""))
    return b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{text}")


def as_parts(b: Lowering, x: Value, aval: ShapedArray) -> Value:
    """Say of a sum that an equation's rule writes that each device has a part of it.

    Args:
        b: the builder.
        x: the sum.
        aval: its type, which may say it, or not.
    """
    if aval.where is None or not aval.sharding.summed:
        return x
    return _said(b, x, aval.sharding, aval.ndim)


def all_as_parts(b: Lowering, xs: Sequence[Value], avals: Sequence[ShapedArray]) -> list[Value]:
    """Say it of several: of the state of a loop, where it begins and where it ends."""
    if not b.module.is_divided:
        return [*xs]
    return [as_parts(b, x, aval) for x, aval in zip(xs, avals, strict=True)]


def _may_differ(b: Lowering, avals: Sequence[ShapedArray]) -> bool:
    """Whether XLA may find that results of an operation differ in being sums: it gives up then."""
    return b.module.is_divided and len(avals) > 1 and any(a.sharding.summed for a in avals)


def from_branch(b: Lowering, xs: Sequence[Value], avals: Sequence[ShapedArray]) -> Sequence[Value]:
    """Let devices add sums that a branch returns beside other results."""
    if not _may_differ(b, avals):
        return xs
    return [whole(b, x, aval) for x, aval in zip(xs, avals, strict=True)]


def from_branches(
    b: Lowering, xs: Sequence[Value], avals: Sequence[ShapedArray]
) -> Sequence[Value]:
    """Make parts of a sum again of results of a conditional, where devices had to add them."""
    if not _may_differ(b, avals):
        return xs
    return [parts_of_whole(b, x, aval) for x, aval in zip(xs, avals, strict=True)]


def parts_of_whole(b: Lowering, x: Value, aval: ShapedArray) -> Value:
    """Make of a value a sum of which each device has a part, if its type is to say so."""
    if aval.where is None or not aval.sharding.summed:
        return x
    if is_complex(aval.dtype):  # XLA would end the process
        kind = aval.with_dtype(real_part(aval.dtype))
        halves = [parts_of_whole(b, half, kind) for half in (b.real(x), b.imag(x))]
        x = b.op("stablehlo.complex", *halves, result=x.type)
        return _said(b, x, aval.sharding, aval.ndim)
    settled = _said(b, x, aval.sharding.settled, aval.ndim)
    return _said(b, settled, aval.sharding, aval.ndim)


def _lying(b: Lowering, at_once: bool, x: Value, var: jx.Var) -> Value:
    """Write what a variable's type says of where its value lies, if it does."""
    aval, told = var.aval, var.aval.told
    if told is None or told.mesh_text is None or told.in_types(aval.ndim) is None:
        return x
    return _said(b, x, told, aval.ndim) if at_once else parts_of_whole(b, x, aval)


def call_jaxpr(b: Lowering, jaxpr: jx.Jaxpr, name: str, operands: Sequence[Value]) -> list[Value]:
    """Write a call of the function for a jaxpr, which a module has once.

    One with ordered effects is written inline, where its callbacks take their turns among the
    others.
    """
    if jx.effects(jaxpr).ordered:
        return lower_jaxpr(b, jaxpr, operands)
    # on devices that have values of their own, collectives are written for their mesh
    key = (
        jaxpr.digest + repr((b.manual, b.partly, b.free, b.mesh)).encode()
        if b.manual
        else jaxpr.digest
    )
    function = b.module.called(
        key,
        name,
        lambda symbol: _define(b.beside(), jaxpr, f"private @{symbol}"),
    )
    return b.emit("func.call", operands, tensors(jaxpr.out_avals), {"callee": f"@{function}"})


def _define(
    b: Lowering,
    jaxpr: jx.Jaxpr,
    name: str,
    attributes: Sequence[str] = (),
    result_attributes: Sequence[str] = (),
) -> None:
    """Write a function; each parameter and each result may have attributes."""
    operands = [Value(f"%arg{i}", of) for i, of in enumerate(tensors(jaxpr.in_avals))]
    outs = lower_jaxpr(b, jaxpr, operands)
    b.module.define(function_text(b, name, operands, outs, attributes, result_attributes))


def _main(platform: str, locate: Locate | None, is_divided: bool = False) -> Lowering:
    if locate is None:
        return Lowering(Module(is_divided), platform)
    return LocatedLowering(Module(is_divided), platform, locate)


def write_module(
    jaxpr: jx.Jaxpr,
    name: str,
    aliases: Sequence[int | None] = (),
    platform: str = "cpu",
    locate: Locate | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr, and the Python functions that it calls.

    Args:
        jaxpr: the program; its function is called ``main``.
        name: the module's name.
        aliases: for each parameter, which result may take its memory.
        platform: what the program runs on.
        locate: says where equations come from; nothing does by default.

    Raises:
        InconclusiveDimensionOperation: it is for symbolic sizes.
    """
    for aval in (*jaxpr.in_avals, *jaxpr.out_avals):
        if any(isinstance(n, ints.SymbolicSize) for n in aval.shape):
            raise InconclusiveDimensionOperation(
                f"'{name}' takes or returns {aval}, whose sizes are symbolic, so it is not "
                "compiled. Export it, and call what is exported: export.export(f)(*types)."
            )
    b = _main(platform, locate)
    attributes = [
        "" if alias is None else f" {{tf.aliasing_output = {alias} : i32}}" for alias in aliases
    ]
    _define(b, jaxpr, "public @main", attributes)
    return b.module.text(name), tuple(b.module.host_functions)


def write_sharded_module(
    jaxpr: jx.Jaxpr,
    name: str,
    ins: Sequence[dev.Sharding],
    outs: Sequence[dev.Sharding | None],
    donated: Sequence[int] = (),
    platform: str = "cpu",
    locate: Locate | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr on several devices.

    Args:
        jaxpr: the program; its function is called ``main``.
        name: the module's name.
        ins: how its parameters lie.
        outs: how its results are to lie; None leaves that to XLA.
        donated: the parameters whose memory may be reused.
        platform: what the program runs on.
        locate: says where equations come from; nothing does by default.
    """
    b = _main(platform, locate, is_divided=True)
    module = b.module
    attributes: list[str] = []
    for i, (aval, sharding) in enumerate(zip(jaxpr.in_avals, ins, strict=True)):
        donor = ["jax.buffer_donor = true"] if i in donated else []
        attributes.append(_attributes([*_lies(module, sharding, aval.ndim), *donor]))
    results = [
        _attributes(_lies(module, sharding, aval.ndim))
        for aval, sharding in zip(jaxpr.out_avals, outs, strict=True)
    ]
    _define(b, jaxpr, "public @main", attributes, results)
    return module.text(name), tuple(module.host_functions)


def _lies(module: Module, sharding: dev.Sharding | None, ndim: int) -> list[str]:
    text = sharding_text(module, sharding, ndim)
    return [] if text is None else [f"sdy.sharding = #sdy.sharding{text}"]


def _attributes(texts: Sequence[str]) -> str:
    return f" {{{', '.join(texts)}}}" if texts else ""


def sharding_text(module: Module, sharding: dev.Sharding | None, ndim: int) -> str | None:
    """Return how an array of so many axes lies as Shardy writes it; None where it says nothing."""
    mesh = sharding.mesh_text if sharding is not None else None
    if sharding is None or mesh is None:
        return None
    return sharding.text(ndim, module.mesh(mesh))
