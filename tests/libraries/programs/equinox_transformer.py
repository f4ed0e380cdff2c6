"""Train a small transformer with dropout and a recurrent network with state; share weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

TOLERANCE = 1e-3


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    norms: tuple[eqx.nn.LayerNorm, eqx.nn.LayerNorm]
    mlp: eqx.nn.MLP
    rope: eqx.nn.RotaryPositionalEmbedding
    dropout: eqx.nn.Dropout

    def __init__(self, size, key):
        keys = jax.random.split(key, 2)
        self.attention = eqx.nn.MultiheadAttention(2, size, key=keys[0])
        self.norms = (eqx.nn.LayerNorm(size), eqx.nn.LayerNorm(size))
        self.mlp = eqx.nn.MLP(size, size, 16, 1, jax.nn.gelu, key=keys[1])
        self.rope = eqx.nn.RotaryPositionalEmbedding(size // 2)
        self.dropout = eqx.nn.Dropout(0.1)

    def __call__(self, x, key):
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        turn = lambda heads: jax.vmap(self.rope, in_axes=1, out_axes=1)(heads)
        rotate = lambda q, k, v: (turn(q), turn(k), v)
        y = jax.vmap(self.norms[0])(x)
        y = self.attention(y, y, y, mask, process_heads=rotate)
        x = x + self.dropout(y, key=key)
        return x + jax.vmap(self.mlp)(jax.vmap(self.norms[1])(x))


class Transformer(eqx.Module):
    shared: eqx.nn.Shared
    blocks: Block  # stacked

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        embedding = eqx.nn.Embedding(6, 8, key=keys[0])
        out = eqx.nn.Linear(8, 6, use_bias=False, key=keys[1])
        where, get = lambda pair: pair[1].weight, lambda pair: pair[0].weight
        self.shared = eqx.nn.Shared((embedding, out), where, get)
        make = eqx.filter_vmap(lambda key: Block(8, key))
        self.blocks = make(jax.random.split(keys[2], 2))

    def __call__(self, tokens, key):
        embedding, out = self.shared()
        arrays, static = eqx.partition(self.blocks, eqx.is_array)

        def layer(carry, arrays):
            x, key = carry
            own, key = jax.random.split(key)
            return (eqx.combine(arrays, static)(x, own), key), None

        (x, _), _ = jax.lax.scan(layer, (jax.vmap(embedding)(tokens), key), arrays)
        return jax.vmap(out)(x)


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))


@eqx.filter_jit(donate="none")
def step(model, state, tokens, key):
    @eqx.filter_value_and_grad
    def loss(model):
        keys = jax.random.split(key, tokens.shape[0])
        logits = jax.vmap(model)(tokens[:, :-1], keys)
        wanted = tokens[:, 1:]
        return optax.softmax_cross_entropy_with_integer_labels(logits, wanted).mean()

    value, grads = loss(model)
    updates, state = optimizer.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, value


class Recurrent(eqx.Module):
    cell: eqx.nn.GRUCell
    norm: eqx.nn.BatchNorm
    out: eqx.nn.SpectralNorm

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.cell = eqx.nn.GRUCell(2, 4, key=keys[0])
        self.norm = eqx.nn.BatchNorm(4, axis_name="batch", mode="ema")
        linear = eqx.nn.Linear(4, 1, key=keys[1])
        self.out = eqx.nn.SpectralNorm(linear, "weight", key=keys[2])

    def __call__(self, xs, state):
        hidden, _ = jax.lax.scan(lambda h, x: (self.cell(x, h), None), jnp.zeros(4), xs)
        hidden, state = self.norm(hidden, state)
        return self.out(hidden, state)


@eqx.filter_jit
def run(model, state, xs):
    return jax.vmap(model, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(xs, state)


def main():
    keys = jax.random.split(jax.random.PRNGKey(9), 4)
    model = Transformer(keys[0])
    state = optimizer.init(eqx.filter(model, eqx.is_array))
    tokens = (jnp.arange(9)[None] * jnp.arange(1, 5)[:, None]) % 6
    losses = []
    for key in jax.random.split(keys[1], 6):
        model, state, value = step(model, state, tokens, key)
        losses.append(value)
    results = {"losses": jnp.stack(losses)}
    calm = eqx.nn.inference_mode(model)
    results["logits"] = calm(tokens[0], keys[2])
    recurrent, state = eqx.nn.make_with_state(Recurrent)(keys[3])
    xs = jnp.sin(jnp.arange(48.0)).reshape(4, 6, 2)
    for _ in range(3):
        out, state = run(recurrent, state, xs)
    results["recurrent"] = out
    results["calm"] = run(eqx.nn.inference_mode(recurrent), state, xs)[0]
    sizes = jax.tree.map(jnp.size, eqx.filter(model, eqx.is_inexact_array))
    results["size"] = jnp.array(sum(jax.tree.leaves(sizes)))
    results["text"] = jnp.array(len(eqx.tree_pformat(recurrent)) > 100)
    return results
