"""Call each kind of Equinox layer, and differentiate it in its parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp

TOLERANCE = 1e-4
key = jax.random.PRNGKey(0)
keys = iter(jax.random.split(key, 40))
LAYERS = {
    "linear": (eqx.nn.Linear(4, 3, key=next(keys)), (4,)),
    "identity": (eqx.nn.Identity(), (4,)),
    "conv1d": (eqx.nn.Conv1d(2, 3, 3, padding=1, key=next(keys)), (2, 8)),
    "conv2d": (eqx.nn.Conv2d(2, 4, 3, stride=2, groups=2, key=next(keys)), (2, 9, 9)),
    "conv3d": (eqx.nn.Conv3d(1, 2, 2, dilation=2, key=next(keys)), (1, 5, 5, 5)),
    "transposed": (eqx.nn.ConvTranspose2d(2, 3, 3, stride=2, key=next(keys)), (2, 4, 4)),
    "avg": (eqx.nn.AvgPool2d(2, 2), (2, 6, 6)),
    "max": (eqx.nn.MaxPool1d(3, 2, padding=1), (2, 9)),
    "adaptive": (eqx.nn.AdaptiveAvgPool2d(3), (2, 7, 8)),
    "layer_norm": (eqx.nn.LayerNorm(6), (6,)),
    "rms_norm": (eqx.nn.RMSNorm(6), (6,)),
    "group_norm": (eqx.nn.GroupNorm(2, 4), (4, 5)),
    "gru": (lambda x, c=eqx.nn.GRUCell(4, 3, key=next(keys)): c(x, jnp.ones(3)), (4,)),
    "lstm": (
        lambda x, c=eqx.nn.LSTMCell(4, 3, key=next(keys)): c(x, (jnp.ones(3), jnp.ones(3)))[0],
        (4,),
    ),
    "prelu": (eqx.nn.PReLU(0.2), (5,)),
    "mlp": (eqx.nn.MLP(4, 2, 8, 2, key=next(keys)), (4,)),
    "sequential": (
        eqx.nn.Sequential(
            [eqx.nn.Linear(4, 8, key=next(keys)), eqx.nn.Lambda(jax.nn.gelu), eqx.nn.LayerNorm(8)]
        ),
        (4,),
    ),
    "rotary": (eqx.nn.RotaryPositionalEmbedding(4), (6, 4)),
    "weight_norm": (eqx.nn.WeightNorm(eqx.nn.Linear(4, 3, key=next(keys))), (4,)),
}
attention = eqx.nn.MultiheadAttention(2, 8, key=next(keys))
embedding = eqx.nn.Embedding(10, 4, key=next(keys))
dropout = eqx.nn.Dropout(0.5)


@eqx.filter_jit
def value_and_grad(layer, x):
    return eqx.filter_value_and_grad(lambda layer, x: jnp.sum(jnp.sin(layer(x))))(layer, x)


def main():
    results = {}
    for name, (layer, shape) in LAYERS.items():
        x = jnp.cos(jnp.arange(jnp.prod(jnp.array(shape)), dtype=jnp.float32)).reshape(shape)
        results[name] = eqx.filter_jit(layer)(x)
        _, grads = value_and_grad(layer, x)
        for i, leaf in enumerate(jax.tree.leaves(grads)):
            results[f"{name} {i}"] = leaf
    x = jax.random.normal(key, (5, 8))
    mask = jnp.tril(jnp.ones((5, 5), bool))
    results["attention"] = eqx.filter_jit(attention)(x, x, x, mask=mask)
    results["embedding"] = jax.vmap(embedding)(jnp.array([1, 3, 9]))
    results["dropout"] = dropout(x, key=key)
    results["inference"] = eqx.nn.inference_mode(dropout)(x)
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(8, axis_name="batch", mode="batch")
    out, state = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
    results["batch_norm"] = out
    return results
