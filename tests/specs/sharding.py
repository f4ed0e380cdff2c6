"""The placement of values on devices: results do not depend on it."""

from collections.abc import Callable
from typing import Any

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax import NamedSharding, P, lax
from tinyjax._extensions.parallel.collective import (
    all_gather_invariant_p,
    pvary_p,
    recast_p,
    unvary_p,
)
from tinyjax._extensions.parallel.constraint import (
    HideParams,
    constrain,
    hide_p,
    sharding_constraint_p,
)
from tinyjax._extensions.parallel.primitive import shard_map_p
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array

#: Of one axis of the array, whichever comes first.
MESH = tinyjax.make_mesh((tinyjax.device_count(),), ("x",))
SHARDING = NamedSharding(MESH, P("x"))


def constrained(x: Array) -> Array:
    return constrain(x, SHARDING)


def hidden(x: Array) -> Array:
    return bind1(hide_p, (x,), HideParams(("x",)))


def times_sum(x: Array) -> Array:
    part: Array = tinyjax.lax.psum(x, "x")
    return x * part


def on_devices(f: Callable[[Any], Any]) -> Any:
    return tinyjax.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"))


#: A program that has this primitive for each device is what they are bound in.
WITHIN = {
    "jaxpr": "it is within the program of a shard_map",
    "dtypes": "as above",
}


def taken_to_be_shared(x: Any) -> Any:
    def total(part: Array) -> Array:
        return lax.psum(part, "x")

    return tinyjax.shard_map(total, mesh=MESH, in_specs=P("x"), out_specs=P(), check_vma=False)(x)


def total_of_parts(name: str, primitive: Primitive[Any], times_total: Callable[[Any], Any]) -> Spec:
    """A row of a primitive by which rows are multiplied by their sum."""
    return Spec(
        name,
        primitive,
        times_total,
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 3)))],
        numpy=lambda x: x * x.sum(0, keepdims=True, dtype=x.dtype),
        dtypes=["float64"],
        grad=2,
        skip=WITHIN,
    )


def collective_row(name: str, primitive: Primitive[Any], total: Callable[[Array], Array]) -> Spec:
    """A row of a collective by which each device finds the sum of all parts."""
    return total_of_parts(name, primitive, on_devices(lambda x: x * total(x)))


SPECS: list[Spec] = [
    total_of_parts("unvary", unvary_p, lambda x: x * taken_to_be_shared(x)),
    collective_row("pvary", pvary_p, lambda x: lax.pcast(lax.psum(x, "x"), "x", to="varying")),
    collective_row("recast", recast_p, lambda x: lax.psum(lax.pcast(x, "x", to="unreduced"), "x")),
    collective_row(
        "all_gather_invariant",
        all_gather_invariant_p,
        lambda x: lax.all_gather(x, "x", tiled=True, to="invarying").sum(0),
    ),
    Spec(
        "shard_map",
        shard_map_p,
        tinyjax.shard_map(times_sum, mesh=MESH, in_specs=P("x"), out_specs=P("x")),
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 3)))],
        numpy=lambda x: x * x.sum(0, keepdims=True, dtype=x.dtype),
        dtypes=["float32", "float64", "complex128"],
        grad=2,
    ),
    Spec(
        "sharding_constraint",
        sharding_constraint_p,
        constrained,
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 3)))],
        numpy=lambda x: x,
        dtypes="biufce",
        grad=2,
        grad_dtypes=("float64", "complex128"),
        linear=(0,),
    ),
    Spec(
        "hide_axes",
        hide_p,
        hidden,
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 3)))],
        numpy=lambda x: x,
        dtypes="biufce",
        grad=2,
        grad_dtypes=("float64", "complex128"),
        linear=(0,),
    ),
]
