"""Random programs under random stacks of transformations: see the package ``fuzz``."""

import gc
from itertools import count

import pytest
from hypothesis import given, settings

from fuzz.drawing import CASES, Case
from fuzz.stacks import check, check_by_differences
from tinyjax import xla

_run = count(1)
#: After so many programs compiled ones are dropped, since Linux gives a process 65,530 mappings.
_KEPT_FOR = 50


@settings(max_examples=25)
@given(CASES)
def test_transformations_commute(case: Case) -> None:
    check(case.program, case.layers)


@pytest.mark.fuzz
@given(CASES)
def test_transformations_commute_at_length(case: Case) -> None:
    check(case.program, case.layers)
    check_by_differences(case.program)
    if not next(_run) % _KEPT_FOR:
        xla.cache_clear()
        gc.collect()
