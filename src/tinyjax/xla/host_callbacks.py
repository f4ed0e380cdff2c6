"""Compiled programs that call Python functions on the host.

XLA reports a failed callback as text, from whatever thread it ran on. So an exception is kept under
a number, the number travels through XLA's error, and the call that meets the error raises the
exception itself: each call its own, however many threads run the program.

A callback may itself run compiled programs, and wait for them. XLA calls it on one of the threads
that a client's programs share; were these programs the same client's, a few callbacks would occupy
all its threads, and what they wait for would never run. So programs with callbacks have a client of
their own, and those that run inside their callbacks another, and so on: a callback waits only for
clients none of whose threads wait for its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, Final, NoReturn

import numpy as np
from jaxlib._jax import collect_garbage
from jaxlib.xla_client import ArrayImpl, LoadedExecutable

from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.concrete import ConcreteArray
from tinyjax.core.events import span
from tinyjax.core.trace import EVAL, use_trace
from tinyjax.display.runs import Reports
from tinyjax.dtypes import HostArray
from tinyjax.errors import CallbackError
from tinyjax.stablehlo.module import HostFunction
from tinyjax.xla.announcing import waiting
from tinyjax.xla.backend import Backend, backend
from tinyjax.xla.compilation import Flags
from tinyjax.xla.interruptible import aside
from tinyjax.xla.lapack import prepare_calls
from tinyjax.xla.options import compile_options, compiling

# A program ends at one error, but several callbacks may have failed by then.
_MOST_ERRORS: Final = 256
_errors: OrderedDict[int, BaseException] = OrderedDict()
_numbers = count()
_MARK: Final = re.compile(r"tinyjax callback error #(\d+);")
_INTERRUPTED: Final = re.compile(r"^KeyboardInterrupt\b", re.MULTILINE)

# Each level of nesting has threads of its own.
_DEEPEST: Final = 16
_depth: ContextVar[int] = ContextVar("tinyjax_callback_depth", default=0)


class _FailedError(Exception):
    """What XLA is told of an exception."""


class HostProgram:
    """A program that calls Python functions, compiled for each depth at which it runs."""

    def __init__(
        self,
        text: str,
        functions: Sequence[HostFunction],
        out_avals: Sequence[ShapedArray],
        flags: Flags = (),
        name: str = "f",
    ) -> None:
        self.name = name
        self._text = text
        self._functions = functions
        self._out_avals = out_avals
        self._flags = flags
        self._loaded: dict[int, LoadedExecutable] = {}
        self._reports = [f for f in functions if isinstance(f, Reports)]

    def loaded(self) -> LoadedExecutable:
        """Compile it for where we are, the first time."""
        # Programs without callbacks need no bindings of MLIR, which take 25 ms to load.
        from tinyjax.xla.modules import parse  # noqa: PLC0415

        depth = _depth.get()
        if depth > _DEEPEST:
            raise CallbackError(
                f"compiled programs with callbacks run inside each other's callbacks more than "
                f"{_DEEPEST} deep. Call the functions in the innermost callbacks without jit."
            )
        found = self._loaded.get(depth)
        if found is None:
            on = backend(depth)
            prepare_calls(self._text)
            module = parse(self._text)
            with compiling(self._flags), span("compile", program=self.name):
                found = self._loaded[depth] = aside(
                    lambda: on.client.compile_and_load(
                        module,
                        on.devices,
                        compile_options(self._flags),
                        host_callbacks=[_guarded(f, depth + 1) for f in self._functions],
                    ),
                    waiting=waiting(),
                )
        return found

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run it to its end, and raise what a callback raised.

        Other programs run on while Python goes on. These do not: their effects are done, and their
        errors raised, when the call returns. A program whose loops report can be interrupted: they
        end at their next reports.
        """
        if not self._reports:
            return self._run(args)
        try:
            return aside(partial(self._run, args), daemon=True)
        except BaseException:
            for reports in self._reports:
                reports.stop()
            raise

    def _run(self, args: Sequence[Array]) -> list[Array]:
        collect_garbage()  # see tinyjax.xla.executable; nothing to the cost of a callback
        loaded, on = self.loaded(), backend(_depth.get())
        buffers = [_buffer_of(x.concrete("data"), x.aval, on) for x in args]
        handlers = on.handlers(self._out_avals)
        try:
            results = loaded.execute_sharded(buffers, with_tokens=True)
            token = results.consume_token()
            outs = results.consume_with_handlers(handlers)
            token.block_until_ready()
            on_device = [
                ConcreteArray(None, aval, out)
                for out, aval in zip(outs, self._out_avals, strict=True)
            ]
            # as host arrays, since the buffers are of no use to other clients
            return [ConcreteArray(x.host, x.aval) for x in on_device]
        except (RuntimeError, ValueError) as error:
            _raise_original(error)


def _buffer_of(host: HostArray, aval: ShapedArray, on: Backend) -> ArrayImpl:
    """Return a buffer with an array's data: that which it lies in, if that is this client's."""
    contiguous = host.flags.c_contiguous
    base: Any = host.base
    if contiguous and type(base) is memoryview:
        found: Any = base.obj  # as for the results of another call
        if (
            type(found) is ArrayImpl
            and found._sharding is on.placement
            and (found.aval.shape, found.aval.dtype) == (host.shape, host.dtype)
        ):
            return found
    return on.put(host if contiguous else np.ascontiguousarray(host), aval)


def _guarded(fun: HostFunction, depth: int) -> HostFunction:
    """Call a function outside all transformations, and keep what it raises."""

    def call(*args: HostArray) -> Sequence[HostArray]:
        token = _depth.set(depth)
        try:
            with use_trace(EVAL):
                return tuple(fun(*args))
        except BaseException as error:
            number = next(_numbers)
            _errors[number] = error
            while len(_errors) > _MOST_ERRORS:
                _errors.popitem(last=False)
            raise _FailedError(f"tinyjax callback error #{number};") from None
        finally:
            _depth.reset(token)

    return call


def _raise_original(error: Exception) -> NoReturn:
    found = _MARK.search(str(error))
    original = None if found is None else _errors.pop(int(found[1]), None)
    if original is not None:
        raise original from None
    if _INTERRUPTED.search(str(error)):  # on the way to the callback, where nothing keeps it
        raise KeyboardInterrupt from None
    raise error
