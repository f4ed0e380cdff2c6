"""Names and modules that are loaded on first use, so that importing costs little."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any, Final, NoReturn

#: Of each module with a table: the home of every name, and what it is called there. Of a module in
#: the table's own package the home is that package.
HOMES: Final[dict[str, dict[str, tuple[str, str]]]] = {}
#: Of a namespace that has the names of another one without listing them: the other.
UNLISTED: Final[dict[str, str]] = {}

#: The module of each extension, by the key of the core's request. The key is the name of a class
#: that an extension replaces, the key of its rules, or the name of another hook. "with jit" lists
#: several modules, with blanks between them.
HOOKS: Final[dict[str, str]] = {}


class _Extensions(dict[str, Any]):
    """The modules of extensions, loaded when they are looked up; None where there is none."""

    def __missing__(self, key: str) -> Any:
        if key not in HOOKS:
            return None
        module = self[key] = import_module(HOOKS[key])
        return module


#: Looked up by every eager gradient, without a call of ``hook``.
extensions: Final = _Extensions()


def hook(key: str) -> Any:
    """Return the extension's module for a key, loaded now; None where there is none."""
    return extensions[key]


def is_loaded(key: str) -> bool:
    """Return whether any part of the extension for a key has been loaded."""
    path = HOOKS.get(key, "").split(".")
    depth = 3 if path[1:] and path[1].startswith("_") else 2
    return ".".join(path[:depth]) in sys.modules


_OPTIMIZERS: Final = "Optimizers are in tinyjax.example_libraries.optimizers, or in optax."
_LAYERS: Final = (
    "Layers are functions of their parameters here, such as x @ w + b; "
    "tinyjax.example_libraries.stax has pairs of an initializer and such a function."
)
#: Where things are that other libraries have under these names.
_ELSEWHERE: Final = {
    **dict.fromkeys(("optim", "optimizers", "adam", "Adam", "sgd", "SGD"), _OPTIMIZERS),
    **dict.fromkeys(("Linear", "Dense", "Conv", "Conv2d", "Module", "Sequential"), _LAYERS),
    "rand": "Use tinyjax.random.uniform(key, shape).",
    "randn": "Use tinyjax.random.normal(key, shape).",
}


class UnknownNameError(AttributeError):
    """A name that a module lacks, with the public name that it is closest to.

    The message is made when it is read: most often nobody does, since ``from module import part``
    looks in the module before it loads the part.

    Args:
        module: the module's name.
        name: the requested name.
        why: what else there is to say.
    """

    def __init__(self, module: str, name: str, why: str = "") -> None:
        # with the name, but not the module: Python would make a suggestion of its own
        super().__init__(module, name, why, name=name)

    def __str__(self) -> str:
        module, name, why = self.args
        known = vars(sys.modules[module]).get("__all__", ())
        hint = why or (f" {_ELSEWHERE[name]}" if name in _ELSEWHERE else did_you_mean(name, known))
        return f"module '{module}' has no attribute '{name}'.{hint}"


def answer_for(module: str, names: str = "") -> None:
    """Let a module list only its public names, and suggest one for a name that it lacks.

    Type checkers see nothing of it, and so know which names there are.

    Args:
        module: the name of the module, which calls this.
        names: its public names, with blanks between them, except those that its ``__all__`` has
            already. What a module imports is public to type checkers only if it is in ``__all__``.
    """
    scope = vars(sys.modules[module])
    scope["__all__"] = [*scope.get("__all__", ()), *names.split()]

    def absent(name: str) -> NoReturn:
        raise UnknownNameError(module, name)

    scope["__getattr__"] = absent
    scope["__dir__"] = lambda: sorted(scope["__all__"])


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the closest of some names, after a blank; nothing where none is close."""
    from difflib import get_close_matches  # noqa: PLC0415 (nothing else needs it)

    near = get_close_matches(name, names, 1, 0.75)
    return f" Did you mean '{near[0]}'?" if near else ""


def loader(
    module: str, table: Mapping[str, str], why: Callable[[str], str] = lambda name: ""
) -> Callable[[str], Any]:
    """Make a module's ``__getattr__``, which imports a name from its home and keeps it.

    Args:
        module: the module's name.
        table: the homes of names, and the names, with blanks between them. A home goes by its name
            within ``module``, or by its whole name, which has a dot, if only at its end; nothing
            stands for ``module`` itself, whose modules are named. The last home that has a name
            gives it. A name that differs at home is followed by that one: ``map=map_``.
        why: says why another name is missing, or nothing.

    Example:
        >>> from tinyjax._base.lazy import loader
        >>> load = loader("email", {"utils": "quote unquote", "": "charset"})
        >>> load("charset").__name__
        'email.charset'
    """
    homes: dict[str, tuple[str, str]] = {}
    for part, names in table.items():
        home = (part if "." in part else f"{module}.{part}").rstrip(".")
        for entry in names.split():
            name, _, there = entry.partition("=")
            homes[name] = (home, there or name)
    HOMES[module] = homes

    def load(name: str) -> Any:
        if name not in homes:
            raise UnknownNameError(module, name, why(name))
        home, there = homes[name]
        if home == module:
            return import_module(f"{module}.{name}")
        # as ``from home import there``, which loads a module of a package
        value = getattr(__import__(home, fromlist=(there,)), there)
        setattr(sys.modules[module], name, value)
        return value

    return load


def namespace(
    module: str,
    table: Mapping[str, str],
    why: Callable[[str], str] = lambda name: "",
    unlisted: str = "",
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Make a module's ``__all__``, ``__getattr__`` and ``__dir__`` from its table of exports.

    Args:
        module: the module's name. Beside it lies a stub of the same names for type checkers, which
            ``python -m tools.exports`` in ``tests/`` writes.
        table: the homes of names, as ``loader`` takes them.
        why: says why another name is missing, or nothing.
        unlisted: a namespace whose names this one has, too, without listing them.

    Example:
        >>> from tinyjax._base.lazy import namespace
        >>> names, load, listed = namespace("email", {"utils": "quote unquote", "": "charset"})
        >>> names, listed()
        (['charset', 'quote', 'unquote'], ['charset', 'quote', 'unquote'])
    """
    load = loader(module, table, why)
    homes = HOMES[module]
    names = sorted(homes)
    if not unlisted:
        return names, load, lambda: names
    UNLISTED[module] = unlisted

    def load_any(name: str) -> Any:
        if name not in homes and name in (other := import_module(unlisted)).__all__:
            return getattr(other, name)
        return load(name)

    return names, load_any, lambda: names


def why_missing(table: str) -> Callable[[str], str]:
    """Say, by a table of ``missing_names``, why names of JAX are not here."""

    def why(name: str) -> str:
        reason = vars(import_module("tinyjax._base.missing_names"))[table].get(name)
        return f" It is JAX's, and not here: {reason}. docs/jax_api.md lists all." if reason else ""

    return why
