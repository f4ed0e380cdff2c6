"""Rows for callbacks."""

from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import debug, error_if, io_callback, pure_callback
from tinyjax._extensions import callbacks
from tinyjax.core.values.array import Array
from tinyjax.experimental.checkify import debug_check
from tinyjax.experimental.checkify.discharge import check_p
from tinyjax.numpy import cos, sum


def host_sin(x: Any) -> Any:
    return np.sin(x).astype(x.dtype)


def checks(x: Array) -> Array:
    debug_check(sum(x) < 0, "it is {}", x)
    return x + 0


def nothing(*_: Any) -> None:
    pass


def sin_derivative(xs: Any, tangents: Any) -> Any:
    return cos(xs[0]) * tangents[0]


def sin_on_host(x: Array, method: Any) -> Any:
    return pure_callback(host_sin, x, x, vmap_method=method, derivative=sin_derivative)


def sorts_on_host(x: Array) -> Any:
    return io_callback(np.sort, x, x)


def watched(x: Array, ordered: bool) -> Array:
    debug.callback(nothing, x, ordered=ordered)
    return x


def sin_in_jax(x: Any, method: str) -> Any:
    return jax.numpy.sin(x)


SPECS = [
    Spec(
        "pure_callback",
        callbacks.pure_callback_p,
        sin_on_host,
        [
            Case(ArraySpec((3,)), method="sequential"),
            Case(ArraySpec(()), method="sequential"),
            Case(ArraySpec((2, 0)), method="sequential"),
            Case(ArraySpec((2, 3)), method="expand_dims"),
            Case(ArraySpec((2,)), method="broadcast_all"),
        ],
        numpy=lambda x, method: host_sin(x),
        jax=sin_in_jax,
        dtypes=("float32", "float64"),
        grad=2,
    ),
    Spec(
        "io_callback",
        callbacks.io_callback_p,
        sorts_on_host,
        [Case(ArraySpec((4,))), Case(ArraySpec((2, 3)))],
        numpy=np.sort,
        jax=jax.numpy.sort,
        dtypes="bifu",
        skip={"compose": "it has no derivative"},
    ),
    Spec(
        "debug_callback",
        callbacks.debug_callback_p,
        watched,
        [Case(ArraySpec((2, 3)), ordered=True), Case(ArraySpec(()), ordered=False)],
        numpy=lambda x, ordered: x,
        dtypes="biufc",
        grad=1,
        linear=(0,),
    ),
    Spec(
        "check",
        check_p,
        checks,
        [Case(ArraySpec((2, 3))), Case(ArraySpec(()))],
        numpy=lambda x: x,
        grad=1,
        linear=(0,),
        skip={"dtypes": "of its values it depends whether it is refused"},
    ),
    Spec(
        "error_if",
        callbacks.error_if_p,
        lambda x: error_if(x, x != x + 0, "what cannot be"),
        [Case(ArraySpec((2, 3))), Case(ArraySpec(()))],
        numpy=lambda x: x,
        grad=1,
        linear=(0,),
        skip={"dtypes": "of its values it depends whether it is refused"},
    ),
]
