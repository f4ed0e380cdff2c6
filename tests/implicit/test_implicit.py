"""Implicit differentiation, against closed forms, scipy, jax, and unrolled programs."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import jax
import jax.experimental.ode
import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, grad, implicit, jacfwd, jacrev, jit, jvp, lax, vmap
from tinyjax.errors import ArgumentError, DifferentiationError, ShapeError
from tinyjax.implicit import Info, fixed_point, linear_solve, minimize, odeint, root
from tinyjax.scipy.sparse.linalg import bicgstab, cg, gmres

Fun = Callable[..., Any]
RNG = np.random.default_rng(0)


def double(x: Any) -> Array:
    return jnp.asarray(np.asarray(x, np.complex128 if np.iscomplexobj(x) else np.float64))


def close(actual: Any, expected: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(np.asarray(actual), np.asarray(expected), tolerance, tolerance)


def differences(f: Callable[[Array], Array], x: Array) -> Any:
    """The Jacobian by differences of fourth order, a column for each element of a vector."""
    h = 1e-3

    def column(e: Any) -> Any:
        near = np.asarray(f(x + h * e)) - np.asarray(f(x - h * e))
        far = np.asarray(f(x + 2 * h * e)) - np.asarray(f(x - 2 * h * e))
        return (8 * near - far) / (12 * h)

    return np.stack([column(e) for e in np.eye(x.shape[0])], axis=-1)


MATRIX: Final = RNG.normal(size=(5, 5)) + 5 * np.eye(5)
POSITIVE: Final = MATRIX @ MATRIX.T
COMPLEX: Final = MATRIX + 1j * RNG.normal(size=(5, 5))
HERMITIAN: Final = COMPLEX @ COMPLEX.conj().T
RIGHT: Final = RNG.normal(size=5)
SYSTEMS: Final = [
    pytest.param(method, matrix, id=f"{method}-{matrix.dtype.kind}")
    for method, matrices in {
        "dense": (MATRIX, COMPLEX),
        "cg": (POSITIVE, HERMITIAN),
        "gmres": (MATRIX, COMPLEX),
        "bicgstab": (MATRIX, COMPLEX),
    }.items()
    for matrix in matrices
]


# Linear systems


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(("method", "matrix"), SYSTEMS)
def test_linear_systems(method: Any, matrix: Any) -> None:
    right = RIGHT if matrix.dtype.kind == "f" else RIGHT * (1 + 2j)
    a, b = double(matrix), double(right)
    holomorphic = matrix.dtype.kind == "c"

    def solve(a: Array, b: Array) -> Any:
        return linear_solve(lambda x: a @ x, b, method=method)

    x = np.linalg.solve(matrix, right)
    inverse = np.linalg.inv(matrix)
    close(solve(a, b), x)
    close(jit(solve)(a, b), x)
    close(linear_solve(a, b, method=method), x)
    modes: list[Any] = [jacfwd, jacrev]
    for mode in modes:
        close(mode(solve, 1, holomorphic=holomorphic)(a, b), inverse)
        # dx = -A^-1 dA x
        by_a = mode(solve, 0, holomorphic=holomorphic)(a, b)
        close(by_a, -np.einsum("ij,k->ijk", inverse, x))
    second = jacfwd(jacrev(solve, 0, holomorphic=holomorphic), 1, holomorphic=holomorphic)(a, b)
    close(second, -np.einsum("ij,kl->ijkl", inverse, inverse))


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("method", ["gmres", "bicgstab", "dense"])
def test_many_linear_systems(method: Any) -> None:
    a, b = double(MATRIX + RNG.normal(size=(3, 5, 5)) / 5), double(RNG.normal(size=(3, 5)))

    def loss(a: Array, b: Array) -> Array:
        return jnp.sum(linear_solve(lambda x: a @ x, b, method=method) ** 3)

    expected = [grad(loss, (0, 1))(x, y) for x, y in zip(a, b, strict=True)]
    for mapped in (vmap(grad(loss, (0, 1))), jit(vmap(grad(loss, (0, 1))))):
        of_a, of_b = mapped(a, b)
        close(of_a, np.stack([x for x, _ in expected]))
        close(of_b, np.stack([y for _, y in expected]))
    close(vmap(loss, (None, 0))(a[0], b), [loss(a[0], y) for y in b])
    close(vmap(loss, (0, None))(a, b[0]), [loss(x, b[0]) for x in a])


def test_conjugate_gradients_need_no_transpose_of_a_real_matrix() -> None:
    """Nor could there be one here: of a loop whose length is not known."""
    a, b = double(POSITIVE), double(RIGHT)

    def loss(b: Array, n: Array) -> Array:
        def thrice(x: Array) -> Array:
            return lax.fori_loop(0, n, lambda _, y: y + a @ x, jnp.zeros_like(x))

        return jnp.sum(linear_solve(thrice, b, method="cg", tol=1e-12) ** 3)

    x = np.linalg.solve(3 * POSITIVE, RIGHT)
    expected = np.linalg.solve(3 * POSITIVE, 3 * x**2)
    close(jit(grad(loss))(b, jnp.int32(3)), expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
def test_preconditioners_on_trees(method: Any) -> None:
    scales = 10.0 ** np.arange(5)
    matrix = np.sqrt(scales)[:, None] * POSITIVE / 50 * np.sqrt(scales)
    a, b = double(matrix), {"p": double(RIGHT[:2]), "q": [double(RIGHT[2:])]}

    def flat(x: Any) -> Array:
        return jnp.concatenate([x["p"], x["q"][0]])

    def whole(x: Array) -> Any:
        return {"p": x[:2], "q": [x[2:]]}

    def solve(b: Any, precondition: bool) -> Any:
        return linear_solve(
            lambda x: whole(a @ flat(x)),
            b,
            method=method,
            preconditioner=(lambda x: whole(flat(x) / scales)) if precondition else None,
            tol=1e-11,
            maxiter=100,
            restart=4,
            has_aux=True,
        )

    x, info = solve(b, True)
    close(flat(x), np.linalg.solve(matrix, RIGHT), 1e-8)
    assert bool(info.converged)
    assert int(info.iterations) < int(solve(b, False)[1].iterations)
    row = grad(lambda b: flat(solve(b, True)[0])[0])(b)
    close(flat(row), np.linalg.inv(matrix)[0], 1e-8)


def test_an_iteration_that_does_not_converge() -> None:
    a, b = double(MATRIX), double(RIGHT)
    x, info = linear_solve(a, b, method="gmres", restart=2, maxiter=1, has_aux=True)
    assert not bool(info.converged)
    close(info.residual, np.linalg.norm(RIGHT - MATRIX @ np.asarray(x)))
    _, info = linear_solve(a, b, method="bicgstab", maxiter=1, has_aux=True)
    assert not bool(info.converged)
    _, info = linear_solve(a, b, method="gmres", x0=linear_solve(a, b), has_aux=True)
    assert bool(info.converged)
    assert int(info.iterations) == 0
    _, info = root(lambda x: x * x + 1.0, double(0.3), has_aux=True)
    assert not bool(info.converged)
    _, info = fixed_point(lambda x: 2 * x, double(1.0), maxiter=5, has_aux=True)
    assert (bool(info.converged), int(info.iterations)) == (False, 5)
    _, info = minimize(lambda x: (x - 1) ** 4, double(9.0), maxiter=2, has_aux=True)
    assert (bool(info.converged), int(info.iterations)) == (False, 2)


def test_gmres_ends_where_its_space_is_complete() -> None:
    """Two eigenvalues: the solution is in a space of two products, whatever the restart."""
    matrix = np.diag([1.0, 1.0, 2.0, 2.0])
    b = double([1.0, 2.0, 3.0, 4.0])
    x, info = linear_solve(double(matrix), b, method="gmres", has_aux=True)
    close(x, [1.0, 2.0, 1.5, 2.0])
    assert (bool(info.converged), int(info.iterations)) == (True, 1)
    zero, info = linear_solve(double(matrix), jnp.zeros_like(b), method="gmres", has_aux=True)
    close(zero, np.zeros(4))
    assert bool(info.converged)


def test_several_right_sides_and_weak_types() -> None:
    many = RNG.normal(size=(5, 2))
    close(linear_solve(double(MATRIX), double(many)), np.linalg.solve(MATRIX, many))
    found = linear_solve(double(MATRIX), jnp.arange(5), method="gmres")
    assert found.dtype == np.float64
    close(found, np.linalg.solve(MATRIX, np.arange(5.0)))


def test_custom_linear_solve_is_jaxs() -> None:
    def program(numpy: Any, solver: Fun) -> Fun:
        def solve(matvec: Fun, b: Any) -> Any:
            columns = numpy.stack([matvec(e) for e in numpy.eye(5)], axis=1)
            return numpy.linalg.solve(columns, b), numpy.sum(b)

        def loss(a: Any, b: Any) -> Any:
            x, _ = solver(lambda x: a @ x, b, solve, solve, has_aux=True)
            return numpy.sum(numpy.sin(x))

        return loss

    ours = program(jnp, lax.custom_linear_solve)
    with jax.enable_x64():
        theirs = program(jax.numpy, jax.lax.custom_linear_solve)
        expected = jax.grad(theirs, (0, 1))(MATRIX, RIGHT)
        second = jax.jacfwd(jax.grad(theirs, 1), 0)(MATRIX, RIGHT)
    a, b = double(MATRIX), double(RIGHT)
    for f in (ours, jit(ours)):
        for found, wanted in zip(grad(f, (0, 1))(a, b), expected, strict=True):
            close(found, wanted)
    by_right: Any = grad(ours, 1)
    close(jacfwd(by_right, 0)(a, b), second)


def test_custom_linear_solve_in_reverse_needs_a_transpose() -> None:
    def solve(b: Array) -> Any:
        return lax.custom_linear_solve(lambda x: 2 * x, b, lambda matvec, b: b / 2)

    b = double(RIGHT)
    close(jacfwd(solve)(b), np.eye(5) / 2)
    with raises(DifferentiationError, match="without transpose_solve"):
        jacrev(solve)(b)


#: Where ``z + z^3`` is the cube of 0.4.
ROOT: Final = scipy.optimize.brentq(lambda z: z + z**3 - 0.4**3, 0, 1, xtol=1e-15)


def with_programs(x: Any) -> Any:
    """A chain of programs of which each takes the one before's result."""
    return jnp.sin(lax.fori_loop(0, 3, lambda _, c: jnp.sin(c * x), jit(jnp.sin)(x)))


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_matrix_that_is_a_derivative(wrap: Fun) -> None:
    """Only what is linear in it is transposed, although programs compute values along with it."""

    def solve(x: Array) -> Any:
        def multiply(t: Array) -> Any:
            return 2 * t + jvp(with_programs, (x,), (t,))[1]

        def divide(matvec: Fun, b: Array) -> Any:
            return b / matvec(jnp.ones_like(b))

        return lax.custom_linear_solve(multiply, x, divide, divide)

    def expected(x: Array) -> Any:
        return x / (2 + grad(with_programs)(x))

    x = double(0.3)
    for change in (lambda f: f, grad, jacfwd, lambda f: grad(grad(f))):
        close(wrap(change(solve))(x), change(expected)(x))
    many = double([0.3, 0.5])
    close(wrap(vmap(grad(solve)))(many), vmap(grad(expected))(many))


# Roots, fixed points and minima: programs of a vector, and the same by a closed form


def kepler(p: Array) -> Any:
    """The eccentric anomaly, of mean anomaly and eccentricity."""
    return root(lambda x: x - p[1] * jnp.sin(x) - p[0], p[0])


def kepler_between(p: Array) -> Any:
    return root(lambda x: x - p[1] * jnp.sin(x) - p[0], bracket=(-1.0, 5.0))


def kepler_iterated(p: Array, method: Any = "iteration") -> Any:
    return fixed_point(lambda x, e: p[0] + e * jnp.sin(x), p[0], (p[1],), method=method)


def kepler_minimal(p: Array) -> Any:
    return minimize(lambda x: x**2 / 2 + p[1] * jnp.cos(x) - p[0] * x, p[0])


def kepler_descended(p: Array) -> Any:
    return minimize(
        lambda x: x**2 / 2 + p[1] * jnp.cos(x) - p[0] * x, p[0], method="gradient_descent"
    )


def kepler_unrolled(p: Array) -> Array:
    x = p[0]
    for _ in range(12):
        x = x - (x - p[1] * jnp.sin(x) - p[0]) / (1 - p[1] * jnp.cos(x))
    return x


KEPLER: Final = [
    kepler,
    kepler_between,
    kepler_iterated,
    partial(kepler_iterated, method="anderson"),
    partial(kepler_iterated, method="newton"),
    kepler_minimal,
    kepler_descended,
]


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("f", KEPLER)
def test_one_equation_solved_in_many_ways(f: Fun) -> None:
    p = double([0.8, 0.3])
    for g in (f, jit(f)):
        close(g(p), kepler_unrolled(p))
        close(grad(g)(p), grad(kepler_unrolled)(p))
        close(jacfwd(g)(p), grad(kepler_unrolled)(p))
    expected = jacfwd(jacrev(kepler_unrolled))(p)
    for outer in (jacfwd, jacrev):
        for inner in (jacfwd, jacrev):
            close(outer(inner(f))(p), expected, 1e-8)
    close(jit(jacfwd(jacrev(f)))(p), expected, 1e-8)
    many = double([[0.8, 0.3], [0.1, 0.2], [2.0, 0.5]])
    for g in (vmap(grad(f)), jit(vmap(grad(f))), grad(lambda x: vmap(f)(x).sum())):
        close(g(many), [grad(kepler_unrolled)(row) for row in many])


def test_the_third_derivative() -> None:
    third = grad(grad(grad(lambda a: root(lambda x: x * x - a, double(1.0)))))
    close(third(double(4.0)), 3 / 8 * 4**-2.5)
    assert root(lambda x: x * x - 2.0, 1.0).dtype == np.float32
    assert root(lambda x: x * x - double(2.0), 1).dtype == np.float64


@pytest.mark.slow
def test_systems_of_trees() -> None:
    """The solution is (a + b) / 2 and its exponential."""

    def solve(a: Array, b: Array, solver: Any) -> Any:
        def equations(x: dict[str, Array], b: Array) -> dict[str, Array]:
            mean = jnp.log(x["exp"])
            return {"exp": x["mean"] - mean, "mean": 2 * x["mean"] - a - b}

        start = {"exp": jnp.ones_like(a), "mean": jnp.zeros_like(a)}
        return root(equations, start, (b,), linear_solver=solver)["exp"]

    a, b = double([0.5, -1.0]), double([0.1, 0.7])
    expected = np.exp((np.asarray(a) + np.asarray(b)) / 2)
    precise: Any = partial(linear_solve, method="bicgstab", tol=1e-14)
    for solver in ("dense", "gmres", precise):
        close(solve(a, b, solver), expected)
        modes: list[Any] = [jacfwd, jacrev]
        for mode in modes:
            close(mode(solve, 1)(a, b, solver), np.diag(expected) / 2)
        close(jacfwd(jacrev(solve))(a, b, solver)[1, 1, 1], expected[1] / 4)


def test_a_complex_root() -> None:
    z = double(np.array(2.0 + 1.0j))

    def f(z: Any) -> Any:
        return root(lambda x: x * x - z, double(np.array(1.0 + 0.1j)))

    close(f(z), np.sqrt(2 + 1j))
    close(grad(f, holomorphic=True)(z), 0.5 / np.sqrt(2 + 1j))


def test_the_line_search_saves_newtons_method() -> None:
    """Full steps for arctan diverge from beyond 1.39."""
    x, info = root(jnp.atan, double(20.0), has_aux=True)
    close(x, 0.0)
    assert bool(info.converged)

    def broyden(x: Any) -> Array:
        return jnp.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]])

    close(root(broyden, double([-1.2, 1.0])), [1.0, 1.0])


def test_rules_for_reverse_mode_alone() -> None:
    @tinyjax.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x**2 * ct,))

    def steady(power: Fun, solver: Any) -> Fun:
        return lambda a: fixed_point(lambda z: 0.1 * power(z) - a, a, linear_solver=solver)

    a = double(0.4)
    close(grad(steady(cube, "gmres"))(a), grad(steady(lambda z: z**3, "dense"))(a))
    with raises(DifferentiationError, match="serves reverse mode"):
        grad(steady(cube, "dense"))(a)
    # where the unknown does not go through it, any solver will do
    close(grad(lambda a: root(lambda z: z + z**3 - cube(a), a))(a), 3 * 0.16 / (1 + 3 * ROOT**2))


def test_the_first_guess_has_no_derivative() -> None:
    def zero(f: Fun) -> None:
        close(jacrev(f)(double(0.7)), 0.0)

    zero(lambda x: root(lambda y: y - jnp.cos(y), x))
    zero(lambda x: root(lambda y: y - jnp.cos(y), bracket=(x - 1, x + 1)))
    zero(lambda x: fixed_point(jnp.cos, x))
    zero(lambda x: minimize(lambda y: (y - 1) ** 2, x))

    def x0(x: Any) -> Array:
        return jnp.full(5, x)

    zero(lambda x: linear_solve(double(POSITIVE), double(RIGHT), method="cg", x0=x0(x)).sum())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lbfgs", "gradient_descent"])
def test_minima_are_scipys(method: Any) -> None:
    features, labels = RNG.normal(size=(30, 4)), RNG.integers(0, 2, 30)

    def loss(w: Any, penalty: Any, numpy: Any = jnp) -> Any:
        margins = (2 * labels - 1) * (features @ w)
        return numpy.mean(numpy.log1p(numpy.exp(-margins))) + penalty * numpy.sum(w * w)

    def fit(penalty: Array) -> Any:
        return minimize(loss, jnp.zeros(4, dtype="float64"), (penalty,), method=method)

    def scipys(penalty: Any) -> Any:
        start = np.zeros(4)
        result = scipy.optimize.minimize(loss, start, (penalty, np), tol=1e-12)
        return result.x

    p = double([0.1])
    close(fit(p[0]), scipys(0.1), 1e-6)
    close(jacrev(fit)(p[0]), differences(lambda p: fit(p[0]), p)[:, 0], 1e-6)
    close(jacfwd(jacfwd(fit))(p[0]), differences(lambda p: jacfwd(fit)(p[0]), p)[:, 0], 1e-6)


@pytest.mark.parametrize("method", ["lbfgs", "gradient_descent"])
def test_minima_whose_value_is_not_zero_to_the_last_digit(method: Any) -> None:
    """If the value changes by less than its rounding error, the slope decides."""
    t = double([0.7, -1.2, 1.9])

    def energy(x: Any) -> Array:
        return jnp.sum(x * x / 2 - 0.3 * jnp.cos(x) - x * t) + 5.0

    x, info = minimize(energy, t, method=method, tol=1e-13, has_aux=True)
    assert bool(info.converged)
    assert int(info.iterations) < 100
    found = np.asarray(x)
    np.testing.assert_allclose(found + 0.3 * np.sin(found), t, 0, 1e-13)


@pytest.mark.parametrize("method", ["lbfgs", "gradient_descent"])
def test_a_minimum_of_no_parameters(method: Any) -> None:
    x, info = minimize(lambda x: jnp.sum(x * x), jnp.zeros(0), method=method, has_aux=True)
    assert x.shape == (0,)
    assert bool(info.converged)


def test_lbfgs_on_a_curved_valley() -> None:
    def valley(x: Array) -> Array:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    x, info = minimize(valley, double(np.full(10, -1.0)), has_aux=True)
    assert bool(info.converged)
    gradient = np.linalg.norm(np.asarray(grad(valley)(x)))
    assert gradient < 1e-10
    assert int(info.iterations) < 300


def everything(root: Fun, fixed_point: Fun, solve: Fun, loop: Fun) -> Fun:
    """A root, a fixed point, a linear solve and a loop, each of which closes over ``p``."""

    def f(p: Array) -> Array:
        r = root(lambda x: x**3 + p[0] * x - p[1], p[1])
        z = fixed_point(lambda x: 0.5 * jnp.tanh(jnp.sin(p) * x[::-1] + r), p)
        matrix = jnp.outer(p, p) + 3 * jnp.eye(2) + jnp.diag(z)
        x = solve(lambda x: matrix @ x, z * p)
        y = loop(lambda y: jnp.sin(y) + p * x - 0.1 * r * y, x)
        return jnp.stack([jnp.sum(y * z), r * jnp.prod(x)])

    return f


@pytest.mark.slow
def test_the_second_derivative_through_all_of_them() -> None:
    def newton(f: Fun, x: Array) -> Array:
        for _ in range(25):
            x = x - f(x) / grad(f)(x)
        return x

    def iterate(f: Fun, x: Array, iterations: int = 60) -> Array:
        for _ in range(iterations):
            x = f(x)
        return x

    def cramer(matvec: Fun, b: Array) -> Array:
        m = jnp.stack([matvec(e) for e in jnp.eye(2)], axis=1)
        det = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        adjugate = [[m[1, 1], -m[0, 1]], [-m[1, 0], m[0, 0]]]
        return jnp.stack([adjugate[i][0] * b[0] + adjugate[i][1] * b[1] for i in (0, 1)]) / det

    def checkpointed(f: Fun, x: Array) -> Array:
        (_, x) = lax.while_loop(
            lambda state: state[0] < 7,
            lambda state: (state[0] + 1, f(state[1])),
            (0, x),
            checkpoints=3,
        )
        return x

    def scanned(f: Fun, x: Array) -> Array:
        return lax.scan(lambda x, _: (f(x), None), x, None, 7, checkpoints=3)[0]

    p = double([0.9, 1.3])
    unrolled = everything(newton, iterate, cramer, lambda f, x: iterate(f, x, 7))
    value, expected = unrolled(p), jacfwd(jacrev(unrolled))(p)
    ways: list[tuple[Any, Fun]] = [("dense", checkpointed), ("gmres", scanned)]
    for method, loop in ways:
        f = everything(root, fixed_point, partial(linear_solve, method=method), loop)
        second = jacfwd(jacrev(f))(p)
        close(f(p), value)
        close(second, expected, 1e-8)
        close(second, differences(jacrev(f), p), 1e-6)
        close(jit(jacfwd(jacrev(f)))(p), expected, 1e-8)


# Differential equations


def predators(y: Any, t: Any, a: Any, b: Any) -> Any:
    x, z = y
    return (a * x - b * x * z, b * x * z - z)


TIMES: Final = np.linspace(0.0, 3.0, 4)


def populations(p: Array, times: Any = TIMES, **options: Any) -> Array:
    x, z = odeint(
        predators,
        (p[0], p[1]),
        times if isinstance(times, Array) else double(times),
        p[2],
        p[3],
        **{"rtol": 1e-10, "atol": 1e-10, **options},
    )
    return jnp.stack([x, z])


def by_scipy(p: Any, times: Any) -> Any:
    span = (times[0], times[-1])
    return scipy.integrate.solve_ivp(
        lambda t, y: predators(y, t, p[2], p[3]),
        span,
        p[:2],
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-12,
    ).y


START: Final = np.array([1.0, 2.0, 1.5, 1.0])


@pytest.mark.slow
def test_states_are_scipys() -> None:
    p = double(START)
    close(populations(p), by_scipy(START, TIMES))
    close(jit(populations)(p), by_scipy(START, TIMES))
    close(populations(p, TIMES[::-1]), by_scipy(START, TIMES[::-1]))
    many = np.linspace(0.0, 3.0, 40)
    close(populations(p, many), by_scipy(START, many))
    few = populations(p, many, rtol=1e-4, atol=1e-4)
    assert 1e-7 < np.abs(np.asarray(few) - by_scipy(START, many)).max() < 3e-3
    close(populations(p, TIMES[:1]), START[:2, None])
    # an equal time again
    close(populations(p, [0.0, 1.0, 1.0])[:, 1:], by_scipy(START, np.array([0.0, 1.0]))[:, [1, 1]])


def test_it_is_of_order_five() -> None:
    p = double(START)
    exact = by_scipy(START, np.array([0.0, 1.0]))
    errors = [
        np.abs(np.asarray(populations(p, [0.0, 1.0], rtol=1e3, hmax=h)) - exact).max()
        for h in (1 / 8, 1 / 16)
    ]
    assert 4.5 < np.log2(errors[0] / errors[1]) < 6.5


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["adjoint", "checkpointed"])
def test_derivatives_of_states(gradient: Any) -> None:
    p = double(START)
    f = partial(populations, gradient=gradient)
    expected = differences(f, p)
    close(jit(jacrev(f))(p), expected, 1e-7)
    close(jacfwd(f)(p), expected, 1e-7)
    many = double(START + RNG.uniform(0, 0.2, (2, 4)))

    def loss(p: Any) -> Array:
        return jnp.sum(f(p, [0.0, 1.0]) ** 2)

    one = jit(grad(loss))
    close(jit(vmap(one))(many), [one(row) for row in many], 1e-7)


@pytest.mark.sampled(9, always=("adjoint",))
@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["adjoint", "checkpointed"])
def test_second_derivatives_of_states(gradient: Any) -> None:
    p = double(START)

    def loss(p: Any) -> Array:
        return jnp.sum(populations(p, [0.0, 1.0], gradient=gradient) ** 2)

    expected = differences(grad(loss), p)
    close(jit(jacfwd(grad(loss)))(p), expected, 1e-6)
    close(jit(jacrev(grad(loss)))(p), expected, 1e-6)
    v = double([1.0, -1.0, 0.5, 0.2])
    by_reverse_over_forward = jit(grad(lambda p: jvp(loss, (p,), (v,))[1]))(p)
    close(by_reverse_over_forward, expected @ np.asarray(v), 1e-6)


@pytest.mark.slow
def test_the_adjoint_gradient_is_the_checkpointed_one() -> None:
    p = double(START)

    def loss(p: Array, gradient: Any) -> Array:
        states = populations(p, rtol=1e-12, atol=1e-12, gradient=gradient)
        return jnp.sum(jnp.sin(states))

    close(jit(grad(partial(loss, gradient="adjoint")))(p), grad(loss)(p, "checkpointed"), 1e-8)


@pytest.mark.slow
def test_a_linear_equation_has_the_matrix_exponential() -> None:
    """A closed-over matrix, a complex state, and the derivative with respect to times."""
    matrix = COMPLEX / 10
    y0 = RIGHT + 0j

    def flow(a: Array, t: Array) -> Any:
        return odeint(lambda y, t: a @ y, double(y0), t, rtol=1e-11, atol=1e-11)[-1]

    a, t = double(matrix), double([0.2, 1.1])
    close(flow(a, t), scipy.linalg.expm(matrix * 0.9) @ y0)
    _, tangent = jvp(flow, (a, t), (double(COMPLEX), double([0.0, 0.0])))
    _, direction = scipy.linalg.expm_frechet(matrix * 0.9, COMPLEX * 0.9)
    close(tangent, direction @ y0, 1e-8)
    slope = matrix @ scipy.linalg.expm(matrix * 0.9) @ y0
    by_times = jacrev(lambda t: jnp.real(flow(a, t)))(t)
    close(by_times, np.stack([-slope.real, slope.real], axis=1), 1e-8)
    ct = RNG.normal(size=5) + 1j * RNG.normal(size=5)
    _, pull = tinyjax.vjp(lambda a: flow(a, t), a)
    # the transpose: <ct, L(da)> = <L^T(ct), da>, without conjugation
    (cotangent,) = pull(double(ct))
    close(np.sum(np.asarray(cotangent) * COMPLEX), ct @ (direction @ y0), 1e-8)


@pytest.mark.slow
def test_gradients_are_jaxs() -> None:
    with jax.enable_x64():

        def theirs(p: Any, times: Any) -> Any:
            x, z = jax.experimental.ode.odeint(
                predators, (p[0], p[1]), times, p[2], p[3], rtol=1e-10, atol=1e-10
            )
            return jax.numpy.sum(x * z)

        expected = jax.jit(jax.grad(theirs, (0, 1)))(START, TIMES)

    def ours(p: Array, times: Array) -> Array:
        x, z = populations(p, times)
        return jnp.sum(x * z)

    for found, wanted in zip(
        jit(grad(ours, (0, 1)))(double(START), double(TIMES)), expected, strict=True
    ):
        close(found, wanted, 1e-7)


def test_arguments_that_are_no_floats_and_dtypes() -> None:
    def f(k: Any) -> Any:
        return odeint(lambda y, t, n, k: -k * y / n, 1.0, double([0.0, 1.0]), 2, k)[-1]

    assert f(double(1.0)).dtype == np.float64
    close(grad(f)(double(1.0)), -np.exp(-0.5) / 2, 1e-7)
    single = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0]))
    assert single.dtype == np.float32
    close(single[-1], np.exp(-1.0), 1e-6)


@pytest.mark.parametrize("wrap", [grad, lambda f: grad(jit(f)), lambda f: jit(grad(f))])
def test_a_table_that_is_closed_over_has_no_cotangent(wrap: Any) -> None:
    """Else the derivative by 1 / 0 would be a NaN among the states by which steps are chosen."""
    table = double([1.0, 0.0])

    def f(k: Any) -> Any:
        def slope(y: Array, t: Array, k: Array) -> Array:
            return -k * y * jnp.sum(1 / (1 + 1 / table))

        return odeint(slope, 1.0, double([0.0, 1.0]), k)[-1]

    close(wrap(f)(double(1.0)), -np.exp(-0.5) / 2, 1e-7)


def test_a_start_that_is_nan_gives_nans() -> None:
    for t in ([0.0, 1.0], [1.0, 2.0]):
        states, info = odeint(lambda y, t: -y, double(np.nan), double(t), has_aux=True)
        assert np.isnan(np.asarray(states)).all()
        assert not bool(info.converged)


def test_too_many_steps_give_nans() -> None:
    p = double(START)
    states, info = odeint(
        lambda y, t: -100 * (y - jnp.cos(t)), p, double([0.0, 0.01, 5.0]), mxstep=20, has_aux=True
    )
    assert not bool(info.converged)
    assert np.isnan(np.asarray(states)).any(axis=1).tolist() == [False, False, True]
    states, info = odeint(lambda y, t: y**2, double(1.0), double([0.0, 0.5, 2.0]), has_aux=True)
    assert np.isnan(np.asarray(states)).tolist() == [False, False, True]
    close(states[1], 2.0, 1e-6)
    assert not bool(info.converged)


def test_a_field_that_jumps_is_followed_in_single_precision() -> None:
    """Beyond a jump the field goes on; before a pole no step that floats can tell is enough."""

    def field(y: Array, t: Array) -> Array:
        return jnp.select([t <= 2.0, (t >= 5.0) & (t <= 7.0)], [10.0, -10.0], 0.0)

    times = np.array([0.0, 5.0, 10.0], np.float32)
    for gradient in ("adjoint", "checkpointed"):
        solve: Any = partial(odeint, field, hmax=1.0, gradient=gradient, has_aux=True)
        states, info = solve(np.float32(0.0), times)
        close(states, [0.0, 20.0, 0.0], 1e-3)
        assert bool(info.converged)
        slope = grad(lambda y, solve=solve: solve(y, times)[0][2])(np.float32(0.0))
        assert float(slope) == 1.0
    poles: list[Callable[[Array, Array], Array]] = [lambda y, t: y**2, lambda y, t: -1 / y]
    for pole in poles:
        states, info = odeint(pole, np.float32(1.0), times, has_aux=True)
        assert np.isnan(states[1:]).all()
        assert not bool(info.converged)


def test_a_slope_may_be_another_tree_than_the_state() -> None:
    """Of as many numbers, in the same order, as jax takes it."""
    times, starts = double([0.0, 0.5, 1.0]), double([1.0, 0.0])
    slopes: list[Callable[[Any, Any], Any]] = [
        lambda y, t: [y[1], -y[0]],
        lambda y, t: {"a": y[1], "b": (-y[0],)},
        lambda y, t: jnp.stack([y[1], -y[0]]),
    ]
    expected = np.stack([np.cos(times), -np.sin(times)])
    for slope in slopes:
        close(odeint(slope, starts, times), expected.T, 1e-6)
        close(odeint(slope, list(starts), times), expected, 1e-6)
    with raises(ArgumentError, match="a tree like y0"):
        odeint(lambda y, t: [y[0]], starts, times)


# Equations inside equations


@pytest.mark.slow
def test_a_boundary_value_by_shooting() -> None:
    """A solution decays by ``exp(-a)`` to one half."""

    def start(a: Array) -> Any:
        times = double([0.0, 1.0])
        return root(lambda y0: odeint(lambda y, t: -a * y, y0, times)[-1] - 0.5, double(1.0))

    close(start(double(1.0)), np.e / 2, 1e-7)
    close(grad(start)(double(1.0)), np.e / 2, 1e-7)


@pytest.mark.slow
def test_a_minimum_of_a_minimum() -> None:
    """The inner one is at ``3 / (1 + l^2)``."""

    def inner(weight: Any) -> Any:
        return minimize(lambda w: (w - 3.0) ** 2 + weight**2 * w * w, double(0.0))

    found = minimize(lambda weight: (inner(weight) - 1.5) ** 2, double(0.3))
    close(found, 1.0, 1e-6)


@pytest.mark.slow
def test_a_solver_that_closes_over_what_is_differentiated() -> None:
    def find(a: Array, solver: Any) -> Array:
        start = jnp.ones(3, dtype="float64")
        scales = jnp.arange(1.0, 4.0)
        return jnp.sum(root(lambda x: x * x - a * scales, start, linear_solver=solver))

    def own(a: Array) -> Array:
        def solver(matvec: Fun, b: Array) -> Any:
            nearby = lambda x: x / (1 + a * a)  # noqa: E731
            return linear_solve(matvec, b, method="gmres", preconditioner=nearby)

        return find(a, solver)

    total = sum(np.sqrt([1.0, 2.0, 3.0]))
    a = double(2.0)
    close(own(a), total * np.sqrt(2))
    for f in (own, jit(own)):
        close(grad(f)(a), total / 2 / np.sqrt(2))
        close(grad(grad(f))(a), -total / 4 / 2**1.5)


# Mistakes


def wrong(*_: Any) -> Array:
    return jnp.zeros(3)


MISTAKES: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "residual": (lambda: root(wrong, jnp.zeros(2)), r"of type float32\[2\], an array of its shape"),
    "structure": (lambda: root(lambda x: (x, x), 1.0), "as many equations as unknowns"),
    "no guess": (lambda: root(jnp.cos), "root needs x0"),
    "no bracket": (lambda: root(jnp.cos, 1.0, method="bisection"), "needs bracket"),
    "both": (lambda: root(jnp.cos, 1.0, bracket=(0, 1), method="newton"), "no bracket"),
    "vectors": (lambda: root(jnp.cos, bracket=(jnp.zeros(2), 1.0)), "must be scalars"),
    "sign": (lambda: root(jnp.cosh, bracket=(-1.0, 1.0)), "is positive at both ends"),
    "method": (lambda: root(jnp.cos, 1.0, method=unchecked("secant")), "method of root|Literal"),
    "mixed": (lambda: root(lambda x: x, (1.0, 1j)), "all real or all complex"),
    "nothing": (lambda: root(lambda x: x, ()), "at least one array"),
    "maxiter": (lambda: root(jnp.cos, 1.0, maxiter=0), "maxiter of root must be positive"),
    "solver": (
        lambda: root(jnp.cos, 1.0, linear_solver=unchecked("lu")),
        "linear_solver of root",
    ),
    "fixed point": (lambda: fixed_point(wrong, jnp.zeros(2)), "function of fixed_point"),
    "history": (lambda: fixed_point(jnp.cos, 1.0, history=0), "history of fixed_point"),
    "scalar": (lambda: minimize(lambda x: x, jnp.zeros(2)), "must return a real scalar"),
    "complex": (lambda: minimize(abs, 1j), "x0 of minimize must be real"),
    "square": (lambda: linear_solve(jnp.ones((2, 3)), jnp.ones(2)), "must be a square matrix"),
    "rows": (lambda: linear_solve(jnp.ones((2, 2)), jnp.ones(3)), "must have 2 rows"),
    "tree": (lambda: linear_solve(jnp.ones((2, 2)), (1.0, 1.0)), "must be an array where A"),
    "restart": (lambda: linear_solve(jnp.ones((2, 2)), jnp.ones(2), restart=0), "restart of"),
    "guess": (
        lambda: linear_solve(jnp.ones((2, 2)), jnp.ones(2), method="cg", x0=jnp.ones(3)),
        "x0 of linear_solve must be like b",
    ),
    "matvec": (
        lambda: lax.custom_linear_solve(wrong, jnp.ones(2), lambda matvec, b: b),
        "the matvec of custom_linear_solve",
    ),
    "solve": (
        lambda: lax.custom_linear_solve(lambda x: x, jnp.ones(2), wrong),
        "the solve of custom_linear_solve",
    ),
    "pair": (
        lambda: lax.custom_linear_solve(lambda x: x, jnp.ones(2), lambda m, b: b, has_aux=True),
        "must (return|produce) a pair",
    ),
    "slope": (lambda: odeint(wrong, jnp.ones(2), jnp.arange(2.0)), r"for y0, of type float32\[2\]"),
    "slopes": (lambda: odeint(lambda y, t: (y, y), 1.0, jnp.arange(2.0)), "a tree like y0"),
    "times": (lambda: odeint(lambda y, t: y, 1.0, 1.0), "t of odeint must be a vector"),
    "mxstep": (lambda: odeint(lambda y, t: y, 1.0, jnp.ones(2), mxstep=0), "mxstep of odeint"),
    "rtol": (lambda: odeint(lambda y, t: y, 1.0, jnp.ones(2), rtol=-1.0), "must not be negative"),
}


@pytest.mark.wrong_types
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, message = MISTAKES[name]
    with raises((ArgumentError, ShapeError), match=message):
        call()


def test_a_bracket_without_a_change_of_sign_under_jit() -> None:
    def find(a: Any) -> Any:
        return root(lambda x: x * x - a, bracket=(0.0, 2.0), has_aux=True)

    x, info = jit(find)(double(9.0))
    assert np.isnan(float(x))
    assert not bool(info.converged)
    x, info = vmap(find)(double([9.0, 1.0]))
    assert isinstance(info, Info)
    close(x, [np.nan, 1.0])
    assert np.asarray(info.converged).tolist() == [False, True]


SEVERAL = np.array([1, 0, 1], np.int32)  # an index twice, so that there is no derivative in factors


def test_no_derivative_is_taken_in_what_has_no_tangent() -> None:
    def scaled(x: Array, factors: Array) -> Array:
        return jnp.sin(x).at[SEVERAL].mul(factors)

    def minimum(x: Array, factors: Array) -> Array:
        def energy(z: Array) -> Array:
            return jnp.sum(z * z / 2 - z * scaled(x, factors))

        return jnp.asarray(minimize(energy, x, tol=1e-12))

    def root(x: Array, factors: Array) -> Array:
        def newton(f: Callable[[Array], Array], z: Array) -> Array:
            return z - f(z)

        found = lax.custom_root(
            lambda z: z - scaled(x, factors), jnp.zeros(2), newton, lambda _, y: y
        )
        return jnp.asarray(found)

    x, factors = jnp.array([0.3, 0.5]), jnp.array([1.5, 2.0, 0.5])
    expected = tinyjax.jacfwd(scaled)(x, factors)
    for f in (minimum, tinyjax.jit(minimum), root):
        for jacobian in (tinyjax.jacfwd, tinyjax.jacrev):
            np.testing.assert_allclose(jacobian(f)(x, factors), expected, rtol=1e-6)


def test_numbers_that_begin_take_the_dtype_of_the_equations() -> None:
    """As loops, ``root`` and ``linear_solve`` have it."""

    def newton(f: Any, x: Any) -> Any:
        return lax.fori_loop(0, 30, lambda _, x: x - f(x) / grad(f)(x), x)

    def by_root(a: Any, start: Any) -> Any:
        return lax.custom_root(lambda x: x * x - a, start, newton, lambda g, y: y / g(1.0))

    def by_solving(a: Any, right: Any) -> Any:
        solver = lambda _, b: b / a  # noqa: E731
        return lax.custom_linear_solve(lambda x: a * x, right, solver, symmetric=True)

    a = np.float64(4.0)
    for start in (1.0, 1, np.float64(1.0)):
        for fun, value, slope in ((by_root, 2.0, 0.25), (by_solving, 0.25, -0.0625)):
            for way in (fun, jit(fun, static_argnums=1)):
                found = way(a, start)
                assert found.dtype == np.float64
                np.testing.assert_allclose([found, grad(way)(a, start)], [value, slope], 1e-12)


@tinyjax.custom_jvp
def _product(a: Any, s: Any) -> Any:
    return a * s


_product.defjvps(lambda t, out, a, s: t * s, lambda t, out, a, s: a * t)


@tinyjax.custom_vjp
def _product_in_reverse(a: Any, s: Any) -> Any:
    return a * s


_product_in_reverse.defvjp(
    lambda a, s: (a * s, (a, s)), lambda residuals, ct: (ct * residuals[1], ct * residuals[0])
)


#: Functions of a parameter, of 2.0, and of a Python number that something begins with, of 1.
BEGUN: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "while_loop": lambda a, s: lax.while_loop(
        lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * a), (0, s)
    )[1],
    "fori_loop": lambda a, s: lax.fori_loop(0, 3, lambda i, c: c * a, s),
    "fori_loop to traced ends": lambda a, s: lax.fori_loop(
        0, jnp.asarray(3), lambda i, c: c * a, s
    ),
    "scan": lambda a, s: lax.scan(lambda c, _: (c * a, c), s, None, 3)[1],
    "checkpoints": lambda a, s: lax.scan(lambda c, _: (c * a, None), s, None, 4, checkpoints=2)[0],
    "map": lambda a, s: lax.map(lambda x: x * s, jnp.stack([a, a])),
    "associative_scan": lambda a, s: lax.associative_scan(
        lambda x, y: x + y * s, jnp.stack([a, a])
    ),
    "cond": lambda a, s: lax.cond(True, lambda s: s * a, lambda s: a * s, s),
    "reduce": lambda a, s: lax.reduce(jnp.stack([a, a]), s, lax.add, (0,)),
    "sum": lambda a, s: jnp.sum(jnp.stack([a, a]), initial=s),
    "custom_jvp": _product,
    "custom_vjp": _product_in_reverse,
    "custom_root": lambda a, s: lax.custom_root(
        lambda x: x - a, s, lambda f, x: x - f(x), lambda g, y: y / g(1.0)
    ),
    "custom_linear_solve": lambda a, s: lax.custom_linear_solve(
        lambda x: a * x, s, lambda _, b: b / a, symmetric=True
    ),
}
#: The same of solvers, which compute in float32 at least.
SOLVED: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "root": lambda a, s: implicit.root(lambda x: x * x - a, s),
    "fixed_point": lambda a, s: implicit.fixed_point(lambda x: (x + a / x) / 2, s),
    "minimize": lambda a, s: implicit.minimize(lambda x: (x - a) ** 2, s),
    "odeint": lambda a, s: implicit.odeint(lambda y, t: -a * y, s, jnp.array([0.0, 1.0])),
    "linear_solve": lambda a, s: implicit.linear_solve(lambda x: a * x, s),
    "cg": lambda a, s: cg(lambda x: a * x, s)[0],
    "bicgstab": lambda a, s: bicgstab(lambda x: a * x, s)[0],
    "gmres": lambda a, s: gmres(lambda x: a * x, s)[0],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*BEGUN, *SOLVED])
def test_a_number_that_begins_follows_the_dtype_of_what_it_meets(name: str) -> None:
    fun = BEGUN.get(name) or SOLVED[name]
    for dtype in ("bfloat16", "float64", "complex128"):
        a = jnp.asarray(2.0).astype(dtype)
        if name in SOLVED and dtype == "bfloat16":
            continue
        if "complex" in dtype and name in ("root", "fixed_point", "minimize"):
            continue  # which are real
        for start in (1, 1.0, 1 + 0j):
            if isinstance(start, complex) and "complex" not in dtype:
                continue
            for way in (fun, jit(fun)):
                found = way(a, start)
                assert found.dtype == dtype
                assert np.all(np.isfinite(np.asarray(found).astype(complex)))
            if "complex" not in dtype:
                slope = grad(lambda a: jnp.sum(fun(a, start)))(a)  # noqa: B023
                assert slope.dtype == dtype


def test_a_sum_of_floats_begins_with_no_complex_number() -> None:
    for reduction in (jnp.sum, jnp.prod, jnp.max):
        with raises(tinyjax.errors.DtypeError, match=r"astype"):
            reduction(jnp.ones(3), initial=1 + 2j)
