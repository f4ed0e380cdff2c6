"""Random order, and choices among elements."""

from __future__ import annotations

import math
from typing import Final

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core import devices as dev
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing as sl
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.host import replay
from tinyjax.numpy.promotion import promote_inexact
from tinyjax.primitives import sort as so
from tinyjax.primitives.arg_extrema import argmax
from tinyjax.random import arguments as ra, continuous, generators, uniforms

_WORD: Final = 0xFFFFFFFF


@ra.sampler
def permutation(
    key: ArrayLike,
    x: int | ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: dev.Placement = None,
) -> Array:
    """Return an array with its elements in random order, or a random order of ``range(x)``.

    Args:
        key: a key.
        x: an array of at least one axis, or an integer.
        axis: along which ``x`` is shuffled.
        independent: whether each line along the axis is shuffled in its own way, rather than all
            in the same.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``x`` is a scalar that is not an integer.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.permutation(tinyjax.random.key(0), 6)
        Array([0, 1, 5, 4, 3, 2], dtype=int32)
    """
    own = ra.one_key("permutation", key)
    array = opd.as_array(x)
    axis = ints.canonical_axis(axis, array.ndim or 1)
    if not array.shape:
        if not dtypes.is_integer(array.dtype):
            raise ArgumentError(
                f"permutation takes an array or an integer, but got a scalar of type {array.aval}."
            )
        return _shuffle(own, sh.iota((max(int(array), 0),), dtypes.default_int(), 0), 0)
    if independent or array.ndim == 1:
        return _shuffle(own, array, axis)
    order = _shuffle(own, sh.iota((array.shape[axis],), dtypes.default_int(), 0), 0)
    return jnp.take(array, order, axis)


def _shuffle(own: generators.Key, x: Array, axis: int) -> Array:
    # Sorting by random keys of 32 bits; keys collide, so it is repeated until, with probability
    # 1 - 1/n, no two elements had equal keys every time.
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(_WORD))
    for _ in range(rounds):
        own, child = own.children()
        _, x = so.sort((child.bits(dtypes.uint32, x.shape), x), axis)
    return x


@replay.replayed
def choice(
    key: ArrayLike,
    a: int | ArrayLike,
    shape: ra.Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: ra.GumbelMode | None = None,
) -> Array:
    """Draw elements of an array, or of ``range(a)``.

    Args:
        key: a key.
        a: an array of at least one axis, or an integer.
        shape: how many elements are drawn, in what shape.
        replace: whether an element can be drawn again.
        p: the elements' probabilities, of shape (n,), which sum to 1; equal if None.
        axis: of ``a``, along which is drawn.
        mode: of the Gumbel numbers by which is drawn with ``p`` and without replacement.

    Returns:
        ``a.shape`` with ``shape`` in place of the axis.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer elements than are to be drawn.
        ShapeError: ``p`` has not the shape (n,).
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.choice(tinyjax.random.key(0), 10, (3,), replace=False)
        Array([0, 1, 8], dtype=int32)
    """
    ra.one_key("choice", key, used=False)
    array, sizes = opd.as_array(a), ra.sizes_of("choice", shape)
    count = math.prod(sizes)
    if array.shape:
        axis = ints.canonical_axis(axis, array.ndim)
        size = array.shape[axis]
    else:
        size = ints.integer(array, "what choice draws from")
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    result_shape = (*before, *sizes, *after) if array.shape else sizes
    if count == 0:
        return sh.full(result_shape, 0, array.dtype)
    if size <= 0:
        raise ArgumentError(f"choice draws from at least one element, but a has {max(size, 0)}.")
    if not replace and count > size:
        raise ArgumentError(f"choice cannot draw {count} elements from {size} unless replace=True.")
    if p is None and not replace:
        shuffled = permutation(key, array if array.shape else size, axis)
        return sh.reshape(sl.slice_in_dim(shuffled, 0, count, axis=axis), result_shape)
    indices = _choose(key, size, sizes, replace, p, mode)
    if array.shape:
        return sh.reshape(jnp.take(array, indices, axis), result_shape)
    return sh.reshape(indices, result_shape)


def _choose(
    key: ArrayLike,
    size: int,
    shape: tuple[int, ...],
    replace: bool,
    p: ArrayLike | None,
    mode: ra.GumbelMode | None,
) -> Array:
    """Draw indices."""
    if p is None:
        return uniforms.randint(key, shape, 0, size)
    (weights,) = promote_inexact(opd.as_array(p))
    if weights.shape != (size,):
        raise ShapeError(
            f"choice among {size} elements takes p of shape ({size},), but got {weights.aval}."
        )
    if replace:
        cumulative = jnp.cumsum(weights)
        sample = uniforms.uniform(key, shape, cumulative.dtype)
        level = jnp.multiply(cumulative[-1], jnp.subtract(1, sample))
        return jnp.searchsorted(cumulative, level).astype(dtypes.default_int())
    # The greatest of log p plus Gumbel noise are a draw without replacement: T. Vieira, "Gumbel-max
    # trick and weighted reservoir sampling" (2014).
    noise = continuous.gumbel(key, (size,), weights.dtype, mode)
    _, indices = so.top_k(ew.add(noise, ew.log(weights)), math.prod(shape))
    return ew.convert_element_type(indices, dtypes.default_int())


@ra.sampler
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: ra.Shape | None = None,
    replace: bool = True,
    mode: ra.GumbelMode | None = None,
    *,
    out_sharding: dev.Placement = None,
) -> Array:
    """Draw categories with probabilities ``softmax(logits)``.

    Args:
        key: a key.
        logits: unnormalised log probabilities; floats.
        axis: along which the categories lie.
        shape: the shape of the result: the shape of ``logits`` without the axis, with axes for
            further draws in front; no further draws if None.
        replace: whether the further draws can give the same category again.
        mode: of the Gumbel numbers by which is drawn.
        out_sharding: where the result is to lie.

    Returns:
        Indices along the axis, of the default int.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer categories than are to be drawn.
        ShapeError: ``shape`` does not end in that of the logits without the axis.
        AxisError: there is no such axis.
        DtypeError: the logits are not floats.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> logits = jnp.log(jnp.array([0.2, 0.8]))
        >>> tinyjax.random.categorical(tinyjax.random.key(0), logits, shape=(5,))
        Array([1, 1, 1, 1, 0], dtype=int32)
    """
    ra.one_key("categorical", key, used=False)
    scores = opd.as_array(logits)
    dtype = ra.float_dtype("categorical", scores.dtype)
    axis = ints.canonical_axis(axis, scores.ndim)
    batch = scores.shape[:axis] + scores.shape[axis + 1 :]
    sizes = ra.result_shape("categorical", shape, batch)
    prefix = sizes[: len(sizes) - len(batch)]
    if replace:
        rest = list(sizes[len(prefix) :])
        rest.insert(axis, scores.shape[axis])
        noisy = jnp.add(continuous.gumbel(key, (*prefix, *rest), dtype, mode), scores)
        return argmax(noisy, len(prefix) + axis, dtypes.default_int())
    count = math.prod(prefix)
    if count > scores.shape[axis]:
        raise ArgumentError(
            f"categorical cannot draw {count} of {scores.shape[axis]} categories unless "
            "replace=True."
        )
    noisy = jnp.add(continuous.gumbel(key, scores.shape, dtype, mode), scores)
    _, indices = so.top_k(sh.moveaxis(noisy, axis, scores.ndim - 1), count)
    sample = sh.transpose(indices, (indices.ndim - 1, *range(indices.ndim - 1)))
    return ew.convert_element_type(sh.reshape(sample, sizes), dtypes.default_int())
