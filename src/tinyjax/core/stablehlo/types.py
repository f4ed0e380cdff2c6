"""Types, values and attributes of StableHLO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._base import records

#: The axes of an array in memory, the one whose elements lie next to each other first.
Layout = tuple[int, ...]

_ELEMENT_TYPES: Final[Mapping[dtypes.DType, str]] = {
    dtypes.bool_: "i1",
    **{d: f"i{d.itemsize * 8}" for d in dtypes.SIGNED},
    **{d: f"ui{d.itemsize * 8}" for d in dtypes.UNSIGNED},
    dtypes.float8_e4m3fn: "f8E4M3FN",
    dtypes.float8_e5m2: "f8E5M2",
    dtypes.float8_e4m3b11fnuz: "f8E4M3B11FNUZ",
    dtypes.float8_e4m3fnuz: "f8E4M3FNUZ",
    dtypes.float8_e5m2fnuz: "f8E5M2FNUZ",
    dtypes.float8_e3m4: "f8E3M4",
    dtypes.float8_e4m3: "f8E4M3",
    dtypes.bfloat16: "bf16",
    dtypes.float16: "f16",
    dtypes.float32: "f32",
    dtypes.float64: "f64",
    dtypes.complex64: "complex<f32>",
    dtypes.complex128: "complex<f64>",
}


@attrs.frozen(eq=False, repr=False)
class TensorType(records.Printed):
    """A shape and an element type; made by ``tensor``.

    Attributes:
        shape: the shape.
        dtype: the element type.
        text: its text in MLIR, such as ``tensor<2x3xf32>``.
    """

    shape: tuple[int, ...]
    dtype: dtypes.DType
    text: str

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


#: So many bytes 64-bit processors address. XLA ends the process where it counts more.
MOST_ELEMENTS: Final = 2**47


def check_size(shape: tuple[int, ...]) -> None:
    """Raise if there are more elements than a processor has addresses.

    Axes without elements do not count: XLA multiplies the others' sizes, and ends the process where
    the product overflows.
    """
    if prod(shape) > MOST_ELEMENTS or (0 in shape and prod(filter(None, shape)) > MOST_ELEMENTS):
        raise errors.ShapeError(
            f"an array of shape {errors.shortened(shape)} has more elements than memory has "
            "addresses."
        )


#: So many axes arrays of NumPy's have. XLA's can have more, within a compiled function.
MOST_AXES: Final = 64


def check_axes(shape: tuple[int, ...]) -> None:
    """Raise where there are more axes than an array of NumPy's can have."""
    if len(shape) > MOST_AXES:
        raise errors.ShapeError(
            f"an array of {len(shape)} axes cannot be made: NumPy's have at most {MOST_AXES}. "
            "Within a jitted function values may have more, but not what it returns."
        )


@lru_cache(maxsize=1 << 14)
def tensor(shape: tuple[int, ...], dtype: dtypes.DType) -> TensorType:
    """Return the type of a tensor.

    Raises:
        ShapeError: there are more elements than a processor has addresses.
    """
    check_size(shape)
    dims = "".join([f"{n}x" for n in shape])
    return TensorType(shape, dtype, f"tensor<{dims}{element_type(dtype)}>")


def element_type(dtype: dtypes.DType) -> str:
    """Write the type of a tensor's elements."""
    return _ELEMENT_TYPES[dtypes.PHYSICAL.get(dtype, dtype)]


@attrs.define(eq=False, repr=False)  # every operation makes one: a frozen one takes longer
class SSAValue(records.Printed):
    """A value of a function under construction: the name it has in the text, and its type."""

    name: str
    type: TensorType

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def dtype(self) -> dtypes.DType:
        return self.type.dtype

    @property
    def ndim(self) -> int:
        return len(self.type.shape)

    @property
    def size(self) -> int:
        return self.type.size


Values = Sequence[SSAValue]


# Attributes


def int_array(values: Sequence[int]) -> str:
    """Write an attribute such as ``array<i64: 0, 1>``."""
    return f"array<i64: {', '.join(map(str, values))}>" if values else "array<i64>"


def bool_array(values: Sequence[bool]) -> str:
    """Write an attribute such as ``array<i1: true, false>``."""
    return f"array<i1: {', '.join(map(boolean, values))}>" if values else "array<i1>"


def pairs(values: Sequence[tuple[int, int]]) -> str:
    """Write a dense ``n x 2`` attribute, such as padding."""
    if not values:
        return "dense<> : tensor<0x2xi64>"
    body = ", ".join(f"[{a}, {b}]" for a, b in values)
    return f"dense<[{body}]> : tensor<{len(values)}x2xi64>"


def integer(value: int, width: int = 64) -> str:
    """Write an integer attribute."""
    return f"{value} : i{width}"


def boolean(value: object) -> str:
    """Write a boolean attribute."""
    return "true" if value else "false"


def string(value: str) -> str:
    """Return a string attribute, with escapes for bytes that MLIR has no letter for."""
    plain = (chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in value.encode())
    return f'"{"".join(plain)}"'


def typed(value: dtypes.HostArray | np.generic) -> str:
    """Write a NumPy number or array as an attribute with its type; numbers must be real."""
    if isinstance(value, np.ndarray):
        return f"{dense(value)} : {tensor(value.shape, value.dtype).text}"
    if value.dtype == dtypes.bool_:
        return boolean(value)
    return f"{_element(value, value.dtype)} : {element_type(value.dtype)}"


def layout_list(layouts: Sequence[Layout]) -> str:
    """Write the layouts of several arrays."""
    texts = []
    for axes in layouts:
        dims = ", ".join(map(str, axes))
        texts.append(f"dense<{f'[{dims}]' if dims else ''}> : tensor<{len(axes)}xindex>")
    return f"[{', '.join(texts)}]"


def dense(value: dtypes.HostArray) -> str:
    """Write an array as a dense attribute without its type."""
    dtype = value.dtype
    if value.size == 0:
        return "dense<>"
    if dtypes.is_key(dtype):
        data = value if any(value.strides) else value[(0,) * value.ndim]
        return f'dense<"0x{data.tobytes().hex().upper()}">'
    if dtype == dtypes.float0:
        return "dense<false>"
    if dtype in dtypes.STORED:
        return dense(dtypes.to_physical(value))
    if not any(value.strides):  # a scalar, or one repeated
        return f"dense<{_element(value[(0,) * value.ndim], dtype)}>"
    if dtype == dtypes.bool_:
        return f"dense<{_nested(value)}>"
    return f'dense<"0x{np.ascontiguousarray(value).tobytes().hex().upper()}">'


def _element(value: dtypes.HostResult, dtype: dtypes.DType) -> str:
    if dtype == dtypes.bool_:
        return boolean(value)
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.kind == "c":
        part = dtypes.real_part(dtype)
        real, imag = np.asarray(value.real, part), np.asarray(value.imag, part)
        return f"({_element(real, part)}, {_element(imag, part)})"
    # The bits, so that every value including NaN is exact.
    return "0x" + np.asarray(value, dtype).tobytes()[::-1].hex().upper()


def _nested(value: dtypes.HostArray) -> str:
    if value.ndim == 0:
        return boolean(value)
    return "[" + ", ".join(_nested(v) for v in value) + "]"
