"""Logistic regression by Newton's method, with standard errors; and by gradient descent."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)
X = np.concatenate([np.ones((400, 1)), rng.standard_normal((400, 5))], 1).astype(np.float32)
true = np.array([0.3, 1, -1, 0.5, 0, 2])
y = (rng.random(400) < 1 / (1 + np.exp(-X @ true))).astype(np.float32)


def loss(beta):
    z = X @ beta
    return jnp.sum(jnp.logaddexp(0.0, z) - y * z) + 0.5 * jnp.sum(beta**2)


@jax.jit
def newton(beta):
    return beta - jnp.linalg.solve(jax.hessian(loss)(beta), jax.grad(loss)(beta))


beta = jnp.zeros(6)
for _ in range(8):
    beta = newton(beta)
show("beta", beta)
show("errors", jnp.sqrt(jnp.diag(jnp.linalg.inv(jax.hessian(loss)(beta)))))

beta, gradient = jnp.zeros(6), jax.jit(jax.grad(loss))
for _ in range(200):
    beta = beta - 0.01 * gradient(beta)
show("beta", beta)
show("accuracy", jnp.mean((X @ beta > 0) == y))
