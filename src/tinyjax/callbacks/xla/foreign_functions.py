"""Functions of other languages, under the names by which compiled programs call them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jaxlib
from jaxlib import xla_client


def register_target(
    name: str, function: Any, platform: str, api_version: int, **options: Any
) -> None:
    """Register a function, or the functions for the stages of a call, under a name."""
    xla_client.register_custom_call_target(name, function, platform, api_version, **options)


def register_type(name: str, registration: dict[str, Any], platform: str) -> None:
    """Register a type of what functions keep between calls."""
    xla_client.register_custom_type(name, registration, platform=platform)


def register_batch_partitionable(name: str) -> None:
    """Say that a function may be called for each part of operands that are divided in front."""
    xla_client.register_custom_call_as_batch_partitionable(name)


def include_dir() -> str:
    """Return the folder of the headers that come with jaxlib."""
    return str(Path(jaxlib.__path__[0], "include"))
