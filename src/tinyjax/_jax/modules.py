"""Modules called ``jax...`` that take their names from tinyjax's.

Which modules there are, and where the names of each come from, is the table ``MODULES``. A name or
a module that is not there is an error that says that this is tinyjax.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

import tinyjax
from tinyjax import config
from tinyjax._base import lazy, missing_names
from tinyjax._jax.backend import give_attributes
from tinyjax._jax.key_types import show_key_types
from tinyjax.core.values import Array

_DISTRIBUTIONS: Final = (
    *("bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma"),
    *("gennorm", "geom", "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial"),
    *("multivariate_normal", "nbinom", "norm", "pareto", "poisson", "t", "truncnorm", "uniform"),
    *("vonmises", "wrapcauchy"),
)

#: JAX's modules that are tinyjax's of the same names.
_SAME_NAMES: Final = """
ad ad_checkpoint checkpoint_policies custom_batching custom_derivatives debug distributed dlpack
dtypes errors example_libraries example_libraries.optimizers example_libraries.stax experimental
experimental.checkify experimental.compilation_cache
experimental.compilation_cache.compilation_cache experimental.jet experimental.mesh_utils
experimental.multihost_utils experimental.ode experimental.pjit experimental.random
experimental.serialize_executable experimental.shard_map experimental.sparse
experimental.sparse.linalg export flatten_util image lax.linalg monitoring nn nn.initializers
numpy.fft numpy.linalg ops profiler random ref scipy scipy.cluster scipy.cluster.vq scipy.fft
scipy.integrate scipy.interpolate scipy.linalg scipy.ndimage scipy.optimize scipy.signal
scipy.sparse scipy.sparse.linalg scipy.spatial scipy.spatial.transform scipy.special scipy.stats
sharding stages test_util tree tree_util typing
"""
#: For each module of JAX's, the modules of tinyjax that it takes its names from, the first first.
MODULES: Final[Mapping[str, Sequence[str]]] = {
    **{f"jax.{name}": (name,) for name in _SAME_NAMES.split()},
    **{f"jax.scipy.stats.{name}": (f"scipy.stats.{name}",) for name in _DISTRIBUTIONS},
    "jax": ("_jax.toplevel", ""),
    "jax._src.checkify": ("experimental.checkify",),
    "jax._src.core": ("_jax.core", "extend.core", "core"),
    "jax._src.interpreters.ad": ("_jax.ad",),
    "jax._src.interpreters.batching": ("_jax.batching",),
    "jax._src.interpreters.mlir": ("_jax.mlir",),
    "jax._src.numpy.ufuncs": ("numpy",),
    "jax._src.scipy.special": ("scipy.special",),
    "jax._src.tree_util": ("tree_util",),
    "jax.core": ("_jax.core", "core"),
    "jax.experimental.compute_on": ("_jax.compiler_hints",),
    "jax.experimental.custom_partitioning": ("_jax.compiler_hints",),
    "jax.experimental.hijax": ("experimental.hijax.values", "experimental.hijax"),
    "jax.experimental.layout": ("_jax.layout",),
    "jax.experimental.shard_alike": ("_jax.compiler_hints",),
    "jax.experimental.xla_metadata": ("_jax.compiler_hints",),
    "jax.extend": (),
    "jax.extend.backend": ("_jax.backend",),
    "jax.extend.core": ("_jax.core", "extend.core", "core"),
    "jax.ffi": ("_jax.ffi", "ffi"),
    "jax.interpreters": (),
    "jax.interpreters.ad": ("_jax.ad",),
    "jax.interpreters.batching": ("_jax.batching",),
    "jax.interpreters.mlir": ("_jax.mlir",),
    "jax.interpreters.partial_eval": ("_jax.partial_eval",),
    "jax.interpreters.xla": ("_jax.xla",),
    "jax.lax": ("_jax.lax", "lax"),
    "jax.numpy": ("_jax.numpy", "numpy"),
    "jax.scipy.special": ("_jax.special", "scipy.special"),
    "jax.version": ("_jax.toplevel",),
}

#: Further names, each with its module of tinyjax: what libraries read of JAX's inside.
_HOMES: Final[Mapping[str, Mapping[str, str]]] = {
    "jax": {"_jax.callbacks": "pure_callback"},
    "jax.debug": {"_jax.callbacks": "callback"},
    "jax.dtypes": {"_jax.internals": "bfloat16"},
    "jax.experimental": {"_jax.callbacks": "io_callback", "experimental.hijax.values": "cur_qdd"},
    "jax.experimental.hijax": {"_jax.ad": "is_undefined_primal"},
    "jax.custom_derivatives": {"_jax.internals": "custom_jvp_call_p"},
    "jax.api_util": {
        "_jax.linear_util": "argnums_partial debug_info flatten_fun flatten_fun_nokwargs",
        "_jax.internals": "flatten_axes safe_map",
    },
    "jax.core": {
        "extend.core": (
            "DropVar Effects concrete_or_error find_top_trace gensym get_opaque_trace_state "
            "mapped_aval new_jaxpr_eqn no_effects unmapped_aval valid_jaxtype"
        )
    },
    "jax.extend.core.primitives": {"_jax.internals": "call_p closed_call_p jit_p"},
    "jax.extend.source_info_util": {"_jax.internals": "register_exclusion"},
    "jax.extend.linear_util": {
        "_jax.linear_util": "WrappedFun transformation transformation_with_aux wrap_init"
    },
    "jax.lax": {"core.primitives.identities": "stop_gradient_p"},
    "jax.lib": {"_jax.internals": "__version__"},
    "jax.version": {"_jax.toplevel": "_version"},
    "jax._src.api": {"_jax.internals": "_dtype"},
    "jax._src.api_util": {"_jax.internals": "infer_argnums_and_argnames"},
    "jax._src.ad_util": {"_jax.ad": "p2tz", "core.primitives.identities": "stop_gradient_p"},
    "jax._src.state.types": {"_extensions.state.references": "AbstractRef"},
    "jax._src.core": {"_jax.internals": "trace_state_clean"},
    "jax._src.distributed": {"_jax.internals": "global_state"},
    "jax._src.dispatch": {"_jax.xla": "apply_primitive", "_jax.internals": "wait_for_tokens"},
    "jax._src.dtypes": {
        "_jax.key_types": "ExtendedDType",
        "dtypes": "DType TypePromotionError canonicalize_dtype extended finfo",
    },
    "jax._src.flatten_util": {"flatten_util": "ravel_pytree"},
    "jax._src.numpy.util": {
        "_jax.internals": (
            "check_arraylike promote_dtypes promote_dtypes_complex promote_dtypes_inexact"
        )
    },
    "jax._src.pjit": {"sharding": "auto_axes", "_jax.internals": "jit_p"},
    "jax._src.random": {"_jax.internals": "Shape"},
    "jax._src.lax.control_flow": {"_jax.lax": "cond scan"},
    "jax._src.lib.xla_client": {"_jax.internals": "XlaRuntimeError"},
    "jax._src.sharding_impls": {"_jax.internals": "canonicalize_sharding"},
    "jax._src.stages": {"stages": "Lowered"},
    "jax._src.util": {"_jax.internals": "safe_map safe_zip unzip2"},
    "jax._src.xla_bridge": {"_jax.internals": "_backends", "_jax.backend": "get_backend"},
    "jax._src.tree_util": {"_jax.internals": "_registry broadcast_prefix prefix_errors"},
    "jax._src.traceback_util": {"_jax.internals": "api_boundary include_frame register_exclusion"},
    "jax._src.typing": {
        "core.values.array": "Array",
        "_jax.internals": "SupportsDType",
        "typing": "ArrayLike DTypeLike",
    },
}
#: Modules of JAX's that have nothing but modules.
_EMPTY: Final = """
jax._src jax.experimental.array_serialization jax._src.compiler jax._src.state jax._src.numpy
jax._src.scipy jax._src.interpreters jax._src.lax jax._src.lib jax.interpreters.pxla
"""
NAMES: Final[Mapping[str, Mapping[str, str]]] = {
    module: {name: home for home, names in homes.items() for name in names.split()}
    for module, homes in _HOMES.items()
}

_OWN_TYPES: Final = "values are arrays, and trees of them"
_INTERNAL: Final = "it belongs to the inside of JAX"

#: What libraries name when they are imported, and tinyjax has not: why. Of a class nothing is an
#: instance, and to call either is an error that says why.
PLACEHOLDERS: Final[Mapping[str, Mapping[str, str]]] = {
    "jax._src.checkify": {"JaxException": _INTERNAL},
    "jax.experimental.array_serialization.serialization": {
        "GlobalAsyncCheckpointManagerBase": "tinyjax.experimental.checkpoints writes checkpoints"
    },
    "jax.experimental.hijax": dict.fromkeys(
        ("AbstractValue", "AvalMutableQDD", "AvalQDD"), _OWN_TYPES
    ),
    "jax.experimental.sparse": dict.fromkeys(("COO", "CSC", "CSR"), "sparse matrices are BCOO"),
}


#: Modules that libraries import for other devices than those that tinyjax has: why. Every name in
#: them stands for a class without instances.
ABSENT_MODULES: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        (
            *("jax.experimental.colocated_python", "jax.experimental.colocated_python.func"),
            "jax.experimental.colocated_python.serialization",
            *("jax.extend.ifrt_programs", "jax.extend.sharding"),
        ),
        missing_names.DEVICES,
    ),
    **{
        f"jax.experimental.pallas{name}": "kernels are XLA's to write"
        for name in (
            *("", ".mosaic_gpu", ".ops", ".ops.tpu", ".ops.tpu.splash_attention", ".tpu"),
            ".triton",
        )
    },
}

#: The names with underscores around them that a module may have.
_SPECIAL: Final = {
    *("__all__", "__array_api_version__", "__array_namespace_info__"),
    *("__version__", "__version_info__"),
}

KNOWN: Final = frozenset({*MODULES, *NAMES, *_EMPTY.split(), *PLACEHOLDERS, *ABSENT_MODULES})

_LISTS: Final = "docs/libraries.md says what of it works, docs/jax_api.md which names there are."


class JaxModule(ModuleType):
    """A module of JAX's by name, and of tinyjax's by content."""

    def __getattr__(self, name: str) -> Any:
        path = f"{self.__name__}.{name}"
        if path in KNOWN:
            return import_module(path)
        if name.startswith("__") and name not in _SPECIAL:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        attribute = self._find(name)
        setattr(self, name, attribute)
        return attribute

    def _find(self, name: str) -> Any:
        if name == "__all__":
            return [*self._names()]
        home = NAMES.get(self.__name__, {}).get(name)
        if home is not None:
            return getattr(import_module(f"tinyjax.{home}"), name)
        for source in self._sources():
            try:  # names that a module loads on request need not be in its lists
                return getattr(source, name)
            except AttributeError:
                continue
        why = PLACEHOLDERS.get(self.__name__, {}).get(name) or ABSENT_MODULES.get(self.__name__)
        if why is not None:
            return placeholder(f"{self.__name__}.{name}", why)
        reasons = {"jax": missing_names.ABSENT, "jax.sharding": missing_names.OF_SHARDING}
        why = reasons.get(self.__name__, {}).get(name)
        near = "" if why else lazy.did_you_mean(name, self._names())
        raise AttributeError(
            f"module '{self.__name__}' has no attribute '{name}': in this process it is tinyjax's "
            f"(tinyjax.as_jax), not JAX's{f', and {why}' if why else ''}.{near} {_LISTS}",
            name=name,
        )

    def _sources(self) -> list[ModuleType]:
        return [
            import_module(f"tinyjax.{source}" if source else "tinyjax")
            for source in MODULES.get(self.__name__, ())
        ]

    def _names(self) -> dict[str, None]:
        """Return the public names, in order and once each."""
        names: dict[str, None] = {}
        for source in self._sources():
            names.update(dict.fromkeys(vars(source).get("__all__", ())))
        names.update(dict.fromkeys(NAMES.get(self.__name__, {})))
        return names

    def __dir__(self) -> list[str]:
        prefix = f"{self.__name__}."
        below = {x.removeprefix(prefix) for x in KNOWN if x.startswith(prefix)}
        return sorted({*vars(self), *self._names(), *(x for x in below if "." not in x)})


def placeholder(path: str, why: str) -> type:
    """Make a class that has no instances: nothing is one, and to make one is an error.

    Args:
        path: the class's name in JAX.
        why: why it has none here.

    Example:
        >>> from tinyjax._jax.modules import placeholder
        >>> Format = placeholder("jax.experimental.layout.Format", "XLA chooses layouts")
        >>> isinstance(0, Format)
        False
        >>> Format()
        Traceback (most recent call last):
        ...
        NotImplementedError: jax.experimental.layout.Format is not in tinyjax: XLA chooses layouts.
    """

    def refuse(cls: type, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError(f"{path} is not in tinyjax: {why}.")

    module, _, name = path.rpartition(".")
    return type(name, (), {"__new__": refuse, "__module__": module, "__doc__": f"Absent: {why}."})


class _Loader(Loader):
    """Makes the modules of the table."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return JaxModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        sources = MODULES.get(module.__name__, ())
        home = import_module(f"tinyjax.{sources[-1]}") if sources and sources[-1] else tinyjax
        module.__file__ = home.__file__
        module.__doc__ = home.__doc__


class Finder(MetaPathFinder):
    """A finder of ``jax`` and its submodules among tinyjax's modules, and nowhere else."""

    def find_spec(
        self, fullname: str, path: Iterable[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in KNOWN:
            return ModuleSpec(fullname, _Loader(), origin=tinyjax.__file__, is_package=True)
        if fullname.partition(".")[0] != "jax":
            return None
        # Without its name, which would make "from jax import x" replace this message by its own.
        home, _, name = fullname.rpartition(".")
        parent = sys.modules.get(home)
        if isinstance(parent, JaxModule):  # this may be "from parent import name", or a module
            near = lazy.did_you_mean(name, parent.__all__)
            raise ModuleNotFoundError(
                f"'{home}' has neither a name nor a module '{name}': in this process jax is "
                f"tinyjax (tinyjax.as_jax).{near} {_LISTS}"
            )
        raise ModuleNotFoundError(
            f"there is no module '{fullname}': in this process jax is tinyjax (tinyjax.as_jax). "
            f"{_LISTS}"
        )


#: The modules that define tracers, which programs may see.
_OF_TRACERS: Final = ("core.tracing.staging", "core.transforms.jvp", "core.transforms.batching")


def name_modules(kind: type) -> None:
    """Say of a class and of those below it that they are JAX's: programs look whose an array is."""
    kind.__module__ = "jax"
    kinds: list[type] = kind.__subclasses__()
    for below in kinds:
        name_modules(below)


def name_namespace() -> None:
    """Let arrays say that their functions are those of ``jax.numpy``: programs look for it."""
    of_array = Array.__array_namespace__

    def of_jax(self: Array, *, api_version: str | None = None) -> Any:
        of_array(self, api_version=api_version)  # raises where there is no such version
        return import_module("jax.numpy")

    vars_of: Any = Array
    vars_of.__array_namespace__ = of_jax


def install() -> None:
    """Make ``import jax`` mean tinyjax from here on; once it does, do nothing.

    JAX's variables in the environment are heeded as ``config.update`` heeds its settings. As in JAX
    there are no 64-bit types then, unless JAX_ENABLE_X64 is set, or the settings say that they are
    the default.

    Raises:
        ImportError: jax has been imported.
    """
    if any(isinstance(finder, Finder) for finder in sys.meta_path):
        return
    if "jax" in sys.modules:
        raise ImportError(
            "tinyjax.as_jax was imported after jax: this process has JAX's modules already, and "
            "whoever imported them keeps them. Import tinyjax.as_jax first, before any library "
            "that imports jax."
        )
    config.heed_environment(warn=False)
    if config.settings().default_dtypes != "float64":
        config.update("jax_enable_x64", False)
    give_attributes()
    for module in _OF_TRACERS:
        import_module(f"tinyjax.{module}")
    name_modules(Array)
    name_namespace()
    show_key_types()
    config.follows_jax = True
    sys.meta_path.insert(0, Finder())
