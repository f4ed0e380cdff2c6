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

from typing import TYPE_CHECKING, Final

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.random.choices import categorical, choice, permutation
    from tinyjax.random.continuous import (
        cauchy,
        double_sided_maxwell,
        exponential,
        gumbel,
        laplace,
        logistic,
        lognormal,
        maxwell,
        normal,
        pareto,
        rayleigh,
        triangular,
        truncated_normal,
        wald,
        weibull_min,
    )
    from tinyjax.random.counts import binomial, geometric, multinomial, poisson
    from tinyjax.random.gammas import (
        ball,
        beta,
        chisquare,
        dirichlet,
        f,
        gamma,
        generalized_normal,
        loggamma,
        t,
    )
    from tinyjax.random.keys import (
        PRNGKey,
        clone,
        fold_in,
        key,
        key_data,
        key_dtype,
        key_impl,
        split,
        wrap_key_data,
    )
    from tinyjax.random.multivariate import multivariate_normal, orthogonal
    from tinyjax.random.uniforms import bernoulli, bits, rademacher, randint, uniform

# Loaded when first asked for, with the primitives that only they need.
_LATER: Final = {
    "choices": "categorical choice permutation",
    "continuous": (
        "cauchy double_sided_maxwell exponential gumbel laplace logistic lognormal maxwell normal "
        "pareto rayleigh triangular truncated_normal wald weibull_min"
    ),
    "counts": "binomial geometric multinomial poisson",
    "gammas": "ball beta chisquare dirichlet f gamma generalized_normal loggamma t",
    "keys": "PRNGKey clone fold_in key key_data key_dtype key_impl split wrap_key_data",
    "multivariate": "multivariate_normal orthogonal",
    "uniforms": "bernoulli bits rademacher randint uniform",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)

__all__ = [
    "PRNGKey",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "clone",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "key_dtype",
    "key_impl",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
    "wrap_key_data",
]


def __dir__() -> list[str]:
    return sorted(__all__)
