"""Processes that were forked from one that runs XLA: they have its clients, and not its threads."""

from __future__ import annotations

import os
from typing import Final

_clients: Final[list[object]] = []
_inherited: Final[list[object]] = []


def note_client(client: object) -> None:
    """Note that this process has made a client of XLA, and with it threads."""
    _clients.append(client)


def lacks_threads() -> bool:
    """Whether this process was forked from one that runs XLA, whose threads it does not have."""
    return bool(_inherited)


def _after_fork() -> None:
    if _clients and not _inherited:
        from ctypes import py_object, pythonapi  # noqa: PLC0415 (nearly no process forks)

        for client in _clients:  # their end would wait for the threads
            pythonapi.Py_IncRef(py_object(client))
        _inherited.extend(_clients)


os.register_at_fork(after_in_child=_after_fork)
