"""Values between the elements of an array, by SciPy's name."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache, partial, reduce
from itertools import product
from typing import Any, Final, Literal

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._base import lazy
from tinyjax._extensions.host import replay
from tinyjax.core.primitives.families import all_hold
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.tracing.kernels import KernelError
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints
from tinyjax.custom_derivatives.slopes import with_mean_slopes
from tinyjax.dtypes import DType, HostArray
from tinyjax.errors import ArgumentError
from tinyjax.numpy import creation, promotion as pm
from tinyjax.numpy.calculus import Side

lazy.answer_for(__name__, "map_coordinates")

Mode = Literal["constant", "nearest", "wrap", "mirror", "reflect"]


def _mirror(index: Array, size: int) -> Array:
    if size == 1:
        return jnp.zeros_like(index)
    half = size - 1
    return jnp.abs((index + half) % (2 * half) - half)


def _reflect(index: Array, size: int) -> Array:
    return (_mirror(2 * index + 1, 2 * size + 1) - 1) // 2


_REAL: Final = (dtypes.float32, dtypes.float64)

_INSIDE: Final[dict[str, Callable[[Array, int], Array]]] = {
    "constant": lambda index, size: jnp.clip(index, 0, size - 1),
    "nearest": lambda index, size: jnp.clip(index, 0, size - 1),
    "wrap": lambda index, size: index % size,
    "mirror": _mirror,
    "reflect": _reflect,
}


def _rounded(x: Array) -> Array:
    """To the nearest integer; halves away from zero."""
    if not dtypes.is_float(x.dtype):
        return x
    whole = jnp.trunc(x)
    return jnp.where(jnp.abs(x - whole) >= 0.5, whole + jnp.sign(x), whole)


def _splines(share: Any, order: int) -> list[Any]:
    """Return the B-splines of this degree that are not zero at a place between knots."""
    weights = [1 + 0 * share]
    for d in range(1, order + 1):  # de Boor's recurrence
        ends = [0 * share, *weights, 0 * share]
        weights = [
            ((share + i) * ends[i + 1] + (d + 1 - i - share) * ends[i]) / d for i in range(d + 1)
        ]
    return weights


def _neighbours(
    coordinate: Array, order: int, dtype: DType, below: bool
) -> list[tuple[Array, Array]]:
    """The indices of the elements around, and their weights; ``below`` counts a knot as an end."""
    if order == 0:
        return [(_rounded(coordinate).astype(dtype), jnp.ones_like(coordinate))]
    coordinate = coordinate if order % 2 else coordinate + 0.5
    lower = jnp.ceil(coordinate) - 1 if below else jnp.floor(coordinate)
    index, weights = lower.astype(dtype) + (order + 1) // 2, _splines(coordinate - lower, order)
    return [(index - i, weights[i]) for i in range(order, -1, -1)]


@lru_cache
def _spline_filter(size: int, order: int, mode: Any) -> HostArray:
    """Return the matrix that makes coefficients of B-splines of values along an axis."""
    half = (order + 1) // 2
    columns = np.pad(np.arange(size), order, mode)
    weights = enumerate(_splines(0.0 if order % 2 else 0.5, order))
    places = [(weight, order + half - i + np.arange(size)) for i, weight in weights]
    return np.linalg.inv(sum(w * np.eye(size)[columns[at]] for w, at in places))


#: By how many elements arrays are continued before splines go through them.
_MARGIN: Final = 12


def _coefficients(a: Array, order: int, mode: str, outside: Array) -> Array:
    """Return coefficients of B-splines through the elements, and in the margin beyond them."""
    if mode == "constant":
        a = jnp.pad(a, _MARGIN, constant_values=outside)
    elif mode == "nearest":
        a = jnp.pad(a, _MARGIN, "edge")
    name = {"wrap": "wrap", "reflect": "symmetric"}.get(mode, "reflect")
    for axis, size in enumerate(a.shape):
        inverse = jnp.asarray(_spline_filter(size, order, name), a.dtype)
        a = jnp.moveaxis(jnp.tensordot(inverse, a, (1, axis)), 0, axis)
    return a


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the stride of each axis of an array in row-major order, in elements."""
    return tuple([math.prod(shape[i + 1 :]) for i in range(len(shape))])


#: SciPy's names of the modes; its ``"constant"`` and ``"wrap"`` are others.
_OF_SCIPY: Final = {"constant": "grid-constant", "wrap": "grid-wrap"}
#: The squares of coordinates sum to less, so that they are numbers, and their whole parts are too.
_FARTHEST: Final = 1e15


@lru_cache
def _by_scipy(order: int, mode: str) -> prim.Kernel:
    """Make a function of an array, what is outside, and coordinates, that SciPy evaluates."""
    from scipy.ndimage import _nd_image, map_coordinates  # noqa: PLC0415 (SciPy is slow to load)
    from scipy.ndimage._ni_support import _extend_mode_to_code  # noqa: PLC0415

    extension = _OF_SCIPY.get(mode, mode)
    # what SciPy's function calls, without its checks, which take longer
    routine = getattr(_nd_image, "geometric_transform", None)
    code = _extend_mode_to_code(extension)
    is_reversed = mode in ("mirror", "reflect")

    def interpolate(x: HostArray, outside: HostArray, *places: HostArray) -> HostArray:
        at = np.array(places, np.float64)
        flat = at.reshape(-1)
        if not flat.dot(flat) < _FARTHEST:
            raise KernelError
        if is_reversed and not all_hold(np.isfinite(x)):
            raise KernelError  # 0 times an infinity counts, of the neighbour on either side
        if order == 0:
            at = np.trunc(at + np.copysign(0.5, at))  # halves away from zero
        if routine is None:
            return np.asarray(
                map_coordinates(x, at, x.dtype, order, extension, outside.item(), prefilter=False)
            )
        out = np.empty(places[0].shape, x.dtype)
        cval = outside.item()
        routine(x, None, at, None, None, out, order, code, cval, 0, None, None)
        return out

    return interpolate


def _found_by_scipy(
    a: Array, places: Sequence[Array], order: int, mode: str, outside: Array
) -> Array | None:
    """Let SciPy interpolate real numbers, if they are there."""
    if not (replay.is_evaluating() and a.dtype in _REAL and a.size and places and places[0].size):
        return None
    if any(p.dtype not in _REAL or p.shape != places[0].shape for p in places):
        return None
    aval = av.ShapedArray(places[0].shape, a.dtype)
    return replay.by_host(_by_scipy(order, mode), (a, outside, *places), aval)


def check_options(
    name: str, output: object, mode: str | Sequence[str], modes: Collection[str]
) -> None:
    """Raise where a function of this name is to write into an array, or knows no such mode.

    Raises:
        ArgumentError: ``output`` is not None, or a mode is none of ``modes``.
    """
    if output is not None:
        raise ArgumentError(
            f"output of {name} has to be None: tinyjax's arrays do not change. Use the result, or "
            "its .astype(dtype) for another dtype."
        )
    for each in mode if isinstance(mode, (list, tuple)) else [mode]:
        pm.check_option(name, "mode", each, modes)


@replay.replayed
@pm.in_double
def map_coordinates(
    input: ArrayLike,
    coordinates: Sequence[creation.Nested],
    order: int,
    mode: Mode = "constant",
    cval: ArrayLike = 0.0,
    *,
    output: None = None,
    prefilter: bool = True,
) -> Array:
    """Interpolate an array at any places.

    Args:
        input: any number of axes.
        coordinates: for each axis an array, or list, of places, in units of elements; all of one
            shape.
        order: 0 for the nearest element, 1 for linear interpolation, 2 to 5 for splines.
        mode: what is outside: ``"constant"`` for ``cval``, ``"nearest"`` for the nearest element,
            ``"wrap"`` for the array again, ``"mirror"`` and ``"reflect"`` for the array reversed,
            without and with the elements at the border repeated.
        cval: what is outside, for ``"constant"``.
        output: None.
        prefilter: whether splines of a higher order go through the elements; if not, these are
            taken for the splines' coefficients.

    Returns:
        An array of the shape of the coordinates, of the dtype of ``input``; integers are rounded.

    Raises:
        ShapeError: there are not as many coordinates as axes.
        ArgumentError: the order is none of 0 to 5, there is no such mode, or ``output`` is given.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> x = jnp.array([[0.0, 1.0], [2.0, 3.0]])
        >>> ndimage.map_coordinates(x, [jnp.array([0.5]), jnp.array([0.5])], order=1)
        Array([1.5], dtype=float32)
    """
    check_options("map_coordinates", output, mode, _INSIDE)
    a = pm.array_of("map_coordinates", input)
    places = [
        pm.array_of("map_coordinates", jnp.asarray(c) if isinstance(c, Sequence) else c)
        for c in ints.listed(coordinates, "coordinates")
    ]
    if len(places) != a.ndim:
        raise errors.ShapeError(
            f"map_coordinates needs coordinates for each axis of shape {a.shape}, but got "
            f"{len(places)}."
        )
    pm.check_option("map_coordinates", "order", order, range(6))
    outside = jnp.asarray(cval, a.dtype)
    result = None if order > 1 else _found_by_scipy(a, places, order, mode, outside)
    if result is not None:
        return result
    if order == 1 and dtypes.is_inexact(a.dtype):
        linear = partial(_interpolate, order, mode, prefilter)
        return with_mean_slopes(linear, _is_below, _whole)(a, outside, *places)
    return _interpolate(order, mode, prefilter, False, a, outside, *places)


def _is_below(side: Side, *operands: Array) -> bool:
    return side == "left"


def _whole(a: Array, outside: Array, *places: Array) -> list[Array]:
    return [jnp.floor(place) for place in places]


def _interpolate(
    order: int,
    mode: Mode,
    prefilter: bool,
    below: bool,
    a: Array,
    outside: Array,
    *places: Array,
) -> Array:
    is_whole, dtype_out = dtypes.kind(a.dtype) in "iu", a.dtype
    if order > 1:
        a = pm.strong(a * 1.0) if is_whole else a
    if order > 1 and prefilter:
        a = _coefficients(a, order, mode, outside)
        if mode in ("constant", "nearest"):
            places = tuple([place + _MARGIN for place in places])
    flat = jnp.ravel(a)
    dtype = dtypes.int32 if a.size <= np.iinfo(np.int32).max else dtypes.int64
    nodes: list[list[tuple[Array, Array, Array]]] = []
    for place, size, stride in zip(places, a.shape, _strides(a.shape), strict=True):
        nodes.append([])
        for index, weight in _neighbours(place, order, dtype, below):
            inside = _INSIDE[mode](index, size)
            nodes[-1].append((inside * stride, inside == index, weight))
    total: Array | None = None
    for corner in product(*nodes):
        # without axes there is one element
        indices, valid, weights = zip(*corner, strict=True) if corner else ((0,), (True,), ())
        value = jnp.take(flat, reduce(operator.add, indices), mode="clip")  # all are within bounds
        if mode == "constant":
            value = jnp.where(reduce(operator.and_, valid), value, outside)
        value = reduce(operator.mul, weights, value)
        total = value if total is None else total + value
    assert total is not None, "there is a corner even without axes"
    if order == 0 and not is_whole and places:
        lost = reduce(operator.or_, [jnp.isnan(place) for place in places])
        total = jnp.where(lost, jnp.nan, total)
    return (_rounded(total) if is_whole else total).astype(dtype_out)
