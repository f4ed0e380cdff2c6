"""Random parts of calls: shapes, dtypes, arrays with the values at which formulas break.

Shapes and dtypes come from small pools, so that what the reference compiles for one call serves
others; values are free.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final, TypeVar

import numpy as np

from tinyjax import dtypes
from tinyjax.dtypes import DType, HostArray

T = TypeVar("T")

Shape = tuple[int, ...]

#: With how often each is drawn.
SHAPES: Final[dict[Shape, int]] = {
    (): 3,
    (3,): 6,
    (1,): 1,
    (0,): 1,
    (2, 3): 6,
    (2, 1): 1,
    (3, 3): 2,
    (2, 0): 1,
    (2, 2, 3): 2,
}

#: With how often each is drawn.
DTYPES: Final[dict[DType, int]] = {
    dtypes.float32: 8,
    dtypes.float64: 6,
    dtypes.int32: 6,
    dtypes.int64: 3,
    dtypes.bool_: 3,
    dtypes.complex64: 2,
    dtypes.complex128: 2,
    dtypes.bfloat16: 2,
    dtypes.float16: 2,
    dtypes.uint8: 2,
    dtypes.int8: 1,
    dtypes.int16: 1,
    dtypes.uint16: 1,
    dtypes.uint32: 1,
    dtypes.uint64: 1,
    dtypes.float8_e4m3fn: 1,
    dtypes.float8_e5m2: 1,
}
WIDE: Final = frozenset((dtypes.float64, dtypes.complex128, dtypes.int64, dtypes.uint64))
NUMBERS: Final[tuple[Any, ...]] = (0, 1, 2, -1, 3, 0.5, -1.5, 2.0, 0.0, -0.0, True, 1.5 - 2j)

#: The values that are put among others, by kind; integers have their ends besides.
SPECIAL: Final[dict[str, tuple[Any, ...]]] = {
    "f": (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 1e-3, 300.0),
    "c": (0j, 1 + 0j, -1 - 0j, complex(np.inf, 0), complex(np.nan, 1), -2.5j, 3 - 4j),
    "i": (0, 1, -1),
    "u": (0, 1),
    "b": (False, True),
}


class Draw(Random):
    """A source of random draws: one seed gives the same draws in every run.

    Attributes:
        wide: whether 64-bit dtypes are drawn.
        smooth: whether values stay where derivatives exist: no special ones, and no two alike.
    """

    def __init__(self, seed: str, wide: bool = True, smooth: bool = False) -> None:
        super().__init__(seed)
        self.wide = wide
        self.smooth = smooth

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self.random() < probability

    def one(self, choices: Sequence[T]) -> T:
        """Choose one."""
        return choices[self.randrange(len(choices))]

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """Choose some, each at most once, in any order."""
        return self.sample(list(choices), self.randint(0, min(most, len(choices))))

    def weighted(self, choices: dict[T, int]) -> T:
        """Choose one by its weight."""
        return self.choices(list(choices), list(choices.values()))[0]

    def shape(self, ndim: int | None = None) -> Shape:
        """Draw a shape, of so many axes if that is given."""
        if ndim is None:
            return self.weighted(SHAPES)
        weights = {shape: w for shape, w in SHAPES.items() if len(shape) == ndim}
        return (
            self.weighted(weights) if weights else tuple(self.one((1, 2, 3)) for _ in range(ndim))
        )

    def beside(self, shape: Shape) -> Shape:
        """Draw a shape that broadcasts with another."""
        rest = shape[self.randint(0, len(shape)) :]
        return tuple(1 if self.chance(0.2) else n for n in rest)

    def dtype(self, kinds: str = "biufc") -> DType:
        """Draw a dtype of these kinds."""
        return self.weighted(
            {
                d: w
                for d, w in DTYPES.items()
                if dtypes.kind(d) in kinds
                and (self.wide or d not in WIDE)
                and not (self.smooth and d in dtypes.FLOAT8)
            }
        )

    def number(self) -> Any:
        """Draw a Python number."""
        return self.one(NUMBERS)

    def array(
        self, shape: Shape, dtype: DType, low: float = -3.0, high: float = 3.0, plain: bool = False
    ) -> HostArray:
        """Draw an array.

        Args:
            shape: its shape.
            dtype: its dtype.
            low: the least value, but for special ones.
            high: the greatest.
            plain: whether to leave out special values.
        """
        kind = dtypes.kind(dtype)
        size = int(np.prod(shape))
        values: list[Any]
        if kind == "b":
            values = [self.random() < 0.5 for _ in range(size)]
        elif kind in "iu":
            least = 0 if kind == "u" else round(low)
            ends = max(least, round(low)), max(1, round(high))
            values = [self.randint(*ends) for _ in range(size)]
        elif kind == "f":
            values = [self.uniform(low, high) for _ in range(size)]
        else:
            values = [
                complex(self.uniform(low, high), self.uniform(low, high)) for _ in range(size)
            ]
        if not plain and not self.smooth and self.chance(0.35):
            special = list(SPECIAL[kind])
            if kind in "iu":
                special += [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
            for place in self.some(range(size), size):
                values[place] = self.one(special)
        elif kind == "f" and not self.smooth and self.chance(0.3):
            values = [round(2 * v) / 2 for v in values]  # with ties, and exact
        with np.errstate(all="ignore"):
            if kind in "iu":
                return np.array(values, dtype).reshape(shape)
            wide: HostArray = np.array(
                values, {"b": bool, "f": np.float64, "c": np.complex128}[kind]
            )
            return wide.astype(dtype).reshape(shape)
