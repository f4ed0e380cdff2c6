"""What is done with Schur forms, column by column: complex ones, and functions of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax import dtypes, errors
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.families import lower_formula
from tinyjax.core.primitives.reduce import reduce_min
from tinyjax.core.primitives.shape import full_like, iota, reshape, zeros_like
from tinyjax.core.primitives.slicing import concatenate
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import Values
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import avals as av
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.primitives import dynamic_slice as ds, eigen, matrices as ma
from tinyjax.primitives.triangular import triangular_solve


def _check_complex(name: str, *avals: av.ShapedArray) -> None:
    for x in avals:
        if x.dtype not in (dtypes.complex64, dtypes.complex128) or x.dtype != avals[0].dtype:
            raise errors.DtypeError(
                f"{name} takes complex numbers of one dtype, but got "
                f"{' and '.join(map(str, avals))}. Convert the operands with .astype(...)."
            )


# rsf2csf

rsf2csf_p: prim.Primitive[prim.NoParams] = ma.declare("rsf2csf", prim.NoParams)


@rsf2csf_p.def_abstract_eval
def _csf_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    form, vectors = avals
    for x in avals:
        ma.check_matrices("rsf2csf", x, square=True)
    _check_complex("rsf2csf", *avals)
    if form.shape != vectors.shape:
        raise errors.ShapeError(
            f"rsf2csf takes matrices of one size, but got shapes {form.shape} and {vectors.shape}."
        )
    return (form.strip_weak(), vectors.strip_weak())


def _csf_of_one(form: HostArray, vectors: HostArray, params: prim.NoParams) -> Sequence[HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    ma.check_finite(form)
    complex_form, turned = linalg.rsf2csf(form, vectors, check_finite=False)
    return np.triu(complex_form), turned


ma.def_impl_by_one(rsf2csf_p, _csf_of_one)


@rsf2csf_p.def_lowering
def _csf_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    form, _ = operands
    n = form.shape[-1]
    if n < 2 or not form.size:
        return operands
    _, complex_form, turned = b.while_(
        (b.scalar(n - 2, dtypes.int32), *operands),
        lambda args: lower_formula(b, lambda i: [ew.gt(i, full_like(i, -1))], args[:1]),
        lambda args: lower_formula(b, _rotate, args),
    )
    (upper,) = lower_formula(b, lambda x: [ma.upper_part(x)], (complex_form,))
    return upper, turned


def _rotate(at: Array, form: Array, vectors: Array) -> Sequence[Array]:
    """Rotate two rows and columns, so that the element below the diagonal vanishes."""
    row, column = form.ndim - 2, form.ndim - 1
    pair = ds.dynamic_slice_in_dim(form, at, 2, row)
    block = ds.dynamic_slice_in_dim(pair, at, 2, column)

    def element(i: int, j: int) -> Array:
        part = ds.dynamic_slice_in_dim(ds.dynamic_slice_in_dim(block, i, 1, row), j, 1, column)
        return reshape(part, part.shape[:row])

    low, corner = element(1, 0), element(1, 1)
    size = ew.add(ew.abs_(element(0, 0)), ew.abs_(corner))
    eps = full_like(size, float(np.finfo(size.dtype).eps))
    idle = ew.le(ew.abs_(low), ew.mul(eps, size))
    values = eigen.eig(block, left=False, right=False)[0]
    first = ds.dynamic_slice_in_dim(values, 0, 1, row)
    mu = ew.sub(reshape(first, low.shape), corner)
    length = ew.sqrt(ew.add(ew.mul(ew.abs_(mu), ew.abs_(mu)), ew.mul(ew.abs_(low), ew.abs_(low))))
    length = ew.select(idle, full_like(length, 1), length)
    length = ew.complex_(length, zeros_like(length))
    c = ew.select(idle, full_like(mu, 1), ew.div(mu, length))
    s = ew.select(idle, zeros_like(low), ew.div(low, length))
    shape = (*low.shape, 1, 1)
    c, s = reshape(c, shape), reshape(s, shape)
    turn = concatenate(
        [concatenate([ew.conj(c), s], column), concatenate([ew.neg(s), c], column)], row
    )
    back = ma.mH(turn)
    form = ds.dynamic_update_slice_in_dim(form, ma.mm(turn, pair), at, row)
    columns = ma.mm(ds.dynamic_slice_in_dim(form, at, 2, column), back)
    form = ds.dynamic_update_slice_in_dim(form, columns, at, column)
    columns = ma.mm(ds.dynamic_slice_in_dim(vectors, at, 2, column), back)
    vectors = ds.dynamic_update_slice_in_dim(vectors, columns, at, column)
    return ew.sub(at, full_like(at, 1)), form, vectors


def rsf2csf(form: Array, vectors: Array) -> tuple[Array, Array]:
    """Return upper triangular Schur forms and their vectors, given real ones.

    Args:
        form: real Schur forms as complex numbers, shape ``(..., n, n)``.
        vectors: theirs, of the same type.

    Raises:
        ShapeError: the shapes differ, or are none of square matrices.
        DtypeError: the dtypes differ, or are not complex.
    """
    complex_form, turned = tr.bind(rsf2csf_p, (form, vectors), prim.NO_PARAMS)
    return complex_form, turned


# parlett

parlett_p: prim.Primitive[prim.NoParams] = ma.declare("parlett", prim.NoParams)


@parlett_p.def_abstract_eval
def _parlett_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    form, diagonal = avals
    ma.check_matrices("parlett", form, square=True)
    _check_complex("parlett", *avals)
    if diagonal.shape != form.shape[:-1]:
        raise errors.ShapeError(
            "parlett takes as many values as there are on the diagonal, but got shapes "
            f"{form.shape} and {diagonal.shape}."
        )
    return form.strip_weak(), av.ShapedArray(form.shape[:-2], dtypes.real_part(form.dtype))


def _parlett_of_one(
    form: HostArray, diagonal: HostArray, params: prim.NoParams
) -> Sequence[HostArray]:
    """One diagonal above the main one after another."""
    n = len(form)
    out = np.diag(diagonal)
    least = form.real.dtype.type(np.inf)
    for p in range(1, n):
        for i in range(n - p):
            j = i + p
            total = form[i, j] * (out[j, j] - out[i, i])
            between = slice(i + 1, j)
            total += form[i, between] @ out[between, j] - out[i, between] @ form[between, j]
            gap = form[j, j] - form[i, i]
            least = min(least, abs(gap))
            out[i, j] = total / gap if gap else total
    return out, np.asarray(least)


ma.def_impl_by_one(parlett_p, _parlett_of_one)


@parlett_p.def_lowering
def _parlett_lowering(b: Lowering, operands: Values, params: prim.NoParams) -> Values:
    form, _ = operands
    filled, least = b.results
    if ma.nothing_to_do(operands):
        return b.full(0, filled), b.full(float("inf"), least)

    def start(form: Array, diagonal: Array) -> Sequence[Array]:
        return [ma.on_diagonal(ma.along_columns(diagonal, form), zeros_like(form))]

    (out,) = lower_formula(b, start, operands)
    state = form, out, b.full(float("inf"), least)
    return ma.lower_loop(b, form.shape[-1], _fill, state)[1:]


def _fill(j: Array, form: Array, out: Array, least: Array) -> Sequence[Array]:
    """``T F = F T`` determines a column above the diagonal by those before it."""
    mixed, values = ma.column_of(form, j), ma.column_of(out, j)
    rows = iota(mixed.shape, j.dtype, mixed.ndim - 2)
    at = broadcast_in_dim(j, mixed.shape, ())
    above = ew.gt(at, rows)
    column = ew.select(above, mixed, zeros_like(mixed))

    def own(x: Array) -> Array:
        """The element in row ``j``, repeated."""
        return ma.mm(full_like(ma.mm(x, ma.mT(x)), 1), ew.select(ew.eq(rows, at), x, zeros_like(x)))

    diagonal = reshape(ma.diagonal_of(form), mixed.shape)
    gaps = ew.select(above, ew.sub(diagonal, own(mixed)), full_like(mixed, 1))
    sizes = ew.select(above, ew.abs_(gaps), full_like(ew.abs_(gaps), float("inf")))
    least = ew.min_(least, reduce_min(sizes, (sizes.ndim - 2, sizes.ndim - 1)))
    gaps = ew.select(ew.eq(gaps, zeros_like(gaps)), full_like(gaps, 1), gaps)
    system = ma.on_diagonal(ma.along_columns(reshape(gaps, gaps.shape[:-1]), form), form)
    right_side = ew.sub(ma.mm(out, column), ew.mul(column, own(values)))
    right_side = ew.select(above, right_side, zeros_like(right_side))
    solution = triangular_solve(system, right_side, left_side=True)
    return form, ma.with_column(out, j, ew.add(solution, values)), least


def parlett(form: Array, diagonal: Array) -> tuple[Array, Array]:
    """Return functions of upper triangular matrices, given those of their diagonals (Parlett 1976).

    Args:
        form: upper triangular complex matrices, shape ``(..., n, n)``.
        diagonal: the function of their diagonals, shape ``(..., n)``.

    Returns:
        The functions, and the least distance between two numbers on a diagonal, ``(...,)``. It has
        no derivative.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are not complex.
    """
    out, least = tr.bind(parlett_p, (form, diagonal), prim.NO_PARAMS)
    return out, least
