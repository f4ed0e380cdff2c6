"""Making arrays: from Python values, filled, by ranges, and as matrices of a given form.

Also the questions about dtypes and shapes that need no computation.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import (
    Any,
    Final,
    Literal,
    Protocol,
    SupportsIndex,
    TypeAlias,
    overload,
    runtime_checkable,
)

import numpy as np

from tinyjax import dtypes, errors, numpy as jnp
from tinyjax._base import frames
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives.result_placement import placed, put_result
from tinyjax.core import devices, primitives
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh
from tinyjax.core.stablehlo.types import MOST_AXES, MOST_ELEMENTS, check_size
from tinyjax.core.tracing import Tracer, checking
from tinyjax.core.values import (
    Array,
    ArrayLike,
    ConcreteArray,
    concrete,
    integers as ints,
    operands as opd,
)
from tinyjax.core.values.array import followed, is_array_like, put
from tinyjax.core.values.avals import ShapeDtypeStruct
from tinyjax.dtypes import DType, DTypeLike, HostArray
from tinyjax.errors import ArgumentError, DtypeError, NumberRangeError, ShapeError, shortened
from tinyjax.numpy import elementwise, promotion as pm

Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]


@runtime_checkable
class ConvertibleToNumpy(Protocol):
    """An object that ``np.asarray`` takes: data of another array library."""

    def __array__(self) -> HostArray: ...


#: What ``array`` takes: array-likes, and lists of them, nested to any depth.
Nested: TypeAlias = ArrayLike | ConvertibleToNumpy | Sequence[Any]

_PYTHON = (bool, int, float, complex)


def canonical_shape(shape: Shape, name: str = "shape") -> tuple[int, ...]:
    """Return a shape as a tuple of ints.

    Raises:
        ShapeError: a size is negative, or there are more elements than a processor has addresses.
        ArgumentError: a size is not an int.
        ConcretizationError: a size is traced.
    """
    sizes = ints.integers(ints.one_or_more(shape, name), name)
    if any(n < 0 for n in sizes):
        raise ShapeError(f"{name} must not be negative, but got {shortened(sizes)}.")
    count = math.prod(sizes)
    if not isinstance(count, ints.SymbolicSize) and count > MOST_ELEMENTS:
        raise ShapeError(
            f"{name} is of more elements than memory has addresses: {shortened(sizes)}."
        )
    return sizes


# From Python values


def _placement(device: devices.Placement, out_sharding: devices.Placement) -> devices.Placement:
    """Return the placement of a result, for which JAX has two names."""
    return device if out_sharding is None else out_sharding


@checking.explained
def array(
    object: Nested,
    dtype: DTypeLike = None,
    copy: bool = True,
    order: Literal["K", "A", "C", "F"] | None = None,
    ndmin: int = 0,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Make an array of numbers, arrays, or nested lists of them.

    Args:
        object: a number, an array, or a list, a tuple or another sequence of these, such as a range
            or a ``deque``, nested to any depth and of equal lengths. NumPy data is copied and keeps
            its dtype. With a ``dtype``, texts of numbers too.
        dtype: of the result; by default the one that the elements promote to, where Python numbers
            have the default dtype of their kind.
        copy: whether an array becomes another one, which stays when that is donated. Arrays are
            immutable, so both may share their data.
        order: None or one of NumPy's orders, without effect: the layout in memory is not part of an
            array.
        ndmin: the least number of axes; missing ones are put in front.
        device: where the array is wanted: a device, a sharding, or a ``PartitionSpec`` of the mesh
            in force.
        out_sharding: the same, by JAX's newer name.

    Raises:
        ShapeError: lists in one place differ in length.
        ArgumentError: an element is neither a number nor an array, or does not fit the dtype; or
            ``order`` is none.
        DtypeError: ``dtype`` is not one that arrays can have.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array([[1, 2], [3, 4.5]])
        Array([[1. , 2. ],
               [3. , 4.5]], dtype=float32)
        >>> jnp.array(3, dtype=jnp.int8)
        Array(3, dtype=int8)
    """
    if type(object) is np.ndarray and devices.Default.moved and dtype is None and not ndmin:
        return put(object, _placement(device, out_sharding), "array")
    if order is not None:
        pm.check_option("array", "order", order, "KACF")
    kind = None if dtype is None else dtypes.check(dtype)
    result, ndmin = _make(object, kind), ints.integer(ndmin, "ndmin")
    if kind is not None:
        result = ew.convert_element_type(result, kind)
    if result.ndim < ndmin:
        if ndmin > MOST_AXES:
            raise ShapeError(
                f"an array has at most {MOST_AXES} axes, but got ndmin={shortened(ndmin)}."
            )
        result = sh.reshape(result, (1,) * (ndmin - result.ndim) + result.shape)
    if copy and result is object:
        result = identities.another(result)
    where = _placement(device, out_sharding)
    return put(result, where, "array")


def asarray(
    a: Nested,
    dtype: DTypeLike = None,
    order: Literal["K", "A", "C", "F"] | None = None,
    *,
    copy: bool | None = None,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return ``a`` as an array: see ``array``, which copies an array that it is given.

    Lists may be nested. NumPy's data is copied, since it may be written to later.

    Args:
        a: an array, a number, or nested lists of them.
        dtype: of the result; that of ``a`` by default, and for Python's numbers int32 or float32.
        order: as in ``array``, without effect.
        copy: whether an array that is already one is copied.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.asarray([[1, 2], [3, 4]], jnp.float32)
        >>> jnp.asarray(x) is x
        True
        >>> jnp.asarray([1, 2.5]).dtype
        dtype('float32')
    """
    return put(array(a, dtype, copy is True, order), _placement(device, out_sharding), "asarray")


def copy(a: ArrayLike, order: Literal["K", "A", "C", "F"] | None = None) -> Array:
    """Return an array of the same data, which stays when ``a`` is donated: see ``array``.

    Arrays are immutable, so nothing else tells a copy from the original.

    Args:
        a: any array or number.
        order: as in ``array``, without effect.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(3)
        >>> jnp.copy(x) is x
        False
    """
    return array(a, order=order)


def _make(x: Any, dtype: DType | None) -> Array:
    if isinstance(x, Array):
        return x
    if type(x) in _PYTHON:
        if dtype is not None:
            return _of_numbers(x, {type(x)}, dtype)
        return opd.scalar(x, dtypes.scalar_dtype(type(x)), type(x) is not bool)
    if isinstance(x, (list, tuple)):
        return _of_list(x, dtype)
    if dtype is not None and _is_text(x):
        return _of_text(x, dtype)
    if _is_nested(x):
        if not _holds_elements(x):
            return _of_list(list(x), dtype)
        x = np.asarray(x)
    if isinstance(x, np.matrix):
        x = np.asarray(x)
    result = opd.as_array(x)
    if dtype is not None and isinstance(result, ConcreteArray):
        # at once, so that no conversion is staged
        if id(result) in followed:
            return ew.convert_element_type(result, dtype)
        return ConcreteArray(ew.convert_host(result.host, dtype))
    return result


def operand(x: Nested) -> Array:
    """Return data as an array that meets others: an int of 64 bits may be one of them."""
    return opd.as_operand(x) if type(x) is int else asarray(x)


def _holds_elements(x: Any) -> bool:
    """Return whether NumPy finds an array in an object: by a method of it, or in its memory."""
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return True
    if isinstance(x, bytes):  # is text
        return False
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _flatten(x: Any, leaves: list[Any]) -> None:
    for element in x:
        if isinstance(element, (list, tuple)):
            _flatten(element, leaves)
        else:
            leaves.append(element)


def _of_list(x: Any, target: DType | None) -> Array:
    leaves: list[Any] = []
    try:
        _flatten(x, leaves)
    except RecursionError:
        raise ShapeError("lists that are nested so deep make no array.") from None
    types = set(map(type, leaves))
    if types.issubset(_PYTHON):
        return _of_numbers(x, types, target)
    if target is not None and types.issubset((*_PYTHON, str, bytes)):
        return _of_text(x, target)
    elements = [
        leaf if type(leaf) in _PYTHON or isinstance(leaf, Array) else _of_element(leaf)
        for leaf in leaves
    ]
    kinds = [
        (p.dtype, opd.is_weak(p)) if isinstance(p, Array) else _kind(type(p)) for p in elements
    ]
    dtype = target or dtypes.promote(kinds)[0]
    parts = [p if isinstance(p, Array) else _of_numbers(p, {type(p)}, dtype) for p in elements]
    constants = [p for p in parts if isinstance(p, ConcreteArray) and id(p) not in followed]
    if len(constants) == len(parts):
        hosts = iter([ew.convert_host(opd.given_number(p), dtype) for p in constants])
        return ConcreteArray(_host_of(_nest(x, hosts), x))
    converted = iter([ew.convert_element_type(p, dtype) for p in parts])
    return _stack(_nest(x, converted), x)


def _of_element(x: Any) -> Array:
    """Make an array of an element of a list: NumPy's, or a sequence other than a list."""
    return _make(x, None) if _is_nested(x) else opd.as_array(x, "array")


def _is_nested(x: object) -> bool:
    """Return whether an object, no array or text, holds elements, in a row or in memory."""
    if is_array_like(x) or hasattr(x, "__jax_array__") or isinstance(x, str | bytes):
        return False
    return isinstance(x, Sequence) or _holds_elements(x)


def _kind(number: type) -> tuple[DType, bool]:
    """Return the dtype of a Python number, and whether it is weak."""
    return dtypes.scalar_dtype(number), number is not bool


def _is_text(x: object) -> bool:
    return isinstance(x, str | bytes) or (isinstance(x, np.ndarray) and x.dtype.kind in "US")


def _of_text(x: Any, dtype: DType) -> Array:
    """Make an array of the numbers that texts, or nested lists of them, express."""
    texts = _host_of(x, x)
    read_dtype = np.dtype(np.float64) if dtypes.is_extended(dtype) else dtype
    if read_dtype.kind not in "iufc":  # every text but the empty one is true
        raise ArgumentError(f"array: an array of {dtype.name} is not read from text.")
    try:
        return ConcreteArray(ew.convert_host(texts.astype(read_dtype), dtype))
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"array: a text is no number of {dtype.name}: {error}.") from None


def _nest(x: Any, leaves: Any) -> Any:
    """Put leaves into the places of ``x``'s numbers."""
    if isinstance(x, (list, tuple)):
        return [_nest(element, leaves) for element in x]
    return next(leaves)


def _concatenate(parts: Sequence[Array], axis: int) -> Array:
    return primitives.concatenate(parts, axis)


def _stack(nested: Any, x: object) -> Array:
    if isinstance(nested, Array):
        return nested
    parts: list[Array] = [_stack(element, x) for element in nested]
    if len({p.shape for p in parts}) > 1:
        raise _ragged(x)
    return _concatenate([sh.reshape(p, (1, *p.shape)) for p in parts], 0)


def _ragged(x: object) -> ShapeError:
    text = repr(x)
    return ShapeError(
        "array: lists (or arrays) in one place must have equal lengths, but those in "
        f"{text if len(text) < 80 else text[:77] + '...'} differ."
    )


def _host_of(nested: Any, x: object) -> HostArray:
    try:
        host = np.array(nested)
    except ValueError:
        raise _ragged(x) from None
    return host


def _of_numbers(x: Any, types: set[type], dtype: DType | None) -> Array:
    """Make an array of Python numbers, of which some have these types."""
    if dtype is None:
        dtype = dtypes.promote(list(map(_kind, types)))[0] if types else dtypes.default_float()
    if complex in types and not dtypes.is_complex(dtype):
        raise DtypeError(
            f"array: a complex number cannot be made {dtype.name} without losing its imaginary "
            "part. Give its real part."
        )
    host = _host_of(x, x)
    if host.dtype.kind == "f" and float not in types and types:
        host = np.array(x, object)  # NumPy takes floats for ints of which some need uint64
    if host.dtype.kind == "O" and not dtypes.is_integer(dtype):  # ints of more than 63 bits
        try:
            host = host.astype(bool if dtype == dtypes.bool_ else np.float64)
        except OverflowError:
            raise NumberRangeError(
                f"array: an int is beyond the range of {dtype.name}. Give a float."
            ) from None
    if host.dtype.kind in "iuO" and dtypes.is_whole(dtype):
        info = dtypes.iinfo(dtype)
        if host.size and not info.min <= host.min() <= host.max() <= info.max:
            widest = host.max() if host.max() > info.max else host.min()
            raise concrete.too_wide(int(widest), info.dtype, "array", "jnp.array(..., dtype=%s)")
    host = ew.convert_host(host, dtype)
    return ConcreteArray(opd.copied(host, dtype) if opd.is_copied(host) else host)


# Filled with one value


def full(
    shape: Shape,
    fill_value: Nested,
    dtype: DTypeLike = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return an array filled with a value.

    Args:
        shape: an int, or several.
        fill_value: a scalar, or an array that broadcasts to the shape.
        dtype: of the result; that of the value by default.
        device: where the result is wanted.
        out_sharding: the same, by JAX's newer name.

    Raises:
        ShapeError: the shape is negative, or the value does not broadcast to it.
        ArgumentError: there is no such device.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.full((2, 2), 7.0, dtype=jnp.float32)
        Array([[7., 7.],
               [7., 7.]], dtype=float32)
    """
    filled = broadcast_to(asarray(fill_value, dtype), canonical_shape(shape))
    return put(filled, _placement(device, out_sharding), "full")


def broadcast_to(
    array: ArrayLike, shape: Shape, *, out_sharding: devices.Placement = None
) -> Array:
    """Repeat an array along axes of size one, and along new axes in front, to reach a shape.

    Axes are compared from the last. The derivative is the sum over the copies.

    Args:
        array: any dtype.
        shape: the shape of the result.
        out_sharding: where the result is to lie.

    Raises:
        ShapeError: the array does not broadcast to the shape.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.broadcast_to(jnp.array([1, 2]), (2, 2))
        Array([[1, 2],
               [1, 2]], dtype=int32)
        >>> import tinyjax
        >>> tinyjax.grad(lambda x: jnp.broadcast_to(x, (2, 3)).sum())(jnp.ones(3))
        Array([2., 2., 2.], dtype=float32)
    """
    if out_sharding is not None:
        return put_result(broadcast_to, out_sharding, array, shape)
    x = opd.as_array(array, "broadcast_to")
    sizes = canonical_shape(shape)
    offset = len(sizes) - x.ndim
    if offset < 0 or any(n not in (1, m) for n, m in zip(x.shape, sizes[offset:], strict=True)):
        raise ShapeError(
            f"broadcast_to: shape {x.shape} does not broadcast to {shortened(sizes)}: counted "
            "from the last axis, each size must be 1 or the size wanted."
        )
    return pm.broadcast_to_shape(x, sizes)


def zeros(
    shape: Shape,
    dtype: DTypeLike = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return an array of zeros.

    Floats by default: float32, or float64 where ``enable_x64`` says so. The shape is one number or
    several, known while tracing.

    Args:
        shape: an integer, or a sequence of them.
        dtype: of the elements; float32 by default.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.zeros((2, 3))
        Array([[0., 0., 0.],
               [0., 0., 0.]], dtype=float32)
        >>> jnp.zeros(2, bool)
        Array([False, False], dtype=bool)
    """
    where = _placement(device, out_sharding)
    result_dtype = _float_unless(dtype)
    if result_dtype == dtypes.float0:  # tangents of integers, which hold nothing
        return put(opd.as_array(np.zeros(canonical_shape(shape), result_dtype)), where, "zeros")
    return put(sh.full(canonical_shape(shape), 0, result_dtype), where, "zeros")


def ones(
    shape: Shape,
    dtype: DTypeLike = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return an array of ones.

    Floats by default: float32, or float64 where ``enable_x64`` says so. The shape is one number or
    several, known while tracing.

    Args:
        shape: an integer, or a sequence of them.
        dtype: of the elements; float32 by default.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ones((2, 2), jnp.int8)
        Array([[1, 1],
               [1, 1]], dtype=int8)
        >>> jnp.ones(3)
        Array([1., 1., 1.], dtype=float32)
    """
    where = _placement(device, out_sharding)
    return put(sh.full(canonical_shape(shape), 1, _float_unless(dtype)), where, "ones")


@frames.like(zeros)
def empty(*args: Any, **kwargs: Any) -> Array:  # noqa: D417 (they are those of zeros)
    """Return an array of zeros; there are no arrays without values.

    NumPy leaves the memory as it is; here values would differ from run to run, so they are zeros.

    Args:
        shape: an integer, or a sequence of them.
        dtype: of the elements; float32 by default.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.empty(2)
        Array([0., 0.], dtype=float32)
    """
    return zeros(*args, **kwargs)


def _float_unless(dtype: DTypeLike) -> DType:
    return dtypes.default_float() if dtype is None else dtypes.check(dtype)


def full_like(
    a: ArrayLike | ShapeDtypeStruct,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    shape: Shape | None = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return an array filled with a value, of another array's shape and dtype unless given.

    It lies on devices as the other does, unless ``device`` is given, or the other is divided and of
    another shape. In place of that array any object with its ``shape`` and ``dtype`` will do.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.full_like(jnp.array([1, 2]), 5)
        Array([5, 5], dtype=int32)
    """
    where = _placement(device, out_sharding)
    return _like("full_like", fill_value, a, dtype, shape, device=where)


def _like(
    name: str,
    fill_value: ArrayLike,
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike = None,
    shape: Shape | None = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    x = pm.typed_of(name, a)
    weak = dtype is None and x.weak_type
    result_dtype = x.dtype if dtype is None else dtypes.check(dtype)
    sizes = x.shape if shape is None else canonical_shape(shape)
    value = _make(fill_value, result_dtype)
    result = broadcast_to(ew.convert_element_type(value, result_dtype, weak), sizes)
    return laid_like(result, x, _placement(device, out_sharding), name)


def laid_like(
    array: Array, x: Array | ShapeDtypeStruct, where: devices.Placement, name: str
) -> Array:
    """Return an array with a given placement: by default that of another, if it fits."""
    told = x.sharding if isinstance(x, ShapeDtypeStruct) or x.committed else None
    if told is None and x.aval.where is None:
        return put(array, where, name)
    placed: Array = devices.ops().put_like(array, x.aval, told, where, name)
    return placed


def zeros_like(
    a: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike = None,
    shape: Shape | None = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return zeros of another array's shape and dtype.

    ``dtype`` and ``shape`` may be others. Of a Python number the type is weak, so that another
    operand's dtype prevails.

    Args:
        a: the array, or a ``ShapeDtypeStruct``; its values are not read.
        dtype: another dtype.
        shape: another shape.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.zeros_like(jnp.array([[True, False]]))
        Array([[False, False]], dtype=bool)
        >>> jnp.zeros_like(tinyjax.ShapeDtypeStruct((2,), jnp.int8))
        Array([0, 0], dtype=int8)
    """
    where = _placement(device, out_sharding)
    return _like("zeros_like", 0, a, dtype, shape, device=where)


@frames.like(zeros_like)
def ones_like(*args: Any, **kwargs: Any) -> Array:  # noqa: D417 (they are those of zeros_like)
    """Return ones of another array's shape and dtype.

    ``dtype`` and ``shape`` may be others. Of a Python number the type is weak, so that another
    operand's dtype prevails.

    Args:
        a: the array, or a ``ShapeDtypeStruct``; its values are not read.
        dtype: another dtype.
        shape: another shape.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.ones_like(jnp.array([1.5, 2.5]), shape=(3,))
        Array([1., 1., 1.], dtype=float32)
    """
    return _like("ones_like", 1, *args, **kwargs)


def empty_like(
    prototype: ArrayLike | ShapeDtypeStruct,
    dtype: DTypeLike = None,
    shape: Shape | None = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return zeros of another array's shape and dtype; there are no arrays without values.

    Args:
        prototype: the array, or a ``ShapeDtypeStruct``; its values are not read.
        dtype: another dtype.
        shape: another shape.
        device: where the result is to lie.
        out_sharding: the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.empty_like(jnp.arange(3), jnp.float16)
        Array([0., 0., 0.], dtype=float16)
    """
    where = _placement(device, out_sharding)
    return _like("empty_like", 0, prototype, dtype, shape, device=where)


# Ranges


@replayed
@placed
def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike = None,
    *,
    device: devices.Placement = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return evenly spaced numbers from ``start`` to before ``stop``.

    Args:
        start: the first number; with one argument, that is ``stop`` and the first number is 0.
        stop: the end, which is left out.
        step: the distance, 1 by default; may be negative.
        dtype: of the result; that of the arguments by default.
        device: where the result is wanted.
        out_sharding: the same, by JAX's newer name.

    Raises:
        ConcretizationError: an argument is traced; the length must be known.
        ArgumentError: ``step`` is 0.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.arange(3)
        Array([0, 1, 2], dtype=int32)
        >>> jnp.arange(0.0, 1.0, 0.25)
        Array([0.  , 0.25, 0.5 , 0.75], dtype=float32)
    """
    if dtype is None:
        bounds = [x for x in (start, stop, step) if x is not None]
        operands = pm.arrays(
            "arange", *[0 if isinstance(x, ints.SymbolicSize) else x for x in bounds]
        )
        result_dtype = dtypes.promote(pm.types_of(operands))[0]
    else:
        result_dtype = dtypes.check(dtype)
    if result_dtype == dtypes.bool_:
        raise DtypeError("arange does not count in bool. Give a dtype of numbers.")
    first, last = (0, start) if stop is None else (start, stop)
    first, last, by = (
        _known_scalar(first),
        _known_scalar(last, "stop"),
        1 if step is None else _known_scalar(step),
    )
    if by == 0:
        raise ArgumentError("arange needs a step that is not 0.")
    if dtypes.is_integer(result_dtype) and all(
        isinstance(v, (int, ints.SymbolicSize)) for v in (first, last, by)
    ):
        (size,) = canonical_shape(ints.larger(-((first - last) // by), 0), "the length of arange")
        counted = sh.iota((size,), result_dtype, 0)
        if by != 1:
            counted = ew.mul(counted, sh.full((size,), _wrap(by, result_dtype), result_dtype))
        if first == 0:
            return counted
        if not isinstance(first, ints.SymbolicSize):
            _fits("arange", first, result_dtype)
        return ew.add(counted, sh.full((size,), first, result_dtype))
    if any(
        not isinstance(v, ints.SymbolicSize) and not abs(v) <= _GREATEST for v in (first, last, by)
    ):
        shown = ", ".join(map(shortened, (first, last, by)))
        raise ArgumentError(f"arange needs finite numbers that a float can be, but got {shown}.")
    count = (last - first) / by
    length = max(math.ceil(count), 0) if math.isfinite(count) else sys.maxsize
    check_size(canonical_shape(length, "the length of arange"))
    # integers grow by a whole step, that of the first two elements, as in NumPy
    whole = dtypes.is_integer(result_dtype)
    values = np.arange(first, last, by, dtype=result_dtype) if whole else np.arange(first, last, by)
    return ConcreteArray(ew.convert_host(values, result_dtype))


def _fits(name: str, value: int, dtype: DType) -> None:
    info = np.iinfo(dtype)
    if not info.min <= value <= info.max:
        raise NumberRangeError(f"{name}: {value} does not fit in {dtype.name}. Give a wider dtype.")


def _wrap(value: int, dtype: DType) -> int:
    """Return a step of a range modulo the width of its type, if that is unsigned."""
    return value % (1 << 8 * dtype.itemsize) if dtype.kind == "u" else value


_GREATEST: Final = sys.float_info.max


def _known_scalar(x: ArrayLike, name: str = "start or step") -> Any:
    """Return the value of a scalar argument, known while tracing, as a Python number."""
    if isinstance(x, (bool, int, float, ints.SymbolicSize)) and not isinstance(x, np.generic):
        return x
    a = pm.array_of("arange", x)
    if dtypes.is_complex(a.dtype):
        raise DtypeError(f"arange counts in real numbers, but got {a.aval}.")
    if a.shape:
        raise ShapeError(f"arange needs scalars, but got an array of shape {a.shape}.")
    return a.concrete(f"the {name} of arange").item()


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: devices.Placement = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike = None,
    axis: int = 0,
    device: devices.Placement = None,
) -> tuple[Array, Array]: ...
@replayed
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    axis: int = 0,
    *,
    device: devices.Placement = None,
) -> Array | tuple[Array, Array]:
    """Return evenly spaced numbers from ``start`` to ``stop``.

    Args:
        start: the first number, or an array of them.
        stop: the last one; broadcasts with ``start``.
        num: how many.
        endpoint: whether ``stop`` is the last number.
        retstep: return the distance as well.
        dtype: of the result; floats by default. Integers are rounded down.
        axis: where in the result the new axis stands.
        device: where the result is wanted.

    Raises:
        ArgumentError: ``num`` is negative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linspace(0, 1, 5)
        Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    count = ints.integer(num, "num")
    if count < 0:
        raise ArgumentError(f"linspace needs num to be at least 0, but got {shortened(num)}.")
    canonical_shape(count, "num")
    a, b = _ends("linspace", start, stop, dtype)
    result_dtype = a.dtype if dtype is None else dtypes.check(dtype)
    parts = count - 1 if endpoint else count
    shape = (count, *a.shape)
    position = sh.iota(shape, dtypes.real_part(a.dtype), 0)
    fraction = ew.div(position, sh.full_like(position, ints.larger(parts, 1)))
    fraction = pm.convert(fraction, a.dtype)
    one = sh.full_like(fraction, 1)
    low, high = pm.broadcast_to_shape(a, shape), pm.broadcast_to_shape(b, shape)
    # so that the start is met exactly
    points = ew.add(ew.mul(low, ew.sub(one, fraction)), ew.mul(high, fraction))
    if endpoint and (isinstance(parts, ints.SymbolicSize) or parts > 0):
        points = elementwise.pick(
            ew.eq(position, sh.full_like(position, ints.larger(parts, 1))), high, points
        )
    if dtypes.is_integer(result_dtype):
        points = elementwise.floor(points)
    points = ew.convert_element_type(points, result_dtype)
    points = sh.moveaxis(points, 0, ints.canonical_axis(axis, points.ndim))
    points = put(points, device, "linspace")
    if not retstep:
        return points
    if parts <= 0:
        return points, sh.full((), math.nan, dtypes.to_inexact(result_dtype))
    step = ew.div(ew.sub(b, a), sh.full_like(a, parts))
    return points, pm.convert(step, dtypes.to_inexact(result_dtype))


def _ends(
    name: str, start: ArrayLike, stop: ArrayLike, dtype: DTypeLike, *others: ArrayLike
) -> list[Array]:
    """Return the ends of a range, of one shape, and other operands, in the type to compute with.

    It is as precise as the type of the result, and complex if that is.
    """
    xs = pm.arrays(name, start, stop, *others)
    types = pm.types_of(xs)
    if dtype is not None:
        types.append((dtypes.to_inexact(dtypes.check(dtype)), False))
    inner = dtypes.to_inexact(dtypes.promote(types)[0])
    a, b, *rest = [pm.convert(x, inner) for x in xs]
    return [*pm.broadcast((a, b), name), *rest]


@replayed
def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """Return numbers evenly spaced in the logarithm, from ``base**start`` to ``base**stop``.

    ``num`` numbers, 50 by default, both ends included unless ``endpoint`` is false; each is the
    same multiple of the one before. The arguments are those of ``linspace`` of exponents; arrays
    for the ends give an axis in front. The numbers are floats, and with ``dtype=int`` cut off.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.logspace(0, 2, 3, base=2)
        Array([1., 2., 4.], dtype=float32)
        >>> jnp.logspace(0, 3, 4, dtype=int)
        Array([   1,   10,  100, 1000], dtype=int32)
    """
    first, last, root = _ends("logspace", start, stop, dtype, base)
    exponents = linspace(first, last, num, endpoint, False, None, axis)
    result = elementwise.power(root, exponents)
    return result if dtype is None else elementwise.astype(result, dtype)


@replayed
def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Array:
    """Return a geometric progression: each number is the one before times a constant factor.

    Args:
        start: the first number; not 0.
        stop: the last one, of the same sign.
        num: how many.
        endpoint: whether ``stop`` is the last number.
        dtype: of the result; floats by default.
        axis: where in the result the new axis stands.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.geomspace(1, 8, 4))
        Array([1., 2., 4., 8.], dtype=float32)
    """
    a, b = _ends("geomspace", start, stop, dtype)
    signs = ew.sign(a)
    exponents = linspace(ew.log(ew.div(a, signs)), ew.log(ew.div(b, signs)), num, endpoint)
    result = ew.mul(ew.exp(exponents), pm.broadcast_to_shape(signs, exponents.shape))
    # the ends are exact
    row = sh.iota(result.shape, dtypes.int32, 0)
    result = elementwise.pick(ew.eq(row, sh.full_like(row, 0)), a, result)
    if endpoint and num > 1:
        result = elementwise.pick(ew.eq(row, sh.full_like(row, num - 1)), b, result)
    result = sh.moveaxis(result, 0, ints.canonical_axis(axis, result.ndim))
    return result if dtype is None else elementwise.astype(result, dtype)


@replayed
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Array, ...]:
    """Return the coordinates of a grid, one array for each of the given lines.

    Args:
        *xi: arrays with at most one axis.
        copy: has no effect; arrays are immutable.
        sparse: leave the other axes of each result at size one.
        indexing: ``"xy"`` lets the first two lines run along axes 1 and 0, ``"ij"`` along 0 and 1.

    Raises:
        ArgumentError: there is no such ``indexing``.
        ShapeError: an argument has more than one axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.meshgrid(jnp.arange(2), jnp.arange(3))[0]
        Array([[0, 1],
               [0, 1],
               [0, 1]], dtype=int32)
    """
    pm.check_option("meshgrid", "indexing", indexing, ("xy", "ij"))
    lines = pm.arrays("meshgrid", *xi)
    for line in lines:
        if line.ndim > 1:
            raise ShapeError.got("meshgrid needs arrays with one axis", line)
    places = list(range(len(lines)))
    if indexing == "xy" and len(lines) >= 2:
        places[:2] = [1, 0]
    grid = [
        sh.reshape(line, tuple([line.size if i == place else 1 for i in range(len(lines))]))
        for line, place in zip(lines, places, strict=True)
    ]
    return tuple(grid if sparse or not grid else pm.broadcast(grid))


@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike = None, sparse: Literal[False] = False
) -> Array: ...
@overload
def indices(
    dimensions: Sequence[int], dtype: DTypeLike = None, *, sparse: Literal[True]
) -> tuple[Array, ...]: ...
@replayed
def indices(
    dimensions: Sequence[int], dtype: DTypeLike = None, sparse: bool = False
) -> Array | tuple[Array, ...]:
    """Return for each axis of a grid the index along it.

    Args:
        dimensions: the shape of the grid.
        dtype: of the result; the default integer type if not given.
        sparse: return one array for each axis, of size one along the others.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.indices((2, 2))[1]
        Array([[0, 1],
               [0, 1]], dtype=int32)
    """
    shape = canonical_shape(dimensions, "dimensions")
    result_dtype = dtypes.default_int() if dtype is None else dtypes.check(dtype)
    ndim = len(shape)
    if sparse:
        lines = [[n if i == axis else 1 for i in range(ndim)] for axis, n in enumerate(shape)]
        return tuple([sh.iota(tuple(line), result_dtype, i) for i, line in enumerate(lines)])
    if not shape:
        return sh.full((0,), 0, result_dtype)
    return _concatenate([sh.iota((1, *shape), result_dtype, axis + 1) for axis in range(ndim)], 0)


# Matrices of a given form


def _offset_mask(
    shape: tuple[int, int], k: int | Array, compare: Callable[[Array, Array], Array]
) -> Array:
    """Compare, for each element of a matrix, row + k with the column."""
    rows, columns = sh.iota(shape, dtypes.int32, 0), sh.iota(shape, dtypes.int32, 1)
    if isinstance(k, Tracer):
        if k.shape or not dtypes.is_integer(k.dtype):
            raise ArgumentError(f"the diagonal k must be an int, but got {k.aval}.")
        offset = ew.convert_element_type(k, dtypes.int32)
        return compare(ew.add(rows, broadcast_to(offset, shape)), columns)
    # beyond the matrix all are alike, and sums would wrap
    k = min(max(ints.integer(k, "k"), -shape[0]), shape[1])
    return compare(ew.add(rows, sh.full_like(rows, k)) if k else rows, columns)


@replayed
@placed
def eye(
    N: int,
    M: int | None = None,
    k: int | Array = 0,
    dtype: DTypeLike = None,
    *,
    device: devices.Placement = None,
) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    ``k`` is 0 for the main diagonal, positive above it. Floats by default; the sizes must be known
    while tracing.

    Args:
        N: the number of rows.
        M: the number of columns; ``N`` by default.
        k: which diagonal; above the main one if positive. May be traced.
        dtype: of the result; the default float if not given.
        device: where the result is wanted.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.eye(2)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    (rows, columns) = canonical_shape((N, N if M is None else M))
    mask = _offset_mask((rows, columns), k, ew.eq)
    return ew.convert_element_type(mask, _float_unless(dtype))


@replayed
def identity(n: int, dtype: DTypeLike = None) -> Array:
    """Return the identity matrix with ``n`` rows: ones on the diagonal.

    See also ``eye``, for other diagonals and shapes.

    Args:
        n: how many rows, and columns.
        dtype: of the elements; float32 by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.identity(2, jnp.int8)
        Array([[1, 0],
               [0, 1]], dtype=int8)
    """
    return eye(n, dtype=dtype)


@replayed
def tri(N: int, M: int | None = None, k: int | Array = 0, dtype: DTypeLike = None) -> Array:
    """Return a matrix with ones on and below the ``k``-th diagonal and zeros above.

    The shape is ``(N, M)``, square by default. Multiplied with a matrix it leaves the lower
    triangle: see ``tril``.

    Args:
        N: how many rows.
        M: how many columns; ``N`` by default.
        k: which diagonal: positive above the main one, negative below.
        dtype: of the elements; float32 by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tri(3, 4, k=1, dtype=jnp.int8)
        Array([[1, 1, 0, 0],
               [1, 1, 1, 0],
               [1, 1, 1, 1]], dtype=int8)
    """
    (rows, columns) = canonical_shape((N, N if M is None else M))
    mask = _offset_mask((rows, columns), k, ew.ge)
    return ew.convert_element_type(mask, _float_unless(dtype))


def _matrix_axes(name: str, m: ArrayLike) -> tuple[Array, tuple[int, int]]:
    x = pm.array_of(name, m)
    if x.ndim < 2:
        raise ShapeError.got(f"{name} needs an array with at least two axes", x)
    return x, (x.shape[-2], x.shape[-1])


@replayed
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return matrices with zeros above the ``k``-th diagonal.

    Of more than two axes these are the last two. Zeros are put there whatever was there before, NaN
    as well; the derivative is 0 above the diagonal.

    Args:
        m: any dtype; the matrices are the last two axes.
        k: which diagonal; above the main one if positive.

    Raises:
        ShapeError: ``m`` has fewer than two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tril(jnp.ones((2, 2)))
        Array([[1., 0.],
               [1., 1.]], dtype=float32)
    """
    x, shape = _matrix_axes("tril", m)
    return elementwise.pick(_offset_mask(shape, ints.integer(k, "k"), ew.ge), x, sh.full_like(x, 0))


@replayed
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return matrices with zeros below the ``k``-th diagonal; the upper triangle is left.

    Of more than two axes these are the last two. Zeros are put there whatever was there before, NaN
    as well; the derivative is 0 below the diagonal.

    Args:
        m: matrices, of shape ``(..., rows, columns)``.
        k: which diagonal: positive above the main one, negative below.

    Raises:
        ShapeError: there are fewer than two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.triu(jnp.array([[1, 2], [3, 4]]))
        Array([[1, 2],
               [0, 4]], dtype=int32)
        >>> jnp.triu(jnp.array([[1, 2], [3, 4]]), k=1)
        Array([[0, 2],
               [0, 0]], dtype=int32)
    """
    x, shape = _matrix_axes("triu", m)
    return elementwise.pick(
        _offset_mask(shape, ints.integer(k, "k") - 1, ew.ge), sh.full_like(x, 0), x
    )


@replayed
def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of matrices, as the last axis of the result.

    The first two axes are those of the matrices, unless ``axis1`` and ``axis2`` say otherwise; the
    others come first. It is a copy, where NumPy gives a view.

    Args:
        a: any dtype.
        offset: which diagonal; above the main one if positive.
        axis1: the axis of rows.
        axis2: the axis of columns.

    Raises:
        AxisError: there are no two such axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diagonal(jnp.array([[1, 2], [3, 4]]))
        Array([1, 4], dtype=int32)
        >>> jnp.diagonal(jnp.zeros((2, 3, 4))).shape
        (4, 2)
    """
    x, offset = pm.array_of("diagonal", a), ints.integer(offset, "offset")
    i, j = ints.canonical_axis(axis1, x.ndim, "axis1"), ints.canonical_axis(axis2, x.ndim, "axis2")
    if i == j:
        raise errors.AxisError(
            f"diagonal needs two different axes, but both are {axis1}.", i, x.ndim
        )
    x = sh.transpose(x, (*[n for n in range(x.ndim) if n not in (i, j)], i, j))
    *batch, rows, columns = x.shape
    top, left = max(-offset, 0), max(offset, 0)
    n = max(min(rows - top, columns - left), 0)
    if n == 0:
        return sh.full((*batch, 0), 0, x.dtype)
    # in a square matrix, laid out row by row, the diagonal is every (n + 1)-th element
    square = primitives.slice_(x, (*[0] * len(batch), top, left), (*batch, top + n, left + n))
    line = sh.reshape(square, (*batch, n * n))
    return primitives.slice_(line, [0] * line.ndim, line.shape, (*[1] * len(batch), n + 1))


@replayed
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return the ``k``-th diagonal of a matrix, or the matrix with a given ``k``-th diagonal.

    Of more than two axes use ``diagonal``, which takes batches.

    Args:
        v: a matrix, or an array with one axis.
        k: which diagonal; above the main one if positive.

    Raises:
        ShapeError: ``v`` has neither one nor two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diag(jnp.array([1, 2]))
        Array([[1, 0],
               [0, 2]], dtype=int32)
    """
    x, k = pm.array_of("diag", v), ints.integer(k, "k")
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ShapeError.got("diag needs an array with one or two axes", x)
    n = x.shape[0]
    zero = sh.full((), 0, x.dtype)
    x = sh.reshape(primitives.pad(x, zero, ((0, 0, n),)), (n, n)) if n else sh.reshape(x, (0, 0))
    top, left = max(-k, 0), max(k, 0)
    return primitives.pad(x, zero, ((top, left, 0), (left, top, 0)))


@replayed
def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix whose ``k``-th diagonal holds the elements of ``v``, flattened.

    See also ``diag``, which takes the diagonal out of a matrix.

    Args:
        v: any shape.
        k: which diagonal: positive above the main one, negative below.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diagflat(jnp.array([[1, 2]]), k=1)
        Array([[0, 1, 0],
               [0, 0, 2],
               [0, 0, 0]], dtype=int32)
    """
    x = pm.array_of("diagflat", v)
    return diag(sh.reshape(x, (x.size,)), k)


@replayed
def trace(
    a: ArrayLike,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike = None,
    out: None = None,
) -> Array:
    """Return the sum of a diagonal; the arguments are those of ``diagonal`` and ``sum``.

    Of more than two axes the first two are summed over, unless ``axis1`` and ``axis2`` say
    otherwise. ``offset`` chooses a diagonal above (positive) or below. Bools and narrow integers
    are summed as ``sum`` does.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.trace(jnp.array([[1, 2], [3, 4]]))
        Array(5, dtype=int32)
        >>> jnp.trace(jnp.arange(6).reshape(2, 3), offset=1), jnp.trace(jnp.ones((2, 2, 5))).shape
        (Array(6, dtype=int32), (5,))
    """
    return jnp.sum(diagonal(a, offset, axis1, axis2), -1, dtype, out)


#: Each is a product of its own.
_MOST_COLUMNS: Final = 1 << 16


@replayed
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return the matrix whose columns are the powers of ``x``.

    Args:
        x: an array with one axis.
        N: the number of columns; the length of ``x`` by default.
        increasing: let the powers increase from left to right.

    Raises:
        ShapeError: ``x`` does not have exactly one axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.vander(jnp.array([1, 2, 3]), 2)
        Array([[1, 1],
               [2, 1],
               [3, 1]], dtype=int32)
    """
    a = pm.vector("vander", x)
    n = a.size if N is None else ints.integer(N, "N")
    if n < 0:
        raise ShapeError(f"vander needs N to be at least 0, but got {n}.")
    if n > _MOST_COLUMNS:
        raise ShapeError(f"vander has at most {_MOST_COLUMNS:,} columns, but got {shortened(n)}.")
    exponents = range(n) if increasing else range(n - 1, -1, -1)
    columns = [sh.reshape(elementwise.power(a, k), (a.size, 1)) for k in exponents]
    return _concatenate(columns, 1) if columns else sh.full((a.size, 0), 0, a.dtype)


@replayed
def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Return the rows and columns of the elements on and below the ``k``-th diagonal.

    They index an array of shape ``(n, m)``, square by default. ``k`` is 0 for the main diagonal,
    positive above it. The numbers must be known while tracing, for the shape depends on them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.tril_indices(2)
        (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
        >>> x = jnp.arange(9).reshape(3, 3)
        >>> x[jnp.tril_indices(3, k=-1)]
        Array([3, 6, 7], dtype=int32)
    """
    return _index_arrays(np.tril_indices, n, k, m)


@replayed
def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, Array]:
    """Return the rows and columns of the elements on and above the ``k``-th diagonal.

    Args:
        n: how many rows a matrix has.
        k: which diagonal: positive above the main one, negative below.
        m: how many columns it has; ``n`` by default.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> rows, columns = jnp.triu_indices(2)
        >>> jnp.array([[1, 2], [3, 4]])[rows, columns]
        Array([1, 2, 4], dtype=int32)
    """
    return _index_arrays(np.triu_indices, n, k, m)


def _index_arrays(
    triangle: Callable[[int, int, int], tuple[HostArray, HostArray]], n: int, k: int, m: int | None
) -> tuple[Array, Array]:
    sizes = canonical_shape((n, n if m is None else m), "the size of a triangle")
    check_size(sizes)
    check_size(sizes[1:])  # of which none may be left, where there are no rows
    offset = max(-sizes[0] - 1, min(ints.integer(k, "k"), sizes[1] + 1))  # nothing lies beyond
    rows, columns = triangle(sizes[0], offset, sizes[1])
    dtype = dtypes.default_int()
    return ConcreteArray(rows.astype(dtype)), ConcreteArray(columns.astype(dtype))


def _matrix_shape(name: str, m: ArrayLike) -> tuple[int, ...]:
    x = pm.array_of(name, m)
    if x.ndim != 2:
        raise ShapeError.got(f"{name} needs an array with two axes", x)
    return x.shape


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Return the rows and columns of the elements on and below the ``k``-th diagonal of a matrix.

    Args:
        arr: the matrix, of which the shape counts.
        k: which diagonal: positive above the main one, negative below.

    Raises:
        ShapeError: ``arr`` is no matrix.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> x[jnp.tril_indices_from(x)]
        Array([1, 3, 4], dtype=int32)
    """
    rows, columns = _matrix_shape("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, Array]:
    """Return the rows and columns of the elements on and above the ``k``-th diagonal of a matrix.

    Args:
        arr: the matrix, of which the shape counts.
        k: which diagonal: positive above the main one, negative below.

    Raises:
        ShapeError: ``arr`` is no matrix.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.array([[1, 2], [3, 4]])
        >>> x.at[jnp.triu_indices_from(x, k=1)].set(0)
        Array([[1, 0],
               [3, 4]], dtype=int32)
    """
    rows, columns = _matrix_shape("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array with ``ndim`` axes of size ``n``.

    See also ``diagonal``, which returns the elements themselves.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.diag_indices(2)
        (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
        >>> jnp.zeros((2, 2)).at[jnp.diag_indices(2)].set(5)
        Array([[5., 0.],
               [0., 5.]], dtype=float32)
    """
    axes = ints.integer(ndim, "ndim")
    if not 0 <= axes <= MOST_AXES:
        raise ShapeError(
            f"an array has from 0 to at most {MOST_AXES} axes, but got ndim={shortened(axes)}."
        )
    return (sh.iota(canonical_shape(n, "n"), dtypes.default_int(), 0),) * axes


# Agreement of whole arrays


@replayed
def array_equal(a1: Nested, a2: Nested, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and equal elements.

    The result is one bool. Arrays of different shapes are not equal, and nothing is broadcast;
    those of different dtypes may be.

    Args:
        a1: an array, or what ``array`` makes one of.
        a2: the same.
        equal_nan: whether NaN equals NaN.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_equal(jnp.array([1, 2]), jnp.array([1, 2]))
        Array(True, dtype=bool)
        >>> jnp.array_equal(jnp.zeros(2), jnp.zeros((1, 2))), jnp.array_equal([1], [1.0])
        (Array(False, dtype=bool), Array(True, dtype=bool))
        >>> x = jnp.array([1.0, jnp.nan])
        >>> jnp.array_equal(x, x), jnp.array_equal(x, x, equal_nan=True)
        (Array(False, dtype=bool), Array(True, dtype=bool))
    """
    x, y = operand(a1), operand(a2)
    if x.shape != y.shape:
        return sh.full((), False, dtypes.bool_)
    agree = elementwise.equal(x, y)
    if equal_nan:
        agree = elementwise.logical_or(
            agree, elementwise.logical_and(elementwise.isnan(x), elementwise.isnan(y))
        )
    return _all(agree)


def _all(x: Array) -> Array:
    return primitives.reduce_and(x, tuple(range(x.ndim)))


@replayed
def array_equiv(a1: Nested, a2: Nested) -> Array:
    """Return whether two arrays are equal once they are broadcast; False where they cannot be.

    See also ``array_equal``, which asks for equal shapes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.array_equiv(jnp.array([1, 1]), 1)
        Array(True, dtype=bool)
        >>> jnp.array_equiv(jnp.array([1, 1]), jnp.array([1, 1, 1]))
        Array(False, dtype=bool)
    """
    x, y = operand(a1), operand(a2)
    try:
        agree = elementwise.equal(x, y)
    except ShapeError:
        return sh.full((), False, dtypes.bool_)
    return _all(agree)
