"""Solutions of sparse systems by SuperLU on the host, which keeps its last decompositions.

A decomposition is found again by the matrix's elements and their places, so that further right
sides, transposed systems and derivatives take no other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, Final, Protocol

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import custom_derivatives, implicit
from tinyjax._extensions import callbacks
from tinyjax.core.values import Array, ShapedArray
from tinyjax.dtypes import HostArray
from tinyjax.experimental.sparse import bcsr

#: So many decompositions are kept.
_MOST: Final = 8


class _Decomposition(Protocol):
    """SciPy's decomposition of a matrix by its columns."""

    perm_r: HostArray
    perm_c: HostArray
    U: Any

    def solve(self, rhs: HostArray, trans: str) -> HostArray: ...


def solve(matrix: bcsr.BCSR, b: Array, transposed: bool = False) -> Array:
    """Solve a system with a sparse square matrix, or with its transpose.

    The right sides have the shape (n,) or (n, k). The solution is NaN where the matrix is singular.
    """
    parts = (matrix.data, matrix.indices, matrix.indptr)
    by_places = matrix.to_bcoo()
    operator = by_places.T if transposed else by_places

    def solved(trans: str) -> Callable[[Any, Array], Array]:
        on_host = partial(_solve, trans)
        return lambda _, y: callbacks.pure_callback(on_host, y, *parts, y, vmap_method="sequential")

    # the rows of the matrix are columns of its transpose, which is what is decomposed
    forwards, backwards = solved("T"), solved("N")
    if transposed:
        forwards, backwards = backwards, forwards
    result: Array = implicit.custom_linear_solve(lambda x: operator @ x, b, forwards, backwards)
    return result


def slogdet(matrix: bcsr.BCSR) -> tuple[Array, Array]:
    """Return the sign of the determinant of a sparse matrix, and the logarithm of its magnitude."""
    indices, indptr, size = matrix.indices, matrix.indptr, matrix.shape[0]
    rows = jnp.searchsorted(indptr, jnp.arange(indices.size), side="right") - 1

    @custom_derivatives.custom_jvp
    def determinant(data: Array) -> tuple[Array, Array]:
        magnitude = jnp.abs(data)
        shapes = tuple(ShapedArray((), x.dtype) for x in (data, magnitude))
        result: tuple[Array, Array] = callbacks.pure_callback(
            _slogdet, shapes, data, indices, indptr, vmap_method="sequential"
        )
        return result

    @determinant.defjvp
    def determinant_jvp(
        primals: tuple[Array], tangents: tuple[Array]
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        (data,), (tangent,) = primals, tangents
        sign, logarithm = determinant(data)
        inverse = solve(
            bcsr.BCSR((data, indices, indptr), shape=matrix.shape), jnp.eye(size, dtype=data.dtype)
        )
        slope = jnp.sum(inverse.at[indices, rows].get(mode="fill", fill_value=0) * tangent)
        turned = sign * 1j * slope.imag if jnp.iscomplexobj(sign) else jnp.zeros_like(sign)
        return (sign, logarithm), (turned, slope.real)

    result: tuple[Array, Array] = determinant(matrix.data)
    return result


def _solve(
    trans: str, data: HostArray, indices: HostArray, indptr: HostArray, b: HostArray
) -> HostArray:
    decomposition = _decomposition(data, indices, indptr)
    if decomposition is None:
        return np.full_like(b, np.nan)
    return np.asarray(decomposition.solve(np.asarray(b, data.dtype), trans), b.dtype)


def _decomposition(*columns: HostArray) -> _Decomposition | None:
    """Return the decomposition of a matrix that is given by its columns, made before or now."""
    return _decomposed(*[(part.tobytes(), part.dtype.str) for part in columns])


@lru_cache(maxsize=_MOST)
def _decomposed(*parts: tuple[bytes, str]) -> _Decomposition | None:
    """Decompose a matrix that is given by its columns; None if it is singular."""
    from scipy.sparse import csc_array  # noqa: PLC0415 (it takes longer to load than tinyjax)
    from scipy.sparse.linalg import splu  # noqa: PLC0415

    data, indices, indptr = [np.frombuffer(*part).copy() for part in parts]
    try:
        decomposition: _Decomposition = splu(
            csc_array((data, indices, indptr), (indptr.size - 1,) * 2)
        )
    except RuntimeError:  # it is singular
        return None
    return decomposition


def _slogdet(data: HostArray, indices: HostArray, indptr: HostArray) -> tuple[HostArray, HostArray]:
    decomposition = _decomposition(data, indices, indptr)
    if decomposition is None:
        return np.zeros((), data.dtype), np.asarray(-np.inf, abs(data).dtype)
    diagonal = decomposition.U.diagonal()
    magnitudes = abs(diagonal)
    sign = np.prod(diagonal / magnitudes)
    for order in (decomposition.perm_r, decomposition.perm_c):
        sign = sign * _parity(order)
    return np.asarray(sign, data.dtype), np.asarray(np.sum(np.log(magnitudes)), magnitudes.dtype)


def _parity(order: HostArray) -> int:
    """Return the determinant of a permutation: -1 for an odd number of exchanges."""
    places, seen, parity = order.tolist(), [False] * order.size, 1
    for start in range(order.size):
        place, length = start, 0
        while not seen[place]:
            seen[place] = True
            place, length = places[place], length + 1
        if length and length % 2 == 0:
            parity = -parity
    return parity
