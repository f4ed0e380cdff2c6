"""Methods of NumPy's random generators that order, or choose from, arrays under capture.

An array of positions is shuffled in place of the array: the generator draws the same numbers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tinyjax.dtypes import HostArray
from tinyjax.source.capturing import ndarrays
from tinyjax.source.capturing.ndarrays import HANDLERS, is_array, is_traced, plain, write

_Generator = np.random.Generator | np.random.RandomState


def _positions_along(shape: tuple[int, ...], axis: int) -> HostArray:
    """Return an array of a shape that has the position along an axis in each element."""
    sizes = [-1 if i == axis % len(shape) else 1 for i in range(len(shape))]
    numbers = np.arange(shape[axis], dtype=np.intp).reshape(sizes)
    return np.broadcast_to(numbers, shape).copy()


def _along(numbers: HostArray, axis: int) -> HostArray:
    """Return the positions along an axis, which are the same at all others."""
    return np.moveaxis(numbers, axis, 0).reshape(numbers.shape[axis], -1)[:, 0]


def _shuffle(method: Any, owner: _Generator, x: Any, axis: int = 0) -> None:
    options = {"axis": axis} if axis else {}
    if not is_array(x) or not x.size:
        method(owner, plain(x), **options)
        return
    numbers = _positions_along(x.shape, axis)
    method(owner, numbers, **options)
    write(x, ..., np.take(x.copy(), _along(numbers, axis), axis))


def _permutation(method: Any, owner: _Generator, x: Any, axis: int = 0) -> Any:
    options = {"axis": axis} if axis else {}
    if not is_traced(x):
        return ndarrays.follow(method(owner, plain(x), **options))
    array = ndarrays.to_array(x)
    if not array.ndim:
        return method(owner, int(array))
    numbers = method(owner, _positions_along(array.shape, axis), **options)
    return np.take(array, _along(numbers, axis), axis)


def _permuted(
    method: Any, owner: _Generator, x: Any, *, axis: int | None = None, out: Any = None
) -> Any:
    array = ndarrays.to_array(x)
    numbers = np.arange(array.size).reshape(array.shape)
    result = np.reshape(np.ravel(array)[np.ravel(method(owner, numbers, axis=axis))], array.shape)
    return result if out is None else ndarrays.put_out(out, result)


def _choice(
    method: Any,
    owner: _Generator,
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    axis: int = 0,
    **options: Any,
) -> Any:
    p = ndarrays.decided(p, "the probabilities of a choice")
    if not is_traced(a):
        options = {**options, **({"axis": axis} if axis else {})}
        return ndarrays.follow(method(owner, plain(a), size, replace, p, **options))
    array = ndarrays.to_array(a)
    if not array.ndim:
        return method(owner, int(array), size, replace, p, **options)
    numbers = method(owner, array.shape[axis], size, replace, p, **options)
    return np.take(array, numbers, axis)


for _class in (np.random.Generator, np.random.RandomState):
    for _handler in (_shuffle, _permutation, _permuted, _choice):
        _draw = getattr(_class, _handler.__name__[1:], None)
        if _draw is not None:
            HANDLERS[_draw] = functools.partial(_handler, _draw)
