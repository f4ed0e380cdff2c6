"""Elementwise primitives: arithmetic, powers, exponentials, trigonometry, comparison, selection.

Each is one declaration in the table of its section, with its derivative, and a public function.
Formulas are the textbook ones; where a form is chosen for accuracy a comment says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import (
    Array,
    ConcreteArray,
    followed,
    given_number,
    met_splats,
    remember_splat,
)
from tinyjax.core.avals import ShapedArray
from tinyjax.core.jaxpr import Var
from tinyjax.core.primitive import (
    NO_PARAMS,
    ZERO,
    NoParams,
    Params,
    Primitive,
    Tangent,
)
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, HostArray, HostResult
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives.families import (
    HloFormula,
    binary,
    check_kind,
    declare_addition,
    def_elementwise_batch,
    def_elementwise_lowering,
    elementwise_type,
    not_linear,
    unary,
)
from tinyjax.primitives.shape import full_like, instantiate
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Value, Values

T = TypeVar("T")


def _constant(x: Array, value: float) -> Array:
    """An operand of a formula; zeros, which may be all there is of a derivative, are made anew."""
    found = met_splats.get((value, type(value), x.aval))
    if found is not None:
        return found
    made = full_like(x, value)
    return remember_splat(value, made) if value else made


# Arithmetic


# Of bools XLA folds sums and products as those of bits.

add_p = binary(
    "add",
    np.add,
    lambda b, x, y: b.or_(x, y) if x.dtype == dtypes.bool_ else b.add(x, y),
    "biufc",
    (lambda t, z, x, y: t, lambda t, z, x, y: t),
)
declare_addition(add_p)
sub_p = binary(
    "sub",
    np.subtract,
    "stablehlo.subtract",
    "iufc",
    (lambda t, z, x, y: t, lambda t, z, x, y: neg(t)),
)
mul_p = binary(
    "mul",
    np.multiply,
    lambda b, x, y: b.and_(x, y) if x.dtype == dtypes.bool_ else b.mul(x, y),
    "biufc",
    (lambda t, z, x, y: mul(t, y), lambda t, z, x, y: mul(t, x)),
)


def _divide(x: HostArray, y: HostArray) -> HostArray:
    if dtypes.kind(x.dtype) not in "iu":
        return np.asarray(np.true_divide(x, y)).astype(x.dtype, copy=False)
    # Toward zero, with XLA's answers where C has none: x / 0 is -1 and min / -1 is min.
    zero = y == 0
    safe = np.where(zero, np.ones_like(y), y)
    quotient = np.floor_divide(x, safe)
    inexact = (quotient * safe != x) & ((x < 0) != (safe < 0))
    quotient = np.where(inexact, quotient + np.ones_like(y), quotient)
    return np.where(zero, np.zeros_like(y) - np.ones_like(y), quotient).astype(x.dtype, copy=False)


def _remainder(x: HostArray, y: HostArray) -> HostArray:
    if dtypes.kind(x.dtype) not in "iu":
        return np.asarray(np.fmod(x, y))
    zero = y == 0
    return np.where(zero, x, np.fmod(x, np.where(zero, np.ones_like(y), y))).astype(
        x.dtype, copy=False
    )


def _by_safe_divisor(hlo: str, of_zero: Callable[[Lowering, Value], Value]) -> HloFormula:
    """A division that divides no integer by zero: XLA dies where it folds one of constants.

    Args:
        hlo: the operation.
        of_zero: gives the result where the divisor is zero, from the dividend.
    """

    def divide(b: Lowering, x: Value, y: Value) -> Value:
        known = b.known(y)
        if dtypes.kind(x.dtype) not in "iu" or (known is not None and known.all()):
            return b.op(hlo, x, y)
        is_zero = b.compare(y, b.full_like(y, 0), "EQ")
        quotient = b.op(hlo, x, b.select(is_zero, b.full_like(y, 1), y))
        return b.select(is_zero, of_zero(b, x), quotient)

    return divide


def _all_bits(b: Lowering, x: Value) -> Value:
    return b.full_like(x, int(np.iinfo(x.dtype).max) if x.dtype.kind == "u" else -1)


div_p = binary(
    "div",
    _divide,
    _by_safe_divisor("stablehlo.divide", _all_bits),
    "iufc",
    (lambda t, z, x, y: div(t, y), lambda t, z, x, y: neg(div(mul(t, z), y))),
    broadcasts=True,
)
rem_p = binary(
    "rem",
    _remainder,
    _by_safe_divisor("stablehlo.remainder", lambda b, x: x),
    "iuf",
    # x - y * trunc(x / y), whose quotient is locally constant
    (lambda t, z, x, y: t, lambda t, z, x, y: neg(mul(t, _truncate(div(x, y))))),
    broadcasts=True,
)


def _truncate(x: Array) -> Array:
    return mul(sign(x), floor(abs_(x)))


def _share(t: Array, won: Array, tied: Array) -> Array:
    """The tangent of an extremum: all to the winner, half to each where they tie."""
    half = mul(t, _constant(t, 0.5))
    return select(tied, half, select(won, t, _constant(t, 0.0)))


def _extremum(name: str, impl: np.ufunc, hlo: HloFormula) -> Primitive[NoParams]:
    return binary(
        name,
        impl,
        hlo,
        "biufc",
        (
            lambda t, z, x, y: _share(t, eq(z, x), eq(x, y)),
            lambda t, z, x, y: _share(t, eq(z, y), eq(x, y)),
        ),
    )


max_p = _extremum("max", np.maximum, Lowering.max)
min_p = _extremum("min", np.minimum, Lowering.min)


@add_p.def_transpose
def _add_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    return (ct, ct)


@sub_p.def_transpose
def _sub_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,), (_, y) = cotangents, operands
    return (ct, neg(ct) if ct is not ZERO and isinstance(y, Var) else None)


@mul_p.def_transpose
def _mul_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,), (x, y) = cotangents, operands
    if ct is ZERO:
        return (ZERO, ZERO)
    if isinstance(x, Var):
        if isinstance(y, Var):
            raise not_linear("mul", "both operands at once")
        return (mul(ct, y), None)
    return (None, mul(ct, x))


@div_p.def_transpose
def _div_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,), (_, y) = cotangents, operands
    if isinstance(y, Var):
        raise not_linear("div", "the divisor")
    return (ct if ct is ZERO else div(ct, y), None)


# One operand: signs, roots, exponentials

neg_p = unary("neg", np.negative, "stablehlo.negate", "iufc", lambda t, z, x: neg(t))


@neg_p.def_transpose
def _neg_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    return (ct if ct is ZERO else neg(ct),)


def _sign(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):
        size = np.abs(x)
        return np.where(
            size == 0, np.zeros_like(x), x / np.where(size == 0, np.ones_like(size), size)
        )
    return np.asarray(np.sign(x))


def _sign_derivative(t: Array, z: Array, x: Array) -> Array:
    if not dtypes.is_complex(x.dtype):
        return _constant(t, 0.0)
    # z = x / |x|, so dz = (dx - z * Re(conj(z) dx)) / |x|
    along = mul(z, complex_(real(mul(conj(z), t)), _constant(real(t), 0.0)))
    size = abs_(x)
    slope = div(sub(t, along), complex_(size, _constant(size, 0.0)))
    return select(eq(size, _constant(size, 0.0)), _constant(t, 0.0), slope)  # as for real x = 0


# StableHLO has neither sign nor abs of unsigned integers.


def _lower_sign(b: Lowering, x: Value) -> Value:
    return b.min(x, b.full_like(x, 1)) if x.dtype.kind == "u" else b.op("stablehlo.sign", x)


def _lower_abs(b: Lowering, x: Value) -> Value:
    return x if x.dtype.kind == "u" else b.abs(x)


sign_p = unary("sign", _sign, _lower_sign, "iufc", _sign_derivative)


floor_p = unary("floor", np.floor, "stablehlo.floor", "f", None)
ceil_p = unary("ceil", np.ceil, "stablehlo.ceil", "f", None)
round_p = unary("round", np.rint, "stablehlo.round_nearest_even", "f", None)
is_finite_p = unary(
    "is_finite", np.isfinite, "stablehlo.is_finite", "f", None, lambda _: dtypes.bool_
)
not_p = unary("not", np.invert, "stablehlo.not", "biu", None)
population_count_p = unary(
    "population_count",
    lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype),
    "stablehlo.popcnt",
    "iu",
    None,
)


def _abs_derivative(t: Array, z: Array, x: Array) -> Array:
    if dtypes.is_complex(x.dtype):
        return real(mul(t, conj(sign(x))))
    return mul(t, sign(x))


abs_p = unary("abs", np.abs, _lower_abs, "iufc", _abs_derivative, dtypes.real_part)

exp_p = unary("exp", np.exp, "stablehlo.exponential", "fc", lambda t, z, x: mul(t, z))


def _exp2(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):
        return np.asarray(np.exp(x * x.real.dtype.type(np.log(2.0))))
    return np.asarray(np.exp2(x)).astype(x.dtype, copy=False)


def _lower_exp2(b: Lowering, x: Value) -> Value:
    if dtypes.is_complex(x.dtype):
        return b.exp(b.mul(x, b.full_like(x, float(np.log(2.0)))))
    # a power of two, unlike the exponential of a multiple of log 2, is exact for integers
    return b.pow(b.full_like(x, 2), x)


exp2_p = unary(
    "exp2",
    _exp2,
    _lower_exp2,
    "fc",
    lambda t, z, x: mul(t, mul(z, _constant(z, np.log(2.0)))),
)


expm1_p = unary(
    "expm1",
    np.expm1,
    "stablehlo.exponential_minus_one",
    "fc",
    lambda t, z, x: mul(t, add(z, _constant(z, 1.0))),
)
log_p = unary("log", np.log, "stablehlo.log", "fc", lambda t, z, x: div(t, x))
log1p_p = unary(
    "log1p",
    np.log1p,
    "stablehlo.log_plus_one",
    "fc",
    lambda t, z, x: div(t, add(x, _constant(x, 1.0))),
)
sqrt_p = unary(
    "sqrt",
    np.sqrt,
    "stablehlo.sqrt",
    "fc",
    lambda t, z, x: div(mul(t, _constant(t, 0.5)), z),
)
rsqrt_p = unary(
    "rsqrt",
    lambda x: (x.dtype.type(1) / np.sqrt(x)).astype(x.dtype, copy=False),
    "stablehlo.rsqrt",
    "fc",
    lambda t, z, x: mul(mul(t, _constant(t, -0.5)), div(z, x)),
)


def _cbrt(x: HostArray) -> HostArray:
    return np.asarray(np.cbrt(x.astype(np.float64) if x.dtype == dtypes.float16 else x)).astype(
        x.dtype, copy=False
    )


cbrt_p = unary(
    "cbrt",
    _cbrt,
    "stablehlo.cbrt",
    "f",
    lambda t, z, x: div(mul(t, _constant(t, 1 / 3)), mul(z, z)),
)


def _logistic(x: HostArray) -> HostArray:
    one = x.dtype.type(1)
    return np.asarray(one / (one + np.exp(-x))).astype(x.dtype, copy=False)


logistic_p = unary(
    "logistic",
    _logistic,
    "stablehlo.logistic",
    "fc",
    lambda t, z, x: mul(t, mul(z, sub(_constant(z, 1.0), z))),
)


def lower_logaddexp(b: Lowering, x: Value, y: Value) -> Value:
    """Write ``log(exp(x) + exp(y))``."""
    difference = b.sub(x, y)
    total = b.add(b.max(x, y), b.log1p(b.exp(b.neg(b.abs(difference)))))
    # the difference of equal infinities is NaN; their sum is what is wanted
    return b.select(b.compare(difference, difference, "NE"), b.add(x, y), total)


def exp_share(x: Array, y: Array) -> Array:
    """``exp(x) / (exp(x) + exp(y))``; of equal infinities each has a half."""
    equal_infinities = and_(eq(x, y), not_(is_finite(x)))
    return logistic(select(equal_infinities, _constant(x, 0.0), sub(x, y)))


logaddexp_p = binary(
    "logaddexp",
    np.logaddexp,
    lower_logaddexp,
    "f",
    (
        lambda t, z, x, y: mul(t, exp_share(x, y)),
        lambda t, z, x, y: mul(t, exp_share(y, x)),
    ),
)


# Trigonometry


def _one_minus_square(x: Array) -> Array:
    # (1 - x)(1 + x) keeps its digits near x = 1, where 1 - x^2 cancels
    one = _constant(x, 1.0)
    return mul(sub(one, x), add(one, x))


def _one_plus_square(x: Array) -> Array:
    return add(_constant(x, 1.0), mul(x, x))


sin_p = unary("sin", np.sin, "stablehlo.sine", "fc", lambda t, z, x: mul(t, cos(x)))
cos_p = unary("cos", np.cos, "stablehlo.cosine", "fc", lambda t, z, x: neg(mul(t, sin(x))))
tan_p = unary("tan", np.tan, "stablehlo.tan", "fc", lambda t, z, x: mul(t, _one_plus_square(z)))
asin_p = unary(
    "asin",
    np.arcsin,
    "chlo.asin",
    "fc",
    lambda t, z, x: mul(t, rsqrt(_one_minus_square(x))),
)
acos_p = unary(
    "acos",
    np.arccos,
    "chlo.acos",
    "fc",
    lambda t, z, x: neg(mul(t, rsqrt(_one_minus_square(x)))),
)
atan_p = unary("atan", np.arctan, "chlo.atan", "fc", lambda t, z, x: div(t, _one_plus_square(x)))
sinh_p = unary("sinh", np.sinh, "chlo.sinh", "fc", lambda t, z, x: mul(t, cosh(x)))
cosh_p = unary("cosh", np.cosh, "chlo.cosh", "fc", lambda t, z, x: mul(t, sinh(x)))
tanh_p = unary(
    "tanh",
    np.tanh,
    "stablehlo.tanh",
    "fc",
    lambda t, z, x: mul(t, sub(_constant(z, 1.0), mul(z, z))),
)
asinh_p = unary(
    "asinh",
    np.arcsinh,
    "chlo.asinh",
    "fc",
    lambda t, z, x: mul(t, rsqrt(_one_plus_square(x))),
)
acosh_p = unary(
    "acosh",
    np.arccosh,
    "chlo.acosh",
    "fc",
    # two roots rather than one of x^2 - 1: the branch is right for complex x too
    lambda t, z, x: mul(t, mul(rsqrt(sub(x, _constant(x, 1.0))), rsqrt(add(x, _constant(x, 1.0))))),
)
atanh_p = unary(
    "atanh", np.arctanh, "chlo.atanh", "fc", lambda t, z, x: div(t, _one_minus_square(x))
)


def _atan2_denominator(x: Array, y: Array) -> Array:
    return add(mul(x, x), mul(y, y))


atan2_p = binary(
    "atan2",
    np.arctan2,
    "stablehlo.atan2",
    "f",
    (
        lambda t, z, x, y: mul(t, div(y, _atan2_denominator(x, y))),
        lambda t, z, x, y: neg(mul(t, div(x, _atan2_denominator(x, y)))),
    ),
)


# Powers


def _pow_in_x(t: Array, z: Array, x: Array, y: Array) -> Array:
    # y x^(y-1), which is 0 for y = 0 whatever x is: 1^1 stands in for what may be infinite
    one = _constant(y, 1.0)
    is_zero = eq(y, _constant(y, 0.0))
    factor = mul(y, pow_(select(is_zero, one, x), select(is_zero, one, sub(y, one))))
    return mul(t, factor)


def _pow_in_y(t: Array, z: Array, x: Array, y: Array) -> Array:
    # x^y log x, which is 0 for x = 0
    safe = select(eq(x, _constant(x, 0.0)), _constant(x, 1.0), x)
    return mul(t, mul(log(safe), z))


pow_p = binary("pow", np.power, "stablehlo.power", "fc", (_pow_in_x, _pow_in_y))


def _power_by_squaring(x: T, n: int, times: Callable[[T, T], T], one: Callable[[T], T]) -> T:
    result: T | None = None
    while n:
        if n & 1:
            result = x if result is None else times(result, x)
        n >>= 1
        if n:
            x = times(x, x)
    return one(x) if result is None else result


@attrs.frozen(repr=False)
class IntegerPowParams(Params):
    """The exponent, which may be negative for floats."""

    exponent: int


integer_pow_p: Primitive[IntegerPowParams] = Primitive("integer_pow", IntegerPowParams)


@integer_pow_p.def_impl
def _integer_pow_impl(
    operands: Sequence[HostArray], params: IntegerPowParams
) -> Sequence[HostArray]:
    (x,) = operands
    power = _power_by_squaring(
        x, abs(params.exponent), lambda a, b: np.asarray(a * b), np.ones_like
    )
    if params.exponent < 0:
        power = np.asarray(x.dtype.type(1) / power)
    return (power.astype(x.dtype, copy=False),)


@integer_pow_p.def_abstract_eval
def _integer_pow_type(
    avals: Sequence[ShapedArray], params: IntegerPowParams
) -> Sequence[ShapedArray]:
    (x,) = avals
    check_kind("integer_pow", x, "iufc" if params.exponent >= 0 else "fc")
    return (x,)


@integer_pow_p.def_lowering
def _integer_pow_lowering(b: Lowering, operands: Values, params: IntegerPowParams) -> Values:
    (x,) = operands
    power = _power_by_squaring(x, abs(params.exponent), b.mul, lambda x: b.full_like(x, 1))
    return (b.div(b.full_like(x, 1), power) if params.exponent < 0 else power,)


@integer_pow_p.def_jvp
def _integer_pow_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: IntegerPowParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    n = params.exponent
    out = integer_pow(x, n)
    if t is ZERO or n == 0:
        return (out,), (ZERO,)
    return (out,), (mul(t, mul(_constant(x, n), integer_pow(x, n - 1))),)


def_elementwise_batch(integer_pow_p)


# Bits and booleans

and_p = binary("and", np.bitwise_and, "stablehlo.and", "biu", None)
or_p = binary("or", np.bitwise_or, "stablehlo.or", "biu", None)
xor_p = binary("xor", np.bitwise_xor, "stablehlo.xor", "biu", None)


def _bits(x: HostArray) -> int:
    return x.dtype.itemsize * 8


def _shift_left(x: HostArray, y: HostArray) -> HostArray:
    unsigned = y.view(f"u{y.dtype.itemsize}")
    safe = np.where(unsigned < _bits(x), y, np.zeros_like(y))
    return np.where(unsigned < _bits(x), np.left_shift(x, safe), np.zeros_like(x))


def _shift_right_logical(x: HostArray, y: HostArray) -> HostArray:
    bits, by = x.view(f"u{x.dtype.itemsize}"), y.view(f"u{y.dtype.itemsize}")
    safe = np.where(by < _bits(x), by, np.zeros_like(by))
    return np.where(by < _bits(x), np.right_shift(bits, safe), np.zeros_like(bits)).view(x.dtype)


def _shift_right_arithmetic(x: HostArray, y: HostArray) -> HostArray:
    signed, by = x.view(f"i{x.dtype.itemsize}"), y.view(f"u{y.dtype.itemsize}")
    most = np.minimum(by, by.dtype.type(_bits(x) - 1)).astype(signed.dtype)
    return np.asarray(np.right_shift(signed, most)).view(x.dtype)


shift_left_p = binary("shift_left", _shift_left, "stablehlo.shift_left", "iu", None)
shift_right_logical_p = binary(
    "shift_right_logical", _shift_right_logical, "stablehlo.shift_right_logical", "iu", None
)
shift_right_arithmetic_p = binary(
    "shift_right_arithmetic",
    _shift_right_arithmetic,
    "stablehlo.shift_right_arithmetic",
    "iu",
    None,
)
nextafter_p = binary("nextafter", np.nextafter, "chlo.next_after", "f", None)


# Comparison


def _comparison(
    name: str, impl: Callable[..., HostArray], direction: str, kinds: str
) -> Primitive[NoParams]:
    primitive: Primitive[NoParams] = Primitive(name, NoParams)

    @primitive.def_impl
    def comparison_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostResult]:
        return (impl(operands[0], operands[1]),)

    @primitive.def_abstract_eval
    def comparison_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
        return (ShapedArray(elementwise_type(name, avals, kinds).shape, dtypes.bool_),)

    def_elementwise_lowering(primitive, lambda b, x, y: b.compare(x, y, direction))

    @primitive.def_jvp
    def comparison_jvp(
        primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
    ) -> tuple[Sequence[Array], Sequence[Tangent]]:
        return (bind1(primitive, primals, params),), (ZERO,)

    def_elementwise_batch(primitive)
    return primitive


eq_p = _comparison("eq", np.equal, "EQ", "biufc")
ne_p = _comparison("ne", np.not_equal, "NE", "biufc")
lt_p = _comparison("lt", np.less, "LT", "biuf")
le_p = _comparison("le", np.less_equal, "LE", "biuf")
gt_p = _comparison("gt", np.greater, "GT", "biuf")
ge_p = _comparison("ge", np.greater_equal, "GE", "biuf")


# Selection: where the predicate holds the first case, else the second.

select_p: Primitive[NoParams] = Primitive("select", NoParams, chooses=True)


@select_p.def_impl
def _select_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostArray]:
    predicate, on_true, on_false = operands
    return (np.where(predicate, on_true, on_false),)


@select_p.def_abstract_eval
def _select_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
    predicate, on_true, on_false = avals
    if predicate.dtype != dtypes.bool_:
        raise DtypeError(f"select needs a bool predicate, but got {predicate}.")
    if predicate.shape != on_true.shape:
        raise ShapeError(
            f"select needs a predicate of the cases' shape, but got {predicate} for {on_true}."
        )
    return (elementwise_type("select", (on_true, on_false), "biufc"),)


def_elementwise_lowering(select_p, "stablehlo.select")


@select_p.def_jvp
def _select_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    predicate, on_true, on_false = primals
    _, t_true, t_false = tangents
    out = select(predicate, on_true, on_false)
    if t_true is ZERO and t_false is ZERO:
        return (out,), (ZERO,)
    return (out,), (
        select(predicate, instantiate(t_true, on_true), instantiate(t_false, on_false)),
    )


@select_p.def_transpose
def _select_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,), (predicate, on_true, on_false) = cotangents, operands
    if isinstance(predicate, Var):
        raise not_linear("select", "the predicate")
    if ct is ZERO:
        return (None, ZERO, ZERO)
    zeros = full_like(ct, 0)
    return (
        None,
        select(predicate, ct, zeros) if isinstance(on_true, Var) else None,
        select(predicate, zeros, ct) if isinstance(on_false, Var) else None,
    )


def_elementwise_batch(select_p)


# Clamp is max and min; complex numbers and their parts

real_p = unary(
    "real",
    lambda x: x.real,
    "stablehlo.real",
    "c",
    lambda t, z, x: real(t),
    dtypes.real_part,
)
imag_p = unary(
    "imag",
    lambda x: x.imag,
    "stablehlo.imag",
    "c",
    lambda t, z, x: imag(t),
    dtypes.real_part,
)


@real_p.def_transpose
def _real_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    return (ct if ct is ZERO else complex_(ct, full_like(ct, 0)),)


@imag_p.def_transpose
def _imag_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    # the transpose, not the adjoint: complex numbers are pairs (x, y) with pairing x x' - y y'
    (ct,) = cotangents
    return (ct if ct is ZERO else complex_(full_like(ct, 0), neg(ct)),)


complex_p: Primitive[NoParams] = Primitive("complex", NoParams)


@complex_p.def_impl
def _complex_impl(operands: Sequence[HostArray], params: NoParams) -> Sequence[HostArray]:
    x, y = operands
    out = np.empty(x.shape, dtypes.to_complex(x.dtype))
    out.real = x
    out.imag = y
    return (out,)


@complex_p.def_abstract_eval
def _complex_type(avals: Sequence[ShapedArray], params: NoParams) -> Sequence[ShapedArray]:
    aval = elementwise_type("complex", avals, "f")
    if aval.dtype not in (dtypes.float32, dtypes.float64):
        raise DtypeError(f"complex takes float32 or float64, but got {aval.dtype.name}.")
    return (ShapedArray(aval.shape, dtypes.to_complex(aval.dtype), aval.weak_type),)


def_elementwise_lowering(complex_p, "stablehlo.complex")


@complex_p.def_jvp
def _complex_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: NoParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    out = bind1(complex_p, primals, params)
    if all(t is ZERO for t in tangents):
        return (out,), (ZERO,)
    tx, ty = (instantiate(t, p) for t, p in zip(tangents, primals, strict=True))
    return (out,), (complex_(tx, ty),)


@complex_p.def_transpose
def _complex_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,), (x, y) = cotangents, operands
    if ct is ZERO:
        return (ZERO, ZERO)
    return (
        real(ct) if isinstance(x, Var) else None,
        neg(imag(ct)) if isinstance(y, Var) else None,
    )


def_elementwise_batch(complex_p)


conj_p = unary("conj", np.conj, "chlo.conj", "c", lambda t, z, x: conj(t))


@conj_p.def_transpose
def _conj_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: NoParams
) -> Sequence[Tangent | None]:
    (ct,) = cotangents
    return (ct if ct is ZERO else conj(ct),)


# Conversion of types


@attrs.frozen(repr=False)
class ConvertParams(Params):
    """The dtype to convert to, and whether the result of a weakly typed operand is one too."""

    dtype: DType
    weak_type: bool


convert_element_type_p: Primitive[ConvertParams] = Primitive("convert_element_type", ConvertParams)


@convert_element_type_p.def_impl
def _convert_impl(operands: Sequence[HostArray], params: ConvertParams) -> Sequence[HostArray]:
    (x,) = operands
    dtype = params.dtype
    if dtype != dtypes.bool_ and dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        return (_float_to_int(x, dtype),)
    return (x.astype(dtype),)


_NATIVE_FLOATS = (dtypes.float32, dtypes.float64)
_NATIVE_INTS = (dtypes.int32, dtypes.int64)


def _float_to_int(x: HostArray, dtype: DType) -> HostArray:
    # C leaves out-of-range conversions undefined; XLA saturates, and sends NaN to 0. For these
    # types the processor notices them, so that the usual case takes one pass instead of ten.
    if x.dtype in _NATIVE_FLOATS and dtype in _NATIVE_INTS:
        try:
            with np.errstate(invalid="raise"):
                return x.astype(dtype)
        except FloatingPointError:
            pass
    wide = x.astype(np.float64)
    info = np.iinfo(dtype)
    inside = (wide > float(info.min) - 1) & (wide < float(info.max) + 1)
    converted = np.where(inside, wide, 0).astype(dtype)
    ends = np.where(wide > 0, dtype.type(info.max), dtype.type(info.min))
    return np.where(inside | np.isnan(wide), converted, ends).astype(dtype, copy=False)


@convert_element_type_p.def_abstract_eval
def _convert_type(avals: Sequence[ShapedArray], params: ConvertParams) -> Sequence[ShapedArray]:
    (x,) = avals
    return (ShapedArray(x.shape, params.dtype, params.weak_type),)


@convert_element_type_p.def_lowering
def _convert_lowering(b: Lowering, operands: Values, params: ConvertParams) -> Values:
    (x,), dtype = operands, params.dtype
    if dtype == dtypes.bool_ and x.dtype != dtype:
        return (b.compare(x, b.full_like(x, 0), "NE"),)
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = b.real(x)
    return (b.convert(x, dtype),)


@convert_element_type_p.def_jvp
def _convert_jvp(
    primals: Sequence[Array], tangents: Sequence[Tangent], params: ConvertParams
) -> tuple[Sequence[Array], Sequence[Tangent]]:
    (x,), (t,) = primals, tangents
    out = bind1(convert_element_type_p, (x,), params)
    if t is ZERO or not dtypes.is_inexact(params.dtype):
        return (out,), (ZERO,)
    return (out,), (bind1(convert_element_type_p, (t,), params),)


@convert_element_type_p.def_transpose
def _convert_transpose(
    cotangents: Sequence[Tangent], operands: Sequence[Array | Var], params: ConvertParams
) -> Sequence[Tangent | None]:
    (ct,), (x,) = cotangents, operands
    if ct is ZERO:
        return (ZERO,)
    return (convert_element_type(ct, x.aval.dtype, x.aval.weak_type),)


def_elementwise_batch(convert_element_type_p)


# The functions: operands of one shape and dtype; those of tinyjax.numpy broadcast and promote.


def neg(x: Array) -> Array:
    """Return the negative, elementwise."""
    return bind1(neg_p, (x,), NO_PARAMS)


def sign(x: Array) -> Array:
    """Return -1, 0 or 1 by sign; for complex ``x / |x|``, elementwise."""
    return bind1(sign_p, (x,), NO_PARAMS)


def floor(x: Array) -> Array:
    """Return the largest integer not above each element, elementwise."""
    return bind1(floor_p, (x,), NO_PARAMS)


def ceil(x: Array) -> Array:
    """Return the smallest integer not below each element, elementwise."""
    return bind1(ceil_p, (x,), NO_PARAMS)


def is_finite(x: Array) -> Array:
    """Return whether each element is neither infinite nor NaN, elementwise."""
    return bind1(is_finite_p, (x,), NO_PARAMS)


def exp(x: Array) -> Array:
    """Return e to the power, elementwise."""
    return bind1(exp_p, (x,), NO_PARAMS)


def exp2(x: Array) -> Array:
    """Return 2 to the power, elementwise."""
    return bind1(exp2_p, (x,), NO_PARAMS)


def expm1(x: Array) -> Array:
    """Return ``exp(x) - 1``, accurate near 0, elementwise."""
    return bind1(expm1_p, (x,), NO_PARAMS)


def log(x: Array) -> Array:
    """Return the natural logarithm, elementwise."""
    return bind1(log_p, (x,), NO_PARAMS)


def log1p(x: Array) -> Array:
    """Return ``log(1 + x)``, accurate near 0, elementwise."""
    return bind1(log1p_p, (x,), NO_PARAMS)


def sqrt(x: Array) -> Array:
    """Return the square root, elementwise."""
    return bind1(sqrt_p, (x,), NO_PARAMS)


def rsqrt(x: Array) -> Array:
    """Return one over the square root, elementwise."""
    return bind1(rsqrt_p, (x,), NO_PARAMS)


def cbrt(x: Array) -> Array:
    """Return the cube root, elementwise."""
    return bind1(cbrt_p, (x,), NO_PARAMS)


def logistic(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``, elementwise."""
    return bind1(logistic_p, (x,), NO_PARAMS)


def logaddexp(x: Array, y: Array) -> Array:
    """Return ``log(exp(x) + exp(y))`` without overflow, elementwise."""
    return bind1(logaddexp_p, (x, y), NO_PARAMS)


def sin(x: Array) -> Array:
    """Return the sine, elementwise."""
    return bind1(sin_p, (x,), NO_PARAMS)


def cos(x: Array) -> Array:
    """Return the cosine, elementwise."""
    return bind1(cos_p, (x,), NO_PARAMS)


def tan(x: Array) -> Array:
    """Return the tangent, elementwise."""
    return bind1(tan_p, (x,), NO_PARAMS)


def asin(x: Array) -> Array:
    """Return the inverse sine, elementwise."""
    return bind1(asin_p, (x,), NO_PARAMS)


def acos(x: Array) -> Array:
    """Return the inverse cosine, elementwise."""
    return bind1(acos_p, (x,), NO_PARAMS)


def atan(x: Array) -> Array:
    """Return the inverse tangent, elementwise."""
    return bind1(atan_p, (x,), NO_PARAMS)


def sinh(x: Array) -> Array:
    """Return the hyperbolic sine, elementwise."""
    return bind1(sinh_p, (x,), NO_PARAMS)


def cosh(x: Array) -> Array:
    """Return the hyperbolic cosine, elementwise."""
    return bind1(cosh_p, (x,), NO_PARAMS)


def tanh(x: Array) -> Array:
    """Return the hyperbolic tangent, elementwise."""
    return bind1(tanh_p, (x,), NO_PARAMS)


def asinh(x: Array) -> Array:
    """Return the inverse hyperbolic sine, elementwise."""
    return bind1(asinh_p, (x,), NO_PARAMS)


def acosh(x: Array) -> Array:
    """Return the inverse hyperbolic cosine, elementwise."""
    return bind1(acosh_p, (x,), NO_PARAMS)


def atanh(x: Array) -> Array:
    """Return the inverse hyperbolic tangent, elementwise."""
    return bind1(atanh_p, (x,), NO_PARAMS)


def population_count(x: Array) -> Array:
    """Return the number of bits that are set, elementwise."""
    return bind1(population_count_p, (x,), NO_PARAMS)


def real(x: Array) -> Array:
    """Return the real part of complex numbers, elementwise."""
    return bind1(real_p, (x,), NO_PARAMS)


def imag(x: Array) -> Array:
    """Return the imaginary part of complex numbers, elementwise."""
    return bind1(imag_p, (x,), NO_PARAMS)


def conj(x: Array) -> Array:
    """Return the complex conjugate of complex numbers, elementwise."""
    return bind1(conj_p, (x,), NO_PARAMS)


def abs_(x: Array) -> Array:
    """Return the absolute value; real for complex input, elementwise."""
    return bind1(abs_p, (x,), NO_PARAMS)


def not_(x: Array) -> Array:
    """Return the bitwise complement; logical for bool, elementwise."""
    return bind1(not_p, (x,), NO_PARAMS)


def round_(x: Array) -> Array:
    """Return the nearest integer, halves to even, elementwise."""
    return bind1(round_p, (x,), NO_PARAMS)


def add(x: Array, y: Array) -> Array:
    """Return the sum, elementwise."""
    return bind1(add_p, (x, y), NO_PARAMS)


def sub(x: Array, y: Array) -> Array:
    """Return the difference, elementwise."""
    return bind1(sub_p, (x, y), NO_PARAMS)


def mul(x: Array, y: Array) -> Array:
    """Return the product, elementwise."""
    return bind1(mul_p, (x, y), NO_PARAMS)


def div(x: Array, y: Array) -> Array:
    """Return the quotient; integers round toward zero, elementwise."""
    return bind1(div_p, (x, y), NO_PARAMS)


def rem(x: Array, y: Array) -> Array:
    """Return the remainder, with the sign of the dividend, elementwise."""
    return bind1(rem_p, (x, y), NO_PARAMS)


def atan2(x: Array, y: Array) -> Array:
    """Return the angle of the point ``(y, x)``, given as ``atan2(x=y, y=x)``, elementwise."""
    return bind1(atan2_p, (x, y), NO_PARAMS)


def eq(x: Array, y: Array) -> Array:
    """Return whether elements are equal, elementwise."""
    return bind1(eq_p, (x, y), NO_PARAMS)


def ne(x: Array, y: Array) -> Array:
    """Return whether elements differ, elementwise."""
    return bind1(ne_p, (x, y), NO_PARAMS)


def lt(x: Array, y: Array) -> Array:
    """Return whether ``x < y``, elementwise."""
    return bind1(lt_p, (x, y), NO_PARAMS)


def le(x: Array, y: Array) -> Array:
    """Return whether ``x <= y``, elementwise."""
    return bind1(le_p, (x, y), NO_PARAMS)


def gt(x: Array, y: Array) -> Array:
    """Return whether ``x > y``, elementwise."""
    return bind1(gt_p, (x, y), NO_PARAMS)


def ge(x: Array, y: Array) -> Array:
    """Return whether ``x >= y``, elementwise."""
    return bind1(ge_p, (x, y), NO_PARAMS)


def shift_left(x: Array, y: Array) -> Array:
    """Return ``x << y``; 0 where ``y`` is at least the width, elementwise."""
    return bind1(shift_left_p, (x, y), NO_PARAMS)


def shift_right_logical(x: Array, y: Array) -> Array:
    """Return ``x >> y``, filling with zeros, elementwise."""
    return bind1(shift_right_logical_p, (x, y), NO_PARAMS)


def shift_right_arithmetic(x: Array, y: Array) -> Array:
    """Return ``x >> y``, filling with the sign, elementwise."""
    return bind1(shift_right_arithmetic_p, (x, y), NO_PARAMS)


def nextafter(x: Array, y: Array) -> Array:
    """Return the next representable value after ``x`` toward ``y``, elementwise."""
    return bind1(nextafter_p, (x, y), NO_PARAMS)


def max_(x: Array, y: Array) -> Array:
    """Return the larger; NaN if either is, elementwise."""
    return bind1(max_p, (x, y), NO_PARAMS)


def min_(x: Array, y: Array) -> Array:
    """Return the smaller; NaN if either is, elementwise."""
    return bind1(min_p, (x, y), NO_PARAMS)


def pow_(x: Array, y: Array) -> Array:
    """Return ``x`` to the power ``y``, elementwise."""
    return bind1(pow_p, (x, y), NO_PARAMS)


def and_(x: Array, y: Array) -> Array:
    """Return the bitwise and; logical for bool, elementwise."""
    return bind1(and_p, (x, y), NO_PARAMS)


def or_(x: Array, y: Array) -> Array:
    """Return the bitwise or; logical for bool, elementwise."""
    return bind1(or_p, (x, y), NO_PARAMS)


def xor_(x: Array, y: Array) -> Array:
    """Return the bitwise exclusive or; logical for bool, elementwise."""
    return bind1(xor_p, (x, y), NO_PARAMS)


def complex_(x: Array, y: Array) -> Array:
    """Return the complex numbers ``x + iy``."""
    return bind1(complex_p, (x, y), NO_PARAMS)


def integer_pow(x: Array, exponent: int) -> Array:
    """Return ``x`` to a fixed integer power, by repeated multiplication."""
    if exponent == 1:
        return x
    return bind1(integer_pow_p, (x,), IntegerPowParams(exponent))


def select(predicate: Array, on_true: Array, on_false: Array) -> Array:
    """Return elements of ``on_true`` where the predicate holds, of ``on_false`` elsewhere.

    Args:
        predicate: bool, of the cases' shape.
        on_true: any dtype.
        on_false: of the same shape and dtype.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the predicate is not bool, or the cases' dtypes differ.
    """
    return bind1(select_p, (predicate, on_true, on_false), NO_PARAMS)


def clamp(low: Array, x: Array, high: Array) -> Array:
    """Return ``x`` kept between ``low`` and ``high``, elementwise."""
    return min_(max_(x, low), high)


def convert_host(host: HostArray, dtype: DType) -> HostArray:
    """Convert data as ``convert_element_type`` does."""
    with np.errstate(all="ignore"):
        return np.asarray(_convert_impl([host], ConvertParams(dtype, False))[0])


def convert_element_type(x: Array, dtype: DType, weak_type: bool = False) -> Array:
    """Return ``x`` with its elements converted to another dtype.

    Floats become integers by truncation, saturating at the ends; complex numbers become real by
    dropping the imaginary part; anything becomes bool by comparison with zero. What was made of a
    Python number is that number in the dtype.
    """
    aval = x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if aval.weak_type and type(x) is ConcreteArray and not aval.shape and id(x) not in followed:
        # a number, converted at once, so that it is rounded once and stays a literal
        host = convert_host(given_number(x), dtype)
        return ConcreteArray(host, ShapedArray((), dtype, weak_type))
    return bind1(convert_element_type_p, (x,), ConvertParams(dtype, weak_type))
