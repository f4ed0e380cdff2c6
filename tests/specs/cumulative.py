"""Running sums, products, extrema and logarithms of sums, and the recurrence behind them."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import cumulative
from tinyjax.dtypes import HostArray

FORMS = [
    {"axis": 0, "reverse": False},
    {"axis": 0, "reverse": True},
    {"axis": 1, "reverse": False},
]


def cases(*shapes: tuple[int, ...], **how: Any) -> list[Case]:
    line = [Case(ArraySpec((5,), **how), **form) for form in FORMS[:2]]
    return line + [Case(ArraySpec(shape, **how), **form) for shape in shapes for form in FORMS]


def accumulated(ufunc: np.ufunc) -> Any:
    def reference(x: HostArray, *, axis: int, reverse: bool) -> HostArray:
        wide = x.astype(np.float32) if dtypes.is_narrow_float(x.dtype) else x
        order = np.flip(wide, axis) if reverse else wide
        out = ufunc.accumulate(order, axis, dtype=wide.dtype)
        return (np.flip(out, axis) if reverse else out).astype(x.dtype)

    return reference


def recurrence(a: HostArray, b: HostArray, *, axis: int, reverse: bool) -> HostArray:
    a, b = (np.moveaxis(x, axis, 0) for x in (a, b))
    if reverse:
        a, b = a[::-1], b[::-1]
    wide = np.float32 if dtypes.is_narrow_float(b.dtype) else b.dtype
    ys = np.zeros(b.shape, wide)
    for i in range(len(b)):
        ys[i] = a[i].astype(wide) * (ys[i - 1] if i else 0) + b[i].astype(wide)
    out = ys[::-1] if reverse else ys
    return np.moveaxis(out, 0, axis).astype(b.dtype)


SPECS: list[Spec] = [
    Spec(
        "cumsum",
        cumulative.cumsum_p,
        cumulative.cumsum,
        [*cases((3, 4), (0, 2)), Case(ArraySpec((2, 3, 2)), axis=1, reverse=True)],
        numpy=accumulated(np.add),
        jax=jax.lax.cumsum,
        dtypes="iufc",
        grad=2,
        linear=(0,),
        tol=2,
    ),
    Spec(
        "cumprod",
        cumulative.cumprod_p,
        cumulative.cumprod,
        cases((3, 4), low=-1.5, high=1.5),
        numpy=accumulated(np.multiply),
        jax=jax.lax.cumprod,
        dtypes="iufc",
        grad=2,
        tol=4,
    ),
    Spec(
        "cumprod at zeros",
        cumulative.cumprod_p,
        cumulative.cumprod,
        [
            Case(np.array(x), axis=0, reverse=r)
            for x in ([2.0, 0.0, 3.0, 0.0, 4.0], [0.0, 0.0])
            for r in (False, True)
        ],
        jax=jax.lax.cumprod,
        grad=2,
    ),
    Spec(
        "cummax",
        cumulative.cummax_p,
        cumulative.cummax,
        cases((3, 4), extremes=True),
        numpy=accumulated(np.maximum),
        jax=jax.lax.cummax,
        dtypes="iufc",
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec(
        "cummin",
        cumulative.cummin_p,
        cumulative.cummin,
        cases((3, 4), extremes=True),
        numpy=accumulated(np.minimum),
        jax=jax.lax.cummin,
        dtypes="iufc",
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec(
        "cumlogsumexp",
        cumulative.cumlogsumexp_p,
        cumulative.cumlogsumexp,
        cases((3, 4), special=(1000.0, -1000.0)),
        numpy=accumulated(np.logaddexp),
        jax=jax.lax.cumlogsumexp,
        dtypes="f",
        grad=2,
    ),
    Spec(
        "cumlogsumexp of infinities",
        cumulative.cumlogsumexp_p,
        cumulative.cumlogsumexp,
        [Case(np.array([-np.inf, -np.inf, 1.0, np.inf, 2.0]), axis=0, reverse=False)],
        numpy=accumulated(np.logaddexp),
        jax=jax.lax.cumlogsumexp,
    ),
    Spec(
        "linear_recurrence",
        cumulative.linear_recurrence_p,
        cumulative.linear_recurrence,
        [
            *(Case(ArraySpec((5,)), ArraySpec((5,)), **form) for form in FORMS[:2]),
            *(Case(ArraySpec((3, 4)), ArraySpec((3, 4)), **form) for form in FORMS),
            Case(ArraySpec((3, 20)), ArraySpec((3, 20)), axis=0, reverse=True),
        ],
        numpy=recurrence,
        dtypes="fc",
        grad=2,
        linear=(1,),
        tol=4,
    ),
]
