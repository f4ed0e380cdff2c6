"""Counting operations."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any, Final

from tinyjax.source.adjoint.rules.registry import is_inert
from tinyjax.source.context import Context
from tinyjax.source.ir.syntax import INFIX, PREFIX

#: Built-in functions that compute something of numbers.
_ARITHMETIC: Final = frozenset((abs, divmod, max, min, pow, round, sum))
#: How they are called in the counts, in place of the names of their modules.
_SHORT: Final = {"numpy": "np", "tinyjax.numpy": "jnp"}


class OperationCounter(Context):
    """Counts arithmetic: operators, and the functions of ``math``, NumPy and tinyjax.

    What a function of a library does inside counts as one operation. Questions about shapes do not
    count, nor does what a loop does to count its iterations.

    Attributes:
        counts: how often each operation was done, by its symbol or name, in the order of the first.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> from tinyjax.source.contexts import OperationCounter
        >>> def wave(x):
        ...     return math.sin(x * x)
        >>> counter = OperationCounter()
        >>> slope = source.with_context(counter, source.grad(wave))(0.5)
        >>> counter.counts
        {'*': 4, 'math.sin': 1, 'math.cos': 1, '+': 1}
        >>> counter.total
        7
        >>> counter
        7 operations: * 4, math.sin 1, math.cos 1, + 1
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    @property
    def total(self) -> int:
        """How many operations there were."""
        return builtins.sum(self.counts.values())

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {n}" for name, n in self.counts.items())
        return f"{self.total} operations: {counts}" if counts else "no operations"

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        name = operation_name(fun)
        if name is not None:
            self.counts[name] = self.counts.get(name, 0) + 1
        return self.proceed(fun, *args, **kwargs)


def operation_name(fun: Any) -> str | None:
    """What an operation is called; None for what is no arithmetic."""
    try:
        symbol = INFIX.get(fun) or PREFIX.get(fun)
    except TypeError:  # it cannot be hashed
        return None
    if symbol is not None:
        return None if symbol.strip() in ("is", "is not", "not") else symbol
    name = getattr(fun, "__name__", None)
    home = getattr(fun, "__module__", None)
    owner = getattr(fun, "__self__", None)
    if home is None and type(fun).__name__ == "ufunc":
        home = "numpy"
    if home is None and type(owner).__module__ == "numpy":  # a method of an array
        home = "numpy"
    if not isinstance(name, str) or not isinstance(home, str):
        return None
    if fun in _ARITHMETIC:
        return name
    if home.partition(".")[0] not in ("math", "numpy", "tinyjax", "cmath"):
        return None
    if home.startswith("tinyjax.source") or (is_inert(fun) and home == "numpy"):
        return None
    if home.startswith("tinyjax.numpy"):
        home = "tinyjax.numpy"
    return f"{_SHORT.get(home, home)}.{name}"
