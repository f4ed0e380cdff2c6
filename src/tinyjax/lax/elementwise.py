"""Functions of single elements, and choices between them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Literal, Protocol, TypeVar

from tinyjax import dtypes, tree
from tinyjax.core.primitives import (
    broadcast as _bc,
    elementwise as _ew,
    identities as _id,
    shape as _sh,
)
from tinyjax.core.tracing import checking, trace as tr
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.integers import integer
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.lax.operands import named, one_dtype, pair
from tinyjax.numpy.promotion import convert
from tinyjax.primitives import bitcast as _bitcast, bits as _bits, special as _sp

T = TypeVar("T")


class Unary(Protocol):
    """A function of one array."""

    __name__: str

    def __call__(self, x: ArrayLike) -> Array: ...


class Accurate(Protocol):
    """A function of one array that takes ``accuracy``, which has no effect."""

    __name__: str

    def __call__(self, x: ArrayLike, *, accuracy: object = None) -> Array: ...


class Binary(Protocol):
    """A function of two arrays of the same shape and dtype."""

    __name__: str

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...


def _unary(primitive: Primitive[NoParams], doc: str, name: str = "") -> Unary:
    def fun(x: ArrayLike) -> Array:
        return tr.bind1(primitive, (opd.as_array(x),), NO_PARAMS)

    named(fun, name or primitive.name, doc)
    return fun


def _accurate(primitive: Primitive[NoParams], doc: str, name: str = "") -> Accurate:
    def fun(x: ArrayLike, *, accuracy: object = None) -> Array:
        return tr.bind1(primitive, (opd.as_array(x),), NO_PARAMS)

    named(fun, name or primitive.name, doc)
    return fun


def _binary(primitive: Primitive[NoParams], doc: str, name: str = "") -> Binary:
    label = name or primitive.name

    def fun(x: ArrayLike, y: ArrayLike) -> Array:
        return tr.bind1(primitive, pair(label, opd.as_array(x), opd.as_array(y)), NO_PARAMS)

    named(fun, label, doc)
    return fun


neg: Final = _unary(_ew.neg, "Return ``-x``.")
sign: Final = _unary(_ew.sign, "Return -1, 0 or 1; for complex numbers ``x / abs(x)``.")
abs: Final = _unary(_ew.abs_, "Return the absolute value.")
floor: Final = _unary(_ew.floor, "Return the greatest integer not above ``x``, as a float.")
ceil: Final = _unary(_ew.ceil, "Return the least integer not below ``x``, as a float.")
is_finite: Final = _unary(_ew.is_finite, "Say where ``x`` is neither infinite nor NaN.")
exp: Final = _accurate(_ew.exp, "Return the exponential.")
exp2: Final = _accurate(_ew.exp2, "Return 2 to the power of ``x``.")
expm1: Final = _accurate(_ew.expm1, "Return ``exp(x) - 1``, accurate for small ``x``.")
log: Final = _accurate(_ew.log, "Return the natural logarithm.")
log1p: Final = _accurate(_ew.log1p, "Return ``log(1 + x)``, accurate for small ``x``.")
sqrt: Final = _accurate(_ew.sqrt, "Return the square root.")
rsqrt: Final = _accurate(_ew.rsqrt, "Return one over the square root.")
cbrt: Final = _accurate(_ew.cbrt, "Return the cube root.")
logistic: Final = _accurate(_ew.logistic, "Return ``1 / (1 + exp(-x))``.")
sin: Final = _accurate(_ew.sin, "Return the sine.")
cos: Final = _accurate(_ew.cos, "Return the cosine.")
tan: Final = _accurate(_ew.tan, "Return the tangent.")
asin: Final = _unary(_ew.asin, "Return the angle whose sine is ``x``.")
acos: Final = _unary(_ew.acos, "Return the angle whose cosine is ``x``.")
atan: Final = _unary(_ew.atan, "Return the angle whose tangent is ``x``.")
sinh: Final = _unary(_ew.sinh, "Return the hyperbolic sine.")
cosh: Final = _unary(_ew.cosh, "Return the hyperbolic cosine.")
tanh: Final = _accurate(_ew.tanh, "Return the hyperbolic tangent.")
asinh: Final = _unary(_ew.asinh, "Return the inverse of ``sinh``.")
acosh: Final = _unary(_ew.acosh, "Return the inverse of ``cosh``.")
atanh: Final = _unary(_ew.atanh, "Return the inverse of ``tanh``.")
real: Final = _unary(_ew.real, "Return the real part of a complex number.")
imag: Final = _unary(_ew.imag, "Return the imaginary part of a complex number.")
bitwise_not: Final = _unary(_ew.not_, "Return the complement of the bits.", "bitwise_not")
population_count: Final = _unary(_ew.population_count, "Return how many bits are set.")
clz: Final = _unary(_bits.clz, "Return how many bits of zero are in front of the first one.")
erf: Final = _unary(_sp.erf, "Return the error function.")
erfc: Final = _unary(_sp.erfc, "Return ``1 - erf(x)``, accurate for large ``x``.")
erf_inv: Final = _unary(_sp.erf_inv, "Return the inverse of ``erf``.")
lgamma: Final = _unary(_sp.lgamma, "Return the logarithm of the absolute gamma function.")
digamma: Final = _unary(_sp.digamma, "Return the derivative of ``lgamma``.")

add: Final = _binary(_ew.add, "Return ``x + y``; for bools the logical or.")
sub: Final = _binary(_ew.sub, "Return ``x - y``.")


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike = None) -> Array:
    """Return ``x * y``; for bools the logical and.

    Args:
        x: an array.
        y: one of the same shape and dtype.
        out_dtype: the dtype to convert both to before they are multiplied.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> int(lax.mul(jnp.int8(100), jnp.int8(100), out_dtype=jnp.int32))
        10000
    """
    a, b = opd.as_array(x), opd.as_array(y)
    if out_dtype is not None:
        dtype = dtypes.check(out_dtype)
        weak = a.weak_type and b.weak_type
        a, b = convert(a, dtype, weak), convert(b, dtype, weak)
    return tr.bind1(_ew.mul, pair("mul", a, b), NO_PARAMS)


mulhi: Final = _binary(_bits.mulhi, "Return the upper half of the bits of a product.")
div: Final = _binary(_ew.div, "Return ``x / y``; for integers the quotient towards zero.")
rem: Final = _binary(_ew.rem, "Return the remainder of ``div``, which has the sign of ``x``.")
max: Final = _binary(_ew.max_, "Return the greater of two; NaN where either is.")
min: Final = _binary(_ew.min_, "Return the lesser of two; NaN where either is.")
atan2: Final = _binary(_ew.atan2, "Return the angle of the point ``(y, x)``.")


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the float next to ``x1`` towards ``x2``."""
    return tr.bind1(_ew.nextafter, pair("nextafter", opd.as_array(x1), opd.as_array(x2)), NO_PARAMS)


complex: Final = _binary(_ew.complex_, "Return the number with these parts.")
bitwise_and: Final = _binary(_ew.and_, "Return the bits set in both.", "bitwise_and")
bitwise_or: Final = _binary(_ew.or_, "Return the bits set in either.", "bitwise_or")
bitwise_xor: Final = _binary(_ew.xor_, "Return the bits set in one of the two.", "bitwise_xor")
shift_left: Final = _binary(_ew.shift_left, "Return ``x`` shifted left by ``y`` bits.")
shift_right_logical: Final = _binary(
    _ew.shift_right_logical, "Return ``x`` shifted right by ``y`` bits, with zeros coming in."
)
shift_right_arithmetic: Final = _binary(
    _ew.shift_right_arithmetic,
    "Return ``x`` shifted right by ``y`` bits, with copies of the sign coming in.",
)
eq: Final = _binary(_ew.eq, "Say where ``x == y``.")
ne: Final = _binary(_ew.ne, "Say where ``x != y``.")
lt: Final = _binary(_ew.lt, "Say where ``x < y``.")
le: Final = _binary(_ew.le, "Say where ``x <= y``.")
gt: Final = _binary(_ew.gt, "Say where ``x > y``.")
ge: Final = _binary(_ew.ge, "Say where ``x >= y``.")


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Return the ``m``-th derivative of ``digamma``."""
    return tr.bind1(_sp.polygamma, pair("polygamma", opd.as_array(m), opd.as_array(x)), NO_PARAMS)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Return Hurwitz' zeta function."""
    return tr.bind1(_sp.zeta, pair("zeta", opd.as_array(x), opd.as_array(q)), NO_PARAMS)


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a real number becomes complex."""
    array = opd.as_array(x)
    if not dtypes.is_complex(array.dtype):
        return complex(array, _sh.zeros_like(array))
    return tr.bind1(_ew.conj, (array,), NO_PARAMS)


def square(x: ArrayLike) -> Array:
    """Return ``x * x``."""
    return integer_pow(x, 2)


def reciprocal(x: ArrayLike) -> Array:
    """Return ``1 / x``, of a float or complex number."""
    return integer_pow(x, -1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Return ``x`` to the power of a Python int, by repeated multiplication.

    Raises:
        DtypeError: ``x`` is a bool, or an integer to a negative power.
    """
    return tr.bind1(
        _ew.integer_pow_p, (opd.as_array(x),), _ew.IntegerPowParams(integer(y, "the exponent"))
    )


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x`` to the power of ``y``; an integer ``y`` is converted to ``x``'s dtype.

    Raises:
        DtypeError: ``x`` is an integer, or ``y`` has another dtype.
    """
    if isinstance(y, int):
        return integer_pow(x, y)
    base, exponent = opd.as_array(x), opd.as_array(y)
    if dtypes.is_inexact(base.dtype) and dtypes.is_integer(exponent.dtype):
        exponent = convert(exponent, base.dtype)
    return tr.bind1(_ew.pow_, pair("pow", base, exponent), NO_PARAMS)


class RoundingMethod(Enum):
    """Say how ``round`` treats a number half way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Return the nearest integer, as a float.

    Args:
        x: floats.
        rounding_method: how to round a number half way between two integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.round(jnp.array([0.5, 1.5, 2.5]))
        Array([1., 2., 3.], dtype=float32)
    """
    array = opd.as_array(x)
    nearest = tr.bind1(_ew.round_, (array,), NO_PARAMS)
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return nearest
    sign_ = _ew.sign(array)
    below = _ew.mul(sign_, _ew.floor(_ew.abs_(array)))
    half = _ew.eq(_ew.abs_(_ew.sub(array, below)), _sh.full_like(array, 0.5))
    return _ew.select(half, _ew.add(below, sign_), nearest)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Return ``on_true`` where the predicate holds, ``on_false`` elsewhere.

    Args:
        pred: a scalar, or of the cases' shape: bools, or integers, which hold from 1 upwards.
        on_true: any dtype.
        on_false: of the same shape and dtype.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or the predicate has floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
        Array([1, 4], dtype=int32)
    """
    chosen, a, b = opd.as_array(pred), opd.as_array(on_true), opd.as_array(on_false)
    a, b = one_dtype("select", (a, b))
    if dtypes.is_integer(chosen.dtype):
        chosen = _ew.ge(chosen, _sh.full_like(chosen, 1))
    if not chosen.shape and a.shape:
        chosen = _bc.broadcast_in_dim(chosen, a.shape, ())
    return tr.bind1(_ew.select_p, (chosen, a, b), NO_PARAMS)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Return each element from the case that ``which`` selects for it.

    Args:
        which: a scalar, or of the cases' shape. Bools select one of two cases, False the first;
            integers select one of any number of cases, and are clamped to their range.
        *cases: arrays of the same shape and dtype.

    Raises:
        ArgumentError: there are no cases, or bools select among more than two.
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.select_n(jnp.array([0, 2]), jnp.array([1, 2]), jnp.array([3, 4]), jnp.array([5, 6]))
        Array([1, 6], dtype=int32)
    """
    if not cases:
        raise ArgumentError("select_n needs at least one case.")
    number = opd.as_array(which)
    arrays = one_dtype("select_n", [opd.as_array(case) for case in cases])
    if number.dtype == dtypes.bool_:
        if len(arrays) > 2:
            raise ArgumentError(
                f"select_n has {len(arrays)} cases, but bools can number only two. Give int32."
            )
        return select(number, arrays[1], arrays[0]) if len(arrays) == 2 else arrays[0]
    if not dtypes.is_integer(number.dtype):
        raise DtypeError(f"select_n numbers its cases with bools or integers, not {number.aval}.")
    out = arrays[0]
    for i, case in enumerate(arrays[1:], start=1):
        out = select(_ew.ge(number, _sh.full_like(number, i)), case, out)
    return out


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Return ``x``, limited to a lower and an upper bound.

    Args:
        min: the lower bound; a scalar, or of ``x``'s shape.
        x: real.
        max: the upper bound; a scalar, or of ``x``'s shape.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ.
    """
    low, array, high = pair("clamp", opd.as_array(min), opd.as_array(x), opd.as_array(max))
    return tr.bind1(_ew.min_, (tr.bind1(_ew.max_, (low, array), NO_PARAMS), high), NO_PARAMS)


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Convert the elements to a dtype; floats are truncated to integers."""
    return _ew.convert_element_type(opd.as_array(operand), dtypes.check(new_dtype))


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of the elements read as another dtype.

    If the new dtype is narrower, the result has one more axis, for the parts of each element. If it
    is wider, the last axis of the operand holds the parts of one element.

    Raises:
        ShapeError: the last axis does not hold the parts of one element.
        DtypeError: a dtype is bool or complex, and not both of them the same.
    """
    x, dtype = opd.as_array(operand), dtypes.check(new_dtype)
    return x if x.dtype == dtype else _bitcast.bitcast_convert_type(x, dtype)


def stop_gradient(x: T) -> T:
    """Return ``x``, arrays in any containers, with zero derivative.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> float(tinyjax.grad(lambda x: x * lax.stop_gradient(x))(3.0))
        3.0
    """

    def constant(leaf: Any) -> Any:
        array = opd.as_array(leaf)
        if not dtypes.is_inexact(array.dtype):
            return leaf
        return tr.bind1(_id.stop_gradient_p, (array,), NO_PARAMS)

    constants: T = tree.map(constant, x)
    return constants


def stage(x: ArrayLike, /) -> Array:
    """Return ``x`` as a value of the current trace: a tracer while a program is staged.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> tinyjax.make_jaxpr(lambda: lax.stage(1.0))().eqns[0].primitive
        stage
    """
    return tr.bind1(_id.stage_p, (opd.as_array(x),), NO_PARAMS)


@checking.explained
def dce_sink(val: Any, *, prevent_mlir_dce: Literal[False] = False) -> None:
    """Keep the equations of unused values in a jaxpr.

    The compiled program drops them all the same.

    Args:
        val: arrays in any containers.
        prevent_mlir_dce: must be false.

    Raises:
        ArgumentError: ``prevent_mlir_dce`` is true.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> [e.primitive for e in tinyjax.make_jaxpr(lambda x: lax.dce_sink(lax.sin(x)))(1.0).eqns]
        [sin, dce_sink]
    """
    if prevent_mlir_dce:
        raise ArgumentError(
            "dce_sink keeps equations in jaxprs, not in compiled programs: prevent_mlir_dce must "
            "be False. Return the values, or hand them to debug.callback."
        )
    for leaf in tree.leaves(val):
        tr.bind(_id.dce_sink_p, (opd.as_array(leaf),), NO_PARAMS)


def reduce_precision(operand: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Round floats to the nearest of a type with fewer bits, ties to even.

    Args:
        operand: floats.
        exponent_bits: the number of bits of the exponent, at least one. Larger numbers become
            infinite, smaller ones zero.
        mantissa_bits: the number of bits of the significand after its point.

    Raises:
        DtypeError: the operand does not hold floats.
        ArgumentError: there is no such type.

    Example:
        >>> from tinyjax import lax
        >>> lax.reduce_precision(1.2, 8, 7)
        Array(1.203125, dtype=float32, weak_type=True)
    """
    bits = integer(exponent_bits, "exponent_bits"), integer(mantissa_bits, "mantissa_bits")
    return _bitcast.reduce_precision(opd.as_array(operand), *bits)


def optimization_barrier(operand: T, /) -> T:
    """Return arrays unchanged; the compiler has all of them before it uses any.

    Args:
        operand: arrays in any containers.

    Example:
        >>> from tinyjax import lax
        >>> lax.optimization_barrier((1.0, 2.0))
        (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, structure = tree.flatten(operand)
    if not leaves:
        return operand
    outs: T = tree.unflatten(structure, _id.optimization_barrier([opd.as_array(x) for x in leaves]))
    return outs
