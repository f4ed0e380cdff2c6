"""Rows for programs of buckets."""

import numpy as np

import tinyjax
from specs import ArraySpec, Case, Spec
from tinyjax._library.padding.programs import padded_p
from tinyjax.core.primitives.broadcast import reduce_sum
from tinyjax.core.primitives.elementwise import log, mul, sin
from tinyjax.core.values.array import Array

F = ArraySpec((3, 2), np.float64, low=0.5, high=1.5)


def total(x: Array, y: Array) -> Array:
    return mul(reduce_sum(log(x), (0,)), reduce_sum(sin(y), (0,)))


SPECS = [
    Spec(
        "padded",
        padded_p,
        tinyjax.jit(total, pad_to=4),
        [Case(F, F)],
        lambda x, y: np.log(x).sum(0) * np.sin(y).sum(0),
        dtypes=("float64",),
        grad=2,
        skip={"jaxpr": "in a program lengths are known, and nothing is padded"},
    )
]
