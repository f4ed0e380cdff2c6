"""``python -m benchmarks.waiting``: how long people wait for first results, beside JAX.

Each measurement is a process of its own. Of calls, libraries are imported and data made first, and
then the clock runs from the call to the result. Of ``examples/digits.py`` it runs from the start of
the process to the first loss. The ways of tinyjax and JAX take turns.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any, Final, Self

import numpy as np

from benchmarks.programs import mlp_data, mlp_loss
from benchmarks.real_programs import PROGRAMS

#: How a call is made, by name: the library, and tinyjax's settings.
WAYS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "jax": ("jax", {}),
    "compiled": ("tinyjax", {}),
    "medium effort": ("tinyjax", {"effort": "medium"}),
    "low effort": ("tinyjax", {"effort": "low"}),
    "first": ("tinyjax", {"tier": "first"}),
    "ready": ("tinyjax", {"tier": "ready"}),
}

#: What is called, and with what, made for a library.
Case = Callable[[Any], tuple[Callable[..., Any], tuple[Any, ...]]]


def _gradient_of_mlp(lib: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    gradient = lib.value_and_grad(partial(mlp_loss, lib.numpy.tanh))
    return lib.jit(gradient), mlp_data((64, 128, 128, 10), 32)


def _gradient_of_scan(lib: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def loss(weights: Any, x: Any) -> Any:
        def body(c: Any, _: None) -> tuple[Any, Any]:
            c = lib.numpy.tanh(weights @ c)
            return c, c.sum()

        return lib.lax.scan(body, x, None, length=50)[1].sum()

    return lib.jit(lib.grad(loss)), (np.eye(8, dtype=np.float32) * 0.3, np.ones(8, np.float32))


def _real(index: int, lib: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    program = PROGRAMS[index]
    return lib.jit(program.build(lib)), program.data()


def _many_small(lib: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """200 functions with gradients, each called three times, as by a suite of tests."""

    def script() -> Any:
        jnp = lib.numpy
        losses = []
        for k in range(200):
            op = (jnp.sin, jnp.tanh, jnp.exp, jnp.cos)[k % 4]

            def loss(x: Any, k: int = k, op: Any = op) -> Any:
                return (op(x * (k + 1.0) / 100) * x + k).sum()

            step = lib.jit(lib.value_and_grad(loss))
            losses.extend(step(np.full(k % 5 + 2, i, np.float32)) for i in range(3))
        return losses

    return script, ()


def _many_lengths(lib: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The gradient through attention and a loop, for 100 lengths."""

    def loss(w: Any, x: Any) -> Any:
        jnp = lib.numpy
        rows = lib.nn.softmax(x @ w @ x.T, axis=-1) @ x
        h, _ = lib.lax.scan(lambda h, row: (jnp.tanh(h * 0.5 + row), None), jnp.zeros(8), rows)
        return jnp.mean((h - rows.mean(0)) ** 2)

    options = {} if lib.__name__ == "jax" else {"pad_to": {"x": 16}}
    step = lib.jit(lib.value_and_grad(loss), **options)
    data = np.random.default_rng(0).normal(size=(101, 8)).astype(np.float32)

    def script() -> Any:
        return [step(data[:8], data[:n]) for n in range(2, 102)]

    return script, ()


CASES: Final[dict[str, Case]] = {
    "gradient of an MLP": _gradient_of_mlp,
    "gradient of a scan of 50": _gradient_of_scan,
    **{program.title: partial(_real, i) for i, program in enumerate(PROGRAMS)},
    "200 functions, three calls each": _many_small,
    "100 lengths, padded to multiples of 16": _many_lengths,
}


def _measure(case: str, way: str) -> tuple[float, float]:
    name, settings = WAYS[way]
    if name == "jax":
        import jax as lib
    else:
        import tinyjax as lib

        for setting, value in settings.items():
            lib.config.update(setting, value)
    lib.jit(lambda x: x + 1)(np.float32(1))  # what is loaded at the first compilation
    fun, args = CASES[case](lib)
    before = time.process_time()
    start = time.perf_counter()
    for leaf in lib.tree.leaves(fun(*args)):
        np.asarray(leaf)
    return time.perf_counter() - start, time.process_time() - before


# The example

_DIGITS: Final = Path(__file__).parents[1] / "examples" / "digits.py"
#: The settings of both libraries that are environment variables.
_CACHES: Final = {
    "jax": {
        "JAX_COMPILATION_CACHE_DIR": "{folder}/jax",
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    },
    "tinyjax": {"TINYJAX_CACHE_DIR": "{folder}/tinyjax"},
}
#: The ways that the example is run in: the library, its environment, and whether programs are kept.
_EXAMPLE_WAYS: Final[dict[str, tuple[str, dict[str, str], bool]]] = {
    "jax": ("jax", {}, False),
    "compiled": ("tinyjax", {}, False),
    "first": ("tinyjax", {"TINYJAX_TIER": "first"}, False),
    "jax, cached": ("jax", {}, True),
    "compiled, cached": ("tinyjax", {}, True),
    "first, cached": ("tinyjax", {"TINYJAX_TIER": "first"}, True),
}


class _Quiet:
    """Stands for what the example shows its progress with."""

    def __init__(self, *_: object, **__: object) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def add_task(self, *_: object, **__: object) -> None: ...

    def update(self, *_: object, **__: object) -> None: ...


def _without_bars() -> None:
    """Put stubs in the place of what the example shows its progress with."""
    modules: dict[str, dict[str, Any]] = {
        "rich": {},
        "rich.console": {"Console": _Quiet},
        "rich.progress": dict.fromkeys(
            ("BarColumn", "Progress", "TextColumn", "TimeElapsedColumn"), _Quiet
        ),
    }
    for name, contents in modules.items():
        module = ModuleType(name)
        vars(module).update(contents)
        sys.modules[name] = module


def _run_example(library: str, bars: str) -> None:
    """Run the example to its first loss; without bars of progress where they are "none"."""
    if bars == "none":
        _without_bars()
    text = _DIGITS.read_text(encoding="utf-8").replace("import tinyjax", f"import {library}")
    text = text.replace("from tinyjax", f"from {library}")
    reached = "history.losses.append(float(value))"
    assert reached in text, "the example's first loss is found"
    namespace: dict[str, Any] = {"__name__": "digits", "__file__": str(_DIGITS)}
    exec(compile(text.replace(reached, f"{reached}; reached()"), str(_DIGITS), "exec"), namespace)
    namespace["reached"] = _reached
    sys.argv = [str(_DIGITS), "--steps", "1"]
    namespace["main"]()


def _reached() -> None:
    print(json.dumps((time.time(), time.process_time())), flush=True)
    os._exit(0)


def _example(way: str, bars: str, folder: str) -> tuple[float, float]:
    library, environment, cached = _EXAMPLE_WAYS[way]
    if cached:
        environment = environment | {
            name: value.format(folder=folder) for name, value in _CACHES[library].items()
        }
    start = time.time()
    until, used = _in_process("--example", library, bars, **environment)
    return until - start, used


def _in_process(*arguments: str, **environment: str) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.waiting", *arguments]
    # A run of a user's finds what Python has compiled, of both libraries.
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env=inherited | environment
    )
    wall, processor = json.loads(run.stdout.splitlines()[-1])
    return wall, processor


Times = Mapping[str, tuple[float, float]]


def _row(title: str, rounds: Sequence[Times], seconds: Collection[str]) -> None:
    """Print medians: times of some ways, and of all but the first the shares of JAX's time."""
    first, *others = rounds[0]
    cells = [
        *(
            f"{1e3 * median(r[way][0] for r in rounds):.0f}"
            for way in (first, *others)
            if way in seconds
        ),
        *(f"{median(r[way][0] / r[first][0] for r in rounds):.3f}" for way in others),
        *(f"{median(r[way][1] / r[first][1] for r in rounds):.3f}" for way in others),
    ]
    print(f"| {title} | {' | '.join(cells)} |", flush=True)


def _head(ways: Sequence[str], seconds: Collection[str]) -> None:
    others = [*ways][1:]
    cells = [
        *(f"{way}, ms" for way in ways if way in seconds),
        *others,
        *(f"{way}, processor" for way in others),
    ]
    print(f"| to the first result | {' | '.join(cells)} |")
    print(f"|---|{'---|' * len(cells)}")


def _examples(rounds: int) -> None:
    """Measure the example from the start of its process, with and without bars of progress."""
    _head([*_EXAMPLE_WAYS], [*_EXAMPLE_WAYS])
    with TemporaryDirectory() as folder:
        for title, bars in (("examples/digits.py", "rich"), ("without rich", "none")):
            for way in _EXAMPLE_WAYS:  # fills the caches
                _example(way, bars, folder)
            rows = [
                {way: _example(way, bars, folder) for way in _EXAMPLE_WAYS} for _ in range(rounds)
            ]
            _row(title, rows, [*_EXAMPLE_WAYS])


def main() -> None:
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--measure", nargs=2, metavar=("CASE", "WAY"), help=argparse.SUPPRESS)
    command.add_argument("--example", nargs=2, metavar=("LIBRARY", "BARS"), help=argparse.SUPPRESS)
    command.add_argument("--rounds", type=int, default=3)
    command.add_argument("--only", default="", help="cases whose title holds this text")
    command.add_argument("--ways", nargs="*", default=[*WAYS], help="of tinyjax, and jax")
    options = command.parse_args()
    if options.measure:
        print(json.dumps(_measure(*options.measure)))
        return
    if options.example:
        _run_example(*options.example)
        return
    ways = [way for way in WAYS if way in {"jax", *options.ways}]
    cases = [case for case in CASES if options.only in case]
    if cases:
        _head(ways, ["jax"])
    for case in cases:
        rounds = [
            {way: _in_process("--measure", case, way) for way in ways}
            for _ in range(options.rounds)
        ]
        _row(case, rounds, ["jax"])
    if options.only in "examples/digits.py":
        _examples(options.rounds)


if __name__ == "__main__":
    main()
