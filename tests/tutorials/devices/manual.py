"""Manual parallelism with shard_map: products of matrices, collectives, networks."""

from functools import partial
from typing import Any

import numpy as np

from tutorials.devices import grid, lies, refuses


def product(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = grid(jax)
    a = jnp.arange(8 * 16.0).reshape(8, 16)
    b = jnp.arange(16 * 4.0).reshape(16, 4)

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None))
    def matmul(a_block: Any, b_block: Any) -> Any:
        return jax.lax.psum(jnp.dot(a_block, b_block), "y")

    def reference(a: Any, b: Any) -> Any:
        return jnp.dot(a, b)

    by = partial(jax.sharding.NamedSharding, mesh)
    a_, b_ = jax.device_put(a, by(P("x", "y"))), jax.device_put(b, by(P("y")))
    compiled = jax.jit(matmul)
    return (
        matmul(a, b),
        lies(compiled(a_, b_)),
        reference(a, b),
        refuses(lambda: matmul(a[:7], b)),
        jax.jit(jax.grad(lambda a, b: matmul(a, b).sum()))(a_, b_),
    )


def scattered(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = grid(jax)

    @partial(jax.shard_map, mesh=mesh, in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", "y"))
    def matmul(a: Any, b: Any) -> Any:
        partial_sums = jnp.dot(a, b)
        return jax.lax.psum_scatter(partial_sums, "y", scatter_dimension=1, tiled=True)

    a, b = jnp.arange(8 * 16.0).reshape(8, 16), jnp.arange(16 * 4.0).reshape(16, 4)
    return matmul(a, b), lies(jax.jit(matmul)(a, b))


def blocks(jax: Any) -> Any:
    """Arguments are divided, and results are joined, as specifications say."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    mesh = grid(jax)
    shapes: list[Any] = []

    def shape(x: Any) -> Any:
        shapes.append(x.shape)
        return x

    x = jnp.arange(64.0).reshape(8, 8)
    for spec in [("x", "y"), ("x",), (None, "y"), (("x", "y"),), (None, ("y", "x")), ()]:
        jax.shard_map(shape, mesh=mesh, in_specs=P(*spec), out_specs=P(*spec))(x)
    one = jnp.array([[3.0]])
    ones = [
        jax.shard_map(lambda: one, mesh=mesh, in_specs=(), out_specs=P(*spec))()
        for spec in [("x", "y"), ("x", None), (None, "y"), (None, None)]
    ]
    partial_sum = jax.shard_map(
        lambda x: jax.lax.psum(x, "x"), mesh=mesh, in_specs=P("x", "y"), out_specs=P(None, "y")
    )
    total = jax.shard_map(
        lambda x: jax.lax.psum(x, ("x", "y")), mesh=mesh, in_specs=P("x", "y"), out_specs=P()
    )
    wrong = jax.shard_map(lambda x: x, mesh=mesh, in_specs=P("x"), out_specs=P())
    return shapes, ones, partial_sum(x), total(x), refuses(lambda: wrong(x))


def trees(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec

    def f(args: Any, scale: Any) -> Any:
        return {"out": args["a"] * scale, "sums": [jax.lax.psum(args["b"].sum(), "i")]}

    g = jax.shard_map(
        f,
        mesh=grid(jax, (4,), ("i",)),
        in_specs=(P("i"), P()),
        out_specs={"out": P("i"), "sums": [P()]},
    )
    args = {"a": jnp.arange(8.0), "b": jnp.ones((4, 2))}
    return g(args, jnp.float32(2)), jax.jit(g)(args, jnp.float32(3))


def mesh_in_force(jax: Any) -> Any:
    P = jax.sharding.PartitionSpec
    with jax.set_mesh(grid(jax, (4,), ("i",))):
        f = jax.shard_map(lambda x: x * jax.lax.axis_size("i"), in_specs=P("i"), out_specs=P("i"))
        return f(np.arange(8.0, dtype=np.float32))


def collectives(jax: Any) -> Any:
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("i",))

    def run(f: Any, x: Any, ins: Any = "i", outs: Any = "i") -> Any:
        g = jax.shard_map(f, mesh=mesh, in_specs=P(*[ins]), out_specs=P(*[outs]))
        return g(x), jax.jit(g)(x)

    x = jnp.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 1, 2])
    few = jnp.array([3, 9, 5, 2])
    ring = [(i, (i + 1) % 4) for i in range(4)]
    return (
        run(lambda x: lax.psum(x, "i"), x, "i", None),
        run(lambda x: lax.pmax(x, "i"), x, "i", None),
        run(lambda x: lax.pmin(x, "i"), x, "i", None),
        run(lambda x: lax.pmean(x, "i"), x, "i", None),
        run(lambda x: lax.all_gather(x, "i", tiled=True), few),
        run(lambda x: lax.all_gather(x, "i", tiled=False), few),
        run(lambda x: lax.psum_scatter(x, "i", tiled=True), x),
        run(lambda x: lax.psum_scatter(x.reshape(4, 1), "i", tiled=False), x),
        run(lambda x: lax.ppermute(x, "i", ring), x),
        run(lambda x: lax.pshuffle(x, "i", [1, 2, 3, 0]), x),
        run(lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True), x),
        run(lambda x: x + lax.axis_index("i"), x),
        run(lambda x: lax.psum(1, "i") * x, x),
    )


def by_hand(jax: Any) -> Any:
    """Collectives from steps around a ring."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("i",))
    step = [(i, (i - 1) % 4) for i in range(4)]

    def scatter(x: Any) -> Any:
        x = x.reshape(4, -1)
        i = lax.axis_index("i")
        sums = x[(i - 1) % 4]
        for k in range(1, 4):
            sums = lax.ppermute(sums, "i", [(i, (i + 1) % 4) for i in range(4)])
            sums = sums + x[(i - 1 - k) % 4]
        return sums

    def gather(x: Any) -> Any:
        parts = [x]
        for _ in range(3):
            parts.append(lax.ppermute(parts[-1], "i", step))
        at = (jnp.arange(4) - lax.axis_index("i")) % 4
        return jnp.stack(parts)[at].reshape(-1)

    x = jnp.arange(16.0)
    return [
        jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=P("i")))(x)
        for f in (scatter, gather)
    ]


def overlapped(jax: Any) -> Any:
    """Products of matrices whose operands come around a ring while blocks are multiplied."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("i",))
    lhs = jax.device_put(
        jax.random.normal(jax.random.key(1), (8, 8)), jax.sharding.NamedSharding(mesh, P("i"))
    )
    rhs = jax.device_put(
        jax.random.normal(jax.random.key(2), (8, 4)), jax.sharding.NamedSharding(mesh, P("i"))
    )
    ring = [(j, (j - 1) % 4) for j in range(4)]

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("i", None), P("i", None)), out_specs=P("i"))
    def gathered(a: Any, b: Any) -> Any:
        return a @ lax.all_gather(b, "i", tiled=True)

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("i", None), P("i", None)), out_specs=P("i"))
    def turning(a: Any, b: Any) -> Any:
        idx = lax.axis_index("i")

        def block(i: Any) -> Any:
            return lax.dynamic_slice_in_dim(a, 2 * ((idx + i) % 4), 2, axis=1)

        out = block(0) @ b
        for i in range(1, 4):
            b = lax.ppermute(b, "i", ring)
            out += block(i) @ b
        return out

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("i", None), P("i", None)), out_specs=P("i"))
    def looped(a: Any, b: Any) -> Any:
        idx = lax.axis_index("i")

        def body(i: Any, carry: Any) -> Any:
            b, out = carry
            out = out + lax.dynamic_slice_in_dim(a, 2 * ((idx + i) % 4), 2, axis=1) @ b
            return lax.ppermute(b, "i", ring), out

        return lax.fori_loop(0, 4, body, (b, lax.pcast(jnp.zeros((2, 4)), "i", to="varying")))[1]

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(None, "i"), P("i", None)), out_specs=P("i"))
    def scattered(a: Any, b: Any) -> Any:
        return lax.psum_scatter(a @ b, "i", scatter_dimension=0, tiled=True)

    return gathered(lhs, rhs), turning(lhs, rhs), looped(lhs, rhs), scattered(lhs, rhs)


def _network(jax: Any, sizes: list[int]) -> Any:
    jnp = jax.numpy

    def layer(key: Any, n_in: int, n_out: int) -> Any:
        k1, k2 = jax.random.split(key)
        w = jax.random.normal(k1, (n_in, n_out)) / jnp.sqrt(n_in)
        return w, jax.random.normal(k2, (n_out,))

    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    params = [layer(*a) for a in zip(keys, sizes[:-1], sizes[1:], strict=True)]
    kx, ky = jax.random.split(jax.random.key(1))
    return params, (
        jax.random.normal(kx, (8, sizes[0])),
        jax.random.normal(ky, (8, sizes[-1])),
    )


def data_parallel(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    params, batch = _network(jax, [8, 12, 4])
    mesh = grid(jax, (4,), ("batch",))

    def predict(params: Any, inputs: Any) -> Any:
        outputs = inputs
        for w, b in params:
            outputs = inputs @ w + b
            inputs = jnp.maximum(outputs, 0)
        return outputs

    def loss(params: Any, batch: Any) -> Any:
        inputs, targets = batch
        return jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("batch")), out_specs=P())
    def parallel(params: Any, local: Any) -> Any:
        return jax.lax.pmean(loss(params, local), "batch")

    return parallel(params, batch), jax.jit(jax.grad(parallel))(params, batch), loss(params, batch)


def fully_sharded(jax: Any) -> Any:
    """Weights are gathered layer by layer, and again in the backward pass."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    params, batch = _network(jax, [8, 12, 4])
    mesh = grid(jax, (4,), ("batch",))

    @partial(jax.remat, policy=lambda op, *_, **__: str(op) != "all_gather")
    def predict(parts: Any, inputs: Any) -> Any:
        outputs = inputs
        for part in parts:
            w, b = lax.all_gather(part, "batch", tiled=True)
            outputs = inputs @ w + b
            inputs = jnp.maximum(outputs, 0)
        return outputs

    @jax.jit
    @partial(jax.shard_map, mesh=mesh, in_specs=(P("batch"), P("batch")), out_specs=P())
    def loss(params: Any, local: Any) -> Any:
        inputs, targets = local
        local_loss = jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))
        return lax.pmean(local_loss, "batch")

    placed = jax.device_put(params, jax.sharding.NamedSharding(mesh, P("batch")))
    return loss(placed, batch), jax.jit(jax.grad(loss))(placed, batch)


def tensor_parallel(jax: Any) -> Any:
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    params, batch = _network(jax, [8, 12, 4])
    mesh = grid(jax, (4,), ("feats",))

    def predict(params: Any, inputs: Any) -> Any:
        outputs = inputs
        for w, b in params:
            outputs = lax.psum_scatter(inputs @ w, "feats", scatter_dimension=1, tiled=True) + b
            inputs = jnp.maximum(outputs, 0)
        return outputs

    @jax.jit
    def loss(params: Any, batch: Any) -> Any:
        inputs, targets = batch
        predictions = jax.shard_map(
            predict,
            mesh=mesh,
            in_specs=(P("feats"), P(None, "feats")),
            out_specs=P(None, "feats"),
        )(params, inputs)
        return jnp.mean(jnp.sum((predictions - targets) ** 2, axis=-1))

    placed = jax.device_put(params, jax.sharding.NamedSharding(mesh, P("feats")))
    return loss(placed, batch), jax.jit(jax.grad(loss))(placed, batch)


def fully_sharded_and_tensor_parallel(jax: Any) -> Any:
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    params, batch = _network(jax, [8, 12, 4])
    mesh = grid(jax, (2, 2), ("batch", "feats"))

    def predict(params: Any, inputs: Any) -> Any:
        outputs = inputs
        for part in params:
            w, b = lax.all_gather(part, "batch", tiled=True)
            outputs = lax.psum_scatter(inputs @ w, "feats", scatter_dimension=1, tiled=True) + b
            inputs = jnp.maximum(outputs, 0)
        return outputs

    @jax.jit
    @partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(P(("feats", "batch")), P("batch", "feats")),
        out_specs=P(),
    )
    def loss(params: Any, local: Any) -> Any:
        inputs, targets = local
        errors = jnp.mean(jnp.sum((predict(params, inputs) - targets) ** 2, axis=-1))
        return lax.pmean(lax.psum(errors, "feats"), "batch")

    placed = jax.device_put(params, jax.sharding.NamedSharding(mesh, P(("feats", "batch"))))
    return loss(placed, batch), jax.jit(jax.grad(loss))(placed, batch)


def pipelined(jax: Any) -> Any:
    """Each device has some layers, and hands what it computes for a microbatch to the next."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    stages, layers, size, microbatches = 4, 8, 6, 8
    mesh = grid(jax, (stages,), ("stages",))
    k1, k2 = jax.random.split(jax.random.key(0))
    weights = jax.random.normal(k1, (layers, size, size)) / jnp.sqrt(size)
    inputs = jax.random.normal(k2, (16, size))
    ring = [(i, (i + 1) % stages) for i in range(stages)]

    def stage(weights: Any, x: Any) -> Any:
        return lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, weights)[0]

    def pipeline(weights: Any, inputs: Any) -> Any:
        index = lax.axis_index("stages")
        state = lax.pcast(jnp.zeros(inputs.shape[1:]), "stages", to="varying")
        outputs = jnp.zeros_like(inputs)
        for i in range(microbatches + stages - 1):
            feed = inputs[i % microbatches]
            state = stage(weights, jnp.where(index == 0, feed, state))
            done = i - (stages - 1)
            if done >= 0:
                outputs = outputs.at[done].set(jnp.where(index == stages - 1, state, 0))
            state = lax.ppermute(state, "stages", ring)
        return lax.psum(outputs, "stages")

    @jax.jit
    def predict(weights: Any, inputs: Any) -> Any:
        cut = inputs.reshape(microbatches, -1, size)
        f = jax.shard_map(pipeline, mesh=mesh, in_specs=(P("stages"), P()), out_specs=P())
        return f(weights, cut).reshape(inputs.shape)

    return (
        predict(weights, inputs),
        stage(weights, inputs),
        jax.jit(jax.grad(lambda w: jnp.sum(predict(w, inputs) ** 2)))(weights),
    )


def mapped(jax: Any) -> Any:
    """shard_map under vmap, under jvp, and under another jit; vmap inside."""
    jnp, lax, P = jax.numpy, jax.lax, jax.sharding.PartitionSpec
    mesh = grid(jax, (4,), ("i",))
    f = jax.shard_map(
        lambda x: jnp.sin(x) * lax.psum(x, "i"), mesh=mesh, in_specs=P("i"), out_specs=P("i")
    )
    inside = jax.shard_map(
        lambda x: jax.vmap(lambda row: row - lax.pmean(row.mean(), "i"))(x),
        mesh=mesh,
        in_specs=P(None, "i"),
        out_specs=P(None, "i"),
    )
    x = jnp.arange(8.0)
    many = jnp.arange(24.0).reshape(3, 8)
    return (
        jax.vmap(f)(many),
        jax.jvp(f, (x,), (x,)),
        jax.jit(jax.vmap(f, in_axes=1, out_axes=1))(many.T),
        jax.jacrev(f)(x),
        inside(many),
        jax.jit(inside)(many),
    )
