"""Calling users' functions: what they may be."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp


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
