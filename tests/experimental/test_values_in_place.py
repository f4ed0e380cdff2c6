"""Values of a library's own that hold arrays in place (``jax.experimental.hijax``), against JAX."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from values_in_place import LIBRARIES

import tinyjax
from raising import raises
from tinyjax.errors import ArgumentError, RefError
from tinyjax.experimental.hijax import values as ours

COMPARED = [*LIBRARIES, *LIBRARIES][:2]


def nested(lib: Any, box: Any) -> Any:
    b = box(1.0)

    @lib.jit
    def inner(b: Any, x: Any) -> Any:
        b.set(b.get() * x)
        return b.get() + 1.0

    @lib.jit
    def outer(b: Any, x: Any) -> Any:
        return inner(b, x), inner(b, x + 1.0), b.get()

    return outer(b, 2.0), outer(b, 2.0), b.get()


def closed_over(lib: Any, box: Any) -> Any:
    b = box({"sum": 1.0, "count": 0})

    @lib.jit
    def add(x: Any) -> Any:
        b.set({"sum": b.get()["sum"] + x, "count": b.get()["count"] + 1})
        return 2.0 * b.get()["sum"]

    first = add(1.0)
    b.set({"sum": lib.numpy.float32(10.0), "count": lib.numpy.int32(5)})
    return first, add(2.0), b.get()


def in_loops(lib: Any, box: Any) -> Any:
    a, b = box(1.0), box({"x": np.zeros(2, np.float32)})

    @lib.jit
    def run(a: Any, b: Any) -> Any:
        def body(i: Any, c: Any) -> Any:
            a.set(a.get() + i)
            b.set({"x": b.get()["x"].at[0].add(c)})
            return 2.0 * c

        def choose(x: Any) -> Any:
            a.set(a.get() * x)
            return a.get()

        c = lib.lax.fori_loop(0, 4, body, 1.0)
        return c, lib.lax.cond(c > 3.0, choose, lambda x: x, 10.0)

    return run(a, b), run(a, b), a.get(), b.get()


def of_another_structure(lib: Any, box: Any) -> Any:
    b, found = box({}), []

    @lib.jit
    def inner(b: Any, x: Any) -> None:
        b.set({**b.get(), "sum": x.sum()})

    @lib.jit
    def outer(b: Any, x: Any) -> Any:
        inner(b, x)
        b.set({**b.get(), "twice": 2.0 * b.get()["sum"], "x": x})

    for n in (2, 2, 3):
        outer(b, lib.numpy.arange(float(n)))
        found.append(b.get())
    return found


def given_others(lib: Any, box: Any) -> Any:
    a, b, traced = box(1.0), box(5.0), []

    @lib.jit
    def step(x: Any) -> None:
        traced.append(1)
        x.set(x.get() + 1.0)

    for x in (a, b, b):
        step(x)
    with lib.disable_jit():
        step(a)
    return a.get(), b.get(), len(traced)


PROGRAMS = (nested, closed_over, in_loops, of_another_structure, given_others)


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_hold_arrays_in_place_as_in_jax(program: Callable[[Any, Any], Any]) -> None:
    *_, expected, found = [lib.tree.flatten(program(lib, LIBRARIES[lib])) for lib in COMPARED]
    assert str(found[1]) == str(expected[1])
    for a, b in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_values_in_derivatives_and_batches() -> None:
    box = LIBRARIES[tinyjax]

    def cube(x: Any) -> Any:
        b = box(1.0)
        tinyjax.lax.scan(lambda _, __: (b.set(b.get() * x), None), None, None, length=3)
        return b.get()

    outside = box(2.0)

    def loss(x: Any) -> Any:
        outside.set(tinyjax.lax.stop_gradient(3.0 * x))
        return x**2 + outside.get()

    assert (tinyjax.grad(loss)(3.0), outside.get()) == (6.0, 9.0)
    for f in (tinyjax.grad(cube), tinyjax.jit(tinyjax.grad(cube)), tinyjax.grad(tinyjax.jit(cube))):
        np.testing.assert_allclose(
            tinyjax.vmap(f)(np.arange(3, dtype=np.float32)), [0.0, 3.0, 12.0]
        )


def test_values_are_refused_where_they_cannot_be_kept() -> None:
    box, x = LIBRARIES[tinyjax], np.arange(3, dtype=np.float32)
    b = box(1.0)
    for run, error, message in (
        (lambda: tinyjax.jit(lambda b: b)(b), ArgumentError, "at result returned a Box"),
        (lambda: tinyjax.vmap(b.set)(x), RefError, "the vmap of"),
        (lambda: tinyjax.grad(lambda x: (b.set(x), x)[1])(1.0), RefError, "made outside of it"),
        (lambda: tinyjax.make_jaxpr(b.set)(1.0), RefError, "which keeps no state"),
        (lambda: tinyjax.jit(b.set)({"a": 1.0}), RefError, "another structure or type"),
        (lambda: tinyjax.jit(lambda a, b: a.get())(b, b), RefError, "given a Ref twice"),
        (lambda: ours.HiPrimitive("sin").bind(1.0), NotImplementedError, "defines neither"),
    ):
        with raises(error, match=message):
            run()
    assert b.get() == 1.0
