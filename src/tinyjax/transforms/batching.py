"""Batching: one program that does the work of many.

A ``BatchTracer`` holds an array with one axis more than it shows, and says which axis that is. The
trace applies each primitive's ``batch`` rule, which moves the computation over the extra axis; a
value without a batch axis carries no tracer. A primitive that names the axis (a collective) is
given to its ``collective`` rule by the trace that has that name.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from tinyjax.config import settings
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Jaxpr, eval_jaxpr, subjaxprs
from tinyjax.core.primitive import MappedAxis, Primitive
from tinyjax.core.staging import Staged, extend, stage
from tinyjax.core.trace import (
    Running,
    Trace,
    Tracer,
    current_trace,
    leak_check,
    reset_trace,
    set_trace,
)
from tinyjax.dtypes import DType
from tinyjax.primitives.shape import move_batch_axis

P = TypeVar("P")
BatchAxis = int | None


class BatchTracer(Tracer):
    """An array, and which of its axes is the batch."""

    __slots__ = ("_example", "axis", "value")

    def __init__(self, trace: Trace, value: Array, axis: int) -> None:
        self._trace = trace
        self.value = value
        self.axis = axis
        self._example: ShapedArray | None = None

    @property
    def aval(self) -> ShapedArray:
        found = self._example
        if found is None:
            found = self._example = unbatched_aval(self.value.aval, self.axis)
        return found

    # asked for at every operation, so answered without going through aval
    @property
    def shape(self) -> tuple[int, ...]:
        shape, axis = self.value.shape, self.axis
        return shape[1:] if axis == 0 else shape[:axis] + shape[axis + 1 :]

    @property
    def dtype(self) -> DType:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim - 1

    @property
    def weak_type(self) -> bool:
        return self.value.weak_type


def unbatched_aval(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type without its batch axis."""
    if axis == 0:  # nearly always
        return aval.row()
    return aval.with_shape(aval.shape[:axis] + aval.shape[axis + 1 :])


def batched_aval(aval: ShapedArray, axis: BatchAxis, size: int) -> ShapedArray:
    """The type with a batch axis put in; None puts in none."""
    if axis is None:
        return aval
    return aval.with_shape((*aval.shape[:axis], size, *aval.shape[axis:]))


class BatchTrace(Trace):
    """Applies ``batch`` rules to the primitives that touch its tracers.

    Attributes:
        mapped: the axis: its size, and what collectives call it.
    """

    __slots__ = ("mapped",)

    transformation = "vmap"

    def __init__(
        self,
        parent: Trace,
        mapped: MappedAxis,
        fun: Callable[..., object] | None = None,
    ) -> None:
        super().__init__(parent, fun)
        self.mapped = mapped

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        values: list[Array] = []
        axes: list[BatchAxis] = []
        active = False
        for arg in args:
            if type(arg) is BatchTracer and arg._trace is self:
                active = True
                values.append(arg.value)
                axes.append(arg.axis)
            else:
                values.append(arg)
                axes.append(None)
        rules = primitive.rules
        rule, collective = rules.batch, rules.collective
        if collective is not None and getattr(params, "axis_name", None) == self.mapped.name:
            rule = collective
            active = True
        if not active and not self._named_in(primitive, params):
            return self.parent.process(primitive, args, params)
        token = set_trace(self.parent)
        try:
            outs, out_axes = rule(self.mapped, values, axes, params)
        finally:
            reset_trace(token)
        if len(outs) == 1:  # nearly always, and faster than the loop
            (out,), (axis,) = outs, out_axes
            return (out if axis is None else BatchTracer(self, out, axis),)
        results: list[Array] = []
        for out, axis in zip(outs, out_axes, strict=True):
            results.append(out if axis is None else BatchTracer(self, out, axis))
        return results

    def _named_in(self, primitive: Primitive[P], params: P) -> bool:
        """Whether a program in the parameters has a collective over this trace's axis."""
        name = self.mapped.name
        if name is None or primitive.rules.evaluate is None:
            return False
        return any(name in axis_names(jaxpr) for jaxpr in subjaxprs(params))

    def mapped_axis(self) -> MappedAxis | None:
        return self.mapped

    def split(self, value: Array) -> tuple[Array, BatchAxis]:
        """Return the array and batch axis of a value, which may be a constant to this trace."""
        if type(value) is BatchTracer and value._trace is self:
            return value.value, value.axis
        return value, None


def batch_flat(
    fun: Callable[..., Sequence[Array]],
    mapped: MappedAxis,
    args: Sequence[Array],
    axes: Sequence[BatchAxis],
    user_fun: Callable[..., object] | None = None,
) -> tuple[list[Array], list[BatchAxis]]:
    """Apply a function of arrays to every slice of its arguments at once.

    Args:
        fun: takes the arguments positionally and returns a sequence of arrays.
        mapped: the axis.
        args: the arguments.
        axes: which axis of each is the batch; None where there is none.
        user_fun: the function to name in messages.

    Returns:
        The results, and which axis of each is the batch.
    """
    kind = BatchTrace
    if settings().debug_nans:
        # not at the top: it is built on this module, and rarely wanted
        from tinyjax.transforms.provenance import LaneTrace  # noqa: PLC0415

        kind = LaneTrace
    trace = kind(current_trace(), mapped, user_fun)
    with Running(trace):
        outs = fun(
            *[
                arg if axis is None else BatchTracer(trace, arg, axis)
                for arg, axis in zip(args, axes, strict=True)
            ]
        )
        pairs = [trace.split(out) for out in outs]
    if settings().check_leaks and user_fun is not None:
        check = leak_check(trace, fun)
        del trace, outs
        check()
    return [value for value, _ in pairs], [axis for _, axis in pairs]


def batch_jaxpr(
    jaxpr: Jaxpr,
    mapped: MappedAxis,
    axes: tuple[BatchAxis, ...],
    wanted: tuple[bool, ...] | None = None,
) -> tuple[Staged, tuple[BatchAxis, ...]]:
    """Stage the batched form of a jaxpr, and say which axis of each result is the batch.

    Args:
        jaxpr: the program.
        mapped: the axis.
        axes: which axis of each parameter is the batch; None where there is none.
        wanted: which results must be batched, at the front, even where all examples agree.
    """

    def make() -> tuple[Staged, tuple[BatchAxis, ...]]:
        found: list[tuple[BatchAxis, ...]] = []

        def run(*args: Array) -> list[Array]:
            outs, out_axes = batch_flat(lambda *xs: eval_jaxpr(jaxpr, xs), mapped, args, axes)
            found.append(tuple(out_axes))
            return outs

        avals = [
            batched_aval(a, axis, mapped.size) for a, axis in zip(jaxpr.in_avals, axes, strict=True)
        ]
        return stage(run, avals), found[0]

    plain = jaxpr.derive(("batch", mapped, axes), make)
    staged, out_axes = plain
    if wanted is None:
        return plain
    front = tuple([0 if want else axis for axis, want in zip(out_axes, wanted, strict=True)])
    if front == out_axes:
        return plain

    def bring() -> tuple[Staged, tuple[BatchAxis, ...]]:
        def to_front(*outs: Array) -> list[Array]:
            return [
                move_batch_axis(out, axis, 0, mapped.size) if want else out
                for out, axis, want in zip(outs, out_axes, wanted, strict=True)
            ]

        return Staged(extend(staged.jaxpr, to_front), staged.consts), front

    return jaxpr.derive(("batch", mapped, axes, wanted), bring)


def axis_names(jaxpr: Jaxpr) -> frozenset[Hashable]:
    """The names of the axes that the collectives in a jaxpr are over."""

    def find() -> frozenset[Hashable]:
        found: set[Hashable] = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.rules.collective is not None:
                found.add(getattr(eqn.params, "axis_name", None))
            for inner in subjaxprs(eqn.params):
                found |= axis_names(inner)
        return frozenset(found)

    return jaxpr.derive("axis_names", find)
