"""Rows of functions that bring their own rules; each rule agrees with the function's operations.

Under ``jit`` the call is recorded, and its own rules are used; the tangent map of ``custom_vjp`` is
met where the derivative is taken.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax.core.jit import jit
from tinyjax.core.primitives.elementwise import add, cos, mul, sin
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.operands import as_array
from tinyjax.custom_derivatives import custom_batch, custom_derivative, custom_jvp, custom_vjp
from tinyjax.custom_derivatives.custom_calls import custom_call_p, custom_vjp_tangent_p
from tinyjax.experimental.hijax import AxisData, VJPHiPrimitive, instantiate_zeros
from tinyjax.experimental.hijax.primitives import hi_call_p

F = ArraySpec((2, 3))


@custom_jvp
def product(x: Array, y: Array) -> Array:
    return mul(sin(x), y)


@product.defjvp
def _product_jvp(
    primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (x, y), (s, t) = primals, tangents
    return product(x, y), add(mul(mul(cos(x), y), s), mul(sin(x), t))


@custom_derivative
def nested(x: Array) -> dict[str, Array]:
    return {"a": product(x, x), "b": sin(x)}


@nested.defderivative
def _nested_rule(
    x: Array,
) -> tuple[dict[str, Array], Callable[[Array], dict[str, Array]]]:
    out = nested(x)

    def tangent_map(t: Array) -> dict[str, Array]:
        return {"a": mul(add(mul(cos(x), x), sin(x)), t), "b": mul(cos(x), t)}

    return out, tangent_map


@custom_vjp
def reverse(x: Array, y: Array) -> Array:
    return mul(sin(x), y)


reverse.defvjp(
    lambda x, y: (reverse(x, y), {"x": x, "y": y}),
    lambda saved, ct: (
        mul(mul(cos(saved["x"]), saved["y"]), ct),
        mul(sin(saved["x"]), ct),
    ),
)


@custom_batch
def batched(x: Array) -> Array:
    return mul(sin(x), x)


@batched.def_vmap
def _batched_rule(size: int, in_batched: list[bool], x: Array) -> tuple[Array, bool]:
    return mul(sin(x), x), in_batched[0]


class _Product(VJPHiPrimitive):
    """``sin(x) * y``, with its rules as methods."""

    def __init__(self, x: ShapedArray, y: ShapedArray) -> None:
        self.in_avals, self.out_aval, self.params = (x, y), x, {}
        super().__init__()

    def expand(self, *args: Array) -> Array:
        x, y = args
        return mul(sin(x), y)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        (x, y), (s, t) = primals, map(instantiate_zeros, tangents)
        return self(x, y), add(mul(mul(cos(x), y), s), mul(sin(x), t))

    def batch_dim_rule(self, axis_data: AxisData, dims: Any, /) -> Any:
        return next(axis for axis in dims if axis is not None)


def by_methods(x: Array, y: Array) -> Array:
    operands = [as_array(v).astype(v.dtype) for v in (x, y)]
    primitive = _Product(*[v.aval for v in operands])
    out: Array = primitive(*operands)
    return out


FORWARD = "custom_vjp has no forward mode; tests/custom_derivatives tests reverse mode"

SPECS = [
    Spec(
        "custom_jvp",
        custom_call_p,
        product,
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float32", "float64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec(
        "custom_call",
        custom_call_p,
        jit(product),
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "custom_derivative",
        custom_call_p,
        jit(nested),
        [Case(F)],
        lambda x: {"a": np.sin(x) * x, "b": np.sin(x)},
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "custom_batch",
        custom_call_p,
        batched,
        [Case(F)],
        lambda x: np.sin(x) * x,
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "custom_vjp",
        custom_vjp_tangent_p,
        reverse,
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float64",),
        skip={"compose": FORWARD, "jaxpr": "a derivative binds it, not the function"},
    ),
    Spec(
        "hi_call",
        hi_call_p,
        by_methods,
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float32", "float64"),
        grad=2,
    ),
]
