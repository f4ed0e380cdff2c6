"""Calls of ``jax.lax`` that ``tinyjax.lax`` refuses: arguments in the order of older versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinyjax import lax
from tinyjax._jax.layout import shardings as of_formats
from tinyjax.core.values import ArrayLike

__all__ = ["cond", "scan", "switch", "with_sharding_constraint"]


def cond(pred: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """Apply one of two functions, as ``tinyjax.lax.cond``; in the older order, too.

    Args:
        pred: a bool scalar.
        args: the functions and the operands; or the operand of the first function, that function,
            the operand of the second, and that.
        kwargs: as of ``tinyjax.lax.cond``.

    Example:
        >>> from tinyjax._jax.lax import cond
        >>> cond(True, 1.0, lambda x: x + 1, 5.0, lambda x: x)
        Array(2., dtype=float32, weak_type=True)
    """
    match args:
        case (first, Callable() as true_fun, second, Callable() as false_fun) if not callable(
            first
        ):
            return lax.cond(
                pred,
                lambda first, _: true_fun(first),
                lambda _, second: false_fun(second),
                first,
                second,
            )
        case _:
            return lax.cond(pred, *args, **kwargs)


def scan(*args: Any, _split_transpose: bool = False, **kwargs: Any) -> Any:
    """Scan a function, as ``tinyjax.lax.scan``.

    Args:
        args: as of ``tinyjax.lax.scan``.
        _split_transpose: has no effect: how JAX lowers the transposed loop.
        kwargs: as of ``tinyjax.lax.scan``.
    """
    return lax.scan(*args, **kwargs)


def switch(
    index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: Any, **operand: Any
) -> Any:
    """Apply one of several functions, as ``tinyjax.lax.switch``; its operand may have a name.

    Args:
        index: which function, an integer.
        branches: the functions.
        operands: as of ``tinyjax.lax.switch``.
        operand: one operand by the name ``operand``, in place of those.

    Example:
        >>> from tinyjax._jax.lax import switch
        >>> switch(1, [lambda x: x, lambda x: 2 * x], operand=3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    if not operands and [*operand] == ["operand"]:
        return lax.switch(index, branches, operand["operand"])
    return lax.switch(index, branches, *operands, **operand)


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Do as ``tinyjax.lax.with_sharding_constraint``, and take layouts with shardings.

    Args:
        x: as there.
        shardings: likewise, or formats of them (``jax.experimental.layout``).
    """
    return lax.with_sharding_constraint(x, of_formats(shardings))
