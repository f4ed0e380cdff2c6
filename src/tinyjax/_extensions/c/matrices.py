"""Factorizations of small matrices and solutions of systems, by functions of fixed sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Final

from tinyjax import dtypes
from tinyjax._extensions.c import rules, syntax
from tinyjax._extensions.c.rules import C
from tinyjax._extensions.c.writing import CValue, Shape, Storage, Writer
from tinyjax._primitives import determinant, householder, lu, qr, triangular
from tinyjax.core.tracing import jaxpr as jx


def _copied(w: Writer, x: CValue, number: int | None = None) -> Storage:
    """Return a copy of an operand, as a result or aside, in memory that functions may change."""
    buffer = w.buffer(x.shape, x.dtype)
    out = Storage(buffer, x.shape) if number is None else w.result(x.shape, x.dtype, number)
    w.stored(x, out)
    return out


#: Products of so many terms, and factors of so many rows, are made by BLAS.
LARGE: Final = 1 << 13
_MANY_ROWS: Final = 48
_OF_LIBRARY: Final = frozenset(("product", "potrf", "trsm"))


def call(
    w: Writer, name: str, arrays: Sequence[tuple[Storage, int]], *numbers: int, stack: Shape
) -> Sequence[CValue]:
    """Write calls of a function for each matrix of a stack.

    Args:
        w: the writer.
        name: the function, without the suffix of the first array's dtype.
        arrays: its arguments, each with the number of axes that it has without the stack's.
        numbers: its other arguments.
        stack: the shape of the stack.
    """
    w.close()
    with w.loops(stack, "b") as index:
        texts = ["numbers"] * (name in _OF_LIBRARY)
        for place, ndim in arrays:
            stacked = place.shape[: len(place.shape) - ndim]
            size = prod(place.shape[len(stacked) :])
            offset = syntax.linear(index[: len(stacked)], stacked) * size + place.offset
            texts.append(Storage(place.buffer, place.shape, offset).pointer)
        texts += [str(number).lower() for number in numbers]
        suffix = syntax.suffix(arrays[0][0].buffer.dtype)
        w.line(f"{name}_{suffix}({', '.join(texts)});")
    return [w.value(place) for place, _ in arrays]


@triangular.cholesky_p.def_rule(C)
def _cholesky(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,) = operands
    by_library = w.has_library and x.shape[-1] >= _MANY_ROWS
    return call(
        w,
        "potrf" if by_library else "cholesky",
        [(_copied(w, x, 0), 2)],
        x.shape[-1],
        stack=x.shape[:-2],
    )


@lu.lu_p.def_rule(C)
def _lu(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,) = operands
    *stack, m, n = x.shape
    pivots = w.result((*stack, min(m, n)), dtypes.int32, 1)
    return call(w, "lu", [(_copied(w, x, 0), 2), (pivots, 1)], m, n, stack=tuple(stack))


@lu.pivots_to_permutation_p.def_rule(C)
def _permutation(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,) = operands
    *stack, k = x.shape
    n = eqn.params.size
    arrays = [(_copied(w, x), 1), (w.result((*stack, n), dtypes.int32), 1)]
    return call(w, "order", arrays, k, n, stack=tuple(stack))[1:]


@lu.solve_p.def_rule(C)
def _solve(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    a, b = operands
    *stack, n, m = b.shape
    if eqn.params.transpose_a:
        a = a.indexed(a.shape, lambda index: [*index[:-2], index[-1], index[-2]])
    pivots = Storage(w.buffer((n,), dtypes.int32, "pivots"), (n,))
    arrays = [(_copied(w, a), 2), (pivots, 1), (_copied(w, b, 0), 2)]
    return call(w, "solve", arrays, n, m, stack=tuple(stack))[2:]


@triangular.triangular_solve_p.def_rule(C)
def _triangular(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    a, b = operands
    *stack, rows, columns = b.shape
    params, n = eqn.params, a.shape[-1]
    arrays = [(_copied(w, a), 2), (_copied(w, b, 0), 2)]
    if w.has_library and n >= _MANY_ROWS:
        kind = params.left_side, params.lower, params.transpose_a, params.unit_diagonal
        return call(w, "trsm", arrays, rows, columns, *kind, stack=tuple(stack))[1:]
    transposed = params.transpose_a == params.left_side
    steps = (1, n) if transposed else (n, 1)
    # solutions along the columns of ``b``, or along its rows
    sides = (columns, *steps, columns, 1) if params.left_side else (rows, *steps, 1, columns)
    lower = params.lower != transposed
    flags = (lower, params.unit_diagonal)
    return call(w, "substitute", arrays, n, *sides, *flags, stack=tuple(stack))[1:]


@householder.tridiagonal_solve_p.def_rule(C)
def _tridiagonal(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    *diagonals, b = operands
    *stack, n, m = b.shape
    arrays = [*[(_copied(w, x), 1) for x in diagonals], (_copied(w, b, 0), 2)]
    return call(w, "tridiagonal", arrays, n, m, stack=tuple(stack))[3:]


@qr.qr_p.def_rule(C)
def _qr(w: Writer, operands: Sequence[CValue], eqn: jx.JaxprEqn) -> Sequence[CValue]:
    (x,) = operands
    if eqn.params.pivoting:
        rules.refuse(eqn, "there is none with pivots")
    *stack, m, n = x.shape
    columns = m if eqn.params.full_matrices else min(m, n)
    scales = Storage(w.buffer((min(m, n),), x.dtype, "scales"), (min(m, n),))
    q, r = w.result((*stack, m, columns), x.dtype), w.result((*stack, columns, n), x.dtype, 1)
    arrays = [(_copied(w, x), 2), (scales, 1), (q, 2), (r, 2)]
    return call(w, "qr", arrays, m, n, columns, stack=tuple(stack))[2:]


determinant.det_p.def_rule(C)(rules.by_formula(lambda x: [determinant.det_by_factors(x)]))
determinant.slogdet_p.def_rule(C)(rules.by_formula(determinant.slogdet_by_factors))
