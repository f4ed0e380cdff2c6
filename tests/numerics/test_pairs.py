"""Functions of two numbers at edges: eager, compiled and batched, against NumPy.

Random integers and floats of every dtype, with many at the ends of it, around its width, and for
floats NaNs of either sign with payloads, infinities, zeros and subnormal numbers.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.dtypes import INTEGERS, HostArray

SIZE: Final = 64
FLOATS: Final = tuple(map(np.dtype, (np.float16, np.float32, np.float64)))
#: Of integers, modulo the width, and of the bits of floats.
EXACT: Final[dict[str, str]] = {
    "add": "iu", "subtract": "iu", "multiply": "iu", "remainder": "iu", "fmod": "iu",
    "power": "iu", "gcd": "iu", "lcm": "iu", "left_shift": "iu", "right_shift": "iu",
    "bitwise_and": "iu", "bitwise_or": "iu", "bitwise_xor": "iu", "logical_and": "iuf",
    "logical_or": "iuf", "logical_xor": "iuf", "maximum": "iuf", "minimum": "iuf", "fmax": "iuf",
    "fmin": "iuf", "equal": "iuf", "not_equal": "iuf", "less": "iuf", "less_equal": "iuf",
    "greater": "iuf", "greater_equal": "iuf", "copysign": "f", "nextafter": "f",
}  # fmt: skip
#: Without NumPy's name; what is right follows from what is held above.
OTHERS: Final[dict[str, tuple[str, Callable[[Any, Any], Any]]]] = {
    "floor_divide": ("iu", jnp.floor_divide),
    "lax.div": ("iu", lax.div),
    "lax.rem": ("iu", lax.rem),
    "shift_right_logical": ("iu", lax.shift_right_logical),
    "mulhi": ("iu", lax.mulhi),
    "clamp": ("iuf", lambda x, y: lax.clamp(x, y, x)),
    "sort": ("iuf", lambda x, y: jnp.sort(jnp.concatenate([x, y]))),
    "argmax": ("iuf", lambda x, y: jnp.argmax(jnp.stack([x, y]), 0)),
    "sum": ("iu", lambda x, y: jnp.sum(jnp.stack([x, y]), 0)),
    "prod": ("iu", lambda x, y: jnp.prod(jnp.stack([x, y]), 0)),
}


def _all(x: Any, y: Any) -> dict[str, Any]:
    kind = x.dtype.kind
    results = {name: getattr(jnp, name)(x, y) for name, kinds in EXACT.items() if kind in kinds}
    return results | {name: fun(x, y) for name, (kinds, fun) in OTHERS.items() if kind in kinds}


@cache
def _forms() -> dict[str, Callable[[Any, Any], dict[str, Any]]]:
    """Ways to the same results; batched along an axis that is not the first."""

    def batched(x: Any, y: Any) -> dict[str, Any]:
        rows = tinyjax.vmap(_all, in_axes=1, out_axes=-1)(x.reshape(-1, 2), y.reshape(-1, 2))
        found = {name: result.reshape(-1) for name, result in rows.items() if name != "sort"}
        return found

    first = tinyjax.jit(_all, tier="first")
    return {
        "jit": tinyjax.jit(_all),
        "first tier": first,
        "vmap": batched,
        "jit(vmap)": tinyjax.jit(batched),
    }


def _expected(name: str, x: HostArray, y: HostArray) -> HostArray:
    if name != "power":
        return np.asarray(getattr(np, name)(x, y))
    width = 1 << 8 * x.dtype.itemsize

    def one(a: int, n: int) -> int:
        return pow(a, n, width) if n >= 0 else (a ** (n % 2) if abs(a) == 1 else 0)

    flat = [one(int(a), int(n)) % width for a, n in zip(x, y, strict=True)]
    return np.array(flat, f"u{x.dtype.itemsize}").view(x.dtype)


def _numbers(seed: int, dtype: np.dtype[Any]) -> HostArray:
    """Random bits, of which most are replaced by edges and by small numbers."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 256, SIZE * dtype.itemsize, np.uint8).view(dtype)
    if dtype.kind == "f":
        info, nan = np.finfo(dtype), np.array(np.nan, dtype)
        payloads = nan.view(f"u{dtype.itemsize}") + rng.integers(0, 99, 2).astype(np.uint16)
        edges: list[Any] = [0.0, -0.0, np.inf, -np.inf, nan, -nan, info.max, info.min, info.tiny]
        edges += [info.smallest_subnormal, -info.smallest_subnormal, 1.0, -1.0, info.eps]
        at = np.concatenate(
            [np.array(edges, dtype), payloads.astype(f"u{dtype.itemsize}").view(dtype)]
        )
    else:
        ends, width = np.iinfo(dtype), 8 * dtype.itemsize
        near = {k + i for k in (0, width, 64, ends.min, ends.max) for i in range(-3, 4)}
        at = np.array([k for k in near if ends.min <= k <= ends.max], dtype)
    return np.where(rng.random(SIZE) < 0.7, rng.choice(at, SIZE), bits)


def _is_subnormal(x: HostArray) -> HostArray:
    if x.dtype.kind != "f":
        return np.zeros(x.shape, bool)
    return np.asarray((x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny))


def _check(seed: int, dtype: np.dtype[Any]) -> None:
    x, y = _numbers(2 * seed, dtype), _numbers(2 * seed + 1, dtype)
    # compiled programs take subnormal numbers for zero
    plain = ~(_is_subnormal(x) | _is_subnormal(y))
    with np.errstate(all="ignore"):
        eager = _all(jnp.asarray(x), jnp.asarray(y))
        for name in EXACT:
            if name in eager:
                expected = _expected(name, x, y).astype(eager[name].dtype)
                np.testing.assert_array_equal(eager[name], expected, f"{name} of {x} and {y}")
        for form, fun in _forms().items():
            for name, got in fun(x, y).items():
                one, other = np.asarray(eager[name]), np.asarray(got)
                assert one.dtype == other.dtype, (form, name)
                if one.shape == x.shape:
                    one, other = one[plain], other[plain]
                elif not plain.all():
                    continue
                np.testing.assert_array_equal(other, one, f"{form} {name} of {x} and {y}")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS], ids=str)
def test_pairs_of_numbers(dtype: np.dtype[Any]) -> None:
    for seed in range(2):
        _check(seed, dtype)


@pytest.mark.fuzz
@given(st.integers(0, 2**32), st.sampled_from([*INTEGERS, *FLOATS]))
@settings()
def test_many_pairs_of_numbers(seed: int, dtype: np.dtype[Any]) -> None:
    _check(seed, dtype)
