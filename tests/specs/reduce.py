"""Rows of the reductions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax._primitives import arg_extrema
from tinyjax.core.primitives import reduce
from tinyjax.core.primitives.broadcast import ReduceParams, reduce_sum_p
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import bind1
from tinyjax.dtypes import HostArray

BOTH = ("float64", "complex128")
LINE = ArraySpec((5,))
MATRIX = ArraySpec((3, 4))
CUBE = ArraySpec((2, 3, 4))
EXTREME = ArraySpec((4, 16), extremes=True)

CASES = [
    Case(LINE, axes=(0,)),
    Case(MATRIX, axes=(1,)),
    Case(CUBE, axes=(0, 2)),
    Case(CUBE, axes=(1,)),
    Case(MATRIX, axes=(0, 1)),
    Case(MATRIX, axes=()),
    Case(ArraySpec(()), axes=()),
    Case(ArraySpec((0, 3)), axes=(1,)),
]
#: Of nothing a reduction is its identity.
OF_NOTHING = [Case(ArraySpec((0, 3)), axes=(0,)), Case(ArraySpec((2, 0)), axes=(0, 1))]


def bound(primitive: Primitive[Any]) -> Callable[..., Any]:
    def fun(x: Any, axes: tuple[int, ...]) -> Any:
        return bind1(primitive, (x,), ReduceParams(axes))

    return fun


def folded(step: Callable[[Any, Any], Any], identity: Callable[[Any], Any]) -> Callable[..., Any]:
    """A reduction as a loop, in float32 where floats are narrow."""

    def reference(x: HostArray, axes: tuple[int, ...]) -> HostArray:
        wide = x.astype(np.float32) if dtypes.is_narrow_float(x.dtype) else x
        kept = [i for i in range(x.ndim) if i not in axes]
        rows = wide.transpose((*axes, *kept)).reshape(
            (int(np.prod([x.shape[i] for i in axes])), *(x.shape[i] for i in kept))
        )
        total = np.full(rows.shape[1:], identity(wide.dtype), wide.dtype)
        for row in rows:
            total = step(total, row)
        return np.asarray(total).astype(x.dtype)

    return reference


def least(dtype: np.dtype[Any]) -> Any:
    return -np.inf if dtypes.kind(dtype) == "f" else np.iinfo(dtype).min


def greatest(dtype: np.dtype[Any]) -> Any:
    return np.inf if dtypes.kind(dtype) == "f" else np.iinfo(dtype).max


def all_ones(dtype: np.dtype[Any]) -> Any:
    return True if dtype == np.bool_ else np.array(-1).astype(dtype)


def jax_sum(x: Any, axes: tuple[int, ...]) -> Any:
    return jnp.sum(x, axes, dtype=x.dtype)


def jax_prod(x: Any, axes: tuple[int, ...]) -> Any:
    return jnp.prod(x, axes, dtype=x.dtype)


def jax_monoid(operation: Callable[..., Any], identity: Callable[[Any], Any]) -> Any:
    def reference(x: Any, axes: tuple[int, ...]) -> Any:
        start = np.array(identity(np.dtype(x.dtype)), x.dtype)
        return jax.lax.reduce(x, start, operation, axes)

    return reference


def bits(
    primitive: Primitive[Any],
    step: Callable[[Any, Any], Any],
    jax_step: Callable[..., Any],
    identity: Callable[[Any], Any],
) -> Spec:
    return Spec(
        primitive.name,
        primitive,
        bound(primitive),
        [*CASES, *OF_NOTHING, Case(EXTREME, axes=(1,))],
        folded(step, identity),
        jax=jax_monoid(jax_step, identity),
        dtypes="biu",
    )


def first_best(
    better: Callable[[float, float], bool],
) -> Callable[[HostArray, int, np.dtype[Any]], HostArray]:
    """The first place of the best element, or of the first NaN, by looking at one after another."""

    def search(x: HostArray, axis: int, dtype: np.dtype[Any]) -> HostArray:
        lines = np.moveaxis(x, axis, -1)
        out = np.zeros(lines.shape[:-1], dtype)
        for index in np.ndindex(*out.shape):
            line = list(lines[index])
            best = 0
            for i, v in enumerate(line):
                if np.isnan(float(line[best])):
                    break
                if np.isnan(float(v)) or better(v, line[best]):
                    best = i
            out[index] = best
        return out

    return search


TIES = np.array([[1, 3, 3, 0], [2, 2, 2, 2], [0, 1, 0, 1]])
NANS = np.array([[1.0, np.nan, 3.0, np.nan], [np.nan, 1, 2, 3], [-np.inf] * 4, [np.inf] * 4])
ONLY_EXTREMES = np.array([[-128, -128, 127], [127, 127, -128]], np.int8)
NARROW = [
    Case(np.array(NANS, d), axis=1, dtype=np.dtype(np.int32))
    for d in (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float8_e5m2)
]
INDEX = np.dtype(np.int32)
ARG_CASES = [
    Case(LINE, axis=0, dtype=INDEX),
    Case(CUBE, axis=1, dtype=np.dtype(np.int64)),
    Case(CUBE, axis=0, dtype=np.dtype(np.uint8)),
    Case(EXTREME, axis=1, dtype=INDEX),
    Case(ArraySpec((0, 3)), axis=1, dtype=INDEX),
    Case(TIES, axis=1, dtype=INDEX),
    Case(TIES, axis=0, dtype=INDEX),
    Case(ONLY_EXTREMES, axis=1, dtype=INDEX),
    Case(np.array([[True, False, True], [False, False, False]]), axis=1, dtype=INDEX),
    *NARROW,
]

ZEROS = [
    # products of the others, where one or two of them are zero
    Case(np.array([1.5, 0.0, -2.0]), axes=(0,)),
    Case(np.array([[1.5, 0.0, 0.0], [0.0, 2.0, 3.0]]), axes=(0,)),
    Case(np.array([[1.5, 0.0, 0.0], [0.0, 2.0, 3.0]]), axes=(0, 1)),
]

SPECS = [
    Spec(
        "reduce_sum",
        reduce_sum_p,
        bound(reduce_sum_p),
        [*CASES, *OF_NOTHING],
        folded(np.add, lambda _: 0),
        jax=jax_sum,
        dtypes="iufc",
        grad=2,
        grad_dtypes=BOTH,
        linear=(0,),
    ),
    Spec(
        "reduce_prod",
        reduce.reduce_prod_p,
        bound(reduce.reduce_prod_p),
        [*CASES, *OF_NOTHING, *ZEROS],
        folded(np.multiply, lambda _: 1),
        jax=jax_prod,
        dtypes="iufc",
        grad=2,
        grad_dtypes=BOTH,
        tol=2,
    ),
    Spec(
        "reduce_max",
        reduce.reduce_max_p,
        bound(reduce.reduce_max_p),
        [*CASES, *OF_NOTHING, Case(EXTREME, axes=(1,)), Case(EXTREME, axes=(0,))],
        folded(np.maximum, least),
        jax=lambda x, axes: jax.lax.reduce_max_p.bind(x, axes=axes, out_sharding=None),
        dtypes="iuf",
        grad=2,
        grad_cases=tuple(range(len(CASES))),
    ),
    Spec(
        "reduce_min",
        reduce.reduce_min_p,
        bound(reduce.reduce_min_p),
        [*CASES, *OF_NOTHING, Case(EXTREME, axes=(1,)), Case(EXTREME, axes=(0,))],
        folded(np.minimum, greatest),
        jax=lambda x, axes: jax.lax.reduce_min_p.bind(x, axes=axes, out_sharding=None),
        dtypes="iuf",
        grad=2,
        grad_cases=tuple(range(len(CASES))),
    ),
    Spec(
        "reduce_max, of complex numbers",
        reduce.reduce_max_p,
        bound(reduce.reduce_max_p),
        CASES,
        lambda x, axes: np.maximum.reduce(x, axis=axes),
        jax=lambda x, axes: jax.lax.reduce_max_p.bind(x, axes=axes, out_sharding=None),
        dtypes="c",
        grad=2,
        grad_dtypes=("complex128",),
    ),
    Spec(
        "reduce_max, of bools",
        reduce.reduce_max_p,
        bound(reduce.reduce_max_p),
        [*CASES, *OF_NOTHING],
        folded(np.maximum, lambda _: False),
        dtypes="b",
    ),
    Spec(
        "reduce_min, of complex numbers",
        reduce.reduce_min_p,
        bound(reduce.reduce_min_p),
        CASES,
        lambda x, axes: np.minimum.reduce(x, axis=axes),
        jax=lambda x, axes: jax.lax.reduce_min_p.bind(x, axes=axes, out_sharding=None),
        dtypes="c",
        grad=2,
        grad_dtypes=("complex128",),
    ),
    Spec(
        "reduce_min, of bools",
        reduce.reduce_min_p,
        bound(reduce.reduce_min_p),
        [*CASES, *OF_NOTHING],
        folded(np.minimum, lambda _: True),
        dtypes="b",
    ),
    bits(reduce.reduce_and_p, np.bitwise_and, jax.lax.bitwise_and, all_ones),
    bits(reduce.reduce_or_p, np.bitwise_or, jax.lax.bitwise_or, lambda _: 0),
    bits(reduce.reduce_xor_p, np.bitwise_xor, jax.lax.bitwise_xor, lambda _: 0),
    Spec(
        "argmax",
        arg_extrema.argmax_p,
        arg_extrema.argmax,
        ARG_CASES,
        first_best(lambda a, b: bool(a > b)),
        jax=lambda x, axis, dtype: jax.lax.argmax(x, axis, index_dtype=dtype),
        dtypes="iuf",
    ),
    Spec(
        "argmin",
        arg_extrema.argmin_p,
        arg_extrema.argmin,
        ARG_CASES,
        first_best(lambda a, b: bool(a < b)),
        jax=lambda x, axis, dtype: jax.lax.argmin(x, axis, index_dtype=dtype),
        dtypes="iuf",
    ),
]
