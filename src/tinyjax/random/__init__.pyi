# Written by `python -m tools.exports` in tests/, from the table of the module beside it.

from tinyjax.random.continuous import cauchy as cauchy
from tinyjax.random.continuous import double_sided_maxwell as double_sided_maxwell
from tinyjax.random.continuous import exponential as exponential
from tinyjax.random.continuous import gumbel as gumbel
from tinyjax.random.continuous import laplace as laplace
from tinyjax.random.continuous import logistic as logistic
from tinyjax.random.continuous import lognormal as lognormal
from tinyjax.random.continuous import maxwell as maxwell
from tinyjax.random.continuous import normal as normal
from tinyjax.random.continuous import pareto as pareto
from tinyjax.random.continuous import rayleigh as rayleigh
from tinyjax.random.continuous import triangular as triangular
from tinyjax.random.continuous import truncated_normal as truncated_normal
from tinyjax.random.continuous import wald as wald
from tinyjax.random.continuous import weibull_min as weibull_min
from tinyjax.random.counts import binomial as binomial
from tinyjax.random.counts import categorical as categorical
from tinyjax.random.counts import choice as choice
from tinyjax.random.counts import geometric as geometric
from tinyjax.random.counts import multinomial as multinomial
from tinyjax.random.counts import permutation as permutation
from tinyjax.random.counts import poisson as poisson
from tinyjax.random.gammas import ball as ball
from tinyjax.random.gammas import beta as beta
from tinyjax.random.gammas import chisquare as chisquare
from tinyjax.random.gammas import dirichlet as dirichlet
from tinyjax.random.gammas import f as f
from tinyjax.random.gammas import gamma as gamma
from tinyjax.random.gammas import generalized_normal as generalized_normal
from tinyjax.random.gammas import loggamma as loggamma
from tinyjax.random.gammas import multivariate_normal as multivariate_normal
from tinyjax.random.gammas import orthogonal as orthogonal
from tinyjax.random.gammas import t as t
from tinyjax.random.keys import PRNGKey as PRNGKey
from tinyjax.random.keys import clone as clone
from tinyjax.random.keys import fold_in as fold_in
from tinyjax.random.keys import key as key
from tinyjax.random.keys import key_data as key_data
from tinyjax.random.keys import key_dtype as key_dtype
from tinyjax.random.keys import key_impl as key_impl
from tinyjax.random.keys import split as split
from tinyjax.random.keys import wrap_key_data as wrap_key_data
from tinyjax.random.uniforms import bernoulli as bernoulli
from tinyjax.random.uniforms import bits as bits
from tinyjax.random.uniforms import rademacher as rademacher
from tinyjax.random.uniforms import randint as randint
from tinyjax.random.uniforms import uniform as uniform

__all__ = [
    'PRNGKey',
    'ball',
    'bernoulli',
    'beta',
    'binomial',
    'bits',
    'categorical',
    'cauchy',
    'chisquare',
    'choice',
    'clone',
    'dirichlet',
    'double_sided_maxwell',
    'exponential',
    'f',
    'fold_in',
    'gamma',
    'generalized_normal',
    'geometric',
    'gumbel',
    'key',
    'key_data',
    'key_dtype',
    'key_impl',
    'laplace',
    'loggamma',
    'logistic',
    'lognormal',
    'maxwell',
    'multinomial',
    'multivariate_normal',
    'normal',
    'orthogonal',
    'pareto',
    'permutation',
    'poisson',
    'rademacher',
    'randint',
    'rayleigh',
    'split',
    't',
    'triangular',
    'truncated_normal',
    'uniform',
    'wald',
    'weibull_min',
    'wrap_key_data',
]
