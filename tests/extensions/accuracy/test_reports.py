"""Reports: the digits of results, the lines that lost the others, and decisions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from accuracy_cases import CASES, Case, excess, growth, one_pass_variance, right_variance, rump

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import accuracy, errors, lax


def right_digits(value: Any, right: Any) -> float:
    """The digits of the worst element, by what is right."""
    value, right = np.asarray(value, np.longdouble), np.asarray(right, np.longdouble)
    with np.errstate(all="ignore"):
        error = np.abs(value - right) / np.abs(right)
    return float(np.min(np.clip(-np.log10(error), 0, 7.22), initial=7.22))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_line_that_loses_digits_is_named_first(case: Case) -> None:
    found = accuracy.report(case.fun, enough=case.enough)(*case.args)
    (result,) = found.results
    value = np.asarray(jnp.asarray(case.fun(*case.args), jnp.float32))
    assert abs(result.worst - right_digits(value, case.right)) < 0.5 or not result.is_certain
    first = found.lines[0]
    assert first.location is not None
    assert first.location.text.endswith("# lost"), str(found)
    assert first.reason == case.reason
    assert first.digits > result.most - result.digits - 1.5


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_jitted_program_loses_them_in_the_same_line(case: Case) -> None:
    first = accuracy.report(tinyjax.jit(case.fun), enough=case.enough)(*case.args).lines[0]
    assert first.location is not None
    assert first.location.text.endswith("# lost")


def test_double_precision_beside_double_double() -> None:
    x = np.random.default_rng(1).standard_normal(100) + 1e6
    found = accuracy.report(one_pass_variance)(x)
    error = abs(float(one_pass_variance(x)) / right_variance(x) - 1)
    assert abs(found.results[0].digits + np.log10(error)) < 0.01
    assert found.lines[0].reason == "cancellation"
    found = accuracy.report(growth)(np.float64(1e-12))
    assert abs(found.results[0].shadow - 1) < 1e-11
    assert not found.estimated
    found = accuracy.report(rump)(np.float64(77617), np.float64(33096))
    assert found.results[0].digits == 0
    assert not found.results[0].is_certain
    assert "no digit is certain" in str(found)


def test_good_programs_have_no_lines() -> None:
    found = accuracy.report(lambda x: jnp.expm1(x) / x)(1e-6)
    assert found.results[0].digits > 7
    assert not found.lines
    assert str(found) == "result: 7.2 of 7.2 digits are right"


def test_lost_digits_that_do_not_matter_are_not_reported() -> None:
    found = accuracy.report(lambda x: 1 + 1e-6 * (jnp.exp(x) - 1))(1e-6)
    assert found.results[0].digits > 7
    assert not found.lines


def test_iterations_and_examples() -> None:
    def step(carry: Any, x: Any) -> Any:
        return carry, (carry + x) - carry

    found = accuracy.report(lambda xs: lax.scan(step, 1.0, xs)[1][3])(
        jnp.array([1.0, 2.0, 1.0, 1e-6, 1.0])
    )
    (line,) = found.lines
    assert [loop.index for loop in line.iterations] == [3]
    assert "in iteration 3 of the scan at" in str(found)
    mapped = tinyjax.vmap(lambda x: (1 + x) - 1)
    found = accuracy.report(mapped)(jnp.array([1.0, 2.0, 1e-6, 1.0]))
    assert found.lines[0].examples == (2,)
    assert "in example 2" in str(found)


def test_the_backward_pass_of_a_line() -> None:
    found = accuracy.report(tinyjax.grad(excess))(np.float32(1e-6))
    assert found.lines[0].direction == "backward"
    assert "(in its backward pass)" in str(found)


def test_decisions_that_higher_precision_makes_otherwise() -> None:
    def clipped(x: Any) -> Any:
        return lax.cond(x * x > 1 + 2**-23, lambda x: x, lambda x: -x, x)

    def chosen(x: Any) -> Any:
        return x if x * x > 1 + 2**-23 else -x

    def selected(x: Any) -> Any:
        return jnp.where(x * x > 1 + 2**-23, x, -x)

    x = np.float32(1 + 2**-24 + 2**-23)
    for fun in (clipped, chosen, selected, tinyjax.jit(clipped)):
        found = accuracy.report(fun)(np.nextafter(x, np.float32(0)))
        above = float(np.nextafter(x, np.float32(0)))
        differs = (np.float32(above) * np.float32(above) > np.float32(1 + 2**-23)) != (
            Fraction(above) ** 2 > Fraction(1 + 2**-23)
        )
        assert bool(found.branches) == bool(differs)


def test_a_loop_that_would_end_elsewhere() -> None:
    def count(x: Any) -> Any:
        return lax.while_loop(lambda s: s[1] < 1, lambda s: (s[0] + 1, s[1] + x), (0, 0.0 * x))[0]

    found = accuracy.report(lambda x: 1.0 * count(x))(np.float32(0.04))
    assert found.results[0].value == 25  # though 25 x < 1
    assert [x.index for x in found.branches[0].iterations] == [25]
    assert "higher precision would have decided otherwise" in str(found)
    assert not accuracy.report(lambda x: 1.0 * count(x))(np.float32(0.1)).branches


def test_what_is_not_shadowed_is_said() -> None:
    def called(x: Any) -> Any:
        return tinyjax.pure_callback(np.sin, tinyjax.ShapeDtypeStruct((), np.float32), x) - x

    assert "results of pure_callback" in accuracy.report(called)(0.5).unshadowed
    read = accuracy.report(lambda x: jnp.sin(float(x) + x))(0.5)
    assert "what Python read at" in str(read)
    assert accuracy.report(jnp.sin)(np.float64(1.0)).estimated == ("sin",)


def test_what_is_refused() -> None:
    with pytest.raises(errors.DtypeError, match="complex128"):
        accuracy.report(lambda x: x * x)(np.complex128(1j))
    with pytest.raises(errors.ArgumentError, match=r"accuracy\.digits"):
        tinyjax.jit(lambda x: accuracy.report(jnp.sin)(x).results[0].digits)(1.0)
    with pytest.raises(errors.ArgumentError, match="one real number"):
        accuracy.estimate(jnp.sin)(jnp.ones(2))
    with pytest.raises(errors.ArgumentError, match="estimate"):
        tinyjax.jit(lambda x: accuracy.estimate(jnp.sin)(x).error)(1.0)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_estimates_bound_errors_of_first_order(case: Case) -> None:
    if case.reason in ("overflow", "underflow") or np.ndim(case.right):
        return  # not of first order, or no number
    found = accuracy.estimate(case.fun)(*case.args)
    assert found.error >= abs(np.longdouble(found.value) - np.longdouble(case.right))


def test_estimates_name_lines() -> None:
    found = accuracy.estimate(tinyjax.jit(one_pass_variance))(CASES[1].args[0])
    assert found.digits < 1
    text = str(found)
    assert "digits are right" in text
    assert "squares" in text
