"""Eigenvalues and eigenvectors of matrices that need not be Hermitian, and Schur forms.

Eigenvectors have length one, and their greatest component is real: derivatives are those of
vectors that keep to this. Where eigenvalues are equal, their vectors are not determined:
derivatives of vectors are infinite or NaN there. Those of values are right while there is a basis
of eigenvectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np
from numpy.linalg import _umath_linalg

from tinyjax import dtypes
from tinyjax.core.primitives import broadcast as bc, elementwise as ew
from tinyjax.core.primitives.families import all_hold
from tinyjax.core.primitives.rules import def_no_derivative, instantiate_all
from tinyjax.core.primitives.shape import full_like, iota, zeros_like
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Value, Values, tensor
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.primitives import matrices as ma
from tinyjax.primitives.arg_extrema import argmax
from tinyjax.primitives.lu import solve

# eig


@attrs.frozen(eq=False, repr=False)
class EigParams(prim.Params):
    """Whether left and right eigenvectors are wanted."""

    left: bool
    right: bool


eig_p: prim.Primitive[EigParams] = ma.declare("eig", EigParams)


@eig_p.def_abstract_eval
def _eig_type(avals: prim.Avals, params: EigParams) -> prim.Avals:
    (x,) = avals
    ma.check_matrices("eig", x, square=True)
    dtype = dtypes.to_complex(x.dtype)
    values, vectors = av.ShapedArray(x.shape[:-1], dtype), av.ShapedArray(x.shape, dtype)
    return (values, *[vectors] * (params.left + params.right))


@eig_p.def_impl
def _eig_impl(operands: prim.Hosts, params: EigParams) -> prim.Hosts:
    (x,) = operands
    dtype = dtypes.to_complex(x.dtype)

    def one(a: dtypes.HostArray) -> Sequence[dtypes.HostArray]:
        from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

        ma.check_finite(a)
        outs = linalg.eig(a, left=True, right=params.right, check_finite=False)
        return [out.astype(dtype) for out in outs]

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

    if not params.left:
        return ma.where_possible(stack, x)
    if not x.size:
        vectors = np.zeros(x.shape, dtype)
        return (np.zeros(x.shape[:-1], dtype), *[vectors] * (params.left + params.right))
    flat = x.reshape(-1, *x.shape[-2:])
    each = [ma.where_possible(one, a) for a in flat]
    return [
        np.stack(outs).reshape(*x.shape[:-2], *outs[0].shape) for outs in zip(*each, strict=True)
    ]


@ma.def_lowering(eig_p)
def _eig_lowering(b: Lowering, operands: Values, params: EigParams) -> Values:
    """Of a real matrix the routines return the real and the imaginary parts of the eigenvalues."""
    (x,), (values, *_) = operands, b.results
    is_complex = dtypes.is_complex(x.dtype)
    part = tensor(values.shape, x.dtype), 1
    vectors = tensor(x.shape, values.dtype), 2
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
    inner = solve(right, ma.mm(ta, right))
    outs, changes = [values, *vectors], [ma.diagonal_of(inner)]
    if params.left:
        (left,) = vectors
        changes.append(_turned(ew.conj(values), left, solve(left, ma.mm(ma.mH(ta), left))))
    if params.right:
        outs.append(right)
        changes.append(_turned(values, right, inner))
    return outs, changes


def _turned(values: Array, vectors: Array, inner: Array) -> Array:
    """The tangents of eigenvectors, given ``V^-1 A' V``."""
    axis = vectors.ndim - 2
    change = ma.mm(vectors, ma.off_diagonal(ew.div(inner, ma.differences(values, inner))))
    size = ew.abs_(vectors)
    still = ew.imag(vectors)
    size = ew.select(ew.eq(still, full_like(still, 0)), size, full_like(size, -1))
    greatest = argmax(size, axis, dtypes.int32)
    n = vectors.ndim
    place = bc.broadcast_in_dim(greatest, vectors.shape, (*range(axis), n - 1))
    chosen = ew.eq(iota(vectors.shape, dtypes.int32, axis), place)
    longer = ew.real(bc.reduce_sum(ew.mul(ew.conj(vectors), change), (axis,)))
    turned, length = (
        bc.reduce_sum(ew.select(chosen, part, zeros_like(part)), (axis,))
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


@schur_p.def_abstract_eval
def _schur_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    (x,) = avals
    ma.check_matrices("schur", x, square=True)
    return (x.strip_weak(), x.strip_weak())


def _schur_of_one(a: dtypes.HostArray, params: prim.NoParams) -> Sequence[dtypes.HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    ma.check_finite(a)
    form, vectors = linalg.schur(a, check_finite=False)
    return form, vectors


ma.def_impl_by_one(schur_p, _schur_of_one)


def schur_call(b: Lowering, x: Value) -> list[Value]:
    """Write a call of LAPACK: ``T`` and ``Z``, and what the routine said of them."""
    part = tensor(x.shape[:-1], x.dtype), 1
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
