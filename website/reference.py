"""The public names, as a user finds them: by importing the package."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, NoneType
from typing import Any, Final

import attrs

from tinyjax._base.lazy import HOMES

#: Packages whose modules are public although the package does not name them.
NAMESPACES: Final = (
    "tinyjax.example_libraries",
    "tinyjax.experimental",
    "tinyjax.extend",
    "tinyjax.source",
)


def public_names(module: ModuleType) -> list[str]:
    """List what a module shows, without the modules in it."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is None:
        listed = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
        ]
    names = (name for name in listed if not isinstance(value_of(module, name), ModuleType))
    return sorted(names, key=lambda name: (name.lower(), name))


def value_of(module: ModuleType, name: str) -> Any:
    """Return what a module shows by a name, also where a module of that name has been loaded."""
    home, attribute = HOMES.get(module.__name__, {}).get(name, (module.__name__, name))
    return getattr(import_module(home), attribute)


def public_modules(name: str = "tinyjax") -> Iterator[ModuleType]:
    """Walk through the modules that a program may import from, each once."""
    module = import_module(name)
    yield module
    inner = {n for n in getattr(module, "__all__", ()) if _is_module(module, n)}
    if name in NAMESPACES:
        modules = (import_module(f"{name}.{m.name}") for m in pkgutil.iter_modules(module.__path__))
        inner |= {m.__name__.rpartition(".")[2] for m in modules if hasattr(m, "__all__")}
    for child in sorted(inner):
        yield from public_modules(f"{name}.{child}")


def _is_module(module: ModuleType, name: str) -> bool:
    """Tell whether a public name is a module that lies in the module that names it."""
    value = value_of(module, name)
    return isinstance(value, ModuleType) and value.__name__ == f"{module.__name__}.{name}"


@attrs.frozen
class Entry:
    """A public name: its module, its value, and the name that describes the value, if another."""

    module: str
    name: str
    value: Any
    elsewhere: str | None = None

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def comment(name: str, value: Any) -> str:
    """Return the ``#:`` comment above the line that defines a value, from whatever module."""
    for module in [m for n, m in sys.modules.items() if n.startswith("tinyjax.")]:
        if vars(module).get(name) is value:
            pattern = rf"((?:^#: ?.*\n)+){name}\b"
            if match := re.search(pattern, inspect.getsource(module), re.MULTILINE):
                return " ".join(line.removeprefix("#:").strip() for line in match[1].splitlines())
    return ""


def entries() -> dict[str, list[Entry]]:
    """List what each public module shows; what several show is described once, functions not."""
    described: dict[int, str] = {}
    listed: dict[str, list[Entry]] = {}
    for module in public_modules():
        rows = listed[module.__name__] = []
        for name in public_names(module):
            value = value_of(module, name)
            entry = Entry(module.__name__, name, value)
            if not inspect.isroutine(value) and not isinstance(value, bool | int | NoneType):
                first = described.setdefault(id(value), entry.path)
                if first != entry.path:
                    entry = attrs.evolve(entry, elsewhere=first)
            rows.append(entry)
    return {module: rows for module, rows in listed.items() if rows}
