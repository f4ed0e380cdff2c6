"""A search for the material that conducts heat best: a filtered density, a dense solver."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

N = 12
index = np.arange(N * N).reshape(N, N)
edges = np.concatenate(
    [
        np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], 1),
        np.stack([index[:-1].ravel(), index[1:].ravel()], 1),
    ]
)
sink = np.zeros(N * N, np.float32)
sink[index[0, N // 2 - 1 : N // 2 + 1]] = 1e3


def smooth(rho):
    p = jnp.pad(rho, 1, mode="edge")
    near = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return 0.5 * rho + 0.125 * near


def compliance(x):
    rho = smooth(jax.nn.sigmoid(x)).ravel()
    k = 1e-2 + rho**3
    ke = 2 / (1 / k[edges[:, 0]] + 1 / k[edges[:, 1]])
    i, j = edges.T
    K = (
        jnp.zeros((N * N, N * N))
        .at[i, i]
        .add(ke)
        .at[j, j]
        .add(ke)
        .at[i, j]
        .add(-ke)
        .at[j, i]
        .add(-ke)
    )
    heat = jnp.full(N * N, 1.0 / N**2)
    u = jnp.linalg.solve(K + jnp.diag(sink), heat)
    return heat @ u, rho.mean()


def objective(x, penalty):
    c, volume = compliance(x)
    return c + penalty * jnp.maximum(volume - 0.4, 0.0) ** 2


@jax.jit
def step(x, m, penalty):
    value, grad = jax.value_and_grad(objective)(x, penalty)
    m = 0.8 * m + grad / (jnp.abs(grad).max() + 1e-12)
    return x - 0.1 * m, m, value


x, m = jnp.zeros((N, N)), jnp.zeros((N, N))
for i in range(40):
    x, m, value = step(x, m, 10.0 * (1 + i))
    if i % 13 == 0:
        show("objective", value)
show("volume", bool(compliance(x)[1] < 0.5))
