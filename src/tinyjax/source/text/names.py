"""The names of a generated text, and what those are that it does not define itself."""

from __future__ import annotations

import builtins
import cmath
import keyword
import math
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.source.ir.program import Constant

#: What the variables are called that hold the residuals; no user can say so.
STACK: Final = ".stack"
#: And the variables that hold which block it was that has kept them.
TAG: Final = ".block"
#: What the variables are called that the user has no name for.
TEMPORARY: Final = "t"
#: What cotangents are called, before the name of their variable.
COTANGENT: Final = "d_"
_STANDARD: Final[dict[str, ModuleType]] = {"math": math, "np": np, "operator": operator}


class Names:
    """The names of a text.

    Attributes:
        scope: finds what a name is in the user's module.
        namespace: what the text names without defining it.
        taken: the names that it defines.
        counts: by how much each name wanted was last told from others.
    """

    def __init__(self, scope: Callable[[str], Any]) -> None:
        self.scope = scope
        self.namespace: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.counts: dict[str, int] = {}

    def fresh(self, stem: str) -> str:
        count = self.counts.get(stem, 0)
        name = f"{stem}_{count}" if count else stem
        while (
            name in self.taken
            or name in self.namespace
            or keyword.iskeyword(name)
            or hasattr(builtins, name)
        ):
            count += 1
            name = f"{stem}_{count}"
        self.counts[stem] = count
        self.taken.add(name)
        return name

    def constant(self, constant: Constant) -> str:
        """How a constant is written."""
        value = constant.value
        if is_literal(value):
            return written(value)
        root, *rest = constant.text.split(".")
        for known_value in (self.namespace.get(root), self.scope(root), _STANDARD.get(root)):
            if (
                known_value is not None
                and _follow(known_value, rest) is value
                and self._free(root, known_value)
            ):
                if not (hasattr(builtins, root) and getattr(builtins, root) is known_value):
                    self.namespace[root] = known_value
                return constant.text
        own = "".join(c if c.isalnum() or c == "_" else "_" for c in constant.text).strip("_")
        own = own if own.isidentifier() else "constant"
        for name, known_value in self.namespace.items():
            if known_value is value:
                return name
        if not self._free(own, value):
            own = self.fresh(own)
        self.namespace[own] = value
        return own

    def _free(self, name: str, value: Any) -> bool:
        if name in self.taken or not name.isidentifier() or keyword.iskeyword(name):
            return False
        if name in self.namespace:
            return self.namespace[name] is value
        return not hasattr(builtins, name) or getattr(builtins, name) is value


def is_literal(value: Any) -> bool:
    """Whether a value is written as it is."""
    if isinstance(value, tuple):
        return all(is_literal(item) for item in value) and type(value) is tuple
    if type(value) in (float, complex):
        return cmath.isfinite(value)
    if type(value) is dict:
        return not value
    return type(value) in (int, str, bytes, bool, type(None)) or value is Ellipsis


def written(value: Any) -> str:
    """Write what ``is_literal``."""
    if isinstance(value, tuple):
        items = [written(item) for item in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return quoted(value) if isinstance(value, str) else repr(value)


def quoted(text: str) -> str:
    """A string in double quotes where these need no escapes."""
    shown = repr(text)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in text else shown


def _follow(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value
