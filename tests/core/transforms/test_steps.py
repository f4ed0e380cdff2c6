"""Steps of a linearization that are repeated give what the rules give, to the last bit."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from specs import Spec, all_specs
from tinyjax import extend, lax, tree
from tinyjax._extensions.host import steps
from tinyjax.core.tracing import kernels
from tinyjax.core.tracing.primitive import NoParams, Primitive, nonzeros, present, registry
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray, is_inexact


@pytest.fixture(autouse=True)
def _forget_steps() -> Iterator[None]:
    steps.steps.clear()
    yield
    steps.steps.clear()


def _is_made(name: str) -> bool:
    return any(isinstance(key, tuple) and key[0] is registry[name] for key in steps.steps.kernels)


def _outcome(fun: Callable[..., Any], operands: Sequence[HostArray], chosen: list[bool]) -> Any:
    """Return the results and the program of a linearization, and the results of its transpose."""
    try:
        with np.errstate(all="ignore"):
            found = linearize_flat(
                lambda *xs: tree.leaves(fun(*xs)), [*map(as_array, operands)], chosen
            )
            cotangents = [jnp.ones_like(x) for x in found.primals_out]
            pulled = found.pull_back(cotangents)
    except Exception as error:
        return type(error), str(error)
    arrays = [*found.primals_out, *found.residuals, *present(pulled)]
    data = [(x.aval, np.asarray(x.concrete("data")).tobytes()) for x in arrays]
    return data, str(found.jaxpr), found.nonzero_out, nonzeros(pulled)


def _others(x: HostArray, special: bool) -> list[HostArray]:
    """Other data of the same type."""
    found = [x, x[..., ::-1].copy() if x.ndim else x.copy()]
    if special and is_inexact(x.dtype) and x.size:
        changed = x.copy()
        changed.reshape(-1)[::2] = [np.nan, np.inf, -0.0, 0.0][x.size % 4]
        found.append(changed)
        found.append(np.zeros_like(x))
    return found


ROWS: Final = [row for row in all_specs() if steps.is_replayable(row.primitive)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_steps_repeat_rules(row: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    """With other values than those that the step was made at."""
    for case, _, operands in row.samples(1):
        fun = row.applied(case.params)
        inexact = [is_inexact(x.dtype) for x in operands]
        few = [i > 0 and x for i, x in enumerate(inexact)]
        for chosen in {tuple(inexact), tuple(few), (*inexact[:-1], False)}:
            if not any(chosen):
                continue
            data = [_others(x, special=True) for x in operands]
            given = [[x[i % len(x)] for x in data] for i in range(4)]
            steps.steps.clear()
            monkeypatch.setattr(kernels, "CALLS", ())
            expected = [_outcome(fun, xs, [*chosen]) for xs in given]
            monkeypatch.setattr(kernels, "CALLS", (1, 2, 3))
            for _ in range(3):
                _outcome(fun, given[0], [*chosen])
            found = [_outcome(fun, xs, [*chosen]) for xs in given]
            assert found == expected


@pytest.mark.slow
def test_most_rules_become_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    made = set()
    for row in ROWS:
        for case, _, operands in row.samples(1):
            _outcome(row.applied(case.params), operands, [is_inexact(x.dtype) for x in operands])
        if _is_made(row.primitive.name):
            made.add(row.primitive.name)
    differentiable = {row.primitive.name for row in ROWS if row.grad or row.linear}
    assert differentiable <= made


def test_rules_are_asked_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    for name in ("sin", "mul", "dot_general"):
        rule = registry[name].rules.jvp

        def asking(*args: Any, name: str = name, rule: Any = rule) -> Any:
            calls.append(name)
            return rule(*args)

        monkeypatch.setattr(registry[name].rules, "jvp", asking)

    def f(w: Array, x: Array) -> Array:
        return jnp.sum(jnp.sin(w @ x) * x)

    w, x = jnp.ones((3, 3)), jnp.arange(3.0)
    for _ in range(kernels.CALLS[0]):
        tinyjax.grad(f)(w, x)
    calls.clear()
    slope = tinyjax.grad(f)(w + 1, x + 1)
    assert calls == []
    expected = np.outer(np.cos(np.full(3, 12.0)) * np.arange(1, 4), np.arange(1, 4))
    np.testing.assert_allclose(np.asarray(slope), expected, 1e-5)
    tinyjax.grad(f)(jnp.ones((2, 2)), jnp.ones(2))
    assert calls == ["dot_general", "sin", "mul"]


def test_arrays_that_nobody_asked_for_their_type(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices that were just made know their type when it is first read."""
    monkeypatch.setattr(kernels, "CALLS", (1,))
    x = jnp.arange(12.0).reshape(3, 4)
    for index in ([0, 1], [2], [[0, 1], [1, 2]]):
        found = tinyjax.grad(lambda x, index=index: jnp.sum(x[np.array(index)] ** 2))(x)
        counts = np.bincount(np.ravel(index), minlength=3)[:, None]
        np.testing.assert_array_equal(np.asarray(found), 2 * np.asarray(x) * counts)


def test_a_rule_of_the_users_is_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    factors = iter(range(1, 10))
    twice: Primitive[NoParams] = Primitive("twice_for_steps", NoParams)
    monkeypatch.delitem(registry, twice.name)
    twice.def_numpy(lambda x: 2 * x)
    twice.def_abstract_eval(lambda avals, params: avals)

    @twice.def_jvp
    def twice_jvp(primals: Any, tangents: Any, params: Any) -> Any:
        return twice.bind(*primals), [next(factors) * t for t in tangents]

    slopes = [float(tinyjax.grad(lambda x: twice.bind(x)[0])(3.0)) for _ in range(3)]
    assert slopes == [1.0, 2.0, 3.0]


def test_formulas_of_the_users_are_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    factors = iter(range(1, 10))
    scaled: Primitive[NoParams] = Primitive("scaled_for_steps", NoParams)
    monkeypatch.delitem(registry, scaled.name)
    scaled.def_numpy(np.negative)
    scaled.def_abstract_eval(lambda avals, params: avals)
    extend.def_derivatives(scaled, lambda t, out, x: next(factors) * t)
    gradient = tinyjax.grad(
        lambda x: jnp.sum(jnp.sin(scaled.bind(jnp.cos(x))[0]) * 0) + jnp.sum(scaled.bind(x)[0])
    )
    slopes = [gradient(jnp.ones(2)).tolist() for _ in range(3)]
    assert slopes == [[2.0] * 2, [4.0] * 2, [6.0] * 2]

    turned: Primitive[NoParams] = Primitive("turned_for_steps", NoParams)
    monkeypatch.delitem(registry, turned.name)
    turned.def_numpy(np.negative)
    turned.def_abstract_eval(lambda avals, params: avals)
    extend.def_linear(turned)
    factors = iter(range(1, 10))
    extend.def_transposes(turned, lambda ct, x: next(factors) * ct)
    pulled = tinyjax.grad(lambda x: jnp.sum(jnp.sin(turned.bind(2 * x)[0] * 3)))
    first, *others = [pulled(jnp.zeros(2)).tolist() for _ in range(3)]
    assert others == [[2 * x for x in first], [3 * x for x in first]]


def test_a_rule_that_takes_the_place_of_another_is_used() -> None:
    neg_p = registry["neg"]
    rule = neg_p.rules.jvp
    gradient = tinyjax.grad(lambda x: jnp.sum(lax.neg(x)))
    x = jnp.ones(2)
    try:
        for _ in range(kernels.CALLS[0] + 1):
            gradient(x)
        assert _is_made("neg")
        neg_p.def_jvp(
            lambda primals, tangents, params: (primals, [3 * t for t in present(tangents)])
        )
        assert gradient(x).tolist() == [3.0, 3.0]
    finally:
        neg_p.def_jvp(rule)
    assert gradient(x).tolist() == [-1.0, -1.0]


def test_a_debugger_sees_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "CALLS", (1,))
    gradient = tinyjax.grad(lambda x: jnp.sum(jnp.sqrt(x) * x))
    gradient(jnp.ones(2))
    with tinyjax.debug_nans(), pytest.raises(tinyjax.errors.NanError):
        gradient(-jnp.ones(2))
