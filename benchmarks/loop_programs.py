"""Loops over elements, as people write them for Python and NumPy, with arguments."""

from collections.abc import Callable
from typing import Any, Final

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
            out[i, j] = np.sqrt(total)
    return out


def covariance(data: Any) -> Any:
    n = data.shape[1]
    out = np.zeros((n, n))
    for i in range(n):
        row = data[:, i] @ data[:, i:] / data.shape[0]
        out[i:, i] = row
        out[i, i:] = row
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


def _programs() -> dict[Callable[..., Any], list[Any]]:
    rng = np.random.default_rng(1)
    draw = rng.random
    bounds = np.sort(rng.integers(0, 20_001, 4_001))
    bounds[0], bounds[-1] = 0, 20_000
    letters = rng.integers(0, 4, (2, 150))
    return {
        tridiagonal_system: [-draw(2_000), 4 + draw(2_000), -draw(2_000), draw(2_000)],
        edit_distance: [*letters],
        bits: [rng.integers(0, 2**31, 3_000)],
        particles_in_cells: [draw(20_000) * 98, draw(20_000), 100],
        sparse_rows: [bounds, rng.integers(0, 4_000, 20_000), draw(20_000), draw(4_000)],
        recursive_filter: [draw(20_000), np.array([0.3, 0.1]), np.array([0.2, 0.3])],
        histogram: [draw(20_000), 50],
        polynomials: [draw(5_000), draw(12)],
        convolution: [draw((64, 64)), draw((5, 5))],
        product_of_matrices: [draw((40, 40)), draw((40, 40))],
        distances: [draw((80, 3))],
        covariance: [draw((600, 500))],
        relaxation: [draw((60, 60)), 20],
        transport: [draw(1_000), 0.5, 100],
        elimination: [draw((60, 60)) + 60 * np.eye(60)],
    }


PROGRAMS: Final = _programs()
