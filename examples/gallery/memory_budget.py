"""A gradient in less memory.

A network of 64 layers is differentiated within memory budgets. Reverse mode keeps the values of
every layer until the backward pass reads them. With `memory_budget` it keeps as many as fit,
and computes the others again: the less memory, the more of the forward pass runs twice.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.autodiff import memory_plan

Layers = list[np.ndarray]

# %%
# The network says nothing of memory. By hand, groups of layers would be checkpointed.


def apply(x: Array, layers: Layers) -> Array:
    for w in layers:
        x = jnp.tanh(x @ w)
    return x


def loss(layers: Layers, x: Array) -> Array:
    return jnp.mean(apply(x, layers) ** 2)


def loss_in_groups(layers: Layers, x: Array, group: int) -> Array:
    for i in range(0, len(layers), group):
        x = jax.checkpoint(apply)(x, layers[i : i + group])
    return jnp.mean(x**2)


# %%
# What XLA needs besides the arguments, in megabytes.


def needed(gradient: Callable[..., Any], *args: Any) -> float:
    memory = jax.jit(gradient).lower(*args).compile().memory_analysis()
    return float(memory.temp_size_in_bytes + memory.output_size_in_bytes) / 1e6


# %%
# A plan is made from shapes alone. It predicts the peak, and knows the least possible budget. Of a
# group of `n` layers checkpointed by hand `n - 1` run again.


def main(
    path: str = "memory_budget.png", *, depth: int = 64, width: int = 64, examples: int = 1024
) -> dict[str, float]:
    rng = np.random.default_rng(0)
    scale = 1 / np.sqrt(width)
    layers = [(scale * rng.normal(size=(width, width))).astype(np.float32) for _ in range(depth)]
    args = layers, rng.normal(size=(examples, width)).astype(np.float32)
    most = memory_plan(loss, 10**12)(*args)
    budgets = np.linspace(most.least, most.peak, 7).astype(int).tolist()
    plans = [memory_plan(loss, budget)(*args) for budget in budgets]
    half = memory_plan(loss, most.peak // 2)(*args)
    groups = [2, 4, 8]
    by_hand = [
        needed(jax.grad(lambda layers, x, n=n: loss_in_groups(layers, x, n)), *args) for n in groups
    ]
    figure, axes = plt.subplots()
    axes.plot([plan.peak / 1e6 for plan in plans], [plan.work for plan in plans], "o-")
    axes.plot(by_hand, [1 - 1 / n for n in groups], "s")
    axes.legend(["memory_budget", "checkpoints by hand, groups of 2, 4, 8"])
    axes.set(xlabel="memory in MB", ylabel="of the forward pass computed again", ylim=(0, 1))
    figure.savefig(path)
    return {
        "MB without a budget": most.peak / 1e6,
        "least MB possible": most.least / 1e6,
        "half of it, predicted": half.peak / 1e6,
        "half of it, by XLA": needed(jax.grad(loss, memory_budget=most.peak // 2), *args),
        "computed again there": half.work,
        "MB by hand, groups of 8": by_hand[-1],
    }


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
