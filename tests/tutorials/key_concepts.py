"""Transformations, tracing, jaxprs, pytrees, keys: the page of key concepts."""

from typing import Any

import numpy as np


def arrays(jax: Any) -> Any:
    jnp = jax.numpy
    x = jnp.arange(5)
    return (
        *(isinstance(x, jax.Array), x.devices() == {x.device}, x.sharding is not None),
        *(x.at[2].set(9), x.dtype, x.shape, x.astype(jnp.float32), x.sum(), x.T, x.reshape(5, 1)),
    )


def immutable(jax: Any) -> Any:
    x = jax.numpy.arange(3)
    try:
        x[0] = 1
    except TypeError:
        return "immutable"
    return x


def transformations(jax: Any) -> Any:
    jnp = jax.numpy

    def selu(x: Any, alpha: float = 1.67, lambda_: float = 1.05) -> Any:
        return lambda_ * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    x = jnp.arange(5.0)
    return (
        jax.jit(selu)(x),
        jax.vmap(jax.grad(selu))(x),
        jax.grad(lambda x: jax.jit(selu)(x).sum())(x),
        jax.grad(jax.grad(selu))(1.5),
    )


def tracers(jax: Any) -> Any:
    seen = []

    @jax.jit
    def f(x: Any) -> Any:
        seen.append((isinstance(x, jax.core.Tracer), x.shape, x.dtype))
        return x + 1

    f(np.float32(1))
    f(np.float32(2))
    f(np.ones(3, np.float32))
    return seen


def jaxprs(jax: Any) -> Any:
    jnp = jax.numpy
    jaxpr = jax.make_jaxpr(lambda x, y: jnp.sin(x) * y + 1)(1.0, 2.0)
    return (
        [eqn.primitive.name for eqn in jaxpr.jaxpr.eqns],
        len(jaxpr.jaxpr.invars),
        len(jaxpr.jaxpr.outvars),
        [len(eqn.invars) for eqn in jaxpr.eqns],
        jaxpr.in_avals[0].shape,
        list(jaxpr.consts),
    )


def pytrees(jax: Any) -> Any:
    params = [1, 2, (jax.numpy.arange(3), jax.numpy.ones(2))]
    leaves, structure = jax.tree.flatten(params)
    return leaves, str(structure), jax.tree.map(lambda x: x + 1, params)


def keys(jax: Any) -> Any:
    key = jax.random.key(43)
    new_key, subkey = jax.random.split(key)
    return (
        jax.random.normal(key),
        jax.random.key_data(new_key),
        jax.random.uniform(subkey, (3,)),
        repr(key),
    )
