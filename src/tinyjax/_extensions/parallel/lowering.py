"""Programs for several devices as StableHLO, and partial sums on devices."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, Final, TypeAlias

import attrs

from tinyjax._base.records import Record, field_names
from tinyjax._extensions.parallel import types
from tinyjax._extensions.parallel.sharding import Sharding
from tinyjax._primitives.dot import DotParams
from tinyjax.core.lowering import Locate, define, new_lowering
from tinyjax.core.primitives.broadcast import ReduceParams
from tinyjax.core.stablehlo import Lowering, SSAValue
from tinyjax.core.stablehlo.lowering import HostFunction, Module
from tinyjax.core.stablehlo.types import TensorType
from tinyjax.core.tracing import jaxpr as jx, trace as tr
from tinyjax.core.values import ShapedArray
from tinyjax.dtypes import is_complex, real_part

# Programs for several devices, as StableHLO: the types of values are constraints for Shardy.
#
# This module is what a ``Module`` of StableHLO holds as ``divided``: its functions are called where
# equations, loops and conditionals are lowered (``core.lowering``).


def equation(b: Lowering, eqn: jx.JaxprEqn, values: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Lower an equation, with the shardings in the types of its results."""
    rules = eqn.primitive.rules
    at_once = True
    if any(map(_is_summed, eqn.out_binders)):
        at_once = _are_parts_kept(b, eqn, values)
        if not at_once:
            values = [whole(b, v, x.aval) for v, x in zip(values, eqn.inputs, strict=True)]
    outs = rules.lowerings.get(b.platform, rules.lowering)(b, values, eqn.params)
    return [*map(partial(_lying, b, at_once), outs, eqn.out_binders)]


def _is_summed(x: jx.Atom) -> bool:
    return x.aval.where is not None and bool(x.aval.sharding.summed)


#: Operations that expand to several.
_SEVERAL: Final = ("chlo.", "func.call", "stablehlo.while", "stablehlo.custom_call")


def _are_parts_kept(b: Lowering, eqn: jx.JaxprEqn, values: Sequence[SSAValue]) -> bool:
    """Return whether XLA computes partial sums from the devices' partial sums.

    It does if the equation lowers to one operation. If it lowers to several, XLA completes the
    sums of the intermediate values, and would then treat these as partial sums.
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


def whole(b: Lowering, x: SSAValue, aval: ShapedArray) -> SSAValue:
    """Let devices add their parts of a sum, if its type requires it."""
    if aval.where is None or not aval.sharding.summed:
        return x
    return _with_typed_sharding(b, x, aval.sharding.without_sums, aval.ndim)


class _Declared:
    """The declarations of a module: meshes, by their texts; and the number of collectives."""

    def __init__(self) -> None:
        self.meshes: dict[str, str] = {}
        self.channels = count(1)

    def __str__(self) -> str:
        return "".join([f"  sdy.mesh @{mesh} = {of}\n" for of, mesh in self.meshes.items()])


def _declared(module: Module) -> _Declared:
    declared = module.declared
    if not isinstance(declared, _Declared):
        declared = module.declared = _Declared()
    return declared


def mesh_name(module: Module, text: str) -> str:
    """Return the name of a mesh of devices in a module, given as Shardy writes it."""
    meshes = _declared(module).meshes
    return meshes.setdefault(text, f"mesh_{len(meshes)}")


def channel(module: Module) -> str:
    """Return the number that distinguishes one collective of a module from the others."""
    return f"#stablehlo.channel_handle<handle = {next(_declared(module).channels)}, type = 1>"


#: The axes of a mesh of devices, with their sizes.
Axes: TypeAlias = tuple[tuple[str, int], ...]


@attrs.frozen(eq=False, repr=False)
class Part(Record):
    """The region in which each device runs a function on values of its own.

    Attributes:
        axes: the axes of its mesh, with their sizes.
        partly: whether it is one program for all devices along other axes of the mesh.
        free: these other axes, except those along which an outer program is for one device.
        mesh: the mesh as Shardy writes it.
    """

    axes: Axes
    partly: bool
    free: tuple[str, ...]
    mesh: str


def _divided_mesh(b: Lowering) -> str | None:
    """Return the name of a mesh over which XLA divides the operations; None if it does not."""
    part: Part | None = b.part
    is_divided = part is None or part.partly
    return next(iter(_declared(b.module).meshes.values()), None) if is_divided else None


def is_divided(b: Lowering) -> bool:
    """Return whether XLA divides the operations that are written."""
    return _divided_mesh(b) is not None


def undivided(b: Lowering, x: SSAValue, axes: Iterable[int]) -> SSAValue:
    """Return a value some of whose axes are not divided: XLA does it wrongly, or refuses."""
    mesh = _divided_mesh(b)
    if mesh is None:
        return x
    entries = ", ".join(["{}" if i in axes else "{?}" for i in range(x.ndim)])
    return b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding<@{mesh}, [{entries}]>")


def batched(b: Lowering, types: Sequence[TensorType], operands: int, batch: int) -> dict[str, str]:
    """Return the attributes by which XLA divides a call along the first axes of all its values."""
    if _divided_mesh(b) is None:
        return {}
    return {
        "sdy.sharding_rule": _batched_rule(types, operands, batch),
        "mhlo.frontend_attributes": f'{{num_batch_dims = "{batch}"}}',
    }


def _batched_rule(types: Sequence[TensorType], operands: int, batch: int) -> str:
    """Return Shardy's rule that the first axes of all are divided alike, and others are not."""
    sizes = [*types[0].shape[:batch]]
    texts: list[str] = []
    for of in types:
        own = [*range(batch), *range(len(sizes), len(sizes) + len(of.shape) - batch)]
        sizes += of.shape[batch:]
        texts.append(f"[{', '.join(map(_factor, own))}]")
    lengths = ", ".join([f"{_factor(i)}={n}" for i, n in enumerate(sizes)])
    ins, outs = ", ".join(texts[:operands]), ", ".join(texts[operands:])
    return f"#sdy.op_sharding_rule<({ins})->({outs}) {{{lengths}}}, custom>"


def _factor(number: int) -> str:
    """Return the name of an axis in a rule of Shardy's: i to z, then z_1 and so on."""
    return chr(ord("i") + number) if number < 18 else f"z_{number - 17}"


def _with_typed_sharding(b: Lowering, x: SSAValue, sharding: Sharding, ndim: int) -> SSAValue:
    """Emit the sharding in the type of a value."""
    text = sharding.constraint_text(ndim, mesh_name(b.module, sharding.mesh_text or ""))
    return b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{text}")


def as_parts(b: Lowering, x: SSAValue, aval: ShapedArray) -> SSAValue:
    """Mark the lowered sum of an equation as partial: each device has a part of it.

    Args:
        b: the builder.
        x: the sum.
        aval: its type, which may record this already.
    """
    if aval.where is None or not aval.sharding.summed:
        return x
    return _with_typed_sharding(b, x, aval.sharding, aval.ndim)


def _may_differ(b: Lowering, avals: Sequence[ShapedArray]) -> bool:
    """Return whether XLA may find that results of an operation differ in being sums, and fail."""
    return len(avals) > 1 and any(a.sharding.summed for a in avals)


def from_branch(
    b: Lowering, xs: Sequence[SSAValue], avals: Sequence[ShapedArray]
) -> Sequence[SSAValue]:
    """Let devices add sums that a branch returns beside other results."""
    if not _may_differ(b, avals):
        return xs
    return [whole(b, x, aval) for x, aval in zip(xs, avals, strict=True)]


def from_branches(
    b: Lowering, xs: Sequence[SSAValue], avals: Sequence[ShapedArray]
) -> Sequence[SSAValue]:
    """Make parts of a sum again of results of a conditional, where devices had to add them."""
    if not _may_differ(b, avals):
        return xs
    return [parts_of_whole(b, x, aval) for x, aval in zip(xs, avals, strict=True)]


def parts_of_whole(b: Lowering, x: SSAValue, aval: ShapedArray) -> SSAValue:
    """Turn a value into a sum of the devices' parts, if its type requires it."""
    if aval.where is None or not aval.sharding.summed:
        return x
    if is_complex(aval.dtype):  # XLA would end the process
        kind = aval.with_dtype(real_part(aval.dtype))
        halves = [parts_of_whole(b, half, kind) for half in (b.real(x), b.imag(x))]
        x = b.op("stablehlo.complex", *halves, result=x.type)
        return _with_typed_sharding(b, x, aval.sharding, aval.ndim)
    without_sums = _with_typed_sharding(b, x, aval.sharding.without_sums, aval.ndim)
    return _with_typed_sharding(b, without_sums, aval.sharding, aval.ndim)


def _lying(b: Lowering, at_once: bool, x: SSAValue, var: jx.Var) -> SSAValue:
    """Emit the sharding in a variable's type, if it has one."""
    aval, told = var.aval, var.aval.sharding_or_none
    if told is None or told.mesh_text is None or told.in_types(aval.ndim) is None:
        return x
    return _with_typed_sharding(b, x, told, aval.ndim) if at_once else parts_of_whole(b, x, aval)


def write_sharded_module(
    jaxpr: jx.Jaxpr,
    name: str,
    ins: Sequence[Sharding],
    outs: Sequence[Sharding | None],
    donated: Sequence[int] = (),
    platform: str = "cpu",
    locate: Locate | None = None,
) -> tuple[str, tuple[HostFunction, ...]]:
    """Return the module that computes a jaxpr on several devices.

    Args:
        jaxpr: the program; its function is called ``main``.
        name: the module's name.
        ins: the shardings of its parameters.
        outs: the shardings of its results; None leaves these to XLA.
        donated: the parameters whose memory may be reused.
        platform: the platform that the program runs on.
        locate: says where equations come from; nothing does by default.
    """
    b = new_lowering(platform, locate, sys.modules[__name__])
    module = b.module
    attributes: list[str] = []
    for i, (aval, sharding) in enumerate(zip(jaxpr.in_avals, ins, strict=True)):
        donor = ["jax.buffer_donor = true"] if i in donated else []
        attributes.append(_attributes([*_lies(module, sharding, aval.ndim), *donor]))
    results = [
        _attributes(_lies(module, sharding, aval.ndim))
        for aval, sharding in zip(jaxpr.out_avals, outs, strict=True)
    ]
    define(b, jaxpr, "public @main", attributes, results)
    return module.text(name), tuple(module.host_functions)


def _lies(module: Module, sharding: Sharding | None, ndim: int) -> list[str]:
    text = sharding_text(module, sharding, ndim)
    return [] if text is None else [f"sdy.sharding = #sdy.sharding{text}"]


def _attributes(texts: Sequence[str]) -> str:
    return f" {{{', '.join(texts)}}}" if texts else ""


def sharding_text(module: Module, sharding: Sharding | None, ndim: int) -> str | None:
    """Return the sharding of an array of this rank in Shardy's syntax, or None."""
    mesh = sharding.mesh_text if sharding is not None else None
    if sharding is None or mesh is None:
        return None
    return sharding.text(ndim, mesh_name(module, mesh))


# Sums of which each device keeps its part, because their results are to be ``unreduced``.


#: The axes of the mesh over which sums are not completed here.
_unreduced: Final[ContextVar[frozenset[str]]] = ContextVar("tinyjax_unreduced", default=frozenset())


def keeping_sums(names: frozenset[str]) -> AbstractContextManager[None]:
    """Leave to each device, within a block, its part of sums over axes of the mesh."""
    return tr.assigned(_unreduced, names)


@attrs.frozen(eq=False, repr=False)
class PartialReduceParams(ReduceParams):
    """The parameters of a sum that devices do not complete.

    Attributes:
        unreduced: the axes of the mesh over which the summed axes are divided.
    """

    unreduced: tuple[str, ...]


@attrs.frozen(cache_hash=True, repr=False)
class PartialDotParams(DotParams):
    """The parameters of a product where devices do not add the products that they have parts of.

    Attributes:
        unreduced: the axes of the mesh over which the contracted axes are divided.
    """

    unreduced: tuple[str, ...] = attrs.field(kw_only=True)


def of_sum(params: Any, avals: Sequence[ShapedArray]) -> Any:
    """Return parameters of a sum or of a product that keep its parts, where required.

    Args:
        params: its parameters.
        avals: the types of the operands.
    """
    names = _unreduced.get()
    if not names:
        return params
    kind: type[Any] = PartialDotParams
    if isinstance(params, ReduceParams):
        kind, (aval,) = PartialReduceParams, avals
        if not names <= {name for axis in params.axes for name in types.entries(aval)[axis]}:
            return params
    fields = {name: getattr(params, name) for name in field_names(kind) if name != "unreduced"}
    return kind(**fields, unreduced=tuple(sorted(names)))
