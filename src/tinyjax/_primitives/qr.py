"""QR factors, by Householder reflections."""

from __future__ import annotations

import attrs
import numpy as np
from numpy.linalg import _umath_linalg

from tinyjax import dtypes
from tinyjax._primitives import lu, matrices as ma
from tinyjax._primitives.triangular import triangular_solve
from tinyjax.core.primitives import elementwise as ew, families, shape as sh, slicing
from tinyjax.core.primitives.rules import instantiate_all
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import bind, primitive as prim
from tinyjax.core.values import Array, avals as av


@attrs.frozen(eq=False, repr=False)
class QrParams(prim.Params):
    """The flags for a square ``Q``, beyond the columns that ``x`` determines, and for pivoting."""

    full_matrices: bool
    pivoting: bool = False


qr_p: prim.Primitive[QrParams] = ma.declare("qr", QrParams)


@qr_p.def_impl
def _qr_impl(operands: prim.Hosts, params: QrParams) -> prim.Hosts:
    (x,) = operands
    if params.pivoting:
        return _pivoted(operands, params)
    if x.dtype.kind == "c" or _reflections_of_hosts is None:
        return tuple(np.linalg.qr(x, "complete" if params.full_matrices else "reduced"))
    # what np.linalg.qr does, without its checks, which take long for small ones
    packed = x.astype(np.float64)
    factors = _reflections_of_hosts(packed, signature="d->d")
    *_, m, n = x.shape
    complete = params.full_matrices and m > n
    of_reflections = _umath_linalg.qr_complete if complete else _umath_linalg.qr_reduced
    q = of_reflections(packed, factors, signature="dd->d")
    r = ma.upper_of_host(packed[..., : m if complete else min(m, n), :])
    return q.astype(x.dtype, copy=False), r.astype(x.dtype, copy=False)


#: Earlier versions of NumPy have two of other names.
_reflections_of_hosts = getattr(_umath_linalg, "qr_r_raw", None)


def _qr_types(x: av.ShapedArray, params: QrParams) -> prim.Avals:
    *batch, m, n = x.shape
    k = m if params.full_matrices else min(m, n)
    factors = av.ShapedArray((*batch, m, k), x.dtype), av.ShapedArray((*batch, k, n), x.dtype)
    return (*factors, av.ShapedArray((*batch, n), dtypes.int32)) if params.pivoting else factors


ma.def_types(qr_p, _qr_types, square=False)


def _pivoted_of_one(x: dtypes.HostArray, params: QrParams) -> prim.Hosts:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    mode = "full" if params.full_matrices else "economic"
    return tuple(linalg.qr(x, mode=mode, pivoting=True, check_finite=False))


_pivoted = ma.impl_by_one(qr_p, _pivoted_of_one)


@qr_p.def_lowering
def _qr_lowering(b: Lowering, operands: hlo.Values, params: QrParams) -> hlo.Values:
    (x,), (q, r, *order) = operands, b.results
    if ma.nothing_to_do(operands):
        (one,) = families.lower_formula(b, lambda: [ma.identities(q.shape, q.dtype)], ())
        return (one, b.full(0, r), *(b.iota(of, len(of.shape) - 1) for of in order))
    *batch, m, n = x.shape
    scales = hlo.tensor((*batch, min(m, n)), x.dtype)
    pivots = []
    if params.pivoting:
        free = b.full(0, order[0])
        inputs, results = (ma.matrices(x), (free, 1)), ((x.type, 2), (order[0], 1), (scales, 1))
        packed, counted_from_one, factors = ma.lapack_call(
            b,
            "geqp3",
            inputs,
            *results,
            on_cuda=("cuhybrid_geqp3", {"magma": "auto"}),  # by LAPACK, or by MAGMA
            in_place=((0, 0), (1, 1)),
        )
        pivots.append(b.sub(counted_from_one, b.full(1, order[0])))
    else:
        packed, factors = _reflect(b, x, scales)
    # The reflectors, below the diagonal, in as many columns as Q has.
    (columns,) = families.lower_formula(b, lambda y: [_with_columns(y, q.shape[-1])], (packed,))
    (orthogonal,) = ma.reflected_identity(b, columns, factors)
    (triangular,) = families.lower_formula(
        b,
        lambda y: [ma.upper_part(slicing.slice_in_dim(y, 0, r.shape[-2], axis=y.ndim - 2))],
        (packed,),
    )
    return (orthogonal, triangular, *pivots)


def _reflect(b: Lowering, x: hlo.SSAValue, scales: hlo.TensorType) -> list[hlo.SSAValue]:
    """Write the reflections that make matrices triangular: packed, and their factors."""
    results = (x.type, 2), (scales, 1)
    return ma.lapack_call(
        b, "geqrf", (ma.matrices(x),), *results, on_cuda=("cusolver_geqrf_ffi", {})
    )


def _with_columns(x: Array, count: int) -> Array:
    """Return the first columns, or the matrices with columns of zeros added."""
    axis = x.ndim - 1
    if x.shape[axis] >= count:
        return slicing.slice_in_dim(x, 0, count, axis=axis)
    return slicing.pad_in_dim(x, 0, count - x.shape[axis], axis)


@qr_p.def_jvp
def _qr_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: QrParams) -> prim.JvpResult:
    """``W = Q^H Q'`` is skew-Hermitian, and ``Q^H A' = W R + R'`` (Walter and Lehmann 2010).

    For complex matrices, ``W`` has an imaginary diagonal, which keeps that of ``R`` real, as
    LAPACK has it. Matrices wider than tall have ``Q`` of their first columns. The order of the
    columns does not change.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    all_q, all_r, *order = bind(qr_p, (a,), params)
    for columns in order:
        ta = ma.mT(lu.rows(ma.mT(ta), columns))
    k, axis = min(a.shape[-2:]), a.ndim - 1
    q, rows = ma.first_vectors(all_q, k), all_r.shape[-2]
    r = all_r if rows == k else slicing.slice_in_dim(all_r, 0, k, axis=axis - 1)
    square, change = (
        slicing.slice_in_dim(r, 0, k, axis=axis),
        slicing.slice_in_dim(ta, 0, k, axis=axis),
    )
    scaled = triangular_solve(square, change)
    inner = ma.mm(ma.mH(q), scaled)
    lower = ma.lower_part(inner, strict=True)
    rotation = ew.sub(lower, ma.mH(lower))
    if dtypes.is_complex(a.dtype):
        twice = ew.sub(inner, ma.mH(inner))
        imaginary = ew.div(twice, sh.full_like(twice, 2))
        rotation = ma.on_diagonal(imaginary, rotation)
    tq = ew.add(ma.mm(q, ew.sub(rotation, inner)), scaled)
    tr = ma.upper_part(ew.sub(ma.mm(ma.mH(q), ta), ma.mm(rotation, r)))
    if rows > k:
        tr = slicing.pad_in_dim(tr, 0, rows - k, axis - 1)
    tq = ma.with_last_vectors(all_q, tq, ta)
    return (all_q, all_r, *order), (tq, tr, *(prim.ZERO for _ in order))


def qr(x: Array, *, full_matrices: bool = True) -> tuple[Array, Array]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``Q`` is square, shape ``(..., m, m)``; otherwise it has
            ``min(m, n)`` columns, and ``R`` as many rows. Of several columns beyond these only the
            space is determined: derivatives that depend on them are NaN.

    Returns:
        ``Q`` and ``R``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    q, r = bind(qr_p, (x,), QrParams(full_matrices))
    return q, r


def pivoted_qr(x: Array, *, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Return ``Q``, ``R`` and an order of columns, with ``Q R`` the columns of ``x`` in that order.

    The diagonal of ``R`` descends in absolute value. The arguments and errors are those of ``qr``;
    the order is int32, shape ``(..., n)``.
    """
    q, r, order = bind(qr_p, (x,), QrParams(full_matrices, True))
    return q, r, order


# The reflections themselves

geqrf_p: prim.Primitive[prim.NoParams] = ma.declare("geqrf", prim.NoParams)


@geqrf_p.def_impl
def _geqrf_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    packed, factors = np.linalg.qr(operands[0], "raw")
    return np.swapaxes(packed, -1, -2), factors


def _geqrf_types(x: av.ShapedArray, params: prim.NoParams) -> prim.Avals:
    *batch, m, n = x.shape
    return (av.ShapedArray(x.shape, x.dtype), av.ShapedArray((*batch, min(m, n)), x.dtype))


ma.def_types(geqrf_p, _geqrf_types, square=False)


@geqrf_p.def_lowering
def _geqrf_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    (x,), (_, factors) = operands, b.results
    if ma.nothing_to_do(operands):
        return x, b.full(0, factors)
    return _reflect(b, x, factors)


def geqrf(x: Array) -> tuple[Array, Array]:
    """Return the Householder reflections that make matrices triangular, as LAPACK packs them.

    Args:
        x: matrices, shape ``(..., m, n)``.

    Returns:
        ``R`` with the vectors of the reflections below its diagonal, of the shape of ``x``; and
        the factors ``tau`` of the reflections ``I - tau v v^H``, shape ``(..., min(m, n))``. They
        have no derivative: differentiate ``qr``.
    """
    packed, factors = bind(geqrf_p, (x,), prim.NO_PARAMS)
    return packed, factors
