"""Convolution over any number of spatial axes, in any layout, strided, dilated and grouped.

As everywhere in machine learning the kernel is not reversed: this is a correlation. It is linear
in either operand, and its derivatives are again convolutions: with the roles of batch and feature
axes, and of strides and dilations, exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import blas, cores, records
from tinyjax._primitives.precision import (
    Pair,
    PrecisionLike,
    chosen_of_convolution,
    config_of,
    operand_dtype,
)
from tinyjax._primitives.result_placement import placed
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, families, rules, shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import Primitive, bind1, checking, primitive as prim
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints, operands as opd

Axes: TypeAlias = tuple[int, ...]
Padding: TypeAlias = str | Sequence[tuple[int, int]]


def _axes(axes: Sequence[int]) -> Axes:
    return ints.integers(axes, "the axes in ConvDimensionNumbers")


@attrs.frozen(eq=False, repr=False)
class ConvDimensionNumbers(records.Record):
    """The roles of the axes of operands and result.

    Attributes:
        lhs_spec: the left operand's axes of batch, features, and space.
        rhs_spec: the kernel's axes of output features, input features, and space.
        out_spec: the result's axes of batch, features, and space.

    Example:
        >>> from tinyjax import lax
        >>> layout = "NHWC", "HWIO", "NHWC"
        >>> numbers = lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), layout)
        >>> numbers.lhs_spec, numbers.rhs_spec
        ((0, 3, 1, 2), (3, 2, 0, 1))
    """

    lhs_spec: Axes = attrs.field(converter=_axes)
    rhs_spec: Axes = attrs.field(converter=_axes)
    out_spec: Axes = attrs.field(converter=_axes)

    def __iter__(self) -> Iterator[Axes]:
        """Return the three by turns: ``lhs_spec, rhs_spec, out_spec = numbers``."""
        return iter((self.lhs_spec, self.rhs_spec, self.out_spec))


@attrs.frozen(eq=False, repr=False)
class ConvParams(prim.Params):
    """The movement of the window, the layout of axes, groups, the result's dtype, the precision."""

    strides: Axes
    padding: tuple[tuple[int, int], ...]
    lhs_dilation: Axes
    rhs_dilation: Axes
    numbers: ConvDimensionNumbers
    feature_groups: int
    batch_groups: int
    dtype: dtypes.DType
    precision: Pair | None = records.optional()


conv_general_dilated_p: Final = Primitive("conv_general_dilated", ConvParams, repeatable=True)
prim.mark(prim.MATERIALIZES, False, conv_general_dilated_p)


@conv_general_dilated_p.def_rule(prim.FLOPS)
def _conv_flops(params: ConvParams, avals: prim.Avals, outs: prim.Avals) -> float:
    kernel = avals[1]
    # NumPy takes five times as long for them as for those of a product of matrices
    return 10.0 * outs[0].size * kernel.size / max(kernel.shape[params.numbers.rhs_spec[0]], 1)


def dilated(n: int, dilation: int) -> int:
    """Return how long an axis becomes whose elements are put apart."""
    return ints.larger((n - 1) * dilation + 1, 0)


def places(
    n: int, k: int, stride: int, padding: tuple[int, int], base_dilation: int, dilation: int
) -> int:
    """Return how many places a window of size ``k`` has along an axis of size ``n``."""
    left = dilated(n, base_dilation) + sum(padding) - dilated(k, dilation)
    return ints.larger(left // stride + 1, 0)


@attrs.frozen(eq=False)
class _Sizes:
    """The sizes of the operands' axes, by their roles, and those of the result's space."""

    batch: int
    features: int
    space: Axes
    out_features: int
    in_features: int
    window: Axes
    out_space: Axes


def _sizes(avals: prim.Avals, params: ConvParams) -> _Sizes:
    x, w = avals
    batch, features, *space = (x.shape[axis] for axis in params.numbers.lhs_spec)
    out_features, in_features, *window = (w.shape[axis] for axis in params.numbers.rhs_spec)
    dilations = params.lhs_dilation, params.rhs_dilation
    out_space = tuple(map(places, space, window, params.strides, params.padding, *dilations))
    own = batch, features, tuple(space)
    return _Sizes(*own, out_features, in_features, tuple(window), out_space)


_Convolution: TypeAlias = Callable[[dtypes.HostArray, dtypes.HostArray], dtypes.HostArray]


@conv_general_dilated_p.def_host
def _conv_host(avals: prim.Avals, params: ConvParams) -> _Convolution:
    sizes = _sizes(avals, params)
    if 0 in sizes.out_space or not avals[0].size or not avals[1].size:
        whole = sizes.batch // params.batch_groups, sizes.out_features, *sizes.out_space
        nothing = np.zeros(whole, params.dtype).transpose(_to_layout(params))
        return lambda x, w: nothing.copy()
    return _of_lines(avals, params, sizes) or _by_products(params, sizes)


def _to_layout(params: ConvParams) -> list[int]:
    """Return the permutation of batch, features and space to the result's axes."""
    return sorted(range(len(params.strides) + 2), key=params.numbers.out_spec.__getitem__)


def _wide(params: ConvParams) -> dtypes.DType:
    return np.dtype(np.float32 if dtypes.is_narrow_float(params.dtype) else params.dtype)


def _of_lines(avals: prim.Avals, params: ConvParams, sizes: _Sizes) -> _Convolution | None:
    """Convolve one line with another, where NumPy has a function for it."""
    full, padding = [(k - 1, k - 1) for k in sizes.window], list(params.padding)
    if (
        not len(sizes.space) == sizes.batch == sizes.features == sizes.out_features == 1
        or (*params.strides, *params.lhs_dilation, *params.rhs_dilation) != (1, 1, 1)
        or padding not in (full, [(0, 0)])
        or not avals[0].dtype == avals[1].dtype == params.dtype == _wide(params)
    ):
        return None
    mode: Literal["full", "valid"] = "full" if padding == full else "valid"
    is_real = not dtypes.is_complex(params.dtype)
    space, (size,) = params.numbers.out_spec[2], sizes.out_space
    shape = tuple([size if axis == space else 1 for axis in range(3)])

    def convolve(x: dtypes.HostArray, w: dtypes.HostArray) -> dtypes.HostArray:
        x, w = x.reshape(-1), w.reshape(-1)
        if is_real and x.size >= w.size:  # in half the time
            return np.correlate(x, w, mode).reshape(shape)
        return np.convolve(x, w[::-1], mode).reshape(shape)

    return convolve


def _by_products(params: ConvParams, sizes: _Sizes) -> _Convolution:
    """Multiply matrices: the elements under each window in a row, the kernel in columns."""
    numbers, groups, wide = params.numbers, params.feature_groups, _wide(params)
    batch, features, out_features = sizes.batch, sizes.features, sizes.out_features
    space, window, out_space = sizes.space, sizes.window, sizes.out_space
    regrouped: tuple[int, ...] | None = None
    if params.batch_groups > 1:
        # each group of the batch has its own output features, so it can as well be features
        groups, batch = params.batch_groups, batch // params.batch_groups
        regrouped = (groups, batch, features, *space)
        features *= groups
    spread, spread_sizes = _spread_plan((batch, features, *space), params)
    hlo.check_size((batch, features, *spread_sizes))
    strides = np.empty((batch, features, *spread_sizes), wide).strides
    inputs, outputs = features // groups, out_features // groups
    shape = (groups, batch, *out_space, inputs, *window)
    steps = (
        *(inputs * strides[1], strides[0]),
        *(a * s for a, s in zip(strides[2:], params.strides, strict=True)),
        strides[1],
        *(a * d for a, d in zip(strides[2:], params.rhs_dilation, strict=True)),
    )
    under_windows = groups, batch * prod(out_space), inputs * prod(window)
    is_large = len(window) > 0 and prod(under_windows) * wide.itemsize >= _LARGE
    of_kernel = groups, outputs, inputs * prod(window)
    parts, whole = (groups, batch, *out_space, outputs), (batch, out_features, *out_space)
    order = (1, 0, len(parts) - 1, *range(2, len(parts) - 1))
    to_layout = _to_layout(params)
    has_zeros = wide.kind in "fc" and (
        max(map(max, params.padding), default=0) > 0 or max(params.lhs_dilation, default=1) > 1
    )

    def convolve(x: dtypes.HostArray, w: dtypes.HostArray) -> dtypes.HostArray:
        x = x.transpose(numbers.lhs_spec).astype(wide, copy=False)
        w = w.transpose(numbers.rhs_spec).astype(wide, copy=False)
        if regrouped is not None:
            x = x.reshape(regrouped).swapaxes(0, 1).reshape(batch, features, *space)
        if has_zeros and not np.isfinite(w.sum()):
            out = _by_places(x, w, params, groups, out_space)
            return out.astype(params.dtype, copy=False).transpose(to_layout)
        x = np.ascontiguousarray(spread(x))
        windows = np.ndarray(shape, wide, x, 0, steps)
        if is_large:
            out = _by_pieces(windows, w.reshape(of_kernel)).reshape(whole)
        else:
            rows = windows.reshape(under_windows)
            products: dtypes.HostArray = np.matmul(rows, w.reshape(of_kernel).swapaxes(1, 2))
            out = products.reshape(parts).transpose(order).reshape(whole)
        return out.astype(params.dtype, copy=False).transpose(to_layout)

    return convolve


def _by_places(
    x: dtypes.HostArray, w: dtypes.HostArray, params: ConvParams, groups: int, out_space: Axes
) -> dtypes.HostArray:
    """Add products for one place of the kernel at a time, without zeros around the elements.

    A kernel with infinities or NaNs makes NaN of these zeros, of which the sums do not consist.
    """
    (batch, features, *space), (outputs, inputs, *window) = x.shape, w.shape
    out = np.zeros((batch, outputs, *out_space), x.dtype)
    kernels = w.reshape(groups, outputs // groups, inputs, *window)
    for place in np.ndindex(*window):
        read, written = [], []
        for axis, k in enumerate(place):
            dilation = params.lhs_dilation[axis]
            at = np.arange(out_space[axis]) * params.strides[axis] - params.padding[axis][0]
            at += k * params.rhs_dilation[axis]
            inside = (at >= 0) & (at < dilated(space[axis], dilation)) & (at % dilation == 0)
            read.append(at[inside] // dilation)
            written.append(np.flatnonzero(inside))
        places: Any = slice(None), slice(None), *np.ix_(*read)
        part = x[places]
        columns = part.reshape(batch, groups, features // groups, -1)
        products = np.matmul(kernels[:, :, :, *place], columns)
        places = slice(None), slice(None), *np.ix_(*written)
        out[places] += products.reshape(batch, outputs, *part.shape[2:])
    return out


#: Where the matrix of the elements under all windows has so many bytes, as many of its columns are
#: gathered at a time as stay in the cache.
_LARGE: Final = 1 << 22
_IN_CACHE: Final = 1 << 19


def _by_pieces(windows: dtypes.HostArray, kernels: dtypes.HostArray) -> dtypes.HostArray:
    """Multiply kernels with the elements under some windows at a time, on several cores.

    Compared with the products, gathering these elements takes little time then. For 64 features of
    125 x 125 and 3 x 3 places it takes 21 ms of processor time on one core. One product of the
    whole matrix takes as long; a sum of products for each place takes 38 ms.

    Args:
        windows: of axes groups, batch, those of space, inputs and those of the kernels.
        kernels: of axes groups, outputs, and one for inputs and space.

    Returns:
        Of axes batch, groups, outputs and those of space.
    """
    n = (windows.ndim - 3) // 2
    groups, *divided = windows.shape[: 2 + n]
    elements = windows.transpose(1, 0, *range(2 + n, windows.ndim), *range(2, 2 + n))
    out = np.empty((divided[0], *kernels.shape[:2], *divided[1:]), windows.dtype)
    of_one = groups * kernels.shape[2] * out.itemsize
    nbytes = [of_one * prod(divided[axis + 1 :]) for axis in range(n + 1)]
    cut = next((axis for axis in range(n) if nbytes[axis] <= _IN_CACHE), n)
    steps = [*[1] * cut, max(_IN_CACHE // nbytes[cut], 1), *divided[cut + 1 :]]
    parts = [
        [slice(start, start + step) for start in range(0, size, step)]
        for size, step in zip(divided, steps, strict=True)
    ]

    def multiply(part: tuple[slice, ...]) -> None:
        place: Any = (part[0], ..., *part[1:])
        result, under = out[place], elements[place]
        matrices = under.reshape(len(under), groups, kernels.shape[2], -1)
        result[...] = np.matmul(kernels, matrices).reshape(result.shape)

    with blas.one_thread():
        cores.share(product(*parts), out.size, multiply)
    return out


def _spread_plan(
    shape: Axes, params: ConvParams
) -> tuple[Callable[[dtypes.HostArray], dtypes.HostArray], list[int]]:
    """Return the plan for zeros between and around the elements of the spatial axes, or for cuts.

    Returns:
        The function that does so, and the sizes of the spatial axes after it.
    """
    dilation, padding = params.lhs_dilation, params.padding
    spans = [dilated(n, d) for n, d in zip(shape[2:], dilation, strict=True)]
    before = [max(low, 0) for low, _ in padding]
    wide = [a + n + max(b, 0) for a, n, (_, b) in zip(before, spans, padding, strict=True)]
    each = slice(None), slice(None)
    inside = tuple(slice(a, a + n, d) for a, n, d in zip(before, spans, dilation, strict=True))
    ends = [(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(wide, padding, strict=True)]
    cut = (*each, *(slice(*end) for end in ends))
    is_cut, is_padded = any(min(pair) < 0 for pair in padding), wide != list(shape[2:])

    def spread(x: dtypes.HostArray) -> dtypes.HostArray:
        if is_padded:
            out = np.zeros((*shape[:2], *wide), x.dtype)
            out[(*each, *inside)] = x
            x = out
        return x[cut] if is_cut else x

    return spread, [max(stop - start, 0) for start, stop in ends]


@conv_general_dilated_p.def_abstract_eval
def _conv_type(avals: prim.Avals, params: ConvParams) -> prim.Avals:
    x, w = avals
    _check_layout(x, w, params)
    sizes = _sizes(avals, params)
    _check_groups(x, w, params, sizes)
    whole = sizes.batch // params.batch_groups, sizes.out_features, *sizes.out_space
    shape = tuple([whole[i] for i in _to_layout(params)])
    weak = x.weak_type and w.weak_type and params.dtype == x.dtype
    return (av.ShapedArray(shape, params.dtype, weak),)


_NAME: Final = conv_general_dilated_p.name


def _check_layout(x: av.ShapedArray, w: av.ShapedArray, params: ConvParams) -> None:
    """Check dtypes, axes, and how the window moves."""
    numbers, ndim = params.numbers, x.ndim
    if x.dtype != w.dtype:
        raise errors.DtypeError(f"{_NAME} needs operands of one dtype, but got {x} and {w}.")
    rules.check_kind(_NAME, x, "iufc")
    rules.check_not_made_real(_NAME, x.dtype, params.dtype)
    if ndim < 2 or w.ndim != ndim:
        raise errors.ShapeError(
            f"{_NAME} needs operands with as many axes, two at least, but got {x} and {w}."
        )
    for spec in (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec):
        if sorted(spec) != list(range(ndim)):
            raise errors.ShapeError(
                f"{_NAME} needs dimension numbers that are permutations of the {ndim} axes, but "
                f"got {spec}."
            )
    space = ndim - 2
    for what, entries in (
        ("window_strides", params.strides),
        ("lhs_dilation", params.lhs_dilation),
        ("rhs_dilation", params.rhs_dilation),
        ("padding", params.padding),
    ):
        if len(entries) != space:
            raise errors.ShapeError(
                f"{_NAME} of {x} and {w} has {space} spatial axes, but {what} has {len(entries)} "
                f"entries: {entries}."
            )
        if what != "padding" and any(n < 1 for n in entries if isinstance(n, int)):
            raise errors.ShapeError(f"{_NAME} needs positive {what}, but got {entries}.")


def _check_groups(x: av.ShapedArray, w: av.ShapedArray, params: ConvParams, sizes: _Sizes) -> None:
    """Check that groups divide features and batch."""
    groups, batch_groups = params.feature_groups, params.batch_groups
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise errors.ArgumentError(
            f"{_NAME} takes groups of features or of the batch, not both, but got "
            f"feature_group_count={groups} and batch_group_count={batch_groups}."
        )
    if sizes.features != sizes.in_features * groups:
        raise errors.ShapeError(
            f"{_NAME} of {x} and {w}: the left operand has {sizes.features} features on axis "
            f"{params.numbers.lhs_spec[1]}, but {groups} groups of the kernel take "
            f"{sizes.in_features} each, on axis {params.numbers.rhs_spec[1]}."
        )
    if sizes.out_features % (groups * batch_groups) or sizes.batch % batch_groups:
        raise errors.ShapeError(
            f"{_NAME} of {x} and {w}: groups must divide the {sizes.out_features} output features, "
            f"and those of the batch its size {sizes.batch}, but got {groups} and {batch_groups}."
        )


@conv_general_dilated_p.def_lowering
def _conv_lowering(b: Lowering, operands: hlo.Values, params: ConvParams) -> hlo.Values:
    def layout(spec: Axes, first: str, second: str) -> str:
        names = {spec[0]: first, spec[1]: second} | {a: str(i) for i, a in enumerate(spec[2:])}
        return "[" + ", ".join(names[a] for a in range(len(spec))) + "]"

    numbers = params.numbers
    space = len(params.strides)
    layouts = (
        f"#stablehlo.conv<{layout(numbers.lhs_spec, 'b', 'f')}x"
        f"{layout(numbers.rhs_spec, 'o', 'i')}->{layout(numbers.out_spec, 'b', 'f')}>"
    )
    # Divided along the axes of space, of the contracted features or of groups, XLA's convolutions
    # over several devices give wrong numbers.
    (x, w), (result,) = operands, b.results
    wide = operand_dtype(x.dtype, params.dtype, b.platform)
    x, w = b.convert(x, wide), b.convert(w, wide)
    if 0 in (*x.shape, *w.shape):  # sums of nothing, for which XLA takes no window
        return [b.full(0, result)]
    batch, batches = numbers.lhs_spec[0], params.batch_groups
    inputs = (
        b.undivided(x, [i for i in range(x.ndim) if i != batch or batches > 1]),
        b.undivided(w, range(w.ndim)),
    )
    (out,) = b.emit(
        "stablehlo.convolution",
        inputs,
        (result,),
        {
            "dimension_numbers": layouts,
            "window_strides": hlo.int_array(params.strides),
            "padding": hlo.pairs(params.padding),
            "lhs_dilation": hlo.int_array(params.lhs_dilation),
            "rhs_dilation": hlo.int_array(params.rhs_dilation),
            "window_reversal": hlo.bool_array([False] * space),
            "feature_group_count": hlo.integer(params.feature_groups),
            "batch_group_count": hlo.integer(params.batch_groups),
            "precision_config": config_of(params.precision, x.dtype, b.platform),
        },
    )
    out_batch = numbers.out_spec[0]
    return [b.undivided(out, [i for i in range(out.ndim) if i != out_batch or batches > 1])]


def _features_last(space: int) -> ConvDimensionNumbers:
    """Return the layout of XLA's fast convolutions on CPU, for so many axes of space."""
    last = (0, 1 + space, *range(1, 1 + space))
    return ConvDimensionNumbers(last, (1 + space, space, *range(space)), last)


def with_features_last(params: ConvParams) -> Callable[..., prim.Arrays] | None:
    """Return a convolution with its axes in the order of XLA's fast ones; None if they are."""
    numbers = _features_last(len(params.strides))
    if params.numbers == numbers:
        return None
    moved = attrs.evolve(params, numbers=numbers)

    def of_moved(x: Array, w: Array) -> prim.Arrays:
        lhs, rhs, out = params.numbers
        x = sh.transpose(x, [lhs[0], *lhs[2:], lhs[1]])
        w = sh.transpose(w, [*rhs[2:], rhs[1], rhs[0]])
        places = [numbers.out_spec[out.index(axis)] for axis in range(x.ndim)]
        return [sh.transpose(bind1(conv_general_dilated_p, (x, w), moved), places)]

    return of_moved


@conv_general_dilated_p.def_lowering(platform="cpu")
def _conv_on_cpu(b: Lowering, operands: hlo.Values, params: ConvParams) -> hlo.Values:
    """Convolve with the features last, which XLA's fast convolutions take.

    XLA moves axes itself, but not in loops, conditionals and calls: there it takes 40 times as long
    (8 images of 32 x 32 with 32 features, kernels of 3 x 3).
    """
    formula = _without_groups(params)
    if formula is None and not b.module.is_divided:
        formula = with_features_last(params)
    if formula is None:
        return _conv_lowering(b, operands, params)
    return families.lower_formula(b, formula, operands)


def _without_groups(params: ConvParams) -> Callable[..., prim.Arrays] | None:
    """Return a convolution group by group, where XLA would multiply with zeros for other groups.

    They take time, and make NaN of infinities and NaNs of other groups. XLA has such a convolution
    of groups of features for narrow floats and float32.
    """
    (lhs, rhs, out), groups = params.numbers, params.feature_groups
    if params.batch_groups > 1:
        grouped = attrs.evolve(params, feature_groups=params.batch_groups, batch_groups=1)

        def by_features(x: Array, w: Array) -> prim.Arrays:
            x = _merge(_split(x, lhs[0], params.batch_groups), lhs[0], lhs[1])
            return [bind1(conv_general_dilated_p, (x, w), grouped)]

        return by_features
    wide = dtypes.is_inexact(params.dtype) and not dtypes.is_complex(params.dtype)
    if groups == 1 or (wide and params.dtype != dtypes.float64):
        return None
    single = attrs.evolve(params, feature_groups=1)

    def by_groups(x: Array, w: Array) -> prim.Arrays:
        xs = sh.moveaxis(_split(x, lhs[1], groups), lhs[1], 0)
        ws = sh.moveaxis(_split(w, rhs[0], groups), rhs[0], 0)
        _, outs = scan(
            lambda _, pair: (None, bind1(conv_general_dilated_p, pair, single)), None, (xs, ws)
        )
        return [_merge(outs, 0, out[1])]

    return by_groups


@conv_general_dilated_p.def_lowering(platform="cuda")
def _conv_on_cuda(b: Lowering, operands: hlo.Values, params: ConvParams) -> hlo.Values:
    """Convolve complex numbers by their parts, and integers in float64: XLA has no such on GPUs."""
    if dtypes.is_complex(params.dtype):
        formula = _by_parts
    elif dtypes.is_integer(params.dtype):
        formula = _by_digits
    else:
        return _conv_lowering(b, operands, params)
    return families.lower_formula(b, lambda x, w: [formula(x, w, params)], operands)


def _by_parts(x: Array, w: Array, params: ConvParams) -> Array:
    parts = attrs.evolve(params, dtype=dtypes.real_part(params.dtype))

    def conv(x: Array, w: Array) -> Array:
        return bind1(conv_general_dilated_p, (x, w), parts)

    x, w = [ew.convert_element_type(z, params.dtype) for z in (x, w)]
    (a, b), (c, d) = [(ew.real(z), ew.imag(z)) for z in (x, w)]
    return ew.complex_(ew.sub(conv(a, c), conv(b, d)), ew.add(conv(a, d), conv(b, c)))


#: Integers are convolved as two digits of so many bits; sums of 2^21 products are exact.
_DIGIT: Final = 16


def _by_digits(x: Array, w: Array, params: ConvParams) -> Array:
    """Convolve integers of up to 32 bits exactly, and wrap the sums as integers do.

    Raises:
        PlatformError: they have 64 bits.
    """
    if params.dtype.itemsize > 4:
        raise errors.PlatformError(
            f"convolutions of {params.dtype} are not computed on GPUs. Convert the operands to "
            "int32 or float64, or put them on the processor: "
            "tinyjax.device_put(x, tinyjax.devices('cpu')[0])."
        )
    in_floats = attrs.evolve(params, dtype=dtypes.float64)

    def conv(x: Array, w: Array) -> Array:
        operands = [ew.convert_element_type(z, dtypes.float64) for z in (x, w)]
        return ew.convert_element_type(
            bind1(conv_general_dilated_p, operands, in_floats), dtypes.int64
        )

    def digits(z: Array) -> tuple[Array, Array]:
        wide = ew.convert_element_type(z, dtypes.int64)
        high = ew.shift_right_arithmetic(wide, opd.splat(_DIGIT, wide.aval))
        return high, ew.sub(wide, ew.shift_left(high, opd.splat(_DIGIT, wide.aval)))

    if params.dtype.itemsize < 4:
        return ew.convert_element_type(conv(x, w), params.dtype)
    (a, b), (c, d) = digits(x), digits(w)
    crossed = ew.add(conv(a, d), conv(b, c))
    total = ew.add(conv(b, d), ew.shift_left(crossed, opd.splat(_DIGIT, crossed.aval)))
    return ew.convert_element_type(total, params.dtype)


rules.def_derivatives(
    conv_general_dilated_p,
    lambda t, out, x, w, params: bind1(conv_general_dilated_p, (t, w), params),
    lambda t, out, x, w, params: bind1(conv_general_dilated_p, (x, t), params),
)


rules.def_transposes(
    conv_general_dilated_p,
    lambda ct, x, w, params: _transpose_lhs(ct, x.aval, w, params),
    lambda ct, x, w, params: _transpose_rhs(ct, x, w.aval, params),
    bilinear=True,
)


def _swapped(spec: Axes) -> Axes:
    return (spec[1], spec[0], *spec[2:])


def _spatial(shape: Axes, spec: Axes) -> Axes:
    return tuple(shape[a] for a in spec[2:])


def _spans(
    lhs: Axes, rhs: Axes, ct: Array, params: ConvParams
) -> Iterator[tuple[int, int, int, int]]:
    """For each axis of space the dilated sizes of operands and result, and the padding before."""
    numbers = params.numbers
    return zip(
        map(dilated, _spatial(lhs, numbers.lhs_spec), params.lhs_dilation),
        map(dilated, _spatial(rhs, numbers.rhs_spec), params.rhs_dilation),
        map(dilated, _spatial(ct.shape, numbers.out_spec), params.strides),
        [before for before, _ in params.padding],
        strict=True,
    )


def _transpose_lhs(ct: Array, x: av.ShapedArray, w: Array, params: ConvParams) -> Array:
    """Spread the cotangent by the strides and convolve it with the reversed kernel."""
    numbers = params.numbers
    padding = [
        (k - 1 - before, n - m + before) for n, k, m, before in _spans(x.shape, w.shape, ct, params)
    ]
    groups = params.feature_groups * params.batch_groups
    kernel = sh.rev(w, numbers.rhs_spec[2:])
    if groups > 1:
        # what were groups of output features are now groups of input features
        kernel = _split(kernel, numbers.rhs_spec[0], groups)
        kernel = _merge(kernel, numbers.rhs_spec[0], numbers.rhs_spec[1])
    moved = ConvParams(
        params.lhs_dilation,
        tuple(padding),
        params.strides,
        params.rhs_dilation,
        ConvDimensionNumbers(numbers.out_spec, _swapped(numbers.rhs_spec), numbers.lhs_spec),
        groups,
        1,
        x.dtype,
        precision=params.precision,
    )
    out = bind1(conv_general_dilated_p, (_like(ct, w), kernel), moved)
    if params.batch_groups > 1:
        out = _split(out, numbers.lhs_spec[1], params.batch_groups)
        out = _merge(out, numbers.lhs_spec[1], numbers.lhs_spec[0])
    return out


def _transpose_rhs(ct: Array, x: Array, w: av.ShapedArray, params: ConvParams) -> Array:
    """Convolve the left operand with the cotangent, which sums over the batch."""
    numbers = params.numbers
    padding = [
        (before, k - 1 + m - n - before) for n, k, m, before in _spans(x.shape, w.shape, ct, params)
    ]
    if params.feature_groups > 1:
        # every group is summed over its own copy of the batch
        x = _split(x, numbers.lhs_spec[1], params.feature_groups)
        x = _merge(x, numbers.lhs_spec[1], numbers.lhs_spec[0])
    moved = ConvParams(
        params.rhs_dilation,
        tuple(padding),
        params.lhs_dilation,
        params.strides,
        ConvDimensionNumbers(
            _swapped(numbers.lhs_spec), _swapped(numbers.out_spec), _swapped(numbers.rhs_spec)
        ),
        params.feature_groups * params.batch_groups,
        1,
        w.dtype,
        precision=params.precision,
    )
    return bind1(conv_general_dilated_p, (x, _like(ct, x)), moved)


def _like(ct: Array, operand: Array) -> Array:
    return ct if ct.dtype == operand.dtype else ew.convert_element_type(ct, operand.dtype)


def _split(x: Array, axis: int, count: int) -> Array:
    """Make two axes of one, the first of them of the given size."""
    shape = (*x.shape[:axis], count, x.shape[axis] // count, *x.shape[axis + 1 :])
    return sh.reshape(x, shape)


def _merge(x: Array, source: int, target: int) -> Array:
    """Make one axis of two, the source the slower; the target is counted without the source."""
    x = sh.moveaxis(x, source, target)
    shape = (*x.shape[:target], x.shape[target] * x.shape[target + 1], *x.shape[target + 2 :])
    return sh.reshape(x, shape)


@conv_general_dilated_p.def_batch
def _conv_batch(
    mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: ConvParams
) -> prim.BatchResult:
    (x, w), (x_axis, w_axis) = values, axes
    numbers, size = params.numbers, mapped.size
    batch, features = numbers.out_spec[:2]
    if type(size) is int and not size:  # the sizes of the result do not follow from its elements
        avals = [v.aval if i is None else v.aval.removed(i) for v, i in zip(values, axes)]  # noqa: B905
        (out_aval,) = conv_general_dilated_p.rules.abstract_eval(avals, params)
        return (opd.splat(0, out_aval.inserted(0, 0)),), (0,)
    if x_axis is not None and w_axis is not None:
        # every example is a group of its own
        if params.batch_groups > 1:
            x = _merge(x, x_axis, numbers.lhs_spec[0])
            moved = attrs.evolve(params, batch_groups=params.batch_groups * size)
        else:
            x = _merge(x, x_axis, numbers.lhs_spec[1])
            moved = attrs.evolve(params, feature_groups=params.feature_groups * size)
        w = _merge(w, w_axis, numbers.rhs_spec[0])
        out = bind1(conv_general_dilated_p, (x, w), moved)
        return (_split(out, features, size),), (features,)
    if x_axis is not None:
        # examples are more batch, within each group of the batch
        x = _merge_within(x, x_axis, numbers.lhs_spec[0], params.batch_groups)
        out = bind1(conv_general_dilated_p, (x, w), params)
        return (_split(out, batch, size),), (batch,)
    # kernels are more output features, within each group of them
    assert w_axis is not None, "a batch rule runs only where an operand is batched"
    groups = params.feature_groups * params.batch_groups
    w = _merge_within(w, w_axis, numbers.rhs_spec[0], groups)
    out = bind1(conv_general_dilated_p, (x, w), params)
    if groups == 1:
        return (_split(out, features, size),), (features,)
    out = _split(_split(out, features, groups), features + 1, size)
    out = sh.moveaxis(out, features + 1, 0)
    return (_merge(out, features + 1, features + 1),), (0,)


def _merge_within(x: Array, source: int, target: int, groups: int) -> Array:
    """Merge an axis into each of the equal groups that another axis consists of."""
    if groups == 1:
        return _merge(x, source, target)
    x = _split(sh.moveaxis(x, source, 0), target + 1, groups)
    x = sh.moveaxis(x, 0, target + 1)
    n, m = x.shape[target + 1 : target + 3]
    return sh.reshape(x, (*x.shape[:target], groups * n * m, *x.shape[target + 3 :]))


# The functions

DimensionNumbers: TypeAlias = ConvDimensionNumbers | tuple[str, str, str] | None


@checking.explained
def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: DimensionNumbers
) -> ConvDimensionNumbers:
    """Return which axis is which, from strings that name the axes.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel.
        dimension_numbers: three strings: ``N`` and ``C`` for batch and features in the first and
            the last, ``O`` and ``I`` for output and input features in the second, and the same
            other letters for space in all. None means ``("NCHW", "OIHW", "NCHW")`` or the like.

    Raises:
        ArgumentError: the strings do not fit each other or the shapes.

    Example:
        >>> from tinyjax._primitives.convolution import conv_dimension_numbers
        >>> conv_dimension_numbers((1, 5, 5, 3), (3, 3, 3, 8), ("NHWC", "HWIO", "NHWC"))
        ConvDimensionNumbers(lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2))
    """
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    ndim = len(lhs_shape)
    if dimension_numbers is None:
        plain = tuple(range(ndim))
        return ConvDimensionNumbers(plain, plain, plain)
    strings = [isinstance(s, str) for s in ints.listed(dimension_numbers, "dimension_numbers")]
    if strings != [True] * 3:
        raise errors.ArgumentError(
            "dimension_numbers are three strings such as ('NHWC', 'HWIO', 'NHWC'), but got "
            f"{errors.shortened(dimension_numbers)}."
        )
    lhs, rhs, out = dimension_numbers
    space = [c for c in rhs if c not in "OI"]
    for spec, shape, first in ((lhs, lhs_shape, "NC"), (rhs, rhs_shape, "OI"), (out, None, "NC")):
        if sorted(spec) != sorted((*first, *space)) or len(spec) != len(set(spec)):
            raise errors.ArgumentError(
                f"dimension_numbers {dimension_numbers!r}: {spec!r} must name {first[0]}, "
                f"{first[1]} and the spatial axes {', '.join(space)}, each once."
            )
        if shape is not None and len(spec) != len(shape):
            raise errors.ArgumentError(
                f"dimension_numbers {dimension_numbers!r}: {spec!r} names {len(spec)} axes, but "
                f"the operand has {len(shape)}: {tuple(shape)}."
            )
    return ConvDimensionNumbers(
        [lhs.index(c) for c in ("N", "C", *space)],
        [rhs.index(c) for c in ("O", "I", *space)],
        [out.index(c) for c in ("N", "C", *space)],
    )


@checking.explained
def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Return the padding before and after each axis that a name stands for.

    Args:
        in_shape: the sizes of the axes.
        window_shape: those of the window.
        window_strides: how far it moves.
        padding: ``"VALID"`` for none; ``"SAME"`` for as much as makes the result ``ceil(size /
            stride)`` long, the odd one after; ``"SAME_LOWER"`` with the odd one before.

    Raises:
        ArgumentError: there is no such padding.
        ShapeError: there are not as many sizes of one as of the other.

    Example:
        >>> from tinyjax._primitives.convolution import padtype_to_pads
        >>> padtype_to_pads((5, 5), (2, 3), (1, 2), "SAME")
        [(0, 1), (1, 1)]
    """
    kind = padding.upper()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise errors.ArgumentError(
            "padding is 'SAME', 'SAME_LOWER', 'VALID' or pairs of ints, "
            f"but got {errors.shortened(padding)}."
        )
    pads = []
    sizes = ints.integers(in_shape, "in_shape")
    windows = ints.integers(window_shape, "window_shape")
    strides = ints.integers(window_strides, "window_strides")
    if not len(sizes) == len(windows) == len(strides):
        raise errors.ShapeError(
            f"in_shape {sizes}, window_shape {windows} and window_strides {strides} must be of one "
            "length."
        )
    for n, k, stride in zip(sizes, windows, strides, strict=True):
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if kind == "SAME" else (more, less))
    return pads


@placed
def conv_general_dilated(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: DimensionNumbers = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Convolve an array with a kernel.

    Args:
        lhs: batch, features and any number of spatial axes.
        rhs: the kernel, of ``lhs``'s dtype: output features, input features and spatial axes.
        window_strides: how far the window moves, for each spatial axis.
        padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"``, or how many zeros go before and after
            each spatial axis; negative numbers cut off.
        lhs_dilation: how far apart the elements of ``lhs`` are put, with zeros between.
        rhs_dilation: the same for the kernel.
        dimension_numbers: three strings that name the axes, or ``ConvDimensionNumbers``.
        feature_group_count: into how many groups the features are divided, which do not mix.
        batch_group_count: into how many groups the batch is divided, each with output features of
            its own.
        precision: a ``lax.Precision`` or its name, or one for each operand; by default what the
            setting ``default_matmul_precision`` says, or else full. It has no effect on the CPU.
        preferred_element_type: the dtype of the result; that of the operands by default.
        out_sharding: where the result is to lie.

    Returns:
        An array with batch, output features and spatial axes.

    Raises:
        ShapeError: the shapes do not fit each other or the parameters.
        DtypeError: the operands differ in dtype.
        ArgumentError: the padding or the dimension numbers are not understood.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._primitives.convolution import conv_general_dilated
        >>> image, kernel = jnp.ones((1, 1, 3, 3)), jnp.ones((1, 1, 2, 2))
        >>> conv_general_dilated(image, kernel, (1, 1), "VALID")
        Array([[[[4., 4.],
                 [4., 4.]]]], dtype=float32)
    """
    x, w = opd.as_array(lhs), opd.as_array(rhs)
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    space = max(x.ndim - 2, 0)
    strides = ints.integers(window_strides, "window_strides")
    left = (1,) * space if lhs_dilation is None else ints.integers(lhs_dilation, "lhs_dilation")
    right = (1,) * space if rhs_dilation is None else ints.integers(rhs_dilation, "rhs_dilation")
    if isinstance(padding, str):
        if any(d != 1 for d in left):
            raise errors.ArgumentError(
                f"padding {padding!r} is not defined where lhs is dilated: give pairs of ints, or "
                "use conv_transpose."
            )
        fits = x.ndim == w.ndim == len(numbers.lhs_spec) and len(strides) == len(right) == space
        if not fits or 0 in strides:
            ends = ((0, 0),) * space  # the type rule says what is wrong
        else:
            spans = [
                dilated(k, d)
                for k, d in zip(_spatial(w.shape, numbers.rhs_spec), right, strict=True)
            ]
            sizes = _spatial(x.shape, numbers.lhs_spec)
            ends = tuple(padtype_to_pads(sizes, spans, strides, padding))
    else:
        ends = ints.int_pairs(padding, "padding")
    result_dtype = (
        x.dtype if preferred_element_type is None else dtypes.check(preferred_element_type)
    )
    # XLA would make integers of the operands; as in other products they are made at the end
    at_the_end = dtypes.kind(x.dtype) == "f" and not dtypes.is_inexact(result_dtype)
    params = ConvParams(
        strides,
        ends,
        left,
        right,
        numbers,
        ints.integer(feature_group_count, "feature_group_count"),
        ints.integer(batch_group_count, "batch_group_count"),
        x.dtype if at_the_end else result_dtype,
        precision=chosen_of_convolution(precision),
    )
    out = bind1(conv_general_dilated_p, (x, w), params)
    return ew.convert_element_type(out, result_dtype) if at_the_end else out


def conv(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: str,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Convolve ``NC...`` with ``OI...``; see ``conv_general_dilated``.

    Batch and features come first. The kernel is not reversed. ``padding`` is "SAME", which keeps
    the sizes for a stride of 1, or "VALID".

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> signal, kernel = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[1.0, 10.0]]])
        >>> lax.conv(signal, kernel, (1,), "VALID")
        Array([[[21., 32.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: Padding,
    lhs_dilation: Sequence[int] | None,
    rhs_dilation: Sequence[int] | None,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Convolve ``NC...`` with ``OI...``, with dilations; see ``conv_general_dilated``.

    ``lhs`` has the axes batch, features and space; ``rhs`` features of the result, of the input,
    and space. Padding is a pair of numbers for each axis of space, or "SAME" or "VALID". As
    everywhere in machine learning the kernel is not reversed: it is a correlation.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> signal, kernel = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[1.0, 10.0]]])
        >>> lax.conv_with_general_padding(signal, kernel, (1,), [(1, 0)], None, None)
        Array([[[10., 21., 32.]]], dtype=float32)
    """
    return conv_general_dilated(
        lhs,
        rhs,
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


_CHANNELS_LAST = {
    2: ("NC", "IO", "NC"),
    3: ("NHC", "HIO", "NHC"),
    4: ("NHWC", "HWIO", "NHWC"),
    5: ("NHWDC", "HWDIO", "NHWDC"),
}


def conv_transpose(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sequence[int],
    padding: Padding,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: DimensionNumbers = None,
    transpose_kernel: bool = False,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    use_consistent_padding: bool = False,
) -> Array:
    """Convolve with a stride of a fraction: the transpose of a strided convolution.

    Args:
        lhs: batch, features and any number of spatial axes.
        rhs: the kernel.
        strides: by how much each spatial axis grows.
        padding: of the convolution that is transposed, as a string; or, as pairs of ints, of this
            one.
        rhs_dilation: how far apart the elements of the kernel are put.
        dimension_numbers: three strings; the features come last by default.
        transpose_kernel: whether to reverse the kernel and exchange its features, which makes this
            the gradient of a convolution with the kernel.
        precision: as in ``conv_general_dilated``.
        preferred_element_type: the dtype of the result.
        use_consistent_padding: whether pairs of ints too are those of the convolution transposed.

    Raises:
        ArgumentError: the padding or the dimension numbers are not understood.
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> signal, kernel = jnp.array([[[1.0], [2.0]]]), jnp.array([[[1.0]], [[10.0]]])
        >>> lax.conv_transpose(signal, kernel, (2,), "SAME")[0, :, 0]
        Array([10.,  1., 20.,  2.], dtype=float32)
    """
    x, w = opd.as_array(lhs), opd.as_array(rhs)
    if dimension_numbers is None:
        if x.ndim not in _CHANNELS_LAST:
            raise errors.ArgumentError(
                f"conv_transpose of an array with {x.ndim} axes: give dimension_numbers; there are "
                "defaults for up to three spatial axes."
            )
        dimension_numbers = _CHANNELS_LAST[x.ndim]
    numbers = conv_dimension_numbers(x.shape, w.shape, dimension_numbers)
    steps = ints.integers(strides, "strides")
    dilation = (1,) * (x.ndim - 2)
    if rhs_dilation is not None:
        dilation = ints.integers(rhs_dilation, "rhs_dilation")
    if not len(steps) == len(dilation) == x.ndim - 2:
        raise errors.ShapeError(
            f"conv_transpose of {x.aval} has {x.ndim - 2} spatial axes, but strides are {steps} "
            f"and rhs_dilation is {dilation}."
        )
    spans = [
        dilated(k, d) for k, d in zip(_spatial(w.shape, numbers.rhs_spec), dilation, strict=True)
    ]
    if isinstance(padding, str):
        ends = [_fraction_pads(k, s, padding) for k, s in zip(spans, steps, strict=True)]
    elif use_consistent_padding:
        ends = [
            (k - 1 - low, k - 1 - high)
            for k, (low, high) in zip(spans, ints.int_pairs(padding, "padding"), strict=True)
        ]
    else:
        ends = list(ints.int_pairs(padding, "padding"))
    if transpose_kernel:
        w = sh.rev(w, numbers.rhs_spec[2:])
        perm = list(range(w.ndim))
        o, i = numbers.rhs_spec[:2]
        perm[o], perm[i] = i, o
        w = sh.transpose(w, tuple(perm))
    return conv_general_dilated(
        x,
        w,
        (1,) * (x.ndim - 2),
        ends,
        steps,
        dilation,
        numbers,
        precision=precision,
        preferred_element_type=preferred_element_type,
    )


def _fraction_pads(k: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the padding that undoes the change of size by a strided convolution."""
    match padding.upper():
        case "SAME":
            total = k + stride - 2
            low = k - 1 if stride > k - 1 else -(-total // 2)
        case "VALID":
            total = k + stride - 2 + max(k - stride, 0)
            low = k - 1
        case _:
            raise errors.ArgumentError(
                "conv_transpose takes padding 'SAME', 'VALID' or pairs, "
                f"but got {errors.shortened(padding)}."
            )
    return low, total - low
