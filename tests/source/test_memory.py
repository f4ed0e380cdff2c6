"""The cache of a function that was read: it keeps its program, and no closed-over values."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import source
from tinyjax.source.contexts import CallTracer, OperationCounter


class Table(np.ndarray[Any, Any]):
    """An array that can be referred to weakly."""


def loop_over(table: Any) -> Callable[[Any], Any]:
    def scaled(x: Any) -> Any:
        for i in range(3):
            if x > 0.1:
                x = x * table[i]
        return x

    return scaled


def nested_over(table: Any) -> Callable[[Any], Any]:
    def inner(x: Any) -> Any:
        return x * table[0]

    return lambda x: inner(x) + inner(2 * x)


USES: dict[str, Callable[[Callable[[Any], Any]], object]] = {
    "program": source.ir_of,
    "gradient": lambda f: source.grad(f)(2.0),
    "second": lambda f: source.grad(source.grad(f))(2.0),
    "text": source.adjoint_source,
    "staged": lambda f: tinyjax.make_jaxpr(source.stage(f))(2.0),
    "compiled": lambda f: tinyjax.jit(f, control_flow="source")(2.0),
    "counted": lambda f: source.with_context(OperationCounter(), f)(2.0),
    "traced": lambda f: source.with_context(CallTracer(), source.grad(f))(2.0),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("make", [loop_over, nested_over])
@pytest.mark.parametrize("use", USES)
def test_what_a_function_closes_over_is_not_kept(
    use: str, make: Callable[[Any], Callable[[Any], Any]]
) -> None:
    table = np.full(3, 2.0).view(Table)
    alive = weakref.ref(table)
    fun = make(table)
    USES[use](fun)
    del table, fun
    gc.collect()
    assert alive() is None
