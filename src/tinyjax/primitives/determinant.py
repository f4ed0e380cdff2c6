"""Determinants: as they are, as sign and logarithm, and their derivatives, the adjugates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.explicit import of_stacks
from tinyjax.core.primitive import (
    DIVISION,
    NO_PARAMS,
    ZERO,
    Arrays,
    Avals,
    Hosts,
    JvpResult,
    Kernel,
    NoParams,
    Primitive,
    Tangents,
)
from tinyjax.core.trace import bind, bind1
from tinyjax.dtypes import HostArray
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives import matrices as ma
from tinyjax.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.primitives.cumulative import cumprod
from tinyjax.primitives.families import lower_formula
from tinyjax.primitives.lu import SolveParams, lu_p, solve_p
from tinyjax.primitives.reduce import reduce_max, reduce_min, reduce_prod
from tinyjax.primitives.rules import def_derivatives, instantiate_all
from tinyjax.primitives.shape import (
    def_simple_batch,
    full,
    full_like,
    iota,
    rev,
    squeeze,
    zeros_like,
)
from tinyjax.primitives.slicing import concatenate, pad, slice_in_dim, split
from tinyjax.primitives.spectral import SvdParams, svd_p
from tinyjax.primitives.stop_gradient import stop_gradient
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values

# det

det_p: Primitive[NoParams] = Primitive("det", NoParams)


_det_of_hosts = ma.lapack_of_numpy("det", "d->d", np.linalg.det)


@det_p.def_impl
def _det_impl(operands: Hosts, params: NoParams) -> Hosts:
    return _det_of_hosts(*operands)


@det_p.def_kernel
def _det_kernel(avals: Avals, params: NoParams) -> Kernel | None:
    return ma.kernel_of_numpy("det", "d->d", avals[0])


@det_p.def_abstract_eval
def _det_type(avals: Avals, params: NoParams) -> Avals:
    (x,) = avals
    ma.check_matrices("det", x, square=True)
    return (ShapedArray(x.shape[:-2], x.dtype),)


def _factored(x: Array) -> tuple[Array, Array]:
    """The diagonal of the factor U, and the sign of the permutation."""
    factors, pivots = bind(lu_p, (x,), NO_PARAMS)
    axis = pivots.ndim - 1
    exchanged = ew.convert_element_type(
        ew.ne(pivots, iota(pivots.shape, pivots.dtype, axis)), x.dtype
    )
    factors_of_sign = ew.sub(full_like(exchanged, 1), ew.add(exchanged, exchanged))
    return ma.diagonal_of(factors), reduce_prod(factors_of_sign, (axis,))


def _det_by_factors(x: Array) -> Array:
    diagonal, parity = _factored(x)
    return ew.mul(parity, reduce_prod(diagonal, (diagonal.ndim - 1,)))


#: Larger matrices take less time by factors than by minors.
_MOST_BY_MINORS: Final = 3


def _det_by_minors(x: Array) -> Array:
    """The determinants of matrices of at most three rows, by the definition."""
    n, rows, columns = x.shape[-1], x.ndim - 2, x.ndim - 1

    def element(i: int, j: int) -> Array:
        row = slice_in_dim(x, i, i + 1, axis=rows)
        return squeeze(slice_in_dim(row, j, j + 1, axis=columns), (rows, columns))

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
def _det_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    few = 0 < operands[0].shape[-1] <= _MOST_BY_MINORS
    return lower_formula(b, lambda x: [_det_by_minors(x) if few else _det_by_factors(x)], operands)


# Jacobi's formula, det' = tr(adj(A) A'), which holds for singular matrices too
def_derivatives(det_p, lambda t, out, a: ma.trace_of(ma.mm(bind1(adjugate_p, (a,), NO_PARAMS), t)))


det_p.def_rule(DIVISION)(of_stacks)
def_simple_batch(det_p)


def det(x: Array) -> Array:
    """Return the determinants of matrices, shape ``(..., n, n)``.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return bind(det_p, (x,), NO_PARAMS)[0]


# slogdet

slogdet_p: Primitive[NoParams] = Primitive("slogdet", NoParams)


_slogdet_of_hosts = ma.lapack_of_numpy("slogdet", "d->dd", np.linalg.slogdet)


@slogdet_p.def_impl
def _slogdet_impl(operands: Hosts, params: NoParams) -> Hosts:
    return _slogdet_of_hosts(*operands)


@slogdet_p.def_abstract_eval
def _slogdet_type(avals: Avals, params: NoParams) -> Avals:
    (x,) = avals
    ma.check_matrices("slogdet", x, square=True)
    shape = x.shape[:-2]
    return (ShapedArray(shape, x.dtype), ShapedArray(shape, dtypes.real_part(x.dtype)))


def _slogdet_by_factors(x: Array) -> Sequence[Array]:
    diagonal, parity = _factored(x)
    axes = (diagonal.ndim - 1,)
    return ew.mul(parity, reduce_prod(ew.sign(diagonal), axes)), reduce_sum(
        ew.log(ew.abs_(diagonal)), axes
    )


@slogdet_p.def_lowering
def _slogdet_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    return lower_formula(b, _slogdet_by_factors, operands)


@slogdet_p.def_jvp
def _slogdet_jvp(primals: Arrays, tangents: Tangents, params: NoParams) -> JvpResult:
    """``tr(A^-1 A')`` is the logarithm's derivative, its imaginary part the phase's."""
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    signs, logarithms = bind(slogdet_p, (a,), NO_PARAMS)
    relative = ma.trace_of(bind1(solve_p, (a, ta), SolveParams(False)))
    if not dtypes.is_complex(a.dtype):
        return (signs, logarithms), (ZERO, relative)
    iteration = ew.imag(relative)
    return (signs, logarithms), (
        ew.mul(signs, ew.complex_(zeros_like(iteration), iteration)),
        ma.real_part(relative),
    )


slogdet_p.def_rule(DIVISION)(of_stacks)
def_simple_batch(slogdet_p)


def slogdet(x: Array) -> tuple[Array, Array]:
    """Return the signs (or phases) of determinants, and the logarithms of their absolute values.

    Args:
        x: matrices, shape ``(..., n, n)``.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    signs, logarithms = bind(slogdet_p, (x,), NO_PARAMS)
    return signs, logarithms


# adjugate

adjugate_p: Primitive[NoParams] = Primitive("adjugate", NoParams)


def _host_products_without_one(s: HostArray) -> HostArray:
    before, after = np.ones_like(s), np.ones_like(s)
    before[..., 1:] = np.cumprod(s[..., :-1], -1)
    after[..., :-1] = np.cumprod(s[..., :0:-1], -1)[..., ::-1]
    return before * after


@adjugate_p.def_impl
def _adjugate_impl(operands: Hosts, params: NoParams) -> Hosts:
    (x,) = operands
    if not x.size:
        return (x,)
    u, s, vh = ma.where_possible(np.linalg.svd, x)
    phase = np.linalg.det(u @ vh)[..., None, None]
    products = _host_products_without_one(s)[..., None, :]
    inner = vh.conj().swapaxes(-1, -2) * products @ u.conj().swapaxes(-1, -2)
    return ((phase * inner).astype(x.dtype),)


@adjugate_p.def_abstract_eval
def _adjugate_type(avals: Avals, params: NoParams) -> Avals:
    (x,) = avals
    ma.check_matrices("adjugate", x, square=True)
    return (x.strip_weak(),)


def _turned(x: Array, rows: int, columns: int) -> Array:
    """Matrices whose rows and columns begin later, and end with those before."""
    for axis, by in ((x.ndim - 2, rows), (x.ndim - 1, columns)):
        first, rest = split(x, (by, x.shape[axis] - by), axis)
        x = concatenate([rest, first], axis)
    return x


def _minors_of_two(x: Array, y: Array) -> Array:
    """Adjugates of matrices of three rows, which are quadratic: with ``x`` and ``y`` as factors."""
    ahead = ew.mul(_turned(x, 1, 1), _turned(y, 2, 2))
    return ma.mT(ew.sub(ahead, ew.mul(_turned(x, 1, 2), _turned(y, 2, 1))))


def _adjugate_by_minors(x: Array) -> Array:
    """The adjugates of matrices of at most three rows, by the definition."""
    n = x.shape[-1]
    if n == 1:
        return full_like(x, 1)
    if n == 2:
        signs = ew.sub(ma.identity_like(x), ew.sub(full_like(x, 1), ma.identity_like(x)))
        return ew.mul(signs, ma.mT(rev(x, (x.ndim - 2, x.ndim - 1))))
    return _minors_of_two(x, x)


def _change_by_minors(a: Array, ta: Array) -> Array:
    """The derivative of ``_adjugate_by_minors``."""
    n = a.shape[-1]
    if n == 1:
        return zeros_like(a)
    if n == 2:
        return _adjugate_by_minors(ta)
    return ew.add(_minors_of_two(ta, a), _minors_of_two(a, ta))


def _between(u: Array, inner: Array, vh: Array) -> Array:
    """``adj(U inner' V^H)``, given ``inner``, the adjugate of what stands between."""
    phase = bind1(det_p, (ma.mm(u, vh),), NO_PARAMS)
    turned = ma.mm(ma.mm(ma.mH(vh), inner), ma.mH(u))
    return ew.mul(broadcast_in_dim(phase, turned.shape, tuple(range(phase.ndim))), turned)


def _products_before(s: Array) -> Array:
    """The products of the values before each."""
    axis = s.ndim - 1
    one = full((), 1, s.dtype)
    config = [(0, 0, 0)] * axis + [(1, -1, 0)]
    return cumprod(pad(s, one, config), axis)


def _products_after(s: Array) -> Array:
    """The products of the values after each."""
    axis = s.ndim - 1
    config = [(0, 0, 0)] * axis + [(-1, 1, 0)]
    return cumprod(pad(s, full((), 1, s.dtype), config), axis, reverse=True)


def _adjugate_by_vectors(x: Array) -> Array:
    """``adj(U S V^H) = det(U V^H) V adj(S) U^H``, also where ``s`` has zeros (Stewart 1998)."""
    if not x.size:
        return x
    s, u, vh = bind(svd_p, (x,), SvdParams(False, True))
    products = ew.mul(_products_before(s), _products_after(s))
    inner = ma.on_diagonal(ma.along_columns(products, x), zeros_like(x))
    return _between(u, inner, vh)


@adjugate_p.def_lowering
def _adjugate_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
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
    (s,) = bind(svd_p, (stop_gradient(a),), SvdParams(False, False))
    axes = (s.ndim - 1,)
    limit = float(np.sqrt(np.finfo(s.dtype).eps))
    greatest = reduce_max(s, axes)
    good = ew.gt(reduce_min(s, axes), ew.mul(greatest, full_like(greatest, limit)))
    good = broadcast_in_dim(good, a.shape, tuple(range(good.ndim)))
    # Either formula is given matrices that suit it where those at hand do not.
    regular = _adjugate_change(ew.select(good, a, ma.identity_like(a)), ta)
    index = ma.along_rows(iota(s.shape, s.dtype, axes[0]), a)
    distinct = ma.on_diagonal(ew.add(index, full_like(index, 1)), zeros_like(a))
    singular = _adjugate_change_by_vectors(ew.select(good, distinct, a), ta)
    return ew.select(good, regular, singular)


def_derivatives(adjugate_p, _adjugate_derivative)


def _adjugate_change(a: Array, ta: Array) -> Array:
    """``adj' = adj tr(A^-1 A') - A^-1 A' adj``, from ``adj = det(A) A^-1``."""
    adjugate = bind1(adjugate_p, (a,), NO_PARAMS)
    relative = bind1(solve_p, (a, ta), SolveParams(False))
    trace = ma.trace_of(relative)
    spread = broadcast_in_dim(trace, a.shape, tuple(range(trace.ndim)))
    return ew.sub(ew.mul(adjugate, spread), ma.mm(relative, adjugate))


def _adjugate_change_by_vectors(a: Array, ta: Array) -> Array:
    """The same in terms of the singular vectors, for which it is a formula of diagonal matrices.

    With ``E = U^H A' V`` and ``K`` the products of all singular values but two, ``adj(S)'`` is
    ``-K E`` element by element off the diagonal, and ``K diag(E)`` on it.
    """
    s, u, vh = bind(svd_p, (a,), SvdParams(False, True))
    inner = ma.mm(ma.mm(ma.mH(u), ta), ma.mH(vh))
    shape = inner.shape
    axis = len(shape) - 1
    # between two values: a row of K from the diagonal on is a product that grows along the row
    columns = broadcast_in_dim(s, shape, (*range(axis - 1), axis))
    previous = pad(columns, full((), 1, s.dtype), [(0, 0, 0)] * axis + [(1, -1, 0)])
    row, column = (iota(shape, dtypes.int32, i) for i in (axis - 1, axis))
    after_next = ew.gt(column, ew.add(row, full_like(row, 1)))
    between = cumprod(ew.select(after_next, previous, full_like(previous, 1)), axis)
    before = broadcast_in_dim(_products_before(s), shape, tuple(range(axis)))
    after = broadcast_in_dim(_products_after(s), shape, (*range(axis - 1), axis))
    above = ew.mul(ew.mul(before, between), after)
    above = ew.select(ew.lt(row, column), above, zeros_like(above))
    products = ma.same_kind(ew.add(above, ma.mT(above)), inner)
    diagonal = ma.on_diagonal(inner, zeros_like(inner))
    sums = reduce_sum(ma.mm(products, diagonal), (axis,))
    change = ma.on_diagonal(ma.along_columns(sums, inner), ew.neg(ew.mul(products, inner)))
    return _between(u, change, vh)


adjugate_p.def_rule(DIVISION)(of_stacks)
def_simple_batch(adjugate_p)


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
    return bind(adjugate_p, (x,), NO_PARAMS)[0]
