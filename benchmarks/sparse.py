"""Sparse Jacobians and Hessians: what each library does for them.

A reaction with diffusion (the Brusselator, 2 x 32 x 32 variables, on a torus), and problems of
100,000 variables whose matrices are banded, an arrow, and those of a five-point stencil. JAX has
the dense matrix; asdex finds patterns and colours them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

import numpy as np

from benchmarks.libraries import OWN, Library
from benchmarks.measure import Call

_SIDE: Final = 316

Function = Callable[[Any], Any]


def _brusselator(lib: Library) -> Function:
    jnp = lib.functions

    def diffused(z: Any) -> Any:
        sides = jnp.roll(z, 1, 0) + jnp.roll(z, -1, 0) + jnp.roll(z, 1, 1) + jnp.roll(z, -1, 1)
        return sides - 4 * z

    def flow(state: Any) -> Any:
        u, v = state.reshape(2, 32, 32)
        reaction = u * u * v
        changes = 1 + reaction - 4.4 * u + diffused(u), 3.4 * u - reaction + diffused(v)
        return jnp.stack(changes).ravel()

    return flow


def _banded(lib: Library) -> Function:
    jnp = lib.functions
    return lambda x: jnp.sin(x) * jnp.pad(x[1:], (0, 1)) + jnp.pad(x[:-1], (1, 0)) ** 2


def _arrow(lib: Library) -> Function:
    jnp = lib.functions
    return lambda x: x * x[0] + jnp.sin(x) + jnp.pad(jnp.sum(x**2)[None], (0, x.size - 1))


def _five_points(lib: Library) -> Function:
    jnp = lib.functions

    def flow(x: Any) -> Any:
        z = jnp.pad(x.reshape(_SIDE, _SIDE), 1)
        sides = z[2:, 1:-1] + z[:-2, 1:-1] + z[1:-1, 2:] * z[1:-1, 1:-1] + z[1:-1, :-2]
        return (4 * z[1:-1, 1:-1] ** 2 - sides).ravel()

    return flow


def _chain(lib: Library) -> Function:
    jnp = lib.functions
    return lambda x: jnp.sum(jnp.sin(x[1:] * x[:-1]) + x[1:] ** 3)


def _star(lib: Library) -> Function:
    jnp = lib.functions
    return lambda x: x[0] * jnp.sum(x**2) + jnp.sum(jnp.cos(x))


def _lattice(lib: Library) -> Function:
    jnp = lib.functions

    def energy(x: Any) -> Any:
        u = x.reshape(_SIDE, _SIDE)
        steps = jnp.sum((u[1:] - u[:-1]) ** 4) + jnp.sum((u[:, 1:] - u[:, :-1]) ** 4)
        return steps + jnp.sum(u**3)

    return energy


#: By name: the function, how many variables it has, and whether its Hessian is measured.
_PROBLEMS: Final[dict[str, tuple[Callable[[Library], Function], int, bool]]] = {
    "Brusselator": (_brusselator, 2048, False),
    "banded": (_banded, 100_000, False),
    "arrow": (_arrow, 100_000, False),
    "five points": (_five_points, _SIDE**2, False),
    "Hessian, banded": (_chain, 100_000, True),
    "Hessian, arrow": (_star, 100_000, True),
    "Hessian, five points": (_lattice, _SIDE**2, True),
}


def derivative(name: str, lib: Library) -> Call:
    """Make the call that computes the matrix, which has been prepared."""
    make, size, hessian = _PROBLEMS[name]
    x = _point(lib, size)
    compiled = _prepared(lib, make(lib), x, hessian)
    return lambda: lib.module.block_until_ready(compiled(x))


def preparation(name: str, lib: Library) -> Call:
    """Make the call that finds the pattern and the colours, compiles, and computes a matrix."""
    make, size, hessian = _PROBLEMS[name]
    fun, x, scales = make(lib), _point(lib, size), count(2)

    def prepare() -> Any:
        scale = float(next(scales))  # another function each time
        return lib.module.block_until_ready(_prepared(lib, lambda x: fun(x) * scale, x, hessian)(x))

    return prepare


def _point(lib: Library, size: int) -> Any:
    return lib.array(np.random.default_rng(0).normal(size=size).astype(np.float32))


def _prepared(lib: Library, fun: Function, x: Any, hessian: bool) -> Function:
    jit: Callable[[Function], Function] = lib.module.jit
    if lib.name == OWN:
        import tinyjax

        transform = tinyjax.hessian if hessian else tinyjax.jacobian
        return jit(transform(fun, sparse=True))
    if lib.name == "asdex":
        import asdex

        if hessian:
            return jit(asdex.hessian_from_coloring(fun, asdex.hessian_coloring(fun, x)))
        return jit(asdex.jacobian_from_coloring(fun, asdex.jacobian_coloring(fun, x)))
    return jit(lib.module.hessian(fun) if hessian else lib.module.jacfwd(fun))
