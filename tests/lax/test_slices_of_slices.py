"""A slice of a slice is the same element in every tier, wherever its start lies."""

from typing import Any

import numpy as np
import pytest

import tinyjax
from tinyjax import lax, numpy as jnp


def smaller(x: Any, less: int) -> tuple[int, ...]:
    return tuple(max(n - less, 1) for n in x.shape)


def gathered(x: Any, i: Any, j: Any) -> Any:
    numbers = lax.GatherDimensionNumbers((1, 2), (), (0, 1))
    return lax.gather(x, jnp.array([[i, j]]), numbers, smaller(x, 2), mode="clip")[0]


def in_branches(x: Any, i: Any, j: Any) -> Any:
    return lax.cond(
        i > j,
        lambda: lax.dynamic_slice(x, (i, j), smaller(x, 1)),
        lambda: lax.dynamic_slice(x, (j, i), smaller(x, 1)),
    )


def in_rows(x: Any, i: Any, j: Any) -> Any:
    size = smaller(x, 1)[1]
    return lax.scan(lambda c, row: (c, lax.dynamic_slice_in_dim(row, j, size)), 0, x)[1]


def by_examples(x: Any, i: Any, j: Any) -> Any:
    size = smaller(x, 1)[1]
    return tinyjax.vmap(lax.dynamic_slice_in_dim, (0, 0, None))(x, jnp.arange(len(x)) + j, size)


#: Of an array and two starts: anything that reads or writes at the starts, or lies between.
STEPS: dict[str, Any] = {
    "dynamic_slice": lambda x, i, j: lax.dynamic_slice(x, (i, j), smaller(x, 2)),
    "in_dim": lambda x, i, j: lax.dynamic_slice_in_dim(x, i, smaller(x, 2)[0]),
    "narrow starts": lambda x, i, j: lax.dynamic_slice(
        x, (i.astype("int8"), j.astype("int8")), smaller(x, 2)
    ),
    "index_in_dim": lambda x, i, j: lax.dynamic_index_in_dim(x, j, 1),
    "update": lambda x, i, j: lax.dynamic_update_slice(x, -x[:1, :1], (i, j)),
    "update by slice": lambda x, i, j: lax.dynamic_update_slice(
        x, lax.dynamic_slice(x, (j, i), (1, 1)), (i, j)
    ),
    "gather": gathered,
    "get": lambda x, i, j: x.at[i].get(mode="clip")[None],
    "set": lambda x, i, j: x.at[i, j].set(7, mode="clip"),
    "take": lambda x, i, j: jnp.take(x, jnp.array([i, j]), axis=0, mode="clip"),
    "cond": in_branches,
    "scan": in_rows,
    "vmap": by_examples,
    "fixed": lambda x, i, j: x[len(x) > 1 :],
    "strides": lambda x, i, j: x[::2],
    "transpose": lambda x, i, j: x.T,
    "reshape": lambda x, i, j: x.reshape(x.shape[::-1]),
    "pad": lambda x, i, j: jnp.pad(x, 1),
    "sum": lambda x, i, j: x + x[:1],
}


@pytest.mark.parametrize("seed", range(6))
def test_chains_of_slices_are_the_same_compiled(seed: int) -> None:
    draw = np.random.default_rng(seed)
    slices = ["dynamic_slice", "in_dim", "gather"]
    chains = [
        [*draw.choice(list(STEPS), 1), draw.choice(slices), *draw.choice(list(STEPS), 2)]
        for _ in range(12)
    ]

    def program(x: Any, starts: Any) -> Any:
        outs = []
        for chain in chains:
            out = x
            for step, (i, j) in zip(chain, starts, strict=False):
                out = STEPS[step](out, i, j)
            outs.append(out)
        return outs

    x, compiled = jnp.arange(80.0).reshape(10, 8), tinyjax.jit(program, tier="compiled")
    for _ in range(4):
        starts = jnp.asarray(draw.integers(-14, 14, (4, 2)).astype(np.int32))
        for chain, right, out in zip(chains, program(x, starts), compiled(x, starts), strict=True):
            np.testing.assert_array_equal(out, right, f"{chain} {starts.tolist()}")


@pytest.mark.parametrize("start", [-3, 0, 5, 9])
def test_slices_of_slices_of_what_a_loop_updates(start: int) -> None:
    def step(k: Any, state: Any) -> Any:
        x, total = state
        part = lax.dynamic_slice(x, (start - k, 0), (6, 3))
        for offsets in ((k - 4, 0), (k + 4, 1)):
            total += lax.dynamic_slice(part.reshape(6, 3), offsets, (2, 2))
        return lax.dynamic_update_slice(x, part[:1] / 2 + total[0, 0], (k, start)), total

    def program(x: Any, start: Any) -> Any:
        return lax.fori_loop(start, 8, step, (x, jnp.zeros((2, 2))))

    x = jnp.linspace(0.0, 1.0, 80).reshape(10, 8)
    for right, out in zip(
        program(x, 0), tinyjax.jit(program, tier="compiled")(x, jnp.int32(0)), strict=True
    ):
        np.testing.assert_allclose(out, right, 1e-5)


def test_starts_that_are_known_cost_nothing() -> None:
    text = (
        tinyjax.jit(lambda x: lax.dynamic_slice(x, (2, 0), (3, 8)))
        .lower(np.ones((10, 8)))
        .as_text()
    )
    assert "clamp" not in text
