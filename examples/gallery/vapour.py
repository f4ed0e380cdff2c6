"""A mixture's vapour, fitted to measurements.

How strongly do acetone, chloroform and methanol attract each other? The pressure over sixty of
their mixtures says so, through a model of the packages `thermo` and `chemicals`, called as they
are. They are plain Python: lists, classes, and loops over substances.
`tinyjax.source.capture` runs them on traced numbers, so SciPy's minimiser gets the gradient.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from chemicals.vapor_pressure import Antoine, Psat_data_AntoinePoling
from numpy.typing import NDArray
from scipy.optimize import minimize
from thermo import NRTL

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import Array, source

Vector = NDArray[np.float64]
Numbers = Any  # numbers and arrays of NumPy, or traced ones in their place
Mixtures = tuple[Vector, Vector, Vector]  # temperatures, shares of the substances, pressures

NUMBERS = {"acetone": "67-64-1", "chloroform": "67-66-3", "methanol": "67-56-1"}
ANTOINE = [Psat_data_AntoinePoling.loc[x, ["A", "B", "C"]].tolist() for x in NUMBERS.values()]
ORDERS = [[0.0, 0.3, 0.3], [0.3, 0.0, 0.3], [0.3, 0.3, 0.0]]
TRUE = np.array([-3.2, 1.8, 1.1, 2.9, 1.5, -0.6])  # the unknowns, in units of 100 kelvins
NOISE = 0.003  # a share of the pressure

# %%
# The pressure is the sum of what each substance has alone, by Antoine's equation, times its share
# and its activity in the liquid. The activities are those of the NRTL model, whose six energies are
# unknown.


def pressure(energies: Numbers, kelvins: Numbers, shares: Numbers) -> Numbers:
    """Return the pressure over a mixture, in pascals."""
    b = 100.0 * energies
    table = [[0.0, b[0], b[1]], [b[2], 0.0, b[3]], [b[4], b[5], 0.0]]
    liquid = NRTL(T=kelvins, xs=list(shares), tau_bs=table, alpha_cs=ORDERS)
    total = 0.0
    for share, activity, constants in zip(shares, liquid.gammas(), ANTOINE, strict=True):
        total += share * activity * Antoine(kelvins, *constants)
    return total


# %%
# The misfit, first as one writes it today, with a loop over the measurements. Then by `vmap`, which
# runs the captured model on all of them at once.


def misfit(energies: Vector, data: Mixtures) -> float:
    """Return the mean square of the errors, in units of the noise."""
    predicted = [pressure(energies, t, x) for t, x in zip(*data[:2], strict=True)]
    return float(np.mean(((predicted / data[2] - 1) / NOISE) ** 2))


def misfit_of_all(energies: Array, data: Mixtures) -> Array:
    predicted = tinyjax.vmap(source.capture(pressure), (None, 0, 0))(energies, *data[:2])
    return jnp.mean(((predicted / data[2] - 1) / NOISE) ** 2)


# %%
# Two searches by SciPy, in one run on two cores: without `jac`, where SciPy takes differences,
# seven runs of the loop for a gradient, and with it. The seconds by gradients are nearly all spent
# before the first step, on rewriting the packages and tracing; after that, a gradient over all
# mixtures takes less time than the loop does for a value. Of a few measurements, differences would
# be quicker.


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
# The measurements are simulated. The second derivatives of the misfit at the optimum give the
# standard deviations of the energies.


def main(path: str = "vapour.png", *, count: int = 60) -> dict[str, float]:
    rng = np.random.default_rng(0)
    kelvins, shares = rng.uniform(300.0, 340.0, count), rng.dirichlet(np.ones(3), count)
    exact = np.array([pressure(TRUE, t, x) for t, x in zip(kelvins, shares, strict=True)])
    data = kelvins, shares, exact * (1 + NOISE * rng.normal(size=count))
    objective = tinyjax.jit(tinyjax.value_and_grad(lambda x: misfit_of_all(x, data)))
    start = np.full(6, 0.1)
    estimate, record = search(lambda x: misfit(x, data), objective, start)
    numerical = differences(lambda x: misfit(x, data), start)
    error = np.max(np.abs(np.asarray(objective(start)[1]) - numerical)) / np.max(np.abs(numerical))
    curvature = tinyjax.hessian(lambda x: misfit_of_all(x, data))(estimate)
    deviations = np.sqrt(np.diag(np.linalg.inv(np.asarray(curvature) * count / 2)))
    draw(path, data, start, estimate, deviations)
    return {
        "gradient against differences": float(error),
        **record,
        "greatest error in standard deviations": float(
            np.max(np.abs(estimate - TRUE) / deviations)
        ),
    }


def draw(path: str, data: Mixtures, start: Vector, estimate: Vector, deviations: Vector) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.6))
    for energies, label, colour in ((start, "at the start", "0.6"), (estimate, "fitted", "C0")):
        model = [pressure(energies, t, x) for t, x in zip(*data[:2], strict=True)]
        left.plot(data[2] / 1e5, np.array(model) / 1e5, ".", color=colour, label=label)
    left.axline((1, 1), slope=1, color="0.8", lw=1, zorder=0)
    left.set(xlabel="measured pressure, bar", ylabel="pressure of the model, bar")
    left.legend()
    pairs = [f"{x[0]}-{y[0]}" for x in NUMBERS for y in NUMBERS if x != y]
    right.errorbar(pairs, 100 * estimate, 200 * deviations, fmt="o", capsize=4, label="fitted")
    right.plot(pairs, 100 * TRUE, "x", color="C1", label="true")
    right.set(ylabel="energy, K", title="Two standard deviations")
    right.legend()
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
