"""Arguments for a parameter: by function and name, by name, or by annotation.

A strategy takes the arguments drawn so far, and returns the argument, or ``UNSET`` to leave the
parameter at its default.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.testing.libraries import drawing
from tinyjax.testing.libraries.drawn_calls import DrawnArray

__all__ = ["BY_ANNOTATION", "BY_NAME", "UNSET", "Drawn", "Strategy"]


class Unset(Enum):
    """The mark of a parameter that is left at its default."""

    UNSET = 0


UNSET: Final = Unset.UNSET


@attrs.define(eq=False)
class Drawn:
    """A call with the arguments drawn so far.

    Attributes:
        path: of the function.
        draw: the source of random draws.
        shape: of the first array.
        dtype: of the first array.
        values: the arguments, by name.
    """

    path: str
    draw: drawing.Draw
    shape: drawing.Shape | None = None
    dtype: dtypes.DType | None = None
    values: dict[str, Any] = attrs.field(factory=dict)

    @property
    def strict(self) -> bool:
        """Return whether the function neither broadcasts nor promotes."""
        return self.path.startswith("lax.")

    @property
    def ndim(self) -> int:
        return len(self.shape or ())

    def operand(
        self,
        shape: drawing.Shape | None = None,
        dtype: dtypes.DType | None = None,
        kinds: str = "biufc",
        **options: Any,
    ) -> DrawnArray:
        """Draw an array; the first one determines the kind of the others."""
        if shape is None:
            shape = self.shape_beside()
        if dtype is None:
            dtype = self.dtype_beside(kinds)
        if self.shape is None:
            self.shape, self.dtype = shape, dtype
        return DrawnArray(self.draw.array(shape, dtype, **options), self.draw.chance(0.1))

    def shape_beside(self) -> drawing.Shape:
        """Return a shape that most often goes with the first array's."""
        d = self.draw
        if self.shape is None:
            return d.shape()
        if d.chance(0.9 if self.strict else 0.6):
            return self.shape
        return d.beside(self.shape) if d.chance(0.8) else d.shape()

    def dtype_beside(self, kinds: str = "biufc") -> dtypes.DType:
        """Return a dtype that most often is the first array's."""
        d = self.draw
        if d.smooth:
            kinds = kinds if not set(kinds) & set("fc") else "".join(set(kinds) & set("fc"))
        same = self.dtype is not None and dtypes.kind(self.dtype) in kinds
        if same and self.dtype is not None and d.chance(0.95 if self.strict else 0.6):
            return self.dtype
        return d.dtype(kinds)


Strategy = Callable[[Drawn], Any]


# Strategies


def array_like(call: Drawn) -> Any:
    if call.draw.chance(0.1):
        return call.draw.number()
    return call.operand()


def fixed(*choices: Any) -> Strategy:
    """One of these."""
    return lambda call: call.draw.one(choices)


sections: Final = fixed(1, 2, 3, 0, [1], [1, 2], [2, 1], (0, 5), [-1])
order: Final = fixed(None, 1, 2, np.inf, -np.inf, 0, 3, "fro", "nuc", -1, -2)


def left_out(call: Drawn) -> Any:
    return UNSET


def optional(strategy: Strategy, often: float = 0.3) -> Strategy:
    """Given so often, else left out."""
    return lambda call: strategy(call) if call.draw.chance(often) else UNSET


def sometimes_none(strategy: Strategy) -> Strategy:
    return lambda call: strategy(call) if call.draw.chance(0.6) else None


def whole(low: int, high: int) -> Strategy:
    return lambda call: call.draw.randint(low, high)


def axis(call: Drawn) -> int:
    """Return an axis of the first array; one in twelve is out of range."""
    n = call.ndim
    if n == 0 or call.draw.chance(0.08):
        return call.draw.randint(-n - 1, n)
    return call.draw.randint(-n, n - 1)


def axes(call: Drawn) -> tuple[int, ...]:
    """Some axes of the first array; one in twelve times repeated or out of range."""
    n = call.ndim
    if call.draw.chance(0.08):
        return (axis(call), axis(call))
    return tuple(a - n if call.draw.chance(0.3) else a for a in call.draw.some(range(n), 3))


def nonnegative_axes(call: Drawn) -> tuple[int, ...]:
    return tuple(sorted(a % call.ndim if call.ndim else a for a in axes(call)))


def axis_or_axes(call: Drawn) -> Any:
    return call.draw.one((lambda c: None, axis, axis, axes))(call)


def axis_or_none(call: Drawn) -> int | None:
    return None if call.draw.chance(0.3) else axis(call)


def mask(call: Drawn) -> Any:
    return call.operand(shape=call.shape_beside(), dtype=dtypes.bool_)


def any_dtype(call: Drawn) -> dtypes.DType:
    return call.draw.dtype()


def new_shape(call: Drawn) -> Any:
    if call.draw.chance(0.15):
        return call.draw.randint(0, 3)
    return call.draw.shape()


def arrays(call: Drawn) -> list[Any]:
    return [array_like(call) for _ in range(call.draw.randint(1, 3))]


def key(call: Drawn) -> DrawnArray:
    return DrawnArray(np.array([call.draw.randint(0, 9), call.draw.randint(0, 9)], np.uint32))


def ranks(most: int, *numbers: float) -> Strategy:
    """Quantiles up to the greatest: an array of them, or one of these numbers."""

    def strategy(call: Drawn) -> Any:
        if call.draw.chance(0.3):
            return call.draw.one(numbers)
        shape = call.draw.one(((), (2,)))
        return DrawnArray(call.draw.array(shape, call.draw.dtype("f"), 0, most, plain=True))

    return strategy


quantiles: Final = ranks(1, 0.5, 0.25, 0, 1)

#: By annotation, spaces and quotes left out.
BY_ANNOTATION: Final[dict[str, Strategy]] = {
    **dict.fromkeys(
        (
            *("ArrayLike", "ArrayLike|ShapeDtypeStruct", "ArrayLike|str", "Array", "Nested", "Any"),
            "ArrayLike|ShapeDtypeStruct|ScalarType|None",
        ),
        array_like,
    ),
    **dict.fromkeys(
        (
            *("Sequence[ArrayLike]|Array", "Sequence[ArrayLike]"),
            "Array|HostArray|Sequence[ArrayLike]",
        ),
        arrays,
    ),
    **dict.fromkeys(("Axis", "int|Sequence[int]|None"), axis_or_axes),
    **dict.fromkeys(("object", "None"), left_out),
    "Array|HostArray": lambda call: call.operand(),
    "ArrayLike|None": optional(array_like),
    "int|None": axis_or_none,
    "int|Sequence[int]": lambda call: axis(call) if call.draw.chance(0.6) else axes(call),
    "Sequence[int]": nonnegative_axes,
    "Sequence[int]|None": optional(nonnegative_axes),
    "int": whole(-1, 3),
    "bool": fixed(False, True),
    "bool|None": fixed(None, False, True),
    "DTypeLike": any_dtype,
    "Shape": new_shape,
    "Shape|None": sometimes_none(new_shape),
    "Sections": sections,
    "Order": order,
    "Method": fixed("linear", "lower", "higher", "midpoint", "nearest"),
    "float": fixed(0.5, 2.0, -1.0),
    "float|None": optional(fixed(0.1, 1e-3)),
}

#: By name, whatever the function; read before the annotation.
BY_NAME: Final[dict[str, Strategy]] = {
    **dict.fromkeys(
        (
            *("axis_index_groups", "check_finite", "checkpoints", "copy", "debug", "impl", "out"),
            *("overwrite_a", "overwrite_b", "overwrite_input", "precision", "unroll"),
            "unique_indices",  # what comes of a promise that is broken is not defined
        ),
        left_out,
    ),
    **dict.fromkeys(("axis1", "axis2", "axisa", "axisb", "axisc", "dimension"), axis),
    **dict.fromkeys(("key", "keys"), key),
    **dict.fromkeys(("k", "offset"), whole(-2, 2)),
    **dict.fromkeys(("num", "size"), whole(0, 4)),
    "where": optional(mask),
    "initial": optional(fixed(0, 1, 2.0, -1, True)),
    "preferred_element_type": optional(any_dtype, 0.15),
    "dimensions": nonnegative_axes,
    "ddof": whole(0, 2),
    "correction": optional(fixed(0, 1, 0.5)),
    "q": quantiles,
}
