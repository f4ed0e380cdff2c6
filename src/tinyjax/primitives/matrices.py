"""What the primitives of linear algebra share: stacks of matrices, their parts, and LAPACK.

A stack of matrices is an array whose last two axes are the matrices'; the axes in front of them
are the batch's. Every primitive works on stacks, so that batching brings the mapped axis to the
front. Types are those of LAPACK: single and double precision, real and complex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import attrs
import numpy as np

from tinyjax import dtypes
from tinyjax.core.array import Array
from tinyjax.core.avals import ShapedArray
from tinyjax.core.primitive import HostArray, MappedAxis, Primitive
from tinyjax.core.stablehlo import Layout, Lowering
from tinyjax.core.trace import bind
from tinyjax.dtypes import DType
from tinyjax.errors import DtypeError, ShapeError
from tinyjax.primitives.dot import dot_general
from tinyjax.primitives.elementwise import (
    add,
    complex_,
    conj,
    div,
    ge,
    gt,
    real,
    select,
    sub,
)
from tinyjax.primitives.elementwise import eq as equal
from tinyjax.primitives.reduce import reduce_sum
from tinyjax.primitives.shape import (
    broadcast_in_dim,
    full,
    full_like,
    iota,
    move_batch_axis,
    moveaxis,
    reshape,
    transpose,
    zeros_like,
)

P = TypeVar("P")
HostMatrices = Callable[..., Sequence[HostArray]]

_PREFIXES: Final[Mapping[DType, str]] = {
    dtypes.float32: "s",
    dtypes.float64: "d",
    dtypes.complex64: "c",
    dtypes.complex128: "z",
}


# Types


def check_matrices(name: str, aval: ShapedArray, *, square: bool = False) -> None:
    """Raise unless a type is that of a stack of matrices that LAPACK takes.

    Raises:
        ShapeError: there are fewer than two axes, or the matrices are not square.
        DtypeError: the dtype is another.
    """
    if aval.ndim < 2:
        raise ShapeError(
            f"{name} takes matrices, arrays with at least two axes, but got shape {aval.shape}. "
            "Add axes with reshape."
        )
    if square and aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(
            f"{name} takes square matrices, whose last two axes have one size, but got shape "
            f"{aval.shape}."
        )
    if aval.dtype not in _PREFIXES:
        raise DtypeError(
            f"{name} does not take {aval.dtype.name}: it takes "
            f"{', '.join(d.name for d in _PREFIXES)}. Convert the operand with .astype(...)."
        )


def check_operands(name: str, a: ShapedArray, b: ShapedArray) -> None:
    """Raise unless two stacks of matrices have one dtype and the same axes in front.

    Raises:
        ShapeError: the axes in front differ.
        DtypeError: the dtypes differ.
    """
    check_matrices(name, a, square=True)
    check_matrices(name, b)
    if a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(
            f"{name} needs operands of one shape but for the last two axes, but got {a} and {b}. "
            "The functions of tinyjax.numpy.linalg broadcast; this one does not."
        )
    if a.dtype != b.dtype:
        raise DtypeError(
            f"{name} needs operands of one dtype, but got {a} and {b}. The functions of "
            "tinyjax.numpy.linalg promote; this one does not."
        )


# Formulas


def mT(x: Array) -> Array:
    """The transposes of matrices."""
    n = x.ndim
    return transpose(x, (*range(n - 2), n - 1, n - 2))


def mH(x: Array) -> Array:
    """The conjugate transposes of matrices."""
    return conjugated(mT(x))


def conjugated(x: Array) -> Array:
    """The complex conjugate, also of real arrays."""
    return conj(x) if dtypes.is_complex(x.dtype) else x


def mm(x: Array, y: Array) -> Array:
    """The products of matrices, pairwise."""
    n = x.ndim
    batch = tuple(range(n - 2))
    return dot_general(x, y, ((n - 1,), (n - 2,)), (batch, batch))


def _mask(x: Array, compare: Callable[[Array, Array], Array]) -> Array:
    """Where the indices of row and column compare so, as bools of the shape of ``x``."""
    shape = x.shape[-2:]
    mask = compare(iota(shape, dtypes.int32, 0), iota(shape, dtypes.int32, 1))
    return broadcast_in_dim(mask, x.shape, (x.ndim - 2, x.ndim - 1))


def lower_part(x: Array, strict: bool = False) -> Array:
    """The matrices with zeros above the diagonal; ``strict``: and on it."""
    return select(_mask(x, gt if strict else ge), x, zeros_like(x))


def upper_part(x: Array) -> Array:
    """The matrices with zeros below the diagonal."""
    return select(_mask(x, gt), zeros_like(x), x)


def on_diagonal(x: Array, y: Array) -> Array:
    """The matrices ``x`` on the diagonal, and ``y`` off it."""
    return select(_mask(x, equal), x, y)


def identity_like(x: Array) -> Array:
    """Identity matrices of the type of ``x``; rectangular ones have ones on the diagonal."""
    return on_diagonal(full_like(x, 1), zeros_like(x))


def identities(batch: tuple[int, ...], n: int, dtype: DType) -> Array:
    """A stack of identity matrices."""
    return identity_like(full((*batch, n, n), 0, dtype))


def diagonal_of(x: Array) -> Array:
    """The diagonals of square matrices."""
    return reduce_sum(on_diagonal(x, zeros_like(x)), (x.ndim - 1,))


def trace_of(x: Array) -> Array:
    """The traces of square matrices."""
    return reduce_sum(on_diagonal(x, zeros_like(x)), (x.ndim - 2, x.ndim - 1))


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
    return complex_(x, zeros_like(x))


def real_part(x: Array) -> Array:
    """The real part, also of real arrays."""
    return real(x) if dtypes.is_complex(x.dtype) else x


def hermitian_part(x: Array) -> Array:
    """``(x + x^H) / 2``."""
    total = add(x, mH(x))
    return div(total, full_like(total, 2))


def from_lower(x: Array) -> Array:
    """The Hermitian matrices whose lower triangles are those of ``x``."""
    flipped = mH(x)
    diagonal = x
    if dtypes.is_complex(x.dtype):
        diagonal = div(add(x, flipped), full_like(x, 2))
    return on_diagonal(diagonal, select(_mask(x, gt), x, flipped))


def differences(v: Array, like: Array) -> Array:
    """``v_j - v_i`` in row ``i`` and column ``j``, real, with ones on the diagonal."""
    shape = (*like.shape[:-2], v.shape[-1], v.shape[-1])
    n = len(shape)
    columns = broadcast_in_dim(v, shape, (*range(n - 2), n - 1))
    rows = broadcast_in_dim(v, shape, tuple(range(n - 1)))
    gaps = sub(columns, rows)
    return on_diagonal(full_like(gaps, 1), gaps)


def off_diagonal(x: Array) -> Array:
    """The matrices with zeros on the diagonal."""
    return on_diagonal(zeros_like(x), x)


# Batching


def def_matrix_batch(primitive: Primitive[P]) -> None:
    """Register the batch rule of a primitive on stacks: the mapped axis comes to the front."""

    @primitive.def_batch
    def matrix_batch(
        mapped: MappedAxis, values: Sequence[Array], axes: Sequence[int | None], params: P
    ) -> tuple[Sequence[Array], Sequence[int | None]]:
        moved = [
            move_batch_axis(x, axis, 0, mapped.size) for x, axis in zip(values, axes, strict=True)
        ]
        outs = bind(primitive, moved, params)
        return outs, [0] * len(outs)


def solve_all(solve: Callable[[Array], Array], b: Array, axis: int, left_side: bool) -> Array:
    """Solve the same systems for many right-hand sides at once, as more columns (or rows) of one.

    Args:
        solve: takes right-hand sides of shape ``(..., n, m)``, for matrices on the left, or else
            ``(..., m, n)``, with any ``m``.
        b: such right-hand sides, with one more axis.
        axis: that axis.
        left_side: whether the matrices are on the left.

    Returns:
        What solves them, with the axis in front.
    """
    last = b.ndim - 1
    b = moveaxis(b, axis, last if left_side else last - 2)
    shape = b.shape
    if left_side:
        x = solve(reshape(b, (*shape[:-2], shape[-2] * shape[-1])))
    else:
        x = solve(reshape(b, (*shape[:-3], shape[-3] * shape[-2], shape[-1])))
    return moveaxis(reshape(x, shape), last if left_side else last - 2, 0)


# NumPy


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


# LAPACK


@attrs.frozen
class Stack:
    """An argument or a result of a routine of LAPACK.

    Attributes:
        aval: its type.
        axes: how many axes belong to one problem: two for a matrix, which LAPACK has column by
            column; one for a vector; none for a number.
    """

    aval: ShapedArray
    axes: int

    @property
    def layout(self) -> Layout:
        """The axes, the one whose elements lie next to each other first."""
        n = self.aval.ndim
        batch = tuple(reversed(range(n - self.axes)))
        return (*range(n - self.axes, n), *batch)


def lapack_call(
    lowering: Lowering,
    routine: str,
    dtype: DType,
    operands: Sequence[tuple[str, Stack]],
    results: Sequence[Stack],
    config: Mapping[str, str] | None = None,
) -> list[str]:
    """Write a call of a routine of LAPACK.

    Args:
        lowering: where.
        routine: its name, without the letter for the type.
        dtype: which type that is.
        operands: names and types.
        results: types.
        config: further attributes.
    """
    given = [stack for _, stack in operands]
    return lowering.custom_call(
        f"lapack_{_PREFIXES[dtype]}{routine}_ffi",
        [name for name, _ in operands],
        [stack.aval for stack in given],
        [stack.aval for stack in results],
        config or {},
        ([stack.layout for stack in given], [stack.layout for stack in results]),
    )


def letter(option: str) -> str:
    """Write one of LAPACK's options, such as "L" for the lower triangle."""
    return f"{ord(option)} : ui8"


def status(aval: ShapedArray) -> Stack:
    """What a routine says of each matrix of a stack: zero where it was successful."""
    return Stack(ShapedArray(aval.shape[:-2], dtypes.int32), 0)


def nan_where_failed(
    lowering: Lowering, info: str, results: Sequence[str], avals: Sequence[ShapedArray]
) -> list[str]:
    """Write a choice: the results of a routine where it was successful, NaN elsewhere.

    Args:
        lowering: where.
        info: what the routine said (``status``).
        results: what it computed.
        avals: the types of that.
    """
    outs = []
    for name, aval in zip(results, avals, strict=True):
        batch = ShapedArray(_batch_shape(lowering), dtypes.int32)
        flags = ShapedArray(batch.shape, dtypes.bool_)
        zero = lowering.full(0, batch)
        compare = {
            "comparison_direction": "#stablehlo<comparison_direction EQ>",
            "compare_type": "#stablehlo<comparison_type SIGNED>",
        }
        good = lowering.op1("stablehlo.compare", (info, zero), (batch, batch), flags, compare)
        wide = ShapedArray(aval.shape, dtypes.bool_)
        good = lowering.broadcast(good, flags, wide, tuple(range(flags.ndim)))
        nan = lowering.full(float("nan"), aval)
        outs.append(lowering.op1("stablehlo.select", (good, name, nan), (wide, aval, aval), aval))
    return outs


def _batch_shape(lowering: Lowering) -> tuple[int, ...]:
    return lowering.avals_in[0].shape[:-2]


def has_no_elements(lowering: Lowering) -> bool:
    """Whether the current equation's operands are such that LAPACK has nothing to do."""
    return any(not aval.size for aval in lowering.avals_in)


def lower_nothing(lowering: Lowering) -> list[str]:
    """Write results that are empty, or sums and products of nothing but zeros."""
    return [lowering.full(0, aval) for aval in lowering.avals_out]
