"""Tridiagonal systems of equations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from tinyjax import errors
from tinyjax.core.primitives import rules as ru, slicing as sl
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.elementwise import mul
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.primitives import matrices as ma

tridiagonal_solve_p: Primitive[prim.NoParams] = Primitive("tridiagonal_solve", prim.NoParams)


@tridiagonal_solve_p.def_abstract_eval
def _solve_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    *diagonals, b = avals
    ma.check_matrices("tridiagonal_solve", b)
    if any(x.shape != b.shape[:-1] for x in diagonals):
        raise errors.ShapeError(
            "tridiagonal_solve needs three diagonals that have the same shape (..., n), and "
            f"right-hand sides of shape (..., n, m), but got "
            f"{', '.join(str(x.shape) for x in avals)}."
        )
    if any(x.dtype != b.dtype for x in diagonals):
        raise errors.DtypeError(
            f"tridiagonal_solve needs operands of one dtype, but got {', '.join(map(str, avals))}."
        )
    return (b.strip_weak(),)


def _solve_one(
    dl: HostArray, d: HostArray, du: HostArray, b: HostArray, params: prim.NoParams
) -> Sequence[HostArray]:
    if len(d) == 1:
        return (b / d[:, None],)
    *_, x, info = ma.lapack_routine("gtsv", b.dtype)(dl[1:], d, du[:-1], b)
    if info:
        raise np.linalg.LinAlgError("singular")
    return (x,)


ma.def_impl_by_one(tridiagonal_solve_p, _solve_one, core=1)


@ma.def_lowering(tridiagonal_solve_p)
def _solve_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    *diagonals, right = operands
    if right.shape[-2] == 1:
        return (b.div(right, b.broadcast_in_dim(diagonals[1], right.shape, range(right.ndim - 1))),)
    places = [(x.type, 1) for x in diagonals]
    *_, x, info = ma.lapack_call(
        b,
        "gtsv",
        (*((x, 1) for x in diagonals), ma.matrices(right)),
        *places,
        (right.type, 2),
        ma.status(right.type),
        in_place=[(i, i) for i in range(4)],
    )
    return ma.nan_where_failed(b, info, (x,))


#: The routine for GPUs takes no fewer equations.
_FEWEST_ON_CUDA: Final = 3


@ma.def_lowering(tridiagonal_solve_p, "cuda")
def _solve_on_cuda(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    count = operands[3].shape[-2]
    missing = _FEWEST_ON_CUDA - count
    if missing > 0:  # further equations say that something else is 0
        equations = operands
        operands = lower_formula(b, lambda *xs: _longer(xs, missing), equations)
    *diagonals, right = operands
    (x,) = ma.routine_call(
        b,
        "cusparse_gtsv2_ffi",
        (*((x, 1) for x in diagonals), ma.matrices(right)),
        (right.type, 2),
        in_place=((3, 0),),
    )
    if missing <= 0:
        return (x,)
    return lower_formula(b, lambda x: [sl.slice_in_dim(x, 0, count, axis=x.ndim - 2)], (x,))


def _longer(operands: Sequence[Array], by: int) -> list[Array]:
    axis = operands[-1].ndim - 2
    values = (0, 1, 0, 0)
    return [sl.pad_in_dim(x, 0, by, axis, more) for x, more in zip(operands, values, strict=True)]


def _spread(diagonal: Array, like: Array) -> Array:
    return broadcast_in_dim(diagonal, like.shape, tuple(range(diagonal.ndim)))


def _shifted_product(by: int, t: Array, x: Array, params: prim.NoParams) -> Array:
    """The product of a diagonal and what stands before or after the elements of ``x``."""
    seen = sl.pad_in_dim(x, by, -by, x.ndim - 2) if by else x
    return mul(_spread(t, x), seen)


ma.def_system(tridiagonal_solve_p, *[partial(_shifted_product, by) for by in (1, 0, -1)])


def _solve_transposed(ct: Array, dl: Array, d: Array, du: Array, b: object) -> Array:
    axis = d.ndim - 1
    return tridiagonal_solve(sl.pad_in_dim(du, 1, -1, axis), d, sl.pad_in_dim(dl, -1, 1, axis), ct)


_MATRIX = "the matrices"
ru.def_transposes(tridiagonal_solve_p, _MATRIX, _MATRIX, _MATRIX, _solve_transposed)


ma.def_system_batch(tridiagonal_solve_p)


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array) -> Array:
    """Solve systems with tridiagonal matrices, by elimination with partial pivoting.

    Args:
        dl: the diagonals below the main one, shape ``(..., n)``; the first element is not looked
            at.
        d: the main diagonals, shape ``(..., n)``.
        du: the diagonals above, shape ``(..., n)``; the last element is not looked at.
        b: right-hand sides, shape ``(..., n, m)``.

    Returns:
        The solutions, of the shape of ``b``; NaN where a matrix is singular.

    Raises:
        ShapeError: the diagonals differ in shape, or ``b`` does not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind1(tridiagonal_solve_p, (dl, d, du, b), prim.NO_PARAMS)
