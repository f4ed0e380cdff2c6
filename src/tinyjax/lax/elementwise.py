"""Functions of single elements, and selections between them."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal, TypeVar

from tinyjax import dtypes, tree
from tinyjax._primitives import bitcast as _bitcast, bits as _bits, special
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing import Primitive, checking, trace as tr
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams
from tinyjax.core.values import Array, ArrayLike, operands as opd
from tinyjax.core.values.integers import integer
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, DtypeError
from tinyjax.lax.operands import compared, one_dtype, pair
from tinyjax.numpy.promotion import arrays, convert

T = TypeVar("T")


def _of_one(primitive: Primitive[NoParams], x: ArrayLike) -> Array:
    return tr.bind1(primitive, (opd.as_array(x),), NO_PARAMS)


def neg(x: ArrayLike) -> Array:
    """Return ``-x``, in the same dtype; integers wrap around, and bools are not taken.

    Complex numbers are taken. The sign of a zero changes, too: ``0.0`` becomes ``-0.0``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.neg(jnp.array([1, -128], jnp.int8))
        Array([  -1, -128], dtype=int8)
        >>> lax.neg(jnp.array([0.0, jnp.inf]))
        Array([ -0., -inf], dtype=float32)
    """
    return _of_one(ew.neg, x)


def sign(x: ArrayLike) -> Array:
    """Return -1, 0 or 1 by sign, in the same dtype; for complex numbers ``x / abs(x)``.

    NaN is NaN. The derivative is 0 everywhere.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sign(jnp.array([-2.5, 0.0, 7.0, jnp.nan]))
        Array([-1.,  0.,  1., nan], dtype=float32)
    """
    return _of_one(ew.sign, x)


def abs(x: ArrayLike) -> Array:
    """Return the absolute value of numbers; real for complex ones. The derivative at 0 is 0.

    Of integers and floats the result has the dtype, of complex numbers the float of half the width;
    bools are not taken. Integers wrap: the least one is its own absolute value.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.abs(jnp.array([3 + 4j]))
        Array([5.], dtype=float32)
        >>> tinyjax.grad(lax.abs)(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return _of_one(ew.abs_, x)


def floor(x: ArrayLike) -> Array:
    """Return the greatest integer not above ``x``, as a float; ``jnp.floor`` takes integers, too.

    Infinities and NaN stay as they are. The derivative is 0.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.floor(jnp.array([1.5, -1.5]))
        Array([ 1., -2.], dtype=float32)
        >>> lax.floor(-jnp.inf), tinyjax.grad(lax.floor)(1.5)
        (Array(-inf, dtype=float32, weak_type=True), Array(0., dtype=float32, weak_type=True))
    """
    return _of_one(ew.floor, x)


def ceil(x: ArrayLike) -> Array:
    """Return the least integer not below ``x``, as a float; ``jnp.ceil`` takes integers, too.

    Infinities and NaN stay as they are, and numbers above -1 become -0.0 rather than 0. The
    derivative is 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.ceil(jnp.array([1.2, -1.5]))
        Array([ 2., -1.], dtype=float32)
        >>> lax.ceil(jnp.array([-0.5, jnp.inf]))
        Array([-0., inf], dtype=float32)
    """
    return _of_one(ew.ceil, x)


def is_finite(x: ArrayLike) -> Array:
    """Return whether floats are neither infinite nor NaN; ``jnp.isfinite`` takes complex numbers.

    Integers are not taken, which always are. The result is bool; no derivative passes through it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.is_finite(jnp.array([1.0, jnp.inf, jnp.nan]))
        Array([ True, False, False], dtype=bool)
    """
    return _of_one(ew.is_finite, x)


def exp(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the exponential of a float or complex number; 0 at minus infinity.

    Integers are not taken: ``jnp.exp`` makes floats of them. It overflows to infinity (float32 from
    88.73 on), and is its own derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.exp(jnp.array([0.0, -jnp.inf]))
        Array([1., 0.], dtype=float32)
        >>> lax.exp(jnp.array([88.0, 89.0]))
        Array([1.6516363e+38,           inf], dtype=float32)
    """
    return _of_one(ew.exp, x)


def exp2(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return 2 to the power of a float or complex number.

    Integers are not taken: ``jnp.exp2`` makes floats of them. It overflows to infinity (float32
    from 128 on). The derivative is ``log(2) * 2**x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.exp2(jnp.array([3.0, -1.0]))
        Array([8. , 0.5], dtype=float32)
        >>> lax.exp2(128.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.exp2, x)


def expm1(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return ``exp(x) - 1``, accurate for small ``x``, where the difference would lose digits.

    Floats and complex numbers; -1 at minus infinity. The inverse is ``log1p``, and the derivative
    ``exp(x)``.

    Example:
        >>> from tinyjax import lax
        >>> lax.expm1(1e-10)
        Array(1.e-10, dtype=float32, weak_type=True)
        >>> lax.expm1(-1e3)
        Array(-1., dtype=float32, weak_type=True)
    """
    return _of_one(ew.expm1, x)


def log(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the natural logarithm of a float or complex number; NaN for negative floats.

    Minus infinity at 0. Complex numbers have an imaginary part in (-pi, pi], that of negative ones
    is pi. The derivative is ``1 / x``. Integers are not taken: ``jnp.log`` makes floats of them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.log(jnp.array([1.0, 0.0, -1.0]))
        Array([  0., -inf,  nan], dtype=float32)
        >>> lax.log(-1 + 0j)
        Array(0.+3.1415927j, dtype=complex64, weak_type=True)
    """
    return _of_one(ew.log, x)


def log1p(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return ``log(1 + x)``, accurate for small ``x``, where the sum would lose digits.

    Floats and complex numbers; minus infinity at -1, and NaN for floats below. The inverse is
    ``expm1``, and the derivative ``1 / (1 + x)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.log1p(jnp.array([1e-10, -1.0]))
        Array([1.e-10,   -inf], dtype=float32)
    """
    return _of_one(ew.log1p, x)


def sqrt(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the square root of a float or complex number; NaN for negative floats.

    Complex numbers have the root with a real part that is not negative. The derivative ``1 / (2
    sqrt(x))`` is infinite at 0. Integers are not taken: ``jnp.sqrt`` makes floats of them.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sqrt(jnp.array([4.0, -4.0]))
        Array([ 2., nan], dtype=float32)
        >>> lax.sqrt(-4 + 0j)
        Array(0.+2.j, dtype=complex64, weak_type=True)
        >>> tinyjax.grad(lax.sqrt)(0.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.sqrt, x)


def rsqrt(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return one over the square root of a float or complex number; infinity at 0.

    NaN for negative floats, 0 at infinity. The derivative is ``-x**(-3/2) / 2``, minus infinity at
    0.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.rsqrt(jnp.array([4.0, 0.0]))
        Array([0.5, inf], dtype=float32)
        >>> tinyjax.grad(lax.rsqrt)(1.0)
        Array(-0.5, dtype=float32, weak_type=True)
    """
    return _of_one(ew.rsqrt, x)


def cbrt(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the real cube root of a float, also of a negative one.

    Floats only. The derivative is infinite at 0.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cbrt(jnp.array([8.0, -8.0]))
        Array([ 2., -2.], dtype=float32)
        >>> tinyjax.grad(lax.cbrt)(0.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.cbrt, x)


def logistic(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return ``1 / (1 + exp(-x))`` of a float or complex number, without overflow.

    See also ``nn.sigmoid``, which takes integers, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.logistic(jnp.array([0.0, -1000.0, 1000.0]))
        Array([0.5, 0. , 1. ], dtype=float32)
    """
    return _of_one(ew.logistic, x)


def sin(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the sine of an angle in radians, a float or complex number; NaN at infinities.

    See also ``jnp.sin``, which takes integers, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sin(jnp.array([0.0, jnp.pi / 2, jnp.inf]))
        Array([ 0.,  1., nan], dtype=float32)
    """
    return _of_one(ew.sin, x)


def cos(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the cosine of an angle in radians, a float or complex number; NaN at infinities.

    Integers are not taken: ``jnp.cos`` makes floats of them. The result has the dtype of ``x``; the
    derivative is ``-sin(x)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cos(jnp.array([0.0, jnp.pi]))
        Array([ 1., -1.], dtype=float32)
        >>> lax.cos(1j)
        Array(1.5430806-0.j, dtype=complex64, weak_type=True)
    """
    return _of_one(ew.cos, x)


def tan(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the tangent of an angle in radians, a float or complex number; NaN at infinities.

    Integers are not taken: ``jnp.tan`` makes floats of them. No float is exactly ``pi / 2``, so
    there it is large rather than infinite. The derivative is ``1 + tan(x)**2``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.tan(jnp.array([0.0, jnp.inf]))
        Array([ 0., nan], dtype=float32)
        >>> abs(lax.tan(jnp.pi / 2)) > 1e7
        Array(True, dtype=bool)
    """
    return _of_one(ew.tan, x)


def asin(x: ArrayLike) -> Array:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``; NaN for floats outside of [-1, 1].

    Integers are not taken: ``jnp.arcsin`` makes floats of them. Complex numbers are, beyond [-1,
    1], too. The derivative ``1 / sqrt(1 - x**2)`` is infinite at 1 and -1.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.asin(jnp.array([0.0, 2.0]))
        Array([ 0., nan], dtype=float32)
        >>> lax.asin(1.0) == jnp.pi / 2
        Array(True, dtype=bool)
    """
    return _of_one(ew.asin, x)


def acos(x: ArrayLike) -> Array:
    """Return the angle in [0, pi] whose cosine is ``x``; NaN for floats outside of [-1, 1].

    Integers are not taken: ``jnp.arccos`` makes floats of them. Complex numbers are, beyond [-1,
    1], too. The derivative ``-1 / sqrt(1 - x**2)`` is minus infinity at 1 and -1.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.acos(jnp.array([1.0, 2.0]))
        Array([ 0., nan], dtype=float32)
        >>> lax.acos(-1.0) == jnp.pi
        Array(True, dtype=bool)
        >>> lax.acos(2 + 0j)
        Array(0.-1.316958j, dtype=complex64, weak_type=True)
    """
    return _of_one(ew.acos, x)


def atan(x: ArrayLike) -> Array:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``; ``atan2`` knows the quadrant.

    Floats and complex numbers; ``jnp.arctan`` takes integers, too. The derivative is ``1 / (1 +
    x**2)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.atan(jnp.inf) == jnp.pi / 2
        Array(True, dtype=bool)
        >>> lax.atan(2j)
        Array(1.5707964+0.54930615j, dtype=complex64, weak_type=True)
    """
    return _of_one(ew.atan, x)


def sinh(x: ArrayLike) -> Array:
    """Return the hyperbolic sine of a float or complex number, accurate near 0.

    Floats overflow to infinity (float32 from 89.42 on). The derivative is ``cosh(x)``. Integers are
    not taken: ``jnp.sinh`` makes floats of them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sinh(jnp.array([1e-30, jnp.inf]))
        Array([1.e-30,    inf], dtype=float32)
        >>> lax.sinh(100.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.sinh, x)


def cosh(x: ArrayLike) -> Array:
    """Return the hyperbolic cosine of a float or complex number.

    Floats overflow to infinity (float32 from 89.42 on). The derivative is ``sinh(x)``. Integers are
    not taken: ``jnp.cosh`` makes floats of them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.cosh(jnp.array([0.0, -jnp.inf]))
        Array([ 1., inf], dtype=float32)
        >>> lax.cosh(100.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.cosh, x)


def tanh(x: ArrayLike, *, accuracy: object = None) -> Array:
    """Return the hyperbolic tangent of a float or complex number; for floats within [-1, 1].

    The derivative is ``1 / cosh(x)**2``, with all digits also where the value rounds to 1. Integers
    are not taken: ``jnp.tanh`` makes floats of them.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.tanh(jnp.array([-jnp.inf, 0.0, 1000.0]))
        Array([-1.,  0.,  1.], dtype=float32)
        >>> tinyjax.grad(lax.tanh)(20.0)
        Array(1.6993415e-17, dtype=float32, weak_type=True)
    """
    return _of_one(ew.tanh, x)


def asinh(x: ArrayLike) -> Array:
    """Return the inverse of ``sinh``, of a float or complex number, without overflow.

    Integers are not taken: ``jnp.arcsinh`` makes floats of them. The derivative is ``1 / sqrt(1 +
    x**2)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.asinh(jnp.array([0.0, 1e-30, jnp.inf]))
        Array([0.e+00, 1.e-30,    inf], dtype=float32)
    """
    return _of_one(ew.asinh, x)


def acosh(x: ArrayLike) -> Array:
    """Return the inverse of ``cosh`` that is not negative; NaN for floats below 1.

    Complex numbers have a value everywhere. The derivative is infinite at 1. Integers are not
    taken: ``jnp.arccosh`` makes floats of them.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.acosh(jnp.array([1.0, 0.5]))
        Array([ 0., nan], dtype=float32)
        >>> lax.acosh(0.5 + 0j)
        Array(0.+1.0471976j, dtype=complex64, weak_type=True)
        >>> tinyjax.grad(lax.acosh)(1.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.acosh, x)


def atanh(x: ArrayLike) -> Array:
    """Return the inverse of ``tanh``; infinite at -1 and 1, NaN for floats beyond.

    Floats and complex numbers; ``jnp.arctanh`` takes integers, too. The derivative ``1 / (1 -
    x**2)`` is infinite at 1 and -1.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.atanh(jnp.array([-1.0, 0.0, 2.0]))
        Array([-inf,   0.,  nan], dtype=float32)
        >>> tinyjax.grad(lax.atanh)(1.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return _of_one(ew.atanh, x)


def real(x: ArrayLike) -> Array:
    """Return the real part of a complex number, as a float of half the width.

    See also ``jnp.real``, which takes real numbers, too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.real(jnp.array([1 + 2j]))
        Array([1.], dtype=float32)
    """
    return _of_one(ew.real, x)


def imag(x: ArrayLike) -> Array:
    """Return the imaginary part of a complex number, as a float of half the width.

    Real numbers are not taken: ``jnp.imag`` gives zeros for them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.imag(jnp.array([1 + 2j]))
        Array([2.], dtype=float32)
    """
    return _of_one(ew.imag, x)


def bitwise_not(x: ArrayLike) -> Array:
    """Return the complement of the bits of integers; of bools the logical not.

    That is ``-1 - x`` of signed integers. Floats are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.bitwise_not(jnp.array([0, 5]))
        Array([-1, -6], dtype=int32)
        >>> lax.bitwise_not(jnp.uint8(5)), lax.bitwise_not(True)
        (Array(250, dtype=uint8), Array(False, dtype=bool))
    """
    return _of_one(ew.not_, x)


def population_count(x: ArrayLike) -> Array:
    """Return how many bits are set, in the dtype of ``x``.

    All bits of -1 are. See also ``jnp.bitwise_count``, of absolute values.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.population_count(jnp.array([7, -1], jnp.int8))
        Array([3, 8], dtype=int8)
    """
    return _of_one(ew.population_count, x)


def clz(x: ArrayLike) -> Array:
    """Return how many bits of zero are in front of the first one, in the dtype of ``x``.

    Signed or unsigned integers; of 0 it is the width, of negative numbers 0. The position of the
    highest bit set is the width less one less this.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.clz(jnp.array([1, 0, -1], jnp.int8))
        Array([7, 8, 0], dtype=int8)
        >>> 31 - lax.clz(jnp.uint32(1000))
        Array(9, dtype=uint32)
    """
    return _of_one(_bits.clz, x)


def erf(x: ArrayLike) -> Array:
    """Return the error function, the integral of ``2 / sqrt(pi) * exp(-t**2)`` from 0 to ``x``.

    Floats only. For large ``x`` it rounds to 1: use ``erfc`` for the difference. The derivative is
    the integrand, ``2 / sqrt(pi)`` at 0.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.erf(jnp.array([0.0, jnp.inf, -jnp.inf]))
        Array([ 0.,  1., -1.], dtype=float32)
        >>> tinyjax.grad(lax.erf)(0.0)
        Array(1.1283792, dtype=float32, weak_type=True)
    """
    return _of_one(special.erf, x)


def erfc(x: ArrayLike) -> Array:
    """Return ``1 - erf(x)``, accurate for large ``x``, where the difference would be 0.

    Floats only. Of negative ``x`` it lies between 1 and 2. The derivative is ``-2 / sqrt(pi) *
    exp(-x**2)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.erfc(jnp.array([0.0, jnp.inf]))
        Array([1., 0.], dtype=float32)
        >>> bool(lax.erfc(5.0) > 0), bool(1 - lax.erf(5.0) > 0)
        (True, False)
    """
    return _of_one(special.erfc, x)


def erf_inv(x: ArrayLike) -> Array:
    """Return the inverse of ``erf``; infinite at -1 and 1, NaN beyond.

    Floats only. Normal samples are made of uniform ones by it: ``sqrt(2) * erf_inv(u)``, for ``u``
    in (-1, 1). The derivative is ``sqrt(pi) / 2`` at 0 and grows without bound towards the ends.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.erf_inv(jnp.array([0.0, 1.0, 2.0]))
        Array([ 0., inf, nan], dtype=float32)
        >>> tinyjax.grad(lax.erf_inv)(0.0)
        Array(0.88622695, dtype=float32, weak_type=True)
    """
    return _of_one(special.erf_inv, x)


def lgamma(x: ArrayLike) -> Array:
    """Return the logarithm of the absolute value of the gamma function; infinite at 0, -1, -2, ...

    Floats only. It grows like ``x log(x)``, and so stays finite where the gamma function overflows.
    The derivative is ``digamma(x)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.lgamma(jnp.array([1.0, 0.0]))
        Array([ 0., inf], dtype=float32)
        >>> jnp.round(jnp.exp(lax.lgamma(5.0)), 3)
        Array(24., dtype=float32, weak_type=True)
        >>> lax.lgamma(1000.0)
        Array(5905.22, dtype=float32, weak_type=True)
    """
    return _of_one(special.lgamma, x)


def digamma(x: ArrayLike) -> Array:
    """Return the derivative of ``lgamma``, which is NaN at negative integers.

    Floats only, at 0 NaN, too. The derivative is ``polygamma(1, x)``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> jnp.round(lax.digamma(jnp.array([1.0, -1.0])), 4)
        Array([-0.5772,     nan], dtype=float32)
        >>> tinyjax.grad(lax.digamma)(1.0)
        Array(1.644934, dtype=float32, weak_type=True)
    """
    return _of_one(special.digamma, x)


def add(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x + y``, of one shape and dtype; for bools the logical or.

    A Python number takes the other's shape and dtype. ``jnp.add`` broadcasts and promotes.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.add(jnp.array([1, 2]), 3)
        Array([4, 5], dtype=int32)
    """
    return tr.bind1(ew.add, pair("add", x, y), NO_PARAMS)


def sub(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x - y``, of one shape and dtype; unsigned integers wrap around below 0.

    A Python number takes the other's dtype, and nothing else is promoted: for that there is
    ``jnp.subtract``. Axes of size 1 are repeated, but no axes are added. Bools are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sub(jnp.array([3, 1], jnp.uint8), 2)
        Array([  1, 255], dtype=uint8)
        >>> lax.sub(jnp.ones((2, 2)), jnp.array([[0.0, 1.0]]))
        Array([[1., 0.],
               [1., 0.]], dtype=float32)
    """
    return tr.bind1(ew.sub, pair("sub", x, y), NO_PARAMS)


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
    a, b = arrays("mul", x, y)
    if out_dtype is not None:
        dtype = dtypes.check(out_dtype)
        weak = a.weak_type and b.weak_type
        a, b = convert(a, dtype, weak), convert(b, dtype, weak)
    return tr.bind1(ew.mul, pair("mul", a, b), NO_PARAMS)


def mulhi(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the upper half of the bits of a product of integers, which ``mul`` leaves out.

    The operands have one dtype, signed or unsigned. With ``mul`` it gives the exact product, as
    hash functions and random numbers need it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.mulhi(jnp.int8(100), jnp.int8(100)), 100 * 100 // 256
        (Array(39, dtype=int8), 39)
        >>> lax.mulhi(jnp.uint32(2**31), jnp.uint32(6))
        Array(3, dtype=uint32)
    """
    return tr.bind1(_bits.mulhi, pair("mulhi", x, y), NO_PARAMS)


def div(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x / y``, of one shape and dtype; for integers the quotient towards zero.

    An integer divided by 0 is -1. See also ``jnp.floor_divide``, which rounds downwards.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.div(jnp.array([7, -7, 7]), jnp.array([2, 2, 0]))
        Array([ 3, -3, -1], dtype=int32)
        >>> lax.div(1.0, 0.0)
        Array(inf, dtype=float32, weak_type=True)
    """
    return tr.bind1(ew.div, pair("div", x, y), NO_PARAMS)


def rem(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the remainder of ``div``, which has the sign of ``x``.

    That of an integer divided by 0 is ``x``. See also ``jnp.remainder``, with the sign of ``y``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.rem(jnp.array([7, -7, 7]), jnp.array([3, 3, 0]))
        Array([ 1, -1,  7], dtype=int32)
    """
    return tr.bind1(ew.rem, pair("rem", x, y), NO_PARAMS)


def max(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the greater of two, of one shape and dtype; NaN where either is.

    Where they are equal, each gets half of the derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.max(jnp.array([1.0, jnp.nan]), 2.0)
        Array([ 2., nan], dtype=float32)
    """
    return tr.bind1(ew.max_, pair("max", x, y), NO_PARAMS)


def min(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the lesser of two, of one shape and dtype; NaN where either is.

    Where they are equal, each gets half of the derivative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.min(jnp.array([1.0, jnp.nan]), 2.0)
        Array([ 1., nan], dtype=float32)
    """
    return tr.bind1(ew.min_, pair("min", x, y), NO_PARAMS)


def atan2(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the angle of the point ``(y, x)`` in radians, in [-pi, pi]: ``x`` is its height.

    The first operand is the second coordinate. At the origin the signs of the zeros say which angle
    it is.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> jnp.rad2deg(lax.atan2(jnp.array([1.0, 0.0, -0.0]), jnp.array([0.0, -1.0, -1.0])))
        Array([  90.,  180., -180.], dtype=float32)
    """
    return tr.bind1(ew.atan2, pair("atan2", x, y), NO_PARAMS)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the float next to ``x1`` towards ``x2``, or ``x2`` where they are equal.

    NaN where either is. Next to 0 is the smallest subnormal number. The derivative is 0.

    Example:
        >>> from tinyjax import lax
        >>> lax.nextafter(1.0, 0.0) - 1
        Array(-5.9604645e-08, dtype=float32, weak_type=True)
        >>> lax.nextafter(0.0, 1.0)
        Array(1.e-45, dtype=float32, weak_type=True)
    """
    return tr.bind1(ew.nextafter, pair("nextafter", x1, x2), NO_PARAMS)


def complex(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the complex number ``x + 1j * y``, of floats of one shape and dtype.

    The result is complex64 of two float32, complex128 of two float64. Its parts are had again by
    ``lax.real`` and ``lax.imag``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.complex(jnp.array([1.0, 2.0]), 0.5)
        Array([1.+0.5j, 2.+0.5j], dtype=complex64)
    """
    return tr.bind1(ew.complex_, pair("complex", x, y), NO_PARAMS)


def bitwise_and(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits set in both, of integers or bools of one shape and dtype.

    A Python number takes the other's dtype; nothing else is promoted: for that there is
    ``jnp.bitwise_and``. Floats are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.bitwise_and(jnp.array([0b1100, 6]), 0b0110)
        Array([4, 6], dtype=int32)
        >>> lax.bitwise_and(True, False)
        Array(False, dtype=bool)
    """
    return tr.bind1(ew.and_, pair("bitwise_and", x, y), NO_PARAMS)


def bitwise_or(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits set in either, of integers or bools of one shape and dtype.

    A Python number takes the other's dtype; nothing else is promoted: for that there is
    ``jnp.bitwise_or``. Floats are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.bitwise_or(jnp.array([0b1100, 6]), 0b0010)
        Array([14,  6], dtype=int32)
        >>> lax.bitwise_or(True, False)
        Array(True, dtype=bool)
    """
    return tr.bind1(ew.or_, pair("bitwise_or", x, y), NO_PARAMS)


def bitwise_xor(x: ArrayLike, y: ArrayLike) -> Array:
    """Return the bits set in exactly one, of integers or bools of one shape and dtype.

    A Python number takes the other's dtype; nothing else is promoted: for that there is
    ``jnp.bitwise_xor``. Floats are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.bitwise_xor(jnp.array([0b1100, 6]), 0b0110)
        Array([10,  0], dtype=int32)
        >>> lax.bitwise_xor(True, True)
        Array(False, dtype=bool)
    """
    return tr.bind1(ew.xor_, pair("bitwise_xor", x, y), NO_PARAMS)


def shift_left(x: ArrayLike, y: ArrayLike) -> Array:
    """Return integers ``x`` shifted left by ``y`` bits; 0 if ``y`` is their width or more.

    Bits beyond the width are lost. The operands have one dtype; a negative ``y`` gives 0. In C such
    shifts are undefined; here they are the same in every tier.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.shift_left(jnp.array([1, 3]), jnp.array([4, 32]))
        Array([16,  0], dtype=int32)
        >>> lax.shift_left(jnp.int8(1), jnp.array([6, 7, 8], jnp.int8))
        Array([  64, -128,    0], dtype=int8)
    """
    return tr.bind1(ew.shift_left, pair("shift_left", x, y), NO_PARAMS)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Array:
    """Return integers ``x`` shifted right by ``y`` bits, with zeros coming in.

    Negative numbers are taken as their bits in two's complement. Shifting by the width or more
    gives 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.shift_right_logical(jnp.array([20, -20], jnp.int8), 3)
        Array([ 2, 29], dtype=int8)
        >>> lax.shift_right_logical(-1, 28), lax.shift_right_logical(-1, 40)
        (Array(15, dtype=int32, weak_type=True), Array(0, dtype=int32, weak_type=True))
    """
    return tr.bind1(ew.shift_right_logical, pair("shift_right_logical", x, y), NO_PARAMS)


def shift_right_arithmetic(x: ArrayLike, y: ArrayLike) -> Array:
    """Return integers ``x`` shifted right by ``y`` bits, with copies of the sign coming in.

    That is ``x // 2**y``. Shifting by the width or more gives 0, or -1 of negative numbers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.shift_right_arithmetic(jnp.array([20, -20], jnp.int8), 3)
        Array([ 2, -3], dtype=int8)
        >>> lax.shift_right_arithmetic(-1, 40)
        Array(-1, dtype=int32, weak_type=True)
    """
    return tr.bind1(ew.shift_right_arithmetic, pair("shift_right_arithmetic", x, y), NO_PARAMS)


def eq(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x == y``, of one shape and dtype; NaN differs from everything.

    Arrays of numbers, bools or keys; a Python number takes the other's dtype, and nothing else is
    promoted: for that there is ``jnp.equal``. The result is bool.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.eq(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
        Array([ True, False], dtype=bool)
        >>> lax.eq(jnp.array([1 + 1j]), 1 + 1j)
        Array([ True], dtype=bool)
    """
    return tr.bind1(ew.eq, compared("eq", x, y), NO_PARAMS)


def ne(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x != y``, of one shape and dtype; NaN differs from everything.

    Arrays of numbers, bools or keys; a Python number takes the other's dtype, and nothing else is
    promoted: for that there is ``jnp.not_equal``. The result is bool.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.ne(jnp.array([1.0, jnp.nan]), jnp.array([1.0, jnp.nan]))
        Array([False,  True], dtype=bool)
        >>> lax.ne(jnp.array([1, 2]), 2)
        Array([ True, False], dtype=bool)
    """
    return tr.bind1(ew.ne, compared("ne", x, y), NO_PARAMS)


def lt(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x < y``, of one shape and dtype; False where either is NaN.

    A Python number takes the other's dtype, and nothing else is promoted: for that there is
    ``jnp.less``. Complex numbers have no order and are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.lt(jnp.array([1.0, 2.0, jnp.nan]), 2.0)
        Array([ True, False, False], dtype=bool)
        >>> lax.lt(-jnp.inf, 0.0)
        Array(True, dtype=bool)
    """
    return tr.bind1(ew.lt, compared("lt", x, y), NO_PARAMS)


def le(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x <= y``, of one shape and dtype; False where either is NaN.

    A Python number takes the other's dtype, and nothing else is promoted: for that there is
    ``jnp.less_equal``. Complex numbers have no order and are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.le(jnp.array([1.0, 2.0, jnp.nan]), 2.0)
        Array([ True,  True, False], dtype=bool)
        >>> lax.le(False, True)
        Array(True, dtype=bool)
    """
    return tr.bind1(ew.le, compared("le", x, y), NO_PARAMS)


def gt(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x > y``, of one shape and dtype; False where either is NaN.

    A Python number takes the other's dtype, and nothing else is promoted: for that there is
    ``jnp.greater``. Complex numbers have no order and are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.gt(jnp.array([1.0, 3.0, jnp.nan]), 2.0)
        Array([False,  True, False], dtype=bool)
        >>> lax.gt(-0.0, 0.0)
        Array(False, dtype=bool)
    """
    return tr.bind1(ew.gt, compared("gt", x, y), NO_PARAMS)


def ge(x: ArrayLike, y: ArrayLike) -> Array:
    """Return whether ``x >= y``, of one shape and dtype; False where either is NaN.

    A Python number takes the other's dtype, and nothing else is promoted: for that there is
    ``jnp.greater_equal``. Complex numbers have no order and are not taken.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.ge(jnp.array([1.0, 2.0, jnp.nan]), 2.0)
        Array([False,  True, False], dtype=bool)
        >>> lax.ge(True, False)
        Array(True, dtype=bool)
    """
    return tr.bind1(ew.ge, compared("ge", x, y), NO_PARAMS)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """Return the ``m``-th derivative of ``digamma``, for whole ``m`` from 0, which is a float too.

    Of negative integers it is infinite or NaN; for ``m`` that is not whole, NaN. There is a
    derivative in ``x``, the next polygamma function, and none in ``m``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> jnp.round(lax.polygamma(1.0, 1.0), 4)
        Array(1.6449, dtype=float32, weak_type=True)
        >>> tinyjax.grad(lax.polygamma, 1)(1.0, 1.0)
        Array(-2.4041138, dtype=float32, weak_type=True)
    """
    return tr.bind1(special.polygamma, pair("polygamma", m, x), NO_PARAMS)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """Return Hurwitz' zeta function, the sum of ``(q + n) ** -x`` over ``n`` from 0.

    For ``q`` of 1 it is Riemann's.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> jnp.round(lax.zeta(2.0, 1.0), 4)
        Array(1.6449, dtype=float32, weak_type=True)
    """
    return tr.bind1(special.zeta, pair("zeta", x, q), NO_PARAMS)


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a real number becomes complex, unlike in ``jnp.conj``.

    Integers are not taken. Under differentiation it is linear over the reals only; what it gives
    for gradients, see ``jnp.conj``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.conj(jnp.array([1 + 2j]))
        Array([1.-2.j], dtype=complex64)
        >>> lax.conj(jnp.array([1.0]))
        Array([1.+0.j], dtype=complex64)
    """
    array = opd.as_array(x)
    if not dtypes.is_complex(array.dtype):
        return complex(array, sh.zeros_like(array))
    return tr.bind1(ew.conj, (array,), NO_PARAMS)


def square(x: ArrayLike) -> Array:
    """Return ``x * x``, in the same dtype; nothing is conjugated.

    Integers wrap around, and bools are not taken. Of a complex number it is complex: for the square
    of its absolute value take ``lax.real(x * lax.conj(x))``. The derivative is ``2 * x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.square(jnp.array([3, -4]))
        Array([ 9, 16], dtype=int32)
        >>> lax.square(1j), lax.square(jnp.int8(16))
        (Array(-1.+0.j, dtype=complex64, weak_type=True), Array(0, dtype=int8))
    """
    return integer_pow(x, 2)


def reciprocal(x: ArrayLike) -> Array:
    """Return ``1 / x``, of a float or complex number; infinity at 0.

    Integers are not taken: ``jnp.reciprocal`` makes floats of them. The derivative is ``-1 /
    x**2``.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reciprocal(jnp.array([4.0, 0.0]))
        Array([0.25,  inf], dtype=float32)
        >>> tinyjax.grad(lax.reciprocal)(2.0)
        Array(-0.25, dtype=float32, weak_type=True)
    """
    return integer_pow(x, -1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """Return ``x`` to the power of a Python int, by repeated multiplication.

    The exponent is part of the program, and the derivative is right at 0, where ``pow`` has a
    logarithm.

    Raises:
        DtypeError: ``x`` is a bool, or an integer to a negative power.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.integer_pow(jnp.array([2, -3]), 3)
        Array([  8, -27], dtype=int32)
        >>> tinyjax.grad(lambda x: lax.integer_pow(x, 2))(0.0)
        Array(0., dtype=float32, weak_type=True)
    """
    return tr.bind1(
        ew.integer_pow_p, (opd.as_array(x),), ew.IntegerPowParams(integer(y, "the exponent"))
    )


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x`` to the power of ``y``; an integer ``y`` is converted to ``x``'s dtype.

    Raises:
        DtypeError: ``x`` is an integer, or ``y`` has another dtype.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.pow(jnp.array([4.0, 9.0]), 0.5)
        Array([2., 3.], dtype=float32)
        >>> lax.pow(jnp.array([4, 9]), 2)
        Array([16, 81], dtype=int32)
    """
    if isinstance(y, int):
        return integer_pow(x, y)
    base, exponent = opd.as_operand(x), opd.as_array(y)
    if dtypes.is_inexact(base.dtype) and dtypes.is_integer(exponent.dtype):
        exponent = convert(exponent, base.dtype)
    return tr.bind1(ew.pow_, pair("pow", base, exponent), NO_PARAMS)


class RoundingMethod(Enum):
    """Say how ``round`` treats a number half way between two integers.

    ``AWAY_FROM_ZERO``, the default of ``lax.round``, takes 0.5 to 1 and 2.5 to 3;
    ``TO_NEAREST_EVEN``, as ``jnp.round`` does, to 0 and 2.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.round(jnp.array([0.5, 2.5]), lax.RoundingMethod.TO_NEAREST_EVEN)
        Array([0., 2.], dtype=float32)
        >>> lax.round(jnp.array([0.5, -2.5]), lax.RoundingMethod.AWAY_FROM_ZERO)
        Array([ 1., -3.], dtype=float32)
    """

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
    nearest = tr.bind1(ew.round_, (array,), NO_PARAMS)
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return nearest
    sign_ = ew.sign(array)
    below = ew.mul(sign_, ew.floor(ew.abs_(array)))
    half = ew.eq(ew.abs_(ew.sub(array, below)), sh.full_like(array, 0.5))
    return ew.select(half, ew.add(below, sign_), nearest)


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
    chosen = opd.as_array(pred)
    a, b = one_dtype("select", arrays("select", on_true, on_false))
    if dtypes.is_integer(chosen.dtype):
        chosen = ew.ge(chosen, sh.full_like(chosen, 1))
    if not chosen.shape and a.shape:
        chosen = broadcast_in_dim(chosen, a.shape, ())
    return tr.bind1(ew.select_p, (chosen, a, b), NO_PARAMS)


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
    parts = one_dtype("select_n", arrays("select_n", *cases))
    if number.dtype == dtypes.bool_:
        if len(parts) > 2:
            raise ArgumentError(
                f"select_n has {len(parts)} cases, but bools can number only two. Give int32."
            )
        return select(number, parts[1], parts[0]) if len(parts) == 2 else parts[0]
    if not dtypes.is_integer(number.dtype):
        raise DtypeError(f"select_n numbers its cases with bools or integers, not {number.aval}.")
    out = parts[0]
    for i, case in enumerate(parts[1:], start=1):
        out = select(ge(number, i), case, out)
    return out


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Return ``x``, limited to a lower and an upper bound.

    NaN stays NaN. The bound comes first, unlike in ``jnp.clip``.

    Args:
        min: the lower bound; a scalar, or of ``x``'s shape.
        x: real.
        max: the upper bound; a scalar, or of ``x``'s shape.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.clamp(0, jnp.array([-2, 3, 12]), 10)
        Array([ 0,  3, 10], dtype=int32)
    """
    low, array, high = pair("clamp", min, x, max)
    return tr.bind1(ew.min_, (tr.bind1(ew.max_, (low, array), NO_PARAMS), high), NO_PARAMS)


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Convert the elements to a dtype.

    Floats are truncated to integers, and saturate at their ends, NaN becomes 0; integers wrap
    around in narrower ones; complex numbers lose their imaginary parts.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.convert_element_type(jnp.array([1.7, -300.0, jnp.nan]), jnp.int8)
        Array([   1, -128,    0], dtype=int8)
        >>> lax.convert_element_type(jnp.array([300]), jnp.int8)
        Array([44], dtype=int8)
    """
    return ew.convert_element_type(opd.as_operand(operand), dtypes.check(new_dtype))


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of the elements read as another dtype.

    If the new dtype is narrower, the result has one more axis, for the parts of each element. If it
    is wider, the last axis of the operand holds the parts of one element.

    Raises:
        ShapeError: the last axis does not hold the parts of one element.
        DtypeError: a dtype is bool or complex, and not both of them the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> hex(lax.bitcast_convert_type(jnp.float32(1.0), jnp.uint32))
        '0x3f800000'
        >>> lax.bitcast_convert_type(jnp.array([258], jnp.uint16), jnp.uint8)
        Array([[2, 1]], dtype=uint8)
    """
    x, dtype = opd.as_array(operand), dtypes.check(new_dtype)
    return x if x.dtype == dtype else _bitcast.bitcast_convert_type(x, dtype)


def stop_gradient(x: T) -> T:
    """Return ``x``, arrays in any containers, with zero derivative.

    Numbers that are not floats are returned as they are. In reverse mode nothing flows back through
    it, in forward mode the tangent becomes zero; the value is the same.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> float(tinyjax.grad(lambda x: x * lax.stop_gradient(x))(3.0))
        3.0
        >>> lax.stop_gradient({"weight": 2.0, "name": None})
        {'name': None, 'weight': Array(2., dtype=float32, weak_type=True)}
    """

    def constant(leaf: Any) -> Any:
        array = opd.as_array(leaf)
        if not dtypes.is_inexact(array.dtype):
            return leaf
        return tr.bind1(identities.stop_gradient_p, (array,), NO_PARAMS)

    constants: T = tree.map(constant, x)
    return constants


def stage(x: ArrayLike, /) -> Array:
    """Return ``x`` as a value of the current trace: a tracer while a program is staged.

    What the tracer stands for is not known while tracing, so that ``if`` on it raises an error, as
    on an argument of the function.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> tinyjax.make_jaxpr(lambda: lax.stage(1.0))().eqns[0].primitive
        stage
    """
    return tr.bind1(identities.stage_p, (opd.as_array(x),), NO_PARAMS)


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
        tr.bind(identities.dce_sink_p, (opd.as_array(leaf),), NO_PARAMS)


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
    outs: T = tree.unflatten(
        structure, identities.optimization_barrier([opd.as_array(x) for x in leaves])
    )
    return outs
