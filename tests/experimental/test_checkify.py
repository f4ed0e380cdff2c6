"""Errors as values, against jax's checkify: the same programs, and what their errors say."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.experimental.checkify as theirs
import numpy as np
import pytest

import tinyjax
import tinyjax.experimental.checkify as ours
from raising import raises
from tinyjax.errors import ArgumentError, CheckFailedError, ConcretizationError

CHECKS = ("user", "nan", "index", "div", "float", "automatic", "all")


def log(m: Any, c: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        c.check(x > 0, "must be positive, but is {x}: {}", x + 1, x=x)
        return m.numpy.log(x)

    return f


def nested(m: Any, c: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        error, y = c.checkify(log(m, c))(x)
        c.check_error(error)
        return y

    return f


def loop(m: Any, c: Any) -> Callable[[Any], Any]:
    def body(n: Any) -> Any:
        c.check(n != 4, "n is {}", n)
        return n + 1

    return lambda x: m.lax.while_loop(lambda n: n < 6, body, m.numpy.int32(x))


def condition(m: Any, c: Any) -> Callable[[Any], Any]:
    def goes_on(n: Any) -> Any:
        c.check(n != 4, "n is {}", n)
        return n < 6

    return lambda x: m.lax.while_loop(goes_on, lambda n: n + 1, m.numpy.int32(x))


def branches(m: Any, c: Any) -> Callable[[Any], Any]:
    def small(x: Any) -> Any:
        c.check(x > 1, "small: {}", x)
        return x

    def large(x: Any) -> Any:
        c.check(x < 9, "large")
        return 1 / (x - 5)

    return lambda x: m.lax.cond(x > 2, large, small, x)


def scanned(m: Any, c: Any) -> Callable[[Any], Any]:
    return lambda x: m.lax.scan(lambda s, y: (s + log(m, c)(y - x), s), 0.0, m.numpy.arange(4.0))


def custom(m: Any, c: Any) -> Callable[[Any], Any]:
    f = m.custom_jvp(lambda x: 1 / x)
    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    return lambda x: f(x - 2)


PROGRAMS: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
    "log": log,
    "nested": nested,
    "loop": loop,
    "condition": condition,
    "branches": branches,
    "scan": scanned,
    "custom": custom,
    "divide": lambda m, c: lambda x: 1 / x,
    "zero by zero": lambda m, c: lambda x: m.numpy.sin(x) / x,
    "divide integers": lambda m, c: lambda x: 7 // m.numpy.int32(x),
    "index": lambda m, c: lambda x: m.numpy.arange(3.0)[m.numpy.int32(x)],
    "indices": lambda m, c: lambda x: m.numpy.ones((3, 4))[
        m.numpy.int32(x) + m.numpy.arange(2), 1
    ],
    "set": lambda m, c: lambda x: m.numpy.arange(3.0).at[m.numpy.int32(x)].set(1.0),
    "add": lambda m, c: lambda x: m.numpy.arange(3.0).at[m.numpy.int32(x) + np.arange(2)].add(1.0),
    "slice": lambda m, c: lambda x: m.lax.dynamic_slice(
        m.numpy.arange(5.0), (m.numpy.int32(x),), (3,)
    ),
    "update": lambda m, c: lambda x: m.lax.dynamic_update_slice(
        m.numpy.arange(5.0), m.numpy.ones(3), (m.numpy.int32(x),)
    ),
    "two": lambda m, c: lambda x: (m.numpy.sqrt(x - 3), 1 / x),
    "checkpoint": lambda m, c: m.checkpoint(log(m, c)),
    "jit": lambda m, c: m.jit(log(m, c)),
    "grad": lambda m, c: m.grad(log(m, c)),
    "debug": lambda m, c: lambda x: (c.debug_check(x > 0, "not {}", x), x)[1],
}  # fmt: skip

#: Each takes the module, the function that gives errors, and a number.
WAYS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "eager": lambda m, f, x: f(x),
    "jit": lambda m, f, x: m.jit(f)(x),
    "vmap": lambda m, f, x: m.vmap(f)(m.numpy.stack([x, x + 1, x])),
}

#: What is differentiable is a float; loops over integers are not differentiated.
NOT_DIFFERENTIABLE = ("loop", "condition", "divide integers")


def message(c: Any, m: Any, program: str, way: str, checks: str, x: float) -> Any:
    f = c.checkify(PROGRAMS[program](m, c), errors=getattr(c, f"{checks}_checks"))
    error, value = WAYS[way](m, f, m.numpy.float32(x))
    return error.get(), m.tree.map(np.asarray, value)


def flat(value: Any) -> Any:
    return np.concatenate([np.ravel(x) for x in jax.tree.leaves(value)])


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_errors_are_those_of_jax(program: str, way: str) -> None:
    every = way != "eager" and program != "nested"  # of several jax names the innermost
    for checks in ("all",) if every else ("user", "float", "index"):
        for x in (-1.0, 0.0, 2.0, 3.0, 10.0):
            if program in ("index", "indices", "set", "add") and x < 0:
                continue  # jax says what became of an index, tinyjax what it was
            got = message(ours, tinyjax, program, way, checks, x)
            if way == "vmap" and program in ("loop", "condition"):  # which jax cannot map
                assert (got[0] is None) == (x > 4 or checks != "all")
                continue
            expected = message(theirs, jax, program, way, checks, x)
            assert got[0] == expected[0], (checks, x)
            np.testing.assert_allclose(flat(got[1]), flat(expected[1]), rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in NOT_DIFFERENTIABLE])
def test_what_is_checked_is_differentiable(program: str) -> None:
    def total(m: Any, c: Any) -> Any:
        f = c.checkify(PROGRAMS[program](m, c), errors=c.all_checks)

        def checked(x: Any) -> Any:
            error, value = f(x)
            return sum(y.sum() for y in m.tree.leaves(value)), error

        derivative, error = m.jit(m.grad(checked, has_aux=True))(m.numpy.float32(4.0))
        return float(derivative), error.get()

    got, expected = total(tinyjax, ours), total(jax, theirs)
    assert got[0] == pytest.approx(expected[0], rel=1e-5)
    assert got[1] == expected[1]


def test_a_rule_for_reverse_mode_is_kept() -> None:
    f = tinyjax.custom_vjp(log(tinyjax, ours))
    f.defvjp(lambda x: (f(x), x), lambda x, ct: (3 * ct / x,))

    def checked(x: Any) -> Any:
        error, value = ours.checkify(lambda x: f(x - 2), errors=ours.all_checks)(x)
        return value, error

    gradient: Any = tinyjax.grad(checked, has_aux=True)
    for g in (gradient, tinyjax.jit(gradient)):
        derivative, error = g(4.0)
        assert float(derivative) == 1.5
        assert error.get() is None
        assert "must be positive, but is -1.0" in g(1.0)[1].get()


def test_checks_of_mapped_examples() -> None:
    for m, c in ((tinyjax, ours), (jax, theirs)):
        xs = m.numpy.array([1.0, -1.0, 2.0])
        error, _ = c.checkify(m.vmap(log(m, c)))(xs)
        assert error.get() == "must be positive, but is -1.0: 0.0 (`check` failed)"
        error, _ = c.checkify(m.vmap(branches(m, c)))(xs)
        assert error.get() is not None


def test_errors_outside_of_checkify() -> None:
    for m, c in ((tinyjax, ours), (jax, theirs)):
        x = m.numpy.float32(-1.0)
        with raises(c.JaxRuntimeError, match="must be positive, but is"):
            log(m, c)(x)
        with raises(c.JaxRuntimeError, match="must be positive"):
            nested(m, c)(x)
        with raises(c.JaxRuntimeError, match="must be positive"):
            c.checkify(log(m, c))(x)[0].throw()
        with raises(ValueError, match="check"):
            m.jit(log(m, c))(x)
        c.debug_check(False, "nothing")
        c.init_error.throw()
        assert c.init_error.get() is None


def test_an_error_names_the_line() -> None:
    error, _ = ours.checkify(log(tinyjax, ours))(-1.0)
    with pytest.raises(CheckFailedError) as found:
        error.throw()
    assert found.value.location is not None
    assert found.value.location.function == "log.<locals>.f"


def outcome(m: Any, c: Any, x: Any) -> Any:
    return c.checkify(log(m, c))(x)[0].get()


@pytest.mark.wrong_types
def test_what_is_refused() -> None:
    for c, m in ((ours, tinyjax), (theirs, jax)):
        refused: list[Callable[[], Any]] = [
            partial(c.check, np.array([True]), "no scalar"),
            partial(c.check, 1, "no bool"),
            partial(c.check, True, "{}", "a string"),
            partial(c.check_error, 3),
        ]
        for call in refused:
            with pytest.raises((TypeError, ValueError)):
                call()
        with pytest.raises((ConcretizationError, jax.errors.ConcretizationTypeError)):
            m.jit(partial(outcome, m, c))(1.0)
    with raises(ArgumentError, match="errors"):
        ours.checkify(log(tinyjax, ours), errors=3)  # type: ignore[arg-type]


def test_messages_show_arrays() -> None:
    """Of any dtype, within containers and by format, as jax's show them."""
    for c, m in ((ours, tinyjax), (theirs, jax)):

        def f(x: Any, key: Any, c: Any = c) -> None:
            c.check(x[0] > 0, "{x} {t} {y:.2f} {}", key, x=x, t={"a": x, "b": x[0]}, y=x[1])

        given = m.numpy.array([-1.0, 2.0], "float32"), m.random.key(3)
        text = c.checkify(m.jit(f))(*given)[0].get()
        assert text.startswith(
            "[-1.  2.] {'a': Array([-1.,  2.], dtype=float32), 'b': Array(-1., dtype=float32)} 2.00"
        )
        assert "[0 3]" in text


def test_checks_of_arrays_on_devices() -> None:
    """Outside of programs they raise at once, and so does what a program has found."""
    mesh = tinyjax.make_mesh((1,), ("x",))
    x = tinyjax.device_put(np.array([1.0, -1.0]), tinyjax.NamedSharding(mesh, tinyjax.P("x")))

    def positive(x: Any) -> None:
        ours.check(tinyjax.numpy.all(x > 0), "{} is not", x)

    error, _ = ours.checkify(tinyjax.jit(positive))(x)
    for refused in (partial(ours.check_error, error), partial(positive, x)):
        with raises(CheckFailedError, match=r"\[ 1. -1.\] is not"):
            refused()
    positive(x[:1])


def test_an_error_that_was_on_the_host_is_raised() -> None:
    error, _ = ours.checkify(lambda x: ours.check(x > 0, "x is {}", x))(-1.0)
    of_numpy = tinyjax.tree.map(np.asarray, error)
    with raises(CheckFailedError, match="x is -1"):
        ours.check_error(of_numpy)


def test_arguments_that_are_no_arrays() -> None:
    power = tinyjax.jit(lambda x, n: x**n, static_argnums=1)
    scaled = tinyjax.jit(lambda x, name: x * len(name), static_argnames="name")
    x = np.array([1, 2], np.float32)
    for f, args, named, expected in (
        (power, (x, 2), {}, x**2),
        (scaled, (x,), {"name": "abc"}, 3 * x),
        (lambda x, name: x * len(name), (x, "abc"), {}, 3 * x),
        (lambda f, x: f(x), (tinyjax.numpy.square, x), {}, x**2),
    ):
        both: Any = ours.checkify(f)
        error, found = both(*args, **named)
        assert error.get() is None
        np.testing.assert_allclose(found, expected)
    divided: Any = lambda x, n: x / n["by"]  # noqa: E731
    failing: Any = ours.checkify(divided, errors=[*ours.float_checks])
    assert "division by zero" in str(failing(x, {"by": 0})[0].get())


def repeated(x: Any, n: int) -> Any:
    ours.check(x[0] > 0, "must be positive, but is {}", x[0])
    return tinyjax.numpy.tile(x, n)


@partial(tinyjax.custom_jvp, nondiff_argnums=(1,))
def ruled(x: Any, n: int) -> Any:
    return repeated(x, n)


ruled.defjvp(lambda n, xs, ts: (repeated(xs[0], n), repeated(ts[0], n)))


@pytest.mark.parametrize(
    "fun",
    [
        repeated,
        ruled,
        tinyjax.jit(repeated, static_argnums=1),
        tinyjax.checkpoint(repeated, static_argnums=1),
        lambda x, n: repeated(x, n) if n else x,
        lambda x, n: 1 * tinyjax.jit(repeated, static_argnums=1)(x, n),
    ],
)
def test_functions_of_static_arguments(fun: Callable[..., Any]) -> None:
    """A Python int may be a size within the function, as on JAX."""
    x = np.array([1.0, 2.0], np.float32)
    checked: Any = ours.checkify(fun)
    for call in (checked, tinyjax.jit(checked, static_argnums=1)):
        error, found = call(x, 2)
        assert error.get() is None
        np.testing.assert_array_equal(found, np.tile(x, 2))
        assert "must be positive, but is -1" in str(call(-x, 2)[0].get())
