"""Recurrences over tables: alignments, paths and partitions, hard and soft."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from programs.table import Floats, Program


def soft_min(values: Sequence[float], sharpness: float) -> float:
    least = min(values)
    return least - math.log(sum(math.exp(sharpness * (least - v)) for v in values)) / sharpness


def edit_distance(cost: float) -> float:
    """Levenshtein's distance of two words, where a substitution has a cost."""
    first, second = "kitten", "sitting"
    above = [float(j) for j in range(len(second) + 1)]
    for i, a in enumerate(first, 1):
        row = [i * 1.0]
        for j, b in enumerate(second, 1):
            change = above[j - 1] + (0.0 if a == b else cost)
            row = [*row, min(change, above[j] + 1.0, row[-1] + 1.0)]
        above = row
    return above[-1] ** 2


def soft_edit_distance(cost: float) -> float:
    first, second = "abcb", "bdcab"
    above = [j * cost for j in range(len(second) + 1)]
    for i, a in enumerate(first):
        row = [(i + 1) * cost]
        for j, b in enumerate(second):
            options = (above[j] + (a != b) * 1.5, above[j + 1] + cost, row[j] + cost)
            row = [*row, soft_min(options, 2.0)]
        above = row
    return above[len(second)]


def time_warping(x: Floats, y: Floats) -> float:
    above = [0.0] + [math.inf] * len(y)
    for p in x:
        row = [math.inf]
        for j, q in enumerate(y):
            row = [*row, (p - q) ** 2 + min(above[j], above[j + 1], row[j])]
        above = row
    return above[-1]


def soft_time_warping(x: float) -> float:
    first, second = [x, 1.0, 2.0 * x, 0.3], [0.5, x * x, 1.5]
    above = [0.0, 50.0, 50.0, 50.0]
    for p in first:
        row = [50.0]
        for j, q in enumerate(second):
            row = [*row, abs(p - q) ** 1.5 + soft_min([above[j], above[j + 1], row[j]], 3.0)]
        above = row
    return above[-1]


def needleman_wunsch(gap: float, match: float) -> float:
    first, second = "GATTACA", "GCATGCU"
    table: list[list[float]] = [[-gap * j for j in range(len(second) + 1)]]
    for i in range(1, len(first) + 1):
        row = [-gap * i]
        for j in range(1, len(second) + 1):
            score = match if first[i - 1] == second[j - 1] else -1.0
            best = table[i - 1][j - 1] + score
            best = max(best, table[i - 1][j] - gap)
            best = max(best, row[j - 1] - gap)
            row = [*row, best]
        table = [*table, row]
    return table[-1][-1] * match


def viterbi(stay: float) -> float:
    """The log-probability of the best path of a hidden Markov model of two states."""
    emission = ((0.9, 0.1), (0.2, 0.8))
    scores = [math.log(0.6), math.log(0.4)]
    for seen in (0, 1, 1, 0, 1):
        following: list[float] = []
        for state in range(2):
            best = -math.inf
            for before in range(2):
                move = stay if before == state else 1 - stay
                candidate = scores[before] + math.log(move) + math.log(emission[state][seen])
                best = max(best, candidate)
            following = [*following, best]
        scores = following
    return max(scores)


def soft_viterbi(stay: float, sharpness: float) -> float:
    scores = [0.0, -1.0, 0.5]
    for seen in (0, 2, 1, 1):
        scores = [
            -soft_min(
                [-(s + math.log(stay if i == j else (1 - stay) / 2)) for i, s in enumerate(scores)],
                sharpness,
            )
            + (1.0 if j == seen else -0.5)
            for j in range(3)
        ]
    return -soft_min([-s for s in scores], sharpness)


def hidden_markov(transition: Floats, emission: Floats) -> Any:
    """The forward algorithm, scaled."""
    belief = np.array([0.5, 0.5])
    total = 0.0
    for seen in (0, 1, 1, 2):
        belief = (belief @ transition) * emission[:, seen]
        scale = np.sum(belief)
        belief = belief / scale
        total += np.log(scale)
    return total + belief[0]


def matrix_chain(x: float) -> float:
    sizes = (10.0, x, 5.0, 2.0 * x, 8.0)
    n = len(sizes) - 1
    cost = {(i, i): 0.0 for i in range(n)}
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            best = math.inf
            for k in range(i, j):
                q = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                best = min(best, q)
            cost = {**cost, (i, j): best}
    return cost[0, n - 1]


def soft_knapsack(value: float, sharpness: float) -> float:
    items = ((2, value), (3, 4.0), (4, value * value), (5, 7.0))
    best = [0.0] * 8
    for weight, worth in items:
        best = [
            -soft_min([-b, -(best[c - weight] + worth)], sharpness) if c >= weight else b
            for c, b in enumerate(best)
        ]
    return best[-1]


def knapsack(value: float) -> float:
    def take(i: int, room: int) -> float:
        if i == 3:
            return 0.0
        weight, worth = ((2, value), (3, 2.5), (1, value * 0.7))[i]
        without = take(i + 1, room)
        if weight > room:
            return without
        return max(without, worth + take(i + 1, room - weight))

    return take(0, 4) ** 2


def floyd_warshall(x: float) -> float:
    far = 100.0
    d = [[0.0, x, 4.0, far], [far, 0.0, 1.0, x * x], [far, far, 0.0, 1.5], [x, far, far, 0.0]]
    for k in range(4):
        d = [[min(d[i][j], d[i][k] + d[k][j]) for j in range(4)] for i in range(4)]
    return sum(sum(row) for row in d)


def soft_floyd_warshall(d: Floats) -> float:
    for k in range(len(d)):
        through = d[:, k][:, None] + d[k][None, :]
        d = -np.log(np.exp(-2 * d) + np.exp(-2 * through)) / 2
    return np.sum(d)


def bellman_ford(x: float) -> float:
    edges = ((0, 1, x), (0, 2, 4.0), (1, 2, -1.0), (2, 3, x * x), (1, 3, 5.0))
    distance = [0.0, math.inf, math.inf, math.inf]
    for _ in range(3):
        changed = False
        for start, end, weight in edges:
            if distance[start] + weight < distance[end]:
                distance = [
                    distance[start] + weight if i == end else d for i, d in enumerate(distance)
                ]
                changed = True
        if not changed:
            break
    return distance[3] * distance[2]


def fibonacci_weights(x: float) -> float:
    def weight(n: int) -> float:
        if n < 2:
            return x if n else 1.0
        return 0.5 * weight(n - 1) + x * weight(n - 2)

    return weight(7)


def catalan_weights(x: float) -> float:
    known = [1.0]
    while len(known) < 6:
        n = len(known)
        known = [*known, x * sum(known[i] * known[n - 1 - i] for i in range(n))]
    return known[-1]


def increasing_run(xs: Floats) -> float:
    """The greatest weight of an increasing subsequence."""
    best: list[float] = []
    for i in range(len(xs)):
        longest = 0.0
        for j in range(i):
            if xs[j] < xs[i] and best[j] > longest:
                longest = best[j]
        best = [*best, longest + xs[i] ** 2]
    return max(best)


def value_iteration(discount: float) -> float:
    values = [0.0, 0.0, 0.0]
    rewards = (1.0, -0.5, 2.0)
    for _ in range(15):
        values = [
            r + discount * max(values[i - 1], 0.5 * values[i] + 0.5 * values[(i + 1) % 3])
            for i, r in enumerate(rewards)
        ]
    return values[0] + values[2]


def optimal_tree(weights: Floats) -> Any:
    def cost(i: int, j: int) -> Any:
        if i > j:
            return 0.0
        total = sum(weights[k] for k in range(i, j + 1))
        return total + min([cost(i, r - 1) + cost(r + 1, j) for r in range(i, j + 1)])

    return cost(0, 3) ** 2


PROGRAMS = (
    Program(edit_distance, (0.7,), (1.4,)),
    Program(soft_edit_distance, (0.7,), (1.4,)),
    Program(
        time_warping,
        (np.array([0.1, 0.9, 2.0, 1.0]), np.array([0.3, 1.1, 1.9])),
        argnums=(0, 1),
    ),
    Program(soft_time_warping, (0.7,), (1.4,)),
    Program(needleman_wunsch, (0.7, 1.1), (1.5, 0.8), argnums=(0, 1)),
    Program(viterbi, (0.7,), (0.35,)),
    Program(soft_viterbi, (0.7, 2.0), (0.4, 1.0), argnums=(0, 1), curved=False),
    Program(
        hidden_markov,
        (np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.1, 0.4, 0.5], [0.7, 0.2, 0.1]])),
        argnums=(0, 1),
    ),
    Program(matrix_chain, (3.0,), (9.0,)),
    Program(soft_knapsack, (1.5, 2.0), (2.2, 1.0), argnums=(0, 1), curved=False),
    Program(knapsack, (1.5,), (3.0,)),
    Program(floyd_warshall, (0.7,), (2.5,)),
    Program(soft_floyd_warshall, (np.array([[0.5, 1.0, 2.0], [1.5, 0.4, 0.6], [0.2, 2.0, 0.3]]),)),
    Program(bellman_ford, (0.7,), (2.5,)),
    Program(fibonacci_weights, (0.7,), (1.2,)),
    Program(catalan_weights, (0.7,), (1.2,)),
    Program(increasing_run, (np.array([0.5, 1.2, 0.3, 0.9, 1.1]),)),
    Program(value_iteration, (0.7,), (0.9,)),
    Program(optimal_tree, (np.array([0.3, 0.7, 0.2, 0.5]),), curved=False),
)
