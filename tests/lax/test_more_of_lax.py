"""Options and functions of lax that JAX has, held against the installed jax."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jaxnp
import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from raising import raises
from tinyjax import lax
from tinyjax.errors import ArgumentError, ShapeError

pytestmark = pytest.mark.usefixtures("each_tier")

X = np.arange(1, 31, dtype=np.float32).reshape(2, 3, 5) % 7
N = np.arange(30, dtype=np.int32).reshape(2, 3, 5)


@pytest.mark.parametrize("length", [0, 1, 5])
def test_loops_unrolled_whole(length: int) -> None:
    xs = X.ravel()[:length]
    for unroll in (0, True, 2):
        ours = tinyjax.jit(
            lambda xs, n=unroll: lax.scan(lambda c, x: (c + x, c), 0.0, xs, unroll=n)
        )
        total, partial = ours(xs)
        expected = jax.lax.scan(lambda c, x: (c + x, c), 0.0, xs, unroll=unroll)
        np.testing.assert_allclose(total, expected[0])
        np.testing.assert_allclose(partial, expected[1])
    for size in (0, 2):
        found = lax.map(lambda x: 2 * x, xs, batch_size=size)
        np.testing.assert_allclose(found, 2 * xs)
    with raises(ArgumentError, match="`unroll` must be"):
        lax.scan(lambda c, x: (c, x), 0.0, xs, unroll=-1)
    with raises(ArgumentError, match="batch_size of map"):
        lax.map(lambda x: x, xs, batch_size=-1)


def argmax(a: Any, b: Any) -> Any:
    """The greater value with its index: of two operands at once."""
    larger = a[0] > b[0]
    return larger * a[0] + (1 - larger) * b[0], larger * a[1] + (1 - larger) * b[1]


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 2), (0, 1, 2), ()])
def test_reductions_of_several_operands(axes: tuple[int, ...]) -> None:
    inits = (np.float32(-9), np.int32(-1))
    ours = lax.reduce((X, N), inits, argmax, axes)
    theirs = jax.lax.reduce((X, N), inits, argmax, axes)
    compiled = tinyjax.jit(lambda x, n: lax.reduce((x, n), inits, argmax, axes))(X, N)
    np.testing.assert_array_equal(ours[0], theirs[0])
    for a, b in zip(ours, compiled, strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.shape == theirs[0].shape
    assert [x.dtype for x in ours] == [x.dtype for x in theirs]


def test_reductions_by_any_function() -> None:
    def log_add(x: Any, y: Any) -> Any:
        return jnp.logaddexp(x, y)

    found = lax.reduce(X, np.float32(-np.inf), log_add, (1,))
    np.testing.assert_allclose(found, np.logaddexp.reduce(X, 1), rtol=1e-5)
    slope = tinyjax.grad(lambda x: lax.reduce(x, np.float32(-np.inf), log_add, (0, 1, 2)))(X)
    np.testing.assert_allclose(slope, tinyjax.nn.softmax(X.ravel()).reshape(X.shape), rtol=1e-5)
    empty = lax.reduce(np.zeros((0, 2), np.float32), np.float32(3), log_add, (0,))
    np.testing.assert_array_equal(empty, [3.0, 3.0])
    with raises(ShapeError, match="operands of one shape"):
        lax.reduce((X, N[0]), (0.0, 0), argmax, (0,))


def test_functions_by_platform() -> None:
    for lib in (lax, jax.lax):
        assert float(lib.platform_dependent(2.0, cpu=lambda x: x + 1, tpu=lambda x: x)) == 3.0
        assert float(lib.platform_dependent(2.0, default=lambda x: x * 5)) == 10.0
    with raises(ArgumentError, match="for tpu, but none for 'cpu'"):
        lax.platform_dependent(1.0, tpu=lambda x: x)


def newton(lib: Any) -> Any:
    def solve(f: Any, x: Any) -> Any:
        def step(_: Any, x: Any) -> Any:
            value = f(x)
            return x - lib.numpy.linalg.solve(lib.jacfwd(f)(x), value)

        return lib.lax.fori_loop(0, 12, step, x), {"f": lib.numpy.sum(f(x))}

    return solve


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours, np.asarray(theirs), rtol=1e-4)


def test_roots_by_a_solver_of_ones_own() -> None:
    def roots(lib: Any, a: Any) -> Any:
        def equation(x: Any) -> Any:
            return x**3 + 0.1 * lib.numpy.roll(x, 1) - a

        def tangent_solve(g: Any, y: Any) -> Any:
            return lib.numpy.linalg.solve(lib.jacobian(g)(y), y)

        guess = lib.numpy.ones(3)
        x, aux = lib.lax.custom_root(equation, guess, newton(lib), tangent_solve, has_aux=True)
        return x, aux["f"]

    a = np.array([2.0, 3.0, 4.0], np.float32)
    t = np.array([1.0, -1.0, 0.5], np.float32)
    same(roots(tinyjax, a)[0], roots(jax, a)[0])

    def loss(lib: Any) -> Callable[[Any], Any]:
        return lambda a: lib.numpy.sum(roots(lib, a)[0] * t)

    same(tinyjax.grad(loss(tinyjax))(a), jax.grad(loss(jax))(a))
    same(tinyjax.jit(tinyjax.grad(loss(tinyjax)))(a), jax.grad(loss(jax))(a))
    same(
        tinyjax.jvp(lambda a: roots(tinyjax, a)[0], (a,), (t,))[1],
        jax.jvp(lambda a: roots(jax, a)[0], (a,), (t,))[1],
    )
    rows = np.stack([a, 2 * a])
    same(tinyjax.vmap(loss(tinyjax))(rows), jax.vmap(loss(jax))(rows))
    second = tinyjax.hessian(loss(tinyjax))(a)
    same(second, jax.hessian(loss(jax))(a))


def by_a_callback(lib: Any, a: Any, x: Any) -> Any:
    """A solver that has no derivative."""
    return lib.pure_callback(
        np.sqrt, lib.ShapeDtypeStruct((), x.dtype), a, vmap_method="sequential"
    )


def by_a_branch(lib: Any, a: Any, x: Any) -> Any:
    """A solver whose derivative is NaN at 4: ``where`` hides a division by zero."""
    step = lib.numpy.where(a == 4, 0.0, 1 / (a - 4))
    return lib.numpy.sqrt(a) + 0 * step * x


def by_a_loop(lib: Any, a: Any, x: Any) -> Any:
    """A solver that JAX would not differentiate in reverse."""
    return lib.lax.while_loop(lambda x: abs(x * x - a) > 1e-5, lambda x: (x + a / x) / 2, x)


@pytest.mark.parametrize("solve", [None, by_a_callback, by_a_branch, by_a_loop])
def test_a_solver_that_closes_over_what_the_equation_does(
    solve: Callable[..., Any] | None,
) -> None:
    """It is not differentiated, though the derivative in what it closes over is taken."""

    def root(lib: Any, a: Any) -> Any:
        known = lib.numpy.sqrt(a)

        def search(f: Any, x: Any) -> Any:
            found = known if solve is None else solve(lib, a, x)
            return found, found

        guess = np.float32(1)
        x, aux = lib.lax.custom_root(
            lambda x: x * x - a, guess, search, lambda g, y: y / g(guess), True
        )
        return x + 0 * aux

    a, both = np.float32(4.0), np.array([4.0, 9.0], np.float32)
    ours, theirs = partial(root, tinyjax), partial(root, jax)
    same(tinyjax.jvp(ours, (a,), (a,)), jax.jvp(theirs, (a,), (a,)))
    for _ in range(2):
        compiled = tinyjax.grad(tinyjax.jit(ours))
        ours, theirs = tinyjax.grad(ours), jax.grad(theirs)
        same(ours(a), theirs(a))
        same(compiled(a), theirs(a))
        same(tinyjax.jit(ours)(a), theirs(a))
        same(tinyjax.vmap(ours)(both), jax.vmap(theirs)(both))
    program = tinyjax.make_jaxpr(tinyjax.grad(partial(root, tinyjax)))(a)
    assert str(program).count("while [") == (solve is by_a_loop)


def test_a_root_that_depends_on_nothing() -> None:
    def solve(f: Any, x: Any) -> Any:
        return x * 0 + jaxnp.sqrt(2.0).item()

    def root(guess: Any) -> Any:
        return lax.custom_root(lambda x: x * x - 2, guess, solve, lambda g, y: y / g(1.0))

    assert float(root(1.0)) == pytest.approx(2**0.5)
    assert float(tinyjax.grad(root)(1.0)) == 0.0


@pytest.mark.parametrize("lib", [tinyjax, jax], ids=["tinyjax", "jax"])
def test_a_root_has_the_structure_of_the_guess(lib: Any) -> None:
    def twice(x: Any) -> Any:
        return x, x

    def root(f: Any, solve: Any) -> Any:
        return lib.lax.custom_root(f, 1.0, solve, lambda g, y: y)

    with raises(TypeError, match="initial_guess"):
        root(twice, lambda f, x: x)
    with raises(TypeError, match="initial_guess"):
        root(lambda x: x, lambda f, x: twice(x))


TRIANGLE = np.tril(np.arange(1.0, 10.0).reshape(3, 3)) / 4

#: What takes dtypes that its primitive does not: each takes the library.
OF_OTHER_DTYPES: dict[str, Callable[[Any], Any]] = {
    "top_k of bools": lambda m: m.lax.top_k(m.numpy.array([[1, 0, 1], [0, 0, 1]], bool), 2),
    "top_k of bools, down": lambda m: m.lax.top_k(m.numpy.array([[1, 0], [1, 1]], bool), 1, axis=0),
    "bits of bools": lambda m: m.lax.bitcast_convert_type(m.numpy.array([True, False]), bool),
    "bits of complex numbers": lambda m: m.lax.bitcast_convert_type(
        m.numpy.array([1j], "complex64"), "complex64"
    ),
    "index_take by bytes": lambda m: m.lax.index_take(
        m.numpy.arange(1000), (m.numpy.array([200, 3], "uint8"),), (0,)
    ),
}


def _of_halves(solve: Callable[[Any, Any], Any], dtype: str) -> Callable[[Any], Any]:
    return lambda m: solve(m, m.numpy.asarray(TRIANGLE, dtype))


#: Each takes the library and a lower triangle.
SYSTEMS: dict[str, Callable[[Any, Any], Any]] = {
    "triangular_solve": lambda m, a: m.lax.linalg.triangular_solve(
        a, a[:, :2] + 1, left_side=True, lower=True
    ),
    "solve_triangular": lambda m, a: m.scipy.linalg.solve_triangular(a, a[2], lower=True),
    "its derivative": lambda m, a: m.grad(
        lambda a: m.scipy.linalg.solve_triangular(a, a[2], trans=1, lower=True).sum()
    )(a),
}
OF_OTHER_DTYPES |= {
    f"{name} of {dtype}": _of_halves(solve, dtype)
    for dtype in ("bfloat16", "float16")
    for name, solve in SYSTEMS.items()
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", OF_OTHER_DTYPES)
def test_other_dtypes_than_the_primitive_takes(name: str) -> None:
    program = OF_OTHER_DTYPES[name]
    for ours in (program(tinyjax), tinyjax.jit(lambda: program(tinyjax))()):
        found, expected = (
            list(map(np.asarray, tinyjax.tree.leaves(ours))),
            jax.tree.leaves(program(jax)),
        )
        assert [x.dtype for x in found] == [x.dtype for x in expected]
        for x, y in zip(found, expected, strict=True):
            wide = x.dtype if x.dtype.itemsize > 2 else np.float64
            np.testing.assert_allclose(x.astype(wide), np.asarray(y, wide), rtol=0.03, atol=0.03)
