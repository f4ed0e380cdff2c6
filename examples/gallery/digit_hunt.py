"""Digits that a comet loses, and where.

Near the sun a comet's place depends on a difference of two numbers that are almost equal. In
float32 most of its digits are lost there, and nothing says so: the orbit looks like an orbit. A
report of tinyjax's names the line, and with that line written otherwise the digits are back.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array, accuracy

Numbers = Array | np.ndarray

# %%
# Kepler's equation says how far around its orbit a comet is: the anomaly E of a time M solves
# M = E - e sin E. A comet's eccentricity e is almost one, so that both terms are almost equal when
# it is near the sun.

ECCENTRICITY = 0.99995
STEPS = 12


def time_of(anomaly: Numbers) -> Numbers:
    return anomaly - ECCENTRICITY * jnp.sin(anomaly)


# %%
# Newton's method solves it. From a cube root it needs few steps.


def place(time: Numbers, time_of: Callable[[Numbers], Numbers] = time_of) -> Array:
    """The comet's place, in lengths of the orbit's half axis."""
    anomaly = jnp.cbrt(6 * time)
    for _ in range(STEPS):
        slope = 2 * jnp.sin(anomaly / 2) ** 2 + (1 - ECCENTRICITY) * jnp.cos(anomaly)
        anomaly = anomaly - (time_of(anomaly) - time) / slope
    towards = (1 - ECCENTRICITY) - 2 * jnp.sin(anomaly / 2) ** 2
    return jnp.stack([towards, (1 - ECCENTRICITY**2) ** 0.5 * jnp.sin(anomaly)])


# %%
# The report runs the function beside itself in float64. Of the digits of float32 few are right, and
# the line that lost them is the one with the difference.


def lost_in(time: Numbers, time_of: Callable[[Numbers], Numbers]) -> tuple[float, str]:
    report = accuracy.report(lambda t: place(t, time_of))(time)
    line = report.lines[0].location if report.lines else None
    return report.results[0].worst, "" if line is None else line.text


# %%
# For small anomalies E - sin E is a series, whose terms are not almost equal to anything.


def time_by_series(anomaly: Numbers) -> Numbers:
    square = anomaly**2
    series = anomaly * square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)))
    return (1 - ECCENTRICITY) * anomaly + ECCENTRICITY * series


def main(path: str = "digit_hunt.png", *, count: int = 80) -> dict[str, float | str]:
    times = np.geomspace(1e-7, 1e-2, count).astype(np.float32)
    before, line = lost_in(times[count // 4], time_of)
    after, _ = lost_in(times[count // 4], time_by_series)
    digits = {
        "as it is in books": accuracy.digits(lambda t: place(t, time_of)),
        "by a series": accuracy.digits(lambda t: place(t, time_by_series)),
    }
    rows = {name: np.asarray(jax.jit(jax.vmap(f))(times)[1]) for name, f in digits.items()}
    draw(path, times, rows)
    return {
        "digits that are right": before,
        "the line that lost the others": line,
        "digits that are right with a series": after,
    }


def draw(path: str, times: np.ndarray, rows: dict[str, np.ndarray]) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(8.4, 3.6))
    for label, time in (("as it is in books", time_of), ("by a series", time_by_series)):
        x, y = np.asarray(jax.vmap(lambda t, f=time: place(t, f))(times)).T
        left.plot(x * 1e3, y * 1e3, ".-", ms=3, lw=0.6, label=label)
    left.plot(0, 0, "o", color="C1")
    left.set(xlabel="thousandths of the half axis", xlim=(-0.5, 0.1), ylim=(0, 0.4))
    left.set_title("A comet leaves the sun, in float32")
    left.legend()
    for name, digits in rows.items():
        right.plot(times, digits.min(1), label=name)
    right.set(xlabel="time", xscale="log", ylim=(0, 8))
    right.set_title("Digits of its place that are right")
    right.legend()
    figure.savefig(path, dpi=88)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value if isinstance(value, str) else f'{value:.1f}'}")
