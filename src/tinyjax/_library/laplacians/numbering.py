"""The inputs that the elements of a value depend on, and their propagation by primitives.

The inputs of a function are the elements of its arguments, numbered. A value of shape ``s`` that
carries ``k`` derivatives of each element has an array of numbers ``(k, *s)``: derivative ``i`` of
an element is taken in the input with the number ``numbers[i]`` there. ``NONE`` fills up where an
element depends on fewer inputs than others. An axis along which all numbers agree has the size 1,
so that a value whose elements depend on the same inputs has a column.

Where rows of derivatives of one number meet, a rule is applied to all rows at once. So the axes
along which a primitive mixes elements are determined: there the numbers must agree, and are joined.
A primitive that moves elements moves their numbers. Before another primitive all elements get the
same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax._primitives import cumulative, dot, gather_scatter
from tinyjax._primitives.sort import sort_p
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p, reduce_sum_p
from tinyjax.core.primitives.reduce import reduce_max_p, reduce_min_p, reduce_prod_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, program_rules, trace as tr
from tinyjax.core.values import Array, avals as av, concrete
from tinyjax.dtypes import is_inexact

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.intp]]

#: The number of no input; the greatest, so that it is sorted to the end.
NONE: Final = int(np.iinfo(np.intp).max)

#: Where numbers would have more elements than this, all elements get the same.
_MOST: Final = 2**22


@attrs.frozen(eq=False)
class Numbering:
    """The numbers that a primitive needs, and those of its results.

    Attributes:
        operands: the numbers that the rows of each operand must have; None for a constant.
        results: the numbers that the rows of each result have then.
    """

    operands: Sequence[Numbers | None]
    results: Sequence[Numbers]


@attrs.frozen(eq=False)
class NumberedOperands:
    """The operands of a primitive, with their numbers.

    Attributes:
        primals: the operands.
        numbers: their numbers; None for a constant.
        outs: the types of the results.
    """

    primals: Sequence[Array]
    numbers: Sequence[Numbers | None]
    outs: Sequence[av.ShapedArray]


#: The numbers of the operands, and of the results, of a primitive with these parameters; None where
#: it cannot be said.
PlanRule: TypeAlias = Callable[[Any, NumberedOperands], Numbering | None]


def column(numbers: Numbers, ndim: int) -> Numbers:
    """Give numbers that all elements share to a value of ``ndim`` axes."""
    return numbers.reshape(len(numbers), *[1] * ndim)


def shared(numbers: Numbers) -> bool:
    """Return whether all elements have the same numbers."""
    return numbers.size == len(numbers)


def joined(numbers: Numbers, axes: Sequence[int]) -> Numbers:
    """Return the joined numbers of elements mixed along some axes, which get the size 1."""
    places = [a + 1 for a in axes]
    mixed = np.moveaxis(numbers, places, range(1, len(places) + 1))
    size, rest = prod(mixed.shape[: len(places) + 1]), mixed.shape[len(places) + 1 :]
    ordered = np.sort(mixed.reshape(size, *rest), axis=0)
    repeated = np.zeros(ordered.shape, np.bool_)
    repeated[1:] = ordered[1:] == ordered[:-1]
    ordered[repeated] = NONE
    ordered.sort(axis=0)
    some = (ordered != NONE).any(axis=tuple(range(1, ordered.ndim)))
    kept = ordered[: max(1, int(np.count_nonzero(some)))]
    return _simplified(np.expand_dims(kept, places))


def all_joined(numbers: Sequence[Numbers | None]) -> Numbers:
    """Return one column of all numbers in several arrays of them."""
    columns = [n.reshape(-1) for n in numbers if n is not None]
    return joined(np.concatenate(columns), ())


def _simplified(numbers: Numbers) -> Numbers:
    """Give axes along which all numbers agree the size 1."""
    for axis in range(1, numbers.ndim):
        first = numbers.take([0], axis) if numbers.shape[axis] > 1 else numbers
        if numbers.shape[axis] > 1 and bool((numbers == first).all()):
            numbers = first
    return numbers


def plan_of(primitive: prim.Primitive[Any], params: Any, call: NumberedOperands) -> Numbering:
    """Return the numbers that the rows of operands must have, and those of the results' rows.

    Args:
        primitive: the primitive.
        params: its parameters.
        call: what it is applied to.
    """
    some = [n for n in call.numbers if n is not None]
    if not all(map(shared, some)):
        rule = _RULES.get(primitive)
        if rule is None and prim.ELEMENTWISE in primitive.rules.extensions:
            rule = elementwise
        plan = None if rule is None else rule(params, call)
        if plan is not None:
            return plan
    return same(call)


def same(call: NumberedOperands) -> Numbering:
    """Give all elements of all operands and results the same numbers."""
    every = all_joined(call.numbers)
    operands = [
        None if n is None else column(every, x.ndim)
        for x, n in zip(call.primals, call.numbers, strict=True)
    ]
    return Numbering(operands, [column(every, out.ndim) for out in call.outs])


def _together(numbers: Sequence[Numbers | None], axes: Sequence[int] = ()) -> Numbers | None:
    """Join the numbers of operands of one shape; None where there would be too many."""
    some = [n for n in numbers if n is not None]
    shape = np.broadcast_shapes(*(n.shape[1:] for n in some))
    if sum(len(n) for n in some) * prod(shape) > _MOST:
        return None
    stacked = np.concatenate([np.broadcast_to(n, (len(n), *shape)) for n in some])
    return joined(stacked, axes)


def works_elementwise(jaxpr: jx.Jaxpr, skip: int = 0) -> bool:
    """Return whether each element of a result depends only on those in its place.

    Args:
        jaxpr: the program.
        skip: how many parameters come first that may be used in any way.
    """
    atoms = program_rules.dependents(jaxpr.eqns, jaxpr.in_binders[skip:])
    shapes = {x.aval.shape for x in (*jaxpr.in_binders[skip:], *jaxpr.outs)}
    for eqn in jaxpr.eqns:
        if atoms.isdisjoint(eqn.inputs):
            continue
        shapes.update(x.aval.shape for x in (*eqn.inputs, *eqn.out_binders))
        rules = eqn.primitive.rules.extensions
        called = (
            rules[program_rules.INLINING](eqn.params) if program_rules.INLINING in rules else None
        )
        is_call = called is not None and works_elementwise(called)
        if not is_call and prim.ELEMENTWISE not in rules:
            return False
    return len(shapes) == 1


def _along(axes_of: Callable[[Any], Sequence[int]], removes: bool = False) -> PlanRule:
    """Make the rule of a primitive that mixes elements along some axes, and may remove these."""

    def rule(params: Any, call: NumberedOperands) -> Numbering | None:
        axes = axes_of(params)
        together = _together(call.numbers, axes)
        if together is None:
            return None
        result = together.squeeze(tuple([a + 1 for a in axes])) if removes else together
        operands = [None if n is None else together for n in call.numbers]
        return Numbering(operands, [result] * len(call.outs))

    return rule


#: The numbers of what works element by element, on operands of one shape.
elementwise: Final[PlanRule] = _along(lambda params: ())


def addends(
    numbers: Numbers, shape: Sequence[int], axes: Sequence[int], needed: Numbers
) -> tuple[Numbers, np.ndarray[Any, np.dtype[np.bool_]]] | None:
    """Return the rows and elements to add for the derivative in each input, where axes are summed.

    Args:
        numbers: those of the operand.
        shape: its shape.
        axes: along which elements are added.
        needed: the inputs in which derivatives are taken.

    Returns:
        For each input the places among rows and elements along the axes, counted in this order, and
        which of these are there; None where that differs between sums, or is not fewer than all.
    """
    places = [a + 1 for a in axes]
    rest = [a for a in range(1, numbers.ndim) if a not in places]
    if not shared(needed) or any(numbers.shape[a] > 1 for a in rest):
        return None
    ordered = np.transpose(numbers, [0, *places, *rest])
    sizes = [shape[a] for a in axes]
    flat = np.broadcast_to(
        ordered.reshape(ordered.shape[: len(places) + 1]), [len(numbers), *sizes]
    )
    by_number = np.argsort(flat.reshape(-1), kind="stable")
    in_order = flat.reshape(-1)[by_number]
    starts = np.searchsorted(in_order, needed.reshape(-1), "left")
    ends = np.searchsorted(in_order, needed.reshape(-1), "right")
    most = int((ends - starts).max(initial=0))
    if most >= prod(sizes):
        return None
    steps = starts[:, None] + np.arange(most)
    present = steps < ends[:, None]
    return by_number[np.where(present, steps, 0)], present


def _moving(primitive: prim.Primitive[Any]) -> PlanRule:
    """Make the rule of a primitive each element of whose result is one of the operands, or none."""

    def rule(params: Any, call: NumberedOperands) -> Numbering | None:
        places = [x for x in call.primals if not is_inexact(x.dtype)]
        size = max(len(n) for n in call.numbers if n is not None)
        if any(isinstance(x, tr.Tracer) for x in places) or (
            size * max([x.size for x in call.primals] + [x.size for x in call.outs]) > _MOST
        ):
            return None
        operands = [None if n is None else _filled(n, size) for n in call.numbers]
        moved: list[list[Numbers]] = [[] for _ in call.outs]
        with tr.use_trace(tr.EVAL):
            for i in range(size):
                values = [_numbers_at(x, n, i) for x, n in zip(call.primals, operands, strict=True)]
                results = tr.bind(primitive, values, params)
                for column_of, result in zip(moved, results, strict=True):
                    column_of.append(np.asarray(result.concrete("numbers of inputs"), np.intp))
        return Numbering(
            operands, [_simplified(_result_numbers(np.stack(m), call.numbers)) for m in moved]
        )

    return rule


def _filled(numbers: Numbers, size: int) -> Numbers:
    """Add rows of no number."""
    return np.concatenate([numbers, np.full((size - len(numbers), *numbers.shape[1:]), NONE)])


def _numbers_at(x: Array, numbers: Numbers | None, i: int) -> Array:
    """Return the numbers of an operand in one row, as an operand; of places, these."""
    if not is_inexact(x.dtype):
        return x
    row = np.full(x.shape, NONE) if numbers is None else np.broadcast_to(numbers[i], x.shape)
    return concrete.ConcreteArray(np.array(row))


def _result_numbers(moved: Numbers, numbers: Sequence[Numbers | None]) -> Numbers:
    """Return the numbers of a result; elements of no operand, such as a filling, have none."""
    present = np.unique(np.concatenate([n.reshape(-1) for n in numbers if n is not None]))
    return np.where(np.isin(moved, present), moved, NONE)


def _dot(params: dot.DotParams, call: NumberedOperands) -> Numbering | None:
    """Of one operand that varies, join along contracted axes; of two along all but batch axes."""
    sides = (params.lhs_contract, params.lhs_batch), (params.rhs_contract, params.rhs_batch)
    results: list[Numbers] = []
    both = all(n is not None for n in call.numbers)
    for i, ((contracted, batch), x, n) in enumerate(
        zip(sides, call.primals, call.numbers, strict=True)
    ):
        if n is None:
            continue
        rest = [a for a in range(x.ndim) if a not in batch and a not in contracted]
        mixed = joined(n, [*contracted, *rest] if both else contracted)
        ordered = np.transpose(mixed, [0, *(a + 1 for a in (*batch, *rest, *contracted))])
        kept = ordered.reshape(ordered.shape[: 1 + len(batch) + len(rest)])
        # the result has the batch axes, then those of the left operand, then of the right
        after = call.outs[0].ndim - len(batch) - len(rest)
        before, behind = (0, after) if i == 0 else (after, 0)
        shape = kept.shape
        cut = 1 + len(batch)
        results.append(kept.reshape(*shape[:cut], *[1] * before, *shape[cut:], *[1] * behind))
    together = _together(results)
    if together is None:
        return None
    if not both:
        operands = [
            None if n is None else joined(n, contracted)
            for n, (contracted, _) in zip(call.numbers, sides, strict=True)
        ]
        return Numbering(operands, [together])
    placed: list[Numbers | None] = []
    for (_, batch), x in zip(sides, call.primals, strict=True):
        of_batch = together.reshape(together.shape[: 1 + len(batch)])
        spread = np.expand_dims(of_batch, tuple(range(1 + len(batch), 1 + x.ndim)))
        placed.append(np.moveaxis(spread, range(1, 1 + len(batch)), [a + 1 for a in batch]))
    return Numbering(placed, [together])


def over_axes(params: Any) -> Sequence[int]:
    """Return the axes that a reduction removes."""
    axes: tuple[int, ...] = params.axes
    return axes


def _over_axis(params: Any) -> Sequence[int]:
    return (params.axis,)


_RULES: Final[dict[prim.Primitive[Any], PlanRule]] = {
    **{
        p: _moving(p)
        for p in (
            sh.reshape_p,
            sh.transpose_p,
            sh.rev_p,
            broadcast_in_dim_p,
            slicing.slice_p,
            slicing.pad_p,
            slicing.concatenate_p,
            slicing.split_p,
            gather_scatter.gather_p,
        )
    },
    **{
        p: _along(over_axes, removes=True)
        for p in (reduce_sum_p, reduce_prod_p, reduce_max_p, reduce_min_p)
    },
    **{
        p: _along(_over_axis)
        for p in (
            cumulative.cumsum_p,
            cumulative.cumprod_p,
            cumulative.cummax_p,
            cumulative.cummin_p,
            cumulative.cumlogsumexp_p,
        )
    },
    sort_p: _along(_over_axis),
    dot.dot_general_p: _dot,
}
