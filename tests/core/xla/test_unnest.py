"""Deep nests are taken apart before XLA sees them, and compute what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax.core import xla
from tinyjax.core.tracing.jaxpr import Jaxpr, eval_jaxpr, subjaxprs
from tinyjax.core.values.avals import same_types
from tinyjax.core.xla import lowering
from tinyjax.core.xla.lowering import DEEPEST, depth, unnest

pytestmark = pytest.mark.usefixtures("compiled")

Function = Callable[[Any], Any]

X = np.float32(0.7)


@pytest.fixture
def everything(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Takes all nests apart, however shallow; programs compiled before are compiled anew."""
    monkeypatch.setattr(lowering, "DEEPEST", 0)
    monkeypatch.setattr(lowering, "LARGEST", 1 << 60)
    xla.cache_clear()
    yield
    xla.cache_clear()


def _cond(f: Function, k: int) -> Function:
    return lambda x: lax.cond(x > 0.1 * k, lambda x: f(x * 1.5) * jnp.cos(x), jnp.sin, x)


def _last(f: Function, k: int) -> Function:
    """A chain of else: the inner choice's result is the outer one's."""
    return lambda x: lax.cond(x < 0.2 * k, lambda x: x * jnp.sin(x), f, x)


def _two(f: Function, k: int) -> Function:
    """Two nests in a row in one branch, another one in a second, none in the third."""

    def first(x: Any) -> Any:
        y = f(x)
        return y + f(jnp.sin(y) * x)

    return lambda x: lax.switch(jnp.int32(x * 3) % 3, [first, jnp.cos, lambda x: f(-x) * x], x)


def _scan(f: Function, k: int) -> Function:
    return lambda x: lax.scan(lambda c, y: (f(c) * y, jnp.sin(c)), x, jnp.stack([x * 1.1]))[0]


def _loop(f: Function, k: int) -> Function:
    return lambda x: lax.scan(
        lambda c, _: (lax.cond(c > 0.1 * k, f, jnp.sin, c), c * c), x, None, 2
    )[0]


def _mixed(f: Function, k: int) -> Function:
    return _cond(_scan(tinyjax.jit(f), k), k)


def _call(f: Function, k: int) -> Function:
    return tinyjax.jit(lambda x: jnp.sin(f(x) * jnp.cos(x)))


def _checkpoint(f: Function, k: int) -> Function:
    return tinyjax.checkpoint(lambda x: jnp.sin(_cond(f, k)(x)))


def _custom(f: Function, k: int) -> Function:
    @tinyjax.custom_jvp
    def fun(x: Any) -> Any:
        return jnp.sin(_cond(f, k)(x))

    @fun.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        out, t = tinyjax.jvp(lambda x: jnp.sin(_cond(f, k)(x)), primals, tangents)
        return out, t

    return fun


NESTS: dict[str, Callable[[Function, int], Function]] = {
    "cond": _cond,
    "else": _last,
    "two": _two,
    "scan": _scan,
    "loop": _loop,
    "mixed": _mixed,
    "call": _call,
    "checkpoint": _checkpoint,
    "custom": _custom,
}

TRANSFORMATIONS: dict[str, Callable[[Function], Function]] = {
    "as it is": lambda f: f,
    "jvp": lambda f: lambda x: tinyjax.jvp(f, (x,), (x,))[1],
    "grad": tinyjax.grad,
    "grad of grad": lambda f: tinyjax.grad(tinyjax.grad(f)),
    "grad of jit": lambda f: tinyjax.grad(tinyjax.jit(f)),
    "vmap": lambda f: lambda x: tinyjax.vmap(f)(jnp.stack([x, -x, 2 * x])),
    "vmap of grad": lambda f: lambda x: tinyjax.vmap(tinyjax.grad(f))(jnp.stack([x, -x, 2 * x])),
}


def nest(name: str, levels: int, innermost: Function = jnp.sin) -> Function:
    fun = innermost
    for k in range(levels):
        fun = NESTS[name](fun, k % 7)
    return fun


def program(f: Function, *args: Any) -> Jaxpr:
    """The jaxpr of a function without constants."""
    closed = tinyjax.make_jaxpr(f)(*args)
    assert not closed.consts
    return closed.jaxpr


def size(jaxpr: Jaxpr) -> int:
    """Return the number of atoms in a program, and the distinct programs within it."""
    seen: dict[int, Jaxpr] = {}
    pending = [jaxpr]
    atoms = 0
    while pending:
        found = pending.pop()
        if id(found) not in seen:
            seen[id(found)] = found
            atoms += len(found.outs)
            for eqn in found.eqns:
                atoms += len(eqn.inputs) + len(eqn.out_binders)
                pending += subjaxprs(eqn.params)
    return atoms


# What is computed


@pytest.mark.sampled(6)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", NESTS)
def test_values_are_those_of_plain_python(
    name: str, transformation: str, everything: None, double_precision: None
) -> None:
    """Without jit each predicate is at hand: Python chooses, and nothing is nested."""
    levels = 2 if name == "two" else 4
    f = TRANSFORMATIONS[transformation](nest(name, levels))
    compiled = tinyjax.jit(f)
    flat = unnest(program(f, 0.7))
    assert same_types(flat.out_avals, program(f, 0.7).out_avals)
    for x in (0.05, 0.25, 0.7, 1.0, -2.0):
        expected = np.asarray(f(x))
        np.testing.assert_allclose(compiled(x), expected, rtol=1e-12, atol=1e-14)
        (found,) = eval_jaxpr(flat, [jnp.asarray(x)])
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("transformation", ["as it is", "jvp", "grad", "vmap"])
@pytest.mark.parametrize("name", ["cond", "else", "scan", "mixed", "call"])
def test_nests_that_are_deep(name: str, transformation: str, double_precision: None) -> None:
    f = TRANSFORMATIONS[transformation](nest(name, 40))
    assert depth(program(f, 0.7)) > DEEPEST >= depth(unnest(program(f, 0.7)))
    compiled = tinyjax.jit(f)
    for x in (-0.5, 0.05, 0.7):
        np.testing.assert_allclose(compiled(x), f(x), rtol=1e-10, atol=1e-14)


THRESHOLDS = np.linspace(0, 8, 30, dtype=np.float32)


def _or_else(f: Function, i: int) -> Function:
    return lambda x: lax.cond(x <= THRESHOLDS[i], lambda x: jnp.int32(i), f, x)


@tinyjax.jit
def first_above(x: Any) -> Any:
    branch: Function = lambda x: jnp.int32(len(THRESHOLDS))  # noqa: E731 - the innermost else
    for i in reversed(range(len(THRESHOLDS))):
        branch = _or_else(branch, i)
    return branch(x)


# XLA takes subnormal numbers for zero
@given(st.floats(-1, 9, width=32, allow_subnormal=False))
def test_a_chain_of_else_finds_what_numpy_finds(x: float) -> None:
    assert int(first_above(np.float32(x))) == np.searchsorted(THRESHOLDS, np.float32(x))


def test_minus_zero_is_not_zero(everything: None) -> None:
    """A result that is -0.0 in the other branch is not the inner choice's, which is 0.0 there."""

    def f(x: Any) -> Any:
        inner = lambda x: lax.cond(x > 1, jnp.sin, jnp.cos, x)  # noqa: E731 - for a branch
        return lax.cond(x > 0, inner, lambda x: jnp.float32(-0.0), x)

    assert np.signbit(tinyjax.jit(f)(np.float32(-1)))
    assert tinyjax.jit(f)(np.float32(0.5)) == np.cos(np.float32(0.5))


# What is not computed


def test_callbacks_are_called_where_they_are_reached_in_order() -> None:
    calls: list[tuple[str, int]] = []

    def tell(when: str, level: int) -> None:
        tinyjax.debug.callback(lambda: calls.append((when, level)), ordered=True)

    def level(f: Function, k: int) -> Function:
        def deeper(x: Any) -> Any:
            tell("in", k)
            y = f(x - 1)
            tell("out", k)
            return y + 1

        def not_taken(x: Any) -> Any:
            tell("not", k)
            return x

        return lambda x: lax.cond(x > 0, deeper, not_taken, x)

    f: Function = jnp.float32
    for k in reversed(range(30)):
        f = level(f, k)
    for reached in (0, 1, 13, 30):
        calls.clear()
        assert float(tinyjax.jit(f)(np.float32(reached))) == reached
        entered = range(reached)
        turned_back = [("not", reached)] if reached < 30 else []
        assert calls == [
            *(("in", k) for k in entered),
            *turned_back,
            *(("out", k) for k in reversed(entered)),
        ]


def test_a_loop_that_is_not_reached_does_not_run() -> None:
    """It would not end: the condition holds for zero."""

    def forever(x: Any) -> Any:
        return lax.while_loop(lambda x: x < 1, lambda x: x * 2, x)

    f: Function = forever
    for _ in range(30):
        f = _guarded(f)
    assert float(tinyjax.jit(f)(np.float32(0))) == 0
    assert float(tinyjax.jit(f)(np.float32(0.25))) == 1


def _guarded(f: Function) -> Function:
    return lambda x: lax.cond(x > 0, f, lambda x: x, x)


# The size of programs


@pytest.mark.sampled(4)
@pytest.mark.parametrize("transformation", ["as it is", "jvp", "grad", "vmap"])
@pytest.mark.parametrize("name", ["cond", "else", "scan", "call", "mixed"])
def test_size_is_linear_in_depth(name: str, transformation: str) -> None:
    """With residuals that every level hands on, the last levels would add most."""
    f = TRANSFORMATIONS[transformation]
    sizes = [size(unnest(program(f(nest(name, levels)), X))) for levels in (21, 42, 63)]
    added = np.diff(sizes)
    assert added[1] <= 1.02 * added[0]


def test_shallow_nests_stay_as_they_are() -> None:
    jaxpr = program(tinyjax.grad(nest("cond", DEEPEST)), X)
    assert unnest(jaxpr) is jaxpr


def test_choices_between_large_arrays_stay_as_they_are() -> None:
    """Conditionals that are not reached must cost nothing."""
    jaxpr = program(nest("cond", 40, lambda x: jnp.sin(x) * x), np.ones((), np.float32))
    assert len(unnest(jaxpr).eqns) > len(jaxpr.eqns)

    def of_array(f: Function, _: int) -> Function:
        return lambda x: lax.cond(x[0] > 0, lambda x: f(x) * 2, jnp.sin, x)

    f: Function = jnp.cos
    for k in range(40):
        f = of_array(f, k)
    large = program(f, np.ones(10_000, np.float32))
    assert size(unnest(large)) == size(large)


def test_a_function_that_is_called_twice_is_written_once() -> None:
    f: Function = jnp.sin
    for _ in range(40):
        f = _twice(f)
    assert size(unnest(program(f, X))) < 1000


def _twice(f: Function) -> Function:
    called = tinyjax.jit(f)
    return lambda x: called(called(x) * 2)


def test_donated_memory_and_export() -> None:
    f = nest("cond", 40)
    donated = tinyjax.jit(f, donate_argnums=0)
    exported = tinyjax.export.export(tinyjax.jit(f))(X)
    assert float(donated(jnp.asarray(X))) == pytest.approx(float(f(X)))
    assert float(exported.call(X)) == pytest.approx(float(f(X)))
