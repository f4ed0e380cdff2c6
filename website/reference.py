"""A page for each public module, which Sphinx fills from docstrings and types."""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType, NoneType
from typing import Any, Final, ParamSpec, TypeVar, TypeVarTuple

import attrs

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
    names = (name for name in listed if not isinstance(getattr(module, name), ModuleType))
    return sorted(names, key=lambda name: (name.lower(), name))


def public_modules(name: str = "tinyjax") -> Iterator[ModuleType]:
    """Walk through the modules that a program may import from, each once."""
    module = import_module(name)
    yield module
    inner = {n for n in getattr(module, "__all__", ()) if _is_module(module, n)}
    if name in NAMESPACES:
        found = (import_module(f"{name}.{m.name}") for m in pkgutil.iter_modules(module.__path__))
        inner |= {m.__name__.rpartition(".")[2] for m in found if hasattr(m, "__all__")}
    for child in sorted(inner):
        yield from public_modules(f"{name}.{child}")


def _is_module(module: ModuleType, name: str) -> bool:
    """Tell whether a public name is a module that lies in the module that names it."""
    value = getattr(module, name)
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

    def directive(self) -> str:
        """Ask Sphinx to describe the value."""
        if self.elsewhere is not None:
            return f".. py:data:: {self.name}\n\n   The same as :py:obj:`{self.elsewhere}`.\n"
        if inspect.isclass(self.value) or inspect.isroutine(self.value):
            return self._of_definition()
        return self._of_value()

    def _of_definition(self) -> str:
        """Describe a class or function: by its docstring, if it is ours."""
        package = (self.value.__module__ or "tinyjax").partition(".")[0]
        if package != "tinyjax":
            original = f"{self.value.__module__}.{self.value.__qualname__}"
            return f".. py:data:: {self.name}\n\n   The same as ``{original}``.\n"
        if inspect.isroutine(self.value):
            return f".. autofunction:: {self.path}\n"
        kind = "exception" if issubclass(self.value, BaseException) else "class"
        return f".. auto{kind}:: {self.path}\n   :members:\n"

    def _of_value(self) -> str:
        """Describe a value by its comment in the source, or else by what it or its class is."""
        said = _comment(self.name, self.value)
        if isinstance(self.value, bool | int | float | str | tuple | frozenset | NoneType):
            said = said or f"The value ``{self.value!r}``."
            kind = type(self.value).__name__
        elif type(self.value).__module__ in ("types", "typing", "collections.abc"):
            said = said or f"Stands for ``{self.value}``."
            kind = "TypeAlias"
        else:
            kind = type(self.value).__name__
            said = said or _first_paragraph(type(self.value))
        return f".. py:data:: {self.name}\n   :type: {kind}\n\n   {said}\n"


def _first_paragraph(kind: type[object]) -> str:
    """Return what a class says first of its instances, on one line."""
    if not kind.__module__.startswith("tinyjax"):
        return ""
    text = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    return " ".join(text.split())


def _comment(name: str, value: Any) -> str:
    """Return the ``#:`` comment above the line that defines a value, from whatever module."""
    for module in [m for n, m in sys.modules.items() if n.startswith("tinyjax.")]:
        if vars(module).get(name) is value:
            pattern = rf"((?:^#: ?.*\n)+){name}\b"
            if found := re.search(pattern, inspect.getsource(module), re.MULTILINE):
                return " ".join(line.removeprefix("#:").strip() for line in found[1].splitlines())
    return ""


def entries() -> dict[str, list[Entry]]:
    """List what each public module shows; what several show is described once, functions not."""
    described: dict[int, str] = {}
    found: dict[str, list[Entry]] = {}
    for module in public_modules():
        rows = found[module.__name__] = []
        for name in public_names(module):
            value = getattr(module, name)
            entry = Entry(module.__name__, name, value)
            if not inspect.isroutine(value) and not isinstance(value, bool | int | NoneType):
                first = described.setdefault(id(value), entry.path)
                if first != entry.path:
                    entry = attrs.evolve(entry, elsewhere=first)
            rows.append(entry)
    return {module: rows for module, rows in found.items() if rows}


def aliases() -> dict[str, str]:
    """Name the annotations that signatures show by their names, and not by what they stand for."""
    typing = import_module("tinyjax.typing")
    names = (name for name in typing.__all__ if not inspect.isclass(getattr(typing, name)))
    return {name: f"tinyjax.typing.{name}" for name in names}


def type_variables() -> set[str]:
    """List the names of the type variables of the package: a signature's ``T`` is no link."""
    kinds = (TypeVar, ParamSpec, TypeVarTuple)
    ours = [module for name, module in sys.modules.items() if name.startswith("tinyjax")]
    return {n for module in ours for n, v in vars(module).items() if isinstance(v, kinds)}


def pages() -> dict[str, str]:
    """Write the pages, in reStructuredText, by name."""
    found = entries()
    texts = {
        module: f"{_titled(module)}\n.. automodule:: {module}\n   :no-members:\n\n"
        + "\n".join(entry.directive() for entry in rows)
        for module, rows in found.items()
    }
    contents = "\n".join(f"   {module}" for module in texts)
    texts["index"] = (
        f"{_titled('Reference')}\nEvery public module, with what it shows. A function named as one "
        f"of JAX takes the arguments that JAX's takes.\n\n.. toctree::\n   :maxdepth: 1\n\n"
        f"{contents}\n"
    )
    return texts


def _titled(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"
