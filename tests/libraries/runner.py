"""Run a program on tinyjax or on jax, and write down its results and how long they took.

``python runner.py tinyjax|jax PROGRAM OUT [REPEATS]``: the program is a file with a function
``main`` that returns a dictionary of arrays. ``OUT.npz`` gets them, and ``OUT.json`` the seconds
that loading the program took, the first call, and the quickest of the further calls.
"""

import json
import runpy
import sys
import time
import warnings
from pathlib import Path


def run(backend: str, program: str, out: str, repeats: int) -> None:
    start = time.perf_counter()
    if backend == "tinyjax":
        import tinyjax.as_jax  # noqa: F401
    found = runpy.run_path(program)
    loaded = time.perf_counter()

    import jax
    import numpy as np

    assert ("tinyjax" in jax.__version__) == (backend == "tinyjax"), jax.__version__
    main = found["main"]
    results = {name: np.asarray(value) for name, value in main().items()}
    first = time.perf_counter()
    later = []
    for _ in range(repeats):
        before = time.perf_counter()
        for value in main().values():
            np.asarray(value)
        later.append(time.perf_counter() - before)
    np.savez(f"{out}.npz", allow_pickle=False, **results)
    seconds = {
        "load": loaded - start,
        "first": first - loaded,
        "later": min(later, default=0.0),
        "tolerance": found.get("TOLERANCE", 2e-5),
    }
    Path(f"{out}.json").write_text(json.dumps(seconds), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 0)
