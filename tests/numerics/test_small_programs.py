"""The small programs of the benchmarks: both libraries compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.libraries import library
from benchmarks.small_programs import PROGRAMS
from benchmarks.small_steps import Steps, calls
from tinyjax import tree


@pytest.mark.sampled(2)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.title)
def test_results_are_those_of_jax(program: Steps) -> None:
    own, expected = (tree.leaves(call()) for call in calls(program, library).values())
    for result, other in zip(own, expected, strict=True):
        assert result.dtype == other.dtype
        tolerance = 1e-12 if other.dtype == np.float64 else 1e-5
        np.testing.assert_allclose(result, other, rtol=tolerance, atol=tolerance)
