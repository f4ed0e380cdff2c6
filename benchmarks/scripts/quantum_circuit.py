"""A variational circuit of six qubits finds the ground state of an Ising chain."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

QUBITS, LAYERS = 6, 3
Z = np.array([1, -1], np.float32)


def ry(angle):
    c, s = jnp.cos(angle / 2), jnp.sin(angle / 2)
    return jnp.array([[c, -s], [s, c]]).astype(jnp.complex64)


def rz(angle):
    return jnp.diag(jnp.exp(1j * angle / 2 * np.array([-1, 1])))


def gate(state, matrix, qubit):
    return jnp.moveaxis(jnp.tensordot(matrix, state, (1, qubit)), 0, qubit)


def cz(state, a, b):
    sign = np.ones((2,) * QUBITS, np.float32)
    index = [slice(None)] * QUBITS
    index[a] = index[b] = 1
    sign[tuple(index)] = -1
    return state * sign


def circuit(params):
    state = jnp.zeros((2,) * QUBITS, jnp.complex64).at[(0,) * QUBITS].set(1)
    for layer in range(LAYERS):
        for q in range(QUBITS):
            state = gate(state, ry(params[layer, q, 0]), q)
            state = gate(state, rz(params[layer, q, 1]), q)
        for q in range(QUBITS - 1):
            state = cz(state, q, q + 1)
    return state


def energy(params):
    state = circuit(params)
    p = jnp.abs(state) ** 2
    total = 0.0
    for q in range(QUBITS - 1):
        shape = [1] * QUBITS
        shape[q] = shape[q + 1] = 2
        total = total - jnp.sum(p * np.outer(Z, Z).reshape(shape))
    for q in range(QUBITS):
        flipped = jnp.flip(state, q)
        total = total - 0.8 * jnp.sum(jnp.conj(state) * flipped).real
    return total


@jax.jit
def step(params):
    value, grads = jax.value_and_grad(energy)(params)
    return params - 0.08 * grads, value


params = 0.3 * jax.random.normal(jax.random.key(0), (LAYERS, QUBITS, 2))
for i in range(80):
    params, value = step(params)
    if i % 20 == 0:
        show("energy", value)
show("norm", jnp.sum(jnp.abs(circuit(params)) ** 2))
