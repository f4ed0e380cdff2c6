"""Invalid programs: an error says what is wrong, and can be caught as one of jax's can.

Each program is run with jax and with tinyjax. The error of tinyjax must be one of its own, or one
of Python's where the call does not fit the function. It must be an instance of the builtin classes
that jax's error is an instance of.
"""

import copy
import math
import pickle
import re
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
from invalid import OTHERWISE, REFUSED
from tinyjax.errors import TinyjaxError

#: What Python and NumPy themselves say of a call or of an object, and jax lets them say.
OWN = re.compile(
    r"missing \d+ required|positional argument|unexpected keyword|is not callable|has no attribute"
    r"|format: a real number|__delitem__|read-only|with a sequence|too many values|bytes-like"
    r"|data type 'nope'|unhashable type"
)


def error_of(program: str, library: ModuleType) -> Exception | None:
    """Return the error of a program with one of the libraries."""
    name = library.__name__
    modules = {key: import_module(f"{name}.{key}") for key in ("numpy", "lax", "scipy", "random")}
    for key in ("scipy.linalg", "scipy.special", "nn.initializers"):
        import_module(f"{name}.{key}")
    names: dict[str, Any] = {
        "jax": library,
        "jnp": modules["numpy"],
        "lax": modules["lax"],
        "scipy": modules["scipy"],
        "np": np,
        "copy": copy,
        "math": math,
        "pickle": pickle,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(program, names)
        except Exception as error:
            return error
    return None


def builtins_of(error: Exception) -> list[type]:
    """The builtin classes that an error is an instance of, but for those that all are."""
    every = Exception.__mro__
    return [c for c in type(error).__mro__ if c.__module__ == "builtins" and c not in every]


def check_message(program: str) -> Exception:
    error = error_of(program, tinyjax)
    assert error is not None, "tinyjax accepts the program"
    if not isinstance(error, TinyjaxError):
        assert OWN.search(str(error)), f"a raw {type(error).__name__}: {error}"
    assert error.__context__ is None or error.__suppress_context__, "it is told below another"
    return error


@pytest.mark.sampled(8)
@pytest.mark.wrong_types
@pytest.mark.parametrize("program", REFUSED)
def test_errors_are_of_the_builtin_classes_of_jax(program: str) -> None:
    error, expected = check_message(program), error_of(program, jax)
    assert expected is not None, "jax accepts the program"
    for kind in builtins_of(expected):
        assert isinstance(error, kind), f"{error!r} is no {kind.__name__}, as {expected!r} is"


@pytest.mark.wrong_types
@pytest.mark.parametrize("program", OTHERWISE)
def test_errors_of_other_classes_are_few(program: str) -> None:
    """Errors of another builtin class in jax would be caught here as TypeError."""
    error, expected = check_message(program), error_of(program, jax)
    assert isinstance(error, TypeError)
    assert isinstance(expected, OTHERWISE[program])
    assert not isinstance(error, OTHERWISE[program])


def test_there_are_many() -> None:
    assert len(REFUSED) > 900
    assert len(set(REFUSED)) == len(REFUSED)
    assert len(OTHERWISE) < len(REFUSED) / 20
