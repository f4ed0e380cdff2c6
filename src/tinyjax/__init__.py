"""tinyjax: JAX's core, typed and small.

Composable ``jit``, ``grad`` and ``vmap`` over NumPy and XLA: eager programs run at NumPy's speed,
compiled ones through ``jaxlib``. Written so that ``import tinyjax as jax`` and
``import tinyjax.numpy as jnp`` port a program.
"""

from __future__ import annotations

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
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.config import default_dtypes
from tinyjax.core.array import Array, install_namespace
from tinyjax.dtypes import float0
from tinyjax.jit import jit

if TYPE_CHECKING:
    from tinyjax import lax as lax
    from tinyjax import nn as nn
    from tinyjax import random as random
    from tinyjax import scipy as scipy
    from tinyjax import test_util as test_util

__version__ = "0.1.0"

install_namespace(numpy)

# Rooms that many programs do not enter: they are loaded when first asked for.
_LAZY: Final = frozenset(("lax", "nn", "random", "scipy", "test_util"))

__all__ = [
    "Array",
    "ShapeDtypeStruct",
    "block_until_ready",
    "config",
    "default_dtypes",
    "device_get",
    "device_put",
    "dtypes",
    "errors",
    "eval_shape",
    "float0",
    "grad",
    "hessian",
    "jacfwd",
    "jacrev",
    "jit",
    "jvp",
    "lax",
    "linearize",
    "make_jaxpr",
    "nn",
    "numpy",
    "random",
    "scipy",
    "test_util",
    "tree",
    "value_and_grad",
    "vjp",
    "vmap",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return import_module(f"tinyjax.{name}")
    raise AttributeError(f"module 'tinyjax' has no attribute '{name}'")
