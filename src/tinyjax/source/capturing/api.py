"""The public functions of capture."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, ParamSpec, TypeVar

from tinyjax import config, errors, tree
from tinyjax._base import tracebacks
from tinyjax._base.collecting import FEWER_FULL_COLLECTIONS
from tinyjax._base.frames import imitate
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array
from tinyjax.errors import TinyjaxError
from tinyjax.source.capturing import (
    calls,
    checks,
    functions,
    generators,
    libraries,
    masked,
    methods,
    ndarrays,
    operations,
    raising,
    runs,
    stores,
    subclasses,
)

P = ParamSpec("P")
R = TypeVar("R")

#: Modules of handlers: loaded here, and so registered.
_HANDLERS: Final = (operations, functions, generators, libraries, masked, subclasses, methods)


class CapturedFunction(Generic[P, R]):
    """The result of ``capture``."""

    def __init__(self, fun: Callable[P, R], check: bool = False) -> None:
        self.fun: Callable[P, R] = fun
        self.check = check
        imitate(self, fun)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        leaves, structure = tree.flatten_arguments(args, kwargs)
        if runs.current.get() is not None:
            nested: R = _captured(self.fun, leaves, structure)
            return nested
        if tr.current_trace() is tr.EVAL and not any(isinstance(x, Array) for x in leaves):
            return self.fun(*args, **kwargs)
        if self.check:
            checks.check_derivative(self.fun, CapturedFunction(self.fun), args, kwargs)
        run = runs.Run()
        token = runs.current.set(run)
        try:
            with config.Mixed(), FEWER_FULL_COLLECTIONS:
                result: R = _captured(self.fun, leaves, structure)
        except Exception as error:
            stores.close(run)
            tracebacks.shorten(error, sys._getframe())
            if run.refusals and not isinstance(error, TinyjaxError):
                raise run.refusals[0] from error
            if isinstance(error, TypeError) and "Captured" in str(error):
                raise runs.of_type_error(error) from error
            raise
        finally:
            runs.current.reset(token)
            raising.end_to_see(run)
        stores.close(run)
        if run.refusals:
            raise run.refusals[0]
        return result


def _captured(fun: Any, leaves: Sequence[Any], structure: tree.PyTreeDef) -> Any:
    args, kwargs = tree.unflatten_arguments(structure, [_as_argument(x) for x in leaves])
    result = calls.call(fun, *args, **kwargs)
    if type(result) in ndarrays.DATA or ndarrays.is_captured(result):
        return ndarrays.unwrap(result)
    return tree.map(ndarrays.unwrap, result, is_leaf=ndarrays.is_captured)


def _as_argument(x: Any) -> Any:
    """Return an argument as the program sees it: Python's numbers have 64 bits."""
    if isinstance(x, tr.Tracer) and x.weak_type and not x.shape:
        return ndarrays.number(ndarrays.wrap(x))
    run = runs.current.get()
    if run is not None and isinstance(x, tr.Tracer) and x.dtype == bool and not x.shape:
        run.flags.append(x)
    return ndarrays.wrap(x)


def capture(fun: Callable[P, R], *, check: bool = False) -> CapturedFunction[P, R]:
    """Return a function that runs as Python runs it, on traced arrays.

    All that it calls is captured: functions with a Python source are called in a rewritten form, in
    which calls and operations are dispatch points. To the program a traced array is an array of
    NumPy's.

    Args:
        fun: a Python function of arrays.
        check: whether to compare, at each call with data, the value with that of ``fun``, and one
            directional derivative with differences. ``fun`` is called seven times more.

    Returns:
        A function of the same arguments, to which ``grad``, ``jit``, ``vmap`` and all other
        transformations apply.

    Raises:
        CaptureError: when called, if a traced value gets to code that takes only data; or if
            ``check`` finds a difference.

    Example:
        >>> import math
        >>> import numpy as np
        >>> import tinyjax
        >>> from tinyjax import source
        >>> def running(x):
        ...     total = np.zeros(3)
        ...     for i in range(1, 3):
        ...         total[i] = total[i - 1] + math.sin(x[i])
        ...     return total[2]
        >>> tinyjax.grad(source.capture(running))(np.array([0.0, 0.0, 1.0]))
        Array([0.        , 1.        , 0.54030231], dtype=float64)
    """
    errors.check_function("capture", fun)
    return CapturedFunction(fun, check)
