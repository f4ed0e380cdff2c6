"""Programs that change arrays: read where it is certain what shares memory, captured elsewhere."""

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import tinyjax
from raising import raises
from tinyjax import source
from tinyjax.errors import DifferentiationError, TinyjaxError

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[[Any], Any]
POINT: Final = np.array([0.7, -1.3, 0.4, 1.1])
ALONG: Final = np.cos(1.3 * np.arange(4) + 0.2)
PROGRAMS: Final[list[Function]] = []


def program(fun: Function) -> Function:
    """Add a program of an array."""
    PROGRAMS.append(fun)
    return fun


@program
def new_axis(x: Any) -> Any:
    a = x * x
    c = a[:, None]
    c[1, 0] = x[0] ** 3
    return np.sum(a)


@program
def flattened(x: Any) -> Any:
    a = x * x
    r = a.flatten()
    r[0] = 100.0
    return np.sum(a) * r[1]


@program
def transposed_and_flat(x: Any) -> Any:
    a = np.outer(x, x)
    r = a.T.ravel()
    r[1] = 100.0
    return np.sum(a) + r[2]


@program
def flat_in_another_order(x: Any) -> Any:
    a = np.outer(x, x)
    r, s, t = a.ravel("F"), np.ravel(a, "F"), a.reshape(-1, order="F")
    a[0, 1] = x[2] ** 3
    return np.sum(r * s * t * np.arange(16.0)) + np.sum(a)


@program
def more_axes_of_one(x: Any) -> Any:
    u = x * x
    u[1:] = (x[0:1] * 3).reshape(1, 1)
    return np.sum(u)


@program
def enumerated_from_one(x: Any) -> Any:
    u = np.zeros(4)
    for i, p in enumerate(x[::-1], 1):
        u[i - 1] += p * p
    return np.sum(u * u)


@program
def enumerated_by_name(x: Any) -> Any:
    s = 0.0
    for i, a in enumerate(x, start=2):
        s += a * i
    return s


@program
def item_after_the_loop(x: Any) -> Any:
    y = 0.0
    for i in range(3):
        y = x[i] ** 2
    return y + x[i]


def product(*a: Any) -> Any:
    return a[0] * a[1]


@program
def starred(x: Any) -> Any:
    x[0] = 3.0
    return product(*(x * 2))


@program
def reduced(x: Any) -> Any:
    x[0] = 3.0
    return functools.reduce(operator.mul, x * 2)


@program
def combined(x: Any) -> Any:
    x[1] = x[0] ** 2
    return sum([a * b for a, b in itertools.combinations(x * 2, 2)])


@program
def taken_apart(x: Any) -> Any:
    u = x * 1.0
    u[0] = 3.0
    a, b, c, _ = u
    return a * b * c


@program
def taken_apart_with_star(x: Any) -> Any:
    u = x * 1.0
    u[0] = x[1] ** 2
    a, *b = u
    return a * b[0] * b[2]


@program
def listed(x: Any) -> Any:
    u = x * 1.0
    u[0] = 3.0
    items = list(u)
    return items[1] * items[2]


@program
def conjugate_of_real(x: Any) -> Any:
    a = x * 1.0
    c = a.conj()
    c[0] = 100.0
    return np.sum(a)


@program
def no_axes(x: Any) -> Any:
    s = np.zeros(())
    s[()] = x[0] * 2
    return float(s)


def scaled(a: Any, factor: float) -> None:
    a *= factor


@program
def no_axes_in_a_function(x: Any) -> Any:
    j = np.full((), x[0] ** 2)
    scaled(j, 0.5)
    return j + x[1]


@program
def filled_without_axes(x: Any) -> Any:
    p = np.empty(())
    p.fill(x[0] ** 2)
    return np.sum(p) * x[1]


@program
def diagonal(x: Any) -> Any:
    a = np.outer(x, x)
    d = np.diagonal(a)
    a[0, 0] = 7.0 * x[1]
    return np.sum(d)


def widened(a: Any) -> Any:
    return np.broadcast_to(a, (2, 4))


@program
def view_of_a_function(x: Any) -> Any:
    a = x * 1.0
    c = widened(a)
    a *= x[0]
    return np.sum(c)


@program
def mesh(x: Any) -> Any:
    a = np.outer(x, x)
    c = np.meshgrid(a[0], a[1], copy=False)[0]
    a[0, 0] = 7.0 * x[1]
    return np.sum(c)


@program
def default(x: Any) -> Any:
    u = x * 1.0

    def put(v: Any, arr: Any = u) -> None:
        arr[0] = v

    put(x[1])
    return np.sum(u * u)


@program
def ellipsis(x: Any) -> Any:
    u = x * 1.0
    u[..., 1] += 2 * x[0]
    return np.sum(u * u)


@program
def array_in_a_dict(x: Any) -> Any:
    t = np.sin(x)
    q = {"p": t}
    q["p"] += x[1]
    return np.sum(t * t)


@program
def array_in_a_list(x: Any) -> Any:
    t = np.sin(x)
    q = [t, x * 2]
    q[0] *= x[1]
    q[-1] += t
    return np.sum(t * t * np.arange(4.0)) + np.sum(q[1] ** 2)


@program
def out_under_a_mask(x: Any) -> Any:
    m = x * 1.0
    np.add(m, m[::-1], out=m, where=m > 0.5)
    return np.sum(m * m)


@program
def operator_in_place(x: Any) -> Any:
    b = x + 0.5
    add: Any = operator
    add.iadd(b, x[1])
    return np.sum(b)


@program
def operator_in_place_by_another_name(x: Any) -> Any:
    b = x + 0.5
    in_place: Any = operator.imul
    in_place(b, x[1])
    return np.sum(b)


@program
def no_copy(x: Any) -> Any:
    u = x * 1.0
    u.astype(float, copy=False)[:-1] *= x[0]
    return np.sum(u)


@program
def part_of_complex(x: Any) -> Any:
    m = x.T + 0j
    m.imag += np.sin(x)
    return np.sum(m.imag * x)


@program
def loop_over_what_it_changes(x: Any) -> Any:
    u = x.copy()
    s = 0.0
    for i, v in enumerate(u):
        u[(i + 1) % 3] = v * 2
        s += v
    return s


@program
def seen_from_behind(x: Any) -> Any:
    n = 1 + int(x[0] > 0)
    return np.sum(x[-n:] ** 2)


@program
def kept_in_a_list_of_rows(x: Any) -> Any:
    a = x.reshape(2, 2) * 1.0
    rows = [*a]
    a[0, 1] = x[2] ** 2
    return np.sum(rows[0] * rows[1])


def slope(fun: Function) -> float:
    step = 1e-6 * ALONG
    return float(fun(POINT + step) - fun(POINT - step)) / 2e-6


@pytest.mark.parametrize("fun", PROGRAMS)
def test_gradients(fun: Function) -> None:
    """``source.grad`` is right, and so is the gradient of a gradient."""
    x = POINT.copy()
    value, gradient = source.value_and_grad(fun)(x)
    assert value == pytest.approx(float(fun(POINT.copy())), rel=1e-13)
    assert gradient @ ALONG == pytest.approx(slope(fun), rel=1e-7, abs=1e-8)
    assert np.array_equal(x, POINT)
    second = source.grad(lambda x: source.grad(fun)(x) @ ALONG)(POINT.copy())
    expected = slope(lambda x: source.grad(fun)(x) @ ALONG)
    assert second @ ALONG == pytest.approx(expected, rel=1e-6, abs=1e-7)


#: To a staged program an array without axes is a number, which no function changes.
NUMBERS: Final = (no_axes_in_a_function,)


@pytest.mark.parametrize("fun", [fun for fun in PROGRAMS if fun not in NUMBERS])
def test_staged(fun: Function) -> None:
    """``jit(control_flow="source")`` is right, or refuses the program."""
    staged = tinyjax.jit(fun, control_flow="source")
    try:
        value, gradient = tinyjax.value_and_grad(staged)(POINT.copy())
    except TinyjaxError:
        return
    assert float(value) == pytest.approx(float(fun(POINT.copy())), rel=1e-12)
    assert np.asarray(gradient) @ ALONG == pytest.approx(slope(fun), rel=1e-7, abs=1e-8)


def continuing(x: Any) -> Any:
    u, v = x * 1.0, np.sin(x)
    for _ in range(3):
        q = v[[3, 1, 1, 0]]
        u[0] = u[0] * q[-1]
        if -0.3 < x[0] < 0.9:
            continue
        v[::-1] = v.copy()
    return np.sum(v)


def test_compiled_gradient_of_a_staged_loop_that_continues() -> None:
    gradient = tinyjax.jit(tinyjax.grad(source.stage(continuing)))(POINT)
    np.testing.assert_allclose(gradient, np.cos(POINT), rtol=1e-14)


def changing(a: Any, b: Any) -> Any:
    a[0] = b[1] * 2
    return np.sum(a * b)


def test_arguments_that_share_memory() -> None:
    x = POINT.copy()
    for pair in ((x, x), (x, x[::-1]), (x[:3], x[1:])):
        with raises(
            DifferentiationError, match="two arguments share memory, and the function changes"
        ):
            source.value_and_grad(changing, (0, 1))(*pair)
    value, _ = source.value_and_grad(changing, (0, 1))(x, x.copy())
    assert value == changing(POINT.copy(), POINT.copy())
    reading = source.grad(lambda a, b: np.sum(a * b))(x, x)
    np.testing.assert_array_equal(reading, POINT)


def test_read_only_arguments_stay_so() -> None:
    x = POINT.copy()
    x.flags.writeable = False

    def changes(a: Any) -> Any:
        a[0] = 3.0
        return np.sum(a)

    with raises(ValueError, match="assignment destination is read-only"):
        source.grad(changes)(x)


def test_a_method_of_an_object_that_changes_an_array_is_captured() -> None:
    class Matrix:
        def __init__(self, a: Any) -> None:
            self.a = a

        def __getitem__(self, i: int) -> Any:
            return self.a[i]

        def __setitem__(self, i: int, v: Any) -> None:
            self.a[i] = v

    def program(x: Any) -> Any:
        m = Matrix(x.copy())
        m[0] = m[1] * 2.0
        return np.sum(m.a)

    compiled = tinyjax.jit(program, control_flow="source")
    assert float(compiled(POINT)) == program(POINT)
    assert "is captured: an array that changes is used by code" in source.explain(compiled, POINT)
