"""Programs of JAX's documentation, run under jax and under tinyjax: see ``tutorials``."""

import pytest
import tutorials
from tutorials import check_alike, programs_of

PROGRAMS = programs_of(tutorials)

#: Programs that show what a value of the wrong type raises.
WRONG_TYPES = {"sharp_bits-non_array_inputs"}


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.wrong_types] * (name in WRONG_TYPES))
        for name in PROGRAMS
    ],
)
def test_does_what_the_documentation_does(name: str) -> None:
    check_alike(PROGRAMS[name])
