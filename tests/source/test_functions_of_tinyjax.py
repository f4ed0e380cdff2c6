"""Functions given to functions of tinyjax, which close over what is differentiated."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import attrs
import numpy as np
import pytest
from reading import read_gradient

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax, source
from tinyjax.errors import SourceError

X: Final = np.array([1.0, 2.0, 3.0])
ROWS: Final = np.ones((2, 3))


@attrs.frozen
class Scaling:
    factor: Any
    name: str = "scaling"

    def step(self, carry: Any, _: Any) -> Any:
        return carry * self.factor, None


@dataclasses.dataclass
class Times:
    factor: Any

    def __call__(self, x: Any) -> Any:
        return x * self.factor


def of_scan(x: Any) -> Any:
    y = jnp.sin(x)

    def step(carry: Any, row: Any) -> Any:
        return carry * y + row, carry

    carry, rows = lax.scan(step, x, ROWS)
    return jnp.sum(carry) + jnp.sum(rows * rows)


def of_while_loop(x: Any) -> Any:
    y = 1.5 + x * 0.5
    return jnp.sum(lax.while_loop(lambda c: jnp.sum(c) < 100.0, lambda c: c * y, x))


def of_cond_in_a_loop(x: Any) -> Any:
    total: Any = 0.0
    for i in range(3):
        total = total + i * lax.cond(i > 1, lambda v: jnp.sum(v * x), jnp.sum, x)
    return total


def of_cond_without_operands(x: Any) -> Any:
    y = x * 2
    return lax.cond(x[0] > 0, lambda: jnp.sum(y * y), lambda: jnp.sum(y))


def of_functions_in_functions(x: Any) -> Any:
    y = jnp.sin(x)
    kept = [x * 2, {"k": y}]

    def once(c: Any) -> Any:
        return c * y

    return jnp.sum(lax.fori_loop(0, 3, lambda i, c: once(c) + kept[0] * kept[1]["k"] * i, x))


def of_itself(x: Any) -> Any:
    y = jnp.sin(x)

    def power(c: Any, n: int) -> Any:
        return c if n == 0 else power(c * y, n - 1)

    return jnp.sum(lax.map(lambda row: power(row, 2), ROWS))


def of_defaults(x: Any) -> Any:
    cosine = jnp.cos(x)

    def step(carry: Any, _: Any, y: Any = x * 2, *, z: Any = cosine) -> Any:
        return carry * y * z, None

    return jnp.sum(lax.scan(step, x, None, length=2)[0])


def of_a_method(x: Any) -> Any:
    return jnp.sum(lax.scan(Scaling(x * 3).step, x, None, length=2)[0])


def of_an_object(x: Any) -> Any:
    times = Times(x * 2)
    return jnp.sum(lax.map(times, ROWS)) + jnp.sum(tinyjax.jit(times)(x))


def of_a_partial(x: Any) -> Any:
    return jnp.sum(lax.map(partial(lambda k, row: row * k * k, x * 3), ROWS))


def of_vmap(x: Any) -> Any:
    y = x * 2
    return jnp.sum(tinyjax.vmap(lambda row, s: row * y * s, in_axes=(0, None))(ROWS, x))


def of_jit(x: Any) -> Any:
    y = jnp.sin(x)
    compiled = tinyjax.jit(lambda a: jnp.sum(a * y))
    return compiled(x) * compiled(x * 2)


def of_grad(x: Any) -> Any:
    y = jnp.sin(x)
    value, slope = tinyjax.value_and_grad(lambda a: jnp.sum(a * a * y))(x)
    return value + jnp.sum(slope) + tinyjax.grad(lambda a: jnp.sum(jnp.sin(a * y)))(x)[1]


def of_a_hessian(x: Any) -> Any:
    return jnp.sum(tinyjax.hessian(lambda a: jnp.sum(jnp.sin(a * x)))(x * 2))


def of_jvp(x: Any) -> Any:
    y = jnp.sin(x)
    value, tangent = tinyjax.jvp(lambda a: a * y * a, (x,), (x,))
    return jnp.sum(value * tangent)


def of_checkpoint(x: Any) -> Any:
    y = jnp.sin(x)
    return tinyjax.checkpoint(lambda a: jnp.sum(jnp.sin(a * y)))(x)


def of_a_root(x: Any) -> Any:
    y = jnp.sum(x)
    return lax.custom_root(
        lambda z: z**3 + z - y,
        1.0,
        lambda f, start: lax.fori_loop(0, 30, lambda i, z: z - f(z) / (3 * z * z + 1), start),
        lambda linear, b: b / linear(1.0),
    )


PROGRAMS: Final[list[Callable[[Any], Any]]] = [
    value for name, value in list(globals().items()) if name.startswith("of_")
]


@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives_with_respect_to_what_is_closed_over(fun: Callable[[Any], Any]) -> None:
    slope, reference = source.grad(fun), tinyjax.grad(fun)
    second = source.grad(lambda x: jnp.sum(slope(x) * X))
    with tinyjax.default_dtypes("float64"):
        x = jnp.array(X)
        np.testing.assert_allclose(slope(x), reference(x), 1e-10)
        np.testing.assert_allclose(tinyjax.jit(slope)(x), reference(x), 1e-10)
        curvature = tinyjax.jacfwd(reference)(x)
        np.testing.assert_allclose(tinyjax.jacfwd(slope)(x), curvature, 1e-10, 1e-10)
        np.testing.assert_allclose(second(x), X @ curvature, 1e-10, 1e-10)


def test_a_python_float_that_is_closed_over() -> None:
    assert source.grad(lambda x: tinyjax.grad(lambda y: y * x * x)(1.0))(0.7) == pytest.approx(1.4)


def test_functions_that_close_over_each_other() -> None:
    def even(x: Any) -> Any:
        def down(c: Any, n: int) -> Any:
            return c if n == 0 else up(c * x, n - 1)

        def up(c: Any, n: int) -> Any:
            return c if n == 0 else down(c + x, n - 1)

        return jnp.sum(lax.map(lambda row: down(row, 3), ROWS))

    with raises(SourceError, match="down closes over a function that closes over it"):
        read_gradient(even, jnp.array(X))
    with tinyjax.default_dtypes("float64"):
        x = jnp.array(X)
        np.testing.assert_allclose(source.grad(even)(x), tinyjax.grad(even)(x), 1e-10)


UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda x, v: x.at[0].set(v),
    "add": lambda x, v: x.at[jnp.array([1, 1])].add(v * x[2]),
    "subtract": lambda x, v: x.at[1:].subtract(v, mode="clip"),
    "multiply": lambda x, v: x.at[-1].multiply(x[0] * v),
    "divide": lambda x, v: x.at[1].divide(v),
    "power": lambda x, v: x.at[1].power(v),
    "min": lambda x, v: x.at[:].min(v),
    "max": lambda x, v: x.at[:].max(v),
    "apply": lambda x, v: x.at[1].apply(jnp.sin),
    "get": lambda x, v: x.at[jnp.array([0, 2])].get() * v,
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_of_arrays(name: str) -> None:
    """Of ``x.at[index]``, in the array and in what it is updated with, to the second order."""

    def loss(x: Any, v: Any) -> Any:
        return jnp.sum(
            jnp.sin(UPDATES[name](x, v)) * jnp.arange(1.0, 4.0)[: len(UPDATES[name](x, v))]
        )

    x, v = jnp.array([0.3, 0.5, 0.9]), 0.7
    for gradient, other in zip(
        source.grad(loss, argnums=(0, 1))(x, v), tinyjax.grad(loss, (0, 1))(x, v), strict=True
    ):
        np.testing.assert_allclose(gradient, other, rtol=1e-5, atol=1e-6)
    second = source.grad(lambda x: jnp.sum(source.grad(loss)(x, v) ** 2))(x)
    expected = tinyjax.grad(lambda x: jnp.sum(tinyjax.grad(loss)(x, v) ** 2))(x)
    np.testing.assert_allclose(second, expected, rtol=1e-5, atol=1e-6)
