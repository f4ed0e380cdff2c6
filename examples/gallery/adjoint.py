"""A derivative to read.

A program in plain Python, and beside it the program that tinyjax writes for its derivative. A ball
flies through air that slows it, in a loop that runs until it is down. `tinyjax.source` reads this,
and writes its adjoint, which goes through the flight backwards. A variable and its cotangent have
one colour. The slopes that the adjoint gives then lead to the farthest throw.
"""

import inspect
import math
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from tinyjax import source

# %%
# The program. It ends with a straight line from the last place to the ground.


def throw(angle: float) -> float:
    """Return the distance that the ball flies, in metres."""
    x, y = 0.0, 0.0
    u, v = 30 * math.cos(angle), 30 * math.sin(angle)
    while y >= 0:
        drag = 0.01 * math.hypot(u, v)
        u = u - 0.005 * drag * u
        v = v - 0.005 * (drag * v + 9.81)
        x = x + 0.005 * u
        y = y + 0.005 * v
    return x - y * u / v


# %%
# The farthest throw: climb along the slope. That is exact for the steps of each flight, whose
# number Python's loop decides. Where a flight needs one step less, the slope jumps a little.


def climb(angle: float, rounds: int) -> list[float]:
    """The angles on the way to the farthest throw."""
    angles = [angle]
    for _ in range(rounds):
        angles.append(angles[-1] + 0.002 * source.grad(throw)(angles[-1]))
    return angles


def main(path: str = "adjoint.png", *, rounds: int = 50) -> dict[str, float]:
    program = inspect.getsource(throw)
    adjoint = source.adjoint_source(throw)
    angles = climb(1.25, rounds)
    draw(path, program, adjoint[adjoint.index("def ") :], angles)
    return {
        "best angle in degrees": math.degrees(angles[-1]),
        "farthest throw in metres": throw(angles[-1]),
        "slope at the start, in metres per degree": math.radians(source.grad(throw)(angles[0])),
    }


# %%
# The picture: text in the colours of its variables, and the throws.

COLORS = {"x": "C0", "y": "C1", "u": "C2", "v": "C3", "drag": "C4", "angle": "C5"}


def write(axes: Axes, title: str, text: str) -> None:
    """Write a program, each variable and its cotangent (d_x of x, say) in their colour."""
    axes.set_title(title, loc="left")
    axes.set_axis_off()
    for row, line in enumerate(text.splitlines()):
        for word in re.finditer(r"\S+?\b|\S+", line):
            name = re.sub(r"^d_|_\d+$", "", word[0])
            axes.annotate(
                word[0],
                (0, 1),
                (4.82 * word.start(), -10.3 * (row + 1)),  # a letter is 4.82 points wide
                xycoords="axes fraction",
                textcoords="offset points",
                color=COLORS.get(name, "0.25"),
                weight="bold" if word[0].startswith("d_") and name in COLORS else "normal",
                size=8,
                family="monospace",
            ).set_in_layout(False)


def draw(path: str, program: str, adjoint: str, angles: list[float]) -> None:
    figure, panels = plt.subplot_mosaic(
        "pa;ta", layout="constrained", figsize=(10, 7.5), height_ratios=(1.8, 3.6)
    )
    write(panels["p"], "The program, as written", program)
    write(panels["a"], "Its adjoint, as tinyjax writes it", adjoint)
    grid = np.linspace(0.15, 1.35, 200)
    axes = panels["t"]
    axes.plot(np.degrees(grid), [throw(a) for a in grid], color="0.6")
    for i, angle in enumerate(angles[:4]):
        value, slope = source.value_and_grad(throw)(angle)
        ends = np.array([angle - 0.12, angle + 0.12])
        axes.plot(np.degrees(ends), value + slope * (ends - angle), f"C{i}", lw=1.5)
        axes.plot(math.degrees(angle), value, f"C{i}o")
        axes.annotate(f"{i + 1}", (math.degrees(angle), value), (0, 6), textcoords="offset points")
    axes.set(xlabel="angle of the throw, degrees", ylabel="distance, m")
    axes.set_title("Climbing along the slope: the first throws", loc="left")
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
