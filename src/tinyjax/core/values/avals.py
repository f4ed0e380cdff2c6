"""Abstract values: the known properties of an array before its data is known."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

import attrs
import numpy as np

from tinyjax._base.records import Record, leaf
from tinyjax.core import devices
from tinyjax.core.values.integers import integers
from tinyjax.dtypes import (
    DType,
    DTypeLike,
    allowed,
    dtype_name,
    float0,
    is_inexact,
    parse,
    result_type,
)
from tinyjax.errors import ArgumentError, described

if TYPE_CHECKING:
    from tinyjax.core import device_types

T = TypeVar("T")


class Where(ABC):
    """The placement of a type's values on several devices, and their sharing by these.

    The core passes it from types of operands to those of results, and knows no more of it than this
    interface: ``tinyjax._extensions.parallel`` interprets it. It is immutable, and compared by
    value.
    """

    __slots__ = ()

    #: Whether any type has said how values lie: no type of a program for one device does.
    in_use: ClassVar[bool] = False

    #: How the type says that values lie, if it does.
    sharding: device_types.Sharding | None

    @property
    @abstractmethod
    def varying(self) -> frozenset[Hashable]:
        """The axes of a mesh along which devices may have different values."""

    @property
    @abstractmethod
    def plain(self) -> Where | None:
        """The part that applies to values of any shape."""

    @abstractmethod
    def inserted(self, axis: int, ndim: int, names: tuple[str, ...]) -> Where:
        """Return the same with one more axis of the array, divided over some axes of the mesh."""

    @abstractmethod
    def removed(self, axis: int, ndim: int) -> Where:
        """Return the same without an axis of the array."""

    @abstractmethod
    def cotangent(self) -> Where:
        """Return the same of a cotangent of the value."""

    @abstractmethod
    def of_number(self) -> Where | None:
        """Return the same of one number, other than zero, in all places of an array."""

    @property
    @abstractmethod
    def of_all(self) -> Where | None:
        """The same of values that all devices have."""

    @abstractmethod
    def mapped_over(self, args: Sequence[Any], axes: Sequence[int | None]) -> tuple[str, ...]:
        """Return the axes of the mesh that divide the mapped axis of arguments.

        Args:
            args: the arguments, of whose types one has this.
            axes: which axis of each is mapped over; None where there is none.
        """

    @abstractmethod
    def check_rows(self, aval: ShapedArray, path: str) -> None:
        """Raise if rows of values of a type, along the first axis, are on different devices.

        Args:
            aval: the type.
            path: what messages call the values.
        """

    @property
    @abstractmethod
    def is_partial(self) -> bool:
        """Return whether values are sums of the devices' parts."""

    @abstractmethod
    def lies_as(self, other: Where | None) -> bool:
        """Return whether both have the same sharding, where none is equal to "undivided"."""

    @abstractmethod
    def shown(self, dtype: str, lengths: Sequence[str]) -> str:
        """Return the type as text, of the dtype's name and the lengths of the axes."""

    @property
    @abstractmethod
    def identity(self) -> tuple[object, ...]:
        """The key that distinguishes it from others, to be encoded."""


_Key = tuple[tuple[int, ...], DType, bool] | tuple[tuple[int, ...], DType, bool, Where]
#: The types that there are.
interned: Final[dict[_Key, ShapedArray]] = {}
NOWHERE: Final[frozenset[Hashable]] = frozenset()
_MOST_UNUSED: Final = 1 << 16
_DTYPES: Final[tuple[type, ...]] = (np.dtype,)


@attrs.frozen(init=False, eq=False, slots=True, repr=False)
class ShapedArray:
    """A shape, a dtype, and whether the dtype is weak: the type of a value in a jaxpr.

    Equal types are one object: construction looks them up. So types are compared and hashed by
    identity, which happens at every operation and is three times as fast as by value.

    Attributes:
        shape: the shape.
        dtype: the dtype.
        weak_type: whether the dtype is weak.
        where: the placement on several devices, if the type has one; most types have None.

    Example:
        >>> import numpy as np
        >>> import tinyjax
        >>> float32 = np.dtype("float32")
        >>> first, second = (tinyjax.core.ShapedArray((2,), float32) for _ in range(2))
        >>> first is second, first
        (True, ShapedArray(float32[2]))
    """

    shape: tuple[int, ...]
    dtype: DType
    weak_type: bool
    where: Where | None

    def __new__(
        cls,
        shape: tuple[int, ...],
        dtype: DType,
        weak_type: bool = False,
        where: Where | None = None,
        *,
        sharding: device_types.Sharding | None = None,
    ) -> ShapedArray:
        key: _Key = (shape, dtype, weak_type)
        if where is not None:
            key = (shape, dtype, weak_type, where)
        try:
            return interned[key]
        except KeyError:  # a new type
            pass
        except TypeError:  # a list
            return ShapedArray(tuple(shape), dtype, weak_type, where)
        if not isinstance(dtype, _DTYPES):  # a scalar type, or a name
            return ShapedArray(shape, parse(dtype), weak_type, where)
        self = object.__new__(cls)
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "weak_type", weak_type)
        object.__setattr__(self, "where", where)
        if len(interned) >= _MOST_UNUSED:
            _drop_unused(interned)
        return interned.setdefault(key, self)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    # What it says of several devices

    @property
    def sharding_or_none(self) -> device_types.Sharding | None:
        """The one that the type records; None if it records none."""
        return None if self.where is None else self.where.sharding

    @property
    def sharding(self) -> device_types.Sharding:
        """The sharding of values: whole, on the first device, by default."""
        return self.sharding_or_none or devices.ops().on_first()

    @property
    def varying(self) -> frozenset[Hashable]:
        """The axes of the mesh along which it may vary; none outside of ``shard_map``."""
        return NOWHERE if self.where is None else self.where.varying

    @property
    def mat(self) -> Any:
        """The same, in JAX's form."""
        return devices.ops().manual_axis_type(self)

    manual_axis_type = mat

    def with_where(self, where: Where | None) -> ShapedArray:
        """Return the same type with another placement on several devices.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.with_where(None) is aval
            True
        """
        return ShapedArray(self.shape, self.dtype, self.weak_type, where)

    @property
    def plain(self) -> ShapedArray:
        """The same type of an array on one device."""
        return self if self.where is None else self.with_where(self.where.plain)

    def with_layout_of(self, x: T) -> T:
        """Return an array with the sharding of the type.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.with_layout_of(jnp.ones((2, 3))).shape
            (2, 3)
        """
        return x if self.where is None else devices.ops().lie_as(x, self)

    def without_sharding(self, x: T) -> T:
        """Return an array of this type as one without a sharding in its type.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.without_sharding(jnp.ones((2, 3))).shape
            (2, 3)
        """
        return x if self.where is None else devices.ops().unspecified(x)

    # Types made of it

    def strip_weak(self) -> ShapedArray:
        """Return the same type without weakness.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> weak = jnp.asarray(2.0).aval
            >>> weak, weak.strip_weak()
            (ShapedArray(float32[], weak_type=True), ShapedArray(float32[]))
        """
        if not self.weak_type:
            return self
        return ShapedArray(self.shape, self.dtype, False, self.where)

    def with_shape(self, shape: tuple[int, ...]) -> ShapedArray:
        """Return the type of values of another shape, on one device.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.with_shape((6,))
            ShapedArray(float32[6])
        """
        where = self.where
        if where is not None and shape != self.shape:
            where = where.plain
        return ShapedArray(shape, self.dtype, self.weak_type, where)

    def update(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: DType | None = None,
        weak_type: bool | None = None,
    ) -> ShapedArray:
        """Return the same type with the given changes.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.update(shape=(4,))
            ShapedArray(float32[4])
        """
        shaped = self if shape is None else self.with_shape(tuple(shape))
        weak = self.weak_type if weak_type is None else weak_type
        return shaped.with_dtype(self.dtype if dtype is None else dtype, weak)

    def inserted(self, axis: int, length: int, names: tuple[str, ...] = ()) -> ShapedArray:
        """Return the type of so many values of this type along a new axis.

        Args:
            axis: where it comes.
            length: how many.
            names: the axes of the mesh over which it is divided, if this type says where values
                lie.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.inserted(1, 5)
            ShapedArray(float32[2,5,3])
        """
        shape = (*self.shape[:axis], length, *self.shape[axis:])
        where = self.where and self.where.inserted(axis, len(self.shape), names)
        return ShapedArray(shape, self.dtype, self.weak_type, where)

    def removed(self, axis: int) -> ShapedArray:
        """Return the type of one element along an axis.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.removed(0)
            ShapedArray(float32[3])
        """
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        where = self.where and self.where.removed(axis, len(self.shape))
        return ShapedArray(shape, self.dtype, self.weak_type, where)

    def stacked(self, length: int) -> ShapedArray:
        """Return the type of so many values of this type along a new first axis.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.stacked(5)
            ShapedArray(float32[5,2,3])
        """
        return _stacked(self, length)

    def row(self) -> ShapedArray:
        """Return the type of one element along the first axis.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.row()
            ShapedArray(float32[3])
        """
        return _row(self)

    def with_dtype(self, dtype: DType, weak_type: bool = False) -> ShapedArray:
        """Return the type of values of another dtype, not weak by default.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.with_dtype(jnp.dtype("int8"))
            ShapedArray(int8[2,3])
        """
        return ShapedArray(self.shape, dtype, weak_type, self.where)

    def tangent(self) -> ShapedArray:
        """Return the type of a tangent: itself, or float0 where there is no derivative.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.tangent(), jnp.arange(2).aval.tangent()
            (ShapedArray(float32[2,3]), ShapedArray(void[2]))
        """
        if is_inexact(self.dtype):
            return self
        return ShapedArray(self.shape, float0, False, self.where)

    def cotangent(self) -> ShapedArray:
        """Return the type of a cotangent of this value, which is of an inexact dtype.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.cotangent()
            ShapedArray(float32[2,3])
        """
        return self if self.where is None else self.with_where(self.where.cotangent())

    def to_tangent_aval(self) -> ShapedArray:
        """Return the same as ``tangent``, by JAX's name.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.to_tangent_aval() is aval
            True
        """
        return self.tangent()

    def at_least_vspace(self) -> ShapedArray:
        """Return the same as ``tangent``, by an older name of JAX's.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.at_least_vspace() is aval
            True
        """
        return self.tangent()

    def lo_ty(self) -> list[ShapedArray]:
        """Return the types of the parts of such a value: itself, as it is an array's.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.lo_ty()
            [ShapedArray(float32[2,3])]
        """
        return [self]

    def lower_val(self, hi_val: T) -> list[T]:
        """Return the parts of a value of this type: itself.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.lower_val(7)
            [7]
        """
        return [hi_val]

    def raise_val(self, lo_val: T) -> T:
        """Return a value of this type, from its parts.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.raise_val(7)
            7
        """
        return lo_val

    def normalize(self) -> ShapedArray:
        """Return the same as ``strip_weak``, by JAX's name.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.asarray(2.0).aval.normalize()
            ShapedArray(float32[])
        """
        return self.strip_weak()

    def str_short(self, short_dtypes: bool = False) -> str:
        """Return the type as text, ``float32[3]``; as ``f32[3]`` with short names of dtypes.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> aval = jnp.ones((2, 3)).aval
            >>> aval.str_short(), aval.str_short(short_dtypes=True)
            ('float32[2,3]', 'f32[2,3]')
        """
        if not short_dtypes:
            return str(self)
        return re.sub(r"^(u?int|b?float|complex)", _shorten, str(self))

    def __reduce__(self) -> tuple[type[ShapedArray], tuple[object, ...]]:
        return (ShapedArray, (self.shape, self.dtype, self.weak_type, self.where))

    def __str__(self) -> str:
        name = dtype_name(self.dtype)
        try:
            lengths = [*map(str, self.shape)]
        except ValueError:  # an int of thousands of digits
            lengths = ["<too large to show>"]
        if self.where is not None:
            return self.where.shown(name, lengths)
        return f"{name}[{','.join(lengths)}]"

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self}{weak})"


def _shorten(name: re.Match[str]) -> str:
    return "bf" if name[0] == "bfloat" else name[0][0]


# Loops ask for these again and again, and arrays in nests of loops have many axes.


@lru_cache(maxsize=4096)
def _stacked(aval: ShapedArray, length: int) -> ShapedArray:
    return aval.inserted(0, length)


@lru_cache(maxsize=4096)
def _row(aval: ShapedArray) -> ShapedArray:
    return aval.removed(0)


def stacked(avals: Iterable[ShapedArray], length: int) -> list[ShapedArray]:
    """Return the types of so many values of each type along a new first axis."""
    return [*map(_stacked, avals, repeat(length))]


def rows(avals: Iterable[ShapedArray]) -> list[ShapedArray]:
    """Return the types of one element along the first axes."""
    return [*map(_row, avals)]


def where_of(avals: Iterable[ShapedArray]) -> Where | None:
    """Return the first placement on several devices in several types."""
    for aval in avals:
        if aval.where is not None:
            return aval.where
    return None


class Typed:
    """An object with a type."""

    __slots__ = ()

    @property
    def aval(self) -> ShapedArray:
        """Its type."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The dtype of its elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self.aval.ndim

    @property
    def size(self) -> int:
        """The number of its elements."""
        return self.aval.size


def same_types(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    """Return whether two lists of types are equal but for weakness and varying axes."""
    # types are compared by identity, and are mostly the same
    return list(a) == list(b) or [(x.shape, x.dtype) for x in a] == [(x.shape, x.dtype) for x in b]


def alike(a: Sequence[ShapedArray], b: Sequence[ShapedArray]) -> bool:
    """Return whether two lists of types are equal, where no sharding is equal to "undivided"."""
    return list(a) == list(b) or all(
        x is y or (x.plain is y.plain and lie_alike(x, y)) for x, y in zip(a, b, strict=True)
    )


def lie_alike(x: ShapedArray, y: ShapedArray) -> bool:
    """Return whether types have the same sharding, where none is equal to "undivided"."""
    if x.where is None:
        return y.where is None or y.where.lies_as(None)
    return x.where.lies_as(y.where)


def _shape(dims: Sequence[int]) -> tuple[int, ...]:
    return integers(dims, "the shape of ShapeDtypeStruct")


def _dtype(dtype: DTypeLike) -> DType:
    if dtype is None:
        raise ArgumentError("ShapeDtypeStruct needs a dtype, but got None.")
    return parse(dtype)


def _lies(where: Any) -> device_types.Sharding | None:
    return None if where is None else devices.ops().declared(where)


@leaf
@attrs.frozen(eq=False, repr=False)
class ShapeDtypeStruct(Record):
    """A shape and a dtype, in place of an array where only its type matters.

    Attributes:
        shape: the shape.
        dtype: the dtype.
        weak_type: whether the dtype is weak.
        sharding: the sharding of such an array, if it has one; a ``PartitionSpec`` is of the mesh
            in force.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> x = tinyjax.ShapeDtypeStruct((2, 3), jnp.float32)
        >>> tinyjax.eval_shape(lambda x: x.T @ x, x)
        ShapeDtypeStruct(shape=(3, 3), dtype=float32)
    """

    shape: tuple[int, ...] = attrs.field(converter=_shape)
    dtype: DType = attrs.field(converter=_dtype)
    weak_type: bool = False
    sharding: device_types.Sharding | None = attrs.field(
        default=None, kw_only=True, converter=_lies
    )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def aval(self) -> ShapedArray:
        """The type of an array of this shape and dtype."""
        aval = ShapedArray(self.shape, allowed(self.dtype), self.weak_type)
        return aval if self.sharding is None else self.sharding.typed(aval)

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("a ShapeDtypeStruct without axes has no length.")
        return self.shape[0]

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Return the same with other attributes.

        Example:
            >>> import tinyjax
            >>> tinyjax.ShapeDtypeStruct((2,), "float32").update(shape=(3, 4))
            ShapeDtypeStruct(shape=(3, 4), dtype=float32)
        """
        names = ("shape", "dtype", "weak_type", "sharding")
        return ShapeDtypeStruct(**{name: getattr(self, name) for name in names} | changes)

    @classmethod
    def like(cls, value: Any) -> ShapeDtypeStruct:
        """Return the shape and dtype of an array, a number, or a type.

        They come with the sharding, where a type says it.

        Raises:
            ArgumentError: the value is nothing of these.

        Example:
            >>> import numpy as np, tinyjax
            >>> tinyjax.ShapeDtypeStruct.like(np.ones((2, 3), np.float32))
            ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        if isinstance(value, ShapeDtypeStruct):
            return value
        aval = value if isinstance(value, ShapedArray) else getattr(value, "aval", None)
        if isinstance(aval, ShapedArray):
            return cls(aval.shape, aval.dtype, aval.weak_type, sharding=aval.sharding_or_none)
        if not isinstance(value, (bool, int, float, complex, np.ndarray, np.generic)):
            raise ArgumentError(
                "ShapeDtypeStruct.like takes an array, a number or a type of arrays, but got "
                f"{described(value)}."
            )
        weak = type(value) in (int, float, complex)
        return cls(np.shape(value), result_type(value), weak)

    def __repr__(self) -> str:
        lies = "" if self.sharding is None else f", sharding={self.sharding}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtype_name(self.dtype)}{lies}{weak})"


def _drop_unused(table: dict[Any, Any]) -> None:
    """Forget the types that nothing but the table refers to."""
    references_of_the_table = 3  # the table, the loop variable, and the call that counts
    for key, aval in list(table.items()):
        if sys.getrefcount(aval) <= references_of_the_table + 1:  # and the list's tuple
            del table[key]
