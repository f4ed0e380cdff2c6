"""Processes that were forked from one that runs XLA: they have its clients, and not its threads.

Nor have they the threads that compile in the background. What these hold at the moment of a fork, a
lock or a module that is half imported, nobody lets go of in the new process; so a fork waits until
they hold nothing. It does not wait for XLA, which compiles without Python.
"""

from __future__ import annotations

import logging  # noqa: F401 (what it does before a fork is done after what is done here)
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock, get_ident
from typing import Final

_clients: Final[list[object]] = []
_inherited: Final[list[object]] = []


def note_client(client: object) -> None:
    """Note that this process has made a client of XLA, and with it threads."""
    _clients.append(client)


def lacks_threads() -> bool:
    """Whether this process was forked from one that runs XLA, whose threads it does not have."""
    return bool(_inherited)


#: The threads in the background that run Python, and what tells of changes.
_running: Final[set[int]] = set()
_changed: Final = Condition(Lock())
_locks: Final[list[Lock]] = []
_held: Final[list[Lock]] = []


def hold_at_forks(lock: Lock) -> None:
    """Have a lock held by the thread that forks, so that it is free in both processes."""
    _locks.append(lock)


@contextmanager
def in_background() -> Iterator[None]:
    """Run a block in a thread that a fork waits for."""
    with _changed:
        _running.add(get_ident())
    try:
        yield
    finally:
        with _changed:
            _running.discard(get_ident())
            _changed.notify_all()


@contextmanager
def without_python() -> Iterator[None]:
    """Run a block that no fork waits for, within one that it does."""
    thread = get_ident()
    if thread not in _running:
        yield
        return
    with _changed:
        _running.discard(thread)
        _changed.notify_all()
    try:
        yield
    finally:
        with _changed:
            _running.add(thread)


def _before_fork() -> None:
    _changed.acquire()
    _changed.wait_for(lambda: _running <= {get_ident()})
    _held[:] = _locks
    for lock in _held:
        lock.acquire()


def _let_go() -> None:
    for lock in reversed(_held):
        lock.release()
    _changed.release()


def _after_fork() -> None:
    _let_go()
    if _clients and not _inherited:
        from ctypes import py_object, pythonapi  # noqa: PLC0415 (nearly no process forks)

        for client in _clients:  # their end would wait for the threads
            pythonapi.Py_IncRef(py_object(client))
        _inherited.extend(_clients)


os.register_at_fork(before=_before_fork, after_in_parent=_let_go, after_in_child=_after_fork)
