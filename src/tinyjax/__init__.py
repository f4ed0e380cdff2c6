"""tinyjax: JAX from scratch, on one typed mechanism.

Composable ``jit``, ``grad`` and ``vmap`` over NumPy and XLA: eager programs run at NumPy's speed,
compiled ones through ``jaxlib``. Written so that ``import tinyjax as jax`` and
``import tinyjax.numpy as jnp`` port a program.
"""

from __future__ import annotations

from tinyjax import config
from tinyjax._base.lazy import namespace, why_missing

if config.settings().typecheck:
    # Before any other module is loaded, so that all of them are instrumented.
    from typeguard import install_import_hook

    install_import_hook("tinyjax")

    from tinyjax.core.tracing.checking import instruct_typeguard

    instruct_typeguard()

from tinyjax import _startup as _startup
from tinyjax.core.jit.decorator import jit as jit  # a package has this name, too

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "tinyjax.core.api": (
            "block_until_ready device_get device_put eval_shape grad jacfwd jacrev jvp linearize "
            "make_jaxpr value_and_grad vjp vmap"
        ),
        "autodiff": "hessian jacobian",
        "tinyjax.autodiff.transposition": "linear_transpose",
        "tinyjax._extensions.callbacks": "error_if io_callback pure_callback",
        "tinyjax._extensions.checkpointing": (
            "checkpoint checkpoint_name print_saved_residuals remat saved_residuals"
        ),
        "config": (
            "allow_f16_reductions array_garbage_collection_guard check_tracer_leaks "
            "checking_leaks debug_bounds debug_infs debug_key_reuse debug_nans default_dtypes "
            "default_matmul_precision default_prng_impl disable_jit enable_checks "
            "enable_custom_prng enable_x64 explain_cache_misses "
            "jax2tf_associative_scan_reductions legacy_prng_key log_compiles make_user_context "
            "no_execution no_tracing numpy_dtype_promotion numpy_rank_promotion "
            "softmax_custom_jvp thread_guard threefry_partitionable transfer_guard "
            "transfer_guard_device_to_device transfer_guard_device_to_host "
            "transfer_guard_host_to_device"
        ),
        "custom_derivatives": (
            "closure_convert custom_batch custom_derivative custom_gradient custom_jvp custom_vjp"
        ),
        "dtypes": "float0",
        "tinyjax._tools.exploring": "draw explore",
        "tinyjax.core.jit": "jit",
        "ref": "empty_ref",
        "version": "__version__",
        "tinyjax._toplevel": (
            "clear_caches copy_to_host_async default_backend default_device device_count devices "
            "effects_barrier fwd_and_bwd host_count host_id host_ids "
            "live_arrays local_device_count local_devices named_call named_scope "
            "print_environment_info process_count process_index process_indices typeof"
        ),
        "tinyjax.core.values.array": "Array",
        "tinyjax._extensions.parallel.sharded_array": "Shard",
        "tinyjax.core.tracing.staging": "ensure_compile_time_eval",
        "tinyjax.core.values.avals": "ShapeDtypeStruct",
        "tinyjax.core.devices": "Device",
        "tinyjax._extensions.parallel.sharding": "P",
        "tinyjax._extensions.state.references": "Ref free_ref freeze new_ref",
        "tinyjax._extensions.parallel.meshes": "make_mesh set_mesh",
        "tinyjax._extensions.parallel.named_sharding": "NamedSharding",
        "tinyjax.core.jit.stages": "precompile",
        "tinyjax._extensions.parallel.constraint": "reshard",
        "tinyjax._extensions.parallel.pmap": "pmap",
        "tinyjax._extensions.parallel.shard_map": "shard_map smap",
        "tinyjax._extensions.parallel.putting": (
            "make_array_from_callback make_array_from_process_local_data "
            "make_array_from_single_device_arrays"
        ),
        "": (
            "accuracy ad ad_checkpoint autodiff cache checkpoint_policies config core "
            "custom_batching custom_derivatives debug distributed dlpack dtypes errors "
            "example_libraries experimental export extend ffi flatten_util image implicit lax "
            "memory monitoring nn numpy ops profiler random ref scipy sharding source stages "
            "test_util testing tree tree_util typing version"
        ),
    },
    why_missing("ABSENT"),
)
