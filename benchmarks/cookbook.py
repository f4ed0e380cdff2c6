"""``python -m benchmarks.cookbook``: batched derivatives against loops, and Hessian products.

The timings of the Autodiff Cookbook, eager, beside JAX's. Many vectors are multiplied with a
Jacobian, one by one and all at once by ``vmap``; a Hessian is multiplied with a vector in four
ways. Then the dense Jacobian of a reaction with diffusion, compiled.
"""

import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, Final

import numpy as np
from rich.progress import track

from benchmarks.command import new_console, parser
from benchmarks.libraries import OWN, Library, library
from benchmarks.measure import QUICK, THOROUGH, Call, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict

#: How much faster a vmapped product must be than the loop.
GAIN: Final = 20.0


def _data(lib: Library) -> dict[str, Any]:
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Any:
        return lib.array(rng.standard_normal(shape).astype(np.float32))

    return {
        "inputs": normal(4, 3),
        "w": normal(3),
        "b": normal(),
        "rows": normal(128, 4),
        "columns": normal(128, 3),
        "X": normal(30, 40),
        "V": normal(30, 40),
        "grid": normal(2, 32, 32),
    }


def _numpy(lib: Library) -> Any:
    return lib.module.numpy


def _predict(lib: Library, d: dict[str, Any]) -> Callable[[Any], Any]:
    def f(w: Any) -> Any:
        return 0.5 * (_numpy(lib).tanh((_numpy(lib).dot(d["inputs"], w) + d["b"]) / 2) + 1)

    return f


def _loop_vjp(lib: Library, d: dict[str, Any]) -> Any:
    _, pull_back = lib.module.vjp(_predict(lib, d), d["w"])
    return _numpy(lib).vstack([pull_back(row)[0] for row in d["rows"]])


def _vmap_vjp(lib: Library, d: dict[str, Any]) -> Any:
    _, pull_back = lib.module.vjp(_predict(lib, d), d["w"])
    return lib.module.vmap(pull_back)(d["rows"])[0]


def _loop_jvp(lib: Library, d: dict[str, Any]) -> Any:
    f = _predict(lib, d)
    return _numpy(lib).vstack([lib.module.jvp(f, (d["w"],), (s,))[1] for s in d["columns"]])


def _vmap_jvp(lib: Library, d: dict[str, Any]) -> Any:
    f = _predict(lib, d)
    return lib.module.vmap(lambda s: lib.module.jvp(f, (d["w"],), (s,))[1])(d["columns"])


def _smooth(lib: Library) -> Callable[[Any], Any]:
    return lambda x: _numpy(lib).sum(_numpy(lib).tanh(x) ** 2)


def _forward_over_reverse(lib: Library, d: dict[str, Any]) -> Any:
    return lib.module.jvp(lib.module.grad(_smooth(lib)), (d["X"],), (d["V"],))[1]


def _reverse_over_forward(lib: Library, d: dict[str, Any]) -> Any:
    f = _smooth(lib)
    return lib.module.grad(lambda x: lib.module.jvp(f, (x,), (d["V"],))[1])(d["X"])


def _reverse_over_reverse(lib: Library, d: dict[str, Any]) -> Any:
    slope = lib.module.grad(_smooth(lib))
    return lib.module.grad(lambda x: _numpy(lib).vdot(slope(x), d["V"]))(d["X"])


def _whole_hessian(lib: Library, d: dict[str, Any]) -> Any:
    return _numpy(lib).tensordot(lib.module.hessian(_smooth(lib))(d["X"]), d["V"], 2)


def _brusselator(lib: Library, grid: Any) -> Any:
    """The rates of two substances that react and diffuse on a torus."""
    roll = _numpy(lib).roll

    def diffusion(a: Any) -> Any:
        return roll(a, 1, 0) + roll(a, -1, 0) + roll(a, 1, 1) + roll(a, -1, 1) - 4 * a

    u, v = grid[0], grid[1]
    return _numpy(lib).stack(
        [
            1 + u * u * v - 4.4 * u + 10 * diffusion(u),
            3.4 * u - u * u * v + 10 * diffusion(v),
        ]
    )


@cache
def _dense(lib: Library, transform: str) -> Callable[[Any], Any]:
    jacobian = getattr(lib.module, transform)(partial(_brusselator, lib))
    compiled: Callable[[Any], Any] = lib.module.jit(jacobian)
    return compiled


def _by_columns(lib: Library, d: dict[str, Any]) -> Any:
    return _dense(lib, "jacfwd")(d["grid"])


def _in_some_order(lib: Library, d: dict[str, Any]) -> Any:
    return _dense(lib, "jacobian" if lib.name == OWN else "jacfwd")(d["grid"])


CELLS: Final[dict[str, Callable[[Library, dict[str, Any]], Any]]] = {
    "128 vectors times a Jacobian, loop": _loop_vjp,
    "128 vectors times a Jacobian, vmap": _vmap_vjp,
    "a Jacobian times 128 vectors, loop": _loop_jvp,
    "a Jacobian times 128 vectors, vmap": _vmap_jvp,
    "Hessian product, forward over reverse": _forward_over_reverse,
    "Hessian product, reverse over forward": _reverse_over_forward,
    "Hessian product, reverse over reverse": _reverse_over_reverse,
    "Hessian product, from the whole Hessian": _whole_hessian,
    "Jacobian of a Brusselator on 32 x 32 points, jacfwd, compiled": _by_columns,
    "the same, jacobian beside jacfwd": _in_some_order,
}


def _call(cell: Callable[[Library, dict[str, Any]], Any], lib: Library, data: Any) -> Call:
    return lambda: lib.module.block_until_ready(cell(lib, data))


def main() -> int:
    options = parser(
        "benchmarks.cookbook", __doc__, "measure for about a tenth as long"
    ).parse_args()
    console = new_console()
    libraries = {name: library(name) for name in ("tinyjax", "jax")}
    data = {name: _data(lib) for name, lib in libraries.items()}
    effort = QUICK if options.quick else THOROUGH
    times: dict[str, float] = {}
    rows: list[list[str]] = []
    for title, cell in track(CELLS.items(), "measuring", console=console, transient=True):
        results = [np.asarray(cell(lib, data[name])) for name, lib in libraries.items()]
        np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5, err_msg=title)
        calls = {name: _call(cell, lib, data[name]) for name, lib in libraries.items()}
        samples = interleaved(calls, effort, False)
        spreads = {name: Spread.from_samples(own) for name, own in samples.items()}
        ratio = Spread.of_ratios(samples["tinyjax"], samples["jax"]).median
        times[title] = spreads["tinyjax"].median
        seconds = [duration(spreads[name].median) for name in libraries]
        rows.append([title, *seconds, f"{factor(ratio)} {verdict(ratio <= 1)}"])
    for title in ("128 vectors times a Jacobian", "a Jacobian times 128 vectors"):
        calls = {
            way: _call(CELLS[f"{title}, {way}"], libraries["tinyjax"], data["tinyjax"])
            for way in ("loop", "vmap")
        }
        samples = interleaved(calls, effort, False)
        gain = Spread.of_ratios(samples["loop"], samples["vmap"]).median
        what = f"{title}: vmap, times as fast as the loop"
        rows.append([what, f"{gain:.3g}", "", f"20: {verdict(gain >= GAIN)}"])
    products = [title for title in CELLS if title.startswith("Hessian")]
    cheapest = min(products, key=lambda title: times[title])
    rows.append(
        [
            f"cheapest {cheapest}",
            "",
            "",
            f"forward over reverse: {verdict(cheapest == products[0])}",
        ]
    )
    headings = ["", "tinyjax", "jax", "at most 1 of jax"]
    caption = "Eager, unless it says compiled; the sizes of the Autodiff Cookbook."
    print_table(headings, rows, caption, console)
    if options.docs is not None:
        text = f"{markdown(headings, rows)}\n\n{caption}"
        insert(options.docs / "performance-tables.md", "cookbook", text)
    return 1 if any_missed(rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
