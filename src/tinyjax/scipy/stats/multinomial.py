"""The multinomial distribution."""

from __future__ import annotations

import math

from tinyjax import dtypes
from tinyjax._base.lazy import answer_for
from tinyjax._extensions.host import replay
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import DtypeError
from tinyjax.numpy import elementwise, promotion as pm, reductions
from tinyjax.scipy.special import gammaln, xlogy
from tinyjax.scipy.stats.distribution import exp_of_ways, in_domain

answer_for(__name__, "logpmf pmf")


def logpmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the logarithm of the probability of the counts ``x``.

    Args:
        x: integers, of shape (..., k): how often each outcome comes.
        n: integers: the number of trials.
        p: real, of shape (..., k): the probabilities of the outcomes.

    Returns:
        An array of the shape of ``x`` without its last axis; -inf where the counts do not sum to
        ``n``.

    Raises:
        DtypeError: the counts are not integers.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.multinomial.logpmf(jnp.array([1, 2]), 3, jnp.array([0.4, 0.6]))), 4)
        -0.8393
    """
    share = in_domain(lambda p: (p >= 0) & (p <= 1), pm.inexact(p, "multinomial.logpmf"))
    counts, trials = pm.promote_dtypes(*pm.arrays("multinomial.logpmf", x, n))
    if not dtypes.is_integer(counts.dtype):
        raise DtypeError(f"multinomial counts in integers, but x and n are {counts.dtype.name}.")
    counts, trials = pm.convert(counts, share.dtype), pm.convert(trials, share.dtype)
    value = gammaln(trials + 1) + reductions.sum(xlogy(counts, share) - gammaln(counts + 1), -1)
    return elementwise.pick(reductions.sum(counts, -1) == trials, value, -math.inf)


def pmf(x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the probability of the counts ``x``.

    Args:
        x: integers, of shape (..., k): how often each outcome comes.
        n: integers: the number of trials.
        p: real, of shape (..., k): the probabilities of the outcomes.

    Raises:
        DtypeError: the counts are not integers.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.stats as stats
        >>> round(float(stats.multinomial.pmf(jnp.array([1, 2]), 3, jnp.array([0.4, 0.6]))), 4)
        0.432
    """
    log = logpmf(x, n, p)
    none = log == -math.inf
    # a power has the derivatives where a probability is 0
    counts, share = pm.broadcast(pm.promote_inexact(*pm.arrays("multinomial.pmf", x, p)), "pmf")
    matches = reductions.sum(counts, -1) == pm.array_of("multinomial.pmf", n)
    first = gammaln(pm.inexact(n, "multinomial.pmf") + 1.0)
    ways = exp_of_ways(first - reductions.sum(gammaln(counts + 1), -1))
    powers = elementwise.pick(matches, ways * reductions.prod(share**counts, -1), 0.0)
    return elementwise.pick(none, powers, ew.exp(elementwise.pick(none, 0.0, log)))


replay.replay_functions(globals())
