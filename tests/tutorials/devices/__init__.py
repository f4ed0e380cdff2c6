"""Programs of the pages on parallelism of JAX's documentation, on a mesh of four devices."""

from importlib import import_module
from typing import Any

import numpy as np


def grid(jax: Any, shape: tuple[int, ...] = (2, 2), names: tuple[str, ...] = ("x", "y")) -> Any:
    """A mesh of the first devices whose shardings XLA propagates."""
    auto = (jax.sharding.AxisType.Auto,) * len(shape)
    return jax.make_mesh(shape, names, axis_types=auto)


def submodule(jax: Any, name: str) -> Any:
    """A module of the package."""
    return import_module(f"{jax.__name__}.{name}")


def lies(x: Any) -> Any:
    """Return the parts of an array: its sharding, in terms that both packages have."""
    return [
        (shard.device.id, str(shard.index), shard.replica_id, np.asarray(shard.data))
        for shard in sorted(x.addressable_shards, key=lambda shard: shard.device.id)
    ]


def refuses(call: Any, *kinds: type[Exception]) -> bool:
    """Return whether a call raises."""
    expected = kinds or (ValueError, TypeError)
    try:
        call()
    except expected:
        return True
    return False
