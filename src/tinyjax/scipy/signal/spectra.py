"""Convolution, and spectra of signals, by SciPy's names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base import frames, lazy
from tinyjax._extensions.host import replay
from tinyjax._primitives.convolution import conv_general_dilated
from tinyjax._primitives.precision import PrecisionLike
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.signal.windows import exact_window

lazy.answer_for(
    __name__, "convolve convolve2d correlate correlate2d csd detrend fftconvolve istft stft welch"
)

Mode = Literal["full", "same", "valid"]
#: A window's name, that and its parameters, or the window itself.
Window: TypeAlias = str | tuple[Any, ...] | ArrayLike
Detrend: TypeAlias = Literal["constant", "linear", False] | Callable[[Array], ArrayLike]


# Convolution


def _signals(name: str, in1: ArrayLike, in2: ArrayLike, mode: Mode) -> tuple[Array, Array]:
    pm.check_option(name, "mode", mode, ("full", "same", "valid"))
    x, y = (
        pm.strong(z) for z in pm.promote_inexact(pm.array_of(name, in1), pm.array_of(name, in2))
    )
    if x.ndim != y.ndim:
        raise ShapeError.got(f"{name} takes arrays of as many axes", x, y)
    return x, y


def _larger_first(
    name: str, x: Array, y: Array, mode: Mode, axes: Sequence[int]
) -> tuple[Array, Array]:
    """Order signals that are not empty by their sizes along axes, where only that is valid."""
    if not x.size or not y.size:
        raise ShapeError.got(f"{name} takes no empty arrays", x, y)
    if mode != "valid" or all(x.shape[i] >= y.shape[i] for i in axes):
        return x, y
    if any(x.shape[i] > y.shape[i] for i in axes):
        needs = "one array that is as large as the other along every axis"
        raise ShapeError.got(f"{name} with mode='valid' needs {needs}", x, y)
    return y, x


def _convolve(
    name: str, in1: ArrayLike, in2: ArrayLike, mode: Mode, precision: PrecisionLike
) -> Array:
    x, y = _signals(name, in1, in2, mode)
    x, y = _larger_first(name, x, y, mode, range(x.ndim))
    behind = [{"valid": 0, "full": k - 1, "same": (k - 1) // 2}[mode] for k in y.shape]
    padding = [
        (k - 1 - b if mode == "same" else b, b) for k, b in zip(y.shape, behind, strict=True)
    ]
    if not x.ndim:
        return x * y
    kernel = jnp.flip(y)[None, None]
    strides = (1,) * x.ndim
    out = conv_general_dilated(x[None, None], kernel, strides, padding, precision=precision)
    return out[0, 0]


def _fft_size(n: int) -> int:
    """A length that is not less, and whose transform is quick: a product of 2, 3 and 5."""
    while True:
        rest = n
        for factor in (2, 3, 5):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += 1


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: Mode = "full", axes: int | Sequence[int] | None = None
) -> Array:
    """Convolve two arrays, by Fourier transforms.

    Args:
        in1: any number of axes.
        in2: as many.
        mode: as in ``convolve``.
        axes: along which axes; all by default. The others broadcast.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.fftconvolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 3.0])).round(3)
        Array([1., 5., 6.], dtype=float32)
    """
    x, y = _signals("fftconvolve", in1, in2, mode)
    indices = (
        range(x.ndim) if axes is None else ints.integers(ints.one_or_more(axes, "axes"), "axes")
    )
    places = tuple(ints.canonical_axis(a, x.ndim, "fftconvolve: axis") for a in indices)
    if any(
        x.shape[i] != y.shape[i] and 1 not in (x.shape[i], y.shape[i])
        for i in range(x.ndim)
        if i not in places
    ):
        raise ShapeError.got(
            f"fftconvolve over axes {places} needs other axes that broadcast", x, y
        )
    if not places:
        raise ShapeError("fftconvolve needs an axis at least.")
    x, y = _larger_first("fftconvolve", x, y, mode, places)
    full = [x.shape[i] + y.shape[i] - 1 for i in places]
    sizes = [_fft_size(n) for n in full]
    forward, back = jnp.fft.rfftn, jnp.fft.irfftn
    if dtypes.is_complex(x.dtype):
        forward, back = jnp.fft.fftn, jnp.fft.ifftn
    convolved = back(forward(x, sizes, places) * forward(y, sizes, places), sizes, places)
    slices = [slice(None)] * x.ndim
    for i, n in zip(places, full, strict=True):
        count = {"full": n, "same": x.shape[i], "valid": x.shape[i] - y.shape[i] + 1}[mode]
        start = (n - count) // 2
        slices[i] = slice(start, start + count)
    return convolved[tuple(slices)]


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    method: Literal["auto", "direct", "fft"] = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Convolve two arrays of any number of axes.

    Args:
        in1: any number of axes.
        in2: as many.
        mode: ``"full"`` for every place where the arrays meet, ``"same"`` for as many as ``in1``
            has, in the middle, ``"valid"`` for those where one lies within the other.
        method: ``"direct"``, which ``"auto"`` is too, or ``"fft"``.
        precision: as in ``lax.conv_general_dilated``.

    Returns:
        Floats or complex numbers.

    Raises:
        ShapeError: the shapes do not fit, or an array is empty.
        ArgumentError: there is no such mode or method.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    pm.check_option("convolve", "method", method, ("auto", "direct", "fft"))
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    return _convolve("convolve", in1, in2, mode, precision)


def _check_boundary(name: str, boundary: str, fillvalue: ArrayLike) -> None:
    if boundary != "fill" or not isinstance(fillvalue, (int, float)) or fillvalue != 0:
        raise ArgumentError(f"{name} takes zeros for what is outside: boundary='fill' and 0.")


def _check_planes(name: str, x: ArrayLike, y: ArrayLike) -> None:
    shapes = pm.array_of(name, x).shape, pm.array_of(name, y).shape
    if any(len(shape) != 2 for shape in shapes):
        raise ShapeError(f"{name} takes matrices, but got shapes {shapes[0]} and {shapes[1]}.")


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: Literal["fill"] = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Convolve two matrices; ``convolve`` says how.

    Args:
        in1: a matrix.
        in2: a matrix.
        mode: as in ``convolve``.
        boundary: must be ``"fill"``.
        fillvalue: must be 0.
        precision: as in ``lax.conv_general_dilated``.

    Raises:
        ShapeError: an operand is not a matrix, or the shapes do not fit.
        ArgumentError: there is no such mode, or something else is outside.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.convolve2d(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0, 10.0]]))
        Array([[ 1., 12., 20.],
               [ 3., 34., 40.]], dtype=float32)
    """
    _check_boundary("convolve2d", boundary, fillvalue)
    _check_planes("convolve2d", in1, in2)
    return _convolve("convolve2d", in1, in2, mode, precision)


@frames.like(convolve)
def correlate(in1: ArrayLike, in2: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Correlate two arrays: convolve with the conjugate of the second one, reversed.

    The arguments and errors are those of ``convolve``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0, 0.5]))
        Array([0.5, 2. , 3.5, 3. , 0. ], dtype=float32)
    """
    x, y = pm.floats("correlate", in1, in2)
    return convolve(x, jnp.flip(jnp.conj(y)), *args, **kwargs)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: Mode = "full",
    boundary: Literal["fill"] = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Correlate two matrices, of which the second is conjugated.

    The arguments and errors are those of ``convolve2d``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> image = jnp.array([[1.0, 2.0], [3.0, 4.0]])
        >>> signal.correlate2d(image, jnp.array([[1.0, 10.0]]), mode="valid")
        Array([[21.],
               [43.]], dtype=float32)
    """
    _check_boundary("correlate2d", boundary, fillvalue)
    _check_planes("correlate2d", in1, in2)
    x, y = pm.array_of("correlate2d", in1), jnp.conj(pm.array_of("correlate2d", in2))
    if mode == "same":  # where the middle lies between two places, it is the other one
        return jnp.flip(_convolve("correlate2d", jnp.flip(x), y, mode, precision))
    return _convolve("correlate2d", x, jnp.flip(y), mode, precision)


# Trends


def _without_line(x: Array) -> Array:
    """Subtract the line of least squares from the values along the last axis."""
    n = x.shape[-1]
    if n < 2:
        return jnp.zeros_like(x)
    line = np.stack([np.ones(n), np.arange(n)], -1)
    basis = jnp.asarray(np.linalg.qr(line)[0].astype(x.dtype))
    return x - (x @ basis) @ basis.T


def detrend(
    data: ArrayLike,
    axis: int = -1,
    type: Literal["linear", "constant"] = "linear",
    bp: int | Sequence[int] | dtypes.HostArray = 0,
    overwrite_data: None = None,
) -> Array:
    """Subtract a line or the mean.

    Args:
        data: any number.
        axis: along which.
        type: ``"linear"`` for the line of least squares, ``"constant"`` for the mean.
        bp: where one line ends and another begins.
        overwrite_data: must be None.

    Raises:
        ArgumentError: there is no such type, a break is out of range,
            or data are to be overwritten.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> jnp.abs(signal.detrend(jnp.array([1.0, 3.0, 5.0]))).max() < 1e-5
        Array(True, dtype=bool)
    """
    if overwrite_data is not None:
        raise ArgumentError("detrend overwrites nothing: leave overwrite_data out.")
    pm.check_option("detrend", "type", type, ("linear", "constant"))
    x = pm.strong(pm.inexact(data, "detrend"))
    place = ints.canonical_axis(axis, x.ndim, "detrend: axis")
    if type == "constant":
        return x - x.mean(place, keepdims=True)
    n = x.shape[place]
    breaks = np.unique([0, *ints.integers(np.ravel(bp).tolist(), "bp"), n])
    if breaks[0] < 0 or breaks[-1] > n:
        raise ArgumentError(f"detrend takes breaks from 0 to {n}, but got {shortened(bp)}.")
    x = jnp.moveaxis(x, place, -1)
    pieces = [
        _without_line(x[..., a:b])
        for a, b in zip(breaks.tolist(), breaks[1:].tolist(), strict=False)
    ]
    return jnp.moveaxis(jnp.concatenate(pieces, -1), -1, place)


# Spectra


def _window(
    name: str, window: Window, nperseg: int | None, length: int | None
) -> tuple[Array, int]:
    """The window and its length, for a signal of a length."""
    if isinstance(window, (str, tuple)):
        size = 256 if nperseg is None else ints.integer(nperseg, "nperseg")
        if length is not None:
            size = min(size, length)
        if size < 1:
            raise ArgumentError(f"{name} takes a positive nperseg, but got {shortened(nperseg)}.")
        return exact_window(window, size), size
    win = pm.array_of(name, window)
    if win.ndim != 1 or (nperseg is not None and nperseg != win.size):
        raise ShapeError.got(f"{name} takes a window of nperseg={nperseg} numbers", win)
    if length is not None and win.size > length:
        raise ShapeError(f"{name} takes a window no longer than the signal, {length}.")
    return win, win.size


def _pad_last(x: Array, before: int, after: int, mode: str = "constant") -> Array:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(before, after)], mode)


def _odd(x: Array, n: int) -> Array:
    """Continued on either side as a function that is odd about its ends."""
    left = 2 * x[..., :1] - x[..., n:0:-1]
    right = 2 * x[..., -1:] - x[..., -2 : -(n + 2) : -1]
    return jnp.concatenate([left, x, right], -1)


_BOUNDARIES: Final[dict[str | None, Callable[[Array, int], Array]]] = {
    None: lambda x, n: x,
    "zeros": lambda x, n: _pad_last(x, n, n),
    "constant": lambda x, n: _pad_last(x, n, n, "edge"),
    "even": lambda x, n: _pad_last(x, n, n, "reflect"),
    "odd": _odd,
}


def _segments(x: Array, size: int, step: int) -> Array:
    """The pieces of the last axis that begin at every ``step``-th place: ``(..., k, size)``."""
    starts = np.arange(0, x.shape[-1] - size + 1, step)
    return x[..., starts[:, None] + np.arange(size)]


def _trendless(x: Array, kind: Detrend) -> Array:
    if callable(kind):
        return jnp.asarray(kind(x))
    return detrend(x, type=kind) if kind else x


@attrs.frozen(eq=False)
class _Spectra:
    """The segments of signals, and their transforms; the fields are ``csd``'s arguments."""

    name: str
    fs: ArrayLike
    window: Window
    nperseg: int | None
    noverlap: int | None
    nfft: int | None
    detrend: Detrend
    return_onesided: bool
    scaling: str
    axis: int

    def _signals(self, values: Sequence[ArrayLike]) -> tuple[list[Array], int]:
        """Return signals of one shape, their times along the last axis, and where that was."""
        name = self.name
        signals = [
            pm.strong(z) for z in pm.promote_inexact(*(pm.array_of(name, z) for z in values))
        ]
        if len({z.ndim for z in signals}) > 1:
            raise ShapeError(f"{name} takes signals of as many axes.")
        place = ints.canonical_axis(self.axis, signals[0].ndim, f"{name}: axis")
        signals = [jnp.moveaxis(z, place, -1) for z in signals]
        length = max(z.shape[-1] for z in signals)
        batch = pm.broadcast_shapes(*(z.shape[:-1] for z in signals))
        if not length or 0 in batch:
            raise ShapeError(f"{name} takes signals of one value at least.")
        return [
            jnp.broadcast_to(_pad_last(z, 0, length - z.shape[-1]), (*batch, length))
            for z in signals
        ], place

    def spectrum(
        self, *values: ArrayLike, products: bool, boundary: str | None = None, padded: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return frequencies, times, and transforms, or their products, the last axis times.

        The axis of frequencies stands where that of time stood.
        """
        name = self.name
        pm.check_option(name, "scaling", self.scaling, ("density", "spectrum"))
        pm.check_option(name, "boundary", boundary, _BOUNDARIES)
        signals, place = self._signals(values)
        length = signals[0].shape[-1]
        win, size = _window(name, self.window, self.nperseg, length)
        real = dtypes.real_part(signals[0].dtype)
        win = win.astype(dtypes.to_complex(real) if dtypes.is_complex(win.dtype) else real)
        overlap = size // 2 if self.noverlap is None else ints.integer(self.noverlap, "noverlap")
        count = size if self.nfft is None else ints.integer(self.nfft, "nfft")
        if not 0 <= overlap < size or count < size:
            raise ArgumentError(
                f"{name} takes a noverlap less than nperseg={size} and an nfft no less, but "
                f"got {overlap} and {count}."
            )
        step = size - overlap
        signals = [_BOUNDARIES[boundary](z, size // 2) for z in signals]
        if padded:
            missing = (-(signals[0].shape[-1] - size) % step) % size
            signals = [_pad_last(z, 0, missing) for z in signals]
        one_sided = self.return_onesided and not any(
            dtypes.is_complex(z.dtype) for z in (*signals, win)
        )
        transform = jnp.fft.rfft if one_sided else jnp.fft.fft
        spectra = [
            transform(_trendless(_segments(z, size, step), self.detrend) * win, count)
            for z in signals
        ]
        rate = jnp.astype(self.fs, real)
        if self.scaling == "density":
            power = jnp.sum(jnp.abs(win) ** 2) * rate
        else:
            power = jnp.abs(win.sum()) ** 2
        if not products:
            result = spectra[0] / jnp.sqrt(power)
        else:
            result = jnp.conj(spectra[0]) * spectra[-1] / power
            if one_sided:  # each frequency stands for its negative one too, where there are two
                bins = np.arange(result.shape[-1])
                twice = np.where(2 * bins % count == 0, 1.0, 2.0)
                result = result * twice.astype(real)
        make = jnp.fft.rfftfreq if one_sided else jnp.fft.fftfreq
        frequencies = make(count, dtype=real) * rate
        total = signals[0].shape[-1]
        middles = np.arange(0, total - size + 1, step) + (0.0 if boundary else size / 2)
        times = jnp.asarray(middles.astype(real)) / rate
        result = jnp.swapaxes(result, -1, -2)
        return frequencies, times, jnp.moveaxis(result, -2, place)


def stft(  # noqa: PLR0913, PLR0917 (JAX's signature)
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = False,
    return_onesided: bool = True,
    boundary: Literal["even", "odd", "constant", "zeros"] | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Return the Fourier transforms of pieces of a signal.

    Args:
        x: a signal along ``axis``.
        fs: how many samples there are in a unit of time.
        window: by what each piece is multiplied: the name of one of ``scipy.signal.get_window``, a
            tuple of name and parameters, or an array.
        nperseg: how long a piece is; less where the signal is shorter.
        noverlap: by how much pieces overlap; by half by default.
        nfft: the length of the transforms, zeros being added; that of the pieces by default.
        detrend: ``"constant"``, ``"linear"`` or a function, to take from each piece; or False.
        return_onesided: whether to leave out negative frequencies, of real signals.
        boundary: how the signal goes on at its ends, so that the first and the last piece have
            their middle there; None to stop there.
        padded: whether to add zeros, so that pieces cover the signal.
        axis: that of the signal.

    Returns:
        The frequencies, the times of the pieces' middles, and the transforms: frequencies stand
        where the signal stood, times along a new last axis.

    Raises:
        ShapeError: the signal is empty, or the window does not fit.
        ArgumentError: a number is out of its range, or something is unknown.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.stft(jnp.ones(16), nperseg=8)[2].shape
        (5, 5)
    """
    spectra = _Spectra(
        "stft", fs, window, nperseg, noverlap, nfft, detrend, return_onesided, "spectrum", axis
    )
    return spectra.spectrum(x, products=False, boundary=boundary, padded=padded)


def csd(  # noqa: PLR0913, PLR0917 (JAX's signature)
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: Literal["density", "spectrum"] = "density",
    axis: int = -1,
    average: Literal["mean", "median"] = "mean",
) -> tuple[Array, Array]:
    """Return the cross spectral density of two signals (P. Welch, 1967).

    Args:
        x: a signal along ``axis``.
        y: another one, of as many axes; ``x`` by default. The shorter one is continued by zeros.
        fs: how many samples there are in a unit of time.
        window: as in ``stft``.
        nperseg: as in ``stft``; 256 by default.
        noverlap: as in ``stft``.
        nfft: as in ``stft``.
        detrend: as in ``stft``.
        return_onesided: as in ``stft``.
        scaling: ``"density"`` for power by frequency, ``"spectrum"`` for power.
        axis: that of the signals.
        average: how the pieces are averaged.

    Returns:
        The frequencies, and the densities, complex, along ``axis``.

    Raises:
        ShapeError: a signal is empty, or the shapes do not fit.
        ArgumentError: a number is out of its range, or something is unknown.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> time = jnp.arange(64) / 64
        >>> wave = jnp.sin(2 * jnp.pi * 8 * time)
        >>> frequencies, density = signal.csd(wave, 2 * wave, fs=64, nperseg=64)
        >>> frequencies[jnp.argmax(jnp.abs(density))]
        Array(8., dtype=float32)
    """
    pm.check_option("csd", "average", average, ("mean", "median"))
    spectra = _Spectra(
        "csd", fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis
    )
    operands = (x,) if y is None else (x, y)
    frequencies, _, density = spectra.spectrum(*operands, products=True)
    if density.shape[-1] == 1:
        return frequencies, density[..., 0]
    if average == "mean":
        return frequencies, density.mean(-1)
    middle = jnp.median(density.real, -1) + jnp.asarray(1j, density.dtype) * jnp.median(
        density.imag, -1
    )
    # the median of squares of normal numbers is less than their mean
    pairs = 2 * np.arange(1.0, (density.shape[-1] - 1) // 2 + 1)
    return frequencies, middle / float(1 + np.sum(1 / (pairs + 1) - 1 / pairs))


def welch(  # noqa: PLR0913, PLR0917 (JAX's signature)
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: Detrend = "constant",
    return_onesided: bool = True,
    scaling: Literal["density", "spectrum"] = "density",
    axis: int = -1,
    average: Literal["mean", "median"] = "mean",
) -> tuple[Array, Array]:
    """Return the power spectral density of a signal; the arguments and errors are ``csd``'s.

    The signal is cut into segments that overlap, each is windowed and transformed, and the squares
    are averaged: noise falls with the number of segments. It is ``csd`` of a signal with itself.
    Frequencies come first, in units of ``fs``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> frequencies, density = signal.welch(jnp.sin(jnp.pi * jnp.arange(256) / 4))
        >>> frequencies[jnp.argmax(density)]
        Array(0.125, dtype=float32)
    """
    settings = (fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis)
    frequencies, density = csd(x, None, *settings, average)
    return frequencies, density.real


def istft(  # noqa: PLR0913, PLR0917 (JAX's signature)
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: Window = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Return the signal whose pieces have given Fourier transforms: the inverse of ``stft``.

    Args:
        Zxx: the transforms, as ``stft`` returns them.
        fs: how many samples there are in a unit of time.
        window: that of ``stft``.
        nperseg: how long a piece is; by default what the number of frequencies says.
        noverlap: by how much pieces overlap; by half by default.
        nfft: the length of the transforms.
        input_onesided: whether negative frequencies are left out.
        boundary: whether the signal was continued at its ends.
        time_axis: that of the pieces.
        freq_axis: that of the frequencies.

    Returns:
        The times, and the signal, along the axis where the times were.

    Raises:
        ShapeError: there are fewer than two axes, or the window does not fit.
        ArgumentError: the axes are one, or a number is out of its range.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> x = jnp.arange(16.0)
        >>> bool(jnp.allclose(signal.istft(signal.stft(x, nperseg=8)[2])[1], x, atol=1e-4))
        True
    """
    z = pm.strong(pm.inexact(Zxx, "istft"))
    if z.ndim < 2:
        raise ShapeError.got("istft takes two axes at least", z)
    z = z.astype(dtypes.to_complex(z.dtype))
    time = ints.canonical_axis(time_axis, z.ndim, "istft: time_axis")
    frequency = ints.canonical_axis(freq_axis, z.ndim, "istft: freq_axis")
    if time == frequency:
        raise ArgumentError("istft takes distinct axes for times and frequencies.")
    bins = z.shape[frequency]
    default = 2 * (bins - 1) if input_onesided else bins
    size = default if nperseg is None else ints.integer(nperseg, "nperseg")
    if nfft is None:
        count = default + (1 if input_onesided and size == default + 1 else 0)
    else:
        count = ints.integer(nfft, "nfft")
    overlap = size // 2 if noverlap is None else ints.integer(noverlap, "noverlap")
    if size < 1 or count < size or not 0 <= overlap < size:
        raise ArgumentError(
            "istft takes a positive nperseg, an nfft no less and a noverlap less than it, but got "
            f"{size}, {count} and {overlap}."
        )
    step = size - overlap
    z = jnp.moveaxis(z, (time, frequency), (-2, -1))
    pieces = (jnp.fft.irfft if input_onesided else jnp.fft.ifft)(z, count)[..., :size]
    win, _ = _window("istft", window, size, None)
    win = win.astype(pieces.dtype)
    places = step * np.arange(pieces.shape[-2])[:, None] + np.arange(size)
    length = int(places[-1, -1]) + 1
    empty = jnp.zeros((*pieces.shape[:-2], length), pieces.dtype)
    x = empty.at[..., places].add(pieces * (win * win.sum()))
    norm = jnp.zeros(length, win.dtype).at[places].add(jnp.broadcast_to(win**2, places.shape))
    if boundary:
        x, norm = (v[..., size // 2 : length - size // 2] for v in (x, norm))
    x = x / jnp.where(jnp.abs(norm) > 1e-10, norm, 1)
    real = dtypes.real_part(x.dtype)
    times = jnp.arange(x.shape[-1], dtype=real) / jnp.astype(fs, real)
    place = time - 1 if frequency < time else time
    return times, jnp.moveaxis(x, -1, place)


replay.replay_functions(globals())
