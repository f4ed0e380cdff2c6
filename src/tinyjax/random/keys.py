"""Keys: made from seeds, split, unpacked and packed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives.random_bits import random_unwrap, random_wrap
from tinyjax.config import settings
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, ArrayLike, concrete, operands as opd
from tinyjax.dtypes import DType, default_int
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, shortened
from tinyjax.random import generators, threefry, uniforms

_WORD: Final = 0xFFFFFFFF


def _generator(impl: Any) -> generators.Generator:
    if getattr(impl, "type", None) is dtypes.prng_key:
        return generators.of_keys(impl)
    return uniforms.default_generator() if impl is None else generators.named(impl)


def _named_once(impl: str | DType | None, dtype: str | DType | None) -> str | DType | None:
    if impl is not None and dtype is not None:
        raise ArgumentError("impl and dtype both name the generator of keys: give one of them.")
    return impl if dtype is None else dtype


def PRNGKey(seed: ArrayLike, *, impl: str | DType | None = None) -> Array:
    """Make a raw key from a seed: an array of words, where ``key`` gives one of keys.

    A seed of up to 32 bits fills a key's second word; the upper half of a 64-bit one fills the
    first. A Python number is as wide as it needs to be, where JAX drops its upper half unless
    64-bit types are enabled.

    Args:
        seed: an integer scalar; Python's may lie between -2**63 and 2**63 - 1.
        impl: the generator, as in ``key``. Samplers take raw keys for those of the default one.

    Returns:
        A uint32 array of shape (2,), or of as many words as the generator's keys have.

    Raises:
        ArgumentError: the seed is out of range, or there is no such generator.
        ShapeError: the seed is not a scalar.
        DtypeError: the seed is not an integer.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.PRNGKey(42)
        Array([ 0, 42], dtype=uint32)
    """
    generator = _generator(impl)
    if isinstance(seed, int) and not isinstance(seed, bool):
        if not -(1 << 63) <= seed < 1 << 63:
            raise ArgumentError(f"a seed has at most 64 bits, but got {shortened(seed)}.")
        default = np.iinfo(default_int())
        fits = default.min <= seed <= default.max
        narrow = default.bits == 32 and (fits or not settings().wide_dtypes)
        words = (0 if narrow else (seed >> 32) & _WORD, seed & _WORD)
        return generator.seed(concrete.ConcreteArray(np.array(words, np.uint32)))
    array = opd.as_array(seed)
    if not dtypes.is_integer(array.dtype):
        raise DtypeError(f"a seed is an integer, but got {array.aval}.")
    if array.shape:
        raise ShapeError(
            f"a seed is a scalar, but got {array.aval}. Use vmap to make several keys."
        )
    low = ew.convert_element_type(array, dtypes.uint32)
    high = sh.full((), 0, dtypes.uint32)
    if array.dtype.itemsize == 8:
        upper = ew.shift_right_logical(array, sh.full_like(array, 32))
        high = ew.convert_element_type(upper, dtypes.uint32)
    return generator.seed(threefry.join(high, low))


def key(
    seed: ArrayLike, *, impl: str | DType | None = None, dtype: str | DType | None = None
) -> Array:
    """Make a key from a seed.

    The key is an array without axes, whose dtype says which generator it is for. Arrays of keys are
    indexed, reshaped, stacked and compared as others are, and go through every transformation;
    there is no arithmetic on them.

    Args:
        seed: an integer scalar; Python's may lie between -2**63 and 2**63 - 1.
        impl: the generator, such as ``"threefry2x32"``, or the dtype of its keys; by default that
            of the setting ``default_prng_impl``.
        dtype: the same, by JAX's newer name.

    Returns:
        An array of type ``key<fry>[]``, or of another generator's keys.

    Raises:
        ArgumentError: the seed is out of range, or there is no such generator.
        ShapeError: the seed is not a scalar.
        DtypeError: the seed is not an integer.

    Example:
        >>> import tinyjax
        >>> key = tinyjax.random.key(7)
        >>> key
        Array((), dtype=key<fry>) overlaying:
        [0 7]
        >>> tinyjax.random.split(key, 3).shape
        (3,)
    """
    name = _named_once(impl, dtype)
    return random_wrap(PRNGKey(seed, impl=name), _generator(name).dtype)


def key_data(keys: ArrayLike) -> Array:
    """Return the words of keys, along a new last axis; those of raw keys are the keys themselves.

    Raises:
        DtypeError: they are not keys.
        ShapeError: raw keys have more or fewer words along their last axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.key_data(tinyjax.random.key(1))
        Array([0, 1], dtype=uint32)
    """
    array = opd.as_array(keys)
    return random_unwrap(array) if dtypes.is_key(array.dtype) else _raw(array)


def _raw(words: Array) -> Array:
    """Return raw keys as they are.

    Raises:
        DtypeError: they are not uint32.
        ShapeError: the last axis does not have as many elements as a key has words.
    """
    if words.dtype != dtypes.uint32:
        raise DtypeError(f"the words of keys are uint32, but got {words.aval}.")
    count = uniforms.default_generator().words
    if words.shape[-1:] != (count,):
        raise ShapeError.got(f"keys have {count} words along the last axis", words)
    return words


def wrap_key_data(
    key_bits_array: ArrayLike, *, impl: str | DType | None = None, dtype: str | DType | None = None
) -> Array:
    """Return the keys with given words.

    Args:
        key_bits_array: uint32, of shape (..., n), where a key has n words.
        impl: the generator, as in ``key``.
        dtype: the same, by JAX's newer name.

    Raises:
        ArgumentError: there is no such generator.
        DtypeError: the words are not uint32.
        ShapeError: the last axis does not have n elements.

    Example:
        >>> import numpy as np, tinyjax
        >>> tinyjax.random.wrap_key_data(np.array([3, 4], np.uint32))
        Array((), dtype=key<fry>) overlaying:
        [3 4]
    """
    return random_wrap(opd.as_array(key_bits_array), _generator(_named_once(impl, dtype)).dtype)


def key_impl(keys: ArrayLike) -> str:
    """Return the name of the generator that keys are for.

    Of raw keys it is the generator that is the default.

    Raises:
        DtypeError: they are not keys.
        ShapeError: raw keys have more or fewer words along their last axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.key_impl(tinyjax.random.key(0))
        'threefry2x32'
    """
    array = opd.as_array(keys)
    if dtypes.is_key(array.dtype):
        return generators.of_keys(array.dtype).name
    _raw(array)
    return uniforms.default_generator().name


def key_dtype(impl: str | DType | None = None) -> DType:
    """Return the dtype of the keys of a generator.

    Args:
        impl: the generator, as in ``key``.

    Raises:
        ArgumentError: there is no such generator.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.key_dtype() == tinyjax.random.key(0).dtype
        True
    """
    return _generator(impl).dtype


def clone(key: ArrayLike) -> Array:
    """Return the keys, to be used a second time on purpose: the setting ``debug_key_reuse`` asks.

    Raises:
        DtypeError: they are not keys.
        ShapeError: raw keys have more or fewer words along their last axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.clone(tinyjax.random.PRNGKey(1))
        Array([0, 1], dtype=uint32)
    """
    array = opd.as_array(key)
    if not dtypes.is_key(array.dtype):
        return _raw(array)
    return (
        tr.bind1(identities.copy_p, (array,), prim.NO_PARAMS)
        if settings().debug_key_reuse
        else array
    )


@replay.replayed
def split(key: ArrayLike, num: uniforms.Shape = 2) -> Array:
    """Make new keys from one, which is not to be used again.

    Two by default; ``num`` may be a shape. The new keys are independent of each other.

    Args:
        key: a key.
        num: how many, or the shape of the array of keys.

    Returns:
        Independent keys, of shape (num,) or ``num``; of a raw key raw ones, uint32 with one more
        axis.

    Raises:
        ArgumentError: ``key`` is not a key, or ``num`` is not a shape.

    Example:
        >>> import tinyjax
        >>> key, subkey = tinyjax.random.split(tinyjax.random.key(0))
        >>> subkey
        Array((), dtype=key<fry>) overlaying:
        [ 928981903 3453687069]
    """
    own = uniforms.one_key("split", key)
    return _like(key, own.split(uniforms.sizes_of("split", num)), own.generator)


def fold_in(key: ArrayLike, data: ArrayLike) -> Array:
    """Make a new key from a key and a number, such as the number of a step.

    The same key and number give the same new key. The number may be traced, as that of an
    iteration.

    Args:
        key: a key.
        data: an integer scalar, of which the lower 32 bits count; a Python number must be in
            [0, 2**32).

    Returns:
        A key, typed or raw as the one given.

    Raises:
        ArgumentError: ``key`` is not a key, or the number is out of range.
        ShapeError: ``data`` is not a scalar.
        DtypeError: ``data`` is not an integer.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.fold_in(tinyjax.random.key(0), 3)
        Array((), dtype=key<fry>) overlaying:
        [2467461003 3840466878]
    """
    if isinstance(data, int) and not isinstance(data, bool):
        return _folded(key, opd.scalar(data, dtypes.uint32))
    return _folded(key, opd.as_array(data))


@replay.replayed
def _folded(key: ArrayLike, number: Array) -> Array:
    """Make a new key from a key and a number, which is an array so that all are one program."""
    own = uniforms.one_key("fold_in", key, used=False)
    if not dtypes.is_integer(number.dtype):
        raise DtypeError(f"fold_in takes an integer, but got {number.aval}.")
    if number.shape:
        raise ShapeError(f"fold_in takes a scalar, but got {number.aval}. Use vmap for several.")
    number = ew.convert_element_type(number, dtypes.uint32)
    return _like(key, own.generator.fold_in(own.words, number), own.generator)


def _like(key: ArrayLike, words: Array, generator: generators.Generator) -> Array:
    """Return keys of the kind of a given one: typed, or raw."""
    is_typed = isinstance(key, Array) and dtypes.is_key(key.dtype)
    return random_wrap(words, generator.dtype) if is_typed else words
