"""Floats of fewer bits, and values that are waited for together."""

from functools import partial
from typing import Any

import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._extensions.accuracy import estimates
from tinyjax._primitives import bitcast
from tinyjax.core.primitives import identities
from tinyjax.core.tracing.primitive import NO_PARAMS, Primitive
from tinyjax.core.tracing.trace import bind, bind1
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray

WIDE = ArraySpec((16,), None, -300.0, 300.0, extremes=True)

#: Types that hold the same bits.
TYPES = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32"}


def by_conversion(x: HostArray, exponent_bits: int, mantissa_bits: int) -> HostArray:
    narrow = x.astype(jax.numpy.dtype(TYPES[exponent_bits, mantissa_bits]))
    return narrow.astype(x.dtype)


def doubled(x: Array, y: Array) -> Any:
    return tuple(identities.optimization_barrier([x, y]))


def bound(primitive: Primitive[Any], x: Array) -> Array:
    return bind1(primitive, (x,), NO_PARAMS)


def sunk(x: Array) -> Array:
    bind(identities.dce_sink_p, (x,), NO_PARAMS)
    return x


#: What is observed of a value that has no error.
NO_ERROR = estimates.ObserveParams(np.zeros(()), 0.0, None, {})


def observed(x: Array) -> Array:
    return bind1(estimates.observe_p, (x,), NO_ERROR)


SPECS = [
    Spec(
        "observe",
        estimates.observe_p,
        observed,
        [Case(ArraySpec((4,))), Case(ArraySpec((4, 3)))],
        numpy=lambda x: x,
        dtypes="f",
        skip={
            "grad": "its rule looks at each cotangent, so that it becomes no step",
            "linear": "as above",
        },
    ),
    Spec(
        "reduce_precision",
        bitcast.reduce_precision_p,
        bitcast.reduce_precision,
        [
            Case(WIDE, exponent_bits=8, mantissa_bits=7),
            Case(WIDE, exponent_bits=5, mantissa_bits=10),
            Case(WIDE, exponent_bits=8, mantissa_bits=23),
        ],
        by_conversion,
        jax=jax.lax.reduce_precision,
        dtypes=("float32", "float64"),
        skip={
            "grad": "steps have no differences",
            "linear": "rounding is linear for its derivative only",
        },
    ),
    Spec(
        "reduce_precision, to other types",
        bitcast.reduce_precision_p,
        bitcast.reduce_precision,
        [
            Case(WIDE, exponent_bits=4, mantissa_bits=3),
            Case(WIDE, exponent_bits=2, mantissa_bits=0),
            Case(WIDE, exponent_bits=11, mantissa_bits=1),
        ],
        None,
        jax=jax.lax.reduce_precision,
        dtypes="f",
        skip={"grad": "as above", "linear": "as above"},
    ),
    Spec(
        "optimization_barrier",
        identities.optimization_barrier_p,
        doubled,
        [Case(ArraySpec((2, 3)), ArraySpec((4,))), Case(ArraySpec(()), ArraySpec((0,)))],
        lambda x, y: (np.asarray(x), np.asarray(y)),
        jax=lambda x, y: jax.lax.optimization_barrier((x, y)),
        dtypes="fc",
        grad=2,
        linear=(0, 1),
    ),
    *[
        Spec(
            primitive.name,
            primitive,
            partial(bound, primitive),
            [Case(ArraySpec((2, 3))), Case(ArraySpec(())), Case(ArraySpec((0,)))],
            np.copy,
            jax=theirs.bind,
            dtypes="biufc",
            grad=2,
            grad_dtypes=("float64", "complex128"),
            linear=(0,),
        )
        for primitive, theirs in (
            (identities.stage_p, jax.lax.stage_p),
            (identities.copy_p, jax.lax.copy_p),
        )
    ],
    Spec(
        "dce_sink",
        identities.dce_sink_p,
        sunk,
        [Case(ArraySpec((2, 3))), Case(ArraySpec(()))],
        np.copy,
        jax=lambda x: x,
        dtypes="fc",
        grad=2,
    ),
]
