"""Where a value lies, said inside a program; and where XLA is to choose it again."""

from __future__ import annotations

import attrs

from tinyjax.core.primitives import rules as ru
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.primitive import present
from tinyjax.core.tracing.program_rules import PLACES
from tinyjax.core.tracing.trace import bind, bind1, manual_axes, on_devices
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.errors import ShardingError
from tinyjax.parallel import sharded_array as sa, types as ty
from tinyjax.parallel.sharding import Sharding
from tinyjax.parallel.types import hidden, is_hidden, settled, with_varying
from tinyjax.parallel.xla import moving


@attrs.frozen(eq=False, repr=False)
class ConstraintParams(prim.Params):
    """Where the operand lies.

    Attributes:
        sharding: where.
        source: where it lay before, if on other devices: a cotangent goes back there.
    """

    sharding: Sharding
    source: Sharding | None = None


sharding_constraint_p: prim.Primitive[ConstraintParams] = prim.Primitive(
    "sharding_constraint", ConstraintParams
)


@sharding_constraint_p.def_impl
def _impl(operands: prim.Hosts, params: ConstraintParams) -> prim.Hosts:
    return operands


@sharding_constraint_p.def_evaluate
def _evaluate(args: prim.Arrays, params: ConstraintParams) -> prim.Arrays:
    (x,) = args
    return [moving.put(x, params.sharding.decided(x.sharding))]


@sharding_constraint_p.def_abstract_eval
def _type(avals: prim.Avals, params: ConstraintParams) -> prim.Avals:
    (x,) = avals
    if params.sharding.in_types(x.ndim) is not None:  # else XLA pads
        params.sharding.check(x.shape)
    return (params.sharding.typed(x.plain),)


@sharding_constraint_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: ConstraintParams) -> Values:
    from tinyjax.parallel.lowering import sharding_text  # noqa: PLC0415 (for programs to compile)

    (x,) = operands
    text = sharding_text(b.module, params.sharding, x.ndim)
    if text is None or params.sharding.is_explicit:  # its type says it
        return operands
    return [b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{text}")]


sharding_constraint_p.def_rule(PLACES)(lambda params: ((params.sharding,), (params.sharding,)))


@sharding_constraint_p.def_jvp
def _jvp(primals: prim.Arrays, tangents: prim.Tangents, params: ConstraintParams) -> prim.JvpResult:
    (x,) = primals
    if isinstance(x, sa.ShardedArray) and {*x.sharding.ids} != {*params.sharding.ids}:
        params = ConstraintParams(params.sharding, x.sharding)
    return (
        bind(sharding_constraint_p, primals, params),
        bind(sharding_constraint_p, present(tangents), params),
    )


def _transpose(ct: Array, x: object, params: ConstraintParams) -> Array:
    if params.source is not None:
        return bind1(sharding_constraint_p, (ct,), ConstraintParams(params.source, params.sharding))
    if params.sharding.in_types(ct.ndim):  # the operand's type says how its cotangent lies
        return ct
    return bind1(sharding_constraint_p, (ct,), params)


ru.def_transposes(sharding_constraint_p, _transpose)


@sharding_constraint_p.def_batch
def _batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ConstraintParams
) -> prim.BatchResult:
    (x,), (axis,) = values, axes
    assert axis is not None, "the operand is batched"
    # where types do not say how the examples lie, XLA divides them as it likes
    names = ty.entries(x.aval)[axis] or mapped.divided or mapped.spmd
    source = params.source and params.source.batched(axis)
    return (constrain(x, params.sharding.batched(axis, names), source),), axes


def as_typed(sharding: Sharding, ndim: int) -> Sharding:
    """The same sharding with an entry for each axis, if types tell how values lie."""
    typed = sharding.in_types(ndim) if sharding.is_explicit else None
    return typed if typed is not None and typed.memory_kind == sharding.memory_kind else sharding


def check_inside(sharding: Sharding) -> None:
    """Check that a value can lie so within a program that devices run along some axes of a mesh.

    Raises:
        ShardingError: it names such an axis, or is of another mesh.
    """
    names = manual_axes() if sharding.axis_names else ()
    wrong = names and {*sharding.spec.names}.intersection(names)
    if wrong or not {*names} <= {*sharding.axis_names}:
        shown = " and ".join(map(repr, sorted(names)))
        raise ShardingError(
            f"a value is to lie by {sharding.spec} on a mesh of {sharding.axis_names}, inside a "
            f"function that each device along {shown} runs on its own part. Name the other axes of "
            "that mesh only; along these use lax.all_gather, lax.psum_scatter or lax.all_to_all."
        )


def constrain(
    x: Array, sharding: Sharding, source: Sharding | None = None, *, as_given: bool = False
) -> Array:
    """Say where a value lies; within ``shard_map``, along the other axes of the mesh.

    Args:
        x: the value.
        sharding: where.
        source: where it lay before, if on other devices.
        as_given: whether results of programs tell it in these words, or as types and XLA do.

    Raises:
        ShardingError: within ``shard_map``, it names an axis along which each device runs that.
    """
    from tinyjax.core.tracing.staging import StagingTracer  # noqa: PLC0415 (for several devices)

    if on_devices.get() is not None:
        check_inside(sharding)
        inner = sharding.within(manual_axes())
        if inner is None:  # the function sees to all that there is
            return x
        sharding = inner
    if isinstance(x, StagingTracer) and not as_given:
        sharding = as_typed(sharding.stripped(), x.ndim)
    own = x.aval.sharding
    if sharding.summed and own.summed and own.spec.unreduced != sharding.spec.unreduced:
        # XLA makes sums of what devices have, or parts of a sum, but not at once
        x = constrain(x, sharding.update(spec=sharding.spec.settled), source)
    return bind1(sharding_constraint_p, (x,), ConstraintParams(sharding, source))


# Types that do not say any more where values lie


@attrs.frozen(eq=False, repr=False)
class HideParams(prim.Params):
    """The axes of the mesh of which the type does not tell."""

    names: tuple[str, ...]


hide_p: prim.Primitive[HideParams] = prim.Primitive("hide_axes", HideParams)

hide_p.def_impl(lambda operands, params: operands)


@hide_p.def_evaluate
def _hide(args: prim.Arrays, params: HideParams) -> prim.Arrays:
    (x,) = args
    if isinstance(x, sa.ShardedArray):
        return [sa.ShardedArray(x.aval.plain, x.sharding.hidden(params.names), x.shards)]
    if x.aval.told is not None:  # one number everywhere
        return [opd.splat(opd.first_element(x.concrete("data")), x.aval.plain)]
    return args


@hide_p.def_abstract_eval
def _hidden_type(avals: prim.Avals, params: HideParams) -> prim.Avals:
    (x,) = avals
    return (hidden(x, params.names),)


hide_p.def_lowering(lambda b, operands, params: operands)

ru.def_linear(hide_p)
ru.def_transposes(hide_p, lambda ct, x, params: ct)


@hide_p.def_batch
def _hide_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: HideParams
) -> prim.BatchResult:
    return (bind1(hide_p, values, params),), axes


def hide(x: Array, names: tuple[str, ...]) -> Array:
    """Return an array whose type does not tell how it lies along some axes of the mesh."""
    if hidden(x.aval, names) is x.aval:
        return x
    if x.aval.sharding.summed:  # XLA could take each device's part for the whole
        x = constrain(x, settled(x.aval).sharding)
    return bind1(hide_p, (x,), HideParams(names))


def unsaid(x: Array) -> Array:
    """Return an array whose type does not tell how it lies."""
    return hide(x, x.aval.sharding.axis_names) if x.aval.told is not None else x


def lie_as(x: Array, aval: av.ShapedArray) -> Array:
    """Return an array that lies as a type says."""
    if aval.told is None:
        return x
    own = x.aval
    if own is with_varying(aval.with_dtype(own.dtype, own.weak_type), ty.across(own)):
        return x
    if not is_hidden(aval):
        return constrain(x, aval.sharding)
    return hide(x, aval.sharding.axis_names)
