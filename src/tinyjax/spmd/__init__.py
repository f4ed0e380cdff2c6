"""``shard_map``: a function that each device of a mesh runs on its own part of the arguments."""

from tinyjax.spmd.api import shard_map, smap
from tinyjax.spmd.primitive import shard_map_p

__all__ = ["shard_map", "shard_map_p", "smap"]
