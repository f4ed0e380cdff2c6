"""From what users pass to what primitives take: arrays of one dtype and one shape."""

from collections.abc import Sequence

from tinyjax.core.array import Array, ArrayLike, ConcreteArray, as_array
from tinyjax.core.primitive import HostArray
from tinyjax.core.avals import ShapedArray
from tinyjax.dtypes import DType, promote, to_inexact
from tinyjax.errors import ShapeError
from tinyjax.primitives.elementwise import convert_element_type
from tinyjax.primitives.shape import broadcast_in_dim, reshape


def arrays(name: str, *values: ArrayLike) -> list[Array]:
    """Convert the operands of a function to arrays; ``name`` is the function's."""
    return [x if isinstance(x, Array) else as_array(x) for x in values]


def convert(x: Array, dtype: DType, weak_type: bool = False) -> Array:
    """Convert to a dtype; scalars at hand are converted at once, so that they stay literals."""
    if x.dtype == dtype and x.weak_type == weak_type:
        return x
    if type(x) is ConcreteArray and x.weak_type and not x.shape:
        host: HostArray = x.host
        return ConcreteArray(host.astype(dtype), ShapedArray((), dtype, weak_type))
    return convert_element_type(x, dtype, weak_type)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that the given shapes broadcast to, by NumPy's rules.

    Raises:
        ShapeError: they do not broadcast; the message names them.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.broadcast_shapes((3, 1), (4,))
        (3, 4)
    """
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for i, n in enumerate(shape, start=ndim - len(shape)):
            if n != 1:
                if result[i] not in (1, n):
                    raise ShapeError(
                        f"shapes {' and '.join(map(str, shapes))} do not broadcast: counted from the last "
                        "axis, sizes must be equal or 1."
                    )
                result[i] = n
    return tuple(result)


def broadcast_to_shape(x: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast to a shape that ``x`` is known to broadcast to."""
    old = x.shape
    if old == shape:
        return x
    offset = len(shape) - len(old)
    kept = [i for i, n in enumerate(old) if n == shape[offset + i]]
    return broadcast_in_dim(
        reshape(x, tuple([old[i] for i in kept])), shape, tuple([offset + i for i in kept])
    )


def promote_dtypes(*xs: Array) -> list[Array]:
    """Convert arrays to their common dtype."""
    first = xs[0]
    dtype, weak = first.dtype, first.weak_type
    if all(x.dtype == dtype and x.weak_type == weak for x in xs):
        return list(xs)
    dtype, weak = promote([(x.dtype, x.weak_type) for x in xs])
    return [convert(x, dtype, weak) for x in xs]


def promote_inexact(*xs: Array) -> list[Array]:
    """Convert arrays to their common dtype, or the default float where that is no float."""
    dtype, weak = promote([(x.dtype, x.weak_type) for x in xs])
    inexact = to_inexact(dtype)
    return [convert(x, inexact, weak and all(y.weak_type for y in xs)) for x in xs]


def broadcast(xs: Sequence[Array]) -> list[Array]:
    """Broadcast arrays to their common shape."""
    shape = xs[0].shape
    if all(x.shape == shape for x in xs):
        return list(xs)
    shape = broadcast_shapes(*[x.shape for x in xs])
    return [broadcast_to_shape(x, shape) for x in xs]


def operands(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Prepare the operands of a binary function: arrays of one dtype and shape."""
    a = x if isinstance(x, Array) else as_array(x)
    b = y if isinstance(y, Array) else as_array(y)
    if a.dtype != b.dtype or a.weak_type != b.weak_type:
        a, b = promote_dtypes(a, b)
    if a.shape != b.shape:
        a, b = broadcast((a, b))
    return a, b


def inexact_operands(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """The same, with integers converted to the default float."""
    a, b = promote_inexact(*arrays(name, x, y))
    a, b = broadcast((a, b))
    return a, b


def inexact(x: ArrayLike) -> Array:
    """Prepare the operand of a function defined on floats."""
    a = x if isinstance(x, Array) else as_array(x)
    dtype = a.dtype
    wanted = to_inexact(dtype)
    return a if wanted is dtype or wanted == dtype else convert(a, wanted, a.weak_type)
