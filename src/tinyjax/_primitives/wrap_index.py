"""wrap_index: an index below zero counts from the end of its axis.

It is a primitive so that ``x[i]`` is three equations rather than six. What is known when a program
is a literal is converted at once, so that it stays a constant of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import lazy
from tinyjax.config import settings
from tinyjax.core.primitives import elementwise as ew, families
from tinyjax.core.primitives.rules import def_constant
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av, concrete, integers as ints, operands as opd

_role = "indexes"  # see ``frames.Role``


@attrs.frozen(eq=False, repr=False)
class WrapIndexParams(prim.Params):
    """The length of the axis."""

    size: int


wrap_index_p: Final = prim.Primitive("wrap_index", WrapIndexParams, repeatable=True)


@wrap_index_p.def_host
def _wrap_host(avals: prim.Avals, params: WrapIndexParams) -> prim.HostCall:
    dtype = avals[0].dtype
    zero, size = np.zeros((), dtype), np.array(params.size, dtype)
    numbers = f"{{0}} if {{0}} >= 0 else {{0}} + {params.size}"
    if not avals[0].ndim:
        return prim.HostCall(lambda x: x if x >= 0 else np.add(x, size), numbers=numbers)
    return prim.HostCall(lambda x: np.where(np.less(x, zero), np.add(x, size), x), numbers=numbers)


@wrap_index_p.def_abstract_eval
def _wrap_type(avals: prim.Avals, params: WrapIndexParams) -> prim.Avals:
    (x,) = avals
    if x.dtype not in (dtypes.int32, dtypes.int64):
        raise errors.DtypeError(f"wrap_index takes int32 or int64, but got {x}.")
    return (x.strip_weak(),)


@wrap_index_p.def_lowering
def _wrap_lowering(b: Lowering, operands: hlo.Values, params: WrapIndexParams) -> hlo.Values:
    (x,) = operands
    moved = b.add(x, b.full_like(x, params.size))
    return (b.select(b.compare(x, b.full_like(x, 0), "LT"), moved, x),)


def_constant(wrap_index_p)


families.def_elementwise_batch(wrap_index_p)


def canonical_indices(x: Array, what: str = "an index") -> Array:
    """Convert indices of any integer type to int32 or int64, which XLA's operations take.

    Raises:
        DtypeError: they are not integers.
    """
    dtype = x.dtype
    if dtype is dtypes.int32 or dtype is dtypes.int64:
        return x
    if not dtypes.is_integer(dtype):
        raise errors.DtypeError(f"{what} must be an integer, but got {x.aval}.")
    wide = dtypes.int32 if dtype.itemsize < 4 or dtype == dtypes.int32 else dtypes.int64
    if opd.is_constant(x):
        return concrete.ConcreteArray(x.host.astype(wide))
    return ew.convert_element_type(x, wide)


def wrap_index(x: Array, size: int) -> Array:
    """Count indices below zero from the end of an axis: ``where(x < 0, x + size, x)``.

    Indices at hand are converted at once, so that they stay constants of the program.

    Args:
        x: any integer dtype.
        size: the length of the axis.

    Returns:
        An array of ``x``'s shape, of int32 or int64. Nothing is said about its being in range.

    Raises:
        DtypeError: ``x`` does not hold integers.
    """
    unsigned = x.dtype.kind == "u"
    x = canonical_indices(x)
    if unsigned:
        return x
    if x.dtype == dtypes.int32 and not ints.fit_int32((size,)):
        x = ew.convert_element_type(x, dtypes.int64)
    if not opd.is_constant(x) or type(size) is not int:
        return tr.bind1(wrap_index_p, (x,), WrapIndexParams(size))
    host = x.host
    if opd.is_splat(x):
        start = int(opd.first_element(host)) if host.size else 0
        aval = av.ShapedArray(x.shape, x.dtype)
        return opd.splat(start + size if start < 0 else start, aval)
    return concrete.ConcreteArray(np.where(host < 0, host + host.dtype.type(size), host))


def check_bounds(
    indices: Array,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    sizes: tuple[int, ...] = (1,),
    *,
    wraps: bool = False,
) -> None:
    """Raise where an index of the user's is out of bounds, if ``debug_bounds`` is set.

    Of a program that is staged the indices are looked at when it runs.

    Args:
        indices: integers, as they were given; for several axes index vectors in the last axis.
        shape: of the array that is indexed.
        axes: the axis that the indices, or each entry of their vectors, are about.
        sizes: of the window that begins at an index, along each of these axes.
        wraps: whether an index below zero counts from the end.

    Raises:
        OutOfBoundsError: an index is out of bounds.
    """
    if settings().debug_bounds and all(type(shape[axis]) is int for axis in axes):
        wraps = wraps and indices.dtype.kind != "u"
        lazy.hook("bounds").check(canonical_indices(indices), shape, axes, sizes, wraps)


def same_dtype(indices: Sequence[Array]) -> list[Array]:
    """Bring int32 and int64 arrays to one of the two."""
    # What is a constant of the program gives way, where it can, to what is computed in it.
    wide: dtypes.DType = dtypes.int32
    for x in indices:
        if x.dtype == dtypes.int64 and not (
            type(x) is concrete.ConcreteArray and _fits_int32(x.host)
        ):
            wide = dtypes.int64
    result: list[Array] = []
    for x in indices:
        if x.dtype == wide and not x.weak_type:
            result.append(x)
        elif type(x) is concrete.ConcreteArray:
            aval = av.ShapedArray(x.shape, wide)
            splatted = opd.is_splat(x) and x.host.size
            result.append(
                opd.splat(opd.first_element(x.host), aval)
                if splatted
                else concrete.ConcreteArray(x.host.astype(wide))
            )
        else:
            result.append(ew.convert_element_type(x, wide))
    return result


def _fits_int32(host: dtypes.HostArray) -> bool:
    info = np.iinfo(np.int32)
    return not host.size or bool(info.min <= host.min() and host.max() <= info.max)
