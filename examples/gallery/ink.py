"""Ink that flows into a picture.

Which stir makes two bands of ink in a still fluid flow into a given picture, all by themselves?
Gradients through the simulation of the fluid, from the last picture back to the first velocities,
find it. (After an example of autograd, by Maclaurin, Duvenaud and Johnson.)
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers

# %%
# A fluid that cannot be compressed has a velocity without divergence. On a square whose opposite
# edges are joined, Fourier's transform takes the divergence out: it removes the part of each wave
# that points along the wave.


def project(velocity: Array) -> Array:
    size = velocity.shape[-1]
    k = jnp.stack(jnp.meshgrid(*2 * [jnp.fft.fftfreq(size) * size], indexing="ij"))
    waves = jnp.fft.fft2(velocity)
    along = jnp.sum(k * waves, axis=0) / jnp.maximum(jnp.sum(k**2, axis=0), 1.0)
    return jnp.real(jnp.fft.ifft2(waves - k * along))


# %%
# Whatever is at a place came from upstream: the value there is interpolated between four cells.


def advect(field: Array, velocity: Array) -> Array:
    size = field.shape[-1]
    places = jnp.stack(jnp.meshgrid(*2 * [jnp.arange(size)], indexing="ij")) - velocity
    corner = jnp.floor(places)
    down, right = places - corner
    i, j = corner.astype("int32") % size
    below, beside = (i + 1) % size, (j + 1) % size
    upper = (1 - right) * field[..., i, j] + right * field[..., i, beside]
    lower = (1 - right) * field[..., below, j] + right * field[..., below, beside]
    return (1 - down) * upper + down * lower


def simulate(velocity: Array, ink: Array, steps: int) -> tuple[Array, Array]:
    """The last ink, and that after each step."""

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        velocity, ink = state
        velocity = project(advect(velocity, velocity))
        ink = advect(ink, velocity)
        return (velocity, ink), ink

    (_, last), inks = jax.lax.scan(step, (project(velocity), ink), None, steps)
    return last, inks


def loss(velocity: Array, ink: Array, target: Array, steps: int) -> Array:
    return jnp.mean((simulate(velocity, ink, steps)[0] - target) ** 2)


# %%
# The picture is a letter. Nothing of it is in the fluid at the start: there are two bands.


def letter(text: str, size: int) -> np.ndarray:
    outline = TextPath((0, 0), text, size=1, prop=FontProperties(weight="bold"))
    low, high = outline.get_extents().get_points()
    fine = (np.indices((4 * size, 4 * size))[::-1].reshape(2, -1).T + 0.5) / (4 * size) - 0.5
    places = fine * (1, -1) * 1.25 * (high - low).max() + (low + high) / 2
    around = [Outline(p).contains_points(places) for p in outline.to_polygons()]
    inside = np.sum(around, axis=0) % 2 == 1  # a hole is in two outlines
    shares: np.ndarray = inside.reshape(size, 4, size, 4).mean(axis=(1, 3))
    return shares.astype("float32")


def main(
    path: str = "ink.png", *, size: int = 48, steps: int = 20, rounds: int = 300
) -> dict[str, float]:
    rows = np.arange(size)[:, None] / size * np.ones(size)
    ink = jnp.asarray((np.abs(np.abs(rows - 0.5) - 0.22) < 0.1).astype("float32"))
    target = jnp.asarray(letter("∂", size))
    init, update, velocity_of = optimizers.adam(0.05)

    @jax.jit
    def improve(i: int, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        return update(i, jax.grad(loss)(velocity_of(state), ink, target, steps), state)

    state = init(jnp.zeros((2, size, size)))
    for i in range(rounds):
        state = improve(i, state)
    velocity = project(velocity_of(state))
    last, inks = simulate(velocity, ink, steps)
    frames = np.stack([ink, *inks[steps // 5 - 1 :: steps // 5]])
    draw(path, np.asarray(velocity), frames, np.asarray(target))
    return {
        "mean square error without a stir": float(jnp.mean((ink - target) ** 2)),
        "of the best even grey": float(jnp.var(target)),
        "with the stir that was found": float(jnp.mean((last - target) ** 2)),
    }


def draw(path: str, velocity: np.ndarray, frames: np.ndarray, target: np.ndarray) -> None:
    figure, panels = plt.subplots(2, 4, layout="constrained", figsize=(9.6, 5.1))
    titles = ["the ink at first", *[f"{k}/5 of the time" for k in range(1, 5)], "at the end"]
    for axes, frame, title in zip(panels.flat[1:], frames, titles, strict=False):
        axes.imshow(frame, cmap="Blues", vmin=0, vmax=1, interpolation="bilinear")
        axes.set_title(title)
    panels[1, 3].imshow(target, cmap="Oranges", vmin=0, vmax=1, interpolation="bilinear")
    panels[1, 3].set_title("the picture wanted")
    speed = np.hypot(*velocity)
    axes = panels[0, 0]
    axes.imshow(speed, cmap="Greys", interpolation="bilinear", vmax=2 * speed.max())
    ticks = np.arange(1, speed.shape[0], 3)
    down, right = velocity[:, ticks[:, None], ticks]
    axes.quiver(ticks, ticks, right, -down, color="C1", width=0.007)
    axes.set_title("the stir that was found")
    for axes in panels.flat:
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set(visible=True, color="0.8")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
