"""The base of contexts that run a program on values of a kind of their own."""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

import attrs
import numpy as np

from tinyjax.source.adjoint.cotangents import gradient_like, number, one_like, reduce_to
from tinyjax.source.adjoint.rules.arrays import permuted, reshaped
from tinyjax.source.adjoint.rules.containers import placed_array
from tinyjax.source.context import Context, is_leaf
from tinyjax.source.ir.runtime import is_in

B = TypeVar("B")

#: Functions that give the elements of their operands in another arrangement.
REARRANGING: Final[frozenset[Callable[..., Any]]] = frozenset(
    (np.array, np.asarray, np.atleast_1d, np.atleast_2d, np.broadcast_to, np.column_stack,
     np.concatenate, np.copy, np.diag, np.diagonal, np.expand_dims, np.flip, np.hstack,
     np.moveaxis, np.pad, np.ravel, np.repeat, np.reshape, np.roll, np.rot90, np.split,
     np.squeeze, np.stack, np.swapaxes, np.take, np.tile, np.transpose, np.tril, np.triu,
     np.vstack, reshaped, permuted, placed_array)
)  # fmt: skip
#: What makes containers, or goes through them, whatever is in them.
HOLDING: Final[frozenset[Any]] = frozenset(
    (operator.is_, operator.is_not, list, tuple, dict, enumerate, zip, reversed, iter, id, print,
     repr, str, callable, attrs.evolve, copy.copy, dataclasses.replace)
)  # fmt: skip
#: Methods of named tuples that make others.
_RECORDS: Final = frozenset(("_replace", "_asdict", "_make"))


def is_holding(fun: Any) -> bool:
    """Return whether a function takes values as they are, whatever they are."""
    if isinstance(fun, type) and fun.__module__ not in ("builtins", "numpy"):
        return True  # the constructor of a record
    return is_in(fun, HOLDING) or getattr(fun, "__name__", None) in _RECORDS


#: Methods of arrays that functions of NumPy do not have.
_METHODS: Final[dict[str, Callable[..., Any]]] = {
    "reshape": reshaped,
    "transpose": permuted,
    "flatten": np.ravel,
    "item": np.squeeze,
}


class BoxContext(Context, Generic[B]):
    """A context whose programs compute with values of a class, the boxes.

    A subclass says what boxes are, and what functions give of them.
    """

    box: type[B]

    def apply(self, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function without entering it, with arguments that hold boxes."""
        raise NotImplementedError

    def shape_of(self, box: B) -> tuple[int, ...]:
        """The shape of the array that a box stands for."""
        raise NotImplementedError

    def call(self, fun: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(fun, BoxMethod):
            return fun(*args, **kwargs)
        direct = any(isinstance(x, self.box) for x in args)
        boxed = direct or bool(self.boxes([*args, *kwargs.values()]))
        if fun is getattr:
            if isinstance(args[0], self.box):
                return self.attribute(args[0], args[1])
            return self.proceed(fun, *args)
        if not boxed or not is_leaf(fun) or is_holding(fun):
            return self.proceed(fun, *args, **kwargs)
        if not direct and getattr(fun, "__module__", None) == "_operator":  # of containers
            return self.proceed(fun, *args, **kwargs)
        return self.apply(fun, args, kwargs)

    def ordered(
        self,
        pick: Callable[..., Any],
        value: Callable[[Any], Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call ``max``, ``min`` or ``sorted`` by the values that the items stand for."""
        rest = {name: x for name, x in kwargs.items() if name != "key"}
        key = kwargs.get("key")
        if key is None:
            return pick(*args, key=value, **rest)
        return pick(*args, key=lambda item: value(self.call(key, item)), **rest)

    def attribute(self, value: B, name: str) -> Any:
        """An attribute of what a box stands for."""
        shape = self.shape_of(value)
        match name:
            case "shape":
                return shape
            case "ndim":
                return len(shape)
            case "size":
                return int(np.prod(shape))
            case "dtype":
                return np.dtype(np.float64)
            case "T":
                return self.apply(np.transpose, (value,), {})
            case "real" | "imag":
                return self.apply(getattr(np, name), (value,), {})
            case _:
                return BoxMethod(self, self.method_called(name), value)

    def method_called(self, name: str) -> Callable[..., Any]:
        """The function that does what a method of an array does.

        Raises:
            AttributeError: arrays have no such method.
        """
        method = _METHODS.get(name) or getattr(np, name, None)
        if method is None:
            raise AttributeError(f"an array has no attribute '{name}'.")
        return method

    def own(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        if not self.boxes(args):
            return NotImplemented
        if fun is one_like:
            return 1.0
        if fun is number:
            return args[0]
        if fun in (gradient_like, reduce_to):
            return self.fitted(args[0], self.shape(args[1]))
        if fun is placed_array:
            ct, container, index = args
            placed = gathered_array if picks(index) else placed_array
            return self.apply(placed, (ct, np.zeros(self.shape(container)), index), {})
        return NotImplemented

    def shape(self, value: Any) -> tuple[int, ...]:
        """The shape of a value, which may be a box."""
        return self.shape_of(value) if isinstance(value, self.box) else np.shape(value)

    def fitted(self, ct: Any, shape: tuple[int, ...]) -> Any:
        """A cotangent summed over what an operand was repeated along."""
        if ct is None:
            return np.zeros(shape)[()]
        cotangent_shape = self.shape(ct)
        if cotangent_shape == shape:
            return ct
        if len(cotangent_shape) < len(shape) or np.prod(cotangent_shape) < np.prod(shape):
            return self.call(np.broadcast_to, ct, shape)
        extra = len(cotangent_shape) - len(shape)
        repeated = [
            i + extra for i, n in enumerate(shape) if n == 1 and cotangent_shape[i + extra] != 1
        ]
        total = self.call(np.sum, ct, axis=(*range(extra), *repeated))
        return self.call(np.reshape, total, shape)

    def boxes(self, value: Any) -> list[B]:
        """The boxes in a value."""
        if isinstance(value, self.box):
            return [value]
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, (tuple, list)):
            return [box for item in value for box in self.boxes(item)]
        return []

    def mapped(self, replace: Callable[[Any], Any], value: Any) -> Any:
        """A value with each box, and each array or number beside them, replaced."""
        if isinstance(value, (tuple, list)):
            items = [self.mapped(replace, item) for item in value]
            if isinstance(value, list):
                return items
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        if isinstance(value, dict):
            return {key: self.mapped(replace, item) for key, item in value.items()}
        return replace(value)


@attrs.frozen(eq=False)
class BoxMethod:
    """A method of what a box stands for."""

    context: BoxContext[Any]
    fun: Callable[..., Any]
    value: Any

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.context.apply(self.fun, (self.value, *args), kwargs)


def picks(index: Any) -> bool:
    """Return whether an index picks elements one by one, some perhaps several times."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, (list, np.ndarray)) for part in parts)


def gathered_array(ct: Any, container: Any, index: Any) -> Any:
    """``placed_array``, where elements may be added to each other."""
    return placed_array(ct, container, index)


def total(add: Callable[[Any, Any], Any], items: Any, start: Any = 0) -> Any:
    """Add up the items as ``sum`` does, by another addition."""
    return functools.reduce(add, items, start)


#: What compares values, and gives those that it was given.
ORDERING: Final = frozenset((max, min, sorted))
