"""The least value of a function, with a proof: branch and bound on intervals.

The function is plain Python. Run on an interval it gives bounds of all its values there, so that
parts whose values are all too large are thrown away, and what is left is halved. Newton's method
would find one of the many local minima, and could not say that it is the least.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush

from intervals import Interval, IntervalArithmetic
from tinyjax import source

LOWER, UPPER, TOLERANCE = -6.0, 8.0, 1e-4


def landscape(x: float) -> float:
    total = 0.05 * (x - 1) ** 2
    for k in range(1, 5):
        total = total + math.sin(k * x + k) / k
    return total


def least(lower: float, upper: float, tolerance: float) -> tuple[Interval, Interval, int]:
    """A part with the least value, this value, and how many intervals were looked at."""
    enclosed = source.with_context(IntervalArithmetic(), landscape)
    best = landscape(lower)
    todo = [(-math.inf, lower, upper)]
    looked = 0
    while True:
        bound, a, b = heappop(todo)  # the part that may have the least value of all
        if best - bound < tolerance:
            return Interval(a, b), Interval(bound, best), looked
        middle = (a + b) / 2
        for part in (Interval(a, middle), Interval(middle, b)):
            values = enclosed(part)
            looked += 1
            best = min(best, landscape(middle))
            if values.lower <= best:
                heappush(todo, (float(values.lower), float(part.lower), float(part.upper)))


def main() -> None:
    where, value, looked = least(LOWER, UPPER, TOLERANCE)
    print(f"least value: between {value.lower:.6f} and {value.upper:.6f}")
    print(f"near: {float(where.lower):.3f}")
    print(f"intervals looked at: {looked}")
    print(f"slope there: {source.grad(landscape)(float(where.lower)):.2f}")


if __name__ == "__main__":
    main()
