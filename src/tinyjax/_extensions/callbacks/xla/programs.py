"""Compiled programs that call Python functions on the host.

XLA reports a failed callback as text, from whatever thread it ran on. So an exception is stored
under a number, which travels through XLA's error. The call that meets the error raises the
exception itself: each call its own, however many threads run the program.

A callback may itself run compiled programs, and wait for them. XLA calls it on one of the threads
that a client's programs share. If these programs belonged to the same client, a few callbacks would
occupy all its threads, and the programs that they wait for would never run. So programs with
callbacks have a client of their own, and programs inside their callbacks another, and so on: a
callback waits only for clients none of whose threads wait for its own.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, Final, NoReturn
from weakref import ref

import numpy as np
from jaxlib._jax import ResultHandler, collect_garbage
from jaxlib.xla_client import ArrayImpl, CompileOptions, DeviceList, LoadedExecutable

from tinyjax import config, dtypes, errors
from tinyjax.core import xla
from tinyjax.core.devices import PLATFORM
from tinyjax.core.lowering import Locate
from tinyjax.core.stablehlo.lowering import HostFunction, Interrupter
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ConcreteArray, avals as av
from tinyjax.core.xla import compilation, lowering, threads
from tinyjax.core.xla.backend import Backend, backend
from tinyjax.core.xla.executable import Executable, prepare_calls
from tinyjax.core.xla.options import compile_options, compiling

# A program ends at one error, but several callbacks may have failed by then.
_MOST_ERRORS: Final = 256
_errors: OrderedDict[int, BaseException] = OrderedDict()
_numbers = count()
_MARK: Final = re.compile(r"tinyjax callback error #(\d+);")
_INTERRUPTED: Final = re.compile(r"^KeyboardInterrupt\b", re.MULTILINE)

# Each level of nesting has threads of its own.
_DEEPEST: Final = 16
#: Of programs with callbacks that run inside those of other devices' programs.
_FROM_DEVICES: Final = _DEEPEST // 2
_depth: ContextVar[int] = ContextVar("tinyjax_callback_depth", default=0)


class _FailedError(Exception):
    """The exception that XLA gets in place of the original one."""


def compile_with(
    target: Backend,
    text: str,
    functions: Sequence[HostFunction],
    name: str,
    flags: compilation.Flags,
    options: CompileOptions,
    devices: DeviceList,
) -> LoadedExecutable:
    """Compile a program that calls Python.

    Args:
        target: the client.
        text: the program's module.
        functions: the functions that it calls, guarded, by their numbers.
        name: the program's name.
        flags: XLA's, and their values.
        options: the compiler's, the flags among them.
        devices: those that it runs on.
    """
    prepare_calls(text)
    module = xla.parse(text)  # of MLIR's bindings, which take long to load
    with compiling(flags):
        return threads.step(
            "compile",
            name,
            lambda: target.client.compile_and_load(
                module, devices, options, host_callbacks=[*functions]
            ),
        )


def guarded_from_devices(fun: HostFunction) -> HostFunction:
    """Guard a function that programs call from other devices than the processor's.

    Within the function the default device is the processor's, since the other one is waiting. The
    caller of the program keeps the function alive.
    """
    return _guarded(fun, _FROM_DEVICES, on_host=True)


def run_to_end(
    loaded: LoadedExecutable, buffers: list[Any], handlers: list[ResultHandler]
) -> list[ArrayImpl]:
    """Run a program with callbacks to its end, and raise the exception of a callback."""
    collect_garbage()  # see tinyjax.core.xla.executable; nothing to the cost of a callback
    try:
        results = loaded.execute_sharded(buffers, with_tokens=True)
        token = results.consume_token()
        outs = results.consume_with_handlers(handlers)
        token.block_until_ready()
    except (RuntimeError, ValueError) as error:
        _raise_original(error)
    return outs


class HostProgram(Executable):
    """A program that calls Python functions, compiled for each depth at which it runs.

    Its arguments keep their memory, so donation has no effect.
    """

    calls_python = True

    def __init__(
        self, request: compilation.Compilation, flags: compilation.Flags, locate: Locate | None
    ) -> None:
        text, functions = lowering.lowered(request.jaxpr, request.name, (), locate)
        self.name: str = request.name
        self._text = text
        self._functions = functions
        self._out_avals = request.jaxpr.out_avals
        self._flags = flags
        self._loaded: dict[int, LoadedExecutable] = {}
        self._interrupters = [f for f in functions if isinstance(f, Interrupter)]
        self.loaded: LoadedExecutable = self._at_depth()

    def _at_depth(self) -> LoadedExecutable:
        """Compile it for where we are, the first time."""
        depth = _depth.get()
        if depth > _DEEPEST:
            raise errors.CallbackError(
                f"compiled programs with callbacks run inside each other's callbacks more than "
                f"{_DEEPEST} deep. Call the functions in the innermost callbacks without jit."
            )
        executable = self._loaded.get(depth)
        if executable is None:
            functions = [_guarded(f, depth + 1) for f in self._functions]
            on, flags = backend(depth), self._flags
            options = compile_options(flags)
            executable = self._loaded[depth] = compile_with(
                on, self._text, functions, self.name, flags, options, on.devices
            )
        return executable

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run it to its end, and raise the exception of a callback.

        Other programs may still run when their call returns. Here all effects have happened, and
        all errors are raised, when the call returns. A program with an ``Interrupter`` can be
        interrupted.
        """
        threads.check_threads(self.name)
        if not self._interrupters:
            return self._run(args)
        try:
            return threads.aside(partial(self._run, args), daemon=True)
        except BaseException:
            for interrupter in self._interrupters:
                interrupter.stop()
            raise

    def _run(self, args: Sequence[Array]) -> list[Array]:
        loaded, on = self._at_depth(), backend(_depth.get())
        buffers: list[Any] = [_buffer_of(x.concrete("data"), x.aval, on) for x in args]
        outs = run_to_end(loaded, buffers, on.handlers(self._out_avals))
        on_device = [
            ConcreteArray(None, aval, out) for out, aval in zip(outs, self._out_avals, strict=True)
        ]
        # as host arrays, since the buffers are of no use to other clients
        return [ConcreteArray(x.host, x.aval) for x in on_device]


def _buffer_of(host: dtypes.HostArray, aval: av.ShapedArray, target: Backend) -> ArrayImpl:
    """Return a buffer with an array's data: that which it lies in, if that is this client's."""
    contiguous = host.flags.c_contiguous
    base: Any = host.base
    if contiguous and type(base) is memoryview:
        owner: Any = base.obj  # as for the results of another call
        if (
            type(owner) is ArrayImpl
            and owner._sharding is target.placement
            and (owner.aval.shape, owner.aval.dtype) == (host.shape, host.dtype)
        ):
            return owner
    return target.put(host if contiguous else np.ascontiguousarray(host), aval)


def _guarded(fun: HostFunction, depth: int, on_host: bool = False) -> HostFunction:
    """Call a function outside all transformations, and keep its exception.

    Args:
        fun: the function. It is not held: Python does not see what XLA holds, and would never
            collect a function that, by what it holds, refers to the program.
        depth: that of the programs with callbacks that it runs.
        on_host: whether the default device is the processor's within it.
    """
    reference = ref(fun)

    def call(*args: dtypes.HostArray) -> Sequence[dtypes.HostArray]:
        try:
            with (
                tr.assigned(_depth, depth),
                config.scoped(default_device=PLATFORM) if on_host else nullcontext(),
                tr.use_trace(tr.EVAL),
            ):
                function = reference()
                assert function is not None, "whoever runs the program holds it"
                return tuple(function(*args))
        except BaseException as error:
            number = next(_numbers)
            _errors[number] = error
            while len(_errors) > _MOST_ERRORS:
                _errors.popitem(last=False)
            raise _FailedError(f"tinyjax callback error #{number};") from None

    return call


def _raise_original(error: Exception) -> NoReturn:
    mark = _MARK.search(str(error))
    original = None if mark is None else _errors.pop(int(mark[1]), None)
    if original is not None:
        raise original from None
    if _INTERRUPTED.search(str(error)):  # on the way to the callback, where nothing keeps it
        raise KeyboardInterrupt from None
    raise error
