"""References in the rules of ``custom_vjp``: statistics of gradients, against JAX."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.errors import RefError


def stash(m: Any, kind: str) -> Any:
    """A function of a reference and a number whose rules use the reference."""

    def function(ref: Any, x: Any) -> Any:
        if kind == "function writes":
            ref[...] += 1.0
        return x * ref[...] if kind == "reads" else x

    def fwd(ref: Any, x: Any) -> Any:
        if kind == "forward writes":
            ref[...] += 10.0
        return function(ref, x), ref

    def bwd(ref: Any, ct: Any) -> Any:
        if kind == "counts":
            ref[...] += 1
        elif kind == "reads":
            return None, ct * ref[...]
        elif kind == "sets":
            ref[...] = ct
        else:
            ref[...] = 2 * ref[...] + ct
        return None, ct

    custom = m.custom_vjp(function)
    custom.defvjp(fwd, bwd)
    return custom


def closing(m: Any, kind: str) -> Any:
    """The same, with a function that closes over the reference."""
    whole = stash(m, kind)

    def call(ref: Any, x: Any) -> Any:
        custom = m.custom_vjp(lambda x: whole.__wrapped__(ref, x))
        custom.defvjp(
            lambda x: (whole.rule(ref, x)[0], None), lambda _, ct: (whole.bwd(ref, ct)[1],)
        )
        return custom(x)

    return call


KINDS = ["sets", "adds", "counts", "reads", "function writes", "forward writes"]


def programs(m: Any, use: Any) -> dict[str, Callable[..., Any]]:
    """Functions of a reference, to three numbers where they map over it, and of a number."""
    sin, factors = m.numpy.sin, m.numpy.arange(1.0, 4.0)

    def step(ref: Any, x: Any) -> Any:
        return sin(use(ref, sin(x)))

    def scanned(ref: Any, x: Any, body: Any) -> Any:
        return m.lax.scan(lambda c, _: (body(ref, c), None), x, None, length=3)[0]

    def two_loops(ref: Any, x: Any) -> Any:
        return scanned(ref, x, lambda ref, x: scanned(ref, x, step))

    return {
        "twice": lambda ref, x: step(ref, step(ref, x)),
        "scan": lambda ref, x: scanned(ref, x, step),
        "fori": lambda ref, x: m.lax.fori_loop(0, 3, lambda i, c: step(ref, c), x),
        "jit": m.jit(step),
        "checkpoint": lambda ref, x: m.checkpoint(lambda x: step(ref, x))(x),
        "nest": two_loops,
        "scanned parts": lambda ref, x: m.lax.scan(lambda c, r: (step(r, c), None), x, ref)[0],
        "mapped parts": lambda ref, x: m.vmap(step)(ref, x * factors).sum(),
        "mapped parts in a loop": lambda ref, x: m.lax.fori_loop(
            0, 2, lambda i, c: m.vmap(m.jit(step))(ref, c * factors).sum(), x
        ),
    }


def twice(m: Any, f: Any, ref: Any, x: Any) -> Any:
    pull_back = m.vjp(lambda x: f(ref, x), x)[1]
    return pull_back(m.numpy.float32(1.0)), pull_back(m.numpy.float32(-2.0))


WAYS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "call": lambda m, f, ref, x: m.jit(f)(ref, x),
    "grad": lambda m, f, ref, x: m.grad(f, 1)(ref, x),
    "jit(grad)": lambda m, f, ref, x: m.jit(m.value_and_grad(f, 1))(ref, x),
    "jit, closed over": lambda m, f, ref, x: m.jit(lambda x: m.grad(f, 1)(ref, x))(x),
    "grad(jit)": lambda m, f, ref, x: m.grad(m.jit(f), 1)(ref, x),
    "vjp": twice,
    "scan(grad)": lambda m, f, ref, x: m.lax.scan(
        lambda c, _: (c + m.grad(f, 1)(ref, c), ref[...]), x, None, length=2
    )[1],
}


def result(m: Any, use: Callable[..., Any], kind: str, program: str, way: str) -> Any:
    dtype = np.int32 if kind == "counts" else np.float32
    ref = m.new_ref(m.numpy.array([1, 2, 3] if "parts" in program else 1, dtype))
    out = WAYS[way](m, programs(m, use(m, kind))[program], ref, m.numpy.float32(0.7))
    return out, ref[...]


CASES = [
    case
    for case in product(KINDS, programs(jax, None), WAYS)
    # JAX writes a second time, where checkpoint runs a forward rule again
    if case[1] != "checkpoint" or case[0] not in ("function writes", "forward writes")
]


def check(kind: str, program: str, way: str) -> None:
    expected = result(jax, stash, kind, program, way)
    for use in (stash, closing):
        found = result(tinyjax, use, kind, program, way)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), 2e-5, 1e-6)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", random.Random(1).sample(CASES, 40), ids=str)
def test_what_rules_write_is_kept(case: tuple[str, str, str]) -> None:
    check(*case)


@pytest.mark.fuzz
@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_rules_write_is_kept_in_every_way(case: tuple[str, str, str]) -> None:
    check(*case)


def test_numbers_of_every_kind_are_counted() -> None:
    def counted(dtype: Any, start: Any) -> Any:
        ref = tinyjax.new_ref(jnp.array(start, dtype))
        count = tinyjax.custom_vjp(lambda x: x)

        def bwd(_: None, ct: Any) -> Any:
            ref[...] = ~ref[...] if dtype == "bool" else ref[...] + 1
            return (ct,)

        count.defvjp(lambda x: (x, None), bwd)
        loop = tinyjax.jit(lambda x: lax.scan(lambda c, _: (count(c), None), x, None, length=3)[0])
        tinyjax.grad(loop)(1.0)
        return ref[...]

    for dtype in ("int8", "uint16", "int32", "uint32", "int64", "float16", "bfloat16", "complex64"):
        found = counted(dtype, 5)
        assert (found.dtype.name, int(found.real)) == (dtype, 8)
    assert int(counted("int64", 2**60)) == 2**60 + 3
    assert int(counted("uint32", 2**32 - 5)) == 2**32 - 2
    assert counted("bool", True).tolist() is False


GLOBAL = tinyjax.new_ref(jnp.zeros(()))


@tinyjax.custom_vjp
def recorded(x: Any) -> Any:
    return x


def _noted_bwd(_: None, ct: Any) -> Any:
    GLOBAL.addupdate(ct)
    return (ct,)


recorded.defvjp(lambda x: (x, None), _noted_bwd)


def test_a_global_reference() -> None:
    GLOBAL[...] = 0.0
    f = tinyjax.jit(lambda x: lax.while_loop(lambda c: c < 30.0, lambda c: 2.0 * recorded(c), x))
    assert float(tinyjax.grad(f)(1.0)) == 32.0
    assert float(GLOBAL[...]) == 2.0 + 4 + 8 + 16 + 32


def test_a_reference_made_inside_has_the_derivative_of_its_contents() -> None:
    def program(m: Any) -> Any:
        use = stash(m, "function writes")
        custom = m.custom_vjp(lambda ref, x: x * ref[...])
        custom.defvjp(lambda ref, x: (x * ref[...], ref), lambda ref, ct: (None, 10.0 * ct))

        def f(x: Any) -> Any:
            ref = m.new_ref(x)
            return custom(ref, x) + ref[...]

        def g(x: Any) -> Any:
            ref = m.new_ref(x)
            return m.jit(use)(m.new_ref(x), x) + ref[...]

        return [way(f)(2.0) for way in (m.grad, lambda f: m.grad(m.jit(f)))]

    for a, b in zip(program(tinyjax), program(jax), strict=True):
        assert float(a) == float(b)


def test_logs_beside_what_is_kept() -> None:
    ref = tinyjax.new_ref(0.0)
    clip = tinyjax.custom_vjp(lambda x: x)

    def bwd(_: None, ct: Any) -> Any:
        ref.addupdate(ct)
        return (ct,), {"ct": ct}

    clip.defvjp_with_logs(lambda x: (x, None), bwd)
    step = tinyjax.jit(lambda c, _: (clip(2.0 * c), None))
    _, pull_back = tinyjax.vjp(lambda x, y: y * lax.scan(step, x, None, length=3)[0], 1.0, 5.0)
    gradients, logs = pull_back.with_logs(1.0)
    assert [float(x) for x in gradients] == [40.0, 8.0]
    assert (logs["ct"].tolist(), float(ref[...])) == ([20.0, 10.0, 5.0], 35.0)


def test_what_differs_between_examples_is_not_written_for_all() -> None:
    ref = tinyjax.new_ref(0.0)
    use = stash(tinyjax, "adds")
    mapped = tinyjax.vmap(lambda x: use(ref, x))
    x = jnp.arange(3.0)
    assert tinyjax.jit(mapped)(x).tolist() == [0.0, 1.0, 2.0]
    for f in (mapped, tinyjax.jit(mapped)):
        with raises(RefError, match="vmap maps over, with a part for each example"):
            tinyjax.grad(lambda x, f=f: (f(x) ** 2).sum())(x)
    with raises(RefError, match="depends on what is transformed"):
        tinyjax.grad(tinyjax.grad(lambda x: use(ref, x) ** 3))(1.0)
    _, push = tinyjax.linearize(lambda x: use(ref, x) ** 3, 1.0)
    with raises(RefError, match="nothing passes on what it writes"):
        tinyjax.linear_transpose(push, 1.0)(1.0)
