"""Determinants: as they are, as sign and logarithm, and their derivatives, the adjugates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax._primitives import cumulative, lu as lu_, matrices as ma, spectral
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.primitives.reduce import reduce_max, reduce_min, reduce_prod
from tinyjax.core.primitives.rules import def_derivatives, instantiate_all
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av

# det

det_p: Final = prim.Primitive("det", prim.NoParams, repeatable=True)


_det_of_hosts = ma.lapack_of_numpy("det", "d->d", np.linalg.det)


det_p.def_impl(lambda operands, params: _det_of_hosts(*operands))
det_p.def_host(lambda avals, params: ma.kernel_of_numpy("det", "d->d", avals[0]))
ma.def_types(det_p, lambda x, params: (av.ShapedArray(x.shape[:-2], x.dtype),))


def _factored(x: Array) -> tuple[Array, Array]:
    """Return the diagonal of the factor U, and the sign of the permutation."""
    factors, pivots = tr.bind(lu_.lu_p, (x,), prim.NO_PARAMS)
    axis = pivots.ndim - 1
    exchanged = ew.convert_element_type(
        ew.ne(pivots, sh.iota(pivots.shape, pivots.dtype, axis)), x.dtype
    )
    factors_of_sign = ew.sub(sh.full_like(exchanged, 1), ew.add(exchanged, exchanged))
    return ma.diagonal_of(factors), reduce_prod(factors_of_sign, (axis,))


def det_by_factors(x: Array) -> Array:
    """Return the determinant, by the factors of LU."""
    diagonal, parity = _factored(x)
    return ew.mul(parity, reduce_prod(diagonal, (diagonal.ndim - 1,)))


#: Larger matrices take less time by factors than by minors.
_MOST_BY_MINORS: Final = 3


def _det_by_minors(x: Array) -> Array:
    """Return the determinants of matrices of at most three rows, by the definition."""
    n, rows, columns = x.shape[-1], x.ndim - 2, x.ndim - 1

    def element(i: int, j: int) -> Array:
        row = slicing.slice_in_dim(x, i, i + 1, axis=rows)
        return sh.squeeze(slicing.slice_in_dim(row, j, j + 1, axis=columns), (rows, columns))

    def of_two(i: int, j: int) -> Array:
        """Of the last two rows, and two columns."""
        falling = ew.mul(element(n - 2, i), element(n - 1, j))
        return ew.sub(falling, ew.mul(element(n - 2, j), element(n - 1, i)))

    if n == 1:
        return element(0, 0)
    if n == 2:
        return of_two(0, 1)
    first, second, third = (
        ew.mul(element(0, k), of_two((k + 1) % 3, (k + 2) % 3)) for k in range(3)
    )
    return ew.add(ew.add(first, second), third)


@det_p.def_lowering
def _det_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    few = 0 < operands[0].shape[-1] <= _MOST_BY_MINORS
    return lower_formula(b, lambda x: [_det_by_minors(x) if few else det_by_factors(x)], operands)


# Jacobi's formula, det' = tr(adj(A) A'), which holds for singular matrices too
def_derivatives(
    det_p, lambda t, out, a: ma.trace_of(ma.mm(tr.bind1(adjugate_p, (a,), prim.NO_PARAMS), t))
)


sh.def_simple_batch(det_p)


def det(x: Array) -> Array:
    """Return the determinants of matrices, shape ``(..., n, n)``.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return tr.bind(det_p, (x,), prim.NO_PARAMS)[0]


# slogdet

slogdet_p: Final = prim.Primitive("slogdet", prim.NoParams, repeatable=True)


_slogdet_of_hosts = ma.lapack_of_numpy("slogdet", "d->dd", np.linalg.slogdet)


def _slogdet_types(x: av.ShapedArray, params: prim.NoParams) -> prim.Avals:
    shape = x.shape[:-2]
    return (av.ShapedArray(shape, x.dtype), av.ShapedArray(shape, dtypes.real_part(x.dtype)))


slogdet_p.def_impl(lambda operands, params: _slogdet_of_hosts(*operands))
ma.def_types(slogdet_p, _slogdet_types)


def slogdet_by_factors(x: Array) -> Sequence[Array]:
    """Return the sign and the logarithm of the determinant's size, by the factors of LU."""
    diagonal, parity = _factored(x)
    axes = (diagonal.ndim - 1,)
    return ew.mul(parity, reduce_prod(ew.sign(diagonal), axes)), reduce_sum(
        ew.log(ew.abs_(diagonal)), axes
    )


@slogdet_p.def_lowering
def _slogdet_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    return lower_formula(b, slogdet_by_factors, operands)


@slogdet_p.def_jvp
def _slogdet_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    """``tr(A^-1 A')`` is the logarithm's derivative, its imaginary part the phase's."""
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    signs, logarithms = tr.bind(slogdet_p, (a,), prim.NO_PARAMS)
    relative = ma.trace_of(tr.bind1(lu_.solve_p, (a, ta), lu_.SolveParams(False)))
    if not dtypes.is_complex(a.dtype):
        return (signs, logarithms), (prim.ZERO, relative)
    iteration = ew.imag(relative)
    return (signs, logarithms), (
        ew.mul(signs, ew.complex_(sh.zeros_like(iteration), iteration)),
        ma.real_part(relative),
    )


sh.def_simple_batch(slogdet_p)


def slogdet(x: Array) -> tuple[Array, Array]:
    """Return the signs (or phases) of determinants, and the logarithms of their absolute values.

    Args:
        x: matrices, shape ``(..., n, n)``.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    signs, logarithms = tr.bind(slogdet_p, (x,), prim.NO_PARAMS)
    return signs, logarithms


# adjugate

adjugate_p: prim.Primitive[prim.NoParams] = prim.Primitive(
    "adjugate", prim.NoParams, repeatable=True
)


def _host_products_without_one(s: dtypes.HostArray) -> dtypes.HostArray:
    before, after = np.ones_like(s), np.ones_like(s)
    before[..., 1:] = np.cumprod(s[..., :-1], -1)
    after[..., :-1] = np.cumprod(s[..., :0:-1], -1)[..., ::-1]
    return before * after


@adjugate_p.def_impl
def _adjugate_impl(operands: prim.Hosts, params: prim.NoParams) -> prim.Hosts:
    (x,) = operands
    if not x.size:
        return (x,)
    u, s, vh = ma.where_possible(np.linalg.svd, x)
    phase = np.linalg.det(u @ vh)[..., None, None]
    products = _host_products_without_one(s)[..., None, :]
    inner = vh.conj().swapaxes(-1, -2) * products @ u.conj().swapaxes(-1, -2)
    return ((phase * inner).astype(x.dtype),)


ma.def_types(adjugate_p, lambda x, params: (x.strip_weak(),))


def _turned(x: Array, rows: int, columns: int) -> Array:
    """Matrices whose rows and columns begin later, and end with those before."""
    for axis, by in ((x.ndim - 2, rows), (x.ndim - 1, columns)):
        first, rest = slicing.split(x, (by, x.shape[axis] - by), axis)
        x = slicing.concatenate([rest, first], axis)
    return x


def _minors_of_two(x: Array, y: Array) -> Array:
    """Adjugates of matrices of three rows, which are quadratic: with ``x`` and ``y`` as factors."""
    ahead = ew.mul(_turned(x, 1, 1), _turned(y, 2, 2))
    return ma.mT(ew.sub(ahead, ew.mul(_turned(x, 1, 2), _turned(y, 2, 1))))


def _adjugate_by_minors(x: Array) -> Array:
    """Return the adjugates of matrices of at most three rows, by the definition."""
    n = x.shape[-1]
    if n == 1:
        return sh.full_like(x, 1)
    if n == 2:
        signs = ew.sub(ma.identity_like(x), ew.sub(sh.full_like(x, 1), ma.identity_like(x)))
        return ew.mul(signs, ma.mT(sh.rev(x, (x.ndim - 2, x.ndim - 1))))
    return _minors_of_two(x, x)


def _change_by_minors(a: Array, ta: Array) -> Array:
    """Return the derivative of ``_adjugate_by_minors``."""
    n = a.shape[-1]
    if n == 1:
        return sh.zeros_like(a)
    if n == 2:
        return _adjugate_by_minors(ta)
    return ew.add(_minors_of_two(ta, a), _minors_of_two(a, ta))


def _between(u: Array, inner: Array, vh: Array) -> Array:
    """``adj(U inner' V^H)``, given ``inner``, the adjugate of what stands between."""
    phase = tr.bind1(det_p, (ma.mm(u, vh),), prim.NO_PARAMS)
    turned = ma.mm(ma.mm(ma.mH(vh), inner), ma.mH(u))
    return ew.mul(broadcast_in_dim(phase, turned.shape, tuple(range(phase.ndim))), turned)


def _products(s: Array, after: bool) -> Array:
    """Return the products of the values before each, or after each."""
    axis, by = s.ndim - 1, -1 if after else 1
    return cumulative.cumprod(slicing.pad_in_dim(s, by, -by, axis, 1), axis, reverse=after)


def _adjugate_by_vectors(x: Array) -> Array:
    """``adj(U S V^H) = det(U V^H) V adj(S) U^H``, also where ``s`` has zeros (Stewart 1998)."""
    if not x.size:
        return x
    s, u, vh = tr.bind(spectral.svd_p, (x,), spectral.SvdParams(False, True))
    products = ew.mul(_products(s, False), _products(s, True))
    inner = ma.on_diagonal(ma.along_columns(products, x), sh.zeros_like(x))
    return _between(u, inner, vh)


@adjugate_p.def_lowering
def _adjugate_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    few = 0 < operands[0].shape[-1] <= _MOST_BY_MINORS
    formula = _adjugate_by_minors if few else _adjugate_by_vectors
    return lower_formula(b, lambda x: [formula(x)], operands)


def _adjugate_derivative(ta: Array, out: Array, a: Array) -> Array:
    """Two formulas, where there are many minors.

    One divides by the determinant; the other needs the singular vectors.

    The first has derivatives of every order. The second holds for singular matrices, too, but its
    own derivatives need distinct singular values, and so it is taken for ill-conditioned ones only.
    """
    if not a.size:
        return ta
    if a.shape[-1] <= _MOST_BY_MINORS:
        return _change_by_minors(a, ta)
    (s,) = tr.bind(spectral.svd_p, (identities.stop_gradient(a),), spectral.SvdParams(False, False))
    axes = (s.ndim - 1,)
    limit = float(np.sqrt(np.finfo(s.dtype).eps))
    greatest = reduce_max(s, axes)
    good = ew.gt(reduce_min(s, axes), ew.mul(greatest, sh.full_like(greatest, limit)))
    good = broadcast_in_dim(good, a.shape, tuple(range(good.ndim)))
    # Either formula is given matrices that suit it where those at hand do not.
    regular = _adjugate_change(ew.select(good, a, ma.identity_like(a)), ta)
    index = ma.along_rows(sh.iota(s.shape, s.dtype, axes[0]), a)
    distinct = ma.on_diagonal(ew.add(index, sh.full_like(index, 1)), sh.zeros_like(a))
    singular = _adjugate_change_by_vectors(ew.select(good, distinct, a), ta)
    return ew.select(good, regular, singular)


def_derivatives(adjugate_p, _adjugate_derivative)


def _adjugate_change(a: Array, ta: Array) -> Array:
    """``adj' = adj tr(A^-1 A') - A^-1 A' adj``, from ``adj = det(A) A^-1``."""
    adjugate = tr.bind1(adjugate_p, (a,), prim.NO_PARAMS)
    relative = tr.bind1(lu_.solve_p, (a, ta), lu_.SolveParams(False))
    trace = ma.trace_of(relative)
    spread = broadcast_in_dim(trace, a.shape, tuple(range(trace.ndim)))
    return ew.sub(ew.mul(adjugate, spread), ma.mm(relative, adjugate))


def _adjugate_change_by_vectors(a: Array, ta: Array) -> Array:
    """Return the same by the singular vectors, as a formula of diagonal matrices.

    With ``E = U^H A' V`` and ``K`` the products of all singular values but two, ``adj(S)'`` is
    ``-K E`` element by element off the diagonal, and ``K diag(E)`` on it.
    """
    s, u, vh = tr.bind(spectral.svd_p, (a,), spectral.SvdParams(False, True))
    inner = ma.mm(ma.mm(ma.mH(u), ta), ma.mH(vh))
    shape = inner.shape
    axis = len(shape) - 1
    # between two values: a row of K from the diagonal on is a product that grows along the row
    columns = broadcast_in_dim(s, shape, (*range(axis - 1), axis))
    previous = slicing.pad_in_dim(columns, 1, -1, axis, 1)
    row, column = (sh.iota(shape, dtypes.int32, i) for i in (axis - 1, axis))
    after_next = ew.gt(column, ew.add(row, sh.full_like(row, 1)))
    between = cumulative.cumprod(ew.select(after_next, previous, sh.full_like(previous, 1)), axis)
    before = broadcast_in_dim(_products(s, False), shape, tuple(range(axis)))
    after = broadcast_in_dim(_products(s, True), shape, (*range(axis - 1), axis))
    above = ew.mul(ew.mul(before, between), after)
    above = ew.select(ew.lt(row, column), above, sh.zeros_like(above))
    products = ma.same_kind(ew.add(above, ma.mT(above)), inner)
    diagonal = ma.on_diagonal(inner, sh.zeros_like(inner))
    sums = reduce_sum(ma.mm(products, diagonal), (axis,))
    change = ma.on_diagonal(ma.along_columns(sums, inner), ew.neg(ew.mul(products, inner)))
    return _between(u, change, vh)


sh.def_simple_batch(adjugate_p)


def adjugate(x: Array) -> Array:
    """Return the adjugates of matrices, ``det(x) x^-1`` where there is an inverse.

    Args:
        x: shape ``(..., n, n)``.

    Returns:
        Of the same shape; element ``i, j`` is the cofactor of element ``j, i``.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return tr.bind(adjugate_p, (x,), prim.NO_PARAMS)[0]
