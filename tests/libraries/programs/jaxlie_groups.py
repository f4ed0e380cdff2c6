"""jaxlie: rotations and poses, their logarithms, and optimisation on a manifold."""

import jax
import jax.numpy as jnp
import jaxlie

TOLERANCE = 1e-4


def main():
    tangent = jnp.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
    pose = jaxlie.SE3.exp(tangent)
    rotation = jaxlie.SO3.from_rpy_radians(0.1, 0.2, 0.3)
    points = jax.random.normal(jax.random.PRNGKey(0), (5, 3))

    def error(pose, points):
        return jnp.sum((jax.vmap(pose.apply)(points) - points[::-1]) ** 2)

    grads = jaxlie.manifold.grad(error)(pose, points)
    moved = jaxlie.manifold.rplus(pose, -0.01 * grads)
    many = jax.vmap(jaxlie.SE3.exp)(jnp.stack([tangent, 2 * tangent]))
    return {
        "matrix": pose.as_matrix(),
        "log": pose.log(),
        "adjoint": pose.adjoint(),
        "inverse": (pose.inverse() @ pose).wxyz_xyz,
        "rotated": rotation.apply(points[0]),
        "grads": grads,
        "moved": moved.wxyz_xyz,
        "many": many.log(),
        "between": jaxlie.manifold.rminus(pose, moved),
        "random": jaxlie.SO3.sample_uniform(jax.random.PRNGKey(2)).wxyz,
        "planar": jaxlie.SE2.from_xy_theta(1.0, 2.0, 0.5).as_matrix(),
    }
