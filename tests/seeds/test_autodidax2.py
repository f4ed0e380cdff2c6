"""The programs of "Autodidax2, part 1: JAX from scratch, again", and the figures it prints."""

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import grad, jvp, make_jaxpr
from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import EVAL, Trace, current_trace, use_trace

pytestmark = pytest.mark.usefixtures("double_precision")


def quadratic(x: Any) -> Any:
    """Return x (x + 3): 10 at 2, where its slope is 7."""
    return jnp.multiply(x, jnp.add(x, 3.0))


def derivative(fun: Callable[[Any], Any], x: Any) -> Any:
    return jvp(fun, (x,), (1.0,))[1]


def nth_derivative(n: int, fun: Callable[[Any], Any], x: Any) -> Any:
    if n == 0:
        return fun(x)
    return derivative(lambda y: nth_derivative(n - 1, fun, y), x)


def test_evaluation() -> None:
    assert float(quadratic(2.0)) == 10.0


def test_finite_differences_come_near() -> None:
    step = 1e-5
    assert float((quadratic(2.0 + step) - quadratic(2.0)) / step) == pytest.approx(
        7.000009999913458, rel=1e-9
    )
    assert str(quadratic(2.00001)) == "10.0000700001"


@attrs.frozen
class Dual:
    """A primal and a tangent, propagated by hand."""

    primal: float
    tangent: float

    def __add__(self, other: "Dual") -> "Dual":
        return Dual(self.primal + other.primal, self.tangent + other.tangent)

    def __mul__(self, other: "Dual") -> "Dual":
        slope = self.primal * other.tangent + self.tangent * other.primal
        return Dual(self.primal * other.primal, slope)


def test_dual_numbers_by_hand_and_jvp_agree() -> None:
    x = Dual(2.0, 1.0)
    by_hand = x * (x + Dual(3.0, 0.0))
    assert by_hand == Dual(10.0, 7.0)
    value, slope = jvp(quadratic, (2.0,), (1.0,))
    assert (float(value), float(slope)) == (10.0, 7.0)


@pytest.mark.parametrize(("n", "expected"), list(enumerate([10.0, 7.0, 2.0, 0.0, 0.0])))
def test_derivatives_of_every_order(n: int, expected: float) -> None:
    assert float(nth_derivative(n, quadratic, 2.0)) == expected


@pytest.mark.parametrize("differentiate", [derivative, lambda fun, x: grad(fun)(x)])
def test_perturbations_are_not_confused(differentiate: Callable[..., Any]) -> None:
    def fun(x: Any) -> Any:
        flat = differentiate(lambda _: x, 0.0)  # x does not depend on the inner variable
        return jnp.multiply(x, flat)

    assert float(differentiate(fun, 0.0)) == 0.0
    assert float(differentiate(fun, 5.0)) == 0.0


def test_the_current_interpreter_is_a_matter_of_context() -> None:
    class Counting(Trace):
        """An interpreter that counts what it hands on."""

        def __init__(self) -> None:
            super().__init__(EVAL)
            self.seen: list[str] = []

        def process(self, primitive: Primitive[Any], args: Any, params: Any) -> Any:
            self.seen.append(primitive.name)
            return EVAL.process(primitive, args, params)

    counting = Counting()
    with use_trace(counting):
        assert current_trace() is counting
        quadratic(2.0)
    assert current_trace() is EVAL
    assert counting.seen == ["add", "mul"]
    quadratic(2.0)
    assert counting.seen == ["add", "mul"]


def staged() -> Jaxpr:
    return make_jaxpr(quadratic)(2.0).jaxpr


def test_staging_prints_the_program() -> None:
    assert str(staged()) == (
        "{ lambda a:float64[] .\n"
        "  let b:float64[] = add a 3.0\n"
        "      c:float64[] = mul a b\n"
        "  in ( c ) }"
    )


def test_the_staged_program_evaluates() -> None:
    (found,) = eval_jaxpr(staged(), [jnp.asarray(2.0)])
    assert float(found) == 10.0


def test_the_staged_program_is_a_function_again() -> None:
    def round_trip(x: Any) -> Any:
        return eval_jaxpr(staged(), [x])[0]

    value, slope = jvp(round_trip, (2.0,), (1.0,))
    assert (float(value), float(slope)) == (10.0, 7.0)
    assert make_jaxpr(round_trip)(2.0).jaxpr == staged()
    np.testing.assert_array_equal(tinyjax.vmap(round_trip)(np.array([0.0, 2.0])), [0.0, 10.0])
