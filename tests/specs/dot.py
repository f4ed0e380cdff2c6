"""Rows of the general dot product."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import dot
from tinyjax.dtypes import HostArray

Axes = tuple[int, ...]


def by_hand(
    x: HostArray,
    y: HostArray,
    contract: tuple[Axes, Axes],
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: Any = None,
) -> HostArray:
    """Every element as a sum of products, from the definition; floats in double precision."""
    out_dtype = x.dtype if dtype is None else np.dtype(dtype)
    wide: Any = {"f": np.float64, "c": np.complex128}.get(dtypes.kind(out_dtype), out_dtype)
    if dtypes.is_narrow_float(x.dtype) and dtypes.kind(out_dtype) == "f":
        x, y = x.astype(np.float64), y.astype(np.float64)
    left = [i for i in range(x.ndim) if i not in contract[0] + batch[0]]
    right = [i for i in range(y.ndim) if i not in contract[1] + batch[1]]
    x = x.astype(wide).transpose((*batch[0], *left, *contract[0]))
    y = y.astype(wide).transpose((*batch[1], *right, *contract[1]))
    b, m, n = len(batch[0]), len(left), len(right)
    shape = (*x.shape[:b], *x.shape[b : b + m], *y.shape[b : b + n])
    out = np.zeros(shape, wide)
    for index in np.ndindex(*shape):
        at = index[:b]
        out[index] = np.sum(x[at + index[b : b + m]] * y[at + index[b + m :]], dtype=wide)
    return out.astype(out_dtype)


def some(
    x: HostArray, y: HostArray, contract: tuple[Axes, Axes], batch: tuple[Axes, Axes] = ((), ())
) -> HostArray:
    """Of bools: whether any product holds."""
    return by_hand(x.astype(int), y.astype(int), contract, batch) > 0


def jax_dot(
    x: Any,
    y: Any,
    contract: tuple[Axes, Axes],
    batch: tuple[Axes, Axes] = ((), ()),
    dtype: Any = None,
) -> Any:
    # 16-bit operands are multiplied in float32 by both; jax rounds the products of some on the way
    preferred = x.dtype if dtype is None else dtype
    return jax.lax.dot_general(x, y, (contract, batch), preferred_element_type=preferred)


def array(*shape: int, dtype: Any = None) -> ArraySpec:
    return ArraySpec(shape, dtype, -3, 3)


CASES = [
    Case(array(3), array(3), contract=((0,), (0,))),
    Case(array(2, 3), array(3, 4), contract=((1,), (0,))),
    Case(array(3, 2), array(3, 4), contract=((0,), (0,))),
    Case(array(2, 3), array(4, 3), contract=((1,), (1,))),
    Case(array(3, 2), array(4, 3), contract=((0,), (1,))),
    Case(array(2, 3), array(3), contract=((1,), (0,))),
    Case(array(3), array(2, 3), contract=((0,), (1,))),
    Case(array(2), array(3), contract=((), ())),
    Case(array(), array(3), contract=((), ())),
    Case(array(), array(), contract=((), ())),
    Case(array(2, 3, 4), array(2, 4, 5), contract=((2,), (1,)), batch=((0,), (0,))),
    Case(array(3, 2, 4), array(4, 5, 2), contract=((2,), (0,)), batch=((1,), (2,))),
    Case(array(2, 3, 4), array(4, 2, 3), contract=((2, 0), (0, 1)), batch=((1,), (2,))),
    Case(array(2, 3, 4), array(4, 3, 5), contract=((1, 2), (1, 0))),
    Case(array(2, 3), array(2, 3), contract=((), ()), batch=((0, 1), (0, 1))),
    Case(array(2, 3), array(3, 2, 2), contract=((), ()), batch=((0, 1), (1, 0))),
    # nothing to sum, and nothing to compute
    Case(array(2, 0), array(0, 3), contract=((1,), (0,))),
    Case(array(0, 2), array(2, 3), contract=((1,), (0,))),
]

SPECS = [
    Spec(
        "dot_general",
        dot.dot_general_p,
        dot.dot_general,
        CASES,
        by_hand,
        jax=jax_dot,
        dtypes="iufc",
        grad=2,
        grad_dtypes=("float64", "complex128"),
        grad_cases=tuple(range(len(CASES))),
        linear=(0,),
        tol=2,
    ),
    Spec(
        "dot_general, linear in the right operand",
        dot.dot_general_p,
        dot.dot_general,
        CASES[:14],
        dtypes=("float64",),
        linear=(1,),
        skip=dict.fromkeys(("vmap", "jaxpr", "compiled", "compose"), "the row above does"),
    ),
    Spec(
        "dot_general, of bools",
        dot.dot_general_p,
        dot.dot_general,
        [CASES[1], CASES[10]],
        lambda x, y, contract, batch=((), ()): (
            by_hand(x.astype(int), y.astype(int), contract, batch) > 0
        ),
        jax=None,
        dtypes="b",
    ),
    Spec(
        "dot_general, with a wider result",
        dot.dot_general_p,
        dot.dot_general,
        [
            Case(
                array(2, 3, dtype=given),
                array(3, 4, dtype=given),
                contract=((1,), (0,)),
                dtype=np.dtype(wanted),
            )
            for given, wanted in (
                ("int8", "int32"),
                ("uint8", "int32"),
                (dtypes.bfloat16, "float32"),
                ("float16", "float32"),
                ("float32", "float64"),
                (dtypes.float8_e4m3fn, "float32"),
                (dtypes.float8_e5m2, "bfloat16"),
            )
        ],
        by_hand,
        jax=jax_dot,
    ),
    Spec(
        "dot_general, derivatives with a wider result",
        dot.dot_general_p,
        dot.dot_general,
        [
            Case(
                ArraySpec((2, 3), np.float32),
                ArraySpec((3, 4), np.float32),
                contract=((1,), (0,)),
                dtype=np.dtype(np.float64),
            )
        ],
        grad=2,
        skip=dict.fromkeys(("compose", "jaxpr"), "single precision, tolerances for double"),
    ),
]
