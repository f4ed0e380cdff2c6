"""Advanced automatic differentiation: products, meta-learning, and gradients that are stopped."""

from typing import Any

import numpy as np


def polynomials(jax: Any) -> Any:
    def f(x: Any) -> Any:
        return x**3 + 2 * x**2 - 3 * x + 1

    found, derivative = [], f
    for _ in range(4):
        derivative = jax.grad(derivative)
        found.append(derivative(1.0))
    return found


def products(jax: Any) -> Any:
    jnp = jax.numpy

    def f(x: Any) -> Any:
        return jnp.dot(x, x) + jnp.prod(jnp.sin(x))

    def hvp(x: Any, v: Any) -> Any:
        return jax.grad(lambda x: jnp.vdot(jax.grad(f)(x), v))(x)

    x, v = jnp.arange(1.0, 4.0), jnp.array([1.0, -1.0, 0.5])
    forward_over_reverse = jax.jvp(jax.grad(f), (x,), (v,))[1]
    return (
        hvp(x, v),
        forward_over_reverse,
        jax.hessian(f)(x) @ v,
        jax.jacfwd(jax.jacrev(f))(x),
        jax.jacrev(lambda x: {"a": x**2, "b": jnp.sum(x)})(x),
        jax.jacfwd(lambda p: p["w"] * p["b"])({"w": x, "b": 2.0}),
        jax.value_and_grad(f)(x),
        jax.value_and_grad(lambda x: (f(x), x + 1), has_aux=True)(x),
        jax.linearize(f, x)[1](v),
        jax.vjp(f, x)[1](1.0),
        jax.linear_transpose(lambda x: 3 * x, x)(v),
    )


def meta_learning(jax: Any) -> Any:
    def loss_fn(params: Any, data: Any) -> Any:
        return ((params["w"] * data[0] + params["b"] - data[1]) ** 2).mean()

    def meta_loss_fn(params: Any, data: Any) -> Any:
        grads = jax.grad(loss_fn)(params, data)
        return loss_fn(jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), data)

    data = (jax.numpy.arange(5.0), 2 * jax.numpy.arange(5.0) + 1)
    return jax.jit(jax.grad(meta_loss_fn))({"w": 0.5, "b": 0.0}, data)


def stopped(jax: Any) -> Any:
    jnp = jax.numpy
    value_fn = lambda theta, state: jnp.dot(theta, state)  # noqa: E731 (as the page has it)
    theta = jnp.array([0.1, -0.1, 0.0])
    s_tm1, r_t, s_t = jnp.array([1.0, 2.0, -1.0]), jnp.array(1.0), jnp.array([2.0, 1.0, 0.0])

    def td_loss(theta: Any, s_tm1: Any, r_t: Any, s_t: Any) -> Any:
        v_tm1 = value_fn(theta, s_tm1)
        target = r_t + value_fn(theta, s_t)
        return -0.5 * ((jax.lax.stop_gradient(target) - v_tm1) ** 2)

    def straight_through(x: Any) -> Any:
        zero = x - jax.lax.stop_gradient(x)
        return zero + jax.lax.stop_gradient(jnp.round(x))

    batched = [jnp.stack([x, x + 1]) for x in (s_tm1, r_t, s_t)]
    return (
        jax.grad(td_loss)(theta, s_tm1, r_t, s_t),
        straight_through(5.6),
        jax.grad(straight_through)(5.6),
        jax.vmap(jax.grad(td_loss), in_axes=(None, 0, 0, 0))(theta, *batched),
    )


def complex_numbers(jax: Any) -> Any:
    jnp = jax.numpy
    z = jnp.array(0.3 + 0.7j)

    def f(z: Any) -> Any:
        x, y = jnp.real(z), jnp.imag(z)
        return x**2 + y**2 + 1j * jnp.sin(x * y)

    return (
        jax.grad(lambda z: jnp.abs(z) ** 2)(z),
        jax.grad(jnp.sin, holomorphic=True)(z),
        jax.jvp(f, (z,), (1j + 0 * z,)),
        jax.vjp(f, z)[1](1 + 0 * z),
        jax.jacfwd(lambda x: jnp.exp(1j * x))(0.4),
    )


def checked(jax: Any) -> Any:
    from importlib import import_module

    check_grads = import_module(f"{jax.__name__}.test_util").check_grads
    jnp = jax.numpy
    w, x = jnp.array([0.5, -0.2, 0.1]), np.eye(3, dtype=np.float32)
    check_grads(lambda w: jnp.sum(jnp.log1p(jnp.exp(x @ w))), (w,), order=2, rtol=1e-2, atol=1e-2)
    return True
