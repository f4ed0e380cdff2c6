"""Batching: one program that computes many examples.

A ``BatchTracer`` holds an array with one more axis than its type has: the batch axis. The trace
applies each primitive's ``batch`` rule, which computes over that axis too. A value without a batch
axis has no tracer. For a primitive that names an axis (a collective), the trace of that name
applies the ``collective`` rule.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, TypeVar

import attrs

from tinyjax.config import settings
from tinyjax.core import devices
from tinyjax.core.primitives.shape import move_batch_axis
from tinyjax.core.tracing.jaxpr import Jaxpr, effects, eval_jaxpr, subjaxprs
from tinyjax.core.tracing.primitive import MappedAxis, Primitive
from tinyjax.core.tracing.staging import Staged, extend, stage
from tinyjax.core.tracing.trace import (
    CustomCall,
    Running,
    Trace,
    Tracer,
    current_trace,
    is_known,
    leak_check,
    reset_trace,
    set_trace,
)
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray, where_of
from tinyjax.dtypes import DType
from tinyjax.errors import ShardingTypeError

P = TypeVar("P")
BatchAxis = int | None
#: A program, and which axis of each of its results is the batch.
Batched = tuple[Staged, tuple[BatchAxis, ...]]


class BatchTracer(Tracer):
    """An array, and which of its axes is the batch."""

    __slots__ = ("_example", "axis", "val")

    def __init__(
        self, trace: Trace, value: Array, axis: int, example: ShapedArray | None = None
    ) -> None:
        self._trace = trace
        self.val: Array = value
        self.axis: int = axis
        self._example = example

    @property
    def aval(self) -> ShapedArray:
        example = self._example
        if example is None:
            example = self._example = unbatched_aval(self.val.aval, self.axis)
        return example

    # read at every operation, so computed without going through aval
    @property
    def shape(self) -> tuple[int, ...]:
        example = self._example
        return self.aval.shape if example is None else example.shape

    @property
    def dtype(self) -> DType:
        example = self._example
        return self.val.dtype if example is None else example.dtype

    @property
    def ndim(self) -> int:
        return self.val.ndim - 1

    @property
    def weak_type(self) -> bool:
        example = self._example
        return self.val.weak_type if example is None else example.weak_type

    def components(self) -> Sequence[Array]:
        return (self.val,)

    def named_data(self) -> dict[str, object]:
        return {"batch": self.val, "axis": self.axis} if is_known(self.val) else {}


def unbatched_aval(aval: ShapedArray, axis: int) -> ShapedArray:
    """Return the type without its batch axis."""
    if axis == 0:  # nearly always
        return aval.row()
    return aval.removed(axis)


def batched_aval(
    aval: ShapedArray, axis: BatchAxis, size: int, where: tuple[str, ...] = ()
) -> ShapedArray:
    """Return the type with a batch axis inserted; without one for None."""
    return aval if axis is None else aval.inserted(axis, size, where)


class BatchTrace(Trace):
    """Applies ``batch`` rules to the primitives that touch its tracers.

    Attributes:
        mapped: the axis: its size, and its name for collectives.
    """

    __slots__ = ("mapped",)

    transformation = "vmap"

    def __init__(
        self, parent: Trace, mapped: MappedAxis, fun: Callable[..., object] | None = None
    ) -> None:
        super().__init__(parent, fun)
        self.mapped: MappedAxis = mapped

    def process(self, primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
        values: list[Array] = []
        axes: list[BatchAxis] = []
        key: list[Any] = [params]
        active = False
        for arg in args:
            if type(arg) is BatchTracer and arg._trace is self:
                active = True
                values.append(arg.val)
                axes.append(arg.axis)
                key.append(arg._example or arg.aval)
            else:
                values.append(arg)
                axes.append(None)
                key.append(arg._aval or arg.aval)
        rules = primitive.rules
        rule = rules.batch
        if rules.collective is not None and self.collects(primitive, params):
            rule = rules.collective
            active = True
        if not active and not self._named_in(primitive, params):
            return self.parent.process(primitive, args, params)
        types: Sequence[ShapedArray] | None = None
        if rules.evaluate is None:
            # of one example: the rule sees the operands of all, and may have more that fit
            try:
                types = rules.types[tuple(key)][0]
            except (KeyError, TypeError):  # types not met before, parameters that have no hash
                types = primitive.check_types(key[1:], params)
        token = set_trace(self.parent)
        try:
            apply = rule
            for adapter in self.adapters:
                apply = partial(adapter.batch, apply)
            outs, out_axes = apply(self.mapped, values, axes, params)
        except ShardingTypeError:
            if types is None or rule is rules.collective or where_of(key[1:]) is None:
                raise
            outcome = devices.ops().batch_unspecified(
                primitive, self.mapped, values, axes, params, types
            )
            outs, out_axes = outcome
        finally:
            reset_trace(token)
        if len(outs) == 1:  # nearly always, and faster than the loop
            (out,), (axis,) = outs, out_axes
            if axis is None:
                return (out,)
            # with adapters, values may have types of which rules for one example do not know
            example = types[0] if types and not self.adapters else None
            return (BatchTracer(self, out, axis, example),)
        results: list[Array] = []
        for out, axis in zip(outs, out_axes, strict=True):
            results.append(out if axis is None else BatchTracer(self, out, axis))
        return results

    def collects(self, primitive: Primitive[P], params: P) -> bool:
        """Return whether a primitive is a collective over this trace's axis."""
        is_over = getattr(params, "axis_name", None) == self.mapped.name
        return is_over and primitive.rules.collective is not None

    def _named_in(self, primitive: Primitive[P], params: P) -> bool:
        """Return whether a program in the parameters has a collective over this trace's axis."""
        name = self.mapped.name
        if name is None or primitive.rules.evaluate is None:
            return False
        return any(name in axis_names(jaxpr) for jaxpr in subjaxprs(params))

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        return call.batched(self, args)

    def mapped_axis(self) -> MappedAxis | None:
        return of_all(self.mapped)

    def split(self, value: Array) -> tuple[Array, BatchAxis]:
        """Return the array and batch axis of a value, which may be a constant to this trace."""
        if type(value) is BatchTracer and value._trace is self:
            return value.val, value.axis
        return value, None


def batch_flat(
    fun: Callable[..., Sequence[Array]],
    mapped: MappedAxis,
    args: Sequence[Any],
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
    parent, current = current_trace(), settings()
    trace = BatchTrace(parent, mapped, user_fun)
    with Running(trace, args):
        outs = fun(
            *[
                arg if axis is None else BatchTracer(trace, arg, axis)
                for arg, axis in zip(args, axes, strict=True)
            ]
        )
        pairs = [trace.split(out) for out in outs]
    if current.check_leaks and user_fun is not None:
        check = leak_check(trace, fun)
        del trace, outs
        check()
    return [value for value, _ in pairs], [axis for _, axis in pairs]


def batch_jaxpr(
    jaxpr: Jaxpr,
    mapped: MappedAxis,
    axes: tuple[BatchAxis, ...],
    in_front: tuple[bool, ...] | None = None,
) -> Batched:
    """Stage the batched form of a jaxpr, and say which axis of each result is the batch.

    Args:
        jaxpr: the program.
        mapped: the axis.
        axes: which axis of each parameter is the batch; None where there is none.
        in_front: which results must be batched, at the front, even where all examples agree.
    """
    chosen = mapped.active
    if chosen is not None and not effects(jaxpr).any:
        return batch_jaxpr(jaxpr, of_all(mapped), axes, in_front)

    def memoized(key: Hashable, make: Callable[[], Batched]) -> Batched:
        if chosen is None:
            return jaxpr.derive(key, make)
        cached = chosen.batched.get((jaxpr, key))
        if cached is None:
            cached = chosen.batched[jaxpr, key] = make()
        batched: Batched = cached
        return batched

    def make() -> Batched:
        axes_out: list[tuple[BatchAxis, ...]] = []

        def run(*args: Array) -> list[Array]:
            outs, out_axes = batch_flat(lambda *xs: eval_jaxpr(jaxpr, xs), mapped, args, axes)
            axes_out.append(tuple(out_axes))
            return outs

        avals = [
            batched_aval(a, axis, mapped.size, mapped.where)
            for a, axis in zip(jaxpr.in_avals, axes, strict=True)
        ]
        return stage(run, avals), axes_out[0]

    key = ("batch", mapped, axes, *current_trace().adapters)
    plain = memoized(key, make)
    staged, out_axes = plain
    if in_front is None:
        return plain
    front = tuple([0 if want else axis for axis, want in zip(out_axes, in_front, strict=True)])
    if front == out_axes:
        return plain

    def bring() -> Batched:
        def to_front(*outs: Array) -> list[Array]:
            return [
                move_batch_axis(out, axis, 0, mapped.size) if want else out
                for out, axis, want in zip(outs, out_axes, in_front, strict=True)
            ]

        return Staged(extend(staged.jaxpr, to_front), staged.consts), front

    return memoized((*key, in_front), bring)


def of_all(mapped: MappedAxis) -> MappedAxis:
    """Return the axis, with all its examples."""
    return mapped if mapped.active is None else attrs.evolve(mapped, active=None)


def axis_names(jaxpr: Jaxpr) -> frozenset[Hashable]:
    """Return the names of the axes that the collectives in a jaxpr are over."""

    def find() -> frozenset[Hashable]:
        names: set[Hashable] = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.rules.collective is not None:
                names.add(getattr(eqn.params, "axis_name", None))
            for inner in subjaxprs(eqn.params):
                names |= axis_names(inner)
        return frozenset(names)

    return jaxpr.derive("axis_names", find)


def communicating(jaxpr: Jaxpr) -> frozenset[Hashable]:
    """Return the axes over which collectives in a program combine values."""

    def find() -> frozenset[Hashable]:
        names: set[Hashable] = set()
        for eqn in jaxpr.eqns:
            if eqn.primitive.rules.collective is not None and eqn.inputs:
                names.add(getattr(eqn.params, "axis_name", None))
            for inner in subjaxprs(eqn.params):
                names |= communicating(inner)
        return frozenset(names)

    return jaxpr.derive("communicating", find)
