"""Calls of Python functions, their arguments brought in the order of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import Parameter
from types import CodeType, FunctionType
from typing import Any, Final, TypeAlias

import attrs

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


#: Where the value of a parameter is among the arguments of a call: at a place, or at several for
#: ``*args`` and ``**kwargs``; None where the default was taken.
ArgumentPlace: TypeAlias = int | tuple[int, ...] | dict[str, int] | None
Places: TypeAlias = tuple[tuple[str, ArgumentPlace], ...]


@attrs.frozen
class Bound:
    """Arguments in the order of the parameters.

    Attributes:
        values: one for each parameter; a tuple for ``*args``, a dict for ``**kwargs``.
        count: how many arguments there were; None where they were exactly these.
        places: where the value of each parameter was among them.
    """

    values: tuple[Any, ...]
    count: int | None = None
    places: Places = ()

    @property
    def plain(self) -> bool:
        """Whether the arguments were exactly the values of the parameters."""
        return self.count is None

    def unbind(self, cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bring one cotangent per parameter in the order of the call's arguments.

        The first is a dict of those of the parameters whose defaults were taken.
        """
        if self.count is None:
            return (None, *cotangents)
        own: dict[str, Any] = {}
        results: list[Any] = [None] * self.count
        for (name, place), part in zip(self.places, cotangents, strict=True):
            match place:
                case None:
                    own[name] = part
                case int():
                    results[place] = part
                case tuple():
                    for i, item in zip(place, part or (), strict=part is not None):
                        results[i] = item
                case dict():
                    for key, i in place.items():
                        results[i] = (part or {}).get(key)
        return (own or None, *results)

    def rebind(self, results: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bring what ``unbind`` gives back in the order of the parameters."""
        own, *cotangents = results
        if self.count is None:
            return tuple(cotangents)
        parts: list[Any] = []
        for name, place in self.places:
            match place:
                case None:
                    parts.append((own or {}).get(name))
                case int():
                    parts.append(cotangents[place])
                case tuple():
                    parts.append(tuple([cotangents[i] for i in place]) or None)
                case dict():
                    parts.append({key: cotangents[i] for key, i in place.items()})
        return tuple(parts)


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """The names of a function's parameters, in the order in which frames hold them."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def bound(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
    """Bring the arguments of a call in the order of the parameters.

    Raises:
        TypeError: the arguments do not fit the function.
    """
    assert isinstance(fun, FunctionType), f"{fun!r} is no Python function"
    code = fun.__code__
    plain = not kwargs and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC
    if plain and len(args) == code.co_argcount:
        return Bound(args)
    signature = inspect.Signature.from_callable(fun, follow_wrapped=False)
    arguments = signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    key = code, len(args), tuple(kwargs)
    if key not in _places:
        _places[key] = _places_in(signature, code, len(args), kwargs)
    values = tuple([arguments.arguments[name] for name, _ in _places[key]])
    return Bound(values, len(args) + len(kwargs), _places[key])


#: By code and arguments: where the values of the parameters are among them.
_places: Final[dict[tuple[CodeType, int, tuple[str, ...]], Places]] = {}


def _places_in(
    signature: inspect.Signature, code: CodeType, start: int, kwargs: dict[str, Any]
) -> Places:
    names = {name: start + i for i, name in enumerate(kwargs)}
    arguments, parameters = signature.bind(*range(start), **names).arguments, signature.parameters
    empty: dict[Any, ArgumentPlace] = {Parameter.VAR_POSITIONAL: (), Parameter.VAR_KEYWORD: {}}
    kinds = {name: parameters[name].kind for name in parameters_of(code)}
    return tuple([(name, arguments.get(name, empty.get(kind))) for name, kind in kinds.items()])
