"""Programs that users write for many devices: FSDP, ring attention, experts, loading, saving."""

from functools import partial
from typing import Any

import numpy as np

from tutorials.devices import grid, lies

DATA = np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)


def fully_sharded(jax: Any) -> Any:
    """Parameters lie divided, and are gathered where they are used; the state is donated."""
    jnp, tree, P = jax.numpy, jax.tree, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("fsdp",))
    by = partial(jax.sharding.NamedSharding, mesh)
    rows = by(P("fsdp"))
    params = {"up": DATA.T / 4, "down": DATA / 4, "scale": np.ones(8, np.float32)}
    lie = tree.map(lambda x: rows if x.ndim == 2 else by(P()), params)

    def loss(params: Any, x: Any) -> Any:
        y = jnp.tanh(x @ params["up"]) @ params["down"] * params["scale"]
        return jnp.mean((x - y) ** 2)

    def step(state: Any, x: Any) -> Any:
        params, moments, count = state
        value, slopes = jax.value_and_grad(loss)(params, x)
        moments = tree.map(lambda m, g: 0.9 * m + g, moments, slopes)
        params = tree.map(lambda p, m: p - 0.1 * m, params, moments)
        return (params, moments, count + 1), value

    states = (lie, lie, by(P()))
    step = jax.jit(
        step, in_shardings=(states, rows), out_shardings=(states, by(P())), donate_argnums=0
    )
    state = jax.device_put((params, tree.map(np.zeros_like, params), 0), states)
    first, values = state, []
    for _ in range(3):
        state, value = step(state, jax.device_put(DATA, rows))
        values.append(value)
    leaves = tree.leaves(first)
    return values, tree.map(lies, state[:2]), int(state[2]), leaves[0].is_deleted()


def ring_attention(jax: Any) -> Any:
    """Each device has a part of the sequence, and passes its keys and values around."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("ring",))
    q, k, v = DATA, np.roll(DATA, 1, 0), DATA[::-1].copy()
    ring = [(i, (i + 1) % 4) for i in range(4)]

    @partial(jax.shard_map, mesh=mesh, in_specs=P("ring"), out_specs=P("ring"))
    def attend(q: Any, k: Any, v: Any) -> Any:
        def turn(carry: Any, _: Any) -> Any:
            k, v, most, weight, total = carry
            scores = q @ k.T / 8**0.5
            top = jnp.maximum(most, scores.max(1))
            new, old = jnp.exp(scores - top[:, None]), jnp.exp(most - top)
            weight = weight * old + new.sum(1)
            total = total * old[:, None] + new @ v
            k, v = (lax.ppermute(x, "ring", ring) for x in (k, v))
            return (k, v, top, weight, total), None

        zeros = jnp.zeros_like(q)
        carry = (k, v, zeros[:, 0] - jnp.inf, zeros[:, 0], zeros)
        (_, _, _, weight, total), _ = lax.scan(turn, carry, None, length=4)
        return total / weight[:, None]

    def whole(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ k.T / 8**0.5) @ v

    def slopes(attend: Any) -> Any:
        return jax.jit(jax.grad(lambda *x: (attend(*x) ** 2).sum(), argnums=(0, 1, 2)))(q, k, v)

    return jax.jit(attend)(q, k, v), whole(q, k, v), slopes(attend), slopes(whole)


def mixture_of_experts(jax: Any) -> Any:
    """Tokens go to the device of their expert, and their results come back."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("expert",))
    router = np.random.default_rng(1).normal(size=(8, 4)).astype(np.float32)
    experts = np.random.default_rng(2).normal(size=(4, 8, 8)).astype(np.float32)
    capacity = 3

    @jax.jit
    @partial(
        jax.shard_map, mesh=mesh, in_specs=(P(), P("expert"), P("expert")), out_specs=P("expert")
    )
    def layer(router: Any, expert: Any, x: Any) -> Any:
        weights = jax.nn.softmax(x @ router)
        choice = jax.nn.one_hot(weights.argmax(1), 4, dtype=jnp.int32)
        place = jnp.cumsum(choice, 0) * choice - 1
        sent = jax.nn.one_hot(place, capacity)  # token, expert, place
        slots = jnp.einsum("tep,td->epd", sent, x)
        here = lax.all_to_all(slots, "expert", 0, 0, tiled=True)
        done = jax.nn.relu(here @ expert[0])
        back = lax.all_to_all(done, "expert", 0, 0, tiled=True)
        return jnp.einsum("tep,epd->td", sent, back) * weights.max(1, keepdims=True)

    def loss(router: Any, experts: Any) -> Any:
        return (layer(router, experts, DATA) ** 2).mean()

    return layer(router, experts, DATA), jax.grad(loss, argnums=(0, 1))(router, experts)


def data_loader(jax: Any) -> Any:
    """Batches of what this process has read, which are added up without a step on the host."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    rows = jax.sharding.NamedSharding(grid(jax), P(("x", "y")))

    @jax.jit
    def add(totals: Any, batch: Any) -> Any:
        return {
            "sum": totals["sum"] + batch["x"].sum(0),
            "most": jnp.maximum(totals["most"], batch["x"].max()),
            "labels": totals["labels"] + jnp.bincount(batch["y"], length=3),
        }

    totals = {"sum": jnp.zeros(8), "most": -jnp.inf, "labels": jnp.zeros(3, int)}
    batches = []
    for start in range(0, 16, 8):
        read = {"x": DATA[start : start + 8], "y": np.arange(start, start + 8) % 3}
        batch = jax.tree.map(partial(jax.make_array_from_process_local_data, rows), read)
        batches.append(jax.tree.map(lies, batch))
        totals = add(totals, batch)
    return totals, batches


def restored(jax: Any) -> Any:
    """Training goes on from what was saved, on a mesh of another shape."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = jax.sharding.NamedSharding

    @partial(jax.jit, donate_argnums=0)
    def step(w: Any, x: Any) -> Any:
        value, slope = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)
        return w - 0.5 * slope, value

    def train(w: Any, mesh: Any, steps: int) -> Any:
        w, values = jax.device_put(w, by(mesh, P("x", "y"))), []
        x = jax.device_put(DATA, by(mesh, P("x")))
        for _ in range(steps):
            w, value = step(w, x)
            values.append(value)
        return w, values

    start = np.eye(8, dtype=np.float32)
    saved, first = train(start, grid(jax), 2)
    w, second = train(np.asarray(saved), grid(jax, (1, 4)), 2)
    _, whole = train(start, grid(jax), 4)
    return [*first, *second], whole, lies(w)
