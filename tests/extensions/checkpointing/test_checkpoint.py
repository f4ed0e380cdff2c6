"""Checkpointing: the same derivatives, less kept, and the compiler does not undo it."""

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any

import attrs
import jax
import jax.ad_checkpoint
import jax.numpy as jaxnp
import numpy as np
import pytest
from jax._src import ad_checkpoint as jax_inside
from jax.extend.core import jaxprs_in_params
from unchecked import unchecked

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import ad_checkpoint, tree
from tinyjax._extensions.checkpointing.residuals import origin_of
from tinyjax.core.control_flow.primitives import cond_p
from tinyjax.core.primitives.identities import name_p
from tinyjax.core.tracing.calling import FlatFunction
from tinyjax.core.tracing.jaxpr import Jaxpr, Var, subjaxprs, typecheck_jaxpr
from tinyjax.core.tracing.trace import bind
from tinyjax.core.transforms.linearize import linearize_flat
from tinyjax.core.values.array import Array
from tinyjax.core.values.operands import as_array
from tinyjax.dtypes import HostArray
from tinyjax.errors import ArgumentError, ConcretizationError, StaticArgumentError

policies = tinyjax.checkpoint_policies
Function = Callable[..., Any]


def count(jaxpr: Jaxpr, primitive: str) -> int:
    """Return the number of a primitive's equations, in nested programs too."""
    return sum(
        (eqn.primitive.name == primitive)
        + sum(count(inner, primitive) for inner in subjaxprs(eqn.params))
        for eqn in jaxpr.eqns
    )


def backward(f: Function, *args: Any) -> Jaxpr:
    return tinyjax.make_jaxpr(tinyjax.grad(f))(*args).jaxpr


def sines(x: Any) -> Any:
    return jnp.sin(jnp.sin(jnp.sin(x)))


# The table: how a function is checkpointed


def _named(x: Any) -> Any:
    y = tinyjax.checkpoint_name(jnp.sin(x), "first")
    return jnp.sin(tinyjax.checkpoint_name(jnp.sin(y), "second"))


def _nested(x: Any) -> Any:
    return tinyjax.checkpoint(lambda y: jnp.sin(tinyjax.checkpoint(jnp.sin)(y)))(jnp.sin(x))


WAYS: dict[str, Function] = {
    "default": tinyjax.checkpoint(sines),
    "everything": tinyjax.checkpoint(sines, policy=policies.everything_saveable),
    "names": tinyjax.checkpoint(_named, policy=policies.save_only_these_names("second")),
    "merged": tinyjax.checkpoint(sines, prevent_cse=False),
    "nested": tinyjax.remat(_nested),
    "of jit": tinyjax.checkpoint(tinyjax.jit(sines)),
    "of jit with names": tinyjax.checkpoint(
        tinyjax.jit(_named), policy=policies.save_any_names_but_these("first")
    ),
    "in jit": tinyjax.jit(tinyjax.checkpoint(sines)),
    "of vmap": lambda x: tinyjax.checkpoint(tinyjax.vmap(sines))(x[None])[0],
    "in vmap": lambda x: tinyjax.vmap(tinyjax.checkpoint(sines))(x[None])[0],
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", WAYS)
def test_derivatives_are_those_of_the_function(way: str) -> None:
    f, x = WAYS[way], np.float64(0.7)
    with jax.enable_x64(True):

        def plain(x: Any) -> Any:
            return jaxnp.sin(jaxnp.sin(jaxnp.sin(x)))

        value, slope = jax.value_and_grad(plain)(x)
        curvature = jax.hessian(plain)(x)
        third = jax.grad(jax.grad(jax.grad(plain)))(x)
    xs = np.linspace(-1.0, 1.0, 3)
    for g in (f, tinyjax.jit(f)):
        np.testing.assert_allclose(g(x), value, 1e-12)
        np.testing.assert_allclose(tinyjax.grad(g)(x), slope, 1e-12)
        np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(g))(x), slope, 1e-12)
        np.testing.assert_allclose(tinyjax.jvp(g, (x,), (1.0,))[1], slope, 1e-12)
        np.testing.assert_allclose(tinyjax.linearize(g, x)[1](1.0), slope, 1e-12)
        np.testing.assert_allclose(tinyjax.hessian(g)(x), curvature, 1e-12)
        np.testing.assert_allclose(tinyjax.jacrev(tinyjax.jacrev(g))(x), curvature, 1e-12)
        np.testing.assert_allclose(tinyjax.jacrev(tinyjax.jacfwd(g))(x), curvature, 1e-12)
        each = [tinyjax.grad(sines)(v) for v in xs]
        np.testing.assert_allclose(tinyjax.vmap(tinyjax.grad(g))(xs), each, 1e-12)
        summed = tinyjax.grad(lambda v, g=g: tinyjax.vmap(g)(v).sum())
        np.testing.assert_allclose(summed(xs), each, 1e-12)
    np.testing.assert_allclose(tinyjax.grad(tinyjax.grad(tinyjax.grad(f)))(x), third, 1e-12)


@pytest.mark.parametrize("way", WAYS)
def test_the_programs_are_well_formed(way: str) -> None:
    def check(jaxpr: Jaxpr) -> None:
        typecheck_jaxpr(jaxpr)
        for eqn in jaxpr.eqns:
            for inner in subjaxprs(eqn.params):
                check(inner)

    f = WAYS[way]
    check(backward(f, 0.7))
    check(backward(tinyjax.grad(f), 0.7))
    check(tinyjax.make_jaxpr(tinyjax.vmap(tinyjax.grad(f)))(np.ones(2)).jaxpr)


# What is computed again


def test_the_backward_pass_computes_again_what_is_not_kept() -> None:
    # three in the forward pass, and the two that the derivatives are taken at
    assert count(backward(sines, 0.7), "sin") == 3
    assert count(backward(tinyjax.checkpoint(sines), 0.7), "sin") == 5
    # the inner ones are computed for the outer backward pass and for their own
    assert count(backward(WAYS["everything"], 0.7), "sin") == 3
    assert count(backward(WAYS["names"], 0.7), "sin") == 4
    assert count(backward(WAYS["of jit"], 0.7), "sin") == 5


def test_counts_agree_with_jax() -> None:
    def blocks(np_: Any, wrap: Function) -> Function:
        @wrap
        def block(x: Any) -> Any:
            return np_.cos(np_.sin(np_.sin(x)))

        return lambda x: block(block(x))

    def jax_count(jaxpr: Any, name: str) -> int:
        inner = jaxprs_in_params
        return sum(
            (eqn.primitive.name == name) + sum(jax_count(j, name) for j in inner(eqn.params))
            for eqn in jaxpr.eqns
        )

    for policy in ("nothing_saveable", "everything_saveable"):
        ours = blocks(jnp, lambda f, p=policy: tinyjax.checkpoint(f, policy=getattr(policies, p)))
        theirs = blocks(
            jaxnp,
            lambda f, p=policy: jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, p)),
        )
        expected = jax.make_jaxpr(jax.grad(theirs))(0.7).jaxpr
        for name in ("sin", "cos"):
            assert count(backward(ours, 0.7), name) == jax_count(expected, name), (policy, name)


def test_what_has_an_effect_is_not_done_again() -> None:
    called = []

    @tinyjax.checkpoint
    def f(x: Any) -> Any:
        tinyjax.debug.callback(lambda v: called.append(float(v)), x)
        return jnp.sin(jnp.sin(x))

    tinyjax.grad(f)(0.5)
    assert called == [0.5]
    tinyjax.jit(tinyjax.grad(f))(0.25)
    assert called == [0.5, 0.25]


@pytest.mark.parametrize("wrap", [lambda f: f, tinyjax.jit, tinyjax.checkpoint])
def test_a_rule_without_a_tangent_has_its_effects(wrap: Function) -> None:
    called: list[float] = []

    @tinyjax.custom_jvp
    def positive(x: Any) -> Any:
        return x > 0

    @positive.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        tinyjax.debug.callback(lambda t: called.append(float(t)), tangents[0])
        return positive(*primals), np.zeros((), tinyjax.float0)

    def along(t: Any) -> Any:
        return tinyjax.linearize(wrap(lambda x: positive(2 * x)), 0.5)[1](t)

    along(1.0)
    tinyjax.jit(along)(3.0)
    tinyjax.jvp(wrap(positive), (0.5,), (5.0,))
    assert called == [2.0, 6.0, 5.0]


# What is kept


def mlp(np_: Any, name: Function, wrap: Function) -> Function:
    @wrap
    def layer(params: Any, x: Any) -> Any:
        w, b = params
        return name(np_.sin(name(x @ w, "dot") + b), "act")

    def loss(params: Any, x: Any) -> Any:
        for p in params:
            x = layer(p, x)
        return (x * x).sum()

    return loss


def mlp_arguments() -> tuple[Any, HostArray]:
    rng = np.random.default_rng(0)

    def layer(m: int, n: int) -> tuple[HostArray, HostArray]:
        w = rng.normal(size=(m, n)) / 10
        return w.astype(np.float32), np.zeros(n, np.float32)

    x = rng.normal(size=(16, 32)).astype(np.float32)
    return [layer(32, 64), layer(64, 64), layer(64, 8)], x


POLICIES: dict[str, tuple[str, ...]] = {
    "everything": ("everything_saveable",),
    "nothing": ("nothing_saveable",),
    "dots": ("dots_saveable",),
    "unbatched dots": ("dots_with_no_batch_dims_saveable",),
    "dot": ("save_only_these_names", "dot"),
    "act": ("save_only_these_names", "act"),
    "both": ("save_only_these_names", "act", "dot"),
    "any name but dot": ("save_any_names_but_these", "dot"),
    "anything but dot": ("save_anything_except_these_names", "dot"),
}


def wrapper(lib: Any, policy: str) -> Function:
    kind, *names = POLICIES[policy]
    found = getattr(lib.checkpoint_policies, kind)
    return lambda f: lib.checkpoint(f, policy=found(*names) if names else found)


def compiled_bytes(f: Function, *args: Any) -> int:
    """Return XLA's figure for the bytes that the forward pass returns for the backward pass."""
    leaves, in_tree = tree.flatten((args, {}))

    def forward(*xs: Array) -> tuple[Array, ...]:
        return linearize_flat(FlatFunction(f, in_tree), xs).residuals

    compiled = tinyjax.jit(forward).lower(*map(as_array, leaves)).compile()
    return int(compiled.memory_analysis().output_size_in_bytes)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("policy", POLICIES)
def test_residuals_agree_with_jax_and_with_xla(policy: str) -> None:
    args = mlp_arguments()
    ours = mlp(jnp, tinyjax.checkpoint_name, wrapper(tinyjax, policy))
    theirs = mlp(jaxnp, jax.ad_checkpoint.checkpoint_name, wrapper(jax, policy))
    residuals = tinyjax.saved_residuals(ours, *args)
    expected = [
        (aval.shape, np.dtype(aval.dtype)) for aval, _ in jax_inside.saved_residuals(theirs, *args)
    ]
    assert sorted((r.shape, r.dtype) for r in residuals) == sorted(expected)
    total = sum(r.nbytes for r in residuals)
    assert total == pytest.approx(compiled_bytes(ours, *args), rel=0.01)
    for got, want in zip(
        tree.leaves(tinyjax.grad(ours)(*args)),
        jax.tree.leaves(jax.grad(theirs)(*args)),
        strict=True,
    ):
        np.testing.assert_allclose(got, want, 1e-4, 1e-5)


def test_names_may_come_one_by_one() -> None:
    policy = policies.SaveOnlyTheseNames(name for name in ["dot", "act"])
    assert policy.saveable_names == {"dot", "act"}


def recurrent(w: Any, xs: Any) -> Any:
    """A loop: what each iteration keeps is stacked."""

    def iteration(h: Any, x: Any) -> Any:
        h = jnp.tanh(h @ w + x)
        return h, jnp.exp(h).sum()

    last, outs = tinyjax.lax.scan(iteration, jnp.zeros(8), xs)
    return last.sum() * outs.sum()


def attention(w: Any, xs: Any) -> Any:
    """Products with batch axes, a mask of bools, and a maximum that nothing depends on."""
    q, k, v = (xs @ w[i] for i in range(3))
    scores = jnp.einsum("bqd,bkd->bqk", q, k)
    scores = jnp.where(jnp.tri(xs.shape[1], dtype=bool), scores, -jnp.inf)
    return (tinyjax.nn.softmax(scores) @ v).sum()


def branching(w: Any, xs: Any) -> Any:
    """A conditional, whose residuals are those of both branches, inside a called program."""
    inner = tinyjax.jit(
        lambda x: tinyjax.lax.cond(x.sum() > 0, jnp.sin, lambda x: jnp.exp(x) * jnp.cos(x), x)
    )
    return (inner(xs @ w) @ w).sum()


RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    ("program", "w", "xs"),
    [
        (recurrent, RNG.normal(size=(8, 8)), RNG.normal(size=(50, 8))),
        (attention, RNG.normal(size=(3, 16, 16)), RNG.normal(size=(2, 12, 16))),
        (branching, RNG.normal(size=(16, 16)), RNG.normal(size=(12, 16))),
    ],
    ids=["recurrent", "attention", "branching"],
)
def test_residuals_of_programs_agree_with_xla(program: Function, w: Any, xs: Any) -> None:
    args = w.astype(np.float32), xs.astype(np.float32)
    ways = [program, tinyjax.checkpoint(program)]
    ways.append(tinyjax.checkpoint(program, policy=policies.dots_saveable))
    totals = []
    for f in ways:
        total = sum(r.nbytes for r in tinyjax.saved_residuals(f, *args))
        assert total == pytest.approx(compiled_bytes(f, *args), rel=0.1)
        totals.append(total)
    assert totals[1] == args[0].nbytes + args[1].nbytes
    assert totals[1] <= totals[2] <= totals[0]
    assert totals[1] < totals[0]


def test_residuals_are_listed_in_the_order_of_their_computation() -> None:
    def steps(x: Any, names: str) -> Any:
        for name in names:
            x = tinyjax.checkpoint_name(jnp.sin(2 * x), name)
        return jnp.sin(x)

    def f(x: Any) -> Any:
        def body(y: Any, _: Any) -> Any:
            return y * steps(x, "ef") * steps(y, "gh"), None

        y = steps(tinyjax.jit(partial(steps, names="bc"))(steps(x, "a")), "d")
        z, _ = tinyjax.lax.scan(body, y, None, length=3)
        return tinyjax.lax.cond(z > 0, lambda z: steps(z, "ij") ** 2, lambda z: z, z)

    kept = tinyjax.checkpoint(f, policy=policies.save_only_these_names(*"abcdefghij"))
    residuals = tinyjax.saved_residuals(kept, 1.0)
    assert [r.name for r in residuals if r.name] == [*"abcdefghij"]
    assert float(tinyjax.grad(kept)(1.0)) == pytest.approx(float(tinyjax.grad(f)(1.0)), rel=1e-5)


def test_what_is_the_same_in_every_iteration_is_kept_once() -> None:
    def f(x: Any) -> Any:
        def body(y: Any, _: Any) -> Any:
            factor = jnp.sin(jnp.exp(tinyjax.lax.stop_gradient(x)))
            return y * tinyjax.checkpoint_name(factor, "factor"), None

        y, _ = tinyjax.lax.scan(body, 1.0, None, length=3)
        return jnp.sin(x * y)

    kept = tinyjax.checkpoint(f, policy=policies.save_only_these_names("factor"))
    assert [r.shape for r in tinyjax.saved_residuals(kept, 0.5) if r.name] == [()]
    y = np.sin(np.exp(0.5)) ** 3
    assert float(tinyjax.grad(kept)(0.5)) == pytest.approx(np.cos(0.5 * y) * y, rel=1e-5)


def test_residuals_shrink() -> None:
    args = mlp_arguments()

    def total(wrap: Function) -> int:
        f = mlp(jnp, lambda x, name: x, wrap)
        return sum(r.nbytes for r in tinyjax.saved_residuals(f, *args))

    plain, checkpointed = total(lambda f: f), total(tinyjax.checkpoint)
    activations = 2 * 16 * (64 + 64 + 8) * 4
    weights = sum(a.nbytes for a in tree.leaves(args) if a.ndim == 2)
    assert plain == weights + activations  # the cosine and the value of every layer
    # the biases and the values that go in, instead
    assert checkpointed < plain - activations // 4


def test_policies_by_names_are_classes() -> None:
    pairs: list[tuple[Any, Any]] = [
        (jax_inside.SaveOnlyTheseNames, policies.SaveOnlyTheseNames),
        (jax_inside.SaveAnyNamesButThese, policies.SaveAnyNamesButThese),
    ]
    for theirs, ours in pairs:
        assert [x.name for x in attrs.fields(ours)] == [x.name for x in fields(theirs)]
        found, other = ours(["act", "dot"]), ours(("dot", "act"))
        assert (found, hash(found)) == (other, hash(other))
        for name in ("act", "else"):
            expected = theirs(frozenset({"act", "dot"}))(jax_inside.name_p, name=name)
            assert found(name_p, name=name) == expected
        assert not found(cond_p)
    assert policies.save_only_these_names("a") == policies.SaveOnlyTheseNames({"a"})
    assert policies.save_any_names_but_these("a") == policies.SaveAnyNamesButThese({"a"})
    moved = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    assert moved == policies.SaveAndOffloadOnlyTheseNames({"a"}, {"b"}, "device", "pinned_host")
    answers = [moved(name_p, name=name) for name in "abc"]
    assert answers == [True, ad_checkpoint.Offloadable("device", "pinned_host"), False]


def test_policies_combine() -> None:
    both = policies.save_from_both_policies(
        policies.dots_saveable, policies.save_only_these_names("act")
    )
    f = mlp(jnp, tinyjax.checkpoint_name, tinyjax.checkpoint(policy=both))
    params, x = mlp_arguments()
    kept = tinyjax.saved_residuals(f, params, x)
    assert sum(r.primitive == "dot_general" for r in kept) == 3


def test_dots_with_batch_dims_are_told_apart() -> None:
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(x @ y)

    x = np.ones((2, 3, 3), np.float32)
    for policy, expected in (
        (policies.dots_saveable, 3),
        (policies.dots_with_no_batch_dims_saveable, 2),
    ):
        g = tinyjax.checkpoint(f, policy=policy)
        assert len(tinyjax.saved_residuals(g, x, x)) == expected


def test_a_policy_is_asked_inside_what_jit_compiles() -> None:
    @tinyjax.jit
    def inner(x: Any) -> Any:
        return jnp.sin(jnp.exp(jnp.sin(x)))

    f = tinyjax.checkpoint(inner, policy=lambda p, *_, **__: p.name == "exp")
    residuals = tinyjax.saved_residuals(f, 0.7)
    assert [(r.argument, r.primitive) for r in residuals] == [("x", None), (None, "exp")]
    assert count(backward(f, 0.7), "exp") == 1


def test_a_residual_names_the_line_that_made_it() -> None:
    @tinyjax.jit
    def inner(x: Any) -> Any:
        return jnp.sin(x)  # the line

    weights = jnp.array([1.0, 2.0, 3.0])

    @tinyjax.checkpoint(policy=policies.everything_saveable)
    def f(params: Any) -> Any:
        return inner(params["w"]) * weights

    first, second = tinyjax.saved_residuals(f, {"w": np.ones(3, np.float32)})
    assert (
        str(first) == "float32[3] 12 bytes, a constant, or an array that the function closes over"
    )
    assert second.primitive == "cos"
    assert second.location is not None
    assert second.location.text.endswith("# the line")
    assert "the result of cos at " in str(second)


def test_residuals_print(capsys: pytest.CaptureFixture[str]) -> None:
    tinyjax.print_saved_residuals(lambda p: jnp.sin(p["w"]).sum(), {"w": np.ones(2, np.float32)})
    out = capsys.readouterr().out
    assert out.startswith("float32[2] 8 bytes, the result of cos at ")
    assert out.endswith("1 residual, 8 bytes\n")


def test_integers_and_unused_arguments_are_not_kept() -> None:
    @tinyjax.checkpoint
    def f(x: Any, n: Any, unused: Any) -> Any:
        return jnp.sin(x) * n

    residuals = tinyjax.saved_residuals(f, 1.0, 2, np.ones(1000))
    assert [r.argument for r in residuals] == ["x", "n"]


# What the compiler makes of it


def blocks(wrap: Function) -> Function:
    w = jnp.array(np.random.default_rng(0).normal(size=(64, 64)) / 10, "float32")

    @wrap
    def block(x: Any) -> Any:
        for _ in range(4):
            x = jnp.sin(x @ w)
        return x

    def loss(x: Any) -> Any:
        for _ in range(8):
            x = block(x)
        return x.sum()

    return loss


def test_the_compiled_derivative_needs_less_memory() -> None:
    x = np.ones((64, 64), np.float32)

    def temporary(f: Function) -> int:
        compiled = tinyjax.jit(tinyjax.grad(f)).lower(x).compile()
        return int(compiled.memory_analysis().temp_size_in_bytes)

    plain = temporary(blocks(lambda f: f))
    checkpointed = temporary(blocks(tinyjax.checkpoint))
    assert checkpointed < 0.55 * plain, (checkpointed, plain)


@pytest.mark.parametrize(
    ("prevent_cse", "guards"),
    [(True, 8), (False, 0), ((True,), 8), ([False], 0), (({"x": True, "b": False},), 8)],
)
def test_the_compiler_may_be_let_merge(prevent_cse: Any, guards: int) -> None:
    def wrap(block: Function) -> Function:
        if prevent_cse in (True, False) or not isinstance(prevent_cse[0], dict):
            return tinyjax.checkpoint(block, prevent_cse=prevent_cse)
        whole = tinyjax.checkpoint(
            lambda tree: block(tree["x"] + tree["b"]), prevent_cse=prevent_cse
        )
        return lambda x: whole({"x": x, "b": 0.0})

    slope = tinyjax.jit(tinyjax.grad(blocks(wrap)))
    # the last block's cotangent is a constant, which alone would be no condition
    text = slope.lower(np.ones((64, 64), np.float32)).compile().as_text()
    assert text.count(" conditional(") == guards


def test_bools_for_other_arguments_than_there_are() -> None:
    f = tinyjax.checkpoint(lambda p, x: p["a"] * x, prevent_cse=({"b": True}, False))
    with raises(tree.TreeMismatchError, match=r"prevent_cse\[0\].*keys \['a'\]"):
        f({"a": 1.0}, 2.0)


def test_what_xla_fuses_is_left_to_it() -> None:
    f = tinyjax.checkpoint(sines)
    slope = tinyjax.jit(tinyjax.grad(lambda x: f(x).sum()))
    assert slope.lower(np.ones(64)).compile().memory_analysis().temp_size_in_bytes == 0


def test_nothing_guards_what_is_not_differentiated() -> None:
    assert "stablehlo.case" not in tinyjax.jit(tinyjax.checkpoint(sines)).lower(0.7).as_text()


def test_a_policy_has_one_digest_in_every_process() -> None:
    program = (
        "import tinyjax, tinyjax.numpy as jnp\n"
        "policy = tinyjax.checkpoint_policies.save_only_these_names('a')\n"
        "f = tinyjax.checkpoint(jnp.sin, policy=policy)\n"
        "print(tinyjax.make_jaxpr(tinyjax.grad(f))(1.0).jaxpr.digest.hex())\n"
    )
    policy = policies.save_only_these_names("a")
    f = tinyjax.checkpoint(jnp.sin, policy=policy)
    here = tinyjax.make_jaxpr(tinyjax.grad(f))(1.0).jaxpr.digest.hex()
    out = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert out.stdout.strip() == here


# Calling


def test_containers_keywords_and_methods() -> None:
    @tinyjax.checkpoint
    def f(params: Any, *, scale: Any) -> Any:
        return {"out": [jnp.sin(params["a"]) * scale, params["n"]]}

    params = {"a": np.float32(2.0), "n": 3}
    out = f(params, scale=2.0)
    np.testing.assert_allclose(out["out"][0], 2 * np.sin(2.0), 1e-6)
    assert int(out["out"][1]) == 3
    assert f.__name__ == "f"
    slope = tinyjax.grad(lambda a: f({"a": a, "n": 3}, scale=2.0)["out"][0])(2.0)
    np.testing.assert_allclose(slope, 2 * np.cos(2.0), 1e-6)

    class Model:
        @tinyjax.checkpoint
        def __call__(self, x: Any) -> Any:
            return x

    with raises(ArgumentError, match="Model"):
        Model()(1.0)


def test_static_arguments() -> None:
    @tinyjax.checkpoint(static_argnums=(1, -1))
    def f(x: Any, flip: bool, y: Any, how: str) -> Any:
        return jnp.cos(x) * y if flip or how == "cos" else jnp.sin(x) * y

    for flip, how, sign in ((False, "sin", np.cos(0.3)), (True, "", -np.sin(0.3))):
        slope = tinyjax.grad(lambda x, a=flip, b=how: f(x, a, 2.0, b))(0.3)
        np.testing.assert_allclose(slope, 2 * sign, 1e-6)
    first = tinyjax.checkpoint(lambda flip, x: jnp.cos(x) if flip else x, static_argnums=0)
    np.testing.assert_allclose(tinyjax.grad(first, 1)(True, 0.3), -np.sin(0.3), 1e-6)
    with raises(StaticArgumentError, match="names argument 1, but"):
        unchecked(f)(1.0)
    with raises(StaticArgumentError, match=r"has 'z', but .* takes x, y"):
        tinyjax.checkpoint(lambda x, y: x, static_argnames=["y", "z"])

    @tinyjax.checkpoint(static_argnums=1, static_argnames="flip")
    def g(x: Any, power: int, *, flip: bool = False) -> Any:
        return -(x**power) if flip else jnp.sin(x) ** power

    np.testing.assert_allclose(tinyjax.grad(lambda x: g(x, 2))(0.3), np.sin(0.6), 1e-6)
    np.testing.assert_allclose(tinyjax.grad(lambda x: g(x, 3, flip=True))(0.5), -0.75, 1e-6)
    by_name = tinyjax.checkpoint(lambda x, power: x**power, static_argnames=("power",))
    for call in (lambda x: by_name(x, 3), lambda x: by_name(x, power=3)):
        np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(call))(0.5), 0.75, 1e-6)


def test_a_derivative_of_nothing_but_its_tangent_is_compiled() -> None:
    double = tinyjax.checkpoint(lambda x: x * 2.0)
    assert tinyjax.jit(tinyjax.grad(double))(0.3) == 2


def test_what_is_no_number_is_computed_again() -> None:
    """The barrier that keeps the compiler from merging does not depend on the values."""
    squares = tinyjax.checkpoint(lambda x: jnp.sum(jnp.tanh(x @ jnp.sin(x @ x))))
    assert count(backward(squares, jnp.ones((2, 2))), "checkpoint") > 1
    slope = tinyjax.jit(tinyjax.grad(squares))(jnp.full((2, 2), np.nan))
    assert jnp.isnan(slope).all()


def test_a_policy_is_kept_where_references_are_given() -> None:
    def scaled(x: Any, policy: Any) -> Any:
        factor = tinyjax.new_ref(x)
        sines = tinyjax.checkpoint(lambda y, r: jnp.sin(jnp.sin(y * r[...])), policy=policy)
        return sines(x, factor)

    both = (policies.nothing_saveable, policies.everything_saveable)
    found = [count(backward(partial(scaled, policy=p), jnp.float32(0.3)), "sin") for p in both]
    assert found == [3, 2]


def test_one_function_with_two_policies() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(jnp.sin(x))

    policies = tinyjax.checkpoint_policies
    both = (policies.nothing_saveable, policies.everything_saveable)
    (eqn,) = tinyjax.make_jaxpr(tinyjax.checkpoint(f))(0.3).eqns

    def checkpointed(policy: Any) -> Any:
        """One program, with another policy."""
        return lambda x: bind(eqn.primitive, (x,), attrs.evolve(eqn.params, policy=policy))[0]

    for make in (lambda policy: tinyjax.checkpoint(f, policy=policy), checkpointed):
        kept = [len(tinyjax.saved_residuals(make(policy), jnp.asarray(0.3))) for policy in both]
        assert kept[0] < kept[1]
    with raises(ArgumentError, match=r"takes names|a sequence of str"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=unchecked(["a", 1]),
            names_which_can_be_offloaded=[],
            offload_src="device",
            offload_dst="pinned_host",
        )


def test_residuals_of_what_a_function_closes_over() -> None:
    factors = jnp.arange(3.0)
    found = tinyjax.saved_residuals(lambda x, y: x * factors * y, jnp.ones(3), jnp.ones(3))
    assert [r.argument for r in found if r.argument] == ["y"]
    others = jnp.arange(4.0)
    found = tinyjax.saved_residuals(
        lambda x: (x * factors).sum() * jnp.sin(x.sum() * others), jnp.ones(3)
    )
    closed_over = [r.shape for r in found if r.argument is None and r.primitive is None]
    assert closed_over == [(3,), (4,)]
    assert [r.shape for r in found[:2]] == closed_over  # before what is computed


def test_python_control_flow_on_data_is_refused() -> None:
    @tinyjax.checkpoint
    def f(x: Any) -> Any:
        return jnp.sin(x) if x > 0 else x

    for call in (f, tinyjax.grad(f)):
        with raises(ConcretizationError, match=r"test_checkpoint.py"):
            call(1.0)
    g = tinyjax.checkpoint(lambda x, positive: jnp.sin(x) if positive else x, static_argnums=1)
    np.testing.assert_allclose(tinyjax.grad(g)(1.0, True), np.cos(1.0), 1e-6)


def test_closed_over_tracers() -> None:
    def f(x: Any, y: Any) -> Any:
        @tinyjax.checkpoint
        def inner(z: Any) -> Any:
            return jnp.sin(x * z) * y

        return inner(y)

    def plain(x: Any, y: Any) -> Any:
        return jnp.sin(x * y) * y

    transforms: list[Function] = [
        lambda g: tinyjax.grad(g, (0, 1)),
        lambda g: tinyjax.jit(tinyjax.grad(g, (0, 1))),
        lambda g: tinyjax.hessian(g, (0, 1)),
        lambda g: lambda x, y: tinyjax.vmap(tinyjax.grad(g), (0, None))(jnp.stack([x, y]), y),
    ]
    for transform in transforms:
        got, expected = transform(f)(0.4, 0.9), transform(plain)(0.4, 0.9)
        for a, b in zip(tree.leaves(got), tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, 1e-5)


def test_a_policy_must_answer_with_a_bool() -> None:
    f = tinyjax.checkpoint(sines, policy=unchecked(lambda *_, **__: "sin"))
    with raises(ArgumentError, match=r"must return True or False, but .*lambda.* 'sin'"):
        tinyjax.grad(f)(1.0)
    f = tinyjax.checkpoint(sines, policy=unchecked(policies.save_only_these_names))
    with raises(ArgumentError, match=r"names of .* must be str, but got cos"):
        tinyjax.grad(f)(1.0)
    with raises(ArgumentError, match=r"names of .* must be str, but got 3"):
        policies.save_only_these_names(unchecked(3))


def test_policies_that_offload_keep_where_there_is_one_memory() -> None:
    offload: Any = {"offload_src": "device", "offload_dst": "pinned_host"}
    named = policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["first"], names_which_can_be_offloaded=["second"], **offload
    )
    moved = ad_checkpoint.Offloadable(src="device", dst="pinned_host")

    def own(primitive: Any, *_: Any, **params: Any) -> Any:
        return moved if primitive.name == "name" else ad_checkpoint.Recompute

    for policy in (named, own):
        kept, of_both = (
            [str(r) for r in tinyjax.saved_residuals(tinyjax.checkpoint(_named, policy=p), 0.3)]
            for p in (policy, policies.save_only_these_names("first", "second"))
        )
        assert kept == of_both
        derivative = tinyjax.grad(tinyjax.checkpoint(_named, policy=policy))(0.3)
        np.testing.assert_allclose(derivative, tinyjax.grad(_named)(0.3), rtol=1e-6)
    assert policies.offload_dot_with_no_batch_dims(**offload) == (
        policies.dots_with_no_batch_dims_saveable
    )
    with raises(ArgumentError, match="both to save and to offload"):
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"], names_which_can_be_offloaded=["a"], **offload
        )


def test_a_policy_must_be_hashable() -> None:
    class Unhashable:
        __hash__ = unchecked(None)

        def __call__(self, *args: object, **params: object) -> bool:
            return True

    with raises(ArgumentError, match="must be hashable, but got one of type Unhashable"):
        tinyjax.checkpoint(sines, policy=Unhashable())


def test_the_backward_program_grows_with_the_forward_one() -> None:
    def equations(jaxpr: Jaxpr) -> int:
        return len(jaxpr.eqns) + sum(equations(j) for e in jaxpr.eqns for j in subjaxprs(e.params))

    def chain(depth: int) -> Function:
        def f(x: Any) -> Any:
            for _ in range(depth):
                x = tinyjax.checkpoint(sines)(x)
            return x

        return f

    short, long = (equations(backward(chain(n), 0.7)) for n in (8, 16))
    assert long <= 2.05 * short


def test_scan_of_checkpointed_body_keeps_only_what_goes_in() -> None:
    lax = tinyjax.lax

    def loss(wrap: Function) -> Function:
        @wrap
        def body(carry: Any, x: Any) -> Any:
            carry = jnp.sin(jnp.sin(jnp.sin(carry * x)))
            return carry, carry

        def f(c: Any, xs: Any) -> Any:
            last, all_ = lax.scan(body, c, xs)
            return last + all_.sum()

        return f

    c, xs = np.float64(0.7), np.linspace(0.5, 1.5, 100)
    plain, checkpointed = loss(lambda f: f), loss(tinyjax.checkpoint(prevent_cse=False))
    for transform in (tinyjax.grad, lambda g: tinyjax.jit(tinyjax.grad(g)), tinyjax.hessian):
        np.testing.assert_allclose(
            transform(checkpointed)(c, xs), transform(plain)(c, xs), 1e-10, 1e-12
        )
    kept = [sum(r.nbytes for r in tinyjax.saved_residuals(f, c, xs)) for f in (plain, checkpointed)]
    assert kept[1] < 0.6 * kept[0], kept


def test_under_and_over_control_flow_and_custom_rules() -> None:
    lax = tinyjax.lax

    @tinyjax.custom_vjp
    def clipped(x: Any) -> Any:
        return jnp.sin(x)

    clipped.defvjp(lambda x: (jnp.sin(x), x), lambda x, ct: (2.0 * ct * jnp.cos(x),))

    @tinyjax.custom_jvp
    def doubled(x: Any) -> Any:
        return jnp.cos(x)

    @doubled.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        return doubled(primals[0]), -2.0 * jnp.sin(primals[0]) * tangents[0]

    def programs(wrap: Function) -> list[Function]:
        return [
            wrap(lambda y: lax.cond(y > 0, jnp.sin, jnp.cos, y)),
            lambda x: lax.cond(x > 0, wrap(sines), wrap(jnp.cos), x),
            lambda x: lax.cond(x > 0, lambda: wrap(lambda y: y * x)(x), lambda: x),
            wrap(lambda y: lax.fori_loop(0, 3, lambda i, z: jnp.sin(z) * y, y)),
            lambda x: lax.fori_loop(0, 3, lambda i, z: wrap(jnp.sin)(z) * x, x),
            lambda x: wrap(lambda y: lax.scan(lambda c, _: (jnp.sin(c * x), c), y, None, 3)[0])(x),
            wrap(lambda y: jnp.sin(clipped(jnp.sin(y)))),
            wrap(lambda y: jnp.sin(doubled(jnp.sin(y)))),
        ]

    x = np.float64(0.4)
    pairs = zip(programs(tinyjax.checkpoint), programs(lambda f: f), strict=True)
    for i, (f, plain) in enumerate(pairs):
        transforms: list[Function] = [
            tinyjax.grad,
            lambda g: tinyjax.jit(tinyjax.grad(g)),
            lambda g: tinyjax.vmap(tinyjax.grad(g)),
            lambda g: tinyjax.grad(lambda v: tinyjax.vmap(g)(v).sum()),
            lambda g: tinyjax.jacrev(tinyjax.jacrev(g)),
        ]
        for j, transform in enumerate(transforms):
            at = np.array([x, -x]) if j in (2, 3) else x
            got, expected = transform(f)(at), transform(plain)(at)
            np.testing.assert_allclose(got, expected, 1e-12, err_msg=f"program {i}, {j}")


def test_nested_vmap_over_checkpoint() -> None:
    """Mapped over different arguments by each, with derivatives between and around."""

    @tinyjax.checkpoint
    def f(x: Any, y: Any) -> Any:
        return jnp.sin(jnp.sin(x) * y)

    xs, ys = np.linspace(-1, 1, 3), np.array([0.5, 2.0])
    x, y = xs[:, None], ys
    by_x = np.cos(np.sin(x) * y) * np.cos(x) * y
    by_y = np.cos(np.sin(x) * y) * np.sin(x)
    slope = tinyjax.grad(f, (0, 1))

    def table(g: Function) -> Function:
        return tinyjax.vmap(tinyjax.vmap(g, (None, 0)), (0, None))

    ways: list[Function] = [
        table(slope),
        tinyjax.jit(table(tinyjax.jit(slope))),
        tinyjax.vmap(tinyjax.checkpoint(tinyjax.vmap(slope, (None, 0))), (0, None)),
    ]
    for way in ways:
        for a, b in zip(way(xs, ys), (by_x, by_y), strict=True):
            np.testing.assert_allclose(a, b, 1e-12)
    around = tinyjax.grad(lambda xs, ys: table(f)(xs, ys).sum(), (0, 1))
    for total in (around, tinyjax.jit(around)):
        found = total(xs, ys)
        np.testing.assert_allclose(found[0], by_x.sum(1), 1e-12)
        np.testing.assert_allclose(found[1], by_y.sum(0), 1e-12)
    # what is kept are the two vectors, and neither their table nor copies of them
    kept = tinyjax.saved_residuals(lambda xs, ys: table(f)(xs, ys).sum(), xs, ys)
    assert sum(r.nbytes for r in kept) == xs.nbytes + ys.nbytes


# Inside loops and branches


def inside(lib: Any, np_: Any, name: Function) -> dict[str, Function]:
    """Functions of weights (8, 8) and inputs (5, 8) that name values inside other programs."""
    lax = lib.lax

    def step(x: Any) -> Any:
        return np_.sin(name(np_.exp(np_.sin(x)), "act"))

    def product(x: Any, w: Any) -> Any:
        return np_.cos(name(np_.sin(x) @ w, "dot"))

    def recurrent(w: Any, xs: Any) -> Any:
        def iteration(h: Any, x: Any) -> Any:
            h = name(np_.tanh(name(h @ w, "dot") + x), "act")
            return h, np_.exp(h).sum()

        last, outs = lax.scan(iteration, np_.zeros_like(xs[0]), xs, reverse=True)
        return np_.sin(last).sum() * outs.sum()

    def invariant(w: Any, xs: Any) -> Any:
        def iteration(h: Any, x: Any) -> Any:
            return np_.tanh(h @ name(np_.sin(w), "act") + x), np_.exp(h).sum()

        last, outs = lax.scan(iteration, np_.zeros_like(xs[0]), xs)
        return last.sum() * outs.sum()

    def total(w: Any, xs: Any) -> Any:
        last = lax.scan(lambda c, x: (c + name(np_.sin(x * w[0]), "act"), None), w[0], xs)[0]
        return np_.sin(last).sum()

    def nested(w: Any, xs: Any) -> Any:
        def iteration(h: Any, x: Any) -> Any:
            def inner(g: Any, v: Any) -> Any:
                g = name(np_.sin(np_.exp(name(np_.sin(g * v), "dot"))), "act")
                return g, g

            h, ys = lax.scan(inner, h, np_.stack([x, x * x]))
            return np_.cos(h), ys.sum()

        last, outs = lax.scan(iteration, w[0], xs)
        return last.sum() + outs.sum()

    def conditional(w: Any, xs: Any) -> Any:
        def f(x: Any, w: Any) -> Any:
            return lax.cond(x.sum() > 0, step, lambda x: product(x, w), x) @ w

        return np_.sin(lib.jit(f)(np_.sin(xs @ w), w)).sum()

    def switched(w: Any, xs: Any) -> Any:
        def iteration(h: Any, ix: Any) -> Any:
            i, x = ix
            return lax.switch(i % 3, [step, lambda h: product(h, w), lambda h: h], h + x), None

        return lax.scan(iteration, np_.zeros_like(xs[0]), (np_.arange(len(xs)), xs))[0].sum()

    def called(w: Any, xs: Any) -> Any:
        return lax.fori_loop(0, 4, lambda i, c: lib.jit(step)(c * xs[0]), w[0]).sum()

    def plain(x: Any) -> Any:
        return np_.sin(np_.exp(x))

    def forward(x: Any) -> Any:
        y = name(np_.exp(x), "act")
        return np_.sin(y), y

    custom = lib.custom_vjp(plain)
    custom.defvjp(forward, lambda y, ct: (ct * y * np_.cos(y),))

    def ruled(w: Any, xs: Any) -> Any:
        return lax.scan(lambda c, x: (custom(np_.sin(c * x)), None), w[0], xs)[0].sum()

    functions = [recurrent, invariant, total, nested, conditional, switched, called, ruled]
    return {f.__name__: f for f in functions}


INSIDE = inside(tinyjax, jnp, tinyjax.checkpoint_name)
JAX_INSIDE = inside(jax, jaxnp, jax.ad_checkpoint.checkpoint_name)
WEIGHTS, INPUTS = RNG.normal(size=(8, 8)) / 3, RNG.normal(size=(5, 8))


@pytest.mark.parametrize("program", INSIDE)
def test_residuals_inside_loops_and_branches_agree_with_jax(program: str) -> None:
    for policy in POLICIES:
        ours = wrapper(tinyjax, policy)(INSIDE[program])
        theirs = wrapper(jax, policy)(JAX_INSIDE[program])
        found = tinyjax.saved_residuals(ours, WEIGHTS, INPUTS)
        with jax.enable_x64(True):
            expected = jax_inside.saved_residuals(theirs, WEIGHTS, INPUTS)
        kept = Counter((r.shape, r.dtype) for r in found)
        wanted = Counter((aval.shape, np.dtype(aval.dtype)) for aval, _ in expected)
        if policy in ("everything", "anything but dot"):
            # JAX also keeps values that stay the same, and what can be read off other residuals
            assert kept <= wanted, policy
        else:
            assert kept == wanted, policy


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("program", INSIDE)
def test_derivatives_inside_loops_and_branches_agree_with_jax(program: str) -> None:
    def curvature(lib: Any, f: Function) -> Any:
        def norm(w: Any, xs: Any) -> Any:
            by_w, by_xs = lib.grad(f, (0, 1))(w, xs)
            return (by_w**2).sum() + (by_xs**2).sum()

        return lib.grad(norm, (0, 1))

    def mapped(lib: Any, f: Function) -> Any:
        return lib.vmap(lib.grad(f, (0, 1)), (0, None))

    plain = JAX_INSIDE[program]
    several = np.stack([WEIGHTS, -WEIGHTS, WEIGHTS / 2])
    with jax.enable_x64(True):
        value, slopes = jax.jit(jax.value_and_grad(plain, (0, 1)))(WEIGHTS, INPUTS)
        second = jax.jit(curvature(jax, plain))(WEIGHTS, INPUTS)
        each = jax.jit(mapped(jax, plain))(several, INPUTS)

    def check(got: Any, expected: Any) -> None:
        for a, b in zip(tree.leaves(got), expected, strict=True):
            np.testing.assert_allclose(a, b, 1e-9, 1e-11)

    for policy in ("both", "everything"):
        wrap = wrapper(tinyjax, policy)
        f = wrap(INSIDE[program])
        check(tinyjax.jit(f)(WEIGHTS, INPUTS), [value])
        check(tinyjax.grad(f, (0, 1))(WEIGHTS, INPUTS), slopes)
        check(tinyjax.jit(mapped(tinyjax, f))(several, INPUTS), each)
        nested = wrap(lambda w, xs, f=f: 2.0 * f(w, xs))
        check(
            tinyjax.jit(tinyjax.grad(nested, (0, 1)))(WEIGHTS, INPUTS),
            [2.0 * np.asarray(x) for x in slopes],
        )
        total = tinyjax.grad(lambda ws, f=f: tinyjax.vmap(f, (0, None))(ws, INPUTS).sum())
        check(tinyjax.jit(total)(several), [each[0]])
        check(tinyjax.jit(curvature(tinyjax, f))(WEIGHTS, INPUTS), second)
        for g in (f, nested):
            jaxpr = tinyjax.make_jaxpr(curvature(tinyjax, g))(WEIGHTS, INPUTS).jaxpr
            check_all(jaxpr)


def check_all(jaxpr: Jaxpr) -> None:
    """Check the types of a program and of those inside it."""
    typecheck_jaxpr(jaxpr)
    for eqn in jaxpr.eqns:
        for inner in subjaxprs(eqn.params):
            check_all(inner)


def test_what_is_kept_of_an_iteration_is_not_computed_again() -> None:
    names = policies.save_only_these_names

    def products(policy: Any) -> int:
        f = tinyjax.checkpoint(INSIDE["recurrent"], policy=policy)
        return count(backward(f, WEIGHTS, INPUTS), "dot_general")

    plain = count(backward(INSIDE["recurrent"], WEIGHTS, INPUTS), "dot_general")
    # the loop that computes again starts from the products
    assert products(names("dot")) == plain
    assert products(policies.nothing_saveable) == plain + 1


def test_values_kept_inside_are_those_that_xla_returns() -> None:
    for program, policy in (("recurrent", "act"), ("nested", "both"), ("switched", "act")):
        f = wrapper(tinyjax, policy)(INSIDE[program])
        total = sum(r.nbytes for r in tinyjax.saved_residuals(f, WEIGHTS, INPUTS))
        assert total == pytest.approx(compiled_bytes(f, WEIGHTS, INPUTS), rel=0.1)


def test_one_body_is_split_for_each_kind_of_its_operands() -> None:
    """Loops of one body, with other operands for constants: each computes again what it takes."""
    factors, terms = (np.linspace(0.5, n, 4, dtype=np.float32) for n in (1.5, 2.0))
    a, c = np.float32(0.5), np.float32(0.25)
    program = tinyjax.make_jaxpr(
        lambda c, *xs: tinyjax.lax.scan(lambda c, x: (c * x[0] + x[1], None), c, xs)
    )(a, factors, terms)
    (loop,) = program.jaxpr.eqns

    def slope(num_consts: int, *operands: Any) -> Any:
        params = attrs.evolve(loop.params, num_consts=num_consts)
        given = [as_array(x) for x in operands]
        f = tinyjax.checkpoint(lambda t: jnp.sin(t * bind(loop.primitive, given, params)[0]))
        return tinyjax.grad(f)(0.3)

    by_slices, by_constant = a, c
    for factor, term in zip(factors, terms, strict=True):
        by_slices, by_constant = by_slices * factor + term, a * by_constant + term
    for found, last in (
        (slope(0, a, factors, terms), by_slices),
        (slope(1, a, c, terms), by_constant),
    ):
        np.testing.assert_allclose(found, last * np.cos(0.3 * last), 1e-5)


def test_residuals_inside_tell_their_names_and_lines() -> None:
    def iteration(c: Any, _: Any) -> Any:
        return jnp.sin(tinyjax.checkpoint_name(jnp.exp(c), "inner")), None  # the iteration

    def f(x: Any) -> Any:
        return tinyjax.lax.scan(iteration, x, None, 3)[0]

    g = tinyjax.checkpoint(f, policy=policies.save_only_these_names("inner"))
    given, kept = tinyjax.saved_residuals(g, 0.5)
    assert given.argument == "x"
    assert (kept.shape, kept.name) == ((3,), "inner")
    assert kept.location is not None
    assert kept.location.text.endswith("# the iteration")


def test_effects_in_an_iteration_are_not_done_again() -> None:
    called: list[float] = []
    reported: list[float] = []

    def host(x: HostArray) -> HostArray:
        called.append(float(x))
        return x * 2

    def iteration(c: Any, _: Any) -> Any:
        tinyjax.debug.callback(lambda x: reported.append(float(x)), c + 0.0)
        y = tinyjax.io_callback(
            host, tinyjax.ShapeDtypeStruct((), np.float64), tinyjax.lax.stop_gradient(c)
        )
        return jnp.sin(jnp.exp(jnp.sin(c)) * y), None

    @tinyjax.checkpoint
    def f(x: Any) -> Any:
        return tinyjax.lax.scan(iteration, x, None, 3)[0]

    def plain(x: Any) -> Any:
        for _ in range(3):
            y = jnp.sin(jnp.exp(jnp.sin(x)) * tinyjax.lax.stop_gradient(2 * x))
            x = y
        return x

    slope = tinyjax.jit(tinyjax.grad(f))(np.float64(0.3))
    assert len(called) == len(reported) == 3
    np.testing.assert_allclose(slope, tinyjax.grad(plain)(np.float64(0.3)), 1e-12)


def test_a_while_loop_is_computed_again_as_a_whole() -> None:
    """Its own checkpoints say what is kept; a policy decides on the loop, not on its body."""

    def step(x: Any) -> Any:
        return jnp.sin(tinyjax.checkpoint_name(jnp.exp(jnp.sin(x)), "kept"))

    def program(x: Any) -> Any:
        def iteration(s: Any) -> Any:
            return s[0] + 1, step(s[1])

        return tinyjax.lax.while_loop(lambda s: s[0] < 3, iteration, (0, x))[1].sum()

    x = np.array([0.5, -0.2, 0.9])
    f = tinyjax.checkpoint(program, policy=policies.save_only_these_names("kept"))
    expected = tinyjax.grad(lambda x: step(step(step(x))).sum())(x)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(f))(x), expected, 1e-12)
    assert [r.argument for r in tinyjax.saved_residuals(f, x)] == ["x"]


@pytest.mark.parametrize("kind", ["scan", "cond"])
def test_policies_in_nested_programs_take_linear_work(kind: str) -> None:
    lax = tinyjax.lax

    def nest(depth: int) -> Function:
        def f(x: Any) -> Any:
            if not depth:
                return jnp.sin(jnp.exp(x))
            inner, y = nest(depth - 1), jnp.sin(x)
            if kind == "scan":
                z = lax.scan(lambda c, _: (inner(c), None), y, None, 2)[0]
            else:
                z = lax.cond(y > 0, inner, jnp.cos, y)
            return tinyjax.checkpoint_name(jnp.sin(z), "kept")

        return f

    def equations(jaxpr: Jaxpr) -> int:
        return len(jaxpr.eqns) + sum(equations(j) for e in jaxpr.eqns for j in subjaxprs(e.params))

    named = tinyjax.checkpoint(policy=policies.save_only_these_names("kept"))
    counts: list[int] = []
    sizes = []
    for depth in (6, 12):
        calls = 0

        def policy(primitive: Any, *_: Any, **__: Any) -> bool:
            nonlocal calls
            calls += 1
            return False

        tinyjax.make_jaxpr(tinyjax.grad(tinyjax.checkpoint(nest(depth), policy=policy)))(0.7)
        counts.append(calls)
        sizes.append(equations(backward(named(nest(depth)), 0.7)))
    assert sizes[1] <= 2.05 * sizes[0]
    assert counts[1] <= 2.2 * counts[0]


def test_a_residual_of_a_program_without_lines() -> None:
    jaxpr = tinyjax.make_jaxpr(jnp.sin)(1.0).jaxpr
    eqns = tuple([attrs.evolve(eqn, source=None) for eqn in jaxpr.eqns])
    (out,) = jaxpr.outs
    assert isinstance(out, Var)
    assert origin_of(Jaxpr(jaxpr.in_binders, eqns, jaxpr.outs), out) == (None, "sin", None)
