"""flowjax: a normalising flow and its density."""

import jax
import jax.numpy as jnp
import jax.random as jr
from flowjax.bijections import Affine, Chain, RationalQuadraticSpline, Tanh
from flowjax.distributions import Normal, Transformed
from flowjax.flows import masked_autoregressive_flow

TOLERANCE = 1e-3


def main():
    flow = masked_autoregressive_flow(jr.key(0), base_dist=Normal(jnp.zeros(2)), flow_layers=2)
    x = jr.normal(jr.key(1), (5, 2))
    squashed = Transformed(Normal(jnp.zeros(2)), Chain([Affine(jnp.ones(2), 2.0), Tanh((2,))]))
    spline = RationalQuadraticSpline(knots=5, interval=2)
    return {
        "log_prob": flow.log_prob(x),
        "sample": flow.sample(jr.key(2), (3,)),
        "squashed": squashed.log_prob(jnp.tanh(x)),
        "slope": jax.vmap(jax.grad(flow.log_prob))(x),
        "spline": jax.vmap(spline.transform)(x[:, 0]),
    }
