"""Names that a module loads when they are first asked for, so that importing it costs little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def unknown(module: str, name: str, why: str = "") -> AttributeError:
    """Make the error of a name that a module lacks, with the public name that it is closest to.

    Args:
        module: the module's name.
        name: what was asked for.
        why: what else there is to say.
    """
    hint = "" if why else did_you_mean(name, vars(sys.modules[module]).get("__all__", ()))
    # with the name, but not the module: Python would answer once more
    return AttributeError(f"module '{module}' has no attribute '{name}'.{why}{hint}", name=name)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Name the closest of some names, after a blank; say nothing where none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 (nothing else needs it)

    near = get_close_matches(name, names, 1, 0.75)
    return f" Did you mean '{near[0]}'?" if near else ""


def loader(
    module: str, parts: Mapping[str, str], why: Callable[[str], str] = lambda name: ""
) -> Callable[[str], Any]:
    """Make a module's ``__getattr__``, which imports a name from its home and keeps it.

    Args:
        module: the module's name.
        parts: the names, with blanks between them, that other modules hold. These go by their names
            within ``module``, or by whole names, which have a dot; nothing stands for ``module``
            itself, whose modules are named. The last module that has a name gives it. What its
            module calls otherwise is written with that name: ``map=map_``.
        why: says why another name is missing, or nothing.

    Example:
        >>> from tinyjax.lazy import loader
        >>> load = loader("tinyjax", {"numpy": "sin cos", "": "lax"})
        >>> load("lax").__name__
        'tinyjax.lax'
    """
    homes: dict[str, tuple[str, str]] = {}
    for part, names in parts.items():
        for given in names.split():
            name, _, there = given.partition("=")
            homes[name] = (part, there or name)

    def load(name: str) -> Any:
        if name not in homes:
            raise unknown(module, name, why(name))
        home, there = homes[name]
        if not home:
            return import_module(f"{module}.{name}")
        found = getattr(import_module(home if "." in home else f"{module}.{home}"), there)
        setattr(sys.modules[module], name, found)
        return found

    return load
