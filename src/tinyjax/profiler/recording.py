"""Starting and stopping a profile, and spans of it that users name."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar

import attrs

from tinyjax import errors
from tinyjax._base import frames, tracebacks
from tinyjax.config import block
from tinyjax.profiler import xla
from tinyjax.profiler.run_log import RunLog

P = ParamSpec("P")
R = TypeVar("R")


@attrs.define
class ProfileOptions:
    """The options of recording besides the spans of tinyjax and XLA.

    Attributes:
        python_tracer_level: 1 for each call of a Python function, too, which makes what Python does
            take several times as long; 0, the default, for none.
        host_tracer_level: XLA's level of detail for the processor: 0 for nothing, 1 for the spans
            that you name and instructions of programs, 2, the default, for more, 3 for all.

    Example:
        >>> import tinyjax
        >>> options = tinyjax.profiler.ProfileOptions()
        >>> options.python_tracer_level = 1
    """

    python_tracer_level: int = 0
    host_tracer_level: int = 2


@attrs.frozen
class _Recording:
    session: Any
    folder: Path
    perfetto: bool
    notes: RunLog
    detach: Callable[[], None]


@attrs.frozen
class RecordedProfile:
    """A profile that was recorded in this process.

    Attributes:
        data: what XLA recorded.
        notes: the programs that ran.
    """

    data: bytes
    notes: RunLog


_lock: Final = Lock()
_recording: Final[list[_Recording]] = []
_recorded: Final[list[RecordedProfile]] = []


def start_trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> None:
    """Start to record a profile; ``stop_trace`` writes it.

    While a profile is recorded, a call of a jitted function takes some 10 us more.

    Args:
        log_dir: the folder to write to. The files are in ``plugins/profile/<time>`` in there, where
            TensorBoard looks for them.
        create_perfetto_link: False: no page is opened and no server is started.
        create_perfetto_trace: whether to write ``perfetto_trace.json.gz``, too.
        profiler_options: what to record; None for the defaults of ``ProfileOptions``.

    Raises:
        ArgumentError: a link is requested, or the options are not ``ProfileOptions``.
        ProfilerError: a profile is being recorded.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tinyjax.profiler.start_trace(folder)
        ...     _ = jnp.sin(jnp.ones(3))
        ...     tinyjax.profiler.stop_trace()
    """
    if create_perfetto_link:
        raise errors.ArgumentError(
            "create_perfetto_link: tinyjax opens no page. Open the file trace.json.gz at "
            "https://ui.perfetto.dev yourself."
        )
    options = ProfileOptions() if profiler_options is None else profiler_options
    if not isinstance(options, ProfileOptions):
        raise errors.ArgumentError(
            "profiler_options is a tinyjax.profiler.ProfileOptions, or None, but got "
            f"{errors.type_name(options)}."
        )
    folder = Path(log_dir)
    with _lock:
        if _recording:
            raise errors.ProfilerError(
                "a profile is being recorded, and there is one at a time. Call stop_trace first."
            )
        session = xla.start_profile(options.python_tracer_level, options.host_tracer_level)
        notes = RunLog()
        detach = xla.attach(notes)
        _recording.append(_Recording(session, folder, create_perfetto_trace, notes, detach))


def stop_trace() -> None:
    """Write the profile that ``start_trace`` began to record.

    Raises:
        ProfilerError: none is being recorded.

    Example:
        >>> import tinyjax
        >>> try:
        ...     tinyjax.profiler.stop_trace()
        ... except tinyjax.errors.ProfilerError as error:
        ...     print(str(error).partition(".")[0])
        no profile is being recorded
    """
    with _lock:
        if not _recording:
            raise errors.ProfilerError("no profile is being recorded. Call start_trace first.")
        recording = _recording.pop()
        recording.detach()
        data = recording.session.stop()
        _recorded[:] = [RecordedProfile(data, recording.notes)]
        recording.session.export(data, str(recording.folder))
    if recording.perfetto:
        traces = recording.folder.glob("plugins/profile/*/*.trace.json.gz")
        written = max(traces, key=lambda file: file.stat().st_mtime_ns)
        shutil.copyfile(written, written.with_name("perfetto_trace.json.gz"))


def last_recorded() -> RecordedProfile:
    """Return the last profile.

    Raises:
        ProfilerError: there is none, or one is being recorded.
    """
    if _recording:
        raise errors.ProfilerError("the profile is still being recorded. Call stop_trace first.")
    if not _recorded:
        raise errors.ProfilerError(
            "this process has recorded no profile. Run what is to be profiled within "
            "`with tinyjax.profiler.trace(folder):` first."
        )
    return _recorded[0]


@block
@contextmanager
def trace(
    log_dir: os.PathLike[str] | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: ProfileOptions | None = None,
) -> Iterator[None]:
    """Record a profile of a block, and write it.

    Args:
        log_dir: the folder to write to.
        create_perfetto_link: False, as in ``start_trace``.
        create_perfetto_trace: whether to write ``perfetto_trace.json.gz``, too.
        profiler_options: what to record, as in ``start_trace``.

    Raises:
        ArgumentError: as in ``start_trace``.
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


# Spans that users name


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
    shown = frames.describe_function(func) if name is None else name

    @partial(tracebacks.folded, named=func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated
