"""The table of programs: functions with control flow, many of them found in textbooks.

They are written as a user writes them, for floats and NumPy arrays, without a thought of
derivatives. A module is a field; its ``PROGRAMS`` are the rows.
"""

import importlib.util
import math
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from programs.table import Floats, Program

__all__ = ["ARRAYS", "MATHEMATICS", "PROGRAMS", "Floats", "Program", "on_tracers"]

PROGRAMS: Final[tuple[Program, ...]] = tuple(
    [
        program
        for module in pkgutil.iter_modules(__path__)
        if module.name != "table"
        for program in import_module(f"programs.{module.name}").PROGRAMS
    ]
)


def on_tracers(program: Program) -> Callable[..., Any]:
    """The function of a program in which `math` and `np` are functions of tracers.

    It is the same text, run as another module.
    """
    function: Callable[..., Any] = getattr(_copy(program.fun.__module__), program.name)
    return function


@cache
def _copy(name: str) -> ModuleType:
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} has been imported"
    assert spec.loader is not None, f"{name} has been imported"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    vars(module).update({"math": MATHEMATICS, "np": ARRAYS, "float": _float})
    return module


def _float(x: Any) -> Any:
    return x if isinstance(x, tinyjax.Array) else float(x)


def _product(items: Any) -> Any:
    total = 1.0
    for item in items:
        total = total * item
    return total


#: What the functions of `math` are called in tinyjax.numpy, where that is not the same.
_RENAMED: Final = {"atan": "arctan", "atan2": "arctan2", "acos": "arccos", "asin": "arcsin"}
_OWN: Final = ("floor", "ceil", "isnan", "isinf", "isfinite", "factorial", "comb", "gcd", "isclose")
#: The module `math` for tracers.
MATHEMATICS: Final = SimpleNamespace(
    **{
        name: value if name in _OWN else getattr(jnp, _RENAMED.get(name, name), value)
        for name, value in vars(math).items()
    }
)
MATHEMATICS.prod, MATHEMATICS.fsum = _product, sum
#: The module `numpy` for tracers.
ARRAYS: Final = SimpleNamespace(**{name: getattr(jnp, name, getattr(np, name)) for name in dir(np)})
