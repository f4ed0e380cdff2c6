"""Gradients in less memory, beside checkpoints placed by hand, for ``python -m benchmarks``.

A multilayer perceptron of 64 layers, 8 layers of a transformer, 16 convolutions and a scan of
10,000 steps. Of each: as it is, with checkpoints placed by hand, and with budgets of as many bytes
as those need, and of half of all. Times are processor times, since all cores compute.
"""

from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.measure import Effort, Spread, interleaved
from tinyjax import autodiff, lax, nn

Function = Callable[..., Any]
#: A loss of parameters, data and a number of layers, or of states, to checkpoint; 0 for none.
Loss = Callable[[Any, Any, int], Any]

#: At half the memory, over the time with all; over that of checkpoints by hand; of predictions.
HALF_BAR: Final = 1.25
BY_HAND_BAR: Final = 1.05
PREDICTION_BAR: Final = 0.1


def _normal(*shape: int) -> Any:
    scale = 1.0 if len(shape) == 1 else float(np.prod(shape[:-1])) ** -0.5
    return (np.random.default_rng(0).normal(size=shape) * scale).astype(np.float32)


def _grouped(layer: Function, params: Sequence[Any], x: Any, group: int) -> Any:
    def run(x: Any, params: Sequence[Any]) -> Any:
        for p in params:
            x = layer(x, p)
        return x

    if not group:
        return jnp.mean(run(x, params) ** 2)
    for i in range(0, len(params), group):
        x = tinyjax.checkpoint(run)(x, params[i : i + group])
    return jnp.mean(x**2)


def _attention(x: Any, p: Any) -> Any:
    def norm(x: Any) -> Any:
        x = x - x.mean(-1, keepdims=True)
        return x / jnp.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)

    qkv, out, up, down = p
    batch, length, features = x.shape
    heads = (norm(x) @ qkv).reshape(batch, length, 4, -1).transpose(0, 2, 1, 3)
    q, k, v = jnp.split(heads, 3, -1)
    mixed = nn.softmax(q @ k.swapaxes(-1, -2), -1) @ v
    x = x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, features) @ out
    return x + nn.gelu(norm(x) @ up) @ down


def _residual(x: Any, w: Any) -> Any:
    return x + nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME"))


def _scan(scale: Any, x: Any, states: int) -> Any:
    def step(x: Any, _: None) -> Any:
        return jnp.sin(x) * scale + 0.1 * x[::-1], None

    return jnp.mean(lax.scan(step, x, None, 10_000, checkpoints=states or None)[0] ** 2)


#: By name: the loss, its arguments, and the groups of layers, or states, by hand.
PROGRAMS: Final[dict[str, tuple[Loss, tuple[Any, Any], tuple[int, ...]]]] = {
    "memory budget, MLP of 64 layers": (
        partial(_grouped, lambda x, w: jnp.tanh(x @ w)),
        ([_normal(256, 256)] * 64, 16 * _normal(1024, 256)),
        (2, 8),
    ),
    "memory budget, transformer of 8 layers": (
        partial(_grouped, _attention),
        (
            [[_normal(128, n) for n in (384, 128, 512)] + [_normal(512, 128)]] * 8,
            _normal(8, 128, 128),
        ),
        (1, 2),
    ),
    "memory budget, 16 convolutions": (
        partial(_grouped, _residual),
        ([0.1 * _normal(32, 32, 3, 3)] * 16, _normal(8, 32, 32, 32)),
        (1, 2),
    ),
    "memory budget, scan of 10,000 steps": (_scan, (np.float32(1.01), _normal(1000)), (100, 5000)),
}


@attrs.frozen
class Budgeted:
    """A gradient within a budget.

    Attributes:
        title: the program, and which budget.
        needed: the bytes of temporaries and results, as XLA has them.
        unlimited: those of the gradient without a budget.
        predicted: those predicted.
        time: over that of the gradient without a budget.
        by_hand: that of checkpoints placed by hand, in as much memory; None at half of it.
    """

    title: str
    needed: int
    unlimited: int
    predicted: int
    time: Spread
    by_hand: Spread | None

    @property
    def prediction(self) -> float:
        """The predicted bytes over the needed ones."""
        return self.predicted / self.needed

    @property
    def is_accurate(self) -> bool:
        """Return whether the prediction is within its bar."""
        return abs(self.prediction - 1) <= PREDICTION_BAR

    @property
    def most(self) -> float:
        """The bar of the time, over that without a budget."""
        return HALF_BAR if self.by_hand is None else BY_HAND_BAR * self.by_hand.median

    @property
    def missed(self) -> bool:
        return not self.is_accurate or self.time.median > self.most


def _compiled(fun: Function, args: Any) -> tuple[Function, int]:
    compiled = tinyjax.jit(fun).lower(*args).compile()
    memory = compiled.memory_analysis()
    needed = int(memory.temp_size_in_bytes + memory.output_size_in_bytes)
    return lambda: tinyjax.block_until_ready(compiled(*args)), needed


def within_budgets(program: str, effort: Effort) -> list[Budgeted]:
    """Measure a program within each of its budgets."""
    loss, args, by_hand = PROGRAMS[program]

    def gradient(number: int, **budget: int) -> tuple[Function, int]:
        return _compiled(tinyjax.grad(lambda *args: loss(*args, number), **budget), args)

    calls = {"all": gradient(0)} | {f"by hand, {n}": gradient(n) for n in by_hand}
    unlimited = calls["all"][1]
    budgets = {"half": unlimited // 2} | {
        f"as by hand, {n}": calls[f"by hand, {n}"][1] for n in by_hand
    }
    calls |= {way: gradient(0, memory_budget=budget) for way, budget in budgets.items()}
    samples = interleaved({k: call for k, (call, _) in calls.items()}, effort, False, process_time)
    times = {way: Spread.of_ratios(own, samples["all"]) for way, own in samples.items()}
    return [
        Budgeted(
            f"{program}, {way}",
            calls[way][1],
            unlimited,
            autodiff.memory_plan(lambda *args: loss(*args, 0), budget)(*args).peak,
            times[way],
            times.get(way.removeprefix("as ")) if way != "half" else None,
        )
        for way, budget in sorted(budgets.items(), key=lambda item: -item[1])
    ]
