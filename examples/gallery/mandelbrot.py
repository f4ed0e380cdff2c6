"""Mandelbrot's set, by its derivative.

How far each point is from the set shows the finest threads of it. A point belongs to the set if `z
← z² + c` stays bounded. The loop is written for one point: `vmap` makes a picture of it, and `jvp`
gives the derivative along with it, from which the distance follows.
"""

import sys
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array

# %%
# One point: iterate until `z` is far out, or for so long that it never will be.


def escape(c: Array, limit: int) -> tuple[Array, Array]:
    """Return the point where it has escaped, and after how many iterations."""

    def inside(state: tuple[Array, Array]) -> Array:
        z, n = state
        return (n < limit) & (jnp.real(z) ** 2 + jnp.imag(z) ** 2 < 1e6)

    def iterate(state: tuple[Array, Array]) -> tuple[Array, Array]:
        z, n = state
        return z * z + c, n + 1

    return jax.lax.while_loop(inside, iterate, (jnp.zeros_like(c), jnp.asarray(0)))


# %%
# The distance from the set, within a factor of two or so either way (Koebe's quarter theorem), is
# `|z| log |z| / |dz/dc|`. The derivative of a complex function is its `jvp` in the direction 1.


def distance(c: Array, limit: int) -> Array:
    """The distance from the set; zero where the point never escapes."""
    z, slope, n = jax.jvp(lambda c: escape(c, limit), (c,), (jnp.ones_like(c),), has_aux=True)
    far = jnp.abs(z)
    return jnp.where(n < limit, far * jnp.log(far) / jnp.abs(slope), 0.0)


# %%
# A window on the complex numbers is a grid of points: `vmap` over its rows and its columns.


@partial(jax.jit, static_argnums=1)
def distances(points: Array, limit: int) -> Array:
    return jax.vmap(jax.vmap(lambda c: distance(c, limit)))(points)


def window(center: complex, width: float, pixels: int) -> Array:
    x = width * np.linspace(-0.5, 0.5, pixels)
    return jnp.asarray(center + x - 1j * x[:, None])


def main(path: str = "mandelbrot.png", *, pixels: int = 360, limit: int = 400) -> dict[str, float]:
    windows = [(-0.7, 2.7), (-0.7436 + 0.1319j, 0.008)]
    images = [np.asarray(distances(window(*w, pixels), limit)) for w in windows]
    draw(path, windows, images)
    return {
        "points": 2 * pixels**2,
        "area of the set": float(np.mean(images[0] == 0)) * windows[0][1] ** 2,
        "of the valley within a pixel of it, in percent": 100
        * float(np.mean(images[1] < windows[1][1] / pixels)),
    }


def draw(path: str, windows: list[tuple[complex, float]], images: list[np.ndarray]) -> None:
    figure, panels = plt.subplots(1, 2, layout="constrained", figsize=(9.6, 4.8))
    for axes, (center, width), values in zip(panels, windows, images, strict=True):
        size = width / len(values)
        corner = complex(center) + width / 2 * np.array([-1 - 1j, 1 + 1j])
        box = (*corner.real, *corner.imag)
        shade = np.log(np.maximum(values, size / 20))
        axes.imshow(-shade, cmap="cividis", extent=box, interpolation="bilinear")
        axes.set(xticks=box[:2], yticks=box[2:])
    valley = complex(windows[1][0])
    panels[0].annotate(
        "", (valley.real, valley.imag), (-1.3, 0.9), arrowprops={"color": "C4", "width": 1}
    )
    panels[0].set_title("The distance to Mandelbrot's set")
    panels[1].set_title("At the arrow's tip, 340 times as large")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
