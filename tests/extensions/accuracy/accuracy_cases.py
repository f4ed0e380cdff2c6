"""Twelve programs that lose digits, with the lines in which they do, and the right results.

The line to be named first ends with the comment ``# lost``. Right results are in ``longdouble``, or
exact, and take the operands as they are: rounded to the program's dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import attrs
import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import lax

LONG: Final = np.longdouble
F32: Final = np.float32


@attrs.frozen
class Case:
    """A program, its arguments, and the right result."""

    name: str
    fun: Callable[..., Any]
    args: tuple[Any, ...]
    right: Any
    reason: str
    enough: float | None = None


def small_root(a: Any, b: Any, c: Any) -> Any:
    d = b * b - 4 * a * c
    root = jnp.sqrt(d)
    return (root - b) / (2 * a)  # lost


def right_root(a: Any, b: Any, c: Any) -> Any:
    a, b, c = LONG(a), LONG(b), LONG(c)
    return -2 * c / (b + np.sqrt(b * b - 4 * a * c))


def one_pass_variance(x: Any) -> Any:
    mean = jnp.mean(x)
    squares = jnp.mean(x * x)
    return squares - mean * mean  # lost


def right_variance(x: Any) -> float:
    values = [Fraction(float(v)) for v in x]
    mean = sum(values) / len(values)
    return float(sum([(v - mean) ** 2 for v in values]) / len(values))


def growth(x: Any) -> Any:
    e = jnp.exp(x)
    return (e - 1) / x  # lost


def rump(a: Any, b: Any) -> Any:
    p = 333.75 * b**6
    q = a**2 * (11 * a**2 * b**2 - b**6 - 121 * b**4 - 2)
    r = 5.5 * b**8
    return p + q + r + a / (2 * b)  # lost


def log_of_sum(x: Any) -> Any:
    e = jnp.exp(x)  # lost
    s = jnp.sum(e)
    return jnp.log(s)


def right_log_of_sum(x: Any) -> Any:
    most = LONG(x.max())
    return most + np.log(np.sum(np.exp(x.astype(LONG) - most)))


def updated_covariance(p: Any, noise: Any) -> Any:
    gain = p[:, 0] / (p[0, 0] + noise)
    rest = jnp.eye(2, dtype=p.dtype) - jnp.outer(gain, jnp.array([1.0, 0.0], p.dtype))  # lost
    return rest @ p


def asymmetry(p: Any, noise: Any) -> Any:
    gain = p[:, 0] / (p[0, 0] + noise)
    rest = jnp.eye(2, dtype=p.dtype) - jnp.outer(gain, jnp.array([1.0, 0.0], p.dtype))
    q = rest @ p  # lost
    return q[0, 1] - q[1, 0]


def right_covariance(p: Any, noise: Any) -> Any:
    p11, p12, p22, r = (Fraction(float(v)) for v in (p[0, 0], p[0, 1], p[1, 1], noise))
    s = p11 + r
    return np.array(
        [[p11 * r / s, p12 * r / s], [p12 * r / s, p22 - p12 * p12 / s]], dtype=object
    ).astype(float)


def kepler(m: Any, e: Any) -> Any:
    def body(_: Any, x: Any) -> Any:
        f = x - e * jnp.sin(x) - m  # lost
        slope = 1 - e * jnp.cos(x)
        return x - f / slope

    return lax.fori_loop(0, 20, body, jnp.cbrt(6 * m))


def right_anomaly(m: Any, e: Any) -> Any:
    m, e = LONG(m), LONG(e)
    x = np.cbrt(6 * m)
    for _ in range(60):
        x = x - (x - e * np.sin(x) - m) / (1 - e * np.cos(x))
    return x


def cross_entropy(z: Any) -> Any:
    e = jnp.exp(z - jnp.max(z))
    p = e / jnp.sum(e)
    return -jnp.log(p)[0]  # lost


def right_cross_entropy(z: Any) -> Any:
    return np.log1p(np.sum(np.exp(z[1:].astype(LONG) - LONG(z[0]))))


def unlikely_cross_entropy(z: Any) -> Any:
    e = jnp.exp(z - jnp.max(z))  # lost
    p = e / jnp.sum(e)
    return -jnp.log(p)[1]


def difference_quotient(x: Any) -> Any:
    h = 1e-5
    above = jnp.sin(x + h)
    return (above - jnp.sin(x)) / h  # lost


def right_quotient(x: Any) -> Any:
    h = LONG(F32(1e-5))
    return 2 * np.cos(LONG(x) + h / 2) * np.sin(h / 2) / h


def third_column(a: Any) -> Any:
    columns: list[Any] = []
    for i in range(3):
        v = a[:, i]
        for q in columns:
            v = v - jnp.dot(q, a[:, i]) * q  # lost
        columns.append(v / jnp.linalg.norm(v))
    return columns[2]


def right_third_column(a: Any) -> Any:
    columns: list[Any] = []
    for i in range(3):
        v = a[:, i].astype(LONG)
        for q in columns:
            v = v - np.dot(q, v) * q
        columns.append(v / np.sqrt(np.dot(v, v)))
    return columns[2]


def long_sum(x: Any) -> Any:
    def add(i: Any, total: Any) -> Any:
        return total + x[i]  # lost

    return lax.fori_loop(0, x.shape[0], add, jnp.zeros((), x.dtype))


def excess(x: Any) -> Any:
    root = jnp.sqrt(1 + x)  # lost
    return root - 0.5 * x


E: Final = 1e-4
_ROOTS: Final = (F32(1), F32(1000), F32(1))
_VALUES: Final = (1000 + np.random.default_rng(0).standard_normal(1000)).astype(F32)
_LARGE: Final = np.array([100, 101, 99], F32)
_SMALL: Final = -2 * _LARGE
_PRIOR: Final = (np.array([[1e6, 1e3], [1e3, 10]], F32), F32(1e-3))
_NEAR_ONE: Final = (F32(1e-6), F32(0.9999999))
_LOGITS: Final = np.array([16, 0, 1], F32)
_LAUCHLI: Final = np.array([[1, 1, 1], [E, 0, 0], [0, E, 0], [0, 0, E]], F32)
_TENTHS: Final = jnp.full(3000, 0.1)

CASES: Final = (
    Case("quadratic formula", small_root, _ROOTS, right_root(*_ROOTS), "cancellation"),
    Case("variance", one_pass_variance, (_VALUES,), right_variance(_VALUES), "cancellation"),
    Case("expm1", growth, (F32(1e-6),), np.expm1(LONG(F32(1e-6))) / F32(1e-6), "cancellation"),
    Case("Rump", rump, (F32(77617), F32(33096)), -54767 / 66192, "cancellation"),
    Case("log-sum-exp", log_of_sum, (_LARGE,), right_log_of_sum(_LARGE), "overflow"),
    Case("log-sum-exp below", log_of_sum, (_SMALL,), right_log_of_sum(_SMALL), "underflow"),
    Case("Kalman", updated_covariance, _PRIOR, right_covariance(*_PRIOR), "cancellation"),
    Case("Kalman's asymmetry", asymmetry, _PRIOR, 0.0, "cancellation"),
    Case("Kepler", kepler, _NEAR_ONE, right_anomaly(*_NEAR_ONE), "cancellation"),
    Case("entropy", cross_entropy, (_LOGITS,), right_cross_entropy(_LOGITS), "logarithm near 1"),
    Case("entropy below", unlikely_cross_entropy, (np.array([200, 0], F32),), 200.0, "underflow"),
    Case("finite differences", difference_quotient, (F32(1),), right_quotient(1), "cancellation"),
    Case("Gram-Schmidt", third_column, (_LAUCHLI,), right_third_column(_LAUCHLI), "cancellation"),
    Case("long sum", long_sum, (_TENTHS,), 3000 * LONG(F32(0.1)), "many roundings", 6.0),
    Case(
        "long sum of bfloat16",
        long_sum,
        (jnp.full(1000, 0.1, jnp.bfloat16),),
        1000 * float(jnp.bfloat16(0.1)),
        "many roundings",
    ),
    Case(
        "gradient",
        tinyjax.grad(excess),
        (F32(1e-6),),
        -LONG(F32(1e-6)) / (2 * np.sqrt(1 + LONG(F32(1e-6))) * (1 + np.sqrt(1 + LONG(F32(1e-6))))),
        "cancellation",
    ),
)
