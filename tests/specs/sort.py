"""Sorting and the largest elements."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import sort as primitives_sort
from tinyjax.dtypes import HostArray


def sort(*operands: Any, **params: Any) -> Any:
    return tuple(primitives_sort.sort(operands, **params))


def jax_sort(*operands: Any, axis: int, num_keys: int = 1, is_stable: bool = True) -> Any:
    return jax.lax.sort(operands, dimension=axis, num_keys=num_keys, is_stable=is_stable)


def keys_of(x: HostArray) -> list[HostArray]:
    if dtypes.is_complex(x.dtype):
        return [x.imag, x.real]
    return [x.astype(np.float64) if dtypes.kind(x.dtype) == "f" else x]


def numpy_sort(*operands: HostArray, axis: int, num_keys: int = 1, is_stable: bool = True) -> Any:
    keys = [key for x in reversed(operands[:num_keys]) for key in keys_of(x)]
    order = np.lexsort(keys, axis)
    return tuple(np.take_along_axis(x, order, axis) for x in operands)


def numpy_top_k(x: HostArray, *, k: int) -> Any:
    order = np.argsort(-x.astype(np.float64), -1, kind="stable")[..., :k]
    return np.take_along_axis(x, order, -1), order.astype(np.int32)


# drawn from few values, so that there are ties for stability to show
FEW = ArraySpec((4, 5), low=0, high=2)

SPECS: list[Spec] = [
    Spec(
        "sort",
        primitives_sort.sort_p,
        sort,
        [
            Case(ArraySpec((7,), extremes=True), axis=0),
            Case(ArraySpec((4, 5), extremes=True), axis=0),
            Case(ArraySpec((2, 3, 4)), axis=1, is_stable=False),
            Case(ArraySpec((3, 0)), axis=1),
        ],
        numpy=numpy_sort,
        jax=jax_sort,
        dtypes="biufc",
        grad=2,
    ),
    Spec(
        "sort of several by one key",
        primitives_sort.sort_p,
        sort,
        [
            Case(FEW, ArraySpec((4, 5), "float32"), axis=1),
            Case(FEW, ArraySpec((4, 5), "int8"), ArraySpec((4, 5), "float64"), axis=0),
        ],
        numpy=numpy_sort,
        jax=jax_sort,
        dtypes="biufc",
        grad=2,
        grad_cases=(1,),
    ),
    Spec(
        "sort by several keys",
        primitives_sort.sort_p,
        sort,
        [
            Case(ArraySpec((4, 5), "int32", 0, 1), FEW, ArraySpec((4, 5)), axis=1, num_keys=2),
            Case(ArraySpec((9,), "bool"), ArraySpec((9,), extremes=True), axis=0, num_keys=2),
            Case(FEW, FEW, ArraySpec((4, 5), "int32"), axis=1, num_keys=3),
        ],
        numpy=numpy_sort,
        jax=jax_sort,
        dtypes="ifc",
        grad=2,
    ),
    Spec(
        "top_k",
        primitives_sort.top_k_p,
        primitives_sort.top_k,
        [
            Case(ArraySpec((6,)), k=2),
            Case(ArraySpec((2, 3, 5)), k=5),
            Case(ArraySpec((3, 4)), k=0),
        ],
        numpy=numpy_top_k,
        jax=jax.lax.top_k,
        dtypes="iuf",
        grad=2,
    ),
    Spec(
        "top_k of special values",
        primitives_sort.top_k_p,
        primitives_sort.top_k,
        [
            Case(np.array([0.0, -0.0, np.nan, 1.0, 1.0, -np.nan, np.inf, -np.inf, 0.0], t), k=9)
            for t in (np.float32, np.float64, np.float16, dtypes.bfloat16)
        ],
        jax=jax.lax.top_k,
    ),
]
