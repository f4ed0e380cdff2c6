"""Automatic vectorization, and densities of batches: what vmap is for."""

from functools import partial
from typing import Any

import numpy as np


def convolutions(jax: Any) -> Any:
    jnp = jax.numpy
    x, w = jnp.arange(5), jnp.array([2.0, 3.0, 4.0])

    def convolve(x: Any, w: Any) -> Any:
        output = [jnp.dot(x[i - 1 : i + 2], w) for i in range(1, len(x) - 1)]
        return jnp.array(output)

    xs, ws = jnp.stack([x, x]), jnp.stack([w, w])
    batched = jax.vmap(convolve)
    return (
        convolve(x, w),
        batched(xs, ws),
        jax.vmap(convolve, in_axes=1, out_axes=1)(xs.T, ws.T),
        jax.vmap(convolve, in_axes=[0, None])(xs, w),
        jax.jit(batched)(xs, ws),
    )


def products(jax: Any) -> Any:
    jnp = jax.numpy
    vv = lambda x, y: jnp.vdot(x, y)  # noqa: E731 (as the page has it)
    mv = jax.vmap(vv, (0, None), 0)
    mm = jax.vmap(mv, (None, 1), 1)
    a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
    tree = {"a": (a, 2.0), "b": b.T}
    return (
        mv(a, a[0]),
        mm(a, b),
        jax.vmap(
            lambda t: t["a"][0] * t["a"][1] + t["b"][0], in_axes=({"a": (0, None), "b": None},)
        )({"a": (a, 2.0), "b": jnp.ones(3)}),
        jax.vmap(lambda x, *, scale: x * scale, in_axes=0)(a, scale=jnp.arange(2.0)),
        jax.vmap(lambda x: (x.sum(), x), out_axes=(0, 1))(a),
        jax.tree.map(lambda x: jnp.shape(x), tree),
    )


def collectives(jax: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    x = jnp.arange(6.0).reshape(2, 3)

    def normalize(row: Any) -> Any:
        return row / lax.psum(row, "i"), lax.axis_index("i"), lax.pmean(row.sum(), axis_name="i")

    nested = jax.vmap(
        jax.vmap(lambda x: lax.psum(x, ("i", "j")) + lax.pmax(x, "j"), axis_name="j"), axis_name="i"
    )
    return (
        jax.vmap(normalize, axis_name="i")(x),
        nested(x),
        jax.vmap(lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), axis_name="i")(x),
        jax.vmap(lambda x: lax.all_gather(x, "i"), axis_name="i", out_axes=None)(x),
        jax.vmap(lambda: jax.numpy.ones(2), axis_size=3)(),
    )


def per_example_gradients(jax: Any) -> Any:
    jnp = jax.numpy

    def loss(params: Any, x: Any, y: Any) -> Any:
        w, b = params
        return jnp.mean((jnp.tanh(x @ w + b) - y) ** 2)

    key = jax.random.key(3)
    k1, k2 = jax.random.split(key)
    params = (jax.random.normal(k1, (3, 2)), jnp.zeros(2))
    xs, ys = jax.random.normal(k2, (4, 3)), jnp.ones((4, 2))
    grads = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))(params, xs, ys)
    return grads, jax.tree.map(lambda g: jnp.linalg.norm(g.reshape(4, -1), axis=1), grads)


def log_joint(jax: Any) -> Any:
    """Logistic regression: its density for one and for many, and an approximation of it."""
    jnp, random = jax.numpy, jax.random
    rng = np.random.RandomState(10009)
    points, features = 20, 4
    true_beta = rng.randn(features).astype(np.float32)
    all_x = rng.randn(points, features).astype(np.float32)
    y = (rng.rand(points) < 1 / (1 + np.exp(-all_x @ true_beta))).astype(np.int32)

    def log_joint(beta: Any) -> Any:
        prior = jnp.sum(jax.scipy.stats.norm.logpdf(beta, loc=0.0, scale=1.0))
        likelihood = jnp.sum(-jnp.log(1 + jnp.exp(-(2 * y - 1) * jnp.dot(all_x, beta))))
        return prior + likelihood

    def elbo(beta_loc: Any, beta_log_scale: Any, epsilon: Any) -> Any:
        beta_sample = beta_loc + jnp.exp(beta_log_scale) * epsilon
        return jnp.mean(jax.vmap(log_joint)(beta_sample), 0) + jnp.sum(
            beta_log_scale - 0.5 * np.log(2 * np.pi)
        )

    elbo_val_and_grad = jax.jit(jax.value_and_grad(elbo, argnums=(0, 1)))
    loc, log_scale = jnp.zeros(features), jnp.ones(features) * -1.0
    key, found = random.key(10003), []
    for i in range(20):
        epsilon = random.normal(random.fold_in(key, i), (16, features))
        value, grads = elbo_val_and_grad(loc, log_scale, epsilon)
        loc += 0.01 * grads[0]
        log_scale += 0.01 * grads[1]
        found.append(value)
    return log_joint(np.ones(features)), jnp.stack(found), loc, log_scale


def partial_and_methods(jax: Any) -> Any:
    jnp = jax.numpy

    class Model:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        @partial(jax.jit, static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return x * self.scale

    model = Model(3.0)
    return (
        model(jnp.arange(3)),
        jax.vmap(model)(jnp.arange(3.0)),
        jax.vmap(partial(jnp.add, 1))(jnp.arange(2)),
    )
