"""Laplacians and higher derivatives of a network: what each library does for them.

The network has six layers of 100 between twenty nodes of four inputs and one number, as networks of
quantum Monte Carlo have. JAX has the trace of the Hessian; folx the forward Laplacian of Li et al.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import numpy as np

from benchmarks.libraries import OWN, Library
from benchmarks.measure import Call

_NODES: Final = (20, 4)
_SIZES: Final = (4, 100, 100, 100, 100, 100, 100, 1)


def _network(lib: Library) -> tuple[Callable[[Any], Any], Any]:
    """A network of all nodes side by side, whose results are added; and its input."""
    rng = np.random.default_rng(0)
    layers = [
        (lib.array(rng.normal(0, a**-0.5, (a, b)).astype(np.float32)), lib.array(_row(rng, b)))
        for a, b in pairwise(_SIZES)
    ]

    def network(x: Any) -> Any:
        for weights, bias in layers[:-1]:
            x = lib.tanh(x @ weights + bias)
        weights, bias = layers[-1]
        return lib.functions.sum(x @ weights + bias)

    return network, lib.array(rng.normal(size=_NODES).astype(np.float32))


def _row(rng: np.random.Generator, size: int) -> Any:
    return rng.normal(0, 0.1, size).astype(np.float32)


def _particles(lib: Library) -> tuple[Callable[[Any], Any], Any]:
    """A function of the distances of all pairs of twenty particles."""
    rng = np.random.default_rng(0)
    apart = lib.array(np.eye(20, dtype=np.float32))

    def energy(x: Any) -> Any:
        squares = lib.functions.sum((x[:, None] - x[None]) ** 2, -1) + apart
        distances = lib.functions.sqrt(squares)
        return lib.functions.sum((1 - apart) * lib.functions.exp(-distances) / (1 + distances))

    return energy, lib.array(rng.normal(size=(20, 3)).astype(np.float32))


_FUNCTIONS: Final = {"network": _network, "particles": _particles}


def laplacian(function: str, sparse: bool, lib: Library) -> Call:
    """Make the call that computes value, gradient and Laplacian; of JAX, the Laplacian alone."""
    fun, x = _FUNCTIONS[function](lib)
    if lib.name == OWN:
        from tinyjax import autodiff

        return _compiled(lib, autodiff.laplacian(fun, sparse=sparse), x)
    if lib.name == "folx":
        from folx import forward_laplacian

        return _compiled(lib, forward_laplacian(fun, x.size if sparse else 0), x)

    def trace(x: Any) -> Any:
        hessian = lib.module.hessian(fun)(x)
        return lib.functions.trace(hessian.reshape(x.size, x.size))

    return _compiled(lib, trace, x)


def taylor(order: int, nested: bool, lib: Library) -> Call:
    """Make the call that computes derivatives of the network along a direction, up to an order."""
    fun, x = _network(lib)
    if lib.name == OWN:
        from tinyjax.autodiff import jet
    else:
        from jax.experimental.jet import jet

    def series(x: Any) -> Any:
        return jet(fun, (x,), ((x, *[0 * x] * (order - 1)),))

    def by_jvp(x: Any) -> Any:
        along: Callable[[Any], Any] = lambda t: fun(x + t * x)  # noqa: E731
        for _ in range(order):
            along = _slope(lib, along)
        return along(0.0)

    return _compiled(lib, by_jvp if nested else series, x)


def _slope(lib: Library, fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda t: lib.module.jvp(fun, (t,), (1.0,))[1]


def _compiled(lib: Library, fun: Callable[..., Any], x: Any) -> Call:
    compiled = lib.module.jit(fun)
    return lambda: lib.module.block_until_ready(compiled(x))
