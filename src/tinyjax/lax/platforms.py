"""Functions for one platform, or for compilers that know them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tinyjax.core.devices import platform_in_view
from tinyjax.errors import ArgumentError, described

R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


def platform_dependent(
    *args: Any,
    default: Callable[..., R] | None = None,
    **per_platform: Callable[..., R],
) -> R:
    """Call the function that is for the platform on which programs run: "cpu".

    Args:
        args: what it is called with.
        default: the function for platforms that are not named.
        per_platform: functions by the names of platforms. The one for "cpu" is called, or, in a
            function that is exported for other platforms, the one for each of these.

    Raises:
        ArgumentError: there is neither one for the platform nor a default.

    Example:
        >>> from tinyjax import lax
        >>> lax.platform_dependent(2, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
        3
    """
    platform = platform_in_view.value
    for name, branch in {**per_platform, "default": default}.items():
        if not callable(branch) and not (name == "default" and default is None):
            raise ArgumentError(
                f"the '{name}' branch of platform_dependent must be a callable, but got "
                f"{described(branch)}."
            )
    chosen = per_platform.get(platform, default)
    if chosen is None:
        raise ArgumentError(
            f"platform_dependent has functions for {', '.join(per_platform) or 'no platform'}, but "
            f"none for '{platform}' and no default."
        )
    return chosen(*args)


def composite(decomposition: F, name: str, version: int = 0) -> F:
    """Return a function as it is; compilers of JAX's programs may know it by a name.

    Args:
        decomposition: the function.
        name: not used.
        version: not used.

    Example:
        >>> from tinyjax import lax
        >>> lax.composite(lambda x: x + 1, "my.increment")(1)
        2
    """
    return decomposition
