"""Ctrl-C while a compiled program runs."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import tinyjax.numpy as jnp
from tinyjax import config, jit, lax
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
        found: list[float] = []
        thread = threading.Thread(target=lambda: found.append(float(long(2.0, 0))))
        thread.start()
        thread.join()
        assert found == [2.0]
