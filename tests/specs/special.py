"""Special functions, and the identity without a derivative."""

from typing import Any

import jax
import numpy as np
import scipy.special

from specs import ArraySpec, Case, Spec
from specs.elementwise import EMPTY, EXTREME, SCALAR, in_wide, one
from tinyjax._primitives import special
from tinyjax.core.primitives import identities
from tinyjax.core.primitives.shape import full_like
from tinyjax.dtypes import HostArray

POSITIVE = ArraySpec((4, 5), low=1, high=15)
BELOW_ZERO = ArraySpec((2, 10), low=-6.9, high=-0.1)


def lgamma(x: HostArray) -> HostArray:
    return np.asarray(np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x)))


def polygamma(x: Any, *, n: float) -> Any:
    return special.polygamma(full_like(x, n), x)


def zeta(q: Any, *, s: float) -> Any:
    return special.zeta(full_like(q, s), q)


def of_order(reference: Any) -> Any:
    def applied(x: HostArray, **params: float) -> Any:
        (order,) = params.values()
        return reference(0 * x + x.dtype.type(order), x)

    return applied


SPECS = [
    one(special.erf, special.erf, scipy.special.erf, jax.lax.erf, "f"),
    one(special.erfc, special.erfc, scipy.special.erfc, jax.lax.erfc, "f", tol=4),
    one(
        special.erf_inv,
        special.erf_inv,
        scipy.special.erfinv,
        jax.lax.erf_inv,
        "f",
        -0.9,
        0.9,
        tol=4,
    ),
    Spec(
        "lgamma",
        special.lgamma,
        special.lgamma,
        [Case(POSITIVE), Case(EXTREME), Case(BELOW_ZERO), Case(SCALAR), Case(EMPTY)],
        numpy=in_wide(lgamma),
        jax=jax.lax.lgamma,
        grad=2,
        grad_cases=(0,),
        tol=4,
    ),
    Spec(
        "digamma",
        special.digamma,
        special.digamma,
        [Case(POSITIVE), Case(EXTREME), Case(BELOW_ZERO), Case(SCALAR), Case(EMPTY)],
        numpy=in_wide(scipy.special.digamma),
        jax=jax.lax.digamma,
        grad=2,
        grad_cases=(0,),
        tol=16,
    ),
    Spec(
        "polygamma",
        special.polygamma,
        polygamma,
        [Case(POSITIVE, n=n) for n in (0.0, 1.0, 2.0, 5.0)] + [Case(SCALAR, n=1.0)],
        numpy=in_wide(of_order(scipy.special.polygamma)),
        jax=of_order(jax.lax.polygamma),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(1, 2),
        tol=16,
    ),
    Spec(
        "zeta",
        special.zeta,
        zeta,
        [Case(POSITIVE, s=s) for s in (1.5, 2.0, 7.0)],
        numpy=in_wide(of_order(scipy.special.zeta)),
        jax=of_order(jax.lax.zeta),
        dtypes=("float32", "float64"),
        grad=2,
        grad_cases=(0, 1),
        tol=16,
    ),
    one(
        identities.stop_gradient_p,
        identities.stop_gradient,
        np.copy,
        jax.lax.stop_gradient,
        grad=0,
    ),
]
