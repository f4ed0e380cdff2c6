"""The functions that two libraries have in common, and random calls of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ArgumentError
from tinyjax.testing.libraries import parameters
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.drawn_calls import DrawnCall, Library


@attrs.frozen(eq=False)
class PublicFunction:
    """A public function of both libraries.

    Attributes:
        path: where it is found.
        parameters: those that both have, as the first library declares them.
    """

    path: str
    parameters: tuple[inspect.Parameter, ...]


@attrs.frozen(eq=False)
class Catalogue:
    """The functions to call, and their arguments.

    Attributes:
        modules: the modules of public functions; an empty text is the package itself.
        not_called: names of functions to leave out, with the reason.
        by_function: the arguments for parameters of single functions, by path and name.
        recipes: make whole calls of functions whose arguments depend on each other.
    """

    modules: Sequence[str] = ("",)
    not_called: Mapping[str, str] = attrs.field(factory=dict)
    by_function: Mapping[str, Mapping[str, parameters.Strategy]] = attrs.field(factory=dict)
    recipes: Mapping[str, Callable[[parameters.Drawn, bool], DrawnCall]] = attrs.field(factory=dict)

    def functions(self, library: Library, reference: Library) -> list[PublicFunction]:
        """Return the public functions of a library that its reference has, without aliases."""
        functions: list[PublicFunction] = []
        seen: set[int] = set()
        for module in self.modules:
            ours, theirs = library.find(module), reference.find(module)
            for name in sorted(getattr(ours, "__all__", None) or dir(ours)):
                path = f"{module}.{name}" if module else name
                fun, other = getattr(ours, name), getattr(theirs, name, None)
                if (
                    not name.startswith("_")
                    and callable(fun)
                    and callable(other)
                    and path not in self.not_called
                    and id(fun) not in seen
                ):
                    common = () if path in self.recipes else _common(fun, other)
                    functions.append(PublicFunction(path, common))
                    seen.add(id(fun))
        return functions

    def draw_call(self, function: PublicFunction, draw: Draw) -> DrawnCall:
        """Draw a call of a function.

        Args:
            function: which.
            draw: the source of random draws.
        """
        call = parameters.Drawn(function.path, draw)
        if function.path in self.recipes:
            return self.recipes[function.path](call, draw.smooth)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        gap = False
        for p in function.parameters:
            strategy = self._strategy_of(function.path, p)
            if p.kind is p.VAR_POSITIONAL:
                if not gap:
                    args += [strategy(call) for _ in range(draw.randint(1, 3))]
                continue
            left_out = p.default is not p.empty and not draw.chance(0.4)
            value = parameters.UNSET if left_out else strategy(call)
            call.values[p.name] = value
            if value is parameters.UNSET:
                if p.kind is p.POSITIONAL_ONLY:
                    args.append(p.default)
                else:
                    gap = True
            elif gap or p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        while args and function.parameters[len(args) - 1 : len(args)]:
            last = function.parameters[len(args) - 1]
            if last.kind is last.POSITIONAL_ONLY and call.values.get(last.name) is parameters.UNSET:
                args.pop()
            else:
                break
        return DrawnCall(function.path, tuple(args), kwargs, None, draw.wide, draw.smooth)

    def _strategy_of(self, path: str, parameter: inspect.Parameter) -> parameters.Strategy:
        """Find the strategy for a parameter of a function."""
        own = self.by_function.get(path, {})
        if parameter.name in own:
            return own[parameter.name]
        # without the modules that its names are from
        annotation = re.sub(r"\s|\b\w+\.(?=\w)", "", str(parameter.annotation))
        if any(parameter.annotation is kind for kind in (ArrayLike, Array, parameter.empty)):
            annotation = "ArrayLike"  # no text, as in modules without postponed annotations
        if parameter.name in parameters.BY_NAME:
            return parameters.BY_NAME[parameter.name]
        if annotation.startswith("Literal["):
            return parameters.fixed(*_choices(annotation))
        if annotation in parameters.BY_ANNOTATION:
            return parameters.BY_ANNOTATION[annotation]
        if parameter.default is parameter.empty:
            raise ArgumentError(
                f"it is not known what to give {parameter} of {path}: name a strategy in `given`."
            )
        return lambda call: parameters.UNSET


def _common(fun: Any, other: Any) -> tuple[inspect.Parameter, ...]:
    parameters = inspect.signature(fun).parameters.values()
    try:
        theirs = list(inspect.signature(other).parameters.values())
    except (TypeError, ValueError):
        theirs = []
    named = {p.name: p for p in theirs}
    positions = [p for p in theirs if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    anything = not named or any(p.kind is p.VAR_POSITIONAL for p in theirs)
    common = []
    for i, parameter in enumerate(parameters):
        p = parameter
        needed = p.default is p.empty and p.kind is not p.KEYWORD_ONLY
        other = named.get(p.name)
        if other is None and i == 0 and not named:
            p = p.replace(default=p.empty)  # nothing is known: the first is needed
            needed = True
        if other is not None and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            if other.default is other.empty:
                p = p.replace(default=p.empty)
            if other.kind is p.KEYWORD_ONLY:
                p = p.replace(kind=p.KEYWORD_ONLY)
        if other is not None or (needed and (anything or i < len(positions))):
            common.append(p)
    return tuple(common)


def _choices(annotation: str) -> list[Any]:
    inside = annotation[len("Literal[") :].split("]", maxsplit=1)[0]
    return [part.strip("'\"") for part in inside.split(",")]
