"""A primitive that holds a program says once what it does with it; whoever evaluates asks that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import errors, lax
from tinyjax._extensions.host.plans import ProgramEvaluation
from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.tracing.primitive import Params, Primitive, registry
from tinyjax.core.tracing.program_rules import ProgramEvaluator, def_program
from tinyjax.core.tracing.trace import bind1, use_trace
from tinyjax.core.values.array import Array

X = np.linspace(0.25, 2.0, 4)


@attrs.frozen(eq=False, repr=False)
class _RepeatParams(Params):
    body: Jaxpr
    times: int


@pytest.fixture
def repeat_p() -> Iterator[Primitive[_RepeatParams]]:
    """A program applied to its own result some times over."""
    primitive: Primitive[_RepeatParams] = Primitive("repeat_body", _RepeatParams)

    def repeat(args: Sequence[Any], params: _RepeatParams, run: ProgramEvaluator) -> Sequence[Any]:
        for _ in range(params.times):
            args = run(params.body, args, params.times)
        return args

    def_program(primitive, repeat)
    primitive.def_abstract_eval(lambda avals, params: avals)
    yield primitive
    del registry[primitive.name]


def _repeated(primitive: Primitive[_RepeatParams], body: Any, times: int) -> Any:
    jaxpr = tinyjax.make_jaxpr(body)(X).jaxpr
    return lambda x: bind1(primitive, (jnp.asarray(x),), _RepeatParams(jaxpr, times))


def _cosines(x: Any, times: int) -> Any:
    for _ in range(times):
        x = np.cos(x)
    return x


def test_it_is_evaluated_eagerly_and_by_plans(repeat_p: Primitive[_RepeatParams]) -> None:
    fun = _repeated(repeat_p, jnp.cos, 5)
    np.testing.assert_array_equal(fun(X), _cosines(X, 5))
    jaxpr = tinyjax.make_jaxpr(fun)(X).jaxpr
    with use_trace(ProgramEvaluation(inf)):
        (out,) = eval_jaxpr(jaxpr, [jnp.asarray(X)])
    np.testing.assert_array_equal(out, _cosines(X, 5))


def test_it_is_evaluated_in_the_body_of_a_loop(repeat_p: Primitive[_RepeatParams]) -> None:
    """So often that the body is written as a function."""
    fun = _repeated(repeat_p, jnp.cos, 2)

    def loop(x: Any) -> Any:
        return lax.fori_loop(0, 200, lambda i, c: fun(c), x)

    jaxpr = tinyjax.make_jaxpr(loop)(X).jaxpr
    with use_trace(ProgramEvaluation(inf)):
        (out,) = eval_jaxpr(jaxpr, [jnp.asarray(X)])
    np.testing.assert_array_equal(out, _cosines(X, 400))


def test_the_debugger_finds_the_operation_in_it(repeat_p: Primitive[_RepeatParams]) -> None:
    fun = _repeated(repeat_p, lambda x: jnp.log(x - 1.0), 2)
    with tinyjax.debug_nans(True), raises(errors.NanError, match="log"):
        fun(X).tolist()


def test_arrays_stay_arrays(repeat_p: Primitive[_RepeatParams]) -> None:
    out = _repeated(repeat_p, jnp.sin, 3)(X)
    assert isinstance(out, Array)
