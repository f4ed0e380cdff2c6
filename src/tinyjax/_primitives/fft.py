"""Fourier transforms along the last axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from importlib import import_module
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.rules import check_kind, def_linear, def_transposes
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.dtypes import HostArray


class FftKind(Enum):
    """The kind of a transform, by XLA's names.

    ``FFT`` is ``y[k] = sum_j x[j] exp(-2 pi i j k / n)``, and ``IFFT`` its inverse. ``RFFT`` is
    that of real numbers, whose first half determines the rest, and ``IRFFT`` its inverse.
    """

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@attrs.frozen(eq=False, repr=False)
class FftParams(prim.Params):
    """The transform, and the numbers of values in time along the last axes."""

    kind: FftKind
    lengths: tuple[int, ...]


_NUMPY: Final[Mapping[FftKind, tuple[Callable[..., HostArray], Callable[..., HostArray]]]] = {
    FftKind.FFT: (np.fft.fft, np.fft.fftn),
    FftKind.IFFT: (np.fft.ifft, np.fft.ifftn),
    FftKind.RFFT: (np.fft.rfft, np.fft.rfftn),
    FftKind.IRFFT: (np.fft.irfft, np.fft.irfftn),
}

#: XLA transforms along so many axes at once.
_MOST_AXES: Final = 3

_TAKEN: Final = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)

fft_p: Final = prim.Primitive("fft", FftParams, repeatable=True)


@fft_p.def_impl
def _fft_impl(operands: prim.Hosts, params: FftParams) -> prim.Hosts:
    (x,), lengths = operands, params.lengths
    along, over = _NUMPY[params.kind]
    if len(lengths) == 1:
        return (along(x, *lengths),)
    return (over(x, lengths, range(-len(lengths), 0)),)


#: From so many elements on, SciPy transforms numbers of single precision, in single precision.
_MANY: Final = 1 << 18


@fft_p.def_rule(prim.LARGE)
def _large_fft(avals: prim.Avals, params: FftParams) -> prim.HostCall | None:
    """Return SciPy's transform for large arrays of single precision; None for others.

    At 10^6 elements NumPy takes 31 ms, and SciPy 10; of a thousand rows 5.2 and 2.0; of 10^6 real
    numbers 17 and 8, for NumPy often has to ask the system for its memory. The errors are as large
    then as those of NumPy's inverse, and of XLA: some 2e-7 in place of 3e-8.
    """
    (x,), kind = avals, params.kind
    if x.dtype not in (dtypes.float32, dtypes.complex64) or x.size < _MANY:
        return None
    if kind not in (FftKind.FFT, FftKind.RFFT):
        return None
    axes = range(-len(params.lengths), 0)

    def transform(x: HostArray) -> HostArray:
        scipy_fft = import_module("scipy.fft")  # takes long, so when it is first needed
        over = scipy_fft.fftn if kind is FftKind.FFT else scipy_fft.rfftn
        return np.asarray(over(x, axes=axes))

    return prim.HostCall(transform, fresh=True)


@fft_p.def_abstract_eval
def _fft_type(avals: prim.Avals, params: FftParams) -> prim.Avals:
    (x,) = avals
    kind, lengths = params.kind, params.lengths
    check_kind("fft", x, "f" if kind is FftKind.RFFT else "c")
    if x.dtype not in _TAKEN:
        raise errors.DtypeError(
            f"fft does not take {x.dtype.name}: it takes single and double precision. Convert the "
            "operand with .astype(...)."
        )
    if not 1 <= len(lengths) <= min(_MOST_AXES, x.ndim):
        raise errors.ShapeError(f"{kind.value} takes one to three of the last axes, but got {x}.")
    *others, n = lengths
    half = (*others, n // 2 + 1)
    expected = half if kind is FftKind.IRFFT else lengths
    if x.shape[-len(lengths) :] != expected or min(lengths) < 1:
        raise errors.ShapeError(
            f"{kind.value} of lengths {lengths} needs {expected} values along the last axes, and "
            f"one at least, but got {x}."
        )
    batch = x.shape[: -len(lengths)]
    match kind:
        case FftKind.RFFT:
            return (av.ShapedArray((*batch, *half), dtypes.to_complex(x.dtype)),)
        case FftKind.IRFFT:
            return (av.ShapedArray((*batch, *lengths), dtypes.real_part(x.dtype)),)
        case _:
            return (x.strip_weak(),)


@fft_p.def_lowering
def _fft_lowering(b: Lowering, operands: hlo.Values, params: FftParams) -> hlo.Values:
    attributes = {
        "fft_type": f"#stablehlo<fft_type {params.kind.value}>",
        "fft_length": f"array<i64: {', '.join(map(str, params.lengths))}>",
    }
    return b.emit("stablehlo.fft", operands, b.results, attributes)


def _transposed(ct: Array, _: object, params: FftParams) -> Array:
    """Transpose by the same transform: the matrices of ``FFT`` and ``IFFT`` are symmetric.

    ``RFFT`` is that of real numbers less some results; those of ``IRFFT`` are real, and sums with
    the conjugates of all but the first number and, where there is one, that of half the frequency.
    """
    kind, lengths = params.kind, params.lengths
    last, n = ct.ndim - 1, lengths[-1]
    match kind:
        case FftKind.RFFT:
            whole = slicing.pad_in_dim(ct, 0, n - ct.shape[last], last)
            return ew.real(fft(whole, FftKind.FFT, lengths))
        case FftKind.IRFFT:
            spectrum = ew.conj(fft(ct, FftKind.RFFT, lengths))
            alone = 2 * np.arange(spectrum.shape[last]) % n == 0
            weights = (np.where(alone, 1.0, 2.0) / prod(lengths)).astype(spectrum.dtype)
            return ew.mul(
                spectrum, broadcast_in_dim(ConcreteArray(weights), spectrum.shape, (last,))
            )
        case _:
            return tr.bind1(fft_p, (ct,), params)


def_linear(fft_p)
def_transposes(fft_p, _transposed)
sh.def_simple_batch(fft_p)


def fft(x: Array, kind: FftKind, lengths: Sequence[int]) -> Array:
    """Return the Fourier transform along the last axes.

    Args:
        x: complex; real for ``RFFT``, which is ``FFT`` along all axes but the last. ``IRFFT`` is
            ``IFFT`` along these, before it is the inverse along the last.
        kind: which transform.
        lengths: the number of values in time along each axis.

    Raises:
        ShapeError: the axes have other lengths than these ask for, or there are none.
        DtypeError: the dtype is not complex, or not real.
    """
    several, at_once = tuple(lengths[:-_MOST_AXES]), tuple(lengths[-_MOST_AXES:])
    if not several:
        return tr.bind1(fft_p, (x,), FftParams(kind, at_once))
    inverse = kind in (FftKind.IFFT, FftKind.IRFFT)
    front, back = x.ndim - len(lengths), x.ndim - _MOST_AXES
    batch, moved = range(front), range(front, back)

    def along_others(y: Array) -> Array:
        y = sh.transpose(y, (*batch, *range(back, x.ndim), *moved))
        y = fft(y, FftKind.IFFT if inverse else FftKind.FFT, several)
        ends = range(front + _MOST_AXES, x.ndim)
        return sh.transpose(y, (*batch, *ends, *range(front, front + _MOST_AXES)))

    if kind is FftKind.IRFFT:
        return fft(along_others(x), kind, at_once)
    return along_others(fft(x, kind, at_once))
