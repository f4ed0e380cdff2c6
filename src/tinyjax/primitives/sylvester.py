"""Sylvester's equation, and the square roots of matrices, whose derivatives solve it.

Both are brought to triangular matrices by Schur forms, and solved column by column.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module

import numpy as np

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, rules as ru, shape as sh
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.families import all_hold, lower_formula
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives import eigen, matrices as ma
from tinyjax.primitives.dynamic_slice import dynamic_slice_in_dim
from tinyjax.primitives.triangular import triangular_solve

# solve_sylvester

sylvester_p: prim.Primitive[prim.NoParams] = ma.declare("solve_sylvester", prim.NoParams)


@sylvester_p.def_abstract_eval
def _sylvester_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    a, b, c = avals
    for x in avals:
        ma.check_matrices("solve_sylvester", x, square=x is not c)
    if a.dtype != c.dtype or b.dtype != c.dtype:
        raise DtypeError(f"solve_sylvester needs operands of one dtype, but got {a}, {b} and {c}.")
    batch, (m, n) = c.shape[:-2], c.shape[-2:]
    if a.shape != (*batch, m, m) or b.shape != (*batch, n, n):
        raise ShapeError(
            "solve_sylvester: for right-hand sides of m rows and n columns, a is m by m and b n by "
            f"n, with the same axes in front, but the shapes are {a.shape}, {b.shape} and "
            f"{c.shape}."
        )
    return (c.strip_weak(),)


def _sylvester_of_one(
    a: dtypes.HostArray, b: dtypes.HostArray, c: dtypes.HostArray, params: prim.NoParams
) -> Sequence[dtypes.HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    for x in (a, b, c):
        ma.check_finite(x)
    return (linalg.solve_sylvester(a, b, c),)


ma.def_impl_by_one(sylvester_p, _sylvester_of_one)


@ma.def_lowering(sylvester_p)
def _sylvester_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    """With ``a = U R U^H`` and ``b = V S V^H``, ``R (U^H x V) + (U^H x V) S = U^H c V``."""
    dtype = operands[2].dtype
    count = operands[2].shape[-1]

    def prepare(*matrices: Array) -> Sequence[Array]:
        x, y, z = (ew.convert_element_type(g, dtypes.to_complex(dtype)) for g in matrices)
        (r, u), (s, v) = eigen.schur(x), eigen.schur(y)
        right = ma.mm(ma.mm(ma.mH(u), z), v)
        return r, s, right, sh.zeros_like(right), u, v

    def step(j: Array, r: Array, s: Array, right: Array, solution: Array) -> Sequence[Array]:
        mixed = ma.column_of(s, j)
        column = ew.sub(ma.column_of(right, j), ma.mm(solution, mixed))
        own = _pick_row(mixed, j)
        solved = triangular_solve(_shifted(r, own), column, left_side=True)
        return r, s, right, ma.with_column(solution, j, solved)

    def finish(solution: Array, u: Array, v: Array) -> Sequence[Array]:
        x = ma.mm(ma.mm(u, solution), ma.mH(v))
        return [x if dtypes.is_complex(dtype) else ma.real_part(x)]

    *state, u, v = lower_formula(b, prepare, operands)
    solution = ma.lower_loop(b, count, step, state)[-1]
    return lower_formula(b, finish, (solution, u, v))


def _pick_row(column: Array, j: Array) -> Array:
    """The elements of columns ``(..., n, 1)`` in a row, shape ``(...,)``."""
    picked = dynamic_slice_in_dim(column, j, 1, column.ndim - 2, allow_negative_indices=False)
    return sh.reshape(picked, column.shape[:-2])


def _shifted(x: Array, by: Array) -> Array:
    """Matrices with numbers ``(...,)`` added to their diagonals."""
    spread = broadcast_in_dim(by, x.shape, tuple(range(by.ndim)))
    return ew.add(x, ma.on_diagonal(spread, sh.zeros_like(x)))


ma.def_system(sylvester_p, lambda ta, x, params: ma.mm(ta, x), lambda tb, x, params: ma.mm(x, tb))
ru.def_transposes(
    sylvester_p,
    "the matrices",
    "the matrices",
    lambda ct, a, b, c: tr.bind1(sylvester_p, (ma.mT(a), ma.mT(b), ct), prim.NO_PARAMS),
)


def solve_sylvester(a: Array, b: Array, c: Array) -> Array:
    """Solve ``a x + x b = c``.

    Args:
        a: shape ``(..., m, m)``.
        b: shape ``(..., n, n)``.
        c: shape ``(..., m, n)``.

    Returns:
        ``x``, of the shape of ``c``; huge, infinite or NaN where an eigenvalue of ``a`` is the
        negative of one of ``b``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind1(sylvester_p, (a, b, c), prim.NO_PARAMS)


# sqrtm

sqrtm_p: prim.Primitive[prim.NoParams] = ma.declare("sqrtm", prim.NoParams)


@sqrtm_p.def_abstract_eval
def _sqrtm_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    (x,) = avals
    ma.check_matrices("sqrtm", x, square=True)
    return (av.ShapedArray(x.shape, dtypes.to_complex(x.dtype)),)


@cache
def _root_of_scipy() -> Callable[[dtypes.HostArray], dtypes.HostArray]:
    """Return ``scipy.linalg.sqrtm`` without its checks and warnings."""
    with suppress(ImportError):  # versions of SciPy differ
        routine = getattr(
            import_module("scipy.linalg._matfuncs_schur_sqrtm"), "recursive_schur_sqrtm", None
        )
        if routine is not None:
            return lambda a: routine(a)[0]
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    def root(a: dtypes.HostArray) -> dtypes.HostArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of singular matrices
            result: dtypes.HostArray = linalg.sqrtm(a)
        return result

    return root


def _sqrtm_of_one(a: dtypes.HostArray, params: prim.NoParams) -> Sequence[dtypes.HostArray]:
    ma.check_finite(a)
    root = _root_of_scipy()(a)
    return (root if all_hold(np.isfinite(root)) else np.full_like(root, np.nan),)


ma.def_impl_by_one(sqrtm_p, _sqrtm_of_one)


@ma.def_lowering(sqrtm_p)
def _sqrtm_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    """The root of a triangular matrix, column by column (Björck and Hammarling, 1983).

    XLA takes as long for each kernel as for a hundred operations. So the columns replace those of
    the triangular matrix, and a failure of LAPACK's is told to the roots on the diagonal alone,
    from which it spreads to all elements.
    """
    (out,) = b.results
    count = out.shape[-1]

    def diagonal(form: Array) -> Sequence[Array]:
        # here, since every fusion of the loop would compute what it reads of the complex roots
        return [_principal_roots(ma.diagonal_of(form))]

    def step(j: Array, roots: Array, mixed: Array) -> Sequence[Array]:
        place = roots.ndim - 1
        at = ew.eq(sh.iota(roots.shape, j.dtype, place), broadcast_in_dim(j, roots.shape, ()))
        own = dynamic_slice_in_dim(roots, j, 1, place, allow_negative_indices=False)
        own = sh.reshape(own, roots.shape[:-1])
        sums = ew.add(roots, broadcast_in_dim(own, roots.shape, tuple(range(place))))
        nothing = sh.zeros_like(sums)
        idle = ew.eq(sums, nothing)
        safe = ew.select(idle, sh.full_like(sums, 1), sums)
        system = ma.on_diagonal(ma.along_rows(safe, mixed), mixed)
        above = sh.reshape(ma.column_of(mixed, j), roots.shape)
        above = ew.select(at, nothing, above)
        column = (*roots.shape, 1)
        solved = triangular_solve(system, sh.reshape(above, column), left_side=True)
        # a row that says 0 x = r has a solution where r is zero
        solution = sh.reshape(solved, roots.shape)
        lost = ew.and_(idle, ew.ne(solution, nothing))
        solution = ew.select(
            lost, sh.full_like(solution, float("nan")), ew.select(at, roots, solution)
        )
        return roots, ma.with_column(mixed, j, sh.reshape(solution, column))

    (x,) = lower_formula(b, lambda x: [ew.convert_element_type(x, out.dtype)], operands)
    form, vectors, info = eigen.schur_call(b, x)
    roots = ma.nan_where_failed(b, info, lower_formula(b, diagonal, (form,)))
    root = ma.lower_loop(b, count, step, (*roots, form))[-1]
    return lower_formula(b, lambda r, z: [ma.mm(ma.mm(z, r), ma.mH(z))], (root, vectors))


sqrtm_p.def_lowering(platform="cuda")(ma.refuse_on_cuda("sqrtm"))


def _principal_roots(z: Array) -> Array:
    """The square roots of complex numbers whose size does not overflow, in one kernel.

    XLA writes those of all numbers in four.
    """
    x, y, size = ew.real(z), ew.imag(z), ew.abs_(z)
    half, nothing = sh.full_like(x, 0.5), sh.zeros_like(x)
    larger = ew.sqrt(ew.add(ew.mul(half, ew.abs_(x)), ew.mul(half, size)))
    smaller = ew.select(ew.eq(larger, nothing), nothing, ew.div(ew.mul(half, ew.abs_(y)), larger))
    right = ew.ge(x, nothing)
    up = ew.select(right, smaller, larger)
    return ew.complex_(
        ew.select(right, larger, smaller), ew.select(ew.lt(y, nothing), ew.neg(up), up)
    )


# from r r = x: r r' + r' r = x'
ru.def_derivatives(
    sqrtm_p, lambda t, root, x: solve_sylvester(root, root, ew.convert_element_type(t, root.dtype))
)


def sqrtm(x: Array) -> Array:
    """Return the principal square roots of matrices.

    Args:
        x: shape ``(..., n, n)``.

    Returns:
        Complex matrices whose square is ``x``, and whose eigenvalues have no negative real part;
        NaN where there is none. The derivative is infinite, NaN or huge at singular matrices.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return tr.bind1(sqrtm_p, (x,), prim.NO_PARAMS)
