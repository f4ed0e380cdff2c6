"""JAX MD: soft spheres, minimised, at a temperature, and by neighbour lists."""

import jax
from jax_md import energy, minimize, quantity, simulate, space

TOLERANCE = 1e-3


def main():
    box = 8.0
    displacement, shift = space.periodic(box)
    total = energy.soft_sphere_pair(displacement)
    places = jax.random.uniform(jax.random.PRNGKey(0), (32, 2), maxval=box)
    init, apply = minimize.fire_descent(total, shift)
    state = jax.lax.fori_loop(0, 20, lambda _, s: apply(s), init(places))
    init, apply = simulate.nvt_nose_hoover(total, shift, 1e-3, kT=0.1)
    moving = init(jax.random.PRNGKey(1), places)
    moving = jax.jit(lambda s: jax.lax.fori_loop(0, 10, lambda _, s: apply(s), s))(moving)
    neighbors, by_list = energy.soft_sphere_neighbor_list(displacement, box)
    near = neighbors.allocate(places)
    return {
        "energy": total(state.position),
        "temperature": quantity.temperature(momentum=moving.momentum),
        "by list": jax.jit(by_list)(places, near),
        "forces": jax.grad(by_list)(places, near),
    }
