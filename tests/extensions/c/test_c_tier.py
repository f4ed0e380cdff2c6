"""``jit(compiler="c")``: XLA's results, for many sizes by few compilations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, lax, random
from tinyjax._extensions.c import compiling, tier
from tinyjax.errors import ArgumentError

Draw = Callable[[int], tuple[Any, ...]]
_RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    tier.forget()
    yield
    tier.forget()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that the C compiler compiles."""
    sources: list[str] = []
    compile_one = compiling.library_code

    def note(name: str, source: str, flags: Any) -> bytes:
        sources.append(source)
        return compile_one(name, source, flags)

    monkeypatch.setattr(compiling, "library_code", note)
    return sources


def _vector(n: int) -> tuple[Any, ...]:
    return (_RNG.normal(size=n),)


def _floats(n: int) -> tuple[Any, ...]:
    return (_RNG.normal(size=(n, 4)).astype(np.float32), _RNG.normal(size=4).astype(np.float32))


def _system(n: int) -> tuple[Any, ...]:
    return _RNG.normal(size=(n, n)) + n * np.eye(n), _RNG.normal(size=n)


def _recurrence(x: Any, w: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        c = jnp.tanh(w * c + t)
        return c, c.sum()

    last, sums = lax.scan(step, jnp.ones(4, x.dtype), x)
    return last @ w + jnp.sort(jnp.cumsum(sums))[::-1] @ sums / len(x)


def _newton(x: Any) -> Any:
    def is_far(state: Any) -> Any:
        return jnp.abs(state[0] ** 3 - state[1]) > 1e-12

    def step(state: Any) -> Any:
        z, a = state
        return z - (z**3 - a) / (3 * z**2), a

    return lax.while_loop(is_far, step, (1.0 + 0 * x[0], 2 + x @ x))[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], Draw]] = {
    "means": (lambda x: (x - x.mean()).var() + jnp.median(x) + jnp.max(x), _vector),
    "softmax": (lambda x: jnp.exp(x - x.max()) @ x / jnp.exp(x - x.max()).sum(), _vector),
    "recurrence": (_recurrence, _floats),
    "products": (lambda x, w: jnp.sum((x @ x.T) @ jnp.sin(x * w)), _floats),
    "solution": (lambda a, b: jnp.linalg.solve(a, b) @ b + jnp.linalg.slogdet(a)[1], _system),
    "factors": (lambda a, b: jnp.linalg.cholesky(a @ a.T).sum() + b.sum(), _system),
    "places": (lambda x: x[jnp.argsort(x)][: len(x) // 2 + 1].sum() + x.at[0].add(2.0) @ x, _vector),
    "differences": (lambda x: jnp.sum(jnp.diff(jnp.pad(x, 3)) ** 2) + jnp.roll(x, 1) @ x, _vector),
    "counts": (lambda x: jnp.arange(len(x)) @ x + jnp.linspace(0, 1, len(x)) @ x, _vector),
    "decisions": (lambda x: lax.cond(x[0] > 0, jnp.sum, lambda y: y @ y, x), _vector),
    "noise": (lambda x: x @ random.normal(random.key(3), x.shape, x.dtype), _vector),
}
TRANSFORMATIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "values": lambda f: f,
    "gradients": lambda f: tinyjax.grad(f),
    "second": lambda f: tinyjax.grad(lambda x, *rest: tinyjax.grad(f)(x, *rest).sum()),
    "batches": lambda f: tinyjax.vmap(lambda s, *args: f(args[0] * s, *args[1:]), (0, None, None)),
}
SIZES = (1, 2, 3, 4, 5, 8, 9, 16, 17, 18, 31, 64, 65, 66, 100, 101, 130)


@pytest.mark.parametrize("name", [name for name in PROGRAMS])
def test_results_are_those_of_xla(name: str, compilations: list[str]) -> None:
    fun, draw = PROGRAMS[name]
    for kind in [*TRANSFORMATIONS][: 2 + (name != "noise")]:
        program = TRANSFORMATIONS[kind](fun)
        in_c = tinyjax.jit(program, compiler="c")
        by_xla = tinyjax.jit(program, tier="compiled")
        before = len(compilations)
        for n in SIZES if kind == "values" else SIZES[3::3]:
            args = draw(n)
            rtol = 1e-4 if args[0].dtype == np.float32 else 1e-9
            for got, expected in zip(in_c(*args), by_xla(*args), strict=True) if kind == "x" else [
                (in_c(*args), by_xla(*args))
            ]:
                np.testing.assert_allclose(got, expected, rtol, rtol, err_msg=f"{kind}, {n}")
        assert len(compilations) > before
        assert in_c.explain(*args).reasons[-1].startswith("compiled as C")
