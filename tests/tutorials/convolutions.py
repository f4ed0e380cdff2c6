"""Convolutions: of signals, of images, and general ones with dimension numbers."""

from typing import Any

import numpy as np


def of_signals(jax: Any) -> Any:
    jnp = jax.numpy
    key = jax.random.key(1701)
    x = jnp.linspace(0, 10, 50)
    y = jnp.sin(x) + 0.2 * jax.random.normal(key, shape=(50,))
    image = jax.random.uniform(key, (6, 7))
    signal = jax.scipy.signal
    return (
        jnp.convolve(y, jnp.ones(5) / 5, mode="same"),
        jnp.correlate(y, jnp.arange(3.0)),
        signal.convolve(image, jnp.ones((3, 3)), mode="same"),
        signal.convolve2d(image, jnp.eye(3), mode="valid"),
        signal.fftconvolve(image, jnp.eye(2)),
    )


def with_edges(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy
    kernel = np.zeros((3, 3, 3, 3), np.float32)
    kernel += np.array([[1, 1, 0], [1, 0, -1], [0, -1, -1]])[:, :, np.newaxis, np.newaxis]
    img = np.zeros((1, 20, 18, 3), np.float32)
    for k in range(3):
        x = 3 + 6 * k
        img[0, x : x + 5, x - 2 : x + 4, k] = 1.0
    transposed = jnp.transpose(img, [0, 3, 1, 2])
    oihw = jnp.transpose(kernel, [3, 2, 0, 1])
    dn = lax.conv_dimension_numbers(img.shape, kernel.shape, ("NHWC", "HWIO", "NHWC"))
    window, none = (1, 1), (1, 1)
    first = jax.jit(
        lambda i, k: (
            lax.conv(i, k, window, "SAME"),
            lax.conv_with_general_padding(i, k, window, ((2, 2), (2, 2)), none, none),
        )
    )(transposed, oihw)
    return (
        first,
        lax.conv_general_dilated(img, kernel, window, "SAME", none, none, dn),
        lax.conv_general_dilated(img, kernel, (2, 2), "VALID", none, none, dn),
        lax.conv_general_dilated(img, kernel, window, "VALID", none, (4, 4), dn),
        lax.conv_general_dilated(img, kernel, window, ((0, 0), (0, 0)), (2, 2), none, dn),
        lax.conv_general_dilated(img, kernel, window, ((2, 3), (2, 3)), (2, 2), (1, 1), dn),
        lax.conv_transpose(img, kernel, (2, 2), "SAME", dimension_numbers=dn),
    )


def of_one_and_three_axes(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy
    kernel = jnp.array([[[1, 0, -1], [-1, 0, 1]], [[1, 1, 1], [-1, -1, -1]]]).astype(jnp.float32)
    kernel = kernel.transpose((2, 1, 0))
    data = jnp.sin(jnp.arange(40.0).reshape(1, 20, 2))
    dn = lax.conv_dimension_numbers(data.shape, kernel.shape, ("NWC", "WIO", "NWC"))
    volume = jnp.cos(jnp.arange(128.0)).reshape(1, 4, 4, 8, 1)
    cube = jnp.arange(27.0).reshape(3, 3, 3, 1, 1)
    dn3 = lax.conv_dimension_numbers(volume.shape, cube.shape, ("NHWDC", "HWDIO", "NHWDC"))
    return (
        lax.conv_general_dilated(data, kernel, (1,), "SAME", (1,), (1,), dn),
        lax.conv_general_dilated(volume, cube, (1, 1, 1), "SAME", (1, 1, 1), (1, 1, 1), dn3),
        tuple(dn.lhs_spec),
        tuple(dn.rhs_spec),
    )
