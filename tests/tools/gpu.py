"""Check tinyjax on a GPU by Nvidia: ``python tests/tools/gpu.py`` writes ``gpu.json``.

It is made for a card that is there for a few minutes, on a machine without network. Each step runs
in processes of its own. A failure is recorded, and the next step is tried, so that a step that
crashes or hangs costs its own results only. All of it takes eight minutes at most, and the file
always has the results so far.

    python tests/tools/gpu.py                  # on a card
    python tests/tools/gpu.py --pretend        # here, on devices of the processor, in three minutes
    python tests/tools/gpu.py --steps speed    # some steps: --help names them

It needs numpy, jaxlib with the plugin of its version, ml_dtypes, attrs, typeguard, scipy, and jax
to compare with. The package need not be installed: it is imported from the checkout. pytest and
hypothesis, for the tests on the processor, are used where they are installed. Copy what is missing
as wheels:

    pip download --no-deps -d wheels typeguard        # where there is a network
    pip install --no-index --no-deps --target site wheels/*.whl && export PYTHONPATH=site
"""

from __future__ import annotations

import argparse
import json
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

ROOT: Final = Path(__file__).parents[2]
#: Where the package, its tests and benchmarks are.
PATHS: Final = (str(ROOT / "src"), str(ROOT / "tests"), str(ROOT))
sys.path[:0] = PATHS

import attrs
import numpy as np

#: What is known of an item: figures and texts.
Found: TypeAlias = dict[str, Any]
Item: TypeAlias = Callable[[], Found]
Items: TypeAlias = dict[str, Item]


@attrs.frozen
class Step:
    """A part of the check.

    Attributes:
        says: what it looks at.
        on_card: how much of that on a card.
        items: makes what is tried, by name, in a process of its own.
        seconds: how long it may take, on a card and pretended.
        per_item: how long one item may take before its process is ended.
        processes: how many share the items.
        variables: what is set in the environment.
    """

    says: str
    on_card: str
    items: Callable[[bool], Items]
    seconds: tuple[int, int]
    per_item: int = 20
    processes: int = 1
    variables: Mapping[str, str] = attrs.Factory(dict)


#: How much memory the processes that share a card take at once; JAX's variables.
_AS_NEEDED: Final = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
#: That XLA tries no ways of computing products and convolutions, of which one is the fastest.
_UNTUNED: Final = {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}
#: How often a tolerance that holds between NumPy and XLA on the processor may be exceeded.
_SLACK: Final = 16.0


def _card() -> Any:
    """Return the GPU, which is the default device."""
    import tinyjax
    import tinyjax.numpy as jnp

    (card, *_) = tinyjax.devices("gpu")
    lies_on = jnp.arange(3).devices() | tinyjax.jit(jnp.sin)(1.0).devices()
    assert lies_on == {card}, f"what is put nowhere lies on {lies_on}, not on {card}"
    return card


def _compared(actual: Any, expected: Any, tol: float = 1.0) -> float:
    """Return the greatest error as a multiple of what is allowed.

    Raises:
        AssertionError: types, or places of NaNs, differ.
    """
    from tinyjax.testing import specs

    worst = 0.0
    got, wanted = specs.hosts(actual), specs.hosts(expected)
    assert len(got) == len(wanted), f"{len(got)} results, expected {len(wanted)}"
    for a, b in zip(got, wanted, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), f"{a.dtype}{a.shape} != {b.dtype}{b.shape}"
        allowed = specs.tolerance(b.dtype, tol) * _SLACK
        if not allowed:
            worst = max(worst, 0.0 if np.array_equal(a, b) else float("inf"))
            continue
        x, y = specs.wide(a), specs.wide(b)
        assert np.array_equal(np.isnan(x), np.isnan(y)), "NaNs are elsewhere"
        with np.errstate(all="ignore"):
            scale = specs.atol_of(b, 1.0) + np.abs(y)
            error = np.where((x == y) | np.isnan(x), 0.0, np.abs(x - y) / scale)
        worst = max(worst, float(np.nan_to_num(error, nan=np.inf).max(initial=0.0)) / allowed)
    return worst


# What is there


def _environment(pretend: bool) -> Items:
    def versions() -> Found:
        names = ["numpy", "scipy", "jaxlib", "jax", "attrs", "ml_dtypes", "typeguard", "pytest"]
        names += ["hypothesis", "jax-cuda13-plugin", "jax-cuda12-plugin"]
        results: Found = {"python": sys.version.split()[0]}
        for name in names:
            with suppress(metadata.PackageNotFoundError):
                results[name] = metadata.version(name)
        return results

    def nvidia_smi() -> Found:
        fields = "name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit"
        command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        except FileNotFoundError:
            return {"skipped": "there is no nvidia-smi"}
        return {"text": done.stdout.strip() or done.stderr.strip()}

    def card() -> Found:
        before = time.perf_counter()
        device = _card()
        import tinyjax
        import tinyjax.numpy as jnp

        first = time.perf_counter()
        total = float(jnp.sum(jnp.ones(1000) * 2))
        assert total == 2000.0, total
        return {
            "device": str(device.device_kind),
            "default": str(tinyjax.devices()[0]),
            "memory": device.memory_stats(),
            "seconds until devices": first - before,
            "seconds until the first sum": time.perf_counter() - first,
        }

    def jax_alone() -> Found:
        program = "import jax; print(jax.devices(), float(jax.numpy.ones(9).sum()))"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=25, check=False)
        results: Found = {"text": done.stdout.strip()}
        return results | ({"failed": done.stderr[-800:]} if done.returncode else {})

    return {"versions": versions, "nvidia-smi": nvidia_smi, "card": card, "jax alone": jax_alone}


# tinyjax on the processor, with that jaxlib


#: Files of tests that need nothing but pytest and hypothesis, and jax.
_TESTS: Final = (
    *("tests/core", "tests/numpy/test_linalg.py", "tests/numpy/test_contraction.py"),
    *("tests/primitives/test_exactness.py", "tests/extensions/callbacks"),
    *("tests/export/test_export.py", "tests/house/test_typings.py", "tests/random"),
    "tests/extensions/rematerialization/test_memory_budgets.py",
)


def _processor(pretend: bool) -> Items:
    def tests() -> Found:
        for name in ("pytest", "hypothesis"):
            try:
                import_module(name)
            except ImportError:
                return {"skipped": f"there is no {name}"}
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "--ignore=tests/core/test_showing.py",  # needs IPython
            "--ignore-glob=tests/core/jit/test_[!j]*.py",  # of those of jit one file
            "--continue-on-collection-errors",
            "-W",
            "ignore",
        ]
        with suppress(ImportError):
            import_module("xdist")
            options += ["-n", "0" if pretend else str(min(os.cpu_count() or 1, 12))]
        report = Path(os.environ["TINYJAX_GPU_JOURNAL"]).with_suffix(".xml")
        sample = "150" if pretend else "27"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, f"--junit-xml={report}", *_TESTS],
            env=os.environ | {"TINYJAX_SAMPLE": sample, "JAX_PLATFORMS": "cpu"},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        lines = done.stdout.strip().splitlines()
        wrong = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
        results: Found = {
            "summary": lines[-1] if lines else done.stderr[-500:],
            "wrong": wrong[:40],
        }
        if done.returncode:
            results |= {"failed": results["summary"], "output": done.stdout[-6000:]}
        return results

    return {"tests": tests}


# Every row of tests/specs, on the card against the processor


def _parts(row: Any, case: Any, dtype: Any) -> tuple[dict[str, Callable[..., Any]], list[Any]]:
    """Return the results of a row's case: the value, derivatives, the batch; and operands."""
    import tinyjax
    from tinyjax import dtypes, tree

    operands = case.sample(row.rng("smooth"), dtype if case.generic else None, special=False)
    fun = row.applied(case.params)
    places = [i for i, x in enumerate(operands) if dtypes.is_inexact(x.dtype)]

    def of_floats(*floats: Any) -> list[Any]:
        args = list(operands)
        for i, x in zip(places, floats, strict=True):
            args[i] = x
        return [out for out in tree.leaves(fun(*args)) if dtypes.is_inexact(out.dtype)]

    def floats_of(args: Sequence[Any]) -> list[Any]:
        return [args[i] for i in places]

    def tangents(*args: Any) -> Any:
        floats = floats_of(args)
        return tinyjax.jvp(of_floats, floats, [tinyjax.numpy.ones_like(x) for x in floats])[1]

    def cotangents(*args: Any) -> Any:
        outs, pull = tinyjax.vjp(of_floats, *floats_of(args))
        return pull([tinyjax.numpy.ones_like(out) for out in outs])

    def batch(*args: Any) -> Any:
        return tinyjax.vmap(fun)(*[tinyjax.numpy.stack([x, x]) for x in args])

    parts: dict[str, Callable[..., Any]] = {"value": fun}
    if (row.grad or row.linear) and places:
        parts |= {"jvp": tangents, "vjp": cotangents}
    if operands and "vmap" not in row.skip:
        parts["vmap"] = batch
    return parts, list(operands)


def _of_row(row: Any, case: Any, dtype: Any) -> Found:
    """Compile a row's parts for the card as one program, or one by one where that fails."""
    import tinyjax

    parts, operands = _parts(row, case, dtype)
    expected: dict[str, Any] = {}
    results: Found = {}
    with tinyjax.default_device("cpu"):
        for name, part in parts.items():
            try:
                expected[name] = part(*operands)
            except Exception as error:
                results[f"{name} is refused by the processor"] = _text(error)
    kept = {name: parts[name] for name in expected}
    try:
        whole = tinyjax.jit(lambda *xs: {name: part(*xs) for name, part in kept.items()})
        got = whole(*operands)
    except Exception:
        got = {}
        for name, part in kept.items():
            try:
                got[name] = tinyjax.jit(part)(*operands)
            except tinyjax.errors.PlatformError as error:
                results[f"{name} is refused"] = _text(error)
            except Exception as error:
                # a function of the processor's libraries, of which a row of ffi's consists
                is_foreign = "No FFI handler registered" in str(error)
                results.setdefault(
                    f"{name} is refused" if is_foreign else "failed", f"{name}: {_text(error)}"
                )
    if row.name == "eig, of values alone":  # which come in no order: their sum is the trace
        got, expected = [
            tinyjax.tree.map(lambda x: np.sum(x, -1), outs) for outs in (got, expected)
        ]
    for name, value in got.items():
        try:
            results[name] = worst = _compared(value, expected[name], row.tol)
        except AssertionError as wrong:
            results.setdefault("failed", f"{name}: {wrong}")
            continue
        if not worst <= 1.0:
            results.setdefault("failed", f"{name}: {worst:.3g} times what is allowed")
    return results


def _rows(pretend: bool) -> Items:
    import specs

    _card()
    items: Items = {}
    more: dict[str, Items] = {"float64": {}, "other dtypes": {}, "other cases": {}}

    def fail(error: BaseException) -> Found:
        return {"failed": _text(error)}

    for module in pkgutil.iter_modules(specs.__path__):
        try:
            rows = import_module(f"specs.{module.name}").SPECS
        except Exception as error:
            items[f"specs/{module.name}.py"] = partial(fail, error)
            continue
        for row in rows:
            single, double = np.dtype(np.float32), np.dtype(np.float64)
            first = single if single in row.dtypes else row.dtypes[-1]
            case, *others = row.cases
            items[row.name] = partial(_of_row, row, case, first)
            for dtype in row.dtypes if case.generic else ():
                if dtype != first:
                    group = "float64" if dtype == double else "other dtypes"
                    more[group][f"{row.name}, {dtype}"] = partial(_of_row, row, case, dtype)
            for i, other in enumerate(others, 1):
                more["other cases"][f"{row.name}, case {i}"] = partial(_of_row, row, other, first)
    for further in more.values():  # as far as there is time
        items |= further
    return dict(list(items.items())[::9]) if pretend else items


# Programs: control flow, callbacks, donation, random numbers, linear algebra, memory, transfers


def _agrees(fun: Callable[..., Any], *operands: Any, tol: float = 8.0) -> Found:
    """Compare a compiled function on the card with NumPy on the processor."""
    import tinyjax

    with tinyjax.default_device("cpu"):
        expected = fun(*operands)
    error = _compared(tinyjax.jit(fun)(*operands), expected, tol)
    return {"error": error} | ({} if error <= 1.0 else {"failed": f"{error:.3g} times too much"})


def _programs(pretend: bool) -> Items:
    import tinyjax
    import tinyjax.numpy as jnp
    from tinyjax import autodiff, lax, random

    card = _card()
    rng = np.random.default_rng(0)
    n = 64 if pretend else 512
    matrix = rng.standard_normal((n, n)).astype(np.float32) / np.sqrt(n, dtype=np.float32)
    definite = matrix @ matrix.T + np.eye(n, dtype=np.float32)
    xs = rng.standard_normal((50, 8)).astype(np.float32) / 3
    items: Items = {}

    def total_of_scan(xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            return jnp.tanh(c + x), c * x

        last, stacked = lax.scan(step, xs[0], xs)
        return jnp.sum(last) + jnp.sum(stacked**2)

    items["scan"] = partial(_agrees, total_of_scan, xs)
    items["scan, reversed derivative"] = partial(_agrees, tinyjax.grad(total_of_scan), xs)
    items["scan, hessian"] = partial(_agrees, tinyjax.hessian(total_of_scan), xs[:4])
    items["while_loop"] = partial(
        _agrees, lambda x: lax.while_loop(lambda c: jnp.sum(c) < 99.0, lambda c: c * 2, x), abs(xs)
    )
    items["fori_loop, derivative"] = partial(
        _agrees, tinyjax.grad(lambda x: jnp.sum(lax.fori_loop(0, 9, lambda i, c: c * x + i, x))), xs
    )

    def branches(x: Any) -> Any:
        return lax.switch(jnp.argmax(x) % 3, [jnp.sin, jnp.cos, jnp.exp], x)

    items["switch, vmap, derivative"] = partial(
        _agrees, tinyjax.vmap(tinyjax.grad(lambda x: jnp.sum(branches(x)))), xs
    )
    items["sort, gather, scatter"] = partial(
        _agrees,
        lambda x: (jnp.sort(x, 0), x[jnp.argsort(x[:, 0])], jnp.asarray(x).at[::2, 1].add(3.0)),
        xs,
    )
    items["cumulative sums"] = partial(_agrees, lambda x: (jnp.cumsum(x, 0), jnp.cumprod(x, 1)), xs)
    items["associative_scan"] = partial(_agrees, lambda x: lax.associative_scan(jnp.add, x), xs)
    items["fft"] = partial(_agrees, lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 2), xs)

    def highest(x: Any) -> Any:
        return lax.reduce_window(x, -jnp.inf, lax.max, (2, 2), (1, 2), "SAME").sum()

    items["reduce_window, derivative"] = partial(_agrees, tinyjax.grad(highest), xs)

    def callbacks() -> Found:
        seen: list[Any] = []
        of_type = tinyjax.ShapeDtypeStruct(xs.shape, xs.dtype)

        def fun(x: Any) -> Any:
            tinyjax.debug.callback(lambda x: seen.append(np.array(x)), x[0], ordered=True)
            y = tinyjax.pure_callback(lambda x: np.sin(x), of_type, x)  # noqa: PLW0108
            return tinyjax.io_callback(lambda y: np.asarray(2 * y), of_type, y)

        got = tinyjax.jit(fun)(xs)
        tinyjax.effects_barrier()
        np.testing.assert_allclose(got, 2 * np.sin(xs), rtol=1e-6)
        assert len(seen) == 1, seen
        return {"calls": len(seen)}

    def donation() -> Found:
        x = tinyjax.device_put(np.ones((256, 1024), np.float32), card)
        double = tinyjax.jit(lambda x: x * 2, donate_argnums=0)
        y = double(x)
        assert x.is_deleted()
        assert float(y[0, 0]) == 2.0
        return {"memory": card.memory_stats()}

    def random_bits() -> Found:
        key = random.key(3)
        draws: dict[str, Callable[[Any], Any]] = {
            "bits": lambda k: random.bits(k, (1000,)),
            "uniform": lambda k: random.uniform(k, (1000,)),
            "randint": lambda k: random.randint(k, (1000,), 0, 1000),
            "permutation": lambda k: random.permutation(k, 1000),
        }
        results: Found = {}
        for name, draw in draws.items():
            with tinyjax.default_device("cpu"):
                expected = np.asarray(draw(key))
            results[name] = bool(np.array_equal(np.asarray(tinyjax.jit(draw)(key)), expected))
        wrong = [name for name, same in results.items() if not same]
        normal = _agrees(lambda: random.normal(random.key(5), (1000,)))
        return (
            results
            | {"normal": normal["error"]}
            | ({"failed": f"differ: {wrong}"} if wrong else {})
        )

    def of_linear_algebra(name: str) -> Found:
        a, spd = jnp.asarray(matrix), jnp.asarray(definite)
        jit, linalg = tinyjax.jit, jnp.linalg
        match name:
            case "cholesky":
                lower = jit(linalg.cholesky)(spd)
                got, wanted = lower @ lower.T, spd
            case "qr":
                q, r = jit(linalg.qr)(a)
                got, wanted = q @ r, a
            case "svd":
                u, values, vh = jit(linalg.svd)(a)
                got, wanted = u * values @ vh, a
            case "eigh":
                values, vectors = jit(linalg.eigh)(spd)
                got, wanted = vectors * values @ vectors.T, spd
            case "solve":
                got, wanted = spd @ jit(linalg.solve)(spd, a), a
            case "inv":
                got, wanted = spd @ jit(linalg.inv)(spd), jnp.eye(n)
            case _:
                got, wanted = spd @ jit(linalg.lstsq)(spd, a[0])[0], a[0]
        error = float(jnp.abs(got - wanted).max())
        return {"error": error} | ({} if error < 1e-3 else {"failed": f"residual {error:.3g}"})

    def precision() -> Found:
        x = jnp.asarray(matrix)
        exact = matrix.astype(np.float64) @ matrix
        results: Found = {}
        for name in (
            None,
            "highest",
            "tensorfloat32",
            "default",
            "BF16_BF16_F32",
            "BF16_BF16_F32_X3",
        ):
            product = tinyjax.jit(partial(jnp.matmul, precision=name))
            results[str(name)] = float(np.abs(np.asarray(product(x, x)) - exact).max())
        return results | ({} if results["None"] < 1e-5 else {"failed": "not in full precision"})

    def exact_convolution() -> Found:
        images, kernel = rng.standard_normal((2, 16, 24, 24)), rng.standard_normal((16, 16, 3, 3))
        operands = images.astype(np.float32), kernel.astype(np.float32) / 12
        return _agrees(lambda x, w: lax.conv(x, w, (1, 1), "SAME"), *operands)

    def guard() -> Found:
        x = tinyjax.device_put(np.ones(3, np.float32), card)
        host = np.ones(3, np.float32)
        add = tinyjax.jit(lambda x, y: x + y)
        add(x, x)
        with tinyjax.transfer_guard("disallow"):
            add(x, x)
            try:
                add(x, host)
            except tinyjax.errors.TransferError as error:
                return {"message": _text(error)}
        return {"failed": "an implicit transfer was allowed"}

    def transfers() -> Found:
        big = np.ones(1 << (20 if pretend else 28), np.float32)
        start = time.perf_counter()
        there = tinyjax.device_put(big, card).block_until_ready()
        middle = time.perf_counter()
        back = np.asarray(there)
        end = time.perf_counter()
        assert back[-1] == 1.0
        size = big.nbytes / 1e9
        return {"GB/s to the card": size / (middle - start), "GB/s back": size / (end - middle)}

    def memory_budget() -> Found:
        width, depth = (64, 8) if pretend else (2048, 24)
        ws = [jnp.eye(width)] * depth
        x = jnp.ones((8 * width, width))

        def loss(ws: Any, x: Any) -> Any:
            for w in ws:
                x = jnp.tanh(x @ w)
            return jnp.sum(x)

        budget = autodiff.memory_plan(loss, 10**12)(ws, x).peak * 3 // 4
        results: Found = {"budget": budget}
        for name, fun in (
            ("budgeted", tinyjax.grad(loss, memory_budget=budget)),
            ("kept", tinyjax.grad(loss)),
        ):
            compiled = tinyjax.jit(fun).lower(ws, x).compile()
            stats = compiled.memory_analysis()
            compiled(ws, x)[0].block_until_ready()
            results[name] = {
                "temporaries": getattr(stats, "temp_size_in_bytes", None),
                "results": getattr(stats, "output_size_in_bytes", None),
                "peak of the card": (card.memory_stats() or {}).get("peak_bytes_in_use"),
            }
        return results

    def exported() -> Found:
        platform = "cpu" if pretend else "cuda"
        program = tinyjax.export.export(tinyjax.jit(total_of_scan), platforms=[platform])(xs)
        read = tinyjax.export.deserialize(program.serialize())
        with tinyjax.default_device("cpu"):
            expected = total_of_scan(xs)
        error = _compared(read.call(xs), expected, 8.0)
        return {"error": error} | ({} if error <= 1.0 else {"failed": "differs"})

    def one_device_mesh() -> Found:
        mesh = tinyjax.sharding.Mesh(np.array([card]), ("x",))
        rows = tinyjax.NamedSharding(mesh, tinyjax.P("x"))
        y = tinyjax.jit(lambda x: x @ x.T)(tinyjax.device_put(xs, rows))
        return {"error": _compared(y, xs @ xs.T, 8.0)}

    def errors_of_device() -> Found:
        here = tinyjax.device_put(xs, tinyjax.devices("cpu")[0])
        y = jnp.sin(tinyjax.device_put(xs, card)) + here
        return {"lies on": str(y.devices())}

    items |= {
        "callbacks": callbacks,
        "donation": donation,
        "random numbers": random_bits,
        **{
            f"linear algebra: {name}": partial(of_linear_algebra, name)
            for name in ("cholesky", "qr", "svd", "eigh", "solve", "inv", "lstsq")
        },
        "precision of products": precision,
        "precision of convolutions": exact_convolution,
        "transfer_guard": guard,
        "transfers": transfers,
        "memory_budget": memory_budget,
        "export": exported,
        "a mesh of one device": one_device_mesh,
        "arrays of the processor": errors_of_device,
    }
    return items


# Memory: arrays of 40 GB, and more than there is


def _memory(pretend: bool) -> Items:
    import tinyjax
    import tinyjax.numpy as jnp
    from tinyjax import lax

    card = _card()

    def large() -> Found:
        count = 10**7 if pretend else 10**10
        start = time.perf_counter()
        x = jnp.ones(count, jnp.float32)
        total = tinyjax.jit(lambda x: jnp.sum(x, dtype=jnp.float64))(x)
        last = tinyjax.jit(lambda x: lax.dynamic_slice(x, (count - 1,), (1,)))(x)
        assert float(total) == count, float(total)
        assert float(last[0]) == 1.0, last
        return {"GB": x.nbytes / 1e9, "seconds": time.perf_counter() - start}

    def large_update() -> Found:
        count = 10**6 if pretend else 5 * 10**9
        fill = tinyjax.jit(lambda x: x.at[count - 1].set(7.0), donate_argnums=0)
        y = fill(jnp.zeros(count, jnp.float32))
        assert float(y[count - 1]) == 7.0
        return {"GB": y.nbytes / 1e9, "memory": card.memory_stats()}

    def too_large() -> Found:
        x = jnp.ones(10**7)
        try:
            tinyjax.jit(lambda x: jnp.sin(x)[:, None] + x)(x).block_until_ready()
        except tinyjax.errors.JaxRuntimeError as error:
            results: Found = {"message": _text(error)}
            if "memory_budget" not in str(error):
                results["failed"] = "the error does not say what to do"
            return results
        return {"failed": "400 TB were computed"}

    def afterwards() -> Found:
        return {"sum": float(jnp.sum(jnp.ones(1000))), "memory": card.memory_stats()}

    return {
        "an array of 40 GB": large,
        "an update beyond 2^32 elements": large_update,
        "more than there is": too_large,
        "afterwards": afterwards,
    }


# Speed, beside jax in the same process, by turns


@attrs.frozen
class Race:
    """A program of either library.

    Attributes:
        build: makes what is called, of the library and its arguments.
        data: NumPy arrays.
        flops: how many operations it takes, for TFLOP/s.
        calls: how often it is called at a turn.
    """

    build: Callable[[Any], Callable[..., Any]]
    data: tuple[Any, ...]
    flops: float = 0.0
    calls: int = 10


def _jitted(lib: Any, fun: Callable[..., Any]) -> Callable[..., Any]:
    jitted: Callable[..., Any] = lib.jit(fun)
    return jitted


def _transformer(lib: Any) -> Callable[..., Any]:
    jnp = lib.numpy

    def norm(x: Any) -> Any:
        wide = x.astype(jnp.float32)
        return (wide * lib.lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)

    def block(p: Any, x: Any) -> Any:
        q, k, v = (jnp.einsum("btd,dhe->bthe", norm(x), p[name]) for name in "qkv")
        x = x + jnp.einsum(
            "bthe,hed->btd", lib.nn.dot_product_attention(q, k, v, is_causal=True), p["o"]
        )
        return x + lib.nn.gelu(norm(x) @ p["w1"]) @ p["w2"]

    def loss(p: Any, x: Any) -> Any:
        return (block(p, x).astype(jnp.float32) ** 2).mean()

    return _jitted(lib, lib.value_and_grad(loss))


def _attention(lib: Any) -> Callable[..., Any]:
    def loss(q: Any) -> Any:
        return lib.nn.dot_product_attention(q, q, q, is_causal=True).astype("float32").sum()

    return _jitted(lib, lib.grad(loss))


def _races(pretend: bool) -> dict[str, Race]:
    import ml_dtypes

    rng = np.random.default_rng(0)
    half = np.dtype(ml_dtypes.bfloat16)

    def some(*shape: int, dtype: Any = np.float32) -> Any:
        return (rng.standard_normal(shape, np.float32) / np.sqrt(shape[-1])).astype(dtype)

    n, batch, length, width, heads = (256, 1, 64, 64, 4) if pretend else (8192, 8, 1024, 1024, 16)
    long = 256 if pretend else 8192
    size = width // heads
    network = [(some(width, width), some(width)) for _ in range(3)]
    weights = {name: some(width, heads, size, dtype=half) for name in "qkv"}
    weights |= {"o": some(heads, size, width, dtype=half)}
    weights |= {"w1": some(width, 4 * width, dtype=half), "w2": some(4 * width, width, dtype=half)}
    images, kernel = (2, 16, 16, 8) if pretend else (64, 56, 56, 64), (3, 3)
    channels = images[-1]

    def mlp(lib: Any) -> Callable[..., Any]:
        def loss(layers: Any, x: Any) -> Any:
            for w, b in layers:
                x = lib.numpy.tanh(x @ w + b)
            return (x**2).mean()

        return _jitted(lib, lib.grad(loss))

    def convolution(lib: Any) -> Callable[..., Any]:
        layout = ("NHWC", "HWIO", "NHWC")

        def loss(w: Any, x: Any) -> Any:
            return lib.lax.conv_general_dilated(
                x, w, (1, 1), "SAME", dimension_numbers=layout
            ).sum()

        return _jitted(lib, lib.value_and_grad(loss))

    def small_steps(lib: Any) -> Callable[..., Any]:
        def run(w: Any, x: Any) -> Any:
            return lib.lax.scan(lambda c, _: (lib.numpy.tanh(w @ c), None), x, None, length=1000)[0]

        return _jitted(lib, run)

    def product(lib: Any, precision: Any = None) -> Callable[..., Any]:
        return _jitted(lib, partial(lib.numpy.matmul, precision=precision))

    exact, narrow = some(n, n), some(n, n, dtype=half)
    kernels = some(*kernel, channels, channels)
    tokens, heads_of = some(batch, length, width, dtype=half), some(1, long, heads, 64, dtype=half)
    races = {
        "eager add": Race(lambda lib: lambda x: x + x, (some(1000),), calls=200),
        "jit call": Race(lambda lib: lib.jit(lambda x: x * 2 + 1), (some(1000),), calls=200),
        "MLP, gradient": Race(mlp, (network, some(32 * batch, width))),
        "transformer block in bfloat16, gradient": Race(_transformer, (weights, tokens)),
        "convolution, gradient": Race(convolution, (kernels, some(*images))),
        "convolution in bfloat16, gradient": Race(
            convolution, (kernels.astype(half), some(*images, dtype=half))
        ),
        f"attention of {long} in bfloat16, gradient": Race(_attention, (heads_of,)),
        "scan of 1000 small steps": Race(small_steps, (some(64, 64), some(64)), calls=2),
        f"matmul of {n} in bfloat16": Race(product, (narrow, narrow), 2.0 * n**3),
    }
    large = some(1 << (16 if pretend else 26))

    def send(lib: Any) -> Callable[..., Any]:
        return lambda: lib.device_put(large, lib.devices()[0])

    def back(lib: Any) -> Callable[..., Any]:
        return lambda x: np.asarray(x + 1)

    races["transfer of 256 MB there"] = Race(send, ())
    races["transfer of 256 MB back, after an addition"] = Race(back, (large,))
    for name in (None, "highest", "tensorfloat32"):
        told = f"matmul of {n} in float32, {name or 'precision left to the library'}"
        races[told] = Race(partial(product, precision=name), (exact, exact), 2.0 * n**3)
    return races


def _speed(pretend: bool) -> Items:
    import jax

    import tinyjax

    jax.devices()  # first: of two that load the plugin in one process, jax must be the first
    _card()

    def race(entry: Race, place: int) -> Found:
        # By turns, too, who calls first: who does waits while XLA tries ways to compute products.
        order = ("tinyjax", "jax") if place % 2 else ("jax", "tinyjax")
        libs = {name: {"tinyjax": tinyjax, "jax": jax}[name] for name in order}
        calls, first, longest = {}, {}, 0.0
        for name, lib in libs.items():
            fun = entry.build(lib)
            args = lib.tree.map(lib.numpy.asarray, entry.data)
            lib.block_until_ready(args)
            start = time.perf_counter()
            lib.block_until_ready(fun(*args))
            first[name] = time.perf_counter() - start
            calls[name] = partial(fun, *args)
            start = time.perf_counter()
            lib.block_until_ready(fun(*args))
            longest = max(longest, time.perf_counter() - start)
        count = entry.calls if longest < 0.1 else 1
        best = dict.fromkeys(libs, float("inf"))
        end = time.perf_counter() + (0.6 if pretend else 5.0)
        rounds = 0
        while rounds < 3 or (time.perf_counter() < end and rounds < 15):
            for name, lib in libs.items():
                call = calls[name]
                start = time.perf_counter()
                out = call()
                for _ in range(count - 1):
                    out = call()
                lib.block_until_ready(out)
                best[name] = min(best[name], (time.perf_counter() - start) / count)
            rounds += 1
        results: Found = {f"{name}, ms": 1e3 * best[name] for name in libs}
        results |= {f"{name}, first call, s": first[name] for name in libs}
        results["ratio"] = best["tinyjax"] / best["jax"]
        results["ratio of first calls"] = first["tinyjax"] / first["jax"]
        if entry.flops:
            results |= {f"{name}, TFLOP/s": entry.flops / best[name] / 1e12 for name in libs}
        return results

    races = enumerate(_races(pretend).items())
    return {name: partial(race, entry, place) for place, (name, entry) in races}


STEPS: Final[dict[str, Step]] = {
    "environment": Step(
        "which card and which versions are there",
        "the same, of the GPU",
        _environment,
        (40, 15),
        30,
    ),
    "processor": Step(
        "tests of tinyjax, on the processor, with that jaxlib",
        "some 200 tests in 12 processes",
        _processor,
        (80, 60),
        80,
    ),
    "rows": Step(
        "rows of tests/specs on the card against the processor: value, jvp, vjp, vmap",
        "the first case of every row, then other dtypes, then other cases, in 15 processes",
        _rows,
        (125, 45),
        40,
        15,
        _AS_NEEDED | _UNTUNED,
    ),
    "programs": Step(
        "control flow, callbacks, donation, random numbers, linear algebra, precision, memory "
        "budgets, transfers and their guard",
        "the same, of larger matrices, and a transfer of 1 GB",
        _programs,
        (80, 40),
        25,
        3,
        _AS_NEEDED | _UNTUNED,
    ),
    "memory": Step(
        "large arrays, and more than there is",
        "an array of 40 GB, and an update of one of 20 GB",
        _memory,
        (40, 15),
        25,
        1,
        {"XLA_PYTHON_CLIENT_MEM_FRACTION": ".95"},
    ),
    "speed": Step(
        "beside jax, by turns, in one process",
        "attention of 8192, matrices of 8192 x 8192, five seconds each",
        _speed,
        (130, 45),
        45,
        1,
        _AS_NEEDED,
    ),
}


# Running: the items of a step in processes that journal what they begin and what they found


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {getattr(error, 'message', error)}"[:500]


def _write(path: Path, entry: Found) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, default=str) + "\n")


def _read(path: Path) -> list[Found]:
    entries: list[Found] = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with suppress(ValueError):  # what a process was writing when it ended
            entries.append(json.loads(line))
    return entries


def _work(step: Step, journal: Path, pretend: bool, share: int) -> None:
    """Try those items of a step that are this process's and not yet in its journal."""
    begun = {entry["item"] for entry in _read(journal)}
    _write(journal, {"item": "", "event": "started"})
    if pretend:
        import_module("stand_in_gpu")
    items = step.items(pretend)
    for i, (name, item) in enumerate(items.items()):
        if i % step.processes != share or name in begun:
            continue
        _write(journal, {"item": name, "event": "begun"})
        start = time.perf_counter()
        try:
            found = item()
        except Exception as error:
            found = {"failed": _text(error)}
        found["seconds"] = round(time.perf_counter() - start, 3)
        _write(journal, {"item": name, "event": "done", "found": found})
    _write(journal, {"item": "", "event": "finished"})


@attrs.define
class Worker:
    """A process that works at a share of a step's items, and those that follow it where it ends.

    Attributes:
        command: what starts it.
        journal: the file that it writes to.
        environment: its environment.
        per_item: how long an item may take.
        process: the one that runs.
        since: when it began what it is at.
        seen: how many entries there were then.
        starts: how many processes there were.
        failures: what ended those that ended early.
    """

    command: list[str]
    journal: Path
    environment: dict[str, str]
    per_item: float
    process: subprocess.Popen[bytes] | None = None
    since: float = 0.0
    seen: int = 0
    starts: int = 0
    failures: list[Found] = attrs.field(factory=list)

    def start(self) -> None:
        log = self.journal.with_suffix(".log").open("ab")
        self.process = subprocess.Popen(
            self.command,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=self.environment,
            start_new_session=True,
        )
        log.close()
        self.since, self.starts = time.monotonic(), self.starts + 1

    def end(self) -> None:
        """End the process, and those that it has started."""
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def goes_on(self) -> bool:
        """See to the process; return whether it has more to do."""
        assert self.process is not None, "it was started"
        entries = _read(self.journal)
        if len(entries) != self.seen:
            self.seen, self.since = len(entries), time.monotonic()
        status = self.process.poll()
        late = time.monotonic() - self.since > self.per_item
        if status is None and not late:
            return True
        if entries and entries[-1]["event"] == "finished":
            return False
        self.end()
        at = entries[-1] if entries else {"item": "", "event": "started"}
        why = f"it took over {self.per_item:g} s" if status is None else f"exit status {status}"
        if at["event"] == "begun":
            found = {"failed": f"the process ended: {why}", "log": self.tail()}
            _write(self.journal, {"item": at["item"], "event": "done", "found": found})
        else:
            self.failures.append(
                {"failed": f"the process ended before an item: {why}", "log": self.tail()}
            )
        if self.starts >= 12 or (at["event"] != "begun" and len(self.failures) > 1):
            return False
        self.start()
        return True

    def tail(self) -> str:
        text = self.journal.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
        return text[-1500:]


def _run(name: str, step: Step, folder: Path, pretend: bool, seconds: float) -> Iterator[Found]:
    """Run a step; yield what is known of it, again and again, the last time when it has ended."""
    start = time.monotonic()
    workers: list[Worker] = []
    for share in range(min(step.processes, 2) if pretend else step.processes):
        journal = folder / f"{name}-{share}.jsonl"
        command = [sys.executable, str(Path(__file__).resolve()), "--work", name]
        command += ["--journal", str(journal), "--share", str(share)]
        environment = (
            os.environ
            | step.variables
            | {
                "TINYJAX_GPU_JOURNAL": str(journal),
                "TINYJAX_TIER": "compiled",
                "PYTHONUNBUFFERED": "1",
                "PYTHONPATH": os.pathsep.join(
                    [*PATHS, *os.environ.get("PYTHONPATH", "").split(":")]
                ),
                "TF_CPP_MIN_LOG_LEVEL": "1",
            }
        )
        if pretend:
            command.append("--pretend")
        workers.append(Worker(command, journal, environment, step.per_item))
    working = list(workers)
    for worker in workers:
        worker.start()
    while working and time.monotonic() - start < seconds:
        time.sleep(0.1)
        working = [worker for worker in working if worker.goes_on()]
        yield _state(step, workers, start, "runs")
    for worker in workers:
        worker.end()
    ended = f"it was ended after {seconds:.0f} s" if working else "done"
    yield _state(step, workers, start, ended)


def _state(step: Step, workers: Sequence[Worker], start: float, ended: str) -> Found:
    items: Found = {}
    for worker in workers:
        for entry in _read(worker.journal):
            if entry["event"] == "begun":
                items[entry["item"]] = {"unfinished": True}
            elif entry["event"] == "done":
                items[entry["item"]] = entry["found"]
    failures = [failure for worker in workers for failure in worker.failures]
    failed = [name for name, found in items.items() if "failed" in found]
    unfinished = [name for name, found in items.items() if "unfinished" in found]
    return {
        "looks at": step.says,
        "ended": ended,
        "seconds": round(time.monotonic() - start, 1),
        "tried": len(items),
        "failed": failed,
        "unfinished": unfinished,
        "processes that failed": failures,
        "items": items,
    }


def _save(path: Path, report: Found) -> None:
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(report, indent=1, default=str), encoding="utf-8")
    beside.replace(path)


def _summary(name: str, state: Found, pretend: bool) -> str:
    """A step in a few lines."""
    tried, failed = state["tried"], state["failed"]
    counts = f"{tried} tried, {len(failed)} failed, in {state['seconds']} s ({state['ended']})"
    lines = [f"{name}: {state['looks at']}", f"  {counts}"]
    if pretend:
        lines.append(f"  on a card: {STEPS[name].on_card}, {STEPS[name].seconds[0]} s at most")
    lines += [f"  {item}: {state['items'][item]['failed'][:300]}" for item in failed]
    if state["unfinished"]:
        lines.append(f"  unfinished: {', '.join(state['unfinished'])}")
    ends = [f"  {x['failed']}: {x['log'][-300:]}" for x in state["processes that failed"]]
    lines += dict.fromkeys(ends)
    for item, found in state["items"].items() if name == "speed" else ():
        if "ratio" in found:
            rate = found.get("tinyjax, TFLOP/s")
            lines.append(
                f"  {item}: {found['tinyjax, ms']:.4g} ms, {found['ratio']:.2f} of jax's; first "
                f"call {found['ratio of first calls']:.2f}"
                + (f"; {rate:.4g} TFLOP/s" if rate else "")
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--pretend", action="store_true", help="a device of the processor is the card"
    )
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--out", type=Path, default=Path("gpu.json"), help="the file to write")
    parser.add_argument("--seconds", type=float, help="how long all may take: 480, pretended 180")
    parser.add_argument("--work", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--journal", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--share", type=int, default=0, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.work:
        step = STEPS[chosen.work]
        if chosen.pretend:
            step = attrs.evolve(step, processes=min(step.processes, 2))
        _work(step, chosen.journal, chosen.pretend, chosen.share)
        return 0
    start = time.monotonic()
    limit = chosen.seconds or (180.0 if chosen.pretend else 480.0)
    report: Found = {"pretended": chosen.pretend, "began": time.strftime("%Y-%m-%d %H:%M:%S")}
    report["steps"] = states = {}
    folder = Path(tempfile.mkdtemp(prefix="tinyjax-gpu-"))
    for name in chosen.steps:
        step = STEPS[name]
        left = limit - (time.monotonic() - start)
        if left < 5:
            states[name] = {"looks at": step.says, "ended": "there was no time left"}
            continue
        saved = 0.0
        seconds = min(float(step.seconds[chosen.pretend]), left)
        for state in _run(name, step, folder, chosen.pretend, seconds):
            states[name] = state
            if time.monotonic() - saved > 2.0 or state["ended"] != "runs":
                saved = time.monotonic()
                report["seconds"] = round(saved - start, 1)
                _save(chosen.out, report)
        print(_summary(name, states[name], chosen.pretend), flush=True)
    failed = sum(
        len(state.get("failed", ())) + len(state.get("processes that failed", ()))
        for state in states.values()
    )
    report["failed"] = failed
    _save(chosen.out, report)
    print(f"{failed} failed, in {time.monotonic() - start:.0f} s; see {chosen.out}")
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
