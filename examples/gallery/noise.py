"""A filter's noise, by its likelihood.

A Kalman filter needs two covariances: of its target's accelerations, and of its sensor's errors.
Twelve tracks of a boat give them: the best covariances are those that make the tracks likeliest.
The package `filterpy` has the filter and its likelihood, in a class that writes into its attributes
at every step. `tinyjax.source.capture` runs it as it is on traced arrays, so SciPy's minimiser gets
the gradient.
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
PUSH = np.kron([[0.5], [1.0]], np.eye(2))  # from an acceleration to positions and velocities
TRUE = np.array([-1.5, -2.2, 0.15, 0.0, -1.0, -0.6])

# %%
# A covariance of two numbers has three parameters: the elements of its Cholesky factor, with the
# logarithms of the diagonal, so that all values are allowed.


def factor(parameters: Vector) -> Vector:
    return np.array([[np.exp(parameters[0]), 0.0], [parameters[2], np.exp(parameters[1])]])


def covariance(parameters: Vector) -> Vector:
    root = factor(parameters)
    return root @ root.T


def surprise(parameters: Numbers, track: Numbers) -> Numbers:
    """Return the negative log-likelihood of a track."""
    boat = KalmanFilter(dim_x=4, dim_z=2)
    boat.F, boat.H = MOTION, np.eye(2, 4)
    boat.P *= 100.0
    boat.Q = PUSH @ covariance(parameters[:3]) @ PUSH.T
    boat.R = covariance(parameters[3:])
    total = 0.0
    for position in track:
        boat.predict()
        boat.update(position)
        total -= boat.log_likelihood
    return total


# %%
# The mean over all measurements, first as one writes it today, with a loop over the tracks. Then by
# `vmap`, which runs the captured filter on all tracks at once.


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
    record, optimum = dict[str, float](), start
    for name, function in (("differences", by_differences), ("gradients", by_gradients)):
        begin = time.perf_counter()
        result = minimize(function, start, method="BFGS", jac=name == "gradients" or None)
        record[f"seconds by {name}"] = time.perf_counter() - begin
        record |= {f"evaluations by {name}": result.nfev, f"misfit by {name}": result.fun}
        optimum = result.x
    return optimum, record


def differences(function: Callable[[Vector], float], x: Vector, step: float = 1e-5) -> Vector:
    """Return the gradient by central differences."""
    moves = step * np.eye(len(x))
    return np.array([function(x + d) - function(x - d) for d in moves]) / (2 * step)


# %%
# The tracks are simulated. `filterpy` computes the likelihood by SciPy's density, which capture
# differentiates by a Cholesky decomposition: the eigenvalues that SciPy uses have no derivatives
# where two of them are equal.


def sail(steps: int, rng: np.random.Generator) -> Vector:
    """Return the measured positions of a boat."""
    state, positions = np.array([0.0, 0.0, 1.0, 0.5]), []
    for _ in range(steps):
        state = MOTION @ state + PUSH @ factor(TRUE[:3]) @ rng.normal(size=2)
        positions.append(state[:2] + factor(TRUE[3:]) @ rng.normal(size=2))
    return np.array(positions)


def main(path: str = "noise.png", *, count: int = 12, steps: int = 40) -> dict[str, float]:
    rng = np.random.default_rng(0)
    tracks = np.array([sail(steps, rng) for _ in range(count)])
    start = np.array([-1.0, 0.2, 0.1, 0.0, 0.3, 0.1])
    objective = tinyjax.jit(tinyjax.value_and_grad(lambda x: misfit_of_all(x, tracks)))
    estimate, record = search(lambda x: misfit(x, tracks), objective, start)
    numerical = differences(lambda x: misfit(x, tracks), start)
    error = np.max(np.abs(np.asarray(objective(start)[1]) - numerical)) / np.max(np.abs(numerical))
    draw(path, tracks, estimate)
    return {
        "gradient against differences": float(error),
        **record,
        "misfit of the true covariances": misfit(TRUE, tracks),
    }


def draw(path: str, tracks: Vector, estimate: Vector) -> None:
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(9.6, 3.4))
    for track in tracks:
        axes[0].plot(*track.T, lw=0.8, marker=".", ms=2)
    axes[0].set(title="The tracks, as measured", xticks=[], yticks=[])
    angles = np.linspace(0, 2 * np.pi, 121)
    circle = np.stack([np.cos(angles), np.sin(angles)])
    for axis, title, part in (
        (axes[1], "Acceleration", slice(0, 3)),
        (axes[2], "Error of the sensor", slice(3, 6)),
    ):
        for values, label, style in (
            (TRUE, "true", "C1--"),
            (estimate, "likeliest", "C0"),
        ):
            axis.plot(*(factor(values[part]) @ circle), style, label=label)
        axis.set(title=title, aspect="equal", xticks=[], yticks=[])
    axes[1].legend(loc="upper left")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
