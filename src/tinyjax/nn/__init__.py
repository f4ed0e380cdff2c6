"""Functions for neural networks: activations, normalisations, and initial weights."""

from __future__ import annotations

from tinyjax.nn import functions, initializers
from tinyjax.nn.functions import *

__all__ = ["initializers"]
__all__ += functions.__all__
