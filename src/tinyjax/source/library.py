"""Functions of tinyjax: they are pulled through ``tinyjax.vjp``, by their primitives' rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import tree
from tinyjax.api import vjp
from tinyjax.core.array import Array
from tinyjax.dtypes import float0, is_inexact
from tinyjax.frames import PACKAGE_DIRECTORY
from tinyjax.source.cotangents import accumulate, is_differentiable
from tinyjax.source.kinds import kind_of
from tinyjax.source.origins import refusal
from tinyjax.source.rules import adjoint_of, inert

_OWN = f"{PACKAGE_DIRECTORY}source"


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
    if isinstance(fun, FunctionType):
        filename = fun.__code__.co_filename
    elif isinstance(fun, type) or inspect.ismodule(fun):
        return False
    else:
        return type(fun).__module__.startswith("tinyjax.") and not type(fun).__module__.startswith(
            "tinyjax.source"
        )
    return filename.startswith(PACKAGE_DIRECTORY) and not filename.startswith(_OWN)


@attrs.frozen(eq=False)
class LibraryCall:
    """A function of tinyjax, applied to the leaves of its arguments that have derivatives."""

    fun: Callable[..., Any]
    treedef: tree.PyTreeDef
    places: tuple[int, ...]
    leaves: tuple[Any, ...]

    def arguments(self, leaves: Sequence[Any]) -> Any:
        """The arguments with other leaves."""
        found = list(self.leaves)
        for place, leaf in zip(self.places, leaves, strict=True):
            found[place] = leaf
        return tree.unflatten(self.treedef, found)

    def cotangents(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The cotangents of the arguments from those of the leaves."""
        found: list[Any] = [None] * len(self.leaves)
        for place, leaf in zip(self.places, leaves, strict=True):
            found[place] = leaf
        args, kwargs = tree.unflatten(self.treedef, found)
        return (*args, *kwargs.values())

    def __call__(self, *leaves: Any) -> Any:
        args, kwargs = self.arguments(leaves)
        return self.fun(*args, **kwargs)


@attrs.frozen(eq=False)
class LibraryTranspose:
    """The pullback of a function of tinyjax as a function of the point and the cotangent."""

    call: LibraryCall

    def __call__(self, leaves: tuple[Any, ...], ct: Any) -> Any:
        value, back = vjp(self.call, *leaves)
        return self.call.cotangents(back(_conforming(ct, value)))


@attrs.frozen(eq=False)
class LibraryPullback:
    """The pullback of a function of tinyjax.

    Attributes:
        call: the function and its arguments.
        leaves: those arguments' leaves that have derivatives.
        value: the result.
        back: what ``tinyjax.vjp`` has given.
    """

    call: LibraryCall
    leaves: tuple[Any, ...]
    value: Any
    back: Callable[[Any], tuple[Any, ...]]

    @property
    def transpose(self) -> LibraryTranspose:
        """The same as a function of tinyjax."""
        return LibraryTranspose(self.call)

    def __call__(self, ct: Any) -> Any:
        return (None, *self.call.cotangents(self.back(_conforming(ct, self.value))))


def _conforming(ct: Any, value: Any) -> Any:
    """A cotangent as ``tinyjax.vjp`` takes it: of the result's type."""
    if isinstance(value, Array):
        if not is_inexact(value.dtype):
            return np.zeros(value.shape, float0)
        if ct is None:
            return jnp.zeros_like(value)
        return jnp.broadcast_to(jnp.asarray(ct), value.shape).astype(value.dtype)
    if isinstance(value, dict):
        return {k: _conforming(None if ct is None else ct.get(k), v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [None] * len(value) if ct is None else ct
        items = [_conforming(c, v) for c, v in zip(parts, value, strict=True)]
        if isinstance(value, tuple) and type(value) is not tuple:
            return type(value)(*items)
        return type(value)(items)
    if value is None:
        return None
    raise refusal(
        f"a function of tinyjax returned a {type(value).__name__}, whose derivative is not taken "
        "here. Let it return arrays in tuples, lists or dicts."
    )


def library_forward(fun: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """Call a function of tinyjax.

    Raises:
        SourceError: a function among the arguments closes over variables, whose derivatives would
            be lost.
    """
    leaves, treedef = tree.flatten_arguments(args, kwargs)
    for leaf in leaves:
        if isinstance(leaf, FunctionType) and kind_of(leaf).active:
            raise refusal(
                f"{name_of(fun)} was given the function {leaf.__qualname__}, which closes over "
                "variables: their derivatives would be lost. Use the transformation of the same "
                "name in tinyjax.source, or pass the values as arguments."
            )
    places = tuple([i for i, leaf in enumerate(leaves) if is_differentiable(leaf)])
    call = LibraryCall(fun, treedef, places, tuple(leaves))
    given = tuple([leaves[place] for place in places])
    value, back = vjp(call, *given)
    return value, LibraryPullback(call, given, value, back)


@adjoint_of(library_forward)
def _library_adjoint(ct: Any, pair: Any, fun: Any, *args: Any, **kwargs: Any) -> Any:
    back = pair[1]
    count = 1 + len(args) + len(kwargs)
    parts = (None,) * count if ct[0] is None else back(ct[0])
    if ct[1] is None:
        return parts
    more = library_parts(back, ct[1]["leaves"])
    return (None, *[accumulate(a, b) for a, b in zip(parts[1:], more, strict=True)])


def library_parts(back: LibraryPullback, leaves: Any) -> tuple[Any, ...]:
    """The cotangents of the arguments from those of the leaves that a pullback keeps."""
    return back.call.cotangents(leaves)


@adjoint_of(library_parts)
def _library_parts_adjoint(ct: Any, y: Any, back: Any, leaves: Any) -> Any:
    return None, library_leaves(back, ct)


def library_leaves(back: LibraryPullback, parts: tuple[Any, ...]) -> tuple[Any, ...]:
    """The leaves of the cotangents of arguments; the other way around."""
    names = list(back.call.arguments(back.leaves)[1])
    count = len(parts) - len(names)
    flat = back.call.treedef.flatten_up_to(
        (tuple(parts[:count]), dict(zip(names, parts[count:], strict=True))), "cotangents"
    )
    return tuple([flat[place] for place in back.call.places])


@adjoint_of(library_leaves)
def _library_leaves_adjoint(ct: Any, y: Any, back: Any, parts: Any) -> Any:
    return None, library_parts(back, ct)


def array_forward(fun: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an array of tinyjax."""
    y, back = library_forward(ArrayMethod(fun.__name__), fun.__self__, *args, **kwargs)
    return y, ArrayMethodPullback(back)


def library_back_forward(back: Any, ct: Any) -> Any:
    """Call the pullback of a function of tinyjax."""
    parts, inner = library_forward(back.transpose, back.leaves, ct)
    return (None, *parts), LibraryBackPullback(inner)


@attrs.frozen(eq=False)
class LibraryBackPullback:
    """The pullback of the pullback of a function of tinyjax."""

    back: Any

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct[1:])
        return ({"leaves": parts[1]}, parts[2])


@attrs.frozen
class ArrayMethod:
    """A method of an array as a function of it."""

    name: str

    def __call__(self, x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, self.name)(*args, **kwargs)


@attrs.frozen(eq=False)
class ArrayMethodPullback:
    """The pullback of an array's method."""

    back: Any

    def __call__(self, ct: Any) -> Any:
        parts = self.back(ct)
        return ({"__self__": parts[1]}, *parts[2:])


inert.add(ArrayMethod)
