"""One problem: a derivative, its data, and the other libraries that can run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np
from numpy.typing import NDArray

#: The module ``tinyjax``, or one that has the same functions.
Library = Any
Data = tuple[Any, ...]
Host = NDArray[np.float32]
Loss = Callable[..., Any]


@attrs.frozen
class Problem:
    """A problem.

    Attributes:
        title: what it is.
        build: makes the function to be compiled, for a library: the derivative.
        data: its arguments, NumPy's.
        loss: for autograd and PyTorch, whose derivatives are gradients of eager functions in the
            first argument: makes the loss, for a module of array functions.
    """

    title: str
    build: Callable[[Library], Callable[..., Any]]
    data: Callable[[], Data]
    loss: Callable[[Any], Loss] | None = None


def gradient_of(title: str, loss: Callable[[Any], Loss], data: Callable[[], Data]) -> Problem:
    """Make the problem of the gradient of a loss in its first argument."""
    return Problem(title, lambda lib: lib.grad(loss(lib.numpy)), data, loss)


def generator(seed: int = 0) -> np.random.Generator:
    """Return the source of a problem's data."""
    return np.random.default_rng(seed)


def normal(rng: np.random.Generator, *shape: int) -> Host:
    """Draw normal numbers in single precision."""
    return rng.standard_normal(shape, np.float32)


#: Rotations closer to none than this are taken for none.
_NO_ROTATION: Final = 1e-12


def rotation(xp: Any, axis: Any) -> Any:
    """Return the rotation matrix of an axis times an angle, by Rodrigues' formula."""
    squared = xp.sum(axis**2)
    small = squared < _NO_ROTATION
    angle = xp.sqrt(xp.where(small, 1.0, squared))
    x, y, z = axis[0], axis[1], axis[2]
    zero = xp.zeros_like(x)
    cross = xp.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    by_sine = xp.where(small, 1.0, xp.sin(angle) / angle)
    by_cosine = xp.where(small, 0.5, (1 - xp.cos(angle)) / angle**2)
    return xp.eye(3) + by_sine * cross + by_cosine * (cross @ cross)
