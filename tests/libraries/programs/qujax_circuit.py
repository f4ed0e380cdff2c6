"""qujax: a circuit of two qubits, an expectation and its gradient."""

import jax
import jax.numpy as jnp
import qujax


def main():
    circuit = qujax.get_params_to_statetensor_func(
        ["H", "Ry", "CX", "Rz"], [[0], [1], [0, 1], [1]], [[], [0], [], [1]]
    )
    expectation = qujax.get_statetensor_to_expectation_func(["Z", "X"], [[1], [0]], [1.0, 0.5])
    angles = jnp.array([0.3, 0.7])
    return {
        "state": circuit(angles),
        "value": expectation(circuit(angles)),
        "slope": jax.grad(lambda p: expectation(circuit(p)))(angles),
    }
