"""Operands as the functions of ``tinyjax.lax`` take them: of one shape and one dtype."""

from __future__ import annotations

from collections.abc import Sequence

from tinyjax import dtypes, errors
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.numpy.promotion import (
    arrays,
    broadcast as _broadcast_arrays,
    convert,
    ordered,
    types_of,
)


def pair(name: str, *operands: ArrayLike) -> list[Array]:
    """Return operands as arrays of one shape and dtype, if they are as good as equal."""
    xs = one_dtype(name, arrays(name, *operands))
    shapes = {x.shape for x in xs}
    if len(shapes) == 1:
        return xs
    if len({len(s) for s in shapes if s}) > 1:
        raise errors.ShapeError(
            f"{name} needs operands with as many axes, or scalars, but got "
            f"{' and '.join(str(x.aval) for x in xs)}. The function of tinyjax.numpy broadcasts."
        )
    return _broadcast_arrays(xs)


def compared(name: str, x: ArrayLike, y: ArrayLike) -> list[Array]:
    """Return the operands of a comparison; a number may be beyond the other operand's dtype."""
    try:
        return pair(name, x, y)
    except errors.NumberRangeError:
        return pair(name, *ordered(name, x, y))


def one_dtype(name: str, operands: Sequence[Array]) -> list[Array]:
    """Convert weak operands to the dtype of the others, where they can be without loss of kind."""
    xs = list(operands)
    if len({x.dtype for x in xs}) == 1:
        for x in xs:
            opd.check_number(x, x.dtype)
        return xs
    strong = {x.dtype for x in xs if not opd.is_weak(x)}
    if len(strong) == 1:
        (dtype,) = strong
        if dtypes.promote(types_of(xs))[0] == dtype:
            return [x if x.dtype == dtype else convert(x, dtype) for x in xs]
    raise errors.DtypeError(
        f"{name} requires arguments to have the same dtypes, but got "
        f"{' and '.join(str(x.aval) for x in xs)}. The "
        "function of tinyjax.numpy promotes; or convert one with .astype(...)."
    )
