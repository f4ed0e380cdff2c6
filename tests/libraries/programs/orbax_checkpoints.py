"""Orbax: checkpoints of trees, managed and sharded."""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp


def main():
    tree = {"a": jnp.arange(8.0), "b": {"c": jnp.full((3, 4), 0.5)}, "n": 42, "host": np.arange(3)}
    with tempfile.TemporaryDirectory() as folder:
        with ocp.StandardCheckpointer() as checkpointer:
            checkpointer.save(f"{folder}/one", tree)
            checkpointer.wait_until_finished()
            types = jax.tree.map(ocp.utils.to_shape_dtype_struct, tree)
            one = checkpointer.restore(f"{folder}/one", types)
        options = ocp.CheckpointManagerOptions(max_to_keep=2, save_interval_steps=2)
        with ocp.CheckpointManager(f"{folder}/many", options=options) as manager:
            for step in range(6):
                scaled = jax.tree.map(lambda x, step=step: x * step, tree)
                manager.save(step, args=ocp.args.StandardSave(scaled))
            manager.wait_until_finished()
            steps = manager.all_steps()
            last = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(tree))
    return {
        "steps": np.asarray(steps),
        **{f"one.{i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(one))},
        **{f"last.{i}": np.asarray(x) for i, x in enumerate(jax.tree.leaves(last))},
    }
