"""``jit(f, pad_to=...)`` beside ``f`` itself, at each length."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import tinyjax
import tinyjax.numpy as jnp
from fuzz.forgetting import forget_sometimes
from raising import raises
from tinyjax import Array, errors, lax, nn, random
from tinyjax.core import xla


def data(k: int, *shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=(k, *shape)).astype(np.float32)


def masked_rnn(x: Array) -> Array:
    """A recurrent network that skips negative inputs."""

    def step(h: Array, row: Array) -> tuple[Array, Array]:
        new = jnp.tanh(h * 0.5 + row)
        h = jnp.where(row.sum() > 0, new, h)
        return h, h.sum()

    h, sums = lax.scan(step, jnp.zeros(x.shape[1]), x)
    return h.sum() + (sums**2).mean()


def attention(x: Array) -> Array:
    scores = x @ x.T / np.sqrt(x.shape[1])
    causal = jnp.tril(jnp.ones_like(scores, bool))
    return nn.softmax(jnp.where(causal, scores, -jnp.inf), axis=-1) @ x


def kernel(x: Array) -> Array:
    square = ((x[:, None] - x[None]) ** 2).sum(-1)
    return jnp.exp(-square) + 0.1 * jnp.eye(x.shape[0])


def gaussian_process(x: Array) -> Array:
    factor = jnp.linalg.cholesky(kernel(x))
    weights = lax.linalg.triangular_solve(factor, x[:, :1], left_side=True, lower=True)
    return (weights**2).sum() + 2 * jnp.log(jnp.diagonal(factor)).sum()


ROWS: dict[str, Callable[[Array], Any]] = {
    # of a matrix of shape (n, 3)
    "mean": jnp.mean,
    "var": lambda x: jnp.var(x, axis=0),
    "std": lambda x: jnp.std(x + 1, axis=0),
    "norm": jnp.linalg.norm,
    "softmax": lambda x: nn.softmax(x, axis=0),
    "logsumexp": lambda x: nn.logsumexp(x, axis=0),
    "log of what pads": lambda x: jnp.log(jnp.abs(x)).sum(),
    "one over what pads": lambda x: (1 / x).mean() + (x / x).sum(),
    "products": lambda x: jnp.prod(x, axis=0),
    "extrema": lambda x: (x.max(0), x.min(), jnp.abs(x).argmax(0), (x + 5).argmin(), x.argmax()),
    "logic": lambda x: (jnp.any(x > 0, axis=0), jnp.all(x + 5 > 0), jnp.all(x > 5)),
    "bits": lambda x: (
        lax.reduce_and_p.bind((x > 0).astype(int) - 1, axes=(0,)),
        jnp.bitwise_xor.reduce((x > 0).astype(int)),
    ),
    "attention": attention,
    "masked rnn": masked_rnn,
    "products of matrices": lambda x: (x.T @ x, x @ jnp.ones((3, 2)), x @ x.T),
    "einsum": lambda x: jnp.einsum("ni,nj,n->ij", x, x, x[:, 0]),
    "cumulative": lambda x: (
        jnp.cumsum(x, 0),
        jnp.cumprod(x, 0),
        lax.cummax(x, 0, reverse=True),
        lax.cummin(x, 0),
        lax.cumlogsumexp(x, 0, reverse=True),
        lax.cumsum(x, 0, reverse=True),
    ),
    "sorted": lambda x: (jnp.sort(x, 0), jnp.argsort(-x, 0), jnp.median(x, 0)),
    "quantiles": lambda x: jnp.quantile(x, jnp.array([0.2, 0.9]), axis=0),
    "sort of NaN": lambda x: jnp.sort(jnp.sqrt(x), 0),
    "top": lambda x: lax.top_k(x[:, 0], 1),
    "parts": lambda x: (x[1:], x[:-1], x[-1], x[::2], x[0], x[1:] - x[:-1]),
    "differences": lambda x: jnp.diff(x, axis=0),
    "reversed": lambda x: (x[::-1], jnp.flip(x)),
    "rolled": lambda x: jnp.roll(x, 1, axis=0),
    "rotated": lambda x: (
        jnp.concatenate([x[1:], x[:1]]),
        jnp.concatenate([x[-1:], x[:-1]]),
        jnp.concatenate([x[::-1][1:], x[::-1][:1]]),
        jnp.hstack([x[1:].T, x[:1].T]),
    ),
    "joined": lambda x: (
        jnp.concatenate([x, x * 2, x[:1]]),
        jnp.stack([x, x]),
        jnp.tile(x, (2, 1)),
    ),
    "repeated": lambda x: jnp.repeat(x, 2, axis=0),
    "padded": lambda x: (jnp.pad(x, ((1, 2), (0, 1)), constant_values=7), jnp.pad(x, 1, "edge")),
    "reshaped": lambda x: (x.ravel(), x.reshape(-1, 1, 3), x.T.ravel(), x.T.reshape(-1, 3)),
    "transposed": lambda x: (x.T, x[:, None] * x[None]),
    "gathered": lambda x: (
        x[jnp.arange(x.shape[0]) // 2],
        x[jnp.argmax(x[:, 0])],
        x[jnp.array([0, -1])],
        jnp.take(x, jnp.array([0, 50, -1]), axis=0, mode="clip"),
        jnp.take(x, jnp.array([0, 50]), axis=0, mode="fill"),
        jnp.take_along_axis(x, jnp.argsort(x, axis=0), axis=0),
    ),
    "updated": lambda x: (
        x.at[0].set(1.0),
        x.at[-1].add(2.0),
        x.at[50].set(3.0, mode="drop"),
        x.at[50].add(3.0, mode="clip"),
        jnp.zeros(4).at[jnp.arange(x.shape[0]) % 4].add(x[:, 0]),
        jnp.zeros(4).at[jnp.arange(x.shape[0])].max(x[:, 0], mode="clip"),
    ),
    "counted": lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0],
    "slices": lambda x: (
        lax.dynamic_slice(x, (50, 1), (1, 2)),
        lax.dynamic_update_slice(x, jnp.ones((1, 2)), (50, 1)),
        lax.dynamic_index_in_dim(x, -1),
        lax.dynamic_update_slice(jnp.zeros((x.shape[0] + 3, 3)), x, (2, 0)),
    ),
    "searched": lambda x: jnp.searchsorted(jnp.sort(x[:, 0]), x[:, 1]),
    "interpolated": lambda x: jnp.interp(0.3, jnp.sort(x[:, 0]), x[:, 1]),
    "trapezoid": lambda x: jnp.trapezoid(x, axis=0),
    "loops": lambda x: (
        lax.fori_loop(0, x.shape[0], lambda i, c: c * 0.5 + x[i], jnp.zeros(3)),
        lax.map(lambda row: row.sum(), x),
        lax.while_loop(lambda c: c.sum() < 20, lambda c: c + jnp.abs(x).sum() + 1, jnp.zeros(3)),
        lax.scan(lambda c, _: (c + x.sum(), c), jnp.zeros(()), None, length=3),
        lax.scan(lambda c, row: (c * 0.5 + row, c), jnp.zeros(3), x, reverse=True),
    ),
    "choices": lambda x: lax.cond(x.sum() > 0, jnp.cumsum, lambda x: -x.ravel(), x),
    "vmap": tinyjax.vmap(lambda row: nn.softmax(row) @ row),
    "vmap of a loop": lambda x: tinyjax.vmap(
        lambda a: lax.while_loop(lambda c: c < 3, lambda c: c + jnp.abs(a) + 0.1, jnp.zeros(()))
    )(1 / x[:, 0]),
    "the other axis": tinyjax.vmap(lambda column: column - column.mean(), 1, 1),
    "calls": tinyjax.jit(tinyjax.checkpoint(lambda x: jnp.sin(x).mean(0))),
    "rules of its own": lambda x: nn.relu(x).sum() + nn.gelu(x).mean() + nn.silu(x).max(),
    "number": lambda x: x.shape[0] * jnp.ones(2) + x.size,
    "positions": lambda x: (
        jnp.arange(x.shape[0]),
        jnp.linspace(0, 1, x.shape[0]),
        jnp.eye(x.shape[0]),
    ),
    "convolution": lambda x: lax.conv_general_dilated(
        (1 / x).T[None], jnp.arange(9.0).reshape(1, 3, 3), (1,), [(2, 1)]
    ),
    "windows": lambda x: (
        lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (1, 1), ((1, 1), (0, 0))),
        lax.reduce_window(1 / x, 0.0, lax.add, (3, 1), (2, 1), ((1, 1), (0, 0))),
    ),
    "random": lambda x: x + random.normal(random.key(0), x.shape),
    "keys": lambda x: (
        tinyjax.vmap(random.uniform)(random.split(random.key(1), x.shape[0])) + x[:, 0]
    ),
    "matrices": lambda x: (
        jnp.linalg.cholesky(kernel(x)),
        jnp.linalg.solve(kernel(x) + jnp.triu(kernel(x)), x),
        jnp.linalg.slogdet(kernel(x)),
        jnp.linalg.inv(kernel(x)),
        jnp.linalg.det(kernel(x)),
    ),
    "gaussian process": gaussian_process,
    "batches of matrices": lambda x: jnp.linalg.eigvalsh(x[:, :, None] * x[:, None]).sum(0),
    "batches of transforms": lambda x: jnp.abs(jnp.fft.fft(x)),
    "complex": lambda x: (jnp.sum(x * 1j), jnp.cumprod(x + 1j, 0)),
    "gradient": tinyjax.grad(lambda x: jnp.log(nn.softmax(x, axis=0)).mean() + jnp.std(x)),
    "gradient of a loop": tinyjax.grad(masked_rnn),
    "hessian": tinyjax.hessian(lambda x: nn.logsumexp(x * x)),
}


def gram(x: Array) -> Array:
    return jnp.exp(-((x[:, None] - x[None]) ** 2)) + 0.5 * jnp.eye(x.shape[0])


def of_nested_loops(x: Array) -> Array:
    def step(c: Array, y: Array) -> tuple[Array, Array]:
        return lax.scan(lambda d, z: (d * 0.5 + y * z, None), c, x)[0], c

    return lax.scan(step, jnp.zeros(()), x)[0]


def of_a_loop_that_ends(x: Array) -> Array:
    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return state[0] + 1, jnp.sin(state[1]) * x + state[1].sum()

    return lax.while_loop(lambda state: state[0] < 4, step, (jnp.zeros((), int), x))[1].sum()


LINES: dict[str, Callable[[Array], Any]] = {
    # of a vector of shape (n,)
    "conjugate gradients": lambda x: tinyjax.scipy.sparse.linalg.cg(lambda v: gram(x) @ v, x)[0],
    "its gradient": tinyjax.grad(
        lambda x: tinyjax.scipy.sparse.linalg.cg(lambda v: gram(x) @ v, x)[0].sum()
    ),
    "determinant": tinyjax.grad(
        lambda x: jnp.linalg.slogdet(gram(x))[1] + x @ jnp.linalg.solve(gram(x), x)
    ),
    "cholesky": tinyjax.grad(lambda x: jnp.log(jnp.diagonal(jnp.linalg.cholesky(gram(x)))).sum()),
    "sorted": tinyjax.grad(lambda x: (jnp.sort(x) * jnp.arange(x.shape[0])).sum()),
    "median": tinyjax.grad(jnp.median),
    "greatest": tinyjax.grad(jnp.max),
    "cumulative": tinyjax.grad(
        lambda x: jnp.cumprod(x).sum() + lax.cummax(x).sum() + lax.cumlogsumexp(x).sum()
    ),
    "gathered": tinyjax.grad(lambda x: (x[jnp.arange(x.shape[0]) // 2] ** 2).sum()),
    "parts": tinyjax.grad(lambda x: (jnp.diff(x) ** 2).sum() + x[-1] ** 2 + (x[::2] ** 3).sum()),
    "joined": tinyjax.grad(
        lambda x: (jnp.concatenate([x, x * 2, x[:1]]) * jnp.arange(2 * x.shape[0] + 1)).sum()
    ),
    "rolled": tinyjax.grad(lambda x: (jnp.roll(x, 1) * x[::-1] * jnp.cumsum(x)).sum()),
    "padded": tinyjax.grad(lambda x: (jnp.pad(x, 2) ** 3 + jnp.pad(x, 2, "edge") ** 2).sum()),
    "Jacobians": lambda x: (
        tinyjax.jacfwd(lambda x: jnp.cumsum(x) ** 2)(x),
        tinyjax.jacrev(nn.softmax)(x),
    ),
    "product with a Hessian": lambda x: tinyjax.jvp(
        tinyjax.grad(lambda x: jnp.sum(jnp.tanh(x)) ** 2), (x,), (x,)
    )[1],
    "checkpoints": tinyjax.grad(
        lambda x: lax.scan(
            tinyjax.checkpoint(lambda c, y: (jnp.sin(c * y) + x.sum(), c)), jnp.ones(()), x
        )[0]
    ),
    "nested loops": tinyjax.grad(of_nested_loops),
    "a loop that ends": tinyjax.grad(of_a_loop_that_ends),
    "correlations": lambda x: (jnp.corrcoef(jnp.stack([x, x**2 + 1])), jnp.cov(x, x**2)),
    "sets": lambda x: jnp.unique(jnp.round(x), size=4, fill_value=0.0),
    "places": lambda x: jnp.nonzero(x > 0, size=3, fill_value=-1),
    "without NaN": lambda x: (jnp.nanmean(jnp.sqrt(jnp.abs(x))), jnp.nansum(jnp.log(x))),
    "counted": lambda x: jnp.bincount(jnp.abs(x).astype(int), length=5),
    "segments": lambda x: tinyjax.ops.segment_sum(x, (jnp.abs(x) * 2).astype(int), 4),
    "one of many": lambda x: nn.one_hot(jnp.argmax(x), x.shape[0]) * nn.log_softmax(x),
    "draws": lambda x: (
        random.bernoulli(random.key(0), 0.5, x.shape),
        random.categorical(random.key(0), x),
        random.choice(random.key(0), x, (3,)),
    ),
    "dot product attention": lambda x: nn.dot_product_attention(
        *[x[None, :, None, None]] * 3, is_causal=True
    ),
    "switch": lambda x: lax.switch(
        jnp.argmax(x) % 3, [lambda x: x.sum(), lambda x: x.max(), lambda x: x[-1]], x
    ),
    "blocks": lambda x: jnp.block([[gram(x), x[:, None]], [x[None], jnp.ones((1, 1))]]),
    "matrices": lambda x: (
        jnp.trace(gram(x)),
        jnp.fliplr(jnp.tril(gram(x))),
        jnp.linalg.matrix_power(gram(x) * 0.1, 3),
        tinyjax.scipy.linalg.expm(gram(x) * 0.1),
    ),
    "sorted by two keys": lambda x: lax.sort((jnp.round(x), x), num_keys=2),
    "split": lambda x: jnp.split(jnp.concatenate([x, x]), 2),
    "backwards": lambda x: x[::-2],
    "rows of a table": lambda x: jnp.ones((4, 3))[(jnp.abs(x) * 3).astype(int) % 4].mean(0),
}


def same(actual: Any, expected: Any) -> None:
    a, b = tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected)
    assert len(a) == len(b)
    for x, y in zip(a, b, strict=True):
        assert (x.shape, x.dtype, x.weak_type) == (y.shape, y.dtype, y.weak_type)
        np.testing.assert_allclose(x, y, rtol=1e-3, atol=1e-4)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ROWS)
def test_results_are_those_of_the_function(name: str) -> None:
    padded = tinyjax.jit(ROWS[name], pad_to=8)
    for k in (2, 7):
        x = jnp.asarray(data(k, 3))
        same(padded(x), ROWS[name](x))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LINES)
def test_results_of_vectors_are_those_of_the_function(name: str) -> None:
    padded = tinyjax.jit(LINES[name], pad_to=8)
    for k in (2, 7):
        x = jnp.asarray(data(k))
        same(padded(x), LINES[name](x))


def sum_of(f: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """Return a function of one number, in which each result of ``f`` counts."""

    def total(x: Array) -> Array:
        leaves = [y for y in tinyjax.tree.leaves(f(x)) if jnp.issubdtype(y.dtype, jnp.inexact)]
        return sum([jnp.sum(jnp.sin(y).real) for y in leaves], jnp.zeros(()))

    return total


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in ROWS if name != "products"])
def test_gradients_are_those_of_the_function(name: str) -> None:
    x = jnp.asarray(data(5, 3))
    padded = tinyjax.jit(tinyjax.grad(sum_of(ROWS[name])), pad_to=8)
    same(padded(x), tinyjax.grad(sum_of(ROWS[name]))(x))


@pytest.mark.parametrize(
    "name", ["masked rnn", "sorted", "gathered", "updated", "gaussian process", "vmap of a loop"]
)
def test_results_of_compiled_programs_are_those_of_the_function(name: str) -> None:
    padded = tinyjax.jit(ROWS[name], pad_to=8, tier="compiled")
    for k in (3, 8):
        x = jnp.asarray(data(k, 3))
        same(padded(x), ROWS[name](x))


# Transformations from outside


def loss(w: Array, x: Array, y: Array) -> Array:
    """Return a loss with a custom rule in it, whose derivative at what pads is NaN."""
    rows = jnp.sqrt(nn.relu(x @ w) + (x**2).sum(1))
    return jnp.mean((rows - y) ** 2)


def trained(f: Callable[..., Array]) -> Callable[..., Any]:
    def train(w: Array, x: Array, y: Array) -> Array:
        return lax.scan(lambda w, _: (w - 0.1 * tinyjax.grad(f)(w, x, y), None), w, length=3)[0]

    return train


OUTER: dict[str, Callable[[Callable[..., Array]], Callable[..., Any]]] = {
    "itself": lambda f: f,
    "grad": lambda f: tinyjax.grad(f, (0, 1, 2)),
    "value_and_grad": tinyjax.value_and_grad,
    "jvp": lambda f: lambda *xs: tinyjax.jvp(f, xs, xs),
    "vjp": lambda f: lambda *xs: tinyjax.vjp(f, *xs)[1](jnp.ones(())),
    "linearize": lambda f: lambda *xs: tinyjax.linearize(f, *xs)[1](*xs),
    "a linear map in jit": lambda f: lambda *xs: tinyjax.jit(tinyjax.linearize(f, *xs)[1])(*xs),
    "hessian": lambda f: tinyjax.hessian(f, (0, 1)),
    "vmap": lambda f: (
        lambda w, x, y: tinyjax.vmap(f, (0, None, 0))(jnp.stack([w, -w]), x, jnp.stack([y, y + 1]))
    ),
    "vmap of grad": lambda f: (
        lambda w, x, y: tinyjax.vmap(tinyjax.grad(f, (0, 1)), (0, None, None))(
            jnp.stack([w, -w]), x, y
        )
    ),
    "grad of vmap": lambda f: tinyjax.grad(
        lambda w, x, y: tinyjax.vmap(f, (None, 1, None), 0)(w, jnp.stack([x, -x], 1), y).sum()
    ),
    "jit": tinyjax.jit,
    "jit of grad": lambda f: tinyjax.jit(tinyjax.grad(f)),
    "make_jaxpr": lambda f: (
        lambda *xs: tinyjax.core.eval_jaxpr(tinyjax.make_jaxpr(f)(*xs).jaxpr, [], *xs)
    ),
    "a loop": trained,
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OUTER)
def test_transformations_of_it_are_those_of_the_function(name: str) -> None:
    padded = tinyjax.jit(loss, pad_to={"x": 4, "y": 4})
    w = jnp.asarray(data(3, seed=1))
    for k in (3, 6):
        x, y = jnp.asarray(data(k, 3)), jnp.asarray(data(k, seed=2))
        same(OUTER[name](padded)(w, x, y), OUTER[name](loss)(w, x, y))


# How much is compiled


@pytest.mark.parametrize(
    ("transform", "each"),
    [(lambda f: f, 1), (tinyjax.grad, 2)],
    ids=["it", "its gradient"],
)
def test_a_hundred_lengths_take_seven_compilations(
    transform: Callable[[Any], Callable[..., Array]], each: int
) -> None:
    calls = 0

    def mean_of_logs(x: Array) -> Array:
        nonlocal calls
        calls += 1
        return jnp.log(x**2 + 1).mean()

    f = transform(tinyjax.jit(mean_of_logs, pad_to=16, tier="compiled"))
    xla.cache_clear()
    for k in range(2, 102):
        f(jnp.ones(k))
    assert xla.cache_info().misses == 7 * each
    assert calls == 1


@pytest.mark.parametrize(
    ("rule", "lengths", "programs"),
    [
        (8, (2, 5, 8, 9, 16), 2),
        ((4, 16, 9), (2, 4, 5, 9, 10, 16), 3),
        ("powers of two", (2, 3, 4, 5, 8, 9, 16), 4),
        (lambda n: n + n % 2, (2, 3, 4, 5, 6), 3),
        (np.int64(8), (3, 9), 2),
        (8, (0, 1), 2),  # of these each has its own
    ],
)
def test_lengths_are_rounded_up(rule: Any, lengths: Sequence[int], programs: int) -> None:
    f = tinyjax.jit(lambda x: x.sum() * 3, pad_to=rule, tier="compiled")
    xla.cache_clear()
    for k in lengths:
        assert float(f(jnp.ones(k))) == 3 * k
    assert xla.cache_info().misses == programs


def test_a_call_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    f = tinyjax.jit(lambda x: x.sum() * 5, pad_to=8, tier="compiled")
    first = f.explain(jnp.ones(3))
    assert (first.traces, first.compiles) == (True, True)
    f(jnp.ones(3))
    again, other = f.explain(jnp.ones(5)), f.explain(jnp.ones(9))
    assert (again.traces, again.compiles) == (False, False)
    assert (other.traces, other.compiles) == (False, True)
    f.clear_cache()
    assert f.explain(jnp.ones(3)).traces
    f(jnp.ones(3))
    assert not f.explain(jnp.ones(4)).traces
    with tinyjax.config.scoped(explain=True):
        f(jnp.ones((3, 1)))
        f(jnp.ones((4, 1)))
    assert "is traced and compiled\n  x: float32[n,1] instead of float32[n]" in caplog.text
    assert len(caplog.records) == 1


# Arguments


def test_arguments_that_vary_are_named() -> None:
    def f(
        params: dict[str, Array], batch: dict[str, Array], *, power: int, mask: Any = None
    ) -> Any:
        rows = batch["x"] @ params["w"]
        rows = rows if mask is None else jnp.where(mask, rows, 0)
        return (rows**power).sum(), rows * batch["y"]

    padded = tinyjax.jit(f, pad_to={"batch": 4, "mask": 4}, static_argnames="power")
    params = {"w": jnp.asarray(data(3))}
    for k in (3, 4, 6):  # of parameters no axis varies, however long
        batch = {"x": jnp.asarray(data(k, 3)), "y": jnp.asarray(data(k))}
        same(padded(params, batch, power=2), f(params, batch, power=2))
        mask = jnp.arange(k) % 2 == 0
        same(padded(params, batch, power=3, mask=mask), f(params, batch, power=3, mask=mask))
    assert padded._cache_size() == 2


def test_axes_that_vary_are_named() -> None:
    def f(queries: Array, keys: Array) -> Array:
        return nn.softmax(jnp.einsum("bqd,bkd->bqk", queries, keys)) @ keys

    padded = tinyjax.jit(f, pad_to={"queries": {0: 2, 1: 8}, "keys": {0: 2, -2: "powers of two"}})
    for b, q, k in [(1, 4, 3), (2, 3, 4), (3, 5, 7), (5, 5, 5)]:
        queries, keys = jnp.asarray(data(b, q, 3)), jnp.asarray(data(b, k, 3))
        same(padded(queries, keys), f(queries, keys))
        same(
            tinyjax.grad(lambda *xs: padded(*xs).sum())(queries, keys),
            tinyjax.grad(lambda *xs: f(*xs).sum())(queries, keys),
        )


def test_lengths_that_are_equal_may_be_so_by_chance() -> None:
    padded = tinyjax.jit(jnp.outer, pad_to=4)
    for m, n in [(2, 3), (3, 3), (3, 2), (5, 2), (5, 5)]:
        same(padded(jnp.arange(m), jnp.ones(n)), jnp.outer(jnp.arange(m), jnp.ones(n)))


class Model:
    scale = 2.0

    @tinyjax.jit(pad_to={"x": 4})
    def total(self, x: Array) -> Array:
        return x.sum() * self.scale


tinyjax.tree.register_static(Model)


def test_methods_and_copies_are_padded() -> None:
    assert float(Model().total(jnp.ones(3))) == 6
    total = pickle.loads(pickle.dumps(tinyjax.jit(jnp.sum, pad_to=4)))
    same(total(jnp.ones(3)), jnp.ones(()) * 3)


def test_programs_of_exact_lengths_are_lowered() -> None:
    lowered = tinyjax.jit(jnp.cumsum, pad_to=8).lower(jnp.ones(3))
    assert lowered.out_info.shape == (3,)
    same(lowered.compile()(jnp.ones(3)), jnp.arange(1.0, 4.0))


def test_what_pads_is_no_NaN_to_the_debugger() -> None:
    f = tinyjax.jit(lambda x: (1 / x).sum() + jnp.log(x).sum(), pad_to=8)
    with tinyjax.config.scoped(debug_nans=True, debug_infs=True):
        assert float(f(jnp.ones(3))) == 3


def test_other_keys_and_dtypes_are_padded() -> None:
    keys = random.split(random.key(0), 5)
    f = tinyjax.jit(tinyjax.vmap(random.uniform), pad_to=8)
    same(f(keys), tinyjax.vmap(random.uniform)(keys))
    for dtype in ("bool", "int8", "uint16", "bfloat16", "float8_e4m3fn", "complex64", "int4"):
        x = jnp.asarray(data(5) * 2).astype(dtype)
        g = tinyjax.jit(lambda x: (x[::-1], jnp.concatenate([x, x])), pad_to=8)
        for a, b in zip(g(x), (x[::-1], jnp.concatenate([x, x])), strict=True):
            assert np.array_equal(a.astype("complex64"), b.astype("complex64"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_the_greatest_are_elements(dtype: str) -> None:
    """In the order of top_k, NaN with a minus comes last of all."""
    x = jnp.array([-np.nan, -np.inf, 1.0], dtype) if "float" in dtype else jnp.zeros(3, dtype)
    for tier in ("first", "compiled"):
        _, places = tinyjax.jit(lambda x: lax.top_k(x, 2), pad_to=8, tier=tier)(x[:2])
        assert np.array_equal(places, lax.top_k(x[:2], 2)[1])


# Errors

FIVE = np.arange(5.0, dtype=np.float32)


@pytest.mark.parametrize(
    ("fun", "error", "text"),
    [
        (jnp.fft.fft, errors.PaddingError, "fft of .*complex64.n."),
        (
            lambda x: jnp.linalg.eigh(x[:, None] * x)[0],
            errors.PaddingError,
            "eigh of .*float32.n,n",
        ),
        (lambda x: jnp.linalg.qr(x[:, None] * x), errors.PaddingError, "qr of"),
        (lambda x: jnp.linalg.svd(x[:, None] * x), errors.PaddingError, "svd of"),
        (lambda x: tinyjax.pure_callback(np.sin, x, x), errors.PaddingError, "pure_callback of"),
        (
            lambda x: random.normal(random.key(0), (2, x.shape[0])),
            errors.PaddingError,
            "random_bits",
        ),
        (lambda x: jnp.convolve(x, x), errors.PaddingError, "conv_general_dilated of .* varies"),
        (lambda x: x + FIVE, errors.ShapeError, r"\(n,\) and \(5,\)"),
        (lambda x: x if x.shape[0] > 3 else -x, errors.InconclusiveDimensionOperation, "'n' > '3'"),
        (lambda x: [x[i] for i in range(len(x))], errors.InconclusiveDimensionOperation, "range"),
    ],
)
def test_what_cannot_be_padded_is_named(
    fun: Callable[[Array], Any], error: type[Exception], text: str
) -> None:
    with raises(error, match=text) as raised:
        tinyjax.jit(fun, pad_to=8)(jnp.asarray(FIVE))
    assert "pad_to" in "".join(raised.value.__notes__)
    if not str(getattr(fun, "__module__", "")).startswith("tinyjax"):
        assert f"{Path(__file__).name}:{fun.__code__.co_firstlineno}" in str(raised.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"pad_to": 0}, "positive int"),
        ({"pad_to": (8, -1)}, "positive int"),
        ({"pad_to": "primes"}, "pad_to"),
        ({"pad_to": True}, "pad_to"),
        ({"pad_to": {"y": 8}}, "names the argument 'y', but .* takes x"),
        ({"pad_to": {"x": {"0": 8}}}, "pad_to"),
        ({"pad_to": 8, "donate_argnums": 0}, "donated"),
        ({"pad_to": 8, "device": tinyjax.devices()[-1]}, "device"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], text: str) -> None:
    with raises(errors.ArgumentError, match=text):
        tinyjax.jit(lambda x: x, **options)


@pytest.mark.parametrize(
    ("pad_to", "text"),
    [
        ((2, 4), "x has the length 5, but the largest of pad_to is 4"),
        (lambda n: n - 1, "x has the length 5, but the function of pad_to rounds it to 4"),
        (lambda n: n / 2, "the function of pad_to"),
        ({"x": {1: 8}}, "axis 1 of x"),
    ],
)
def test_lengths_that_fit_no_bucket_are_refused(pad_to: Any, text: str) -> None:
    with raises((errors.ArgumentError, errors.AxisError), match=text):
        tinyjax.jit(lambda x: x, pad_to=pad_to)(jnp.ones(5))


# Random programs

STEPS: Sequence[Callable[[Array], Array]] = (
    # of a matrix of shape (n, 3) to another; what pads becomes infinite or NaN
    lambda x: 1 / (1e-30 + jnp.abs(x)) ** 0.01,
    lambda x: jnp.where(x == 0, jnp.nan, jnp.sin(x)),
    lambda x: x - x.mean(0),
    lambda x: nn.softmax(x, axis=0),
    lambda x: jnp.cumsum(jnp.sin(x), 0),
    lambda x: lax.cummax(x, 0, reverse=True),
    lambda x: x[::-1] + x,
    lambda x: jnp.roll(x, 1, 0),
    lambda x: jnp.sort(x, 0),
    lambda x: x[jnp.argsort(x[:, 0])],
    lambda x: x @ (x.T @ x) * 0.1,
    lambda x: nn.softmax(x @ x.T) @ x,
    lambda x: x.ravel().reshape(3, -1).T,
    lambda x: jnp.concatenate([x, x[:1]])[1:],
    lambda x: jnp.concatenate([x[-1:], x])[:-1],
    lambda x: jnp.pad(x, ((1, 1), (0, 0)), constant_values=0.5)[2:],
    lambda x: jnp.diff(x, axis=0, append=0.3),
    lambda x: x.at[0].add(1.0).at[-1].mul(0.5),
    lambda x: x.at[jnp.argmax(x[:, 1])].set(0.25),
    lambda x: jnp.zeros_like(x).at[jnp.arange(x.shape[0])[::-1]].add(x),
    lambda x: lax.scan(lambda c, row: (jnp.tanh(c + row), c), jnp.zeros(3, x.dtype), x)[1],
    lambda x: lax.scan(lambda c, r: (c * r, c), jnp.ones(3, x.dtype), jnp.cos(x), reverse=True)[1],
    lambda x: lax.fori_loop(0, x.shape[0], lambda i, y: y.at[i].set(jnp.sin(y.sum(0))), x),
    lambda x: lax.cond(x.sum() > 0, lambda x: x * 0.5, lambda x: x - x.max(0), x),
    tinyjax.vmap(lambda row: row / jnp.sqrt(1 + (row**2).sum())),
    tinyjax.grad(lambda x: jnp.sin(x * x.mean(0)).sum()),
    tinyjax.checkpoint(nn.gelu),
    lambda x: jnp.median(x, 0) + jnp.repeat(x, 2, axis=0)[::2],
    lambda x: jnp.linalg.solve(x @ x.T + 2 * jnp.eye(x.shape[0]), x),
)
PROGRAMS = st.tuples(
    st.lists(st.sampled_from(STEPS), min_size=1, max_size=5),
    st.sampled_from(["itself", "grad", "jvp", "vmap"]),
    st.integers(1, 12),
    st.sampled_from([1, 5, "powers of two"]),
)


def check(program: tuple[Sequence[Callable[[Array], Array]], str, int, Any]) -> None:
    steps, outer, k, rule = program
    x = jnp.asarray(np.random.default_rng(k).uniform(-1, 1, (k, 3)))

    def f(x: Array) -> Array:
        for step in steps:
            x = step(x)
        return x

    def transformed(f: Callable[[Array], Array]) -> Any:
        match outer:
            case "grad":
                return tinyjax.grad(lambda x: jnp.sin(f(x)).sum())(x)
            case "jvp":
                return tinyjax.jvp(f, (x,), (x * 0.5,))
            case "vmap":
                return tinyjax.vmap(f)(jnp.stack([x, -x]))
            case _:
                return f(x)

    actual, expected = transformed(tinyjax.jit(f, pad_to=rule)), transformed(f)
    for a, b in zip(tinyjax.tree.leaves(actual), tinyjax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


@settings(max_examples=10)
@given(PROGRAMS)
def test_random_programs_are_padded(
    program: tuple[Sequence[Callable[[Array], Array]], str, int, Any],
) -> None:
    check(program)


@pytest.mark.fuzz
@given(PROGRAMS)
def test_random_programs_are_padded_at_length(
    program: tuple[Sequence[Callable[[Array], Array]], str, int, Any],
) -> None:
    check(program)
    forget_sometimes()


#: Functions that are infinite or NaN, or whose slopes are, at 0.
AT_ZERO: dict[str, Callable[[Any], Any]] = {
    "sqrt": jnp.sqrt,
    "log": jnp.log,
    "quotient": lambda x: 1 / x,
    "power": lambda x: x**-1.5,
    "ratio": lambda x: jnp.sin(x) / x,
    "twice": lambda x: jnp.sqrt(jnp.sqrt(x)),
    "selects": lambda x: jnp.where(x > 1, 2 / x, jnp.log(x)),
}


@pytest.mark.parametrize("name", AT_ZERO)
def test_what_a_where_leaves_out_of_padded_calls_counts_for_nothing(name: str) -> None:
    f = AT_ZERO[name]
    padded, outer = tinyjax.jit(f, pad_to=4), tinyjax.jit(jnp.sin, pad_to=8)
    x = np.array([0.0, 0.7, 1.8])
    cases: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
        (padded, f),
        (lambda x: outer(padded(x)), lambda x: jnp.sin(f(x))),
    ]
    with tinyjax.enable_x64(True):
        inside = jnp.asarray(x[1:])
        for function, plain in cases:

            def total(x: Any, function: Any = function) -> Any:
                return jnp.sum(jnp.where(x > 0, function(x), 0.0) * x)

            def right(x: Any, plain: Any = plain) -> Any:
                return plain(x) * x

            slopes = tinyjax.vmap(tinyjax.grad(right))(inside)
            np.testing.assert_allclose(tinyjax.grad(total)(x), [0, *slopes], 1e-12)
            mapped = tinyjax.vmap(tinyjax.grad(total))(jnp.stack([x, x]))
            np.testing.assert_allclose(mapped[1], [0, *slopes], 1e-12)
            second = tinyjax.vmap(tinyjax.grad(tinyjax.grad(right)))(inside)
            hessian = tinyjax.jacrev(tinyjax.grad(total))(x)
            np.testing.assert_allclose(hessian, np.diag([0, *second]), 1e-12, 1e-12)
