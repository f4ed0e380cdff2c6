"""The setting ``debug_nans``: each new NaN, and the many NaNs that are not new.

The line where a NaN is born ends with ``# born``; an error must name that line, whichever way the
function is transformed. What is expected of iterations and examples follows from how each function
is written.
"""

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    P,
    checkpoint,
    config,
    custom_jvp,
    custom_vjp,
    debug,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    lax,
    linearize,
    pure_callback,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.core.tracing.trace import EVAL, current_trace
from tinyjax.errors import ArgumentError, NanError

Fun = Callable[..., Any]


@pytest.fixture(autouse=True)
def setting() -> Iterator[None]:
    with config.scoped(debug_nans=True):
        yield
    assert current_trace() is EVAL


def caught(run: Fun, *args: Any) -> NanError:
    """The error of a call, which must name the marked line of this file."""
    with pytest.raises(NanError) as found:
        run(*args)
    error = found.value
    assert error.location is not None
    assert error.location.filename == __file__
    assert error.location.text.endswith("# born")
    return error


def read(fun: Fun) -> Fun:
    """A function whose results are read, as a program that is not transformed would do."""
    return lambda *args: [np.asarray(x) for x in tinyjax.tree.leaves(fun(*args))]


def summed(fun: Fun) -> Fun:
    return lambda x: jnp.sum(fun(x))


# One array


def total(x: Any) -> Any:
    doubled = x * 2.0
    logs = jnp.log(doubled)  # born
    return jnp.sum(logs + 1.0)


def masked_root(x: Any) -> Any:
    """Its value is fine at 0; its derivative multiplies zero by infinity."""
    roots = jnp.sqrt(x)  # born
    return jnp.sum(roots * x)


BAD = np.array([1.0, -1.0, 2.0], np.float32)
ZERO = np.array([1.0, 2.0, 0.0], np.float32)

FORWARD: dict[str, Fun] = {
    "eager": read(total),
    "jit": jit(total),
    "jit in jit": jit(lambda x: jit(total)(x) * 2.0),
    "value_and_grad": value_and_grad(total),
    "jit of value_and_grad": jit(value_and_grad(total)),
    "value_and_grad of jit": value_and_grad(jit(total)),
    "vjp": lambda x: vjp(total, x),
    "jvp": lambda x: jvp(total, (x,), (x,)),
    "jvp of jit": lambda x: jvp(jit(total), (x,), (x,)),
    "linearize": lambda x: linearize(total, x),
    "checkpoint": read(checkpoint(total)),
    "compiled": lambda x: jit(total).lower(x).compile()(x),
}


@pytest.mark.parametrize("way", FORWARD)
def test_forward(way: str) -> None:
    error = caught(FORWARD[way], jnp.asarray(BAD))
    assert (error.primitive, error.direction) == ("log", "forward")
    assert error.examples == error.iterations == ()
    assert "log(-2.0)" in error.message


BACKWARD: dict[str, Fun] = {
    "grad": grad(masked_root),
    "grad of jit": grad(jit(masked_root)),
    "jit of grad": jit(grad(masked_root)),
    "value_and_grad": value_and_grad(masked_root),
    "jacrev": jacrev(masked_root),
    "jit of jacrev": jit(jacrev(masked_root)),
    "vjp": lambda x: vjp(masked_root, x)[1](1.0),
    "vjp of jit": lambda x: vjp(jit(masked_root), x)[1](1.0),
    "grad of checkpoint": grad(checkpoint(masked_root)),
    "jit of grad of checkpoint": jit(grad(checkpoint(masked_root))),
    "grad of grad": grad(summed(grad(masked_root))),
}


@pytest.mark.parametrize("way", BACKWARD)
def test_backward(way: str) -> None:
    error = caught(BACKWARD[way], jnp.asarray(ZERO))
    assert error.direction == "backward"
    assert error.examples == error.iterations == ()
    assert "in the backward pass of this line" in error.message
    assert "where(ok, f(x), y)" in error.message


def root(x: Any) -> Any:
    return jnp.sqrt(x)  # born


def power(x: Any) -> Any:
    return jnp.sum(x**1.5)  # born


TANGENT: dict[str, Fun] = {
    "jvp": lambda x: jvp(root, (x,), (jnp.zeros(3),)),
    "jvp of jit": lambda x: jvp(jit(root), (x,), (jnp.zeros(3),)),
    "jit of jvp": jit(lambda x: jvp(root, (x,), (jnp.zeros(3),))),
    "linearize": lambda x: linearize(root, x)[1](jnp.zeros(3)),
    "linearize of jit": lambda x: linearize(jit(root), x)[1](jnp.zeros(3)),
    "jacfwd": jacfwd(root),
    "jit of jacfwd": jit(jacfwd(root)),
    "hessian": hessian(power),
    "jit of hessian": jit(hessian(power)),
    "hessian of jit": hessian(jit(power)),
}


@pytest.mark.parametrize("way", TANGENT)
def test_tangent(way: str) -> None:
    error = caught(TANGENT[way], jnp.asarray(ZERO))
    assert error.direction == "tangent"
    assert (
        error.examples == error.iterations == ()
    )  # the directions of a Jacobian are no user's examples


def test_gradient_that_needs_no_value() -> None:
    np.testing.assert_allclose(grad(total)(jnp.asarray(BAD)), 1 / BAD)  # the value has a NaN
    np.testing.assert_allclose(jit(grad(total))(jnp.asarray(BAD)), 1 / BAD)
    np.testing.assert_allclose(jacrev(total)(jnp.asarray(BAD)), 1 / BAD)


# Examples


EXAMPLES: dict[str, Fun] = {
    "vmap": vmap(total),
    "jit of vmap": jit(vmap(total)),
    "vmap of jit": vmap(jit(total)),
    "vmap of value_and_grad": vmap(value_and_grad(total)),
    "jit of vmap of value_and_grad": jit(vmap(value_and_grad(total))),
    "value_and_grad of vmap": value_and_grad(summed(vmap(total))),
    "vmap of checkpoint": vmap(checkpoint(total)),
}


@pytest.mark.parametrize("way", EXAMPLES)
def test_example(way: str) -> None:
    x = np.ones((4, 3), np.float32)
    x[2, 1] = -1.0
    error = caught(EXAMPLES[way], jnp.asarray(x))
    assert (error.examples, error.direction) == ((2,), "forward")
    assert "in example 2 of a vmap over 4" in error.message


BACKWARD_EXAMPLES: dict[str, Fun] = {
    "vmap of grad": vmap(grad(masked_root)),
    "jit of vmap of grad": jit(vmap(grad(masked_root))),
    "vmap of jit of grad": vmap(jit(grad(masked_root))),
    "vmap of grad of jit": vmap(grad(jit(masked_root))),
    "grad of vmap": grad(summed(vmap(masked_root))),
    "jit of grad of vmap": jit(grad(summed(vmap(masked_root)))),
    "grad of vmap of jit": grad(summed(vmap(jit(masked_root)))),
    "grad of jit of vmap": grad(summed(jit(vmap(masked_root)))),
}


@pytest.mark.parametrize("way", BACKWARD_EXAMPLES)
def test_backward_example(way: str) -> None:
    x = np.ones((4, 3), np.float32)
    x[2, 1] = 0.0
    error = caught(BACKWARD_EXAMPLES[way], jnp.asarray(x))
    assert (error.examples, error.direction) == ((2,), "backward")


@pytest.mark.parametrize("compiled", ["no", "outside", "between", "inside"])
def test_nested_examples(compiled: str) -> None:
    x = np.ones((4, 5, 4), np.float32)  # the axes are mapped last first
    x[1, 3, 2] = -1.0
    inner = vmap(jit(total) if compiled == "inside" else total, in_axes=1)
    outer = vmap(jit(inner) if compiled == "between" else inner, in_axes=2)
    error = caught(jit(outer) if compiled == "outside" else outer, jnp.asarray(x))
    assert error.examples == (2, 3)


def test_example_of_a_product() -> None:
    def product(a: Any, b: Any) -> Any:
        return a @ b  # born

    a = np.ones((3, 3, 3), np.float32)
    a[1, 2, 0] = np.inf
    b = np.ones((3, 3), np.float32)
    b[0] = 0.0
    for fun in (vmap(product, in_axes=(0, None)), jit(vmap(product, in_axes=(0, None)))):
        assert caught(fun, jnp.asarray(a), jnp.asarray(b)).examples == (1,)
    swapped = jnp.asarray(a.transpose(1, 2, 0))
    for fun in (vmap(product, in_axes=(2, None)), jit(vmap(product, in_axes=(2, None)))):
        assert caught(fun, swapped, jnp.asarray(b)).examples == (1,)


# Loops


def scan_logs(x: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        return carry - 1.0, jnp.log(carry)  # born

    return lax.scan(body, x, None, length=5)[1]


def scan_logs_reversed(x: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        return carry - 1.0, jnp.log(carry)  # born

    return lax.scan(body, x, jnp.arange(5), reverse=True)[1]


def while_logs(x: Any) -> Any:
    def body(state: Any) -> Any:
        n, carry, logs = state
        return n + 1, carry - 1.0, logs + jnp.log(carry)  # born

    return lax.while_loop(lambda s: s[0] < 5, body, (0, x, 0.0 * x))[2]


def fori_logs(x: Any) -> Any:
    def body(i: Any, state: Any) -> Any:
        carry, logs = state
        return carry - 1.0, logs + jnp.log(carry)  # born

    return lax.fori_loop(10, 15, body, (x, 0.0 * x))[1]


LOOPS: dict[str, Fun] = {
    "scan": scan_logs,
    "reversed scan": scan_logs_reversed,
    "while": while_logs,
    "fori": fori_logs,
}


@pytest.mark.parametrize("name", LOOPS)
def test_iteration(name: str) -> None:
    fun = LOOPS[name]
    for run in (read(fun), jit(fun), lambda x: jvp(fun, (x,), (x,)), lambda x: vjp(fun, x)):
        error = caught(run, jnp.asarray(2.5))
        assert (error.iterations, error.examples, error.direction) == ((3,), (), "forward")


@pytest.mark.parametrize("name", LOOPS)
def test_iteration_and_example(name: str) -> None:
    fun = LOOPS[name]
    x = np.full(3, 9.0, np.float32)
    x[1] = 2.5
    for run in (vmap(fun), jit(vmap(fun)), vmap(jit(fun)), jit(vmap(jit(fun)))):
        error = caught(run, jnp.asarray(x))
        assert (error.iterations, error.examples) == ((3,), (1,))
    x = np.stack([np.full(3, 9.0, np.float32), x])
    for run in (vmap(vmap(fun)), jit(vmap(vmap(fun))), vmap(jit(vmap(fun)))):
        error = caught(run, jnp.asarray(x))
        assert (error.iterations, error.examples) == ((3,), (1, 1))


def roots_in_scan(reverse: bool) -> Fun:
    """Its derivative has a NaN in iteration 2: the carry is fine and its root's slope is not."""

    def fun(x: Any) -> Any:
        def body(carry: Any, t: Any) -> Any:
            here = jnp.where(t == 2, carry * 0.0, 1.0)
            roots = jnp.sqrt(here)  # born
            return carry + roots * (t != 2), None

        return lax.scan(body, x, jnp.arange(5), reverse=reverse)[0]

    return fun


def roots_in_while(x: Any) -> Any:
    def body(state: Any) -> Any:
        n, carry = state
        here = jnp.where(n == 1, carry * 0.0, 1.0)
        roots = jnp.sqrt(here)  # born
        return n + 1, carry + roots * (n != 1)

    return lax.while_loop(lambda s: s[0] < 4, body, (0, x))[1]


@pytest.mark.parametrize(
    ("fun", "iteration"),
    [(roots_in_scan(False), 2), (roots_in_scan(True), 2), (roots_in_while, 1)],
    ids=["scan", "reversed scan", "while"],
)
def test_backward_iteration(fun: Fun, iteration: int) -> None:
    for run in (grad(fun), jit(grad(fun)), grad(jit(fun)), grad(checkpoint(fun))):
        error = caught(run, jnp.asarray(3.0))
        assert (error.iterations, error.direction) == ((iteration,), "backward")


def test_backward_iteration_and_example() -> None:
    fun = roots_in_scan(False)

    def chosen(x: Any) -> Any:
        return lax.cond(x > 5.0, lambda x: x, fun, x)

    x = jnp.array([6.0, 7.0, 3.0, 4.0])
    for run in (
        vmap(grad(chosen)),
        jit(vmap(grad(chosen))),
        vmap(jit(grad(chosen))),
        grad(lambda x: jnp.sum(vmap(chosen)(x))),
        jit(grad(lambda x: jnp.sum(vmap(chosen)(x)))),
    ):
        error = caught(run, x)
        assert (error.iterations, error.examples, error.direction) == ((2,), (2,), "backward")


def test_nested_loops() -> None:
    def inner(x: Any, _: Any) -> Any:
        return x - 1.0, jnp.log(x)  # born

    def outer(x: Any, _: Any) -> Any:
        x, logs = lax.scan(inner, x, None, length=3)
        return x, jnp.sum(logs)

    def fun(x: Any) -> Any:
        return lax.scan(outer, x, None, length=4)[1]

    for run in (read(fun), jit(fun)):
        assert caught(run, jnp.asarray(7.5)).iterations == (2, 2)
    error = caught(vmap(fun), jnp.array([99.0, 99.0, 7.5]))
    assert (error.iterations, error.examples) == ((2, 2), (2,))


def test_checkpointed_scan() -> None:
    def fun(x: Any) -> Any:
        def body(carry: Any, t: Any) -> Any:
            here = jnp.where(t == 2, carry * 0.0, 1.0)
            roots = jnp.sqrt(here)  # born
            return carry + roots * (t != 2), None

        return lax.scan(checkpoint(body), x, jnp.arange(5))[0]

    assert caught(grad(fun), jnp.asarray(3.0)).iterations == (2,)


# Branches and calls


def test_branch() -> None:
    def fun(x: Any) -> Any:
        return lax.cond(
            x > 0,
            lambda x: x,
            lambda x: jnp.log(x) + 1.0,  # born
            x,
        )

    for run in (
        read(fun),
        jit(fun),
        jit(jit(fun)),
        read(lambda x: lax.scan(lambda c, _: (fun(c), None), x, None, length=1)[0]),
    ):
        caught(run, jnp.asarray(-1.0))
        run(jnp.asarray(1.0))
    for run in (vmap(fun), jit(vmap(fun))):
        assert caught(run, jnp.array([1.0, 2.0, -1.0])).examples == (2,)
        run(jnp.array([1.0, 2.0]))


def test_backward_of_branch() -> None:
    def fun(x: Any) -> Any:
        return lax.cond(x > 5, lambda x: x, lambda x: jnp.sqrt(x) * (x > 1), x)  # born

    for run in (grad(fun), jit(grad(fun)), grad(jit(fun))):
        assert caught(run, jnp.asarray(0.0)).direction == "backward"


@custom_vjp
def twice(x: Any) -> Any:
    return x * 2.0


def twice_backward(x: Any, ct: Any) -> Any:
    return (ct * jnp.log(x),)  # born


twice.defvjp(lambda x: (x * 2.0, x), twice_backward)


def test_custom_vjp() -> None:
    for run in (grad(twice), jit(grad(twice)), grad(jit(twice)), grad(lambda x: twice(x) + 1.0)):
        error = caught(run, jnp.asarray(-1.0))
        assert (error.primitive, error.direction) == ("log", "backward")
    for run in (vmap(grad(twice)), jit(vmap(grad(twice)))):
        error = caught(run, jnp.array([1.0, -1.0]))
        assert (error.direction, error.examples) == ("backward", (1,))


@custom_jvp
def thrice(x: Any) -> Any:
    return x * 3.0


@thrice.defjvp
def thrice_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return x * 3.0, t * jnp.log(x)  # born


def test_custom_jvp() -> None:
    for run in (
        grad(thrice),
        jit(grad(thrice)),
        grad(jit(thrice)),
        lambda x: jvp(thrice, (x,), (x,)),
    ):
        assert caught(run, jnp.asarray(-1.0)).primitive == "log"


def test_complex() -> None:
    def fun(z: Any) -> Any:
        return jnp.log(z) * 0.0  # born

    z = jnp.array([1j, 0j])
    for run in (read(fun), jit(fun)):
        assert caught(run, z).primitive == "mul"
    assert caught(vmap(fun), z).examples == (1,)


# What raises nothing


@attrs.frozen
class Quiet:
    fun: Fun
    x: Any


def safe_root(x: Any) -> Any:
    ok = x > 0
    return jnp.sum(jnp.where(ok, jnp.sqrt(jnp.where(ok, x, 1.0)), 0.0))


def one_root(x: Any) -> Any:
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))


def masked_log(x: Any) -> Any:
    return jnp.sum(jnp.where(x > 0, jnp.log(x), 0.0))


def masked_in_scan(x: Any) -> Any:
    def body(carry: Any, _: Any) -> Any:
        return carry - 1.0, jnp.where(carry > 0, jnp.log(carry), 0.0)

    return jnp.sum(lax.scan(body, x + 0.5, None, length=4)[1])


def masked_in_while(x: Any) -> Any:
    def body(state: Any) -> Any:
        n, carry = state
        return n + 1, carry + jnp.where(carry > 0, jnp.log(carry), -1.0)

    return jnp.sum(lax.while_loop(lambda s: s[0] < 3, body, (0, x))[1])


def overwritten(x: Any) -> Any:
    logs = jnp.log(x)
    return jnp.sum(logs.at[1].set(0.0)) + jnp.nanmax(logs) + jnp.nansum(logs)


def compared(x: Any) -> Any:
    return jnp.sum(jnp.isnan(jnp.log(x)).astype(jnp.float32))


def chosen_by_cond(x: Any) -> Any:
    return lax.cond(jnp.sum(x) > 100, lambda x: jnp.sum(jnp.log(x)), jnp.sum, x)


QUIET: dict[str, Quiet] = {
    "masked": Quiet(masked_log, BAD),
    "masked in scan": Quiet(masked_in_scan, BAD),
    "masked in while": Quiet(masked_in_while, BAD),
    "overwritten": Quiet(overwritten, BAD),
    "compared": Quiet(compared, BAD),
    "not chosen": Quiet(chosen_by_cond, BAD),
    "two wheres": Quiet(safe_root, ZERO),
    "one where": Quiet(one_root, ZERO),
    "given": Quiet(lambda x: jnp.sum(jnp.sin(x) @ x) + x[0], np.array([np.nan, 1, 2], "f")),
    "constant": Quiet(lambda x: jnp.sum(jnp.where(x > 0, jnp.nan, x)), ZERO),
    "infinite": Quiet(lambda x: jnp.sum(1.0 / x) - jnp.log(x)[-1] * 2.0, ZERO),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", QUIET)
def test_quiet(name: str) -> None:
    row = QUIET[name]
    fun, x = row.fun, jnp.asarray(row.x)
    rows = jnp.stack([x, x])
    runs: list[tuple[Fun, Any]] = [
        (fun, x),
        (jit(fun), x),
        (vmap(fun), rows),
        (jit(vmap(fun)), rows),
        (vmap(jit(fun)), rows),
        (grad(fun), x),
        (jit(grad(fun)), x),
        (value_and_grad(jit(fun)), x),
        (lambda x: jvp(fun, (x,), (jnp.ones_like(x),)), x),
    ]
    if name.startswith("masked"):  # the derivative of log is finite there
        runs += [(vmap(grad(fun)), rows)]
    for run, arg in runs:
        found = read(run)(arg)
        with config.scoped(debug_nans=False):
            expected = read(run)(arg)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_given_and_born_in_one_array() -> None:
    x = jnp.array([np.nan, -1.0, 1.0])
    born_first = jnp.log(x)  # born
    kept = jnp.where(jnp.arange(3) == 1, 0.0, born_first)
    assert np.isnan(np.asarray(kept)[0])  # that NaN was given
    shuffled = jnp.sort(born_first[::-1].reshape(3, 1), axis=0)
    caught(lambda: np.asarray(shuffled))
    other = jnp.where(jnp.arange(3) == 0, 0.0, jnp.log(x))  # born
    caught(lambda: float(jnp.sum(other)))


def test_given_to_a_program() -> None:
    x = jnp.array([np.nan, 2.0])
    assert np.isnan(np.asarray(jit(lambda x: x + jnp.log(x))(x))[0])
    caught(jit(lambda x: x + jnp.log(x - 3.0)), x)  # born
    out = jit(lambda x: jnp.where(jnp.isnan(x), x, jnp.abs(jnp.log(x))))(x)
    assert np.isnan(np.asarray(out)[0])


def test_two_births() -> None:
    x = jnp.array([-1.0, 2.0])
    first = jnp.log(x)
    second = jnp.sqrt(-jnp.arange(2.0))  # born
    both = jnp.where(jnp.arange(2) == 0, 0.0, first + second)
    assert caught(lambda: np.asarray(both)).primitive == "sqrt"


def test_matmul_rows() -> None:
    a = np.ones((3, 2), np.float32)
    a[0, 0] = np.nan  # given
    a[2, 1] = np.inf
    b = np.array([1.0, 0.0], np.float32)
    out = jnp.asarray(a) @ jnp.asarray(b)  # born
    assert np.isnan(float(out[0]))
    caught(lambda: float(out[2]))


# Where the alarm is raised


READS: dict[str, Callable[[Any], object]] = {
    "float": float,
    "item": lambda x: x.item(),
    "bool": bool,
    "complex": complex,
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x}",
    "numpy": np.asarray,
    "tolist": lambda x: x.tolist(),
    "device_get": tinyjax.device_get,
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("name", READS)
def test_read(name: str) -> None:
    x = jnp.log(jnp.asarray(-1.0))  # born
    caught(READS[name], x)
    READS[name](x)  # it may be looked at afterwards
    with config.scoped(debug_nans=False):
        READS[name](jnp.log(jnp.asarray(-1.0)))


def test_names_the_result() -> None:
    def fun(x: Any) -> Any:
        return {"fine": [x], "loss": (x, jnp.log(x))}  # born

    for run in (jit(fun), vmap(fun)):
        error = caught(run, jnp.array([-1.0]))
        assert "It is in result['loss'][1] of test_names_the_result.<locals>.fun" in error.message


def test_born_before_the_call() -> None:
    def fresh() -> Any:
        return jnp.log(jnp.array([-1.0, 1.0]))  # born

    def second(x: Any) -> Any:
        return x[1]

    def doubled(x: Any) -> Any:
        return x * 2.0

    assert float(jit(second)(fresh())) == 0.0
    caught(jit(doubled), fresh())
    caught(vmap(doubled), fresh())

    def add(total: Any, x: Any) -> tuple[Any, None]:
        return total + x, None

    caught(lambda: np.asarray(lax.scan(add, 0.0, fresh())[0]))


def test_is_a_floating_point_error() -> None:
    with pytest.raises(FloatingPointError):
        jit(jnp.log)(-1.0)


def test_handling() -> None:
    def step(x: Any) -> Any:
        return jnp.log(x)  # born

    compiled = jit(step)
    for _ in range(2):
        caught(compiled, -1.0)
        assert float(compiled(1.0)) == 0.0


# Effects, donation, threads, the setting


def test_effects_happen_once() -> None:
    seen: list[float] = []

    @jit
    def fun(x: Any) -> Any:
        debug.callback(lambda v: seen.append(float(v)), x)
        return lax.fori_loop(0, 2, lambda i, x: jnp.log(x), x)  # born

    assert caught(fun, 0.5).iterations == (1,)
    assert seen == [0.5]
    fun(3.0)
    assert seen == [0.5, 3.0]


def test_callbacks_may_see_nans() -> None:
    seen: list[Any] = []

    def fun(x: Any) -> Any:
        logs = jnp.log(x)
        debug.callback(seen.append, logs)
        return jnp.where(x > 0, logs, 0.0)

    for run in (fun, jit(fun)):
        assert read(run)(jnp.asarray(-1.0)) == [0.0]
    assert np.isnan(seen).tolist() == [True, True]


def test_callback_that_returns_nan() -> None:
    shape = tinyjax.ShapeDtypeStruct((), jnp.float32)

    def fun(x: Any) -> Any:
        return pure_callback(lambda _: np.float32(np.nan), shape, x)  # born

    for run in (read(fun), jit(fun)):
        assert caught(run, jnp.asarray(1.0)).primitive == "pure_callback"


def test_nothing_is_donated() -> None:
    fun = jit(root, donate_argnums=0)
    x = jnp.array([-1.0, 1.0])
    caught(fun, x)
    assert not x.is_deleted()
    with config.scoped(debug_nans=False):
        fun(x)
    with pytest.raises(ArgumentError):
        fun(x)


def test_programs_of_either_setting() -> None:
    fun = jit(root)
    with config.scoped(debug_nans=False):
        assert np.isnan(fun(-1.0))
    caught(fun, -1.0)
    with config.scoped(debug_nans=False):
        assert np.isnan(fun(-1.0))


def test_within_a_transformed_function() -> None:
    def fun(x: Any) -> Any:
        y = jnp.log(x)
        if int(y) != 0:
            return y
        return x  # not reached: the NaN is read

    with pytest.raises(NanError):
        grad(fun)(-1.0)


def test_what_is_waited_for_is_read() -> None:
    with raises(NanError, match="log"):
        jnp.log(-1.0).block_until_ready()
    with raises(NanError, match="log"):
        tinyjax.block_until_ready(jnp.log(-1.0))


def test_update_and_threads() -> None:
    primitives: list[str] = []

    def work() -> None:
        try:
            jit(total)(jnp.asarray(BAD))
        except NanError as error:
            primitives.append(error.primitive)

    with config.scoped(debug_nans=False):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert primitives == []
        config.update("debug_nans", True)
        try:
            caught(read(total), jnp.asarray(BAD))
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        finally:
            config.update("debug_nans", False)
        assert primitives == ["log"]
        assert current_trace() is EVAL


def test_environment() -> None:
    program = (
        "import tinyjax.numpy as jnp\n"
        "try:\n"
        "    print(jnp.log(jnp.asarray(-1.0)))\n"
        "except FloatingPointError as error:\n"
        "    print(type(error).__name__)\n"
    )
    environment = {**os.environ, "TINYJAX_DEBUG_NANS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "NanError\n"


def test_off_is_free() -> None:
    with config.scoped(debug_nans=False):
        assert current_trace() is EVAL
        with contextlib.suppress(ZeroDivisionError):
            assert np.isnan(float(jnp.log(-1.0)))


# Data that is rearranged without an operation


FOLLOWED: dict[str, Fun] = {
    "promoted": lambda x: x * np.ones(3, np.float32),
    "promoted to float64": lambda x: x + np.ones(3, np.float64),
    "set": jnp.zeros(3).at[1].set,
    "set everywhere": jnp.zeros((3, 2)).at[1:].set,
    "listed": lambda x: jnp.array([1.0, x]),
    "converted": lambda x: jnp.asarray(x, jnp.float64),
    "cast": lambda x: x.astype(jnp.float16),
    "broadcast": lambda x: jnp.broadcast_to(x, (2, 2)),
    "indexed": lambda x: jnp.stack([x, x])[1],
    "taken": lambda x: jnp.take(jnp.stack([x, x]), jnp.array([1])),
    "sorted": lambda x: jnp.sort(jnp.stack([x, x, 1.0])),
    "largest": lambda x: jnp.max(jnp.stack([x, x, 1.0])),
    "closed over by a program": lambda x: jit(lambda y: x + y)(1.0),
    "an example of its own": lambda x: vmap(lambda y: x, axis_size=2, in_axes=None)(1.0),
    "summed over examples": lambda x: vmap(lambda y: lax.psum(x * y, "i"), axis_name="i")(
        jnp.ones(2)
    ),
}


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("name", FOLLOWED)
def test_followed(name: str, weak: bool) -> None:
    def run() -> None:
        x = jnp.log(-1.0 if weak else jnp.asarray(-1.0, jnp.float32))  # born
        np.asarray(FOLLOWED[name](x))

    assert caught(run).primitive == "log"


def test_pickle() -> None:
    error = caught(jit(root), jnp.array([-1.0]))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.primitive == "sqrt"


# Inside shard_map, which has an adapter of its own


def on_two_devices(fun: Fun, is_reversed: bool) -> Fun:
    """A function that two devices apply, each to its own row of the last argument."""

    def part(*args: Any) -> Any:
        *shared, rows = args
        trace = current_trace()
        assert len(trace.adapters) == 2
        if is_reversed:
            trace.adapters = trace.adapters[::-1]
        return jnp.reshape(fun(*shared, rows[0]), (1, -1))

    mesh = tinyjax.make_mesh((2,), ("x",))

    def call(*args: Any) -> Any:
        specs = (*[P()] * (len(args) - 1), P("x"))
        return tinyjax.shard_map(part, mesh=mesh, in_specs=specs, out_specs=P("x"))(*args)

    return call


INSIDE: dict[str, Fun] = {
    "value": total,
    "jvp": lambda x: jvp(masked_root, (x,), (x,))[1],
    "grad": grad(masked_root),
    "grad of jit": grad(jit(masked_root)),
    "jit of grad": jit(grad(masked_root)),
    "linearize": lambda x: linearize(masked_root, x)[1](x),
    "grad of grad": grad(summed(grad(masked_root))),
    "vmap": vmap(total),
    "vmap of grad": vmap(grad(masked_root)),
    "grad of vmap": grad(summed(vmap(masked_root))),
    "jvp of vmap": lambda x: jvp(vmap(masked_root), (x,), (x,))[1],
}


@pytest.mark.parametrize("is_reversed", [False, True])
@pytest.mark.parametrize("way", INSIDE)
def test_inside_shard_map_as_without(way: str, is_reversed: bool) -> None:
    """The error names what it names without ``shard_map``, and the device beside the examples."""
    fun, bad = INSIDE[way], BAD if INSIDE[way] is total or way == "vmap" else ZERO
    plain = caught(read(fun), jnp.asarray(bad))
    rows = jnp.stack([jnp.ones(3), bad])
    error = caught(read(on_two_devices(fun, is_reversed)), rows)
    assert (error.location, error.primitive) == (plain.location, plain.primitive)
    assert (error.direction, error.examples) == (plain.direction, (1, *plain.examples))


@pytest.mark.parametrize("is_reversed", [False, True])
def test_derivatives_inside_shard_map(is_reversed: bool) -> None:
    """A derivative in what devices share is the sum over them, by its formula."""

    def loss(w: Any, x: Any) -> Any:
        return lax.psum(jnp.sum(jnp.sin(w * x)), "x")

    w, rows = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 4.0]])
    slope = np.sum(rows * np.cos(w * rows), 0)
    ways: tuple[tuple[Fun, Any], ...] = (
        (grad(loss), slope),
        (jit(grad(loss)), slope),
        (lambda w, x: jvp(lambda w: loss(w, x), (w,), (w,))[1], np.sum(slope * w)),
        (lambda w, x: linearize(lambda w: loss(w, x), w)[1](w), np.sum(slope * w)),
        (lambda w, x: vmap(grad(loss), (0, None))(jnp.stack([w, w]), x), np.stack([slope, slope])),
    )
    for fun, expected in ways:
        result = on_two_devices(fun, is_reversed)(w, rows)
        np.testing.assert_allclose(result, [np.ravel(expected)] * 2, 1e-6)
