"""Successive products of large matrices, which the compiler is kept from fusing."""

from typing import Any

import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax


def layers(x: Any, first: Any, second: Any) -> Any:
    return jnp.maximum(x @ first, 0) @ second


def repeated(x: Any, first: Any, second: Any) -> Any:
    step = lambda _, y: layers(y, first, second)  # noqa: E731
    return lax.fori_loop(0, 3, step, x)


def text_of(fun: Any, rows: int, size: int) -> str:
    square = tinyjax.ShapeDtypeStruct((size, size), jnp.float32)
    x = tinyjax.ShapeDtypeStruct((rows, size), jnp.float32)
    return tinyjax.jit(fun).lower(x, square, square).as_text()


@pytest.mark.parametrize("fun", [layers, repeated, tinyjax.jit(layers)])
def test_large_products_are_kept_apart(fun: Any) -> None:
    assert "optimization_barrier" not in text_of(fun, 4, 100)
    assert "optimization_barrier" in text_of(fun, 4, 2000)


def test_products_that_take_none_of_others_have_no_barrier() -> None:
    def fun(x: Any, first: Any, second: Any) -> Any:
        return x @ first + x @ second

    assert "optimization_barrier" not in text_of(fun, 4, 2000)
