"""Sparse arrays beside dense ones, jax's and SciPy's."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
import scipy.sparse
from jax.experimental import sparse as jax_sparse

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax.errors import ArgumentError, ShapeError, SparseRuleError
from tinyjax.experimental import sparse
from tinyjax.experimental.sparse import BCOO, BCSR
from tinyjax.experimental.sparse.linalg import lobpcg_standard, spsolve

#: What is done, and what the same gives on a dense array.
Operation = tuple[Callable[[Any], Any], Any]

DENSE = np.array([[0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0]], np.float32)
OTHER = np.array([[0, 5], [1, 0], [0, 0], [2, 3]], np.float32)
VECTOR = np.array([3, 6, 5], np.float32)
STACK = np.arange(24, dtype=np.float32).reshape(3, 1, 4, 2)
#: Places that occur twice, and one out of bounds.
REPEATED = BCOO(
    (
        np.array([1.0, 2.0, 4.0, -2.0, 7.0], np.float32),
        np.array([[2, 1], [0, 3], [2, 1], [0, 3], [3, 4]]),
    ),
    shape=(3, 4),
)
formats = pytest.mark.parametrize("form", [BCOO, BCSR])


@pytest.mark.usefixtures("each_tier")
def test_the_first_tutorial() -> None:
    m, theirs = BCOO.fromdense(DENSE), jax_sparse.BCOO.fromdense(DENSE)
    assert repr(m) == repr(theirs) == "BCOO(float32[3, 4], nse=4)"
    for name in ("data", "indices"):
        x, y = getattr(m, name), getattr(theirs, name)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y)
    rows = BCSR.fromdense(DENSE), jax_sparse.BCSR.fromdense(DENSE)
    for name in ("ndim", "shape", "dtype", "nse", "size", "n_sparse", "n_batch", "n_dense"):
        for ours, other in ((m, theirs), rows):
            assert getattr(ours, name) == getattr(other, name)
            assert len(ours) == len(other)
    np.testing.assert_array_equal(m.todense(), DENSE)
    np.testing.assert_array_equal(m.T @ VECTOR, DENSE.T @ VECTOR)
    slope = tinyjax.jit(tinyjax.grad(lambda y: (m.T @ y).sum()))(VECTOR)
    np.testing.assert_array_equal(slope, [3, 3, 4])


@pytest.mark.usefixtures("each_tier")
@formats
def test_vmap_returns_a_batch_of_sparse_arrays(form: Any) -> None:
    stack = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 5
    mapped = tinyjax.vmap(lambda x: form.fromdense(x, nse=12))
    m, theirs = mapped(stack), jax.vmap(lambda x: jax_sparse.BCOO.fromdense(x, nse=12))(stack)
    for name in ("ndim", "shape", "dtype", "nse", "size", "n_sparse", "n_batch", "n_dense"):
        assert getattr(m, name) == getattr(theirs, name)
    assert repr(m) == f"{form.__name__}(float32[2, 3, 4], nse=12, n_batch=1)"
    np.testing.assert_array_equal(m.todense(), stack)
    np.testing.assert_array_equal(tinyjax.jit(lambda m: m.todense())(m), stack)
    for sizes in ((4,), (4, 5), (2, 4, 5), (3, 2, 4, 5)):
        other = np.random.default_rng(0).integers(0, 9, sizes).astype(np.float32)
        np.testing.assert_array_equal(m @ other, stack @ other)
    row = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(tinyjax.vmap(lambda m: m @ row)(m), stack @ row)
    np.testing.assert_array_equal(mapped(tinyjax.vmap(lambda m: m.todense())(m)).todense(), stack)
    twice = tinyjax.vmap(mapped)(stack[None])
    assert twice.shape == (1, *stack.shape)
    np.testing.assert_array_equal(twice.todense(), stack[None])
    slope = tinyjax.grad(lambda m: (m.todense() ** 2).sum(), allow_int=True)(m)
    np.testing.assert_array_equal(slope.data, 2 * m.data)
    with raises(ArgumentError, match=r"n_batch=1\) is a batch of sparse arrays.*vmap"):
        m.transpose()


def test_batches_of_sparse_arrays_are_those_of_jax() -> None:
    stack = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 5
    for batches in (0, 1, 2):
        m = sparse.bcoo_fromdense(stack, n_batch=batches)
        theirs = jax_sparse.bcoo_fromdense(stack, n_batch=batches)
        assert repr(m) == repr(theirs)
        np.testing.assert_array_equal(m.indices, theirs.indices)
        np.testing.assert_array_equal(m.data, theirs.data)
        again = BCOO((m.data, m.indices), shape=m.shape)
        np.testing.assert_array_equal(again.sort_indices().todense(), stack)


@pytest.mark.usefixtures("each_tier")
@formats
def test_products(form: Any) -> None:
    m = form.fromdense(DENSE)
    products: dict[str, Operation] = {
        "matrix": (lambda x: x @ OTHER, DENSE @ OTHER),
        "vector": (lambda x: x @ OTHER[:, 0], DENSE @ OTHER[:, 0]),
        "from the left": (lambda x: DENSE.T @ x, DENSE.T @ DENSE),
        "vector from the left": (lambda x: jnp.asarray(VECTOR) @ x, VECTOR @ DENSE),
        "transposed": (lambda x: x.T @ VECTOR, DENSE.T @ VECTOR),
        "stack": (lambda x: x @ STACK, DENSE @ STACK),
        "stack from the left": (lambda x: STACK.mT @ x.T, STACK.mT @ DENSE.T),
    }
    for name, (product, expected) in products.items():
        for found in (product(m), tinyjax.jit(product)(m)):
            np.testing.assert_array_equal(found, expected, err_msg=name)
    both = BCOO.fromdense(DENSE) @ BCOO.fromdense(OTHER)
    np.testing.assert_array_equal(both.todense(), DENSE @ OTHER)
    with raises(ShapeError, match="as many columns"):
        m @ VECTOR
    np.testing.assert_array_equal(
        STACK.mT @ BCOO.fromdense(DENSE[0]), STACK.mT @ DENSE[0], err_msg="a vector"
    )


@pytest.mark.usefixtures("each_tier")
@formats
def test_conversions(form: Any) -> None:
    found = form.from_scipy_sparse(scipy.sparse.csr_matrix(DENSE))
    np.testing.assert_array_equal(found.todense(), DENSE)
    padded = tinyjax.jit(lambda x: form.fromdense(x, nse=6))(DENSE)
    assert padded.nse == 6
    np.testing.assert_array_equal(padded.todense(), DENSE)
    np.testing.assert_array_equal(padded.T.todense(), DENSE.T)
    np.testing.assert_array_equal(padded @ OTHER, DENSE @ OTHER)
    np.testing.assert_array_equal(padded.sum_duplicates(nse=5).todense(), DENSE)
    assert padded.sum_duplicates().nse == 4
    np.testing.assert_array_equal(sparse.todense(padded), DENSE)


@pytest.mark.usefixtures("each_tier")
@formats
def test_bools_stay_bools(form: Any) -> None:
    """As NumPy's: their sum is a disjunction, and so are the sums of their products."""
    dense = DENSE != 0
    m = form.fromdense(dense)
    assert m.dtype == bool
    for found, expected in (
        (m.todense(), dense),
        (m.T.todense(), dense.T),
        (m @ (OTHER > 1), dense @ (OTHER > 1)),
        (tinyjax.jit(lambda x: x @ (OTHER[:, 0] > 1))(m), dense @ (OTHER[:, 0] > 1)),
        ((OTHER > 1).T @ form.fromdense(dense.T), (OTHER > 1).T @ dense.T),
        (form.fromdense(dense, nse=9).sum_duplicates(nse=5).todense(), dense),
    ):
        assert found.dtype == bool
        np.testing.assert_array_equal(found, expected)
    vector = BCOO.fromdense(dense[0]) @ (OTHER > 1)
    np.testing.assert_array_equal(vector, dense[0] @ (OTHER > 1))
    assert vector.dtype == bool


def test_rows_are_those_of_jax() -> None:
    ours, theirs = BCSR.fromdense(DENSE), jax_sparse.BCSR.fromdense(DENSE)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.to_bcoo().indices, theirs.to_bcoo().indices)


@pytest.mark.usefixtures("each_tier")
def test_elements_at_one_place_are_added_up() -> None:
    dense = REPEATED.todense()
    expected = np.zeros((3, 4))
    expected[2, 1] = 5
    np.testing.assert_array_equal(dense, expected)
    assert REPEATED.sum_duplicates().nse == 2
    assert REPEATED.sum_duplicates(remove_zeros=False).nse == 2
    for found in (REPEATED.sum_duplicates(), tinyjax.jit(lambda x: x.sum_duplicates(4))(REPEATED)):
        np.testing.assert_array_equal(found.todense(), expected)
    np.testing.assert_array_equal(BCSR.from_bcoo(REPEATED).todense(), expected)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("m", [BCOO.fromdense(DENSE), REPEATED], ids=["plain", "repeated"])
def test_operations_are_those_on_dense_arrays(m: BCOO) -> None:
    dense = np.asarray(m.todense())
    row = np.array([1, 2, 3, 4], np.float32)
    operations: dict[str, Operation] = {
        "sum": (lambda x: BCOO.fromdense(x.sum()[None], nse=1), dense.sum()[None]),
        "sum of rows": (lambda x: x.sum(1), dense.sum(1)),
        "sum of columns": (lambda x: x.sum((0,)), dense.sum(0)),
        "reshape": (lambda x: x.reshape(2, -1), dense.reshape(2, 6)),
        "flat": (lambda x: x.reshape((12,)), dense.reshape(12)),
        "sorted": (lambda x: x.sort_indices(), dense),
        "magnitudes": (lambda x: +abs(x), abs(dense)),
        "power": (lambda x: x**3, dense**3),
        "product": (lambda x: x * (x + x), 2 * dense * dense),
        "element": (lambda x: x[2, 1].reshape(1), dense[2, 1:2]),
        "row": (lambda x: x[-1], dense[-1]),
        "part": (lambda x: x[::-2, None, 1:], dense[::-2, None, 1:]),
        "column": (lambda x: x[..., 3], dense[..., 3]),
        "rows": (lambda x: [*x][2], dense[2]),
        "and dense": (
            lambda x: sparse.BCOO.fromdense(1 + (dense - x + (x - dense)) + x, nse=12),
            1 + dense,
        ),
        "times": (lambda x: 2 * x * row, dense * 2 * row),
        "over": (lambda x: x / 4, dense / 4),
        "difference": (lambda x: x - x.astype(np.float64) * 3, -2 * dense),
        "transposed": (lambda x: x.transpose((1, 0)), dense.T),
    }
    for name, (operation, expected) in operations.items():
        for found in (operation(m), tinyjax.jit(operation)(m)):
            np.testing.assert_array_equal(found.todense(), expected, err_msg=name)


def branch(x: Any) -> Any:
    return tinyjax.lax.cond(jnp.asarray(VECTOR).sum() > 0, jnp.sin, jnp.tan, x)


def loop(x: Any) -> Any:
    twice = tinyjax.lax.fori_loop(0, 2, lambda _, y: -y, x)
    return tinyjax.lax.scan(lambda c, n: (c * n, None), twice, jnp.arange(1.0, 4.0))[0]


#: Functions that take sparse arrays by ``sparsify``.
SPARSIFIED: dict[str, Callable[[Any], Any]] = {
    "elementwise": lambda x: jnp.sin(2.0 * x) - jnp.square(x) / 4.0 + jnp.sqrt(abs(x)),
    "of another dtype": lambda x: (1.5 * x).astype("int32"),
    "products": lambda x: x * x.sum(0) + x * DENSE,
    "with a dense matrix": lambda x: jnp.sum(x @ OTHER + VECTOR[:, None] @ OTHER[0:1]),
    "from the left": lambda x: DENSE.T @ x + DENSE.T @ DENSE,
    "of sparse ones": lambda x: x @ x.T,
    "einsum": lambda x: jnp.einsum("ij,kjl->lik", x, STACK.reshape(6, 4, 1)),
    "batches": lambda x: jnp.einsum("ij,ij->i", x, DENSE),
    "sparse batches": lambda x: jnp.einsum("ij,ij->i", x, 2.0 * x),
    "rearranged": lambda x: jnp.flip(jnp.concatenate([x, x[:1]])).T.reshape(2, 8),
    "stacked": lambda x: jnp.stack([x, x])[1, 1:, ::2],
    "repeated": lambda x: jnp.broadcast_to(x[:, None, :1], (3, 2, 5)),
    "with a dense array": lambda x: DENSE - x,
    "sum": lambda x: jnp.mean(x) + jnp.sum(x),
    "jit": tinyjax.jit(tinyjax.checkpoint(jnp.tanh)),
    "branch": branch,
    "loop": loop,
    "derivative": lambda x: tinyjax.grad(lambda y: ((x @ y) ** 2).sum())(OTHER),
    "dynamic": lambda x: tinyjax.lax.dynamic_slice(x, (jnp.asarray(1), jnp.asarray(3)), (2, 2)),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SPARSIFIED)
def test_functions_of_dense_arrays_take_sparse_ones(name: str) -> None:
    f = SPARSIFIED[name]
    for m in (BCOO.fromdense(DENSE), REPEATED, BCSR.fromdense(DENSE)):
        expected = f(jnp.asarray(m.todense()))
        g = sparse.sparsify(f)
        for run in (g, tinyjax.jit(g)):
            found = run(m)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(sparse.todense(found), expected, rtol=2e-6)


def test_functions_by_their_names_in_jax() -> None:
    data = np.array([1.0, 2.0, 3.0], np.float32)
    places = np.array([[2, 1], [0, 3], [1, 0]])
    numbers = (((1,), (1,)), ((), ()))

    def run(lib: Any) -> list[Any]:
        m = lib.BCOO((data, places), shape=(3, 4), unique_indices=True)
        return [
            lib.bcoo_todense(lib.bcoo_fromdense(DENSE)),
            lib.bcoo_extract(m, DENSE),
            lib.bcoo_sort_indices(m),
            lib.bcoo_sum_duplicates(m, nse=4),
            lib.bcoo_reshape(m, new_sizes=(2, 6), dimensions=(1, 0)),
            lib.bcoo_transpose(m, permutation=(1, 0)),
            lib.bcoo_squeeze(lib.bcoo_reshape(m, new_sizes=(3, 1, 4)), dimensions=(1,)),
            lib.bcoo_reduce_sum(m, axes=(0,)),
            lib.bcoo_broadcast_in_dim(m, shape=(1, 3, 4), broadcast_dimensions=(1, 2)),
            lib.bcoo_concatenate([m, m], dimension=1),
            lib.bcoo_slice(m, start_indices=(0, 1), limit_indices=(3, 4), strides=(2, 1)),
            lib.bcoo_dynamic_slice(m, (1, 1), (2, 2)),
            lib.bcoo_rev(m, dimensions=(1,)),
            lib.bcoo_multiply_dense(m, DENSE),
            lib.bcoo_multiply_sparse(m, lib.bcoo_fromdense(DENSE)),
            lib.bcoo_dot_general(m, DENSE, dimension_numbers=numbers),
            lib.bcoo_dot_general(DENSE, m, dimension_numbers=numbers),
            lib.bcoo_update_layout(m),
        ]

    for i, (ours, theirs) in enumerate(zip(run(sparse), run(jax_sparse), strict=True)):
        assert isinstance(ours, BCOO) == isinstance(theirs, jax_sparse.BCOO), i
        np.testing.assert_array_equal(
            sparse.todense(ours), jax_sparse.todense(theirs), err_msg=str(i)
        )
    left, right = DENSE @ OTHER, OTHER.T
    over = (((1,), (0,)), ((), ()))
    sampled = sparse.bcoo_dot_general_sampled(left, right, places, dimension_numbers=over)
    np.testing.assert_array_equal(sampled, (left @ right)[tuple(places.T)])
    draws: tuple[dict[str, Any], ...] = (
        {},
        {"nse": 7, "sorted_indices": True},
        {"nse": 5, "unique_indices": False},
    )
    for options in draws:
        drawn = sparse.random_bcoo(tinyjax.random.key(3), (4, 5), **options)
        theirs = jax_sparse.random_bcoo(jax.random.key(3), (4, 5), dtype=np.float32, **options)
        np.testing.assert_array_equal(drawn.indices, theirs.indices)
        np.testing.assert_array_equal(drawn.data, theirs.data)


@pytest.mark.usefixtures("each_tier")
@formats
def test_derivatives_at_the_elements(form: Any) -> None:
    m = form.fromdense(DENSE)

    def loss(m: Any, x: Any) -> Any:
        return ((m @ x) ** 2).sum()

    expected, into_x = tinyjax.grad(loss, (0, 1))(jnp.asarray(DENSE), OTHER)
    kept = np.where(DENSE != 0, expected, 0)
    for gradient in (sparse.grad(loss, (0, 1)), tinyjax.jit(sparse.grad(loss, (0, 1)))):
        slope, x = gradient(m, OTHER)
        assert isinstance(slope, form)
        np.testing.assert_array_equal(slope.todense(), kept)
        np.testing.assert_array_equal(x, into_x)
    (value, aux), slope = sparse.value_and_grad(lambda m: (loss(m, OTHER), 7), has_aux=True)(m)
    assert aux == 7
    assert float(value) == float(loss(m, OTHER))
    assert sparse.grad(lambda m: (loss(m, OTHER), 7), has_aux=True)(m)[1] == 7
    theirs = jax_sparse.grad(loss)(jax_sparse.BCOO.fromdense(DENSE), OTHER)
    np.testing.assert_array_equal(slope.todense(), theirs.todense())
    # through the making of a sparse matrix
    through = tinyjax.grad(lambda x: loss(form.fromdense(x, nse=5), OTHER))(DENSE)
    np.testing.assert_array_equal(through, kept)


def test_vmap_over_the_elements() -> None:
    m = BCOO.fromdense(DENSE)
    data = np.stack([m.data, 2 * np.asarray(m.data)])

    def product(data: Any) -> Any:
        return BCOO((data, m.indices), shape=m.shape) @ OTHER

    np.testing.assert_array_equal(tinyjax.vmap(product)(data), [DENSE @ OTHER, 2 * DENSE @ OTHER])
    np.testing.assert_array_equal(tinyjax.vmap(lambda x: m @ x)(OTHER.T), (DENSE @ OTHER).T)


@pytest.mark.parametrize("form", ["bcoo", "bcsr"])
def test_made_arrays(form: Any) -> None:
    for n, m, k in ((3, None, 0), (3, 5, 1), (4, 2, -1), (2, 2, 5)):
        found = sparse.eye(n, m, k, sparse_format=form)
        np.testing.assert_array_equal(found.todense(), np.eye(n, m, k))
    found = sparse.empty((2, 3), np.int32, sparse_format=form)
    assert found.nse == 0
    np.testing.assert_array_equal(found.todense(), np.zeros((2, 3)))


@pytest.mark.wrong_types
def test_mistakes_are_named() -> None:
    with raises(ShapeError, match="BCOO takes data"):
        BCOO((np.ones(3), np.zeros((3, 1), int)), shape=(2, 2))
    with raises(ShapeError, match="BCSR takes data"):
        BCSR((np.ones(3), np.zeros(3, int), np.zeros(2, int)), shape=(2, 2))
    with raises(ShapeError, match="cannot take the shape"):
        REPEATED.reshape(5, -1)
    with raises(ShapeError, match="different shapes"):
        REPEATED + REPEATED.T
    with raises(ArgumentError, match="an order of 2 axes"):
        REPEATED.transpose((0, 0))
    with raises(ShapeError, match="holds matrices"):
        BCSR.from_bcoo(REPEATED.reshape(12))
    for refused in (
        lambda: REPEATED**-1,
        lambda: REPEATED + 1.0,
        lambda: sparse.sparsify(lambda x: 1.0 + jnp.cos(x))(REPEATED),
        lambda: sparse.sparsify(lambda x: 1 / x)(REPEATED),
        lambda: sparse.sparsify(lambda x: x**0)(REPEATED),
        lambda: sparse.sparsify(lambda x: jnp.concatenate([x, DENSE]))(REPEATED),
        lambda: sparse.sparsify(lambda x: tinyjax.lax.scan(lambda c, y: (c, y), 0, x))(REPEATED),
    ):
        with raises(SparseRuleError, match="dense"):
            refused()
    with raises(ArgumentError, match="indexed by ints"):
        REPEATED[np.array([0, 1])]
    with raises(IndexError, match="axis 1"):
        REPEATED[0, 4]
    with raises(ArgumentError, match="n_dense of fromdense is 3"):
        sparse.bcoo_fromdense(DENSE, n_dense=3)
    with raises(ShapeError, match="data before its dense axes"):
        BCOO((jnp.ones((2, 3)), jnp.zeros((2, 1), int)), shape=(5, 4))
    with raises(ArgumentError, match="n_dense=1 would store zeros"):
        sparse.bcoo_update_layout(REPEATED, n_dense=1)
    with pytest.warns(UserWarning, match="n_batch=1 and n_dense=0 would store zeros"):
        sparse.bcoo_update_layout(REPEATED, n_batch=1, on_inefficient="warn")
    with raises(ArgumentError, match="on_inefficient must be"):
        sparse.bcoo_update_layout(REPEATED, on_inefficient="stop")
    with raises(ArgumentError, match="less elements"):
        sparse.random_bcoo(tinyjax.random.key(0), (2, 2), nse=4)
    misfits: tuple[Callable[[], object], ...] = (
        lambda: REPEATED * REPEATED.T,
        lambda: sparse.bcoo_extract(REPEATED, OTHER),
        lambda: sparse.bcoo_squeeze(REPEATED, dimensions=(0,)),
        lambda: sparse.bcoo_concatenate([], dimension=0),
        lambda: sparse.bcoo_concatenate([REPEATED, REPEATED.T], dimension=0),
        lambda: sparse.bcoo_broadcast_in_dim(REPEATED, shape=(6, 4), broadcast_dimensions=(0, 1)),
        lambda: sparse.bcoo_dot_general(
            REPEATED, OTHER, dimension_numbers=(((0,), (0,)), ((), ()))
        ),
    )
    for misfit in misfits:
        with pytest.raises(ShapeError):
            misfit()
    unknown: Any = "csc"
    with raises(ArgumentError, match="formats"):
        sparse.empty((2,), sparse_format=unknown)


# Linear systems


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_systems_are_solved_as_dense_ones_are(dtype: str) -> None:
    rng = np.random.default_rng(0)
    dense = np.asarray(rng.normal(size=(5, 5)) * (rng.random((5, 5)) < 0.4) + 4 * np.eye(5), dtype)
    if dtype == "complex64":
        dense[0, 0] += 2j
    given = scipy.sparse.csr_array(dense)
    b = np.asarray(rng.normal(size=5), dtype)

    def solve(data: Any, b: Any) -> Any:
        return spsolve(data, given.indices, given.indptr, b)

    def by_dense(data: Any, b: Any) -> Any:
        return jnp.linalg.solve(jnp.zeros((5, 5), dtype).at[given.nonzero()].set(data), b)

    args, close = (jnp.asarray(given.data), jnp.asarray(b)), 1e-10 if dtype == "float64" else 1e-4
    for form in (lambda f: f, tinyjax.jit):
        x = form(solve)(*args)
        assert x.dtype == dtype
        np.testing.assert_allclose(x, np.linalg.solve(dense, b), close, close)
        for change in (tinyjax.jacfwd, tinyjax.jacrev):
            options: Any = {"holomorphic": dtype == "complex64"}
            found = form(change(solve, (0, 1), **options))(*args)
            expected = change(by_dense, (0, 1), **options)(*args)
            for got, want in zip(found, expected, strict=True):
                np.testing.assert_allclose(got, want, close, close)
    many = np.stack([b, 2 * b])
    np.testing.assert_allclose(
        tinyjax.vmap(lambda b: solve(args[0], b))(many), np.linalg.solve(dense, many.T).T, close
    )


def test_a_singular_system_has_no_solution() -> None:
    m = BCSR.fromdense(jnp.array([[1.0, 1.0], [1.0, 1.0]]))
    assert np.isnan(spsolve(m.data, m.indices, m.indptr, jnp.ones(2))).all()
    with raises(ShapeError, match=r"spsolve takes b of shape \(n,\)"):
        spsolve(m.data, m.indices, m.indptr, jnp.ones((2, 1)))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_the_largest_eigenvalues(dtype: str) -> None:
    rng = np.random.default_rng(0)
    m, start = rng.normal(size=(40, 40)), rng.normal(size=(40, 3)).astype(dtype)
    dense = np.asarray(
        (m + 1j * rng.normal(size=(40, 40))).astype(dtype) if dtype == "complex64" else m, dtype
    )
    dense = dense + dense.conj().T
    expected = np.linalg.eigvalsh(dense)[::-1][:3]
    close = 1e-10 if dtype == "float64" else 1e-4
    sparse_one = BCOO.fromdense(dense)
    for given in (dense, sparse_one, lambda x: sparse_one @ x):
        for find in (lobpcg_standard, tinyjax.jit(lobpcg_standard, static_argnums=0)):
            if find is not lobpcg_standard and not callable(given):
                continue
            values, vectors, count = find(given, start)
            np.testing.assert_allclose(values, expected, close)
            np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(3), atol=close)
            np.testing.assert_allclose(dense @ vectors, vectors * values, atol=100 * close)
            assert 0 < int(count) < 100
    assert int(lobpcg_standard(dense, start, m=2)[2]) == 2
    with raises(ShapeError, match="takes vectors X"):
        lobpcg_standard(dense, start[:12])
    with raises(ShapeError, match="takes a matrix A"):
        lobpcg_standard(np.eye(3, dtype=dtype), start)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("n_batch", [0, 1, 2])
@pytest.mark.parametrize("n_dense", [0, 1, 2])
def test_dense_axes_are_taken(n_batch: int, n_dense: int) -> None:
    """The same data and indices mean the same array as in JAX, whatever takes it."""
    dense = np.zeros((2, 2, 4, 3, 2), np.float32)[(0,) * (2 - n_batch)]
    generator = np.random.default_rng(0)
    chosen = generator.random(dense.shape[: dense.ndim - 2]) < 0.5
    dense[chosen] = generator.normal(size=(int(chosen.sum()), 3, 2))
    theirs = jax_sparse.BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense)
    data, places = np.asarray(theirs.data), np.asarray(theirs.indices)

    def ours(data: Any) -> BCOO:
        return BCOO((data, places), shape=dense.shape)

    given = [ours(data), BCOO.fromdense(dense, n_batch=n_batch, n_dense=n_dense)]
    for m in (*given, tinyjax.jit(ours)(data)):
        assert m.shape == dense.shape
        np.testing.assert_array_equal(m.todense(), dense)
        np.testing.assert_array_equal((2 * m).todense(), 2 * dense)
        np.testing.assert_array_equal(m.sort_indices().todense(), dense)
    slopes = tinyjax.grad(lambda data: (ours(data).todense() * dense).sum())(jnp.asarray(data))
    gathered = jax.grad(
        lambda data: (
            jax_sparse.BCOO((data, theirs.indices), shape=dense.shape).todense() * dense
        ).sum()
    )(theirs.data)
    np.testing.assert_allclose(slopes, gathered, rtol=1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n_batch", [0, 1, 2])
@pytest.mark.parametrize("n_dense", [0, 1, 2])
def test_arrays_with_dense_axes_are_drawn_as_in_jax(n_batch: int, n_dense: int) -> None:
    shape = (2, 3, 4, 5, 2, 3)
    options: dict[str, Any] = {"n_batch": n_batch, "n_dense": n_dense, "nse": 0.3}
    drawn = sparse.random_bcoo(tinyjax.random.key(3), shape, **options)
    theirs = jax_sparse.random_bcoo(jax.random.key(3), shape, dtype=np.float32, **options)
    np.testing.assert_array_equal(drawn.todense(), theirs.todense())
    options["nse"] = 4
    nothing = sparse.empty(shape, np.int32, **options)
    assert nothing.nse == jax_sparse.empty(shape, np.int32, **options).nse
    np.testing.assert_array_equal(nothing.todense(), np.zeros(shape))
    with raises(ArgumentError, match=r"n_batch=5 and n_dense=2 .* has 6 axes"):
        sparse.empty(shape, n_batch=5, n_dense=2)


#: Functions of arrays of shape (4, 3, 2) with dense axes, in either library: of its names, of
#: NumPy's, of what makes an array sparse, and of two dense ones.
OF_DENSE_AXES: dict[str, Callable[..., Any]] = {
    "fromdense": lambda s, np, m, x, y: s.bcoo_fromdense(x, n_dense=1, nse=3),
    "arithmetic": lambda s, np, m, x, y: abs(-m(x) * 2.0) / 3.0,
    "power": lambda s, np, m, x, y: (m(x) ** 2).astype(np.float16),
    "product": lambda s, np, m, x, y: m(x) * y,
    "product with rows": lambda s, np, m, x, y: m(x) * y[0],
    "elements of a product": lambda s, np, m, x, y: s.bcoo_multiply_dense(m(x), y[0, 0]),
    "sparse product": lambda s, np, m, x, y: s.todense(s.bcoo_multiply_sparse(m(x), m(y))),
    "transpose": lambda s, np, m, x, y: s.bcoo_transpose(m(x), permutation=(1, 0, 2)),
    "dense transpose": lambda s, np, m, x, y: s.bcoo_transpose(m(x), permutation=(0, 2, 1)),
    "T": lambda s, np, m, x, y: m(x).T,
    "sort_indices": lambda s, np, m, x, y: s.bcoo_sort_indices(m(x)[::-1]),
    "sum_duplicates": lambda s, np, m, x, y: s.bcoo_sum_duplicates(m(x) + m(y)),
    "of nse": lambda s, np, m, x, y: s.bcoo_sum_duplicates(m(x), nse=7),
    "extract": lambda s, np, m, x, y: s.bcoo_extract(m(x), y),
    "sum 0": lambda s, np, m, x, y: s.bcoo_reduce_sum(m(x), axes=[0]),
    "sum 2": lambda s, np, m, x, y: s.bcoo_reduce_sum(m(x), axes=[2]),
    "sum 0, 2": lambda s, np, m, x, y: m(x).sum((0, 2)),
    "sum": lambda s, np, m, x, y: m(x).sum(),
    "reshape": lambda s, np, m, x, y: s.bcoo_reshape(m(x), new_sizes=(2, 2, 3, 2)),
    "dense reshape": lambda s, np, m, x, y: s.bcoo_reshape(m(x), new_sizes=(6, 4)),
    "squeeze": lambda s, np, m, x, y: s.bcoo_squeeze(m(x[:1, :, :1]), dimensions=(0, 2)),
    "slice": lambda s, np, m, x, y: s.todense(
        s.bcoo_slice(m(x), start_indices=(1, 0, 0), limit_indices=(4, 2, 1), strides=(2, 1, 1))
    ),
    "dynamic_slice": lambda s, np, m, x, y: s.todense(
        s.bcoo_dynamic_slice(m(x), (1, 0, 1), (2, 2, 1))
    ),
    "rev": lambda s, np, m, x, y: s.bcoo_rev(m(x), (0, 1, 2)),
    "concatenate": lambda s, np, m, x, y: s.bcoo_concatenate([m(x), m(y)], dimension=0),
    "dense concatenate": lambda s, np, m, x, y: s.bcoo_concatenate([m(x), m(y)], dimension=2),
    "broadcast": lambda s, np, m, x, y: s.bcoo_broadcast_in_dim(
        m(x), shape=(4, 1, 3, 2), broadcast_dimensions=(0, 2, 3)
    ).todense(),
    "dense broadcast": lambda s, np, m, x, y: s.bcoo_broadcast_in_dim(
        m(x[:, :, :1]), shape=(4, 3, 2), broadcast_dimensions=(0, 1, 2)
    ),
    "dot_general": lambda s, np, m, x, y: s.bcoo_dot_general(
        m(x), y, dimension_numbers=(([0], [0]), ([], []))
    ),
    "dense dot_general": lambda s, np, m, x, y: s.bcoo_dot_general(
        y, m(x), dimension_numbers=(([1, 2], [1, 2]), ([], []))
    ),
    "sparse dot_general": lambda s, np, m, x, y: s.bcoo_dot_general(
        m(x), m(y), dimension_numbers=(([0, 1], [0, 1]), ([], []))
    ),
    "layout": lambda s, np, m, x, y: s.bcoo_update_layout(m(x), n_dense=0),
    "dense layout": lambda s, np, m, x, y: s.bcoo_update_layout(
        m(x), n_dense=3, on_inefficient=None
    ),
    "batch layout": lambda s, np, m, x, y: s.bcoo_update_layout(
        m(x), n_batch=1, n_dense=0, on_inefficient=None
    ),
    "layout of a batch": lambda s, np, m, x, y: s.bcoo_update_layout(
        m(x, n_batch=1), n_batch=0, n_dense=2, on_inefficient=None
    ),
    "index": lambda s, np, m, x, y: s.todense(m(x)[1]),
    "dense index": lambda s, np, m, x, y: m(x)[..., 0],
    "part": lambda s, np, m, x, y: s.todense(m(x)[1:, ::-1, ::-1]),
    "sparsify": lambda s, np, m, x, y: s.sparsify(lambda x: np.sin(x) * 2.0)(m(x)),
    "sparsify sum": lambda s, np, m, x, y: s.sparsify(lambda x, y: x + y)(m(x), m(y)),
    "sparsify product": lambda s, np, m, x, y: s.sparsify(lambda x: x @ y[0].T)(m(x)),
    "gradient": lambda s, np, m, x, y: s.grad(lambda x: (s.todense(x) ** 3).sum())(m(x)),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", OF_DENSE_AXES)
def test_functions_take_dense_axes(name: str) -> None:
    """As JAX's do; what these refuse is as without dense axes."""
    x, y = np.zeros((2, 4, 3, 2), np.float32)
    x[1], x[3, 1, 0] = np.random.default_rng(0).normal(size=(3, 2)), 5
    y[:] = np.random.default_rng(1).normal(size=(4, 3, 2))
    fun = OF_DENSE_AXES[name]

    def applied(lib: Any, numpy: Any, n: int) -> Any:
        arrays = [numpy.asarray(array) for array in (x, y)]
        return fun(lib, numpy, partial(lib.BCOO.fromdense, n_dense=n), *arrays)

    ours, plain = applied(sparse, jnp, 1), applied(sparse, jnp, 0)
    if name not in ("elements of a product", "extract"):  # of which there are more
        np.testing.assert_allclose(sparse.todense(ours), sparse.todense(plain), 1e-5, 1e-6)
    try:
        theirs = applied(jax_sparse, jax.numpy, 1)
    except (NotImplementedError, ValueError, AssertionError):
        assert name.startswith(("dense", "sparse", "T", "sparsify", "transpose", "reshape"))
        return
    np.testing.assert_allclose(sparse.todense(ours), jax_sparse.todense(theirs), 1e-5, 1e-6)
    if isinstance(theirs, jax_sparse.BCOO):
        assert (ours.n_dense, ours.n_batch) == (theirs.n_dense, theirs.n_batch)
        assert (ours.data.shape, ours.indices.shape) == (theirs.data.shape, theirs.indices.shape)


def test_rows_of_a_gradient() -> None:
    """Rows of an embedding's gradient: a place may occur twice, and one out of bounds is none."""
    rows, numbers = jnp.arange(12.0).reshape(4, 3), jnp.array([[3], [1], [3], [9]])
    m = BCOO((rows, numbers), shape=(5, 3))
    expected = np.zeros((5, 3), np.float32)
    np.add.at(expected, [3, 1, 3], np.asarray(rows)[:3])
    for got in (m, m.sum_duplicates(nse=9), sparse.bcoo_transpose(m, permutation=(1, 0)).T):
        np.testing.assert_array_equal(got.todense(), expected)
    np.testing.assert_array_equal(m.T @ jnp.eye(5), expected.T)
    np.testing.assert_array_equal(m.sum(0).todense(), expected.sum(0))
    np.testing.assert_array_equal(jnp.ones((5, 3)) - m, 1 - expected)


def test_batches_keep_their_axes_when_reshaped_and_summed() -> None:
    places = [[[0, 0], [0, 0], [3, 1]], [[1, 0], [2, 4], [1, 2]]]
    x = sparse.BCOO((jnp.arange(1.0, 7).reshape(2, 3), jnp.array(places)), shape=(2, 4, 5))
    dense = np.asarray(x.todense())
    for shape in ((2, 20), (2, 2, 10), (2, -1), (2, 5, 2, 2)):
        np.testing.assert_array_equal(x.reshape(shape).todense(), dense.reshape(shape))
    for other in ((8, 5), (40,), (1, 2, 4, 5)):
        with pytest.raises(ShapeError, match="batch"):
            x.reshape(other)
    for how, nse in (({}, 3), ({"nse": 4}, 4), ({"remove_zeros": False}, 3)):
        summed = x.sum_duplicates(**how)
        assert (summed.nse, summed.n_batch) == (nse, 1)
        np.testing.assert_array_equal(summed.todense(), dense)
    zeros = x.with_data(x.data.at[1].set(0))
    assert zeros.sum_duplicates().nse == 2
    slopes = tinyjax.grad(lambda data: jnp.sum(x.with_data(data).sum_duplicates(nse=3).data ** 2))(
        x.data
    )
    np.testing.assert_array_equal(slopes, [[6, 6, 6], [8, 10, 12]])
