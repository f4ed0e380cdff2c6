"""Terrain from scattered altitudes.

A Gaussian process guesses a mountain ridge from a few hundred measured altitudes, and says how sure
it is of each guess. How far altitudes resemble each other, along the ridge and across it, is learnt
by gradients of the likelihood. The real ridge is the Jacksboro fault, which matplotlib carries.
"""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from matplotlib import cbook
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LightSource, Normalize

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers
from tinyjax.scipy.linalg import solve_triangular

# %%
# Altitudes at two places have a covariance that falls with their distance. The ground may change
# faster in one direction than in another: the distance is measured after a linear map, whose four
# numbers are learnt like the amplitude and the noise.


class Kernel(NamedTuple):
    """The numbers that are learnt of the terrain."""

    amplitude: Array
    noise: Array
    map: Array


def covariance(kernel: Kernel, a: Array, b: Array) -> Array:
    """Matérn's covariance of order 3/2: paths with one derivative, as eroded ground has."""
    apart = a[:, None] @ kernel.map.T - b[None] @ kernel.map.T
    distance = jnp.sqrt(3 * jnp.sum(apart**2, axis=-1) + 1e-12)
    return kernel.amplitude**2 * (1 + distance) * jnp.exp(-distance)


# %%
# The likelihood of what was measured needs one Cholesky factor, and so do the guesses elsewhere.
# Nothing here says how the derivative of a factor is computed: `grad` knows.


def factor(kernel: Kernel, places: Array) -> Array:
    noise = kernel.noise**2 * jnp.eye(len(places))
    return jnp.linalg.cholesky(covariance(kernel, places, places) + noise)


def log_likelihood(kernel: Kernel, places: Array, values: Array) -> Array:
    L = factor(kernel, places)
    white = solve_triangular(L, values, lower=True)
    constant = len(values) / 2 * math.log(2 * math.pi)
    return -jnp.sum(white**2) / 2 - jnp.sum(jnp.log(jnp.diag(L))) - constant


@jax.jit
def guess(kernel: Kernel, places: Array, values: Array, query: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation at other places."""
    L = factor(kernel, places)
    across = solve_triangular(L, covariance(kernel, places, query), lower=True)
    white = solve_triangular(L, values, lower=True)
    return white @ across, jnp.sqrt(kernel.amplitude**2 - jnp.sum(across**2, axis=0))


@jax.jit
def learn(kernel: Kernel, places: Array, values: Array, steps: int) -> Kernel:
    init, update, kernel_of = optimizers.adam(0.05)

    def step(i: Array, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        gradient = jax.grad(log_likelihood)(kernel_of(state), places, values)
        return update(i, jax.tree.map(jnp.negative, gradient), state)

    learnt: Kernel = kernel_of(jax.lax.fori_loop(0, steps, step, init(kernel)))
    return learnt


# %%


def main(
    path: str = "gaussian_process.png", *, count: int = 300, steps: int = 100
) -> dict[str, float]:
    file = cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)
    terrain = np.load(file)["elevation"][20:260:3, 60:360:3].astype("float64")
    mean, deviation = terrain.mean(), terrain.std()
    rows, columns = np.indices(terrain.shape).reshape(2, -1) * 0.27  # about 90 m a sample, in km
    grid = jnp.asarray(np.stack([columns, rows], axis=1))
    chosen = np.random.default_rng(0).choice(terrain.size, count, replace=False)
    places, values = grid[chosen], jnp.asarray((terrain.ravel()[chosen] - mean) / deviation)

    one = jnp.ones((), "float64")
    start = Kernel(one, 0.3 * one, jnp.eye(2, dtype="float64"))
    kernel = learn(start, places, values, steps)
    guessed, unsure = (
        np.asarray(x).reshape(terrain.shape) * deviation
        for x in guess(kernel, places, values, grid)
    )
    error = guessed + mean - terrain
    draw(path, terrain, guessed + mean, unsure, np.asarray(places))
    return {
        "log likelihood before": float(log_likelihood(start, places, values)),
        "log likelihood after": float(log_likelihood(kernel, places, values)),
        "root mean square error in metres": float(np.sqrt(np.mean(error**2))),
        "deviation of the terrain in metres": float(deviation),
        "within two deviations, in percent": float(100 * np.mean(abs(error) < 2 * unsure)),
    }


def draw(
    path: str, terrain: np.ndarray, guessed: np.ndarray, unsure: np.ndarray, places: np.ndarray
) -> None:
    figure, (left, middle, right) = plt.subplots(
        1, 3, layout="constrained", figsize=(10, 3), sharey=True
    )
    height, width = terrain.shape
    box = (0, 0.27 * width, 0.27 * height, 0)
    sun = LightSource(azdeg=315, altdeg=45)
    scale = Normalize(terrain.min(), terrain.max())
    for axes, values, title in (
        (left, terrain, "The terrain"),
        (middle, guessed, f"Guessed from {len(places)} altitudes"),
    ):
        lit = sun.shade(
            values, plt.get_cmap(), scale, "soft", vert_exag=4, dx=270, dy=270, fraction=0.8
        )
        axes.imshow(lit, extent=box)
        axes.set_title(title)
    altitudes = ScalarMappable(scale)
    figure.colorbar(altitudes, ax=[left, middle], label="altitude, m", shrink=0.85)
    shown = right.imshow(unsure, cmap="Oranges", extent=box)
    right.plot(*places.T, "k.", ms=1.5)
    right.set_title("How unsure it is")
    figure.colorbar(shown, ax=right, label="standard deviation, m", shrink=0.85)
    for axes in (left, middle, right):
        axes.set(xlabel="km")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
