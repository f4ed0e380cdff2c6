"""What is done with Schur forms, column by column: complex ones, and functions of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.costs import def_cubic_flops
from tinyjax.core.primitive import NO_PARAMS, Avals, NoParams, Primitive
from tinyjax.core.trace import bind
from tinyjax.dtypes import HostArray
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives import matrices as ma
from tinyjax.primitives.broadcast import broadcast_in_dim
from tinyjax.primitives.dynamic_slice import dynamic_slice_in_dim, dynamic_update_slice_in_dim
from tinyjax.primitives.eigen import eig
from tinyjax.primitives.elementwise import (
    abs_,
    add,
    complex_,
    conj,
    div,
    eq,
    gt,
    le,
    lt,
    min_,
    mul,
    neg,
    select,
    sqrt,
    sub,
)
from tinyjax.primitives.families import lower_formula
from tinyjax.primitives.reduce import reduce_min
from tinyjax.primitives.shape import def_simple_batch, full_like, iota, reshape, zeros_like
from tinyjax.primitives.slicing import concatenate
from tinyjax.primitives.triangular import triangular_solve
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values


def _check_complex(name: str, *avals: ShapedArray) -> None:
    for x in avals:
        if x.dtype not in (dtypes.complex64, dtypes.complex128) or x.dtype != avals[0].dtype:
            raise DtypeError(
                f"{name} takes complex numbers of one dtype, but got "
                f"{' and '.join(map(str, avals))}. Convert the operands with .astype(...)."
            )


# rsf2csf

rsf2csf_p: Primitive[NoParams] = Primitive("rsf2csf", NoParams)
def_cubic_flops(rsf2csf_p)


@rsf2csf_p.def_abstract_eval
def _csf_type(avals: Avals, params: NoParams) -> Avals:
    form, vectors = avals
    for x in avals:
        ma.check_matrices("rsf2csf", x, square=True)
    _check_complex("rsf2csf", *avals)
    if form.shape != vectors.shape:
        raise ShapeError(
            f"rsf2csf takes matrices of one size, but got shapes {form.shape} and {vectors.shape}."
        )
    return (form.strip_weak(), vectors.strip_weak())


def _csf_of_one(form: HostArray, vectors: HostArray, params: NoParams) -> Sequence[HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    ma.check_finite(form)
    complex_form, turned = linalg.rsf2csf(form, vectors, check_finite=False)
    return np.triu(complex_form), turned


ma.def_impl_by_one(rsf2csf_p, _csf_of_one)


@rsf2csf_p.def_lowering
def _csf_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    form, _ = operands
    n = form.shape[-1]
    if n < 2 or not form.size:
        return operands
    _, complex_form, turned = b.while_(
        (b.scalar(n - 2, dtypes.int32), *operands),
        lambda args: lower_formula(b, lambda i: [gt(i, full_like(i, -1))], args[:1]),
        lambda args: lower_formula(b, _rotate, args),
    )
    (upper,) = lower_formula(b, lambda x: [ma.upper_part(x)], (complex_form,))
    return upper, turned


def _rotate(at: Array, form: Array, vectors: Array) -> Sequence[Array]:
    """Rotate two rows and columns, so that the element below the diagonal vanishes."""
    row, column = form.ndim - 2, form.ndim - 1
    pair = dynamic_slice_in_dim(form, at, 2, row)
    block = dynamic_slice_in_dim(pair, at, 2, column)

    def element(i: int, j: int) -> Array:
        part = dynamic_slice_in_dim(dynamic_slice_in_dim(block, i, 1, row), j, 1, column)
        return reshape(part, part.shape[:row])

    low, corner = element(1, 0), element(1, 1)
    size = add(abs_(element(0, 0)), abs_(corner))
    eps = full_like(size, float(np.finfo(size.dtype).eps))
    idle = le(abs_(low), mul(eps, size))
    values = eig(block, left=False, right=False)[0]
    first = dynamic_slice_in_dim(values, 0, 1, row)
    mu = sub(reshape(first, low.shape), corner)
    length = sqrt(add(mul(abs_(mu), abs_(mu)), mul(abs_(low), abs_(low))))
    length = select(idle, full_like(length, 1), length)
    length = complex_(length, zeros_like(length))
    c = select(idle, full_like(mu, 1), div(mu, length))
    s = select(idle, zeros_like(low), div(low, length))
    shape = (*low.shape, 1, 1)
    c, s = reshape(c, shape), reshape(s, shape)
    turn = concatenate([concatenate([conj(c), s], column), concatenate([neg(s), c], column)], row)
    back = ma.mH(turn)
    form = dynamic_update_slice_in_dim(form, ma.mm(turn, pair), at, row)
    columns = ma.mm(dynamic_slice_in_dim(form, at, 2, column), back)
    form = dynamic_update_slice_in_dim(form, columns, at, column)
    columns = ma.mm(dynamic_slice_in_dim(vectors, at, 2, column), back)
    vectors = dynamic_update_slice_in_dim(vectors, columns, at, column)
    return sub(at, full_like(at, 1)), form, vectors


def_simple_batch(rsf2csf_p)


def rsf2csf(form: Array, vectors: Array) -> tuple[Array, Array]:
    """Return upper triangular Schur forms and their vectors, given real ones.

    Args:
        form: real Schur forms as complex numbers, shape ``(..., n, n)``.
        vectors: theirs, of the same type.

    Raises:
        ShapeError: the shapes differ, or are none of square matrices.
        DtypeError: the dtypes differ, or are not complex.
    """
    complex_form, turned = bind(rsf2csf_p, (form, vectors), NO_PARAMS)
    return complex_form, turned


# parlett

parlett_p: Primitive[NoParams] = Primitive("parlett", NoParams)
def_cubic_flops(parlett_p)


@parlett_p.def_abstract_eval
def _parlett_type(avals: Avals, params: NoParams) -> Avals:
    form, diagonal = avals
    ma.check_matrices("parlett", form, square=True)
    _check_complex("parlett", *avals)
    if diagonal.shape != form.shape[:-1]:
        raise ShapeError(
            "parlett takes as many values as there are on the diagonal, but got shapes "
            f"{form.shape} and {diagonal.shape}."
        )
    return form.strip_weak(), ShapedArray(form.shape[:-2], dtypes.real_part(form.dtype))


def _parlett_of_one(form: HostArray, diagonal: HostArray, params: NoParams) -> Sequence[HostArray]:
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
def _parlett_lowering(b: Lowering, operands: Values, params: NoParams) -> Values:
    form, _ = operands
    filled, least = b.results
    if ma.nothing_to_do(operands):
        return b.full(0, filled), b.full(float("inf"), least)
    n = form.shape[-1]

    def start(form: Array, diagonal: Array) -> Sequence[Array]:
        return [ma.on_diagonal(ma.along_columns(diagonal, form), zeros_like(form))]

    (out,) = lower_formula(b, start, operands)
    return b.while_(
        (b.scalar(0, dtypes.int32), form, out, b.full(float("inf"), least)),
        lambda args: lower_formula(b, lambda j: [lt(j, full_like(j, n))], args[:1]),
        lambda args: lower_formula(b, _fill, args),
    )[2:]


def _fill(j: Array, form: Array, out: Array, least: Array) -> Sequence[Array]:
    """``T F = F T`` determines a column above the diagonal by those before it."""
    mixed, values = ma.column_of(form, j), ma.column_of(out, j)
    rows = iota(mixed.shape, j.dtype, mixed.ndim - 2)
    at = broadcast_in_dim(j, mixed.shape, ())
    above = gt(at, rows)
    column = select(above, mixed, zeros_like(mixed))

    def own(x: Array) -> Array:
        """The element in row ``j``, repeated."""
        return ma.mm(full_like(ma.mm(x, ma.mT(x)), 1), select(eq(rows, at), x, zeros_like(x)))

    diagonal = reshape(ma.diagonal_of(form), mixed.shape)
    gaps = select(above, sub(diagonal, own(mixed)), full_like(mixed, 1))
    sizes = select(above, abs_(gaps), full_like(abs_(gaps), float("inf")))
    least = min_(least, reduce_min(sizes, (sizes.ndim - 2, sizes.ndim - 1)))
    gaps = select(eq(gaps, zeros_like(gaps)), full_like(gaps, 1), gaps)
    system = ma.on_diagonal(ma.along_columns(reshape(gaps, gaps.shape[:-1]), form), form)
    right_side = sub(ma.mm(out, column), mul(column, own(values)))
    right_side = select(above, right_side, zeros_like(right_side))
    solution = triangular_solve(system, right_side, left_side=True)
    return add(j, full_like(j, 1)), form, ma.with_column(out, j, add(solution, values)), least


def_simple_batch(parlett_p)


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
    out, least = bind(parlett_p, (form, diagonal), NO_PARAMS)
    return out, least
