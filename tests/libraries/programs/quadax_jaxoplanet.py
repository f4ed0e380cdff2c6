"""quadax and jaxoplanet: integrals and transits of planets, with derivatives, in float64."""

import jax
import jax.numpy as jnp
import quadax
from jaxoplanet.core.kepler import kepler
from jaxoplanet.light_curves import limb_dark_light_curve
from jaxoplanet.orbits import TransitOrbit


def integrand(t, c):
    return c * t * jnp.log(1 + t)


def main():
    jax.config.update("jax_enable_x64", True)
    interval = jnp.array([0.0, 1.0])
    times = jnp.linspace(-0.2, 0.2, 9)

    def dimming(radius):
        orbit = TransitOrbit(
            period=3.4, duration=0.2, time_transit=0.0, impact_param=0.3, radius_ratio=radius
        )
        return limb_dark_light_curve(orbit, [0.1, 0.06])(times)

    whole = jnp.array([-jnp.inf, jnp.inf])
    return {
        "quadgk": quadax.quadgk(integrand, interval, args=(2.0,))[0],
        "quadts": quadax.quadts(integrand, interval, args=(2.0,))[0],
        "slope": jax.grad(lambda c: quadax.quadgk(integrand, interval, args=(c,))[0])(2.0),
        "gauss": quadax.quadgk(lambda t: jnp.exp(-(t**2)), whole)[0],
        "dimming": dimming(0.1),
        "by_radius": jax.jacfwd(dimming)(0.1),
        "anomalies": jnp.stack(kepler(jnp.array([0.1, 1.0]), jnp.array([0.2, 0.5]))),
        "by_eccentricity": jax.grad(lambda e: kepler(1.0, e)[0])(0.3),
    }
