"""Calls of Python functions, their arguments brought in the order of the parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import attrs

_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


@attrs.frozen
class Bound:
    """Arguments in the order of the parameters.

    Attributes:
        values: one for each parameter; a tuple for ``*args``, a dict for ``**kwargs``.
        plain: whether the arguments were exactly these.
        names: the parameters' names.
        positional: how many arguments were given by position.
        keywords: the names of those given by keyword.
        star: the name of ``*args``, and how many parameters come before it.
        double_star: the name of ``**kwargs``.
    """

    values: tuple[Any, ...]
    plain: bool = True
    names: tuple[str, ...] = ()
    positional: int = 0
    keywords: tuple[str, ...] = ()
    star: tuple[str, int] | None = None
    double_star: str | None = None

    def unbind(self, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bring one cotangent per parameter in the order of the call's arguments.

        The first is a dict of those of the parameters whose defaults were taken.
        """
        if self.plain:
            return (None, *found)
        of = dict(zip(self.names, found, strict=True))
        before = self.positional if self.star is None else min(self.positional, self.star[1])
        results = [of[name] for name in self.names[:before]]
        if self.star is not None:
            rest = of[self.star[0]]
            missing = self.positional - before
            results += [None] * missing if rest is None else list(rest)
        extra = (of[self.double_star] if self.double_star is not None else None) or {}
        results += [
            of[name] if name in self.names and name != self.double_star else extra.get(name)
            for name in self.keywords
        ]
        return ({name: of[name] for name in self.defaulted} or None, *results)

    @property
    def defaulted(self) -> tuple[str, ...]:
        """The parameters whose defaults were taken."""
        variadic = (self.star and self.star[0], self.double_star)
        declared = [name for name in self.names if name not in variadic]
        count = self.positional if self.star is None else min(self.positional, self.star[1])
        return tuple([name for name in declared[count:] if name not in self.keywords])

    def rebind(self, found: tuple[Any, ...]) -> tuple[Any, ...]:
        """Bring what ``unbind`` gives back in the order of the parameters."""
        own, found = found[0], found[1:]
        if self.plain:
            return found
        before = self.positional if self.star is None else min(self.positional, self.star[1])
        of: dict[str, Any] = dict(zip(self.names, found[:before], strict=False))
        if self.star is not None and self.positional > before:
            of[self.star[0]] = tuple(found[before : self.positional])
        extra = {}
        for name, part in zip(self.keywords, found[self.positional :], strict=True):
            if name in self.names and name != self.double_star:
                of[name] = part
            else:
                extra[name] = part
        if self.double_star is not None:
            of[self.double_star] = extra
        of.update(own or {})
        return tuple([of.get(name) for name in self.names])


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
    if (
        not kwargs
        and len(args) == code.co_argcount
        and not code.co_kwonlyargcount
        and not code.co_flags & _VARIADIC
    ):
        return Bound(args)
    found = inspect.Signature.from_callable(fun, follow_wrapped=False).bind(*args, **kwargs)
    found.apply_defaults()
    names = parameters_of(code)
    declared = found.signature.parameters.values()
    star = [p.name for p in declared if p.kind is p.VAR_POSITIONAL]
    double_star = [p.name for p in declared if p.kind is p.VAR_KEYWORD]
    return Bound(
        tuple([found.arguments[name] for name in names]),
        plain=False,
        names=names,
        positional=len(args),
        keywords=tuple(kwargs),
        star=(star[0], code.co_argcount) if star else None,
        double_star=double_star[0] if double_star else None,
    )
