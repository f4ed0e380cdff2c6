"""Programs of the pages of JAX's documentation, which take the module as an argument.

Each module has functions of one argument: jax, or tinyjax. What they return is compared. Those on
parallelism (``devices``) take devices, too.
"""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import jax
import jax.test_util
import numpy as np

import tinyjax
from tinyjax.core import xla

Program = Callable[[Any], Any]


def programs_of(package: ModuleType) -> dict[str, Program]:
    """The programs in the modules of a package, by the names of module and function."""
    return {
        f"{info.name}-{name}": program
        for info in pkgutil.iter_modules(package.__path__)
        for module in (import_module(f"{package.__name__}.{info.name}"),)
        for name, program in inspect.getmembers(module, inspect.isfunction)
        if program.__module__ == module.__name__
        and [*inspect.signature(program).parameters] == ["jax"]
    }


def plain(value: Any) -> Any:
    """Values for comparison: arrays as NumPy's, dtypes by name."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, jax.Array | tinyjax.Array | np.ndarray | np.generic):
        return np.asarray(value)
    return value


def check_alike(program: Program) -> None:
    """Check that a program does with tinyjax what it does with jax, in both tiers."""
    theirs = jax.tree.map(plain, program(jax))
    for tier in ("first", "compiled"):
        if tier == "first" or not xla.is_absent():
            with tinyjax.config.scoped(tier=tier):
                _hold(jax.tree.map(plain, tinyjax.tree.map(plain, program(tinyjax))), theirs)


def _hold(ours: Any, theirs: Any) -> None:
    got, expected = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert str(jax.tree.structure(ours)) == str(jax.tree.structure(theirs))
    for a, b in zip(got, expected, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
