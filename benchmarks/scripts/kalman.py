"""A Kalman filter over 3000 measurements, and the gradient of its likelihood in the noises."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

DT = 0.1
F = np.array([[1, 0, DT, 0], [0, 1, 0, DT], [0, 0, 1, 0], [0, 0, 0, 1]], np.float32)
H = np.eye(2, 4, dtype=np.float32)
rng = np.random.default_rng(0)
velocity = np.cumsum(0.1 * rng.standard_normal((3000, 2)), 0)
track = np.cumsum(DT * velocity, 0)
measured = (track + 0.5 * rng.standard_normal((3000, 2))).astype(np.float32)


def log_likelihood(log_noise, zs):
    q, r = jnp.exp(log_noise)
    Q, R = q * jnp.eye(4), r * jnp.eye(2)

    def step(state, z):
        x, P = state
        x, P = F @ x, F @ P @ F.T + Q
        innovation, S = z - H @ x, H @ P @ H.T + R
        K = P @ H.T @ jnp.linalg.inv(S)
        ll = -0.5 * (innovation @ jnp.linalg.solve(S, innovation) + jnp.linalg.slogdet(S)[1])
        return (x + K @ innovation, (jnp.eye(4) - K @ H) @ P), (ll, x)

    _, (ll, xs) = lax.scan(step, (jnp.zeros(4), jnp.eye(4)), zs)
    return ll.mean(), xs


@jax.jit
def filtered(log_noise, zs):
    return log_likelihood(log_noise, zs)[1]


@jax.jit
def ascend(log_noise, zs):
    slope, _ = jax.grad(log_likelihood, has_aux=True)(log_noise, zs)
    return log_noise + 0.5 * slope


log_noise = jnp.log(jnp.array([0.1, 1.0]))
show("first", filtered(log_noise, measured)[-1])
for _ in range(5):
    log_noise = ascend(log_noise, measured[:500])
show("noise", log_noise)
show("last", filtered(log_noise, measured)[-1])
