"""Functions of tinyjax, and those of NumPy that it has too: pulled through ``tinyjax.vjp``.

A function of NumPy or ``scipy.special`` keeps its own value. Its pullback is that of the function
of the same name in ``tinyjax.numpy``, and so of the rules of primitives; it is made when the
cotangent is there, in double precision, and gives NumPy arrays for NumPy arrays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, get_args

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import config, dtypes, errors, frames, tree
from tinyjax.core import api
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.source.adjoint import activity, cotangents as cts, equivalents
from tinyjax.source.adjoint.rules import containers, registry
from tinyjax.source.ir import origins

_OWN = f"{frames.PACKAGE_DIRECTORY}source"


def name_of(fun: Any) -> str:
    """What a function is called in a message."""
    module = getattr(fun, "__module__", None)
    name = getattr(fun, "__qualname__", None) or repr(fun)
    owner = getattr(fun, "__self__", None)
    if isinstance(fun, BuiltinFunctionType) and owner is not None and not inspect.ismodule(owner):
        return f"the method {name} of {type(owner).__module__}.{type(owner).__name__}"
    return f"{module}.{name}" if module and module != "builtins" else name


def is_library(fun: Any) -> bool:
    """Whether a function or a callable object is one of tinyjax, whose rules are known there."""
    if isinstance(fun, type) or inspect.ismodule(fun):
        return False
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
        return filename.startswith(frames.PACKAGE_DIRECTORY) and not filename.startswith(_OWN)
    module = type(fun).__module__
    return module.startswith("tinyjax.") and not module.startswith("tinyjax.source")


# Functions of tinyjax


_WORDS: Final = frozenset((int, float, bool, str, type(None)))


def _modes_of(fun: Any) -> frozenset[int | str]:
    """Which parameters, by position and by name, may be texts: they say which function is meant.

    A number in such a place, as the order of a norm, has no derivative, and is not an array.
    """
    return _found_modes(fun) if isinstance(fun, Hashable) else frozenset()


@functools.lru_cache(maxsize=1024)
def _found_modes(fun: Callable[..., Any]) -> frozenset[int | str]:
    try:
        parameters = inspect.signature(fun, eval_str=True).parameters.values()
    except (NameError, TypeError, ValueError):
        return frozenset()
    modes: set[int | str] = set()
    for i, parameter in enumerate(parameters):
        kinds = set(get_args(parameter.annotation))
        if str in kinds and kinds <= _WORDS:
            modes |= {i, parameter.name}
    return frozenset(modes)


def value_and_pullback(
    fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """A call's value, and a map from its cotangent to those of ``args`` and ``kwargs``."""
    modes = _modes_of(fun)
    given_args, given_kwargs = args, kwargs
    args = tuple([None if i in modes else arg for i, arg in enumerate(args)])
    kwargs = {name: None if name in modes else arg for name, arg in kwargs.items()}
    leaves, treedef = tree.flatten_arguments(args, kwargs)
    places = [i for i, leaf in enumerate(leaves) if cts.is_differentiable(leaf)]

    def filled(others: list[Any], values: tuple[Any, ...]) -> Any:
        merged = list(others)
        for place, leaf in zip(places, values, strict=True):
            merged[place] = leaf
        return tree.unflatten(treedef, merged)

    def call(*values: Any) -> Any:
        args, kwargs = filled(leaves, values)
        args = [given_args[i] if i in modes else arg for i, arg in enumerate(args)]
        kwargs = {name: given_kwargs[name] if name in modes else x for name, x in kwargs.items()}
        return fun(*args, **kwargs)

    value, back = api.vjp(call, *[leaves[place] for place in places])

    def pull_back(ct: Any) -> tuple[Any, ...]:
        cotangents: tuple[Any, ...] = filled([None] * len(leaves), back(_conforming(ct, value)))
        return cotangents

    return value, pull_back


@attrs.frozen
class LibraryTranspose:
    """The pullback of a function of tinyjax as a function of the cotangent and the arguments."""

    fun: Callable[..., Any]

    def __call__(self, ct: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return value_and_pullback(self.fun, args, kwargs)[1](ct)


@attrs.frozen(eq=False)
class LibraryPullback:
    """The pullback of a call of a function of tinyjax or NumPy.

    Attributes:
        transpose: the same as a function of the cotangent and the arguments.
        args: the arguments of the call.
        kwargs: those by keyword.
        back: what ``tinyjax.vjp`` has given; None where the pullback is made when it is called.
    """

    transpose: LibraryTranspose | OnHost
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    back: Callable[[Any], tuple[Any, ...]] | None = None

    def __call__(self, ct: Any) -> Any:
        if self.back is None:
            return self.in_order(self.transpose(ct, self.args, self.kwargs))
        return self.in_order(self.back(ct))

    def in_order(self, parts: Any) -> tuple[Any, ...]:
        """The cotangents of the function, the arguments, and those by keyword."""
        of_args, of_kwargs = parts
        return (None, *of_args, *[of_kwargs[name] for name in self.kwargs])


def _conforming(ct: Any, value: Any) -> Any:
    """A cotangent as ``tinyjax.vjp`` takes it: of the result's type."""
    if isinstance(value, Array):
        if not dtypes.is_inexact(value.dtype):
            return np.zeros(value.shape, dtypes.float0)
        if ct is None:
            return jnp.zeros_like(value)
        return jnp.broadcast_to(jnp.asarray(ct), value.shape).astype(value.dtype)
    if isinstance(value, dict):
        return {k: _conforming(None if ct is None else ct.get(k), v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if ct is None else ct
        items = [_conforming(c, v) for c, v in zip(parts, value, strict=True)]
        return cts.like_sequence(items, value)
    if value is None:
        return None
    raise origins.refusal(
        f"a function of tinyjax returned a {type(value).__name__}, whose derivative is not taken "
        "here. Let it return arrays in tuples, lists or dicts."
    )


def library_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of tinyjax.

    Raises:
        SourceError: a function among the arguments closes over variables, whose derivatives would
            be lost.
    """
    for leaf in tree.leaves((args, kwargs)):
        if isinstance(leaf, FunctionType) and activity.kind_of(leaf).active:
            raise origins.refusal(
                f"{name_of(fun)} was given the function {leaf.__qualname__}, which closes over "
                "variables: their derivatives would be lost. Use the transformation of the same "
                "name in tinyjax.source, or pass the values as arguments."
            )
    value, back = value_and_pullback(fun, args, kwargs)
    return value, LibraryPullback(LibraryTranspose(fun), args, kwargs, back)


def library_back_forward(back: LibraryPullback, ct: Any) -> Any:
    """Call the pullback of a function of tinyjax or NumPy."""
    forward = numpy_forward if isinstance(back.transpose, OnHost) else library_forward
    parts, inner = forward(back.transpose, ct, back.args, back.kwargs)
    return back.in_order(parts), LibraryBackPullback(inner, len(back.args), tuple(back.kwargs))


@attrs.frozen(eq=False)
class LibraryBackPullback:
    """The pullback of the pullback of a function of tinyjax or NumPy."""

    back: Any
    count: int
    names: tuple[str, ...]

    def __call__(self, ct: Any) -> Any:
        by_name = {name: ct[1 + self.count + i] for i, name in enumerate(self.names)}
        parts = self.back((ct[1 : 1 + self.count], by_name))
        return ({"args": parts[2], "kwargs": parts[3]}, parts[1])


# Functions of NumPy


@attrs.frozen
class OnHost:
    """A function of tinyjax in double precision, that gives NumPy arrays if it is given none."""

    fun: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            with config.default_dtypes("float64"):
                result = self.fun(*args, **kwargs)
        except errors.TinyjaxError as error:
            raise origins.refusal(error.message) from error
        operands = tree.leaves((args, kwargs))
        return result if any(isinstance(x, Array) for x in operands) else tree.map(_on_host, result)


def _on_host(x: Any) -> Any:
    return np.asarray(x)[()] if isinstance(x, ConcreteArray) else x


def numpy_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of NumPy that tinyjax has too, or the pullback of one.

    Raises:
        SourceError: the function of tinyjax does not take these arguments.
    """
    ours = fun.fun if isinstance(fun, OnHost) else equivalents.taking_lists(fun)
    if isinstance(ours, equivalents.TakingLists):
        try:
            ours.bind(args, kwargs)
        except TypeError:
            parameters = equivalents.signature_of(ours.fun).parameters.values()
            raise registry.unknown_arguments(fun, len(args), tuple(kwargs), parameters) from None
    value = fun(*args, **kwargs)
    return value, LibraryPullback(OnHost(LibraryTranspose(ours)), args, kwargs)


@registry.adjoint_of(library_forward, numpy_forward)
def _library_adjoint(ct: Any, pair: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    back = pair[1]
    count = 1 + len(args) + len(kwargs)
    parts = (None,) * count if ct[0] is None else back(ct[0])
    of_args, of_kwargs = containers.entry(ct[1], "args"), containers.entry(ct[1], "kwargs")
    more = [
        *([None for _ in args] if of_args is None else of_args),
        *[containers.entry(of_kwargs, name) for name in kwargs],
    ]
    return (None, *[cts.accumulate(a, b) for a, b in zip(parts[1:], more, strict=True)])
