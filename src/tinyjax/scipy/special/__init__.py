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
        "ufuncs": (
            "agm airy airye bdtr bdtrc bdtri bdtrik bdtrin bei beip ber berp besselpoly betaincc "
            "betainccinv betaincinv binom btdtria btdtrib cbrt chdtr chdtrc chdtri chdtriv chndtr "
            "chndtridf chndtrinc chndtrix cosdg cosm1 cotdg ellipe ellipeinc ellipj ellipk "
            "ellipkinc ellipkm1 elliprc elliprd elliprf elliprg elliprj erfcinv erfi eval_chebyc "
            "eval_chebys eval_chebyt eval_chebyu eval_gegenbauer eval_genlaguerre eval_hermite "
            "eval_hermitenorm eval_jacobi eval_laguerre eval_legendre eval_sh_chebyt "
            "eval_sh_chebyu eval_sh_jacobi eval_sh_legendre exp10 exp2 expm1 exprel fdtr fdtrc "
            "fdtri fdtridfd gammainccinv gammaincinv gdtr gdtrc gdtria gdtrib gdtrix hankel1 "
            "hankel1e hankel2 hankel2e huber hyp0f1 hyperu inv_boxcox inv_boxcox1p it2i0k0 "
            "it2j0y0 it2struve0 itairy iti0k0 itj0y0 itmodstruve0 itstruve0 iv ive j0 j1 jn jv "
            "jve k0 k0e k1 k1e kei keip kelvin ker kerp kn kolmogi kolmogorov kv kve lambertw "
            "log1p log_expit log_wright_bessel lpmv mathieu_a mathieu_b mathieu_cem "
            "mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2 mathieu_sem "
            "modfresnelm modfresnelp modstruve nbdtr nbdtrc nbdtri nbdtrik nbdtrin ncfdtr ncfdtri "
            "ncfdtridfd ncfdtridfn ncfdtrinc nctdtr nctdtridf nctdtrinc nctdtrit ndtri_exp "
            "nrdtrimn nrdtrisd obl_ang1 obl_ang1_cv obl_cv obl_rad1 obl_rad1_cv obl_rad2 "
            "obl_rad2_cv pbdv pbvv pbwa pdtr pdtrc pdtri pdtrik perm powm1 pro_ang1 pro_ang1_cv "
            "pro_cv pro_rad1 pro_rad1_cv pro_rad2 pro_rad2_cv pseudo_huber psi radian rgamma "
            "round=round_ shichi sindg smirnov smirnovi spherical_in spherical_jn spherical_kn "
            "spherical_yn stdtr stdtridf stdtrit struve tandg tklmbda voigt_profile wright_bessel "
            "wrightomega y0 y1 yn yv yve zetac"
        ),
    },
)
