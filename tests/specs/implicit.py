"""Rows of the primitives behind implicit differentiation."""

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyjax.numpy as jnp
from specs import ArraySpec, Case, Spec
from tinyjax._primitives.linear_maps import linear_call, linear_call_p
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.implicit import custom_linear_solve
from tinyjax.implicit.linear_operators import custom_linear_solve_p

Operator = Callable[[Array], Array]


def solve_by_columns(a: Array, b: Array) -> Any:
    """The solver knows the matrix by its products alone, and is another than the library's."""

    def solver(matvec: Operator, b: Array) -> Any:
        columns = jnp.stack([matvec(e) for e in jnp.eye(3, dtype=b.dtype)], axis=1)
        return jnp.linalg.inv(columns) @ b

    matrix = a + 6.0 * jnp.eye(3, dtype=a.dtype)
    return custom_linear_solve(lambda x: matrix @ x, b, solver, solver)


def solve_symmetric(d: Array, b: dict[str, Array]) -> Any:
    """A diagonal matrix on trees, with something more returned."""

    def matvec(x: dict[str, Array]) -> dict[str, Array]:
        return {"p": d * x["p"], "q": x["q"] * d[0]}

    def solver(
        matvec: Callable[[dict[str, Array]], dict[str, Array]], b: dict[str, Array]
    ) -> tuple[dict[str, Array], Array]:
        return {"p": b["p"] / d, "q": b["q"] / d[0]}, jnp.sum(b["q"])

    x, _ = custom_linear_solve(matvec, b, solver, symmetric=True, has_aux=True)
    return x


def weigh(w: Array, x: Array) -> Array:
    """A linear function with its transpose."""
    out: Array
    (out,) = linear_call(
        lambda residuals, operands: [residuals[0] @ operands[0]],
        lambda residuals, cotangents: [cotangents[0] @ residuals[0]],
        [jnp.sin(w)],
        [x],
    )
    return out


def solve_by_numpy(a: HostArray, b: HostArray) -> HostArray:
    return np.linalg.solve(a + 6 * np.eye(3), b)


SPECS = [
    Spec(
        "custom_linear_solve",
        custom_linear_solve_p,
        solve_by_columns,
        [Case(ArraySpec((3, 3)), ArraySpec((3,)))],
        solve_by_numpy,
        dtypes=("float64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec(
        "custom_linear_solve, of trees",
        custom_linear_solve_p,
        lambda d, p, q: solve_symmetric(d, {"p": p, "q": q}),
        [Case(ArraySpec((2,), low=1.0), ArraySpec((2,)), ArraySpec((3,)))],
        lambda d, p, q: {"p": p / d, "q": q / d[0]},
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "linear_call",
        linear_call_p,
        weigh,
        [Case(ArraySpec((2, 3)), ArraySpec((3,)))],
        lambda w, x: np.sin(w) @ x,
        dtypes=("float64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
        linear=(1,),
    ),
]
