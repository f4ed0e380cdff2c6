"""The general dot product: contraction and batching over any axes."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax._primitives.precision import (
    Canonical,
    DotAlgorithm,
    DotAlgorithmPreset,
    config_of,
    operand_dtype,
    swapped_precision,
    takes_float8,
    written_as,
)
from tinyjax.core import devices
from tinyjax.core.primitives import elementwise as ew, rules, shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ShapedArray, operands as opd
from tinyjax.dtypes import DType, HostArray

Axes = tuple[int, ...]


@attrs.frozen(cache_hash=True, repr=False)
class DotParams(prim.Params):
    """The contracted and the batch axes, in pairs, the result's dtype, and the precision.

    The result's axes are the batch axes in order, the left operand's other axes, the right's.
    """

    lhs_contract: Axes
    rhs_contract: Axes
    lhs_batch: Axes
    rhs_batch: Axes
    dtype: DType
    precision: Canonical = records.optional()


dot_general_p: Final = prim.Primitive("dot_general", DotParams, repeatable=True)
prim.mark(prim.MATERIALIZES, False, dot_general_p)


@dot_general_p.def_rule(prim.FLOPS)
def _dot_flops(params: DotParams, avals: prim.Avals, outs: prim.Avals) -> float:
    return 2.0 * outs[0].size * prod(avals[0].shape[i] for i in params.lhs_contract)


@lru_cache(maxsize=1024)
def _rest(ndim: int, batch: Axes, contract: Axes) -> Axes:
    """Return the axes that are neither batched nor contracted."""
    return tuple([i for i in range(ndim) if i not in batch and i not in contract])


def _shape(
    x: HostArray | ShapedArray, y: HostArray | ShapedArray, params: DotParams
) -> tuple[int, ...]:
    return (
        *(x.shape[i] for i in params.lhs_batch),
        *(x.shape[i] for i in _rest(x.ndim, params.lhs_batch, params.lhs_contract)),
        *(y.shape[i] for i in _rest(y.ndim, params.rhs_batch, params.rhs_contract)),
    )


_BLAS: Final = frozenset((dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128))


def _is_matmul(x: HostArray | ShapedArray, y: HostArray | ShapedArray, params: DotParams) -> bool:
    return (
        x.ndim <= 2
        and y.ndim <= 2
        and not params.lhs_batch
        and len(params.lhs_contract) == 1
        and x.dtype is y.dtype is params.dtype
        and params.dtype in _BLAS
    )


@dot_general_p.def_impl
def _dot_impl(operands: prim.Hosts, params: DotParams) -> prim.HostResults:
    x, y = operands
    dtype = params.dtype
    if _is_matmul(x, y, params):
        left = x.T if params.lhs_contract[0] < x.ndim - 1 else x
        right = y.T if params.rhs_contract[0] else y
        return (left.dot(right),)
    left = _matrices(x, params.lhs_batch, params.lhs_contract, True)
    right = _matrices(y, params.rhs_batch, params.rhs_contract, False)
    wide = _of_products(x.dtype, y.dtype, dtype)
    product = _of_integers(left, right) if dtypes.is_integer(wide) else None
    if product is None:
        product = np.matmul(left.astype(wide, copy=False), right.astype(wide, copy=False))
    shape = _shape(x, y, params)
    if dtypes.is_narrow_float(x.dtype) and not dtypes.is_inexact(dtype):
        product = product.astype(x.dtype)
    if product.dtype != dtype:
        product = ew.convert_host(product, dtype)
    return (product.reshape(shape),)


def _of_products(x: DType, y: DType, result: DType) -> DType:
    """Return the dtype to multiply and add in; floats are made integers at the end, as XLA does."""
    if dtypes.is_integer(result) or result == dtypes.bool_:
        floats = [dtype for dtype in (x, y) if dtypes.is_inexact(dtype)]
        wide = [dtypes.float32 if dtypes.is_narrow_float(dtype) else dtype for dtype in floats]
        return np.result_type(*wide) if wide else result
    return dtypes.float32 if dtypes.is_narrow_float(result) else result


#: With so many products for each element BLAS is faster, which NumPy does not ask for integers.
_MANY: Final = 16
#: The bits of a number that float32 and float64 hold.
_DIGITS: Final = ((dtypes.float32, 24), (dtypes.float64, 53))


def _of_integers(lhs: HostArray, rhs: HostArray) -> HostArray | None:
    """Multiply stacks of matrices of integers by BLAS, in floats that hold all sums.

    Returns:
        The product modulo 2^64; None where NumPy's own is faster, or no float holds the sums.
    """
    size = lhs.shape[-1]
    products = lhs.size * rhs.shape[-1]
    elements = lhs.size + rhs.size + products // max(size, 1)
    if products <= _MANY * elements or max(lhs.dtype.itemsize, rhs.dtype.itemsize) > 4:
        return None
    most = size * _largest(lhs) * _largest(rhs)
    for dtype, digits in _DIGITS:
        if most < 1 << digits:
            return _sums(lhs, rhs, dtype)
    if size >= 1 << 20:
        return None
    # of numbers a 2^16 + b and c 2^16 + d, whose parts have 16 bits
    a, b, c, d = lhs >> 16, lhs & 0xFFFF, rhs >> 16, rhs & 0xFFFF
    wide = dtypes.float64
    middle = _sums(a, d, wide) + _sums(b, c, wide)
    return (_sums(a, c, wide) << 32) + (middle << 16) + _sums(b, d, wide)


def _largest(x: HostArray) -> int:
    return max(-int(x.min()), int(x.max()))


def _sums(lhs: HostArray, rhs: HostArray, dtype: DType) -> HostArray:
    return np.asarray(np.matmul(lhs.astype(dtype), rhs.astype(dtype)), np.int64)


def _matrices(x: HostArray, batch: Axes, contract: Axes, is_left: bool) -> HostArray:
    """Bring an operand to the form of a stack of matrices that ``matmul`` multiplies."""
    rest = _rest(x.ndim, batch, contract)
    last = (*rest, *contract) if is_left else (*contract, *rest)
    rows, columns = (rest, contract) if is_left else (contract, rest)
    sizes = [prod(x.shape[i] for i in axes) for axes in (batch, rows, columns)]
    return x.transpose((*batch, *last)).reshape(sizes)


@dot_general_p.def_host
def _dot_host(avals: prim.Avals, params: DotParams) -> prim.HostCall | None:
    x, y = avals
    if not _is_matmul(x, y, params):
        return None
    turn_left, turn_right = params.lhs_contract[0] < x.ndim - 1, params.rhs_contract[0] > 0
    shape = _shape(x, y, params)
    if opd.is_large(shape, params.dtype):

        def product(x: HostArray, y: HostArray) -> HostArray:
            out = opd.aligned(shape, params.dtype)
            return (x.T if turn_left else x).dot(y.T if turn_right else y, out)

        return prim.HostCall(product, fresh=True)
    if turn_left:
        return prim.HostCall(lambda x, y: x.T.dot(y.T if turn_right else y), fresh=True)
    # for few numbers faster than matmul
    dot = (lambda x, y: x.dot(y.T)) if turn_right else np.ndarray.dot
    return prim.HostCall(dot, fresh=True)


@dot_general_p.def_abstract_eval
def _dot_type(avals: prim.Avals, params: DotParams) -> prim.Avals:
    x, y = avals
    return (_product_type(x, y, params),)


@lru_cache(maxsize=1024)
def _product_type(x: ShapedArray, y: ShapedArray, params: DotParams) -> ShapedArray:
    for operand in (x, y):
        rules.check_kind("dot_general", operand, "biufc")
    for lhs, rhs, what in (
        (params.lhs_contract, params.rhs_contract, "contracted"),
        (params.lhs_batch, params.rhs_batch, "batched"),
    ):
        if len(lhs) != len(rhs):
            raise errors.ShapeError(
                f"dot_general needs as many {what} axes of either operand, but got {lhs} and {rhs}."
            )
        for i, j in zip(lhs, rhs, strict=True):
            if not (0 <= i < x.ndim and 0 <= j < y.ndim) or x.shape[i] != y.shape[j]:
                raise errors.ShapeError(
                    f"dot_general needs {what} axes of equal size, but axis {i} of {x} and axis "
                    f"{j} of {y} differ or do not exist."
                )
    for places in (
        (*params.lhs_contract, *params.lhs_batch),
        (*params.rhs_contract, *params.rhs_batch),
    ):
        if len(set(places)) != len(places):
            raise errors.ShapeError(f"dot_general needs each axis once, but got {places}.")
    if x.dtype != y.dtype:
        raise errors.DtypeError(
            f"dot_general needs operands of one dtype, but got {x} and {y}. The function of "
            "tinyjax.numpy promotes; this primitive does not."
        )
    rules.check_not_made_real("dot_general", x.dtype, params.dtype)
    if takes_float8(params.precision) and x.dtype not in dtypes.FLOAT8:
        raise errors.DtypeError(
            f"{params.precision} is for operands of one float8 dtype, but got {x} and {y}."
        )
    shape = _shape(x, y, params)
    weak = x.weak_type and y.weak_type and params.dtype == x.dtype
    return ShapedArray(shape, params.dtype, weak)


@dot_general_p.def_lowering
def _dot_lowering(b: Lowering, operands: hlo.Values, params: DotParams) -> hlo.Values:
    dims = (
        "#stablehlo.dot<"
        f"lhs_batching_dimensions = {list(params.lhs_batch)}, "
        f"rhs_batching_dimensions = {list(params.rhs_batch)}, "
        f"lhs_contracting_dimensions = {list(params.lhs_contract)}, "
        f"rhs_contracting_dimensions = {list(params.rhs_contract)}>"
    )
    (x, y), (result,), precision = operands, b.results, params.precision
    attributes = {"dot_dimension_numbers": dims}
    if isinstance(precision, DotAlgorithm | DotAlgorithmPreset):
        are_floats = dtypes.kind(x.dtype) == dtypes.kind(result.dtype) == "f"
        if are_floats and b.platform != "cpu":
            written = written_as(precision, x.dtype, result.dtype)
            left, right, inside = written.dtypes
            x, y = b.convert(x, left), b.convert(y, right)
            result = hlo.tensor(result.shape, inside)
            if written.text is not None:
                attributes["algorithm"] = written.text
        else:
            precision = None
    if "algorithm" not in attributes:
        wide = operand_dtype(x.dtype, params.dtype, b.platform)
        x, y = b.convert(x, wide), b.convert(y, wide)
    attributes["precision_config"] = config_of(precision, x.dtype, b.platform)
    (out,) = b.emit("stablehlo.dot_general", (x, y), (result,), attributes)
    return [b.convert(out, params.dtype)]


rules.def_derivatives(
    dot_general_p,
    lambda t, out, x, y, params: tr.bind1(dot_general_p, (t, y), params),
    lambda t, out, x, y, params: tr.bind1(dot_general_p, (x, t), params),
)


def _into_left(ct: Array, x: prim.UndefinedPrimal, y: Array, params: DotParams) -> Array:
    moved, perm = _transposed(params, x.aval.ndim, y.ndim, x.aval.dtype, True)
    return _product(ct, y, moved, perm)


def _into_right(ct: Array, x: Array, y: prim.UndefinedPrimal, params: DotParams) -> Array:
    moved, perm = _transposed(params, x.ndim, y.aval.ndim, y.aval.dtype, False)
    return _product(x, ct, moved, perm)


def _product(x: Array, y: Array, params: DotParams, perm: Axes | None) -> Array:
    if x.dtype != y.dtype:
        x, y = ew.convert_element_type(x, params.dtype), ew.convert_element_type(y, params.dtype)
    product = tr.bind1(dot_general_p, (x, y), keeping(x, y, params))
    return product if perm is None else sh.transpose(product, perm)


rules.def_transposes(dot_general_p, _into_left, _into_right, bilinear=True)


# Which axes a transposed product contracts, and what brings its axes back into order (None where
# they are in order): worked out once for each form of product, since it costs as much as the rest.


@lru_cache(maxsize=1024)
def _transposed(
    params: DotParams, x_ndim: int, y_ndim: int, dtype: DType, of_left: bool
) -> tuple[DotParams, Axes | None]:
    """Return the product of the result's cotangent with one operand: the other's cotangent."""
    n = len(params.lhs_batch)
    batch, contracted = tuple(range(n)), (params.lhs_contract, params.rhs_contract)
    x_free = _rest(x_ndim, params.lhs_batch, params.lhs_contract)
    y_free = _rest(y_ndim, params.rhs_batch, params.rhs_contract)
    ct_x = tuple(range(n, n + len(x_free)))
    ct_y = tuple(range(n + len(x_free), n + len(x_free) + len(y_free)))
    # what was contracted comes in the order in which the operand of the new product has it
    if of_left:
        axes = ct_y, y_free, batch, params.rhs_batch
        moved = DotParams(*axes, dtype, precision=params.precision)
        of_x = [i for _, i in sorted(zip(*reversed(contracted), strict=True))]
        return moved, _restoring_perm((*params.lhs_batch, *x_free, *of_x))
    axes = x_free, ct_x, params.lhs_batch, batch
    moved = DotParams(*axes, dtype, precision=params.precision)
    of_y = [i for _, i in sorted(zip(*contracted, strict=True))]
    return moved, _restoring_perm((*params.rhs_batch, *of_y, *y_free))


def _restoring_perm(places: Axes) -> Axes | None:
    """Return the permutation that brings axis ``i`` to ``places[i]``; None for the identity."""
    perm = tuple(sorted(range(len(places)), key=places.__getitem__))
    return None if perm == tuple(range(len(places))) else perm


@dot_general_p.def_batch
def _dot_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: DotParams
) -> prim.BatchResult:
    x, y = values
    last = sh.are_last(mapped, values, axes)
    moved, place, swapped = _batch_plan(params, last, x.ndim, y.ndim, *axes)
    return (tr.bind1(dot_general_p, (y, x) if swapped else (x, y), moved),), (place,)


@lru_cache(maxsize=1024)
def _batch_plan(
    params: DotParams,
    last: bool,
    x_ndim: int,
    y_ndim: int,
    x_axis: int | None,
    y_axis: int | None,
) -> tuple[DotParams, int, bool]:
    """Return the product of batched operands, its batch axis, and whether to swap the operands."""
    batch = len(params.lhs_batch)
    if x_axis is not None and y_axis is not None:
        moved = attrs.evolve(
            params,
            lhs_contract=_past(params.lhs_contract, x_axis),
            rhs_contract=_past(params.rhs_contract, y_axis),
            lhs_batch=(x_axis, *_past(params.lhs_batch, x_axis)),
            rhs_batch=(y_axis, *_past(params.rhs_batch, y_axis)),
        )
        return moved, 0, False
    # With one batched operand its batch axis is one more free axis. Vectors become rows in front of
    # the matrix: the batch comes first, as in other results. A Newton iteration with a Hessian
    # takes 0.8 of the time. Where the batch stands last they become columns behind it.
    ndim, contract = (x_ndim, params.lhs_contract) if last else (y_ndim, params.rhs_contract)
    if (x_axis if last else y_axis) is not None and ndim == 1 + batch + len(contract):
        swapped = DotParams(
            *(params.rhs_contract, params.lhs_contract, params.rhs_batch, params.lhs_batch),
            params.dtype,
            precision=swapped_precision(params.precision),
        )
        return *_dot_of_one(swapped, y_ndim, x_ndim, y_axis, x_axis), True
    return *_dot_of_one(params, x_ndim, y_ndim, x_axis, y_axis), False


def _dot_of_one(
    params: DotParams, x_ndim: int, y_ndim: int, x_axis: int | None, y_axis: int | None
) -> tuple[DotParams, int]:
    """Return the product where one operand is batched, and its batch axis."""
    batch = len(params.lhs_batch)
    if x_axis is not None:
        lhs_batch = _past(params.lhs_batch, x_axis)
        lhs_contract = _past(params.lhs_contract, x_axis)
        moved = attrs.evolve(params, lhs_contract=lhs_contract, lhs_batch=lhs_batch)
        return moved, batch + _rest(x_ndim, lhs_batch, lhs_contract).index(x_axis)
    assert y_axis is not None, "a batch rule runs only where an operand is batched"
    rhs_batch = _past(params.rhs_batch, y_axis)
    rhs_contract = _past(params.rhs_contract, y_axis)
    moved = attrs.evolve(params, rhs_contract=rhs_contract, rhs_batch=rhs_batch)
    x_free = len(_rest(x_ndim, params.lhs_batch, params.lhs_contract))
    return moved, batch + x_free + _rest(y_ndim, rhs_batch, rhs_contract).index(y_axis)


def _past(axes: Axes, inserted: int) -> Axes:
    """Return the same axes after one more was inserted."""
    return tuple([a + (a >= inserted) for a in axes])


def dot_general(
    x: Array,
    y: Array,
    contract: tuple[Axes, Axes],
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: DType | None = None,
    precision: Canonical = None,
) -> Array:
    """Contract and batch two arrays over any axes.

    Args:
        x: any number.
        y: of ``x``'s dtype.
        contract: the axes of ``x`` and of ``y`` that are multiplied and summed, pairwise.
        batch: the axes of ``x`` and of ``y`` that are aligned, pairwise.
        dtype: of the result; that of the operands by default.
        precision: that of the products; full by default, whatever the settings say.

    Returns:
        An array with the batch axes, then ``x``'s other axes, then ``y``'s.

    Raises:
        ShapeError: paired axes differ in size.
        DtypeError: the operands differ in dtype.
    """
    params = _params(contract, batch, x.dtype if dtype is None else dtype, precision)
    return tr.bind1(dot_general_p, (x, y), keeping(x, y, params))


def keeping(x: Array, y: Array, params: DotParams) -> DotParams:
    """Return the parameters of a product, with the sharing in the types of its operands."""
    where = x.aval.where or y.aval.where
    if where is None:
        return params
    return devices.ops().of_sum(params, (x.aval, y.aval))


@lru_cache(maxsize=1024)
def _params(
    contract: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
    dtype: DType,
    precision: Canonical,
) -> DotParams:
    return DotParams(*contract, *batch, dtype, precision=precision)
