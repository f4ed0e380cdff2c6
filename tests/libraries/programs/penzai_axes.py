"""penzai: arrays with named axes, models as trees that selectors look into and patch."""

import jax
import jax.numpy as jnp
from penzai import pz
from penzai.models import simple_mlp


def main():
    a = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("x", "y")
    b = pz.nx.wrap(jnp.arange(3.0)).tag("y")
    model = simple_mlp.MLP.from_config(
        name="mlp", init_base_rng=jax.random.key(0), feature_sizes=[4, 16, 3]
    )
    x = pz.nx.wrap(jnp.linspace(-1.0, 1.0, 8).reshape(2, 4)).tag("batch", "features")
    patched = (
        pz.select(model)
        .at_instances_of(pz.nn.Elementwise)
        .apply(lambda _: pz.nn.Elementwise(jnp.tanh))
    )
    skeleton, parameters = pz.unbind_params(model)

    def loss(values):
        bound = pz.bind_variables(skeleton, values)
        return pz.nx.nmap(jnp.sum)(bound(x).untag("batch", "features") ** 2).unwrap()

    slopes = jax.tree.leaves(jax.grad(loss)([p.freeze() for p in parameters]))
    return {
        "broadcast": (a * b + 1.0).unwrap("x", "y"),
        "softmax": pz.nx.nmap(jax.nn.softmax)(a.untag("y")).tag("y").unwrap("x", "y"),
        "indexed": a[{"y": pz.nx.wrap(jnp.array([2, 0])).tag("z")}].unwrap("x", "z"),
        "joined": pz.nx.concatenate([a, 2.0 * a], "x").unwrap("x", "y"),
        "model": model(x).unwrap("batch", "features"),
        "jitted": pz.nx.nmap(jnp.tanh)(jax.jit(lambda x: patched(x))(x)).unwrap(
            "batch", "features"
        ),
        "linear": pz.select(model).at_instances_of(pz.nn.Linear).count(),
        "slopes": jnp.stack([jnp.sum(x) for x in slopes]),
    }
