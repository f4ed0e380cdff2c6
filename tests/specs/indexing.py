"""Rows of the primitives that read and write at places that are data."""

from collections.abc import Callable
from typing import Any

import attrs
import jax
import numpy as np

from specs import ArraySpec, Case, Spec
from tinyjax._primitives import (
    dynamic_slice,
    gather_scatter,
    scatter as primitives_scatter,
    scatter_mul,
    wrap_index,
)
from tinyjax.dtypes import HostArray

BOTH = ("float64", "complex128")
LINE = ArraySpec((5,))
MATRIX = ArraySpec((3, 4))
CUBE = ArraySpec((2, 3, 4))


def ints(*values: Any) -> HostArray:
    return np.array(values, np.int32)


def start(value: int, dtype: str = "int32") -> HostArray:
    return np.array(value, dtype)


# dynamic_slice and dynamic_update_slice


def slices(shape: tuple[int, ...], starts: Any, sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The definition: counted from the end below zero, then moved into bounds."""
    found = []
    for n, i, m in zip(shape, starts, sizes, strict=True):
        first = int(i) + n if i < 0 else int(i)
        first = min(max(first, 0), n - m)
        found.append(slice(first, first + m))
    return tuple(found)


def numpy_update(x: HostArray, update: HostArray, *starts: Any) -> HostArray:
    out = x.copy()
    out[slices(x.shape, starts, update.shape)] = update
    return out


# gather and scatter, index vector by index vector

Numbers = dict[str, tuple[int, ...]]


def windows(
    shape: tuple[int, ...],
    indices: HostArray,
    sizes: tuple[int, ...],
    collapsed: tuple[int, ...],
    index_map: tuple[int, ...],
    batching: tuple[int, ...],
    indices_batching: tuple[int, ...],
    clip: bool,
) -> Any:
    """For each index vector: its place, the slice it means, and whether that is in bounds."""
    for place in np.ndindex(*indices.shape[:-1]):
        first = [0] * len(shape)
        for k, axis in enumerate(index_map):
            first[axis] = int(indices[place][k])
        for axis, along in zip(batching, indices_batching, strict=True):
            first[axis] = place[along]
        limits = [n - m for n, m in zip(shape, sizes, strict=True)]
        inside = all(0 <= i <= most for i, most in zip(first, limits, strict=True))
        moved = [min(max(i, 0), most) for i, most in zip(first, limits, strict=True)]
        where = tuple(
            [
                i if axis in collapsed or axis in batching else slice(i, i + m)
                for axis, (i, m) in enumerate(zip(moved, sizes, strict=True))
            ]
        )
        yield place, where, inside or clip


def in_result(place: tuple[int, ...], window_dims: tuple[int, ...], ndim: int) -> tuple[Any, ...]:
    rest = iter(place)
    return tuple([slice(None) if i in window_dims else next(rest) for i in range(ndim)])


def numpy_gather(
    x: HostArray,
    indices: HostArray,
    *,
    sizes: tuple[int, ...],
    mode: str,
    offset: tuple[int, ...],
    collapsed: tuple[int, ...],
    index_map: tuple[int, ...],
    batching: tuple[int, ...] = (),
    indices_batching: tuple[int, ...] = (),
    fill: float = 0,
) -> HostArray:
    ndim = indices.ndim - 1 + len(offset)
    window = [m for i, m in enumerate(sizes) if i not in collapsed and i not in batching]
    rest = iter(indices.shape[:-1])
    inner = dict(zip(offset, window, strict=True))
    out = np.full(
        [inner[i] if i in inner else next(rest) for i in range(ndim)], np.array(fill), x.dtype
    )
    clip = mode != "fill"
    for place, where, inside in windows(
        x.shape, indices, sizes, collapsed, index_map, batching, indices_batching, clip
    ):
        if inside:
            out[in_result(place, offset, ndim)] = x[where]
    return out


def gather(x: Any, indices: Any, sizes: Any, mode: str, fill: float = 0, **numbers: Any) -> Any:
    return primitives_scatter.gather(
        x, indices, gather_scatter.GatherDimensionNumbers(*ordered(numbers, "offset")), sizes,
        mode=mode, fill_value=fill,
    )  # fmt: skip


def jax_gather(x: Any, indices: Any, sizes: Any, mode: str, fill: float = 0, **numbers: Any) -> Any:
    return jax.lax.gather(
        x, indices, jax.lax.GatherDimensionNumbers(*ordered(numbers, "offset")), sizes,
        mode=mode, fill_value=fill,
    )  # fmt: skip


def ordered(numbers: dict[str, Any], first: str) -> tuple[Any, ...]:
    names = (first, "collapsed", "index_map", "batching", "indices_batching")
    return tuple(numbers.get(name, ()) for name in names)


def numpy_scatter(combine: Callable[[Any, Any], Any]) -> Callable[..., HostArray]:
    def reference(
        x: HostArray,
        indices: HostArray,
        updates: HostArray,
        *,
        mode: str,
        window: tuple[int, ...],
        collapsed: tuple[int, ...],
        index_map: tuple[int, ...],
        batching: tuple[int, ...] = (),
        indices_batching: tuple[int, ...] = (),
        unique: bool = False,
    ) -> HostArray:
        out = x.copy()
        rest = iter([updates.shape[i] for i in window])
        left_out = (*collapsed, *batching)
        sizes = tuple([1 if i in left_out else next(rest) for i in range(x.ndim)])
        clip = mode == "clip"
        for place, where, inside in windows(
            x.shape, indices, sizes, collapsed, index_map, batching, indices_batching, clip
        ):
            if inside:
                out[where] = combine(out[where], updates[in_result(place, window, updates.ndim)])
        return out

    return reference


def scatter(function: Callable[..., Any], numbers_class: type[Any]) -> Callable[..., Any]:
    def fun(
        x: Any, indices: Any, updates: Any, mode: str, unique: bool = False, **numbers: Any
    ) -> Any:
        dims = numbers_class(*ordered(numbers, "window"))
        return function(x, indices, updates, dims, mode=mode, unique_indices=unique)

    return fun


def reading(
    x: ArraySpec,
    indices: HostArray,
    sizes: tuple[int, ...],
    offset: tuple[int, ...],
    collapsed: tuple[int, ...],
    index_map: tuple[int, ...],
    mode: str = "clip",
    **more: Any,
) -> Case:
    """A case of gather."""
    return Case(
        x,
        indices,
        sizes=sizes,
        offset=offset,
        collapsed=collapsed,
        index_map=index_map,
        mode=mode,
        **more,
    )


def writing(
    x: ArraySpec,
    indices: HostArray,
    updates: tuple[int, ...],
    window: tuple[int, ...],
    collapsed: tuple[int, ...],
    index_map: tuple[int, ...],
    mode: str = "fill",
    **more: Any,
) -> Case:
    """A case of a scatter."""
    return Case(
        x,
        indices,
        ArraySpec(updates),
        window=window,
        collapsed=collapsed,
        index_map=index_map,
        mode=mode,
        **more,
    )


GATHERS = [
    # elements and rows, out of bounds too
    reading(LINE, ints([3], [0], [3]), (1,), (), (0,), (0,)),
    reading(LINE, ints([7], [0], [-9]), (1,), (), (0,), (0,)),
    reading(LINE, ints([7], [0], [-1]), (1,), (), (0,), (0,), mode="fill", fill=1),
    reading(MATRIX, ints([2], [0]), (1, 4), (1,), (0,), (0,), mode="fill"),
    reading(MATRIX, ints([2], [5]), (3, 1), (0,), (1,), (1,), mode="fill"),
    reading(MATRIX, ints([[2], [0]], [[1], [1]]), (1, 4), (0,), (0,), (0,)),
    # windows, an index of several axes, axes in another order
    reading(MATRIX, ints([0, 1], [2, 3]), (2, 2), (1, 2), (), (0, 1)),
    reading(MATRIX, ints([0, 1], [2, 3]), (2, 2), (0, 2), (), (0, 1), mode="fill"),
    reading(MATRIX, ints([1, 0], [3, 2]), (1, 1), (), (0, 1), (1, 0)),
    reading(CUBE, ints([1], [2]), (2, 1, 3), (0, 2), (1,), (1,)),
    reading(CUBE, ints(2), (2, 1, 4), (0, 1), (1,), (1,)),
    # axes that go along
    reading(
        CUBE,
        ints([[1], [0]], [[2], [2]]),
        (1, 1, 4),
        (2,),
        (1,),
        (1,),
        batching=(0,),
        indices_batching=(0,),
    ),
    reading(
        CUBE,
        ints([[1], [5]], [[2], [2]]),
        (1, 1, 4),
        (0,),
        (1,),
        (1,),
        mode="fill",
        batching=(0,),
        indices_batching=(1,),
    ),
    # nothing
    reading(LINE, np.zeros((0, 1), np.int32), (1,), (), (0,), (0,)),
    reading(MATRIX, ints([1]), (1, 0), (1,), (0,), (0,)),
    # other integers as indices
    reading(LINE, np.array([[3], [0]], np.uint8), (1,), (), (0,), (0,)),
    reading(LINE, np.array([[3], [-9]], np.int64), (1,), (), (0,), (0,), mode="fill"),
]

#: Where no two windows overlap.
DISTINCT = [
    writing(LINE, ints([3], [0]), (2,), (), (0,), (0,), unique=True),
    writing(LINE, ints([7], [0], [-1]), (3,), (), (0,), (0,)),
    writing(LINE, ints([7], [0]), (2,), (), (0,), (0,), mode="clip"),
    writing(MATRIX, ints([2], [0]), (2, 4), (1,), (0,), (0,)),
    writing(MATRIX, ints([2], [0], [8]), (3, 3), (0,), (1,), (1,)),
    writing(MATRIX, ints(2), (4,), (0,), (0,), (0,)),
    writing(MATRIX, ints([1, 0], [3, 2]), (2,), (), (0, 1), (1, 0)),
    writing(
        CUBE,
        ints([[1], [0]], [[2], [2]]),
        (2, 2, 4),
        (2,),
        (1,),
        (1,),
        batching=(0,),
        indices_batching=(1,),
        unique=True,
    ),
    writing(LINE, np.zeros((0, 1), np.int32), (0,), (), (0,), (0,)),
]
#: Where they do.
OVERLAPPING = [
    writing(LINE, ints([3], [0], [3], [3]), (4,), (), (0,), (0,)),
    writing(LINE, ints([9], [4], [4]), (3,), (), (0,), (0,), mode="clip"),
    writing(MATRIX, ints([[2], [0]], [[2], [0]]), (2, 2, 4), (2,), (0,), (0,)),
    writing(MATRIX, ints([0, 1], [1, 2], [2, 2]), (3, 2, 2), (1, 2), (), (0, 1)),
    writing(MATRIX, ints([0, 1], [1, 2], [2, 2]), (2, 3, 2), (0, 2), (), (0, 1), mode="clip"),
    writing(
        CUBE,
        ints([[1], [1]], [[2], [2]]),
        (2, 2, 4),
        (2,),
        (1,),
        (1,),
        batching=(0,),
        indices_batching=(0,),
    ),
    # enough to be sorted rather than combined one by one
    writing(ArraySpec((3, 80)), ints(*[[i % 3] for i in range(9)]), (9, 80), (1,), (0,), (0,)),
]


def scatter_row(
    primitive: Any,
    function: Callable[..., Any],
    jax_function: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    kinds: str,
    cases: list[Case],
    **options: Any,
) -> Spec:
    return Spec(
        primitive.name,
        primitive,
        scatter(function, gather_scatter.ScatterDimensionNumbers),
        cases,
        numpy_scatter(combine),
        jax=scatter(jax_function, jax.lax.ScatterDimensionNumbers),
        dtypes=kinds,
        **options,
    )


SPECS = [
    Spec(
        "wrap_index",
        wrap_index.wrap_index_p,
        wrap_index.wrap_index,
        [
            Case(ints(-3, 2, -1, 0, 7), size=3),
            Case(np.array([-300, 5], np.int64), size=1000),
            Case(ints([1, -2]), size=2),
        ],
        numpy=lambda x, size: np.where(x < 0, x + x.dtype.type(size), x),
    ),
    Spec(
        "dynamic_slice",
        dynamic_slice.dynamic_slice_p,
        lambda x, *starts, sizes: dynamic_slice.dynamic_slice(x, starts, sizes),
        [
            Case(LINE, start(1), sizes=(3,)),
            Case(LINE, start(4), sizes=(3,)),
            Case(LINE, start(-9), sizes=(3,)),
            Case(LINE, start(-2), sizes=(2,)),
            Case(MATRIX, start(1), start(2), sizes=(1, 2)),
            Case(MATRIX, start(1, "int64"), start(9, "int64"), sizes=(3, 1)),
            Case(MATRIX, start(1), start(2), sizes=(0, 2)),
            Case(CUBE, start(1), start(0), start(2), sizes=(1, 3, 2)),
            Case(LINE, start(1, "uint8"), sizes=(2,)),
            Case(ArraySpec(()), sizes=()),
        ],
        numpy=lambda x, *starts, sizes: x[slices(x.shape, starts, sizes)],
        jax=lambda x, *starts, sizes: jax.lax.dynamic_slice(x, starts, sizes),
        dtypes="biufce",
        grad=2,
        grad_dtypes=BOTH,
        linear=(0,),
    ),
    Spec(
        "dynamic_update_slice",
        dynamic_slice.dynamic_update_slice_p,
        lambda x, update, *starts: dynamic_slice.dynamic_update_slice(x, update, starts),
        [
            Case(LINE, ArraySpec((3,)), start(1)),
            Case(LINE, ArraySpec((3,)), start(4)),
            Case(LINE, ArraySpec((3,)), start(-2)),
            Case(MATRIX, ArraySpec((1, 2)), start(1), start(2)),
            Case(MATRIX, ArraySpec((3, 1)), start(1, "int64"), start(9, "int64")),
            Case(MATRIX, ArraySpec((0, 2)), start(1), start(2)),
            Case(CUBE, ArraySpec((1, 3, 2)), start(1), start(0), start(2)),
            Case(ArraySpec(()), ArraySpec(())),
        ],
        numpy=numpy_update,
        jax=lambda x, update, *starts: jax.lax.dynamic_update_slice(x, update, starts),
        dtypes="biufce",
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 1),
    ),
    Spec(
        "gather",
        gather_scatter.gather_p,
        gather,
        GATHERS,
        numpy_gather,
        jax=jax_gather,
        dtypes="biufce",
        grad=2,
        grad_dtypes=BOTH,
    ),
    scatter_row(
        gather_scatter.scatter_p,
        primitives_scatter.scatter,
        jax.lax.scatter,
        lambda old, new: new,
        "biufc",
        DISTINCT + OVERLAPPING,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 2),
    ),
    scatter_row(
        gather_scatter.scatter_add_p,
        primitives_scatter.scatter_add,
        jax.lax.scatter_add,
        lambda old, new: old + new,
        "iufc",
        DISTINCT + OVERLAPPING,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 2),
    ),
    scatter_row(
        gather_scatter.scatter_sub_p,
        primitives_scatter.scatter_sub,
        jax.lax.scatter_sub,
        lambda old, new: old - new,
        "iufc",
        DISTINCT + OVERLAPPING,
        grad=2,
        grad_dtypes=BOTH,
        linear=(0, 2),
    ),
    scatter_row(
        scatter_mul.scatter_mul_p,
        primitives_scatter.scatter_mul,
        jax.lax.scatter_mul,
        lambda old, new: old * new,
        "iufc",
        [Case(*c.operands, **{**c.params, "unique": True}) for c in DISTINCT],
        grad=2,
    ),
    attrs.evolve(
        scatter_row(
            scatter_mul.scatter_mul_p,
            primitives_scatter.scatter_mul,
            jax.lax.scatter_mul,
            lambda old, new: old * new,
            "iufc",
            OVERLAPPING,
            grad=2,
        ),
        name="scatter_mul overlapping",
    ),
    scatter_row(
        gather_scatter.scatter_min_p,
        primitives_scatter.scatter_min,
        jax.lax.scatter_min,
        np.minimum,
        "biufc",
        DISTINCT + OVERLAPPING,
        grad=2,
    ),
    scatter_row(
        gather_scatter.scatter_max_p,
        primitives_scatter.scatter_max,
        jax.lax.scatter_max,
        np.maximum,
        "biufc",
        DISTINCT + OVERLAPPING,
        grad=2,
    ),
]
