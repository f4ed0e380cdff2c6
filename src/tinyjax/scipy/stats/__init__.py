"""Probability distributions, ranks, and density estimates."""

from __future__ import annotations

from tinyjax._base.lazy import namespace

__all__, __getattr__, __dir__ = namespace(
    __name__,
    {
        "density": "gaussian_kde",
        "ranking": "mode rankdata sem",
        "summaries": (
            "DescribeResult SignificanceResult describe entropy f_oneway gmean iqr ks_2samp "
            "kurtosis linregress pearsonr skew spearmanr ttest_1samp ttest_ind ttest_rel zscore"
        ),
        "": (
            "bernoulli beta betabinom binom cauchy chi2 dirichlet expon f gamma gennorm geom "
            "gumbel_l gumbel_r laplace logistic lognorm multinomial multivariate_normal nbinom "
            "norm pareto poisson t truncnorm uniform vonmises weibull_min wrapcauchy"
        ),
    },
)
