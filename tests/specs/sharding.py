"""Where values lie on devices: what is computed is the same wherever that is."""

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax import NamedSharding, P
from tinyjax.core.array import Array
from tinyjax.jit.constraint import constrain, sharding_constraint_p

#: Of one axis of the array, whichever comes first.
SHARDING = NamedSharding(tinyjax.make_mesh((tinyjax.device_count(),), ("x",)), P("x"))


def constrained(x: Array) -> Array:
    return constrain(x, SHARDING)


SPECS: list[Spec] = [
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
