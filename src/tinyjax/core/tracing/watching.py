"""Hooks on the results and exceptions of transformed functions.

The names here are those of functions, not of modules: a pickler that writes a transformed function
of ``__main__`` by value may take this module's names along.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import _getframe
from typing import Any, ParamSpec, TypeVar

from tinyjax._base.frames import imitate
from tinyjax._base.lazy import hook
from tinyjax._base.tracebacks import fold
from tinyjax.config import settings

P = ParamSpec("P")
R = TypeVar("R")


def watched(call: Callable[P, R], named: Callable[..., Any] | None = None) -> Callable[P, R]:
    """Fold the tracebacks of a transformed function, and have its results checked on request.

    Args:
        call: the transformed function.
        named: the function whose name and signature it has; by default its own.
    """
    shown: Callable[..., Any] = call if named is None else named

    def watch(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            if not settings().debugging:
                return call(*args, **kwargs)
            watch_results: Callable[..., R] = hook("debugging").watch
            return watch_results(call, shown, args, kwargs)
        except (Exception, KeyboardInterrupt) as error:
            fold(error, _getframe())
            raise

    return imitate(watch, shown)
