"""Containers that a captured program stores in: nothing traced stays there when it ends."""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any, Final

from tinyjax.source.capturing import ndarrays, runs

#: References to an object where nothing but this module looks at it.
_OWN_REFERENCES: Final = 2


class WrittenContainer:
    """A container that values under capture were stored in, and what it had before.

    Args:
        owner: a dict, a list, or an object with attributes.
    """

    __slots__ = ("_before", "_owner", "_references")

    def __init__(self, owner: Any) -> None:
        container = _container_of(owner)
        self._before: Any = (list if isinstance(container, _SEQUENCES) else dict)(container)
        self._references = _OWN_REFERENCES
        try:
            self._owner: Callable[[], Any] = weakref.ref(owner)
        except TypeError:  # a list or a dict, which is held here
            self._owner = lambda: owner
            self._references += 1

    def insert(self, place: int, value: Any) -> None:
        """Insert an item into a list, as if it had been there before."""
        self._owner().insert(place, value)
        self._before.insert(place, value)

    def is_kept(self) -> bool:
        """Return whether something outside of the run holds the container."""
        owner = self._owner()
        return owner is not None and sys.getrefcount(owner) > self._references

    def close(self) -> None:
        """Leave data in place of arrays, and what was there before in place of traced values."""
        owner = self._owner()
        container = _container_of(owner)
        # by the methods of Python's, since those of a subclass may do more
        base: Any = next((k for k in _CONTAINERS if isinstance(container, k)), type(container))
        if base in _SEQUENCES:
            items = (
                self._before if ndarrays.is_traced([*container]) else ndarrays.plain([*container])
            )
            base.clear(container)
            base.extend(container, items)
            return
        is_class = isinstance(owner, type)  # whose attributes are read-only as items
        for key, value in [*base.items(container)]:
            if not ndarrays.holds_captured(value):
                continue
            if ndarrays.is_traced(value) and key not in self._before:
                delattr(owner, key) if is_class else base.pop(container, key)
                continue
            before = self._before[key] if ndarrays.is_traced(value) else ndarrays.plain(value)
            setattr(owner, key, before) if is_class else base.__setitem__(container, key, before)


class WrittenCache:
    """A function of ``functools.lru_cache`` that has a result under capture in its cache."""

    def __init__(self, function: Any) -> None:
        self._function = function

    def is_kept(self) -> bool:
        """Return whether something outside of the run may hold the function."""
        return True

    def close(self) -> None:
        """Forget all results."""
        self._function.cache_clear()


_SEQUENCES: Final = (list, deque)
_CONTAINERS: Final = (*_SEQUENCES, OrderedDict, dict)


def _container_of(owner: Any) -> Any:
    is_container = isinstance(owner, (dict, *_SEQUENCES))
    return owner if is_container else getattr(owner, "__dict__", {})


def note(owner: Any) -> None:
    """Note that a value under capture is about to be stored in a container."""
    run = runs.current.get()
    if run is None or id(owner) in run.stores:
        return
    if isinstance(owner, (dict, *_SEQUENCES)) or hasattr(owner, "__dict__"):
        run.stores[id(owner)] = WrittenContainer(owner)


def note_cache(function: Any) -> None:
    """Note a function that has a result under capture in its cache."""
    run = runs.current.get()
    if run is not None:
        run.stores[id(function)] = WrittenCache(function)


def insert(owner: list[Any], place: int, value: Any) -> None:
    """Insert an item into a list, where it stays when the run ends."""
    note(owner)
    run = runs.current.get()
    if run is not None:
        run.stores[id(owner)].insert(place, value)


def close(run: runs.Run) -> None:
    """Leave nothing traced in what outlives a run: it has what it had before."""
    kept = [store for store in run.stores.values() if store.is_kept()]
    run.stores.clear()
    for store in kept:
        store.close()
