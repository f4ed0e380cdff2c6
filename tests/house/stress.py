"""Many threads with programs of all kinds and tiers, some of which fail, and Ctrl-C all the while.

``python tests/house/stress.py 2000`` is 2,000 programs in 16 threads; it prints what went wrong, as
JSON. Each result is compared with NumPy's. The process must end of itself, and leave nothing
behind.
"""

from __future__ import annotations

import _thread
import ctypes
import faulthandler
import gc
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import config, grad, jit, lax, pure_callback, vmap
from tinyjax._extensions.callbacks.xla import programs
from tinyjax._extensions.host import tiers
from tinyjax.core import xla
from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.errors import ArgumentError
from tinyjax.experimental import io_callback

THREADS: Final = 16
TIERS: Final[tuple[config.Tier, ...]] = ("compiled", "first", "host", "ready")
#: Programs that are called so often that each tier comes to its end.
CALLS: Final = 4
#: Of one program in the main thread.
MOST_INTERRUPTS: Final = 4
#: A run that makes no progress for so long hangs: it says where each thread is, and is ended.
SECONDS_WITHOUT_PROGRESS: Final = 60

Case = tuple[Callable[[Any], Any], Callable[[Any], Any]]


@attrs.define
class Report:
    """The counts of events, and the failures."""

    wrong: list[str] = attrs.field(factory=list)
    counts: Counter[str] = attrs.field(factory=Counter)


class RefusedError(Exception):
    """The exception of a callback."""


# Programs, and what NumPy makes of them. ``k`` makes each another program.


def chain(k: float) -> Case:
    return lambda x: (jnp.sin(x * k) + k).sum(), lambda x: (np.sin(x * k) + k).sum()


def gradient(k: float) -> Case:
    return grad(lambda x: (x**3 * k).sum()), lambda x: 3 * k * x**2


def scanned(k: float) -> Case:
    def fun(x: Any) -> Any:
        return lax.scan(lambda c, v: (c * 0.5 + v * k, c), 0.0, x)

    def expected(x: Any) -> Any:
        c, cs = 0.0, []
        for v in x:
            cs.append(c)
            c = c * 0.5 + v * k
        return c, np.array(cs)

    return fun, expected


def looped(k: float) -> Case:
    def fun(x: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < 5, lambda c: (c[0] + 1, c[1] + k), (0, x))[1]

    return fun, lambda x: x + 5 * k


def chosen(k: float) -> Case:
    def fun(x: Any) -> Any:
        return vmap(lambda v: lax.cond(v > 0.5, lambda v: v * k, lambda v: v - k, v))(x)

    return fun, lambda x: np.where(x > 0.5, x * k, x - k)


def nested(k: float) -> Case:
    inner = jit(lambda x: jnp.outer(x, x) * k)
    return lambda x: inner(x) @ x, lambda x: (np.outer(x, x) * k) @ x


def calling_back(k: float) -> Case:
    def host(x: Any) -> Any:
        return np.asarray(x) * np.float32(k)

    return lambda x: pure_callback(host, x, x) + 1, lambda x: x * k + 1


def calling_programs(k: float) -> Case:
    inner = jit(lambda x: x * k, tier="first")
    return lambda x: pure_callback(lambda v: np.asarray(inner(v)), x, x), lambda x: x * k


def refusing(k: float) -> Case:
    """Raises where its operand begins with a negative number."""

    def host(x: Any) -> Any:
        if x[0] < 0:
            raise RefusedError(k)
        return np.asarray(x)

    return lambda x: pure_callback(host, x, x) * k, lambda x: x * k


def counting(k: float) -> Case:
    """Has an effect, which must be there as often as there were calls."""
    seen: list[float] = []

    def fun(x: Any) -> Any:
        io_callback(lambda v: seen.append(float(v)), None, x[0], ordered=True)
        return x + k

    def expected(x: Any) -> Any:
        seen.remove(float(x[0]))
        return x + k

    return fun, expected


KINDS: Final = (
    *(chain, gradient, scanned, looped, chosen, nested, calling_back, calling_programs, refusing),
    counting,
)


def close(actual: Any, expected: Any) -> bool:
    """As np.allclose, which an interrupt may leave with another error state: that is NumPy's."""
    return bool(np.all(np.abs(actual - expected) <= 1e-5 + 1e-4 * np.abs(expected)))


def run(number: int, report: Report) -> None:
    """Make a program, call it several times and compare; let it fail where it should."""
    dice = random.Random(number)
    # every fourth program is one that other threads make as well
    k = 1.0 + (number if number % 4 else number % 16) / 1000
    kind = KINDS[number // 4 % len(KINDS)]
    fun, expected = kind(k)
    tier = TIERS[number % 3]
    options = {"xla_backend_optimization_level": 0} if number % 5 == 0 else None
    fast = jit(fun, tier=tier, compiler_options=options)
    for _ in range(CALLS):
        x = np.array([dice.uniform(0.0, 1.0) for _ in range(4)], np.float32)
        found = fast(x)
        if kind is counting:
            tinyjax.effects_barrier()
        for a, b in zip(tinyjax.tree.leaves(found), tinyjax.tree.leaves(expected(x)), strict=True):
            if not close(a, b):
                report.wrong.append(f"{kind.__name__} {k} {tier}: {a} instead of {b}")
        if kind is refusing:
            try:
                np.asarray(fast(-x))
                report.wrong.append(f"the callback of {k} {tier} raised nothing")
            except RefusedError as error:
                report.counts["callbacks that raised"] += error.args == (k,)
    if number % 7 == 0:
        try:
            jit(fun, compiler_options={"xla_none": number})(np.ones(4, np.float32))
            report.wrong.append(f"an unknown option was taken by {kind.__name__} {k}")
        except ArgumentError:
            report.counts["failed compilations"] += 1
    report.counts["programs"] += 1


class Interrupts:
    """Ctrl-C in the main thread, a few times for each of its programs, at any moment.

    Attributes:
        remaining: how many may still come; the main thread sets it.
    """

    def __init__(self) -> None:
        self.remaining = 0
        self.ended = threading.Event()
        self.dice = random.Random(0)

    def send(self) -> None:
        while not self.ended.wait(self.dice.uniform(0.0, 0.05)):
            if self.remaining > 0:
                self.remaining -= 1
                _thread.interrupt_main()


def interrupted(numbers: list[int], interrupts: Interrupts | None, report: Report) -> None:
    """Run programs in the main thread; those that are interrupted are run again."""
    allowed = 0 if interrupts is None else MOST_INTERRUPTS
    while numbers:
        errors = np.geterr()
        try:
            if interrupts is not None:
                interrupts.remaining = allowed
            run(numbers[-1], report)
            if interrupts is not None:
                interrupts.remaining = 0
            numbers.pop()
            allowed = MOST_INTERRUPTS
        except KeyboardInterrupt:
            allowed -= 1
            report.counts["interrupts"] += 1
            if current_trace() is not EVAL:
                report.wrong.append(f"an interrupt left {current_trace()} behind")
            if np.geterr() != errors:
                report.wrong.append(f"an interrupt left {np.geterr()} behind")
        except Exception as error:
            report.wrong.append(f"program {numbers.pop()}: {type(error).__name__}: {error}")


def everything(programs: int, report: Report, interrupting: bool) -> None:
    """Run programs in all threads."""
    numbers = [*range(programs)]
    mine = [numbers.pop() for _ in range(programs // THREADS)]
    interrupts = Interrupts()

    def work() -> None:
        while numbers:
            try:
                number = numbers.pop()
            except IndexError:
                return
            try:
                run(number, report)
            except BaseException as error:
                report.wrong.append(f"program {number}: {type(error).__name__}: {error}")

    def watch() -> None:
        before = -1
        while not interrupts.ended.wait(SECONDS_WITHOUT_PROGRESS):
            if report.counts["programs"] == before:
                faulthandler.dump_traceback(all_threads=True)
                os._exit(3)
            before = report.counts["programs"]

    threads = [threading.Thread(target=work) for _ in range(THREADS - 1)]
    helpers = [threading.Thread(target=interrupts.send), threading.Thread(target=watch)]
    for thread in (*threads, *helpers):
        thread.start()
    for step in (
        lambda: interrupted(mine, interrupts if interrupting else None, report),
        interrupts.ended.set,
        *[thread.join for thread in (*threads, *helpers)],
    ):
        while True:
            try:
                step()
                break
            except KeyboardInterrupt:  # one that came late
                report.counts["interrupts"] += 1


def resident_bytes() -> int:
    """Bytes of memory that the process holds."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def state_at_rest() -> dict[str, int]:
    """Return the remaining state after all work has ended, and caches were cleared."""
    while left := len(tiers._requests):
        time.sleep(0.1)
        if len(tiers._requests) == left:  # while there is progress, collecting would slow it down
            gc.collect()  # one that was lost to an interrupt may be part of a cycle
    tinyjax.cache.clear()
    # errors of callbacks that nobody was there to raise any more: some are kept, with their frames
    programs._errors.clear()
    for _ in range(3):
        gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # gives back what is free between what is in use
    executables = sum(isinstance(x, xla.Executable) for x in gc.get_objects())
    return {
        "threads": len(threading.enumerate()),
        "executables": executables,
        "bytes": resident_bytes(),
    }


def main() -> None:
    programs = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    report = Report()
    # What is made once and kept is made: clients, and the threads of pools and of the compiler.
    # Modules are loaded, since Python leaves the lock of one whose loading is interrupted held.
    everything(4 * len(KINDS), report, interrupting=False)
    before = state_at_rest()
    start = time.perf_counter()
    everything(programs, report, interrupting=True)
    seconds = time.perf_counter() - start
    print(
        json.dumps(
            {
                "wrong": report.wrong[:20],
                "counts": report.counts,
                "before": before,
                "after": state_at_rest(),
                "seconds": seconds,
            }
        )
    )


if __name__ == "__main__":
    # so that the compiler is set to work within a few calls
    with patch.object(tiers, "_SHARE", 0.002):
        main()
