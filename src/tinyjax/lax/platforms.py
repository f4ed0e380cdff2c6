"""Functions for one platform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tinyjax.errors import ArgumentError

__all__ = ["platform_dependent"]

R = TypeVar("R")


def platform_dependent(
    *args: Any,
    default: Callable[..., R] | None = None,
    **per_platform: Callable[..., R],
) -> R:
    """Call the function that is for the platform on which programs run: "cpu".

    Args:
        args: what it is called with.
        default: the function for platforms that are not named.
        per_platform: functions by the names of platforms.

    Raises:
        ArgumentError: there is neither one for "cpu" nor a default.

    Example:
        >>> from tinyjax import lax
        >>> lax.platform_dependent(2, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
        3
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise ArgumentError(
            f"platform_dependent has functions for {', '.join(per_platform) or 'no platform'}, but "
            "none for 'cpu' and no default."
        )
    return chosen(*args)
