"""Functions for neural networks: activations, normalisations, and initial weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.nn import initializers as initializers
    from tinyjax.nn.attention import dot_product_attention
    from tinyjax.nn.functions import (
        celu,
        elu,
        gelu,
        glu,
        hard_sigmoid,
        hard_silu,
        hard_swish,
        hard_tanh,
        identity,
        leaky_relu,
        log1mexp,
        log_sigmoid,
        log_softmax,
        logmeanexp,
        logsumexp,
        mish,
        one_hot,
        relu,
        relu6,
        selu,
        sigmoid,
        silu,
        soft_sign,
        softmax,
        softplus,
        sparse_plus,
        sparse_sigmoid,
        squareplus,
        standardize,
        swish,
    )
    from tinyjax.nn.scaled import scaled_dot_general, scaled_matmul
    from tinyjax.numpy.elementwise import tanh

# Loaded when first asked for, with what only they need.
_LATER: Final = {
    "": "initializers",
    "attention": "dot_product_attention",
    "functions": (
        "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu "
        "log1mexp log_sigmoid log_softmax logmeanexp logsumexp mish one_hot relu relu6 selu "
        "sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus "
        "standardize swish"
    ),
    "scaled": "scaled_dot_general scaled_matmul",
    "tinyjax.numpy.elementwise": "tanh",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)


__all__ = [
    "celu",
    "dot_product_attention",
    "elu",
    "gelu",
    "glu",
    "hard_sigmoid",
    "hard_silu",
    "hard_swish",
    "hard_tanh",
    "identity",
    "initializers",
    "leaky_relu",
    "log1mexp",
    "log_sigmoid",
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "mish",
    "one_hot",
    "relu",
    "relu6",
    "scaled_dot_general",
    "scaled_matmul",
    "selu",
    "sigmoid",
    "silu",
    "soft_sign",
    "softmax",
    "softplus",
    "sparse_plus",
    "sparse_sigmoid",
    "squareplus",
    "standardize",
    "swish",
    "tanh",
]


def __dir__() -> list[str]:
    return sorted(__all__)
