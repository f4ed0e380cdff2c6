"""The cache of compiled programs on disk: what it saves, and that nothing it meets does harm."""

import errno
import io
import itertools
import os
import platform
import signal
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config
from tinyjax.core import xla
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.xla import disk_cache, executable
from tinyjax.core.xla.disk_cache import DiskCache, DiskCacheInfo, program_key
from tinyjax.core.xla.options import compile_options
from tinyjax.errors import ArgumentError, DiskCacheWarning

pytestmark = pytest.mark.usefixtures("compiled")
X: Final = np.arange(4.0, dtype=np.float32)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """No program is in memory, and no warning has been given."""
    xla.cache_clear()
    xla.disk_cache_clear()
    disk_cache._warned.clear()
    yield
    xla.cache_clear()
    xla.disk_cache_clear()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    chosen = tmp_path / "programs"
    with config.scoped(cache_dir=chosen):
        yield chosen


def run(scale: float = 2.0) -> Any:
    """Compile a small program, or load it, and run it."""
    return tinyjax.jit(lambda x: jnp.sin(x) * scale)(X)


def check(scale: float = 2.0) -> None:
    np.testing.assert_allclose(run(scale), np.sin(X) * scale, rtol=1e-6)


def again() -> None:
    """Be as a process that has just started."""
    tinyjax.clear_caches()


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def only(folder: Path) -> Path:
    (found,) = files(folder)
    return found


def info() -> DiskCacheInfo:
    return tinyjax.cache.info().disk


def served() -> tuple[int, int]:
    found = info()
    return found.hits, found.misses


# What it does


def test_a_program_is_compiled_once_and_loaded_from_then_on(folder: Path) -> None:
    check()
    assert served() == (0, 1)
    entry = only(folder)
    before = entry.read_bytes()
    for hits in (1, 2):
        again()
        check()
        assert served() == (hits, 1)
    assert only(folder).read_bytes() == before
    check(3.0)
    assert served() == (2, 2)
    assert len(files(folder)) == 2


def test_nothing_is_written_without_the_setting(tmp_path: Path) -> None:
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        check()
    finally:
        os.chdir(before)
    assert info() == DiskCacheInfo("", 0, 0, 0, 0, 1 << 29)
    assert not files(tmp_path)


def test_what_is_loaded_is_what_was_compiled(folder: Path) -> None:
    def fun(x: Any, y: Any) -> Any:
        return {"dot": x @ y, "more": (jnp.exp(x), jnp.argsort(y))}

    x, y = np.arange(6.0).reshape(2, 3), np.array([3.0, 1.0, 2.0])
    compiled = tinyjax.jit(fun).lower(x, y).compile()
    first = compiled(x, y)
    again()
    loaded = tinyjax.jit(fun).lower(x, y).compile()
    second = loaded(x, y)
    assert served() == (1, 1)
    assert tinyjax.tree.structure(first) == tinyjax.tree.structure(second)
    for a, b in zip(tinyjax.tree.leaves(first), tinyjax.tree.leaves(second), strict=True):
        assert a.aval == b.aval
        np.testing.assert_array_equal(a, b)
    assert loaded.as_text() == compiled.as_text()
    assert loaded.cost_analysis() == compiled.cost_analysis()
    temporary = [c.memory_analysis().temp_size_in_bytes for c in (compiled, loaded)]
    assert temporary[0] == temporary[1]


def test_donation_is_part_of_a_program(folder: Path) -> None:
    def fun(x: Any) -> Any:
        return x + 1

    for _ in range(2):
        again()
        given, kept = jnp.asarray(X), jnp.asarray(X)
        np.testing.assert_array_equal(tinyjax.jit(fun, donate_argnums=0)(given), X + 1)
        assert given.is_deleted()
        np.testing.assert_array_equal(tinyjax.jit(fun)(kept), X + 1)
        assert not kept.is_deleted()
    assert len(files(folder)) == 2
    assert served() == (2, 2)


def test_programs_with_callbacks_are_not_kept(folder: Path) -> None:
    seen = []

    @tinyjax.jit
    def fun(x: Any) -> Any:
        tinyjax.debug.callback(lambda x: seen.append(float(x[1])), x)
        return x

    fun(X)
    assert seen == [1.0]
    assert served() == (0, 0)
    assert not folder.exists()


def test_a_lowering_rule_written_anew_is_another_program(folder: Path) -> None:
    def declare(operation: str, fun: Any) -> Primitive[NoParams]:
        made = Primitive("of_a_third_party", NoParams)
        made.def_impl(lambda operands, params: (fun(operands[0]),))
        made.def_abstract_eval(lambda avals, params: avals)
        made.def_lowering(lambda b, operands, params: [b.op(operation, *operands)])
        return made

    try:
        for operation, fun in (("stablehlo.sine", np.sin), ("stablehlo.cosine", np.cos)):
            # as in another process: the first primitive of this name that there is
            registry.pop("of_a_third_party", None)
            again()
            primitive = declare(operation, fun)
            result = tinyjax.jit(lambda x, p=primitive: bind1(p, (x,), NO_PARAMS))(jnp.asarray(X))
            np.testing.assert_allclose(result, fun(X), rtol=1e-6)
    finally:
        registry.pop("of_a_third_party", None)
    assert served() == (0, 2)


def test_the_key_holds_what_the_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    text, options, compiler = base = "module {}", b"options", "cpu, jaxlib 1"
    keys = {
        program_key(*base),
        program_key("module { }", options, compiler),
        program_key(text, b"options ", compiler),
        program_key(text, options, "cpu, jaxlib 2"),
    }
    monkeypatch.setattr(disk_cache, "_processor", lambda: b"another processor")
    keys.add(program_key(*base))
    monkeypatch.undo()
    monkeypatch.setattr(disk_cache, "_FORMAT", disk_cache._FORMAT + 1)
    keys.add(program_key(*base))
    monkeypatch.undo()
    # what one part ends with is not what the next begins with
    keys.add(program_key("e {}", b"optionsmodul", compiler))
    assert len(keys) == 7
    assert program_key(*base) in keys


def test_a_processor_that_the_system_does_not_describe(monkeypatch: pytest.MonkeyPatch) -> None:
    described = disk_cache._processor.__wrapped__()
    assert disk_cache._processor() == described
    monkeypatch.setattr(disk_cache, "_cpuinfo", list)
    machine = disk_cache._processor.__wrapped__()  # then entries are for this machine alone
    assert platform.node().encode() in machine
    assert machine != described


@pytest.mark.slow
def test_the_compilers_options_from_the_environment_count(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    found = [
        results([start(folder, XLA_FLAGS=f"--xla_backend_optimization_level={level}")])
        for level in ("0", "2", "0")
    ]
    assert found == [[(0, 2)], [(0, 2)], [(2, 0)]]
    assert len(files(folder)) == 4


# Settings


def test_a_folder_is_an_absolute_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for given, meant in (("", ""), ("here", f"{tmp_path}/here"), ("~/x", f"{tmp_path}/home/x")):
        with config.scoped(cache_dir=given) as settings:
            assert settings.cache_dir == meant
    with config.scoped(cache_dir=tmp_path, cache_max_bytes="1000") as settings:
        assert settings.cache_dir == str(tmp_path)
        assert settings.cache_max_bytes == 1000


@pytest.mark.parametrize("folder", [3, None, b"folder", "a\0b"])
def test_a_folder_that_is_no_path(folder: object) -> None:
    with raises(ArgumentError, match=r"cache_dir takes (the|a) path"):
        unchecked(config.update)("cache_dir", folder)


@pytest.mark.parametrize("size", [-1, "many", 1.5, None])
def test_a_size_that_is_none(size: object) -> None:
    with raises(ArgumentError, match="cache_max_bytes takes a number of bytes"):
        unchecked(config.update)("cache_max_bytes", size)


# How much is kept


def code(i: int, size: int = 1000) -> bytes:
    return bytes([i]) * size


def key(i: int) -> bytes:
    return bytes([i]) * 32


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    size = len(disk_cache._seal(key(0), code(0)))
    cache = DiskCache(str(tmp_path), 3 * size + size // 2)
    for i in range(3):
        cache.store(key(i), code(i))
        os.utime(tmp_path / f"{key(i).hex()}.tinyjax", (i + 1, i + 1))
    assert cache.load(key(0)) == code(0)  # so that 1 is now the oldest
    cache.store(key(3), code(3))
    assert [i for i in range(4) if cache.load(key(i)) is not None] == [0, 2, 3]
    smaller = DiskCache(str(tmp_path), size + size // 2)
    smaller.store(key(4), code(4))
    assert [i for i in range(5) if cache.load(key(i)) is not None] == [4]
    smaller.store(key(5), code(5, 2000))  # larger than everything may be
    assert [i for i in range(6) if cache.load(key(i)) is not None] == [4]


def test_entries_go_when_the_folder_is_full_and_not_before(tmp_path: Path) -> None:
    size = len(disk_cache._seal(key(0), code(0)))
    cache = DiskCache(str(tmp_path), 40 * size)
    for i in range(40):
        cache.store(key(i), code(i))
        os.utime(tmp_path / f"{key(i).hex()}.tinyjax", (i + 1, i + 1))
    assert info_of(cache) == 40
    cache.store(key(40), code(40))  # a 16th of the folder is free then
    assert info_of(cache) == 37
    assert [i for i in range(41) if cache.load(key(i)) is None] == [0, 1, 2, 3]


def test_the_folder_is_closed_again(tmp_path: Path) -> None:
    cache = DiskCache(str(tmp_path), 1 << 20)
    cache.store(key(0), code(0))
    opened = len(os.listdir("/proc/self/fd"))
    for i in range(20):
        cache.store(key(i), code(i))
        assert cache.load(key(i)) == code(i)
    assert len(os.listdir("/proc/self/fd")) == opened


def info_of(cache: DiskCache) -> int:
    return len(os.listdir(cache.folder))


def test_small_entries_seldom_look_for_old_ones_and_often_enough() -> None:
    size, max_bytes = 100, 500_000
    keys = [sha256(b"%d" % i).digest() for i in range(100_000)]
    looking = [i for i, k in enumerate(keys) if disk_cache._looks_for_old(k, size, max_bytes)]
    assert len(looking) == pytest.approx(256 * len(keys) * size / max_bytes, rel=0.05)
    between = max(b - a for a, b in itertools.pairwise([0, *looking, len(keys)]))
    assert between * size < max_bytes / 16


def test_the_size_is_bounded_when_programs_are_compiled(folder: Path) -> None:
    run()
    size = only(folder).stat().st_size
    with config.scoped(cache_dir=folder, cache_max_bytes=3 * size + size // 2):
        for scale in range(3, 9):
            check(float(scale))
            assert info().bytes <= info().max_bytes
        assert info().entries == 3


def test_clear_removes_programs_and_nothing_else(folder: Path) -> None:
    run()
    theirs = folder / "notes.txt"
    theirs.write_text("mine", encoding="utf-8")
    (folder / "0123.tinyjax").write_text("not a program's name", encoding="utf-8")
    (folder / "sub").mkdir()
    tinyjax.cache.clear()
    assert [f.name for f in files(folder)] == ["0123.tinyjax", "notes.txt", "sub"]
    assert info() == DiskCacheInfo(str(folder), 0, 0, 0, 0, 1 << 29)
    assert tinyjax.cache.info().memory.size == 0
    check()
    assert served() == (0, 1)


# Processes at the same time, and processes that end in the middle

PROGRAM: Final = """
import os, signal, sys, time
import numpy as np
import tinyjax, tinyjax.numpy as jnp
from tinyjax.core.xla import disk_cache

{before}
x = np.arange(4.0, dtype=np.float32)
for scale in (2.0, 3.0):
    result = tinyjax.jit(lambda x: jnp.sin(x) * scale)(x)
    np.testing.assert_allclose(result, np.sin(x) * scale, rtol=1e-6)
disk = tinyjax.cache.info().disk
print(disk.hits, disk.misses)
"""


def start(folder: Path, before: str = "", **environment: str) -> subprocess.Popen[str]:
    """Start a process that has two programs; warnings are errors in it."""
    env = {**os.environ, "TINYJAX_TIER": "compiled", "TINYJAX_CACHE_DIR": str(folder)}
    command = [sys.executable, "-W", "error", "-c", PROGRAM.format(before=before)]
    return subprocess.Popen(command, env=env | environment, stdout=subprocess.PIPE, text=True)


def results(processes: list[subprocess.Popen[str]]) -> list[tuple[int, int]]:
    """Wait for processes, and return how often each found a program and did not."""
    found = []
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        hits, misses = map(int, out.split())
        found.append((hits, misses))
    return found


@pytest.mark.slow
def test_two_processes_at_once_in_an_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "down"
    gate = tmp_path / "go"
    wait = f"while not os.path.exists({str(gate)!r}): time.sleep(0.001)"
    processes = [start(folder, wait) for _ in range(2)]
    time.sleep(0.3)
    gate.touch()
    for hits, misses in results(processes):
        assert hits + misses == 2
    assert len(files(folder)) == 2
    assert results([start(folder)]) == [(2, 0)]


@pytest.mark.slow
def test_processes_that_drop_each_others_programs(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    busy = """
cache = disk_cache.disk_cache()
for i in range(400):
    key = bytes([i % 20]) * 32
    assert cache.load(key) in (None, key * 100)
    cache.store(key, key * 100)
"""
    processes = [start(folder, busy, TINYJAX_CACHE_MAX_BYTES="20000") for _ in range(2)]
    results(processes)
    with config.scoped(cache_dir=folder):
        assert 0 < info().bytes <= 20000


@pytest.mark.slow
def test_a_writer_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    in_the_middle = """
def killed(unfinished, name, *, src_dir_fd, dst_dir_fd):
    folder = os.environ["TINYJAX_CACHE_DIR"]
    os.truncate(os.path.join(folder, unfinished), 100)
    os.kill(os.getpid(), signal.SIGKILL)
os.replace = killed
"""
    process = start(folder, in_the_middle)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    left = only(folder)
    assert left.suffix == ".part"
    assert left.stat().st_size == 100
    assert results([start(folder)]) == [(0, 2)]
    assert results([start(folder)]) == [(2, 0)]
    assert len(files(folder)) == 3
    # what it left is in nobody's way: it may be another writer's at work, and goes when it is old
    with config.scoped(cache_dir=folder):
        assert info().entries == 2
    assert left.exists()
    os.utime(left, (1, 1))
    with config.scoped(cache_dir=folder):
        assert info().entries == 2
    assert not left.exists()


# Entries that are not what was written


def test_every_truncated_entry_is_found_out() -> None:
    entry = disk_cache._seal(key(1), code(1, 300))
    assert disk_cache._unseal(key(1), entry) == code(1, 300)
    for size in range(len(entry)):
        with pytest.raises(disk_cache._DamagedError):
            disk_cache._unseal(key(1), entry[:size])
    with pytest.raises(disk_cache._DamagedError):
        disk_cache._unseal(key(1), entry + b"x")


def test_every_flipped_bit_is_found_out() -> None:
    entry = disk_cache._seal(key(1), code(1, 300))
    for place in range(len(entry)):
        for bit in range(8):
            other = bytearray(entry)
            other[place] ^= 1 << bit
            with pytest.raises(disk_cache._DamagedError):
                disk_cache._unseal(key(1), bytes(other))


def test_an_entry_under_another_programs_name_is_found_out() -> None:
    with raises(disk_cache._DamagedError, match="header"):
        disk_cache._unseal(key(2), disk_cache._seal(key(1), code(1)))


def flipped(entry: bytes, place: int) -> bytes:
    return entry[:place] + bytes([entry[place] ^ 1]) + entry[place + 1 :]


DAMAGE: Final[dict[str, Callable[[bytes], bytes]]] = {
    "empty": lambda entry: b"",
    "only part of the header": lambda entry: entry[:10],
    "only the header": lambda entry: entry[: disk_cache._HEADER.size],
    "truncated": lambda entry: entry[:-1000],
    "zeros at the end, as a crash of the machine leaves": lambda entry: entry[:-64] + bytes(64),
    "a flipped bit in the header": lambda entry: flipped(entry, 9),
    "a flipped bit in the length": lambda entry: flipped(entry, 40),
    "a flipped bit in the code": lambda entry: flipped(entry, len(entry) // 2),
    "a flipped bit in the checksum": lambda entry: flipped(entry, len(entry) - 1),
    "something else": lambda entry: b"#!/bin/sh\n" * 500,
}


@pytest.mark.parametrize("damage", list(DAMAGE))
def test_a_damaged_entry_is_dropped_with_a_warning(folder: Path, damage: str) -> None:
    check()
    entry = only(folder)
    whole = entry.read_bytes()
    for attempt in range(2):
        entry.write_bytes(DAMAGE[damage](whole))
        again()
        if attempt:
            check()  # the warning is given once
        else:
            with pytest.warns(DiskCacheWarning, match="holds a damaged entry") as told:
                check()
            assert len(told) == 1
        again()
        check()
        assert served() == (attempt + 1, attempt + 2)


def test_code_that_xla_refuses_is_dropped_with_a_warning(folder: Path) -> None:
    check()
    name = only(folder)
    made_for = bytes.fromhex(name.stem)
    name.write_bytes(disk_cache._seal(made_for, b"no executable"))
    again()
    with pytest.warns(DiskCacheWarning, match="holds a damaged entry"):
        check()
    again()
    check()
    assert served() == (2, 1)


@pytest.mark.wrong_types
def test_code_that_xla_does_not_serialise_is_not_kept(folder: Path) -> None:
    class Client:
        def compile_and_load(self, *_: object) -> "Client":
            return self

        def serialize(self) -> bytes:
            raise RuntimeError("UNIMPLEMENTED")

    client = Client()
    on = SimpleNamespace(client=client, devices=(), compiler="a compiler")
    how = (compile_options(()), unchecked(()))
    loaded, _ = executable.load_or_compile(unchecked(on), "module {}", "f", (), *how)
    assert loaded is unchecked(client)
    assert not folder.exists()


# Folders that cannot be used


def check_without(reason: str) -> None:
    """Programs run, and one warning says why they are not kept."""

    def programs() -> None:
        for scale in (2.0, 3.0, 2.0):
            again()
            check(scale)

    with pytest.warns(DiskCacheWarning, match=reason) as told:
        programs()
    assert len(told) == 1
    assert "cannot be used" in str(told[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again()
        check()


def test_what_is_no_folder_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "programs").write_text("no folder")
    with pytest.warns(DiskCacheWarning, match="cannot be used"):
        assert DiskCache(str(tmp_path / "programs"), 1 << 20).entries() == []


def test_a_disk_that_is_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.FileIO):
        def write(self, data: Any, /) -> int:
            if self.tell() > 100:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(memoryview(data)[:101])

    def opened(file: Any, mode: str = "r", **rest: Any) -> Any:
        return io.BufferedWriter(Full(file, mode)) if "w" in mode else open(file, mode, **rest)

    monkeypatch.setattr(disk_cache, "open", opened, raising=False)
    check_without("No space left on device")
    assert files(folder) == []


@pytest.mark.slow
def test_a_file_that_may_not_grow_so_large(tmp_path: Path) -> None:
    limited = """
import resource, warnings
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
warnings.simplefilter("default")
"""
    folder = tmp_path / "programs"
    assert results([start(folder, limited)]) == [(0, 2)]
    assert files(folder) == []
    assert results([start(folder)]) == [(0, 2)]


def test_a_folder_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with config.scoped(cache_dir=tmp_path / "file" / "programs"):
        check_without("Not a directory")


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("theirs", encoding="utf-8")
    with config.scoped(cache_dir=tmp_path / "file"):
        check_without("Not a directory")
        tinyjax.cache.clear()
    assert (tmp_path / "file").read_text(encoding="utf-8") == "theirs"


def as_if_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a file system that can only be read; permissions would not stop a superuser."""
    real = os.open

    def refusing(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return real(path, flags, *args, **kwargs)

    def refused(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", refusing)
    for name in ("utime", "unlink", "replace"):
        monkeypatch.setattr(os, name, refused)


def test_a_folder_that_can_only_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(5.0)
    as_if_read_only(monkeypatch)
    check_without("Read-only file system")
    again()
    check(5.0)  # what is there is of use all the same
    assert served()[0] == 1


def test_a_damaged_entry_that_cannot_be_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check()
    only(folder).write_bytes(b"")
    as_if_read_only(monkeypatch)
    again()
    with pytest.warns(DiskCacheWarning) as told:
        check()
    assert {str(w.message).split(": ")[0].split(" in ")[1] for w in told} == {
        f"{folder} holds a damaged entry, which is dropped",
        f"{folder} cannot be used",
    }


def test_a_folder_without_permissions(folder: Path) -> None:
    folder.mkdir(mode=0o500)
    if os.geteuid() == 0:  # whom permissions do not stop
        check()
        assert len(files(folder)) == 1
    else:
        check_without("Permission denied")


def of_another_user(monkeypatch: pytest.MonkeyPatch, which: Callable[[int], bool]) -> None:
    """Say of files of a kind that they belong to another user."""
    real = os.fstat

    def fstat(file: int) -> os.stat_result:
        found = real(file)
        return (
            os.stat_result((*found[:4], found.st_uid + 1, *found[5:]))
            if which(found.st_mode)
            else found
        )

    monkeypatch.setattr(os, "fstat", fstat)


def test_a_folder_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    of_another_user(monkeypatch, stat.S_ISDIR)
    again()
    check_without("the folder belongs to user")
    assert served() == (0, 5)
    assert info().entries == 0
    tinyjax.cache.clear()
    monkeypatch.undo()
    assert info().entries == 1


def test_an_entry_of_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    of_another_user(monkeypatch, stat.S_ISREG)
    again()
    with pytest.warns(DiskCacheWarning, match="an entry belongs to user"):
        check()
    assert served() == (0, 2)


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_to(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    check_without("others may write to the folder")
    assert files(folder) == []


def test_an_entry_that_others_may_write_to(folder: Path) -> None:
    check()
    only(folder).chmod(0o666)
    again()
    with pytest.warns(DiskCacheWarning, match="others may write to an entry"):
        check()
    assert served() == (0, 2)
    assert stat.S_IMODE(only(folder).stat().st_mode) == 0o600  # ours has taken its place


def test_what_is_made_is_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with config.scoped(cache_dir=tmp_path / "programs"):
            check()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "programs").stat().st_mode) == 0o700
    assert stat.S_IMODE(only(tmp_path / "programs").stat().st_mode) == 0o600


def test_an_entry_that_is_a_symbolic_link(folder: Path, tmp_path: Path) -> None:
    check()
    entry = only(folder)
    elsewhere = tmp_path / "elsewhere"
    entry.rename(elsewhere)
    entry.symlink_to(elsewhere)
    again()
    with pytest.warns(DiskCacheWarning, match="symbolic links"):
        check()
    assert served() == (0, 2)
    assert elsewhere.exists()
    assert not entry.is_symlink()


def test_a_link_to_a_folder_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with config.scoped(cache_dir=tmp_path / "link"):
        check()
        again()
        check()
    assert served() == (1, 1)
    assert len(files(tmp_path / "real")) == 1


def test_an_entry_that_is_a_folder(folder: Path) -> None:
    check()
    entry = only(folder)
    entry.unlink()
    entry.mkdir()
    again()
    check_without("Is a directory")


def test_a_folder_that_is_removed_under_way(folder: Path) -> None:
    check()
    only(folder).unlink()
    folder.rmdir()
    again()
    check()
    assert len(files(folder)) == 1
