"""A double pendulum from its Lagrangian alone, by derivatives of second order."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show


def lagrangian(q, v):
    t1, t2 = q
    w1, w2 = v
    kinetic = w1**2 + 0.5 * w2**2 + w1 * w2 * jnp.cos(t1 - t2)
    return kinetic + 9.8 * (2 * jnp.cos(t1) + jnp.cos(t2))


def acceleration(q, v):
    M = jax.hessian(lagrangian, 1)(q, v)
    force = jax.grad(lagrangian, 0)(q, v) - jax.jacfwd(jax.grad(lagrangian, 1), 0)(q, v) @ v
    return jnp.linalg.solve(M, force)


def energy(q, v):
    return v @ jax.grad(lagrangian, 1)(q, v) - lagrangian(q, v)


def rk4(state, dt):
    def f(s):
        return jnp.concatenate([s[2:], acceleration(s[:2], s[2:])])

    k1 = f(state)
    k2 = f(state + dt / 2 * k1)
    k3 = f(state + dt / 2 * k2)
    k4 = f(state + dt * k3)
    return state + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@jax.jit
def simulate(state):
    def body(s, _):
        return rk4(s, 0.01), energy(s[:2], s[2:])

    return lax.scan(body, state, None, 400)


state = jnp.array([0.8, 0.5, 0.0, 0.0])
for _ in range(3):
    state, energies = simulate(state)
    show("energy", energies[::100])
show("angles", np.round(np.asarray(state[:2]), 1))
