"""Checkpoints: trees of arrays in files, saved from any mesh and restored to any other.

Each process writes the shards that its devices hold, each shard once, and reads the parts that its
devices are to hold. It takes the package safetensors, and reading executes no code.
"""

from tinyjax._base.lazy import answer_for
from tinyjax.experimental.checkpoints.files import Saving, restore, save, save_async

__all__ = ["Saving", "restore", "save", "save_async"]
answer_for(__name__)
