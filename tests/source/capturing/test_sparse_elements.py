"""Sparse matrices of SciPy's with traced elements, against NumPy's values and differences."""

import copy
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph, linalg

import tinyjax
from tinyjax import source
from tinyjax.errors import CaptureError

ELEMENTS: Final = np.array([3.1, 2.9, 3.6, 4.2, 2.5, 3.3, 3.9])
ROWS: Final = np.array([0, 1, 2, 2, 3, 0, 3])
COLUMNS: Final = np.array([0, 1, 2, 0, 3, 3, 1])
KNOWN: Final = sp.csr_array(np.diag([1.0, 2.0, 3.0, 4.0]) + np.eye(4, k=1))
VECTOR: Final = np.array([0.3, -1.2, 0.7, 2.1])
MATRIX: Final = np.cos(np.arange(12.0)).reshape(4, 3)


def coo(x: Any) -> Any:
    return sp.coo_array((x, (ROWS, COLUMNS)), shape=(4, 4))


def csr(x: Any) -> Any:
    return coo(x).tocsr()


def csc(x: Any) -> Any:
    return coo(x).tocsc()


def repeated(x: Any) -> Any:
    return sp.coo_array((x, ([0, 1, 2, 3, 0, 1, 0], [0, 1, 2, 3, 0, 1, 2])), shape=(4, 4))


def by_lists(x: Any) -> Any:
    made: Any = sp.lil_matrix((4, 4))
    for i in range(4):
        made[i, i] = x[i]
    made[0, 1] += x[4]
    made[:2, 2] = x[5:, None]
    made[-1, 0] = 2.0
    return made


def by_rows_of_another(x: Any) -> Any:
    """Replace rows of lists of data, as where boundary conditions come last."""
    made: Any = coo(x).tolil()
    made[[0, 3], :] = sp.lil_array(np.diag([1.0, 2.0, 3.0, 4.0]))[[0, 3], :]
    made[[1, 2], [2, 0]] = x[:2]
    return made


def by_keys(x: Any) -> Any:
    made: Any = sp.dok_array((4, 4))
    made[0, 1] = x[0]
    made[2, 3] = x[1] ** 2
    return made


def scaled(x: Any) -> Any:
    made = csr(x)
    made.data *= 2.0
    made.data[1] = x[0]
    return made


def without_zeros(made: Any) -> Any:
    made.eliminate_zeros()
    return made.nnz + made.data.sum()


FUNCTIONS: Final[dict[str, Callable[[Any], Any]]] = {
    "coo.toarray": lambda x: coo(x).toarray(),
    "coo of one axis": lambda x: sp.coo_array((x[:2], ([1, 3],)), shape=(4,)).toarray(),
    "tocsr": lambda x: csr(x).toarray(),
    "tocsc": lambda x: csc(x).toarray(),
    "repeated": lambda x: repeated(x).tocsr().data,
    "coo @ vector": lambda x: coo(x) @ VECTOR,
    "coo @ matrix": lambda x: coo(x) @ MATRIX,
    "csr @ vector": lambda x: csr(x) @ VECTOR,
    "csr @ matrix": lambda x: csr(x) @ MATRIX,
    "csc @ vector": lambda x: csc(x) @ VECTOR,
    "csc @ matrix": lambda x: csc(x) @ MATRIX,
    "known @ traced": lambda x: KNOWN @ x[:4],
    "traced @ traced": lambda x: csr(x) @ x[:4],
    "vector @ csr": lambda x: VECTOR @ csr(x),
    "T": lambda x: csr(x).T.toarray(),
    "csr @ csr": lambda x: (csr(x) @ KNOWN).toarray(),
    "csr @ csc": lambda x: (csr(x) @ csc(2.0 * x)).toarray(),
    "csc @ csc": lambda x: (csc(x) @ KNOWN.tocsc()).toarray(),
    "+": lambda x: (csr(x) + KNOWN).toarray(),
    "-": lambda x: (KNOWN - csr(x)).toarray(),
    "multiply": lambda x: csr(x).multiply(KNOWN).toarray(),
    "maximum": lambda x: csr(x).maximum(KNOWN).toarray(),
    "minimum": lambda x: csr(x).minimum(KNOWN).toarray(),
    ">": lambda x: x[0] * (csr(x) > KNOWN).toarray(),
    "> number": lambda x: x[0] * (csr(x) > 3.0).nnz + x[1] * (csr(x) > 3.5).toarray(),
    "chosen": lambda x: csr(x).multiply(csr(x) > 3.0).toarray(),
    "truth values": lambda x: x[0] * ((csr(x) > 3.0) @ (csr(x) > 2.0)).toarray(),
    "integers": lambda x: x * without_zeros((csr(x) - 2.0 * KNOWN).astype(int)),
    "number * matrix": lambda x: (x[0] * KNOWN).toarray(),
    "matrix / number": lambda x: (csr(x) / x[1]).toarray(),
    "scaled by columns": lambda x: csr(x).multiply(x[:4]).toarray(),
    "scaled by rows": lambda x: csr(x).multiply(x[:4, None]).toarray(),
    "power": lambda x: csr(x).power(2).toarray(),
    "conj": lambda x: np.abs(np.conj(csr(x) * (1 + 2j)).toarray()),
    "element": lambda x: csr(x)[2, 0],
    "rows": lambda x: csr(x)[[2, 0, 2]].toarray(),
    "columns": lambda x: csr(x)[:, [3, 0]].toarray(),
    "slice": lambda x: csr(x)[1:3, 0:2].toarray(),
    "steps": lambda x: csr(x)[::2].toarray(),
    "elements": lambda x: csr(x)[[0, 2], [3, 0]],
    "block": lambda x: csr(x)[np.array([[0, 2]]).T, [3, 0]].toarray(),
    "diagonal": lambda x: csr(x).diagonal() + csr(x).sum(axis=0),
    "lower diagonal": lambda x: csr(x).diagonal(-2),
    "diags": lambda x: sp.diags([x[:4], x[4:]], [0, 1]).toarray(),
    "diags @ vector": lambda x: sp.diags([x[:4], x[4:]], [0, 1]) @ VECTOR,
    "diags @ matrix": lambda x: sp.diags([x[:4], x[4:]], [0, -1]) @ MATRIX,
    "diags @ csr": lambda x: (sp.diags(x[:4]) @ KNOWN).toarray(),
    "spdiags": lambda x: sp.spdiags(x[:4], 1, 4, 4).tocsr().toarray(),
    "sum": lambda x: csr(x).sum(axis=1) * coo(x).sum(),
    "max": lambda x: csr(x).max(axis=1).toarray(),
    "norm": lambda x: linalg.norm(csr(x)),
    "hstack": lambda x: sp.hstack([csr(x), KNOWN], format="csr").toarray(),
    "vstack": lambda x: sp.vstack([csr(x), KNOWN]).toarray(),
    "bmat": lambda x: sp.bmat([[coo(x), None], [None, KNOWN]], format="csr").toarray(),
    "kron": lambda x: sp.kron(coo(x), sp.eye(2)).toarray(),
    "tril": lambda x: sp.tril(coo(x)).toarray(),
    "find": lambda x: sp.find(coo(x))[2],
    "of an array": lambda x: sp.csr_matrix(np.outer(x[:3], x[:3])).toarray(),
    "bsr": lambda x: sp.bsr_array(
        (np.reshape(x[:4], (1, 2, 2)), [1], [0, 1, 1]), shape=(4, 4)
    ).toarray(),
    "lil": lambda x: by_lists(x).tocsr().toarray() + by_lists(x)[0, 1],
    "rows of lil": lambda x: by_rows_of_another(x).tocsr().toarray(),
    "tolil": lambda x: coo(x).tolil().tocsr().toarray(),
    "dok": lambda x: by_keys(x).tocsr().toarray(),
    "data": lambda x: scaled(x).toarray(),
    "iteration": lambda x: np.array([row.sum() for row in csr(x)]),
    "spsolve csr": lambda x: linalg.spsolve(csr(x), VECTOR),
    "spsolve csc": lambda x: linalg.spsolve(csc(x), MATRIX),
    "spsolve of a traced side": lambda x: linalg.spsolve(KNOWN, x[:4]),
    "spsolve of a sparse side": lambda x: linalg.spsolve(csc(x), KNOWN.tocsc()).toarray(),
    "splu": lambda x: linalg.splu(csc(x)).solve(VECTOR),
    "splu transposed": lambda x: linalg.splu(csc(x)).solve(VECTOR, "T"),
    "factorized": lambda x: linalg.factorized(KNOWN.tocsc())(x[:4]),
    "cg": lambda x: linalg.cg(csr(x) @ csr(x).T, VECTOR, rtol=1e-13)[0],
    "laplacian": lambda x: csgraph.laplacian((coo(x) + coo(x).T).tocsr()).toarray(),
    "places": lambda x: sp.csr_array((x, (ROWS + 0 * x.astype(int), COLUMNS))).toarray(),
}


def summed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of the elements with a number as its result."""

    def total(x: Any) -> Any:
        result = np.asarray(function(x))
        return np.sum(result * np.cos(np.arange(result.size)).reshape(result.shape))

    return total


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    total = summed(FUNCTIONS[name])
    captured = source.capture(total)
    steps = 1e-5 * np.eye(ELEMENTS.size)
    slopes = [(total(ELEMENTS + h) - total(ELEMENTS - h)) / 2e-5 for h in steps]
    gradient = tinyjax.grad(captured)
    np.testing.assert_allclose(gradient(ELEMENTS), slopes, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(tinyjax.jit(gradient)(ELEMENTS), slopes, rtol=1e-6, atol=1e-7)
    batch = np.stack([ELEMENTS, 1.1 * ELEMENTS, ELEMENTS + 0.1])
    np.testing.assert_allclose(tinyjax.vmap(captured)(batch), [*map(total, batch)], rtol=1e-10)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (csr(x) - csr(x)).toarray(),
        lambda x: (csr(x - x) @ KNOWN).toarray(),
        lambda x: linalg.spilu(csc(x)).solve(VECTOR),
        lambda x: linalg.splu(csc(x)).L.toarray(),
        lambda x: linalg.eigsh(csr(x), k=1)[0],
    ],
)
def test_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(CaptureError):
        tinyjax.grad(source.capture(summed(function)))(ELEMENTS)


def test_lists_have_no_traced_elements_after_a_run() -> None:
    outside: Any = sp.lil_array((4, 4))
    outside[1, 1] = 5.0

    def function(x: Any) -> Any:
        outside[0, 1] = x[0]
        outside[1, 1] = x[1]
        outside[2, :2] = x[2:4]
        return (outside.tocsr().toarray() ** 2).sum()

    gradient = tinyjax.grad(source.capture(function))(ELEMENTS)
    np.testing.assert_allclose(gradient, 2 * ELEMENTS * (np.arange(7) < 4))
    expected = np.zeros((4, 4))
    expected[1, 1] = 5.0
    np.testing.assert_array_equal(outside.toarray(), expected)


#: Ways to a matrix that the program alone holds.
COPIES: Final[dict[str, Callable[[Any], Any]]] = {
    "copy": lambda m: m.copy(),
    "deepcopy": copy.deepcopy,
    "same format": lambda m: m.asformat(m.format, copy=True),
    "constructor": lambda m: type(m)(m, copy=True),
    "astype": lambda m: m.astype(np.float64, copy=True),
    "product": lambda m: 1.0 * m,
    "transposed": lambda m: m.T.copy(),
    "arrays": lambda m: type(m)(m.toarray()),
}


def times(m: Any, x: Any) -> Any:
    m *= x[0]
    return m


def plus(m: Any, x: Any) -> Any:
    m += m * x[0]
    return m


def all_elements(m: Any, x: Any) -> Any:
    m.data[...] = m.data * x[0]
    return m


def element(m: Any, x: Any) -> Any:
    m.data[(0,) * m.data.ndim] = x[1]
    return m


def item(m: Any, x: Any) -> Any:
    m[0, 1] = x[0]
    return m


def items(m: Any, x: Any) -> Any:
    m[[0, 1], [0, 1]] = x[:2]
    return m


def diagonal(m: Any, x: Any) -> Any:
    m.setdiag(x)
    return m


OF_ELEMENTS: Final = (all_elements, element, times)
CHANGED: Final = [
    *[(form, f) for form in ("csr", "csc") for f in (*OF_ELEMENTS, item, items, diagonal, plus)],
    *[(form, f) for form in ("coo", "dia", "bsr") for f in OF_ELEMENTS],
    *[(form, f) for form in ("lil", "dok") for f in (item, items, diagonal)],
    ("dia", diagonal),
]


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize(("form", "change"), CHANGED)
def test_copies_of_matrices_from_outside_change(form: str, change: Any, way: str) -> None:
    outside = getattr(sp, f"{form}_matrix")(
        4.0 * np.eye(4) + np.eye(4, k=1) + 2.0 * np.eye(4, k=-1)
    )
    before = outside.toarray()

    def f(x: Any) -> Any:
        product = change(COPIES[way](outside), x) @ np.array([1.0, -2.0, 3.0, 0.5])
        return np.sum(product * np.arange(1.0, 5.0))

    x, direction = np.array([1.3, 2.1, 0.7, 1.9]), np.array([0.3, -0.2, 0.5, 0.1])
    value, slope = tinyjax.jvp(source.capture(f), (x,), (direction,))
    np.testing.assert_array_equal(outside.toarray(), before)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    difference = (f(x + 1e-6 * direction) - f(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(slope, difference, rtol=1e-7)


def change_after_transposing(m: Any, x: Any) -> Any:
    matrix = m.copy()
    transposed = matrix.T
    matrix.data[0] = x[0]
    return transposed.sum()


def change_after_sharing(m: Any, x: Any) -> Any:
    matrix = m.copy()
    other = sp.csr_matrix(matrix)
    matrix.data[0] = x[0]
    return other.sum()


def change_a_shallow_copy(m: Any, x: Any) -> Any:
    matrix = copy.copy(m)
    matrix.data[0] = x[0]
    return matrix.sum()


def change_what_may_be_no_copy(m: Any, x: Any) -> Any:
    matrix = m.tocsr()
    matrix.data[0] = x[0]
    return matrix.sum()


@pytest.mark.parametrize(
    "f",
    [
        change_after_transposing,
        change_after_sharing,
        change_a_shallow_copy,
        change_what_may_be_no_copy,
    ],
)
def test_elements_that_something_else_holds_are_refused(f: Any) -> None:
    matrix = sp.csr_matrix(np.diag([4.0, 5.0, 6.0]))
    with pytest.raises(CaptureError, match="an array from outside"):
        tinyjax.grad(source.capture(lambda x: f(matrix, x)))(np.ones(2))


def test_views_of_elements_change_with_them() -> None:
    outside = sp.csr_matrix(np.diag([4.0, 5.0, 6.0]))

    def f(x: Any) -> Any:
        matrix = outside.copy()
        elements, transposed = matrix.data, matrix.T
        other = sp.csr_matrix((matrix.data, matrix.indices, matrix.indptr))
        elements[0] = x**2
        return transposed.sum() + other.sum()

    assert tinyjax.grad(source.capture(f))(np.float64(3.0)) == 12.0


def test_matrices_that_outlive_the_program_have_data() -> None:
    outside = sp.csr_matrix(np.diag([4.0, 5.0, 6.0]))
    made: dict[str, Any] = {}

    def f(x: Any) -> Any:
        matrix = made["traced"] = outside.copy()
        matrix.data[0] = x
        known = made["known"] = outside.copy()
        known.data[0] = 2.0
        tree = csgraph.minimum_spanning_tree(known)
        return matrix.sum() + x * known.sum() + x * tree.sum()

    assert tinyjax.grad(source.capture(f))(np.float64(3.0)) == 14.0
    np.testing.assert_array_equal(made["known"].data, [2.0, 5.0, 6.0])
    assert all(type(matrix.data) is np.ndarray for matrix in made.values())
