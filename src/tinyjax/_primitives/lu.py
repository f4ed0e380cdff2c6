"""LU factors with partial pivoting, and solutions and derivatives by them.

A system of equations is one primitive, not a factorisation and two triangular systems: NumPy then
solves it with LAPACK, and its derivative is another such system, in which XLA finds the
factorisation it has done already.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import dynamic_slice, gather_scatter, matrices as ma
from tinyjax._primitives.scatter import gather
from tinyjax._primitives.sort import SortParams, sort_p
from tinyjax._primitives.triangular import triangular_solve
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.primitives.reduce import reduce_or
from tinyjax.core.primitives.rules import def_constant, def_transposes, instantiate_all
from tinyjax.core.stablehlo import Lowering, Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av

# lu

lu_p: prim.Primitive[prim.NoParams] = ma.declare("lu", prim.NoParams)


def _lu_types(x: av.ShapedArray, params: prim.NoParams) -> prim.Avals:
    pivots = av.ShapedArray((*x.shape[:-2], min(x.shape[-2:])), dtypes.int32)
    return (x.strip_weak(), pivots)


ma.def_types(lu_p, _lu_types, square=False)


# The third result says that a pivot is zero, which is no failure: the factors are right.
ma.def_impl_by_one(lu_p, lambda x, params: ma.lapack_routine("getrf", x.dtype)(x)[:2])


@ma.def_lowering(lu_p)
def _lu_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    factors, pivots = b.results
    out, counted_from_one, _ = ma.lapack_call(
        b,
        "getrf",
        (ma.matrices(operands[0]),),
        (factors, 2),
        (pivots, 1),
        ma.status(factors),
        on_cuda=("cusolver_getrf_ffi", {}),
    )
    return out, b.sub(counted_from_one, b.full(1, pivots))


@lu_p.def_jvp
def _lu_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams) -> prim.JvpResult:
    """``L^-1 P A' U^-1`` is ``L^-1 L'`` below the diagonal and ``U' U^-1`` from it upwards.

    (de Hoog, Anderssen and Lukas 2011.) What is below the diagonal needs no last pivot, which may
    be zero, and gives the rest: ``U' = L^-1 P A' - L^-1 L' U``.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    factors, pivots = tr.bind(lu_p, (a,), params)
    m, n = a.shape[-2:]
    lower, permuted = _square(factors, m), rows(ta, pivots_to_permutation(pivots, m))
    change = triangular_solve(lower, permuted, left_side=True, lower=True, unit_diagonal=True)
    k = max(min(m - 1, n), 0)
    axis = a.ndim - 2
    below = slicing.slice_in_dim(change, 0, k, axis=axis + 1)
    below = ma.lower_part(triangular_solve(_square(factors, k), below), strict=True)
    rest = ma.upper_part(slicing.slice_in_dim(factors, 0, k, axis=axis))
    upper = ma.upper_part(ew.sub(change, ma.mm(below, rest)))
    unit = ew.add(ma.lower_part(lower, strict=True), ma.identity_like(lower))
    widths = [(0, 0, 0)] * (axis + 1) + [(0, n - k, 0)]
    below = slicing.pad(ma.mm(unit, below), sh.full((), 0, a.dtype), widths)
    return (factors, pivots), (ew.add(below, upper), prim.ZERO)


def _square(factors: Array, size: int) -> Array:
    """Return the factors as square matrices of a size, continued by the identity."""
    *batch, m, n = factors.shape
    axis = len(batch)
    corner = slicing.slice_in_dim(factors, 0, min(m, size), axis=axis)
    corner = slicing.slice_in_dim(corner, 0, min(n, size), axis=axis + 1)
    height, width = corner.shape[axis:]
    if height == width == size:
        return corner
    zero = sh.full((), 0, factors.dtype)
    front = [(0, 0, 0)] * axis
    padded = slicing.pad(corner, zero, [*front, (0, size - height, 0), (0, size - width, 0)])
    k = min(height, width)
    rest = ma.identities((*batch, size - k, size - k), factors.dtype)
    return ew.add(padded, slicing.pad(rest, zero, [*front, (k, 0, 0), (k, 0, 0)]))


def lu(x: Array) -> tuple[Array, Array, Array]:
    """Return the factors of ``P x = L U``, by Gaussian elimination with partial pivoting.

    Args:
        x: matrices, shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.

    Returns:
        ``U`` and, below its diagonal, the elements of ``L`` below its diagonal of ones, shape
        ``(..., m, n)``. For each elimination the row that was exchanged with its own, int32 of
        shape ``(..., k)``. The rows of ``x`` in their order in ``P x``, int32 of shape
        ``(..., m)``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    factors, pivots = tr.bind(lu_p, (x,), prim.NO_PARAMS)
    return factors, pivots, pivots_to_permutation(pivots, x.shape[-2])


# pivots_to_permutation


@attrs.frozen(eq=False, repr=False)
class PermutationParams(prim.Params):
    """The number of permuted rows."""

    size: int


pivots_to_permutation_p: Final = prim.Primitive(
    "pivots_to_permutation", PermutationParams, repeatable=True
)


@pivots_to_permutation_p.def_impl
def _permutation_impl(operands: prim.Hosts, params: PermutationParams) -> prim.Hosts:
    (pivots,) = operands
    if pivots.ndim == 1:
        return (_exchanged(pivots.tolist(), params.size),)
    *batch, k = pivots.shape
    flat = pivots.reshape(prod(batch), k)
    order = np.tile(np.arange(params.size, dtype=np.int32), (len(flat), 1))
    stacked = np.arange(len(flat))
    for i in range(k):
        j = flat[:, i]
        inside = (j >= 0) & (j < params.size)  # what is not there is read as 0 and not written
        mine = order[:, i].copy()
        order[:, i] = np.where(inside, order[stacked, np.where(inside, j, 0)], 0)
        order[stacked[inside], j[inside]] = mine[inside]
    return (order.reshape(*batch, params.size),)


def _exchanged(pivots: list[int], size: int) -> dtypes.HostArray:
    """Return the same for one row, without NumPy: a tenth of the time."""
    order = list(range(size))
    for i, j in enumerate(pivots):
        if 0 <= j < size:
            order[i], order[j] = order[j], order[i]
        else:
            order[i] = 0
    return np.array(order, np.int32)


@pivots_to_permutation_p.def_abstract_eval
def _permutation_type(avals: prim.Avals, params: PermutationParams) -> prim.Avals:
    (pivots,) = avals
    if pivots.dtype != dtypes.int32:
        raise errors.DtypeError(
            f"lu_pivots_to_permutation takes int32, but got {pivots.dtype.name}. Give it the "
            "pivots that lu returned."
        )
    if not pivots.ndim or pivots.shape[-1] > params.size:
        raise errors.ShapeError(
            f"lu_pivots_to_permutation needs, in its last axis, at most as many pivots as there "
            f"are rows, {errors.shortened(params.size)}, but got shape {pivots.shape}."
        )
    return (av.ShapedArray((*pivots.shape[:-1], params.size), dtypes.int32),)


@pivots_to_permutation_p.def_lowering
def _permutation_lowering(b: Lowering, operands: Values, params: PermutationParams) -> Values:
    (pivots,), (order,) = operands, b.results
    last, places = pivots.shape[-1], b.iota(order, len(order.shape) - 1)
    if not last:
        return (places,)
    exchange = _exchange if pivots.ndim == 1 else _exchange_in_all
    return ma.lower_loop(b, last, exchange, (pivots, places))[1:]


def _exchange(i: Array, pivots: Array, order: Array) -> Sequence[Array]:
    """An iteration of the loop: exchange the rows in places ``i`` and ``pivots[i]``."""

    def get(x: Array, place: Array) -> Array:
        return dynamic_slice.dynamic_slice_in_dim(x, place, 1, 0, allow_negative_indices=False)

    def put(x: Array, value: Array, place: Array) -> Array:
        return dynamic_slice.dynamic_update_slice_in_dim(
            x, value, place, 0, allow_negative_indices=False
        )

    pivot = get(pivots, i)
    j = sh.reshape(pivot, ())
    mine, other, nothing = get(order, i), get(order, j), sh.full_like(pivot, 0)
    # what is not there is read as 0 and not written
    inside = ew.and_(ew.ge(pivot, nothing), ew.lt(pivot, sh.full_like(pivot, order.shape[0])))
    order = put(order, ew.select(inside, other, nothing), i)
    return pivots, put(order, ew.select(inside, mine, get(order, j)), j)


def _exchange_in_all(i: Array, pivots: Array, order: Array) -> Sequence[Array]:
    """Return the same in a stack, whose rows are exchanged with those in different places."""
    batch = tuple(range(order.ndim - 1))
    places = sh.iota(order.shape, order.dtype, order.ndim - 1)

    def spread(x: Array) -> Array:
        return broadcast_in_dim(x, order.shape, tuple(range(x.ndim)))

    here = ew.eq(places, spread(i))
    chosen = ew.eq(
        sh.iota(pivots.shape, order.dtype, pivots.ndim - 1),
        broadcast_in_dim(i, pivots.shape, ()),
    )
    pivot = reduce_sum(ew.select(chosen, pivots, sh.full_like(pivots, 0)), (len(batch),))
    there = ew.eq(places, spread(pivot))
    mine = reduce_sum(ew.select(here, order, sh.full_like(order, 0)), (len(batch),))
    other = reduce_sum(ew.select(there, order, sh.full_like(order, 0)), (len(batch),))
    return pivots, ew.select(here, spread(other), ew.select(there, spread(mine), order))


def_constant(pivots_to_permutation_p)


sh.def_simple_batch(pivots_to_permutation_p)


def pivots_to_permutation(pivots: Array, size: int) -> Array:
    """Return the order of rows that exchanging them one after another leads to.

    Args:
        pivots: for each row, the first ones, with which it is exchanged; int32, ``(..., k)``.
        size: how many rows there are.

    Returns:
        int32 of shape ``(..., size)``.

    Raises:
        ShapeError: there are more pivots than rows.
        DtypeError: the pivots are not int32.
    """
    return tr.bind(pivots_to_permutation_p, (pivots,), PermutationParams(size))[0]


def rows(x: Array, order: Array) -> Array:
    """Return the rows of matrices in the orders given, ``(..., m)``."""
    if not x.size:
        return x
    n = x.ndim
    batch = tuple(range(n - 2))
    numbers = gather_scatter.GatherDimensionNumbers((n - 1,), (n - 2,), (n - 2,), batch, batch)
    sizes = (*(1 for _ in batch), 1, x.shape[-1])
    return gather(x, sh.reshape(order, (*order.shape, 1)), numbers, sizes, mode="clip")


# solve


@attrs.frozen(eq=False, repr=False)
class SolveParams(prim.Params):
    """The flag for transposed matrices."""

    transpose_a: bool


solve_p: Final = prim.Primitive("solve", SolveParams, repeatable=True)
ma.def_cubic_flops(solve_p)


_solve_hosts = ma.lapack_of_numpy("solve", "dd->d", np.linalg.solve)


@solve_p.def_impl
def _solve_impl(operands: prim.Hosts, params: SolveParams) -> prim.Hosts:
    a, b = operands
    if params.transpose_a:
        a = a.swapaxes(-1, -2)
    return _solve_hosts(a, b)


@solve_p.def_host
def _solve_host(avals: prim.Avals, params: SolveParams) -> prim.Kernel | None:
    kernel = ma.kernel_of_numpy("solve", "dd->d", avals[0])
    if kernel is None or not params.transpose_a:
        return kernel
    return lambda a, b: kernel(a.swapaxes(-1, -2), b)


@solve_p.def_abstract_eval
def _solve_type(avals: prim.Avals, params: SolveParams) -> prim.Avals:
    a, b = avals
    ma.check_operands("solve", a, b)
    if a.shape[-1] != b.shape[-2]:
        raise errors.ShapeError(
            f"solve needs as many right-hand sides' rows as there are equations, but got {a} and "
            f"{b}."
        )
    return (b.strip_weak(),)


@solve_p.def_lowering
def _solve_lowering(b: Lowering, operands: Values, params: SolveParams) -> Values:
    return lower_formula(b, lambda a, c: [_solve_by_factors(a, c, params.transpose_a)], operands)


def _solve_by_factors(a: Array, b: Array, transpose_a: bool) -> Array:
    factors, _, order = lu(a)
    x = solve_factored(factors, order, b, transpose_a, False)
    diagonal = ma.diagonal_of(factors)
    singular = reduce_or(ew.eq(diagonal, sh.full_like(diagonal, 0)), (diagonal.ndim - 1,))
    singular = broadcast_in_dim(singular, x.shape, tuple(range(singular.ndim)))
    return ew.select(singular, sh.full_like(x, float("nan")), x)


def solve_factored(
    factors: Array, order: Array, b: Array, transpose_a: bool, conjugate_a: bool
) -> Array:
    """Solve ``op(a) x = b``, given the result of ``lu`` for ``a``."""

    def half(rhs: Array, lower: bool) -> Array:
        return triangular_solve(
            factors,
            rhs,
            left_side=True,
            lower=lower,
            unit_diagonal=lower,
            transpose_a=transpose_a,
            conjugate_a=conjugate_a,
        )

    if transpose_a:
        return rows(half(half(b, False), True), _inverse(order))
    return half(half(rows(b, order), True), False)


def _inverse(order: Array) -> Array:
    """Return the inverses of permutations: the indices, sorted along with them."""
    axis = order.ndim - 1
    indices = sh.iota(order.shape, order.dtype, axis)
    return tr.bind(sort_p, (order, indices), SortParams(axis, 1, False))[1]


ma.def_system(solve_p, lambda ta, x, params: ma.mm(ma.mT(ta) if params.transpose_a else ta, x))
def_transposes(
    solve_p,
    "the matrices",
    lambda ct, a, b, params: tr.bind1(solve_p, (a, ct), SolveParams(not params.transpose_a)),
)


ma.def_system_batch(solve_p)


def solve(a: Array, b: Array) -> Array:
    """Solve ``a x = b``.

    Args:
        a: shape ``(..., n, n)``.
        b: shape ``(..., n, m)``, of ``a``'s dtype.

    Returns:
        ``x``, of the shape of ``b``; NaN where ``a`` is singular.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind(solve_p, (a, b), SolveParams(False))[0]
