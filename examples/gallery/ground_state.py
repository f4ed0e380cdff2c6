"""The ground state of a particle, by a network.

How does a particle at rest spread over four wells that are not equally deep? Its wave function is
positive, so a network learns its logarithm. Where it is right, every place has the same energy:
the picture shows how far the places agree.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array, autodiff
from tinyjax.example_libraries import optimizers

WELLS = np.array([[1.1, 1.1], [-1.1, 1.1], [-1.1, -1.1], [1.1, -1.1]])
DEPTHS = np.array([6.0, 6.4, 6.2, 5.9])
Network = list[tuple[Array, Array]]


def potential(place: Array) -> Array:
    squares = jnp.sum((place - WELLS) ** 2, -1)
    return jnp.sum(place**2) / 4 - jnp.sum(DEPTHS * jnp.exp(-squares / 0.8))


def initial(key: Array, widths: tuple[int, ...]) -> Network:
    keys = jax.random.split(key, len(widths) - 1)
    return [
        (jax.random.normal(k, (n, m)) / n**0.5, jnp.zeros(m))
        for k, n, m in zip(keys, widths[:-1], widths[1:], strict=True)
    ]


def log_wave(network: Network, place: Array) -> Array:
    hidden = place
    for weights, bias in network[:-1]:
        hidden = jnp.tanh(hidden @ weights + bias)
    weights, bias = network[-1]
    return (hidden @ weights + bias)[0] - jnp.sum(place**2) / 3


# %%
# The energy at a place is the potential there less half of the wave's Laplacian over the wave. Of
# its logarithm that is the Laplacian and the square of the gradient, which come with the value in
# one forward pass.


def energy(network: Network, place: Array) -> tuple[Array, Array]:
    """The logarithm of the wave, and the energy at a place."""
    log, slope, bend = autodiff.laplacian(log_wave, argnums=1)(network, place)
    return log, potential(place) - (bend + jnp.sum(slope**2)) / 2


# %%
# The loss is the mean energy, weighted by how often the particle is at a place, and its variance,
# which is zero for a state that rests. Its gradient is one of third order.


def moments(network: Network, places: Array) -> tuple[Array, Array, Array, Array]:
    logs, energies = jax.vmap(energy, (None, 0))(network, places)
    chances = jax.nn.softmax(2 * logs)
    mean = chances @ energies
    return mean, chances @ (energies - mean) ** 2, chances, energies


def loss(network: Network, places: Array) -> Array:
    mean, variance, *_ = moments(network, places)
    return mean + variance


@jax.jit
def train(network: Network, places: Array, steps: int) -> Network:
    init, update, network_of = optimizers.adam(lambda i: 0.01 / (1 + i / 300))

    def step(i: Array, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        return update(i, jax.grad(loss)(network_of(state), places), state)

    trained: Network = network_of(jax.lax.fori_loop(0, steps, step, init(network)))
    return trained


def main(
    path: str = "ground_state.png", *, steps: int = 1500, width: int = 24, points: int = 48
) -> dict[str, float]:
    network = initial(jax.random.key(0), (2, width, width, 1))
    network = train(network, square(4.0, points), steps)
    mean, variance, *_ = moments(network, square(4.0, points))
    *_, chances, energies = moments(network, square(2.4, 120))
    shown, at_places = (np.asarray(x).reshape(120, 120) for x in (chances, energies))
    draw(path, shown, at_places, float(mean))
    return {"energy": float(mean), "standard deviation of the energy": float(variance) ** 0.5}


def square(half: float, points: int) -> Array:
    """The places of a grid."""
    axis = np.linspace(-half, half, points)
    return jnp.asarray(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2), "float32")


def draw(path: str, chances: np.ndarray, energies: np.ndarray, mean: float) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.2, 4))
    box = (-2.4, 2.4, -2.4, 2.4)
    density = chances / chances.max()
    shown = left.imshow(density, extent=box, origin="lower", cmap="magma")
    figure.colorbar(shown, ax=left, shrink=0.9)
    left.plot(*WELLS.T, "+", color="w")
    left.set_title("How often the particle is where")
    seen = np.ma.array(energies, mask=density < 1e-2)
    shown = right.imshow(
        seen, extent=box, origin="lower", cmap="PuOr_r", vmin=mean - 0.3, vmax=mean + 0.3
    )
    figure.colorbar(shown, ax=right, shrink=0.9)
    right.set_title("The energy there, by the network's Laplacian")
    for axes in (left, right):
        axes.set_axis_off()
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
