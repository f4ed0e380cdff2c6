"""e3nn-jax: spherical harmonics, tensor products of representations, gates and rotations."""

import e3nn_jax as e3nn
import jax
import jax.numpy as jnp

TOLERANCE = 2e-4


def main():
    points = jax.random.normal(jax.random.PRNGKey(0), (5, 3))

    def harmonics(irreps, x):
        return e3nn.spherical_harmonics(irreps, e3nn.IrrepsArray("1o", x), True)

    def total(x):
        return e3nn.tensor_product(harmonics("1o+2e", x), e3nn.IrrepsArray("1o", x)).array.sum()

    features = harmonics("0e + 1o + 2e", points)
    return {
        "harmonics": features.array,
        "product": e3nn.tensor_product(features, features).array,
        "slope": jax.grad(total)(points),
        "rotation": e3nn.Irreps("1o+2e").D_from_angles(0.1, 0.2, 0.3),
        "gate": e3nn.gate(e3nn.IrrepsArray("2x0e+1o", jnp.ones((2, 5)))).array,
        "norms": e3nn.norm_activation(features, [jnp.tanh, jax.nn.sigmoid, None]).array,
    }
