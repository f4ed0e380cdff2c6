"""Cameras and points from their pictures, by Levenberg's and Marquardt's method."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

CAMERAS, POINTS = 4, 25
rng = np.random.default_rng(0)
points = rng.uniform(-1, 1, (POINTS, 3)).astype(np.float32)
angles = rng.uniform(-0.3, 0.3, (CAMERAS, 3)).astype(np.float32)
shifts = (rng.uniform(-0.5, 0.5, (CAMERAS, 3)) + np.array([0, 0, 5])).astype(np.float32)


def rotate(w, x):
    theta = jnp.sqrt(w @ w + 1e-8)
    axis = w / theta
    cross = jnp.cross(axis, x)
    return x * jnp.cos(theta) + cross * jnp.sin(theta) + axis * (axis @ x) * (1 - jnp.cos(theta))


def project(angle, shift, x):
    p = rotate(angle, x) + shift
    return p[:2] / p[2]


def pictures(angles, shifts, points):
    return jax.vmap(jax.vmap(project, (None, None, 0)), (0, 0, None))(angles, shifts, points)


observed = pictures(angles, shifts, points) + 1e-3 * rng.standard_normal(
    (CAMERAS, POINTS, 2)
).astype(np.float32)


def unpack(v):
    n = 3 * CAMERAS
    return v[:n].reshape(-1, 3), v[n : 2 * n].reshape(-1, 3), v[2 * n :].reshape(-1, 3)


def residuals(v):
    return (pictures(*unpack(v)) - observed).ravel()


@jax.jit
def step(v, damping):
    r, J = residuals(v), jax.jacfwd(residuals)(v)
    A = J.T @ J
    new = v - jnp.linalg.solve(A + damping * jnp.eye(len(v)), J.T @ r)
    return new, 0.5 * r @ r, 0.5 * jnp.sum(residuals(new) ** 2)


v = jnp.concatenate([angles.ravel(), shifts.ravel(), points.ravel()])
v = v + 0.05 * rng.standard_normal(v.shape).astype(np.float32)
damping = 1e-2
for i in range(15):
    new, before, after = step(v, damping)
    if i == 0:
        show("cost", before)
    if after < before:
        v, damping = new, damping / 3
    else:
        damping *= 3
show("converged", bool(before < 1e-3))
