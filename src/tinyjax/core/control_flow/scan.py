"""``scan``: a loop of known length with a state, an input and an output for every iteration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, overload

import attrs
import numpy as np

from tinyjax import dtypes, errors, tree
from tinyjax.core.control_flow import common as cf, primitives as cfp
from tinyjax.core.control_flow.looping import stage_loop
from tinyjax.core.control_flow.primitives import (
    ScanParams,
    bind_scan as bind_scan,  # noqa: PLC0414 (with its rules)
    scan_body_jvp,
    scan_p as scan_p,  # noqa: PLC0414 (with its rules)
)
from tinyjax.core.lowering import all_as_parts, as_parts, lower_jaxpr, parts_of_whole
from tinyjax.core.primitives import rules as ru, shape as sh, slicing as sl
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import (
    calling,
    primitive as prim,
    program_rules as pr,
    staging as stg,
    trace as tr,
)
from tinyjax.core.tracing.calling import HOLDERS, whole_places
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.jaxpr import Atom, Jaxpr, JaxprEqn, Var, effects, effects_of, eval_jaxpr
from tinyjax.core.tracing.program_rules import Run
from tinyjax.core.tracing.staging import is_called
from tinyjax.core.transforms import batching as bt, linearize as lz, transpose as tp
from tinyjax.core.values import avals as av, integers as ints
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.frames import describe_function, imitate
from tinyjax.tree.treedef import in_words

C = TypeVar("C")
X = TypeVar("X")
Y = TypeVar("Y")


def _scan_program(args: Sequence[Any], params: ScanParams, run: Run) -> Sequence[Any]:
    jaxpr, m, length = params.jaxpr, params.num_carry, params.length
    consts, init, xs = prim.split_list(args, params.num_consts, m)
    if not length:
        avals = av.stacked(jaxpr.out_avals[m:], 0)
        return [*init, *[np.empty(aval.shape, aval.dtype) for aval in avals]]

    def step(carry: Sequence[Any], slices: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
        outs = run(jaxpr, [*consts, *carry, *slices], length)
        return outs[:m], outs[m:]

    carry: Sequence[Any] = init
    carry, ys = _iterate(step, carry, xs, length, params.reverse, params.observer)
    return [*carry, *ys]


def _iterate(
    step: Callable[[C, Sequence[Any]], tuple[C, Sequence[Any]]],
    carry: C,
    xs: Sequence[Any],
    length: int,
    reverse: bool,
    observer: cf.Observer | None,
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
        return sh.squeeze(sl.slice_in_dim(x, i, i + 1), (0,))
    return x[i, ...]


def _room(y: Any, length: int) -> Any:
    """Room for a result of each iteration: a NumPy array, or a list of arrays."""
    return [y] * length if isinstance(y, Array) else np.empty((length, *y.shape), y.dtype)


def _joined(stack: Any) -> Any:
    if isinstance(stack, list):
        return sl.concatenate([sh.reshape(y, (1, *y.shape)) for y in stack], 0)
    return stack


cf.def_loop(scan_p, _scan_program, lambda params: params.length)


@scan_p.def_abstract_eval
def _scan_type(avals: prim.Avals, params: ScanParams) -> prim.Avals:
    jaxpr, m, n = params.jaxpr, params.num_carry, params.num_consts + params.num_carry
    takes, gives = jaxpr.in_avals, jaxpr.out_avals
    expected = [*takes[:n], *av.stacked(takes[n:], params.length)]
    if not (av.same_types(avals, expected) and av.alike(takes[params.num_consts : n], gives[:m])):
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


@scan_p.def_rule(pr.INLINED)
def _scan_inlined(params: ScanParams) -> Jaxpr | None:
    """A loop of one iteration is its body."""
    if params.length != 1:
        return None
    body, first, m = params.jaxpr, params.num_consts + params.num_carry, params.num_carry
    slices, ys = body.in_binders[first:], body.outs[m:]
    xs = [Var(aval) for aval in av.stacked(body.in_avals[first:], 1)]
    stacks = [Var(aval) for aval in av.stacked(body.out_avals[m:], 1)]
    eqns = (*map(_reshaped, xs, slices), *body.eqns, *map(_reshaped, ys, stacks))
    return Jaxpr((*body.in_binders[:first], *xs), eqns, (*body.outs[:m], *stacks))


def _reshaped(x: Atom, to: Var) -> JaxprEqn:
    return JaxprEqn(sh.reshape_p, (x,), sh.ReshapeParams(to.aval.shape), (to,))


@scan_p.def_rule(pr.FORWARDS)
def _scan_forwards(params: ScanParams) -> tuple[int | None, ...]:
    """What an iteration leaves as it is."""
    k, m = params.num_consts, params.num_carry
    places = enumerate(pr.handed_on(params.jaxpr))
    return tuple([k + i if i < m and place == k + i else None for i, place in places])


@scan_p.def_lowering
def _scan_lowering(b: Lowering, operands: hlo.Values, params: ScanParams) -> hlo.Values:
    """A ``while`` whose state is the iteration, the operands, and the outputs so far.

    Outputs that are bfloat16 or float8 are kept by their bits: XLA would convert the whole stack in
    each iteration on CPU, which took 1.4 s for 16,000 rows of 64 (now 3 ms).
    """
    num_consts, num_carry, length = params.num_consts, params.num_carry, params.length
    num_xs = len(operands) - num_consts - num_carry
    counter = dtypes.int32 if ints.fit_int32((length,)) else dtypes.int64

    types = params.jaxpr.out_avals[num_carry:]
    fixed_types, row_types = prim.split_list(params.jaxpr.in_avals, num_consts + num_carry)

    index = partial(b.scalar, dtype=counter)
    state_types = [*fixed_types, *[_in_rows(aval, length) for aval in (*row_types, *types)]]

    def condition(state: list[hlo.Value]) -> hlo.Values:
        return [b.compare(state[0], index(length - length % params.unroll), "LT")]

    def iteration(state: list[hlo.Value]) -> list[hlo.Value]:
        (i,), consts, carry, xs, ys = prim.split_list(state, 1, num_consts, num_carry, num_xs)
        place = b.sub(index(length - 1), i) if params.reverse else i
        rows = [_read_row(b, x, place, aval) for x, aval in zip(xs, row_types, strict=True)]
        outs = lower_jaxpr(b, params.jaxpr, [*consts, *carry, *rows])
        carry, rows = prim.split_list(outs, num_carry)
        ys = [
            _write_row(b, y, row, place, aval) for y, row, aval in zip(ys, rows, types, strict=True)
        ]
        return [b.add(i, index(1)), *consts, *carry, *xs, *ys]

    def body(state: list[hlo.Value]) -> list[hlo.Value]:
        outer, b.counter = b.counter, state[0]
        state = [state[0], *all_as_parts(b, state[1:], state_types)]
        for _ in range(params.unroll):
            state = iteration(state)
        b.counter = outer
        return [state[0], *all_as_parts(b, state[1:], state_types)]

    zeros = [b.full(0, _kept_as(of, a)) for of, a in zip(b.results[num_carry:], types, strict=True)]
    starting = [
        parts_of_whole(b, x, _in_rows(a, length)) for x, a in zip(zeros, types, strict=True)
    ]
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
    _, _, carry, _, ys = prim.split_list(state, 1, num_consts, num_carry, num_xs)
    return [*carry, *[_read_as(b, y, of) for y, of in zip(ys, b.results[num_carry:], strict=True)]]


def _in_rows(aval: av.ShapedArray, count: int) -> av.ShapedArray:
    """The type of so many rows, where types say how these lie."""
    return aval if aval.where is None else aval.stacked(count)


def _starts(b: Lowering, place: hlo.Value, ndim: int) -> hlo.Values:
    return [place, *[b.scalar(0, place.dtype)] * (ndim - 1)]


def _read_row(b: Lowering, x: hlo.Value, place: hlo.Value, aval: av.ShapedArray) -> hlo.Value:
    row = b.dynamic_slice(x, _starts(b, place, len(x.shape)), (1, *x.shape[1:]))
    return as_parts(b, b.reshape(as_parts(b, row, _in_rows(aval, 1)), x.shape[1:]), aval)


def _write_row(
    b: Lowering, y: hlo.Value, row: hlo.Value, place: hlo.Value, aval: av.ShapedArray
) -> hlo.Value:
    row = as_parts(b, b.reshape(row, (1, *row.shape)), _in_rows(aval, 1))
    stack = b.dynamic_update_slice(y, _read_as(b, row, y.type), _starts(b, place, len(y.shape)))
    return as_parts(b, stack, _in_rows(aval, y.shape[0]))


def _read_as(b: Lowering, x: hlo.Value, of: hlo.TensorType) -> hlo.Value:
    return x if x.dtype == of.dtype else b.bitcast(x, of.dtype)


def _kept_as(of: hlo.TensorType, aval: av.ShapedArray) -> hlo.TensorType:
    """The type of a stack within the loop; sums of what lies apart stay what they are."""
    if (aval.where is not None and aval.where.is_partial) or not dtypes.is_extended(of.dtype):
        return of
    return hlo.tensor(of.shape, np.dtype(f"u{of.dtype.itemsize}"))


# Transformations. In each the set of carried values that take part grows until it no longer does:
# what has a tangent, or a batch axis, after one iteration has it in the next.


@scan_p.def_jvp
def _scan_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: ScanParams) -> prim.JvpResult:
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    nonzero = prim.nonzeros(tangents)
    nz_consts, _, nz_xs = prim.split_list(nonzero, k, m)
    num_ys = len(jaxpr.outs) - m
    nz_carry, nz_out, staged = scan_body_jvp(params, nonzero)
    # from (consts, carry, xs, their tangents) to consts, carry and xs each with their tangents
    sizes = (len(staged.consts), k, m, len(nz_xs), sum(nz_consts), sum(nz_carry))
    new, c, s, x, tc, ts, tx = prim.split_list(range(len(staged.jaxpr.in_binders)), *sizes)
    out_s, out_y, out_ts, out_ty = prim.split_list(
        range(len(staged.jaxpr.outs)), m, num_ys, sum(nz_carry)
    )
    body = cf.rearrange(
        staged.jaxpr, [*new, *c, *tc, *s, *ts, *x, *tx], [*out_s, *out_ts, *out_y, *out_ty]
    )
    consts, init, xs = prim.split_list(primals, k, m)
    t_consts, t_init, t_xs = prim.split_list(tangents, k, m)
    outs = bind_scan(
        body,
        [*staged.consts, *consts, *prim.present(t_consts)],
        [*init, *cf.first_tangents(init, t_init, nz_carry)],
        [*xs, *prim.present(t_xs)],
        params,
    )
    carry, carry_tangents, ys, ys_tangents = prim.split_list(outs, m, sum(nz_carry), num_ys)
    return [*carry, *ys], prim.with_zeros(nz_out, [*carry_tangents, *ys_tangents])


def linearize_stacking(
    primals: prim.Arrays, nonzero: Sequence[bool], params: ScanParams
) -> prim.LinearizeResult:
    """Run a loop that stacks the residuals of every iteration, for a loop over those.

    A residual that is the same in every iteration (a constant, or computed from constants alone) is
    a constant of the tangent loop; a slice of an input is the input; the carry, and what an
    iteration computes, are stacked.
    """
    k, m, num_outs = params.num_consts, params.num_carry, len(params.jaxpr.outs)
    nz_consts, nz_init, nz_xs = prim.split_list(nonzero, k, m)

    def of_body(carry: tuple[bool, ...]) -> lz.LinearizedJaxpr:
        required = (*carry, *(False,) * (num_outs - m))
        return lz.linearize_jaxpr(params.jaxpr, (*nz_consts, *carry, *nz_xs), required)

    nz_carry = cf.fixed_point(nz_init, lambda carry: of_body(carry).nonzero_out[:m])
    lin = of_body(nz_carry)
    consts, init, xs = prim.split_list(primals, k, m)
    primal, all_consts = lin.primal.jaxpr, [*lin.primal.consts, *consts]
    varies = cfp.varying(primal, len(all_consts))
    inputs = dict[Atom, Array](zip(primal.in_binders[len(all_consts) + m :], xs, strict=True))
    atoms = _residuals(lin, num_outs)
    of_inputs: list[int] = []
    of_consts: list[int] = []
    stacked: Sequence[int] = range(len(atoms))
    # in a nest there may be many, which most often are all stacked
    if not (varies.issuperset(atoms) and inputs.keys().isdisjoint(atoms)):
        of_inputs = [i for i, x in enumerate(atoms) if x in inputs]
        of_consts = [i for i, x in enumerate(atoms) if x not in varies]
        stacked = sorted({*stacked}.difference(of_inputs, of_consts))
    results = (*primal.outs[:num_outs], *[atoms[i] for i in stacked])
    fixed, body, all_consts = _hoist(
        Jaxpr(primal.in_binders, primal.eqns, results),
        varies,
        all_consts,
        [atoms[i] for i in of_consts],
    )
    outs, stacks = prim.split_list(bind_scan(body, all_consts, init, xs, params), num_outs)
    t_consts, t_carry, t_xs = prim.split_list(
        range(len(atoms), len(lin.tangent.in_binders)), sum(nz_consts), sum(nz_carry)
    )
    tangent = cf.rearrange(
        lin.tangent, [*of_consts, *t_consts, *t_carry, *of_inputs, *stacked, *t_xs]
    )

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        t_consts, t_init, t_xs = prim.split_list(tangents, sum(nz_consts), sum(nz_init))
        return bind_scan(
            tangent,
            [*fixed, *t_consts],
            cf.first_tangents(init, prim.with_zeros(nz_init, t_init), nz_carry),
            [*[inputs[atoms[i]] for i in of_inputs], *stacks, *t_xs],
            attrs.evolve(params, observer=cf.in_phase(params.observer, "tangent")),
        )

    return outs, lin.nonzero_out, tangent_map


def _residuals(lin: lz.LinearizedJaxpr, num_outs: int) -> Sequence[Atom]:
    """What the tangent map of a body reads of its primal half."""
    primal, new = lin.primal.jaxpr, len(lin.primal.consts)
    computed = primal.outs[num_outs:]
    if len(computed) == len(lin.forwarded):
        return computed
    rest = iter(computed)
    return [next(rest) if i is None else primal.in_binders[new + i] for i in lin.forwarded]


def _hoist(
    body: Jaxpr, varies: set[Atom], consts: Sequence[Array], fixed: Sequence[Atom]
) -> tuple[Sequence[Array], Jaxpr, list[Array]]:
    """Compute what is the same in every iteration before the loop.

    Args:
        body: the body.
        varies: what differs from iteration to iteration.
        consts: its constants, its first parameters.
        fixed: what to compute.

    Returns:
        That, a body that is given what it would have computed, and the constants of this one.
    """
    if not fixed:
        return (), body, [*consts]
    eqns = [
        eqn
        for eqn in body.eqns
        if not (effects_of(eqn).any or varies.intersection(eqn.out_binders))
    ]
    before = Jaxpr(body.in_binders[: len(consts)], tuple(eqns), tuple(fixed))
    values = eval_jaxpr(pr.dce(before), consts)
    parameters = {*body.in_binders}
    computed = {
        x: value
        for x, value in zip(fixed, values, strict=True)
        if isinstance(x, Var) and x not in parameters
    }
    if computed:
        names: dict[Atom, Var] = {x: Var(x.aval) for x in computed}
        taking = Jaxpr((*names.values(), *body.in_binders), body.eqns, body.outs)
        body = pr.dce(_rename(taking, names))
    return values, body, [*computed.values(), *consts]


@scan_p.def_linearize
def _scan_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: ScanParams
) -> prim.LinearizeResult:
    if params.checkpoints is None or not params.length:
        return linearize_stacking(primals, nonzero, params)
    return scan_p.rule(pr.CHECKPOINTED)(primals, nonzero, params)


scan_p.def_rule(pr.PRUNE)(cfp.prune_scan)


def _rename(jaxpr: Jaxpr, names: Mapping[Atom, Var]) -> Jaxpr:
    """A program that reads other variables in place of some."""
    eqns = [
        attrs.evolve(eqn, inputs=tuple([names.get(x, x) for x in eqn.inputs])) for eqn in jaxpr.eqns
    ]
    outs = tuple([names.get(x, x) for x in jaxpr.outs])
    return Jaxpr(jaxpr.in_binders, tuple(eqns), outs)


@scan_p.def_rule(pr.DEPENDS)
def _scan_depends(params: ScanParams, dependent: tuple[bool, ...]) -> tuple[bool, ...]:
    consts, init, xs = prim.split_list(dependent, params.num_consts, params.num_carry)
    m = params.num_carry

    def of_body(carry: tuple[bool, ...]) -> tuple[bool, ...]:
        return pr.depends(params.jaxpr, (*consts, *carry, *xs))

    carry = cf.fixed_point(init, lambda carry: of_body(carry)[:m])
    return (*carry, *of_body(carry)[m:])


@scan_p.def_rule(pr.ASKED)
def _scan_asked(params: ScanParams) -> bool:
    # an iteration may begin with a cotangent though none comes from outside
    return pr.asks_within(params.jaxpr)


@scan_p.def_transpose
def _scan_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: ScanParams
) -> prim.Cotangents:
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    lin_consts, lin_init, lin_xs = prim.split_list(prim.are_undefined(operands), k, m)

    def of_body(carry: tuple[bool, ...]) -> Sequence[bool]:
        return pr.depends(jaxpr, (*lin_consts, *carry, *lin_xs))[:m]

    # A carry that starts from a known value (a zero) is linear where it meets linear values later.
    lin_carry = cf.fixed_point(lin_init, of_body)
    known, known_xs = _known_operands(operands, lin_carry, params)
    linear = (*lin_consts, *lin_carry, *lin_xs)
    known_binders, unknown = prim.partition_list(linear, jaxpr.in_binders)
    unknown_c, unknown_m, _ = prim.split_list(unknown, sum(lin_consts), sum(lin_carry))
    ct_carry, ct_ys = prim.split_list(cotangents, m)
    staged = _transposed_body(
        Jaxpr((*known_binders, *unknown), jaxpr.eqns, jaxpr.outs),
        [x.aval for x in known],
        av.rows([x.aval for x in known_xs]),
        len(unknown_c),
        lin_carry,
        prim.nonzeros(ct_ys),
    )
    outs = bind_scan(
        staged.jaxpr,
        [*staged.consts, *known],
        [
            *(_instantiate(prim.ZERO, v) for v in unknown_c),
            *map(_instantiate, prim.marked(ct_carry, lin_carry), unknown_m),
        ],
        [*known_xs, *prim.present(ct_ys)],
        attrs.evolve(
            params,
            reverse=not params.reverse,
            observer=cf.in_phase(params.observer, "backward"),
        ),
    )
    into_c, into_m, into_x = prim.split_list(outs, len(unknown_c), len(unknown_m))
    into_init = prim.fill_list(lin_carry, into_m, None)
    return [
        *prim.fill_list(lin_consts, into_c, None),
        *[ct if is_linear else None for ct, is_linear in zip(into_init, lin_init, strict=True)],
        *prim.fill_list(lin_xs, into_x, None),
    ]


def _transposed_body(
    body: Jaxpr,
    consts: prim.Avals,
    slices: prim.Avals,
    num_sums: int,
    lin_carry: Sequence[bool],
    nz_ys: Sequence[bool],
) -> stg.Staged:
    """Stage an iteration of the way back.

    It takes constants, sums of the cotangents of linear constants, cotangents of the carry, slices,
    and cotangents of outputs; it returns the new sums, and cotangents of carry and linear slices.

    Args:
        body: the body; linear parameters come last.
        consts: the types of the constants.
        slices: those of the slices.
        num_sums: how many constants it is linear in.
        lin_carry: which values of the carry it is linear in.
        nz_ys: which outputs have a cotangent.
    """
    m, sizes = len(lin_carry), (len(consts), num_sums, sum(lin_carry), len(slices))
    unknown = body.in_binders[len(consts) + len(slices) :]
    unknown_c, unknown_m, unknown_x = prim.split_list(unknown, num_sums, sum(lin_carry))

    def iteration(*args: Array) -> list[Array]:
        fixed, sums, state, rows, parts = prim.split_list(args, *sizes)
        cotangents_out = [*prim.with_zeros(lin_carry, state), *prim.with_zeros(nz_ys, parts)]
        cotangents_in = tp.backward_pass(body, [*fixed, *rows], cotangents_out)
        into_c, into_m, into_x = prim.split_list(cotangents_in, num_sums, len(unknown_m))
        return [
            *(
                s if ct is prim.ZERO else ru.add_arrays(s, ct)
                for s, ct in zip(sums, into_c, strict=True)
            ),
            *map(_instantiate, into_m, unknown_m),
            *map(_instantiate, into_x, unknown_x),
        ]

    linear = [v.aval.cotangent() for v in (*unknown_c, *unknown_m)]
    outputs = [aval.cotangent() for aval in prim.marked(body.out_avals[m:], nz_ys)]
    return stg.stage(iteration, [*consts, *linear, *slices, *outputs])


def _known_operands(
    operands: prim.Operands, lin_carry: Sequence[bool], params: ScanParams
) -> tuple[list[Array], list[Array]]:
    """The values that a transposed body reads: constants, and slices by iteration.

    A carry that is not linear (a counter) is computed first, by a loop that stacks its values.
    """
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    consts, carry, xs = prim.split_list(operands, k, m)
    known, known_xs = prim.defined(consts), prim.defined(xs)
    first = [
        x
        for x, is_linear in zip(carry, lin_carry, strict=True)
        if not (is_linear or isinstance(x, prim.UndefinedPrimal))
    ]
    if not first:
        return known, known_xs
    marks = [*prim.are_undefined(operands)]
    marks[k : k + m] = lin_carry
    linear = pr.dependents(jaxpr.eqns, prim.marked(jaxpr.in_binders, marks))
    parts = [pr.independent_part(eqn, linear) for eqn in jaxpr.eqns]
    eqns = [eqn for eqn in parts if eqn is not None]
    binders = tuple(prim.partition_list(marks, jaxpr.in_binders)[0])
    states = binders[len(known) : len(known) + len(first)]
    outs = [x for x, is_linear in zip(jaxpr.outs, lin_carry, strict=False) if not is_linear]
    forward = Jaxpr(binders, tuple(eqns), (*outs, *states))
    unobserved = attrs.evolve(params, observer=None)
    stacks = bind_scan(forward, known, first, known_xs, unobserved)[len(first) :]
    return known, [*stacks, *known_xs]


def _instantiate(tangent: prim.Tangent, like: Var) -> Array:
    return sh.zero_cotangent(like.aval) if tangent is prim.ZERO else tangent


@scan_p.def_batch
def _scan_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ScanParams
) -> prim.BatchResult:
    jaxpr, k, m = params.jaxpr, params.num_consts, params.num_carry
    consts, carry, xs = prim.split_list(values, k, m)
    ax_consts, ax_carry, ax_xs = prim.split_list(axes, k, m)
    consts = [
        x if a is None else sh.moveaxis(x, a, 0) for x, a in zip(consts, ax_consts, strict=True)
    ]
    in_consts = cf.at_front([a is not None for a in ax_consts])
    # The batch axis of an input stays where it is, unless the loop goes along it: nested loops
    # would otherwise move each residual once per level.
    xs = [sh.moveaxis(x, 0, 1) if a == 0 else x for x, a in zip(xs, ax_xs, strict=True)]
    in_xs = [None if a is None else max(a - 1, 0) for a in ax_xs]
    num_ys = len(jaxpr.outs) - m

    def of_body(batched: tuple[bool, ...]) -> tuple[stg.Staged, tuple[int | None, ...]]:
        in_axes = (*in_consts, *cf.at_front(batched), *in_xs)
        in_front = (*batched, *(False,) * num_ys)
        return bt.batch_jaxpr(jaxpr, mapped, in_axes, in_front)

    batched = cf.fixed_point(
        [a is not None for a in ax_carry],
        lambda batched: [a is not None for a in of_body(batched)[1][:m]],
    )
    staged, out_axes = of_body(batched)
    init = [
        sh.move_batch_axis(x, a, 0, mapped.size) if b else x
        for x, a, b in zip(carry, ax_carry, batched, strict=True)
    ]
    outs = bind_scan(staged.jaxpr, [*staged.consts, *consts], init, xs, params)
    return outs, [*cf.at_front(batched), *(None if a is None else a + 1 for a in out_axes[m:])]


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
        unroll: how many iterations one step of the compiled loop does; True or 0 for all, False
            for one.
        checkpoints: how many carries reverse mode keeps at a time, at least one; None to keep the
            residuals of every iteration.

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
        cf.check_checkpoints("scan", checkpoints)
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

    def stage_body(avals: Sequence[av.ShapedArray]) -> tuple[stg.Staged, tree.PyTreeDef]:
        staged, out_tree = cf.stage_function(f, in_tree, [*avals, *slices], "scan")
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
    held: Sequence[int],
) -> tuple[C, Y]:
    """Scan over what is held in place, of which each iteration reads and writes its own part."""
    leaves, x_tree = tree.flatten(xs)
    holder = HOLDERS[type(leaves[held[0]])]
    parts = holder.parts(leaves, held, describe_function(f))
    slices = [holder.opened(x)[0][0] if i in held else x for i, x in enumerate(leaves)]

    def body(carry: C, x: Sequence[Array]) -> Any:
        own = parts.own(x)
        out: Any = f(carry, tree.unflatten(x_tree, own))
        if not isinstance(out, tuple) or len(out) != 2:
            return out  # which scan says
        return out[0], (out[1], parts.left(own))

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

    observer = cf.observer_of(scan_p, "scan", f, iterations)
    last, ys = _iterate(step, carry, inputs, iterations, reverse, observer)
    return last, tree.unflatten(y_trees[0], ys)


def _length(f: Callable[..., Any], inputs: Sequence[Array], xs: Any, length: int | None) -> int:
    """The number of iterations, which the inputs and ``length`` must agree on."""

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
    """The structures of the new carry and of the output."""
    if out_tree.node_type is not tuple or len(out_tree.children()) != 2:
        raise errors.CarryTypeError(
            f"scan body output must be a pair, got {in_words(out_tree)}. Return (carry, None) from "
            f"{describe_function(f)} where there is no output."
        )
    carry, y = out_tree.children()
    return carry, y
