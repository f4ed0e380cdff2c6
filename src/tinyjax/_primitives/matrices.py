"""The common part of the primitives of linear algebra: stacks of matrices, their parts, and LAPACK.

A stack of matrices is an array whose last two axes are the matrices'; the axes in front of them are
the batch's. Every primitive works on stacks, so that batching brings the mapped axis to the front.
Types are those of LAPACK: single and double precision, real and complex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.linalg import _umath_linalg

from tinyjax import dtypes, errors
from tinyjax._primitives import dot, dynamic_slice
from tinyjax._primitives.linear_maps import linear_call
from tinyjax.core.primitives import elementwise as ew, families, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim, reduce_sum
from tinyjax.core.primitives.reduce import reduce_max, reduce_or
from tinyjax.core.primitives.rules import add_tangents, instantiate
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.tracing import primitive as prim, trace as tr
from tinyjax.core.values import Array, avals as av
from tinyjax.dtypes import DType, HostArray

P = TypeVar("P")
HostMatrices = Callable[..., Sequence[HostArray]]

_PREFIXES: Final[Mapping[DType, str]] = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}


def declare(name: str, params: type[P]) -> prim.Primitive[P]:
    """Declare a primitive of stacks of matrices: it takes cubic time, and batches are more axes.

    Args:
        name: the primitive's name.
        params: the class of its parameters.
    """
    primitive = prim.Primitive(name, params, repeatable=True)
    def_cubic_flops(primitive)
    sh.def_simple_batch(primitive)
    return primitive


def def_cubic_flops(primitive: prim.Primitive[Any]) -> None:
    """Say that a primitive takes about ``10 n^3`` operations for each matrix of its operands."""

    @primitive.def_rule(prim.FLOPS)
    def flops(params: object, avals: prim.Avals, outs: prim.Avals) -> float:
        return sum(10.0 * x.size * min(x.shape[-2:]) for x in avals if x.ndim > 1)


# Types


def check_matrices(name: str, aval: av.ShapedArray, *, square: bool = False) -> None:
    """Raise unless a type is that of a stack of matrices that LAPACK takes.

    Raises:
        ShapeError: there are fewer than two axes, or the matrices are not square.
        DtypeError: the dtype is another.
    """
    if aval.ndim < 2:
        raise errors.ShapeError(
            f"{name} takes matrices{', of shape [..., n, n]' * square}: its input must have rank "
            f"at least 2, but got shape={aval.shape}. Add axes with reshape."
        )
    if square and aval.shape[-1] != aval.shape[-2]:
        raise errors.ShapeError(
            f"the input of {name} must be a square matrix, or several: it must have shape [..., n, "
            f"n], but got shape {aval.shape}."
        )
    if aval.dtype not in _PREFIXES:
        raise errors.DtypeError(
            f"Unsupported dtype {aval.dtype.name}: {name} takes "
            f"{', '.join(d.name for d in _PREFIXES)}. Convert the operand with .astype(...)."
        )


def def_types(
    primitive: prim.Primitive[P],
    types: Callable[[av.ShapedArray, P], prim.Avals],
    *,
    square: bool = True,
) -> None:
    """Define the types of a primitive's results for a matrix.

    Args:
        primitive: takes one matrix, or several in one array.
        types: of the operand's type and the parameters, those of the results.
        square: whether it takes square matrices alone.
    """

    @primitive.def_abstract_eval
    def matrix_types(avals: prim.Avals, params: P) -> prim.Avals:
        (x,) = avals
        check_matrices(primitive.name, x, square=square)
        return types(x, params)


def check_operands(name: str, a: av.ShapedArray, b: av.ShapedArray) -> None:
    """Raise unless two stacks of matrices have one dtype and the same axes in front.

    Raises:
        ShapeError: the axes in front differ.
        DtypeError: the dtypes differ.
    """
    check_matrices(name, a, square=True)
    check_matrices(name, b)
    if a.shape[:-2] != b.shape[:-2]:
        raise errors.ShapeError(
            f"{name} needs operands of one shape but for the last two axes, but got {a} and {b}. "
            "The functions of tinyjax.numpy.linalg broadcast; this one does not."
        )
    check_one_dtype(name, a, b)


def check_one_dtype(name: str, *avals: av.ShapedArray) -> None:
    """Raise unless operands have one dtype.

    Raises:
        DtypeError: they differ.
    """
    if any(x.dtype != avals[0].dtype for x in avals):
        raise errors.DtypeError(
            f"{name} needs operands of one dtype, but got {' and '.join(map(str, avals))}. The "
            "functions of tinyjax.numpy.linalg promote; this one does not."
        )


# Formulas


def mT(x: Array) -> Array:
    """Return the transposes of matrices."""
    n = x.ndim
    return sh.transpose(x, (*range(n - 2), n - 1, n - 2))


def mH(x: Array) -> Array:
    """Return the conjugate transposes of matrices."""
    return conjugated(mT(x))


def conjugated(x: Array) -> Array:
    """Return the complex conjugate, also of real arrays."""
    return ew.conj(x) if dtypes.is_complex(x.dtype) else x


def mm(x: Array, y: Array) -> Array:
    """Return the products of matrices, pairwise."""
    n = x.ndim
    batch = tuple(range(n - 2))
    return dot.dot_general(x, y, ((n - 1,), (n - 2,)), (batch, batch))


def _mask(x: Array, compare: Callable[[Array, Array], Array]) -> Array:
    """Return the mask where row and column indices compare so, of the shape of ``x``."""
    shape = x.shape[-2:]
    mask = compare(sh.iota(shape, dtypes.int32, 0), sh.iota(shape, dtypes.int32, 1))
    return broadcast_in_dim(mask, x.shape, (x.ndim - 2, x.ndim - 1))


def lower_part(x: Array, strict: bool = False) -> Array:
    """Return the matrices with zeros above the diagonal; ``strict``: and on it."""
    return ew.select(_mask(x, ew.gt if strict else ew.ge), x, sh.zeros_like(x))


def upper_part(x: Array) -> Array:
    """Return the matrices with zeros below the diagonal."""
    return ew.select(_mask(x, ew.gt), sh.zeros_like(x), x)


def on_diagonal(x: Array, y: Array) -> Array:
    """Return the matrices ``x`` on the diagonal, and ``y`` off it."""
    return ew.select(_mask(x, ew.eq), x, y)


def identity_like(x: Array) -> Array:
    """Identity matrices of the type of ``x``; rectangular ones have ones on the diagonal."""
    return on_diagonal(sh.full_like(x, 1), sh.zeros_like(x))


def identities(shape: tuple[int, ...], dtype: DType) -> Array:
    """Return a stack of identity matrices; rectangular ones have ones on the diagonal."""
    return identity_like(sh.full(shape, 0, dtype))


def diagonal_of(x: Array) -> Array:
    """Return the diagonals of square matrices."""
    *batch, n, _ = x.shape
    return slicing.slice_in_dim(sh.reshape(x, (*batch, n * n)), 0, n * n, n + 1, len(batch))


def trace_of(x: Array) -> Array:
    """Return the traces of square matrices."""
    return reduce_sum(on_diagonal(x, sh.zeros_like(x)), (x.ndim - 2, x.ndim - 1))


def along_rows(v: Array, like: Array) -> Array:
    """Matrices each of whose rows is a vector of ``v``: factors of the columns of ``like``."""
    n = like.ndim
    shaped = broadcast_in_dim(v, like.shape, (*range(n - 2), n - 1))
    return same_kind(shaped, like)


def along_columns(v: Array, like: Array) -> Array:
    """Matrices each of whose columns is a vector of ``v``: factors of the rows of ``like``."""
    n = like.ndim
    shaped = broadcast_in_dim(v, like.shape, tuple(range(n - 1)))
    return same_kind(shaped, like)


def same_kind(x: Array, like: Array) -> Array:
    """``x``, as complex numbers if those of ``like`` are."""
    if x.dtype == like.dtype:
        return x
    return ew.complex_(x, sh.zeros_like(x))


def real_part(x: Array) -> Array:
    """Return the real part, also of real arrays."""
    return ew.real(x) if dtypes.is_complex(x.dtype) else x


def hermitian_part(x: Array) -> Array:
    """``(x + x^H) / 2``."""
    total = ew.add(x, mH(x))
    return ew.div(total, sh.full_like(total, 2))


def from_lower(x: Array) -> Array:
    """Return the Hermitian matrices whose lower triangles are those of ``x``."""
    flipped = mH(x)
    diagonal = x
    if dtypes.is_complex(x.dtype):
        diagonal = ew.div(ew.add(x, flipped), sh.full_like(x, 2))
    return on_diagonal(diagonal, ew.select(_mask(x, ew.gt), x, flipped))


#: So many units in the last place of the greatest value may lie between values that count as
#: equal: repeated eigenvalues and singular values of matrices came out up to 12 apart.
_ULPS: Final = 16


def quotients(y: Array, x: Array, values: Array) -> Array:
    """``y / x``, where ``x`` may be 0 to the accuracy of eigenvalues or singular values.

    There a product that overflows makes all numbers infinite but 0, which stays. So the quotient is
    linear, with an infinite slope, and what is not perturbed, or not used, has a derivative.

    Args:
        y: what is divided.
        x: ``values``, or sums or differences of them, with more axes.
        values: the eigenvalues or singular values, along the last axis.
    """
    sizes = ew.abs_(values)
    eps = float(dtypes.finfo(sizes.dtype).eps)
    greatest = reduce_max(sizes, (values.ndim - 1,))
    least = ew.mul(greatest, sh.full_like(greatest, _ULPS * eps))
    least = broadcast_in_dim(least, x.shape, tuple(range(least.ndim)))
    nothing = ew.le(ew.abs_(x), least)
    one, huge = sh.full_like(x, 1), sh.full_like(x, float(dtypes.finfo(sizes.dtype).max))
    for factor in (
        ew.select(nothing, huge, ew.div(one, ew.select(nothing, one, x))),
        ew.select(nothing, huge, one),
    ):
        y = ew.mul(y, same_kind(factor, y))
    return y


def pairs(v: Array) -> tuple[Array, Array]:
    """``v_i`` and ``v_j`` in row ``i`` and column ``j``."""
    shape, n = (*v.shape, v.shape[-1]), v.ndim + 1
    rows = broadcast_in_dim(v, shape, tuple(range(n - 1)))
    return rows, broadcast_in_dim(v, shape, (*range(n - 2), n - 1))


def over_differences(x: Array, v: Array) -> Array:
    """``x_ij / (v_j - v_i)``, and 0 on the diagonal; NaN, also of 0, where two values are equal.

    A function of equal values may be exactly 0, and its slope is not.
    """
    rows, columns = pairs(v)
    gaps = ew.sub(columns, rows)
    gaps = on_diagonal(sh.full_like(gaps, 1), gaps)
    equal = ew.eq(gaps, sh.zeros_like(gaps))
    undefined = ew.select(equal, sh.full_like(gaps, np.nan), sh.full_like(gaps, 1))
    return ew.mul(quotients(off_diagonal(x), gaps, v), same_kind(undefined, x))


def off_diagonal(x: Array) -> Array:
    """Return the matrices with zeros on the diagonal."""
    return on_diagonal(sh.zeros_like(x), x)


def column_of(x: Array, j: Array) -> Array:
    """Return the columns of matrices whose index is a traced number, shape ``(..., m, 1)``."""
    return dynamic_slice.dynamic_slice_in_dim(x, j, 1, x.ndim - 1, allow_negative_indices=False)


def with_column(x: Array, j: Array, column: Array) -> Array:
    """Return the matrices with a column replaced, whose index is a traced number."""
    return dynamic_slice.dynamic_update_slice_in_dim(
        x, column, j, x.ndim - 1, allow_negative_indices=False
    )


def def_system(primitive: prim.Primitive[P], *products: Callable[[Array, Array, P], Array]) -> None:
    """Register the derivative of a system ``a x = b``: from it follows ``a x' = b' - a' x``.

    Args:
        primitive: its last operand is ``b``.
        products: for each of the others ``(tangent, x, params)`` to what its change contributes to
            ``a' x``.
    """
    prim.mark(prim.SOLVES, True, primitive)

    @primitive.def_jvp
    def system_jvp(primals: prim.Arrays, tangents: prim.Tangents, params: P) -> prim.JvpResult:
        *matrices, b = primals
        x = tr.bind1(primitive, primals, params)
        change = tangents[-1]
        for t, product in zip(tangents[:-1], products, strict=True):
            if t is not prim.ZERO:
                change = add_tangents(change, ew.neg(product(t, x, params)))
        solved = tr.bind1(primitive, (*matrices, instantiate(change, b)), params)
        return (x,), (solved,)


def def_system_batch(
    primitive: prim.Primitive[P], left_side: Callable[[P], bool] = lambda params: True
) -> None:
    """Register the batch rule of a system, or product; of shared matrices they are many columns.

    Args:
        primitive: its last operand are the right-hand sides.
        left_side: whether the matrices are on the left.
    """

    @primitive.def_batch
    def system_batch(
        mapped: prim.MappedAxis, values: prim.Arrays, axes: prim.BatchAxes, params: P
    ) -> prim.BatchResult:
        (*matrices, b), (*shared, b_axis) = values, axes
        if b_axis is not None and all(axis is None for axis in shared):
            is_left = left_side(params)
            place = b.ndim - 1 if is_left else b.ndim - 3
            b = sh.moveaxis(b, b_axis, place)
            *batch, n, m, k = shape = b.shape
            b = sh.reshape(b, (*batch, n, m * k) if is_left else (*batch, n * m, k))
            x = tr.bind1(primitive, (*matrices, b), params)
            return (sh.moveaxis(sh.reshape(x, shape), place, 0),), (0,)
        size = mapped.size
        moved = [sh.move_batch_axis(x, axis, 0, size) for x, axis in zip(values, axes, strict=True)]
        return (tr.bind1(primitive, moved, params),), (0,)


# NumPy


def lapack_of_numpy(
    name: str, signature: str, fun: Callable[..., Any]
) -> Callable[..., Sequence[HostArray]]:
    """Return the implementation of a function of ``numpy.linalg``, without its checks.

    It gives the same numbers, and NaN for matrices for which the function raises. Like the
    function it computes in double precision.

    Args:
        name: of the ufunc in NumPy's own module. Some have other names in earlier versions, in
            which the function is called.
        signature: the types that it takes and returns for real operands.
        fun: the function. It is called for complex operands, too, whose NaN has two parts.
    """
    routine = getattr(_umath_linalg, name, None)

    def otherwise(*operands: HostArray) -> Sequence[HostArray]:
        outs = fun(*operands)
        return [np.asarray(out) for out in (outs if isinstance(outs, tuple) else (outs,))]

    def call(*operands: HostArray) -> Sequence[HostArray]:
        dtype = operands[0].dtype
        if routine is None or dtype.kind == "c":
            return where_possible(otherwise, *operands)
        outs = routine(*operands, signature=signature)
        if type(outs) is tuple:
            return [np.asarray(out, dtype) for out in outs]
        return (np.asarray(outs, dtype),)

    return call


def kernel_of_numpy(name: str, signature: str, aval: av.ShapedArray) -> prim.Kernel | None:
    """Return the implementation for operands of one real type, without the dispatch by type.

    Args:
        name: of the ufunc in NumPy's own module, which has one result.
        signature: the types that it takes and returns.
        aval: the type of the first operand.
    """
    routine = getattr(_umath_linalg, name, None)
    dtype = aval.dtype
    if routine is None or dtypes.is_complex(dtype):
        return None
    if dtype == dtypes.float64:
        return lambda *operands: routine(*operands, signature=signature)
    if aval.ndim == 2 and name == "det":  # a number, not an array
        return lambda x: dtype.type(routine(x, signature=signature))
    return lambda *operands: routine(*operands, signature=signature).astype(dtype)


#: Masks of larger matrices are not kept.
_KEPT: Final = 64


@lru_cache(maxsize=256)
def _triangle(shape: tuple[int, ...], k: int, dtype: DType) -> tuple[HostArray, HostArray]:
    """Return the mask of elements on and below a diagonal, and a zero of a dtype."""
    rows, columns = shape
    return np.tri(rows, columns, k, dtype=np.bool_), np.zeros((), dtype)


def lower_of_host(x: HostArray) -> HostArray:
    """Return ``np.tril(x)``, for small matrices in a fifth of the time."""
    shape = x.shape[-2:]
    if max(shape) > _KEPT:
        return np.tril(x)
    mask, zero = _triangle(shape, 0, x.dtype)
    return np.where(mask, x, zero)


def upper_of_host(x: HostArray) -> HostArray:
    """Return ``np.triu(x)``, for small matrices in a fifth of the time."""
    shape = x.shape[-2:]
    if max(shape) > _KEPT:
        return np.triu(x)
    mask, zero = _triangle(shape, -1, x.dtype)
    return np.where(mask, zero, x)


def where_possible(fun: HostMatrices, *operands: HostArray) -> Sequence[HostArray]:
    """Call a function of NumPy's; where it fails for some matrices, give NaN for those.

    Args:
        fun: takes stacks of matrices, and raises ``LinAlgError`` where one of them has no result.
        *operands: stacks with the same axes in front.
    """
    try:
        return fun(*operands)
    except np.linalg.LinAlgError:
        return _one_by_one(fun, operands)


def _one_by_one(fun: HostMatrices, operands: Sequence[HostArray]) -> Sequence[HostArray]:
    batch = operands[0].shape[:-2]
    # What the identity and zeros give has the right shapes and dtypes.
    first, *rest = (x[(0,) * len(batch)] for x in operands)
    shapes = fun(np.eye(*first.shape, dtype=first.dtype), *map(np.zeros_like, rest))
    outs = [np.full((*batch, *np.shape(out)), np.nan, out.dtype) for out in shapes]
    for index in np.ndindex(*batch):
        try:
            results = fun(*(x[index] for x in operands))
        except np.linalg.LinAlgError:
            continue
        for out, result in zip(outs, results, strict=True):
            out[index] = result
    return outs


def impl_by_one(
    primitive: prim.Primitive[P], fun: Callable[..., Sequence[HostArray]], core: int = 2
) -> Callable[[prim.Hosts, P], prim.Hosts]:
    """Return the evaluation of a primitive by a function of one problem, such as SciPy has.

    Args:
        primitive: whose typing rule is registered already.
        fun: takes the operands of one problem, and the parameters last. Where it raises
            ``LinAlgError``, the results are NaN.
        core: how many axes of the first operand belong to one problem.
    """

    @lru_cache(maxsize=256)
    def types(params: P, *operands: tuple[tuple[int, ...], DType]) -> tuple[prim.Avals, bool]:
        avals = [av.ShapedArray(shape, dtype) for shape, dtype in operands]
        outs = primitive.rules.abstract_eval(avals, params)
        return outs, not any(out.size for out in outs)

    def impl(operands: prim.Hosts, params: P) -> prim.Hosts:
        first = operands[0]
        avals_out, is_empty = types(params, *[(x.shape, x.dtype) for x in operands])
        if first.ndim == core and not is_empty:
            try:
                results = fun(*operands, params)
            except np.linalg.LinAlgError:
                return [np.full(aval.shape, np.nan, aval.dtype) for aval in avals_out]
            return [
                np.asarray(x, aval.dtype, order="C")
                for x, aval in zip(results, avals_out, strict=True)
            ]
        outs = [np.zeros(aval.shape, aval.dtype) for aval in avals_out]
        if is_empty:
            return outs
        for index in np.ndindex(*first.shape[: first.ndim - core]):
            try:
                results = fun(*(x[index] for x in operands), params)
            except np.linalg.LinAlgError:
                results = [np.full((), np.nan, out.dtype) for out in outs]
            for out, result in zip(outs, results, strict=True):
                out[index] = result
        return outs

    return impl


def def_impl_by_one(
    primitive: prim.Primitive[P], fun: Callable[..., Sequence[HostArray]], core: int = 2
) -> None:
    """Register the evaluation by a function of one problem, as ``impl_by_one`` takes it."""

    def host_rule(avals: prim.Avals, params: P) -> prim.Kernel | None:
        outs = primitive.rules.abstract_eval(avals, params)
        if len(outs) > 1 or avals[0].ndim != core or not outs[0].size:
            return None
        (shape, dtype), asarray = (outs[0].shape, outs[0].dtype), np.asarray

        def evaluate(*operands: HostArray) -> HostArray:
            try:
                return asarray(fun(*operands, params)[0], dtype, order="C")
            except np.linalg.LinAlgError:
                return np.full(shape, np.nan, dtype)

        return evaluate

    primitive.def_impl(impl_by_one(primitive, fun, core))
    primitive.def_host(host_rule)


@lru_cache
def lapack_routine(name: str, dtype: DType) -> Callable[..., tuple[HostArray, ...]]:
    """Return SciPy's binding to a routine of LAPACK.

    Args:
        name: without the letter for the type; of the routine for real matrices, where there are
            two.
        dtype: the type.
    """
    from scipy.linalg import lapack  # noqa: PLC0415 (SciPy is slow to load)

    routine: Callable[..., tuple[HostArray, ...]] = getattr(lapack, _typed(name, dtype))
    return routine


def check_finite(x: HostArray) -> None:
    """Raise ``LinAlgError`` where an iteration of LAPACK might not end."""
    if not families.all_hold(np.isfinite(x)):
        raise np.linalg.LinAlgError("not finite")


# LAPACK

#: Routines for real matrices, and those for complex ones of other names.
_OF_COMPLEX: Final = {"orgqr": "ungqr", "ormqr": "unmqr", "sytrd": "hetrd", "syevd": "heevd"}


def _typed(routine: str, dtype: DType) -> str:
    """Return the name of a routine for matrices of a type."""
    name = _OF_COMPLEX.get(routine, routine) if dtypes.is_complex(dtype) else routine
    return _PREFIXES[dtype] + name


#: A type, and how many of its axes belong to one problem: two for a matrix, which LAPACK has column
#: by column; one for a vector; none for a number.
Stack: TypeAlias = tuple[hlo.TensorType, int]


def matrices(x: hlo.SSAValue) -> tuple[hlo.SSAValue, int]:
    """Return an operand that holds matrices."""
    return x, 2


def _layout(tensor_type: hlo.TensorType, axes: int) -> hlo.Layout:
    """Return the axes, the one whose elements lie next to each other first."""
    n = len(tensor_type.shape)
    return (*range(n - axes, n), *reversed(range(n - axes)))


def lapack_call(
    b: Lowering,
    routine: str,
    operands: Sequence[tuple[hlo.SSAValue, int]],
    *results: Stack,
    on_cuda: tuple[str, Mapping[str, str | int]] | None = None,
    in_place: Sequence[tuple[int, int]] = ((0, 0),),
    **options: str | int,
) -> list[hlo.SSAValue]:
    """Write a call of a routine of LAPACK, or of one for GPUs that does the same.

    Args:
        b: where.
        routine: its name, without the letter for the type, which is the first operand's; of the
            routine for real matrices, where there are two.
        operands: values, and how many axes of each belong to one problem.
        results: types, and the same.
        on_cuda: what is called on GPUs, as for ``routine_call``, and its options.
        in_place: pairs of an operand and of the result that takes its memory; into other memory
            jaxlib copies the operand first.
        options: each a letter, such as "L" for the lower triangle, a number or a bool.
    """
    if on_cuda is not None and b.platform == "cuda":
        target, options_there = on_cuda
        return routine_call(b, target, operands, *results, in_place=in_place, **options_there)
    target = f"lapack_{_typed(routine, operands[0][0].dtype)}_ffi"
    return routine_call(b, target, operands, *results, in_place=in_place, **options)


def routine_call(
    b: Lowering,
    target: str,
    operands: Sequence[tuple[hlo.SSAValue, int]],
    *results: Stack,
    in_place: Sequence[tuple[int, int]] = ((0, 0),),
    **options: str | int,
) -> list[hlo.SSAValue]:
    """Write a call of a routine of LAPACK, or for GPUs by Nvidia of cusolver or jaxlib.

    Args:
        b: where.
        target: the name that jaxlib registers it under.
        operands: values, and how many axes of each belong to one problem.
        results: types, and the same.
        in_place: pairs of an operand and of the result that takes its memory.
        options: each a letter, a word, a number or a bool.
    """
    return b.custom_call(
        target,
        [x for x, _ in operands],
        [of for of, _ in results],
        {name: _option(option) for name, option in options.items()},
        ([_layout(x.type, axes) for x, axes in operands], [_layout(*stack) for stack in results]),
        aliases=in_place,
        batch=operands[0][0].ndim - operands[0][1],
    )


def reflected_identity(
    b: Lowering, columns: hlo.SSAValue, factors: hlo.SSAValue
) -> list[hlo.SSAValue]:
    """Write the first columns of a product of reflections, which are packed."""
    operands, result = (matrices(columns), (factors, 1)), (columns.type, 2)
    return lapack_call(b, "orgqr", operands, result, on_cuda=("cusolver_orgqr_ffi", {}))


def refuse_on_cuda(name: str) -> Callable[..., NoReturn]:
    """Return the lowering rule of a primitive for which there is no routine on GPUs."""

    def rule(b: Lowering, operands: hlo.Values, params: object) -> NoReturn:
        raise errors.PlatformError(
            f"'{name}' is not computed on GPUs: LAPACK's routine for it is the processor's alone. "
            "Put its operand there: tinyjax.device_put(x, tinyjax.devices('cpu')[0])."
        )

    return rule


def _option(option: str | int) -> str:
    """Return an option as an attribute of a call."""
    match option:
        case bool():
            return hlo.boolean(option)
        case int():
            return f"{option} : i32"
        case _ if len(option) > 1:
            return hlo.string(option)
        case _:
            return f"{ord(option)} : ui8"


def status(tensor_type: hlo.TensorType) -> Stack:
    """Return the type and the initial value of a routine's status: zero for success."""
    return hlo.tensor(tensor_type.shape[:-2], dtypes.int32), 0


def nan_where_failed(b: Lowering, info: hlo.SSAValue, results: hlo.Values) -> hlo.Values:
    """Emit a selection: the results of a routine where it was successful, NaN elsewhere.

    Args:
        b: where.
        info: what the routine said (``status``).
        results: what it computed.
    """
    good = b.compare(info, b.full_like(info, 0), "EQ")
    axes = range(info.ndim)
    return [
        b.select(b.broadcast_in_dim(good, x.shape, axes), x, b.full_like(x, float("nan")))
        for x in results
    ]


def nothing_to_do(operands: hlo.Values) -> bool:
    """Return whether the operands are empty, so that LAPACK has nothing to do."""
    return any(not x.size for x in operands)


def def_lowering(
    primitive: prim.Primitive[P], platform: str | None = None
) -> Callable[[prim.LoweringRule[P]], None]:
    """Register a lowering that calls LAPACK, which does not take empty matrices.

    For those results are empty, or sums and products of nothing but zeros.
    """

    def register(rule: prim.LoweringRule[P]) -> None:
        def lowering(b: Lowering, operands: hlo.Values, params: P) -> hlo.Values:
            if nothing_to_do(operands):
                return [b.full(0, of) for of in b.results]
            return rule(b, operands, params)

        primitive.def_lowering(lowering, platform=platform)

    return register


def lower_loop(
    b: Lowering, count: int, step: Callable[..., Sequence[Array]], state: hlo.Values
) -> hlo.Values:
    """Write a loop over the columns of matrices.

    Args:
        b: where.
        count: how many columns there are.
        step: takes the number of a column and the state, and returns the state.
        state: the first one.

    Returns:
        The last state.
    """

    def advance(j: Array, *state: Array) -> Sequence[Array]:
        after = step(j, *state)
        return ew.add(j, sh.full_like(j, 1)), *after

    return b.while_(
        (b.scalar(0, dtypes.int32), *state),
        lambda state: families.lower_formula(
            b, lambda j: [ew.lt(j, sh.full_like(j, count))], state[:1]
        ),
        lambda state: families.lower_formula(b, advance, state),
    )[1:]


def first_vectors(vectors: Array, k: int) -> Array:
    """Return so many of the vectors that are the columns of matrices."""
    axis = vectors.ndim - 1
    return vectors if vectors.shape[axis] == k else slicing.slice_in_dim(vectors, 0, k, 1, axis)


def with_last_vectors(vectors: Array, tangents: Array, ta: Array) -> Array:
    """Add the tangents of the last vectors, which are orthogonal to the first ones.

    A single real one is determined but for its sign. Of more only the space is: their tangents are
    NaN, and pull back nothing where their cotangents are zero.

    Args:
        vectors: all vectors.
        tangents: the tangents of the first ones.
        ta: the tangent of the matrices.
    """
    k, axis = tangents.shape[-1], vectors.ndim - 1
    count = vectors.shape[-1] - k
    if not count:
        return tangents
    last = slicing.slice_in_dim(vectors, k, k + count, 1, axis)
    if count == 1 and not dtypes.is_complex(vectors.dtype):
        moved = ew.neg(mm(first_vectors(vectors, k), mm(mT(tangents), last)))
        return slicing.concatenate((tangents, moved), axis)

    def push(residuals: None, ta: Array) -> Array:
        return sh.full_like(last, float("nan"))

    def pull(residuals: None, ct: Array) -> Array:
        parts = (ew.real(ct), ew.imag(ct)) if dtypes.is_complex(ct.dtype) else (ct,)
        flags = [ew.ne(part, sh.full_like(part, 0)) for part in parts]
        matter = reduce_or(flags[0] if len(flags) == 1 else ew.or_(*flags), (axis - 1, axis))
        where = broadcast_in_dim(matter, ta.shape, tuple(range(axis - 1)))
        return ew.select(where, sh.full_like(ta, float("nan")), sh.full_like(ta, 0))

    return slicing.concatenate((tangents, linear_call(push, pull, None, ta)), axis)
