"""Arrays at the places of a grid that is moved, stretched or turned, by splines.

They are differentiable in all that is an array, by ``map_coordinates``. ``order``, 3 by default, is
the splines' degree, 0 to 5. ``mode`` says what is outside: ``"constant"`` for ``cval``, which also
is right outside of the first and last element, or ``"nearest"``, ``"mirror"``, ``"reflect"``,
``"grid-wrap"`` or ``"grid-constant"``. With ``prefilter=False`` the elements are taken for the
splines' coefficients. ``output`` has to be None: arrays do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base import lazy
from tinyjax.core import api
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ShapeError
from tinyjax.numpy import creation, promotion as pm
from tinyjax.scipy.ndimage.coordinates import check_options, map_coordinates

lazy.answer_for(__name__, "affine_transform rotate shift zoom")


#: A number for all axes, or one for each.
Numbers: TypeAlias = ArrayLike | Sequence[float]
#: The names of modes, by those of ``map_coordinates``.
_MODES: Final = {
    **{mode: mode for mode in ("nearest", "mirror", "reflect")},
    "constant": "mirror",
    "grid-constant": "constant",
    "grid-wrap": "wrap",
}


def _precision(x: Array) -> dtypes.DType:
    """Return the dtype of places in an array, which numbers get."""
    return dtypes.real_part(jnp.promote_types(x.dtype, dtypes.float32))


def affine_transform(  # noqa: PLR0913, PLR0917 (the signature of SciPy)
    input: ArrayLike,
    matrix: creation.Nested,
    offset: Numbers = 0.0,
    output_shape: Sequence[int] | None = None,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Array:
    """Return an array whose element at the place ``i`` is the one at ``matrix @ i + offset``.

    Args:
        input: any array, of ``n`` axes.
        matrix: shape ``(n, n)``, or ``(n,)`` for its diagonal; or ``(n, n + 1)`` or
            ``(n + 1, n + 1)`` with the offset as its last column, in place of ``offset``.
        offset: shape ``(n,)``, or a number.
        output_shape: the result's shape, by default that of ``input``.
        output: None.
        order: the degree of the splines.
        mode: what is outside.
        cval: what is outside, for ``"constant"`` and ``"grid-constant"``.
        prefilter: whether the splines go through the elements.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such order or mode, or ``output`` is given.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.affine_transform(jnp.arange(4.0), jnp.array([0.5]), order=1)
        Array([0. , 0.5, 1. , 1.5], dtype=float32)
    """
    (x,) = pm.arrays("affine_transform", input)
    check_options("affine_transform", output, mode, _MODES)
    by, start = (jnp.asarray(z, _precision(x)) for z in (matrix, offset))
    n = x.ndim
    if by.shape in ((n, n + 1), (n + 1, n + 1)):
        by, start = by[:n, :n], by[:n, n]
    if by.shape not in ((n,), (n, n)):
        raise ShapeError.got(f"affine_transform takes a matrix of shape {(n, n)} or {(n,)}", by)
    shape = (
        x.shape
        if output_shape is None
        else ints.integers(output_shape, "affine_transform: output_shape")
    )
    grid = np.indices(shape, by.dtype)
    turned = by.reshape(-1, *[1] * n) * grid if by.ndim == 1 else jnp.tensordot(by, grid, 1)
    places = turned + jnp.broadcast_to(start, (n,)).reshape(-1, *[1] * n)
    mapped: Any = _MODES[mode]
    value = map_coordinates(x, list(places), order, mapped, cval, prefilter=prefilter)
    if mode != "constant":
        return value
    last = jnp.asarray(x.shape).reshape(-1, *[1] * n) - 1
    near = 4 * float(jnp.finfo(places.dtype).eps) * max(x.shape, default=1)
    return jnp.where(
        ((places >= -near) & (places <= last + near)).all(0),
        value,
        jnp.asarray(cval, value.dtype),
    )


def shift(
    input: ArrayLike,
    shift: Numbers,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Array:
    """Move an array by numbers of elements, one for all axes or one for each.

    Errors are those of ``affine_transform``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.shift(jnp.array([1.0, 2.0, 4.0]), 0.5, order=1)
        Array([0. , 1.5, 3. ], dtype=float32)
    """
    check_options("shift", output, mode, _MODES)
    (x,) = pm.arrays("shift", input)
    by = -jnp.asarray(shift, _precision(x))
    return affine_transform(x, np.ones(x.ndim), by, None, output, order, mode, cval, prefilter)


def zoom(
    input: ArrayLike,
    zoom: float | Sequence[float],
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
    *,
    grid_mode: bool = False,
) -> Array:
    """Return an array with ``zoom`` times as many elements between the same ends.

    With ``grid_mode`` elements are intervals, and the ends are those of the first and the last one.
    Errors are those of ``affine_transform``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.zoom(jnp.array([1.0, 2.0]), 2, order=1).round(3)
        Array([1.   , 1.333, 1.667, 2.   ], dtype=float32)
    """
    check_options("zoom", output, mode, _MODES)
    sizes = np.shape(input)
    counts = [round(n * z) for n, z in zip(sizes, np.broadcast_to(zoom, len(sizes)), strict=True)]
    less = 0 if grid_mode else 1
    pairs = zip(sizes, counts, strict=True)
    steps = np.array([(n - less) / (m - less) if m > less else 1.0 for n, m in pairs])
    offset = (steps - 1) / 2 if grid_mode else 0.0
    return affine_transform(input, steps, offset, counts, output, order, mode, cval, prefilter)


def rotate(  # noqa: PLR0913, PLR0917 (the signature of SciPy)
    input: ArrayLike,
    angle: ArrayLike,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Array:
    """Rotate an array from the second of two axes to the first, by degrees.

    ``reshape`` is for a result that holds the whole input; a traced angle needs False. Errors are
    those of ``affine_transform``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.rotate(jnp.array([[1.0, 2.0]]), 90.0).round(3)
        Array([[2.],
               [1.]], dtype=float32)
    """
    check_options("rotate", output, mode, _MODES)
    (x,) = pm.arrays("rotate", input)
    turn = jnp.asarray(angle, _precision(x))
    images = jnp.moveaxis(x, sorted(a % x.ndim for a in axes), (-2, -1))
    sizes = images.shape[-2:]
    cos, sin = jnp.cos(jnp.deg2rad(turn)), jnp.sin(jnp.deg2rad(turn))
    matrix = jnp.stack([jnp.stack([cos, sin]), jnp.stack([-sin, cos])])
    shape = sizes
    if reshape:
        c, s = (abs(float(value)) for value in (cos, sin))
        shape = (int(c * sizes[0] + s * sizes[1] + 0.5), int(s * sizes[0] + c * sizes[1] + 0.5))
    middle, goal = ((np.array(n, turn.dtype) - 1) / 2 for n in (sizes, shape))
    offset = middle - matrix @ goal
    turned = api.vmap(
        lambda z: affine_transform(z, matrix, offset, shape, output, order, mode, cval, prefilter)
    )(images.reshape(-1, *sizes))
    back = turned.reshape(*images.shape[:-2], *shape)
    return jnp.moveaxis(back, (-2, -1), sorted(a % x.ndim for a in axes))
