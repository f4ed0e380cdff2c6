"""``cond`` and ``switch``: one of several functions, chosen by a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import partial
from operator import itemgetter
from typing import Any, Final, TypeVar, overload

import attrs
import numpy as np

from tinyjax import config, dtypes, tree
from tinyjax.core.control_flow.common import (
    at_front,
    contains,
    convert_all,
    meets_others,
    stage_function,
    with_mask,
)
from tinyjax.core.control_flow.comparing import common_types, compared
from tinyjax.core.control_flow.primitives import (
    CondParams,
    Slots,
    binders_at,
    cond_p as cond_p,  # noqa: PLC0414 (with its rules)
    prune_cond,
)
from tinyjax.core.control_flow.residuals import with_computed_indices
from tinyjax.core.control_flow.while_loop import first_example
from tinyjax.core.lowering import from_branch, from_branches, lower_jaxpr
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.primitives.rules import not_linear
from tinyjax.core.primitives.shape import batch_axes_in_front, full, full_like, move_batch_axis
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import calling, jaxpr as jx, primitive as prim, program_rules
from tinyjax.core.tracing.calling import HOLDERS, closed_over
from tinyjax.core.tracing.checking import checked
from tinyjax.core.tracing.primitive import fill_list
from tinyjax.core.tracing.program_rules import ProgramEvaluator, def_program
from tinyjax.core.tracing.staging import Staged, call_one_of, close_over, extend, stage
from tinyjax.core.tracing.trace import assigned, bind
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import fill_zeros, jvp_jaxpr
from tinyjax.core.transforms.linearize import linearize_jaxpr
from tinyjax.core.transforms.transpose import transpose_jaxpr
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.integers import listed
from tinyjax.errors import ArgumentError, check_function

R = TypeVar("R")
X = TypeVar("X")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")

_NOT_GIVEN: Final = object()


def _cond_program(args: Sequence[Any], params: CondParams, run: ProgramEvaluator) -> Sequence[Any]:
    index, *operands = args
    return run(params.branches[int(index)], operands)


def_program(cond_p, _cond_program)


@cond_p.def_abstract_eval
def _cond_type(avals: prim.Avals, params: CondParams) -> prim.Avals:
    index, *operands = avals
    first = params.branches[0]
    if index.shape or index.dtype != dtypes.int32:
        raise ArgumentError(f"cond needs an int32 scalar to choose by, but got {index}.")
    for branch in params.branches:
        if not av.same_types(branch.in_avals, operands):
            raise ArgumentError(
                f"a branch of type {branch.type} was applied to ({', '.join(map(str, operands))})."
            )
        if not av.alike(branch.out_avals, first.out_avals):
            raise ArgumentError(f"branches of types {first.type} and {branch.type} differ.")
    return first.out_avals


@cond_p.def_rule(program_rules.CHOICE)
def _cond_choice(branches: tuple[jx.Jaxpr, ...]) -> CondParams:
    return CondParams(branches)


@cond_p.def_lowering
def _cond_lowering(b: Lowering, operands: hlo.Values, params: CondParams) -> hlo.Values:
    index, *rest = operands
    ordered = any(jx.effects(branch).ordered for branch in params.branches)
    avals = params.branches[0].out_avals
    before = b.token if ordered else None

    def region(branch: jx.Jaxpr) -> str:
        def body(_: list[hlo.SSAValue]) -> hlo.Values:
            if before is not None:
                b.token = before
            outs = from_branch(b, lower_jaxpr(b, branch, rest), avals)
            return outs if before is None else [*outs, b.token]

        return b.region((), body)

    regions = [*map(region, params.branches)]
    results = [*b.results, *([before.type] if before else [])]
    outs = b.emit("stablehlo.case", (index,), results, {}, regions)
    if ordered:
        *outs, b.token = outs
    return from_branches(b, outs, avals)


def bind_branches(
    index: Array, branches: Sequence[Staged], operands: Sequence[Array]
) -> Sequence[Array]:
    """Bind the conditional of transformed branches, which may have added constants."""
    jaxprs, consts = close_over(branches)
    avals = jaxprs[0].out_avals
    if not all(av.alike(j.out_avals, avals) for j in jaxprs):
        # transformed branches may differ in whether a result is weakly typed
        columns = zip(*(j.out_avals for j in jaxprs), strict=True)
        common = [a if all(b is a for b in rest) else a.strip_weak() for a, *rest in columns]
        jaxprs = [extend(j, lambda *outs: convert_all(outs, common)) for j in jaxprs]
    return bind(cond_p, (index, *consts, *operands), CondParams(tuple(jaxprs)))


def _any_of(columns: Iterable[Sequence[bool]]) -> tuple[bool, ...]:
    return tuple(map(any, zip(*columns, strict=True)))


def _transformed(
    params: CondParams,
    transform: Callable[[jx.Jaxpr, tuple[bool, ...] | None], X],
    marks: Callable[[X], Sequence[bool]],
) -> tuple[list[X], tuple[bool, ...]]:
    """Transform branches so that all have tangents, or batch axes, where one of them has.

    Args:
        params: the branches.
        transform: transforms a branch, given which results must have one.
        marks: returns which results of a transformed branch have one.
    """
    required = _any_of([marks(transform(branch, None)) for branch in params.branches])
    return [transform(branch, required) for branch in params.branches], required


@cond_p.def_jvp
def _cond_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: CondParams) -> prim.JvpResult:
    """Choose among the derivatives of the branches."""
    (index, *operands), given = primals, tangents[1:]
    nonzero = prim.nonzeros(given)
    branches, nonzero_out = _transformed(
        params, lambda branch, required: jvp_jaxpr(branch, nonzero, required), itemgetter(1)
    )
    operands += prim.present(given)
    outs = bind_branches(index, [branch for branch, _ in branches], operands)
    n = len(nonzero_out)
    return outs[:n], prim.with_zeros(nonzero_out, outs[n:])


@cond_p.def_linearize
def _cond_linearize(
    primals: prim.Arrays, nonzero: Sequence[bool], params: CondParams
) -> prim.LinearizeResult:
    """Choose among the primal halves, and later among the tangent maps.

    Residuals that branches compute share slots; residuals that are operands of the conditional
    remain operands.
    """
    (index, *operands), chosen = primals, tuple(nonzero[1:])
    halves, nonzero_out = _transformed(
        params,
        lambda branch, required: with_computed_indices(linearize_jaxpr(branch, chosen, required)),
        lambda lin: lin.nonzero_out,
    )
    n = len(nonzero_out)
    slots = Slots.shared([lin.primal.jaxpr.out_avals[n:] for lin in halves])
    primal = [slots.filled(i, lin.primal, n) for i, lin in enumerate(halves)]
    outs = bind_branches(index, primal, operands)
    kept = sorted({i for lin in halves for i in lin.forwarded if i is not None})
    residuals = [*outs[n:], *(operands[i] for i in kept)]
    avals = [*slots.avals, *(params.branches[0].in_avals[i] for i in kept)]
    places = {i: len(slots.avals) + k for k, i in enumerate(kept)}
    tangent = []
    for lin, own in zip(halves, slots.places, strict=True):
        computed, binders = iter(own), lin.tangent.in_binders
        read = [next(computed) if i is None else places[i] for i in lin.forwarded]
        first = binders_at(dict(zip(read, binders, strict=False)), avals)
        binders = (*first, *binders[len(read) :])
        tangent.append(Staged(attrs.evolve(lin.tangent, in_binders=binders), ()))

    def tangent_map(tangents: Sequence[Array]) -> Sequence[Array]:
        return bind_branches(index, tangent, [*residuals, *tangents])

    return outs[:n], nonzero_out, tangent_map


@cond_p.def_rule(program_rules.DEPENDENCE)
def _cond_dependence(params: CondParams, dependent: tuple[bool, ...]) -> tuple[bool, ...]:
    chosen, *rest = dependent
    if chosen:
        return (True,) * len(params.branches[0].outs)
    return _any_of([program_rules.depends(branch, rest) for branch in params.branches])


cond_p.def_rule(program_rules.PRUNE)(prune_cond)


@cond_p.def_rule(program_rules.FORWARDING)
def _cond_forwarding(params: CondParams) -> tuple[int | None, ...]:
    """Return the operands that all branches forward."""
    columns = zip(*map(program_rules.forwarded_parameters, params.branches), strict=True)
    return tuple(
        [
            None if first is None or any(place != first for place in rest) else 1 + first
            for first, *rest in columns
        ]
    )


@cond_p.def_transpose
def _cond_transpose(
    cotangents: prim.Tangents, operands: prim.Operands, params: CondParams
) -> prim.Cotangents:
    index, *rest = operands
    if isinstance(index, prim.UndefinedPrimal):
        raise not_linear("cond", "what it chooses by")
    linear = prim.are_undefined(rest)
    transposed = [transpose_jaxpr(b, linear, prim.nonzeros(cotangents)) for b in params.branches]
    nonzero_out = _any_of([t.nonzero_out for t in transposed])
    if not any(nonzero_out) and not any(t.staged.jaxpr.eqns for t in transposed):
        return [None] * len(operands)
    avals = [x.aval for x in rest if isinstance(x, prim.UndefinedPrimal)]
    branches = []
    for t in transposed:
        jaxpr = t.staged.jaxpr
        filled, _ = fill_zeros(avals, jaxpr.outs, t.nonzero_out, nonzero_out)
        branches.append(Staged(jx.Jaxpr(jaxpr.in_binders, jaxpr.eqns, filled), t.staged.consts))
    outs = bind_branches(index, branches, [*prim.defined(rest), *prim.present(cotangents)])
    return [None, *fill_list(linear, prim.with_zeros(nonzero_out, outs), None)]


@cond_p.def_batch
def _cond_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: CondParams
) -> prim.BatchResult:
    index, *operands = values
    index_axis, *rest = axes
    if index_axis is None:
        branches, out_batched = _transformed(
            params,
            lambda branch, in_front: batching.batch_jaxpr(branch, mapped, tuple(rest), in_front),
            lambda batched: [axis is not None for axis in batched[1]],
        )
        outs = bind_branches(index, [branch for branch, _ in branches], operands)
        return outs, at_front(out_batched)
    operands = batch_axes_in_front(operands, rest)
    batched = [axis is not None for axis in rest]
    same = _same_of_all(params, values, axes)
    programs: Sequence[jx.Jaxpr] = params.branches
    if any(same):
        programs = [
            program_rules.dce(branch, [alike is None for alike in same]) for branch in programs
        ]
    results = [
        _run_branch_masked(mapped, branch, ew.eq(index, full_like(index, i)), operands, batched)
        for i, branch in enumerate(programs)
    ]
    chosen = results[0]
    for i, result in enumerate(results[1:], start=1):
        in_branch = ew.eq(index, full_like(index, i))
        chosen = [_select(in_branch, x, y) for x, y in zip(result, chosen, strict=True)]
    computed = iter(chosen)
    outs = [next(computed) if alike is None else alike[0] for alike in same]
    return outs, [0 if alike is None else alike[1] for alike in same]


def _same_of_all(
    params: CondParams, values: Sequence[Array], axes: prim.BatchAxes
) -> list[tuple[Array, int | None] | None]:
    """Return the results that every branch shares, an operand or a constant, and the batch axes."""
    result: list[tuple[Array, int | None] | None] = []
    columns = zip(*[branch.outs for branch in params.branches], strict=True)
    for place, (first, *others) in zip(_cond_forwarding(params), columns, strict=True):
        if place is not None:
            result.append((values[place], axes[place]))
        elif isinstance(first, jx.Lit) and all(_are_equal(first, other) for other in others):
            result.append((first.value, None))
        else:
            result.append(None)
    return result


def _are_equal(x: jx.Lit, y: jx.Atom) -> bool:
    """Return whether two constants, each of one number, are equal to the last bit."""
    if not isinstance(y, jx.Lit) or x.aval != y.aval:
        return False
    if not x.aval.size:
        return True
    pair = [np.asarray(opd.first_element(lit.value.host)) for lit in (x, y)]
    return pair[0].tobytes() == pair[1].tobytes()


def _select(in_branch: Array, x: Array, y: Array) -> Array:
    return ew.select(broadcast_in_dim(in_branch, x.shape, (0,)), x, y)


def _run_branch_masked(
    mapped: prim.MappedAxis,
    branch: jx.Jaxpr,
    in_branch: Array,
    operands: Sequence[Array],
    batched: Sequence[bool],
) -> Sequence[Array]:
    """Apply a branch to many examples, some of which take it; results of others are discarded.

    Examples that do not take it run as copies of the first one that does. So their infinities and
    NaNs stay out of the derivatives, and a ``while_loop`` ends that might not end for them. If no
    example takes the branch, it is not run. A collective in it reads all examples, uncopied.
    """
    used = {x for eqn in branch.eqns for x in eqn.inputs}
    marks = [mark and var in used for mark, var in zip(batched, branch.in_binders, strict=True)]

    def run_batched(in_branch: Array, operands: Sequence[Array]) -> list[Array]:
        # not through batch_jaxpr: equations that are inlined here must not be recorded twice,
        # or nested branches would take time quadratic in their depth
        outs, axes = batching.batch_flat(
            lambda *args: jx.eval_jaxpr(branch, args),
            with_mask(mapped, in_branch, branch),
            operands,
            at_front(batched),
        )
        return [
            move_batch_axis(out, axis, 0, mapped.size) for out, axis in zip(outs, axes, strict=True)
        ]

    differentiable = any(isinstance(x, jx.Var) and dtypes.is_inexact(x.aval.dtype) for x in used)
    matters = differentiable or contains(branch, "while") or jx.effects(branch).any
    if not matters or not mapped.size or meets_others(mapped, branch):
        return run_batched(in_branch, operands)
    avals = [x.aval for x in (in_branch, *operands)]
    run = stage(
        lambda in_branch, *operands: run_batched(
            in_branch, first_example(in_branch, operands, marks)
        ),
        avals,
    )
    zeros = tuple([jx.zero_literal(aval) for aval in run.jaxpr.out_avals])
    nothing = Staged(jx.Jaxpr(tuple(map(jx.Var, avals)), (), zeros), ())
    anyone = ew.convert_element_type(reduce_or(in_branch, (0,)), dtypes.int32)
    return bind_branches(anyone, [nothing, run], [in_branch, *operands])


# The functions


def _operands(name: str, by_position: tuple[Any, ...], by_name: Any) -> tuple[Any, ...]:
    """Return the operands, which are given in one of two ways."""
    if by_name is _NOT_GIVEN:
        return by_position
    if by_position:
        raise ArgumentError(f"{name} takes operands by position, or one by name, but got both.")
    return (by_name,)


@overload
def cond(pred: ArrayLike, true_fun: Callable[[], R], false_fun: Callable[[], R], /) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[Array], R],
    false_fun: Callable[[Array], R],
    x: ArrayLike,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike, true_fun: Callable[[float], R], false_fun: Callable[[float], R], x: float, /
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[Array, Array], R],
    false_fun: Callable[[Array, Array], R],
    x: ArrayLike,
    y: ArrayLike,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[float, float], R],
    false_fun: Callable[[float, float], R],
    x: float,
    y: float,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike, true_fun: Callable[[A], R], false_fun: Callable[[A], R], x: A, /
) -> R: ...
@overload
def cond(
    pred: ArrayLike, true_fun: Callable[[A, B], R], false_fun: Callable[[A, B], R], x: A, y: B, /
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[A, B, C], R],
    false_fun: Callable[[A, B, C], R],
    x: A,
    y: B,
    z: C,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[A, B, C, D], R],
    false_fun: Callable[[A, B, C, D], R],
    x: A,
    y: B,
    z: C,
    u: D,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[A, B, C, D, E], R],
    false_fun: Callable[[A, B, C, D, E], R],
    x: A,
    y: B,
    z: C,
    u: D,
    v: E,
    /,
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_fun: Callable[[Array], R],
    false_fun: Callable[[Array], R],
    /,
    *,
    operand: ArrayLike,
) -> R: ...
@overload
def cond(
    pred: ArrayLike, true_fun: Callable[[A], R], false_fun: Callable[[A], R], /, *, operand: A
) -> R: ...
@overload
def cond(
    pred: ArrayLike,
    true_operand: A,
    true_fun: Callable[[A], R],
    false_operand: B,
    false_fun: Callable[[B], R],
    /,
) -> R: ...
@checked
def cond(
    pred: ArrayLike,
    true_fun: Any,
    false_fun: Any,
    *operands: Any,
    operand: Any = _NOT_GIVEN,
) -> Any:
    """Apply one of two functions, chosen by a predicate.

    If the value of the predicate is known, as outside ``jit``, the chosen function is called, and
    the other one is staged only to compare the types of their results. Else both functions are
    staged, and one of them runs when the program runs. Under ``vmap`` with a
    mapped predicate, each function that some example takes runs, and the results are selected.

    Args:
        pred: a bool scalar; a number is true if it is not zero.
        true_fun: takes the operands.
        false_fun: takes the operands, and returns what ``true_fun`` does: the same tree, with
            arrays of the same shapes. Different dtypes are promoted to a common dtype.
        operands: trees of arrays.
        operand: the only operand, by name.

    JAX's older order, with an operand for each function, works too:
    ``cond(pred, true_operand, true_fun, false_operand, false_fun)``.

    Raises:
        ArgumentError: the predicate is not a scalar, what is to be called is not a function, or
            operands are given in both ways.
        BranchTypeError: the results differ in structure or shape; the message says where.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> f = tinyjax.jit(lambda x: lax.cond(x > 0, jnp.sqrt, lambda x: -x, x))
        >>> float(f(4.0)), float(f(-3.0))
        (2.0, 3.0)
    """
    operands = _operands("cond", operands, operand)
    if not callable(true_fun) and len(operands) == 2 and callable(false_fun):
        apply_true, (false_operand, apply_false) = false_fun, operands
        if callable(apply_false):
            operands = (true_fun, false_operand)
            true_fun, false_fun = lambda x, _: apply_true(x), lambda _, y: apply_false(y)
    for name, branch in (("true_fun", true_fun), ("false_fun", false_fun)):
        check_function("cond", branch, name)
    predicate = opd.as_array(pred)
    if predicate.shape:
        raise ArgumentError(
            f"the predicate of cond must be a scalar, but it is {predicate.aval}. For a choice "
            "element by element use jnp.where; for one over many examples use vmap."
        )
    if isinstance(predicate, ConcreteArray):
        return _call("cond", bool(predicate), [false_fun, true_fun], operands)
    index = ew.convert_element_type(ew.convert_element_type(predicate, dtypes.bool_), dtypes.int32)
    if isinstance(index, ConcreteArray):  # the primal of what is being differentiated
        return _call("cond", bool(index), [false_fun, true_fun], operands)
    return _choose("cond", index, [false_fun, true_fun], operands)


@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[], R]], /) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[Array], R]], x: ArrayLike, /) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[float], R]], x: float, /) -> R: ...
@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[[Array, Array], R]], x: ArrayLike, y: ArrayLike, /
) -> R: ...
@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[[float, float], R]], x: float, y: float, /
) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[A], R]], x: A, /) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[A, B], R]], x: A, y: B, /) -> R: ...
@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[[A, B, C], R]], x: A, y: B, z: C, /
) -> R: ...
@overload
def switch(
    index: ArrayLike, branches: Sequence[Callable[[A, B, C, D], R]], x: A, y: B, z: C, u: D, /
) -> R: ...
@overload
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[[A, B, C, D, E], R]],
    x: A,
    y: B,
    z: C,
    u: D,
    v: E,
    /,
) -> R: ...
@overload
def switch(index: ArrayLike, branches: Sequence[Callable[[A], R]], /, *, operand: A) -> R: ...
@checked
def switch(
    index: ArrayLike,
    branches: Sequence[Callable[..., R]],
    *operands: Any,
    operand: Any = _NOT_GIVEN,
) -> R:
    """Apply one of several functions, chosen by an index.

    Args:
        index: an integer scalar; it is clamped to the range of the branches.
        branches: each takes the operands, and all return the same tree of arrays.
        operands: trees of arrays.
        operand: the only operand, by name.

    Raises:
        ArgumentError: the index is not an integer scalar, there are no branches, or operands are
            given in both ways.
        BranchTypeError: the results differ in structure or shape; the message says where.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> float(lax.switch(1, [jnp.sin, jnp.cos, jnp.tan], 0.0))
        1.0
    """
    operands = _operands("switch", operands, operand)
    branches = listed(branches, "branches")
    if not branches:
        raise ArgumentError("Empty branch sequence: switch needs at least one branch.")
    number = opd.as_array(index)
    if number.shape or not dtypes.is_integer(number.dtype):
        raise ArgumentError(
            f"the index of switch must be scalar, and must be an integer, but it is {number.aval}."
        )
    last = len(branches) - 1
    if isinstance(number, ConcreteArray):
        outs: R = _call("switch", min(max(int(number), 0), last), branches, operands)
        return outs
    # clamped in its own dtype, of which int32 need not hold all values
    most = min(last, int(np.iinfo(number.dtype).max))
    low, high = full((), 0, number.dtype), full((), most, number.dtype)
    number = ew.convert_element_type(ew.clamp(low, number, high), dtypes.int32)
    result: R = _choose("switch", number, branches, operands)
    return result


#: One object for each call of a branch of ``cond`` that runs here without being staged. In JAX it
#: is staged, so that ``tinyjax.as_jax`` tells it apart from what is around it.
calls_of_branches: Final[ContextVar[tuple[object, ...]]] = ContextVar(
    "tinyjax_calls_of_branches", default=()
)


def _call(
    name: str, branch_index: int, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    """Call a branch with arrays, and convert its results to arrays, as if it were staged."""
    branch = branches[branch_index]
    leaves, in_tree = tree.flatten_arguments(operands, {})
    flat = calling.FlatFunction(branch, in_tree)
    args = calling.as_arrays(leaves, branch, in_tree)
    avals = [x.aval for x in args]
    if config.follows_jax:
        with assigned(calls_of_branches, (*calls_of_branches.get(), object())):
            outs = flat(*args)
    else:
        outs = flat(*args)
    targets = compared(name, branches, branch_index, (in_tree, avals), (flat.out_tree, outs))
    if targets is not None:
        outs = [
            ew.convert_element_type(x, aval.dtype, aval.weak_type)
            for x, aval in zip(outs, targets, strict=True)
        ]
    return tree.unflatten(flat.out_tree, outs)


def _choose(
    name: str, index: Array, branches: Sequence[Callable[..., Any]], operands: tuple[Any, ...]
) -> Any:
    if HOLDERS:
        branches, operands = closed_over(branches, operands)
    leaves, in_tree = tree.flatten_arguments(operands, {})
    args = calling.as_arrays(leaves, branches[0], in_tree)
    avals = [x.aval for x in args]
    different = {id(branch): branch for branch in branches}
    made = {key: stage_function(branch, in_tree, avals, name) for key, branch in different.items()}
    staged, out_trees = zip(*[made[id(branch)] for branch in branches], strict=True)
    joined = _join(name, branches, staged, out_trees)
    outs = call_one_of(joined, args, partial(bind_branches, index))
    return tree.unflatten(out_trees[0], outs)


def _join(
    name: str,
    branches: Sequence[Callable[..., Any]],
    staged: Sequence[Staged],
    out_trees: Sequence[tree.PyTreeDef],
) -> list[Staged]:
    """Give the branches results of one type, converting to common dtypes."""
    targets = common_types(name, branches, out_trees, [s.out_avals for s in staged])
    n = len(targets)

    def converted(*outs: Array) -> list[Array]:
        return [*convert_all(outs[:n], targets), *outs[n:]]

    return [
        s if list(s.out_avals) == targets else attrs.evolve(s, jaxpr=extend(s.jaxpr, converted))
        for s in staged
    ]
