"""Discrete Fourier transforms, by the names of ``numpy.fft``.

Integers become floats, and real numbers become complex where a transform takes complex ones. The
norm ``"backward"``, the default, divides inverse transforms by the number of values, ``"forward"``
divides the others, and ``"ortho"`` divides both by its square root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod, sqrt
from typing import Literal, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax._extensions.host import replay
from tinyjax._primitives import fft as _fft, result_placement
from tinyjax._primitives.fft import FftKind
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.numpy import creation, manipulation, promotion as pm

Norm: TypeAlias = Literal["backward", "ortho", "forward"] | None
Sizes: TypeAlias = Sequence[int] | None


lazy.answer_for(
    __name__,
    "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn "
    "rfft rfft2 rfftfreq rfftn",
)


def _resized(x: Array, count: int, axis: int) -> Array:
    """Return the first values along an axis, or those and zeros."""
    if x.shape[axis] >= count:
        return slicing.slice_in_dim(x, 0, count, axis=axis)
    config = [(0, count - size if i == axis else 0, 0) for i, size in enumerate(x.shape)]
    return slicing.pad(x, sh.full((), 0, x.dtype), config)


def _along(kind: FftKind, a: ArrayLike, n: int | None, axis: int, norm: Norm, name: str) -> Array:
    """Transform along one axis."""
    x = pm.inexact(a, name)
    return _transformed(kind, x, [n], [ints.canonical_axis(axis, x.ndim)], norm, name)


def _transformed(
    kind: FftKind, x: Array, sizes: Sequence[int | None], axes: Sequence[int], norm: Norm, name: str
) -> Array:
    """Transform along axes, the last of which is halved where numbers are real.

    Args:
        kind: how.
        x: floats or complex numbers.
        sizes: how many values in time there are to be along the axes.
        axes: which, counted from the front.
        norm: where to divide.
        name: what the user calls it.
    """
    x = pm.strong(x)
    pm.check_option(name, "norm", norm, (None, "backward", "ortho", "forward"))
    if kind is FftKind.RFFT:
        if dtypes.is_complex(x.dtype):
            raise DtypeError(f"{name} takes real numbers, but got {x.dtype.name}.")
    else:
        x = ew.convert_element_type(x, dtypes.to_complex(x.dtype))
    ends = range(-len(axes), 0)
    x = manipulation.moveaxis(x, axes, ends)
    lengths: list[int] = []
    for axis, size in zip(ends, sizes, strict=True):
        halved = kind is FftKind.IRFFT and axis == -1
        own = 2 * (x.shape[axis] - 1) if halved else x.shape[axis]
        length = own if size is None else ints.integer(size, f"n of {name}")
        if length < 1 and (size is not None or (kind is FftKind.RFFT and axis == -1)):
            raise ArgumentError(f"{name} needs at least one value, but n is {length}.")
        lengths.append(max(length, 0))
        x = _resized(x, lengths[-1] // 2 + 1 if halved else lengths[-1], x.ndim + axis)
    if 0 in lengths:
        lengths[-1] = lengths[-1] // 2 + 1 if kind is FftKind.RFFT else lengths[-1]
        shape = (*x.shape[: -len(lengths)], *lengths)
        nothing = sh.full(shape, 0, dtypes.to_complex(x.dtype))
        return manipulation.moveaxis(
            ew.real(nothing) if kind is FftKind.IRFFT else nothing, ends, axes
        )
    spectrum = _fft.fft(x, kind, lengths)
    inverse, count = kind in (FftKind.IFFT, FftKind.IRFFT), prod(lengths)
    if norm == "ortho":
        spectrum = spectrum * (sqrt(count) if inverse else 1 / sqrt(count))
    elif norm == "forward":
        spectrum = spectrum * (count if inverse else 1 / count)
    return manipulation.moveaxis(spectrum, ends, axes)


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the Fourier transform along an axis: ``sum_j a[j] exp(-2 pi i j k / n)``.

    Args:
        a: real or complex.
        n: how many values to transform, the first ones or all with zeros after them; default all.
        axis: along which.
        norm: where to divide by ``n``.

    Raises:
        AxisError: there is no such axis.
        ArgumentError: ``n`` is not positive, or there is no such norm.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> print(jnp.fft.fft(jnp.array([1.0, 0.0, 0.0, 0.0])))
        [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    return _along(FftKind.FFT, a, n, axis, norm, "fft")


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the inverse of ``fft``, with the same arguments; the result is complex.

    It divides by the number of elements, unless ``norm`` is "forward" ("ortho": by the root of it).
    ``n`` cuts the axis, or fills it up with zeros.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.ifft(jnp.fft.fft(jnp.array([1.0, 2.0])))
        Array([1.+0.j, 2.+0.j], dtype=complex64)
    """
    return _along(FftKind.IFFT, a, n, axis, norm, "ifft")


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the first ``n // 2 + 1`` values of ``fft`` of real numbers, which determine the rest.

    Integers become floats. The values left out are the conjugates of those that are there. The
    result is complex64, or complex128 of 64-bit numbers; ``n`` cuts the axis or fills it up with
    zeros.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.rfft(jnp.array([1.0, 0.0, 0.0, 0.0]))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _along(FftKind.RFFT, a, n, axis, norm, "rfft")


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the inverse of ``rfft``: ``n`` real numbers, by default an even number of them.

    Give ``n`` where it is odd: the values do not tell.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.irfft(jnp.fft.rfft(jnp.array([1.0, 2.0, 6.0])), n=3)
        Array([1., 2., 6.], dtype=float32)
    """
    return _along(FftKind.IRFFT, a, n, axis, norm, "irfft")


_OTHER: dict[Norm, Norm] = {
    None: "forward",
    "backward": "forward",
    "ortho": "ortho",
    "forward": "backward",
}


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the real transform of values whose second half is the conjugate of the first.

    There are ``n`` results, by default an even number of them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.hfft(jnp.array([1.0, 1j, 0.0]))
        Array([ 1.,  3.,  1., -1.], dtype=float32)
    """
    return _along(FftKind.IRFFT, conj_of(a), n, axis, _OTHER.get(norm, norm), "hfft")


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: Norm = None) -> Array:
    """Return the inverse of ``hfft``: ``n // 2 + 1`` complex values of real ones.

    It takes real numbers only, and divides by their number, unless ``norm`` is "forward".

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([1.0, 1j, 0.0])
        >>> jnp.allclose(jnp.fft.ihfft(jnp.fft.hfft(x)), x)
        Array(True, dtype=bool)
    """
    return ew.conj(_along(FftKind.RFFT, a, n, axis, _OTHER.get(norm, norm), "ihfft"))


def conj_of(a: ArrayLike) -> Array:
    """Return the conjugates of numbers of any dtype."""
    x = pm.inexact(a, "hfft")
    return ew.conj(x) if dtypes.is_complex(x.dtype) else x


def _sizes(x: Array, s: Sizes, axes: Sizes, name: str) -> tuple[list[int | None], list[int]]:
    """Return the number of values to take along each axis, and the axes."""
    if axes is None:
        axes = range(x.ndim) if s is None else range(x.ndim - len(s), x.ndim)
    places = [ints.canonical_axis(axis, x.ndim) for axis in axes]
    sizes: list[int | None] = [None] * len(places) if s is None else list(s)
    if len(sizes) != len(places) or len(set(places)) != len(places):
        raise ArgumentError(
            f"{name} needs a size for each of the axes, which differ, but got {s} for {axes}."
        )
    return sizes, places


def _along_axes(kind: FftKind, a: ArrayLike, s: Sizes, axes: Sizes, norm: Norm, name: str) -> Array:
    """Transform along several axes."""
    x = pm.inexact(a, name)
    sizes, places = _sizes(x, s, axes, name)
    if places:
        return _transformed(kind, x, sizes, places, norm, name)
    return pm.strong(x) if kind is FftKind.RFFT else pm.convert(x, dtypes.to_complex(x.dtype))


def fftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: Norm = None) -> Array:
    """Return the Fourier transform over several axes.

    Args:
        a: real or complex.
        s: how many values to take along each axis; all by default.
        axes: which; by default all, or with ``s`` as many of the last.
        norm: where to divide.

    Raises:
        AxisError: there is no such axis.
        ArgumentError: an axis comes twice, or ``s`` has another length than ``axes``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.fftn(jnp.ones((2, 2)))
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
        >>> jnp.fft.fftn(jnp.ones((3, 2, 2)), s=(4, 4)).shape
        (3, 4, 4)
    """
    return _along_axes(FftKind.FFT, a, s, axes, norm, "fftn")


def ifftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: Norm = None) -> Array:
    """Return the inverse of ``fftn``, with the same arguments; the result is complex.

    It divides by the number of elements, unless ``norm`` is "forward" ("ortho": by the root of it).
    Over all axes by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.ifftn(jnp.fft.fftn(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
        Array([[1.+0.j, 2.+0.j],
               [3.+0.j, 4.+0.j]], dtype=complex64)
    """
    return _along_axes(FftKind.IFFT, a, s, axes, norm, "ifftn")


def rfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: Norm = None) -> Array:
    """Return ``fftn`` of real numbers, with the first half of the last axis.

    The arguments are those of ``fftn``; the last of the axes has ``n // 2 + 1`` values.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.rfftn(jnp.ones((4, 4))).shape
        (4, 3)
    """
    return _along_axes(FftKind.RFFT, a, s, axes, norm, "rfftn")


def irfftn(a: ArrayLike, s: Sizes = None, axes: Sizes = None, norm: Norm = None) -> Array:
    """Return the inverse of ``rfftn``: real numbers, by default an even number along the last axis.

    The arguments are those of ``fftn``; ``s`` tells the shape where that is odd.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.irfftn(jnp.fft.rfftn(jnp.ones((2, 3))), s=(2, 3))
        Array([[1., 1., 1.],
               [1., 1., 1.]], dtype=float32)
    """
    return _along_axes(FftKind.IRFFT, a, s, axes, norm, "irfftn")


def _two(axes: Sequence[int], name: str) -> Sequence[int]:
    places = ints.listed(axes, f"axes of {name}")
    if len(places) != 2:
        raise ArgumentError(f"{name} takes two axes, but got {places}. {name[:-1]}n takes others.")
    return places


def fft2(a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None) -> Array:
    """Return the Fourier transform over two axes, the last by default; arguments as for ``fftn``.

    The result is complex: complex64, or complex128 of 64-bit numbers. ``s`` cuts the axes, or fills
    them up with zeros; ``norm`` says which direction divides by the number of elements ("backward":
    the inverse; "ortho": each by its root; "forward").

    Raises:
        ArgumentError: there are not two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.fft2(jnp.ones((5, 2, 2)))[0]
        Array([[4.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return fftn(a, s, _two(axes, "fft2"), norm)


def ifft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Return the inverse of ``fft2``, with the same arguments; the result is complex.

    It divides by the number of elements, unless ``norm`` is "forward" ("ortho": by the root of it).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.ifft2(jnp.fft.fft2(jnp.array([[1.0, 2.0], [3.0, 4.0]]))).real
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return ifftn(a, s, _two(axes, "ifft2"), norm)


def rfft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Return ``fft2`` of real numbers, with the first half of the last axis: ``n // 2 + 1`` values.

    The axes are the last two by default. Integers become floats; ``irfft2`` is the inverse.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.rfft2(jnp.ones((2, 4)))
        Array([[8.+0.j, 0.+0.j, 0.+0.j],
               [0.+0.j, 0.+0.j, 0.+0.j]], dtype=complex64)
    """
    return rfftn(a, s, _two(axes, "rfft2"), norm)


def irfft2(
    a: ArrayLike, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Norm = None
) -> Array:
    """Return the inverse of ``rfft2``: real numbers, by default an even number along the last axis.

    The number along the last axis, lost in the halving, is ``s[-1]``; give it where it is odd.
    Imaginary parts that a real signal could not have are ignored.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.array([[1.0, 2.0], [3.0, 4.0]])))
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
        >>> jnp.fft.irfft2(jnp.fft.rfft2(jnp.ones((2, 3))), s=(2, 3)).shape
        (2, 3)
    """
    return irfftn(a, s, _two(axes, "irfft2"), norm)


def _frequencies(make: Callable[[int, float], object], n: int, d: float, dtype: DTypeLike) -> Array:
    kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    (size,) = creation.canonical_shape(ints.integer(n, "n"), "n")
    if not size or not d:
        raise ArgumentError(
            f"fftfreq and rfftfreq take n and d other than zero, but got n={size} and d={d}."
        )
    return creation.asarray(np.asarray(make(size, d)).astype(kind))


@result_placement.placed
def fftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike = None, device: Placement = None) -> Array:
    """Return the frequencies of the results of ``fft``.

    Args:
        n: how many values were transformed.
        d: their distance.
        dtype: of the result; the default float by default.
        device: where the result is wanted.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> print(jnp.fft.fftfreq(4))
        [ 0.    0.25 -0.5  -0.25]
    """
    return _frequencies(np.fft.fftfreq, n, d, dtype)


@result_placement.placed
def rfftfreq(n: int, d: float = 1.0, *, dtype: DTypeLike = None, device: Placement = None) -> Array:
    """Return the frequencies of the results of ``rfft``, none of them negative; see ``fftfreq``.

    Args:
        n: how many values are transformed.
        d: the distance of two of them.
        dtype: of the result; the default float type otherwise.
        device: where the result is to lie.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.rfftfreq(4, d=0.5)
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _frequencies(np.fft.rfftfreq, n, d, dtype)


def _shifted(x: ArrayLike, axes: ints.Axis, back: bool) -> Array:
    array = creation.asarray(x)
    places = ints.canonical_axes(axes, array.ndim)
    for axis in places:
        half = array.shape[axis] // 2
        array = manipulation.roll(array, -half if back else half, axis)
    return array


def fftshift(x: ArrayLike, axes: ints.Axis = None) -> Array:
    """Move the frequency zero to the middle of the axes.

    By default along all axes. For an even number, the frequency before the middle is the lowest.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.fftshift(jnp.fft.fftfreq(4, 0.25))
        Array([-2., -1.,  0.,  1.], dtype=float32)
    """
    return _shifted(x, axes, back=False)


def ifftshift(x: ArrayLike, axes: ints.Axis = None) -> Array:
    """Undo ``fftshift``: move the middle to the beginning of the axes.

    For odd sizes the two differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.fft.ifftshift(jnp.array([-1, 0, 1])), jnp.fft.fftshift(jnp.array([-1, 0, 1]))
        (Array([ 0,  1, -1], dtype=int32), Array([ 1, -1,  0], dtype=int32))
    """
    return _shifted(x, axes, back=True)


replay.replay_functions(globals(), plain="conj_of")
