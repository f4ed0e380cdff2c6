"""Products of matrices whose elements share scales, block by block."""

from __future__ import annotations

from typing import Literal

from tinyjax import dtypes, errors
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.lax import DotDimensionNumbers, dot_general
from tinyjax.numpy import promotion as pm, taking


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = dtypes.float32,
) -> Array:
    """Multiply matrices by transposed ones, each element times the scale of its block.

    The products are computed in float32.

    Args:
        lhs: shape ``(b, m, k)``; mostly of a dtype of 8 bits.
        rhs: shape ``(b, n, k)``.
        lhs_scales: shape ``(b, m, k / s)``, for blocks of ``s`` elements along the last axis.
        rhs_scales: shape ``(b, n, k / t)``, for blocks of ``t``.
        preferred_element_type: the dtype of the result.

    Returns:
        Shape ``(b, m, n)``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> x, y = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[4.0, 5.0, 6.0]]])
        >>> nn.scaled_matmul(x, y, jnp.array([[[0.5]]]), jnp.array([[[2.0]]]))
        Array([[[32.]]], dtype=float32)
    """
    x, y = opd.as_array(lhs), opd.as_array(rhs)
    of_x, of_y = opd.as_array(lhs_scales), opd.as_array(rhs_scales)
    fits = (
        all(a.ndim == 3 for a in (x, y, of_x, of_y))
        and (x.shape[0], x.shape[2]) == (y.shape[0], y.shape[2])
        and x.shape[:2] == of_x.shape[:2]
        and y.shape[:2] == of_y.shape[:2]
        and all(a.shape[2] and x.shape[2] % a.shape[2] == 0 for a in (of_x, of_y))
    )
    if not fits:
        raise errors.ShapeError(
            "scaled_matmul takes shapes (b, m, k) and (b, n, k), and scales of shapes (b, m, k/s) "
            f"and (b, n, k/t), but got {', '.join(str(a.aval) for a in (x, y, of_x, of_y))}."
        )
    wide = [
        pm.convert(a, dtypes.float32)
        * taking.repeat(pm.convert(scales, dtypes.float32), a.shape[2] // scales.shape[2], 2)
        for a, scales in ((x, of_x), (y, of_y))
    ]
    out = dot_general(wide[0], wide[1], (((2,), (2,)), ((0,), (0,))))
    return pm.convert(out, dtypes.check(preferred_element_type))


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = dtypes.float32,
    configs: None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Array:
    """Contract and batch two arrays, as ``lax.dot_general``, without rounding them by blocks.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        dimension_numbers: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        configs: must be None: how JAX rounds the operands, to dtypes that tinyjax does not have.
        implementation: not used.

    Raises:
        ArgumentError: ``configs`` are given.
        ShapeError: paired axes differ in size.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.scaled_dot_general(jnp.ones((2, 3)), jnp.ones(3), (((1,), (0,)), ((), ())))
        Array([3., 3.], dtype=float32)
    """
    if configs is not None:
        raise errors.ArgumentError(
            "scaled_dot_general takes no configs: their dtypes of scales are not there. "
            "scaled_matmul multiplies what has been rounded by blocks."
        )
    return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
