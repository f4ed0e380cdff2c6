"""Where values lie on devices: what is computed is the same wherever that is."""

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax import NamedSharding, P
from tinyjax.core.array import Array
from tinyjax.jit.constraint import constrain, sharding_constraint_p
from tinyjax.spmd import shard_map_p

#: Of one axis of the array, whichever comes first.
SHARDING = NamedSharding(tinyjax.make_mesh((tinyjax.device_count(),), ("x",)), P("x"))


def constrained(x: Array) -> Array:
    return constrain(x, SHARDING)


def times_sum(x: Array) -> Array:
    part: Array = tinyjax.lax.psum(x, "x")
    return x * part


SPECS: list[Spec] = [
    Spec(
        "shard_map",
        shard_map_p,
        tinyjax.shard_map(times_sum, mesh=SHARDING.mesh, in_specs=P("x"), out_specs=P("x")),
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
]
