"""Functions of matrices, systems of Sylvester, and matrices with a name."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Unpack, overload

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import custom_derivatives, dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives import householder, lu as lu_, matrices as ma, schur_forms, spectral
from tinyjax.core import api
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.primitives import identities, shape as sh
from tinyjax.core.stablehlo import types as hlo
from tinyjax.core.tracing import checking, primitive as prim, staging, trace as tr
from tinyjax.core.tracing.kernels import KernelError
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, DtypeError, ShapeError, shortened
from tinyjax.numpy import creation, elementwise, promotion as pm, reductions
from tinyjax.numpy.contraction import exact_matmul

if TYPE_CHECKING:
    from types import ModuleType


# Functions of matrices, forms that matrices are similar to, and systems of Sylvester's kind.


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
            raise KernelError
        return np.asarray(linalg.expm(a), dtype)

    return exponential


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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.expm(jnp.zeros((2, 2)))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    a = jnp.linalg.matrices("expm", A, square=True)
    if not a.size:
        return a
    if a.ndim == 2 and replay.is_evaluating():  # SciPy takes several one by one
        result = replay.by_host(_by_scipy(a.dtype, max_squarings), (a,), a.aval.strip_weak())
        if result is not None:
            return result
    powers, times = _scaled_powers(a, *_DEGREES[dtypes.real_part(a.dtype)])

    def square(powers: Array, i: ArrayLike) -> tuple[Array, None]:
        return _squared(powers, times, i), None

    if any(isinstance(trace, staging.StagingTrace) for trace in tr.enclosing_traces()):
        # one squaring is compiled, not all of them; evaluation need not be told how many to make
        replay.require_eager()
        powers, _ = scan(square, powers, jnp.arange(max_squarings, dtype=times.dtype))
    else:
        count = max_squarings
        if opd.is_constant(times):  # the others would leave all matrices as they are
            known = opd.raw_host(times)
            count = int(np.fmin(known, count).max())
            if count < max_squarings and known.size == 1 and known == count:
                for _ in range(count):
                    powers = exact_matmul(powers, powers)
                return powers
        for i in range(count):
            powers, _ = square(powers, i)
    return elementwise.pick((times <= max_squarings)[..., None, None], powers, math.nan)


@replay.replayed
def _scaled_powers(a: Array, degree: int, limit: float) -> tuple[Array, Array]:
    """Exponentials of matrices over powers of two, and how often these are to be squared."""
    size = reductions.max(reductions.sum(elementwise.abs(identities.stop_gradient(a)), -2), -1)
    times = elementwise.clip(elementwise.ceil(elementwise.log2(size / limit)), 0)
    return _rational(a * elementwise.exp2(-times)[..., None, None], degree), times


@replay.replayed
def _squared(powers: Array, times: Array, i: ArrayLike) -> Array:
    """Square those matrices that are to be squared more than ``i`` times."""
    mask = (i < times)[..., None, None]
    # where there is nothing left to square, ones are, which cannot overflow
    base = elementwise.pick(mask, powers, ma.identity_like(powers))
    return elementwise.pick(mask, exact_matmul(base, base), powers)


def _rational(a: Array, degree: int) -> Array:
    """Padé's approximant of the exponential, with numerator and denominator of one degree."""
    square = exact_matmul(a, a)
    term = ma.identity_like(a)
    even, odd = sh.zeros_like(a), sh.zeros_like(a)
    coefficient = 1.0
    for k in range(degree + 1):
        if k % 2:
            odd = odd + coefficient * term
            term = exact_matmul(term, square) if k < degree else term
        else:
            even = even + coefficient * term
        coefficient *= (degree - k) / ((2 * degree - k) * (k + 1))
    odd = exact_matmul(a, odd)
    return lu_.solve(even - odd, even + odd)


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: object = None, compute_expm: Literal[True] = True
) -> tuple[Array, Array]: ...
@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: object = None, compute_expm: Literal[False]
) -> Array: ...
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.expm_frechet(jnp.zeros((2, 2)), jnp.eye(2), compute_expm=False)
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    a, e = pm.promote_inexact(
        jnp.linalg.matrices("expm_frechet", A, square=True),
        jnp.linalg.matrices("expm_frechet", E, square=True),
    )
    if a.shape != e.shape:
        raise ShapeError.got("expm_frechet takes matrices of one shape", a, e)
    value, change = api.jvp(expm, (a,), (e,))
    return (value, change) if compute_expm else change


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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.sqrtm(jnp.array([[4.0, 0.0], [0.0, 9.0]])).real
        Array([[2., 0.],
               [0., 3.]], dtype=float32)
    """
    if blocksize != 1:
        raise ArgumentError(f"sqrtm takes 1 for blocksize, but got {shortened(blocksize)}.")
    return schur_forms.sqrtm(jnp.linalg.matrices("sqrtm", A, square=True))


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
        A complex matrix; NaN where eigenvalues are too near to each other to compute it, unless
        the eigenvectors are orthogonal. So is the derivative, which needs a basis of eigenvectors.

    Raises:
        ShapeError: ``A`` is not a square matrix.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.funm(jnp.array([[1.0, 3.0], [0.0, 2.0]]), lambda x: x * x).real
        Array([[1., 9.],
               [0., 4.]], dtype=float32)
    """
    a = jnp.linalg.matrices("funm", A, square=True)
    if a.ndim != 2:
        raise ShapeError(f"funm takes one matrix, but got shape {a.shape}. Use vmap for several.")
    a = a.astype(dtypes.to_complex(a.dtype))
    eps = float(jnp.finfo(a.dtype).eps)

    def values(x: Array) -> Array:
        return jnp.asarray(func(x)).astype(a.dtype)

    @custom_derivatives.custom_jvp
    def function(x: Array) -> tuple[Array, Array]:
        form, vectors = spectral.schur(x)
        out, least = schur_forms.parlett(form, values(ma.diagonal_of(form)))
        size = reductions.max(reductions.sum(elementwise.abs(jnp.triu(form, 1)), -2), -1, initial=0)
        # errors grow with each eigenvalue that is near, and rounding hides equal ones
        w = ma.diagonal_of(form)
        sizes = jnp.max(jnp.abs(w), initial=0)
        near = jnp.abs(w[:, None] - w) < sizes / 20
        power = jnp.maximum(jnp.max(jnp.sum(near, 0), initial=0) - 1, 1)
        error = jnp.clip(eps * (size / jnp.maximum(least, eps * size)) ** power, eps, 1)
        error = jnp.where(jnp.any(jnp.isinf(out)), math.inf, error)
        out = jnp.where(is_lost(error), math.nan, out)
        return exact_matmul(exact_matmul(vectors, out), ma.mH(vectors)), error

    def is_lost(error: Array) -> Array:
        return (error > 10 * math.sqrt(eps)) & jnp.isfinite(error)

    @function.defjvp
    def derivative(primals: tuple[Array], tangents: tuple[Array]) -> Any:
        """Divided differences in the basis of eigenvectors (Daleckii and Krein 1965)."""
        (x,), (tx,) = primals, tangents
        w, v = spectral.eig(x, left=False)
        f, slope = api.jvp(values, (w,), (jnp.ones_like(w),))
        gaps = w[None, :] - w[:, None]
        close = jnp.abs(gaps) <= math.sqrt(eps) * jnp.max(jnp.abs(w), initial=0)
        quotients = (f[None, :] - f[:, None]) / jnp.where(close, 1, gaps)
        quotients = jnp.where(close, (slope[None, :] + slope[:, None]) / 2, quotients)
        inner = quotients * lu_.solve(v, exact_matmul(tx, v))
        change = ma.mT(lu_.solve(ma.mT(v), ma.mT(exact_matmul(v, inner))))
        out, error = function(x)
        change = jnp.where(is_lost(error), math.nan, change)
        return (out, error), (change, sh.zeros_like(error))

    out, error = function(a)
    return out if disp else (out, error)


def logm(A: ArrayLike) -> Array:
    """Return the principal logarithms of matrices, by square roots (Kenney and Laub 1989).

    Args:
        A: shape ``(..., n, n)``.

    Returns:
        Matrices of the shape of ``A``, complex only if ``A`` is; NaN where there is none: for
        singular matrices, and for real ones with negative eigenvalues, which are to be complex.

    Raises:
        ShapeError: ``A`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.logm(jnp.diag(jnp.exp(jnp.array([1.0, 2.0])))).round(3)
        Array([[1., 0.],
               [0., 2.]], dtype=float32)
    """
    x = jnp.linalg.matrices("logm", A, square=True)
    if not x.size:
        return x
    root, identity = x.astype(dtypes.to_complex(x.dtype)), ma.identities(x.shape, x.dtype)
    count = jnp.zeros(x.shape[:-2], dtypes.real_part(x.dtype))

    def is_far(root: Array) -> Array:
        rest = elementwise.abs(identities.stop_gradient(root - identity))
        return reductions.max(reductions.sum(rest, -2), -1) > 0.25

    def step(state: tuple[Array, Array], _: object) -> tuple[tuple[Array, Array], None]:
        root, count = state
        far = is_far(root)
        root = elementwise.pick(far[..., None, None], schur_forms.sqrtm(root), root)
        return (root, count + far), None

    state = root, count
    if opd.is_constant(is_far(root)):  # the others stay as they are
        replay.require_eager()
        for _ in range(_MOST_ROOTS):
            far = is_far(state[0])
            if opd.is_constant(far) and not opd.raw_host(far).any():
                break
            state, _ = step(state, None)
    else:
        state, _ = scan(step, state, None, length=_MOST_ROOTS)
    root, count = state
    rest, total = root - identity, sh.zeros_like(root)
    # Gauss's formula for the integral of rest / (1 + t rest), which is Padé's approximant
    for node, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
        system = identity + (1 + float(node)) / 2 * rest
        total = total + float(weight) / 2 * lu_.solve(system, rest)
    lost, value = is_far(root), total * elementwise.exp2(count)[..., None, None]
    if not dtypes.is_complex(x.dtype):
        # eigenvalues on the negative axis have imaginary logarithms
        sizes = elementwise.abs(identities.stop_gradient(value.imag))
        lost, value = lost | (reductions.max(sizes, (-2, -1)) > 1), value.real
    return value * elementwise.pick(lost, math.nan, 1.0)[..., None, None].astype(value.dtype)


#: So many square roots bring all matrices near the identity whose logarithms have digits.
_MOST_ROOTS: Final = 30


# Forms


def schur(a: ArrayLike, output: Literal["real", "complex"] = "real") -> tuple[Array, Array]:
    """Return ``T``, upper triangular, and unitary ``Z`` with ``Z T Z^H = a``.

    Args:
        a: shape ``(..., n, n)``.
        output: ``"real"`` for real matrices of real ones, where ``T`` has a block of two by two
            for each pair of conjugate eigenvalues; ``"complex"`` for complex ones in any case.

    Returns:
        ``T`` and ``Z``. They have no derivative: that of eigenvalues is that of ``eigvals``.

    Raises:
        ShapeError: ``a`` does not hold square matrices.
        ArgumentError: ``output`` is something else.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
        Array([[1., 2.],
               [0., 3.]], dtype=float32)
    """
    pm.check_option("schur", "output", output, ("real", "complex"))
    x = jnp.linalg.matrices("schur", a, square=True)
    return spectral.schur(x if output == "real" else x.astype(dtypes.to_complex(x.dtype)))


def rsf2csf(T: ArrayLike, Z: ArrayLike, check_finite: bool = True) -> tuple[Array, Array]:
    """Return the complex Schur form, upper triangular, given the real one.

    Args:
        T: the real form, shape ``(..., n, n)``, as ``schur`` returns it.
        Z: its vectors, of the same shape.
        check_finite: not used.

    Returns:
        The complex form and its vectors.

    Raises:
        ShapeError: the shapes differ, or are none of square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> form, vectors = linalg.rsf2csf(*linalg.schur(jnp.array([[0.0, 1.0], [-1.0, 0.0]])))
        >>> bool(jnp.abs(form[1, 0]) < 1e-6)
        True
    """
    form, vectors = pm.promote_inexact(pm.array_of("rsf2csf", T), pm.array_of("rsf2csf", Z))
    for x in (form, vectors):
        ma.check_matrices("rsf2csf", x.aval, square=True)
    if form.shape[-1] != vectors.shape[-1]:
        raise ShapeError.got("rsf2csf takes matrices of one size", form, vectors)
    dtype = dtypes.to_complex(form.dtype)
    batch = pm.broadcast_shapes(form.shape[:-2], vectors.shape[:-2])
    shape = (*batch, *form.shape[-2:])
    form, vectors = (jnp.broadcast_to(x, shape).astype(dtype) for x in (form, vectors))
    return schur_forms.rsf2csf(form, vectors)


@overload
def hessenberg(
    a: ArrayLike,
    *,
    calc_q: Literal[False] = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> Array: ...
@overload
def hessenberg(
    a: ArrayLike, *, calc_q: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...
def hessenberg(
    a: ArrayLike, *, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array | tuple[Array, Array]:
    """Return ``H``, zero below the first subdiagonal, with ``Q H Q^H = a`` for a unitary ``Q``.

    Args:
        a: shape ``(..., n, n)``.
        calc_q: whether to return ``Q``, too.
        overwrite_a: not used.
        check_finite: not used.

    Returns:
        ``H``, or ``(H, Q)``. They have no derivative.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a = jnp.arange(9.0).reshape(3, 3)
        >>> h, q = linalg.hessenberg(a, calc_q=True)
        >>> bool(jnp.allclose(q @ h @ q.T, a, atol=1e-4))
        True
    """
    x = jnp.linalg.matrices("hessenberg", a, square=True)
    packed, taus = householder.hessenberg(x)
    form = jnp.triu(packed, -1)
    if not calc_q:
        return form
    if x.shape[-1] < 2:
        return form, ma.identities(x.shape, x.dtype)
    inner = householder.householder_product(packed[..., 1:, :-1], taus)
    q = jnp.pad(inner, [(0, 0)] * (x.ndim - 2) + [(1, 0), (1, 0)])
    return form, q.at[..., 0, 0].set(1)


# Polar factors


def polar(
    a: ArrayLike,
    side: Literal["right", "left"] = "right",
    *,
    method: Literal["qdwh", "svd"] = "qdwh",
    eps: float | None = None,
    max_iterations: int | None = None,
) -> tuple[Array, Array]:
    """Return ``U`` with orthonormal columns or rows and ``P``, Hermitian, with ``U P = a``.

    Args:
        a: shape ``(..., m, n)``.
        side: ``"left"`` for ``P U = a`` in place of ``U P = a``.
        method: not used: it is by singular values.
        eps: not used.
        max_iterations: not used.

    Returns:
        ``U``, of the shape of ``a``, and ``P``, positive semidefinite, shape ``(..., n, n)``, or on
        the left ``(..., m, m)``. Derivatives exist, and of any order, where ``a`` has full rank;
        elsewhere they are huge, infinite or NaN.

    Raises:
        ShapeError: ``a`` does not hold matrices.
        ArgumentError: there is no such side or method.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))[1]
        Array([[3., 0.],
               [0., 2.]], dtype=float32)
    """
    pm.check_option("polar", "side", side, ("right", "left"))
    pm.check_option("polar", "method", method, ("qdwh", "svd"))
    x = jnp.linalg.matrices("polar", a)
    if x.shape[-2] >= x.shape[-1]:
        u, p = _polar(x)
        return u, p if side == "right" else exact_matmul(exact_matmul(u, p), ma.mH(u))
    u, p = _polar(ma.mH(x))
    uh = ma.mH(u)
    return uh, p if side == "left" else exact_matmul(exact_matmul(u, p), uh)


@custom_derivatives.custom_jvp
def _polar(a: Array) -> tuple[Array, Array]:
    u, s, vh = spectral.svd(a, full_matrices=False)
    v = ma.mH(vh)
    return exact_matmul(u, vh), exact_matmul(v * s[..., None, :], vh)


@_polar.defjvp
def _polar_jvp(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """``W = U^H U'`` is skew-Hermitian, and ``U^H A' - A'^H U = W P + P W``."""
    (a,), (ta,) = primals, tangents
    u, p = _polar(a)
    inner = exact_matmul(ma.mH(u), ta)
    turn = schur_forms.solve_sylvester(p, p, inner - ma.mH(inner))
    tu = exact_matmul(u, turn)
    if a.shape[-2] > a.shape[-1]:
        beyond = ma.mH(ta - exact_matmul(u, inner))
        tu = tu + ma.mH(lu_.solve(p, beyond))
    return (u, p), (tu, inner - exact_matmul(turn, p))


def null_space(A: ArrayLike, rcond: float | None = None, *, rank: int | None = None) -> Array:
    """Return an orthonormal basis, in columns, of the vectors that a matrix maps to zero.

    The derivative is right of what does not depend on the basis, as ``N @ N.T``, while the rank
    stays. It counts the singular values above ``rcond`` times the greatest; of a traced matrix it
    is ``rank``, by default the lesser side.

    Raises:
        ShapeError: ``A`` is not a matrix.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> abs(linalg.null_space(jnp.array([[1.0, 0.0]])))
        Array([[0.],
               [1.]], dtype=float32)
    """
    a = jnp.linalg.matrices("null_space", A)
    if a.ndim != 2:
        raise ShapeError(f"null_space takes one matrix, but got {a.shape}. Use vmap for several.")
    _, s, vh = jnp.linalg.svd(identities.stop_gradient(a))
    if rank is None and opd.is_constant(s):
        least = float(jnp.finfo(a.dtype).eps) * max(a.shape) if rcond is None else rcond
        sizes = opd.raw_host(s)
        rank = int((sizes > least * sizes.max(initial=0)).sum())
    basis = ma.mH(vh)[:, s.size if rank is None else rank :]
    return polar(basis - exact_matmul(jnp.linalg.pinv(a), exact_matmul(a, basis)))[0]


# Systems


def solve_sylvester(
    A: ArrayLike, B: ArrayLike, C: ArrayLike, *, method: str = "schur", tol: float = 1e-8
) -> Array:
    """Solve ``A X + X B = C``, by Schur forms (R. Bartels and G. Stewart, 1972).

    Args:
        A: shape ``(..., m, m)``.
        B: shape ``(..., n, n)``.
        C: shape ``(..., m, n)``; the axes in front broadcast.
        method: ``"schur"`` or ``"eigen"``; both solve by Schur forms, which are as fast.
        tol: how near to zero the sum of an eigenvalue of ``A`` and one of ``B`` may be.

    Returns:
        ``X``, of the shape of ``C``; NaN where such a sum is nearer to zero.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: ``method`` is something else.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.array([[2.0, 4.0], [6.0, 8.0]]))
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    pm.check_option("solve_sylvester", "method", method, ("schur", "eigen"))
    operands = [
        pm.strong(x)
        for x in pm.promote_inexact(*(pm.array_of("solve_sylvester", x) for x in (A, B, C)))
    ]
    for x in operands:
        ma.check_matrices("solve_sylvester", x.aval)
    batch = pm.broadcast_shapes(*(x.shape[:-2] for x in operands))
    a, b, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in operands)
    solution = schur_forms.solve_sylvester(a, b, c)
    of_a, of_b = (jnp.linalg.eigvals(identities.stop_gradient(x)) for x in operands[:2])
    sums = of_a[..., :, None] + of_b[..., None, :]
    unsolvable = jnp.any(jnp.abs(sums) < tol, axis=(-2, -1), keepdims=True)
    return jnp.where(unsolvable, jnp.nan, solution)


def solve_continuous_lyapunov(a: ArrayLike, q: ArrayLike) -> Array:
    """Solve ``A X + X A^H = Q``, by ``solve_sylvester``, whose errors these are.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.solve_continuous_lyapunov(jnp.eye(2), 2 * jnp.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    return solve_sylvester(a, ma.mH(jnp.asarray(a)), q)


def solve_banded(l_and_u: tuple[int, int], ab: ArrayLike, b: ArrayLike) -> Array:
    """Solve a system whose matrix is zero but for some diagonals, as a dense one.

    Args:
        l_and_u: how many diagonals are below, and above, the main one.
        ab: the diagonals, from the highest on, in rows: element ``(i, j)`` of the matrix is
            ``ab[u + i - j, j]``.
        b: the right side, of shape ``(n,)`` or ``(n, k)``.

    Raises:
        ShapeError: ``ab`` has not as many rows as diagonals.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.solve_banded((0, 1), jnp.array([[0.0, 1.0], [2.0, 2.0]]), jnp.array([4.0, 4.0]))
        Array([1., 2.], dtype=float32)
    """
    (low, high), rows = l_and_u, pm.floats("solve_banded", ab)[0]
    if rows.ndim != 2 or len(rows) != low + high + 1:
        raise ShapeError.got(f"solve_banded takes ab of shape ({low + high + 1}, n)", rows)
    i, j = np.indices((rows.shape[1],) * 2)
    inside = (i - j <= low) & (j - i <= high)
    return jnp.linalg.solve(jnp.where(inside, rows[np.where(inside, high + i - j, 0), j], 0), b)


class EighTridiagonalOptions(TypedDict, total=False):
    """Options of ``eigh_tridiagonal``."""

    select: Literal["a", "i"]
    select_range: tuple[int, int] | None
    tol: float | None
    key: Any


@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[False] = False,
    **options: Unpack[EighTridiagonalOptions],
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[True],
    **options: Unpack[EighTridiagonalOptions],
) -> Array: ...
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: bool = False,
    select: Literal["a", "i"] = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> Array | tuple[Array, Array]:
    """Return the eigenvalues and eigenvectors of Hermitian tridiagonal matrices.

    The full matrix is made, and ``eigh`` applied to it: it needs memory for ``n^2`` numbers.

    Args:
        d: the diagonals, shape ``(..., n)``, of which the real part counts.
        e: those above, shape ``(..., n - 1)``.
        eigvals_only: whether to return the eigenvalues alone.
        select: ``"a"`` for all, ``"i"`` for those between two indices.
        select_range: the indices of the first and of the last one, with ``"i"``.
        tol: not used.
        key: not used.

    Returns:
        The eigenvalues, real and ascending, and matrices whose columns are the vectors.
        Derivatives where eigenvalues are equal are those of ``tinyjax.numpy.linalg.eigh``.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such selection, or ``"i"`` without a range.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> diagonal, above = jnp.array([2.0, 2.0]), jnp.array([1.0])
        >>> jnp.round(linalg.eigh_tridiagonal(diagonal, above, eigvals_only=True), 3)
        Array([1., 3.], dtype=float32)
    """
    x, y = (pm.strong(z) for z in pm.promote_inexact(pm.array_of("d", d), pm.array_of("e", e)))
    if not x.ndim or not y.ndim or max(x.shape[-1] - 1, 0) != y.shape[-1]:
        raise ShapeError.got(
            "eigh_tridiagonal takes a diagonal of n numbers and one above of n - 1", x, y
        )
    pm.check_option("eigh_tridiagonal", "select", select, ("a", "i"))
    if select == "i" and select_range is None:
        raise ArgumentError("eigh_tridiagonal with select='i' needs a select_range.")
    n = x.shape[-1]
    lower = jnp.pad(jnp.conj(y), [(0, 0)] * (y.ndim - 1) + [(0, 1)])
    eye = jnp.eye(n, dtype=x.dtype)
    below = jnp.eye(n, k=1, dtype=x.dtype)
    matrix = x[..., None] * eye + ma.mT(lower[..., None] * below)
    vectors, values = spectral.eigh(matrix, symmetrize_input=False)
    if select == "i" and select_range is not None:
        chosen = slice(
            ints.integer(select_range[0], "select_range"),
            ints.integer(select_range[1], "select_range") + 1,
        )
        vectors, values = vectors[..., chosen], values[..., chosen]
    return values if eigvals_only else (values, vectors)


replay.replay_functions(globals(), plain="funm")


# Matrices with a name.


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
    creation.canonical_shape((size, size), "n")
    return size


def _vector(name: str, x: ArrayLike, least: int = 0) -> Array:
    """Prepare vectors; a number is a vector of one."""
    a = pm.array_of(name, x)
    a = a.reshape(1) if not a.ndim else a
    if a.shape[-1] < least:
        raise ShapeError.got(f"{name} takes vectors of at least {least} numbers", a)
    return a


# Given by a size


def hadamard(n: int, dtype: dtypes.DTypeLike = int) -> Array:
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
    hlo.check_size((size, size))
    return jnp.asarray(_theirs().hadamard(size), dtype)


@checking.explained
def helmert(n: int, full: bool = False) -> Array:
    """Return Helmert's orthogonal matrix, the first row of which is constant.

    Args:
        n: how many columns.
        full: whether to return that first row, too.

    Raises:
        ArgumentError: ``n`` is not positive.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> x = linalg.helmert(3)
        >>> x.shape, jnp.allclose(x @ x.T, jnp.eye(2), atol=1e-6)
        ((2, 3), Array(True, dtype=bool))
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

    They grow quickly, beyond what float32 holds exactly: Hilbert's matrix (``hilbert``) is the
    classic example of one that can hardly be inverted by rounded numbers.

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

    The kinds are "symmetric", which is the default, "lower" and "upper". The elements are
    floats.

    Raises:
        ArgumentError: there is no such kind.

    Example:
        >>> from tinyjax.scipy import linalg
        >>> linalg.invpascal(2)
        Array([[ 2., -1.],
               [-1.,  1.]], dtype=float32)
    """
    return _floats(_theirs().invpascal(_size(n), _kind("invpascal", kind), exact=False))


def dft(
    n: int, scale: Literal["sqrtn", "n"] | None = None, *, dtype: dtypes.DTypeLike | None = None
) -> Array:
    """Return the matrix of the discrete Fourier transform.

    Args:
        n: how many rows.
        scale: ``"sqrtn"`` for the unitary matrix, ``"n"`` to divide by ``n``.
        dtype: complex; by default the default complex type.

    Raises:
        ArgumentError: there is no such scale.
        DtypeError: ``dtype`` is not complex.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> x = jnp.array([1.0, 2.0, 4.0])
        >>> jnp.allclose(linalg.dft(3) @ x, jnp.fft.fft(x), atol=1e-5)
        Array(True, dtype=bool)
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


def _indices(rows: int, columns: int) -> tuple[dtypes.HostArray, dtypes.HostArray]:
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.leslie(jnp.array([0.5, 2.0]), jnp.array([0.25]))
        Array([[0.5 , 2.  ],
               [0.25, 0.  ]], dtype=float32)
    """
    first, shares = pm.promote_dtypes(_vector("leslie", f, 2), _vector("leslie", s))
    n = first.shape[-1]
    if shares.shape[-1] != n - 1:
        raise ShapeError.got("leslie takes one share less than numbers of offspring", first, shares)
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

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.fiedler(jnp.array([1.0, 4.0, 6.0]))
        Array([[0., 3., 5.],
               [3., 0., 2.],
               [5., 2., 0.]], dtype=float32)
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

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> x = linalg.fiedler_companion(jnp.array([1.0, -6.0, 11.0, -6.0]))
        >>> jnp.round(jnp.sort(jnp.linalg.eigvals(x).real), 2)
        Array([1., 2., 3.], dtype=float32)
    """
    x = pm.strong(_vector("fiedler_companion", pm.inexact(a, "fiedler_companion"), 1))
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
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.convolution_matrix(jnp.array([1, 2]), 2)
        Array([[1, 0],
               [2, 1],
               [0, 2]], dtype=int32)
    """
    size = _positive("convolution_matrix", n)
    x = pm.array_of("convolution_matrix", a)
    if not x.ndim or not x.shape[-1]:
        raise ShapeError.got("convolution_matrix takes vectors", x)
    pm.check_option("convolution_matrix", "mode", mode, ("full", "same", "valid"))
    m = x.shape[-1]
    shorter = min(size, m) - 1
    before = {"full": 0, "same": shorter // 2, "valid": shorter}[mode]
    after = {"full": 0, "same": shorter - shorter // 2, "valid": shorter}[mode]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(size - 1, size - 1)])
    i, j = _indices(m + size - 1 - before - after, size)
    return padded[..., size - 1 + before + i - j]
