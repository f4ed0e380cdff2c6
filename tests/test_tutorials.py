"""What JAX's documentation does, run under jax and under tinyjax: see ``tutorials``."""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.test_util
import numpy as np
import pytest
import tutorials

import tinyjax

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    f"{info.name}-{name}": program
    for info in pkgutil.iter_modules(tutorials.__path__)
    for module in (import_module(f"tutorials.{info.name}"),)
    for name, program in inspect.getmembers(module, inspect.isfunction)
    if program.__module__ == module.__name__ and [*inspect.signature(program).parameters] == ["jax"]
}

#: Programs that show what a value of the wrong type raises.
WRONG_TYPES = {"sharp_bits-non_array_inputs"}


def plain(value: Any) -> Any:
    """Values for comparison: arrays as NumPy's, dtypes by name."""
    if isinstance(value, np.dtype):
        return value.name
    if isinstance(value, jax.Array | tinyjax.Array | np.ndarray | np.generic):
        return np.asarray(value)
    return value


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.wrong_types] * (name in WRONG_TYPES))
        for name in PROGRAMS
    ],
)
def test_does_what_the_documentation_does(name: str) -> None:
    program = PROGRAMS[name]
    ours = jax.tree.map(plain, tinyjax.tree.map(plain, program(tinyjax)))
    theirs = jax.tree.map(plain, program(jax))
    got, expected = jax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert str(jax.tree.structure(ours)) == str(jax.tree.structure(theirs))
    for a, b in zip(got, expected, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
