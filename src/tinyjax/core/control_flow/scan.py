"""``scan``: a loop of known length with a state, an input and an output for every iteration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, overload

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax._base import lazy
from tinyjax._base.frames import describe_function, imitate
from tinyjax.core.control_flow import bodies, common
from tinyjax.core.control_flow.looping import stage_loop
from tinyjax.core.control_flow.primitives import (
    ScanParams,
    bind_scan as bind_scan,  # noqa: PLC0414 (with its rules)
    prune_scan,
    scan_p as scan_p,  # noqa: PLC0414 (with its rules)
    trip_counts,
)
from tinyjax.core.control_flow.residuals import Residuals, are_large
from tinyjax.core.lowering import all_as_parts, as_parts, lower_jaxpr, parts_of_whole
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import calling, primitive as prim, program_rules, trace as tr
from tinyjax.core.tracing.calling import HOLDERS, whole_places
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Var, effects
from tinyjax.core.tracing.program_rules import ProgramEvaluator
from tinyjax.core.tracing.staging import Staged, is_called
from tinyjax.core.transforms.linearize import LinearizedJaxpr
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array, memory
from tinyjax.tree.treedef import in_words

C = TypeVar("C")
X = TypeVar("X")
Y = TypeVar("Y")


def _scan_program(args: Sequence[Any], params: ScanParams, run: ProgramEvaluator) -> Sequence[Any]:
    body, length = params.loop_body, params.length
    operands = body.operands(args)
    if not length:
        avals = av.stacked(body.out_avals.ys, 0)
        return [*operands.carry, *[np.empty(aval.shape, aval.dtype) for aval in avals]]

    def step(carry: Sequence[Any], slices: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        outs = run(params.jaxpr, [*operands.consts, *carry, *slices], length)
        return outs[: params.num_carry], outs[params.num_carry :]

    start, xs = operands.carry, operands.xs
    carry, ys = _iterate(step, start, xs, length, params.reverse, params.observer)
    return [*carry, *ys]


def _iterate(
    step: Callable[[C, Sequence[Any]], tuple[C, Sequence[Any]]],
    carry: C,
    xs: Sequence[Any],
    length: int,
    reverse: bool,
    observer: common.Observer | None,
) -> tuple[C, Sequence[Any]]:
    """Make the iterations of a loop in Python; return the last carry, and the outputs stacked."""
    stacks: list[Any] = []
    order = reversed(range(length)) if reverse else range(length)
    for i in order if observer is None else observer.follow(order):
        carry, ys = step(carry, [_row(x, i) for x in xs])
        if not stacks:
            stacks = [_room(y, length) for y in ys]
        for stack, y in zip(stacks, ys, strict=True):
            stack[i] = y
    return carry, [*map(_joined, stacks)]


def _row(x: Any, i: int) -> Any:
    if isinstance(x, Array):
        return sh.squeeze(slicing.slice_in_dim(x, i, i + 1), (0,))
    return x[i, ...]


def _room(y: Any, length: int) -> Any:
    """Return storage for a result of each iteration: a NumPy array, or a list of arrays."""
    return [y] * length if isinstance(y, Array) else memory((length, *y.shape), y.dtype)


def _joined(stack: Any) -> Any:
    if isinstance(stack, list):
        return slicing.concatenate([sh.reshape(y, (1, *y.shape)) for y in stack], 0)
    return stack


common.def_loop(scan_p, _scan_program, lambda params: params.length)


@scan_p.def_abstract_eval
def _scan_type(avals: prim.Avals, params: ScanParams) -> prim.Avals:
    jaxpr, m, n = params.jaxpr, params.num_carry, params.num_consts + params.num_carry
    takes, gives = jaxpr.in_avals, jaxpr.out_avals
    expected = [*takes[:n], *av.stacked(takes[n:], params.length)]
    if not (av.same_types(avals, expected) and av.alike(takes[n - m : n], gives[:m])):
        for x in avals[n:]:
            if not x.shape or x.shape[0] != params.length:
                raise errors.ArgumentError(
                    f"scan over {params.length} iterations was given an input of type {x}."
                )
        in_avals = [*avals[:n], *av.rows(avals[n:])]
        raise errors.ArgumentError(
            f"a loop body of type {jaxpr.type} was applied to ({', '.join(map(str, in_avals))})."
        )
    return [*gives[:m], *av.stacked(gives[m:], params.length)]


@scan_p.def_rule(program_rules.INLINING)
def _scan_inlining(params: ScanParams) -> Jaxpr | None:
    """Write the body in place of a loop of one iteration."""
    if params.length != 1:
        return None
    body = params.loop_body
    binders = body.binders
    outs = body.results(body.jaxpr.outs)
    xs = [Var(aval) for aval in av.stacked(body.in_avals.xs, 1)]
    stacks = [Var(aval) for aval in av.stacked(body.out_avals.ys, 1)]
    eqns = (*map(_reshaped, xs, binders.xs), *body.jaxpr.eqns, *map(_reshaped, outs.ys, stacks))
    return Jaxpr((*binders.consts, *binders.carry, *xs), eqns, (*outs.carry, *stacks))


def _reshaped(x: Atom, target: Var) -> JaxprEqn:
    return JaxprEqn(sh.reshape_p, (x,), sh.ReshapeParams(target.aval.shape), (target,))


@scan_p.def_rule(program_rules.FORWARDING)
def _scan_forwarding(params: ScanParams) -> tuple[int | None, ...]:
    """Return the operands that an iteration leaves unchanged."""
    k, m = params.num_consts, params.num_carry
    places = enumerate(program_rules.forwarded_parameters(params.jaxpr))
    return tuple([k + i if i < m and place == k + i else None for i, place in places])


@scan_p.def_lowering
def _scan_lowering(b: Lowering, operands: hlo.Values, params: ScanParams) -> hlo.Values:
    """Write a ``while`` whose state is the iteration, the operands, and the outputs so far.

    Outputs that are bfloat16 or float8 are kept by their bits: XLA would convert the whole stack in
    each iteration on CPU, which took 1.4 s for 16,000 rows of 64 (now 3 ms).
    """
    loop, length = params.loop_body, params.length
    counter = dtypes.int32 if ints.fit_int32((length,)) else dtypes.int64
    first_x, first_y = 1 + params.num_consts + params.num_carry, 1 + len(operands)

    avals, types = loop.in_avals, loop.out_avals.ys
    # these would be read from memory
    are_counters = [*map(b.is_iota, operands[first_x - 1 :])]
    index = partial(b.scalar, dtype=counter)

    def condition(state: list[hlo.SSAValue]) -> hlo.Values:
        return [b.compare(state[0], index(length - length % params.unroll), "LT")]

    def iteration(state: list[hlo.SSAValue]) -> list[hlo.SSAValue]:
        i, args, ys = state[0], loop.operands(state[1:first_y]), state[first_y:]
        place = b.sub(index(length - 1), i) if params.reverse else i
        rows = [
            b.convert(place, aval.dtype) if is_counter else _read_row(b, x, place, aval)
            for x, aval, is_counter in zip(args.xs, avals.xs, are_counters, strict=True)
        ]
        outs = lower_jaxpr(b, params.jaxpr, [*args.consts, *args.carry, *rows], repeated=True)
        after = loop.results(outs)
        ys = [
            _write_row(b, y, row, place, aval)
            for y, row, aval in zip(ys, after.ys, types, strict=True)
        ]
        return [b.add(i, index(1)), *args.consts, *after.carry, *args.xs, *ys]

    def as_parts(state: list[hlo.SSAValue]) -> list[hlo.SSAValue]:
        fixed = all_as_parts(b, state[1:first_x], [*avals.consts, *avals.carry])
        return [state[0], *fixed, *all_as_parts(b, state[first_x:], [*avals.xs, *types], length)]

    def body(state: list[hlo.SSAValue]) -> list[hlo.SSAValue]:
        outer, b.counter = b.counter, state[0]
        state = as_parts(state)
        for _ in range(params.unroll):
            state = iteration(state)
        b.counter = outer
        return as_parts(state)

    results = loop.results(b.results)
    zeros = [b.full(0, _kept_as(of, a)) for of, a in zip(results.ys, types, strict=True)]
    starting = [parts_of_whole(b, x, a, length) for x, a in zip(zeros, types, strict=True)]
    state = [index(0), *operands, *starting]
    ordered, observer = effects(params.jaxpr).ordered, params.observer
    if length >= params.unroll and length > 0:
        if observer is not None:
            state = observer.write_loop(b, state, condition, body, ordered, 0)
        elif length // params.unroll == 1:
            state = body(state)
        else:
            state = b.loop(state, condition, body, ordered)
    for _ in range(length % params.unroll):
        state = iteration(state)
    carry = loop.operands(state[1:first_y]).carry
    ys = [_read_as(b, y, of) for y, of in zip(state[first_y:], results.ys, strict=True)]
    return [*carry, *ys]


def _starts(b: Lowering, place: hlo.SSAValue, ndim: int) -> hlo.Values:
    return [place, *[b.scalar(0, place.dtype)] * (ndim - 1)]


def _read_row(
    b: Lowering, x: hlo.SSAValue, place: hlo.SSAValue, aval: av.ShapedArray
) -> hlo.SSAValue:
    row = b.dynamic_slice(x, _starts(b, place, len(x.shape)), (1, *x.shape[1:]))
    return as_parts(b, b.reshape(as_parts(b, row, aval, 1), x.shape[1:]), aval)


def _write_row(
    b: Lowering, y: hlo.SSAValue, row: hlo.SSAValue, place: hlo.SSAValue, aval: av.ShapedArray
) -> hlo.SSAValue:
    row = as_parts(b, b.reshape(row, (1, *row.shape)), aval, 1)
    stack = b.dynamic_update_slice(y, _read_as(b, row, y.type), _starts(b, place, len(y.shape)))
    return as_parts(b, stack, aval, y.shape[0])


def _read_as(b: Lowering, x: hlo.SSAValue, result: hlo.TensorType) -> hlo.SSAValue:
    return x if x.dtype == result.dtype else b.bitcast(x, result.dtype)


def _kept_as(result: hlo.TensorType, aval: av.ShapedArray) -> hlo.TensorType:
    """Return the type of a stack in the loop; partial sums stay partial."""
    if (aval.where is not None and aval.where.is_partial) or not dtypes.is_extended(result.dtype):
        return result
    return hlo.tensor(result.shape, np.dtype(f"u{result.dtype.itemsize}"))


# Transformations. In each the set of carried values that take part grows until it no longer does:
# what has a tangent, or a batch axis, after one iteration has it in the next.


@scan_p.def_jvp
def _scan_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: ScanParams) -> prim.JvpResult:
    """Bind a loop over the operands with their tangents."""
    body = params.loop_body
    args, given = body.operands(primals), body.operands(tangents)
    nonzero = body.tangents(body.operands(prim.nonzeros(tangents)))
    with_tangents, nonzero_out = body.with_tangents(nonzero)
    outs = bind_scan(with_tangents, args + bodies.first_tangents(args, given, nonzero), params)
    after, after_tangents = outs.divided(body.out_avals)
    return after.flat, prim.with_zeros(nonzero_out, after_tangents.flat)


def linearize_stacking(
    primals: prim.Arrays,
    nonzero: Sequence[bool],
    params: ScanParams,
    halves: tuple[bodies.LoopOperands[bool], LinearizedJaxpr] | None = None,
) -> prim.LinearizeResult:
    """Run a loop that stacks the residuals of every iteration, for a loop over those.

    A residual that is the same in every iteration (a constant, or computed from constants alone) is
    a constant of the tangent loop. A slice of an input is read from the input. An index that is
    computed from counters is recomputed. The carry, and other computed values, are stacked.

    Args:
        primals: the operands.
        nonzero: which of them have tangents.
        params: the parameters of the loop.
        halves: which operands have tangents in some iteration, and the body, linearized.
    """
    body, num_outs = params.loop_body, len(params.jaxpr.outs)
    args = body.operands(primals)
    nonzero_in, lin = halves or body.linearized(body.operands(nonzero))
    kept = Residuals.collect(lin, args, num_outs)
    outs = bind_scan(kept.body, args, params).flat
    reading, values, eqns, names = kept.read(lin, args, outs[num_outs:], params)
    reading += nonzero_in.cut(lin.tangent.in_binders[len(lin.forwarded) :])
    renamed, tangent_outs = program_rules.renamed(lin.tangent, names)
    tangent = bodies.LoopBody.make(reading, (*eqns, *renamed), tangent_outs)

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        given = body.operands(prim.with_zeros(nonzero, tangents))
        return bind_scan(
            tangent,
            values + bodies.first_tangents(args, given, nonzero_in),
            attrs.evolve(params, observer=common.in_phase(params.observer, "tangent")),
        ).flat

    return outs[:num_outs], lin.nonzero_out, tangent_map


@scan_p.def_linearize
def _scan_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: ScanParams
) -> prim.LinearizeResult:
    if counting := trip_counts(params.jaxpr):
        params = counting.of_scan(params, primals)
    if params.checkpoints is None or not params.length:
        halves = params.loop_body.linearized(params.loop_body.operands(nonzero))
        if not are_large(halves[1], params.length) or lazy.hook("reversal") is None:
            return linearize_stacking(primals, nonzero, params, halves)
    return scan_p.rule(program_rules.REVERSAL)(primals, nonzero, params)


scan_p.def_rule(program_rules.PRUNE)(prune_scan)


@scan_p.def_rule(program_rules.DEPENDENCE)
def _scan_dependence(params: ScanParams, dependent: tuple[bool, ...]) -> tuple[bool, ...]:
    body = params.loop_body
    operands = body.dependent(body.operands(dependent))
    return (*operands.carry, *body.results(program_rules.depends(body.jaxpr, operands.flat)).ys)


@scan_p.def_rule(program_rules.LIVE_ROOT)
def _scan_is_live_root(params: ScanParams) -> bool:
    # an iteration may begin with a cotangent though none comes from outside
    return program_rules.contains_live_root(params.jaxpr)


@scan_p.def_transpose
def _scan_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: ScanParams
) -> prim.Cotangents:
    """Bind a loop the other way over the transposed body."""
    body = params.loop_body
    args, given = body.operands(operands), body.results(cotangents)
    undefined = prim.are_undefined(operands)
    # A carry that starts from a known value (a zero) is linear where it meets linear values later.
    linear = body.dependent(body.operands(undefined))
    known = _known_operands(args, linear, params)
    avals = body.in_avals.marked(linear)
    sums = [sh.zero_cotangent(aval) for aval in avals.consts]
    last = bodies.cotangents_of(prim.marked(given.carry, linear.carry), avals.carry)
    outs = bind_scan(
        body.transposed(linear, prim.nonzeros(given.ys)),
        bodies.LoopOperands(known.consts, [*sums, *last], [*known.xs, *prim.present(given.ys)]),
        attrs.evolve(
            params,
            reverse=not params.reverse,
            observer=common.in_phase(params.observer, "backward"),
        ),
    )
    into = prim.fill_list(linear.flat, outs.flat, None)
    return [ct if mark else None for ct, mark in zip(into, undefined, strict=True)]


def _known_operands(
    operands: bodies.LoopOperands[Array | prim.UndefinedPrimal],
    linear: bodies.LoopOperands[bool],
    params: ScanParams,
) -> bodies.LoopOperands[Array]:
    """Return the values that a transposed body reads: constants, and slices by iteration.

    A carry that is not linear (a counter) is computed first, by a loop that stacks its values.
    """
    consts, xs = prim.defined(operands.consts), prim.defined(operands.xs)
    if all(linear.carry):
        return bodies.LoopOperands(consts, (), xs)
    body = params.loop_body
    dependent = program_rules.dependents(body.jaxpr.eqns, body.binders.marked(linear).flat)
    parts = [program_rules.independent_part(eqn, dependent) for eqn in body.jaxpr.eqns]
    binders, _ = body.binders.partitioned(linear)
    first = prim.defined(operands.partitioned(linear)[0].carry)
    after, _ = prim.partition_list(linear.carry, body.results(body.jaxpr.outs).carry)
    eqns = [eqn for eqn in parts if eqn is not None]
    forward = bodies.LoopBody.make(binders, eqns, (*after, *binders.carry))
    unobserved = attrs.evolve(params, observer=None)
    stacks = bind_scan(forward, bodies.LoopOperands(consts, first, xs), unobserved).ys
    return bodies.LoopOperands(consts, (), [*stacks, *xs])


@scan_p.def_batch
def _scan_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ScanParams
) -> prim.BatchResult:
    """Bind a loop over the batched body.

    The batch axis of an input stays where it is, unless the loop goes along it: nested loops would
    otherwise move each residual once per level.
    """
    body = params.loop_body
    args, given = body.operands(values), body.operands(axes)
    in_axes = bodies.LoopOperands(
        common.at_front([axis is not None for axis in given.consts]),
        (),
        [None if axis is None else max(axis - 1, 0) for axis in given.xs],
    )
    carry = bodies.grown(
        given.each(lambda part: [axis is not None for axis in part]),
        lambda batched: [
            axis is not None for axis in body.batched(mapped, in_axes, batched.carry)[1].carry
        ],
    ).carry
    batched, out_axes = body.batched(mapped, in_axes, carry)
    consts = sh.batch_axes_in_front(args.consts, given.consts)
    xs = [sh.moveaxis(x, 0, 1) if a == 0 else x for x, a in zip(args.xs, given.xs, strict=True)]
    init = common.batched_state(mapped, args.carry, given.carry, carry)
    outs = bind_scan(batched, bodies.LoopOperands(consts, init, xs), params)
    ys_axes = [None if axis is None else axis + 1 for axis in out_axes.ys]
    return outs.flat, (*common.at_front(carry), *ys_axes)


# The function


@overload
def scan(
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X,
    length: int | None = ...,
    reverse: bool = ...,
    unroll: int | bool = ...,
    *,
    checkpoints: int | None = ...,
) -> tuple[C, Y]: ...
@overload
def scan(
    f: Callable[[C, Any], tuple[C, Y]],
    init: C,
    xs: None = ...,
    length: int | None = ...,
    reverse: bool = ...,
    unroll: int | bool = ...,
    *,
    checkpoints: int | None = ...,
) -> tuple[C, Y]: ...
@checked
def scan(
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X | None = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    checkpoints: int | None = None,
) -> tuple[C, Y]:
    """Run ``carry, y = f(carry, x)`` for every slice ``x`` of ``xs``, and stack the ``y``.

    The loop is one equation, compiled once whatever its length. Forward mode keeps nothing. Reverse
    mode keeps the residuals of every iteration, or, with ``checkpoints``, that many carries, the
    first included. It then runs the body again from those carries, with the fewest iterations that
    their number allows (Griewank and Walther, "Algorithm 799: revolve", ACM Transactions on
    Mathematical Software 26(1), 2000). With ``s`` checkpoints, a loop of up to
    ``(s + r)! / (s! r!)`` iterations runs each iteration at most ``r`` times, the first run
    included, and once more to differentiate it. A callback in the body is called every time.

    Args:
        f: takes the carry and one slice of ``xs`` along its first axis; returns the new carry, a
            tree of arrays of the same shapes and dtypes, and an output.
        init: the first carry.
        xs: a tree of arrays whose first axes have the same size; None for no input.
        length: the number of iterations; needed only where ``xs`` is None.
        reverse: whether to go from the last slice to the first; outputs stay with their slices.
        unroll: the number of iterations in one step of the compiled loop; True or 0 for all, False
            for one.
        checkpoints: the number of carries that reverse mode keeps at a time, at least one; None to
            keep the residuals of every iteration.

    Returns:
        The last carry, and the outputs stacked along a new first axis.

    Raises:
        ArgumentError: ``xs`` differ in length, or there is neither ``xs`` nor ``length``; or
            ``unroll`` is negative, or ``checkpoints`` is not positive.
        CarryTypeError: the carry changes its structure or type; the message says which leaf.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> first = jnp.zeros(())
        >>> lax.scan(lambda total, x: (total + x, total), first, jnp.arange(4.0))
        (Array(6., dtype=float32), Array([0., 0., 1., 3.], dtype=float32))
    """
    if checkpoints is not None:
        common.check_checkpoints("scan", checkpoints)
    x_leaves = tree.leaves(xs)
    held = whole_places(x_leaves) if HOLDERS else ()
    if held:
        options = {"length": length, "reverse": reverse, "unroll": unroll}
        return _over_parts(partial(scan, **options, checkpoints=checkpoints), f, init, xs, held)
    inputs = [as_array(x) for x in x_leaves]
    iterations = _length(f, inputs, xs, length)
    init_leaves, carry_tree = tree.flatten(init)
    carry = calling.as_arrays(init_leaves, f, tree.structure(((init,), {})))
    if iterations and is_called():
        first: C = tree.unflatten(carry_tree, carry)
        return _call_repeatedly(f, first, inputs, xs, iterations, reverse)
    slices = av.rows([x.aval for x in inputs])
    in_tree = tree.structure(((init, xs), {}))
    y_trees: list[tree.PyTreeDef] = []

    def stage_body(avals: Sequence[av.ShapedArray]) -> tuple[Staged, tree.PyTreeDef]:
        staged, out_tree = common.stage_function(f, in_tree, [*avals, *slices], "scan")
        new_carry, y_tree = _pair(f, out_tree)
        y_trees.append(y_tree)
        return staged, new_carry

    loop = stage_loop(scan_p, "scan", f, carry, carry_tree, stage_body, iterations)
    params = ScanParams(
        loop.body.jaxpr,
        len(loop.body.consts),
        len(loop.carry),
        iterations,
        bool(reverse),
        _unrolled(unroll, iterations),
        checkpoints,
        loop.observer,
    )
    last, ys = loop.run(lambda operands: tr.bind(scan_p, operands, params), inputs, iterations)
    return tree.unflatten(carry_tree, last), tree.unflatten(y_trees[-1], ys)


def _over_parts(
    loop: Callable[..., tuple[C, Any]],
    f: Callable[[C, X], tuple[C, Y]],
    init: C,
    xs: X | None,
    indices: Sequence[int],
) -> tuple[C, Y]:
    """Scan over objects that hold arrays in place: each iteration reads and writes its own part."""
    leaves, x_tree = tree.flatten(xs)
    holder = HOLDERS[type(leaves[indices[0]])]
    parts = holder.parts(leaves, indices, describe_function(f))
    slices = [holder.opened(x)[0][0] if i in indices else x for i, x in enumerate(leaves)]

    def body(carry: C, x: Sequence[Array]) -> Any:
        own = parts.own(x)
        out: Any = f(carry, tree.unflatten(x_tree, own))
        if not isinstance(out, tuple) or len(out) != 2:
            return out  # which scan says
        return out[0], (out[1], parts.final_contents(own))

    with parts.mapped("scan"):
        last, (ys, left) = parts.with_states(
            lambda states: loop(imitate(body, f), init, [*slices, *states])
        )
    parts.keep(left)
    return last, ys


def _call_repeatedly(
    f: Callable[[C, X], tuple[C, Y]],
    carry: C,
    inputs: Sequence[Array],
    xs: X | None,
    iterations: int,
    reverse: bool,
) -> tuple[C, Y]:
    """Call the function for each iteration, in place of a program."""
    x_tree = tree.structure(xs)
    y_trees: list[tree.PyTreeDef] = []

    def step(carry: C, slices: Sequence[Array]) -> tuple[C, Sequence[Array]]:
        args = carry, tree.unflatten(x_tree, slices)
        flat = calling.FlatFunction(f, tree.structure((args, {})))
        outs = flat(*tree.leaves(args))
        carry_tree, y_tree = _pair(f, flat.out_tree)
        y_trees[:] = [y_tree]
        n = carry_tree.num_leaves
        return tree.unflatten(carry_tree, outs[:n]), outs[n:]

    observer = common.observer_of(scan_p, "scan", f, iterations)
    last, ys = _iterate(step, carry, inputs, iterations, reverse, observer)
    return last, tree.unflatten(y_trees[0], ys)


def _length(f: Callable[..., Any], inputs: Sequence[Array], xs: Any, length: int | None) -> int:
    """Return the number of iterations, which the inputs and ``length`` must agree on."""

    def path(place: int) -> str:
        return calling.leaf_path("xs", tree.structure(xs), place)

    lengths: dict[int, int | None] = {}  # the first input that has each, or None for ``length``
    if length is not None:
        lengths[ints.integer(length, "length of scan")] = None
    for i, x in enumerate(inputs):
        aval = x._aval or x.aval
        if not aval.shape:
            raise errors.ArgumentError(
                f"scan got value with no leading axis to scan over: {path(i)}, a scalar of type "
                f"{aval}. Close over it, or put it into the carry."
            )
        if aval.where is not None:
            aval.where.check_rows(aval, path(i))
        lengths.setdefault(aval.shape[0], i)
    if not lengths:
        raise errors.ArgumentError(
            "scan got no values to scan over and `length` not provided. Give length: how many "
            f"times to run {describe_function(f)}."
        )
    for n in lengths:
        if type(n) is int and n < 0:
            raise errors.ArgumentError(f"length of scan must not be negative, but got {n}.")
        if type(n) is int and n >= 1 << 63:
            raise errors.ArgumentError(
                f"{describe_function(f)} is the body of a loop of {n} iterations, which are more "
                "than an int64 counts."
            )
    if len(lengths) > 1:
        of_inputs = {n: path(i) for n, i in lengths.items() if i is not None}
        sizes = ", ".join(f"{path} has {n}" for n, path in of_inputs.items())
        what = (
            f"`length` argument of {length} which disagrees with leading axis sizes "
            f"{sorted(of_inputs)}"
            if None in lengths.values()
            else "values with different leading axis sizes"
        )
        raise errors.ArgumentError(
            f"scan got {what}: {sizes}. They are what {describe_function(f)} goes over, and must "
            "be of one size along their first axes."
        )
    return next(iter(lengths))


def _unrolled(unroll: int | bool, iterations: int) -> int:
    if isinstance(unroll, bool):
        return max(iterations, 1) if unroll else 1
    if unroll < 0:
        raise errors.ArgumentError(
            f"`unroll` must be a `bool` or a non-negative `int`, but scan was given {unroll}."
        )
    return min(unroll or iterations, iterations) or 1


def _pair(f: Callable[..., Any], out_tree: tree.PyTreeDef) -> tuple[tree.PyTreeDef, tree.PyTreeDef]:
    """Return the structures of the new carry and of the output."""
    if out_tree.node_type is not tuple or len(out_tree.children()) != 2:
        raise errors.CarryTypeError(
            f"scan body output must be a pair, got {in_words(out_tree)}. Return (carry, None) from "
            f"{describe_function(f)} where there is no output."
        )
    carry, y = out_tree.children()
    return carry, y
