"""Drawn loops in C: what an iteration carries, stacks, views and writes to, against evaluation.

Bodies reverse, shift, reshape and update arrays, so that what reads old values, or elements at
other places, stands beside what writes new ones, in all orders.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from batches import results

import tinyjax.numpy as jnp
from tinyjax import export, grad, lax

pytestmark = pytest.mark.usefixtures("double_precision")
N: Final = 12


def _moved(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda j, a: a.at[j].set(a[N - 1 - j]), x)


def _same(x: Any) -> Any:
    return x


BATCH: Final = 50
#: Of one array, of two, and of two and the number of the iteration.
OPERATIONS: Final[tuple[Callable[[Any, Any, Any], Any], ...]] = (
    lambda x, y, i: jnp.sin(x) + 0.5 * y,
    lambda x, y, i: x[::-1] * 0.9,
    lambda x, y, i: jnp.roll(x, 1) - y,
    lambda x, y, i: x.reshape(3, 4).T.reshape(N) + y,
    lambda x, y, i: lax.pad(x.reshape(4, 3), 0.0, ((0, -1, 0), (0, 1, 0))).reshape(N) + y,
    lambda x, y, i: jnp.concatenate([y[6:], x[:6]]),
    lambda x, y, i: x.at[i % N].set(y[(i + 3) % N]),
    lambda x, y, i: x.at[2:7].add(y[5:0:-1]),
    lambda x, y, i: x.at[jnp.argsort(y)].set(0.5 * x + y),
    lambda x, y, i: lax.dynamic_update_slice(x, x[1:5] + y[:4], (i,)),
    lambda x, y, i: jnp.cumsum(x) * 0.2 + y,
    lambda x, y, i: jnp.where(x > y, y[::-1], x * 0.7),
    lambda x, y, i: x * jnp.sum(y) * 0.1,
    lambda x, y, i: lax.cond(y[0] > 0, lambda: x[::-1], lambda: x + y),
    lambda x, y, i: lax.cond(y[1] > 0, lambda: x.at[i % N].set(y[2]), lambda: x),
    lambda x, y, i: lax.cond(x[i % N] > 0, lambda: x.at[1].add(x[2]), lambda: y.at[2].set(x[3])),
    lambda x, y, i: lax.switch(
        i % 3,
        [
            lambda: x.at[3:6].set(x[4:7]),
            lambda: 2 * x,
            lambda: lax.cond(y[3] > 0, _moved, _same, x),
        ],
    ),
    lambda x, y, i: x.at[i % N].add(
        lax.cond(y[i % N] > 0, lambda: y[2] * x[i % 5] + y[i % 3], lambda: 0.0)
    ),
    lambda x, y, i: lax.fori_loop(0, 4, lambda j, a: a.at[j + 1].set(a[j] * y[j] + a[j + 2]), x),
    lambda x, y, i: lax.fori_loop(0, 3, lambda j, a: (a[1], a[0].at[j].add(a[1][0])), (x, y))[1],
    lambda x, y, i: x + jnp.zeros(N).at[i % N].set(y[1]) + jnp.zeros(N).at[2:5].add(y[i % N]),
    lambda x, y, i: 0.3 * y + i,
    lambda x, y, i: y,
)


def drawn(rng: np.random.Generator, depth: int = 1) -> Callable[..., Any]:
    """Return a loop over three arrays, or its gradient."""
    steps = [
        (int(rng.integers(len(OPERATIONS))), *map(int, rng.integers(0, 99, 2)))
        for _ in range(rng.integers(2, 7))
    ]
    carried, stacked = rng.integers(0, 99, 3).tolist(), rng.integers(0, 99, 2).tolist()
    inner = drawn(rng, depth - 1) if depth and rng.random() < 0.3 else None
    is_while, t1 = bool(rng.random() < 0.3), float(rng.random())
    length, reverse = int(rng.integers(2, 5)), bool(rng.random() < 0.3)

    def body(arrays: Sequence[Any], i: Any) -> tuple[list[Any], list[Any]]:
        k1 = t1 * arrays[0][0]
        values = [*arrays, arrays[1] * k1]
        if inner is not None:
            values += inner(*values[-3:])[0]
        for operation, a, b in steps:
            x, y = values[-1 - a % len(values)], values[-1 - b % len(values)]
            values.append(jnp.sin(OPERATIONS[operation](x, y, i)))
        return [values[-1 - k % len(values)] for k in carried], [
            values[-1 - k % len(values)] for k in stacked
        ]

    def loop(*arrays: Any) -> Any:
        if is_while:
            *last, _ = lax.while_loop(
                lambda s: s[-1] < length,
                lambda s: (*body(s[:-1], s[-1])[0], s[-1] + 1),
                (*arrays, jnp.int64(0)),
            )
            return last, []
        last, stacks = lax.scan(body, [*arrays], jnp.arange(length), reverse=reverse)
        return last, stacks

    def slope(*arrays: Any) -> Any:
        weights = [jnp.arange(1.0, N + 1) * (k + 1) for k in range(3)]

        def total(*arrays: Any) -> Any:
            last, stacks = loop(*arrays)
            return sum([jnp.vdot(w, x) for w, x in zip(weights, last, strict=True)]) + sum(
                [jnp.sum(jnp.sin(x)) for x in stacks]
            )

        return grad(total, (0, 1, 2))(*arrays), []

    return slope if depth and not is_while and rng.random() < 0.4 else loop


@pytest.mark.parametrize(
    "start", [0, *[pytest.param(i, marks=pytest.mark.fuzz) for i in range(1, 41)]]
)
def test_values(start: int, tmp_path: Path) -> None:
    made = []
    for number in range(BATCH if start else BATCH // 2):
        rng = np.random.default_rng((start, number))
        loop, args = drawn(rng), [rng.normal(size=N) for _ in range(3)]
        made.append((export.c(loop, name=f"loop_{number}")(*args), loop, args))
    values = results([x[0] for x in made], [x[2] for x in made], tmp_path)
    for (program, loop, args), outs in zip(made, values, strict=True):
        last, stacks = loop(*map(jnp.asarray, args))
        for x, y in zip(outs, [*last, *stacks], strict=True):
            np.testing.assert_allclose(x, y, 1e-9, 1e-11, err_msg=program.source)
