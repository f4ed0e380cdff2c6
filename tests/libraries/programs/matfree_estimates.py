"""matfree: traces, determinants and functions of matrices that are known by their products."""

import jax
import jax.numpy as jnp
from matfree import decomp, funm, stochtrace

TOLERANCE = 1e-3


def main():
    matrix = jax.random.normal(jax.random.PRNGKey(0), (12, 6))

    def product(x, scale=1.0):
        return scale * (matrix.T @ (matrix @ x))

    def estimated(integrand):
        return stochtrace.estimator_monte_carlo(integrand, stochtrace.sampler_normal(x, num=20))

    x = jnp.ones(6)
    logdet = estimated(funm.monte_carlo_funm_sym_logdet(decomp.tridiag_sym(4)))
    hessenberg = decomp.hessenberg(4, reortho="full")
    found = hessenberg(product, x)
    exponential = funm.funm_arnoldi(funm.dense_funm_pade_exp(), hessenberg)
    leave_one_out = stochtrace.estimator_leave_one_out(
        stochtrace.leave_one_out_xtrace(), stochtrace.sampler_sphere(x, num=4)
    )
    key = jax.random.PRNGKey(1)
    return {
        "trace": estimated(stochtrace.monte_carlo_trace())(product, key),
        "diagonal": estimated(stochtrace.monte_carlo_diagonal())(product, key),
        "logdet": jax.jit(lambda p: jnp.sum(logdet(lambda x: product(x, p), key)))(1.0),
        "basis": found.Q_tall,
        "hessenberg": found.J_small,
        "exponential": exponential(lambda x: product(x) * 0.01, x),
        "leave_one_out": leave_one_out(product, key),
    }
