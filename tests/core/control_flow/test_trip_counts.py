"""Bounds on the lengths of loops, and derivatives that stack the residuals of iterations."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.checkpointing.trip_counts import with_trip_counts
from tinyjax.core.control_flow.primitives import while_p
from tinyjax.core.tracing import jaxpr as jx


def loops(jaxpr: jx.Jaxpr) -> Iterator[int | None]:
    """Yield how often each ``while_loop`` of a program runs at most, the outer ones first."""
    for eqn in jaxpr.eqns:
        if eqn.primitive is while_p:
            yield eqn.params.most
        for inner in jx.subjaxprs(eqn.params):
            yield from loops(inner)


def counts(fun: Callable[..., Any], *args: Any) -> list[int | None]:
    return [*loops(with_trip_counts(tinyjax.make_jaxpr(fun)(*args).jaxpr))]


def while_(start: Any, test: Callable[[Any], Any], step: Callable[[Any], Any]) -> Any:
    """Count, and say how often that was done."""
    first = jnp.asarray(start), jnp.int32(0)
    return lax.while_loop(lambda s: test(s[0]), lambda s: (step(s[0]), s[1] + 1), first)[1]


def nest(bounds: Callable[[Any], tuple[Any, Any]], n: int = 7) -> Callable[[], Any]:
    """Count within a loop, between bounds that depend on its counter."""
    return lambda: lax.fori_loop(
        0, n, lambda i, k: lax.fori_loop(*bounds(i), lambda _, k: k + 1, k), jnp.int32(0)
    )


def three_deep() -> Any:
    def outer(i: Any, k: Any) -> Any:
        def inner(j: Any, k: Any) -> Any:
            return lax.fori_loop(j, i + 1, lambda _, k: k + 1, k)

        return lax.fori_loop(0, i, inner, k)

    return lax.fori_loop(0, 5, outer, jnp.int32(0))


def in_branches() -> Any:
    def outer(i: Any, k: Any) -> Any:
        cases = [lambda k: nested(0, i, k), lambda k: nested(i, 9, k)]
        return lax.switch(i % 2, cases, k)

    def nested(start: Any, stop: Any, k: Any) -> Any:
        return tinyjax.jit(lambda k: lax.fori_loop(start, stop, lambda _, k: k + 1, k))(k)

    return lax.fori_loop(0, 8, outer, jnp.int32(0))


#: Programs, and how often their loops run at most, the outer ones first. Halves are rounded by
#: subtracting one or not, and might begin at -1.
PROGRAMS: Final[dict[str, tuple[Callable[[], Any], list[int | None]]]] = {
    "up": (lambda: while_(0, lambda i: i < 10, lambda i: i + 1), [10]),
    "up to, by three": (lambda: while_(1, lambda i: i <= 10, lambda i: i + 3), [4]),
    "turned": (lambda: while_(0, lambda i: lax.gt(10, i), lambda i: 2 + i), [5]),
    "down": (lambda: while_(9, lambda i: i >= 0, lambda i: i - 1), [10]),
    "down, turned": (lambda: while_(9, lambda i: lax.lt(3, i), lambda i: i - 2), [3]),
    "never": (lambda: while_(20, lambda i: i < 10, lambda i: i + 1), [0]),
    "away": (lambda: while_(0, lambda i: i < 10, lambda i: i - 1), [None]),
    "by a factor": (lambda: while_(1, lambda i: i < 10, lambda i: 2 * i), [None]),
    "until it is": (lambda: while_(0, lambda i: i != 10, lambda i: i + 1), [None]),
    "two conditions": (lambda: while_(0, lambda i: (i < 10) & (i**2 < 20), lambda i: i + 1), [10]),
    "one of two": (lambda: while_(0, lambda i: (i < 10) | (i < 20), lambda i: i + 1), [None]),
    "floats": (lambda: while_(0.0, lambda x: x < 10, lambda x: x + 1), [None]),
    "overflow": (lambda: while_(np.int8(0), lambda i: i < 127, lambda i: i + 10), [None]),
    "to the last integer": (lambda: while_(np.int8(0), lambda i: i < 127, lambda i: i + 1), [127]),
    "bytes": (lambda: while_(np.uint8(5), lambda i: i >= 1, lambda i: i - 1), [5]),
    "many": (lambda: while_(0, lambda i: i < 2**30, lambda i: i + 1), [None]),
    "triangle": (nest(lambda i: (0, i)), [6]),
    "other triangle": (nest(lambda i: (i, 7)), [7]),
    "band": (nest(lambda i: (jnp.maximum(i - 1, 0), jnp.minimum(i + 2, 7))), [7]),
    "halves": (nest(lambda i: (i // 2, i)), [7]),
    "remainders": (nest(lambda i: (0, lax.rem(i, 3))), [2]),
    "squares": (nest(lambda i: (0, i * i)), [36]),
    "differences": (nest(lambda i: (2 * i, 12 - i)), [12]),
    "three deep": (three_deep, [4, 5]),
    "in branches": (in_branches, [7, 9]),
}


#: Programs that return how often their loop did run.
EXACT: Final = ("up", "up to, by three", "turned", "down", "down, turned", "never", "bytes")


@pytest.mark.parametrize("name", PROGRAMS)
def test_trip_counts(name: str) -> None:
    program, most = PROGRAMS[name]
    assert counts(program) == most
    if name in EXACT:
        assert program() == most[0]


def test_trip_counts_depend_on_no_data() -> None:
    """Else each value of an argument would be differentiated by a program of its own."""
    assert counts(lambda n: while_(0, lambda i: i < n, lambda i: i + 1), 3) == [None]
    assert counts(lambda n: while_(n, lambda i: i < 10, lambda i: i + 1), 3) == [None]


def test_a_bound_without_operands() -> None:
    """The place on a mesh is an equation without operands."""
    mesh = tinyjax.make_mesh((1,), ("x",))

    def loss(x: Any) -> Any:
        state = jnp.int32(0), x
        body = lambda s: (s[0] + 1, jnp.sin(s[1]))  # noqa: E731
        y = lax.while_loop(lambda s: s[0] <= lax.axis_index("x"), body, state)[1]
        return lax.psum(jnp.sum(y), "x")

    inside = tinyjax.shard_map(
        tinyjax.grad(loss), mesh=mesh, in_specs=tinyjax.P("x"), out_specs=tinyjax.P("x")
    )
    x = np.array([0.3, 0.7])
    np.testing.assert_allclose(inside(x), np.cos(x), rtol=1e-12)


def test_counts_hold_for_drawn_bounds() -> None:
    """No loop runs more often than is said, whatever it counts by."""
    rng = np.random.default_rng(0)
    known = 0
    for _ in range(200):
        a, b, c, d, low, step = (int(x) for x in rng.integers(-4, 5, 6))
        test = (lambda i, n: i < n, lambda i, n: i <= n, lambda i, n: n > i)[step % 3]

        def program(
            a: int = a, b: int = b, c: int = c, d: int = d, low: int = low, test: Any = test
        ) -> Any:
            def outer(i: Any, count: Any) -> Any:
                bound = lax.div(a * i, 2) - jnp.minimum(b, c - i) + lax.rem(d * i, 5)
                start = jnp.int32(low), jnp.int32(0)
                made = lax.while_loop(
                    lambda s: test(s[0], bound), lambda s: (s[0] + 2, s[1] + 1), start
                )
                return jnp.maximum(count, made[1])

            return lax.fori_loop(0, 6, outer, jnp.int32(0))

        (most,) = counts(program)
        assert most is not None
        known += most > 0
        assert program() <= most
    assert known > 100


# Derivatives


def lower_product(a: Any, b: Any, loop: Callable[..., Any]) -> Any:
    """Multiply by a lower triangle in place, from the last row on, and square on the way."""
    n = len(a)

    def row(i: Any, b: Any) -> Any:
        i = n - 1 - i

        def element(k: Any, b: Any) -> Any:
            return b.at[i].set(b[i] + jnp.sin(a[i, k] * b[k] ** 2))

        return loop(0, i, element, b)

    return loop(0, n, row, b)


def unrolled(start: Any, stop: Any, body: Callable[[int, Any], Any], state: Any) -> Any:
    for i in range(int(start), int(stop)):
        state = body(i, state)
    return state


A: Final = np.random.default_rng(1).uniform(0.2, 1.2, (6, 6))
B: Final = np.linspace(0.3, 1.1, 6)


def total(a: Any, b: Any, loop: Callable[..., Any] = lax.fori_loop) -> Any:
    return jnp.sum(lower_product(a, b, loop) ** 2)


def expected(a: Any, b: Any) -> Any:
    return total(a, b, unrolled)


DERIVATIVES: Final[dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]]] = {
    "grad": lambda fun: tinyjax.grad(fun, (0, 1)),
    "jvp of grad": lambda fun: (
        lambda a, b: tinyjax.jvp(tinyjax.grad(fun, (0, 1)), (a, b), (jnp.ones_like(a), b))
    ),
    "grad of grad": lambda fun: tinyjax.grad(
        lambda a, b: jnp.sum(jnp.sin(tinyjax.grad(fun)(a, b))), (0, 1)
    ),
    "vmap of grad": lambda fun: (
        lambda a, b: tinyjax.vmap(tinyjax.grad(fun, (0, 1)))(
            jnp.stack([a, 2 * a]), jnp.stack([b, b])
        )
    ),
    "grad of vmap": lambda fun: tinyjax.grad(
        lambda a, b: jnp.sum(tinyjax.vmap(fun, (None, 0))(a, jnp.stack([b, 2 * b]))), (0, 1)
    ),
    "grad of checkpoint": lambda fun: tinyjax.grad(tinyjax.checkpoint(fun), (0, 1)),
    "grad of jit": lambda fun: tinyjax.grad(tinyjax.jit(fun), (0, 1)),
    "hessian": lambda fun: tinyjax.hessian(fun, 1),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_of_loops_in_loops(name: str) -> None:
    derivative = DERIVATIVES[name]
    with tinyjax.default_dtypes("float64"):
        results = tinyjax.jit(derivative(total))(A, B)
        slow = derivative(expected)(A, B)
        for result, other in zip(
            tinyjax.tree.leaves(results), tinyjax.tree.leaves(slow), strict=True
        ):
            np.testing.assert_allclose(result, other, rtol=1e-9)


def test_iterations_are_not_run_again() -> None:
    """Each runs once, and its derivative once, as a scan's: sines and cosines are counted."""

    def count(fun: Callable[..., Any], name: str) -> int:
        def count(jaxpr: jx.Jaxpr) -> int:
            own = sum(eqn.primitive.name == name for eqn in jaxpr.eqns)
            return own + sum(count(x) for eqn in jaxpr.eqns for x in jx.subjaxprs(eqn.params))

        return count(tinyjax.make_jaxpr(tinyjax.jit(tinyjax.grad(fun)))(A, B).jaxpr)

    assert (count(total, "sin"), count(total, "cos")) == (1, 1)

    def with_few_states(a: Any, b: Any) -> Any:
        return total(a, b, lambda *args: lax.fori_loop(*args, checkpoints=2))

    assert count(with_few_states, "sin") > 1


def test_memory_is_kept_to() -> None:
    """Residuals of so many iterations are not stacked: states are, as where nothing is known."""

    def fun(x: Any, memory: int | None) -> Any:
        state = lax.while_loop(
            lambda s: s[0] < 100, lambda s: (s[0] + 1, jnp.sin(s[1])), (0, x), memory=memory
        )
        return jnp.sum(state[1])

    def stacks(memory: int | None) -> bool:
        gradient = tinyjax.jit(tinyjax.grad(lambda x: fun(x, memory)))
        return "float32[100,1000]" in str(tinyjax.make_jaxpr(gradient)(jnp.ones(1000)))

    assert [stacks(memory) for memory in (None, 399_999, 500_000)] == [True, False, True]
    x = jnp.linspace(0.1, 1, 1000)
    few, many = [tinyjax.grad(lambda x, m=m: fun(x, m))(x) for m in (100_000, None)]
    np.testing.assert_allclose(few, many, rtol=1e-6)


def test_indices_are_computed_again() -> None:
    """Of what counters say, loops keep nothing, forwards or backwards, up or down."""

    def residuals(jaxpr: jx.Jaxpr) -> Iterator[Any]:
        for eqn in jaxpr.eqns:
            if eqn.primitive.name in ("scan", "while"):
                yield from (x.aval for x in eqn.out_binders if x.aval.shape)
            for inner in jx.subjaxprs(eqn.params):
                yield from residuals(inner)

    def down(x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            i, j, x = carry
            return (i - 2, j + 1, x.at[i].set(x[i - 1] * x[j] * x[row + 1])), jnp.sin(x[j])

        first = jnp.int32(8), jnp.int8(1), x
        (_, _, x), ys = lax.scan(step, first, jnp.arange(3), reverse=True)
        return jnp.sum(x**2) + jnp.sum(ys)

    def down_unrolled(x: Any) -> Any:
        total: Any = 0.0
        for n, row in enumerate((2, 1, 0)):
            i, j = 8 - 2 * n, 1 + n
            total += jnp.sin(x[j])
            x = x.at[i].set(x[i - 1] * x[j] * x[row + 1])
        return jnp.sum(x**2) + total

    with tinyjax.default_dtypes("float64"):
        x = np.linspace(0.5, 1.5, 9)
        # of loops in a loop it is kept how often each ran
        for fun, args, numbers in ((total, (A, B), 1), (down, (x,), 0)):
            gradient = tinyjax.jit(tinyjax.grad(fun))
            avals = residuals(tinyjax.make_jaxpr(gradient)(*args).jaxpr)
            assert sum(aval.dtype.kind == "i" for aval in avals) == numbers
        np.testing.assert_allclose(
            tinyjax.jit(tinyjax.grad(down))(x), tinyjax.grad(down_unrolled)(x)
        )
        np.testing.assert_allclose(
            tinyjax.jit(tinyjax.hessian(down))(x), tinyjax.hessian(down_unrolled)(x), rtol=1e-9
        )
        np.testing.assert_allclose(
            tinyjax.vmap(tinyjax.grad(down))(np.stack([x, 2 * x])),
            [tinyjax.grad(down_unrolled)(x), tinyjax.grad(down_unrolled)(2 * x)],
        )
