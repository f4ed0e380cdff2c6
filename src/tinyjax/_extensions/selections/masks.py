"""Masks, and their propagation back through equations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from typing import TypeAlias

from tinyjax import dtypes, errors
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.transforms import batching
from tinyjax.core.values import Array, operands as opd

#: The selected elements of a cotangent, computed on first use: a bool for each, or a number, how
#: often it was. Numbers are added, in place where cotangents are.
Mask: TypeAlias = Callable[[], Array]


class Bounded:
    """A mask that holds nowhere unless the mask of a number holds.

    Args:
        mask: computes it.
        number: the mask of the number; None where the mask is that of a number itself.

    Attributes:
        number: the mask of the number.
    """

    def __init__(self, mask: Mask, number: Bounded | None = None) -> None:
        self._mask = mask
        self.number: Bounded = number or self
        self._wholes: dict[tuple[int, ...], Bounded] = {(): self}

    def __call__(self) -> Array:
        return self._mask()

    def whole(self, shape: tuple[int, ...]) -> Bounded:
        """Return the mask of an array that holds for all of it if that of the number does."""
        if shape not in self._wholes:
            spread = cache(lambda: broadcast_in_dim(self(), shape, ()))
            self._wholes[shape] = Bounded(spread, self)
        return self._wholes[shape]

    def around(self, mask: Mask | None, shape: tuple[int, ...]) -> Bounded:
        """Return a mask of an array that is bounded, by this one if by none."""
        if mask is None:
            return self.whole(shape)
        if isinstance(mask, Bounded):
            return mask
        return Bounded(both(self.whole(shape), mask), self)

    def is_whole(self, eqn: jx.JaxprEqn, masks: Sequence[Mask | None]) -> bool:
        """Return whether this is all that there is in the masks of an equation's results."""
        wholes = [self.whole(var.aval.shape) for var in eqn.out_binders]
        return all(m is None or m is whole for m, whole in zip(masks, wholes, strict=True))


def is_elementwise(eqn: jx.JaxprEqn) -> bool:
    """Return whether a primitive works element by element."""
    return prim.ELEMENTWISE in eqn.primitive.rules.extensions


def keeps_places(eqn: jx.JaxprEqn) -> bool:
    """Return whether each element of an operand's cotangent comes from one element of the result's.

    This is not so for a slice of a larger array: its cotangent is padded with zeros. A loop may do
    that in place, and must not treat an array as an element.
    """
    if is_elementwise(eqn):
        return True
    if _repeats(eqn) is not False:
        return False
    sizes = [var.aval.size for var in eqn.out_binders]
    try:
        return all(x.aval.size <= max(sizes) for x in eqn.inputs)
    except errors.InconclusiveDimensionOperation:  # of symbolic sizes
        return False


def _repeats(eqn: jx.JaxprEqn) -> bool | None:
    """Return whether an operation that moves and adds elements repeats them; None for any other."""
    rule: Callable[[], bool] | None = eqn.primitive.rules.extensions.get(prim.MOVES)
    return None if rule is None else rule()


def is_local(eqn: jx.JaxprEqn) -> bool:
    """Return whether results are computed of operands of this example and on this device alone.

    A program for all devices of a mesh is local as a whole, where its operands are.
    """
    places = [x.aval.where for x in (*eqn.inputs, *eqn.out_binders)]
    own = eqn.params.axes if is_divided(eqn) else ()
    return not (
        any(where is not None and where != where.of_all for where in places)
        or any(where is not None and where != where.cotangent() for where in places)
        or eqn.primitive.rules.collective is not None
        or any(
            batching.communicating(program).difference(own) for program in jx.subjaxprs(eqn.params)
        )
    )


def is_divided(eqn: jx.JaxprEqn) -> bool:
    """Return whether it is a program for each device of a mesh."""
    return eqn.primitive.name == "shard_map"


def _gives_numbers(eqn: jx.JaxprEqn) -> bool:
    return is_local(eqn) and not any(var.aval.shape for var in eqn.out_binders)


def bound_of(
    eqn: jx.JaxprEqn, cotangents: prim.Tangents, masks: Sequence[Mask | None]
) -> Bounded | None:
    """Return the mask of the one number that bounds those of an equation's results, if any does."""
    present = [m for m, ct in zip(masks, cotangents, strict=True) if ct is not prim.ZERO]
    return _common_bound(present) if any(present) and is_local(eqn) else None


def _common_bound(masks: Iterable[Mask | None]) -> Bounded | None:
    numbers = {mask.number if isinstance(mask, Bounded) else None for mask in masks}
    return numbers.pop() if len(numbers) == 1 else None


def carries(eqn: jx.JaxprEqn) -> bool:
    """Return whether operands have masks where the results have."""
    marks = eqn.primitive.rules.extensions
    is_known = prim.ELEMENTWISE in marks or prim.MOVES in marks or prim.SOLVES in marks
    return is_known or is_of_user(eqn) or _gives_numbers(eqn) or _is_of_vectors(eqn)


def is_of_user(eqn: jx.JaxprEqn) -> bool:
    """Return whether its transpose is a rule of the user's that does nothing but pull back."""
    if eqn.primitive.name != "custom_vjp_tangent":
        return False
    return eqn.params.logs is None and not eqn.params.num_states


def is_product(eqn: jx.JaxprEqn) -> bool:
    """Return whether it is a product of vectors or matrices, or of stacks of them."""
    return eqn.primitive.name == "dot_general"


def _is_of_vectors(eqn: jx.JaxprEqn) -> bool:
    """Return whether it is an inner or an outer product of vectors, or of stacks of them."""
    if not is_product(eqn):
        return False
    contracted, batch = len(eqn.params.lhs_contract), len(eqn.params.lhs_batch)
    return not contracted or eqn.out_binders[0].aval.ndim == batch


def choose(ct: prim.Tangent, mask: Mask | None) -> Array:
    """Return a cotangent that is zero where it was not chosen."""
    assert isinstance(ct, Array), "there is a cotangent"
    assert mask is not None, "what was not multiplied after a choice is as it is"
    return ew.select(as_bools(mask()), ct, opd.splat(0, ct.aval))


def either(x: Mask, y: Mask) -> Mask:
    """Return where one of two holds."""
    number = _common_bound((x, y))
    some: Mask = cache(lambda: _combined(x(), y(), ew.or_, ew.add))
    return some if number is None else Bounded(some, number)


def both(x: Mask, y: Mask) -> Mask:
    """Return where both of two hold."""
    return cache(lambda: _combined(x(), y(), ew.and_, ew.min_))


def _combined(
    x: Array,
    y: Array,
    of_bools: Callable[[Array, Array], Array],
    of_numbers: Callable[[Array, Array], Array],
) -> Array:
    if x.dtype == y.dtype == dtypes.bool_:
        return of_bools(x, y)
    return of_numbers(*[ew.convert_element_type(z, dtypes.float32) for z in (x, y)])


def as_number(mask: Mask | None, like: Array, dtype: dtypes.DType = dtypes.float32) -> Array:
    """Return a mask as an array of numbers, ones where there is no mask."""
    if mask is None:
        return opd.splat(1, like.aval.with_dtype(dtype))
    return ew.convert_element_type(mask(), dtype)


def as_mask(number: prim.Tangent | None) -> Mask | None:
    """Return the mask that numbers represent; None where there are none."""
    if not isinstance(number, Array):
        return None

    def mask() -> Array:
        return number

    return mask if number.shape else Bounded(mask)


def as_bools(numbers: object) -> Array:
    """Return numbers as bools, where every nonzero number marks a selected element."""
    return ew.convert_element_type(_array(numbers), dtypes.bool_)


def pulled_back(
    eqn: jx.JaxprEqn,
    cotangents: prim.Tangents,
    operands: prim.Operands,
    masks: Sequence[Mask | None],
) -> Sequence[Mask | None]:
    """Return the masks of an equation's operands; the last ones without any may be left out.

    Args:
        eqn: the equation; it selects, or one of its results has a mask.
        cotangents: the cotangents of its results.
        operands: its operands.
        masks: the masks of its results.
    """
    mask, repeats = masks[0], _repeats(eqn)
    if eqn.primitive is ew.select_p:
        return (None, *_of_cases(operands[0], mask))
    if is_elementwise(eqn):
        return [mask] * len(operands)
    if repeats is not None or _is_of_vectors(eqn):
        moved = cache(lambda: _transposed(eqn, cotangents, operands, masks, repeats is False))
        return [cache(lambda i=i: _array(moved()[i])) for i in range(len(operands))]
    linear = [isinstance(x, prim.UndefinedPrimal) for x in operands]
    present = [m for m, ct in zip(masks, cotangents, strict=True) if ct is not prim.ZERO]
    solves = prim.SOLVES in eqn.primitive.rules.extensions
    if None in present or not (solves or _gives_numbers(eqn)):
        return ()
    # where nothing of a number or a matrix was chosen, nothing was that it is computed of
    chosen = reduce(either, [m for m in present if m is not None])
    stack = tuple(range(max(eqn.out_binders[0].aval.ndim - 2, 0)))
    return [
        _whole(chosen, x.aval.shape, stack) if is_linear else None
        for x, is_linear in zip(operands, linear, strict=True)
    ]


def through_product(
    eqn: jx.JaxprEqn, operands: prim.Operands, mask: Mask
) -> tuple[prim.Operands, Sequence[Mask]]:
    """Replace the operands of a product of matrices by zeros where no result was chosen.

    Returns:
        Its operands, replaced where they are known, and their masks.
    """
    masks = [
        _whole(mask, x.aval.shape, stack)
        for x, stack in zip(operands, (eqn.params.lhs_batch, eqn.params.rhs_batch), strict=True)
    ]
    return [
        choose(x, mask) if isinstance(x, Array) else x
        for x, mask in zip(operands, masks, strict=True)
    ], masks


def _whole(mask: Mask, shape: tuple[int, ...], stack: tuple[int, ...]) -> Mask:
    """Return a mask that holds for all of a number, or a matrix, if it does for one element.

    Args:
        mask: the mask of the result, whose first axes are those of the stack of matrices.
        shape: the shape of an operand.
        stack: the axes of the operand that belong to the stack.
    """

    def of_operand() -> Array:
        some = as_bools(mask())
        axes = tuple(range(len(stack), some.ndim))
        return broadcast_in_dim(reduce_or(some, axes), shape, stack)

    return cache(of_operand)


def _of_cases(predicate: Array | prim.UndefinedPrimal, mask: Mask | None) -> Sequence[Mask]:
    """Return the masks of the first and the second case of a selection."""
    taken = _array(predicate)
    cases: list[Mask] = [lambda: taken, cache(lambda: ew.not_(taken))]
    if mask is not None:
        cases = [both(mask, case) for case in cases]
    if not taken.shape:
        return [Bounded(case) for case in cases]
    number = _common_bound((mask,))
    return cases if number is None else [Bounded(case, number) for case in cases]


def _transposed(
    eqn: jx.JaxprEqn,
    cotangents: prim.Tangents,
    operands: prim.Operands,
    masks: Sequence[Mask | None],
    moves_alone: bool,
) -> prim.Cotangents:
    """Apply a transpose rule to masks: to bools if it moves them alone, or else to numbers."""
    values = [None if mask is None else mask() for mask in masks]
    are_bools = all(value is None or value.dtype == dtypes.bool_ for value in values)
    dtype = dtypes.bool_ if moves_alone and are_bools else dtypes.float32
    numbers = [
        opd.splat(0, var.aval.with_dtype(dtype))
        if isinstance(ct, prim.ZeroTangent)
        else as_number(mask, ct, dtype)
        for var, ct, mask in zip(eqn.out_binders, cotangents, masks, strict=True)
    ]
    of_masks = [
        prim.UndefinedPrimal(x.aval.with_dtype(dtype))
        if isinstance(x, prim.UndefinedPrimal)
        else opd.splat(1, x.aval.with_dtype(dtype))
        if dtypes.is_inexact(x.dtype)
        else x
        for x in operands
    ]
    return eqn.primitive.rules.transpose(numbers, of_masks, eqn.params)


def _array(x: object) -> Array:
    assert isinstance(x, Array), "where there is a cotangent there is a mask"
    return x
