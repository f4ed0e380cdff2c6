"""Derivatives where a rule has a case of its own: zero factors, singular matrices, equal numbers.

First and second derivatives, in each order of the modes, are those of central differences.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax, nn
from tinyjax.dtypes import HostArray
from tinyjax.scipy import linalg, special

RNG: Final = np.random.default_rng(0)
WEIGHTS: Final = RNG.normal(size=6)
SQUARE: Final = RNG.normal(size=(3, 3))
NEAR_EYE: Final = (np.eye(3) * 2 + 0.1 * SQUARE).ravel()
APART: Final = (np.diag([1.0, 2.0, 4.0]) + 0.1 * SQUARE).ravel()


def weighed(x: Any) -> Any:
    """A sum in which each element has a weight of its own."""
    flat = jnp.ravel(x)
    return (flat * np.resize(WEIGHTS, flat.shape)).sum()


def matrix(x: Any) -> Any:
    return x.reshape(3, 3)


def gram(x: Any) -> Any:
    return matrix(x) @ matrix(x).T


#: A function of a vector, and where it is differentiated.
CASES: Final[dict[str, tuple[Callable[[Any], Any], Any]]] = {
    "cumprod, one zero": (lambda x: weighed(jnp.cumprod(x)), [1.5, 0.0, 2.0, -1.0, 0.5]),
    "cumprod, two zeros": (lambda x: weighed(jnp.cumprod(x)), [1.5, 0.0, 2.0, 0.0, 0.5]),
    "reverse cumprod, two zeros": (
        lambda x: weighed(lax.cumprod(x, reverse=True)),
        [1.5, 0.0, 2.0, 0.0, 0.5],
    ),
    "prod, one zero": (jnp.prod, [1.5, 0.0, 2.0, -1.0, 0.5]),
    "prod, three zeros": (jnp.prod, [0.0, 0.0, 2.0, 0.0, 0.5]),
    "prod of rows": (
        lambda x: (jnp.prod(x.reshape(2, 3), 1) ** 2).sum(),
        [1.5, 0.0, 2.0, -1.0, 0.5, 0.0],
    ),
    "det of the identity": (lambda x: jnp.linalg.det(matrix(x)), np.eye(3).ravel()),
    "det of rank two": (lambda x: jnp.linalg.det(matrix(x)), np.arange(9.0)),
    "det of rank one": (lambda x: jnp.linalg.det(matrix(x)), np.ones(9)),
    "det of zeros": (lambda x: jnp.linalg.det(matrix(x)), np.zeros(9)),
    "slogdet": (lambda x: jnp.linalg.slogdet(matrix(x))[1], np.eye(3).ravel()),
    "solve": (lambda x: weighed(jnp.linalg.solve(matrix(x), SQUARE)), NEAR_EYE),
    "inv": (lambda x: weighed(jnp.linalg.inv(matrix(x))), np.eye(3).ravel()),
    "cholesky": (lambda x: weighed(jnp.linalg.cholesky(gram(x))), NEAR_EYE),
    "cho_solve": (
        lambda x: weighed(linalg.cho_solve(linalg.cho_factor(gram(x)), SQUARE)),
        NEAR_EYE,
    ),
    "householder_product": (
        lambda x: weighed(lax.linalg.householder_product(matrix(x[:9]), x[9:])),
        RNG.normal(size=12),
    ),
    "qr": (lambda x: weighed(jnp.linalg.qr(matrix(x))[0]), NEAR_EYE),
    "lu": (lambda x: weighed(linalg.lu(matrix(x))[2]), NEAR_EYE),
    "eigh": (lambda x: weighed(jnp.linalg.eigh(matrix(x) + matrix(x).T)[1] ** 2), APART),
    "singular values": (
        lambda x: weighed(jnp.linalg.svd(matrix(x), compute_uv=False)),
        APART,
    ),
    "nuclear norm": (lambda x: jnp.linalg.norm(matrix(x), "nuc"), APART),
    "pinv": (lambda x: weighed(jnp.linalg.pinv(x.reshape(2, 3))), RNG.normal(size=6)),
    "lstsq": (
        lambda x: weighed(jnp.linalg.lstsq(x.reshape(3, 2), SQUARE[0])[0]),
        RNG.normal(size=6),
    ),
    "matrix_power": (lambda x: weighed(jnp.linalg.matrix_power(matrix(x), 5)), SQUARE.ravel() / 2),
    "expm of zeros": (lambda x: weighed(linalg.expm(matrix(x))), np.zeros(9)),
    "sqrtm": (lambda x: weighed(linalg.sqrtm(matrix(x)).real), NEAR_EYE),
    "unit triangle": (
        lambda x: weighed(
            linalg.solve_triangular(matrix(x), SQUARE, lower=True, unit_diagonal=True)
        ),
        SQUARE.ravel(),
    ),
    "a float power": (lambda x: weighed(x**2.0), [0.0, 1.0, -1.0, 2.0, -2.0]),
    "a power of zero": (lambda x: weighed(x[:2] ** x[2:]), [1.5, 2.0, 0.0, 3.0]),
    "standardize": (lambda x: weighed(nn.standardize(x)), RNG.normal(size=5)),
    "var of equal numbers": (jnp.var, [1.0, 1.0, 1.0]),
    "logsumexp of equal numbers": (nn.logsumexp, [1.0, 1.0, -3.0]),
    "xlogy at 0": (lambda x: special.xlogy(x[0], x[1]), [0.0, 2.0]),
    "sinc at 0": (lambda x: weighed(jnp.sinc(x)), [0.0, 1.0, 0.5]),
    "hypot at 0": (lambda x: jnp.hypot(x[0], x[1]), [0.0, 2.0]),
    "arctan2 on an axis": (lambda x: jnp.arctan2(x[0], x[1]), [1.0, 0.0]),
    "polyval at 0": (lambda x: jnp.polyval(x[:3], x[3]), [1.0, 0.0, 2.0, 0.0]),
}


def slopes(fun: Callable[[Any], Any], point: HostArray, step: float) -> HostArray:
    ends = [[fun(point + sign * step * one) for sign in (1, -1)] for one in np.eye(point.size)]
    return np.array([(float(a) - float(b)) / (2 * step) for a, b in ends])


def curvatures(fun: Callable[[Any], Any], point: HostArray, step: float) -> HostArray:
    columns = [
        slopes(fun, point + step * one, step) - slopes(fun, point - step * one, step)
        for one in np.eye(point.size)
    ]
    return np.array(columns) / (2 * step)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", CASES)
def test_derivatives_where_rules_have_cases(name: str) -> None:
    fun, place = CASES[name]
    with tinyjax.enable_x64(True):
        at = np.asarray(place, np.float64)
        value = tinyjax.jit(fun)
        first, second = slopes(value, at, 1e-5), curvatures(value, at, 1e-4)
        for found in (tinyjax.grad(fun), tinyjax.jacfwd(fun), tinyjax.jit(tinyjax.grad(fun))):
            np.testing.assert_allclose(found(at), first, 1e-4, 1e-5)
        size = max(1.0, float(np.abs(second).max()))
        forward, reverse = tinyjax.jacfwd, tinyjax.jacrev
        for twice in (
            forward(reverse(fun)),
            reverse(forward(fun)),
            reverse(reverse(fun)),
            forward(forward(fun)),
            tinyjax.jit(tinyjax.hessian(fun)),
        ):
            np.testing.assert_allclose(twice(at), second, 1e-3, 3e-5 * size)
