"""A filter's noise, by its likelihood.

A Kalman filter has to be told how much its target swerves, and how wrong its sensor is. Twelve
tracks of a boat tell: the best covariances are those under which the tracks are likeliest. The
filter, and its likelihood, are those of the package `filterpy`, as it is: a class that writes into
its own attributes at every step. `tinyjax.source.capture` runs it on traced arrays, so SciPy's
minimiser gets the gradient.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from filterpy.kalman import KalmanFilter
from numpy.typing import NDArray
from scipy.optimize import minimize

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, source

Vector = NDArray[np.float64]
Numbers = Any  # numbers and arrays of NumPy, or traced ones in their place

MOTION = np.kron([[1.0, 1.0], [0.0, 1.0]], np.eye(2))
SWERVE = np.kron([[0.5], [1.0]], np.eye(2))  # what an acceleration does to places and speeds
TRUE = np.array([-1.5, -2.2, 0.15, 0.0, -1.0, -0.6])

# %%
# A covariance of two numbers has three parameters: its Cholesky factor, with the logarithms of the
# diagonal, so that all values are allowed. The filter has two covariances.


def factor(parameters: Vector) -> Vector:
    return np.array([[np.exp(parameters[0]), 0.0], [parameters[2], np.exp(parameters[1])]])


def covariance(parameters: Vector) -> Vector:
    root = factor(parameters)
    return root @ root.T


def surprise(parameters: Numbers, seen: Numbers) -> Numbers:
    """Return the negative log-likelihood of a track."""
    boat = KalmanFilter(dim_x=4, dim_z=2)
    boat.F, boat.H = MOTION, np.eye(2, 4)
    boat.P *= 100.0
    boat.Q = SWERVE @ covariance(parameters[:3]) @ SWERVE.T
    boat.R = covariance(parameters[3:])
    total = 0.0
    for place in seen:
        boat.predict()
        boat.update(place)
        total -= boat.log_likelihood
    return total


# %%
# The mean over all places seen, as one writes it today: a loop over the tracks. Beside it the same
# by `vmap`, which runs the captured filter on all of them at once.


def misfit(parameters: Vector, tracks: Vector) -> float:
    total = sum(surprise(parameters, track) for track in tracks)
    return float(total) * 2 / tracks.size


def misfit_of_all(parameters: Array, tracks: Vector) -> Array:
    surprises = tinyjax.vmap(source.capture(surprise), (None, 0))(parameters, tracks)
    return jnp.sum(surprises) * 2 / tracks.size


# %%
# Two searches by SciPy, in one run on two cores: without `jac`, where SciPy takes differences,
# seven runs of the loop for a gradient, and with it. Of one track alone differences would be
# quicker: a gradient then takes four evaluations, and a second passes before the first. Of twelve
# tracks it takes hardly longer.


def search(
    by_differences: Callable[[Vector], float],
    by_gradients: Callable[[Vector], tuple[Array, Array]],
    start: Vector,
) -> tuple[Vector, dict[str, float]]:
    """Return the optimum by gradients, and what both searches took."""
    told, optimum = dict[str, float](), start
    for name, function in (("differences", by_differences), ("gradients", by_gradients)):
        begin = time.perf_counter()
        found = minimize(function, start, method="BFGS", jac=name == "gradients" or None)
        told[f"seconds by {name}"] = time.perf_counter() - begin
        told |= {f"evaluations by {name}": found.nfev, f"misfit by {name}": found.fun}
        optimum = found.x
    return optimum, told


def differences(function: Callable[[Vector], float], x: Vector, step: float = 1e-5) -> Vector:
    """Return the gradient by central differences."""
    moves = step * np.eye(len(x))
    return np.array([function(x + d) - function(x - d) for d in moves]) / (2 * step)


# %%
# The tracks are made up. The likelihood calls for eigenvalues, whose derivatives are no numbers
# where two are equal: so the search does not start from a round covariance.


def sail(steps: int, rng: np.random.Generator) -> Vector:
    """Return the places of a boat as they are seen."""
    state, seen = np.array([0.0, 0.0, 1.0, 0.5]), []
    for _ in range(steps):
        state = MOTION @ state + SWERVE @ factor(TRUE[:3]) @ rng.normal(size=2)
        seen.append(state[:2] + factor(TRUE[3:]) @ rng.normal(size=2))
    return np.array(seen)


def main(path: str = "noise.png", *, count: int = 12, steps: int = 40) -> dict[str, float]:
    rng = np.random.default_rng(0)
    tracks = np.array([sail(steps, rng) for _ in range(count)])
    start = np.array([-1.0, 0.2, 0.1, 0.0, 0.3, 0.1])
    objective = tinyjax.jit(tinyjax.value_and_grad(lambda x: misfit_of_all(x, tracks)))
    found, told = search(lambda x: misfit(x, tracks), objective, start)
    checked = differences(lambda x: misfit(x, tracks), start)
    error = np.max(np.abs(np.asarray(objective(start)[1]) - checked)) / np.max(np.abs(checked))
    draw(path, tracks, found)
    return {
        "gradient against differences": float(error),
        **told,
        "misfit of the true covariances": misfit(TRUE, tracks),
    }


def draw(path: str, tracks: Vector, found: Vector) -> None:
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(9.6, 3.4))
    for track in tracks:
        axes[0].plot(*track.T, lw=0.8, marker=".", ms=2)
    axes[0].set(title="The tracks, as they are seen", xticks=[], yticks=[])
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    for axis, title, part in (
        (axes[1], "How much it swerves", slice(0, 3)),
        (axes[2], "How wrong the sensor is", slice(3, 6)),
    ):
        for values, label, style in (
            (TRUE, "true", "C1--"),
            (found, "likeliest", "C0"),
        ):
            axis.plot(*(factor(values[part]) @ circle), style, label=label)
        axis.set(title=title, aspect="equal", xticks=[], yticks=[])
    axes[1].legend(loc="upper left")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
