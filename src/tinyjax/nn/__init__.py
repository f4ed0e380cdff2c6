"""Functions for neural networks: activations, normalisations, and initial weights."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "attention": "dot_product_attention",
        "functions": (
            "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh identity leaky_relu "
            "log1mexp log_sigmoid log_softmax logmeanexp mish one_hot relu relu6 "
            "scaled_dot_general scaled_matmul selu sigmoid silu soft_sign softmax softplus "
            "sparse_plus sparse_sigmoid squareplus standardize swish"
        ),
        "tinyjax.numpy.elementwise": "tanh",
        "tinyjax.scipy.special": "logsumexp",
        "": "initializers",
    },
)
