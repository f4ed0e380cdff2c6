"""Generators of random numbers of NumPy's and Python's.

A compiled program has the numbers that were drawn when it was recorded. Where the program seeds the
generator itself, these are the numbers of each call. Else they would be repeated, and are refused.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tinyjax.core.tracing.trace import current_trace

GENERATORS: Final = (np.random.Generator, np.random.RandomState, random.Random)
#: What makes generators.
MAKERS: Final = (np.random.default_rng, *GENERATORS)
#: Methods that give a generator a state, and those that only ask for it.
_SEEDING: Final = {"seed", "set_state", "setstate"}
_ASKING: Final = {"get_state", "getstate"}
REFUSAL: Final = (
    "random numbers are drawn by a generator that the program does not seed, and a compiled "
    "program would repeat them in each call. Make the generator in the function, "
    "np.random.default_rng(seed), or take the numbers as an argument."
)


class SeededGenerators:
    """The generators that a program seeds itself."""

    def __init__(self) -> None:
        self._generators: list[Any] = []

    def repeats(self, fun: Any, args: tuple[Any, ...]) -> bool:
        """Return whether a call draws numbers that a compiled program would repeat."""
        if fun is np.random.seed:
            fun = np.random.mtrand._rand.seed
        owner = getattr(fun, "__self__", args[0] if args else None)
        if not isinstance(owner, GENERATORS) or any(owner is x for x in self._generators):
            return False
        if fun.__name__ in _SEEDING:
            self._generators.append(owner)
            return False
        return fun.__name__ not in _ASKING and is_recorded()

    def follow(
        self, fun: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any
    ) -> None:
        """Note a generator that a call makes of a seed."""
        has_seed = any(x is not None for x in (*args, *kwargs.values()))
        if has_seed and any(fun is x for x in MAKERS):
            self._generators.append(result)


def is_recorded() -> bool:
    """Return whether a program is recorded, to be compiled."""
    trace = current_trace()
    while not trace.stages and trace.parent is not trace:
        trace = trace.parent
    return trace.stages
