"""The programs of NPBench (Ziogas et al., "NPBench", 2021), written anew, with its sizes S.

Each is a function of arrays and numbers that leaves its arguments as they are. The formulas and the
sizes are NPBench's; of its programs, mandelbrot2 alone is missing.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Final

import attrs
import numpy as np

# Products of matrices ------------------------------------------------------------------------


def atax(a: Any, x: Any) -> Any:
    return (a @ x) @ a


def bicg(a: Any, p: Any, r: Any) -> Any:
    return r @ a, a @ p


def gemm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    return alpha * a @ b + beta * c


def gemver(alpha: float, beta: float, a: Any, columns: Any, rows: Any, y: Any, z: Any) -> Any:
    a = a + np.outer(columns[0], rows[0]) + np.outer(columns[1], rows[1])
    x = beta * y @ a + z
    return a, x, alpha * a @ x


def gesummv(alpha: float, beta: float, a: Any, b: Any, x: Any) -> Any:
    return alpha * a @ x + beta * b @ x


def mvt(x: Any, y: Any, u: Any, v: Any, a: Any) -> Any:
    return x + a @ u, y + v @ a


def k2mm(alpha: float, beta: float, a: Any, b: Any, c: Any, d: Any) -> Any:
    return alpha * a @ b @ c + beta * d


def k3mm(a: Any, b: Any, c: Any, d: Any) -> Any:
    return a @ b @ (c @ d)


def doitgen(a: Any, c: Any) -> Any:
    out = np.empty_like(a)
    for r in range(a.shape[0]):
        out[r] = a[r] @ c
    return out


def symm(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    c = beta * c
    sums = np.empty(c.shape[1])
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            sums[j] = b[:i, j] @ a[i, :i]
        c[i] += alpha * b[i] * a[i, i] + alpha * sums
    return c


def syrk(alpha: float, beta: float, c: Any, a: Any) -> Any:
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def syr2k(alpha: float, beta: float, c: Any, a: Any, b: Any) -> Any:
    c = c.copy()
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += a[: i + 1, k] * alpha * b[i, k] + b[: i + 1, k] * alpha * a[i, k]
    return c


def trmm(alpha: float, a: Any, b: Any) -> Any:
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return alpha * b


def covariance(data: Any) -> Any:
    n = data.shape[1]
    data = data - np.sum(data, axis=0) / data.shape[0]
    out = np.zeros((n, n))
    for i in range(n):
        row = data[:, i] @ data[:, i:n] / (data.shape[0] - 1.0)
        out[i:n, i] = row
        out[i, i:n] = row
    return out


def covariance2(data: Any) -> Any:
    return np.cov(data.T)


def correlation(data: Any) -> Any:
    n = data.shape[1]
    data = data - np.sum(data, axis=0) / data.shape[0]
    deviations = np.sqrt(np.sum(data * data, axis=0) / data.shape[0])
    deviations[deviations <= 0.1] = 1.0
    data = data / (np.sqrt(data.shape[0]) * deviations)
    out = np.eye(n)
    for i in range(n - 1):
        row = data[:, i] @ data[:, i + 1 : n]
        out[i + 1 : n, i] = row
        out[i, i + 1 : n] = row
    return out


# Factors and solutions -----------------------------------------------------------------------


def cholesky(a: Any) -> Any:
    a = a.copy()
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])
    return a


def cholesky2(a: Any) -> Any:
    return np.linalg.cholesky(a) + np.triu(a, k=1)


def lu(a: Any) -> Any:
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def ludcmp(a: Any, b: Any) -> Any:
    a = lu(a)
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(a.shape[0]):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(a.shape[0] - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def trisolv(lower: Any, b: Any) -> Any:
    x = np.zeros_like(b)
    for i in range(x.shape[0]):
        x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return x


def durbin(r: Any) -> Any:
    y = np.empty_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def gramschmidt(a: Any) -> Any:
    a = a.copy()
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def contour_integral(
    blocks: Any, points: Any, weights: Any, right: Any, slabs: int, order: int
) -> Any:
    """Integrate the resolvent of a polynomial of matrices around a circle."""
    first = np.zeros(right.shape, right.dtype)
    second = np.zeros(right.shape, right.dtype)
    for i in range(points.shape[0]):
        z = points[i]
        matrix = np.zeros(blocks.shape[1:], right.dtype)
        for n in range(slabs + 1):
            matrix += z ** (order - n) * blocks[n]
        solved = np.linalg.solve(matrix, right) * weights[i]
        first += solved
        second += solved * z
    return first, second


# Stencils ------------------------------------------------------------------------------------


def jacobi_1d(steps: int, a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a


def jacobi_2d(steps: int, a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )
    return a


def _heat(a: Any) -> Any:
    inner = a[1:-1, 1:-1, 1:-1]
    return (
        0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * inner + a[:-2, 1:-1, 1:-1])
        + 0.125 * (a[1:-1, 2:, 1:-1] - 2.0 * inner + a[1:-1, :-2, 1:-1])
        + 0.125 * (a[1:-1, 1:-1, 2:] - 2.0 * inner + a[1:-1, 1:-1, :-2])
        + inner
    )


def heat_3d(steps: int, a: Any, b: Any) -> Any:
    a, b = a.copy(), b.copy()
    for _ in range(1, steps):
        b[1:-1, 1:-1, 1:-1] = _heat(a)
        a[1:-1, 1:-1, 1:-1] = _heat(b)
    return a


def seidel_2d(steps: int, a: Any) -> Any:
    a = a.copy()
    n = a.shape[0]
    for _ in range(steps - 1):
        for i in range(1, n - 1):
            a[i, 1:-1] += (
                a[i - 1, :-2]
                + a[i - 1, 1:-1]
                + a[i - 1, 2:]
                + a[i, 2:]
                + a[i + 1, :-2]
                + a[i + 1, 1:-1]
                + a[i + 1, 2:]
            )
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


def fdtd_2d(ex: Any, ey: Any, hz: Any, drive: Any) -> Any:
    ex, ey, hz = ex.copy(), ey.copy(), hz.copy()
    for t in range(drive.shape[0]):
        ey[0, :] = drive[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def adi(steps: int, u: Any) -> Any:
    n = u.shape[0]
    u = u.copy()
    v, p, q = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    along, across, dt = 2.0 * n * n, 1.0 * n * n, 1.0 / steps
    a = -along * dt / 2.0
    b = 1.0 - 2.0 * a
    d = -across * dt / 2.0
    e = 1.0 - 2.0 * d
    for _ in range(1, steps + 1):
        v[0, 1:-1] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = v[0, 1:-1]
        for j in range(1, n - 1):
            p[1:-1, j] = -a / (a * p[1:-1, j - 1] + b)
            q[1:-1, j] = (
                -d * u[j, :-2] + (1.0 + 2.0 * d) * u[j, 1:-1] - d * u[j, 2:] - a * q[1:-1, j - 1]
            ) / (a * p[1:-1, j - 1] + b)
        v[-1, 1:-1] = 1.0
        for j in range(n - 2, 0, -1):
            v[j, 1:-1] = p[1:-1, j] * v[j + 1, 1:-1] + q[1:-1, j]
        u[1:-1, 0] = 1.0
        p[1:-1, 0] = 0.0
        q[1:-1, 0] = u[1:-1, 0]
        for j in range(1, n - 1):
            p[1:-1, j] = -d / (d * p[1:-1, j - 1] + e)
            q[1:-1, j] = (
                -a * v[:-2, j] + (1.0 + 2.0 * a) * v[1:-1, j] - a * v[2:, j] - d * q[1:-1, j - 1]
            ) / (d * p[1:-1, j - 1] + e)
        u[1:-1, -1] = 1.0
        for j in range(n - 2, 0, -1):
            u[1:-1, j] = p[1:-1, j] * u[1:-1, j + 1] + q[1:-1, j]
    return u


def hdiff(field: Any, coefficient: Any) -> Any:
    laplacian = 4.0 * field[1:-1, 1:-1] - (
        field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
    )
    step = laplacian[1:, 1:-1] - laplacian[:-1, 1:-1]
    along = np.where(step * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0.0, step)
    step = laplacian[1:-1, 1:] - laplacian[1:-1, :-1]
    across = np.where(step * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0.0, step)
    return field[2:-2, 2:-2] - coefficient * (
        along[1:] - along[:-1] + across[:, 1:] - across[:, :-1]
    )


def vadv(stage: Any, position: Any, wind: Any, tendency: Any, moment: Any, s: float) -> Any:
    """Advect a field upwards, by a tridiagonal system in each column."""
    levels = position.shape[2]
    upper, right = np.empty_like(position), np.empty_like(position)
    result = np.empty_like(position)
    explicit, implicit = 0.0, 1.0
    up = 0.25 * (wind[1:, :, 1] + wind[:-1, :, 1])
    c = up * implicit
    pivot = s - c
    difference = -up * explicit * (stage[:, :, 1] - stage[:, :, 0])
    upper[:, :, 0] = c / pivot
    right[:, :, 0] = (
        s * position[:, :, 0] + tendency[:, :, 0] + moment[:, :, 0] + difference
    ) / pivot
    for k in range(1, levels - 1):
        down = -0.25 * (wind[1:, :, k] + wind[:-1, :, k])
        up = 0.25 * (wind[1:, :, k + 1] + wind[:-1, :, k + 1])
        a, c = down * implicit, up * implicit
        b = s - a - c
        difference = -down * explicit * (stage[:, :, k - 1] - stage[:, :, k])
        difference -= up * explicit * (stage[:, :, k + 1] - stage[:, :, k])
        total = s * position[:, :, k] + tendency[:, :, k] + moment[:, :, k] + difference
        inverse = 1.0 / (b - upper[:, :, k - 1] * a)
        upper[:, :, k] = c * inverse
        right[:, :, k] = (total - right[:, :, k - 1] * a) * inverse
    k = levels - 1
    down = -0.25 * (wind[1:, :, k] + wind[:-1, :, k])
    a = down * implicit
    difference = -down * explicit * (stage[:, :, k - 1] - stage[:, :, k])
    total = s * position[:, :, k] + tendency[:, :, k] + moment[:, :, k] + difference
    inverse = 1.0 / (s - a - upper[:, :, k - 1] * a)
    right[:, :, k] = (total - right[:, :, k - 1] * a) * inverse
    x = right[:, :, k]
    result[:, :, k] = s * (x - position[:, :, k])
    for k in range(levels - 2, -1, -1):
        x = right[:, :, k] - upper[:, :, k] * x
        result[:, :, k] = s * (x - position[:, :, k])
    return result


def _divergence(rho: float, dt: float, dx: float, dy: float, u: Any, v: Any) -> Any:
    """The right side of the pressure's equation, within walls."""
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dy)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dy)
    return rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)


def cavity_flow(n: int, steps: int, sweeps: int, dt: float, rho: float, nu: float) -> Any:
    """Let a lid drive the fluid in a box."""
    dx = dy = 2.0 / (n - 1)
    u, v, p, b = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        b[1:-1, 1:-1] = _divergence(rho, dt, dx, dy, u, v)
        for _ in range(sweeps):
            pn = p.copy()
            p[1:-1, 1:-1] = (
                (pn[1:-1, 2:] + pn[1:-1, :-2]) * dy**2
                + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx**2
                - dx**2 * dy**2 * b[1:-1, 1:-1]
            ) / (2 * (dx**2 + dy**2))
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        for new, old, axis in ((u, un, 0), (v, vn, 1)):
            slope = (p[1:-1, 2:] - p[1:-1, :-2]) if axis == 0 else (p[2:, 1:-1] - p[:-2, 1:-1])
            new[1:-1, 1:-1] = (
                old[1:-1, 1:-1]
                - un[1:-1, 1:-1] * dt / dx * (old[1:-1, 1:-1] - old[1:-1, :-2])
                - vn[1:-1, 1:-1] * dt / dy * (old[1:-1, 1:-1] - old[:-2, 1:-1])
                - dt / (2 * rho * dx) * slope
                + nu * dt / dx**2 * (old[1:-1, 2:] - 2 * old[1:-1, 1:-1] + old[1:-1, :-2])
                + nu * dt / dy**2 * (old[2:, 1:-1] - 2 * old[1:-1, 1:-1] + old[:-2, 1:-1])
            )
        u[0, :] = u[:, 0] = u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = v[-1, :] = v[:, 0] = v[:, -1] = 0
    return u, v, p


def _neighbours(p: Any) -> Any:
    """The neighbours of all inner rows, where the columns are a ring."""
    return np.roll(p, -1, 1)[1:-1], np.roll(p, 1, 1)[1:-1], p[2:], p[:-2]


def channel_flow(u: Any, v: Any, p: Any, sweeps: int, dt: float, rho: float, nu: float) -> Any:
    """Let a force drive the fluid in a channel, until it hardly changes."""
    dx, dy = 2.0 / (u.shape[1] - 1), 2.0 / (u.shape[0] - 1)
    change = 1.0
    while change > 0.001:
        east, west, north, south = _neighbours(u)
        ve, vw, vn, vs = _neighbours(v)
        ux, uy = (east - west) / (2 * dx), (north - south) / (2 * dy)
        vx, vy = (ve - vw) / (2 * dx), (vn - vs) / (2 * dy)
        b = rho * ((ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2)
        for _ in range(sweeps):
            pe, pw, pn, ps = _neighbours(p)
            inner = ((pe + pw) * dy**2 + (pn + ps) * dx**2 - dx**2 * dy**2 * b) / (
                2 * (dx**2 + dy**2)
            )
            p = np.concatenate((inner[:1], inner, inner[-1:]))
        pe, pw, pn, ps = _neighbours(p)
        a, c = u[1:-1], v[1:-1]
        new = (
            a
            - a * dt / dx * (a - west)
            - c * dt / dy * (a - south)
            - dt / (2 * rho * dx) * (pe - pw)
            + nu * dt * ((east - 2 * a + west) / dx**2 + (north - 2 * a + south) / dy**2)
            + dt
        )
        v = np.pad(
            c
            - a * dt / dx * (c - vw)
            - c * dt / dy * (c - vs)
            - dt / (2 * rho * dy) * (pn - ps)
            + nu * dt * ((ve - 2 * c + vw) / dx**2 + (vn - 2 * c + vs) / dy**2),
            ((1, 1), (0, 0)),
        )
        change = (np.sum(new) - np.sum(u)) / np.sum(new)
        u = np.pad(new, ((1, 1), (0, 0)))
    return u, v, p


# Networks ------------------------------------------------------------------------------------


def softmax(x: Any) -> Any:
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def mlp(x: Any, layers: Any) -> Any:
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    w, b = layers[-1]
    return softmax(x @ w + b)


def conv2d(images: Any, kernel: Any) -> Any:
    k = kernel.shape[0]
    h, w = images.shape[1] - k + 1, images.shape[2] - k + 1
    out = np.empty((images.shape[0], h, w, kernel.shape[3]), images.dtype)
    for i in range(h):
        for j in range(w):
            out[:, i, j, :] = np.sum(
                images[:, i : i + k, j : j + k, :, np.newaxis] * kernel[np.newaxis], axis=(1, 2, 3)
            )
    return out


def conv2d_bias(images: Any, kernel: Any, bias: Any) -> Any:
    return conv2d(images, kernel) + bias


def _pooled(x: Any) -> Any:
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), x.dtype)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            part = x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2, :]
            out[:, i, j, :] = np.max(part, axis=(1, 2))
    return out


def lenet(images: Any, first: Any, second: Any, layers: Any) -> Any:
    x = _pooled(np.maximum(conv2d(images, first[0]) + first[1], 0))
    x = _pooled(np.maximum(conv2d(x, second[0]) + second[1], 0))
    x = np.reshape(x, (x.shape[0], -1))
    for w, b in layers[:-1]:
        x = np.maximum(x @ w + b, 0)
    w, b = layers[-1]
    return x @ w + b


def _normalised(x: Any) -> Any:
    return (x - np.mean(x, axis=0, keepdims=True)) / np.sqrt(
        np.std(x, axis=0, keepdims=True) + 1e-5
    )


def resnet(x: Any, first: Any, second: Any, third: Any) -> Any:
    padded = np.zeros((x.shape[0], x.shape[1] + 2, x.shape[2] + 2, first.shape[3]), x.dtype)
    padded[:, 1:-1, 1:-1, :] = conv2d(x, first)
    y = np.maximum(_normalised(padded), 0)
    y = np.maximum(_normalised(conv2d(y, second)), 0)
    y = _normalised(conv2d(y, third))
    return np.maximum(y + x, 0)


# Particles, graphs, images, bits and others --------------------------------------------------


def nbody(mass: Any, pos: Any, vel: Any, steps: int, dt: float, g: float, softening: float) -> Any:
    def acceleration(pos: Any) -> Any:
        d = pos.T[:, np.newaxis, :] - pos.T[:, :, np.newaxis]
        inverse = (d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + softening**2) ** -1.5
        return g * np.sum(d * inverse * mass, axis=2).T

    vel = vel - np.sum(mass[:, np.newaxis] * vel, axis=0) / np.sum(mass)
    acc = acceleration(pos)
    for _ in range(steps):
        vel = vel + acc * dt / 2.0
        pos = pos + vel * dt
        acc = acceleration(pos)
        vel = vel + acc * dt / 2.0
    return pos, vel


def floyd_warshall(path: Any) -> Any:
    path = path.copy()
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, np.add.outer(path[:, k], path[k, :]))
    return path


def spmv(bounds: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.empty(bounds.size - 1)
    for i in range(bounds.size - 1):
        part = columns[bounds[i] : bounds[i + 1]]
        y[i] = values[bounds[i] : bounds[i + 1]] @ x[part]
    return y


def crc16(data: Any) -> Any:
    crc = 0xFFFF
    for b in data:
        byte = 0xFF & b
        for _ in range(8):
            if (crc & 1) ^ (byte & 1):
                crc = (crc >> 1) ^ 0x8408
            else:
                crc >>= 1
            byte >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | ((crc >> 8) & 0xFF)) & 0xFFFF


def nussinov(sequence: Any) -> Any:
    n = sequence.shape[0]
    table = np.zeros((n, n), np.int64)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    match = 1 if sequence[i] + sequence[j] == 3 else 0
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + match)
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def azimint_hist(data: Any, radius: Any, bins: int) -> Any:
    counts = np.histogram(radius, bins)[0]
    return np.histogram(radius, bins, weights=data)[0] / counts


def azimint_naive(data: Any, radius: Any, bins: int) -> Any:
    largest = np.max(radius)
    out = np.zeros(bins)
    for i in range(bins):
        low, high = largest * i / bins, largest * (i + 1) / bins
        out[i] = np.mean(data[np.logical_and(low <= radius, radius < high)])
    return out


def arc_distance(theta1: Any, phi1: Any, theta2: Any, phi2: Any) -> Any:
    a = np.sin((theta2 - theta1) / 2) ** 2
    a = a + np.cos(theta1) * np.cos(theta2) * np.sin((phi2 - phi1) / 2) ** 2
    return 2 * np.arctan2(np.sqrt(a), np.sqrt(1 - a))


def compute(x: Any, y: Any, a: int, b: int, c: int) -> Any:
    return np.clip(x, 2, 10) * a + y * b + c


def go_fast(a: Any) -> Any:
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def deriche(alpha: float, image: Any) -> Any:
    decay = np.exp(-alpha)
    k = (1.0 - decay) * (1.0 - decay) / (1.0 + alpha * decay - np.exp(2.0 * alpha))
    a1 = a5 = k
    a2 = a6 = k * decay * (alpha - 1.0)
    a3 = a7 = k * decay * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0 ** (-alpha), -np.exp(-2.0 * alpha)
    n, m = image.shape
    y, z = np.empty_like(image), np.empty_like(image)
    y[:, 0] = a1 * image[:, 0]
    y[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y[:, 0]
    for j in range(2, m):
        y[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y[:, j - 1] + b2 * y[:, j - 2]
    z[:, -1] = 0.0
    z[:, -2] = a3 * image[:, -1]
    for j in range(m - 3, -1, -1):
        z[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * z[:, j + 1] + b2 * z[:, j + 2]
    x = y + z
    y[0, :] = a5 * x[0, :]
    y[1, :] = a5 * x[1, :] + a6 * x[0, :] + b1 * y[0, :]
    for i in range(2, n):
        y[i, :] = a5 * x[i, :] + a6 * x[i - 1, :] + b1 * y[i - 1, :] + b2 * y[i - 2, :]
    z[-1, :] = 0.0
    z[-2, :] = a7 * x[-1, :]
    for i in range(n - 3, -1, -1):
        z[i, :] = a7 * x[i + 1, :] + a8 * x[i + 2, :] + b1 * z[i + 1, :] + b2 * z[i + 2, :]
    return y + z


def mandelbrot1(x: Any, y: Any, turns: int, horizon: float) -> Any:
    c = x + y[:, np.newaxis] * 1j
    count = np.zeros(c.shape, np.int64)
    z = np.zeros(c.shape, np.complex128)
    for n in range(turns):
        inside = np.abs(z) < horizon
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    count[count == turns - 1] = 0
    return z, count


def scattering_self_energies(neighbours: Any, dh: Any, green: Any, d: Any) -> Any:
    """Add the self-energies of electrons that phonons scatter."""
    sigma = np.zeros(green.shape, green.dtype)
    nkz, ne, na = green.shape[:3]
    nqz, nw, _, nb, n3d = d.shape[:5]
    for k in range(nkz):
        for e in range(ne):
            for q in range(nqz):
                for w in range(nw):
                    for i in range(n3d):
                        for j in range(n3d):
                            for a in range(na):
                                for b in range(nb):
                                    if e - w >= 0:
                                        left = green[k, e - w, neighbours[a, b]] @ dh[a, b, i]
                                        right = dh[a, b, j] * d[q, w, a, b, i, j]
                                        sigma[k, e, a] += left @ right
    return sigma


def stockham_fft(x: Any, stages: int) -> Any:
    n = 2**stages
    y = x.copy()
    rows = np.exp(-2j * np.pi * np.outer(np.arange(2), np.arange(2)) / 2)
    for i in range(stages):
        left, right = 2**i, 2 ** (stages - i - 1)
        twiddles = np.exp(-2j * np.pi * np.outer(np.arange(2), np.arange(left)) / (2 * left))
        parts = np.reshape(y, (left, 2, right)).transpose(1, 0, 2)
        parts = parts * twiddles[:, :, np.newaxis]
        y = np.reshape(rows @ np.reshape(parts, (2, n // 2)), n)
    return y


@attrs.frozen
class Program:
    """A program, and what makes its arguments.

    Attributes:
        fun: the program.
        arguments: draws the arguments.
        tolerance: how much results may differ, relative to the largest element.
        is_for_jax: whether JAX may take it; it would unroll a long loop.
        is_smooth: whether differences of values tell slopes, as no choice is near another.
    """

    fun: Callable[..., Any]
    arguments: Callable[[np.random.Generator], list[Any]]
    tolerance: float = 1e-8
    is_for_jax: bool = True
    is_smooth: bool = True


def _definite(rng: np.random.Generator, n: int) -> Any:
    a = rng.random((n, n))
    return a @ a.T + n * np.eye(n)


def _offsets(rng: np.random.Generator, rows: int, size: int) -> Any:
    bounds = np.sort(rng.integers(0, size + 1, rows + 1))
    bounds[0], bounds[-1] = 0, size
    return bounds


def _single(rng: np.random.Generator, *shape: int) -> Any:
    return rng.random(shape, np.float32)


def _layers(rng: np.random.Generator, *widths: int) -> tuple[tuple[Any, Any], ...]:
    return tuple(
        (_single(rng, n, m) / np.float32(n), _single(rng, m) / np.float32(n))
        for n, m in pairwise(widths)
    )


def _energies(rng: np.random.Generator) -> list[Any]:
    def draw(*shape: int) -> Any:
        return rng.random(shape) + 1j * rng.random(shape)

    neighbours = rng.integers(0, 6, (6, 2))
    return [neighbours, draw(6, 2, 2, 3, 3), draw(2, 4, 6, 3, 3), draw(2, 2, 6, 2, 2, 2)]


def _contour(rng: np.random.Generator) -> list[Any]:
    def draw(*shape: int) -> Any:
        return rng.random(shape) + 1j * rng.random(shape)

    return [draw(3, 50, 50), draw(32), draw(32), draw(50, 150), 2, 1]


PROGRAMS: Final = [
    Program(adi, lambda r: [5, r.random((100, 100))]),
    Program(arc_distance, lambda r: [*r.random((4, 100_000))]),
    Program(atax, lambda r: [r.random((4_000, 5_000)), r.random(5_000)]),
    Program(azimint_hist, lambda r: [r.random(400_000), r.random(400_000), 1_000], is_smooth=False),
    # XLA divides by a number as it multiplies by the inverse: edges of bins differ by a rounding
    Program(
        azimint_naive,
        lambda r: [r.random(400_000), r.random(400_000), 1_000],
        1e-2,
        is_smooth=False,
    ),
    Program(bicg, lambda r: [r.random((6_000, 5_000)), r.random(5_000), r.random(6_000)]),
    Program(cavity_flow, lambda r: [61, 25, 5, 1e-3, 1.0, 0.1]),
    Program(
        channel_flow,
        lambda r: [*np.zeros((2, 61, 61)), np.ones((61, 61)), 5, 0.1 / 61, 1.0, 0.1],
    ),
    Program(cholesky, lambda r: [_definite(r, 100)]),
    Program(cholesky2, lambda r: [_definite(r, 1_000)]),
    Program(compute, lambda r: [*r.integers(0, 1_000, (2, 2_000, 2_000)), 4, 3, 9]),
    Program(contour_integral, _contour),
    Program(
        conv2d_bias,
        lambda r: [_single(r, 8, 32, 32, 3), _single(r, 2, 2, 3, 16), _single(r, 16)],
        1e-4,
    ),
    Program(correlation, lambda r: [r.random((600, 500))]),
    Program(covariance, lambda r: [r.random((600, 500))]),
    Program(covariance2, lambda r: [r.random((600, 500))]),
    Program(crc16, lambda r: [r.integers(0, 256, 1_600).astype(np.uint8)]),
    Program(deriche, lambda r: [0.25, r.random((400, 200))]),
    Program(doitgen, lambda r: [r.random((60, 60, 128)), r.random((128, 128))]),
    Program(durbin, lambda r: [np.arange(1_001.0, 1.0, -1.0) / 100_000]),
    Program(fdtd_2d, lambda r: [*r.random((3, 200, 220)), np.arange(20.0)]),
    Program(floyd_warshall, lambda r: [r.integers(1, 100, (200, 200))]),
    Program(
        gemm,
        lambda r: [
            1.5,
            1.2,
            r.random((1_000, 1_100)),
            r.random((1_000, 1_200)),
            r.random((1_200, 1_100)),
        ],
    ),
    Program(
        gemver,
        lambda r: [
            1.5,
            1.2,
            r.random((1_000, 1_000)),
            *r.random((2, 2, 1_000)),
            *r.random((2, 1_000)),
        ],
    ),
    Program(gesummv, lambda r: [1.5, 1.2, *r.random((2, 2_000, 2_000)), r.random(2_000)]),
    Program(go_fast, lambda r: [r.random((2_000, 2_000))], is_for_jax=False),
    Program(gramschmidt, lambda r: [r.random((70, 60))]),
    Program(hdiff, lambda r: [r.random((68, 68, 60)), r.random((64, 64, 60))], is_smooth=False),
    Program(heat_3d, lambda r: [25, *r.random((2, 25, 25, 25))]),
    Program(jacobi_1d, lambda r: [800, *r.random((2, 3_200))]),
    Program(jacobi_2d, lambda r: [50, *r.random((2, 150, 150))]),
    Program(
        k2mm,
        lambda r: [
            1.5,
            1.2,
            r.random((800, 900)),
            r.random((900, 850)),
            r.random((850, 950)),
            r.random((800, 950)),
        ],
    ),
    Program(
        k3mm,
        lambda r: [
            r.random((800, 900)),
            r.random((900, 850)),
            r.random((850, 1_000)),
            r.random((1_000, 950)),
        ],
    ),
    Program(
        lenet,
        lambda r: [
            _single(r, 4, 28, 28, 1),
            (_single(r, 5, 5, 1, 6), _single(r, 6)),
            (_single(r, 5, 5, 6, 16), _single(r, 16)),
            _layers(r, 256, 120, 84, 10),
        ],
        1e-4,
    ),
    Program(lu, lambda r: [_definite(r, 60)]),
    Program(ludcmp, lambda r: [_definite(r, 60), r.random(60)]),
    Program(
        mandelbrot1,
        lambda r: [np.linspace(-1.75, 0.25, 125), np.linspace(-1.0, 1.0, 125), 60, 2.0],
    ),
    Program(mlp, lambda r: [_single(r, 8, 3), _layers(r, 3, 30_000, 2_000, 2_000)], 1e-3),
    Program(mvt, lambda r: [*r.random((4, 5_500)), r.random((5_500, 5_500))]),
    Program(
        nbody,
        lambda r: [r.random(25), *r.standard_normal((2, 25, 3)), 40, 0.05, 1.0, 0.1],
    ),
    Program(nussinov, lambda r: [r.integers(0, 4, 60)]),
    Program(
        resnet,
        lambda r: [
            _single(r, 8, 14, 14, 32),
            _single(r, 1, 1, 32, 8),
            _single(r, 3, 3, 8, 8),
            _single(r, 1, 1, 8, 32),
        ],
        1e-3,
    ),
    Program(scattering_self_energies, _energies),
    Program(seidel_2d, lambda r: [8, r.random((50, 50))]),
    Program(softmax, lambda r: [_single(r, 16, 16, 128, 128)], 1e-5),
    Program(
        spmv,
        lambda r: [
            _offsets(r, 4_096, 8_192),
            r.integers(0, 4_096, 8_192),
            r.random(8_192),
            r.random(4_096),
        ],
    ),
    Program(stockham_fft, lambda r: [r.random(2**15) + 1j * r.random(2**15), 15]),
    Program(symm, lambda r: [1.5, 1.2, r.random((40, 50)), r.random((40, 40)), r.random((40, 50))]),
    Program(syr2k, lambda r: [1.5, 1.2, r.random((50, 50)), *r.random((2, 50, 35))]),
    Program(syrk, lambda r: [1.5, 1.2, r.random((70, 70)), r.random((70, 50))]),
    Program(trisolv, lambda r: [r.random((2_000, 2_000)) / 2_000 + np.eye(2_000), r.random(2_000)]),
    Program(trmm, lambda r: [1.5, r.random((65, 65)), r.random((65, 80))]),
    Program(
        vadv,
        lambda r: [
            *r.random((2, 60, 60, 40)),
            r.random((61, 60, 40)),
            *r.random((2, 60, 60, 40)),
            3.0 / 20.0,
        ],
    ),
]
