"""Conditionals and loops: against jax, against Python, and through every transformation.

A program here is written once, over a namespace that has ``lax`` and ``numpy``, and run through
tinyjax and through jax. The rows of the primitives are in ``tests/specs/control_flow.py``.
"""

import dataclasses
import re
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import attrs
import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, tree
from tinyjax.core.control_flow.primitives import scan_p
from tinyjax.core.tracing.jaxpr import typecheck_jaxpr
from tinyjax.core.tracing.staging import Recorder
from tinyjax.errors import (
    ArgumentError,
    BranchTypeError,
    CarryTypeError,
    TinyjaxError,
)
from tinyjax.test_util import check_grads

NAMES = ("jit", "grad", "vmap", "jvp", "vjp", "hessian", "jacfwd", "linearize")
OURS = SimpleNamespace(lax=lax, np=jnp, **{name: getattr(tinyjax, name) for name in NAMES})
THEIRS = SimpleNamespace(lax=jax.lax, np=jax.numpy, **{k: getattr(jax, k) for k in NAMES})

XS = np.array([0.3, -0.7, 1.1])
WS = np.array([[0.5, -0.2, 0.1], [0.4, 0.3, -0.6], [0.2, 0.8, 0.7]])


def leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(x) for x in tree.leaves(value)]


def same(ours: Any, theirs: Any, tol: float = 1e-12) -> None:
    found, expected = leaves(ours), [np.asarray(x) for x in jax.tree.leaves(theirs)]
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, tol, tol)


# Programs. Each takes a namespace and returns a function of a scalar and a vector to a scalar.


def scanned_backwards(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        def iteration(c: Any, w: Any) -> Any:
            i, total = c
            return (i + 1, total * w + m.np.cos(x * i)), {"y": total * w, "z": (w, x)}

        (_, last), outs = m.lax.scan(iteration, (0, x), ws, reverse=True, unroll=2)
        return last * outs["y"].sum() * outs["z"][0].sum()

    return fun


def without_inputs(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        return m.lax.scan(lambda c, _: (m.np.tanh(c * ws), c), x * ws, None, 4)[0].sum()

    return fun


def scan_of_scan(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        def outer(c: Any, w: Any) -> Any:
            inner, ys = m.lax.scan(lambda d, v: (m.np.sin(d * v + w * x), d * w), c, ws)
            return inner, ys.sum()

        last, ys = m.lax.scan(outer, x, ws)
        return last * ys[-1] + ys.sum()

    return fun


def chosen(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        return m.lax.cond(
            (x * ws).sum() > 0,
            lambda y: m.np.sin(y * x).sum(),
            lambda y: m.np.exp(x) * m.np.cos(y).sum() + x * x,
            ws,
        )

    return fun


def chosen_of_several(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        branches = [m.np.sin, lambda y: y * ws[0], lambda y: m.np.exp(y) * x]
        index = m.np.floor(x * 3).astype("int32")
        return m.lax.switch(index, branches, x * x) + m.lax.switch(index - 2, branches, x)

    return fun


def cond_in_scan(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        def iteration(c: Any, w: Any) -> Any:
            c = m.lax.cond(c * w > 0.1, lambda c: m.np.sin(c) * x, lambda c: c * c + w, c)
            return c, c * w

        last, ys = m.lax.scan(iteration, x, ws)
        return last + ys.sum()

    return fun


def scan_in_cond(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        def loop(c: Any) -> Any:
            return m.lax.scan(lambda c, w: (m.np.sin(c * w) + x, None), c, ws)[0]

        return m.lax.cond(x > 0, loop, lambda c: c * ws.sum(), x * x)

    return fun


def counted(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        return m.lax.fori_loop(0, 3, lambda i, c: m.np.sin(c) * m.np.asarray(ws)[i] + i * x, x)

    return fun


def mapped(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        one = m.lax.map(lambda w: m.np.sin(w * x), ws)
        several = m.lax.map(lambda w: m.np.cos(w * x) * ws.sum(), ws, batch_size=2)
        return (one * several).sum()

    return fun


def associated(m: Any) -> Any:
    def fun(x: Any, ws: Any) -> Any:
        def combine(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        _, found = m.lax.associative_scan(combine, (ws * x, m.np.sin(ws)))
        return (found * ws).sum()

    return fun


SMOOTH = [
    scanned_backwards,
    without_inputs,
    scan_of_scan,
    chosen,
    chosen_of_several,
    cond_in_scan,
    scan_in_cond,
    counted,
    mapped,
    associated,
]


def stacks(m: Any, f: Any, xs: Any, many: Any) -> dict[str, Any]:
    """Transformations of a function, composed in either order."""
    x, ws = xs[0], many[0]
    grad = m.grad(f, (0, 1))
    return {
        "value": f(x, ws),
        "jit": m.jit(f)(xs[1], ws),
        "grad": [grad(x, ws) for x in xs[:2]],
        "vmap": m.vmap(f)(xs, many),
        "vmap of one": m.vmap(f, (None, 1))(x, many),
        "vmap of grad": m.vmap(grad)(xs, many),
        "grad of vmap": m.grad(lambda *a: m.vmap(f)(*a).sum(), (0, 1))(xs, many),
        "jit of vmap of grad of jit": m.jit(m.vmap(m.grad(m.jit(f), (0, 1))))(xs, many),
        "vmap of vmap": m.vmap(m.vmap(f, (None, 0)), (0, None))(xs, many),
        "jvp": m.jvp(f, (x, ws), (0.5, many[1])),
        "jvp of jit of vmap": m.jvp(m.jit(m.vmap(f)), (xs, many), (xs * xs, many.T)),
        "grad of grad": m.grad(lambda x: m.grad(f, 1)(x, ws).sum())(x),
        "grad of jvp": m.grad(lambda x: m.jvp(f, (x, ws), (x, many[1]))[1])(x),
        "jit of hessian": m.jit(m.hessian(f, 1))(x, ws),
        "linearize": m.linearize(f, x, ws)[1](0.5, many[1]),
    }


EAGER = (cond_in_scan,)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("program", "eager"), [*((p, False) for p in SMOOTH), *((p, True) for p in EAGER)]
)
def test_every_stack_gives_what_jax_gives(program: Callable[[Any], Any], eager: bool) -> None:
    # eager evaluation compiles every loop by itself, which takes seconds: one program does
    def ours(xs: Any, many: Any) -> Any:
        return stacks(OURS, program(OURS), xs, many)

    with jax.enable_x64(True):
        theirs = jax.jit(lambda *args: stacks(THEIRS, program(THEIRS), *args))(XS, WS)
    found = ours(XS, WS) if eager else tinyjax.jit(ours)(XS, WS)
    for name, value in found.items():
        try:
            same(value, theirs[name], 1e-10)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None


# while_loop


def newton(m: Any) -> Any:
    """A square root by Newton's method; each example has its own number of iterations."""

    def fun(x: Any, start: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return m.np.abs(state[0] * state[0] - x) > 1e-9

        def iteration(state: Any) -> Any:
            y, n = state
            return 0.5 * (y + x / y), n + 1

        return m.lax.while_loop(goes_on, iteration, (start, 0))

    return fun


def nested_while(m: Any) -> Any:
    """The inner loop ends only for examples that the outer still goes on with."""

    def fun(n: Any, x: Any) -> Any:
        def inner(i: Any, x: Any) -> Any:
            return m.lax.while_loop(
                lambda s: s[0] != i, lambda s: (s[0] + 1, m.np.sin(s[1]) * x), (i * 0, x)
            )[1]

        return m.lax.while_loop(
            lambda s: s[0] < n, lambda s: (s[0] + 1, inner(s[0], s[1]) + x), (n * 0, x)
        )

    return fun


def summed(n: int, x: float) -> float:
    total = x
    for i in range(n):
        part = total
        for _ in range(i):
            part = np.sin(part) * total
        total = part + x
    return total


@pytest.mark.usefixtures("each_tier")
def test_while_loop_through_forward_transformations() -> None:
    def all_of(m: Any, x: Any, start: Any) -> Any:
        f = newton(m)
        value = lambda x, y: f(x, y)[0]  # noqa: E731
        return [
            f(x[0], start[0]),
            m.jit(f)(x[0], start[0]),
            m.vmap(f)(x, start),
            m.vmap(f, (0, None))(x, start[0]),
            m.vmap(f, (None, 0))(x[0], start),
            m.vmap(m.jit(m.vmap(f, (None, 0))), (0, None))(x, start),
            m.jvp(value, (x[0], start[0]), (1.0, 0.5)),
            m.jvp(lambda x: m.jvp(value, (x, start[0]), (x, 0.5))[1], (x[0],), (1.0,)),
            m.vmap(m.jacfwd(value))(x, start),
            m.jvp(m.vmap(value), (x, start), (start, x)),
        ]

    x, start = np.array([2.0, 9.0, 1e4]), np.array([1.0, 3.0, 2.0])
    with jax.enable_x64(True):
        expected = jax.jit(lambda *a: all_of(THEIRS, *a))(x, start)
    same(all_of(OURS, x, start), expected, 1e-11)
    same(tinyjax.jit(lambda *a: all_of(OURS, *a))(x, start), expected, 1e-11)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("jit", [tinyjax.jit, lambda fun: fun])
def test_examples_that_end_at_different_times_nested_twice(jit: Any) -> None:
    n, x = np.array([3, 0, 5, 1]), np.array([0.5, 2.0, -0.25])
    f = nested_while(OURS)
    expected = np.array([[summed(i, y) for y in x] for i in n])
    count, found = jit(tinyjax.vmap(tinyjax.vmap(f, (None, 0)), (0, None)))(n, x)
    np.testing.assert_allclose(found, expected, 1e-12)
    np.testing.assert_array_equal(count, np.broadcast_to(n[:, None], (4, 3)))
    flat = [np.repeat(n, 3), np.tile(x, 4)]
    np.testing.assert_allclose(jit(tinyjax.vmap(f))(*flat)[1], expected.reshape(-1), 1e-12)
    none = jit(tinyjax.vmap(f))(flat[0][:0], flat[1][:0])[1]
    assert none.shape == (0,)


@pytest.mark.usefixtures("each_tier")
def test_a_loop_in_a_branch_need_not_end_for_those_who_take_another() -> None:
    def halvings(n: Any) -> Any:
        def count(n: Any) -> Any:
            return lax.while_loop(lambda s: s[0] != 1, lambda s: (s[0] // 2, s[1] + 1), (n, 0))[1]

        return lax.cond(n > 0, count, lambda n: n * 0, n)

    found = tinyjax.vmap(halvings)(np.array([8, 0, 3, -4], np.int32))
    np.testing.assert_array_equal(found, [3, 0, 1, 0])
    np.testing.assert_array_equal(
        tinyjax.jit(tinyjax.vmap(halvings))(np.zeros(2, np.int32)), [0, 0]
    )


def test_reverse_mode_where_the_state_does_not_depend_on_the_argument() -> None:
    def counting(x: Any) -> Any:
        n = lax.while_loop(lambda n: n < x, lambda n: n + 1, 0)
        return x * n

    assert float(tinyjax.grad(counting)(2.5)) == 3.0


# Traps


@pytest.mark.usefixtures("each_tier")
def test_what_a_branch_not_taken_gets_stays_out_of_the_derivative() -> None:
    def root(x: Any) -> Any:
        return lax.cond(x > 0, jnp.sqrt, lambda x: 2 * x, x)

    x = np.array([4.0, -1.0, 0.0])
    expected = np.array([0.25, 2.0, 2.0])
    for grad in (
        tinyjax.vmap(tinyjax.grad(root)),
        tinyjax.grad(lambda x: tinyjax.vmap(root)(x).sum()),
        tinyjax.jit(tinyjax.grad(lambda x: tinyjax.vmap(root)(x).sum())),
        tinyjax.grad(lambda x: tinyjax.jit(tinyjax.vmap(root))(x).sum()),
        lambda x: tinyjax.jvp(tinyjax.vmap(root), (x,), (np.ones(3),))[1],
    ):
        np.testing.assert_allclose(grad(x), expected)


def test_what_a_branch_not_taken_gets_stays_out_of_what_all_share() -> None:
    def of_root(w: Any, x: Any) -> Any:
        return lax.cond(x > 1, lambda: jnp.sqrt(x) * w, lambda: jnp.exp(w * x))

    def of_log(w: Any, x: Any) -> Any:
        return lax.cond(x > 5, lambda: jnp.log(x) * w, lambda: w)

    x = np.array([4.0, -1.0, 2.0, 0.0])

    def total(f: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda w: tinyjax.vmap(f, (None, 0))(w, x).sum()

    np.testing.assert_allclose(tinyjax.grad(total(of_root))(1.0), 2 + np.sqrt(2) - np.exp(-1), 1e-6)
    assert float(tinyjax.grad(total(of_log))(1.0)) == 4.0
    assert tinyjax.vmap(tinyjax.grad(of_root), (None, 0))(1.0, x).shape == (4,)


def test_an_unbatched_predicate_stays_a_cond() -> None:
    def fun(flag: Any, x: Any) -> Any:
        return lax.cond(flag, jnp.sin, jnp.cos, x)

    shared = tinyjax.make_jaxpr(tinyjax.vmap(fun, (None, 0)))(True, XS).jaxpr
    apart = tinyjax.make_jaxpr(tinyjax.vmap(fun))(XS > 0, XS).jaxpr
    assert [e.primitive.name for e in shared.eqns].count("cond") == 1
    # each branch is run if there is an example that takes it, and the results are selected
    assert [e.primitive.name for e in apart.eqns].count("cond") == 2
    assert [e.primitive.name for e in apart.eqns].count("select") == 1


def kept_by_branches(m: Any) -> Any:
    def loop(x: Any, w: Any) -> Any:
        return m.lax.scan(lambda w, _: (w, None), w, None, length=2)[0]

    return lambda x, w: m.lax.cond(
        x < 1.0, lambda x, w: (x * w, loop(x, w), w), lambda x, w: (w + x, w, w), x, w
    )


def kept_by_a_loop(m: Any) -> Any:
    def fun(x: Any, w: Any) -> Any:
        state = m.lax.while_loop(lambda c: c[0] < x, lambda c: (c[0] + w, c[1], w), (0.0, w, w))
        return state[0], state[1], m.lax.fori_loop(0, 2, lambda _, w: w, w)

    return fun


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("program", [kept_by_branches, kept_by_a_loop])
def test_what_no_iteration_or_branch_changes_is_one_for_all_examples(program: Any) -> None:
    xs, w, axes = np.array([0.5, 1.5, 3.0]), np.float64(0.75), (0, None)
    outs = (0, None, None)
    same(
        tinyjax.vmap(program(OURS), axes, outs)(xs, w),
        jax.vmap(program(THEIRS), axes, outs)(xs, w),
    )


@pytest.mark.usefixtures("each_tier")
def test_what_every_branch_returns_alike_is_not_selected() -> None:
    """It stays what all examples have in common, as in jax, or the operand that it is."""
    xs = XS.astype(np.float32)

    def program(m: Any) -> tuple[Any, ...]:
        shared = m.numpy.ones(2)

        def f(p: Any, i: Any, x: Any, y: Any) -> Any:
            common = m.lax.cond(
                p,
                lambda x, y: (2 * x, y, shared, x, -1),
                lambda x, y: (-x, y, shared, x, -1),
                x,
                y,
            )
            return common, m.lax.switch(i, [lambda x, y: (y, x), lambda x, y: (y, -x)], x, y)

        axes = (0, None, None, 0, 0), (None, 0)
        return m.vmap(f, (0, 0, 0, None), axes), (xs > 0, np.arange(xs.size) % 2, xs, np.float32(7))

    (ours, args), (theirs, _) = program(tinyjax), program(jax)
    for got in (ours(*args), tinyjax.jit(ours)(*args)):
        for x, y in zip(tinyjax.tree.leaves(got), jax.tree.leaves(theirs(*args)), strict=True):
            np.testing.assert_array_equal(x, y)
    names = [e.primitive.name for e in tinyjax.make_jaxpr(ours)(*args).jaxpr.eqns]
    assert names.count("select") == 2

    def differ(m: Any) -> Any:
        return m.vmap(lambda p: m.lax.cond(p, lambda: 1.0, lambda: 2.0), out_axes=None)(xs > 0)

    for m in (tinyjax, jax):
        with raises(ValueError, match="out_axes"):
            differ(m)


def test_a_predicate_at_hand_calls_the_branch() -> None:
    calls = []

    def note(x: Any) -> Any:
        calls.append(x)
        return x

    assert lax.cond(True, note, lambda x: "never", 3) == 3
    assert lax.cond(0.0, lambda x: "never", note, 4) == 4
    assert lax.switch(-5, [note, lambda x: "never"], 5) == 5
    assert lax.switch(np.uint8(9), [lambda x: "never", note], 6) == 6
    assert float(tinyjax.grad(lambda x: lax.cond(x, note, lambda x: "never", x))(2.0)) == 1.0
    assert len(calls) == 5


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16"])
def test_stacks_of_narrow_floats_are_not_converted_in_each_iteration(
    dtype: str, reverse: bool
) -> None:
    def stack(x: Any) -> Any:
        def body(carry: Any, _: None) -> Any:
            return carry * 0.5, (carry.astype(dtype), carry)

        return lax.scan(body, x, None, length=37, reverse=reverse, unroll=2)[1]

    x = np.array([3.0, -0.0, np.inf, np.nan, 0.1], np.float32)
    compiled = tinyjax.jit(stack).lower(x).compile()
    assert not re.search(r"\[37,5\]\S* convert\(", compiled.as_text())
    narrow, wide = compiled(x)
    expected = np.asarray(wide).astype(narrow.dtype)
    np.testing.assert_array_equal(np.asarray(narrow).view("u1"), expected.view("u1"))


#: Branches, of which the first is called, and the operands.
DIFFERENT: Any = {
    "shapes": lambda m: ([lambda: m.numpy.zeros(2), lambda: m.numpy.zeros(3)],),
    "structures": lambda m: ([lambda x: x, lambda x: (x,)], 1.0),
    "keys": lambda m: ([lambda x: {"a": x}, lambda x: {"b": x}], 1.0),
    "lengths": lambda m: ([lambda x: [x, x], lambda x: [x]], 1.0),
    "none": lambda m: ([lambda x: x, lambda x: None], 1.0),
    "the last": lambda m: ([m.numpy.sin, m.numpy.cos, lambda x: x[0]], np.ones(2)),
    "partial": lambda m: ([partial(m.numpy.zeros, 2), partial(m.numpy.zeros, 3)],),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("case", DIFFERENT)
def test_a_branch_that_is_not_taken_must_return_the_same(case: str) -> None:
    for m in (jax, tinyjax):
        branches, *operands = DIFFERENT[case](m)
        for place in range(len(branches)):
            with raises(TypeError, match="branch"):
                m.lax.switch(place, branches, *operands)
        for pred in (True, np.bool_(0), m.numpy.float32(1.0)):
            with raises(TypeError, match="cond"):
                m.lax.cond(pred, branches[0], branches[-1], *operands)
    with pytest.raises(BranchTypeError):
        tinyjax.jit(lambda x: lax.switch(0, branches, *operands))(0.0)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("pred", [False, True])
@pytest.mark.parametrize("results", [(1, 2.5), (1.5, np.float32(2)), (np.int8(1), np.float16(2))])
def test_a_known_choice_has_the_type_of_a_staged_one(pred: bool, results: Any) -> None:
    def choose(p: Any) -> Any:
        return lax.cond(p, lambda: results[0], lambda: jnp.asarray(results[1]))

    for _ in range(2):
        known, staged = choose(pred), tinyjax.jit(choose)(pred)
        assert known.aval is staged.aval
        assert known == staged


def test_branches_that_look_alike_are_compared_once() -> None:
    staged = np.zeros((), int)

    def choose(x: Any, closed_over: Any) -> Any:
        def other(y: Any) -> Any:
            staged[...] += 1
            return y + closed_over

        return lax.cond(True, lambda y: y, other, x)

    for i in range(5):
        choose(float(i), jnp.float32(i))
    assert staged == 1
    choose(np.ones(2, np.float32), jnp.float32(1))  # other operands
    choose(1.0, 2.0)  # another value is closed over, of another type
    assert staged == 3
    for _ in range(2):
        with pytest.raises(BranchTypeError):
            choose(1.0, jnp.ones(3))
    with tinyjax.disable_jit():
        assert choose(1.0, jnp.ones(4)) == 1


def test_branches_that_are_not_taken_do_nothing() -> None:
    ref = tinyjax.new_ref(jnp.float32(1))

    def write() -> Any:
        ref[...] = 2.0
        return ref[...]

    def count_down(n: int) -> Any:
        return lax.cond(n <= 0, lambda: 0.0, lambda: count_down(n - 1) + 1.0)

    assert lax.cond(False, write, lambda: jnp.float32(5)) == 5
    assert ref[...] == 1
    assert count_down(3) == 3
    # what cannot be staged is not compared
    assert lax.cond(False, lambda x: x[0], lambda x: x, 3.0) == 3
    assert lax.cond(False, lambda x: 1.0 if x > 0 else (2.0,), lambda x: x, 3.0) == 3


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("index", [-3, 0, 1, 2, 7])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_an_index_out_of_range_is_the_nearest(index: int, dtype: str) -> None:
    number = np.array(index).astype(dtype)
    branches: list[Callable[[], Any]] = [lambda: 10, lambda: 20, lambda: 30]
    expected = 10 * (1 + min(max(int(number), 0), 2))
    assert lax.switch(number, branches) == expected
    assert int(tinyjax.jit(lambda i: lax.switch(i, branches))(number)) == expected
    assert int(tinyjax.vmap(lambda i: lax.switch(i, branches))(number[None])[0]) == expected


CLOSERS: dict[str, Callable[[Any, Any], Any]] = {
    "true branch": lambda x, p: lax.cond(p, lambda: x * x, lambda: 1.0),
    "false branch": lambda x, p: lax.cond(p, lambda y: y, lambda y: x * y, 2.0),
    "predicate": lambda x, p: lax.cond(x > 0, lambda: x, lambda: -x),
    "switch": lambda x, p: lax.switch(p.astype("int32"), [lambda: x, lambda: x * x, lambda: 0.0]),
    "scan body": lambda x, p: lax.scan(lambda c, y: (c * x, y * x), 1.0, jnp.arange(3.0))[0],
    "scan init": lambda x, p: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 2)[0],
    "scan inputs": lambda x, p: lax.scan(lambda c, y: (c * y, None), 1.0, x * jnp.ones(2))[0],
    "map": lambda x, p: lax.map(lambda y: x * y, jnp.arange(3.0)).sum(),
    "fori_loop": lambda x, p: lax.fori_loop(0, 2, lambda i, c: c * x + i, 1.0),
    "associative_scan": lambda x, p: lax.associative_scan(
        lambda a, b: a + b, x * jnp.arange(1.0, 4.0)
    )[-1],
    "nested": lambda x, p: lax.scan(
        lambda c, y: (lax.cond(p, lambda: c * x, lambda: c + lax.map(lambda z: z * x, y).sum()), c),
        x,
        jnp.ones((2, 2)),
    )[0],
    "while condition": lambda x, p: x * lax.while_loop(lambda n: n < x, lambda n: n + 1, 0),
    "while body": lambda x, p: lax.while_loop(lambda s: s < 50, lambda s: s * (x + 2.0), 1.0),
    "while init": lambda x, p: lax.while_loop(lambda s: s < 50, lambda s: s * 2.0, x + 2.0),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", CLOSERS)
def test_a_closed_over_tracer_in_every_position(place: str) -> None:
    fun = CLOSERS[place]
    xs, ps = np.array([1.5, -0.5, 3.0], np.float32), np.array([True, False, True])
    forward = place in ("while body", "while init")

    def slope(x: Any, p: Any) -> Any:
        if forward:
            return tinyjax.jvp(lambda x: fun(x, p), (x,), (1.0,))[1]
        return tinyjax.grad(lambda x: fun(x, p))(x)

    expected = [(fun(x, p), slope(x, p)) for x, p in zip(xs, jnp.asarray(ps), strict=True)]
    values, slopes = zip(*[(float(v), float(s)) for v, s in expected], strict=True)

    @tinyjax.jit
    def everything(xs: Any, ps: Any) -> Any:
        summed = lambda xs: tinyjax.vmap(fun)(xs, ps).sum()  # noqa: E731
        tangents = tinyjax.jvp(lambda xs: tinyjax.vmap(fun)(xs, ps), (xs,), (jnp.ones(3),))[1]
        return (
            tinyjax.vmap(fun)(xs, ps),
            tinyjax.vmap(tinyjax.jit(slope))(xs, ps),
            tangents if forward else tinyjax.grad(summed)(xs),
        )

    value, of_each, of_all = everything(xs, ps)
    np.testing.assert_allclose(value, values, 1e-5)
    np.testing.assert_allclose(of_each, slopes, 1e-5)
    np.testing.assert_allclose(of_all, slopes, 1e-5)


def test_collectives_in_bodies() -> None:
    def fun(x: Any) -> Any:
        def iteration(c: Any, _: Any) -> Any:
            return c + lax.psum(c, "i"), lax.axis_index("i")

        total, places = lax.scan(iteration, x, None, 2)
        return lax.cond(lax.psum(x, "i") > 0, lambda: total, lambda: -total), places

    total, places = tinyjax.vmap(fun, axis_name="i")(jnp.array([1.0, 2.0]))
    np.testing.assert_array_equal(total, [13.0, 14.0])
    np.testing.assert_array_equal(places, [[0, 0], [1, 1]])


def test_a_body_is_staged_for_each_number_of_examples() -> None:
    def body(c: Any, _: Any) -> Any:
        return c * lax.psum(1, "i"), None  # of a number that all have: how many there are

    for n in (3, 4):
        xs = jnp.arange(1.0, n + 1)
        found = tinyjax.vmap(lambda x: lax.scan(body, x, None, 2)[0], axis_name="i")(xs)
        assert found.tolist() == (xs * n**2).tolist()


@pytest.mark.usefixtures("each_tier")
def test_a_short_loop_counts_in_32_bits() -> None:
    text = tinyjax.jit(lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, 5000)).lower(1.0)
    assert "tensor<i64>" not in text.as_text()


@pytest.mark.usefixtures("each_tier")
def test_collectives_are_over_examples_that_take_no_part_too() -> None:
    xs = np.array([-1.5, -0.25, 0.5, 2.0], np.float32)

    def branch(x: Any) -> Any:
        return lax.cond(x > 0, lambda: lax.psum(x * x, "i"), lambda: x)

    def loop(x: Any) -> Any:
        return lax.while_loop(lambda c: c < 3, lambda c: c + lax.pmax(abs(x), "i"), x)

    def inner(x: Any) -> Any:
        return tinyjax.vmap(lambda p: lax.cond(p * x > 0, lambda: lax.psum(x + p, "i"), lambda: x))(
            xs
        )

    for transform in (lambda f: f, tinyjax.jit):
        chosen, ended, nested = (
            transform(tinyjax.vmap(f, axis_name="i"))(xs) for f in (branch, loop, inner)
        )
        slopes = transform(tinyjax.grad(lambda xs: tinyjax.vmap(branch, axis_name="i")(xs).sum()))(
            xs
        )
        np.testing.assert_allclose(chosen, np.where(xs > 0, np.sum(xs**2), xs))
        np.testing.assert_allclose(ended, xs + 2 * np.ceil((3 - xs) / 2))
        sums = np.sum(xs) + 4 * xs
        np.testing.assert_allclose(
            nested, np.where(np.outer(xs, xs) > 0, sums[None, :], xs[:, None])
        )
        np.testing.assert_allclose(slopes, (xs < 0) + 2 * np.sum(xs > 0) * xs)


# Carries


@pytest.mark.usefixtures("each_tier")
def test_carries_are_typed_as_in_jax() -> None:
    def programs(m: Any) -> dict[str, Any]:
        half = m.np.ones(3, "float16")
        return {
            "weak float meets float16": m.lax.scan(lambda c, x: (c * x, c), 1.0, half),
            "weak int becomes float": m.lax.scan(lambda c, x: (c + 0.5, x), 0, half),
            "weak stays": m.lax.scan(lambda c, _: (c + 1, c), 0, None, 2),
            "strong stays": m.lax.while_loop(lambda c: c < 3, lambda c: c + 1, m.np.int8(0)),
            "while": m.lax.while_loop(lambda c: c < 9, lambda c: c * half[0] + 1, 0),
            "fori_loop": m.lax.fori_loop(0, 3, lambda i, c: c + i, 0),
        }

    ours, theirs = programs(OURS), programs(THEIRS)
    for name, value in ours.items():
        for a, b in zip(tree.leaves(value), jax.tree.leaves(theirs[name]), strict=True):
            assert (a.shape, a.dtype.name) == (b.shape, b.dtype.name), name
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b), name)


@pytest.mark.usefixtures("each_tier")
def test_branches_are_promoted_to_a_common_dtype() -> None:
    """Branches may return an int and a float, which jax refuses."""
    choose: Any = lax.cond
    found = tinyjax.jit(lambda p: choose(p, lambda: 1, lambda: 2.5))(True)
    assert (float(found), found.dtype.name, found.weak_type) == (1.0, "float32", True)
    for numbers in ((1, np.int32(2)), (np.int32(2), 1)):  # of one dtype, the first has its way
        ours, theirs = [
            m.jit(lambda p, x, y: m.lax.cond(p, lambda: y, lambda: x))(True, *numbers)  # noqa: B023
            for m in (tinyjax, jax)
        ]
        assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)
    ints, floats = jnp.arange(2), jnp.ones(2, "float16")
    joined = tinyjax.jit(lambda i: lax.switch(i, [lambda: ints, lambda: floats, lambda: ints]))(0)
    assert (joined.dtype.name, str(joined)) == ("float16", "[0. 1.]")


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("transposed", [False, True])
def test_joined_branches_under_transformations(transposed: bool) -> None:
    """int32 with float32, weak with not weak, float32 with float64; either branch first."""

    def fun(x: Any, n: Any) -> Any:
        def whole() -> Any:
            return n, 2, {"x": x}, n > 0

        def real() -> Any:
            return x * 1.5, jnp.float16(0.5), {"x": x.astype("float64") ** 2}, 3.0

        branches: list[Any] = [real, whole] if transposed else [whole, real]
        return lax.switch((x > 0).astype("int32"), branches)

    def total(x: Any, n: Any) -> Any:
        return sum(tree.leaves(fun(x, n)))

    first, second = np.float32(-2.0), np.float32(2.0)
    n = np.int32(7)
    for x in (first, second):
        takes_real = (x > 0) != transposed
        y = float(x)
        expected = [1.5 * y, 0.5, y * y, 3.0] if takes_real else [7.0, 2.0, y, 1.0]
        slope = 1.5 + 2 * x if takes_real else 1.0
        out = tinyjax.jit(fun)(x, n)
        assert [a.dtype.name for a in tree.leaves(out)] == [
            "float32",
            "float16",
            "float64",
            "float32",
        ]
        np.testing.assert_allclose([float(a) for a in tree.leaves(out)], expected)
        np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(total))(x, n), slope)
        np.testing.assert_allclose(tinyjax.grad(tinyjax.jit(total))(x, n), slope)
        many = np.array([first, second]), np.array([n, n])
        place = int(x > 0)
        for found in (tinyjax.vmap(fun)(*many), tinyjax.jit(tinyjax.vmap(fun))(*many)):
            np.testing.assert_allclose([float(a[place]) for a in tree.leaves(found)], expected)
        slopes = tinyjax.jit(tinyjax.vmap(tinyjax.grad(total)))(*many)
        np.testing.assert_allclose(slopes[place], slope)


def test_lengths_and_empty_loops() -> None:
    def iteration(c: Any, x: Any) -> Any:
        return c + x, x

    total, ys = lax.scan(iteration, 0.0, jnp.zeros((0,)))
    assert float(total) == 0.0
    assert ys.shape == (0,)
    assert float(lax.fori_loop(5, 2, lambda i, c: c + 1, 7.0)) == 7.0
    assert lax.scan(lambda c, _: (c, ()), (), None, 3) == ((), ())
    assert float(lax.scan(iteration, 0.0, jnp.arange(4.0), length=4)[0]) == 6.0
    assert lax.map(lambda x: x, jnp.zeros((0, 2)), batch_size=3).shape == (0, 2)


@pytest.mark.usefixtures("each_tier")
def test_bounds_that_are_floats() -> None:
    def total(lower: Any, upper: Any, x: Any) -> Any:
        i = lower
        while i < upper:
            x, i = 2 * x * upper + i, i + 1
        return x

    def loop(lower: Any, upper: Any, x: Any) -> Any:
        return lax.fori_loop(lower, upper, lambda i, x: 2 * x * upper + i, x)

    for args in ((0.5, 3.2, 1.0), (0.0, 3.0, 2.0), (2.0, 1.0, 3.0)):
        expected = total(*args)
        assert float(loop(*args)) == pytest.approx(expected)
        assert float(tinyjax.jit(loop)(*args)) == pytest.approx(expected)
        slopes = tinyjax.grad(loop, (0, 1, 2))(*args)
        np.testing.assert_allclose(slopes, jax.grad(total, (0, 1, 2))(*args), rtol=1e-5)


@pytest.mark.usefixtures("each_tier")
def test_a_loop_that_is_unrolled_in_full_is_none() -> None:
    def program(unroll: int | bool, xs: Any) -> str:
        scan = tinyjax.jit(lambda x: lax.scan(lambda c, x: (c + x, c), 0.0, x, unroll=unroll))
        return scan.lower(xs).as_text()

    xs = np.ones(5, np.float32)
    assert "while" in program(2, xs)
    assert not any("while" in program(unroll, xs) for unroll in (True, 5, 3))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("unroll", [1, 2, 3, 7, 100, True, False])
@pytest.mark.parametrize("reverse", [False, True])
def test_unrolling_changes_nothing(unroll: int | bool, reverse: bool) -> None:
    def run(m: Any, **options: Any) -> Any:
        return m.lax.scan(lambda c, x: (c * 2 + x, c), 1, np.arange(7), reverse=reverse, **options)

    same(run(OURS, unroll=unroll), run(THEIRS))


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_associative_scan(size: int) -> None:
    x = np.random.default_rng(size).standard_normal((2, size, 2, 2)).astype(np.float32)
    for reverse in (False, True):
        found = lax.associative_scan(jnp.matmul, x, reverse, axis=1)
        expected = jax.lax.associative_scan(jax.numpy.matmul, x, reverse, axis=1)
        np.testing.assert_allclose(found, expected, 2e-4, 1e-5)


# Work


def depth_of_conds(depth: int) -> Callable[[Any], Any]:
    if not depth:
        return jnp.sin
    inner = depth_of_conds(depth - 1)
    return lambda x: lax.cond(x > depth, lambda x: jnp.sin(inner(x)), lambda x: x * 2.0, x)


def depth_of_scans(depth: int) -> Callable[[Any], Any]:
    if not depth:
        return jnp.sin
    inner = depth_of_scans(depth - 1)
    return lambda x: lax.scan(lambda c, _: (jnp.sin(inner(c)), None), x, None, 1)[0]


def depth_of_sums(depth: int) -> Callable[[Any], Any]:
    """Every loop starts from a Python number, and is promoted."""
    if not depth:
        return jnp.sin
    inner = depth_of_sums(depth - 1)
    return lambda x: lax.scan(lambda c, _: (c + inner(x), None), 0.0, None, 1)[0]


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Count the equations that are recorded while a function is staged."""
    counts: list[int] = []
    record = Recorder.record

    def counted(self: Any, *args: Any) -> Any:
        counts[-1] += 1
        return record(self, *args)

    def count(fun: Callable[..., Any], *args: Any) -> int:
        counts.append(0)
        tinyjax.make_jaxpr(fun)(*args)
        return counts[-1]

    monkeypatch.setattr(Recorder, "record", counted)
    return count


FIRST_ORDER: dict[str, Any] = {
    "itself": lambda f: f,
    "jvp": lambda f: lambda x: tinyjax.jvp(f, (x,), (x,)),
    "grad": tinyjax.grad,
    "vmap": tinyjax.vmap,
    "grad of vmap": lambda f: tinyjax.grad(lambda x: tinyjax.vmap(f)(x).sum()),
}
SECOND_ORDER: dict[str, Any] = {"grad of grad": lambda f: tinyjax.grad(tinyjax.grad(f))}
# depth_of_sums has in its second order a residual of each level at every level above it
WORK = [
    *((nest, name) for nest in (depth_of_conds, depth_of_scans) for name in SECOND_ORDER),
    *(
        (nest, name)
        for nest in (depth_of_conds, depth_of_scans, depth_of_sums)
        for name in FIRST_ORDER
    ),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("nest", "name"), WORK)
def test_work_is_linear_in_depth(nest: Any, name: str, recorded: Callable[..., int]) -> None:
    transform = (FIRST_ORDER | SECOND_ORDER)[name]
    given = np.ones(2 if "vmap" in name else (), np.float32)
    few, many = (recorded(transform(nest(depth)), given) for depth in (32, 64))
    assert many <= 2.2 * few


@pytest.mark.parametrize("bound", [None, 4])
def test_what_an_iteration_broadcasts_is_kept_as_it_was_before(bound: int | None) -> None:
    def step(total: Any, x: Any) -> Any:
        return total + 0.01 * jnp.sum(jnp.sin(x * total)[:, None] * jnp.cos(x * total))

    def summed(xs: Any) -> Any:
        if bound is None:
            return lax.scan(lambda total, x: (step(total, x), None), 1.0, xs)[0]
        outer = lambda i, t: lax.fori_loop(0, i + 1, lambda k, t: step(t, xs[k]), t)  # noqa: E731
        return lax.fori_loop(0, bound, outer, 1.0)

    xs = jnp.linspace(0.1, 0.3, 20).reshape(4, 5)
    program = tinyjax.make_jaxpr(tinyjax.grad(tinyjax.jit(summed)))(xs)
    assert not re.search(r"float32\[4,(4,)?5,5\]", str(program))
    with tinyjax.default_dtypes("float64"):
        check_grads(summed, (xs,), order=2, modes=("rev",))


def test_residuals_are_shared_and_invariants_kept_out_of_the_loop() -> None:
    def loss(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, y: (jnp.sin(c) * jnp.cos(w) * y, None), x, jnp.arange(5.0))[0]

    jaxpr = tinyjax.make_jaxpr(tinyjax.grad(loss))(1.0, 2.0).jaxpr
    forward, _ = [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]
    # the carry's sine and cosine are stacked; the input itself, and the cosine of w, are not
    assert len(forward.out_binders) <= 5
    typecheck_jaxpr(jaxpr)


def test_indices_of_conditionals_are_no_residuals() -> None:
    def loss(x: Any) -> Any:
        def step(y: Any, k: Any) -> Any:
            places = (2 * k + 1) % 7, (k * k) % 7
            write = lambda y: y.at[places[0]].multiply(jnp.sin(y[places[1]]) * y[k % 7])  # noqa: E731
            return lax.cond(k % 3 == 0, lambda y: y, write, y), None

        return lax.scan(step, x, jnp.arange(12))[0].sum()

    xs = jnp.linspace(0.5, 1.0, 7)
    jaxpr = tinyjax.make_jaxpr(tinyjax.grad(loss))(xs).jaxpr
    typecheck_jaxpr(jaxpr)
    forward, _ = [eqn for eqn in jaxpr.eqns if eqn.primitive is scan_p]
    assert not [v for v in forward.out_binders if v.aval.dtype.kind == "i" and v.aval.shape]
    with tinyjax.default_dtypes("float64"):
        check_grads(loss, (jnp.linspace(0.5, 1.0, 7),), order=2, modes=("rev",))


# Errors

HERE = re.compile(r"[^\s(]*test_control_flow\.py:\d+")


@attrs.frozen
class Mistake:
    run: Callable[[], object]
    error: type[TinyjaxError]
    message: str


def cut(c: Any, x: Any) -> Any:
    return c[:1], None


def widen(c: Any, x: Any) -> Any:
    return {"n": c["n"], "w": [c["w"][0] + x]}, x


def to_float(n: Any) -> Any:
    return n + 0.5


def matrix(x: Any) -> Any:
    return {"a": x, "b": jnp.ones((2, 2))}


def vector(x: Any) -> Any:
    return {"a": x, "b": jnp.ones(2)}


def more(x: Any) -> Any:
    return {**vector(x), "c": x}


def lengthen(c: Any, x: Any) -> Any:
    w, rest = c["w"]
    return {"n": c["n"], "w": (w, rest * 2)}, x


def pair(x: Any) -> Any:
    return x, x


def in_a_tuple(x: Any) -> Any:
    return (x > 0,)


#: Passed where a function is taken.
NO_FUNCTION: Any = 3


def alone(x: Any) -> Any:
    return x


def as_integers(x: Any, y: Any) -> Any:
    return (x + y).astype(int)


def no_pair(c: Any, x: Any) -> Any:
    return c


def positive(x: Any) -> Any:
    return x > 0


def number(x: Any) -> Any:
    return x


MISTAKES = {
    "branches of different shapes": Mistake(
        lambda: tinyjax.jit(lambda p: lax.cond(p, matrix, vector, 1.0))(True),
        BranchTypeError,
        "cond branches must have equal output types but they differ. The output of true_fun at "
        "path ['b'] has type float32[2,2] but the corresponding output of false_fun has type "
        "float32[2], so the shapes do not match. true_fun is matrix (HERE) and false_fun is "
        "vector (HERE). Reshape or broadcast one of them.",
    ),
    "branches of different structures": Mistake(
        lambda: tinyjax.jit(lambda i: lax.switch(i, [alone, pair], 1.0))(1),
        BranchTypeError,
        "switch branch outputs must have the same pytree structure, but they differ: branch 0 "
        "output is a pytree leaf but branch 1 output is a tuple of length 2. branch 0 is alone "
        "(HERE) and branch 1 is pair (HERE). Make the containers, their keys and lengths equal.",
    ),
    "a carry of another dtype": Mistake(
        lambda: lax.scan(widen, {"n": 0, "w": [jnp.ones(2)]}, np.ones(3)),
        CarryTypeError,
        "scan body function carry input and carry output must have equal types, but they "
        "differ:\n\nThe input carry component c['w'][0] has type float32[2] but the "
        "corresponding output carry component has type float64[2], so the dtypes do not "
        "match.\n\nThe body function is widen (HERE). Return it as .astype('float32'), or start "
        "with an array of dtype float64. NumPy makes float64 of what has no dtype, np.ones(3) "
        "and np.sqrt(2): name a dtype, make a number Python's by float(...), or switch 64-bit "
        "types off (jax_enable_x64).",
    ),
    "a carry of another shape": Mistake(
        lambda: lax.scan(cut, jnp.ones(3), None, 2),
        CarryTypeError,
        "scan body function carry input and carry output must have equal types, but they "
        "differ:\n\nThe input carry c has type float32[3] but the corresponding output carry "
        "component has type float32[1], so the shapes do not match.\n\nThe body function is cut "
        "(HERE). Return an array of the shape it had, or start with one of the new shape.",
    ),
    "a state of another dtype": Mistake(
        lambda: lax.while_loop(positive, to_float, np.int32(1)),
        CarryTypeError,
        "while_loop body function carry input and carry output must have equal types, but they "
        "differ:\n\nThe input carry n has type int32[] but the corresponding output carry "
        "component has type float32[], so the dtypes do not match.\n\nThe body function is "
        "to_float (HERE). Return it as .astype('int32'), or start with an array of dtype float32.",
    ),
    "a branch with another key": Mistake(
        lambda: tinyjax.jit(lambda p: lax.cond(p, matrix, more, 1.0))(True),
        BranchTypeError,
        "cond branch outputs must have the same pytree structure, but they differ: true_fun "
        "output is a dict without ['c'] but false_fun output is a dict with keys ['c']. true_fun "
        "is matrix (HERE) and false_fun is more (HERE). Make the containers, their keys and "
        "lengths equal.",
    ),
    "a part of the carry of another structure": Mistake(
        lambda: lax.scan(lengthen, {"n": 0, "w": (jnp.ones(2), [1.0])}, np.ones(3)),
        CarryTypeError,
        "scan body function carry input and carry output must have the same pytree structure, "
        "but they differ:\n\nThe input carry component c['w'][1] is a list of length 1 but the "
        "corresponding component of the carry output is a list of length 2.\n\nThe body function "
        "is lengthen (HERE). Make the containers, their keys and lengths equal.",
    ),
    "a state of another structure": Mistake(
        lambda: lax.while_loop(positive, pair, 1.0),
        CarryTypeError,
        "while_loop body function carry input and carry output must have the same pytree "
        "structure, but they differ:\n\nThe input carry x is a pytree leaf but the corresponding "
        "component of the carry output is a tuple of length 2.\n\nThe body function is pair "
        "(HERE). Make the containers, their keys and lengths equal.",
    ),
    "no pair": Mistake(
        lambda: lax.scan(no_pair, 1.0, None, 2),
        CarryTypeError,
        "scan body output must be a pair, got an array. Return (carry, None) from no_pair (HERE) "
        "where there is no output.",
    ),
    "a condition that is an array": Mistake(
        lambda: lax.while_loop(positive, alone, jnp.ones(3)),
        ArgumentError,
        "cond_fun must return a boolean scalar, but got output type(s) bool[3]. Change what "
        "positive (HERE), given to while_loop, returns: reduce it with jnp.any(...) or "
        "jnp.all(...), or compare: x != 0.",
    ),
    "a condition that is a number": Mistake(
        lambda: lax.while_loop(number, alone, 1.0),
        ArgumentError,
        "cond_fun must return a boolean scalar, but got output type(s) float32[]. Change what "
        "number (HERE), given to while_loop, returns: reduce it with jnp.any(...) or "
        "jnp.all(...), or compare: x != 0.",
    ),
    "a condition in a tuple": Mistake(
        lambda: lax.while_loop(in_a_tuple, alone, 1.0),
        ArgumentError,
        "cond_fun must return a boolean scalar, but got pytree PyTreeDef((*,)). Change what "
        "in_a_tuple (HERE), given to while_loop, returns: reduce it with jnp.any(...) or "
        "jnp.all(...), or compare: x != 0.",
    ),
    "a number for a branch": Mistake(
        lambda: lax.cond(True, alone, NO_FUNCTION, 1.0),
        ArgumentError,
        "false_fun of cond must be a function (callable), but got 3 (int).",
    ),
    "a predicate that is an array": Mistake(
        lambda: lax.cond(jnp.ones(2) > 0, alone, alone, 1.0),
        ArgumentError,
        "the predicate of cond must be a scalar, but it is bool[2]. For a choice element by "
        "element use jnp.where; for one over many examples use vmap.",
    ),
    "no length": Mistake(
        lambda: lax.scan(cut, 1.0),
        ArgumentError,
        "scan got no values to scan over and `length` not provided. Give length: how many times "
        "to run cut (HERE).",
    ),
    "inputs of different lengths": Mistake(
        lambda: lax.scan(cut, 1.0, {"a": jnp.ones(2), "b": jnp.ones((3, 2))}),
        ArgumentError,
        "scan got values with different leading axis sizes: xs['a'] has 2, xs['b'] has 3. They "
        "are what cut (HERE) goes over, and must be of one size along their first axes.",
    ),
    "a combination of another type": Mistake(
        lambda: lax.associative_scan(as_integers, jnp.ones(4)),
        ArgumentError,
        "as_integers (HERE) must return arrays of the types it is given, for associative_scan: "
        "float32[2], but it returned int32[2].",
    ),
    "traced bounds, unrolled": Mistake(
        lambda: tinyjax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c, 1, unroll=2))(3),
        ArgumentError,
        "Can only use `unroll` in `fori_loop` if the loop bounds are statically known, but they "
        "are traced. Leave out unroll, or give bounds that are Python numbers.",
    ),
}


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("name", MISTAKES)
def test_message(name: str) -> None:
    mistake = MISTAKES[name]
    with pytest.raises(mistake.error) as caught:
        mistake.run()
    assert HERE.sub("HERE", caught.value.message) == mistake.message
    assert caught.value.location is not None
    assert caught.value.location.filename == __file__


def test_an_operand_of_cond_that_can_be_called_is_one() -> None:
    @dataclasses.dataclass
    class Scale:
        factor: Any

        def __call__(self, x: Any) -> Any:
            return self.factor * x

    for m in (tinyjax, jax):
        m.tree_util.register_dataclass(Scale, ["factor"], [])
        found = m.lax.cond(True, lambda x, f: f(x), lambda x, f: x, 2.0, Scale(3.0))
        assert float(found) == 6.0


@pytest.mark.usefixtures("each_tier")
def test_cond_takes_its_only_operand_by_name() -> None:
    f = tinyjax.jit(lambda x: lax.cond(x > 0, jnp.sqrt, jnp.negative, operand=x))
    np.testing.assert_allclose([f(4.0), f(-3.0)], [2.0, 3.0])
    assert lax.cond(True, lambda x: x, lambda x: x, operand=None) is None
    both_ways: Any = lax.cond
    with raises(ArgumentError, match="got both"):
        both_ways(True, lambda x: x, lambda x: x, 1.0, operand=2.0)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("pred", [True, False])
def test_cond_with_an_operand_for_each_function(pred: bool) -> None:
    def choose(lib: Any, pred: Any) -> Any:
        return lib.lax.cond(pred, 2.0, lib.numpy.sin, {"x": 3.0}, lambda d: lib.numpy.cos(d["x"]))

    expected = choose(jax, pred)
    assert float(choose(tinyjax, pred)) == pytest.approx(float(expected))
    assert float(tinyjax.jit(lambda p: choose(tinyjax, p))(pred)) == pytest.approx(float(expected))


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("step", [1, 2**63, 2**64 - 1])
@pytest.mark.parametrize("change", [lax.add, lax.sub])
def test_a_counter_of_uint64(change: Any, step: int) -> None:
    """XLA ends the process where the step of a counter takes all 64 bits; of sub it negates it."""
    start, by = np.uint64(5), np.uint64(step)

    @tinyjax.jit
    def loop() -> Any:
        def turn(c: Any) -> Any:
            return change(c[0], jnp.asarray(by)), c[1] + 1

        return lax.while_loop(lambda c: c[1] < 3, turn, (jnp.asarray(start), 0))[0]

    with np.errstate(over="ignore"):
        wanted = start + 3 * by if change is lax.add else start - 3 * by
    assert int(loop()) == int(wanted)

    @tinyjax.jit
    def until() -> Any:
        stop = jnp.asarray(wanted)
        return lax.while_loop(
            lambda i: lax.ne(i, stop), lambda i: change(i, jnp.asarray(by)), jnp.asarray(start)
        )

    assert int(until()) == int(wanted)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_a_counter_that_is_doubled(dtype: str) -> None:
    """XLA ends the process where it looks for the step of a counter that is added to itself."""

    def powers(x: Any) -> Any:
        one = jnp.ones((), dtype)
        return lax.while_loop(lambda c: c[0] < 20, lambda c: (c[0] + c[0], c[1] * x), (one, x))

    count, product = tinyjax.jit(powers)(2.0)
    assert (int(count), count.dtype, float(product)) == (32, np.dtype(dtype), 64.0)


def test_numpys_integers_and_bools_are_numbers_where_these_are_asked_for() -> None:
    def counted(m: Any, three: Any, one: Any, true: Any) -> Any:
        def step(carry: Any, x: Any) -> Any:
            return carry + x, carry

        xs = m.numpy.arange(3.0)
        scanned = m.lax.scan(step, 0.0, xs, length=three, unroll=one, reverse=true)
        slope = m.grad(lambda x, y: x * y**2, argnums=one)(2.0, 3.0)
        return *scanned, slope, m.vmap(m.numpy.sum, in_axes=one)(m.numpy.ones((2, 3)))

    expected = counted(jax, 3, 1, True)
    for kinds in ((np.int32(3), np.int64(1), np.bool_(True)), (np.uint8(3), np.int8(1), True)):
        for found, other in zip(counted(tinyjax, *kinds), expected, strict=True):
            np.testing.assert_array_equal(found, other)
    wrong: Any = np.float32(3)
    with raises(ArgumentError, match="length of scan must be int or None"):
        tinyjax.lax.scan(lambda c, _: (c, None), 0, None, length=wrong)


@pytest.mark.usefixtures("each_tier")
@pytest.mark.parametrize("choose", ["cond", "switch"])
@pytest.mark.parametrize("how", ["eager", "jit"])
def test_a_function_for_several_branches_is_traced_once(choose: str, how: str) -> None:
    def calls(m: Any) -> int:
        count = 0

        def outer(p: Any, x: Any) -> Any:
            def f(y: Any) -> Any:
                nonlocal count
                count += 1
                return x * y

            if choose == "cond":
                return m.lax.cond(p, f, f, x)
            return m.lax.switch(m.numpy.int32(p), [f, f, f], x)

        (m.jit(outer) if how == "jit" else outer)(True, 2.0)
        return count

    assert calls(tinyjax) == calls(jax) == 1
