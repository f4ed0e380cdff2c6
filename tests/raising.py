"""Expectations of errors: their messages."""

import re
from typing import TypeVar

import pytest

from tinyjax.errors import TinyjaxError

E = TypeVar("E", bound=BaseException)


def raises(
    expected: type[E] | tuple[type[E], ...], *, match: str | re.Pattern[str]
) -> pytest.RaisesExc[E]:
    """Be ``pytest.raises``, but match the message alone, without the user's line shown below it.

    That line is the test's own, and often has the words of the pattern, whatever the message says.

    Args:
        expected: the class of the error, or several.
        match: a pattern that is searched in the message.
    """

    def says_so(error: BaseException) -> bool:
        message = error.message if isinstance(error, TinyjaxError) else str(error)
        assert re.search(match, message), f"no {match!r} in {message!r}"
        return True

    return pytest.raises(expected, check=says_so)
