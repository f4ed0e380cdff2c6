"""The hook of a plane by which arrays lie elsewhere than on the first device, whole or in parts.

The core asks it where a user names a place, and where an array is no ``ConcreteArray``; what the
answers mean is the plane's alone (``tinyjax.parallel``, which ``startup`` names).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, Protocol

from tinyjax.errors import ShardingError


class Plane(Protocol):
    """What the core asks of the plane."""

    def resolve(self, where: object, function: str) -> Any:
        """Return how arrays lie that are put where an argument of a function says."""


#: The module that answers, if there is one: it is loaded when it is first asked.
home: Final[list[str]] = []


def plane() -> Plane:
    """Return the plane.

    Raises:
        ShardingError: there is none.
    """
    if not home:
        raise ShardingError("arrays lie on the first device: tinyjax.parallel puts them elsewhere.")
    module: Any = import_module(home[0])
    answers: Plane = module
    return answers
