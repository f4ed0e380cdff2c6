"""TensorFlow Probability on JAX: Hamiltonian Monte Carlo with an adapted step."""

import jax
import jax.numpy as jnp
import tensorflow_probability.substrates.jax as tfp

TOLERANCE = 1e-3  # one ulp in the start moves the chain by 2e-5


def main():
    target = tfp.distributions.MultivariateNormalTriL(
        jnp.zeros(2), jnp.array([[1.0, 0.0], [0.5, 1.0]])
    )
    kernel = tfp.mcmc.DualAveragingStepSizeAdaptation(
        tfp.mcmc.HamiltonianMonteCarlo(target.log_prob, step_size=0.3, num_leapfrog_steps=5), 8
    )
    key = jax.random.PRNGKey(0)
    chain = tfp.mcmc.sample_chain(
        20, jnp.zeros(2), kernel=kernel, num_burnin_steps=10, seed=key, trace_fn=None
    )
    return {"chain": chain}
