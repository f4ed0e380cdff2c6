"""Special functions, with broadcasting and promotion; integers become floats.

Results are NaN outside a function's domain. All have derivatives, of any order, unless said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyjax.lazy import loader

if TYPE_CHECKING:
    from tinyjax.scipy.special.basic import (
        digamma,
        entr,
        erf,
        erfc,
        erfinv,
        expit,
        factorial,
        gammaln,
        gammasgn,
        kl_div,
        log_ndtr,
        log_softmax,
        logit,
        logsumexp,
        ndtr,
        polygamma,
        rel_entr,
        softmax,
        xlog1py,
        xlogy,
        zeta,
    )
    from tinyjax.scipy.special.bessel import (
        bessel_jn,
        i0,
        i0e,
        i1,
        i1e,
        sph_harm_y,
    )
    from tinyjax.scipy.special.gammas import (
        bernoulli,
        beta,
        betainc,
        betaln,
        boxcox,
        boxcox1p,
        comb,
        gamma,
        gammainc,
        gammaincc,
        loggamma,
        multigammaln,
        poch,
    )
    from tinyjax.scipy.special.hypergeometric import (
        hyp1f1,
        hyp2f1,
    )
    from tinyjax.scipy.special.integrals import (
        dawsn,
        erfcx,
        exp1,
        expi,
        expn,
        fresnel,
        ndtri,
        owens_t,
        sici,
        spence,
        wofz,
    )

# Loaded when first asked for, with what only they need.
_LATER: Final = {
    "basic": (
        "digamma entr erf erfc erfinv expit factorial gammaln gammasgn kl_div log_ndtr "
        "log_softmax logit logsumexp ndtr polygamma rel_entr softmax xlog1py xlogy zeta"
    ),
    "bessel": "bessel_jn i0 i0e i1 i1e sph_harm_y",
    "gammas": (
        "bernoulli beta betainc betaln boxcox boxcox1p comb gamma gammainc gammaincc loggamma "
        "multigammaln poch"
    ),
    "hypergeometric": "hyp1f1 hyp2f1",
    "integrals": "dawsn erfcx exp1 expi expn fresnel ndtri owens_t sici spence wofz",
}

if not TYPE_CHECKING:  # to a type checker a name that is not declared is a mistake
    __getattr__ = loader(__name__, _LATER)


__all__ = [
    "bernoulli",
    "bessel_jn",
    "beta",
    "betainc",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "dawsn",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp1",
    "expi",
    "expit",
    "expn",
    "factorial",
    "fresnel",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammaln",
    "gammasgn",
    "hyp1f1",
    "hyp2f1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "kl_div",
    "log_ndtr",
    "log_softmax",
    "loggamma",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "owens_t",
    "poch",
    "polygamma",
    "rel_entr",
    "sici",
    "softmax",
    "spence",
    "sph_harm_y",
    "wofz",
    "xlog1py",
    "xlogy",
    "zeta",
]


def __dir__() -> list[str]:
    return sorted(__all__)
