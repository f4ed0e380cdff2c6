"""Results of SciPy's functions whose counterparts computed them, or a part of them.

Where a program asks for what a counterpart does not know, such as the steps of a solver, SciPy's
own Python source is run for it.
"""

from __future__ import annotations

import functools
import importlib
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax._base import frames
from tinyjax.errors import CaptureError
from tinyjax.source.capturing import calls, ndarrays, rewriting, runs
from tinyjax.source.ir import runtime

_Source = Callable[[], Any]

#: Fields of ours that say how a search went, which another one goes differently.
_OF_SEARCH: Final = frozenset({"nfev", "nhev", "nit", "njev", "nsteps"})
#: Modules whose results are dictionaries with attributes.
_OF_DICTIONARIES: Final = ("scipy.optimize", "scipy.integrate")
#: The classes that are made by their source now.
made_by_source: Final[list[Any]] = []


def completed(g: Any, args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> Any:
    """Return a result of a counterpart with all that the result of SciPy's function has.

    Args:
        g: a function, or a class, of SciPy's.
        args: its arguments by place.
        kwargs: its arguments by name.
        result: what its counterpart returned, as the program sees it.
    """
    if not runtime.module_of_class(type(result)).startswith("tinyjax.scipy"):
        return result
    args, kwargs = ndarrays.mapped(_copied, tuple(args)), ndarrays.mapped(_copied, kwargs)
    fields: dict[str, Any] = getattr(result, "_asdict", dict)()
    source = functools.cache(functools.partial(_by_source, g, args, kwargs, fields))
    if not isinstance(result, tuple):
        calls.sources[id(result)] = source
        weakref.finalize(result, calls.sources.pop, id(result), None)
        return result
    if not fields:
        return result
    if not (g.__module__ or "").startswith(_OF_DICTIONARIES):
        made = _with_more(type(result))._make(result)
        made._source = source
        return made
    fields = {name: x for name, x in fields.items() if name not in _OF_SEARCH}
    if g.__name__ == "solve_ivp":
        fields |= _solution(fields, source, kwargs)
    return _dictionary()(source, fields)


def _copied(x: Any) -> Any:
    """Return a copy of an array, which the program may change before the source is run."""
    return x.copy() if ndarrays.is_array(x) or type(x) is np.ndarray else x


def _by_source(g: Any, args: Sequence[Any], kwargs: dict[str, Any], fields: dict[str, Any]) -> Any:
    """Return what SciPy's own Python source of a function or a class gives.

    Raises:
        CaptureError: there is none, or it gives another result by now.
    """
    if isinstance(g, type):
        made_by_source.append(g)
        try:
            return calls.construct(g, args, kwargs)
        finally:
            made_by_source.remove(g)
    fun = rewriting.rewritten(g) if type(g) is FunctionType else None
    if fun is None:
        raise runs.refusal(f"the whole result of {g.__name__}")
    whole = fun(*args, **kwargs)
    name = "y" if "y" in fields else next(iter(fields))
    ours, theirs = (_last(x) for x in (fields[name], getattr(whole, name)))
    if ndarrays.UNKNOWN in (ours, theirs) or not np.allclose(ours, theirs, 1e-3, 1e-5):
        raise runs.note_refusal(
            CaptureError(
                f"{g.__name__} is called again for what is read of its result, and what its "
                "functions read has changed since, or is not known. Read it right behind the call."
            ).at(frames.user_location())
        )
    return whole


def _last(x: Any) -> Any:
    """Return the data of the last elements of an array, as of the last step."""
    data = ndarrays.known_data(x, runs.example)
    return data if data is ndarrays.UNKNOWN else np.atleast_1d(data)[..., -1:].sum()


# Named tuples


class _More:
    """Gives a result the attributes of SciPy's, too."""

    _source: _Source

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return calls.attribute(self._source(), name)


@functools.cache
def _with_more(cls: Any) -> Any:
    return type(cls.__name__, (_More, cls), {})


# Dictionaries with attributes


class _Dictionary(dict[Any, Any]):
    """A result of SciPy's solvers, of which some items are not known yet."""

    def __init__(self, source: _Source, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        object.__setattr__(self, "_captured_source", source)

    _captured_source: _Source

    def __missing__(self, name: Any) -> Any:
        return calls.item(self._captured_source(), name)

    def _whole(self) -> dict[Any, Any]:
        return {**self._captured_source(), **dict(super().items())}

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._captured_source()

    def get(self, name: Any, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def __iter__(self) -> Iterator[Any]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def keys(self) -> Any:
        return self._whole().keys()

    def values(self) -> Any:
        return self._whole().values()

    def items(self) -> Any:
        return self._whole().items()


@functools.cache
def _dictionary() -> Any:
    base = importlib.import_module("scipy.optimize").OptimizeResult
    return type(base.__name__, (_Dictionary, base), {})


# Solutions of differential equations


def _solution(fields: dict[str, Any], source: _Source, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return what is of another form in a solution of SciPy's: steps, events, interpolation."""
    made: dict[str, Any] = {}
    if kwargs.get("t_eval") is None:
        for name in ("t", "y"):
            made[name] = SolverSteps(fields[name], functools.partial(_item_of, source, name))
    for name in ("t_events", "y_events"):
        if fields[name] is not None:
            made[name] = [*map(_occurred, fields["t_events"], fields[name])]
    if fields["sol"] is not None:
        made["sol"] = Interpolation(fields["sol"], functools.partial(_item_of, source, "sol"))
    return made


def _item_of(source: _Source, name: str) -> Any:
    return source()[name]


def _occurred(times: Any, values: Any) -> Any:
    """Return what has occurred of an event, whose times end with NaN."""
    count = int(ndarrays.decided(np.sum(~np.isnan(times)), "how often an event occurs"))
    if count == len(times):
        raise runs.refusal("more occurrences of an event than are counted")
    return values[:count]


class Interpolation(_More):
    """Evaluates the solution of a solver between its steps."""

    def __init__(self, fun: Callable[..., Any], source: _Source) -> None:
        self._fun = fun
        self._source = source

    def __call__(self, t: Any) -> Any:
        return calls.call(self._fun, t)


class SolverSteps(ndarrays.CapturedArray):
    """An array over the steps of a solver, of which a counterpart knows the first and the last.

    The other ones are taken from SciPy's source when something asks for them.

    Args:
        ends: the array of the first step and the last, along its last axis.
        source: returns the array of all steps.
    """

    __slots__ = ("_captured_ends", "_captured_source")

    def __init__(self, ends: Any, source: _Source) -> None:
        self._captured_ends = ends
        self._captured_source = source

    def __getattr__(self, name: str) -> Any:
        if name not in ndarrays.CapturedArray.__slots__:
            raise AttributeError(name)
        whole = self._captured_source()
        array = whole if ndarrays.is_captured(whole) else ndarrays.array_of(whole)
        for slot in ndarrays.CapturedArray.__slots__:
            setattr(self, slot, getattr(array, slot))
        return getattr(self, name)

    def __getitem__(self, key: Any) -> Any:
        ends, keys = self._captured_ends, key if type(key) is tuple else (key,)
        rows, place = keys[:-1], keys[-1]
        is_end = type(place) is int and place in {0, -1}
        if is_end and (rows == (Ellipsis,) or len(keys) == ends.ndim):
            return ends[key]
        if type(key) is int and ends.ndim > 1:
            return SolverSteps(ends[key], lambda: self._captured_source()[key])
        return super().__getitem__(key)
