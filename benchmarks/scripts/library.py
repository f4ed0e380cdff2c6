"""The library that a script runs with, and how it hands on its results.

The environment's ``LIBRARY`` is ``jax`` or ``tinyjax``.
"""

import json
import os
from importlib import import_module
from typing import Any, Final

import numpy as np

_NAME: Final = os.environ.get("LIBRARY", "tinyjax")


def load(name: str) -> Any:
    """Import a module of the library, such as ``numpy``."""
    return import_module(f"{_NAME}.{name}")


jax: Any = import_module(_NAME)
jnp: Any = load("numpy")
lax: Any = load("lax")


def show(name: str, value: Any) -> None:
    """Print a result so that it can be compared."""
    array = np.asarray(value)
    if np.iscomplexobj(array):
        array = np.stack([array.real, array.imag])
    print(json.dumps([name, str(array.dtype), array.tolist()]))
