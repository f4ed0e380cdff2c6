"""Special functions, with broadcasting and promotion; integers become floats.

Results are NaN outside a function's domain. All have derivatives, of any order, unless said.
"""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "basic": (
            "digamma entr erf erfc erfinv expit factorial gammaln gammasgn kl_div log_ndtr "
            "log_softmax logit logsumexp ndtr polygamma rel_entr softmax xlog1py xlogy zeta"
        ),
        "bessel": "bessel_jn i0 i0e i1 i1e sph_harm_y",
        "gammas": (
            "bernoulli beta betainc betaln boxcox boxcox1p comb dawsn erfcx exp1 expi expn fresnel "
            "gamma gammainc gammaincc hyp1f1 hyp2f1 loggamma multigammaln ndtri owens_t poch sici "
            "spence wofz"
        ),
    },
)
