"""Small programs that users of JAX called slow on CPU, written from what the issues describe.

XLA:CPU runs the operations of a program one by one, at some microseconds each, and small ones are
little else.
"""

from typing import Any, Final

import numpy as np

from benchmarks.libraries import Library
from benchmarks.small_steps import Function, Steps

#: Links of the arm, compartments of the neuron, and steps of its simulation.
JOINTS: Final = 35
COMPARTMENTS: Final = 8
TIMES: Final = 400


def _mass_matrix(lib: Library) -> Function:
    """The mass matrix of an arm, by the Jacobians of its links (jax issue 26021)."""
    jnp = lib.module.numpy
    below = np.tril(np.ones((JOINTS, JOINTS)))[..., None]

    def link(angle: Any) -> Any:
        s, c = jnp.sin(angle), jnp.cos(angle)
        zero, one = jnp.zeros_like(s), jnp.ones_like(s)
        rows = [[c, -s, zero, 0.1 * one], [zero, zero, -one, zero]]
        return jnp.array([*rows, [s, c, zero, 0.1 * one], [zero, zero, zero, one]])

    def matrix(angles: Any) -> Any:
        poses = [link(angles[0])]
        for i in range(1, JOINTS):
            poses.append(poses[-1] @ link(angles[i]))
        stacked = jnp.stack(poses)
        axes, origins = stacked[:, :3, 2], stacked[:, :3, 3]
        linear = jnp.cross(axes[None], origins[:, None] - origins[None]) * below
        angular = axes[None] * below
        return sum(jnp.einsum("bix,bjx->ij", each, each) for each in (linear, 0.1 * angular))

    return matrix


def _neuron(lib: Library) -> Function:
    """The gradient of a simulated neuron in its conductances (jax issue 26145).

    A cable of compartments with the channels of Hodgkin and Huxley (1952), by implicit steps.
    """
    jnp = lib.module.numpy
    step, coupling = 0.025, 1.0

    def gate(x: Any, up: Any, down: Any) -> Any:
        return up / (up + down) + (x - up / (up + down)) * jnp.exp(-step * (up + down))

    def solved(diagonal: Any, right: Any) -> Any:
        """Solve for the voltages of neighbours by elimination."""
        d, b = [diagonal[0]], [right[0]]
        for i in range(1, COMPARTMENTS):
            d.append(diagonal[i] - (step * coupling) ** 2 / d[-1])
            b.append(right[i] + step * coupling * b[-1] / d[-2])
        x = [b[-1] / d[-1]]
        for i in reversed(range(COMPARTMENTS - 1)):
            x.append((b[i] + step * coupling * x[-1]) / d[i])
        return jnp.stack(x[::-1])

    def last(conductances: Any) -> Any:
        def move(state: Any, _: Any) -> Any:
            v, m, h, n = state
            m = gate(m, 0.1 * (v + 40) / (1 - jnp.exp(-(v + 40) / 10)), 4 * jnp.exp(-(v + 65) / 18))
            h = gate(h, 0.07 * jnp.exp(-(v + 65) / 20), 1 / (1 + jnp.exp(-(v + 35) / 10)))
            up = 0.01 * (v + 55) / (1 - jnp.exp(-(v + 55) / 10))
            n = gate(n, up, 0.125 * jnp.exp(-(v + 65) / 80))
            sodium, potassium = conductances[0] * m**3 * h, conductances[1] * n**4
            open_to = sodium + potassium + conductances[2]
            current = sodium * 50 - potassium * 77 - conductances[2] * 54.4 + driven
            v = solved(1 + step * (open_to + coupled), v + step * current)
            return (v, m, h, n), v[-1]

        start = [jnp.full(COMPARTMENTS, x, "float64") for x in (-62.0, 0.05, 0.6, 0.32)]
        return jnp.mean(lib.module.lax.scan(move, tuple(start), None, length=TIMES)[1])

    inside = np.arange(COMPARTMENTS)
    driven = np.where(inside == 0, 20.0, 0.0)
    coupled = coupling * np.where((inside == 0) | (inside == COMPARTMENTS - 1), 1.0, 2.0)
    gradient: Function = lib.module.grad(last)
    return gradient


def _cholesky(lib: Library) -> Function:
    """The factor of a matrix whose triangles have rank three (jax issue 36799).

    D. Foreman-Mackey, E. Agol, S. Ambikasaran and R. Angus, "Fast and scalable Gaussian process
    modeling" (2017): the carry is a matrix of three rows.
    """
    jnp = lib.module.numpy

    def factor(rows: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            diagonal, p, q, decay = row[0], row[1:4], row[4:7], row[7:10]
            inherited = decay[:, None] * carry
            root = jnp.sqrt(diagonal - p @ carry @ p)
            w = (q - p @ (inherited.T)) / root
            return inherited * decay + jnp.outer(w, w), (root, w)

        return lib.module.lax.scan(step, jnp.zeros((3, 3), rows.dtype), rows)[1]

    return factor


def _cholesky_data(size: int = 2000) -> Any:
    rng = np.random.default_rng(0)
    p, q = 0.1 * rng.standard_normal((2, size, 3))
    decay = 0.5 + 0.3 * rng.random((size, 3))
    return np.concatenate([2 + rng.random((size, 1)), p, q, decay], axis=1)


def _roughness(lib: Library) -> Function:
    """The gradient of how much neighbours in a volume differ (jax issue 37465)."""
    jnp = lib.module.numpy

    def cost(x: Any) -> Any:
        return sum(jnp.sum(jnp.square(jnp.diff(x, axis=axis))) for axis in range(3))

    gradient: Function = lib.module.grad(cost)
    return gradient


PROGRAMS: Final = (
    Steps(f"mass matrix of {JOINTS} joints", _mass_matrix, np.linspace(-1.0, 1.0, JOINTS)),
    Steps("gradient of a simulated neuron", _neuron, np.array([120.0, 36.0, 0.3])),
    Steps("scan with a carry of 3 x 3, float64", _cholesky, _cholesky_data()),
    Steps(
        "gradient of differences in a volume of 128^3",
        _roughness,
        np.random.default_rng(0).standard_normal((128, 128, 128), np.float32),
    ),
)
