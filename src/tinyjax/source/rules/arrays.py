"""Rules of NumPy's functions of arrays."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tinyjax.core.array import Array
from tinyjax.source.cotangents import is_complex, reduce_to
from tinyjax.source.origins import refusal
from tinyjax.source.rules.containers import like_items
from tinyjax.source.rules.rearrangements import (
    is_inexact_value,
    nested_like,
    nested_shape,
    places_along,
    places_in,
    scattered,
)
from tinyjax.source.rules.registry import Function, adjoint_of, inert

# Sums and extremes


@adjoint_of(np.sum)
def np_sum_adjoint(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = 0
) -> Any:
    """The derivative of np.sum."""
    return nested_like(np_spread(ct, a, axis, keepdims), a), None, None, None, None


@adjoint_of(np.mean)
def np_mean_adjoint(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = 0
) -> Any:
    """The derivative of np.mean."""
    whole = np_spread(ct, a, axis, keepdims) * (np.size(y) / np.size(a))
    return nested_like(whole, a), None, None, None, None


def np_spread(ct: Any, x: Any, axis: Any, keepdims: Any) -> Any:
    """Repeat a cotangent along the axes that were summed over."""
    if axis is not None and not keepdims:
        ct = np.expand_dims(ct, axis)
    return np.broadcast_to(ct, np.shape(x))


@adjoint_of(np.prod)
def np_prod_adjoint(
    ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = 0
) -> Any:
    """The derivative of np.prod."""
    if np.all(a):
        found = np_spread(ct * y, a, axis, keepdims) / a
    elif axis is None:
        found = np.reshape(ct * products_of_others(np.ravel(a), 0), np.shape(a))
    else:
        found = np_spread(ct, a, axis, keepdims) * products_of_others(a, axis)
    return nested_like(found, a), None, None, None, None


def products_of_others(a: Any, axis: int) -> Any:
    """For each item the product of the others along an axis, zeros among them or not."""
    others = [np.prod(np.delete(a, i, axis), axis) for i in range(np.shape(a)[axis])]
    return np.stack(others, axis)


@adjoint_of(np.max, np.min, np.amax, np.amin)
def np_extreme_adjoint(
    ct: Any, y: Any, a: Any, axis: Any = None, out: Any = None, keepdims: Any = 0
) -> Any:
    """The derivative of np.max, np.min, np.amax and np.amin: those that tie share."""
    best = a == np_spread(y, a, axis, keepdims)
    part = best / np.sum(best, axis=axis, keepdims=True)
    return nested_like(np_spread(ct, a, axis, keepdims) * part, a), None, None, None


@adjoint_of(np.cumsum)
def np_cumsum_adjoint(ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The derivative of np.cumsum."""
    if axis is None:
        return np.reshape(np.cumsum(ct[::-1])[::-1], np.shape(a)), None, None
    return np.flip(np.cumsum(np.flip(ct, axis), axis), axis), None, None


@adjoint_of(np.cumprod)
def np_cumprod_adjoint(ct: Any, y: Any, a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The derivative of np.cumprod, of what is not zero.

    Raises:
        SourceError: a factor is zero.
    """
    if not np.all(a):
        raise refusal(
            "the derivative of np.cumprod is not known where a factor is zero. Write "
            "np.stack([np.prod(a[: i + 1]) for i in range(len(a))])."
        )
    return np.reshape(np_cumsum_adjoint(ct * y, y, a, axis)[0], np.shape(a)) / a, None, None


def on_diagonal(ct: Any, a: Any) -> Any:
    """A number on the diagonal of a matrix, and zeros beside it."""
    rows, columns = a.shape
    if isinstance(ct, Array):
        return ct * np.eye(rows, columns, dtype=ct.dtype)
    found = np.zeros((rows, columns), ct.dtype if isinstance(ct, np.generic) else type(ct))
    found.reshape(-1)[: columns * columns : columns + 1] = ct  # half of the time of ct * np.eye
    return found


@adjoint_of(on_diagonal)
def on_diagonal_adjoint(ct: Any, y: Any, value: Any, a: Any) -> Any:
    """The derivative of on_diagonal."""
    return np.trace(ct), None


@adjoint_of(np.trace)
def np_trace_adjoint(
    ct: Any, y: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1
) -> Any:
    """The derivative of np.trace."""
    if np.ndim(a) == 2 and offset == 0:
        return on_diagonal(ct, a), None, None, None
    where = places_in(np.diagonal, a, (offset, axis1, axis2), {})
    whole = np.broadcast_to(np.expand_dims(ct, -1), np.shape(where))
    return scattered(whole, where, np.shape(a)), None, None, None


# Products


@adjoint_of(np.outer)
def np_outer_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.outer."""
    return (
        np.reshape(ct @ np.ravel(b), np.shape(a)),
        np.reshape(np.ravel(a) @ ct, np.shape(b)),
    )


@adjoint_of(np.einsum)
def np_einsum_adjoint(
    ct: Any, y: Any, subscripts: Any, *operands: Any, optimize: Any = False
) -> Any:
    """The derivative of np.einsum, of subscripts that are a text."""
    *terms, out = einsum_terms(subscripts, [np.ndim(x) for x in operands])
    return (
        None,
        *[
            np_einsum_part(ct, out, terms, operands, i) if is_inexact_value(x) else None
            for i, x in enumerate(operands)
        ],
    )


def np_einsum_part(ct: Any, out: str, terms: Any, operands: Any, place: int) -> Any:
    """The cotangent of one operand of np.einsum."""
    term, x = terms[place], operands[place]
    once = "".join([c for i, c in enumerate(term) if c not in term[:i]])
    others = [t for i, t in enumerate(terms) if i != place]
    present = "".join([c for c in once if c in out or any(c in t for t in others)])
    given = [x for i, x in enumerate(operands) if i != place]
    found = np.einsum(f"{','.join([out, *others])}->{present}", ct, *given)
    sizes = dict(zip(term, np.shape(x), strict=True))
    found = np.reshape(found, tuple([sizes[c] if c in present else 1 for c in once]))
    found = np.broadcast_to(found, tuple([sizes[c] for c in once]))
    if once == term:
        return reduce_to(found, x)
    return scattered(found, places_along(f"{term}->{once}", np.shape(x)), np.shape(x))


def einsum_terms(subscripts: Any, ranks: list[int]) -> list[str]:
    """The subscripts of each operand of np.einsum and of its result, one letter for each axis.

    Raises:
        SourceError: they are no text.
    """
    if not isinstance(subscripts, str):
        raise refusal(
            "np.einsum was given no subscripts as a text, with which its derivative is not known. "
            "Write np.einsum('ij,jk->ik', a, b)."
        )
    given, arrow, out = subscripts.replace(" ", "").partition("->")
    terms = given.split(",")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" if c not in given]
    width = max(
        [r - len(t.replace("...", "")) for t, r in zip(terms, ranks, strict=True) if "..." in t],
        default=0,
    )
    rest = "".join(free[:width])
    if not arrow:
        letters = sorted(set(given) - set(",."))
        out = ("..." if "..." in given else "") + "".join(c for c in letters if given.count(c) == 1)
    full = [
        t.replace("...", rest[width - (r - len(t.replace("...", ""))) :] if "..." in t else "")
        for t, r in zip(terms, ranks, strict=True)
    ]
    return [*full, out.replace("...", rest)]


# Shapes


@adjoint_of(np.reshape)
def np_reshape_adjoint(ct: Any, y: Any, a: Any, shape: Any = None, order: str = "C") -> Any:
    """The derivative of np.reshape."""
    return nested_like(np.reshape(ct, np.shape(a), order=known_order(order)), a), None, None


@adjoint_of(np.ravel)
def np_ravel_adjoint(ct: Any, y: Any, a: Any, order: str = "C") -> Any:
    """The derivative of np.ravel."""
    return nested_like(np.reshape(ct, np.shape(a), order=known_order(order)), a), None


def known_order(order: Any) -> Any:
    """An order of items that does not depend on how they lie in memory.

    Raises:
        SourceError: it does.
    """
    if order not in ("C", "F"):
        raise refusal(f"the order {order!r} has no derivative. Use 'C' or 'F'.")
    return order


@adjoint_of(np.expand_dims, np.squeeze)
def np_squeeze_adjoint(ct: Any, y: Any, a: Any, axis: Any = None) -> Any:
    """The derivative of np.expand_dims and np.squeeze."""
    return nested_like(np.reshape(ct, np.shape(a)), a), None


@adjoint_of(np.broadcast_to)
def np_broadcast_to_adjoint(ct: Any, y: Any, array: Any, shape: Any) -> Any:
    """The derivative of np.broadcast_to."""
    return nested_like(reduce_to(ct, array), array), None


@adjoint_of(np.transpose)
def np_transpose_adjoint(ct: Any, y: Any, a: Any, axes: Any = None) -> Any:
    """The derivative of np.transpose."""
    if axes is None:
        return np.transpose(ct), None
    return np.transpose(ct, inverse_order(axes)), None


def inverse_order(axes: Any) -> tuple[int, ...]:
    """The permutation that undoes another."""
    return tuple(np.argsort([axis % len(axes) for axis in axes]).tolist())


@adjoint_of(np.swapaxes)
def np_swapaxes_adjoint(ct: Any, y: Any, a: Any, axis1: int, axis2: int) -> Any:
    """The derivative of np.swapaxes."""
    return np.swapaxes(ct, axis1, axis2), None, None


@adjoint_of(np.moveaxis)
def np_moveaxis_adjoint(ct: Any, y: Any, a: Any, source: Any, destination: Any) -> Any:
    """The derivative of np.moveaxis."""
    return np.moveaxis(ct, destination, source), None, None


@adjoint_of(np.flip)
def np_flip_adjoint(ct: Any, y: Any, m: Any, axis: Any = None) -> Any:
    """The derivative of np.flip."""
    return nested_like(np.flip(ct, axis), m), None


@adjoint_of(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.copy)
def np_array_adjoint(
    ct: Any, y: Any, a: Any, dtype: Any = None, *, copy: Any = None, ndmin: Any = 0, order: Any = 0
) -> Any:
    """The derivative of np.array and np.asarray."""
    if not is_inexact_value(y):
        return None, None
    return nested_like(np.reshape(ct, nested_shape(a)), a), None


@adjoint_of(np.stack)
def np_stack_adjoint(ct: Any, y: Any, arrays: Any, axis: int = 0) -> Any:
    """The derivative of np.stack."""
    moved = np.moveaxis(ct, axis, 0)
    return like_items([moved[i] for i in range(len(arrays))], arrays), None


@adjoint_of(np.concatenate)
def np_concatenate_adjoint(ct: Any, y: Any, arrays: Any, axis: Any = 0) -> Any:
    """The derivative of np.concatenate."""
    along = 0 if axis is None else axis
    sizes = [np.size(part) if axis is None else np.shape(part)[axis] for part in arrays]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    moved = np.moveaxis(ct, along, 0)
    parts = [
        np.moveaxis(moved[starts[i] : starts[i] + sizes[i]], 0, along) for i in range(len(arrays))
    ]
    if axis is None:
        parts = [np.reshape(part, np.shape(arrays[i])) for i, part in enumerate(parts)]
    return like_items([nested_like(p, arrays[i]) for i, p in enumerate(parts)], arrays), None


@adjoint_of(np.sort)
def np_sort_adjoint(ct: Any, y: Any, a: Any, axis: Any = -1) -> Any:
    """The derivative of np.sort."""
    return nested_like(scattered(ct, sorted_places(a, axis), np.shape(a)), a), None


def sorted_places(x: Any, axis: Any) -> Any:
    """The numbers of the items, from one, in their order along an axis."""
    numbers = np.arange(1, np.size(x) + 1)
    if axis is None:
        return numbers[np.argsort(x, axis=None)]
    return np.take_along_axis(numbers.reshape(np.shape(x)), np.argsort(x, axis), axis)


@adjoint_of(np.arange)
def np_arange_adjoint(ct: Any, y: Any, start: Any, stop: Any = None, step: Any = 1) -> Any:
    """The derivative of np.arange, of whose numbers there are as many as there are."""
    if stop is None:
        return None, None, None
    return reduce_to(np.sum(ct), start), None, reduce_to(np.sum(ct * np.arange(len(y))), step)


@adjoint_of(np.real)
def np_real_adjoint(ct: Any, y: Any, val: Any) -> Any:
    """The derivative of np.real."""
    return (ct,)


@adjoint_of(np.imag)
def np_imag_adjoint(ct: Any, y: Any, val: Any) -> Any:
    """The derivative of np.imag."""
    return (ct * -1j if is_complex(val) else None,)


@adjoint_of(np.fft.fft)
def np_fft_adjoint(ct: Any, y: Any, a: Any, n: Any = None, axis: int = -1) -> Any:
    """The derivative of np.fft.fft, of as many numbers as there are."""
    return reduce_to(np.fft.fft(ct, whole_length(n, a, axis), axis), a), None, None


@adjoint_of(np.fft.ifft)
def np_ifft_adjoint(ct: Any, y: Any, a: Any, n: Any = None, axis: int = -1) -> Any:
    """The derivative of np.fft.ifft, of as many numbers as there are."""
    return reduce_to(np.fft.ifft(ct, whole_length(n, a, axis), axis), a), None, None


def whole_length(n: Any, a: Any, axis: int) -> Any:
    """The length of a transform.

    Raises:
        SourceError: it is another than that of the axis.
    """
    if n is not None and n != np.shape(a)[axis]:
        raise refusal("a transform of another length has no derivative. Pad or slice first.")
    return n


inert.update((einsum_terms, known_order, inverse_order, sorted_places, whole_length))


def flattened(a: Any, order: str = "C") -> Any:
    """``a.flatten(order)``."""
    return np.ravel(a, known_order(order))


def converted(a: Any, dtype: Any) -> Any:
    """``a.astype(dtype)``."""
    return np.asarray(a).astype(dtype)


@adjoint_of(converted)
def converted_adjoint(ct: Any, y: Any, a: Any, dtype: Any) -> Any:
    """The derivative of converted."""
    return reduce_to(ct, a) if is_inexact_value(y) else None, None


def listed(a: Any) -> Any:
    """``a.tolist()``."""
    return np.asarray(a).tolist()


@adjoint_of(listed)
def listed_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of listed."""
    return (array_of(ct, y),)


def array_of(ct: Any, y: Any) -> Any:
    """Nested lists of cotangents as that of an array."""
    if isinstance(y, list):
        return np.stack([array_of(None if ct is None else ct[i], y[i]) for i in range(len(y))])
    return np.asarray(0.0 if ct is None else ct)


def single(a: Any, *index: Any) -> Any:
    """``a.item(*index)``."""
    return np.asarray(a).item(*index)


@adjoint_of(single)
def single_adjoint(ct: Any, y: Any, a: Any, *index: Any) -> Any:
    """The derivative of single."""
    where = places_in(np.ndarray.item, a, index, {})
    return (scattered(ct, where, np.shape(a)), *[None for _ in index])


#: Functions that do what a method of NumPy's arrays does.
METHODS: Final[dict[str, Function]] = {
    "flatten": flattened,
    "astype": converted,
    "tolist": listed,
    "item": single,
    **{
        name: getattr(np, name)
        for name in (
            "clip", "conj", "conjugate", "copy", "cumprod", "cumsum", "diagonal", "dot", "max",
            "mean", "min", "prod", "ravel", "repeat", "reshape", "squeeze", "std", "sum",
            "swapaxes", "take", "trace", "transpose", "var",
        )
    },
}  # fmt: skip

inert.update(
    (np.shape, np.ndim, np.size, np.zeros, np.ones, np.empty, np.eye, np.identity,
     np.zeros_like, np.ones_like, np.empty_like, np.argmax, np.argmin, np.argsort, np.sign,
     np.floor, np.ceil, np.round, np.rint, np.trunc, np.isnan, np.isinf, np.isfinite, np.equal,
     np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.logical_and,
     np.logical_or, np.logical_not, np.logical_xor, np.any, np.all, np.allclose, np.isclose,
     np.array_equal, np.searchsorted, np.count_nonzero, np.nonzero, np.argwhere, np.flatnonzero,
     np.result_type, np.broadcast_shapes, np.tri, np.indices, np.digitize, np.issubdtype,
     np.floor_divide, np.heaviside, np.signbit, np.lexsort, np.isin, np.tril_indices,
     np.triu_indices, np.diag_indices, np.unravel_index, np.ravel_multi_index, np.iscomplexobj,
     np.isrealobj, np.isscalar, np.isreal, np.iscomplex, np.array2string, np.errstate)
)  # fmt: skip
