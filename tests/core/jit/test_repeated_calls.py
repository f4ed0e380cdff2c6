"""Calls that are repeated leave nothing behind, on any path of dispatch; nor do programs."""

import ctypes
import gc
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.repeated import PATHS, repeat
from tinyjax.core.xla import executable
from tinyjax.core.xla.backend import backend

#: What jaxlib keeps until it is next told to release it, and what a collection of garbage leaves.
_MOST_BLOCKS = 700


@pytest.mark.sampled(3)
@pytest.mark.counts
@pytest.mark.parametrize("path", PATHS)
def test_calls_leave_nothing_behind(path: str) -> None:
    # one block that every fifth call leaves is seen, every second of a loop, which takes long
    calls = 1_500 if "loops" in path else 4_000
    assert repeat(PATHS[path](tinyjax), calls).blocks < _MOST_BLOCKS


class _Heap(ctypes.Structure):
    """The statistics of glibc's malloc: sizes in bytes."""

    _fields_: ClassVar[Sequence[Any]] = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _bytes_in_use() -> int:
    """Return what malloc has given out and not got back; 0 where it does not say."""
    gc.collect()
    heap = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if heap is None:
        return 0
    heap.restype = _Heap
    now = heap()
    return int(now.uordblks) + int(now.hblkhd)


#: A tenth of what a small compiled program takes.
_MOST_BYTES_EACH = 10_000


@pytest.mark.counts
def test_dropped_functions_leave_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process may keep more, since malloc has free pieces that are too small for the next."""
    monkeypatch.setattr(executable._info, "capacity", 8)

    def compile_and_drop(start: int, number: int) -> tuple[int, int]:
        for k in range(start, start + number):
            tinyjax.jit(lambda x, k=k: jnp.sin(x * float(k)) + 1.0)(1.0)
        gc.collect()  # functions and their programs refer to each other
        return len(backend().client.live_executables()), _bytes_in_use()

    programs, before = compile_and_drop(1, 20)
    still, after = compile_and_drop(21, 60)
    assert still <= programs
    assert after - before < 60 * _MOST_BYTES_EACH
