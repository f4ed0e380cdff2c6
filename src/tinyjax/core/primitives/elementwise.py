"""Elementwise primitives: arithmetic, powers, exponentials, trigonometry, comparison, selection.

Each is one declaration in the table of its section, with its derivative. Formulas are the textbook
ones; where a form is chosen for accuracy a comment says so.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Final, Literal, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import families
from tinyjax.core.primitives.families import Elementwise, declared, type_rule
from tinyjax.core.primitives.identities import once
from tinyjax.core.primitives.rules import (
    add_tangents,
    check_kind,
    declare_addition,
    def_linear,
    def_transposes,
)
from tinyjax.core.primitives.shape import full_like
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import SSAValue
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.primitive import (
    NO_PARAMS,
    ONE_AT_A_TIME,
    ONE_SIDED,
    TRANSCENDENTAL,
    ZERO,
    Avals,
    NoParams,
    mark,
)
from tinyjax.core.tracing.trace import IGNORE, RAISE_INVALID, bind1, reset_errors, set_errors
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, followed
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import (
    given_number,
    has_data,
    is_constant,
    met_splats,
    remember_splat,
)
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import DtypeError, ShapeError

T = TypeVar("T")


def _constant(x: Array, value: float) -> Array:
    """Return an operand of a formula; zeros are made anew, since they may be a whole derivative."""
    entry = met_splats.get((value, type(value), x.aval))
    if entry is not None:
        return entry
    array = full_like(x, value)
    return remember_splat(value, type(value), array) if value else array


def _bool(_: DType) -> DType:
    return dtypes.bool_


_NATIVE_FLOATS = (dtypes.float32, dtypes.float64)


# Arithmetic


# Of bools XLA folds sums and products as those of bits.


def _lower_add(b: Lowering, x: SSAValue, y: SSAValue) -> SSAValue:
    if x.dtype == dtypes.bool_:
        return b.or_(x, y)
    if x is y and not x.shape and dtypes.is_integer(x.dtype):
        # XLA dies where it asks how often a loop runs whose counter is added to itself
        return b.mul(x, b.full_like(x, 2))
    return _signed(b, b.add, x, y)


def _signed(
    b: Lowering, write: Callable[[SSAValue, SSAValue], SSAValue], x: SSAValue, y: SSAValue
) -> SSAValue:
    """Emit a sum or difference of uint64 scalars as one of int64, whose bits are the same.

    XLA crashes when it computes the trip count of a loop whose counter of uint64 changes by a
    constant of 64 bits. (It turns a difference into a sum with such a constant.)
    """
    if x.shape or x.dtype != dtypes.uint64 or (b.data_of(x) is None and b.data_of(y) is None):
        return write(x, y)
    return b.bitcast(write(b.bitcast(x, dtypes.int64), b.bitcast(y, dtypes.int64)), dtypes.uint64)


add: Elementwise = declared(
    "add",
    np.add,
    _lower_add,
    "biufc",
    lambda t, z, x, y: t,
    lambda t, z, x, y: t,
    transposes=[lambda ct, x, y: ct, lambda ct, x, y: ct],
)
declare_addition(add)
sub: Elementwise = declared(
    "sub",
    np.subtract,
    lambda b, x, y: _signed(b, partial(b.op, "stablehlo.subtract"), x, y),
    "iufc",
    lambda t, z, x, y: t,
    lambda t, z, x, y: neg(t),
    transposes=[lambda ct, x, y: ct, lambda ct, x, y: neg(ct)],
)
mul: Elementwise = declared(
    "mul",
    np.multiply,
    lambda b, x, y: b.and_(x, y) if x.dtype == dtypes.bool_ else b.mul(x, y),
    "biufc",
    lambda t, z, x, y: mul(t, y),
    lambda t, z, x, y: mul(t, x),
    transposes=[lambda ct, x, y: mul(ct, y), lambda ct, x, y: mul(ct, x)],
    bilinear=True,
)


def _divide(x: HostArray, y: HostArray) -> HostArray:
    if dtypes.kind(x.dtype) not in "iu":
        return np.asarray(np.true_divide(x, y)).astype(x.dtype, copy=False)
    # Toward zero, with XLA's results where C defines none: x / 0 is -1 and min / -1 is min.
    zero = y == 0
    safe = np.where(zero, np.ones_like(y), y)
    quotient = np.floor_divide(x, safe)
    quotient += (quotient * safe != x) & ((x < 0) != (safe < 0))  # round up where it is inexact
    return np.where(zero, np.zeros_like(y) - np.ones_like(y), quotient).astype(x.dtype, copy=False)


def _remainder(x: HostArray, y: HostArray) -> HostArray:
    if families.all_hold(y) or dtypes.kind(x.dtype) not in "iu":
        return np.asarray(np.fmod(x, y))
    zero = y == 0
    return np.where(zero, x, np.fmod(x, np.where(zero, np.ones_like(y), y)))


def _by_safe_divisor(
    hlo: str, of_zero: Callable[[Lowering, SSAValue], SSAValue]
) -> families.HloFormula:
    """Return a division that divides no integer by zero: XLA dies where it folds one of constants.

    Args:
        hlo: the operation.
        of_zero: gives the result where the divisor is zero, from the dividend.
    """

    def divide(b: Lowering, x: SSAValue, y: SSAValue) -> SSAValue:
        if dtypes.kind(x.dtype) not in "iu" or b.nonzero(y):
            return b.op(hlo, x, y)
        is_zero = b.compare(y, b.full_like(y, 0), "EQ")
        quotient = b.op(hlo, x, b.select(is_zero, b.full_like(y, 1), y))
        return b.select(is_zero, of_zero(b, x), quotient)

    return divide


def _all_bits(b: Lowering, x: SSAValue) -> SSAValue:
    return b.full_like(x, int(np.iinfo(x.dtype).max) if x.dtype.kind == "u" else -1)


div: Elementwise = families.without_derivatives(
    "div", _divide, _by_safe_divisor("stablehlo.divide", _all_bits), "iufc", broadcasts=True
)
def_transposes(div, lambda ct, x, y: div(ct, y), "the divisor")


@div.def_jvp
def _div_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NoParams) -> prim.JvpResult:
    """Divide once for both tangents, and by the divisor alone, whose square may overflow."""
    (x, y), (t, u) = primals, tangents
    z = div(x, y)
    if u is not ZERO:
        t = neg(mul(u, z)) if t is ZERO else sub(t, mul(u, z))
    assert t is not ZERO, "an operand has a tangent"
    return (z,), (div(t, y),)


#: NumPy loops over the last axis, and each loop takes time to begin. From so many elements on, a
#: last axis shorter than ``_SHORT`` is left to the loop around it if that is four times as long.
_LARGE, _SHORT = 1000, 8


def _by_rows(
    fun: np.ufunc, numbers: str, avals: Avals, params: NoParams
) -> prim.HostCall | prim.Kernel:
    """Choose NumPy's implementation for operands of which one may be broadcast along an axis.

    Args:
        fun: NumPy's function.
        numbers: how Python computes it with numbers.
        avals: the operands' types.
        params: none.
    """
    shape, dtype = avals[0].shape, avals[0].dtype
    ndim = len(shape)
    if shape.count(1) == ndim and dtype.kind in "biuf":
        return prim.HostCall(fun, numbers=numbers, fresh=True)
    if (
        ndim < 2
        or not 1 < shape[-1] < _SHORT
        or shape[-2] < 4 * shape[-1]
        or avals[0].size < _LARGE
    ):
        return fun
    size, order = shape[-1], (ndim - 1, *range(ndim - 1))

    def apply(x: HostArray, y: HostArray) -> HostArray:
        a, b = x.strides, y.strides
        if a[-2] == size * a[-1] and b[-2] == size * b[-1]:  # one loop for both axes
            return np.asarray(fun(x, y))
        out = np.empty(shape, dtype)
        fun(x.transpose(order), y.transpose(order), out.transpose(order), order="C")
        return out

    return apply


prim.mark(prim.SUM, True, add)
add.def_host(partial(_by_rows, np.add, "{0} + {1}"))
sub.def_host(partial(_by_rows, np.subtract, "{0} - {1}"))
mul.def_host(partial(_by_rows, np.multiply, "{0} * {1}"))


@div.def_host
def _div_host(avals: Avals, params: NoParams) -> prim.HostCall | prim.Kernel | None:
    if avals[0].dtype in _DIVIDED_BY_NUMPY:
        return _by_rows(np.true_divide, "{0} / {1}", avals, params)
    return _of_integers(_divide, _QUOTIENT, avals[0])


#: Dtypes in which NumPy's quotient has the operands' dtype.
_DIVIDED_BY_NUMPY = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
#: How Python divides two of NumPy's integers as XLA does: toward zero, and by zero too.
_QUOTIENT: Final = (
    "~{1} if not {1} else {0} // {1} if ({0} < 0) == ({1} < 0) else {0} // {1} + ({0} % {1} != 0)"
)
_REMAINDER: Final = (
    "{0} if not {1} else {0} % {1} if ({0} < 0) == ({1} < 0) else {0} % {1} and {0} % {1} - {1}"
)


def _of_integers(
    impl: families.HostFunction, numbers: str, aval: ShapedArray
) -> prim.HostCall | None:
    """Return Python's implementation of NumPy's function for two integers."""
    if aval.size != 1 or aval.dtype.kind not in "iu":
        return None
    return prim.HostCall(impl, numbers=numbers, fresh=True)


rem: Elementwise = declared(
    "rem",
    _remainder,
    _by_safe_divisor("stablehlo.remainder", lambda b, x: x),
    "iuf",
    # x - y * trunc(x / y), whose quotient is locally constant
    lambda t, z, x, y: t,
    lambda t, z, x, y: neg(mul(t, _truncate(div(x, y)))),
    broadcasts=True,
)


@rem.def_host
def _rem_host(avals: Avals, params: NoParams) -> prim.HostCall | prim.Kernel | None:
    if avals[0].dtype in (dtypes.float32, dtypes.float64):
        return np.fmod
    return _of_integers(_remainder, _REMAINDER, avals[0])


def _truncate(x: Array) -> Array:
    return mul(sign(x), floor(abs_(x)))


# Functions of complex numbers. XLA computes some of them by exponentials, in which small parts are
# lost, and takes an imaginary part of -0.0 for 0.0, which is the other side of a cut. So the former
# are expressed by functions of the parts, and the signs of the latter are those of the operand.


def _by_parts(
    hlo: str, of_parts: Callable[[Array, Array], tuple[Array, Array]]
) -> families.HloFormula:
    """Lower to an operation for real numbers, and for complex ones to a formula of the parts."""
    formula = families.composed(lambda x: complex_(*of_parts(real(x), imag(x))))
    return lambda b, x: formula(b, x) if dtypes.is_complex(x.dtype) else b.op(hlo, x)


def _times_zero(x: Array, zero: Array) -> Array:
    """Return a product with zero, whose sign counts; it is zero though ``x`` may be infinite."""
    return mul(sign(x), zero)


def _sine_of_parts(x: Array, y: Array) -> tuple[Array, Array]:
    on_axis = eq(x, _constant(x, 0.0))
    return select(on_axis, x, mul(sin(x), cosh(y))), mul(cos(x), sinh(y))


def _cosine_of_parts(x: Array, y: Array) -> tuple[Array, Array]:
    on_axis = eq(x, _constant(x, 0.0))
    lower = select(on_axis, _times_zero(y, x), mul(sin(x), sinh(y)))
    return mul(cos(x), cosh(y)), neg(lower)


def _sinh_of_parts(x: Array, y: Array) -> tuple[Array, Array]:
    on_axis = eq(y, _constant(y, 0.0))
    return mul(sinh(x), cos(y)), select(on_axis, y, mul(cosh(x), sin(y)))


def _cosh_of_parts(x: Array, y: Array) -> tuple[Array, Array]:
    on_axis = eq(y, _constant(y, 0.0))
    return mul(cosh(x), cos(y)), select(on_axis, _times_zero(x, y), mul(sinh(x), sin(y)))


def _with_sign(x: Array, sign_of: Array) -> Array:
    size = abs_(x)
    return select(lt_to(sign_of, _constant(sign_of, 0.0)), neg(size), size)


def _on_its_side(
    hlo: str, part: Literal["real", "imag"], negative: bool = False
) -> families.HloFormula:
    """Lower to an operation, and give one part of complex results the sign of the operand's part.

    Args:
        hlo: the operation.
        part: the part.
        negative: whether it gets the opposite sign.
    """

    def signed(out: Array, x: Array) -> Array:
        if part == "real":
            return complex_(_with_sign(real(out), real(x)), imag(out))
        side = neg(imag(x)) if negative else imag(x)
        return complex_(real(out), _with_sign(imag(out), side))

    formula = families.composed(signed)

    def write(b: Lowering, x: SSAValue) -> SSAValue:
        out = b.op(hlo, x)
        return formula(b, out, x) if dtypes.is_complex(x.dtype) else out

    return write


# One operand: signs, roots, exponentials

neg: Elementwise = declared(
    "neg", np.negative, "stablehlo.negate", "iufc", transposes=[lambda ct, x: neg(ct)]
)


def _sign(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):
        size = np.abs(x)
        if np.isinf(size).any():
            lone = (np.isinf(x.real) != np.isinf(x.imag)) & ~np.isnan(x)
            x = np.where(lone, _clipped(x.real) + 1j * _clipped(x.imag), x).astype(x.dtype)
            size = np.where(lone, np.ones_like(size), size)
        return np.where(
            size == 0, np.zeros_like(x), x / np.where(size == 0, np.ones_like(size), size)
        )
    return np.asarray(np.sign(x))


def _clipped(x: HostArray) -> HostArray:
    """Parts of which the other, or this one, is infinite: 1 or -1 for infinities, otherwise 0."""
    return np.where(np.isinf(x), np.sign(x), np.zeros_like(x))


def _sign_derivative(t: Array, z: Array, x: Array) -> Array:
    if not dtypes.is_complex(x.dtype):
        return _constant(t, 0.0)
    # z = x / |x|, so dz = (dx - z * Re(conj(z) dx)) / |x|
    along = mul(z, complex_(real(mul(conj(z), t)), _constant(real(t), 0.0)))
    size = abs_(x)
    slope = div(sub(t, along), complex_(size, _constant(size, 0.0)))
    return select(eq(size, _constant(size, 0.0)), _constant(t, 0.0), slope)  # as for real x = 0


# StableHLO has neither sign nor abs of unsigned integers.


def _lower_sign(b: Lowering, x: SSAValue) -> SSAValue:
    if x.dtype.kind == "u":
        return b.min(x, b.full_like(x, 1))
    if x.dtype.kind == "c":  # XLA's is NaN at infinities
        parts = b.real(x), b.imag(x)
        infinite = [b.compare(b.abs(part), b.full_like(part, np.inf), "EQ") for part in parts]
        known = [b.compare(part, part, "EQ") for part in parts]
        lone = b.and_(b.compare(infinite[0], infinite[1], "NE"), b.and_(*known))
        clipped = [
            b.select(i, b.op("stablehlo.sign", part), b.full_like(part, 0))
            for part, i in zip(parts, infinite, strict=True)
        ]
        x = b.select(lone, b.op("stablehlo.complex", *clipped, result=x.type), x)
    return b.op("stablehlo.sign", x)


def _lower_abs(b: Lowering, x: SSAValue) -> SSAValue:
    if x.dtype.kind == "u":
        return x
    if x.dtype.kind != "i":
        return b.abs(x)
    # not XLA's, which it takes for no less than 0, though that of the least integer is
    return b.select(b.compare(x, b.full_like(x, 0), "LT"), b.neg(x), x)


sign: Elementwise = declared("sign", _sign, _lower_sign, "iufc", _sign_derivative)


floor: Elementwise = declared("floor", np.floor, "stablehlo.floor", "f")
ceil: Elementwise = declared("ceil", np.ceil, "stablehlo.ceil", "f")
round_: Elementwise = declared("round", np.rint, "stablehlo.round_nearest_even", "f")
is_finite: Elementwise = declared(
    "is_finite", np.isfinite, "stablehlo.is_finite", type_rule("is_finite", "f", _bool)
)
not_: Elementwise = declared("not", np.invert, "stablehlo.not", "biu")
population_count: Elementwise = declared(
    "population_count",
    lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype),
    "stablehlo.popcnt",
    "iu",
)


abs_: Elementwise = families.without_derivatives(
    "abs", np.abs, _lower_abs, type_rule("abs", "iufc", dtypes.real_part)
)

exp: Elementwise = declared("exp", np.exp, "stablehlo.exponential", "fc", lambda t, z, x: mul(t, z))


def _exp2(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):
        return np.asarray(np.exp(x * x.real.dtype.type(np.log(2.0))))
    return np.asarray(np.exp2(x)).astype(x.dtype, copy=False)


def _lower_exp2(b: Lowering, x: SSAValue) -> SSAValue:
    if dtypes.is_complex(x.dtype):
        return b.exp(b.mul(x, b.full_like(x, float(np.log(2.0)))))
    # a power of two, unlike the exponential of a multiple of log 2, is exact for integers
    return b.pow(b.full_like(x, 2), x)


exp2: Elementwise = declared(
    "exp2", _exp2, _lower_exp2, "fc", lambda t, z, x: mul(t, mul(z, _constant(z, np.log(2.0))))
)


def _def_real_host(primitive: Elementwise, function: np.ufunc) -> None:
    """Register NumPy's function for real numbers, where complex ones take another."""

    @primitive.def_host
    def host_rule(avals: Avals, params: NoParams) -> prim.Kernel | None:
        return None if dtypes.is_complex(avals[0].dtype) else function


def _expm1(x: HostArray) -> HostArray:
    if not dtypes.is_complex(x.dtype):
        return np.asarray(np.expm1(x))
    # NumPy's multiplies an infinite exponential by the sine of a zero angle
    a, b = x.real, x.imag
    out = np.empty_like(x)
    grown, part, half = np.exp(a), np.cos(b), np.sin(b / 2)
    near = np.expm1(a) * part - 2 * half * half  # the two cancel where the exponential is small
    moved = np.where(grown < 0.5, grown * part - 1, near)
    no_angle = np.isinf(a) & ~np.isfinite(b)
    out.real = np.where((b == 0) | no_angle, np.expm1(a) + 0.0, moved)  # -0.0 becomes 0.0
    turned = np.where(no_angle & (a < 0), np.copysign(0.0, b), grown * np.sin(b))
    out.imag = np.where(b == 0, b, turned)
    return out


expm1: Elementwise = declared(
    "expm1",
    _expm1,
    "stablehlo.exponential_minus_one",
    "fc",
    # not 1 more than the value, which for large negative numbers is 0
    lambda t, z, x: mul(t, exp(x)),
)


_def_real_host(expm1, np.expm1)


log: Elementwise = declared("log", np.log, "stablehlo.log", "fc", lambda t, z, x: div(t, x))


def _log1p(x: HostArray) -> HostArray:
    out = np.asarray(np.log1p(x))
    if dtypes.is_complex(x.dtype):
        # NumPy's takes the logarithm of a sum, in which a small part is lost
        a, b = x.real, x.imag
        near = np.maximum(np.abs(a), np.abs(b)) < 0.5
        out.real = np.where(near, 0.5 * np.log1p(a * (2 + a) + b * b), out.real)
    return out


log1p: Elementwise = declared(
    "log1p",
    _log1p,
    "stablehlo.log_plus_one",
    "fc",
    lambda t, z, x: div(t, add(x, _constant(x, 1.0))),
)


_def_real_host(log1p, np.log1p)


sqrt: Elementwise = declared(
    "sqrt",
    np.sqrt,
    _on_its_side("stablehlo.sqrt", "imag"),
    "fc",
    lambda t, z, x: div(mul(t, _constant(t, 0.5)), z),
)


@lru_cache(maxsize=64)
def _one(dtype: DType) -> HostArray:
    """Return one as an array without axes, with which NumPy computes in half of the time."""
    return np.ones((), dtype)


def _rsqrt(x: HostArray) -> HostArray:
    return np.asarray(np.divide(_one(x.dtype), np.sqrt(x)))


rsqrt: Elementwise = declared(
    "rsqrt",
    _rsqrt,
    "stablehlo.rsqrt",
    "fc",
    lambda t, z, x: mul(mul(t, _constant(t, -0.5)), div(z, x)),
)


def _cbrt(x: HostArray) -> HostArray:
    return np.asarray(np.cbrt(x.astype(np.float64) if x.dtype == dtypes.float16 else x)).astype(
        x.dtype, copy=False
    )


cbrt: Elementwise = declared(
    "cbrt",
    _cbrt,
    "stablehlo.cbrt",
    "f",
    lambda t, z, x: div(mul(t, _constant(t, 1 / 3)), mul(z, z)),
)


def _logistic(x: HostArray) -> HostArray:
    if dtypes.is_complex(x.dtype):  # of which an infinite exponential makes NaN
        is_left = x.real < 0
        decay = np.exp(np.where(is_left, x, -x))
        return np.asarray(np.where(is_left, decay, _one(x.dtype)) / (1 + decay))
    # in float16 the exponential overflows where the result is still a number
    wide = x.astype(np.float32) if x.dtype == dtypes.float16 else x
    one = _one(wide.dtype)
    out = np.asarray(np.negative(wide))
    np.exp(out, out)
    np.add(one, out, out)
    np.divide(one, out, out)
    return out.astype(x.dtype, copy=False) if wide is not x else out


def _lower_logistic(b: Lowering, x: SSAValue) -> SSAValue:
    if dtypes.is_complex(x.dtype):
        one, is_left = b.full_like(x, 1), b.compare(b.real(x), b.full_like(b.real(x), 0), "LT")
        decay = b.exp(b.select(is_left, x, b.neg(x)))
        return b.div(b.select(is_left, decay, one), b.add(one, decay))
    wide = b.convert(x, dtypes.float32) if x.dtype == dtypes.float16 else x
    return b.convert(b.op("stablehlo.logistic", wide), x.dtype)


def _lower_logistic_slope(b: Lowering, x: SSAValue) -> SSAValue:
    """Emit ``y (1 - y)``, with ``1 - y = exp(-x) y`` on the right, where the difference cancels.

    XLA finds both the exponential and ``y`` in what it makes of ``logistic``, and computes them
    once. Nothing else reads ``x``, which may be costly to compute twice.
    """
    wide = b.convert(x, dtypes.float32) if x.dtype == dtypes.float16 else x
    decay, value, one = b.exp(b.neg(wide)), b.op("stablehlo.logistic", wide), b.full_like(wide, 1)
    is_left = b.compare(decay, one, "GT")
    other = b.select(is_left, b.sub(one, value), b.mul(decay, value))
    return b.convert(b.mul(value, other), x.dtype)


logistic: Elementwise = declared(
    "logistic",
    _logistic,
    _lower_logistic,
    "fc",
    lambda t, z, x: mul(t, logistic_slope(x)),
)


def lower_logaddexp(b: Lowering, x: SSAValue, y: SSAValue) -> SSAValue:
    """Write ``log(exp(x) + exp(y))``."""
    difference = b.sub(x, y)
    total = b.add(b.max(x, y), b.log1p(b.exp(b.neg(b.abs(difference)))))
    # the difference of equal infinities is NaN; their sum is what is wanted
    return b.select(b.compare(difference, difference, "NE"), b.add(x, y), total)


def exp_share(x: Array, y: Array) -> Array:
    """``exp(x) / (exp(x) + exp(y))``; of equal infinities each has a half."""
    equal_infinities = and_(eq(x, y), not_(is_finite(x)))
    return logistic(select(equal_infinities, _constant(x, 0.0), sub(x, y)))


logaddexp: Elementwise = declared(
    "logaddexp",
    np.logaddexp,
    lower_logaddexp,
    "f",
    lambda t, z, x, y: mul(t, exp_share(x, y)),
    lambda t, z, x, y: mul(t, exp_share(y, x)),
)


# Trigonometry


def _one_minus_square(x: Array) -> Array:
    # (1 - x)(1 + x) keeps its digits near x = 1, where 1 - x^2 cancels
    one = _constant(x, 1.0)
    return mul(sub(one, x), add(one, x))


def _one_plus_square(x: Array) -> Array:
    return add(_constant(x, 1.0), mul(x, x))


sin: Elementwise = declared(
    "sin", np.sin, _by_parts("stablehlo.sine", _sine_of_parts), "fc", lambda t, z, x: mul(t, cos(x))
)
cos: Elementwise = declared(
    "cos",
    np.cos,
    _by_parts("stablehlo.cosine", _cosine_of_parts),
    "fc",
    lambda t, z, x: neg(mul(t, sin(x))),
)


def _tan(x: HostArray) -> HostArray:
    out = np.asarray(np.tan(x))
    if dtypes.is_complex(x.dtype):
        a, b = x.real, x.imag
        out.real = np.where(np.isinf(b) & np.isfinite(a), np.copysign(0.0, a), out.real)
    return out


tan: Elementwise = declared(
    "tan", _tan, "stablehlo.tan", "fc", lambda t, z, x: mul(t, _one_plus_square(z))
)


_def_real_host(tan, np.tan)


asin: Elementwise = declared(
    "asin",
    np.arcsin,
    _on_its_side("chlo.asin", "imag"),
    "fc",
    lambda t, z, x: mul(t, rsqrt(_one_minus_square(x))),
)
acos: Elementwise = declared(
    "acos",
    np.arccos,
    _on_its_side("chlo.acos", "imag", negative=True),
    "fc",
    lambda t, z, x: neg(mul(t, rsqrt(_one_minus_square(x)))),
)
atan: Elementwise = declared(
    "atan",
    np.arctan,
    _on_its_side("chlo.atan", "real"),
    "fc",
    lambda t, z, x: div(t, _one_plus_square(x)),
)
sinh: Elementwise = declared(
    "sinh", np.sinh, _by_parts("chlo.sinh", _sinh_of_parts), "fc", lambda t, z, x: mul(t, cosh(x))
)
cosh: Elementwise = declared(
    "cosh", np.cosh, _by_parts("chlo.cosh", _cosh_of_parts), "fc", lambda t, z, x: mul(t, sinh(x))
)


def _tanh(x: HostArray) -> HostArray:
    out = np.asarray(np.tanh(x))
    if dtypes.is_complex(x.dtype):
        # the array API standard wants x's own sign at infinity, where C's turns on with the angle
        a, b = x.real, x.imag
        out.imag = np.where(np.isinf(a) & np.isfinite(b), np.copysign(0.0, b), out.imag)
    return out


tanh: Elementwise = declared(
    "tanh", _tanh, "stablehlo.tanh", "fc", lambda t, z, x: mul(t, sech_squared(x))
)


_def_real_host(tanh, np.tanh)


def _scale_of(size: Array, may_vanish: bool = False) -> Array:
    """Return powers of two, times which sizes have squares that neither overflow nor vanish.

    Args:
        size: numbers that are not negative.
        may_vanish: whether squares may vanish, beside 1.
    """
    exponent = dtypes.finfo(size.dtype).maxexp
    edge, shift = 2.0 ** (exponent // 2 - 2), 2.0 ** (exponent * 5 // 8)
    scale = _constant(size, 1.0)
    if not may_vanish:
        scale = select(lt(size, _constant(size, 1 / edge)), _constant(size, shift), scale)
    return select(gt(size, _constant(size, edge)), _constant(size, 1 / shift), scale)


def _asinh_slope(x: Array) -> Array:
    if dtypes.is_complex(x.dtype):
        return rsqrt(_one_plus_square(x))
    scale = _scale_of(abs_(x), may_vanish=True)
    part = mul(scale, x)
    return mul(scale, rsqrt(add(mul(scale, scale), mul(part, part))))


def _lower_sech_squared(b: Lowering, x: SSAValue) -> SSAValue:
    """Emit ``exp(-2 |x|) (1 + |y|)^2`` for ``y = tanh(x)``, which XLA computes once."""
    decay = b.exp(b.mul(b.abs(x), b.full_like(x, -2)))
    root = b.add(b.abs(b.op("stablehlo.tanh", x)), b.full_like(x, 1))
    return b.mul(decay, b.mul(root, root))


def _slope(name: str, steepness: int, hlo: families.HloFormula) -> Elementwise:
    """Declare ``k^2 / 4 sech(k x / 2)^2``, the slope of tanh for k = 2, of logistic for k = 1.

    It is a primitive: what the values make of it has no digits left where they round to 1, and
    derivatives of other formulas are NaN far out.

    Args:
        name: the primitive's name.
        steepness: k.
        hlo: the lowering for real numbers.
    """
    half, height = steepness / 2, steepness**2 / 4

    def impl(x: HostArray) -> HostArray:
        if dtypes.is_complex(x.dtype):
            decay = np.exp(steepness * np.where(x.real < 0, x, -x))
            return np.asarray(steepness**2 * decay / (1 + decay) ** 2)
        wide = x.astype(np.float32) if x.dtype.itemsize < 4 else x
        return np.asarray(height / np.cosh(half * wide) ** 2).astype(x.dtype, copy=False)

    def of_complex(x: Array) -> Array:
        part = real(x)
        to_left = select(lt(part, _constant(part, 0.0)), x, neg(x))
        decay = exp(mul(to_left, _constant(x, float(steepness))))
        root = add(decay, _constant(x, 1.0))
        return div(mul(decay, _constant(x, float(steepness**2))), mul(root, root))

    complex_hlo = families.composed(of_complex)

    def lower(b: Lowering, x: SSAValue) -> SSAValue:
        return (complex_hlo if dtypes.is_complex(x.dtype) else hlo)(b, x)

    def derivative(t: Array, z: Array, x: Array) -> Array:
        # of x itself for tanh, whose Taylor series this is the recurrence of
        ratio = tanh(x if half == 1 else mul(x, _constant(x, half)))
        return mul(mul(t, z), mul(ratio, _constant(z, float(-steepness))))

    primitive = declared(name, impl, lower, "fc", derivative)

    @primitive.def_host
    def host_rule(avals: Avals, params: NoParams) -> prim.Kernel | None:
        if avals[0].dtype not in _NATIVE_FLOATS or not avals[0].shape:
            return None
        top = avals[0].dtype.type(height)

        def divide_by_square(x: HostArray) -> HostArray:
            out: HostArray = np.cosh(x if half == 1 else x * half)
            np.multiply(out, out, out)
            np.divide(top, out, out)
            return out

        return divide_by_square

    return primitive


sech_squared: Elementwise = _slope("sech_squared", 2, _lower_sech_squared)
logistic_slope: Elementwise = _slope("logistic_slope", 1, _lower_logistic_slope)


asinh: Elementwise = declared(
    "asinh",
    np.arcsinh,
    _on_its_side("chlo.asinh", "real"),
    "fc",
    lambda t, z, x: mul(t, _asinh_slope(x)),
)
acosh: Elementwise = declared(
    "acosh",
    np.arccosh,
    _on_its_side("chlo.acosh", "imag"),
    "fc",
    # two roots rather than one of x^2 - 1: the branch is right for complex x too
    lambda t, z, x: mul(t, mul(rsqrt(sub(x, _constant(x, 1.0))), rsqrt(add(x, _constant(x, 1.0))))),
)
atanh: Elementwise = declared(
    "atanh",
    np.arctanh,
    _on_its_side("chlo.atanh", "imag"),
    "fc",
    lambda t, z, x: div(t, _one_minus_square(x)),
)


def _atan2_slope(t: Array, x: Array, y: Array) -> Array:
    """Return ``t * y / (x**2 + y**2)``."""
    scale = _scale_of(max_(abs_(x), abs_(y)))
    u, v = mul(scale, x), mul(scale, y)
    return mul(t, mul(scale, div(v, add(mul(u, u), mul(v, v)))))


atan2: Elementwise = declared(
    "atan2",
    np.arctan2,
    "stablehlo.atan2",
    "f",
    lambda t, z, x, y: _atan2_slope(t, x, y),
    lambda t, z, x, y: neg(_atan2_slope(t, y, x)),
)


# Kinks
#
# At a kink the first derivative is the mean of the slopes on both sides: 0 for ``|x|`` at 0. But in
# the second derivative of ``|x|**2`` slopes are multiplied: on each side they are 1 * 1 or -1 * -1,
# and their means 0 * 0. So the derivative is differentiated on one side. The rule of a kinked
# function returns, and multiplies by, primitives of the same values, whose own rules take 0 for a
# number a little above it. Complex numbers and roots, whose slope has no limit there, are smooth
# beside it: their size is the tiny number of ``_lifted``.


def _lifted(size: Array) -> Array:
    """Return sizes, with a power of two in place of 0 whose inverse has a square, but no cube.

    So third derivatives are right, and fourth ones, which divide by a cube, are not finite: the
    functions of a size are rounded too early for them.
    """
    zero, tiny = _constant(size, 0.0), 2.0 ** (2 * dtypes.finfo(size.dtype).minexp // 5)
    return add(size, select(eq(size, zero), _constant(size, tiny), zero))


def _slope_along(t: Array, x: Array) -> Array:
    if dtypes.is_complex(x.dtype):
        return real(mul(t, conj(abs_slope(x))))
    return mul(t, abs_slope(x))


abs_slope: Elementwise = families.without_derivatives("abs_slope", _sign, _lower_sign, "fc")
abs_right: Elementwise = families.without_derivatives(
    "abs_right", np.abs, _lower_abs, type_rule("abs", "fc", dtypes.real_part)
)


@abs_.def_jvp
def _abs_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NoParams) -> prim.JvpResult:
    (x,), (t,) = primals, tangents
    assert t is not ZERO, "a rule is asked where there is a tangent"
    return (abs_right(x),), (_slope_along(t, x),)


mark(ONE_SIDED, abs_right, abs_, abs_right)
mark(ONE_SIDED, abs_slope, abs_slope)


def _right_slope(x: Array) -> Array:
    return select(lt(x, _constant(x, 0.0)), _constant(x, -1.0), _constant(x, 1.0))


@abs_right.def_jvp
def _abs_right_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: NoParams
) -> prim.JvpResult:
    (x,), (t,) = primals, tangents
    assert t is not ZERO, "a rule is asked where there is a tangent"
    if dtypes.is_complex(x.dtype):
        return (_lifted(abs_right(x)),), (_slope_along(t, x),)
    return (abs_right(x),), (mul(t, _right_slope(x)),)


@abs_slope.def_jvp
def _abs_slope_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: NoParams
) -> prim.JvpResult:
    (x,), (t,) = primals, tangents
    assert t is not ZERO, "a rule is asked where there is a tangent"
    if not dtypes.is_complex(x.dtype):
        return (_right_slope(x),), (ZERO,)
    slope, size = abs_slope(x), _lifted(abs_right(x))
    # slope = x / |x|, so its tangent is (t - slope * Re(conj(slope) t)) / |x|
    across = sub(t, mul(slope, complex_(real(mul(conj(slope), t)), _constant(size, 0.0))))
    return (slope,), (div(across, complex_(size, _constant(size, 0.0))),)


root: Elementwise = families.without_derivatives("root", np.sqrt, "stablehlo.sqrt", "f")
root_right: Elementwise = families.without_derivatives("root_right", np.sqrt, "stablehlo.sqrt", "f")


mark(ONE_SIDED, root_right, root, root_right)


@root.def_jvp
def _root_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NoParams) -> prim.JvpResult:
    (x,), (t,) = primals, tangents
    assert t is not ZERO, "a rule is asked where there is a tangent"
    size = root_right(x)
    return (size,), (div(mul(t, _constant(t, 0.5)), _lifted(size)),)


@root_right.def_jvp
def _root_right_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: NoParams
) -> prim.JvpResult:
    (x,), (t,) = primals, tangents
    assert t is not ZERO, "a rule is asked where there is a tangent"
    size = _lifted(root_right(x))
    return (size,), (div(mul(t, _constant(t, 0.5)), size),)


# Powers


def _pow_in_x(t: Array, z: Array, x: Array, y: Array) -> Array:
    # y x^(y-1), which is 0 for y = 0 whatever x is: 1 stands in for x where that is infinite
    one = _constant(y, 1.0)
    size = abs_(x)
    finite = gt(size, _constant(size, float(dtypes.finfo(size.dtype).tiny)))
    stands_in = and_(eq(y, _constant(y, 0.0)), not_(finite))
    return mul(t, mul(y, pow_(select(stands_in, one, x), sub(y, one))))


def _pow_in_y(t: Array, z: Array, x: Array, y: Array) -> Array:
    # x^y log x, which is 0 for x = 0
    safe = select(eq(x, _constant(x, 0.0)), _constant(x, 1.0), x)
    return mul(t, mul(log(safe), z))


def _power(x: HostArray, y: HostArray) -> HostArray:
    # NumPy takes the root where all exponents are 1/2, except for one in several axes, ...
    out = np.asarray(np.power(x, y.reshape(()) if y.size == 1 and y.ndim <= x.ndim else y))
    # ... which C's pow is not at -0.0 and -inf
    if (0 in y.strides or y.size == 1) and not dtypes.is_complex(x.dtype):
        half = dtypes.without_repeats(y) == y.dtype.type(0.5)
        if half.any():
            return np.where(half & ((x == 0) | (x == -np.inf)), np.abs(x), out)
    return out


pow_: Elementwise = declared(
    "pow", _power, "stablehlo.power", "fc", _pow_in_x, _pow_in_y, broadcasts=True
)


def _power_by_squaring(x: T, n: int, times: Callable[[T, T], T], one: Callable[[T], T]) -> T:
    result: T | None = None
    while n:
        if n & 1:
            result = x if result is None else times(result, x)
        n >>= 1
        if n:
            x = times(x, x)
    return one(x) if result is None else result


@attrs.frozen(eq=False, repr=False)
class IntegerPowParams(prim.Params):
    """The exponent, which may be negative for floats."""

    exponent: int


def _integer_pow(x: HostArray, params: IntegerPowParams) -> HostArray:
    n = params.exponent
    power = _power_by_squaring(x, abs(n), lambda a, b: np.asarray(a * b), np.ones_like)
    return np.asarray(x.dtype.type(1) / power if n < 0 else power).astype(x.dtype, copy=False)


def _lower_integer_pow(b: Lowering, x: SSAValue, params: IntegerPowParams) -> SSAValue:
    power = _power_by_squaring(x, abs(params.exponent), b.mul, lambda x: b.full_like(x, 1))
    return b.div(b.full_like(x, 1), power) if params.exponent < 0 else power


def _integer_pow_derivative(t: Array, z: Array, x: Array, params: IntegerPowParams) -> prim.Tangent:
    n = params.exponent
    return mul(t, mul(_constant(x, n), integer_pow(x, n - 1))) if n else ZERO


def _integer_pow_type(avals: Avals, params: IntegerPowParams) -> Avals:
    check_kind("integer_pow", avals[0], "iufc" if params.exponent >= 0 else "fc")
    return avals


integer_pow_p: Elementwise = declared(
    "integer_pow",
    _integer_pow,
    _lower_integer_pow,
    _integer_pow_type,
    _integer_pow_derivative,
    params=IntegerPowParams,
)


mark(
    TRANSCENDENTAL,
    100.0,
    *(exp, exp2, expm1, log, log1p, cbrt, logistic, logaddexp, sin, cos, tan, asin, acos, atan),
    *(sinh, cosh, tanh, sech_squared, logistic_slope, asinh, acosh, atanh, atan2, pow_),
)
mark(ONE_AT_A_TIME, True, cbrt, tan, pow_)


@integer_pow_p.def_host
def _integer_pow_host(avals: Avals, params: IntegerPowParams) -> prim.HostCall | None:
    n, multiply = params.exponent, np.multiply
    if n < 2:
        return None
    by_squaring = partial(_power_by_squaring, n=n, times=multiply, one=np.ones_like)
    call: prim.Kernel = (lambda x: multiply(x, x)) if n == 2 else by_squaring
    if avals[0].size != 1 or n > _LARGEST_WRITTEN_POWER:
        return prim.HostCall(call, fresh=True)
    text = _power_by_squaring("{0}", n, lambda a, b: f"({a} * {b})", str)
    return prim.HostCall(call, numbers=text, fresh=True)


#: The largest number of factors that is expanded for numbers.
_LARGEST_WRITTEN_POWER: Final = 8


def integer_pow(x: Array, exponent: int) -> Array:
    """Return ``x`` to a fixed integer power, by repeated multiplication."""
    return x if exponent == 1 else bind1(integer_pow_p, (x,), IntegerPowParams(exponent))


# Bits and booleans

and_: Elementwise = declared("and", np.bitwise_and, "stablehlo.and", "biu")
or_: Elementwise = declared("or", np.bitwise_or, "stablehlo.or", "biu")
xor_: Elementwise = declared("xor", np.bitwise_xor, "stablehlo.xor", "biu")


def _bits(x: HostArray) -> int:
    return x.dtype.itemsize * 8


def _shift_right_logical(x: HostArray, y: HostArray) -> HostArray:
    if x.dtype.kind == "u":
        return np.asarray(np.right_shift(x, y))  # 0 for all bits and more
    unsigned = f"u{x.dtype.itemsize}"
    return np.asarray(np.right_shift(x.view(unsigned), y.view(unsigned))).view(x.dtype)


def _shift_right_arithmetic(x: HostArray, y: HostArray) -> HostArray:
    signed, by = x.view(f"i{x.dtype.itemsize}"), y.view(f"u{y.dtype.itemsize}")
    most = np.minimum(by, by.dtype.type(_bits(x) - 1)).astype(signed.dtype)
    return np.asarray(np.right_shift(signed, most)).view(x.dtype)


shift_left: Elementwise = declared("shift_left", np.left_shift, "stablehlo.shift_left", "iu")
shift_right_logical: Elementwise = declared(
    "shift_right_logical", _shift_right_logical, "stablehlo.shift_right_logical", "iu"
)
shift_right_arithmetic: Elementwise = declared(
    "shift_right_arithmetic", _shift_right_arithmetic, "stablehlo.shift_right_arithmetic", "iu"
)


@shift_right_logical.def_host
def _shift_host(avals: Avals, params: NoParams) -> prim.Kernel:
    dtype = avals[0].dtype
    if dtype.kind == "u":
        return np.right_shift
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return lambda x, y: np.right_shift(x.view(unsigned), y.view(unsigned)).view(dtype)


nextafter: Elementwise = declared(
    "nextafter",
    np.nextafter,
    "chlo.next_after",
    "f",
    lambda t, z, x, y: t,  # x and one step, which is locally constant
    lambda t, z, x, y: full_like(t, 0),
)


# Comparison


def _comparison(name: str, impl: families.HostFunction, kinds: str) -> Elementwise:
    return declared(
        name,
        impl,
        lambda b, x, y: b.compare(x, y, name.upper()),
        type_rule(name, kinds, _bool),
        broadcasts=True,
    )


# Python's operators, since NumPy's functions do not compare keys, nor derivatives of integers.
eq: Elementwise = _comparison("eq", operator.eq, "biufckVs")
ne: Elementwise = _comparison("ne", operator.ne, "biufckVs")
lt: Elementwise = _comparison("lt", np.less, "biufs")
le: Elementwise = _comparison("le", np.less_equal, "biufs")
gt: Elementwise = _comparison("gt", np.greater, "biufs")
ge: Elementwise = _comparison("ge", np.greater_equal, "biufs")


def _ordered(x: HostArray) -> HostArray:
    """Integers in the total order of floats: -NaN, ..., -0.0, 0.0, ..., NaN."""
    if dtypes.kind(x.dtype) != "f":
        return x
    if x.dtype not in (dtypes.float16, *_NATIVE_FLOATS):
        x = x.astype(np.float32)
    width = 8 * x.dtype.itemsize
    bits = x.view(f"i{x.dtype.itemsize}")
    # all bits but the sign count downwards where that is set
    return np.asarray(bits ^ (bits >> (width - 1) & np.iinfo(bits.dtype).max))


def _total(direction: str, impl: Callable[[HostArray, HostArray], HostArray]) -> Elementwise:
    """Return a comparison in the total order of floats: -0.0 is before 0.0, NaN equals NaN."""

    def compare(b: Lowering, x: SSAValue, y: SSAValue) -> SSAValue:
        is_narrow = dtypes.kind(x.dtype) == "f" and x.dtype.itemsize == 1
        wide = dtypes.float32 if is_narrow else x.dtype
        return b.compare(b.convert(x, wide), b.convert(y, wide), direction.upper(), total=True)

    name = f"{direction}_to"
    return declared(
        name,
        lambda x, y: impl(_ordered(x), _ordered(y)),
        compare,
        type_rule(name, "biuf", _bool),
    )


eq_to: Elementwise = _total("eq", np.equal)
lt_to: Elementwise = _total("lt", np.less)
le_to: Elementwise = _total("le", np.less_equal)


# Selection

select_p: Final = prim.Primitive("select", NoParams, selects=True, repeatable=True)


@select_p.def_host
def _select_host(avals: Avals, params: NoParams) -> prim.HostCall:
    if avals[0].ndim:
        return prim.HostCall(np.where, fresh=True)
    return prim.HostCall(lambda predicate, x, y: (x if predicate else y).copy(), fresh=True)


@select_p.def_abstract_eval
def _select_type(avals: Avals, params: NoParams) -> Avals:
    predicate, on_true, on_false = avals
    if predicate.dtype != dtypes.bool_:
        raise DtypeError(f"select needs a bool predicate, but got {predicate}.")
    if predicate.shape != on_true.shape:
        raise ShapeError(
            f"select needs a predicate of the cases' shape, but got {predicate} for {on_true}."
        )
    return (families.elementwise_type("select", (on_true, on_false), "biufcks"),)


families.def_elementwise_lowering(select_p, "stablehlo.select")
def_linear(select_p, 1, 2)
def_transposes(
    select_p,
    "the predicate",
    lambda ct, predicate, x, y: select(predicate, ct, full_like(ct, 0)),
    lambda ct, predicate, x, y: select(predicate, full_like(ct, 0), ct),
)
families.def_elementwise_batch(select_p)


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


tie: Elementwise = families.without_derivatives(
    "tie", operator.eq, lambda b, x, y: b.compare(x, y, "EQ"), type_rule("tie", "biufc", _bool)
)


mark(ONE_SIDED, tie, tie)


@tie.def_jvp
def _tie_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: NoParams) -> prim.JvpResult:
    """Break the tie: the derivative of a mean of slopes is that of one of them."""
    return (opd.splat(False, primals[0].aval.update(dtype=dtypes.bool_)),), (ZERO,)


def _extremum(
    name: str,
    impl: families.HostFunction,
    hlo: families.HloFormula,
    wins: Elementwise,
    wins_second: Elementwise,
) -> tuple[Elementwise, Elementwise]:
    """Declare an extremum, and the same of which the derivative is differentiated.

    The tangent is the winner's, or the mean of those of two that tie. On one side, the first of two
    equal operands is a little above the second, and one that varies above a constant. The operands
    are compared with each other, not with the result: compilers may compute a value twice with
    different rounding, and then neither operand equals the result. Where both have tangents, each
    is computed once, so that the shares add up. Complex numbers have no other order than the
    result's.

    Args:
        name: the primitive's name.
        impl: NumPy's function.
        hlo: the lowering.
        wins: whether an operand is chosen which is above one that it equals.
        wins_second: whether one is chosen which is below one that it equals.
    """
    right = families.without_derivatives(f"{name}_right", impl, hlo, "fc")
    primitive = families.without_derivatives(name, impl, hlo, "biufc")

    def differentiate(
        primals: prim.Arrays, tangents: prim.Tangents, shares_ties: bool
    ) -> prim.JvpResult:
        t, u = tangents
        x, y = primals if t is ZERO or u is ZERO else [once(x) for x in primals]
        out = right(x, y)

        def part(tangent: prim.Tangent, won: Array) -> prim.Tangent:
            if tangent is ZERO:
                return ZERO
            chosen = select(won, tangent, _constant(tangent, 0.0))
            if not shares_ties:
                return chosen
            return select(tie(x, y), mul(tangent, _constant(tangent, 0.5)), chosen)

        if dtypes.is_complex(x.dtype):
            first = eq(out, x)
            return (out,), (add_tangents(part(t, first), part(u, not_(first))),)
        if u is ZERO:
            return (out,), (part(t, wins(x, y)),)
        of_second = part(u, (wins if t is ZERO else wins_second)(y, x))
        return (out,), (of_second if t is ZERO else add_tangents(part(t, wins(x, y)), of_second),)

    mark(ONE_SIDED, right, primitive, right)
    right.def_jvp(lambda primals, tangents, params: differentiate(primals, tangents, False))
    primitive.def_jvp(lambda primals, tangents, params: differentiate(primals, tangents, True))
    return primitive, right


max_: Elementwise
max_right: Elementwise
min_: Elementwise
min_right: Elementwise
max_, max_right = _extremum("max", np.maximum, Lowering.max, ge, gt)
min_, min_right = _extremum("min", np.minimum, Lowering.min, lt, le)


def clamp(low: Array, x: Array, high: Array) -> Array:
    """Return ``x`` kept between ``low`` and ``high``, elementwise."""
    return min_(max_(x, low), high)


def _def_numbers(
    primitive: prim.Primitive[NoParams], text: str, kinds: str = "biuf", least_size: int = 1
) -> None:
    """Register Python's formula for numbers beside NumPy's function, for some dtypes.

    Args:
        primitive: the primitive.
        text: the formula, with braces for the operands.
        kinds: the kinds of these dtypes.
        least_size: the least size of these dtypes, in bytes.
    """
    arrays = primitive.rules.host

    @primitive.def_host
    def host_rule(avals: Avals, params: NoParams) -> prim.HostCall | prim.Kernel | None:
        host = None if arrays is None else arrays(avals, params)
        shape, dtype = avals[-1].shape, avals[-1].dtype
        fits = dtype.kind in kinds and dtype.itemsize >= least_size
        if host is None or not fits or shape.count(1) < len(shape):
            return host
        call = host.call if isinstance(host, prim.HostCall) else host
        return prim.HostCall(call, numbers=text, fresh=True)


for _operation, _operator in (
    *((and_, "&"), (or_, "|"), (xor_, "^")),
    *((eq, "=="), (ne, "!="), (lt, "<"), (le, "<="), (gt, ">"), (ge, ">=")),
):
    _def_numbers(_operation, f"{{0}} {_operator} {{1}}")
_def_numbers(not_, "not {0}", "b")
_def_numbers(neg, "-{0}", "if")
for _size in (abs_, abs_right):
    _def_numbers(_size, "abs({0})", "if")
_def_numbers(max_, "{0} if {0} > {1} else {1}", "biu")
_def_numbers(min_, "{0} if {0} < {1} else {1}", "biu")
# of zeros with two signs NumPy takes the second, but in half precision
_def_numbers(max_, "{0} if {0} > {1} or {0} != {0} else {1}", "f", least_size=4)
_def_numbers(min_, "{0} if {0} < {1} or {0} != {0} else {1}", "f", least_size=4)
_def_numbers(select_p, "{1} if {0} else {2}")


# Complex numbers and their parts. Transposes, not adjoints: complex numbers are pairs (x, y) with
# the pairing x x' - y y'.

real: Elementwise = declared(
    "real",
    lambda x: x.real,
    "stablehlo.real",
    type_rule("real", "c", dtypes.real_part),
    transposes=[lambda ct, x: complex_(ct, full_like(ct, 0))],
)
imag: Elementwise = declared(
    "imag",
    lambda x: x.imag,
    "stablehlo.imag",
    type_rule("imag", "c", dtypes.real_part),
    transposes=[lambda ct, x: complex_(full_like(ct, 0), neg(ct))],
)


def _complex(x: HostArray, y: HostArray) -> HostArray:
    out = np.empty(x.shape, dtypes.to_complex(x.dtype))
    out.real = x
    out.imag = y
    return out


def _complex_type(avals: Avals, params: NoParams) -> Avals:
    aval = families.elementwise_type("complex", avals, "f")
    if aval.dtype not in (dtypes.float32, dtypes.float64):
        raise DtypeError(f"complex takes float32 or float64, but got {aval.dtype.name}.")
    return (ShapedArray(aval.shape, dtypes.to_complex(aval.dtype), aval.weak_type),)


complex_: Elementwise = declared(
    "complex",
    _complex,
    "stablehlo.complex",
    _complex_type,
    transposes=[lambda ct, x, y: real(ct), lambda ct, x, y: neg(imag(ct))],
)


conj: Elementwise = declared("conj", np.conj, "chlo.conj", "c", transposes=[lambda ct, x: conj(ct)])


# Conversion of types


@attrs.frozen(eq=False, repr=False)
class ConvertParams(prim.Params):
    """The dtype to convert to, and whether the result of a weakly typed operand is one too."""

    dtype: DType
    weak_type: bool


def _convert(x: HostArray, params: ConvertParams) -> HostArray:
    dtype = params.dtype
    if dtype != dtypes.bool_ and dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if dtypes.is_float(x.dtype) and dtypes.is_whole(dtype):
        return _float_to_int(x, dtype)
    if x.dtype in dtypes.STORED and dtype in dtypes.STORED:
        x = x.astype(np.int8)
    return x.astype(dtype)


_NATIVE_INTS = (dtypes.int32, dtypes.int64)


def _float_to_int(x: HostArray, dtype: DType) -> HostArray:
    # C leaves out-of-range conversions undefined; XLA saturates, and sends NaN to 0. For these
    # types the processor notices them, so that the usual case takes one pass instead of ten.
    if dtype in _NATIVE_INTS and x.dtype in _NATIVE_FLOATS:
        token = set_errors(RAISE_INVALID)
        try:
            return opd.copied(x, dtype)
        except FloatingPointError:
            pass
        finally:
            reset_errors(token)
    wide = x.astype(np.float64)
    info = dtypes.iinfo(dtype)
    inside = (wide > float(info.min) - 1) & (wide < float(info.max) + 1)
    converted = np.where(inside, wide, 0).astype(dtype)
    ends = np.where(wide > 0, dtype.type(info.max), dtype.type(info.min))
    return np.where(inside | np.isnan(wide), converted, ends).astype(dtype, copy=False)


def _lower_convert(b: Lowering, x: SSAValue, params: ConvertParams) -> SSAValue:
    dtype = params.dtype
    if dtype == dtypes.bool_ and x.dtype != dtype:
        return b.compare(x, b.full_like(x, 0), "NE")
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = b.real(x)
    if x.dtype in dtypes.STORED:
        x = b.unpack(x)
    return b.pack(x, dtype) if dtype in dtypes.STORED else b.convert(x, dtype)


def _convert_derivative(t: Array, z: Array, x: Array, params: ConvertParams) -> prim.Tangent:
    inexact = dtypes.is_inexact(params.dtype)
    return bind1(convert_element_type_p, (t,), params) if inexact else ZERO


def _convert_type(avals: Avals, params: ConvertParams) -> Avals:
    (x,), dtype = avals, params.dtype
    if x.dtype != dtype and (dtypes.is_key(x.dtype) or dtypes.is_key(dtype)):
        raise DtypeError(
            f"{dtypes.dtype_name(x.dtype)} cannot be converted to {dtypes.dtype_name(dtype)}: keys "
            "are no numbers. tinyjax.random.key_data gives their words, and wrap_key_data makes "
            "keys of words."
        )
    return (ShapedArray(x.shape, dtype, params.weak_type),)


convert_element_type_p: Elementwise = declared(
    "convert_element_type",
    _convert,
    _lower_convert,
    _convert_type,
    _convert_derivative,
    transposes=[lambda ct, x, p: convert_element_type(ct, x.aval.dtype, x.aval.weak_type)],
    params=ConvertParams,
)


@convert_element_type_p.def_host
def _convert_host(avals: Avals, params: ConvertParams) -> prim.Kernel | None:
    (x,), dtype = avals, params.dtype
    if dtype in dtypes.STORED or dtypes.is_complex(x.dtype):
        return None
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        return lambda x: _float_to_int(x, dtype)
    if x.size < prim.MANY:
        return lambda x: x.astype(dtype)
    return lambda x: opd.copied(x, dtype)


def convert_host(host: HostArray, dtype: DType) -> HostArray:
    """Convert data as ``convert_element_type`` does."""
    token = set_errors(IGNORE)
    try:
        return _convert(host, ConvertParams(dtype, False))
    finally:
        reset_errors(token)


def convert_element_type(x: Array, dtype: DType, weak_type: bool = False) -> Array:
    """Return ``x`` with its elements converted to another dtype.

    Floats become integers by truncation, saturating at the ends; complex numbers become real by
    dropping the imaginary part; anything becomes bool by comparison with zero. An array that was
    made of a Python number becomes that number in the dtype.
    """
    aval = x._aval or x.aval
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    if (
        aval.weak_type
        and not aval.shape
        and is_constant(x)
        and id(x) not in followed
        and not dtypes.is_key(dtype)
        and (has_data(x) or not dtypes.is_integer(dtype))
    ):
        # a number, converted at once, so that it is rounded once and stays a literal
        host = convert_host(given_number(x), dtype)
        return ConcreteArray(host, ShapedArray((), dtype, weak_type))
    return bind1(convert_element_type_p, (x,), ConvertParams(dtype, weak_type))
