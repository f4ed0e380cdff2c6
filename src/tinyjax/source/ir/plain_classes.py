"""Classes whose constructors, written by hand, store arguments and compute nothing of them."""

from __future__ import annotations

import ast
import inspect
from types import FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

import attrs

from tinyjax.errors import SourceError
from tinyjax.source.ir import find


@attrs.frozen
class Stored:
    """The arguments that a constructor stores.

    Attributes:
        parameters: the attribute that holds each parameter that is stored.
        names: all attributes, in order.
    """

    parameters: dict[str, str]
    names: tuple[str, ...]


_cache: Final[WeakKeyDictionary[type, Stored | None]] = WeakKeyDictionary()


def stored_by(kind: type) -> Stored | None:
    """Return what a class's constructor stores; None where it does more than that."""
    if kind not in _cache:
        _cache[kind] = _read(kind)
    return _cache[kind]


def has_generated_init(kind: Any) -> bool:
    """Return whether the constructor of a class is what ``dataclass`` has written."""
    init = kind.__init__
    generated = isinstance(init, FunctionType) and init.__code__.co_filename == "<string>"
    return generated and "__dataclass_fields__" in vars(kind)


def _read(kind: Any) -> Stored | None:
    init = kind.__init__
    new: Any = object.__new__
    is_plain = type(kind) is type and kind.__new__ is new
    if not (is_plain and isinstance(init, FunctionType) and kind.__setattr__ is object.__setattr__):
        return None
    if find.is_library(init.__code__.co_filename):
        return None
    try:
        node = find.find_function(init.__code__)
    except SourceError:
        return None
    own, *names = [x.arg for x in ast.walk(node.args) if isinstance(x, ast.arg)] or [""]
    parameters: dict[str, str] = {}
    attributes: list[str] = []
    if not isinstance(node, ast.FunctionDef):  # a lambda may store by a call
        return None
    for statement in node.body:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case (
                ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id=holder), attr=name)], value=value
                )
                | ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id=holder), attr=name),
                    value=ast.expr() as value,
                )
            ) if holder == own and name not in attributes:
                attributes.append(name)
            case _:
                return None
        read = {x.id for x in ast.walk(value) if isinstance(x, ast.Name)}
        if isinstance(value, ast.Name) and value.id in names and value.id not in parameters:
            parameters[value.id] = name
        elif not read.isdisjoint((own, *names)):
            return None
        if hasattr(inspect.getattr_static(kind, name, None), "__set__"):
            return None
    return Stored(parameters, tuple(attributes))
