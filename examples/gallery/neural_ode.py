"""A neural differential equation, and its phase portrait.

A small network learns the equation of an oscillator from short pieces of its motion. It says how
fast the state changes at each place, and is fitted by gradients through the solver of the
differential equation. Then the learnt equation runs on its own, far longer than any piece, and
finds the oscillator's limit cycle.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers
from tinyjax.implicit import odeint

# %%
# The truth is van der Pol's oscillator: small motions grow, great ones shrink.


def oscillator(state: Array, _: Array) -> Array:
    x, v = state
    return jnp.stack([v, (1 - x**2) * v - x])


class Network(NamedTuple):
    """One hidden layer, which gives the state's velocity."""

    inner: Array
    bias: Array
    outer: Array


def initial(key: Array, width: int) -> Network:
    keys = jax.random.split(key, 3)
    return Network(
        jax.random.normal(keys[0], (2, width)),
        jax.random.normal(keys[1], (width,)),
        jax.random.normal(keys[2], (width, 2)) / width,
    )


def velocity(state: Array, _: Array, network: Network) -> Array:
    return jnp.tanh(state @ network.inner + network.bias) @ network.outer


# %%
# A piece is solved from its first state; the loss is how far the solution strays from the piece.
# `odeint` chooses its steps, and `grad` goes through it by the adjoint equation.

TIMES = np.linspace(0, 0.6, 5, dtype="float32")


def loss(network: Network, pieces: Array) -> Array:
    def solve(start: Array) -> Array:
        return odeint(velocity, start, TIMES, network, rtol=1e-3, atol=1e-3)

    return jnp.mean((jax.vmap(solve)(pieces[:, 0]) - pieces) ** 2)


@jax.jit
def train(network: Network, pieces: Array, steps: int) -> Network:
    init, update, network_of = optimizers.adam(lambda i: 0.05 / (1 + i / 300))

    def step(i: Array, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        return update(i, jax.grad(loss)(network_of(state), pieces), state)

    learnt: Network = network_of(jax.lax.fori_loop(0, steps, step, init(network)))
    return learnt


# %%


def main(
    path: str = "neural_ode.png", *, steps: int = 800, width: int = 32, length: float = 25.0
) -> dict[str, float]:
    starts = np.random.default_rng(0).uniform((-2.5, -3.2), (2.5, 3.2), (128, 2)).astype("float32")
    pieces = jax.jit(jax.vmap(lambda start: odeint(oscillator, start, TIMES)))(starts)
    network = train(initial(jax.random.key(0), width), pieces, steps)

    long = jnp.linspace(0.0, length, 1200)
    start = jnp.array([0.5, 0.0])
    true = odeint(oscillator, start, long)
    learnt = odeint(velocity, start, long, network)
    draw(path, network, *(np.asarray(x) for x in (pieces, long, true, learnt)))
    return {
        "root mean square error of the pieces": float(loss(network, pieces)) ** 0.5,
        "true period": period(np.asarray(long), np.asarray(true)),
        "learnt period": period(np.asarray(long), np.asarray(learnt)),
    }


def period(times: np.ndarray, states: np.ndarray) -> float:
    """The mean time between crossings of zero from below; infinite if it never comes back."""
    x = states[:, 0]
    (crossings,) = np.nonzero((x[:-1] < 0) & (x[1:] >= 0))
    return float(np.mean(np.diff(times[crossings]))) if len(crossings) > 1 else np.inf


def draw(
    path: str, network: Network, pieces: np.ndarray, times: np.ndarray, *motions: np.ndarray
) -> None:
    true, learnt = motions
    figure, (portrait, motion) = plt.subplots(
        1, 2, layout="constrained", figsize=(9.6, 4.2), width_ratios=(1, 1.2)
    )
    x, v = np.meshgrid(np.linspace(-3, 3, 40), np.linspace(-4, 4, 40))
    flow = np.asarray(
        velocity(jnp.asarray(np.stack([x, v], -1), "float32"), jnp.array(0.0), network)
    )
    portrait.streamplot(x, v, flow[..., 0], flow[..., 1], color="0.75", linewidth=0.7, density=1.3)
    portrait.plot(*pieces.T, color="C4", lw=1.5)
    portrait.plot([], [], color="C4", label="pieces seen")
    portrait.plot(*true.T, "C0", lw=4, alpha=0.4, label="true motion")
    portrait.plot(*learnt.T, "C1", lw=1.2, label="learnt motion")
    portrait.set(
        xlabel="position", ylabel="velocity", title="Phase portrait of the learnt equation"
    )
    portrait.set(xlim=(-3, 3), ylim=(-4, 5.2))
    portrait.legend(ncols=3, loc="upper center", fontsize=8, columnspacing=1)
    motion.plot(times, true[:, 0], "C0", lw=4, alpha=0.4, label="true")
    motion.plot(times, learnt[:, 0], "C1", lw=1.2, label="learnt")
    motion.axvspan(0, TIMES[-1], color="C4", alpha=0.5, lw=0)
    motion.annotate("as long as a piece", (0.6, -2.3), (3, -2.6), arrowprops={"arrowstyle": "-"})
    motion.set(xlabel="time", ylabel="position", title="It runs on by itself", ylim=(-2.9, 2.9))
    motion.legend(ncols=2, loc="upper left")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
