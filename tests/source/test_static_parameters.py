"""Calls of tinyjax's functions whose literals have to be known: tolerances, lengths and modes."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
import tinyjax.scipy.integrate
import tinyjax.scipy.ndimage
import tinyjax.scipy.signal
from raising import raises
from tinyjax import implicit, lax, nn, scipy, source
from tinyjax.errors import ConcretizationError

X: Final = np.array([0.5, 1.0, 1.5, 2.0])
TIMES: Final = jnp.array([0.0, 1.0])


def decay(y: Any, t: Any) -> Any:
    return -y * y


def ode(x: Any) -> Any:
    return implicit.odeint(decay, x, TIMES, rtol=1e-8)[-1].sum()


def ode_by_taylor(x: Any) -> Any:
    return implicit.odeint(decay, x, TIMES, taylor_order=8, mxstep=100, hmax=0.5)[-1].sum()


def ode_checkpointed(x: Any) -> Any:
    return implicit.odeint(decay, x, TIMES, gradient="checkpointed", checkpoints=8)[-1].sum()


def ode_of_scipy(x: Any) -> Any:
    return scipy.integrate.odeint(decay, x, TIMES, rtol=1e-8, hmax=0.5)[-1].sum()


def ivp(x: Any) -> Any:
    return (
        scipy.integrate.solve_ivp(
            lambda t, y: -y * y, (0.0, 1.0), x, method="RK45", rtol=1e-8, max_step=0.5
        )
        .y[:, -1]
        .sum()
    )


def options_in_a_dict(x: Any) -> Any:
    options: Any = {"rtol": 1e-8, "atol": 1e-9}
    for _ in range(2):
        x = implicit.odeint(decay, x, TIMES, **options)[-1]
    return x.sum()


def quad(x: Any) -> Any:
    return scipy.integrate.quad(lambda t: t * x[0], 0.0, 1.0, epsabs=1e-9, limit=20)[0]


def root(x: Any) -> Any:
    return implicit.root(lambda z: z**2 - x, x, tol=1e-6, maxiter=50).sum()


def fixed_point(x: Any) -> Any:
    return implicit.fixed_point(lambda z: 0.5 * jnp.cos(z) + x, x, tol=1e-6, maxiter=99).sum()


def minimize(x: Any) -> Any:
    return implicit.minimize(lambda z: ((z - x) ** 2).sum(), x, maxiter=20, tol=1e-6).sum()


def linear_solve(x: Any) -> Any:
    return implicit.linear_solve(2 * jnp.eye(4), x, method="cg", tol=1e-8, maxiter=30).sum()


def blurred(x: Any) -> Any:
    return scipy.ndimage.gaussian_filter(x, 1.0, truncate=3.0, mode="nearest")[0]


def spectrum(x: Any) -> Any:
    return scipy.signal.welch(jnp.tile(x, 4), fs=2.0, nperseg=8)[1].sum()


def smoothed(x: Any) -> Any:
    return scipy.signal.savgol_filter(jnp.tile(x, 2), 5, 2, delta=0.5)[0]


def scanned(x: Any) -> Any:
    return lax.scan(lambda c, _: (c * 2, None), x, None, length=3)[0].sum()


def modes(x: Any) -> Any:
    padded = jnp.pad(x, (1, 2), mode="edge")
    ends = jnp.linspace(0.0, x[0], num=4).sum()
    return (padded**2).sum() + nn.softmax(x, axis=0)[0] + jnp.linalg.norm(x, ord=3) + ends


FUNCTIONS: Final = [
    *(ode, ode_by_taylor, ode_checkpointed, ode_of_scipy, ivp, options_in_a_dict, quad, root),
    *(fixed_point, minimize, linear_solve, blurred, spectrum, smoothed, scanned, modes),
]


@pytest.mark.parametrize("fun", FUNCTIONS, ids=lambda fun: fun.__name__)
def test_literals_are_known(fun: Callable[[Any], Any]) -> None:
    expected = tinyjax.grad(fun)(jnp.asarray(X))
    for gradient in (
        source.grad(fun),
        tinyjax.grad(source.stage(fun)),
        tinyjax.grad(tinyjax.jit(fun, control_flow="source")),
    ):
        np.testing.assert_allclose(gradient(jnp.asarray(X)), expected, 1e-5, 1e-6)


def test_second_derivatives() -> None:
    twice = source.grad(lambda x: source.grad(ode)(x).sum())
    np.testing.assert_allclose(twice(X), -2 / (1 + X) ** 3, 1e-6)


def tolerance(r: float, x: Any) -> Any:
    return implicit.odeint(decay, x, TIMES, rtol=2 * r + r * r)[-1].sum()


def width(s: float) -> Any:
    return scipy.ndimage.gaussian_filter(X, s)[0]


def test_what_has_to_be_known_has_no_derivative() -> None:
    """It is an error to ask for it, not a zero."""
    np.testing.assert_allclose(source.grad(tolerance, 1)(1e-8, X), 1 / (1 + X) ** 2, 1e-6)
    with raises(ConcretizationError, match="rtol"):
        source.grad(tolerance)(1e-8, X)
    with raises(ConcretizationError, match="rtol"):
        source.grad(source.grad(tolerance))(1e-8, X)
    with raises(ConcretizationError, match="rtol"):
        source.grad(lambda x: source.grad(tolerance)(1e-8, x), 0)(X)
    with raises(ConcretizationError, match="no derivative"):
        source.grad(width)(1.0)


def integral(b: float) -> Any:
    return scipy.integrate.quad(lambda t: t**2, 0.0, b, epsabs=1e-9)[0]


def blurred_by(s: float) -> Any:
    return scipy.ndimage.gaussian_filter(X, s, radius=3)[0]


def test_numbers_beside_tolerances_have_derivatives() -> None:
    assert source.grad(integral)(2.0) == pytest.approx(4.0, 1e-6)
    expected = (blurred_by(1.001) - blurred_by(0.999)) / 0.002
    assert source.grad(blurred_by)(1.0) == pytest.approx(float(expected), 1e-4)
