"""Functions of ``functools.lru_cache``, which are called whenever an argument is traced.

A cache would lose the derivative where two arguments are equal. The function gives what the cache
has, as long as nothing that it reads or writes, and nothing that it has returned, changes. So the
states of these are compared, written as bytes.
"""

from __future__ import annotations

import functools
import gc
import io
import operator
import pickle
import sys
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax._base import frames
from tinyjax.core.tracing.trace import Tracer
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import ndarrays, rewriting, runs
from tinyjax.source.ir import runtime

CACHED: Final = type(functools.lru_cache(len))
#: What never changes.
_ATOMS: Final = (int, float, complex, str, bytes, type(None), np.generic, ndarrays.CapturedScalar)


def call(call_function: Callable[..., Any], g: Any, args: Any, kwargs: Any) -> Any:
    """Call a cached function with traced arguments, as ``call_function`` calls others.

    Raises:
        CaptureError: the cache may have something else than the function returns.
    """
    run = runs.current.get()
    if run is None:
        return call_function(g.__wrapped__, *args, **kwargs)
    for value, state in run.caches.get(id(g), {}).values():
        if state is None or _state_of(value) != state:
            raise _refusal(
                g,
                "gives what an earlier call has computed, and what it reads, changes or returns "
                "has changed since, or is not known to capture",
            )
    before = [(x, _state_of(x)) for x in (g.__wrapped__, *_changing((args, kwargs)))]
    result = call_function(g.__wrapped__, *args, **kwargs)
    states = run.caches.setdefault(id(g), {})
    for value, state in (*before, *((x, _state_of(x)) for x in _changing(result))):
        states.setdefault(id(value), (value, state))
    return result


def check_method(g: Any, name: str) -> None:
    """Check that a method of a cached function does not ask for results of traced arguments.

    Raises:
        CaptureError: it does.
    """
    run = runs.current.get()
    if run is None or id(g) not in run.caches:
        return
    if name != "cache_clear":
        raise _refusal(g, "counts calls, which capture makes whatever the cache has")
    del run.caches[id(g)]


def _refusal(g: Any, what: str) -> CaptureError:
    name = getattr(g, "__name__", "a function")
    error = CaptureError(f"{name}(), of functools.lru_cache, {what}. Compute without the cache.")
    return runs.note_refusal(error.at(frames.user_location()))


def _changing(x: Any) -> Iterator[Any]:
    """Yield those parts of a value that may change."""
    if isinstance(x, (tuple, frozenset)):
        for item in x:
            yield from _changing(item)
    elif not isinstance(x, _ATOMS):
        yield x


def _state_of(x: Any) -> bytes | None:
    """Return all that a value reaches, as bytes; None where something is not known."""
    buffer = io.BytesIO()
    try:
        _StateWriter(buffer, pickle.HIGHEST_PROTOCOL).dump(x)
    except Exception:  # of a method of any class
        return None
    return buffer.getvalue()


class _StateWriter(pickle.Pickler):
    """Writes functions, with what they read, classes, and values under capture, too."""

    def __init__(self, buffer: io.BytesIO, protocol: int) -> None:
        super().__init__(buffer, protocol)
        self._seen: set[int] = set()

    def persistent_id(self, x: Any) -> Any:
        """Return what is written in place of a value, or None."""
        if ndarrays.is_array(x):
            memory = x._captured_memory.root
            return id(x), memory.version, None if memory.is_traced else x._captured_view
        if ndarrays.is_captured(x) or isinstance(x, Tracer):
            return id(x)
        if isinstance(x, np.ufunc):
            return id(x), gc.get_referents(x)  # the function of Python's that frompyfunc was given
        if type(x).__name__ == "fortran":
            return id(x)
        if isinstance(x, CellType):
            return (x.cell_contents,)
        if isinstance(x, MethodType):
            return x.__func__, x.__self__
        is_code = isinstance(x, (FunctionType, type, ModuleType, CACHED))
        if not is_code and not isinstance(getattr(x, "__self__", None), ModuleType):
            return None
        if id(x) in self._seen:
            return id(x)
        self._seen.add(id(x))
        return id(x), _parts_of(x)


def _parts_of(x: Any) -> Any:
    """Return what a function of the program reads, and what a class of it has."""
    if isinstance(x, CACHED):
        return x.__wrapped__
    if isinstance(x, type):
        return None if _is_of_library(x) else {k: v for k, v in vars(x).items() if _is_state(k, v)}
    if type(x) is not FunctionType or not rewriting.is_captured_function(x):
        return None
    read: list[Any] = []
    names = [*_names_in(rewriting.original(x.__code__))]
    spaces = [x.__globals__]
    for space in spaces:
        values = [space[name] for name in names if name in space]
        read.append(values)
        inner = [vars(value) for value in values if isinstance(value, ModuleType)]
        spaces += [each for each in inner if not any(each is known for known in spaces)]
    return read, x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__


def _is_of_library(kind: type) -> bool:
    """Return whether a class is one that a library defines, not one that it made for a program."""
    module = runtime.module_of_class(kind)
    try:
        named = operator.attrgetter(kind.__qualname__)(sys.modules.get(module))
    except AttributeError:
        return False
    return named is kind and module.partition(".")[0] in rewriting.AS_THEY_ARE


def _is_state(name: str, x: Any) -> bool:
    """Return whether a program may change an attribute of a class."""
    is_own = name == "_abc_impl" or (name.startswith("__") and name.endswith("__"))
    return type(x) is FunctionType or not (is_own or hasattr(type(x), "__get__"))


def _names_in(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in code and the functions in it."""
    yield from code.co_names
    for inner in rewriting.inner(code):
        yield from _names_in(inner)
