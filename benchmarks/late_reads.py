"""Do calls read NumPy arrays after they returned? ``python -m benchmarks.late_reads`` tells.

A program first runs a loop of a few milliseconds, which a scalar feeds, and then adds up an array.
The array is overwritten as soon as the call has returned. If the sum is that of the new numbers,
the library read them late. Arrays begin at a multiple of 64 bytes, or 4 bytes behind one.
"""

import json
import subprocess
import sys

_PROGRAM = """
import json
import numpy as np
import {library} as lib
import {library}.numpy as jnp

def total(seed, x):
    seed = lib.lax.fori_loop(0, 20_000, lambda i, y: jnp.sin(y) + 0.5, seed)
    return jnp.sum(x) + 0 * seed

compiled = {{}}
late = {{"aligned": [0, 0], "others": [0, 0]}}
for size in (1_000, 10_000, 100_000, 1_000_000):
    memory = np.zeros(size + 32, np.float32)
    start = -memory.ctypes.data % 64 // 4
    for kind, first in (("aligned", start), ("others", start + 1)):
        x = memory[first : first + size]
        x[:] = 1
        seed = np.float32(1)
        call = lib.jit(total).lower(seed, x).compile()
        for _ in range(6):
            x[:] = 1
            result = call(seed, x)
            x[:] = 2
            late[kind][0] += float(result) != size
            late[kind][1] += 1
print(json.dumps(late))
"""


def late_reads(library: str) -> dict[str, list[int]]:
    """Return for each kind of arrays how many calls read late, and of how many."""
    run = subprocess.run(
        [sys.executable, "-c", _PROGRAM.format(library=library)],
        check=True,
        capture_output=True,
        text=True,
    )
    counts: dict[str, list[int]] = json.loads(run.stdout)
    return counts


if __name__ == "__main__":
    print(json.dumps({library: late_reads(library) for library in ("tinyjax", "jax")}))
