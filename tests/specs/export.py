"""Rows for exported programs."""

from typing import Any

import numpy as np

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax.core.primitives.elementwise import mul, sin
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapeDtypeStruct
from tinyjax.export import call_exported_p, deserialize, export, exported_tangent_p

F = ArraySpec((2, 3), np.float64)
SHAPE: Any = ShapeDtypeStruct((2, 3), np.float64)
FORWARD = "an exported program has no forward mode; tests/export/test_export.py tests reverse mode"


def product(x: Array, y: Array) -> Array:
    return mul(sin(x), y)


EXPORTED = deserialize(export(tinyjax.jit(product))(SHAPE, SHAPE).serialize(vjp_order=1))


def loaded(x: Array, y: Array) -> Array:
    result: Array = EXPORTED.call(x, y)
    return result


SPECS = [
    Spec(
        "call_exported",
        call_exported_p,
        loaded,
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float64",),
        skip={"compose": FORWARD},
    ),
    Spec(
        "exported_tangent",
        exported_tangent_p,
        tinyjax.jit(loaded),
        [Case(F, F)],
        lambda x, y: np.sin(x) * y,
        dtypes=("float64",),
        skip={"compose": FORWARD, "jaxpr": "a derivative binds it, not the function"},
    ),
]
