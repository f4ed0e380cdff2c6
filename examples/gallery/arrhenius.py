"""An activation energy, and where to measure it.

How fast a reaction runs was measured at ten temperatures. SciPy fits Arrhenius's law to that, in
the units of the laboratory. The fit is differentiable: it says how much of the energy's uncertainty
comes from the thermometer, and at which temperatures another ten measurements should be made.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.scipy.optimize import curve_fit, minimize

Numbers = Array | np.ndarray

# %%
# A unit is a number of SI units. A value times its unit is in SI units, and over its unit it is as
# it was noted down.

minute, kelvin, mole = 60.0, 1.0, 1.0
kilojoule = 1e3
GAS = 8.314462618 / (mole * kelvin)
ZERO = 273.15 * kelvin
NOISE, THERMOMETER = 0.04, 0.8 * kelvin  # a share of the rate, and a deviation
COLDEST, HOTTEST = 20.0, 80.0  # in degrees Celsius


# %%
# Arrhenius's law, about the rate at 50 degrees: so the two parameters hardly depend on each other.


def rate(celsius: Numbers, at_50: Numbers | float, energy: Numbers | float) -> Array:
    kelvins = celsius * kelvin + ZERO
    change = 1 / kelvins - 1 / (50 * kelvin + ZERO)
    return jnp.exp(-energy * kilojoule / mole / GAS * change) * at_50 / minute


def fit(celsius: Numbers, rates: Numbers) -> tuple[Array, Array]:
    """The rate at 50 degrees per minute and the energy in kJ/mol, with their covariance."""
    start = np.array([1.0, 50.0])
    return curve_fit(rate, celsius, rates, start, NOISE * rates, absolute_sigma=True)


def deviation(celsius: Numbers, rates: Numbers) -> Array:
    """The energy's standard deviation."""
    return jnp.sqrt(fit(celsius, rates)[1][1, 1])


# %%
# The covariance knows nothing of the thermometer. The fit's derivative in the temperatures does: by
# the implicit function theorem at the minimum that SciPy found.


def of_thermometer(celsius: Numbers, rates: Numbers) -> Array:
    slopes = jax.jacobian(lambda t: fit(t, rates)[0][1])(celsius)
    return jnp.linalg.norm(slopes * THERMOMETER / kelvin)


# %%
# At which temperatures would the energy's deviation be least? Another minimiser of SciPy's looks
# for them, and gets the derivative of the fit within.


def plan(celsius: np.ndarray, parameters: Numbers) -> np.ndarray:
    optimum = minimize(
        lambda t: deviation(t, rate(t, *parameters)),
        celsius,
        method="L-BFGS-B",
        bounds=[(COLDEST, HOTTEST)] * len(celsius),
    )
    return np.asarray(optimum.x)


# %%
# The measurements are made up, of an energy of 62 kJ/mol.


def main(path: str = "arrhenius.png", *, count: int = 10) -> dict[str, float]:
    rng = np.random.default_rng(1)
    readings = np.linspace(COLDEST + 5, HOTTEST - 5, count)
    true = readings + THERMOMETER / kelvin * rng.normal(size=count)
    rates = np.asarray(rate(true, 2.0, 62.0)) * (1 + NOISE * rng.normal(size=count))
    parameters, covariance = fit(readings, rates)
    deviations = np.sqrt(np.diag(covariance))
    planned = plan(readings, parameters)
    draw(path, readings, rates, parameters, covariance, planned)
    return {
        "energy in kJ/mol": float(parameters[1]),
        "its deviation by the rates": float(deviations[1]),
        "its deviation by the thermometer": float(of_thermometer(readings, rates)),
        "its deviation where it is least": float(deviation(planned, rate(planned, *parameters))),
        "measurements at the coldest": int(np.sum(planned < COLDEST + 0.1)),
        "measurements at the hottest": int(np.sum(planned > HOTTEST - 0.1)),
    }


def draw(
    path: str,
    celsius: np.ndarray,
    rates: np.ndarray,
    parameters: Numbers,
    covariance: Numbers,
    planned: np.ndarray,
) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.6))
    grid = np.linspace(COLDEST, HOTTEST, 61)
    curve = np.asarray(rate(grid, *parameters)) * minute
    slopes = np.asarray(jax.jacobian(lambda p: rate(grid, *p) * minute)(jnp.asarray(parameters)))
    spread = np.sqrt(np.einsum("ij,jk,ik->i", slopes, np.asarray(covariance), slopes))
    left.fill_between(grid, curve - 2 * spread, curve + 2 * spread, alpha=0.3, lw=0)
    left.plot(grid, curve)
    left.errorbar(celsius, rates * minute, 2 * NOISE * rates * minute, fmt="o", color="C1", ms=4)
    left.set(xlabel="temperature, °C", ylabel="rate, 1/min", yscale="log")
    left.set_title("The fit, with two deviations")
    for i, (start, end) in enumerate(zip(celsius, planned, strict=True)):
        right.annotate("", (end, i), (start, i), arrowprops={"arrowstyle": "->", "color": "0.6"})
    right.plot(celsius, np.arange(len(celsius)), "o", color="C1", label="measured")
    right.plot(planned, np.arange(len(celsius)), "o", color="C0", label="planned")
    right.set(xlabel="temperature, °C", yticks=[], xlim=(COLDEST - 5, HOTTEST + 5))
    right.set_title("Where to measure the energy")
    right.legend(loc="upper left")
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
