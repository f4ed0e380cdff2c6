"""Forms that matrices are similar to, polar factors, and systems of Sylvester's kind."""

from __future__ import annotations

from typing import Any, Literal, overload

import tinyjax.numpy as jnp
from tinyjax import custom_derivatives, dtypes
from tinyjax.core.primitives.identities import stop_gradient
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.core.values.integers import integer
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.host import replay
from tinyjax.numpy.promotion import (
    array_of,
    broadcast_shapes,
    check_option,
    inexact,
    promote_inexact,
    strong,
)
from tinyjax.primitives import (
    eigen,
    householder,
    lu as lu_,
    matrices as ma,
    schur_forms,
    spectral,
    sylvester,
)


def _matrices(name: str, x: ArrayLike, *, square: bool = False) -> Array:
    a = strong(inexact(x, name))
    ma.check_matrices(name, a.aval, square=square)
    return a


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
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.schur(jnp.array([[1.0, 2.0], [0.0, 3.0]]))[0]
        Array([[1., 2.],
               [0., 3.]], dtype=float32)
    """
    check_option("schur", "output", output, ("real", "complex"))
    x = _matrices("schur", a, square=True)
    return eigen.schur(x if output == "real" else x.astype(dtypes.to_complex(x.dtype)))


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
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> form, vectors = linalg.rsf2csf(*linalg.schur(jnp.array([[0.0, 1.0], [-1.0, 0.0]])))
        >>> bool(jnp.abs(form[1, 0]) < 1e-6)
        True
    """
    form, vectors = promote_inexact(array_of("rsf2csf", T), array_of("rsf2csf", Z))
    for x in (form, vectors):
        ma.check_matrices("rsf2csf", x.aval, square=True)
    if form.shape[-1] != vectors.shape[-1]:
        raise ShapeError(
            f"rsf2csf takes matrices of one size, but got shapes {form.shape} and {vectors.shape}."
        )
    dtype = dtypes.to_complex(form.dtype)
    batch = broadcast_shapes(form.shape[:-2], vectors.shape[:-2])
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
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> a = jnp.arange(9.0).reshape(3, 3)
        >>> h, q = linalg.hessenberg(a, calc_q=True)
        >>> bool(jnp.allclose(q @ h @ q.T, a, atol=1e-4))
        True
    """
    x = _matrices("hessenberg", a, square=True)
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
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.polar(jnp.array([[0.0, -2.0], [3.0, 0.0]]))[1]
        Array([[3., 0.],
               [0., 2.]], dtype=float32)
    """
    check_option("polar", "side", side, ("right", "left"))
    check_option("polar", "method", method, ("qdwh", "svd"))
    x = _matrices("polar", a)
    if x.shape[-2] >= x.shape[-1]:
        u, p = _polar(x)
        return (u, p) if side == "right" else (u, u @ p @ ma.mH(u))
    u, p = _polar(ma.mH(x))
    uh = ma.mH(u)
    return (uh, p) if side == "left" else (uh, u @ p @ uh)


@custom_derivatives.custom_jvp
def _polar(a: Array) -> tuple[Array, Array]:
    u, s, vh = spectral.svd(a, full_matrices=False)
    v = ma.mH(vh)
    return u @ vh, (v * s[..., None, :]) @ vh


@_polar.defjvp
def _polar_jvp(
    primals: tuple[Array], tangents: tuple[Array]
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """``W = U^H U'`` is skew-Hermitian, and ``U^H A' - A'^H U = W P + P W``."""
    (a,), (ta,) = primals, tangents
    u, p = _polar(a)
    inner = ma.mH(u) @ ta
    turn = sylvester.solve_sylvester(p, p, inner - ma.mH(inner))
    tu = u @ turn
    if a.shape[-2] > a.shape[-1]:
        beyond = ma.mH(ta - u @ inner)
        tu = tu + ma.mH(lu_.solve(p, beyond))
    return (u, p), (tu, inner - turn @ p)


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
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.scipy import linalg
        >>> linalg.solve_sylvester(jnp.eye(2), jnp.eye(2), jnp.array([[2.0, 4.0], [6.0, 8.0]]))
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    check_option("solve_sylvester", "method", method, ("schur", "eigen"))
    operands = [
        strong(x) for x in promote_inexact(*(array_of("solve_sylvester", x) for x in (A, B, C)))
    ]
    for x in operands:
        ma.check_matrices("solve_sylvester", x.aval)
    batch = broadcast_shapes(*(x.shape[:-2] for x in operands))
    a, b, c = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in operands)
    solution = sylvester.solve_sylvester(a, b, c)
    of_a, of_b = (jnp.linalg.eigvals(stop_gradient(x)) for x in operands[:2])
    sums = of_a[..., :, None] + of_b[..., None, :]
    unsolvable = jnp.any(jnp.abs(sums) < tol, axis=(-2, -1), keepdims=True)
    return jnp.where(unsolvable, jnp.nan, solution)


@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[False] = False,
    select: Literal["a", "i"] = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: Any = None,
) -> tuple[Array, Array]: ...
@overload
def eigh_tridiagonal(
    d: ArrayLike,
    e: ArrayLike,
    *,
    eigvals_only: Literal[True],
    select: Literal["a", "i"] = "a",
    select_range: tuple[int, int] | None = None,
    tol: float | None = None,
    key: Any = None,
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

    The matrix is written out, and ``eigh`` applied to it: the costs are those of ``n^2`` numbers.

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
        Derivatives of vectors need distinct eigenvalues.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such selection, or ``"i"`` without a range.
    """
    x, y = (strong(z) for z in promote_inexact(array_of("d", d), array_of("e", e)))
    if not x.ndim or not y.ndim or max(x.shape[-1] - 1, 0) != y.shape[-1]:
        raise ShapeError(
            "eigh_tridiagonal takes a diagonal of n numbers and one above of n - 1, but got shapes "
            f"{x.shape} and {y.shape}."
        )
    check_option("eigh_tridiagonal", "select", select, ("a", "i"))
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
            integer(select_range[0], "select_range"), integer(select_range[1], "select_range") + 1
        )
        vectors, values = vectors[..., chosen], values[..., chosen]
    return values if eigvals_only else (values, vectors)


replay.replay_functions(globals())
