"""Pure functions, updates, indexing, control flow, NaNs: the page of sharp bits."""

import warnings
from typing import Any

import numpy as np


def impure(jax: Any) -> Any:
    state = 0.0
    seen = []

    def impure_uses_globals(x: Any) -> Any:
        seen.append("called")
        return x + state

    f = jax.jit(impure_uses_globals)
    first = f(4.0)
    state = 10.0
    return first, f(5.0), f(jax.numpy.array([4.0])), seen


def stateful_inside(jax: Any) -> Any:
    def pure_uses_internal_state(x: Any) -> Any:
        state = {"even": 0, "odd": 0}
        for i in range(10):
            state["even" if i % 2 == 0 else "odd"] += x
        return state["even"] + state["odd"]

    return jax.jit(pure_uses_internal_state)(5.0)


def iterators(jax: Any) -> Any:
    lax, jnp = jax.lax, jax.numpy
    array = jnp.arange(10)
    return (
        lax.fori_loop(0, 10, lambda i, x: x + array[i], 0),
        lax.scan(lambda carry, x: (carry + x, carry), 0, array),
        lax.cond(True, lambda x: x + 1, lambda x: x - 1, 3.0),
        lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0)),
    )


def updates(jax: Any) -> Any:
    x = jax.numpy.zeros((3, 3))
    return (
        x.at[1, :].set(1.0),
        x.at[::2, 1:].add(7.0),
        x.at[0].multiply(3),
        x.at[jax.numpy.array([0, 0])].add(1.0),
        x.at[1, 1].min(-1),
        x.at[1, 1].max(2),
        x.at[0, 0].get(),
        x.at[7, 0].get(mode="fill", fill_value=-1.0),
        x.at[7, 0].set(3.0),
    )


def out_of_bounds(jax: Any) -> Any:
    jnp = jax.numpy
    x = jnp.arange(10)
    return (
        x[jnp.array(11)],
        x.at[11].get(mode="clip"),
        jnp.arange(10.0).at[11].get(mode="fill", fill_value=jnp.nan),
        x.at[11].set(3),
    )


def non_array_inputs(jax: Any) -> Any:
    try:
        jax.numpy.sum([1, 2, 3])
    except TypeError:
        return jax.numpy.sum(jax.numpy.array([1, 2, 3]))
    return "no error"


def random_numbers(jax: Any) -> Any:
    key = jax.random.key(0)
    found = [jax.random.normal(key, shape=(1,)), jax.random.normal(key, shape=(1,))]
    for _ in range(2):
        key, subkey = jax.random.split(key)
        found.append(jax.random.normal(subkey, shape=(1,)))
    key, *subkeys = jax.random.split(key, 4)
    return [*found, *[jax.random.normal(k, shape=(1,)) for k in subkeys]]


def python_control_flow(jax: Any) -> Any:
    def f(x: Any) -> Any:
        return 3.0 * x**2 if x < 3 else -4 * x

    slopes = jax.grad(f)(2.0), jax.grad(f)(4.0)
    try:
        jax.jit(f)(2)
    except jax.errors.TracerBoolConversionError:
        return slopes, jax.jit(f, static_argnums=0)(2.0)
    return "no error"


def dynamic_shapes(jax: Any) -> Any:
    def nansum(x: Any) -> Any:
        mask = ~jax.numpy.isnan(x)
        return jax.numpy.where(mask, x, 0).sum()

    def bad(length: int, value: Any) -> Any:
        return jax.numpy.ones((length,)) * value

    return jax.jit(nansum)(np.array([1.0, np.nan], np.float32)), jax.jit(bad, static_argnums=0)(
        4, 2.0
    )


def nans(jax: Any) -> Any:
    jnp = jax.numpy
    with jax.debug_nans(True):
        try:
            jnp.divide(0.0, 0.0).block_until_ready()
            float(jax.jit(lambda x: jnp.sqrt(x))(-1.0))
        except FloatingPointError:
            return "a NaN"
    return "no error"


def double_precision(jax: Any) -> Any:
    x = jax.random.uniform(jax.random.key(0), (10,), dtype=jax.numpy.float32)
    with jax.enable_x64(True):
        y = jax.random.uniform(jax.random.key(0), (3,), dtype=jax.numpy.float64)
    return x.dtype, y.dtype, y


def where_and_gradients(jax: Any) -> Any:
    jnp = jax.numpy

    def bad(x: Any) -> Any:
        return jnp.where(x > 0.0, jnp.log(x), 0.0)

    def good(x: Any) -> Any:
        return jnp.where(x > 0.0, jnp.log(jnp.where(x > 0.0, x, 1.0)), 0.0)

    forward = jax.jvp(bad, (0.0,), (1.0,))[1]  # in reverse mode only JAX needs the second choice
    return forward, jax.grad(good)(0.0), jax.grad(lambda x: jnp.sqrt(x))(0.0)


def integers(jax: Any) -> Any:
    jnp = jax.numpy
    return jnp.arange(254.0, 258.0).astype("uint8"), jnp.array(3.7).astype(int)


def promotion_on_request_only(jax: Any) -> Any:
    """Dtypes and ranks that differ are refused, or warned of, where an option says so."""
    jnp = jax.numpy
    table, row = jnp.arange(12).reshape(4, 3), jnp.arange(3)
    single, half, whole = jnp.float32(1), jnp.float16(1), jnp.int32(2)
    calls = (
        lambda: single + whole,
        lambda: single * half,
        lambda: whole / 2,
        lambda: whole + 0.5,
        lambda: single + 1j,
        lambda: single + jnp.array(True),
        lambda: jnp.where(whole > 0, single, whole),
        lambda: jnp.promote_types("int32", "float32"),
        lambda: jnp.concatenate([single[None], whole[None]]),
        lambda: jax.jit(lambda x, y: x + y)(single, whole),
        lambda: jnp.uint8(3) + 1,
        lambda: half - 2,
        lambda: jax.nn.softmax(jnp.ones(3)) + jnp.mean(row) + jnp.var(jnp.ones(3)),
        lambda: table + row,
        lambda: table - table.mean(0),
        lambda: jnp.maximum(row, table),
        lambda: jax.jit(lambda x, y: x == y)(table, row),
        lambda: table + jnp.array(1),
        lambda: table * 2 + row[None],
        lambda: jax.vmap(lambda x: x + row)(table),
        lambda: table @ row,
        lambda: jnp.where(table > 1, row, 0),
    )

    def outcomes() -> list[bool]:
        found = []
        for call in calls:
            try:
                call()
                found.append(True)
            except ValueError:
                found.append(False)
        return found

    with jax.numpy_dtype_promotion("strict"):
        strict = outcomes()
    with jax.numpy_rank_promotion("raise"):
        ranks = outcomes()
    with jax.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warned = outcomes()
    return strict, ranks, warned, outcomes(), sum(w.category is UserWarning for w in caught)
