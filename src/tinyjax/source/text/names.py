"""The names of a generated text, and what those are that it does not define itself: its imports."""

from __future__ import annotations

import builtins
import cmath
import keyword
import math
import operator
import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.source.ir.program import Constant
from tinyjax.source.text.layout import WIDTH, Doc, group, laid_out, prefixed

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
    literal = repr(text)
    return f'"{literal[1:-1]}"' if literal[0] == "'" and '"' not in text else literal


def _follow(value: Any, names: list[str]) -> Any:
    for name in names:
        value = getattr(value, name, None)
    return value


# The import statements of generated modules

#: What annotations may name.
_ANNOTATIONS: Final = {"Any": "typing", "NDArray": "numpy.typing", "Array": "tinyjax"}


def header(names: dict[str, Any], body: str, fun: FunctionType) -> str:
    """What a module begins with: imports of what it names, and declarations of what has none.

    Args:
        names: what the text names without defining it.
        body: the text.
        fun: the function that it is the adjoint of, which has the code of those defined inside it.
    """
    plain: set[str] = set()
    named: set[tuple[str, str]] = set()
    declared: list[str] = []
    if any(code_of(value, fun) for value in names.values()):
        names = {**names, fun.__name__: fun}
    for name, value in names.items():
        if isinstance(value, ModuleType):
            whole = value.__name__
            plain.add(f"import {whole}" if whole == name else f"import {whole} as {name}")
            continue
        home, real = place_of(value)
        code = code_of(value, fun)
        if code is not None:
            declared += laid_out(prefixed(f"{name}: Any = ", code))
        elif home is None:
            declared.append(f"{name}: Any  # {_described(value)}")
        elif home != "builtins" or real != name:
            named.add((home, real if real == name else f"{real} as {name}"))
    whole = "\n".join([*declared, body])
    for name, home in _ANNOTATIONS.items():
        if re.search(rf"\b{name}\b", whole) and name not in names:
            named.add((home, name))
    if "np." in whole and "np" not in names:
        plain.add("import numpy as np")
    imports = import_block(plain, named)
    return "\n\n".join([imports, "\n".join(declared)]) if declared else imports


def place_of(value: Any) -> tuple[str | None, str]:
    """The module and the name that a value can be imported from; no module where it cannot."""
    home = getattr(value, "__module__", None) or type(value).__module__
    name = getattr(value, "__name__", None)
    if not isinstance(name, str):  # perhaps the only one of its class
        names = [name for name, v in vars(import_module(home)).items() if v is value]
        return (home, names[0]) if names else (None, "")
    public = home.lstrip("_")  # as of operator, whose functions say _operator
    for candidate in (public, home) if public in sys.stdlib_module_names else (home,):
        try:
            if getattr(import_module(candidate), name, None) is value:
                return candidate, name
        except ImportError:
            continue
    return None, name


def code_of(value: Any, fun: FunctionType) -> Doc | None:
    """How to get at the code of functions that are defined inside another one."""
    if isinstance(value, tuple) and value:
        parts = [code_of(item, fun) for item in value]
        return None if None in parts else group("(", [p for p in parts if p is not None], ")")
    if not isinstance(value, CodeType) or place_of(fun)[0] is None:
        return None
    todo = [(fun.__code__, f"{fun.__name__}.__code__")]
    while todo:
        code, text = todo.pop()
        if code is value:
            return text
        inner = enumerate(code.co_consts)
        todo += [(c, f"{text}.co_consts[{i}]") for i, c in inner if isinstance(c, CodeType)]
    return None


def _described(value: Any) -> str:
    name = getattr(value, "__qualname__", None) or type(value).__name__
    return f"given when the text is run: {name}"


def import_block(plain: set[str], named: set[tuple[str, str]]) -> str:
    """Import statements, in the usual order."""
    sections: dict[bool, list[str]] = {True: [], False: []}
    for line in sorted(plain):
        sections[_is_standard(line.split()[1])].append(line)
    for home in sorted({home for home, _ in named}):
        names = sorted({name for module, name in named if module == home}, key=_order)
        sections[_is_standard(home)] += laid_out(_import(home, names))
    return "\n\n".join("\n".join(lines) for lines in (sections[True], sections[False]) if lines)


def _is_standard(module: str) -> bool:
    root = module.partition(".")[0]
    return root in sys.stdlib_module_names or root in vars(builtins)


def _import(home: str, names: Sequence[str]) -> Doc:
    line = f"from {home} import {', '.join(names)}"
    return line if len(line) <= WIDTH else group(f"from {home} import (", names, ")")


def _order(name: str) -> tuple[int, str]:
    """Constants first, then classes, then the rest."""
    plain = name.strip("_")
    return (0 if plain.isupper() else 1 if plain[:1].isupper() else 2), name
