"""Tiers: programs that are evaluated while they are new, and compiled then."""

import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from typed_programs import drawn as drawn_program
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import checkpoint, config, custom_jvp, debug, grad, jit, lax, pure_callback, tree, vmap
from tinyjax._base import blas
from tinyjax._extensions.costs import NUMPY, cost_of
from tinyjax._extensions.host import plans, simplify, tiers
from tinyjax._extensions.host.plans import ProgramEvaluation
from tinyjax.core import xla
from tinyjax.core.jit.signatures import host_call
from tinyjax.core.tracing import kernels
from tinyjax.core.tracing.jaxpr import Jaxpr, Lit, eval_jaxpr
from tinyjax.core.tracing.primitive import NO_PARAMS, NoParams, Primitive
from tinyjax.core.tracing.program_rules import PROGRAM, by_equation
from tinyjax.core.tracing.trace import bind1, current_trace, use_trace
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.errors import ArgumentError, CallbackError, DonatedArrayError, JaxprTypeError
from tinyjax.experimental import io_callback


@pytest.fixture(autouse=True)
def fresh() -> None:
    workers = tiers._workers
    while workers.jobs or workers.idle < len(workers.threads):  # programs of other tests
        time.sleep(0.01)
    tinyjax.cache.clear()


def compiled() -> int:
    """Return the number of programs that this process has compiled since the test began."""
    return xla.cache_info().misses


def chain(x: Any) -> Any:
    for k in range(12):
        x = jnp.sin(x) * (1 + k / 20)
    return x


def evaluations(fun: Callable[..., Any], *args: Any) -> int:
    return tiers.decide(jit(fun).lower(*args).jaxpr).evaluations


X = np.linspace(0.1, 0.9, 5, dtype="float32")


def test_a_program_is_evaluated_a_known_number_of_times() -> None:
    fun = jit(chain, tier="first")
    calls = evaluations(chain, X)
    assert 100 < calls < 10_000
    expected = chain(X)
    for _ in range(calls - 1):
        np.testing.assert_array_equal(fun(X), expected)
        assert compiled() == 0
        assert not tiers.is_under_way(jit(chain).lower(X).compilation)
    np.testing.assert_array_equal(fun(X), expected)  # the last, which sets the compiler to work
    np.testing.assert_allclose(fun(X), expected, rtol=1e-6)
    assert compiled() == 1
    assert not fun.explain(X).compiles


def test_the_program_is_taken_when_it_is_ready() -> None:
    fun = jit(chain, tier="ready")
    for _ in range(evaluations(chain, X)):
        fun(X)
    while fun.explain(X).compiles:
        np.testing.assert_allclose(fun(X), chain(X), rtol=1e-6)
    np.testing.assert_allclose(fun(X), chain(X), rtol=1e-6)
    assert compiled() == 1


def test_small_programs_stay_on_the_host() -> None:
    def small(x: Any) -> Any:
        return jnp.sin(x) * x + 1

    fun, expected = jit(small, tier="host"), small(X)
    for _ in range(evaluations(small, X) + 9):
        np.testing.assert_array_equal(fun(X), expected)
    assert compiled() == 0
    np.testing.assert_allclose(jit(small, tier="first")(X), expected, 1e-6)
    assert compiled() == 1
    large = np.ones((900, 900), np.float32)
    calls = evaluations(lambda x: jnp.sin(x @ x) @ x, large)
    for _ in range(calls + 1):
        jit(lambda x: jnp.sin(x @ x) @ x, tier="host")(large)
    assert compiled() == 2


def test_evaluated_calls_are_repeated_by_the_types_of_their_arguments() -> None:
    fun = jit(lambda x, *ys, **zs: (jnp.sin(x) + sum(ys), {"z": zs}), tier="host")
    x, y = np.arange(3.0, dtype=np.float32), jnp.ones(3)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x,), {}),
        ((jnp.asarray(x),), {}),
        ((x, y), {}),
        ((x, y, y), {}),
        ((x,), {"a": y}),
        ((x.astype(np.float64),), {}),
        ((x[:2],), {}),
        ((np.float32(3),), {}),
        ((2.0,), {}),
        ((True,), {}),
    ]
    for _ in range(40):
        for args, kwargs in (*calls, *[call for call in calls for _ in range(2)]):
            out, rest = fun(*args, **kwargs)
            expected = np.sin(np.asarray(args[0], out.dtype)) + sum(map(np.asarray, args[1:]))
            np.testing.assert_allclose(out, expected, 1e-6)
            assert tree.structure(rest) == tree.structure({"z": kwargs})
    assert compiled() == 0


def test_repeated_evaluated_calls_keep_no_argument() -> None:
    fun = jit(lambda x: (x, x[1:]), tier="host")
    x = np.arange(3.0)
    found = [fun(x) for _ in range(100)][-1]
    x[:] = 9.0
    np.testing.assert_array_equal(found[0], [0, 1, 2])
    np.testing.assert_array_equal(found[1], [1, 2])
    assert not np.asarray(found[0]).flags.writeable


def test_calls_on_the_host_are_those_of_the_last_types_and_settings() -> None:
    fun = jit(lambda x, y: (x + y, x[1:]), tier="host")
    one, x, y = jit(lambda x: x * 2.0, tier="host"), np.arange(3.0), jnp.ones(3)
    assert host_call(fun, (x, y)) is None
    for _ in range(100):
        fun(x, y), one(x)
    call, single = host_call(fun, (x, y)), host_call(one, (x,))
    assert call is not None
    assert single is not None
    assert (call.is_tuple, single.is_tuple) == (True, False)
    for results, expected in (
        (call.evaluate([x, np.ones(3, np.float32)]), ([1, 2, 3], [1, 2])),
        (single.evaluate([x]), ([0, 2, 4],)),
    ):
        assert results is not None
        assert all(map(np.array_equal, results, expected))
    for others in ((x, x), (x[1:], y), (x,), (x, 1.0)):
        assert host_call(fun, others) is None
    with config.scoped(check_jaxprs=True):
        assert host_call(fun, (x, y)) is None


def test_a_repeated_evaluated_call_takes_few_python_calls() -> None:
    fun = jit(lambda x: x * 2.0 + 1.0, tier="host")
    x, count = np.ones(3, np.float32), [0]
    for _ in range(100):
        fun(x)

    def counted(frame: Any, event: str, arg: Any) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        fun(x)
    finally:
        sys.setprofile(None)
    assert count[0] < 30


def test_a_repeated_evaluated_call_takes_arrays_of_either_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fun = jit(lambda x: x * 2.0 + 1.0, tier="host")
    arrays = [np.ones(3), jnp.ones(3, np.float64)]
    for _ in range(50):
        for x in arrays:
            fun(x)
    monkeypatch.setattr(type(fun), "_call", None)
    for x in arrays:
        np.testing.assert_array_equal(fun(x), [3, 3, 3])


def test_programs_that_are_evaluated_load_nothing_for_compilers_or_errors() -> None:
    program = """
import sys, tinyjax, tinyjax.numpy as jnp
loop = lambda x: tinyjax.lax.scan(lambda c, _: (jnp.sin(c), c), x, None, 9)[0]
gradient = tinyjax.jit(tinyjax.grad(loop))
keys = tinyjax.random.split(tinyjax.random.key(0))
print(gradient(1.0) > 0, tinyjax.jit(tinyjax.random.normal)(keys[0]) < 9)
assert not any(name in sys.modules for name in ("difflib", "jaxlib", "tinyjax.core.xla.lowering"))
"""
    command = [sys.executable, "-c", program]
    environment = os.environ | {"TINYJAX_TIER": "first"}
    assert subprocess.check_output(command, env=environment, text=True) == "True True\n"


@pytest.mark.slow
def test_equal_programs_are_counted_together() -> None:
    for _ in range(evaluations(lambda x: chain(+x), X) + 1):
        jit(lambda x: chain(+x), tier="first")(X)
    assert compiled() == 1


def test_the_setting_holds_for_programs_inside_transformations() -> None:
    with config.scoped(tier="first"):
        slopes = vmap(grad(jit(chain)))(X)
        looped = lax.fori_loop(0, 3, lambda i, x: x * 2.0, 1.0)
    assert compiled() == 0
    expected = vmap(grad(chain))(X)
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)
    assert float(looped) == 8.0
    assert jit(chain, tier="compiled")(X).shape == (5,)
    assert compiled() == 1


def branches(x: Any) -> Any:
    return lax.cond(x > 0.5, lambda v: v * 2, lambda v: jnp.sin(v) + 1, x)


def loops(x: Any) -> Any:
    total, ys = lax.scan(lambda c, v: (c * 0.9 + v, c), x, jnp.arange(6.0))
    return total + ys.sum() + lax.fori_loop(0, 4, lambda i, c: c * 1.1 + i, x)


def until_large(x: Any) -> Any:
    return lax.while_loop(lambda v: v < 40, lambda v: v * 1.7 + 0.1, x)


@custom_jvp
def tripled(x: Any) -> Any:
    return x**3


@tripled.defjvp
def tripled_jvp(primals: Any, tangents: Any) -> Any:
    return tripled(primals[0]), 3.0 * primals[0] ** 2 * tangents[0]


def nested(x: Any) -> Any:
    inner = jit(lambda v: tripled(v) + checkpoint(jnp.cos)(v))
    return inner(x) + jnp.linalg.solve(jnp.eye(2) * (1 + x), jnp.ones(2)).sum()


def calling_back(x: Any) -> Any:
    seen = pure_callback(lambda v: np.asarray(jit(jnp.exp)(v)), x, x, vmap_method="sequential")
    return seen * 2


@pytest.mark.parametrize("fun", [branches, loops, until_large, nested, calling_back])
def test_values_and_derivatives_are_those_of_compiled_programs(fun: Any) -> None:
    transformed = [fun, vmap(fun)]
    if fun is not calling_back:
        transformed += [grad(fun)] if fun is not until_large else []
        transformed.append(lambda x: tinyjax.jvp(fun, (x,), (jnp.ones_like(x),))[1])
    for one in transformed:
        x = X if one is transformed[1] else X[3]
        expected = jit(one)(x)
        before = compiled()
        found = jit(one, tier="first")(x)
        if fun is not calling_back:  # which compiles what it calls
            assert compiled() == before
        np.testing.assert_allclose(found, expected, rtol=2e-6)
        assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


def test_a_loop_without_end_in_sight_is_given_up_and_compiled() -> None:
    def long(n: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.0001), (0, 1.0))[1]

    fun = jit(long, tier="first")
    np.testing.assert_allclose(fun(100), 1.0001**100, rtol=1e-4)
    assert compiled() == 0
    np.testing.assert_allclose(fun(20_000), 1.0001**20_000, rtol=1e-2)
    assert compiled() == 1


def test_explain_says_what_was_evaluated_and_why_no_more_is() -> None:
    @jit(tier="first")
    def halved(x: Any) -> Any:
        return lax.while_loop(lambda v: v > 1.0, lambda v: v * 0.5, x)

    assert "evaluated" in halved.explain(8.0).reasons[-1]
    assert "so far" not in halved.explain(8.0).reasons[-1]
    halved(8.0)
    assert halved.explain(8.0).reasons[-1].endswith("; 1 was so far")
    halved(4.0)
    assert halved.explain(8.0).reasons[-1].endswith("; 2 were so far")
    while not compiled():
        halved(2.0**40)
    assert "until loops had run for that long" in halved.explain(8.0).reasons[-1]


def test_loops_of_unknown_length_are_evaluated_up_to_a_share_of_the_time_to_compile() -> None:
    def halved(x: Any) -> Any:
        return lax.while_loop(lambda v: v > 1.0, lambda v: v * 0.5, x)

    fun = jit(halved, tier="first")
    most = tiers.decide(jit(halved).lower(1.0).jaxpr).seconds
    assert 1e-3 < most < 1e-1
    calls = 0
    while not compiled():
        assert float(fun(2.0**40)) == 1.0  # some 80 runs of programs, of 2 to 5 us each
        calls += 1
    assert most / 4e-4 < calls < most / 1.6e-4


def test_products_of_matrices_are_evaluated_in_one_thread() -> None:
    threads: list[int] = []
    control = blas._control("numpy.linalg._umath_linalg")
    if control is None:
        pytest.skip("NumPy has another library than OpenBLAS")
    get, set_ = control

    def look(x: Any) -> Any:
        threads.append(get())
        return x

    def fun(x: Any) -> Any:
        return jit(lambda x: x @ pure_callback(look, x, x) @ x, tier="first")(x)

    before = get()
    try:
        set_(3)
        large = np.eye(80, dtype="float32")
        np.testing.assert_array_equal(fun(large), large)
        fun(large[:2, :2])  # small ones are not divided anyway
        assert threads == [1, 3]
        with blas.one_thread(), raises(ValueError, match="inner"), blas.one_thread():
            raise ValueError("inner")
        assert get() == 3
    finally:
        set_(before)


def test_what_is_dear_to_evaluate_is_compiled_at_once() -> None:
    fun = jit(lambda x: lax.fori_loop(0, 100_000, lambda i, c: jnp.sin(c), x), tier="first")
    assert "compiled at once" in fun.explain(0.5).reasons[-1]
    fun(0.5)
    assert compiled() == 1


def test_estimates_tell_single_numbers_from_arrays() -> None:
    def loop(x: Any) -> Any:
        return lax.scan(lambda c, _: (jnp.cos(c) * c + 1, None), x, None, 1000)[0]

    number, array = (cost_of(jit(loop).lower(x).jaxpr) for x in (0.5, X))
    assert number.seconds_to_evaluate < 0.9 * array.seconds_to_evaluate  # Python's arithmetic
    assert number.seconds_to_compile < 0.7 * array.seconds_to_compile  # no loops over elements


def test_a_program_that_is_called_twice_is_counted_once_to_compile() -> None:
    step = jit(lambda x: jnp.exp(x) + jnp.sum(jnp.sin(x)))
    once, twice = (cost_of(jit(f).lower(X).jaxpr) for f in (step, lambda x: step(step(x))))
    assert twice.seconds_to_compile < 1.1 * once.seconds_to_compile
    assert twice.seconds_to_evaluate > 1.5 * once.seconds_to_evaluate


def test_primitives_that_only_xla_knows_are_compiled() -> None:
    def quiet(x: Any) -> Any:
        return bind1(unknown_p, (x,), NO_PARAMS)

    unknown_p = Primitive("known_to_xla_alone", NoParams)
    unknown_p.def_abstract_eval(lambda avals, params: avals)
    unknown_p.def_lowering(lambda b, operands, params: [b.exp(operands[0])])
    inner = jit(lambda x: lax.cond(x > 0, quiet, lambda v: v, x), tier="first")
    np.testing.assert_allclose(inner(1.0), np.exp(1.0), rtol=1e-6)
    assert "has no impl rule" in jit(quiet, tier="first").explain(1.0).reasons[-1]


def test_evaluation_drops_what_nothing_reads_any_more() -> None:
    fun = jit(lambda x: chain(chain(x)), tier="first")
    large = np.linspace(0.0, 1.0, 100_000, dtype="float32")
    assert evaluations(lambda x: chain(chain(x)), large)
    fun(large[:5])
    tracemalloc.start()
    try:
        fun(large).block_until_ready()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert compiled() == 0
    assert peak < 8 * large.nbytes  # of 48 results


def test_long_loops_drop_what_nothing_reads_any_more() -> None:
    large = np.linspace(0.0, 1.0, 20_000, dtype="float32")
    fun = jit(lambda x: lax.scan(lambda c, _: (chain(chain(c)), None), x, None, 100)[0])
    jaxpr, args = fun.lower(large).jaxpr, [jnp.asarray(large)]

    def run() -> None:
        with use_trace(ProgramEvaluation(np.inf)):
            eval_jaxpr(jaxpr, args)

    run()  # which writes the function
    tracemalloc.start()
    try:
        run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * large.nbytes  # of 48 results in each iteration


def often(x: Any) -> Any:
    """A loop that is written as a function: the same kinds of operations as in ``several``."""

    def body(c: Any, row: Any) -> Any:
        low, high = jnp.split(c, [2])
        unread = jnp.argsort(c)
        mean, most = c.mean(), jnp.max(row) * 2
        c = jnp.where(c > mean, c, jnp.pad(low, (0, 3)) - high.sum() ** 3 * 0.1 + most / 3.0)
        return c / (1 + jnp.abs(c)), (mean, most > 1, unread[0], jnp.float32(2.0), row, c[:0])

    rows = jnp.cos(jnp.outer(jnp.arange(100.0), x))
    return lax.scan(body, x, rows)


def test_long_loops_check_the_types_that_rules_give() -> None:
    wide_p = Primitive("gives_another_type_in_loops", NoParams)
    wide_p.def_abstract_eval(lambda avals, params: avals)
    wide_p.def_impl(lambda operands, params: (operands[0].astype("float64"),))
    loop = jit(
        lambda x: lax.fori_loop(0, 100, lambda i, c: bind1(wide_p, (c,), NO_PARAMS), x),
        tier="first",
    )
    with raises(JaxprTypeError, match=r"float64.* but its abstract_eval rule says float32"):
        loop(X)


def several(x: Any) -> Any:
    """Literals of every rank, results that nothing reads, several results, programs in programs."""
    rows = jnp.outer(x, jnp.arange(6.0)) * 2.0 + jnp.ones((5, 6)) / 3.0
    first, second = jnp.split(rows, [2], axis=1)
    order = jnp.argsort(second, axis=1)

    def body(c: Any, row: Any) -> Any:
        low, high = jnp.split(row, 2)
        return jnp.pad(low, (0, 2)) - c**3 * 0.1, (high, lax.cond(c[0] > 0, jnp.sin, jnp.cos, c))

    last, (ys, zs) = lax.scan(
        body, second[0, :], rows[:, :4] @ jnp.ones((4, 4)) + 0.0, reverse=True
    )
    return first, order, last, ys, zs, jnp.float32(2.0), x


def one_by_one(jaxpr: Jaxpr, args: list[Any]) -> list[Any]:
    """Apply the operations of a program, and of the loops in it, one by one."""
    env: dict[Any, Any] = dict(zip(jaxpr.in_binders, args, strict=True))
    for eqn in jaxpr.eqns:
        operands = [x.value if isinstance(x, Lit) else env[x] for x in eqn.inputs]
        program = eqn.primitive.rules.extensions.get(PROGRAM)
        outs = (
            program(operands, eqn.params, by_equation)
            if program
            else current_trace().process(eqn.primitive, operands, eqn.params)
        )
        env.update(zip(eqn.out_binders, outs, strict=True))
    return [x.value if isinstance(x, Lit) else env[x] for x in jaxpr.outs]


def linear(jaxpr: Jaxpr) -> list[Array]:
    """Arguments for a program."""
    return [jnp.linspace(0.1, 0.9, aval.size).reshape(aval.shape) for aval in jaxpr.in_avals]


def test_evaluation_gives_the_bits_of_the_operations_one_by_one() -> None:
    given = [
        jit(several).lower(jnp.asarray(X)).jaxpr,
        jit(grad(lambda x: several(x)[3].sum() + loops(x).sum())).lower(X[:5]).jaxpr,
        jit(until_large).lower(X[0]).jaxpr,
        jit(often).lower(X[:5]).jaxpr,
        jit(grad(lambda x: often(x)[0].sum())).lower(X[:5]).jaxpr,
    ]
    for jaxpr in given:
        args = linear(jaxpr)
        expected = one_by_one(jaxpr, args)
        for _ in range(3):
            with use_trace(ProgramEvaluation(np.inf)):
                found = eval_jaxpr(jaxpr, args)
            for x, y in zip(found, expected, strict=True):
                assert x.aval == y.aval
                assert np.asarray(x).tobytes() == np.asarray(y).tobytes()


def in_place(x: Any) -> Any:
    """Values that have views, that are read twice by one operation, and that nothing else reads."""
    outer = x[:, None] * x
    turned, row = (outer + 1.0).T, jnp.sin(outer)[0]
    product = jnp.tanh(x @ outer + 1.0) - x
    square = product * product
    kept = -square
    largest = jnp.maximum(jnp.exp(kept) * 2.0, 1.0) - kept
    return turned * turned, row + 1.0, jnp.where(largest > 0, largest, -largest), square.sum(), kept


def test_results_are_put_where_nothing_else_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    programs = [jit(f).lower(X[:5]).jaxpr for f in (in_place, often, several)]
    slope = grad(lambda x: sum(jnp.sum(y) for y in in_place(x)))
    programs += [
        jit(slope).lower(X[:5]).jaxpr,
        jit(
            lambda x: lax.scan(
                lambda c, _: (sum(y.sum() for y in in_place(c)) * 0.01 + c, slope(c)), x, None, 100
            )
        )
        .lower(X[:5])
        .jaxpr,
    ]
    drawn = [drawn_program(seed, most=12) for seed in range(40)]
    cases = [(jaxpr, linear(jaxpr)) for jaxpr in programs]
    cases += [(program.jaxpr, program.inputs()) for program in drawn]

    def outcomes() -> list[list[bytes]]:
        kernels.forget_kernels()  # plans are made anew
        found = []
        for jaxpr, args in cases:
            before = [np.asarray(x).tobytes() for x in args]
            for _ in range(3):
                with use_trace(ProgramEvaluation(np.inf)), np.errstate(all="ignore"):
                    found.append([np.asarray(x).tobytes() for x in eval_jaxpr(jaxpr, args)])
            assert [np.asarray(x).tobytes() for x in args] == before
        return found

    written = list[Any]()

    def write(jaxpr: Jaxpr) -> Any:
        written.append((jaxpr, function := plans_write(jaxpr)))
        return function

    monkeypatch.setattr(plans, "NUMPY", attrs.evolve(NUMPY, runs_to_write=np.inf))
    expected, plans_write = outcomes(), plans._compiled_to_python
    monkeypatch.setattr(simplify, "_LARGE", 1)  # results are put into memory of any size
    assert outcomes() == expected
    monkeypatch.setattr(plans, "NUMPY", attrs.evolve(NUMPY, runs_to_write=0))
    monkeypatch.setattr(plans, "_compiled_to_python", write)
    assert outcomes() == expected
    assert len(written) > len(programs)
    for jaxpr, function in written:
        plan = jaxpr.derived(kernels.current_rules[0])
        assert plan.python_function is function, "its first result was another"


def test_explain_says_why_what_runs_often_is_not_written() -> None:
    drawn_p, rng = Primitive("drawn_anew", NoParams), np.random.default_rng(0)
    drawn_p.def_abstract_eval(lambda avals, params: avals)
    drawn_p.def_impl(lambda operands, params: (rng.random(5, "float32"),))

    def watched(x: Any) -> Any:
        debug.callback(lambda v: None, x)
        return jnp.sin(x)

    def reason(body: Callable[[Any], Any]) -> str:
        loop = jit(lambda x: lax.fori_loop(0, 99, lambda i, v: body(v), x), tier="first")
        loop(X)
        return loop.explain(X).reasons[-1].partition("so far")[2]

    assert reason(jnp.sin) == ""
    assert reason(watched) == ", equation by equation, since it has effects"
    drawn = reason(lambda x: bind1(drawn_p, (x,), NO_PARAMS))
    assert drawn == ", equation by equation, since the same steps as a function gave other bits"


def test_a_rule_that_takes_the_place_of_another_is_used() -> None:
    scaled_p = Primitive("scaled_by_a_rule", NoParams)
    scaled_p.def_abstract_eval(lambda avals, params: avals)
    scaled_p.def_numpy(np.negative)
    jaxpr = jit(lambda x: bind1(scaled_p, (x,), NO_PARAMS)).lower(X).jaxpr
    for factor in (-1.0, 3.0):
        with use_trace(ProgramEvaluation(np.inf)):
            (found,) = eval_jaxpr(jaxpr, [jnp.asarray(X)])
        np.testing.assert_array_equal(found, X * np.float32(factor))
        scaled_p.def_impl(lambda operands, params: (operands[0] * np.float32(3.0),))


def test_an_impl_rule_that_gives_another_type_is_an_error() -> None:
    wide_p = Primitive("gives_another_type", NoParams)
    wide_p.def_abstract_eval(lambda avals, params: avals)
    wide_p.def_impl(lambda operands, params: (operands[0].astype("float64"),))
    with raises(JaxprTypeError, match=r"float64.* but its abstract_eval rule says float32"):
        jit(lambda x: bind1(wide_p, (x,), NO_PARAMS) * 2, tier="first")(X)


def test_callbacks_see_the_callers_error_state() -> None:
    seen = []

    def look(v: Any) -> Any:
        seen.append(np.geterr()["over"])
        return v

    fun = jit(lambda x: jnp.exp(pure_callback(look, x, x) * 1000), tier="first")
    with np.errstate(over="raise"):
        assert float(fun(1.0)) == np.inf
        assert np.geterr()["over"] == "raise"
    assert seen == ["raise"]


def test_callbacks_that_call_each_other_without_end_are_an_error() -> None:
    @jit
    def f(x: Any) -> Any:
        return pure_callback(lambda v: np.asarray(f(v)), x, x)

    with config.scoped(tier="first"), raises(CallbackError, match="deep"):
        f(1.0).block_until_ready()


def test_effects_happen_once_and_in_their_order() -> None:
    for tier in ("first", "host", "ready", "compiled"):
        seen: list[float] = []

        def program(x: Any, seen: list[float] = seen) -> Any:
            def body(i: Any, c: Any) -> Any:
                io_callback(lambda v: seen.append(float(v)), None, c, ordered=True)
                return c + 1.0

            return lax.fori_loop(0, 4, body, x)

        fun = jit(program, tier=tier)
        for _ in range(3):
            fun(0.0).block_until_ready()
        tinyjax.effects_barrier()
        assert seen == [0.0, 1.0, 2.0, 3.0] * 3


def test_exceptions_are_those_of_compiled_programs() -> None:
    def fails(v: Any) -> Any:
        raise KeyError("no such thing")

    def program(x: Any) -> Any:
        return pure_callback(fails, x, x)

    for tier in ("compiled", "first"):
        with raises(KeyError, match="no such thing"):
            jit(program, tier=tier)(1.0).block_until_ready()


def test_donated_arrays_are_given_up() -> None:
    double = jit(lambda x: x * 2, donate_argnums=0, tier="first")
    same = jit(lambda x: x, donate_argnums=0, tier="first")
    for fun, expected in ((double, 2.0), (same, 1.0)):
        x = jnp.ones(3)
        y = fun(x)
        assert x.is_deleted()
        np.testing.assert_array_equal(y, np.full(3, expected))
        for use in (
            lambda x=x: x + 1,
            lambda x=x, fun=fun: fun(x),
            lambda x=x: jit(jnp.sin, tier="compiled")(x),
        ):
            with raises(DonatedArrayError, match="was donated"):
                use()
    assert compiled() == 1  # the sine's


def test_a_program_wanted_by_many_threads_is_compiled_once() -> None:
    fun = jit(lambda x: chain(x) - 7, tier="compiled")
    start = threading.Barrier(8)
    results: list[Any] = []

    def call() -> None:
        start.wait()
        results.append(np.asarray(fun(X)))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert compiled() == 1
    assert all((value == results[0]).all() for value in results)


def test_threads_with_programs_of_all_tiers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are evaluated, compiled, compiled in the background, or fail to compile."""
    monkeypatch.setattr(tiers, "_SHARE", 0.002)  # the compiler is busy soon
    wrong: list[str] = []

    def work(number: int) -> None:
        for k in range(6):
            factor = 1.0 + (number * k) % 9

            def program(x: Any, factor: float = factor) -> Any:
                return lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * factor, x).sum()

            tier: Any = ("first", "host", "ready", "compiled")[(number + k) % 4]
            fun = jit(grad(program), tier=tier)
            expected = np.asarray(grad(program)(X))
            found = [np.asarray(fun(X)) for _ in range(5)]
            if not all(np.allclose(one, expected, rtol=1e-4, atol=1e-5) for one in found):
                wrong.append(f"{tier}: {found} instead of {expected}")
            failing = jit(program, compiler_options={"xla_none": k})
            with raises(ArgumentError, match="No such compile option"):
                failing(X)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_little_is_kept_of_many_programs() -> None:
    for k in range(5000):
        number = ConcreteArray(np.asarray(k))
        wanted = xla.Compilation(Jaxpr((), (), (Lit(number, number.aval),)), "number")
        assert int(xla.run(wanted, (), "first")[0][0]) == k
    assert len(tiers._programs) <= tiers._MOST_PROGRAMS


def test_unknown_tiers_are_refused() -> None:
    with raises(ArgumentError, match="'compiled', 'first', 'host' or 'ready'"):
        unchecked(config.update)("tier", "second")
    unknown: Any = "second"
    with raises(ArgumentError, match="tier"):
        jit(chain, tier=unknown)


SCRIPT = """
import os, sys, time
import numpy as np, tinyjax, tinyjax.numpy as jnp
from tinyjax import config
from tinyjax.testing.random_programs import TypedProgram
from tinyjax._extensions.host import tiers
config.update("tier", "ready")

def chain(k, x):
    for i in range(60):
        x = jnp.sin(x) * (k + i)
    return x

funs = [tinyjax.jit(lambda x, k=k: chain(k, x)) for k in range(8)]
for fun in funs:
    for _ in range(2000):  # enough for the compiler to be asked for
        fun(1.0)
        if "fork at once" in sys.argv and tiers._requests:
            time.sleep(0.02)  # in which a thread begins to load jaxlib
            break
    else:
        continue
    break
while "fork" in sys.argv and not tinyjax.cache.info().memory.misses:
    time.sleep(0.01)  # until one program is compiled, and others are to be
child = None if "exit" in sys.argv else os.fork()
if child == 0:  # where no thread compiles, and XLA's are not there, if it was begun to use
    for fun in funs:
        for _ in range(60):
            fun(1.0)
    try:
        assert tinyjax.jit(lambda x: x * 3, tier="compiled")(1.0) == 3.0
        assert "fork at once" in sys.argv
    except tinyjax.errors.ForkError as error:
        pass
    print("child done", flush=True)
    sys.exit()
if child:
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
"""


@pytest.mark.parametrize("how", ["exit", "fork", "fork at once"])
def test_a_process_ends_while_programs_are_compiled(how: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, how],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.split() == [*(["child", "done"] if "fork" in how else []), "done"]


# What the compiler is told


@pytest.mark.parametrize("effort", ["low", "medium", "full"])
def test_efforts_compute_the_same(effort: Any) -> None:
    plain = np.asarray(jit(chain)(X))
    with config.scoped(effort=effort):
        np.testing.assert_allclose(jit(chain)(X), plain, rtol=1e-6)
        np.testing.assert_allclose(jit(grad(loops))(0.3), grad(loops)(0.3), rtol=1e-6)
        large = np.linspace(0.0, 1.0, 200_000, dtype="float32")
        np.testing.assert_allclose(jit(jnp.exp)(large), np.exp(large), rtol=1e-6)


def test_programs_of_other_options_are_other_programs() -> None:
    before = compiled()
    for options in (
        None,
        {"xla_backend_optimization_level": 0},
        {"xla_cpu_enable_fast_min_max": "true"},
    ):
        fun = jit(chain, compiler_options=options)
        np.testing.assert_allclose(fun(X), chain(X), rtol=1e-6)
        np.testing.assert_allclose(jit(chain).lower(X).compile(options)(X), chain(X), rtol=1e-6)
        np.testing.assert_allclose(vmap(fun)(X), chain(X), rtol=1e-6)
    assert compiled() == before + 3  # the mapped one is the same program


def test_options_of_the_backend_reach_it() -> None:
    def related(x: Any, y: Any) -> Any:
        return x * x + 1, x * x - 1, jnp.exp(y) * 2 + y, jnp.exp(y) - y

    x = np.linspace(-1, 1, 10_000, dtype="float32")
    programs = [
        jit(related).lower(x, x).compile({"xla_cpu_use_multi_output_fusion": value})
        for value in (True, "true", False)
    ]
    fusions = [program.as_text().count(" fusion(") for program in programs]
    assert fusions[0] == fusions[1] < fusions[2]
    for one, other in zip(programs[0](x, x), related(x, x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("effort", ["full", "medium", "low"])
def test_small_loops_are_one_function(effort: Any) -> None:
    def fun(x: Any) -> Any:
        return lax.fori_loop(0, 9, lambda i, x: jnp.sin(x[::-1]) + x * x.sum(), x)

    x = np.linspace(-1, 1, 300, dtype="float32")
    with config.scoped(effort=effort):
        whole = jit(fun).lower(x).compile()
        apart = jit(fun).lower(x).compile({"xla_cpu_small_while_loop_byte_threshold": 0})
    assert whole.as_text().count(" call(") == 1
    assert apart.as_text().count(" call(") == 0
    np.testing.assert_allclose(whole(x), apart(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fast": True}, "begin with 'xla_', but got 'fast'"),
        ({"xla_backend_optimization_level": [1]}, "numbers, bools or texts"),
        ({"xla_no_such_option": True}, "No such compile option: 'xla_no_such_option'"),
        ({"xla_backend_optimization_level": "much"}, "not a valid int32 value"),
    ],
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    with raises(ArgumentError, match=message):
        jit(chain, compiler_options=options)(X)
    with raises(ArgumentError, match=message):
        jit(chain).lower(X).compile(options)
    with raises(ArgumentError, match="'low', 'medium' or 'full'"):
        unchecked(config.update)("effort", "none")


def test_many_programs_are_compiled_at_once() -> None:
    funs = [jit(lambda x, k=k: chain(x) * k, tier="compiled") for k in range(5)]
    programs = tinyjax.precompile(*[fun.lower(X) for fun in funs])
    assert compiled() == 5
    for k, (fun, program) in enumerate(zip(funs, programs, strict=True)):
        np.testing.assert_array_equal(program(X), fun(X))
        np.testing.assert_allclose(fun(X), chain(X) * k, rtol=1e-6)
    assert compiled() == 5
    with raises(ArgumentError, match="No such compile option"):
        tinyjax.precompile(funs[0].lower(X), jit(chain, compiler_options={"xla_no": 1}).lower(X))


def test_programs_of_the_first_device_are_evaluated_where_they_name_it() -> None:
    mesh = tinyjax.make_mesh((1,), ("x",))
    rows = tinyjax.NamedSharding(mesh, tinyjax.P("x"))
    summed = tinyjax.shard_map(
        lambda x: lax.psum(x, "x"), mesh=mesh, in_specs=tinyjax.P("x"), out_specs=tinyjax.P()
    )
    on_mesh = tinyjax.device_put(X, rows)
    programs: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda x: jnp.asarray(x, device=tinyjax.devices()[0]) * 2, X),
        (lambda x: jnp.sin(lax.with_sharding_constraint(x, rows)), X),
        (lambda x: (2 * x, x.sum(), x[None] * 3, {}), on_mesh),
        (summed, on_mesh),
        (grad(lambda x: summed(jnp.sin(x)).sum()), on_mesh),
        (vmap(lambda x: x * on_mesh), np.ones((2, 5), "float32")),
    ]
    for fun, x in programs:
        outs = tinyjax.tree.leaves(jit(fun, tier="first")(x))
        assert compiled() == 0
        for out, expected in zip(
            outs, tinyjax.tree.leaves(jit(fun, tier="compiled")(x)), strict=True
        ):
            np.testing.assert_allclose(out, expected, rtol=1e-6)
            assert type(out) is type(expected)
            assert (out.aval, out.sharding) == (expected.aval, expected.sharding)
        tinyjax.cache.clear()
    given = tinyjax.device_put(X, rows)
    doubled = jit(lambda x: 2 * x, tier="first", donate_argnums=0)(given)
    assert given.is_deleted()
    assert doubled.sharding == rows
