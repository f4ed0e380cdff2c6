"""tinyjax: JAX's core, typed and small.

Composable ``jit``, ``grad`` and ``vmap`` over NumPy and XLA: eager programs run at NumPy's speed,
compiled ones through ``jaxlib``. Written so that ``import tinyjax as jax`` and
``import tinyjax.numpy as jnp`` port a program.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

from tinyjax import config
from tinyjax.lazy import loader

if config.settings().typecheck:
    # Before any other module is loaded, so that all of them are instrumented.
    from typeguard import install_import_hook

    install_import_hook("tinyjax")

    from tinyjax.core.checking import instruct_typeguard

    instruct_typeguard()

from tinyjax import dtypes, errors, numpy, tree
from tinyjax.config import (
    allow_f16_reductions,
    array_garbage_collection_guard,
    check_tracer_leaks,
    checking_leaks,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_dtypes,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    jax2tf_associative_scan_reductions,
    legacy_prng_key,
    log_compiles,
    make_user_context,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    softmax_custom_jvp,
    thread_guard,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from tinyjax.core.array import Array, install_namespace, mover
from tinyjax.core.avals import ShapeDtypeStruct
from tinyjax.core.trace import choose_base
from tinyjax.dtypes import float0
from tinyjax.jit import companions, install_staging, jit
from tinyjax.version import __version__ as __version__

if TYPE_CHECKING:
    from tinyjax import ad as ad
    from tinyjax import ad_checkpoint as ad_checkpoint
    from tinyjax import autodiff as autodiff
    from tinyjax import cache as cache
    from tinyjax import core as core
    from tinyjax import custom_batching as custom_batching
    from tinyjax import custom_derivatives as custom_derivatives
    from tinyjax import debug as debug
    from tinyjax import distributed as distributed
    from tinyjax import dlpack as dlpack
    from tinyjax import example_libraries as example_libraries
    from tinyjax import experimental as experimental
    from tinyjax import export as export
    from tinyjax import extend as extend
    from tinyjax import ffi as ffi
    from tinyjax import flatten_util as flatten_util
    from tinyjax import image as image
    from tinyjax import implicit as implicit
    from tinyjax import lax as lax
    from tinyjax import memory as memory
    from tinyjax import monitoring as monitoring
    from tinyjax import nn as nn
    from tinyjax import ops as ops
    from tinyjax import profiler as profiler
    from tinyjax import random as random
    from tinyjax import ref as ref
    from tinyjax import scipy as scipy
    from tinyjax import sharding as sharding
    from tinyjax import source as source
    from tinyjax import stages as stages
    from tinyjax import test_util as test_util
    from tinyjax import testing as testing
    from tinyjax import tree_util as tree_util
    from tinyjax import typing as typing
    from tinyjax import version as version
    from tinyjax.api import block_until_ready as block_until_ready
    from tinyjax.api import device_get as device_get
    from tinyjax.api import device_put as device_put
    from tinyjax.api import eval_shape as eval_shape
    from tinyjax.api import grad as grad
    from tinyjax.api import hessian as hessian
    from tinyjax.api import jacfwd as jacfwd
    from tinyjax.api import jacrev as jacrev
    from tinyjax.api import jvp as jvp
    from tinyjax.api import linear_transpose as linear_transpose
    from tinyjax.api import linearize as linearize
    from tinyjax.api import make_jaxpr as make_jaxpr
    from tinyjax.api import pmap as pmap
    from tinyjax.api import value_and_grad as value_and_grad
    from tinyjax.api import vjp as vjp
    from tinyjax.api import vmap as vmap
    from tinyjax.api.shards import make_array_from_callback as make_array_from_callback
    from tinyjax.api.shards import (
        make_array_from_process_local_data as make_array_from_process_local_data,
    )
    from tinyjax.api.shards import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from tinyjax.autodiff import jacobian as jacobian
    from tinyjax.callbacks import error_if as error_if
    from tinyjax.callbacks import io_callback as io_callback
    from tinyjax.callbacks import pure_callback as pure_callback
    from tinyjax.checkpointing import checkpoint as checkpoint
    from tinyjax.checkpointing import checkpoint_name as checkpoint_name
    from tinyjax.checkpointing import checkpoint_policies as checkpoint_policies
    from tinyjax.checkpointing import print_saved_residuals as print_saved_residuals
    from tinyjax.checkpointing import remat as remat
    from tinyjax.checkpointing import saved_residuals as saved_residuals
    from tinyjax.core.array import Shard as Shard
    from tinyjax.core.devices import Device as Device
    from tinyjax.core.devices import P as P
    from tinyjax.core.refs import Ref as Ref
    from tinyjax.core.refs import free_ref as free_ref
    from tinyjax.core.refs import freeze as freeze
    from tinyjax.core.refs import new_ref as new_ref
    from tinyjax.core.sharding import NamedSharding as NamedSharding
    from tinyjax.core.sharding import make_mesh as make_mesh
    from tinyjax.core.sharding import set_mesh as set_mesh
    from tinyjax.custom_derivatives import closure_convert as closure_convert
    from tinyjax.custom_derivatives import custom_batch as custom_batch
    from tinyjax.custom_derivatives import custom_derivative as custom_derivative
    from tinyjax.custom_derivatives import custom_gradient as custom_gradient
    from tinyjax.custom_derivatives import custom_jvp as custom_jvp
    from tinyjax.custom_derivatives import custom_vjp as custom_vjp
    from tinyjax.exploring import draw as draw
    from tinyjax.exploring import explore as explore
    from tinyjax.jit.constraint import reshard as reshard
    from tinyjax.jit.stages import precompile as precompile
    from tinyjax.ref import empty_ref as empty_ref
    from tinyjax.spmd import shard_map as shard_map
    from tinyjax.spmd import smap as smap
    from tinyjax.toplevel import *

install_namespace(numpy)
mover[:] = [lambda x, where, function: import_module("tinyjax.api.arrays").put(x, where, function)]
companions[:] = [
    *("tinyjax.api.gradients", "tinyjax.numpy.contraction", "tinyjax.numpy.indexing"),
    *("tinyjax.numpy.lookups", "tinyjax.numpy.reductions", "tinyjax.numpy.selection"),
    *("tinyjax.api.mapping", "tinyjax.control_flow.scan", "tinyjax.control_flow.loops"),
]
install_staging(lambda fun: import_module("tinyjax.source").stage(fun))


def _evaluate_as_set(current: config.Settings) -> Callable[[], None]:
    """Load the debugger when the settings first ask for it, and choose the trace that evaluates."""
    if current.debugging:
        import_module("tinyjax.nans")
    return choose_base(current)


config.follow(_evaluate_as_set)

# What many programs do not use is loaded when first asked for.
_LATER: Final = {
    "api": (
        "block_until_ready device_get device_put eval_shape grad hessian jacfwd jacrev jvp "
        "linear_transpose linearize make_jaxpr pmap value_and_grad vjp vmap"
    ),
    "tinyjax.api.shards": (
        "make_array_from_callback make_array_from_process_local_data "
        "make_array_from_single_device_arrays"
    ),
    "autodiff": "jacobian",
    "tinyjax.core.array": "Shard",
    "tinyjax.core.devices": "Device P",
    "tinyjax.core.sharding": "NamedSharding make_mesh set_mesh",
    "tinyjax.core.refs": "Ref free_ref freeze new_ref",
    "ref": "empty_ref",
    "tinyjax.jit.constraint": "reshard",
    "tinyjax.jit.stages": "precompile",
    "spmd": "shard_map smap",
    "callbacks": "error_if io_callback pure_callback",
    "checkpointing": (
        "checkpoint checkpoint_name checkpoint_policies print_saved_residuals remat saved_residuals"
    ),
    "custom_derivatives": (
        "closure_convert custom_batch custom_derivative custom_gradient custom_jvp custom_vjp"
    ),
    "exploring": "draw explore",
    "toplevel": (
        "clear_caches copy_to_host_async default_backend default_device device_count devices "
        "effects_barrier ensure_compile_time_eval fwd_and_bwd host_count host_id host_ids "
        "live_arrays local_device_count local_devices named_call named_scope "
        "print_environment_info process_count process_index process_indices typeof"
    ),
}

__all__ = [
    "Array",
    "Device",
    "NamedSharding",
    "P",
    "Ref",
    "ShapeDtypeStruct",
    "Shard",
    "ad",
    "ad_checkpoint",
    "allow_f16_reductions",
    "array_garbage_collection_guard",
    "autodiff",
    "block_until_ready",
    "cache",
    "check_tracer_leaks",
    "checking_leaks",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "clear_caches",
    "closure_convert",
    "config",
    "copy_to_host_async",
    "core",
    "custom_batch",
    "custom_batching",
    "custom_derivative",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_backend",
    "default_device",
    "default_dtypes",
    "default_matmul_precision",
    "default_prng_impl",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "disable_jit",
    "distributed",
    "dlpack",
    "draw",
    "dtypes",
    "effects_barrier",
    "empty_ref",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "ensure_compile_time_eval",
    "error_if",
    "errors",
    "eval_shape",
    "example_libraries",
    "experimental",
    "explain_cache_misses",
    "explore",
    "export",
    "extend",
    "ffi",
    "flatten_util",
    "float0",
    "free_ref",
    "freeze",
    "fwd_and_bwd",
    "grad",
    "hessian",
    "host_count",
    "host_id",
    "host_ids",
    "image",
    "implicit",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jax2tf_associative_scan_reductions",
    "jit",
    "jvp",
    "lax",
    "legacy_prng_key",
    "linear_transpose",
    "linearize",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "log_compiles",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "make_jaxpr",
    "make_mesh",
    "make_user_context",
    "memory",
    "monitoring",
    "named_call",
    "named_scope",
    "new_ref",
    "nn",
    "no_execution",
    "no_tracing",
    "numpy",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "ops",
    "pmap",
    "precompile",
    "print_environment_info",
    "print_saved_residuals",
    "process_count",
    "process_index",
    "process_indices",
    "profiler",
    "pure_callback",
    "random",
    "ref",
    "remat",
    "reshard",
    "saved_residuals",
    "scipy",
    "set_mesh",
    "shard_map",
    "sharding",
    "smap",
    "softmax_custom_jvp",
    "source",
    "stages",
    "test_util",
    "testing",
    "thread_guard",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
    "tree",
    "tree_util",
    "typeof",
    "typing",
    "value_and_grad",
    "version",
    "vjp",
    "vmap",
]


def _why_missing(name: str) -> str:
    why = import_module("tinyjax.absent").ABSENT.get(name)
    return f" It is JAX's, and not here: {why}. docs/jax_api.md lists all." if why else ""


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, {"": " ".join(__all__), **_LATER}, _why_missing)


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__version__"])
