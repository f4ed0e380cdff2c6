"""tinyjax's own spans, which are attached while a profile is recorded.

What compiles is rare, and makes its spans by ``compilation.span``. What runs at every call makes
none: here is one table of such functions, each with what stands in for it while a profile is
recorded. So they are no slower while none is. Calls of jitted functions are then made in the usual
way, since the shortest one has no place for spans.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from threading import local
from typing import Any, Final, TypeAlias

from tinyjax._base import tracebacks
from tinyjax._extensions.callbacks.xla import programs
from tinyjax._extensions.parallel.xla import moving, sharded_executable
from tinyjax.core import jit, xla
from tinyjax.core.jit import program, signatures, stages
from tinyjax.core.tracing import staging, trace as tr
from tinyjax.core.transforms import batching
from tinyjax.core.transforms.jvp import JVPTrace
from tinyjax.core.transforms.transpose import Transposer
from tinyjax.core.values import ConcreteArray
from tinyjax.core.xla import backend, compilation
from tinyjax.profiler.run_log import RunLog
from tinyjax.profiler.xla import annotation

#: What is made of a function while a profile is recorded.
Stand: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def attach(notes: RunLog) -> Callable[[], None]:
    """Make spans from now on, and record which programs run.

    Returns:
        What undoes it.
    """
    before: list[tuple[Any, str, Any]] = []
    for owner, name, stand in _table(notes):
        original = vars(owner)[name]
        before.append((owner, name, original))
        setattr(owner, name, wraps(original)(stand(original)))
    compilation.spans.append(annotation)

    def detach() -> None:
        compilation.spans.clear()
        for owner, name, original in before:
            setattr(owner, name, original)

    return detach


def _table(notes: RunLog) -> Iterator[tuple[Any, str, Stand]]:
    yield signatures.Called, "__call__", lambda _: _call_usually(notes)
    yield signatures.Traces, "short_for", lambda _: lambda *args: signatures.FastCalls(None)
    yield signatures.Entry, "run", _noting(notes, lambda entry: entry.params.compilation)
    yield program.JitParams, "run", _noting(notes, lambda params: params.compilation)
    yield stages.Compiled, "_call", _noting(notes, lambda compiled: compiled.lowered.compilation)
    yield tr.Running, "__enter__", _begin_trace
    yield tr.Running, "__exit__", _end_trace
    yield Transposer, "pull_back", _spanned("transform", lambda *args: {"kind": "transpose"})
    yield xla.DeviceExecutable, "executing", _executing
    yield sharded_executable.ShardedExecutable, "execute", _spanned("execute", _program)
    yield programs.HostProgram, "_run", _spanned("execute", _program)
    yield backend.Backend, "put", _spanned("transfer", lambda _, host, aval: _moved(aval.nbytes))
    yield (
        moving,
        "batched_device_put",
        _spanned("transfer", lambda aval, *rest: _moved(aval.nbytes)),
    )
    yield ConcreteArray, "_fetch", _spanned("transfer", lambda x: _moved(x.aval.nbytes, "host"))


def _moved(nbytes: int, destination: str = "device") -> dict[str, object]:
    return {"bytes": nbytes, "to": destination}


def _program(executable: Any, *_: object) -> dict[str, object]:
    return {"program": executable.name}


def _spanned(name: str, attributes: Callable[..., dict[str, object]]) -> Stand:
    """Return a function whose calls are spans."""

    def stand(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            with annotation(name, attributes(*args)):
                return original(*args, **kwargs)

        return call

    return stand


def _executing(original: Callable[..., Any]) -> Callable[..., Any]:
    def executing(executable: xla.DeviceExecutable) -> Callable[..., Any]:
        return _spanned("execute", lambda _: _program(executable))(original(executable))

    return executing


def _noting(notes: RunLog, compilation_of: Callable[[Any], xla.Compilation]) -> Stand:
    """Return a method of something whose program runs."""

    def stand(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(runs: Any, *args: Any, **kwargs: Any) -> Any:
            notes.note(compilation_of(runs))
            return original(runs, *args, **kwargs)

        return run

    return stand


def _call_usually(notes: RunLog) -> Callable[..., Any]:
    def call(function: signatures.Called[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, jit.JitFunction):
            notes.functions.setdefault(id(function), function)
        try:
            return function._call(args, kwargs)
        except (Exception, KeyboardInterrupt) as error:
            tracebacks.fold(error, sys._getframe())
            raise

    return call


class _Open(local):
    """The spans of this thread's transformations, each with its beginning."""

    def __init__(self) -> None:
        self.spans: list[tuple[tr.Running, AbstractContextManager[object]]] = []


_open: Final = _Open()


def _begin_trace(original: Callable[..., Any]) -> Callable[..., Any]:
    def begin(running: tr.Running) -> None:
        span = _span_of(running._trace)
        if span is not None:
            span.__enter__()
            _open.spans.append((running, span))
        original(running)

    return begin


def _end_trace(original: Callable[..., Any]) -> Callable[..., Any]:
    def end(running: tr.Running, *exception: object) -> None:
        original(running, *exception)
        if _open.spans and _open.spans[-1][0] is running:
            _open.spans.pop()[1].__exit__(None, None, None)

    return end


def _span_of(trace: tr.Trace) -> AbstractContextManager[object] | None:
    """Return the span of a transformation, or of the recording of a user's function."""
    if isinstance(trace, JVPTrace | batching.BatchTrace):
        return annotation("transform", {"kind": trace.transformation})
    if isinstance(trace, staging.StagingTrace) and trace.fun is not None:
        return annotation("trace", {"program": getattr(trace.fun, "__name__", "f")})
    return None
