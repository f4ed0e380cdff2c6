"""Laplace's equation, by a network.

A network learns the potential between a wire and a tube from the equation alone. The wire runs
inside the tube, off its centre; it is at 1 volt, the tube at 0. There is no grid, and there are no
measured values. The exact potential is known here, so the picture shows the error too.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.example_libraries import optimizers

CENTRE, RADIUS = 0.35, 0.25  # of the wire; the tube's are 0 and 1
Network = list[tuple[Array, Array]]


def initial(key: Array, widths: tuple[int, ...]) -> Network:
    keys = jax.random.split(key, len(widths) - 1)
    return [
        (jax.random.normal(k, (n, m)) / n**0.5, jnp.zeros(m))
        for k, n, m in zip(keys, widths[:-1], widths[1:], strict=True)
    ]


# %%
# The network cannot violate the boundary's values: whatever it says is multiplied by a function
# that is zero on wire and tube, and added to one that is 1 on the wire and 0 on the tube.


def potential(network: Network, place: Array) -> Array:
    hidden = place
    for weights, bias in network[:-1]:
        hidden = jnp.tanh(hidden @ weights + bias)
    weights, bias = network[-1]
    x, y = place
    to_tube = 1 - x**2 - y**2
    to_wire = (x - CENTRE) ** 2 + y**2 - RADIUS**2
    return (to_tube + to_tube * to_wire * (hidden @ weights + bias)[0]) / (to_tube + to_wire)


# %%
# Laplace's operator is the trace of the Hessian, at one place. `vmap` takes it to all places.


def laplacian(network: Network, place: Array) -> Array:
    return jnp.trace(jax.hessian(potential, argnums=1)(network, place))


def loss(network: Network, places: Array) -> Array:
    return jnp.mean(jax.vmap(laplacian, (None, 0))(network, places) ** 2)


@jax.jit
def train(network: Network, places: Array, steps: int) -> Network:
    init, update, network_of = optimizers.adam(lambda i: 0.01 / (1 + i / 500))

    def step(i: Array, state: optimizers.OptimizerState) -> optimizers.OptimizerState:
        some = jax.lax.dynamic_slice(places, (i % 8 * 128, 0), (128, 2))
        return update(i, jax.grad(loss)(network_of(state), some), state)

    trained: Network = network_of(jax.lax.fori_loop(0, steps, step, init(network)))
    return trained


# %%
# A Möbius map takes wire and tube to circles about one centre, where the potential is a logarithm.


def exact(place: np.ndarray) -> np.ndarray:
    near, far = CENTRE - RADIUS, CENTRE + RADIUS  # where the wire cuts the axis
    a = np.roots([near + far, -2 * (1 + near * far), near + far]).min()
    z = place[..., 0] + 1j * place[..., 1]
    drop, wire = (np.log(abs((w - a) / (1 - a * w))) for w in (z, np.asarray(far)))
    volts: np.ndarray = drop / wire
    return volts


def main(path: str = "laplace.png", *, steps: int = 2000, width: int = 24) -> dict[str, float]:
    rng = np.random.default_rng(0)
    square = rng.uniform(-1, 1, (4000, 2))
    between = np.hypot(*square.T) < 1
    between &= np.hypot(square[:, 0] - CENTRE, square[:, 1]) > RADIUS
    places = jnp.asarray(square[between][:1024], "float32")
    network = train(initial(jax.random.key(0), (2, width, width, 1)), places, steps)

    grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 201)]), axis=-1)
    outside = np.hypot(grid[..., 0], grid[..., 1]) > 1
    outside |= np.hypot(grid[..., 0] - CENTRE, grid[..., 1]) < RADIUS
    on_grid = jax.vmap(jax.vmap(potential, (None, 0)), (None, 0))
    volts = np.ma.array(on_grid(network, jnp.asarray(grid, "float32")), mask=outside)
    error = volts - np.ma.array(exact(np.where(outside[..., None], 0.9, grid)), mask=outside)
    draw(path, volts, error)
    return {
        "mean square Laplacian": float(loss(network, places)),
        "least potential": float(volts.min()),
        "greatest potential": float(volts.max()),
        "greatest error": float(abs(error).max()),
    }


def draw(path: str, solution: np.ndarray, error: np.ndarray) -> None:
    figure, (left, right) = plt.subplots(1, 2, layout="constrained", figsize=(9.2, 4))
    box, greatest = (-1, 1, -1, 1), abs(error).max()
    shown = left.imshow(solution, extent=box, origin="lower", vmin=0, vmax=1)
    left.contour(solution, np.linspace(0.1, 0.9, 9), extent=box, colors="w", linewidths=0.8)
    figure.colorbar(shown, ax=left, label="volts", shrink=0.9)
    left.set_title("The potential that the network learnt")
    shown = right.imshow(
        error, extent=box, origin="lower", cmap="PuOr_r", vmin=-greatest, vmax=greatest
    )
    figure.colorbar(shown, ax=right, label="volts", shrink=0.9)
    right.set_title("Its difference from the exact one")
    for axes in (left, right):
        axes.add_patch(plt.Circle((0, 0), 1, fill=False, color="0.3", lw=2))
        axes.add_patch(plt.Circle((CENTRE, 0), RADIUS, fill=False, color="0.3"))
        axes.text(CENTRE, 0, "wire", ha="center", va="center", color="0.3")
        axes.set(xlim=(-1.03, 1.03), ylim=(-1.03, 1.03))
        axes.set_axis_off()
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
