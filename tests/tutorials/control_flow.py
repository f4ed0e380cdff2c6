"""Control flow and jit: Python's, static arguments, and the structured operators."""

from functools import partial
from typing import Any


def of_python(jax: Any) -> Any:
    jnp = jax.numpy

    @jax.jit
    def loop(x: Any) -> Any:
        for i in range(5):
            x = x + i
        return x

    @jax.jit
    def over_rows(x: Any) -> Any:
        y = 0.0
        for i in range(x.shape[0]):
            y = y + x[i]
        return y

    @partial(jax.jit, static_argnames=("n",))
    def first(x: Any, n: int) -> Any:
        y = 0.0
        for i in range(n):
            y = y + x[i]
        return y

    @jax.jit
    def traced(x: Any) -> Any:
        return 3.0 * x**2 if x < 3 else -4 * x

    refused = []
    for call in (lambda: traced(2.0), lambda: jax.jit(first.__wrapped__)(jnp.arange(3.0), 2)):
        try:
            call()
        except (jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError):
            refused.append(True)
    chosen = jax.jit(traced.__wrapped__, static_argnums=(0,))
    return (
        loop(3),
        over_rows(jnp.array([2.0, 2.0, 2.0])),
        first(jnp.arange(4.0), 2),
        jax.grad(traced.__wrapped__)(2.0),
        jax.grad(traced.__wrapped__)(4.0),
        chosen(2.0),
        refused,
    )


def shapes_from_values(jax: Any) -> Any:
    jnp = jax.numpy

    def example(length: int, value: Any) -> Any:
        return jnp.ones((length,)) * value

    return example(3, 4), jax.jit(example, static_argnums=(0,))(10, 4)


def conditionals(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy
    operand = jnp.array([0.0])

    def step(i: Any, x: Any) -> Any:
        return lax.switch(i, [lambda y: y, lambda y: 2 * y, lambda y: y**2], x)

    return (
        lax.cond(True, lambda x: x + 1, lambda x: x - 1, operand),
        lax.cond(False, lambda x: x + 1, lambda x: x - 1, operand),
        jax.jit(step)(2, operand + 3),
        jax.vmap(step)(jnp.arange(3), jnp.arange(3.0) + 2),
        lax.select(jnp.array([True, False]), jnp.ones(2), jnp.zeros(2)),
        jax.grad(lambda x: lax.cond(x > 0, jnp.sin, jnp.cos, x))(-1.0),
        lax.cond(operand[0] > 1, lambda: 1, lambda: 2),
    )


def loops(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy

    def power(x: Any, n: Any) -> Any:
        return lax.while_loop(lambda s: s[0] > 0, lambda s: (s[0] - 1, s[1] * x), (n, 1.0))[1]

    def cumulate(x: Any) -> Any:
        return lax.scan(lambda c, y: (c + y, c * y), jnp.zeros(()), x, reverse=True)

    def logistic_map(r: Any) -> Any:
        return lax.fori_loop(0, 20, lambda _, x: r * x * (1 - x), 0.5)

    xs = jnp.arange(4.0)
    return (
        lax.while_loop(lambda x: x < 10, lambda x: x + 1, 0),
        lax.fori_loop(0, 10, lambda i, x: x + i, 0),
        jax.jit(power)(2.0, 5),
        jax.vmap(power)(xs, jnp.arange(4)),
        jax.jvp(lambda x: power(x, 3), (2.0,), (1.0,)),
        cumulate(xs),
        jax.grad(lambda x: cumulate(x)[1].sum())(xs),
        jax.grad(logistic_map)(3.1),
        lax.map(lambda x: x**2, xs),
        lax.map(lambda x: x**2, xs, batch_size=3),
        lax.associative_scan(jnp.add, xs),
        lax.associative_scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (xs, xs + 1)),
    )


def logic(jax: Any) -> Any:
    jnp = jax.numpy

    @jax.jit
    def is_inside(x: Any) -> Any:
        return jnp.logical_and(x > 0, x < 1), (x > 0) & (x < 1), (x < 0) | (x > 1), ~(x > 0)

    def both(x: Any) -> Any:
        return x > 0 and x < 1

    try:
        jax.jit(both)(0.5)
    except jax.errors.TracerBoolConversionError:
        return is_inside(0.5), is_inside(jnp.linspace(-1, 2, 5)), jnp.where(jnp.arange(3) > 1, 1, 0)
    return None


def recurrent_network(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy

    def cell(params: Any, state: Any, x: Any) -> Any:
        w, u, b = params
        after = jnp.tanh(state @ w + x @ u + b)
        return after, after

    keys = jax.random.split(jax.random.key(0), 3)
    params = (
        0.5 * jax.random.normal(keys[0], (4, 4)),
        0.5 * jax.random.normal(keys[1], (3, 4)),
        jnp.zeros(4),
    )
    xs = jax.random.normal(keys[2], (7, 2, 3))

    def loss(params: Any) -> Any:
        last, outs = lax.scan(partial(cell, params), jnp.zeros((2, 4)), xs)
        return jnp.mean(last**2) + jnp.mean(jnp.abs(outs))

    value, grads = jax.jit(jax.value_and_grad(loss))(params)
    return value, grads, jax.jit(jax.jacfwd(loss))(params)


def index_of_a_loop(jax: Any) -> Any:
    """The index counts as a Python number does: a narrow state keeps its dtype."""
    jnp = jax.numpy

    def run(lower: Any, upper: Any) -> Any:
        small = jax.lax.fori_loop(lower, upper, lambda i, x: x.at[i].add(i), jnp.zeros(4, "int8"))
        half = jax.lax.fori_loop(lower, upper, lambda i, x: x * 0.5 + i, jnp.float16(1))
        return small, half, jnp.result_type(small), jnp.result_type(half)

    return run(0, 3), run(jnp.int32(1), 3), jax.jit(lambda n: run(0, n)[:2])(3)
