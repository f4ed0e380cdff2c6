"""TensorFlow Probability on JAX: distributions, bijectors, L-BFGS."""

import jax
import jax.numpy as jnp
import tensorflow_probability.substrates.jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors

DISTRIBUTIONS = {
    "normal": lambda: tfd.Normal(0.0, 1.0),
    "gamma": lambda: tfd.Gamma(2.0, 3.0),
    "beta": lambda: tfd.Beta(2.0, 3.0),
    "student_t": lambda: tfd.StudentT(3.0, 0.0, 1.0),
    "categorical": lambda: tfd.Categorical(logits=jnp.array([0.0, 1.0])),
    "multivariate": lambda: tfd.MultivariateNormalTriL(jnp.zeros(2), jnp.eye(2)),
    "mixture": lambda: tfd.MixtureSameFamily(
        tfd.Categorical(probs=jnp.array([0.3, 0.7])), tfd.Normal(jnp.array([-1.0, 1.0]), 1.0)
    ),
    "von_mises": lambda: tfd.VonMises(0.0, 1.0),
    "dirichlet": lambda: tfd.Dirichlet(jnp.ones(3)),
    "poisson": lambda: tfd.Poisson(3.0),
    "weibull": lambda: tfd.Weibull(2.0, 1.0),
    "lkj": lambda: tfd.LKJ(3, 1.5),
}


def main():
    key = jax.random.PRNGKey(0)
    found = {}
    for name, make in DISTRIBUTIONS.items():
        found[name] = x = make().sample(seed=key)
        found[f"{name}_log_prob"] = make().log_prob(x)

    chain = tfb.Chain([tfb.Exp(), tfb.Shift(1.0)])
    found["jacobian"] = chain.inverse_log_det_jacobian(2.0, event_ndims=0)
    found["minimum"] = tfp.optimizer.lbfgs_minimize(
        lambda x: tfp.math.value_and_gradient(lambda z: jnp.sum((z - 3.0) ** 2), x), jnp.zeros(2)
    ).position
    joint = tfd.JointDistributionNamedAutoBatched(
        {"a": tfd.Normal(0.0, 1.0), "b": lambda a: tfd.Normal(a, 1.0)}
    )
    found["slope"] = jax.grad(joint.log_prob)(joint.sample(seed=key))["a"]
    return found
