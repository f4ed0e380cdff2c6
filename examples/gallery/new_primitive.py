"""A new primitive sharpens a photograph.

SciPy's blur becomes a primitive, and gradients through it undo the blur of a photograph. A few
rules say how it is evaluated, compiled, differentiated, transposed and batched. After that it is an
operation like any other.
"""

import sys
from functools import partial
from pathlib import Path

import attrs
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage
from sklearn.datasets import load_sample_image

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.errors import ShapeError
from tinyjax.example_libraries import optimizers
from tinyjax.extend import (
    Avals,
    Hosts,
    Lowering,
    Primitive,
    Values,
    as_array,
    bind1,
    composed,
    def_linear,
    def_simple_batch,
    def_transposes,
)

# %%
# The primitive blurs the last two axes. How far is a parameter: part of the program, not of the
# data. Its type is its operand's type, which must have two axes.


@attrs.frozen
class BlurParams:
    """The blur's standard deviation, in pixels."""

    sigma: float


blur_p: Primitive[BlurParams] = Primitive("gaussian_blur", BlurParams)


@blur_p.def_abstract_eval
def _blur_type(avals: Avals, params: BlurParams) -> Avals:
    if avals[0].ndim < 2:
        raise ShapeError(f"blur takes pictures, of two axes or more, but got {avals[0]}.")
    return avals


# %%
# Evaluated, it is SciPy. Compiled, it is written for XLA: a weighted sum of shifted pictures, along
# one axis and then the other. These have nothing in common, so each can be held against the other.


@blur_p.def_impl
def _blur_impl(operands: Hosts, params: BlurParams) -> Hosts:
    return (ndimage.gaussian_filter(operands[0], params.sigma, mode="wrap", axes=(-2, -1)),)


@blur_p.def_lowering
def _blur_lowering(b: Lowering, operands: Values, params: BlurParams) -> Values:
    reach = int(4 * params.sigma + 0.5)
    weights = np.exp(-((np.arange(-reach, reach + 1) / params.sigma) ** 2) / 2)

    def along(axis: int, x: Array) -> Array:
        total = jnp.zeros_like(x)
        for k, weight in zip(range(-reach, reach + 1), weights / weights.sum(), strict=True):
            total = total + float(weight) * jnp.roll(x, k, axis)
        return total

    return (composed(lambda x: along(-2, along(-1, x)))(b, *operands),)


# %%
# Blurring is linear, so that its derivative in a direction is the blurred direction. It is also
# symmetric, so that its transpose is itself. A batch of pictures is one more axis in front.


def blur(picture: Array, sigma: float) -> Array:
    return bind1(blur_p, (as_array(picture),), BlurParams(sigma))


def_linear(blur_p)
def_transposes(blur_p, lambda ct, x, params: blur(ct, params.sigma))
def_simple_batch(blur_p)


# %%
# To undo a blur, find the picture that looks like the blurred one when it is blurred itself. Many
# do; the one wanted has few edges, so each difference of neighbours costs something.


def loss(picture: Array, seen: Array, sigma: float) -> Array:
    misfit = jnp.sum((blur(picture, sigma) - seen) ** 2) / 2
    down, right = (picture - jnp.roll(picture, 1, axis) for axis in (0, 1))
    return misfit + 4e-4 * jnp.sum(jnp.sqrt(down**2 + right**2 + 1e-5))


@partial(jax.jit, static_argnums=1)
def sharpen(seen: Array, sigma: float, steps: int) -> Array:
    init, update, picture_of = optimizers.adam(0.02)

    def step(i: Array, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        return update(i, jax.grad(loss)(picture_of(state), seen, sigma), state)

    sharp: Array = picture_of(jax.lax.fori_loop(0, steps, step, init(seen)))
    return sharp


def main(
    path: str = "new_primitive.png", *, size: int = 160, sigma: float = 2.0, steps: int = 300
) -> dict[str, float]:
    flower = load_sample_image("flower.jpg").mean(axis=-1) / 255
    photo = jnp.asarray(flower[80 : 80 + size, 230 : 230 + size], "float32")
    noise = 0.003 * jax.random.normal(jax.random.key(0), photo.shape)
    seen = blur(photo, sigma) + noise
    sharp = sharpen(seen, sigma, steps)
    draw(path, photo, seen, sharp, sigma)
    return {
        "error of the blurred photograph": float(jnp.std(seen - photo)),
        "error of the sharpened one": float(jnp.std(sharp - photo)),
        "evaluated and compiled differ by": float(
            jnp.max(jnp.abs(blur(photo, sigma) - jax.jit(lambda x: blur(x, sigma))(photo)))
        ),
    }


def draw(path: str, photo: Array, seen: Array, sharp: Array, sigma: float) -> None:
    figure, panels = plt.subplots(2, 3, layout="constrained", figsize=(9, 6.2))
    back = jax.grad(loss)(seen, seen, sigma)
    greatest = float(jnp.max(jnp.abs(back))) / 2
    edges = jax.jvp(lambda x: blur(x, sigma), (photo,), (jnp.roll(photo, 1, 1) - photo,))[1]
    for axes, picture, title, colors in (
        (panels[0, 0], photo, "the photograph", {}),
        (panels[0, 1], seen, "impl: blurred by SciPy, with noise", {}),
        (panels[0, 2], sharp, "sharpened, by gradients", {}),
        (
            panels[1, 0],
            edges,
            "jvp: how it changes as the photo shifts",
            {"vmin": -0.08, "vmax": 0.08},
        ),
        (
            panels[1, 1],
            back,
            "transpose: the first gradient",
            {"vmin": -greatest, "vmax": greatest},
        ),
        (panels[1, 2], sharp - photo, "what is still wrong", {"vmin": -0.3, "vmax": 0.3}),
    ):
        axes.imshow(picture, cmap="PuOr_r" if colors else "gray", **colors)
        axes.set_title(title, fontsize=10)
        axes.set_axis_off()
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
