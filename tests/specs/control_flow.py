"""Rows of conditionals and loops."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._extensions.checkpointing.loops import loop_tangent_p
from tinyjax.core.api.derivatives import linearize
from tinyjax.core.control_flow.cond import cond, switch
from tinyjax.core.control_flow.loops import fori_loop
from tinyjax.core.control_flow.primitives import cond_p, scan_p, while_p
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.jit import jit
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.primitives.elementwise import add, exp, lt, mul, sin, sub
from tinyjax.core.primitives.shape import full, full_like
from tinyjax.core.values.array import Array

FLAG = ArraySpec((), np.bool_)
INDEX = ArraySpec((), np.int32, -1, 3)
V = ArraySpec((3,), low=-1.0, high=1.0)
S = ArraySpec((), low=-1.0, high=1.0)
FLOATS = ("float32", "float64")


@jit
def choose(flag: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Branches that need different residuals, pass an operand on, or return a constant."""
    return cond(
        flag,
        lambda x, y: (mul(sin(x), y), x),
        lambda x, y: (exp(x), full_like(y, 0.5)),
        x,
        y,
    )


def choose_by(xp: Any) -> Callable[..., Any]:
    def fun(flag: Any, x: Any, y: Any) -> Any:
        half = xp.full_like(y, 0.5)
        return xp.where(flag, xp.sin(x) * y, xp.exp(x)), xp.where(flag, x, half)

    return fun


@jit
def one_of_three(index: Array, x: Array) -> Array:
    branches: list[Callable[[Array], Array]] = [
        sin,
        lambda x: mul(x, x),
        lambda x: sub(x, sin(x)),
    ]
    return switch(index, branches, x)


def one_of_three_jax(index: Any, x: Any) -> Any:
    branches = [jax.numpy.sin, lambda x: x * x, lambda x: x - jax.numpy.sin(x)]
    return jax.lax.switch(index, branches, x)


def recurrence(mul: Any, sin: Any, add: Any, scan: Any, reverse: bool, **options: int) -> Any:
    """A carry that meets a constant and the input; an output, and one that is an input's."""

    def fun(a: Any, start: Any, xs: Any) -> Any:
        def iteration(carry: Any, x: Any) -> Any:
            after = add(mul(a, sin(carry)), x)
            return after, (mul(carry, x), x)

        return scan(iteration, start, xs, reverse=reverse, **options)

    return fun


def recur(reverse: bool, unroll: int = 1, **own: int) -> tuple[Any, Any]:
    """Ours and jax's."""
    theirs = (jax.numpy.multiply, jax.numpy.sin, jax.numpy.add, jax.lax.scan)
    return (
        recurrence(mul, sin, add, scan, reverse, unroll=unroll, **own),
        recurrence(*theirs, reverse, unroll=unroll),
    )


def linear_loop(x: Array, xs: Array) -> Array:
    """Linear in both: a counter goes along, and weights that are known."""

    def iteration(carry: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
        i, total = carry
        after = add(mul(total, full_like(total, 0.5)), x)
        return (add(i, full_like(i, 1)), after), sub(after, total)

    (_, total), ys = scan(iteration, (full_like(reduce_sum(xs, (0, 1)), 0), x), xs)
    return add(total, reduce_sum(ys, (0,)))


def powers(x: Array) -> Array:
    return fori_loop(0, 4, lambda i, c: mul(c, x), full_like(x, 1))


def doubling(mul: Any, lt: Any, while_loop: Any) -> Any:
    """Double a number until it is large; count."""

    def fun(x: Any, limit: Any) -> Any:
        return while_loop(
            lambda state: lt(state[0], limit),
            lambda state: (mul(state[0], state[0]), state[1] + 1),
            (x, np.int32(0)),
        )

    return fun


def doubling_by_hand(x: Any, limit: Any) -> Any:
    n = 0
    while x < limit:
        x, n = x * x, n + 1
    return x, np.int32(n)


def three_iterations(x: Array) -> tuple[Array, Array]:
    """A condition that all examples agree on."""

    def iteration(state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, n = state
        return sin(x), add(n, full_like(n, 1))

    start = x, full((), 0, dtypes.int32)
    return while_loop(lambda state: lt(state[1], full_like(state[1], 3)), iteration, start)


def tangent_of_three_iterations(x: Array, t: Array) -> Array:
    return linearize(lambda x: three_iterations(x)[0], x)[1](t)


SCAN = [
    Case(V, V, ArraySpec((3, 3), low=-1.0, high=1.0)),
    Case(S, S, ArraySpec((1,))),
    Case(S, S, ArraySpec((0,))),
]

SPECS = [
    Spec(
        "cond",
        cond_p,
        choose,
        [Case(np.array(True), V, V), Case(FLAG, V, V)],
        choose_by(np),
        jax=jax.jit(choose_by(jax.numpy)),
        dtypes=FLOATS,
        grad=2,
    ),
    Spec(
        "switch",
        cond_p,
        one_of_three,
        [Case(INDEX, V), Case(np.array(7, np.int8), S), Case(np.array(200, np.uint8), S)],
        jax=one_of_three_jax,
        dtypes=FLOATS,
        grad=2,
    ),
    Spec("scan", scan_p, recur(False)[0], SCAN, jax=recur(False)[1], dtypes=FLOATS, grad=2),
    Spec(
        "scan, reversed and unrolled",
        scan_p,
        recur(True, 3)[0],
        [Case(V, V, ArraySpec((4, 3)))],
        jax=recur(True, 3)[1],
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "scan, with checkpoints",
        scan_p,
        recur(True, 1, checkpoints=2)[0],
        [Case(V, V, ArraySpec((4, 3))), Case(S, S, ArraySpec((0,)))],
        jax=recur(True)[1],
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "scan, linear",
        scan_p,
        linear_loop,
        [Case(V, ArraySpec((4, 3)))],
        dtypes=("float64",),
        grad=1,
        linear=(0, 1),
    ),
    Spec(
        "scan, of known bounds",
        scan_p,
        powers,
        [Case(V), Case(S)],
        lambda x: x**4,
        jax=lambda x: jax.lax.fori_loop(0, 4, lambda i, c: c * x, jax.numpy.ones_like(x)),
        dtypes=("float64", "complex128"),
        grad=2,
        grad_dtypes=("float64", "complex128"),
    ),
    Spec(
        "while",
        while_p,
        doubling(mul, lt, while_loop),
        [Case(ArraySpec((), low=1.5), ArraySpec((), low=1.0, high=200.0))],
        doubling_by_hand,
        jax=doubling(jax.numpy.multiply, jax.numpy.less, jax.lax.while_loop),
        dtypes=FLOATS,
    ),
    Spec(
        "while, as often for all",
        while_p,
        three_iterations,
        [Case(V)],
        dtypes=("float64",),
        grad=2,
    ),
    Spec(
        "loop_tangent",
        loop_tangent_p,
        tangent_of_three_iterations,
        [Case(V, V), Case(S, S)],
        numpy=lambda x, t: np.cos(np.sin(np.sin(x))) * np.cos(np.sin(x)) * np.cos(x) * t,
        dtypes=("float64",),
        grad=2,
        linear=(1,),
    ),
]
