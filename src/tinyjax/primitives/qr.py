"""QR factors, by Householder reflections."""

from __future__ import annotations

from typing import Literal

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
from tinyjax.errors import DifferentiationError, ShapeError
from tinyjax.primitives import matrices as ma
from tinyjax.primitives.broadcast import broadcast_in_dim
from tinyjax.primitives.elementwise import add, div, eq, select, sub
from tinyjax.primitives.families import lower_formula
from tinyjax.primitives.rules import instantiate_all
from tinyjax.primitives.shape import def_simple_batch, full, full_like
from tinyjax.primitives.slicing import pad, slice_in_dim
from tinyjax.primitives.triangular import triangular_solve
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import TensorType, Value, Values, tensor


@attrs.frozen(repr=False)
class QrParams(Params):
    """Whether ``Q`` is square, with columns beyond those that ``x`` determines."""

    full_matrices: bool


qr_p: Primitive[QrParams] = Primitive("qr", QrParams)


@qr_p.def_impl
def _qr_impl(operands: Hosts, params: QrParams) -> Hosts:
    (x,) = operands
    mode: Literal["complete", "reduced"] = "complete" if params.full_matrices else "reduced"
    return tuple(np.linalg.qr(x, mode))


@qr_p.def_abstract_eval
def _qr_type(avals: Avals, params: QrParams) -> Avals:
    (x,) = avals
    ma.check_matrices("qr", x)
    *batch, m, n = x.shape
    k = m if params.full_matrices else min(m, n)
    return (ShapedArray((*batch, m, k), x.dtype), ShapedArray((*batch, k, n), x.dtype))


@qr_p.def_lowering
def _qr_lowering(b: Lowering, operands: Values, params: QrParams) -> Values:
    (x,), (q, r) = operands, b.results
    if ma.nothing_to_do(operands):
        return (*lower_formula(b, lambda: [ma.identities(q.shape, q.dtype)], ()), b.full(0, r))
    *batch, m, n = x.shape
    scales = tensor((*batch, min(m, n)), x.dtype)
    packed, factors = _reflect(b, x, scales)
    # The reflectors, below the diagonal, in as many columns as Q has.
    (columns,) = lower_formula(b, lambda y: [_with_columns(y, q.shape[-1])], (packed,))
    routine = "ungqr" if dtypes.is_complex(x.dtype) else "orgqr"
    (orthogonal,) = ma.lapack_call(b, routine, (ma.matrices(columns), (factors, 1)), (q, 2))
    (triangular,) = lower_formula(
        b, lambda y: [ma.upper_part(slice_in_dim(y, 0, r.shape[-2], axis=y.ndim - 2))], (packed,)
    )
    return orthogonal, triangular


def _reflect(b: Lowering, x: Value, scales: TensorType) -> list[Value]:
    """Write the reflections that make matrices triangular: packed, and their factors."""
    return ma.lapack_call(b, "geqrf", (ma.matrices(x),), (x.type, 2), (scales, 1))


def _with_columns(x: Array, count: int) -> Array:
    """The first columns, or the matrices with columns of zeros added."""
    axis = x.ndim - 1
    if x.shape[axis] >= count:
        return slice_in_dim(x, 0, count, axis=axis)
    config = [(0, 0, 0)] * axis + [(0, count - x.shape[axis], 0)]
    return pad(x, full((), 0, x.dtype), config)


@qr_p.def_jvp
def _qr_jvp(primals: Arrays, tangents: Tangents, params: QrParams) -> JvpResult:
    """``W = Q^H Q'`` is skew-Hermitian, and ``Q^H A' = W R + R'`` (Walter and Lehmann 2010).

    For complex matrices, ``W`` has an imaginary diagonal, which keeps that of ``R`` real, as
    LAPACK has it. Matrices wider than tall have ``Q`` of their first columns.
    """
    (a,), (ta,) = primals, instantiate_all(tangents, [x.aval for x in primals])
    q, r = bind(qr_p, (a,), params)
    m, n = a.shape[-2:]
    if params.full_matrices and m > n:
        raise DifferentiationError(
            f"qr of matrices taller than wide, here {m} by {n}, has no derivative with "
            "full_matrices=True (mode='complete'), since the last columns of Q are not determined. "
            "Leave it out."
        )
    k = min(m, n)
    axis = a.ndim - 1
    square, change = slice_in_dim(r, 0, k, axis=axis), slice_in_dim(ta, 0, k, axis=axis)
    scaled = triangular_solve(square, change)
    inner = ma.mm(ma.mH(q), scaled)
    lower = ma.lower_part(inner, strict=True)
    rotation = sub(lower, ma.mH(lower))
    if dtypes.is_complex(a.dtype):
        twice = sub(inner, ma.mH(inner))
        imaginary = div(twice, full_like(twice, 2))
        rotation = ma.on_diagonal(imaginary, rotation)
    tq = add(ma.mm(q, sub(rotation, inner)), scaled)
    tr = ma.upper_part(sub(ma.mm(ma.mH(q), ta), ma.mm(rotation, r)))
    return (q, r), (tq, tr)


def_simple_batch(qr_p)


def qr(x: Array, *, full_matrices: bool = True) -> tuple[Array, Array]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = x``.

    Args:
        x: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``Q`` is square, shape ``(..., m, m)``; otherwise it has
            ``min(m, n)`` columns, and ``R`` as many rows. With it, matrices taller than wide have
            no derivative.

    Returns:
        ``Q`` and ``R``.

    Raises:
        ShapeError: ``x`` does not hold matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    q, r = bind(qr_p, (x,), QrParams(full_matrices))
    return q, r


# The reflections themselves

geqrf_p: Primitive[NoParams] = Primitive("geqrf", NoParams)


@geqrf_p.def_impl
def _geqrf_impl(operands: Hosts, params: NoParams) -> Hosts:
    packed, factors = np.linalg.qr(operands[0], "raw")
    return np.swapaxes(packed, -1, -2), factors


@geqrf_p.def_abstract_eval
def _geqrf_type(avals: Avals, params: NoParams) -> Avals:
    (x,) = avals
    ma.check_matrices("geqrf", x)
    *batch, m, n = x.shape
    return (ShapedArray(x.shape, x.dtype), ShapedArray((*batch, min(m, n)), x.dtype))


@geqrf_p.def_lowering
def _geqrf_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    (x,), (_, factors) = operands, b.results
    if ma.nothing_to_do(operands):
        return x, b.full(0, factors)
    return _reflect(b, x, factors)


def_simple_batch(geqrf_p)


def geqrf(x: Array) -> tuple[Array, Array]:
    """Return the Householder reflections that make matrices triangular, as LAPACK packs them.

    Args:
        x: matrices, shape ``(..., m, n)``.

    Returns:
        ``R`` with the vectors of the reflections below its diagonal, of the shape of ``x``; and
        the factors ``tau`` of the reflections ``I - tau v v^H``, shape ``(..., min(m, n))``. They
        have no derivative: differentiate ``qr``.
    """
    packed, factors = bind(geqrf_p, (x,), NO_PARAMS)
    return packed, factors


def ormqr(a: Array, taus: Array, c: Array, *, left: bool = True, transpose: bool = False) -> Array:
    """Multiply by the ``Q`` that reflections make: ``Q c``, ``Q^H c``, ``c Q`` or ``c Q^H``.

    ``Q = I - V T V^H``, where ``T^-1`` has the factors' inverses on its diagonal and ``V^H V``
    above it (R. Schreiber and C. Van Loan, SIAM J. Sci. Stat. Comput. 10(1), 1989).

    Args:
        a: the reflections, as ``geqrf`` packs them, shape ``(..., m, n)``.
        taus: their factors, shape ``(..., k)``.
        c: matrices of ``m`` rows, or columns where they are on the left.
        left: whether ``Q`` is on the left.
        transpose: whether to multiply by ``Q^H``.

    Raises:
        ShapeError: ``c`` has another number of rows or columns.
    """
    size, rows = c.shape[-2 if left else -1], a.shape[-2]
    if size != rows:
        raise ShapeError(
            f"ormqr: Q is {rows} by {rows}, but the shape of c is {c.shape}, of which "
            f"{'the rows' if left else 'the columns'} should be as many."
        )
    columns = slice_in_dim(a, 0, taus.shape[-1], axis=a.ndim - 1)
    vectors = ma.on_diagonal(full_like(columns, 1), ma.lower_part(columns, strict=True))
    idle = eq(taus, full_like(taus, 0))  # no reflection at all
    shape = vectors.shape
    wide = broadcast_in_dim(idle, shape, (*range(len(shape) - 2), len(shape) - 1))
    vectors = select(wide, full_like(vectors, 0), vectors)
    inverses = div(full_like(taus, 1), select(idle, full_like(taus, 1), taus))
    inner = ma.mm(ma.mH(vectors), vectors)
    diagonal = broadcast_in_dim(inverses, inner.shape, (*range(len(shape) - 2), len(shape) - 1))
    kernel = ma.upper_part(ma.on_diagonal(diagonal, inner))
    turned = {"transpose_a": transpose, "conjugate_a": transpose}
    if left:
        within = triangular_solve(kernel, ma.mm(ma.mH(vectors), c), left_side=True, **turned)
        return sub(c, ma.mm(vectors, within))
    within = triangular_solve(kernel, ma.mm(c, vectors), left_side=False, **turned)
    return sub(c, ma.mm(within, ma.mH(vectors)))
