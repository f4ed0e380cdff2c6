"""What Python knows in each iteration of a loop that is rolled up.

One program stands for all iterations, yet a counter, and what is computed of it and of constants
alone, is known: Python computes it for every iteration, with integers as large as they get and
floats of double precision. Only where it meets a traced value does it become one, looked up by the
number of the iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray

#: A function, and the arguments it is called with.
Recipe: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class NotUniformError(Exception):
    """The iterations of a loop cannot be one program."""


@attrs.frozen(eq=False)
class Iterations:
    """The iterations of a loop that is rolled up.

    Attributes:
        index: the number of the iteration, traced.
        count: how many there are.
    """

    index: Array
    count: int


class Known:
    """A value that Python knows in each iteration of a loop.

    Attributes:
        iterations: the iterations.
        values: what it is in each; None where it depends on a value that is carried and not found
            out yet.
        sample: what it may be, if it is not found out.
        recipe: how it is computed in that case: a function and its arguments.
    """

    __slots__ = ("iterations", "recipe", "sample", "values")

    def __init__(
        self,
        iterations: Iterations,
        values: Sequence[Any] | None,
        sample: Any,
        recipe: Recipe | None = None,
    ) -> None:
        self.iterations: Iterations = iterations
        self.values: Sequence[Any] | None = values
        self.sample: Any = sample
        self.recipe: Recipe | None = recipe

    @property
    def aval(self) -> ShapedArray:
        """Its type as an array."""
        numbers = [self.sample] if self.values is None else self.values
        dtype, weak = _type_of(numbers)
        return ShapedArray((), dtype, weak)

    def array(self) -> Array:
        """The value in the iteration that is staged, as an array.

        Raises:
            NotUniformError: it is not a number, or does not fit.
        """
        numbers = [self.sample] * self.iterations.count if self.values is None else self.values
        dtype, weak = _type_of(numbers)
        try:
            host = np.array(numbers, dtype)
        except OverflowError:
            raise NotUniformError from None
        aval = ShapedArray(host.shape, dtype, weak)
        return jnp.asarray(ConcreteArray(host, aval))[self.iterations.index]

    def at(self, iteration: int) -> Any:
        """The value in an iteration."""
        return self.sample if self.values is None else self.values[iteration]

    def __str__(self) -> str:
        return f"<{self.aval}>" if isinstance(self.sample, _NUMBERS) else "<a text>"


_NUMBERS: Final = (bool, int, float, complex, np.generic)
_PLAIN: Final = (*_NUMBERS, str, bytes, type(None))
#: The iterations that are being staged, of the innermost loop that is rolled up.
current_iterations: ContextVar[Iterations | None] = ContextVar(
    "tinyjax_source_iterations", default=None
)
#: What no value can be made of.
NOT_KNOWN: Final = object()


def _type_of(values: Sequence[Any]) -> tuple[dtypes.DType, bool]:
    kinds = {type(value) for value in values}
    if not all(issubclass(kind, _NUMBERS) for kind in kinds):
        raise NotUniformError
    if any(issubclass(kind, np.generic) for kind in kinds):
        if len(kinds) > 1:
            raise NotUniformError
        return np.dtype(type(values[0])), False
    if kinds == {bool}:
        return dtypes.bool_, False
    if kinds <= {bool, int}:
        return dtypes.int64, True
    return dtypes.default_complex() if complex in kinds else dtypes.default_float(), True


def known_of(values: Sequence[Any], iterations: Iterations) -> Any:
    """What has these values in the iterations: a constant where they are the same in all.

    Returns:
        The constant, a ``Known``, a tuple of such; ``NOT_KNOWN`` for objects of other classes.
    """
    first = values[0]
    if all(isinstance(value, _PLAIN) for value in values):
        if all(is_equal(value, first) for value in values):
            return first
        return Known(iterations, values, first)
    if all(type(value) is tuple and len(value) == len(first) for value in values):
        columns = [known_of(column, iterations) for column in zip(*values, strict=True)]
        return NOT_KNOWN if NOT_KNOWN in columns else tuple(columns)
    return first if all(value is first for value in values) else NOT_KNOWN


def is_equal(x: Any, y: Any) -> bool:
    """Whether two values are one: -0.0 is not 0.0, and NaN is NaN."""
    if type(x) is not type(y):
        return False
    return repr(x) == repr(y) if isinstance(x, (float, complex, np.generic)) else bool(x == y)


def replaced(value: Any, iterations: Iterations, of: Callable[[Known], Any]) -> Any:
    """A value with something in place of what is known in each iteration, in containers too."""
    if isinstance(value, Known):
        return of(value) if value.iterations is iterations else value.array()
    if type(value) in (tuple, list):
        return type(value)([replaced(part, iterations, of) for part in value])
    if type(value) is dict:
        return {key: replaced(part, iterations, of) for key, part in value.items()}
    return value


def holds_known(value: Any) -> bool:
    """Whether there is something in a value that is known in each iteration."""
    if isinstance(value, Known):
        return True
    if type(value) in (tuple, list):
        return any(map(holds_known, value))
    return type(value) is dict and any(map(holds_known, value.values()))


def in_each_iteration(
    iterations: Iterations, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What a function of known values gives in each iteration.

    Raises:
        NotUniformError: it raises an exception in one.
    """
    unknown = False

    def note(value: Known) -> Any:
        nonlocal unknown
        unknown = unknown or value.values is None
        return value.sample

    sample = replaced((args, kwargs), iterations, note)
    try:
        if unknown:
            result = fun(*sample[0], **sample[1])
            return (
                Known(iterations, None, result, (fun, args, kwargs))
                if _is_plain(result)
                else NOT_KNOWN
            )
        values = []
        for iteration in range(iterations.count):
            arguments = replaced((args, kwargs), iterations, lambda value: value.at(iteration))  # noqa: B023
            values.append(fun(*arguments[0], **arguments[1]))
    except Exception as error:
        raise NotUniformError from error
    return known_of(values, iterations)


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN)


def simulated(
    following: dict[Any, Any], leaves: dict[Any, Known], starts: dict[Any, Any], count: int
) -> dict[Any, list[Any]]:
    """What Python carries from iteration to iteration.

    Args:
        following: for each place what an iteration carries on there, computed of ``leaves`` and
            others.
        leaves: what stands for the values that it begins with.
        starts: those of the first iteration.
        count: how many iterations there are.

    Returns:
        For each place the values that the iterations begin with, and that after the last.

    Raises:
        NotUniformError: an exception is raised, or something else than plain values is carried.
    """
    places = {id(leaf): place for place, leaf in leaves.items()}
    carried = {place: [start] for place, start in starts.items()}

    def value_of(known: Known, iteration: int, done: dict[int, Any]) -> Any:
        if id(known) in places:
            return carried[places[id(known)]][iteration]
        if known.recipe is None:
            return known.at(iteration)
        if id(known) not in done:
            fun, args, kwargs = known.recipe
            arguments = replaced(
                (args, kwargs), known.iterations, lambda part: value_of(part, iteration, done)
            )
            done[id(known)] = fun(*arguments[0], **arguments[1])
        return done[id(known)]

    for iteration in range(count):
        done: dict[int, Any] = {}
        try:
            now = {
                place: value_of(value, iteration, done) if isinstance(value, Known) else value
                for place, value in following.items()
            }
        except Exception as error:
            raise NotUniformError from error
        for place, value in now.items():
            carried[place].append(value)
    return carried
