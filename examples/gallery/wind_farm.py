"""A wind farm's yield, by its layout.

Behind a turbine the wind is weaker. Where do 36 turbines yield most, in a square field? The package
`windpowerlib` computes the power curve and the wind at the hub, and is called as it is. The wakes
are a few lines of NumPy, as people write them. `tinyjax.source.capture` runs both on traced arrays,
so that SciPy's minimiser gets the gradient in all 72 coordinates.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from windpowerlib import WindTurbine, power_output, wind_speed

import tinyjax
from tinyjax import source

Vector = NDArray[np.float64]

# %%
# The turbine is one of the package's list. The wind blows in 72 directions, in some of them more
# often. Its speed is measured at a height of ten metres. Lengths are in diameters of the rotor.

TURBINE = WindTurbine(105.0, turbine_type="E-82/2000")
SPEEDS, POWERS = (TURBINE.power_curve[x].to_numpy() for x in ("wind_speed", "value"))
DIRECTIONS = np.arange(72) * np.pi / 36
FREQUENCIES = 0.2 + np.maximum(np.cos(DIRECTIONS), 0.0) ** 8
FREQUENCIES = FREQUENCIES / FREQUENCIES.sum()
WINDS = np.arange(2.0, 15.0, 0.5)
WEIGHTS = WINDS * np.exp(-(WINDS**2) / 50)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
THRUST = 0.8


# %%
# For each direction, the wind that each turbine takes from each other. A wake gets wider and weaker
# with the distance. Several wakes add up by their squares.


def power(places: Vector) -> float:
    """Return the mean power in megawatts."""
    x, y = places.reshape(2, -1)
    cosine, sine = np.cos(DIRECTIONS)[:, None], np.sin(DIRECTIONS)[:, None]
    downwind, crosswind = x * cosine + y * sine, y * cosine - x * sine
    distance = np.maximum(downwind[:, :, None] - downwind[:, None, :], 0.0)
    offset = crosswind[:, :, None] - crosswind[:, None, :]
    width = 0.35 + 0.04 * distance
    deficit = (1 - np.sqrt(1 - THRUST / (8 * width**2))) * np.exp(-0.5 * (offset / width) ** 2)
    deficit = np.where(distance > 0.0, deficit, 0.0)
    ratio = 1 - np.sqrt(np.sum(deficit**2, axis=2) + 1e-6)
    undisturbed = wind_speed.logarithmic_profile(WINDS, 10.0, TURBINE.hub_height, 0.1)
    powers = power_output.power_curve(ratio[:, :, None] * undisturbed, SPEEDS, POWERS)
    mean: float = FREQUENCIES @ np.sum(powers @ WEIGHTS, axis=1) / 1e6
    return mean


def loss(places: Vector) -> float:
    return -power(places)


# %%
# Two searches by SciPy, in one run on two cores: without `jac`, where SciPy takes differences, 73
# evaluations for a gradient, and with it. Most of the seconds by gradients are spent on compiling;
# after that, a gradient takes about as long as an evaluation by NumPy. Of a handful of turbines
# differences would be quicker.


def search(start: Vector, side: float) -> tuple[Vector, dict[str, float]]:
    """Return the layout by gradients, and what both searches took."""
    objective = tinyjax.jit(tinyjax.value_and_grad(source.capture(loss)))
    record, optimum = dict[str, float](), start
    settings = {"method": "L-BFGS-B", "bounds": [(0.0, side)] * len(start)}
    for name, function in (("differences", loss), ("gradients", objective)):
        begin = time.perf_counter()
        options = {"maxfun": 10**6}
        jac = name == "gradients" or None
        result = minimize(function, start, jac=jac, options=options, **settings)
        record[f"seconds by {name}"] = time.perf_counter() - begin
        record |= {f"evaluations by {name}": result.nfev, f"megawatts by {name}": -result.fun}
        optimum = result.x
    return optimum, record


def differences(function: Callable[[Vector], float], x: Vector, step: float = 1e-6) -> Vector:
    """Return the gradient by central differences."""
    moves = step * np.eye(len(x))
    return np.array([function(x + d) - function(x - d) for d in moves]) / (2 * step)


# %%
# The search starts from random places, and its layout is compared with a grid. There are many local
# optima; this is one of them.


def main(path: str = "wind_farm.png", *, rows: int = 6, spacing: float = 5.0) -> dict[str, float]:
    rng = np.random.default_rng(1)
    side = spacing * rows
    line = np.linspace(0.0, side, rows)
    grid = np.concatenate([x.ravel() for x in np.meshgrid(line, line)])
    start = rng.uniform(0.0, side, grid.size)
    layout, record = search(start, side)
    numerical = differences(loss, start)
    error = np.max(np.abs(tinyjax.grad(source.capture(loss))(start) - numerical))
    draw(path, (grid, layout), side)
    return {
        "gradient against differences": float(error / np.max(np.abs(numerical))),
        "megawatts without wakes": rows**2 * power(np.zeros(2)),
        "megawatts at the start": power(start),
        "megawatts in a grid": power(grid),
        **record,
    }


def draw(path: str, layouts: tuple[Vector, ...], side: float) -> None:
    figure, axes = plt.subplots(1, 3, layout="constrained", figsize=(8.4, 3.2))
    for axis, name, places in zip(axes, ("In a grid", "By gradients"), layouts, strict=False):
        axis.plot(*places.reshape(2, -1), "o", ms=4)
        axis.set(title=f"{name}: {power(places):.1f} MW", aspect="equal", xticks=[], yticks=[])
        axis.set(xlim=(-0.03 * side, 1.03 * side), ylim=(-0.03 * side, 1.03 * side))
    axes[2].remove()
    rose = figure.add_subplot(1, 3, 3, projection="polar")
    rose.bar(DIRECTIONS + np.pi, FREQUENCIES, width=np.pi / 36)
    rose.set(title="Where the wind comes from", xticklabels=[], yticklabels=[])
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
