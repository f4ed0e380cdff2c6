"""Eight schools, by Hamiltonian Monte Carlo.

How much did coaching help in eight schools, and how much do the schools differ? Each measured a
gain in points, with a standard error (Rubin, 1981). A hierarchical model gives a distribution,
which four chains walk through, sliding along the gradient of its logarithm; `vmap` runs them side
by side.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array

GAINS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

# %%
# The gains of the schools scatter about a common mean with a spread of their own, both unknown. A
# point of the walk is a vector of ten numbers: the mean, the logarithm of the spread, and how many
# spreads each school is from the mean. In these the walk meets no walls and no narrow funnel.


def parts(point: Array) -> tuple[Array, Array, Array]:
    """The mean, the spread, and the effect in each school."""
    mean, spread = point[0], jnp.exp(point[1])
    return mean, spread, mean + spread * point[2:]


def log_density(point: Array) -> Array:
    mean, spread, effects = parts(point)
    prior = -((mean / 20) ** 2) / 2 - jnp.log1p((spread / 10) ** 2) + point[1]
    return prior - jnp.sum(point[2:] ** 2) / 2 - jnp.sum(((GAINS - effects) / ERRORS) ** 2) / 2


# %%
# One step draws a momentum, follows the equations of motion by leaps, and accepts where they lead
# with a probability that corrects the error of the leaps.


def walk(point: Array, key: Array, size: float, leaps: int) -> tuple[Array, tuple[Array, Array]]:
    def leap(_: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        x, momentum, slope = state
        momentum = momentum + size / 2 * slope
        x = x + size * momentum
        slope = jax.grad(log_density)(x)
        return x, momentum + size / 2 * slope, slope

    draw, length, accept = jax.random.split(key, 3)
    momentum = jax.random.normal(draw, point.shape, point.dtype)
    number = jax.random.randint(length, (), 1, leaps + 1)  # orbits that close are avoided
    start = point, momentum, jax.grad(log_density)(point)
    x, end, _ = jax.lax.fori_loop(0, number, leap, start)
    gain = log_density(x) - log_density(point) + jnp.sum(momentum**2 - end**2) / 2
    accepted = jnp.log(jax.random.uniform(accept)) < gain
    point = jnp.where(accepted, x, point)
    return point, (point, accepted)


# %%
# A chain is a `scan` of steps, and four chains are a `vmap` of one.


def sample(key: Array, chains: int, steps: int) -> tuple[Array, Array]:
    """The points, of shape (chains, steps, 10), and whether each step was accepted."""

    def chain(key: Array) -> tuple[Array, Array]:
        first, rest = jax.random.split(key)
        start = jax.random.normal(first, (10,), "float64")
        steps_of = jax.random.split(rest, steps)
        return jax.lax.scan(lambda x, key: walk(x, key, 0.35, 12), start, steps_of)[1]

    return jax.jit(jax.vmap(chain))(jax.random.split(key, chains))


# %%
# Given the spread everything else is normal, so that its distribution is known up to an integral in
# one dimension: the black curve that the chains, which know nothing of it, have to find.


def exact_spread(spread: np.ndarray) -> np.ndarray:
    variance = ERRORS**2 + spread[:, None] ** 2
    precision = (1 / variance).sum(1) + 1 / 20**2
    mean = (GAINS / variance).sum(1) / precision
    fit = -np.log(variance).sum(1) - (GAINS**2 / variance).sum(1) + mean**2 * precision
    density: np.ndarray = np.exp(fit / 2) / np.sqrt(precision) / (1 + (spread / 10) ** 2)
    density /= np.trapezoid(density, spread)
    return density


def main(path: str = "hamiltonian.png", *, steps: int = 3000) -> dict[str, float]:
    points, accepted = sample(jax.random.key(0), 4, steps)
    points = points[:, steps // 5 :]  # the way in is left out
    mean, spread, effects = (np.asarray(x) for x in jax.vmap(jax.vmap(parts))(points))
    grid = np.linspace(1e-3, 150, 15000)
    draw(path, spread, effects, grid, exact_spread(grid))
    inside, between = spread.var(axis=1).mean(), spread.mean(axis=1).var(ddof=1)
    return {
        "accepted, in percent": 100 * float(jnp.mean(accepted)),
        "mean gain": float(mean.mean()),
        "mean spread": float(spread.mean()),
        "mean spread, exactly": float(np.trapezoid(grid * exact_spread(grid), grid)),
        "R-hat of the spread": float(np.sqrt(1 + between / inside)),
    }


def draw(
    path: str, spread: np.ndarray, effects: np.ndarray, grid: np.ndarray, exact: np.ndarray
) -> None:
    figure, panels = plt.subplot_mosaic(
        "ttts;mmms", layout="constrained", figsize=(9.6, 5), width_ratios=(1, 1, 1, 2.4)
    )
    traces, marginal, schools = (panels[name] for name in "tms")
    for chain in spread:
        traces.plot(chain[:400], lw=0.8)
    traces.set(xlabel="step", ylabel="spread, points", title="Four chains", yscale="log")
    marginal.hist(spread.ravel(), np.linspace(0, 25, 60), density=True, color="C5", label="chains")
    marginal.plot(grid, exact, "k", label="exact")
    marginal.set(xlim=(0, 22), xlabel="spread, points", ylabel="density")
    marginal.set_title("How much the schools differ")
    marginal.legend()
    draws = effects.reshape(-1, 8)
    shapes = schools.violinplot(draws, orientation="horizontal", showextrema=False, widths=0.9)
    for body in shapes["bodies"]:
        body.set(facecolor="C0", alpha=0.5)
    numbers = np.arange(1, 9)
    schools.errorbar(GAINS, numbers, xerr=ERRORS, fmt="o", color="C1", lw=1, label="measured")
    schools.plot(draws.mean(axis=0), numbers, "D", color="C0", label="inferred")
    schools.set(
        yticks=numbers,
        yticklabels="ABCDEFGH",
        xlim=(-30, 52),
        ylim=(0.3, 9.2),
        xlabel="gain, points",
    )
    schools.set_title("Each school borrows from the others")
    schools.legend(loc="upper right", ncols=2)
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
