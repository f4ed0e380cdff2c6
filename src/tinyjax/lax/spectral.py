"""Fourier transforms over several axes, by XLA's names."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tinyjax import dtypes, errors
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.primitives.fft import FftKind, fft as _fft


class FftType(Enum):
    """Name a transform: those of real numbers begin with R, and inverse ones with I."""

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Return the Fourier transform over the last axes.

    Args:
        x: complex numbers; real ones for ``RFFT``. ``FFT`` and ``IFFT`` convert real numbers.
        fft_type: which transform.
        fft_lengths: the number of values in time along each of the last axes: the sizes of ``x``,
            except that for ``IRFFT`` the last axis of ``x`` holds ``n // 2 + 1`` of ``n`` values.

    Returns:
        The transform; for ``RFFT`` its last axis holds ``n // 2 + 1`` of ``n`` values.

    Raises:
        ShapeError: there are fewer axes than lengths, or the lengths do not fit.
        DtypeError: the dtype is not one of single or double precision, or complex for ``RFFT``.
        ArgumentError: there is no such transform.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "RFFT", (4,))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    requested: object = fft_type.name if isinstance(fft_type, FftType) else fft_type
    name = requested.upper() if isinstance(requested, str) else ""
    if name not in FftKind.__members__:
        raise errors.ArgumentError(
            "fft takes 'FFT', 'IFFT', 'RFFT' or 'IRFFT' for fft_type, "
            f"but got {errors.shortened(fft_type)}."
        )
    kind = FftKind[name]
    a = opd.as_array(x)
    lengths = ints.integers(fft_lengths, "fft_lengths")
    if kind is FftKind.RFFT and dtypes.is_complex(a.dtype):
        raise errors.DtypeError(f"RFFT takes real numbers, but got {a.dtype.name}.")
    if len(lengths) > a.ndim:
        raise errors.ShapeError(
            f"fft over {len(lengths)} axes needs an array of as many, but got shape {a.shape}."
        )
    if kind is not FftKind.RFFT and not dtypes.is_complex(a.dtype):
        a = ew.convert_element_type(a, dtypes.to_complex(a.dtype))
    if not lengths:
        return a
    first = a.ndim - len(lengths)
    expected = (*lengths[:-1], lengths[-1] // 2 + 1 if kind is FftKind.IRFFT else lengths[-1])
    if a.shape[first:] != expected:
        raise errors.ShapeError(
            f"{name} of lengths {lengths} takes an array whose last axes are {expected}, but got "
            f"shape {a.shape}."
        )
    return _fft(a, kind, lengths)
