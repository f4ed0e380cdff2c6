"""Augmented assignment to arrays in staged programs: as NumPy changes them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyjax
import tinyjax.numpy as jnp
from tinyjax import source

pytestmark = pytest.mark.usefixtures("double_precision")

Function = Callable[[Any, Any], Any]
OWN: list[Any] = []


def own(fun: Function) -> Function:
    """Add a program that does what NumPy does, whatever shares the array."""
    OWN.append(pytest.param(fun, id=fun.__name__))
    return fun


@own
def slice_of_an_array(a: Any, c: Any) -> Any:
    b = a[1:]
    b *= 2  # here
    return a.sum() + b.sum()


@own
def another_name(a: Any, c: Any) -> Any:
    a = a * 1
    b = a
    b += c  # here
    return a.sum() + b.sum()


@own
def the_array_of_a_view(a: Any, c: Any) -> Any:
    b = a.reshape(2, 2).T
    a -= c  # here
    return (a * np.arange(4)).sum() + b[0].sum()


@own
def changed_by_a_function(a: Any, c: Any) -> Any:
    def scaled(v: Any) -> Any:
        v *= c  # here
        return v.sum()

    return scaled(a) + a.sum()


@own
def held_by_a_container(a: Any, c: Any) -> Any:
    pair = (a * c, c)
    b = pair[0]
    b /= 2  # here
    return b.sum() + pair[0].sum()


@own
def rows_of_a_loop(a: Any, c: Any) -> Any:
    a = jnp.stack([a, a])
    total = 0.0
    for row in a:
        row *= c  # here
        total += row.sum()
    return total + a.sum()


@own
def unpacked(a: Any, c: Any) -> Any:
    rows = jnp.stack([a, a * c])
    first, _ = rows
    rows += 1  # here
    return first.sum() + rows.sum()


@own
def chosen_by_a_condition(a: Any, c: Any) -> Any:
    b = a[1:] if c > 0 else a[:-1] * 2
    b *= 3  # here
    return a.sum() + b.sum()


@own
def on_one_side(a: Any, c: Any) -> Any:
    b = a[1:]
    if c > 0:
        b += 1  # here
    return a.sum() + b.sum()


@own
def in_a_traced_loop(a: Any, c: Any) -> Any:
    b = np.reshape(a, (2, 2))
    while c < 10:
        b *= 2  # here
        c = c + b.sum()
    return a.sum() + c


@own
def from_before_a_traced_loop(a: Any, c: Any) -> Any:
    b = a[::-1]
    while c < 10:
        c = c + 5
        b = b + 0 if c > 100 else b
    b *= 2  # here
    return a.sum() + b.sum()


class Layer:
    """An object with an array."""

    def __init__(self, weight: Any) -> None:
        self.weight = weight


@own
def held_by_an_object(a: Any, c: Any) -> Any:
    layer = Layer(a)
    w = layer.weight
    w *= c  # here
    return w.sum()


@own
def closed_over(a: Any, c: Any) -> Any:
    def inner(x: Any) -> Any:
        b = a
        b += x  # here
        return b.sum()

    return inner(c)


@own
def accumulated(a: Any, c: Any) -> Any:
    total = a * c
    for k in range(3):
        total += a * k
        total -= c
    while total.sum() < 100:
        total *= 2
    return total.sum()


@own
def copied(a: Any, c: Any) -> Any:
    b, d, e, f = np.array(a), a.copy(), np.copy(a), +a
    b *= 2
    d += c
    e -= 1
    f *= c
    return a.sum() + b.sum() * d.sum() - e.sum() + f.sum() + a.astype(float).sum()


@own
def what_is_not_used_again(a: Any, c: Any) -> Any:
    b = a[1:]
    b *= c
    b = b.reshape(3, 1)
    b += c
    return b.sum()


@own
def state_from_step_to_step(a: Any, c: Any) -> Any:
    def step(x: Any, v: Any) -> Any:
        v -= x * c
        x += v * 0.1
        return x, v

    x, v = a, a * 0
    for _ in range(4):
        x, v = step(x, v)
    return x.sum() + v.sum()


@own
def advanced_indices(a: Any, c: Any) -> Any:
    b = a[np.array([0, 2])]
    b *= c
    return a.sum() + b.sum()


@own
def numbers(a: Any, c: Any) -> Any:
    first = a[0]
    first *= 2
    d = c
    d += 1
    return a.sum() + first + c * d


@own
def rows_that_are_used_up(a: Any, c: Any) -> Any:
    total = 0.0
    for row in jnp.stack([a, a * 2]):
        row *= c
        total += row.sum()
    return total


@own
def own_arrays_of_a_helper(a: Any, c: Any) -> Any:
    def stepped(v: Any) -> Any:
        v += c
        return v

    b = jnp.sin(a)
    d = b
    for _ in range(3):
        b = stepped(b)
    return (b * d).sum()


@own
def own_arrays_in_a_traced_loop(a: Any, c: Any) -> Any:
    b = jnp.sin(a)
    d = b
    while b.sum() < 20 * c:
        b += c
    return (b * d).sum()


@own
def own_arrays_of_both_sides(a: Any, c: Any) -> Any:
    b = jnp.sin(a) if c > 0 else jnp.cos(a)
    d = b
    b *= c
    return (b * d).sum()


@own
def own_array_that_is_made_of_an_argument(a: Any, c: Any) -> Any:
    b = jnp.asarray(a)
    b += c
    return (a * b).sum()


@own
def own_array_by_keyword(a: Any, c: Any) -> Any:
    b = jnp.asarray(a=a)
    b += c
    return (a * b).sum()


@own
def own_array_of_several(a: Any, c: Any) -> Any:
    b = jnp.broadcast_arrays(a, a)[0]
    b += c
    return (a * b).sum()


@own
def argument_beside_an_array_of_it(a: Any, c: Any) -> Any:
    b, d = jnp.asarray(a=a), a
    a += c
    return (a * d * b).sum()


@own
def argument_beside_arrays_of_it(a: Any, c: Any) -> Any:
    b, d = jnp.broadcast_arrays(a, a)[0], a
    a += c
    return (a * d * b).sum()


@own
def updated_argument(a: Any, c: Any) -> Any:
    b = jnp.asarray(a).at[0].set(c)
    d = b
    b += c
    return (b * d).sum()


@own
def own_parts(a: Any, c: Any) -> Any:
    b = jnp.sin(a)
    rows, d, e = b[1:], b.reshape(2, 2), {"b": b}["b"]
    rows *= c
    d += c
    e -= c
    return (b * c).sum() + rows.sum() * d.sum() * e.sum()


@own
def own_and_another(a: Any, c: Any) -> Any:
    b = a * c
    d = b
    b += jnp.sin(a)
    e = b
    b *= 2
    return (b * d).sum() + e.sum()


ARRAY = np.array([1.0, 2.0, -0.5, 3.0])


@pytest.mark.parametrize("fun", OWN)
def test_it_is_that_of_numpy(fun: Function) -> None:
    expected = fun(ARRAY.copy(), 1.5)
    assert float(tinyjax.jit(fun, control_flow="source")(ARRAY, 1.5)) == pytest.approx(expected)
    step = 1e-6
    slope = (fun(ARRAY.copy(), 1.5 + step) - fun(ARRAY.copy(), 1.5 - step)) / (2 * step)
    found = tinyjax.jit(tinyjax.grad(source.stage(fun), 1))(ARRAY, 1.5)
    assert float(found) == pytest.approx(float(slope), rel=1e-6)
