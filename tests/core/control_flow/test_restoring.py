"""Loops that restore the arrays that they update, in place of keeping what is read of them."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax
from tinyjax._extensions.checkpointing import restoring
from tinyjax._extensions.checkpointing.loops import loop_tangent_p
from tinyjax.core.control_flow import residuals
from tinyjax.core.tracing import jaxpr as jx

SIZE: Final = 20


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let small arrays be restored, too."""
    monkeypatch.setattr(restoring, "_FEW_BYTES", 1)
    monkeypatch.setattr(residuals, "FEW_BYTES", 1)
    monkeypatch.setattr(restoring, "_WORTH_IT", 1)
    with tinyjax.default_dtypes("float64"):
        yield


def equations(jaxpr: jx.Jaxpr) -> Iterator[jx.JaxprEqn]:
    """Yield the equations of a program that is evaluated."""
    for eqn in jaxpr.eqns:
        yield eqn
        is_map = eqn.primitive is loop_tangent_p
        for inner in [eqn.params.forward] if is_map else jx.subjaxprs(eqn.params):
            yield from equations(inner)


def recordings(fun: Callable[..., Any], *args: Any) -> int:
    """Count the recorded loops that have an inverse."""
    program = tinyjax.make_jaxpr(tinyjax.grad(fun))(*args).jaxpr
    names = [getattr(eqn.params, "name", None) for eqn in equations(program)]
    return names.count("recorded_loop")


def largest_stack(fun: Callable[..., Any], *args: Any) -> int:
    """Return the number of elements of the largest array in a program."""
    program = tinyjax.make_jaxpr(tinyjax.grad(fun))(*args).jaxpr
    return max(out.aval.size for eqn in equations(program) for out in eqn.out_binders)


def rows(x: Any) -> Any:
    """Put into each place of a vector what is computed of all of it, so far."""
    weights = jnp.cos(jnp.arange(SIZE * SIZE)).reshape(SIZE, SIZE)

    def step(i: Any, x: Any) -> Any:
        return x.at[i].set(jnp.sin(x * x @ weights[i] / SIZE) + x[i])

    return jnp.sum(lax.fori_loop(0, SIZE, step, x) ** 2)


def scanned(x: Any, reverse: bool = False) -> Any:
    """Take inputs and give outputs as well, and add to a sum."""

    def step(carry: Any, a: Any) -> Any:
        x, total = carry
        i = (jnp.sum(a > 0)) % SIZE
        value = jnp.tanh(x @ x * a[0] / SIZE + a[1])
        return (x.at[i].set(value), total + value * x[0]), (value, x[i])

    inputs = jnp.sin(jnp.arange(3.0 * SIZE * SIZE)).reshape(3 * SIZE, SIZE)
    inputs = inputs * (1 + x[3])
    (x, total), (values, olds) = lax.scan(step, (x, jnp.zeros(())), inputs, reverse=reverse)
    return x @ x + total + jnp.sum(values * olds)


def lower_upper(x: Any) -> Any:
    """Factor a matrix by elements, with loops in a loop whose bounds are its counter's."""
    n = SIZE
    columns = jnp.arange(n)

    def outer(i: Any, a: Any) -> Any:
        def lower(j: Any, a: Any) -> Any:
            known = jnp.where(columns < j, a[i], 0) @ jnp.where(columns < j, a[:, j], 0)
            return a.at[i, j].set((a[i, j] - known) / a[j, j])

        def upper(j: Any, a: Any) -> Any:
            known = jnp.where(columns < i, a[i], 0) @ jnp.where(columns < i, a[:, j], 0)
            return a.at[i, j].add(-known)

        return lax.fori_loop(i, n, upper, lax.fori_loop(0, i, lower, a))

    a = jnp.outer(x, jnp.sin(x)) / 9 + jnp.eye(n)
    return jnp.sum(jnp.sin(lax.fori_loop(0, n, outer, a)))


def two_arrays(x: Any) -> Any:
    """Update two arrays in one loop, several times, one of them at several elements."""

    def step(i: Any, arrays: Any) -> Any:
        x, y = arrays
        near = (i + jnp.arange(3)) % SIZE
        y = y.at[near].add(jnp.sin(x[near]) * (x * x @ y) / SIZE)
        part = lax.dynamic_slice(y, (i,), (1,))
        x = lax.dynamic_update_slice(x, jnp.tanh(x * x @ x / SIZE + part), (i,))
        return x.at[0].multiply(0.9), y.at[near[:1]].set(jnp.cos(x[-1]))

    x, y = lax.fori_loop(0, SIZE, step, (x, jnp.cos(x)))
    return x @ y + jnp.sum(jnp.sin(y))


PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "rows": rows,
    "scanned": scanned,
    "scanned backwards": partial(scanned, reverse=True),
    "lower and upper": lower_upper,
    "two arrays": two_arrays,
}
X: Final = np.cos(1.3 * np.arange(SIZE)) + 0.2


def of_stacks(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function of the same values whose loops keep what they read."""

    def stacking(x: Any) -> Any:
        with restoring.keeping_residuals():
            return fun(x)

    return stacking


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_loops_that_keep_what_they_read(name: str) -> None:
    fun = PROGRAMS[name]
    assert recordings(fun, X)
    slope = tinyjax.jit(tinyjax.grad(fun))(X)
    expected = of_stacks(tinyjax.grad(fun))(X)
    np.testing.assert_allclose(slope, expected, 1e-10, 1e-12)
    rng = np.random.default_rng(0)
    direction, h = rng.normal(size=SIZE), 1e-5
    difference = (fun(X + h * direction) - fun(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(slope @ direction, difference, 1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_linear_maps_and_second_order(name: str) -> None:
    fun = PROGRAMS[name]
    direction = np.sin(np.arange(SIZE))
    slope = tinyjax.jit(tinyjax.grad(fun))
    _, push = tinyjax.linearize(fun, X)
    np.testing.assert_allclose(push(direction), slope(X) @ direction, 1e-8)
    _, forward = tinyjax.jvp(tinyjax.grad(fun), (X,), (direction,))
    backward = tinyjax.grad(lambda x: tinyjax.grad(fun)(x) @ direction)(X)
    np.testing.assert_allclose(forward, backward, 1e-7, 1e-9)
    h = 1e-5
    difference = (slope(X + h * direction) - slope(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(forward, difference, 1e-3, 1e-3 * np.abs(difference).max())


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples(name: str) -> None:
    fun = PROGRAMS[name]
    xs = np.stack([X, 0.9 * X, np.roll(X, 1)])
    slopes = tinyjax.jit(tinyjax.vmap(tinyjax.grad(fun)))(xs)
    each = [tinyjax.grad(fun)(x) for x in xs]
    np.testing.assert_allclose(slopes, each, 1e-9, 1e-11)
    inside = tinyjax.grad(lambda xs: jnp.sum(tinyjax.vmap(fun)(xs)))(xs)
    np.testing.assert_allclose(inside, each, 1e-9, 1e-11)


def test_no_slices_are_stacked() -> None:
    """A nest of loops keeps an element for each update, and no row of each."""
    assert recordings(lower_upper, X)
    assert largest_stack(lower_upper, X) == SIZE**2
    assert largest_stack(of_stacks(lower_upper), X) == SIZE**3


def sparse(x: Any) -> Any:
    """Multiply by a sparse matrix, whose rows are parts of two arrays."""
    starts = jnp.arange(SIZE) // 2
    columns = jnp.arange(2 * SIZE) * 7 % SIZE
    values = jnp.concatenate([x, jnp.cos(x)])

    def step(i: Any, y: Any) -> Any:
        row = lax.dynamic_slice(values, (starts[i],), (SIZE,))
        places = lax.dynamic_slice(columns, (starts[i],), (SIZE,))
        used = jnp.arange(SIZE) < i
        return y.at[i].set(jnp.where(used, row, 0) @ jnp.where(used, x[places], 0))

    return jnp.sum(lax.fori_loop(0, SIZE, step, jnp.zeros(SIZE)) ** 2)


def test_slices_of_constants_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert largest_stack(sparse, X) == SIZE**2
    monkeypatch.setattr(restoring, "_FEW_BYTES_OF_CONSTANTS", 1)
    assert largest_stack(sparse, X + 0) == 2 * SIZE
    slope, direction = tinyjax.jit(tinyjax.grad(sparse))(X), np.sin(np.arange(SIZE))
    np.testing.assert_allclose(slope, of_stacks(tinyjax.grad(sparse))(X), 1e-10, 1e-12)
    _, push = tinyjax.linearize(sparse, X)
    np.testing.assert_allclose(push(direction), slope @ direction, 1e-10)


def conditional(x: Any) -> Any:
    """Update an array in a branch, which is not restored."""

    def step(i: Any, x: Any) -> Any:
        value = jnp.sin(x * x @ x / SIZE)
        return lax.cond(value > 0, lambda x: x.at[i].set(value), lambda x: x, x)

    return jnp.sum(lax.fori_loop(0, SIZE, step, x) ** 2)


def swapping(x: Any) -> Any:
    """Exchange two arrays in each iteration."""

    def step(i: Any, arrays: Any) -> Any:
        x, y = arrays
        return y.at[i].set(jnp.sin(x * x @ y / SIZE)), x

    x, y = lax.fori_loop(0, SIZE, step, (x, jnp.cos(x)))
    return x @ y


def around(x: Any) -> Any:
    """Run a loop that could be restored in one that computes the whole array anew."""

    def step(_: Any, x: Any) -> Any:
        def inner(i: Any, x: Any) -> Any:
            return x.at[i].set(jnp.sin(x * x @ x / SIZE))

        return jnp.cos(lax.fori_loop(0, SIZE, inner, x))

    return jnp.sum(lax.fori_loop(0, 3, step, x) ** 2)


@pytest.mark.parametrize("fun", [conditional, swapping, around])
def test_other_loops_keep_what_they_read(fun: Callable[[Any], Any]) -> None:
    assert not recordings(fun, X)
    slope = tinyjax.jit(tinyjax.grad(fun))(X)
    direction, h = np.random.default_rng(1).normal(size=SIZE), 1e-5
    difference = (fun(X + h * direction) - fun(X - h * direction)) / (2 * h)
    np.testing.assert_allclose(slope @ direction, difference, 1e-5)
