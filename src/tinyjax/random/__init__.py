"""Random numbers from explicit keys.

``key(seed)`` makes a typed key, an array whose dtype is for keys. ``PRNGKey(seed)`` makes a raw
key, a uint32 array of shape (2,). All functions take both. There is no hidden state: a key always
gives the same numbers, so every draw needs a new key, made with ``split`` or ``fold_in``.

Random bits are equal to JAX's in both of its streams (setting ``threefry_partitionable``). So are
the draws that only need exact arithmetic: ``bits``, ``uniform`` between 0 and 1, ``randint``,
``permutation``, ``bernoulli``, ``rademacher``. The others are rounded. Compiled alone, they equal
JAX's to the last bit; in a larger program XLA may fuse and round them differently, as it may JAX's.
Evaluated eagerly they differ in a few units in the last place, since NumPy's logarithm differs, and
NumPy rounds a product before an addition.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "counts": "binomial categorical choice geometric multinomial permutation poisson",
        "continuous": (
            "cauchy double_sided_maxwell exponential gumbel laplace logistic lognormal maxwell "
            "normal pareto rayleigh triangular truncated_normal wald weibull_min"
        ),
        "gammas": (
            "ball beta chisquare dirichlet f gamma generalized_normal loggamma multivariate_normal "
            "orthogonal t"
        ),
        "keys": "PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
        "uniforms": "bernoulli bits rademacher randint uniform",
    },
)
