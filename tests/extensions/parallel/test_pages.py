"""Programs of JAX's documentation for several devices, under jax and under tinyjax."""

import pytest
from tutorials import check_alike, devices, programs_of

PROGRAMS = programs_of(devices)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_does_what_the_documentation_does(name: str) -> None:
    check_alike(PROGRAMS[name])
