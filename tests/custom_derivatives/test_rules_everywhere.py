"""Functions with rules, and functions defined by equations, wherever a program may call them.

Each is called from loops, choices, calls and derivatives, and differentiated there by all of the
toolbox. A function with rules is held to one without, of the same derivatives; one that is defined
by an equation to nested ``jvp``.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from tinyjax import autodiff, implicit, jvp, lax
from tinyjax.custom_derivatives import linear_call
from tinyjax.errors import CheckFailedError, DifferentiationError

Fun = Callable[[Any], Any]

X: Final = np.array([1.1, 0.7, 1.6])
V: Final = np.array([0.3, -0.5, 0.7])


def slope(x: Any) -> Any:
    return jnp.cos(x) * x + jnp.sin(x)


def plain(x: Any) -> Any:
    return jnp.sin(x) * x * 2.0


def plain_with_sum(x: Any) -> Any:
    return jnp.sin(x) * x * jnp.sum(x)


def ruled(kind: str, calls_itself: bool, closes: bool) -> Fun:
    """A function ``sin(x) * x * c`` with a rule of its own, where ``c`` may depend on ``x``."""

    def outer(x: Any) -> Any:
        c = jnp.sum(x) if closes else 2.0

        def fun(u: Any) -> Any:
            return jnp.sin(u) * u * c

        f: Any = {
            "jvp": tinyjax.custom_jvp,
            "derivative": tinyjax.custom_derivative,
        }.get(kind, tinyjax.custom_vjp)(fun)
        value = f if calls_itself else fun

        def forward(u: Any) -> Any:
            u = u.value if kind == "zeros" else u
            return value(u), u

        def backward(u: Any, ct: Any) -> Any:
            return (ct * slope(u) * c,)

        if kind == "jvp":
            f.defjvp(lambda primals, ts: (value(*primals), ts[0] * slope(primals[0]) * c))
        elif kind == "derivative":
            f.defderivative(lambda u: (value(u), lambda t: t * slope(u) * c))
        elif kind == "logs":
            f.defvjp_with_logs(forward, lambda u, ct: (backward(u, ct), {"ct": ct}))
        else:
            f.defvjp(forward, backward, symbolic_zeros=kind == "zeros")
        return f(x)

    return outer


def in_containers(x: Any) -> Any:
    """A function of a function and a dict, which gives a dict."""

    @partial(tinyjax.custom_vjp, nondiff_argnums=(0,))
    def f(k: Any, d: Any) -> Any:
        return {"o": k(d["a"]) * d["b"], "n": d["b"] ** 2}

    def backward(k: Any, d: Any, ct: Any) -> Any:
        a = tinyjax.vjp(k, d["a"])[1](ct["o"] * d["b"])[0]
        return ({"a": a, "b": ct["o"] * k(d["a"]) + 2 * d["b"] * ct["n"]},)

    f.defvjp(lambda k, d: (f(k, d), d), backward)
    out = f(jnp.sin, {"a": x, "b": x * x})
    return out["o"] + out["n"]


@tinyjax.custom_vjp
def cube(x: Any) -> Any:
    return x**3


@tinyjax.custom_vjp
def square(x: Any) -> Any:
    return x * x


@tinyjax.custom_jvp
def fourth(x: Any) -> Any:
    return cube(x) * x


@tinyjax.custom_vjp
def looped(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, c: c * x, x)


@tinyjax.custom_batch
def batched(x: Any) -> Any:
    return jnp.sin(x) * x


cube.defvjp(lambda x: (cube(x), x), lambda x, ct: (3 * square(x) * ct,))
square.defvjp(lambda x: (square(x), x), lambda x, ct: (2 * x * ct,))
fourth.defjvp(lambda primals, tangents: (fourth(*primals), tangents[0] * 4 * cube(*primals)))
looped.defvjp(
    lambda x: (looped(x), x),
    lambda x, ct: (lax.scan(lambda c, _: (c * x, None), 4 * ct, None, length=3)[0],),
)
batched.def_vmap(lambda size, mapped, x: (jnp.sin(x) * x, mapped[0]))

#: Functions with rules, and without.
RULES: Final[dict[str, tuple[Fun, Fun]]] = {
    **{
        f"{kind}{', calls itself' * itself}{', closes over x' * closes}": (
            ruled(kind, itself, closes),
            plain_with_sum if closes else plain,
        )
        for kind in ("jvp", "derivative", "vjp", "zeros", "logs")
        for itself in (False, True)
        for closes in (False, True)
    },
    "containers": (in_containers, lambda x: jnp.sin(x) * x * x + x**4),
    "a rule that applies a rule": (cube, lambda x: x**3),
    "rules for both modes": (fourth, lambda x: x**4),
    "rules with loops": (looped, lambda x: x**4),
    "a rule for batches": (batched, lambda x: jnp.sin(x) * x),
    "linear_call": (
        lambda x: linear_call(lambda r, y: y * r, lambda r, y: y * r, x * x, jnp.sin(x)),
        lambda x: x * x * jnp.sin(x),
    ),
}

PLACES: Final[dict[str, Callable[[Fun], Fun]]] = {
    "alone": lambda f: f,
    "composed": lambda f: lambda x: f(jnp.sin(x) + 1.2)[::-1] * x,
    "jit": tinyjax.jit,
    "checkpoint": tinyjax.checkpoint,
    "scan": lambda f: lambda x: lax.scan(lambda c, t: (f(c) * 0.4, c), x, None, 2)[0],
    "closed over by scan": lambda f: lambda x: lax.scan(lambda c, t: (c, f(x) * t), x, X)[1][0],
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 2, lambda _, c: f(c) * 0.3, x),
    "while_loop": lambda f: (
        lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1]) * 0.3), (0, x))[1]
    ),
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, f, lambda x: x, x),
    "vmap of cond": lambda f: (
        lambda x: tinyjax.vmap(lambda b: lax.cond(b, f, lambda x: 2 * x, x))(X > 1)[1]
    ),
    "vmap": lambda f: lambda x: tinyjax.vmap(f)(jnp.stack([x, x * x]))[1],
    "vmap of scan": lambda f: (
        lambda x: tinyjax.vmap(lambda y: lax.scan(lambda c, _: (f(c) * 0.4, c), y, None, 2)[0])(
            jnp.stack([x, x / 2])
        )[1]
    ),
    "map": lambda f: lambda x: lax.map(f, jnp.stack([x, x * x]))[1],
    "gradient": lambda f: tinyjax.grad(lambda x: jnp.sum(f(x) ** 2)),
}


def total(f: Fun) -> Fun:
    return lambda x: jnp.sum(f(x) ** 2)


#: Those that differentiate nothing by forward mode that has a rule for reverse mode alone.
DERIVATIVES: Final[dict[str, Callable[[Fun], Any]]] = {
    "jacrev": lambda f: tinyjax.jacrev(f)(X),
    "jacrev of jacrev": lambda f: tinyjax.jacrev(tinyjax.jacrev(total(f)))(X),
    "jacobian": lambda f: autodiff.jacobian(f)(X),
    "jvp_from_vjp": lambda f: autodiff.jvp_from_vjp(f, (X,), (V,)),
    "laplacian": lambda f: autodiff.laplacian(f)(X),
    "dense laplacian": lambda f: autodiff.laplacian(f, sparse=False)(X),
    "jit of laplacian": lambda f: tinyjax.jit(autodiff.laplacian(f))(X),
    "vmap of laplacian": lambda f: tinyjax.vmap(autodiff.laplacian(f))(np.stack([X, X + 0.1])),
    "divergence": lambda f: autodiff.divergence(f)(X),
    "directions": lambda f: autodiff.directional_derivatives(f, (X,), (V,)),
    "jet": lambda f: autodiff.jet(f, (X,), ((V, V * V, V),)),
    "jit of jet": lambda f: tinyjax.jit(lambda x: autodiff.jet(f, (x,), ((V, V),)))(X),
    "gradient of laplacian": lambda f: tinyjax.grad(
        lambda x: jnp.sum(autodiff.laplacian(f)(x).laplacian)
    )(X),
    "jet of laplacian": lambda f: autodiff.jet(
        lambda x: autodiff.laplacian(f)(x).laplacian, (X,), ((V,),)
    ),
    "laplacian of gradient": lambda f: autodiff.laplacian(tinyjax.grad(total(f)))(X).laplacian,
}
FORWARD: Final[dict[str, Callable[[Fun], Any]]] = {
    "jacfwd": lambda f: tinyjax.jacfwd(f)(X),
    "linearize": lambda f: tinyjax.linearize(f, X)[1](V),
    "vjp_from_jvp": lambda f: autodiff.vjp_from_jvp(f, X)[1](V),
    "gauss_newton_vp": lambda f: autodiff.gauss_newton_vp(f, jnp.sum, (X,), (V,)),
    "hessian": lambda f: tinyjax.hessian(total(f))(X),
    "hvp": lambda f: autodiff.hvp(total(f), (X,), (V,)),
    "laplacian of laplacian": lambda f: autodiff.laplacian(
        lambda x: autodiff.laplacian(f)(x).laplacian
    )(X),
}


def close(got: Any, expected: Any) -> None:
    for a, b in zip(tinyjax.tree.leaves(got), tinyjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, 1e-7, 1e-7)


@pytest.mark.sampled(60, 12)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("rule", RULES)
def test_rules_tell_every_derivative_everywhere(rule: str, place: str) -> None:
    with_rules, without = map(PLACES[place], RULES[rule])
    refused: dict[str, str] = {}
    for name, derivative in {**DERIVATIVES, **FORWARD}.items():
        try:
            got = derivative(with_rules)
        except DifferentiationError as error:
            refused[name] = str(error)
        else:
            close(got, derivative(without))
    for name, message in refused.items():
        if "itself, closes over" in rule and "up to order 3" in message:
            continue  # it is staged, as its message says
        assert "forward-mode autodiff (jvp) to a custom_vjp function" in message
        # the pull-back of a loop of unknown length is no program whose pull-back is known
        backwards = name in ("jvp_from_vjp", "laplacian of gradient")
        assert name in FORWARD or (backwards and place == "while_loop")


# Functions that equations define

MATRIX: Final = np.array([[3.0, 0.5, 0.2], [0.3, 4.0, 0.1], [0.2, 0.6, 5.0]])
POSITIVE: Final = MATRIX @ MATRIX.T


def solve_dense(multiply: Fun, b: Any) -> Any:
    return jnp.linalg.solve(tinyjax.jacfwd(multiply)(b), b)


def newton(f: Fun, x: Any) -> Any:
    step: Fun = lambda x: x - jnp.linalg.solve(tinyjax.jacfwd(f)(x), f(x))  # noqa: E731
    return lax.fori_loop(0, 20, lambda _, x: step(x), x)


def linear(symmetric: bool, has_aux: bool) -> Fun:
    def run(x: Any) -> Any:
        matrix = (POSITIVE if symmetric else MATRIX) + jnp.diag(x)

        def solve(multiply: Fun, b: Any) -> Any:
            y = solve_dense(multiply, b)
            return (y, jnp.sum(b)) if has_aux else y

        y = lax.custom_linear_solve(
            lambda v: matrix @ v,
            x * x,
            solve,
            None if symmetric else solve,
            symmetric=symmetric,
            has_aux=has_aux,
        )
        return y[0] if has_aux else y

    return run


def linear_solve(method: Any, x: Any) -> Any:
    matrix = POSITIVE + jnp.diag(x)
    return implicit.linear_solve(lambda v: matrix @ v, x * x, method=method, tol=1e-14)


def fixed_point(method: Any, x: Any) -> Any:
    ones = jnp.ones_like(x)
    return implicit.fixed_point(
        lambda y: jnp.cos(x * y) * 0.3 + 0.1 * jnp.sum(y), ones, method=method
    )


def energy(x: Any) -> Fun:
    return lambda y: jnp.sum(y**4 + (y - x * x) ** 2) + jnp.sum(y) * jnp.sum(x)


EQUATIONS: Final[dict[str, Fun]] = {
    "custom_root": lambda x: lax.custom_root(
        lambda y: y**3 + POSITIVE @ y - x * x, jnp.ones_like(x), newton, solve_dense
    ),
    "custom_root with aux": lambda x: lax.custom_root(
        lambda y: y**3 + 2 * y - x * x,
        jnp.ones_like(x),
        lambda f, y: (newton(f, y), y),
        lambda g, y: y / g(jnp.ones_like(y)),
        has_aux=True,
    )[0],
    "custom_root whose solver closes over x": lambda x: lax.custom_root(
        lambda y: y * y - x,
        jnp.ones_like(x),
        lambda f, _: jnp.sqrt(x),
        lambda g, y: y / (2 * jnp.sqrt(x)),
    ),
    "custom_linear_solve": linear(symmetric=False, has_aux=False),
    "custom_linear_solve, symmetric": linear(symmetric=True, has_aux=False),
    "custom_linear_solve with aux": linear(symmetric=True, has_aux=True),
    **{
        f"linear_solve, {method}": partial(linear_solve, method)
        for method in ("dense", "cg", "gmres", "bicgstab")
    },
    "root of arguments": lambda x: implicit.root(
        lambda y, a: y**3 + POSITIVE @ y - a * a, jnp.ones_like(x), (x,)
    ),
    "root of what it closes over": lambda x: implicit.root(
        lambda y: y**3 + POSITIVE @ y - x * x, jnp.ones_like(x), linear_solver="gmres"
    ),
    "bisection": tinyjax.vmap(
        lambda a: implicit.root(lambda y: y**3 + y - a * a, bracket=(0.0, 20.0))
    ),
    **{
        f"fixed_point, {method}": partial(fixed_point, method)
        for method in ("iteration", "anderson", "newton")
    },
    "minimize": lambda x: implicit.minimize(energy(x), jnp.ones_like(x)),
    "odeint": lambda x: implicit.odeint(
        lambda y, t: jnp.sin(y) * x + t * x * x, x, np.linspace(0.0, 1.0, 3)
    )[-1],
    "odeint of arguments": lambda x: implicit.odeint(
        lambda y, t, a: jnp.sin(y) * a, np.ones(3), np.linspace(0.0, 1.0, 3), x
    )[-1],
    "sqrtm": lambda x: jnp.diag(tinyjax.scipy.linalg.sqrtm(POSITIVE + jnp.diag(x)).real),
    "expm": lambda x: jnp.diag(tinyjax.scipy.linalg.expm(jnp.diag(x) * 0.3)),
}


def nested(f: Fun) -> tuple[Any, list[Any], Any]:
    """The Laplacian, the derivatives along V up to the third, and the divergence, by ``jvp``."""

    def along(f: Fun, v: Any) -> Fun:
        return lambda x: jvp(f, (x,), (v,))[1]

    units = np.eye(len(X))
    firsts = [along(f, e) for e in units]
    laplacian = sum(along(first, e)(X) for first, e in zip(firsts, units, strict=True))
    orders = [f, along(f, V), along(along(f, V), V), along(along(along(f, V), V), V)]
    return laplacian, [g(X) for g in orders], sum(d(X)[i] for i, d in enumerate(firsts))


@pytest.mark.sampled(60, 14)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("equation", EQUATIONS)
def test_equations_have_every_derivative_everywhere(equation: str, place: str) -> None:
    f = PLACES[place](EQUATIONS[equation])
    derivatives, refused = None, ""
    try:
        derivatives = nested(f)
    except DifferentiationError as error:
        refused = str(error)
    if derivatives is None:  # it is staged, as the message says
        assert "closes over x" in equation
        assert "up to order 3" in refused
        return
    laplacian, orders, divergence = derivatives

    def close(got: Any, expected: Any) -> None:
        scale = 1 + float(np.max(np.abs(expected)))
        np.testing.assert_allclose(got, expected, 1e-6, 1e-6 * scale)

    for options in ({}, {"sparse": False}):
        close(autodiff.laplacian(f, **options)(X).laplacian, laplacian)
    close(tinyjax.jit(lambda x: autodiff.laplacian(f)(x).laplacian)(X), laplacian)
    close(autodiff.divergence(f)(X), divergence)
    for got, expected in zip(
        autodiff.directional_derivatives(f, (X,), (V,)), orders[:3], strict=True
    ):
        close(got, expected)
    value, terms = autodiff.jet(f, (X,), ((V, 0 * V, 0 * V),))
    for got, expected in zip((value, *terms), orders, strict=True):
        close(got, expected)


# Programs that solve several equations, drawn

MORE: Final[dict[str, Fun]] = {
    "lstsq": lambda x: jnp.linalg.lstsq(
        jnp.concatenate([MATRIX + jnp.diag(x), x[None]]), jnp.concatenate([x, x[:1] ** 2])
    )[0],
    "least squares": lambda x: implicit.fixed_point(
        lambda y: 0.2 * jnp.linalg.solve(POSITIVE + jnp.diag(jnp.sin(x * y)), x), jnp.ones_like(x)
    ),
    "a root of a root": lambda x: implicit.root(
        lambda y: (
            y**3 + 2 * y - implicit.root(lambda z: z**3 + z - x * y, jnp.ones_like(x)) - x * x
        ),
        jnp.ones_like(x),
    ),
    "a root of a solution": lambda x: implicit.root(
        lambda y: 2 * y + jnp.sin(implicit.odeint(lambda u, t: -u * y, x, np.array([0.0, 0.5]))[1]),
        jnp.zeros_like(x),
    ),
    "odeint in time": lambda x: implicit.odeint(
        lambda y, t: jnp.cos(t) * y, x, jnp.stack([0 * x[0], 0.3 + 0.1 * x[1] ** 2])
    )[1],
}
SOLVED: Final = {**EQUATIONS, **MORE}


def drawn(equations: list[str], places: list[str], joined: str) -> Fun:
    """A function that applies solutions of equations, one after the other, in these places."""

    def apply(x: Any) -> Any:
        first, second = SOLVED[equations[0]], SOLVED[equations[-1]]
        if joined == "composed":
            return second(1.0 + 0.3 * jnp.tanh(first(x))) + 0.1 * x
        return first(x) * jnp.cos(second(x[::-1])) + x

    fun: Fun = apply
    for place in places:
        fun = PLACES[place](fun)
    return fun


def along_a_curve(f: Fun, order: int) -> list[Any]:
    """Derivatives in time of ``f`` along ``X + V t + V**2 t**2 / 2``."""

    def curve(t: Any) -> Any:
        return f(X + V * t + 0.5 * V * V * t * t)

    def derivative(f: Fun) -> Fun:
        return lambda t: jvp(f, (t,), (1.0,))[1]

    derivatives: list[Fun] = [curve]
    for _ in range(order):
        derivatives.append(derivative(derivatives[-1]))
    return [g(jnp.asarray(0.0, "float64")) for g in derivatives]


def check_drawn(f: Fun, way: str) -> None:
    try:
        _check_drawn(f, way)
    except DifferentiationError as error:  # a solver that closes over x says of which order it is
        if "up to order 3" not in str(error):
            raise


def _check_drawn(f: Fun, way: str) -> None:
    def close(got: Any, expected: Any) -> None:
        scale = 1 + float(np.max(np.abs(expected)))
        np.testing.assert_allclose(got, expected, 2e-6, 2e-6 * scale)

    def along(v: Any) -> Fun:
        return lambda x: jvp(f, (x,), (v,))[1]

    units = np.eye(len(X))
    if way == "jet":
        value, terms = autodiff.jet(f, (X,), ((V, V * V, 0 * V),))
        for got, expected in zip((value, *terms), along_a_curve(f, 3), strict=True):
            close(got, expected)
    elif way == "jit of jet":
        _, terms = tinyjax.jit(lambda x: autodiff.jet(f, (x,), ((V, V * V),)))(X)
        close(terms[-1], along_a_curve(f, 2)[-1])
    elif way == "directions":
        got = autodiff.directional_derivatives(f, (X,), (V,))
        for a, b in zip(got, (f(X), along(V)(X), jvp(along(V), (X,), (V,))[1]), strict=True):
            close(a, b)
    elif way == "divergence":
        close(autodiff.divergence(f)(X), sum(along(e)(X)[i] for i, e in enumerate(units)))
    elif way == "reverse":
        columns = np.stack([along(e)(X) for e in units], 1)
        close(tinyjax.jacrev(f)(X), columns)
        close(tinyjax.jit(tinyjax.jacrev(f))(X), columns)
    elif way == "reverse twice":
        energy: Fun = lambda x: jnp.sum(f(x) * jnp.arange(1.0, 4.0))  # noqa: E731
        slope = tinyjax.grad(energy)
        second = tinyjax.grad(lambda x: jnp.sum(slope(x) * V))
        firsts = [lambda x, e=e: jvp(energy, (x,), (e,))[1] for e in units]
        close(second(X), np.stack([jvp(first, (X,), (V,))[1] for first in firsts]))
    else:
        expected = sum(jvp(along(e), (X,), (e,))[1] for e in units)
        whole = autodiff.laplacian(f, sparse=way != "dense laplacian")
        run = tinyjax.jit(whole) if way == "jit of laplacian" else whole
        close(run(X).laplacian, expected)


WAYS: Final = (
    *("jet", "jit of jet", "directions", "divergence", "reverse", "reverse twice"),
    *("laplacian", "dense laplacian", "jit of laplacian"),
)
DRAWN: Final = st.tuples(
    st.lists(st.sampled_from(sorted(SOLVED)), min_size=1, max_size=2),
    st.lists(st.sampled_from(sorted(PLACES)), max_size=2),
    st.sampled_from(("composed", "multiplied")),
    st.sampled_from(WAYS),
)


@pytest.mark.slow
@settings(max_examples=3)
@given(DRAWN)
def test_programs_that_solve_equations(case: tuple[list[str], list[str], str, str]) -> None:
    check_drawn(drawn(*case[:3]), case[3])


@pytest.mark.fuzz
@given(DRAWN)
def test_programs_that_solve_equations_at_length(
    case: tuple[list[str], list[str], str, str],
) -> None:
    check_drawn(drawn(*case[:3]), case[3])
    forget_sometimes()


@tinyjax.custom_jvp
def is_near(x: Any, table: Any) -> Any:
    return jnp.any(jnp.abs(x - table) < 0.1)


@is_near.defjvp
def _is_near_jvp(primals: Any, tangents: Any) -> Any:
    near = is_near(*primals)
    tinyjax.error_if(primals[0], near, "no derivative near a number of the table")
    return near, np.zeros((), tinyjax.float0)


TABLE: Final = np.array([0.3, 1.7])
#: Programs that decide by a function whose rule has an effect, and decide nothing else by ``x``.
DECIDING: Final[dict[str, Fun]] = {
    "call": lambda x: jnp.where(is_near(x, TABLE), 2.0, x * x),
    "jit": lambda x: jnp.where(tinyjax.jit(is_near)(x, TABLE), 2.0, x * x),
    "cond": lambda x: lax.cond(x > 0, lambda: is_near(x, TABLE), lambda: False) * 1.0 + x * x,
    "chosen": lambda x: lax.cond(is_near(x, TABLE), lambda: 2.0, lambda: x * x),
    "switch": lambda x: lax.switch(is_near(x, TABLE) * 1, [lambda: x * x, lambda: 2.0]),
    "scan": lambda x: x * x + jnp.sum(lax.map(lambda k: is_near(x, k), TABLE)),
    "fori_loop": lambda x: (
        x * x + lax.fori_loop(0, 2, lambda i, n: n + is_near(x, jnp.asarray(TABLE)[i]), 0)
    ),
    "while_loop": lambda x: (
        x * x
        + lax.while_loop(
            lambda s: jnp.logical_not(s[1]) & (s[0] < 2),
            lambda s: (s[0] + 1, is_near(x, jnp.asarray(TABLE)[s[0]])),
            (0, False),
        )[0]
    ),
    "nested": lambda x: (
        x * x
        + lax.fori_loop(
            0, 1, lambda _, n: lax.fori_loop(0, 2, lambda i, m: m + is_near(x, TABLE[1]), n), 0
        )
    ),
    "checkpoint": tinyjax.checkpoint(lambda x: x * x + is_near(x, TABLE)),
}
DIFFERENTIATED: Final[dict[str, Callable[[Fun], Fun]]] = {
    "grad": tinyjax.grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (1.0,))[1],
    "linearize": lambda f: lambda x: tinyjax.linearize(f, x)[1](1.0),
    "second": lambda f: tinyjax.grad(lambda x: tinyjax.grad(f)(x) * x),
    "mapped": lambda f: lambda x: tinyjax.vmap(tinyjax.grad(f))(jnp.stack([x, 1.0]))[0],
}


@pytest.mark.parametrize("name", DECIDING)
@pytest.mark.parametrize("kind", DIFFERENTIATED)
def test_effects_of_rules(name: str, kind: str) -> None:
    """A rule with an effect has it wherever an operand has a derivative, its result none."""
    derivative = DIFFERENTIATED[kind](DECIDING[name])
    slope = 4 * 1.2 if kind == "second" else 2.4
    for function in (derivative, tinyjax.jit(derivative)):
        np.testing.assert_allclose(function(1.2), slope, rtol=1e-6)
        with pytest.raises(CheckFailedError, match="near a number of the table"):
            np.asarray(function(1.75))
    assert np.isfinite(tinyjax.jit(DECIDING[name])(1.75))
