"""A No-U-Turn sampler whose tree is Python's recursion, and whose leapfrog is compiled."""

import numpy as np

from benchmarks.scripts.library import jax, jnp, show

rng = np.random.default_rng(0)
A = rng.standard_normal((5, 5)).astype(np.float32)
precision = A @ A.T + 2 * np.eye(5, dtype=np.float32)


@jax.jit
def logp(q):
    return -0.5 * q @ precision @ q - 0.1 * jnp.sum(jnp.log1p(q**2))


@jax.jit
def leapfrog(q, p, size):
    p = p + 0.5 * size * jax.grad(logp)(q)
    q = q + size * p
    p = p + 0.5 * size * jax.grad(logp)(q)
    return q, p, logp(q) - 0.5 * p @ p


@jax.jit
def turns(minus, plus, p_minus, p_plus):
    d = plus - minus
    return (d @ p_minus < 0) | (d @ p_plus < 0)


def tree(q, p, u, v, depth, size):
    if depth == 0:
        q, p, joint = leapfrog(q, p, v * size)
        return q, p, q, p, q, int(u <= joint), bool(u < joint + 1000)
    qm, pm, qp, pp, q1, n1, go = tree(q, p, u, v, depth - 1, size)
    if go:
        if v < 0:
            qm, pm, _, _, q2, n2, go = tree(qm, pm, u, v, depth - 1, size)
        else:
            _, _, qp, pp, q2, n2, go = tree(qp, pp, u, v, depth - 1, size)
        if n2 and rng.random() < n2 / (n1 + n2):
            q1 = q2
        n1 += n2
        go = go and not turns(qm, qp, pm, pp)
    return qm, pm, qp, pp, q1, n1, go


q, draws, leaves = jnp.zeros(5), [], 0
for _ in range(60):
    p = rng.standard_normal(5).astype(np.float32)
    u = float(logp(q) - 0.5 * p @ p) + float(np.log(rng.random()))
    qm, pm, qp, pp, depth, n, go = q, p, q, p, 0, 1, True
    while go and depth < 6:
        if rng.random() < 0.5:
            qm, pm, _, _, new, n1, go = tree(qm, pm, u, -1.0, depth, 0.25)
        else:
            _, _, qp, pp, new, n1, go = tree(qp, pp, u, 1.0, depth, 0.25)
        if go and rng.random() < n1 / n:
            q = new
        n, depth, leaves = n + n1, depth + 1, leaves + n1
        go = go and not turns(qm, qp, pm, pp)
    draws.append(np.asarray(q))
show("near", bool(np.abs(np.mean(draws, 0)).max() < 1))
show("many", leaves > 100)
