"""Filters by their frequencies, windows, sine transforms and moved arrays, beside SciPy's own."""

from typing import Any

import numpy as np
import pytest
import scipy

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.scipy import fft, linalg, ndimage, signal

X = np.sin(np.arange(51.0).reshape(3, 17) ** 1.3)
IMAGE = np.cos(np.arange(63.0).reshape(7, 9) ** 1.2)


def close(actual: Any, expected: Any, tol: float = 1e-9) -> None:
    np.testing.assert_allclose(actual, expected, tol, tol)


@pytest.mark.parametrize("kind", ["lowpass", "highpass", "bandpass", "bandstop"])
def test_butter(kind: Any) -> None:
    edges = np.array([0.2, 0.5]) if "band" in kind else np.array(0.3)
    for order in range(1, 6):
        for actual, expected in zip(
            signal.butter(order, edges, kind), scipy.signal.butter(order, edges, kind), strict=True
        ):
            close(actual, expected, 1e-7)
        assert signal.butter(order, edges, kind, output="zpk")[1].size == order * (
            2 if "band" in kind else 1
        )
    with raises(ShapeError, match="for bands two"):
        signal.butter(2, np.ones(3), kind)


@pytest.mark.parametrize(
    "passes", [True, False, "lowpass", "highpass", "bandpass", "bandstop", "low"]
)
def test_firwin(passes: Any) -> None:
    for ends in (np.array(0.3), np.array([0.2, 0.5]), np.array([0.2, 0.5, 0.7])):
        for window in ("hamming", ("kaiser", 4.0)):
            try:
                expected = scipy.signal.firwin(7, ends, window=window, pass_zero=passes)
            except ValueError:
                with raises(ArgumentError, match="pass_zero"):
                    signal.firwin(7, ends, window=window, pass_zero=passes)
            else:
                close(signal.firwin(7, ends, window=window, pass_zero=passes), expected)
    with raises(ArgumentError, match="must be odd"):
        signal.firwin(4, 0.3, pass_zero=False)


@pytest.mark.parametrize(("up", "down"), [(1, 1), (2, 1), (1, 2), (3, 2), (5, 7), (4, 6)])
def test_resample_poly(up: int, down: int) -> None:
    taps = np.array([1.0, 2.0, 0.5])
    close(signal.upfirdn(taps, X, up, down), scipy.signal.upfirdn(taps, X, up, down))
    for axis in (0, 1):
        expected = scipy.signal.resample_poly(X, up, down, axis)
        close(signal.resample_poly(X, up, down, axis), expected)
        close(tinyjax.jit(lambda x, a=axis: signal.resample_poly(x, up, down, a))(X), expected)


def test_windows() -> None:
    names = ("boxcar", "hann", "hamming", "blackman", "flattop", "bartlett", "cosine")
    for window in (*names, ("kaiser", 3.0), ("gaussian", 2.0), ("general_cosine", [0.6, 0.4])):
        for size in (1, 2, 7, 8):
            for periodic in (True, False):
                expected = scipy.signal.get_window(window, size, periodic)
                close(signal.windows.get_window(window, size, periodic), expected, 1e-7)


def test_medians() -> None:
    close(signal.medfilt(IMAGE, (3, 5)), scipy.signal.medfilt(IMAGE, (3, 5)))
    for size in (2, 3, (2, 5)):
        close(ndimage.median_filter(IMAGE, size), scipy.ndimage.median_filter(IMAGE, size))


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
def test_sine_transforms(type: Any, norm: Any) -> None:
    for size in (1, 4, 5):
        for name in ("dst", "idst"):
            expected = getattr(scipy.fft, name)(X[:, :size], type, norm=norm)
            close(getattr(fft, name)(X[:, :size], type, norm=norm), expected)


#: SciPy's splines of order 5 in a reflected array do not go through its elements.
MODES = ("constant", "nearest", "mirror", "grid-wrap", "grid-constant")


@pytest.mark.parametrize("order", range(1, 6))
@pytest.mark.parametrize("mode", [*MODES, "reflect"])
def test_moved_arrays(mode: str, order: int) -> None:
    tol = 1e-6 if mode != "reflect" else 1e-4
    options: Any = {"order": order, "mode": mode, "cval": 1.5}
    for ours, theirs in (
        (library.shift(IMAGE, (0.7, -2.3), **options) for library in (ndimage, scipy.ndimage)),
        (library.zoom(IMAGE, (1.5, 0.6), **options) for library in (ndimage, scipy.ndimage)),
        (library.rotate(IMAGE, 17.0, **options) for library in (ndimage, scipy.ndimage)),
    ):
        close(ours, theirs, tol)


def test_rotations_of_volumes_and_of_traced_angles() -> None:
    volume = np.sin(np.arange(120.0).reshape(4, 5, 6))
    expected = scipy.ndimage.rotate(volume, 20.0, axes=(2, 0))
    close(ndimage.rotate(volume, 20.0, axes=(2, 0)), expected, 1e-7)
    turn = tinyjax.vmap(lambda a: ndimage.rotate(IMAGE, a, reshape=False))
    expected = scipy.ndimage.rotate(IMAGE, 30.0, reshape=False)
    close(turn(jnp.array([10.0, 30.0]))[1], expected, 1e-5)
    whole = np.arange(12).reshape(3, 4) ** 2
    assert (ndimage.shift(whole, 0.6) == scipy.ndimage.shift(whole, 0.6)).all()


def test_null_space() -> None:
    a = np.vstack([X[:, :6], X[:1, :6]])  # of rank 3
    basis = linalg.null_space(a)
    assert basis.shape == (6, 3)
    close(a @ basis, 0, 1e-12)
    close(basis.T @ basis, np.eye(3), 1e-12)
    assert tinyjax.jit(lambda a: linalg.null_space(a, rank=3))(a).shape == (6, 3)
