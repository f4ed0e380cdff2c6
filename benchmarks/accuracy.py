"""``python -m benchmarks.accuracy``: reports of lost digits, beside the programs that they are of.

The programs run operation by operation, loops too (``disable_jit``). A bar of 8 times is for the
programs in float32; in float64 each operation is done in double-double, too.
"""

import sys
from statistics import geometric_mean, median
from typing import Any, Final

import numpy as np
from rich.progress import track

import tinyjax
import tinyjax.numpy as jnp
from benchmarks.command import new_console, parser
from benchmarks.measure import QUICK, THOROUGH, Call, interleaved
from benchmarks.report import duration, print_table
from tinyjax import accuracy, lax

_HEADINGS: Final = ("", "program", "report", "digits", "estimate", "report / program")


def lorenz(y: Any) -> Any:
    def slope(y: Any) -> Any:
        return jnp.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 2.6 * y[2]])

    def step(y: Any, _: Any) -> Any:
        k1 = slope(y)
        return y + 0.005 * slope(y + 0.0025 * k1), None

    return lax.scan(step, y, None, length=100)[0].sum()


def network(x: Any) -> Any:
    w = jnp.sin(jnp.arange(1024.0, dtype=x.dtype)).reshape(32, 32)

    def loss(w: Any) -> Any:
        hidden = x
        for _ in range(4):
            hidden = jnp.tanh(hidden @ w)
        return jnp.mean(hidden**2)

    return jnp.sum(tinyjax.grad(loss)(w))


def moments(x: Any) -> Any:
    y = x - jnp.mean(x)
    return jnp.sum(y**3 * jnp.exp(-y * y))


def filtered(x: Any) -> Any:
    f = jnp.array([[1, 0.1], [0, 1]], x.dtype)

    def step(p: Any, r: Any) -> Any:
        p = f @ p @ f.T + 0.1 * jnp.eye(2, dtype=x.dtype)
        gain = p[:, :1] / (p[0, 0] + r)
        return p - gain @ p[:1], gain.sum()

    return lax.scan(step, jnp.eye(2, dtype=x.dtype), x)[1].sum()


def _arguments(dtype: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "Lorenz's attractor, 100 steps": (lorenz, np.ones(3, dtype)),
        "gradient of a network, 64 x 32": (network, rng.random((64, 32)).astype(dtype)),
        "moments of 100,000 numbers": (moments, rng.random(100_000).astype(dtype)),
        "a Kalman filter, 100 steps": (filtered, rng.random(100).astype(dtype)),
    }


def main() -> int:
    options = parser("benchmarks.accuracy", __doc__, "take a tenth of the time").parse_args()
    console = new_console()
    for dtype in ("float32", "float64"):
        rows, ratios = [], []
        programs = _arguments(dtype)
        for name, (fun, x) in track(programs.items(), dtype, console=console, transient=True):
            calls: dict[str, Call] = {
                "program": lambda fun=fun, x=x: fun(x),
                "report": lambda fun=fun, x=x: accuracy.report(fun)(x),
                "digits": lambda fun=fun, x=x: accuracy.digits(fun)(x),
                "estimate": lambda fun=fun, x=x: accuracy.estimate(fun)(x),
            }
            with tinyjax.disable_jit():
                samples = interleaved(calls, QUICK if options.quick else THOROUGH, False)
            seconds = {way: median(times) for way, times in samples.items()}
            ratios.append(seconds["report"] / seconds["program"])
            rows.append([name, *map(duration, seconds.values()), f"{ratios[-1]:.1f}"])
        mean = geometric_mean(ratios)
        print_table(list(_HEADINGS), rows, f"{dtype}: {mean:.1f} in the geometric mean.", console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
