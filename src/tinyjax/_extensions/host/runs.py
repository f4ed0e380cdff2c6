"""Records of runs: what the last process did with a program, kept for the next one.

A process that does not know how many calls will come evaluates the first ones, and compiles then.
Where programs are kept on disk, the last run of the script knew: a program that it came to compile
is loaded at the first call. The records are an entry of the cache on disk beside the programs, by
their digests, written when a process ends. Like all that tiers decide by, they hold estimates and
counts, no times measured: so the runs of a script that follow its second are equal to the bit.
"""

from __future__ import annotations

import atexit
import os
import struct
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from math import inf
from typing import Final, Protocol
from weakref import WeakValueDictionary

import attrs

from tinyjax._base import records
from tinyjax.core import xla
from tinyjax.core.xla.disk_cache import RUNS, DiskCache
from tinyjax.version import __version__

#: key of the program, key of its entry, seconds to evaluate, process
_PACKED: Final = struct.Struct("<32s32sd8s")
#: The records of another version are none: it may estimate otherwise.
_KEY: Final = sha256(f"runs 1 {__version__}".encode()).digest()
_MOST: Final = 4096
_NO_ENTRY: Final = bytes(32)

#: What loading takes in seconds: jaxlib, for a process that has not begun to use it, a program, and
#: a byte of its code, with the text that its key on disk is made of.
_START: Final = 6e-2
_LOADING: Final = 5e-3
_LOADING_BYTE: Final = 3e-7
#: A program that was compiled when it had been called so often most likely goes on as long.
_CALLS_AFTER: Final = 2


@attrs.frozen(eq=False, repr=False)
class EarlierUse(records.Record):
    """The use that a process made of a program.

    Attributes:
        entry: the key of the compiled program on disk; None where there is none.
        seconds: the estimated time to evaluate its calls; infinite where XLA compiled at once.
        process: the process, by random bytes.
    """

    entry: bytes | None
    seconds: float
    process: bytes


def program_key(digest: bytes, donated: Iterable[int], flags: object) -> bytes:
    """Return the key of a program's record, which is the same in all processes."""
    return sha256(repr((digest, tuple(donated), flags)).encode()).digest()


class _Progress(Protocol):
    """The progress of a program so far."""

    @property
    def entry(self) -> bytes | None: ...

    def seconds_to_evaluate(self) -> float: ...


class UseLog:
    """The log of a folder: what the last processes did with programs, and what this one does.

    Attributes:
        cache: the cache on disk.
        last: what earlier processes did, by the keys of programs.
        programs: those of this process.
        process: this process, by random bytes.
        gains: the seconds that loading all its programs saves, by process.
    """

    __slots__ = ("cache", "gains", "last", "process", "programs")

    def __init__(self, folder: str) -> None:
        """Read the log; this process is written to it when it ends."""
        self.cache: DiskCache = DiskCache(folder, 0)
        self.last: dict[bytes, EarlierUse] = self.read()
        self.programs: WeakValueDictionary[bytes, _Progress] = WeakValueDictionary()
        self.process: bytes = os.urandom(8)
        self.gains: dict[bytes, float] = {}
        atexit.register(self.write)

    def read(self) -> dict[bytes, EarlierUse]:
        """Return what the folder holds; nothing if that is damaged."""
        content = self.cache.read(RUNS, _KEY)
        if content is None or len(content) % _PACKED.size:
            return {}
        return {
            key: EarlierUse(None if entry == _NO_ENTRY else entry, seconds, process)
            for key, entry, seconds, process in _PACKED.iter_unpack(content)
        }

    def write(self) -> None:
        """Write what this process did over what earlier ones did, if the folder is still there."""
        if not os.path.isdir(self.cache.folder):
            return
        latest = self.read()
        for key, x in [*self.programs.items()]:
            latest.pop(key, None)  # which goes to the end
            latest[key] = EarlierUse(x.entry, x.seconds_to_evaluate(), self.process)
        content = b"".join(
            [
                _PACKED.pack(key, run.entry or _NO_ENTRY, run.seconds, run.process)
                for key, run in [*latest.items()][-_MOST:]
            ]
        )
        self.cache.write(RUNS, _KEY, content)

    def is_worth_loading(self, run: EarlierUse) -> bool:
        """Return whether to load a program at once takes less than to evaluate its calls again.

        The programs of a process load jaxlib together.
        """
        gain = self._gain(run)
        if gain <= 0 or xla.has_started():
            return gain > 0
        if run.process not in self.gains:
            together = [x for x in self.last.values() if x.process == run.process]
            self.gains[run.process] = sum(max(0.0, self._gain(x)) for x in together)
        return self.gains[run.process] > _START

    def _gain(self, run: EarlierUse) -> float:
        """Return the seconds that loading a program saves; -inf if it is not on disk."""
        size = self.cache.size_of(run.entry) if run.entry else None
        if size is None:
            return -inf
        return _CALLS_AFTER * run.seconds - _LOADING - size * _LOADING_BYTE


@cache
def log_of(folder: str) -> UseLog:
    """Return the log of a folder, which is read once."""
    return UseLog(folder)
