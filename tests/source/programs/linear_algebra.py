"""Linear algebra by loops, on lists of rows and on NumPy arrays."""

import math
from typing import Any

import numpy as np

from programs.table import Floats, Program

Matrix = list[list[float]]


def product(a: Matrix, b: Matrix) -> Matrix:
    return [[sum(row[k] * b[k][j] for k in range(len(b))) for j in range(len(b[0]))] for row in a]


def matrix_product(x: float) -> float:
    a = [[x, 1.0], [2.0, x * x]]
    b = [[1.0, x], [x, 3.0]]
    c = product(product(a, b), a)
    return c[0][0] * c[1][1] - c[0][1]


def strassen(a: Floats, b: Floats) -> Floats:
    if a.shape[0] == 1:
        return a * b
    n = a.shape[0] // 2
    a11, a12, a21, a22 = a[:n, :n], a[:n, n:], a[n:, :n], a[n:, n:]
    b11, b12, b21, b22 = b[:n, :n], b[:n, n:], b[n:, :n], b[n:, n:]
    m1 = strassen(a11 + a22, b11 + b22)
    m2 = strassen(a21 + a22, b11)
    m3 = strassen(a11, b12 - b22)
    m4 = strassen(a22, b21 - b11)
    m5 = strassen(a11 + a12, b22)
    m6 = strassen(a21 - a11, b11 + b12)
    m7 = strassen(a12 - a22, b21 + b22)
    top = np.concatenate([m1 + m4 - m5 + m7, m3 + m5], axis=1)
    bottom = np.concatenate([m2 + m4, m1 - m2 + m3 + m6], axis=1)
    return np.concatenate([top, bottom], axis=0)


def strassen_trace(a: Floats) -> Any:
    return np.trace(strassen(a, a) * a)


def cholesky_loops(x: float) -> float:
    a = [[4.0 + x, 1.0, x], [1.0, 5.0, 0.5], [x, 0.5, 6.0]]
    lower: Matrix = []
    for i in range(3):
        row: list[float] = []
        for j in range(i + 1):
            s = sum(row[k] * (lower[j][k] if j < i else row[k]) for k in range(j))
            row = [*row, math.sqrt(a[i][i] - s)] if i == j else [*row, (a[i][j] - s) / lower[j][j]]
        lower = [*lower, row]
    return 2 * sum(math.log(lower[i][i]) for i in range(3)) + lower[2][0]


def lu_determinant(x: float) -> float:
    """Elimination with partial pivoting."""
    rows = [[x, 2.0, 1.0], [4.0, x, 0.5], [1.0, 3.0, x * x]]
    det = 1.0
    for k in range(3):
        pivot = k
        for i in range(k + 1, 3):
            if abs(rows[i][k]) > abs(rows[pivot][k]):
                pivot = i
        if pivot != k:
            swapped = [
                rows[pivot] if i == k else rows[k] if i == pivot else rows[i] for i in range(3)
            ]
            rows, det = swapped, -det
        if rows[k][k] == 0:
            return 0.0
        det *= rows[k][k]
        below: Matrix = []
        for row in rows[k + 1 :]:
            factor = row[k] / rows[k][k]
            below = [*below, [a - factor * b for a, b in zip(row, rows[k], strict=True)]]
        rows = rows[: k + 1] + below
    return det


def gauss_solve(a: Floats, b: Floats) -> float:
    n = len(b)
    rows = [np.append(a[i], b[i]) for i in range(n)]
    for k in range(n):
        best = max(range(k, n), key=[abs(row[k]) for row in rows].__getitem__)
        order = [*range(n)]
        order = [best if i == k else k if i == best else i for i in order]
        rows = [rows[i] for i in order]
        rows = [
            row if i <= k else row - rows[k] * (row[k] / rows[k][k]) for i, row in enumerate(rows)
        ]
    x: list[float] = []
    for i in reversed(range(n)):
        known = sum(rows[i][n - 1 - j] * v for j, v in enumerate(x))
        x = [*x, (rows[i][n] - known) / rows[i][i]]
    return x[0] + 2 * x[-1] ** 2


def gram_schmidt(a: Floats) -> Any:
    q: list[Floats] = []
    diagonal: list[Any] = []
    for j in range(a.shape[1]):
        v = a[:, j]
        for u in q:
            v = v - (u @ v) * u
        norm = np.sqrt(v @ v)
        if norm < 1e-12:
            continue
        q = [*q, v / norm]
        diagonal = [*diagonal, norm]
    return sum(d * (i + 1) for i, d in enumerate(diagonal)) + q[0][1] * q[-1][0]


def householder(a: Floats) -> Any:
    n = a.shape[0]
    r = a
    for k in range(n - 1):
        x = np.where(np.arange(n) >= k, r[:, k], 0.0)
        alpha = -np.sign(x[k]) * np.sqrt(x @ x)
        v = x - alpha * np.eye(n)[k]
        r = r - np.outer(v, v @ r) * (2 / (v @ v))
    return r[0, 0] * r[1, 1] + r[0, n - 1]


def givens(x: float) -> float:
    a, b, c, d = x, 1.0, 2.0, x * x + 1
    r = math.hypot(a, c)
    cosine, sine = a / r, c / r
    rotated = (cosine * a + sine * c, cosine * b + sine * d, -sine * b + cosine * d)
    return rotated[0] * rotated[2] + rotated[1]


def jacobi_iteration(a: Floats, b: Floats) -> Any:
    x = np.zeros(len(b))
    diagonal = np.diag(a)
    rest = a - np.diag(diagonal)
    for _ in range(100):
        following = (b - rest @ x) / diagonal
        if np.max(np.abs(following - x)) < 1e-15:
            break
        x = following
    return x[0] * x[1] + np.sum(x)


def gauss_seidel(x: float) -> float:
    a = ((5.0, x, 1.0), (1.0, 6.0, x), (x, 2.0, 7.0))
    b = (1.0, x * x, 3.0)
    found = [0.0, 0.0, 0.0]
    for _ in range(30):
        before = found
        for i in range(3):
            s = sum(a[i][j] * found[j] for j in range(3) if j != i)
            found = [*found[:i], (b[i] - s) / a[i][i], *found[i + 1 :]]
        if max(abs(p - q) for p, q in zip(found, before, strict=True)) < 1e-15:
            break
    return found[0] * found[1] + found[2]


def conjugate_gradients(a: Floats, b: Floats) -> Any:
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    rr = r @ r
    for _ in range(len(b)):
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        if math.sqrt(new) < 1e-9:
            break
        p, rr = r + new / rr * p, new
    return x @ x


def power_iteration(a: Floats) -> Any:
    v = np.ones(a.shape[0])
    for _ in range(300):
        w = a @ v
        before, v = v, w / np.linalg.norm(w)
        if np.max(np.abs(v - before)) < 1e-14:
            break
    return v @ a @ v


def determinant(x: float) -> float:
    def expand(m: Matrix) -> float:
        if len(m) == 1:
            return m[0][0]
        total = 0.0
        for j, head in enumerate(m[0]):
            if head == 0:
                continue
            minor = [row[:j] + row[j + 1 :] for row in m[1:]]
            total += (-1) ** j * head * expand(minor)
        return total

    return expand([[x, 0.0, 2.0, 1.0], [1.0, x, 3.0, 0.0], [2.0, 1.0, x, x], [0.0, 4.0, 1.0, x]])


def matrix_power(a: Floats, n: int) -> Any:
    result = np.eye(a.shape[0])
    while n:
        if n & 1:
            result = result @ a
        a = a @ a
        n >>= 1
    return np.sum(result) + result[0, 1]


def thomas(x: float) -> float:
    lower, middle, upper = [1.0, x, 0.5], [4.0, 5.0 + x, 6.0, 5.0], [x, 1.0, 2.0]
    right = [1.0, x * x, 2.0, x]
    c, d = [upper[0] / middle[0]], [right[0] / middle[0]]
    for i in range(1, 4):
        denominator = middle[i] - lower[i - 1] * c[i - 1]
        if i < 3:
            c = [*c, upper[i] / denominator]
        d = [*d, (right[i] - lower[i - 1] * d[i - 1]) / denominator]
    solution = [d[3]]
    for i in (2, 1, 0):
        solution = [d[i] - c[i] * solution[0], *solution]
    return sum(s * s for s in solution)


def matrix_exponential(a: Floats) -> Any:
    norm, squarings = np.max(np.sum(np.abs(a), axis=1)), 0
    while norm > 0.5:
        norm, squarings = norm / 2, squarings + 1
    a = a / 2**squarings
    term = total = np.eye(a.shape[0])
    for k in range(1, 16):
        term = term @ a / k
        total = total + term
    for _ in range(squarings):
        total = total @ total
    return np.trace(total) + total[0, 1]


def newton_schulz(a: Floats) -> Any:
    x = a.T / (np.max(np.sum(np.abs(a), axis=0)) * np.max(np.sum(np.abs(a), axis=1)))
    unit = np.eye(len(a))
    for _ in range(60):
        gap = unit - a @ x
        if np.sum(gap**2) < 1e-28:
            break
        x = x + x @ gap
    return x[0, 0] - 2 * x[1, 0]


def jacobi_eigenvalues(x: float) -> float:
    """The rotation that makes a symmetric matrix of two rows diagonal."""
    a, b, c = 2.0 + x, x * x, 1.0
    if b == 0:
        return max(a, c)
    theta = (c - a) / (2 * b)
    t = 1 / (theta + math.copysign(1.0, theta) * math.sqrt(theta * theta + 1))
    return max(a - t * b, c + t * b) * 2 + min(a - t * b, c + t * b)


def lanczos(a: Floats, v: Floats) -> Any:
    alphas: list[float] = []
    betas: list[float] = []
    q, before = v / np.linalg.norm(v), np.zeros(len(v))
    beta: Any = 0.0
    for _ in range(2):
        w = a @ q - beta * before
        alpha = w @ q
        w = w - alpha * q
        beta = np.linalg.norm(w)
        alphas, betas = [*alphas, alpha], [*betas, beta]
        before, q = q, w / beta
    return sum(alphas) + betas[0] * betas[1]


def qr_eigenvalues(a: Floats) -> Any:
    for _ in range(8):
        u = a[:, 0] / np.sqrt(np.sum(a[:, 0] ** 2))
        v = a[:, 1] - (u @ a[:, 1]) * u
        v = v / np.sqrt(np.sum(v**2))
        q = np.stack([u, v], axis=1)
        a = q.T @ a @ q
    return a[0, 0] ** 2 + a[1, 1]


A = np.array([[5.0, 1.0, 0.5], [1.0, 6.0, -1.0], [0.5, -1.0, 4.0]])
B = np.array([1.0, -2.0, 0.7])
C = np.array([[0.9, 0.3], [0.4, 0.7]])

PROGRAMS = (
    Program(matrix_product, (0.7,), (1.9,)),
    Program(strassen_trace, (np.cos(np.arange(16.0)).reshape(4, 4),), curved=False),
    Program(cholesky_loops, (0.3,), (1.2,)),
    Program(lu_determinant, (0.7,), (5.0,)),
    Program(gauss_solve, (A[::-1], B), argnums=(0, 1)),
    Program(gram_schmidt, (A,), (A[:, :2],)),
    Program(householder, (A,)),
    Program(givens, (0.7,), (-2.0,)),
    Program(jacobi_iteration, (A, B), argnums=(0, 1), curved=False),
    Program(gauss_seidel, (0.7,), (1.5,)),
    Program(conjugate_gradients, (A, B), argnums=(0, 1)),
    Program(power_iteration, (A,), curved=False),
    Program(determinant, (0.7,), (2.0,)),
    Program(matrix_power, (C, 5), (C, 8), (C, 0)),
    Program(thomas, (0.7,), (1.5,)),
    Program(matrix_exponential, (C,), (A / 4,)),
    Program(newton_schulz, (C,), curved=False),
    Program(jacobi_eigenvalues, (0.7,), (-1.3,)),
    Program(lanczos, (A, B), argnums=(0, 1)),
    Program(qr_eigenvalues, (C,)),
)
