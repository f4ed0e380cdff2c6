"""Loops whose iterations are made at once, and those of which parts are made before them."""

import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from tinyjax import config, source
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.source.staging.function import reason_of_capture
from tinyjax.test_util import check_grads
from tools.modules import module_of

pytestmark = pytest.mark.usefixtures("double_precision")

#: The lengths of the arrays that drawn programs take: x and y; A; B; F; v.
N, M = 26, 5
SHAPES: Final = ((N,), (N,), (N, M), (M, N), (N, N), (M,))


class Draw:
    """Draws a program whose loop reads and writes parts of arrays."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def index(self) -> str:
        """Draw an index, mostly the counter."""
        return self.random.choice(["i", "i", "i", "i + 1", "i - 1"])

    def pick(self, *texts: str) -> str:
        """Draw one of some texts."""
        return self.random.choice(texts)

    def number(self, depth: int = 0) -> str:
        """Draw an expression of a number."""
        i, k = self.index(), self.random.randrange(M)
        plain = [f"x[{i}]", f"x[{i}]", f"y[{i}]", f"z[{i}]", f"A[{i}, {k}]", f"C[{i}, {k}]"]
        plain += [self.pick("0.5", "1.5", "(i + 1.0)", "s")]
        if depth == 2:
            return self.pick(*plain)
        first, last = self.pick("i", "i", "i - 1"), self.pick("i + 1", "i + 1", "i")
        made: list[Callable[[], str]] = [
            lambda: f"(A[{i}] @ v)",
            lambda: f"(v @ B[:, {i}])",
            lambda: f"np.sin({self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} {self.pick(*'+-*')} {self.number(depth + 1)})",
            lambda: f"np.sum({self.vector(depth + 1)})",
            lambda: f"({self.vector(depth + 1)} @ {self.vector(depth + 1)})",
            lambda: f"(x[:{i}] @ y[:{i}])",
            lambda: f"np.sum(x[{i}:])",
            lambda: f"(x[{i}:] @ A[{i}:, {k}])",
            lambda: f"np.sum(x[T[{first}]:T[{last}]])",
            lambda: "(x[T[i]:T[i + 1]] @ y[T[i]:T[i + 1]])",
            lambda: "(x[K[T[i]:T[i + 1]]] @ y[T[i]:T[i + 1]])",
        ]
        chosen = self.random.randrange(len(plain) + len(made))
        return plain[chosen] if chosen < len(plain) else made[chosen - len(plain)]()

    def vector(self, depth: int = 0) -> str:
        """Draw an expression of a vector."""
        i = self.index()
        plain = [f"A[{i}]", "v", f"B[:, {i}]", f"C[{i}]", f"D[:, {i}]"]
        if depth == 2:
            return self.pick(*plain)
        made: list[Callable[[], str]] = [
            lambda: f"({self.vector(depth + 1)} {self.pick(*'+-*')} {self.vector(depth + 1)})",
            lambda: f"({self.number(depth + 1)} * {self.vector(depth + 1)})",
            lambda: f"np.cos({self.vector(depth + 1)})",
            lambda: "(x[:] @ A)",
        ]
        chosen = self.random.randrange(len(plain) + len(made))
        return plain[chosen] if chosen < len(plain) else made[chosen - len(plain)]()

    def statement(self) -> list[str]:
        """Draw the lines of a statement."""
        i, k = self.index(), self.random.randrange(M)
        op = self.pick("=", "=", "+=", "-=", "*=")
        by = self.pick("+=", "-=", "*=")
        item = self.pick("A[i, k]", "v[k] * x[i]", "C[i, k]", "B[k, i]")
        factor = self.pick("v[k]", "C[i, k]", "x[i]", "z[i]")
        term = self.pick("F[i, k] * x[k]", "F[k, i] * y[i]", "E[i, k - 1] + x[k]")
        bounds = self.pick("i", "i, N", "T[i], T[i + 1]")
        statements: list[Callable[[], list[str]]] = [
            lambda: [f"z[{i}] {op} {self.number()}"],
            lambda: [f"z[{i}] {op} {self.number()}"],
            lambda: [f"C[{i}] {op} {self.vector()}"],
            lambda: [f"C[{i}, {k}] {op} {self.number()}"],
            lambda: [f"D[:, {i}] {op} {self.vector()}"],
            lambda: [f"s = {self.number()}"],
            lambda: [f"t = t + {self.number()}"],
            lambda: ["E[i, i:] = x[i] * y[i:]"],
            lambda: ["E[i:, i] = x @ F[:, i:]"],
            lambda: [f"E[i, {i}] {op} {self.number()}"],
            lambda: ["for k in range(M):", f"    z[{i}] {by} A[i, k] * {self.number(1)}"],
            lambda: ["for k in range(M):", f"    C[{i}, k] {op} B[k, {i}] * {factor}"],
            lambda: [
                f"q = {self.number(1)}",
                "for k in range(M):",
                f"    q = q * 0.5 + {item}",
                f"z[{i}] {op} q",
            ],
            lambda: ["for k in range(N):", f"    E[i, k] {op} {term}"],
            lambda: [f"for k in range({bounds}):", f"    z[{i}] += x[k] * F[i, k]"],
        ]
        return self.random.choice(statements)()

    def program(self) -> str:
        """Draw a program."""
        lines = [line for _ in range(self.random.choice([1, 1, 2, 3])) for line in self.statement()]
        first, last = self.random.choice([(1, N - 1), (2, N - 1), (1, N - 2)])
        return "\n".join(
            [
                "def program(x, y, A, B, F, v, T, K):",
                "    z, C, D = x * 0.3, A * 0.2, B * 0.1",
                "    E = np.zeros((N, N))",
                "    s, t = 0.7, 0.0",
                f"    for i in range({first}, {last}):",
                *[f"        {line}" for line in lines],
                "    whole = np.sum(np.sin(z)) + np.sum(C * A) + np.sum(D * D)",
                "    return whole + np.sum(E * F) + s + t",
                "",
            ]
        )


HEAD: Final = f"import numpy as np\nfrom tinyjax import numpy as jnp\n\nN, M = {N}, {M}\n\n\n"


def check_drawn(seed: int, folder: Path) -> None:
    """Compare the value and the gradient of a drawn program with those of Python's own loop."""
    rng = np.random.default_rng(seed)
    args: list[Any] = [rng.normal(size=shape) * 0.6 for shape in SHAPES]
    is_sorted = seed % 3 > 0
    bounds = np.sort(rng.integers(0, N + 1, N + 2)) if is_sorted else rng.integers(-3, N + 1, N + 2)
    args += [bounds, rng.integers(0, N, N)]
    text = Draw(seed).program()
    program = module_of(HEAD + text, folder / f"drawn_{seed}.py").program
    staged = tinyjax.jit(program, control_flow="source")
    expected = program(*args)
    assert reason_of_capture(program, tuple(args), {}) is None, text
    np.testing.assert_allclose(staged(*args), expected, 1e-9, 1e-9, err_msg=text)
    places = (0, 2, 3)
    slopes = source.grad(program, argnums=places)(*args)
    compiled = tinyjax.jit(tinyjax.grad(staged, argnums=places))(*args)
    for got, slope in zip(compiled, slopes, strict=True):
        np.testing.assert_allclose(got, slope, 1e-8, 1e-8, err_msg=text)


@pytest.mark.parametrize("seed", range(24))
def test_drawn_loops(seed: int, tmp_path: Path) -> None:
    check_drawn(seed, tmp_path)


@pytest.mark.fuzz
@pytest.mark.parametrize("start", range(1000, 6000, 250))
def test_many_drawn_loops(start: int, tmp_path: Path) -> None:
    for seed in range(start, start + 250):
        check_drawn(seed, tmp_path)


def covariance(data: Any) -> Any:
    cov = np.zeros((data.shape[1], data.shape[1]))
    for i in range(data.shape[1]):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / 3.0
    return cov


def rows_of_matrix(bounds: Any, columns: Any, values: Any, x: Any) -> Any:
    y = np.empty(bounds.size - 1)
    for i in range(bounds.size - 1):
        part = columns[bounds[i] : bounds[i + 1]]
        y[i] = values[bounds[i] : bounds[i + 1]] @ x[part]
    return y


def columns_of_triangle(a: Any, b: Any) -> Any:
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    return b


def polynomials(x: Any, c: Any) -> Any:
    out = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        total = 0.0
        for k in range(c.shape[0]):
            total = total * x[i] + c[k]
        out[i] = total
    return out


def loops_of(program: jx.Jaxpr) -> list[jx.JaxprEqn]:
    """Return the loops in a program, the outer before those inside."""
    loops: list[jx.JaxprEqn] = []
    for eqn in program.eqns:
        loops += [eqn] * (eqn.primitive.name in ("scan", "while"))
        for inner in jx.subjaxprs(eqn.params):
            loops += loops_of(inner)
    return loops


def names_in(program: jx.Jaxpr) -> set[str]:
    """Return the names of the primitives in a program and those that it holds."""
    names = {eqn.primitive.name for eqn in program.eqns}
    inner = [names_in(j) for eqn in program.eqns for j in jx.subjaxprs(eqn.params)]
    return names.union(*inner)


def staged_program(fun: Any, *args: Any) -> jx.Jaxpr:
    return tinyjax.make_jaxpr(tinyjax.jit(fun, control_flow="source"))(*args).jaxpr


def test_products_are_made_before_a_loop() -> None:
    data = np.random.default_rng(0).normal(size=(30, 40))
    staged = tinyjax.jit(covariance, control_flow="source")
    np.testing.assert_allclose(staged(data), covariance(data))
    (loop,) = loops_of(staged_program(covariance, data))
    assert "dot_general" not in names_in(loop.params.jaxpr)


@pytest.mark.parametrize("is_in_order", [True, False])
def test_rows_of_a_sparse_matrix(is_in_order: bool) -> None:
    """Windows that follow each other are summed up in one pass, others one by one."""
    rng = np.random.default_rng(1)
    bounds = rng.integers(0, 201, 81)
    if is_in_order:
        bounds.sort()
    args = bounds, rng.integers(0, 50, 200), rng.normal(size=200), rng.normal(size=50)
    staged = tinyjax.jit(rows_of_matrix, control_flow="source")
    expected = rows_of_matrix(*args)
    np.testing.assert_allclose(staged(*args), expected, atol=1e-12)

    def loss(values: Any, x: Any) -> Any:
        return tinyjax.numpy.sum(staged(args[0], args[1], values, x) ** 2)

    check_grads(loss, args[2:], order=2)
    inputs = np.stack([args[3], 2 * args[3]])
    several = tinyjax.vmap(staged, in_axes=(None, None, None, 0))(*args[:3], inputs)
    np.testing.assert_allclose(several, [expected, 2 * expected], atol=1e-12)


#: Masks of a vector of places ``k`` beside a window, by bounds that are numbers.
MASKS: Final = (
    "(k < 30) & (k >= 20)",
    "(k >= 20) & (k < 30)",
    "(k < 30) & (k < 25)",
    "(k >= 20) & (k >= 25)",
    "k < 30.5",
    "k >= 20",
    "(k >= T[i]) & (k < 30)",
    "(k < T[i + 1]) & (k >= 4)",
    "(k < T[i + 1]) & (k >= T[i])",
    "(k >= T[i]) | (k < 30)",
    "~(k < T[i])",
    "k == T[i]",
)


@pytest.mark.parametrize("mask", MASKS)
def test_masks_that_a_program_writes(mask: str, tmp_path: Path) -> None:
    text = (
        "def program(x, y, T):\n"
        "    k, out = jnp.arange(60), np.zeros(39)\n"
        "    for i in range(39):\n"
        f"        part = np.where({mask}, y, 0.0)\n"
        "        out[i] = np.where((k >= T[i]) & (k < T[i + 1]), x, 0.0) @ part + np.sum(part)\n"
        "    return np.sum(out**2)\n"
    )
    program = module_of(HEAD + text, tmp_path / "of_tinyjax.py").program
    expected = module_of(HEAD + text.replace("jnp", "np"), tmp_path / "of_numpy.py").program
    rng = np.random.default_rng(5)
    bounds = np.sort(rng.integers(0, 61, 40))
    x, y = rng.random(60), rng.random(60)
    assert reason_of_capture(program, (x, y, bounds), {}) is None
    staged = tinyjax.jit(program, control_flow="source")
    np.testing.assert_allclose(staged(x, y, bounds), expected(x, y, bounds))
    slopes = source.grad(expected, argnums=(0, 1))(x, y, bounds)
    compiled = tinyjax.jit(tinyjax.grad(staged, argnums=(0, 1)))(x, y, bounds)
    for got, slope in zip(compiled, slopes, strict=True):
        np.testing.assert_allclose(got, slope, atol=1e-12)


def test_nan_outside_of_a_window_is_in_no_sum() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=60)
    values[7] = np.nan
    bounds = np.arange(0, 61, 2)
    args = bounds, rng.integers(0, 50, 60), values, rng.normal(size=50)
    result = np.asarray(tinyjax.jit(rows_of_matrix, control_flow="source")(*args))
    np.testing.assert_allclose(result, rows_of_matrix(*args))
    assert np.flatnonzero(np.isnan(result)).tolist() == [3]


def test_independent_iterations_are_arrays() -> None:
    rng = np.random.default_rng(3)
    x, c = rng.normal(size=200), rng.normal(size=40)
    staged = tinyjax.jit(polynomials, control_flow="source")
    np.testing.assert_allclose(staged(x, c), polynomials(x, c))
    (loop,) = loops_of(staged_program(polynomials, x, c))
    assert loop.params.length == 40
    a, b = rng.normal(size=(20, 20)), rng.normal(size=(20, 30))
    triangle = tinyjax.jit(columns_of_triangle, control_flow="source")
    np.testing.assert_allclose(triangle(a, b), columns_of_triangle(a, b.copy()))
    (loop,) = loops_of(staged_program(columns_of_triangle, a, b))
    assert loop.params.length == 20


def shifted(x: Any, bits: Any) -> Any:
    out = np.zeros(x.shape[0], np.int64)
    for i in range(x.shape[0]):
        out[i] = (x[i] >> bits[i]) // bits[i]
    return out


def until_large(x: Any, divisors: Any) -> Any:
    i = 0
    total = 1
    while total < 1000:
        total = total + x[i] // divisors[i]
        i = i + 1
    return total


def test_checks_are_made_behind_a_loop() -> None:
    """The exception is that of the first iteration, and its first check, that fails."""
    x, bits = np.arange(40), np.ones(40, np.int64)
    staged = tinyjax.jit(shifted, control_flow="source")
    np.testing.assert_array_equal(staged(x, bits), shifted(x, bits))
    for loop in loops_of(staged_program(shifted, x, bits)):
        assert "error_if" not in names_in(loop.params.jaxpr)
    bits[20], bits[30] = 0, -1
    with pytest.raises(tinyjax.errors.CheckFailedError, match="ZeroDivisionError"):
        staged(x, bits)
    bits[10] = -1
    with pytest.raises(tinyjax.errors.CheckFailedError, match="negative shift count"):
        staged(x, bits)


def test_a_failure_ends_a_loop_of_unknown_length() -> None:
    x, divisors = np.full(50, 100), np.ones(50, np.int64)
    staged = tinyjax.jit(until_large, control_flow="source")
    assert int(staged(x, divisors)) == until_large(x, divisors)
    with pytest.raises(tinyjax.errors.CheckFailedError, match="ZeroDivisionError"):
        staged(-x, np.zeros(50, np.int64))


def test_explain_says_which_loops_are_arrays(caplog: pytest.LogCaptureFixture) -> None:
    data = np.random.default_rng(0).normal(size=(30, 40))
    with config.scoped(explain=True), caplog.at_level(logging.WARNING, "tinyjax"):
        tinyjax.jit(covariance, control_flow="source")(data)
        tinyjax.jit(shifted, control_flow="source")(np.arange(40), np.ones(40, np.int64))
    assert "its products and sums are made before it; iterations read or write" in caplog.text
    assert "test_vectorization.py" in caplog.messages[0]
    assert "its iterations are made at once" in caplog.text


def exchanged(x: Any, z: Any) -> Any:
    a, b = x[0], x[1]
    for i in range(2000):
        a, b = b, a + x[i % 300]
    return a - 2 * b + z[0]


def handed_on(x: Any, z: Any) -> Any:
    a, b, total = 0.0, z[1], z[0]
    for _ in range(2000):
        total += a
        a = b
    return total + a + x[0]


def of_the_last(x: Any, z: Any) -> Any:
    z, s = z.copy(), 0.0
    for i in range(300):
        s = x[i] * 2
        z[0] = s
    return s + np.sum(z)


def two_totals(x: Any, z: Any) -> Any:
    s, t, out = z[0], 1.0, np.zeros(300)
    for i in range(300):
        s += x[i]
        t -= x[i] * 0.5
        t += 1.0
        out[i] = x[i] ** 2
    return s * t + np.sum(out)


def total_of_totals(x: Any, z: Any) -> Any:
    s, t = z[0], 0.0
    for i in range(2000):
        s += x[i % 300]
        t += s
    return t


def total_array(x: Any, z: Any) -> Any:
    total = np.zeros((5, 5))
    for i in range(300):
        total += x[i] * np.outer(z, z)
        total -= 0.1
    return np.sum(total**2)


def total_of_integers(x: Any, z: Any) -> Any:
    n, m = 0, 1
    for i in range(2000):
        n += i * 2
        m = m + i % 3
    return x[n % 7] * m + z[0]


@pytest.mark.parametrize(
    "fun",
    [
        exchanged,
        handed_on,
        of_the_last,
        two_totals,
        total_of_totals,
        total_array,
        total_of_integers,
    ],
)
def test_what_iterations_hand_on(fun: Any) -> None:
    rng = np.random.default_rng(4)
    x, z = rng.random(300), rng.random(5)
    assert reason_of_capture(fun, (x, z), {}) is None
    staged = tinyjax.jit(fun, control_flow="source")
    np.testing.assert_allclose(staged(x, z), fun(x, z))
    slopes = source.grad(fun, argnums=(0, 1))(x, z)
    compiled = tinyjax.jit(tinyjax.grad(staged, argnums=(0, 1)))(x, z)
    for got, slope in zip(compiled, slopes, strict=True):
        np.testing.assert_allclose(got, slope, atol=1e-12)
