"""Static and traced operations, jit, and jaxprs: the page on thinking in JAX."""

from functools import partial
from typing import Any

import numpy as np


def numpy_and_lax(jax: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    found = [jnp.add(1, 1.0), jnp.linspace(0, 10, 5), jnp.array([1, 2]) @ jnp.array([3, 4])]
    try:
        lax.add(jnp.float32(1), jnp.int32(1))
    except TypeError:
        found.append("lax does not promote")
    x, y = jnp.array([1.0, 2.0, 1.0]), jnp.ones(10)
    found.append(jnp.convolve(x, y) if hasattr(jnp, "convolve") else np.convolve(x, y))
    result = lax.conv_general_dilated(
        x.reshape(1, 1, 3).astype(float),
        y.reshape(1, 1, 10),
        window_strides=(1,),
        padding=[(len(y) - 1, len(y) - 1)],
    )
    return [*found, result[0, 0]]


def norm(jax: Any) -> Any:
    jnp = jax.numpy

    def norm(X: Any) -> Any:
        X = X - X.mean(0)
        return X / X.std(0)

    X = jnp.array(np.random.default_rng(0).random((100, 10)), jnp.float32)
    compiled = jax.jit(norm)
    return jnp.allclose(norm(X), compiled(X), atol=1e-6), compiled(X).block_until_ready()


def shapes_that_depend_on_data(jax: Any) -> Any:
    def negatives(x: Any) -> Any:
        return x[x < 0]

    x = jax.numpy.array([-1.0, 2.0, -3.0])
    try:
        jax.jit(negatives)(x)
    except jax.errors.NonConcreteBooleanIndexError:
        return negatives(x)
    return "no error"


def printing(jax: Any) -> Any:
    shown: list[str] = []

    @jax.jit
    def f(x: Any, y: Any) -> Any:
        shown.append("traced")
        return jax.numpy.dot(x + 1, y + 1)

    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    y = np.arange(4.0, dtype=np.float32)
    return f(x, y), f(x + 1, y), shown


def control_flow(jax: Any) -> Any:
    @jax.jit
    def f(x: Any, neg: Any) -> Any:
        return -x if neg else x

    found = []
    try:
        f(1, True)
    except jax.errors.TracerBoolConversionError as error:
        found = [isinstance(error, jax.errors.ConcretizationTypeError)]
    g = jax.jit(lambda x, neg: -x if neg else x, static_argnums=1)
    h = jax.jit(lambda x, *, neg: -x if neg else x, static_argnames="neg")
    return [*found, g(1, True), g(1, False), h(1, neg=True)]


def static_shapes(jax: Any) -> Any:
    @jax.jit
    def bad(x: Any) -> Any:
        return x.reshape(jax.numpy.array(x.shape).prod())

    @jax.jit
    def good(x: Any) -> Any:
        return x.reshape((np.prod(x.shape),))

    try:
        bad(np.ones((2, 3)))
    except TypeError:
        return good(np.ones((2, 3), np.float32)), "shapes are static"
    return "no error"


def decorated(jax: Any) -> Any:
    @partial(jax.jit, static_argnums=(0,))
    def power(n: int, x: Any) -> Any:
        for _ in range(n):
            x = x * x
        return x

    return power(3, 2.0), power(1, 2.0)
