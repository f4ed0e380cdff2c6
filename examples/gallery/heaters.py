"""Heaters from thermometers.

Where are the heaters under a plate on which a few thermometers are read? The simulation is a plain
NumPy program, taken as it is: it fills in an array, and changes it in place at every step.
`tinyjax.source` reads it and writes the program of its gradient, which goes back in time, restores
what was overwritten, and costs a few times as much, however many cells the plate has.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.optimize import minimize

from tinyjax import source

Plate = NDArray[np.float64]

# %%
# The program: heat spreads over a plate whose edges are kept cold. It knows nothing of derivatives.


def warm(u: Plate, heat: Plate, steps: int) -> None:
    """Heat a plate, in place."""
    for _ in range(steps):
        flow = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        u[1:-1, 1:-1] += 0.2 * flow + heat


def temperature(heat: Plate, steps: int) -> Plate:
    rows, columns = heat.shape
    u = np.zeros((rows + 2, columns + 2))
    warm(u, heat, steps)
    return u


# %%
# How far the thermometers are from what they should show, and how much heat there is: of many
# solutions this prefers the one with the fewest heaters.

PLACES = np.s_[2:-1:4, 2:-1:4]


def misfit(heat: Plate, seen: Plate, steps: int) -> np.float64:
    wrong = temperature(heat, steps)[PLACES] - seen
    return np.sum(wrong * wrong) + 0.01 * np.sum(heat)


# %%
# The search: SciPy's minimiser, with the gradient by `source`. Heaters only heat.


def solution(seen: Plate, size: int, steps: int, rounds: int) -> Plate:
    """Return the heat that explains what was seen."""
    slope = source.value_and_grad(misfit)

    def objective(heat: Plate) -> tuple[float, Plate]:
        value, gradient = slope(heat.reshape(size, size), seen, steps)
        return value, gradient.ravel()

    bounds, start = [(0.0, None)] * size**2, np.zeros(size**2)
    options = {"maxiter": rounds}
    optimum = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    return np.asarray(optimum.x).reshape(size, size)


def heaters(size: int) -> Plate:
    """Return three heaters."""
    heat = np.zeros((size, size))
    for row, column, strength in ((0.25, 0.3, 1.0), (0.3, 0.75, 0.6), (0.75, 0.55, 0.8)):
        i, j = int(row * size), int(column * size)
        heat[i - 1 : i + 2, j - 1 : j + 2] = strength
    return heat


def near(heat: Plate) -> NDArray[np.bool_]:
    """Return the cells that are at most two cells away from a heater."""
    around = sliding_window_view(np.pad(heat, 2), (5, 5))
    return np.asarray(around.max(axis=(2, 3)) > 0.0)


def main(
    path: str = "heaters.png", *, size: int = 41, steps: int = 200, rounds: int = 150
) -> dict[str, float]:
    heat = heaters(size)
    whole = temperature(heat, steps)
    first = source.grad(misfit)(np.zeros_like(heat), whole[PLACES], steps)
    answer = solution(whole[PLACES], size, steps, rounds)
    draw(path, heat, whole, first, answer)
    return {
        "thermometers": whole[PLACES].size,
        "cells where a heater may be": heat.size,
        "heat that was found, of all there is": float(answer.sum() / heat.sum()),
        "part of it within two cells of a heater": float(answer[near(heat)].sum() / answer.sum()),
    }


# %%
# The picture.


def draw(path: str, heat: Plate, whole: Plate, first: Plate, answer: Plate) -> None:
    figure, axes = plt.subplots(1, 4, layout="constrained", figsize=(12, 3.4))
    rows, columns = (x.ravel() for x in np.mgrid[: whole.shape[0], : whole.shape[1]][:, *PLACES])
    panels = (
        ("The heaters", heat),
        ("Temperature, and thermometers", whole),
        ("The gradient where all is cold", -first),
        ("What explains the thermometers", answer),
    )
    for panel, (title, values) in zip(axes, panels, strict=True):
        panel.imshow(values, cmap="inferno")
        panel.set_title(title, loc="left")
        panel.set_axis_off()
    axes[1].plot(columns, rows, "o", ms=2, color="w")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
