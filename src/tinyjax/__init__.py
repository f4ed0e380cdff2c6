"""tinyjax: JAX's core, typed and small.

Composable ``jit``, ``grad`` and ``vmap`` over NumPy and XLA: eager programs run at NumPy's speed,
compiled ones through ``jaxlib``. Written so that ``import tinyjax as jax`` and
``import tinyjax.numpy as jnp`` port a program.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tinyjax import config

if config.settings().typecheck:
    # Before any other module is loaded, so that all of them are instrumented.
    from typeguard import install_import_hook

    install_import_hook("tinyjax")

from tinyjax import dtypes, errors, numpy, tree
from tinyjax.api import (
    ShapeDtypeStruct,
    block_until_ready,
    device_get,
    device_put,
    eval_shape,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.config import default_dtypes
from tinyjax.core.array import Array, install_namespace
from tinyjax.core.trace import choose_base
from tinyjax.dtypes import float0
from tinyjax.jit import install_staging, jit

if TYPE_CHECKING:
    from tinyjax import ad_checkpoint as ad_checkpoint
    from tinyjax import autodiff as autodiff
    from tinyjax import cache as cache
    from tinyjax import custom_batching as custom_batching
    from tinyjax import custom_derivatives as custom_derivatives
    from tinyjax import debug as debug
    from tinyjax import dlpack as dlpack
    from tinyjax import export as export
    from tinyjax import extend as extend
    from tinyjax import flatten_util as flatten_util
    from tinyjax import implicit as implicit
    from tinyjax import lax as lax
    from tinyjax import nn as nn
    from tinyjax import ops as ops
    from tinyjax import random as random
    from tinyjax import scipy as scipy
    from tinyjax import source as source
    from tinyjax import test_util as test_util
    from tinyjax import tree_util as tree_util
    from tinyjax import typing as typing
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
    from tinyjax.custom_derivatives import closure_convert as closure_convert
    from tinyjax.custom_derivatives import custom_batch as custom_batch
    from tinyjax.custom_derivatives import custom_derivative as custom_derivative
    from tinyjax.custom_derivatives import custom_gradient as custom_gradient
    from tinyjax.custom_derivatives import custom_jvp as custom_jvp
    from tinyjax.custom_derivatives import custom_vjp as custom_vjp

__version__ = "0.1.0"

install_namespace(numpy)
install_staging(lambda fun: import_module("tinyjax.source").stage(fun))


def _evaluate_as_set(current: config.Settings) -> Callable[[], None]:
    """Load the debugger when the settings first ask for it, and choose the trace that evaluates."""
    if current.debug_nans:
        import_module("tinyjax.nans")
    return choose_base(current)


config.follow(_evaluate_as_set)

# What many programs do not use is loaded when first asked for: half of the time of the import.
_ROOMS: Final = frozenset(
    (
        "ad_checkpoint",
        "autodiff",
        "cache",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "dlpack",
        "export",
        "extend",
        "flatten_util",
        "implicit",
        "lax",
        "nn",
        "ops",
        "random",
        "scipy",
        "source",
        "test_util",
        "tree_util",
        "typing",
    )
)
_HOMES: Final = {
    "jacobian": "autodiff",
    **dict.fromkeys(("error_if", "io_callback", "pure_callback"), "callbacks"),
    **dict.fromkeys(
        (
            "checkpoint",
            "checkpoint_name",
            "checkpoint_policies",
            "print_saved_residuals",
            "remat",
            "saved_residuals",
        ),
        "checkpointing",
    ),
    **dict.fromkeys(
        (
            "closure_convert",
            "custom_batch",
            "custom_derivative",
            "custom_gradient",
            "custom_jvp",
            "custom_vjp",
        ),
        "custom_derivatives",
    ),
}

__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "ad_checkpoint",
    "autodiff",
    "block_until_ready",
    "cache",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "closure_convert",
    "config",
    "custom_batch",
    "custom_batching",
    "custom_derivative",
    "custom_derivatives",
    "custom_gradient",
    "custom_jvp",
    "custom_vjp",
    "debug",
    "default_dtypes",
    "device_get",
    "device_put",
    "dlpack",
    "dtypes",
    "error_if",
    "errors",
    "eval_shape",
    "export",
    "extend",
    "flatten_util",
    "float0",
    "grad",
    "hessian",
    "implicit",
    "io_callback",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linear_transpose",
    "linearize",
    "make_jaxpr",
    "nn",
    "numpy",
    "ops",
    "print_saved_residuals",
    "pure_callback",
    "random",
    "remat",
    "saved_residuals",
    "scipy",
    "source",
    "test_util",
    "tree",
    "tree_util",
    "typing",
    "value_and_grad",
    "vjp",
    "vmap",
]


if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"tinyjax.{name}")
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module 'tinyjax' has no attribute '{name}'")
        found = globals()[name] = getattr(import_module(f"tinyjax.{home}"), name)
        return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__all__", "__doc__", "__file__", "__name__", "__version__"])
