"""Arrays at the places of a grid that is moved, stretched or turned, by splines.

They are differentiable in all that is an array, by ``map_coordinates``. ``order``, 3 by default, is
the splines' degree, 0 to 5. ``mode`` says what is outside: ``"constant"`` for ``cval``, which also
is right outside of the first and last element, or ``"nearest"``, ``"mirror"``, ``"reflect"``,
``"grid-wrap"`` or ``"grid-constant"``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias, TypedDict, Unpack

import numpy as np

import tinyjax.numpy as jnp
from tinyjax._base import lazy
from tinyjax.core import api
from tinyjax.core.values import Array, ArrayLike
from tinyjax.errors import ShapeError
from tinyjax.numpy import creation, promotion as pm
from tinyjax.scipy.ndimage.coordinates import map_coordinates

lazy.answer_for(__name__, "affine_transform rotate shift zoom")


class Options(TypedDict, total=False):
    """How values between elements, and outside, are computed: see above."""

    order: int
    mode: str
    cval: ArrayLike


#: A number for all axes, or one for each.
Numbers: TypeAlias = ArrayLike | Sequence[float]
#: The names of modes, by those of ``map_coordinates``.
_MODES: Final = {
    **{mode: mode for mode in ("nearest", "mirror", "reflect")},
    "constant": "mirror",
    "grid-constant": "constant",
    "grid-wrap": "wrap",
}


def affine_transform(
    input: ArrayLike,
    matrix: creation.Nested,
    offset: Numbers = 0.0,
    output_shape: Sequence[int] | None = None,
    **options: Unpack[Options],
) -> Array:
    """Return an array whose element at the place ``i`` is the one at ``matrix @ i + offset``.

    Args:
        input: any array, of ``n`` axes.
        matrix: shape ``(n, n)``, or ``(n,)`` for its diagonal.
        offset: shape ``(n,)``, or a number.
        output_shape: the result's shape, by default that of ``input``.
        **options: ``order``, ``mode`` and ``cval``.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such order or mode.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.affine_transform(jnp.arange(4.0), jnp.array([0.5]), order=1)
        Array([0. , 0.5, 1. , 1.5], dtype=float32)
    """
    (x,) = pm.arrays("affine_transform", input)
    by, start = pm.floats("affine_transform", jnp.asarray(matrix), jnp.asarray(offset))
    mode, n = options.get("mode", "constant"), x.ndim
    pm.check_option("affine_transform", "mode", mode, _MODES)
    if by.shape not in ((n,), (n, n)):
        raise ShapeError.got(f"affine_transform takes a matrix of shape {(n, n)} or {(n,)}", by)
    grid = np.indices(x.shape if output_shape is None else tuple(output_shape), by.dtype)
    turned = by.reshape(-1, *[1] * n) * grid if by.ndim == 1 else jnp.tensordot(by, grid, 1)
    places = turned + jnp.broadcast_to(start, (n,)).reshape(-1, *[1] * n)
    outside = options.get("cval", 0.0)
    known: Any = _MODES[mode]
    value = map_coordinates(x, list(places), options.get("order", 3), known, outside)
    if mode != "constant":
        return value
    last = jnp.asarray(x.shape).reshape(-1, *[1] * n) - 1
    near = 4 * float(jnp.finfo(places.dtype).eps) * max(x.shape, default=1)
    return jnp.where(((places >= -near) & (places <= last + near)).all(0), value, outside)


def shift(input: ArrayLike, shift: Numbers, **options: Unpack[Options]) -> Array:
    """Move an array by numbers of elements, one for all axes or one for each.

    Errors are those of ``affine_transform``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.shift(jnp.array([1.0, 2.0, 4.0]), 0.5, order=1)
        Array([0. , 1.5, 3. ], dtype=float32)
    """
    by = -1.0 * jnp.asarray(shift)
    return affine_transform(input, jnp.ones(np.ndim(input), by.dtype), by, **options)


def zoom(input: ArrayLike, zoom: float | Sequence[float], **options: Unpack[Options]) -> Array:
    """Return an array with ``zoom`` times as many elements between the same ends.

    Errors are those of ``affine_transform``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.ndimage as ndimage
        >>> ndimage.zoom(jnp.array([1.0, 2.0]), 2, order=1).round(3)
        Array([1.   , 1.333, 1.667, 2.   ], dtype=float32)
    """
    sizes = np.shape(input)
    counts = [round(n * z) for n, z in zip(sizes, np.broadcast_to(zoom, len(sizes)), strict=True)]
    steps = [(n - 1) / (m - 1) if m > 1 else 1.0 for n, m in zip(sizes, counts, strict=True)]
    return affine_transform(input, np.array(steps), 0.0, counts, **options)


def rotate(
    input: ArrayLike,
    angle: ArrayLike,
    axes: tuple[int, int] = (1, 0),
    reshape: bool = True,
    **options: Unpack[Options],
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
    (x,), (turn,) = pm.arrays("rotate", input), pm.floats("rotate", angle)
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
    turned = api.vmap(lambda z: affine_transform(z, matrix, offset, shape, **options))(
        images.reshape(-1, *sizes)
    )
    back = turned.reshape(*images.shape[:-2], *shape)
    return jnp.moveaxis(back, (-2, -1), sorted(a % x.ndim for a in axes))
