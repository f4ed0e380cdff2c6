"""Constructors of objects with declared fields: attrs classes, dataclasses, named tuples."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import attrs

from tinyjax.source.adjoint.rules import inert


@attrs.frozen(eq=False)
class FieldsPullback:
    """The pullback of a constructor: what each argument becomes."""

    names: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        return (None, *[ct.get(name) for name in self.names])


@attrs.frozen(eq=False)
class ItemsPullback:
    """The pullback of a named tuple's constructor."""

    order: tuple[int, ...]

    def __call__(self, ct: Any) -> Any:
        return (None, *[ct[i] for i in self.order])


def constructor_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an attrs object, a dataclass or a named tuple."""
    return fun(*args, **kwargs), constructor_pullback(fun, args, tuple(kwargs))


def constructor_pullback(
    kind: Any, args: tuple[Any, ...], names: tuple[str, ...]
) -> FieldsPullback | ItemsPullback:
    """Which field each argument of a constructor becomes."""
    parameters = list(inspect.signature(kind).parameters)[: len(args)]
    if issubclass(kind, tuple):
        fields = list(kind._fields)
        return ItemsPullback(tuple([fields.index(name) for name in (*parameters, *names)]))
    aliases = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    return FieldsPullback(tuple([aliases.get(name, name) for name in (*parameters, *names)]))


def is_written_class(kind: type) -> bool:
    """Whether a class is the user's own: made by a class statement, and not of the library."""
    own = kind.__module__.partition(".")[0] not in sys.stdlib_module_names
    return bool(kind.__flags__ & (1 << 9)) and own


def is_record_class(kind: Any) -> bool:
    """Whether the constructor of a class only keeps its arguments."""
    if issubclass(kind, tuple):
        return hasattr(kind, "_fields")
    if any(hasattr(kind, name) for name in ("__attrs_post_init__", "__post_init__")):
        return False
    if "__attrs_attrs__" in vars(kind):
        generated_init = kind.__init__.__code__.co_filename.startswith("<attrs generated")
        return generated_init and not any(
            f.converter or getattr(f.default, "takes_self", False) for f in attrs.fields(kind)
        )
    return "__dataclass_fields__" in vars(kind) and vars(kind)["__dataclass_params__"].init


inert.add(constructor_pullback)
