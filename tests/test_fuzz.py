"""Random programs under random stacks of transformations: see the package ``fuzz``."""

import pytest
from hypothesis import given, settings

from fuzz.drawing import CASES, Case
from fuzz.forgetting import forget_sometimes
from fuzz.stacks import affordable, check, check_by_differences
from tinyjax.xla import unnest


@pytest.mark.slow
@settings(max_examples=25)
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
        patch.setattr(unnest, "DEEPEST", 0)
        patch.setattr(unnest, "LARGEST", 1 << 60)
        check(case.program, affordable(case.program, case.layers))
    forget_sometimes()
