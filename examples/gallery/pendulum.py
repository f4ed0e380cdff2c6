"""A pendulum swings up.

Pushes of a cart bring a hanging pole upright, though they are too weak to lift it at once. The
derivative goes through the simulation. Each step of that is an equation, which Newton's method
solves, and the implicit function theorem differentiates: `grad` looks at the equation, and never
into the solver's iterations.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers
from tinyjax.implicit import root

CART, BOB, LENGTH, GRAVITY = 1.0, 0.3, 0.5, 9.81
STEP, STRENGTH = 0.04, 5.0

# %%
# The state is the cart's place, the pole's angle from hanging, and the speeds of both.


def energy(state: Array) -> Array:
    _, angle, speed, turn = state
    kinetic = (CART + BOB) * speed**2 / 2 + BOB * LENGTH**2 * turn**2 / 2
    shared = BOB * LENGTH * speed * turn * jnp.cos(angle)
    return kinetic + shared - BOB * GRAVITY * LENGTH * jnp.cos(angle)


def velocity(state: Array, force: Array) -> Array:
    """Return the state's derivative in time, by Newton's second law."""
    _, angle, speed, turn = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    pushed = force + BOB * sine * (LENGTH * turn**2 + GRAVITY * cosine)
    faster = pushed / (CART + BOB * sine**2)
    return jnp.stack([speed, turn, faster, -(cosine * faster + GRAVITY * sine) / LENGTH])


# %%
# The implicit midpoint rule: the step goes with the velocity half-way, which depends on where the
# step ends. Unlike explicit rules it neither pumps energy into a pendulum nor drains it.


def step(state: Array, force: Array) -> tuple[Array, Array]:
    def gap(end: Array) -> Array:
        return end - state - STEP * velocity((state + end) / 2, force)

    end = root(gap, state)
    return end, end


def simulate(forces: Array) -> Array:
    """The states after each step, from rest."""
    return jax.lax.scan(step, jnp.zeros(4, "float64"), forces)[1]


# %%
# The pushes are bounded by a `tanh`. What counts is the end: upright, at rest, where it began.


def forces(knobs: Array) -> Array:
    return STRENGTH * jnp.tanh(knobs)


def loss(knobs: Array) -> Array:
    last = simulate(forces(knobs))[-15:]
    aim = jnp.array([0.0, np.pi, 0.0, 0.0], "float64")
    weights = jnp.array([1.0, 1.0, 0.1, 0.1], "float64")
    return jnp.mean(weights * (last - aim) ** 2) + 1e-4 * jnp.mean(knobs**2)


def main(path: str = "pendulum.png", *, count: int = 100, steps: int = 800) -> dict[str, float]:
    init, update, knobs_of = optimizers.adam(lambda i: 0.1 / (1 + i / 150))

    @jax.jit
    def improve(i: int, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        return update(i, jax.grad(loss)(knobs_of(state)), state)

    state = init(0.5 * jnp.sin(jnp.linspace(0.0, 16.0, count, dtype="float64")))
    for i in range(steps):
        state = improve(i, state)
    knobs = knobs_of(state)
    motion = np.concatenate([np.zeros((1, 4)), np.asarray(simulate(forces(knobs)))])
    draw(path, motion, np.asarray(forces(knobs)))
    return {
        "loss": float(loss(knobs)),
        "degrees from upright at the end": float(np.degrees(abs(motion[-1, 1] - np.pi))),
        "greatest push in newtons": float(jnp.max(jnp.abs(forces(knobs)))),
    }


def draw(path: str, motion: np.ndarray, pushes: np.ndarray) -> None:
    figure, panels = plt.subplot_mosaic(
        "sa;sf", layout="constrained", figsize=(9.6, 4.2), width_ratios=(1.5, 1)
    )
    strobe, angle, push = (panels[name] for name in "saf")
    colors = plt.get_cmap("cividis_r")(np.linspace(0.1, 1, len(motion)))
    bob = motion[:, 0] + LENGTH * np.sin(motion[:, 1]), -LENGTH * np.cos(motion[:, 1])
    for i, color in enumerate(colors):
        strobe.plot([motion[i, 0], bob[0][i]], [0, bob[1][i]], color=color, lw=1, alpha=0.7)
    strobe.scatter(*bob, c=colors, s=30, zorder=3)
    strobe.plot(motion[:, 0], np.zeros(len(motion)), color="0.5", lw=5, solid_capstyle="round")
    strobe.set(aspect="equal", xlabel="m", title="The pole every 40 ms, from light to dark")
    times = STEP * np.arange(len(motion))
    angle.axhline(180, color="0.6", lw=0.8, ls="--")
    angle.plot(times, np.degrees(motion[:, 1]))
    angle.set(ylabel="angle, degrees", title="From hanging to upright")
    push.step(times[:-1], pushes, where="post", color="C1")
    push.set(xlabel="time, s", ylabel="push, N", ylim=(-STRENGTH * 1.1, STRENGTH * 1.1))
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
