"""Modules under construction, and functions of other modules put into them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Final

from tinyjax.dtypes import HostArray

#: Takes one NumPy array per operand, and returns one per result, of exactly the types declared.
HostFunction = Callable[..., Sequence[HostArray]]


class Interrupter:
    """A Python function that ends the program which calls it at the next call, once it is told to.

    Such programs run on the first device alone.
    """

    def __call__(self, *args: HostArray) -> Sequence[HostArray]:
        """Take what the program has computed, and return what it goes on with."""
        raise NotImplementedError

    def stop(self) -> None:
        """Learn that the program failed, or is to end."""
        raise NotImplementedError


class Module:
    """The functions of a module under construction.

    Attributes:
        host_functions: the Python functions that it calls, by their number.
        divided: of a program for several devices, what writes it (``parallel.lowering``).
    """

    def __init__(self, divided: Any = None) -> None:
        self.divided: Any = divided
        self.host_functions: list[HostFunction] = []
        self._functions: list[str] = []
        self._names: dict[bytes, str] = {}
        self._meshes: dict[str, str] = {}
        self._channels = count(1)

    @property
    def is_divided(self) -> bool:
        """Whether it is a program for several devices, which call no Python functions."""
        return self.divided is not None

    def mesh(self, text: str) -> str:
        """Return the name of a mesh of devices, given as Shardy writes it."""
        return self._meshes.setdefault(text, f"mesh_{len(self._meshes)}")

    def a_mesh(self) -> str | None:
        """Return the name of a mesh that the program runs on; None where it has one device."""
        return next(iter(self._meshes.values()), None)

    def channel(self) -> str:
        """Return what tells one collective of the module from the others."""
        return f"#stablehlo.channel_handle<handle = {next(self._channels)}, type = 1>"

    def define(self, text: str) -> None:
        """Add a function."""
        self._functions.append(text)

    def called(self, key: bytes, name: str, define: Callable[[str], None]) -> str:
        """Return the name of a function, defining it first where that is not done.

        Args:
            key: which function it is.
            name: what to call it.
            define: adds it, given its name.
        """
        full_name = self._names.get(key)
        if full_name is None:
            full_name = self._names[key] = f"{_identifier(name)}_{len(self._names)}"
            define(full_name)
        return full_name

    def embed(self, key: bytes, read: Callable[[], str], name: str) -> str:
        """Return the name of another module's entry point, writing its functions where not done.

        Args:
            key: which module that is.
            read: returns its text.
            name: what to call its entry point, ``main``.
        """
        return self.called(key, name, lambda entry: self.define(_functions_of(read(), entry)))

    def text(self, name: str) -> str:
        functions = "\n".join(reversed(self._functions))
        meshes = "".join([f"  sdy.mesh @{mesh} = {of}\n" for of, mesh in self._meshes.items()])
        return f"module @{_identifier(name)} {{\n{meshes}{functions}\n}}\n"


_DEFINITION: Final = r"func\.func (?:public |private )?@([\w$.-]+)"
# What has an @ and is no function of the module is matched as well, and left as it is.
_STRING_OR_SYMBOL: Final = r'"(?:[^"\\]|\\.)*"|custom_call @|@([\w$.-]+)'


def _functions_of(module: str, entry: str) -> str:
    """Return the functions in a module's text under names that no other module's have."""
    first = module.index("\n", module.index("module ")) + 1
    functions = module[first : module.rindex("}")].rstrip()
    defined = frozenset(re.findall(_DEFINITION, functions))

    def rename(match: re.Match[str]) -> str:
        name = match[1]
        if name not in defined:
            return match[0]
        # no name of ours has a dot in it
        return f"@{entry}" if name == "main" else f"@{entry}.{name}"

    renamed = re.sub(_STRING_OR_SYMBOL, rename, functions)
    return renamed.replace("func.func public ", "func.func private ")


def _identifier(name: str) -> str:
    """Return a name that MLIR takes; Python's may begin with a digit, or have other letters."""
    letters = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{letters}" if letters[:1].isdigit() else letters or "f"
