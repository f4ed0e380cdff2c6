"""For calls that are wrong on purpose."""

from typing import Any


def unchecked(value: object) -> Any:
    """Return a value as one whose type the checker does not see."""
    return value
