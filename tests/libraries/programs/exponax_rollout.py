"""Exponax: a spectral solver of a chaotic equation, and its gradient."""

import exponax as ex
import jax

TOLERANCE = 1e-3


def main():
    stepper = ex.stepper.KuramotoSivashinskyConservative(
        num_spatial_dims=1, domain_extent=60.0, num_points=64, dt=0.5
    )
    start = ex.ic.RandomTruncatedFourierSeries(num_spatial_dims=1, cutoff=5)(
        num_points=64, key=jax.random.PRNGKey(0)
    )
    path = ex.rollout(stepper, 10, include_init=True)(start)
    slope = jax.grad(lambda u: (ex.rollout(stepper, 3)(u) ** 2).sum())(start)
    return {"path": path, "slope": slope}
