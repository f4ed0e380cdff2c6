"""``shard_map`` as it was before it was JAX's own: the names of the arguments differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from tinyjax._base.lazy import answer_for
from tinyjax._extensions.parallel import meshes, shard_map as parallel_shard_map

P = ParamSpec("P")
R = TypeVar("R")

answer_for(__name__, "shard_map")


def shard_map(
    f: Callable[P, R], mesh: meshes.AnyMesh, in_specs: Any, out_specs: Any, check_rep: bool = True
) -> Callable[P, R]:
    """Run a function on each device of a mesh, on its own part of the arguments.

    Args:
        f: as for ``tinyjax.shard_map``, which is to be preferred.
        mesh: likewise.
        in_specs: likewise.
        out_specs: likewise.
        check_rep: the same as ``check_vma`` there.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.experimental.shard_map import shard_map
        >>> P = tinyjax.sharding.PartitionSpec
        >>> mesh = tinyjax.make_mesh((1,), ("x",), devices=tinyjax.devices()[:1])
        >>> total = shard_map(lambda x: tinyjax.lax.psum(x.sum(), "x"), mesh, P("x"), P())
        >>> total(jnp.arange(4.0))
        Array(6., dtype=float32)
    """
    return parallel_shard_map.shard_map(
        f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_rep
    )
