"""Constructors of objects with declared fields: attrs classes, dataclasses, named tuples."""

from __future__ import annotations

import inspect
import sys
from typing import Any

import attrs

from tinyjax.source.adjoint.rules.registry import inert


@attrs.frozen(eq=False)
class RecordPullback:
    """The pullback of a constructor: which field, or item, each argument becomes."""

    keys: tuple[str | int, ...]

    def __call__(self, ct: Any) -> Any:
        cotangents = [ct.get(key) if isinstance(ct, dict) else ct[key] for key in self.keys]
        return (None, *cotangents)


def constructor_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Make an attrs object, a dataclass or a named tuple."""
    return fun(*args, **kwargs), RecordPullback(constructed(fun, len(args), tuple(kwargs)))


def constructed(kind: Any, count: int, names: tuple[str, ...]) -> tuple[str | int, ...]:
    """Which field, or item, each argument of a constructor becomes."""
    parameters = (*[*inspect.signature(kind).parameters][:count], *names)
    if issubclass(kind, tuple):
        return tuple([kind._fields.index(name) for name in parameters])
    aliases = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    return tuple([aliases.get(name, name) for name in parameters])


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


inert.add(constructed)
