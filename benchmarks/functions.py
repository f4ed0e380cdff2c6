"""``python -m benchmarks.functions``: functions of the array library beside JAX's and NumPy's.

Small eager calls, where Python is the cost; calls of large arrays, eager beside NumPy and compiled
beside JAX; compilations; and attention over a long sequence, in time and memory. Each row is an
expression, which is evaluated with the modules and the data of each library.
"""

import statistics
import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from itertools import count
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.command import new_console, parser
from benchmarks.libraries import OWN, Library, library
from benchmarks.measure import QUICK, THOROUGH, Call, Effort, Spread, interleaved
from benchmarks.report import any_missed, duration, factor, insert, markdown, print_table, verdict
from benchmarks.rows import LEVEL

#: Of JAX's time for a small eager call.
EAGER: Final = 0.25
#: Of NumPy's time for a large array.
LARGE: Final = 1.2
#: Of JAX's time to trace, lower and compile.
COMPILE: Final = 1.0
#: Of JAX's time and memory for attention.
ATTENTION: Final = 1.05

#: By module: ``x`` is a vector, ``m`` a symmetric matrix, ``i`` holds indices.
SMALL: Final[dict[str, tuple[str, ...]]] = {
    "numpy": (
        *("jnp.exp(x)", "jnp.where(x > 0.5, x, 0.0)", "jnp.clip(x, 0.2, 0.8)", "jnp.sum(x)"),
        *("jnp.mean(m, axis=0)", "jnp.std(x)", "jnp.max(x)", "jnp.argmax(x)", "jnp.sort(x)"),
        *("jnp.argsort(x)", "jnp.cumsum(x)", "jnp.median(x)", "jnp.quantile(x, 0.3)"),
        *("jnp.concatenate([x, x])", "jnp.stack([x, x])", "jnp.reshape(m, -1)", "m.T", "m @ m"),
        *("jnp.dot(x, x)", "jnp.einsum('ij,j->i', m, x)", "jnp.outer(x, x)", "jnp.zeros(10)"),
        *("jnp.arange(10)", "jnp.linspace(0.0, 1.0, 10)", "jnp.eye(10)", "x[2:5]", "x[i]"),
        *("x.at[2].set(1.0)", "jnp.take(x, i)", "jnp.diff(x)", "jnp.interp(0.3, x, x)"),
        *("jnp.searchsorted(x, 0.3)", "jnp.roll(x, 2)", "jnp.flip(x)", "jnp.tril(m)"),
        *("jnp.pad(x, 2)", "jnp.unique(i)", "jnp.isclose(x, x)", "jnp.nansum(x)"),
        *("jnp.convolve(x, x)", "jnp.histogram(x)", "jnp.polyval(x, 0.3)", "jnp.tile(x, 2)"),
        *("jnp.repeat(x, 2)", "jnp.meshgrid(x, x)", "jnp.cov(m)", "jnp.trace(m)"),
    ),
    "numpy.linalg": (
        *("linalg.norm(x)", "linalg.solve(m, x)", "linalg.inv(m)", "linalg.det(m)"),
        *("linalg.cholesky(m)", "linalg.eigh(m)", "linalg.svd(m)", "linalg.qr(m)"),
        *("linalg.eig(m)", "linalg.lstsq(m, x)", "linalg.pinv(m)", "linalg.slogdet(m)"),
        *("linalg.matrix_rank(m)", "linalg.matrix_power(m, 3)"),
    ),
    "numpy.fft": (
        *("fft.fft(x)", "fft.ifft(x)", "fft.rfft(x)", "fft.irfft(x)", "fft.fft2(m)"),
        *("fft.fftfreq(10)", "fft.fftshift(x)"),
    ),
    "scipy.special": (
        *("special.gammaln(x)", "special.digamma(x)", "special.erf(x)", "special.erfinv(x)"),
        *("special.logsumexp(x)", "special.expit(x)", "special.logit(x)", "special.i0(x)"),
        *("special.betainc(x, x, x)", "special.gammainc(x, x)", "special.xlogy(x, x)"),
        *("special.ndtri(x)", "special.zeta(2.5, x)", "special.entr(x)", "special.polygamma(1, x)"),
    ),
    "scipy": (
        *("slinalg.cho_solve(slinalg.cho_factor(m), x)", "slinalg.expm(m)", "slinalg.lu(m)"),
        *("slinalg.solve_triangular(m, x)", "slinalg.sqrtm(m)", "slinalg.block_diag(m, m)"),
        *("stats.norm.logpdf(x)", "stats.gamma.logpdf(x, 2.0)", "stats.beta.cdf(x, 2.0, 3.0)"),
        *("stats.multivariate_normal.logpdf(x, x, m)", "signal.convolve(x, x)"),
        *("signal.welch(x, nperseg=4)", "ndimage.map_coordinates(m, [x, x], 1)"),
    ),
    "random": (
        *("random.key(0)", "random.PRNGKey(0)", "random.split(key)", "random.fold_in(key, 3)"),
        *("random.uniform(key, (10,))", "random.normal(key, (10,))", "random.normal(raw, (10,))"),
        *("random.randint(key, (10,), 0, 9)", "random.bernoulli(key, 0.3, (10,))"),
        *("random.permutation(key, 10)", "random.categorical(key, x)", "random.split(raw)"),
        *("random.choice(key, x)", "random.gamma(key, 2.0)", "random.exponential(key, (10,))"),
    ),
    "nn": (
        *("nn.relu(x)", "nn.softmax(x)", "nn.log_softmax(m)", "nn.gelu(x)", "nn.silu(x)"),
        *("nn.one_hot(i, 10)", "nn.standardize(m)"),
    ),
}

#: ``x`` and ``y`` have ten million elements, ``m`` a thousand rows.
BIG: Final = (
    *("x + y", "jnp.exp(x)", "jnp.sum(x)", "jnp.mean(rows, axis=1)", "jnp.std(x)", "jnp.max(x)"),
    *("jnp.where(x > y, x, y)", "jnp.clip(x, 0.2, 0.8)", "jnp.cumsum(x)", "jnp.dot(x, y)"),
    *("jnp.concatenate([x, y])", "jnp.diff(x)", "jnp.take(x, i)", "fft.rfft(x)"),
    *("linalg.norm(rows, axis=1)", "linalg.solve(m, rows[:1000, :100])", "linalg.cholesky(m)"),
    *("special.erf(x)", "special.gammaln(x)"),
)

#: Arrays have ten elements a side.
COMPILED: Final[dict[str, tuple[str, ...]]] = {
    "random": (
        *("random.normal(key, (10,))", "random.permutation(key, 10)", "random.gamma(key, x)"),
        *("random.categorical(key, x)", "random.split(key, 4)", "random.poisson(key, x)"),
        *("random.truncated_normal(key, -1.0, x)", "random.choice(key, x, (3,), replace=False)"),
    ),
    "fft": (
        "fft.fft(x)",
        "fft.irfft2(m)",
        "fft.fftshift(fft.fftn(m))",
        "signal.welch(x, nperseg=4)",
    ),
    "linear algebra": (
        *("linalg.solve(m, x)", "linalg.inv(m)", "linalg.eigh(m)", "linalg.svd(m)", "linalg.qr(m)"),
        *("linalg.det(m)", "linalg.pinv(m)", "linalg.lstsq(m, x)", "slinalg.expm(m)"),
        *("slinalg.sqrtm(m)", "slinalg.lu(m)", "slinalg.cho_solve(slinalg.cho_factor(m), x)"),
    ),
    "special functions": (
        *("special.gammaln(x)", "special.digamma(x)", "special.erfinv(x)", "special.ndtri(x)"),
        *("special.betainc(x, x, x)", "special.gammainc(x, x)", "special.zeta(2.5, x)"),
        *("special.i0(x)", "special.logsumexp(x)", "special.expn(2, x)", "special.spence(x)"),
    ),
}

#: What the names in the expressions stand for.
_MODULES: Final = {
    "jnp": "numpy",
    "linalg": "numpy.linalg",
    "fft": "numpy.fft",
    "special": "scipy.special",
    "slinalg": "scipy.linalg",
    "stats": "scipy.stats",
    "signal": "scipy.signal",
    "ndimage": "scipy.ndimage",
    "random": "random",
    "nn": "nn",
}


def _small_data() -> dict[str, Any]:
    x = np.linspace(0.1, 0.95, 10, dtype=np.float32)
    matrix = np.exp(-((x[:, None] - x) ** 2)) + np.eye(10, dtype=np.float32)
    return {"x": x, "m": matrix, "i": np.array([3, 1, 3, 0], np.int32)}


def _big_data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x, y = (rng.random(10_000_000, np.float32) + np.float32(0.1) for _ in range(2))
    matrix = rng.random((1000, 1000), np.float32)
    return {
        "x": x,
        "y": y,
        "rows": x.reshape(10_000, 1000),
        "m": matrix @ matrix.T + 1000 * np.eye(1000, dtype=np.float32),
        "i": rng.integers(0, x.size, x.size // 4).astype(np.int32),
    }


def _names(lib: Library) -> dict[str, Any]:
    """The modules of a library by the names in the expressions, and keys."""
    modules = {name: import_module(f"{lib.name}.{module}") for name, module in _MODULES.items()}
    return {**modules, "key": modules["random"].key(0), "raw": modules["random"].PRNGKey(0)}


def _numpys() -> dict[str, Any]:
    """The same for NumPy and SciPy, as far as they go."""
    import scipy.special

    return {"jnp": np, "linalg": np.linalg, "fft": np.fft, "special": scipy.special}


def _function(expression: str, names: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
    """The expression as a function of the data."""
    return eval(f"lambda {', '.join(data)}: {expression}", dict(names))


def _times(calls: Mapping[str, Call], effort: Effort, once: bool = False) -> dict[str, Spread]:
    """The seconds of each contender, and under ``ratio`` those of the first over the last's."""
    samples = interleaved(calls, effort, once)
    spreads = {name: Spread.from_samples(times) for name, times in samples.items()}
    first, last = next(iter(calls)), [*calls][-1]
    return {**spreads, "ratio": Spread.of_ratios(samples[first], samples[last])}


def _waiting(lib: Library, call: Call) -> Call:
    return lambda: lib.module.block_until_ready(call())


def small(expression: str, libraries: Mapping[str, Library], effort: Effort) -> dict[str, Spread]:
    """Time an eager call of small arrays."""
    calls: dict[str, Call] = {}
    for name, lib in libraries.items():
        data = lib.arrays(_small_data())
        call = partial(_function(expression, _names(lib), data), **data)
        calls[name] = call if name == OWN else _waiting(lib, call)
    return _times(calls, effort)


def _fresh(expression: str, lib: Library) -> Call:
    """Trace, lower and compile a program that was not compiled before, at each call."""
    data, names, sizes = lib.arrays(_small_data()), _names(lib), count(1)
    keys = {name: names.pop(name) for name in ("key", "raw")}
    fun = _function(expression, names, data | keys)

    def call() -> object:
        size = next(sizes)
        program = lib.module.jit(lambda a: (fun(**a), names["jnp"].zeros(size)))
        return program.lower(data | keys).compile()

    return call


def compilation(
    expression: str, libraries: Mapping[str, Library], effort: Effort
) -> dict[str, Spread]:
    """Time compilations."""
    calls = {name: _fresh(expression, lib) for name, lib in libraries.items()}
    return _times(calls, effort, once=True)


Measure = Callable[[str, Mapping[str, Library], Effort], dict[str, Spread]]


def by_module(
    modules: Mapping[str, tuple[str, ...]],
    measure: Measure,
    most: float,
    effort: Effort,
    console: Console,
) -> list[list[str]]:
    """Return a row for each module: the median of its ratios, and those beyond the bar."""
    libraries = {name: library(name) for name in (OWN, "jax")}
    rows: list[list[str]] = []
    for module, expressions in modules.items():
        ratios = {
            expression: measure(expression, libraries, effort)["ratio"].median
            for expression in track(expressions, module, console=console, transient=True)
        }
        beyond = sorted(((r, e) for e, r in ratios.items() if r > most), reverse=True)
        shown = ", ".join(f"`{expression}` {factor(ratio)}" for ratio, expression in beyond)
        rows.append(
            [
                module,
                str(len(ratios)),
                factor(statistics.median(ratios.values())),
                factor(max(ratios.values())),
                f"{verdict(False)}: {shown}" if beyond else verdict(True),
            ]
        )
    return rows


def large(effort: Effort, console: Console) -> list[list[str]]:
    """A row for each function of large arrays."""
    hosts, libraries = _big_data(), {name: library(name) for name in (OWN, "jax")}
    data = {name: lib.arrays(hosts) for name, lib in libraries.items()}
    rows: list[list[str]] = []
    for expression in track(BIG, "large arrays", console=console, transient=True):
        functions = {
            name: _function(expression, _names(lib), hosts) for name, lib in libraries.items()
        }
        own = libraries[OWN]
        eager = _times(
            {
                OWN: _waiting(own, partial(functions[OWN], **data[OWN])),
                "numpy": partial(_function(expression, _numpys(), hosts), **hosts),
            },
            effort,
        )
        compiled = _times(
            {
                name: _waiting(lib, partial(lib.module.jit(functions[name]), **data[name]))
                for name, lib in libraries.items()
            },
            effort,
        )
        cells = [f"`{expression}`"]
        for peer, spreads, most in (("numpy", eager, LARGE), ("jax", compiled, LEVEL)):
            ratio = spreads["ratio"].median
            cells += [
                duration(spreads[peer].median),
                f"{factor(ratio)} {verdict(ratio <= most)}",
            ]
        rows.append(cells)
    return rows


#: Queries, keys and values of length 8,192, one head of 64.
_SEQUENCE: Final = (1, 8192, 1, 64)

ATTENTIONS: Final = {
    "attention": lambda nn, grad: nn.dot_product_attention,
    "causal attention": lambda nn, grad: partial(nn.dot_product_attention, is_causal=True),
    "causal attention, gradient": lambda nn, grad: grad(
        lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True).sum(), (0, 1, 2)
    ),
}


def attention(effort: Effort, console: Console) -> list[list[str]]:
    """A row for each way to attend: time, and bytes of temporaries."""
    rng = np.random.default_rng(0)
    hosts = [rng.standard_normal(_SEQUENCE, np.float32) for _ in range(3)]
    rows: list[list[str]] = []
    for title, make in track(ATTENTIONS.items(), "attention", console=console, transient=True):
        calls: dict[str, Call] = {}
        memory: dict[str, int] = {}
        for name in (OWN, "jax"):
            lib = library(name)
            data = lib.arrays(hosts)
            fun = lib.module.jit(make(lib.module.nn, lib.module.grad))
            memory[name] = fun.lower(*data).compile().memory_analysis().temp_size_in_bytes
            calls[name] = _waiting(lib, partial(fun, *data))
        spreads = _times(calls, effort, once=True)
        time, space = spreads["ratio"].median, memory[OWN] / memory["jax"]
        rows.append(
            [
                title,
                duration(spreads["jax"].median),
                f"{factor(time)} {verdict(time <= ATTENTION)}",
                f"{memory['jax'] / 2**20:,.0f} MiB",
                f"{factor(space)} {verdict(space <= ATTENTION)}",
            ]
        )
    return rows


#: By table: its headings, and the caption.
_TABLES: Final = {
    "small": (
        ["", "functions", "median", "most", f"of jax's time, at most {EAGER}"],
        "Eager calls of ten elements, or ten by ten, in float32.",
    ),
    "big": (
        ["", "NumPy", f"eager, at most {LARGE}", "jax, jitted", f"jitted, at most {LEVEL}"],
        "Arrays of 10,000,000 float32, matrices of 1,000 rows; our time over the peer's.",
    ),
    "compiling": (
        ["", "programs", "median", "most", f"of jax's time, at most {COMPILE}"],
        "To trace, lower and compile a program of one call.",
    ),
    "attention": (
        ["", "jax", f"time, at most {ATTENTION}", "jax, temporaries", f"at most {ATTENTION}"],
        "Batch 1, length 8,192, one head of 64, float32; ours over JAX's.",
    ),
}


def main() -> int:
    command = parser("benchmarks.functions", __doc__, "measure for about a tenth as long")
    command.add_argument("--only", choices=[*_TABLES], help="one of the tables")
    options = command.parse_args()
    console = new_console()
    effort = QUICK if options.quick else THOROUGH
    make: dict[str, Callable[[], list[list[str]]]] = {
        "small": partial(by_module, SMALL, small, EAGER, effort, console),
        "big": partial(large, effort, console),
        "compiling": partial(by_module, COMPILED, compilation, COMPILE, effort, console),
        "attention": partial(attention, effort, console),
    }
    missed = False
    for table in [options.only] if options.only else _TABLES:
        headings, caption = _TABLES[table]
        rows = make[table]()
        print_table(headings, rows, caption, console)
        missed |= any_missed(rows)
        if options.docs is not None:
            text = f"{markdown(headings, rows)}\n\n{caption}"
            insert(options.docs / "performance-tables.md", f"functions: {table}", text)
    return 1 if missed and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
