"""Regress the progress of diabetes by a Gaussian process with a length scale for each feature."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import random
from jax.example_libraries import optimizers
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular
from jax.scipy.stats import norm
from sklearn.datasets import load_diabetes

jax.config.update("jax_enable_x64", True)

data = load_diabetes()
chosen = [2, 3, 8]
X = jnp.array(data.data[:160, chosen] / data.data[:, chosen].std(0))
y = jnp.array((data.target[:160] - data.target.mean()) / data.target.std())
X_train, y_train, X_test, y_test = X[:120], y[:120], X[120:], y[120:]


def rational_quadratic(params, x, z):
    d2 = jnp.sum(jnp.square((x - z) / params["length"]))
    return params["amplitude"] ** 2 * (1 + d2 / (2 * params["alpha"])) ** -params["alpha"]


def linear(params, x, z):
    return params["slope"] ** 2 * jnp.dot(x, z)


def kernel(params, x, z):
    return rational_quadratic(params, x, z) + linear(params, x, z)


def gram(params, xs, zs):
    return jax.vmap(lambda x: jax.vmap(lambda z: kernel(params, x, z))(zs))(xs)


def constrain(raw):
    return jax.tree_util.tree_map(lambda v: jax.nn.softplus(v) + 1e-6, raw)


def noisy(params, xs):
    return gram(params, xs, xs) + params["noise"] ** 2 * jnp.eye(len(xs))


def negative_log_likelihood(raw, xs, ys):
    L = jnp.linalg.cholesky(noisy(constrain(raw), xs))
    white = solve_triangular(L, ys, lower=True)
    log_det = 2 * jnp.sum(jnp.log(jnp.diag(L)))
    return 0.5 * (white @ white + log_det + len(ys) * jnp.log(2 * jnp.pi))


@partial(jax.jit, static_argnames=("steps",))
def fit(raw, steps):
    init, update, get_params = optimizers.adam(optimizers.exponential_decay(0.1, 30, 0.8))
    loss = partial(negative_log_likelihood, xs=X_train, ys=y_train)

    def step(state, i):
        value, grads = jax.value_and_grad(loss)(get_params(state))
        return update(i, optimizers.clip_grads(grads, 10.0), state), value

    state, losses = jax.lax.scan(step, init(raw), jnp.arange(steps))
    return get_params(state), losses


@jax.jit
def predict(raw, xs, key):
    params = constrain(raw)
    factor = cho_factor(noisy(params, X_train), lower=True)
    cross = gram(params, xs, X_train)
    mean = cross @ cho_solve(factor, y_train)
    cov = gram(params, xs, xs) - cross @ cho_solve(factor, cross.T)
    draws = random.multivariate_normal(
        key, mean, cov + 1e-6 * jnp.eye(len(xs)), shape=(8,), method="cholesky"
    )
    return mean, jnp.sqrt(jnp.diag(cov) + params["noise"] ** 2), draws


@jax.jit
def leave_one_out(raw):
    inverse = jnp.linalg.inv(noisy(constrain(raw), X_train))
    variance = 1 / jnp.diagonal(inverse)
    mean = y_train - variance * (inverse @ y_train)
    return norm.logpdf(y_train, mean, jnp.sqrt(variance)).mean()


def main():
    raw = {
        "amplitude": jnp.array(0.5),
        "length": jnp.ones(X.shape[1]),
        "alpha": jnp.array(1.0),
        "slope": jnp.array(-1.0),
        "noise": jnp.array(0.0),
    }
    raw, losses = fit(raw, steps=40)
    mean, std, draws = predict(raw, X_test, random.PRNGKey(0))
    curvature = jax.hessian(negative_log_likelihood)(raw, X_train, y_train)
    assert losses[-1] < losses[0] - 5
    assert jnp.mean((mean - y_test) ** 2) < 0.7 * jnp.var(y_test)
    return {
        **constrain(raw),
        "losses": losses,
        "mean": mean,
        "std": std,
        "draws": draws,
        "leave one out": leave_one_out(raw),
        "curvature in length": curvature["length"]["length"],
        "covered": jnp.sum(jnp.abs(y_test - mean) < 1.96 * std),
        "surprise": jnp.argsort(-jnp.abs(y_test - mean) / std)[:5],
    }


TOLERANCE = 1e-10
