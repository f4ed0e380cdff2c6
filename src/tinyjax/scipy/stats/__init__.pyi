# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.scipy.stats import bernoulli as bernoulli
from tinyjax.scipy.stats import beta as beta
from tinyjax.scipy.stats import betabinom as betabinom
from tinyjax.scipy.stats import binom as binom
from tinyjax.scipy.stats import cauchy as cauchy
from tinyjax.scipy.stats import chi2 as chi2
from tinyjax.scipy.stats import dirichlet as dirichlet
from tinyjax.scipy.stats import expon as expon
from tinyjax.scipy.stats import f as f
from tinyjax.scipy.stats import gamma as gamma
from tinyjax.scipy.stats import gennorm as gennorm
from tinyjax.scipy.stats import geom as geom
from tinyjax.scipy.stats import gumbel_l as gumbel_l
from tinyjax.scipy.stats import gumbel_r as gumbel_r
from tinyjax.scipy.stats import laplace as laplace
from tinyjax.scipy.stats import logistic as logistic
from tinyjax.scipy.stats import lognorm as lognorm
from tinyjax.scipy.stats import multinomial as multinomial
from tinyjax.scipy.stats import multivariate_normal as multivariate_normal
from tinyjax.scipy.stats import nbinom as nbinom
from tinyjax.scipy.stats import norm as norm
from tinyjax.scipy.stats import pareto as pareto
from tinyjax.scipy.stats import poisson as poisson
from tinyjax.scipy.stats import t as t
from tinyjax.scipy.stats import truncnorm as truncnorm
from tinyjax.scipy.stats import uniform as uniform
from tinyjax.scipy.stats import vonmises as vonmises
from tinyjax.scipy.stats import weibull_min as weibull_min
from tinyjax.scipy.stats import wrapcauchy as wrapcauchy
from tinyjax.scipy.stats.density import gaussian_kde as gaussian_kde
from tinyjax.scipy.stats.ranking import mode as mode
from tinyjax.scipy.stats.ranking import rankdata as rankdata
from tinyjax.scipy.stats.ranking import sem as sem
from tinyjax.scipy.stats.summaries import DescribeResult as DescribeResult
from tinyjax.scipy.stats.summaries import SignificanceResult as SignificanceResult
from tinyjax.scipy.stats.summaries import describe as describe
from tinyjax.scipy.stats.summaries import entropy as entropy
from tinyjax.scipy.stats.summaries import f_oneway as f_oneway
from tinyjax.scipy.stats.summaries import gmean as gmean
from tinyjax.scipy.stats.summaries import iqr as iqr
from tinyjax.scipy.stats.summaries import ks_2samp as ks_2samp
from tinyjax.scipy.stats.summaries import kurtosis as kurtosis
from tinyjax.scipy.stats.summaries import linregress as linregress
from tinyjax.scipy.stats.summaries import pearsonr as pearsonr
from tinyjax.scipy.stats.summaries import skew as skew
from tinyjax.scipy.stats.summaries import spearmanr as spearmanr
from tinyjax.scipy.stats.summaries import ttest_1samp as ttest_1samp
from tinyjax.scipy.stats.summaries import ttest_ind as ttest_ind
from tinyjax.scipy.stats.summaries import ttest_rel as ttest_rel
from tinyjax.scipy.stats.summaries import zscore as zscore

__all__ = [
    'DescribeResult',
    'SignificanceResult',
    'bernoulli',
    'beta',
    'betabinom',
    'binom',
    'cauchy',
    'chi2',
    'describe',
    'dirichlet',
    'entropy',
    'expon',
    'f',
    'f_oneway',
    'gamma',
    'gaussian_kde',
    'gennorm',
    'geom',
    'gmean',
    'gumbel_l',
    'gumbel_r',
    'iqr',
    'ks_2samp',
    'kurtosis',
    'laplace',
    'linregress',
    'logistic',
    'lognorm',
    'mode',
    'multinomial',
    'multivariate_normal',
    'nbinom',
    'norm',
    'pareto',
    'pearsonr',
    'poisson',
    'rankdata',
    'sem',
    'skew',
    'spearmanr',
    't',
    'truncnorm',
    'ttest_1samp',
    'ttest_ind',
    'ttest_rel',
    'uniform',
    'vonmises',
    'weibull_min',
    'wrapcauchy',
    'zscore',
]
