"""The rules of primitives for padded arrays: elements beyond the true length change nothing.

Most fill it with a value before they apply the primitive: sums with zeros, maxima with the least
number, matrices with the identity. Arrays are filled by ``select``, never multiplied: what pads
them may be infinite or NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final

import attrs

from tinyjax import dtypes
from tinyjax._library.padding.programs import PADDING, Padding, PaddingRule, no_rule
from tinyjax._primitives import (
    arg_extrema,
    bitcast,
    cumulative,
    determinant,
    dot,
    dynamic_slice,
    fft,
    gather_scatter,
    householder,
    lu,
    qr,
    random_bits,
    reduce_window,
    scatter_mul,
    spectral,
    triangular,
    wrap_index,
)
from tinyjax._primitives.convolution import ConvParams, conv_general_dilated_p
from tinyjax._primitives.modes import GatherScatterMode
from tinyjax._primitives.sort import SortParams, sort_p, top_k_p
from tinyjax._primitives.windows import Windows
from tinyjax.core.control_flow import cond
from tinyjax.core.control_flow.bodies import LoopBody, LoopOperands, LoopResults
from tinyjax.core.control_flow.primitives import (
    CondParams,
    ScanParams,
    WhileParams,
    bind_scan,
    bind_while,
    cond_p,
    scan_p,
    while_p,
)
from tinyjax.core.primitives import (
    broadcast,
    elementwise as ew,
    identities,
    reduce,
    shape as sh,
    slicing,
)
from tinyjax.core.stablehlo.builder import Scalar
from tinyjax.core.tracing import jaxpr as jx, primitive as prim, staging, trace as tr
from tinyjax.core.values import Array, avals as av, operands as opd
from tinyjax.export import dimension, dims


def _is_varying(n: object) -> bool:
    return isinstance(n, dims.SymbolicDim)


def _filling(
    value: Scalar | Callable[[dtypes.DType], Scalar],
    axes: Callable[[Any, av.ShapedArray], Sequence[int]],
) -> PaddingRule:
    """Make the rule of a primitive that puts together the elements along some axes.

    Args:
        value: what changes nothing, by dtype where it is not the same for all.
        axes: of the parameters and the operand's type, those along which it is filled.
    """

    def rule(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
        filled: list[Array] = []
        for x, aval in zip(xs, [x.aval for x in eqn.inputs], strict=True):
            instead = value(aval.dtype) if callable(value) else value
            filled.append(p.filled(x, aval, instead, axes(eqn.params, aval)))
        return p.bind(eqn, filled)

    return rule


def _least(dtype: dtypes.DType) -> Scalar:
    """Return the least number in the total order of floats, in which NaN has a sign."""
    return -math.nan if dtypes.is_float(dtype) else reduce.lowest(dtype)


def _behind(params: cumulative.CumulativeParams, aval: av.ShapedArray) -> Sequence[int]:
    """Apply a primitive from the front, where later elements change nothing."""
    return (params.axis,) if params.reverse else ()


def _dot(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    axes = (eqn.params.lhs_contract, eqn.params.rhs_contract)
    inputs = zip(xs, eqn.inputs, axes, strict=True)
    return p.bind(eqn, [p.filled(x, atom.aval, 0, own) for x, atom, own in inputs])


def _sort(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    """Sort with padding last, by a first key that is 1 for padding."""
    params: SortParams = eqn.params
    inside = p.inside(eqn.inputs[0].aval, (params.axis,))
    if inside is None:
        return p.bind(eqn, xs)
    outside = ew.convert_element_type(ew.not_(inside), dtypes.int32)
    return tr.bind(sort_p, (outside, *xs), attrs.evolve(params, num_keys=params.num_keys + 1))[1:]


# Elements in other places


def _part(x: Array, axis: int, start: Array, size: int) -> Array:
    """Return a slice along one axis."""
    return dynamic_slice.dynamic_slice_in_dim(x, start, size, axis, allow_negative_indices=False)


def _take(x: Array, axis: int, places: Array) -> Array:
    """Return the elements at some places along one axis."""
    others = tuple([i for i in range(x.ndim) if i != axis])
    numbers = gather_scatter.GatherDimensionNumbers(others, (axis,), (axis,))
    sizes = tuple([1 if i == axis else n for i, n in enumerate(x.shape)])
    params = gather_scatter.GatherParams(numbers, sizes, GatherScatterMode.CLIP)
    return tr.bind1(gather_scatter.gather_p, (x, sh.expand_dims(places, (1,))), params)


def _slice(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,), params = xs, eqn.params
    out = p.aval(eqn.out_binders[0].aval)
    for axis, bounds in enumerate(zip(params.starts, params.limits, params.strides, strict=True)):
        start, limit, stride = bounds
        if _is_varying(stride):
            count = sh.iota((out.shape[axis],), dtypes.int32, 0)
            steps = ew.mul(count, _broadcast_scalar(p.length(stride), count.shape))
            x = _take(x, axis, ew.add(steps, _broadcast_scalar(p.length(start), count.shape)))
            continue
        if _is_varying(start):
            x, start, limit = (
                _part(x, axis, p.length(start), p.size(limit - start)),
                0,
                limit - start,
            )
        x = slicing.slice_in_dim(x, start, p.size(limit), stride, axis)
    return (x,)


def _split(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,), axis, sizes = xs, eqn.params.axis, eqn.params.sizes
    starts = [*accumulate(sizes, initial=0)]
    return [_part(x, axis, p.length(i), p.size(n)) for i, n in zip(starts, sizes, strict=False)]


def _rev(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,), aval = p.bind(eqn, xs), eqn.inputs[0].aval
    for axis in eqn.params.axes:
        n = aval.shape[axis]
        if _is_varying(n):  # what was last comes first now
            size = p.size(n)
            wide = slicing.pad_in_dim(x, 0, size, axis)
            x = _part(wide, axis, ew.sub(opd.scalar(size, dtypes.int32), p.length(n)), size)
    return (x,)


def _concatenate(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    axis, sizes = eqn.params.axis, [x.aval.shape[eqn.params.axis] for x in eqn.inputs]
    if not any(map(_is_varying, sizes[:-1])):
        return p.bind(eqn, xs)
    aval = p.aval(eqn.out_binders[0].aval)
    out = sh.full(aval.shape, 0, aval.dtype)
    for start, x in zip(accumulate(sizes, initial=0), xs, strict=False):
        # over what pads the one before
        out = dynamic_slice.dynamic_update_slice_in_dim(
            out, x, p.length(start), axis, allow_negative_indices=False
        )
    return (out,)


def _pad(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    """Fill the operand's padding with the value that is put after it."""
    (x, value), aval = xs, eqn.inputs[0].aval
    inside = p.inside(aval)
    if inside is not None:
        x = ew.select(inside, x, broadcast.broadcast_in_dim(value, x.shape, ()))
    sizes = p.aval(eqn.out_binders[0].aval).shape
    for axis, (low, high, interior) in enumerate(eqn.params.config):
        if _is_varying(low) or _is_varying(interior):
            count = sh.iota((sizes[axis],), dtypes.int32, 0)
            places = ew.sub(count, _broadcast_scalar(p.length(low), count.shape))
            step = _broadcast_scalar(p.length(interior + 1), count.shape)
            size = _broadcast_scalar(p.length(aval.shape[axis]), count.shape)
            element, zero = ew.div(places, step), sh.zeros_like(count)
            is_any = ew.and_(ew.ge(places, zero), ew.eq(ew.rem(places, step), zero))
            is_any = ew.and_(is_any, ew.lt(element, size))
            x = _take(x, axis, element)
            mask = broadcast.broadcast_in_dim(is_any, x.shape, (axis,))
            x = ew.select(mask, x, broadcast.broadcast_in_dim(value, x.shape, ()))
        else:
            own = (low, p.size(high), interior)
            x = slicing.pad(x, value, [own if i == axis else (0, 0, 0) for i in range(x.ndim)])
    return (x,)


def _reshape(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,), old, new = xs, eqn.inputs[0].aval.shape, eqn.params.shape
    if _keeps_order(old, new):
        return p.bind(eqn, xs)
    # say for each element of the result where it is in the operand
    shape = p.aval(eqn.out_binders[0].aval).shape
    where = place = sh.full(shape, 0, dtypes.int32)
    for axis, n in enumerate(new):
        count = sh.iota(shape, dtypes.int32, axis)
        where = ew.add(ew.mul(where, _broadcast_scalar(p.length(n), shape)), count)
    for axis in reversed(range(len(old))):
        length, stride = p.length(old[axis]), math.prod(x.shape[axis + 1 :])
        own = ew.rem(where, _broadcast_scalar(length, shape))
        where = ew.div(where, _broadcast_scalar(length, shape))
        place = ew.add(place, ew.mul(own, sh.full(shape, stride, dtypes.int32)))
    taken = _take(sh.reshape(x, (x.size,)), 0, sh.reshape(place, (place.size,)))
    return (sh.reshape(taken, shape),)


def _broadcast_scalar(x: Array, shape: tuple[int, ...]) -> Array:
    return x if x.shape == shape else broadcast.broadcast_in_dim(x, shape, ())


def _keeps_order(old: Sequence[int], new: Sequence[int]) -> bool:
    """Return whether the elements of padded arrays come in the same order after a reshape.

    Axes belong together whose products are equal. Among these only the first may vary.
    """
    ends = [[*accumulate(shape, lambda x, y: x * y)] for shape in (old, new)]
    shared = [n for n in ends[0] if n in ends[1]]
    for shape, products in zip((old, new), ends, strict=True):
        is_first = True
        for n, product in zip(shape, products, strict=True):
            if n != 1:
                if _is_varying(n) and not is_first:
                    return False
                is_first = False
            is_first = is_first or product in shared
    return True


# Elements at places that are data


def _shortest(p: Padding, starts: Sequence[Array], room: Sequence[int]) -> list[Array]:
    """Move the starts of slices back to where these fit."""
    return [
        ew.min_(start, p.length(n, start.dtype)) if _is_varying(n) else start
        for start, n in zip(starts, room, strict=True)
    ]


def _dynamic_slice(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    x, *starts = xs
    shape, sizes = eqn.inputs[0].aval.shape, eqn.params.sizes
    room = [n - size for n, size in zip(shape, sizes, strict=True)]
    return p.bind(eqn, (x, *_shortest(p, starts, room)))


def _dynamic_update_slice(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    x, update, *starts = xs
    whole, part = eqn.inputs[0].aval, eqn.inputs[1].aval
    room = [n - size for n, size in zip(whole.shape, part.shape, strict=True)]
    starts = _shortest(p, starts, room)
    partly = [i for i, n in enumerate(part.shape) if n != whole.shape[i]]
    inside = p.inside(part, partly)
    if inside is not None:
        starts = [ew.max_(start, sh.full((), 0, start.dtype)) for start in starts]
        params = dynamic_slice.DynamicSliceParams(update.shape)
        before = tr.bind1(dynamic_slice.dynamic_slice_p, (x, *starts), params)
        update = ew.select(inside, update, before)
    return p.bind(eqn, (x, update, *starts))


def _indices(p: Padding, indices: Array, windows: Windows, mode: GatherScatterMode) -> Array:
    """Keep the treatment of indices out of true bounds as without padding."""
    dtype = indices.dtype
    row = slicing.concatenate(
        [sh.reshape(p.length(n, dtype), (1,)) for n in windows.last_starts], 0
    )
    last = broadcast.broadcast_in_dim(row, indices.shape, (indices.ndim - 1,))
    if mode is GatherScatterMode.CLIP:
        return ew.max_(ew.min_(indices, last), sh.zeros_like(indices))
    return ew.select(ew.gt(indices, last), sh.full_like(indices, reduce.highest(dtype)), indices)


def _gather(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x, indices), params = xs, eqn.params
    windows = gather_scatter.gather_windows(eqn.inputs[0].aval.shape, params)
    if any(map(_is_varying, windows.last_starts)):
        indices = _indices(p, indices, windows, params.mode)
    return p.bind(eqn, (x, indices))


def _scatter(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x, indices, updates), params = xs, eqn.params
    whole, places, part = [atom.aval for atom in eqn.inputs]
    windows = gather_scatter.scatter_windows(whole.shape, part.shape, params)
    if any(_is_varying(n) and n != whole.shape[i] for i, n in enumerate(windows.sizes)):
        raise no_rule(eqn, "a window varies in length, and is not all of an axis")
    inside = p.inside(places)
    if inside is not None and not indices.shape[-1]:
        raise no_rule(eqn, "a number of updates that varies is made in one place")
    if inside is not None or any(map(_is_varying, windows.last_starts)):
        indices = _indices(p, indices, windows, params.mode)
    if inside is not None:  # updates that are none go nowhere
        indices = ew.select(inside, indices, sh.full_like(indices, reduce.highest(indices.dtype)))
        params = gather_scatter.ScatterParams(
            params.dimension_numbers, GatherScatterMode.FILL_OR_DROP
        )
    return tr.bind(eqn.primitive, (x, indices, updates), params)


# Numbers


def _dimension(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    params = eqn.params
    return (ew.convert_element_type(p.length(params.size), params.dtype, params.weak_type),)


def _wrap_index(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,) = xs
    if not _is_varying(eqn.params.size):
        return p.bind(eqn, xs)
    length = _broadcast_scalar(p.length(eqn.params.size, x.dtype), x.shape)
    return (ew.select(ew.lt(x, sh.zeros_like(x)), ew.add(x, length), x),)


def _random_bits(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    """Draw more: an element's bits depend on how many come before it."""
    if any(map(_is_varying, eqn.params.shape[1:])):
        raise no_rule(eqn, "only the first axis of what is drawn may vary")
    return p.bind(eqn, xs)


# Windows


def _windowed(fill: PaddingRule) -> PaddingRule:
    def rule(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
        sizes = getattr(eqn.params, "window", ())
        if any(map(_is_varying, (*sizes, *[low for low, _ in eqn.params.padding]))):
            raise no_rule(eqn, "a window, or what comes before the first element, varies in length")
        return fill(p, eqn, xs)

    return rule


def _convolution(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    params: ConvParams = eqn.params
    shapes = zip(eqn.inputs, (params.numbers.lhs_spec, params.numbers.rhs_spec), strict=True)
    (batch, features), (out, _) = [[x.aval.shape[i] for i in spec[:2]] for x, spec in shapes]
    grouped = [batch] if params.batch_groups > 1 else []
    grouped += [features, out] if params.feature_groups > 1 else []
    if any(map(_is_varying, grouped)):
        raise no_rule(eqn, "an axis that is divided into groups varies in length")
    return _windowed(_filling(0, _all))(p, eqn, xs)


def _all(params: object, aval: av.ShapedArray) -> Sequence[int]:
    return range(aval.ndim)


# Matrices


def _whole(count: Callable[[Any], int]) -> PaddingRule:
    """Return the rule of a primitive that takes some last axes of its operands as a whole."""

    def rule(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
        axes = [n for x in eqn.inputs for n in x.aval.shape[-count(eqn.params) :]]
        if any(map(_is_varying, axes)):
            raise no_rule(eqn)
        return p.bind(eqn, xs)

    return rule


def _matrix(p: Padding, eqn: jx.JaxprEqn, x: Array, aval: av.ShapedArray) -> Array:
    """Put the identity behind square matrices."""
    rows, columns = aval.shape[-2:]
    if rows != columns:
        raise no_rule(eqn, "the rows or the columns of a matrix vary in number, and not both")
    inside = p.inside(aval, (aval.ndim - 2, aval.ndim - 1))
    if inside is None:
        return x
    lines = [sh.iota(x.shape, dtypes.int32, x.ndim - i) for i in (1, 2)]
    return ew.select(inside, x, ew.convert_element_type(ew.eq(*lines), x.dtype))


def _square(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    return p.bind(eqn, [_matrix(p, eqn, xs[0], eqn.inputs[0].aval)])


def _solve(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (a, b), (matrix, right) = xs, [x.aval for x in eqn.inputs]
    axis = right.ndim - (2 if getattr(eqn.params, "left_side", True) else 1)
    return p.bind(eqn, (_matrix(p, eqn, a, matrix), p.filled(b, right, 0, (axis,))))


def _permutation(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    (x,), aval = xs, eqn.inputs[0].aval
    inside = p.inside(aval, (aval.ndim - 1,))
    if inside is not None:  # rows that are none stay where they are
        x = ew.select(inside, x, sh.iota(x.shape, x.dtype, x.ndim - 1))
    return p.bind(eqn, (x,))


# Programs


def _scan(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    """Do nothing in iterations that are none."""
    params: ScanParams = eqn.params
    jaxpr, n, k = p.program(params.jaxpr), len(p.lengths), params.num_consts
    own: LoopOperands[Array] = LoopOperands(p.lengths, ())
    operands = own + params.loop_body.operands(xs)
    body = LoopBody(jaxpr, n + k, params.num_carry)
    if not _is_varying(params.length):
        return bind_scan(body, operands, params).flat
    size, one = p.size(params.length), opd.scalar(1, dtypes.int32)
    first = opd.scalar(size - 1 if params.reverse else 0, dtypes.int32)
    counter: LoopOperands[Array] = LoopOperands((), [first])

    def iteration(args: LoopOperands[Array]) -> LoopResults[Array]:
        (i, *carry) = args.carry
        outs = cond.cond(
            ew.lt(i, Padding(p.buckets, args.consts[:n]).length(params.length)),
            lambda *args: jx.eval_jaxpr(jaxpr, args),
            lambda *args: [*carry, *[opd.splat(0, aval) for aval in body.out_avals.ys]],
            *args.consts,
            *carry,
            *args.xs,
        )
        after: LoopResults[Array] = LoopResults([(ew.sub if params.reverse else ew.add)(i, one)])
        return after + body.results(outs)

    avals = counter.each(lambda part: [x.aval for x in part]) + body.in_avals
    changed = attrs.evolve(params, length=size)
    outs = bind_scan(LoopBody.stage(iteration, avals), counter + operands, changed)
    return outs.flat[1:]


def _while(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    params: WhileParams = eqn.params
    fixed, operands = params.operands(xs)
    n, m = len(p.lengths) + params.num_body, len(operands.carry)
    return bind_while(
        staging.Staged(p.program(params.condition), ()),
        (*p.lengths, *fixed),
        LoopBody(p.program(params.body), n, m),
        LoopOperands(p.lengths, ()) + operands,
        attrs.evolve(params, most=None),
    )


def _cond(p: Padding, eqn: jx.JaxprEqn, xs: Sequence[Array]) -> Sequence[Array]:
    index, *rest = xs
    branches = tuple([p.program(branch) for branch in eqn.params.branches])
    return tr.bind(cond_p, (index, *p.lengths, *rest), CondParams(branches))


def _axes(params: broadcast.ReduceParams, aval: av.ShapedArray) -> Sequence[int]:
    return params.axes


def _axis(params: arg_extrema.ArgParams, aval: av.ShapedArray) -> Sequence[int]:
    return (params.axis,)


def _last(params: object, aval: av.ShapedArray) -> Sequence[int]:
    return (aval.ndim - 1,)


_RULES: Final[Sequence[tuple[PaddingRule, Sequence[prim.Primitive[Any]]]]] = (
    (
        Padding.bind,
        (
            *(ew.select_p, broadcast.broadcast_in_dim_p, sh.transpose_p, sh.iota_p),
            *(
                identities.optimization_barrier_p,
                identities.stop_gradient_p,
                identities.name_p,
                random_bits.random_wrap_p,
            ),
            *(random_bits.random_unwrap_p, bitcast.bitcast_convert_type_p),
        ),
    ),
    (_filling(0, _axes), (broadcast.reduce_sum_p, reduce.reduce_xor_p)),
    (_filling(1, _axes), (reduce.reduce_prod_p,)),
    (_filling(reduce.lowest, _axes), (reduce.reduce_max_p,)),
    (_filling(reduce.highest, _axes), (reduce.reduce_min_p,)),
    (_filling(reduce.all_ones, _axes), (reduce.reduce_and_p,)),
    (_filling(0, _axes), (reduce.reduce_or_p,)),
    (_filling(reduce.lowest, _axis), (arg_extrema.argmax_p,)),
    (_filling(reduce.highest, _axis), (arg_extrema.argmin_p,)),
    (_filling(_least, _last), (top_k_p,)),
    (_filling(0, _behind), (cumulative.cumsum_p, cumulative.linear_recurrence_p)),
    (_filling(1, _behind), (cumulative.cumprod_p,)),
    (_filling(reduce.lowest, _behind), (cumulative.cummax_p, cumulative.cumlogsumexp_p)),
    (_filling(reduce.highest, _behind), (cumulative.cummin_p,)),
    (_dot, (dot.dot_general_p,)),
    (_sort, (sort_p,)),
    (_slice, (slicing.slice_p,)),
    (_split, (slicing.split_p,)),
    (_rev, (sh.rev_p,)),
    (_concatenate, (slicing.concatenate_p,)),
    (_pad, (slicing.pad_p,)),
    (_reshape, (sh.reshape_p,)),
    (_dynamic_slice, (dynamic_slice.dynamic_slice_p,)),
    (_dynamic_update_slice, (dynamic_slice.dynamic_update_slice_p,)),
    (_gather, (gather_scatter.gather_p,)),
    (
        _scatter,
        (
            *(
                gather_scatter.scatter_p,
                gather_scatter.scatter_add_p,
                gather_scatter.scatter_sub_p,
                scatter_mul.scatter_mul_p,
            ),
            *(gather_scatter.scatter_min_p, gather_scatter.scatter_max_p),
        ),
    ),
    (_dimension, (dimension.dim_as_value_p,)),
    (_wrap_index, (wrap_index.wrap_index_p,)),
    (_random_bits, (random_bits.random_bits_p,)),
    (_windowed(_filling(0, _all)), (reduce_window.reduce_window_sum_p,)),
    (_windowed(_filling(reduce.lowest, _all)), (reduce_window.reduce_window_max_p,)),
    (_windowed(_filling(reduce.highest, _all)), (reduce_window.reduce_window_min_p,)),
    (_convolution, (conv_general_dilated_p,)),
    (_whole(lambda params: len(params.lengths)), (fft.fft_p,)),
    (
        _whole(lambda params: 2),
        (
            *(qr.qr_p, qr.geqrf_p, householder.householder_product_p, spectral.eigh_p),
            *(spectral.svd_p, spectral.eig_p),
        ),
    ),
    (
        _square,
        (
            *(triangular.cholesky_p, lu.lu_p, determinant.det_p, determinant.slogdet_p),
            determinant.adjugate_p,
        ),
    ),
    (_solve, (triangular.triangular_solve_p, lu.solve_p)),
    (_permutation, (lu.pivots_to_permutation_p,)),
    (_scan, (scan_p,)),
    (_while, (while_p,)),
    (_cond, (cond_p,)),
)


def register() -> None:
    """Register the rules."""
    for rule, primitives in _RULES:
        for primitive in primitives:
            primitive.def_rule(PADDING)(rule)
