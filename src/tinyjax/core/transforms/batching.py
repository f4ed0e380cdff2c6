"""Batching: one program that computes many examples.

A ``BatchTracer`` holds an array with one axis more than it shows, the batch axis. The trace applies
each primitive's ``batch`` rule, which computes over that axis too. A value without a batch axis has
no tracer. For a primitive that names an axis (a collective), the trace of that name applies the
``collective`` rule.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, TypeAlias, TypeVar

import attrs

from tinyjax.config import settings
from tinyjax.core.primitives.shape import move_batch_axis, squeeze
from tinyjax.core.primitives.slicing import slice_in_dim
from tinyjax.core.tracing.closures import holds_tracer, tracers_in
from tinyjax.core.tracing.jaxpr import Jaxpr, effects, eval_jaxpr, subjaxprs
from tinyjax.core.tracing.list_partition import fill_list, marked
from tinyjax.core.tracing.primitive import ZERO, MappedAxis, Primitive, Tangent
from tinyjax.core.tracing.staging import Staged, extend, stage
from tinyjax.core.tracing.tangents import with_zeros
from tinyjax.core.tracing.trace import (
    BatchingRule,
    CustomCall,
    Running,
    Trace,
    Tracer,
    current_trace,
    enclosing_traces,
    is_known,
    leak_check,
    on_top,
    reset_trace,
    set_trace,
    stand_in,
    use_trace,
)
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import DType, is_inexact
from tinyjax.errors import ArgumentError

P = TypeVar("P")
BatchAxis = int | None
#: A program, and which axis of each of its results is the batch.
Batched = tuple[Staged, tuple[BatchAxis, ...]]


class BatchTracer(Tracer):
    """An array, and which of its axes is the batch."""

    __slots__ = ("_example", "axis", "value")

    def __init__(
        self, trace: Trace, value: Array, axis: int, example: ShapedArray | None = None
    ) -> None:
        self._trace = trace
        self.value: Array = value
        self.axis: int = axis
        self._example = example

    @property
    def val(self) -> Array:
        """The whole batch, by JAX's name."""
        return self.value

    @property
    def aval(self) -> ShapedArray:
        example = self._example
        if example is None:
            example = self._example = unbatched_aval(self.value.aval, self.axis)
        return example

    # asked for at every operation, so answered without going through aval
    @property
    def shape(self) -> tuple[int, ...]:
        example = self._example
        return self.aval.shape if example is None else example.shape

    @property
    def dtype(self) -> DType:
        example = self._example
        return self.value.dtype if example is None else example.dtype

    @property
    def ndim(self) -> int:
        return self.value.ndim - 1

    @property
    def weak_type(self) -> bool:
        example = self._example
        return self.value.weak_type if example is None else example.weak_type

    def components(self) -> Sequence[Array]:
        return (self.value,)

    def held(self) -> dict[str, object]:
        return {"batch": self.value, "axis": self.axis} if is_known(self.value) else {}


def unbatched_aval(aval: ShapedArray, axis: int) -> ShapedArray:
    """The type without its batch axis."""
    if axis == 0:  # nearly always
        return aval.row()
    return aval.removed(axis)


def batched_aval(
    aval: ShapedArray, axis: BatchAxis, size: int, divided: tuple[str, ...] = ()
) -> ShapedArray:
    """The type with a batch axis inserted; without one for None."""
    return aval if axis is None else aval.inserted(axis, size, divided)


class BatchTrace(Trace):
    """Applies ``batch`` rules to the primitives that touch its tracers.

    Attributes:
        mapped: the axis: its size, and what collectives call it.
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
                values.append(arg.value)
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
        known: Sequence[ShapedArray] | None = None
        if rules.evaluate is None:
            # of one example: the rule sees the operands of all, and may have more that fit
            try:
                known = rules.types[tuple(key)][0]
            except (KeyError, TypeError):  # types not met before, parameters that have no hash
                known = primitive.check_types(key[1:], params)
        token = set_trace(self.parent)
        try:
            outs, out_axes = rule(self.mapped, values, axes, params)
        finally:
            reset_trace(token)
        if len(outs) == 1:  # nearly always, and faster than the loop
            (out,), (axis,) = outs, out_axes
            if axis is None:
                return (out,)
            return (BatchTracer(self, out, axis, known[0] if known else None),)
        results: list[Array] = []
        for out, axis in zip(outs, out_axes, strict=True):
            results.append(out if axis is None else BatchTracer(self, out, axis))
        return results

    def collects(self, primitive: Primitive[P], params: P) -> bool:
        """Whether a primitive is a collective over this trace's axis."""
        is_over = getattr(params, "axis_name", None) == self.mapped.name
        return is_over and primitive.rules.collective is not None

    def _named_in(self, primitive: Primitive[P], params: P) -> bool:
        """Whether a program in the parameters has a collective over this trace's axis."""
        name = self.mapped.name
        if name is None or primitive.rules.evaluate is None:
            return False
        return any(name in axis_names(jaxpr) for jaxpr in subjaxprs(params))

    def process_custom_call(self, call: CustomCall, args: Sequence[Array]) -> Sequence[Array]:
        """Apply the batching rule, or pass the call on with its callables batched."""
        pairs = [self.split(x) for x in args]
        values, axes = [value for value, _ in pairs], [axis for _, axis in pairs]
        if call.batch is not None:
            if any(axis is not None for axis in axes):
                return self._apply_batching_rule(call, call.batch, pairs)
            if not (call.closes_over_tracer or holds_tracer(tuple(call.consts))):
                return self.parent.process_custom_call(call, args)
        placed = _PlacedResults(self)
        below = _batched_call(self, call, axes, placed)
        outs = self.parent.process_custom_call(below, values)
        with use_trace(self.parent):
            if below.jvp is not None and not placed.all_vary and _is_recorded_here():
                # The rule comes later, and its tangent may vary where the result does not.
                pattern = call.key, tuple([axis is not None for axis in axes])
                if not _probe(below, values, pattern):
                    placed.let_all_vary()
            return placed.results(outs)

    def _apply_batching_rule(
        self, call: CustomCall, rule: BatchingRule, pairs: Sequence[tuple[Array, BatchAxis]]
    ) -> Sequence[Array]:
        for tracer in tracers_in(call.batch_rule):
            live = tracer._trace.live
            if not live or _is_part_of(self, tracer):
                what = (
                    "that the same vmap maps"
                    if live
                    else "that was traced when it was staged (by jit or a loop)"
                )
                raise ArgumentError(
                    f"the vmap rule of {call.name} closes over a value {what}, or is given a "
                    "reference to it, and is applied to all examples at once. Make the value "
                    f"itself an argument of {call.name}."
                )
        size = self.mapped.size
        with use_trace(self.parent):
            moved = [x if a is None else move_batch_axis(x, a, 0, size) for x, a in pairs]
            outs, batched = rule(self.mapped, moved, [a is not None for _, a in pairs])
        return [
            BatchTracer(self, out, 0) if has else out
            for out, has in zip(outs, batched, strict=True)
        ]

    def mapped_axis(self) -> MappedAxis | None:
        return of_all(self.mapped)

    def split(self, value: Array) -> tuple[Array, BatchAxis]:
        """Return the array and batch axis of a value, which may be a constant to this trace."""
        if type(value) is BatchTracer and value._trace is self:
            return value.value, value.axis
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
    trace = stand_in(BatchTrace, parent, current)(parent, mapped, user_fun)
    with Running(trace):
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
    chosen = mapped.taking_part
    if chosen is not None and not effects(jaxpr).any:
        return batch_jaxpr(jaxpr, of_all(mapped), axes, in_front)

    def kept(key: Hashable, make: Callable[[], Batched]) -> Batched:
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
            batched_aval(a, axis, mapped.size, mapped.divided)
            for a, axis in zip(jaxpr.in_avals, axes, strict=True)
        ]
        return stage(run, avals), axes_out[0]

    plain = kept(("batch", mapped, axes), make)
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

    return kept(("batch", mapped, axes, in_front), bring)


def of_all(mapped: MappedAxis) -> MappedAxis:
    """The axis, with all its examples."""
    return mapped if mapped.taking_part is None else attrs.evolve(mapped, taking_part=None)


def axis_names(jaxpr: Jaxpr) -> frozenset[Hashable]:
    """The names of the axes that the collectives in a jaxpr are over."""

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


# Calls with rules of their own


def _batched_call(
    trace: BatchTrace, call: CustomCall, axes: Sequence[BatchAxis], placed: _PlacedResults
) -> CustomCall:
    """Return a call whose callables take batches, for the traces below."""

    def wrap(values: Sequence[Array]) -> list[Array]:
        return [
            x if axis is None else BatchTracer(trace, x, axis)
            for x, axis in zip(values, axes, strict=True)
        ]

    def fun(*values: Array) -> Sequence[Array]:
        with on_top(trace):
            outs = call.fun(*wrap(values))
        return placed.place(outs)

    def jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent]
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        assert call.jvp is not None, "asked only where there is a rule"
        asking: AbstractContextManager[Sequence[_Varying]] = (
            _asking(trace.mapped) if call.reverse else nullcontext(())
        )
        with on_top(trace), asking as told:
            wrapped = [
                t if t is ZERO or axis is None else BatchTracer(trace, t, axis)
                for t, axis in zip(tangents, axes, strict=True)
            ]
            outs, out_tangents = call.jvp(wrap(primals), wrapped)
        primals_out = placed.place(outs)
        filled = [out if t is ZERO else t for out, t in zip(outs, out_tangents, strict=True)]
        moved = placed.place(filled, counts=not call.reverse)
        if told and not placed.all_vary:
            inexact = [is_inexact(out.dtype) for out in outs]
            placed.count(fill_list(inexact, told[0](), False))
        return primals_out, [
            ZERO if t is ZERO else x for t, x in zip(out_tangents, moved, strict=True)
        ]

    return attrs.evolve(
        call, fun=fun, jvp=None if call.jvp is None else jvp, batch=None, batch_rule=None, consts=()
    )


#: What finds out of which results the derivatives differ from example to example.
_Varying: TypeAlias = Callable[[], Sequence[bool]]
# The axes for which that is asked, the innermost last.
_asked: ContextVar[tuple[tuple[MappedAxis, list[_Varying]], ...]] = ContextVar(
    "tinyjax_axes_asked_for", default=()
)


@contextmanager
def _asking(mapped: MappedAxis) -> Iterator[Sequence[_Varying]]:
    told: list[_Varying] = []
    token = _asked.set((*_asked.get(), (mapped, told)))
    try:
        yield told
    finally:
        _asked.reset(token)


def tell(mapped: MappedAxis, varying: _Varying) -> None:
    """Say how to find out of which results of a linear map its transpose differs between examples.

    Of a map that is given by its transpose no tangent tells: a result that is the same for all
    examples may have a rule that multiplies its cotangent by each example's own number.
    """
    for asked, told in _asked.get():
        if asked is mapped:
            told.append(varying)


def _is_recorded_here() -> bool:
    return any(trace.recording for trace in enclosing_traces())


def _is_part_of(trace: Trace, value: Array) -> bool:
    """Say whether a value is a tracer of a trace, which others may have wrapped."""
    return trace.owns(value) or (
        isinstance(value, Tracer) and any(_is_part_of(trace, x) for x in value.components())
    )


class _PlacedResults:
    """The batch axes of a call's results.

    Function and rule, of which the traces below run either or both, now or later, may batch
    different results. So all of them are given a batch axis, unless nothing is below; those that
    turn out to be the same for all examples lose it again.
    """

    def __init__(self, trace: BatchTrace) -> None:
        self.trace = trace
        self.everything = not trace.parent.evaluates
        #: Which results have differed from example to example; None before the first run.
        self.varying: list[bool] | None = None
        self.axes: list[BatchAxis] = []

    def place(self, outs: Sequence[Array], counts: bool = True) -> list[Array]:
        """Move the batch axes of results, or of their tangents, to where they are wanted.

        Args:
            outs: the results.
            counts: whether one that is batched may differ from example to example.
        """
        pairs = [self.trace.split(out) for out in outs]
        varying = [axis is not None for _, axis in pairs]
        if self.varying is None:
            self.varying = varying
            self.axes = [0 if self.everything else axis for _, axis in pairs]
        elif counts:
            self.count(varying)
        return [
            value if axis == to or to is None else move_batch_axis(value, axis, to, self.size)
            for (value, axis), to in zip(pairs, self.axes, strict=True)
        ]

    def results(self, outs: Sequence[Array]) -> list[Array]:
        """The results of the call below, as this trace's."""
        assert self.varying is not None, "the function or its rule has run"
        results: list[Array] = []
        for out, axis, varies in zip(outs, self.axes, self.varying, strict=True):
            if axis is None:
                results.append(out)
            elif varies or not self.size:
                results.append(BatchTracer(self.trace, out, axis))
            else:
                results.append(squeeze(slice_in_dim(out, 0, 1), (0,)))
        return results

    def count(self, varying: Sequence[bool]) -> None:
        """Take some results for ones that may differ from example to example."""
        assert self.varying is not None, "the function or its rule has run"
        self.varying = [a or b for a, b in zip(self.varying, varying, strict=True)]

    @property
    def all_vary(self) -> bool:
        assert self.varying is not None, "the function or its rule has run"
        return all(self.varying)

    def let_all_vary(self) -> None:
        """Take every result for one that may differ from example to example."""
        self.varying = [True] * len(self.axes)

    @property
    def size(self) -> int:
        return self.trace.mapped.size


#: A call by its key, and which of its arguments are batched.
_Pattern = tuple[int | None, tuple[bool, ...]]
# The calls whose rules are being run to see what they batch.
_probed: ContextVar[tuple[_Pattern, ...]] = ContextVar("tinyjax_rules_being_probed", default=())


def _probe(call: CustomCall, args: Sequence[Array], pattern: _Pattern) -> bool:
    """Run the rule of a batched call for types alone, so that what it batches is known.

    Returns:
        Whether that is known: not where the rule cannot be staged, nor inside the rule of another
        function, which would make the work grow faster than the program.
    """
    jvp, under_way = call.jvp, _probed.get()
    if pattern in under_way:  # what a rule calls its own function for is what is being found out
        return True
    if any(key != call.key for key, _ in under_way):
        return False
    token = _probed.set((*under_way, pattern))
    try:
        avals = [x.aval for x in args]
        nonzero = [is_inexact(a.dtype) for a in avals]

        def run(*values: Array) -> Sequence[Array]:
            n = len(avals)
            assert jvp is not None, "asked only where there is a rule"
            return jvp(values[:n], with_zeros(nonzero, values[n:]))[0]

        stage(run, [*avals, *marked(avals, nonzero)])
    except Exception:  # it is told when a derivative is wanted
        return False
    finally:
        _probed.reset(token)
    return True
