"""Rows of the primitives that rearrange elements."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax import dtypes
from tinyjax.core.primitives import shape as sh, slicing
from tinyjax.core.primitives.broadcast import BroadcastParams, broadcast_in_dim, broadcast_in_dim_p
from tinyjax.core.tracing.primitive import Primitive
from tinyjax.core.tracing.trace import bind1
from tinyjax.core.values.array import Array
from tinyjax.dtypes import HostArray
from tinyjax.export import dimension

ALL = "biufce"
BOTH = ("float64", "complex128")
SCALAR = ArraySpec(())
LINE = ArraySpec((4,))
MATRIX = ArraySpec((2, 3))
CUBE = ArraySpec((2, 3, 4))
EMPTY = ArraySpec((0, 3))


def linear(
    primitive: Primitive[Any],
    fun: Callable[..., Any],
    cases: list[Case],
    numpy: Callable[..., Any],
    jax_fun: Callable[..., Any],
) -> Spec:
    """A row of a primitive that is linear in its one operand."""
    return Spec(
        primitive.name,
        primitive,
        fun,
        cases,
        numpy,
        jax=jax_fun,
        dtypes=ALL,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0,),
    )


def broadcast(x: HostArray, shape: tuple[int, ...], dims: tuple[int, ...]) -> HostArray:
    """Element by element, from the definition."""
    out = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape):
        out[index] = x[tuple(index[d] for d in dims)]
    return out


def bound(primitive: Primitive[Any], params: type[Any]) -> Callable[..., Any]:
    """The primitive itself: its function would return the operand where there is nothing to do."""

    def fun(*operands: Array, **arguments: Any) -> Array:
        return bind1(primitive, operands, params(**arguments))

    return fun


def sliced(
    x: HostArray,
    starts: tuple[int, ...],
    limits: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
) -> HostArray:
    strides = (1,) * x.ndim if strides is None else strides
    bounds = zip(starts, limits, strides, strict=True)
    return x[np.ix_(*([*range(a, b, c)] for a, b, c in bounds))] if x.ndim else x


Config = tuple[tuple[int, int, int], ...]


def padded(x: HostArray, value: HostArray, config: Config) -> HostArray:
    """Element by element: where each element lands, if anywhere."""
    shape = [
        low + high + n + max(n - 1, 0) * interior
        for n, (low, high, interior) in zip(x.shape, config, strict=True)
    ]
    out = np.full(shape, value, x.dtype)
    for index in np.ndindex(*x.shape):
        place = [low + i * (k + 1) for i, (low, _, k) in zip(index, config, strict=True)]
        if all(0 <= p < n for p, n in zip(place, shape, strict=True)):
            out[tuple(place)] = x[index]
    return out


CONFIGS: list[Config] = [
    ((1, 2, 0), (0, 0, 0)),
    ((0, 0, 1), (2, 1, 2)),
    ((-1, 0, 0), (0, -2, 0)),
    ((-1, 3, 2), (2, -1, 1)),
    ((-2, 2, 1), (-3, -2, 3)),
    ((2, -1, 0), (-1, -2, 0)),
    ((-2, 0, 0), (5, -5, 0)),
    ((4, -5, 1), (-7, 8, 3)),
]


def stacked(*xs: Any, axis: int) -> HostArray:
    return np.concatenate(xs, axis)


def iota(shape: tuple[int, ...], dtype: np.dtype[Any], axis: int) -> HostArray:
    out = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        out[index] = index[axis]
    return out


def int32(size: int) -> HostArray:
    return np.array(size, np.int32)


SPECS = [
    linear(
        broadcast_in_dim_p,
        broadcast_in_dim,
        [
            Case(SCALAR, shape=(2, 3), dims=()),
            Case(LINE, shape=(2, 4, 3), dims=(1,)),
            Case(MATRIX, shape=(2, 5, 3), dims=(0, 2)),
            Case(ArraySpec((1, 3)), shape=(1, 2, 3), dims=(0, 2)),
            Case(SCALAR, shape=(0, 3), dims=()),
            Case(EMPTY, shape=(2, 0, 3), dims=(1, 2)),
            Case(SCALAR, shape=(50, 60), dims=()),
        ],
        broadcast,
        lambda x, shape, dims: jax.lax.broadcast_in_dim(x, shape, broadcast_dimensions=dims),
    ),
    Spec(
        "broadcast_in_dim, of nothing",
        broadcast_in_dim_p,
        bound(broadcast_in_dim_p, BroadcastParams),
        [Case(MATRIX, shape=(2, 3), dims=(0, 1)), Case(SCALAR, shape=(), dims=())],
        broadcast,
        grad=1,
        linear=(0,),
    ),
    linear(
        sh.reshape_p,
        sh.reshape,
        [
            Case(CUBE, shape=(4, 6)),
            Case(CUBE, shape=(24,)),
            Case(SCALAR, shape=(1, 1)),
            Case(ArraySpec((1,)), shape=()),
            Case(EMPTY, shape=(5, 0, 2)),
        ],
        lambda x, shape: x.reshape(shape),
        jnp.reshape,
    ),
    linear(
        sh.transpose_p,
        sh.transpose,
        [
            Case(MATRIX, perm=(1, 0)),
            Case(CUBE, perm=(2, 0, 1)),
            Case(CUBE, perm=(1, 2, 0)),
            Case(EMPTY, perm=(1, 0)),
        ],
        lambda x, perm: (
            np.einsum(x, list(range(x.ndim)), list(perm))
            if x.dtype.kind in "fiuc"
            else x.transpose(perm)
        ),
        lambda x, perm: jnp.transpose(x, axes=perm),
    ),
    Spec(
        "transpose, of nothing",
        sh.transpose_p,
        bound(sh.transpose_p, sh.TransposeParams),
        [Case(MATRIX, perm=(0, 1)), Case(SCALAR, perm=())],
        lambda x, perm: x,
        grad=1,
        linear=(0,),
    ),
    linear(
        sh.rev_p,
        sh.rev,
        [
            Case(LINE, axes=(0,)),
            Case(CUBE, axes=(2, 0)),
            Case(MATRIX, axes=()),
            Case(EMPTY, axes=(0, 1)),
        ],
        lambda x, axes: x[tuple(slice(None, None, -1 if i in axes else 1) for i in range(x.ndim))],
        lambda x, axes: jnp.flip(x, axis=axes),
    ),
    linear(
        slicing.slice_p,
        slicing.slice_,
        [
            Case(LINE, starts=(1,), limits=(3,)),
            Case(CUBE, starts=(0, 1, 0), limits=(2, 3, 4), strides=(1, 2, 3)),
            Case(ArraySpec((7,)), starts=(2,), limits=(6,), strides=(3,)),
            Case(ArraySpec((7,)), starts=(2,), limits=(2,), strides=(3,)),
            Case(ArraySpec((5,)), starts=(0,), limits=(5,), strides=(7,)),
            Case(ArraySpec((5,)), starts=(5,), limits=(5,)),
            Case(EMPTY, starts=(0, 1), limits=(0, 2)),
        ],
        sliced,
        lambda x, starts, limits, strides=None: jax.lax.slice(x, starts, limits, strides),
    ),
    Spec(
        "slice, of everything",
        slicing.slice_p,
        bound(slicing.slice_p, slicing.SliceParams),
        [Case(MATRIX, starts=(0, 0), limits=(2, 3), strides=(1, 1))],
        lambda x, starts, limits, strides: x,
        grad=1,
        linear=(0,),
    ),
    Spec(
        "pad",
        slicing.pad_p,
        slicing.pad,
        [
            *(Case(ArraySpec((3, 4)), SCALAR, config=config) for config in CONFIGS),
            Case(LINE, SCALAR, config=((-6, 4, 1),)),
            Case(LINE, SCALAR, config=((-2, -2, 0),)),
            Case(LINE, SCALAR, config=((-3, -4, 1),)),
            Case(EMPTY, SCALAR, config=((1, 1, 2), (0, 0, 1))),
            Case(ArraySpec((0,)), SCALAR, config=((3, -1, 4),)),
            Case(ArraySpec((1,)), SCALAR, config=((-1, 3, 4),)),
        ],
        padded,
        jax=lambda x, value, config: jax.lax.pad(x, value, padding_config=config),
        dtypes=ALL,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 1),
    ),
    Spec(
        "pad, of nothing",
        slicing.pad_p,
        bound(slicing.pad_p, slicing.PadParams),
        [Case(SCALAR, SCALAR, config=()), Case(LINE, SCALAR, config=((0, 0, 0),))],
        padded,
        grad=1,
        linear=(0, 1),
    ),
    Spec(
        "concatenate",
        slicing.concatenate_p,
        lambda *xs, axis: slicing.concatenate(xs, axis),
        [
            Case(LINE, ArraySpec((2,)), axis=0),
            Case(MATRIX, ArraySpec((2, 1)), ArraySpec((2, 0)), axis=1),
            Case(MATRIX, EMPTY, MATRIX, MATRIX, axis=0),
        ],
        stacked,
        jax=lambda *xs, axis: jax.lax.concatenate(xs, axis),
        dtypes=ALL,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 1, 2, 3),
    ),
    Spec(
        "concatenate, of one",
        slicing.concatenate_p,
        bound(slicing.concatenate_p, slicing.ConcatenateParams),
        [Case(LINE, axis=0)],
        lambda x, axis: x,
        grad=1,
        linear=(0,),
    ),
    Spec(
        "split",
        slicing.split_p,
        slicing.split,
        [
            Case(LINE, sizes=(1, 3), axis=0),
            Case(MATRIX, sizes=(1, 0, 2), axis=1),
            Case(CUBE, sizes=(1, 2), axis=1),
            Case(EMPTY, sizes=(0, 0), axis=0),
        ],
        lambda x, sizes, axis: np.split(x, np.cumsum(sizes)[:-1], axis),
        jax=jax.lax.split,
        dtypes=ALL,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0,),
    ),
    Spec(
        "iota",
        sh.iota_p,
        sh.iota,
        [
            Case(shape=shape, dtype=dtype, axis=axis)
            for dtype in dtypes.ALL
            if dtype != dtypes.bool_
            for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 0), 0))
        ],
        iota,
        jax=lambda shape, dtype, axis: jax.lax.broadcasted_iota(dtype, shape, axis),
    ),
    Spec(
        "dim_as_value",
        dimension.dim_as_value_p,
        dimension.dim_as_value,
        [Case(size=3), Case(size=0)],
        int32,
        jax=lambda size: jnp.asarray(size, "int32"),
    ),
    Spec(
        "iota, beyond what the type holds",
        sh.iota_p,
        sh.iota,
        [Case(shape=(300,), dtype=np.dtype(dtype), axis=0) for dtype in ("int8", "uint8")],
        lambda shape, dtype, axis: (np.arange(shape[0]) % 256).astype(np.uint8).view(dtype),
        jax=lambda shape, dtype, axis: jnp.arange(shape[0]).astype(dtype),
    ),
]
