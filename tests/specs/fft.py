"""Rows of Fourier transforms."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._primitives.fft import FftKind, fft, fft_p
from tinyjax.dtypes import HostArray

NUMPY: dict[FftKind, Callable[..., HostArray]] = {
    FftKind.FFT: np.fft.fftn,
    FftKind.IFFT: np.fft.ifftn,
    FftKind.RFFT: np.fft.rfftn,
    FftKind.IRFFT: np.fft.irfftn,
}


def reference(x: HostArray, kind: FftKind, lengths: tuple[int, ...]) -> Any:
    return NUMPY[kind](x, lengths, range(-len(lengths), 0))


def jax_fft(x: Any, kind: FftKind, lengths: tuple[int, ...]) -> Any:
    return jax.lax.fft(x, kind.value, lengths)


def cases(kind: FftKind, *lengths: tuple[int, ...]) -> list[Case]:
    inverse = kind is FftKind.IRFFT
    return [
        Case(ArraySpec((*lead, *others, n // 2 + 1 if inverse else n)), kind=kind, lengths=sizes)
        for sizes in lengths
        for *others, n in (sizes,)
        for lead in ((), (2,))
    ]


SPECS = [
    Spec(
        f"fft, {kind.value}",
        fft_p,
        fft,
        cases(kind, (1,), (4,), (5,), (3, 4), (2, 1, 3)),
        reference,
        jax=jax_fft,
        dtypes=("float32", "float64") if kind is FftKind.RFFT else ("complex64", "complex128"),
        grad=2,
        grad_dtypes=("float64",) if kind is FftKind.RFFT else ("complex128",),
        linear=(0,),
    )
    for kind in FftKind
]
