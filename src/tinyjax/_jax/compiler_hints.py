"""Hints to XLA that change how it computes, not the results; only shardings depend on them.

These are ``compute_on``, ``shard_alike``, ``custom_partitioning`` and ``set_xla_metadata`` of
``jax.experimental``, which libraries use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, ParamSpec, TypeVar

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.core.values import integers as ints, operands as opd

__all__ = ["compute_on", "custom_partitioning", "set_xla_metadata", "shard_alike"]

P = ParamSpec("P")
R = TypeVar("R")

_PLACES = ("device_host", "device", "tpu_sparsecore", "gpu_stream:")


@contextmanager
def compute_on(compute_type: str) -> Iterator[None]:
    """Compute where the caller says, which on the CPU is where all is computed.

    Raises:
        ArgumentError: there is no such place.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax._jax.compiler_hints import compute_on
        >>> with compute_on("device_host"):
        ...     jnp.arange(2) + 1
        Array([1, 2], dtype=int32)
    """
    if not str(compute_type).startswith(_PLACES):
        raise errors.ArgumentError(
            "compute_on takes 'device_host', 'device' or the like, "
            f"but got {errors.shortened(compute_type)}."
        )
    yield


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two arrays of one shape, which XLA divides as it sees fit.

    Raises:
        ShapeError: they have different shapes.
    """
    one, other = opd.as_array(x), opd.as_array(y)
    if one.shape != other.shape:
        raise errors.ShapeError.got("shard_alike takes arrays of one shape", one, other)
    return one, other


class custom_partitioning(Generic[P, R]):  # noqa: N801 (its name in JAX)
    """A function with rules for how it is divided over devices; XLA divides it without them.

    Args:
        fun: the function.
        static_argnums: its arguments that are no arrays.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax._jax.compiler_hints import custom_partitioning
        >>> @custom_partitioning
        ... def double(x):
        ...     return 2 * x
        >>> double.def_partition(None, sharding_rule="i -> i")
        >>> tinyjax.jit(double)(jnp.arange(2))
        Array([0, 2], dtype=int32)
    """

    def __init__(self, fun: Callable[P, R], static_argnums: Iterable[int] = ()) -> None:
        self.fun = fun
        self.static_argnums: tuple[int, ...] = ints.integers(static_argnums, "static_argnums")
        frames.imitate(self, fun)

    def def_partition(
        self,
        partition: object,
        infer_sharding_from_operands: object = None,
        propagate_user_sharding: object = None,
        decode_shardings: bool = True,
        sharding_rule: object = None,
        **options: object,
    ) -> object:
        """Take rules for how the function is divided; none is called."""
        return partition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.fun(*args, **kwargs)


def set_xla_metadata(x: Any = None, **metadata: object) -> Any:
    """Return a value as it is, or without one a context: operations bear no words for XLA."""
    context: AbstractContextManager[None] = nullcontext()
    return context if x is None else x
