"""A sparse Jacobian, and its colours.

Two substances react and spread over a grid of 16 x 16 cells. Each rate of change depends on six of
512 numbers, so that eight products give the whole Jacobian: columns of one colour have no row in
common. With it an implicit solver follows the reaction, which is stiff, to the end.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from scipy.integrate import solve_ivp

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.autodiff import SparsityPattern, coloured, jacobian_sparsity

# %%
# The Brusselator: a reaction that oscillates, in cells that exchange what they have with their
# four neighbours. The grid is closed to a torus.


def spread(z: Array) -> Array:
    sides = jnp.roll(z, 1, 0) + jnp.roll(z, -1, 0) + jnp.roll(z, 1, 1) + jnp.roll(z, -1, 1)
    return sides - 4 * z


def flow(time: Array, state: Array, side: int) -> Array:
    u, v = jnp.reshape(state, (2, side, side))
    eaten = u**2 * v
    rates = 1 + eaten - 4.4 * u + 2.0 * spread(u), 3.4 * u - eaten + 2.0 * spread(v)
    return jnp.ravel(jnp.stack(rates))


def start(side: int) -> np.ndarray:
    y, x = np.mgrid[:side, :side] * (2 * np.pi / side)
    disturbed = 1 + 0.8 * np.sin(x) * np.cos(y) + 0.4 * np.cos(2 * x - y)
    return np.concatenate([disturbed.ravel(), np.full(side**2, 3.4)])


# %%
# The pattern comes from the program, which need not say how the grid is stored. `coloured` is what
# `jacobian(..., sparse=True)` asks: it is called here to show which product gives which column.
# `sparse="scipy"` gives matrices that SciPy's solver takes.


def main(path: str = "stencil.png", *, side: int = 16, end: float = 9.0) -> dict[str, float]:
    state = start(side)
    rates = lambda time, state: flow(time, state, side)  # noqa: E731
    pattern = jacobian_sparsity(rates, 0.0, state, argnums=1)
    colours = coloured(pattern)
    jacobian = jax.jacobian(rates, argnums=1, sparse="scipy")
    course = solve_ivp(jax.jit(rates), (0, end), state, "Radau", jac=jacobian, rtol=1e-6)
    draw(path, pattern, colours.columns, course.y[:, -1].reshape(2, side, side))
    return {
        "variables": state.size,
        "elements of the pattern": pattern.nnz,
        "products for a Jacobian": colours.products,
        "steps of the solver": course.t.size - 1,
        "Jacobians": course.njev,
        "mean of the first substance at the end": float(course.y[: side**2, -1].mean()),
    }


def draw(path: str, pattern: SparsityPattern, colours: np.ndarray, end: np.ndarray) -> None:
    few = ListedColormap([*plt.rcParams["axes.prop_cycle"].by_key()["color"], "0.4", "#F0E442"])
    side = end.shape[1]
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(9, 3.3))
    left.scatter(
        pattern.columns,
        pattern.rows,
        c=colours[pattern.columns],
        cmap=few,
        s=3,
        lw=0,
        antialiased=False,
    )
    left.set(xlim=(0, len(colours)), ylim=(len(colours), 0), aspect="equal")
    left.set_title("the Jacobian")
    middle.imshow(colours[: side**2].reshape(side, side), cmap=few, vmin=0, vmax=7)
    middle.set_title("colours of the cells")
    right.imshow(end[0])
    right.set_title("the first substance at the end")
    for axes in (left, middle, right):
        axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
