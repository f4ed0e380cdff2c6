"""The form of cotangents, and their addition.

The cotangent of a number or an array is one of its kind. That of a tuple or list holds the
cotangents of its items. That of a dict, or of an object with fields, is a dict of those of its
entries. That of a function is a dict of those of the variables that it closes over. ``None`` is
zero, of whatever type.
"""

from __future__ import annotations

import copy
from types import FunctionType, MethodType
from typing import Any, Final

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import records
from tinyjax.core.values import Array
from tinyjax.core.values.array import OPERATORS, has_own_semantics
from tinyjax.source.ir import find, plain_classes


class Entries(list[Any]):
    """The cotangent of a sequence while cotangents of its items are added to it, in place.

    Making a new list for each added item would take time proportional to the sequence. Every reader
    of the whole cotangent calls ``freeze`` first.
    """

    __slots__ = ("is_tuple",)

    def __init__(self, total: Any, sequence: Any) -> None:
        super().__init__([None] * len(sequence) if total is None else total)
        self.is_tuple = isinstance(sequence, tuple)


def freeze(ct: Any) -> Any:
    """Return a cotangent of which no part is still added to in place."""
    if type(ct) is not Entries:
        return ct
    return tuple(ct) if ct.is_tuple else list(ct)


@attrs.frozen(eq=False)
class UndefinedCotangent:
    """The cotangent of a number that has no derivative, because a function has to know it.

    What is computed of it is undefined, too. It is an error only where somebody asks for it: most
    such numbers are literals.

    Attributes:
        error: the error of the function.
    """

    error: Exception

    def _same(self, *_: Any, **__: Any) -> UndefinedCotangent:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = _same
    __getitem__ = __array_ufunc__ = __array_function__ = _same


def accumulate(x: Any, y: Any) -> Any:
    """Return the sum of two cotangents of one value."""
    if x is None:
        return y
    if y is None:
        return x
    x = freeze(x)
    if isinstance(x, dict):
        return {k: accumulate(x.get(k), y.get(k)) for k in [*x, *[k for k in y if k not in x]]}
    if isinstance(x, (tuple, list)):
        items = [accumulate(a, b) for a, b in zip(x, y, strict=True)]
        return tuple(items) if isinstance(x, tuple) else items
    return x + y


def number(ct: Any) -> Any:
    """Return the cotangent of a number, with zero as a float."""
    return 0.0 if ct is None else ct


def reduce_to(ct: Any, like: Any) -> Any:
    """Undo broadcasting: sum a cotangent over the axes along which an operand was repeated."""
    if type(ct) is type(like) and (
        isinstance(like, float)
        or (type(like) is np.ndarray and ct.dtype == like.dtype and ct.shape == like.shape)
    ):
        return ct
    if isinstance(like, int):
        return None
    require_data(ct, like)
    shape = np.shape(like)
    if np.shape(ct) != shape:
        ct = _sum_to(ct, shape)
    if not is_complex(like) and is_complex(ct):
        return ct.real
    return ct


def require_data(*values: Any) -> None:
    """Raise for arrays of a class that computes in its own way.

    Raises:
        SourceError: there is one.
    """
    for x in values:
        if has_own_operators(type(x)):
            raise find.refusal(
                f"an array or a number of the class {type(x).__name__} has operators, methods or "
                "protocols of its own, whose derivatives are not known. Use its data, "
                "np.asarray(x), where a plain array is meant."
            )


_OPERATORS: Final = (*OPERATORS, *[reflected for _, reflected in OPERATORS.values()])


def has_own_operators(kind: type) -> bool:
    """Return whether a class of arrays or numbers has operators, methods or protocols."""
    if issubclass(kind, np.ndarray):
        return has_own_semantics(kind)
    if kind in _PLAIN or not issubclass(kind, float | complex):
        return False
    return any(isinstance(getattr(kind, name, None), FunctionType) for name in _OPERATORS)


_PLAIN: Final = (float, complex, np.float64, np.complex128)


def inner_product(x: Any, y: Any) -> Any:
    """Return the sum of the products of the elements of two real arrays, broadcast together."""
    return np.vdot(x, y) if x.shape == y.shape else np.sum(x * y)


def masked(ct: Any, like: Any, mask: Any) -> Any:
    """Return the cotangent of an operand, set to zero where the mask did not select it."""
    if ct is None or not is_differentiable(like):
        return ct
    if type(ct) is float and isinstance(mask, (bool, np.bool_)):
        return ct if mask else 0.0
    library: Any = jnp if isinstance(ct, Array) or isinstance(mask, Array) else np
    return library.where(fitted(mask, np.shape(like)), ct, 0.0)[()]


def fitted(mask: Any, shape: tuple[int, ...]) -> Any:
    """Return a mask for a shape; a broadcast element is selected if one of its copies is."""
    if np.shape(mask) == shape:
        return mask
    whole = broadcast_like(mask, np.broadcast_shapes(np.shape(mask), shape))
    return _sum_to(whole * 1.0, shape) > 0


def is_complex(x: Any) -> bool:
    """Return whether a number or an array is complex."""
    return isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "f") == "c"


def _sum_to(ct: Any, shape: tuple[int, ...]) -> Any:
    if 0 < np.size(ct) < np.prod(shape):
        return broadcast_like(ct, shape)
    if np.ndim(ct) < len(shape):  # an assignment leaves out leading axes of one
        return np.reshape(_sum_to(ct, shape[len(shape) - np.ndim(ct) :]), shape)
    extra = np.ndim(ct) - len(shape)
    leading = tuple(range(extra))
    repeated = tuple(
        [extra + i for i, n in enumerate(shape) if n == 1 and np.shape(ct)[extra + i] != 1]
    )
    return ct.sum(axis=leading + repeated).reshape(shape)


def broadcast_like(ct: Any, shape: tuple[int, ...]) -> Any:
    """Repeat a cotangent so that it has a shape."""
    return (jnp if isinstance(ct, Array) else np).broadcast_to(ct, shape)


_ONE: Final = np.float64(1)


def one_like(y: Any) -> Any:
    """Return the cotangent to start from: one, of the type of a scalar result.

    Raises:
        DifferentiationError: the result is not a real scalar.
    """
    if isinstance(y, (int, float)) and not isinstance(y, bool):
        return _ONE if isinstance(y, np.float64) else 1.0
    if isinstance(y, Array) and y.shape == () and dtypes.is_float(y.dtype):
        return jnp.ones_like(y)
    if isinstance(y, (np.ndarray, np.generic)) and y.shape == () and y.dtype.kind == "f":
        return y.dtype.type(1)
    raise errors.DifferentiationError(
        f"a gradient is that of a function that returns a float, but it returned {_describe(y)}."
    )


def _describe(y: Any) -> str:
    if isinstance(y, (np.ndarray, Array)):
        return f"an array of shape {y.shape} and dtype {y.dtype}"
    return f"{type(y).__name__} ({y!r:.60})"


def is_differentiable(x: Any) -> bool:
    """Return whether a value's own type has a derivative: a float, or an array of floats."""
    if isinstance(x, (np.ndarray, np.generic, Array)):
        return dtypes.is_inexact(x.dtype)
    return isinstance(x, (float, complex))


def is_record(x: Any) -> bool:
    """Return whether a value is an object whose attributes are known from its class."""
    return is_declared(x) or plain_classes.stored_by(type(x)) is not None


def is_declared(x: Any) -> bool:
    """Return whether a value is an object with declared fields."""
    return not isinstance(x, type) and (
        records.has_fields(type(x)) or hasattr(type(x), "__dataclass_fields__")
    )


def field_names(kind: type) -> tuple[str, ...]:
    """Return the names of the attributes of a class's objects, in order."""
    if records.has_fields(kind):
        return records.field_names(kind)
    if (stored := plain_classes.stored_by(kind)) is not None:
        return stored.names
    return tuple(getattr(kind, "__dataclass_fields__"))  # noqa: B009 - typeshed's is an instance's


def with_fields(x: Any, values: dict[str, Any]) -> Any:
    """Return a copy of an object with other values in its fields, without its constructor."""
    record = copy.copy(x)
    for name, value in values.items():
        object.__setattr__(record, name, value)
    return record


def gradient_like(ct: Any, x: Any) -> Any:
    """Return a cotangent as the user gets it: of the structure and the type of the argument."""
    if type(ct) is type(x) is np.ndarray and ct.shape == x.shape and ct.dtype == x.dtype:
        return ct.copy()  # it may be a view, or the cotangent of something else too
    if type(ct) is UndefinedCotangent:
        raise ct.error
    if isinstance(x, (np.ndarray, np.generic, Array)) and not dtypes.is_inexact(x.dtype):
        return None
    if isinstance(x, Array):
        if ct is None:
            return jnp.zeros_like(x)
        return jnp.broadcast_to(jnp.asarray(ct), x.shape).astype(x.dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        if isinstance(ct, Array):
            return ct
        gradient = np.broadcast_to(np.asarray(0 if ct is None else ct, x.dtype), x.shape)
        return gradient[()] if isinstance(x, np.generic) else gradient.copy()
    if isinstance(x, (float, complex)):
        return type(x)(0) if ct is None else _python_number(ct)
    if isinstance(x, (tuple, list)):
        parts = [None] * len(x) if ct is None else ct
        items = [gradient_like(c, v) for c, v in zip(parts, x, strict=True)]
        return like_sequence(items, x)
    if isinstance(x, dict):
        return {k: gradient_like((ct or {}).get(k), v) for k, v in x.items()}
    if is_record(x):
        fields = field_names(type(x))
        return with_fields(x, {k: gradient_like((ct or {}).get(k), getattr(x, k)) for k in fields})
    if isinstance(x, (FunctionType, MethodType)):
        return ct
    return None


def like_sequence(items: list[Any], x: Any) -> Any:
    """Items as a list, a tuple or a named tuple like another one."""
    return type(x)(*items) if isinstance(x, tuple) and type(x) is not tuple else type(x)(items)


def _python_number(ct: Any) -> Any:
    return ct.item() if isinstance(ct, (np.ndarray, np.generic)) and ct.shape == () else ct
