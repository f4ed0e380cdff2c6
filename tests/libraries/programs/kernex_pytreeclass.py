"""kernex, pytreeclass: stencils over grids, and classes that are trees."""

import jax
import jax.numpy as jnp
import kernex
import pytreeclass


@kernex.kmap(kernel_size=(3, 3), padding="valid", relative=True)
def laplacian(x):
    return x[1, 0] + x[-1, 0] + x[0, 1] + x[0, -1] - 4 * x[0, 0]


@jax.jit
@kernex.kmap(kernel_size=(3, 3, 3), padding=("valid", "same", "same"))
def convolution(x, w):
    return jnp.sum(x * w)


@kernex.kscan(kernel_size=(3, 3), padding=((1, 1), (1, 1)), relative=True)
def smoothed(u):
    return 0.5 * u[0, 0] + 0.25 * (u[0, -1] + u[-1, 0])


@pytreeclass.autoinit
class Line(pytreeclass.TreeClass):
    slope: float = 1.0
    bounds: tuple = (2.0, 3.0)
    offsets: jax.Array = jnp.array([4.0, 5.0, 6.0])

    def __call__(self, x):
        return self.slope * x + self.bounds[0] + self.offsets


def main():
    grid = jax.random.normal(jax.random.key(0), (2, 6, 6))
    line = Line()
    large = jax.tree_util.tree_map(lambda x: x > 5, line)
    changed = line.at["slope"].set(100.0).at["bounds"][0].set(10.0).at[large].set(7.0)
    slope = jax.jit(jax.grad(lambda line, x: line(x).sum()))(changed, 2.0)
    pool = kernex.kmap(kernel_size=(2, 2), strides=(2, 2))(jnp.max)
    return {
        "sums": kernex.kscan(kernel_size=(3,), padding="same")(jnp.sum)(jnp.arange(5.0)),
        "laplacian": jax.vmap(laplacian)(grid),
        "gradient": jax.grad(lambda x: (laplacian(x) ** 2).sum())(grid[0]),
        "convolution": convolution(jnp.stack([*grid, grid[0]]), jnp.ones((3, 3, 3))),
        "smoothed": smoothed(grid[0]),
        "pooled": pool(grid[1]),
        "changed": jnp.hstack(jax.tree_util.tree_leaves(changed)),
        "slope": jnp.hstack(jax.tree_util.tree_leaves(slope)),
        "lines": len(pytreeclass.tree_diagram(changed).splitlines()),
    }
