"""Programs that are held against Python."""

from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from differences import slope

from tinyjax import source

Function = Callable[[Any], Any]
F = TypeVar("F", bound=Callable[..., Any])


def check(fun: Function, x: float = 0.7) -> None:
    """Hold the value against Python's, and the gradient against differences."""
    expected = fun(x)
    assert source.evaluate(source.ir_of(fun), x) == expected
    value, gradient = source.value_and_grad(fun)(x)
    assert value == expected
    assert gradient == pytest.approx(slope(lambda t: fun(x + t)), rel=1e-7, abs=1e-7)
