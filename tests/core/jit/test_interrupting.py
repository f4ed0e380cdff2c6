"""Ctrl-C while a program is compiled, or runs."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import tinyjax.numpy as jnp
from tinyjax import config, jit, lax
from tinyjax._extensions.host import tiers
from tinyjax.errors import DonatedArrayError


@jit
def long(x: Any, turns: Any) -> Any:
    def turn(i: Any, c: Any) -> Any:
        return lax.fori_loop(0, 20_000_000, lambda j, d: d * 1.0000001 + 0.1 * i, c)

    return lax.fori_loop(0, turns, turn, x)


@pytest.fixture
def heard() -> Iterator[None]:
    """Have Ctrl-C raise, which a shell switches off for what it runs in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_a_long_loop_hears_an_interrupt() -> None:
    with config.scoped(interruptible=True):
        assert float(long(1.0, 0)) == 1.0
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        begin = time.perf_counter()
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            long(1.0, 100)
        assert time.perf_counter() - begin < 1.2
        assert float(long(1.0, 0)) == 1.0  # the next call is none the worse


def test_programs_give_what_they_do_otherwise() -> None:
    add = jit(lambda x, y: {"sum": x + y}, donate_argnums=0)
    with config.scoped(interruptible=True):
        x = jnp.ones(300)
        for _ in range(3):  # the usual way, and the short one
            assert float(long(jnp.ones(()), 0)) == 1.0
        assert add(x, x + 1)["sum"][0] == 3.0
        with pytest.raises(DonatedArrayError):
            add(x, 1.0)
        results: list[float] = []
        thread = threading.Thread(target=lambda: results.append(float(long(2.0, 0))))
        thread.start()
        thread.join()
        assert results == [2.0]


def test_an_interrupt_while_a_function_dies_leaves_nothing_of_it() -> None:
    function = jit(lambda x: x + 1)
    assert float(function(1.0)) == 2.0
    traces = weakref.ref(function._traces)

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(interrupt)  # at each call of a function in Python
    del function
    sys.settrace(before)
    assert traces() is None


def interrupt_at(line: int, name: str, file: str) -> Callable[[], bool]:
    """Raise KeyboardInterrupt in a function of a file, where so many lines of it have been run.

    A line that comes again does not count: where a ``with`` is left, Python hears no interrupt.

    Returns:
        Ends that, and says whether it has raised.
    """
    seen: set[int] = set()
    raised = False

    def trace_line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal raised
        if event == "line" and frame.f_lineno not in seen:
            seen.add(frame.f_lineno)
            raised = len(seen) > line
            if raised:
                raise KeyboardInterrupt
        return trace_line

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        return trace_line if code.co_name == name and code.co_filename == file else None

    before = sys.gettrace()
    sys.settrace(called)

    def end() -> bool:
        sys.settrace(before)
        return raised

    return end


@pytest.mark.parametrize("name", ["prepare", "submit"])
def test_no_interrupt_keeps_a_program_from_being_compiled(name: str) -> None:
    """A request to the compiler's thread is compiled, or is no longer under way."""
    lines, raised = 0, True
    while raised:
        wanted = jit(lambda x, k=lines: x * k + 1.0).lower(jnp.ones(lines + 1)).compilation
        end = interrupt_at(lines, name, tiers.__file__)
        try:
            with tiers.compile_afterwards(wanted):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            raised = end()
        gc.collect()
        deadline = time.monotonic() + 30
        while tiers.is_under_way(wanted):
            assert time.monotonic() < deadline, f"interrupted at line {lines}"
            time.sleep(0.005)
        lines += 1
    assert lines > 3


COMPILED = """
import _thread, sys, threading
import numpy as np, tinyjax, tinyjax.numpy as jnp
from tinyjax import pure_callback

@tinyjax.jit
def long(x):
    if "callback" in sys.argv:
        x = pure_callback(lambda v: v, x, x)
    for k in range(80):
        x = jnp.sin(x * (k + 1)) @ jnp.ones((4, 4))
    return x

# loads jaxlib, and makes clients
tinyjax.jit(lambda x: pure_callback(lambda v: v, x, x), tier="compiled")(1.0)
compiling = long.lower(np.ones(4, "float32"))
threading.Timer(0.1, _thread.interrupt_main).start()
try:
    compiling.compile()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("what", ["plain", "callback"])
def test_a_process_outlives_the_interruption_of_the_compiler(what: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", COMPILED, what],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout in ("interrupted\n", "")  # where it was done by then


# In a process of its own: callbacks of other packages that run after a collection, such as
# hypothesis's, would hear the signal first, and lose it.
COLLECTED = """
import gc, signal
import tinyjax

tinyjax.jit(lambda x: x + 1)(1.0)  # from now on jaxlib releases what it has kept in collections

class HeardError(Exception):
    pass

def handler(number, frame):
    raise HeardError

signal.signal(signal.SIGALRM, handler)
many = [[] for _ in range(500_000)]
try:
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    for _ in range(100):
        gc.collect()
except HeardError:
    print("heard")
"""


def test_a_signal_during_a_collection_of_garbage_is_heard() -> None:
    run = subprocess.run(
        [sys.executable, "-c", COLLECTED],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "heard\n", "")
