"""The programs that are measured, each written once for all libraries.

Python's operators, and the method ``mean``, mean the same to all of them; what does not is handed
in.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Elementwise = Callable[[Any], Any]
Layers = Sequence[tuple[Any, Any]]
Host = NDArray[np.float32]


def chain(sin: Elementwise, x: Any, length: int) -> Any:
    """A chain of ``length`` elementwise operations whose values stay in range."""
    for _ in range(length // 3):
        x = sin(x) * 1.01 + 0.1
    return x


def mlp_loss(tanh: Elementwise, layers: Layers, x: Any, target: Any) -> Any:
    """The mean squared error of a multi-layer perceptron."""
    for w, b in layers:
        x = tanh(x @ w + b)
    return ((x - target) ** 2).mean()


def mlp_data(widths: Sequence[int], batch: int) -> tuple[list[tuple[Host, Host]], Host, Host]:
    """Weights, inputs and targets of a multi-layer perceptron with layers of the given widths."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> Host:
        return rng.standard_normal(shape, np.float32)

    layers = [
        (normal(n, m) / np.float32(np.sqrt(n)), np.zeros(m, np.float32))
        for n, m in pairwise(widths)
    ]
    return layers, normal(batch, widths[0]), normal(batch, widths[-1])


def descend(layers: Layers, gradients: Layers) -> list[tuple[Any, Any]]:
    """One step of gradient descent."""
    pairs = zip(layers, gradients, strict=True)
    return [(w - 0.01 * dw, b - 0.01 * db) for (w, b), (dw, db) in pairs]
