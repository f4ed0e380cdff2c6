"""tinyjax.numpy.linalg, lax.linalg and scipy.linalg: against jax and NumPy, and derivatives.

Derivatives are held against finite differences, against the equations that define the functions,
and, where matrices are exactly known, against closed forms. At ill-conditioned matrices the
tolerance is the precision times the condition number.
"""

import inspect
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import jax
import jax.scipy.linalg
import numpy as np
import pytest
import scipy.linalg
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, tree
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.scipy import linalg
from tinyjax.test_util import check_grads

la = jnp.linalg
EPS = float(np.finfo(np.float64).eps)
# The rows of tests/specs/linalg.py go through the other two.
DTYPES = ("float32", "complex128")


def random(*shape: int, dtype: Any = np.float64, seed: int = 0) -> HostArray:
    rng = np.random.default_rng([seed, *shape])
    x: HostArray = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def regular(*shape: int, dtype: Any = np.float64, seed: int = 0) -> HostArray:
    """Well-conditioned matrices, whose singular values are apart from each other."""
    diagonal = np.diag(np.arange(2.0, 2.0 + max(shape[-2:])))[: shape[-2], : shape[-1]]
    mixed = 0.3 * random(*shape, dtype=np.complex128, seed=seed) + diagonal
    return (mixed if np.dtype(dtype).kind == "c" else mixed.real).astype(dtype)


def adjoint(x: HostArray) -> HostArray:
    return np.conj(np.swapaxes(x, -1, -2))


def definite(*shape: int, dtype: Any = np.float64, seed: int = 0) -> HostArray:
    x = regular(*shape, dtype=dtype, seed=seed) / 2
    return x @ adjoint(x)


def close(got: Any, expected: Any, scale: float = 200.0) -> None:
    """Equal types, and values up to some rounding errors of that type."""
    got, expected = tree.leaves(got), jax.tree.leaves(expected)
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        eps = float(np.finfo(y.dtype).eps) if y.dtype.kind in "fc" else 0.0
        size = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y)))
        np.testing.assert_allclose(x, y, 0, scale * eps * size)


# Values


@attrs.frozen
class Row:
    """A function, by the name it has in each library, and operands by dtype."""

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    operands: Callable[[Any], tuple[Any, ...]]


def row(name: str, operands: Callable[[Any], tuple[Any, ...]], **keywords: Any) -> Any:
    """A row whose function has one name in both; ``a.b`` is ``b`` in the module ``a``."""
    module, _, function = name.rpartition(".")
    modules: dict[str, tuple[Any, Any]] = {
        "": (la, jax.numpy.linalg),
        "scipy": (linalg, jax.scipy.linalg),
        "lax": (lax.linalg, jax.lax.linalg),
    }
    ours, theirs = modules[module]
    described = f"{name} {keywords}" if keywords else name
    found = Row(
        described,
        partial(getattr(ours, function), **keywords),
        partial(getattr(theirs, function), **keywords),
        operands,
    )
    return pytest.param(found, id=described)


def one(*shape: int, make: Callable[..., HostArray] = regular) -> Callable[[Any], tuple[Any, ...]]:
    return lambda dtype: (make(*shape, dtype=dtype),)


def two(a: tuple[int, ...], b: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    return lambda dtype: (regular(*a, dtype=dtype), random(*b, dtype=dtype, seed=1))


def factored(shape: tuple[int, ...], b: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    def operands(dtype: Any) -> tuple[Any, ...]:
        factors, pivots = jax.scipy.linalg.lu_factor(regular(*shape, dtype=dtype))
        return (np.asarray(factors), np.asarray(pivots)), random(*b, dtype=dtype)

    return operands


VALUES = [
    row("cholesky", one(2, 3, 3, make=definite)),
    row("cholesky", one(3, 3, make=definite), upper=True),
    row("cholesky", one(3, 3, make=definite), symmetrize_input=False),
    row("qr", one(2, 4, 3)),
    row("qr", one(3, 4)),
    row("qr", one(4, 3), mode="complete"),
    row("qr", one(4, 3), mode="r"),
    row("eigvalsh", one(2, 3, 3)),
    row("eigvalsh", one(3, 3), UPLO="U", symmetrize_input=False),
    row("svd", one(2, 4, 3), compute_uv=False),
    row("svd", one(3, 3, make=definite), compute_uv=False, hermitian=True),
    row("svdvals", one(2, 3, 4)),
    row("solve", two((3, 3), (3,))),
    row("solve", two((2, 3, 3), (3,))),
    row("solve", two((3, 3), (3, 2))),
    row("solve", two((3, 3), (2, 3, 2))),
    row("solve", two((2, 1, 3, 3), (4, 3, 1))),
    row("inv", one(2, 3, 3)),
    row("det", one(2, 3, 3)),
    row("det", one(1, 1)),
    row("slogdet", one(2, 3, 3)),
    row("slogdet", lambda dtype: (-regular(3, 3, dtype=dtype),)),
    row("pinv", one(2, 4, 3)),
    row("pinv", one(3, 4), rtol=0.4),
    row("pinv", one(3, 3, make=definite), hermitian=True),
    row("matrix_rank", one(2, 4, 3)),
    row("matrix_rank", lambda dtype: (np.ones((3, 3), dtype),)),
    row("matrix_rank", one(3, 3, make=definite), hermitian=True),
    row("matrix_rank", lambda dtype: (np.zeros(3, dtype),)),
    row("lstsq", two((5, 3), (5,))),
    row("lstsq", two((5, 3), (5, 2))),
    row(
        "tensorsolve",
        lambda dtype: (regular(6, 6, dtype=dtype).reshape(6, 2, 3), random(6, dtype=dtype)),
    ),
    row("tensorinv", lambda dtype: (regular(6, 6, dtype=dtype).reshape(2, 3, 6),)),
    row("matmul", two((2, 3, 3), (3, 2))),
    row("tensordot", two((3, 4), (4, 3)), axes=1),
    row("vecdot", two((2, 3), (3,))),
    row("cross", two((2, 3), (3,))),
    row("matrix_transpose", one(2, 3, 4)),
    row("diagonal", one(2, 3, 4), offset=1),
    row("trace", one(2, 3, 4), offset=-1),
    row("matrix_power", lambda dtype: (regular(2, 3, 3, dtype=dtype),), n=5),
    row("matrix_power", lambda dtype: (regular(3, 3, dtype=dtype),), n=0),
    row("matrix_power", lambda dtype: (regular(3, 3, dtype=dtype),), n=-3),
    row("norm", one(3, 4)),
    row("norm", one(2, 3, 4)),
    *(row("norm", one(3, 4), ord=p) for p in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)),
    *(
        row("norm", one(3, 4, 2), ord=p, axis=axes, keepdims=True)
        for p, axes in (("fro", (0, 2)), ("nuc", (2, 0)), (1, (1, 0)), (-np.inf, (-1, 1)))
    ),
    row("norm", one(3, 4, 2), ord=np.inf, axis=(2, 0)),
    *(row("norm", one(3, 4), ord=p, axis=1) for p in (None, 0, 1, 3, -2, 0.5, np.inf, -np.inf)),
    row("vector_norm", one(3, 4), axis=0, keepdims=True),
    row("vector_norm", one(3, 4), ord=3),
    row("matrix_norm", one(2, 3, 4), ord=1),
    row("matrix_norm", one(2, 3, 4), keepdims=True),
    *(row("cond", one(2, 3, 3), p=p) for p in (None, 2, -2, "fro", 1, -1, np.inf)),
    row("cond", one(4, 3)),
    row("lax.cholesky", one(2, 3, 3, make=definite)),
    row("lax.lu", one(2, 3, 3)),
    row("lax.lu", one(4, 3)),
    row("lax.qr", one(2, 3, 4)),
    row("lax.qr", one(4, 3), full_matrices=False),
    row("lax.svd", one(4, 3), compute_uv=False),
    row("lax.triangular_solve", two((2, 3, 3), (2, 3, 2)), left_side=True),
    row("lax.triangular_solve", two((2, 3, 3), (2, 2, 3)), lower=True, transpose_a=True),
    row("lax.triangular_solve", two((3, 3), (3,)), left_side=True, conjugate_a=True),
    row("lax.triangular_solve", two((2, 3, 3), (2, 3)), unit_diagonal=True),
    row("scipy.cholesky", one(3, 3, make=definite)),
    row("scipy.cho_factor", one(2, 3, 3, make=definite), lower=True),
    row("scipy.lu_factor", one(2, 3, 3)),
    row("scipy.lu", one(4, 3)),
    row("scipy.lu", one(3, 4)),
    row("scipy.lu", one(3, 3), permute_l=True),
    row("scipy.lu_solve", factored((3, 3), (3,))),
    row("scipy.lu_solve", factored((3, 3), (3, 2)), trans=1),
    row("scipy.lu_solve", factored((3, 3), (3, 2)), trans=2),
    *(
        row("scipy.solve_triangular", two((3, 3), (3, 2)), trans=trans, lower=lower)
        for trans, lower in ((0, True), (1, True), ("T", False), ("C", True), (2, False))
    ),
    row("scipy.solve_triangular", two((3, 3), (3,)), unit_diagonal=True),
    row("scipy.solve", two((3, 3), (3,))),
    row("scipy.inv", one(3, 3)),
    row("scipy.det", one(3, 3)),
    row("scipy.qr", one(4, 3)),
    row("scipy.qr", one(4, 3), mode="economic"),
    row("scipy.qr", one(4, 3), mode="r"),
    row("scipy.eigh", one(3, 3, make=definite), eigvals_only=True),
    row("scipy.svd", one(4, 3), compute_uv=False),
    row("scipy.expm", one(2, 3, 3)),
    row("scipy.expm", lambda dtype: (regular(3, 3, dtype=dtype) * 0.1,)),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", VALUES)
def test_values_are_those_of_jax(row: Row, dtype: str) -> None:
    operands = row.operands(np.dtype(dtype))
    with jax.enable_x64(True):
        expected = jax.tree.map(np.asarray, row.theirs(*operands))
    if "rank" in row.name or "lstsq" in row.name:  # counts are of the default type, which x64 is
        expected = jax.tree.map(
            lambda x: x.astype(np.int32) if x.dtype.kind == "i" else x, expected
        )
    close(row.ours(*operands), expected)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.slow
def test_compiled_values_are_those_of_eager_evaluation() -> None:
    """All in one program."""
    rows: list[Row] = [parameter.values[0] for parameter in VALUES]
    # what cho_factor returns holds a Python bool, which no compiled program does
    rows = [r for r in rows if "cho_factor" not in r.name]

    def run(everything: list[Any]) -> list[Any]:
        return [r.ours(*operands) for r, operands in zip(rows, everything, strict=True)]

    operands = [r.operands(np.complex128) for r in rows]
    for got, expected in zip(tinyjax.jit(run)(operands), run(operands), strict=True):
        close(got, tree.map(np.asarray, expected))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_vectors_have_the_signs_and_phases_of_jax(dtype: str) -> None:
    """Compiled by both, since they come from the same library then."""

    def factors(xp: Any, x: Any) -> Any:
        return xp.linalg.eigh(x)[1], xp.linalg.svd(x), xp.linalg.qr(x), xp.linalg.qr(x[:, :2])

    x = regular(4, 4, dtype=dtype)
    with jax.enable_x64(True):
        expected = jax.jit(partial(factors, jax.numpy))(x)
    close(tinyjax.jit(partial(factors, jnp))(x), expected)


#: Parameters of jax's that choose among algorithms or devices, or ask for what is not supported.
NOT_TAKEN = {
    "algorithm",
    "eigvals",
    "implementation",
    "lapack_driver",
    "numpy_resid",
    "out_sharding",
    "sort_eigenvalues",
    "subset_by_index",
    "turbo",
    "type",
    "use_magma",
}
#: Of scipy.linalg.eigh.
NOT_TAKEN_BY = {
    ("scipy", "eigh"): {"overwrite_a", "overwrite_b", "check_finite"},
}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (module, name)
        for module, functions in (
            ("numpy", dir(la)),
            ("lax", dir(lax.linalg)),
            ("scipy", set(linalg.__all__) & set(dir(jax.scipy.linalg))),
        )
        for name in sorted(functions)
        if name.islower() and not name.endswith("_p")
    ],
)
def test_signatures_are_those_of_jax(module: str, name: str) -> None:
    ours, theirs = {
        "numpy": (la, jax.numpy.linalg),
        "lax": (lax.linalg, jax.lax.linalg),
        "scipy": (linalg, jax.scipy.linalg),
    }[module]
    left_out = NOT_TAKEN | NOT_TAKEN_BY.get((module, name), set())
    expected = inspect.signature(getattr(theirs, name)).parameters
    given = inspect.signature(getattr(ours, name)).parameters
    assert list(given) == [n for n in expected if n not in left_out or n in given]
    for n, parameter in given.items():
        assert parameter.kind == expected[n].kind, n
        assert parameter.default == expected[n].default, n


def test_results_have_names() -> None:
    x = regular(3, 3)
    assert la.eigh(x)._fields == ("eigenvalues", "eigenvectors")
    assert la.qr(x)._fields == ("Q", "R")
    assert la.slogdet(x)._fields == ("sign", "logabsdet")
    assert la.svd(x)._fields == ("U", "S", "Vh")
    u, s, vh = la.svd(definite(3, 3), hermitian=True)
    np.testing.assert_allclose((u * s) @ vh, definite(3, 3), 1e-12, 1e-14)
    indefinite = np.diag([1.0, -3.0, 2.0])
    u, s, vh = la.svd(indefinite, hermitian=True)
    np.testing.assert_allclose(s, [3.0, 2.0, 1.0])
    np.testing.assert_allclose((u * s) @ vh, indefinite, 1e-12, 1e-14)


@pytest.mark.parametrize("lib", [jnp.linalg, lax.linalg])
def test_a_part_of_the_singular_values(lib: Any) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 3))
    svd = partial(lib.svd, subset_by_index=(1, 3))
    for some, whole in zip(
        svd(x, full_matrices=False), np.linalg.svd(x, full_matrices=False), strict=True
    ):
        part = whole[..., 1:3, :] if whole.shape[-2:] == (3, 3) else whole[..., 1:3]
        np.testing.assert_allclose(np.abs(some), np.abs(part), atol=1e-12)
    np.testing.assert_allclose(svd(x, compute_uv=False), np.linalg.svd(x)[1][..., 1:3], atol=1e-12)


def test_lu_of_a_stack() -> None:
    x = random(2, 4, 3)
    permutation, lower, upper = linalg.lu(x)
    np.testing.assert_allclose(permutation @ lower @ upper, x, 1e-13, 1e-14)


def test_lu_whose_last_pivot_is_zero() -> None:
    """It divides nothing, so that the factors of a singular matrix have derivatives."""
    x, along = [a - a.mean(axis=0) for a in (random(3, 3), random(3, 3, seed=1))]

    def factors(t: Any) -> Any:
        return linalg.lu_factor(jnp.asarray(x + t * along))[0]

    value, slope = tinyjax.jvp(factors, (0.0,), (1.0,))
    assert abs(value[-1, -1]) < 1e-12
    differences = (factors(1e-6) - factors(-1e-6)) / 2e-6
    np.testing.assert_allclose(slope, differences, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_systems_solved_by_factors(dtype: str, lower: bool) -> None:
    a, b = definite(2, 3, 3, dtype=dtype), random(2, 3, 2, dtype=dtype)
    expected = np.linalg.solve(a, b)
    np.testing.assert_allclose(linalg.cho_solve(linalg.cho_factor(a, lower), b), expected, 1e-10)
    np.testing.assert_allclose(linalg.solve(a, b, assume_a="pos"), expected, 1e-10)
    vectors = linalg.cho_solve(linalg.cho_factor(a, lower), b[..., 0])
    np.testing.assert_allclose(vectors, expected[..., 0], 1e-10)
    for trans, matrix in ((0, a), (1, np.swapaxes(a, -1, -2)), (2, adjoint(a))):
        x = linalg.lu_solve(linalg.lu_factor(a), b, trans)
        np.testing.assert_allclose(x, np.linalg.solve(matrix, b), 1e-10)


def test_least_squares() -> None:
    """Of more unknowns than equations, and of equations that depend on each other."""
    wide, deficient = random(3, 5), random(5, 2) @ random(2, 3, seed=1)
    for a in (wide, deficient):
        b = random(a.shape[0], 2, seed=2)
        x, squares, rank, s = la.lstsq(a, b)
        expected = np.linalg.lstsq(a, b)
        np.testing.assert_allclose(x, expected[0], 1e-10, 1e-12)
        np.testing.assert_allclose(squares, np.sum((a @ expected[0] - b) ** 2, 0), 1e-8, 1e-12)
        assert int(rank) == expected[2]
        np.testing.assert_allclose(s, expected[3], 1e-10, 1e-12)
    for a in (wide, deficient, random(5, 2)):
        b = random(a.shape[0], 2, seed=2)
        _, squares, *_ = la.lstsq(a, b, numpy_resid=True)
        np.testing.assert_allclose(squares, np.linalg.lstsq(a, b)[1], 1e-10, 1e-12)
    singular = random(4, 3) * np.array([1.0, 1.0, 0.0])
    for part in (-1, -1e-3, 0, 1, 2.5, 0.3):  # LAPACK takes the precision beside 0 to 1
        x, _, rank, _ = la.lstsq(singular, singular[:, 0], part)
        expected = np.linalg.lstsq(singular, singular[:, 0], part)
        np.testing.assert_allclose(x, expected[0], 1e-10, 1e-12)
        assert int(rank) == expected[2]


def test_multi_dot_chooses_an_order() -> None:
    shapes = [(2, 30), (30, 3), (3, 40), (40, 1)]
    xs = [random(*shape) for shape in shapes]
    np.testing.assert_allclose(la.multi_dot(xs), np.linalg.multi_dot(xs), 1e-12)
    vectors = [xs[0][0], *xs[1:3], xs[3][:, 0]]
    np.testing.assert_allclose(la.multi_dot(vectors), np.linalg.multi_dot(vectors), 1e-12)
    jaxpr = tinyjax.make_jaxpr(lambda *xs: la.multi_dot(xs))(*xs).jaxpr
    sizes = [eqn.out_binders[0].aval.shape for eqn in jaxpr.eqns]
    assert sizes == [(3, 1), (30, 1), (2, 1)]  # from the right, where there is one column


@pytest.mark.usefixtures("each_tier")
def test_block_diag() -> None:
    blocks: list[Any] = [np.ones((2, 1)), np.array([2, 3]), np.float32(4)]
    got = linalg.block_diag(*blocks)
    np.testing.assert_array_equal(got, scipy.linalg.block_diag(*blocks))
    assert linalg.block_diag().shape == (1, 0)
    numbers = tinyjax.jit(linalg.block_diag)(1, 2.5)
    np.testing.assert_array_equal(linalg.block_diag(1, 2.5), numbers)
    assert linalg.block_diag(1, 2.5).weak_type is numbers.weak_type is False


@pytest.mark.parametrize("scale", [0.0, 1e-8, 0.3, 3.0, 40.0])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_expm(dtype: str, scale: float) -> None:
    x = scale * random(3, 3, dtype=dtype)
    expected = scipy.linalg.expm(x)
    error = np.linalg.norm(np.asarray(linalg.expm(x)) - expected)
    # squaring loses what the norm says (Higham 2005)
    assert error <= 100 * EPS * max(1.0, float(np.linalg.norm(x))) * np.linalg.norm(expected)


def test_expm_of_what_it_was_not_told_to_square_enough() -> None:
    x = 100.0 * np.eye(2)
    assert np.isnan(np.asarray(linalg.expm(x, max_squarings=2))).all()
    assert np.isfinite(np.asarray(linalg.expm(x, max_squarings=5))).all()


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    "fun",
    [la.inv, la.cholesky, la.det, la.eigvalsh, la.svdvals, la.norm, la.pinv, linalg.expm],
    ids=lambda fun: fun.__name__,
)
def test_integers_become_floats(fun: Callable[..., Any]) -> None:
    x = np.array([[2, 1], [1, 2]], np.int32)
    assert fun(x).dtype == np.float32
    assert tinyjax.jit(fun)(x).dtype == np.float32
    close(fun(x), np.asarray(fun(x.astype(np.float32))))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("compiled", [False, True])
def test_nan_where_there_is_no_result(compiled: bool) -> None:
    change: Callable[..., Any] = tinyjax.jit if compiled else lambda fun: fun
    good, indefinite = np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]])
    factors = np.asarray(change(la.cholesky)(np.stack([good, indefinite])))
    np.testing.assert_array_equal(factors[0], good)
    np.testing.assert_array_equal(np.isnan(factors[1]), [[True, False], [True, True]])
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    systems: list[Callable[..., Any]] = [la.inv, partial(la.solve, b=np.ones((2, 1)))]
    for fun in systems:
        results = np.asarray(change(fun)(np.stack([2 * good, singular])))
        assert np.isfinite(results[0]).all()
        assert np.isnan(results[1]).all()
    signs, logarithms = change(la.slogdet)(singular)
    assert (float(signs), float(logarithms)) == (0.0, -np.inf)
    assert float(change(la.det)(singular)) == 0.0
    assert float(change(la.cond)(singular)) > 1e15
    assert float(change(partial(la.cond, p=1))(singular)) == np.inf
    with_nan = np.array([[1.0, np.nan], [np.nan, 1.0]])
    for fun in (la.eigvalsh, la.svdvals, la.inv, la.pinv, tinyjax.grad(la.det)):
        assert np.isnan(np.asarray(change(fun)(with_nan))).all()
    zero_on_diagonal = np.array([[0.0, 1.0], [0.0, 2.0]])
    x = change(linalg.solve_triangular)(zero_on_diagonal, np.array([1.0, 2.0]))
    assert not np.isfinite(np.asarray(x)[0])
    assert np.asarray(x)[1] == 1.0


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("shape", [(0, 0), (0, 2, 2), (3, 0, 0)])
def test_nothing_at_all(shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    for fun in (la.cholesky, la.inv, la.qr, la.eigh, la.svd, la.pinv, linalg.expm, lax.linalg.lu):
        for got in (fun(x), tinyjax.jit(fun)(x)):
            assert all(0 in y.shape for y in tree.leaves(got))
    close(la.det(x), np.linalg.det(x))
    close(tinyjax.jit(la.det)(x), np.linalg.det(x))
    close(la.slogdet(x), tuple(np.linalg.slogdet(x)))
    ones = np.zeros((2, 0))
    np.testing.assert_array_equal(la.qr(ones, "complete").Q, np.eye(2))
    np.testing.assert_array_equal(tinyjax.jit(partial(la.qr, mode="complete"))(ones).Q, np.eye(2))


# Derivatives


@attrs.frozen
class Smooth:
    """A function that is differentiated, and what makes its operands."""

    fun: Callable[..., Any]
    operands: Callable[[Any], tuple[Any, ...]]


def invariant(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Vectors with a sign or phase that is LAPACK's choice, in a product in which it cancels."""

    def products(x: Any) -> Any:
        factors = fun(x)
        values = next(y for y in factors if y.dtype.kind == "f" and y.ndim == x.ndim - 1)
        vectors = next(y for y in factors if y.ndim == x.ndim)
        weights = np.arange(1.0, vectors.shape[-1] + 1)
        return values, (vectors * weights) @ jnp.conj(vectors.mT)

    return products


SMOOTH = {
    "cholesky": Smooth(la.cholesky, one(2, 3, 3, make=definite)),
    "qr": Smooth(la.qr, one(2, 4, 3)),
    "qr, wide": Smooth(la.qr, one(3, 4)),
    "eigh": Smooth(invariant(la.eigh), one(2, 3, 3, make=definite)),
    "svd": Smooth(invariant(partial(la.svd, full_matrices=False)), one(2, 4, 3)),
    "svd, wide": Smooth(invariant(partial(la.svd, full_matrices=False)), one(3, 4)),
    "solve": Smooth(la.solve, two((2, 3, 3), (3, 2))),
    "solve, vector": Smooth(la.solve, two((3, 3), (3,))),
    "inv": Smooth(la.inv, one(2, 3, 3)),
    "det": Smooth(la.det, one(2, 3, 3)),
    "slogdet": Smooth(la.slogdet, one(2, 3, 3)),
    "pinv": Smooth(la.pinv, one(2, 3, 4)),
    "lstsq": Smooth(lambda a, b: la.lstsq(a, b)[:2], two((4, 3), (4,))),
    "norm": Smooth(la.norm, one(3, 3)),
    "norm, nuclear": Smooth(partial(la.norm, ord="nuc"), one(3, 3)),
    "norm, of vectors": Smooth(partial(la.norm, ord=3, axis=1), one(3, 3)),
    "cond": Smooth(la.cond, one(2, 3, 3)),
    "matrix_power": Smooth(partial(la.matrix_power, n=-3), one(3, 3)),
    "expm": Smooth(lambda x: linalg.expm(0.2 * x, max_squarings=1), one(2, 3, 3)),
    "expm, squared": Smooth(lambda x: 1e-3 * linalg.expm(x, max_squarings=3), one(3, 3)),
    "lu_solve": Smooth(
        lambda a, b: linalg.lu_solve(linalg.lu_factor(a), b, 2), two((3, 3), (3, 2))
    ),
    "cho_solve": Smooth(
        lambda a: linalg.cho_solve(linalg.cho_factor(a), np.arange(3.0)), one(3, 3, make=definite)
    ),
    "solve_triangular": Smooth(partial(linalg.solve_triangular, trans=1), two((3, 3), (3, 2))),
}


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SMOOTH)
def test_derivatives_of_first_and_second_order(name: str, dtype: str) -> None:
    # differences of results of size 10 or so round to 1e-9 at the default step
    check_grads(SMOOTH[name].fun, SMOOTH[name].operands(np.dtype(dtype)), 2, atol=1e-7, rtol=1e-7)


def second_order(fun: Callable[..., Any], operands: Any, directions: Any) -> list[Any]:
    """Values, a first and two second derivatives of a weighted sum of squares."""

    def loss(*xs: Any) -> Any:
        squares = [jnp.ravel(jnp.real(y * jnp.conj(y))) for y in tree.leaves(fun(*xs))]
        return sum(jnp.sum(y * np.arange(1.0, y.size + 1)) for y in squares)

    argnums = tuple(range(len(operands)))
    gradient = tinyjax.grad(loss, argnums)

    def slope(*xs: Any) -> Any:
        return tinyjax.jvp(loss, xs, directions)[1]

    return [
        fun(*operands),
        gradient(*operands),
        tinyjax.jvp(gradient, operands, directions)[1],
        tinyjax.grad(slope, argnums)(*operands),
    ]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(8)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", SMOOTH)
def test_compiled_derivatives(name: str, dtype: str) -> None:
    operands = SMOOTH[name].operands(np.dtype(dtype))
    directions = tuple(random(*x.shape, dtype=dtype, seed=2) for x in operands)
    run = partial(second_order, SMOOTH[name].fun)
    expected = run(operands, directions)
    close(tinyjax.jit(run)(operands, directions), tree.map(np.asarray, expected), 1e4)
    # forward over reverse and reverse over forward
    close(expected[2], tree.map(np.asarray, expected[3]), 1e4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["cholesky", "solve", "inv", "det", "slogdet", "qr", "eigh"])
def test_gradients_are_those_of_jax(name: str, dtype: str) -> None:
    operands = SMOOTH[name].operands(np.dtype(dtype))

    def loss(xp: Any, *xs: Any) -> Any:
        out = getattr(xp.linalg, name)(*xs)
        leaves = [out] if hasattr(out, "shape") else list(out)
        if name == "eigh":  # the values alone: the vectors' phases are not determined
            leaves = leaves[:1]
        return sum(xp.sum(xp.real(y * y) + xp.imag(y)) for y in leaves)

    with jax.enable_x64(True):
        expected = jax.grad(partial(loss, jax.numpy))(*operands)
    close(tinyjax.grad(partial(loss, jnp))(*operands), np.asarray(expected), 1e3)


# Derivatives by the equations that define them, at matrices of any condition


def hilbert(n: int) -> HostArray:
    matrix: HostArray = scipy.linalg.hilbert(n)
    return matrix


def at_condition(kind: str, condition: float) -> HostArray:
    """A Hermitian positive definite matrix with eigenvalues evenly spread in their logarithms."""
    n = 5
    q = np.linalg.qr(random(n, n, dtype=kind))[0]
    matrix: HostArray = (q * np.logspace(0, -np.log10(condition), n)) @ adjoint(q)
    return (matrix + adjoint(matrix)) / 2


def hermitian(x: HostArray) -> HostArray:
    return (x + adjoint(x)) / 2


def error(*products: HostArray) -> float:
    """By how much products sum up to zero, relative to their size."""
    total = np.asarray(sum(products))
    return float(np.linalg.norm(total) / sum(float(np.linalg.norm(p)) for p in products))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("kind", ["float64", "complex128"])
@pytest.mark.parametrize("condition", [1e1, 1e5, 1e9])
@pytest.mark.parametrize("compiled", [False, True])
def test_derivatives_solve_their_equations(condition: float, kind: str, compiled: bool) -> None:
    a = at_condition(kind, condition)
    ta = hermitian(random(5, 5, dtype=kind, seed=1))
    bound = 100 * EPS * condition

    def push(fun: Callable[..., Any], x: Any, t: Any) -> Any:
        run = partial(tinyjax.jvp, fun)
        return tree.map(np.asarray, (tinyjax.jit(run) if compiled else run)((x,), (t,)))

    factor, change = push(la.cholesky, a, ta)
    assert error(change @ adjoint(factor), factor @ adjoint(change), -ta) < bound
    (q, r), (tq, tr) = push(la.qr, a, ta)
    assert error(tq @ r, q @ tr, -ta) < bound
    assert error(adjoint(q) @ tq, adjoint(tq) @ q) < bound
    (values, vectors), (tw, tv) = push(la.eigh, a, ta)
    assert error(a @ tv, ta @ vectors, -vectors * tw, -tv * values) < bound
    inverse, change = push(la.inv, a, ta)
    assert error(change @ a, inverse @ ta) < bound
    b, tb = random(5, 2, dtype=kind, seed=2), random(5, 2, dtype=kind, seed=3)
    x, change = push(lambda t: la.solve(a + t * ta, b + t * tb), np.zeros(()), np.ones(()))
    assert error(a @ change, ta @ x, -tb) < bound
    (u, s, vh), (tu, ts, tvh) = push(la.svd, a, ta)
    assert error((tu * s) @ vh, (u * ts) @ vh, (u * s) @ tvh, -ta) < bound


@pytest.mark.parametrize("n", [2, 5, 8, 11])
def test_hilbert_matrices(n: int) -> None:
    """Their inverses are known integers: condition numbers from 19 to 5e14."""
    a = hilbert(n)
    inverse = scipy.linalg.invhilbert(n, exact=True).astype(np.float64)
    bound = 100 * EPS * np.linalg.cond(a)

    def relative_error(got: Any, expected: HostArray) -> float:
        return float(np.linalg.norm(np.asarray(got) - expected) / np.linalg.norm(expected))

    assert relative_error(la.inv(a), inverse) < bound
    assert relative_error(tinyjax.grad(lambda x: la.slogdet(x).logabsdet)(a), inverse) < bound
    # of det, relative to itself: the product of all errors is that of one determinant
    determinant = 1 / np.prod(np.linalg.svd(inverse)[1])
    exact_bound = bound + 100 * EPS * np.linalg.cond(inverse)
    assert relative_error(tinyjax.grad(la.det)(a), determinant * inverse) < exact_bound
    # -tr(a^-1 t a^-1 t) is the second derivative of log det along t
    t = np.diag(np.arange(1.0, n + 1))
    slope = partial(tinyjax.jvp, lambda x: la.slogdet(x).logabsdet)
    second = tinyjax.jvp(lambda x: slope((x,), (t,))[1], (a,), (t,))[1]
    expected = -np.trace(inverse @ t @ inverse @ t)
    assert abs(float(second) - expected) < bound * abs(expected)


#: Functions of one matrix, with right sides where there are any.
OF_ONE_MATRIX: dict[str, Callable[[Any], Any]] = {
    "cholesky": la.cholesky,
    "qr": la.qr,
    "solve": lambda a: la.solve(a, np.ones(a.shape[-1])),
    "solve_triangular": lambda a: linalg.solve_triangular(a, np.ones(a.shape[-1]), lower=True),
    "inv": la.inv,
    "det": la.det,
    "slogdet": la.slogdet,
    "eigh": invariant(la.eigh),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ONE_MATRIX)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_differences_at_an_ill_conditioned_matrix(kind: str, name: str, order: int) -> None:
    """A step that the condition number allows, and results in units of its size."""
    condition = 1e3
    a, fun = at_condition(kind, condition), OF_ONE_MATRIX[name]

    def scaled(direction: Any) -> Any:
        # a step of one is as large as the least eigenvalue
        return fun(a + direction / condition)

    nowhere = np.zeros((5, 5), kind)
    size = max(float(np.max(np.abs(x))) for x in tree.leaves(scaled(nowhere)))
    check_grads(
        lambda t: tree.map(lambda y: y / size, scaled(t)),
        (nowhere,),
        order,
        atol=1e-5,
        rtol=1e-5,
        eps=1e-4,
    )


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", OF_ONE_MATRIX)
@pytest.mark.parametrize("kind", ["float64", "complex128"])
def test_derivatives_of_batches_at_every_condition(kind: str, name: str) -> None:
    """Mapped and compiled, well- and ill-conditioned matrices side by side: each as by itself.

    They may differ by what a rounding error in the matrix makes of the result.
    """
    many = np.stack([at_condition(kind, condition) for condition in (1e1, 1e3, 1e5)])
    run = partial(second_order, OF_ONE_MATRIX[name])
    direction = hermitian(random(5, 5, dtype=kind, seed=1))

    def along(a: Any) -> list[HostArray]:
        return [np.asarray(y) for y in tree.leaves(run((a,), (direction,)))]

    mapped = tinyjax.jit(tinyjax.vmap(lambda a: run((a,), (direction,))))
    got = [np.asarray(y) for y in tree.leaves(mapped(many))]
    for i, a in enumerate(many):
        rounded = a * (1 + EPS * random(5, 5, seed=2))
        for x, y, nearby in zip(got, along(a), along(rounded), strict=True):
            bound = 20 * np.linalg.norm(nearby - y) + 100 * EPS * np.linalg.norm(y)
            assert np.linalg.norm(x[i] - y) <= bound


# Where matrices are singular, or values equal


def cofactors(x: HostArray) -> HostArray:
    out = np.zeros_like(x)
    for i, j in np.ndindex(*x.shape):
        out[i, j] = (-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1))
    return out


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_determinants_of_every_rank(rank: int, dtype: str) -> None:
    x = random(4, rank, dtype=dtype) @ random(rank, 4, dtype=dtype, seed=1)
    holomorphic = dtype == "complex128"
    for change in (tinyjax.grad, lambda *a, **k: tinyjax.jit(tinyjax.grad(*a, **k))):
        gradient = change(la.det, holomorphic=holomorphic)(x)
        np.testing.assert_allclose(gradient, cofactors(x), 1e-10, 1e-12)
    # the second derivative is a difference of the first, which is a polynomial of degree 3
    t = random(4, 4, dtype=dtype, seed=2)
    along = tinyjax.jvp(tinyjax.grad(la.det, holomorphic=holomorphic), (x,), (t,))[1]
    samples = [cofactors(x + s * t) for s in (-2.0, -1.0, 1.0, 2.0)]
    # exact for cubics
    expected = (samples[0] - 8 * samples[1] + 8 * samples[2] - samples[3]) / 12
    np.testing.assert_allclose(along, expected, 1e-10, 1e-11)


def test_third_derivatives_of_determinants_where_singular_values_are_equal() -> None:
    """Of the identity: the third derivative of ``det(1 + t x)`` is ``6 e_3(x)``."""
    x = random(4, 4)

    def along(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda t: tinyjax.jvp(fun, (t,), (np.ones(()),))[1]

    def shifted(t: Any) -> Any:
        return la.det(np.eye(4) + t * x)

    third = along(along(along(shifted)))(np.zeros(()))
    expected = 6 * np.poly(x)[3] * -1
    np.testing.assert_allclose(third, expected, 1e-10)


def test_eigenvalues_and_singular_values_that_are_equal() -> None:
    weights = np.array([1.0, 2.0, 3.0])
    for fun in (la.eigvalsh, la.svdvals):
        gradient = tinyjax.grad(lambda x, fun=fun: jnp.sum(fun(x)))(np.eye(3))
        np.testing.assert_allclose(gradient, np.eye(3), 1e-14, 1e-14)
        # any of the choices of vectors has the trace of the weights
        gradient = tinyjax.grad(lambda x, fun=fun: jnp.sum(weights * fun(x)))(np.eye(3))
        np.testing.assert_allclose(np.trace(np.asarray(gradient)), 6.0, 1e-13)


def repeated(*values: float, seed: int = 0, columns: int = 4) -> Any:
    """A matrix with these singular values; symmetric, with these eigenvalues, for seed 0."""
    left = np.linalg.qr(random(len(values), len(values)))[0]
    right = np.linalg.qr(random(columns, columns, seed=seed))[0] if seed else left
    return (left * np.array(values)) @ right.T[: len(values)]


def of_spaces(x: Any) -> Any:
    """Return a function of equal eigenvalues by their sums, and of vectors of the others."""
    values, vectors = la.eigh(x)
    return values[:2], jnp.sum(values[2:] ** 3), jnp.abs(vectors[:, :2])


def polar(x: Any) -> Any:
    return linalg.polar(x)[0]


DETERMINED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "spaces": (of_spaces, repeated(1.0, -1.0, 2.0, 2.0)),
    "sums of functions": (lambda x: jnp.sum(jnp.exp(la.eigvalsh(x))), repeated(2.0, 2.0, 2.0, 1.0)),
    "the identity": (lambda x: jnp.sum(la.eigvalsh(x) ** 3), np.eye(4)),
    "the identity's projection": (polar, 2 * np.eye(4)),
    "the orthogonal factor": (polar, repeated(2.0, 1.0, 2.0, 1.0, seed=1)),
    "the orthogonal factor of rows": (polar, repeated(2.0, 1.0, 2.0, seed=1)),
    "the orthogonal factor of columns": (polar, repeated(2.0, 1.0, 2.0, seed=1).T),
    "the nuclear norm": (partial(la.norm, ord="nuc"), repeated(2.0, 1.0, 2.0, 1.0, seed=1)),
    "the greatest of distinct ones": (
        partial(la.norm, ord=2),
        repeated(3.0, 1.0, 1.0, 1.0, seed=1),
    ),
    "the pseudo-inverse": (la.pinv, repeated(2.0, 2.0, 2.0, seed=1)),
    "a sum over all eigenvalues": (
        lambda x: jnp.sum(jnp.real(la.eigvals(x)) ** 2),
        repeated(2.0, 2.0, 1.0, 3.0),
    ),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", DETERMINED)
def test_what_is_determined_where_values_are_equal(name: str) -> None:
    """Against differences: the function has a derivative there."""
    fun, x = DETERMINED[name]
    check_grads(fun, (x,), 1, atol=1e-6, rtol=1e-6)
    check_grads(tinyjax.jit(fun), (x,), 1, atol=1e-6, rtol=1e-6)


def test_pseudo_inverses_of_deficient_rank() -> None:
    """Their derivative is that among matrices of the same rank."""
    left, right = random(4, 2), random(2, 3, seed=1)
    check_grads(lambda a, b: la.pinv(a @ b, 1e-8), (left, right), 2, atol=1e-6, rtol=1e-6)
    # columns of one length at right angles have equal singular values
    q = np.linalg.qr(random(4, 3))[0]
    check_grads(la.pinv, (q,), 2)


def by_eigh(x: Any) -> Any:
    values, vectors = la.eigh(x)
    return (vectors * values**2) @ vectors.T


def by_svd(power: int, x: Any) -> Any:
    u, s, vh = la.svd(x, full_matrices=False)
    return (u * s**power) @ vh


#: What rules of decompositions cannot give: functions, and matrices with equal values, or a zero.
REFUSED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a function by eigh": (by_eigh, repeated(2.0, 2.0, 1.0)),
    "the identity by eigh": (by_eigh, np.eye(3)),
    "zeros by eigh": (by_eigh, np.zeros((3, 3))),
    "one vector": (lambda x: jnp.abs(la.eigh(x)[1][:, 0]), np.eye(3)),
    "a function by svd": (partial(by_svd, 1), repeated(2.0, 2.0, 1.0)),
    "a factor by svd": (partial(by_svd, 0), np.eye(3)),
    "columns of lower rank": (partial(by_svd, 1), repeated(2.0, 0.0, seed=2).T),
    "rows of lower rank": (partial(by_svd, 1), repeated(2.0, 0.0, seed=2)),
    "vectors by eig": (lambda x: jnp.abs(la.eig(x)[1]), np.eye(3)),
    "a slope of eigenvalues": (
        tinyjax.grad(lambda x: jnp.sum(la.eigvalsh(x) ** 2)),
        repeated(2.0, 2.0, 1.0),
    ),
    "a slope of singular values": (
        tinyjax.grad(lambda x: jnp.sum(la.svdvals(x) ** 2)),
        repeated(2.0, 2.0, 1.0),
    ),
    "a slope of eigvals": (
        tinyjax.grad(lambda x: jnp.sum(jnp.real(la.eigvals(x)) ** 2)),
        repeated(2.0, 2.0, 1.0),
    ),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_undetermined_where_values_are_equal_is_not_a_number(name: str) -> None:
    fun, x = REFUSED[name]
    weights, step = random(*np.shape(fun(x))), random(*x.shape)
    for transform in (lambda f: f, tinyjax.jit):
        tangent = transform(lambda x: tinyjax.jvp(fun, (x,), (step,))[1])(x)
        gradient = transform(tinyjax.grad(lambda x: jnp.sum(weights * fun(x))))(x)
        assert not np.isfinite(tangent).all()
        assert not np.isfinite(gradient).all()


def test_norms_at_zero_have_no_slope() -> None:
    orders = [partial(la.vector_norm, ord=n) for n in (1, 3, 2.5, -1, -2, np.inf, -np.inf)]
    orders += [partial(la.matrix_norm, ord=n) for n in (1, -1, 2, -2, "nuc", np.inf, -np.inf)]
    for fun in (la.norm, la.vector_norm, la.matrix_norm, partial(la.norm, axis=0), *orders):
        zero = np.zeros((2, 2))
        gradient = tinyjax.grad(lambda x, fun=fun: jnp.sum(fun(x)))(zero)
        np.testing.assert_array_equal(gradient, zero)


@pytest.mark.parametrize(
    ("ord", "slopes"),
    [
        *[(1, [-1, 1]), (np.inf, [-1, 0]), (-np.inf, [0, 1]), (-1, [0, 1]), (-2, [0, 1])],
        *[(2, [np.nan, 0]), (3, [np.nan, 0]), (0.5, [np.nan, np.inf])],
    ],
)
def test_norms_beside_infinity_have_the_slopes_that_are_documented(ord: Any, slopes: Any) -> None:
    slope = tinyjax.grad(partial(la.vector_norm, ord=ord))
    np.testing.assert_array_equal(slope(jnp.array([-np.inf, 2])), slopes)
    if abs(ord) == np.inf:
        np.testing.assert_array_equal(slope(jnp.array([np.inf, np.inf])), [0.5, 0.5])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 3), (3, 4), (2, 4, 3), (2, 2, 4)])
@pytest.mark.parametrize("lifted", [lambda f: f, tinyjax.jit, tinyjax.vmap])
def test_full_decompositions_have_the_slopes_of_the_reduced(
    shape: tuple[int, ...], lifted: Callable[..., Any]
) -> None:
    """Vectors that are not determined count for nothing where they are not used."""
    x, k = random(*shape), min(shape[-2:])

    def of_svd(x: Any, full: bool) -> Any:
        u, s, vh = la.svd(x, full_matrices=full)
        parts = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :] * x, jnp.abs(u[..., :k]) ** 3, s**2
        return sum(map(jnp.sum, parts))

    def of_qr(x: Any, full: bool) -> Any:
        q, r = la.qr(x, "complete" if full else "reduced")
        return jnp.sum(jnp.abs(q[..., :k]) ** 3) + jnp.sum(r[..., :k, :] ** 2 * 3)

    for fun in (of_svd, of_qr):
        full, reduced = (tinyjax.grad(partial(fun, full=full)) for full in (True, False))
        is_mapped = lifted is tinyjax.vmap
        slopes = lifted(full)(np.stack([x, -x]))[0] if is_mapped else lifted(full)(x)
        np.testing.assert_allclose(slopes, reduced(x), 1e-10, 1e-10)
        forward = tinyjax.jvp(partial(fun, full=True), (x,), (x,))[1]
        np.testing.assert_allclose(forward, jnp.sum(reduced(x) * x), 1e-10)


def last_vectors(x: Any, linalg: Any) -> Any:
    u, _, vh = linalg.svd(x)
    q = linalg.qr(x, "complete")[0]
    return [abs(vectors) ** 3 for vectors in (u[..., -1], vh[..., -1, :], q[..., -1])]


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (2, 4, 3)])
def test_a_single_last_vector_is_determined_but_for_its_sign(shape: tuple[int, ...]) -> None:
    x, step = random(*shape), random(*shape)
    tangents = tinyjax.jvp(lambda x: last_vectors(x, la), (x,), (step,))[1]
    sides = [last_vectors(x + sign * 1e-6 * step, np.linalg) for sign in (1, -1)]
    for tangent, above, below in zip(tangents, *sides, strict=True):
        np.testing.assert_allclose(tangent, (above - below) / 2e-6, 1e-6, 1e-8)


def test_slopes_of_several_last_vectors_are_not_numbers() -> None:
    x = random(5, 3)
    for fun in (lambda x: la.svd(x)[0][0, -1], lambda x: la.qr(x, "complete").Q[0, -1]):
        assert np.isnan(tinyjax.grad(fun)(x)).all()
        assert np.isnan(tinyjax.jvp(fun, (x,), (x,))[1])


@pytest.mark.parametrize("fun", [lax.linalg.cholesky, lax.linalg.eigh])
def test_one_triangle_has_the_whole_derivative(fun: Callable[..., Any]) -> None:
    """Without symmetrizing, the other triangle plays no part, so it has no derivative."""

    def total(x: Any, symmetrize_input: bool) -> Any:
        out = fun(x, symmetrize_input=symmetrize_input)
        return jnp.sum(out if fun is lax.linalg.cholesky else out[1] ** 2)

    x = definite(3, 3)
    gradient = np.asarray(tinyjax.grad(partial(total, symmetrize_input=False))(x))
    np.testing.assert_array_equal(np.triu(gradient, 1), np.zeros((3, 3)))
    symmetric = tinyjax.grad(partial(total, symmetrize_input=True))(x)
    np.testing.assert_allclose(hermitian(gradient), symmetric, 1e-12, 1e-14)


# Programs


@pytest.mark.usefixtures("each_tier")
def test_a_system_is_factored_once() -> None:
    """The forward and the backward pass, and a Jacobian, share one factorisation."""

    def squares(a: Any, b: Any) -> Any:
        return jnp.sum(la.solve(a, b) ** 2)

    a, b = regular(3, 3), random(3)
    programs: list[tuple[Callable[..., Any], HostArray]] = [
        (tinyjax.grad(squares, (0, 1)), b),
        (tinyjax.jacrev(la.solve), b),
        (tinyjax.hessian(squares), b),
        (tinyjax.vmap(la.solve, (None, 0)), random(4, 3)),
    ]
    for program, right in programs:
        text = tinyjax.jit(program).lower(a, right).compile().as_text()
        assert text.count('custom_call_target="lapack_dgetrf_ffi"') == 1


def test_batches_of_right_hand_sides_are_columns() -> None:
    a, b = regular(3, 3), random(4, 5, 3)
    solve = tinyjax.vmap(tinyjax.vmap(la.solve, (None, 0)), (None, 0))
    np.testing.assert_allclose(solve(a, b), np.linalg.solve(a, b[..., None])[..., 0], 1e-12)
    jaxpr = tinyjax.make_jaxpr(solve)(a, b).jaxpr
    (system,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "solve"]
    assert system.inputs[1].aval.shape == (3, 20)
    lower = np.tril(a)
    triangular = tinyjax.vmap(partial(linalg.solve_triangular, lower=True), (None, 1), 1)
    np.testing.assert_allclose(triangular(a, b[0].T), np.linalg.solve(lower, b[0].T), 1e-12)


@pytest.mark.usefixtures("each_tier")
def test_inside_loops_and_with_callbacks() -> None:
    """LAPACK in programs of all kinds: a scan, its derivative, and one with a host callback."""
    a = definite(3, 3)

    def run(x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return la.solve(a, carry), None

        return jnp.sum(lax.scan(step, x, None, length=3)[0])

    expected = np.linalg.matrix_power(np.linalg.inv(a), 3)
    np.testing.assert_allclose(tinyjax.grad(run)(np.ones(3)), expected.sum(0), 1e-10)
    struct = tinyjax.ShapeDtypeStruct((3, 3), np.float64)

    def with_callback(x: Any) -> Any:
        return la.cholesky(tinyjax.pure_callback(lambda y: 4 * np.asarray(y), struct, x))

    np.testing.assert_allclose(tinyjax.jit(with_callback)(np.eye(3)), 2 * np.eye(3))


@pytest.mark.slow
def test_from_the_cache_on_disk(tmp_path: Path) -> None:
    """LAPACK is made ready where a program is loaded, as where it is compiled."""
    program = """
        import numpy as np, tinyjax
        from tinyjax.core.xla import disk_cache_info

        factor = tinyjax.jit(tinyjax.numpy.linalg.cholesky, tier="compiled")(4 * np.eye(2))
        np.testing.assert_array_equal(factor, 2 * np.eye(2))
        print(disk_cache_info().hits)
    """
    folder = tmp_path / "cache"
    for hits in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            env={**os.environ, "TINYJAX_CACHE_DIR": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == hits


def test_linear_algebra_is_loaded_when_asked_for() -> None:
    program = """
        import sys, tinyjax, tinyjax.numpy as jnp
        from tinyjax import lax, scipy

        late = "tinyjax.numpy.linalg", "tinyjax.lax.linalg", "tinyjax.scipy.linalg"
        assert not any(name in sys.modules for name in (*late, "scipy", "jaxlib"))
        assert (jnp.linalg, lax.linalg, scipy.linalg) == tuple(sys.modules[n] for n in late)
        jnp.linalg.inv(jnp.eye(2))
        assert not any(name in sys.modules for name in ("scipy", "jaxlib"))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


# Mistakes


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    "fun",
    [
        la.cholesky,
        la.inv,
        la.det,
        la.slogdet,
        la.eigh,
        la.matrix_power,
        linalg.expm,
        lax.linalg.eigh,
    ],
    ids=lambda fun: fun.__name__,
)
def test_square_matrices_are_needed(fun: Callable[..., Any]) -> None:
    call = partial(fun, n=2) if fun is la.matrix_power else fun
    for shape in ((2, 3), (3,), ()):
        for program in (call, tinyjax.jit(call)):
            with raises(
                ShapeError, match=r"takes (square )?matrices|must be (a )?square|at least two-dim"
            ):
                program(np.ones(shape, np.float32))


def test_the_old_name_of_a_mode_of_qr() -> None:
    for ours, theirs in zip(la.qr(np.eye(3, 2), "full"), np.linalg.qr(np.eye(3, 2)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("fun", [la.qr, la.svd, la.pinv, la.svdvals, lax.linalg.lu])
def test_matrices_are_needed(fun: Callable[..., Any]) -> None:
    with raises(ShapeError, match=r"takes matrices.* must have rank at least 2"):
        fun(np.ones(3, np.float32))


def test_types_that_lapack_does_not_know() -> None:
    for fun in (la.cholesky, la.inv, la.qr, la.eigh, la.svd, la.det):
        with raises(DtypeError, match=r"Unsupported dtype float16.*Convert the operand with"):
            fun(np.eye(2, dtype=np.float16))
    with raises(DtypeError, match="needs operands of one dtype"):
        lax.linalg.triangular_solve(np.eye(2, dtype=np.float32), np.ones((2, 2)))
    with raises(DtypeError, match="Unsupported dtype int64: cholesky takes"):
        lax.linalg.cholesky(np.eye(2, dtype=np.int64))


def test_shapes_that_do_not_fit() -> None:
    square = np.eye(2)
    with raises(ShapeError, match=r"there are 2 equations, and 3 numbers"):
        la.solve(square, np.ones(3))
    with raises(ShapeError, match="incompatible shapes for broadcasting"):
        la.solve(np.ones((2, 2, 2)), np.ones((3, 2, 1)))
    with raises(ShapeError, match="as many unknowns as equations"):
        lax.linalg.triangular_solve(square, np.ones((2, 3)))
    with raises(ShapeError, match="leading dimensions must match"):
        la.lstsq(square, np.ones(3))
    with raises(ShapeError, match="takes one for vectors or two for matrices"):
        la.norm(np.ones((2, 2, 2)), 1)
    with raises(ShapeError, match="arrays of multi_dot, two at least"):
        la.multi_dot([square])
    with raises(ShapeError, match="tensorsolve needs"):
        la.tensorsolve(np.ones((2, 3)), np.ones(2))
    with raises(ShapeError, match="product of the first ind dimensions"):
        la.tensorinv(np.ones((2, 3)), 1)
    with raises(ShapeError, match="must be one-dimensional for outer"):
        la.outer(square, np.ones(2))
    with raises(ShapeError, match="3-dimensional vectors"):
        la.cross(np.ones(2), np.ones(2))
    with raises(ShapeError, match="at most as many pivots as there are rows"):
        lax.linalg.lu_pivots_to_permutation(np.zeros(3, np.int32), 2)


@pytest.mark.wrong_types
def test_options_that_do_not_exist() -> None:
    x = np.eye(2)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: la.qr(x, unchecked("whole")), "Unsupported QR decomposition mode"),
        (lambda: la.eigh(x, unchecked("M")), "UPLO must be one of None, 'L', or 'U'"),
        (lambda: la.norm(x, "max"), "Invalid order .* for matrix norm"),
        (lambda: la.norm(x, 3), "Invalid order .* for matrix norm"),
        (lambda: la.norm(x, "fro", axis=0), "Invalid order .* for vector norm"),
        (lambda: la.pinv(x, 1e-3, rcond=1e-3), "only one of rtol and rcond"),
        (lambda: la.matrix_rank(x, 1e-3, tol=1e-3), "only one of tol or rtol"),
        (lambda: la.slogdet(x, method=unchecked("svd")), "Unknown slogdet method 'svd'"),
        (lambda: la.matrix_power(x, unchecked(2.5)), "exponent must be an integer, but got 2.5"),
        (lambda: la.tensorinv(x, 0), "ind must be a positive integer"),
        (lambda: linalg.lu_solve(linalg.lu_factor(x), x, 3), "trans of lu_solve must be 0, 1 or 2"),
        (lambda: linalg.solve_triangular(x, x, "H"), "trans of solve_triangular must be 0"),
        (lambda: linalg.solve(x, x, assume_a=unchecked("tridiagonal")), "assume_a of solve"),
        (
            lambda: linalg.qr(x, mode=unchecked("raw")),
            "mode of qr must be 'full', 'economic' or 'r'",
        ),
        (lambda: linalg.eigh(x, x, type=4), "types 1, 2 and 3"),
        (lambda: la.inv(unchecked([[1.0]])), "inv: "),
    ]
    for call, message in calls:
        with pytest.raises(ArgumentError) as caught:
            call()
        assert re.search(message, caught.value.message)  # which does not show the line


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("options", [{}, {"full_matrices": False}, {"compute_uv": False}])
def test_svd_of_infinities_ends(dtype: Any, options: dict[str, Any]) -> None:
    """LAPACK does not end with some of them, and so neither do NumPy and jax."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 30, 30)).astype(dtype)
    for matrix in x[1:]:
        matrix[tuple(rng.integers(30, size=2))] = rng.choice([np.inf, -np.inf, np.nan])
    svd = partial(jnp.linalg.svd, **options)
    for apply in (svd, tinyjax.jit(svd)):
        for out, expected in zip(tree.leaves(apply(x)), tree.leaves(svd(x[0])), strict=True):
            assert out.dtype == expected.dtype
            np.testing.assert_allclose(abs(out[0]), abs(expected), 1e-4, 1e-4)  # signs are free
            assert np.isnan(out[1:]).all()
