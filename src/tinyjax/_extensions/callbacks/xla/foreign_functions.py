"""Functions of other languages, under the names by which compiled programs call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import jaxlib
from jaxlib import xla_client

#: Registers a function, or the functions for the stages of a call, under a name.
register_target: Final[Callable[..., None]] = xla_client.register_custom_call_target
#: Registers a type of what functions keep between calls.
register_type: Final[Callable[..., None]] = xla_client.register_custom_type
#: Says that a function may be called for each part of operands that are divided in front.
register_batch_partitionable: Final[Callable[[str], None]] = (
    xla_client.register_custom_call_as_batch_partitionable
)


def include_dir() -> str:
    """Return the folder of the headers that come with jaxlib."""
    return str(Path(jaxlib.__path__[0], "include"))
