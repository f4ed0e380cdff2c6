"""A row of the table: a function of a package, and three inputs at which it is smooth."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

#: What a row's function takes: one number or an array of them.
Input = float | npt.NDArray[np.float64]


@attrs.frozen(eq=False)
class Row:
    """A function of a package, from one float64 or an array of them to a number."""

    #: As the package index spells it.
    package: str
    name: str
    #: Packages have no types that ours could be checked with.
    function: Callable[[Any], Any]
    inputs: tuple[Input, Input, Input]
    #: The step of central differences, relative to each number.
    step: float = 1e-3
    #: The tolerance of the gradient, relative to its largest component.
    tolerance: float = 1e-5
    #: The tolerance of values, likewise.
    rounding: float = 1e-10
    #: The compiled code of the package itself that computes this; such rows are not counted.
    compiled: str = ""

    def points(self) -> list[np.float64 | npt.NDArray[np.float64]]:
        """Return fresh inputs, in NumPy's types."""
        return [np.float64(x) if np.ndim(x) == 0 else np.array(x) for x in self.inputs]

    def stacked(self) -> npt.NDArray[np.float64]:
        return np.stack([np.asarray(x) for x in self.points()])
