"""An orbit, from observations.

A camera saw a satellite against the stars, forty times in a night. Which orbit fits that? The model
is SGP4, by the package `sgp4` as it is: hundreds of lines of arithmetic, with branches and Kepler's
equation solved by iteration. `tinyjax.source.capture` runs them on traced numbers. SciPy's least
squares get exact derivatives, and these say how well the orbit is known in the days that follow.
"""

import sys
import time
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from sgp4.model import WGS72, Satrec
from sgp4.propagation import gstime

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, source

Vector = NDArray[np.float64]
Numbers = Any  # numbers and arrays of NumPy, or traced ones in their place
Observations = tuple[Vector, Vector, Vector]  # minutes, places of the camera, directions

# %%
# The elements of an orbit are its eccentricity, the angle of its perigee, the inclination, the mean
# anomaly, the motion in radians per minute, and the node. The catalogue has some of last week. What
# is unknown is how far they changed, in the units below.

EPOCH = 27000.0  # in days since the end of 1949
CATALOGUE = np.array([0.0012, 1.3, 0.9, 4.0, 0.0657, 2.1])
UNITS = np.array([1e-4, 1e-2, 1e-3, 1e-2, 1e-6, 1e-3])
NOISE = 5e-5  # of a direction, in radians: ten seconds of arc


def position(change: Numbers, minutes: Numbers) -> Vector:
    """Locate the satellite, in kilometres."""
    satellite = Satrec()
    elements = CATALOGUE + UNITS * change
    satellite.sgp4init(WGS72, "i", 1, EPOCH, 2e-5, 0.0, 0.0, *elements)
    _, place, _ = satellite.sgp4_tsince(minutes)
    return np.array(place)


def direction(change: Numbers, minutes: Numbers, camera: Numbers) -> Vector:
    offset = position(change, minutes) - camera
    result: Vector = offset / np.sqrt(np.sum(offset**2))
    return result


# %%
# The residuals, as one writes them today: a loop over the observations. Beside it the same by
# `vmap`, which runs the captured model on all of them at once.


def residuals(change: Vector, seen: Observations) -> Vector:
    minutes, cameras, directions = seen
    predicted = [direction(change, t, x) for t, x in zip(minutes, cameras, strict=True)]
    return (np.array(predicted) - directions).ravel() / NOISE


def residuals_of_all(change: Array, seen: Observations) -> Array:
    minutes, cameras, directions = seen
    predicted = tinyjax.vmap(source.capture(direction), (None, 0, 0))(change, minutes, cameras)
    return jnp.ravel((predicted - directions) / NOISE)


# %%
# Two searches by SciPy, in one run on two cores: without `jac`, where SciPy takes differences, and
# with it. A Jacobian counts as an evaluation, or as six by differences. Differences win on time
# here: the unknowns are six, and the model takes a tenth of a millisecond (and less by the
# compiled version of `sgp4`, which has no Python source). They stop earlier, at a slope that is a
# thousand times as large, but far below the noise. What derivatives are good for comes below.


def search(seen: Observations, start: Vector) -> tuple[Vector, dict[str, float]]:
    """Return the optimum by derivatives, and what both searches took."""
    jacobian = tinyjax.jacfwd(residuals_of_all)
    told, optimum = dict[str, float](), start
    for name, jac in (("differences", "2-point"), ("derivatives", jacobian)):
        begin = time.perf_counter()
        found = least_squares(residuals, start, jac, args=(seen,))
        runs = found.nfev + found.njev * (6 if jac == "2-point" else 1)
        told |= {f"seconds by {name}": time.perf_counter() - begin, f"evaluations by {name}": runs}
        slope = np.asarray(jacobian(found.x, seen)).T @ found.fun
        told |= {f"sum of squares by {name}": 2 * found.cost}
        told |= {f"slope that is left by {name}": float(np.max(np.abs(slope)))}
        optimum = found.x
    return optimum, told


def differences(change: Vector, seen: Observations, step: float = 1e-3) -> Vector:
    """Return the Jacobian by central differences."""
    moves = step * np.eye(6)
    ends = [residuals(change + d, seen) - residuals(change - d, seen) for d in moves]
    return np.array(ends).T / (2 * step)


# %%
# The observations are made up. From the derivatives in the directions seen follows how well each
# element is known, and from those in later positions, how far the satellite may be off there: at
# 289 times at once, with no step size to choose for elements of such different sizes.


def observed(change: Vector, count: int, rng: np.random.Generator) -> Observations:
    minutes = np.arange(0.0, 1440.0, 0.5)
    turned = np.array([gstime(2433281.5 + EPOCH + t / 1440) for t in minutes])
    latitude, radius = 0.75, 6378.135
    east, north = np.cos(latitude), np.sin(latitude)
    up = np.stack([east * np.cos(turned), east * np.sin(turned), np.full(turned.shape, north)], -1)
    seen = np.array([direction(change, t, radius * x) for t, x in zip(minutes, up, strict=True)])
    visible = np.flatnonzero(np.sum(seen * up, axis=1) > 0.3)[:count]
    wrong = NOISE * rng.normal(size=(len(visible), 3))
    return minutes[visible], radius * up[visible], seen[visible] + wrong


def main(path: str = "orbit.png", *, count: int = 40) -> dict[str, float]:
    rng = np.random.default_rng(0)
    true, start = 10 * rng.normal(size=6), np.zeros(6)
    seen = observed(true, count, rng)
    found, told = search(seen, start)
    exact = np.asarray(tinyjax.jacfwd(residuals_of_all)(start, seen))
    checked = differences(start, seen)
    # how far the orbit may be off later: the covariance of the elements, carried along
    information = np.asarray(tinyjax.jacfwd(residuals_of_all)(found, seen))
    covariance = np.linalg.inv(information.T @ information)
    minutes = np.linspace(0.0, 4320.0, 289)
    ahead = tinyjax.vmap(tinyjax.jacfwd(source.capture(position)), (None, 0))(found, minutes)
    spread = np.sqrt(np.einsum("tij,jk,tik->t", np.asarray(ahead), covariance, np.asarray(ahead)))
    off = [np.linalg.norm(position(found, t) - position(true, t)) for t in minutes]
    draw(path, seen, residuals(found, seen), (minutes, spread, np.array(off)))
    return {
        "Jacobian against differences": float(np.max(np.abs(exact - checked)) / checked.max()),
        **told,
        "kilometres off after three days": float(off[-1]),
        "their deviation": float(spread[-1]),
    }


def draw(path: str, seen: Observations, left_over: Vector, later: tuple[Vector, ...]) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.4))
    left.plot(seen[0] / 60, left_over.reshape(-1, 3), ".", color="C0")
    left.set(xlabel="hours", ylabel="residuals, in units of the noise")
    left.set_title("Forty directions, and what is left of them")
    minutes, spread, off = later
    right.fill_between(minutes / 1440, 0, 2 * spread, alpha=0.3, lw=0, label="two deviations")
    right.plot(minutes / 1440, off, color="C1", label="how far it is")
    right.set(xlabel="days", ylabel="kilometres", title="How far the orbit found may be off")
    right.legend(loc="upper left")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
