"""A program that needs more memory than there is says so, and what to do."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import JaxRuntimeError


@pytest.mark.parametrize("read", [lambda y: y.block_until_ready(), np.asarray])
def test_there_is_not_enough_memory(read: Callable[[Any], object]) -> None:
    # 36 TB, of which one hears when the results are read
    large = tinyjax.jit(lambda x: jnp.sort(x[:, None] + x[None, :] * 2, 0) + 1)
    x = np.ones(3_000_000, np.float32)
    with raises(JaxRuntimeError, match=r"(?s)RESOURCE_EXHAUSTED.*grad's memory_budget"):
        read(large(x))
