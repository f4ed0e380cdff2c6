"""Sparse matrices of SciPy's under capture: traced elements at known places.

The classes of ``scipy.sparse`` are captured as they are. Here is what they call in C, in arrays of
indices, which are known, and of elements.
"""

from __future__ import annotations

import bisect
import functools
import importlib
import itertools
from collections.abc import Callable
from typing import Any, Final, NoReturn

import numpy as np

from tinyjax import numpy as jnp
from tinyjax.core.values import Array
from tinyjax.dtypes import HostArray
from tinyjax.experimental.sparse import bcsr
from tinyjax.scipy.sparse import linalg
from tinyjax.source.capturing import calls, ndarrays, runs, stores
from tinyjax.source.capturing.ndarrays import decided, plain, value_of, write

#: What computes functions in C, by their modules and names, if an argument is traced.
COUNTERPARTS: Final[dict[str, Callable[..., Any]]] = {}
_TOOLS: Final = "scipy.sparse._sparsetools"
_SUPERLU: Final = "scipy.sparse.linalg._dsolve._superlu"
_LISTS: Final = "_csparsetools"  # as Cython names it


def _computes(*names: str, module: str = _TOOLS) -> Callable[[Any], Any]:
    """Register what computes functions on arrays of places, which are data, and of elements."""

    def register(apply: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            COUNTERPARTS[f"{module}.{name}"] = functools.partial(_with_places, apply)
        return apply

    return register


def _with_places(apply: Callable[..., Any], function: Any, *args: Any, **options: Any) -> Any:
    given = [decided(x, "the places of elements") if _has_places(x) else x for x in args]
    changed = [i for i, x in enumerate(args) if given[i] is not x and ndarrays.is_traced(x)]
    changed = [i for i in changed if ndarrays.is_array(args[i])]
    for i in changed:  # a decision, which the function may write to
        given[i] = np.array(given[i])
    if not ndarrays.are_traced(given, {}) and not any(map(calls.objects_of, given)):
        result = ndarrays.follow(function(*map(plain, given), **options))
    else:
        result = apply(function, *given, **options)
    for i in changed:
        write(args[i], ..., given[i])
    return result


def _has_places(x: Any) -> bool:
    return ndarrays.is_captured(x) and x.dtype.kind in "iu"


def _tool(name: str) -> Any:
    return getattr(importlib.import_module(_TOOLS), name)


def _check_nonzero(values: Array) -> None:
    """Check that no element is zero: SciPy leaves such elements out, and their derivatives.

    Raises:
        CaptureError: one is.
    """
    if not runs.decide(jnp.all(values != 0)):
        raise runs.refusal(
            "a sparse matrix without the elements that are zero",
            "Compute with arrays: matrix.toarray().",
        )


def _rows(indptr: Any) -> HostArray:
    """Return the row of each element of a matrix in compressed form."""
    counts = np.diff(indptr)
    rows: HostArray = np.repeat(np.arange(len(counts)), counts)
    return rows


#: The rows, the columns and the elements of a matrix.
_Entries = tuple[Any, Any, Array]


def _of_rows(indptr: Any, indices: Any, data: Any) -> _Entries:
    """Return the entries of a matrix in compressed form."""
    rows = _rows(indptr)
    return rows, indices[: len(rows)], value_of(data)[: len(rows)]


# Functions that move elements


def _move(source: int, target: int, function: Any, *args: Any) -> Any:
    """Move elements to where the function moves their numbers.

    Args:
        source: the position of the argument with the elements.
        target: the position of the argument that gets them, which may be the same one.
        function: the function.
        args: its arguments.
    """
    elements = value_of(args[source])
    given = [x for i, x in enumerate(args) if i not in (source, target)]
    numbers = np.arange(1, elements.size + 1).reshape(elements.shape)
    moved = numbers if target == source else np.zeros(np.shape(args[target]), np.int64)
    for i in sorted({source, target}):
        given.insert(i, numbers if i == source else moved)
    result = function(*given)
    write(args[target], ..., _numbered(elements, moved))
    return result


def _numbered(elements: Array, numbers: HostArray) -> Any:
    """Return the elements with some numbers, which begin with 1; zeros for zeros."""
    flat = jnp.ravel(elements)
    return jnp.where(numbers > 0, flat[np.maximum(numbers - 1, 0)], 0)


for _name, _source, _target in (
    ("bsr_sort_indices", 6, 6),
    ("bsr_tocsr", 6, 9),
    ("bsr_transpose", 6, 9),
    ("coo_tocsr", 5, 8),
    ("csr_column_index2", 4, 6),
    ("csr_hstack", 5, 8),
    ("csr_row_index", 4, 6),
    ("csr_row_slice", 5, 7),
    ("csr_sort_indices", 3, 3),
    ("csr_tocsc", 4, 7),
):
    _computes(_name)(functools.partial(_move, _source, _target))


@_computes("get_csr_submatrix")
def _submatrix(function: Any, rows: Any, columns: Any, *args: Any) -> Any:
    indptr, indices, data, *bounds = args
    elements = value_of(data)
    numbers = np.arange(1, elements.size + 1)
    *places, moved = function(rows, columns, indptr, indices, numbers, *bounds)
    return *map(ndarrays.follow, places), ndarrays.wrap(_numbered(elements, moved))


@_computes("csr_sample_values")
def _sample(function: Any, *args: Any) -> Any:
    rows, _, indptr, indices = args[:4]
    if not _tool("csr_has_canonical_format")(rows, indptr, indices):
        raise runs.refusal("an element of a sparse matrix with several at one place")
    return _move(4, 8, function, *args)


@_computes("dia_tocsr")
def _from_diagonals(function: Any, *args: Any) -> Any:
    count = _move(5, 7, function, *args)
    _check_nonzero(value_of(args[7])[:count])
    return count


@_computes("csr_eliminate_zeros")
def _eliminate_zeros(function: Any, *args: Any) -> None:
    *matrix, data = args
    if value_of(data).dtype.kind == "b":  # which has no derivative to lose
        known = np.array(decided(data))
        function(*matrix, known)
        write(data, ..., known)
        return
    _check_nonzero(value_of(data))


# Functions that add elements


def _sums(count: int, places: Any, elements: Array) -> Array:
    """Return the sums of the elements at each place."""
    sums = ndarrays.array_of(np.zeros(count, elements.dtype))
    write(sums, places, elements, "add")
    return value_of(sums)


@_computes("csr_sum_duplicates")
def _sum_duplicates(function: Any, *args: Any) -> None:
    *matrix, data = args
    rows, columns, elements = _of_rows(*args[2:])
    places = np.cumsum(np.diff(rows * int(args[1]) + columns, prepend=-1) != 0) - 1
    function(*matrix, np.ones(np.size(data)))
    write(data, ..., _sums(np.size(data), places, elements))


@_computes("csr_todense")
def _rows_to_dense(function: Any, *args: Any) -> None:
    rows, columns, elements = _of_rows(*args[2:5])
    write(args[5], (rows, columns), elements, "add")


@_computes("coo_todense")
def _places_to_dense(function: Any, *args: Any) -> None:
    height, width, _, rows, columns = args[:5]
    data, out, is_fortran = args[5:]
    places = columns * height + rows if is_fortran else rows * width + columns
    write(out, places, value_of(data), "add")


@_computes("coo_todense_nd")
def _coordinates_to_dense(function: Any, strides: Any, *args: Any) -> None:
    _, axes, coordinates, data, out, _ = args
    places = strides @ coordinates.reshape(int(axes), -1)
    write(out, places, value_of(data), "add")


@_computes("csr_diagonal")
def _diagonal(function: Any, *args: Any) -> None:
    rows, columns, elements = _of_rows(*args[3:6])
    chosen, out = np.flatnonzero(columns - rows == args[0]), args[6]
    places = np.minimum(rows, columns)[chosen]
    write(out, ..., jnp.zeros(out.shape, elements.dtype).at[places].add(elements[chosen]))


def _of_columns(*matrix: Any) -> _Entries:
    columns, rows, elements = _of_rows(*matrix)
    return rows, columns, elements


def _of_diagonals(height: Any, width: Any, _: Any, length: Any, *matrix: Any) -> _Entries:
    offsets, data = matrix
    columns = np.broadcast_to(np.arange(length), (len(offsets), length))
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < height) & (columns < width)
    return rows[inside], columns[inside], value_of(data)[np.nonzero(inside)]


def _of_blocks(_: Any, width: Any, rows: int, columns: int, *matrix: Any) -> _Entries:
    indptr, indices, data = matrix
    first = _rows(indptr)[:, None, None]
    places = np.arange(rows)[:, None], np.arange(columns)
    i, j = np.broadcast_arrays(
        first * rows + places[0], indices[: len(first), None, None] * columns + places[1]
    )
    return i.ravel(), j.ravel(), value_of(data)[: i.size]


#: Formats: what gives the entries of a matrix, and where the number of vectors is in calls.
_FORMATS: Final[dict[str, tuple[Callable[..., _Entries], int]]] = {
    "csr": (lambda height, width, *matrix: _of_rows(*matrix), 2),
    "csc": (lambda height, width, *matrix: _of_columns(*matrix), 2),
    "coo": (lambda size, rows, columns, data: (rows, columns, value_of(data)), 1),
    "dia": (_of_diagonals, 6),
    "bsr": (_of_blocks, 2),
}


@_computes("coo_matmat_dense", *[f"{x}_matvec{s}" for x in _FORMATS for s in ("", "s")])
def _multiply(function: Any, *args: Any) -> None:
    """Add the product of a matrix with vectors, ``out[rows] += elements * factors[columns]``."""
    entries, position = _FORMATS[function.__name__[:3]]
    *matrix, factors, out = args
    count = 1 if function.__name__.endswith("matvec") else int(matrix.pop(position))
    rows, columns, elements = entries(*matrix)
    products = elements[:, None] * value_of(factors).reshape(-1, count)[columns]
    places = np.asarray(rows)[:, None] * count + np.arange(count)
    write(out.reshape(-1), places.ravel(), products.ravel(), "add")


# Functions of several matrices


@_computes("csr_scale_rows", "csr_scale_columns")
def _scale(function: Any, *args: Any) -> None:
    _, _, indptr, indices, data, scales = args
    places = _rows(indptr) if function.__name__ == "csr_scale_rows" else indices
    write(data, ..., value_of(data) * value_of(scales)[places])


def _marks(data: Any) -> HostArray:
    """Return where a matrix has elements that are not certain to be zero."""
    marks: HostArray = np.ones(np.shape(data), np.int64)
    return marks if ndarrays.is_traced(data) else (data != 0).astype(np.int64)


def _places(keys: HostArray, others: HostArray) -> tuple[HostArray, HostArray]:
    """Return which of the other keys there are, and where each of these is."""
    order = np.argsort(keys, kind="stable")
    numbers = np.searchsorted(keys[order], others)
    chosen = np.flatnonzero(np.isin(others, keys))
    places: HostArray = order[numbers[chosen]]
    return chosen, places


def _structure(function: Any, args: Any) -> tuple[HostArray, int]:
    """Let a function write the places of its result; return their keys and the width.

    The elements are marks. So only those are left out that are zero whatever is traced.
    """
    operands = [*args[:8]]
    operands[4], operands[7] = _marks(args[4]), _marks(args[7])
    width, (indptr, indices, data) = int(args[1]), args[8:]
    function(*operands, indptr, indices, np.zeros(np.shape(data), np.int64))
    rows = _rows(indptr)
    return rows * width + indices[: len(rows)], width


def _put(data: Any, elements: Any) -> None:
    _check_nonzero(elements)
    write(data, slice(0, len(elements)), elements)


@_computes("csr_matmat")
def _product(function: Any, *args: Any) -> None:
    keys, width = _structure(function, args)
    rows, middle, left = _of_rows(*args[2:5])
    starts, columns, right = args[5], args[6], value_of(args[7])
    counts = np.diff(starts)[middle]
    firsts = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    seconds = starts[middle][firsts] + np.arange(len(firsts)) - before[firsts]
    chosen, places = _places(keys, rows[firsts] * width + columns[seconds])
    products = left[firsts[chosen]] * right[seconds[chosen]]
    _put(args[10], _sums(len(keys), places, products))


def _aligned(keys: HostArray, width: int, args: Any) -> list[Array]:
    """Return the elements of two matrices at some keys, zeros where there are none."""
    operands = []
    for matrix in (args[2:5], args[5:8]):
        rows, columns, elements = _of_rows(*matrix)
        chosen, places = _places(keys, rows * width + columns)
        operands.append(_sums(len(keys), places, elements[chosen]))
    return operands


_OPERATIONS: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "csr_plus_csr": jnp.add,
    "csr_minus_csr": jnp.subtract,
    "csr_elmul_csr": jnp.multiply,
}


@_computes(*_OPERATIONS)
def _combine(function: Any, *args: Any) -> None:
    is_product = function.__name__ == "csr_elmul_csr"
    keys, width = _structure(function if is_product else _tool("csr_plus_csr"), args)
    _put(args[10], _OPERATIONS[function.__name__](*_aligned(keys, width, args)))


@_computes("csr_maximum_csr", "csr_minimum_csr")
def _extremum(function: Any, *args: Any) -> None:
    """Write extrema, but those that are zero: they are of no element, and have no slope."""
    operate = jnp.maximum if function.__name__ == "csr_maximum_csr" else jnp.minimum
    keys, width = _structure(_tool("csr_plus_csr"), args)
    extrema = operate(*_aligned(keys, width, args))
    kept = np.flatnonzero(runs.decide(extrema != 0))
    counts = np.bincount(keys[kept] // width, minlength=int(args[0]))
    indptr, indices, data = args[8:]
    indptr[1:] = np.cumsum(counts)
    indices[: len(kept)] = keys[kept] % width
    write(data, slice(0, len(kept)), extrema[kept])


@_computes("csr_ne_csr", "csr_lt_csr", "csr_gt_csr", "csr_le_csr", "csr_ge_csr")
def _compare(function: Any, *args: Any) -> None:
    """Compare elements, which is a decision."""
    function(*map(decided, args))


# Lists of rows


@_computes("lil_insert", module=_LISTS)
def _insert(function: Any, *args: Any) -> None:
    """Set an element of lists, which may be of a matrix that outlives the run."""
    *matrix, x = args
    if not ndarrays.is_traced(x):
        function(*map(plain, args))
        return
    _, width, rows, elements, i, j = map(plain, matrix)
    _check_nonzero(value_of(x))
    columns, row = rows[i], elements[i]
    column = j + width if j < 0 else j
    place = bisect.bisect_left(columns, column)
    if place == len(columns) or columns[place] != column:
        columns.insert(place, column)
        stores.insert(row, place, 0.0)
    stores.note(row)
    row[place] = x


@_computes("lil_fancy_set", module=_LISTS)
def _insert_several(function: Any, *args: Any) -> None:
    *matrix, rows, columns, values = args
    insert = importlib.import_module(f"scipy.sparse.{_LISTS}").lil_insert
    for i, j, x in zip(np.ravel(rows), np.ravel(columns), values.ravel(), strict=True):
        _insert(insert, *matrix, int(i), int(j), x)


@_computes("lil_flatten_to_array", module=_LISTS)
def _flatten(function: Any, rows: Any, out: Any) -> None:
    write(out, ..., [*itertools.chain(*plain(rows))])


# Decompositions


class Factors:
    """The decomposition of a sparse matrix with traced elements: it solves, and no more."""

    def __init__(self, transposed: linalg.SuperLU, nnz: int) -> None:
        self._transposed = transposed
        self.shape = transposed.shape
        self.nnz = nnz

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve with the matrix, its transpose, or its conjugate transpose."""
        right = value_of(rhs)
        if trans == "H":
            return ndarrays.wrap(jnp.conj(self._transposed.solve(jnp.conj(right), "N")))
        return ndarrays.wrap(self._transposed.solve(right, "N" if trans == "T" else "T"))

    def __getattr__(self, name: str) -> NoReturn:
        raise runs.refusal(f"SuperLU.{name}")


def _decomposed(size: Any, data: Any, indices: Any, indptr: Any) -> linalg.SuperLU:
    n = int(size)
    return linalg.SuperLU(bcsr.BCSR((value_of(data), indices, indptr), shape=(n, n)))


@_computes("gssv", module=_SUPERLU)
def _solve(function: Any, *args: Any, **options: Any) -> Any:
    size, _, data, indices, indptr, right, is_by_columns = args
    factors = _decomposed(size, data, indices, indptr)
    solution = factors.solve(value_of(right), "T" if is_by_columns else "N")
    return ndarrays.wrap(solution), 0


@_computes("gstrf", module=_SUPERLU)
def _decompose(function: Any, *args: Any, ilu: Any = False, **options: Any) -> Any:
    if ilu:
        raise runs.refusal("scipy.sparse.linalg.spilu")
    size, nnz, data, indices, indptr = args
    return Factors(_decomposed(size, data, indices, indptr), int(nnz))


def _solve_by_known(function: Any, rhs: Any, trans: Any = "N") -> Any:
    """Solve for a traced right side with a decomposition of SciPy's."""
    factors = function.__self__
    n = len(factors.perm_r)
    product = (factors.L @ factors.U).tocoo()
    rows, columns = np.argsort(factors.perm_r)[product.row], factors.perm_c[product.col]
    kind: Any = type(product)
    right = value_of(rhs)
    right = right.astype(jnp.result_type(right, product.dtype))
    matrix = bcsr.BCSR.from_scipy_sparse(
        kind((product.data, (rows, columns)), shape=(n, n)).tocsr()
    )
    return ndarrays.wrap(linalg.SuperLU(matrix).solve(right, trans))


COUNTERPARTS["builtins.SuperLU.solve"] = _solve_by_known
