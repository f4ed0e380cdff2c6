"""Reductions over a window that moves."""

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._primitives import reduce_window
from tinyjax.dtypes import HostArray


def moving(name: str, reduce: Callable[..., Any]) -> Callable[..., Any]:
    def fun(x: Any, **how: Any) -> Any:
        params = reduce_window.window_params(
            name,
            x,
            how["window"],
            how.get("strides"),
            how.get("padding", "VALID"),
            how.get("base"),
            how.get("dilation"),
        )
        return reduce(x, params)

    return fun


def through_jax(
    identity: Callable[[Any], Any], computation: Callable[..., Any]
) -> Callable[..., Any]:
    def fun(x: Any, **how: Any) -> Any:
        window, strides = how["window"], how.get("strides") or (1,) * len(how["window"])
        return jax.lax.reduce_window(
            x,
            np.array(identity(x.dtype), x.dtype),
            computation,
            window,
            strides,
            how.get("padding", "VALID"),
            how.get("base"),
            how.get("dilation"),
        )

    return fun


def by_definition(ufunc: np.ufunc) -> Callable[..., HostArray]:
    """For windows without padding or dilation."""

    def fun(x: HostArray, *, window: Any, strides: Any = None) -> HostArray:
        strides = strides or (1,) * x.ndim
        shape = [(n - k) // s + 1 for n, k, s in zip(x.shape, window, strides, strict=True)]
        out = np.zeros(shape, x.dtype)
        for at in product(*map(range, shape)):
            index = tuple(
                slice(a * s, a * s + k) for a, s, k in zip(at, strides, window, strict=True)
            )
            out[at] = ufunc.reduce(x[index], axis=None)
        return out

    return fun


PLAIN: list[dict[str, Any]] = [
    {"window": (3,)},
    {"window": (2, 2), "strides": (2, 2)},
    {"window": (2, 3), "strides": (1, 2)},
    {"window": (1, 4)},
    {"window": (3, 1), "strides": (5, 1)},
]
FULL: list[dict[str, Any]] = [
    {"window": (3,), "strides": (2,), "padding": "SAME"},
    {"window": (3,), "strides": (2,), "padding": "SAME_LOWER"},
    {"window": (2, 3), "strides": (2, 1), "padding": ((1, 1), (0, 2))},
    {"window": (2, 2), "strides": (2, 1), "padding": ((1, 0), (1, 1)), "base": (2, 1)},
    {"window": (2, 2), "strides": (1, 2), "padding": ((0, 1), (1, 0)), "dilation": (2, 1)},
    {"window": (2,), "strides": (1,), "padding": ((-1, -1),)},
]


def cases(forms: list[dict[str, Any]]) -> list[Case]:
    return [Case(ArraySpec((6,) if len(f["window"]) == 1 else (4, 5)), **f) for f in forms]


def distinct(forms: list[dict[str, Any]]) -> list[Case]:
    rng = np.random.default_rng(3)
    shapes: list[tuple[int, ...]] = [(6,) if len(f["window"]) == 1 else (4, 5) for f in forms]
    return [
        Case(rng.permutation(np.linspace(-1, 1, int(np.prod(s)))).reshape(s), **f)
        for s, f in zip(shapes, forms, strict=True)
    ]


ROWS: list[tuple[str, Any, Any, Any, Any, Any]] = [
    (
        "reduce_window_sum",
        reduce_window.reduce_window_sum_p,
        reduce_window.reduce_window_sum,
        np.add,
        jax.lax.add,
        "sum",
    ),
    (
        "reduce_window_max",
        reduce_window.reduce_window_max_p,
        reduce_window.reduce_window_max,
        np.maximum,
        jax.lax.max,
        "max",
    ),
    (
        "reduce_window_min",
        reduce_window.reduce_window_min_p,
        reduce_window.reduce_window_min,
        np.minimum,
        jax.lax.min,
        "min",
    ),
]


def identity_of(kind: str) -> Callable[[Any], Any]:
    def identity(dtype: Any) -> Any:
        if kind == "sum":
            return 0
        if np.dtype(dtype).kind in "iu":
            info = np.iinfo(dtype)
            return info.min if kind == "max" else info.max
        return -np.inf if kind == "max" else np.inf

    return identity


SPECS: list[Spec] = [
    row
    for name, primitive, function, ufunc, computation, kind in ROWS
    for row in (
        Spec(
            name,
            primitive,
            moving(name, function),
            cases(PLAIN),
            numpy=by_definition(ufunc),
            dtypes=["float32", "float64", "int32", "uint8"],
            grad=0,
            tol=2,
        ),
        Spec(
            f"{name} with padding and dilation",
            primitive,
            moving(name, function),
            cases(FULL),
            jax=through_jax(identity_of(kind), computation),
            dtypes=["float32", "bfloat16"],
            tol=2,
        ),
        Spec(
            f"{name}, derivatives",
            primitive,
            moving(name, function),
            distinct([*PLAIN, *FULL]),
            grad=2,
            linear=(0,) if kind == "sum" else (),
            tol=2,
        ),
    )
]
