"""Compiled programs on disk: the next process loads the programs that this one has compiled.

An entry's name is a hash of everything that its machine code depends on: the StableHLO text, the
compiler's options and version, and the processor. (A structural digest would not do, since a
lowering rule may have changed between two processes.) So an entry that does not fit is never found,
and none is ever changed.

Loaded code is run, so nobody but the user may be able to write there: a folder or an entry that
belongs to somebody else, or that others may write to, is not used. A checksum detects a damaged
entry before XLA sees it. Whatever goes wrong, the program is compiled as if there were no cache,
and one warning gives the reason.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import struct
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import sha256
from threading import Lock
from typing import Final, TypeVar

import attrs

from tinyjax import config, errors
from tinyjax._base import records

T = TypeVar("T")

#: Part of the key: to be counted up with every change to how entries are made or run.
_FORMAT: Final = 1
_MAGIC: Final = b"TINYJAXC"
# magic, key, length of the code
_HEADER: Final = struct.Struct("<8s32sQ")
_CHECKSUM_BYTES: Final = 32

_SUFFIX: Final = ".tinyjax"
#: What earlier processes did with the programs (``_extensions/host/runs.py``).
RUNS: Final = f"runs{_SUFFIX}"
_ENTRY: Final = re.compile(r"[0-9a-f]{64}\.tinyjax")
_UNFINISHED: Final = re.compile(r"([0-9a-f]{64}|runs)\.[0-9a-f]{16}\.part")
#: After so many seconds, an unfinished entry's writer is taken to be dead.
_LONGEST_WRITE: Final = 3600.0

_OTHERS_MAY_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_MAY_READ: Final = stat.S_IRGRP | stat.S_IROTH
_SECRET: Final = "secret"
_SECRET_BYTES: Final = 32
#: Whether the system says whose a folder is, and opens files relative to it: Windows does not.
SUPPORTED: Final = hasattr(os, "geteuid") and os.open in os.supports_dir_fd
_FLAGS: Final = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")  # a pipe's writer is not waited for
_FILE: Final[int] = sum(getattr(os, name, 0) for name in _FLAGS)
#: What differs between the cores of a processor, or from moment to moment.
_ONE_CORE: Final = frozenset(
    ("processor", "cpu MHz", "bogomips", "BogoMIPS", "apicid", "initial apicid", "core id")
)


@attrs.frozen(eq=False, repr=False)
class DiskCacheInfo(records.Record):
    """The contents and the use of the cache of compiled programs on disk.

    Attributes:
        folder: its path; empty where there is none.
        hits: programs loaded.
        misses: programs looked for and not found.
        entries: programs in the folder, whoever compiled them.
        bytes: their size.
        max_bytes: their size at most.
    """

    folder: str
    hits: int
    misses: int
    entries: int
    bytes: int
    max_bytes: int


@attrs.define
class _Counts:
    hits: int = 0
    misses: int = 0


class _UnsafeError(OSError):
    """The error of an entry that others could have written."""


class _DamagedError(Exception):
    """The error of an entry that differs from the stored one."""


@attrs.frozen(eq=False, repr=False)
class _Listed(records.Record):
    """An entry as a listing shows it; the oldest is the one not used for longest."""

    used: int
    name: str
    size: int


_counts: Final = _Counts()
_warned: Final[set[tuple[str, str]]] = set()
_lock: Final = Lock()


def program_key(text: str, options: bytes, compiler: str) -> bytes:
    """Hash everything that a program's machine code depends on.

    Args:
        text: the StableHLO module, in which donated parameters are marked.
        options: the compiler's, those from the environment included.
        compiler: which compiler, of which version, for which device.
    """
    hashed = sha256()
    for part in (b"%d" % _FORMAT, compiler.encode(), _processor(), options, text.encode()):
        hashed.update(b"%d:" % len(part))
        hashed.update(part)
    return hashed.digest()


@cache
def _processor() -> bytes:
    """Identify the processor: code for another one may be illegal instructions here.

    The number of its cores is part of it, because XLA splits work among them when it compiles.
    """
    told = "\n".join(sorted(_cpuinfo()) or _host())
    return f"{os.cpu_count()}\n{told}".encode()


def _cpuinfo() -> list[str]:
    """Return Linux's description of the first core, less the part that differs between cores."""
    lines: list[str] = []
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                break
            name = line.partition(":")[0].strip()
            if name not in _ONE_CORE:
                lines.append(line.strip())
    return lines


def _host() -> list[str]:
    """Return the identity of this machine, where its processor has no more precise one."""
    # Loaded only where it is needed, since it takes as long as many programs take to be loaded.
    return [*platform.uname(), platform.processor()]


@attrs.frozen(eq=False, repr=False)
class DiskCache(records.Record):
    """A folder of compiled programs.

    The folder is opened for each use, and files in it are named relative to the opened one. So it
    is the folder that was found to be the user's, whatever its path may lead to a moment later.

    Attributes:
        folder: its path.
        max_bytes: the bound on the size of all entries; the least recently used ones are dropped.
    """

    folder: str
    max_bytes: int

    def load(self, key: bytes) -> bytes | None:
        """Return a program's code, or None where there is none that can be used."""
        code = self.read(key.hex() + _SUFFIX, key)
        with _lock:
            if code is None:
                _counts.misses += 1
            else:
                _counts.hits += 1
        return code

    def read(self, name: str, key: bytes) -> bytes | None:
        """Return the content of a file, or None where there is none that can be used."""
        try:
            return self._use(lambda folder: _read(folder, name, key))
        except _DamagedError as error:
            self._drop(name, error)
            return None

    def store(self, key: bytes, code: bytes) -> None:
        """Keep a program's code."""
        name, size = key.hex() + _SUFFIX, len(code) + _HEADER.size + _CHECKSUM_BYTES
        if size > self.max_bytes:
            return
        self.write(name, key, code)
        if _looks_for_old(key, size, self.max_bytes):
            self._use(lambda folder: _evict(folder, self.max_bytes, name))

    def write(self, name: str, key: bytes, content: bytes) -> None:
        """Write a file, over one of the same name."""
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            with self._opened() as folder:
                _write(folder, name, _seal(key, content))
        except OSError as error:
            self._warn("cannot be used", error)

    def size_of(self, key: bytes) -> int | None:
        """Return the size of an entry, or None where there is none."""
        return self._use(lambda folder: os.stat(key.hex() + _SUFFIX, dir_fd=folder).st_size)

    def discard(self, key: bytes, reason: str) -> None:
        """Remove an entry that turned out to be of no use."""
        self._drop(key.hex() + _SUFFIX, reason)

    def _drop(self, name: str, reason: object) -> None:
        with suppress(OSError), self._opened() as folder:
            _remove(folder, name)
        self._warn("holds a damaged entry, which is dropped", reason)

    def entries(self) -> list[_Listed]:
        """List the entries."""
        return self._use(_list) or []

    def clear(self) -> None:
        """Remove every entry, and nothing else that may be in the folder."""
        self._use(_clear)

    def _use(self, action: Callable[[int], T]) -> T | None:
        """Do something in the folder, if it is there and can be used."""
        try:
            with self._opened() as folder:
                return action(folder)
        except FileNotFoundError:  # the folder, or what is looked for in it
            return None
        except OSError as error:
            self._warn("cannot be used", error)
            return None

    @contextmanager
    def _opened(self) -> Iterator[int]:
        if not SUPPORTED:
            raise _UnsafeError("this system does not tell whether others may write there")
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            _check_private("the folder", os.fstat(folder))
            yield folder
        finally:
            os.close(folder)

    def _warn(self, what: str, reason: object) -> None:
        with _lock:
            if (self.folder, what) in _warned:
                return
            _warned.add((self.folder, what))
        warnings.warn(
            f"the cache of compiled programs in {self.folder} {what}: {reason}. Programs that are "
            "not there are compiled, as without a cache. (This is said once.)",
            errors.DiskCacheWarning,
            stacklevel=2,
        )


def _check_private(what: str, entry: os.stat_result) -> None:
    if entry.st_uid != os.geteuid():
        raise _UnsafeError(
            f"{what} belongs to user {entry.st_uid} and not to user {os.geteuid()}, who runs this. "
            "Choose a folder of your own"
        )
    if entry.st_mode & _OTHERS_MAY_WRITE:
        raise _UnsafeError(
            f"others may write to {what} (its mode is {stat.filemode(entry.st_mode)}), and what is "
            "in it is run. Take that away with chmod go-w"
        )


def _seal(key: bytes, code: bytes) -> bytes:
    """Return the entry for a program: header, code, checksum of both."""
    body = _HEADER.pack(_MAGIC, key, len(code)) + code
    return body + sha256(body).digest()


def _check_header(key: bytes, header: bytes, size: int) -> None:
    """Raise unless an entry of this size begins with the header for this key."""
    size -= _HEADER.size + _CHECKSUM_BYTES
    if size < 0 or header != _HEADER.pack(_MAGIC, key, size):
        raise _DamagedError("its header is not what was written")


def _unseal(key: bytes, entry: bytes) -> bytes:
    """Return the code in an entry, if it is intact and belongs to this key."""
    _check_header(key, entry[: _HEADER.size], len(entry))
    body, checksum = entry[:-_CHECKSUM_BYTES], entry[-_CHECKSUM_BYTES:]
    if sha256(body).digest() != checksum:
        raise _DamagedError("its checksum does not fit what it holds")
    return body[_HEADER.size :]


def _read(folder: int, name: str, key: bytes) -> bytes:
    with open(os.open(name, os.O_RDONLY | _FILE, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        _check_private("an entry", status)
        header = file.read(_HEADER.size)
        _check_header(key, header, status.st_size)  # before all of it is read
        code = _unseal(key, header + file.read())
        with suppress(OSError):  # a folder that can only be read does as well
            os.utime(file.fileno())  # used now, says its time; access times are often not kept
    return code


def _write(folder: int, name: str, entry: bytes) -> None:
    """Write an entry under another name, and give it its own when it is whole.

    It is not forced to the disk, which takes longer than compiling many a program. If the machine
    crashes meanwhile, the checksum detects the damaged entry.
    """
    unfinished = f"{name.removesuffix(_SUFFIX)}.{os.urandom(8).hex()}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
    descriptor = os.open(unfinished, flags, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            file.write(entry)
        os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _remove(folder, unfinished)
        raise


def _list(folder: int) -> list[_Listed]:
    """List the entries, and remove the remains of writers that were killed."""
    entries: list[_Listed] = []
    with os.scandir(folder) as items:
        for item in items:
            if _ENTRY.fullmatch(item.name):
                with suppress(FileNotFoundError):  # removed by another process, just now
                    status = item.stat(follow_symlinks=False)
                    entries.append(_Listed(status.st_mtime_ns, item.name, status.st_size))
            elif _UNFINISHED.fullmatch(item.name):
                with suppress(FileNotFoundError):
                    status = item.stat(follow_symlinks=False)
                    if time.time() - status.st_mtime > _LONGEST_WRITE:
                        _remove(folder, item.name)
    return entries


def _clear(folder: int) -> None:
    for name in (*[entry.name for entry in _list(folder)], RUNS):
        _remove(folder, name)


def _looks_for_old(key: bytes, size: int, max_bytes: int) -> bool:
    """Return whether storing this entry also scans the folder for old ones.

    The time of a scan grows with the number of entries, so not every new entry causes one. On
    average there is one scan for every 256th of the bound that is written, by whichever process.
    A scan frees a 16th of the bound, so the folder exceeds its bound only once in e^16 times.
    """
    return int.from_bytes(key[:8], "big") * max_bytes < (256 * size) << 64


def _evict(folder: int, max_bytes: int, new_entry: str) -> None:
    """Remove the least recently used entries if the folder exceeds its bound.

    Other processes may do so at the same time; each removes as much as it has found too much.
    """
    entries = _list(folder)
    size = sum(entry.size for entry in entries)
    if size <= max_bytes:
        return
    for entry in sorted(entries, key=lambda entry: entry.used):
        if size <= max_bytes - max_bytes // 16:
            break
        if entry.name != new_entry:
            _remove(folder, entry.name)
            size -= entry.size


def _remove(folder: int, name: str) -> None:
    with suppress(OSError):
        os.unlink(name, dir_fd=folder)


def disk_cache() -> DiskCache:
    """Return the cache that the settings ask for."""
    current = config.settings()
    return DiskCache(current.cache_dir, current.cache_max_bytes)


def disk_cache_place(text: str, options: bytes, compiler: str) -> tuple[DiskCache, bytes]:
    """Return the cache that the settings enable, and its key of a program (``program_key``)."""
    return disk_cache(), program_key(text, options, compiler)


def own_secret(make: bool = False) -> bytes | None:
    """Return a secret of the user's, which is kept in ``~/.cache``.

    It seals machine code that is stored outside of the cache.

    Args:
        make: whether to make it if it is not there.

    Returns:
        32 bytes; None where they are not there, or others may read or write them.
    """
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(folder, "tinyjax")
    try:
        if make:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        with DiskCache(folder, 0)._opened() as opened:
            try:
                return _read_secret(opened)
            except FileNotFoundError:
                if not make:
                    return None
                _write(opened, _SECRET, os.urandom(_SECRET_BYTES))
                return _read_secret(opened)
    except OSError:
        return None


def _read_secret(folder: int) -> bytes | None:
    with open(os.open(_SECRET, os.O_RDONLY | _FILE, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        _check_private("the secret", status)
        secret = file.read()
    is_secret = not status.st_mode & _OTHERS_MAY_READ and len(secret) == _SECRET_BYTES
    return secret if is_secret else None


def disk_cache_info() -> DiskCacheInfo:
    """Return the contents and the statistics of the cache on disk."""
    entries = disk_cache().entries() if config.settings().cache_dir else []
    with _lock:
        return DiskCacheInfo(
            config.settings().cache_dir,
            _counts.hits,
            _counts.misses,
            len(entries),
            sum(entry.size for entry in entries),
            config.settings().cache_max_bytes,
        )


def disk_cache_clear() -> None:
    """Remove every entry, and count from zero."""
    if config.settings().cache_dir:
        disk_cache().clear()
    with _lock:
        _counts.hits = _counts.misses = 0
