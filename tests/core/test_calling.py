"""Calling users' functions: what they may be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.core.tracing.checking import checked
from tinyjax.errors import ArgumentError


class Named:
    """A callable object whose ``__name__`` is no text, as a field of a module may be."""

    __name__ = np.ones(2)

    def __call__(self, x: Any) -> Any:
        return jnp.sum(x**2)


@pytest.mark.parametrize(
    "transform", [tinyjax.jit, tinyjax.grad, tinyjax.vmap, tinyjax.make_jaxpr, tinyjax.checkpoint]
)
def test_a_callable_whose_name_is_no_text(transform: Callable[..., Any]) -> None:
    transform(Named())(jnp.ones(3))


def test_an_argument_is_checked_as_the_parameter_that_takes_it() -> None:
    @checked
    def of_many(x: int, *factors: int, **options: str) -> int:
        return x

    @checked
    def of_one(x: int, **options: str) -> int:
        return x

    wrong: Any = "a"
    assert of_many(1, 2, 3, how="a") == of_one(1, how="a") == 1
    with raises(ArgumentError, match=r"factors of .*of_many must be int, but got 'a'"):
        of_many(1, wrong)
    one_too_many: list[int] = [1, 2]
    with raises(TypeError, match="takes 1 positional argument but 2 were given"):
        of_one(*one_too_many)
