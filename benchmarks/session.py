"""An eager session over many shapes: ``python -m benchmarks.session``.

Each library runs in a process of its own. It takes the gradient of a small network, without `jit`,
for batches of 1 to 100 examples, each length once, as people do at a prompt or over ragged data.
"""

import json
import subprocess
import sys
from time import perf_counter

_PROGRAM = """
from time import perf_counter
import numpy as np
start = perf_counter()
import {library} as lib
import {library}.numpy as jnp

def loss(params, x, y):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return jnp.mean((x - y) ** 2)

rng = np.random.default_rng(0)
draw = lambda *shape: jnp.asarray(rng.standard_normal(shape).astype(np.float32))
params = [(draw(8, 8), draw(8)) for _ in range(3)]
gradient = lib.grad(loss)
for length in range(1, {shapes} + 1):
    lib.block_until_ready(gradient(params, draw(length, 8), draw(length, 8)))
print(perf_counter() - start)
"""

#: How many lengths there are.
SHAPES = 100


def seconds(library: str, shapes: int = SHAPES) -> float:
    """Return how long a process takes from its import of a library to the last gradient."""
    program = _PROGRAM.format(library=library, shapes=shapes)
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return float(run.stdout)


def main() -> None:
    """Measure, and print the times as JSON."""
    start = perf_counter()
    times = {library: round(seconds(library), 2) for library in ("tinyjax", "jax")}
    print(json.dumps({"seconds": times, "ratio": round(times["tinyjax"] / times["jax"], 4)}))
    print(f"measured in {perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
