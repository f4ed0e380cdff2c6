"""Reading the bits of elements as another type."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._primitives import bitcast as bi
from tinyjax.dtypes import HostArray


def bitcast(x: Any, *, dtype: str) -> Any:
    return bi.bitcast_convert_type(x, np.dtype(dtype))


def numpy_bitcast(x: HostArray, *, dtype: str) -> HostArray:
    wanted = np.dtype(dtype)
    if wanted.itemsize == x.dtype.itemsize:
        return x.view(wanted)
    view = (
        x.reshape(*x.shape, 1).view(wanted)
        if wanted.itemsize < x.dtype.itemsize
        else x.view(wanted)
    )
    return view if wanted.itemsize < x.dtype.itemsize else view[..., 0]


SPECS: list[Spec] = [
    Spec(
        "bitcast_convert_type",
        bi.bitcast_convert_type_p,
        bitcast,
        [
            Case(ArraySpec((2, 3), "float32", extremes=True), dtype="int32"),
            Case(ArraySpec((2, 3), "uint32"), dtype="float32"),
            Case(ArraySpec((3,), "float64"), dtype="uint16"),
            Case(ArraySpec((3, 4), "uint16"), dtype="uint64"),
            Case(ArraySpec((2,), "uint8"), dtype="int16"),
            Case(ArraySpec((), "float16"), dtype="int16"),
        ],
        numpy=numpy_bitcast,
        jax=lambda x, dtype: jax.lax.bitcast_convert_type(x, np.dtype(dtype)),
        dtypes=["float32"],
    ),
]
