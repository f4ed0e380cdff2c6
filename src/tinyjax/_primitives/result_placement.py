"""Results that lie where an argument ``device`` or ``out_sharding`` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from tinyjax._base import frames
from tinyjax.core import devices
from tinyjax.core.values import Array

F = TypeVar("F", bound=Callable[..., Any])


def put_result(
    fun: Callable[..., Array], where: devices.Placement, *args: Any, **kwargs: Any
) -> Array:
    """Apply a function and put its result where an argument of it says."""
    out: Array = devices.ops().put_result(fun, where, args, kwargs)
    return out


def placed(fun: F) -> F:
    """Decorate a function so that its result lies where its ``device`` or ``out_sharding`` says.

    The function itself leaves these arguments alone, which are given by name.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device", kwargs.get("out_sharding")) if kwargs else None
        return fun(*args, **kwargs) if where is None else put_result(fun, where, *args, **kwargs)

    stands_in: Any = frames.imitate(call, fun)
    placing: F = stands_in
    return placing
