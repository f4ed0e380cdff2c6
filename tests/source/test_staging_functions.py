"""Staged programs and what they call, what they raise, and what staging costs."""

import functools
import math
from collections.abc import Callable
from types import CodeType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import debug, lax, source
from tinyjax.core.tracing.jaxpr import Jaxpr, subjaxprs
from tinyjax.core.xla import cache_info
from tinyjax.errors import CheckFailedError
from tinyjax.source.ir import find, read as front_end
from tinyjax.source.staging import function
from tinyjax.source.staging.graph import ControlFlowGraph

pytestmark = pytest.mark.usefixtures("double_precision")

# Functions


def test_what_a_function_closes_over_may_be_traced() -> None:
    def outer(a: Any) -> Any:
        def inner(x: Any) -> Any:
            while x < a:
                x = x * 2
            return x * a

        return tinyjax.grad(tinyjax.jit(inner, control_flow="source"))(1.5)

    assert float(tinyjax.grad(outer)(5.0)) == 4.0  # x is doubled twice; d/dx is 4 a


def test_methods_objects_and_partial_applications() -> None:
    class Model:
        def __init__(self, weight: float) -> None:
            self.weight = weight

        def __call__(self, x: Any) -> Any:
            return x * self.weight if x > 0 else -x

        @source.stage
        def grown(self, x: Any) -> Any:
            while x < self.weight:
                x = 2 * x
            return self(x)

    def both(x: Any) -> Any:
        return model(x) + model.grown(x) + functools.partial(power, 2)(x)

    def power(n: int, x: Any) -> Any:
        return x**n if x > 1 else x

    model = Model(3.0)
    found = tinyjax.jit(both, control_flow="source")
    assert [float(found(x)) for x in (0.5, 2.0)] == [both(0.5), both(2.0)]


def test_functions_given_to_tinyjax_are_staged_too() -> None:
    def bent(x: Any) -> Any:
        return x * x if x > 0 else -x

    def program(x: Any) -> Any:
        mapped = jnp.sum(tinyjax.vmap(bent)(jnp.stack([x, -x])))
        looped = lax.fori_loop(0, 3, lambda _, s: s + bent(s), x)
        return tinyjax.grad(bent)(x) + mapped + looped + sum(map(bent, [x, -x]))

    x = 0.7
    s = x
    for _ in range(3):
        s = s + s * s
    expected = 2 * x + 2 * (x * x + x) + s
    found = tinyjax.jit(program, control_flow="source")(x)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_a_function_that_cannot_be_read_may_be_called() -> None:
    def gathered(x: Any) -> Any:
        found = []
        found.extend([x * k for k in range(3)])
        return sum(found)

    def program(x: Any) -> Any:
        return gathered(x) if x > 0 else x

    assert float(tinyjax.jit(program, control_flow="source")(2.0)) == 6.0


def test_static_arguments_stay_static() -> None:
    def select(x: Any, mode: str, n: int) -> Any:
        table = {"double": 2.0, "triple": 3.0}
        while x < 10:
            x = x * table[mode] + jnp.ones(n).sum()
        return x

    compiled = tinyjax.jit(select, static_argnames=("mode", "n"), control_flow="source")
    assert float(compiled(1.0, "triple", 2)) == select(1.0, "triple", 2)


# Exceptions and effects


def raising(x: Any) -> Any:
    if x < 0:
        raise ValueError(f"negative, it is {x}")
    for _ in range(3):
        x = x - 0.5
        if x < 0:
            raise ArithmeticError
    if x > 100:
        raise RuntimeError("big")
    assert x != 1.0, "one"
    return x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (-1.0, "ValueError: negative, it is <float64[]>"),
        (1.2, "ArithmeticError"),
        (500.0, "RuntimeError: big"),
        (2.5, "AssertionError: one"),
    ],
)
def test_exceptions_are_raised_when_the_program_runs(x: float, message: str) -> None:
    compiled = tinyjax.jit(raising, control_flow="source")
    assert float(compiled(3.0)) == 1.5
    assert float(tinyjax.grad(compiled)(3.0)) == 1.0
    with pytest.raises(CheckFailedError) as caught:
        compiled(x)
    assert caught.value.message == message
    with pytest.raises(CheckFailedError) as caught:
        tinyjax.jit(tinyjax.vmap(source.stage(raising)))(jnp.array([3.0, x]))
    assert caught.value.message.startswith(message)


def fail() -> Any:
    raise ValueError("too large")


def fail_below() -> Any:
    return int("12") + fail()


def if_large(x: Any) -> Any:
    if x > 100:
        fail()
    return 2 * x


def or_large(x: Any) -> Any:
    x < 100 or fail_below()
    return 2 * x


def chosen_large(x: Any) -> Any:
    return 2 * x if x < 100 else fail_below()


def loop_large(x: Any) -> Any:
    for _ in range(2):
        if x > 100:
            fail_below()
        x = x + x / 2
    return x * 8 / 9


def while_large(x: Any) -> Any:
    n = 0
    while n < 2 * x:
        if n > 100:
            fail()
        n += 1
    return n + 0.0 * x


@pytest.mark.parametrize("fun", [if_large, or_large, chosen_large, loop_large, while_large])
def test_a_helper_that_only_raises_is_a_check(fun: Callable[[Any], Any]) -> None:
    """Python runs it while tracing, since nothing in it is traced, whatever the condition is."""
    compiled = tinyjax.jit(fun, control_flow="source")
    assert float(compiled(1.0)) == fun(1.0) == 2.0
    with pytest.raises(CheckFailedError) as caught:
        compiled(200.0)
    assert caught.value.message == "ValueError: too large"
    assert "fail" in str(caught.value)
    both = tinyjax.jit(tinyjax.vmap(source.stage(fun)))
    assert both(jnp.array([1.0, 1.0])).tolist() == [2.0, 2.0]
    with pytest.raises(CheckFailedError):
        both(jnp.array([1.0, 200.0]))


def test_a_helper_that_raises_without_a_condition_raises_while_tracing() -> None:
    with raises(ValueError, match="too large"):
        tinyjax.jit(lambda x: x + fail(), control_flow="source")(1.0)


def test_an_exception_that_python_meets_on_one_side_only() -> None:
    def guarded(x: Any) -> Any:
        values, total = [1.0, 2.0], 0.0
        for k in range(3):
            if k < x:
                total += values[k]
        return total

    compiled = tinyjax.jit(guarded, control_flow="source")
    assert float(compiled(2.0)) == 3.0
    with raises(CheckFailedError, match="IndexError"):
        compiled(3.0)


def test_an_exception_where_a_loop_ends_without_break() -> None:
    def halved(x: Any) -> Any:
        for k in range(20):  # noqa: B007
            x = x / 2
            if x < 1:
                break
        else:
            raise RuntimeError("too big")
        return k

    compiled = tinyjax.jit(halved, control_flow="source")
    assert int(compiled(9.0)) == 3
    with raises(CheckFailedError, match="RuntimeError: too big"):
        compiled(1e9)


def test_effects_happen_as_often_as_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    def printing(x: Any) -> Any:
        k = 0
        while x > 1:
            debug.print("{}", x, ordered=True)
            x, k = x / 2, k + 1
            if k > 5:
                return -1.0
        return x

    assert float(tinyjax.jit(printing, control_flow="source")(5.0)) == 0.625
    assert capsys.readouterr().out.split() == ["5.0", "2.5", "1.25"]


@pytest.mark.parametrize("x", [5.0, 0.5, -1.0])
@pytest.mark.parametrize("transform", [tinyjax.jit, tinyjax.grad])
def test_what_a_program_comes_to_is_printed_when_it_runs(
    x: float, transform: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    percent = ", %d"

    def halved(x: Any) -> Any:
        while x > 1:
            x = x / 2
            print("iteration", x, sep=": ")
            print(f"x = {x:.3f}" + percent % (x > 2), [x, {"k": (x > 2, 1)}], str(x), end=";\n")
        if x < 0:
            print("negative", "{:6.2f} {}".format(x, "<- here"), f"{x!r:>8}", ("a", x))
        return x

    halved(x)
    expected = capsys.readouterr().out
    staged = transform(source.stage(halved))
    assert not capsys.readouterr().out
    staged(x)
    assert capsys.readouterr().out == expected


def test_context_managers_are_left_once() -> None:
    class Manager:
        entered = exited = 0

        def __enter__(self) -> None:
            Manager.entered += 1

        def __exit__(self, *_: object) -> None:
            Manager.exited += 1

    def managed(x: Any) -> Any:
        with Manager():
            for k in range(3):
                x = math.log(1 + x * x)
                if x < 0.2:
                    return x * k
        return x

    compiled = tinyjax.jit(managed, control_flow="source")
    assert float(compiled(0.4)) == pytest.approx(math.log(1 + 0.4**2) * 0)
    assert Manager.entered == Manager.exited > 0


# What it costs


def test_the_source_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def helper(x: Any) -> Any:
        return x if x > 0 else -x

    def program(x: Any) -> Any:
        return helper(x) + helper(x + 1)

    read: list[str] = []
    made: list[str] = []

    class Counted(ControlFlowGraph):
        def __init__(self, ir: source.IR) -> None:
            made.append(ir.name)
            super().__init__(ir)

    def find_counted(code: CodeType) -> find.FunctionNode:
        read.append(code.co_name)
        return find.find_function(code)

    monkeypatch.setattr(function, "ControlFlowGraph", Counted)
    counted = SimpleNamespace(**{**vars(find), "find_function": find_counted})
    monkeypatch.setattr(front_end, "find", counted)
    staged = source.stage(program)
    tinyjax.jit(staged)(1.0)
    tinyjax.jit(tinyjax.grad(staged))(1.0)
    tinyjax.vmap(tinyjax.jit(program, control_flow="source"))(jnp.ones(3))
    assert sorted(read) == sorted(made) == ["helper", "program"]


def test_equal_types_compile_once() -> None:
    def program(x: Any) -> Any:
        while x < 100:
            x = x * 3 if x > 3 else x + 1
        return x

    compiled = tinyjax.jit(program, control_flow="source")
    compiled(1.0)
    before = cache_info().misses
    for x in (2.0, 3.0, 50.0):
        assert float(compiled(x)) == program(x)
    assert not compiled.explain(4.0).traces
    again = tinyjax.jit(program, control_flow="source")
    assert float(again(5.0)) == program(5.0)
    assert cache_info().misses == before


def test_without_tracers_the_function_is_simply_called() -> None:
    calls: list[float] = []

    def recorded(x: Any) -> Any:
        calls.append(x)
        return x

    assert source.stage(recorded)(2.0) == 2.0
    assert calls == [2.0]


def test_a_function_that_calls_itself_twice_is_staged_once_a_level() -> None:
    def tree(x: Any, depth: int) -> Any:
        if depth == 0:
            return x
        if x > 1:
            return tree(x / 2, depth - 1) + tree(x / 3, depth - 1)
        return x * depth

    def size(depth: int) -> int:
        """Return the number of different programs in the program."""
        seen: dict[int, Jaxpr] = {}
        work = [tinyjax.make_jaxpr(source.stage(lambda x: tree(x, depth)))(2.0).jaxpr]
        while work:
            jaxpr = work.pop()
            if id(jaxpr) not in seen:
                seen[id(jaxpr)] = jaxpr
                work += [inner for eqn in jaxpr.eqns for inner in subjaxprs(eqn.params)]
        return len(seen)

    sizes = [size(depth) for depth in (4, 5, 6, 7)]
    assert len(set(np.diff(sizes))) == 1


def test_no_tracer_is_left_behind() -> None:
    with tinyjax.config.scoped(check_leaks=True, check_jaxprs=True):
        tinyjax.make_jaxpr(source.stage(raising))(3.0)
