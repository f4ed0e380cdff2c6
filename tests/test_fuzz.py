"""Random programs under random stacks of transformations: see the package ``fuzz``."""

import gc
from itertools import count

import pytest
from hypothesis import given, settings

from fuzz.drawing import CASES, Case
from fuzz.stacks import check, check_by_differences
from tinyjax import xla
from tinyjax.xla import unnest

_run = count(1)
#: After so many programs compiled ones are dropped, since Linux gives a process 65,530 mappings.
_KEPT_FOR = 50


@pytest.mark.slow
@settings(max_examples=25)
@given(CASES)
def test_transformations_commute(case: Case) -> None:
    check(case.program, case.layers)


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_at_length(case: Case) -> None:
    check(case.program, case.layers)
    check_by_differences(case.program)
    _forget_sometimes()


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_where_all_nests_are_taken_apart(case: Case) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unnest, "DEEPEST", 0)
        patch.setattr(unnest, "LARGEST", 1 << 60)
        check(case.program, case.layers)
    _forget_sometimes()


def _forget_sometimes() -> None:
    if not next(_run) % _KEPT_FOR:
        xla.cache_clear()
        gc.collect()
