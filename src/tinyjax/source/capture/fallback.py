"""What ``source.grad`` does where a function cannot be read: it captures it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tinyjax
from tinyjax import tree
from tinyjax.core.values import Array
from tinyjax.errors import SourceError, TinyjaxError
from tinyjax.source.capture.api import capture


def value_and_gradient(
    error: SourceError,
    fun: Callable[..., Any],
    argnums: int | tuple[int, ...],
    has_aux: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Any, Any]:
    """Return the value of a function and its gradient, as NumPy's arrays and Python's numbers.

    Args:
        error: says why the function could not be read.
        fun: the function.
        argnums: the positions of the arguments to differentiate with respect to.
        has_aux: whether it returns auxiliary data, too.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        SourceError: capture refuses the function, too.
    """
    doubles = tree.map(_in_double, args)
    try:
        differentiated = tinyjax.value_and_grad(capture(fun), argnums=argnums, has_aux=has_aux)
        value, gradient = differentiated(*doubles, **kwargs)
    except TinyjaxError as refusal:
        raise error from refusal
    chosen = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
    return tree.map(_as_data, value), tree.map(_like, gradient, chosen)


def _in_double(x: Any) -> Any:
    return np.float64(x) if type(x) is float else x


def _as_data(x: Any) -> Any:
    if not isinstance(x, Array):
        return x
    data = np.asarray(x)
    return data if data.ndim else data[()]


def _like(gradient: Any, x: Any) -> Any:
    """Return a gradient of the class of the argument: a float for a float."""
    data = np.asarray(gradient)
    return type(x)(data[()]) if type(x) is float else _as_data(gradient)
