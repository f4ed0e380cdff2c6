"""Linear programs, and assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, lax
from tinyjax._extensions.callbacks.pure import pure_callback
from tinyjax.core.values import Array, ArrayLike, avals as av
from tinyjax.dtypes import HostArray
from tinyjax.errors import ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.scipy.optimize import on_host


class LinprogResult(NamedTuple):
    """The solution that ``linprog`` found.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy.optimize import linprog
        >>> result = linprog(jnp.array([1.0]), A_ub=jnp.array([[-1.0]]), b_ub=jnp.array([-2.0]))
        >>> result.x, bool(result.success), int(result.status)
        (Array([2.], dtype=float32), True, 0)
    """

    x: Array
    fun: Array
    success: Array
    status: Array


#: A lower and an upper end, of which None is no bound.
Bounds: TypeAlias = tuple[float | None, float | None]


@pm.in_double
def linprog(
    c: ArrayLike,
    A_ub: ArrayLike | None = None,
    b_ub: ArrayLike | None = None,
    A_eq: ArrayLike | None = None,
    b_eq: ArrayLike | None = None,
    bounds: Bounds | Sequence[Bounds] | None = (0, None),
) -> LinprogResult:
    """Minimise ``c @ x`` under linear constraints, by ``scipy.optimize.linprog``.

    The solution is a corner, where the constraints that hold it are equations: it is differentiable
    in their matrices and right sides, and its derivative in ``c`` is zero.

    Args:
        c: a vector of shape ``(n,)``.
        A_ub: a matrix of shape ``(m, n)``, for ``A_ub @ x <= b_ub``.
        b_ub: a vector of shape ``(m,)``.
        A_eq: a matrix of shape ``(k, n)``, for ``A_eq @ x == b_eq``.
        b_eq: a vector of shape ``(k,)``.
        bounds: pairs of numbers for each unknown, or one for all; None is no bound. Without any
            pair, of None or an empty list, unknowns are not negative.

    Returns:
        The solution with SciPy's status; without success it is NaN.

    Raises:
        ShapeError: the shapes do not fit, or bounds are no pair, nor one for each unknown.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.linprog(-jnp.ones(2), A_ub=jnp.array([[2.0, 1.0]]), b_ub=jnp.array([4.0])).x
        Array([0., 4.], dtype=float32)
    """
    optimize, (cost,) = on_host.scipy_optimize(), pm.floats("linprog", c)
    n = cost.size
    given = (A_ub, b_ub, A_eq, b_eq)
    shapes = ((0, n), (0,), (0, n), (0,))
    a, b, e, d = (
        jnp.zeros(shape, cost.dtype) if x is None else pm.floats("linprog", x)[0]
        for x, shape in zip(given, shapes, strict=True)
    )
    if cost.ndim != 1 or a.shape != (b.size, n) or e.shape != (d.size, n):
        raise ShapeError.got("linprog takes c of (n,), and matrices of n columns", cost, a, b, e, d)
    pairs = np.array((0, None) if bounds is None or not len(bounds) else bounds, float)
    if pairs.shape not in ((2,), (1, 2), (n, 2)):
        raise ShapeError(
            f"linprog takes as bounds one pair, or one for each of {n} unknowns, but got numbers "
            f"of shape {pairs.shape}."
        )
    ends = np.where(np.isnan(pairs), [-np.inf, np.inf], np.broadcast_to(pairs, (n, 2)))
    finite, eye = np.isfinite(ends), np.eye(n)
    rows = jnp.concatenate([e, a, -eye[finite[:, 0]], eye[finite[:, 1]]]).astype(cost.dtype)
    limits = jnp.asarray([*-ends[finite[:, 0], 0], *ends[finite[:, 1], 1]], cost.dtype)
    right = jnp.concatenate([d, b, limits])

    def run(*operands: HostArray) -> Any:
        cost, a, b, e, d = (np.asarray(x, float) for x in operands)
        found = optimize.linprog(cost, a, b, e, d, ends)
        x = np.full(n, np.nan) if found.x is None else found.x
        return x.astype(operands[0].dtype), np.bool_(found.success), status.dtype.type(found.status)

    status = av.ShapeDtypeStruct((), dtypes.default_int())
    declared = cost.aval, av.ShapeDtypeStruct((), dtypes.bool_), status
    operands = lax.stop_gradient((cost, a, b, e, d))
    corner, success, code = pure_callback(run, declared, *operands, vmap_method="sequential")
    distance = jnp.abs(lax.stop_gradient(rows) @ corner - lax.stop_gradient(right))
    tolerance = 100 * float(np.finfo(cost.dtype).eps) ** 0.75
    weights = (distance <= tolerance * (1 + jnp.abs(right)))[:, None]
    held = jnp.where(weights, rows, 0)
    missing = jnp.where(weights[:, 0], right - rows @ corner, 0)
    x = corner + jnp.linalg.pinv(lax.stop_gradient(held)) @ missing
    x = jnp.where(success, x, jnp.nan)
    return LinprogResult(x, cost @ x, success, code)


def linear_sum_assignment(cost_matrix: ArrayLike, maximize: bool = False) -> tuple[Array, Array]:
    """Assign rows to columns so that the sum of costs is least.

    Args:
        cost_matrix: a real matrix.
        maximize: whether the sum is to be greatest.

    Returns:
        The rows' and the columns' indices, whose derivative is zero: that of the sum of the chosen
        costs is right.

    Raises:
        ShapeError: it is not a matrix.
        PlatformError: SciPy is not installed.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.optimize as optimize
        >>> optimize.linear_sum_assignment(jnp.array([[4.0, 1.0], [2.0, 0.0]]))[1]
        Array([1, 0], dtype=int32)
    """
    optimize, (cost,) = on_host.scipy_optimize(), pm.floats("linear_sum_assignment", cost_matrix)
    if cost.ndim != 2:
        raise ShapeError.got("linear_sum_assignment takes a matrix", cost)
    index = av.ShapeDtypeStruct((min(cost.shape),), dtypes.default_int())

    def run(cost: HostArray) -> Any:
        return tuple(x.astype(index.dtype) for x in optimize.linear_sum_assignment(cost, maximize))

    result: tuple[Array, Array] = pure_callback(
        run, (index, index), lax.stop_gradient(cost), vmap_method="sequential"
    )
    return result
