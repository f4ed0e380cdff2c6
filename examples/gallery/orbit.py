"""An orbit, from observations.

A camera measured the direction of a satellite forty times in a day. Which orbit fits? The model is
SGP4, by the package `sgp4` as it is: hundreds of lines of arithmetic, with branches, and with
Kepler's equation solved by iteration. `tinyjax.source.capture` runs them on traced numbers. SciPy's
least squares gets exact derivatives, and these say how well later positions are known.
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
# anomaly, the motion in radians per minute, and the node. The unknowns are their changes since the
# catalogue was written, in the units below.

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
# The residuals, first as one writes them today, with a loop over the observations. Then by `vmap`,
# which runs the captured model on all of them at once.


def residuals(change: Vector, data: Observations) -> Vector:
    minutes, cameras, directions = data
    predicted = [direction(change, t, x) for t, x in zip(minutes, cameras, strict=True)]
    return (np.array(predicted) - directions).ravel() / NOISE


def residuals_of_all(change: Array, data: Observations) -> Array:
    minutes, cameras, directions = data
    predicted = tinyjax.vmap(source.capture(direction), (None, 0, 0))(change, minutes, cameras)
    return jnp.ravel((predicted - directions) / NOISE)


# %%
# Two searches by SciPy, in one run on two cores: without `jac`, where SciPy takes differences, and
# with it. A Jacobian counts as an evaluation, or as six by differences. Differences win on time
# here: the unknowns are six, and the model takes 40 microseconds (and a sixth of that in the
# compiled version of `sgp4`, which has no Python source). They stop earlier, at a gradient that is
# a thousand times as large, but far below the noise. What derivatives are good for comes below.


def search(data: Observations, start: Vector) -> tuple[Vector, dict[str, float]]:
    """Return the optimum by derivatives, and what both searches took."""
    jacobian = tinyjax.jacfwd(residuals_of_all)
    record, optimum = dict[str, float](), start
    for name, jac in (("differences", "2-point"), ("derivatives", jacobian)):
        begin = time.perf_counter()
        result = least_squares(residuals, start, jac, args=(data,))
        record[f"seconds by {name}"] = time.perf_counter() - begin
        runs = result.nfev + result.njev * (6 if jac == "2-point" else 1)
        record[f"evaluations by {name}"] = runs
        slope = np.asarray(jacobian(result.x, data)).T @ result.fun
        record[f"sum of squares by {name}"] = 2 * result.cost
        record[f"gradient at the end by {name}"] = float(np.max(np.abs(slope)))
        optimum = result.x
    return optimum, record


def differences(change: Vector, data: Observations, step: float = 1e-3) -> Vector:
    """Return the Jacobian by central differences."""
    moves = step * np.eye(6)
    ends = [residuals(change + d, data) - residuals(change - d, data) for d in moves]
    return np.array(ends).T / (2 * step)


# %%
# The observations are simulated. The derivatives of the directions give the covariance of the
# elements. With the derivatives of later positions, at 289 times at once, it gives the covariance
# of these. There is no step size to choose, though the elements differ in size.


def observations(change: Vector, count: int, rng: np.random.Generator) -> Observations:
    minutes = np.arange(0.0, 1440.0, 0.5)
    angles = np.array([gstime(2433281.5 + EPOCH + t / 1440) for t in minutes])
    latitude, radius = 0.75, 6378.135
    east, north = np.cos(latitude), np.sin(latitude)
    up = np.stack([east * np.cos(angles), east * np.sin(angles), np.full(angles.shape, north)], -1)
    data = np.array([direction(change, t, radius * x) for t, x in zip(minutes, up, strict=True)])
    visible = np.flatnonzero(np.sum(data * up, axis=1) > 0.3)[:count]
    noise = NOISE * rng.normal(size=(len(visible), 3))
    return minutes[visible], radius * up[visible], data[visible] + noise


def main(path: str = "orbit.png", *, count: int = 40) -> dict[str, float]:
    rng = np.random.default_rng(0)
    true, start = 10 * rng.normal(size=6), np.zeros(6)
    data = observations(true, count, rng)
    estimate, record = search(data, start)
    exact = np.asarray(tinyjax.jacfwd(residuals_of_all)(start, data))
    numerical = differences(start, data)
    information = np.asarray(tinyjax.jacfwd(residuals_of_all)(estimate, data))
    covariance = np.linalg.inv(information.T @ information)
    minutes = np.linspace(0.0, 4320.0, 289)
    slopes = tinyjax.vmap(tinyjax.jacfwd(source.capture(position)), (None, 0))(estimate, minutes)
    spread = np.sqrt(np.einsum("tij,jk,tik->t", np.asarray(slopes), covariance, np.asarray(slopes)))
    errors = [np.linalg.norm(position(estimate, t) - position(true, t)) for t in minutes]
    draw(path, data, residuals(estimate, data), (minutes, spread, np.array(errors)))
    return {
        "Jacobian against differences": float(
            np.max(np.abs(exact - numerical)) / np.ptp(numerical)
        ),
        **record,
        "error after three days in km": float(errors[-1]),
        "its standard deviation": float(spread[-1]),
    }


def draw(path: str, data: Observations, remainder: Vector, forecast: tuple[Vector, ...]) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.4))
    left.plot(data[0] / 60, remainder.reshape(-1, 3), ".", color="C0")
    left.set(xlabel="hours", ylabel="in units of the noise")
    left.set_title("Residuals of the directions")
    minutes, spread, errors = forecast
    label = "two standard deviations"
    right.fill_between(minutes / 1440, 0, 2 * spread, alpha=0.3, lw=0, label=label)
    right.plot(minutes / 1440, errors, color="C1", label="error")
    right.set(xlabel="days", ylabel="kilometres", title="Error of the predicted position")
    right.legend(loc="upper left")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
