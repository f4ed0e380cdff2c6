"""Taylor mode: against nested ``jvp``, closed forms and jax's own."""

from collections.abc import Callable
from math import factorial
from typing import Any

import jax
import jax.experimental.jet
import numpy as np
import pytest
import scipy.integrate
import scipy.special
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import grad, jit, jvp, lax, make_jaxpr, nn, tree, vmap
from tinyjax.autodiff import jet
from tinyjax.core.values.array import Array
from tinyjax.errors import ArgumentError, DifferentiationError
from tinyjax.implicit import odeint
from tinyjax.scipy import special

X = np.linspace(0.3, 1.2, 4)
V = np.array([1.0, -0.5, 0.3, 2.0])
ORDER = 4


@tinyjax.custom_jvp
def with_a_rule(x: Array) -> Array:
    if x.sum() > 0:  # on data
        return jnp.log1p(jnp.exp(x))
    return x


@with_a_rule.defjvp
def _with_a_rule_jvp(primals: Any, tangents: Any) -> Any:
    return with_a_rule(*primals), nn.sigmoid(primals[0]) * tangents[0]


def closes_over(x: Array) -> Array:
    @tinyjax.custom_jvp
    def scaled(y: Array) -> Array:
        return y * x.sum()

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * x.sum()))
    return scaled(x**2)


FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "exp, log, quotient": lambda x: jnp.log(1 + jnp.exp(x)) / (1 + x**2),
    "powers": lambda x: x**2.5 + 2.0**x + x**3,
    "special functions": lambda x: special.gammaln(x) * special.erf(x),
    "normalisation": lambda x: nn.logsumexp(x) * nn.softmax(x),
    "products": lambda x: x @ jnp.outer(x, x) @ x,
    "convolution": lambda x: jnp.convolve(x, x),
    "system": lambda x: jnp.linalg.solve(3 * jnp.eye(4) + jnp.outer(x, x), x),
    "kinks": lambda x: jnp.maximum(x, 0.5) * abs(x) * jnp.floor(x + 0.5),
    "order": lambda x: jnp.cumprod(jnp.sort(x**2)),
    "indices": lambda x: x[jnp.argsort(-x)].at[1].multiply(x[2]),
    "fori_loop": lambda x: lax.fori_loop(0, 5, lambda i, c: jnp.sin(c) * x + i, x),
    "scan": lambda x: lax.scan(lambda c, a: (c * a, jnp.sin(c)), x[0], x, reverse=True)[1],
    "while_loop": lambda x: lax.while_loop(
        lambda c: c[0].sum() < 9, lambda c: (c[0] * (1 + x), c[1] + 1), (x, 0)
    )[0],
    "cond": lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
    "choice under vmap": vmap(lambda x: lax.cond(x > 0.7, lambda x: x**3, jnp.exp, x)),
    "jit": jit(lambda x: jnp.sin(x) ** 2),
    "checkpoint": tinyjax.checkpoint(lambda x: jnp.sin(x) ** 2),
    "custom rule": with_a_rule,
    "custom rule of a closure": closes_over,
    "grad": grad(lambda x: jnp.sum(jnp.sin(x) * x**2)),
    "constant": lambda x: 0.0 * x + 1.0,
}


def by_jvp(fun: Callable[[Array], Array], order: int) -> list[Array]:
    along: Any = lambda t: fun(X + t * V)  # noqa: E731
    found = []
    for _ in range(order):
        along = lambda t, f=along: jvp(f, (t,), (1.0,))[1]  # noqa: E731
        found.append(along(0.0))
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_terms_are_those_of_nested_jvp(name: str) -> None:
    fun = FUNCTIONS[name]
    zeros = [np.zeros(4)] * (ORDER - 1)
    value, terms = jet(fun, (X,), ((V, *zeros),))
    np.testing.assert_allclose(value, fun(jnp.asarray(X)), 1e-12)
    for term, expected in zip(terms, by_jvp(fun, ORDER), strict=True):
        np.testing.assert_allclose(term, expected, 1e-8, 1e-8)


@pytest.mark.parametrize("scaled", [True, False])
def test_terms_are_those_of_jax(scaled: bool) -> None:
    def fun(lib: Any) -> Callable[..., Any]:
        return lambda x, y: [lib.sin(x) * lib.exp(y @ y), lib.tanh(y - x) / (1 + x**2)]

    rng = np.random.default_rng(0)
    given = rng.normal(size=(2, 4, 3)).astype(np.float32)
    series = tuple(tuple(column[1:]) for column in given)
    got = jet(fun(jnp), (given[0, 0], given[1, 0]), series, factorial_scaled=scaled)
    expected = jax.experimental.jet.jet(
        fun(jax.numpy), (given[0, 0], given[1, 0]), series, factorial_scaled=scaled
    )
    assert tree.structure(got) == tree.structure(tree.map(np.asarray, expected))
    for x, y in zip(tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, 2e-4, 2e-4)


def test_many_terms_of_elementary_functions() -> None:
    order, x = 12, np.array(0.4)
    line = ((np.array(1.0), *[np.array(0.0)] * (order - 1)),)
    turned = [np.sin(0.4 + k * np.pi / 2) for k in range(1, order + 1)]
    np.testing.assert_allclose(jet(jnp.sin, (x,), line)[1], turned, 1e-12)
    np.testing.assert_allclose(jet(jnp.exp, (x,), line)[1], [np.exp(0.4)] * order, 1e-12)
    logs = [(-1) ** (k - 1) * factorial(k - 1) / 0.4**k for k in range(1, order + 1)]
    np.testing.assert_allclose(jet(jnp.log, (x,), line)[1], logs, 1e-12)
    quotients = jet(lambda x: 1 / (1 - x), (x,), line, factorial_scaled=False)[1]
    np.testing.assert_allclose(quotients, [0.6 ** -(k + 1) for k in range(1, order + 1)], 1e-12)
    gammas = [scipy.special.polygamma(k, 0.4) for k in range(4)]
    np.testing.assert_allclose(jet(special.gammaln, (x,), (line[0][:4],))[1], gammas, 1e-8)


@pytest.mark.parametrize("fun", [jnp.sin, jnp.tanh, lambda x: jnp.exp(x) / (1 + x * x)])
def test_the_cost_grows_with_the_square_of_the_order(fun: Callable[[Array], Array]) -> None:
    def equations(order: int) -> int:
        series = ((1.0, *[0.0] * (order - 1)),)
        return len(make_jaxpr(lambda x: jet(fun, (x,), series))(0.5).jaxpr.eqns)

    few, more, many = (equations(order) for order in (4, 8, 16))
    assert more < 5 * few
    assert many < 5 * more


def test_series_of_loops_are_loops() -> None:
    def loop(x: Array) -> Array:
        return lax.fori_loop(0, 1000, lambda _, c: jnp.sin(c) + x, x)

    jaxpr = make_jaxpr(lambda x: jet(loop, (x,), ((1.0, 0.0, 0.0),)))(0.5).jaxpr
    assert sum(eqn.primitive.name == "scan" for eqn in jaxpr.eqns) == 1


def test_it_composes() -> None:
    def bend(x: Any) -> Any:
        return jet(lambda x: jnp.sin(x) * jnp.exp(x), (x,), ((1.0, 0.0),))[1][1]

    def expected(x: Any) -> Any:  # the second derivative of sin(x) exp(x)
        return 2 * np.cos(x) * np.exp(x)

    slope = 2 * np.exp(X) * (np.cos(X) - np.sin(X))
    np.testing.assert_allclose(vmap(bend)(X), expected(X), 1e-6)
    np.testing.assert_allclose(jit(vmap(bend))(X), expected(X), 1e-6)
    np.testing.assert_allclose(vmap(grad(bend))(X), slope, 1e-6)
    np.testing.assert_allclose(jit(vmap(grad(bend)))(X), slope, 1e-6)
    again = vmap(lambda x: jet(bend, (x,), ((1.0,),))[1][0])(X)
    np.testing.assert_allclose(again, slope, 1e-6)


def test_rules_of_functions_tell_their_terms() -> None:
    """A rule that is not that of the function says what is used."""
    square = tinyjax.custom_jvp(lambda x: x**2)
    square.defjvp(lambda primals, tangents: (square(*primals), 3 * primals[0] * tangents[0]))
    value, terms = jet(square, (2.0,), ((1.0, 0.0),))
    assert (float(value), *map(float, terms)) == (4.0, 6.0, 3.0)


def test_containers_and_integers() -> None:
    def fun(p: dict[str, Array], n: Array) -> dict[str, Array]:
        return {"out": p["a"] * p["b"] ** n, "n": n + 1}

    given = {"a": np.array(2.0), "b": np.array(3.0)}
    terms = ({"a": np.array(1.0), "b": np.array(0.5)}, {"a": np.array(0.0), "b": np.array(0.0)})
    zero = np.zeros((), tinyjax.float0)
    value, series = jet(fun, (given, np.array(2)), (terms, (zero, zero)))
    # (2 + t) (3 + t / 2)^2
    assert (float(value["out"]), int(value["n"])) == (18.0, 3)
    np.testing.assert_allclose(series["out"], [9 + 2 * 3, 2 * 3 + 2 * 0.5], 1e-12)
    assert [x.dtype for x in series["n"]] == [tinyjax.float0] * 2


def test_wrong_arguments() -> None:
    with raises(ArgumentError, match=r"as many terms .* \[1, 2\]"):
        jet(jnp.add, (1.0, 2.0), ((1.0,), (1.0, 2.0)))
    with raises(DifferentiationError, match="the term of order 2 of x of sin"):
        jet(jnp.sin, (1.0,), ((1.0, np.ones(3)),))


@pytest.mark.wrong_types
def test_series_must_be_lists() -> None:
    with raises(ArgumentError, match="must be tuples or lists"):
        jet(jnp.sin, unchecked(1.0), ((1.0,),))


# Differential equations


def pendulum(y: Array, t: Array, g: Array) -> Array:
    return jnp.stack([y[1], -g * jnp.sin(y[0]) + jnp.cos(3 * t)])


def test_odeint_by_taylor_series() -> None:
    """Against SciPy's method of order eight; its derivatives against Dormand and Prince's."""
    times, y0, g = np.linspace(0.0, 2.0, 4), np.array([0.5, -0.3]), np.array(1.3)
    found = scipy.integrate.solve_ivp(
        lambda t, y: np.asarray(pendulum(jnp.asarray(y), jnp.asarray(t), jnp.asarray(g))),
        (0, 2),
        y0,
        method="DOP853",
        t_eval=times,
        rtol=1e-11,
        atol=1e-12,
    )

    def last(g: Any, gradient: Any = "adjoint", taylor_order: int | None = 9) -> Array:
        states, info = odeint(
            pendulum,
            y0,
            times,
            g,
            rtol=1e-7,
            atol=1e-7,
            gradient=gradient,
            taylor_order=taylor_order,
            has_aux=True,
        )
        np.testing.assert_allclose(lax.stop_gradient(info.residual), 0.0)
        result: Array = states
        return result

    np.testing.assert_allclose(last(g), found.y.T, 1e-5, 1e-6)
    slope = grad(lambda g: last(g, taylor_order=None)[-1].sum())(g)
    for gradient in ("adjoint", "checkpointed"):
        np.testing.assert_allclose(
            grad(lambda g, gradient=gradient: last(g, gradient)[-1].sum())(g), slope, 1e-4
        )
    np.testing.assert_allclose(jvp(lambda g: last(g)[-1].sum(), (g,), (1.0,))[1], slope, 1e-4)


def test_steps_of_high_order_are_few() -> None:
    turning = lambda y, t: jnp.stack([y[1], -y[0]])  # noqa: E731
    times, y0 = np.array([0.0, 10.0]), np.array([1.0, 0.0])
    counts = []
    for order in (8, 12, 20):
        states, info = odeint(
            turning, y0, times, rtol=1e-10, atol=1e-10, taylor_order=order, has_aux=True
        )
        np.testing.assert_allclose(states[-1], [np.cos(10), -np.sin(10)], 1e-9)
        counts.append(int(info.iterations))
    assert counts[0] < 60
    assert counts[2] < 8


def test_taylor_series_of_solutions_at_the_edges() -> None:
    half, after = odeint(lambda y, t: y**2, 1.0, np.array([0.0, 0.5, 2.0]), taylor_order=8)[1:]
    np.testing.assert_allclose(half, 2.0, 1e-5)
    assert np.isnan(after)  # a pole at 1 lies between
    back = odeint(lambda y, t: t**2, 1.0, np.array([2.0, 0.5, 0.5, 0.0]), taylor_order=5)
    np.testing.assert_allclose(back, [1.0, -1.625, -1.625, -5 / 3], 1e-6)
    still = odeint(lambda y, t: jnp.full((), 3.0), 1.0, np.array([0.0, 2.0]), taylor_order=2)
    np.testing.assert_allclose(still, [1.0, 7.0], 1e-6)
    looped = lambda y, t: lax.fori_loop(0, 2, lambda _, c: jnp.sin(c) + t, y)  # noqa: E731
    by_series = odeint(
        looped, np.array(1.0), np.array([0.0, 1.0]), taylor_order=4, rtol=1e-5, atol=1e-5
    )
    np.testing.assert_allclose(by_series, odeint(looped, np.array(1.0), np.array([0.0, 1.0])), 1e-4)
    with raises(ArgumentError, match="taylor_order of odeint must be at least two"):
        odeint(lambda y, t: y, 1.0, np.array([0.0, 1.0]), taylor_order=1)
