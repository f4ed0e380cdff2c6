"""``jit(compiler="c")``: XLA's results, for many sizes by few compilations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import config, export, lax, random
from tinyjax._extensions.c import compiling, tier
from tinyjax.errors import ArgumentError

Draw = Callable[[int], tuple[Any, ...]]
_RNG = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    tier.forget()
    yield
    tier.forget()


def _arguments_of_compiler(monkeypatch: pytest.MonkeyPatch, position: int) -> list[Any]:
    """Return a list to which each compilation adds an argument of ``library_code``."""
    arguments: list[Any] = []
    compile_one = compiling.library_code

    def note(*args: Any) -> bytes:
        arguments.append(args[position])
        return compile_one(*args)

    monkeypatch.setattr(compiling, "library_code", note)
    return arguments


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that the C compiler compiles."""
    return _arguments_of_compiler(monkeypatch, 1)


def _vector(n: int) -> tuple[Any, ...]:
    return (_RNG.normal(size=n),)


def _floats(n: int) -> tuple[Any, ...]:
    return (_RNG.normal(size=(n, 4)).astype(np.float32), _RNG.normal(size=4).astype(np.float32))


def _system(n: int) -> tuple[Any, ...]:
    return _RNG.normal(size=(n, n)) + n * np.eye(n), _RNG.normal(size=n)


def _recurrence(x: Any, w: Any) -> Any:
    def step(c: Any, t: Any) -> Any:
        c = jnp.tanh(w * c + t)
        return c, c.sum()

    last, sums = lax.scan(step, jnp.ones(4, x.dtype), x)
    return last @ w + jnp.sort(jnp.cumsum(sums))[::-1] @ sums / len(x)


def _newton(x: Any) -> Any:
    def is_far(state: Any) -> Any:
        return jnp.abs(state[0] ** 3 - state[1]) > 1e-12

    def step(state: Any) -> Any:
        z, a = state
        return z - (z**3 - a) / (3 * z**2), a

    return lax.while_loop(is_far, step, (1.0 + 0 * x[0], 2 + x @ x))[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], Draw]] = {
    "means": (lambda x: (x - x.mean()).var() + jnp.median(x) + jnp.max(x), _vector),
    "softmax": (lambda x: jnp.exp(x - x.max()) @ x / jnp.exp(x - x.max()).sum(), _vector),
    "recurrence": (_recurrence, _floats),
    "products": (lambda x, w: jnp.sum((x @ x.T) @ jnp.sin(x * w)), _floats),
    "solution": (lambda a, b: jnp.linalg.solve(a, b) @ b + jnp.linalg.slogdet(a)[1], _system),
    "factors": (lambda a, b: jnp.linalg.cholesky(a @ a.T).sum() + b.sum(), _system),
    "places": (
        lambda x: x[jnp.argsort(x)][: len(x) // 2 + 1].sum() + x.at[0].add(2.0) @ x,
        _vector,
    ),
    "differences": (lambda x: jnp.sum(jnp.diff(jnp.pad(x, 3)) ** 2) + jnp.roll(x, 1) @ x, _vector),
    "counts": (lambda x: jnp.arange(len(x)) @ x + jnp.linspace(0, 1, len(x)) @ x, _vector),
    "decisions": (lambda x: lax.cond(x[0] > 0, jnp.sum, lambda y: y @ y, x), _vector),
    "noise": (lambda x: x @ random.normal(random.key(3), x.shape, x.dtype), _vector),
}
TRANSFORMATIONS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "values": lambda f: f,
    "gradients": tinyjax.grad,
    "second": lambda f: tinyjax.grad(lambda x, *rest: tinyjax.grad(f)(x, *rest).sum()),
}
#: In each form a program is written once for one size, and once for the others.
SIZES = {"values": (1, 2, 5, 18, 33, 64, 101), "gradients": (7, 40, 90), "second": (6, 31)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_xla(name: str) -> None:
    fun, draw = PROGRAMS[name]
    for kind, sizes in SIZES.items():
        program = TRANSFORMATIONS[kind](fun)
        in_c, by_xla = tinyjax.jit(program, compiler="c"), tinyjax.jit(program, tier="compiled")
        for n in sizes:
            args = draw(n)
            rtol = 1e-3 if args[0].dtype == np.float32 else 1e-8
            for _ in range(2):  # the second call takes the short way
                outs = in_c(*args)
                np.testing.assert_allclose(outs, by_xla(*args), rtol, rtol, err_msg=f"{kind}, {n}")
            assert in_c.explain(*args).reasons[-1].startswith("compiled as C"), (kind, n)


@pytest.mark.parametrize("name", ["softmax", "recurrence", "products", "differences", "counts"])
def test_a_hundred_lengths_take_few_compilations(name: str, compilations: list[str]) -> None:
    fun, draw = PROGRAMS[name]
    in_c, plain = tinyjax.jit(fun, compiler="c"), tinyjax.jit(fun)
    for n in range(20, 120):
        args = draw(n)
        rtol = 1e-4 if args[0].dtype == np.float32 else 1e-9
        np.testing.assert_allclose(in_c(*args), plain(*args), rtol, rtol)
    assert len(compilations) <= 4


def test_programs_whose_constants_alone_differ_are_told_apart() -> None:
    """Tables are arguments, so that the text is the same."""
    for turn in range(4):
        table = np.arange(20.0) ** 2 + turn
        for n in (20 + turn, 30 + turn):
            fun = tinyjax.jit(lambda x, t=table: x[:20] @ jnp.asarray(t) + x.sum(), compiler="c")
            x = _RNG.normal(size=n)
            np.testing.assert_allclose(fun(x), x[:20] @ table + x.sum(), 1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8])
def test_constants_of_the_least_integers(kind: Any) -> None:
    """Those that count are written as such, as far as C's int goes."""
    strict = (*compiling.FLAGS, "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    least = np.full(5, np.iinfo(kind).min, kind)
    for numbers in (least, np.arange(5, dtype=kind) + least):
        program = export.c(lambda x, n=numbers: jnp.maximum(x, jnp.asarray(n)))(least)
        np.testing.assert_array_equal(program.compile(strict)(least), numbers)


def test_transformations_of_it_and_in_it() -> None:
    fun = tinyjax.jit(lambda x: jnp.sum(jnp.sin(x) * x), compiler="c")
    x = _RNG.normal(size=12)
    slope = np.cos(x) * x + np.sin(x)
    np.testing.assert_allclose(tinyjax.grad(fun)(x), slope, 1e-12)
    np.testing.assert_allclose(tinyjax.jit(tinyjax.grad(fun))(x), slope, 1e-12)
    np.testing.assert_allclose(tinyjax.jvp(fun, (x,), (x,))[1], slope @ x, 1e-12)
    np.testing.assert_allclose(tinyjax.vmap(tinyjax.grad(fun))(np.stack([x, x])), [slope, slope])
    curvature = np.diag(2 * np.cos(x) - np.sin(x) * x)
    np.testing.assert_allclose(tinyjax.hessian(fun)(x), curvature, 1e-9, 1e-12)
    in_another = tinyjax.jit(lambda y: tinyjax.grad(fun)(y) + 1, compiler="c")
    np.testing.assert_allclose(in_another(x), slope + 1, 1e-12)


@pytest.mark.parametrize(
    ("fun", "why"),
    [
        (lambda x: jnp.abs(jnp.fft.fft(x)).sum(), "complex"),
        (lambda x: tinyjax.pure_callback(np.sum, x[0], x), "callback"),
        (lambda x: x.astype(jnp.bfloat16).sum(), "bfloat16"),
        (lambda x: jnp.linalg.eigvalsh(jnp.outer(x, x)), "eig"),
    ],
)
def test_what_c_has_not_xla_compiles(fun: Callable[[Any], Any], why: str) -> None:
    in_c, x = tinyjax.jit(fun, compiler="c"), np.arange(3.0)
    np.testing.assert_allclose(in_c(x), tinyjax.jit(fun)(x), 1e-6)
    reason = in_c.explain(x).reasons[-1]
    assert reason.startswith("XLA compiles it"), reason
    assert why in reason


def test_keys_are_not_passed_to_c() -> None:
    draw = tinyjax.jit(lambda key: random.normal(key, (3,)), compiler="c")
    key = random.key(5)
    np.testing.assert_array_equal(draw(key), random.normal(key, (3,)))
    assert "keys" in draw.explain(key).reasons[-1]


def test_without_a_compiler_nothing_is_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    fun = tinyjax.jit(lambda x: x * 3, compiler="c")
    assert fun(2.0) == 6
    assert "needs a C compiler" in fun.explain(2.0).reasons[-1]


def test_the_cache_on_disk_has_machine_code(tmp_path: Path, compilations: list[str]) -> None:
    fun = tinyjax.jit(lambda x: jnp.cumsum(x) * x.shape[0], compiler="c")
    with config.scoped(cache_dir=tmp_path / "programs"):
        for turn in range(2):
            tinyjax.clear_caches()
            for n in (10, 11, 12):
                x = np.arange(float(n))
                np.testing.assert_allclose(fun(x), np.cumsum(x) * n)
            assert len(compilations) == 2, turn


def test_the_setting_and_the_argument(compilations: list[str]) -> None:
    x = np.ones(3)
    with config.scoped(compiler="c"):
        tinyjax.jit(lambda x: x + 1)(x)
        assert len(compilations) == 1
        tinyjax.jit(lambda x: x + 2, compiler="xla")(x)
        assert len(compilations) == 1
    tinyjax.jit(lambda x: x + 3)(x)
    assert len(compilations) == 1
    with raises(ArgumentError, match="compiler_options"):
        tinyjax.jit(lambda x: x, compiler="c", compiler_options={"xla_cpu_enable_fast_math": True})
    with raises(ArgumentError, match=r"export\.c"):
        tinyjax.jit(lambda x: x, compiler="c").lower(x).compile()


def test_arguments_of_all_kinds() -> None:
    fun = tinyjax.jit(lambda a, b, n: {"sum": a.sum(0) * b, "more": (n + 1, a > 0)}, compiler="c")
    square = np.arange(6.0).reshape(2, 3)
    for a in (square, square.T.copy().T, square[:, ::-1], jnp.asarray(square), square[:0]):
        out = fun(a, 2, n=np.int32(3))
        np.testing.assert_array_equal(out["sum"], np.asarray(a).sum(0) * 2)
        np.testing.assert_array_equal(out["more"][1], np.asarray(a) > 0)
        assert out["more"][0] == 4
        assert out["more"][0].dtype == np.int32


def test_donated_arguments_are_given_up() -> None:
    fun = tinyjax.jit(lambda x: x * 2, compiler="c", donate_argnums=0)
    x = jnp.ones(4)
    np.testing.assert_array_equal(fun(x), 2)
    assert x.is_deleted()


def test_threads_share_a_program() -> None:
    fun = tinyjax.jit(lambda x: jnp.sort(x)[::-1].cumsum(), compiler="c")
    arrays = [_RNG.normal(size=200) for _ in range(8)]
    results: dict[int, Any] = {}

    def work(i: int) -> None:
        results[i] = [np.asarray(fun(arrays[i])) for _ in range(20)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, outs in results.items():
        for out in outs:
            np.testing.assert_allclose(out, np.sort(arrays[i])[::-1].cumsum(), 1e-12)


PRODUCTS = (
    "ij,jk->ik",
    "ij,kj->ik",
    "ji,jk->ik",
    "ji,kj->ki",
    "bij,bjk->bik",
    "bji,bkj->bik",
    "ibj,kjb->bik",
    "ijm,jmk->ik",
    "ijm,jmkl->ikl",
    "ij,jk->ki",
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("subscripts", PRODUCTS)
def test_products_by_blas(subscripts: str, dtype: Any, compilations: list[str]) -> None:
    sizes = {"i": 21, "j": 22, "k": 23, "l": 2, "m": 3, "b": 4}
    args = [
        _RNG.normal(size=[sizes[x] for x in axes]).astype(dtype)
        for axes in subscripts.partition("->")[0].split(",")
    ]
    fun = tinyjax.jit(lambda x, y: jnp.einsum(subscripts, x, y), compiler="c")
    rtol = 1e-4 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(fun(*args), np.einsum(subscripts, *args), rtol, 10 * rtol)
    assert ("gemm" in compilations[-1]) == bool(tier.blas())


@pytest.mark.parametrize("shape", [(50,), (2, 50), (60,)])
@pytest.mark.parametrize("kind", [f"{i:04b}" for i in range(16)])
def test_systems_by_blas(shape: tuple[int, ...], kind: str) -> None:
    left, lower, transposed, unit = (x == "1" for x in kind)
    *stack, n = shape
    a = _RNG.normal(size=(*stack, n, n)) / n + np.eye(n)
    b = _RNG.normal(size=(*stack, *((n, 3) if left else (3, n))))

    def solve(a: Any, b: Any) -> Any:
        return lax.linalg.triangular_solve(
            a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit
        )

    expected = tinyjax.jit(solve, tier="compiled")(a, b)
    np.testing.assert_allclose(tinyjax.jit(solve, compiler="c")(a, b), expected, 1e-9, 1e-9)


def test_factors_by_lapack(compilations: list[str]) -> None:
    x = _RNG.normal(size=(2, 70, 70))
    definite = x @ x.swapaxes(1, 2) + np.eye(70)
    definite[1, 40, 40] = -1.0
    factor = tinyjax.jit(lambda a: jnp.linalg.cholesky(2 * a), compiler="c")(definite)
    np.testing.assert_allclose(factor[0], np.linalg.cholesky(2 * definite[0]), 1e-9, 1e-9)
    np.testing.assert_array_equal(np.isnan(factor[1]), np.tril(np.ones((70, 70), bool)))
    assert ("potrf" in compilations[-1]) == bool(tier.blas())


def test_without_blas(monkeypatch: pytest.MonkeyPatch, compilations: list[str]) -> None:
    monkeypatch.setattr(tier, "blas", lambda: ())
    x = _RNG.normal(size=(40, 40))
    fun = tinyjax.jit(lambda x: x @ x + 1, compiler="c")
    np.testing.assert_allclose(fun(x), x @ x + 1, 1e-9, 1e-9)
    assert "gemm" not in compilations[-1]


@pytest.mark.parametrize("layout", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [
        {"window_strides": (1, 1), "padding": "SAME"},
        {"window_strides": (2, 1), "padding": ((0, 2), (1, 0)), "rhs_dilation": (1, 2)},
        {"window_strides": (1, 1), "padding": ((0, 0), (1, 0)), "lhs_dilation": (2, 1)},
        {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
    ],
)
def test_convolutions_by_blas(
    options: dict[str, Any], dtype: Any, layout: tuple[str, str, str]
) -> None:
    sizes = {"N": 3, "C": 4, "H": 13, "W": 10} | {"O": 8, "I": 4}
    window = sizes | {"H": 3, "W": 2, "I": 4 // options.get("feature_group_count", 1)}
    x = _RNG.normal(size=[sizes[a] for a in layout[0]]).astype(dtype)
    kernel = _RNG.normal(size=[window[a] for a in layout[1]]).astype(dtype)

    def convolved(x: Any, kernel: Any) -> Any:
        return lax.conv_general_dilated(x, kernel, **options, dimension_numbers=layout)

    slope = tinyjax.grad(lambda x, k: jnp.sum(convolved(x, k) ** 2), (0, 1))
    rtol = 1e-3 if dtype == np.float32 else 1e-9
    for fun in (convolved, slope):
        outs = tinyjax.jit(fun, compiler="c")(x, kernel)
        expected = tinyjax.jit(fun, tier="compiled")(x, kernel)
        for a, b in zip(tinyjax.tree.leaves(outs), tinyjax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol, 10 * rtol)


# Programs of many operations on few elements, which XLA would fuse


def _shared(operations: int) -> Callable[[Any], Any]:
    """Return a function of so many operations, each of which several others read."""

    def function(x: Any) -> Any:
        rng = np.random.default_rng(operations)
        terms = [x[0], x[1], x[2]]
        for _ in range(operations // 4):
            u, v, w = (terms[i] for i in rng.integers(max(0, len(terms) - 30), len(terms), 3))
            terms += [0.5 * (u * v + w), jnp.where(u > w, jnp.sin(v), v - w)]
        return sum(terms[-6:])

    return function


def _differences(function: Callable[[Any], Any], x: Any) -> Any:
    steps = 1e-6 * np.eye(len(x))
    return np.array([(function(x + h) - function(x - h)) / 2e-6 for h in steps])


@pytest.mark.parametrize("inner", ["straight", "scan", "while"])
def test_programs_that_xla_would_take_hours_for_become_c(
    inner: str, compilations: list[str]
) -> None:
    step, x = _shared(400), np.array([0.3, -0.2, 0.9])

    def function(x: Any) -> Any:
        if inner == "straight":
            return step(x)
        if inner == "scan":
            return lax.scan(lambda c, _: (0.9 * c + step(c) / 50, None), x, None, 3)[0].sum()
        return lax.while_loop(lambda c: c[0] < 2, lambda c: c + step(c) ** 2 + 0.1, x).sum()

    derivative = tinyjax.grad(function) if inner != "while" else function
    expected = _differences(function, x) if inner != "while" else function(x)
    compiled = tinyjax.jit(derivative, tier="compiled")
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-6)
    np.testing.assert_allclose(tinyjax.jit(derivative)(x), expected, rtol=1e-6)
    assert len(compilations) == 1


def test_c_compiles_after_the_calls_that_numpy_evaluates(compilations: list[str]) -> None:
    function, x = tinyjax.grad(_shared(500)), np.array([0.3, -0.2, 0.9])
    compiled = tinyjax.jit(function)
    evaluated = compiled(x)
    assert not compilations
    calls = 0
    while not compilations:  # in the background
        calls += 1
        compiled(x)
    assert 30 < calls < 3000
    np.testing.assert_allclose(compiled(x), evaluated, rtol=1e-12)
    assert len(compilations) == 1
    assert "compiled as C" in str(compiled.explain(x))


def test_long_programs_of_numbers_are_not_optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = _arguments_of_compiler(monkeypatch, 2)
    function, x = tinyjax.grad(_shared(2400)), np.array([0.3, -0.2, 0.9])
    np.testing.assert_allclose(tinyjax.jit(function, compiler="c")(x), function(x), rtol=1e-12)
    assert "-O0" in flags[-1]


@pytest.mark.parametrize("compiler", ["/nowhere/cc", "/bin/false"])
def test_without_a_compiler_of_c_xla_compiles(
    compiler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    function, x = _shared(500), np.array([0.3, -0.2, 0.9])
    compiled = tinyjax.jit(function, tier="compiled")
    np.testing.assert_allclose(compiled(x), function(x), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: sum(jnp.sin(k * x[0]) for k in range(60)) - 60 * x[0] ** 2,
        lambda x: [jnp.cos(k * x) * k for k in range(300)],
        lambda x: sum(jnp.tanh(x * k + jnp.zeros(5000)) for k in range(300)),
    ],
    ids=["short", "unconnected", "large"],
)
def test_other_programs_are_fused(function: Callable[[Any], Any], compilations: list[str]) -> None:
    x = np.array([0.3])
    compiled = tinyjax.jit(function, tier="compiled")
    tinyjax.tree.map(np.testing.assert_allclose, compiled(x), function(x))
    assert not compilations
