"""Double-double arithmetic: sums of two numbers of float64, the shadows of float64.

The algorithms are those of T. J. Dekker, A floating-point technique for extending the available
precision, 1971, and D. E. Knuth; matrices are multiplied in slices whose products are exact (K.
Ozaki et al., Error-free transformations of matrix multiplication, 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from math import factorial, log, prod
from typing import Any, Final, TypeAlias

from tinyjax import dtypes, errors
from tinyjax._primitives import dot
from tinyjax.core.primitives import broadcast, elementwise as ew, reduce, shape as sh, slicing
from tinyjax.core.primitives.shape import full_like, zeros_like
from tinyjax.core.tracing.primitive import ZERO, Primitive, RuleKey, Tangent
from tinyjax.core.tracing.trace import bind, bind1
from tinyjax.core.transforms.jvp import jvp_flat
from tinyjax.core.values import Array

#: A high and a low part; or the one part of an integer or a bool.
Pair: TypeAlias = tuple[Array, ...]
#: From the operands to the result, of the parameters.
DoubledRule: TypeAlias = Callable[[Sequence[Pair], Any], Pair]
DOUBLED: Final[RuleKey[DoubledRule]] = RuleKey("doubled")

#: Primitives that move elements and compute nothing.
MOVING: Final = frozenset(
    (
        *("broadcast_in_dim", "concatenate", "copy", "dynamic_slice", "dynamic_update_slice"),
        *("gather", "iota", "name", "optimization_barrier", "pad", "reshape", "rev", "scatter"),
        *("select", "slice", "split", "stop_gradient", "transpose"),
    )
)
#: Others that round nothing.
EXACT: Final = frozenset(
    (
        *("abs_right", "abs_slope", "argmax", "argmin", "ceil", "cummax", "cummin", "floor"),
        *("is_finite", "max_right", "min_right", "reduce_and", "reduce_max", "reduce_min"),
        *("reduce_or", "round", "sign", "sort", "top_k"),
    )
)
#: The rounding that other operations are taken to have, relative to their results.
_ROUNDING: Final = 2.0**-53
#: The number of slices of an operand of a product, of about 24 bits, and so of all 106.
_SLICES: Final = 5


def apply(
    primitive: Primitive[Any], operands: Sequence[Pair], params: Any
) -> tuple[Sequence[Pair], bool]:
    """Apply a primitive to pairs; return the results, and whether they are without its rounding.

    A primitive without a rule is applied to the high parts, and its derivative to the low ones. Its
    own rounding is then unknown, and taken for half a unit, so that what magnifies it is seen.
    """
    rule = primitive.rules.extensions.get(DOUBLED)
    if rule is not None:
        return [rule(operands, params)], True
    highs_in = [p[0] for p in operands]
    tangents: list[Tangent] = [p[1] if len(p) == 2 else ZERO for p in operands]
    if primitive.name in MOVING:
        moved = [bind(primitive, [p[i] for p in operands], params) for i in (0, -1)]
        return [(x, _finite(y)) for x, y in zip(*moved, strict=True)], True
    is_exact, pairs = primitive.name in EXACT, list[Pair]()
    try:
        highs, lows = jvp_flat(lambda *xs: bind(primitive, xs, params), highs_in, tangents)
    except errors.TinyjaxError:  # without a derivative
        highs, lows, is_exact = [*bind(primitive, highs_in, params)], [], False
    for high, tangent in zip_longest(highs, lows):
        if high.dtype != dtypes.float64:
            pairs.append((high,))
            continue
        low = _finite(tangent) if isinstance(tangent, Array) else zeros_like(high)
        unit = full_like(high, 0.0 if is_exact else _ROUNDING)
        pairs.append(two_sum(high, ew.add(low, _finite(ew.mul(high, unit)))))
    return pairs, is_exact


def _finite(e: Array) -> Array:
    return ew.select(ew.is_finite(e), e, zeros_like(e))


def _number(x: Pair, value: float, low: float = 0.0) -> Pair:
    return full_like(x[0], value), full_like(x[0], low)


def two_sum(a: Array, b: Array) -> Pair:
    """Return a sum and its error, which is 0 where the sum is not finite."""
    s = ew.add(a, b)
    v = ew.sub(s, a)
    return s, _finite(ew.add(ew.sub(a, ew.sub(s, v)), ew.sub(b, v)))


def _split(a: Array) -> Pair:
    t = ew.mul(a, full_like(a, 134217729.0))
    high = ew.sub(t, ew.sub(t, a))
    return high, ew.sub(a, high)


def two_product(a: Array, b: Array) -> Pair:
    """Return a product and its error, which is 0 where the product is not finite."""
    p, (a1, a2), (b1, b2) = ew.mul(a, b), _split(a), _split(b)
    e = ew.add(ew.add(ew.sub(ew.mul(a1, b1), p), ew.mul(a1, b2)), ew.mul(a2, b1))
    return p, _finite(ew.add(e, ew.mul(a2, b2)))


def add(x: Pair, y: Pair) -> Pair:
    """Return the sum of two pairs."""
    (s, e), (t, f) = two_sum(x[0], y[0]), two_sum(x[1], y[1])
    s, e = two_sum(s, ew.add(e, t))
    return two_sum(s, ew.add(e, f))


def neg(x: Pair) -> Pair:
    """Return the negative of a pair."""
    return ew.neg(x[0]), ew.neg(x[1])


def sub(x: Pair, y: Pair) -> Pair:
    """Return the difference of two pairs."""
    return add(x, neg(y))


def mul(x: Pair, y: Pair) -> Pair:
    """Return the product of two pairs."""
    p, e = two_product(x[0], y[0])
    return two_sum(p, ew.add(e, _finite(ew.add(ew.mul(x[0], y[1]), ew.mul(x[1], y[0])))))


def div(x: Pair, y: Pair) -> Pair:
    """Return the quotient of two pairs, by steps of a long division."""
    q: Pair = (ew.div(x[0], y[0]), zeros_like(x[0]))
    for _ in range(2):
        step = _finite(ew.div(sub(x, mul(q, y))[0], y[0]))
        q = add(q, (step, zeros_like(step)))
    return q


def sqrt(x: Pair) -> Pair:
    """Return the square root of a pair, by a step of Newton's from that of the high part."""
    root = (ew.sqrt(x[0]), zeros_like(x[0]))
    return two_sum(root[0], _finite(ew.div(sub(x, mul(root, root))[0], ew.add(root[0], root[0]))))


def power(x: Pair, exponent: int) -> Pair:
    """Return an integer power of a pair."""
    result = _number(x, 1.0)
    for bit in f"{abs(exponent):b}":
        result = mul(result, result)
        result = mul(result, x) if bit == "1" else result
    return div(_number(x, 1.0), result) if exponent < 0 else result


def exp(x: Pair) -> Pair:
    """Return the exponential of a pair, from a series of a 512th of its rest by log 2."""
    whole = ew.round_(ew.div(x[0], full_like(x[0], log(2.0))))
    log2 = _number(x, 0.6931471805599453, 2.3190468138462996e-17)
    rest = sub(x, mul((whole, zeros_like(whole)), log2))
    small = tuple([ew.mul(p, full_like(p, 2.0**-9)) for p in rest])
    series = _number(x, 0.0)
    for n in range(9, 0, -1):  # exp(x) - 1
        series = mul(small, add(div(_number(x, 1.0), _number(x, float(factorial(n)))), series))
    for _ in range(9):
        series = add(mul(series, series), add(series, series))
    result = add(series, _number(x, 1.0))
    high = ew.exp(x[0])  # also where it is 0 or infinite
    half = [ew.mul(p, ew.exp2(ew.sub(whole, full_like(whole, 1.0)))) for p in result]
    known, low = ew.add(half[0], half[0]), ew.add(half[1], half[1])
    good = ew.and_(ew.is_finite(known), ew.gt(high, full_like(high, 1e-290)))
    return ew.select(good, known, high), ew.select(good, low, zeros_like(low))


def logarithm(x: Pair) -> Pair:
    """Return the logarithm of a pair, by a step of Newton's from that of the high part."""
    y = (ew.log(x[0]), zeros_like(x[0]))
    step = sub(mul(x, exp(neg(y))), _number(x, 1.0))
    return two_sum(y[0], _finite(step[0]))


def sums(x: Pair, axes: tuple[int, ...]) -> Pair:
    """Return the sums of a pair's elements along axes, halves added to halves."""
    shape = x[0].shape
    kept = [i for i in range(len(shape)) if i not in axes]
    rest, count = tuple([shape[i] for i in kept]), prod([shape[i] for i in axes])
    parts = [sh.reshape(sh.transpose(p, (*axes, *kept)), (count, *rest)) for p in x]
    while count != 1:
        half = (count + 1) // 2 or 1
        parts = [slicing.pad_in_dim(p, 0, 2 * half - count, 0) for p in parts]
        lows = tuple([slicing.slice_in_dim(p, 0, half) for p in parts])
        parts = [*add(lows, tuple([slicing.slice_in_dim(p, half, 2 * half) for p in parts]))]
        count = half
    return sh.reshape(parts[0], rest), sh.reshape(parts[1], rest)


def product(x: Pair, y: Pair, params: dot.DotParams) -> Pair:
    """Return a product of matrices, from products of slices that float64 holds exactly."""
    count = prod([x[0].shape[i] for i in params.lhs_contract])
    bits = (52 - max(count - 1, 0).bit_length()) // 2
    lefts, rights = _slices(x, params.lhs_contract, bits), _slices(y, params.rhs_contract, bits)
    whole = bind1(dot.dot_general_p, (x[0], y[0]), params)
    total: Pair = (zeros_like(whole), zeros_like(whole))
    for i in range(_SLICES - 1, -1, -1):
        for right in rights[: _SLICES - i]:
            part = bind1(dot.dot_general_p, (lefts[i], right), params)
            total = add(total, (part, zeros_like(part)))
    good = ew.is_finite(total[0])
    return ew.select(good, total[0], whole), ew.select(good, total[1], zeros_like(whole))


def _slices(x: Pair, axes: tuple[int, ...], bits: int) -> list[Array]:
    """Return arrays that sum to a pair, of so many bits below the largest along the axes."""
    if not x[0].size:
        return [x[0]] * _SLICES
    kept = tuple([i for i in range(x[0].ndim) if i not in axes])
    largest = reduce.reduce_max(ew.abs_(x[0]), tuple(sorted(axes)))
    unit = ew.exp2(ew.ceil(ew.div(ew.log(largest), full_like(largest, log(2.0)))))
    unit = broadcast.broadcast_in_dim(unit, x[0].shape, kept)
    slices: list[Array] = []
    for i in range(_SLICES):
        # the last bit of this number is the slice's: what is added to it is rounded there
        shift = ew.mul(unit, full_like(unit, 1.5 * 2.0 ** (53 - bits * (i + 1))))
        slices.append(ew.sub(ew.add(x[0], shift), shift))
        x = two_sum(ew.sub(x[0], slices[-1]), x[1])
    return slices


def _extremum(operands: Sequence[Pair], params: Any, wins: Any = ew.ge) -> Pair:
    x, y = operands
    difference = sub(x, y)[0]
    first = wins(difference, zeros_like(difference))
    nan = ew.add(x[0], y[0])
    high = ew.select(first, x[0], ew.select(ew.eq(nan, nan), y[0], nan))
    return high, ew.select(first, x[1], y[1])


def _compared(primitive: Primitive[Any]) -> DoubledRule:
    def rule(operands: Sequence[Pair], params: Any) -> Pair:
        highs, *lows = [bind1(primitive, xs, params) for xs in zip(*operands, strict=True)]
        return (
            ew.select(ew.eq(operands[0][0], operands[1][0]), lows[0], highs) if lows else highs,
        )

    return rule


def _absolute(operands: Sequence[Pair], params: Any) -> Pair:
    ((high, low),) = operands
    return ew.abs_(high), ew.select(ew.lt(high, zeros_like(high)), ew.neg(low), low)


_RULES: Final[dict[Primitive[Any], DoubledRule]] = {
    ew.add: lambda operands, params: add(*operands),
    ew.sub: lambda operands, params: sub(*operands),
    ew.mul: lambda operands, params: mul(*operands),
    ew.div: lambda operands, params: div(*operands),
    ew.neg: lambda operands, params: neg(*operands),
    ew.sqrt: lambda operands, params: sqrt(*operands),
    ew.exp: lambda operands, params: exp(*operands),
    ew.log: lambda operands, params: logarithm(*operands),
    ew.abs_: _absolute,
    ew.max_: _extremum,
    ew.min_: lambda operands, params: _extremum(operands, params, ew.le),
    ew.integer_pow_p: lambda operands, params: power(operands[0], params.exponent),
    broadcast.reduce_sum_p: lambda operands, params: sums(operands[0], params.axes),
    dot.dot_general_p: lambda operands, params: product(operands[0], operands[1], params),
    **{p: _compared(p) for p in (ew.eq, ew.ne, ew.lt, ew.le, ew.gt, ew.ge, ew.tie)},
}
for _primitive, _rule in _RULES.items():
    _primitive.def_rule(DOUBLED)(_rule)
