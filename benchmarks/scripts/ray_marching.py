"""A scene of spheres over a floor, drawn by marching along rays to signed distances."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, lax, show

CENTRES = np.array([[0, 0.6, 0], [1.1, 0.4, 0.4], [-1.0, 0.5, 0.8]], np.float32)
RADII = np.array([0.6, 0.4, 0.5], np.float32)
LIGHT = np.array([0.6, 0.7, -0.4], np.float32)


def distance(p):
    spheres = jnp.linalg.norm(p - CENTRES, axis=-1) - RADII
    return jnp.minimum(jnp.min(spheres), p[1])


def march(origin, direction):
    def body(_, t):
        return t + jnp.minimum(distance(origin + t * direction), 1.0)

    return lax.fori_loop(0, 48, body, 0.0)


def shade(origin, direction):
    t = march(origin, direction)
    p = origin + t * direction
    normal = jax.grad(distance)(p)
    shadow = march(p + 0.02 * normal, LIGHT) < 8.0
    light = jnp.clip(normal @ LIGHT, 0.0, 1.0) * jnp.where(shadow, 0.3, 1.0)
    return jnp.where(t > 20.0, 0.8, 0.1 + 0.9 * light)


@jax.jit
def render(origin):
    ys, xs = jnp.meshgrid(jnp.linspace(0.7, -0.7, 60), jnp.linspace(-1, 1, 80), indexing="ij")
    directions = jnp.stack([xs, ys, jnp.ones_like(xs)], -1)
    directions = directions / jnp.linalg.norm(directions, axis=-1, keepdims=True)
    return jax.vmap(jax.vmap(shade, (None, 0)), (None, 0))(origin, directions)


for k in range(3):
    picture = render(jnp.array([0.2 * k, 0.9, -3.0]))
    show("brightness", jnp.round(picture.mean(), 2))
