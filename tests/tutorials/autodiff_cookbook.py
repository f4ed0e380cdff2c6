"""Gradients, Jacobians and their products: the autodiff cookbook."""

from functools import partial
from typing import Any

import numpy as np


def data(jax: Any) -> Any:
    jnp = jax.numpy
    inputs = jnp.array(
        [[0.52, 1.12, 0.77], [0.88, -1.08, 0.15], [0.52, 0.06, -1.30], [0.74, -2.49, 1.39]]
    )
    targets = jnp.array([True, True, False, True])
    key = jax.random.key(0)
    key, W_key, b_key = jax.random.split(key, 3)
    return inputs, targets, jax.random.normal(W_key, (3,)), jax.random.normal(b_key, ())


def logistic(jax: Any) -> Any:
    jnp = jax.numpy
    inputs, targets, W, b = data(jax)

    def predict(W: Any, b: Any, inputs: Any) -> Any:
        return 0.5 * (jnp.tanh((jnp.dot(inputs, W) + b) / 2) + 1)

    def loss(W: Any, b: Any) -> Any:
        preds = predict(W, b, inputs)
        return -jnp.sum(jnp.log(preds * targets + (1 - preds) * (1 - targets)))

    def loss2(params: Any) -> Any:
        return loss(params["W"], params["b"])

    eps = 1e-3
    b_grad = (loss(W, b + eps / 2) - loss(W, b - eps / 2)) / eps
    jax.test_util.check_grads(loss, (W, b), order=2, atol=1e-2, rtol=1e-2)
    key = jax.random.key(1)
    v = jax.random.normal(key, W.shape)
    f = partial(predict, b=b, inputs=inputs)
    y, u = jax.jvp(lambda W: predict(W, b, inputs), (W,), (v,))
    out, vjp_fun = jax.vjp(lambda W: predict(W, b, inputs), W)
    J = jax.jacfwd(f)(W)
    return {
        "grad": jax.grad(loss, argnums=0)(W, b),
        "both": jax.grad(loss, (0, 1))(W, b),
        "value": jax.value_and_grad(loss, (0, 1))(W, b),
        "dict": jax.grad(loss2)({"W": W, "b": b}),
        "difference": abs(b_grad - jax.grad(loss, 1)(W, b)) < 1e-2,
        "hessian": jax.jacfwd(jax.grad(loss))(W, b),
        "jacobians": (J, jax.jacrev(f)(W)),
        "jvp": (y, u),
        "vjp": (out, *vjp_fun(u)),
        "hvp": jax.jvp(lambda W: jax.grad(loss)(W, b), (W,), (v,))[1],
        "hvp reverse": jax.grad(lambda W: jnp.vdot(jax.grad(loss)(W, b), v))(W),
        "tangents": jax.vmap(lambda v: jax.jvp(f, (W,), (v,))[1])(jnp.eye(3)),
        "cotangents": jax.vmap(vjp_fun)(jnp.eye(4)),
        "linearize": jax.linearize(f, W)[1](v),
    }


def derivatives(jax: Any) -> Any:
    jnp = jax.numpy
    return [
        jax.grad(jnp.tanh)(2.0),
        jax.grad(jax.grad(jnp.tanh))(2.0),
        jax.grad(jax.grad(jax.grad(jnp.tanh)))(2.0),
        jax.hessian(lambda x: jnp.sum(x**3))(jnp.arange(3.0)),
    ]


def complex_numbers(jax: Any) -> Any:
    jnp = jax.numpy

    def f(z: Any) -> Any:
        x, y = jnp.real(z), jnp.imag(z)
        return x**2 + y**2 + (x * y) * 1j

    A = jnp.array([[5.0, 2.0 + 3j, 5j], [2.0 - 3j, 7.0, 1.0 + 7j], [-5j, 1.0 - 7j, 12.0]])

    def cholesky_sum(X: Any) -> Any:
        return jnp.sum(jnp.linalg.cholesky(X)).real

    return (
        jax.grad(jnp.sin, holomorphic=True)(3.0 + 4j),
        jax.grad(jnp.conjugate, holomorphic=True)(3.0 + 4j),
        jax.jvp(f, (1.0 + 2j,), (1.0 + 0j,)),
        jax.vjp(f, 1.0 + 2j)[1](1.0 - 1j),
        jax.grad(lambda z: jnp.abs(z) ** 2)(1.0 + 2j),
        jax.grad(cholesky_sum)(A),
    )


def per_example(jax: Any) -> Any:
    jnp = jax.numpy
    perex_grads = jax.jit(
        jax.vmap(jax.grad(lambda w, x, y: (jnp.dot(w, x) - y) ** 2), in_axes=(None, 0, 0))
    )
    return perex_grads(jnp.arange(3.0), jnp.ones((5, 3)), jnp.arange(5.0))


def stop_gradient(jax: Any) -> Any:
    jnp, lax = jax.numpy, jax.lax
    value_fn = lambda theta, state: jnp.dot(theta, state)  # noqa: E731
    theta, s, s1 = jnp.array([0.1, -0.1, 0.0]), jnp.array([1.0, 2.0, -1.0]), jnp.array([2.0, 1, 0])

    def td_loss(theta: Any) -> Any:
        target = 1.0 + value_fn(theta, s1)
        return -0.5 * ((lax.stop_gradient(target) - value_fn(theta, s)) ** 2)

    def straight_through(x: Any) -> Any:
        zero = x - lax.stop_gradient(x)
        return zero + lax.stop_gradient(jnp.round(x))

    return jax.grad(td_loss)(theta), jax.grad(straight_through)(3.2)


def linear_maps(jax: Any) -> Any:
    jnp = jax.numpy
    A = jnp.array(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    transposed = jax.linear_transpose(lambda x: A @ x, jnp.ones(3))
    return transposed(jnp.array([1.0, 2.0])), jax.vjp(lambda x: A @ x, jnp.ones(3))[1](jnp.ones(2))
