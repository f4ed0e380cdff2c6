"""External callbacks: pure, with side effects, with derivatives."""

from typing import Any

import numpy as np


def pure(jax: Any) -> Any:
    jnp = jax.numpy

    def f_host(x: Any) -> Any:
        return np.sin(x).astype(x.dtype)

    def f(x: Any) -> Any:
        result_shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(f_host, result_shape, x, vmap_method="sequential")

    x = jnp.arange(5.0)

    def body_fun(_: Any, x: Any) -> Any:
        return _, f(x)

    return (
        f(x),
        jax.jit(f)(x),
        jax.vmap(f)(x),
        jax.lax.scan(body_fun, None, jnp.arange(5.0))[1],
        jax.vmap(
            lambda x: jax.pure_callback(
                f_host, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims"
            )
        )(x),
    )


def no_derivative(jax: Any) -> Any:
    def f(x: Any) -> Any:
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), x)

    try:
        jax.grad(f)(1.0)
    except (ValueError, TypeError):
        return "no derivative"
    return "a derivative"


def bessel(jax: Any) -> Any:
    from scipy import special

    jnp = jax.numpy

    def of_order(v: Any, z: Any) -> Any:
        v, z = jnp.asarray(v), jnp.asarray(z)
        result = jax.ShapeDtypeStruct(
            shape=jnp.broadcast_shapes(v.shape, z.shape), dtype=jnp.float32
        )

        def host(v: Any, z: Any) -> Any:
            return np.asarray(special.jv(v, z), np.float32)

        return jax.pure_callback(host, result, v, z, vmap_method="expand_dims")

    jv = jax.custom_jvp(of_order)

    @jv.defjvp
    def _jv_jvp(primals: Any, tangents: Any) -> Any:
        v, z = primals
        _, z_dot = tangents
        jv_minus_1, jv_plus_1 = jv(v - 1, z), jv(v + 1, z)
        djv_dz = jnp.where(v == 0, -jv_plus_1, 0.5 * (jv_minus_1 - jv_plus_1))
        return jv(v, z), z_dot * djv_dz

    j1 = lambda z: jv(jnp.float32(1), z)  # noqa: E731
    return jv(2.0, 3.0), jax.jit(jax.grad(j1))(2.0), jax.vmap(j1)(jnp.arange(3.0))


def effects(jax: Any) -> Any:
    from importlib import import_module

    io_callback = import_module(f"{jax.__name__}.experimental").io_callback
    rng = np.random.default_rng(0)
    log: list[Any] = []

    def host(like: Any) -> Any:
        return rng.uniform(size=like.shape).astype(like.dtype)

    @jax.jit
    def draw(x: Any) -> Any:
        return io_callback(host, x, x)

    @jax.jit
    def steps(x: Any) -> Any:
        io_callback(lambda x: log.append(float(x)), None, x, ordered=True)
        io_callback(lambda x: log.append(float(x)), None, x + 1, ordered=True)
        return x

    steps(1.0)
    jax.effects_barrier()
    return draw(np.zeros(3, np.float32)), log


def debug(jax: Any) -> Any:
    seen: list[Any] = []

    @jax.jit
    def f(x: Any) -> Any:
        y = jax.numpy.sin(x)
        jax.debug.callback(lambda y: seen.append(round(float(y), 5)), y)
        return y

    f(1.0)
    jax.vmap(f)(jax.numpy.arange(2.0))
    jax.grad(f)(1.0)
    jax.effects_barrier()
    return sorted(seen)
