"""PennyLane: circuits through JAX's interface, by backpropagation and by shifted parameters."""

import jax
import jax.numpy as jnp
import pennylane as qml

DEVICE = qml.device("default.qubit", wires=2)


@qml.qnode(DEVICE, interface="jax")
def circuit(p):
    qml.RX(p[0], wires=0)
    qml.RY(p[1], wires=1)
    qml.CNOT(wires=[0, 1])
    qml.Rot(p[0], p[1], p[2], wires=0)
    return qml.expval(qml.PauliZ(0) @ qml.PauliX(1))


@qml.qnode(DEVICE, interface="jax", diff_method="parameter-shift")
def layers(x):
    qml.AngleEmbedding(x, wires=[0, 1])
    qml.StronglyEntanglingLayers(jnp.ones((1, 2, 3)), wires=[0, 1])
    return qml.probs(wires=[0, 1])


def main():
    p = jnp.array([0.1, 0.2, 0.3])
    return {
        "value": circuit(p),
        "slope": jax.grad(circuit)(p),
        "compiled": jax.jit(jax.grad(circuit))(p),
        "curvature": jax.hessian(circuit)(p),
        "batch": jax.vmap(circuit)(jnp.stack([p, 2 * p])),
        "shifted": jax.jacobian(layers)(jnp.array([0.3, 0.4])),
    }
