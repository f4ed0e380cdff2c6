"""Input that means harm: bytes from elsewhere that were changed.

``python -m hostile exports 20000`` tries as many in processes of their own, whose time and memory
are limited, and prints what became of them.
"""

from collections.abc import Callable
from typing import Final

from hostile.isolation import Subject


def _exports() -> Subject:
    from hostile.exports import Exports

    return Exports()


def _readers() -> Subject:
    from hostile.readers import Readers

    return Readers()


#: What is tried, by name.
SURVEYS: Final[dict[str, Callable[[], Subject]]] = {
    "exports": _exports,
    "readers": _readers,
}
