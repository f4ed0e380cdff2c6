"""Points that move into letters.

A disc of points becomes a word, at the least total cost. This is optimal transport; Sinkhorn's
iterations find it, slightly blurred. The gradient of the cost says where each point should go, and
no two points cross on the way.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextPath

import tinyjax as jax
import tinyjax.numpy as jnp
from tinyjax import Array
from tinyjax.implicit import fixed_point

# %%
# The cost of a pair is half its squared distance. Each point of either cloud has a price, and the
# prices are right when every point is carried whole. Sinkhorn's iteration sets the prices of one
# cloud by those of the other until nothing changes: a fixed point.


def costs(a: Array, b: Array) -> Array:
    return jnp.sum((a[:, None] - b[None]) ** 2, axis=-1) / 2


def answer(prices: Array, cost: Array, blur: float) -> Array:
    """The prices of the other cloud for which all its points are carried whole."""
    return -blur * jax.nn.logsumexp((prices - cost) / blur, axis=-1, b=1 / cost.shape[-1])


def plan(cost: Array, blur: float) -> Array:
    """Return the mass that is carried from each point to each."""

    def again(right: Array) -> Array:
        return answer(answer(right, cost, blur), cost.T, blur)

    right = fixed_point(again, jnp.zeros(cost.shape[1], cost.dtype), tol=1e-6, maxiter=1000)
    left = answer(right, cost, blur)
    return jnp.exp((left[:, None] + right - cost) / blur) / cost.size


# %%
# When points move a little, the plan changes a little, but that changes the total cost by nothing:
# the plan is the best there is. So its derivative is left out (the envelope theorem).


def total_cost(a: Array, b: Array, blur: float) -> Array:
    cost = costs(a, b)
    return jnp.sum(jax.lax.stop_gradient(plan(cost, blur)) * cost)


@jax.jit
def move(a: Array, b: Array, blur: float, share: float) -> Array:
    """Go a share of the way."""
    return a - share * len(a) * jax.grad(total_cost)(a, b, blur)


def letters(text: str, count: int) -> np.ndarray:
    """Random points in letters, in a box of width 2."""
    outline = TextPath((0, 0), text, size=1, prop=FontProperties(weight="bold"))
    low, high = outline.get_extents().get_points()
    points = np.random.default_rng(0).uniform(low, high, (20 * count, 2))
    around = [Outline(p).contains_points(points) for p in outline.to_polygons()]
    inside = points[np.sum(around, axis=0) % 2 == 1][:count]  # holes are in two outlines
    scaled: np.ndarray = (inside - (low + high) / 2) * 2 / (high - low)[0]
    return scaled


def main(
    path: str = "transport.png", *, count: int = 600, blur: float = 0.001, steps: int = 4
) -> dict[str, float]:
    rng = np.random.default_rng(1)
    angle, radius = rng.uniform(0, 2 * np.pi, count), 0.7 * np.sqrt(rng.uniform(0, 1, count))
    disc = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    goal = jnp.asarray(letters("grad", count))
    clouds = [jnp.asarray(disc)]
    for remaining in range(steps, 0, -1):
        clouds.append(move(clouds[-1], goal, blur, 1 / remaining))
    draw(path, np.asarray(clouds))
    return {
        "cost of the plan": float(total_cost(clouds[0], goal, blur)),
        "mean distance from the letters' points": float(
            jnp.mean(jnp.sqrt(2 * jnp.min(costs(clouds[-1], goal), axis=1)))
        ),
    }


def draw(path: str, clouds: np.ndarray) -> None:
    figure, panels = plt.subplots(2, 3, layout="constrained", figsize=(9, 4.6))
    for i, (axes, cloud) in enumerate(zip(panels.flat, clouds, strict=False)):
        axes.scatter(*cloud.T, c=clouds[0, :, 0], s=7)
        axes.set_title(f"{i}/{len(clouds) - 1} of the way" if i else "a disc of points")
    panels[1, 2].plot(*clouds.transpose(2, 0, 1), color="0.6", lw=0.5)
    panels[1, 2].scatter(*clouds[-1].T, c=clouds[0, :, 0], s=7)
    panels[1, 2].set_title("the ways they went")
    for axes in panels.flat:
        axes.set(xlim=(-1.1, 1.1), ylim=(-0.75, 0.75), aspect="equal")
        axes.set_axis_off()
    figure.savefig(path)


if __name__ == "__main__":
    plt.style.use(Path(__file__).with_name("gallery.mplstyle"))
    for name, value in main(*sys.argv[1:]).items():
        print(f"{name}: {value:.4g}")
