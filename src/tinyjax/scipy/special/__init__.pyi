# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.special.basic import digamma as digamma
from tinyjax.scipy.special.basic import entr as entr
from tinyjax.scipy.special.basic import erf as erf
from tinyjax.scipy.special.basic import erfc as erfc
from tinyjax.scipy.special.basic import erfinv as erfinv
from tinyjax.scipy.special.basic import expit as expit
from tinyjax.scipy.special.basic import factorial as factorial
from tinyjax.scipy.special.basic import gammaln as gammaln
from tinyjax.scipy.special.basic import gammasgn as gammasgn
from tinyjax.scipy.special.basic import kl_div as kl_div
from tinyjax.scipy.special.basic import log_ndtr as log_ndtr
from tinyjax.scipy.special.basic import log_softmax as log_softmax
from tinyjax.scipy.special.basic import logit as logit
from tinyjax.scipy.special.basic import logsumexp as logsumexp
from tinyjax.scipy.special.basic import ndtr as ndtr
from tinyjax.scipy.special.basic import polygamma as polygamma
from tinyjax.scipy.special.basic import rel_entr as rel_entr
from tinyjax.scipy.special.basic import softmax as softmax
from tinyjax.scipy.special.basic import xlog1py as xlog1py
from tinyjax.scipy.special.basic import xlogy as xlogy
from tinyjax.scipy.special.basic import zeta as zeta
from tinyjax.scipy.special.bessel import bessel_jn as bessel_jn
from tinyjax.scipy.special.bessel import i0 as i0
from tinyjax.scipy.special.bessel import i0e as i0e
from tinyjax.scipy.special.bessel import i1 as i1
from tinyjax.scipy.special.bessel import i1e as i1e
from tinyjax.scipy.special.bessel import sph_harm_y as sph_harm_y
from tinyjax.scipy.special.gammas import bernoulli as bernoulli
from tinyjax.scipy.special.gammas import beta as beta
from tinyjax.scipy.special.gammas import betainc as betainc
from tinyjax.scipy.special.gammas import betaln as betaln
from tinyjax.scipy.special.gammas import boxcox as boxcox
from tinyjax.scipy.special.gammas import boxcox1p as boxcox1p
from tinyjax.scipy.special.gammas import comb as comb
from tinyjax.scipy.special.gammas import dawsn as dawsn
from tinyjax.scipy.special.gammas import erfcx as erfcx
from tinyjax.scipy.special.gammas import exp1 as exp1
from tinyjax.scipy.special.gammas import expi as expi
from tinyjax.scipy.special.gammas import expn as expn
from tinyjax.scipy.special.gammas import fresnel as fresnel
from tinyjax.scipy.special.gammas import gamma as gamma
from tinyjax.scipy.special.gammas import gammainc as gammainc
from tinyjax.scipy.special.gammas import gammaincc as gammaincc
from tinyjax.scipy.special.gammas import hyp1f1 as hyp1f1
from tinyjax.scipy.special.gammas import hyp2f1 as hyp2f1
from tinyjax.scipy.special.gammas import loggamma as loggamma
from tinyjax.scipy.special.gammas import multigammaln as multigammaln
from tinyjax.scipy.special.gammas import ndtri as ndtri
from tinyjax.scipy.special.gammas import owens_t as owens_t
from tinyjax.scipy.special.gammas import poch as poch
from tinyjax.scipy.special.gammas import sici as sici
from tinyjax.scipy.special.gammas import spence as spence
from tinyjax.scipy.special.gammas import wofz as wofz

__all__ = [
    'bernoulli',
    'bessel_jn',
    'beta',
    'betainc',
    'betaln',
    'boxcox',
    'boxcox1p',
    'comb',
    'dawsn',
    'digamma',
    'entr',
    'erf',
    'erfc',
    'erfcx',
    'erfinv',
    'exp1',
    'expi',
    'expit',
    'expn',
    'factorial',
    'fresnel',
    'gamma',
    'gammainc',
    'gammaincc',
    'gammaln',
    'gammasgn',
    'hyp1f1',
    'hyp2f1',
    'i0',
    'i0e',
    'i1',
    'i1e',
    'kl_div',
    'log_ndtr',
    'log_softmax',
    'loggamma',
    'logit',
    'logsumexp',
    'multigammaln',
    'ndtr',
    'ndtri',
    'owens_t',
    'poch',
    'polygamma',
    'rel_entr',
    'sici',
    'softmax',
    'spence',
    'sph_harm_y',
    'wofz',
    'xlog1py',
    'xlogy',
    'zeta',
]
