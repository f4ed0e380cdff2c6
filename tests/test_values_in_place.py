"""Values of a library's own that hold arrays in place (``jax.experimental.hijax``), against JAX."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import jax
import numpy as np
import pytest
from jax._src.effects import Effect

import tinyjax
from raising import raises
from tinyjax._jax import hijax as ours
from tinyjax.errors import ArgumentError, RefError

theirs = import_module("jax.experimental.hijax")
wrote = type("Wrote", (Effect,), {})()
theirs.control_flow_allowed_effects.add_type(type(wrote))


@dataclass(frozen=True)
class State:
    """The structure and the types of what a box holds."""

    avals: tuple[Any, ...]
    treedef: Any

    def normalize(self) -> "State":
        return State(tuple(x.normalize() for x in self.avals), self.treedef)


class Raw:
    """A box, for the rules of its primitives."""

    leaves: list[Any]
    treedef: Any


def boxes(lib: Any, hijax: Any) -> Callable[[Any], Any]:
    """Declare boxes, each of which holds a tree of arrays in place; return what makes one."""

    def state_of(box: Raw) -> State:
        return State(tuple(map(lib.typeof, box.leaves)), box.treedef)

    def current(box: Any) -> Any:
        return lib.experimental.cur_qdd(box) if lib is jax else hijax.cur_qdd(box)

    def get(box: Any) -> Any:
        state = current(box)
        return lib.tree.unflatten(state.treedef, get_p.bind(box, avals=state.avals))

    def put(box: Any, value: Any) -> None:
        leaves, treedef = lib.tree.flatten(value)
        put_p.bind(box, *leaves, treedef=treedef)

    def make(_: Any, *leaves: Any, treedef: Any) -> Any:
        box = Box()
        box.leaves, box.treedef = [*leaves], treedef
        return box

    def made(_: Any, *avals: Any, treedef: Any) -> Any:
        return hijax.AvalQDD(BoxType(), State(avals, treedef)), {wrote}

    def read(_: Any, box: Raw, *, avals: Any) -> list[Any]:
        return box.leaves

    def write(_: Any, box: Raw, *leaves: Any, treedef: Any) -> list[Any]:
        box.leaves, box.treedef = [*leaves], treedef
        return []

    def written(_: Any, box: Any, *avals: Any, treedef: Any) -> Any:
        box.mutable_qdd.update(State(avals, treedef))
        return [], {wrote}

    def primitive(name: str, rule: Any, abstract: Any, many: bool) -> Any:
        rules = {"to_lojax": rule, "impl": rule, "abstract_eval": abstract}
        rules |= {"is_high": lambda *_, **__: True, "multiple_results": many}
        return type(name, (hijax.HiPrimitive,), rules)(name)

    new_p = primitive("new_box", make, made, False)
    get_p = primitive("get_box", read, lambda _, box, avals: (avals, {wrote}), True)
    put_p = primitive("put_box", write, written, True)
    Box = type("Box", (Raw,), {"get": get, "set": put, "cur_qdd": state_of})
    BoxType = type(
        "BoxType",
        (hijax.MutableHiType,),
        {
            "get": hijax.aval_method(get),
            "set": hijax.aval_method(put),
            "__hash__": lambda _: hash("BoxType"),
            "__eq__": lambda a, b: type(a) is type(b),
            "str_short": lambda *_, **__: "Box",
            "lo_ty_qdd": lambda _, s: [x for a in s.avals for x in a.lo_ty()],
            "new_from_loval": lambda _, s, *xs: make(None, *xs, treedef=s.treedef),
            "read_loval": lambda _, s, box: lib.tree.leaves(get(box)),
            "update_from_loval": lambda _, s, box, *xs: put(box, lib.tree.unflatten(s.treedef, xs)),
        },
    )
    hijax.register_hitype(Box, lambda _: BoxType())

    def box(value: Any) -> Any:
        leaves, treedef = lib.tree.flatten(value)
        return new_p.bind(*map(lib.numpy.asarray, leaves), treedef=treedef)

    return box


#: From 0.12 on jax has no such values any more; then programs are run, and not compared.
LIBRARIES = {
    lib: boxes(lib, hi)
    for lib, hi in ((jax, theirs), (tinyjax, ours))
    if hasattr(hi, "MutableHiType")
}
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
