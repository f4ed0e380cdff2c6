"""Programs of NumPy's functions."""

from typing import Any

import numpy as np

from programs.table import Floats, Program


def layer_norm(x: Floats, gain: Floats) -> Any:
    mean = np.mean(x, axis=-1, keepdims=True)
    deviation = np.std(x, axis=-1, keepdims=True)
    y = gain * (x - mean) / np.sqrt(deviation**2 + 1e-3)
    return np.sum(y**3)


def softmax_entropy(x: Floats) -> Any:
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    p = e / np.sum(e, axis=1, keepdims=True)
    return -np.sum(p * np.log(p))


def network(x: Floats, weights: tuple[tuple[Floats, Floats], ...]) -> Any:
    for i, (w, b) in enumerate(weights):
        x = x @ w + b
        if i < len(weights) - 1:
            x = np.tanh(x)
    return np.mean(x**2)


def clipped(x: Floats) -> Any:
    y = np.clip(x, -0.5, 0.8)
    return np.sum(np.where(y > 0, y * x, -2 * y) + np.maximum(x, 0.1) ** 2)


def pairwise(x: Floats) -> Any:
    gaps = x[:, None, :] - x[None, :, :]
    squares = np.sum(gaps**2, axis=-1) + np.eye(len(x))
    return np.sum(np.triu(1 / np.sqrt(squares), k=1))


def contraction(a: Floats, b: Floats) -> Any:
    c = np.einsum("ij,jk->ik", a, b)
    d = np.einsum("ij,ij->i", c, a)
    return np.einsum("i,i->", d, np.cumsum(d)) + np.tensordot(a, b, axes=2)


def sorted_gaps(x: Floats) -> Any:
    y = np.sort(x)
    return np.sum(np.diff(y) ** 2) + y[np.argmax(x)] + np.median(x)


def log_likelihood(a: Floats, y: Floats) -> Any:
    """That of a Gaussian process."""
    k = a @ a.T + np.eye(len(y))
    lower = np.linalg.cholesky(k)
    z = np.linalg.solve(lower, y)
    return -0.5 * z @ z - np.sum(np.log(np.diag(lower)))


def ridge(x: Floats, y: Floats, penalty: float) -> float:
    w = np.linalg.solve(x.T @ x + penalty * np.eye(x.shape[1]), x.T @ y)
    return np.sum((x @ w - y) ** 2) + np.linalg.norm(w)


def whitened(x: Floats) -> Any:
    centred = x - x.mean(axis=0)
    covariance = centred.T @ centred / len(x) + 0.5 * np.eye(x.shape[1])
    values, vectors = np.linalg.eigh(covariance)
    return np.sum(np.log(values)) + (vectors @ np.diag(1 / values) @ vectors.T)[0, 1]


def blocks(a: Floats) -> Any:
    m = np.vstack([np.hstack([a, 2 * a.T]), np.hstack([np.zeros_like(a), a @ a])])
    sign, logarithm = np.linalg.slogdet(m + 5 * np.eye(4))
    return sign * logarithm + np.linalg.det(a) * np.trace(m)


def moving_average(x: Floats, width: int) -> float:
    padded = np.pad(x, (width, 0))
    total = np.cumsum(padded)
    average = (total[width:] - total[:-width]) / width
    return np.sum(average**2) + np.ptp(average)


def game(x: Floats) -> float:
    """Diffusion on a torus."""
    for _ in range(3):
        around = sum([np.roll(x, s, axis) for s in (-1, 1) for axis in (0, 1)])
        x = x + 0.1 * (around - 4 * x) - 0.05 * x**3
    return np.sum(x * np.arange(x.size).reshape(x.shape))


def outer_products(x: Floats, y: Floats) -> Any:
    p = np.outer(x, y)
    q = np.kron(x, y).reshape(p.shape)
    r = np.cross(x, y)
    return np.vdot(p, q) + r @ r + np.inner(x, y) + np.dot(x, y) * np.trace(p)


def gathered(table: Floats) -> Any:
    rows = table[np.array([0, 2, 2, 1])]
    picked = np.take(table, np.array([1, 0]), axis=1)
    flat = table.flatten()[::-2]
    return (
        np.prod(rows[:, 0]) + np.sum(picked[1:] ** 2) + flat @ np.repeat(flat[:2], 2)[: flat.size]
    )


def accumulated(x: Floats) -> Any:
    total = 0.0
    for i, value in enumerate(x):
        if value > 0.5:
            total += np.square(value) * i
        elif value < 0:
            total -= np.abs(value)
        else:
            total *= np.exp(value)
    return total + np.hypot(x[0], x[1]) + np.logaddexp(x[0], x[-1])


M = np.array([[0.9, 0.3, -0.4], [0.4, 0.7, 0.2]])
S = np.array([[0.9, 0.3], [-0.4, 0.7]])
V = np.array([0.7, -0.4, 1.3])

PROGRAMS = (
    Program(layer_norm, (M, V), argnums=(0, 1)),
    Program(softmax_entropy, (M,)),
    Program(network, (M, ((M.T, S[0]), (S, S[1]))), argnums=(0,)),
    Program(clipped, (M,), (3 * V,)),
    Program(pairwise, (M,)),
    Program(contraction, (S, S.T @ S), argnums=(0, 1)),
    Program(sorted_gaps, (V,), (np.cos(np.arange(6.0)),)),
    Program(log_likelihood, (M, S[0]), argnums=(0, 1)),
    Program(ridge, (M.T, V, 0.3), argnums=(0, 1, 2)),
    Program(whitened, (M.T,)),
    Program(blocks, (S,)),
    Program(moving_average, (np.sin(np.arange(7.0)), 3)),
    Program(game, (np.cos(np.arange(9.0)).reshape(3, 3),)),
    Program(outer_products, (V, V[::-1] ** 2), argnums=(0, 1)),
    Program(gathered, (M.T,)),
    Program(accumulated, (V,), (np.array([0.2, 0.9, -0.3, 0.4]),)),
)
