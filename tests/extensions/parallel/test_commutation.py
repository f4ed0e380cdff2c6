"""Random programs under stacks of transformations, of which one runs them on two devices."""

import pytest
from hypothesis import given, strategies as st

from fuzz.drawing import LAYERS, NUMBERS, PLAIN_STEPS, SHAPES, Case, steps_with, weighted
from fuzz.forgetting import forget_sometimes
from fuzz.nested import NESTED
from fuzz.programs import Program
from fuzz.stacks import check
from tinyjax.testing.stacks import StackLayer

#: Half as large as those of other searches, and without equations: compiling is most of the time.
PROGRAMS = st.builds(
    Program,
    st.lists(SHAPES, min_size=1, max_size=2).map(tuple),
    st.lists(
        weighted((3, PLAIN_STEPS), (1, steps_with(NESTED, PLAIN_STEPS, 2))), min_size=2, max_size=5
    ).map(tuple),
    NUMBERS,
)
#: What is transformed within the function given to ``shard_map``, and what is outside of it.
STACKS = st.builds(
    lambda inner, layer, outer: (*inner, layer, *outer),
    st.lists(LAYERS, max_size=2),
    st.builds(StackLayer, st.just("shard_map"), NUMBERS),
    st.lists(LAYERS, max_size=1),
)
CASES = st.builds(Case.repaired, PROGRAMS, STACKS)


@pytest.mark.fuzz
@given(CASES)
def test_shard_map_commutes(case: Case) -> None:
    check(case.program, case.layers)
    forget_sometimes()
