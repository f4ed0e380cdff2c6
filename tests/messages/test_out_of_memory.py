"""Eager operations that need more memory than there is: the error says which, of what types."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import random
from tinyjax.errors import JaxRuntimeError, OutOfMemoryError

#: A square of so many rows has fewer elements than there are addresses, and more bytes.
N: Final = 2**23
X: Final = jnp.ones(N)
CALLS: Final[dict[str, Callable[[], Any]]] = {
    "mul": lambda: X[:, None] * X,
    "add": lambda: jnp.zeros((N, N)) + 1,
    "eq": lambda: jnp.eye(N),
    "dot_general": lambda: X[:, None] @ X[None],
    "concatenate": lambda: jnp.concatenate([jnp.zeros((N, N))] * 2),
    "random_bits": lambda: random.normal(random.key(0), (N, N)),
    "broadcast_in_dim": lambda: jnp.arange(N)[:, None].repeat(N, 1) + 0,
}


@pytest.mark.parametrize("name", [*CALLS])
def test_operations(name: str) -> None:
    for _ in range(2):  # the types are known the second time
        with raises(OutOfMemoryError, match=r"GiB, for which there is not enough memory.*batch"):
            CALLS[name]()


def test_types_and_line() -> None:
    with raises(
        OutOfMemoryError, match=r"^mul of .* gives float32\[8388608,8388608\], 262,144.0 GiB"
    ) as e:
        X[:, None] * X
    assert isinstance(e.value, MemoryError)
    assert isinstance(e.value, JaxRuntimeError)
    assert e.value.location is not None
    assert e.value.location.text == "X[:, None] * X"


def test_transformed_and_copied() -> None:
    for call in (
        lambda: tinyjax.grad(lambda x: jnp.sort(x[:, None] * x).sum())(X),
        lambda: jnp.sort(tinyjax.vmap(lambda a: a * X)(X)),
    ):
        with raises(OutOfMemoryError, match="not enough memory"):
            call()
    with raises(OutOfMemoryError, match=r"a copy of data of NumPy's, float64\[8388608,8388608\]"):
        jnp.asarray(np.broadcast_to(np.ones(N), (N, N)))
