"""Prices and Greeks of options by Monte Carlo, beside Black's and Scholes' formula."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

PATHS, STEPS = 4000, 50


def paths(key, spot, vol, rate):
    dt = 1 / STEPS
    noise = jax.random.normal(key, (STEPS, PATHS))
    steps = (rate - 0.5 * vol**2) * dt + vol * jnp.sqrt(dt) * noise
    return spot * jnp.exp(jnp.cumsum(steps, 0))


@jax.jit
def asian(key, spot, vol, rate):
    mean = paths(key, spot, vol, rate).mean(0)
    return jnp.exp(-rate) * jnp.maximum(mean - 100.0, 0.0).mean()


def black_scholes(spot, vol, rate):
    d1 = (jnp.log(spot / 100.0) + rate + 0.5 * vol**2) / vol
    cdf = jax.scipy.stats.norm.cdf
    return spot * cdf(d1) - 100.0 * jnp.exp(-rate) * cdf(d1 - vol)


greeks = jax.jit(jax.value_and_grad(asian, (1, 2, 3)))
for spot in (90.0, 100.0, 110.0):
    price, sensitivities = greeks(jax.random.key(0), spot, 0.2, 0.05)
    show("asian", price)
    show("greeks", np.array(sensitivities))
exact = jax.jit(jax.vmap(jax.value_and_grad(black_scholes, (0, 1)), (0, None, None)))
values, (delta, vega) = exact(jnp.linspace(80.0, 120.0, 9), 0.2, 0.05)
show("exact", values)
show("vega", vega)
