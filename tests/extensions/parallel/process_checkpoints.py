"""Checkpoints that several processes save and restore: ``python process_checkpoints.py FOLDER``."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import tinyjax
from tinyjax import Array, NamedSharding, P
from tinyjax.experimental import checkpoints
from tinyjax.sharding import Mesh

DATA = np.arange(64, dtype=np.float32).reshape(8, 8)


def state(mesh: Mesh, step: int) -> dict[str, Any]:
    """Arrays over all processes, and some that each process has."""

    def placed(*spec: Any) -> Array:
        return tinyjax.device_put(DATA + step, NamedSharding(mesh, P(*spec)))

    return {
        "w": placed("x", "y"),
        "v": placed(None, "y"),
        "whole": placed(),
        "here": DATA - step,
        "step": step,
    }


def check(folder: Path, mesh: Mesh, step: int) -> None:
    """Restore what was saved, each array divided otherwise."""
    names = [("y", "x"), (("x", "y"),), ("x",)]
    likes: dict[str, Any] = {
        key: NamedSharding(mesh, P(*spec))
        for key, spec in zip(["w", "v", "whole"], names, strict=True)
    }
    restored: Any = checkpoints.restore(folder, {**likes, "here": DATA, "step": 0})
    for key, sharding in likes.items():
        assert restored[key].sharding == sharding
        for shard in restored[key].addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), (DATA + step)[shard.index])
    np.testing.assert_array_equal(restored["here"], DATA - step)
    assert int(restored["step"]) == step


def main(folder: Path) -> None:
    tinyjax.distributed.initialize()
    mesh = tinyjax.make_mesh((2, tinyjax.device_count() // 2), ("x", "y"))
    check(folder, mesh, 0)  # what one process has saved
    checkpoints.save(folder, state(mesh, 1))
    check(folder, mesh, 1)
    under_way = [checkpoints.save_async(folder, state(mesh, step)) for step in (2, 3, 4)]
    for saving in under_way:
        saving.wait()
    check(folder, mesh, 4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
