"""The programs of "First-Order Automatic Differentiation in JAX", and the rules that it derives.

The tutorial computes Jacobians and products with them in three ways each, and differentiates
NumPy's matrix product by a rule of its own. It names functions whose rules it leaves to the reader:
they are here, with rules written by hand, against closed forms and finite differences. What tinyjax
has for roots, systems and differential equations is in docs/derivations.md, which runs as a test.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    custom_derivative,
    custom_jvp,
    grad,
    jacfwd,
    jacrev,
    jit,
    jvp,
    pure_callback,
    random,
    vjp,
    vmap,
)
from tinyjax.errors import DifferentiationError
from tinyjax.test_util import check_grads

Fun = Callable[..., Any]

X1_KEY, X2_KEY = random.split(random.key(42), 2)
X1, X2 = random.normal(X1_KEY, (2, 3)), random.normal(X2_KEY, (3, 4))
BOTH: list[Fun] = [lambda f: f, jit]


def g(a: Any, b: Any) -> Any:
    return a @ b, a * a


def close(actual: Any, expected: Any, tol: float = 1e-5) -> None:
    for a, b in zip(tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, tol, tol)


# Jacobians, and products with them


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
def test_the_jacobian_is_a_matrix_of_tensors(jacobian: Fun) -> None:
    assert [y.shape for y in g(X1, X2)] == [(2, 4), (2, 3)]
    (by_a, by_b), (square_by_a, square_by_b) = jacobian(g, argnums=(0, 1))(X1, X2)
    assert (by_a.shape, by_b.shape) == ((2, 4, 2, 3), (2, 4, 3, 4))
    assert (square_by_a.shape, square_by_b.shape) == ((2, 3, 2, 3), (2, 3, 3, 4))
    a, b = np.asarray(X1), np.asarray(X2)
    close(by_a, np.einsum("ik,lj->ijkl", np.eye(2), b))
    close(by_b, np.einsum("ik,jl->ijkl", a, np.eye(4)))
    close(square_by_a, 2 * np.einsum("ij,ik,jl->ijkl", a, np.eye(2), np.eye(3)))
    close(square_by_b, np.zeros((2, 3, 3, 4)))


def test_a_jacobian_vector_product_three_ways() -> None:
    """The derivatives of all that comes out by the entry (1, 2) of the first input."""
    jacobian = jacfwd(g, argnums=(0, 1))(X1, X2)
    v1, v2 = jnp.zeros(X1.shape).at[1, 2].set(1), jnp.zeros(X2.shape)
    indexed = [row[0][:, :, 1, 2] for row in jacobian]
    contracted = [
        jnp.einsum("ijkl,kl->ij", row[0], v1) + jnp.einsum("ijkl,kl->ij", row[1], v2)
        for row in jacobian
    ]
    _, pushed = jvp(g, (X1, X2), (v1, v2))
    close(pushed, indexed)
    close(contracted, indexed)
    expected = np.zeros((2, 4))
    expected[1] = np.asarray(X2)[2]
    close(pushed[0], expected)


def test_a_vector_jacobian_product_three_ways() -> None:
    """The derivatives of the entry (1, 2) of the first output by all that goes in."""
    jacobian = jacrev(g, argnums=(0, 1))(X1, X2)
    outs, pull = vjp(g, X1, X2)
    w1, w2 = jnp.zeros(outs[0].shape).at[1, 2].set(1), jnp.zeros(outs[1].shape)
    indexed = [by_input[1, 2] for by_input in jacobian[0]]
    contracted = [
        jnp.einsum("ij,ijkl->kl", w1, jacobian[0][i])
        + jnp.einsum("ij,ijkl->kl", w2, jacobian[1][i])
        for i in range(2)
    ]
    pulled = pull((w1, w2))
    close(pulled, indexed)
    close(contracted, indexed)
    expected = np.zeros((2, 3))
    expected[1] = np.asarray(X2)[:, 2]
    close(pulled[0], expected)


@pytest.mark.parametrize("mode", BOTH)
def test_a_jacobian_is_put_together_from_products(mode: Fun) -> None:
    """One jvp for each number that goes in, one vjp for each that comes out."""

    def forward(x: Any) -> Any:
        basis = jnp.eye(x.size).reshape(x.size, *x.shape)
        columns = vmap(lambda v: jvp(lambda x: g(x, X2)[0], (x,), (v,))[1])(basis)
        return jnp.moveaxis(columns, 0, -1).reshape(2, 4, *x.shape)

    def reverse(x: Any) -> Any:
        _, pull = vjp(lambda x: g(x, X2)[0], x)
        return vmap(lambda w: pull(w)[0])(jnp.eye(8).reshape(8, 2, 4)).reshape(2, 4, *x.shape)

    expected = jacrev(lambda x: g(x, X2)[0])(X1)
    close(mode(forward)(X1), expected)
    close(mode(reverse)(X1), expected)


# Rules of one's own


def numpy_product(a: Any, b: Any) -> Any:
    struct = tinyjax.core.ShapedArray((a.shape[0], b.shape[1]), a.dtype)
    return pure_callback(np.matmul, struct, a, b, vmap_method="sequential")


def test_a_callback_has_no_derivative() -> None:
    with raises(DifferentiationError, match="Python code cannot be differentiated"):
        jvp(lambda a, b: (numpy_product(a, b), a * a), (X1, X2), (X1, X2))


@pytest.mark.parametrize("mode", BOTH)
def test_the_product_rule_for_numpys_product(mode: Fun) -> None:
    product = custom_jvp(numpy_product)

    @product.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        (a, b), (s, t) = primals, tangents
        return product(a, b), product(s, b) + product(a, t)

    v1, v2 = jnp.zeros(X1.shape).at[1, 2].set(1), jnp.zeros(X2.shape)
    for tangents in ((v1, v2), (X1 * X1, jnp.cos(X2))):
        found = mode(lambda *t: jvp(lambda a, b: (product(a, b), a * a), (X1, X2), t)[1])(*tangents)
        close(found, jvp(g, (X1, X2), tangents)[1])

    # NumPy was given tangents, so that only forward mode knows the derivative
    def total(a: Any) -> Any:
        return product(a, X2).sum()

    with raises(DifferentiationError, match="cannot be transposed for reverse mode"):
        mode(grad(total))(X1)


@pytest.mark.parametrize("mode", BOTH)
def test_a_jvp_rule_gives_reverse_mode_where_it_can_be_transposed(mode: Fun) -> None:
    product = custom_jvp(numpy_product)
    product.defjvp(lambda p, t: (product(*p), t[0] @ p[1] + p[0] @ t[1]))

    def ours(a: Any, b: Any) -> Any:
        return product(a, b), a * a

    w = (jnp.sin(X1 @ X2), jnp.cos(X1))
    close(mode(lambda a, b: vjp(ours, a, b)[1](w))(X1, X2), vjp(g, X1, X2)[1](w))
    jacobians = jacrev(ours, (0, 1)), jacfwd(ours, (0, 1))
    for jacobian in jacobians:
        close(mode(jacobian)(X1, X2), jacrev(g, (0, 1))(X1, X2))
    many = jnp.stack([X1, 2 * X1])

    def total(f: Fun) -> Fun:
        return lambda a: f(a, X2)[0].sum()

    close(mode(vmap(grad(total(ours))))(many), vmap(grad(total(g)))(many))


# The functions whose rules are named


def with_rule(fun: Fun, rule: Fun) -> Fun:
    f = custom_derivative(fun)
    f.defderivative(rule)
    return f


def _softmax(x: Any) -> Any:
    e = jnp.exp(x - x.max())
    return e / e.sum()


def _softmax_rule(x: Any) -> Any:
    p = _softmax(x)
    return p, lambda t: p * (t - (p * t).sum())


RULES: dict[str, tuple[Fun, Fun, tuple[Any, ...]]] = {
    "sum": (
        lambda x, y: x + y,
        lambda x, y: (x + y, lambda s, t: s + t),
        (np.float64(0.3), np.float64(2.0)),
    ),
    "product": (
        lambda x, y: x * y,
        lambda x, y: (x * y, lambda s, t: s * y + x * t),
        (np.float64(0.3), np.float64(2.0)),
    ),
    "sine": (jnp.sin, lambda x: (jnp.sin(x), lambda t: jnp.cos(x) * t), (np.float64(0.3),)),
    "broadcast product": (
        lambda x, y: x * y,
        lambda x, y: (x * y, lambda s, t: s * y + x * t),
        (np.arange(1.0, 4.0), np.array([[2.0], [0.5]])),
    ),
    "matrix-vector product": (
        lambda a, x: a @ x,
        lambda a, x: (a @ x, lambda s, t: s @ x + a @ t),
        (np.arange(6.0).reshape(2, 3) / 3, np.array([0.5, -1.0, 2.0])),
    ),
    "matrix-matrix product": (
        lambda a, b: a @ b,
        lambda a, b: (a @ b, lambda s, t: s @ b + a @ t),
        (np.arange(6.0).reshape(2, 3) / 3, np.arange(12.0).reshape(3, 4) / 7),
    ),
    "squared distance": (
        lambda x, y: ((x - y) ** 2).sum(),
        lambda x, y: (((x - y) ** 2).sum(), lambda s, t: 2 * ((x - y) * (s - t)).sum()),
        (np.arange(3.0), np.array([0.5, -1.0, 2.5])),
    ),
    "softmax": (_softmax, _softmax_rule, (np.array([0.1, 1.5, -0.7]),)),
}


@pytest.mark.parametrize("name", RULES)
def test_derived_rules(name: str) -> None:
    fun, rule, args = RULES[name]
    f = with_rule(fun, rule)
    arguments = tuple(range(len(args)))
    close(f(*args), fun(*args), 1e-12)
    for jacobian in (jacfwd, jacrev):
        close(jit(jacobian(f, arguments))(*args), jacobian(fun, arguments)(*args), 1e-12)
    check_grads(f, args, order=2, modes=("fwd", "rev"), atol=1e-4, rtol=1e-4)


def callback(fun: Fun, like: Any, *args: Any) -> Any:
    return pure_callback(fun, like, *args, vmap_method="sequential")


def scalar_root(a: Any) -> Any:
    """The root x of x^3 + a x = 1, found by SciPy."""

    def solve(a: Any) -> Any:
        return np.asarray(scipy.optimize.brentq(lambda x: x**3 + a * x - 1, 0, 2, xtol=1e-14))

    return callback(solve, a, a)


def _scalar_root_rule(a: Any) -> Any:
    x = ROOT(a)  # so that the rule has derivatives in its turn
    return x, lambda t: -x * t / (3 * x**2 + a)


ROOT = with_rule(scalar_root, _scalar_root_rule)


def test_scalar_root_finding() -> None:
    a = np.float64(0.8)
    x = scipy.optimize.brentq(lambda x: x**3 + a * x - 1, 0, 2, xtol=1e-14)
    first = -x / (3 * x**2 + a)
    # by differentiating 3 x^2 x' + x + a x' = 0 once more
    second = -(6 * x * first**2 + 2 * first) / (3 * x**2 + a)
    for mode in BOTH:
        close(mode(ROOT)(a), x, 1e-12)
        for derivative in (grad, jacfwd, jacrev):
            close(mode(derivative(ROOT))(a), first, 1e-12)
            close(mode(derivative(grad(ROOT)))(a), second, 1e-10)
        found = mode(vmap(grad(ROOT)))(np.array([a, a]))
        close(found, np.full(2, first), 1e-12)


def linear_solve(a: Any, b: Any) -> Any:
    return callback(np.linalg.solve, b, a, b)


def _linear_solve_rule(a: Any, b: Any) -> Any:
    """From A x = b: A x' = b' - A' x."""
    x, inverse = SOLVE(a, b), INVERSE(a)
    return x, lambda s, t: inverse @ (t - s @ x)


def _inverse_rule(a: Any) -> Any:
    y = INVERSE(a)
    return y, lambda t: -(y @ t @ y)


INVERSE = with_rule(lambda a: callback(np.linalg.inv, a, a), _inverse_rule)
SOLVE = with_rule(linear_solve, _linear_solve_rule)


def test_a_linear_system() -> None:
    a, b = np.array([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0]]), np.array([1.0, 2.0, -1.0])
    inverse = np.linalg.inv(a)
    x = inverse @ b
    for mode in BOTH:
        for jacobian in (jacfwd, jacrev):
            by_a, by_b = mode(jacobian(SOLVE, (0, 1)))(a, b)
            close(by_b, inverse, 1e-12)
            close(by_a, -np.einsum("ij,k->ijk", inverse, x), 1e-12)
    check_grads(SOLVE, (a, b), order=2, modes=("fwd", "rev"), atol=1e-4, rtol=1e-4)


def residual(x: Any, p: Any, m: Any = np) -> Any:
    return m.stack([x[0] ** 2 + x[1] ** 2 - p[0], x[0] * m.exp(x[1]) - p[1]])


def _nonlinear_rule(p: Any) -> Any:
    """From F(x, p) = 0: x' = -(dF/dx)^-1 (dF/dp) p'."""
    x = NONLINEAR(p)
    by_x = jacfwd(lambda x: residual(x, p, jnp))(x)
    by_p = jacfwd(lambda p: residual(x, p, jnp))(p)
    inverse = INVERSE(by_x)
    return x, lambda t: -(inverse @ (by_p @ t))


NONLINEAR = with_rule(
    lambda p: callback(
        lambda p: scipy.optimize.root(residual, np.array([1.0, 0.5]), args=(p,), tol=1e-14).x, p, p
    ),
    _nonlinear_rule,
)


def test_a_nonlinear_system() -> None:
    p = np.array([1.6, 1.8])
    x = np.asarray(NONLINEAR(p))
    np.testing.assert_allclose(residual(x, p), 0, atol=1e-12)
    by_x = np.array([[2 * x[0], 2 * x[1]], [np.exp(x[1]), x[0] * np.exp(x[1])]])
    expected = np.linalg.inv(by_x)  # dF/dp is minus the identity
    for mode in BOTH:
        close(mode(jacfwd(NONLINEAR))(p), expected, 1e-10)
        close(mode(jacrev(NONLINEAR))(p), expected, 1e-10)
    slope = jacfwd(lambda p: NONLINEAR(p).sum())
    step = 1e-5 * np.eye(2)
    differences = [(slope(p + e) - slope(p - e)) / 2e-5 for e in step]
    close(jacfwd(slope)(p), np.stack(differences), 1e-6)
