"""JAX's settings: those that are settings here, have one meaning, or make no difference.

Programs set them by ``config.update("jax_...", value)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

# fmt: off
#: The settings below that have one meaning, or may be anything, as type checkers know them.
OneMeaning: TypeAlias = Literal[
    "eager_constant_folding", "jax2tf_associative_scan_reductions",
    "jax2tf_default_native_serialization", "jax_allow_f16_reductions",
    "jax_array_garbage_collection_guard", "jax_auto_pcast", "jax_backend_target",
    "jax_bcoo_cusparse_lowering", "jax_captured_constants_report_frames",
    "jax_captured_constants_warn_bytes", "jax_check_proxy_envs", "jax_check_static_indices",
    "jax_compilation_cache_check_contents", "jax_compilation_cache_expect_pgle",
    "jax_compilation_cache_include_metadata_in_key", "jax_compiler_detailed_logging_min_ops",
    "jax_compiler_enable_remat_pass", "jax_cpu_collectives_implementation",
    "jax_cpu_enable_async_dispatch", "jax_cpu_get_global_topology_timeout_minutes",
    "jax_cpu_get_local_topology_timeout_minutes", "jax_cross_host_transfer_socket_address",
    "jax_cross_host_transfer_timeout_seconds", "jax_cross_host_transfer_transfer_size",
    "jax_cross_host_transport_addresses", "jax_cuda_visible_devices", "jax_custom_vjp3",
    "jax_debug_leaked_clients_on_clear_backends", "jax_debug_log_modules",
    "jax_disable_most_optimizations", "jax_disable_vmap_shmap_error",
    "jax_disallow_mesh_context_manager",
    "jax_distributed_debug", "jax_dump_ir_modes", "jax_dump_ir_to",
    "jax_embedded_constants_max_bytes", "jax_enable_custom_prng", "jax_enable_pgle",
    "jax_enable_preemption_service", "jax_enable_recoverability",
    "jax_error_checking_behavior_divide", "jax_error_checking_behavior_nan",
    "jax_error_checking_behavior_oob", "jax_exec_time_optimization_effort",
    "jax_experimental_unsafe_xla_runtime_errors", "jax_explicit_x64_dtypes",
    "jax_export_calling_convention_version", "jax_export_ignore_forward_compatibility",
    "jax_force_dcn_cross_host_transfers", "jax_high_dynamic_range_gumbel",
    "jax_hlo_source_file_canonicalization_regex", "jax_include_debug_info_in_dumps",
    "jax_include_full_tracebacks_in_locations", "jax_legacy_prng_key",
    "jax_log_checkpoint_residuals", "jax_logging_level", "jax_memory_fitting_effort",
    "jax_memory_fitting_level", "jax_mutable_array_checks", "jax_no_execution",
    "jax_no_tracing", "jax_oneapi_visible_devices", "jax_optimization_level",
    "jax_persistent_cache_enable_xla_caches", "jax_persistent_cache_min_compile_time_secs",
    "jax_persistent_cache_min_entry_size_bytes", "jax_pgle_aggregation_percentile",
    "jax_pgle_profiling_runs", "jax_platform_name", "jax_pprint_use_color",
    "jax_ragged_dot_use_gpu_pallas_triton_lowering",
    "jax_ragged_dot_use_ragged_dot_instruction", "jax_raise_persistent_cache_errors",
    "jax_random_seed_offset", "jax_refs_to_pins", "jax_remat3",
    "jax_remove_custom_partitioning_ptr_from_cache_key",
    "jax_remove_size_one_mesh_axis_from_type", "jax_rocm_visible_devices", "jax_scan3",
    "jax_send_traceback_to_runtime", "jax_serialization_version",
    "jax_share_binary_between_hosts", "jax_share_binary_between_hosts_timeout_ms",
    "jax_softmax_custom_jvp", "jax_sort_devices_by_process_index", "jax_source_url_schema",
    "jax_thread_guard", "jax_threefry_gpu_kernel_lowering", "jax_traceback_in_locations_limit",
    "jax_tracer_error_num_traceback_frames", "jax_use_direct_linearize", "jax_use_magma",
    "jax_use_shardy_partitioner", "jax_use_simplified_jaxpr_constants", "jax_xla_backend",
    "jax_xla_profile_version",
]
# fmt: on

#: JAX's settings that are settings here, by another name.
RENAMED: Final = {
    "jax_enable_x64": "default_dtypes",
    "jax_debug_nans": "debug_nans",
    "jax_debug_infs": "debug_infs",
    "jax_debug_key_reuse": "debug_key_reuse",
    "jax_check_tracer_leaks": "check_leaks",
    "jax_enable_checks": "check_jaxprs",
    "jax_numpy_dtype_promotion": "dtype_promotion",
    "jax_numpy_rank_promotion": "rank_promotion",
    "jax_threefry_partitionable": "threefry_partitionable",
    "jax_explain_cache_misses": "explain",
    "jax_log_compiles": "explain",
    "jax_compilation_cache_dir": "cache_dir",
    "jax_compilation_cache_max_size": "cache_max_bytes",
    "jax_default_prng_impl": "default_prng_impl",
    "jax_default_matmul_precision": "default_matmul_precision",
    "jax_disable_jit": "disable_jit",
    "jax_disable_bwd_checks": "disable_bwd_checks",
    "jax_num_cpu_devices": "num_cpu_devices",
    "jax_default_device": "default_device",
    "jax_platforms": "platforms",
    "jax_traceback_filtering": "tracebacks",
    "jax_transfer_guard": "transfers_to_device",
    "jax_transfer_guard_host_to_device": "transfers_to_device",
    "jax_transfer_guard_device_to_device": "transfers_between_devices",
    "jax_transfer_guard_device_to_host": "transfers_to_host",
}

#: The settings that ``jax_transfer_guard`` changes.
TRANSFERS: Final = ("transfers_to_device", "transfers_between_devices", "transfers_to_host")

#: What ``default_matmul_precision`` may be besides None.
PRECISIONS: Final[tuple[str, ...]] = (
    *("default", "high", "highest", "fastest", "bfloat16", "bfloat16_3x"),
    *("tensorfloat32", "float32", "DEFAULT", "F16_F16_F16", "F16_F16_F32"),
    *("BF16_BF16_BF16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"),
    *("BF16_BF16_F32_X9", "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32"),
    *("F64_F64_F64", "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM"),
    *("ANY_F8_ANY_F8_ANY", "ANY_F8_ANY_F8_ANY_FAST_ACCUM"),
)

#: JAX's settings that have one meaning here: what they may be set to, and why nothing else.
FIXED: Final[dict[str, tuple[tuple[object, ...], str]]] = {
    "jax_platform_name": (("cpu", "", None), "it is an old name of jax_platforms"),
    "jax_enable_custom_prng": ((False,), "PRNGKey makes raw keys, and key typed ones"),
    "jax_legacy_prng_key": (("allow",), "raw keys are as good as typed ones"),
    "jax_softmax_custom_jvp": ((True, False), "the derivative of softmax is always the stable one"),
    "jax_allow_f16_reductions": ((True,), "sums of 16-bit floats are allowed, and kept in 32"),
    "jax_no_tracing": ((False,), "tinyjax.no_tracing() forbids tracing for a block"),
    "jax_use_direct_linearize": ((True,), "derivatives are linearized directly"),
    "jax_no_execution": ((False,), "programs run when they are called"),
    "jax_array_garbage_collection_guard": (("allow", None), "arrays hold no cycles"),
    "jax_remat3": ((True, False), "rules of checkpoint are pulled back as everywhere else"),
    "jax_thread_guard": ((False,), "arrays may be used from any thread"),
    "jax2tf_associative_scan_reductions": ((False,), "there is no jax2tf"),
    "jax_xla_backend": (("", None), "programs run on the CPU"),
    "jax_backend_target": (("", None), "programs run on the CPU"),
    "jax_cpu_collectives_implementation": (("gloo",), "processes are connected by Gloo"),
    "jax_enable_recoverability": ((False,), "a process that fails ends the group"),
    "jax_disallow_mesh_context_manager": ((False,), "a mesh is a context manager"),
    "jax_random_seed_offset": ((0,), "seeds are taken as they are"),
    "jax_high_dynamic_range_gumbel": ((False,), 'gumbel(key, mode="high") asks for it'),
    "jax_explicit_x64_dtypes": ((1,), "64-bit types are there, or a warning says that not"),
    "jax_check_static_indices": ((False,), "debug_bounds looks at indices"),
    "jax_error_checking_behavior_nan": (("ignore",), "debug_nans looks for NaNs"),
    "jax_error_checking_behavior_divide": (("ignore",), "checkify checks divisors"),
    "jax_error_checking_behavior_oob": (("ignore",), "debug_bounds looks at indices"),
    "jax_log_checkpoint_residuals": ((False,), "print_saved_residuals prints them"),
    "jax_dump_ir_to": (("", None), "jit(f).lower(...).as_text() is a program's text"),
}

#: JAX's settings that have no meaning here, and why.
ABSENT: Final = {
    **dict.fromkeys(
        (
            *("jax_pallas_enable_debug_checks", "jax_pallas_poison_buffers"),
            *("jax_pallas_use_mosaic_gpu", "jax_pallas_verbose_errors"),
            *("jax_mosaic_allow_hlo", "jax_use_emit_pipeline_primitive"),
        ),
        "tinyjax has no Pallas",
    ),
    "jax_mock_gpu_topology": "num_cpu_devices divides the processor into devices",
    "jax_pjrt_client_create_options": "XLA_FLAGS has options of XLA's",
}

#: JAX's settings that may be anything: what they choose makes no difference here.
IDLE: Final[Mapping[str, object]] = {
    # every program is kept, and nothing of the GPU's
    "jax_persistent_cache_min_compile_time_secs": 0,
    "jax_persistent_cache_min_entry_size_bytes": 0,
    "jax_persistent_cache_enable_xla_caches": "none",
    "jax_logging_level": None,  # the logger is `tinyjax`, which has a level as all have
    "jax_debug_log_modules": "",
    "jax_cpu_enable_async_dispatch": False,  # eager operations are done when they return
    "jax_pprint_use_color": False,
    # captured arrays are arguments
    "jax_captured_constants_warn_bytes": -1,
    "jax_captured_constants_report_frames": 0,
    "jax_use_simplified_jaxpr_constants": False,
    "jax_embedded_constants_max_bytes": 32,
    # hints for compilers: tinyjax's own are `effort` and `compiler_options`
    "jax_optimization_level": "UNKNOWN",
    "jax_exec_time_optimization_effort": 0.0,
    "jax_memory_fitting_level": "O2",
    "jax_memory_fitting_effort": 0.0,
    "jax_disable_most_optimizations": False,
    "jax_compiler_enable_remat_pass": True,
    "jax_compiler_detailed_logging_min_ops": 10,
    "jax_use_shardy_partitioner": True,
    "jax_xla_profile_version": 0,
    "jax_experimental_unsafe_xla_runtime_errors": False,
    "eager_constant_folding": False,
    # details of the cache on disk, whose files hold what was compiled and nothing else
    "jax_raise_persistent_cache_errors": False,
    "jax_compilation_cache_include_metadata_in_key": False,
    "jax_compilation_cache_check_contents": False,
    "jax_remove_custom_partitioning_ptr_from_cache_key": False,
    "jax_share_binary_between_hosts": False,
    "jax_share_binary_between_hosts_timeout_ms": 1_200_000,
    # how much programs, errors and logs say of where they come from
    "jax_include_full_tracebacks_in_locations": True,
    "jax_traceback_in_locations_limit": 100,
    "jax_tracer_error_num_traceback_frames": 5,
    "jax_hlo_source_file_canonicalization_regex": None,
    "jax_source_url_schema": None,
    "jax_send_traceback_to_runtime": "off",
    "jax_include_debug_info_in_dumps": True,
    "jax_dump_ir_modes": "stablehlo",
    "jax_distributed_debug": False,
    "jax_debug_leaked_clients_on_clear_backends": False,
    # how JAX traces
    "jax_scan3": False,
    "jax_custom_vjp3": False,
    "jax_refs_to_pins": False,
    "jax_auto_pcast": True,
    "jax_mutable_array_checks": True,
    "jax_disable_vmap_shmap_error": False,
    "jax_remove_size_one_mesh_axis_from_type": False,
    # how JAX writes exported programs
    "jax_serialization_version": 0,
    "jax_export_calling_convention_version": 10,
    "jax_export_ignore_forward_compatibility": False,
    "jax2tf_default_native_serialization": True,
    # processors other than the CPU, and networks
    "jax_enable_pgle": False,
    "jax_pgle_profiling_runs": 3,
    "jax_pgle_aggregation_percentile": 90,
    "jax_compilation_cache_expect_pgle": False,
    "jax_use_magma": "auto",
    "jax_threefry_gpu_kernel_lowering": False,
    "jax_bcoo_cusparse_lowering": False,
    "jax_ragged_dot_use_ragged_dot_instruction": True,
    "jax_ragged_dot_use_gpu_pallas_triton_lowering": False,
    "jax_cuda_visible_devices": "all",
    "jax_rocm_visible_devices": "all",
    "jax_oneapi_visible_devices": "all",
    "jax_force_dcn_cross_host_transfers": False,
    "jax_cross_host_transfer_socket_address": "",
    "jax_cross_host_transport_addresses": "",
    "jax_cross_host_transfer_timeout_seconds": None,
    "jax_cross_host_transfer_transfer_size": None,
    "jax_sort_devices_by_process_index": True,
    "jax_cpu_get_local_topology_timeout_minutes": 2,
    "jax_cpu_get_global_topology_timeout_minutes": 5,
    "jax_enable_preemption_service": True,
    "jax_check_proxy_envs": True,
}
