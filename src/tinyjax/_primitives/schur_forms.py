"""Schur forms: complex ones, functions of them, and equations of Sylvester that they solve."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module

import numpy as np

from tinyjax import dtypes, errors
from tinyjax._primitives import dynamic_slice, matrices as ma, spectral, triangular
from tinyjax.core.primitives import elementwise as ew, families, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.primitives.reduce import reduce_min
from tinyjax.core.primitives.rules import def_derivatives, def_transposes
from tinyjax.core.primitives.shape import full_like, iota, reshape, zeros_like
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.dtypes import HostArray
from tinyjax.errors import ShapeError

# What is done with Schur forms, column by column: complex ones, and functions of them.


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
def _csf_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    form, _ = operands
    n = form.shape[-1]
    if n < 2 or not form.size:
        return operands
    _, complex_form, turned = b.while_(
        (b.scalar(n - 2, dtypes.int32), *operands),
        lambda args: families.lower_formula(b, lambda i: [ew.gt(i, full_like(i, -1))], args[:1]),
        lambda args: families.lower_formula(b, _rotate, args),
    )
    (upper,) = families.lower_formula(b, lambda x: [ma.upper_part(x)], (complex_form,))
    return upper, turned


def _rotate(index: Array, form: Array, vectors: Array) -> Sequence[Array]:
    """Rotate two rows and columns, so that the element below the diagonal vanishes."""
    row, column = form.ndim - 2, form.ndim - 1
    pair = dynamic_slice.dynamic_slice_in_dim(form, index, 2, row)
    block = dynamic_slice.dynamic_slice_in_dim(pair, index, 2, column)

    def element(i: int, j: int) -> Array:
        part = dynamic_slice.dynamic_slice_in_dim(
            dynamic_slice.dynamic_slice_in_dim(block, i, 1, row), j, 1, column
        )
        return reshape(part, part.shape[:row])

    low, corner = element(1, 0), element(1, 1)
    size = ew.add(ew.abs_(element(0, 0)), ew.abs_(corner))
    eps = full_like(size, float(np.finfo(size.dtype).eps))
    idle = ew.le(ew.abs_(low), ew.mul(eps, size))
    values = spectral.eig(block, left=False, right=False)[0]
    first = dynamic_slice.dynamic_slice_in_dim(values, 0, 1, row)
    mu = ew.sub(reshape(first, low.shape), corner)
    length = ew.sqrt(ew.add(ew.mul(ew.abs_(mu), ew.abs_(mu)), ew.mul(ew.abs_(low), ew.abs_(low))))
    length = ew.select(idle, full_like(length, 1), length)
    length = ew.complex_(length, zeros_like(length))
    c = ew.select(idle, full_like(mu, 1), ew.div(mu, length))
    s = ew.select(idle, zeros_like(low), ew.div(low, length))
    shape = (*low.shape, 1, 1)
    c, s = reshape(c, shape), reshape(s, shape)
    turn = slicing.concatenate(
        [slicing.concatenate([ew.conj(c), s], column), slicing.concatenate([ew.neg(s), c], column)],
        row,
    )
    back = ma.mH(turn)
    form = dynamic_slice.dynamic_update_slice_in_dim(form, ma.mm(turn, pair), index, row)
    columns = ma.mm(dynamic_slice.dynamic_slice_in_dim(form, index, 2, column), back)
    form = dynamic_slice.dynamic_update_slice_in_dim(form, columns, index, column)
    columns = ma.mm(dynamic_slice.dynamic_slice_in_dim(vectors, index, 2, column), back)
    vectors = dynamic_slice.dynamic_update_slice_in_dim(vectors, columns, index, column)
    return ew.sub(index, full_like(index, 1)), form, vectors


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
def _parlett_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    form, _ = operands
    filled, least = b.results
    if ma.nothing_to_do(operands):
        return b.full(0, filled), b.full(float("inf"), least)

    def start(form: Array, diagonal: Array) -> Sequence[Array]:
        return [ma.on_diagonal(ma.along_columns(diagonal, form), zeros_like(form))]

    (out,) = families.lower_formula(b, start, operands)
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
        """Return the element in row ``j``, repeated."""
        return ma.mm(full_like(ma.mm(x, ma.mT(x)), 1), ew.select(ew.eq(rows, at), x, zeros_like(x)))

    diagonal = reshape(ma.diagonal_of(form), mixed.shape)
    gaps = ew.select(above, ew.sub(diagonal, own(mixed)), full_like(mixed, 1))
    sizes = ew.select(above, ew.abs_(gaps), full_like(ew.abs_(gaps), float("inf")))
    least = ew.min_(least, reduce_min(sizes, (sizes.ndim - 2, sizes.ndim - 1)))
    gaps = ew.select(ew.eq(gaps, zeros_like(gaps)), full_like(gaps, 1), gaps)
    system = ma.on_diagonal(ma.along_columns(reshape(gaps, gaps.shape[:-1]), form), form)
    right_side = ew.sub(ma.mm(out, column), ew.mul(column, own(values)))
    right_side = ew.select(above, right_side, zeros_like(right_side))
    solution = triangular.triangular_solve(system, right_side, left_side=True)
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


# Sylvester's equation, and the square roots of matrices, whose derivatives solve it.
#
# Both are brought to triangular matrices by Schur forms, and solved column by column.


# solve_sylvester

sylvester_p: prim.Primitive[prim.NoParams] = ma.declare("solve_sylvester", prim.NoParams)


@sylvester_p.def_abstract_eval
def _sylvester_type(avals: prim.Avals, params: prim.NoParams) -> prim.Avals:
    a, b, c = avals
    for x in avals:
        ma.check_matrices("solve_sylvester", x, square=x is not c)
    ma.check_one_dtype("solve_sylvester", *avals)
    batch, (m, n) = c.shape[:-2], c.shape[-2:]
    if a.shape != (*batch, m, m) or b.shape != (*batch, n, n):
        raise ShapeError(
            "solve_sylvester: for right-hand sides of m rows and n columns, a is m by m and b n by "
            f"n, with the same axes in front, but the shapes are {a.shape}, {b.shape} and "
            f"{c.shape}."
        )
    return (c.strip_weak(),)


def _sylvester_of_one(
    a: dtypes.HostArray, b: dtypes.HostArray, c: dtypes.HostArray, params: prim.NoParams
) -> Sequence[dtypes.HostArray]:
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    for x in (a, b, c):
        ma.check_finite(x)
    return (linalg.solve_sylvester(a, b, c),)


ma.def_impl_by_one(sylvester_p, _sylvester_of_one)


@ma.def_lowering(sylvester_p)
def _sylvester_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    """With ``a = U R U^H`` and ``b = V S V^H``, ``R (U^H x V) + (U^H x V) S = U^H c V``."""
    dtype = operands[2].dtype
    count = operands[2].shape[-1]

    def prepare(*matrices: Array) -> Sequence[Array]:
        x, y, z = (ew.convert_element_type(g, dtypes.to_complex(dtype)) for g in matrices)
        (r, u), (s, v) = spectral.schur(x), spectral.schur(y)
        right = ma.mm(ma.mm(ma.mH(u), z), v)
        return r, s, right, sh.zeros_like(right), u, v

    def step(j: Array, r: Array, s: Array, right: Array, solution: Array) -> Sequence[Array]:
        mixed = ma.column_of(s, j)
        column = ew.sub(ma.column_of(right, j), ma.mm(solution, mixed))
        own = _pick_row(mixed, j)
        solved = triangular.triangular_solve(_shifted(r, own), column, left_side=True)
        return r, s, right, ma.with_column(solution, j, solved)

    def finish(solution: Array, u: Array, v: Array) -> Sequence[Array]:
        x = ma.mm(ma.mm(u, solution), ma.mH(v))
        return [x if dtypes.is_complex(dtype) else ma.real_part(x)]

    *state, u, v = families.lower_formula(b, prepare, operands)
    solution = ma.lower_loop(b, count, step, state)[-1]
    return families.lower_formula(b, finish, (solution, u, v))


def _pick_row(column: Array, j: Array) -> Array:
    """Return the elements of columns ``(..., n, 1)`` in a row, shape ``(...,)``."""
    picked = dynamic_slice.dynamic_slice_in_dim(
        column, j, 1, column.ndim - 2, allow_negative_indices=False
    )
    return sh.reshape(picked, column.shape[:-2])


def _shifted(x: Array, shift: Array) -> Array:
    """Matrices with numbers ``(...,)`` added to their diagonals."""
    spread = broadcast_in_dim(shift, x.shape, tuple(range(shift.ndim)))
    return ew.add(x, ma.on_diagonal(spread, sh.zeros_like(x)))


ma.def_system(sylvester_p, lambda ta, x, params: ma.mm(ta, x), lambda tb, x, params: ma.mm(x, tb))
def_transposes(
    sylvester_p,
    "the matrices",
    "the matrices",
    lambda ct, a, b, c: tr.bind1(sylvester_p, (ma.mT(a), ma.mT(b), ct), prim.NO_PARAMS),
)


def solve_sylvester(a: Array, b: Array, c: Array) -> Array:
    """Solve ``a x + x b = c``.

    Args:
        a: shape ``(..., m, m)``.
        b: shape ``(..., n, n)``.
        c: shape ``(..., m, n)``.

    Returns:
        ``x``, of the shape of ``c``; huge, infinite or NaN where an eigenvalue of ``a`` is the
        negative of one of ``b``.

    Raises:
        ShapeError: the shapes do not fit.
        DtypeError: the dtypes differ, or are none of LAPACK's.
    """
    return tr.bind1(sylvester_p, (a, b, c), prim.NO_PARAMS)


# sqrtm

sqrtm_p: prim.Primitive[prim.NoParams] = ma.declare("sqrtm", prim.NoParams)


ma.def_types(sqrtm_p, lambda x, _: (av.ShapedArray(x.shape, dtypes.to_complex(x.dtype)),))


@cache
def _root_of_scipy() -> Callable[[dtypes.HostArray], dtypes.HostArray]:
    """Return ``scipy.linalg.sqrtm`` without its checks and warnings."""
    with suppress(ImportError):  # versions of SciPy differ
        routine = getattr(
            import_module("scipy.linalg._matfuncs_schur_sqrtm"), "recursive_schur_sqrtm", None
        )
        if routine is not None:
            return lambda a: routine(a)[0]
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    def root(a: dtypes.HostArray) -> dtypes.HostArray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of singular matrices
            result: dtypes.HostArray = linalg.sqrtm(a)
        return result

    return root


def _sqrtm_of_one(a: dtypes.HostArray, params: prim.NoParams) -> Sequence[dtypes.HostArray]:
    ma.check_finite(a)
    root = _root_of_scipy()(a)
    return (root if families.all_hold(np.isfinite(root)) else np.full_like(root, np.nan),)


ma.def_impl_by_one(sqrtm_p, _sqrtm_of_one)


@ma.def_lowering(sqrtm_p)
def _sqrtm_lowering(b: Lowering, operands: hlo.Values, params: prim.NoParams) -> hlo.Values:
    """Return the root of a triangular matrix, column by column (Björck and Hammarling, 1983).

    XLA takes as long for each kernel as for a hundred operations. So the columns replace those of
    the triangular matrix, and a failure of LAPACK's is told to the roots on the diagonal alone,
    from which it spreads to all elements.
    """
    (out,) = b.results
    count = out.shape[-1]

    def diagonal(form: Array) -> Sequence[Array]:
        # here, since every fusion of the loop would compute what it reads of the complex roots
        return [_principal_roots(ma.diagonal_of(form))]

    def step(j: Array, roots: Array, mixed: Array) -> Sequence[Array]:
        place = roots.ndim - 1
        at = ew.eq(sh.iota(roots.shape, j.dtype, place), broadcast_in_dim(j, roots.shape, ()))
        own = dynamic_slice.dynamic_slice_in_dim(roots, j, 1, place, allow_negative_indices=False)
        own = sh.reshape(own, roots.shape[:-1])
        sums = ew.add(roots, broadcast_in_dim(own, roots.shape, tuple(range(place))))
        nothing = sh.zeros_like(sums)
        idle = ew.eq(sums, nothing)
        safe = ew.select(idle, sh.full_like(sums, 1), sums)
        system = ma.on_diagonal(ma.along_rows(safe, mixed), mixed)
        above = sh.reshape(ma.column_of(mixed, j), roots.shape)
        above = ew.select(at, nothing, above)
        column = (*roots.shape, 1)
        solved = triangular.triangular_solve(system, sh.reshape(above, column), left_side=True)
        # a row that says 0 x = r has a solution where r is zero
        solution = sh.reshape(solved, roots.shape)
        lost = ew.and_(idle, ew.ne(solution, nothing))
        solution = ew.select(
            lost, sh.full_like(solution, float("nan")), ew.select(at, roots, solution)
        )
        return roots, ma.with_column(mixed, j, sh.reshape(solution, column))

    (x,) = families.lower_formula(b, lambda x: [ew.convert_element_type(x, out.dtype)], operands)
    form, vectors, info = spectral.schur_call(b, x)
    roots = ma.nan_where_failed(b, info, families.lower_formula(b, diagonal, (form,)))
    root = ma.lower_loop(b, count, step, (*roots, form))[-1]
    return families.lower_formula(b, lambda r, z: [ma.mm(ma.mm(z, r), ma.mH(z))], (root, vectors))


sqrtm_p.def_lowering(platform="cuda")(ma.refuse_on_cuda("sqrtm"))


def _principal_roots(z: Array) -> Array:
    """Return the square roots of complex numbers whose size does not overflow, in one kernel.

    XLA writes those of all numbers in four.
    """
    x, y, size = ew.real(z), ew.imag(z), ew.abs_(z)
    half, nothing = sh.full_like(x, 0.5), sh.zeros_like(x)
    larger = ew.sqrt(ew.add(ew.mul(half, ew.abs_(x)), ew.mul(half, size)))
    smaller = ew.select(ew.eq(larger, nothing), nothing, ew.div(ew.mul(half, ew.abs_(y)), larger))
    right = ew.ge(x, nothing)
    up = ew.select(right, smaller, larger)
    return ew.complex_(
        ew.select(right, larger, smaller), ew.select(ew.lt(y, nothing), ew.neg(up), up)
    )


# from r r = x: r r' + r' r = x'
def_derivatives(
    sqrtm_p, lambda t, root, x: solve_sylvester(root, root, ew.convert_element_type(t, root.dtype))
)


def sqrtm(x: Array) -> Array:
    """Return the principal square roots of matrices.

    Args:
        x: shape ``(..., n, n)``.

    Returns:
        Complex matrices whose square is ``x``, and whose eigenvalues have no negative real part;
        NaN where there is none. The derivative is infinite, NaN or huge at singular matrices.

    Raises:
        ShapeError: ``x`` does not hold square matrices.
        DtypeError: the dtype is none of LAPACK's.
    """
    return tr.bind1(sqrtm_p, (x,), prim.NO_PARAMS)
