"""Products of matrices with their transposes, added to others, and Cholesky factors so updated."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import broadcast as bc
from tinyjax.core.primitives.elementwise import add, div, eq, mul, select, sqrt, sub
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.primitives.rules import def_derivatives, instantiate_all
from tinyjax.core.primitives.shape import full_like, reshape, squeeze
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.primitives import matrices as ma
from tinyjax.primitives.dynamic_slice import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from tinyjax.primitives.triangular import triangular_solve

# symmetric_product


@attrs.frozen(eq=False, repr=False)
class ProductParams(prim.Params):
    """The factors of the product and of what is added."""

    alpha: float
    beta: float


symmetric_product_p: Primitive[ProductParams] = ma.declare("symmetric_product", ProductParams)


@symmetric_product_p.def_impl
def _product_impl(operands: prim.Hosts, params: ProductParams) -> prim.Hosts:
    a, c = operands
    one = a.dtype.type
    return (one(params.alpha) * (a @ np.swapaxes(a, -1, -2)) + one(params.beta) * c,)


@symmetric_product_p.def_abstract_eval
def _product_type(avals: prim.Avals, params: ProductParams) -> prim.Avals:
    a, c = avals
    ma.check_matrices("symmetric_product", a)
    _check_real("symmetric_product", avals)
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
    if avals[0].dtype != avals[1].dtype:
        raise errors.DtypeError(
            f"{name} needs operands of one dtype, but got {' and '.join(map(str, avals))}."
        )


@symmetric_product_p.def_lowering
def _product_lowering(b: Lowering, operands: Values, params: ProductParams) -> Values:
    def formula(a: Array, c: Array) -> Sequence[Array]:
        return [_combine(ma.mm(a, ma.mT(a)), params.alpha, c, params.beta)]

    return lower_formula(b, formula, operands)


def _combine(x: Array, alpha: float, c: Array, beta: float) -> Array:
    return add(mul(full_like(x, alpha), x), mul(full_like(c, beta), c))


def _of_factor(t: Array, out: Array, a: Array, c: Array, params: ProductParams) -> Array:
    half = ma.mm(t, ma.mT(a))
    return mul(full_like(half, params.alpha), add(half, ma.mT(half)))


def_derivatives(
    symmetric_product_p, _of_factor, lambda t, out, a, c, params: mul(full_like(t, params.beta), t)
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
    return bind1(symmetric_product_p, (a, c), ProductParams(alpha, beta))


# cholesky_update

cholesky_update_p: Primitive[prim.NoParams] = ma.declare("cholesky_update", prim.NoParams)


@cholesky_update_p.def_abstract_eval
def _update_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    r, w = avals
    ma.check_matrices("cholesky_update", r, square=True)
    _check_real("cholesky_update", avals)
    if w.shape != r.shape[:-1]:
        raise errors.ShapeError(
            "cholesky_update needs a vector of as many elements as the factor has rows, but got "
            f"shapes {r.shape} and {w.shape}."
        )
    return (r.strip_weak(),)


def _update_of_one(r: HostArray, w: HostArray, params: prim.NoParams) -> Sequence[HostArray]:
    """The triangular factor of the two, one above the other."""
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
        return ma.upper_part(r), reshape(w, (*w.shape[:-1], 1, count))

    def step(k: Array, r: Array, w: Array) -> Sequence[Array]:
        axis = r.ndim - 2
        last = (axis, axis + 1)
        row = dynamic_slice_in_dim(r, k, 1, axis)
        x, y = (dynamic_slice_in_dim(v, k, 1, axis + 1) for v in (row, w))
        size = sqrt(add(mul(x, x), mul(y, y)))
        idle = eq(size, full_like(size, 0))
        size = select(idle, full_like(size, 1), size)
        c, s = (
            bc.broadcast_in_dim(squeeze(div(v, size), last), row.shape, tuple(range(axis)))
            for v in (select(idle, full_like(x, 1), x), y)
        )
        new, rest = add(mul(c, row), mul(s, w)), sub(mul(c, w), mul(s, row))
        return dynamic_update_slice_in_dim(r, new, k, axis), rest

    return ma.lower_loop(b, count, step, lower_formula(b, start, operands))[:1]


@cholesky_update_p.def_jvp
def _update_jvp(
    primals: prim.Arrays, tangents: prim.Tangents, params: prim.NoParams
) -> prim.JvpResult:
    """``R' = phi(R^-T M' R^-1) R`` where ``M = r^T r + w w^T``; ``phi`` takes the upper half."""
    r, w = primals
    tr, tw = instantiate_all(tangents, [x.aval for x in primals])
    out = bind1(cholesky_update_p, primals, params)
    half = ma.mm(ma.mT(ma.upper_part(r)), ma.upper_part(tr))
    shape = (*w.shape, 1)
    half = add(half, ma.mm(reshape(w, shape), ma.mT(reshape(tw, shape))))
    inner = add(half, ma.mT(half))
    inner = triangular_solve(out, inner, left_side=True, transpose_a=True)
    inner = triangular_solve(out, inner)
    halved = div(inner, full_like(inner, 2))
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
    return bind1(cholesky_update_p, (r, w), prim.NO_PARAMS)
