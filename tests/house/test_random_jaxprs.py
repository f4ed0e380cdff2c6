"""Random well-typed programs survive all that is done to programs; ill-typed ones are refused."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from typed_programs import MISTAKES, PERHAPS, check_refused, drawn

from fuzz.forgetting import forget_sometimes
from tinyjax.core.values.avals import ShapedArray
from tinyjax.testing.random_programs import MOST_NUMBER, Step, TypedProgram, check_program
from tinyjax.testing.strategies import programs

NUMBERS = st.integers(0, MOST_NUMBER)


#: It takes the sine of 16 in a call that is compiled, which NumPy rounds otherwise.
SINE = TypedProgram(
    (ShapedArray((), np.dtype("float32"), True),),
    (
        *(Step("binary"),) * 7,
        Step("binary", k=25),
        *(Step("binary"),) * 2,
        Step("custom_jvp", body=(Step("binary"), Step("binary"), Step("unary"))),
    ),
    0,
)

#: The loop's body is traced for a weakly typed carry, and then is given one that is not.
WEAK = TypedProgram(
    SINE.avals,
    (
        Step("contract"),
        Step("binary"),
        Step("fori_loop", a=1, body=(Step("checkpoint", body=(Step("unary"),)),)),
    ),
    0,
)


@settings(max_examples=25)
@example(SINE)
@example(WEAK)
@given(programs())
def test_programs_survive(program: TypedProgram) -> None:
    check_program(program, compiled=False)


@pytest.mark.slow
@settings(max_examples=12)
@given(programs())
def test_programs_compile(program: TypedProgram) -> None:
    check_program(program)


@settings(max_examples=40)
@given(programs(), st.sampled_from(sorted(MISTAKES)), NUMBERS)
def test_ill_typed_programs_are_refused(program: TypedProgram, mistake: str, k: int) -> None:
    check_refused(program, mistake, k)


@pytest.mark.fuzz
@given(programs(depth=3, most=12))
def test_programs_survive_at_length(program: TypedProgram) -> None:
    check_program(program)
    forget_sometimes()


@pytest.mark.fuzz
@given(programs(), st.sampled_from(sorted(MISTAKES)), NUMBERS)
def test_ill_typed_programs_are_refused_at_length(
    program: TypedProgram, mistake: str, k: int
) -> None:
    check_refused(program, mistake, k)


def test_every_mistake_is_made_and_the_message_says_which() -> None:
    program = drawn(0, 6)
    words = Counter[str]()
    for mistake in MISTAKES:
        messages = [check_refused(program, mistake, k) for k in range(12)]
        words[mistake] = sum(map(bool, messages))
    assert all(words[mistake] for mistake in MISTAKES if mistake not in PERHAPS), words


def test_a_program_prints_as_python_that_runs() -> None:
    program = drawn(3, 8)
    namespace: dict[str, object] = {}
    exec(repr(program), namespace)
    assert callable(namespace["main"])
