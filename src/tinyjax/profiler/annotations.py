"""Spans that users name."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, TypeVar

from tinyjax import frames
from tinyjax.core import xla

P = ParamSpec("P")
R = TypeVar("R")


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

    @frames.wraps(func)
    def annotated(*args: P.args, **kwargs: P.kwargs) -> R:
        with TraceAnnotation(shown, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated
