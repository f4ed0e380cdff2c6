"""Filters of signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.ndimage.filters import median_filter
from tinyjax.scipy.signal.spectra import _odd

lazy.answer_for(
    __name__, "filtfilt hilbert lfilter medfilt resample savgol_filter sosfilt sosfiltfilt"
)


def _normalized(b: Array, a: Array) -> tuple[Array, Array]:
    """Return coefficients of one length, at least two, the first one of ``a`` being 1."""
    if b.ndim != 1 or a.ndim != 1:
        raise ShapeError.got("a filter's coefficients b and a are vectors", b, a)
    n = max(b.size, a.size, 2)
    return jnp.pad(b / a[0], (0, n - b.size)), jnp.pad(a / a[0], (0, n - a.size))


def _run(b: Array, a: Array, x: Array, state: ArrayLike) -> Array:
    """Filter along the last axis, by the transposed direct form II."""
    b, a = _normalized(b, a)
    start = jnp.broadcast_to(jnp.asarray(state, x.dtype), (*x.shape[:-1], a.size - 1))

    def step(z: Array, u: Array) -> tuple[Array, Array]:
        y = b[0] * u + z[..., 0]
        after = jnp.concatenate([z[..., 1:], jnp.zeros_like(z[..., :1])], -1)
        return after + b[1:] * u[..., None] - a[1:] * y[..., None], y

    _, y = lax.scan(step, start, jnp.moveaxis(x, -1, 0))
    return jnp.moveaxis(y, 0, -1)


def _steady(b: Array, a: Array) -> Array:
    """Return the state in which a filter's response to ones is constant."""
    b, a = _normalized(b, a)
    n = a.size - 1
    shift = jnp.eye(n, k=1, dtype=a.dtype).at[:, 0].add(-a[1:])
    return jnp.linalg.solve(jnp.eye(n, dtype=a.dtype) - shift, b[1:] - a[1:] * b[0])


def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1) -> Array:
    """Filter a signal by a rational transfer function.

    Args:
        b: the numerator's coefficients, a vector.
        a: the denominator's; the first one is not zero.
        x: the signal.
        axis: the axis of time.

    Raises:
        ShapeError: coefficients are not vectors.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.lfilter(jnp.array([1.0]), jnp.array([1.0, -0.5]), jnp.array([1.0, 0.0, 0.0]))
        Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    over, under, signal = (pm.strong(z) for z in pm.floats("lfilter", b, a, x))
    return jnp.moveaxis(_run(over, under, jnp.moveaxis(signal, axis, -1), 0.0), -1, axis)


def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1) -> Array:
    """Filter a signal by sections of second order, of shape ``(n, 6)``, one after the other.

    Raises:
        ShapeError: the sections have another shape.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.sosfilt(jnp.array([[1.0, 0, 0, 1.0, -0.5, 0]]), jnp.array([1.0, 0.0, 0.0]))
        Array([1.  , 0.5 , 0.25], dtype=float32)
    """
    for section in _sections("sosfilt", sos):
        x = lfilter(section[:3], section[3:], x, axis)
    return jnp.asarray(x)


def _sections(name: str, sos: ArrayLike) -> Array:
    (sections,) = pm.floats(name, sos)
    if sections.ndim != 2 or sections.shape[1] != 6:
        raise ShapeError.got(f"{name} takes sections sos of shape (n, 6)", sections)
    return sections


def _both_ways(name: str, run: Callable[[Array], Array], x: Array, axis: int, padlen: int) -> Array:
    signal = jnp.moveaxis(x, axis, -1)
    if signal.shape[-1] <= padlen:
        raise ArgumentError(
            f"{name} with padlen={padlen} needs more values along the axis, but x is {x.aval}."
        )
    y = run(run(_odd(signal, padlen))[..., ::-1])[..., ::-1]
    return jnp.moveaxis(y[..., padlen : y.shape[-1] - padlen], -1, axis)


def filtfilt(
    b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, *, padlen: int | None = None
) -> Array:
    """Filter a signal forward and backward, so that no phase is shifted.

    Arguments are those of ``lfilter``; ``padlen`` is by how many values the signal goes on at both
    ends, turned about these.

    Raises:
        ArgumentError: the signal is too short.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.filtfilt(jnp.array([0.5, 0.5]), jnp.array([1.0]), jnp.arange(9.0) % 2)[3:5]
        Array([0.5, 0.5], dtype=float32)
    """
    over, under, signal = (pm.strong(z) for z in pm.floats("filtfilt", b, a, x))
    state = _steady(over, under)
    count = 3 * max(over.size, under.size) if padlen is None else padlen
    return _both_ways(
        "filtfilt", lambda z: _run(over, under, z, state * z[..., :1]), signal, axis, count
    )


def sosfiltfilt(
    sos: ArrayLike, x: ArrayLike, axis: int = -1, *, padlen: int | None = None
) -> Array:
    """Filter a signal by sections, forward and backward.

    Arguments are those of ``sosfilt`` and ``filtfilt``.

    Raises:
        ArgumentError: the signal is too short.
        ConcretizationError: ``sos`` is traced, and there is no ``padlen``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.sosfiltfilt(jnp.array([[0.5, 0.5, 0, 1.0, 0, 0]]), jnp.arange(9.0) % 2)[3:5]
        Array([0.5, 0.5], dtype=float32)
    """
    sections, signal = (pm.strong(z) for z in pm.floats("sosfiltfilt", sos, x))
    parts = _sections("sosfiltfilt", sections)
    if padlen is None:  # SciPy's, which looks for sections of first order
        host = parts.concrete("the number of sections of first order (or give padlen=...)")
        padlen = 3 * (2 * len(parts) + 1 - int(min((host[:, [2, 5]] == 0).sum(0))))

    def run(z: Array) -> Array:
        for b, a in zip(parts[:, :3], parts[:, 3:], strict=True):
            z = _run(b, a, z, _steady(b, a) * z[..., :1])
        return z

    return _both_ways("sosfiltfilt", run, signal, axis, padlen)


def hilbert(x: ArrayLike, N: int | None = None, axis: int = -1) -> Array:
    """Return the analytic signal: that whose real part is ``x`` without negative frequencies.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.hilbert(jnp.array([1.0, 0.0, -1.0, 0.0])).imag
        Array([ 0.,  1.,  0., -1.], dtype=float32)
    """
    (signal,) = pm.reals("hilbert", x)
    axis = ints.canonical_axis(axis, signal.ndim)
    n = signal.shape[axis] if N is None else N
    spectrum = jnp.moveaxis(jnp.fft.fft(signal, n, axis), axis, -1)
    k = np.arange(n)
    weights = np.where((k == 0) | (2 * k == n), 1.0, np.where(2 * k < n, 2.0, 0.0))
    return jnp.moveaxis(jnp.fft.ifft(spectrum * weights.astype(signal.dtype)), -1, axis)


def resample(x: ArrayLike, num: int, t: None = None, axis: int = 0) -> Array:
    """Return a periodic real signal at ``num`` points, by its Fourier series.

    Raises:
        ArgumentError: ``t`` is given, the times of the signal.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.resample(jnp.array([1.0, -1.0, 1.0, -1.0]), 2)
        Array([0., 0.], dtype=float32)
    """
    if t is not None:
        raise ArgumentError("resample returns no times: t has to be None.")
    num = ints.positive(num, "num of resample")
    (signal,) = pm.reals("resample", x)
    axis = ints.canonical_axis(axis, signal.ndim)
    n, least = signal.shape[axis], min(num, signal.shape[axis])
    spectrum = jnp.moveaxis(jnp.fft.rfft(signal, axis=axis), axis, -1)[..., : least // 2 + 1]
    weights = np.ones(least // 2 + 1, signal.dtype)
    if least % 2 == 0:  # of the highest frequency there are two, or one
        weights[-1] = 2.0 if num < n else 0.5 if num > n else 1.0
    return jnp.moveaxis(jnp.fft.irfft(spectrum * weights, num) * (num / n), -1, axis)


def savgol_filter(
    x: ArrayLike,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
) -> Array:
    """Return values, or derivatives, of polynomials that fit windows of a signal, in the middle.

    Near the ends they are those of the first and the last window.

    Args:
        x: the signal.
        window_length: how many values a window has.
        polyorder: the degree, less than that.
        deriv: the order of the derivative.
        delta: the distance of the values.
        axis: the axis of time.

    Raises:
        ArgumentError: the window is even, not longer than the degree, or longer than the signal.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.savgol_filter(jnp.array([0.0, 1.0, 4.0, 9.0, 16.0]), 5, 2, deriv=1).round(3)
        Array([0., 2., 4., 6., 8.], dtype=float32)
    """
    window_length = ints.positive(window_length, "window_length of savgol_filter")
    (signal,) = pm.floats("savgol_filter", x)
    rows, w = jnp.moveaxis(signal, axis, -1), window_length
    if not polyorder < w <= rows.shape[-1] or w % 2 == 0:
        raise ArgumentError(
            f"window_length of savgol_filter must be odd, above polyorder, {polyorder}, and at "
            f"most {rows.shape[-1]}, the signal's length, but it is {w}."
        )
    at, half = np.arange(w) - w // 2, w // 2
    powers = np.polynomial.polynomial.polyvander(at, polyorder)
    change = np.polynomial.polynomial.polyder(np.eye(polyorder + 1), deriv, axis=0)
    fits = np.polynomial.polynomial.polyvander(at, len(change) - 1) @ change
    fits = (fits @ np.linalg.pinv(powers) / delta**deriv).astype(rows.dtype)
    n = rows.shape[-1] - w + 1
    middle = sum(f * rows[..., k : k + n] for k, f in enumerate(fits[half]))
    first, last = rows[..., :w] @ fits[:half].T, rows[..., -w:] @ fits[half + 1 :].T
    return jnp.moveaxis(jnp.concatenate([first, jnp.asarray(middle), last], -1), -1, axis)


def medfilt(volume: ArrayLike, kernel_size: int | Sequence[int] = 3) -> Array:
    """Return the medians of neighbourhoods, of odd sizes, with zeros outside.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.medfilt(jnp.array([2.0, 9.0, 3.0, 4.0]))
        Array([2., 3., 4., 3.], dtype=float32)
    """
    return median_filter(volume, kernel_size, mode="constant")
