"""Functions of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Literal, overload

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import custom_derivatives, dtypes
from tinyjax.core import api
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import shape as sh
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.tracing import primitive as prim, staging as stg, trace as tr
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.host import replay
from tinyjax.numpy import contraction, elementwise as uf, promotion as pm, reductions as red
from tinyjax.primitives import eigen, lu as lu_, matrices as ma, schur_forms, sylvester


def _matrices(name: str, x: ArrayLike) -> Array:
    a = pm.strong(pm.inexact(x, name))
    ma.check_matrices(name, a.aval, square=True)
    return a


#: The approximant's degree, and the 1-norm up to which it is exact to the last bit (Higham 2005).
_DEGREES: Final = {dtypes.float32: (7, 3.925724783138660), dtypes.float64: (13, 5.371920351148152)}


@lru_cache(maxsize=64)
def _by_scipy(dtype: dtypes.DType, max_squarings: int) -> prim.Kernel:
    """Make what exponentiates one matrix whose norm needs no more squarings."""
    from scipy import linalg  # noqa: PLC0415 (SciPy is slow to load)

    _, limit = _DEGREES[dtypes.real_part(dtype)]
    most = limit * 2.0 ** min(max_squarings, 1000)

    def exponential(a: dtypes.HostArray) -> dtypes.HostArray:
        if not np.abs(a).sum(-2).max() <= most:
            raise replay.NotHereError
        return np.asarray(linalg.expm(a), dtype)

    return exponential


@replay.replayed
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Return the exponentials of matrices.

    By scaling, Padé's approximants and squaring (Higham 2005).

    Args:
        A: shape ``(..., n, n)``.
        upper_triangular: not used: all matrices are treated alike.
        max_squarings: the norm may be up to about ``2 ** max_squarings`` times 5; results of
            greater ones are NaN.

    Returns:
        Matrices of the shape of ``A``.

    Raises:
        ShapeError: ``A`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.expm(jnp.zeros((2, 2)))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    a = _matrices("expm", A)
    if not a.size:
        return a
    if a.ndim == 2 and replay.is_evaluating():  # SciPy takes several one by one
        result = replay.by_host(_by_scipy(a.dtype, max_squarings), (a,), a.aval.strip_weak())
        if result is not None:
            return result
    powers, times = _scaled_powers(a, *_DEGREES[dtypes.real_part(a.dtype)])

    def square(powers: Array, i: ArrayLike) -> tuple[Array, None]:
        return _squared(powers, times, i), None

    if any(isinstance(trace, stg.StagingTrace) for trace in tr.enclosing_traces()):
        # one squaring is compiled, not all of them; evaluation need not be told how many to make
        replay.refuse_to_replay()
        powers, _ = scan(square, powers, jnp.arange(max_squarings, dtype=times.dtype))
    else:
        count = max_squarings
        if opd.is_constant(times):  # the others would leave all matrices as they are
            known = opd.raw_host(times)
            count = int(np.fmin(known, count).max())
            if count < max_squarings and known.size == 1 and known == count:
                for _ in range(count):
                    powers = contraction.matmul(powers, powers)
                return powers
        for i in range(count):
            powers, _ = square(powers, i)
    return uf.pick((times <= max_squarings)[..., None, None], powers, math.nan)


@replay.replayed
def _scaled_powers(a: Array, degree: int, limit: float) -> tuple[Array, Array]:
    """Exponentials of matrices over powers of two, and how often these are to be squared."""
    size = red.max(red.sum(uf.abs(stop_gradient(a)), -2), -1)
    times = uf.clip(uf.ceil(uf.log2(size / limit)), 0)
    return _rational(a * uf.exp2(-times)[..., None, None], degree), times


@replay.replayed
def _squared(powers: Array, times: Array, i: ArrayLike) -> Array:
    """Square those matrices that are to be squared more than ``i`` times."""
    mask = (i < times)[..., None, None]
    # where there is nothing left to square, ones are, which cannot overflow
    base = uf.pick(mask, powers, ma.identity_like(powers))
    return uf.pick(mask, contraction.matmul(base, base), powers)


def _rational(a: Array, degree: int) -> Array:
    """Padé's approximant of the exponential, with numerator and denominator of one degree."""
    square = contraction.matmul(a, a)
    term = ma.identity_like(a)
    even, odd = sh.zeros_like(a), sh.zeros_like(a)
    coefficient = 1.0
    for k in range(degree + 1):
        if k % 2:
            odd = odd + coefficient * term
            term = contraction.matmul(term, square) if k < degree else term
        else:
            even = even + coefficient * term
        coefficient *= (degree - k) / ((2 * degree - k) * (k + 1))
    odd = contraction.matmul(a, odd)
    return lu_.solve(even - odd, even + odd)


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: object = None, compute_expm: Literal[True] = True
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: object = None, compute_expm: Literal[False]
) -> Array: ...
@replay.replayed
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: object = None, compute_expm: bool = True
) -> Array | tuple[Array, Array]:
    """Return the exponentials of matrices, and their derivatives in a direction (Fréchet's).

    Args:
        A: shape ``(..., n, n)``.
        E: the direction, of the same shape.
        method: not used.
        compute_expm: whether to return the exponentials, too.

    Raises:
        ShapeError: the shapes differ, or are none of square matrices.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    a, e = pm.promote_inexact(_matrices("expm_frechet", A), _matrices("expm_frechet", E))
    if a.shape != e.shape:
        raise ShapeError(
            f"expm_frechet takes matrices of one shape, but got {a.shape} and {e.shape}."
        )
    value, change = api.jvp(expm, (a,), (e,))
    return (value, change) if compute_expm else change


@replay.replayed
def sqrtm(A: ArrayLike, blocksize: int = 1) -> Array:
    """Return the principal square roots of matrices.

    Args:
        A: shape ``(..., n, n)``.
        blocksize: must be 1.

    Returns:
        Complex matrices whose square is ``A``, and whose eigenvalues have no negative real part;
        NaN where there is none. The derivative solves Sylvester's equation; it is huge, infinite
        or NaN at singular matrices.

    Raises:
        ShapeError: ``A`` does not hold square matrices.
        ArgumentError: ``blocksize`` is another number.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real
        Array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    if blocksize != 1:
        raise ArgumentError(f"sqrtm takes 1 for blocksize, but got {shortened(blocksize)}.")
    return sylvester.sqrtm(_matrices("sqrtm", A))


@overload
def funm(A: ArrayLike, func: Callable[[Array], Any], disp: Literal[True] = True) -> Array: ...
@overload
def funm(
    A: ArrayLike, func: Callable[[Array], Any], disp: Literal[False]
) -> tuple[Array, Array]: ...
def funm(
    A: ArrayLike, func: Callable[[Array], Any], disp: bool = True
) -> Array | tuple[Array, Array]:
    """Return a function of a matrix, defined by one of numbers (Parlett 1976).

    Args:
        A: shape ``(n, n)``.
        func: takes and returns complex arrays, elementwise, and is analytic.
        disp: False for an estimate of the relative error besides.

    Returns:
        A complex matrix. It is accurate where eigenvalues are apart from each other, and so is the
        derivative, which needs eigenvectors that are a basis.

    Raises:
        ShapeError: ``A`` is not a square matrix.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.funm(jnp.array([[1.0, 3.0], [0.0, 2.0]]), lambda x: x * x).real
        Array([[1., 9.],
               [0., 4.]], dtype=float32)
    """
    a = _matrices("funm", A)
    if a.ndim != 2:
        raise ShapeError(f"funm takes one matrix, but got shape {a.shape}. Use vmap for several.")
    a = a.astype(dtypes.to_complex(a.dtype))
    eps = float(jnp.finfo(a.dtype).eps)

    def values(x: Array) -> Array:
        return jnp.asarray(func(x)).astype(a.dtype)

    @custom_derivatives.custom_jvp
    def function(x: Array) -> tuple[Array, Array]:
        form, vectors = eigen.schur(x)
        out, least = schur_forms.parlett(form, values(ma.diagonal_of(form)))
        size = red.max(red.sum(uf.abs(jnp.triu(form, 1)), -2), -1, initial=0)
        error = jnp.clip(eps / jnp.maximum(least, eps) * size, eps, 1)
        error = jnp.where(jnp.any(jnp.isinf(out)), math.inf, error)
        return vectors @ out @ ma.mH(vectors), error

    @function.defjvp
    def derivative(primals: tuple[Array], tangents: tuple[Array]) -> Any:
        """Divided differences in the basis of eigenvectors (Daleckii and Krein 1965)."""
        (x,), (tx,) = primals, tangents
        w, v = eigen.eig(x, left=False)
        f, slope = api.jvp(values, (w,), (jnp.ones_like(w),))
        gaps = w[None, :] - w[:, None]
        close = jnp.abs(gaps) <= math.sqrt(eps) * jnp.max(jnp.abs(w), initial=0)
        quotients = (f[None, :] - f[:, None]) / jnp.where(close, 1, gaps)
        quotients = jnp.where(close, (slope[None, :] + slope[:, None]) / 2, quotients)
        inner = quotients * lu_.solve(v, tx @ v)
        change = ma.mT(lu_.solve(ma.mT(v), ma.mT(v @ inner)))
        out, error = function(x)
        return (out, error), (change, sh.zeros_like(error))

    out, error = function(a)
    return out if disp else (out, error)
