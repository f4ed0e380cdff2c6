"""LAPACK for compiled programs: jaxlib's bindings to SciPy's copy of it.

Loading SciPy's takes longer than loading tinyjax, so it happens when a program that calls it is
first compiled or loaded. jax registers the same functions under the same names, before or after:
XLA takes a name twice where it means the same function.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
from jaxlib import lapack, xla_client

_MARK: Final = "lapack_"


def prepare_calls(text: str) -> None:
    """Make LAPACK ready where a program calls it."""
    if _MARK in text:
        _prepare()


@cache
def _prepare() -> None:
    for platform, targets in lapack.registrations().items():
        for name, function, version in targets:
            xla_client.register_custom_call_target(name, function, platform, version)
    # Any routine's name will do: asking for one is what loads SciPy's library.
    lapack.prepare_lapack_call("potrf_ffi", np.float32)
