"""The generators rbg and unsafe_rbg, whose keys are four words.

They draw with XLA's own generator (``primitives.philox``), which compiles faster than Threefry. The
keys of ``rbg`` are split and folded in as two keys of Threefry are. ``unsafe_rbg`` draws for that,
too, so that its keys are not known to be independent. Under ``vmap`` over keys one draw serves all
examples, from the first key, as in JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing as sl
from tinyjax.core.values.array import Array
from tinyjax.primitives import philox
from tinyjax.random import rules, threefry

#: How often is drawn to make a key, of which the last counts.
_DRAWS: Final = 10


def _of_both(words: Array, make: Callable[[Array], Array]) -> Array:
    """Make words of each half of a key, and put them together along the last axis."""
    halves = [make(sl.slice_in_dim(words, i, i + 2)) for i in (0, 2)]
    return sl.concatenate(halves, halves[0].ndim - 1)


def _seed(words: Array) -> Array:
    return sl.concatenate([words, words], 0)


def _bits(words: Array, dtype: dtypes.DType, shape: tuple[int, ...]) -> Array:
    _, drawn = philox.rng_bit_generator(words, shape, dtype)
    return drawn


def _split(words: Array, shape: tuple[int, ...]) -> Array:
    return _of_both(words, lambda half: threefry.split(half, shape))


def _fold_in(words: Array, number: Array) -> Array:
    return _of_both(words, lambda half: threefry.fold_in(half, number))


def _split_by_draws(words: Array, shape: tuple[int, ...]) -> Array:
    count = math.prod(shape)
    drawn = _bits(words, dtypes.uint32, (_DRAWS * count, 4))
    chosen = sl.slice_(drawn, (0, 0), drawn.shape, (_DRAWS, 1))
    return sh.reshape(chosen, (*shape, 4))


def _fold_in_by_draws(words: Array, number: Array) -> Array:
    seed = _seed(threefry.join(sh.full((), 0, dtypes.uint32), number))
    drawn = _bits(seed, dtypes.uint32, (_DRAWS, 4))
    return ew.xor_(words, sh.reshape(sl.slice_in_dim(drawn, _DRAWS - 1, _DRAWS), (4,)))


safe: Final = rules.Rules(_seed, _split, _fold_in, _bits)
unsafe: Final = rules.Rules(_seed, _split_by_draws, _fold_in_by_draws, _bits)
