"""flashbax: buffers of experience, by item, by priority and by trajectory."""

import flashbax
import jax
import jax.numpy as jnp


def main():
    items = flashbax.make_item_buffer(max_length=32, min_length=4, sample_batch_size=4)
    state = items.init({"seen": jnp.zeros(3), "reward": jnp.array(0.0)})
    add = jax.jit(items.add, donate_argnums=0)
    for i in range(10):
        state = add(state, {"seen": jnp.full(3, float(i)), "reward": jnp.array(float(i))})
    batch = jax.jit(items.sample)(state, jax.random.PRNGKey(0))

    ranked = flashbax.make_prioritised_flat_buffer(32, 4, 4, False, None, 0.6)
    by_rank = ranked.init({"seen": jnp.zeros(2)})
    for i in range(8):
        by_rank = ranked.add(by_rank, {"seen": jnp.full(2, float(i))})
    drawn = ranked.sample(by_rank, jax.random.PRNGKey(1))
    by_rank = ranked.set_priorities(by_rank, drawn.indices, jnp.arange(1.0, 5.0))
    again = ranked.sample(by_rank, jax.random.PRNGKey(2))

    paths = flashbax.make_trajectory_buffer(
        add_batch_size=2,
        sample_batch_size=3,
        sample_sequence_length=4,
        period=1,
        min_length_time_axis=4,
        max_length_time_axis=16,
    )
    steps = paths.init({"seen": jnp.zeros(2)})
    steps = paths.add(steps, {"seen": jnp.arange(24.0).reshape(2, 6, 2)})
    return {
        "items": batch.experience["seen"],
        "ready": items.can_sample(state),
        "ranked": drawn.experience.first["seen"],
        "again": again.indices,
        "paths": paths.sample(steps, jax.random.PRNGKey(3)).experience["seen"],
    }
