"""Input that means harm: bytes from elsewhere that were changed, and arguments that are wrong.

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


def _arguments() -> Subject:
    from hostile.arguments import Arguments

    return Arguments()


def _programs() -> Subject:
    from hostile.programs import Programs

    return Programs()


#: What is tried, by name.
SURVEYS: Final[dict[str, Callable[[], Subject]]] = {
    "arguments": _arguments,
    "exports": _exports,
    "programs": _programs,
    "readers": _readers,
}
