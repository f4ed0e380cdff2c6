"""Loops over elements, as people write them for Python and NumPy, with arguments."""

from collections.abc import Callable
from typing import Any, Final

import attrs
import numpy as np


def tridiagonal_system(a: Any, b: Any, c: Any, d: Any) -> Any:
    n = d.shape[0]
    upper, right, x = np.zeros(n), np.zeros(n), np.zeros(n)
    upper[0], right[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        pivot = b[i] - a[i] * upper[i - 1]
        upper[i] = c[i] / pivot
        right[i] = (d[i] - a[i] * right[i - 1]) / pivot
    x[n - 1] = right[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = right[i] - upper[i] * x[i + 1]
    return x


def edit_distance(s: Any, t: Any) -> Any:
    n, m = s.shape[0], t.shape[0]
    d = np.zeros((n + 1, m + 1), np.int64)
    for i in range(n + 1):
        d[i, 0] = i
    for j in range(m + 1):
        d[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if s[i - 1] == t[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[n, m]


def bits(x: Any) -> Any:
    out = np.zeros(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        count = 0
        for b in range(32):
            count += (x[i] >> b) & 1
        out[i] = count
    return out


def particles_in_cells(x: Any, weights: Any, n: int) -> Any:
    cells = np.zeros(n)
    for p in range(x.shape[0]):
        i = int(x[p])
        right = x[p] - i
        cells[i] += weights[p] * (1 - right)
        cells[i + 1] += weights[p] * right
    return cells


def sparse_rows(bounds: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.zeros(bounds.size - 1)
    for i in range(bounds.size - 1):
        part = columns[bounds[i] : bounds[i + 1]]
        y[i] = values[bounds[i] : bounds[i + 1]] @ x[part]
    return y


def recursive_filter(x: Any, a: Any, b: Any) -> Any:
    y = np.zeros(x.shape[0])
    for i in range(2, x.shape[0]):
        y[i] = b[0] * x[i] + b[1] * x[i - 1] - a[0] * y[i - 1] - a[1] * y[i - 2]
    return y


def histogram(x: Any, n: int) -> Any:
    counts = np.zeros(n)
    for i in range(x.shape[0]):
        counts[int(x[i] * n)] += 1.0
    return counts


def polynomials(x: Any, c: Any) -> Any:
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(c.shape[0]):
            total = total * x[i] + c[k]
        out[i] = total
    return out


def convolution(image: Any, kernel: Any) -> Any:
    k = kernel.shape[0]
    n, m = image.shape[0] - k + 1, image.shape[1] - k + 1
    out = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = np.sum(image[i : i + k, j : j + k] * kernel)
    return out


def product_of_matrices(a: Any, b: Any) -> Any:
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    return c


def distances(points: Any) -> Any:
    n = points.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(points.shape[1]):
                difference = points[i, k] - points[j, k]
                total += difference * difference
            out[i, j] = np.sqrt(total + 1e-4)
    return out


def relaxation(a: Any, steps: int) -> Any:
    a = a.copy()
    for _ in range(steps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                near = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
                a[i, j] = 0.375 * near - 0.5 * a[i, j]
    return a


def transport(u: Any, speed: float, steps: int) -> Any:
    n = u.shape[0]
    for _ in range(steps):
        new = np.empty(n)
        new[0] = u[0]
        for i in range(1, n):
            new[i] = u[i] - speed * (u[i] - u[i - 1])
        u = new
    return u


def elimination(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def diffusion_rebound(u: Any, steps: int) -> Any:
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = new
    return u


def diffusion_swapped(u: Any, steps: int) -> Any:
    u, new = u.copy(), u.copy()
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            new[i] = u[i] + 0.1 * (u[i + 1] - 2 * u[i] + u[i - 1])
        u, new = new, u
    return u


def knapsack(weights: Any, values: Any, capacity: int) -> Any:
    best = np.zeros(capacity + 1)
    for i in range(weights.shape[0]):
        for c in range(capacity, 0, -1):
            if weights[i] <= c:
                best[c] = max(best[c], best[c - weights[i]] + values[i])
    return best[capacity]


def sorting_network(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for turn in range(n):
        for j in range(turn % 2, n - 1, 2):
            low, high = min(a[j], a[j + 1]), max(a[j], a[j + 1])
            a[j], a[j + 1] = low, high
    return a


def bubble_sort(a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                before = a[j]
                a[j] = a[j + 1]
                a[j + 1] = before
    return a


def ragged_sums(bounds: Any, values: Any) -> Any:
    out = np.zeros(bounds.shape[0] - 1)
    for i in range(bounds.shape[0] - 1):
        total = 0.0
        for k in range(bounds[i], bounds[i + 1]):
            total += values[k] * values[k]
        out[i] = total
    return out


def sparse_rows_by_elements(bounds: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.zeros(bounds.shape[0] - 1)
    for i in range(bounds.shape[0] - 1):
        for k in range(bounds[i], bounds[i + 1]):
            y[i] += values[k] * x[columns[k]]
    return y


def prefix_sums(x: Any) -> Any:
    out = np.empty(x.shape[0])
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
        out[i] = total
    return out


def escape_times(real: Any, imaginary: Any, limit: int) -> Any:
    out = np.zeros(real.shape[0], np.int64)
    for i in range(real.shape[0]):
        x, y, k = 0.0, 0.0, 0
        while k < limit and x * x + y * y < 4.0:
            x, y = x * x - y * y + real[i], 2 * x * y + imaginary[i]
            k += 1
        out[i] = k
    return out


def bodies(x: Any, mass: Any, steps: int) -> Any:
    n = x.shape[0]
    velocity = np.zeros((n, 3))
    for _ in range(steps):
        force = np.zeros((n, 3))
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = x[j] - x[i]
                    r = np.sqrt(np.sum(d * d) + 0.01)
                    force[i] += mass[j] * d / r**3
        velocity = velocity + 0.01 * force
        x = x + 0.01 * velocity
    return x


def viterbi(seen: Any, moves: Any, signs: Any, start: Any) -> Any:
    best = start + signs[:, seen[0]]
    for t in range(1, seen.shape[0]):
        new = np.zeros(best.shape[0])
        for s in range(best.shape[0]):
            new[s] = np.max(best + moves[:, s]) + signs[s, seen[t]]
        best = new
    return np.max(best)


def hidden_states(seen: Any, moves: Any, signs: Any, start: Any) -> Any:
    states = start * signs[:, seen[0]]
    likelihood = 0.0
    for t in range(1, seen.shape[0]):
        states = (states @ moves) * signs[:, seen[t]]
        total = np.sum(states)
        states = states / total
        likelihood += np.log(total)
    return likelihood


def moving_average(x: Any, k: int) -> Any:
    out = np.zeros(x.shape[0] - k + 1)
    for i in range(out.shape[0]):
        out[i] = np.mean(x[i : i + k])
    return out


def exponential_average(x: Any, rate: float) -> Any:
    y = np.zeros(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = rate * x[i] + (1 - rate) * y[i - 1]
    return y


def interpolation(places: Any, knots: Any, values: Any) -> Any:
    out = np.zeros(places.shape[0])
    for i in range(places.shape[0]):
        k = np.searchsorted(knots, places[i]) - 1
        k = min(max(k, 0), knots.shape[0] - 2)
        t = (places[i] - knots[k]) / (knots[k + 1] - knots[k])
        out[i] = values[k] * (1 - t) + values[k + 1] * t
    return out


def life(cells: Any, steps: int) -> Any:
    n, m = cells.shape
    for _ in range(steps):
        new = np.zeros((n, m), np.int64)
        for i in range(n):
            for j in range(m):
                count = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            count += cells[(i + di) % n, (j + dj) % m]
                if count == 3 or (count == 2 and cells[i, j] == 1):
                    new[i, j] = 1
        cells = new
    return cells


def householder(a: Any) -> Any:
    a = a.copy()
    for k in range(a.shape[1]):
        x = a[k:, k].copy()
        x[0] += np.sign(x[0]) * np.sqrt(np.sum(x * x))
        a[k:, k:] -= 2.0 / np.sum(x * x) * np.outer(x, x @ a[k:, k:])
    return a


def option_tree(price: float, strike: float, rate: float, volatility: float, n: int) -> Any:
    dt = 1.0 / n
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = np.zeros(n + 1)
    for i in range(n + 1):
        values[i] = max(price * up ** (2 * i - n) - strike, 0.0)
    for t in range(n - 1, -1, -1):
        for i in range(t + 1):
            values[i] = np.exp(-rate * dt) * (p * values[i + 1] + (1 - p) * values[i])
    return values[0]


def pair_energy(x: Any) -> Any:
    energy = 0.0
    for i in range(x.shape[0]):
        for j in range(i + 1, x.shape[0]):
            dx, dy, dz = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            s = 1.0 / (dx * dx + dy * dy + dz * dz) ** 3
            energy += 4.0 * (s * s - s)
    return energy


def cholesky_by_elements(a: Any) -> Any:
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            lower[i, j] = np.sqrt(s) if i == j else s / lower[j, j]
    return lower


def back_substitution(upper: Any, b: Any) -> Any:
    n = b.shape[0]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= upper[i, j] * x[j]
        x[i] = s / upper[i, i]
    return x


def autocorrelation(x: Any, lags: int) -> Any:
    out = np.zeros(lags)
    for k in range(lags):
        for t in range(k, x.shape[0]):
            out[k] += x[t] * x[t - k]
    return out


def bits_reversed(x: Any) -> Any:
    out = np.zeros(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        value, turned = x[i], 0
        for _ in range(32):
            turned = (turned << 1) | (value & 1)
            value >>= 1
        out[i] = turned
    return out


def random_numbers(seed: int, n: int) -> Any:
    state = seed
    out = np.zeros(n)
    for i in range(n):
        state ^= (state << 13) & 0xFFFFFFFF
        state ^= state >> 17
        state ^= (state << 5) & 0xFFFFFFFF
        out[i] = state / 4294967296.0
    return out


def common_subsequence(s: Any, t: Any) -> Any:
    table = np.zeros((s.shape[0] + 1, t.shape[0] + 1), np.int64)
    for i in range(s.shape[0]):
        for j in range(t.shape[0]):
            if s[i] == t[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table[s.shape[0], t.shape[0]]


def waves(u: Any, steps: int) -> Any:
    before, u = u.copy(), u.copy()
    for _ in range(steps):
        after = np.zeros(u.shape[0])
        for i in range(1, u.shape[0] - 1):
            after[i] = 2 * u[i] - before[i] + 0.25 * (u[i + 1] - 2 * u[i] + u[i - 1])
        before, u = u, after
    return u


def hailstones(n: int) -> Any:
    out = np.zeros(n, np.int64)
    for i in range(n):
        value, steps = i + 1, 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            steps += 1
        out[i] = steps
    return out


def histogram_of_pairs(x: Any, y: Any, n: int) -> Any:
    counts = np.zeros((n, n))
    for i in range(x.shape[0]):
        counts[int(x[i] * n), int(y[i] * n)] += 1.0
    return counts


def logistic_maps(rates: Any, steps: int) -> Any:
    out = np.zeros(rates.shape[0])
    for i in range(rates.shape[0]):
        x = 0.5
        for _ in range(steps):
            x = rates[i] * x * (1.0 - x)
        out[i] = x
    return out


def shortest_paths(d: Any) -> Any:
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                d[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return d


def local_maxima(x: Any) -> Any:
    count = 0
    for i in range(1, x.shape[0] - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            count += 1
    return count


@attrs.frozen
class Loop:
    """A program of loops.

    Attributes:
        fun: the program.
        arguments: its arguments.
        turns: how many iterations its innermost loops have in all.
        writes: whether an iteration of these writes an element.
    """

    fun: Callable[..., Any]
    arguments: list[Any]
    turns: int
    writes: bool


def _times(real: Any, imaginary: Any, limit: int) -> int:
    return int(np.sum(escape_times(real, imaginary, limit)))


def _programs() -> list[Loop]:
    rng = np.random.default_rng(1)
    draw = rng.random
    bounds = np.sort(rng.integers(0, 20_001, 4_001))
    bounds[0], bounds[-1] = 0, 20_000
    rows = [bounds, rng.integers(0, 4_000, 20_000), draw(20_000), draw(4_000)]
    letters = rng.integers(0, 4, (2, 150))
    moves = draw((8, 8))
    moves /= moves.sum(1, keepdims=True)
    seen = rng.integers(0, 6, 2_000)
    definite = draw((40, 40)) + 40 * np.eye(40)
    definite = definite @ definite.T
    plane = [draw(2_000) * 2 - 1.5, draw(2_000) * 2 - 1, 100]
    return [
        Loop(
            tridiagonal_system,
            [-draw(2_000), 4 + draw(2_000), -draw(2_000), draw(2_000)],
            4_000,
            True,
        ),
        Loop(edit_distance, [*letters], 150 * 150, True),
        Loop(common_subsequence, [*letters], 150 * 150, True),
        Loop(knapsack, [rng.integers(1, 30, 50), draw(50), 300], 50 * 300, True),
        Loop(shortest_paths, [draw((40, 40))], 40**3, True),
        Loop(
            viterbi, [seen[:300], np.log(moves), np.log(draw((8, 6))), np.log(draw(8))], 2_400, True
        ),
        Loop(hidden_states, [seen, moves, draw((8, 6)), draw(8)], 2_000, False),
        Loop(bits, [rng.integers(0, 2**31, 3_000)], 3_000 * 32, False),
        Loop(bits_reversed, [rng.integers(0, 2**31, 3_000)], 3_000 * 32, False),
        Loop(random_numbers, [12_345, 20_000], 20_000, True),
        Loop(sorting_network, [draw(120)], 120 * 60, True),
        Loop(bubble_sort, [draw(120)], 120 * 119 // 2, True),
        Loop(particles_in_cells, [draw(20_000) * 98, draw(20_000), 100], 20_000, True),
        Loop(histogram, [draw(20_000), 50], 20_000, True),
        Loop(histogram_of_pairs, [draw(20_000), draw(20_000), 20], 20_000, True),
        Loop(sparse_rows, rows, 4_000, True),
        Loop(sparse_rows_by_elements, rows, 20_000, True),
        Loop(ragged_sums, rows[::2], 20_000, False),
        Loop(prefix_sums, [draw(20_000)], 20_000, True),
        Loop(
            recursive_filter,
            [draw(20_000), np.array([0.3, 0.1]), np.array([0.2, 0.3])],
            20_000,
            True,
        ),
        Loop(exponential_average, [draw(20_000), 0.1], 20_000, True),
        Loop(moving_average, [draw(5_000), 20], 5_000, True),
        Loop(autocorrelation, [draw(400), 40], 40 * 400 - 780, True),
        Loop(local_maxima, [draw(20_000)], 20_000, False),
        Loop(polynomials, [draw(5_000), draw(12)], 5_000 * 12, False),
        Loop(logistic_maps, [2.5 + 0.8 * draw(1_000), 100], 100_000, False),
        Loop(interpolation, [draw(5_000), np.sort(draw(100)), draw(100)], 5_000, True),
        Loop(escape_times, plane, _times(*plane), False),
        Loop(hailstones, [1_000], 59_542, False),
        Loop(convolution, [draw((64, 64)), draw((5, 5))], 60 * 60, True),
        Loop(product_of_matrices, [draw((40, 40)), draw((40, 40))], 40**3, False),
        Loop(distances, [draw((80, 3))], 80 * 80 * 3, False),
        Loop(pair_energy, [draw((100, 3)) * 10], 4_950, False),
        Loop(bodies, [draw((20, 3)), draw(20), 20], 20 * 400, True),
        Loop(relaxation, [draw((60, 60)), 20], 20 * 58 * 58, True),
        Loop(life, [rng.integers(0, 2, (40, 40)), 5], 5 * 1_600 * 9, False),
        Loop(diffusion_rebound, [draw(1_000), 500], 500, True),
        Loop(diffusion_swapped, [draw(1_000), 50], 50 * 998, True),
        Loop(waves, [draw(1_000), 50], 50 * 998, True),
        Loop(transport, [draw(1_000), 0.5, 100], 100 * 999, True),
        Loop(option_tree, [100.0, 100.0, 0.05, 0.2, 300], 300 * 301 // 2, True),
        Loop(elimination, [draw((60, 60)) + 60 * np.eye(60)], 70_210, True),
        Loop(cholesky_by_elements, [definite], 40 * 41 * 39 // 6, False),
        Loop(back_substitution, [np.triu(definite), draw(40)], 780, False),
        Loop(householder, [draw((60, 40))], 40, True),
    ]


PROGRAMS: Final = _programs()
