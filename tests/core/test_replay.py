"""Calls that are replayed give what the operations give, to the last bit, and fail as they do."""

import inspect
import operator
import threading
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from fuzz.library.libraries import JAX, TINYJAX
from fuzz.library.signatures import draw_call, functions
from tinyjax import ad, lax, random, tree
from tinyjax._extensions.host import plans, recording, replay, steps
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives.wrap_index import WrapIndexParams
from tinyjax.core.tracing import kernels
from tinyjax.core.tracing.jaxpr import JaxprEqn
from tinyjax.core.tracing.primitive import NO_PARAMS, ZERO, Tangent, present, registry
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.dtypes import HostArray
from tinyjax.errors import DtypeError
from tinyjax.lax import optimization_barrier
from tinyjax.testing.libraries.drawing import Draw
from tinyjax.testing.libraries.drawn_calls import Library
from tinyjax.testing.libraries.signatures import PublicFunction


@attrs.frozen(eq=False)
class _Unwrapped(Library):
    """The functions without what replays them."""

    def find(self, path: str) -> Any:
        return inspect.unwrap(
            Library.find(self, path), stop=lambda fun: fun.__code__.co_filename != replay.__file__
        )


_PLAIN: Final = _Unwrapped(*[getattr(TINYJAX, field.name) for field in attrs.fields(Library)])


def _is_replayed(path: str) -> bool:
    code = getattr(TINYJAX.find(path), "__code__", None)
    return code is not None and code.co_filename == replay.__file__


FUNCTIONS: Final = [f for f in functions(TINYJAX, JAX) if _is_replayed(f.path)]


def _others(x: HostArray) -> list[HostArray]:
    """Other data of the same type: in another order, and special values where there are floats."""
    found = [x, x[..., ::-1].copy() if x.ndim else x, np.zeros_like(x)]
    if x.dtype.kind in "fc" and x.size:
        special = x.copy()
        special.reshape(-1)[::2] = [np.nan, np.inf, -np.inf, -0.0][x.size % 4]
        found.append(special)
        found.append(-x)
    return found


def _outcome(library: Library, call: Any, arrays: list[Any]) -> Any:
    """The results' types and bytes, or the error's class and message."""
    try:
        leaves = tree.leaves(call.program(library)(arrays))
    except Exception as error:
        return type(error), str(error)
    return [(x.aval, x.concrete("data").tobytes()) if isinstance(x, Array) else x for x in leaves]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", FUNCTIONS, ids=[function.path for function in FUNCTIONS])
def test_a_replayed_call_gives_the_same(
    function: PublicFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = draw_call(function, Draw(f"replay/{function.path}"))
    data = [_others(operand.host) for operand in call.operands()]
    given = [[TINYJAX.array(x[i % len(x)]) for x in data] for i in range(5)]
    monkeypatch.setattr(kernels, "CALLS", ())
    with TINYJAX.precise(call.wide):
        expected = [_outcome(_PLAIN, call, arrays) for arrays in given]
        monkeypatch.setattr(kernels, "CALLS", (1, 2, 3))
        for _ in range(3):
            _outcome(TINYJAX, call, given[0])
        monkeypatch.setattr(kernels, "CALLS", ())
        assert [_outcome(TINYJAX, call, arrays) for arrays in given] == expected


def _after(calls: int, fun: Any, *args: Any) -> Any:
    """The result of a call after so many like it."""
    for _ in range(calls):
        fun(*args)
    return fun(*args)


MANY: Final = kernels.CALLS[0] + 1


def test_composition_is_left_out() -> None:
    made = []

    @replayed
    def f(x: Array, power: int) -> Array:
        made.append(power)
        return jnp.sum(x**power)

    x = jnp.arange(4.0)
    assert float(_after(MANY, f, x, 2)) == 14.0
    before = len(made)
    assert float(f(x + 1, 2)) == 30.0
    assert len(made) == before  # the program of these types
    assert float(f(x, 3)) == 36.0
    assert float(f(jnp.arange(3.0), 2)) == 5.0
    assert len(made) == before + 2  # another number is another program, as is another type


def test_numbers_that_are_equal_are_told_apart() -> None:
    @replayed
    def f(x: Array, number: Any) -> Array:
        return jnp.copysign(x, float(number)) if isinstance(number, float) else x + number

    x = jnp.ones(2)
    for number, expected in ((0.0, 1.0), (-0.0, -1.0), (0, 1.0), (False, 1.0)):
        assert _after(MANY, f, x, number).tolist() == [expected] * 2


def test_a_rule_that_takes_the_place_of_another_is_used() -> None:
    @replayed
    def f(x: Array) -> Array:
        return jnp.sum(lax.neg(x))

    def gradient() -> list[float]:
        slopes: list[float] = tinyjax.grad(f)(x).tolist()
        return slopes

    x, neg_p = jnp.ones(2), registry["neg"]
    rules = neg_p.rules
    assert float(_after(MANY, f, x)) == -2.0
    assert _after(MANY, gradient) == [-1.0, -1.0]
    impl, host, transpose = rules.impl, rules.host, rules.transpose
    assert host is not None
    try:
        neg_p.def_impl(lambda operands, params: [-3 * x for x in operands])
        neg_p.def_transpose(lambda cotangents, *_: [5 * ct for ct in present(cotangents)])
        assert float(_after(MANY, f, x)) == -6.0
        assert _after(MANY, gradient) == [5.0, 5.0]
    finally:
        neg_p.def_impl(impl)
        neg_p.def_host(host)
        neg_p.def_transpose(transpose)
    assert float(_after(MANY, f, x)) == -2.0


def test_operators_use_a_rule_that_takes_the_place_of_another() -> None:
    x, add_p = jnp.ones(2), registry["add"]
    impl, host = add_p.rules.impl, add_p.rules.host
    assert host is not None
    assert _after(2, operator.add, x, x).tolist() == [2.0, 2.0]
    try:
        add_p.def_impl(lambda operands, params: [5 * operands[0]])
        assert _after(2, operator.add, x, x).tolist() == [5.0, 5.0]
    finally:
        add_p.def_impl(impl)
        add_p.def_host(host)
    assert _after(2, operator.add, x, x).tolist() == [2.0, 2.0]


def test_programs_belong_to_settings() -> None:
    def f() -> Array:
        return jnp.linspace(0.0, 1.0, 5)

    assert _after(MANY, f).dtype == np.float32
    with tinyjax.default_dtypes("float64"):
        assert f().dtype == np.float64
    key = random.key(0)
    with tinyjax.debug_key_reuse():
        random.normal(key, (2,))
        with pytest.raises(tinyjax.errors.KeyReuseError):
            _after(MANY, random.normal, key, (2,))


def test_a_module_replays_the_public_functions_that_it_defines() -> None:
    text = """
from math import sin
def cosh(x): return x
def sinh(x): return x
def _half(x): return x
kosh = cosh
"""
    module: dict[str, Any] = {"__name__": "module"}
    exec(text, module)
    before = {**module}
    replay.replay_functions(module, plain="sinh")
    assert [name for name in module if module[name] is not before[name]] == ["cosh", "kosh"]
    assert module["cosh"] is module["kosh"]
    assert module["cosh"].__wrapped__ is before["cosh"]
    assert module["cosh"].__code__.co_filename == replay.__file__


def test_what_depends_on_data_is_not_replayed() -> None:
    @replayed
    def f(x: Array) -> Array:
        return jnp.sum(x) if float(x[0]) > 0 else jnp.max(x)

    x = jnp.array([1.0, 2.0])
    assert float(_after(MANY, f, x)) == 3.0
    assert float(f(-x)) == -1.0


def test_a_debugger_sees_the_operations() -> None:
    x = jnp.array([1.0, 2.0])
    _after(MANY, jnp.std, x)
    with tinyjax.debug_nans(), pytest.raises(tinyjax.errors.NanError):
        jnp.std(x * jnp.inf).block_until_ready().item()


def test_transformations_see_the_operations() -> None:
    x = jnp.array([1.0, 2.0, 4.0])
    expected = tinyjax.grad(jnp.std)(x)
    _after(MANY, jnp.std, x)
    assert tinyjax.grad(jnp.std)(x).tolist() == expected.tolist()
    assert tinyjax.vmap(jnp.std)(x[:, None]).shape == (3,)
    assert tinyjax.jit(jnp.std)(x).shape == ()
    assert len(tinyjax.make_jaxpr(jnp.std)(x).eqns) > 1


def test_results_are_nobody_elses() -> None:
    first, second = _after(MANY, jnp.eye, 3), jnp.eye(3)
    assert not np.shares_memory(np.asarray(first), np.asarray(second))
    changed = tinyjax.jit(lambda x: x + 1, donate_argnums=0)(first)
    assert changed.tolist() == (np.eye(3) + 1).tolist()
    assert jnp.eye(3).tolist() == np.eye(3).tolist()


def _takes_parts(x: Array, y: Array) -> tuple[Array, ...]:
    """Takes parts of arrays, for one reader and for several."""
    first, rest = jnp.split(y, [1])
    inner = y[1:3, ::2]
    return jnp.roll(x, 1) + jnp.roll(x, -1), jnp.concatenate([rest, first]), inner * inner, y[:, 1:]


def _repeats_and_reads(x: Array, y: Array) -> tuple[Array, ...]:
    """Repeats elements for every kind of reader: those that broadcast, others, and the caller."""
    column, row = x[:, None], x[None, :]
    wide = jnp.broadcast_to(column, y.shape)
    again = jnp.broadcast_to(jnp.reshape(column, (1, -1, 1)), (2, *y.shape))
    both = column + row  # of which neither has the shape of the result
    return wide + y, jnp.sin(wide), both, again, wide, jnp.reshape(wide * 2 + wide * 2, -1)


def _reads_elements(x: Array, y: Array) -> tuple[Array, ...]:
    """Reads single elements as numbers and as arrays, and repeats them."""
    first, last, corner = lax.slice(x, (0,), (1,)), lax.slice(x, (3,), (4,)), y[2:3, 1:2]
    total = first + last * jnp.reshape(corner, 1)
    chosen = jnp.where(first < last, total, -total)
    deep = total
    for _ in range(60):  # more than Python nests
        deep = jnp.sin(deep) + last
    return x - total, y * corner, chosen, first, jnp.sum(x) + total, deep, corner / corner[0]


@pytest.mark.parametrize("fun", [_takes_parts, _repeats_and_reads, _reads_elements])
def test_what_is_written_repeats_and_reads_in_any_way(
    fun: Callable[[Array, Array], tuple[Array, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    replayed_too, made = replayed(fun), list[Any]()

    def write(*args: Any) -> Any:
        made.append(write_staged(*args))
        return made[-1]

    write_staged = recording.write_staged
    monkeypatch.setattr(recording, "write_staged", write)
    for seed in range(3):
        x, y = (random.normal(random.key(seed), shape) for shape in ((4,), (4, 4)))
        expected, found = fun(x, y), replayed_too(x, y)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
    assert made[0] is not None


_OPERANDS: Final = {"not": 1, "neg": 1, "abs": 1, "wrap_index": 1, "select": 3}


_WITH_NUMBERS: Final = (
    *("add", "sub", "mul", "div", "and", "or", "xor", "eq", "ne", "lt", "le", "gt", "ge"),
    *("not", "neg", "abs", "max", "min", "select", "wrap_index"),
)


@pytest.mark.parametrize("name", _WITH_NUMBERS)
def test_numbers_give_the_bits_of_arrays(name: str) -> None:
    primitive = registry[name]
    params = WrapIndexParams(7) if name == "wrap_index" else NO_PARAMS
    compared = 0
    with np.errstate(all="ignore"):
        for dtype in map(np.dtype, "?bhiqBHIQefd"):
            few = np.array([0, 1, 2, 3, -1, -7, 100, 2**63, np.inf, -0.0, 1e-45, 0.3]).astype(dtype)
            some = [np.array(x) for x in few]
            first = [np.array(True), np.array(False)] if name == "select" else some
            for x, y in product(first, some):
                given = [x, y, some[3]][: _OPERANDS.get(name, 2)]
                avals = [ShapedArray((), x.dtype) for x in given]
                try:
                    types = primitive.rules.abstract_eval(avals, params)
                except DtypeError:
                    continue
                host = primitive.host_call(avals, params)
                if host is None or host.numbers is None:
                    continue
                text = host.numbers
                names = {f"x{i}": x[()] for i, x in enumerate(given)}
                found = np.asarray(eval(text.format(*names), names))
                (expected,) = primitive.rules.impl(given, params)
                assert found.dtype == types[0].dtype
                assert found.tobytes() == np.asarray(expected).tobytes(), (text, given)
                compared += 1
    assert compared


def test_threads_replay_side_by_side() -> None:
    results: list[list[float]] = []
    data = [jnp.arange(3.0) + i for i in range(4)]

    def work() -> None:
        results.extend([float(jnp.var(x)) for x in data] for _ in range(2 * MANY))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({tuple(row) for row in results}) == 1


def _mlp(params: dict[str, Array], x: Array) -> Array:
    hidden = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((hidden @ params["v"]) ** 2) + 0 * jnp.sum(params["unused"] > 0)


GRADIENTS: Final = {
    "network": _mlp,
    "chosen by data": lambda p, x: _mlp(p, x) if float(x[0, 0]) > 0 else jnp.sum(p["w"] * x[0, 0]),
    "scalar residuals": lambda p, x: jnp.sum(p["b"] * x[0, 0]) * jnp.max(x) / jnp.sum(p["v"]),
    "linear": lambda p, x: jnp.sum(p["b"]) + jnp.sum(p["w"]),
    "loop": lambda p, x: tinyjax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * x[0, 0], p["b"])[0],
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_replayed_gradient_is_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Array:
        return jnp.asarray(rng.normal(size=shape).astype(np.float32))

    params = {"w": draw(3, 4), "b": draw(4), "v": draw(4, 2), "unused": draw(2)}
    inputs = [draw(5, 3) for _ in range(4)]
    inputs += [inputs[0] * jnp.nan, inputs[0] * 0]

    def outcomes() -> list[list[bytes]]:
        gradients = [tinyjax.grad(GRADIENTS[name])(params, x) for x in inputs]
        return [[np.asarray(g).tobytes() for g in tree.leaves(found)] for found in gradients]

    monkeypatch.setattr(kernels, "CALLS", ())
    expected = outcomes()
    monkeypatch.setattr(kernels, "CALLS", (1, 2, 3))
    for _ in range(3):
        outcomes()
    assert outcomes() == expected


def test_a_backward_pass_is_replayed() -> None:
    def f(x: Array, factor: float) -> Array:
        return jnp.sum(jnp.exp(jnp.sin(x) ** 3 * factor))

    x = np.array([0.5, 1.5, 2.5])
    before = len(steps.backward_passes.kernels)
    for factor in (2.0, 3.0):  # by which alone the second program differs
        found = _after(MANY, tinyjax.grad(f), jnp.array(x), factor)
        slope = np.exp(np.sin(x) ** 3 * factor) * 3 * np.sin(x) ** 2 * np.cos(x) * factor
        np.testing.assert_allclose(np.asarray(found), slope, 1e-5)
    assert len(steps.backward_passes.kernels) > before


def test_a_backward_pass_of_some_results_is_replayed() -> None:
    """A result without a cotangent is told apart from others; an argument may have none."""
    x = jnp.array([0.5, 1.5, 2.5])
    linearized = linearize_flat(
        lambda x, _: [jnp.sin(x) * x, optimization_barrier((jnp.cos(x) * 2,))[0] * 3, x * 5], [x, x]
    )
    slopes = [np.cos(x) * x + np.sin(x), -6 * np.sin(x), np.full(3, 5.0)]
    before = len(steps.backward_passes.kernels)
    for place in [0, 1, 2, 1, 0] * MANY:
        cotangents: list[Tangent] = [ZERO] * 3
        cotangents[place] = jnp.ones(3)
        found, of_unused = linearized.pull_back(cotangents)
        np.testing.assert_allclose(np.asarray(found), slopes[place], 1e-5)
        assert of_unused is ZERO
    assert len(steps.backward_passes.kernels) == before + 3


def test_a_backward_pass_depends_on_arguments_whose_cotangents_nobody_needs() -> None:
    def f(x: Array, y: Array) -> Array:
        return jnp.sum(jnp.cumsum(jnp.concatenate([x, y])))

    def slope(size: int) -> list[float]:
        _, pull_back = tinyjax.vjp(f, jnp.ones(2), jnp.ones(size))
        slopes: list[float] = pull_back.with_refs(ad.GradValue(), ad.DontWant())(1.0)[0].tolist()
        return slopes

    assert _after(MANY, slope, 3) == [5.0, 4.0]
    assert slope(5) == [7.0, 6.0]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max"])
def test_a_gradient_at_another_shape_is_another_one(name: str) -> None:
    def f(x: Array) -> Array:
        reduced: Array = getattr(jnp, name)(x)
        return 2 * (reduced + reduced) * reduced + 3 * jnp.sum(x)

    data = [jnp.linspace(1, 2, n) for n in (3, 4, 1)]
    data += [data[1].reshape(2, 2), data[1].astype("float64"), data[0][:, None]]
    expected = [np.asarray(tinyjax.grad(f)(x)) for x in data]
    for _ in range(MANY):
        for x, one in zip(data, expected, strict=True):
            found = tinyjax.grad(f)(x)
            assert found.dtype == one.dtype
            np.testing.assert_array_equal(np.asarray(found), one)


def test_backward_passes_of_the_users_are_not_replayed() -> None:
    passes: list[float] = []

    @tinyjax.custom_vjp
    def f(x: Array) -> Array:
        return jnp.sin(x) * jnp.cos(x)

    def backward(residual: Array, ct: Array) -> tuple[Array]:
        passes.append(float(residual[0]))
        return (ct * len(passes),)

    f.defvjp(lambda x: (f(x), x), backward)
    gradient = tinyjax.grad(lambda x: jnp.sum(jnp.exp(f(jnp.sin(x) * 2)) ** 2))
    for i in range(2 * MANY):
        gradient(jnp.array([0.5, 1.5]) + i)
    assert len(passes) == 2 * MANY


def test_a_gradient_is_not_replayed_where_it_is_transformed() -> None:
    x = jnp.array([0.5, 1.5])

    def f(x: Array) -> Array:
        return jnp.sum(jnp.sin(x) ** 3)

    second = np.asarray(tinyjax.hessian(f)(x))
    _after(MANY, tinyjax.grad(f), x)
    np.testing.assert_array_equal(np.asarray(tinyjax.hessian(f)(x)), second)
    np.testing.assert_allclose(
        np.asarray(tinyjax.vmap(tinyjax.grad(f))(x[:, None]))[:, 0],
        np.asarray(tinyjax.grad(f)(x)),
        rtol=1e-6,
    )


def test_sizes_that_are_equal_and_of_other_types_are_told_apart() -> None:
    @replayed
    def kinds(x: Array, shape: tuple[int, ...]) -> Array:
        return x + len([n for n in shape if isinstance(n, bool)])

    x = jnp.zeros(2)
    for shape, expected in (((1, 0), 0.0), ((True, False), 2.0), ((1, False), 1.0)) * 2:
        found = _after(MANY, kinds, x, shape)
        np.testing.assert_array_equal(np.asarray(found), np.full(2, expected, np.float32))


def test_what_is_undone_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    written, write = list[str](), plans.PythonBody.write

    def noting(writer: plans.PythonBody, eqn: JaxprEqn, *more: Any) -> None:
        written.append(eqn.primitive.name)
        write(writer, eqn, *more)

    monkeypatch.setattr(plans.PythonBody, "write", noting)

    @replayed
    def children(key: Array) -> Array:
        return random.wrap_key_data(random.key_data(inspect.unwrap(random.split)(key)))

    key = random.key(3)
    expected = random.key_data(random.split(random.key_data(key)))
    written.clear()
    for _ in range(3):
        np.testing.assert_array_equal(random.key_data(children(key)), expected)
    assert written == ["random_unwrap", "random_bits"]


def test_what_is_given_back_is_not_written() -> None:
    @replayed
    def same(key: Array) -> Array:
        return random.wrap_key_data(random.key_data(key))

    key = random.key(3)
    for _ in range(20):
        assert same(key) == key
