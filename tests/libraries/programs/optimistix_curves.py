"""Fit many curves at once, some of them robustly, by least squares with trees of parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx

TOLERANCE = 1e-3
T = jnp.linspace(0.0, 3.0, 25)


class Wave(eqx.Module):
    """A damped wave."""

    height: jax.Array
    pitch: jax.Array
    damping: jax.Array

    def __call__(self, t):
        return self.height * jnp.cos(self.pitch * t) * jnp.exp(-jax.nn.softplus(self.damping) * t)


def gaps(wave, data):
    return jax.vmap(wave)(T) - data


def robust_gaps(wave, data):
    plain = gaps(wave, data)
    return {"data": plain / jnp.sqrt(1 + plain**2), "prior": 0.01 * wave.damping}


@eqx.filter_jit
def fit(function, solver, data):
    start = Wave(jnp.array(1.0), jnp.array(2.0), jnp.array(-1.0))
    return optx.least_squares(function, solver, start, args=data, max_steps=60, throw=False)


def main():
    key = jax.random.PRNGKey(3)
    heights = jnp.array([1.5, 0.7, 2.0])
    truth = jax.vmap(lambda a: jax.vmap(Wave(a, jnp.array(2.3), jnp.array(-0.5)))(T))(heights)
    data = truth + 0.02 * jax.random.normal(key, truth.shape)
    spoiled = data[0].at[5].add(3.0)
    marquardt = optx.LevenbergMarquardt(rtol=1e-6, atol=1e-6)
    results = {}
    many = eqx.filter_vmap(lambda d: fit(gaps, marquardt, d).value)(data)
    results["heights"], results["pitches"] = many.height, many.pitch
    for name, solver in (
        ("marquardt", marquardt),
        ("dogleg", optx.Dogleg(rtol=1e-6, atol=1e-6)),
        ("bfgs", optx.BFGS(rtol=1e-6, atol=1e-6)),
    ):
        found = fit(robust_gaps, solver, spoiled)
        results[f"{name} height"], results[f"{name} pitch"] = found.value.height, found.value.pitch
    influence = jax.grad(lambda d: fit(robust_gaps, marquardt, d).value.height)(spoiled)
    results["influence"] = influence
    first = Wave(jnp.array(1.0), jnp.array(2.0), jnp.array(-1.0))
    curvature = jax.jacfwd(lambda w: gaps(w, data[0]))(first)
    results["jacobian"] = jnp.stack([curvature.height, curvature.pitch, curvature.damping])
    return results
