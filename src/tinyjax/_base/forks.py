"""Hooks around ``fork``, on systems that have it: Windows and a browser's Python do not."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

#: What this process was forked with, and without its threads: XLA's clients.
lost_threads: Final[list[object]] = []


def register(**hooks: Callable[[], object]) -> None:
    """Register functions for a fork to call, as ``os.register_at_fork``, where a process can fork.

    Args:
        **hooks: ``before``, ``after_in_parent`` and ``after_in_child``.

    Example:
        >>> from tinyjax._base import forks
        >>> locks: list[str] = []
        >>> forks.register(after_in_child=locks.clear)
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(**hooks)
