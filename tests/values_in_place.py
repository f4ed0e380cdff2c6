"""Values of a library's own that hold arrays in place, in jax's words and in ours.

A box holds a tree of arrays; ``LIBRARIES`` has what makes one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import jax
from jax._src.effects import Effect

import tinyjax
from tinyjax.experimental.hijax import values as ours

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

    def write_type(_: Any, box: Any, *avals: Any, treedef: Any) -> Any:
        box.mutable_qdd.update(State(avals, treedef))
        return [], {wrote}

    def primitive(name: str, rule: Any, abstract: Any, many: bool) -> Any:
        rules = {"to_lojax": rule, "impl": rule, "abstract_eval": abstract}
        rules |= {"is_high": lambda *_, **__: True, "multiple_results": many}
        return type(name, (hijax.HiPrimitive,), rules)(name)

    new_p = primitive("new_box", make, made, False)
    get_p = primitive("get_box", read, lambda _, box, avals: (avals, {wrote}), True)
    put_p = primitive("put_box", write, write_type, True)
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
