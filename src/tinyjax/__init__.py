"""tinyjax: JAX's core, typed and small."""

import tinyjax.numpy as _numpy
from tinyjax.core.array import Array, install_namespace
from tinyjax.api import *
from tinyjax.jit import jit
from tinyjax.config import default_dtypes
from tinyjax.dtypes import float0

__version__ = "0.1.0"
install_namespace(_numpy)
