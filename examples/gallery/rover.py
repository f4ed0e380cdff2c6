"""A rover's path from what it saw.

A rover counts the turns of its wheels, and is soon lost. But it also sees beacons on its way, again
and again: which path, and which places of the beacons, fit all of that? Each of 2,030 measurements
depends on at most five of 480 unknowns, so SciPy's solver gets a sparse Jacobian.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from scipy.optimize import least_squares

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.autodiff import SparsityPattern, coloured, jacobian_sparsity

WHEELS, SIGHT = np.array([0.05, 0.05, 0.02]), 0.1  # deviations of measurements
REACH = 3.5
Numbers = Array | np.ndarray

# %%
# Where the rover is and whither it looks are three numbers. How far another place is ahead, and how
# far to the left, is what it sees.


def seen(pose: Numbers, place: Numbers) -> Array:
    x, y = place[0] - pose[0], place[1] - pose[1]
    ahead, left = jnp.cos(pose[2]), jnp.sin(pose[2])
    return jnp.stack([ahead * x + left * y, ahead * y - left * x])


def step(pose: Numbers, after: Numbers) -> Array:
    return jnp.append(seen(pose, after[:2]), after[2] - pose[2])


# %%
# What was measured, less what a path and the places of beacons say, all in units of its deviation.
# The rover starts where it is known to be.


def misfit(
    unknown: Array,
    start: np.ndarray,
    steps: np.ndarray,
    sights: np.ndarray,
    whom: np.ndarray,
    what: np.ndarray,
) -> Array:
    count = 3 * len(steps)
    path = jnp.concatenate([jnp.asarray(start)[None], jnp.reshape(unknown[:count], (-1, 3))])
    beacons = jnp.reshape(unknown[count:], (-1, 2))
    of_steps = (jax.vmap(step)(path[:-1], path[1:]) - steps) / WHEELS
    of_sights = (jax.vmap(seen)(path[whom], beacons[what]) - sights) / SIGHT
    return jnp.concatenate([jnp.ravel(of_steps), jnp.ravel(of_sights)])


# %%
# Three turns of a closed curve, and beacons anywhere.


def course(count: int) -> np.ndarray:
    t = np.linspace(0, 6 * np.pi, count)
    x, y = 6 * np.cos(t), 3.5 * np.sin(t) + 1.5 * np.cos(2 * t + 0.2 * t)
    return np.stack([x, y, np.unwrap(np.arctan2(np.gradient(y), np.gradient(x)))], 1)


def placed(pose: np.ndarray, sight: np.ndarray) -> np.ndarray:
    """Locate something that is seen from a pose: the inverse of `seen`."""
    ahead, left = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    x, y = sight[..., 0], sight[..., 1]
    return np.stack([pose[..., 0] + ahead * x - left * y, pose[..., 1] + left * x + ahead * y], -1)


def reckoned(start: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The path by the wheels alone."""
    path = [start]
    for change in steps:
        path.append(np.append(placed(path[-1], change), path[-1][2] + change[2]))
    return np.stack(path)


# %%
# The solver starts from that path, and takes a beacon to be where it was seen first.


def main(path: str = "rover.png", *, count: int = 141, beacons: int = 30) -> dict[str, float]:
    rng = np.random.default_rng(4)
    true, places = course(count), rng.uniform([-8, -6], [8, 6], (beacons, 2))
    whom, what = np.nonzero(np.linalg.norm(true[:, None, :2] - places, axis=2) < REACH)
    noise = rng.normal(size=(count - 1, 3)), rng.normal(size=(len(whom), 2))
    steps = np.asarray(jax.vmap(step)(true[:-1], true[1:])) + WHEELS * noise[0]
    sights = np.asarray(jax.vmap(seen)(true[whom], places[what])) + SIGHT * noise[1]
    lost = reckoned(true[0], steps)
    _, first = np.unique(what, return_index=True)
    start = np.concatenate([lost[1:].ravel(), placed(lost[whom[first]], sights[first]).ravel()])

    def residuals(unknown: Array) -> Array:
        return misfit(unknown, true[0], steps, sights, whom, what)

    pattern = jacobian_sparsity(residuals, start)
    colours = coloured(pattern)
    jacobian = jax.jacobian(residuals, sparse="scipy")
    fit = least_squares(jax.jit(residuals), start, jacobian, x_scale="jac", tr_solver="lsmr")
    poses, beacons_at = np.split(fit.x, [3 * (count - 1)])
    mended = poses.reshape(-1, 3)
    draw(
        path,
        (true, lost[1:], mended),
        (places, beacons_at.reshape(-1, 2)),
        pattern,
        colours.columns,
    )
    return {
        "unknowns": start.size,
        "measurements": pattern.shape[0],
        "elements of the pattern": pattern.nnz,
        "products for a Jacobian": colours.products,
        "Jacobians": fit.njev,
        "mean square of a misfit": float(np.mean(fit.fun**2)),
        "error of the path by its wheels": distance(lost[1:], true[1:]),
        "error of the path found": distance(mended, true[1:]),
    }


def distance(path: np.ndarray, true: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum((path - true)[:, :2] ** 2, 1))))


def draw(
    path: str,
    paths: tuple[np.ndarray, ...],
    places: tuple[np.ndarray, ...],
    pattern: SparsityPattern,
    colours: np.ndarray,
) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), width_ratios=[1.9, 1])
    for drawn, (label, colour, width) in zip(
        paths, [("its path", "0.6", 3), ("by its wheels", "C1", 1), ("found", "C0", 1)], strict=True
    ):
        left.plot(drawn[:, 0], drawn[:, 1], color=colour, lw=width, label=label)
    left.plot(*places[0].T, "o", color="0.6", ms=6)
    left.plot(*places[1].T, ".", color="C0", ms=4)
    left.set(aspect="equal", xlim=(-9, 15))
    left.legend(loc="upper right")
    few = ListedColormap([*plt.rcParams["axes.prop_cycle"].by_key()["color"], "0.4"])
    drawn = colours[pattern.columns]
    right.scatter(pattern.columns, pattern.rows, c=drawn, cmap=few, s=2, lw=0, antialiased=False)
    right.set(xlim=(0, pattern.shape[1]), ylim=(pattern.shape[0], 0))
    right.set_title("the Jacobian, by colours of columns")
    for axes in (left, right):
        axes.set(xticks=[], yticks=[])
    figure.savefig(path, dpi=100)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
