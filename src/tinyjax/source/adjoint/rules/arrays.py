"""Rules of NumPy's functions of arrays, where speed or the text of an adjoint needs one.

All others, and calls with arguments that a rule here does not take, have the derivative of the
function of the same name in ``tinyjax.numpy`` (``library``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tinyjax.core.values import Array
from tinyjax.source import facts
from tinyjax.source.adjoint.cotangents import is_complex, masked, reduce_to, require_data
from tinyjax.source.adjoint.rules import containers, registry
from tinyjax.source.adjoint.rules.formulas import nested_like
from tinyjax.source.ir import find


def is_inexact_value(x: Any) -> bool:
    """Return whether a number or an array has a derivative."""
    return np.asarray(x).dtype.kind in "fcO" if not isinstance(x, Array) else True


def nested_shape(x: Any) -> tuple[int, ...]:
    """Return the shape of an array made of nested lists."""
    if isinstance(x, (list, tuple)) and x:
        return (len(x), *nested_shape(x[0]))
    return np.shape(x)


# Sums


@registry.adjoint_of(np.mean)
def np_mean_adjoint(ct: Any, y: Any, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Return the cotangents of the arguments of np.mean."""
    return spread(ct * (np.size(y) / np.size(a)), a, axis, keepdims), None


@registry.adjoint_of(np.max, np.min)
def np_max_adjoint(ct: Any, y: Any, a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """The derivative of np.max and np.min: equal elements share it."""
    top = y if axis is None or keepdims else np.expand_dims(y, axis)
    mask = np.asarray(a) == top
    shares = mask / np.sum(mask, axis=axis, keepdims=True)
    return nested_like(spread(ct, mask, axis, keepdims) * shares, a), None


@registry.adjoint_of(np.diff)
def np_diff_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.diff along the last axis."""
    end = np.zeros((*np.shape(ct)[:-1], 1))
    steps = np.diff(np.concatenate([end, ct, end], axis=-1))
    return (nested_like(-steps[..., : nested_shape(a)[-1]], a),)


@registry.adjoint_of(np.outer, definite=(0, 1))
def np_outer_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.outer."""
    require_data(a, b)
    return reshaped_like(ct @ np.ravel(b), a), reshaped_like(np.ravel(a) @ ct, b)


def spread(ct: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Repeat a cotangent along the axes that were summed over."""
    if axis is not None and not keepdims:
        ct = np.expand_dims(ct, axis)
    return nested_like(np.broadcast_to(ct, np.shape(x)), x)


@registry.adjoint_of(np.trace, definite=(0,))
def np_trace_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangents of the arguments of np.trace."""
    if isinstance(a, (list, tuple)):
        return (nested_like(np_trace_adjoint(ct, y, np.array(a))[0], a),)
    if np.ndim(a) == 2:
        return (on_diagonal(ct, a),)
    rows, columns, *others = np.shape(a)
    return (np.reshape(np.eye(rows, columns), (rows, columns, *[1 for _ in others])) * ct,)


def on_diagonal(ct: Any, a: Any) -> Any:
    """Return a number on the diagonal of a matrix, and zeros beside it."""
    rows, columns = a.shape
    if isinstance(ct, Array):
        return ct * np.eye(rows, columns, dtype=ct.dtype)
    matrix = np.zeros((rows, columns), getattr(ct, "dtype", type(ct)))
    matrix.reshape(-1)[: columns * columns : columns + 1] = ct  # half of the time of ct * np.eye
    return matrix


@registry.adjoint_of(np.full)
def np_full_adjoint(ct: Any, y: Any, shape: Any, fill_value: Any) -> Any:
    """Return the cotangents of the arguments of np.full."""
    return None, reduce_to(ct, fill_value)


# Shapes


@registry.adjoint_of(np.reshape, np.expand_dims, np.squeeze)
def np_reshape_adjoint(ct: Any, y: Any, a: Any, axis: Any = None, *, shape: Any = None) -> Any:
    """Return the cotangents of the arguments of np.reshape, np.expand_dims and np.squeeze."""
    return reshaped_like(ct, a), None


def reshaped_like(ct: Any, a: Any) -> Any:
    """Return the cotangent of an array whose elements got another shape, or became complex."""
    if np.iscomplexobj(ct) and not np.iscomplexobj(np.asarray(a)):
        ct = np.real(ct)
    return nested_like(np.reshape(ct, nested_shape(a)), a)


@registry.adjoint_of(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.copy)
def np_array_adjoint(
    ct: Any,
    y: Any,
    a: Any,
    dtype: Any = None,
    *,
    copy: Any = None,
    ndmin: Any = 0,
    order: Any = 0,
    subok: Any = False,
) -> Any:
    """Return the derivative of np.array and np.asarray."""
    if not is_inexact_value(y):
        return None, None
    return reshaped_like(ct, a), None


@registry.adjoint_of(np.arange)
def np_arange_adjoint(ct: Any, y: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    """Return the cotangents of the arguments of np.arange: the length is constant."""
    if stop is None:
        return None, None, None
    return reduce_to(np.sum(ct), start), None, reduce_to(np.sum(ct * np.arange(len(y))), step)


@registry.adjoint_of(np.concatenate)
def np_concatenate_adjoint(ct: Any, y: Any, arrays: Any, axis: Any = 0) -> Any:
    """Return the cotangents of the arguments of np.concatenate."""
    return containers.like_items(pieces(ct, arrays, axis), arrays), None


@registry.adjoint_of(np.hstack)
def np_hstack_adjoint(ct: Any, y: Any, tup: Any) -> Any:
    """Return the cotangent of the argument of np.hstack."""
    if np.ndim(y) == 1:  # of numbers, too
        return (containers.like_items(pieces(ct, tup, None), tup),)
    return (containers.like_items(pieces(ct, tup, 1), tup),)


def pieces(ct: Any, arrays: Any, axis: Any) -> list[Any]:
    """Return the pieces of a cotangent that belong to arrays which were put one after the other."""
    parts: list[Any] = []
    start = 0
    for i in range(len(arrays)):
        shape = nested_shape(arrays[i])
        if axis is None:
            part = ct[start : start + math.prod(shape)]
            parts = [*parts, reshaped_like(part, arrays[i])]
            start = start + math.prod(shape)
        else:
            before = (slice(None),) * (axis % len(shape))
            part = ct[(*before, slice(start, start + shape[axis]))]
            parts = [*parts, nested_like(part, arrays[i])]
            start = start + shape[axis]
    return parts


# Linear algebra


@registry.adjoint_of(np.linalg.inv, definite=(0,))
def np_inv_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """Return the cotangent of the argument of np.linalg.inv."""
    transposed = np.swapaxes(y, -1, -2)
    return (nested_like(-(transposed @ ct @ transposed), a),)


@registry.adjoint_of(np.linalg.solve, definite=(0, 1))
def np_solve_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """Return the cotangents of the arguments of np.linalg.solve."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        parts = np_solve_adjoint(ct, y, np.array(a), np.array(b))
        return nested_like(parts[0], a), nested_like(parts[1], b)
    transposed = np.swapaxes(a, -1, -2)
    if np.ndim(b) == 1:
        of_b = np.linalg.solve(transposed, ct[..., None])
        of_a = -(of_b @ y[..., None, :])
        return reduce_to(of_a, a), reduce_to(of_b[..., 0], b)
    of_b = np.linalg.solve(transposed, ct)
    return reduce_to(-(of_b @ np.swapaxes(y, -1, -2)), a), reduce_to(of_b, b)


# Methods


def copied(a: Any) -> Any:
    """``a.copy()``."""
    return a.copy()


def copied_in_order(a: Any, order: Any = "C") -> Any:
    """``a.copy(order)``."""
    return np.copy(a, order=order, subok=True)


def flattened(a: Any, order: Any = "C") -> Any:
    """``a.flatten(order)``."""
    return np.reshape(np.copy(a, subok=True), -1, order=order)


def reshaped(x: Any, *shape: Any, order: Any = "C") -> Any:
    """``x.reshape(...)``."""
    sizes = shape[0] if len(shape) == 1 else shape
    return np.reshape(x, sizes) if order == "C" else np.reshape(x, sizes, order=order)


def permuted(x: Any, *axes: Any) -> Any:
    """``x.transpose(...)``."""
    if not axes:
        return np.transpose(x)
    return np.transpose(x, axes[0] if len(axes) == 1 else axes)


def converted(a: Any, dtype: Any) -> Any:
    """``a.astype(dtype)``."""
    return np.asanyarray(a).astype(dtype)


@registry.adjoint_of(converted)
def converted_adjoint(ct: Any, y: Any, a: Any, dtype: Any) -> Any:
    """Return the cotangents of the arguments of converted."""
    return reduce_to(ct, a) if is_inexact_value(y) else None, None


def compressed(a: Any, condition: Any, axis: Any = None) -> Any:
    """``a.compress(condition)``."""
    return np.compress(condition, a, axis)


def listed(a: Any) -> Any:
    """``a.tolist()``."""
    return np.asarray(a).tolist()


def array_of(ct: Any, y: Any) -> Any:
    """Nested lists of cotangents as that of an array."""
    if isinstance(y, list):
        return np.stack([array_of(None if ct is None else ct[i], y[i]) for i in range(len(y))])
    return np.asarray(0.0 if ct is None else ct)


def single(a: Any, *index: Any) -> Any:
    """``a.item(*index)``."""
    return np.asarray(a).item(*index)


@registry.adjoint_of(single)
def single_adjoint(ct: Any, y: Any, a: Any, *index: Any) -> Any:
    """Return the cotangents of the arguments of single."""
    if np.ndim(a) == 0:
        return (ct, *[None for _ in index])
    return (containers.placed_array(ct, a, place_of_item(a, index)), *[None for _ in index])


def place_of_item(a: Any, index: tuple[Any, ...]) -> Any:
    """Return the index of ``a.item(*index)``, as a tuple."""
    if len(index) > 1:
        return index
    (flat,) = index or (0,)
    return flat if isinstance(flat, tuple) else np.unravel_index(flat % np.size(a), np.shape(a))


_EXPRESSIONS: Final[registry.Expressions] = {
    (masked,): lambda ct, y, x, like, mask: (masked(ct, like, mask), None, None),
    (np.sum,): lambda ct, y, a, axis=None, *, keepdims=False: (spread(ct, a, axis, keepdims), None),
    (np.ravel,): lambda ct, y, a: (reshaped_like(ct, a),),
    (np.flip,): lambda ct, y, m, axis=None: (nested_like(np.flip(ct, axis), m), None),
    (np.fliplr,): lambda ct, y, m: (nested_like(np.fliplr(ct), m),),
    (np.flipud,): lambda ct, y, m: (nested_like(np.flipud(ct), m),),
    (np.swapaxes,): lambda ct, y, a, axis1, axis2: (
        nested_like(np.swapaxes(ct, axis1, axis2), a),
        None,
        None,
    ),
    (np.moveaxis,): lambda ct, y, a, source, destination: (
        nested_like(np.moveaxis(ct, destination, source), a),
        None,
        None,
    ),
    (np.roll,): lambda ct, y, a, shift, axis=None: (
        nested_like(np.roll(ct, np.negative(shift), axis), a),
        None,
        None,
    ),
    (np.broadcast_to,): lambda ct, y, array, shape: (
        nested_like(reduce_to(ct, array), array),
        None,
    ),
}
#: Those whose first cotangent is never None, unless that of the result is.
_DEFINITE: Final[registry.Expressions] = {
    (copied,): lambda ct, y, a: (ct,),
    (np.transpose,): lambda ct, y, a: (np.transpose(ct),),
    (on_diagonal,): lambda ct, y, value, a: (np.trace(ct), None),
    (listed,): lambda ct, y, a: (array_of(ct, y),),
}
registry.register(globals(), _EXPRESSIONS)
registry.register(globals(), _DEFINITE, definite=(0,))


@registry.adjoint_of(np.sign)
def np_sign_adjoint(ct: Any, y: Any, x: Any) -> Any:
    """Return the derivative of np.sign of real numbers, which is zero."""
    if is_complex(x):
        raise find.refusal("np.sign of complex numbers has no derivative here. Write z / abs(z).")
    return (None,)


#: Functions that do what a method of NumPy's arrays does, but for those of the same name.
METHODS: Final[dict[str, registry.Function]] = {
    "astype": converted,
    "compress": compressed,
    "copy": copied_in_order,
    "flatten": flattened,
    "item": single,
    "reshape": reshaped,
    "tolist": listed,
    "transpose": permuted,
}

registry.inert.update(facts.DISCRETE, facts.STEPS)

registry.inert.update(
    (is_inexact_value, nested_shape, place_of_item,
     np.zeros, np.ones, np.empty, np.eye, np.identity, np.zeros_like, np.ones_like, np.empty_like,
     np.tri, np.indices, np.result_type, np.errstate)
)  # fmt: skip

if TYPE_CHECKING:

    def __getattr__(name: str) -> registry.Function:
        """Return the adjoints of the tables, for the texts that import them."""
