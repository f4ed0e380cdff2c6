"""argmax and argmin: where an array is greatest, and where it is least."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.broadcast import reduced_shape
from tinyjax.core.primitives.reduce import highest, lowest
from tinyjax.core.primitives.rules import check_kind, def_constant
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av


@attrs.frozen(eq=False, repr=False)
class ArgParams(prim.Params):
    """The axis that is searched, and the dtype of the indices."""

    axis: int
    dtype: dtypes.DType


def _arg_reducer(
    name: str, impl: Callable[..., dtypes.HostArray], direction: str
) -> prim.Primitive[ArgParams]:
    primitive = prim.Primitive(name, ArgParams, repeatable=True)
    start = lowest if direction == "GT" else highest

    @primitive.def_impl
    def arg_impl(operands: prim.Hosts, params: ArgParams) -> prim.Hosts:
        (x,) = operands
        if dtypes.is_extended(x.dtype):
            x = x.astype(np.float32)
        return (np.asarray(impl(x, axis=params.axis)).astype(params.dtype),)

    @primitive.def_host
    def arg_host(avals: prim.Avals, params: ArgParams) -> prim.Kernel | None:
        (x,), axis, dtype = avals, params.axis, params.dtype
        if dtypes.is_extended(x.dtype):
            return None
        if direction == "GT":
            return lambda x: x.argmax(axis).astype(dtype)
        return lambda x: x.argmin(axis).astype(dtype)

    @primitive.def_abstract_eval
    def arg_type(avals: prim.Avals, params: ArgParams) -> prim.Avals:
        (x,) = avals
        check_kind(name, x, "biuf")
        shape = reduced_shape(name, x, (params.axis,))
        if x.shape[params.axis] == 0:
            raise errors.ShapeError(
                f"{name} along axis {params.axis} of {x}: there is no element to choose."
            )
        return (av.ShapedArray(shape, params.dtype),)

    @primitive.def_lowering
    def arg_lowering(b: Lowering, operands: hlo.Values, params: ArgParams) -> hlo.Values:
        # A reduction over (value, index) pairs; NaN wins, and among equals the least index.
        (x,) = operands

        def body(b: Lowering, args: list[hlo.SSAValue]) -> hlo.Values:
            x0, i0, x1, i1 = args
            better = b.or_(b.compare(x0, x1, direction), b.compare(x0, x0, "NE"))
            tie = b.and_(b.compare(x0, x1, "EQ"), b.compare(i0, i1, "LT"))
            return b.select(better, x0, x1), b.select(b.or_(better, tie), i0, i1)

        positions = b.iota(hlo.tensor(x.shape, params.dtype), params.axis)
        initial = b.scalar(start(x.dtype), x.dtype), b.scalar(0, params.dtype)
        return b.reduce((x, positions), initial, (params.axis,), body)[1:]

    def_constant(primitive)

    sh.def_simple_batch(primitive, lambda params, size: attrs.evolve(params, axis=params.axis + 1))

    return primitive


argmax_p: prim.Primitive[ArgParams] = _arg_reducer("argmax", np.argmax, "GT")
argmin_p: prim.Primitive[ArgParams] = _arg_reducer("argmin", np.argmin, "LT")


def argmax(x: Array, axis: int, dtype: dtypes.DType) -> Array:
    """Return the index of the first maximum along an axis; of the first NaN where there is one."""
    return tr.bind1(argmax_p, (x,), ArgParams(axis, dtype))


def argmin(x: Array, axis: int, dtype: dtypes.DType) -> Array:
    """Return the index of the first minimum along an axis; of the first NaN where there is one."""
    return tr.bind1(argmin_p, (x,), ArgParams(axis, dtype))
