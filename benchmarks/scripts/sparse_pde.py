"""Poisson's equation on a grid by conjugate gradients, and its source from the result."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, load, show

cg = load("scipy.sparse.linalg").cg
N = 40
y, x = np.mgrid[:N, :N] / (N - 1)
source = (np.exp(-40 * ((x - 0.3) ** 2 + (y - 0.6) ** 2))).astype(np.float32)


def laplacian(u):
    u = jnp.pad(u, 1)
    return 4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]


@jax.jit
def solve(f):
    return cg(laplacian, f, maxiter=200, tol=1e-5)[0]


observed = solve(source)
show("peak", observed.max())


def misfit(strength, place):
    f = strength * jnp.exp(-40 * ((x - place[0]) ** 2 + (y - place[1]) ** 2))
    return jnp.sum((solve(f.astype(jnp.float32)) - observed) ** 2) / N


@jax.jit
def step(strength, place):
    value, (a, b) = jax.value_and_grad(misfit, (0, 1))(strength, place)
    return strength - 2e-4 * a, place - 1e-5 * b, value


strength, place = jnp.float32(0.7), jnp.array([0.35, 0.55])
for i in range(15):
    strength, place, value = step(strength, place)
    if i % 5 == 0:
        show("misfit", value)
show("place", jnp.round(place, 2))
