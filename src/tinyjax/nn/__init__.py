"""Functions for neural networks: activations, normalisations, and initial weights."""

from __future__ import annotations

from tinyjax.nn import functions, initializers
from tinyjax.nn.attention import dot_product_attention
from tinyjax.nn.functions import *
from tinyjax.nn.scaled import scaled_dot_general, scaled_matmul
from tinyjax.numpy.elementwise import tanh

__all__ = ["dot_product_attention", "initializers", "scaled_dot_general", "scaled_matmul", "tanh"]
__all__ += functions.__all__
