"""Minimisation by BFGS and L-BFGS, held against jax's and against known minima."""

from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.optimize as theirs
import numpy as np
import pytest
import scipy.optimize

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy.optimize as ours
from raising import raises
from tinyjax.errors import ArgumentError

Make = Callable[[Any], Callable[[Any], Any]]

FUNCTIONS: dict[str, tuple[Make, list[float]]] = {
    "Himmelblau": (
        lambda m: lambda x: (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2,
        [1.0, 1.0],
    ),
    "Matyas": (
        lambda m: lambda x: 0.26 * (x[0] ** 2 + x[1] ** 2) - 0.48 * x[0] * x[1],
        [1.0, 1.0],
    ),
    "Rosenbrock": (
        lambda m: lambda x: m.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
        [0.0, 0.0, 0.0, 0.0],
    ),
    "eggholder": (
        lambda m: (
            lambda x: (
                -(x[1] + 47) * m.sin(m.sqrt(m.abs(x[0] / 2 + x[1] + 47)))
                - x[0] * m.sin(m.sqrt(m.abs(x[0] - (x[1] + 47))))
            )
        ),
        [10.0, 10.0],
    ),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_minima_are_those_of_jax(name: str) -> None:
    make, start = FUNCTIONS[name]
    x0 = np.array(start)
    with jax.enable_x64(True):
        expected = theirs.minimize(make(jax.numpy), jax.numpy.asarray(x0), method="BFGS")
        place, least = np.asarray(expected.x), float(expected.fun)
    for run in (lambda f: f, tinyjax.jit):
        found = run(lambda x: ours.minimize(make(tinyjax.numpy), x, method="bfgs"))(x0)
        assert bool(found.success)
        assert int(found.status) == 0
        np.testing.assert_allclose(found.x, place, atol=1e-5)
        np.testing.assert_allclose(found.fun, least, atol=1e-9)
        assert float(np.abs(found.jac).max()) < 1e-5
        assert int(found.nit) <= int(found.nfev) <= 3 * int(expected.nfev)


LIMITED = "l-bfgs-experimental-do-not-rely-on-this"


@pytest.mark.parametrize("method", ["BFGS", LIMITED, "L-BFGS-B", "CG"])
def test_a_start_of_float32_and_data_of_float64_give_float32(method: str) -> None:
    x, y = np.linspace(0.0, 1.0, 5), np.linspace(0.0, 1.0, 5) ** 2
    result = ours.minimize(
        lambda line: jnp.sum((line[0] * x + line[1] - y) ** 2), jnp.array([0.5, 0.2]), method=method
    )
    assert result.x.dtype == np.float32
    np.testing.assert_allclose(result.x, np.polyfit(x, y, 1), atol=1e-5)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_limited_memory_finds_minima(name: str) -> None:
    make, start = FUNCTIONS[name]
    x0, options = np.array(start), {"ftol": 0.0, "gtol": 1e-6, "maxcor": 3}

    def run(x: Any) -> ours.OptimizeResults:
        return ours.minimize(make(tinyjax.numpy), x, method=LIMITED, options=options)

    found = run(x0)
    assert found.hess_inv is None
    assert (bool(found.success), int(found.status)) == (True, 0)
    expected = scipy.optimize.minimize(make(np), found.x, method="BFGS", tol=1e-5)
    np.testing.assert_allclose(found.fun, expected.fun, atol=1e-9)
    if name == "Matyas":
        mapped = tinyjax.jit(tinyjax.vmap(run))(np.stack([x0, -x0]))
        np.testing.assert_allclose(mapped.x, [found.x, -found.x], 1e-6, 1e-5)


def test_limited_memory_stops_as_it_is_told() -> None:
    make, start = FUNCTIONS["Rosenbrock"]
    for options, status in (({"maxiter": 2}, 1), ({"maxfun": 9}, 2), ({"ftol": 0.5}, 4)):
        found = ours.minimize(make(tinyjax.numpy), np.array(start), method=LIMITED, options=options)
        assert (bool(found.success), int(found.status)) == (False, status)
    many = np.linspace(1, 50, 400)
    quadratic = ours.minimize(lambda x: (many * (x - 1) ** 2).sum(), np.zeros(400), method=LIMITED)
    np.testing.assert_allclose(quadratic.x, np.ones(400), atol=1e-4)
    assert int(quadratic.nit) < 100


def test_the_inverse_hessian_of_a_quadratic() -> None:
    a = np.array([[3.0, 1.0], [1.0, 2.0]])
    found = ours.minimize(lambda x: x @ a @ x / 2, np.array([2.0, -1.0]), method="BFGS", tol=1e-8)
    np.testing.assert_allclose(found.x, [0, 0], atol=1e-6)
    assert found.hess_inv is not None
    np.testing.assert_allclose(found.hess_inv, np.linalg.inv(a), rtol=0.05)


def test_many_minima_at_once() -> None:
    centres = np.arange(6.0).reshape(3, 2)
    found = tinyjax.vmap(
        lambda c: ours.minimize(lambda x, c: ((x - c) ** 4).sum(), np.zeros(2), (c,), method="BFGS")
    )(centres)
    np.testing.assert_allclose(found.x, centres, atol=0.1)


def test_where_it_stops() -> None:
    make, start = FUNCTIONS["Rosenbrock"]
    f, x0 = make(tinyjax.numpy), np.array(start)
    found = ours.minimize(f, x0, method="BFGS", options={"maxiter": 2})
    assert (int(found.nit), bool(found.success), int(found.status)) == (2, False, 1)
    at_minimum = ours.minimize(f, np.ones(4), method="BFGS")
    assert (int(at_minimum.nit), bool(at_minimum.success)) == (0, True)


@pytest.mark.parametrize("method", ["BFGS", "l-bfgs-experimental-do-not-rely-on-this"])
def test_minima_over_complex_numbers(method: str) -> None:
    """Over the parts, as SciPy finds it when given them."""

    def of_parts(x: Any, y: Any) -> Any:
        return ((x - 1) ** 2 + 3 * (y + 2) ** 2 + x * y).sum() + (x[0] - y[1]) ** 2

    with tinyjax.default_dtypes("float64"):
        found = ours.minimize(
            lambda z: of_parts(z.real, z.imag), np.array([1 + 2j, 3.0]), method=method
        )
    expected = scipy.optimize.minimize(lambda v: of_parts(v[:2], v[2:]), np.zeros(4))
    np.testing.assert_allclose(found.x, expected.x[:2] + 1j * expected.x[2:], 1e-5, 1e-5)
    assert bool(found.success)
    assert found.jac.dtype == found.x.dtype == np.complex128


def test_what_is_refused() -> None:
    with raises(ArgumentError, match="method of minimize must be .*'adam'"):
        ours.minimize(lambda x: x @ x, np.ones(2), method="adam")
    with raises(ArgumentError, match="vector of floats"):
        ours.minimize(lambda x: x, np.ones((2, 2)), method="BFGS")
    with raises(ArgumentError, match="disp"):
        ours.minimize(lambda x: x @ x, np.ones(2), method="BFGS", options={"disp": True})
    with raises(ArgumentError, match="the function of minimize, must return a real scalar"):
        ours.minimize(lambda x: x, np.ones(2), method="BFGS")
