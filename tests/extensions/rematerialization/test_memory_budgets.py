"""Derivatives within a memory budget: their values, what XLA needs for them, and what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import autodiff, lax, nn
from tinyjax.errors import ArgumentError, MemoryBudgetError

Function = Callable[..., Any]
ENOUGH = 10**12


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> Any:
    rng = np.random.default_rng(seed)
    return (scale * rng.standard_normal(shape)).astype(np.float32)


# Programs. Each takes parameters and data, and the number of layers that are checkpointed by hand
# as a group; none for 0.


def grouped(layer: Function, params: Sequence[Any], x: Any, group: int) -> Any:
    """Apply layers, of which so many at a time are checkpointed."""

    def run(x: Any, params: Sequence[Any]) -> Any:
        for p in params:
            x = layer(x, p)
        return x

    if not group:
        return run(x, params)
    for i in range(0, len(params), group):
        x = tinyjax.checkpoint(run)(x, params[i : i + group])
    return x


def mlp(params: Any, x: Any, group: int = 0) -> Any:
    return jnp.mean(grouped(lambda x, p: jnp.tanh(x @ p[0] + p[1]), params, x, group) ** 2)


def attention(x: Any, p: Any) -> Any:
    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    batch, length, features = x.shape
    heads = (norm(x) @ p["qkv"]).reshape(batch, length, 4, -1).transpose(0, 2, 1, 3)
    q, k, v = jnp.split(heads, 3, -1)
    weights = nn.softmax(q @ k.swapaxes(-1, -2), -1)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(batch, length, features) @ p["out"]
    return x + nn.gelu(norm(x) @ p["up"]) @ p["down"]


def transformer(params: Any, x: Any, group: int = 0) -> Any:
    return jnp.mean(grouped(attention, params, x, group) ** 2)


def residual(x: Any, w: Any) -> Any:
    return x + nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME"))


def convolutions(params: Any, x: Any, group: int = 0) -> Any:
    return jnp.mean(grouped(residual, params, x, group) ** 2)


def iterations(params: Any, x: Any, states: int = 0, length: int = 200) -> Any:
    def step(x: Any, _: None) -> Any:
        return jnp.sin(x) * params + 0.1 * x[::-1], None

    return jnp.mean(lax.scan(step, x, None, length, checkpoints=states or None)[0] ** 2)


def block(size: int, seed: int) -> dict[str, Any]:
    shapes = {"qkv": (size, 3 * size), "out": (size, size), "up": (size, 4 * size)}
    shapes["down"] = (4 * size, size)
    return {k: normal(*s, seed=seed, scale=s[0] ** -0.5) for k, s in shapes.items()}


@attrs.frozen
class Program:
    """A loss, its parameters and data, and groups of layers to checkpoint by hand."""

    loss: Function
    args: tuple[Any, ...]
    groups: tuple[int, ...]


PROGRAMS = {
    "mlp": Program(
        mlp,
        ([(normal(32, 32, seed=i), np.zeros(32, np.float32)) for i in range(12)], normal(256, 32)),
        (2, 4),
    ),
    "transformer": Program(
        transformer, ([block(32, i) for i in range(3)], normal(4, 64, 32)), (1,)
    ),
    "convolutions": Program(
        convolutions,
        ([normal(8, 8, 3, 3, seed=i, scale=0.1) for i in range(8)], normal(4, 8, 16, 16)),
        (2, 4),
    ),
    "scan": Program(iterations, (np.float32(0.9), normal(500)), (20, 60)),
}


def peak(fun: Function, *args: Any) -> int:
    """Return XLA's figure for the memory of a program besides its arguments."""
    found = tinyjax.jit(fun).lower(*args).compile().memory_analysis()
    return int(found.temp_size_in_bytes + found.output_size_in_bytes)


def same(actual: Any, expected: Any, rtol: float = 2e-3) -> None:
    for x, y in zip(tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(np.abs(y).max(), 1e-3))


def least(fun: Function, *args: Any) -> int:
    return autodiff.memory_plan(fun, ENOUGH)(*args).least


def budgets(program: Program) -> list[int]:
    plan = autodiff.memory_plan(program.loss, ENOUGH)(*program.args)
    return [plan.least, (plan.least + plan.peak) // 2, plan.peak]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_predicted_is_what_xla_needs(name: str) -> None:
    program = PROGRAMS[name]
    expected = tinyjax.grad(program.loss)(*program.args)
    for budget in budgets(program):
        plan = autodiff.memory_plan(program.loss, budget)(*program.args)
        fun = tinyjax.grad(program.loss, memory_budget=budget)
        assert plan.peak <= budget
        assert plan.peak == pytest.approx(peak(fun, *program.args), rel=0.1)
        same(tinyjax.jit(fun)(*program.args), expected)


@pytest.mark.slow
def test_convolutions_need_no_more_than_predicted() -> None:
    """With the copies that XLA makes of them in another order of axes."""
    program = PROGRAMS["convolutions"]
    for budget in budgets(program):
        assert peak(gradient_within(program.loss, budget), *program.args) <= 1.01 * budget


def test_what_is_a_result_twice_needs_memory_twice() -> None:
    def loss(x: Any, y: Any) -> Any:
        return ((x + y) ** 2).sum()

    args, both = (normal(96, 96), normal(96, 96, seed=1)), (0, 1)
    expected = 2 * 96 * 96 * 4
    assert autodiff.memory_plan(loss, ENOUGH, both)(*args).peak == expected
    assert peak(tinyjax.grad(loss, both), *args) == pytest.approx(expected, rel=1e-3)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_less_memory_is_more_work(name: str) -> None:
    program = PROGRAMS[name]
    plans = [autodiff.memory_plan(program.loss, n)(*program.args) for n in budgets(program)]
    works = [plan.work for plan in plans]
    assert works == sorted(works, reverse=True)
    assert works[0] > works[-1] == 0.0


def work_by_hand(program: Program, group: int) -> tuple[int, float]:
    """Return the bytes and the repeated work of checkpoints placed by hand.

    All of it, but in the MLP the last layer of a group: its backward pass reads only its result.
    """

    def loss(*args: Any) -> Any:
        return program.loss(*args, group)

    again = 1.0 if program.loss is not mlp else 1.0 - 1 / group
    return peak(tinyjax.grad(loss), *program.args), again


@pytest.mark.parametrize("name", ["mlp", "transformer", "convolutions"])
def test_no_more_is_computed_again_than_with_checkpoints_placed_by_hand(name: str) -> None:
    program = PROGRAMS[name]
    for group in program.groups:
        bytes_by_hand, work = work_by_hand(program, group)
        if name == "convolutions":  # of which XLA moves axes, less where layers are together
            bytes_by_hand += bytes_by_hand // 8
        elif name == "transformer":  # of which XLA computes softmax's maxima again by itself
            bytes_by_hand += bytes_by_hand // 32
        plan = autodiff.memory_plan(program.loss, bytes_by_hand)(*program.args)
        assert plan.peak <= bytes_by_hand
        assert plan.work <= work + 0.02


def test_a_scan_needs_no_more_than_with_states_counted_by_hand() -> None:
    program = PROGRAMS["scan"]
    for states in program.groups:
        fun = tinyjax.grad(lambda *args, n=states: program.loss(*args, n))
        plan = autodiff.memory_plan(program.loss, peak(fun, *program.args))(*program.args)
        by_hand = autodiff.memory_plan(lambda *args, n=states: program.loss(*args, n), ENOUGH)
        assert plan.kept <= by_hand(*program.args).kept * 1.01
        assert plan.kept >= by_hand(*program.args).kept / 1.1


#: Chains of these are one loop; but for the last, whose steps read each other in several ways.
ELEMENTWISE: dict[str, Function] = {
    "add": lambda x: x + 0.5,
    "sin": jnp.sin,
    "exp": lambda x: jnp.exp(-x),
    "tanh": jnp.tanh,
    "quotient": lambda x: 1.0 / (1.0 + x),
    "chosen": lambda x: jnp.where(x > 0.1, jnp.sin(x) * 1.1, jnp.exp(-x * x)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("length", [4, 60])
def test_chains_of_elementwise_operations(name: str, length: int) -> None:
    def loss(x: Any) -> Any:
        for _ in range(min(length, 12) if name == "chosen" else length):
            x = ELEMENTWISE[name](x)
        return jnp.sum(x)

    x = normal(100, 100)
    found = least(loss, x)
    assert found == pytest.approx(peak(gradient_within(loss, found), x), rel=0.1)


# Other programs, and other transformations


W = normal(6, 6, scale=0.4)
X = normal(8, 6, seed=1)


@tinyjax.custom_vjp
def tripled(x: Any) -> Any:
    return 2.0 * x


tripled.defvjp(lambda x: (2.0 * x, None), lambda _, ct: (3.0 * ct,))


@tinyjax.custom_jvp
def steep(x: Any) -> Any:
    return jnp.sin(x)


steep.defjvp(lambda primals, tangents: (steep(*primals), 5.0 * tangents[0] * jnp.cos(*primals)))


def layers(change: Function) -> Function:
    """A loss with three products, and something else between them."""

    def loss(w: Any, x: Any) -> Any:
        x = jnp.tanh(x @ w)
        x = change(x, w) @ w
        return jnp.sum(jnp.sin(x @ w) ** 2)

    return loss


# of any type, for functions of any
jit: Function = tinyjax.jit
vmap: Function = tinyjax.vmap
checkpoint: Function = tinyjax.checkpoint


def repeated(x: Any, w: Any) -> Any:
    def goes_on(state: Any) -> Any:
        return jnp.sum(state[0] ** 2) > 0.5

    def iteration(state: Any) -> Any:
        return 0.7 * jnp.sin(state[0] @ w), state[1] + 1

    return lax.while_loop(goes_on, iteration, (x, 0))[0]


OTHERS: dict[str, Function] = {
    "custom_vjp": layers(lambda x, w: tripled(x)),
    "custom_jvp": layers(lambda x, w: steep(x)),
    "jit": layers(jit(lambda x, w: jnp.exp(x @ w))),
    "checkpoint": layers(checkpoint(lambda x, w: jnp.exp(x @ w))),
    "budget inside": layers(checkpoint(lambda x, w: jnp.exp(x @ w), memory_budget=10**4)),
    "cond": layers(lambda x, w: lax.cond(x[0, 0] > 0, jnp.sin, lambda x: x @ w, x)),
    "while_loop": layers(repeated),
    "scan": layers(lambda x, w: lax.scan(lambda c, x: (jnp.sin(c @ w + x),) * 2, x[0], x)[1]),
    "fori_loop": layers(lambda x, w: lax.fori_loop(0, 4, lambda i, x: jnp.sin(x @ w), x)),
    "vmap": layers(vmap(lambda x, w: jnp.sin(w @ x), (0, None))),
    "gather": layers(lambda x, w: x[jnp.array([3, 1, 1, 0])] + jnp.cumsum(x, 1)[:4]),
    "linear solve": layers(lambda x, w: jnp.linalg.solve(w + 4 * jnp.eye(6), x.T).T),
    "nothing else": layers(lambda x, w: x),
    "elementwise alone": lambda w, x: jnp.sum(jnp.sin(jnp.exp(w))) + jnp.sum(x),
    "no operation": lambda w, x: w[0, 0],
}

#: Each gives something to compare: a function of a loss and of what differentiates it.
TRANSFORMATIONS: dict[str, Callable[[Function, Function], Any]] = {
    "eager": lambda f, grad: grad(f)(W, X),
    "jit": lambda f, grad: tinyjax.jit(grad(f))(W, X),
    "vmap": lambda f, grad: tinyjax.vmap(grad(f), (0, None))(jnp.stack([W, W.T]), X),
    "jit of vmap": lambda f, grad: tinyjax.jit(tinyjax.vmap(grad(f), (None, 0)))(
        W, jnp.stack([X, -X])
    ),
    "of a vmap": lambda f, grad: grad(
        lambda w, x: tinyjax.vmap(f, (0, None))(jnp.stack([w, w.T]), x).sum()
    )(W, X),
    "jvp": lambda f, grad: tinyjax.jvp(grad(f), (W, X), (W**2, X)),
    "grad of grad": lambda f, grad: tinyjax.jit(grad(lambda w, x: jnp.sum(grad(f)(w, x) ** 2)))(
        W, X
    ),
    "in a loop": lambda f, grad: lax.fori_loop(
        0, 3, lambda _, w: w - 0.01 * grad(f)(w, X), jnp.array(W)
    ),
    "in a checkpoint": lambda f, grad: grad(checkpoint(lambda w, x: jnp.sum(grad(f)(w, x) * w)))(
        W, X
    ),
}
BUDGET = 20_000


def gradient_within(fun: Function, budget: int = BUDGET) -> Any:
    return tinyjax.grad(fun, memory_budget=budget)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OTHERS)
def test_gradients_of_other_programs(name: str) -> None:
    expected = tinyjax.grad(OTHERS[name])(W, X)
    low = least(OTHERS[name], W, X)
    for budget in (low, ENOUGH):
        same(gradient_within(OTHERS[name], budget)(W, X), expected)
        same(tinyjax.jit(gradient_within(OTHERS[name], budget))(W, X), expected)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("name", ["scan", "nothing else", "custom_jvp"])
def test_transformations(name: str, transformation: str) -> None:
    transform = TRANSFORMATIONS[transformation]
    same(transform(OTHERS[name], gradient_within), transform(OTHERS[name], tinyjax.grad))


def test_arguments_and_results_in_containers() -> None:
    """With auxiliary data, several arguments, and others that are no arrays."""

    def loss(w: Any, x: Any, name: str, *, scale: float) -> Any:
        y = jnp.tanh(x["a"] @ w["u"] @ w["v"])
        return jnp.sum(y**2) * scale, {name: y}

    args = {"u": W, "v": W.T}, {"a": X, "n": np.arange(3)}, "y"
    options: Any = {"argnums": 0, "has_aux": True}
    expected = tinyjax.value_and_grad(loss, **options)(*args, scale=2.0)
    budgeted = tinyjax.value_and_grad(loss, **options, memory_budget=BUDGET)
    same(budgeted(*args, scale=2.0), expected)
    same(tinyjax.grad(loss, **options, memory_budget=BUDGET)(*args, scale=2.0)[0], expected[1])
    several = tinyjax.grad(lambda w, x: loss(w, {"a": x}, "y", scale=1.0)[0], (1, 0))
    budgeted = tinyjax.grad(
        lambda w, x: loss(w, {"a": x}, "y", scale=1.0)[0], (1, 0), memory_budget=BUDGET
    )
    same(budgeted(args[0], X), several(args[0], X))


def test_vjp_and_checkpoint() -> None:
    loss = OTHERS["nothing else"]
    value, pull_back = tinyjax.vjp(loss, W, X)
    found, budgeted = tinyjax.vjp(loss, W, X, memory_budget=BUDGET)
    same((found, budgeted(np.float32(2))), (value, pull_back(np.float32(2))))
    with_static = tinyjax.checkpoint(
        lambda w, x, power: loss(w, x) ** power, static_argnums=2, memory_budget=BUDGET
    )
    by_name = tinyjax.checkpoint(
        lambda w, x, power: loss(w, x) ** power, static_argnames="power", memory_budget=BUDGET
    )
    expected = tinyjax.grad(lambda w: loss(w, X) ** 2)(W)
    same(tinyjax.grad(with_static)(W, X, 2), expected)
    same(tinyjax.grad(by_name)(W, X, power=2), expected)
    donated = tinyjax.jit(tinyjax.grad(loss, memory_budget=BUDGET), donate_argnums=0)
    same(donated(jnp.array(W), X), tinyjax.grad(loss)(W, X))


def test_a_sparse_hessian_of_a_function_with_a_budget() -> None:
    def loss(x: Any) -> Any:
        return jnp.sum(jnp.sin(x[1:] * x[:-1]) ** 2)

    x = np.linspace(0.1, 1.0, 20, dtype=np.float32)
    within_budget = tinyjax.checkpoint(loss, memory_budget=BUDGET)
    found = tinyjax.hessian(within_budget, sparse=True)(x).todense()
    same(found, tinyjax.hessian(loss)(x))


def test_an_impossible_budget_is_an_error_with_the_least_possible_one() -> None:
    program = PROGRAMS["mlp"]
    low = least(program.loss, *program.args)
    for fun in (
        tinyjax.grad(program.loss, memory_budget=low - 1),
        tinyjax.jit(tinyjax.grad(program.loss, memory_budget=low - 1)),
        autodiff.memory_plan(program.loss, low - 1),
    ):
        with raises(MemoryBudgetError, match=f"of mlp: its results .* take {low:,} bytes") as e:
            fun(*program.args)
        assert e.value.least == low
    autodiff.memory_plan(program.loss, low)(*program.args)


def test_wrong_budgets() -> None:
    for wrong in (0, -5):
        with raises(ArgumentError, match="memory_budget is a number of bytes"):
            tinyjax.grad(mlp, memory_budget=wrong)(*PROGRAMS["mlp"].args)
    policy = tinyjax.checkpoint_policies.dots_saveable
    with raises(ArgumentError, match="both a policy and a memory_budget"):
        tinyjax.checkpoint(mlp, policy=policy, memory_budget=10)
    with raises(ArgumentError, match="argnums=2"):
        autodiff.memory_plan(mlp, BUDGET, argnums=2)(W, X)


@pytest.mark.slow
def test_a_plan_says_what_is_computed_again() -> None:
    program = PROGRAMS["mlp"]
    plan = autodiff.memory_plan(program.loss, 400_000)(*program.args)
    assert sum(part.operations for part in plan.again) > 0
    text = str(plan)
    assert text.startswith("memory budget 0.40 MB, predicted peak 0.")
    assert "of the forward pass is computed again" in text
    assert "jnp.tanh(x @ p[0] + p[1])" in text
    args = PROGRAMS["scan"].args
    assert "memory budget 20.0 kB" in str(autodiff.memory_plan(iterations, 20_000)(*args))
    scanned = autodiff.memory_plan(iterations, least(iterations, *args))(*args)
    assert "the loop keeps 1 of 200 states" in str(scanned)
    shapes = tinyjax.tree.map(lambda x: tinyjax.ShapeDtypeStruct(x.shape, x.dtype), program.args)
    assert autodiff.memory_plan(program.loss, 400_000)(*shapes) == plan
