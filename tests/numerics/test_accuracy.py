"""Special functions are as accurate as tests/tables/accuracy.md says."""

import numpy as np
import pytest

from numerics.accuracy import FUNCTIONS, measured, summary
from numerics.accuracy_page import DOCUMENT, data, text


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_no_greater_than_was_measured(name: str) -> None:
    """Within a factor, since processors round some functions otherwise."""
    bounds = data()[name]
    with np.errstate(all="ignore"):
        for key, errors, _ in measured(name, every=9):
            assert summary(errors)[0] <= 3 * bounds[key][0] + 4, key


def test_the_page_is_up_to_date() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == text(), (
        "run `python -m numerics.accuracy` in tests/"
    )
    assert list(data()) == list(FUNCTIONS)
