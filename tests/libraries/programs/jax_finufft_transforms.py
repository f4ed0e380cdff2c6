"""jax-finufft: Fourier transforms at any points, and their derivatives, by functions in C++."""

import jax
import jax.numpy as jnp
import numpy as np
from jax_finufft import nufft1, nufft2, nufft3

TOLERANCE = 1e-4


def main():
    rng = np.random.default_rng(1)
    x = (2 * np.pi * rng.uniform(size=1000)).astype(np.float32)
    c = (rng.normal(size=1000) + 1j * rng.normal(size=1000)).astype(np.complex64)
    modes = nufft1(20, c, x, eps=1e-6, iflag=1)
    plane = jax.jit(lambda c, x: nufft1((12, 12), c, x, x[::-1]))
    return {
        "modes": modes,
        "values": nufft2(modes, x, eps=1e-6, iflag=-1),
        "plane": plane(c, x),
        "frequencies": nufft3(c, x, jnp.linspace(-3, 3, 8)),
        "grad": jax.grad(lambda x: jnp.abs(nufft1(20, c, x)).sum())(x),
        "grad_of_values": jax.jit(jax.grad(lambda x: jnp.abs(nufft2(modes, x)).sum()))(x),
        "tangent": jax.jvp(lambda c: nufft1(20, c, x), (c,), (1j * c,))[1],
        "hessian": jax.hessian(lambda x: jnp.abs(nufft2(modes, x)).sum())(x[:3]),
    }
