"""Fourier transforms along the last axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array, ConcreteArray
from tinyjax.core.avals import ShapedArray
from tinyjax.core.primitive import Avals, Hosts, Params, Primitive
from tinyjax.core.trace import bind1
from tinyjax.dtypes import HostArray
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives.broadcast import broadcast_in_dim
from tinyjax.primitives.elementwise import conj, mul, real
from tinyjax.primitives.rules import check_kind, def_linear, def_transposes
from tinyjax.primitives.shape import def_simple_batch, full
from tinyjax.primitives.slicing import pad
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


class FftKind(Enum):
    """Which transform, by XLA's names.

    ``FFT`` is ``y[k] = sum_j x[j] exp(-2 pi i j k / n)``, and ``IFFT`` its inverse; ``RFFT`` is
    that of real numbers, of which the first half says all, and ``IRFFT`` its inverse.
    """

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@attrs.frozen(repr=False)
class FftParams(Params):
    """The transform, and the number of values in time."""

    kind: FftKind
    length: int


_NUMPY: Final[Mapping[FftKind, Callable[[HostArray, int], HostArray]]] = {
    FftKind.FFT: np.fft.fft,
    FftKind.IFFT: np.fft.ifft,
    FftKind.RFFT: np.fft.rfft,
    FftKind.IRFFT: np.fft.irfft,
}

_TAKEN: Final = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)

fft_p: Primitive[FftParams] = Primitive("fft", FftParams)


@fft_p.def_impl
def _fft_impl(operands: Hosts, params: FftParams) -> Hosts:
    (x,) = operands
    return (_NUMPY[params.kind](x, params.length),)


@fft_p.def_abstract_eval
def _fft_type(avals: Avals, params: FftParams) -> Avals:
    (x,) = avals
    kind, n = params.kind, params.length
    check_kind("fft", x, "f" if kind is FftKind.RFFT else "c")
    if x.dtype not in _TAKEN:
        raise DtypeError(
            f"fft does not take {x.dtype.name}: it takes single and double precision. Convert the "
            "operand with .astype(...)."
        )
    expected = n // 2 + 1 if kind is FftKind.IRFFT else n
    if not x.shape or x.shape[-1] != expected or n < 1:
        raise ShapeError(
            f"{kind.value} of length {n} needs {expected} values along the last axis, and one at "
            f"least, but got {x}."
        )
    match kind:
        case FftKind.RFFT:
            return (ShapedArray((*x.shape[:-1], n // 2 + 1), dtypes.to_complex(x.dtype)),)
        case FftKind.IRFFT:
            return (ShapedArray((*x.shape[:-1], n), dtypes.real_part(x.dtype)),)
        case _:
            return (x.strip_weak(),)


@fft_p.def_lowering
def _fft_lowering(b: Lowering, operands: Values, params: FftParams) -> Values:
    attributes = {
        "fft_type": f"#stablehlo<fft_type {params.kind.value}>",
        "fft_length": f"array<i64: {params.length}>",
    }
    return b.emit("stablehlo.fft", operands, b.results, attributes)


def _transposed(ct: Array, _: object, params: FftParams) -> Array:
    """The matrices of ``FFT`` and ``IFFT`` are symmetric.

    ``RFFT`` is that of real numbers less some results; those of ``IRFFT`` are real, and sums with
    the conjugates of all but the first number and, where there is one, that of half the frequency.
    """
    kind, n = params.kind, params.length
    last = ct.ndim - 1
    match kind:
        case FftKind.RFFT:
            missing = [(0, 0, 0)] * last + [(0, n - ct.shape[last], 0)]
            whole = pad(ct, full((), 0, ct.dtype), missing)
            return real(fft(whole, FftKind.FFT))
        case FftKind.IRFFT:
            found = conj(fft(ct, FftKind.RFFT))
            alone = 2 * np.arange(found.shape[last]) % n == 0
            weights = (np.where(alone, 1.0, 2.0) / n).astype(found.dtype)
            return mul(found, broadcast_in_dim(ConcreteArray(weights), found.shape, (last,)))
        case _:
            return bind1(fft_p, (ct,), params)


def_linear(fft_p)
def_transposes(fft_p, _transposed)
def_simple_batch(fft_p)


def fft(x: Array, kind: FftKind, length: int | None = None) -> Array:
    """Return the Fourier transform along the last axis.

    Args:
        x: complex; real for ``RFFT``.
        kind: which transform.
        length: the number of values in time; by default as many as there are.

    Raises:
        ShapeError: the axis has another length than that asks for, or none.
        DtypeError: the dtype is not complex, or not real.
    """
    return bind1(fft_p, (x,), FftParams(kind, x.shape[-1] if length is None else length))
