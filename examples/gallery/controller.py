"""An arm, controlled by C.

A microcontroller moves the three joints of an arm, a thousand times a second, and has no Python.
The torques that a motion needs are derivatives of the arm's energy. tinyjax writes them as one file
of C, which a small program in C calls.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array, export

LENGTHS, MASSES = np.array([0.4, 0.35, 0.2]), np.array([2.0, 1.5, 1.0])
GRAVITY, PERIOD = 9.81, 1e-3
START, GOAL = np.array([-np.pi / 2, 0.0, 0.0]), np.array([0.4, 0.7, -0.9])
STIFFNESS, DAMPING = 60.0, 15.0

# %%
# The arm is its energies: of motion, and of height. A mass is at the end of each link.


def ends(angles: Array) -> Array:
    """Return where the links end: abscissas, and heights."""
    direction = jnp.cumsum(angles)
    return jnp.cumsum(LENGTHS * jnp.stack([jnp.cos(direction), jnp.sin(direction)]), axis=1)


def lagrangian(angles: Array, speeds: Array) -> Array:
    places, velocities = jax.jvp(ends, (angles,), (speeds,))
    kinetic = jnp.sum(MASSES * velocities**2) / 2
    return kinetic - GRAVITY * jnp.sum(MASSES * places[1])


# %%
# The equation of Euler and Lagrange gives the torques of a motion. They are linear in the
# accelerations, so that their derivative is the matrix of masses, by which torques move the arm.


def torques(angles: Array, speeds: Array, accelerations: Array) -> Array:
    momentum = jax.grad(lagrangian, 1)
    _, rate = jax.jvp(momentum, (angles, speeds), (speeds, accelerations))
    return rate - jax.grad(lagrangian)(angles, speeds)


def arm(angles: Array, speeds: Array, torque: Array) -> tuple[Array, Array]:
    """Return angles and speeds after a period."""
    still = jnp.zeros_like(angles)
    masses = jax.jacfwd(torques, 2)(angles, speeds, still)
    rest = torque - torques(angles, speeds, still)
    speeds = speeds + PERIOD * jnp.linalg.solve(masses, rest)
    return angles + PERIOD * speeds, speeds


# %%
# The controller asks for accelerations towards the goal, and the model for their torques. Beside
# it, another one has no model, and takes each joint for a mass of its own.

MAIN = """
#include <stdio.h>
#include <string.h>
#include "arm.h"
#include "torques.h"

int main(void) {
    static const double inertias[3] = {INERTIAS}, goal[3] = {GOAL};
    for (int model = 0; model < 2; ++model) {
        double angles[3] = {START}, speeds[3] = {0};
        for (int t = 0; t < STEPS; ++t) {
            double acceleration[3], torque[3], next_angles[3], next_speeds[3];
            for (int i = 0; i < 3; ++i) {
                acceleration[i] = STIFFNESS * (goal[i] - angles[i]) - DAMPING * speeds[i];
                torque[i] = inertias[i] * acceleration[i];
            }
            if (model) torques(angles, speeds, acceleration, torque);
            arm(angles, speeds, torque, next_angles, next_speeds);
            memcpy(angles, next_angles, sizeof angles);
            memcpy(speeds, next_speeds, sizeof speeds);
            printf("%.17g %.17g %.17g\\n", angles[0], angles[1], angles[2]);
        }
    }
    return 0;
}
"""
INERTIAS = np.array([1.5, 0.4, 0.04])


def run_in_c(programs: Sequence[export.CProgram], steps: int) -> np.ndarray:
    """Return the angles after each step, without the model and with it."""
    numbers = {"INERTIAS": INERTIAS, "GOAL": GOAL, "START": START}
    lists = {name: ", ".join(map(repr, x.tolist())) for name, x in numbers.items()}
    lists |= {"STEPS": f"{steps}", "STIFFNESS": f"{STIFFNESS}", "DAMPING": f"{DAMPING}"}
    main = MAIN
    for name, text in lists.items():
        main = main.replace(name, text)
    with tempfile.TemporaryDirectory() as folder:
        files = {"main.c": main}
        for program in programs:
            files |= {f"{program.name}.c": program.source, f"{program.name}.h": program.header}
        for name, text in files.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        sources = [name for name in files if name.endswith(".c")]
        subprocess.run(["cc", "-std=c99", "-O2", *sources, "-lm"], cwd=folder, check=True)
        done = subprocess.run(["./a.out"], cwd=folder, check=True, capture_output=True, text=True)
    return np.array(done.stdout.split(), float).reshape(2, steps, 3)


# %%
# The same in Python, to compare.


def run_in_python(steps: int) -> np.ndarray:
    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        angles, speeds = state
        acceleration = STIFFNESS * (jnp.asarray(GOAL) - angles) - DAMPING * speeds
        state = arm(angles, speeds, torques(angles, speeds, acceleration))
        return state, state[0]

    start = jnp.asarray(START), jnp.zeros(3, "float64")
    return np.asarray(jax.lax.scan(step, start, None, length=steps)[1])


def main(path: str = "controller.png", *, steps: int = 1500) -> dict[str, float]:
    state = np.zeros(3)
    programs = [export.c(fun)(state, state, state) for fun in (torques, arm)]
    alone, modelled = run_in_c(programs, steps)
    draw(path, alone, modelled)
    return {
        "lines of C for the torques": programs[0].source.count("\n"),
        "degrees from the goal without a model": distance(alone),
        "degrees from the goal": distance(modelled),
        "difference from Python in degrees": float(
            np.degrees(np.abs(modelled - run_in_python(steps)).max())
        ),
    }


def distance(angles: np.ndarray) -> float:
    """Return how many degrees the joint that is farthest from its goal is from it at the end."""
    return float(np.degrees(np.abs(angles[-1] - GOAL).max()))


def draw(path: str, alone: np.ndarray, modelled: np.ndarray) -> None:
    figure, (strobe, plot) = plt.subplots(1, 2, figsize=(9.6, 3.8), width_ratios=(1, 1.4))
    picked = modelled[:: max(1, len(modelled) // 30)]
    for angles, shade in zip(picked, np.linspace(0.1, 1, len(picked)), strict=True):
        links = np.concatenate([np.zeros((2, 1)), np.asarray(ends(angles))], axis=1)
        strobe.plot(*links, "o-", color=plt.get_cmap("cividis_r")(shade), lw=1.5, ms=3)
    strobe.set(aspect="equal", xlabel="m", title="The arm every 50 ms, from light to dark")
    times = PERIOD * np.arange(1, len(alone) + 1)
    for joint in range(3):
        plot.plot(times, np.degrees(modelled[:, joint]), color=f"C{joint}")
        plot.plot(times, np.degrees(alone[:, joint]), color=f"C{joint}", ls=":")
        plot.axhline(np.degrees(GOAL[joint]), color=f"C{joint}", lw=0.6, ls="--")
    plot.set(xlabel="time, s", ylabel="angle, degrees", title="With the model, and without (dots)")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
