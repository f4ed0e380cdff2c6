"""Programs under jit: shardings of arguments and results, donation, what compiled programs tell."""

from functools import partial
from typing import Any

import numpy as np

from tutorials.devices import grid, lies, refuses


def in_and_out(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))
    f = jax.jit(
        lambda w, x: (x @ w, x.sum()),
        in_shardings=(by(P(None, "y")), by(P("x"))),
        out_shardings=(by(P("x", "y")), None),
    )
    w, x = np.ones((4, 4), np.float32), np.arange(16.0, dtype=np.float32).reshape(4, 4)
    whole = jax.jit(lambda tree: jax.tree.map(jnp.sin, tree), out_shardings=by(P("x")))
    product, total = f(w, x)
    return lies(product), total, jax.tree.map(lies, whole({"a": x, "b": (w, x)}))


def donated(jax: Any) -> Any:
    P = jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))
    step = jax.jit(lambda w, g: w - 0.5 * g, donate_argnums=0)
    w = jax.device_put(np.ones((8, 8), np.float32), by(P("x", "y")))
    g = jax.device_put(np.ones((8, 8), np.float32), by(P("x", "y")))
    new = step(w, g)
    return w.is_deleted(), g.is_deleted(), lies(new), refuses(lambda: w + 1, RuntimeError)


def looked_at(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))
    x = jax.device_put(np.ones((8, 8), np.float32), by(P("x", None)))
    f = jax.jit(lambda x: x.sum(0))
    compiled = f.lower(x).compile()
    shape = jax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=by(P("x", "y")))
    ahead = jax.jit(lambda x, y: {"a": x.T, "b": y + 1}).lower(shape, x).compile()
    outs = ahead.output_shardings
    (first, second), keywords = ahead.input_shardings
    return (
        "all-reduce" in compiled.as_text(),
        compiled(x),
        first.shard_shape((8, 8)),
        second.shard_shape((8, 8)),
        keywords,
        outs["a"].shard_shape((8, 8)),
        outs["b"].shard_shape((8, 8)),
        shape.sharding == by(P("x", "y")),
        jax.tree.map(lies, ahead(jax.device_put(x, by(P("x", "y"))), x)),
    )


def shaped(jax: Any) -> Any:
    """State that is made where it is to lie: no device ever holds all of it."""
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))

    def init(key: Any) -> Any:
        w = jax.random.normal(key, (8, 8))
        return {"w": w, "b": jnp.zeros(8), "m": jax.tree.map(jnp.zeros_like, w)}

    key = jax.random.key(0)
    shapes = jax.eval_shape(init, key)
    places = jax.tree.map(lambda s: by(P("x") if len(s.shape) > 1 else P("y")), shapes)
    state = jax.jit(init, out_shardings=places)(key)
    return jax.tree.map(lies, state), [s.shape for s in jax.tree.leaves(shapes)]


def transformed(jax: Any) -> Any:
    jnp, P = jax.numpy, jax.sharding.PartitionSpec
    by = partial(jax.sharding.NamedSharding, grid(jax))
    x = jax.device_put(np.arange(32, dtype=np.float32).reshape(8, 4) / 32, by(P("x", "y")))
    w = jax.device_put(np.ones((4, 4), np.float32) / 4, by(P(None, "y")))

    def layer(w: Any, x: Any) -> Any:
        h = jax.lax.with_sharding_constraint(jnp.tanh(x @ w), by(P("x", "y")))
        return jnp.sum(h**2)

    def looped(w: Any, x: Any) -> Any:
        return jax.lax.scan(lambda h, _: (jnp.tanh(h @ w), h.sum()), x, None, length=3)

    return (
        jax.value_and_grad(layer)(w, x),
        jax.jit(jax.hessian(layer))(w, x).shape,
        jax.vmap(layer, (None, 0))(w, jnp.stack([x, 2 * x])),
        jax.jit(looped)(w, x),
        jax.jvp(partial(layer, w), (x,), (x,)),
        jax.jit(jax.checkpoint(layer))(w, x),
        jax.jit(jax.grad(lambda w: looped(w, x)[1].sum()))(w),
    )
