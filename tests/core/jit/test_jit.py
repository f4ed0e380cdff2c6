"""``jit``: signatures, static and donated arguments, what is compiled and what is found again."""

import copy
import dataclasses
import enum
import functools
import gc
import inspect
import itertools
import pickle
import sys
import threading
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import jax
import jax.numpy
import numpy as np
import pytest
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import Array, config, grad, jit, jvp, lax, vmap
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla.executable import cache_clear, cache_info
from tinyjax.errors import (
    ArgumentError,
    ConcretizationError,
    StaticArgumentError,
    TracingForbiddenError,
)
from tinyjax.tree import DictKey


@pytest.fixture
def fresh_cache() -> Iterator[None]:
    """Each program is compiled at its first call, and none is so far."""
    cache_clear()
    with config.scoped(tier="compiled"):
        yield
    cache_clear()


def compiled() -> int:
    """Return the number of programs that XLA has compiled since the cache was cleared."""
    return cache_info().misses


def counting(fun: Callable[..., Any]) -> tuple[Callable[..., Any], list[int]]:
    """The function, and a list that grows each time it is traced."""
    traced: list[int] = []

    @functools.wraps(fun)
    def counted(*args: Any, **kwargs: Any) -> Any:
        traced.append(len(args))
        return fun(*args, **kwargs)

    return counted, traced


# Signatures


def test_results_are_those_of_eager_evaluation() -> None:
    def fun(tree: dict[str, Any], scale: Any) -> tuple[Any, list[Any], None]:
        return jnp.multiply(tree["x"], scale), [jnp.sin(tree["y"][0])], None

    args = {"x": np.arange(3.0), "y": (np.float32(2.0),)}, 3
    eager, fast = fun(*args), jit(fun)(*args)
    assert isinstance(fast, tuple)
    assert fast[2] is None
    for a, b in zip(tinyjax.tree.leaves(eager), tinyjax.tree.leaves(fast), strict=True):
        assert a.dtype == b.dtype
        assert a.weak_type == b.weak_type
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_one_trace_per_signature() -> None:
    fun, traced = counting(lambda x: x + 1)
    fast = jit(fun)
    for value in (jnp.zeros(3), jnp.ones(3), np.zeros(3, np.float32)):
        fast(value)
    assert len(traced) == 1  # same shape and dtype
    fast(jnp.zeros(4))
    assert len(traced) == 2  # another shape
    fast(jnp.zeros(3, "int32"))
    assert len(traced) == 3  # another dtype
    fast(1.0)
    fast(2.0)
    assert len(traced) == 4  # a weak scalar, whatever its value
    fast(jnp.zeros(()))
    assert len(traced) == 5  # a strong one
    fast(True)
    assert len(traced) == 6


def test_containers_are_part_of_the_signature() -> None:
    fun, traced = counting(lambda tree: tinyjax.tree.leaves(tree)[0])
    fast = jit(fun)
    for tree in ([1.0], (1.0,), {"a": 1.0}, {"b": 1.0}, [1.0, None]):
        fast(tree)
        fast(tree)
    assert len(traced) == 5


def test_keyword_arguments() -> None:
    @jit
    def fun(x: Any, *, shift: Any = 0.0, scale: Any = 1.0) -> Any:
        return x * scale + shift

    assert float(fun(2.0)) == 2.0
    assert float(fun(2.0, shift=1.0)) == 3.0
    assert float(fun(2.0, scale=3.0, shift=1.0)) == float(fun(2.0, shift=1.0, scale=3.0)) == 7.0
    assert float(fun(x=2.0, scale=3.0)) == 6.0


def test_variadic_functions() -> None:
    total = jit(lambda *xs, **named: sum(xs) + sum(named.values()))
    assert float(total(1.0, 2.0, a=3.0)) == 6.0
    assert float(total(1.0)) == 1.0


def test_a_jitted_function_keeps_its_name_and_documentation() -> None:
    @jit
    def documented(x: Any) -> Any:
        """Return the argument."""
        return x

    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Return the argument."
    assert documented.__wrapped__(3) == 3
    assert "documented" in repr(documented)


def test_jit_as_a_decorator_with_options() -> None:
    @jit(static_argnames="n")
    def power(x: Any, n: int) -> Any:
        return x**n

    @functools.partial(jit, static_argnums=1)
    def also_power(x: Any, n: int) -> Any:
        return x**n

    assert float(power(3.0, 2)) == float(also_power(3.0, 2)) == 9.0


def test_methods() -> None:
    class Model:
        def __init__(self, weight: float) -> None:
            self.weight = jnp.array([weight, weight])

        @functools.partial(jit, static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return self.weight * x

        @staticmethod
        @jit
        def double(x: Any) -> Any:
            return 2 * x

    one, two = Model(1.0), Model(2.0)
    np.testing.assert_array_equal(one(3.0), [3.0, 3.0])
    np.testing.assert_array_equal(two(3.0), [6.0, 6.0])
    np.testing.assert_array_equal(one(4.0), [4.0, 4.0])
    assert float(Model.double(2.0)) == 4.0
    of_object: Any = one.double
    assert float(of_object(2.0)) == 4.0


def test_partials_and_callable_objects() -> None:
    @attrs.frozen
    class Affine:
        scale: float

        def __call__(self, x: Any) -> Any:
            return self.scale * x + 1

    assert float(jit(Affine(3.0))(2.0)) == 7.0
    assert float(jit(functools.partial(jnp.add, 1.0))(2.0)) == 3.0
    assert float(jit(jnp.sin)(0.0)) == 0.0
    assert float(jit(jit(jnp.cos))(0.0)) == 1.0


def test_array_results_that_need_no_computation() -> None:
    constant = jnp.arange(3)
    given = jnp.ones(2)
    results: Any = jit(lambda x: (x, constant, 2, x))(given)
    a, b, c, d = results
    np.testing.assert_array_equal(a, given)
    np.testing.assert_array_equal(b, constant)
    assert c.weak_type
    assert c.dtype == jnp.int32
    np.testing.assert_array_equal(d, given)
    assert jit(lambda: ())() == ()
    assert jit(lambda x: None)(1.0) is None


# Static arguments


def test_static_arguments_by_number_name_keyword_and_default() -> None:
    def fun(x: Any, n: int = 2, *, flip: bool = False) -> Any:
        assert type(n) is int
        assert type(flip) is bool
        return -(x**n) if flip else x**n

    counted, traced = counting(fun)
    by_number = jit(counted, static_argnums=(1,), static_argnames=("n", "flip"))
    for _ in range(3):
        assert float(by_number(3.0)) == 9.0
        assert float(by_number(3.0, 3)) == 27.0
        assert float(by_number(3.0, n=3)) == 27.0
        assert float(by_number(3.0, 3, flip=True)) == -27.0
    assert len(traced) == 4
    assert float(by_number(2.0, 3)) == 8.0
    assert len(traced) == 4
    by_name = jit(fun, static_argnames=["n", "flip"])
    assert float(by_name(3.0, 3)) == 27.0
    assert float(by_name(3.0, flip=True)) == -9.0
    from_the_end = jit(lambda x, n: x**n, static_argnums=-1)
    assert float(from_the_end(3.0, 2)) == 9.0


def test_positions_and_names_that_disagree_are_taken_as_given() -> None:
    for library in (tinyjax, jax):
        seen: list[tuple[bool, bool]] = []

        def note(x: Any, y: Any, seen: list[tuple[bool, bool]] = seen) -> int:
            seen.append((isinstance(x, str), isinstance(y, str)))
            return 1

        function: Any = library.jit(note, static_argnums=1, static_argnames="x")
        function(2, "y")
        function(1, y=3)
        function(x="x", y=3)
        assert seen == [(False, True), (False, False), (True, False)]


def test_equal_static_values_of_different_types_are_different() -> None:
    kinds = jit(lambda x, n: x if n is True else x + 1, static_argnums=1)
    for _ in range(3):
        assert float(kinds(1.0, 1)) == 2.0
        assert float(kinds(1.0, True)) == 1.0
        assert float(kinds(1.0, 1.0)) == 2.0


@dataclasses.dataclass(frozen=True)
class _Options:
    power: Any
    note: str = dataclasses.field(default="", compare=False)


_Attributes = attrs.make_class("_Attributes", ["power"], frozen=True)


@pytest.mark.parametrize(
    "values",
    [
        (_Options(1), _Options(1.0), _Options(_Options(1)), _Options(_Options(True))),
        (_Attributes((0.0,)), _Attributes((-0.0,))),
        (DictKey(1), DictKey(1.0)),  # a record of this package
        ((1,), (1.0,), (True,)),
        ((0.0,), (-0.0,)),
        (("a", (2, (0.0,))), ("a", (2.0, (0.0,))), ("a", (2, (-0.0,)))),
        (frozenset([1]), frozenset([1.0])),
        (complex(0.0, 0.0), complex(0.0, -0.0)),
    ],
    ids=str,
)
def test_static_values_whose_items_differ_in_type_or_sign_are_different(
    values: tuple[Any, ...],
) -> None:
    traced: list[Any] = []

    def f(x: Any, static: Any) -> Any:
        traced.append(static)
        return x + len(traced)

    compiled = tinyjax.jit(f, static_argnums=1)
    for _ in range(3):  # later calls are made in a shorter way
        results = [float(compiled(jnp.float32(1), value)) for value in values]
        assert results == list(range(2, len(values) + 2))
    assert list(map(repr, traced)) == list(map(repr, values))


class _Model:
    """An object with a hash of its own, which changes with it."""

    def __init__(self, power: int) -> None:
        self.power = power

    def __hash__(self) -> int:
        return hash(self.power)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Model) and self.power == other.power


class _Mode(enum.Enum):
    TRAIN = 2
    TEST = 3


def test_static_values_in_the_shortest_way() -> None:
    """In every order, as the last call and as an earlier one, by position and by name."""
    power: dict[Any, int] = {2: 2, "three": 3, _Mode.TRAIN: 2, _Mode.TEST: 3, abs: 4, (1, 4): 5}
    compiled = jit(
        lambda x, how, *, sign=1: sign * x ** power[how], static_argnames=("how", "sign")
    )
    x = np.float32(2)
    for how, n in power.items():
        for given in (x, jnp.asarray(x), 2.0):
            for _ in range(3):
                assert float(compiled(given, how)) == 2.0**n
                assert float(compiled(given, how=how, sign=-1)) == -(2.0**n)
                assert float(compiled(how=how, x=given)) == 2.0**n
    found = [float(compiled(x, how)) for _ in range(3) for how in power]
    assert found == [2.0**n for _ in range(3) for n in power.values()]
    with raises(StaticArgumentError, match="is an array"):
        compiled(x, jnp.asarray(2))
    with raises(StaticArgumentError, match="not hashable"):
        compiled(x, [2])


def test_a_static_object_that_has_changed_is_another() -> None:
    model, compiled = _Model(2), jit(lambda m, x: x**m.power, static_argnums=0)
    for n in (2, 3, 2):
        model.power = n
        for _ in range(3):
            assert float(compiled(model, 3.0)) == 3.0**n
    nested = (1, model)
    by_tuple = jit(lambda m, x: x ** m[1].power, static_argnums=0)
    for n in (2, 3, 2):
        model.power = n
        for _ in range(3):
            assert float(by_tuple(nested, 3.0)) == 3.0**n


@pytest.mark.parametrize("change", [{"b": np.ones(4)}, {"a": np.ones(4)}])
def test_an_argument_that_the_function_changes_while_it_is_traced(change: dict[str, Any]) -> None:
    given = {"a": jnp.arange(3.0)}
    traced = 0

    @tinyjax.jit
    def compiled(tree: Any) -> Any:
        nonlocal traced
        traced += 1
        given.update({name: jnp.asarray(x) for name, x in change.items()})
        return tree["a"] * 2

    for _ in range(4):
        expected = 2 * np.asarray(given["a"])
        np.testing.assert_array_equal(compiled(given), expected)
    assert traced == 2  # of each structure, or of each type


def test_what_equality_leaves_out_is_not_compared() -> None:
    traced: list[str] = []

    def f(x: Any, options: _Options) -> Any:
        traced.append(options.note)
        return x

    compiled = tinyjax.jit(f, static_argnums=1)
    for note in "ab":
        compiled(1.0, _Options(2, note))
    assert traced == ["a"]


def test_static_arguments_may_be_any_hashable_value() -> None:
    apply = jit(lambda f, x, axes: jnp.sum(f(x), axis=axes), static_argnums=(0, 2))
    x = jnp.ones((2, 3))
    np.testing.assert_allclose(apply(jnp.cos, x, (0,)), np.cos(np.ones((2, 3))).sum(0), rtol=1e-6)
    np.testing.assert_allclose(apply(jnp.exp, x, None), np.exp(1) * 6, rtol=1e-6)


def test_static_arguments_that_cannot_be() -> None:
    fun = jit(lambda x, n: x, static_argnums=1)
    with raises(StaticArgumentError, match=r"not hashable.*tuple"):
        fun(1.0, [1, 2])
    with raises(StaticArgumentError, match=r"static argument 1.*is an array of type int32"):
        fun(1.0, jnp.array(2))
    with raises(StaticArgumentError, match="names argument 7"):
        jit(lambda x: x, static_argnums=7)(1.0)


# Closures


def test_closed_over_arrays_are_arguments(fresh_cache: None) -> None:
    def scaled_by(weights: Any) -> Any:
        return jit(lambda x: x * weights)

    for k in range(4):
        weights = jnp.arange(1000.0) + k
        np.testing.assert_array_equal(scaled_by(weights)(2.0), 2 * (np.arange(1000.0) + k))
    assert compiled() == 1
    text = scaled_by(jnp.arange(1000.0)).lower(2.0).as_text()
    assert len(text) < 2000  # the thousand numbers are not in it


def test_closed_over_tracers() -> None:
    def fun(x: Any) -> Any:
        return jit(lambda y: x * jnp.sin(y))(x)

    expected = np.sin(2.0) + 2.0 * np.cos(2.0)
    for found in (
        grad(fun)(2.0),
        jit(grad(fun))(2.0),
        grad(jit(fun))(2.0),
        jvp(fun, (2.0,), (1.0,))[1],
        vmap(grad(fun))(np.array([2.0]))[0],
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_jitted_function_that_closes_over_tracers_can_be_called_again() -> None:
    inner_functions = []

    def fun(x: Any) -> Any:
        inner = jit(lambda y: x * y)
        inner_functions.append(inner)
        return inner(3.0) + inner(4.0)

    assert float(grad(fun)(2.0)) == 7.0
    assert float(grad(fun)(5.0)) == 7.0


def test_nested_jit_is_called_not_inlined() -> None:
    inner = jit(lambda x: jnp.sin(x) + 1)

    @jit
    def outer(x: Any) -> Any:
        for _ in range(5):
            x = inner(x)
        return x

    text = outer.lower(1.0).as_text()
    assert text.count("stablehlo.sine") == 1
    expected = 1.0
    for _ in range(5):
        expected = np.sin(expected) + 1
    np.testing.assert_allclose(outer(1.0), expected, rtol=1e-6)


def test_a_function_called_twice_at_every_level_is_written_once() -> None:
    traced = []

    def nest(depth: int) -> Callable[[Any], Any]:
        if depth == 0:
            return jnp.sin
        below = nest(depth - 1)

        @jit
        def level(x: Any) -> Any:
            traced.append(depth)
            return below(below(x) * 0.5)

        return level

    # 2^40 sines, were calls inlined
    text = jit(lambda x: jvp(nest(40), (x,), (1.0,))).lower(0.3).as_text()
    assert len(traced) == 40
    assert text.count("stablehlo.sine") <= 2


def test_deep_nesting_costs_work_in_proportion() -> None:
    def nest(depth: int) -> Callable[[Any], Any]:
        fun: Callable[[Any], Any] = jnp.sin
        for _ in range(depth):
            fun = jit(functools.partial(lambda below, x: below(x) * 0.5, fun))
        return fun

    def size(depth: int) -> int:
        return len(jit(grad(nest(depth))).lower(0.3).as_text())

    assert size(64) < 2.2 * size(32)


# One program, one compilation


def test_a_thousand_lambdas_compile_once(fresh_cache: None) -> None:
    for k in range(1000):
        found = jit(lambda x: jnp.sin(x) * 2.0 + 1.0)(float(k))
        if k % 100 == 0:
            np.testing.assert_allclose(found, np.sin(k) * 2 + 1, rtol=1e-4)
    assert compiled() == 1
    assert cache_info().hits == 999


def test_partials_and_methods_that_express_a_program_compile_once(fresh_cache: None) -> None:
    def affine(x: Any, a: Any, b: Any) -> Any:
        return x * a + b

    class Model:
        def apply(self, x: Any) -> Any:
            return affine(x, 2.0, 1.0)

    one = jnp.ones(3)
    for fun in (
        functools.partial(affine, a=2.0, b=1.0),
        Model().apply,
        Model().apply,
        lambda y: y * 2.0 + 1.0,
    ):
        jit(fun)(one)
    assert compiled() == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(lambda x: x * 2.0, lambda x: x * 3.0, id="literal"),
        pytest.param(lambda x: x * 0.0, lambda x: x * -0.0, id="sign of zero"),
        pytest.param(lambda x: x + 1, lambda x: x + 1.0, id="weak int or float literal"),
        pytest.param(lambda x: jnp.sum(x, 0), lambda x: jnp.sum(x, 1), id="parameter"),
        pytest.param(jnp.sin, jnp.cos, id="primitive"),
        pytest.param(lambda x: (x, x + x), lambda x: (x + x, x), id="order of results"),
        pytest.param(lambda x: x - x.T, lambda x: x.T - x, id="order of operands"),
        pytest.param(lambda x: x.astype("float64"), lambda x: x.astype("int32"), id="dtype"),
        pytest.param(lambda x: x.reshape(4), lambda x: x.reshape(1, 4), id="shape"),
    ],
)
def test_programs_that_differ_are_never_shared(
    fresh_cache: None, first: Callable[[Any], Any], second: Callable[[Any], Any]
) -> None:
    x = jnp.asarray(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    a, b = jit(first)(x), jit(second)(x)
    equal = tinyjax.make_jaxpr(first)(x).jaxpr == tinyjax.make_jaxpr(second)(x).jaxpr
    assert compiled() == (1 if equal else 2)
    for fun, found in ((first, a), (second, b)):
        for left, right in zip(
            tinyjax.tree.leaves(found), tinyjax.tree.leaves(fun(x)), strict=True
        ):
            assert left.dtype == right.dtype
            np.testing.assert_array_equal(np.signbit(left), np.signbit(right))
            np.testing.assert_allclose(left, right, rtol=1e-6)


def test_types_of_arguments_make_different_programs(fresh_cache: None) -> None:
    for x in (jnp.ones(3), jnp.ones(4), jnp.ones((3, 1)), jnp.ones(3, "float64"), 1.0):
        jit(lambda x: x + x)(x)
    assert compiled() == 5


def test_settings_are_part_of_a_signature() -> None:
    fun, traced = counting(lambda x: x + jnp.zeros(3))
    fast = jit(fun)
    assert fast(1.0).dtype == jnp.float32
    with tinyjax.default_dtypes("float64"):
        assert fast(1.0).dtype == jnp.float64
    assert fast(1.0).dtype == jnp.float32
    assert len(traced) == 2


def test_a_jitted_function_does_not_outlive_its_last_reference() -> None:
    def make() -> tuple[Any, Any]:
        def fun(x: Any) -> Any:
            return x + 1

        fast = jit(fun)
        fast(1.0)
        return weakref.ref(fun), weakref.ref(fast)

    assert [reference() for reference in make()] == [None, None]


def test_a_jitted_function_gives_up_what_it_closes_over_at_once() -> None:
    held = jnp.ones(10)
    fast = jit(functools.partial(lambda x: x, held))
    fast(), fast()
    reference = weakref.ref(held)
    gc.disable()
    try:
        del held, fast
        assert reference() is None
    finally:
        gc.enable()


def test_tracing_can_be_forbidden() -> None:
    fast = jit(lambda x: x + 1)
    fast(jnp.ones(3))
    with tinyjax.no_tracing():
        fast(jnp.zeros(3))
        with raises(TracingForbiddenError, match="no_tracing is in force"):
            fast(jnp.zeros(4))
        with tinyjax.no_tracing(False):
            fast(jnp.zeros(4))


@pytest.mark.parametrize("inline", [False, True])
def test_a_function_may_be_written_into_its_callers(inline: bool) -> None:
    inner = jit(lambda x: x * 2, inline=inline)
    jaxpr = tinyjax.make_jaxpr(lambda x: inner(x) + 1)(1.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["mul" if inline else "jit", "add"]
    assert float(grad(jit(inner, inline=inline))(1.0)) == 2.0


def test_clear_cache() -> None:
    fun, traced = counting(lambda x: x + 1)
    fast = jit(fun)
    fast(1.0)
    fast.clear_cache()
    fast(1.0)
    assert len(traced) == 2


def test_threads_may_share_a_jitted_function() -> None:
    fast = jit(lambda x: jnp.sin(x) * x)
    results: dict[tuple[int, int], Any] = {}

    def work(k: int) -> None:
        for n in range(1, 6):
            results[k, n] = np.asarray(fast(jnp.ones(n) * k))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (k, n), value in results.items():
        np.testing.assert_allclose(value, np.full(n, np.sin(k) * k), rtol=1e-5)
    assert len(results) == 40


# Looking at the program


def test_lower_and_compile() -> None:
    lowered = jit(lambda x, y: {"sum": jnp.sin(x) + y}).lower(1.0, jnp.ones(3))
    assert "stablehlo.sine" in lowered.as_text()
    assert lowered.jaxpr.eqns[0].primitive.name == "sin"
    program = lowered.compile()
    np.testing.assert_allclose(program(2.0, jnp.zeros(3))["sum"], np.full(3, np.sin(2.0)), 1e-6)
    assert "HloModule" in program.as_text()
    assert program.cost_analysis()
    assert program.memory_analysis() is not None
    with raises(ArgumentError, match=r"compiled for .*float32\[3\].*float32\[4\]"):
        program(2.0, jnp.zeros(4))
    with raises(
        ArgumentError, match="for tuple of length 2 at args, but was called with tuple of length 1"
    ):
        program((2.0, jnp.zeros(3)))
    with raises(ArgumentError, match=r"for a leaf at args\[1\], but was called with list of"):
        program(2.0, [jnp.zeros(3)])


def test_a_compiled_program_says_which_argument_is_of_another_type() -> None:
    program = jit(lambda p, *, x: p["w"][0] * x).lower({"w": [1.0, 2.0]}, x=jnp.ones(2)).compile()
    np.testing.assert_array_equal(program({"w": [3.0, 4.0]}, x=jnp.ones(2)), [3.0, 3.0])
    with raises(ArgumentError, match=r"float32\[\] at args\[0\]\['w'\]\[1\]"):
        program({"w": [3.0, 4]}, x=jnp.ones(2))
    with raises(ArgumentError, match=r"float32\[2\] at kwargs\['x'\], but was called"):
        program({"w": [3.0, 4.0]}, x=jnp.ones(3))


@pytest.mark.parametrize("name", ["größe", "函数", "1st", "a-b", "main", ""])
def test_names_that_are_no_names_in_mlir(name: str) -> None:
    def fun(x: Any) -> Any:
        return x + 1

    fun.__name__ = name
    np.testing.assert_array_equal(jit(lambda x: jit(fun)(x) + 1)(np.ones(2)), [3.0, 3.0])
    np.testing.assert_array_equal(jit(fun).lower(np.ones(3)).compile()(np.ones(3)), np.full(3, 2))


def test_lower_does_not_run_and_shares_the_trace() -> None:
    fun, traced = counting(lambda x: x + 1)
    fast = jit(fun)
    fast.lower(1.0)
    fast(1.0)
    assert len(traced) == 1


# Donation


def pointer(x: Array) -> int:
    """Return the address of the data; a host copy would keep it from being reused."""
    assert isinstance(x, ConcreteArray)
    buffer: Any = x._buffer
    return int(buffer.unsafe_buffer_pointer())


def test_a_donated_buffer_is_reused() -> None:
    x = jit(lambda: jnp.zeros(100_000), tier="compiled")()
    where = pointer(x)
    out = jit(lambda x: x + 1, donate_argnums=0, tier="compiled")(x)
    assert pointer(out) == where
    np.testing.assert_array_equal(out, np.ones(100_000))


def test_a_donated_array_cannot_be_used() -> None:
    x = jit(lambda: jnp.zeros(1000))()
    jit(lambda x: x + 1, donate_argnames="x")(x)
    assert x.is_deleted()
    assert x.shape == (1000,)
    assert x.dtype == jnp.float32
    uses: list[Callable[[], object]] = [
        lambda: np.asarray(x),
        lambda: x + 1,
        lambda: jit(lambda x: x)(x),
        lambda: float(x[0]),
        lambda: repr(x),
    ]
    for use in uses:
        with raises(ArgumentError, match="was donated to a compiled function"):
            use()


def test_what_is_donated_in_vain_is_told() -> None:
    x, y = jnp.ones(2), jnp.ones(3, jnp.int32)
    with pytest.warns(UserWarning, match=r"not usable: float32\[2\], int32\[3\]\. ") as told:
        jit(lambda x, y: x.sum() + y.sum(), donate_argnums=(0, 1))(x, y)
    assert told[0].filename == __file__


def test_donation_leaves_other_arguments_alone() -> None:
    @functools.partial(jit, donate_argnums=(0,))
    def update(state: dict[str, Any], step: Any) -> dict[str, Any]:
        return {name: value + step for name, value in state.items()}

    state = jit(lambda: {"a": jnp.zeros(5000), "b": jnp.ones(7000)})()
    step = jit(lambda: jnp.ones(()))()
    for _ in range(3):
        given, state = state, update(state, step)
        assert all(value.is_deleted() for value in given.values())
        assert not step.is_deleted()
    np.testing.assert_array_equal(state["a"], np.full(5000, 3.0))
    np.testing.assert_array_equal(state["b"], np.full(7000, 4.0))


def test_donation_never_writes_into_memory_that_others_see() -> None:
    given = np.zeros(100_000, np.float32)
    x = jnp.asarray(given)
    view = np.asarray(x)
    out = jit(lambda x: x + 1, donate_argnums=0)(x)
    np.testing.assert_array_equal(out, np.ones(100_000))
    np.testing.assert_array_equal(given, np.zeros(100_000))
    np.testing.assert_array_equal(view, np.zeros(100_000))


def test_a_view_of_a_result_survives_its_donation() -> None:
    x = jit(lambda: jnp.zeros(100_000))()
    view = np.asarray(x)
    jit(lambda x: x + 1, donate_argnums=0)(x).block_until_ready()
    np.testing.assert_array_equal(view, np.zeros(100_000))


@pytest.mark.parametrize(
    "copied",
    [
        jnp.array,
        jnp.copy,
        copy.copy,
        copy.deepcopy,
        lambda x: x.copy(),
        lambda x: jnp.asarray(x, copy=True),
        lambda x: x.astype(x.dtype, copy=True),
    ],
)
@pytest.mark.parametrize(
    "made", [lambda: jnp.arange(2000.0), jit(lambda: jnp.arange(2000.0)), lambda: jnp.ones(2000)]
)
def test_a_copy_and_its_array_survive_the_donation_of_the_other(
    copied: Callable[[Array], Array], made: Callable[[], Array]
) -> None:
    give = jit(lambda x: x * 2 + 1, donate_argnums=0)
    for kept, given in [(x := made(), copied(x)), (copied(x := made()), x)]:
        wanted = np.array(kept)
        give(give(given))
        assert not kept.is_deleted()
        np.testing.assert_array_equal(kept, wanted)
    x = made()
    jit(lambda x, y: (x + y, x - y), donate_argnums=(0, 1))(x, copied(x))


# Data that changes under our hands


def test_a_numpy_argument_may_be_overwritten_after_the_call() -> None:
    fast = jit(lambda x: jnp.sin(x) + x)
    given = np.ones(1_000_000, np.float32)
    made = jnp.asarray(given)
    fast(given)  # compiled: the next call returns before it has computed
    out = fast(given)
    given[...] = 7
    np.testing.assert_allclose(out, np.full(1_000_000, np.sin(1.0) + 1), rtol=1e-6)
    np.testing.assert_array_equal(made, np.ones(1_000_000))


def test_a_numpy_array_closed_over_is_read_when_traced() -> None:
    given = np.ones(4, np.float32)
    fast = jit(lambda x: x + given)
    fast(0.0)
    given[...] = 7
    np.testing.assert_array_equal(fast(0.0), np.ones(4))


def test_results_are_read_only() -> None:
    view = np.asarray(jit(lambda: jnp.zeros(3))())
    with raises(ValueError, match="read-only"):
        view[0] = 1


@pytest.mark.parametrize("shape", [(0,), (0, 3), (), (1,), (3, 1, 2)])
def test_shapes_of_all_kinds(shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    found = jit(lambda x: (x + 1, jnp.sum(x)))(x)
    np.testing.assert_array_equal(found[0], x + 1)
    assert float(found[1]) == x.sum()


def test_big_arrays_that_are_not_contiguous() -> None:
    x = np.arange(1_000_000, dtype=np.float32).reshape(1000, 1000)
    np.testing.assert_array_equal(jit(lambda x: x + x)(x.T[::3]), 2 * x.T[::3])
    np.testing.assert_array_equal(jit(lambda x: x)(jnp.asarray(x).T), x.T)


# Errors


def test_an_exception_leaves_nothing_behind() -> None:
    calls = []

    @jit
    def sometimes(x: Any) -> Any:
        calls.append("traced")
        if len(calls) == 1:
            raise RuntimeError("not now")
        return x + 1

    with raises(RuntimeError, match="not now"):
        sometimes(1.0)
    assert float(jnp.add(1.0, 1.0)) == 2.0  # eager again
    assert float(sometimes(1.0)) == 2.0


def test_python_control_flow_on_a_traced_value() -> None:
    with raises(ConcretizationError, match=r"jnp.where or lax.cond"):
        jit(lambda x: x if x > 0 else -x)(1.0)


def test_not_a_function() -> None:
    with raises(ArgumentError, match="jit must be a function"):
        jit(unchecked(3))


def test_agrees_with_jax_on_a_network() -> None:
    def loss(np_like: Any) -> Callable[..., Any]:
        def fun(params: list[Any], x: Any) -> Any:
            for w, b in params:
                x = np_like.tanh(np_like.dot(x, w) + b)
            return np_like.sum(x * x)

        return fun

    rng = np.random.default_rng(0)
    sizes = [4, 8, 8, 2]
    params = [
        (rng.normal(size=(m, n)).astype(np.float32), rng.normal(size=n).astype(np.float32))
        for m, n in itertools.pairwise(sizes)
    ]
    x = rng.normal(size=(5, 4)).astype(np.float32)
    found = jit(grad(loss(jnp)))(params, x)
    expected = jax.jit(jax.grad(loss(jax.numpy)))(params, x)
    for a, b in zip(tinyjax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(a, Array)
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_check_jaxprs() -> None:
    with config.scoped(check_jaxprs=True):
        assert float(jit(grad(lambda x: jnp.sin(x) * x))(0.0)) == 0.0


# Copies


@jit
def doubled(x: Any) -> Any:
    return 2 * x


class Model:
    def __init__(self) -> None:
        self.weights = jnp.ones(3)
        self.apply = jit(self.scaled, static_argnums=1)

    def scaled(self, x: Any, times: int) -> Any:
        return jnp.sum(self.weights * x) * times


def test_functions_that_were_called_are_copied_and_pickled() -> None:
    assert float(doubled(2.0)) == 4
    assert copy.deepcopy(doubled) is doubled
    assert copy.copy(doubled) is doubled
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    model = Model()
    assert float(model.apply(2.0, 1)) == 6
    for another in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert float(another.apply(2.0, 2)) == 12
        another.weights = jnp.zeros(3)
        assert float(another.scaled(2.0, 2)) == 0
        assert float(model.apply(2.0, 1)) == 6
    bound = jit(functools.partial(doubled))
    assert float(pickle.loads(pickle.dumps(bound))(3.0)) == 6


RESULTS: dict[str, Callable[[Array], Any]] = {
    "nested": lambda x: {"b": (x, [x + 1, {"a": x + 2}]), "a": x + 3, "it's": [x]},
    "empty": lambda x: {"a": (), "b": [], "c": {}, "d": x},
    "nothing": lambda x: (None, x),
    "other keys": lambda x: {2: x, 1: (x + 1,)},
    "one": lambda x: (x,),
    "many": lambda x: [x + i for i in range(70)],
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_come_in_their_containers(name: str) -> None:
    fun, x = RESULTS[name], jnp.arange(3.0)
    compiled = tinyjax.jit(fun)
    for _ in range(3):  # the first calls are made in another way
        found, expected = compiled(x), fun(x)
        assert tinyjax.tree.structure(found) == tinyjax.tree.structure(expected)
        assert str(found) == str(tinyjax.tree.map(lambda y: y, expected))


def test_a_decorator_hands_all_options_on(monkeypatch: pytest.MonkeyPatch) -> None:
    decorator = sys.modules["tinyjax.core.jit.decorator"]
    options: dict[str, Any] = {
        "static_argnums": 0,
        "static_argnames": "a",
        "donate_argnums": 1,
        "donate_argnames": "b",
        "control_flow": "source",
        "pad_to": 8,
        "tier": "first",
        "compiler": "xla",
        "compiler_options": {"c": 1},
        "inline": True,
        "keep_unused": True,
        "device": tinyjax.devices()[0],
        "backend": "cpu",
        "in_shardings": tinyjax.P("x"),
        "out_shardings": tinyjax.P("y"),
    }
    assert [*options] == [*inspect.signature(jit).parameters][1:]
    made = jit(**options)
    monkeypatch.setattr(decorator, "jit", lambda fun, **handed_on: handed_on)
    assert unchecked(made)(len) == options


PLACES = np.arange(200_000)[::-1, None]
ELEMENTS = lax.GatherDimensionNumbers((), (0,), (0,))

#: Eager operations on large arrays, and whether their results must lie where XLA reads them.
HANDED_ON: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "sum": (lambda x: x + x, True),
    "number": (lambda x: x * 2.0, True),
    "negative": (lambda x: -x, True),
    "sine": (jnp.sin, True),
    "choice": (lambda x: jnp.where(x > 0.5, x, 0.0), True),
    "comparison": (lambda x: x > 0.5, True),
    "integers": (lambda x: jnp.arange(400_000) + jnp.arange(400_000), True),
    "bfloat16": (lambda x: x.astype("bfloat16") * 2, True),
    "copy of the user's": (lambda x: jnp.asarray(np.ones(400_000)), True),
    "concatenation": (lambda x: jnp.concatenate([x, x]), True),
    "stack": (lambda x: jnp.stack([x, x], 1), True),
    "pad": (lambda x: jnp.pad(x, 3), True),
    "pad with ones": (lambda x: jnp.pad(x, 3, constant_values=1), True),
    "update": (lambda x: x.at[0].set(1.0), True),
    "updates": (lambda x: x.at[jnp.array([0, 1])].set(1.0), True),
    "update of a slice": (lambda x: lax.dynamic_update_slice(x, x[:2], (1,)), True),
    "scatter": (lambda x: x.reshape(-1, 4).at[jnp.array([0, 1])].add(1.0), True),
    "sort": (jnp.sort, True),
    "sort of columns": (lambda x: jnp.sort(x.reshape(4, -1), 0), True),
    "cumulative sum": (jnp.cumsum, True),
    "cumulative extremum": (lambda x: lax.cummax(x.reshape(4, -1), 1), True),
    "conversion": (lambda x: x.astype("float64"), True),
    "iota": (lambda x: jnp.arange(400_000), True),
    "list": (lambda x: jnp.array([1.5] * 300_000), True),
    "product": (lambda x: x[:160_000].reshape(400, 400) @ x[:160_000].reshape(400, 400), True),
    "product of transposed": (lambda x: x.reshape(-1, 400).T @ x.reshape(-1, 400), True),
    "gather": (lambda x: lax.gather(x, PLACES, ELEMENTS, (1,), mode="clip"), True),
    "places": (lambda x: x[np.arange(400_000)[::-1].copy()], True),
    "sum of rows": (lambda x: jnp.sum(jnp.reshape(x, (2, -1)), 0), True),
    "maximum": (lambda x: jnp.max(jnp.reshape(x, (2, -1)), 0), True),
    "truncation": (lambda x: (100 * x).astype("int32"), True),
    "outer product": (lambda x: jnp.outer(x[:400], x[:600]), True),
    "outputs of a scan": (
        tinyjax.jit(
            lambda x: lax.scan(lambda c, y: (c, 2 * y), 0, x.reshape(4, -1))[1], tier="first"
        ),
        True,
    ),
    "transpose": (lambda x: (x.reshape(400, -1) + 1).T + 1, False),
    "gradient": (tinyjax.grad(lambda x: jnp.sum(jnp.sin(x) * x)), False),
}


@pytest.mark.parametrize("name", HANDED_ON)
def test_large_arrays_are_handed_to_compiled_programs_and_back_in_one_copy(name: str) -> None:
    operation, in_place = HANDED_ON[name]
    compiled = tinyjax.jit(lambda x: x, tier="compiled")
    operand = jnp.asarray(np.linspace(0, 1, 400_000, dtype=np.float32))
    for _ in range(3):
        x = operation(operand)
        host: Any = x._host
        expected = np.array(host)
        tinyjax.block_until_ready(compiled(x))
        place = x._buffer.unsafe_buffer_pointer()
        if in_place:
            assert host.ctypes.data == place
        elif host.flags.c_contiguous:  # where it began elsewhere, the array has the buffer alone
            assert x._host is None or host.ctypes.data == place
        del host
        np.testing.assert_array_equal(np.asarray(x), expected)
        out = compiled(x + 0) if x.dtype != bool else compiled(x)
        assert np.asarray(out).ctypes.data == out._buffer.unsafe_buffer_pointer()


def test_ones_are_made_once() -> None:
    """As many bytes as the array has, counted by what NumPy allocates."""
    for make in (jnp.ones, jnp.zeros, lambda n: jnp.full(n, 2.5)):
        tracemalloc.start()
        x = make(10**6)
        tinyjax.block_until_ready(tinyjax.jit(lambda x: x[:1], tier="compiled")(x))
        np.asarray(x + 1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * 4 * 10**6 + 10**6  # the array for XLA, and the sum
        del x
