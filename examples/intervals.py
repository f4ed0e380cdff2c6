"""A function on intervals: bounds of all its values, with a proof.

A context of ``source.with_context`` that computes with intervals in place of numbers, and rounds
their ends outwards. The function is plain Python, and its gradient has bounds in the same way.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np

from boxes import REARRANGING, BoxContext, total
from tinyjax import source
from tinyjax.errors import ArgumentError, SourceError
from tinyjax.source.adjoint.rules.formulas import exponent_slope
from tinyjax.source.ir.runtime import Box, is_in

#: The lower and the upper end; float64, numbers or arrays.
Ends = tuple[Any, Any]

#: The operations that IEEE 754 rounds correctly are off by half a unit in the last place.
EXACT: Final = 1
#: What NumPy's elementary functions are off by is at most four units.
LIBRARY: Final = 5

#: Gives the ends of a result from intervals.
Rule = Callable[..., "Interval"]


def _end(value: Any) -> Any:
    end = np.asarray(value, np.float64)
    return end[()] if end.ndim == 0 else end


@attrs.frozen(eq=False, repr=False)
class Interval(Box):
    """All numbers between two, these included; or, elementwise, all arrays between two.

    Attributes:
        lower: the least, float64.
        upper: the greatest.

    Raises:
        ArgumentError: the lower end is above the upper one, or one is not a number.

    Example:
        >>> from intervals import Interval
        >>> x = Interval(1.0, 2.0)
        >>> x, float(x.width), 1.5 in x
        ([1.0, 2.0], 1.0, True)
    """

    lower: Any = attrs.field(converter=_end)
    upper: Any = attrs.field(converter=_end)

    def __attrs_post_init__(self) -> None:
        if np.shape(self.lower) != np.shape(self.upper) or not np.all(self.lower <= self.upper):
            raise ArgumentError(
                f"an interval goes from its lower end up to its upper end, but got {self.lower} "
                f"and {self.upper}."
            )

    @property
    def width(self) -> Any:
        """The distance between its ends."""
        return self.upper - self.lower

    def __contains__(self, value: Any) -> bool:
        return bool(np.all((self.lower <= value) & (value <= self.upper)))

    def __repr__(self) -> str:
        if np.ndim(self.lower) == 0:
            return f"[{float(self.lower)!r}, {float(self.upper)!r}]"
        return f"[{self.lower.tolist()}, {self.upper.tolist()}]"

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, index: Any) -> Interval:
        return Interval(self.lower[index], self.upper[index])

    def __bool__(self) -> bool:
        raise SourceError(
            "an interval has no truth value outside of a context. Use with_context("
            "IntervalArithmetic(), f)."
        )


def as_interval(x: Any) -> Interval:
    """A number as the interval that holds nothing else."""
    if isinstance(x, Interval):
        return x
    if np.any(np.isnan(x)):  # nothing is known of it
        return Interval(np.where(np.isnan(x), -np.inf, x), np.where(np.isnan(x), np.inf, x))
    return Interval(x, x)


class IntervalArithmetic(BoxContext[Interval]):
    """Evaluates a function on intervals: the result holds all results on what these hold.

    Every operation rounds outwards, so that this is so of the real numbers, whatever is lost to
    rounding. Where a variable is used twice its interval counts twice (``x - x`` is not 0), and
    the result may be wider than need be. A condition must be true, or false, on all of an interval.

    Arguments that are no intervals are taken as they are; arrays are taken as float64.

    Raises:
        SourceError: a condition is undecided, a function is not defined on the whole interval, or
            nothing is known of what it gives.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> from intervals import Interval, IntervalArithmetic
        >>> def wave(x):
        ...     return math.sin(x) + x / 4
        >>> y = source.with_context(IntervalArithmetic(), wave)(Interval(0.0, 2.0))
        >>> round(float(y.lower), 6), round(float(y.upper), 6)
        (-0.0, 1.5)
    """

    box = Interval

    def shape_of(self, box: Interval) -> tuple[int, ...]:
        return np.shape(box.lower)

    def own(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if fun is exponent_slope:  # which is called where its result is not used, too
            shape = self.shape(args[1])
            return Interval(np.full(shape, -np.inf), np.full(shape, np.inf))
        return super().own(fun, args)

    def apply(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            return self.enclose(fun, args, kwargs)

    def enclose(
        self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Enclose the results of a function over all that its arguments hold."""
        if is_in(fun, _COMPARISONS):
            return self.decide(fun, as_interval(args[0]), as_interval(args[1]))
        if is_in(fun, _QUESTIONS):
            return fun(*self.mapped(_lower, args), **kwargs)
        if fun is builtins.sum:
            return total(lambda x, y: self.call(operator.add, x, y), *args, **kwargs)
        if is_in(fun, _EXTREMES) and not kwargs:
            items = args[0] if len(args) == 1 else args
            return total(_EXTREMES[fun], items[1:], items[0])
        if fun is operator.not_:
            return not self.decide(operator.ne, as_interval(args[0]), as_interval(0.0))
        if is_in(fun, REARRANGING) or fun is operator.getitem:
            lower = fun(*self.mapped(_lower, args), **self.mapped(_lower, kwargs))
            upper = fun(*self.mapped(_upper, args), **self.mapped(_upper, kwargs))
            if isinstance(lower, (list, Interval, tuple, dict)):  # of containers
                return lower if not isinstance(lower, list) else self.paired(lower, upper)
            return Interval(lower, upper)
        if fun is np.where and len(args) == 3 and not isinstance(args[0], Interval):
            a, b = as_interval(args[1]), as_interval(args[2])
            return Interval(
                np.where(args[0], a.lower, b.lower), np.where(args[0], a.upper, b.upper)
            )
        rule = RULES[fun] if is_in(fun, RULES) else None
        if rule is None:
            name = getattr(fun, "__name__", repr(fun))
            raise SourceError(
                f"no interval is known of what {name} gives of an interval. Write it with "
                "operators and the functions of math and NumPy that are known, or override "
                "IntervalArithmetic.call.",
                self.location,
            )
        try:
            return rule(*args, **kwargs)
        except UndefinedError as error:
            raise SourceError(
                f"{getattr(fun, '__name__', fun)} is not defined on all of {error.args[0]}. "
                "Give a smaller interval.",
                self.location,
            ) from None

    def paired(self, lower: list[Any], upper: list[Any]) -> list[Any]:
        return [Interval(a, b) for a, b in zip(lower, upper, strict=True)]

    def decide(self, fun: Callable[..., Any], a: Interval, b: Interval) -> Any:
        """Compare intervals all of whose elements compare alike."""
        match fun.__name__:
            case "lt" | "less":
                true, false = a.upper < b.lower, a.lower >= b.upper
            case "le" | "less_equal":
                true, false = a.upper <= b.lower, a.lower > b.upper
            case "gt" | "greater":
                true, false = a.lower > b.upper, a.upper <= b.lower
            case "ge" | "greater_equal":
                true, false = a.lower >= b.upper, a.upper < b.lower
            case _:
                apart = (a.upper < b.lower) | (a.lower > b.upper)
                same = (a.lower == a.upper) & (b.lower == b.upper) & (a.lower == b.lower)
                equal = fun.__name__ in ("eq", "equal")
                true, false = (same, apart) if equal else (apart, same)
        if not np.all(true | false):
            symbol = _SYMBOLS.get(fun.__name__, fun.__name__)
            raise SourceError(
                f"whether {a} {symbol} {b} is undecided: it is true for some of the numbers in "
                "the interval and false for others. Divide it, and evaluate on the parts.",
                self.location,
            )
        return true if np.ndim(true) else bool(true)


class UndefinedError(Exception):
    """A function is not defined on all of an interval, which is the argument."""


def _lower(x: Any) -> Any:
    return x.lower if isinstance(x, Interval) else x


def _upper(x: Any) -> Any:
    return x.upper if isinstance(x, Interval) else x


# Rounding


def outward(ends: Ends, steps: int) -> Ends:
    """Move the ends outwards by so many units in the last place."""
    lower, upper = ends
    for _ in range(steps):
        lower, upper = np.nextafter(lower, -np.inf), np.nextafter(upper, np.inf)
    return lower, upper


def increasing(function: Callable[..., Any], ends: Ends) -> Ends:
    """The ends of the values of an increasing function."""
    return outward((function(ends[0]), function(ends[1])), LIBRARY)


def decreasing(function: Callable[..., Any], ends: Ends) -> Ends:
    """The ends of the values of a decreasing function."""
    return outward((function(ends[1]), function(ends[0])), LIBRARY)


def summed(ends: Ends, axis: Any, keepdims: bool) -> Ends:
    """The ends of a sum, in whatever order it is taken.

    The error of summing n numbers is at most about n units of rounding of the sum of their
    magnitudes (Higham, "Accuracy and Stability of Numerical Algorithms", 4.2).
    Twice that covers the rounding of the bound itself.
    """
    bounds = []
    for end, sign in zip(ends, (-1, 1), strict=True):
        value = np.sum(end, axis=axis, keepdims=keepdims)
        count = np.size(end) / max(np.size(value), 1)
        sizes = np.sum(np.abs(end), axis=axis, keepdims=keepdims)
        bounds.append(value + sign * 2 * count * np.finfo(np.float64).eps * sizes)
    return outward((bounds[0], bounds[1]), EXACT)


# Arithmetic


def add(a: Any, b: Any) -> Interval:
    """The interval of a sum."""
    x, y = as_interval(a), as_interval(b)
    return _rounded((x.lower + y.lower, x.upper + y.upper))


def negative(a: Any) -> Interval:
    """The interval of the negative."""
    x = as_interval(a)
    return Interval(-x.upper, -x.lower)


def subtract(a: Any, b: Any) -> Interval:
    """The interval of a difference."""
    return add(a, negative(b))


def multiply(a: Any, b: Any) -> Interval:
    """The interval of a product."""
    x, y = as_interval(a), as_interval(b)
    products = [np.multiply(p, q) for p in (x.lower, x.upper) for q in (y.lower, y.upper)]
    finite = [np.where(np.isnan(p), 0.0, p) for p in products]  # 0 times infinity
    return _rounded((np.minimum.reduce(finite), np.maximum.reduce(finite)))


def reciprocal(a: Any) -> Interval:
    """The interval of one over a number: all numbers, where it may be zero."""
    x = as_interval(a)
    zero = (x.lower <= 0) & (x.upper >= 0)
    lower = np.where(zero, -np.inf, np.divide(1.0, x.upper))
    upper = np.where(zero, np.inf, np.divide(1.0, x.lower))
    return _rounded((lower, upper))


def divide(a: Any, b: Any) -> Interval:
    """The interval of a quotient: all numbers, where the divisor may be zero."""
    x, y = as_interval(a), as_interval(b)
    zero = (y.lower <= 0) & (y.upper >= 0)
    quotients = [np.divide(p, q) for p in (x.lower, x.upper) for q in (y.lower, y.upper)]
    lower = np.where(zero, -np.inf, np.minimum.reduce(quotients))
    upper = np.where(zero, np.inf, np.maximum.reduce(quotients))
    bad = np.isnan(lower) | np.isnan(upper)  # infinity over infinity
    return _rounded((np.where(bad, -np.inf, lower), np.where(bad, np.inf, upper)))


def absolute(a: Any) -> Interval:
    """The interval of the absolute value."""
    x = as_interval(a)
    low, high = np.abs(x.lower), np.abs(x.upper)
    crosses = (x.lower <= 0) & (x.upper >= 0)
    return Interval(np.where(crosses, 0.0, np.minimum(low, high)), np.maximum(low, high))


def power(a: Any, n: Any) -> Interval:
    """The interval of a power."""
    if isinstance(n, (int, float)) and float(n).is_integer():
        if n < 0:
            return reciprocal(power(a, -n))
        x = as_interval(a) if n % 2 else absolute(a)
        return _rounded((x.lower**n, x.upper**n), LIBRARY)
    x = as_interval(a)
    if np.any(x.lower < 0) or (np.any(x.lower == 0) and np.any(as_interval(n).lower <= 0)):
        raise UndefinedError(x)
    if not isinstance(n, Interval):
        ends = (x.lower**n, x.upper**n)
        return _rounded((np.minimum(*ends), np.maximum(*ends)), LIBRARY)
    corners = [p**q for p in (x.lower, x.upper) for q in (n.lower, n.upper)]
    return _rounded((np.minimum.reduce(corners), np.maximum.reduce(corners)), LIBRARY)


def square(a: Any) -> Interval:
    """The interval of a square."""
    return power(a, 2)


def minimum(a: Any, b: Any) -> Interval:
    """The interval of the lesser."""
    x, y = as_interval(a), as_interval(b)
    return Interval(np.minimum(x.lower, y.lower), np.minimum(x.upper, y.upper))


def maximum(a: Any, b: Any) -> Interval:
    """The interval of the greater."""
    x, y = as_interval(a), as_interval(b)
    return Interval(np.maximum(x.lower, y.lower), np.maximum(x.upper, y.upper))


def clip(a: Any, low: Any, high: Any) -> Interval:
    """The interval of a number that is kept within bounds."""
    return minimum(maximum(a, low), high)


def hypot(a: Any, b: Any) -> Interval:
    """The interval of a hypotenuse."""
    x, y = absolute(a), absolute(b)
    return _rounded((np.hypot(x.lower, y.lower), np.hypot(x.upper, y.upper)), LIBRARY)


def _rounded(ends: Ends, steps: int = EXACT) -> Interval:
    return Interval(*outward(ends, steps))


# Reductions and products


def sum_of(a: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    """The interval of a sum of the elements."""
    x = as_interval(a)
    return Interval(*summed((x.lower, x.upper), axis, keepdims))


def mean_of(a: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    """The interval of a mean of the elements."""
    total = sum_of(a, axis, keepdims)
    return divide(total, np.size(as_interval(a).lower) / np.size(total.lower))


def largest(a: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    """The interval of the greatest element."""
    x = as_interval(a)
    return Interval(*[np.max(end, axis=axis, keepdims=keepdims) for end in (x.lower, x.upper)])


def smallest(a: Any, axis: Any = None, keepdims: bool = False) -> Interval:
    """The interval of the least element."""
    x = as_interval(a)
    return Interval(*[np.min(end, axis=axis, keepdims=keepdims) for end in (x.lower, x.upper)])


def matmul(a: Any, b: Any) -> Interval:
    """The interval of a matrix product."""
    x, y = as_interval(a), as_interval(b)
    if np.ndim(x.lower) == 0 or np.ndim(y.lower) == 0:
        return multiply(x, y)
    vector = np.ndim(y.lower) == 1
    if vector:
        return sum_of(multiply(x, y), axis=-1)
    left = Interval(x.lower[..., None], x.upper[..., None])
    right = Interval(y.lower[..., None, :, :], y.upper[..., None, :, :])
    if np.ndim(x.lower) == 1:
        right = y
    return sum_of(multiply(left, right), axis=-2)


# Elementary functions


def rising(function: Callable[..., Any], low: float = -math.inf, high: float = math.inf) -> Rule:
    """The rule of an increasing function, defined between two numbers."""

    def rule(a: Any) -> Interval:
        x = _monotone_on(a, low, high)
        return Interval(*increasing(function, (x.lower, x.upper)))

    return rule


def falling(function: Callable[..., Any], low: float = -math.inf, high: float = math.inf) -> Rule:
    """The rule of a decreasing function, defined between two numbers."""

    def rule(a: Any) -> Interval:
        x = _monotone_on(a, low, high)
        return Interval(*decreasing(function, (x.lower, x.upper)))

    return rule


def _monotone_on(a: Any, low: float, high: float) -> Interval:
    x = as_interval(a)
    if np.any(x.lower < low) or np.any(x.upper > high):
        raise UndefinedError(x)
    return x


def even(function: Callable[..., Any]) -> Rule:
    """The rule of a function of the absolute value that increases."""
    return lambda a: rising(function)(absolute(a))


def sine(a: Any) -> Interval:
    """The interval of a sine."""
    return _wave(np.sin, as_interval(a), math.pi / 2)


def cosine(a: Any) -> Interval:
    """The interval of a cosine."""
    return _wave(np.cos, as_interval(a), 0.0)


def _holds(x: Interval, point: float, period: float) -> Any:
    """Return whether an interval may hold a point, or one that is whole periods away."""
    slack = 1e-15 * (1 + np.maximum(np.abs(x.lower), np.abs(x.upper)))
    iterations = np.ceil((x.lower - slack - point) / period)
    return (point + iterations * period <= x.upper + slack) | ~np.isfinite(x.width)


def _wave(function: Callable[..., Any], x: Interval, top: float) -> Interval:
    ends = [function(x.lower), function(x.upper)]
    lower, upper = outward((np.minimum(*ends), np.maximum(*ends)), LIBRARY)
    lower = np.where(_holds(x, top + math.pi, 2 * math.pi), -1.0, np.maximum(lower, -1.0))
    upper = np.where(_holds(x, top, 2 * math.pi), 1.0, np.minimum(upper, 1.0))
    return Interval(lower, upper)


def tangent(a: Any) -> Interval:
    """The interval of a tangent, which must not have a pole in between."""
    x = as_interval(a)
    if np.any(_holds(x, math.pi / 2, math.pi)):
        raise UndefinedError(x)
    return Interval(*increasing(np.tan, (x.lower, x.upper)))


def same(a: Any) -> Interval:
    """The interval itself."""
    return as_interval(a)


RULES: Final[dict[Callable[..., Any], Rule]] = {
    **dict.fromkeys((operator.add, np.add), add),
    **dict.fromkeys((operator.sub, np.subtract), subtract),
    **dict.fromkeys((operator.mul, np.multiply), multiply),
    **dict.fromkeys((operator.truediv, np.divide), divide),
    **dict.fromkeys((operator.pow, math.pow, np.power, np.float_power), power),
    **dict.fromkeys((operator.neg, np.negative), negative),
    **dict.fromkeys((operator.pos, np.positive, float, np.float64), same),
    **dict.fromkeys((abs, math.fabs, np.abs, np.fabs), absolute),
    **dict.fromkeys((operator.matmul, np.matmul, np.dot), matmul),
    **dict.fromkeys((math.hypot, np.hypot), hypot),
    np.square: square,
    np.reciprocal: reciprocal,
    np.minimum: minimum,
    np.maximum: maximum,
    np.clip: clip,
    np.sum: sum_of,
    math.fsum: lambda items: total(add, items),
    np.mean: mean_of,
    **dict.fromkeys((np.max, np.amax), largest),
    **dict.fromkeys((np.min, np.amin), smallest),
    **dict.fromkeys((math.sin, np.sin), sine),
    **dict.fromkeys((math.cos, np.cos), cosine),
    **dict.fromkeys((math.tan, np.tan), tangent),
    **dict.fromkeys((math.cosh, np.cosh), even(np.cosh)),
    **dict.fromkeys((math.log, np.log), rising(np.log, 0.0)),
    **dict.fromkeys((math.log2, np.log2), rising(np.log2, 0.0)),
    **dict.fromkeys((math.log10, np.log10), rising(np.log10, 0.0)),
    **dict.fromkeys((math.log1p, np.log1p), rising(np.log1p, -1.0)),
    **dict.fromkeys((math.sqrt, np.sqrt), rising(np.sqrt, 0.0)),
    **dict.fromkeys((math.asin, np.arcsin), rising(np.arcsin, -1.0, 1.0)),
    **dict.fromkeys((math.acos, np.arccos), falling(np.arccos, -1.0, 1.0)),
    **dict.fromkeys((math.acosh, np.arccosh), rising(np.arccosh, 1.0)),
    **dict.fromkeys((math.atanh, np.arctanh), rising(np.arctanh, -1.0, 1.0)),
    **{
        fun: rising(known)
        for name, known in (
            ("exp", np.exp), ("expm1", np.expm1), ("sinh", np.sinh), ("tanh", np.tanh),
            ("asinh", np.arcsinh), ("atan", np.arctan),
        )
        for fun in (getattr(math, name), known)
    },
}  # fmt: skip
_COMPARISONS: Final = frozenset(
    (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
     np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
)  # fmt: skip
_SYMBOLS: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
#: Queries of the type or the shape.
_QUESTIONS: Final = frozenset(
    (len, isinstance, type, np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.empty_like)
)
_EXTREMES: Final[dict[Any, Rule]] = {builtins.min: minimum, builtins.max: maximum}


def wave(x: float) -> float:
    """A function to bound."""
    return math.sin(x) + x / 4


def main() -> None:
    x = Interval(0.5, 1.0)
    for title, fun in (("values", wave), ("slopes", source.grad(wave))):
        y = source.with_context(IntervalArithmetic(), fun)(x)
        print(f"{title}: between {y.lower:.6f} and {y.upper:.6f}")


if __name__ == "__main__":
    main()
