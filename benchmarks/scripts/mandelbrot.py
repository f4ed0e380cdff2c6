"""Mandelbrot's set at three magnifications."""

from benchmarks.scripts.library import jax, jnp, lax, show


@jax.jit
def draw(centre, width):
    xs = jnp.linspace(-width, width, 120) + centre.real
    ys = jnp.linspace(-width, width, 90) + centre.imag
    c = xs + 1j * ys[:, None]

    def body(_, state):
        z, count = state
        inside = jnp.abs(z) < 2
        return jnp.where(inside, z * z + c, z), count + inside

    return lax.fori_loop(0, 50, body, (jnp.zeros_like(c), jnp.zeros(c.shape, jnp.int32)))[1]


for centre, width in ((-0.5 + 0j, 1.5), (-0.75 + 0.1j, 0.1), (-0.745 + 0.11j, 0.01)):
    show("mean", jnp.round(draw(jnp.complex64(centre), width).mean(), 0))
