"""Signals: transforms, filters, wavelets."""

import math
from typing import Any

import numpy as np

from programs.table import Floats, Program

Pairs = list[tuple[float, float]]


def fourier_recursive(x: float) -> float:
    """The fast transform, of real and imaginary parts."""

    def transform(z: Pairs) -> Pairs:
        n = len(z)
        if n == 1:
            return z
        even, odd = transform(z[::2]), transform(z[1::2])
        first: Pairs = []
        second: Pairs = []
        for k in range(n // 2):
            c, s = math.cos(2 * math.pi * k / n), -math.sin(2 * math.pi * k / n)
            (a, b), (p, q) = even[k], odd[k]
            u, v = c * p - s * q, c * q + s * p
            first, second = [*first, (a + u, b + v)], [*second, (a - u, b - v)]
        return first + second

    signal = [(math.sin(x * k), 0.0) for k in range(8)]
    return sum((k + 1) * (a * a + b * b) for k, (a, b) in enumerate(transform(signal)))


def fourier_loops(signal: Floats) -> float:
    n = len(signal)
    power = 0.0
    for k in range(n):
        re = im = 0.0
        for t in range(n):
            re += signal[t] * math.cos(2 * math.pi * k * t / n)
            im -= signal[t] * math.sin(2 * math.pi * k * t / n)
        power = power + k * math.sqrt(re**2 + im**2 + 0.1)
    return power


def convolution_loops(x: Floats, kernel: Floats) -> float:
    total = 0.0
    for i in range(len(x) + len(kernel) - 1):
        value = 0.0
        for j in range(len(kernel)):
            if 0 <= i - j < len(x):
                value += x[i - j] * kernel[j]
        total += value**2 * (i + 1)
    return total


def smoothing(alpha: float, beta: float) -> float:
    """Holt's exponential smoothing."""
    data = (1.0, 1.4, 1.9, 2.1, 2.8)
    level, trend, error = data[0], 0.2, 0.0
    for value in data[1:]:
        error += (level + trend - value) ** 2
        before, level = level, alpha * value + (1 - alpha) * (level + trend)
        trend = beta * (level - before) + (1 - beta) * trend
    return error


def recursive_filter(a: float, b: float) -> float:
    output = [0.0, 0.0]
    for k in range(10):
        output = [*output, (1.0 if k == 0 else 0.1) + a * output[-1] - b * output[-2]]
    return sum(y * y for y in output[2:])


def goertzel(frequency: float) -> float:
    s, before = 0.0, 0.0
    for k in range(12):
        s, before = math.sin(0.9 * k) + 2 * math.cos(frequency) * s - before, s
    return s * s + before * before - 2 * math.cos(frequency) * s * before


def haar(signal: Floats) -> Any:
    details = 0.0
    level = 1
    while len(signal) > 1:
        smooth, rough = (signal[::2] + signal[1::2]) / 2, (signal[::2] - signal[1::2]) / 2
        details += level * np.sum(np.abs(rough) ** 1.5)
        signal, level = smooth, level + 1
    return details + signal[0] ** 2


def zero_crossings(x: float) -> float:
    """Return the interpolated positions where a sampled wave changes its sign."""
    total, before = 0.0, None
    for k in range(30):
        value = math.sin(x * k * 0.3 + 0.5)
        if before is not None and value * before < 0:
            total += k - value / (value - before)
        before = value
    return total


def compressor(x: Floats, threshold: float) -> float:
    envelope, out = 0.0, 0.0
    for sample in x:
        size = np.abs(sample)
        envelope = max(size, 0.8 * envelope + 0.2 * size)
        gain = (threshold / envelope) ** 0.5 if envelope > threshold else 1.0
        out += (sample * gain) ** 2
    return out


X = np.array([0.7, -1.2, 2.3, 0.1, -0.5, 0.9, 1.4, -0.8])

PROGRAMS = (
    Program(fourier_recursive, (0.7,), (1.9,)),
    Program(fourier_loops, (X[:4],)),
    Program(convolution_loops, (X[:4], X[5:]), argnums=(0, 1)),
    Program(smoothing, (0.7, 0.3), argnums=(0, 1)),
    Program(recursive_filter, (0.7, 0.3), argnums=(0, 1)),
    Program(goertzel, (0.7,), (1.9,)),
    Program(haar, (X,)),
    Program(zero_crossings, (0.7,), (1.9,)),
    Program(compressor, (X, 0.6), argnums=(0, 1)),
)
