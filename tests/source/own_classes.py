"""A class of another module, whose objects a function of a test makes and changes."""

import math

import numpy as np

RATE = 0.25
GRID = np.linspace(0.0, 1.0, 5)


def damped(x: float) -> float:
    return x * math.exp(-x)


class Accumulator:
    """Adds up what a function of its module makes of numbers."""

    def __init__(self, start: float) -> None:
        self.total = damped(start)

    def add(self, x: float) -> None:
        self.total += damped(x) / math.sqrt(2.0)


class Rated:
    """Reads a variable of its module that is neither a function nor a module."""

    def __init__(self, start: float) -> None:
        self.total = start * RATE
