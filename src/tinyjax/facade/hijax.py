"""``jax.experimental.hijax``: what libraries declare with it when they are imported.

Values of types of one's own, and primitives of them, are not in tinyjax. To declare them does
nothing; to use them is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = [
    "HiPrimitive",
    "MutableHiType",
    "aval_method",
    "aval_property",
    "control_flow_allowed_effects",
    "register_hitype",
]

F = TypeVar("F", bound=Callable[..., Any])


class HiPrimitive:
    """A primitive of values of one's own, which cannot be applied."""

    def __init__(self, name: str = "") -> None:
        self.name: Final = name

    def bind(self, *args: Any, **params: Any) -> Any:
        """Refuse.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"{self.name}: hijax is not in tinyjax: values are arrays, and trees of them."
        )


class MutableHiType:
    """A type of one's own."""


class _Effects:
    def add_type(self, effect: type) -> None:
        """Take an effect, which no primitive has."""


control_flow_allowed_effects: Final = _Effects()


def register_hitype(value_type: type, to_aval: Callable[[Any], Any]) -> None:
    """Declare the type of values of a class, of which none reaches a primitive."""


def aval_method(fun: F) -> F:
    """Return the function."""
    return fun


class aval_property:  # noqa: N801 (its name in JAX)
    """A property of types."""

    def __init__(self, fget: Callable[[Any], Any]) -> None:
        self.fget: Final = fget
