"""SciPy's optimisers: their results beside SciPy's own, and the derivatives of these.

Derivatives are held against closed forms, or against differences of problems solved again.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize as theirs

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy.optimize as ours
from raising import raises
from tinyjax.core.jit.function import JitFunction
from tinyjax.core.tracing import staging
from tinyjax.errors import ArgumentError, PlatformError, ShapeError
from tinyjax.scipy.optimize import on_host

H = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
A = np.array([4.0, -1.0, 0.5])
BOX = [(0.0, 1.0), (0.0, None), (None, 1.0)]
#: On a linear equation, above a floor that holds the minimum, and above one that does not.
CONSTRAINTS = (
    {"type": "eq", "fun": lambda x: x.sum() - 1},
    {"type": "ineq", "fun": lambda x: x[1] + 0.3},
    {"type": "ineq", "fun": lambda x: x[0] + 5},
)
FREE = ("CG", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg")
BOUNDED = ("L-BFGS-B", "TNC", "Nelder-Mead", "Powell")
CONSTRAINED = ("SLSQP", "trust-constr", "COBYLA", "COBYQA")
NO_DERIVATIVE = ("Nelder-Mead", "Powell", "COBYLA", "COBYQA")


def quadratic(x: Any, a: Any) -> Any:
    return x @ H @ x / 2 - a @ x


def differences(f: Callable[[Any], Any], x: Any, step: float = 1e-4) -> Any:
    """The Jacobian by central differences."""
    columns = [(f(x + d) - f(x - d)) / (2 * step) for d in step * np.eye(len(x))]
    return np.stack(columns, -1)


def close(actual: Any, expected: Any, tol: float = 1e-6) -> None:
    np.testing.assert_allclose(actual, expected, tol, tol)


def in_all_modes(solution: Callable[[Any], Any], a: Any, jacobian: Any, tol: float = 1e-6) -> None:
    """Hold derivatives of a solution against a Jacobian, in both modes, compiled and mapped."""
    direction = np.cos(np.arange(len(a)))
    value, change = tinyjax.jvp(solution, (a,), (direction,))
    close(change, jacobian @ direction, tol)
    weights = np.arange(1.0, 1 + len(value))
    slope = tinyjax.grad(lambda a: weights @ solution(a))
    close(slope(a), weights @ jacobian, tol)
    close(tinyjax.jit(slope)(a), weights @ jacobian, tol)
    mapped = tinyjax.jit(tinyjax.vmap(slope))(np.stack([a, a]))
    close(mapped, [weights @ jacobian] * 2, tol)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3, always=("CG",))
@pytest.mark.parametrize("method", FREE)
def test_minima(method: str) -> None:
    found = ours.minimize(quadratic, np.zeros(3), (A,), method=method)
    expected = theirs.minimize(
        lambda x: quadratic(x, A),
        np.zeros(3),
        method=method,
        jac=lambda x: H @ x - A,
        hess=None if method == "CG" else lambda x: H,
    )
    close(found.x, expected.x)
    close(found.fun, expected.fun)
    assert bool(found.success)
    in_all_modes(
        lambda a: ours.minimize(quadratic, np.zeros(3), (a,), method=method).x, A, np.linalg.inv(H)
    )


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3, always=("L-BFGS-B", "SLSQP"))
@pytest.mark.parametrize("method", [*BOUNDED, *CONSTRAINED])
def test_bounds_that_hold_a_minimum(method: str) -> None:
    def solution(a: Any) -> Any:  # closes over the argument
        start = np.full(3, 0.5)
        fun = lambda x: quadratic(x, a)  # noqa: E731
        return ours.minimize(fun, start, method=method, bounds=BOX, tol=1e-10).x

    jac = None if method in NO_DERIVATIVE else lambda x: H @ x - A
    expected = theirs.minimize(
        lambda x: quadratic(x, A), np.full(3, 0.5), method=method, bounds=BOX, jac=jac, tol=1e-10
    )
    close(solution(A), expected.x, 1e-5)
    close(solution(A), [1, 0, 0.5], 1e-5)
    in_all_modes(solution, A, np.diag([0.0, 0, 1]), 1e-5)


@pytest.mark.usefixtures("each_tier")
def test_derivatives_in_bounds() -> None:
    def solution(ends: Any) -> Any:
        bounds = [(None, ends[0]), (ends[1], None), (-5, ends[2])]
        return ours.minimize(quadratic, np.zeros(3), (A,), method="L-BFGS-B", bounds=bounds).x

    in_all_modes(solution, np.array([1.0, 0, 3]), np.array([[1.0, 0, 0], [0, 1, 0], [0, -0.5, 0]]))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3, always=("SLSQP", "trust-constr"))
@pytest.mark.parametrize("method", CONSTRAINED)
def test_constraints_that_hold_a_minimum(method: str) -> None:
    def solution(a: Any) -> Any:
        return ours.minimize(
            quadratic, np.zeros(3), (a,), method=method, constraints=CONSTRAINTS, tol=1e-8
        ).x

    close(solution(A), [1.2375, -0.3, 0.0625], 2e-3)
    free = np.array([1.0, 0, -1])  # the direction that is left
    in_all_modes(solution, A, np.outer(free, free) / (free @ H @ free), 1e-5)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("radius", [1.0, 3.0])
def test_a_constraint_that_holds_or_does_not(radius: float) -> None:
    """The nearest point of a disk; the constraint has the radius, and its multiplier."""

    def solution(v: Any) -> Any:
        disk = {"type": "ineq", "fun": lambda x, r: r**2 - x @ x, "args": (v[2],)}
        nearest = lambda x: ((x - v[:2]) ** 2).sum()  # noqa: E731
        return ours.minimize(nearest, np.zeros(2), method="SLSQP", constraints=disk, tol=1e-12).x

    def closed(v: Any) -> Any:
        length = np.sqrt(v[0] ** 2 + v[1] ** 2)
        return v[:2] * min(1, v[2] / length)

    v = np.array([1.0, 2.0, radius])
    close(solution(v), closed(v))
    in_all_modes(solution, v, differences(closed, v))
    curved = tinyjax.jacfwd(tinyjax.jacrev(solution))(v)
    close(curved, differences(lambda v: differences(closed, v), v), 1e-4)


def test_constraints_as_objects() -> None:
    constraints = [
        theirs.NonlinearConstraint(lambda x: jnp.stack([x[0] * x[1], x[2]]), [0.5, 0.1], [2, 0.1]),
        theirs.LinearConstraint([[1, 1, 1]], -np.inf, 3),
    ]
    for method in ("SLSQP", "trust-constr"):
        found = ours.minimize(
            quadratic,
            np.ones(3),
            (A,),
            method=method,
            bounds=theirs.Bounds(0.0, np.array([np.inf, 2.0, 1.0])),
            constraints=constraints,
        )
        close(found.x[0] * found.x[1], 0.5, 1e-3)
        close(found.x[2], 0.1, 1e-3)
        assert bool(found.success)


def test_searches_that_fail() -> None:
    """They say so, and their derivatives are NaN; the other examples are as they are alone."""

    def place(a: Any) -> Any:
        found = ours.minimize(
            lambda x: (a * x**2 - x).sum(), np.ones(2), method="CG", options={"maxiter": 20}
        )
        return found.x[0], found.success

    with np.errstate(all="ignore"):
        slopes, success = tinyjax.vmap(tinyjax.grad(place, has_aux=True))(np.array([1.0, -1.0]))
        _, tangent, _ = tinyjax.jvp(place, (-1.0,), (1.0,), has_aux=True)
    assert success.tolist() == [True, False]
    close(slopes[0], -0.5)
    assert np.isnan(slopes[1])
    assert np.isnan(tangent)


def test_precision_is_double_inside() -> None:
    found = ours.minimize(lambda x: ((x - 0.1) ** 4).sum(), jnp.zeros(2), method="CG", tol=1e-12)
    assert {str(v.dtype) for v in (found.x, found.fun, found.jac)} == {"float32"}
    close(found.x, [0.1] * 2, 1e-3)
    assert ours.minimize(lambda x: x @ x, np.ones(2, int), method="CG").x.dtype == np.float64


@pytest.mark.usefixtures("each_tier")
def test_minima_of_scalars() -> None:
    def lowest(a: Any, **options: Any) -> Any:
        return ours.minimize_scalar(lambda x, a: x**4 / 4 - a * x, args=(a,), **options)

    for options in ({}, {"method": "golden"}, {"bounds": (0, 5)}, {"bracket": (1, 2)}):
        found = lowest(8.0, **options)
        expected = theirs.minimize_scalar(lambda x: x**4 / 4 - 8 * x, **options)
        close(found.x, expected.x)
        assert (int(found.nfev), bool(found.success)) == (expected.nfev, True)
        close(tinyjax.jit(tinyjax.grad(lambda a, o=options: lowest(a, **o).x))(8.0), 1 / 12)
    at_end = tinyjax.grad(lambda end: lowest(8.0, bounds=(0, end)).x)
    close(at_end(1.0), 1)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("method", ["hybr", "lm", "broyden1", "krylov", "df-sane"])
def test_roots(method: str) -> None:
    def solution(a: Any) -> Any:
        equations = lambda x, b: x + 0.1 * jnp.sin(x[::-1]) - a * b  # noqa: E731
        return ours.root(equations, np.zeros(2), (np.ones(2),), method, tol=1e-10)

    a = np.array([1.0, 2.0])
    expected = theirs.root(lambda x: x + 0.1 * np.sin(x[::-1]) - a, np.zeros(2), tol=1e-10)
    close(solution(a).x, expected.x)
    assert bool(solution(a).success)
    close(solution(a).fun, 0)
    slope = np.eye(2) + 0.1 * np.diag(np.cos(expected.x[::-1]))[:, ::-1]
    in_all_modes(lambda a: solution(a).x, a, np.linalg.inv(slope))


def test_roots_that_are_none() -> None:
    found = ours.root(lambda x: x**2 + 1, np.ones((1, 1)))
    assert (bool(found.success), found.x.shape) == (False, (1, 1))
    assert np.isnan(tinyjax.grad(lambda a: ours.root(lambda x: x**2 + a, np.ones(1)).x[0])(1.0))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    ("method", "options"),
    [
        *((m, {"bracket": (0.0, 3.0)}) for m in ("bisect", "brentq", "brenth", "ridder")),
        (None, {"bracket": (0.0, 3.0)}),
        ("toms748", {"bracket": (0.0, 3.0)}),
        (None, {"x0": 1.0}),
        ("newton", {"x0": 1.0}),
        ("halley", {"x0": 1.0}),
        ("secant", {"x0": 1.0, "x1": 1.5}),
    ],
)
def test_roots_of_scalars(method: str | None, options: dict[str, Any]) -> None:
    def solution(a: Any) -> Any:
        return ours.root_scalar(lambda x: x**3 - a, method=method, **options)

    derivatives = {"fprime": lambda x: 3 * x**2, "fprime2": lambda x: 6 * x}
    chosen = method or ("newton" if "x0" in options else "brentq")
    expected = theirs.root_scalar(lambda x: x**3 - 8, method=chosen, **options, **derivatives)
    close(solution(8.0).root, 2)
    assert (int(solution(8.0).iterations), bool(solution(8.0).converged)) == (
        expected.iterations,
        True,
    )
    second = tinyjax.jit(tinyjax.vmap(tinyjax.grad(tinyjax.grad(lambda a: solution(a).root))))
    values = np.array([8.0, 3.0])
    close(second(values), -2 / 9 * values ** (-5 / 3))


TIMES = np.linspace(0, 4, 30)
DATA = 2.5 * np.exp(-1.3 * TIMES) + 0.5 + 0.05 * np.cos(17 * TIMES)


def decay(m: Any) -> Callable[..., Any]:
    return lambda x, a, b, c: a * m.exp(-b * x) + c


FITS: dict[str, dict[str, Any]] = {
    "free": {},
    "trf": {"method": "trf", "p0": np.array([2.0, 1, 0])},
    "deviations": {"sigma": 0.1 + TIMES},
    "covariance": {"sigma": np.diag(0.1 + TIMES) + 0.01, "absolute_sigma": True},
    "bounds": {"bounds": (0.0, [3.0, 1.2, 0.6])},
}


@pytest.mark.parametrize("name", FITS)
def test_fits(name: str) -> None:
    options = FITS[name]

    def solved_again(y: Any) -> Any:
        exact = {"ftol": 1e-14, "xtol": 1e-14, "gtol": 1e-14}
        return theirs.curve_fit(decay(np), TIMES, y, **options, **exact)[0]

    found, covariance = ours.curve_fit(decay(jnp), TIMES, DATA, **options)
    expected, their_covariance = theirs.curve_fit(decay(np), TIMES, DATA, **options)
    close(found, expected, 1e-5)
    close(covariance, their_covariance, 1e-4)
    slopes = tinyjax.jacrev(lambda y: ours.curve_fit(decay(jnp), TIMES, y, **options)[0])(DATA)
    for i in (0, 7):
        step = 1e-3 * np.eye(len(TIMES))[i]
        change = (solved_again(DATA + step) - solved_again(DATA - step)) / 2e-3
        close(slopes[:, i], change, 1e-3)


@pytest.mark.usefixtures("each_tier")
def test_a_line_has_a_closed_form() -> None:
    def fit(y: Any) -> Any:
        return ours.curve_fit(lambda x, slope, level: slope * x + level, TIMES, y)[0]

    matrix = np.stack([TIMES, np.ones_like(TIMES)], 1)
    in_all_modes(fit, DATA, np.linalg.pinv(matrix))

    def variances(y: Any) -> Any:
        line = lambda x, slope, level: slope * x + level  # noqa: E731
        return jnp.diag(ours.curve_fit(line, TIMES, y)[1])

    def closed(y: Any) -> Any:
        rest = y - matrix @ np.linalg.lstsq(matrix, y)[0]
        return np.diag(np.linalg.inv(matrix.T @ matrix)) * (rest @ rest) / (len(y) - 2)

    in_all_modes(variances, DATA, differences(closed, DATA))


def test_fits_without_a_result() -> None:
    bounds = (-np.inf, np.full(3, 9.0))
    results = [ours.curve_fit(decay(jnp), TIMES, DATA, bounds=bounds, max_nfev=2)]
    with pytest.warns(RuntimeWarning, match="Number of calls to function has reached maxfev = 2"):
        results += [ours.curve_fit(decay(jnp), TIMES, DATA, max_nfev=2)]
    assert all(np.isnan(x).all() for result in results for x in result)
    _, covariance = ours.curve_fit(lambda x, a, b: (a + b) * x, TIMES, DATA, np.ones(2))
    assert float(abs(covariance).min()) > 1e6  # the data determine the sum alone


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_losses(loss: Any) -> None:
    data = DATA + np.where(np.arange(30) % 10 == 3, 1.0, 0)  # has outliers

    def solution(y: Any, **exact: Any) -> Any:
        residuals = lambda p, y: decay(jnp)(TIMES, *p) - y  # noqa: E731
        return ours.least_squares(residuals, np.ones(3), loss=loss, f_scale=0.1, args=(y,), **exact)

    found = solution(data)
    expected = theirs.least_squares(
        lambda p: decay(np)(TIMES, *p) - data, np.ones(3), "3-point", loss=loss, f_scale=0.1
    )
    close(found.x, expected.x, 1e-3)
    close(found.cost, expected.cost, 1e-5)
    close(found.fun, expected.fun, 1e-3)
    assert bool(found.success)
    exact = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-12}
    slopes = tinyjax.jacfwd(lambda y: solution(y, **exact).x)(data)
    step = 1e-4 * np.eye(30)[4]
    change = (solution(data + step, **exact).x - solution(data - step, **exact).x) / 2e-4
    close(slopes[:, 4], change, 1e-3)


@pytest.mark.usefixtures("each_tier")
def test_bounds_that_hold_a_fit() -> None:
    def solution(ends: Any) -> Any:
        return ours.least_squares(lambda x: H @ x - A, np.zeros(3), bounds=(-9, ends)).x

    ends = np.array([1.0, 5.0, 5.0])
    close(
        solution(ends), theirs.least_squares(lambda x: H @ x - A, np.zeros(3), bounds=(-9, ends)).x
    )
    free = H[:, 1:]
    slope = np.concatenate([[1.0], -np.linalg.pinv(free) @ H[:, 0]])
    in_all_modes(solution, ends, np.stack([slope, 0 * slope, 0 * slope], 1))


@pytest.mark.usefixtures("each_tier")
def test_unknowns_without_negative_ones() -> None:
    generator = np.random.default_rng(0)
    matrix, right = generator.normal(size=(6, 4)), generator.normal(size=6)
    found, norm = ours.nnls(matrix, right)
    expected, their_norm = theirs.nnls(matrix, right)
    close(found, expected)
    close(norm, their_norm)
    in_all_modes(
        lambda b: ours.nnls(matrix, b)[0],
        right,
        differences(lambda b: theirs.nnls(matrix, b)[0], right),
    )

    def of_row(nnls: Any, a: Any) -> Any:
        return nnls(np.eye(6)[0][:, None] * a + matrix, right)[0]

    slopes = tinyjax.jacrev(lambda a: of_row(ours.nnls, a))(np.zeros(4))
    close(slopes, differences(lambda a: of_row(theirs.nnls, a), np.zeros(4)))
    assert np.isnan(ours.nnls(matrix, right, maxiter=1)[0]).all()


def test_what_is_refused() -> None:
    square = lambda x: x @ x  # noqa: E731
    refused: list[tuple[str, Callable[[], object]]] = [
        ("takes no bounds", lambda: ours.minimize(square, np.ones(2), method="CG", bounds=BOX)),
        (
            "takes no constraints.*slsqp",
            lambda: ours.minimize(square, np.ones(2), method="BFGS", constraints=CONSTRAINTS),
        ),
        ("2 pairs", lambda: ours.minimize(square, np.ones(2), method="TNC", bounds=BOX)),
        (
            "'type', 'eq' or 'ineq'",
            lambda: ours.minimize(square, np.ones(2), method="SLSQP", constraints={"fun": square}),
        ),
        ("vector", lambda: ours.minimize(square, np.ones((2, 2)), method="CG")),
        ("real numbers", lambda: ours.minimize(square, np.ones(2) * 1j, method="CG")),
        ("must return a real scalar", lambda: ours.minimize(lambda x: x, np.ones(2), method="CG")),
        (
            "SciPy refuses what minimize.*bound",
            lambda: ours.minimize(square, np.ones(1), method="TNC", bounds=[(2, 1)]),
        ),
        ("needs a bracket", lambda: ours.root_scalar(lambda x: x)),
        ("different signs", lambda: ours.root_scalar(lambda x: x + 9, bracket=(1, 2))),
        ("must be 'hybr'", lambda: ours.root(lambda x: x, np.ones(2), method="newton")),
        ("how many parameters", lambda: ours.curve_fit(lambda *args: args[0], DATA, DATA)),
        ("like ydata", lambda: ours.curve_fit(lambda x, a: a, DATA, DATA)),
        ("sigma of curve_fit", lambda: ours.curve_fit(decay(jnp), DATA, DATA, sigma=np.ones(2))),
        ("and return a vector", lambda: ours.least_squares(square, np.ones(2))),
        (
            "outside of provided bounds",
            lambda: ours.least_squares(jnp.sin, np.ones(1), bounds=(2, 3)),
        ),
        ("as many equations", lambda: ours.root(lambda x: x[:1], np.ones(2))),
    ]
    with raises(ShapeError, match="as many rows"):
        ours.nnls(np.ones((2, 3)), np.ones(3))
    for message, call in refused:
        with raises(ArgumentError, match=message):
            call()


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with raises(PlatformError, match="pip install scipy"):
        ours.root(lambda x: x, np.ones(2))
    assert bool(ours.minimize(lambda x: x @ x, np.ones(2), method="BFGS").success)


#: What a function closes over, and the test changes.
FACTOR = {"number": 1.0}
ENDS = np.array([1.0, 2.0])


def test_what_a_function_closes_over_is_read_at_each_call() -> None:
    """Programs are compiled once for all equal ones, and none has an old value."""

    def far(x: Any) -> Any:
        return x * FACTOR["number"] - ENDS

    solvers: tuple[Callable[[], Any], ...] = (
        lambda: ours.root(far, jnp.ones(2)).x,
        lambda: ours.least_squares(far, jnp.ones(2)).x,
        lambda: ours.minimize(lambda x: (far(x) ** 2).sum(), jnp.ones(2), method="CG").x,
    )
    for number in (1.0, 2.0, 4.0):
        for size in (1.0, 3.0):
            FACTOR["number"], ENDS[:] = number, (size, 2 * size)
            for solve in solvers:
                close(solve(), ENDS / number, 1e-4)


def test_equal_programs_are_compiled_once() -> None:
    on_host._compiled.cache_clear()
    for rate in (1.0, 2.0, 3.0):
        data = jnp.exp(-rate * jnp.arange(4.0))
        found = ours.curve_fit(lambda t, a: jnp.exp(-a * t), jnp.arange(4.0), data, jnp.ones(1))
        close(found[0], [rate], 1e-4)
    assert on_host._compiled.cache_info().misses == 2  # values with slopes, and the result


def test_repeated_fits_stage_nothing_and_evaluate_few_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit() -> Any:
        return ours.curve_fit(decay(jnp), TIMES, DATA)[0]

    expected = fit()
    for _ in range(100):
        fit()
    monkeypatch.setattr(staging, "stage_call", None)
    calls, call = [0], JitFunction.__call__

    def counted(self: JitFunction[..., Any], *args: Any, **kwargs: Any) -> Any:
        calls[0] += 1
        return call(self, *args, **kwargs)

    monkeypatch.setattr(JitFunction, "__call__", counted)
    monkeypatch.setattr(JitFunction, "_call", None)  # all are evaluated quickly
    np.testing.assert_array_equal(fit(), expected)
    assert calls[0] <= 12  # one for each trial of MINPACK, and one for the result
