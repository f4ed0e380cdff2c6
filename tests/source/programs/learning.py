"""Models, and how they learn: recurrent networks, attention, filters, walks."""

import math
from typing import Any

import numpy as np

from programs.table import Floats, Program


def perceptron(rate: float) -> float:
    samples = (((1.0, 2.0), 1), ((2.0, -1.0), -1), ((-1.0, 0.5), 1), ((0.5, -2.0), -1))
    w = (0.1, -0.2)
    bias = 0.05
    mistakes = 1
    epoch = 0
    while mistakes and epoch < 5:
        mistakes, epoch = 0, epoch + 1
        for (a, b), label in samples:
            if label * (w[0] * a + w[1] * b + bias) <= 0:
                w = (w[0] + rate * label * a, w[1] + rate * label * b)
                bias += rate * label
                mistakes += 1
    return w[0] * w[1] + bias


def logistic_regression(x: Floats, y: Floats, rate: float) -> float:
    w = np.zeros(x.shape[1])
    for _ in range(10):
        p = 1 / (1 + np.exp(-(x @ w)))
        w = w - rate * (x.T @ (p - y)) / len(y)
    return np.sum(w**2)


def recurrent(w: Floats, u: Floats) -> float:
    h = np.zeros(2)
    loss = 0.0
    for t in range(5):
        x = np.array([math.sin(t), math.cos(t)])
        h = np.tanh(w @ h + u @ x)
        if t >= 2:
            loss += np.sum((h - x) ** 2)
    return loss


def gated(weight: float, bias: float) -> float:
    """A cell of a long short-term memory, by floats."""

    def sigmoid(z: float) -> float:
        if z >= 0:
            return 1 / (1 + math.exp(-z))
        e = math.exp(z)
        return e / (1 + e)

    h, c = 0.0, 0.0
    for x in (0.5, -1.0, 2.0, 0.1):
        forget = sigmoid(weight * x + h + bias)
        enter = sigmoid(x - weight * h)
        out = sigmoid(bias * x + h)
        c = forget * c + enter * math.tanh(x + weight * h)
        h = out * math.tanh(c)
    return h


def attention(x: float) -> float:
    """Scaled dot products, by loops."""
    queries = [[x, 1.0], [0.5, -x]]
    keys = [[1.0, x], [x * x, 0.3], [-0.5, 1.0]]
    values = [x, 2.0, -1.0]
    total = 0.0
    for i, q in enumerate(queries):
        scores: list[float] = []
        for j, k in enumerate(keys):
            if j > i + 1:
                break
            scores = [*scores, sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(2)]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        norm = sum(weights)
        total += sum(w / norm * v for w, v in zip(weights, values, strict=False)) * (i + 1)
    return total


def convolution_layer(image: Floats, kernel: Floats) -> float:
    rows: list[float] = []
    for i in range(image.shape[0] - 1):
        for j in range(image.shape[1] - 1):
            s = np.sum(image[i : i + 2, j : j + 2] * kernel)
            rows = [*rows, s if s > 0 else 0.1 * s]
    pooled = [max(rows[k], rows[k + 1]) for k in range(0, len(rows), 2)]
    return sum(p * p for p in pooled)


def soft_means(x: float) -> float:
    points = (0.1, 0.4, x, 2.1, 2.5)
    centres = (0.0, 2.0)
    for _ in range(4):
        sums, norms = [0.0, 0.0], [0.0, 0.0]
        for p in points:
            weights = [math.exp(-2 * (p - c) ** 2) for c in centres]
            total = sum(weights)
            sums = [s + w / total * p for s, w in zip(sums, weights, strict=True)]
            norms = [n + w / total for n, w in zip(norms, weights, strict=True)]
        centres = (sums[0] / norms[0], sums[1] / norms[1])
    return centres[0] * centres[1]


def adam(rate: float) -> float:
    x, m, v = 1.0, 0.0, 0.0
    for t in range(1, 12):
        slope = 2 * x + math.cos(x)
        m, v = 0.9 * m + 0.1 * slope, 0.99 * v + 0.01 * slope * slope
        x -= rate * (m / (1 - 0.9**t)) / (math.sqrt(v / (1 - 0.99**t)) + 1e-8)
    return x


def page_rank(damping: float) -> float:
    links = {0: [1, 2], 1: [2], 2: [0], 3: [0, 2]}
    ranks = [0.25] * 4
    for _ in range(12):
        following = [(1 - damping) / 4] * 4
        for page, targets in links.items():
            for target in targets:
                share = damping * ranks[page] / len(targets)
                following = [f + share if i == target else f for i, f in enumerate(following)]
        ranks = following
    return ranks[2] ** 2 + ranks[0]


def kalman_filter(noise: float, drift: float) -> float:
    mean, variance, cost = 0.0, 1.0, 0.0
    for seen in (0.9, 1.1, math.nan, 1.6, 1.2):
        variance += drift
        if math.isnan(seen):
            continue
        gain = variance / (variance + noise)
        surprise = seen - mean
        cost += surprise**2 / (variance + noise) + math.log(variance + noise)
        mean, variance = mean + gain * surprise, (1 - gain) * variance
    return cost + mean


def kalman_matrices(a: Floats, q: Floats) -> Any:
    mean, covariance = np.zeros(2), np.eye(2)
    h = np.array([[1.0, 0.5]])
    for seen in (0.3, 1.0, -0.4):
        mean, covariance = a @ mean, a @ covariance @ a.T + q @ q.T
        s = h @ covariance @ h.T + 0.1
        gain = covariance @ h.T @ np.linalg.inv(s)
        mean = mean + (gain @ (seen - h @ mean)[:, None])[:, 0]
        covariance = covariance - gain @ h @ covariance
    return mean @ mean + np.trace(covariance)


def mixture(mean: float, spread: float) -> float:
    total = 0.0
    for x in (0.1, 0.5, 1.7, 2.2):
        logs = [
            math.log(share) - 0.5 * ((x - m) / s) ** 2 - math.log(s)
            for share, m, s in ((0.4, mean, spread), (0.6, 2 * mean, 1.0))
        ]
        top = max(logs)
        total += top + math.log(sum(math.exp(v - top) for v in logs))
    return total


def metropolis(temperature: float) -> float:
    """A walk whose random numbers are fixed."""
    moves = (0.3, -0.5, 0.8, 0.1, -0.9, 0.4)
    chances = (0.5, 0.1, 0.9, 0.2, 0.7, 0.3)
    x, energy, total = 0.0, 1.0, 0.0
    for move, chance in zip(moves, chances, strict=True):
        proposal = x + move * temperature
        new = (proposal * proposal - 1) ** 2
        if new < energy or math.exp((energy - new) / temperature) > chance:
            x, energy = proposal, new
        total += x * x
    return total


def ising(coupling: float) -> float:
    """The logarithm of a partition function, by all states."""
    n = 4
    total = 0.0
    for state in range(1 << n):
        energy = 0.0
        for i in range(n):
            a = 1 if state & (1 << i) else -1
            b = 1 if state >> ((i + 1) % n) & 1 else -1
            energy += -coupling * a * b - 0.1 * a
        total += math.exp(-energy)
    return math.log(total)


def decision_tree(x: float, y: float) -> float:
    tree = ((("leaf", 1.0), "x", 0.5, ("leaf", -2.0)), "y", 1.0, ("leaf", 3.0))

    def walk(node: tuple[Any, ...], weight: float) -> float:
        if node[0] == "leaf":
            return weight * float(node[1])
        left, feature, bound, right = node
        value = x if feature == "x" else y
        gate = 1 / (1 + math.exp(-4 * (value - bound)))
        return walk(left, weight * (1 - gate)) + walk(right, weight * gate)

    return walk(tree, 1.0)


def ratings(factor: float) -> float:
    """Elo's, after some games."""
    players = {"a": 1.0, "b": 1.2, "c": 0.8}
    for winner, loser in (("a", "b"), ("c", "a"), ("b", "c"), ("a", "c")):
        chance = 1 / (1 + 10 ** (players[loser] - players[winner]))
        change = factor * (1 - chance)
        players = {
            **players,
            winner: players[winner] + change,
            loser: players[loser] - change,
        }
    return sum(v * v for v in players.values())


def projected_gradient(a: float) -> float:
    """A linear program with a smooth term, kept inside a box."""
    x, y = 0.5, 0.5
    for _ in range(15):
        x, y = x - 0.1 * (2 * x - a), y - 0.1 * (a * y + x - 1)
        x = min(max(x, 0.0), 0.8)
        y = 0.0 if y < 0 else 1.0 if y > 1 else y
        if x + y > 1:
            excess = (x + y - 1) / 2
            x, y = x - excess, y - excess
    return a * x + y * y


M = np.array([[0.9, 0.3, -0.4], [0.4, 0.7, 0.2]])
S = np.array([[0.9, 0.3], [-0.4, 0.7]])

PROGRAMS = (
    Program(perceptron, (0.3,), (1.1,)),
    Program(logistic_regression, (M.T, np.array([0.0, 1.0, 1.0]), 0.3), argnums=(0, 2)),
    Program(recurrent, (S, S.T), argnums=(0, 1)),
    Program(gated, (0.7, 0.2), (-1.5, 0.5), argnums=(0, 1)),
    Program(attention, (0.7,), (-1.2,)),
    Program(convolution_layer, (np.sin(np.arange(12.0)).reshape(3, 4), S), argnums=(0, 1)),
    Program(soft_means, (0.7,), (1.4,)),
    Program(adam, (0.1,), (0.3,)),
    Program(page_rank, (0.85,), (0.5,)),
    Program(kalman_filter, (0.5, 0.1), argnums=(0, 1)),
    Program(kalman_matrices, (S, S.T / 2), argnums=(0, 1), curved=False),
    Program(mixture, (0.7, 0.5), argnums=(0, 1)),
    Program(metropolis, (0.7,), (1.3,)),
    Program(ising, (0.7,), (-0.2,)),
    Program(decision_tree, (0.7, 1.2), argnums=(0, 1)),
    Program(ratings, (0.3,), (1.0,)),
    Program(projected_gradient, (0.7,), (1.9,)),
)
