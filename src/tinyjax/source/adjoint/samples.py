"""Arguments that stand for others of their kind, by what a function says of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from types import FunctionType, UnionType
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.errors import ArgumentError
from tinyjax.frames import describe_function

_OF_TYPE: Final[dict[Any, Any]] = {
    float: 1.0,
    int: 1,
    bool: True,
    complex: 1j,
    str: "",
    type(None): None,
    np.floating: np.float64(1),
    np.ndarray: np.ones(1),
    Array: as_array(1.0),
}
_LISTS: Final = (list, Sequence, Iterable)


def sample_arguments(fun: FunctionType) -> tuple[Any, ...]:
    """Make an argument for each parameter by position that has no default.

    It is of the type that the parameter is annotated with, or a float where that says nothing.

    Raises:
        ArgumentError: it is annotated with a type that is not known here.
    """
    try:
        hints = get_type_hints(fun)
    except (NameError, AttributeError, TypeError):  # what only a type checker can look up
        hints = {}
    samples: list[Any] = []
    for name, parameter in inspect.signature(fun).parameters.items():
        by_position = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        if parameter.default is not parameter.empty or not by_position:
            break
        try:
            samples.append(_sample(hints.get(name, Any)))
        except KeyError:
            raise ArgumentError(
                f"the annotation of '{name}' of {describe_function(fun)} does not tell what it "
                f"takes: {parameter.annotation}. Give arguments of the kinds that the derivative "
                "is for."
            ) from None
    return tuple(samples)


def _sample(hint: Any) -> Any:
    if hint is Any or isinstance(hint, TypeVar):
        return 1.0
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return _sample(inner[0])
    if origin in _LISTS:
        return [_sample(x) for x in inner[:1] or (Any,)]
    if origin is tuple:
        return tuple([_sample(x) for x in inner or (Any,) if x is not Ellipsis])
    return _OF_TYPE[origin]
