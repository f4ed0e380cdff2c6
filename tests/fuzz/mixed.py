"""Steps among values of other dtypes, and among special values: NaN, infinities, ends of types.

Such a value depends on the data, so that it is traced, but is constant where the data changes
little. Its operations are exact in its dtype, so that every way to compute them agrees.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

import tinyjax.numpy as jnp
from fuzz.plain import F64, I32, constant, fitted
from tinyjax import dtypes, lax
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import DType
from tinyjax.errors import PromotionError

TYPES: Final = (*dtypes.INTEGERS, dtypes.bool_, dtypes.float32, dtypes.float64, dtypes.bfloat16)
#: Beside an array these are weak.
NUMBERS: Final = (2, 0.1, True, 0.25, -1.5, 3)


def level(x: Array, most: int) -> Array:
    """Integers from 0 to ``most`` for each element, constant but for jumps."""
    size = ew.abs_(ew.sin(ew.mul(x, constant(x, 1.7))))
    return ew.convert_element_type(ew.floor(ew.mul(size, constant(x, most + 0.99))), I32)


def chooser(x: Array, y: Array, k: int) -> Callable[[int], int]:
    """Numbers that depend on all that is known of a step."""
    numbers = iter(
        np.random.default_rng([k, x.size, x.ndim, y.size, y.ndim]).integers(0, 1 << 20, 64)
    )
    return lambda n: int(next(numbers)) % n


def beside(x: Array, code: Array) -> Array:
    """A float64 array with what was found in another dtype."""
    found = ew.convert_element_type(code, F64)
    return ew.add(x, ew.mul(constant(x, 0.1), fitted(ew.sin(found), x.shape)))


def expect(out: Array, dtype: DType) -> Array:
    assert out.dtype == dtype, f"{out.aval}, and not {dtype}"
    return out


def mixed(x: Array, y: Array, k: int) -> Array:
    """A function of two arrays of any two dtypes, or of one and a Python number."""
    pick = chooser(x, y, k)
    first, second = TYPES[pick(len(TYPES))], TYPES[pick(len(TYPES))]
    a = ew.convert_element_type(level(x, 3), first)
    b = ew.convert_element_type(level(fitted(y, x.shape), 1), second)
    wanted = jnp.result_type(a, b)
    assert wanted == jnp.result_type(first, second) == jnp.result_type(b, first)
    # a float64 operand has a derivative, which goes through the promotion of the other
    live = ew.sin(x) if first == F64 else a
    one_or_two = jnp.where(
        b > 0, jnp.ones((), second), ew.convert_element_type(as_array(2), second)
    )
    number = NUMBERS[pick(len(NUMBERS))]
    wide = jnp.result_type(a, number)
    # sums of what has no unit in the last place to lose
    exact = first == F64 or first in dtypes.INTEGERS
    choices: list[Callable[[], Array]] = [
        lambda: expect(live + b, wanted),
        lambda: expect(b * live, wanted),
        lambda: expect(jnp.maximum(a, b), wanted),
        lambda: expect(jnp.where(b > 0, live, b), wanted),
        lambda: expect(live / one_or_two, dtypes.to_inexact(wanted)),
        lambda: expect(jnp.concatenate([jnp.ravel(b), jnp.ravel(live)]), wanted),
        lambda: expect(jnp.stack([live, b]), wanted),
        lambda: expect(jnp.select([b > 0, a > 1], [live, b], a), wanted),
        lambda: expect(jnp.floor_divide(a, one_or_two), _counted(wanted)),
        # where the predicate is at hand the branch is called, and nothing is promoted
        lambda: lax.cond(jnp.sum(level(y, 1)) > 0, lambda: live, lambda: b).astype(F64),
    ]
    with_number: list[Callable[[], Array]] = [
        lambda: expect(live + number, wide),
        lambda: expect(number * live, wide),
        lambda: expect(jnp.where(b > 0, live, number), wide),
        lambda: jnp.mean(live + number),
    ]
    if wide == F64 and (exact or first == dtypes.bool_):
        choices += with_number
    if exact and dtypes.to_inexact(first) == F64:
        choices += [lambda: jnp.mean(live), lambda: jnp.var(a), lambda: jnp.sqrt(a), lambda: a / 3]
    try:
        out = choices[pick(len(choices))]()
    except PromotionError:
        return ew.cos(x)
    return beside(x, out)


def _counted(dtype: DType) -> DType:
    return dtypes.default_int() if dtype == dtypes.bool_ else dtype


# Special values

FLOATS: Final = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5, 1.7e308, 0.5, -1.0])


def specials(x: Array, table: np.ndarray, shift: int) -> Array:
    """Elements of a table, chosen by the data."""
    places = level(x, len(table) - 1)
    return as_array(np.roll(table, shift))[places]


def code_of(x: Array) -> Array:
    """Small numbers that tell special values apart, but for the signs of zeros."""
    known = jnp.clip(jnp.where(jnp.isfinite(x), x, 0.0), -3.0, 3.0)
    return jnp.where(jnp.isnan(x), 5.0, jnp.where(jnp.isinf(x), 6.0 * jnp.sign(x), known))


def special_floats(x: Array, y: Array, k: int) -> Array:
    """NaN, infinities and zeros of either sign."""
    pick = chooser(x, y, k)
    s, t = specials(x, FLOATS, pick(10)), specials(fitted(y, x.shape), FLOATS, pick(10))
    line = jnp.ravel(s)
    last = jnp.sort(line)
    choices: list[Callable[[], Array]] = [
        lambda: jnp.isnan(s) + 2 * jnp.isinf(s) + 4 * jnp.signbit(s) + 8 * (s > 0),
        lambda: (s < t) + 2 * (s <= t) + 4 * (s == t) + 8 * (s != t),
        lambda: code_of(jnp.maximum(s, t)) + 20 * code_of(jnp.minimum(s, t)),
        lambda: code_of(jnp.fmax(s, t)) + 20 * code_of(jnp.fmin(s, t)),
        lambda: code_of(jnp.floor(s)) + 20 * code_of(jnp.round(t)),
        lambda: code_of(jnp.sign(s)) + 20 * code_of(jnp.trunc(t)),
        lambda: code_of(s + t) + 20 * code_of(s * t),
        lambda: code_of(s / t),
        lambda: code_of(jnp.floor_divide(s, t)) + 20 * code_of(jnp.remainder(s, t)),
        lambda: code_of(jnp.sqrt(s)) + 20 * code_of(jnp.exp(t)),
        lambda: code_of(jnp.log(s)) + 20 * code_of(jnp.tanh(t)),
        lambda: code_of(jnp.copysign(s, t)) + 20 * jnp.signbit(jnp.copysign(s, t)),
        lambda: code_of(jnp.ldexp(s, level(y, 3)[(0,) * y.ndim])),
        lambda: code_of(jnp.nan_to_num(s, nan=1.0, posinf=2.0, neginf=-2.0)),
        lambda: code_of(last),
        lambda: jnp.argsort(line),
        lambda: jnp.argmax(line) + 20 * jnp.argmin(line),
        lambda: jnp.searchsorted(last, jnp.ravel(t)),
        lambda: code_of(lax.cummax(line)) + 20 * code_of(lax.cummin(line)),
        lambda: code_of(jnp.max(s)) + 20 * code_of(jnp.nanmin(s)),
        lambda: (s > t).any() + 2 * jnp.all(s != t),
        lambda: jnp.astype(s, TYPES[pick(8)]) % 7,
        lambda: code_of(jnp.clip(s, -1.0, 2.0)),
        lambda: code_of(jnp.where(jnp.isnan(s), t, s)),
    ]
    return beside(x, choices[pick(len(choices))]())


def special_integers(x: Array, y: Array, k: int) -> Array:
    """The ends of the integer types, and division by zero."""
    pick = chooser(x, y, k)
    dtype = dtypes.INTEGERS[pick(8)]
    ends = np.iinfo(dtype)
    table = np.array([0, 1, 2, 7, ends.max, ends.min, ends.max - 1, ends.max // 2], dtype)
    if ends.min < 0:
        table[1] = -1
    s, t = specials(x, table, pick(8)), specials(fitted(y, x.shape), table, pick(8))
    small = ew.convert_element_type(level(x, 3), dtype)
    choices: list[Callable[[], Array]] = [
        lambda: s + t,
        lambda: s - t,
        lambda: s * t,
        lambda: s // t,
        lambda: s % t,
        lambda: jnp.fmod(s, t),
        lambda: lax.rem(s, t),
        lambda: lax.div(s, t),
        lambda: -s,
        lambda: jnp.abs(s),
        lambda: jnp.sign(s),
        lambda: jnp.power(s, small),
        lambda: s**3,
        lambda: s << small,
        lambda: s >> small,
        lambda: s & t | ~s ^ t,
        lambda: jnp.bitwise_count(s),
        lambda: jnp.maximum(s, t) - jnp.minimum(s, t),
        lambda: jnp.sort(jnp.ravel(s)),
        lambda: jnp.cumsum(jnp.ravel(s)),
        lambda: jnp.prod(s),
        lambda: jnp.searchsorted(jnp.sort(jnp.ravel(s)), jnp.ravel(t)),
        lambda: jnp.diff(jnp.ravel(s), append=jnp.ravel(t)),
        lambda: (s < t) + 2 * (s <= t) + 4 * (s == t),
        lambda: jnp.astype(jnp.astype(s, dtypes.INTEGERS[pick(8)]), dtype),
        lambda: code_of(jnp.astype(jnp.sqrt(jnp.abs(jnp.astype(s, F64))) % 7.0, F64)),
    ]
    found = choices[pick(len(choices))]()
    return beside(x, found if dtypes.is_inexact(found.dtype) else found % 7)


MIXED: Final[dict[str, Callable[[Array, Array, int], Array]]] = {
    "mixed": mixed,
    "special_floats": special_floats,
    "special_integers": special_integers,
}
