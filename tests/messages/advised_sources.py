"""Functions that ``tinyjax.source`` refuses, each before one that does what its message says."""

from typing import Any

import numpy as np

import tinyjax.numpy as jnp


def branching(x: Any) -> Any:
    return jnp.sin(x) if x > 0 else x


def filtering(x: Any) -> Any:
    return [y for y in x if y > 0]


def choosing(x: Any) -> Any:
    return [y if y > 0 else -y for y in x]


def truth_of_array(x: Any) -> Any:
    if x > 0:
        return 1
    return 0


def counting(n: Any) -> Any:
    return [0] * n


def augmented(x: Any) -> Any:
    y = jnp.sin(x)
    z = y
    z += 1.0
    return jnp.sum(y * z)


def not_augmented(x: Any) -> Any:
    y = jnp.sin(x)
    z = y
    z = z + 1.0
    return jnp.sum(y * z)


def recursive(n: Any) -> Any:
    if n <= 0:
        return 0
    return 1 + recursive(n - 1)


def summing_chosen(xs: Any) -> Any:
    return sum(x for x in xs if x > 0)


def summing_all(xs: Any) -> Any:
    return sum([x if x > 0 else -x for x in xs])


TABLE = np.zeros(2)


def squared_in_place(x: Any) -> Any:
    """Change what is given."""
    x[...] = x * x
    return np.sum(x)


def down(c: Any, n: int, x: Any) -> Any:
    return c if n == 0 else up(c * x, n - 1, x)


def up(c: Any, n: int, x: Any) -> Any:
    return c if n == 0 else down(c + x, n - 1, x)


async def coroutine(x: Any) -> Any:
    return x


def no_coroutine(x: Any) -> Any:
    return x
