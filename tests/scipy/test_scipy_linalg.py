"""Forms, functions and special matrices of ``tinyjax.scipy.linalg``, against SciPy's."""

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import attrs
import jax
import jax.scipy.linalg
import numpy as np
import pytest
import scipy.linalg as theirs
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import tree
from tinyjax._primitives import schur_forms
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, DifferentiationError, DtypeError, ShapeError
from tinyjax.scipy import linalg
from tinyjax.test_util import check_grads

DTYPES = ("float64", "complex128")


def random(*shape: int, dtype: str = "float64", seed: int = 0) -> HostArray:
    rng = np.random.default_rng([seed, *shape])
    x = np.asarray(rng.standard_normal(shape))
    if dtype.startswith("c"):
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def regular(*shape: int, dtype: str = "float64", seed: int = 0) -> HostArray:
    """Eigenvalues and singular values apart from each other, and from zero."""
    x = random(*shape, dtype=dtype, seed=seed)
    m, n = shape[-2:]
    matrix: HostArray = x / 2 + np.eye(m, n) * np.arange(3, 3 + 2 * n, 2)
    return matrix


@attrs.frozen
class Row:
    """A function of arrays, its model for one problem, and shapes to try it on.

    Attributes:
        ours: takes arrays, with axes in front.
        theirs: takes what ``ours`` does, without them.
        shapes: of the operands of one problem.
        grad: whether there are derivatives.
        make: makes the operands.
    """

    name: str
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    shapes: Sequence[tuple[int, ...]]
    grad: bool = True
    make: Callable[..., HostArray] = random

    def operands(self, dtype: str, *batch: int) -> list[HostArray]:
        made = enumerate(self.shapes)
        return [self.make(*batch, *shape, dtype=dtype, seed=i) for i, shape in made]


def polar_of(side: str) -> Callable[..., Any]:
    return lambda a: theirs.polar(a, side)


def square(x: Any) -> Any:
    return x * x


ROWS = [
    Row("toeplitz", linalg.toeplitz, theirs.toeplitz, [(3,), (4,)]),
    Row("toeplitz of one", linalg.toeplitz, theirs.toeplitz, [(3,)]),
    Row("hankel", linalg.hankel, theirs.hankel, [(3,), (4,)]),
    Row("hankel of one", linalg.hankel, theirs.hankel, [(3,)]),
    Row("circulant", linalg.circulant, theirs.circulant, [(4,)]),
    Row("companion", linalg.companion, theirs.companion, [(4,)]),
    Row("leslie", linalg.leslie, theirs.leslie, [(4,), (3,)]),
    Row("fiedler", linalg.fiedler, theirs.fiedler, [(4,)]),
    *(
        Row(f"fiedler_companion {n}", linalg.fiedler_companion, theirs.fiedler_companion, [(n,)])
        for n in (2, 3, 4, 5, 6, 7)
    ),
    *(
        Row(
            f"convolution_matrix {mode} {m} {n}",
            lambda a, n=n, mode=mode: linalg.convolution_matrix(a, n, mode),
            lambda a, n=n, mode=mode: theirs.convolution_matrix(a, n, mode),
            [(m,)],
        )
        for mode in ("full", "same", "valid")
        for m, n in ((4, 2), (2, 5), (3, 3))
    ),
    Row("schur", linalg.schur, theirs.schur, [(4, 4)], grad=False, make=regular),
    Row(
        "schur, complex",
        partial(linalg.schur, output="complex"),
        partial(theirs.schur, output="complex"),
        [(4, 4)],
        grad=False,
        make=regular,
    ),
    Row(
        "hessenberg",
        partial(linalg.hessenberg, calc_q=True),
        partial(theirs.hessenberg, calc_q=True),
        [(4, 4)],
        grad=False,
    ),
    *(
        Row(f"polar {side} {m} {n}", partial(linalg.polar, side=side), polar_of(side), [(m, n)])
        for side in ("right", "left")
        for m, n in ((3, 3), (4, 2), (2, 4))
    ),
    Row(
        "solve_sylvester",
        linalg.solve_sylvester,
        theirs.solve_sylvester,
        [(3, 3), (2, 2), (3, 2)],
        make=lambda *s, **k: regular(*s, **k) if s[-1] == s[-2] else random(*s, **k),
    ),
    Row(
        "sqrtm",
        linalg.sqrtm,
        lambda a: theirs.sqrtm(a).astype(np.complex128),
        [(3, 3)],
        make=regular,
    ),
    Row(
        "expm_frechet",
        linalg.expm_frechet,
        lambda a, e: (
            theirs.expm_frechet(a, e, check_finite=False)
            if not np.iscomplexobj(a)
            else (theirs.expm(a), theirs.expm(np.block([[a, e], [0 * a, a]]))[:3, 3:])
        ),
        [(3, 3), (3, 3)],
    ),
    Row("qr_multiply", linalg.qr_multiply, theirs.qr_multiply, [(4, 2), (3, 4)]),
    Row(
        "qr_multiply, left",
        partial(linalg.qr_multiply, mode="left"),
        partial(theirs.qr_multiply, mode="left"),
        [(4, 2), (2, 3)],
    ),
    Row(
        "qr_multiply, conjugate",
        lambda a, c: linalg.qr_multiply(a, c, conjugate=True),
        lambda a, c: theirs.qr_multiply(a, c, conjugate=True),
        [(3, 3), (2, 3)],
    ),
    Row(
        "qr_multiply, pivoted",
        lambda a, c: linalg.qr_multiply(a, c, pivoting=True)[:2],
        lambda a, c: theirs.qr_multiply(a, c, pivoting=True)[:2],
        [(4, 2), (3, 4)],
    ),
    Row(
        "qr, pivoted",
        lambda a: linalg.qr(a, mode="economic", pivoting=True)[:2],
        lambda a: theirs.qr(a, mode="economic", pivoting=True)[:2],
        [(3, 3)],
    ),
    Row(
        "eigh_tridiagonal",
        partial(linalg.eigh_tridiagonal, eigvals_only=True),
        lambda d, e: np.linalg.eigvalsh(np.diag(d.real) + np.diag(e, 1) + np.diag(np.conj(e), -1)),
        [(4,), (3,)],
    ),
]


def close(got: Any, expected: Any, tol: float = 1e-10) -> None:
    got, expected = tree.leaves(got), tree.leaves(expected)
    assert len(got) == len(expected)
    for x, y in zip(got, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), tol, tol)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_values_are_those_of_scipy(row: Row, dtype: str) -> None:
    operands = row.operands(dtype)
    expected = row.theirs(*operands)
    close(row.ours(*operands), expected)
    stacked = row.operands(dtype, 2)
    batched = row.ours(*stacked)
    one_by_one = [row.theirs(*(x[i] for x in stacked)) for i in range(2)]
    expected = tree.map(lambda *parts: np.stack(parts), *one_by_one)
    close(batched, expected)
    close(tinyjax.vmap(row.ours)(*stacked), expected)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", DTYPES)
def test_compiled_values_are_those_of_eager_evaluation(dtype: str) -> None:
    """All in one program."""

    def run(everything: list[Any]) -> list[Any]:
        return [row.ours(*operands) for row, operands in zip(ROWS, everything, strict=True)]

    operands = [row.operands(dtype, 2) for row in ROWS]
    for got, expected in zip(tinyjax.jit(run)(operands), run(operands), strict=True):
        close(got, expected)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("row", [row for row in ROWS if row.grad], ids=lambda row: row.name)
def test_derivatives(row: Row) -> None:
    dtype = DTYPES[len(row.name) % 2]
    check_grads(row.ours, row.operands(dtype), 2, atol=1e-5, rtol=1e-5)


SIZED: list[tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = [
    (linalg.hadamard, theirs.hadamard, {"n": 4}),
    (linalg.helmert, theirs.helmert, {"n": 4}),
    (linalg.helmert, theirs.helmert, {"n": 3, "full": True}),
    (linalg.hilbert, theirs.hilbert, {"n": 4}),
    (linalg.invhilbert, theirs.invhilbert, {"n": 4}),
    *((linalg.pascal, theirs.pascal, {"n": 4, "kind": k}) for k in ("lower", "upper", "symmetric")),
    *(
        (linalg.invpascal, theirs.invpascal, {"n": 4, "kind": k})
        for k in ("lower", "upper", "symmetric")
    ),
    *((linalg.dft, theirs.dft, {"n": 5, "scale": s}) for s in (None, "sqrtn", "n")),
]


@pytest.mark.parametrize(("ours", "model", "arguments"), SIZED)
def test_matrices_of_a_size(
    ours: Callable[..., Any], model: Callable[..., Any], arguments: dict[str, Any]
) -> None:
    np.testing.assert_allclose(ours(**arguments), model(**arguments), 1e-6, 1e-6)


@pytest.mark.parametrize("name", ["dft", "hilbert", "invhilbert", "pascal", "invpascal"])
def test_matrices_of_no_size(name: str) -> None:
    for n in (0, -1):
        assert getattr(linalg, name)(n).shape == (0, 0)
    assert linalg.dft(-1, "sqrtn").shape == (0, 0)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", DTYPES)
def test_functions_of_a_matrix(dtype: str) -> None:
    a = regular(4, 4, dtype=dtype)
    for ours, model in (
        (jnp.exp, theirs.expm),
        (jnp.sqrt, theirs.sqrtm),
        (square, lambda x: x @ x),
    ):
        fun = partial(linalg.funm, func=ours)
        expected = model(a).astype(np.complex128)
        close(fun(a), expected, 1e-8)
        close(tinyjax.jit(fun)(a), expected, 1e-8)
    check_grads(partial(linalg.funm, func=jnp.exp), (a / 4,), 2, atol=1e-5, rtol=1e-5)
    _, error = linalg.funm(a, jnp.exp, disp=False)
    assert 0 < float(error) < 1e-10


def test_the_exponential_by_its_function_has_its_derivative() -> None:
    """At equal eigenvalues, too."""
    a, e = np.diag([1.0, 1.0, 2.0]), random(3, 3)
    _, got = tinyjax.jvp(partial(linalg.funm, func=jnp.exp), (a,), (e,))
    np.testing.assert_allclose(got, linalg.expm_frechet(a, e)[1], 1e-8, 1e-8)


@pytest.mark.usefixtures("each_tier")
def test_complex_schur_form_of_a_real_one() -> None:
    a = random(2, 5, 5)
    for call in (linalg.rsf2csf, tinyjax.jit(linalg.rsf2csf)):
        form, vectors = call(*linalg.schur(a))
        adjoint = jnp.conj(vectors).mT
        np.testing.assert_array_equal(form, np.triu(form))
        np.testing.assert_allclose(vectors @ form @ adjoint, a, 1e-12, 1e-12)
        np.testing.assert_allclose(vectors @ adjoint, np.stack([np.eye(5)] * 2), 1e-12, 1e-12)


def test_forms_have_no_derivative() -> None:
    for form in (linalg.schur, linalg.hessenberg, tinyjax.lax.linalg.tridiagonal):
        with raises(DifferentiationError, match=r"has no derivative.*eig"):
            tinyjax.jvp(form, (np.eye(2),), (np.eye(2),))


def test_polar_factors_of_orthogonal_matrices_have_derivatives() -> None:
    """All their singular values are equal."""
    check_grads(linalg.polar, (np.eye(3),), 2)


def test_eigenvectors_of_tridiagonal_matrices() -> None:
    d, e = random(5), random(4)
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    values, vectors = linalg.eigh_tridiagonal(d, e)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, 1e-12, 1e-12)
    np.testing.assert_allclose(values, theirs.eigh_tridiagonal(d, e)[0], 1e-12, 1e-12)
    some = linalg.eigh_tridiagonal(d, e, eigvals_only=True, select="i", select_range=(1, 2))
    np.testing.assert_allclose(some, values[1:3])


@pytest.mark.usefixtures("each_tier")
def test_square_roots_of_singular_matrices() -> None:
    for call in (linalg.sqrtm, tinyjax.jit(linalg.sqrtm)):
        np.testing.assert_array_equal(call(np.zeros((2, 2))), 0)
        assert np.isnan(call(np.array([[0.0, 1.0], [0.0, 0.0]]))).all()


def test_square_roots_by_the_public_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with versions of SciPy that do not have the routine behind it."""
    a = regular(4, 4)
    expected = linalg.sqrtm(a), linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    monkeypatch.setitem(sys.modules, "scipy.linalg._matfuncs_schur_sqrtm", None)
    monkeypatch.setattr(schur_forms, "_root_of_scipy", schur_forms._root_of_scipy.__wrapped__)
    found = linalg.sqrtm(a), linalg.sqrtm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 2, 2), (1, 1)])
def test_small_matrices(shape: tuple[int, ...]) -> None:
    x = np.ones(shape)

    def all_of_them(x: Any) -> Any:
        forms = linalg.schur(x), linalg.hessenberg(x, calc_q=True), linalg.polar(x)
        return *forms, linalg.sqrtm(x), linalg.solve_sylvester(x, x, x), linalg.expm(x)

    eager = all_of_them(x)
    close(tinyjax.jit(all_of_them)(x), eager)
    assert {y.shape for y in tree.leaves(eager)} == {shape}


@pytest.mark.wrong_types
def test_arguments_are_checked() -> None:
    x = np.eye(2)
    calls: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: linalg.schur(x, unchecked("r")), ArgumentError, "'real' or 'complex'"),
        (lambda: linalg.polar(x, unchecked("up")), ArgumentError, "'right' or 'left'"),
        (lambda: linalg.polar(x, method=unchecked("qr")), ArgumentError, "method of "),
        (lambda: linalg.qr_multiply(x, x, unchecked("up")), ArgumentError, "mode of "),
        (lambda: linalg.sqrtm(x, 2), ArgumentError, "1 for blocksize"),
        (lambda: linalg.hadamard(3), ArgumentError, "power of two"),
        (lambda: linalg.helmert(0), ArgumentError, "positive n"),
        (lambda: linalg.pascal(2, unchecked("up")), ArgumentError, "kind of "),
        (lambda: linalg.dft(2, unchecked("m")), ArgumentError, "scale of "),
        (lambda: linalg.dft(2, dtype=float), DtypeError, "complex dtype"),
        (lambda: linalg.companion(np.ones(1)), ShapeError, "at least 2"),
        (lambda: linalg.leslie(np.ones(3), np.ones(3)), ShapeError, "one share less"),
        (lambda: linalg.convolution_matrix(np.ones(2), 0), ArgumentError, "positive n"),
        (lambda: linalg.convolution_matrix(x, 2, unchecked("up")), ArgumentError, "mode of "),
        (lambda: linalg.convolution_matrix(1.0, 2), ShapeError, "takes vectors"),
        (lambda: linalg.hankel(1.0), ShapeError, "takes vectors"),
        (lambda: linalg.rsf2csf(x, np.eye(3)), ShapeError, "of one size"),
        (lambda: linalg.expm_frechet(x, np.eye(3)), ShapeError, "of one shape"),
        (lambda: linalg.funm(np.ones((2, 2, 2)), jnp.exp), ShapeError, "one matrix"),
        (lambda: linalg.eigh_tridiagonal(x[0], x[0]), ShapeError, "of n - 1"),
        (
            lambda: linalg.eigh_tridiagonal(x[0], x[0, :1], select=unchecked("v")),
            ArgumentError,
            "select of ",
        ),
        (
            lambda: linalg.eigh_tridiagonal(x[0], x[0, :1], select="i"),
            ArgumentError,
            "select_range",
        ),
        (lambda: linalg.solve_sylvester(x, x, np.eye(3)), ShapeError, "m rows and n columns"),
        (lambda: linalg.solve_sylvester(x, x, x, method="q"), ArgumentError, "method of "),
    ]
    for call, error, message in calls:
        with raises(error, match=message):
            call()


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("transform", [lambda f: f, tinyjax.jit, tinyjax.vmap])
def test_equations_of_sylvester_without_a_solution(transform: Any) -> None:
    """NaN as jax, where eigenvalues of ``A`` and ``-B`` are no further apart than ``tol``."""
    a = np.array([[[1.0, 2.0], [0.0, 2.0]], [[1.0, 2.0], [0.0, 5.0]], [[1.0, 0.0], [0.0, 3.001]]])
    b, c = np.array([[-2.0, 1.0], [1.0, -2.0]]), np.ones((3, 2, 2))
    b = np.stack([b] * 3)
    for tol, method in ((1e-8, "schur"), (1e-8, "eigen"), (0.1, "schur")):
        found = transform(partial(linalg.solve_sylvester, tol=tol, method=method))(a, b, c)
        with jax.enable_x64(True):
            expected = jax.scipy.linalg.solve_sylvester(a, b, c, tol=tol, method=method)
        np.testing.assert_allclose(found, expected, 1e-9)
        assert np.isnan(expected).any()


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("kind", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_generalised_eigenvalues_are_those_of_scipy(kind: int, dtype: str) -> None:
    rng = np.random.default_rng(kind)
    a = rng.normal(size=(2, 4, 4)) * np.ones((), dtype)
    a += rng.normal(size=a.shape) * np.asarray(1j if dtype == "complex128" else 1)
    a, b = a + a.mT.conj(), a @ a.mT.conj() + np.eye(4)
    for lower in (True, False):
        one = np.tril if lower else np.triu
        for form in (lambda f: f, tinyjax.jit, tinyjax.vmap):
            values, vectors = form(partial(linalg.eigh, lower=lower, type=kind))(one(a), one(b))
            for i in range(2):
                expected = theirs.eigh(a[i], b[i], type=kind)
                np.testing.assert_allclose(values[i], expected[0], 1e-9)
                np.testing.assert_allclose(np.abs(vectors[i]), np.abs(expected[1]), 1e-7, 1e-8)
    alone = linalg.eigh(a, b[:1], type=kind, eigvals_only=True)[0]
    np.testing.assert_allclose(alone, theirs.eigh(a[0], b[0], type=kind)[0], 1e-9)
    check_grads(lambda a, b: linalg.eigh(a, b, type=kind, eigvals_only=True), (a, b), 1)
    with raises(ShapeError, match="of one size"):
        linalg.eigh(a, np.eye(3))


SHAPES = [(), (1,), (2,), (1, 2), (3, 1)]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["solve", "solve_triangular", "cho_solve", "lu_solve"])
def test_axes_in_front_of_systems_broadcast(name: str) -> None:
    """Those of matrices and of vectors, or columns, as jax's."""

    def solve(library: Any, a: Any, b: Any) -> Any:
        if name == "cho_solve":
            return library.cho_solve((a, True), b)
        if name == "lu_solve":
            return library.lu_solve(library.lu_factor(a), b)
        return getattr(library, name)(a, b)

    rng = np.random.default_rng(0)
    systems: list[tuple[Any, Any]] = []
    for front in SHAPES:
        a = np.eye(4) + np.triu(rng.normal(size=(*front, 4, 4)))
        shapes = [(4,), *((*other, 4, columns) for other in SHAPES for columns in (1, 3))]
        systems += [(a, rng.normal(size=shape)) for shape in shapes]
    with jax.enable_x64(True):
        expected = jax.jit(lambda s: [solve(jax.scipy.linalg, *ab) for ab in s])(systems)
    for system, solution in zip(systems, expected, strict=True):
        np.testing.assert_allclose(solve(linalg, *system), solution, 1e-8, 1e-8)
    # vectors for each matrix are columns here, as in SciPy and jax, unless the function is older
    a, b = np.eye(3) * np.arange(1.0, 4.0)[:, None, None], np.arange(9.0).reshape(3, 3)
    assert linalg.solve(a, b).shape == (3, 3, 3)
    assert linalg.solve_triangular(a, b).shape == (3, 3)


# Matrices without a basis of eigenvectors


def jordan(n: int, value: float) -> HostArray:
    return np.diag(np.full(n, value)) + np.diag(np.ones(n - 1), 1)


def similar(x: HostArray, seed: int = 0) -> HostArray:
    basis = np.random.default_rng(seed).standard_normal(x.shape)
    return np.asarray(basis @ x @ np.linalg.inv(basis))


DEFECTIVE: dict[str, HostArray] = {
    "a shear": jordan(2, 1.0),
    "three": jordan(3, 2.0),
    "a hidden four": similar(jordan(4, 3.0)),
    "two blocks": theirs.block_diag(jordan(2, 2.0), jordan(2, 2.0)),
    "beside another": theirs.block_diag(jordan(2, 2.0), 5.0),
    "a chain": np.array([[0.9, 0.1, 0.0], [0.0, 0.9, 0.1], [0.0, 0.0, 1.0]]),
    "nearly one": np.array([[1.0, 1.0], [0.0, 1.0 + 1e-9]]),
    "far": np.array([[1.0, 1e6], [0.0, 1.0]]),
    "a rotation": np.array([[0.0, -1.0], [1.0, 0.0]]),
    "the identity": np.eye(3),
    "small numbers": 1e-8 * (np.eye(3) + 0.1 * np.arange(9.0).reshape(3, 3)),
}


@pytest.mark.parametrize("name", DEFECTIVE)
def test_logarithms_of_defective_matrices(name: str) -> None:
    x = DEFECTIVE[name]
    n, step = len(x), np.random.default_rng(1).standard_normal(x.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an estimate of the error is above 1e-12
        both = theirs.logm(np.block([[x, step], [np.zeros_like(x), x]]))
    for log in (linalg.logm, tinyjax.jit(linalg.logm)):
        value, tangent = tinyjax.jvp(log, (x,), (step,))
        np.testing.assert_allclose(value, both[:n, :n], 1e-11, 1e-11)
        np.testing.assert_allclose(tangent, both[:n, n:], 1e-9, 1e-9)
    weights = np.random.default_rng(2).standard_normal(x.shape)
    gradient = tinyjax.grad(lambda x: jnp.sum(weights * linalg.logm(x)))(x)
    np.testing.assert_allclose(np.sum(gradient * step), np.sum(weights * both[:n, n:]), 1e-8, 1e-8)


def test_logarithms_that_are_not_real_numbers() -> None:
    for x in (np.diag([-1.0, 2.0]), np.diag([0.0, 1.0]), np.ones((2, 2))):
        assert np.isnan(linalg.logm(x)).all()
        assert np.isnan(tinyjax.jvp(linalg.logm, (x,), (np.ones((2, 2)),))[1]).all()
    value = linalg.logm(np.diag([-1.0 + 0j, 2.0]))
    np.testing.assert_allclose(value, np.diag([np.pi * 1j, np.log(2)]), atol=1e-14)
    single = linalg.logm(np.stack([np.float32(jordan(2, 1.0)), np.eye(2, dtype="float32")]))
    assert single.dtype == "float32"
    np.testing.assert_allclose(single[0], [[0, 1], [0, 0]], atol=1e-6)


@pytest.mark.parametrize("name", DEFECTIVE)
@pytest.mark.parametrize("kind", ["exp", "sin"])
def test_functions_of_defective_matrices_are_right_or_not_a_number(name: str, kind: str) -> None:
    x, expected = DEFECTIVE[name], getattr(theirs, f"{kind}m")(DEFECTIVE[name])
    for function in (linalg.funm, tinyjax.jit(linalg.funm, static_argnums=1)):
        value = np.asarray(function(x, getattr(jnp, kind)))
        assert np.isnan(value).any() or np.allclose(value, expected, 1e-6, 1e-6)
    if name in ("a rotation", "the identity"):  # orthogonal eigenvectors
        np.testing.assert_allclose(linalg.funm(x, getattr(jnp, kind)), expected, 1e-12, 1e-12)
