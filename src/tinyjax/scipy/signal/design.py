"""Filters by their frequencies, and their responses.

Frequencies are in units of half the sampling rate, ``fs / 2``, and differentiable.
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.signal import windows

lazy.answer_for(__name__, "butter firwin freqz resample_poly upfirdn")


@pm.in_double
def butter(
    N: int,
    Wn: ArrayLike,
    btype: str = "low",
    analog: Literal[False] = False,
    output: Literal["ba", "zpk"] = "ba",
    fs: float = 2.0,
) -> tuple[Array, ...]:
    """Design a digital filter whose response is as flat as can be (Butterworth).

    Args:
        N: the order.
        Wn: the frequency where the gain is ``sqrt(0.5)``; a pair of them for bands.
        btype: what the filter lets pass, or stops, by any of SciPy's names, such as ``"high"``,
            ``"bandpass"`` and ``"stop"``.
        analog: False; designs are digital.
        output: ``"ba"`` for coefficients, ``"zpk"`` for zeros, poles and the gain.
        fs: the sampling rate.

    Raises:
        ArgumentError: there is no such kind or output, or frequencies are out of range. Traced ones
            give NaN then.
        ShapeError: there are not as many frequencies as the kind needs.

    Example:
        >>> from tinyjax.scipy.signal import butter
        >>> butter(1, 0.5)[0].round(3)
        Array([0.5, 0.5], dtype=float64)
    """
    pm.check_option("butter", "btype", btype, _KINDS)
    pm.check_option("butter", "analog", analog, (False,))
    btype = _KINDS[btype]
    pm.check_option("butter", "output", output, ("ba", "zpk"))
    N = ints.integer(N, "N of butter")
    (ends,) = pm.reals("butter", Wn)
    if ends.shape != ((2,) if "band" in btype else ()):
        raise ShapeError.got(f"butter takes for {btype} a number, or for bands two, as Wn", ends)
    kind = dtypes.to_complex(ends.dtype)
    ends = 4 * jnp.tan(jnp.pi / 2 * _frequencies("butter", ends, fs))
    circle = -np.exp(0.5j * np.pi * np.arange(1 - N, N, 2) / N)
    p, one = jnp.asarray(circle, kind), jnp.ones(N, kind)
    z = one[:0]
    if "band" not in btype:
        p, z, gain = (ends * p, z, ends**N) if "low" in btype else (ends / p, 0 * one, 1.0)
    else:
        width, centre = ends[1] - ends[0], ends[0] * ends[1]
        p = width / 2 * p if btype == "bandpass" else width / 2 / p
        turn = jnp.sqrt(p**2 - centre)
        p = jnp.concatenate([p + turn, p - turn])
        middle = 1j * jnp.sqrt(centre) * one
        is_pass = btype == "bandpass"
        z, gain = (0 * one, width**N) if is_pass else (jnp.concatenate([middle, -middle]), 1.0)
    k = gain * (jnp.prod(4 - z) / jnp.prod(4 - p)).real  # the bilinear transform
    z, p = (jnp.concatenate([(4 + x) / (4 - x), -jnp.ones(p.size - x.size, kind)]) for x in (z, p))
    return (k * _poly(z), _poly(p)) if output == "ba" else (z, p, k)


#: The kinds of filters, by SciPy's names of them.
_KINDS: Final = {
    **dict.fromkeys(("low", "lowpass", "lp", "l"), "lowpass"),
    **dict.fromkeys(("high", "highpass", "hp", "h"), "highpass"),
    **dict.fromkeys(("band", "bandpass", "pass", "bp"), "bandpass"),
    **dict.fromkeys(("bandstop", "bands", "stop", "bs"), "bandstop"),
}


def _frequencies(name: str, ends: Array, fs: float) -> Array:
    """Return frequencies in units of ``fs / 2``: NaN unless they ascend between 0 and 1."""
    ends = ends * (2 / fs)
    is_right = jnp.all(jnp.diff(jnp.concatenate([jnp.zeros(1), jnp.ravel(ends), jnp.ones(1)])) > 0)
    if opd.is_constant(is_right) and not is_right:
        raise ArgumentError(f"frequencies of {name} must ascend between 0 and fs / 2.")
    return ends * jnp.where(is_right, 1.0, jnp.nan)


def _poly(roots: Array) -> Array:
    """Return the real coefficients of the polynomial with these roots."""
    value = jnp.ones(1, roots.dtype)
    for root in roots:
        value = jnp.pad(value, (0, 1)) - root * jnp.pad(value, (1, 0))
    return value.real


@pm.in_double
def firwin(
    numtaps: int,
    cutoff: ArrayLike,
    *,
    window: Any = "hamming",
    pass_zero: bool | Literal["lowpass", "highpass", "bandpass", "bandstop"] = True,
    scale: bool = True,
    fs: float = 2.0,
) -> Array:
    """Design a filter of finite response by a window.

    Args:
        numtaps: its length, which is odd where the highest frequency passes.
        cutoff: the frequencies, one or several, where bands begin and end.
        window: that by which the ideal response is cut off: see ``windows.get_window``.
        pass_zero: whether constants pass, or the kind of filter.
        scale: whether the gain is 1 in the middle of the first band.
        fs: the sampling rate.

    Raises:
        ArgumentError: the length is even, and the highest frequency passes; a filter of that kind
            has another number of frequencies; or they are out of range. Traced ones give NaN then.

    Example:
        >>> from tinyjax.scipy.signal import firwin
        >>> print(firwin(3, 0.5).round(3))
        [0.046 0.908 0.046]
    """
    numtaps = ints.positive(numtaps, "numtaps of firwin")
    ends = _frequencies("firwin", jnp.ravel(pm.reals("firwin", cutoff)[0]), fs)
    is_weak = ends.weak_type
    kinds = ("lowpass", "highpass", "bandpass", "bandstop")
    pm.check_option("firwin", "pass_zero", pass_zero, (True, False, *kinds))
    if isinstance(pass_zero, str):
        if (ends.size > 1) != pass_zero.startswith("band"):
            raise ArgumentError(
                f"cutoff of firwin has {ends.size} frequencies, but pass_zero={pass_zero!r} takes "
                f"{'one' if ends.size > 1 else 'several'}."
            )
        pass_zero = pass_zero in ("lowpass", "bandstop")
    is_high = (ends.size % 2 == 1) != pass_zero
    if is_high and numtaps % 2 == 0:
        raise ArgumentError(f"numtaps of firwin must be odd for this filter, but it is {numtaps}.")
    zero, one = jnp.zeros(1, ends.dtype), jnp.ones(1, ends.dtype)
    ends = jnp.concatenate([zero] * pass_zero + [ends] + [one] * is_high).reshape(-1, 2)
    at = jnp.asarray(np.arange(numtaps) - (numtaps - 1) / 2, ends.dtype)
    ideal = ends[:, 1:] * jnp.sinc(ends[:, 1:] * at) - ends[:, :1] * jnp.sinc(ends[:, :1] * at)
    h = ideal.sum(0) * windows.exact_window(window, numtaps, fftbins=False).astype(ends.dtype)
    h = pm.convert(h, h.dtype, is_weak)
    if not scale:
        return h
    low, high = ends[0]
    middle = 0.0 if pass_zero else 1.0 if len(ends) == 1 and is_high else (low + high) / 2
    return h / pm.convert((h * jnp.cos(jnp.pi * at * middle)).sum(), h.dtype, is_weak)


@pm.in_double
def freqz(
    b: ArrayLike, a: ArrayLike = 1.0, worN: int | ArrayLike = 512, *, fs: float = 2 * np.pi
) -> tuple[Array, Array]:
    """Return frequencies, and a filter's complex response there.

    ``worN`` are the frequencies, or how many there are from zero up to ``fs / 2``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> abs(signal.freqz(jnp.array([0.5, 0.5]), worN=2)[1]).round(3)
        Array([1.   , 0.707], dtype=float32)
    """
    over, under = (jnp.ravel(x) for x in pm.floats("freqz", b, a))
    points: Any = worN
    if isinstance(worN, (int, np.integer)):
        count = ints.integer(worN, "freqz: worN")
        points = np.linspace(0.0, fs / 2, count, endpoint=False)
    frequencies = jnp.asarray(points, over.dtype)
    turns = jnp.exp(-2j * jnp.pi * frequencies / fs)
    return frequencies, jnp.polyval(over[::-1], turns) / jnp.polyval(under[::-1], turns)


@pm.in_double
def upfirdn(h: ArrayLike, x: ArrayLike, up: int = 1, down: int = 1, axis: int = -1) -> Array:
    """Put ``up - 1`` zeros between values, filter by ``h``, and take every value ``down`` apart.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.upfirdn(jnp.ones(2), jnp.array([1.0, 2.0]), up=2)
        Array([1., 1., 2., 2.], dtype=float32)
    """
    up, down = ints.positive(up, "up of upfirdn"), ints.positive(down, "down of upfirdn")
    taps, signal = (pm.strong(z) for z in pm.floats("upfirdn", h, x))
    rows = jnp.moveaxis(signal, axis, -1)[..., None]
    rows = jnp.pad(rows, [(0, 0)] * (rows.ndim - 1) + [(0, up - 1)])
    rows = rows.reshape(*rows.shape[:-2], -1)[..., : rows.shape[-2] * up - up + 1]
    count = rows.shape[-1] + taps.size - 1
    places = np.arange(0, count, down)[:, None] - np.arange(taps.size)
    is_inside = (places >= 0) & (places < rows.shape[-1])
    pieces = jnp.where(is_inside, rows[..., np.where(is_inside, places, 0)], 0)
    return jnp.moveaxis(pieces @ taps, -1, axis)


@pm.in_double
def resample_poly(
    x: ArrayLike, up: int, down: int, axis: int = 0, window: Any = ("kaiser", 5.0)
) -> Array:
    """Return a signal at ``up / down`` as many points, by a filter between ``upfirdn``'s steps.

    The signal is zero outside. ``window`` is that of ``firwin``, or the filter itself.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.resample_poly(jnp.ones(99), 1, 3)[16].round(2)
        Array(1., dtype=float32)
    """
    (signal,) = pm.floats("resample_poly", x)
    axis = ints.canonical_axis(axis, signal.ndim)
    up, down = (
        ints.positive(n, f"{what} of resample_poly") for what, n in (("up", up), ("down", down))
    )
    common = math.gcd(up, down)
    up, down = up // common, down // common
    if up == down:
        return signal
    most = max(up, down)
    if isinstance(window, str | tuple):
        h = firwin(20 * most + 1, np.array(1 / most, signal.dtype), window=window)
    else:
        (h,) = pm.floats("resample_poly", window)
    half, count = (h.size - 1) // 2, -(-signal.shape[axis] * up // down)
    before = down - half % down
    after = max((count + (half + before) // down) * down - signal.shape[axis] * up, 0)
    y = upfirdn(jnp.pad(h * up, (before, after)), signal, up, down, axis)
    start = (half + before) // down
    return jnp.moveaxis(jnp.moveaxis(y, axis, -1)[..., start : start + count], -1, axis)
