"""Random programs under random stacks of transformations: see the package ``fuzz``."""

import os
import resource
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import assume, example, given, settings, strategies as st

from fuzz import effects
from fuzz.budgets import BUDGET_CASES, BudgetCase, check_budget
from fuzz.drawing import CASES, Case
from fuzz.effects import Statement
from fuzz.forgetting import forget_sometimes
from fuzz.leaving import evaluated_and_left
from fuzz.programs import Program
from fuzz.stacks import affordable, check, check_by_differences, check_laplacian
from tinyjax.core.xla import lowering
from tinyjax.testing.random_programs import Step
from tinyjax.testing.stacks import StackLayer

pytestmark = pytest.mark.usefixtures("compiled")

#: How much memory a search may ask for, in bytes: a program that takes more fails, and is printed.
MEMORY: Final = 12 << 30

#: The running minimum of what XLA rounds in two ways.
ROUNDED_TWICE = Case(
    Program(
        ((2, 3),),
        (
            Step("batched_by_rule", 0, 0, 12, (Step("of_matrix", 0, 0, 15),)),
            Step("ranked", 0, 0, 2),
        ),
        seed=4,
    ),
    (StackLayer("jit", 7), StackLayer("grad", 12)),
)


#: What a Laplacian takes, about.
TWICE = (StackLayer("jvp", 0), StackLayer("grad", 0))


@pytest.fixture(scope="module", autouse=True)
def bounded_memory() -> Iterator[None]:
    """End a search at the program that takes too much, and not with the whole machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    if "TINYJAX_FUZZ_EXAMPLES" in os.environ:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.slow
@settings(max_examples=15)
@example(ROUNDED_TWICE)
@given(CASES)
def test_transformations_commute(case: Case) -> None:
    check(case.program, case.layers)


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_at_length(case: Case) -> None:
    check(case.program, affordable(case.program, case.layers))
    check_by_differences(case.program)
    forget_sometimes()


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_where_all_nests_are_taken_apart(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowering, "DEEPEST", 0)
        patch.setattr(lowering, "LARGEST", 1 << 60)
        check(case.program, affordable(case.program, case.layers))
    forget_sometimes()


@pytest.mark.slow
@settings(max_examples=10)
@given(CASES, st.integers(0, 1 << 32))
def test_programs_may_be_left_for_compiled_ones(case: Case, seed: int) -> None:
    with evaluated_and_left(seed):
        check(case.program, case.layers)


@pytest.mark.fuzz
@given(CASES, st.integers(0, 1 << 32))
def test_programs_may_be_left_for_compiled_ones_at_length(case: Case, seed: int) -> None:
    with evaluated_and_left(seed):
        check(case.program, affordable(case.program, case.layers))
    forget_sometimes()


@pytest.mark.slow
@settings(max_examples=10)
@given(CASES)
def test_laplacians_are_sums_of_second_derivatives(case: Case) -> None:
    assume(affordable(case.program, TWICE) == TWICE)
    check_laplacian(case.program)


@pytest.mark.fuzz
@given(CASES)
def test_laplacians_are_sums_of_second_derivatives_at_length(case: Case) -> None:
    assume(affordable(case.program, TWICE) == TWICE)
    check_laplacian(case.program)
    forget_sometimes()


@pytest.mark.slow
@settings(max_examples=8)
@given(BUDGET_CASES)
def test_derivatives_keep_to_memory_budgets(case: BudgetCase) -> None:
    check_budget(case)


@pytest.mark.fuzz
@given(BUDGET_CASES)
def test_derivatives_keep_to_memory_budgets_at_length(case: BudgetCase) -> None:
    check_budget(case)
    forget_sometimes()


@pytest.mark.slow
@settings(max_examples=8)
@given(effects.PROGRAMS, st.sampled_from(sorted(effects.WAYS)))
def test_callbacks_are_called_as_in_a_loop(program: tuple[Statement, ...], way: str) -> None:
    effects.check_effects(program, way)
    with evaluated_and_left(len(program)):
        effects.check_effects(program, way)


@pytest.mark.fuzz
@given(effects.PROGRAMS, st.sampled_from(sorted(effects.WAYS)))
def test_callbacks_are_called_as_in_a_loop_at_length(
    program: tuple[Statement, ...], way: str
) -> None:
    effects.check_effects(program, way)
    with evaluated_and_left(len(program)):
        effects.check_effects(program, way)
    forget_sometimes()
