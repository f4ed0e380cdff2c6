"""Fourier transforms, against NumPy."""

from functools import partial
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from tinyjax.errors import ArgumentError, AxisError, DtypeError

GENERATOR = np.random.default_rng(0)
REAL = GENERATOR.normal(size=(4, 5, 6))
COMPLEX = REAL + 1j * GENERATOR.normal(size=REAL.shape)
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
MANY = ("fftn", "ifftn", "rfftn", "irfftn", "fft2", "ifft2", "rfft2", "irfft2")


def check(name: str, *args: Any, **kwargs: Any) -> None:
    x = REAL if name in ("rfft", "ihfft", "rfftn", "rfft2") else COMPLEX
    wanted = getattr(np.fft, name)(x, *args, **kwargs)
    ours = getattr(jnp.fft, name)
    for got in (ours(x, *args, **kwargs), tinyjax.jit(lambda x: ours(x, *args, **kwargs))(x)):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_one_axis(name: str, norm: Any) -> None:
    check(name, norm=norm)
    check(name, 3, 1, norm)
    check(name, 9, 0, norm)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", MANY)
def test_several_axes(name: str) -> None:
    check(name)
    check(name, axes=(0, 2))
    check(name, (3, 7), axes=(1, 0), norm="ortho")


OF_NOTHING: dict[str, list[tuple[int, ...]]] = {
    "fft": [(0,), (3, 0)],
    "ifft": [(0,)],
    "irfft": [(0,), (1,), (2, 1)],
    "hfft": [(0,), (1,)],
    "fftn": [(0, 3), (3, 0)],
    "ifftn": [(0, 3)],
    "rfftn": [(0, 3)],
    "irfftn": [(0, 3), (2, 1)],
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", OF_NOTHING)
def test_nothing_has_a_transform_of_nothing_as_in_jax(name: str, norm: Any) -> None:
    for shape in OF_NOTHING[name]:
        x = np.ones(shape, np.float32)
        expected = getattr(jax.numpy.fft, name)(x, norm=norm)
        fun = partial(getattr(jnp.fft, name), norm=norm)
        for got in (fun(x), tinyjax.jit(fun)(x)):
            assert (got.shape, got.dtype) == (expected.shape, expected.dtype)


@pytest.mark.parametrize("n", [1, 4, 5])
def test_frequencies_and_shifts(n: int) -> None:
    for name in ("fftfreq", "rfftfreq"):
        np.testing.assert_allclose(getattr(jnp.fft, name)(n, 0.5), getattr(np.fft, name)(n, 0.5))
    x = np.arange(n * 3.0).reshape(n, 3)
    for name in ("fftshift", "ifftshift"):
        for axes in (None, 0, (0, 1)):
            wanted = getattr(np.fft, name)(x, axes)
            np.testing.assert_array_equal(getattr(jnp.fft, name)(x, axes), wanted)


def test_types() -> None:
    assert jnp.fft.fft(jnp.arange(4)).dtype == np.complex64
    assert jnp.fft.irfft(jnp.ones(3, np.complex64)).dtype == np.float32


@pytest.mark.wrong_types
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: jnp.fft.rfft(COMPLEX), DtypeError),
        (lambda: jnp.fft.fft(REAL, 0), ArgumentError),
        (lambda: jnp.fft.fft(REAL, axis=3), AxisError),
        (lambda: jnp.fft.fft(REAL, norm=unchecked("none")), ArgumentError),
        (lambda: jnp.fft.fftn(REAL, (1, 2), axes=(0,)), ArgumentError),
        (lambda: jnp.fft.rfft(REAL[:0], axis=0), ArgumentError),
        *[
            (partial(getattr(jnp.fft, name), REAL, axes=axes), ArgumentError)
            for name in ("fft2", "ifft2", "rfft2", "irfft2")
            for axes in ((0,), (0, 1, 2), (0, 0), None)
        ],
    ],
)
def test_what_does_not_fit_is_an_error(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
