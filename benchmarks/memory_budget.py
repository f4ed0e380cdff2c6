"""``python -m benchmarks.memory_budget``: gradients in less memory, beside checkpoints by hand.

A multilayer perceptron of 64 layers, 8 layers of a transformer, 16 convolutions and a scan of
10,000 steps. Of each: as it is, with checkpoints placed by hand, and with budgets of as many bytes
as those need, and of half of all. Times are processor times, the least of several turns.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from time import process_time
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.report import any_missed, factor, insert, markdown, print_table, verdict
from tinyjax import autodiff, lax, nn

Function = Callable[..., Any]
#: A loss of parameters, data and a number of layers, or of states, to checkpoint; 0 for none.
Loss = Callable[[Any, Any, int], Any]

HALF_BAR: Final = 1.25
PREDICTION_BAR: Final = 0.1
HEADINGS: Final = ("", "MB", "predicted", "time of plain", "by hand, in as much memory", "bars")


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
    "MLP of 64 layers": (
        partial(_grouped, lambda x, w: jnp.tanh(x @ w)),
        ([_normal(256, 256)] * 64, 16 * _normal(1024, 256)),
        (2, 8),
    ),
    "transformer of 8 layers": (
        partial(_grouped, _attention),
        (
            [[_normal(128, n) for n in (384, 128, 512)] + [_normal(512, 128)]] * 8,
            _normal(8, 128, 128),
        ),
        (1, 2),
    ),
    "16 convolutions": (
        partial(_grouped, _residual),
        ([0.1 * _normal(32, 32, 3, 3)] * 16, _normal(8, 32, 32, 32)),
        (1, 2),
    ),
    "scan of 10,000 steps": (_scan, (np.float32(1.01), _normal(1000)), (100, 5000)),
}


def _compiled(fun: Function, args: Any) -> tuple[Function, int]:
    compiled = tinyjax.jit(fun).lower(*args).compile()
    memory = compiled.memory_analysis()
    return compiled, int(memory.temp_size_in_bytes + memory.output_size_in_bytes)


def measure(title: str, turns: int) -> list[list[str]]:
    """Measure a program: a row for each of its budgets."""
    loss, args, by_hand = PROGRAMS[title]
    plain: Function = lambda params, x: loss(params, x, 0)  # noqa: E731
    grad: Function = tinyjax.grad
    calls = {0: _compiled(grad(plain), args)}
    for n in by_hand:
        calls[n] = _compiled(grad(lambda params, x, n=n: loss(params, x, n)), args)
    half = calls[0][1] // 2
    budgets = {-half: 0} | {-calls[n][1]: n for n in by_hand}
    predicted: dict[int, int] = {}
    for key in budgets:
        predicted[key] = autodiff.memory_plan(plain, -key)(*args).peak
        calls[key] = _compiled(grad(plain, memory_budget=-key), args)
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for key, (call, _) in calls.items():
            begun = process_time()
            tinyjax.block_until_ready(call(*args))
            best[key] = min(best[key], process_time() - begun)
    rows = []
    for key, n in sorted(budgets.items()):
        found = calls[key][1]
        ratio = best[key] / best[0]
        told = abs(predicted[key] / found - 1) <= PREDICTION_BAR
        bars = [f"prediction {verdict(told)}"]
        if n:
            hand = best[n] / best[0]
            bars.append(f"time by hand {verdict(ratio <= 1.05 * hand)}")
        else:
            bars.append(f"{HALF_BAR} at half {verdict(ratio <= HALF_BAR)}")
        rows.append(
            [
                f"{title}, {'half' if not n else 'as by hand'}",
                f"{found / 1e6:.2f} of {calls[0][1] / 1e6:.2f}",
                f"{predicted[key] / found:.3f}",
                factor(ratio),
                factor(hand) if n else "",
                ", ".join(bars),
            ]
        )
    return rows


def main() -> int:
    command = parser("benchmarks.memory_budget", __doc__, "take three turns")
    command.add_argument("--only", choices=PROGRAMS, help="one program")
    options = command.parse_args()
    turns = 3 if options.quick else 9
    chosen = [options.only] if options.only else list(PROGRAMS)
    rows = [row for title in chosen for row in measure(title, turns)]
    caption = (
        "What a gradient needs of XLA besides its arguments, what was predicted of that, and its "
        "processor time over that of the gradient without a budget."
    )
    print_table(HEADINGS, rows, caption, new_console(160))
    if options.docs is not None and not options.only:
        text = f"{caption}\n\n{markdown(HEADINGS, rows)}"
        insert(options.docs / "performance.md", "memory budget", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
