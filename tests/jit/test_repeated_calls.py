"""Calls that are repeated leave nothing behind, on any path of dispatch."""

import pytest

import tinyjax
from benchmarks.repeated import PATHS, repeat

#: What jaxlib keeps until it is next told to release it, and what a collection of garbage leaves.
_MOST_BLOCKS = 700


@pytest.mark.counts
@pytest.mark.parametrize("path", PATHS)
def test_calls_leave_nothing_behind(path: str) -> None:
    # A call that differentiates a loop takes 200 us, others 10.
    calls = 5_000 if "loops" in path else 20_000
    assert repeat(PATHS[path](tinyjax), calls).blocks < _MOST_BLOCKS
