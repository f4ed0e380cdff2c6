"""The rules of primitives: the dependence of elements of results on those of operands.

They apply to programs that are linear in their *active* operands: to tangent maps. The values of
the other operands are known, or not. Most rules are one for a family. For a primitive that moves
elements, the rule applies the primitive to the numbers of the elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from tinyjax._library.sparsity import pattern
from tinyjax._primitives import (
    cumulative,
    dot,
    dynamic_slice,
    fft,
    gather_scatter,
    householder,
    reduce_window,
    scatter_mul,
    triangular,
)
from tinyjax._primitives.convolution import conv_general_dilated_p
from tinyjax._primitives.lu import solve_p
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim_p, reduce_sum_p
from tinyjax.core.tracing import jaxpr as jx, primitive as prim
from tinyjax.core.values import ShapedArray
from tinyjax.dtypes import HostArray, is_inexact


@attrs.frozen(eq=False, repr=False)
class Operand:
    """The abstract value of an operand.

    Attributes:
        aval: its type.
        value: its elements, where they are known.
        depends: on which elements of the arguments its elements depend; None where on none.
    """

    aval: ShapedArray
    value: HostArray | None = None
    depends: pattern.SparsityPattern | None = None

    @property
    def active(self) -> bool:
        """Return whether it depends on an argument."""
        return self.depends is not None

    @property
    def numbers(self) -> HostArray:
        """The numbers of its elements, in its shape."""
        return np.arange(self.aval.size).reshape(self.aval.shape)


#: A pattern as a product of some, so that none of them need have many elements; the empty product
#: stands for an identity matrix, and None for zeros.
Factors: TypeAlias = tuple[pattern.SparsityPattern, ...] | None

#: An equation and its operands to how each result depends on each operand that is active, whose
#: elements, and those of the result, are numbered as in a flattened array. What it says of other
#: operands is not used.
SparsityRule: TypeAlias = Callable[[jx.JaxprEqn, Sequence[Operand]], Sequence[Sequence[Factors]]]

#: The rule of a primitive that says where its derivative is zero, in operands in which it is
#: linear. Without one, what works element by element depends so, and else all on all.
SPARSITY: Final[prim.RuleKey[SparsityRule]] = prim.RuleKey("sparsity")

_SAME: Final[Factors] = ()


def rule_of(primitive: prim.Primitive[Any]) -> SparsityRule:
    """Return the rule of a primitive, or its default."""
    extensions = primitive.rules.extensions
    rule: SparsityRule | None = extensions.get(SPARSITY)
    if rule is None:
        rule = _elementwise if prim.ELEMENTWISE in extensions else _everything
    return rule


def _everything(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    return [[pattern.full(out.size, x.aval.size) for x in operands] for out in eqn.out_avals]


def _elementwise(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    return [[_SAME] * len(operands)] * len(eqn.out_binders)


def _each(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    n = len(operands)
    return [[_SAME if i == j else None for j in range(n)] for i in range(n)]


def _mul(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    factors: list[Factors] = []
    for other in reversed(operands):
        if other.value is None or other.value.all():
            factors.append(_SAME)
        else:
            n = other.value.size
            factors.append(
                (pattern.picked(np.where(other.value.ravel() != 0, np.arange(n), -1), n),)
            )
    return [factors]


# Elements in other places


def _moved(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    """Apply the primitive to numbers of elements; operands that choose places must be known."""
    pattern.check_size(sum(out.size for out in eqn.out_avals))  # before as many numbers are moved
    numbered: list[HostArray] = []
    ends: list[int] = [0]
    for x in operands:
        ends.append(ends[-1] + (x.aval.size if x.active else 0))
        if x.active:  # counted from 1, as floats, which hold these numbers
            numbered.append(np.asarray(x.numbers + (ends[-2] + 1.0)))
        elif is_inexact(x.aval.dtype) or x.value is None:
            numbered.append(np.zeros(x.aval.shape))
        else:
            numbered.append(x.value)
    dependences: list[list[Factors]] = []
    for out in eqn.primitive.rules.impl(numbered, eqn.params):
        places = np.ravel(np.nan_to_num(out, nan=0.0)).astype(np.int64) - 1
        parts: list[Factors] = []
        for x, first, end in zip(operands, ends, ends[1:], strict=False):
            own = np.where((places >= first) & (places < end), places - first, -1)
            parts.append((pattern.picked(own, x.aval.size),) if x.active else None)
        dependences.append(parts)
    return dependences


def _is_known(operands: Iterable[Operand]) -> bool:
    return all(x.value is not None for x in operands)


def _select(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    return (_moved if _is_known(operands[:1]) else _elementwise)(eqn, operands)


def _along(shape: Sequence[int], result: Sequence[int], whole: Iterable[int]) -> Factors:
    """Return the dependences on the elements of an array whose axes correspond to the result's.

    Args:
        shape: the shape of the array.
        result: the shape of the result, with as many axes.
        whole: the axes along which it depends on all; along others it does on the same element.
    """
    axes = set(whole)
    kept = [1 if i in axes else n for i, n in enumerate(shape)]
    groups = np.arange(prod(kept)).reshape(kept)
    sources = np.broadcast_to(groups, [n if i in axes else kept[i] for i, n in enumerate(result)])
    return (
        pattern.picked(sources, groups.size),
        pattern.grouping(np.broadcast_to(groups, shape), groups.size),
    )


def _dynamic_slice(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    x, *starts = operands
    if _is_known(starts):
        return _moved(eqn, operands)
    sizes = eqn.params.sizes
    whole = [i for i, n in enumerate(x.aval.shape) if sizes[i] != n]
    return [[_along(x.aval.shape, sizes, whole), *[None] * len(starts)]]


def _dynamic_update_slice(
    eqn: jx.JaxprEqn, operands: Sequence[Operand]
) -> Sequence[Sequence[Factors]]:
    x, update, *starts = operands
    if _is_known(starts):
        return _moved(eqn, operands)
    whole = [i for i, n in enumerate(x.aval.shape) if update.aval.shape[i] != n]
    return [[_SAME, _along(update.aval.shape, x.aval.shape, whole), *[None] * len(starts)]]


def _gather(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    x, indices = operands
    if indices.value is not None:
        return _moved(eqn, operands)
    # wherever they lie, windows have the elements of the axes along which they are whole
    windows = gather_scatter.gather_windows(x.aval.shape, eqn.params)
    kept = [
        n if i in windows.batching or windows.sizes[i] == n else 1
        for i, n in enumerate(x.aval.shape)
    ]
    groups = np.arange(prod(kept)).reshape(kept)
    spread = np.broadcast_to(groups, x.aval.shape)
    places = np.zeros(indices.aval.shape, np.int64)
    (sources,) = eqn.primitive.rules.impl([spread.astype(np.float64), places], eqn.params)
    return [
        [
            (
                pattern.picked(np.asarray(sources).astype(np.int64), groups.size),
                pattern.grouping(spread, groups.size),
            ),
            None,
        ]
    ]


def _scatter(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    x, indices, updates = operands
    params, n = eqn.params, x.aval.size
    windows = gather_scatter.scatter_windows(x.aval.shape, updates.aval.shape, params)
    if indices.value is None:
        inside = params.dimension_numbers.update_window_dims
        if len(inside) < updates.aval.ndim or windows.batching:
            return [[_SAME, None, pattern.full(n, updates.aval.size)]]
        # one window, somewhere
        whole = [i for i, size in enumerate(x.aval.shape) if windows.sizes[i] != size]
        return [[_SAME, None, _along(windows.sizes, x.aval.shape, whole)]]
    reading = gather_scatter.as_gather(params, windows)
    numbers = np.asarray(x.numbers + 1.0)
    (read,) = gather_scatter.gather_p.rules.impl([numbers, indices.value], reading)
    places = np.ravel(read).astype(np.int64) - 1
    lands = places >= 0
    written = pattern.of_pairs(places[lands], np.flatnonzero(lands), (n, updates.aval.size))
    of_x: Factors = _SAME
    if eqn.primitive is gather_scatter.scatter_p:
        kept = np.arange(n)
        kept[places[lands]] = -1
        of_x = (pattern.picked(kept, n),)
    return [[of_x, None, (written,)]]


# Sums


def _reduce(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    shape, axes = operands[0].aval.shape, eqn.params.axes
    return [[_along(shape, [1 if i in axes else n for i, n in enumerate(shape)], axes)]]


def _cumulative(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    shape, axis = operands[0].aval.shape, eqn.params.axis
    n, later = shape[axis], prod(shape[axis + 1 :])
    pattern.check_size(prod(shape) * (n + 1) // 2)
    triangle = pattern.triangle(n)
    if eqn.params.reverse:
        triangle = triangle.T
    whole = pattern.identity(prod(shape[:axis])).kron(triangle).kron(pattern.identity(later))
    return [[(whole,)] * len(operands)]


def _last(axes: Callable[[Any], int]) -> SparsityRule:
    """Return the rule of a primitive that depends on all elements along some last axes."""

    def rule(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
        return [
            [_along(x.aval.shape, out.shape, range(out.ndim)[out.ndim - axes(eqn.params) :])
             if x.aval.ndim == out.ndim else pattern.full(out.size, x.aval.size)
             for x in operands]
            for out in eqn.out_avals
        ]  # fmt: skip

    return rule


def _solve(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    """Return the dependences of a solution: each column depends on that of the right side.

    It comes last, or from the left where ``left_side`` is false.
    """
    *matrices, b = operands
    (out,) = eqn.out_avals
    axis = out.ndim - (2 if getattr(eqn.params, "left_side", True) else 1)
    fits = b.aval.ndim >= 2 and b.aval.shape == out.shape
    return [
        [
            *[pattern.full(out.size, x.aval.size) for x in matrices],
            _along(b.aval.shape, out.shape, [axis])
            if fits
            else pattern.full(out.size, b.aval.size),
        ]
    ]


# Windows

#: Along one axis: which elements of the operand each element of the result sees.
_Seen: TypeAlias = Sequence[pattern.SparsityPattern]


def _windows(
    size: int,
    out: int,
    window: int,
    stride: int,
    padding: tuple[int, int],
    dilation: int,
    window_dilation: int,
) -> _Seen:
    """Return, for each place in a window along an axis, which element stands there."""
    seen: list[pattern.SparsityPattern] = []
    for k in range(window):
        places = np.arange(out) * stride + k * window_dilation - padding[0]
        elements, between = np.divmod(places, dilation)
        inside = (between == 0) & (elements >= 0) & (elements < size)
        seen.append(pattern.picked(np.where(inside, elements, -1), size))
    return seen


def _krons(parts: Iterable[pattern.SparsityPattern]) -> pattern.SparsityPattern:
    whole = pattern.identity(1)
    for part in parts:
        whole = whole.kron(part)
    return whole


def _reduce_window(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    p, (out,), shape = eqn.params, eqn.out_avals, operands[0].aval.shape
    axes = map(
        _windows,
        shape,
        out.shape,
        p.window,
        p.strides,
        p.padding,
        p.base_dilation,
        p.window_dilation,
    )
    return [[(_krons([seen[0].also(*seen[1:]) for seen in axes]),)] * len(operands)]


def _convolution(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    (x, kernel), (out,), params = operands, eqn.out_avals, eqn.params
    lhs, rhs, to = params.numbers
    if params.batch_groups > 1 or 0 in (x.aval.size, kernel.aval.size, out.size):
        return _everything(eqn, operands)
    batch, features = [x.aval.shape[i] for i in lhs[:2]]
    groups, out_features = params.feature_groups, kernel.aval.shape[rhs[0]]
    space, sizes = [x.aval.shape[i] for i in lhs[2:]], [out.shape[i] for i in to[2:]]
    window = [kernel.aval.shape[i] for i in rhs[2:]]
    dilations = params.lhs_dilation, params.rhs_dilation
    axes = map(_windows, space, sizes, window, params.strides, params.padding, *dilations)
    if kernel.value is None:
        seen = _krons([along[0].also(*along[1:]) for along in axes])
    else:
        used = (np.transpose(kernel.value, rhs) != 0).any((0, 1))
        each = [_krons(parts) for parts, is_used in zip(product(*axes), used.ravel(), strict=True)
                if is_used]  # fmt: skip
        seen = pattern.none(prod(sizes), prod(space)).also(*each)
    # features of a group are added up, seen in windows, and are behind the features of the result
    channels = np.arange(batch * groups).reshape(batch, groups, 1)
    channels = np.broadcast_to(channels, (batch, groups, features // groups))
    grouped = np.arange(prod(space)) + channels.reshape(-1, 1) * prod(space)
    order = np.argsort(lhs)
    of_x = np.transpose(grouped.reshape(batch, features, *space), order)
    behind = np.repeat(np.arange(groups), out_features // groups)
    sources = (np.arange(batch)[:, None] * groups + behind)[:, :, None] * prod(sizes)
    shown = (sources + np.arange(prod(sizes))).reshape(batch, out_features, *sizes)
    spread = np.transpose(shown, np.argsort(to))
    within = pattern.identity(batch * groups).kron(seen)
    of_kernel = np.broadcast_to(
        np.arange(out_features).reshape(
            [-1 if i == rhs[0] else 1 for i in range(kernel.aval.ndim)]
        ),
        kernel.aval.shape,
    )
    of_features = np.broadcast_to(
        np.arange(out_features).reshape([-1 if i == to[1] else 1 for i in range(out.ndim)]),
        out.shape,
    )
    return [
        [
            (
                pattern.picked(spread, within.shape[0]),
                within,
                pattern.grouping(of_x, within.shape[1]),
            ),
            (pattern.picked(of_features, out_features), pattern.grouping(of_kernel, out_features)),
        ]
    ]


# Products


def _dot(eqn: jx.JaxprEqn, operands: Sequence[Operand]) -> Sequence[Sequence[Factors]]:
    x, y = operands
    p = eqn.params
    left = _batch_free_contracted(x, p.lhs_batch, p.lhs_contract)
    right = _batch_free_contracted(y, p.rhs_batch, p.rhs_contract)
    (b, f, _), (_, j, _) = left.shape, right.shape
    out = np.arange(b * f * j).reshape(b, f, j)
    return [
        [
            _factor(left, y, right, out),
            _factor(right, x, left, out.transpose(0, 2, 1)),
        ]
    ]


def _batch_free_contracted(
    x: Operand, batch: Sequence[int], contracted: Sequence[int]
) -> HostArray:
    """Return the numbers of elements with three axes: batch, free and contracted."""
    free = [i for i in range(x.aval.ndim) if i not in (*batch, *contracted)]
    shape = x.aval.shape
    sizes = [prod([shape[i] for i in axes]) for axes in (batch, free, contracted)]
    return np.transpose(x.numbers, (*batch, *free, *contracted)).reshape(sizes)


def _factor(own: HostArray, other: Operand, places: HostArray, out: HostArray) -> Factors:
    """Return the dependences of products on one factor.

    Args:
        own: the numbers of its elements: batch, free, contracted.
        other: the other factor.
        places: the numbers of that one's elements.
        out: those of the products: batch, free axes of this factor, of the other one.
    """
    if other.value is not None and not other.value.all():
        batch, column, k = np.nonzero(other.value.ravel()[places])
        rows, columns = out[batch, :, column], own[batch, :, k]
        return (pattern.of_pairs(rows.ravel(), columns.ravel(), (out.size, own.size)),)
    b, f, _ = own.shape
    groups = np.empty(own.size, np.int64)
    groups[own] = np.arange(b * f).reshape(b, f, 1)
    sources = np.empty(out.size, np.int64)
    sources[out] = np.arange(b * f).reshape(b, f, 1)
    return (pattern.picked(sources, b * f), pattern.grouping(groups, b * f))


_RULES: Final[Sequence[tuple[SparsityRule, Sequence[prim.Primitive[Any]]]]] = (
    (_mul, (ew.mul,)),
    (_each, (identities.optimization_barrier_p,)),
    (_select, (ew.select_p,)),
    (
        _moved,
        (
            *(broadcast_in_dim_p, sh.reshape_p, sh.transpose_p, sh.rev_p),
            *(slicing.slice_p, slicing.pad_p, slicing.concatenate_p, slicing.split_p),
        ),
    ),
    (_dynamic_slice, (dynamic_slice.dynamic_slice_p,)),
    (_dynamic_update_slice, (dynamic_slice.dynamic_update_slice_p,)),
    (_gather, (gather_scatter.gather_p,)),
    (
        _scatter,
        (
            gather_scatter.scatter_p,
            gather_scatter.scatter_add_p,
            gather_scatter.scatter_sub_p,
            scatter_mul.scatter_mul_p,
        ),
    ),
    (_reduce, (reduce_sum_p,)),
    (_cumulative, (cumulative.cumsum_p, cumulative.linear_recurrence_p)),
    (_last(lambda params: len(params.lengths)), (fft.fft_p,)),
    (_solve, (triangular.triangular_solve_p, solve_p, householder.tridiagonal_solve_p)),
    (_reduce_window, (reduce_window.reduce_window_sum_p,)),
    (_convolution, (conv_general_dilated_p,)),
    (_dot, (dot.dot_general_p,)),
)


def _register() -> None:
    for rule, primitives in _RULES:
        for primitive in primitives:
            primitive.def_rule(SPARSITY)(rule)


_register()
