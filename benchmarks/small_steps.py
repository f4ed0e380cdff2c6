"""Loops whose steps take few numbers, for jax and tinyjax: what a step costs is all they cost."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import attrs
import numpy as np

from benchmarks.libraries import OWN, Library

Function = Callable[[Any], Any]

#: How many scalars a loop carries, and how many steps it takes.
SCALARS: Final = 60
STEPS: Final = 614


@attrs.frozen
class Steps:
    """A program.

    Attributes:
        title: names it.
        build: the program of a library.
        point: its argument.
        peers: who can run it.
    """

    title: str
    build: Callable[[Library], Function]
    point: Any
    peers: Sequence[str] = ("jax",)


def _forward(lib: Library, f: Function) -> Function:
    return lambda w: lib.module.jvp(f, (w,), (lib.module.numpy.ones_like(w),))[1]


def _particle(lib: Library, inner: str, outer: Callable[[Library, Function], Function]) -> Function:
    """Place a charge so that a particle comes down at 0, by Newton's method.

    The example of B. Pearlmutter and J. Siskind (2008) of derivatives of a program that takes
    derivatives: the force is the gradient of a potential.
    """
    jnp, step = lib.module.numpy, np.float32(0.1)
    derivative = {"forward": lib.module.jacfwd, "reverse": lib.module.grad}[inner]

    def place(w: Any) -> Any:
        charges = jnp.stack([jnp.stack([10 + 0 * w, 10 - w]), jnp.array([10.0, 0.0])])

        def potential(x: Any) -> Any:
            return (1 / jnp.sqrt(((x - charges) ** 2).sum(1))).sum()

        def falls(state: Any) -> Any:
            return state[0][1] + step * state[1][1] > 0

        def move(state: Any) -> Any:
            x, v = state
            return x + step * v, v - step * derivative(potential)(x)

        start = jnp.array([0.0, 8.0], "float32"), jnp.array([0.75, 0.0], "float32")
        x, v = lib.module.lax.while_loop(falls, move, start)
        return (x[0] - x[1] / v[1] * v[0]) ** 2

    def newton(_: Any, w: Any) -> Any:
        value, slope = lib.module.jvp(outer(lib, place), (w,), (jnp.ones_like(w),))
        return w - value / slope

    return lambda w: lib.module.lax.fori_loop(0, 2, newton, w)


def _reverse(lib: Library, f: Function) -> Function:
    gradient: Function = lib.module.grad(f)
    return gradient


def _scalars(lib: Library) -> Function:
    """The gradient of a loop over scalars, each of which reads its neighbours."""

    def step(state: list[Any], _: Any) -> tuple[list[Any], Any]:
        near = zip(state[-1:] + state[:-1], state, state[1:] + state[:1], strict=True)
        return [0.9 * b + 0.01 * lib.sin(a) * c for a, b, c in near], state[0]

    def last(x: Any) -> Any:
        start = [x * (0.1 + 0.01 * i) for i in range(SCALARS)]
        return lib.module.lax.scan(step, start, None, length=STEPS)[1].sum()

    return _reverse(lib, last)


def _relaxed(lib: Library) -> Function:
    """The derivative of a loop that takes a Jacobian in each step."""
    jnp = lib.module.numpy

    def rates(p: Any) -> Any:
        return jnp.stack([jnp.sin(p[0]) * p[1], p[1] ** 2 - p[0], p[2] * p[0]])

    def step(_: Any, p: Any) -> Any:
        return p + 0.01 * lib.module.jacfwd(rates)(p) @ p

    return lambda p: lib.module.jvp(
        lambda p: lib.module.lax.fori_loop(0, 50, step, p).sum(), (p,), (p,)
    )[1]


def _lstm(lib: Library) -> Function:
    """The gradient of a recurrent network of eight units, of 200 steps."""
    jnp = lib.module.numpy
    weights = lib.array(np.random.default_rng(0).normal(size=(32, 16)).astype(np.float32) / 8)

    def step(state: Any, x: Any) -> Any:
        c, h = state
        i, f, o, u = jnp.split(weights @ jnp.concatenate([x, h]), 4)
        c = c / (1 + jnp.exp(-f)) + jnp.tanh(u) / (1 + jnp.exp(-i))
        h = jnp.tanh(c) / (1 + jnp.exp(-o))
        return (c, h), h

    def total(xs: Any) -> Any:
        return lib.module.lax.scan(step, (jnp.zeros(8), jnp.zeros(8)), xs)[1].sum()

    return _reverse(lib, total)


_AT: Final = np.float32(0.5)
PROGRAMS: Final = (
    Steps("particle, forward over forward", lambda lib: _particle(lib, "forward", _forward), _AT),
    Steps("particle, forward over reverse", lambda lib: _particle(lib, "reverse", _forward), _AT),
    Steps(
        "particle, reverse over forward", lambda lib: _particle(lib, "forward", _reverse), _AT, ()
    ),
    Steps(
        "particle, reverse over reverse", lambda lib: _particle(lib, "reverse", _reverse), _AT, ()
    ),
    Steps("jvp of a loop with Jacobians", _relaxed, np.array([0.1, 0.2, 0.3], np.float32)),
    Steps(f"gradient of {STEPS} steps of {SCALARS} scalars", _scalars, _AT),
    Steps("gradient of an LSTM of 8 units", _lstm, np.ones((200, 8), np.float32)),
)


def calls(steps: Steps, make: Callable[[str], Library]) -> dict[str, Callable[[], Any]]:
    """Make the calls to be timed, of compiled programs, by the library's name."""
    return {name: _call(steps, make(name)) for name in (OWN, *steps.peers)}


def _call(steps: Steps, lib: Library) -> Callable[[], Any]:
    # JAX takes 64 bits where it is told to; a change of that costs each call 0.4 us
    wide = np.asarray(steps.point).dtype == np.float64 and lib.name != OWN
    precision = partial(lib.module.enable_x64, True) if wide else nullcontext
    fun = lib.module.jit(steps.build(lib))
    with precision():
        x = lib.array(steps.point)
        fun.lower(x).compile()  # so that calls find it compiled, and none is evaluated by NumPy

    def call() -> Any:
        with precision():
            return lib.module.block_until_ready(fun(x))

    return call
