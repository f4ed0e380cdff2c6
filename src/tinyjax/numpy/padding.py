"""Elements before and after an array along each axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import shape as sh, slicing as sl
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.host import replay
from tinyjax.numpy import editing, manipulation as mn, promotion as pm, reductions as red
from tinyjax.numpy.creation import Nested, array as array_from, broadcast_to, linspace
from tinyjax.numpy.elementwise import round as rounded
from tinyjax.numpy.sorting import median

PadWidth: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]] | Array | dtypes.HostArray
Pairs: TypeAlias = list[tuple[int, int]]


@replay.replayed
def pad(
    array: ArrayLike,
    pad_width: PadWidth,
    mode: str | Callable[..., Array] = "constant",
    *,
    constant_values: Nested | None = None,
    end_values: Nested | None = None,
    stat_length: PadWidth | None = None,
    reflect_type: Literal["even", "odd"] | None = None,
    **kwargs: Any,
) -> Array:
    """Put elements before and after an array along each axis.

    Args:
        array: any dtype.
        pad_width: how many elements: one number, or (before, after), or a pair for each axis.
        mode: what is put there. ``"constant"``: ``constant_values``; ``"edge"``: the outermost
            element; ``"linear_ramp"``: even steps from ``end_values`` to the outermost element;
            ``"reflect"``: the array mirrored at its outermost element, ``"symmetric"``: at its end;
            ``"wrap"``: the array from its other end; ``"maximum"``, ``"minimum"``, ``"mean"`` or
            ``"median"``: that of the outermost elements; ``"empty"``: zeros. A function takes a
            vector along an axis with zeros at its ends, the pair of widths, the axis and a dict of
            ``kwargs``, and returns the vector with other ends.
        constant_values: for ``"constant"``: one number, or (before, after), or a pair for each
            axis; zero by default.
        end_values: for ``"linear_ramp"``; the same.
        stat_length: of how many outermost elements the maximum, mean and so on are taken: one
            number, or (before, after), or a pair for each axis; by default of all.
        reflect_type: for ``"reflect"`` and ``"symmetric"``: with ``"odd"``, the image of an element
            that is less than the outermost one by some amount is greater by that; ``"even"`` by
            default.
        **kwargs: for a function.

    Raises:
        ArgumentError: there is no such mode, an argument is for another mode, or widths are
            negative.
        ShapeError: an empty axis has nothing to be padded with, or the widths do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.pad(jnp.array([1, 2, 3]), (1, 2))
        Array([0, 1, 2, 3, 0, 0], dtype=int32)
        >>> jnp.pad(jnp.array([1, 2, 3]), 2, mode="reflect")
        Array([3, 2, 1, 2, 3, 2, 1], dtype=int32)
        >>> jnp.pad(jnp.array([2, 4]), 2, mode="linear_ramp", end_values=(0, 6))
        Array([0, 1, 2, 4, 5, 6], dtype=int32)
    """
    x = pm.array_of("pad", array)
    widths = _pairs(pad_width, x.ndim, "widths")
    if callable(mode):
        padded = _constant(x, widths, 0)
        for axis, pair in enumerate(widths):
            padded = editing.apply_along_axis(mode, axis, padded, pair, axis, kwargs)
        return padded
    options = {
        "constant_values": constant_values,
        "end_values": end_values,
        "stat_length": stat_length,
        "reflect_type": reflect_type,
        **kwargs,
    }
    if not ints.is_one_of(mode, _OPTIONS):
        raise ArgumentError(
            f"pad: mode must be a function or {', '.join(map(repr, _OPTIONS))}, "
            f"but got {shortened(mode)}."
        )
    for name, value in options.items():
        if value is not None and name != _OPTIONS[mode]:
            raise ArgumentError(f"pad: {name} is not for mode {mode!r}.")
    if mode in ("constant", "empty"):
        return _constant(x, widths, 0 if constant_values is None else constant_values)
    ends = _table(0 if end_values is None else end_values, x.ndim, None)
    lengths = None if stat_length is None else _pairs(stat_length, x.ndim, "stat_length")
    odd = _is_odd("even" if reflect_type is None else reflect_type)
    for axis, (before, after) in enumerate(widths):
        if not (before or after):
            continue
        if not x.shape[axis]:
            raise ShapeError(f"pad: axis {axis} of shape {x.shape} has no element to pad with.")
        match mode:
            case "edge":
                x = _edge(x, before, after, axis)
            case "reflect" | "symmetric":
                x = _mirrored(x, before, after, axis, int(mode == "reflect"), odd)
            case "wrap":
                x = _wrapped(x, before, after, axis)
            case "linear_ramp":
                x = _ramp(x, before, after, axis, ends)
            case _:
                x = _statistic(x, before, after, axis, mode, lengths)
    return x


# The argument that is for each mode.
_OPTIONS: Final[dict[str, str | None]] = {
    "constant": "constant_values",
    "edge": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
    "empty": None,
}

_STATISTICS: Final[dict[str, Callable[..., Array]]] = {
    "maximum": red.max,
    "mean": red.mean,
    "median": median,
    "minimum": red.min,
}


def _is_odd(reflect_type: object) -> bool:
    if not ints.is_one_of(reflect_type, ("even", "odd")):
        raise ArgumentError(
            f"pad: reflect_type must be 'even' or 'odd', but got {shortened(reflect_type)}."
        )
    return reflect_type == "odd"


def _pairs(numbers: PadWidth, ndim: int, what: str) -> Pairs:
    widths = numbers.concrete("a pad width") if isinstance(numbers, Array) else numbers
    try:
        host = np.asarray(widths)
        pairs = np.broadcast_to(host, (ndim, 2))
    except ValueError:
        raise ShapeError(
            f"pad: the {what} must be a number, (before, after), or that for each of the {ndim} "
            f"axes, but got {shortened(numbers)}."
        ) from None
    symbolic = any(isinstance(n, ints.SymbolicSize) for n in host.flat)
    if not (symbolic or host.dtype.kind in "iu") or (host < 0).any():
        raise ArgumentError(
            f"pad: the {what} must be ints of at least 0, but got {shortened(numbers)}."
        )
    each = f"each of the {what} of pad"
    return [(ints.integer(before, each), ints.integer(after, each)) for before, after in pairs]


def _table(values: Nested, ndim: int, dtype: dtypes.DType | None) -> list[list[Array]]:
    table = broadcast_to(array_from(values, dtype), (ndim, 2))
    return [list(mn.unstack(row)) for row in mn.unstack(table)] if ndim else []


def _constant(x: Array, widths: Pairs, values: Nested) -> Array:
    whole = array_from(values, x.dtype)
    if not whole.shape:
        value = pm.convert(whole, x.dtype, x.weak_type)
        return sl.pad(x, value, [(before, after, 0) for before, after in widths])
    table = _table(whole, x.ndim, x.dtype)
    for axis, (before, after) in enumerate(widths):
        low, high = table[axis]
        none = [(0, 0, 0)] * axis
        rest = [(0, 0, 0)] * (x.ndim - axis - 1)
        x = sl.pad(x, low, [*none, (before, 0, 0), *rest])
        x = sl.pad(x, high, [*none, (0, after, 0), *rest])
    return x


def _joined(first: Array | None, x: Array, last: Array | None, axis: int) -> Array:
    parts = [part for part in (first, x, last) if part is not None]
    return sl.concatenate([pm.convert(part, x.dtype, x.weak_type) for part in parts], axis)


def _copies(part: Array, count: int, axis: int) -> Array | None:
    if not count:
        return None
    return broadcast_to(part, tuple([count if i == axis else n for i, n in enumerate(part.shape)]))


def _edge(x: Array, before: int, after: int, axis: int) -> Array:
    n = x.shape[axis]
    first, last = sl.slice_in_dim(x, 0, 1, 1, axis), sl.slice_in_dim(x, n - 1, n, 1, axis)
    return _joined(_copies(first, before, axis), x, _copies(last, after, axis), axis)


def _mirrored(x: Array, before: int, after: int, axis: int, skipped: int, odd: bool) -> Array:
    """Mirror at either end, leaving out the outermost ``skipped`` elements of the image.

    A mirrored array is mirrored again, so a width larger than the array takes several rounds.
    """
    if skipped and x.shape[axis] == 1:
        return _edge(x, before, after, axis)
    while before or after:
        n = x.shape[axis]
        low, high = min(before, n - skipped), min(after, n - skipped)
        x = _joined(
            _image(x, skipped, skipped + low, axis, 0 if odd else None) if low else None,
            x,
            _image(x, n - skipped - high, n - skipped, axis, n - 1 if odd else None)
            if high
            else None,
            axis,
        )
        before, after = before - low, after - high
    return x


def _image(x: Array, start: int, stop: int, axis: int, centre: int | None) -> Array:
    image = sh.rev(sl.slice_in_dim(x, start, stop, 1, axis), (axis,))
    if centre is None:
        return image
    return 2 * sl.slice_in_dim(x, centre, centre + 1, 1, axis) - image


def _wrapped(x: Array, before: int, after: int, axis: int) -> Array:
    n = x.shape[axis]
    left, right = -(-before // n), -(-after // n)
    copies = sl.concatenate([x] * (left + 1 + right), axis)
    return sl.slice_in_dim(copies, left * n - before, (left + 1) * n + after, 1, axis)


def _ramp(x: Array, before: int, after: int, axis: int, ends: list[list[Array]]) -> Array:
    n = x.shape[axis]

    def steps(place: int, count: int, start: Array) -> Array | None:
        if not count:
            return None
        edge = sh.squeeze(sl.slice_in_dim(x, place, place + 1, 1, axis), (axis,))
        return linspace(start, edge, count, endpoint=False, dtype=x.dtype, axis=axis)

    low, high = ends[axis]
    first, last = steps(0, before, low), steps(n - 1, after, high)
    return _joined(first, x, None if last is None else mn.flip(last, axis), axis)


def _statistic(
    x: Array, before: int, after: int, axis: int, name: str, lengths: Pairs | None
) -> Array:
    n = x.shape[axis]
    low, high = (n, n) if lengths is None else lengths[axis]
    if not (low and high):
        raise ArgumentError("pad: a stat_length of 0 leaves no element to pad with.")

    def value(start: int, stop: int, count: int) -> Array | None:
        if not count:
            return None
        part = sl.slice_in_dim(x, start, stop, 1, axis)
        statistic = _STATISTICS[name](part, axis=axis, keepdims=True)
        if dtypes.is_inexact(statistic.dtype) and x.dtype.kind in "iu":
            statistic = rounded(statistic)
        return _copies(statistic, count, axis)

    first = value(0, min(low, n), before)
    last = value(n - min(high, n), n, after)
    return _joined(first, x, last, axis)
