"""Arrays: the values that programs compute with.

``Array`` is the interface for user code: a shape, a dtype, operators and methods. A
``ConcreteArray`` (``core.values.concrete``) holds data, on the host, on a device, or both. A tracer
(``core.tracing.trace``) represents data while a transformation runs. Both are immutable.

The operators and methods do the same as the function of the same name in ``tinyjax.numpy``. That
package is built on this one, so it is passed in (``install_namespace``) rather than imported.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from types import EllipsisType, MethodType, ModuleType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    NoReturn,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeGuard,
    Unpack,
)

import numpy as np

from tinyjax._base.frames import discards_result
from tinyjax.core.devices import Default, Device, Placement, first_device, ops
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.integers import integer, one_or_more
from tinyjax.dtypes import STORED, DType, DTypeLike, HostArray, is_key
from tinyjax.errors import ArgumentError, IndexingError, RefError

if TYPE_CHECKING:
    # a stub, generated from the functions that are passed in, some of which are methods
    import tinyjax.core.values.functions as _numpy
    from tinyjax.core import device_types

    _Methods = _numpy.Methods
else:
    _Methods = object

_role = "passes on"  # see ``frames.Role``

Order: TypeAlias = Literal["C", "F"]
CONTAINERS: Final = frozenset((list, tuple, set, dict))

#: The methods that are functions of ``tinyjax.numpy``, with the array as the first argument.
METHODS: Final = """
    swapaxes squeeze ravel sum prod mean var std max min any all argmax argmin cumsum
    cumprod sort argsort clip round dot repeat take ptp argpartition trace diagonal nonzero
    searchsorted choose
""".split()  # noqa: SIM905 (names with blanks between them, as in the tables of exports)


#: The operators of two operands, the functions of ``tinyjax.numpy`` that they are, and what Python
#: asks the second operand for where the first does not know it.
OPERATORS: Final = {
    "__add__": ("add", "__radd__"),
    "__sub__": ("subtract", "__rsub__"),
    "__mul__": ("multiply", "__rmul__"),
    "__truediv__": ("true_divide", "__rtruediv__"),
    "__floordiv__": ("floor_divide", "__rfloordiv__"),
    "__mod__": ("remainder", "__rmod__"),
    "__pow__": ("power", "__rpow__"),
    "__matmul__": ("matmul", "__rmatmul__"),
    "__and__": ("bitwise_and", "__rand__"),
    "__or__": ("bitwise_or", "__ror__"),
    "__xor__": ("bitwise_xor", "__rxor__"),
    "__lshift__": ("left_shift", "__rlshift__"),
    "__rshift__": ("right_shift", "__rrshift__"),
    "__lt__": ("less", "__gt__"),
    "__le__": ("less_equal", "__ge__"),
    "__gt__": ("greater", "__lt__"),
    "__ge__": ("greater_equal", "__le__"),
}


class _Method:
    """A method that is a function of ``tinyjax.numpy``, found when it is first used.

    Args:
        name: the method's.
        function: the function's.
        make: makes the method of the function.
    """

    def __init__(
        self, name: str, function: str, make: Callable[[Any], Callable[..., Any]] = lambda f: f
    ) -> None:
        self._name, self._function, self._make = name, function, make

    def __get__(self, array: Array | None, owner: type) -> Callable[..., Any]:
        method = self._make(getattr(_numpy, self._function))
        setattr(Array, self._name, method)
        return method if array is None else MethodType(method, array)


def _operator(name: str, other_name: str) -> Callable[[Any], Callable[..., Any]]:
    """Return a maker of an operator from a function, which defers to other operand classes."""

    def make(function: Callable[[Any, Any], Array]) -> Callable[..., Any]:
        def operator(self: Array, other: ArrayLike) -> Any:
            try:
                return function(self, other)
            except ArgumentError:
                if _takes_over(self, other, other_name):
                    return NotImplemented
                raise

        return _as_method(operator, name)

    return make


def _reflected(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Return a maker of the reflected operator, where an array is the second operand."""

    def make(function: Callable[[Any, Any], Array]) -> Callable[..., Any]:
        def operator(self: Array, other: ArrayLike) -> Array:
            return function(other, self)

        return _as_method(operator, name)

    return make


def _as_method(function: Any, name: str) -> Callable[..., Any]:
    """Name a function as if it had been defined in the class, for tracebacks and messages."""
    qualified = f"Array.{name}"
    function.__name__, function.__qualname__ = name, qualified
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=qualified)
    method: Callable[..., Any] = function
    return method


def _in_place(name: str) -> Callable[[Any], Callable[..., Any]]:
    """Return a maker of a method that changes NumPy's arrays and returns another array here."""

    def make(function: Callable[..., Array]) -> Callable[..., Any]:
        @wraps(function)
        def method(self: Array, *args: Any, **kwargs: Any) -> Array:
            result = function(self, *args, **kwargs)
            if discards_result(sys._getframe(1), name):
                raise ArgumentError(
                    f"x.{name}() as a statement changes NumPy's arrays, but arrays are immutable: "
                    f"write x = x.{name}()."
                )
            return result

        return method

    return make


#: What to write in place of an attribute that arrays of NumPy or PyTorch have.
_OF_OTHER_LIBRARIES: Final = {
    "append": "Arrays have a fixed size: jnp.append(x, y) makes a longer one.",
    "backward": "Differentiate a function: tinyjax.grad(f)(x).",
    "clone": "Arrays are immutable, so there is no need for copies.",
    "cuda": "Put it on a GPU: tinyjax.device_put(x, tinyjax.devices('gpu')[0]).",
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
    """An attribute that arrays lack, whose error names the replacement.

    ``__getattr__`` could raise this error too. But NumPy looks up names that arrays lack whenever
    it reads one, and a ``__getattr__`` would make that five times as slow.
    """

    def __init__(self, name: str, way_out: str) -> None:
        self._name, self._way_out = name, way_out

    def __get__(self, array: Array | None, owner: type) -> NoReturn:
        text = f"'{owner.__name__}' object has no attribute '{self._name}'. {self._way_out}"
        raise AttributeError(text, name=self._name, obj=owner if array is None else array)


class Array(_Methods):
    """An immutable n-dimensional array: data, or a tracer that represents it.

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

    def concrete(self, purpose: str) -> HostArray:
        """Return the data on the host; raise where only the type is known, naming ``purpose``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.arange(3).concrete("a histogram")
            array([0, 1, 2], dtype=int32)
        """
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> HostArray:
        raise NotImplementedError

    # Attributes

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self.aval.dtype

    @property
    def weak_type(self) -> bool:
        """Return whether the dtype gives way to that of another operand, as a Python number's."""
        return self.aval.weak_type

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def T(self) -> Array:
        """The array with its axes in reverse order."""
        return _numpy.transpose(self)

    @property
    def mT(self) -> Array:
        """The array with its last two axes exchanged."""
        return _numpy.matrix_transpose(self)

    @property
    def real(self) -> Array:
        """The real part; of a real array, the array itself."""
        return _numpy.real(self)

    @property
    def imag(self) -> Array:
        """The imaginary part; of a real array, zeros."""
        return _numpy.imag(self)

    @property
    def flat(self) -> Array:
        """The elements in order, as an array with one axis."""
        return _numpy.ravel(self)

    @property
    def device(self) -> Device:
        """The device of the array."""
        return first_device()

    @property
    def sharding(self) -> device_types.Sharding:
        """The sharding of the array: whole on the first device, unless it was put elsewhere."""
        sharding: device_types.Sharding = ops().on_first()
        return sharding

    @property
    def format(self) -> device_types.Format:
        """The layout and sharding of the array, with the last axis' elements side by side."""
        layout: device_types.Format = ops().format_of(self)
        return layout

    @property
    def committed(self) -> bool:
        """Return whether the array was put elsewhere than on the first device."""
        return False

    @property
    def is_fully_addressable(self) -> bool:
        """Return whether all of the array lies on devices of this process."""
        return True

    @property
    def addressable_shards(self) -> list[device_types.Shard]:
        """The part of the array on each device of this process."""
        shards: list[device_types.Shard] = ops().shards_of(self)
        return shards

    @property
    def global_shards(self) -> list[device_types.Shard]:
        """The part of the array on each device."""
        return self.addressable_shards

    @property
    def is_fully_replicated(self) -> bool:
        """Return whether each device that holds a part of the array holds all of it."""
        return True

    def devices(self) -> set[Device]:
        """Return the devices that hold the array.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> jnp.ones(2).devices() == {tinyjax.devices()[0]}
            True
        """
        return {first_device()}

    def platform(self) -> str:
        """Return the platform of these devices: "cpu" or "gpu".

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.ones(2).platform()
            'cpu'
        """
        return next(iter(self.devices())).platform

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
            raise ArgumentError("iteration over a 0-d array, which has no axes.")
        return (_numpy.getitem(self, i) for i in range(self.shape[0]))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name not in _OF_OTHER_LIBRARIES]

    def __contains__(self, x: ArrayLike) -> bool:
        if not self.shape:
            raise ArgumentError(
                "'in' looks for an element of an array, but this is a 0-d array, which has no axes "
                "to look along: use x == y."
            )
        return bool(_numpy.any(_numpy.equal(self, x)))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """Return the module of functions on arrays, by the standard of array libraries.

        Raises:
            ArgumentError: it is of another version than the requested one.
        """
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ArgumentError(f"there is no array namespace of the version {api_version!r}.")
        return _numpy

    def __bool__(self) -> bool:
        return bool(self._scalar("a Python bool", "use jnp.where, jnp.any or jnp.all", True))

    def __int__(self) -> int:
        return int(self._real_scalar("a Python int", "use .astype(int)"))

    def __floor__(self) -> int:
        result: int = math.floor(self._scalar("a Python int", "use jnp.floor"))
        return result

    def __ceil__(self) -> int:
        result: int = math.ceil(self._scalar("a Python int", "use jnp.ceil"))
        return result

    def __trunc__(self) -> int:
        return int(self)

    def __float__(self) -> float:
        return float(self._real_scalar("a Python float", "use .astype(float)"))

    def __complex__(self) -> complex:
        return complex(self._scalar("a Python complex", "use .astype(complex)"))

    def __index__(self) -> int:
        if (self.dtype.kind not in "iu" and self.dtype not in STORED) or self.shape:
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

    # Operators, besides those of OPERATORS

    def __rmul__(self, other: ArrayLike) -> Array:
        try:
            return _numpy.multiply(other, self)
        except ArgumentError:
            if isinstance(other, str | bytes):  # Python repeats it
                return NotImplemented
            raise

    def __divmod__(self, other: ArrayLike) -> tuple[Array, Array]:
        try:
            return _numpy.floor_divide(self, other), _numpy.remainder(self, other)
        except ArgumentError:
            if _takes_over(self, other, "__rdivmod__"):
                return NotImplemented
            raise

    def __rdivmod__(self, other: ArrayLike) -> tuple[Array, Array]:
        return _numpy.floor_divide(other, self), _numpy.remainder(other, self)

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

    # NumPy's meaning of == is elementwise, which no signature of object.__eq__ allows; what cannot
    # be compared is NotImplemented, as for any class. A list may be meant for an array: to say
    # False would hide that, so it raises, as in JAX.
    def __eq__(self, other: Any) -> Array:
        if is_array_like(other) or type(other) in CONTAINERS:
            try:
                return _numpy.equal(self, other)
            except ArgumentError:
                if not _takes_over(self, other, "__eq__"):
                    raise
        result: Array = _equality(_numpy.equal, self, other)
        return result

    def __ne__(self, other: Any) -> Array:
        if is_array_like(other) or type(other) in CONTAINERS:
            try:
                return _numpy.not_equal(self, other)
            except ArgumentError:
                if not _takes_over(self, other, "__ne__"):
                    raise
        result: Array = _equality(_numpy.not_equal, self, other)
        return result

    # Methods

    def astype(self, dtype: DTypeLike, copy: bool = False, device: Placement = None) -> Array:
        """Return the array in another dtype, as ``tinyjax.numpy.astype`` does.

        Floats become integers by cutting off the fraction, within the ends of the dtype; complex
        numbers lose their imaginary part. No derivative passes through integers.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1.7, -1.7, 1e30]).astype(jnp.int8)
            Array([  1,  -1, 127], dtype=int8)
        """
        return _numpy.astype(self, dtype, copy=copy, device=device)

    def reshape(
        self, *shape: int | Sequence[int], order: Order = "C", out_sharding: Placement = None
    ) -> Array:
        """Return the elements in another shape, given as one tuple or as several numbers.

        One size may be -1, and follows from the others. The last axis runs fastest (``order="C"``)
        or the first (``"F"``).

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.arange(6).reshape(2, -1)
            Array([[0, 1, 2],
                   [3, 4, 5]], dtype=int32)
        """
        if len(shape) == 1:
            return _numpy.reshape(self, shape[0], order, out_sharding=out_sharding)
        sizes = [integer(n, "a size in reshape") for n in shape]
        return _numpy.reshape(self, sizes, order, out_sharding=out_sharding)

    def transpose(self, *axes: int | Sequence[int] | None) -> Array:
        """Return the array with its axes in reverse, or in the order that a tuple or numbers give.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.zeros((2, 3, 4))
            >>> x.transpose().shape, x.transpose(1, 0, 2).shape
            ((4, 3, 2), (3, 2, 4))
        """
        if not axes:
            return _numpy.transpose(self)
        if len(axes) == 1:
            only = axes[0]
            return _numpy.transpose(self, None if only is None else one_or_more(only, "axes"))
        return _numpy.transpose(self, [integer(n, "an axis of transpose") for n in axes])

    def flatten(self, order: Order = "C") -> Array:
        """Return the elements along one axis, row by row; with ``"F"``, column by column.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([[1, 2], [3, 4]]).flatten("F")
            Array([1, 3, 2, 4], dtype=int32)
        """
        return _numpy.ravel(self, order)

    def conj(self) -> Array:
        """Return the complex conjugate; real numbers stay as they are.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1 + 2j]).conj()
            Array([1.-2.j], dtype=complex64)
        """
        return _numpy.conj(self)

    def conjugate(self) -> Array:
        """Return the complex conjugate: ``conj`` by its longer name.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1 + 2j]).conjugate()
            Array([1.-2.j], dtype=complex64)
        """
        return _numpy.conj(self)

    def copy(self) -> Array:
        """Return another array with the same elements.

        Arrays are immutable, so it is seldom needed. The copy remains valid when the original is
        deleted or donated.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.ones(2)
            >>> y = x.copy()
            >>> x.delete()
            >>> y
            Array([1., 1.], dtype=float32)
        """
        return _numpy.copy(self)

    def __copy__(self) -> Array:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Array:
        return self.copy()

    def item(self, *args: int | tuple[int, ...]) -> Any:
        """Return an element as a Python number: that at an index, or the only one.

        Its class depends on the dtype, which type checkers do not know.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([[5, 6], [7, 8]]).item(1, 0), jnp.float32(0.5).item()
            (7, 0.5)
        """
        if args:
            indices = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
            index = [integer(n, "an index in item") for n in indices]
            flat = _numpy.ravel(self) if len(index) == 1 else self
            if any(not -n <= i < n for i, n in zip(index, flat.shape, strict=False)):
                raise IndexingError(f"item{tuple(index)} is outside of {self.aval}.")
            return _numpy.getitem(flat, tuple(index)).item()
        return self._scalar("a Python scalar", "use x.item(index)", True).item()

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers.

        An array without axes gives a number.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([[1, 2], [3, 4]]).tolist(), jnp.float32(0.5).tolist()
            ([[1, 2], [3, 4]], 0.5)
        """
        return self.concrete("a list").tolist()

    def to_numpy(self) -> HostArray:
        """Return the elements as a NumPy array that cannot be written to, as ``np.asarray`` does.

        matplotlib looks for this method, which pandas' objects have. Without it a matrix is a
        sequence of rows to ``plt.hist`` and ``plt.boxplot``, which draw its columns.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.arange(3).to_numpy()
            >>> type(x).__name__, x.flags.writeable
            ('ndarray', False)
        """
        return np.asarray(self)

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __buffer__(self, flags: int, /) -> memoryview:
        if id(self) in followed or is_key(self.dtype):
            # np.asarray asks here first, hides errors of all kinds, and asks __array__ then
            raise BufferError(
                f"this array, of type {self.aval}, gives no buffer: it is of keys, or debug_nans "
                "follows its NaNs."
            )
        if self.dtype.isbuiltin == 2:  # another library has registered it with NumPy
            raise BufferError(
                f"Python's buffers have no type {self.dtype.name}: show the bits, by "
                f"memoryview(np.asarray(x).view(np.uint{8 * self.dtype.itemsize}))."
            )
        data: Any = self.concrete("a buffer")
        if not data.flags.c_contiguous:
            array: Any = self
            data = array.__array__()  # which puts the data into order once for all
        return memoryview(data).toreadonly()  # of a copy, too

    def tobytes(self, order: Order = "C") -> bytes:
        r"""Return the bytes of the elements, in the order of rows or of columns (``"F"``).

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1, 2], jnp.uint16).tobytes()
            b'\x01\x00\x02\x00'
        """
        return self.concrete("bytes").tobytes(order)

    def to_device(self, device: Device | device_types.Sharding, *, stream: None = None) -> Array:
        """Return the array on a device, or where a sharding says, as ``tinyjax.device_put`` does.

        Raises:
            ShardingError: it cannot be there.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> x = jnp.ones(2).to_device(tinyjax.devices()[0])
            >>> x.committed
            False
        """
        return put(self, device, "to_device")

    def copy_to_host_async(self) -> None:
        """Begin to copy the data to the host: on the CPU there is nothing to copy.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.ones(2).copy_to_host_async()
        """

    def addressable_data(self, index: int) -> Array:
        """Return the part of the array on one of its devices, by its place among them.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.arange(3).addressable_data(0)
            Array([0, 1, 2], dtype=int32)
        """
        if index != 0:
            raise IndexingError(
                f"the array lies on one device, but the part on number {index} was asked for."
            )
        return self

    def block_until_ready(self) -> Array:
        """Wait until the data has been computed, and return the array itself.

        Compiled programs may still run when a call returns. Measure time with it; reading numbers
        waits by itself.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> tinyjax.jit(lambda x: x + 1)(jnp.ones(2)).block_until_ready()
            Array([2., 2.], dtype=float32)
        """
        return self

    def is_ready(self) -> bool:
        """Return whether the data has been computed.

        It never waits.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.ones(2).block_until_ready().is_ready()
            True
        """
        return True

    def is_deleted(self) -> bool:
        """Return whether the array was deleted, or donated and its memory reused.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.ones(2)
            >>> x.delete()
            >>> x.is_deleted()
            True
        """
        return False

    def delete(self) -> None:
        """Give up the data, which cannot be used any more.

        The memory is free as soon as nothing else uses it.

        Raises:
            ConcretizationError: the array is traced.

        Example:
            >>> import tinyjax, tinyjax.numpy as jnp
            >>> x = jnp.ones(2)
            >>> x.delete()
            >>> try:
            ...     x + 1
            ... except tinyjax.errors.DonatedArrayError:
            ...     print("it was deleted")
            it was deleted
        """
        self.concrete("delete")

    def unsafe_buffer_pointer(self) -> int:
        """Return the address in memory of the first element; the others follow in order.

        The data stays there as long as this array lives and is not donated. Nothing may be written
        there: other arrays may share it.

        Raises:
            ConcretizationError: the array is traced.
            ShardingError: the array lies on several devices.

        Example:
            >>> import ctypes
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.array([1.5, 2.5])
            >>> ctypes.c_float.from_address(x.unsafe_buffer_pointer()).value
            1.5
        """
        return int(self.concrete("unsafe_buffer_pointer").ctypes.data)

    def on_device_size_in_bytes(self) -> int:
        """Return how many bytes the array takes on its devices, copies included.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.ones((2, 3), jnp.float16).on_device_size_in_bytes()
            12
        """
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
        """Take the slices along an axis for which a condition holds: ``tinyjax.numpy.compress``.

        Without ``axis`` they are elements of the flattened array. Under ``jit`` give ``size``,
        since shapes cannot depend on data.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.array([[1, 2], [3, 4]])
            >>> x.compress(jnp.array([False, True]), axis=1)
            Array([[2],
                   [4]], dtype=int32)
        """
        return _numpy.compress(condition, self, axis, out=out, size=size, fill_value=fill_value)

    def view(self, dtype: DTypeLike = None, type: None = None) -> Array:
        """Read the same bits as another dtype, by which the last axis may change its size.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1.0], jnp.float32).view(jnp.uint8)
            Array([  0,   0, 128,  63], dtype=uint8)
        """
        if type is not None:
            raise ArgumentError(f"view takes a dtype, and no type of array: {type!r}.")
        return _numpy.view(self, dtype)

    def byteswap(self) -> Array:
        """Turn round the order of the bytes of every element.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([1, 256], jnp.uint16).byteswap()
            Array([256,   1], dtype=uint16)
        """
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


class ReadOptions(UpdateOptions, total=False):
    """Those of ``get``."""

    fill_value: ArrayLike | None


class IndexUpdate:
    """``x.at[index]``: each method returns a copy of ``x`` changed at the index.

    If an index occurs several times, every update counts. But ``set`` keeps the last one only, and
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

    def get(self, **options: Unpack[ReadOptions]) -> Array:
        """Return ``x[index]``; with ``mode="fill"`` an index out of bounds gives ``fill_value``.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.array([1.0, 2.0, 3.0])
            >>> x.at[jnp.array([0, 7])].get(mode="fill", fill_value=-1.0)
            Array([ 1., -1.], dtype=float32)
        """
        return _numpy.getitem(self._array, self._index, **options)

    def _update(self, value: Any, kind: str, options: UpdateOptions) -> Array:
        if isinstance(value, (list, tuple)):
            value = _numpy.asarray(value)
        return _numpy.update_at(self._array, self._index, value, kind, **options)

    def set(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Replace the elements.

        The value broadcasts and takes the array's dtype. The derivative with respect to what is
        replaced is 0.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> x = jnp.zeros((2, 3))
            >>> x.at[0, 1:].set(5.0)
            Array([[0., 5., 5.],
                   [0., 0., 0.]], dtype=float32)
        """
        return self._update(values, "set", options)

    def add(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Add to the elements.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.zeros(3).at[jnp.array([0, 0, 2])].add(1.0)
            Array([2., 0., 1.], dtype=float32)
        """
        return self._update(values, "add", options)

    def subtract(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Subtract from the elements.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5, 6]).at[1].subtract(2)
            Array([5, 4], dtype=int32)
        """
        return self._update(values, "sub", options)

    def multiply(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Multiply the elements.

        ``mul`` is the same.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5, 6]).at[:].multiply(jnp.array([2, 3]))
            Array([10, 18], dtype=int32)
        """
        return self._update(values, "mul", options)

    mul = multiply

    def divide(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Divide the elements; integers become floats.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5.0, 6.0]).at[1].divide(4.0)
            Array([5. , 1.5], dtype=float32)
        """
        return self._update(values, "div", options)

    def power(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Raise the elements to a power.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5.0, 6.0]).at[0].power(2.0)
            Array([25.,  6.], dtype=float32)
        """
        return self._update(values, "pow", options)

    def min(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Take the minimum with the elements.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5, 6]).at[:].min(jnp.array([3, 9]))
            Array([3, 6], dtype=int32)
        """
        return self._update(values, "min", options)

    def max(self, values: ArrayLike, **options: Unpack[UpdateOptions]) -> Array:
        """Take the maximum with the elements.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([5, 6]).at[:].max(jnp.array([3, 9]))
            Array([5, 9], dtype=int32)
        """
        return self._update(values, "max", options)

    def apply(self, func: Callable[[Array], Array], **options: Unpack[UpdateOptions]) -> Array:
        """Replace the elements by an elementwise function of them.

        Example:
            >>> import tinyjax.numpy as jnp
            >>> jnp.array([0.0, 1.0]).at[1].apply(jnp.exp).round(3)
            Array([0.   , 2.718], dtype=float32)
        """
        there = _numpy.getitem(
            self._array,
            self._index,
            mode=options.get("mode") and "clip",
            wrap_negative_indices=options.get("wrap_negative_indices", True),
        )
        return self._update(func(there), "set", options)


for _name in METHODS:
    setattr(Array, _name, _Method(_name, _name))
for _name in ("sort",):  # the methods that change NumPy's arrays
    setattr(Array, _name, _Method(_name, _name, _in_place(_name)))
for _name, (_function, _other) in OPERATORS.items():
    setattr(Array, _name, _Method(_name, _function, _operator(_name, _other)))
    if _other not in OPERATORS and _other not in vars(Array):
        setattr(Array, _other, _Method(_other, _function, _reflected(_other)))
for _name, _way in _OF_OTHER_LIBRARIES.items():
    setattr(Array, _name, _OfOtherLibraries(_name, _way))


#: What a program computes with, as ``core`` calls it.
Value = Array


class DeviceBuffer(Protocol):
    """Data on a device, to which ``tinyjax.core.xla`` gives its implementation."""

    if TYPE_CHECKING:  # before Python 3.12 the protocol has no name at run time

        def __buffer__(self, flags: int, /) -> memoryview: ...

    def _single_device_array_to_np_array_did_copy(self) -> tuple[HostArray, bool]: ...
    def block_until_ready(self) -> object: ...
    def is_ready(self) -> bool: ...
    def is_deleted(self) -> bool: ...
    def delete(self) -> None: ...


#: What is known of arrays with NaNs, by identity, where the setting ``debug_nans`` follows them.
#: Another array with the same data is not followed, so it must be made by an operation.
followed: dict[int, object] = {}


def has_own_semantics(kind: type) -> bool:
    """Return whether a class of NumPy's arrays, or of numbers, is more than data.

    It has protocols, operators or methods of its own: for units, masks, labels, matrix products.
    """
    if kind not in _semantics:
        base = next((x for x in kind.__mro__ if x in _PLAIN_ARRAYS), None)
        names = vars(np.ndarray).keys() - _OF_OBJECTS
        _semantics[kind] = (
            hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__")
            if base is None  # a scalar
            else any(getattr(kind, name) is not getattr(base, name) for name in names)
        )
    return _semantics[kind]


_semantics: Final[dict[type, bool]] = {}
_PLAIN_ARRAYS: Final = (np.memmap, np.recarray, np.ndarray)
#: What a class of arrays may define without a change to what it computes.
_OF_OBJECTS: Final = frozenset(
    """
    __array_finalize__ __array_priority__ __class_getitem__ __copy__ __deepcopy__ __doc__ __format__
    __hash__ __new__ __reduce__ __reduce_ex__ __repr__ __setstate__ __sizeof__ __str__
    """.split()  # noqa: SIM905 (names with blanks between them)
)


def _takes_over(x: Array, other: Any, method: str) -> bool:
    """Return whether an operation that failed is for the other operand, which has a method."""
    kind: Any = type(other)
    if not is_array_like(other):
        return kind not in CONTAINERS and hasattr(kind, method)
    if isinstance(other, Array) or not has_own_semantics(kind):
        return False
    if getattr(kind, method, None) is not getattr(np.ndarray, method):
        return True
    # NumPy's method passes it on to the protocol, unless the other class comes first
    priority: float = getattr(other, "__array_priority__", 0.0)
    comes_first = hasattr(x, "__array_ufunc__") or priority > x.__array_priority__
    return comes_first and kind.__array_ufunc__ is not np.ndarray.__array_ufunc__


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


def put(x: Any, where: Placement, function: str) -> Array:
    """Return an array where an argument ``device`` or ``out_sharding`` of a function says.

    Args:
        x: an array; or NumPy's data, where some default device is another than the processor's.
        where: the argument's value.
        function: the function, for messages.
    """
    if where is None:
        made: Array = ops().put_made(x) if Default.moved else x
        return made
    placed: Array = ops().put(x, where, function)
    return placed


_ARRAY_LIKE = (Array, np.ndarray, np.generic, bool, int, float, complex)


def _equality(compare: Callable[[Any, Any], Array], x: Array, other: object) -> Any:
    """Compare with an object of another class, which may represent an array."""
    kind = type(other)
    if hasattr(kind, "__array__") and kind.__eq__ is object.__eq__:
        return compare(x, other)  # which says how to convert it
    if hasattr(kind, "__jax_array__"):
        try:
            return compare(x, other)
        except RefError:  # it is none, but has one
            pass
    return NotImplemented


def is_array_like(x: object) -> TypeGuard[ArrayLike]:
    """Return whether ``x`` is an array, a NumPy array or scalar, or a Python number."""
    return isinstance(x, _ARRAY_LIKE)
