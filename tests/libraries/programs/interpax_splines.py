"""interpax: splines in one and two dimensions, and their derivatives."""

import interpax
import jax
import jax.numpy as jnp

TOLERANCE = 1e-4


def main():
    x = jnp.linspace(0, 2 * jnp.pi, 12)
    f = jnp.sin(x)
    q = jnp.linspace(0.1, 6.0, 9)
    found = {
        method: interpax.interp1d(q, x, f, method=method)
        for method in ("nearest", "linear", "cubic", "cubic2", "cardinal", "catmull-rom", "akima")
    }
    y = jnp.linspace(0, 1, 8)
    g = jnp.outer(f, y**2)
    found["two"] = interpax.interp2d(q, q / 7, x, y, g, method="cubic")
    spline = interpax.CubicSpline(x, f)
    found["spline"] = spline(q)
    found["integral"] = spline.integrate(0.0, 3.0)
    found["slope"] = jax.vmap(jax.grad(lambda z: interpax.interp1d(z, x, f, method="cubic")))(q)
    found["pchip"] = interpax.PchipInterpolator(x, jnp.cumsum(f**2))(q)
    return found
