"""Eigenvalues and eigenvectors of Hermitian matrices, and singular values and vectors.

Vectors are determined up to sign (complex ones: up to phase), which LAPACK chooses. Derivatives are
those that leave it as it is: what depends on the choice has no other. Vectors that belong to equal
values are not determined at all; there derivatives of vectors are infinite or NaN, and those of
values are right.
"""

from __future__ import annotations

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.primitive import (
    NO_PARAMS,
    Arrays,
    Avals,
    Hosts,
    JvpResult,
    NoParams,
    Params,
    Primitive,
    Tangents,
)
from tinyjax.core.trace import bind
from tinyjax.errors import DifferentiationError
from tinyjax.primitives.elementwise import add, div, mul, sub
from tinyjax.primitives.families import lower_formula
from tinyjax.primitives.matrices import (
    along_columns,
    along_rows,
    check_matrices,
    diagonal_of,
    differences,
    from_lower,
    hermitian_part,
    identities,
    lapack_call,
    lower_nothing,
    matrices,
    mH,
    mm,
    nan_where_failed,
    nothing_to_do,
    off_diagonal,
    on_diagonal,
    real_part,
    same_kind,
    status,
    where_possible,
)
from tinyjax.primitives.rules import instantiate_all
from tinyjax.primitives.shape import def_simple_batch, full_like
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values, tensor

# eigh

eigh_p: Primitive[NoParams] = Primitive("eigh", NoParams)


@eigh_p.def_impl
def _eigh_impl(operands: Hosts, params: NoParams) -> Hosts:
    (x,) = operands
    values, vectors = where_possible(np.linalg.eigh, x)
    return vectors, values


@eigh_p.def_abstract_eval
def _eigh_type(avals: Avals, params: NoParams) -> Avals:
    (x,) = avals
    check_matrices("eigh", x, square=True)
    return (x.strip_weak(), ShapedArray(x.shape[:-1], dtypes.real_part(x.dtype)))


@eigh_p.def_lowering
def _eigh_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    if nothing_to_do(operands):
        return lower_nothing(b)
    vectors, values = b.results
    *results, info = lapack_call(
        b,
        "heevd" if dtypes.is_complex(vectors.dtype) else "syevd",
        (matrices(operands[0]),),
        (vectors, 2),
        (values, 1),
        status(vectors),
        mode="V",
        uplo="L",
    )
    return nan_where_failed(b, info, results)


@eigh_p.def_jvp
def _eigh_jvp(primals: Arrays, tangents: Tangents, params: NoParams) -> JvpResult:
    """``E = V^H A' V``: ``w' = diag(E)`` and ``V' = V (E / (w_j - w_i))`` (Giles 2008, 3.1)."""
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    vectors, values = bind(eigh_p, (a,), params)
    inner = mm(mm(mH(vectors), from_lower(ta)), vectors)
    gaps = same_kind(differences(values, inner), inner)
    turned = mm(vectors, off_diagonal(div(inner, gaps)))
    return (vectors, values), (turned, real_part(diagonal_of(inner)))


def_simple_batch(eigh_p)


def eigh(x: Array, *, symmetrize_input: bool = True) -> tuple[Array, Array]:
    """Return the eigenvectors and eigenvalues of Hermitian matrices.

    Args:
        x: Hermitian matrices, shape ``(..., n, n)``.
        symmetrize_input: whether to take ``(x + x^H) / 2`` for ``x``; otherwise only the lower
            triangle is looked at, which then has the whole derivative, too.

    Returns:
        Matrices whose columns are the eigenvectors, and the eigenvalues, real and ascending.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    eigh_p.rules.abstract_eval((x.aval,), NO_PARAMS)
    vectors, values = bind(eigh_p, (hermitian_part(x) if symmetrize_input else x,), NO_PARAMS)
    return vectors, values


# svd


@attrs.frozen(repr=False)
class SvdParams(Params):
    """Whether the vectors are wanted, and as many as make square matrices."""

    full_matrices: bool
    compute_uv: bool


svd_p: Primitive[SvdParams] = Primitive("svd", SvdParams)


@svd_p.def_impl
def _svd_impl(operands: Hosts, params: SvdParams) -> Hosts:
    (x,) = operands
    if not params.compute_uv:
        return where_possible(lambda a: (np.linalg.svd(a, compute_uv=False),), x)
    u, s, vh = where_possible(lambda a: np.linalg.svd(a, params.full_matrices), x)
    return s, u, vh


@svd_p.def_abstract_eval
def _svd_type(avals: Avals, params: SvdParams) -> Avals:
    (x,) = avals
    check_matrices("svd", x)
    *batch, m, n = x.shape
    k = min(m, n)
    values = ShapedArray((*batch, k), dtypes.real_part(x.dtype))
    if not params.compute_uv:
        return (values,)
    left, right = (m, n) if params.full_matrices else (k, k)
    return (
        values,
        ShapedArray((*batch, m, left), x.dtype),
        ShapedArray((*batch, right, n), x.dtype),
    )


@svd_p.def_lowering
def _svd_lowering(b: Lowering, operands: Values, params: SvdParams) -> Values:
    (x,), (values, *vectors) = operands, b.results
    if nothing_to_do(operands):
        made = lower_formula(b, lambda: [identities(v.shape, v.dtype) for v in vectors], ())
        return (b.full(0, values), *made)
    *batch, m, n = x.shape
    # Vectors that are not wanted have a place all the same.
    u, vh = vectors or (tensor((*batch, k, k), x.dtype) for k in (m, n))
    mode = "N" if not params.compute_uv else "A" if params.full_matrices else "S"
    places = (x.type, 2), (values, 1), (u, 2), (vh, 2), status(x.type)
    _, *results, info = lapack_call(b, "gesdd", (matrices(x),), *places, mode=mode)
    return nan_where_failed(b, info, results[: len(b.results)])


@svd_p.def_jvp
def _svd_jvp(primals: Arrays, tangents: Tangents, params: SvdParams) -> JvpResult:
    """With ``E = U^H A' V``, ``s' = Re diag(E)`` (Giles 2008, 3.2; Wan and Zhang 2019).

    ``U^H U'`` and ``V^H V'`` are skew-Hermitian; off the diagonal they solve
    ``E = (U^H U') S - S (V^H V')``, and on it the phase is turned in ``U``.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    m, n = a.shape[-2:]
    if params.full_matrices and params.compute_uv and m != n:
        raise DifferentiationError(
            f"svd of matrices that are not square, here {m} by {n}, has no derivative with "
            "full_matrices=True, since the last vectors are not determined. Say "
            "full_matrices=False."
        )
    s, u, vh = bind(svd_p, (a,), SvdParams(False, True))
    v = mH(vh)
    along_v = mm(ta, v)
    inner = mm(mH(u), along_v)
    ts = real_part(diagonal_of(inner))
    if not params.compute_uv:
        return (s,), (ts,)
    columns, row_factors = along_rows(s, inner), along_columns(s, inner)
    flipped = mH(inner)
    # s_j^2 - s_i^2, as a product, since squares cancel; there is no dividing by 0 on the diagonal
    sums = on_diagonal(full_like(inner, 1), add(columns, row_factors))
    gaps = mul(same_kind(differences(s, inner), inner), sums)
    left = off_diagonal(div(add(mul(inner, columns), mul(row_factors, flipped)), gaps))
    right = off_diagonal(div(add(mul(row_factors, inner), mul(flipped, columns)), gaps))
    if dtypes.is_complex(a.dtype):
        phase = div(sub(inner, flipped), mul(full_like(columns, 2), columns))
        left = on_diagonal(phase, left)
    tu, tv = mm(u, left), mm(v, right)
    if m > n:
        beyond = sub(along_v, mm(u, inner))
        tu = add(tu, div(beyond, along_rows(s, beyond)))
    if n > m:
        along_u = mm(mH(ta), u)
        beyond = sub(along_u, mm(v, flipped))
        tv = add(tv, div(beyond, along_rows(s, beyond)))
    return (s, u, vh), (ts, tu, mH(tv))


def_simple_batch(svd_p)


def svd(x: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return ``U``, the singular values ``s`` and ``V^H``, with ``U diag(s) V^H = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``U`` and ``V`` are square; otherwise they have ``min(m, n)``
            columns. With it, matrices that are not square have no derivative.

    Returns:
        ``U``, ``s`` (real, descending) and ``V^H``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    s, u, vh = bind(svd_p, (x,), SvdParams(full_matrices, True))
    return u, s, vh


def singular_values(x: Array) -> Array:
    """Return the singular values, real and descending, of matrices ``(..., m, n)``."""
    return bind(svd_p, (x,), SvdParams(False, False))[0]
