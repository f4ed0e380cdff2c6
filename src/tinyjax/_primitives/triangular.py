"""Triangular systems of equations, and the Cholesky factor."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import matrices as ma
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.primitives.rules import def_derivatives, def_transposes
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array
from tinyjax.dtypes import DType, HostArray

# triangular_solve


@attrs.frozen(eq=False, repr=False)
class TriangularSolveParams(prim.Params):
    """The kind of system: ``op(a) x = b`` or ``x op(a) = b``, and the half of ``a`` that is read.

    ``op`` transposes, conjugates, both or neither; ``unit_diagonal`` treats the diagonal as ones.
    """

    left_side: bool
    lower: bool
    transpose_a: bool
    conjugate_a: bool
    unit_diagonal: bool


triangular_solve_p: Final = prim.Primitive(
    "triangular_solve", TriangularSolveParams, repeatable=True
)
ma.def_cubic_flops(triangular_solve_p)

# Blocks of this size are left to NumPy's solver, which costs its size cubed.
_BLOCK = 64


_solve_hosts = ma.lapack_of_numpy("solve", "dd->d", np.linalg.solve)


@lru_cache(maxsize=256)
def _by_lapack(params: TriangularSolveParams, dtype: DType) -> prim.Kernel:
    """Return a solver of one real system in double precision, by substitution."""
    routine = ma.lapack_routine("trtrs", dtypes.float64)
    lower, unit = int(params.lower), int(params.unit_diagonal)
    transposed = int(params.transpose_a != params.left_side)

    def solve(a: HostArray, b: HostArray) -> HostArray:
        # what is handed over by rows is the transposed matrix to LAPACK, and is not copied
        out, info = routine(a.T, b if params.left_side else b.T, 1 - lower, transposed, unit)
        if info:  # zeros on the diagonal
            return _solve_hosts_by_blocks(a, b, params)
        return np.asarray(out if params.left_side else out.T, dtype, order="C")

    return solve


@triangular_solve_p.def_host
def _triangular_solve_host(avals: prim.Avals, params: TriangularSolveParams) -> prim.Kernel:
    a, b = avals
    if a.ndim == 2 and b.size > 0 and a.dtype in (dtypes.float32, dtypes.float64):
        return _by_lapack(params, a.dtype)
    return lambda a, b: _solve_hosts_by_blocks(a, b, params)


def _solve_hosts_by_blocks(a: HostArray, b: HostArray, params: TriangularSolveParams) -> HostArray:
    a = ma.lower_of_host(a) if params.lower else ma.upper_of_host(a)
    if params.unit_diagonal:
        np.einsum("...ii->...i", a)[...] = 1
    if params.conjugate_a:
        a = a.conj()
    # What is left to solve is u x = b with u upper triangular.
    if params.transpose_a == params.left_side:
        a = a.swapaxes(-1, -2)
    if not params.left_side:
        b = b.swapaxes(-1, -2)
    if params.lower != (params.transpose_a == params.left_side):
        out = _substitute(a[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]
    else:
        out = _substitute(a, b)
    return out if params.left_side else out.swapaxes(-1, -2)


def _substitute(u: HostArray, b: HostArray) -> HostArray:
    """Solve ``u x = b`` for an upper triangular ``u``, last block of unknowns first."""
    diagonal = u.diagonal(0, -2, -1)
    # NumPy's solver refuses zeros, which here divide as they do elsewhere.
    block = _BLOCK if np.count_nonzero(diagonal) == diagonal.size else 1
    if 1 < block >= u.shape[-1]:
        return _solve_hosts(u, b)[0]
    x = np.empty(b.shape, b.dtype)
    for stop in range(u.shape[-1], 0, -block):
        rows = slice(max(stop - block, 0), stop)
        rest = b[..., rows, :]
        if stop < u.shape[-1]:
            rest = rest - u[..., rows, stop:] @ x[..., stop:, :]
        if block == 1:
            x[..., rows, :] = rest / diagonal[..., rows, None]
        else:
            x[..., rows, :] = _solve_hosts(u[..., rows, rows], rest)[0]
    return x


@triangular_solve_p.def_abstract_eval
def _triangular_solve_type(avals: prim.Avals, params: TriangularSolveParams) -> prim.Avals:
    a, b = avals
    ma.check_operands("triangular_solve", a, b)
    axis = -2 if params.left_side else -1
    if a.shape[-1] != b.shape[axis]:
        side = "left" if params.left_side else "right"
        raise errors.ShapeError(
            f"Incompatible shapes for arguments to triangular_solve: with the matrices on the "
            f"{side} it needs as many unknowns as "
            f"equations, but got {a} and, in axis {axis}, {b}."
        )
    return (b.strip_weak(),)


@ma.def_lowering(triangular_solve_p)
def _triangular_solve_lowering(
    b: Lowering, operands: hlo.Values, params: TriangularSolveParams
) -> hlo.Values:
    matrix, rhs = operands
    if params.conjugate_a and not params.transpose_a:
        (matrix,) = lower_formula(b, lambda x: [ma.conjugated(x)], (matrix,))
    transposed = "C" if params.conjugate_a else "T"
    return ma.lapack_call(
        b,
        "trsm",
        (ma.matrices(matrix), ma.matrices(rhs)),
        (rhs.type, 2),
        in_place=((1, 0),),
        side="L" if params.left_side else "R",
        uplo="L" if params.lower else "U",
        trans_x=transposed if params.transpose_a else "N",
        diag="U" if params.unit_diagonal else "N",
    )


@triangular_solve_p.def_lowering(platform="cuda")
def _triangular_solve_on_cuda(
    b: Lowering, operands: hlo.Values, params: TriangularSolveParams
) -> hlo.Values:
    matrix, rhs = operands
    if params.conjugate_a and not params.transpose_a:
        (matrix,) = lower_formula(b, lambda x: [ma.conjugated(x)], (matrix,))
    transposed = "ADJOINT" if params.conjugate_a else "TRANSPOSE"
    chosen = transposed if params.transpose_a else "NO_TRANSPOSE"
    return [
        b.op(
            "stablehlo.triangular_solve",
            matrix,
            rhs,
            left_side=hlo.boolean(params.left_side),
            lower=hlo.boolean(params.lower),
            unit_diagonal=hlo.boolean(params.unit_diagonal),
            transpose_a=f"#stablehlo<transpose {chosen}>",
            result=rhs.type,
        )
    ]


def _change_of_product(ta: Array, x: Array, params: TriangularSolveParams) -> Array:
    """``op(a') x``, or ``x op(a')``."""
    seen = ma.lower_part(ta, params.unit_diagonal)
    if not params.lower:
        seen = ma.mT(ma.lower_part(ma.mT(ta), params.unit_diagonal))
    if params.transpose_a:
        seen = ma.mT(seen)
    if params.conjugate_a:
        seen = ma.conjugated(seen)
    return ma.mm(seen, x) if params.left_side else ma.mm(x, seen)


ma.def_system(triangular_solve_p, _change_of_product)
def_transposes(
    triangular_solve_p,
    "the matrices",
    lambda ct, a, b, params: tr.bind1(
        triangular_solve_p, (a, ct), attrs.evolve(params, transpose_a=not params.transpose_a)
    ),
)


ma.def_system_batch(triangular_solve_p, lambda params: params.left_side)


#: Floats that LAPACK does not take, and that systems are converted from.
HALVES: Final = (dtypes.bfloat16, dtypes.float16)


def triangular_solve(
    a: Array,
    b: Array,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Array:
    """Solve ``op(a) x = b``, or ``x op(a) = b``, for triangular matrices ``a``.

    Args:
        a: shape ``(..., n, n)``; the half that ``lower`` does not name is not looked at.
        b: shape ``(..., n, m)``, or ``(..., m, n)`` where ``a`` is on the right; of ``a``'s dtype.
        left_side: whether ``a`` stands on the left of ``x``.
        lower: whether it is the lower triangle that counts.
        transpose_a: whether to transpose ``a`` first.
        conjugate_a: whether to conjugate it.
        unit_diagonal: whether to take the diagonal for ones.

    Returns:
        ``x``, of the shape of ``b``; infinite or NaN where the diagonal has zeros.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's nor floats of 16 bits, with which is
            computed in float32.
    """
    flags = map(bool, (left_side, lower, transpose_a, conjugate_a, unit_diagonal))
    params = TriangularSolveParams(*flags)
    if a.dtype in HALVES and a.dtype == b.dtype:
        wide = [ew.convert_element_type(x, dtypes.float32) for x in (a, b)]
        return ew.convert_element_type(tr.bind(triangular_solve_p, wide, params)[0], b.dtype)
    return tr.bind(triangular_solve_p, (a, b), params)[0]


# cholesky

cholesky_p: prim.Primitive[prim.NoParams] = ma.declare("cholesky", prim.NoParams)


_cholesky_of_hosts = ma.lapack_of_numpy("cholesky_lo", "d->d", np.linalg.cholesky)


@cholesky_p.def_impl
def _cholesky_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    (factor,) = _cholesky_of_hosts(*operands)
    if factor.ndim == 2 and factor.size > 1 and not factor[0, -1]:  # it has not failed
        return (factor,)
    return (ma.lower_of_host(factor),)  # where it failed, NaN below the diagonal only


@cholesky_p.def_host
def _cholesky_host(avals: prim.Avals, params: prim.NoParams) -> prim.Kernel | None:
    (x,) = avals
    kernel = ma.kernel_of_numpy("cholesky_lo", "d->d", x)
    if kernel is None or x.ndim > 2 or x.size < 2:
        return None

    def factor(x: HostArray) -> HostArray:
        lower = np.asarray(kernel(x))
        return ma.lower_of_host(lower) if lower.item(-1) != lower.item(-1) else lower

    return factor


ma.def_types(cholesky_p, lambda x, params: (x.strip_weak(),))


@ma.def_lowering(cholesky_p)
def _cholesky_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    (x,) = operands
    factor, info = ma.lapack_call(
        b,
        "potrf",
        (ma.matrices(x),),
        (x.type, 2),
        ma.status(x.type),
        on_cuda=("cusolver_potrf_ffi", {"lower": True}),
        uplo="L",
    )
    return lower_formula(b, lambda y: [ma.lower_part(y)], ma.nan_where_failed(b, info, (factor,)))


def _cholesky_derivative(t: Array, factor: Array, x: Array) -> Array:
    """``L' = L phi(L^-1 A' L^-H)``; ``phi`` takes the lower half (Murray 2016)."""
    right = TriangularSolveParams(False, True, True, True, False)
    left = TriangularSolveParams(True, True, False, False, False)
    inner = tr.bind1(triangular_solve_p, (factor, ma.from_lower(t)), right)
    inner = tr.bind1(triangular_solve_p, (factor, inner), left)
    halved = ew.div(inner, sh.full_like(inner, 2))
    return ma.mm(factor, ma.on_diagonal(halved, ma.lower_part(inner)))


def_derivatives(cholesky_p, _cholesky_derivative)


def cholesky(x: Array, *, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular ``L`` with a positive diagonal and ``L L^H = x``.

    Args:
        x: Hermitian positive definite matrices, shape ``(..., n, n)``.
        symmetrize_input: whether to take ``(x + x^H) / 2`` for ``x``; otherwise only the lower
            triangle is looked at, which then has the whole derivative, too.

    Returns:
        The factors, of the shape of ``x``, with zeros above the diagonal; NaN for matrices that are
        not positive definite.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    cholesky_p.rules.abstract_eval((x.aval,), prim.NO_PARAMS)
    return tr.bind1(cholesky_p, (ma.hermitian_part(x) if symmetrize_input else x,), prim.NO_PARAMS)
