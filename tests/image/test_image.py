"""Resampling of images beside jax's: every method, values and derivatives."""

from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import image
from tinyjax.errors import ArgumentError, AxisError, ShapeError

RNG = np.random.default_rng(0)
PIXELS = RNG.normal(size=(5, 8, 2)).astype(np.float32)
METHODS = [
    *("nearest", "linear", "trilinear", "lanczos3", "lanczos5", "cubic", "bicubic-pytorch", "area")
]
SHAPES = [(5, 8, 2), (10, 3, 2), (2, 17, 2), (1, 1, 2), (0, 4, 2), (5, 8, 3)]


def assert_like(actual: Any, expected: Any) -> None:
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(actual, expected, 1e-4, 2e-6)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(12)
@pytest.mark.parametrize("antialias", [True, False], ids=["antialiased", "plain"])
@pytest.mark.parametrize("method", METHODS)
def test_resized_images_are_those_of_jax(method: str, antialias: bool) -> None:
    for shape in SHAPES:
        expected = jax.image.resize(PIXELS, shape, method, antialias)
        assert_like(image.resize(PIXELS, shape, method, antialias), expected)
        compiled = tinyjax.jit(lambda x, s=shape: image.resize(x, s, method, antialias))
        assert_like(compiled(PIXELS), expected)
        weights = np.cos(np.arange(expected.size)).reshape(shape).astype(np.float32)

        def loss(m: Any, x: Any, s: Any = shape, w: Any = weights) -> Any:
            return (m.image.resize(x, s, method, antialias) * w).sum()

        slope = tinyjax.grad(lambda x: loss(tinyjax, x))(PIXELS)
        assert_like(slope, jax.grad(lambda x: loss(jax, x))(PIXELS))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(6)
@pytest.mark.parametrize("antialias", [True, False], ids=["antialiased", "plain"])
@pytest.mark.parametrize("method", METHODS[1:])
def test_moved_images_are_those_of_jax(method: str, antialias: bool) -> None:
    scale, shift = np.array([0.7, 1.9], np.float32), np.array([1.2, -0.45], np.float32)

    def moved(m: Any, x: Any, scale: Any, shift: Any) -> Any:
        return m.image.scale_and_translate(x, (6, 9, 2), (0, -2), scale, shift, method, antialias)

    expected = moved(jax, PIXELS, scale, shift)
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape).astype(np.float32)
    assert_like(moved(tinyjax, PIXELS, scale, shift), expected)
    assert_like(tinyjax.jit(lambda *xs: moved(tinyjax, *xs))(PIXELS, scale, shift), expected)

    def slopes(m: Any) -> Any:
        return m.grad(lambda *xs: (moved(m, *xs) * weights).sum(), (0, 1, 2))(PIXELS, scale, shift)

    for x, y in zip(slopes(tinyjax), slopes(jax), strict=True):
        np.testing.assert_allclose(x, y, 2e-3, 2e-4)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float64", "uint8", "complex64"])
def test_dtypes_are_those_of_jax(dtype: str) -> None:
    x = np.arange(6).astype(dtype)
    with jax.enable_x64(True):
        for method in ("nearest", "linear"):
            expected = jax.image.resize(x, (4,), method)
            assert_like(image.resize(x, (4,), method), expected)


def test_mistakes_are_named() -> None:
    one = np.ones(1, np.float32)
    with raises(ArgumentError, match="the methods are"):
        image.resize(PIXELS, (1, 2, 2), "best")
    with raises(ShapeError, match="as many axes"):
        image.resize(PIXELS, (1, 2), "linear")
    with raises(ArgumentError, match="resize has"):
        image.scale_and_translate(one, (1,), (0,), one, one, "nearest")
    with raises(ShapeError, match="for each of 1"):
        image.scale_and_translate(one, (1,), (0,), np.ones(2), one, "linear")
    with raises(ShapeError, match="axis 1 is not among"):
        image.scale_and_translate(PIXELS, (3, 3, 2), (0,), one, one, "linear")
    with pytest.raises(AxisError):
        image.scale_and_translate(one, (1,), (1,), one, one, "linear")
