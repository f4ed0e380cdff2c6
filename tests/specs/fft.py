"""Rows of Fourier transforms."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax.dtypes import HostArray
from tinyjax.primitives.fft import FftKind, fft, fft_p

NUMPY: dict[FftKind, Callable[[HostArray, int], HostArray]] = {
    FftKind.FFT: np.fft.fft,
    FftKind.IFFT: np.fft.ifft,
    FftKind.RFFT: np.fft.rfft,
    FftKind.IRFFT: np.fft.irfft,
}


def reference(x: HostArray, kind: FftKind, length: int) -> Any:
    return NUMPY[kind](x, length)


def jax_fft(x: Any, kind: FftKind, length: int) -> Any:
    return jax.lax.fft(x, kind.value, (length,))


def cases(kind: FftKind, *lengths: int) -> list[Case]:
    inverse = kind is FftKind.IRFFT
    return [
        Case(ArraySpec((*lead, n // 2 + 1 if inverse else n)), kind=kind, length=n)
        for n in lengths
        for lead in ((), (2,))
    ]


SPECS = [
    Spec(
        f"fft, {kind.value}",
        fft_p,
        fft,
        cases(kind, 1, 4, 5),
        reference,
        jax=jax_fft,
        dtypes=("float32", "float64") if kind is FftKind.RFFT else ("complex64", "complex128"),
        grad=2,
        grad_dtypes=("float64",) if kind is FftKind.RFFT else ("complex128",),
        linear=(0,),
    )
    for kind in FftKind
]
