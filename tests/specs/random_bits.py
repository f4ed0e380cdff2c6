"""The Threefry hash."""

from typing import Any

import jax
import numpy as np
from jax.extend.random import threefry2x32_p

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax.dtypes import HostArray
from tinyjax.primitives import random_bits as rb
from tinyjax.primitives.keys import random_unwrap, random_unwrap_p, random_wrap, random_wrap_p


def words(*shape: int) -> Case:
    return Case(*(ArraySpec(shape, np.uint32, 0, 2**32 - 1) for _ in range(4)))


def threefry(k1: Any, k2: Any, x1: Any, x2: Any) -> Any:
    """The hash by Python's integers, one pair at a time, as the paper has it."""
    mask = 2**32 - 1
    out = np.empty((2, k1.size), np.uint32)
    for i, (a, b, x, y) in enumerate(
        zip(*(v.reshape(-1).tolist() for v in (k1, k2, x1, x2)), strict=True)
    ):
        keys = [a, b, 0x1BD11BDA ^ a ^ b]
        x, y = (x + a) & mask, (y + b) & mask
        for round_ in range(20):
            r = (13, 15, 26, 6, 17, 29, 16, 24)[round_ % 8]
            x = (x + y) & mask
            y = ((y << r) & mask | y >> (32 - r)) ^ x
            if round_ % 4 == 3:
                n = round_ // 4 + 1
                x, y = (x + keys[n % 3]) & mask, (y + keys[(n + 1) % 3] + n) & mask
        out[:, i] = x, y
    return tuple(out.reshape(2, *k1.shape))


def jax_threefry(*operands: HostArray) -> Any:
    return tuple(threefry2x32_p.bind(*operands))


def rewrapped(words: Any) -> Any:
    """The words of the keys of words; keys themselves are no numbers to compare."""
    return random_unwrap(random_wrap(words, dtypes.KEYS[words.shape[-1] // 4]))


def jax_rewrapped(words: HostArray) -> Any:
    impl = "rbg" if words.shape[-1] == 4 else "threefry2x32"
    return jax.random.key_data(jax.random.wrap_key_data(words, impl=impl))


KEY_WORDS = [Case(ArraySpec(shape, np.uint32, 0, 2**32 - 1)) for shape in ((2,), (3, 4), (0, 2))]

SPECS = [
    Spec(
        "random_wrap",
        random_wrap_p,
        rewrapped,
        KEY_WORDS,
        numpy=lambda words: words,
        jax=jax_rewrapped,
    ),
    Spec(
        "random_unwrap",
        random_unwrap_p,
        rewrapped,
        KEY_WORDS,
        numpy=lambda words: words,
        jax=jax_rewrapped,
    ),
    Spec(
        "threefry2x32",
        rb.threefry2x32_p,
        rb.threefry2x32,
        [words(3), words(), words(2, 0), words(5, 7)],
        numpy=threefry,
        jax=jax_threefry,
    ),
]
