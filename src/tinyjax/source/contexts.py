"""Contexts for ``with_context``: counting operations, and the calls of a program as a tree."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any, Final

import attrs
import numpy as np

from tinyjax._base import pycode
from tinyjax._base.frames import Location
from tinyjax.core.values import Array
from tinyjax.source.adjoint.rules.registry import is_inert
from tinyjax.source.context import Context
from tinyjax.source.ir import program as ir, syntax

__all__ = ["CallTracer", "OperationCounter", "TracedCall"]

_WIDEST: Final = 40
#: Larger arrays show their types.
_FEW: Final = 4


@attrs.define(eq=False)
class TracedCall:
    """A call that was made.

    Attributes:
        function: the called function.
        args: its arguments.
        kwargs: its keyword arguments.
        location: the line of the call.
        inner: the calls that it made.
        result: its result; None before it has one.
        error: the exception that it raised.

    Example:
        >>> from tinyjax import source
        >>> from tinyjax.source.contexts import CallTracer
        >>> tracer = CallTracer()
        >>> source.with_context(tracer, lambda x: x * x + 1)(3)
        10
        >>> [(call.args, call.result) for call in tracer.calls]
        [((3, 3), 9), ((9, 1), 10)]
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    location: Location | None
    inner: list[TracedCall] = attrs.field(factory=list)
    result: Any = None
    error: Exception | None = None

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the call and those below it, indented.

        Example:
            >>> from tinyjax import source
            >>> from tinyjax.source.contexts import CallTracer
            >>> tracer = CallTracer()
            >>> _ = source.with_context(tracer, lambda x: abs(x) + 1)(-3)
            >>> tracer.calls[0].lines()
            ['abs(-3) -> 3']
        """
        raised = self.error is not None
        end = f"raises {self.error!r}" if raised else f"-> {shown(self.result)}"
        own = f"{self.written()} {end}"
        return [own, *[f"  {line}" for call in self.inner for line in call.lines()]]

    def written(self) -> str:
        """Return the call as Python source.

        Example:
            >>> from tinyjax import source
            >>> from tinyjax.source.contexts import CallTracer
            >>> tracer = CallTracer()
            >>> _ = source.with_context(tracer, lambda x: abs(x) + 1)(-3)
            >>> [call.written() for call in tracer.calls]
            ['abs(-3)', '3 + 1']
        """
        fun: Any = self.function
        known = fun if isinstance(fun, Hashable) else None  # operators can be hashed
        args = tuple([ir.Constant(arg, "") for arg in self.args])
        keywords = tuple([(name, ir.NONE) for name in self.kwargs])
        call = ir.Call(ir.Constant(known, ""), args, keywords)
        shown_args, values = [
            [pycode.Name(shown(x)) for x in some] for some in (self.args, self.kwargs.values())
        ]
        return ir.as_expression(call, pycode.Name(_name(fun)), shown_args, values).text()


def shown(value: Any) -> str:
    """Return a value in a few words."""
    if isinstance(value, (np.ndarray, Array)) and value.size > _FEW:
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, FunctionType):
        return value.__name__
    text = " ".join(repr(value).split())
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 3]}..."


def _name(fun: Any) -> str:
    name = getattr(fun, "__name__", None)
    return name if isinstance(name, str) else shown(fun)


class CallTracer(Context):
    """Records which calls are made, with their arguments and results, as a tree.

    Attributes:
        calls: the calls that the function itself has made.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> from tinyjax.source.contexts import CallTracer
        >>> def square(x):
        ...     return x * x
        >>> def wave(x):
        ...     return math.floor(square(x)) + 1
        >>> tracer = CallTracer()
        >>> source.with_context(tracer, wave)(1.5)
        3
        >>> print(tracer)
        square(1.5) -> 2.25
          1.5 * 1.5 -> 2.25
        floor(2.25) -> 2
        2 + 1 -> 3
    """

    def __init__(self) -> None:
        self.calls: list[TracedCall] = []

    def __str__(self) -> str:
        return "\n".join(map(str, self.calls))

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        traced_call = TracedCall(fun, args, kwargs, self.location)
        outer, self.calls = self.calls, traced_call.inner
        outer.append(traced_call)
        try:
            traced_call.result = self.proceed(fun, *args, **kwargs)
        except Exception as error:
            traced_call.error = error
            raise
        finally:
            self.calls = outer
        return traced_call.result


#: Built-in functions that compute something of numbers.
_ARITHMETIC: Final = frozenset((abs, divmod, max, min, pow, round, sum))
#: How they are called in the counts, in place of the names of their modules.
_SHORT: Final = {"numpy": "np", "tinyjax.numpy": "jnp"}


class OperationCounter(Context):
    """Counts arithmetic: operators, and the functions of ``math``, NumPy and tinyjax.

    A call of a library's function counts as one operation. Queries of shapes do not count, nor do
    the operations that count a loop's iterations.

    Attributes:
        counts: the number of times of each operation, by its symbol or name, in the order of first
            use.

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
        """The number of operations."""
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
    """Return the name of an operation, or None for a call that is not arithmetic."""
    try:
        symbol = syntax.INFIX.get(fun) or syntax.PREFIX.get(fun)
    except TypeError:  # it cannot be hashed
        return None
    if symbol is not None:
        return None if symbol.strip() in ("is", "is not", "not") else symbol
    name, home = getattr(fun, "__name__", None), getattr(fun, "__module__", None)
    owner = getattr(fun, "__self__", None)
    if home is None and (isinstance(fun, np.ufunc) or type(owner).__module__ == "numpy"):
        home = "numpy"  # one of its functions, or a method of an array
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
