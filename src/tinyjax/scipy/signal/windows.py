"""Windows by SciPy's names: ``M`` values, or one period (``sym`` False), as spectra take them.

Of Python's numbers alone they are weakly typed float64: exact, and of the dtype of a signal beside.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.special import i0e

lazy.answer_for(
    __name__, "blackman boxcar flattop gaussian general_cosine get_window hamming hann kaiser"
)


class _Window(Protocol):
    def __call__(self, M: int, sym: bool = True) -> Array: ...


#: Sums of cosines, by the factors of these.
_COSINES: Final[dict[str, tuple[float, ...]]] = {
    "boxcar": (1.0,),
    "hann": (0.5, 0.5),
    "hamming": (0.54, 0.46),
    "blackman": (0.42, 0.5, 0.08),
    "flattop": (0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
}


def _places(M: int, sym: bool) -> dtypes.HostArray:
    if ints.integer(M, "the length of a window") < 0:
        raise ArgumentError(f"the length of a window must not be negative, but it is {M}.")
    return np.arange(M) / (M - 1 if sym else M) if M > 1 else np.full(M, 0.5)


def _beside(host: dtypes.HostArray, parameter: Array) -> Array:
    """Return data in the type of a parameter, weak if that is a number."""
    return pm.convert(jnp.asarray(host), parameter.dtype, parameter.weak_type)


def _of_numbers(window: Array) -> Array:
    """Return a window of Python's numbers: it takes the dtype of a signal, as they do."""
    return pm.convert(window, window.dtype, True)


@pm.in_double
def general_cosine(M: int, a: ArrayLike, sym: bool = True) -> Array:
    """Return a sum of cosines with the factors ``a``, of which every other one is subtracted.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.signal as signal
        >>> signal.windows.general_cosine(3, jnp.array([0.5, 0.5]))
        Array([0., 1., 0.], dtype=float32)
    """
    k = np.arange(np.size(a))
    turns = np.cos(2 * np.pi * k * _places(M, sym)[:, None]) * (-1.0) ** k
    if isinstance(a, np.ndarray):
        return jnp.asarray(turns @ a)
    factors = jnp.asarray(a) * 1.0
    return jnp.asarray(turns, factors.dtype) @ factors


_TEXT: Final = """Return {}.

    Example:
        >>> from tinyjax.scipy.signal import windows
        >>> round(float(windows.{}(5)[1]), 3)
        {}
    """


def _fixed(name: str, second: float) -> _Window:
    def window(M: int, sym: bool = True) -> Array:
        return _of_numbers(general_cosine(M, np.array(_COSINES[name]), sym))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = _TEXT.format(f"the sum of cosines with factors {_COSINES[name]}", name, second)
    return window


boxcar: Final = _fixed("boxcar", 1.0)
hann: Final = _fixed("hann", 0.5)
hamming: Final = _fixed("hamming", 0.54)
blackman: Final = _fixed("blackman", 0.34)
flattop: Final = _fixed("flattop", -0.055)


@pm.in_double
def gaussian(M: int, std: ArrayLike, sym: bool = True) -> Array:
    """Return a normal density of this standard deviation, 1 in the middle.

    Example:
        >>> from tinyjax.scipy.signal import windows
        >>> print(windows.gaussian(3, 1.0).round(3))
        [0.607 1.    0.607]
    """
    width = jnp.asarray(std) * 1.0
    at = np.arange(M) - (M - 1 if sym or M < 2 else M) / 2
    return jnp.exp(-0.5 * (_beside(at, width) / width) ** 2)


@pm.in_double
def kaiser(M: int, beta: ArrayLike, sym: bool = True) -> Array:
    """Return Kaiser's window, whose side lobes are the smaller the greater ``beta`` is.

    Example:
        >>> from tinyjax.scipy.signal import windows
        >>> print(windows.kaiser(3, 2.0).round(3))
        [0.439 1.    0.439]
    """
    shape = jnp.asarray(beta) * 1.0
    heights = np.sqrt(1 - (2 * _places(M, sym) - 1) ** 2)
    at = shape * _beside(heights, shape)
    return i0e(at) / i0e(shape) * jnp.exp(jnp.abs(at) - jnp.abs(shape))


@pm.in_double
def get_window(window: Any, Nx: int, fftbins: bool = True) -> Array:
    """Return the window of this name, or tuple of name and parameters; SciPy's if it is not here.

    Example:
        >>> from tinyjax.scipy.signal import windows
        >>> print(windows.get_window(("kaiser", 2.0), 3, fftbins=False).round(3))
        [0.439 1.    0.439]
    """
    values = exact_window(window, Nx, fftbins)
    has_arrays = not isinstance(window, str) and any(hasattr(v, "dtype") for v in window)
    return values if has_arrays else _of_numbers(values)


def exact_window(window: Any, Nx: int, fftbins: bool = True) -> Array:
    """Return a window by its name, in double precision where its parameters are numbers."""
    name, *values = [window] if isinstance(window, str) else window
    parameters = [np.array(v, float) if isinstance(v, int | float | list) else v for v in values]
    if name in _COSINES and not parameters:
        return general_cosine(Nx, np.array(_COSINES[name]), not fftbins)
    if name in ("gaussian", "general_cosine", "kaiser"):
        result: Array = globals()[name](Nx, *parameters, sym=not fftbins)
        return result
    from scipy.signal import get_window  # noqa: PLC0415 (SciPy is slow to load)

    return jnp.asarray(get_window(window, Nx, fftbins))
