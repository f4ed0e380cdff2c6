"""Steps that are operations of arrays; and what other steps are made of."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Final

import numpy as np

from tinyjax._primitives.arg_extrema import argmax
from tinyjax._primitives.cumulative import cumlogsumexp, cummax, cumprod, cumsum
from tinyjax._primitives.dot import dot_general
from tinyjax._primitives.dynamic_slice import dynamic_slice, dynamic_update_slice
from tinyjax._primitives.sort import sort
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.reduce import reduce_max, reduce_min, reduce_prod
from tinyjax.core.primitives.shape import full, full_like, iota, reshape, rev, transpose
from tinyjax.core.primitives.slicing import concatenate, pad, slice_in_dim
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array

F64: Final = np.dtype(np.float64)
I32: Final = np.dtype(np.int32)
MOST_ELEMENTS: Final = 12
MOST_NUMBER: Final = 15
IRRATIONAL: Final = 0.31830988618

#: What a step does inside: of a value, and of another that it closes over.
Body = Callable[[Array, Array], Array]


def constant(x: Array, value: float) -> Array:
    return full_like(x, value)


def axis_of(x: Array, k: int) -> int:
    return k % x.ndim


def fitted(x: Array, shape: tuple[int, ...]) -> Array:
    """The value in another shape: as it is, or its sum everywhere."""
    if x.shape == shape:
        return x
    return broadcast_in_dim(ew.sin(total(x)), shape, ())


def total(x: Array) -> Array:
    return reduce_sum(x, tuple(range(x.ndim)))


def square(x: Array) -> Array:
    return ew.mul(x, x)


def ramp(x: Array) -> Array:
    """Numbers that differ at every place."""
    flat = ew.convert_element_type(iota((x.size,), I32, 0), F64)
    return reshape(flat, x.shape)


def slices(x: Array) -> list[Array]:
    return [reshape(slice_in_dim(x, i, i + 1), x.shape[1:]) for i in range(x.shape[0])]


def stack(parts: Sequence[Array]) -> Array:
    return concatenate([reshape(y, (1, *y.shape)) for y in parts], 0)


def choose(condition: Array, x: Array, y: Array) -> Array:
    return ew.select(broadcast_in_dim(condition, x.shape, ()), x, y)


def number(c: Array, k: int, most: int) -> Array:
    """An integer from 0 to ``most`` that is data, and not on the edge of another."""
    size = ew.abs_(ew.sin(ew.add(total(c), full((), k * 0.7, F64))))
    scaled = ew.add(ew.mul(size, full((), most - 0.2, F64)), full((), IRRATIONAL, F64))
    return ew.convert_element_type(ew.floor(scaled), I32)


# What steps do


def unary(x: Array, _: Array, k: int) -> Array:
    one = constant(x, 1.0)
    choices: list[Callable[[Array], Array]] = [
        ew.sin,
        ew.cos,
        ew.tanh,
        ew.logistic,
        ew.atan,
        ew.asinh,
        ew.neg,
        lambda x: ew.exp(ew.tanh(x)),
        lambda x: ew.log1p(square(x)),
        lambda x: ew.sqrt(ew.add(one, square(x))),
        lambda x: ew.rsqrt(ew.add(one, square(x))),
        lambda x: ew.expm1(ew.sin(x)),
        lambda x: ew.sin(ew.integer_pow(x, 3)),
        lambda x: ew.integer_pow(ew.add(constant(x, 1.5), ew.sin(x)), -2),
        lambda x: ew.log(ew.add(constant(x, 1.5), ew.sin(x))),
        lambda x: ew.asin(ew.mul(constant(x, 0.7), ew.sin(x))),
    ]
    return choices[k % len(choices)](x)


def binary(x: Array, y: Array, k: int) -> Array:
    y = fitted(y, x.shape)
    away = ew.add(constant(y, 1.5), ew.sin(y))
    choices: list[Callable[[], Array]] = [
        lambda: ew.add(x, y),
        lambda: ew.sub(y, x),
        lambda: ew.sin(ew.mul(x, y)),
        lambda: ew.div(x, away),
        lambda: ew.pow_(away, ew.sin(x)),
        lambda: ew.atan2(x, away),
    ]
    return choices[k % len(choices)]()


def kink(x: Array, y: Array, k: int) -> Array:
    y = fitted(y, x.shape)
    offset = constant(x, IRRATIONAL)
    off = ew.add(x, offset)
    choices: list[Callable[[], Array]] = [
        lambda: ew.abs_(off),
        lambda: ew.max_(x, ew.add(y, offset)),
        lambda: ew.min_(ew.sin(y), off),
        lambda: ew.select(ew.gt(x, offset), x, ew.cos(y)),
        lambda: ew.select(ew.le(off, y), ew.sin(x), y),
        lambda: ew.mul(ew.sign(off), y),
        lambda: ew.add(ew.floor(off), x),
        lambda: ew.rem(off, constant(x, 1.7320508)),
        lambda: ew.mul(ew.convert_element_type(ew.ne(x, y), F64), y),
        lambda: ew.clamp(constant(x, -0.70710678), y, offset),
    ]
    return choices[k % len(choices)]()


def reduction(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axes = (axis_of(x, k),) if k % 3 else tuple(range(x.ndim))
    return ew.sin(reduce_sum(x, axes) if k % 2 else reduce_prod(x, axes))


def extremum(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axes = (axis_of(x, k),) if k % 3 else tuple(range(x.ndim))
    apart = untied(x)
    return reduce_max(apart, axes) if k % 2 else reduce_min(ew.neg(apart), axes)


def untied(x: Array) -> Array:
    """The array with a slope of its own added to every element, so that none are equal.

    Those of a symmetric product are equal but for rounding, which differs between the two sides;
    and then so does which of them is the greatest, and gets the cotangent.
    """
    line = reshape(x, (x.size,))
    places = ew.convert_element_type(iota(line.shape, I32, 0), F64)
    return reshape(ew.add(line, ew.mul(places, constant(line, IRRATIONAL / 7))), x.shape)


def chosen(x: Array, y: Array, k: int) -> Array:
    """The element of another value where this one is greatest, by an index that is data."""
    if not x.ndim or not y.ndim:
        return ew.cos(x)
    index = argmax(reshape(untied(x), (x.size,)), 0, I32)
    other = reshape(y, (y.size,))
    if k % 3 == 0:
        return ew.mul(x, broadcast_in_dim(ew.convert_element_type(index, F64), x.shape, ()))
    if k % 3 == 1:
        return dynamic_slice(other, (index,), (min(2, y.size),))
    value = reshape(ew.sin(fitted(x, ())), (1,))
    return reshape(dynamic_update_slice(other, value, (index,)), y.shape)


def indexed(x: Array, y: Array, k: int) -> Array:
    """Gathers and scatters, with repeated indices and some out of bounds."""
    if not x.ndim:
        return ew.cos(x)
    n = x.shape[0]
    indices = as_array(np.array([k % n, 0, (2 * k + 1) % n], np.int32))
    if k % 3 == 0 or not n:
        picked = x[indices]
        return picked if picked.size <= MOST_ELEMENTS else ew.sin(x)
    if k % 3 == 1:
        return x.at[indices].add(fitted(y, (3, *x.shape[1:])))
    return x.at[k % n].set(fitted(y, x.shape[1:]))


def rearranged(x: Array, y: Array, k: int) -> Array:
    if not x.ndim:
        return broadcast_in_dim(x, (1 + k % 3,), ())
    axis, other = axis_of(x, k), k // 2 % x.ndim
    n = x.shape[axis]
    value = ew.sin(total(y))
    padding = [(0, 0, 0)] * x.ndim
    padding[axis] = [(1, 0, 0), (-1, 1, 0), (0, -1, 1), (1, 1, 1)][k % 4]
    larger = (*x.shape[:axis], 2, *x.shape[axis:])
    kept = tuple(i + (i >= axis) for i in range(x.ndim))
    choices: list[Callable[[], Array]] = [
        lambda: reshape(x, (x.size,)),
        lambda: reshape(x, (1, x.size)),
        lambda: transpose(x, tuple(range(x.ndim))[::-1]),
        lambda: rev(x, tuple(sorted({axis, other}))),
        lambda: slice_in_dim(x, min(1, n - 1), n, 1 + k % 2, axis),
        lambda: pad(x, value, padding),
        lambda: concatenate([x, ew.cos(x)], axis),
        lambda: concatenate([fitted(y, x.shape), x, x], axis),
        lambda: broadcast_in_dim(x, larger, kept),
    ]
    out = choices[k % len(choices)]()
    return out if 0 < out.size <= MOST_ELEMENTS and out.ndim <= 3 else ew.sin(x)


def contraction(x: Array, y: Array, k: int) -> Array:
    """A dot product over whatever axes fit."""
    pairs = [(i, j) for i in range(x.ndim) for j in range(y.ndim) if x.shape[i] == y.shape[j]]
    if not pairs:
        if x.size * y.size > MOST_ELEMENTS or x.ndim + y.ndim > 3:
            return ew.sin(x)
        return ew.sin(dot_general(x, y, ((), ())))
    i, j = pairs[k % len(pairs)]
    rest = [(a, b) for a, b in pairs if a != i and b != j]
    batch: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    if rest and k % 2:
        left, right = rest[k % len(rest)]
        batch = ((left,), (right,))
    size = x.size * y.size // x.shape[i] ** 2 // prod(x.shape[n] for n in batch[0])
    if size > MOST_ELEMENTS or x.ndim + y.ndim > 5:
        return ew.cos(x)
    return ew.sin(dot_general(x, y, ((i,), (j,)), batch))


def running(x: Array, _: Array, k: int) -> Array:
    if not x.ndim:
        return ew.cos(x)
    axis = axis_of(x, k)
    functions = [cumsum, cumprod, cumlogsumexp]
    return ew.sin(functions[k % len(functions)](x, axis, k % 2 == 0))


def ordered(x: Array, y: Array, k: int) -> Array:
    """Sorting, alone and by another value's order; and the running maximum."""
    if not x.ndim:
        return ew.cos(x)
    axis = axis_of(x, k)
    if k % 3 == 0:
        return sort([untied(x)], axis, num_keys=1)[0]
    if k % 3 == 1:
        return cummax(untied(x), axis)
    _, carried = sort([untied(x), fitted(y, x.shape)], axis, num_keys=1)
    return carried


def through_complex(x: Array, y: Array, k: int) -> Array:
    """Real numbers to complex ones, among these, holomorphically or not, and back."""
    z = ew.complex_(ew.sin(x), ew.sin(fitted(y, x.shape)))
    far = ew.add(z, full(z.shape, 3, z.dtype))  # from zero and from cuts
    among: list[Callable[[], Array]] = [
        lambda: ew.sin(z),
        lambda: ew.exp(z),
        lambda: ew.conj(ew.mul(z, z)),
        lambda: ew.div(z, far),
        lambda: ew.sqrt(far),
        lambda: ew.log(far),
        lambda: ew.integer_pow(z, 3),
        lambda: ew.mul(ew.tanh(ew.div(z, full(z.shape, 2, z.dtype))), ew.conj(z)),
    ]
    back: list[Callable[[Array], Array]] = [
        ew.real,
        ew.imag,
        lambda w: ew.real(ew.mul(w, ew.conj(w))),
        lambda w: ew.abs_(ew.add(w, full(w.shape, 30, w.dtype))),
    ]
    out = among[k % len(among)]()
    return ew.sin(back[(k + k // len(among)) % len(back)](out))


OPERATIONS: dict[str, Callable[[Array, Array, int], Array]] = {
    "unary": unary,
    "binary": binary,
    "kink": kink,
    "reduction": reduction,
    "extremum": extremum,
    "chosen": chosen,
    "indexed": indexed,
    "rearranged": rearranged,
    "contraction": contraction,
    "running": running,
    "ordered": ordered,
    "complex": through_complex,
}
KINKED: Final = ("kink", "extremum", "chosen", "ordered", "cond", "switch", "while", "promoted")
