"""Eigenvalues, eigenvectors and singular values of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import attrs
import numpy as np
from numpy.linalg import _umath_linalg

from tinyjax import dtypes
from tinyjax._primitives import arg_extrema, lu, matrices as ma
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.families import all_hold, lower_formula
from tinyjax.core.primitives.reduce import reduce_and
from tinyjax.core.primitives.rules import def_no_derivative, instantiate_all
from tinyjax.core.stablehlo import Lowering, SSAValue, Values, types as hlo
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av

# Eigenvalues and eigenvectors of matrices that need not be Hermitian, and Schur forms.
#
# Eigenvectors have length one, and their greatest component is real: derivatives are those of
# vectors that keep to this. Where eigenvalues are equal, their vectors are not determined, and
# their derivatives are infinite or NaN. Those of values are right while there is a basis of
# eigenvectors; where there is none, derivatives are infinite or NaN.


# eig


@attrs.frozen(eq=False, repr=False)
class EigParams(prim.Params):
    """The flags for left and right eigenvectors."""

    left: bool
    right: bool


eig_p: prim.Primitive[EigParams] = ma.declare("eig", EigParams)


def _eig_types(x: av.ShapedArray, params: EigParams) -> prim.Avals:
    dtype = dtypes.to_complex(x.dtype)
    values, vectors = av.ShapedArray(x.shape[:-1], dtype), av.ShapedArray(x.shape, dtype)
    return (values, *[vectors] * (params.left + params.right))


ma.def_types(eig_p, _eig_types)


@eig_p.def_impl
def _eig_impl(operands: prim.Hosts, params: EigParams) -> prim.Hosts:
    if params.left:
        return _with_left_vectors(operands, params)
    dtype = dtypes.to_complex(operands[0].dtype)

    def stack(a: dtypes.HostArray) -> Sequence[dtypes.HostArray]:
        if not params.right:
            return (np.linalg.eigvals(a).astype(dtype),)
        if a.dtype.kind == "f" and all_hold(np.isfinite(a)):
            # what np.linalg.eig does, without its other checks, which take longer
            values, vectors = _umath_linalg.eig(a, signature="d->DD")
            if not np.count_nonzero(values.imag):
                values, vectors = values.real, vectors.real
            return values.astype(dtype), vectors.astype(dtype)
        return [out.astype(dtype) for out in np.linalg.eig(a)]

    return ma.where_possible(stack, *operands)


def _eig_of_one(a: dtypes.HostArray, params: EigParams) -> Sequence[dtypes.HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    ma.check_finite(a)
    return tuple(linalg.eig(a, left=True, right=params.right, check_finite=False))


_with_left_vectors = ma.impl_by_one(eig_p, _eig_of_one)


@ma.def_lowering(eig_p)
def _eig_lowering(b: Lowering, operands: Values, params: EigParams) -> Values:
    """Of a real matrix the routines return the real and the imaginary parts of the eigenvalues."""
    (x,), (values, *_) = operands, b.results
    is_complex = dtypes.is_complex(x.dtype)
    part = hlo.tensor(values.shape, x.dtype), 1
    vectors = hlo.tensor(x.shape, values.dtype), 2
    left, right = ("V" if is_computed else "N" for is_computed in (params.left, params.right))
    # computes by LAPACK on the processor, or by MAGMA where that is installed
    hybrid = f"cuhybrid_eig_{'comp' if is_complex else 'real'}"
    *parts, of_left, of_right, info = ma.lapack_call(
        b,
        "geev",
        (ma.matrices(x),),
        *[part] * (1 if is_complex else 2),
        vectors,
        vectors,
        ma.status(x.type),
        on_cuda=(hybrid, {"magma": "auto", "left": params.left, "right": params.right}),
        in_place=(),
        compute_left=left,
        compute_right=right,
    )
    eigenvalues = parts[0] if is_complex else b.op("stablehlo.complex", *parts, result=values)
    outs = [eigenvalues, *[of_left] * params.left, *[of_right] * params.right]
    return ma.nan_where_failed(b, info, outs)


@eig_p.def_jvp
def _eig_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: EigParams) -> prim.JvpResult:
    """``E = V^-1 A' V``: ``w' = diag(E)`` and ``V' = V (E / (w_j - w_i) + C)`` (Giles 2008, 3.1).

    ``C`` is diagonal, and keeps the vectors' lengths and what component of theirs is real. Left
    vectors are the right ones of ``A^H``, whose eigenvalues are the conjugates.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    values, *vectors, right = tr.bind(eig_p, (a,), EigParams(params.left, True))
    ta = ew.convert_element_type(ta, values.dtype)
    inner = lu.solve(right, ma.mm(ta, right))
    outs, changes = [values, *vectors], [ma.diagonal_of(inner)]
    if params.left:
        (left,) = vectors
        changes.append(_turned(ew.conj(values), left, lu.solve(left, ma.mm(ma.mH(ta), left))))
    if params.right:
        outs.append(right)
        changes.append(_turned(values, right, inner))
    return outs, changes


def _turned(values: Array, vectors: Array, inner: Array) -> Array:
    """Return the tangents of eigenvectors, given ``V^-1 A' V``."""
    axis = vectors.ndim - 2
    change = ma.mm(vectors, ma.over_differences(inner, values))
    size = ew.abs_(vectors)
    still = ew.imag(vectors)
    size = ew.select(ew.eq(still, sh.full_like(still, 0)), size, sh.full_like(size, -1))
    greatest = arg_extrema.argmax(size, axis, dtypes.int32)
    n = vectors.ndim
    place = broadcast_in_dim(greatest, vectors.shape, (*range(axis), n - 1))
    chosen = ew.eq(sh.iota(vectors.shape, dtypes.int32, axis), place)
    longer = ew.real(reduce_sum(ew.mul(ew.conj(vectors), change), (axis,)))
    turned, length = (
        reduce_sum(ew.select(chosen, part, sh.zeros_like(part)), (axis,))
        for part in (ew.imag(change), ew.real(vectors))
    )
    turn = ew.div(turned, length)
    return ew.add(
        change, ew.mul(vectors, ma.along_rows(ew.complex_(ew.neg(longer), ew.neg(turn)), vectors))
    )


def eig(x: Array, *, left: bool = True, right: bool = True) -> Sequence[Array]:
    """Return the eigenvalues of matrices, and their left and right eigenvectors.

    Args:
        x: matrices, shape ``(..., n, n)``.
        left: whether to return matrices whose columns ``u`` have ``u^H x = w u^H``.
        right: whether to return matrices whose columns ``v`` have ``x v = w v``.

    Returns:
        The eigenvalues, complex, ``(..., n)``, in the order that LAPACK finds them in; and the
        vectors that are wanted, left ones first.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return tr.bind(eig_p, (x,), EigParams(left, right))


# schur

schur_p: prim.Primitive[prim.NoParams] = ma.declare("schur", prim.NoParams)


ma.def_types(schur_p, lambda x, params: (x.strip_weak(), x.strip_weak()))


def _schur_of_one(a: dtypes.HostArray, params: prim.NoParams) -> Sequence[dtypes.HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    ma.check_finite(a)
    form, vectors = linalg.schur(a, check_finite=False)
    return form, vectors


ma.def_impl_by_one(schur_p, _schur_of_one)


def schur_call(b: Lowering, x: SSAValue) -> list[SSAValue]:
    """Emit a call of LAPACK: ``T`` and ``Z``, and the routine's status."""
    part = hlo.tensor(x.shape[:-1], x.dtype), 1
    form, vectors, *_, info = ma.lapack_call(
        b,
        "gees",
        (ma.matrices(x),),
        (x.type, 2),
        (x.type, 2),
        *[part] * (1 if dtypes.is_complex(x.dtype) else 2),
        ma.status(x.type),  # how many eigenvalues were chosen: none
        ma.status(x.type),
        mode="V",
        sort="N",
    )
    return [form, vectors, info]


@ma.def_lowering(schur_p)
def _schur_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    form, vectors, info = schur_call(b, *operands)
    return ma.nan_where_failed(b, info, (form, vectors))


schur_p.def_lowering(platform="cuda")(ma.refuse_on_cuda("schur"))


def_no_derivative(schur_p, "Eigenvalues and eigenvectors have: use eig.")


def schur(x: Array) -> tuple[Array, Array]:
    """Return ``T``, upper triangular, and unitary ``Z`` with ``Z T Z^H = x``.

    Args:
        x: matrices, shape ``(..., n, n)``. For real ones ``T`` is real, and has a block of two by
            two on its diagonal for each pair of conjugate eigenvalues.

    Returns:
        ``T`` and ``Z``, of the type of ``x``. They have no derivative.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    form, vectors = tr.bind(schur_p, (x,), prim.NO_PARAMS)
    return form, vectors


# Eigenvalues and eigenvectors of Hermitian matrices, and singular values and vectors.
#
# Vectors are determined up to sign (complex ones: up to phase), which LAPACK chooses. Derivatives
# are those that leave it as it is: what depends on the choice has no other. Vectors that belong to
# equal values are not determined at all: any basis of the space that they span will do. They turn
# infinitely fast. So sums of functions of the values have derivatives, and vectors of other values.
# A function of the matrix that is put together of values and vectors is NaN, since no rule could
# give it, and so are second derivatives.


# eigh

eigh_p: prim.Primitive[prim.NoParams] = ma.declare("eigh", prim.NoParams)


_eigh_of_hosts = ma.lapack_of_numpy("eigh_lo", "d->dd", np.linalg.eigh)


@eigh_p.def_impl
def _eigh_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    values, vectors = _eigh_of_hosts(*operands)
    return vectors, values


def _eigh_types(x: av.ShapedArray, params: prim.NoParams) -> prim.Avals:
    return (x.strip_weak(), av.ShapedArray(x.shape[:-1], dtypes.real_part(x.dtype)))


ma.def_types(eigh_p, _eigh_types)


@ma.def_lowering(eigh_p)
def _eigh_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    vectors, values = b.results
    *results, info = ma.lapack_call(
        b,
        "syevd",
        (ma.matrices(operands[0]),),
        (vectors, 2),
        (values, 1),
        ma.status(vectors),
        on_cuda=("cusolver_syevd_ffi", {"lower": True, "algorithm": _BY_SIZE}),
        mode="V",
        uplo="L",
    )
    return ma.nan_where_failed(b, info, results)


#: Lets cusolver choose between QR and Jacobi's iteration.
_BY_SIZE: Final = "\0"


@eigh_p.def_jvp
def _eigh_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    """``E = V^H A' V``: ``w' = diag(E)`` and ``V' = V (E / (w_j - w_i))`` (Giles 2008, 3.1)."""
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    vectors, values = tr.bind(eigh_p, (a,), params)
    inner = ma.mm(ma.mm(ma.mH(vectors), ma.from_lower(ta)), vectors)
    turned = ma.mm(vectors, ma.over_differences(inner, values))
    return (vectors, values), (turned, ma.real_part(ma.diagonal_of(inner)))


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
    eigh_p.rules.abstract_eval((x.aval,), prim.NO_PARAMS)
    vectors, values = tr.bind(
        eigh_p, (ma.hermitian_part(x) if symmetrize_input else x,), prim.NO_PARAMS
    )
    return vectors, values


# svd


@attrs.frozen(eq=False, repr=False)
class SvdParams(prim.Params):
    """The flags for the vectors, and for as many as make square matrices."""

    full_matrices: bool
    compute_uv: bool


svd_p: prim.Primitive[SvdParams] = ma.declare("svd", SvdParams)


_singular_values_of_hosts = ma.lapack_of_numpy(
    "svd", "d->d", partial(np.linalg.svd, compute_uv=False)
)
_full_svd_of_hosts = ma.lapack_of_numpy("svd_f", "d->ddd", np.linalg.svd)
_reduced_svd_of_hosts = ma.lapack_of_numpy(
    "svd_s", "d->ddd", partial(np.linalg.svd, full_matrices=False)
)


# LAPACK's divide and conquer may go on for ever with infinities and NaNs, so it gets none.


@svd_p.def_impl
def _svd_impl(operands: prim.Hosts, params: SvdParams) -> prim.Hosts:
    (x,) = operands
    finite = np.isfinite(x)
    if not all_hold(finite):
        good = np.asarray(finite.all((-2, -1)))
        zero, nan = x.dtype.type(0), x.real.dtype.type(np.nan)
        results = _svd_impl((np.where(good[..., None, None], x, zero),), params)
        flags = [good.reshape(good.shape + (1,) * (y.ndim - good.ndim)) for y in results]
        return [np.where(a, y, nan) for a, y in zip(flags, results, strict=True)]
    if not params.compute_uv:
        return _singular_values_of_hosts(x)
    svd_of_hosts = _full_svd_of_hosts if params.full_matrices else _reduced_svd_of_hosts
    u, s, vh = svd_of_hosts(x)
    return s, u, vh


def _is_finite(x: Array) -> Array:
    """Return whether all elements of a matrix are finite."""
    parts = (ew.real(x), ew.imag(x)) if dtypes.is_complex(x.dtype) else (x,)
    flags = [reduce_and(ew.is_finite(part), (x.ndim - 2, x.ndim - 1)) for part in parts]
    return flags[0] if len(flags) == 1 else ew.and_(*flags)


def _svd_types(x: av.ShapedArray, params: SvdParams) -> prim.Avals:
    *batch, m, n = x.shape
    k = min(m, n)
    values = av.ShapedArray((*batch, k), dtypes.real_part(x.dtype))
    if not params.compute_uv:
        return (values,)
    left, right = (m, n) if params.full_matrices else (k, k)
    return (
        values,
        av.ShapedArray((*batch, m, left), x.dtype),
        av.ShapedArray((*batch, right, n), x.dtype),
    )


ma.def_types(svd_p, _svd_types, square=False)


@svd_p.def_lowering
def _svd_lowering(b: Lowering, operands: Values, params: SvdParams) -> Values:
    (x,), (values, *vectors) = operands, b.results
    if ma.nothing_to_do(operands):
        return _nothing_decomposed(b)
    *batch, m, n = x.shape
    # Vectors that are not wanted have a place all the same.
    k = min(m, n)
    u, vh = vectors or (hlo.tensor((*batch, *shape), x.dtype) for shape in ((m, k), (k, n)))
    mode = "N" if not params.compute_uv else "A" if params.full_matrices else "S"
    places = (x.type, 2), (values, 1), (u, 2), (vh, 2), ma.status(x.type)
    x, finite = _zero_unless_finite(b, x)
    _, *results, info = ma.lapack_call(b, "gesdd", (ma.matrices(x),), *places, mode=mode)
    info = b.select(finite, info, b.full_like(info, 1))
    return ma.nan_where_failed(b, info, results[: len(b.results)])


def _nothing_decomposed(b: Lowering) -> Values:
    values, *vectors = b.results
    identities = lower_formula(b, lambda: [ma.identities(v.shape, v.dtype) for v in vectors], ())
    return (b.full(0, values), *identities)


def _zero_unless_finite(b: Lowering, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Write matrices for which the iterations end, and which of them were given."""
    (finite,) = lower_formula(b, lambda x: [_is_finite(x)], (x,))
    good = b.broadcast_in_dim(finite, x.shape, range(x.ndim - 2))
    return b.select(good, x, b.full_like(x, 0)), finite


#: Matrices with no more rows and columns are decomposed by Jacobi's iteration on GPUs, and of those
#: with no more than the second number whole stacks at once, which gives all vectors.
_JACOBI: Final = 1024
_STACKED: Final = 32


@svd_p.def_lowering(platform="cuda")
def _svd_on_cuda(b: Lowering, operands: Values, params: SvdParams) -> Values:
    (x,), (values, *vectors) = operands, b.results
    if ma.nothing_to_do(operands):
        return _nothing_decomposed(b)
    *batch, m, n = x.shape
    k = min(m, n)
    x, finite = _zero_unless_finite(b, x)
    if max(m, n) <= _JACOBI:
        are_all = params.full_matrices or k <= _STACKED
        left, right = (m, n) if are_all else (k, k)
        u, v = (hlo.tensor((*batch, *size), x.dtype) for size in ((m, left), (n, right)))
        _, *results, info = ma.routine_call(
            b,
            "cusolver_gesvdj_ffi",
            (ma.matrices(x),),
            *((x.type, 2), (values, 1), (u, 2), (v, 2), ma.status(x.type)),
            full_matrices=are_all,
            compute_uv=params.compute_uv,
        )
        if params.compute_uv:
            results = [results[0], *_as_wanted(b, results[1], results[2], vectors)]
    else:
        # Routines take matrices that are not wider than tall: others they take by rows, and so
        # transposed.
        turned = m < n
        axes = 0 if turned else 2
        u, vh = vectors or [hlo.tensor((), x.dtype)] * 2
        pair = [(of, axes if vectors else 0) for of in ((vh, u) if turned else (u, vh))]
        _, *results, info = ma.routine_call(
            b,
            "cusolver_gesvd_ffi",
            ((x, axes),),
            *((x.type, axes), (values, 1), *pair, ma.status(x.type)),
            full_matrices=params.full_matrices,
            compute_uv=params.compute_uv,
            transposed=turned,
        )
        if turned:
            results = [results[0], results[2], results[1]]
    info = b.select(finite, info, b.full_like(info, 1))
    return ma.nan_where_failed(b, info, results[: len(b.results)])


def _as_wanted(b: Lowering, u: SSAValue, v: SSAValue, types: Sequence[hlo.TensorType]) -> Values:
    """Write the first vectors of ``U`` and of ``V^H``, where there may be more, and ``V``."""
    count, *_ = types[1].shape[-2:]

    def formula(u: Array, v: Array) -> list[Array]:
        axis = u.ndim - 1
        columns = slicing.slice_in_dim(u, 0, types[0].shape[-1], axis=axis)
        return [columns, ma.mH(slicing.slice_in_dim(v, 0, count, axis=axis))]

    return lower_formula(b, formula, (u, v))


@svd_p.def_jvp
def _svd_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: SvdParams) -> prim.JvpResult:
    """With ``E = U^H A' V``, ``s' = Re diag(E)`` (Giles 2008, 3.2; Wan and Zhang 2019).

    ``U^H U'`` and ``V^H V'`` are skew-Hermitian; off the diagonal they solve
    ``E = (U^H U') S - S (V^H V')``, and on it the phase is turned in ``U``. With the Hermitian part
    ``H`` of ``E`` and the other, ``K``, they are ``H / (s_j - s_i) +- K / (s_j + s_i)``.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    m, n = a.shape[-2:]
    s, all_u, all_vh = tr.bind(svd_p, (a,), SvdParams(params.full_matrices, True))
    all_v = ma.mH(all_vh)
    u, v = [ma.first_vectors(vectors, min(m, n)) for vectors in (all_u, all_v)]
    along_v = ma.mm(ta, v)
    inner = ma.mm(ma.mH(u), along_v)
    ts = ma.real_part(ma.diagonal_of(inner))
    if not params.compute_uv:
        return (s,), (ts,)
    flipped, half = ma.mH(inner), sh.full_like(inner, 0.5)
    turn = ma.quotients(ew.mul(half, ew.sub(inner, flipped)), ew.add(*ma.pairs(s)), s)
    both = ma.over_differences(ew.mul(half, ew.add(inner, flipped)), s)
    left, right = ew.add(both, turn), ma.off_diagonal(ew.sub(both, turn))
    if dtypes.is_complex(a.dtype):
        left = ma.on_diagonal(ew.add(left, turn), left)
    tu, tv = ma.mm(u, left), ma.mm(v, right)
    if m > n:
        beyond = ew.sub(along_v, ma.mm(u, inner))
        tu = ew.add(tu, ma.quotients(beyond, ma.along_rows(s, beyond), s))
    if n > m:
        along_u = ma.mm(ma.mH(ta), u)
        beyond = ew.sub(along_u, ma.mm(v, flipped))
        tv = ew.add(tv, ma.quotients(beyond, ma.along_rows(s, beyond), s))
    if params.full_matrices:
        tu = ma.with_last_vectors(all_u, tu, ta)
        tv = ma.with_last_vectors(all_v, tv, ta)
    return (s, all_u, all_vh), (ts, tu, ma.mH(tv))


def svd(x: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return ``U``, the singular values ``s`` and ``V^H``, with ``U diag(s) V^H = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``U`` and ``V`` are square; otherwise they have ``min(m, n)``
            columns. Of several vectors beyond these only the space is determined: derivatives that
            depend on them are NaN.

    Returns:
        ``U``, ``s`` (real, descending) and ``V^H``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    s, u, vh = tr.bind(svd_p, (x,), SvdParams(full_matrices, True))
    return u, s, vh


def singular_values(x: Array) -> Array:
    """Return the singular values, real and descending, of matrices ``(..., m, n)``."""
    return tr.bind(svd_p, (x,), SvdParams(False, False))[0]
