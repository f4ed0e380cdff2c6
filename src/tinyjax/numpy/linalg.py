"""Linear algebra on matrices and stacks of them: the axes before the last two are the batch's.

Integers become floats; other dtypes than single and double precision, real or complex, raise. The
numbers in a matrix never raise: if it is singular or not positive definite, or if an iteration
fails, its results are NaN. All functions have derivatives of any order where they are smooth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, overload

import numpy as np

from tinyjax import custom_derivatives, dtypes
from tinyjax._base import lazy
from tinyjax._extensions.host import replay
from tinyjax._primitives import determinant, lu, matrices as ma, qr as _qr, spectral, triangular
from tinyjax._primitives.precision import PrecisionLike
from tinyjax.core import api, devices
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.numpy import (
    contraction,
    creation,
    elementwise,
    manipulation,
    promotion as pm,
    reductions,
    selection,
)
from tinyjax.numpy.calculus import cross as cross_of
from tinyjax.numpy.contraction import exact_matmul
from tinyjax.numpy.sorting import argsort
from tinyjax.numpy.taking import take_along_axis

lazy.answer_for(
    __name__,
    "cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul matrix_norm "
    "matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet solve svd "
    "svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm",
)

matrix_transpose: Callable[[ArrayLike], Array] = manipulation.matrix_transpose
vecdot: Final = contraction.vecdot

Order = int | float | str | None


class EigResult(NamedTuple):
    """Results of ``eig``."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """Results of ``eigh``."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """Results of ``qr``."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """Results of ``slogdet``."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """Results of ``svd``."""

    U: Array
    S: Array
    Vh: Array


def matrices(name: str, x: ArrayLike, *, square: bool = False) -> Array:
    """Prepare an operand: floats, in two axes at least."""
    a = pm.strong(pm.inexact(x, name))
    ma.check_matrices(name, a.aval, square=square)
    return a


# Factors


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """Return the lower triangular ``L`` with a positive diagonal and ``L L^H = a``.

    Args:
        a: Hermitian positive definite matrices, shape ``(..., n, n)``.
        upper: whether to return ``L^H`` in its place.
        symmetrize_input: whether to factor ``(a + a^H) / 2``; otherwise only the lower triangle
            (with ``upper``, the upper) is read.

    Returns:
        The factors, of the shape of ``a``; NaN for matrices that are not positive definite.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 0.],
               [1., 2.]], dtype=float32)
    """
    x = matrices("cholesky", a, square=True)
    if upper:
        return ma.mH(triangular.cholesky(ma.mH(x), symmetrize_input=symmetrize_input))
    return triangular.cholesky(x, symmetrize_input=symmetrize_input)


@overload
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "raw", "full"] = "reduced"
) -> QRResult: ...
@overload
def qr(a: ArrayLike, mode: Literal["r"]) -> Array: ...
def qr(
    a: ArrayLike, mode: Literal["reduced", "complete", "raw", "r", "full"] = "reduced"
) -> QRResult | Array:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = a``.

    Args:
        a: matrices, shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.
        mode: ``"reduced"`` for ``Q`` of shape ``(..., m, k)`` and ``R`` of ``(..., k, n)``;
            ``"complete"`` for ``(..., m, m)`` and ``(..., m, n)``, without a derivative where ``m``
            is greater than ``n``; ``"r"`` for ``R`` alone, as in ``"reduced"``; ``"raw"`` for
            the transposes of LAPACK's packed reflections, shape ``(..., n, m)``, and their
            factors, shape ``(..., k)``, without a derivative. ``"full"`` is an old name of
            ``"reduced"``.

    Returns:
        ``(Q, R)``, or ``R``, or the reflections and their factors.

    Raises:
        ShapeError: ``a`` does not hold matrices.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> q, r = jnp.linalg.qr(jnp.array([[3.0, 1.0], [4.0, 2.0]]))
        >>> bool(jnp.allclose(q @ r, jnp.array([[3.0, 1.0], [4.0, 2.0]])))
        True
    """
    x = matrices("qr", a)
    if mode == "raw":
        packed, factors = _qr.geqrf(x)
        return QRResult(ma.mT(packed), factors)
    if not ints.is_one_of(mode, ("reduced", "complete", "r", "full")):
        raise ArgumentError(
            f"Unsupported QR decomposition mode {shortened(mode)}: it is 'reduced', 'complete', "
            "'r' or 'raw'."
        )
    q, r = _qr.qr(x, full_matrices=mode == "complete")
    return r if mode == "r" else QRResult(q, r)


def eig(a: ArrayLike) -> EigResult:
    """Return the eigenvalues and eigenvectors of matrices.

    Args:
        a: shape ``(..., n, n)``.

    Returns:
        The eigenvalues, complex, shape ``(..., n)``, in the order that LAPACK finds them in; and
        matrices whose columns are eigenvectors of length one whose greatest component is real.
        Derivatives of vectors of equal eigenvalues are infinite or NaN, and all are without a
        basis of eigenvectors. ``tinyjax.lax.linalg.eig`` has left vectors, too.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.eig(jnp.array([[0.0, -1.0], [1.0, 0.0]])).eigenvalues
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    values, vectors = spectral.eig(matrices("eig", a, square=True), left=False)
    return EigResult(values, vectors)


def eigvals(a: ArrayLike) -> Array:
    """Return the eigenvalues of matrices, complex, in the order that LAPACK finds them in.

    Real matrices, too, have complex ones. See also ``eigvalsh``, for Hermitian matrices.

    Args:
        a: shape ``(..., n, n)``.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.sort(jnp.linalg.eigvals(jnp.array([[2.0, 0.0], [1.0, 3.0]])))
        Array([2.+0.j, 3.+0.j], dtype=complex64)
        >>> jnp.linalg.eigvals(jnp.array([[0.0, -1.0], [1.0, 0.0]])).dtype
        dtype('complex64')
    """
    return spectral.eig(matrices("eigvals", a, square=True), left=False, right=False)[0]


def eigh(
    a: ArrayLike, UPLO: Literal["L", "U"] | None = None, symmetrize_input: bool = True
) -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices.

    Args:
        a: Hermitian matrices, shape ``(..., n, n)``.
        UPLO: which triangle counts where the input is not symmetrized; the lower by default.
        symmetrize_input: whether to take ``(a + a^H) / 2`` for ``a``.

    Returns:
        The eigenvalues, real and ascending, shape ``(..., n)``; and matrices whose columns are the
        eigenvectors. Derivatives of those of equal eigenvalues are infinite or NaN: functions of
        matrices, such as ``(v * f(w)) @ v.T``, and second derivatives need distinct eigenvalues.
        Sums of functions of equal ones have a derivative, as have vectors of other ones.

    Raises:
        ShapeError: ``a`` does not hold square matrices.
        ArgumentError: ``UPLO`` is another letter.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
        Array([1., 3.], dtype=float32)
    """
    x = matrices("eigh", a, square=True)
    if not ints.is_one_of(UPLO, (None, "L", "U")):
        raise ArgumentError(f"UPLO must be one of None, 'L', or 'U', but got {shortened(UPLO)}.")
    if UPLO == "U":
        x = ma.mH(x)
    vectors, values = spectral.eigh(x, symmetrize_input=symmetrize_input)
    return EighResult(values, vectors)


def eigvalsh(
    a: ArrayLike, UPLO: Literal["L", "U"] | None = "L", *, symmetrize_input: bool = True
) -> Array:
    """Return the eigenvalues of Hermitian matrices, real and ascending.

    The arguments are those of ``eigh``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.round(jnp.linalg.eigvalsh(jnp.array([[2.0, 1.0], [1.0, 2.0]])), 3)
        Array([1., 3.], dtype=float32)
    """
    return eigh(a, UPLO, symmetrize_input).eigenvalues


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool,
    compute_uv: Literal[False],
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
    subset_by_index: tuple[int, int] | None = None,
) -> SVDResult | Array:
    """Return ``U``, the singular values ``S`` and ``V^H``, with ``U diag(S) V^H = a``.

    Args:
        a: matrices, shape ``(..., m, n)``.
        full_matrices: whether ``U`` and ``V`` are square; otherwise they have ``min(m, n)``
            columns. Of several vectors beyond these only the space is determined: derivatives that
            depend on them are NaN.
        compute_uv: whether to return ``U`` and ``V^H``, not just ``S``.
        hermitian: whether the matrices are Hermitian, which makes it faster.
        subset_by_index: the first singular value wanted and the one after the last; by default
            all. A part of them needs ``full_matrices=False``.

    Returns:
        ``(U, S, Vh)``, or ``S``, which is real and descending. Derivatives of vectors of equal
        singular values are infinite or NaN, as those of ``eigh``. ``scipy.linalg.polar`` has those
        of ``U @ Vh``.

    Raises:
        ShapeError: ``a`` does not hold matrices.
        ArgumentError: the matrices are full, and only some singular values are requested.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.svd(jnp.array([[3.0, 0.0], [0.0, 4.0]]), compute_uv=False)
        Array([4., 3.], dtype=float32)
    """
    x = matrices("svd", a, square=hermitian)
    result: SVDResult | Array
    if hermitian:
        result = _hermitian_svd(x, compute_uv)
    elif not compute_uv:
        result = spectral.singular_values(x)
    else:
        result = SVDResult(*spectral.svd(x, full_matrices=full_matrices))
    if subset_by_index is None:
        return result
    first, last = subset_by_index
    if isinstance(result, Array):
        return result[..., first:last]
    if (first, last) == (0, result.S.shape[-1]):
        return result
    if full_matrices:
        raise ArgumentError("a part of the singular values needs full_matrices=False in svd.")
    u, s, vh = result
    return SVDResult(u[..., first:last], s[..., first:last], vh[..., first:last, :])


def _hermitian_svd(x: Array, compute_uv: bool) -> SVDResult | Array:
    vectors, values = spectral.eigh(x)
    sizes = elementwise.abs(values)
    order = argsort(sizes, descending=True)
    s = take_along_axis(sizes, order, -1)
    if not compute_uv:
        return s
    u = take_along_axis(vectors, order[..., None, :], -1)
    negative = take_along_axis(values, order, -1) < 0
    v = u * elementwise.pick(negative, -1, 1)[..., None, :]
    return SVDResult(u, s, ma.mH(v))


def svdvals(x: ArrayLike, /) -> Array:
    """Return the singular values of matrices, real and descending.

    The shape is ``(..., min(m, n))``. The derivative is that of ``svd``: it holds where the
    singular values are distinct and not zero.

    Raises:
        ShapeError: ``x`` does not hold matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.svdvals(jnp.array([[0.0, 2.0], [-3.0, 0.0]]))
        Array([3., 2.], dtype=float32)
        >>> jnp.linalg.svdvals(jnp.ones((5, 2, 3))).shape
        (5, 2)
    """
    return spectral.singular_values(matrices("svdvals", x))


# Systems of equations


def systems(name: str, a: ArrayLike, b: ArrayLike, *, vector: bool) -> tuple[Array, Array]:
    """Prepare matrices and right-hand sides: of one dtype, and with the same axes in front.

    Args:
        name: of the function that wants them.
        a: shape ``(..., n, n)``.
        b: shape ``(..., n, m)``, or ``(..., n)``.
        vector: whether it is the latter, which gets an axis.
    """
    x, y = (pm.strong(z) for z in pm.floats(name, a, b))
    ma.check_matrices(name, x.aval, square=True)
    if vector:
        y = manipulation.expand_dims(y, -1)
    ma.check_matrices(name, y.aval)
    if x.shape[-1] != y.shape[-2]:
        raise ShapeError(
            f"{name}: matrices of shape {x.shape} and right-hand sides of shape "
            f"{y.shape[:-1] if vector else y.shape} do not fit: there are {x.shape[-1]} equations, "
            f"and {y.shape[-2]} numbers on a right-hand side."
        )
    batch = pm.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return (
        pm.broadcast_to_shape(x, (*batch, *x.shape[-2:])),
        pm.broadcast_to_shape(y, (*batch, *y.shape[-2:])),
    )


def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Solve ``a x = b``.

    By an LU decomposition with pivoting. A singular matrix raises nothing: the result is NaN or
    infinite. Axes in front are batches. The derivatives hold in both.

    Args:
        a: shape ``(..., n, n)``.
        b: shape ``(n,)`` or ``(..., n, m)``; the axes in front broadcast.

    Returns:
        ``x``, of the shape that ``a^-1 b`` has; NaN where ``a`` is singular.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.solve(jnp.array([[2.0, 0.0], [0.0, 4.0]]), jnp.array([2.0, 2.0]))
        Array([1. , 0.5], dtype=float32)
        >>> jnp.linalg.solve(jnp.ones((2, 2)), jnp.ones(2))
        Array([nan, nan], dtype=float32)
    """
    right = pm.array_of("solve", b)
    vector = right.ndim == 1
    x = lu.solve(*systems("solve", a, right, vector=vector))
    return x[..., 0] if vector else x


def inv(a: ArrayLike) -> Array:
    """Return the inverses of matrices, shape ``(..., n, n)``; NaN where they are singular.

    To multiply by an inverse, use ``solve``: it is faster and more accurate.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.inv(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        Array([[0.5 , 0.  ],
               [0.  , 0.25]], dtype=float32)
    """
    x = matrices("inv", a, square=True)
    return lu.solve(x, ma.identities(x.shape, x.dtype))


def det(a: ArrayLike) -> Array:
    """Return the determinants of matrices; the derivatives hold for singular ones too.

    By an LU decomposition of each matrix; that of a matrix of no rows is 1. Integers become floats.
    Of large matrices it may overflow: see ``slogdet``.

    Args:
        a: shape ``(..., n, n)``.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> jnp.linalg.det(jnp.array([[2.0, 1.0], [1.0, 2.0]]))
        Array(3., dtype=float32)
        >>> tinyjax.grad(jnp.linalg.det)(jnp.array([[1.0, 0.0], [0.0, 0.0]]))
        Array([[0., 0.],
               [0., 1.]], dtype=float32)
        >>> jnp.linalg.det(jnp.zeros((0, 0)))
        Array(1., dtype=float32)
    """
    return determinant.det(matrices("det", a, square=True))


def slogdet(a: ArrayLike, *, method: Literal["lu", "qr"] | None = None) -> SlogdetResult:
    """Return the sign of determinants, and the logarithm of their absolute value.

    It neither overflows nor underflows where ``det`` would. A singular matrix has the sign 0 and
    the logarithm -inf.

    Args:
        a: shape ``(..., n, n)``.
        method: None, "lu" or "qr"; of no effect: LU factors serve all.

    Returns:
        The sign (of complex matrices, the phase), and the logarithm, real. Singular matrices have 0
        and minus infinity.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.slogdet(-jnp.eye(3)).sign
        Array(-1., dtype=float32)
    """
    if not ints.is_one_of(method, (None, "lu", "qr")):
        raise ArgumentError(f"Unknown slogdet method {shortened(method)}: it is 'lu' or 'qr'.")
    return SlogdetResult(*determinant.slogdet(matrices("slogdet", a, square=True)))


def _inverted(s: Array, rtol: Array) -> Array:
    """The inverses of the singular values that count, and zeros."""
    is_large = _above(s, rtol)
    return elementwise.pick(is_large, 1 / elementwise.pick(is_large, s, 1), 0)


def _above(s: Array, rtol: Array) -> Array:
    """Return whether each singular value is above ``rtol`` times the first, the greatest."""
    return s > rtol[..., None] * s[..., :1]


@custom_derivatives.custom_jvp
def _pinv(a: Array, rtol: Array) -> Array:
    u, s, vh = spectral.svd(a, full_matrices=False)
    return exact_matmul(ma.mH(vh) * _inverted(s, rtol)[..., None, :], ma.mH(u))


@_pinv.defjvp
def _pinv_jvp(primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    """The derivative among matrices of one rank (Golub and Pereyra 1973, equation 4.12)."""
    (a, rtol), (ta, _) = primals, tangents
    p = _pinv(a, rtol)
    th, ph = ma.mH(ta), ma.mH(p)
    left = th - exact_matmul(th, exact_matmul(a, p))
    right = th - exact_matmul(exact_matmul(p, a), th)
    changes = exact_matmul(p, exact_matmul(ph, left)) + exact_matmul(exact_matmul(right, ph), p)
    return p, changes - exact_matmul(exact_matmul(p, ta), p)


@custom_derivatives.custom_jvp
def _least_squares(a: Array, b: Array, rtol: Array) -> tuple[Array, Array]:
    """The product of the pseudo-inverse with right-hand sides, and the singular values."""
    u, s, vh = spectral.svd(a, full_matrices=False)
    inverse = _inverted(s, rtol)
    along = exact_matmul(ma.mH(u), b)
    return exact_matmul(ma.mH(vh), (inverse if b.ndim == 1 else inverse[:, None]) * along), s


@_least_squares.defjvp
def _least_squares_jvp(
    primals: tuple[Array, Array, Array], tangents: tuple[Array, Array, Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """That of the pseudo-inverse, times vectors; singular values have one where these have none."""
    (a, b, rtol), (ta, tb, _) = primals, tangents
    p = _pinv(a, rtol)
    x = exact_matmul(p, b)
    th, ph = ma.mH(ta), ma.mH(p)
    beyond = exact_matmul(th, exact_matmul(ph, x))
    rest = exact_matmul(ph, exact_matmul(th, b - exact_matmul(a, x)))
    tx = beyond + exact_matmul(p, tb - exact_matmul(ta, x) + rest - exact_matmul(a, beyond))
    s, ts = api.jvp(spectral.singular_values, (a,), (ta,))
    return (x, s), (tx, ts)


def pinv(
    a: ArrayLike,
    rtol: ArrayLike | None = None,
    hermitian: bool = False,
    *,
    rcond: ArrayLike | None = None,
) -> Array:
    """Return the pseudo-inverses (of Moore and Penrose) of matrices.

    Args:
        a: matrices, shape ``(..., m, n)``.
        rtol: singular values up to this part of the greatest count as zero; shape ``(...)``. By
            default, ten times the greater of ``m`` and ``n`` times the precision.
        hermitian: whether the matrices are Hermitian; then only the lower triangle counts.
        rcond: another name of ``rtol``.

    Returns:
        Matrices of shape ``(..., n, m)``. The derivative is that among matrices of the same rank.

    Raises:
        ShapeError: ``a`` does not hold matrices.
        ArgumentError: both ``rtol`` and ``rcond`` are given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.pinv(jnp.array([[2.0, 0.0], [0.0, 0.0]]))
        Array([[0.5, 0. ],
               [0. , 0. ]], dtype=float32)
    """
    x = matrices("pinv", a, square=hermitian)
    if rcond is not None:
        if rtol is not None:
            raise ArgumentError(
                "pinv: only one of rtol and rcond may be specified. They mean the same."
            )
        rtol = rcond
    if hermitian:
        x = ma.from_lower(x)
    if 0 in x.shape[-2:]:
        return creation.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return _pinv(x, _relative_tolerance(x, rtol, 10.0))


def _relative_tolerance(x: Array, rtol: ArrayLike | None, factor: float) -> Array:
    """Return ``rtol`` as real numbers: by default a multiple of the precision times the size."""
    part = dtypes.real_part(x.dtype)
    if rtol is None:
        size = float(np.finfo(part).eps) * factor * max(x.shape[-2:])
        return creation.full((), size, part)
    return stop_gradient(pm.array_of("rtol", rtol).astype(part))


def matrix_rank(
    M: ArrayLike,
    rtol: ArrayLike | None = None,
    *,
    hermitian: bool = False,
    tol: ArrayLike | None = None,
) -> Array:
    """Return how many singular values are not negligible.

    Args:
        M: matrices, shape ``(..., m, n)``; or an array of fewer axes, whose rank is 0 if all its
            elements are zero, and 1 otherwise.
        rtol: singular values up to this part of the greatest count as zero; shape ``(...)``. By
            default, the greater of ``m`` and ``n`` times the precision.
        hermitian: whether the matrices are Hermitian, which makes it faster.
        tol: singular values up to this one count as zero.

    Raises:
        ArgumentError: both ``rtol`` and ``tol`` are given.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.matrix_rank(jnp.ones((3, 3)))
        Array(1, dtype=int32)
    """
    a = pm.array_of("matrix_rank", M)
    if tol is not None and rtol is not None:
        raise ArgumentError("matrix_rank: only one of tol or rtol may be specified, but got both.")
    if a.ndim < 2:
        return reductions.any(a != 0).astype(dtypes.int32)
    x = matrices("matrix_rank", a, square=hermitian)
    s = svd(x, compute_uv=False, hermitian=hermitian)
    is_large = (
        _above(s, _relative_tolerance(x, rtol, 1.0))
        if tol is None
        else s > pm.array_of("tol", tol)[..., None]
    )
    return reductions.sum(is_large, -1)


def lstsq(
    a: ArrayLike, b: ArrayLike, rcond: float | None = None, *, numpy_resid: bool = False
) -> tuple[Array, Array, Array, Array]:
    """Return the ``x`` of least norm among those that minimise the norm of ``a x - b``.

    Args:
        a: a matrix, shape ``(m, n)``.
        b: shape ``(m,)`` or ``(m, k)``.
        rcond: singular values below this part of the greatest count as zero; by default, the
            greater of ``m`` and ``n`` times the precision. Beside 0 to 1 it is the precision, as
            in LAPACK.
        numpy_resid: whether to return no norms, as NumPy does, where the rank is less than ``n`` or
            ``m`` at most ``n``. Their number depends on the values of ``a`` then, so that this
            are not available under ``jit`` and ``vmap``.

    Returns:
        ``x``, shape ``(n,)`` or ``(n, k)``; the squared norms of ``a x - b``, shape ``(1,)`` or
        ``(k,)``; the rank of ``a``; and its singular values.

    Raises:
        ShapeError: the shapes do not fit.
        ConcretizationError: ``numpy_resid`` under a transformation that does not know the rank.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> x, *_ = jnp.linalg.lstsq(jnp.array([[1.0], [1.0]]), jnp.array([1.0, 3.0]))
        >>> round(float(x[0]), 5)
        2.0
    """
    x, y = (pm.strong(z) for z in pm.floats("lstsq", a, b))
    if x.ndim != 2 or y.ndim not in (1, 2) or x.shape[0] != y.shape[0]:
        raise ShapeError(
            "lstsq takes a matrix and a vector or matrix, whose leading dimensions must match, "
            f"but got shapes {x.shape} and {y.shape}. Map over further axes with vmap."
        )
    ma.check_matrices("lstsq", x.aval)
    rtol = _relative_tolerance(x, rcond, 1.0)
    rtol = selection.where((rtol > 0) & (rtol < 1), rtol, np.finfo(rtol.dtype).eps)
    if 0 in x.shape:
        s = spectral.singular_values(x)
        solution = creation.zeros((x.shape[1], *y.shape[1:]), x.dtype)
    else:
        solution, s = _least_squares(x, y, rtol)
    rest = y - exact_matmul(x, solution)
    squares = reductions.sum(
        elementwise.real(rest * elementwise.conj(rest)), 0, keepdims=rest.ndim == 1
    )
    rank = reductions.sum(_above(s, rtol), None)
    m, n = x.shape
    if numpy_resid and (m <= n or int(rank) < n):
        squares = squares[:0]
    return solution, squares, rank, s


def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Solve ``tensordot(a, x, x.ndim) = b``.

    Args:
        a: shape ``b.shape + s`` for some ``s`` of as many elements.
        b: any shape.
        axes: axes of ``a`` that are moved to the end first.

    Returns:
        ``x``, of shape ``s``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> a = 2 * jnp.eye(4).reshape(2, 2, 4)
        >>> jnp.linalg.tensorsolve(a, jnp.array([[2.0, 4.0], [6.0, 8.0]]))
        Array([1., 2., 3., 4.], dtype=float32)
    """
    x, y = pm.floats("tensorsolve", a, b)
    if axes is not None:
        moved = [ints.canonical_axis(i, x.ndim) for i in ints.listed(axes, "axes")]
        others = [i for i in range(x.ndim) if i not in moved]
        x = manipulation.transpose(x, [*others, *moved])
    shape = x.shape[y.ndim :]
    n = math.prod(shape)
    if x.shape[: y.ndim] != y.shape or n != y.size:
        needs = "the axes of the second and then others with as many elements"
        raise ShapeError.got(f"tensorsolve needs a first operand with {needs}", x, y)
    return solve(x.reshape(n, n), y.reshape(n)).reshape(shape)


def tensorinv(a: ArrayLike, ind: int = 2) -> Array:
    """Return the inverse of ``x -> tensordot(a, x, a.ndim - ind)``.

    Args:
        a: an array whose first ``ind`` axes have as many elements as the others.
        ind: a positive number.

    Returns:
        An array of shape ``a.shape[ind:] + a.shape[:ind]``.

    Raises:
        ShapeError: the numbers of elements differ.
        ArgumentError: ``ind`` is not positive.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.tensorinv(2 * jnp.eye(6).reshape(2, 3, 6)).shape
        (6, 2, 3)
    """
    x, ind = pm.inexact(a, "tensorinv"), ints.integer(ind, "ind")
    if ind <= 0:
        raise ArgumentError(f"ind must be a positive integer, but got {ind} for tensorinv.")
    rows, columns = x.shape[:ind], x.shape[ind:]
    n = math.prod(rows)
    if n != math.prod(columns):
        raise ShapeError(
            "tensorinv needs a product of the first ind dimensions that is that of the others, "
            f"but of shape {x.shape} with ind={ind} they are {rows} and {columns}."
        )
    return inv(x.reshape(n, n)).reshape(*columns, *rows)


# Products


def matmul(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
) -> Array:
    """Return the matrix product; as ``tinyjax.numpy.matmul``.

    Axes before the last two are batches and broadcast; a vector counts as a row on the left, as a
    column on the right. Numbers without axes are refused. ``x @ y`` is the same.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.matmul(jnp.array([[1, 2], [3, 4]]), jnp.array([10, 1]))
        Array([12, 34], dtype=int32)
    """
    return contraction.matmul(
        x1, x2, precision=precision, preferred_element_type=preferred_element_type
    )


def tensordot(
    x1: ArrayLike,
    x2: ArrayLike,
    /,
    *,
    axes: int | Sequence[int] | Sequence[int | Sequence[int]] = 2,
    precision: PrecisionLike = None,
    preferred_element_type: dtypes.DTypeLike = None,
    out_sharding: devices.Placement = None,
) -> Array:
    """Return sums of products over chosen axes; as ``tinyjax.numpy.tensordot``.

    ``axes`` is how many of the last axes of the first operand meet the first of the second, or two
    sequences that name them. ``axes=0`` gives all products.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.tensordot(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)), axes=2).shape
        (2, 5)
        >>> jnp.linalg.tensordot(jnp.ones((2, 3)), jnp.ones((3, 2)), axes=((0, 1), (1, 0)))
        Array(6., dtype=float32)
    """
    return contraction.tensordot(
        *(x1, x2, axes),
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=out_sharding,
    )


def outer(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return all products of an element of one vector with one of another.

    The result has shape ``(m, n)``, and no factor is conjugated. ``tinyjax.numpy.outer`` takes
    arrays of any shape, which it flattens; this one, like the array API, does not.

    Raises:
        ShapeError: an operand is not a vector.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.outer(jnp.array([1, 2]), jnp.array([10, 20]))
        Array([[10, 20],
               [20, 40]], dtype=int32)
    """
    x, y = pm.arrays("outer", x1, x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            "Input arrays must be one-dimensional for outer, but got shapes "
            f"{x.shape} and {y.shape}. The function of "
            "tinyjax.numpy takes any shape."
        )
    return contraction.outer(x, y)


def cross(x1: ArrayLike, x2: ArrayLike, /, *, axis: int = -1) -> Array:
    """Return the cross product of vectors of size 3; as ``tinyjax.numpy.cross``.

    Along the last axis by default; the others broadcast. The result stands at right angles to both,
    and is 0 where they are parallel. Vectors of size 2, which ``numpy.cross`` takes, are refused.

    Raises:
        ShapeError: the vectors have another size.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0]))
        Array([0, 0, 1], dtype=int32)
        >>> jnp.linalg.cross(jnp.array([0, 1, 0]), jnp.array([[1, 0, 0], [0, 2, 0]]))
        Array([[ 0,  0, -1],
               [ 0,  0,  0]], dtype=int32)
    """
    x, y = pm.arrays("cross", x1, x2)
    if any(z.shape[ints.canonical_axis(axis, z.ndim)] != 3 for z in (x, y)):
        raise ShapeError.got("cross takes arrays of 3-dimensional vectors", x, y)
    return cross_of(x, y, axis=axis)


def diagonal(x: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return a diagonal of matrices ``(..., m, n)``, above the main one if ``offset`` is positive.

    ``tinyjax.numpy.diagonal`` takes the first two axes, this one the last two.

    Raises:
        AxisError: there are fewer than two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.diagonal(jnp.array([[1, 2], [3, 4]]), offset=1)
        Array([2], dtype=int32)
    """
    return creation.diagonal(x, offset, -2, -1)


def trace(x: ArrayLike, /, *, offset: int = 0, dtype: dtypes.DTypeLike = None) -> Array:
    """Return the sums of a diagonal of matrices ``(..., m, n)``.

    ``tinyjax.numpy.trace`` takes the first two axes, this one the last two.

    Raises:
        AxisError: there are fewer than two axes.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.trace(jnp.array([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
        Array([ 5, 13], dtype=int32)
    """
    return creation.trace(x, offset, -2, -1, dtype)


def matrix_power(a: ArrayLike, n: int) -> Array:
    """Return powers of matrices, in about ``log2(n)`` products.

    Args:
        a: shape ``(..., m, m)``; integers stay integers if ``n`` is not negative.
        n: the exponent; a negative one inverts the matrices first.

    Raises:
        ShapeError: ``a`` does not hold square matrices.
        ArgumentError: ``n`` is not an int.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.matrix_power(jnp.array([[1, 1], [1, 0]]), 10)
        Array([[89, 55],
               [55, 34]], dtype=int32)
    """
    x = pm.array_of("matrix_power", a)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(
            "arrays of matrix_power must be at least two-dimensional, and their last two "
            f"dimensions must be square, but got shape {x.shape}."
        )
    n = ints.integer(n, "matrix_power: exponent", "an integer")
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        one = creation.eye(x.shape[-1], dtype=x.dtype)
        return pm.broadcast_to_shape(one, x.shape)
    power_of_two, result = x, None
    while True:
        if n & 1:
            result = power_of_two if result is None else result @ power_of_two
        n >>= 1
        if not n:
            assert result is not None, "the highest bit is set"
            return result
        power_of_two = power_of_two @ power_of_two


def multi_dot(arrays: Sequence[ArrayLike], *, precision: PrecisionLike = None) -> Array:
    """Return the product of several matrices, in the order that takes the least work.

    Args:
        arrays: two at least; the first and the last may be vectors.
        precision: as in ``lax.dot_general``.

    Raises:
        ShapeError: there are fewer than two, one is not a matrix, or the sizes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.multi_dot([jnp.ones((2, 50)), jnp.ones((50, 3)), jnp.ones(3)])
        Array([150., 150.], dtype=float32)
    """
    xs = [pm.array_of("multi_dot", x) for x in ints.listed(arrays, "arrays")]
    ends = {0, len(xs) - 1}
    fits = all(x.ndim == 2 or (x.ndim == 1 and i in ends) for i, x in enumerate(xs))
    if len(xs) < 2 or not fits:
        raise ShapeError(
            "arrays of multi_dot, two at least, must all be two-dimensional, but that the first "
            "and the last may be vectors; got shapes "
            f"{', '.join(str(x.shape) for x in xs) or 'of none'}."
        )
    rows = [1 if x.ndim == 1 and i == 0 else x.shape[0] for i, x in enumerate(xs)]
    sizes = [*rows, 1 if xs[-1].ndim == 1 else xs[-1].shape[1]]
    # the least work for each run of matrices (Cormen et al., "Matrix-chain multiplication")
    work: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for length in range(1, len(xs)):
        for i in range(len(xs) - length):
            j = i + length
            work[i, j] = min(
                (work[i, k][0] + work[k + 1, j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Array:
        if i == j:
            return xs[i]
        k = work[i, j][1]
        return contraction.dot(product(i, k), product(k + 1, j), precision=precision)

    return product(0, len(xs) - 1)


# Norms


def vector_norm(
    x: ArrayLike, /, *, axis: ints.Axis = None, keepdims: bool = False, ord: Order = 2
) -> Array:
    """Return norms of vectors.

    Args:
        x: any shape.
        axis: the axis, or axes, that hold the vectors; by default, all elements are one vector.
        keepdims: whether these axes stay, with size one.
        ord: ``p`` for ``sum(abs(x) ** p) ** (1 / p)``; infinity for the greatest absolute value,
            minus infinity for the least; 0 for the number of elements that are not zero.

    Returns:
        Real numbers. Derivatives at zero are zero.

    Raises:
        ArgumentError: there is no such norm.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.vector_norm(jnp.array([3.0, 4.0]))
        Array(5., dtype=float32)
    """
    a = pm.inexact(x, "vector_norm")
    axes = None if axis is None else ints.canonical_axes(axis, a.ndim)
    if isinstance(ord, str):
        raise ArgumentError(f"Invalid order {shortened(ord)} for vector norm: it is a number.")
    if ord is None or ord == 2:
        return _euclidean(a, axes, keepdims)
    if isinstance(ord, int) and abs(ord) > _GREATEST_ORD:
        raise ArgumentError(f"norms take an ord that a float can be, but got {shortened(ord)}.")
    sizes = elementwise.abs(a)
    if ord == math.inf:
        return reductions.max(sizes, axes, keepdims=keepdims, initial=0)
    if ord == -math.inf:
        # no initial value where there are elements: an infinite one would share its slope with it
        initial = None if a.size else math.inf
        return reductions.min(sizes, axes, keepdims=keepdims, initial=initial)
    if ord == 0:
        return reductions.sum((a != 0).astype(sizes.dtype), axes, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(sizes, axes, keepdims=keepdims)
    if ord > 0:
        total = reductions.sum(elementwise.power(pm.precise(sizes), ord), axes, keepdims=keepdims)
        # at 0 that of numbers of one size, which has no slope there, but a second derivative
        count = max(a.size // max(total.size, 1), 1)
        of_zeros = _euclidean(sizes, axes, keepdims) * count ** (1 / ord - 0.5)
        length = elementwise.pick(total == 0, of_zeros, elementwise.power(total, 1.0 / ord))
        return pm.convert(length, sizes.dtype, sizes.weak_type)
    # of a negative order a norm is 0, without a slope, where any element is
    is_zero = sizes == 0
    total = reductions.sum(
        elementwise.power(elementwise.pick(is_zero, 1, sizes), ord), axes, keepdims=keepdims
    )
    return elementwise.pick(
        reductions.any(is_zero, axes, keepdims=keepdims), 0, elementwise.power(total, 1.0 / ord)
    )


_GREATEST_ORD: Final = 2**100

#: Of so many numbers the squares are summed as NumPy's norm does, one after another.
_SMALL: Final = 1 << 10


def _length_of_few(x: dtypes.HostArray) -> dtypes.HostArray:
    """The Euclidean norm of all numbers of an array, by Python's root: half of NumPy's time."""
    flat = x.reshape(-1)
    return np.array(math.sqrt(flat.dot(flat)), x.dtype)


def _euclidean(a: Array, axes: ints.Axis, keepdims: bool) -> Array:
    if replay.is_evaluating() and 0 < a.size <= _SMALL:
        is_all = not keepdims and (axes is None or axes == tuple(range(a.ndim)))
        if is_all and a.dtype in (dtypes.float32, dtypes.float64) and not a.weak_type:
            length = replay.by_host(_length_of_few, (a,), av.ShapedArray((), a.dtype))
            if length is not None:
                return length
    wide = pm.precise(a)  # its squares do not overflow
    length = ew.root(
        reductions.sum(elementwise.real(wide * elementwise.conj(wide)), axes, keepdims=keepdims)
    )
    return length if wide is a else pm.convert(length, a.dtype, a.weak_type)


def matrix_norm(x: ArrayLike, /, *, keepdims: bool = False, ord: Order = "fro") -> Array:
    """Return norms of matrices ``(..., m, n)``; ``ord`` is as in ``norm``.

    By default Frobenius's, the root of the sum of squares; 1 and ``inf`` are the largest sums of
    columns and of rows, 2 the largest singular value, "nuc" the sum of these. The result is real.

    Raises:
        ShapeError: there are fewer than two axes.
        ArgumentError: there is no such norm.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.matrix_norm(jnp.array([[3.0, 0.0], [0.0, 4.0]]), ord=2)
        Array(4., dtype=float32)
        >>> jnp.linalg.matrix_norm(jnp.array([[[3.0, 0.0], [0.0, 4.0]]]), keepdims=True)
        Array([[[5.]]], dtype=float32)
    """
    a = pm.inexact(x, "matrix_norm")
    if a.ndim < 2:
        raise ShapeError.got("matrix_norm takes at least two axes", a)
    return norm(a, ord, (-2, -1), keepdims)


def norm(
    x: ArrayLike, ord: Order = None, axis: int | Sequence[int] | None = None, keepdims: bool = False
) -> Array:
    """Return norms of vectors or matrices.

    Args:
        x: any shape where ``ord`` or ``axis`` is given; otherwise, all elements are one vector.
        ord: for vectors as in ``vector_norm``, by default 2. For matrices ``"fro"``, the default,
            for the root of the sum of squares. ``"nuc"`` for the sum of the singular values, 2 for
            the greatest and -2 for the least of them. 1 and -1 for the greatest and the least sum
            of absolute values of a column. Infinity and minus infinity for those of a row.
        axis: one axis for vectors, two for matrices (rows first); by default, all of ``x``'s.
        keepdims: whether these axes stay, with size one.

    Returns:
        Real numbers.

    Raises:
        ArgumentError: there is no such norm.
        ShapeError: there are other than one or two axes.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.norm(jnp.array([[1.0, 2.0], [2.0, 4.0]]))
        Array(5., dtype=float32)
        >>> jnp.linalg.norm(jnp.array([[1.0, 2.0], [2.0, 4.0]]), 1, axis=1)
        Array([3., 6.], dtype=float32)
    """
    a = pm.inexact(x, "norm")
    if axis is None:
        if ord is None:
            return _euclidean(a, None, keepdims)
        axes = tuple(range(a.ndim))
    else:
        indices = ints.one_or_more(axis, "axis")
        axes = tuple([ints.canonical_axis(i, a.ndim) for i in indices])  # rows first, in any order
    match axes:
        case (_,):
            return vector_norm(a, axis=axes, keepdims=keepdims, ord=ord)
        case (rows, columns) if rows != columns:
            return _matrix_norm(a, ord, rows, columns, keepdims)
        case _:
            raise ShapeError(
                "Improper number of axes for norm: it takes one for vectors or two for matrices, "
                f"but got {axes}, with ord="
                f"{ord!r}. Say which with axis."
            )


def _matrix_norm(a: Array, ord: Order, rows: int, columns: int, keepdims: bool) -> Array:
    if ord in (None, "fro", "f"):
        return _euclidean(a, (rows, columns), keepdims)
    if ord in (2, -2, "nuc"):
        s = svdvals(manipulation.moveaxis(a, (rows, columns), (-2, -1)))
        s = elementwise.pick(s == 0, 0, s)  # without a slope at 0, as other norms
        if ord == "nuc":
            result = reductions.sum(s, -1)
        else:
            result = reductions.max(s, -1, initial=0) if ord == 2 else reductions.min(s, -1)
        return manipulation.expand_dims(result, sorted((rows, columns))) if keepdims else result
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise ArgumentError(
            f"Invalid order {shortened(ord)} for matrix norm: it is 'fro', 'nuc', 1, -1, 2, -2, "
            "inf or -inf."
        )
    summed, others = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = reductions.sum(elementwise.abs(a), summed, keepdims=True)
    if ord > 0:
        result = reductions.max(sums, others, keepdims=True, initial=0)
    else:
        result = reductions.min(sums, others, keepdims=True)
    return result if keepdims else manipulation.squeeze(result, (rows, columns))


def cond(x: ArrayLike, p: Order = None) -> Array:
    """Return condition numbers: the norm of a matrix times that of its inverse.

    Args:
        x: matrices, shape ``(..., n, n)``; for the default norm, ``(..., m, n)``.
        p: which norm, as ``ord`` of ``norm``; by default 2, for the greatest singular value by the
            least.

    Returns:
        Real numbers; infinity for singular matrices.

    Raises:
        ShapeError: ``x`` does not hold matrices, or they are not square.
        ArgumentError: there is no such norm.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> jnp.linalg.cond(jnp.array([[2.0, 0.0], [0.0, 4.0]]))
        Array(2., dtype=float32)
    """
    if p in (None, 2, -2):
        s = svdvals(matrices("cond", x))
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    a = matrices("cond", x, square=True)
    result = norm(a, p, (-2, -1)) * norm(inv(a), p, (-2, -1))
    has_nan = reductions.any(elementwise.isnan(a), (-2, -1))
    return elementwise.pick(elementwise.isnan(result) & ~has_nan, math.inf, result)


replay.replay_functions(globals(), plain="matrices systems")
