"""The maps that ``vjp``, ``linearize`` and ``linear_transpose`` return are trees of residuals."""

from typing import Any

import jax
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import ad, tree
from tinyjax.core.api import pullbacks
from tinyjax.core.tracing.primitive import (
    NO_PARAMS,
    ZERO,
    Cotangents,
    NoParams,
    Operands,
    Primitive,
    Tangents,
    present,
    registry,
)
from tinyjax.core.tracing.trace import bind
from tinyjax.errors import ArgumentError


def loss(p: Any, x: Any) -> Any:
    return {"y": jnp.sin(p["w"] * x) + p["b"], "n": jnp.argmax(x)}


P = {"w": np.float32(0.5), "b": np.ones(3, np.float32)}
X = np.arange(3, dtype=np.float32)
CT = {"y": np.arange(1, 4, dtype=np.float32), "n": np.zeros((), tinyjax.float0)}


def close(a: Any, b: Any) -> None:
    for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-6)


def test_a_pull_back_goes_through_jit() -> None:
    _, plain = tinyjax.vjp(loss, P, X)
    compiled = tinyjax.jit(lambda p, x: tinyjax.vjp(loss, p, x)[1])(P, X)
    apply = tinyjax.jit(lambda pull_back, ct: pull_back(ct))

    def without_integers(ct: Any) -> Any:
        return compiled({"y": ct, "n": CT["n"]})

    close(without_integers(CT["y"]), plain(CT))
    real = lambda p, x: loss(p, x)["y"]  # noqa: E731
    close(apply(tinyjax.vjp(real, P, X)[1], CT["y"]), plain(CT))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda m: lambda w: m.linearize(lambda x: w * x**2, 3.0)[1], 12.0),
        (lambda m: lambda w: m.linear_transpose(lambda x: w * x, 3.0), (2.0,)),
    ],
    ids=["linearize", "linear_transpose"],
)
def test_linear_maps_go_through_jit_and_vmap(make: Any, expected: Any) -> None:
    for m in (tinyjax, jax):
        map_of, apply = m.jit(make(m)), m.jit(lambda f, t: f(t))
        close(apply(map_of(1.0), 2.0), expected)
    many = tinyjax.vmap(make(tinyjax))(jnp.arange(1.0, 4.0))
    found = tinyjax.vmap(lambda f: f(2.0))(many)
    close(tree.map(lambda x: x[0], found), expected)
    close(tree.map(lambda x: x[2] / 3, found), expected)


def test_equal_programs_are_compiled_once() -> None:
    calls = []

    @tinyjax.jit
    def apply(pull_back: Any, ct: Any) -> Any:
        calls.append(1)
        return pull_back(ct)

    for scale in (1.0, 2.0):
        _, pull_back = tinyjax.vjp(lambda x: jnp.sin(x) * x, scale * X)
        np.testing.assert_allclose(apply(pull_back, X)[0], pull_back(X)[0], rtol=1e-6)
    assert len(calls) == 1


def test_pull_backs_are_stacked_and_mapped() -> None:
    pull_backs = tinyjax.vmap(lambda x: tinyjax.vjp(jnp.sin, x)[1])(X)
    found = tinyjax.vmap(lambda f: f(1.0)[0])(pull_backs)
    np.testing.assert_allclose(found, np.cos(X), rtol=1e-6)
    leaves, treedef = tree.flatten(pull_backs)
    (again,) = tinyjax.vmap(lambda f: f(1.0))(treedef.unflatten(leaves))
    np.testing.assert_allclose(again, np.cos(X), rtol=1e-6)


def test_a_pull_back_prints_its_function() -> None:
    assert repr(tinyjax.vjp(loss, P, X)[1]).startswith("<pull-back of loss")


def test_forward_and_backward() -> None:
    for argnums in (0, (0, 1)):
        for jitted in (True, False):
            forward, backward = tinyjax.fwd_and_bwd(
                lambda x, y: (jnp.sin(x) * y, y), argnums, has_aux=True, jitted=jitted
            )
            theirs, back = jax.fwd_and_bwd(
                lambda x, y: (jaxnp.sin(x) * y, y), argnums, has_aux=True, jitted=jitted
            )
            one, two = np.float32(1.0), np.float32(2.0)
            out, residuals, aux = forward(one, two)
            expected, kept, extra = theirs(one, two)
            close((out, aux), (expected, extra))
            close(backward(residuals, two), back(kept, two))


@pytest.mark.parametrize("count", [1, 2])
def test_what_has_no_cotangent_is_not_pulled_back(count: int) -> None:
    """The rule of the inner operation is not called, since the outer one's gives zero."""
    calls: list[str] = []

    def linear(name: str, cotangent: Any) -> Primitive[NoParams]:
        p: Primitive[NoParams] = Primitive(name, NoParams)
        del registry[name]
        p.def_impl(lambda args, params: [args[0]] * count)
        p.def_abstract_eval(lambda avals, params: [avals[0]] * count)
        p.def_jvp(lambda xs, ts, params: (bind(p, xs, params), bind(p, present(ts), params)))

        @p.def_transpose
        def _transpose(cts: Tangents, operands: Operands, params: NoParams) -> Cotangents:
            calls.append(name)
            return [cotangent]

        return p

    inner, outer = linear("inner", 1.0), linear("outer", ZERO)

    def f(x: Any) -> Any:
        return bind(outer, bind(inner, (x,), NO_PARAMS)[:1], NO_PARAMS)[0] + x

    assert tinyjax.grad(f)(jnp.asarray(2.0)) == 1
    assert calls == ["outer"]


def _product(params: Any, x: Any) -> Any:
    return jnp.sin(x @ params["w"]) * params["scale"]


def _arguments() -> tuple[Any, Any]:
    w = jnp.array([[1.0, -2.0], [0.5, 3.0]])
    return {"scale": jnp.array([2.0, 0.3]), "w": w}, jnp.array([0.4, 0.7])


def test_what_is_not_saved_is_restored() -> None:
    params, x = _arguments()
    y, whole = tinyjax.vjp(_product, params, x)
    expected = whole(y)
    marks = ((True, False), True)  # containers are matched by their numbers of children

    def forward(params: Any, x: Any) -> Any:
        return tinyjax.vjp(_product, params, x, saveable_args=marks)

    for run in (forward, tinyjax.jit(forward)):
        y, light = run(params, x)
        assert len(tree.leaves(light)) == len(tree.leaves(whole)) - 1
        assert isinstance(light.args_res[0]["w"], pullbacks.NotSaveable)
        with raises(ArgumentError, match=r"not saveable: params\['w'\]"):
            light(y)

        def backward(light: Any, params: Any, y: Any) -> Any:
            return light.replace(args_res=[params, light.args_res[1]])(y)

        for apply in (backward, tinyjax.jit(backward)):
            close(apply(light, params, y), expected)
        light.args_res[0]["w"] = params["w"]
        close(light(y), expected)
        light.args_res = [{**params, "w": params["w"][:1]}, x]
        with raises(ArgumentError, match=r"params\['w'\] is of type float32\[2,2\]"):
            light(y)


def test_arguments_that_are_not_read_are_named_so() -> None:
    params, x = _arguments()
    _, pull_back = tinyjax.vjp(lambda p, x: p["w"].sum() * x, params, x)
    assert repr(pull_back.args_res[0]) == "{'scale': NotNeeded(), 'w': NotNeeded()}"
    assert len(tree.leaves(pull_back)) == 1 + len(pull_back.opaque_residuals)
    assert pull_back.args_res[1] is x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, x: p.with_refs(None, ad.GradValue()), r"ad.DontWant\(\) for params\['scale'\]"),
        (lambda p, x: p.with_refs(ad.GradValue(), tinyjax.new_ref(0.0)), r"gradient of x, of type"),
        (
            lambda p, x: p.with_refs(ad.GradValue()),
            "with_refs: expected tuple of length 2, but got",
        ),
        (lambda p, x: p.replace(args_res=[1.0, x])(x), "args_res: expected 3 leaves"),
        (
            lambda p, x: _with_saveable(((True,), True)),
            r"saveable_args\[0\]: expected .* tuple of 2",
        ),
        (
            lambda p, x: _with_saveable((True, (True,))),
            r"saveable_args\[1\]: expected a bool, but got",
        ),
        (lambda p, x: _with_saveable(0), "saveable_args: expected a bool or a tuple, but got 0"),
    ],
)
@pytest.mark.wrong_types
def test_errors_name_the_argument(call: Any, message: str) -> None:
    params, x = _arguments()
    _, pull_back = tinyjax.vjp(_product, params, x)
    with raises((TypeError, ValueError), match=message):
        call(pull_back, x)


def _with_saveable(marks: Any) -> Any:
    return tinyjax.vjp(_product, *_arguments(), saveable_args=marks)
