"""Events that programs and tinyjax report, and functions that hear of them: JAX's ``monitoring``.

tinyjax reports how long it traces and compiles, in seconds, as
``"/jax/core/compile/jaxpr_trace_duration"`` and ``"/jax/core/compile/backend_compile_duration"``.
What it has compiled so far ``tinyjax.cache.info`` tells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tinyjax._base.lazy import answer_for
from tinyjax.core.xla.compilation import durations
from tinyjax.errors import ArgumentError, shortened

answer_for(
    __name__,
    "clear_event_listeners record_event record_event_duration_secs record_event_time_span "
    "record_scalar register_event_duration_secs_listener register_event_listener "
    "register_event_time_span_listener register_scalar_listener "
    "unregister_event_duration_listener unregister_event_listener "
    "unregister_event_time_span_listener unregister_scalar_listener",
)

_Listener = Callable[..., Any]
_events: Final[list[_Listener]] = []
_spans: Final[list[_Listener]] = []
_scalars: Final[list[_Listener]] = []


def record_event(event: str, **kwargs: str | int) -> None:
    """Report that something happened.

    Every listener is called at once, in this thread and in the order in which they were registered.
    The name is yours; tinyjax's own begin with "/jax/". Keyword arguments are passed on as tags.

    Example:
        >>> from tinyjax import monitoring
        >>> heard = []
        >>> monitoring.register_event_listener(lambda event, **also: heard.append((event, also)))
        >>> monitoring.record_event("/my/event", step=3)
        >>> heard
        [('/my/event', {'step': 3})]
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_events):
        listener(event, **kwargs)


def record_event_duration_secs(event: str, duration: float, **kwargs: str | int) -> None:
    """Report how long something took, in seconds.

    Every listener of durations is called at once. tinyjax itself reports how long it traces and
    compiles. Keyword arguments are passed on as tags.

    Example:
        >>> from tinyjax import monitoring
        >>> monitoring.register_event_duration_secs_listener(lambda *args, **tags: print(*args))
        >>> monitoring.record_event_duration_secs("/my/step", 0.5)
        /my/step 0.5
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(durations):
        listener(event, duration, **kwargs)


def record_event_time_span(
    event: str, start_time: float, end_time: float, **kwargs: str | int
) -> None:
    """Report when something began and ended.

    Both are in seconds, of whatever clock you took. Every listener of time spans is called at once.

    Example:
        >>> from tinyjax import monitoring
        >>> monitoring.register_event_time_span_listener(lambda *args, **tags: print(*args))
        >>> monitoring.record_event_time_span("/my/step", 10.0, 12.5)
        /my/step 10.0 12.5
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_spans):
        listener(event, start_time, end_time, **kwargs)


def record_scalar(event: str, value: float | int, **kwargs: str | int) -> None:
    """Report a number.

    Every listener of numbers is called at once. Keyword arguments are passed on as tags.

    Example:
        >>> from tinyjax import monitoring
        >>> monitoring.register_scalar_listener(lambda *args, **tags: print(*args, tags))
        >>> monitoring.record_scalar("/my/loss", 0.5, epoch=3)
        /my/loss 0.5 {'epoch': 3}
        >>> monitoring.clear_event_listeners()
    """
    for listener in tuple(_scalars):
        listener(event, value, **kwargs)


def register_event_listener(callback: _Listener) -> None:
    """Call a function of every ``record_event``, with the same arguments.

    A function that is registered twice is called twice, and an exception that it raises reaches who
    reports. It is called until ``unregister_event_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> monitoring.register_event_listener(lambda event, **tags: print(event, tags))
        >>> monitoring.record_event("/my/event", step=3)
        /my/event {'step': 3}
        >>> monitoring.clear_event_listeners()
    """
    _events.append(callback)


def register_event_duration_secs_listener(callback: _Listener) -> None:
    """Call a function of every ``record_event_duration_secs``, with the same arguments.

    It is called with the name, the seconds, and tags by keyword, until
    ``unregister_event_duration_listener``.

    Example:
        >>> import tinyjax
        >>> from tinyjax import monitoring
        >>> seen = set()
        >>> monitoring.register_event_duration_secs_listener(lambda event, s, **_: seen.add(event))
        >>> _ = tinyjax.jit(lambda x: x * 3.25 + 1.75, tier="compiled")(2.0)
        >>> monitoring.clear_event_listeners()
        >>> sorted(name.rpartition("/")[2] for name in seen)
        ['backend_compile_duration', 'jaxpr_trace_duration']
    """
    durations.append(callback)


def register_event_time_span_listener(callback: _Listener) -> None:
    """Call a function of every ``record_event_time_span``, with the same arguments.

    It is called with the name, the beginning, the end, and tags by keyword, until
    ``unregister_event_time_span_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> spans = []
        >>> monitoring.register_event_time_span_listener(lambda *span, **_: spans.append(span))
        >>> monitoring.record_event_time_span("/my/step", 10.0, 12.5)
        >>> spans
        [('/my/step', 10.0, 12.5)]
        >>> monitoring.clear_event_listeners()
    """
    _spans.append(callback)


def register_scalar_listener(callback: _Listener) -> None:
    """Call a function of every ``record_scalar``, with the same arguments.

    It is called with the name, the number, and tags by keyword, until
    ``unregister_scalar_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> values = []
        >>> monitoring.register_scalar_listener(lambda event, value, **_: values.append(value))
        >>> monitoring.record_scalar("/my/loss", 0.5)
        >>> values
        [0.5]
        >>> monitoring.clear_event_listeners()
    """
    _scalars.append(callback)


def clear_event_listeners() -> None:
    """Forget all functions that hear of events, durations, time spans or numbers.

    Those of other libraries in the process are among them.

    Example:
        >>> from tinyjax import monitoring
        >>> monitoring.register_event_listener(lambda event, **_: print(event))
        >>> monitoring.clear_event_listeners()
        >>> monitoring.record_event("/my/event")
    """
    for listeners in (_events, durations, _spans, _scalars):
        listeners.clear()


def _unregister(listeners: list[_Listener], callback: _Listener) -> None:
    listener: object = callback
    if not callable(listener) or callback not in listeners:
        raise ArgumentError(f"{shortened(callback)} hears of no events: register it first.")
    listeners.remove(callback)


def unregister_event_listener(callback: _Listener) -> None:
    """Forget a function that hears of events.

    Others go on hearing; ``clear_event_listeners`` forgets all.

    Raises:
        ArgumentError: it was not registered.

    Example:
        >>> import tinyjax
        >>> from tinyjax import monitoring
        >>> def listener(event, **tags):
        ...     print(event)
        >>> monitoring.register_event_listener(listener)
        >>> monitoring.unregister_event_listener(listener)
        >>> monitoring.record_event("/my/event")
        >>> try:
        ...     monitoring.unregister_event_listener(listener)
        ... except tinyjax.errors.ArgumentError:
        ...     print("it is not registered")
        it is not registered
    """
    _unregister(_events, callback)


def unregister_event_duration_listener(callback: _Listener) -> None:
    """Forget a function that hears of durations; see ``unregister_event_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> def listener(event, secs, **tags):
        ...     print(event)
        >>> monitoring.register_event_duration_secs_listener(listener)
        >>> monitoring.unregister_event_duration_listener(listener)
        >>> monitoring.record_event_duration_secs("/my/step", 0.5)
    """
    _unregister(durations, callback)


def unregister_event_time_span_listener(callback: _Listener) -> None:
    """Forget a function that hears of time spans; see ``unregister_event_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> def listener(event, start, end, **tags):
        ...     print(event)
        >>> monitoring.register_event_time_span_listener(listener)
        >>> monitoring.unregister_event_time_span_listener(listener)
        >>> monitoring.record_event_time_span("/my/step", 10.0, 12.5)
    """
    _unregister(_spans, callback)


def unregister_scalar_listener(callback: _Listener) -> None:
    """Forget a function that hears of numbers; see ``unregister_event_listener``.

    Example:
        >>> from tinyjax import monitoring
        >>> def listener(event, value, **tags):
        ...     print(event)
        >>> monitoring.register_scalar_listener(listener)
        >>> monitoring.unregister_scalar_listener(listener)
        >>> monitoring.record_scalar("/my/loss", 0.5)
    """
    _unregister(_scalars, callback)
