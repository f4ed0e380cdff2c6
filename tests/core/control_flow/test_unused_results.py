"""Results that nobody uses, whose derivatives are infinite: they have no part in derivatives.

Each program computes a cube, and beside it the norm of zeros, whose derivative is 0 / 0. It is held
to the program without the norm.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax

Fun = Callable[[Any], Any]

X: Final = np.array([1.1, 0.7])


def cube(x: Any) -> tuple[Any, Any]:
    return x**3, jnp.zeros(())


def with_norm(x: Any) -> tuple[Any, Any]:
    return x**3, jnp.sqrt(jnp.sum((x - x) ** 2))


#: Programs of a function with two results, the second of which is not used.
PROGRAMS: Final[dict[str, Callable[[Callable[[Any], tuple[Any, Any]]], Fun]]] = {
    "once": lambda f: lambda x: f(x)[0],
    "jit": lambda f: lambda x: tinyjax.jit(f)(x)[0],
    "checkpoint": lambda f: lambda x: tinyjax.checkpoint(f)(x)[0],
    "cond": lambda f: lambda x: lax.cond(x[0] > 0, f, f, x)[0],
    "vmap": lambda f: lambda x: tinyjax.vmap(f)(jnp.stack([x, x]))[0][1],
    "carry of a scan": lambda f: (
        lambda x: lax.scan(lambda c, _: (f(c[0]), None), (x, 0.0), None, length=2)[0][0]
    ),
    "carry of a scan with checkpoints": lambda f: (
        lambda x: lax.scan(lambda c, _: (f(c[0]), None), (x, 0.0), None, length=3, checkpoints=2)[
            0
        ][0]
    ),
    "outputs of a scan": lambda f: (
        lambda x: lax.scan(lambda c, _: (c**3, f(c)), x, None, length=2)[1][0][1]
    ),
    "within a scan": lambda f: (
        lambda x: lax.scan(lambda c, _: (f(c * x)[0], None), x, None, length=2)[0]
    ),
    "map of jit": lambda f: lambda x: lax.map(lambda c: tinyjax.jit(f)(c)[0], jnp.stack([x, x]))[1],
    "nested maps": lambda f: (
        lambda x: lax.map(
            lambda c: lax.map(lambda d: lax.cond(d[0] > 0, f, f, d)[0], c), jnp.stack([x, x])[None]
        )[0, 1]
    ),
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 2, lambda _, c: f(c[0]), (x, 0.0))[0],
    "while_loop with a counter": lambda f: (
        lambda x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, *f(c[1])), (0, x, 0.0))[1]
    ),
    "while_loop": lambda f: (
        lambda x: lax.while_loop(lambda c: jnp.sum(c[0]) < 30, lambda c: f(c[0]), (x, 0.0))[0]
    ),
    "while_loop in while_loop": lambda f: (
        lambda x: lax.while_loop(
            lambda c: jnp.sum(c[0]) < 30,
            lambda c: lax.while_loop(
                lambda d: jnp.sum(d[0]) < 2.5, lambda d: f(d[0] * 1.2), (c[0] * 1.1, c[1])
            ),
            (x, 0.0),
        )[0]
    ),
    "scan in cond": lambda f: (
        lambda x: lax.cond(
            x[0] > 0,
            lambda x: lax.scan(lambda c, _: (f(c[0]), None), (x, 0.0), None, length=2)[0],
            lambda x: (x, 0.0),
            x,
        )[0]
    ),
    "vmap of while_loop": lambda f: (
        lambda x: tinyjax.vmap(
            lambda x: lax.while_loop(
                lambda c: c[0] < 2, lambda c: (c[0] + 1, *f(c[1])), (0, x, 0.0)
            )
        )(jnp.stack([x, 0.5 * x]))[1][1]
    ),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_unused_results_have_no_part_in_derivatives(program: str) -> None:
    def derivatives(f: Callable[[Any], tuple[Any, Any]]) -> list[Any]:
        def energy(x: Any) -> Any:
            return jnp.sum(PROGRAMS[program](f)(x))

        slope = tinyjax.grad(energy)

        def length(x: Any) -> Any:
            return jnp.sum(slope(x) ** 2)

        return [
            slope(X),
            tinyjax.grad(length)(X),
            tinyjax.jit(tinyjax.grad(length))(X),
            tinyjax.jvp(slope, (X,), (X,))[1],
            tinyjax.grad(lambda x: tinyjax.jvp(energy, (x,), (X,))[1])(X),
        ]

    with tinyjax.config.scoped(tier="first"):  # in a tenth of the time
        pairs = zip(derivatives(with_norm), derivatives(cube), strict=True)
    for ours, expected in pairs:
        np.testing.assert_allclose(ours, expected, 1e-12)
