"""Calls that programs repeat a million times, one for each path of dispatch, and what they leave.

``python -m benchmarks.repeated LIBRARY PATH CALLS SECONDS`` measures one path in a process of its
own, for ``benchmarks.memory``; the tests make fewer calls.
"""

import gc
import importlib
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

#: Makes one call, given to ``repeat``.
Step: TypeAlias = Callable[[], object]
#: Takes a module with JAX's names and prepares the step.
MakeStep: TypeAlias = Callable[[Any], Step]

_X: Final = np.linspace(0.1, 1.0, 8, dtype=np.float32)
_WARM_UP: Final = 600
#: Calls between two looks at the clock.
_BATCH: Final = 100
#: A page of ``/proc/self/statm``.
_PAGE: Final = 4096


def _numpy_of(library: Any) -> Any:
    return importlib.import_module(f"{library.__name__}.numpy")


def _chained(function: Callable[[Any], Any], first: Any) -> Step:
    """Call a function on what it returned last."""
    state = first

    def step() -> None:
        nonlocal state
        state = function(state)

    return step


def _arrays(jax: Any) -> Step:
    return _chained(jax.jit(lambda x: x * 0.5 + 1.0), _numpy_of(jax).asarray(_X))


def _results_dropped(jax: Any) -> Step:
    f, x = jax.jit(lambda x: (x + 1.0, x * 2.0)), _numpy_of(jax).asarray(_X)
    return lambda: f(x, *())


def _numpy_arguments(jax: Any) -> Step:
    f, x = jax.jit(lambda x, s: x * s), _X.copy()
    return lambda: f(x, 2.0)


def _trees(jax: Any) -> Step:
    f = jax.jit(lambda p: {"w": p["w"] * 0.5, "b": (p["b"][0] + 1.0,)})
    jnp = _numpy_of(jax)
    return _chained(f, {"w": jnp.asarray(_X), "b": (jnp.asarray(1.0),)})


def _keywords(jax: Any) -> Step:
    f, x = jax.jit(lambda x, *, s: x * s), _numpy_of(jax).asarray(_X)
    return lambda: f(x, s=x)


def _static_arguments(jax: Any) -> Step:
    f, x = jax.jit(lambda x, n: x * n, static_argnums=1), _numpy_of(jax).asarray(_X)
    return lambda: f(x, 2)


def _captured_constants(jax: Any) -> Step:
    w = _numpy_of(jax).asarray(_X)
    return _chained(jax.jit(lambda x: x * 0.5 + w), w)


def _donated(jax: Any) -> Step:
    return _chained(jax.jit(lambda x: x * 0.5 + 1.0, donate_argnums=0), _numpy_of(jax).asarray(_X))


def _callbacks(jax: Any) -> Step:
    def host(x: Any) -> Any:
        return np.asarray(x) * np.float32(0.5)

    result = jax.ShapeDtypeStruct((8,), np.float32)
    return _chained(
        jax.jit(lambda x: jax.pure_callback(host, result, x)), _numpy_of(jax).asarray(_X)
    )


def _loop(jax: Any) -> Callable[[Any], Any]:
    def turn(carry: Any, _: Any) -> Any:
        return carry * 0.5 + 1.0, None

    return lambda x: jax.lax.scan(turn, x, None, length=3)[0]


def _loops(jax: Any) -> Step:
    return _chained(_loop(jax), _numpy_of(jax).asarray(_X))


def _gradients_of_loops(jax: Any) -> Step:
    loop = _loop(jax)
    return _chained(jax.grad(lambda x: loop(x).sum()), _numpy_of(jax).asarray(_X))


def _gradients(jax: Any) -> Step:
    return _chained(jax.jit(jax.grad(lambda x: (x * x).sum())), _numpy_of(jax).asarray(_X))


def _mapped(jax: Any) -> Step:
    return _chained(jax.vmap(jax.jit(lambda x: x * 0.5 + 1.0)), _numpy_of(jax).asarray(_X))


def _eager(jax: Any) -> Step:
    return _chained(lambda x: x * 0.5 + 1.0, _numpy_of(jax).asarray(_X))


def _eager_gradients(jax: Any) -> Step:
    return _chained(jax.grad(lambda x: (x * x).sum()), _numpy_of(jax).asarray(_X))


def _transfers(jax: Any) -> Step:
    jnp = _numpy_of(jax)
    f = jax.jit(lambda x: x + 1.0)
    return lambda: np.asarray(f(jnp.asarray(_X)))


PATHS: Final[Mapping[str, MakeStep]] = {
    "arrays": _arrays,
    "results dropped": _results_dropped,
    "NumPy arrays and numbers": _numpy_arguments,
    "trees": _trees,
    "keywords": _keywords,
    "static arguments": _static_arguments,
    "captured constants": _captured_constants,
    "donated arguments": _donated,
    "data in and out": _transfers,
    "compiled gradients": _gradients,
    "vmap of jit": _mapped,
    "callbacks": _callbacks,
    "loops, eager": _loops,
    "gradients of loops, eager": _gradients_of_loops,
    "eager operations": _eager,
    "eager gradients": _eager_gradients,
}


class Growth(NamedTuple):
    """The memory that calls have left behind.

    Attributes:
        calls: how many were made.
        blocks: by how many blocks of memory Python has grown.
        resident: by how many bytes the process has grown.
    """

    calls: int
    blocks: int
    resident: int


def resident_bytes() -> int:
    """Return the memory of this process that is in use."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]) * _PAGE


def repeat(step: Step, calls: int, seconds: float = math.inf) -> Growth:
    """Make a call many times, after warming up.

    Args:
        step: the call.
        calls: how often it is made.
        seconds: stop after this time, even if fewer calls were made.
    """
    for _ in range(_WARM_UP):
        step()
    gc.collect()
    blocks, resident = sys.getallocatedblocks(), resident_bytes()
    end, made = monotonic() + seconds, 0
    while made < calls and monotonic() < end:
        batch = min(_BATCH, calls - made)
        for _ in range(batch):
            step()
        made += batch
    gc.collect()
    return Growth(made, sys.getallocatedblocks() - blocks, resident_bytes() - resident)


def main(library: str, path: str, calls: str, seconds: str) -> None:
    """Print what calls on one path leave, as JSON."""
    step = PATHS[path](importlib.import_module(library))
    print(json.dumps(repeat(step, int(calls), float(seconds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
