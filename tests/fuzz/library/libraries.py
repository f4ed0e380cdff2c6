"""The two libraries that are compared: tinyjax, and jax."""

from contextlib import AbstractContextManager
from typing import Any, Final

import jax
import jax.nn.initializers
import jax.scipy.linalg
import jax.scipy.special
import jax.scipy.stats
import numpy as np

import tinyjax
import tinyjax.lax.linalg
import tinyjax.nn.initializers
import tinyjax.random
import tinyjax.scipy
from tinyjax import default_dtypes
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.testing.libraries.drawn_calls import Library


def _tinyjax_defaults(wide: bool) -> AbstractContextManager[Any]:
    return default_dtypes("float64" if wide else "float32")


def _jax_defaults(wide: bool) -> AbstractContextManager[Any]:
    context: AbstractContextManager[Any] = jax.enable_x64(wide)
    return context


def _host(x: Any) -> HostArray:
    return np.asarray(x)


TINYJAX: Final = Library(
    "tinyjax",
    tinyjax,
    tinyjax.numpy.asarray,
    _host,
    lambda x: isinstance(x, (Array, np.ndarray)),
    _tinyjax_defaults,
    tinyjax,
)
JAX: Final = Library(
    "jax",
    jax,
    jax.numpy.asarray,
    _host,
    lambda x: isinstance(x, (jax.Array, np.ndarray)),
    _jax_defaults,
    jax,
)
