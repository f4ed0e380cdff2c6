"""Profiles of programs, recorded by XLA: JAX's ``profiler``.

A profile has spans of the compiler, of compiled programs and of what runs in them, on each thread,
and the spans that you name. It is written as ``*.xplane.pb``, which XProf and TensorBoard show, and
as ``*.trace.json.gz``, which https://ui.perfetto.dev and Chrome's ``about:tracing`` open.

Eager operations are NumPy's, which any profiler of Python sees; what a program costs line by line,
``tinyjax.explore`` tells.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

import attrs

from tinyjax import xla
from tinyjax.errors import ArgumentError, ProfilerError
from tinyjax.frames import describe_function

__all__ = [
    "StepTraceAnnotation",
    "TraceAnnotation",
    "annotate_function",
    "start_trace",
    "stop_trace",
    "trace",
]

P = ParamSpec("P")
R = TypeVar("R")


@attrs.frozen
class _Recording:
    session: Any
    folder: Path
    perfetto: bool


_lock: Final = Lock()
_recording: Final[list[_Recording]] = []


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: None = None,
) -> None:
    """Start to record a profile; ``stop_trace`` writes it.

    Args:
        log_dir: the folder to write to. The files are in ``plugins/profile/<time>`` in there, where
            TensorBoard looks for them.
        create_perfetto_link: False: no page is opened and no server is started.
        create_perfetto_trace: whether to write ``perfetto_trace.json.gz``, too.
        profiler_options: None.

    Raises:
        ArgumentError: a link or options are asked for.
        ProfilerError: a profile is being recorded.
    """
    if create_perfetto_link:
        raise ArgumentError(
            "create_perfetto_link: tinyjax opens no page. Open the file trace.json.gz at "
            "https://ui.perfetto.dev yourself."
        )
    if profiler_options is not None:
        raise ArgumentError("profiler_options: there are none in tinyjax; leave it out.")
    folder = Path(log_dir)
    with _lock:
        if _recording:
            raise ProfilerError(
                "a profile is being recorded, and there is one at a time. Call stop_trace first."
            )
        _recording.append(_Recording(xla.start_profile(), folder, create_perfetto_trace))


def stop_trace() -> None:
    """Write the profile that ``start_trace`` began to record.

    Raises:
        ProfilerError: none is being recorded.
    """
    with _lock:
        if not _recording:
            raise ProfilerError("no profile is being recorded. Call start_trace first.")
        found = _recording.pop()
        found.session.stop_and_export(str(found.folder))
    if found.perfetto:
        written = max(found.folder.glob("plugins/profile/*/*.trace.json.gz"), key=_time)
        shutil.copyfile(written, written.with_name("perfetto_trace.json.gz"))


def _time(file: Path) -> int:
    return file.stat().st_mtime_ns


@contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: None = None,
) -> Iterator[None]:
    """Record a profile of a block, and write it.

    Args:
        log_dir: the folder to write to.
        create_perfetto_link: False, as in ``start_trace``.
        create_perfetto_trace: whether to write ``perfetto_trace.json.gz``, too.
        profiler_options: None.

    Raises:
        ArgumentError: a link or options are asked for.
        ProfilerError: a profile is being recorded.

    Example:
        >>> import tempfile, tinyjax, tinyjax.numpy as jnp
        >>> from pathlib import Path
        >>> folder = tempfile.TemporaryDirectory()
        >>> with tinyjax.profiler.trace(folder.name):
        ...     with tinyjax.profiler.TraceAnnotation("the first call"):
        ...         y = tinyjax.jit(jnp.sin)(jnp.ones(3)).block_until_ready()
        >>> sorted(file.name.split(".", 1)[1] for file in Path(folder.name).rglob("*.*"))
        ['trace.json.gz', 'xplane.pb']
        >>> folder.cleanup()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


class TraceAnnotation:
    """A block that is a span of the profile, under a name; without a profile it costs 1 us.

    Example:
        >>> import tinyjax
        >>> with tinyjax.profiler.TraceAnnotation("reading", file="a.txt"):
        ...     pass
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        """Name a block.

        Args:
            name: the name.
            **kwargs: what else to show with it.
        """
        self._span = xla.annotation(name, kwargs)

    def __enter__(self) -> TraceAnnotation:
        self._span.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._span.__exit__(kind, error, traceback)


class StepTraceAnnotation(TraceAnnotation):
    """A block that is a step of training; ``step_num`` says which.

    Example:
        >>> import tinyjax
        >>> for step in range(3):
        ...     with tinyjax.profiler.StepTraceAnnotation("train", step_num=step):
        ...         pass
    """

    def __init__(self, name: str, **kwargs: object) -> None:
        """Name a step.

        Args:
            name: the name of all steps.
            **kwargs: ``step_num``, the number of the step, and what else to show with it.
        """
        super().__init__(name, _r=1, **kwargs)  # by this the viewers know a step


def annotate_function(
    func: Callable[P, R], name: str | None = None, **decorator_kwargs: object
) -> Callable[P, R]:
    """Make a function whose calls are spans of the profile.

    Args:
        func: the function.
        name: the name of the spans; the function's own by default.
        **decorator_kwargs: what else to show with them.

    Example:
        >>> import tinyjax
        >>> @tinyjax.profiler.annotate_function
        ... def read():
        ...     return 1
        >>> read()
        1
    """
    shown = describe_function(func) if name is None else name

    @wraps(func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated
