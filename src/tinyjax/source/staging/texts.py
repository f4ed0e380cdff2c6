"""Texts of traced values, which are known when the program runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn

import attrs
import numpy as np

from tinyjax import errors, tree
from tinyjax.callbacks.effects import debug_callback
from tinyjax.core.transforms.jvp import JVPTracer
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.source.staging import values as vals

_print: Final = print
_METHODS: Final = frozenset(name for name in dir(str) if not name.startswith("_"))


@attrs.frozen(eq=False, repr=False)
class TracedText:
    """A text that a function makes of traced values, among others.

    It may be printed, be the text of an exception, and be part of another one. All else depends on
    what it says.

    Attributes:
        function: makes it.
        args: of these.
        kwargs: and of these.
    """

    function: Callable[..., str]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def with_values(self, of: Callable[[Any], Any]) -> str:
        """The text with something in place of each traced value."""
        args, kwargs = _with_values(self.args, of), _with_values(self.kwargs, of)
        return self.function(*args, **kwargs)

    def __str__(self) -> str:
        """What messages say: types in place of values."""
        try:
            return self.with_values(Placeholder)
        except (TypeError, ValueError):  # of "%.2f" % x and its like
            return "<a text of traced values>"

    def __add__(self, other: Any) -> TracedText:
        return TracedText(operator.add, (self, other), {})

    def __radd__(self, other: Any) -> TracedText:
        return TracedText(operator.add, (other, self), {})

    def __mod__(self, other: Any) -> TracedText:
        return TracedText(operator.mod, (self, other), {})

    def _refuse(self, *_: object) -> NoReturn:
        raise _refused()

    __eq__ = _refuse
    __ne__ = _refuse
    __hash__ = _refuse
    __lt__ = _refuse
    __gt__ = _refuse
    __contains__ = _refuse
    __bool__ = _refuse
    __len__ = _refuse
    __getitem__ = _refuse

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            raise _refused()
        raise AttributeError(name)


def _refused() -> errors.SourceError:
    return errors.SourceError(
        "what a text of traced values says is not known when the program is staged: it may be "
        "printed, or be the text of an exception. Compare the values themselves."
    )


class Placeholder:
    """Stands for a traced value in the text of an exception."""

    def __init__(self, value: Array) -> None:
        self.text: str = f"<{value.aval}>"

    def __format__(self, spec: str) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def python_number(value: Any) -> Any:
    """A value that is known: a number as Python's, an array as NumPy's.

    A float of less than double precision is the one of the fewest digits, as it would be printed.
    """
    while isinstance(value, JVPTracer):
        value = value.primal
    host = np.asarray(value)
    if host.ndim:
        return host
    narrow = host.dtype.kind not in "biuc" and host.dtype.itemsize < 8
    return float(str(host[()])) if narrow else host.item()


def _with_values(value: Any, of: Callable[[Any], Any]) -> Any:
    """Something with other parts in place of its arrays, and texts that are known."""
    match value:
        case TracedText():
            return value.with_values(of)
        case Array():
            return value if value.shape and isinstance(value, ConcreteArray) else of(value)
        case np.ndarray():
            return of(value)
        case tuple() | list() if type(value) in (tuple, list):
            return type(value)([_with_values(part, of) for part in value])
        case dict():
            return {key: _with_values(part, of) for key, part in value.items()}
        case _:
            parts, structure = vals.take_apart(value)
            if structure is tree.LEAF:
                return value
            return tree.unflatten(structure, [_with_values(part, of) for part in parts])


def text_of(function: Callable[..., str]) -> Callable[..., Any]:
    """A function that makes a text, as one of traced values."""

    def made(*args: Any, **kwargs: Any) -> Any:
        text = TracedText(function, args, kwargs)
        return text if vals.holds_tracer((args, kwargs), True) else text.with_values(python_number)

    return made


def print_when_run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``print``, of what the program comes to when it runs."""
    parts, structure = vals.take_apart((args, kwargs))
    debug_callback(_printing(structure), tuple(parts), {}, False)


@lru_cache(maxsize=256)  # so that programs with equal calls are equal
def _printing(structure: tree.PyTreeDef) -> Callable[..., None]:
    def write(*parts: Any) -> None:
        args, kwargs = _with_values(tree.unflatten(structure, parts), python_number)
        _print(*args, **kwargs)

    return write


def as_texts(args: Sequence[Any]) -> list[Any]:
    """The arguments of an exception."""
    return [str(arg) if isinstance(arg, (TracedText, vals.Known)) else arg for arg in args]
