"""Shadows: arrays that hold the cotangents of arrays that a program changes in place.

Each array has a shadow of its own, and a view of the array has the same view of the shadow. (See
Moses and Churavy, "Instead of Rewriting Foreign Code for Machine Learning, Automatically Synthesize
Fast Gradients", 2020.) So it does not matter how many names and containers hold an array.

Pullbacks go back in time. Where the program read, they add to the shadow. Where it wrote, they take
the shadow's value, set it to zero, and restore the array's old value. All of it is Python that can
be differentiated in its turn, where the shadows have shadows.
"""

from __future__ import annotations

import threading
from types import FunctionType
from typing import Any, Final

import numpy as np

from tinyjax import errors, tree
from tinyjax.source.adjoint import cotangents
from tinyjax.source.adjoint.rules import containers, registry
from tinyjax.source.ir import find, runtime


class _State(threading.local):
    """The shadows of the pass that runs, by the identity of the arrays that own memory."""

    shadows: dict[int, tuple[Any, Any]] | None = None


_state: Final = _State()


class Pass:
    """A pass backwards through a program; its shadows are there as long as it is entered."""

    def __init__(self) -> None:
        self.outer: dict[int, tuple[Any, Any]] | None = None

    def __enter__(self) -> None:
        self.outer = _state.shadows
        _state.shadows = {}

    def __exit__(self, *_: object) -> None:
        _state.shadows = self.outer


def root_of(array: Any) -> Any:
    """Return the array that owns the memory of an array, of whose shadow its own is a view.

    An array whose elements overlap has a shadow of its own.
    """
    if array.base is None or (0 in array.strides and overlaps(array)):
        return array
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def overlaps(array: Any) -> bool:
    """Return whether elements of an array may lie in the same memory."""
    axes = [(abs(step), n) for n, step in zip(array.shape, array.strides, strict=True) if n > 1]
    end = array.itemsize
    for step, n in sorted(axes):
        if step < end:
            return True
        end += (n - 1) * step
    return False


def has_shadow(x: Any) -> bool:
    """Return whether a value is an array with cotangents.

    Raises:
        SourceError: it is an array of records or objects, which may hold numbers that have some.
    """
    if not isinstance(x, np.ndarray):
        return False
    if x.dtype.kind in "OV":
        raise find.refusal(
            f"an array of {x.dtype} is not taken beside arrays that change. Use arrays of numbers."
        )
    return x.dtype.kind in "fc"


def shadow_of(array: Any) -> Any:
    """Return the shadow of an array, or the view of one that the array is of another."""
    shadows = _state.shadows
    assert shadows is not None, "shadows are asked for inside of a pass"
    entry = shadows.get(id(array))
    if entry is not None:  # as of most
        return entry[1]
    root = root_of(array)
    entry = shadows.get(id(root))
    if entry is None:
        shadows[id(root)] = entry = root, _zeros(root)
    whole = entry[1]
    if root is array:
        return whole
    offset = address_of(array) - address_of(root)
    return np.ndarray(array.shape, array.dtype, whole, offset, array.strides)


def _zeros(root: Any) -> Any:
    """Zeros that lie in memory as the elements of an array do, unless these overlap."""
    zeros = np.zeros_like(root, subok=False)
    if overlaps(root) or zeros.strides == root.strides:
        return zeros
    ends = [(n - 1) * abs(step) for n, step in zip(root.shape, root.strides, strict=True)]
    memory = np.zeros(sum(ends) + root.itemsize, np.uint8)
    return np.ndarray(root.shape, root.dtype, memory, 0, root.strides)


def address_of(array: Any) -> int:
    """Return where in memory the first element of an array of NumPy's is."""
    address: int = array.__array_interface__["data"][0]
    return address


def pop(array: Any) -> Any:
    """Return and remove the shadow of an array whose life begins here."""
    shadows = _state.shadows
    assert shadows is not None, "shadows are taken inside of a pass"
    entry = shadows.pop(id(array), None)
    return None if entry is None else entry[1]


def is_shadowed(array: Any) -> bool:
    """Return whether an array has a shadow already."""
    return _state.shadows is not None and id(root_of(array)) in _state.shadows


def has_any() -> bool:
    """Return whether any array has a shadow."""
    return bool(_state.shadows)


def shares(x: Any, others: tuple[Any, ...]) -> bool:
    """Return whether an array is a view of one of the others."""
    root = root_of(x)
    return any(isinstance(other, np.ndarray) and root_of(other) is root for other in others)


def is_function(x: Any) -> bool:
    """Return whether a value is a Python function."""
    return isinstance(x, FunctionType)


def is_one_of(x: Any, others: tuple[Any, ...]) -> bool:
    """Return whether a value is identical to one of the others."""
    return any(x is other for other in others)


def captured_names(fun: Any) -> tuple[str, ...]:
    """Return the names of a function's closed-over variables."""
    names: tuple[str, ...] = fun.__code__.co_freevars
    return names


def check_apart(*values: Any) -> None:
    """Refuse arguments that share memory, of a function that changes its arguments.

    Raises:
        DifferentiationError: two of the arrays among them share memory.
    """
    arrays = [x for x in tree.leaves(values) if isinstance(x, np.ndarray)]
    for i, x in enumerate(arrays):
        if any(np.may_share_memory(x, y) for y in arrays[:i]):
            raise errors.DifferentiationError(
                "two arguments share memory, and the function changes one of them, so that the "
                "derivative by each is not defined. Give copies: x.copy()."
            )


registry.inert.update(
    (
        Pass,
        root_of,
        has_shadow,
        has_any,
        is_shadowed,
        shares,
        is_function,
        is_one_of,
        captured_names,
        check_apart,
    )
)


@registry.adjoint_of(shadow_of, pop)
def shadow_of_adjoint(ct: Any, y: Any, array: Any) -> Any:
    """Return the cotangents for shadow_of and taken, whose result has a shadow of its own."""
    return (None,)


# Cotangents go to the shadows of arrays, and come from there


def deposit(x: Any, ct: Any) -> Any:
    """Add a cotangent to the shadows of the arrays in a value; give that of everything else."""
    if ct is None or isinstance(x, (float, np.generic)):
        return ct
    ct = cotangents.freeze(ct)
    if isinstance(x, np.ndarray):
        if not x.shape and type(x) is not np.ndarray:  # of NumPy's arrays it is a number
            raise find.refusal(
                f"an array of the class {type(x).__name__} without axes is not taken beside arrays "
                "that change. Use its data, np.asarray(x)."
            )
        if has_shadow(x):
            runtime.increased(shadow_of(x), ..., conjugated(ct))
        return None
    if isinstance(x, (tuple, list)):
        items = [deposit(x[i], ct[i]) for i in range(len(x))]
        return items if isinstance(ct, list) else tuple(items)
    if isinstance(x, dict) and isinstance(ct, dict):
        return {key: deposit(x[key], ct[key]) for key in ct}
    if isinstance(ct, dict) and is_function(x):
        names = captured_names(x)
        return {k: deposit(runtime.captured(x, k), ct[k]) if k in names else ct[k] for k in ct}
    if isinstance(ct, dict):
        return {name: deposit(getattr(x, name), ct[name]) for name in ct}
    return ct


def withdraw(ct: Any, y: Any, *operands: Any) -> Any:
    """Return the cotangent of a result, including the shadows of its arrays.

    The cotangents of results that are views of operands stay in the operands' shadows.
    """
    if isinstance(y, (float, np.generic)):
        return ct
    if isinstance(y, np.ndarray):
        return ct if shares(y, operands) else cotangents.accumulate(ct, emptied(y))
    if isinstance(y, (tuple, list)):
        parts = [None] * len(y) if ct is None else ct
        items = [withdraw(parts[i], y[i], *operands) for i in range(len(y))]
        return items if isinstance(y, list) else tuple(items)
    if isinstance(y, dict):
        return {key: withdraw(containers.entry(ct, key), y[key], *operands) for key in y}
    if is_function(y):
        if is_one_of(y, operands):  # it closes over itself
            return ct
        own = {
            k: withdraw(containers.entry(ct, k), runtime.captured(y, k), *operands, y)
            for k in captured_names(y)
        }
        return own or None
    if cotangents.is_record(y):
        names = cotangents.field_names(type(y))
        return {k: withdraw(containers.entry(ct, k), getattr(y, k), *operands) for k in names}
    if containers.is_method(y):
        return {"__self__": withdraw(containers.entry(ct, "__self__"), y.__self__, *operands)}
    return ct


def emptied(array: Any) -> Any:
    """Return the value of an array's shadow and set it to zero; None where there is none."""
    if not is_shadowed(array):
        return None
    if root_of(array) is array:
        return conjugated(pop(array))
    shadow = shadow_of(array)
    return conjugated(runtime.replaced(shadow, ..., 0.0))


def conjugated(ct: Any) -> Any:
    """Return a cotangent as shadows hold it, or back: conjugate, so that parts are views."""
    return np.conj(ct) if cotangents.is_complex(ct) else ct


def swept(back: Any, ct: Any, values: Any) -> Any:
    """Apply a pullback in a pass of its own, and return its cotangents."""
    with Pass():
        parts = back(ct)
        return gathered(parts, values) if has_any() else parts


def gathered(parts: Any, values: Any) -> Any:
    """Return the cotangents of values, including the shadows of their arrays."""
    return [withdraw(parts[i], values[i]) for i in range(len(values))]


def _with_strides(x: np.ndarray) -> np.ndarray:
    """Return a copy whose elements are as far apart, so that NumPy gives views of it where of x."""
    low, high = np.lib.array_utils.byte_bounds(x)
    start = x.__array_interface__["data"][0] - low
    copy: np.ndarray = np.ndarray(x.shape, x.dtype, np.empty(high - low, "u1"), start, x.strides)
    copy[...] = x
    return copy


def detached(x: Any) -> Any:
    """Return a value with copies of its arrays, which nothing changes any more."""
    if isinstance(x, np.ndarray):
        is_plain = x.flags.c_contiguous or type(x) is not np.ndarray or x.dtype.hasobject
        copy = x.copy() if is_plain else _with_strides(x)
        copy.flags.writeable = x.flags.writeable
        return copy
    if isinstance(x, (tuple, list)):
        return cotangents.like_sequence([detached(item) for item in x], x)
    if isinstance(x, dict):
        return {key: detached(item) for key, item in x.items()}
    if cotangents.is_record(x):
        names = cotangents.field_names(type(x))
        return cotangents.with_fields(x, {name: detached(getattr(x, name)) for name in names})
    return x


@registry.adjoint_of(detached)
def _detached_adjoint(ct: Any, y: Any, x: Any) -> Any:
    return (ct,)


# Rules of what changes arrays


@registry.adjoint_of(runtime.exchange, runtime.replaced)
def exchange_adjoint(ct: Any, y: Any, array: Any, index: Any, value: Any) -> Any:
    """Return the cotangents for exchange: exchange the shadow, and restore the array."""
    return undone(ct, y, array, index, value, is_sum=False)


@registry.adjoint_of(runtime.accumulate_at, runtime.increased)
def accumulate_at_adjoint(ct: Any, y: Any, array: Any, index: Any, value: Any) -> Any:
    """Return the cotangents of the arguments of accumulate_at."""
    return undone(ct, y, array, index, value, is_sum=True)


def undone(ct: Any, y: Any, array: Any, index: Any, value: Any, *, is_sum: bool) -> Any:
    """Return the cotangents of a write, or a sum, to elements of an array, and restore these."""
    part = None
    if has_shadow(array):
        shadow = shadow_of(array)
        part = conjugated(shadow[index] if is_sum else runtime.replaced(shadow, index, 0.0))
        if not is_sum and not containers.is_basic(index):
            part = part * is_last(array, index)
        part = cotangents.reduce_to(part, value)
        if ct is not None:
            add_at(shadow, index, ct)
    runtime.exchange(array, index, y)
    return None, None, part


def is_last(array: Any, index: Any) -> Any:
    """Return the mask of the elements of an index that are the last to name a place."""
    numbers = np.arange(array.size).reshape(array.shape)[index]
    if numbers.ndim == 0:
        return 1.0
    marks = np.empty(array.size, int)
    order = np.arange(numbers.size).reshape(numbers.shape)
    marks[numbers] = order
    return marks[numbers] == order


def add_at(shadow: Any, index: Any, ct: Any) -> None:
    """Add a cotangent to elements of a shadow."""
    if containers.is_basic(index):
        runtime.increased(shadow, index, conjugated(ct))
    else:
        runtime.accumulate_at(shadow, index, conjugated(ct))


def add_part(shadow: Any, index: Any, ct: Any) -> None:
    """Add the cotangent of an item of real numbers to a shadow."""
    if ct is not None:
        runtime.increased(shadow, index, ct)


def with_item(total: Any, ct: Any, y: Any, container: Any, index: Any) -> Any:
    """Add the cotangent of an item to the shadow, if the container is an array, or to a total."""
    if isinstance(container, np.generic):  # an item of a number is a new array
        ct = withdraw(ct, y)
    if not isinstance(container, np.ndarray):
        return containers.with_item(total, ct, y, container, index)
    if isinstance(y, np.ndarray):
        if shares(y, (container,)):
            return total
        ct = withdraw(ct, y)
    if ct is not None and has_shadow(container):
        add_at(shadow_of(container), index, ct)
    return total


registry.inert.add(is_last)
