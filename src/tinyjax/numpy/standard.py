"""The namespace information of the array API standard, and exchange by DLPack."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

import numpy as np

from tinyjax import dtypes
from tinyjax.core import devices as dev
from tinyjax.core.values import array as arr, concrete as conc, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.dtypes import DType, HostArray, bfloat16
from tinyjax.errors import ArgumentError, DtypeError

Kind = Literal[
    "bool",
    "signed integer",
    "unsigned integer",
    "integral",
    "real floating",
    "complex floating",
    "numeric",
]

#: The names of the standard's dtypes, by kind.
_NAMES: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_TOGETHER: dict[str, tuple[str, ...]] = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}

DefaultDtypes = TypedDict(
    "DefaultDtypes",
    {"real floating": DType, "complex floating": DType, "integral": DType, "indexing": DType},
)
Capabilities = TypedDict(
    "Capabilities",
    {"boolean indexing": bool, "data-dependent shapes": bool, "max dimensions": int | None},
)


class NamespaceInfo:
    """Describe the namespace, as the array API standard defines it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> info = jnp.__array_namespace_info__()
        >>> info.default_dtypes()["real floating"]
        dtype('float32')
        >>> sorted(info.dtypes(kind="complex floating"))
        ['complex128', 'complex64']
    """

    def capabilities(self) -> Capabilities:
        """Say what holds for arrays whose values are at hand; under ``jit`` shapes are fixed."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> dev.Device:
        """Return the first device."""
        return dev.first_device()

    def devices(self) -> tuple[dev.Device, ...]:
        """Return all devices."""
        return dev.devices_on()

    def default_dtypes(self, *, device: dev.Placement = None) -> DefaultDtypes:
        """Return the dtypes that Python numbers become, as the settings say.

        Raises:
            ArgumentError: there is no such device.
        """
        _check_device(device)
        return {
            "real floating": dtypes.default_float(),
            "complex floating": dtypes.default_complex(),
            "integral": dtypes.default_int(),
            "indexing": dtypes.default_int(),
        }

    def dtypes(
        self, *, device: dev.Placement = None, kind: Kind | tuple[Kind, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes by name: all, or those of a kind or of several.

        With the setting ``wide_dtypes`` off, there are none of 64 bits.

        Raises:
            ArgumentError: there is no such device, or no such kind.
        """
        _check_device(device)
        names = tuple(_NAMES) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        result: dict[str, DType] = {}
        for name in names:
            for part in _TOGETHER.get(name, (name,)):
                if part not in _NAMES:
                    raise ArgumentError(
                        f"{name!r} is no kind of dtypes: the kinds are {[*_NAMES, *_TOGETHER]}."
                    )
                parts = [np.dtype(text) for text in _NAMES[part]]
                result |= {dtype.name: dtype for dtype in parts if dtypes.allowed(dtype) is dtype}
        return result


def _check_device(device: dev.Placement) -> None:
    """Check that there is such a device: all have the same dtypes."""
    if device is not None and not dev.is_device(device) and device != dev.plane().on_first():
        raise ArgumentError(f"there is no device {device!r}: they are {list(dev.devices_on())}.")


def __array_namespace_info__() -> NamespaceInfo:  # noqa: N807 (the standard's name)
    """Return what the array namespace can do, by the array API standard."""
    return NamespaceInfo()


class _Importing:
    """What NumPy imports in place of the user's object."""

    def __init__(self, x: Any) -> None:
        self._x = x
        self.is_bfloat16 = False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._x.__dlpack__(**options)
        code = conc.type_code(capsule)
        if code.value == conc.BFLOAT:
            code.value, self.is_bfloat16 = conc.UNSIGNED, True
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


def _imported(x: Any) -> HostArray:
    """Return the data of an object with the method ``__dlpack__``, without copying it."""
    importing = _Importing(x)
    host: HostArray = np.from_dlpack(importing)
    return host.view(bfloat16) if importing.is_bfloat16 else host


def from_dlpack(x: Any, /, *, device: dev.Placement = None, copy: bool | None = None) -> Array:
    """Make an array that shares the data of another library's array in this machine's memory.

    Nothing may write to the data afterwards; pass ``copy=True`` if something may.

    Args:
        x: an object with the methods ``__dlpack__`` and ``__dlpack_device__``.
        device: where the array is wanted; elsewhere than on the first device it is a copy.
        copy: whether to copy the data; by default it is not copied, unless it has 64 bits and there
            are no such types.

    Raises:
        ArgumentError: there is no such device, or ``x`` does not have these methods.
        DtypeError: the data has a dtype that arrays cannot have.

    Example:
        >>> import numpy as np, tinyjax.numpy as jnp
        >>> jnp.from_dlpack(np.arange(3))
        Array([0, 1, 2], dtype=int64)
    """
    if isinstance(x, Array):
        return arr.put(x.copy() if copy else x, device, "from_dlpack")
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(
            f"from_dlpack needs an object with the method __dlpack__, but got {type(x).__name__}."
        )
    try:
        host = _imported(x)
    except BufferError as error:
        raise DtypeError(f"x gives no data by DLPack: {str(error).rstrip('.')}.") from error
    if host.dtype not in dtypes.ALL:
        raise DtypeError(f"the data has the dtype {host.dtype}, which arrays cannot have.")
    copies = copy or dtypes.allowed(host.dtype) != host.dtype
    return arr.put(opd.as_array(host) if copies else ConcreteArray(host), device, "from_dlpack")
