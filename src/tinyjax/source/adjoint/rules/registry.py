"""The registry of rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias, TypeVar

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import errors
from tinyjax._base import frames
from tinyjax.source.ir import find, runtime

Function = Callable[..., Any]
R = TypeVar("R", bound=Function)
#: Rules that are expressions.
Expressions: TypeAlias = Mapping[tuple[Function, ...], Function]


@attrs.frozen(eq=False)
class Rule:
    """The derivative of a function.

    Attributes:
        adjoint: ``adjoint(ct, y, *args, **kwargs)`` returns a cotangent for each of its parameters
            in turn, None for zero; keyword-only parameters have none.
        parameters: the names of the arguments in formulas.
        formulas: the cotangent of each argument, without regard to broadcasting; none if the rule
            is not of that form.
        scalar: whether the result of floats is a float.
        overloaded: whether objects may have a method for it, which the formulas ignore.
        definite: the positions at which the adjoint never returns None, unless ``ct`` is None.
        of_rest: the adjoint if the first argument has no derivative; None if it is the same.
    """

    adjoint: Function
    parameters: tuple[str, ...] = ()
    formulas: tuple[str | None, ...] = ()
    scalar: bool = False
    overloaded: bool = False
    definite: tuple[int, ...] = ()
    of_rest: Function | None = None


#: The rules there are.
rules: Final[dict[Function, Rule]] = {}
#: Functions whose results have no derivative, or are the same whatever floats are near.
inert: Final[set[Function]] = set()
#: Functions in formulas that contexts go into, though it is known what derivatives they have.
slopes: Final[set[Function]] = set()


def fits(fun: Function, count: int, names: tuple[str, ...]) -> bool:
    """Return whether a function's rule accepts as many positional arguments and these names."""
    return _places(rules[fun].adjoint, count, names) is not None


def places(
    fun: Function, count: int, names: tuple[str, ...] = (), location: frames.Location | None = None
) -> tuple[int | None, ...]:
    """Return the index of the cotangent of each keyword argument in the rule's result, or None.

    Raises:
        SourceError: the rule does not take these arguments by keyword.
    """
    positions = _places(rules[fun].adjoint, count, names)
    if positions is None:
        raise unknown_arguments(fun, count, names, _parameters_of(rules[fun].adjoint), location)
    return positions


def unknown_arguments(
    fun: Function,
    count: int,
    names: tuple[str, ...],
    parameters: Iterable[inspect.Parameter],
    location: frames.Location | None = None,
) -> errors.SourceError:
    """Return the error of a function whose derivative is known of other arguments only."""
    name = getattr(fun, "__name__", str(fun))
    known = ", ".join([str(p).partition(":")[0] for p in parameters])
    arguments = f"{count} by position" + (f" and {', '.join(names)}" if names else "")
    return errors.SourceError(
        f"no derivative is known of {name} with these arguments ({arguments}). It is known of "
        f"{name}({known}).",
        location or find.program_location(),
    )


@lru_cache(maxsize=4096)
def _places(adjoint: Function, count: int, names: tuple[str, ...]) -> tuple[int | None, ...] | None:
    signature = inspect.signature(adjoint)
    try:
        signature.bind(*[None] * (count + 2), **dict.fromkeys(names))
    except TypeError:
        return None
    parameters = list(signature.parameters.values())[2:]
    order = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    own = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    extra = [name for name in names if name not in own and name not in order]
    count = max(count, len(order))
    places = {name: i for i, name in enumerate(order)}
    places.update({name: count + i for i, name in enumerate(extra)})
    return tuple([places.get(name) for name in names])


def _parameters_of(adjoint: Function) -> list[inspect.Parameter]:
    """Return the parameters of an adjoint that correspond to the function's."""
    return list(inspect.signature(adjoint).parameters.values())[2:]


def rule_of(fun: Any) -> Rule | None:
    """Return the rule of a function, if there is one."""
    return rules[fun] if runtime.is_in(fun, rules) else None


def is_inert(fun: Any) -> bool:
    """Return whether a function's results have no derivative."""
    return runtime.is_in(fun, inert)


def is_elementwise(fun: Any) -> bool:
    """Return whether a function is known to work element by element."""
    rule, name = rule_of(fun), getattr(fun, "__name__", "")
    if rule is not None:
        return bool(rule.formulas)
    ufunc = getattr(np, name, None)
    is_known = isinstance(ufunc, np.ufunc) and ufunc.signature is None
    return is_known and fun in (ufunc, getattr(jnp, name, None))


def adjoint_of(*functions: Function, **attributes: Any) -> Callable[[R], R]:
    """Register a rule that is a function, with attributes of ``Rule``."""

    def register(adjoint: R) -> R:
        rules.update(dict.fromkeys(functions, Rule(adjoint, **attributes)))
        return adjoint

    return register


def register(home: dict[str, Any], table: Expressions, definite: tuple[int, ...] = ()) -> None:
    """Register rules that are expressions, and name them in their module: texts import them."""
    for functions, adjoint in table.items():
        home[adjoint_name(functions[0])] = adjoint_of(*functions, definite=definite)(adjoint)
        adjoint.__name__ = adjoint_name(functions[0])


def adjoint_name(fun: Function) -> str:
    """Return the name of a function's adjoint in generated code."""
    module = (getattr(fun, "__module__", None) or "numpy").replace("numpy", "np")
    prefix = f"{module}_" if module in ("np", "math", "cmath") else ""
    return f"{prefix}{fun.__name__}_adjoint"


def length(adjoint: Function) -> int | None:
    """Return the number of cotangents that an adjoint returns; None if it depends on the call."""
    parameters = _parameters_of(adjoint)
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return None
    return sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)


def rule_adjoint(fun: Function) -> Function:
    """Return the adjoint of a function that has a rule."""
    return rules[fun].adjoint


inert.add(rule_adjoint)
