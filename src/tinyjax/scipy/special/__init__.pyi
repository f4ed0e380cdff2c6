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
from tinyjax.scipy.special.ufuncs import agm as agm
from tinyjax.scipy.special.ufuncs import airy as airy
from tinyjax.scipy.special.ufuncs import airye as airye
from tinyjax.scipy.special.ufuncs import bdtr as bdtr
from tinyjax.scipy.special.ufuncs import bdtrc as bdtrc
from tinyjax.scipy.special.ufuncs import bdtri as bdtri
from tinyjax.scipy.special.ufuncs import bdtrik as bdtrik
from tinyjax.scipy.special.ufuncs import bdtrin as bdtrin
from tinyjax.scipy.special.ufuncs import bei as bei
from tinyjax.scipy.special.ufuncs import beip as beip
from tinyjax.scipy.special.ufuncs import ber as ber
from tinyjax.scipy.special.ufuncs import berp as berp
from tinyjax.scipy.special.ufuncs import besselpoly as besselpoly
from tinyjax.scipy.special.ufuncs import betaincc as betaincc
from tinyjax.scipy.special.ufuncs import betainccinv as betainccinv
from tinyjax.scipy.special.ufuncs import betaincinv as betaincinv
from tinyjax.scipy.special.ufuncs import binom as binom
from tinyjax.scipy.special.ufuncs import btdtria as btdtria
from tinyjax.scipy.special.ufuncs import btdtrib as btdtrib
from tinyjax.scipy.special.ufuncs import cbrt as cbrt
from tinyjax.scipy.special.ufuncs import chdtr as chdtr
from tinyjax.scipy.special.ufuncs import chdtrc as chdtrc
from tinyjax.scipy.special.ufuncs import chdtri as chdtri
from tinyjax.scipy.special.ufuncs import chdtriv as chdtriv
from tinyjax.scipy.special.ufuncs import chndtr as chndtr
from tinyjax.scipy.special.ufuncs import chndtridf as chndtridf
from tinyjax.scipy.special.ufuncs import chndtrinc as chndtrinc
from tinyjax.scipy.special.ufuncs import chndtrix as chndtrix
from tinyjax.scipy.special.ufuncs import cosdg as cosdg
from tinyjax.scipy.special.ufuncs import cosm1 as cosm1
from tinyjax.scipy.special.ufuncs import cotdg as cotdg
from tinyjax.scipy.special.ufuncs import ellipe as ellipe
from tinyjax.scipy.special.ufuncs import ellipeinc as ellipeinc
from tinyjax.scipy.special.ufuncs import ellipj as ellipj
from tinyjax.scipy.special.ufuncs import ellipk as ellipk
from tinyjax.scipy.special.ufuncs import ellipkinc as ellipkinc
from tinyjax.scipy.special.ufuncs import ellipkm1 as ellipkm1
from tinyjax.scipy.special.ufuncs import elliprc as elliprc
from tinyjax.scipy.special.ufuncs import elliprd as elliprd
from tinyjax.scipy.special.ufuncs import elliprf as elliprf
from tinyjax.scipy.special.ufuncs import elliprg as elliprg
from tinyjax.scipy.special.ufuncs import elliprj as elliprj
from tinyjax.scipy.special.ufuncs import erfcinv as erfcinv
from tinyjax.scipy.special.ufuncs import erfi as erfi
from tinyjax.scipy.special.ufuncs import eval_chebyc as eval_chebyc
from tinyjax.scipy.special.ufuncs import eval_chebys as eval_chebys
from tinyjax.scipy.special.ufuncs import eval_chebyt as eval_chebyt
from tinyjax.scipy.special.ufuncs import eval_chebyu as eval_chebyu
from tinyjax.scipy.special.ufuncs import eval_gegenbauer as eval_gegenbauer
from tinyjax.scipy.special.ufuncs import eval_genlaguerre as eval_genlaguerre
from tinyjax.scipy.special.ufuncs import eval_hermite as eval_hermite
from tinyjax.scipy.special.ufuncs import eval_hermitenorm as eval_hermitenorm
from tinyjax.scipy.special.ufuncs import eval_jacobi as eval_jacobi
from tinyjax.scipy.special.ufuncs import eval_laguerre as eval_laguerre
from tinyjax.scipy.special.ufuncs import eval_legendre as eval_legendre
from tinyjax.scipy.special.ufuncs import eval_sh_chebyt as eval_sh_chebyt
from tinyjax.scipy.special.ufuncs import eval_sh_chebyu as eval_sh_chebyu
from tinyjax.scipy.special.ufuncs import eval_sh_jacobi as eval_sh_jacobi
from tinyjax.scipy.special.ufuncs import eval_sh_legendre as eval_sh_legendre
from tinyjax.scipy.special.ufuncs import exp10 as exp10
from tinyjax.scipy.special.ufuncs import exp2 as exp2
from tinyjax.scipy.special.ufuncs import expm1 as expm1
from tinyjax.scipy.special.ufuncs import exprel as exprel
from tinyjax.scipy.special.ufuncs import fdtr as fdtr
from tinyjax.scipy.special.ufuncs import fdtrc as fdtrc
from tinyjax.scipy.special.ufuncs import fdtri as fdtri
from tinyjax.scipy.special.ufuncs import fdtridfd as fdtridfd
from tinyjax.scipy.special.ufuncs import gammainccinv as gammainccinv
from tinyjax.scipy.special.ufuncs import gammaincinv as gammaincinv
from tinyjax.scipy.special.ufuncs import gdtr as gdtr
from tinyjax.scipy.special.ufuncs import gdtrc as gdtrc
from tinyjax.scipy.special.ufuncs import gdtria as gdtria
from tinyjax.scipy.special.ufuncs import gdtrib as gdtrib
from tinyjax.scipy.special.ufuncs import gdtrix as gdtrix
from tinyjax.scipy.special.ufuncs import hankel1 as hankel1
from tinyjax.scipy.special.ufuncs import hankel1e as hankel1e
from tinyjax.scipy.special.ufuncs import hankel2 as hankel2
from tinyjax.scipy.special.ufuncs import hankel2e as hankel2e
from tinyjax.scipy.special.ufuncs import huber as huber
from tinyjax.scipy.special.ufuncs import hyp0f1 as hyp0f1
from tinyjax.scipy.special.ufuncs import hyperu as hyperu
from tinyjax.scipy.special.ufuncs import inv_boxcox as inv_boxcox
from tinyjax.scipy.special.ufuncs import inv_boxcox1p as inv_boxcox1p
from tinyjax.scipy.special.ufuncs import it2i0k0 as it2i0k0
from tinyjax.scipy.special.ufuncs import it2j0y0 as it2j0y0
from tinyjax.scipy.special.ufuncs import it2struve0 as it2struve0
from tinyjax.scipy.special.ufuncs import itairy as itairy
from tinyjax.scipy.special.ufuncs import iti0k0 as iti0k0
from tinyjax.scipy.special.ufuncs import itj0y0 as itj0y0
from tinyjax.scipy.special.ufuncs import itmodstruve0 as itmodstruve0
from tinyjax.scipy.special.ufuncs import itstruve0 as itstruve0
from tinyjax.scipy.special.ufuncs import iv as iv
from tinyjax.scipy.special.ufuncs import ive as ive
from tinyjax.scipy.special.ufuncs import j0 as j0
from tinyjax.scipy.special.ufuncs import j1 as j1
from tinyjax.scipy.special.ufuncs import jn as jn
from tinyjax.scipy.special.ufuncs import jv as jv
from tinyjax.scipy.special.ufuncs import jve as jve
from tinyjax.scipy.special.ufuncs import k0 as k0
from tinyjax.scipy.special.ufuncs import k0e as k0e
from tinyjax.scipy.special.ufuncs import k1 as k1
from tinyjax.scipy.special.ufuncs import k1e as k1e
from tinyjax.scipy.special.ufuncs import kei as kei
from tinyjax.scipy.special.ufuncs import keip as keip
from tinyjax.scipy.special.ufuncs import kelvin as kelvin
from tinyjax.scipy.special.ufuncs import ker as ker
from tinyjax.scipy.special.ufuncs import kerp as kerp
from tinyjax.scipy.special.ufuncs import kn as kn
from tinyjax.scipy.special.ufuncs import kolmogi as kolmogi
from tinyjax.scipy.special.ufuncs import kolmogorov as kolmogorov
from tinyjax.scipy.special.ufuncs import kv as kv
from tinyjax.scipy.special.ufuncs import kve as kve
from tinyjax.scipy.special.ufuncs import lambertw as lambertw
from tinyjax.scipy.special.ufuncs import log1p as log1p
from tinyjax.scipy.special.ufuncs import log_expit as log_expit
from tinyjax.scipy.special.ufuncs import log_wright_bessel as log_wright_bessel
from tinyjax.scipy.special.ufuncs import lpmv as lpmv
from tinyjax.scipy.special.ufuncs import mathieu_a as mathieu_a
from tinyjax.scipy.special.ufuncs import mathieu_b as mathieu_b
from tinyjax.scipy.special.ufuncs import mathieu_cem as mathieu_cem
from tinyjax.scipy.special.ufuncs import mathieu_modcem1 as mathieu_modcem1
from tinyjax.scipy.special.ufuncs import mathieu_modcem2 as mathieu_modcem2
from tinyjax.scipy.special.ufuncs import mathieu_modsem1 as mathieu_modsem1
from tinyjax.scipy.special.ufuncs import mathieu_modsem2 as mathieu_modsem2
from tinyjax.scipy.special.ufuncs import mathieu_sem as mathieu_sem
from tinyjax.scipy.special.ufuncs import modfresnelm as modfresnelm
from tinyjax.scipy.special.ufuncs import modfresnelp as modfresnelp
from tinyjax.scipy.special.ufuncs import modstruve as modstruve
from tinyjax.scipy.special.ufuncs import nbdtr as nbdtr
from tinyjax.scipy.special.ufuncs import nbdtrc as nbdtrc
from tinyjax.scipy.special.ufuncs import nbdtri as nbdtri
from tinyjax.scipy.special.ufuncs import nbdtrik as nbdtrik
from tinyjax.scipy.special.ufuncs import nbdtrin as nbdtrin
from tinyjax.scipy.special.ufuncs import ncfdtr as ncfdtr
from tinyjax.scipy.special.ufuncs import ncfdtri as ncfdtri
from tinyjax.scipy.special.ufuncs import ncfdtridfd as ncfdtridfd
from tinyjax.scipy.special.ufuncs import ncfdtridfn as ncfdtridfn
from tinyjax.scipy.special.ufuncs import ncfdtrinc as ncfdtrinc
from tinyjax.scipy.special.ufuncs import nctdtr as nctdtr
from tinyjax.scipy.special.ufuncs import nctdtridf as nctdtridf
from tinyjax.scipy.special.ufuncs import nctdtrinc as nctdtrinc
from tinyjax.scipy.special.ufuncs import nctdtrit as nctdtrit
from tinyjax.scipy.special.ufuncs import ndtri_exp as ndtri_exp
from tinyjax.scipy.special.ufuncs import nrdtrimn as nrdtrimn
from tinyjax.scipy.special.ufuncs import nrdtrisd as nrdtrisd
from tinyjax.scipy.special.ufuncs import obl_ang1 as obl_ang1
from tinyjax.scipy.special.ufuncs import obl_ang1_cv as obl_ang1_cv
from tinyjax.scipy.special.ufuncs import obl_cv as obl_cv
from tinyjax.scipy.special.ufuncs import obl_rad1 as obl_rad1
from tinyjax.scipy.special.ufuncs import obl_rad1_cv as obl_rad1_cv
from tinyjax.scipy.special.ufuncs import obl_rad2 as obl_rad2
from tinyjax.scipy.special.ufuncs import obl_rad2_cv as obl_rad2_cv
from tinyjax.scipy.special.ufuncs import pbdv as pbdv
from tinyjax.scipy.special.ufuncs import pbvv as pbvv
from tinyjax.scipy.special.ufuncs import pbwa as pbwa
from tinyjax.scipy.special.ufuncs import pdtr as pdtr
from tinyjax.scipy.special.ufuncs import pdtrc as pdtrc
from tinyjax.scipy.special.ufuncs import pdtri as pdtri
from tinyjax.scipy.special.ufuncs import pdtrik as pdtrik
from tinyjax.scipy.special.ufuncs import perm as perm
from tinyjax.scipy.special.ufuncs import powm1 as powm1
from tinyjax.scipy.special.ufuncs import pro_ang1 as pro_ang1
from tinyjax.scipy.special.ufuncs import pro_ang1_cv as pro_ang1_cv
from tinyjax.scipy.special.ufuncs import pro_cv as pro_cv
from tinyjax.scipy.special.ufuncs import pro_rad1 as pro_rad1
from tinyjax.scipy.special.ufuncs import pro_rad1_cv as pro_rad1_cv
from tinyjax.scipy.special.ufuncs import pro_rad2 as pro_rad2
from tinyjax.scipy.special.ufuncs import pro_rad2_cv as pro_rad2_cv
from tinyjax.scipy.special.ufuncs import pseudo_huber as pseudo_huber
from tinyjax.scipy.special.ufuncs import psi as psi
from tinyjax.scipy.special.ufuncs import radian as radian
from tinyjax.scipy.special.ufuncs import rgamma as rgamma
from tinyjax.scipy.special.ufuncs import round_ as round
from tinyjax.scipy.special.ufuncs import shichi as shichi
from tinyjax.scipy.special.ufuncs import sindg as sindg
from tinyjax.scipy.special.ufuncs import smirnov as smirnov
from tinyjax.scipy.special.ufuncs import smirnovi as smirnovi
from tinyjax.scipy.special.ufuncs import spherical_in as spherical_in
from tinyjax.scipy.special.ufuncs import spherical_jn as spherical_jn
from tinyjax.scipy.special.ufuncs import spherical_kn as spherical_kn
from tinyjax.scipy.special.ufuncs import spherical_yn as spherical_yn
from tinyjax.scipy.special.ufuncs import stdtr as stdtr
from tinyjax.scipy.special.ufuncs import stdtridf as stdtridf
from tinyjax.scipy.special.ufuncs import stdtrit as stdtrit
from tinyjax.scipy.special.ufuncs import struve as struve
from tinyjax.scipy.special.ufuncs import tandg as tandg
from tinyjax.scipy.special.ufuncs import tklmbda as tklmbda
from tinyjax.scipy.special.ufuncs import voigt_profile as voigt_profile
from tinyjax.scipy.special.ufuncs import wright_bessel as wright_bessel
from tinyjax.scipy.special.ufuncs import wrightomega as wrightomega
from tinyjax.scipy.special.ufuncs import y0 as y0
from tinyjax.scipy.special.ufuncs import y1 as y1
from tinyjax.scipy.special.ufuncs import yn as yn
from tinyjax.scipy.special.ufuncs import yv as yv
from tinyjax.scipy.special.ufuncs import yve as yve
from tinyjax.scipy.special.ufuncs import zetac as zetac

__all__ = [
    'agm',
    'airy',
    'airye',
    'bdtr',
    'bdtrc',
    'bdtri',
    'bdtrik',
    'bdtrin',
    'bei',
    'beip',
    'ber',
    'bernoulli',
    'berp',
    'bessel_jn',
    'besselpoly',
    'beta',
    'betainc',
    'betaincc',
    'betainccinv',
    'betaincinv',
    'betaln',
    'binom',
    'boxcox',
    'boxcox1p',
    'btdtria',
    'btdtrib',
    'cbrt',
    'chdtr',
    'chdtrc',
    'chdtri',
    'chdtriv',
    'chndtr',
    'chndtridf',
    'chndtrinc',
    'chndtrix',
    'comb',
    'cosdg',
    'cosm1',
    'cotdg',
    'dawsn',
    'digamma',
    'ellipe',
    'ellipeinc',
    'ellipj',
    'ellipk',
    'ellipkinc',
    'ellipkm1',
    'elliprc',
    'elliprd',
    'elliprf',
    'elliprg',
    'elliprj',
    'entr',
    'erf',
    'erfc',
    'erfcinv',
    'erfcx',
    'erfi',
    'erfinv',
    'eval_chebyc',
    'eval_chebys',
    'eval_chebyt',
    'eval_chebyu',
    'eval_gegenbauer',
    'eval_genlaguerre',
    'eval_hermite',
    'eval_hermitenorm',
    'eval_jacobi',
    'eval_laguerre',
    'eval_legendre',
    'eval_sh_chebyt',
    'eval_sh_chebyu',
    'eval_sh_jacobi',
    'eval_sh_legendre',
    'exp1',
    'exp10',
    'exp2',
    'expi',
    'expit',
    'expm1',
    'expn',
    'exprel',
    'factorial',
    'fdtr',
    'fdtrc',
    'fdtri',
    'fdtridfd',
    'fresnel',
    'gamma',
    'gammainc',
    'gammaincc',
    'gammainccinv',
    'gammaincinv',
    'gammaln',
    'gammasgn',
    'gdtr',
    'gdtrc',
    'gdtria',
    'gdtrib',
    'gdtrix',
    'hankel1',
    'hankel1e',
    'hankel2',
    'hankel2e',
    'huber',
    'hyp0f1',
    'hyp1f1',
    'hyp2f1',
    'hyperu',
    'i0',
    'i0e',
    'i1',
    'i1e',
    'inv_boxcox',
    'inv_boxcox1p',
    'it2i0k0',
    'it2j0y0',
    'it2struve0',
    'itairy',
    'iti0k0',
    'itj0y0',
    'itmodstruve0',
    'itstruve0',
    'iv',
    'ive',
    'j0',
    'j1',
    'jn',
    'jv',
    'jve',
    'k0',
    'k0e',
    'k1',
    'k1e',
    'kei',
    'keip',
    'kelvin',
    'ker',
    'kerp',
    'kl_div',
    'kn',
    'kolmogi',
    'kolmogorov',
    'kv',
    'kve',
    'lambertw',
    'log1p',
    'log_expit',
    'log_ndtr',
    'log_softmax',
    'log_wright_bessel',
    'loggamma',
    'logit',
    'logsumexp',
    'lpmv',
    'mathieu_a',
    'mathieu_b',
    'mathieu_cem',
    'mathieu_modcem1',
    'mathieu_modcem2',
    'mathieu_modsem1',
    'mathieu_modsem2',
    'mathieu_sem',
    'modfresnelm',
    'modfresnelp',
    'modstruve',
    'multigammaln',
    'nbdtr',
    'nbdtrc',
    'nbdtri',
    'nbdtrik',
    'nbdtrin',
    'ncfdtr',
    'ncfdtri',
    'ncfdtridfd',
    'ncfdtridfn',
    'ncfdtrinc',
    'nctdtr',
    'nctdtridf',
    'nctdtrinc',
    'nctdtrit',
    'ndtr',
    'ndtri',
    'ndtri_exp',
    'nrdtrimn',
    'nrdtrisd',
    'obl_ang1',
    'obl_ang1_cv',
    'obl_cv',
    'obl_rad1',
    'obl_rad1_cv',
    'obl_rad2',
    'obl_rad2_cv',
    'owens_t',
    'pbdv',
    'pbvv',
    'pbwa',
    'pdtr',
    'pdtrc',
    'pdtri',
    'pdtrik',
    'perm',
    'poch',
    'polygamma',
    'powm1',
    'pro_ang1',
    'pro_ang1_cv',
    'pro_cv',
    'pro_rad1',
    'pro_rad1_cv',
    'pro_rad2',
    'pro_rad2_cv',
    'pseudo_huber',
    'psi',
    'radian',
    'rel_entr',
    'rgamma',
    'round',
    'shichi',
    'sici',
    'sindg',
    'smirnov',
    'smirnovi',
    'softmax',
    'spence',
    'sph_harm_y',
    'spherical_in',
    'spherical_jn',
    'spherical_kn',
    'spherical_yn',
    'stdtr',
    'stdtridf',
    'stdtrit',
    'struve',
    'tandg',
    'tklmbda',
    'voigt_profile',
    'wofz',
    'wright_bessel',
    'wrightomega',
    'xlog1py',
    'xlogy',
    'y0',
    'y1',
    'yn',
    'yv',
    'yve',
    'zeta',
    'zetac',
]
