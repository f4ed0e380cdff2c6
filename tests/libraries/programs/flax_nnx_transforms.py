"""Transformations of flax.nnx: vmap and scan over layers, control flow, remat, custom rules."""

import jax
import jax.numpy as jnp
from flax import nnx

TOLERANCE = 1e-4


class Stack(nnx.Module):
    def __init__(self, depth, *, rngs):
        @nnx.split_rngs(splits=depth)
        @nnx.vmap(in_axes=(0,), out_axes=0)
        def create(rngs):
            return nnx.Linear(3, 3, rngs=rngs)

        self.layers = create(rngs)

    def __call__(self, x):
        @nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        def forward(x, layer):
            return nnx.tanh(layer(x))

        return forward(x, self.layers)


class Wave(nnx.Module):
    def __init__(self):
        self.x = nnx.Param(jnp.array(1.0))
        self.y = nnx.Param(jnp.array(2.0))


@nnx.custom_vjp
def wave(m):
    return jnp.sin(m.x[...]) * m.y[...]


def wave_forward(m):
    return wave(m), (jnp.cos(m.x[...]), jnp.sin(m.x[...]), m)


def wave_backward(saved, g):
    (grad,), out = g
    cos, sin, m = saved
    grad["x"][...] = cos * out * m.y[...]
    grad["y"][...] = sin * out
    return (grad,)


wave.defvjp(wave_forward, wave_backward)


def leaves(prefix, tree):
    return {f"{prefix}{i}": leaf for i, leaf in enumerate(jax.tree.leaves(tree))}


def main():
    x = jax.random.normal(jax.random.key(0), (5, 3))
    stack = Stack(4, rngs=nnx.Rngs(0))
    ensemble = nnx.vmap(lambda m, x: m(x), in_axes=(0, None), out_axes=0)
    single = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
    again = nnx.remat(lambda m, x: jnp.sum(m(x) ** 2))
    abstract = nnx.eval_shape(lambda: Stack(4, rngs=nnx.Rngs(0)))
    frozen = nnx.grad(lambda m: jnp.sum(m(x)), argnums=nnx.DiffState(0, nnx.PathContains("bias")))
    return {
        "stack": stack(x),
        "ensemble": ensemble(stack.layers, x),
        "cond": nnx.cond(x[0, 0] > 0, lambda m, x: m(x), lambda m, x: -m(x), single, x),
        "fori": nnx.fori_loop(0, 3, lambda i, c: (c[0], c[1] + c[0](c[1])), (single, x))[1],
        "rnn": nnx.RNN(nnx.GRUCell(3, 4, rngs=nnx.Rngs(2)))(x[None]),
        "lora": nnx.LoRALinear(3, 2, lora_rank=2, rngs=nnx.Rngs(3))(x),
        "attention": nnx.MultiHeadAttention(
            num_heads=2, in_features=4, decode=False, rngs=nnx.Rngs(4)
        )(jnp.ones((1, 3, 4)) * jnp.arange(3.0)[None, :, None]),
        "shapes": jnp.array([leaf.size for leaf in jax.tree.leaves(nnx.state(abstract))]),
        **leaves("grad", nnx.grad(lambda m: jnp.sum(m(x)))(stack)),
        **leaves("bias", frozen(single)),
        **leaves("remat", nnx.grad(again)(single, x)),
        **leaves("custom", nnx.grad(wave)(Wave())),
    }
