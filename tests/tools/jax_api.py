"""The table of JAX's names: ``python -m tools.jax_api`` in ``tests/`` writes docs/jax_api.md.

What is there is found by looking; how it differs and why it is missing is said here.
"""

import re
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import attrs

import tinyjax
from tinyjax._base.missing_names import ABSENT, DEVICES, INTERNALS, OF_SHARDING

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "jax_api.md"

MODULES: Final = (
    "",
    "ad_checkpoint",
    "core",
    "custom_batching",
    "custom_derivatives",
    "debug",
    "distributed",
    "dlpack",
    "dtypes",
    "errors",
    "example_libraries.optimizers",
    "example_libraries.stax",
    "experimental",
    "experimental.checkify",
    "experimental.jet",
    "experimental.mesh_utils",
    "experimental.multihost_utils",
    "experimental.random",
    "experimental.serialize_executable",
    "export",
    "extend.core",
    "ffi",
    "flatten_util",
    "image",
    "lax",
    "lax.linalg",
    "monitoring",
    "nn",
    "nn.initializers",
    "numpy",
    "numpy.fft",
    "numpy.linalg",
    "ops",
    "profiler",
    "random",
    "ref",
    "scipy.cluster.vq",
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.sparse.linalg",
    "scipy.spatial.transform",
    "scipy.special",
    "scipy.stats",
    "scipy.stats.bernoulli",
    "scipy.stats.beta",
    "scipy.stats.betabinom",
    "scipy.stats.binom",
    "scipy.stats.cauchy",
    "scipy.stats.chi2",
    "scipy.stats.dirichlet",
    "scipy.stats.expon",
    "scipy.stats.gamma",
    "scipy.stats.gennorm",
    "scipy.stats.geom",
    "scipy.stats.gumbel_l",
    "scipy.stats.gumbel_r",
    "scipy.stats.laplace",
    "scipy.stats.logistic",
    "scipy.stats.multinomial",
    "scipy.stats.multivariate_normal",
    "scipy.stats.nbinom",
    "scipy.stats.norm",
    "scipy.stats.pareto",
    "scipy.stats.poisson",
    "scipy.stats.t",
    "scipy.stats.truncnorm",
    "scipy.stats.uniform",
    "scipy.stats.vonmises",
    "scipy.stats.wrapcauchy",
    "sharding",
    "stages",
    "test_util",
    "tree",
    "tree_util",
    "typing",
)

FULL: Final = "has an effect on GPUs and TPUs; products are exact where nothing is said"
ACCURATE: Final = "of no effect: functions are as accurate as NumPy's and XLA's"
VERSIONS: Final = "the version of tinyjax's own format"
CHUNKS: Final = "has `chunk_size=`"
PORTIONS: Final = "has `chunk_size=` and `threads=`"

HELD: Final = "is used in what `jit` and control flow stage, and is no argument of `vjp` and `jvp`"

#: How a name that is there differs, by its path.
DIFFERS: Final = {
    "Device": "a record; there are those of the CPU, and of GPUs by Nvidia",
    "default_matmul_precision": FULL,
    **dict.fromkeys(
        (
            *("allow_f16_reductions", "array_garbage_collection_guard"),
            *("enable_custom_prng", "legacy_prng_key", "no_execution", "no_tracing"),
            *("jax2tf_associative_scan_reductions", "softmax_custom_jvp", "thread_guard"),
        ),
        "has one value: what it chooses in JAX is always so",
    ),
    **dict.fromkeys(
        ("transfer_guard", "transfer_guard_device_to_device", "transfer_guard_host_to_device"),
        "tells of operations as JAX does, but not of what NumPy does without one",
    ),
    "transfer_guard_device_to_host": "of no effect, as in JAX on the CPU",
    "debug_key_reuse": "finds two uses of one array; equal keys made or indexed apart it does not",
    **dict.fromkeys(
        ("debug.DebugEffect", "debug.OrderedDebugEffect", "extend.core.Effect"),
        "for signatures: a primitive says itself what it does",
    ),
    "extend.core.DebugInfo": "for signatures: messages find functions' names themselves",
    "extend.core.DropVar": "of no staged program: results that nothing uses have variables, too",
    "custom_derivatives.remat_opt_p": "of no equation",
    "ad_checkpoint.Offloadable": "keeps the value: there is one memory",
    "experimental.serialize_executable.deserialize_and_load": (
        "compiles what was not sealed with this user's secret, or a key; no pickle is read"
    ),
    "export.DisabledSafetyCheck": "that of platforms has an effect",
    "export.Exported": "has a module per platform; with symbolic sizes, none until they are known",
    "export.maximum_supported_calling_convention_version": VERSIONS,
    "export.minimum_supported_calling_convention_version": VERSIONS,
    "custom_derivatives.custom_jvp_call_p": "one primitive stands for both",
    "custom_derivatives.custom_vjp_call_p": "one primitive stands for both",
    "new_ref": HELD,
    "Ref": "is no array, and no type of values in programs",
    "ref.new_ref": HELD,
    "ref.AbstractRef": "of no value in programs, which take and return contents",
    "ref.Ref": "is no array, and no type of values in programs",
    "scipy.optimize.minimize": "its line search is its own, and more often successful",
    "devices": "those that the setting `num_cpu_devices` divides the CPU into, or GPUs",
    "effects_barrier": "returns at once: programs return when their callbacks are done",
    "enable_x64": "`False` lets there be no 64-bit types; they are there at first",
    "explain_cache_misses": "tells the logger `tinyjax`",
    "jit": "has `control_flow=`; moves arguments that lie otherwise than `in_shardings` says",
    "log_compiles": "tells the logger `tinyjax`",
    "make_jaxpr": "arrays closed over come first among the parameters; other text",
    "hessian": CHUNKS,
    "jacfwd": CHUNKS,
    "jacobian": CHUNKS,
    "jacrev": CHUNKS,
    "vmap": PORTIONS,
    "core.Tracer": "made by its trace alone",
    "custom_batching.custom_vmap": "also `tinyjax.custom_batch`",
    "dlpack.from_dlpack": "shares the data with its owner, who must not write to it",
    "dtypes.canonicalize_dtype": "leaves 64-bit types as they are",
    "extend.core.Primitive": "has a class of parameters and rules; `bind` lists results",
    "lax.Precision": FULL,
    "lax.AccuracyMode": ACCURATE,
    "lax.Tolerance": ACCURATE,
    "lax.DotAlgorithm": FULL,
    "lax.DotAlgorithmPreset": FULL,
    "lax.composite": "the function itself: programs have no operation of its name",
    "lax.rng_bit_generator": "draws by Philox alone",
    "lax.scatter_apply": "applies the function once to each element, and has derivatives",
    "lax.stage": "leaves an equation in jaxprs",
    "nn.scaled_dot_general": "takes no `configs`",
    "lax.pcast": "takes what varies already, too",
    "debug.inspect_array_sharding": "takes arrays with data, not those that are traced",
    "debug.visualize_array_sharding": "prints plain text",
    "debug.visualize_sharding": "prints plain text",
    "sharding.AbstractMesh": "for programs that are compiled and not run",
}

NARROW: Final = "integers of 1 bit, and floats of fewer than 8 or without a sign, are not planned"
COMPOSED: Final = "the function is made of other primitives"
NARROWER: Final = "there are primitives for each reduction, and scatters for their derivatives"

#: Why a name is missing, by its path: the first pattern that fits.
MISSING: Final[Sequence[tuple[str, str]]] = (
    (
        r"profiler\.(device_memory_profile|save_device_memory_profile)",
        "memory of the CPU is the process's: any profiler of memory sees it",
    ),
    (
        r"profiler\.(start_server|stop_server|register_subprocess)",
        "profiles are written by the process",
    ),
    (r"profiler\..*", "`profiler.summary` and viewers read what is written"),
    (r"ffi\.ffi_lowering", "for primitives declared in JAX's way, with `tinyjax.as_jax`"),
    (r"ffi\.build_ffi_lowering_function", "it writes MLIR by jaxlib's builders"),
    (r"ffi\.register_ffi_type_id", "it raises an error in JAX: `register_ffi_type`"),
    (r"experimental\..*", INTERNALS),
    (r"(core|extend\.core)\..*", INTERNALS),
    (r"lax\.(ragged_all_to_all|device_put)_p", DEVICES),
    (r"lax\.rng_uniform(_p)?", "XLA's own generator has no seed"),
    (r"lax\.(reduce|reduce_window|select_and.*|approx_top_k)_p", NARROWER),
    (r"(lax|random)\..*_p", COMPOSED),
    (r"lax\.(precv|psend|ragged_all_to_all)", DEVICES),
    (r"nn\.get_scaled_dot_general_config", NARROW),
    (r"numpy\.(u?int[124]|float[46]_.*|float8_e3m4|float8_e4m3|float8_e8m0fnu)", NARROW),
    (r"numpy\.(object_|character|flexible)", "elements are numbers or bools"),
)


@attrs.frozen
class Entry:
    """A public name of JAX: whether it is there, and what is to be said of it."""

    module: str
    name: str
    is_there: bool
    note: str

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}" if self.module else self.name


def _why(path: str) -> str:
    if path in ABSENT:
        return ABSENT[path]
    if path.startswith("sharding."):
        return OF_SHARDING.get(path.removeprefix("sharding."), "")
    return next((why for pattern, why in MISSING if re.fullmatch(pattern, path)), "")


#: Modules that have what they import for themselves by public names.
_WITHOUT_LISTS: Final = (
    *("example_libraries.", "experimental.jet", "experimental.multihost", "experimental.serialize"),
)


def _names(module: str) -> Iterator[str]:
    theirs: Any = import_module(f"jax.{module}" if module else "jax")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(theirs):
            # which modules jax has depends on what has been imported
            is_module = isinstance(getattr(theirs, name), ModuleType)
            is_known = not module and (name in ABSENT or name in tinyjax.__all__)
            is_own = (
                not module.startswith(_WITHOUT_LISTS)
                or getattr(getattr(theirs, name), "__module__", None) == theirs.__name__
            )
            if not name.startswith("_") and is_own and (is_known or not is_module):
                yield name


def entries() -> list[Entry]:
    """Every public name of JAX's modules."""
    found = []
    for module in filter(None, MODULES):  # which jax then has as attributes
        import_module(f"jax.{module}")
    for module in MODULES:
        ours: Any = import_module(f"tinyjax.{module}") if module else tinyjax
        for name in _names(module):
            path = f"{module}.{name}" if module else name
            is_there = name in dir(tinyjax) if not module else hasattr(ours, name)
            note = DIFFERS.get(path, "") if is_there else _why(path)
            found.append(Entry(module, name, is_there, note))
    return found


HEAD: Final = """# JAX's public names

What of JAX's public names tinyjax has, module by module: what is there, what is there and differs,
and what is missing, and why. Made by `tests/tools/jax_api.py`, and held by a test against the
installed jax. [Differences](differences.md) are listed call by call elsewhere.

"""


def text() -> str:
    """The document."""
    rows = entries()
    parts = [HEAD, _summary(rows), _shares(rows)]
    for module in MODULES:
        own = [entry for entry in rows if entry.module == module]
        parts.append(_section(module, own))
    return "".join(parts)


#: Reasons that belong to other devices, to Pallas, or to foreign functions.
_ELSEWHERE: Final = (DEVICES, ABSENT["ds"])


def missing_share(rows: Sequence[Entry]) -> float:
    """The share of missing names outside devices, Pallas and foreign functions."""
    counted = [e for e in rows if e.note not in _ELSEWHERE and e.module != "ffi"]
    return sum(not e.is_there for e in counted) / len(counted)


def _shares(rows: Sequence[Entry]) -> str:
    missing = sum(not e.is_there for e in rows)
    return (
        f"\nOf {len(rows):,} names {missing} are missing: outside other devices, Pallas and "
        f"foreign functions {missing_share(rows):.1%}.\n"
    )


def _summary(rows: Sequence[Entry]) -> str:
    lines = ["| module | names | have | differ | missing |\n|---|---|---|---|---|\n"]
    for module in MODULES:
        own = [entry for entry in rows if entry.module == module]
        there = [entry for entry in own if entry.is_there]
        differ = sum(bool(entry.note) for entry in there)
        title = f"jax.{module}" if module else "jax"
        lines.append(
            f"| `{title}` | {len(own)} | {len(there) - differ} | {differ} | "
            f"{len(own) - len(there)} |\n"
        )
    return "".join(lines)


def _section(module: str, rows: Sequence[Entry]) -> str:
    title = f"jax.{module}" if module else "jax"
    same = ", ".join(f"`{e.name}`" for e in rows if e.is_there and not e.note)
    lines = [f"\n## {title}\n\n", f"Have: {same or 'none'}.\n"]
    for is_there, heading in ((True, "differs | how"), (False, "missing | why")):
        notes = {e.note: None for e in rows if e.is_there is is_there and e.note}
        if notes:
            lines.append(f"\n| {heading} |\n|---|---|\n")
        for note in notes:
            names = ", ".join(
                f"`{e.name}`" for e in rows if e.is_there is is_there and e.note == note
            )
            lines.append(f"| {names} | {note} |\n")
    return "".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")
