"""dynamax: hidden Markov models fitted by EM, and a linear Gaussian model smoothed and fitted."""

import jax.random as jr
from dynamax.hidden_markov_model import GaussianHMM
from dynamax.linear_gaussian_ssm import LinearGaussianSSM

TOLERANCE = 1e-3


def main():
    hmm = GaussianHMM(3, 2)
    params, properties = hmm.initialize(jr.PRNGKey(0))
    _, emissions = hmm.sample(params, jr.PRNGKey(1), 50)
    _, log_probs = hmm.fit_em(params, properties, emissions, num_iters=3, verbose=False)
    linear = LinearGaussianSSM(2, 3)
    theta, kinds = linear.initialize(jr.PRNGKey(0))
    _, observed = linear.sample(theta, jr.PRNGKey(1), 30)
    smoothed = linear.smoother(theta, observed)
    _, losses = linear.fit_sgd(theta, kinds, observed[None], num_epochs=3)
    return {
        "marginal": hmm.marginal_log_prob(params, emissions),
        "states": hmm.most_likely_states(params, emissions),
        "fit": log_probs,
        "means": smoothed.smoothed_means,
        "likelihood": smoothed.marginal_loglik,
        "losses": losses,
    }
