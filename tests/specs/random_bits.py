"""The Threefry hash."""

from typing import Any

import jax
import numpy as np
from jax.extend.random import threefry2x32_p

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import random_bits
from tinyjax._primitives.philox import rng_bit_generator, rng_bit_generator_p
from tinyjax._primitives.random_bits import (
    random_unwrap,
    random_unwrap_p,
    random_wrap,
    random_wrap_p,
)
from tinyjax.dtypes import HostArray


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


def philox(state: HostArray, *, shape: tuple[int, ...], dtype: str) -> Any:
    """The generator by Python's integers, one counter at a time, as the paper has it."""
    words: list[int] = []
    k0, k1, low, high = (int(x) for x in state)
    counter = low | high << 32 | (k0 | k1 << 32) << 64
    size = int(np.prod(shape)) * (2 if dtype == "uint64" else 1)
    blocks = -(-size // 4)
    for n in range(blocks):
        a, b, c, d = ((counter + n) >> 32 * i & 0xFFFFFFFF for i in range(4))
        x, y = k0, k1
        for _ in range(10):
            p, q = 0xD2511F53 * a, 0xCD9E8D57 * c
            a, b, c, d = q >> 32 ^ b ^ x, q & 0xFFFFFFFF, p >> 32 ^ d ^ y, p & 0xFFFFFFFF
            x, y = (x + 0x9E3779B9) & 0xFFFFFFFF, (y + 0xBB67AE85) & 0xFFFFFFFF
        words += [a, b, c, d]
    after = ((low | high << 32) + blocks) & 0xFFFFFFFFFFFFFFFF
    drawn: HostArray = np.array(words, np.uint32)
    drawn = (drawn.view(np.uint64) if dtype == "uint64" else drawn)[: int(np.prod(shape))]
    new = np.array([k0, k1, after & 0xFFFFFFFF, after >> 32], np.uint32)
    return new, drawn.astype(dtype).reshape(shape)


def draw(words: Any, *, shape: tuple[int, ...], dtype: str) -> Any:
    if dtype != "key":
        return random_bits.random_bits(words, shape, np.dtype(dtype))
    return random_unwrap(random_bits.random_bits(words, shape, dtypes.key_threefry))


def drawn_by_hashing(words: HostArray, *, shape: tuple[int, ...], dtype: str) -> Any:
    """The positions in the array, hashed for each key."""
    batch, size = words.shape[:-1], int(np.prod(shape))
    k1, k2 = (np.repeat(words[..., i].reshape(-1), size) for i in range(2))
    low = np.tile(np.arange(size, dtype=np.uint32), k1.size // max(size, 1))
    first, second = threefry(k1, k2, np.zeros_like(low), low)
    if dtype == "key":
        return np.stack([first, second], 1).reshape(*batch, *shape, 2)
    wide = first.astype(np.uint64) << np.uint64(32) | second
    return (wide if dtype == "uint64" else (first ^ second).astype(dtype)).reshape(*batch, *shape)


def jax_drawn(words: HostArray, *, shape: tuple[int, ...], dtype: str) -> Any:
    keys = jax.random.wrap_key_data(words.reshape(-1, 2))
    if dtype == "key":
        drawn = jax.vmap(lambda key: jax.random.key_data(jax.random.split(key, shape)))(keys)
    else:
        drawn = jax.vmap(lambda key: jax.random.bits(key, shape, dtype))(keys)
    return drawn.reshape(*words.shape[:-1], *drawn.shape[1:])


STATE = ArraySpec((4,), np.uint32, 0, 2**32 - 1)
KEY_WORDS = [Case(ArraySpec(shape, np.uint32, 0, 2**32 - 1)) for shape in ((2,), (3, 4), (0, 2))]

SPECS = [
    Spec(
        "random_bits",
        random_bits.random_bits_p,
        draw,
        [
            Case(ArraySpec((*batch, 2), np.uint32, 0, 2**32 - 1), shape=shape, dtype=dtype)
            for batch, shape in (((), (3,)), ((), (4, 5)), ((2, 2), (9,)), ((3,), ()), ((), (0,)))
            for dtype in ("uint8", "uint16", "uint32", "uint64", "key")
        ],
        numpy=drawn_by_hashing,
        jax=jax_drawn,
    ),
    Spec(
        "rng_bit_generator",
        rng_bit_generator_p,
        lambda state, shape, dtype: rng_bit_generator(state, shape, np.dtype(dtype)),
        [
            Case(STATE, shape=shape, dtype=dtype)
            for shape in ((), (5,), (2, 3))
            for dtype in ("uint8", "uint16", "uint32", "uint64")
        ],
        numpy=philox,
        jax=lambda state, shape, dtype: tuple(jax.lax.rng_bit_generator(state, shape, dtype)),
        skip={"vmap": "as in jax, one draw from the first state serves all examples"},
    ),
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
        random_bits.threefry2x32_p,
        random_bits.threefry2x32,
        [words(3), words(), words(2, 0), words(5, 7)],
        numpy=threefry,
        jax=jax_threefry,
    ),
]
