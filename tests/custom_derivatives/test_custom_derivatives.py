"""Functions with their own rules, through every transformation, against jax where it has them."""

import itertools
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as xnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    custom_batch,
    custom_derivative,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.config import scoped
from tinyjax.core.tracing.jaxpr import typecheck_jaxpr
from tinyjax.custom_derivatives import SymbolicZero
from tinyjax.errors import ArgumentError, DifferentiationError, TinyjaxError

Fun = Callable[..., Any]


def close(got: Any, expected: Any) -> None:
    got = tinyjax.tree.leaves(got)
    expected = tinyjax.tree.leaves(expected, lambda x: isinstance(x, list))
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), 1e-5, 1e-6)


# The same program for both libraries: rules that are off by a factor, so that one sees their use.


def programs(lib: Any, xp: Any) -> dict[str, Fun]:
    own_jvp: Callable[[Fun], Any] = lib.custom_jvp
    own_vjp: Callable[[Fun], Any] = lib.custom_vjp

    @own_jvp
    def forward(x: Any, y: Any) -> Any:
        return {"a": xp.sin(x) * y, "b": (x, xp.cos(y))}

    def _forward_rule(primals: Any, tangents: Any) -> Any:
        (x, y), (s, t) = primals, tangents
        out = forward(x, y)
        return out, {
            "a": 2.0 * xp.cos(x) * y * s + xp.sin(x) * t,
            "b": (3.0 * s, -xp.sin(y) * t * 2.0),
        }

    forward.defjvp(_forward_rule)

    @own_vjp
    def reverse(x: Any, y: Any) -> Any:
        return xp.sin(x) * xp.exp(y), x * y

    def fwd(x: Any, y: Any) -> Any:
        return (xp.sin(x) * xp.exp(y), x * y), {"x": x, "rest": (xp.exp(y), None)}

    def bwd(saved: Any, cts: Any) -> Any:
        a, b = cts
        x, (e, _) = saved["x"], saved["rest"]
        return a * xp.cos(x) * e * 5.0 + b, None

    reverse.defvjp(fwd, bwd)

    @own_jvp
    def outer(x: Any) -> Any:
        return reverse(x, x * x)[0] * 2.0

    def _outer_rule(primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return outer(x), t * reverse(x, x)[1] * outer(x)

    outer.defjvp(_outer_rule)

    def total(tree: Any) -> Any:
        leaves = jax.tree.leaves(tree) if lib is jax else tinyjax.tree.leaves(tree)
        return sum(xp.sum(leaf) for leaf in leaves)

    return {
        "forward": lambda x, y: total(forward(x, y)),
        "forward, twice": lambda x, y: total(forward(*forward(x, y)["b"])),
        "reverse": lambda x, y: total(reverse(x, y)),
        "nested": lambda x, y: total(outer(x)) * total(reverse(y, x)),
        "jitted": lambda x, y: total(lib.jit(forward)(x, lib.jit(reverse)(x, y)[0])),
        "mapped": lambda x, y: total(lib.vmap(forward, (0, None))(xp.stack([x, 2 * x]), y)),
        "mapped, reverse": lambda x, y: total(lib.vmap(reverse, (0, None))(xp.stack([x, y]), y)),
        "mapped, nested": lambda x, y: total(lib.vmap(lib.jit(outer))(xp.stack([x, y]))),
    }


OURS, THEIRS = programs(tinyjax, jnp), programs(jax, xnp)


def orders(lib: Any, fun: Fun) -> list[Fun]:
    both = (0, 1)
    g = lib.grad(fun, both)
    return [
        fun,
        g,
        lib.jit(g),
        lib.grad(lib.jit(fun), both),
        lib.jit(lib.grad(lambda x, y: g(x, y)[0] * g(x, y)[1], both)),
        lib.grad(lambda x, y: lib.jit(g)(x, y)[0] * 2.0, both),
        lib.jacrev(g, both),
    ]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OURS)
def test_as_jax_does(name: str) -> None:
    x, y = np.float32(0.7), np.float32(-0.4)
    xs = np.array([0.7, 0.2, -0.3], np.float32)
    for ours, theirs in zip(orders(tinyjax, OURS[name]), orders(jax, THEIRS[name]), strict=True):
        close(ours(x, y), jax.jit(theirs)(x, y))
    g, h = grad(OURS[name], (0, 1)), jax.grad(THEIRS[name], (0, 1))
    close(vmap(g, (0, None))(xs, y), jax.jit(jax.vmap(h, (0, None)))(xs, y))
    close(jit(vmap(jit(g), (None, 0)))(x, xs), jax.jit(jax.vmap(h, (None, 0)))(x, xs))


def programs_without_cotangents(lib: Any, calls: list[str]) -> dict[str, Fun]:
    """Rules whose results show that they were called, though a later rule returned None."""
    own: Callable[[Fun], Any] = lib.custom_vjp
    tree = jax.tree if lib is jax else tinyjax.tree

    def rule(name: str, symbolic_zeros: bool = False) -> Any:
        def forward(x: Any) -> Any:
            x = x.value if symbolic_zeros else x
            return (x * 2.0, 3), x

        def backward(x: Any, cts: Any) -> Any:
            ct, of_int = cts
            calls.append(f"{name} {type(ct).__name__ == 'SymbolicZero'} {of_int.dtype}")
            return (x + (0.0 if type(ct).__name__ == "SymbolicZero" else ct),)

        f = own(lambda x: (x * 2.0, 3))
        f.defvjp(forward, backward, symbolic_zeros=symbolic_zeros)

        def first(x: Any) -> Any:
            return f(x)[0]

        return first

    f, g = rule("f"), rule("g", symbolic_zeros=True)
    none, left = own(lambda x: x * 1.0), own(lambda x, y: x * y)
    none.defvjp(lambda x: (x * 1.0, None), lambda _, ct: (None,))
    left.defvjp(lambda x, y: (x * y, y), lambda y, ct: (ct * y, None))
    jit, scan, remat = lib.jit, lib.lax.scan, lib.checkpoint

    def both(x: Any) -> Any:
        return f(x), lib.numpy.sin(g(x))

    def loop(body: Fun, start: Any) -> Any:
        return scan(lambda c, _: (body(c), None), start, None, length=2)[0]

    def choice(x: Any) -> Any:
        return jit(lambda x: lib.lax.cond(x > 0, both, lambda x: (x, x), x))(x)

    return {
        "at once": lambda x: none(lib.numpy.log(f(x) * 0.0)) + left(x, g(x)),
        "called": lambda x: none(jit(f)(x)) + none(remat(f)(x)),  # not called: no cotangent at all
        "of two": lambda x: left(*jit(both)(x)) + left(*remat(both)(x)),
        "of a choice": lambda x: left(*choice(x)),
        "unused": lambda x: jit(both)(x)[0] + loop(lambda c: (g(c[0]), c[1]), (x, x))[1],
        "inside": lambda x: x + jit(none)(f(x)) + jit(lambda x, y: (x, none(y)))(x, g(x))[0],
        # not called: programs do not use it
        "ignored": lambda x: jit(lambda x, y: x * 2.0)(x, f(x)) + remat(lambda x, y: x)(x, g(x)),
        "nested": lambda x: left(*jit(lambda x: jit(lambda x: (x, f(x)))(x * 1.0))(x)),
        "in a loop": lambda x: loop(lambda c: c + none(f(c)), x) + none(loop(g, x)),
        "mapped": lambda x: tree.leaves(lib.vmap(lambda x: none(f(none(g(x)))))(x[None]))[0][0],
    }


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", programs_without_cotangents(tinyjax, []))
def test_rules_are_asked_where_a_later_one_returned_none(name: str) -> None:
    ours: list[str] = []
    theirs: list[str] = []
    fun = programs_without_cotangents(tinyjax, ours)[name]
    expected = jax.jit(jax.grad(programs_without_cotangents(jax, theirs)[name]))(np.float32(1.5))
    mapped = vmap(grad(fun))
    orders = (grad(fun), jit(grad(fun)), grad(jit(fun)), lambda x: mapped(x[None])[0])
    for reverse in orders:
        close(reverse(np.float32(1.5)), expected)
    assert set(ours) >= set(theirs)  # vmap asks rules once more, with cotangents


def test_one_of_several_tangents_is_a_symbolic_zero() -> None:
    @tinyjax.custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y

    f.defjvps(
        lambda t, out, x, y: t * y,
        lambda t, out, x, y: SymbolicZero.from_primal_value(out),
    )
    assert tinyjax.grad(lambda x: f(x, x))(3.0) == 3


def test_cotangents_that_all_examples_share_add_up() -> None:
    """A rule's cotangent that depends on no example, of an operand that all have in common."""

    @tinyjax.custom_vjp
    def f(x: Any, w: Any) -> Any:
        return x * w, x + w

    f.defvjp(lambda x, w: (f(x, w), x), lambda x, cts: (x * cts[0] + cts[1], 2.0))
    xs, w = jnp.arange(5.0), jnp.asarray(2.0)

    def pushed(tangent: Any) -> Any:
        along = lambda x: tinyjax.jvp(lambda w: f(x, w), (w,), (tangent,))[1]  # noqa: E731
        return tinyjax.vmap(along)(xs)

    (found,) = tinyjax.linear_transpose(pushed, w)((jnp.ones(5), jnp.ones(5)))
    assert float(found) == 10


@pytest.mark.usefixtures("each_tier")
def test_python_control_flow() -> None:
    calls = []

    @custom_jvp
    def f(x: Any, n: Any) -> Any:
        while x > 1.0:
            x = x / 2.0
        return x

    @f.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        (x, n), (t, t_n) = primals, tangents
        calls.append(t_n.dtype)
        return f(x, n), t * (2.0 if x > 3.0 else 7.0)

    assert float(f(5.0, 1)) == 0.625
    assert float(grad(f)(5.0, 1)) == 2.0
    assert float(grad(f)(2.0, 1)) == 7.0
    assert float(jvp(partial(f, n=2), (2.0,), (1.0,))[1]) == 7.0
    assert float(vmap(lambda n: grad(f)(2.0, n))(jnp.arange(2))[1]) == 7.0
    assert set(calls) == {tinyjax.float0}
    with pytest.raises(tinyjax.errors.ConcretizationError):
        jit(f)(2.0, 1)


@pytest.mark.usefixtures("each_tier")
def test_keywords_defaults_methods_and_static_arguments() -> None:
    class Scale:
        def __init__(self, factor: float) -> None:
            self.factor = factor

        @partial(custom_derivative, nondiff_argnums=(0, 2))
        def __call__(self, x: Any, mode: str = "sin") -> Any:
            return getattr(jnp, mode)(x) * self.factor

        @__call__.defderivative
        def rule(self, x: Any, mode: str) -> Any:
            return self(x, mode), lambda t: t * (self.factor + (mode == "cos"))

    assert float(grad(Scale(4.0))(1.0)) == 4.0
    assert float(grad(lambda x: Scale(4.0)(mode="cos", x=x))(1.0)) == 5.0
    assert float(jit(grad(lambda x: Scale(4.0)(x=x)))(1.0)) == 4.0

    @partial(custom_vjp, nondiff_argnums=(0,))
    def apply(fun: Fun, x: Any) -> Any:
        return fun(x)

    apply.defvjp(lambda fun, x: (fun(x), x), lambda fun, x, ct: (ct * fun(x) * 2.0,))
    close(jit(grad(partial(apply, jnp.sin)))(1.0), 2.0 * np.sin(1.0))

    @partial(custom_jvp, nondiff_argnums=(0,))
    def apply2(fun: Fun, x: Any) -> Any:
        return fun(x)

    @apply2.defjvp
    def _rule(fun: Fun, primals: Any, tangents: Any) -> Any:
        return apply2(fun, *primals), tangents[0] * fun(primals[0])

    close(jit(grad(partial(apply2, jnp.sin)))(1.0), np.sin(1.0))
    # a function given as an argument may close over what is traced
    g = jit(lambda x, c: apply2(lambda v: v * c, x))
    close(grad(g, (0, 1))(2.0, 3.0), (6.0, 2.0))
    close(grad(lambda c: vmap(partial(g, c=c))(jnp.array([2.0, 1.0])).sum())(3.0), 3.0)


def test_defjvps() -> None:
    @custom_jvp
    def f(x: Any, y: Any, n: Any) -> Any:
        return x["v"] * y + n

    f.defjvps(lambda t, out, x, y, n: t["v"] * out, lambda t, out, x, y, n: t * 7.0, None)
    gx, gy = grad(f, (0, 1))({"v": 2.0}, 3.0, 1)
    assert (float(gx["v"]), float(gy)) == (7.0, 7.0)
    assert float(grad(f, 1)({"v": 2.0}, 3.0, 1)) == 7.0
    assert float(grad(lambda n: f({"v": 2.0}, 3.0, n))(1.0)) == 0.0


def test_symbolic_zeros() -> None:
    seen = []

    @custom_jvp
    def f(x: Any, y: Any) -> Any:
        return x * y, y

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([type(t) is SymbolicZero for t in tangents])
        return f(*primals), (tangents[0] * 4.0, tangents[1])

    f.defjvp(rule, symbolic_zeros=True)
    _, tangents = jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))
    assert [float(t) for t in tangents] == [4.0, 0.0]
    assert seen == [[False, True]]


# Closed-over tracers: the derivative with respect to them is that of the function's operations.


def closing(kind: str) -> Fun:
    """A product of x and c, whose rule says 2 c for x."""

    def f(x: Any, c: Any) -> Any:
        if kind == "custom_derivative":
            k = custom_derivative(lambda x: x * c)
            k.defderivative(lambda x: (k(x), lambda t: 2.0 * t * c))
            return k(x)
        if kind == "custom_jvp":
            h = custom_jvp(lambda x: x * c)
            h.defjvp(lambda p, t: (h(*p), 2.0 * t[0] * c))
            return h(x)
        g = custom_vjp(lambda x: x * c)
        g.defvjp(lambda x: (g(x), c), lambda c, ct: (2.0 * ct * c,))
        return g(x)

    return f


@pytest.mark.usefixtures("each_tier")
def test_a_rule_may_return_what_it_closes_over_as_the_tangent() -> None:
    """It is constant there, and has no tangent of its own."""

    def f(x: Any) -> Any:
        nothing = 0.0 * x
        floor = custom_jvp(jnp.floor)
        floor.defjvp(lambda primals, tangents: (floor(*primals), nothing))
        return floor(x) * x

    close(jvp(f, (2.5,), (1.0,)), (5.0, 2.0))
    for derivative in (grad(f), jit(grad(f)), grad(jit(f))):
        close(derivative(2.5), 2.0)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["custom_derivative", "custom_jvp", "custom_vjp"])
@pytest.mark.parametrize("inner", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["eager", "jit"])
def test_closed_over_tracers(kind: str, inner: Fun, outer: Fun) -> None:
    f = inner(closing(kind))
    x, c = 3.0, 5.0
    cs = jnp.array([5.0, 6.0])
    assert float(outer(f)(x, c)) == 15.0
    close(outer(grad(f))(x, c), 10.0)
    close(outer(grad(f, 1))(x, c), 3.0)
    close(outer(grad(f, (0, 1)))(x, c), (10.0, 3.0))
    close(outer(grad(grad(f), 1))(x, c), 2.0)
    close(outer(vmap(f, (None, 0)))(x, cs), [15.0, 18.0])
    close(outer(vmap(f, (0, None)))(cs, x), [15.0, 18.0])
    close(outer(vmap(grad(f, (0, 1)), (None, 0)))(x, cs), ([10.0, 12.0], [3.0, 3.0]))
    total = lambda x, c: jnp.sum(vmap(f, (None, 0))(x, c))  # noqa: E731
    close(outer(grad(total, (0, 1)))(x, cs), (22.0, [3.0, 3.0]))
    close(outer(vmap(vmap(grad(f), (None, 0)), (0, None)))(cs, cs), [[10, 12], [10, 12]])
    if kind != "custom_vjp":
        close(outer(lambda x, c: jvp(f, (x, c), (1.0, 1.0)))(x, c), (15.0, 13.0))
        pair = lambda v: f(v[0], v[1])  # noqa: E731
        modes: list[Any] = [jacfwd, jacrev]
        for first, second in itertools.product(modes, repeat=2):
            close(outer(first(second(pair)))(jnp.array([x, c])), [[0.0, 2.0], [1.0, 0.0]])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.slow
def test_rules_hold_under_any_order_of_transformations() -> None:
    f = custom_derivative(jnp.sin)
    f.defderivative(lambda x: (f(x), lambda t: 3.0 * jnp.cos(x) * t))
    first, second = 3.0 * np.cos(0.5), -3.0 * np.sin(0.5)
    third = -3.0 * np.cos(0.5)  # the rule's cos has an ordinary derivative
    ways: list[Fun] = [grad, jacfwd, jacrev, lambda f: jit(grad(f)), lambda f: grad(jit(f))]
    for a, b in itertools.product(ways, repeat=2):
        close(a(f)(0.5), first)
        close(a(b(f))(0.5), second)
    for ways_thrice in itertools.product((ways[0], ways[1], ways[3]), repeat=3):
        g = f
        for way in ways_thrice:
            g = way(g)
        close(g(0.5), third)
    value, tangent_map = linearize(jit(f), 0.5)
    close((value, tangent_map(2.0)), (np.sin(0.5), 2.0 * first))
    close(vjp(vmap(f), jnp.full(2, 0.5))[1](jnp.ones(2)), ([first, first],))
    close(hessian(lambda v: vmap(f)(v).sum())(jnp.full(2, 0.5)), np.eye(2) * second)


def test_a_rule_that_is_nonlinear_in_the_tangents() -> None:
    f = custom_derivative(lambda x: x)
    f.defderivative(lambda x: (x, lambda t: t * t))
    with raises(DifferentiationError, match="not linear"):
        grad(f)(1.0)


@pytest.mark.usefixtures("each_tier")
def test_custom_rules_of_a_tangent_map() -> None:
    """A function with its own rule that is applied to tangents is transposed by its operations."""
    double = custom_derivative(lambda x: 2.0 * x)
    double.defderivative(lambda x: (double(x), double))
    f = custom_derivative(jnp.sin)
    f.defderivative(lambda x: (f(x), lambda t: double(t * jnp.cos(x))))
    for way in (grad, lambda f: jit(grad(f)), lambda f: grad(jit(f)), jacfwd):
        close(way(f)(0.5), 2.0 * np.cos(0.5))
        close(way(grad(f))(0.5), -2.0 * np.sin(0.5))


@pytest.mark.usefixtures("each_tier")
def test_collectives_inside() -> None:
    f = custom_derivative(lambda x: x / lax.psum(x, "i"))
    f.defderivative(lambda x: (f(x), lambda t: t * lax.psum(x, "i")))
    xs = jnp.array([1.0, 3.0])
    close(vmap(f, axis_name="i")(xs), [0.25, 0.75])
    close(vmap(grad(f), axis_name="i")(xs), [4.0, 4.0])
    close(jit(vmap(jit(grad(f)), axis_name="i"))(xs), [4.0, 4.0])


@pytest.mark.usefixtures("each_tier")
def test_a_rule_that_calls_numpy() -> None:
    """A product that NumPy computes, with the product rule given by hand."""

    def numpy_matmul(a: Any, b: Any) -> Any:
        struct = tinyjax.ShapeDtypeStruct((a.shape[0], b.shape[1]), a.dtype)
        return tinyjax.pure_callback(np.matmul, struct, a, b, vmap_method="sequential")

    matmul = custom_jvp(numpy_matmul)

    @matmul.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        (a, b), (s, t) = primals, tangents
        return matmul(a, b), matmul(s, b) + matmul(a, t)

    def ours(a: Any, b: Any) -> Any:
        return matmul(a, b), a * a

    def plain(a: Any, b: Any) -> Any:
        return a @ b, a * a

    rng = np.random.default_rng(0)
    a, b, s, t = (rng.standard_normal((3, 3)).astype(np.float32) for _ in range(4))
    close(jvp(ours, (a, b), (s, t)), jvp(plain, (a, b), (s, t)))
    close(jit(lambda *xs: jvp(ours, xs[:2], xs[2:]))(a, b, s, t), jvp(plain, (a, b), (s, t)))


def closing_twice(c: Any) -> Fun:
    """From x to sin(x) c^2, with 6 c^2 for its derivative in x."""
    f = custom_derivative(lambda x: jnp.sin(x) * c)
    f.defderivative(lambda x: (f(x), lambda t: 2.0 * c * t))
    g = custom_vjp(lambda x: x * c)
    g.defvjp(lambda x: (x * c, c), lambda c, ct: (3.0 * c * ct,))
    return lambda x: g(f(x))


def inside_another(x: Any, c: Any) -> Any:
    h = custom_derivative(lambda x: lax.cond(x > 0.0, closing_twice(c), lambda x: x, x))
    h.defderivative(lambda x: (h(x), lambda t: 6.0 * c * c * t))
    return h(x)


AROUND: dict[str, Fun] = {
    "cond": lambda x, c: lax.cond(x > 0.0, closing_twice(c), lambda x: x, x),
    "scan": lambda x, c: lax.scan(lambda v, _: (closing_twice(c)(v), None), x, None, length=1)[0],
    "fori_loop": lambda x, c: lax.fori_loop(0, 1, lambda _, v: closing_twice(c)(v), x),
    "checkpoint": lambda x, c: tinyjax.checkpoint(lambda c, x: closing_twice(c)(x))(c, x),
    "checkpoint, closing": lambda x, c: tinyjax.checkpoint(closing_twice(c))(x),
    "jit": lambda x, c: jit(jit(closing_twice(c)))(x),
    "custom_derivative": inside_another,
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", AROUND)
def test_inside_what_takes_a_function(name: str) -> None:
    f, x, c = AROUND[name], 0.5, 2.0
    xs, cs = jnp.array([x, x]), jnp.array([c, 1.0])
    close(f(x, c), np.sin(x) * 4.0)
    for one in (grad(f), jit(grad(f)), grad(jit(f))):
        close(one(x, c), 24.0)
    close(vmap(grad(f), (None, 0))(x, cs), [24.0, 6.0])
    close(jit(vmap(grad(f), (0, None)))(xs, c), [24.0, 24.0])
    close(grad(lambda xs: vmap(f, (0, None))(xs, c).sum())(xs), [24.0, 24.0])
    # c itself, and 3 c for the argument of the outer function, which is sin(x) c
    close(grad(f, 1)(x, c), np.sin(x) * 8.0)
    close(jit(grad(grad(jit(f)), 1))(x, c), 24.0)


def test_programs_are_the_same_whatever_the_rule() -> None:
    def fresh() -> Fun:
        f = custom_jvp(jnp.sin)
        f.defjvp(lambda p, t: (f(*p), t[0]))
        return lambda x: f(x) * 2.0

    one, two = make_jaxpr(fresh())(1.0).jaxpr, make_jaxpr(fresh())(1.0).jaxpr
    assert one == two
    assert "0x" not in str(one)
    typecheck_jaxpr(one)


@pytest.mark.usefixtures("each_tier")
def test_leaks_nothing() -> None:
    with scoped(check_leaks=True, check_jaxprs=True):
        f = closing("custom_derivative")
        close(grad(f, (0, 1))(3.0, 5.0), (10.0, 3.0))
        close(vmap(grad(jit(f)), (None, 0))(3.0, jnp.array([5.0])), [10.0])


# custom_batch


@pytest.mark.usefixtures("each_tier")
def test_custom_batch() -> None:
    seen = []

    @custom_batch
    def f(x: Any, tree: Any) -> Any:
        return {"y": jnp.sin(x) * tree["s"]}

    @f.def_vmap
    def _rule(size: int, in_batched: Any, x: Any, tree: Any) -> Any:
        seen.append((size, in_batched, x.shape))
        return {"y": 10.0 * x}, {"y": True}

    xs, s = jnp.array([1.0, 2.0]), {"s": 3.0}
    close(f(1.0, s), {"y": 3.0 * np.sin(1.0)})
    close(vmap(f, (0, None))(xs, s), {"y": [10.0, 20.0]})
    assert seen.pop() == (2, [True, {"s": False}], (2,))
    close(jit(vmap(f, (0, None)))(xs, s), {"y": [10.0, 20.0]})
    close(vmap(jit(f), (0, None))(xs, s), {"y": [10.0, 20.0]})
    total = lambda xs: vmap(f, (0, None))(xs, s)["y"].sum()  # noqa: E731
    close(grad(total)(xs), [10.0, 10.0])
    close(grad(lambda x: f(x, s)["y"])(1.0), 3.0 * np.cos(1.0))
    values, gradients = vmap(value_and_grad(lambda x: f(x, s)["y"]))(xs)
    close((values, gradients), ([10.0, 20.0], 3.0 * np.cos(np.array([1.0, 2.0]))))
    # mapped by another vmap than the one that maps nothing of it
    close(vmap(lambda x: vmap(lambda _: f(x, s)["y"])(xs))(xs), [[10.0, 10.0], [20.0, 20.0]])
    twice = vmap(vmap(lambda x: f(x, s)["y"]))(jnp.ones((3, 2)))
    assert twice.shape == (3, 2)


# Messages


@pytest.mark.usefixtures("each_tier")
def test_no_derivative_of_an_order_that_was_not_staged() -> None:
    f = jit(closing("custom_derivative"))
    close(grad(grad(f))(3.0, 5.0), 0.0)
    with raises(DifferentiationError, match="derivatives up to order 3"):
        grad(grad(grad(grad(lambda x, c: f(x, c) ** 4))))(3.0, 5.0)


def case_missing() -> Any:
    f = custom_jvp(lambda x: x)
    return f(1.0)


def case_pair() -> Any:
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: p[0])
    return grad(f)(1.0)


def case_tangent_tree() -> Any:
    f = custom_jvp(lambda x: (x, x))
    f.defjvp(lambda p, t: (f(*p), t[0]))
    return jvp(f, (1.0,), (1.0,))


def case_tangent_shape() -> Any:
    f = custom_derivative(lambda x: (x, x))
    f.defderivative(lambda x: (f(x), lambda t: (t, jnp.ones(3))))
    return jvp(f, (1.0,), (1.0,))


def case_result_tree() -> Any:
    f = custom_jvp(lambda x: (x, x))
    f.defjvp(lambda p, t: (p[0], t[0]))
    return grad(lambda x: jit(f)(x)[0])(1.0)


def case_result_type() -> Any:
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (jnp.stack([p[0], p[0]]), t[0]))
    return grad(jit(f))(1.0)


def case_bwd_tree() -> Any:
    f = custom_vjp(lambda x, y: x["a"] * y)
    f.defvjp(lambda x, y: (f(x, y), None), lambda _, ct: (ct,))
    return grad(f)({"a": 1.0}, 2.0)


def case_bwd_no_tuple() -> Any:
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: ct)
    return grad(f)(1.0)


def case_bwd_shape() -> Any:
    f = custom_vjp(lambda x: x[0] + x[1])
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct,))
    return grad(f)(jnp.ones(2))


def case_forward_mode() -> Any:
    f = custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    return jit(jacfwd(f))(1.0)


def case_keyword_only() -> Any:
    @custom_vjp
    def f(x: Any, *, scale: Any) -> Any:
        return x * scale

    untyped: Any = f  # a type checker finds this mistake
    untyped.defvjp(lambda x: (x, None), lambda _, ct: (ct,))
    return f(1.0, scale=2.0)


def case_defjvps() -> Any:
    f = custom_jvp(lambda x, y: x * y)
    f.defjvps(None)
    return grad(f)(1.0, 2.0)


def case_batched() -> Any:
    f = custom_batch(lambda x: x)
    f.def_vmap(lambda size, batched, x: (x[0], True))
    return vmap(f)(jnp.ones((2,)))


MESSAGES: dict[Fun, tuple[type[Exception], str]] = {
    case_missing: (
        DifferentiationError,
        (
            "No JVP defined for custom_jvp function <lambda> using defjvp. Give <lambda> (HERE) "
            "a rule with <lambda>.defjvp."
        ),
    ),
    case_pair: (
        DifferentiationError,
        (
            "Custom JVP rule <lambda> for function <lambda> must produce a pair (list or tuple "
            "of length two) representing primal and tangent outputs, but got a value of type "
            "Array. The rule is <lambda> (HERE)."
        ),
    ),
    case_tangent_tree: (
        DifferentiationError,
        (
            "Custom JVP rule <lambda> for function <lambda> must produce primal and tangent "
            "outputs with equal container (pytree) structures, but got PyTreeDef((*, *)) and "
            "PyTreeDef(*) respectively. The rule is <lambda> (HERE)."
        ),
    ),
    case_tangent_shape: (
        DifferentiationError,
        (
            "Custom JVP rule must produce primal and tangent outputs with corresponding shapes "
            "and dtypes. Expected float32[] (tangent type of float32[]) but got float32[3]. It "
            "was the tangent[1] that <lambda> (HERE) returned."
        ),
    ),
    case_result_tree: (
        DifferentiationError,
        (
            "Custom JVP rule <lambda> for function <lambda> must produce a pair (list or tuple "
            "of length two) where the first element represents the primal output (equal in value "
            "to the output of the custom_jvp-decorated function <lambda>, and in particular of "
            "the same container/pytree structure), but it was an array where <lambda> returns a "
            "tuple of 2 arrays. The rule is <lambda> (HERE)."
        ),
    ),
    case_result_type: (
        DifferentiationError,
        (
            "Custom JVP rule <lambda> for function <lambda> must produce a pair (list or tuple "
            "of length two) where the first element represents the primal output (equal in value "
            "to the output of the custom_jvp-decorated function <lambda>, and in particular with "
            "leaves of the same shape/dtype), but result was float32[2] where <lambda> returns "
            "float32[]. The rule is <lambda> (HERE)."
        ),
    ),
    case_bwd_tree: (
        DifferentiationError,
        (
            "Custom VJP bwd rule <lambda> (HERE) for function <lambda> must produce a tuple with "
            "a cotangent for each differentiated argument, the same container (pytree) structure "
            "as theirs, PyTreeDef(({'a': *}, *)) (None for zero): cotangents must be a tree "
            "prefix of the corresponding value; pytree structure error: different lengths of "
            "tuple at key path\n    cotangents: expected tuple of length 2, but got tuple of "
            "length 1. Give both the same number of children."
        ),
    ),
    case_bwd_no_tuple: (
        DifferentiationError,
        (
            "Custom VJP bwd rule <lambda> (HERE) for function <lambda> must produce a tuple with "
            "a cotangent for each differentiated argument, the same container (pytree) structure "
            "as theirs, a tuple of 1 array (None for zero): it returned an array."
        ),
    ),
    case_bwd_shape: (
        DifferentiationError,
        (
            "Custom VJP bwd rule must produce an output with the same type as the args tuple of "
            "the primal function, but at output[0] the bwd rule produced an output of type "
            "float32[] corresponding to an input of type float32[2]. The rule is <lambda> "
            "(HERE). Sum over what was broadcast, or broadcast what was summed."
        ),
    ),
    case_forward_mode: (
        DifferentiationError,
        (
            "can't apply forward-mode autodiff (jvp) to a custom_vjp function: the rule of "
            "<lambda> (HERE) serves reverse mode (grad, vjp, jacrev), but its derivative was "
            "asked for in forward mode (jvp, jacfwd, or a linearized function applied). Define "
            "it with custom_derivative or custom_jvp, whose rules serve both."
        ),
    ),
    case_keyword_only: (
        ArgumentError,
        (
            "The input arguments to the custom_vjp-decorated function f could not be resolved to "
            "positional-only arguments. Binding failed with the error:\nThe following keyword "
            "arguments could not be resolved to positions: scale. Rules are given arguments by "
            "position: make them positional. The function is f (HERE)."
        ),
    ),
    case_defjvps: (
        DifferentiationError,
        (
            "defjvps of <lambda> was given 1 rules, but <lambda> was called with 2 arguments."
            " Give one for each; None for zero."
        ),
    ),
    case_batched: (
        ArgumentError,
        (
            "<lambda> (HERE), the vmap rule of <lambda>, says True of result, of type "
            "float32[]. Say True where the first axis is the mapped one, of size 2, and False"
            " where there is none."
        ),
    ),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("run", MESSAGES, ids=lambda run: run.__name__)
def test_message(run: Fun) -> None:
    error, message = MESSAGES[run]
    with pytest.raises(error) as caught:
        run()
    assert isinstance(caught.value, TinyjaxError)
    text = caught.value.message.replace(f"{run.__name__}.<locals>.", "")
    text = re.sub(r"\([^\s(]*test_custom_derivatives\.py:\d+\)", "(HERE)", text)
    assert text == message


def _times(x: Any, y: Any) -> Any:
    return jnp.sin(x) * y


NESTED_PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "jit": tinyjax.jit(_times),
    "cond": lambda x, y: lax.cond(y > 0.1, _times, lambda x, y: x, x, y),
    "loop": lambda x, y: lax.fori_loop(0, 2, lambda _, x: _times(x, y), x),
    "checkpoint": tinyjax.checkpoint(_times),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("closed_over", [False, True])
@pytest.mark.parametrize("name", NESTED_PROGRAMS)
def test_a_rule_that_takes_the_jvp_of_a_program(name: str, closed_over: bool) -> None:
    """The program's derivative has primals and tangents in one; a linearization parts them."""
    inner = NESTED_PROGRAMS[name]

    def with_rule(x: Any) -> Any:
        def plain(z: Any) -> Any:
            return inner(z, x if closed_over else 0.7)

        f = tinyjax.custom_jvp(plain)
        f.defjvp(lambda primals, tangents: tinyjax.jvp(plain, primals, tangents))
        return jnp.sin(f(2.0 * x))

    def without_rule(x: Any) -> Any:
        return jnp.sin(inner(2.0 * x, x if closed_over else 0.7))

    expected = value_and_grad(without_rule)(0.5)
    for fun in (
        value_and_grad(with_rule),
        value_and_grad(tinyjax.jit(with_rule)),
        tinyjax.jit(value_and_grad(with_rule)),
    ):
        np.testing.assert_allclose(np.array(fun(0.5)), np.array(expected), rtol=1e-5)
    batched = tinyjax.vmap(tinyjax.grad(with_rule))(jnp.array([0.5, 0.5]))
    np.testing.assert_allclose(batched, [expected[1]] * 2, rtol=1e-5)
    second = tinyjax.grad(tinyjax.grad(without_rule))(0.5)
    np.testing.assert_allclose(tinyjax.grad(tinyjax.grad(with_rule))(0.5), second, rtol=1e-4)


# Rules that compute results and tangents together


def together(transform: Fun) -> Callable[[Any, Any], Any]:
    """From x to sin(x) c, with twice its derivative; the rule computes both with one program."""

    def f(x: Any, c: Any) -> Any:
        def both(x: Any, t: Any) -> Any:
            return jnp.sin(x) * c, 2.0 * t * jnp.cos(x) * c

        g = custom_jvp(lambda x: jnp.sin(x) * c)
        g.defjvp(lambda primals, tangents: transform(both)(*primals, *tangents))
        return g(x)

    return f


def in_a_loop(both: Fun) -> Fun:
    """Return a loop that carries results and tangents together, which cannot be separated."""

    def fun(x: Any, t: Any) -> Any:
        return lax.fori_loop(0, 1, lambda _, pair: both(*pair), (x, t))

    return fun


TOGETHER: dict[str, Fun] = {
    "jit": jit,
    "jit of jit": lambda both: jit(jit(both)),
    "jit of vmap": lambda both: (
        lambda x, t: tinyjax.tree.map(
            lambda y: y[0], jit(vmap(both))(jnp.stack([x]), jnp.stack([t]))
        )
    ),
    "checkpoint": tinyjax.checkpoint,
    "loop": in_a_loop,
    "cond": lambda both: lambda x, t: lax.cond(x > 0, both, lambda x, t: (x, t), x, t),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TOGETHER)
def test_a_rule_that_is_one_program(name: str) -> None:
    f = together(TOGETHER[name])
    x, c = 0.5, 3.0
    xs = jnp.array([x, x])
    value, slope, curvature = np.sin(x) * c, 2 * np.cos(x) * c, -2 * np.sin(x) * c

    def one(x: Any) -> Any:
        return f(x, c)

    def looped(x: Any) -> Any:
        return lax.scan(lambda x, _: (one(x), None), x, None, 1)[0]

    ways: list[Fun] = [
        value_and_grad(one),
        value_and_grad(jit(one)),
        jit(value_and_grad(one)),
        value_and_grad(tinyjax.checkpoint(one)),
        value_and_grad(looped),
        lambda x: jvp(jit(one), (x,), (1.0,)),
    ]
    for fun in ways:
        close(fun(x), (value, slope))
    close(vmap(value_and_grad(jit(one)))(xs), ([value] * 2, [slope] * 2))
    close(grad(lambda xs: jit(vmap(jit(one)))(xs).sum())(xs), [slope] * 2)
    # the derivative by what is closed over is that of the function
    close(grad(f, (0, 1))(x, c), (slope, np.sin(x)))
    close(jit(grad(jit(f), (0, 1)))(x, c), (slope, np.sin(x)))
    close(
        vmap(grad(jit(f), (0, 1)), (None, 0))(x, jnp.array([c, c])), ([slope] * 2, [np.sin(x)] * 2)
    )
    close((hessian(one)(x), jit(grad(jit(grad(jit(one)))))(x)), (curvature, curvature))


@pytest.mark.usefixtures("each_tier")
def test_a_rule_that_is_one_program_runs_it_once_more_at_most() -> None:
    """The part that gives results is applied where they are; tangents stay in the recording."""
    f = custom_jvp(jnp.sin)
    f.defjvp(lambda p, t: jit(lambda x, t: (jnp.sin(x), t * jnp.cos(x)))(*p, *t))
    jaxpr = make_jaxpr(lambda x: linearize(jit(f), x)[0])(1.0).jaxpr
    assert str(jaxpr).count("cos") == 0
    _, tangent_map = linearize(jit(f), 1.0)
    close(tangent_map(2.0), 2 * np.cos(1.0))


@pytest.mark.usefixtures("each_tier")
def test_a_custom_vjp_within_a_custom_jvp_within_vmap() -> None:
    """Rules that are off by factors: 5 of the inner, 3 of the outer."""

    @custom_vjp
    def inner(x: Any) -> Any:
        return jnp.sin(x)

    inner.defvjp(lambda x: (inner(x), x), lambda x, ct: (5.0 * ct * jnp.cos(x),))

    @custom_jvp
    def outer(x: Any, y: Any) -> Any:
        return inner(x) * y

    @outer.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        (x, y), (s, t) = primals, tangents
        return outer(x, y), 3.0 * s * jnp.cos(x) * y + t * inner(x)

    xs, y = np.array([0.3, -0.8]), np.float64(2.0)
    by_x, by_y = 3 * np.cos(xs) * y, np.sin(xs)
    both = (0, 1)
    functions: list[Any] = [outer, jit(outer), lambda x, y: outer(x, jit(lambda y: y)(y))]
    for fun in functions:
        close(vmap(fun, (0, None))(xs, y), np.sin(xs) * y)
        ways: list[Any] = [
            vmap(grad(fun, both), (0, None)),
            jit(vmap(jit(grad(fun, both)), (0, None))),
            lambda xs, y, f=fun: grad(lambda xs, ys: vmap(f)(xs, ys).sum(), both)(
                xs, jnp.stack([y, y])
            ),
        ]
        for one in ways:
            close(one(xs, y), (by_x, by_y))
        # of the rule: forward in x, then reverse through inner, whose rule is its own
        mixed = vmap(grad(lambda x, y, f=fun: grad(f, 1)(x, y)), (0, None))
        close(mixed(xs, y), 5 * np.cos(xs))
        close(vmap(jacfwd(fun), (0, None))(xs, y), by_x)


# Results that are the same for all examples


def pairs(kind: str) -> Any:
    """From x and y to 2 x and y + 1, with 5 for 2 in the derivative; the second has no x in it."""
    make = {"jvp": custom_jvp, "derivative": custom_derivative, "vjp": custom_vjp}[kind]
    k: Any = make(lambda x, y: (2.0 * x, y + 1.0))
    if kind == "jvp":
        k.defjvp(lambda p, t: (k(*p), (5.0 * t[0], t[1])))
    elif kind == "derivative":
        k.defderivative(lambda x, y: (k(x, y), lambda s, t: (5.0 * s, t)))
    else:
        k.defvjp(lambda x, y: (k(x, y), None), lambda _, ct: (5.0 * ct[0], ct[1]))
    return k


def test_a_batch_axis_of_results_stays_where_it_is() -> None:
    k, x = pairs("jvp"), np.arange(6.0).reshape(2, 3)
    close(vmap(k, (1, None), (1, None))(x, 2.0), (2 * x, 3.0))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("inner", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_recorded_rule_that_closes_over_examples(inner: Fun) -> None:
    def value(x: Any) -> Any:
        def example(a: Any) -> Any:
            f = custom_vjp(lambda x: 2.0 * x)
            f.defvjp(lambda x: (f(x), None), lambda _, ct: (ct * (2.0 + a),))
            return inner(f)(x)

        return vmap(example)(jnp.arange(3.0)) @ jnp.array([1.0, 10.0, 100.0])

    close(tinyjax.value_and_grad(value)(1.5), (333.0, 2.0 + 30.0 + 400.0))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_rule_may_return_a_python_number(dtype: str) -> None:
    f = custom_vjp(lambda x: 3.0 * x)
    f.defvjp(lambda x: (f(x), None), lambda _, ct: (2.0,))
    assert grad(f)(jnp.asarray(1.0, dtype)).dtype == dtype


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("inner", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["eager", "jit"])
def test_a_rule_may_differ_between_examples_where_the_result_does_not(
    inner: Fun, outer: Fun
) -> None:
    """The gradient is that of a loop; jax's rule is applied to the sum of all cotangents."""
    f = custom_vjp(lambda x, y, a: (2 * x, y))
    f.defvjp(
        lambda x, y, a: ((2 * x, y), (a, 3 * x / x)),
        lambda saved, ct: (ct[0] * saved[0], saved[1] * ct[1], None),
    )
    factors, weights = jnp.array([1.0, 2.0, 4.0]), jnp.array([1.0, 10.0, 100.0])

    def mapped(x: Any) -> Any:
        first, second = vmap(inner(f), (None, None, 0), (0, None))(x, x, factors)
        return first @ weights + second

    def twice(x: Any) -> Any:
        both = vmap(vmap(inner(f), (None, None, 0)), (None, None, 1))
        return both(x, x, jnp.stack([factors, 2 * factors], 1))[0].sum(1) @ jnp.array([1.0, 10.0])

    close(outer(tinyjax.value_and_grad(mapped))(1.5), (334.5, 421.0 + 3.0))
    close(outer(grad(twice))(1.5), 7.0 + 10 * 14.0)
    close(outer(vmap(grad(mapped)))(jnp.ones(2)), [424.0, 424.0])


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["jvp", "derivative", "vjp"])
@pytest.mark.parametrize("inner", [lambda f: f, jit], ids=["eager", "jit"])
@pytest.mark.parametrize("outer", [lambda f: f, jit], ids=["eager", "jit"])
def test_what_is_not_mapped_stays_so(kind: str, inner: Fun, outer: Fun) -> None:
    k = inner(pairs(kind))
    xs, ys, y = jnp.array([0.5, 0.6]), jnp.array([2.0, 3.0, 4.0]), 2.0
    once = vmap(k, (0, None), out_axes=(0, None))
    close(outer(once)(xs, y), ([1.0, 1.2], 3.0))
    close(outer(vmap(once, (None, 0)))(xs, ys), ([[1.0, 1.2]] * 3, [3.0, 4.0, 5.0]))
    # the outer vmap maps nothing of the first result
    twice = vmap(once, (None, 0), out_axes=(None, 0))
    close(outer(twice)(xs, ys), ([1.0, 1.2], [3.0, 4.0, 5.0]))
    neither = vmap(vmap(lambda x: k(x, y)[1], out_axes=None), out_axes=None)
    close(outer(neither)(jnp.ones((3, 2))), 3.0)
    # derivatives go through it once, and not once for each example

    def second(y: Any) -> Any:
        return once(xs, y)[1]

    close(outer(grad(second))(y), 1.0)
    close(outer(vmap(grad(second)))(ys), [1.0, 1.0, 1.0])

    def table(y: Any) -> Any:
        return vmap(once, (None, 0))(xs, ys * y)[1].sum()

    def first(xs: Any) -> Any:
        return once(xs, y)[0].sum()

    def total(xs: Any, y: Any) -> Any:
        return once(xs, y)[0].sum() * once(xs, y)[1]

    close(outer(grad(table))(1.0), 9.0)
    close(outer(grad(first))(xs), [5.0, 5.0])
    close(outer(grad(total, (0, 1)))(xs, y), ([15.0, 15.0], 2.2))
    if kind != "vjp":
        close(outer(jacfwd(second))(y), 1.0)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("error", [RuntimeError, ValueError])
def test_a_rule_that_refuses_lets_no_result_vary(error: type[Exception]) -> None:
    @custom_jvp
    def constant(x: Any, y: Any) -> Any:
        return x, y

    @constant.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise error("not differentiable")

    mapped = vmap(constant, in_axes=(0, None), out_axes=(0, None))
    xs, y = np.arange(3.0), np.float64(2.0)
    for found, expected in zip(jit(mapped)(xs, y), (xs, y), strict=True):
        np.testing.assert_array_equal(found, expected)
    with raises(error, match="not differentiable"):
        jit(lambda x: jvp(lambda x: mapped(xs, x)[1], (x,), (x,)))(y)


def test_a_rule_that_refuses_at_first_is_told_of() -> None:
    calls: list[int] = []

    @custom_jvp
    def constant(x: Any, y: Any) -> Any:
        return y + 0.0

    @constant.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        calls.append(0)
        if len(calls) == 1:
            raise ValueError("not now")
        x, y = primals
        return y + 0.0, x * tangents[1]

    mapped = vmap(constant, in_axes=(0, None))
    with raises(ArgumentError, match=r"(?s)differs between examples.*ValueError: not now"):
        jvp(jit(lambda y: mapped(np.arange(3.0), y)), (1.0,), (1.0,))


@pytest.mark.usefixtures("each_tier")
def test_numbers_copied_for_every_example_are_not_simplified_for_long(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """XLA moves such a copy by one operation at a time, and complains after 50 of them."""

    @custom_jvp
    def constant(x: Any, t: Any) -> Any:
        return x, t

    @constant.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        raise AssertionError("not differentiable")

    def late(x: Any, t: Any) -> Any:
        x, t = constant(x, t)
        for _ in range(60):
            t = jnp.nextafter(t, jnp.inf)
        return x + t

    xs, t = np.arange(3, dtype=np.float32), np.float32(1.0)
    found = jit(vmap(late, (0, None))).lower(xs, t).compile()(xs, t)
    np.testing.assert_array_equal(found, xs + (t + 60 * np.spacing(t)))
    assert "circular" not in capfd.readouterr().err


@pytest.mark.usefixtures("each_tier")
def test_a_tangent_that_varies_makes_its_result_vary() -> None:
    """A rule may vary between examples where the function does not."""
    k = custom_derivative(lambda x, y: y + 1.0)
    k.defderivative(lambda x, y: (k(x, y), lambda s, t: s + t))
    xs = jnp.array([0.5, 0.6])
    f = lambda xs, y: (vmap(k, (0, None))(xs, y) * jnp.array([1.0, 10.0])).sum()  # noqa: E731
    for way in (f, jit(f), lambda xs, y: vmap(jit(f), (None, 0))(xs, jnp.stack([y]))[0]):
        close(grad(way, (0, 1))(xs, 2.0), ([1.0, 10.0], 11.0))
        close(jit(grad(way, (0, 1)))(xs, 2.0), ([1.0, 10.0], 11.0))


@pytest.mark.usefixtures("each_tier")
def test_a_rule_is_not_needed_to_map_a_function() -> None:
    """Nor need it be one that can be staged, where no derivative is taken."""
    f = custom_jvp(lambda x, y: (x, y + 1.0))

    @f.defjvp
    def _rule(primals: Any, tangents: Any) -> Any:
        raise NotImplementedError("not yet")

    xs = jnp.array([0.5, 0.6])
    found = jit(vmap(vmap(f, (0, None)), (None, 0)))(xs, xs)
    close(found[1], [[1.5, 1.5], [1.6, 1.6]])
    with raises(NotImplementedError, match="not yet"):
        grad(lambda x: jit(vmap(f, (0, None)))(xs, x)[1].sum())(1.0)


# custom_batch among other transformations


def counted_rule() -> tuple[Any, list[Any]]:
    """sin(x) y, of which vmap makes ten times as much; and the calls of its rule."""
    calls: list[Any] = []
    f = custom_batch(lambda x, y: jnp.sin(x) * y)

    @f.def_vmap
    def _rule(size: int, in_batched: Any, x: Any, y: Any) -> Any:
        calls.append((size, *in_batched))
        return 10.0 * jnp.sin(x) * y, True

    return f, calls


NESTED_BATCHES: list[Fun] = [
    lambda f: vmap(vmap(f, (0, None)), (None, 0)),
    lambda f: jit(vmap(vmap(f, (0, None)), (None, 0))),
    lambda f: vmap(jit(vmap(f, (0, None))), (None, 0)),
    lambda f: jit(vmap(vmap(jit(f), (0, None)), (None, 0))),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("nest", NESTED_BATCHES)
def test_custom_batch_under_nested_vmap(nest: Fun) -> None:
    f, calls = counted_rule()
    xs, ys = np.array([0.5, 0.6]), np.array([2.0, 3.0, 4.0])
    close(nest(f)(xs, ys), 10 * np.sin(xs) * ys[:, None])
    assert calls == [(2, True, False)]  # the outer one maps what the rule made of it
    g, calls = counted_rule()
    twice = vmap(vmap(jit(g)))
    close(twice(np.stack([xs] * 3), np.stack([xs] * 3)), np.stack([10 * np.sin(xs) * xs] * 3))
    assert calls == [(2, True, True)]


@pytest.mark.usefixtures("each_tier")
def test_custom_batch_under_derivatives() -> None:
    """Of the rule; in reverse mode of the function, where the derivative is taken inside vmap."""
    f, calls = counted_rule()
    xs, ys = np.array([0.5, 0.6]), np.array([2.0, 3.0])
    slope, curvature = np.cos(xs) * ys, -np.sin(xs) * ys

    def total(f: Fun) -> Fun:
        return lambda xs: f(xs, ys).sum()

    around: list[Fun] = [
        grad(total(vmap(f))),
        jit(grad(total(vmap(f)))),
        grad(jit(total(vmap(jit(f))))),
        lambda xs: jvp(vmap(f), (xs, ys), (np.ones(2), np.zeros(2)))[1],
    ]
    for fun in around:
        calls.clear()
        close(fun(xs), 10 * slope)
        assert calls == [(2, True, True)]
    close(jit(hessian(total(vmap(f))))(xs), np.diag(10 * curvature))
    inside: list[Fun] = [vmap(grad(f)), jit(vmap(jit(grad(f)))), vmap(grad(jit(f)))]
    for fun in inside:
        close(fun(xs, ys), slope)
    close(vmap(jit(hessian(f)))(xs, ys), curvature)
    forward: list[Fun] = [vmap(tinyjax.jacfwd(f)), jit(vmap(jit(tinyjax.jacfwd(f))))]
    for fun in forward:
        close(fun(xs, ys), 10 * slope)
    close(vmap(grad(lambda x, y: jvp(f, (x, y), (1.0, 0.0))[1]))(xs, ys), curvature)

    def closing_over(x: Any, y: Any) -> Any:
        g = custom_batch(lambda z: jnp.sin(z) * x)
        g.def_vmap(lambda n, mapped, z: (10.0 * jnp.sin(z) * 2.0, True))
        return g(y)

    # the function closes over what has a tangent: its own operations have the derivative
    close(jvp(closing_over, (0.5, 0.6), (1.0, 1.0))[1], np.sin(0.6) + 0.5 * np.cos(0.6))


def reverse_only(lib: Any) -> Any:
    """sin(x) c, with three times its derivative as a rule for reverse mode."""

    def value(x: Any, c: Any) -> Any:
        return lib.numpy.sin(x) * c

    def bwd(saved: Any, ct: Any) -> Any:
        x, c = saved
        return 3.0 * ct * lib.numpy.cos(x) * c, ct * lib.numpy.sin(x)

    g = lib.custom_vjp(value)
    g.defvjp(lambda x, c: (value(x, c), (x, c)), bwd)
    return g


FORWARD_OVER_REVERSE: list[Callable[[Any, Fun], Any]] = [
    lambda lib, f: lib.jvp(lambda x: lib.grad(f)(x, 2.0), (0.5,), (1.0,)),
    lambda lib, f: lib.jvp(lambda x: lib.vjp(f, x, 2.0)[1](1.0), (0.5,), (1.0,)),
    lambda lib, f: lib.jvp(lambda x: lib.value_and_grad(f)(x, 2.0), (0.5,), (1.0,)),
    lambda lib, f: lib.grad(lambda x: lib.value_and_grad(f)(x, 2.0)[0])(0.5),
    lambda lib, f: lib.jvp(lib.jit(lambda x: lib.value_and_grad(f)(x, 2.0)), (0.5,), (1.0,)),
    lambda lib, f: lib.jvp(lib.value_and_grad(lib.jit(lambda x: f(x, 2.0))), (0.5,), (1.0,)),
    lambda lib, f: lib.jit(lib.hessian(f, (0, 1)))(0.5, 2.0),
    lambda lib, f: lib.vmap(lib.hessian(f), (0, None))(np.array([0.5, 0.6], np.float32), 2.0),
    lambda lib, f: lib.hessian(lambda x: lib.vmap(f, (0, None))(x, 2.0).sum())(np.ones(2, "f")),
    lambda lib, f: lib.jvp(
        lambda c: lib.vmap(lib.value_and_grad(f), (0, None))(np.ones(2, "f"), c), (2.0,), (1.0,)
    ),
]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("nested", FORWARD_OVER_REVERSE)
def test_forward_over_reverse_of_a_rule_for_reverse_mode(nested: Callable[[Any, Fun], Any]) -> None:
    """Inside a function with a rule for vmap as without: JAX refuses the former, not the latter."""
    plain = reverse_only(tinyjax)
    f = custom_batch(plain)

    @f.def_vmap
    def _rule(size: int, in_batched: Any, x: Any, c: Any) -> Any:
        axes = tuple(0 if mapped else None for mapped in in_batched)
        return vmap(plain, axes)(x, c), True

    expected = tinyjax.tree.leaves(nested(jax, reverse_only(jax)))
    for fun in (plain, f, jit(f)):
        for a, b in zip(tinyjax.tree.leaves(nested(tinyjax, fun)), expected, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)


@pytest.mark.usefixtures("each_tier")
def test_custom_batch_inside_what_takes_a_function() -> None:
    f, _ = counted_rule()
    xs, ys = np.array([0.5, -0.6]), np.array([2.0, 3.0])
    once = 10 * np.sin(xs) * ys
    programs: list[tuple[Fun, Any]] = [
        (lambda x, y: lax.cond(x > 0, f, lambda x, y: x, x, y), np.where(xs > 0, once, xs)),
        (lambda x, y: lax.scan(lambda c, _: (f(c, y), None), x, None, 1)[0], once),
        (
            lambda x, y: lax.while_loop(lambda s: s[0] < 1, lambda s: (1, f(s[1], y)), (0, x))[1],
            once,
        ),
        (tinyjax.checkpoint(f), once),
    ]
    for fun, expected in programs:
        close(vmap(fun)(xs, ys), expected)
        close(jit(vmap(jit(fun)))(xs, ys), expected)


def closing_batch(x: Any, c: Any) -> Any:
    f = custom_batch(lambda x: jnp.sin(x) * c)
    f.def_vmap(lambda size, in_batched, x: (10.0 * jnp.sin(x) * c, True))
    return f(x)


@pytest.mark.usefixtures("each_tier")
def test_custom_batch_that_closes_over_a_tracer() -> None:
    """The rule may close over tracers of another trace than the mapping one."""
    xs, cs, c = np.array([0.5, 0.6]), np.array([2.0, 3.0, 4.0]), 2.0
    over_x = vmap(closing_batch, (0, None))
    many = 10 * np.sin(xs)
    for one in (over_x, jit(over_x)):
        close(one(xs, c), many * c)
        close(grad(lambda c, f=one: f(xs, c).sum())(c), many.sum())
        close(vmap(one, (None, 0))(xs, cs), many * cs[:, None])
    close(jit(grad(lambda c: vmap(jit(lambda x: closing_batch(x, c)))(xs).sum()))(c), many.sum())
    # no argument is mapped: the function's own operations are
    for fun in (closing_batch, jit(closing_batch)):
        close(vmap(fun, (None, 0))(0.5, cs), np.sin(0.5) * cs)
        close(vmap(vmap(fun, (None, 0)), (0, None))(xs, cs), np.sin(xs)[:, None] * cs)
        close(
            jit(vmap(grad(fun, (0, 1)), (None, 0)))(0.5, cs), (np.cos(0.5) * cs, [np.sin(0.5)] * 3)
        )


@pytest.mark.usefixtures("each_tier")
def test_a_rule_whose_tangent_is_constant_has_none() -> None:
    # Zeros that a rule makes are no tangent: what follows is not differentiated along them.
    @tinyjax.custom_jvp
    def constant(x: Any, y: Any) -> Any:
        return y * 2.0

    @constant.defjvp
    def constant_rule(primals: Any, tangents: Any) -> Any:
        return constant(*primals), jnp.zeros(())

    @tinyjax.custom_vjp
    def cube(x: Any) -> Any:
        return x**3

    cube.defvjp(lambda x: (x**3, x), lambda x, ct: (3 * x**2 * ct,))

    def f(x: Any, y: Any) -> Any:
        return cube(constant(x, y)) + x

    assert float(tinyjax.grad(f)(2.0, 3.0)) == 1.0
    assert float(tinyjax.grad(tinyjax.jit(f))(2.0, 3.0)) == 1.0
    np.testing.assert_array_equal(
        tinyjax.vmap(tinyjax.grad(f))(jnp.ones(2), jnp.ones(2)), np.ones(2)
    )
    _, along = tinyjax.linearize(lambda x: f(x, 3.0), 2.0)
    assert float(along(5.0)) == 5.0


@pytest.mark.usefixtures("each_tier")
def test_numbers_among_residuals_stay_numbers() -> None:
    @tinyjax.custom_vjp
    def f(x: Any) -> Any:
        return 3 * x

    def bwd(residuals: Any, ct: Any) -> Any:
        scale, doubled, x = residuals
        assert doubled is True
        assert type(scale) is int
        return (ct * scale + 0 * x,)

    f.defvjp(lambda x: (f(x), (3, True, x)), bwd)
    one, two = jnp.ones(()), jnp.ones(2)
    grad = tinyjax.grad(f)
    for run, x in ((grad, one), (tinyjax.jit(grad), one), (tinyjax.vmap(grad), two)):
        np.testing.assert_array_equal(run(x), np.full(x.shape, 3.0))


@pytest.mark.usefixtures("each_tier")
def test_residuals_may_be_arrays_of_numpy() -> None:
    f = custom_vjp(lambda x: 3 * x)
    f.defvjp(lambda x: (f(x), np.array([2.0, 5.0], "float32")), lambda r, ct: (ct * r[1],))
    for derivative in (grad(f), jit(grad(f)), grad(jit(f))):
        assert float(derivative(1.0)) == 5.0


@pytest.mark.usefixtures("each_tier")
def test_integers_beside_results_that_are_differentiated() -> None:
    """They may come first, and be of other shapes."""
    f = custom_vjp(lambda x: (jnp.arange(3), jnp.sin(x)))
    f.defvjp(lambda x: (f(x), x), lambda x, cts: (5.0 * cts[1] * jnp.cos(x),))
    fun = lambda x: jnp.exp(f(x)[1])  # noqa: E731
    expected = 5 * np.cos(0.5) * np.exp(np.sin(0.5))
    for derivative in (grad(fun), grad(jit(fun)), lambda x: vmap(grad(fun))(x[None])[0]):
        close(derivative(jnp.asarray(0.5)), expected)


def test_a_batching_rule_that_closes_over_what_is_differentiated() -> None:
    def product(x: Any, y: Any) -> Any:  # jax refuses it
        times_y = tinyjax.custom_batching.custom_vmap(lambda x: x * y)
        times_y.def_vmap(lambda n, mapped, x: (x * y, True))
        return times_y(x)

    x = np.arange(3.0)
    slope = vmap(lambda x: jvp(lambda y: product(x, y), (2.0,), (3.0,)))(x)
    np.testing.assert_array_equal(slope, [2 * x, 3 * x])
    np.testing.assert_array_equal(vmap(lambda x: grad(lambda y: product(x, y))(2.0))(x), x)


def with_numbers(lib: Any) -> dict[str, Fun]:
    """Functions whose rules use an int and a bool as Python does: as static arguments, as a key."""
    xp: Any = jnp if lib is tinyjax else xnp

    @partial(lib.jit, static_argnums=(1, 2))
    def powers(x: Any, counts: tuple[int, ...], flip: bool) -> Any:
        total = sum(x**n for n in range(*counts))
        return -total if flip else total

    pulled = lib.custom_vjp(powers)
    pulled.defvjp(
        lambda x, counts, flip: (powers(x, counts, flip), (x, counts, flip)),
        lambda saved, ct: (ct * {True: 2.0, False: 3.0}[saved[2]] * saved[1][1], None, None),
    )
    pushed = lib.custom_jvp(powers)
    pushed.defjvp(
        lambda primals, tangents: (
            powers(*primals),
            tangents[0] * 5.0 * xp.ones((), primals[1][1].dtype),
        )
    )
    functions: dict[str, Fun] = {}
    for name, fun in (("vjp", pulled), ("jvp", pushed)):
        one = partial(lambda fun, x: fun(x, (1, 4), True), fun)
        total = partial(lambda one, x: one(x).sum(), one)
        functions |= {name: one, f"{name}, grad": lib.grad(total), f"{name}, vmap": lib.vmap(one)}
        functions[f"{name}, jit of grad"] = lib.jit(lib.grad(total))
        functions[f"{name}, vmap of grad"] = lib.vmap(lib.grad(one))
    return functions


@pytest.mark.usefixtures("each_tier")
def test_ints_and_bools_come_to_rules_as_they_are() -> None:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    theirs = with_numbers(jax)
    for name, fun in with_numbers(tinyjax).items():
        close(fun(jnp.asarray(x)), theirs[name](xnp.asarray(x)))


def test_functions_with_rules_are_named_as_those_without() -> None:
    def f(x: Any) -> Any:
        """Text."""
        return x

    for kind in (custom_jvp, custom_vjp, custom_derivative, custom_batch):
        made: Any = kind(f)
        assert (made.__name__, made.__doc__, made.__wrapped__) == ("f", "Text.", f)


@pytest.mark.usefixtures("each_tier")
def test_a_tangent_map_told_of_zeros() -> None:
    seen: list[list[bool]] = []

    @tinyjax.custom_derivative
    def product(x: Any, y: Any) -> Any:
        return x * y

    def rule(x: Any, y: Any) -> tuple[Any, Callable[[Any, Any], Any]]:
        def tangent_map(of_x: Any, of_y: Any) -> Any:
            zeros = [isinstance(t, SymbolicZero) for t in (of_x, of_y)]
            seen.append(zeros)
            parts = [
                w * t for w, t, zero in zip((y, x), (of_x, of_y), zeros, strict=True) if not zero
            ]
            return sum(parts[1:], parts[0])

        return product(x, y), tangent_map

    product.defderivative(rule, symbolic_zeros=True)
    assert grad(product)(2.0, 3.0) == 3
    assert jvp(lambda y: product(2.0, y), (3.0,), (1.0,))[1] == 2
    assert tinyjax.jit(grad(product, (0, 1)))(2.0, 3.0) == (3, 2)
    assert seen == [[False, True], [True, False], [False, False]]


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize(
    "rule",
    [lambda g: g.sum(0), lambda g: g.astype("float16"), lambda g: g.astype(int), lambda g: g + 1j],
)
def test_cotangents_are_of_any_type_where_they_are_not_checked(rule: Fun) -> None:
    def gradients(m: Any) -> list[Any]:
        f = m.custom_vjp(lambda x: 2 * x)
        f.defvjp(lambda x: (2 * x, None), lambda _, g: (rule(g),))
        of = m.grad(lambda x: f(x).sum())
        return [way(m.numpy.ones((2, 3))) for way in (of, m.jit(of), m.vmap(of))]

    with jax._src.config.disable_bwd_checks(True), scoped(disable_bwd_checks=True):
        for found, expected in zip(gradients(tinyjax), gradients(jax), strict=True):
            np.testing.assert_array_equal(found, expected, strict=True)


def with_rules(m: Any, fun: Fun) -> list[Fun]:
    """Give a function rules of its own, of each kind."""
    forward, reverse = m.custom_jvp(fun), m.custom_vjp(fun)
    forward.defjvp(lambda primals, tangents: (fun(*primals), fun(*tangents)))
    reverse.defvjp(lambda x: (fun(x), None), lambda _, cotangent: (cotangent,))
    return [forward, reverse]


@pytest.mark.parametrize("fun", [lambda x: x, lambda x: 2 * x, lambda x: 3.0, lambda x: (x, 1)])
def test_outside_of_transformations_a_call_is_one_of_the_function(fun: Fun) -> None:
    arguments: list[Any] = [2.0, 2, True, 1j, np.float32(2), np.ones(2, np.float32), [1.0, 2.0]]
    for x in arguments:
        calls = zip(with_rules(tinyjax, fun), with_rules(jax, fun), strict=True)
        for ours, theirs in calls:
            pairs = zip(jax.tree.leaves(ours(x)), jax.tree.leaves(theirs(x)), strict=True)
            for actual, expected in pairs:
                if not isinstance(actual, np.ndarray | np.generic):  # JAX has its own classes
                    assert isinstance(expected, type(actual))
                np.testing.assert_array_equal(actual, expected)
            if not isinstance(x, (list, bool, int)):
                assert isinstance(tinyjax.tree.leaves(tinyjax.jit(ours)(x))[0], tinyjax.Array)
    assert type(with_rules(tinyjax, fun)[0](jnp.ones(2))) is type(fun(jnp.ones(2)))


def traces(m: Any, outer: str, inner: str, kind: str) -> int:
    """Count how often a function with rules is called while a composition is traced."""
    count = 0

    def fun(x: Any) -> Any:
        nonlocal count
        count += 1
        return m.numpy.sin(x) * x

    forward, reverse = m.custom_jvp(fun), m.custom_vjp(fun)
    forward.defjvp(lambda p, t: (forward(*p), m.numpy.cos(p[0]) * t[0]))
    reverse.defvjp(lambda x: (fun(x), x), lambda x, ct: (m.numpy.cos(x) * ct,))
    f: Any = forward if kind == "jvp" else reverse
    loops: dict[str, Any] = {
        "scan": lambda x: m.lax.scan(lambda c, a: (f(c + a), c), 0.0, x)[0],
        "cond": lambda x: m.lax.cond(x.sum() > 0, f, lambda y: y, x),
        "checkpoint of scan": m.checkpoint(
            lambda x: m.lax.scan(lambda c, a: (f(c * a), a), 1.0, x)[0]
        ),
    }
    total: Any = lambda x: loops[inner](x).sum()  # noqa: E731
    programs: dict[str, Any] = {
        "jit of grad": m.jit(m.grad(total)),
        "vmap of grad": lambda x: m.vmap(m.grad(total))(m.numpy.stack([x, x])),
    }
    programs[outer](m.numpy.arange(4.0) + 1)
    return count


@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("inner", ["scan", "cond", "checkpoint of scan"])
def test_functions_are_traced_no_more_often_than_in_jax(inner: str, kind: str) -> None:
    for outer in ("jit of grad", "vmap of grad"):
        assert traces(tinyjax, outer, inner, kind) <= traces(jax, outer, inner, kind), outer
