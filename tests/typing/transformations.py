"""The types of transformations: they keep the signatures of the functions that they wrap.

Checked by mypy with the rest of the tests; nothing here is run. A line that must be rejected
carries the error's code, and mypy's warning about unused ignores makes sure that it still is.
"""

from collections.abc import Callable, Sequence
from typing import Any, assert_type

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import (
    Array,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    make_jaxpr,
    value_and_grad,
    vjp,
    vmap,
)
from tinyjax.core.jit import JitFunction
from tinyjax.core.tracing.jaxpr import ClosedJaxpr
from tinyjax.stages import Lowered

Params = dict[str, Array]
x = jnp.ones(3)
params: Params = {"w": x}


def loss(params: Params, x: Array, *, scale: float = 1.0) -> Array:
    return jnp.sum(params["w"] * x) * scale


def pair(x: Array, n: int) -> tuple[Array, str]:
    return x, str(n)


# jit


fast = jit(loss)
assert_type(fast(params, x), Array)
assert_type(fast(params, x, scale=2.0), Array)
assert_type(jit(pair)(x, 3), tuple[Array, str])
assert_type(jit(pair, static_argnums=1)(x, 3), tuple[Array, str])
assert_type(fast.lower(params, x), Lowered)
assert_type(fast.__name__, str)
fast(x, params)  # type: ignore[arg-type]
fast(params)  # type: ignore[call-arg]
fast(params, x, speed=11)  # type: ignore[call-arg]
fast.lower(params)  # type: ignore[call-arg]


@jit
def decorated(x: Array) -> list[Array]:
    return [x]


@jit(static_argnames="n")
def decorated_with_options(x: Array, n: int) -> Array:
    return x * n


assert_type(decorated(x), list[Array])
assert_type(decorated_with_options(x, 2), Array)
assert_type(decorated_with_options(x, n=2), Array)
decorated_with_options(x, "2")  # type: ignore[arg-type]
assert_type(jit(decorated)(x), list[Array])
as_function: Callable[[Array], list[Array]] = decorated
of_jit: JitFunction[[Array], list[Array]] = decorated


# derivatives


gradient = grad(loss)
gradient(params, x, scale=3.0)
gradient(params)  # type: ignore[call-arg]
gradient(params, 3)  # type: ignore[arg-type]
value, _ = value_and_grad(loss)(params, x)
assert_type(value, Array)
value_and_grad(loss)(params, x, 1.0)  # type: ignore[call-arg]
for derivative in (jacfwd(loss), jacrev(loss), hessian(loss)):
    derivative(params, x, scale=1.0)
    derivative(x)  # type: ignore[call-arg, arg-type]

assert_type(jvp(pair, (x, 1), (x, 1)), tuple[tuple[Array, str], tuple[Array, str]])
assert_type(linearize(loss, params, x)[0], Array)
assert_type(linearize(loss, params, x)[1](params, x), Array)
assert_type(linearize(pair, x, 1, has_aux=True)[2], str)
assert_type(vjp(loss, params, x)[0], Array)
assert_type(vjp(pair, x, 1)[1]((x, "1")), tuple[Array, int])
assert_type(vjp(pair, x, 1, has_aux=True)[2], str)
primal, tangent = jvp(jnp.sin, (x,), (x,))
assert_type(primal, Array)
assert_type(tangent, Array)


def of_three(params: Params, x: Array, y: Array) -> Array:
    return jnp.mean(params["w"] * x - y)


assert_type(grad(of_three, (0, 2))(params, x, x), tuple[Params, Array])
assert_type(value_and_grad(of_three, (0, 2))(params, x, x), tuple[Array, tuple[Params, Array]])


# vmap and staging


assert_type(vmap(loss)(params, x), Array)
assert_type(vmap(pair, in_axes=(0, None))(x, 3), tuple[Array, str])
vmap(loss)(x)  # type: ignore[call-arg, arg-type]
assert_type(make_jaxpr(loss)(params, x), ClosedJaxpr)
assert_type(make_jaxpr(loss, return_shape=True)(params, x)[0], ClosedJaxpr)
make_jaxpr(loss)(params, y=x)  # type: ignore[call-arg]
assert_type(tinyjax.block_until_ready(params), Params)
assert_type(tinyjax.device_put(params), Params)


# compositions keep them too


assert_type(jit(vmap(loss))(params, x), Array)
assert_type(vmap(jit(loss))(params, x), Array)
assert_type(jit(value_and_grad(loss))(params, x)[0], Array)
jit(grad(loss))(params, x, scale=1.0)
jit(grad(loss))(params, "x")  # type: ignore[arg-type]
assert_type(make_jaxpr(jit(vmap(loss)))(params, x), ClosedJaxpr)


# arrays


assert_type(x + 1, Array)
assert_type(1.0 - x, Array)
assert_type(x @ x, Array)
assert_type(x[0], Array)
assert_type(x[..., None, 1:], Array)
assert_type(x.at[0].set(1.0), Array)
assert_type(x.T, Array)
assert_type(x.shape, tuple[int, ...])
assert_type(x.sum(axis=0, keepdims=True), Array)
assert_type(-x, Array)
assert_type(float(x[0]), float)
losses: list[float] = []
losses.append(jnp.mean(x).item())
place: int = jnp.argmax(x).item()
assert_type(list(x), list[Array])
x + "a"  # type: ignore[operator]
x.reshape("a")  # type: ignore[arg-type]


def takes_anything(values: Sequence[Any], has_aux: bool) -> None:
    linearize(jnp.sin, *values)
    assert_type(vjp(pair, *values, has_aux=has_aux), tuple[Any, ...])
