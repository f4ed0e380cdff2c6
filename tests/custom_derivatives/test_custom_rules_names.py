"""Rules of functions by JAX's names and with JAX's options, held against the installed jax."""

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import jax
import jax.custom_batching
import jax.custom_derivatives
import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import custom_batching, custom_derivatives
from tinyjax.errors import ArgumentError


def typed(decorator: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator of either library, with a type."""
    result: Callable[[Callable[..., Any]], Any] = decorator
    return result


Case = Callable[[ModuleType, list[Any]], Any]


def vjp_with_symbolic_zeros(lib: ModuleType, seen: list[Any]) -> Any:
    cd = lib.custom_derivatives

    @typed(lib.custom_vjp)
    def f(x: Any, y: Any) -> Any:
        return x * y["a"], y["a"]

    def fwd(x: Any, y: Any) -> Any:
        seen.append((type(x) is cd.CustomVJPPrimal, x.perturbed, y["a"].perturbed))
        plain_x, plain_y = cd.custom_vjp_primal_tree_values((x, y))
        return f(plain_x, plain_y), (plain_x, plain_y)

    def bwd(saved: Any, cts: Any) -> Any:
        seen.append([type(ct) is cd.SymbolicZero for ct in cts])
        seen.extend([(ct.shape, str(ct.dtype)) for ct in cts if type(ct) is cd.SymbolicZero])
        ct = cts[1] if type(cts[0]) is cd.SymbolicZero else cts[0]
        return ct * 3.0, {"a": ct * 5.0}

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    one, two = np.float32(1.0), np.float32(2.0)
    return (
        lib.grad(lambda x: f(x, {"a": two})[0])(one),
        lib.grad(lambda y: f(one, {"a": y})[1])(two),
        lib.grad(lib.jit(lambda x, y: sum(f(x, {"a": y}))), (0, 1))(one, two),
        f(one, {"a": two}),
    )


def jvp_with_symbolic_zeros(lib: ModuleType, seen: list[Any]) -> Any:
    zero = lib.custom_derivatives.SymbolicZero

    @typed(lib.custom_jvp)
    def f(x: Any, y: Any) -> Any:
        return x * y

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([(type(t) is zero, t.shape, str(t.dtype)) for t in tangents])
        # of a Python number 5, and of an array
        seen.append([(float(primals[1]) == 5, t.weak_type) for t in tangents if type(t) is zero])
        total = sum(t for t in tangents if type(t) is not zero)
        return f(*primals), total

    f.defjvp(rule, symbolic_zeros=True)
    x, y = np.float32(3.0), np.float32(4.0)
    weak = lib.jvp(lambda x: f(x, 5.0), (x,), (x,))
    return lib.jvp(lambda x: f(x, y), (x,), (x,)), weak, lib.grad(f, (0, 1))(x, y)


def names_of_arguments(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(partial(lib.custom_vjp, nondiff_argnames=["how"]))
    def f(x: Any, how: str, y: Any) -> Any:
        return x * y

    f.defvjp(lambda x, how, y: (x * y, y), lambda how, y, ct: (ct * len(how), ct))

    @typed(partial(lib.custom_jvp, nondiff_argnums=(0,), nondiff_argnames=("n",)))
    def g(fun: Any, x: Any, n: int) -> Any:
        return fun(x) * n

    g.defjvp(lambda fun, n, primals, tangents: (fun(primals[0]) * n, tangents[0] * (10 * n)))
    x = np.float32(2.0)
    return (
        lib.grad(f, (0, 2))(x, "four", x),
        lib.grad(lambda x: g(lib.numpy.sin, x, 3))(x),
        f(x, y=x, how="a"),
    )


def partials(lib: ModuleType, seen: list[Any]) -> Any:
    def power(x: Any, *, n: int) -> Any:
        return x**n

    f = lib.custom_jvp(partial(power, n=3))
    f.defjvp(lambda primals, tangents: (f(*primals), 7.0 * tangents[0]))
    return f(np.float32(2.0)), lib.grad(f)(np.float32(2.0))


def gradients_beside_values(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(lib.custom_gradient)
    def f(x: Any) -> Any:
        y = lib.numpy.sin(x)
        return y, lambda ct: ct * y

    @typed(lib.custom_gradient)
    def g(x: Any, y: Any) -> Any:
        return {"xy": x * y}, lambda ct: (ct["xy"] * y, 2 * ct["xy"] * x)

    x, y = np.float32(1.5), np.float32(2.5)
    both = lambda x, y: g(x, y)["xy"]  # noqa: E731
    return (
        f(x),
        lib.grad(f)(x),
        lib.jit(lib.grad(lambda x: f(2 * x)))(x),
        lib.grad(both, (0, 1))(x, y),
        lib.vmap(lib.grad(f))(np.arange(3, dtype=np.float32)),
    )


def linear_calls(lib: ModuleType, seen: list[Any]) -> Any:
    def f(r: Any, x: Any) -> Any:
        return {"y": x["x"] / r[0]}

    def transpose(r: Any, ct: Any) -> Any:
        return {"x": 10.0 * ct["y"] / r[0]}

    def scale(x: Any) -> Any:
        return lib.custom_derivatives.linear_call(f, transpose, (np.float32(2),), {"x": x})["y"]

    x = np.float32(6.0)
    return scale(x), lib.grad(scale)(x), lib.jit(lib.grad(scale))(x), lib.jvp(scale, (x,), (x,))


def zeros(lib: ModuleType, seen: list[Any]) -> Any:
    found = lib.custom_derivatives.zero_from_primal(
        {"a": np.ones(2, np.float32), "n": np.arange(3)}, symbolic_zeros=True
    )
    seen.extend((x.shape, str(x.dtype)) for x in found.values())
    number = lib.custom_derivatives.SymbolicZero.from_primal_value
    seen.extend((x, number(x).weak_type) for x in (1.0, np.float32(1.0)))
    return lib.custom_derivatives.zero_from_primal(np.ones(2, np.float32))


def rules_for_vmap(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(lib.custom_batching.custom_vmap)
    def f(x: Any, y: Any) -> Any:
        return x + y

    @typed(f.def_vmap)
    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        seen.append((axis_size, list(in_batched)))
        return x * y, True

    x = np.arange(3, dtype=np.float32)
    return f(x, x), lib.vmap(f)(x, x), lib.vmap(f, (0, None))(x, x[1])


def one_after_the_other(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(lib.custom_batching.sequential_vmap)
    def f(x: Any, y: Any) -> Any:
        seen.append((x.shape, y["a"].shape))
        return {"sum": x + y["a"]}

    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    return (
        lib.vmap(lambda x, y: f(x, {"a": y}), (0, None))(x, x[0]),
        lib.vmap(lambda x, y: f(x, {"a": y}), (1, 0))(x, x.T),
    )


def forward_derivatives_of_rules_for_vmap(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(lib.custom_batching.custom_vmap)
    def f(x: Any, y: Any) -> Any:
        return lib.numpy.sin(x), y

    @typed(f.def_vmap)
    def rule(axis_size: int, in_batched: Any, x: Any, y: Any) -> Any:
        seen.append((axis_size, list(in_batched)))
        return (lib.numpy.cos(x) * y, 7.0 * y), tuple(in_batched)

    def push(x: Any, t: Any) -> Any:
        return lib.jvp(f, (x, x * 2), (t, t))

    x, t = np.arange(3, dtype=np.float32) + 0.5, np.arange(3, dtype=np.float32) - 0.5
    return [
        push(x[1], t[1]),
        *(m(push)(x, t) for m in (lib.vmap, lambda g: lib.vmap(lib.jit(g)))),
        lib.jvp(lib.vmap(f), (x, x), (t, t)),
        lib.vmap(push, (None, 0))(x[1], t),
        lib.vmap(push, (0, None), ((0, 0), (0, None)))(x, t[0]),
        lib.jit(lib.jacfwd(f))(x, x),
        lib.vmap(lambda x: lib.jvp(lambda y: f(y, 2.0)[0], (x,), (x,)))(x),
    ]


def rules_of_several_decorators(lib: ModuleType, seen: list[Any]) -> Any:
    @typed(lib.custom_vjp)
    @typed(lib.custom_batching.custom_vmap)
    def f(x: Any) -> Any:
        return 3 * x

    f.defvjp(lambda x: (f(x), None), lambda _, ct: (5 * ct,))
    f.def_vmap(lambda n, mapped, x: (7 * x, True))
    x = np.ones(2, np.float32)
    return f(x), lib.vmap(f)(x), lib.grad(f)(x[0])


CASES: list[Case] = [
    forward_derivatives_of_rules_for_vmap,
    rules_of_several_decorators,
    vjp_with_symbolic_zeros,
    jvp_with_symbolic_zeros,
    names_of_arguments,
    partials,
    gradients_beside_values,
    linear_calls,
    zeros,
    rules_for_vmap,
    one_after_the_other,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_rules_do_what_they_do_in_jax(case: Case) -> None:
    ours_saw: list[Any] = []
    theirs_saw: list[Any] = []
    ours, theirs = case(tinyjax, ours_saw), case(jax, theirs_saw)
    found, expected = tinyjax.tree.leaves(ours), jax.tree.leaves(theirs)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-6)
    # how often a rule is staged is each library's own
    assert {*map(repr, ours_saw)} == {*map(repr, theirs_saw)}


def test_what_is_wrong_is_said() -> None:
    with raises(ArgumentError, match=r"nondiff_argnames has 'z', but .* takes x"):
        tinyjax.custom_jvp(lambda x: x, nondiff_argnames=["z"])
    with raises(ArgumentError, match="expected a CustomVJPPrimal"):
        custom_derivatives.custom_vjp_primal_tree_values((1.0,))
    with raises(TypeError, match="transpose output pytree structure must match"):
        custom_derivatives.linear_call(lambda r, x: x, lambda r, ct: (ct,), 1.0, {"x": 2.0})
    swapped = tinyjax.custom_vjp(lambda x, y: (x, y))
    swapped.defvjp(lambda x, y: ((x.value, y.value), None), lambda _, ct: ct[::-1], True)
    with raises(
        ValueError, match=r"output\[0\] .* of type float32\[3\] .*\[2\].*just returning a None"
    ):
        tinyjax.grad(lambda x: swapped(x, np.ones(3, np.float32))[0].sum())(np.ones(2, np.float32))
    with raises(AttributeError, match=r"No .* defined for"):
        custom_batching.custom_vmap(lambda x: x)(1.0)
