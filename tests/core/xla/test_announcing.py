"""Compilations that take long, which a terminal is told of."""

import io
import time
from typing import Any

import pytest

import tinyjax.numpy as jnp
from tinyjax import config, debug, jit, lax
from tinyjax.core.xla import threads


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _slow_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "SECONDS", 1.0)
    aside = threads.aside

    def slowly(call: Any, *args: Any, **kwargs: Any) -> Any:
        def late() -> Any:
            time.sleep(1.3)
            return call()

        return aside(late, *args, **kwargs)

    monkeypatch.setattr(threads, "aside", slowly)


def compile_something(size: int, with_callback: bool = False) -> None:
    def slow(x: Any) -> Any:
        if with_callback:
            debug.callback(lambda x: None, x)
        return lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) + i, x)

    jit(slow).lower(jnp.ones(size)).compile()


@pytest.mark.parametrize("with_callback", [False, True])
def test_a_terminal_says_what_is_compiled_and_then_no_more(
    monkeypatch: pytest.MonkeyPatch, with_callback: bool
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    compile_something(31 + with_callback, with_callback)
    first, *_, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert first.startswith("tinyjax: XLA compiles 'slow' (")
    assert first.endswith(" equations), 1 s")
    assert last == ""


def test_nothing_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    compile_something(33)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with config.scoped(announce=False):
        compile_something(34)
    monkeypatch.setattr(threads, "SECONDS", 60)
    compile_something(35)
    assert stream.getvalue() == terminal.getvalue() == ""
