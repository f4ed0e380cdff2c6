"""Callbacks and effects: what is called, how often, in which order, and what becomes of errors."""

import linecache
import re
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import jax
import jax.experimental
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import (
    ShapeDtypeStruct,
    debug,
    error_if,
    grad,
    hessian,
    io_callback,
    jit,
    jvp,
    lax,
    make_jaxpr,
    pure_callback,
    vmap,
)
from tinyjax._extensions.callbacks import checks
from tinyjax._extensions.callbacks.common import VmapMethod
from tinyjax.core.stablehlo.lowering import Lowering
from tinyjax.core.stablehlo.types import SSAValue
from tinyjax.core.tracing.jaxpr import effects
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive, registry
from tinyjax.core.tracing.program_rules import dce
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.xla.backend import Backend
from tinyjax.errors import (
    ArgumentError,
    CallbackError,
    CheckFailedError,
    DifferentiationError,
    DtypeError,
    EffectOrderError,
    TinyjaxError,
)

SCALAR = ShapeDtypeStruct((), np.float32)


def eager(fun: Callable[..., Any]) -> Callable[..., Any]:
    return fun


both = pytest.mark.parametrize("mode", [eager, jit], ids=["eager", "jit"])


def host_sin(x: Any) -> Any:
    return np.sin(x)


def sin(x: Any) -> Any:
    return pure_callback(
        host_sin, x, x, vmap_method="sequential", derivative=lambda xs, ts: jnp.cos(xs[0]) * ts[0]
    )


def x3() -> Any:
    return jnp.array([0.0, 1.0, 2.0])


# Results


@both
def test_containers_go_in_and_out(mode: Callable[..., Any]) -> None:
    def on_host(pair: Any, *, c: Any) -> Any:
        assert all(type(x) is np.ndarray for x in (*pair, c))
        return {"sum": pair[0] + pair[1], "c": (c, None)}

    def f(a: Any, b: Any, c: Any) -> Any:
        return pure_callback(on_host, {"sum": a, "c": (c, None)}, (a, b), c=c)

    out = mode(f)(x3(), x3(), jnp.array(7))
    np.testing.assert_array_equal(out["sum"], [0, 2, 4])
    assert out["c"][0].dtype == np.int32
    assert out["c"][1] is None


RETURNED: dict[str, Callable[[Any], Any]] = {
    "a named tuple": np.linalg.eigh,
    "a list": lambda x: [x[0], x],
    "a dict": lambda x: {"a": x[0], "b": x},
    "with None": lambda x: (x[0], None, x),
}


@both
@pytest.mark.parametrize("call", ["pure_callback", "io_callback"])
@pytest.mark.parametrize("name", RETURNED)
def test_what_is_returned_fills_the_containers_declared(mode: Any, call: str, name: str) -> None:
    def run(library: Any, mode: Callable[..., Any]) -> Any:
        types = library.ShapeDtypeStruct((2,), "float32"), library.ShapeDtypeStruct((2, 2), "f4")
        made = getattr(library.experimental if call == "io_callback" else library, call)
        x = library.numpy.array([[2.0, 1.0], [1.0, 3.0]], "float32")
        return mode(lambda x: made(RETURNED[name], types, x))(x)

    ours, theirs = run(tinyjax, mode), run(jax, jax.jit if mode is jit else eager)
    assert type(ours) is type(theirs) is tuple
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@both
@pytest.mark.parametrize("method", [m.value for m in VmapMethod])
def test_vmap_methods_give_the_callback_what_jax_gives(mode: Any, method: Any) -> None:
    xs, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    seen: dict[str, list[Any]] = {"tinyjax": [], "jax": []}

    def run(package: Any, name: str, f: Callable[..., Any]) -> Any:
        def on_host(x: Any, y: Any) -> Any:
            seen[name].append((np.shape(x), np.shape(y)))
            missing = np.ndim(x) - np.ndim(y)
            return np.asarray(x) * np.reshape(y, (*np.shape(y), *[1] * missing))

        def one(x: Any, y: Any) -> Any:
            return package.pure_callback(on_host, x, x, y, vmap_method=method)

        return np.asarray(f(package.vmap(package.vmap(one, (0, None)), (0, 0)))(xs, y[:2]))

    got = run(tinyjax, "tinyjax", mode)
    np.testing.assert_array_equal(got, run(jax, "jax", jax.jit))
    np.testing.assert_array_equal(got, xs * y[0])
    assert seen["tinyjax"] == seen["jax"]


@both
def test_a_declared_derivative_serves_both_modes(mode: Callable[..., Any]) -> None:
    x = x3()

    def at_once(x: Any) -> Any:
        return sin(x).sum()

    def batched(x: Any) -> Any:
        return vmap(sin)(x).sum()

    np.testing.assert_allclose(mode(grad(at_once))(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(mode(vmap(grad(sin)))(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(mode(grad(batched))(x), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(mode(hessian(sin))(1.0), -np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(mode(lambda x: jvp(jit(sin), (x,), (x,))[1])(x), x * np.cos(x))


@both
def test_python_numbers_take_the_declared_type(mode: Callable[..., Any]) -> None:
    out = mode(lambda x: pure_callback(lambda _: 3, SCALAR, x))(x3())
    assert (out.dtype, float(out)) == (np.float32, 3.0)


@both
@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.complex128])
def test_without_wide_types_results_of_64_bits_are_narrowed(mode: Any, dtype: Any) -> None:
    def outcome(library: Any, mode: Callable[..., Any]) -> np.ndarray:
        declared = library.numpy.zeros(3, dtype)
        call = library.pure_callback
        out = mode(lambda x: call(lambda x: np.arange(3).astype(dtype) * x, declared, x))(2)
        return np.asarray(out)

    with tinyjax.enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # both say that the dtype is narrowed
        out, expected = outcome(tinyjax, mode), outcome(jax, jax.jit if mode is jit else eager)
    np.testing.assert_array_equal(out, expected, strict=True)


@both
def test_the_arguments_cannot_be_written_to(mode: Callable[..., Any]) -> None:
    def write(x: Any) -> Any:
        x[0] = 1
        return x

    with raises(ValueError, match="read-only"):
        mode(lambda x: pure_callback(write, x, x))(x3())


def test_the_result_may_be_written_to_afterwards() -> None:
    memory = np.zeros(3, np.float32)
    out = pure_callback(lambda: memory, memory)
    memory[:] = 1
    np.testing.assert_array_equal(out, 0)


def test_arguments_may_be_kept() -> None:
    arguments: list[Any] = []
    f = jit(lambda x: io_callback(arguments.append, None, x * 2))
    for i in range(20):
        f(jnp.full(1000, float(i)))
    assert [x[7] for x in arguments] == [2 * i for i in range(20)]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint64", "bfloat16", "float16", "float8_e5m2", "complex128"]
)
def test_types(dtype: str) -> None:
    x = jnp.array([0, 1, 1]).astype(dtype)
    out = jit(lambda x: pure_callback(lambda x: x[::-1], x, x))(x)
    assert out.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(out).astype(complex), [1, 1, 0])


def test_different_functions_are_different_programs() -> None:
    for i in range(3):
        out = jit(lambda x, i=i: pure_callback(lambda x: x + np.float32(i), x, x))(1.0)
        assert float(out) == 1 + i


def test_a_callback_lives_as_long_as_its_program() -> None:
    import gc

    f = jit(lambda x: pure_callback(lambda x: x + 1, x, x))
    f(1.0)
    gc.collect()
    assert float(f(2.0)) == 3


def test_functions_that_hold_nothing_and_methods_under_one_jit_compile_once() -> None:
    from tinyjax.core import xla

    class Model:
        def apply(self, x: Any) -> Any:
            return x

    def plain(factor: int) -> Callable[[Any], Any]:
        return lambda x: pure_callback(np.negative, x * factor, x)

    model = Model()

    def method(x: Any) -> Any:
        return pure_callback(model.apply, x, x)

    before = xla.cache_info().misses
    for _ in range(3):
        jit(plain(3), tier="compiled")(1.0)
        jit(method, tier="compiled")(1.0)
    assert xla.cache_info().misses == before + 2


# Effects


@both
@pytest.mark.parametrize("wrap", [eager, jit, grad, lambda f: jit(grad(f)), lambda f: grad(jit(f))])
def test_prints_once_and_in_order(mode: Any, wrap: Any, capsys: Any) -> None:
    def inner(x: Any) -> Any:
        debug.print("b {:.1f}", x, ordered=True)
        return 2 * x

    def f(x: Any) -> Any:
        debug.print("a {}", x, ordered=True)
        y = jit(inner)(x)
        debug.print("c {y} {name}", y=y, name="y", ordered=True)
        return y * x

    mode(wrap(f))(3.0)
    assert capsys.readouterr().out == "a 3.0\nb 3.0\nc 6.0 y\n"


@both
def test_unordered_calls_whose_results_are_not_used_are_made(mode: Any) -> None:
    seen: list[str] = []

    def note(x: Any) -> Any:
        seen.append("io")
        return x

    def f(x: Any) -> Any:
        io_callback(note, x, x)
        debug.callback(lambda: seen.append("debug"))
        io_callback(note, x, x)
        return x

    mode(f)(x3())
    assert sorted(seen) == ["debug", "io", "io"]


@both
def test_many_ordered_calls_keep_their_order(mode: Any) -> None:
    seen: list[int] = []

    def f(x: Any) -> Any:
        for i in range(40):
            tinyjax.io_callback(lambda i: seen.append(int(i)), None, i + 0 * x, ordered=True)
        return x

    mode(f)(jnp.array(1))
    assert seen == list(range(40))


@both
def test_vmap_makes_one_call_for_each_example(mode: Any, capsys: Any) -> None:
    mode(vmap(lambda x, y: debug.print("{} {}", x, y), (0, None)))(x3(), 1.0)
    assert capsys.readouterr().out == "0.0 1.0\n1.0 1.0\n2.0 1.0\n"


def test_simplification_keeps_effects() -> None:
    def f(x: Any) -> Any:
        debug.print("{}", x)
        jit(lambda x: debug.print("{}", x))(x)
        debug.print("{}", x)
        pure_callback(host_sin, x, x)
        return x

    jaxpr = make_jaxpr(f)(1.0).jaxpr
    names = [eqn.primitive.name for eqn in dce(jaxpr).eqns]
    assert names == ["debug_callback", "jit", "debug_callback"]
    assert effects(jaxpr).any
    assert not effects(jaxpr).ordered


def test_a_format_that_does_not_fit_is_an_error() -> None:
    with raises(ArgumentError, match="does not use"):
        debug.print("x = 3", 3)
    with raises(ArgumentError, match="cannot fill in"):
        debug.print("{} {}", 3)


@pytest.mark.wrong_types
def test_a_format_must_be_a_string() -> None:
    with raises(ArgumentError, match="takes a format string"):
        debug.print(unchecked(3))


@both
def test_breakpoint_sees_the_callers_variables(mode: Any, monkeypatch: Any) -> None:
    seen: dict[str, Any] = {}
    lines: list[str] = []

    def stop() -> None:
        frame = sys._getframe(1)
        seen.update(frame.f_locals)
        lines.append(linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip())

    monkeypatch.setattr(sys, "breakpointhook", stop)

    def f(x: Any) -> Any:
        y = {"twice": 2 * x}
        word = "hello"
        debug.breakpoint()
        return y["twice"], word

    mode(lambda x: f(x)[0])(3.0)
    assert float(seen["y"]["twice"]) == 6
    assert seen["word"] == "hello"
    assert lines == ["debug.breakpoint()"]


# Errors


class HostError(Exception):
    pass


def failing(*_: Any) -> Any:
    raise HostError("from the callback")


@both
@pytest.mark.parametrize(
    "call",
    [
        lambda x: pure_callback(failing, x, x),
        lambda x: io_callback(failing, None, x),
        lambda x: debug.callback(failing, x, ordered=True),
    ],
)
def test_exceptions_reach_the_user_with_their_traceback(mode: Any, call: Any) -> None:
    with raises(HostError, match="from the callback") as caught:
        mode(call)(x3())
    assert caught.traceback[-1].name == "failing"


def test_a_program_works_again_after_an_error() -> None:
    fail = [True]
    f = jit(lambda x: pure_callback(lambda x: failing() if fail.pop() else x, x, x))
    with pytest.raises(HostError):
        f(1.0)
    fail.append(False)
    assert float(f(1.0)) == 1


@attrs.frozen
class Case:
    run: Callable[[], object]
    error: type[TinyjaxError]
    message: str


GOLDEN = [
    Case(
        lambda: pure_callback(lambda x: x[1:], x3(), x3()),
        CallbackError,
        "callback LAMBDA (FILE) returned at result an array of type float32[2], but float32[3] "
        "was declared in result_shape_dtypes. Return what was declared, with .astype(...) or "
        ".reshape(...) where needed, or declare what is returned.",
    ),
    Case(
        lambda: jit(lambda x: pure_callback(lambda x: {"a": x + 0.5 * np.ones(3)}, {"a": x}, x))(
            x3()
        ),
        CallbackError,
        "callback LAMBDA (FILE) returned at result['a'] an array of type "
        "float64[3], but float32[3] was declared in result_shape_dtypes. Return what was declared, "
        "with .astype(...) or .reshape(...) where needed, or declare what is returned.",
    ),
    Case(
        lambda: pure_callback(lambda x: (x, x), x3(), x3()),
        CallbackError,
        "callback LAMBDA (FILE) returned the structure PyTreeDef((*, *)), but "
        "result_shape_dtypes declares PyTreeDef(*). Return the containers that were declared.",
    ),
    Case(
        lambda: vmap(lambda x: pure_callback(host_sin, x, x))(x3()),
        CallbackError,
        "pure_callback of host_sin (FILE) is under vmap, but does not say what to do there. Pass "
        'vmap_method="sequential" to call it once for each example, "expand_dims" or '
        '"broadcast_all" to call it once with one axis more in front.',
    ),
    Case(
        lambda: vmap(lambda x: io_callback(host_sin, x, x, ordered=True))(x3()),
        CallbackError,
        "an ordered io_callback of host_sin (FILE) is under vmap, which does each step for all "
        "examples before the next, so that no order of the examples can be kept. Use "
        "ordered=False, or a loop in place of vmap.",
    ),
    Case(
        lambda: grad(jit(lambda x: pure_callback(host_sin, x, x)))(1.0),
        DifferentiationError,
        "pure_callback of host_sin (FILE) has no derivative: Python code cannot be differentiated. "
        "Declare one with pure_callback(..., derivative=...), wrap the function that makes the "
        "call in custom_jvp or custom_vjp, or put stop_gradient around the arguments.",
    ),
    Case(
        lambda: pure_callback(host_sin, 3, x3()),
        ArgumentError,
        "result_shape_dtypes must hold what has a shape and a dtype, such as "
        "ShapeDtypeStruct((3,), jnp.float32), but it holds 3 (int).",
    ),
    Case(
        lambda: error_if(x3(), x3(), "no"),
        DtypeError,
        "the predicate of error_if must be of type bool, but got float32[3]. Write a comparison, "
        "such as x < 0.",
    ),
    Case(
        lambda: jit(vmap(lambda x: error_if(x, x > 0.5, "too large")))(x3()),
        CheckFailedError,
        "too large (in 2 of 3 places, the first at index 1)",
    ),
]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case.message[:40])
def test_messages(case: Case) -> None:
    with pytest.raises(case.error) as caught:
        case.run()
    said = re.sub(re.escape(__file__) + r":\d+", "FILE", caught.value.message)
    said = re.sub(r"(<lambda>\.<locals>\.)*<lambda>", "LAMBDA", said)
    assert said == case.message
    assert caught.value.location is not None
    assert caught.value.location.filename == __file__


# error_if


@both
def test_error_if_passes_values_and_derivatives_through(mode: Any) -> None:
    def f(x: Any) -> Any:
        return error_if(x, x > 10, "too large") ** 2

    assert float(mode(f)(3.0)) == 9
    assert float(mode(grad(f))(3.0)) == 6
    np.testing.assert_array_equal(mode(vmap(grad(f)))(x3()), 2 * np.arange(3))
    for fun in (f, grad(f), grad(jit(f)), lambda x: vmap(f)(jnp.array([1.0, x]))):
        with raises(CheckFailedError, match="too large"):
            mode(fun)(11.0)


def test_python_is_called_for_a_check_that_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(checks, "_error_if_impl", lambda *_: seen.append(True))

    def body(k: Any, state: Any) -> Any:
        limit, x = state
        return limit, error_if(x, (k == limit) | (jnp.stack([x, x]) < 0), "the limit")

    loop = jit(lambda *state: lax.fori_loop(0, 50, body, state), tier="compiled")
    for limit, calls in ((100, 0), (7, 1)):
        loop(limit, 1.0)
        assert len(seen) == calls


# Control flow


@both
def test_inside_loops_and_branches(mode: Any) -> None:
    seen: list[tuple[str, float]] = []

    def note(name: str, x: Any, ordered: bool = True) -> None:
        debug.callback(lambda x: seen.append((name, float(x))), x, ordered=ordered)

    def body(carry: Any, x: Any) -> Any:
        note("scan", x)
        return carry + sin(x), pure_callback(lambda x: 2 * x, x, x)

    total, doubled = mode(lambda xs: lax.scan(body, jnp.zeros(()), xs))(x3())
    np.testing.assert_allclose(total, np.sin([0, 1, 2]).sum(), rtol=1e-6)
    np.testing.assert_array_equal(doubled, [0, 2, 4])
    assert seen == [("scan", 0), ("scan", 1), ("scan", 2)]

    seen.clear()

    def loop_body(x: Any) -> Any:
        note("first", x)
        note("second", x)
        return x + 1

    assert float(mode(lambda x: lax.while_loop(lambda x: x < 2, loop_body, x))(jnp.zeros(()))) == 2
    assert seen == [("first", 0), ("second", 0), ("first", 1), ("second", 1)]

    seen.clear()

    def branch(x: Any) -> Any:
        def yes(x: Any) -> Any:
            note("yes", x)
            return x

        def no(x: Any) -> Any:
            note("no", x)
            return -x

        return lax.cond(x > 0, yes, no, x)

    assert float(mode(branch)(jnp.array(3.0))) == 3
    assert seen == [("yes", 3)]


def _counted(note: Any, n: Any) -> Any:
    """Count up to a number: to be told how often what is called."""

    def goes_on(i: Any) -> Any:
        note("condition", n, i)
        return i < n

    def step(i: Any) -> Any:
        note("iteration", n, i)
        return lax.cond(i % 2 == 0, lambda i: (note("even", n, i), i + 1)[1], lambda i: i + 1, i)

    return lax.while_loop(goes_on, step, 0)


def _chosen(note: Any, n: Any) -> Any:
    branches = [lambda n, k=k: (note("branch", n, k + 0 * n), n + k)[1] for k in range(3)]
    return lax.switch(n, branches, n)


def _nested(note: Any, n: Any) -> Any:
    """A branch that maps, in a branch of what is mapped."""

    def each(k: Any) -> Any:
        return lax.cond(k < n, lambda k: (note("less", n, k), k)[1], lambda k: -k, k)

    return lax.cond(n > 1, lambda: vmap(each)(jnp.arange(4)).sum(), lambda: 0 * n)


def _scanned(note: Any, n: Any) -> Any:
    def step(total: Any, k: Any) -> Any:
        note("step", n, k)
        return total + k, None

    return lax.cond(n == 2, lambda: lax.scan(step, 0, jnp.arange(3))[0], lambda: 0 * n)


@pytest.mark.sampled(4)
@both
@pytest.mark.parametrize("kind", ["debug", "ordered", "io"])
@pytest.mark.parametrize("program", [_counted, _chosen, _nested, _scanned])
def test_an_example_calls_what_it_would_call_alone(mode: Any, kind: str, program: Any) -> None:
    seen: list[tuple[str, int, int]] = []

    def tell(name: str, n: Any, k: Any) -> None:
        seen.append((name, int(n), int(k)))

    def note(name: str, n: Any, k: Any) -> None:
        if kind == "io":
            tinyjax.io_callback(lambda n, k: tell(name, n, k), None, n, k)
        else:
            debug.callback(tell, name, n, k, ordered=kind == "ordered")

    examples = jnp.arange(4)
    found = mode(vmap(lambda n: program(note, n)))(examples)
    batched = sorted(seen)
    seen.clear()
    np.testing.assert_array_equal(found, [program(note, n) for n in examples])
    assert batched == sorted(seen)


@both
def test_derivatives_of_loops_with_callbacks(mode: Any) -> None:
    seen: list[float] = []

    def f(xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            debug.callback(lambda x: seen.append(float(x)), x)
            checked = error_if(x, x > 10, "too large")
            return carry + sin(checked), None

        return lax.scan(body, jnp.zeros(()), xs)[0]

    np.testing.assert_allclose(mode(grad(f))(x3()), np.cos([0, 1, 2]), rtol=1e-6)
    assert seen == [0, 1, 2]
    with raises(CheckFailedError, match="too large"):
        mode(grad(f))(20 * x3())


# The order of ordered callbacks, inside and outside of loops and branches


class Log:
    """A log of the arguments of callbacks, in the order of the calls."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def io(self, name: str, x: Any) -> Any:
        """Note a value, and return it, so that what follows may depend on the call."""

        def note(x: Any) -> Any:
            self.seen.append((name, int(x)))
            return x

        x = jnp.asarray(x)
        return io_callback(note, x, x, ordered=True)

    def __call__(self, name: str, x: Any) -> None:
        debug.callback(lambda x: self.seen.append((name, int(x))), x, ordered=True)


def around_a_scan(log: Log, n: Any) -> Any:
    def body(total: Any, i: Any) -> Any:
        log("a", i)
        total = total + log.io("b", i)
        return total, total

    log("before", n)
    total, _ = lax.scan(body, n, jnp.arange(3))
    log("between", total)
    total, _ = lax.scan(body, total, jnp.arange(5), reverse=True, unroll=2)
    return log.io("after", total)


def around_a_while(log: Log, n: Any) -> Any:
    def goes_on(i: Any) -> Any:
        log("condition", i)
        return i < n

    def body(i: Any) -> Any:
        log("body", i)
        return i + log.io("step", 1)

    log("before", n)
    i = lax.while_loop(goes_on, body, n * 0)
    i = lax.while_loop(lambda i: log.io("only here", i) < 3, lambda i: i + 1, i * 0)
    log("after", i)
    return i


def around_branches(log: Log, n: Any) -> Any:
    def quiet(i: Any) -> Any:
        return i

    def loud(i: Any) -> Any:
        log("branch", i)
        return i + 1

    def looping(i: Any) -> Any:
        log("loop", i)
        return lax.fori_loop(0, 2, lambda j, i: log.io("iteration", i + j), i)

    for i in range(3):
        log("before", i)
        n = lax.switch((n + i) % 3, [quiet, loud, looping], n)
    return lax.cond(n > 0, lambda: log.io("last", n), lambda: n)


def nested_loops(log: Log, n: Any) -> Any:
    @jit
    def inner(i: Any) -> Any:
        log("jitted", i)
        return lax.fori_loop(0, 2, lambda j, i: i + 0 * log.io("inner", 10 * i + j), i)

    def outer(i: Any, _: Any) -> Any:
        log("outer", i)
        i = inner(i)
        log("end", i)
        return i + 1, None

    log("before", n)
    n, _ = lax.scan(outer, n, None, 3)
    return inner(n)


def empty_loop(log: Log, n: Any) -> Any:
    log("before", n)
    n, _ = lax.scan(lambda c, _: (log.io("never", c), None), n, None, 0)
    n = lax.while_loop(lambda i: i < 0, lambda i: log.io("never", i), n)
    return log.io("after", n)


ORDERED = [around_a_scan, around_a_while, around_branches, nested_loops, empty_loop]


def in_python(monkeypatch: pytest.MonkeyPatch, program: Any) -> list[tuple[str, int]]:
    """The order in which Python comes to the calls, with Python's loops for ours."""

    def scan(f: Any, c: Any, xs: Any, length: int = 0, reverse: bool = False, **_: Any) -> Any:
        iterations = range(length) if xs is None else xs.tolist()
        for x in reversed(iterations) if reverse else iterations:
            c, _ = f(c, x)
        return c, None

    def while_loop(condition: Any, body: Any, c: Any) -> Any:
        while condition(c):
            c = body(c)
        return c

    def fori_loop(start: int, end: int, body: Any, c: Any) -> Any:
        for i in range(start, end):
            c = body(i, c)
        return c

    log = Log()
    with monkeypatch.context() as patch:
        for fun in (scan, while_loop, fori_loop):
            patch.setattr(lax, fun.__name__, fun)
        patch.setattr(sys.modules[__name__], "jit", eager)
        program(log, jnp.array(2))
    return log.seen


@pytest.mark.parametrize("program", ORDERED)
def test_ordered_calls_keep_their_order(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = in_python(monkeypatch, program)
    assert len({name for name, _ in expected}) > 1
    ways: list[Callable[[Any], Any]] = [eager, jit, lambda f: jit(jit(f))]
    for way in ways:
        log = Log()
        way(lambda n, log=log: program(log, n))(jnp.array(2))
        assert log.seen == expected
    log = Log()
    jit(grad(lambda x: x * program(log, x.astype(int))))(2.0)
    assert log.seen == expected


def test_a_region_that_loses_the_order_is_an_error() -> None:
    """A third party's primitive may lose the order."""
    quiet_p: Primitive[NoParams] = Primitive("quiet", NoParams)
    del registry["quiet"]  # a primitive of this test only
    quiet_p.def_abstract_eval(lambda avals, params: avals)

    @quiet_p.def_lowering
    def _lowering(b: Lowering, operands: Any, params: NoParams) -> Any:
        def body(_: list[SSAValue]) -> list[SSAValue]:
            b.host_call(lambda x: (), operands, b.results, True, True)
            return list(operands)

        return b.emit("stablehlo.case", operands, b.results, {}, [b.region((), body)])

    with raises(EffectOrderError, match=r"Return lowering\.token from the region"):
        jit(lambda x: bind1(quiet_p, (x,), NO_PARAMS))(jnp.array(0))


def test_ordered_results_feed_what_follows() -> None:
    """A counter on the host, read and written by each iteration."""
    count = [0]

    def tick(step: Any) -> Any:
        count[0] += int(step)
        return np.int32(count[0])

    struct = ShapeDtypeStruct((), np.int32)

    def f(n: Any) -> Any:
        first = io_callback(tick, struct, n, ordered=True)
        last, seen = lax.scan(
            lambda c, _: (io_callback(tick, struct, c, ordered=True), c), first, None, 4
        )
        return last, seen, io_callback(tick, struct, n, ordered=True)

    # each iteration adds what the last one returned: a count that doubles
    for expected in (1, 2):
        count[0] = 0
        last, seen, after = jit(f)(expected)
        np.testing.assert_array_equal(seen, expected * np.array([1, 2, 4, 8]))
        assert (int(last), int(after)) == (16 * expected, 17 * expected)


def test_prints_under_grad_of_a_scan_of_vmap(capsys: pytest.CaptureFixture[str]) -> None:
    """Once for each iteration and example, with primals, in order of the iterations."""

    def iteration(xs: Any, i: Any) -> Any:
        def one(x: Any) -> Any:
            debug.print("iteration {}: {:.0f}", i, x)
            return 2 * x

        return vmap(one)(xs), None

    def f(xs: Any) -> Any:
        return lax.scan(iteration, xs, jnp.arange(2))[0].sum()

    expected = "iteration 0: 1\niteration 0: 2\niteration 1: 2\niteration 1: 4\n"
    transforms: list[Callable[..., Any]] = [
        grad,
        lambda f: jit(grad(f)),
        lambda f: grad(jit(f)),
        lambda f: grad(tinyjax.checkpoint(f)),
        lambda f: lambda xs: jvp(f, (xs,), (xs,)),
    ]
    for transform in transforms:
        transform(f)(jnp.array([1.0, 2.0]))
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize(
    "transform",
    [
        vmap,
        lambda f: jit(vmap(f)),
        lambda f: vmap(jit(f)),
        lambda f: grad(lambda xs: vmap(f)(xs).sum()),
        lambda f: jit(vmap(jit(grad(f)))),
    ],
)
@pytest.mark.parametrize("kind", ["pure", "io", "debug"])
def test_an_exception_inside_a_scan_under_vmap(transform: Any, kind: str) -> None:
    def fail(x: Any) -> Any:
        if x > 2:
            raise HostError(float(x))
        return x

    def iteration(c: Any, _: Any) -> Any:
        match kind:
            case "pure":
                c = pure_callback(
                    fail, c, c, vmap_method="sequential", derivative=lambda xs, ts: ts[0]
                )
            case "io":
                io_callback(lambda x: (fail(x), None)[1], None, c)
            case _:
                debug.callback(fail, c)
        return c + 1, None

    def f(x: Any) -> Any:
        return lax.scan(iteration, x, None, 3)[0] ** 2  # a derivative needs the value

    with pytest.raises(HostError) as caught:
        transform(f)(jnp.array([0.0, 0.5]))
    assert caught.value.args == (2.5,)
    names = [entry.name for entry in caught.traceback]
    assert names[-1] == "fail"
    assert "test_an_exception_inside_a_scan_under_vmap" in names
    # the next call is not affected
    np.testing.assert_array_equal(vmap(f)(jnp.array([-1.0, -2.0])), [4, 1])


# Threads and re-entrance


def run_within(seconds: float, fun: Callable[[], Any], threads: int = 1) -> None:
    errors: list[BaseException] = []

    def run() -> None:
        try:
            fun()
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=run, daemon=True) for _ in range(threads)]
    for thread in started:
        thread.start()
    end = time.monotonic() + seconds
    for thread in started:
        thread.join(max(0.0, end - time.monotonic()))
        assert not thread.is_alive(), "it hangs"
    assert not errors, errors


def test_a_callback_may_run_compiled_programs_at_any_depth() -> None:
    big = jnp.ones((300, 300))

    def nest(depth: int) -> Any:
        if depth == 0:
            return jit(lambda x: (x @ x).sum())
        inner = nest(depth - 1)
        return jit(
            lambda x: pure_callback(
                lambda y: np.asarray(inner(jnp.asarray(y))), SCALAR, x @ x / 300
            )
        )

    run_within(60, lambda: float(nest(4)(big)), threads=4)


def test_a_callback_may_use_what_is_still_being_computed() -> None:
    big = jnp.ones((300, 300))
    step = jit(lambda x: x @ x / 300)

    def run() -> None:
        y = step(step(step(big)))
        f = jit(
            lambda x: sum(
                pure_callback(lambda i: np.asarray(y)[0, 0], SCALAR, (x @ x)[0, 0] + i)
                for i in range(6)
            )
        )
        np.testing.assert_allclose(f(y), 6, rtol=1e-3)

    run_within(60, run, threads=3)


def host_slope(x: Any) -> Any:
    """A callback that transforms and compiles: the slope of three sines, one after another."""
    sines = lambda x: lax.scan(lambda c, _: (jnp.sin(c), None), x, None, 3)[0]  # noqa: E731
    return np.asarray(jit(grad(sines))(float(x)), np.float32)


def slope_of_sines(x: Any) -> Any:
    return np.cos(np.sin(np.sin(x))) * np.cos(np.sin(x)) * np.cos(x)


def test_a_callback_may_transform_and_compile() -> None:
    def f(x: Any) -> Any:
        return pure_callback(host_slope, SCALAR, x, vmap_method="sequential")

    def looped(x: Any) -> Any:
        return lax.fori_loop(0, 2, lambda _, x: f(x), x)

    xs = np.array([0.5, -0.3, 1.0], np.float32)
    ways: list[tuple[Callable[..., Any], Any]] = [
        (f, slope_of_sines(0.5)),
        (jit(f), slope_of_sines(0.5)),
        (looped, slope_of_sines(slope_of_sines(0.5))),
        (jit(looped), slope_of_sines(slope_of_sines(0.5))),
    ]

    def run() -> None:
        for fun, expected in ways:
            np.testing.assert_allclose(fun(0.5), expected, rtol=1e-5)
            np.testing.assert_allclose(vmap(fun)(xs)[0], expected, rtol=1e-5)
            np.testing.assert_allclose(jit(vmap(fun))(xs)[0], expected, rtol=1e-5)

    run_within(60, run, threads=2)


def test_a_callback_may_call_the_function_it_is_called_by() -> None:
    """A recursion through the host, to an end; ordered effects of all levels come in order."""
    seen: list[int] = []

    @jit
    def factorial(n: Any) -> Any:
        debug.callback(lambda n: seen.append(int(n)), n, ordered=True)
        smaller = io_callback(
            lambda n: np.asarray(factorial(n - 1)) if n > 0 else np.int32(1), n, n, ordered=True
        )
        debug.callback(lambda n: seen.append(-int(n)), n, ordered=True)
        return lax.max(n, jnp.ones_like(n)) * smaller

    run_within(60, lambda: np.testing.assert_array_equal(factorial(np.int32(4)), 24))
    assert seen == [4, 3, 2, 1, 0, 0, -1, -2, -3, -4]


def test_too_deep_is_an_error() -> None:
    def f(x: Any) -> Any:
        return jit(lambda x: pure_callback(lambda y: np.asarray(f(jnp.asarray(y))), x, x))(x)

    with raises(CallbackError, match="more than 16 deep"):
        f(1.0)


def test_each_thread_gets_its_own_errors() -> None:
    def fail(x: Any) -> Any:
        raise HostError(float(x))

    f = jit(lambda x: pure_callback(fail, x, x))
    given = iter(range(100))

    def run() -> None:
        mine = float(next(given))
        for _ in range(10):
            with pytest.raises(HostError) as caught:
                f(mine)
            assert caught.value.args == (mine,)

    run_within(60, run, threads=4)


# With custom rules and checkpoints


@both
def test_a_checkpointed_function_with_a_callback(mode: Any) -> None:
    seen: list[float] = []

    def f(x: Any) -> Any:
        debug.callback(lambda x: seen.append(float(x)), x, ordered=True)
        return sin(error_if(x, x > 10, "too large"))

    f = tinyjax.checkpoint(f)
    np.testing.assert_allclose(mode(grad(f))(1.0), np.cos(1.0), rtol=1e-6)
    assert seen == [1.0]
    np.testing.assert_allclose(mode(vmap(grad(f)))(x3()), np.cos([0, 1, 2]), rtol=1e-6)
    with raises(CheckFailedError, match="too large"):
        mode(grad(f))(11.0)


#: Transformations of a function of a scalar, by a module of JAX's names.
OF_A_RULE: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda m, f: f(2.0),
    "jit": lambda m, f: m.jit(f)(2.0),
    "grad": lambda m, f: m.grad(f)(2.0),
    "grad of jit": lambda m, f: m.grad(m.jit(f))(2.0),
    "vmap": lambda m, f: m.vmap(f)(np.array([2.0, 3.0], np.float32)),
    "vmap of grad": lambda m, f: m.vmap(m.grad(f))(np.array([2.0, 3.0], np.float32)),
    "grad of scan": lambda m, f: m.grad(
        lambda x: m.lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]
    )(2.0),
    "grad of cond": lambda m, f: m.grad(lambda x: m.lax.cond(x > 0, f, lambda y: y, x))(2.0),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("way", OF_A_RULE)
@pytest.mark.parametrize("place", ["function", "forward", "backward", "jvp"])
def test_callbacks_in_custom_rules_are_called_as_in_jax(place: str, way: str) -> None:
    def calls(m: Any) -> list[float]:
        seen: list[float] = []

        def record(x: Any, name: str) -> Any:
            if name == place:
                m.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
            return x

        def square(x: Any) -> Any:
            return record(x, "function") ** 2

        if place == "jvp":
            f = m.custom_jvp(square)
            f.defjvp(lambda xs, ts: (f(*xs), 2 * record(xs[0], "jvp") * ts[0]))
        else:
            f = m.custom_vjp(square)
            f.defvjp(
                lambda x: (record(x, "forward") ** 2, x),
                lambda x, g: (2 * record(x, "backward") * g,),
            )
        OF_A_RULE[way](m, f)
        m.effects_barrier()
        return seen

    assert calls(tinyjax) == calls(jax)


@both
def test_a_derivative_by_custom_jvp(mode: Any) -> None:
    def host(fun: Any, x: Any) -> Any:
        return pure_callback(fun, x, x, vmap_method="expand_dims")

    f = tinyjax.custom_jvp(lambda x: host(np.sin, x))
    f.defjvp(lambda xs, ts: (f(xs[0]), host(np.cos, xs[0]) * ts[0]))
    for fun in (vmap(grad(f)), vmap(jit(grad(f))), grad(lambda x: vmap(f)(x).sum())):
        np.testing.assert_allclose(mode(fun)(x3()), np.cos([0, 1, 2]), rtol=1e-6)


def test_callbacks_beside_operations_of_other_dialects() -> None:
    """In a process without jax, which registers them for everybody."""
    program = (
        "import numpy as np, tinyjax, tinyjax.numpy as jnp\n"
        "f = lambda x: jnp.arcsin(tinyjax.pure_callback(np.sin, x, x))\n"
        "print(float(tinyjax.jit(f)(0.5)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stderr == ""
    assert float(done.stdout) == pytest.approx(0.5)


def test_results_are_not_sent_to_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, ...]] = []

    def put(backend: Backend, host: Any, aval: Any) -> Any:
        sent.append(host.shape)
        return plain(backend, host, aval)

    plain = Backend.put
    monkeypatch.setattr(Backend, "put", put)

    @tinyjax.jit(tier="compiled")
    def step(x: Any, count: Any) -> Any:
        debug.callback(lambda x: None, x)
        return x * 2 + count, count + 1

    state = jnp.arange(6.0), jnp.int32(0)
    for _ in range(4):
        state = step(*state)
    assert sent == [(6,), ()]
    np.testing.assert_array_equal(state[0], 16 * np.arange(6.0) + 11)
    # parts of that memory, and other views of it, are other data
    for view in (state[0][2:5], state[0].reshape(2, 3), state[0][::-1]):
        expected = np.asarray(view) * 2 + 4
        np.testing.assert_array_equal(step(view, state[1])[0], expected)
    bits = np.asarray(state[0]).view(np.int32)
    np.testing.assert_array_equal(step(bits, state[1])[0], bits * 2 + 4)


def _with_rules(transform: Any, call: Any, x: Any) -> Any:
    fun = transform(lambda x: (call(x), x))
    if transform is tinyjax.custom_jvp:
        fun.defjvp(lambda primals, tangents: (fun(*primals), tangents * 2))
    else:
        fun.defvjp(lambda x: (fun(x), ()), lambda _, cotangents: cotangents[1:])
    return fun(x)[1]


#: Programs in which nothing reads a callback's result, by what holds them.
UNREAD: dict[str, Callable[[Any, Any], Any]] = {
    "program": lambda call, x: [call(x), x][1],
    "branch": lambda call, x: lax.cond(x > 0, lambda x: [call(x), x][1], lambda x: x, x),
    "result of a branch": lambda call, x: lax.cond(x > 0, lambda: (call(x), x), lambda: (x, x))[1],
    "carry": lambda call, x: lax.scan(lambda c, _: ((call(c[0]), c[1]), 0), (x, x), None, 3)[0][1],
    "scan": lambda call, x: lax.scan(lambda c, _: ([call(c), c][1], 0), x, None, 3)[0],
    "slices": lambda call, x: lax.scan(lambda c, _: (c, call(c)), x, None, 3)[0],
    "nested loops": lambda call, x: lax.fori_loop(0, 2, lambda *_: UNREAD["scan"](call, x), x),
    "while_loop": lambda call, x: lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, call(s[1])), (x, x)
    )[0],
    "condition": lambda call, x: lax.while_loop(lambda c: [call(c), c < 3][1], lambda c: c + 1, x),
    "jit": lambda call, x: jit(lambda x: [call(x), x][1])(x),
    "result of jit": lambda call, x: jit(lambda x: (call(x), x))(x)[1],
    "checkpoint": lambda call, x: grad(tinyjax.checkpoint(lambda x: [call(x), x * x][1]))(x),
    "custom_jvp": partial(_with_rules, tinyjax.custom_jvp),
    "custom_vjp": partial(_with_rules, tinyjax.custom_vjp),
    "derivative": lambda call, x: grad(lambda x: [call(x), x * x][1])(x),
    "solver": lambda call, x: lax.custom_linear_solve(
        lambda y: 2 * y, x, lambda _, b: (b / 2, call(b)), has_aux=True
    )[0],
    "operator": lambda call, x: lax.reduce(
        jnp.stack([x, x]), np.float32(0), lambda a, b: [call(a), a + b][1], (0,)
    ),
    "vmap": lambda call, x: vmap(lambda x: [call(x), x][1])(jnp.stack([x, x])),
    "map": lambda call, x: lax.map(lambda x: [call(x), x][1], jnp.stack([x, x])),
    "argument of jit": lambda call, x: jit(lambda x, _: x)(x, call(x)),
    "choice": lambda call, x: jnp.where(True, x, call(x)),
    "choice by constants": lambda call, x: jnp.where(
        jnp.arange(3) < 0, jnp.stack([call(x)] * 3), jnp.stack([x] * 3)
    ),
    "choice of one": lambda call, x: lax.select(call(x) > 0, x, x),
    "choice in jit": lambda call, x: jit(lambda x, mask: jnp.where(mask, x, call(x)))(x, True),
    "choice in a long loop": lambda call, x: lax.fori_loop(
        0, 200, lambda _, x: jnp.where(False, jnp.sin(call(x)), x), x
    ),
}


@pytest.mark.parametrize("tier", ["first", "compiled"])
@pytest.mark.parametrize("program", UNREAD.values(), ids=UNREAD)
def test_what_nothing_reads_is_called_by_no_tier(program: Any, tier: Any) -> None:
    calls: list[Any] = []
    options: Any = {"vmap_method": "sequential", "derivative": lambda _, tangents: tangents[0]}

    def note(x: Any) -> Any:
        calls.append(x)
        return x

    def call(x: Any) -> Any:
        return pure_callback(note, SCALAR, x, **options)

    x = jnp.float32(1)
    tinyjax.block_until_ready(jit(lambda x: program(call, x), tier=tier)(x))
    assert not calls
    tinyjax.block_until_ready(jit(lambda x: (program(call, x), call(x)), tier=tier)(x))
    assert len(calls) == 1
