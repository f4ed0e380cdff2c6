"""Patches under a moving window, local convolutions, and the shapes of results of windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from tinyjax.core.primitives import broadcast as bc, shape as sh
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.lax.products import dot_general
from tinyjax.primitives import convolution as cv, matrices as _matrices

#: Which axis is which, in a convolution: three strings, or None for batch and features in front.
ConvGeneralDilatedDimensionNumbers: TypeAlias = (
    tuple[str, str, str] | cv.ConvDimensionNumbers | None
)


def _check_axes(name: str, operand: Array, sizes: Sequence[int]) -> None:
    if operand.ndim != len(sizes) + 2:
        raise ShapeError(
            f"an operand of {name} has two axes more than filter_shape has sizes, which are "
            f"{shortened(tuple(sizes))}, but got {operand.aval}."
        )


def conv_general_dilated_patches(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    filter_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: cv.Padding,
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the elements under a window, at each of its positions, as features.

    Args:
        lhs: batch, features and any number of spatial axes.
        filter_shape: the window's spatial sizes.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        lhs_dilation: the distance at which elements of ``lhs`` are placed.
        rhs_dilation: the distance of elements under the window.
        dimension_numbers: as in ``conv_general_dilated``; the kernel's axes order the elements.
        precision: not used.
        preferred_element_type: the dtype of the result; that of ``lhs`` by default.

    Returns:
        An array with batch, features and spatial axes: the features of ``lhs``, each with all the
        elements under the window.

    Raises:
        ShapeError: the shapes do not fit each other or the parameters.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.arange(4.0).reshape(1, 1, 4)
        >>> lax.conv_general_dilated_patches(x, (2,), (1,), "VALID")[0]
        Array([[0., 1., 2.],
               [1., 2., 3.]], dtype=float32)
    """
    x = opd.as_array(lhs)
    sizes = ints.integers(filter_shape, "filter_shape")
    _check_axes("conv_general_dilated_patches", x, sizes)
    numbers = cv.conv_dimension_numbers(x.shape, (1, 1, *sizes), dimension_numbers)
    count, features = prod(sizes), x.shape[numbers.lhs_spec[1]]
    # one output feature for each element under the window, which copies it
    one = _matrices.identities((count, count), x.dtype)
    kernel = bc.broadcast_in_dim(one, (features, count, count), (1, 2))
    kernel = sh.reshape(kernel, (features * count, 1, *sizes))
    inverse = sorted(range(len(numbers.rhs_spec)), key=lambda i: numbers.rhs_spec[i])
    return cv.conv_general_dilated(
        x,
        sh.transpose(kernel, inverse),
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        numbers,
        feature_group_count=features,
        preferred_element_type=preferred_element_type,
    )


def conv_general_dilated_local(  # noqa: PLR0913, PLR0917 (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sequence[int],
    padding: cv.Padding,
    filter_shape: Sequence[int],
    lhs_dilation: Sequence[int] | None = None,
    rhs_dilation: Sequence[int] | None = None,
    dimension_numbers: ConvGeneralDilatedDimensionNumbers = None,
    precision: object = None,
) -> Array:
    """Convolve with a kernel that differs from place to place.

    Args:
        lhs: batch, features and any number of spatial axes.
        rhs: in the kernel's axes of output features, input features times the elements under the
            window, and the spatial axes of the result.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        filter_shape: the window's spatial sizes.
        lhs_dilation: the distance at which elements of ``lhs`` are placed.
        rhs_dilation: the distance of elements under the window.
        dimension_numbers: as in ``conv_general_dilated``.
        precision: not used.

    Returns:
        An array with batch, output features and spatial axes.

    Raises:
        ShapeError: the shapes do not fit each other or the parameters.
    """
    x, kernel = opd.as_array(lhs), opd.as_array(rhs)
    sizes = ints.integers(filter_shape, "filter_shape")
    for operand in (x, kernel):
        _check_axes("conv_general_dilated_local", operand, sizes)
    numbers = cv.conv_dimension_numbers(x.shape, (1, 1, *sizes), dimension_numbers)
    patches = conv_general_dilated_patches(
        x, sizes, window_strides, padding, lhs_dilation, rhs_dilation, numbers
    )
    # in the result's order of spatial axes, so that they come out in it
    space = sorted(zip(numbers.out_spec[2:], numbers.rhs_spec[2:], strict=True))
    axes = tuple(out for out, _ in space), tuple(own for _, own in space)
    out = dot_general(patches, kernel, (((numbers.out_spec[1],), (numbers.rhs_spec[1],)), axes))
    last = out.ndim - 1
    pairs = sorted([(numbers.out_spec[0], last - 1), (numbers.out_spec[1], last)])
    order = list(range(last - 1))
    for place, axis in pairs:
        order.insert(place, axis)
    return sh.transpose(out, order)


def _counts(
    sizes: Sequence[int], windows: Sequence[int], strides: Sequence[int]
) -> tuple[int, ...]:
    return tuple(
        (n - k) // s + 1 if n >= k else 0 for n, k, s in zip(sizes, windows, strides, strict=True)
    )


@checking.explained
def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: cv.Padding,
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution whose axes are batch, features and space, in this order.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel: output features, input features, space.
        strides: the window's step along each spatial axis.
        pads: as in ``conv_general_dilated``.
        batch_group_count: into how many groups the batch is divided.

    Raises:
        ShapeError: the number of pads is not that of the spatial axes, or they remove too much.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_shape_tuple((2, 3, 8), (4, 3, 3), (1,), "VALID")
        (2, 4, 6)
    """
    size, window = tuple(lhs_shape[2:]), tuple(rhs_shape[2:])
    if isinstance(pads, str):
        pads = cv.padtype_to_pads(size, window, strides, pads)
    if len(pads) != len(size):
        raise ShapeError(f"there are {len(size)} spatial axes, but {len(pads)} pads were given.")
    padded = [n + low + high for n, (low, high) in zip(size, pads, strict=True)]
    if any(n < 0 for n in padded):
        raise ShapeError(f"pads {pads} cut off more than there is of spatial sizes {size}.")
    return (lhs_shape[0] // batch_group_count, rhs_shape[0], *_counts(padded, window, strides))


@checking.explained
def conv_general_permutations(
    dimension_numbers: tuple[str, str, str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return which axes are batch (or output features), features and space, of all three arrays.

    Args:
        dimension_numbers: three strings that name the axes, as in ``conv_dimension_numbers``.

    Raises:
        ArgumentError: the strings do not fit each other.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_general_permutations(("NHWC", "HWIO", "NHWC"))
        ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    """
    shapes = [(1,) * len(spec) for spec in dimension_numbers]
    numbers = cv.conv_dimension_numbers(shapes[0], shapes[1], dimension_numbers)
    return numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec


@checking.explained
def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: cv.Padding,
    dimension_numbers: tuple[str, str, str],
) -> tuple[int, ...]:
    """Return the shape of a convolution, without dilation.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel.
        window_strides: the window's step along each spatial axis.
        padding: as in ``conv_general_dilated``.
        dimension_numbers: three strings that name the axes.

    Raises:
        ShapeError: the number of pads is not that of the spatial axes, or they remove too much.
        ArgumentError: the strings do not fit each other.

    Example:
        >>> from tinyjax import lax
        >>> lax.conv_general_shape_tuple((2, 8, 3), (3, 3, 4), (1,), "VALID", ("NHC", "HIO", "NHC"))
        (2, 6, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    shape = conv_shape_tuple(
        [lhs_shape[i] for i in lhs], [rhs_shape[i] for i in rhs], window_strides, padding
    )
    return tuple(shape[out.index(i)] for i in range(len(out)))


@checking.explained
def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: cv.Padding,
    dimension_numbers: tuple[str, str, str],
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution.

    Args:
        lhs_shape: of the left operand.
        rhs_shape: of the kernel.
        window_strides: the distance at which elements of the left operand are placed.
        padding: ``"SAME"`` for sizes of the operand's times the stride, ``"VALID"``, or pairs.
        dimension_numbers: three strings that name the axes.

    Raises:
        ArgumentError: the strings do not fit each other, or there is no such padding.

    Example:
        >>> from tinyjax import lax
        >>> numbers = ("NHC", "HIO", "NHC")
        >>> lax.conv_transpose_shape_tuple((2, 8, 3), (3, 3, 4), (2,), "SAME", numbers)
        (2, 16, 4)
    """
    lhs, rhs, out = conv_general_permutations(dimension_numbers)
    sizes, windows = [lhs_shape[i] for i in lhs[2:]], [rhs_shape[i] for i in rhs[2:]]
    if isinstance(padding, str):
        if not ints.is_one_of(padding, ("SAME", "VALID")):
            raise ArgumentError(
                f"padding is 'SAME', 'VALID' or pairs, but got {shortened(padding)}."
            )
        added = [
            k + s - 2 + (0 if padding == "SAME" else max(k - s, 0))
            for k, s in zip(windows, window_strides, strict=True)
        ]
    else:
        added = [low + high for low, high in ints.int_pairs(padding, "padding")]
    space = [
        (n - 1) * s - k + 2 + extra
        for n, s, k, extra in zip(sizes, window_strides, windows, added, strict=True)
    ]
    shape = (lhs_shape[lhs[0]], rhs_shape[rhs[0]], *space)
    return tuple(shape[out.index(i)] for i in range(len(out)))


@checking.explained
def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Return the shape of the result of ``reduce_window``.

    Args:
        operand_shape: of the operand.
        window_dimensions: the window's size along each axis.
        window_strides: the window's step along each axis.
        padding: how many values to put before and after each axis.
        base_dilation: the distance at which elements are placed.
        window_dilation: the distance of elements under the window.

    Example:
        >>> from tinyjax import lax
        >>> lax.reduce_window_shape_tuple((6,), (2,), (2,), [(0, 0)])
        (3,)
    """
    sizes = _dilated(operand_shape, base_dilation)
    padded = [n + low + high for n, (low, high) in zip(sizes, padding, strict=True)]
    return _counts(padded, _dilated(window_dimensions, window_dilation), window_strides)


def _dilated(sizes: Sequence[int], dilation: Sequence[int] | None) -> tuple[int, ...]:
    if dilation is None:
        return tuple(sizes)
    return tuple((n - 1) * d + 1 if n else 0 for n, d in zip(sizes, dilation, strict=True))
