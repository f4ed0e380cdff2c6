"""Matrices with a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax.core.stablehlo.types import check_size
from tinyjax.core.tracing import checking
from tinyjax.core.values import integers as ints
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike, HostArray
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, shortened
from tinyjax.numpy import creation as cr, promotion as pm

if TYPE_CHECKING:
    from types import ModuleType


Kind = Literal["symmetric", "lower", "upper"]


def _theirs() -> ModuleType:
    """SciPy's module, which is slow to load."""
    from scipy import linalg  # noqa: PLC0415

    module: ModuleType = linalg
    return module


def _floats(host: Any) -> Array:
    """Make an array of the default float type."""
    return jnp.asarray(np.asarray(host, np.float64), jnp.result_type(float))


def _size(n: int) -> int:
    """A number of rows of a square matrix; below 0 there are none."""
    size = max(ints.integer(n, "n"), 0)
    cr.canonical_shape((size, size), "n")
    return size


def _vector(name: str, x: ArrayLike, least: int = 0) -> Array:
    """Prepare vectors; a number is a vector of one."""
    a = pm.array_of(name, x)
    a = a.reshape(1) if not a.ndim else a
    if a.shape[-1] < least:
        raise ShapeError(
            f"{name} takes vectors of at least {least} numbers, but got shape {a.shape}."
        )
    return a


# Given by a size


def hadamard(n: int, dtype: DTypeLike = int) -> Array:
    """Return Hadamard's matrix of ones and minus ones, whose rows are orthogonal (Sylvester).

    Args:
        n: how many rows; a power of two.
        dtype: of the elements.

    Raises:
        ArgumentError: ``n`` is no power of two.
        ShapeError: the matrix has more elements than memory has addresses.

    Example:
        >>> from tinyjax.scipy import linalg
        >>> linalg.hadamard(2)
        Array([[ 1,  1],
               [ 1, -1]], dtype=int32)
    """
    size = ints.integer(n, "n")
    if size < 1 or size & (size - 1):
        raise ArgumentError(f"hadamard takes a power of two for n, but got {shortened(n)}.")
    check_size((size, size))
    return jnp.asarray(_theirs().hadamard(size), dtype)


@checking.explained
def helmert(n: int, full: bool = False) -> Array:
    """Return Helmert's orthogonal matrix, the first row of which is constant.

    Args:
        n: how many columns.
        full: whether to return that first row, too.

    Raises:
        ArgumentError: ``n`` is not positive.
    """
    return _floats(_theirs().helmert(_positive("helmert", n), full))


def hilbert(n: int) -> Array:
    """Return Hilbert's matrix, with ``1 / (i + j + 1)`` in row ``i`` and column ``j``.

    Args:
        n: how many rows.

    Example:
        >>> from tinyjax.scipy import linalg
        >>> linalg.hilbert(2)
        Array([[1.        , 0.5       ],
               [0.5       , 0.33333334]], dtype=float32)
    """
    return _floats(_theirs().hilbert(_size(n)))


def invhilbert(n: int) -> Array:
    """Return the inverse of Hilbert's matrix, whose elements are whole numbers.

    Args:
        n: how many rows.

    Example:
        >>> from tinyjax.scipy import linalg
        >>> linalg.invhilbert(2)
        Array([[ 4., -6.],
               [-6., 12.]], dtype=float32)
    """
    return _floats(_theirs().invhilbert(_size(n)))


def _kind(name: str, kind: Kind | None) -> Kind:
    pm.check_option(name, "kind", kind, (None, "symmetric", "lower", "upper"))
    return kind or "symmetric"


def pascal(n: int, kind: Kind | None = None) -> Array:
    """Return Pascal's matrix of binomial coefficients.

    Args:
        n: how many rows.
        kind: ``"symmetric"`` (the default), with ``(i + j)! / i! j!``; or its Cholesky factor,
            ``"lower"`` or ``"upper"``.

    Raises:
        ArgumentError: there is no such kind.

    Example:
        >>> from tinyjax.scipy import linalg
        >>> linalg.pascal(3)
        Array([[1., 1., 1.],
               [1., 2., 3.],
               [1., 3., 6.]], dtype=float32)
    """
    return _floats(_theirs().pascal(_size(n), _kind("pascal", kind), exact=False))


def invpascal(n: int, kind: Kind | None = None) -> Array:
    """Return the inverse of ``pascal(n, kind)``.

    Raises:
        ArgumentError: there is no such kind.
    """
    return _floats(_theirs().invpascal(_size(n), _kind("invpascal", kind), exact=False))


def dft(
    n: int, scale: Literal["sqrtn", "n"] | None = None, *, dtype: DTypeLike | None = None
) -> Array:
    """Return the matrix of the discrete Fourier transform.

    Args:
        n: how many rows.
        scale: ``"sqrtn"`` for the unitary matrix, ``"n"`` to divide by ``n``.
        dtype: complex; by default the default complex type.

    Raises:
        ArgumentError: there is no such scale.
        DtypeError: ``dtype`` is not complex.
    """
    pm.check_option("dft", "scale", scale, (None, "sqrtn", "n"))
    kind = jnp.result_type(complex if dtype is None else dtype)
    if not dtypes.is_complex(kind):
        raise DtypeError(f"dft takes a complex dtype, but got {kind.name}.")
    return jnp.asarray(_theirs().dft(_size(n), scale), kind)


def _positive(name: str, n: int) -> int:
    size = ints.integer(n, "n")
    if size < 1:
        raise ArgumentError(f"{name} takes a positive n, but got {shortened(n)}.")
    return _size(size)


# Given by numbers


def _indices(rows: int, columns: int) -> tuple[HostArray, HostArray]:
    i, j = np.ogrid[:rows, :columns]
    return i, j


def _joined(first: Array, second: Array) -> Array:
    """Vectors one after the other, their axes in front broadcast."""
    x, y = pm.promote_dtypes(first, second)
    batch = pm.broadcast_shapes(x.shape[:-1], y.shape[:-1])
    parts = [jnp.broadcast_to(v, (*batch, v.shape[-1])) for v in (x, y)]
    return jnp.concatenate(parts, -1)


def toeplitz(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return matrices with constant diagonals.

    Args:
        c: the first columns, shape ``(..., m)``.
        r: the first rows, shape ``(..., n)``, of which the first element is not looked at; by
            default the conjugate of ``c``.

    Returns:
        Shape ``(..., m, n)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.toeplitz(jnp.array([1, 2, 3]), jnp.array([1, 5]))
        Array([[1, 5],
               [2, 1],
               [3, 2]], dtype=int32)
    """
    if r is None:
        column = _vector("toeplitz", c)
        row = jnp.conj(column)
    else:  # of one type before they are vectors: a number is not rounded before
        both = pm.promote_dtypes(pm.array_of("toeplitz", c), pm.array_of("toeplitz", r))
        column, row = (_vector("toeplitz", x) for x in both)
    m, n = column.shape[-1], row.shape[-1]
    i, j = _indices(m, n)
    return _joined(column[..., ::-1], row[..., 1:])[..., m - 1 - i + j]


def hankel(c: ArrayLike, r: ArrayLike | None = None) -> Array:
    """Return matrices with constant diagonals from the lower left to the upper right.

    Args:
        c: the first columns, shape ``(..., m)``.
        r: the last rows, shape ``(..., n)``, of which the first element is not looked at; zeros
            by default.

    Returns:
        Shape ``(..., m, n)``.

    Raises:
        ShapeError: an operand is a scalar.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.hankel(jnp.array([1, 2, 3]))
        Array([[1, 2, 3],
               [2, 3, 0],
               [3, 0, 0]], dtype=int32)
    """
    column = pm.array_of("hankel", c)
    row = jnp.zeros_like(column) if r is None else pm.array_of("hankel", r)
    if not column.ndim or not row.ndim:
        raise ShapeError("hankel takes vectors, but got a scalar.")
    i, j = _indices(column.shape[-1], row.shape[-1])
    return _joined(column, row[..., 1:])[..., i + j]


def circulant(c: ArrayLike) -> Array:
    """Return matrices each of whose columns is the one before, rotated by one place.

    Args:
        c: the first columns, shape ``(..., n)``.

    Returns:
        Shape ``(..., n, n)``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.circulant(jnp.array([1, 2, 3]))
        Array([[1, 3, 2],
               [2, 1, 3],
               [3, 2, 1]], dtype=int32)
    """
    column = _vector("circulant", c)
    n = column.shape[-1]
    i, j = _indices(n, n)
    return column[..., (i - j) % max(n, 1)]


def _above(row: Array, below: Array) -> Array:
    """Matrices made of a first row and the others."""
    rest = jnp.broadcast_to(below, (*row.shape[:-1], *below.shape[-2:]))
    return jnp.concatenate([row[..., None, :], rest], -2)


def companion(a: ArrayLike) -> Array:
    """Return matrices whose eigenvalues are the roots of polynomials.

    Args:
        a: coefficients, the highest power first, shape ``(..., n)``; the first is not zero.

    Returns:
        Shape ``(..., n - 1, n - 1)``; infinite or NaN where the first coefficient is zero.

    Raises:
        ShapeError: there are fewer than two coefficients.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.companion(jnp.array([1.0, -10.0, 31.0, -30.0]))
        Array([[ 10., -31.,  30.],
               [  1.,   0.,   0.],
               [  0.,   1.,   0.]], dtype=float32)
    """
    x = pm.strong(pm.inexact(_vector("companion", a, 2)))
    n = x.shape[-1] - 1
    return _above(-x[..., 1:] / x[..., :1], jnp.eye(n - 1, n, dtype=x.dtype))


def leslie(f: ArrayLike, s: ArrayLike) -> Array:
    """Return Leslie's matrices, which take a population by age to that one step later.

    Args:
        f: the offspring of each age, shape ``(..., n)``.
        s: the shares of each age that survive, shape ``(..., n - 1)``.

    Returns:
        Shape ``(..., n, n)``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.leslie(jnp.array([0.5, 2.0]), jnp.array([0.25]))
        Array([[0.5 , 2.  ],
               [0.25, 0.  ]], dtype=float32)
    """
    first, shares = pm.promote_dtypes(_vector("leslie", f, 2), _vector("leslie", s))
    n = first.shape[-1]
    if shares.shape[-1] != n - 1:
        raise ShapeError(
            "leslie takes one share less than numbers of offspring, but got shapes "
            f"{first.shape} and {shares.shape}."
        )
    batch = pm.broadcast_shapes(first.shape[:-1], shares.shape[:-1])
    first = jnp.broadcast_to(first, (*batch, n))
    below = shares[..., None] * jnp.eye(n - 1, n, dtype=shares.dtype)
    return _above(first, below)


def fiedler(a: ArrayLike) -> Array:
    """Return Fiedler's symmetric matrices, with ``|a_i - a_j|`` in row ``i`` and column ``j``.

    Args:
        a: shape ``(..., n)``.

    Returns:
        Shape ``(..., n, n)``.
    """
    x = _vector("fiedler", a)
    equal = np.eye(x.shape[-1], dtype=bool)  # there absolute values have no second derivative
    return jnp.where(equal, 0, jnp.abs(jnp.where(equal, 1, x[..., None] - x[..., None, :])))


def fiedler_companion(a: ArrayLike) -> Array:
    """Return matrices of five diagonals whose eigenvalues are the roots of polynomials.

    (M. Fiedler, Linear Algebra Appl. 372, 2003.)

    Args:
        a: coefficients, the highest power first, shape ``(..., n)``; the first is not zero.

    Returns:
        Shape ``(..., n - 1, n - 1)``; infinite or NaN where the first coefficient is zero.

    Raises:
        ShapeError: there are no coefficients.
    """
    x = pm.strong(pm.inexact(_vector("fiedler_companion", a, 1)))
    x = x / x[..., :1]
    n = x.shape[-1] - 1
    out = jnp.zeros((*x.shape[:-1], n, n), x.dtype)
    if n < 1:
        return out
    out = out.at[..., 0, 0].set(-x[..., 1])
    if n > 1:
        out = out.at[..., 1, 0].set(1)
    odd, even = np.arange(1, n, 2), np.arange(2, n, 2)
    # each coefficient stands with those of its parity, and ones link them
    out = out.at[..., odd - 1, odd].set(-x[..., odd + 1])
    out = out.at[..., even, even - 1].set(-x[..., even + 1])
    out = out.at[..., even - 2, even].set(1)
    return out.at[..., odd[1:], odd[:-1]].set(1)


def convolution_matrix(
    a: ArrayLike, n: int, mode: Literal["full", "same", "valid"] = "full"
) -> Array:
    """Return matrices by which vectors are convolved: ``convolve(a, v, mode)`` is their product.

    Args:
        a: shape ``(..., m)``.
        n: the length of the vectors that they are multiplied by.
        mode: which part of the convolution, as in ``tinyjax.numpy.convolve``.

    Returns:
        Shape ``(..., k, n)``, where ``k`` is ``m + n - 1``, the greater, or the difference plus
        one.

    Raises:
        ShapeError: ``a`` is a scalar, or empty.
        ArgumentError: ``n`` is not positive, or there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
        Array([[1, 0],
               [2, 1],
               [0, 2]], dtype=int32)
    """
    size = _positive("convolution_matrix", n)
    x = pm.array_of("convolution_matrix", a)
    if not x.ndim or not x.shape[-1]:
        raise ShapeError(f"convolution_matrix takes vectors, but got shape {x.shape}.")
    pm.check_option("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    m = x.shape[-1]
    shorter = min(size, m) - 1
    before = {"full": 0, "same": shorter // 2, "valid": shorter}[mode]
    after = {"full": 0, "same": shorter - shorter // 2, "valid": shorter}[mode]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(size - 1, size - 1)])
    i, j = _indices(m + size - 1 - before - after, size)
    return padded[..., size - 1 + before + i - j]
