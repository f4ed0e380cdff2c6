"""Convolution, correlation and covariance."""

from __future__ import annotations

from typing import Literal

from tinyjax import dtypes
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.errors import ArgumentError, DtypeError, ShapeError
from tinyjax.host import replay
from tinyjax.numpy.contraction import dot
from tinyjax.numpy.creation import diag, full, zeros
from tinyjax.numpy.elementwise import abs as absolute, clip, conjugate, real, sqrt
from tinyjax.numpy.manipulation import concatenate, flip, matrix_transpose, squeeze
from tinyjax.numpy.promotion import array_of, convert, promote_dtypes, promote_inexact
from tinyjax.numpy.reductions import average, sum as total
from tinyjax.primitives import convolution as cv

Mode = Literal["full", "same", "valid"]


def convolve(
    a: ArrayLike,
    v: ArrayLike,
    mode: Mode = "full",
    *,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the convolution of two vectors: ``out[k] = sum(a[k - j] * v[j] for j)``.

    Args:
        a: a vector, not empty.
        v: the same.
        mode: ``"full"`` for every overlap, ``"same"`` for the middle, as long as the longer vector,
            ``"valid"`` for where the shorter one lies within the longer one.
        precision: has no effect.
        preferred_element_type: the dtype of the result; by default the common float dtype.

    Raises:
        ShapeError: one is not a vector, or is empty.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    x, y = _vectors("convolve", a, v, preferred_element_type)
    if x.size < y.size:
        x, y = y, x
    return _slide(x, flip(y), mode, preferred_element_type)


def correlate(
    a: ArrayLike,
    v: ArrayLike,
    mode: Mode = "valid",
    *,
    precision: object = None,
    preferred_element_type: DTypeLike = None,
) -> Array:
    """Return the correlation of two vectors: ``out[k] = sum(a[k + j] * conj(v[j]) for j)``.

    Args:
        a: a vector, not empty.
        v: the same.
        mode: as for ``convolve``.
        precision: has no effect.
        preferred_element_type: the dtype of the result; by default the common float dtype.

    Raises:
        ShapeError: one is not a vector, or is empty.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.correlate(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 1.0]))
        Array([2., 3.], dtype=float32)
    """
    x, y = _vectors("correlate", a, v, preferred_element_type)
    y = conjugate(y)
    if x.size >= y.size:
        return _slide(x, y, mode, preferred_element_type)
    return flip(_slide(y, x, mode, preferred_element_type))


def _vectors(name: str, a: ArrayLike, v: ArrayLike, dtype: DTypeLike) -> tuple[Array, Array]:
    x, y = array_of(name, a), array_of(name, v)
    for vector in (x, y):
        if vector.ndim != 1 or not vector.size:
            raise ShapeError(f"{name} needs vectors that are not empty, but got {vector.aval}.")
    x, y = promote_inexact(x, y) if dtype is None else promote_dtypes(x, y)
    return x, y


def _slide(x: Array, y: Array, mode: str, dtype: DTypeLike) -> Array:
    """Products of a vector with another, no longer one, at every place that the mode says."""
    k = y.size
    pads = {"full": (k - 1, k - 1), "same": (k // 2, k - k // 2 - 1), "valid": (0, 0)}
    if mode not in pads:
        raise ArgumentError(f"the modes are 'full', 'same' and 'valid', not {mode!r}.")
    out = cv.conv_general_dilated(
        sh.reshape(x, (1, 1, x.size)),
        sh.reshape(y, (1, 1, k)),
        (1,),
        [pads[mode]],
        preferred_element_type=dtype,
    )
    return sh.reshape(out, (out.size,))


def _observations(name: str, m: ArrayLike, rowvar: bool, is_first: bool) -> Array:
    """Samples with a variable in each row."""
    x = array_of(name, m)
    if x.ndim > 2:
        raise ShapeError(f"{name} needs at most two axes, but got {x.aval}.")
    rows = sh.reshape(x, (1, x.size)) if x.ndim < 2 else x
    turn = x.ndim != 1 if is_first else rows.shape[0] != 1
    return matrix_transpose(rows) if not rowvar and turn else rows


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """Estimate the covariance matrix of variables.

    Args:
        m: a variable in each row, a sample in each column; or a vector, for one variable.
        y: further variables of the same samples.
        rowvar: whether rows are variables; else columns are.
        bias: whether to divide by the number of samples; by default by one less.
        ddof: how much to subtract from the number of samples, for the divisor; overrides ``bias``.
        fweights: how often each sample counts: integers.
        aweights: how much each sample counts.
        dtype: in which to compute, a float or complex one.

    Returns:
        The matrix; a scalar for one variable.

    Raises:
        ShapeError: there are more than two axes, or the weights do not fit.
        DtypeError: ``dtype`` is neither float nor complex, or ``fweights`` are not integers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.cov(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    x = _observations("cov", m, rowvar, True)
    variables = [x]
    if y is not None:
        variables.append(_observations("cov", y, rowvar, False))
    variables = promote_inexact(*variables)
    result_dtype = variables[0].dtype if dtype is None else dtypes.check(dtype)
    if not dtypes.is_inexact(result_dtype):
        raise DtypeError(f"cov: dtype must be a float or complex one, but got {result_dtype.name}.")
    if not x.shape[0]:
        return zeros((0, 0))
    x = concatenate(variables, 0) if len(variables) > 1 else variables[0]
    n = x.shape[1]
    if not n:
        return full(() if x.shape[0] == 1 else (x.shape[0],) * 2, float("nan"), x.dtype)
    if dtype is not None:
        x = convert(x, result_dtype)
    free = (0 if bias else 1) if ddof is None else ddof
    counts = None if fweights is None else _weights("fweights", fweights, n)
    if counts is not None and not dtypes.is_integer(counts.dtype):
        raise DtypeError(f"cov: fweights must be integers, but got {counts.aval}.")
    shares = None if aweights is None else _weights("aweights", aweights, n)
    weights = counts if shares is None else shares if counts is None else counts * shares
    if weights is not None and dtype is not None:
        weights = convert(weights, x.dtype)
    means, sums = average(x, axis=1, weights=weights, returned=True)
    scale: ArrayLike = n - free if weights is None else sums[0] - free
    if weights is not None and shares is not None and free:
        scale = sums[0] - free * total(weights * shares) / sums[0]
    x = x - means[:, None]
    weighted = x if weights is None else x * weights
    return squeeze(dot(x, conjugate(matrix_transpose(weighted))) / scale)


def _weights(name: str, weights: ArrayLike, n: int) -> Array:
    numbers = array_of("cov", weights)
    if numbers.shape != (n,):
        raise ShapeError(f"cov: {name} must hold {n} numbers, but got {numbers.aval}.")
    return absolute(numbers)


def corrcoef(
    x: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    dtype: DTypeLike = None,
) -> Array:
    """Estimate the correlations of variables.

    Args:
        x: a variable in each row, a sample in each column; or a vector, for one variable.
        y: further variables of the same samples.
        rowvar: whether rows are variables; else columns are.
        dtype: in which to compute, a float or complex one.

    Returns:
        The matrix, with ones on the diagonal; a scalar for one variable.

    Raises:
        ShapeError: there are more than two axes.
        DtypeError: ``dtype`` is neither float nor complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.corrcoef(jnp.array([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
        Array([[ 1., -1.],
               [-1.,  1.]], dtype=float32)
    """
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.shape:
        return c / c
    deviations = convert(sqrt(real(diag(c))), c.dtype)
    c = c / deviations[:, None] / deviations[None, :]
    if not dtypes.is_complex(c.dtype):
        return clip(c, -1, 1)
    return ew.complex_(clip(ew.real(c), -1, 1), clip(ew.imag(c), -1, 1))


replay.replay_functions(globals())
