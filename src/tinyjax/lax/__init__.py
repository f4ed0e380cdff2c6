"""The primitives as functions, by JAX's names.

These are one step above XLA: they do little for their operands. Shapes must be equal (a scalar goes
with anything, and axes of size one are stretched), dtypes must be equal (a Python number takes the
other operand's), and nothing else is converted. ``tinyjax.numpy`` has the functions that broadcast
and promote. Matrices are in ``tinyjax.lax.linalg``.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tinyjax import dtypes, tree
from tinyjax.api import vmap
from tinyjax.control_flow import associative_scan, cond, fori_loop, scan, switch, while_loop
from tinyjax.control_flow import map_ as map
from tinyjax.core.array import Array, ArrayLike, as_array, canonical_axis
from tinyjax.core.avals import ShapedArray
from tinyjax.core.integers import integer, integers, listed
from tinyjax.core.jaxpr import Jaxpr, Lit
from tinyjax.core.primitive import NO_PARAMS, NoParams, Primitive
from tinyjax.core.staging import stage
from tinyjax.core.trace import bind1
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.errors import ArgumentError, DtypeError, IndexingError, ShapeError
from tinyjax.lazy import loader
from tinyjax.numpy.creation import canonical_shape
from tinyjax.numpy.promotion import broadcast as _broadcast_arrays
from tinyjax.numpy.promotion import broadcast_shapes, convert
from tinyjax.primitives import bitcast as _bitcast
from tinyjax.primitives import broadcast as _bc
from tinyjax.primitives import cumulative as _cu
from tinyjax.primitives import elementwise as _ew
from tinyjax.primitives import reduce as _rd
from tinyjax.primitives import reduce_window as _wi
from tinyjax.primitives import shape as _sh
from tinyjax.primitives import slicing as _sl
from tinyjax.primitives import sort as _so
from tinyjax.primitives import special as _sp
from tinyjax.primitives.collective import (
    all_gather,
    all_to_all,
    axis_index,
    axis_size,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from tinyjax.primitives.convolution import (
    ConvDimensionNumbers,
    conv,
    conv_dimension_numbers,
    conv_general_dilated,
    conv_transpose,
    conv_with_general_padding,
    padtype_to_pads,
)
from tinyjax.primitives.dot import DotParams, dot_general_p
from tinyjax.primitives.dynamic_slice import (
    dynamic_index_in_dim,
    dynamic_slice,
    dynamic_slice_in_dim,
    dynamic_update_index_in_dim,
    dynamic_update_slice,
    dynamic_update_slice_in_dim,
)
from tinyjax.primitives.gather import gather, take_front
from tinyjax.primitives.gather_scatter import (
    GatherDimensionNumbers,
    GatherScatterMode,
    ScatterDimensionNumbers,
)
from tinyjax.primitives.scatter import scatter, scatter_add, scatter_max, scatter_min, scatter_mul
from tinyjax.primitives.stop_gradient import stop_gradient_p

if TYPE_CHECKING:
    from tinyjax.implicit import custom_linear_solve as custom_linear_solve
    from tinyjax.implicit import custom_root as custom_root
    from tinyjax.lax import linalg as linalg

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    # not many programs use these
    _LATER = dict.fromkeys(("custom_linear_solve", "custom_root"), "tinyjax.implicit")
    __getattr__ = loader(__name__, {"linalg": "", **_LATER})


class Unary(Protocol):
    """A function of one array."""

    __name__: str

    def __call__(self, x: ArrayLike) -> Array: ...


class Binary(Protocol):
    """A function of two arrays of one shape and dtype."""

    __name__: str

    def __call__(self, x: ArrayLike, y: ArrayLike) -> Array: ...


def _named(fun: Callable[..., Array], name: str, doc: str) -> None:
    fun.__name__ = fun.__qualname__ = name
    fun.__doc__ = doc


def _unary(name: str, primitive: Primitive[NoParams], doc: str) -> Unary:
    def fun(x: ArrayLike) -> Array:
        return bind1(primitive, (as_array(x),), NO_PARAMS)

    _named(fun, name, doc)
    return fun


def _binary(name: str, primitive: Primitive[NoParams], doc: str) -> Binary:
    def fun(x: ArrayLike, y: ArrayLike) -> Array:
        return bind1(primitive, _pair(name, as_array(x), as_array(y)), NO_PARAMS)

    _named(fun, name, doc)
    return fun


def _pair(name: str, *operands: Array) -> list[Array]:
    """Give operands one shape and dtype, if they are as good as equal."""
    xs = _one_dtype(name, operands)
    shapes = {x.shape for x in xs}
    if len(shapes) == 1:
        return xs
    if len({len(s) for s in shapes if s}) > 1:
        raise ShapeError(
            f"{name} needs operands with as many axes, or scalars, but got "
            f"{' and '.join(str(x.aval) for x in xs)}. The function of tinyjax.numpy broadcasts."
        )
    return _broadcast_arrays(xs)


def _one_dtype(name: str, operands: Sequence[Array]) -> list[Array]:
    """Convert weak operands to the dtype of the others, where they can be without loss of kind."""
    xs = list(operands)
    strong = {x.dtype for x in xs if not x.weak_type}
    if not strong:
        if len({x.dtype for x in xs}) == 1:
            return xs
    elif len(strong) == 1:
        (dtype,) = strong
        pairs = [(x.dtype, x.weak_type) for x in xs]
        if dtypes.promote(pairs)[0] == dtype:
            return [x if x.dtype == dtype else convert(x, dtype) for x in xs]
    raise DtypeError(
        f"{name} needs operands of one dtype, but got {' and '.join(str(x.aval) for x in xs)}. The "
        "function of tinyjax.numpy promotes; or convert one with .astype(...)."
    )


# Elementwise

neg = _unary("neg", _ew.neg, "Return ``-x``.")
sign = _unary("sign", _ew.sign, "Return -1, 0 or 1; for complex numbers ``x / abs(x)``.")
abs = _unary("abs", _ew.abs_, "Return the absolute value.")
floor = _unary("floor", _ew.floor, "Return the greatest integer not above ``x``, as a float.")
ceil = _unary("ceil", _ew.ceil, "Return the least integer not below ``x``, as a float.")
is_finite = _unary("is_finite", _ew.is_finite, "Say where ``x`` is neither infinite nor NaN.")
exp = _unary("exp", _ew.exp, "Return the exponential.")
exp2 = _unary("exp2", _ew.exp2, "Return 2 to the power of ``x``.")
expm1 = _unary("expm1", _ew.expm1, "Return ``exp(x) - 1``, accurate for small ``x``.")
log = _unary("log", _ew.log, "Return the natural logarithm.")
log1p = _unary("log1p", _ew.log1p, "Return ``log(1 + x)``, accurate for small ``x``.")
sqrt = _unary("sqrt", _ew.sqrt, "Return the square root.")
rsqrt = _unary("rsqrt", _ew.rsqrt, "Return one over the square root.")
cbrt = _unary("cbrt", _ew.cbrt, "Return the cube root.")
logistic = _unary("logistic", _ew.logistic, "Return ``1 / (1 + exp(-x))``.")
sin = _unary("sin", _ew.sin, "Return the sine.")
cos = _unary("cos", _ew.cos, "Return the cosine.")
tan = _unary("tan", _ew.tan, "Return the tangent.")
asin = _unary("asin", _ew.asin, "Return the angle whose sine is ``x``.")
acos = _unary("acos", _ew.acos, "Return the angle whose cosine is ``x``.")
atan = _unary("atan", _ew.atan, "Return the angle whose tangent is ``x``.")
sinh = _unary("sinh", _ew.sinh, "Return the hyperbolic sine.")
cosh = _unary("cosh", _ew.cosh, "Return the hyperbolic cosine.")
tanh = _unary("tanh", _ew.tanh, "Return the hyperbolic tangent.")
asinh = _unary("asinh", _ew.asinh, "Return the inverse of ``sinh``.")
acosh = _unary("acosh", _ew.acosh, "Return the inverse of ``cosh``.")
atanh = _unary("atanh", _ew.atanh, "Return the inverse of ``tanh``.")
real = _unary("real", _ew.real, "Return the real part of a complex number.")
imag = _unary("imag", _ew.imag, "Return the imaginary part of a complex number.")
bitwise_not = _unary("bitwise_not", _ew.not_, "Return the complement of the bits.")
population_count = _unary("population_count", _ew.population_count, "Return how many bits are set.")
erf = _unary("erf", _sp.erf, "Return the error function.")
erfc = _unary("erfc", _sp.erfc, "Return ``1 - erf(x)``, accurate for large ``x``.")
erf_inv = _unary("erf_inv", _sp.erf_inv, "Return the inverse of ``erf``.")
lgamma = _unary("lgamma", _sp.lgamma, "Return the logarithm of the absolute gamma function.")
digamma = _unary("digamma", _sp.digamma, "Return the derivative of ``lgamma``.")

add = _binary("add", _ew.add, "Return ``x + y``; for bools the logical or.")
sub = _binary("sub", _ew.sub, "Return ``x - y``.")
mul = _binary("mul", _ew.mul, "Return ``x * y``; for bools the logical and.")
div = _binary("div", _ew.div, "Return ``x / y``; for integers the quotient towards zero.")
rem = _binary("rem", _ew.rem, "Return the remainder of ``div``, which has the sign of ``x``.")
max = _binary("max", _ew.max_, "Return the greater of two; NaN where either is.")
min = _binary("min", _ew.min_, "Return the lesser of two; NaN where either is.")
atan2 = _binary("atan2", _ew.atan2, "Return the angle of the point ``(y, x)``.")
nextafter = _binary("nextafter", _ew.nextafter, "Return the float next to ``x`` towards ``y``.")
complex = _binary("complex", _ew.complex_, "Return the number with these parts.")
bitwise_and = _binary("bitwise_and", _ew.and_, "Return the bits set in both.")
bitwise_or = _binary("bitwise_or", _ew.or_, "Return the bits set in either.")
bitwise_xor = _binary("bitwise_xor", _ew.xor_, "Return the bits set in one of the two.")
shift_left = _binary("shift_left", _ew.shift_left, "Return ``x`` shifted left by ``y`` bits.")
shift_right_logical = _binary(
    "shift_right_logical",
    _ew.shift_right_logical,
    "Return ``x`` shifted right by ``y`` bits, with zeros coming in.",
)
shift_right_arithmetic = _binary(
    "shift_right_arithmetic",
    _ew.shift_right_arithmetic,
    "Return ``x`` shifted right by ``y`` bits, with copies of the sign coming in.",
)
eq = _binary("eq", _ew.eq, "Say where ``x == y``.")
ne = _binary("ne", _ew.ne, "Say where ``x != y``.")
lt = _binary("lt", _ew.lt, "Say where ``x < y``.")
le = _binary("le", _ew.le, "Say where ``x <= y``.")
gt = _binary("gt", _ew.gt, "Say where ``x > y``.")
ge = _binary("ge", _ew.ge, "Say where ``x >= y``.")
polygamma = _binary("polygamma", _sp.polygamma, "Return the ``m``-th derivative of ``digamma``.")
zeta = _binary("zeta", _sp.zeta, "Return Hurwitz' zeta function.")


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a real number becomes complex."""
    array = as_array(x)
    if not dtypes.is_complex(array.dtype):
        return complex(array, _sh.zeros_like(array))
    return bind1(_ew.conj, (array,), NO_PARAMS)


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
    return bind1(
        _ew.integer_pow_p, (as_array(x),), _ew.IntegerPowParams(integer(y, "the exponent"))
    )


def pow(x: ArrayLike, y: ArrayLike) -> Array:
    """Return ``x`` to the power of ``y``; an integer ``y`` is converted to ``x``'s dtype.

    Raises:
        DtypeError: ``x`` is an integer, or ``y`` has another dtype.
    """
    if isinstance(y, int):
        return integer_pow(x, y)
    base, exponent = as_array(x), as_array(y)
    if dtypes.is_inexact(base.dtype) and dtypes.is_integer(exponent.dtype):
        exponent = convert(exponent, base.dtype)
    return bind1(_ew.pow_, _pair("pow", base, exponent), NO_PARAMS)


class RoundingMethod(Enum):
    """Where ``round`` takes a number half way between two integers."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Return the nearest integer, as a float.

    Args:
        x: floats.
        rounding_method: what happens half way between two integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.round(jnp.array([0.5, 1.5, 2.5]))
        Array([1., 2., 3.], dtype=float32)
    """
    array = as_array(x)
    nearest = bind1(_ew.round_, (array,), NO_PARAMS)
    if rounding_method is RoundingMethod.TO_NEAREST_EVEN:
        return nearest
    sign_ = _ew.sign(array)
    below = _ew.mul(sign_, _ew.floor(_ew.abs_(array)))
    half = _ew.eq(_ew.abs_(_ew.sub(array, below)), _sh.full_like(array, 0.5))
    return _ew.select(half, _ew.add(below, sign_), nearest)


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Array:
    """Return ``on_true`` where the predicate holds, ``on_false`` elsewhere.

    Args:
        pred: bools: a scalar, or of the cases' shape.
        on_true: any dtype.
        on_false: of the same shape and dtype.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or the predicate is not bool.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.select(jnp.array([True, False]), jnp.array([1, 2]), jnp.array([3, 4]))
        Array([1, 4], dtype=int32)
    """
    chosen, a, b = as_array(pred), as_array(on_true), as_array(on_false)
    a, b = _one_dtype("select", (a, b))
    if not chosen.shape and a.shape:
        chosen = _bc.broadcast_in_dim(chosen, a.shape, ())
    return bind1(_ew.select_p, (chosen, a, b), NO_PARAMS)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """Return for each element the one of the case that ``which`` numbers.

    Args:
        which: bools for two cases, where False is the first; else int32; a scalar, or of the cases'
            shape. A number out of range gives one of the cases at the ends.
        *cases: arrays of one shape and dtype.

    Raises:
        ArgumentError: there are no cases, or bools are to choose among more than two.
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
    number = as_array(which)
    arrays = _one_dtype("select_n", [as_array(case) for case in cases])
    if number.dtype == dtypes.bool_:
        if len(arrays) > 2:
            raise ArgumentError(
                f"select_n has {len(arrays)} cases, but bools can number only two. Give int32."
            )
        return select(number, arrays[1], arrays[0]) if len(arrays) == 2 else arrays[0]
    if number.dtype != dtypes.int32:
        raise DtypeError(f"select_n numbers its cases with bool or int32, but got {number.aval}.")
    out = arrays[0]
    for i, case in enumerate(arrays[1:], start=1):
        out = select(_ew.ge(number, _sh.full_like(number, i)), case, out)
    return out


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """Return ``x``, or the bound that it exceeds.

    Args:
        min: the least; a scalar, or of ``x``'s shape.
        x: real.
        max: the greatest; a scalar, or of ``x``'s shape.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ.
    """
    low, array, high = _pair("clamp", as_array(min), as_array(x), as_array(max))
    return bind1(_ew.min_, (bind1(_ew.max_, (low, array), NO_PARAMS), high), NO_PARAMS)


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the elements converted to a dtype; floats are cut off towards zero to integers."""
    return _ew.convert_element_type(as_array(operand), dtypes.check(new_dtype))


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of the elements read as another dtype.

    Where that is narrower the result has one more axis, for the parts of each element; where it is
    wider the last axis of the operand holds the parts.

    Raises:
        ShapeError: the last axis does not hold the parts of one element.
        DtypeError: a dtype is bool or complex.
    """
    return _bitcast.bitcast_convert_type(as_array(operand), dtypes.check(new_dtype))


def stop_gradient(x: T) -> T:
    """Return ``x``, arrays in any containers, as constants to derivatives.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> float(tinyjax.grad(lambda x: x * lax.stop_gradient(x))(3.0))
        3.0
    """

    def constant(leaf: Any) -> Any:
        array = as_array(leaf)
        if not dtypes.is_inexact(array.dtype):
            return leaf
        return bind1(stop_gradient_p, (array,), NO_PARAMS)

    found: T = tree.map(constant, x)
    return found


# Shape


def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> Array:
    """Repeat an array along new axes in front.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast(jnp.array([1, 2]), (2,))
        Array([[1, 2],
               [1, 2]], dtype=int32)
    """
    x, new = as_array(operand), integers(sizes, "sizes")
    dims = tuple(range(len(new), len(new) + x.ndim))
    return broadcast_in_dim(x, (*new, *x.shape), dims)


def broadcast_in_dim(
    operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int]
) -> Array:
    """Place axis ``i`` of an array at axis ``broadcast_dimensions[i]`` of a larger shape.

    Args:
        operand: any dtype.
        shape: of the result; along the operand's axes of the same size, or any where that is 1.
        broadcast_dimensions: increasing axes of the result.

    Raises:
        ShapeError: they do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.broadcast_in_dim(jnp.array([1, 2]), (2, 3), (0,))
        Array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)
    """
    x, sizes = as_array(operand), canonical_shape(shape)
    dims = integers(broadcast_dimensions, "broadcast_dimensions")
    if len(dims) == x.ndim and all(0 <= d < len(sizes) for d in dims):
        stretched = [i for i, n in enumerate(x.shape) if n == 1 != sizes[dims[i]]]
        x = _sh.squeeze(x, tuple(stretched)) if stretched else x
        dims = tuple(d for i, d in enumerate(dims) if i not in stretched)
    return bind1(_bc.broadcast_in_dim_p, (x,), _bc.BroadcastParams(sizes, dims))


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Array:
    """Repeat an array until it has another's shape, by NumPy's rules.

    Raises:
        ShapeError: it does not broadcast to that shape.
    """
    x, shape = as_array(arr), as_array(like_arr).shape
    if broadcast_shapes(x.shape, shape) != shape:
        raise ShapeError(f"{x.aval} does not broadcast to shape {shape}.")
    return broadcast_in_dim(x, shape, range(len(shape) - x.ndim, len(shape)))


def dtype(x: Any) -> DType:
    """Return the dtype of an array or number.

    Example:
        >>> from tinyjax import lax
        >>> lax.dtype(1.0)
        dtype('float32')
    """
    return as_array(x).dtype


def broadcast_to_rank(x: ArrayLike, rank: int) -> Array:
    """Put axes of size one in front, until there are as many as wanted."""
    array = as_array(x)
    return _sh.reshape(array, (1,) * (integer(rank, "rank") - array.ndim) + array.shape)


def reshape(
    operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None
) -> Array:
    """Return the elements, in row-major order, in another shape.

    Args:
        operand: any dtype.
        new_sizes: the shape, without ``-1``.
        dimensions: the order in which the axes are read; the order they have by default.

    Raises:
        ShapeError: the numbers of elements differ.
    """
    x = as_array(operand)
    if dimensions is not None:
        x = transpose(x, dimensions)
    return bind1(_sh.reshape_p, (x,), _sh.ReshapeParams(integers(new_sizes, "new_sizes")))


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Array:
    """Make one axis of those from ``start_dimension`` to before ``stop_dimension``.

    Raises:
        AxisError: an axis is out of range.
    """
    x = as_array(operand)
    first = integer(start_dimension, "start_dimension")
    last = None if stop_dimension is None else integer(stop_dimension, "stop_dimension")
    start, stop, _ = builtins.slice(first, last).indices(x.ndim)
    middle = prod(x.shape[start:stop])
    return _sh.reshape(x, (*x.shape[:start], middle, *x.shape[stop:]))


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Put in axes of size one, at these places of the result.

    Raises:
        AxisError: a place is out of range or repeated.
    """
    x, given = as_array(array), listed(dimensions, "dimensions")
    ndim = x.ndim + len(given)
    places = sorted([canonical_axis(d, ndim, "expand_dims: dimension") for d in given])
    _distinct("expand_dims", places)
    return _sh.expand_dims(x, tuple(places))


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Remove axes of size one.

    Raises:
        AxisError: an axis is out of range.
        ShapeError: an axis has another size, or is repeated.
    """
    x = as_array(array)
    given = listed(dimensions, "dimensions")
    axes = [canonical_axis(d, x.ndim, "squeeze: dimension") for d in given]
    _distinct("squeeze", axes)
    if any(x.shape[a] != 1 for a in axes):
        raise ShapeError(f"squeeze removes axes of size one, but axes {axes} of {x.aval} are not.")
    return _sh.squeeze(x, tuple(axes))


def _distinct(name: str, axes: Sequence[int]) -> None:
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{name} needs distinct axes, but got {tuple(axes)}.")


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Array:
    """Permute axes: axis ``i`` of the result is axis ``permutation[i]`` of the operand.

    Raises:
        ShapeError: it is not a permutation of the axes.
    """
    params = _sh.TransposeParams(integers(permutation, "permutation"))
    return bind1(_sh.transpose_p, (as_array(operand),), params)


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Array:
    """Reverse the order of the elements along axes.

    Raises:
        AxisError: an axis is out of range.
        ShapeError: an axis is repeated.
    """
    x = as_array(operand)
    given = listed(dimensions, "dimensions")
    axes = tuple([canonical_axis(d, x.ndim, "rev: dimension") for d in given])
    return bind1(_sh.rev_p, (x,), _sh.RevParams(axes))


def slice(
    operand: ArrayLike,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Return a box of an array: ``operand[start:limit:stride, ...]`` for fixed bounds.

    Args:
        operand: any dtype.
        start_indices: for each axis, from 0.
        limit_indices: for each axis, at most its size.
        strides: positive; ones by default.

    Raises:
        ShapeError: the bounds do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.slice(jnp.array([0, 1, 2, 3, 4]), (1,), (5,), (2,))
        Array([1, 3], dtype=int32)
    """
    x = as_array(operand)
    steps = (1,) * x.ndim if strides is None else integers(strides, "strides")
    starts, limits = (
        integers(start_indices, "start_indices"),
        integers(limit_indices, "limit_indices"),
    )
    params = _sl.SliceParams(starts, limits, steps)
    return bind1(_sl.slice_p, (x,), params)


def slice_in_dim(
    operand: ArrayLike,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Slice one axis; negative bounds count from the end, and None is an end.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the bounds do not fit.
    """
    x = as_array(operand)
    along = canonical_axis(axis, x.ndim)
    n = x.shape[along]
    bounds = [
        0 if start_index is None else integer(start_index, "start_index"),
        n if limit_index is None else integer(limit_index, "limit_index"),
    ]
    starts, limits, strides = [0] * x.ndim, list(x.shape), [1] * x.ndim
    starts[along], limits[along] = [b + n if b < 0 else b for b in bounds]
    strides[along] = stride
    return slice(x, starts, limits, strides)


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Return one place along an axis, given as a Python int.

    Raises:
        AxisError: there is no such axis.
        IndexingError: the index is out of range.
    """
    x, index = as_array(operand), integer(index, "index")
    along = canonical_axis(axis, x.ndim)
    n = x.shape[along]
    if not -n <= index < n:
        raise IndexingError(f"index {index} is out of range for axis {along} of {x.aval}.")
    place = index + n if index < 0 else index
    out = slice_in_dim(x, place, place + 1, 1, along)
    return out if keepdims else _sh.squeeze(out, (along,))


def pad(
    operand: ArrayLike,
    padding_value: ArrayLike,
    padding_config: Sequence[tuple[int, int, int]],
) -> Array:
    """Put a value around and between the elements of an array.

    Args:
        operand: any dtype.
        padding_value: a scalar of the same dtype.
        padding_config: for each axis how many before, after and between; negative numbers before
            and after cut off.

    Raises:
        ShapeError: they do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.pad(jnp.array([1, 2]), 0, [(1, 2, 1)])
        Array([0, 1, 0, 2, 0, 0], dtype=int32)
    """
    x, value = _one_dtype("pad", (as_array(operand), as_array(padding_value)))
    config = [
        integers(amounts, "each of padding_config")
        for amounts in listed(padding_config, "padding_config")
    ]
    if any(len(amounts) != 3 for amounts in config):
        raise ShapeError(
            "padding_config holds (before, after, between) for each axis, but got "
            f"{padding_config}."
        )
    triples = tuple([(a, b, c) for a, b, c in config])
    return bind1(_sl.pad_p, (x, value), _sl.PadParams(triples))


def concatenate(operands: Sequence[ArrayLike] | Array, dimension: int) -> Array:
    """Join arrays along an axis.

    Args:
        operands: arrays of one dtype, and of one shape but for the axis.
        dimension: the axis.

    Raises:
        ArgumentError: there are no operands.
        ShapeError: the operands do not fit each other, or there is no such axis.
    """
    xs = [as_array(x) for x in listed(operands, "operands of concatenate")]
    if not xs:
        raise ArgumentError("concatenate needs at least one operand.")
    params = _sl.ConcatenateParams(integer(dimension, "dimension"))
    return bind1(_sl.concatenate_p, xs, params)


def stack(operands: Sequence[ArrayLike], axis: int = 0) -> Array:
    """Join arrays of one type along a new axis.

    Raises:
        ArgumentError: there are no operands.
        ShapeError: their shapes differ.
        AxisError: there is no such place for an axis.
    """
    xs = [as_array(x) for x in listed(operands, "operands of stack")]
    if not xs:
        raise ArgumentError("stack needs at least one operand.")
    place = canonical_axis(axis, xs[0].ndim + 1)
    return concatenate([_sh.expand_dims(x, (place,)) for x in xs], place)


def unstack(x: ArrayLike, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices along an axis, without it.

    Raises:
        AxisError: there is no such axis.
    """
    array = as_array(x)
    along = canonical_axis(axis, array.ndim)
    return tuple(index_in_dim(array, i, along, keepdims=False) for i in range(array.shape[along]))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Cut an array into parts of the given sizes along an axis.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the sizes do not add up to the axis's.
    """
    x, parts = as_array(operand), integers(sizes, "sizes")
    along = canonical_axis(axis, x.ndim)
    if sum(parts) != x.shape[along] or any(n < 0 for n in parts):
        raise ShapeError(
            f"split of axis {along} of {x.aval} needs sizes that add up to it, but got {parts}."
        )
    return _sl.split(x, parts, along)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Array:
    """Repeat an array along each of its axes.

    Raises:
        ShapeError: there is not one number for each axis.
    """
    x, times = as_array(operand), canonical_shape(integers(reps, "reps"), "reps")
    if len(times) != x.ndim:
        raise ShapeError(f"tile needs a number for each axis of {x.aval}, but got {times}.")
    shape = tuple([n for pair in zip(times, x.shape, strict=True) for n in pair])
    dims = tuple(range(1, 2 * x.ndim, 2))
    return _sh.reshape(
        _bc.broadcast_in_dim(x, shape, dims),
        tuple([n * r for n, r in zip(x.shape, times, strict=True)]),
    )


def iota(dtype: DTypeLike, size: int) -> Array:
    """Return the numbers from 0 to before ``size``.

    Example:
        >>> from tinyjax import lax
        >>> lax.iota("int32", 3)
        Array([0, 1, 2], dtype=int32)
    """
    return broadcasted_iota(dtype, (size,), 0)


def broadcasted_iota(dtype: DTypeLike, shape: Sequence[int], dimension: int) -> Array:
    """Return an array whose elements are their own index along an axis.

    Raises:
        AxisError: there is no such axis.
    """
    sizes, found = canonical_shape(shape), dtypes.check(dtype)
    if found == dtypes.bool_:
        raise DtypeError("iota counts in numbers, but dtype is bool.")
    axis = canonical_axis(dimension, len(sizes))
    return bind1(_sh.iota_p, (), _sh.IotaParams(sizes, found, axis))


def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike = None) -> Array:
    """Return an array of one value.

    Args:
        shape: of the result.
        fill_value: a scalar.
        dtype: the value's own by default.

    Raises:
        ShapeError: the value is not a scalar.

    Example:
        >>> from tinyjax import lax
        >>> lax.full((2,), 7, "float32")
        Array([7., 7.], dtype=float32)
    """
    value = as_array(fill_value)
    if value.shape:
        raise ShapeError(f"full needs a scalar, but got {value.aval}.")
    wanted = value.dtype if dtype is None else dtypes.check(dtype)
    weak = value.weak_type and dtype is None
    return _bc.broadcast_in_dim(convert(value, wanted, weak), canonical_shape(shape), ())


def full_like(
    x: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Sequence[int] | None = None,
) -> Array:
    """Return an array of one value, with another's shape and dtype where none are given."""
    array = as_array(x)
    wanted = array.dtype if dtype is None else dtype
    out = full(array.shape if shape is None else shape, fill_value, wanted)
    if dtype is None and array.weak_type:
        return convert(out, array.dtype, True)
    return out


def empty(shape: Sequence[int], dtype: DTypeLike) -> Array:
    """Return an array of zeros."""
    return full(shape, 0, dtype)


# Reductions


def _axes_of(name: str, x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    given = listed(axes, f"the axes of {name}")
    found = sorted([canonical_axis(a, x.ndim, f"{name}: axis") for a in given])
    _distinct(name, found)
    return tuple(found)


class Reduction(Protocol):
    """A reduction over axes."""

    __name__: str

    def __call__(self, operand: ArrayLike, axes: Sequence[int]) -> Array: ...


def _reduction(name: str, primitive: Primitive[_bc.ReduceParams], doc: str) -> Reduction:
    def fun(operand: ArrayLike, axes: Sequence[int]) -> Array:
        x = as_array(operand)
        return bind1(primitive, (x,), _bc.ReduceParams(_axes_of(name, x, axes)))

    _named(fun, name, doc)
    return fun


reduce_sum = _reduction("reduce_sum", _bc.reduce_sum_p, "Return the sum over axes.")
reduce_prod = _reduction("reduce_prod", _rd.reduce_prod_p, "Return the product over axes.")
reduce_max = _reduction("reduce_max", _rd.reduce_max_p, "Return the greatest over axes.")
reduce_min = _reduction("reduce_min", _rd.reduce_min_p, "Return the least over axes.")
reduce_and = _reduction("reduce_and", _rd.reduce_and_p, "Return the bitwise and over axes.")
reduce_or = _reduction("reduce_or", _rd.reduce_or_p, "Return the bitwise or over axes.")
reduce_xor = _reduction("reduce_xor", _rd.reduce_xor_p, "Return the exclusive or over axes.")


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index of the first of the greatest along an axis; NaN counts as the greatest.

    Raises:
        AxisError: there is no such axis.
    """
    x = as_array(operand)
    return bind1(_rd.argmax_p, (x,), _arg_params(x, axis, index_dtype))


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Array:
    """Return the index of the first of the least along an axis; NaN counts as the least.

    Raises:
        AxisError: there is no such axis.
    """
    x = as_array(operand)
    return bind1(_rd.argmin_p, (x,), _arg_params(x, axis, index_dtype))


def _arg_params(x: Array, axis: int, index_dtype: DTypeLike) -> _rd.ArgParams:
    found = dtypes.check(index_dtype)
    if not dtypes.is_integer(found):
        raise DtypeError(f"index_dtype must be an integer type, but got {found.name}.")
    return _rd.ArgParams(canonical_axis(axis, x.ndim), found)


def _operation(name: str, computation: Callable[[Any, Any], Any], dtype: DType) -> Primitive[Any]:
    """The primitive that a function of two scalars applies to them.

    Raises:
        ArgumentError: it does something else.
    """
    found, jaxpr = _only_operation(computation, dtype)
    if found is None:
        raise ArgumentError(
            f"{name} takes one operation on two scalars, such as lax.add, lax.mul, lax.max or "
            f"lax.min, but got a function that computes\n{jaxpr}\nWrite a loop for others."
        )
    return found


def _only_operation(
    computation: Callable[[Any, Any], Any], dtype: DType
) -> tuple[Primitive[Any] | None, Jaxpr]:
    """The primitive that a function of two scalars consists in, if it does, and its program."""
    scalar = ShapedArray((), dtype)
    staged = stage(lambda x, y: [as_array(computation(x, y))], (scalar, scalar))
    jaxpr = staged.jaxpr
    if len(jaxpr.eqns) == 1 and not staged.consts:
        (eqn,) = jaxpr.eqns
        (out,) = jaxpr.outs
        plain = all(not isinstance(x, Lit) for x in eqn.inputs)
        if plain and set(eqn.inputs) == set(jaxpr.in_binders) and (out,) == eqn.out_binders:
            return eqn.primitive, jaxpr
    return None, jaxpr


_REDUCTIONS: dict[Primitive[NoParams], Primitive[_bc.ReduceParams]] = {
    _ew.add: _bc.reduce_sum_p,
    _ew.mul: _rd.reduce_prod_p,
    _ew.max_: _rd.reduce_max_p,
    _ew.min_: _rd.reduce_min_p,
    _ew.and_: _rd.reduce_and_p,
    _ew.or_: _rd.reduce_or_p,
    _ew.xor_: _rd.reduce_xor_p,
}


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
) -> Any:
    """Reduce arrays of one shape over axes by a function of two elements.

    Args:
        operands: arrays in any containers.
        init_values: scalars in the same containers, where the reduction starts.
        computation: takes two trees of scalars like the operands and returns one; associative. One
            that is ``add``, ``mul``, ``max``, ``min`` or bitwise is one operation; any other is
            mapped over pairs of neighbours again and again.
        dimensions: the axes; over none, the operands are returned as they are.

    Raises:
        ShapeError: the operands differ in shape.
        TreeMismatchError: ``init_values``, or what the computation returns, has another structure.
        AxisError: an axis is out of range.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce(jnp.array([[1, 2], [3, 4]]), 0, lax.add, (1,))
        Array([3, 7], dtype=int32)
    """
    leaves, treedef = tree.flatten(operands)
    starts = treedef.flatten_up_to(init_values, "init_values")
    pairs = [
        _one_dtype("reduce", (as_array(x), as_array(start)))
        for x, start in zip(leaves, starts, strict=True)
    ]
    axes = _axes_of("reduce", pairs[0][0], dimensions)
    if not axes:
        return treedef.unflatten(x for x, _ in pairs)
    if treedef is tree.LEAF:
        ((x, start),) = pairs
        operation, _ = _only_operation(computation, x.dtype)
        if operation in _REDUCTIONS:
            out = bind1(_REDUCTIONS[operation], (x,), _bc.ReduceParams(axes))
            return bind1(operation, _pair("reduce", start, out), NO_PARAMS)
    return _fold(computation, treedef, pairs, axes)


def _fold(
    computation: Callable[[Any, Any], Any],
    treedef: tree.PyTreeDef,
    pairs: Sequence[Sequence[Array]],
    axes: tuple[int, ...],
) -> Any:
    """Reduce by any associative function: of neighbours, until one element is left."""
    first = pairs[0][0]
    for x, _ in pairs:
        if x.shape != first.shape:
            raise ShapeError(f"reduce takes operands of one shape, but got {first.aval}, {x.aval}.")
    rest = [i for i in range(first.ndim) if i not in axes]
    shape = [first.shape[i] for i in rest]
    count = prod([first.shape[i] for i in axes])
    lines = [reshape(transpose(x, (*axes, *rest)), (count, prod(shape))) for x, _ in pairs]

    def both(xs: Sequence[Array], ys: Sequence[Array]) -> list[Array]:
        found = computation(treedef.unflatten(xs), treedef.unflatten(ys))
        return [as_array(x) for x in treedef.flatten_up_to(found, "result of computation")]

    join = vmap(vmap(both))
    while count > 1:
        even = count - count % 2
        joined = join([x[0:even:2] for x in lines], [x[1:even:2] for x in lines])
        lines = [concatenate([x, y[even:]], 0) for x, y in zip(joined, lines, strict=True)]
        count = lines[0].shape[0]
    found = [broadcast(start, (1, prod(shape))) for _, start in pairs]
    if count:
        found = join(found, lines)
    return treedef.unflatten(reshape(x, shape) for x in found)


def platform_dependent(
    *args: Any,
    default: Callable[..., R] | None = None,
    **per_platform: Callable[..., R],
) -> R:
    """Call the function that is for the platform on which programs run: "cpu".

    Args:
        args: what it is called with.
        default: the function for platforms that are not named.
        per_platform: functions by the names of platforms.

    Raises:
        ArgumentError: there is neither one for "cpu" nor a default.

    Example:
        >>> from tinyjax import lax
        >>> lax.platform_dependent(2, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
        3
    """
    chosen = per_platform.get("cpu", default)
    if chosen is None:
        raise ArgumentError(
            f"platform_dependent has functions for {', '.join(per_platform) or 'no platform'}, but "
            "none for 'cpu' and no default."
        )
    return chosen(*args)


_WINDOW_REDUCTIONS: dict[Primitive[NoParams], Primitive[_wi.WindowParams]] = {
    _ew.add: _wi.reduce_window_sum_p,
    _ew.max_: _wi.reduce_window_max_p,
    _ew.min_: _wi.reduce_window_min_p,
}


def reduce_window(
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Reduce the elements under a window, at each place that it moves to.

    Args:
        operand: arrays in any containers.
        init_value: where each reduction starts, which padding holds too: zero for sums.
        computation: ``add``, ``max`` or ``min``, or a function that does nothing else.
        window_dimensions: the window's size along each axis.
        window_strides: how far it moves; ones by default.
        padding: ``"VALID"``, ``"SAME"``, ``"SAME_LOWER"``, or how many go before and after each
            axis.
        base_dilation: how far apart the elements are put.
        window_dilation: how far apart the elements under the window are.

    Raises:
        ArgumentError: the computation is another one, or a sum does not start at zero.
        ShapeError: something does not fit the operand.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.reduce_window(jnp.array([1, 5, 2, 4]), 0, lax.max, (2,), (2,))
        Array([5, 4], dtype=int32)
    """

    def one(leaf: Any, initial: Any) -> Array:
        x, start = _one_dtype("reduce_window", (as_array(leaf), as_array(initial)))
        operation = _operation("reduce_window", computation, x.dtype)
        found = _WINDOW_REDUCTIONS.get(operation)
        if found is None:
            raise ArgumentError(
                f"reduce_window does not know how to reduce by {operation}; it knows "
                f"{', '.join(p.name for p in _WINDOW_REDUCTIONS)}."
            )
        params = _wi.window_params(
            "reduce_window",
            x,
            window_dimensions,
            window_strides,
            padding,
            base_dilation,
            window_dilation,
        )
        out = bind1(found, (x,), params)
        if operation is not _ew.add:
            return bind1(operation, _pair("reduce_window", start, out), NO_PARAMS)
        if start.concrete("the start of reduce_window's sum").any():
            raise ArgumentError(
                "reduce_window of sums starts at zero, since padding holds its start too; but got "
                f"{start}. Add it to the result."
            )
        return out

    return tree.map(one, operand, init_value)


# Running reductions, sorting


class Cumulative(Protocol):
    """A reduction that keeps what it has so far, along an axis."""

    __name__: str

    def __call__(self, operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array: ...


def _cumulative(name: str, primitive: Primitive[_cu.CumulativeParams], doc: str) -> Cumulative:
    def fun(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Array:
        x = as_array(operand)
        along = canonical_axis(axis, x.ndim, f"{name}: axis")
        return bind1(primitive, (x,), _cu.CumulativeParams(along, reverse))

    _named(fun, name, f"{doc} Runs along ``axis``, and from the end if ``reverse``.")
    return fun


cumsum = _cumulative("cumsum", _cu.cumsum_p, "Return the running sum.")
cumprod = _cumulative("cumprod", _cu.cumprod_p, "Return the running product.")
cummax = _cumulative("cummax", _cu.cummax_p, "Return the greatest element so far.")
cummin = _cumulative("cummin", _cu.cummin_p, "Return the least element so far.")
cumlogsumexp = _cumulative(
    "cumlogsumexp", _cu.cumlogsumexp_p, "Return the logarithm of the running sum of exponentials."
)


def index_take(src: Array, idxs: Sequence[Array], axes: Sequence[int]) -> Array:
    """Take one element of each of several axes, at each of several places.

    Args:
        src: any dtype.
        idxs: for each of the axes a vector of integers, all of one length and dtype; they are taken
            modulo the axis's size.
        axes: distinct axes of ``src``.

    Returns:
        An array with the indices' axis in front of ``src``'s other axes.

    Raises:
        ShapeError: the vectors or the axes do not fit each other or ``src``.
        DtypeError: the indices are no integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> lax.index_take(x, (jnp.array([0, 1]), jnp.array([-1, 0])), (0, 1))
        Array([2, 3], dtype=int32)
    """
    x, places = as_array(src), [as_array(i) for i in listed(idxs, "idxs of index_take")]
    axes = integers(axes, "axes of index_take")
    if len(places) != len(axes) or any(i.ndim != 1 for i in places):
        raise ShapeError(
            f"index_take needs a vector of indices for each of the axes {tuple(axes)}, but got "
            f"{', '.join(str(i.aval) for i in places)}."
        )
    where = [canonical_axis(axis, x.ndim, "index_take: axis") for axis in axes]
    inside = []
    for i, axis in zip(places, where, strict=True):
        size = _sh.full_like(i, x.shape[axis] or 1)
        left = _ew.rem(i, size)
        below = _ew.lt(left, _sh.full_like(left, 0))
        inside.append(_ew.select(below, _ew.add(left, size), left))
    return take_front(x, inside, where)


def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Any:
    """Sort an array along an axis, or several by the order of the first of them.

    Args:
        operand: an array, or several of one shape.
        dimension: the axis.
        is_stable: whether elements that are equal keep their order.
        num_keys: how many of several arrays are compared; later ones where earlier ones are equal.

    Returns:
        A sorted array; or of several a tuple, all permuted in the same way. NaN comes last.

    Raises:
        AxisError: there is no such axis.
        ShapeError: the shapes differ.
        ArgumentError: there are more keys than arrays.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.sort((jnp.array([2, 1]), jnp.array([5.0, 6.0])))
        (Array([1, 2], dtype=int32), Array([6., 5.], dtype=float32))
    """
    several = isinstance(operand, tuple | list)
    xs = (
        [as_array(x) for x in operand] if isinstance(operand, tuple | list) else [as_array(operand)]
    )
    if not xs:
        raise ArgumentError("sort needs at least one operand.")
    axis = canonical_axis(dimension, xs[0].ndim, "sort: dimension")
    outs = _so.sort(xs, axis, num_keys, is_stable)
    return tuple(outs) if several else outs[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Sort keys along an axis, and values in the same way; see ``sort``."""
    a, b = sort((as_array(keys), as_array(values)), dimension, is_stable)
    return a, b


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the ``k`` greatest elements along an axis, greatest first, and their indices.

    Args:
        operand: integers or floats.
        k: at most the axis's size.
        axis: the axis.

    Returns:
        The values, and where they stood (int32); of equal elements the first comes first.

    Raises:
        AxisError: there is no such axis.
        ShapeError: ``k`` is too large.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.top_k(jnp.array([3.0, 9.0, 5.0]), 2)
        (Array([9., 5.], dtype=float32), Array([1, 2], dtype=int32))
    """
    x = as_array(operand)
    along = canonical_axis(axis, x.ndim, "top_k: axis")
    last = x.ndim - 1
    values, indices = _so.top_k(_sh.moveaxis(x, along, last), k)
    return _sh.moveaxis(values, last, along), _sh.moveaxis(indices, last, along)


def approx_max_k(
    operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95
) -> tuple[Array, Array]:
    """Return the ``k`` greatest elements along an axis and their indices, here exactly."""
    return top_k(operand, k, axis=reduction_dimension)


def approx_min_k(
    operand: ArrayLike, k: int, reduction_dimension: int = -1, recall_target: float = 0.95
) -> tuple[Array, Array]:
    """Return the ``k`` least elements along an axis and their indices, here exactly."""
    values, indices = top_k(neg(operand), k, axis=reduction_dimension)
    return neg(values), indices


# Products


class Precision(Enum):
    """How exact products are to be; all are computed in the full precision of their dtype."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


def dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Contract and batch two arrays over any axes.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        dimension_numbers: the axes of either that are multiplied and summed, pairwise; then the
            axes of either that are aligned: ``((lhs_contract, rhs_contract), (lhs_batch,
            rhs_batch))``.
        precision: not used: products are computed in the full precision of their dtype.
        preferred_element_type: the dtype of the result; that of the operands by default.

    Returns:
        An array with the aligned axes, then ``lhs``'s others, then ``rhs``'s.

    Raises:
        ShapeError: paired axes differ in size.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> x, y = jnp.ones((5, 2, 3)), jnp.ones((5, 4, 3))
        >>> lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,)))).shape
        (5, 2, 4)
    """
    x, y = _one_dtype("dot_general", (as_array(lhs), as_array(rhs)))
    try:
        (x_contract, y_contract), (x_batch, y_batch) = dimension_numbers
    except (TypeError, ValueError):
        raise ArgumentError(
            "dimension_numbers of dot_general are ((lhs_contract, rhs_contract), (lhs_batch, "
            f"rhs_batch)), but got {dimension_numbers!r}."
        ) from None
    params = DotParams(
        _places(x, x_contract),
        _places(y, y_contract),
        _places(x, x_batch),
        _places(y, y_batch),
        x.dtype if preferred_element_type is None else dtypes.check(preferred_element_type),
    )
    return bind1(dot_general_p, (x, y), params)


def _places(x: Array, axes: Sequence[int]) -> tuple[int, ...]:
    given = listed(axes, "the axes of dot_general")
    return tuple([canonical_axis(a, x.ndim, "dot_general: axis") for a in given])


def dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    dimension_numbers: DotDimensionNumbers | None = None,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the product of vectors or matrices; or with ``dimension_numbers``, ``dot_general``.

    Raises:
        ShapeError: an operand is neither a vector nor a matrix, or the sizes do not fit.
        DtypeError: the dtypes differ.
    """
    x, y = as_array(lhs), as_array(rhs)
    if dimension_numbers is None:
        if x.ndim not in (1, 2) or y.ndim not in (1, 2) or x.shape[-1] != y.shape[0]:
            raise ShapeError(
                f"dot multiplies vectors and matrices that fit, but got {x.aval} and {y.aval}."
            )
        dimension_numbers = (((x.ndim - 1,), (0,)), ((), ()))
    return dot_general(x, y, dimension_numbers, preferred_element_type=preferred_element_type)


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike, precision: object = None) -> Array:
    """Return the products of matrices in the last two axes, for equal axes before.

    Raises:
        ShapeError: the sizes do not fit.
        DtypeError: the dtypes differ.
    """
    x, y = as_array(lhs), as_array(rhs)
    if x.ndim != y.ndim or x.ndim < 2:
        raise ShapeError(
            f"batch_matmul needs as many axes of either, two at least, but got {x.aval} and "
            f"{y.aval}."
        )
    batch = tuple(range(x.ndim - 2))
    return dot_general(x, y, (((x.ndim - 1,), (x.ndim - 2,)), (batch, batch)))


def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Subtract windows from an array, at starts that are data; see ``scatter_add``."""
    return scatter_add(
        operand,
        scatter_indices,
        neg(updates),
        dimension_numbers,
        indices_are_sorted=indices_are_sorted,
        unique_indices=unique_indices,
        mode=mode,
    )


__all__ = [
    "ConvDimensionNumbers",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "GatherScatterMode",
    "Precision",
    "RoundingMethod",
    "ScatterDimensionNumbers",
    "abs",
    "acos",
    "acosh",
    "add",
    "all_gather",
    "all_to_all",
    "approx_max_k",
    "approx_min_k",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "associative_scan",
    "atan",
    "atan2",
    "atanh",
    "axis_index",
    "axis_size",
    "batch_matmul",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "broadcast",
    "broadcast_in_dim",
    "broadcast_like",
    "broadcast_shapes",
    "broadcast_to_rank",
    "broadcasted_iota",
    "cbrt",
    "ceil",
    "clamp",
    "collapse",
    "complex",
    "concatenate",
    "cond",
    "conj",
    "conv",
    "conv_dimension_numbers",
    "conv_general_dilated",
    "conv_transpose",
    "conv_with_general_padding",
    "convert_element_type",
    "cos",
    "cosh",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "digamma",
    "div",
    "dot",
    "dot_general",
    "dtype",
    "dynamic_index_in_dim",
    "dynamic_slice",
    "dynamic_slice_in_dim",
    "dynamic_update_index_in_dim",
    "dynamic_update_slice",
    "dynamic_update_slice_in_dim",
    "empty",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "floor",
    "fori_loop",
    "full",
    "full_like",
    "gather",
    "ge",
    "gt",
    "imag",
    "index_in_dim",
    "index_take",
    "integer_pow",
    "iota",
    "is_finite",
    "le",
    "lgamma",
    "linalg",
    "log",
    "log1p",
    "logistic",
    "lt",
    "map",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "pad",
    "padtype_to_pads",
    "platform_dependent",
    "pmax",
    "pmean",
    "pmin",
    "polygamma",
    "population_count",
    "pow",
    "ppermute",
    "pshuffle",
    "psum",
    "psum_scatter",
    "pswapaxes",
    "real",
    "reciprocal",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_xor",
    "rem",
    "reshape",
    "rev",
    "round",
    "rsqrt",
    "scan",
    "scatter",
    "scatter_add",
    "scatter_max",
    "scatter_min",
    "scatter_mul",
    "scatter_sub",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "slice",
    "slice_in_dim",
    "sort",
    "sort_key_val",
    "split",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stop_gradient",
    "sub",
    "switch",
    "tan",
    "tanh",
    "tile",
    "top_k",
    "transpose",
    "unstack",
    "while_loop",
    "zeta",
]
