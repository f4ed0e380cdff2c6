"""Functions given to functions of tinyjax, as the values that they close over.

``lax.scan(step, ...)`` is pulled through ``tinyjax.vjp``, which takes derivatives of arrays. So a
function among the arguments is *opened* into its closed-over values, by name. It is *closed* again
over the values that ``vjp`` puts in their place. The cotangent of a function is a dict of those
names, which is also the cotangent that ``vjp`` returns for an opened function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CellType, FunctionType, MethodType
from typing import Any, Final

import attrs

from tinyjax import tree
from tinyjax.source.adjoint import cotangents
from tinyjax.source.adjoint.kinds import kind_of
from tinyjax.source.ir import find, runtime

_FUNCTIONS: Final = (FunctionType, MethodType, functools.partial)


def is_closure(x: Any) -> bool:
    """Return whether a value is a function or callable object that may have a derivative."""
    if isinstance(x, _FUNCTIONS):
        return kind_of(x).active
    return callable(x) and _is_record(x)


def _is_record(x: Any) -> bool:
    return cotangents.is_record(x) and not type(x).__module__.startswith("tinyjax.")


def opened(x: Any, outer: tuple[Any, ...] = ()) -> Any:
    """Return the closed-over values of a function by name; return other values unchanged.

    Args:
        x: a function, or any other value.
        outer: the functions and objects that hold it.

    Raises:
        SourceError: functions close over each other.
    """
    if not (is_closure(x) or (outer and _is_record(x))):
        return x
    if any(x is holder for holder in outer):
        raise find.refusal(
            f"the function {getattr(x, '__qualname__', repr(x))} closes over a function that "
            "closes over it: their derivatives would be lost. Define both in the module, and pass "
            "the values as arguments."
        )
    inside = functools.partial(opened, outer=(*outer, x))
    values = {name: tree.map(inside, value) for name, value in _values(x).items()}
    return values if any(map(cotangents.is_differentiable, tree.leaves(values))) else x


def closed(x: Any, values: Any) -> Any:
    """Return a function like ``x`` that closes over ``values``, which ``opened`` has made of it."""
    if not (isinstance(values, dict) and (is_closure(x) or _is_record(x))):
        return values
    inner = {name: tree.map(closed, value, values[name]) for name, value in _values(x).items()}
    if isinstance(x, MethodType):
        return MethodType(x.__func__, inner["__self__"])
    if isinstance(x, functools.partial):
        return functools.partial(inner["func"], *inner["args"], **inner["keywords"])
    if not isinstance(x, FunctionType):
        return cotangents.with_fields(x, inner)
    cells = [CellType(inner[v]) if v in inner else CellType() for v in x.__code__.co_freevars]
    fun = FunctionType(x.__code__, x.__globals__, x.__name__, closure=tuple(cells))
    functools.update_wrapper(fun, x)
    fun.__defaults__ = tuple([inner[name] for name in _defaults(x)]) or None
    fun.__kwdefaults__ = {name: inner[name] for name in x.__kwdefaults__ or ()} or None
    for cell, own in zip(cells, x.__closure__ or (), strict=True):
        if _content(own) is x:
            cell.cell_contents = fun
    return fun


def _values(x: Any) -> dict[str, Any]:
    """Return the values that a function or an object holds, by the names in its cotangent."""
    if isinstance(x, MethodType):
        return {"__self__": x.__self__}
    if isinstance(x, functools.partial):
        return {"func": x.func, "args": x.args, "keywords": x.keywords}
    if not isinstance(x, FunctionType):
        return {name: getattr(x, name) for name in cotangents.field_names(type(x))}
    cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
    contents = {name: _content(cell) for name, cell in cells}
    free = {k: v for k, v in contents.items() if v is not x and v is not runtime.UNDEFINED}
    return free | _defaults(x) | (x.__kwdefaults__ or {})


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return runtime.UNDEFINED


def _defaults(fun: FunctionType) -> dict[str, Any]:
    """Return the defaults of parameters, those by keyword only aside."""
    defaults = fun.__defaults__ or ()
    return dict(zip(runtime.optional_names(fun.__code__, len(defaults)), defaults, strict=True))


@attrs.frozen(eq=False)
class Closing:
    """A function of tinyjax that takes the functions among its arguments opened.

    Attributes:
        fun: the function.
        args: its arguments, functions as they are.
        kwargs: its keyword arguments.
    """

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree.map(closed, (self.args, self.kwargs), (args, kwargs))
        return self.fun(*args, **kwargs)


@attrs.frozen(eq=False)
class Transformed:
    """A transformation of tinyjax, and a call of the function that it gives, as one function."""

    transformation: Callable[..., Any]

    def __call__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], /, *inputs: Any, **keywords: Any
    ) -> Any:
        return self.transformation(*args, **kwargs)(*inputs, **keywords)
