"""jax-cosmo: distances, power spectra and lensing, with derivatives in the parameters."""

import jax
import jax.numpy as jnp
import jax_cosmo

TOLERANCE = 2e-3


def main():
    universe = jax_cosmo.Planck15()
    waves = jnp.logspace(-3, 0, 30)
    probes = [jax_cosmo.probes.WeakLensing([jax_cosmo.redshift.smail_nz(1.0, 2.0, 1.0)])]

    def lensing(parameters):
        found = jax_cosmo.Planck15(Omega_c=parameters[0], sigma8=parameters[1])
        return jax_cosmo.angular_cl.angular_cl(found, jnp.logspace(1, 3, 8), probes)[0]

    parameters = jnp.array([0.26, 0.8])
    scales = jnp.array([0.5, 1.0])
    return {
        "distance": jax_cosmo.background.radial_comoving_distance(universe, scales),
        "linear": jax_cosmo.power.linear_matter_power(universe, waves, a=1.0),
        "nonlinear": jax_cosmo.power.nonlinear_matter_power(universe, waves, a=0.8),
        "lensing": jax.jit(lensing)(parameters),
        "jacobian": jax.jit(jax.jacfwd(lensing))(parameters),
    }
