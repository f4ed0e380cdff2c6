"""Arrays: the values that programs compute with.

``Array`` is what user code is written against: a shape, a dtype, operators and methods. A
``ConcreteArray`` holds data, on the host, on a device, or both; a tracer (``core.trace``) stands
for data while a transformation runs. Both are immutable.

The operators and methods do what the function of the same name in ``tinyjax.numpy`` does. That
package is built on this one, so it is handed in (``install_namespace``) rather than imported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import copysign, prod
from types import BuiltinFunctionType, EllipsisType, FunctionType, MethodType, ModuleType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Literal,
    NoReturn,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeGuard,
    TypeVar,
    Unpack,
)

import attrs
import numpy as np

from tinyjax import tree
from tinyjax.config import settings
from tinyjax.core.avals import ShapedArray, interned
from tinyjax.core.devices import (
    Device,
    Part,
    Placement,
    Sharding,
    first_device,
    on_first,
)
from tinyjax.core.dlpack import called, known
from tinyjax.core.integers import SymbolicSize, integer, is_one_of, one_or_more
from tinyjax.dtypes import (
    ALL,
    FLOAT8,
    KEYS,
    PHYSICAL,
    DType,
    DTypeLike,
    HostArray,
    allowed,
    bfloat16,
    default_complex,
    default_float,
    default_int,
    dtype_name,
    float0,
    is_key,
    key_tag,
    of_physical,
)
from tinyjax.errors import (
    ArgumentError,
    AxisError,
    DonatedArrayError,
    DtypeError,
    InconclusiveDimensionOperation,
    IndexingError,
    NumberRangeError,
    described,
    shortened,
)
from tinyjax.frames import imitate, subject

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

Axis: TypeAlias = int | Sequence[int] | None
Order: TypeAlias = Literal["C", "F"]

_ALL = frozenset(ALL)

PYTHON_NUMBERS: Final = frozenset((bool, int, float, complex))
CONTAINERS: Final = frozenset((list, tuple, set, dict))


class _Method:
    """A method that is a function of ``tinyjax.numpy``, found when it is first used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, array: Array | None, owner: type) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(_numpy, self.name)
        setattr(Array, self.name, function)
        return function if array is None else MethodType(function, array)


#: What to write in place of an attribute that arrays of NumPy or PyTorch have.
_OF_OTHER_LIBRARIES: Final = {
    "append": "Arrays have a fixed size: jnp.append(x, y) makes a longer one.",
    "backward": "Differentiate a function: tinyjax.grad(f)(x).",
    "clone": "Arrays are immutable, so there is no need for copies.",
    "cuda": "Arrays are on the CPU: tinyjax has no other devices.",
    "detach": "tinyjax.lax.stop_gradient(x) is x without a derivative.",
    "dim": "Use x.ndim.",
    "double": "Use x.astype(jnp.float64).",
    "fill": "Arrays are immutable: jnp.full_like(x, value) makes another.",
    "float": "Use x.astype(float).",
    "grad": "Differentiate a function: tinyjax.grad(f)(x).",
    "long": "Use x.astype(jnp.int64).",
    "numel": "Use x.size.",
    "numpy": "np.asarray(x) is the array of NumPy.",
    "permute": "Use x.transpose(axes).",
    "put": "Arrays are immutable: write x = x.at[index].set(value).",
    "requires_grad": "Differentiate a function: tinyjax.grad(f)(x).",
    "requires_grad_": "Differentiate a function: tinyjax.grad(f)(x).",
    "resize": "Use jnp.resize(x, shape).",
    "to": "Use x.astype(dtype), or tinyjax.device_put(x, device).",
    "unsqueeze": "Use jnp.expand_dims(x, axis), or x[..., None].",
}


class _OfOtherLibraries:
    """An attribute that arrays lack, and that says what to write instead.

    ``__getattr__`` could say it too, but NumPy asks every array for names that it has not: taking
    the data would cost five times as much.
    """

    def __init__(self, name: str, way_out: str) -> None:
        self._name, self._way_out = name, way_out

    def __get__(self, array: Array | None, owner: type) -> NoReturn:
        text = f"'{owner.__name__}' object has no attribute '{self._name}'. {self._way_out}"
        raise AttributeError(text, name=self._name, obj=owner if array is None else array)


class _Methods:
    """Stands for ``tinyjax.numpy`` until that is handed in."""

    def __getattr__(self, name: str) -> _Method:
        return _Method(name)


class Functions(Protocol):
    """The functions behind the operators and methods of arrays, as ``tinyjax.numpy`` has them."""

    # of operators and attributes

    def abs(self, x: ArrayLike, /) -> Array: ...
    def add(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def bitwise_and(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def bitwise_or(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def bitwise_xor(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def equal(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def floor_divide(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def greater(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def greater_equal(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def imag(self, val: ArrayLike, /) -> Array: ...
    def invert(self, x: ArrayLike, /) -> Array: ...
    def left_shift(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def less(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def less_equal(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def matmul(self, a: ArrayLike, b: ArrayLike) -> Array: ...
    def matrix_transpose(self, x: ArrayLike, /) -> Array: ...
    def multiply(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def negative(self, x: ArrayLike, /) -> Array: ...
    def not_equal(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def positive(self, x: ArrayLike, /) -> Array: ...
    def power(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def real(self, val: ArrayLike, /) -> Array: ...
    def remainder(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def right_shift(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def subtract(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...
    def true_divide(self, x: ArrayLike, y: ArrayLike, /) -> Array: ...

    # of methods with a signature of their own

    def astype(
        self, x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: Placement = None
    ) -> Array: ...
    def byteswap(self, a: ArrayLike) -> Array: ...
    def compress(
        self,
        condition: ArrayLike,
        a: ArrayLike,
        axis: int | None = None,
        *,
        size: int | None = None,
        fill_value: ArrayLike = 0,
        out: None = None,
    ) -> Array: ...
    def conj(self, x: ArrayLike, /) -> Array: ...
    def copy(self, a: ArrayLike) -> Array: ...
    def reshape(
        self,
        a: ArrayLike,
        shape: int | Sequence[int],
        order: Order = "C",
        *,
        out_sharding: Placement = None,
    ) -> Array: ...
    def transpose(self, a: ArrayLike, axes: Sequence[int] | None = None) -> Array: ...
    def view(self, a: ArrayLike, dtype: DTypeLike = None) -> Array: ...

    # of indexing, and of what is indexed by ``x.at``

    def asarray(self, a: Any) -> Array: ...
    def getitem(
        self,
        x: Array,
        index: Indices,
        /,
        *,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        wrap_negative_indices: bool = True,
        out_sharding: Placement = None,
    ) -> Array: ...
    def update_at(
        self,
        x: Array,
        index: Indices,
        value: ArrayLike,
        kind: str,
        /,
        **options: Unpack[UpdateOptions],
    ) -> Array: ...

    # that are methods

    def all(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def any(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def argmax(
        self, a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
    ) -> Array: ...
    def argmin(
        self, a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool = False
    ) -> Array: ...
    def argpartition(self, a: ArrayLike, kth: int, axis: int = -1) -> Array: ...
    def argsort(
        self,
        a: ArrayLike,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
        dtype: DTypeLike = None,
    ) -> Array: ...
    def choose(
        self,
        a: ArrayLike,
        choices: Array | HostArray | Sequence[ArrayLike],
        out: None = None,
        mode: Literal["raise", "wrap", "clip"] = "raise",
    ) -> Array: ...
    def clip(
        self,
        arr: ArrayLike,
        /,
        min: ArrayLike | None = None,
        max: ArrayLike | None = None,
    ) -> Array: ...
    def cumprod(
        self, a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
    ) -> Array: ...
    def cumsum(
        self, a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: None = None
    ) -> Array: ...
    def diagonal(self, a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array: ...
    def dot(
        self,
        a: ArrayLike,
        b: ArrayLike,
        *,
        precision: object = None,
        preferred_element_type: DTypeLike = None,
        out_sharding: Placement = None,
    ) -> Array: ...
    def max(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def mean(
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def min(
        self,
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array: ...
    def nonzero(
        self,
        a: ArrayLike,
        *,
        size: int | None = None,
        fill_value: int | tuple[int, ...] | None = None,
    ) -> tuple[Array, ...]: ...
    def prod(
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array: ...
    def ptp(
        self, a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False
    ) -> Array: ...
    def ravel(
        self, a: ArrayLike, order: Order = "C", *, out_sharding: Placement = None
    ) -> Array: ...
    def repeat(
        self,
        a: ArrayLike,
        repeats: int | ArrayLike | Sequence[int],
        axis: int | None = None,
        *,
        total_repeat_length: int | None = None,
        out_sharding: Placement = None,
    ) -> Array: ...
    def round(self, a: ArrayLike, decimals: int = 0, out: None = None) -> Array: ...
    def searchsorted(
        self,
        a: ArrayLike,
        v: ArrayLike,
        side: Literal["left", "right"] = "left",
        sorter: ArrayLike | None = None,
        *,
        method: str = "scan",
    ) -> Array: ...
    def sort(
        self,
        a: ArrayLike,
        axis: int | None = -1,
        *,
        kind: None = None,
        order: None = None,
        stable: bool = True,
        descending: bool = False,
    ) -> Array: ...
    def squeeze(self, a: ArrayLike, axis: Axis = None) -> Array: ...
    def std(  # noqa: PLR0913 (JAX's signature)
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: int | float | None = None,
    ) -> Array: ...
    def sum(
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array: ...
    def swapaxes(self, a: ArrayLike, axis1: int, axis2: int) -> Array: ...
    def take(
        self,
        a: ArrayLike,
        indices: ArrayLike,
        axis: int | None = None,
        out: None = None,
        mode: str | None = None,
        unique_indices: bool = False,
        indices_are_sorted: bool = False,
        fill_value: ArrayLike | None = None,
    ) -> Array: ...
    def trace(
        self,
        a: ArrayLike,
        offset: int = 0,
        axis1: int = 0,
        axis2: int = 1,
        dtype: DTypeLike = None,
        out: None = None,
    ) -> Array: ...
    def var(  # noqa: PLR0913 (JAX's signature)
        self,
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
        mean: ArrayLike | None = None,
        correction: int | float | None = None,
    ) -> Array: ...


_until_handed_in: Any = _Methods()
#: These functions: they are built on arrays, and are handed in.
_numpy: Functions = _until_handed_in


def _as_method(
    function: Callable[Concatenate[ArrayLike, P], R],
) -> Callable[Concatenate[Array, P], R]:
    """Return a function of an array, and more, as the method that it is."""
    return function


class Array:
    """An immutable n-dimensional array: data, or a tracer that stands for it.

    Annotate with this class; make arrays with ``tinyjax.numpy``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x = jnp.arange(3.0)
        >>> x.at[0].set(5.0) + 1
        Array([6., 2., 3.], dtype=float32)
    """

    __slots__ = ()
    __array_priority__ = 1000

    # The host data, and the type where it is remembered; a tracer has no data.
    _host: HostArray | None
    _aval: ShapedArray | None
    _buffer: DeviceBuffer | None

    # What a subclass supplies

    @property
    def aval(self) -> ShapedArray:
        """The value's type."""
        raise NotImplementedError

    def concrete(self, wanted: str) -> HostArray:
        """The data on the host; raises where only the type is known. ``wanted`` says what for."""
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        raise NotImplementedError

    # Attributes

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def T(self) -> Array:
        return _numpy.transpose(self)

    @property
    def mT(self) -> Array:
        return _numpy.matrix_transpose(self)

    @property
    def real(self) -> Array:
        return _numpy.real(self)

    @property
    def imag(self) -> Array:
        return _numpy.imag(self)

    @property
    def flat(self) -> Array:
        """The elements in order, as an array with one axis."""
        return _numpy.ravel(self)

    @property
    def device(self) -> Device:
        """Where the array is."""
        return first_device()

    @property
    def sharding(self) -> Sharding:
        """How the array lies on devices: whole on the first, unless it was put elsewhere."""
        return on_first()

    @property
    def committed(self) -> bool:
        """Whether the array was put elsewhere than on the first device."""
        return False

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all of the array lies on devices of this process."""
        return True

    @property
    def addressable_shards(self) -> list[Shard]:
        """The part of the array on each device of this process."""
        return [Shard(first_device(), (slice(None),) * self.ndim, 0, self)]

    @property
    def global_shards(self) -> list[Shard]:
        """The part of the array on each device."""
        return self.addressable_shards

    @property
    def is_fully_replicated(self) -> bool:
        return True

    def devices(self) -> set[Device]:
        """The devices that hold the array."""
        return {first_device()}

    @property
    def at(self) -> IndexUpdater:
        """Functional updates: ``x.at[index].set(value)`` is a changed copy of ``x``."""
        return IndexUpdater(self)

    # Python protocols

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentError("len() of an array without axes.")
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        if not self.shape:
            raise ArgumentError("iteration over an array without axes.")
        return (_numpy.getitem(self, i) for i in range(self.shape[0]))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _OF_OTHER_LIBRARIES]

    def __contains__(self, x: ArrayLike) -> bool:
        return bool(_numpy.any(_numpy.equal(self, x)))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The module of functions on arrays, by the standard of array libraries.

        Raises:
            ArgumentError: it is of another version than the one asked for.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ArgumentError(f"there is no array namespace of the version {api_version!r}.")
        return _numpy

    def __bool__(self) -> bool:
        return bool(self._scalar("a Python bool", "use jnp.where, jnp.any or jnp.all", True))

    def __int__(self) -> int:
        return int(self._real_scalar("a Python int", "use .astype(int)"))

    def __floor__(self) -> int:
        found: int = math.floor(self._scalar("a Python int", "use jnp.floor"))
        return found

    def __ceil__(self) -> int:
        found: int = math.ceil(self._scalar("a Python int", "use jnp.ceil"))
        return found

    def __trunc__(self) -> int:
        return int(self)

    def __float__(self) -> float:
        return float(self._real_scalar("a Python float", "use .astype(float)"))

    def __complex__(self) -> complex:
        return complex(self._scalar("a Python complex", "use .astype(complex)"))

    def __index__(self) -> int:
        if self.dtype.kind not in "iu" or self.shape:
            raise ArgumentError(f"only an integer scalar can be an index, but this is {self.aval}.")
        return int(self.concrete("a Python index"))

    def _scalar(self, kind: str, advice: str, with_axes: bool = False) -> Any:
        if (self.size != 1 if with_axes else self.shape) or is_key(self.dtype):
            raise ArgumentError(f"an array of type {self.aval} is not {kind}: {advice}.")
        return self.concrete(kind).reshape(())[()]

    def _real_scalar(self, kind: str, advice: str) -> Any:
        if self.dtype.kind == "c":
            raise ArgumentError(f"a complex number is not {kind}: take .real or .imag of it.")
        return self._scalar(kind, advice)

    if not TYPE_CHECKING:  # so that arrays are no instances of Hashable
        __hash__ = None

    def __getitem__(self, index: Indices) -> Array:
        return _numpy.getitem(self, index)

    if not TYPE_CHECKING:  # to a type checker it is a mistake

        def __setitem__(self, index: Indices, value: object) -> None:
            raise ArgumentError(
                "arrays are immutable: instead of x[index] = value write "
                "x = x.at[index].set(value)."
            )

        def __delitem__(self, index: Indices) -> None:
            raise ArgumentError(
                "arrays are immutable: instead of del x[index] write x = jnp.delete(x, index)."
            )

    # Operators

    def __add__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.add(self, other)
        except ArgumentError:
            if _takes_over(other, "__radd__"):
                return NotImplemented
            raise

    def __radd__(self, other: ArrayLike) -> Array:
        return _numpy.add(other, self)

    def __sub__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.subtract(self, other)
        except ArgumentError:
            if _takes_over(other, "__rsub__"):
                return NotImplemented
            raise

    def __rsub__(self, other: ArrayLike) -> Array:
        return _numpy.subtract(other, self)

    def __mul__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.multiply(self, other)
        except ArgumentError:
            if _takes_over(other, "__rmul__"):
                return NotImplemented
            raise

    def __rmul__(self, other: ArrayLike) -> Array:
        return _numpy.multiply(other, self)

    def __truediv__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.true_divide(self, other)
        except ArgumentError:
            if _takes_over(other, "__rtruediv__"):
                return NotImplemented
            raise

    def __rtruediv__(self, other: ArrayLike) -> Array:
        return _numpy.true_divide(other, self)

    def __floordiv__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.floor_divide(self, other)
        except ArgumentError:
            if _takes_over(other, "__rfloordiv__"):
                return NotImplemented
            raise

    def __rfloordiv__(self, other: ArrayLike) -> Array:
        return _numpy.floor_divide(other, self)

    def __mod__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.remainder(self, other)
        except ArgumentError:
            if _takes_over(other, "__rmod__"):
                return NotImplemented
            raise

    def __rmod__(self, other: ArrayLike) -> Array:
        return _numpy.remainder(other, self)

    def __divmod__(self, other: ArrayLike) -> tuple[Array, Array]:
        try:
            return _numpy.floor_divide(self, other), _numpy.remainder(self, other)
        except ArgumentError:
            if _takes_over(other, "__rdivmod__"):
                return NotImplemented
            raise

    def __rdivmod__(self, other: ArrayLike) -> tuple[Array, Array]:
        return _numpy.floor_divide(other, self), _numpy.remainder(other, self)

    def __pow__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.power(self, other)
        except ArgumentError:
            if _takes_over(other, "__rpow__"):
                return NotImplemented
            raise

    def __rpow__(self, other: ArrayLike) -> Array:
        return _numpy.power(other, self)

    def __matmul__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.matmul(self, other)
        except ArgumentError:
            if _takes_over(other, "__rmatmul__"):
                return NotImplemented
            raise

    def __rmatmul__(self, other: ArrayLike) -> Array:
        return _numpy.matmul(other, self)

    def __and__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.bitwise_and(self, other)
        except ArgumentError:
            if _takes_over(other, "__rand__"):
                return NotImplemented
            raise

    def __rand__(self, other: ArrayLike) -> Array:
        return _numpy.bitwise_and(other, self)

    def __or__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.bitwise_or(self, other)
        except ArgumentError:
            if _takes_over(other, "__ror__"):
                return NotImplemented
            raise

    def __ror__(self, other: ArrayLike) -> Array:
        return _numpy.bitwise_or(other, self)

    def __xor__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.bitwise_xor(self, other)
        except ArgumentError:
            if _takes_over(other, "__rxor__"):
                return NotImplemented
            raise

    def __rxor__(self, other: ArrayLike) -> Array:
        return _numpy.bitwise_xor(other, self)

    def __lshift__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.left_shift(self, other)
        except ArgumentError:
            if _takes_over(other, "__rlshift__"):
                return NotImplemented
            raise

    def __rlshift__(self, other: ArrayLike) -> Array:
        return _numpy.left_shift(other, self)

    def __rshift__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.right_shift(self, other)
        except ArgumentError:
            if _takes_over(other, "__rrshift__"):
                return NotImplemented
            raise

    def __rrshift__(self, other: ArrayLike) -> Array:
        return _numpy.right_shift(other, self)

    def __neg__(self) -> Array:
        return _numpy.negative(self)

    def __pos__(self) -> Array:
        return _numpy.positive(self)

    def __abs__(self) -> Array:
        return _numpy.abs(self)

    def __invert__(self) -> Array:
        return _numpy.invert(self)

    def __round__(self, ndigits: int | None = None) -> Array:
        if ndigits is None:
            return _numpy.astype(_numpy.round(self), int)
        return _numpy.round(self, ndigits)

    def __lt__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.less(self, other)
        except ArgumentError:
            if _takes_over(other, "__gt__"):
                return NotImplemented
            raise

    def __le__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.less_equal(self, other)
        except ArgumentError:
            if _takes_over(other, "__ge__"):
                return NotImplemented
            raise

    def __gt__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.greater(self, other)
        except ArgumentError:
            if _takes_over(other, "__lt__"):
                return NotImplemented
            raise

    def __ge__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.greater_equal(self, other)
        except ArgumentError:
            if _takes_over(other, "__le__"):
                return NotImplemented
            raise

    # NumPy's meaning of == is elementwise, which no signature of object.__eq__ allows; what cannot
    # be compared is NotImplemented, as for any class. A list may be meant for an array: to say
    # False would hide that, so it raises, as in JAX.
    def __eq__(self, other: object) -> Array:
        if not is_array_like(other):
            if type(other) in CONTAINERS:
                as_array(other)  # raises
            return NotImplemented
        return _numpy.equal(self, other)

    def __ne__(self, other: object) -> Array:
        if not is_array_like(other):
            if type(other) in CONTAINERS:
                as_array(other)  # raises
            return NotImplemented
        return _numpy.not_equal(self, other)

    # Methods

    # These are the functions, with the array as the first argument.
    swapaxes: Final = _as_method(_numpy.swapaxes)
    squeeze: Final = _as_method(_numpy.squeeze)
    ravel: Final = _as_method(_numpy.ravel)
    sum: Final = _as_method(_numpy.sum)
    prod: Final = _as_method(_numpy.prod)
    mean: Final = _as_method(_numpy.mean)
    var: Final = _as_method(_numpy.var)
    std: Final = _as_method(_numpy.std)
    max: Final = _as_method(_numpy.max)
    min: Final = _as_method(_numpy.min)
    any: Final = _as_method(_numpy.any)
    all: Final = _as_method(_numpy.all)
    argmax: Final = _as_method(_numpy.argmax)
    argmin: Final = _as_method(_numpy.argmin)
    cumsum: Final = _as_method(_numpy.cumsum)
    cumprod: Final = _as_method(_numpy.cumprod)
    sort: Final = _as_method(_numpy.sort)
    argsort: Final = _as_method(_numpy.argsort)
    clip: Final = _as_method(_numpy.clip)
    round: Final = _as_method(_numpy.round)
    dot: Final = _as_method(_numpy.dot)
    repeat: Final = _as_method(_numpy.repeat)
    take: Final = _as_method(_numpy.take)
    ptp: Final = _as_method(_numpy.ptp)
    argpartition: Final = _as_method(_numpy.argpartition)
    trace: Final = _as_method(_numpy.trace)
    diagonal: Final = _as_method(_numpy.diagonal)
    nonzero: Final = _as_method(_numpy.nonzero)
    searchsorted: Final = _as_method(_numpy.searchsorted)
    choose: Final = _as_method(_numpy.choose)

    def astype(self, dtype: DTypeLike, copy: bool = False, device: Placement = None) -> Array:
        return _numpy.astype(self, dtype, copy=copy, device=device)

    def reshape(
        self, *shape: int | Sequence[int], order: Order = "C", out_sharding: Placement = None
    ) -> Array:
        if len(shape) == 1:
            return _numpy.reshape(self, shape[0], order, out_sharding=out_sharding)
        sizes = [integer(n, "a size in reshape") for n in shape]
        return _numpy.reshape(self, sizes, order, out_sharding=out_sharding)

    def transpose(self, *axes: int | Sequence[int] | None) -> Array:
        if not axes:
            return _numpy.transpose(self)
        if len(axes) == 1:
            only = axes[0]
            return _numpy.transpose(self, None if only is None else one_or_more(only, "axes"))
        return _numpy.transpose(self, [integer(n, "an axis of transpose") for n in axes])

    def flatten(self, order: Order = "C") -> Array:
        return _numpy.ravel(self, order)

    def conj(self) -> Array:
        return _numpy.conj(self)

    def conjugate(self) -> Array:
        return _numpy.conj(self)

    def copy(self) -> Array:
        return _numpy.copy(self)

    def item(self, *args: int | tuple[int, ...]) -> bool | int | float | complex:
        if args:
            given = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
            index = [integer(n, "an index in item") for n in given]
            flat = _numpy.ravel(self) if len(index) == 1 else self
            if any(not -n <= i < n for i, n in zip(index, flat.shape, strict=False)):
                raise IndexingError(f"item{tuple(index)} is outside of {self.aval}.")
            return _numpy.getitem(flat, tuple(index)).item()
        found: bool | int | float | complex = self._scalar(
            "a Python scalar", "use x.item(index)", True
        ).item()
        return found

    def tolist(self) -> Any:
        return self.concrete("a list").tolist()

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int, /) -> memoryview:
        if id(self) in followed or is_key(self.dtype):
            # np.asarray asks here first, hides errors of all kinds, and asks __array__ then
            raise BufferError(
                f"this array, of type {self.aval}, gives no buffer: it is of keys, or debug_nans "
                "follows its NaNs."
            )
        # ascontiguousarray would give an array without axes one
        data: Any = np.require(self.concrete("a buffer"), requirements="C")
        return memoryview(data).toreadonly()  # of a copy, too

    def tobytes(self, order: Order = "C") -> bytes:
        return self.concrete("bytes").tobytes(order)

    def to_device(self, device: Device | Sharding, *, stream: None = None) -> Array:
        """Return the array on a device, or where a sharding says, as ``tinyjax.device_put`` does.

        Raises:
            ShardingError: it cannot be there.
        """
        return put(self, device, "to_device")

    def copy_to_host_async(self) -> None:
        """Begin to copy the data to the host: on the CPU there is nothing to copy."""

    def addressable_data(self, index: int) -> Array:
        """Return the part of the array on one of its devices, by its place among them."""
        if index != 0:
            raise IndexingError(
                f"the array lies on one device, but the part on number {index} was asked for."
            )
        return self

    def block_until_ready(self) -> Array:
        """Wait until the data has been computed, and return the array itself."""
        return self

    def is_ready(self) -> bool:
        """Say whether the data has been computed."""
        return True

    def is_deleted(self) -> bool:
        """Say whether the array was deleted, or donated and its memory reused."""
        return False

    def delete(self) -> None:
        """Give up the data, which cannot be used any more.

        Raises:
            ConcretizationError: the array is traced.
        """
        self.concrete("delete")

    def on_device_size_in_bytes(self) -> int:
        """Return how many bytes the array takes on its devices, copies included."""
        return self.nbytes

    def compress(
        self,
        condition: ArrayLike,
        axis: int | None = None,
        *,
        out: None = None,
        size: int | None = None,
        fill_value: ArrayLike = 0,
    ) -> Array:
        return _numpy.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)

    def view(self, dtype: DTypeLike = None, type: None = None) -> Array:
        """Read the same bits as another dtype, by which the last axis may change its size."""
        if type is not None:
            raise ArgumentError(f"view takes a dtype, and no type of array: {type!r}.")
        return _numpy.view(self, dtype)

    def byteswap(self) -> Array:
        """Turn round the order of the bytes of every element."""
        return _numpy.byteswap(self)


def install_namespace(namespace: ModuleType) -> None:
    """Hand in the functions that the operators and methods of ``Array`` call."""
    globals().update(_numpy=namespace)


class IndexUpdater:
    """``x.at``: indexing it gives the functional updates of that part of ``x``."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    def __getitem__(self, index: Indices) -> IndexUpdate:
        return IndexUpdate(self._array, index)


class UpdateOptions(TypedDict, total=False):
    """The keyword arguments of the methods of ``x.at[index]``."""

    indices_are_sorted: bool
    unique_indices: bool
    mode: Any
    wrap_negative_indices: bool
    out_sharding: Placement


class IndexUpdate:
    """``x.at[index]``: each method returns a copy of ``x`` changed at the index.

    Where an index comes several times, every update counts, but of ``set`` only the last one, and
    ``apply`` applies its function once.

    All methods have these options. ``mode``: an index out of bounds changes nothing by default
    (``"drop"``), and the nearest element with ``"clip"``. ``indices_are_sorted`` and
    ``unique_indices``: promises that may make an update faster, and differentiable where it is not
    otherwise. ``wrap_negative_indices``: whether an index below zero counts from the end.
    ``out_sharding``: where the result is to lie.
    """

    __slots__ = ("_array", "_index")

    def __init__(self, array: Array, index: Indices) -> None:
        self._array = array
        self._index = index

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: ArrayLike | None = None,
        wrap_negative_indices: bool = True,
        out_sharding: Placement = None,
    ) -> Array:
        """Return ``x[index]``; with ``mode="fill"`` an index out of bounds gives ``fill_value``."""
        return _numpy.getitem(
            self._array,
            self._index,
            mode=mode,
            fill_value=fill_value,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            wrap_negative_indices=wrap_negative_indices,
            out_sharding=out_sharding,
        )

    def _update(self, value: Any, kind: str, options: UpdateOptions) -> Array:
        if isinstance(value, (list, tuple)):
            value = _numpy.asarray(value)
        return _numpy.update_at(self._array, self._index, value, kind, **options)

    def set(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Replace what is there."""
        return self._update(values, "set", options)

    def add(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Add to what is there."""
        return self._update(values, "add", options)

    def subtract(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Subtract from what is there."""
        return self._update(values, "sub", options)

    def multiply(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Multiply what is there."""
        return self._update(values, "mul", options)

    mul = multiply

    def divide(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Divide what is there; integers become floats."""
        return self._update(values, "div", options)

    def power(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Raise what is there to a power."""
        return self._update(values, "pow", options)

    def min(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Take the minimum with what is there."""
        return self._update(values, "min", options)

    def max(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Take the maximum with what is there."""
        return self._update(values, "max", options)

    def apply(self, func: Callable[[Array], Array], **options: Unpack[UpdateOptions]) -> Array:
        """Replace what is there by a function of it, which works element by element."""
        there = _numpy.getitem(
            self._array,
            self._index,
            wrap_negative_indices=options.get("wrap_negative_indices", True),
        )
        return self._update(func(there), "set", options)


for _name, _way in _OF_OTHER_LIBRARIES.items():
    setattr(Array, _name, _OfOtherLibraries(_name, _way))


#: What a program computes with, as ``core`` calls it.
Value = Array


class DeviceBuffer(Protocol):
    """Data on a device: what ``tinyjax.xla`` puts behind an array."""

    if TYPE_CHECKING:  # before Python 3.12 the protocol has no name at run time

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def _single_device_array_to_np_array_did_copy(self) -> tuple[HostArray, bool]: ...
    def block_until_ready(self) -> object: ...
    def is_deleted(self) -> bool: ...
    def delete(self) -> None: ...


class _GivenUp:
    """The buffer of an array that was donated to a program that was evaluated, or deleted."""

    if TYPE_CHECKING:

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def _single_device_array_to_np_array_did_copy(self) -> tuple[HostArray, bool]:
        raise BufferError("this array has been deleted")

    def is_deleted(self) -> bool:
        return True

    def delete(self) -> None:
        pass

    def block_until_ready(self) -> object:
        return self


def give_up(array: Array) -> None:
    """Forget the data of an array that was donated or deleted."""
    if isinstance(array, ConcreteArray):
        array._aval = array.aval
        array._host, array._buffer = None, _GivenUp()


def check_donated(arrays: Sequence[Array]) -> None:
    """Raise where an array was given away.

    Raises:
        DonatedArrayError: one was.
    """
    for array in arrays:
        if array.is_deleted():
            raise_donated(array)


#: What is known of arrays with NaNs, by identity, where the setting ``debug_nans`` follows them.
#: Another array with the same data is not followed, so it must be made by an operation.
followed: dict[int, object] = {}

#: Called before data is given out to the user's Python: the setting ``debug_nans`` looks at it.
on_read: list[Callable[[ConcreteArray], None]] = []


#: An argument that was not given, where None is one.
_NOT_SAID: Final = object()


def _takes_over(other: object, method: str) -> bool:
    """Say whether an operation that failed is for the other operand: no array, with a method."""
    return not is_array_like(other) and hasattr(type(other), method)


# What functions take. Here, where the classes are, so that an annotation can be read at run time,
# and as classes, so that isinstance takes it.
if TYPE_CHECKING:
    ArrayLike: TypeAlias = Array | HostArray | np.generic | bool | int | float | complex
else:
    ArrayLike = Array | np.ndarray | np.generic | bool | int | float | complex
Index: TypeAlias = (
    int | slice | EllipsisType | Array | HostArray | np.integer[Any] | np.bool_ | None
)
#: Beside others an index may be listed; alone, a list might as well mean several axes.
ListedIndex: TypeAlias = list[int] | list[bool] | list[list[int]] | tuple[int, ...] | range
Indices: TypeAlias = Index | tuple[Index | ListedIndex, ...]


class ConcreteArray(Array):
    """An array that has its data: on the host, in a device buffer, or both.

    Each side is made from the other when first needed; on CPU that copies nothing. The host array
    is never the user's own memory. ``_host``, which evaluation reads, may be writable; whatever
    leaves the array is ``host``, which is not.
    """

    __slots__ = ("__weakref__", "_aval", "_buffer", "_host", "_number")

    _host: HostArray | None
    _aval: ShapedArray | None
    #: The Python number that an operand was made of, before it was rounded; otherwise not set.
    _number: bool | int | float | complex

    def __init__(
        self,
        host: HostArray | None,
        aval: ShapedArray | None = None,
        buffer: DeviceBuffer | None = None,
    ) -> None:
        self._host = host
        self._aval = aval
        self._buffer = buffer

    @property
    def aval(self) -> ShapedArray:
        aval = self._aval
        if aval is None:
            host = self._host
            assert host is not None, "what a device buffer holds has a type"
            shape, dtype = host.shape, host.dtype
            # a call would cost as much again
            aval = self._aval = interned.get((shape, dtype, False)) or ShapedArray(shape, dtype)
        return aval

    @property
    def host(self) -> HostArray:
        """The data as a NumPy array that cannot be written to."""
        host = self._host
        if host is None:
            host = self._host = self._fetch()
        if host.flags.writeable:
            host = self._host = _sealed(host)
        return host

    def _fetch(self) -> HostArray:
        buffer = self._buffer
        assert buffer is not None, "an array holds a host array or a buffer"
        if buffer.is_deleted():
            raise_donated(self)
        return fetched(buffer, self.aval.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        host = self._host
        return self.aval.shape if host is None else host.shape

    @property
    def dtype(self) -> DType:
        host = self._host
        return self.aval.dtype if host is None else host.dtype

    @property
    def ndim(self) -> int:
        host = self._host
        return self.aval.ndim if host is None else host.ndim

    @property
    def weak_type(self) -> bool:
        return self._aval is not None and self._aval.weak_type

    def concrete(self, wanted: str) -> HostArray:
        for look in on_read:
            look(self)
        return self.host

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        for look in on_read:
            look(self)
        host = self.host
        if is_key(host.dtype):
            raise ArgumentError(
                f"keys ({self.aval}) are no numbers for a NumPy array. Use "
                "tinyjax.random.key_data(keys), which gives their words."
            )
        if (dtype is not None and np.dtype(dtype) != host.dtype) or copy:
            return np.array(host, dtype=dtype, copy=True if copy is None else copy)
        return host.view()

    def __dlpack__(
        self,
        *,
        stream: object = _NOT_SAID,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Export the data by DLPack: read-only, or as a copy if the consumer knows no read-only.

        PyTorch shares the data and lets it be written to, which changes this array: clone the
        tensor first.

        Args:
            stream: None, on CPU. A consumer that gives it is JAX, which wants elements in order;
                it does not write to what it imports, so it gets no copy of those that are.
            max_version: what the consumer understands; from version 1 on, that data is read-only.
            dl_device: where the data is wanted; only the CPU.
            copy: whether the consumer wants a copy, which it may write to.

        Raises:
            BufferError: the dtype or the device is none of DLPack's, or a copy is forbidden and
                needed.
        """
        for look in on_read:
            look(self)
        data = known(self.host)
        if stream is not _NOT_SAID and copy is not False:
            data = np.asarray(data, order="C")  # JAX takes no other strides
        if max_version is not None and max_version[0] >= 1:
            capsule = data.__dlpack__(max_version=max_version, dl_device=dl_device, copy=copy)
            return called(self.host, capsule)
        if copy or (stream is _NOT_SAID and copy is None):
            return called(self.host, np.array(data).__dlpack__())
        if stream is _NOT_SAID:
            raise BufferError(
                "this array is read-only, which cannot be said in a DLPack version below 1: let "
                "the consumer ask for max_version=(1, 0), or allow a copy."
            )
        alias = _writable_alias(data)
        return called(self.host, alias.__dlpack__(stream=stream))

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU

    def is_deleted(self) -> bool:
        return self._host is None and self._buffer is not None and self._buffer.is_deleted()

    def delete(self) -> None:
        give_up(self)

    def block_until_ready(self) -> Array:
        for look in on_read:
            look(self)
        if self._buffer is not None:
            self._buffer.block_until_ready()
        return self

    def __repr__(self) -> str:
        for look in on_read:
            look(self)
        host = self.host
        if is_key(host.dtype):
            words = host[key_tag(host.dtype)]
            return f"Array({host.shape}, dtype={dtype_name(host.dtype)}) overlaying:\n{words}"
        text = np.array2string(host, separator=", ", prefix="Array(")
        if not host.size:
            text += f", shape={host.shape}"
        weak = ", weak_type=True" if self.weak_type else ""
        return f"Array({text}, dtype={host.dtype.name}{weak})"

    def __str__(self) -> str:
        if is_key(self.dtype):
            return repr(self)
        for look in on_read:
            look(self)
        return str(self.host)

    def __format__(self, spec: str) -> str:
        if is_key(self.dtype):
            return format(repr(self), spec)
        for look in on_read:
            look(self)
        if self.shape and spec:
            raise ArgumentError(
                f"the format {spec!r} is for one number, but the array is {self.aval}. Use "
                "jnp.array_str(x, precision=2), or np.set_printoptions for all arrays."
            )
        return format(self.host if self.shape else self.host[()], spec)

    def __reduce__(self) -> tuple[Callable[..., Array], tuple[HostArray, bool]]:
        return (_rebuild, (self.host, self.weak_type))

    def copy(self) -> Array:
        """Return an array of the same data, which stays when this one is donated."""
        if id(self) in followed:  # what is known of its NaNs is known of this array alone
            return self
        return ConcreteArray(self.host, self.aval)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Array:
        return self.copy()

    def _repr_html_(self) -> str | None:
        """Show a large array in a notebook; of a small one its text says all."""
        from tinyjax.display.showing import SHORT, shown  # noqa: PLC0415 (for notebooks alone)

        if self.size <= SHORT:
            return None
        if self.is_deleted():
            return shown(str(self.aval), None, "donated: its memory has been reused")
        return shown(str(self.aval), self.host)


@attrs.frozen(eq=False, repr=False)
class Shard:
    """The part of an array that one device holds.

    Attributes:
        device: the device.
        index: which part of the array it is.
        replica_id: which of the copies of this part, counted from 0.
        data: the part, as an array on that device.
    """

    device: Device
    index: Part
    replica_id: int
    data: Array

    def __repr__(self) -> str:
        return (
            f"Shard(device={self.device!r}, index={self.index}, replica_id={self.replica_id}, "
            f"data={self.data})"
        )


def raise_donated(array: Array) -> NoReturn:
    """Say that the data of an array is gone."""
    raise DonatedArrayError(
        f"this array ({array.aval}) was donated to a compiled function, which has reused its "
        "memory, or it was deleted. Use the function's result, or do not donate the argument."
    )


def fetched(buffer: DeviceBuffer, dtype: DType) -> HostArray:
    """Return the data in a buffer, without a copy where it is the processor's."""
    try:
        host = np.asarray(memoryview(buffer))
        return host if host.dtype == dtype else of_physical(host, dtype)
    except BufferError:  # a dtype that NumPy's protocol for buffers has no letter for
        # Loads jax where it is installed, which takes longer than to start up without it.
        return buffer._single_device_array_to_np_array_did_copy()[0]


#: Puts an array on a device, or where a sharding says, for a function that messages name: handed in
#: by ``tinyjax.api``.
mover: Final[list[Callable[[Array, Placement, str], Array]]] = []


def put(x: Array, where: Placement, function: str) -> Array:
    """Return an array where an argument ``device`` or ``out_sharding`` of a function says.

    What is on the first device, as everything is that is put nowhere else, stays as it is.
    """
    if where is None or (
        is_one_of(where, (first_device(), on_first())) and x.sharding == on_first()
    ):
        return x
    return mover[0](x, where, function)


#: Lets an array's type say nothing of where it lies, handed in by ``primitives.constraint``.
hider: Final[list[Callable[[Array], Array]]] = []


def put_result(fun: Callable[..., Array], where: Placement, *args: Any, **kwargs: Any) -> Array:
    """Apply a function and put its result where an argument of it says.

    So the types of the arguments need not say how the result lies.
    """
    unsaid = tree.map(lambda x: hider[0](x) if isinstance(x, Array) else x, args)
    return put(fun(*unsaid, **kwargs), where, fun.__name__)


def placed(fun: F) -> F:
    """Decorate a function so that its result lies where its ``device`` or ``out_sharding`` says.

    The function itself leaves these arguments alone, which are given by name.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device", kwargs.get("out_sharding")) if kwargs else None
        return fun(*args, **kwargs) if where is None else put_result(fun, where, *args, **kwargs)

    stands_in: Any = imitate(call, fun)
    placing: F = stands_in
    return placing


def _sealed(host: HostArray) -> HostArray:
    """Return a read-only view that nothing makes writable: its base is no array, but a capsule."""
    dtype = host.dtype
    is_unknown = dtype in _SAME_SIZE
    try:
        view = np.from_dlpack(host.view(_SAME_SIZE[dtype]) if is_unknown else host)
    except BufferError:  # what holds no data, such as the tangents of integers
        view = host
    view.flags.writeable = False
    return view.view(dtype) if is_unknown else view


#: Dtypes that DLPack does not know, and those of the same size that it knows.
_SAME_SIZE: Final = {
    **{d: np.dtype(f"u{d.itemsize}") for d in (*FLOAT8, bfloat16)},
    **{d: PHYSICAL[d] for d in KEYS},
}


class _WritableAlias:
    """What NumPy makes an array from, on memory that is read-only elsewhere."""

    __slots__ = ("__array_interface__", "_host")

    def __init__(self, host: HostArray) -> None:
        described = host.__array_interface__
        self.__array_interface__ = described | {"data": (described["data"][0], False)}
        self._host = host


def _writable_alias(host: HostArray) -> HostArray:
    return np.asarray(_WritableAlias(host))


def _rebuild(host: HostArray, weak_type: bool) -> Array:
    return ConcreteArray(host, ShapedArray(host.shape, host.dtype, weak_type))


_PYTHON_SCALARS = (bool, int, float, complex)


def is_array_like(x: object) -> TypeGuard[ArrayLike]:
    """Say whether ``x`` is an array, a NumPy array or scalar, or a Python number."""
    return isinstance(x, (Array, np.ndarray, np.generic, *_PYTHON_SCALARS))


def scalar(
    value: bool | int | float | complex, dtype: DType, weak_type: bool = False, name: str = ""
) -> ConcreteArray:
    """Make a scalar array of a given type from a Python number; ``name`` is the function's."""
    try:
        host = np.array(value, dtype)
    except OverflowError:
        if not isinstance(value, int):  # a float's infinity
            raise
        call = f"jnp.asarray({shortened(value)}, dtype=%s)"
        raise too_wide(value, dtype, call, name) from None
    return ConcreteArray(host, ShapedArray((), dtype, weak_type))


def too_wide(value: int, dtype: DType, wider: str, name: str = "") -> NumberRangeError:
    """Make the error of an int that a dtype cannot hold.

    Args:
        value: the int.
        dtype: what it was to be converted to.
        wider: the same call with ``%s`` for another dtype.
        name: of the function, for the message.
    """
    what = f"{subject(value, name)}{shortened(value)}"
    if not settings().wide_dtypes:
        return NumberRangeError(
            f"{what} does not fit in {dtype.name}, and there are no 64-bit types: set "
            "jax_enable_x64, or tinyjax's wide_dtypes."
        )
    for other in (np.dtype(np.int64), np.dtype(np.uint64)):
        ends = np.iinfo(other)
        if ends.min <= value <= ends.max:
            advice = f"Give a wider dtype, for instance {wider % f'jnp.{other.name}'}"
            return NumberRangeError(f"{what} does not fit in {dtype.name}. {advice}.")
    advice = f"Make it a float, for instance {wider % 'float'}"
    return NumberRangeError(f"{what} does not fit in {dtype.name}, nor in 64 bits. {advice}.")


def splat(value: bool | int | float | complex | np.generic, aval: ShapedArray) -> ConcreteArray:
    """Make an array that holds one value everywhere: one element, seen through strides of zero.

    Such an array is a literal when it is staged, whatever its shape: ``x * 2.0`` is one equation.

    Raises:
        OverflowError: the value does not fit the dtype.
        ArgumentError: it is not a number.
    """
    try:
        host = np.array(value, aval.dtype)
    except InconclusiveDimensionOperation:
        raise
    except (TypeError, ValueError):
        if aval.dtype != float0:
            raise ArgumentError(f"expected a number, but got {described(value)}.") from None
        host = np.zeros((), float0)  # which has one value
    if aval.shape:
        try:
            host = np.ndarray(aval.shape, aval.dtype, host, 0, (0,) * len(aval.shape))
        except InconclusiveDimensionOperation:
            host = _without_sizes(host, aval)
    return ConcreteArray(host, aval)


#: Says whether a function is being staged (``core.trace``).
is_staging: Final[list[Callable[[], bool]]] = []


def _without_sizes(host: HostArray, aval: ShapedArray) -> HostArray:
    """Return the data of a splat whose sizes are symbolic: a literal of a program, without data."""
    if not any(staging() for staging in is_staging):
        raise InconclusiveDimensionOperation(
            f"an array of type {aval} has symbolic sizes, so it has no data. Symbolic sizes are "
            "for functions that are exported: make such arrays within one."
        )
    return _unsized(host, aval)


def literal_splat(value: np.generic, aval: ShapedArray) -> ConcreteArray:
    """Make a ``splat`` for a literal, whose sizes may be symbolic."""
    if any(isinstance(n, SymbolicSize) for n in aval.shape):
        return ConcreteArray(_unsized(np.array(value, aval.dtype), aval), aval)
    return splat(value, aval)


def _unsized(host: HostArray, aval: ShapedArray) -> HostArray:
    found = _Unsized((1,) * aval.ndim, aval.dtype, host, 0, (0,) * aval.ndim)
    found.symbolic_shape = aval.shape
    found.flags.writeable = False  # else a view would be made, without this shape
    return found


class _Unsized(np.ndarray[Any, Any]):
    """The one element of a splat with symbolic sizes; nothing else can be asked of its data.

    Attributes:
        symbolic_shape: the shape that such an array is said to have.
    """

    symbolic_shape: tuple[int, ...]

    shape: Any = property(lambda self: self.symbolic_shape)
    size: Any = property(lambda self: prod(self.symbolic_shape))

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise InconclusiveDimensionOperation(
            "the data of an array is needed whose sizes are symbolic, which has none until they "
            "are known. Compute it from an argument of the exported function, or export for sizes "
            "that are numbers."
        )

    __array_ufunc__ = __array_function__ = _refuse
    astype = reshape = copy = view = tobytes = tolist = item = _refuse
    any = all = sum = min = max = ravel = transpose = _refuse


#: Splats met before, by number, its type and theirs: a look-up takes 0.2 us where making one takes
#: 0.8 us. They are operands only: what is given out may be donated. Zeros, and complex numbers with
#: a part that is zero, stand with their signs: 0.0 and -0.0 are equal keys.
met_splats: Final[dict[tuple[object, type, ShapedArray], Array]] = {}
_MOST_MET: Final = 4096


def remember_splat(value: bool | int | float | complex, made: Array) -> Array:
    """Put a splat into ``met_splats``, which is emptied when it is full, and return it."""
    if not made.weak_type:  # beside what is weakly typed a number is promoted
        if len(met_splats) >= _MOST_MET:
            met_splats.clear()
        met_splats[splat_key(value), type(value), made.aval] = made
    return made


def splat_key(value: bool | int | float | complex) -> object:
    """What a number stands by in ``met_splats``: itself, with its signs where it has a zero."""
    if value and (type(value) is not complex or (value.real and value.imag)):
        return value
    return value, copysign(1.0, value.real), copysign(1.0, value.imag)


#: By identity, the arrays that a program being recorded is to have as parameters, whatever they
#: hold: they are neither constants nor splats.
opaque: Final[dict[int, ConcreteArray]] = {}


def is_constant(x: Array) -> TypeGuard[ConcreteArray]:
    """Say whether a program may be written for the data that an array holds."""
    return type(x) is ConcreteArray and (not opaque or id(x) not in opaque)


def is_splat(x: Array) -> TypeGuard[ConcreteArray]:
    """Say whether an array is known to hold one value everywhere: a scalar, or a ``splat``."""
    if not is_constant(x):
        return False
    host = x._host
    return not x.shape if host is None else not any(host.strides)


def first_element(host: HostArray) -> Any:
    """Return the first element as a NumPy scalar; ``flat`` would not go beyond 32 axes."""
    return host[(0,) * host.ndim]


#: Where the memory of an array starts that a transfer to a device need not copy.
_ALIGNMENT: Final = 64
#: Smaller arrays are copied in less time than it takes to find such memory.
_LEAST_ALIGNED: Final = 512 * 1024


def aligned(shape: Sequence[int], dtype: DType) -> HostArray:
    """Return memory for an array, which a transfer to a device does not copy."""
    size = prod(shape) * dtype.itemsize
    memory = np.empty(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(shape)


def copied(host: HostArray | np.generic, dtype: DType) -> HostArray:
    """Copy data; what is large in C order goes where a transfer does not copy it again."""
    if host.nbytes < _LEAST_ALIGNED or not host.flags.c_contiguous:
        return np.array(host, dtype)
    found = aligned(host.shape, dtype)
    found[...] = host
    return found


def as_array(x: object, name: str = "") -> Array:
    """Return ``x`` as an array: arrays unchanged, Python numbers weakly typed, NumPy data copied.

    Args:
        x: what the user gave.
        name: of the function that was called, for messages.

    Raises:
        ArgumentError: ``x`` is not an array or a number.
        DtypeError: ``x`` is a NumPy array of a type that arrays cannot have.
    """
    if isinstance(x, Array):
        return x
    match x:
        case np.ndarray() | np.generic():
            if type(x) is not np.ndarray and hasattr(x, "mask"):
                raise ArgumentError(
                    f"{subject(x, name)}numpy masked arrays are not supported, since the mask "
                    "would be lost: fill the gaps, x.filled(value), or pass x.data and x.mask."
                )
            if x.dtype not in _ALL and x.dtype != float0:
                raise DtypeError(
                    f"{subject(x, name)}a NumPy array of dtype {x.dtype} cannot be an array: it "
                    "must hold numbers "
                    "or bools, in the machine's byte order."
                )
            # The user may write into their array later; nothing computed from it may change.
            return ConcreteArray(copied(x, allowed(x.dtype)))
        case bool():
            return scalar(x, np.dtype(np.bool_))
        case int():
            return _of_number(x, default_int(), name)
        case float():
            return _of_number(x, default_float(), name)
        case complex():
            return _of_number(x, default_complex(), name)
        case _ if hasattr(x, "__jax_array__"):
            return as_array(x.__jax_array__(), name)
        case _:
            raise ArgumentError(
                f"{subject(x, name)}expected an array or a number, but got {type(x).__name__}: "
                f"{shortened(x)}. {_way_out(x)}"
            )


def _way_out(x: object) -> str:
    """Say what to do with a value that is not an array."""
    match x:
        case list() | tuple() | range():
            return "Convert it with jnp.asarray(...)."
        case Iterator():
            return "Make a list of its elements: jnp.array(list(...))."
        case None:
            return "Was a value forgotten?"
        case str() | bytes():
            return (
                "Arrays hold numbers and bools: encode text as integers. If it chooses what is "
                "computed, make it a static argument of jit (static_argnums, static_argnames)."
            )
        case dict():
            return "Use its values, or map a function over them with tinyjax.tree.map."
        case set() | frozenset():
            return "Make a list of its elements: jnp.array(list(...))."
        case type() | FunctionType() | BuiltinFunctionType() | MethodType() | np.ufunc():
            return "Make it a static argument of jit (static_argnums, static_argnames)."
        case _ if hasattr(x, "__array__"):
            return "Convert it with jnp.asarray(...)."
        case _:
            name = type(x).__name__
            return (
                f"Register {name} with tinyjax.tree.register_dataclass, so that its fields are "
                "seen. If it is not data, make it a static argument of jit (static_argnums, "
                "static_argnames)."
            )


def _of_number(value: int | float | complex, dtype: DType, name: str) -> ConcreteArray:
    made = scalar(value, dtype, True, name)
    made._number = value
    return made


def raw_host(x: ConcreteArray) -> HostArray:
    """The data as evaluation reads it: not to be written to, nor given out."""
    host = x._host
    return x.host if host is None else host


def given_number(x: ConcreteArray) -> HostArray:
    """The data of an array; where it was made of a Python number, that number before rounding.

    ``0.1`` beside a float64 is float64's 0.1, and not what is left of it in the default float.
    """
    number = getattr(x, "_number", None)
    return raw_host(x) if number is None else np.asarray(number)


def canonical_axis(axis: int, ndim: int, what: str = "axis") -> int:
    """Return ``axis`` counted from the front.

    Raises:
        ArgumentError: it is not an int; a bool is none.
        AxisError: it is out of range.
    """
    if type(axis) is not int:
        if isinstance(axis, bool):
            raise ArgumentError(f"{what} must be an int, but got {axis} (bool).")
        axis = integer(axis, what)
    if not -ndim <= axis < ndim:
        raise AxisError(
            f"{what} {shortened(axis)} is out of range for an array with {ndim} "
            f"{'axis' if ndim == 1 else 'axes'}: it must be in [{-ndim}, {ndim}).",
            axis,
            ndim,
        )
    return axis + ndim if axis < 0 else axis


def canonical_axes(axis: Axis, ndim: int, what: str = "axis") -> tuple[int, ...]:
    """Return sorted axes counted from the front; None means all of them.

    Raises:
        ArgumentError: one is not an int; a bool is none.
        AxisError: one is out of range or repeated.
    """
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int:
        return (canonical_axis(axis, ndim, what),)
    axes = tuple(sorted([canonical_axis(a, ndim, what) for a in one_or_more(axis, what)]))
    for a, b in pairwise(axes):
        if a == b:
            raise AxisError(f"{what} {a} is repeated in {shortened(axis)}.", a, ndim)
    return axes
