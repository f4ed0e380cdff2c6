"""jraph: message passing on a batch of padded graphs."""

import jax
import jax.numpy as jnp
import jraph
import numpy as np

TOLERANCE = 1e-4


def graph(n, seed):
    rng = np.random.default_rng(seed)
    senders, receivers = rng.integers(0, n, (2, 2 * n))
    return jraph.GraphsTuple(
        nodes=rng.normal(size=(n, 3)).astype(np.float32),
        edges=rng.normal(size=(2 * n, 2)).astype(np.float32),
        senders=senders.astype(np.int32),
        receivers=receivers.astype(np.int32),
        n_node=np.array([n]),
        n_edge=np.array([2 * n]),
        globals=np.ones((1, 1), np.float32),
    )


def main():
    batch = jraph.pad_with_graphs(jraph.batch([graph(3, 0), graph(4, 1)]), 12, 20, 4)
    keys = jax.random.split(jax.random.PRNGKey(0), 3)
    w = {
        "edge": jax.random.normal(keys[0], (9, 4)),
        "node": jax.random.normal(keys[1], (12, 3)),
        "global": jax.random.normal(keys[2], (8, 1)),
    }

    def run(w, batch):
        network = jraph.GraphNetwork(
            lambda e, s, r, g: jnp.tanh(jnp.concatenate([e, s, r, g], 1) @ w["edge"]),
            lambda n, s, r, g: jnp.tanh(jnp.concatenate([n, s, r, g], 1) @ w["node"]),
            lambda n, e, g: jnp.concatenate([n, e, g], 1) @ w["global"],
        )
        return network(batch)

    out = jax.jit(run)(w, batch)
    mask = jraph.get_graph_padding_mask(batch)
    grads = jax.grad(lambda w: jnp.sum(run(w, batch).globals[:, 0] ** 2 * mask))(w)
    attention = jraph.GAT(
        lambda n: n @ w["node"][:3], lambda s, r, e: jnp.sum(s * r, 1, keepdims=True), jnp.tanh
    )(batch._replace(edges=None))
    return {
        "globals": out.globals,
        "nodes": out.nodes,
        "edges": out.edges,
        "attention": attention.nodes,
        "softmax": jraph.segment_softmax(batch.edges[:, 0], batch.receivers, 12),
        **grads,
    }
