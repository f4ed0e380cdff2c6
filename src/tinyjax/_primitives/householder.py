"""Householder reflections, the forms and updates made by them, and tridiagonal systems."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import dynamic_slice, matrices as ma, triangular
from tinyjax.core.primitives import elementwise as ew, families, rules, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import Primitive, primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.dtypes import HostArray

# Householder reflections as LAPACK packs them, and the forms that matrices are brought to by them.
#
# A reflection is ``I - tau v v^H``. The vectors ``v`` stand below a diagonal, without their first
# element, which is one; ``Q`` is the product of the reflections. It has derivatives; the
# reflections themselves have none: differentiate what they serve to compute.


def _check(name: str, a: av.ShapedArray, taus: av.ShapedArray) -> None:
    ma.check_matrices(name, a)
    ma.check_one_dtype(name, a, taus)
    if not taus.shape or taus.shape[:-1] != a.shape[:-2] or taus.shape[-1] > min(a.shape[-2:]):
        raise errors.ShapeError(
            f"{name} needs for each matrix at most as many factors as it has rows and columns, but "
            f"got shapes {a.shape} and {taus.shape}. geqrf returns both."
        )


def _vectors(a: Array, count: int) -> Array:
    """Return the vectors of the reflections as columns, ones included."""
    columns = slicing.slice_in_dim(a, 0, count, axis=a.ndim - 1)
    return ma.on_diagonal(sh.full_like(columns, 1), ma.lower_part(columns, strict=True))


def _strict_upper(x: Array) -> Array:
    return ma.off_diagonal(ma.upper_part(x))


def _tangent(a: Array, taus: Array, ta: Array, ttaus: Array, c: Array, transpose: bool) -> Array:
    """Return the tangent of ``Q c``, or of ``Q^H c``, for a ``c`` that does not change.

    ``Q = I - V T V^H`` with ``T = (I + D S)^-1 D``, where ``D`` has the factors on its diagonal
    and ``S`` is the strictly upper part of ``V^H V`` (R. Schreiber and C. Van Loan, SIAM J. Sci.
    Stat. Comput. 10(1), 1989). So ``T' = (I + D S)^-1 D' (I - S T) - T S' T``.
    """
    count = taus.shape[-1]
    v = _vectors(a, count)
    tv = ma.lower_part(slicing.slice_in_dim(ta, 0, count, axis=ta.ndim - 1), strict=True)
    vh, tvh = ma.mH(v), ma.mH(tv)
    s = _strict_upper(ma.mm(vh, v))
    ts = _strict_upper(ew.add(ma.mm(tvh, v), ma.mm(vh, tv)))
    one = ma.identity_like(s)
    d, td = (ma.on_diagonal(ma.along_columns(x, s), sh.full_like(s, 0)) for x in (taus, ttaus))
    system = ew.add(one, ma.mm(d, s))
    t = triangular.triangular_solve(system, d, left_side=True)
    first = triangular.triangular_solve(system, ma.mm(td, ew.sub(one, ma.mm(s, t))), left_side=True)
    tt = ew.sub(first, ma.mm(t, ma.mm(ts, t)))
    if transpose:
        t, tt = ma.mH(t), ma.mH(tt)
    seen = ma.mm(vh, c)
    inner = ew.add(ma.mm(tt, seen), ma.mm(t, ma.mm(tvh, c)))
    return ew.neg(ew.add(ma.mm(tv, ma.mm(t, seen)), ma.mm(v, inner)))


# householder_product

householder_product_p: Primitive[prim.NoParams] = ma.declare("householder_product", prim.NoParams)


@householder_product_p.def_abstract_eval
def _product_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    a, taus = avals
    _check("householder_product", a, taus)
    if a.shape[-2] < a.shape[-1]:
        raise errors.ShapeError(
            "householder_product takes matrices with at least as many rows as columns, but got "
            f"shape {a.shape}. Leave out the columns that hold no reflection."
        )
    return (a.strip_weak(),)


def _product_of_one(a: HostArray, taus: HostArray, params: prim.NoParams) -> Sequence[HostArray]:
    if not taus.size:
        return (np.eye(*a.shape, dtype=a.dtype),)
    return ma.lapack_routine("orgqr", a.dtype)(a, taus)[:1]


ma.def_impl_by_one(householder_product_p, _product_of_one)


@householder_product_p.def_lowering
def _product_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    a, taus = operands
    if not taus.size:
        return families.lower_formula(b, lambda: [ma.identities(a.shape, a.dtype)], ())
    return ma.reflected_identity(b, a, taus)


@householder_product_p.def_jvp
def _product_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    a, taus = primals
    ta, ttaus = rules.instantiate_all(tangents, [x.aval for x in primals])
    out = tr.bind1(householder_product_p, primals, params)
    return (out,), (_tangent(a, taus, ta, ttaus, ma.identity_like(a), False),)


def householder_product(a: Array, taus: Array) -> Array:
    """Return the first columns of the product of reflections.

    Args:
        a: the reflections, as ``geqrf`` packs them, shape ``(..., m, n)`` with ``m >= n``.
        taus: their factors, shape ``(..., k)`` with ``k <= n``.

    Returns:
        ``n`` columns of ``Q``, of the shape of ``a``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind1(householder_product_p, (a, taus), prim.NO_PARAMS)


# ormqr


@attrs.frozen(eq=False, repr=False)
class OrmqrParams(prim.Params):
    """The side of ``Q``, and whether it is ``Q^H``."""

    left: bool
    transpose: bool


ormqr_p: Final = Primitive("ormqr", OrmqrParams, repeatable=True)
ma.def_cubic_flops(ormqr_p)


@ormqr_p.def_abstract_eval
def _ormqr_type(avals: prim.Avals, params: OrmqrParams) -> prim.Avals:
    a, taus, c = avals
    _check("ormqr", a, taus)
    ma.check_matrices("ormqr", c)
    if a.shape[:-2] != c.shape[:-2] or a.dtype != c.dtype:
        raise (errors.DtypeError if a.dtype != c.dtype else errors.ShapeError)(
            f"ormqr needs operands of one dtype and with the same axes in front, but got {a} and "
            f"{c}."
        )
    size, rows = c.shape[-2 if params.left else -1], a.shape[-2]
    if size != rows:
        raise errors.ShapeError(
            f"ormqr: Q is {rows} by {rows}, but the shape of c is {c.shape}, of which "
            f"{'the rows' if params.left else 'the columns'} should be as many."
        )
    return (c.strip_weak(),)


def _ormqr_of_one(
    a: HostArray, taus: HostArray, c: HostArray, params: OrmqrParams
) -> Sequence[HostArray]:
    if not taus.size or not c.size:
        return (c,)
    turned = ("C" if dtypes.is_complex(a.dtype) else "T") if params.transpose else "N"
    columns = a[:, : taus.size]
    routine = ma.lapack_routine("ormqr", a.dtype)
    lwork = 64 * max(c.shape)
    out, *_ = routine("L" if params.left else "R", turned, columns, taus, c, lwork)
    return (out,)


ma.def_impl_by_one(ormqr_p, _ormqr_of_one)


@ormqr_p.def_lowering
def _ormqr_lowering(b: Lowering, operands: Values, params: OrmqrParams) -> Values:
    a, taus, c = operands
    if not taus.size or not c.size:
        return (c,)
    (columns,) = families.lower_formula(
        b, lambda x: [slicing.slice_in_dim(x, 0, taus.shape[-1], axis=x.ndim - 1)], (a,)
    )
    inputs, sides = (ma.matrices(columns), (taus, 1), ma.matrices(c)), attrs.asdict(params)
    on_cuda = "cusolver_ormqr_ffi", sides
    return ma.lapack_call(
        b, "ormqr", inputs, (c.type, 2), on_cuda=on_cuda, in_place=((2, 0),), **sides
    )


@ormqr_p.def_jvp
def _ormqr_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: OrmqrParams
) -> prim.JvpResult:
    """``c Q`` is ``(Q^H c^H)^H``."""
    a, taus, c = primals
    out = tr.bind1(ormqr_p, primals, params)
    ta, ttaus, tc = rules.instantiate_all(tangents, [x.aval for x in primals])
    change = tr.bind1(ormqr_p, (a, taus, tc), params) if tangents[2] is not prim.ZERO else None
    if tangents[0] is not prim.ZERO or tangents[1] is not prim.ZERO:
        if params.left:
            turned = _tangent(a, taus, ta, ttaus, c, params.transpose)
        else:
            turned = ma.mH(_tangent(a, taus, ta, ttaus, ma.mH(c), not params.transpose))
        change = turned if change is None else ew.add(change, turned)
    return (out,), (prim.ZERO if change is None else change,)


def _ormqr_transposed(
    ct: Array, a: Array, taus: Array, c: prim.UndefinedPrimal, params: OrmqrParams
) -> Array:
    """Transpose by conjugation: the transpose of ``Q`` is the conjugate of ``Q^H``."""
    evolved = attrs.evolve(params, transpose=not params.transpose)
    return ma.conjugated(tr.bind1(ormqr_p, (a, taus, ma.conjugated(ct)), evolved))


rules.def_transposes(ormqr_p, "the reflections", "their factors", _ormqr_transposed)


ma.def_system_batch(ormqr_p, lambda params: params.left)


def ormqr(a: Array, taus: Array, c: Array, *, left: bool = True, transpose: bool = False) -> Array:
    """Multiply by the ``Q`` that reflections make: ``Q c``, ``Q^H c``, ``c Q`` or ``c Q^H``.

    Args:
        a: the reflections, as ``geqrf`` packs them, shape ``(..., m, n)``.
        taus: their factors, shape ``(..., k)``.
        c: matrices of ``m`` rows, or columns where they are on the left.
        left: whether ``Q`` is on the left.
        transpose: whether to multiply by ``Q^H``.

    Raises:
        ShapeError: ``c`` has another number of rows or columns.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind1(ormqr_p, (a, taus, c), OrmqrParams(left, transpose))


# hessenberg

hessenberg_p: Primitive[prim.NoParams] = ma.declare("hessenberg", prim.NoParams)


def _hessenberg_types(x: av.ShapedArray, params: prim.NoParams) -> prim.Avals:
    *batch, n = x.shape[:-1]
    return (x.strip_weak(), av.ShapedArray((*batch, max(n - 1, 0)), x.dtype))


ma.def_types(hessenberg_p, _hessenberg_types)


ma.def_impl_by_one(hessenberg_p, lambda a, params: ma.lapack_routine("gehrd", a.dtype)(a)[:2])


@hessenberg_p.def_lowering
def _hessenberg_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    (x,), (packed, taus) = operands, b.results
    if x.shape[-1] < 2 or not x.size:
        return x, b.full(0, taus)
    *results, info = ma.lapack_call(
        b,
        "gehrd",
        (ma.matrices(x),),
        (packed, 2),
        (taus, 1),
        ma.status(x.type),
        low=1,
        high=x.shape[-1],
    )
    return ma.nan_where_failed(b, info, results)


hessenberg_p.def_lowering(platform="cuda")(ma.refuse_on_cuda("hessenberg"))


rules.def_no_derivative(
    hessenberg_p, "What it serves to compute may have: eigenvalues by eig, systems by solve."
)


def hessenberg(x: Array) -> tuple[Array, Array]:
    """Return matrices that are zero below the first subdiagonal, and similar to those given.

    Args:
        x: matrices, shape ``(..., n, n)``.

    Returns:
        The upper Hessenberg matrices, with the vectors of the reflections below the subdiagonal;
        and the factors of the reflections, shape ``(..., n - 1)``. They have no derivative.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    packed, taus = tr.bind(hessenberg_p, (x,), prim.NO_PARAMS)
    return packed, taus


# tridiagonal


@attrs.frozen(eq=False, repr=False)
class TridiagonalParams(prim.Params):
    """The triangle that is read."""

    lower: bool


tridiagonal_p: Primitive[TridiagonalParams] = ma.declare("tridiagonal", TridiagonalParams)


def _tridiagonal_types(x: av.ShapedArray, params: TridiagonalParams) -> prim.Avals:
    *batch, n = x.shape[:-1]
    if not n:
        raise errors.ShapeError("tridiagonal takes matrices with at least one row, but got none.")
    part = dtypes.real_part(x.dtype)
    return (
        x.strip_weak(),
        av.ShapedArray((*batch, n), part),
        av.ShapedArray((*batch, n - 1), part),
        av.ShapedArray((*batch, n - 1), x.dtype),
    )


ma.def_types(tridiagonal_p, _tridiagonal_types)


ma.def_impl_by_one(
    tridiagonal_p, lambda a, params: ma.lapack_routine("sytrd", a.dtype)(a, lower=params.lower)[:4]
)


@ma.def_lowering(tridiagonal_p)
def _tridiagonal_lowering(b: Lowering, operands: Values, params: TridiagonalParams) -> Values:
    (x,), (packed, *vectors) = operands, b.results
    *results, info = ma.lapack_call(
        b,
        "sytrd",
        (ma.matrices(x),),
        (packed, 2),
        *[(of, 1) for of in vectors],
        ma.status(x.type),
        on_cuda=("cusolver_sytrd_ffi", {"lower": params.lower}),
        uplo="L" if params.lower else "U",
    )
    return ma.nan_where_failed(b, info, results)


rules.def_no_derivative(tridiagonal_p, "What it serves to compute may have: eigenvalues by eigh.")


def tridiagonal(x: Array, *, lower: bool = True) -> tuple[Array, Array, Array, Array]:
    """Return tridiagonal matrices that are similar to Hermitian ones.

    Args:
        x: Hermitian matrices, shape ``(..., n, n)``.
        lower: which triangle is looked at.

    Returns:
        The matrices with the vectors of the reflections in that triangle; the diagonals, real, of
        shape ``(..., n)``; those next to them, real, ``(..., n - 1)``; and the factors of the
        reflections, ``(..., n - 1)``. They have no derivative.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    packed, d, e, taus = tr.bind(tridiagonal_p, (x,), TridiagonalParams(lower))
    return packed, d, e, taus


# Products of matrices with their transposes, added to others, and Cholesky factors so updated.


# symmetric_product


@attrs.frozen(eq=False, repr=False)
class ProductParams(prim.Params):
    """The factors of the product and of the addend."""

    alpha: float
    beta: float


symmetric_product_p: Primitive[ProductParams] = ma.declare("symmetric_product", ProductParams)


@symmetric_product_p.def_impl
def _product_impl(operands: prim.Hosts, params: ProductParams) -> prim.Hosts:
    a, c = operands
    one = a.dtype.type
    return (one(params.alpha) * (a @ np.swapaxes(a, -1, -2)) + one(params.beta) * c,)


@symmetric_product_p.def_abstract_eval
def _symmetric_type(avals: prim.Avals, params: ProductParams) -> prim.Avals:
    a, c = avals
    _check_real("symmetric_product", avals)
    ma.check_matrices("symmetric_product", a)
    n = a.shape[-2]
    if c.shape != (*a.shape[:-2], n, n):
        raise errors.ShapeError(
            "symmetric_product adds to a matrix of as many rows and columns as the first one has "
            f"rows, but got shapes {a.shape} and {c.shape}."
        )
    return (c.strip_weak(),)


def _check_real(name: str, avals: prim.Avals) -> None:
    if any(x.dtype not in (dtypes.float32, dtypes.float64) for x in avals):
        raise errors.DtypeError(
            f"{name} takes float32 and float64, but got {' and '.join(map(str, avals))}. Convert "
            "the operands with .astype(...)."
        )
    ma.check_one_dtype(name, *avals)


@symmetric_product_p.def_lowering
def _symmetric_lowering(b: Lowering, operands: Values, params: ProductParams) -> Values:
    def formula(a: Array, c: Array) -> Sequence[Array]:
        return [_combine(ma.mm(a, ma.mT(a)), params.alpha, c, params.beta)]

    return families.lower_formula(b, formula, operands)


def _combine(x: Array, alpha: float, c: Array, beta: float) -> Array:
    return ew.add(ew.mul(sh.full_like(x, alpha), x), ew.mul(sh.full_like(c, beta), c))


def _of_factor(t: Array, out: Array, a: Array, c: Array, params: ProductParams) -> Array:
    half = ma.mm(t, ma.mT(a))
    return ew.mul(sh.full_like(half, params.alpha), ew.add(half, ma.mT(half)))


rules.def_derivatives(
    symmetric_product_p,
    _of_factor,
    lambda t, out, a, c, params: ew.mul(sh.full_like(t, params.beta), t),
)


def symmetric_product(a: Array, c: Array, *, alpha: float, beta: float) -> Array:
    """Return ``alpha a a^T + beta c``.

    Args:
        a: real matrices, shape ``(..., n, m)``.
        c: symmetric ones, shape ``(..., n, n)``.
        alpha: a number.
        beta: a number.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are neither float32 nor float64.
    """
    return tr.bind1(symmetric_product_p, (a, c), ProductParams(alpha, beta))


# cholesky_update

cholesky_update_p: Primitive[prim.NoParams] = ma.declare("cholesky_update", prim.NoParams)


@cholesky_update_p.def_abstract_eval
def _update_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    r, w = avals
    _check_real("cholesky_update", avals)
    ma.check_matrices("cholesky_update", r, square=True)
    if w.shape != r.shape[:-1]:
        raise errors.ShapeError(
            "cholesky_update needs a vector of as many elements as the factor has rows, but got "
            f"shapes {r.shape} and {w.shape}."
        )
    return (r.strip_weak(),)


def _update_of_one(r: HostArray, w: HostArray, params: prim.NoParams) -> Sequence[HostArray]:
    """Return the triangular factor of the two, one above the other."""
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    joined = np.vstack([np.triu(r), w])
    (factor,) = linalg.qr(joined, mode="r", check_finite=False)
    factor = factor[: len(w)]
    return (np.where(np.diagonal(factor) < 0, -1, 1).astype(r.dtype)[:, None] * factor,)


ma.def_impl_by_one(cholesky_update_p, _update_of_one)


@ma.def_lowering(cholesky_update_p)
def _update_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    """Rotate the vector into one row after another, which makes its elements zeros."""
    count = operands[1].shape[-1]

    def start(r: Array, w: Array) -> Sequence[Array]:
        return ma.upper_part(r), sh.reshape(w, (*w.shape[:-1], 1, count))

    def step(k: Array, r: Array, w: Array) -> Sequence[Array]:
        axis = r.ndim - 2
        last = (axis, axis + 1)
        row = dynamic_slice.dynamic_slice_in_dim(r, k, 1, axis)
        x, y = (dynamic_slice.dynamic_slice_in_dim(v, k, 1, axis + 1) for v in (row, w))
        size = ew.sqrt(ew.add(ew.mul(x, x), ew.mul(y, y)))
        idle = ew.eq(size, sh.full_like(size, 0))
        size = ew.select(idle, sh.full_like(size, 1), size)
        c, s = (
            broadcast_in_dim(sh.squeeze(ew.div(v, size), last), row.shape, tuple(range(axis)))
            for v in (ew.select(idle, sh.full_like(x, 1), x), y)
        )
        new, rest = ew.add(ew.mul(c, row), ew.mul(s, w)), ew.sub(ew.mul(c, w), ew.mul(s, row))
        return dynamic_slice.dynamic_update_slice_in_dim(r, new, k, axis), rest

    return ma.lower_loop(b, count, step, families.lower_formula(b, start, operands))[:1]


@cholesky_update_p.def_jvp
def _update_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    """``R' = phi(R^-T M' R^-1) R`` where ``M = r^T r + w w^T``; ``phi`` takes the upper half."""
    r, w = primals
    change, tw = rules.instantiate_all(tangents, [x.aval for x in primals])
    out = tr.bind1(cholesky_update_p, primals, params)
    half = ma.mm(ma.mT(ma.upper_part(r)), ma.upper_part(change))
    shape = (*w.shape, 1)
    half = ew.add(half, ma.mm(sh.reshape(w, shape), ma.mT(sh.reshape(tw, shape))))
    inner = ew.add(half, ma.mT(half))
    inner = triangular.triangular_solve(out, inner, left_side=True, transpose_a=True)
    inner = triangular.triangular_solve(out, inner)
    halved = ew.div(inner, sh.full_like(inner, 2))
    return (out,), (ma.mm(ma.on_diagonal(halved, ma.upper_part(inner)), out),)


def cholesky_update(r: Array, w: Array) -> Array:
    """Return the factor ``R`` of ``R^T R = r^T r + w w^T``.

    Args:
        r: upper triangular real matrices, shape ``(..., n, n)``.
        w: vectors, shape ``(..., n)``.

    Returns:
        Upper triangular matrices with a positive diagonal, of the shape of ``r``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are neither float32 nor float64.
    """
    return tr.bind1(cholesky_update_p, (r, w), prim.NO_PARAMS)


# Tridiagonal systems of equations.


tridiagonal_solve_p: Final = Primitive("tridiagonal_solve", prim.NoParams, repeatable=True)


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
    ma.check_one_dtype("tridiagonal_solve", *avals)
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
        operands = families.lower_formula(b, lambda *xs: _longer(xs, missing), equations)
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
    return families.lower_formula(
        b, lambda x: [slicing.slice_in_dim(x, 0, count, axis=x.ndim - 2)], (x,)
    )


def _longer(operands: Sequence[Array], n: int) -> list[Array]:
    axis = operands[-1].ndim - 2
    values = (0, 1, 0, 0)
    return [
        slicing.pad_in_dim(x, 0, n, axis, more) for x, more in zip(operands, values, strict=True)
    ]


def _spread(diagonal: Array, like: Array) -> Array:
    return broadcast_in_dim(diagonal, like.shape, tuple(range(diagonal.ndim)))


def _shifted_product(offset: int, t: Array, x: Array, params: prim.NoParams) -> Array:
    """Return the product of a diagonal and what stands before or after the elements of ``x``."""
    seen = slicing.pad_in_dim(x, offset, -offset, x.ndim - 2) if offset else x
    return ew.mul(_spread(t, x), seen)


ma.def_system(tridiagonal_solve_p, *[partial(_shifted_product, by) for by in (1, 0, -1)])


def _solve_transposed(ct: Array, dl: Array, d: Array, du: Array, b: object) -> Array:
    axis = d.ndim - 1
    return tridiagonal_solve(
        slicing.pad_in_dim(du, 1, -1, axis), d, slicing.pad_in_dim(dl, -1, 1, axis), ct
    )


_MATRIX = "the matrices"
rules.def_transposes(tridiagonal_solve_p, _MATRIX, _MATRIX, _MATRIX, _solve_transposed)


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
