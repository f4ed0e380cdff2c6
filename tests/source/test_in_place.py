"""Programs that change arrays in place: as NumPy does, and their derivatives by differences."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from reading import read_gradient

import tinyjax
from benchmarks import numpy_programs
from raising import raises
from tinyjax import source
from tinyjax.errors import SourceError

Array = npt.NDArray[Any]
Function = Callable[[Any], Any]
PROGRAMS: list[Any] = []
POINT: Array = np.array([1.0, 2.0, 0.5, 1.5])
WEIGHTS: Array = np.array([1.0, -0.5, 0.3, 0.2])
PHASES: Array = np.exp(1j * np.arange(4))


def program(fun: Function) -> Function:
    PROGRAMS.append(pytest.param(fun, id=fun.__name__))
    return fun


def fill(u: Any, value: Any) -> None:
    u[...] = value


@program
def element(a: Any) -> Any:
    u = np.zeros(2)
    u[0] = a[0] * a[0]
    return u[0] * u[0] * a[1]


class Field:
    """An object of a plain class that holds an array."""

    def __init__(self, values: Any, scale: Any) -> None:
        self.values = values
        self.scale = scale

    def relax(self) -> None:
        self.values[1:] += self.scale * self.values[:-1] * self.values[1:]


def made(a: Any) -> Field:
    return Field(a * a, a[1])


@program
def arrays_of_a_plain_object(a: Any) -> Any:
    field = made(a)
    field.relax()
    field.relax()
    return np.sum(field.values * a)


@program
def overlapping_slices(a: Any) -> Any:
    u = a.copy()
    u[1:] = u[:-1] * u[1:]
    return np.sum(u * u * u * a)


@program
def the_whole(a: Any) -> Any:
    u = a * a
    u[...] = u * a
    return np.sum(u * u)


@program
def augmented(a: Any) -> Any:
    u = a * a
    v = u
    v += a * a
    v *= u[0]
    v[1:3] -= v[0]
    return np.sum(u * u)


@program
def read_before_it_is_overwritten(a: Any) -> Any:
    u = a.copy()
    s = u[0] * u[1]
    t = u[:2]
    u[0] = 3.0
    r = u[0] * u[1]
    u[1] = s
    return s + r * t[0] + u[1]


@program
def row_of_a_matrix(a: Any) -> Any:
    u = np.outer(a, a)
    row = u[1]
    row[0] = a[2] ** 3
    u[1, 1:] *= row[:-1]
    column = u.T[0]
    column[...] = column * column
    return np.sum(u * u)


@program
def views_of_views(a: Any) -> Any:
    u = a * a
    v = u.reshape(2, 2).T[::-1]
    v[0, 1] = v[1, 0] * a[0]
    u[::2] *= v[0]
    return np.sum(u * u)


@program
def in_containers(a: Any) -> Any:
    u = a * a
    pair = (u, a[0])
    pair[0][1] = pair[1] * 2
    both = {"u": u, "pair": pair}
    both["pair"][0][2:] *= 2
    return np.sum(u * u)


@program
def closed_over(a: Any) -> Any:
    u = a * a

    def scaled(c: Any) -> Any:
        u[0] = u[0] * c * u[1]
        return u

    v = scaled(a[0])
    v[1] *= 2
    return np.sum(u * u) + v[1]


def remembers(u: Any, n: int = 2) -> Any:
    def times(c: Any) -> Any:
        return u[0] * c

    u[0] = 3 * u[1] * n
    return u[1] * u[0], times


@program
def function_that_remembers(a: Any) -> Any:
    u = a * a
    y, times = remembers(u, n=3)
    u[1] = y
    s = times(2.0)
    u[0] *= 2
    return s + times(y) + np.sum(u)


@program
def argument_of_a_helper(a: Any) -> Any:
    u = np.empty((3, 4))
    for k in range(3):
        fill(u[k], a * (k + 1))
    return np.sum(u[0] * u[1] * u[2])


@program
def its_own_argument(a: Any) -> Any:
    a[1] = a[0] * a[2]
    a *= a[1]
    return np.sum(a * a)


@program
def swapped(a: Any) -> Any:
    u, v = a.copy(), np.empty_like(a)
    for _ in range(3):
        v[1:-1] = u[:-2] * u[2:]
        v[0], v[-1] = u[-1], u[0]
        u, v = v, u
    return np.sum(u * u)


@program
def masked(a: Any) -> Any:
    u = a * a
    u[u > 1.1] *= 0.5
    u[u < 0.5] = a[0]
    return np.sum(u * u)


@program
def chosen_after_a_change(a: Any) -> Any:
    u = a.copy()
    roots = np.sqrt(u[:2])
    u[0] = 9.0
    return np.sum(np.where(a[:2] > 1.2, roots, 0.0)) + u[1]


@program
def chosen_after_an_augmented_assignment(a: Any) -> Any:
    u = a * 1.0
    roots = np.sqrt(u)
    u *= a
    return np.sum(np.where(a > 1.2, roots, u))


@program
def chosen_after_a_helper(a: Any) -> Any:
    u = a * 1.0
    roots = np.sqrt(u)
    fill(u[1:], a[0])
    return np.sum(np.where(a > 1.2, roots, u * u))


@program
def indices_that_repeat(a: Any) -> Any:
    u = a.copy()
    u[np.array([0, 1, 0])] = a[1:] * a[1:]  # the last is kept
    np.add.at(u, [2, 2, 3], a[:3] * a[0])
    return np.sum(u[[0, 0, 3]] * u[1:] ** 2)


@program
def written_by_functions(a: Any) -> Any:
    u, v = np.empty(4), np.zeros((4, 4))
    np.multiply(a, a, out=u)
    np.copyto(v[1], u)
    np.fill_diagonal(v, u[::-1] * a)
    v[2].fill(a[0] ** 2)
    return np.sum(v * v)


@program
def written_by_position(a: Any) -> Any:
    u, v = np.empty(4), np.ones(4)
    np.multiply(a, a, u)
    np.add(u, a[0], u)
    np.clip(u, 1.5, 100.0, u)
    np.cumsum(u, None, None, v)
    np.dot(np.outer(a, a), v, u)
    return np.sum(u * v)


@program
def shapes_that_are_assigned(a: Any) -> Any:
    rows: Any
    columns: Any
    u: Any = np.outer(a, a) + 1.0
    rows, columns = np.mgrid[0:4, 0:4]
    v: Any = u[1:3]
    u.shape = rows.shape = columns.shape = 16
    u[6] *= a[0]
    v[0] += u[rows * 4 + columns][:4]
    v.shape = -1
    return np.sum(u * (rows + 2 * columns)) * np.sum(v * v)


@program
def complex_parts(a: Any) -> Any:
    u = a * PHASES
    u[1] = u[0] * u[1]
    u.imag[2] = a[0]
    u.real *= u.imag
    return np.sum(u.real * u.imag + np.abs(u) ** 2)


@program
def triangular_loops(a: Any) -> Any:
    u = np.outer(a, a) + np.eye(4)
    for i in range(4):
        for j in range(i):
            for k in range(j):
                u[i, j] -= u[i, k] * u[j, k]
            u[i, j] /= u[j, j]
        u[i, i] = np.sqrt(u[i, i])
    return np.sum(u * u)


@program
def indices_that_are_counted(a: Any) -> Any:
    counts, sums = np.zeros(2, dtype=int), np.zeros(2)
    for x in a:
        k = int(x > 1.2)
        counts[k] += 1
        sums[k] += x * x
    return np.sum(sums / counts)


@program
def left_early(a: Any) -> Any:
    u = a.copy()
    i = 0
    while True:
        u[i] = u[i] * u[i - 1]
        if u[i] > 1.0 or i == 3:
            return np.sum(u * u)
        i += 1


@program
def views_with_axes_in_other_orders(a: Any) -> Any:
    u = a * a
    cube = np.transpose(np.reshape(u, (2, 1, 2)), axes=(2, 0, 1))
    v = np.reshape(cube, (4,)) * a  # which copies
    u[:] = v + u
    table = u.reshape(2, 2)
    np.swapaxes(table, 0, 1)[0] *= a[:2]
    table.transpose(1, 0)[1, :] += a[2:]
    np.moveaxis(table, 0, -1)[0, 1] = a[0] * a[1]
    return np.sum(u * v)


@program
def new_arrays_by_their_class(a: Any) -> Any:
    u = np.ndarray((2, 2), dtype=a.dtype)
    v = np.ndarray(2)
    u[:, 0] = a[:2] * a[0]
    u[:, 1] = a[2:]
    v[:] = u[0] * u[1]
    u[0] *= v
    return np.sum(u * u) + v[0]


@program
def masks_that_are_computed_twice(a: Any) -> Any:
    u = a * a
    u[u > 1.1] = u[u > 1.1] ** 1.5
    u[np.logical_and(u > 0.1, a < 0.9)] = a[np.logical_and(u > 0.1, a < 0.9)] * 3.0
    return np.sum(u * u)


@program
def statistics_of_chosen_elements(a: Any) -> Any:
    u = np.zeros(2)
    for i in range(2):
        chosen = (a * a)[a > 0.3 + i]
        u[i] = chosen.mean() + np.std(chosen) + chosen.max() * np.min(chosen)
    chosen = a[a > 0.7]
    return np.sum(u * u) + np.prod(chosen) / len(chosen) + chosen @ a[a > 0.7] / chosen.size


@program
def sums_with_static_coefficients(a: Any) -> Any:
    total = 0.0
    for z in a:
        u = np.zeros((2, 2))
        for n in range(2):
            u += (z**n) * np.outer(a[:2], a[2:])
        total += np.sum(u * u) * z
    return total


LONG: Array = np.random.default_rng(3).uniform(0.1, 0.2, 40)
ROLLED: list[Any] = []


def rolled(fun: Function) -> Function:
    """Add a program whose loops are rolled up, and whose slices have traced bounds then."""
    ROLLED.append(pytest.param(fun, id=fun.__name__))
    return fun


@rolled
def rows_so_far(a: Any) -> Any:
    u = np.outer(a, a)
    for i in range(1, a.size):
        x = u[i, :i]
        u[i, 0] = 5.0 * a[i]
        u[i, i] = x @ u[:i, i] + x.sum() - x[0]
        x *= 0.5
        u[i, i:] = u[i - 1, i:] * 0.1 + np.max(u[i, :i])
    return np.sum(u * u)


@rolled
def backwards_and_forwards(a: Any) -> Any:
    y = np.zeros(a.size)
    y[0] = -a[0]
    for k in range(1, a.size):
        alpha = -(a[k] + a[:k][::-1] @ y[:k]) / (1.0 + k)
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return np.sum(y * y)


@rolled
def windows(a: Any) -> Any:
    u = np.outer(a, a)
    for i in range(1, a.size - 1):
        for j in range(1, a.size - 1):
            u[i, j] = np.sum(u[i - 1 : i + 2, j - 1 : j + 2]) / 9.0
    return np.sum(u * u)


@rolled
def two_that_change_places(a: Any) -> Any:
    u, v = a.copy(), a * 2.0

    def relaxed(p: Any, q: Any) -> Any:
        for _ in range(41):
            q[1:-1] = 0.3 * (p[:-2] + p[1:-1] + p[2:])
            p, q = q, p
        return p

    last = relaxed(u, v)
    last[0] = 5.0
    return np.sum(u * a + v * v - last)


@rolled
def three_that_change_places(a: Any) -> Any:
    u, v, w = a.copy(), a * 2.0, a * a
    for _ in range(61):
        w[1:] = u[:-1] + 0.1 * v[1:]
        u, v, w = v, w, u
    return np.sum(u * a + v * v - w)


@rolled
def windows_with_new_axes(a: Any) -> Any:
    image = np.outer(a, a)
    weights = a[:18].reshape(3, 3, 2)
    out = np.zeros((a.size - 2, a.size - 2, 2))
    for i in range(a.size - 2):
        for j in range(a.size - 2):
            window = image[i : i + 3, j : j + 3, np.newaxis]
            out[i, j, :] = np.sum(window * weights, axis=(0, 1))
    return np.sum(out * out)


@rolled
def tails_and_steps(a: Any) -> Any:
    u = np.outer(a, a)
    for i in range(a.size - 3):
        u[i + 1 :, i] *= a[i]
        u[i + 2 :, i + 1 :] += 0.01 * u[i + 1 : -1, i:-1]
        u[i, i : i + 3] = u[i + 1, i::2].sum() * a[:3]
        u[i:, 0] = u[i, i:] @ u[i:, i]
        u[2, i + 1 :] -= 0.1
    return np.sum(u * u)


POINTERS: Array = np.cumsum(np.arange(40) % 4)
COLUMNS: Array = np.arange(POINTERS[-1]) * 7 % 40


@rolled
def sparse_rows(a: Any) -> Any:
    y, z = np.zeros(a.size), np.outer(a, a)
    pointers, places = POINTERS + (a > 9.0), COLUMNS + (a[0] > 9.0)
    for i in range(a.size - 1):
        columns = places[pointers[i] : pointers[i + 1]]
        values = a[columns] * a[i]
        y[i] += values @ np.sin(a[columns])
        y[columns] += values
        y[columns] *= 0.9
        np.add.at(y, columns, values)
        z[i, columns] = np.take(y, columns) + z[i + 1, columns]
        z[:2, columns] *= 0.5
    return np.sum(y * y) + np.sum(z * z)


@rolled
def triangles(a: Any) -> Any:
    u = np.outer(a, a) + np.eye(a.size)
    for j in range(a.size):
        u[j:, j] -= u[j:, :j] @ u[j, :j]
        u[j:, j] /= np.sqrt(u[j, j])
    return np.sum(u * u)


@rolled
def pivots(a: Any) -> Any:
    u = np.outer(a, a) + np.eye(a.size)
    for k in range(a.size):
        pivot = k + np.argmax(np.abs(u[k:, k]))
        rows: Any = [k, pivot]
        u[rows] = u[rows[::-1]]
        u[k, k:] /= u[k, k] + np.argmin(u[k, k:], axis=0) + u[k:, k].argmax()
    return np.sum(u * u)


@rolled
def copies_that_are_written_to(a: Any) -> Any:
    u = np.outer(a, a)
    for k in range(a.size):
        v = u[k:, k].copy()
        v[0] += np.copysign(np.sqrt(v @ v), v[0])
        v /= np.sqrt(v @ v)
        block = u[k:, k:]
        block -= 2.0 * np.outer(v, v @ block)
    return np.sum(u * u)


@rolled
def rows_as_views(a: Any) -> Any:
    u = np.outer(a, a)
    for k in range(a.size):
        for i, (row, other) in enumerate(zip(u, u[::-1].T, strict=True)):
            row[:] = 0.5 * row + 0.01 * (row[k] + u[k]) * other + 1e-3 * i
    return np.sum(u * u)


@rolled
def arrays_of_each_iteration(a: Any) -> Any:
    u = np.outer(a, a)

    def solve(x: Any) -> None:
        work = np.zeros(x.shape[0])
        for i in range(1, x.shape[0]):
            work[i] = 0.1 * work[i - 1] + x[i, 0]
        for i in range(x.shape[0]):
            x[:, i] += work * 0.1

    for _ in range(12):
        for lines in (u, u.T):
            lines[:, 1:-1] += 0.1 * (lines[:, 2:] - lines[:, :-2])
            solve(lines)
    return np.sum(u * u)


def differences(fun: Function, x: Array) -> Array:
    """Approximate a gradient by central differences."""
    gradient = np.zeros_like(x)
    for index in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[index] = 1e-6
        gradient[index] = (fun(x + step) - fun(x - step)) / 2e-6
    return gradient


def weighted_gradient(fun: Function) -> Function:
    return lambda x: np.sum(source.grad(fun)(x) * WEIGHTS)


@pytest.mark.slow
@pytest.mark.sampled(3)
@pytest.mark.parametrize("fun", PROGRAMS)
def test_derivatives_of_both_orders(fun: Function) -> None:
    x = POINT.copy()
    value, gradient = source.value_and_grad(fun)(x)
    assert np.array_equal(x, POINT)
    assert value == pytest.approx(fun(POINT.copy()), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(fun, POINT), rtol=1e-6, atol=1e-7)
    second = source.grad(weighted_gradient(fun))(x)
    assert np.array_equal(x, POINT)
    expected = differences(weighted_gradient(fun), POINT)
    np.testing.assert_allclose(second, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("entry", numpy_programs.PROGRAMS, ids=lambda entry: entry.name)
def test_programs_of_scientists(entry: numpy_programs.Program) -> None:
    inputs = entry.inputs(entry.sizes[0])
    before = [x.copy() for x in inputs]
    value, gradients = source.value_and_grad(entry.loss, argnums=entry.argnums)(*inputs)
    assert all(map(np.array_equal, inputs, before))
    assert value == pytest.approx(entry.loss(*before), rel=1e-12)
    for i, gradient in zip(entry.argnums, gradients, strict=True):

        def loss(x: Array, i: int = i) -> Any:
            copies = [y.copy() for y in inputs]
            return entry.loss(*copies[:i], x, *copies[i + 1 :])

        expected = differences(loss, inputs[i])
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * scale)


@pytest.mark.slow
@pytest.mark.sampled(6, 2)
@pytest.mark.parametrize("entry", numpy_programs.PROGRAMS, ids=lambda entry: entry.name)
def test_second_derivatives_of_programs_of_scientists(entry: numpy_programs.Program) -> None:
    inputs = entry.inputs(entry.sizes[0])
    i = entry.argnums[0]
    weights = np.cos(np.arange(inputs[i].size)).reshape(inputs[i].shape)

    def slope(x: Array) -> Any:
        copies = [y.copy() for y in inputs]
        gradient = source.grad(entry.loss, argnums=i)(*copies[:i], x, *copies[i + 1 :])
        return np.sum(weights * gradient)

    expected = differences(slope, inputs[i])
    scale = np.max(np.abs(expected))
    gradient = source.grad(slope)(inputs[i])
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-5 * scale)


@pytest.mark.parametrize("fun", PROGRAMS)
def test_compiled_programs(fun: Function) -> None:
    with tinyjax.default_dtypes("float64"):
        x = POINT.copy()
        compiled = tinyjax.jit(fun, control_flow="source")
        assert float(compiled(x)) == pytest.approx(fun(POINT.copy()), rel=1e-12)
        expected = source.grad(fun)(POINT)
        np.testing.assert_allclose(tinyjax.grad(compiled)(x), expected, rtol=1e-9, atol=1e-12)
        both = tinyjax.vmap(tinyjax.grad(source.stage(fun)))(np.stack([x, x[::-1]]))
        np.testing.assert_allclose(both[0], expected, rtol=1e-9, atol=1e-12)
        assert np.array_equal(x, POINT)


@pytest.mark.sampled(3, 1)
@pytest.mark.parametrize("entry", numpy_programs.PROGRAMS, ids=lambda entry: entry.name)
def test_compiled_programs_of_scientists(entry: numpy_programs.Program) -> None:
    with tinyjax.default_dtypes("float64"):
        inputs = entry.inputs(entry.sizes[0])
        compiled = tinyjax.jit(entry.loss, control_flow="source")
        value, gradients = tinyjax.value_and_grad(compiled, argnums=entry.argnums)(*inputs)
        expected = source.value_and_grad(entry.loss, argnums=entry.argnums)(*inputs)
    assert float(value) == pytest.approx(expected[0], rel=1e-12)
    for gradient, by_source in zip(gradients, expected[1], strict=True):
        scale = np.max(np.abs(by_source))
        np.testing.assert_allclose(gradient, by_source, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.sampled(6, 2)
@pytest.mark.parametrize("entry", numpy_programs.PROGRAMS, ids=lambda entry: entry.name)
def test_gradients_of_programs_of_scientists_compiled(entry: numpy_programs.Program) -> None:
    """A gradient by source that is compiled is the same one."""
    with tinyjax.default_dtypes("float64"):
        inputs = entry.inputs(entry.sizes[0])
        gradient = source.grad(entry.loss, argnums=entry.argnums)
        actual, expected = tinyjax.jit(gradient)(*inputs), gradient(*inputs)
    for x, y in zip(actual, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12 * np.max(np.abs(y)))


def test_programs_of_scientists_are_read_and_staged() -> None:
    """Programs of whose statements one is not certain are captured, which takes longer."""
    captured = [
        (kind, program.name)
        for program in numpy_programs.PROGRAMS
        for kind, fun in (("read", program.loss), ("staged", source.stage(program.loss)))
        if " is captured: " in source.explain(fun, *program.inputs(program.sizes[0]))
    ]
    assert captured == [("staged", "deposit"), ("staged", "assemble")]


@pytest.mark.parametrize("fun", ROLLED)
def test_slices_with_traced_bounds(fun: Function) -> None:
    with tinyjax.default_dtypes("float64"):
        compiled = tinyjax.jit(fun, control_flow="source")
        assert float(compiled(LONG)) == pytest.approx(fun(LONG.copy()), rel=1e-12)
        gradient, expected = tinyjax.grad(compiled)(LONG), source.grad(fun)(LONG)
        scale = np.max(np.abs(expected))
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12 * scale)
        program = tinyjax.make_jaxpr(source.stage(fun))(LONG).jaxpr
    assert len(program.eqns) < 200  # of 40 iterations each of which takes at least twelve


def test_an_argument_that_is_closed_over_is_another_array() -> None:
    x = POINT.copy()

    def scaled(a: Any, b: Any) -> Any:
        a[0] *= a[1]
        fill(a[2:], a[0] * x[0])
        return np.sum(a * x * b)

    gradient = source.grad(scaled)(x, x.copy())
    expected = differences(lambda a: scaled(a, POINT), POINT)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)


def test_pullbacks_leave_arrays_as_they_were_and_can_be_called_again() -> None:
    x = POINT.copy()
    value, pull_back = source.vjp(its_own_argument, x)
    assert np.array_equal(x, POINT)
    assert value == its_own_argument(POINT.copy())
    x[...] = 0.0
    expected = differences(its_own_argument, POINT)
    for scale in (1.0, 2.0):
        (gradient,) = pull_back(scale)
        np.testing.assert_allclose(gradient, scale * expected, rtol=1e-6)


def test_arrays_that_are_returned_are_not_changed_back() -> None:
    def both(a: Any) -> Any:
        a[1:] *= a[:-1]
        return np.sum(a * a), a

    x = POINT.copy()
    _, aux = source.grad(both, has_aux=True)(x)
    changed = POINT.copy()
    changed[1:] *= changed[:-1]
    np.testing.assert_allclose(aux, changed)
    assert np.array_equal(x, POINT)


def test_an_error_leaves_arrays_as_they_were() -> None:
    def fails(a: Any) -> Any:
        a[0] = 3.0
        fill(a[1:], a[0])
        raise ValueError("no")

    x = POINT.copy()
    with raises(ValueError, match="no"):
        source.grad(fails)(x)
    assert np.array_equal(x, POINT)


@pytest.mark.parametrize("fun", [overlapping_slices, the_whole, swapped, indices_that_repeat])
def test_gradients_in_contexts(fun: Function) -> None:
    x = POINT.copy()
    value, gradient = source.with_context(source.Context(), source.value_and_grad(fun))(x)
    assert value == pytest.approx(fun(POINT.copy()), rel=1e-14)
    np.testing.assert_allclose(gradient, differences(fun, POINT), rtol=1e-6, atol=1e-7)
    assert np.array_equal(x, POINT)


def test_integers_do_not_hold_floats() -> None:
    def adds(a: Any) -> Any:
        counts = np.zeros(2, dtype=int)
        counts += a[0]
        return a[0] * counts[0]

    message = (
        "an augmented assignment writes float64 to an array of int64, which NumPy does not do. "
        "Convert the array first: x = x.astype(float)."
    )
    with raises(SourceError, match=re.escape(message)):
        read_gradient(adds, POINT)
    with raises(TypeError, match="Cannot cast ufunc"):  # as NumPy does
        source.grad(adds)(POINT)


def test_shapes_of_arrays_that_others_may_hold_are_not_assigned() -> None:
    def of_argument(a: Any) -> Any:
        a.shape = (2, 2)
        return np.sum(a @ a)

    def of_another_name(a: Any) -> Any:
        u = a * a
        v = u
        u.shape = (2, 2)
        return np.sum(u @ u) + v[0, 1]

    for fun in (of_argument, of_another_name):
        with raises(SourceError, match="another shape of an array"):
            read_gradient(fun, POINT)
        x = POINT.copy()
        np.testing.assert_allclose(source.grad(fun)(x), differences(fun, POINT), 1e-6, 1e-7)
        assert np.array_equal(x, POINT)
        assert x.shape == POINT.shape


def test_evaluation_changes_arrays_as_a_call_does() -> None:
    x, y = POINT.copy(), POINT.copy()
    assert source.evaluate(source.ir_of(its_own_argument), x) == its_own_argument(y)
    assert np.array_equal(x, y)


def test_the_length_of_chosen_rows_is_their_number() -> None:
    def chosen(a: Any) -> Any:
        rows = a[a[:, 0] > 1.0]
        return len(rows) + 10 * rows.size

    a = np.arange(6.0).reshape(3, 2)
    assert int(tinyjax.jit(chosen, control_flow="source")(a)) == chosen(a) == 42
