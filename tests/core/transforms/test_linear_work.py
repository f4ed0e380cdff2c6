"""Transformations of nested programs take work linear in their depth, and reach great depths.

Work is counted, not timed: how many equations are recorded.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs, typecheck_jaxpr
from tinyjax.core.tracing.staging import Recorder
from tinyjax.core.values.array import Array

Function = Callable[[Any], Any]
Transformation = Callable[[Function], Any]


def _while(f: Function) -> Function:
    def iteration(state: tuple[Any, Any]) -> tuple[Any, Any]:
        return state[0] + 1, f(state[1])

    return lambda x: jnp.sin(lax.while_loop(lambda state: state[0] < 2, iteration, (0, x))[1])


def _weak(f: Function) -> Function:
    """The carry starts from a Python integer, which the body makes a float."""
    return lambda x: jnp.sin(lax.scan(lambda c, _: (c + f(x), None), 0, None, 2)[0])


def _slices(f: Function) -> Function:
    def nested(x: Any) -> Any:
        last, ys = lax.scan(lambda c, y: (f(c * y), jnp.sin(c)), x, jnp.arange(2.0))
        return jnp.sin(last) + jnp.sum(ys)

    return nested


NESTS: dict[str, Callable[[Function], Function]] = {
    "jit": lambda f: lambda x: jnp.sin(tinyjax.jit(f)(x)),
    "cond": lambda f: lambda x: jnp.sin(lax.cond(x > 0, f, lambda x: x * 2.0, x)),
    "switch": lambda f: (
        lambda x: jnp.sin(lax.switch(jnp.int32(x > 0), [f, lambda x: x * 2.0, jnp.cos], x))
    ),
    "scan": lambda f: lambda x: jnp.sin(lax.scan(lambda c, _: (f(c), None), x, None, 2)[0]),
    "scan over slices": _slices,
    "scan from a Python number": _weak,
    "fori_loop": lambda f: lambda x: jnp.sin(lax.fori_loop(0, 2, lambda i, c: f(c) * 2.0, x)),
    "while_loop": _while,
    "checkpoint": lambda f: lambda x: jnp.sin(tinyjax.checkpoint(f)(x)),
}


def nest(name: str, depth: int) -> Function:
    def innermost(x: Any) -> Any:
        return jnp.sin(x) * jnp.cos(x)

    fun: Function = innermost
    for _ in range(depth):
        fun = NESTS[name](fun)
    return fun


X = np.float32(0.5)
XS = np.linspace(-1, 1, 3, dtype=np.float32)

TRANSFORMATIONS: dict[str, Transformation] = {
    "make_jaxpr": lambda f: tinyjax.make_jaxpr(f)(X),
    "jvp": lambda f: tinyjax.make_jaxpr(lambda x: tinyjax.jvp(f, (x,), (x,)))(X),
    "vjp": lambda f: tinyjax.make_jaxpr(lambda x: tinyjax.vjp(f, x)[1](x))(X),
    "grad of grad": lambda f: tinyjax.make_jaxpr(tinyjax.grad(tinyjax.grad(f)))(X),
    "vmap": lambda f: tinyjax.make_jaxpr(tinyjax.vmap(f))(XS),
    "jvp of vmap": lambda f: tinyjax.make_jaxpr(lambda x: tinyjax.jvp(tinyjax.vmap(f), (x,), (x,)))(
        XS
    ),
    "vmap of grad": lambda f: tinyjax.make_jaxpr(tinyjax.vmap(tinyjax.grad(f)))(XS),
}


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[None]]:
    """Count the equations recorded meanwhile."""
    counted: list[None] = []
    record = Recorder.record

    def counting(self: Recorder, *args: Any) -> Sequence[Array]:
        counted.append(None)
        return record(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "record", counting)
        yield counted


def recorded(
    monkeypatch: pytest.MonkeyPatch, transform: Transformation, name: str, depth: int
) -> int:
    with recording(monkeypatch) as counted:
        transform(nest(name, depth))
    return len(counted)


# Known to be quadratic. Under vmap a cond takes a select for each residual of what is nested in it,
# and a loop computes each residual that does not vary outside itself, at every level again.
QUADRATIC = {
    ("cond", "vmap of grad"),
    ("switch", "vmap of grad"),
    ("scan from a Python number", "grad of grad"),
}


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", NESTS)
def test_work_is_linear_in_depth(
    name: str, transformation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = TRANSFORMATIONS[transformation]
    shallow, deep = (recorded(monkeypatch, transform, name, depth) for depth in (16, 32))
    most = 4.0 if (name, transformation) in QUADRATIC else 2.05
    assert shallow < deep <= most * shallow


def test_nested_conditionals_select_each_residual_once_a_level(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Quadratic, as the number of residuals times levels is; not cubic."""
    transform = TRANSFORMATIONS["vmap of grad"]
    counts = [recorded(monkeypatch, transform, "cond", depth) for depth in (6, 12, 18, 24)]
    first = np.diff(counts, 1)
    second = np.diff(first)
    assert np.ptp(second) == 0, "a polynomial of second degree"


# Depth


DEEP: dict[str, Transformation] = {
    "jvp": TRANSFORMATIONS["jvp"],
    "vjp": TRANSFORMATIONS["vjp"],
    "vmap": TRANSFORMATIONS["vmap"],
    "lowering": lambda f: tinyjax.jit(f).lower(X).as_text(),
    "printing": lambda f: str(tinyjax.make_jaxpr(f)(X)),
    "digest": lambda f: tinyjax.make_jaxpr(f)(X).jaxpr.digest,
    "checking": lambda f: typecheck_jaxpr(tinyjax.make_jaxpr(f)(X).jaxpr),
}


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("transformation", DEEP)
@pytest.mark.parametrize("name", ["jit", "cond", "scan", "while_loop", "checkpoint"])
def test_depth_meets_no_recursion_limit(name: str, transformation: str) -> None:
    before = sys.getrecursionlimit()
    DEEP[transformation](nest(name, 150))
    assert sys.getrecursionlimit() == before


@pytest.mark.slow
def test_a_depth_of_500() -> None:
    for transformation in ("jvp", "vmap", "lowering", "digest"):
        DEEP[transformation](nest("cond", 500))


def test_recursion_without_end_is_an_error() -> None:
    def forever(x: Any) -> Any:
        return tinyjax.jit(forever_again)(x)

    def forever_again(x: Any) -> Any:
        return tinyjax.jit(forever)(x)

    before = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        forever(X)
    assert sys.getrecursionlimit() == before


def test_threads_share_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    failed: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                DEEP["vjp"](nest("jit", 80))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sys.getrecursionlimit() == before


# Loops that start from Python numbers


def counted_equations(jaxpr: Jaxpr) -> int:
    return sum(
        1 + sum(counted_equations(inner) for inner in subjaxprs(eqn.params)) for eqn in jaxpr.eqns
    )


def test_a_nest_of_loops_from_python_numbers_runs_each_body_twice() -> None:
    runs: list[int] = []

    def loop(depth: int) -> Function:
        def body(total: Any, x: Any) -> Any:
            runs.append(depth)
            return total + (x if depth == 0 else loop(depth - 1)(x))

        return lambda x: lax.fori_loop(0, 3, lambda _, total: body(total, x), 0)

    out = tinyjax.jit(loop(6))(X)
    assert [runs.count(depth) for depth in range(7)] == [2] * 7
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, X * 3.0**7, rtol=1e-6)


def test_what_stands_in_for_a_loop_is_not_kept() -> None:
    inner = tinyjax.jit(lambda x: lax.scan(lambda c, _: (c + x * 0.5, c), 0, None, length=3))

    def outer(x: Any) -> Any:
        def body(c: Any, _: None) -> tuple[Any, Any]:
            last, before = inner(x)
            count = lax.fori_loop(0, 3, lambda i, s: s + last + i, 1)
            return c + last + count + jnp.sum(before), c

        return lax.scan(body, 0, None, length=2)

    def iterations(
        start: float, step: Callable[[float], float], n: int
    ) -> tuple[float, list[float]]:
        seen = []
        for _ in range(n):
            seen.append(start)
            start = step(start)
        return start, seen

    x = 1.5
    last, before = iterations(0.0, lambda c: c + x * 0.5, 3)
    count = 1 + 3 * last + 3
    expected, partial = iterations(0.0, lambda c: c + last + count + sum(before), 2)
    for fun in (outer, tinyjax.jit(outer)):
        total, ys = fun(x)
        np.testing.assert_allclose(total, expected, rtol=1e-6)
        np.testing.assert_allclose(ys, partial, rtol=1e-6)
    np.testing.assert_allclose(inner(x)[0], last, rtol=1e-6)


# A branch that nobody takes


def _branches(x: Any, w: Any) -> Any:
    return lax.cond(x > 0, lambda: jnp.log(x) * w + jnp.sqrt(x - w), lambda: w * w * 0.5 * x)


def _looped(xs: Sequence[float], w: float) -> tuple[float, float, float]:
    """Value, first and second derivative in ``w``, in closed form."""
    value = first = second = 0.0
    for x in xs:
        if x > 0:
            value += np.log(x) * w + np.sqrt(x - w)
            first += np.log(x) - 0.5 / np.sqrt(x - w)
            second += -0.25 * (x - w) ** -1.5
        else:
            value, first, second = value + w * w * 0.5 * x, first + w * x, second + x
    return value, first, second


@pytest.mark.parametrize("xs", [(0.0, -1.0), (-1.0, -2.0), (1.0, 2.0), (-1.0, 3.0)])
def test_a_branch_that_no_example_takes_leaves_derivatives_alone(xs: tuple[float, ...]) -> None:
    examples = np.array(xs)

    def total(w: Any) -> Any:
        return jnp.sum(tinyjax.vmap(lambda x: _branches(x, w))(examples))

    first = tinyjax.grad(total)
    w = np.float64(0.7)
    for fun, expected in zip((total, first, tinyjax.grad(first)), _looped(xs, 0.7), strict=True):
        np.testing.assert_allclose(fun(w), expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(tinyjax.jit(fun)(w), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tinyjax.hessian(total)(w), _looped(xs, 0.7)[2], rtol=1e-12)


def test_an_integer_that_a_branch_divides_by_is_replaced_too() -> None:
    counts = np.array([0, 2, 4])

    def total(w: Any) -> Any:
        def share(n: Any) -> Any:
            return lax.cond(n > 0, lambda: w / n, lambda: w * 0.0)

        return jnp.sum(tinyjax.vmap(share)(counts))

    np.testing.assert_allclose(tinyjax.grad(total)(np.float64(2.0)), 0.75)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(total))(np.float64(2.0)), 0.75)
