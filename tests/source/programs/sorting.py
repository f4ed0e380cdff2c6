"""Sorting, searching, texts, and branches upon branches."""

import math
from collections.abc import Sequence

import numpy as np

from programs.table import Floats, Program


def weighted(xs: Sequence[float]) -> float:
    return sum((i + 1) * x for i, x in enumerate(xs))


def bubble_sort(x: float) -> float:
    xs = [x, 0.5, x * x, -1.0, 2 * x]
    n = len(xs)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if xs[j] > xs[j + 1]:
                xs = [*xs[:j], xs[j + 1], xs[j], *xs[j + 2 :]]
                swapped = True
        if not swapped:
            break
    return weighted(xs)


def insertion_sort(xs: Floats) -> float:
    ordered: list[float] = []
    for x in xs:
        place = len(ordered)
        while place > 0 and ordered[place - 1] > x:
            place -= 1
        ordered = (
            [*ordered[:place], x * x, *ordered[place:]]
            if x > 2
            else [*ordered[:place], x, *ordered[place:]]
        )
    return weighted(ordered)


def quicksort(x: float) -> float:
    def ordered(xs: list[float]) -> list[float]:
        if len(xs) <= 1:
            return xs
        pivot, *rest = xs
        smaller = [y for y in rest if y < pivot]
        larger = [y for y in rest if not y < pivot]
        return [*ordered(smaller), pivot, *ordered(larger)]

    return weighted(ordered([x, 0.3, math.sin(x), 1.5, x * x]))


def merge_sort(x: float) -> float:
    def merged(a: list[float], b: list[float]) -> list[float]:
        result: list[float] = []
        i = j = 0
        while i < len(a) and j < len(b):
            if a[i] <= b[j]:
                result, i = [*result, a[i]], i + 1
            else:
                result, j = [*result, b[j]], j + 1
        return result + a[i:] + b[j:]

    def ordered(xs: list[float]) -> list[float]:
        if len(xs) < 2:
            return xs
        half = len(xs) // 2
        return merged(ordered(xs[:half]), ordered(xs[half:]))

    return weighted(ordered([x, 0.3, math.cos(x), 1.5, x * x, -x]))


def sorting_network(a: float, b: float) -> float:
    def compare(p: float, q: float) -> tuple[float, float]:
        return (p, q) if p <= q else (q, p)

    w, x, y, z = a, b, a * b, a - b
    w, x = compare(w, x)
    y, z = compare(y, z)
    w, y = compare(w, y)
    x, z = compare(x, z)
    x, y = compare(x, y)
    return w + 2 * x**2 + 3 * y + 4 * z**2


def soft_ranks(xs: Floats) -> float:
    total = 0.0
    for i in range(len(xs)):
        rank = 0.5
        for j in range(len(xs)):
            rank += 1 / (1 + math.exp(-(xs[i] - xs[j]) / 0.3))
        total += rank * xs[i]
    return total


def quickselect(x: float) -> float:
    xs, k = [x, 2.0, 0.7, x * x, 1.1], 2
    while True:
        pivot = xs[len(xs) // 2]
        below, above = [y for y in xs if y < pivot], [y for y in xs if y > pivot]
        if k < len(below):
            xs = below
        elif k >= len(xs) - len(above):
            k, xs = k - (len(xs) - len(above)), above
        else:
            return pivot**2


def collatz(x: float, n: int) -> float:
    while n != 1:
        if n % 2 == 0:
            n, x = n // 2, x / 2 + 0.1
        else:
            n, x = 3 * n + 1, x * 1.1 + math.sin(x)
    return x


def logistic_map(rate: float) -> float:
    x = 0.3
    for _ in range(15):
        x = rate * x * (1 - x)
    return x


def mandelbrot(re: float, im: float) -> float:
    """Smoothed escape times."""
    a, b, last = 0.0, 0.0, 30
    for k in range(30):
        a, b = a * a - b * b + re, 2 * a * b + im
        if a * a + b * b > 16:
            last = k
            break
    else:
        return a * a + b * b
    return last + 1 - math.log(math.log(math.sqrt(a * a + b * b))) / math.log(2)


def complex_escape(x: float) -> float:
    z, c = 0j, complex(0.3, 0.5)
    k = 0
    while abs(z) < 2 and k < 8:
        z = z * z + c * x
        k += 1
    return abs(z) + z.real * z.imag


def parsed(text: str, x: float) -> float:
    """A polynomial from its text, by a loop over the characters."""
    total, term, digits, sign = 0.0, 1.0, "", 1
    for character in text + "+":
        if character.isdigit() or character == ".":
            digits += character
            continue
        if character == " ":
            continue
        if digits:
            term, digits = term * float(digits), ""
        if character == "x":
            term = term * x
        elif character in "+-":
            total, term = total + sign * term, 1.0
            sign = -1 if character == "-" else 1
        else:
            raise ValueError(f"what is {character!r}?")
    return total


def calculator(text: str, x: float) -> float:
    """Recursive descent: sums of products of numbers, x and parentheses."""

    def total(place: int) -> tuple[float, int]:
        value, place = product(place)
        while place < len(text) and text[place] in "+-":
            right, end = product(place + 1)
            value = value + right if text[place] == "+" else value - right
            place = end
        return value, place

    def product(place: int) -> tuple[float, int]:
        value, place = atom(place)
        while place < len(text) and text[place] in "*/":
            right, end = atom(place + 1)
            value, place = (value * right if text[place] == "*" else value / right), end
        return value, place

    def atom(place: int) -> tuple[float, int]:
        if text[place] == "(":
            value, place = total(place + 1)
            return value, place + 1
        if text[place] == "x":
            return x, place + 1
        end = place
        while end < len(text) and (text[end].isdigit() or text[end] == "."):
            end += 1
        return float(text[place:end]), end

    return total(0)[0]


def stack_machine(x: float) -> float:
    """Reverse Polish notation."""
    stack: list[float] = []
    for word in ["x", "2", "*", "x", "sin", "+", "x", "1", "+", "/", "dup", "*"]:
        if word == "x":
            stack = [*stack, x]
        elif word == "sin":
            stack = [*stack[:-1], math.sin(stack[-1])]
        elif word == "dup":
            stack = [*stack, stack[-1]]
        elif word in ("+", "*", "/"):
            *stack, a, b = stack
            stack = [*stack, a + b if word == "+" else a * b if word == "*" else a / b]
        else:
            stack = [*stack, float(word)]
    return stack[-1]


def ackermann(x: float) -> float:
    def a(m: int, n: int, value: float) -> tuple[int, float]:
        if m == 0:
            return n + 1, value * 1.01 + 0.1 * x
        if n == 0:
            return a(m - 1, 1, value)
        inner, value = a(m, n - 1, value * x)
        return a(m - 1, inner, value)

    count, value = a(2, 2, x)
    return value + 0.1 * count * x


def hanoi(x: float) -> float:
    def move(n: int, source: int, target: int, weight: float) -> float:
        if n == 0:
            return 0.0
        spare = 3 - source - target
        first = move(n - 1, source, spare, weight * x)
        return first + weight * (source + 2 * target) + move(n - 1, spare, target, weight / 2)

    return move(4, 0, 2, x)


def primes(x: float) -> float:
    total, n = 0.0, 1
    while True:
        n += 1
        for d in range(2, n):
            if d * d > n:
                continue
            if n % d == 0:
                break
        else:
            total += x**n / n
        if n > 12:
            return total


def huber(xs: Floats, width: float) -> float:
    total = 0.0
    for x in xs:
        size = abs(x)
        if size <= width:
            total += 0.5 * x * x
        else:
            total += width * (size - 0.5 * width)
    return total


def tax(income: float) -> float:
    if income < 0:
        raise ValueError("no income")
    due, below = 0.0, 0.0
    for bound, rate in ((1.0, 0.1), (2.0, 0.25), (4.0, 0.4)):
        if income <= bound:
            return due + rate * (income - below) ** 2
        due, below = due + rate * (bound - below) ** 2, bound
    return due + 0.5 * (income - below)


def greatest_common_divisor(x: float) -> float:
    """Euclid's algorithm, and a weight for each of its iterations."""
    a, b, weight = 252, 105, x
    while b:
        a, b, weight = b, a % b, weight * (x + a // b)
    return weight * a


XS = np.array([0.7, -1.2, 2.3, 0.1])

PROGRAMS = (
    Program(bubble_sort, (0.7,), (-1.3,)),
    Program(insertion_sort, (XS,)),
    Program(quicksort, (0.7,), (1.9,)),
    Program(merge_sort, (0.7,), (1.9,)),
    Program(sorting_network, (0.7, 1.9), (3.0, -0.4), argnums=(0, 1)),
    Program(soft_ranks, (XS,), curved=False),
    Program(quickselect, (0.8,), (1.3,)),
    Program(collatz, (0.7, 6), (0.3, 7)),
    Program(logistic_map, (2.5,), (3.3,)),
    Program(mandelbrot, (0.4, 0.4), (-0.1, 0.3), (1.0, 1.0), argnums=(0, 1)),
    Program(complex_escape, (0.7,), (1.8,), traced=False),
    Program(parsed, ("3 x x - 2.5x + 7 - x x x", 0.7), argnums=(1,)),
    Program(calculator, ("(x+2)*x-3/(x*x+1)", 0.7), ("x*x*x", 0.3), argnums=(1,)),
    Program(stack_machine, (0.7,), (1.9,)),
    Program(ackermann, (0.7,), (1.1,)),
    Program(hanoi, (0.7,), (1.9,)),
    Program(primes, (0.7,), (1.1,)),
    Program(huber, (XS, 1.0), argnums=(0, 1)),
    Program(tax, (0.7,), (1.5,), (9.0,)),
    Program(greatest_common_divisor, (0.7,), (1.1,)),
)
