# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax import accuracy as accuracy
from tinyjax import ad as ad
from tinyjax import ad_checkpoint as ad_checkpoint
from tinyjax import autodiff as autodiff
from tinyjax import cache as cache
from tinyjax import checkpoint_policies as checkpoint_policies
from tinyjax import config as config
from tinyjax import core as core
from tinyjax import custom_batching as custom_batching
from tinyjax import custom_derivatives as custom_derivatives
from tinyjax import debug as debug
from tinyjax import distributed as distributed
from tinyjax import dlpack as dlpack
from tinyjax import dtypes as dtypes
from tinyjax import errors as errors
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
from tinyjax import numpy as numpy
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
from tinyjax import tree as tree
from tinyjax import tree_util as tree_util
from tinyjax import typing as typing
from tinyjax import version as version
from tinyjax._extensions.callbacks import error_if as error_if
from tinyjax._extensions.callbacks import io_callback as io_callback
from tinyjax._extensions.callbacks import pure_callback as pure_callback
from tinyjax._extensions.checkpointing import checkpoint as checkpoint
from tinyjax._extensions.checkpointing import checkpoint_name as checkpoint_name
from tinyjax._extensions.checkpointing import print_saved_residuals as print_saved_residuals
from tinyjax._extensions.checkpointing import remat as remat
from tinyjax._extensions.checkpointing import saved_residuals as saved_residuals
from tinyjax._extensions.parallel.constraint import reshard as reshard
from tinyjax._extensions.parallel.meshes import make_mesh as make_mesh
from tinyjax._extensions.parallel.meshes import set_mesh as set_mesh
from tinyjax._extensions.parallel.named_sharding import NamedSharding as NamedSharding
from tinyjax._extensions.parallel.pmap import pmap as pmap
from tinyjax._extensions.parallel.putting import make_array_from_callback as make_array_from_callback
from tinyjax._extensions.parallel.putting import make_array_from_process_local_data as make_array_from_process_local_data
from tinyjax._extensions.parallel.putting import make_array_from_single_device_arrays as make_array_from_single_device_arrays
from tinyjax._extensions.parallel.shard_map import shard_map as shard_map
from tinyjax._extensions.parallel.shard_map import smap as smap
from tinyjax._extensions.parallel.sharded_array import Shard as Shard
from tinyjax._extensions.parallel.sharding import P as P
from tinyjax._extensions.state.references import Ref as Ref
from tinyjax._extensions.state.references import free_ref as free_ref
from tinyjax._extensions.state.references import freeze as freeze
from tinyjax._extensions.state.references import new_ref as new_ref
from tinyjax._tools.exploring import draw as draw
from tinyjax._tools.exploring import explore as explore
from tinyjax._toplevel import clear_caches as clear_caches
from tinyjax._toplevel import copy_to_host_async as copy_to_host_async
from tinyjax._toplevel import default_backend as default_backend
from tinyjax._toplevel import default_device as default_device
from tinyjax._toplevel import device_count as device_count
from tinyjax._toplevel import devices as devices
from tinyjax._toplevel import effects_barrier as effects_barrier
from tinyjax._toplevel import fwd_and_bwd as fwd_and_bwd
from tinyjax._toplevel import host_count as host_count
from tinyjax._toplevel import host_id as host_id
from tinyjax._toplevel import host_ids as host_ids
from tinyjax._toplevel import live_arrays as live_arrays
from tinyjax._toplevel import local_device_count as local_device_count
from tinyjax._toplevel import local_devices as local_devices
from tinyjax._toplevel import named_call as named_call
from tinyjax._toplevel import named_scope as named_scope
from tinyjax._toplevel import print_environment_info as print_environment_info
from tinyjax._toplevel import process_count as process_count
from tinyjax._toplevel import process_index as process_index
from tinyjax._toplevel import process_indices as process_indices
from tinyjax._toplevel import typeof as typeof
from tinyjax.autodiff import hessian as hessian
from tinyjax.autodiff import jacobian as jacobian
from tinyjax.autodiff.transposition import linear_transpose as linear_transpose
from tinyjax.config import allow_f16_reductions as allow_f16_reductions
from tinyjax.config import array_garbage_collection_guard as array_garbage_collection_guard
from tinyjax.config import check_tracer_leaks as check_tracer_leaks
from tinyjax.config import checking_leaks as checking_leaks
from tinyjax.config import debug_bounds as debug_bounds
from tinyjax.config import debug_infs as debug_infs
from tinyjax.config import debug_key_reuse as debug_key_reuse
from tinyjax.config import debug_nans as debug_nans
from tinyjax.config import default_dtypes as default_dtypes
from tinyjax.config import default_matmul_precision as default_matmul_precision
from tinyjax.config import default_prng_impl as default_prng_impl
from tinyjax.config import disable_jit as disable_jit
from tinyjax.config import enable_checks as enable_checks
from tinyjax.config import enable_custom_prng as enable_custom_prng
from tinyjax.config import enable_x64 as enable_x64
from tinyjax.config import explain_cache_misses as explain_cache_misses
from tinyjax.config import jax2tf_associative_scan_reductions as jax2tf_associative_scan_reductions
from tinyjax.config import legacy_prng_key as legacy_prng_key
from tinyjax.config import log_compiles as log_compiles
from tinyjax.config import make_user_context as make_user_context
from tinyjax.config import no_execution as no_execution
from tinyjax.config import no_tracing as no_tracing
from tinyjax.config import numpy_dtype_promotion as numpy_dtype_promotion
from tinyjax.config import numpy_rank_promotion as numpy_rank_promotion
from tinyjax.config import softmax_custom_jvp as softmax_custom_jvp
from tinyjax.config import thread_guard as thread_guard
from tinyjax.config import threefry_partitionable as threefry_partitionable
from tinyjax.config import transfer_guard as transfer_guard
from tinyjax.config import transfer_guard_device_to_device as transfer_guard_device_to_device
from tinyjax.config import transfer_guard_device_to_host as transfer_guard_device_to_host
from tinyjax.config import transfer_guard_host_to_device as transfer_guard_host_to_device
from tinyjax.core.api import block_until_ready as block_until_ready
from tinyjax.core.api import device_get as device_get
from tinyjax.core.api import device_put as device_put
from tinyjax.core.api import eval_shape as eval_shape
from tinyjax.core.api import grad as grad
from tinyjax.core.api import jacfwd as jacfwd
from tinyjax.core.api import jacrev as jacrev
from tinyjax.core.api import jvp as jvp
from tinyjax.core.api import linearize as linearize
from tinyjax.core.api import make_jaxpr as make_jaxpr
from tinyjax.core.api import value_and_grad as value_and_grad
from tinyjax.core.api import vjp as vjp
from tinyjax.core.api import vmap as vmap
from tinyjax.core.devices import Device as Device
from tinyjax.core.jit import jit as jit
from tinyjax.core.jit.stages import precompile as precompile
from tinyjax.core.tracing.staging import ensure_compile_time_eval as ensure_compile_time_eval
from tinyjax.core.values.array import Array as Array
from tinyjax.core.values.avals import ShapeDtypeStruct as ShapeDtypeStruct
from tinyjax.custom_derivatives import closure_convert as closure_convert
from tinyjax.custom_derivatives import custom_batch as custom_batch
from tinyjax.custom_derivatives import custom_derivative as custom_derivative
from tinyjax.custom_derivatives import custom_gradient as custom_gradient
from tinyjax.custom_derivatives import custom_jvp as custom_jvp
from tinyjax.custom_derivatives import custom_vjp as custom_vjp
from tinyjax.dtypes import float0 as float0
from tinyjax.ref import empty_ref as empty_ref
from tinyjax.version import __version__ as __version__

__all__ = [
    'Array',
    'Device',
    'NamedSharding',
    'P',
    'Ref',
    'ShapeDtypeStruct',
    'Shard',
    '__version__',
    'accuracy',
    'ad',
    'ad_checkpoint',
    'allow_f16_reductions',
    'array_garbage_collection_guard',
    'autodiff',
    'block_until_ready',
    'cache',
    'check_tracer_leaks',
    'checking_leaks',
    'checkpoint',
    'checkpoint_name',
    'checkpoint_policies',
    'clear_caches',
    'closure_convert',
    'config',
    'copy_to_host_async',
    'core',
    'custom_batch',
    'custom_batching',
    'custom_derivative',
    'custom_derivatives',
    'custom_gradient',
    'custom_jvp',
    'custom_vjp',
    'debug',
    'debug_bounds',
    'debug_infs',
    'debug_key_reuse',
    'debug_nans',
    'default_backend',
    'default_device',
    'default_dtypes',
    'default_matmul_precision',
    'default_prng_impl',
    'device_count',
    'device_get',
    'device_put',
    'devices',
    'disable_jit',
    'distributed',
    'dlpack',
    'draw',
    'dtypes',
    'effects_barrier',
    'empty_ref',
    'enable_checks',
    'enable_custom_prng',
    'enable_x64',
    'ensure_compile_time_eval',
    'error_if',
    'errors',
    'eval_shape',
    'example_libraries',
    'experimental',
    'explain_cache_misses',
    'explore',
    'export',
    'extend',
    'ffi',
    'flatten_util',
    'float0',
    'free_ref',
    'freeze',
    'fwd_and_bwd',
    'grad',
    'hessian',
    'host_count',
    'host_id',
    'host_ids',
    'image',
    'implicit',
    'io_callback',
    'jacfwd',
    'jacobian',
    'jacrev',
    'jax2tf_associative_scan_reductions',
    'jit',
    'jvp',
    'lax',
    'legacy_prng_key',
    'linear_transpose',
    'linearize',
    'live_arrays',
    'local_device_count',
    'local_devices',
    'log_compiles',
    'make_array_from_callback',
    'make_array_from_process_local_data',
    'make_array_from_single_device_arrays',
    'make_jaxpr',
    'make_mesh',
    'make_user_context',
    'memory',
    'monitoring',
    'named_call',
    'named_scope',
    'new_ref',
    'nn',
    'no_execution',
    'no_tracing',
    'numpy',
    'numpy_dtype_promotion',
    'numpy_rank_promotion',
    'ops',
    'pmap',
    'precompile',
    'print_environment_info',
    'print_saved_residuals',
    'process_count',
    'process_index',
    'process_indices',
    'profiler',
    'pure_callback',
    'random',
    'ref',
    'remat',
    'reshard',
    'saved_residuals',
    'scipy',
    'set_mesh',
    'shard_map',
    'sharding',
    'smap',
    'softmax_custom_jvp',
    'source',
    'stages',
    'test_util',
    'testing',
    'thread_guard',
    'threefry_partitionable',
    'transfer_guard',
    'transfer_guard_device_to_device',
    'transfer_guard_device_to_host',
    'transfer_guard_host_to_device',
    'tree',
    'tree_util',
    'typeof',
    'typing',
    'value_and_grad',
    'version',
    'vjp',
    'vmap',
]
