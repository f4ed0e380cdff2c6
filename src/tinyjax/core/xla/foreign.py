"""LAPACK's functions, which compiled programs call by name.

Loading SciPy's copy of LAPACK takes longer than loading tinyjax, so it happens when a program that
calls it is first compiled or loaded. jax registers the same functions under the same names, before
or after: XLA takes a name twice where it means the same function.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

import numpy as np
from jaxlib import lapack, xla_client

_MARK: Final = "lapack_"
#: Functions of the plugin for GPUs that compute on the processor.
_MARK_OF_GPUS: Final = "cuhybrid_"


def prepare_calls(text: str) -> None:
    """Make LAPACK ready where a program calls it."""
    if _MARK in text:
        _prepare()
    if _MARK_OF_GPUS in text:
        _prepare_for_gpus()


@cache
def _prepare_for_gpus() -> None:
    of_plugins: Any = import_module("jaxlib.gpu_solver")  # which looks for them when it is loaded
    of_plugins.initialize_hybrid_kernels()


@cache
def _prepare() -> None:
    for platform, targets in lapack.registrations().items():
        for name, function, version in targets:
            xla_client.register_custom_call_target(name, function, platform, version)
    for name in lapack.batch_partitionable_targets():
        xla_client.register_custom_call_as_batch_partitionable(name)
    # Any routine's name will do: asking for one is what loads SciPy's library.
    lapack.prepare_lapack_call("potrf_ffi", np.float32)
