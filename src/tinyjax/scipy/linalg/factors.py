"""Factors that are used several times, and matrices put together."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, Final, Literal, overload

import numpy as np

from tinyjax import dtypes
from tinyjax._extensions.host import replay
from tinyjax._primitives import lu as lu_, matrices as ma, qr as qr_, spectral, triangular
from tinyjax.core.tracing import primitive as prim
from tinyjax.core.values import Array, ArrayLike, avals as av, integers as ints
from tinyjax.errors import ArgumentError, ShapeError, described
from tinyjax.numpy import creation, linalg as numpy_linalg, promotion as pm
from tinyjax.numpy.contraction import exact_matmul
from tinyjax.numpy.editing import pad
from tinyjax.numpy.manipulation import concatenate


def _pair(name: str, pair: Any, factor: str) -> tuple[Any, Any]:
    """What a factorisation returns, as a user hands it on."""
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise ArgumentError(
            f"{name} takes the pair that {factor} returns, but got {described(pair)}."
        )
    return pair[0], pair[1]


def _systems(name: str, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array, bool]:
    """Matrices and right-hand sides that fit, and whether these were vectors.

    One for each matrix is one, too, if its length is that of the matrices.
    """
    x, y = pm.array_of(name, a), pm.array_of(name, b)
    vector = y.ndim == 1 or (y.ndim == x.ndim - 1 > 0 and y.shape[-1] == x.shape[-1])
    return *numpy_linalg.systems(name, x, y, vector=vector), vector


def _plain(x: Array, vector: bool) -> Array:
    return x[..., 0] if vector else x


# Cholesky factors


def cholesky(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Array:
    """Return the upper triangular ``R`` with a positive diagonal and ``R^H R = a``.

    Args:
        a: Hermitian positive definite matrices, shape ``(..., n, n)``, of which the upper triangle
            is looked at, and has the whole derivative.
        lower: whether to return the lower triangular ``L`` with ``L L^H = a`` in its place, from
            the lower triangle.
        overwrite_a: not used.
        check_finite: not used.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.cholesky(jnp.array([[4.0, 2.0], [2.0, 5.0]]))
        Array([[2., 1.],
               [0., 2.]], dtype=float32)
    """
    x = numpy_linalg.matrices("cholesky", a, square=True)
    if lower:
        return triangular.cholesky(x, symmetrize_input=False)
    return ma.mH(triangular.cholesky(ma.mH(x), symmetrize_input=False))


def cho_factor(
    a: ArrayLike, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, bool]:
    """Return what ``cholesky`` does, and ``lower``: together what ``cho_solve`` takes.

    The other triangle is zero, and the second result is for ``cho_solve`` alone.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> factor = linalg.cho_factor(jnp.array([[4.0, 2.0], [2.0, 2.0]]))
        >>> factor
        (Array([[2., 1.],
               [0., 1.]], dtype=float32), False)
        >>> linalg.cho_solve(factor, jnp.array([8.0, 6.0]))
        Array([1., 2.], dtype=float32)
    """
    return cholesky(a, lower), lower


def cho_solve(
    c_and_lower: tuple[ArrayLike, bool],
    b: ArrayLike,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b``, given what ``cho_factor`` returns for ``a``.

    Args:
        c_and_lower: the factor, and whether it is the lower one.
        b: shape ``(..., n, m)``; or with one axis less than the factor, for vectors.
        overwrite_b: not used.
        check_finite: not used.

    Returns:
        ``x``, of the shape of ``b``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a = jnp.array([[4.0, 0.0], [0.0, 1.0]])
        >>> linalg.cho_solve(linalg.cho_factor(a), jnp.array([2.0, 3.0]))
        Array([0.5, 3. ], dtype=float32)
    """
    factor, lower = _pair("cho_solve", c_and_lower, "cho_factor")
    c, right, vector = _systems("cho_solve", factor, b)
    for conjugated in (not lower, lower):
        right = triangular.triangular_solve(
            c, right, left_side=True, lower=lower, transpose_a=conjugated, conjugate_a=conjugated
        )
    return _plain(right, vector)


# LU factors


def lu_factor(
    a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]:
    """Return the factors and pivots that ``lu_solve`` takes.

    Args:
        a: matrices, shape ``(..., m, n)``.
        overwrite_a: not used.
        check_finite: not used.

    Returns:
        ``U``, with ``L`` but for its diagonal of ones below it; and for each elimination the row
        that was exchanged with its own, int32.

    Raises:
        ShapeError: ``a`` does not hold matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> factors = linalg.lu_factor(jnp.array([[0.0, 2.0], [4.0, 0.0]]))
        >>> factors
        (Array([[4., 0.],
               [0., 2.]], dtype=float32), Array([1, 1], dtype=int32))
        >>> linalg.lu_solve(factors, jnp.array([2.0, 8.0]))
        Array([2., 1.], dtype=float32)
    """
    factors, pivots, _ = lu_.lu(numpy_linalg.matrices("lu_factor", a))
    return factors, pivots


def lu_solve(
    lu_and_piv: tuple[ArrayLike, ArrayLike],
    b: ArrayLike,
    trans: int = 0,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b``, given what ``lu_factor`` returns for ``a``.

    Args:
        lu_and_piv: the factors and the pivots.
        b: shape ``(..., n, m)``; or with one axis less than the factors, for vectors.
        trans: 1 for the transpose of ``a``, 2 for the conjugate transpose.
        overwrite_b: not used.
        check_finite: not used.

    Returns:
        ``x``, of the shape of ``b``; infinite or NaN where ``a`` is singular.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: ``trans`` is another number.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> factors = linalg.lu_factor(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
        >>> linalg.lu_solve(factors, jnp.array([3.0, 4.0]))
        Array([2., 3.], dtype=float32)
    """
    pm.check_option("lu_solve", "trans", trans, (0, 1, 2))
    packed, pivots = _pair("lu_solve", lu_and_piv, "lu_factor")
    factors, right, vector = _systems("lu_solve", packed, b)
    order = lu_.pivots_to_permutation(
        pm.array_of("lu_solve", pivots).astype(dtypes.int32), factors.shape[-1]
    )
    order = pm.broadcast_to_shape(order, factors.shape[:-1])
    return _plain(lu_.solve_factored(factors, order, right, trans > 0, trans == 2), vector)


@overload
def lu(
    a: ArrayLike,
    permute_l: Literal[False] = False,
    overwrite_a: bool = False,
    check_finite: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def lu(
    a: ArrayLike, permute_l: Literal[True], overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array]: ...
def lu(
    a: ArrayLike, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Array, Array, Array] | tuple[Array, Array]:
    """Return the factors of ``P L U = a``, from Gaussian elimination with partial pivoting.

    Args:
        a: matrices, shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.
        permute_l: whether to return ``P L`` and ``U`` in place of all three.
        overwrite_a: not used.
        check_finite: not used.

    Returns:
        The permutation ``P``, real, shape ``(..., m, m)``; ``L``, ``(..., m, k)``, with ones on the
        diagonal; and ``U``, ``(..., k, n)``.

    Raises:
        ShapeError: ``a`` does not hold matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> p, l, u = linalg.lu(jnp.array([[1.0, 2.0], [4.0, 4.0]]))
        >>> p @ l @ u
        Array([[1., 2.],
               [4., 4.]], dtype=float32)
    """
    x = numpy_linalg.matrices("lu", a)
    factors, _, order = lu_.lu(x)
    m, n = x.shape[-2:]
    k = min(m, n)
    tall = factors[..., :k]
    lower = ma.lower_part(tall, strict=True) + ma.identity_like(tall)
    upper = ma.upper_part(factors[..., :k, :])
    # row i of P is the unit vector of the place where row i of the matrix went
    places = creation.arange(m, dtype=order.dtype)
    permutation = (places[:, None] == order[..., None, :]).astype(dtypes.real_part(x.dtype))
    return (exact_matmul(permutation, lower), upper) if permute_l else (permutation, lower, upper)


# Systems of equations


def solve_triangular(
    a: ArrayLike,
    b: ArrayLike,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    debug: object = None,
    check_finite: bool = True,
) -> Array:
    """Solve ``a x = b`` for triangular matrices.

    Args:
        a: shape ``(..., n, n)``; the other half is not looked at.
        b: shape ``(..., n, m)``; or with one axis less than ``a``, for vectors.
        trans: 0 or ``"N"``; 1 or ``"T"`` for the transpose of ``a``, 2 or ``"C"`` for the conjugate
            transpose.
        lower: whether it is the lower triangle that counts.
        unit_diagonal: whether to take the diagonal for ones.
        overwrite_b: not used.
        debug: not used.
        check_finite: not used.

    Returns:
        ``x``, of the shape of ``b``; infinite or NaN where the diagonal has zeros.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: ``trans`` is something else.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a = jnp.array([[2.0, 0.0], [1.0, 1.0]])
        >>> linalg.solve_triangular(a, jnp.array([2.0, 3.0]), lower=True)
        Array([1., 2.], dtype=float32)
    """
    pm.check_option("solve_triangular", "trans", trans, _OPTIONS)
    transposed, conjugated = _OPTIONS[trans]
    a, b = pm.floats("solve_triangular", a, b)
    if a.dtype in triangular.HALVES:
        x, y = pm.convert(a, dtypes.float32), pm.convert(b, dtypes.float32)
        return pm.convert(solve_triangular(x, y, trans, lower, unit_diagonal), a.dtype)
    matrix, right, vector = _systems("solve_triangular", a, b)
    x = triangular.triangular_solve(
        matrix,
        right,
        left_side=True,
        lower=lower,
        transpose_a=transposed,
        conjugate_a=conjugated,
        unit_diagonal=unit_diagonal,
    )
    return _plain(x, vector)


#: Whether to transpose, and to conjugate.
_OPTIONS: Final[dict[int | str, tuple[bool, bool]]] = {
    0: (False, False),
    "N": (False, False),
    1: (True, False),
    "T": (True, False),
    2: (True, True),
    "C": (True, True),
}


def solve(
    a: ArrayLike,
    b: ArrayLike,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: object = False,
    check_finite: bool = True,
    assume_a: Literal["gen", "sym", "her", "pos"] = "gen",
) -> Array:
    """Solve ``a x = b``.

    Args:
        a: shape ``(..., n, n)``.
        b: shape ``(..., n, m)``; or with one axis less than ``a``, for vectors.
        lower: which triangle of positive definite matrices is looked at; the upper by default.
        overwrite_a: not used.
        overwrite_b: not used.
        debug: not used.
        check_finite: not used.
        assume_a: ``"pos"`` for Hermitian positive definite matrices, which are solved by Cholesky
            factors; ``"sym"`` and ``"her"`` are solved as ``"gen"``, others: both triangles count.

    Returns:
        ``x``, of the shape of ``b``; NaN where there is no solution.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: ``assume_a`` is something else.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a = jnp.array([[4.0, 0.0], [0.0, 2.0]])
        >>> linalg.solve(a, jnp.array([8.0, 8.0]), assume_a="pos")
        Array([2., 4.], dtype=float32)
    """
    pm.check_option("solve", "assume_a", assume_a, ("gen", "sym", "her", "pos"))
    if assume_a == "pos":
        return cho_solve(cho_factor(a, lower), b)
    return numpy_linalg.solve(a, b)


def inv(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the inverses of matrices; as ``tinyjax.numpy.linalg.inv``, with SciPy's arguments.

    To solve ``a x = b``, ``solve`` is more accurate, and faster.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.inv(jnp.array([[0.0, 2.0], [4.0, 0.0]]))
        Array([[0.  , 0.25],
               [0.5 , 0.  ]], dtype=float32)
    """
    return numpy_linalg.inv(a)


def det(a: ArrayLike, overwrite_a: bool = False, check_finite: bool = True) -> Array:
    """Return the determinants of matrices; as ``tinyjax.numpy.linalg.det``, with SciPy's arguments.

    Args:
        a: matrices, shape ``(..., n, n)``; integers become floats.
        overwrite_a: of no effect: arrays are immutable.
        check_finite: of no effect: NaNs give NaN.

    Returns:
        Array of shape ``(...,)``. Its derivatives hold for singular matrices, too.

    Raises:
        ShapeError: ``a`` does not hold square matrices.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.det(jnp.array([[0.0, 2.0], [4.0, 0.0]]))
        Array(-8., dtype=float32)
    """
    return numpy_linalg.det(a)


# Other factors


@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: Literal["full", "economic"] = "full",
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    *,
    mode: Literal["r"],
    pivoting: Literal[False] = False,
    check_finite: bool = True,
) -> tuple[Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: Literal["full", "economic"] = "full",
    *,
    pivoting: Literal[True],
    check_finite: bool = True,
) -> tuple[Array, Array, Array]: ...
@overload
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    *,
    mode: Literal["r"],
    pivoting: Literal[True],
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
def qr(
    a: ArrayLike,
    overwrite_a: bool = False,
    lwork: object = None,
    mode: Literal["full", "economic", "r"] = "full",
    pivoting: bool = False,
    check_finite: bool = True,
) -> tuple[Array, ...]:
    """Return ``Q`` with orthonormal columns and upper triangular ``R``, with ``Q R = a``.

    Args:
        a: matrices, shape ``(..., m, n)``.
        overwrite_a: not used.
        lwork: not used.
        mode: ``"full"`` for square ``Q``, without a derivative where ``m`` is greater than ``n``;
            ``"economic"`` for ``min(m, n)`` columns; ``"r"`` for ``R`` alone, as in ``"full"``.
        pivoting: whether to order the columns so that the diagonal of ``R`` descends in absolute
            value, and to return that order, too: ``Q R`` is ``a[..., order]``.
        check_finite: not used.

    Raises:
        ShapeError: ``a`` does not hold matrices.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> x = jnp.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])
        >>> q, r = linalg.qr(x, mode="economic")
        >>> q.shape, r.shape, jnp.allclose(q @ r, x, atol=1e-6)
        ((3, 2), (2, 2), Array(True, dtype=bool))
        >>> linalg.qr(jnp.array([[1.0, 0.0], [0.0, 5.0]]), pivoting=True)[2]
        Array([1, 0], dtype=int32)
    """
    pm.check_option("qr", "mode", mode, ("full", "economic", "r"))
    factor = qr_.pivoted_qr if pivoting else qr_.qr
    q, *rest = factor(numpy_linalg.matrices("qr", a), full_matrices=mode != "economic")
    return tuple(rest) if mode == "r" else (q, *rest)


@overload
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: Literal["right", "left"] = "right",
    pivoting: Literal[False] = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, Array]: ...
@overload
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: Literal["right", "left"] = "right",
    *,
    pivoting: Literal[True],
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, Array, Array]: ...
def qr_multiply(
    a: ArrayLike,
    c: ArrayLike,
    mode: Literal["right", "left"] = "right",
    pivoting: bool = False,
    conjugate: bool = False,
    overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> tuple[Array, ...]:
    """Return a product with the ``Q`` of ``Q R = a``, and ``R``.

    Args:
        a: shape ``(..., m, n)``; ``k`` is the lesser of ``m`` and ``n``.
        c: shape ``(..., l, m)`` for ``c Q``, or ``(..., k, l)`` for ``Q c``; or a vector.
        mode: ``"right"`` for ``c Q``, ``"left"`` for ``Q c``.
        pivoting: whether to order the columns of ``a``, and to return that order, too.
        conjugate: whether to conjugate ``Q``.
        overwrite_a: not used.
        overwrite_c: not used.

    Returns:
        The product, ``R`` of shape ``(..., k, n)``, and with pivoting the order.

    Raises:
        ShapeError: the shapes do not fit.
        ArgumentError: there is no such mode.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a = jnp.array([[3.0, 1.0], [4.0, 2.0]])
        >>> product, r = linalg.qr_multiply(a, jnp.eye(2))
        >>> bool(jnp.allclose(product @ r, a, atol=1e-5))
        True
    """
    pm.check_option("qr_multiply", "mode", mode, ("right", "left"))
    x, y = pm.promote_inexact(pm.array_of("qr_multiply", a), pm.array_of("qr_multiply", c))
    factor = qr_.pivoted_qr if pivoting else qr_.qr
    q, *rest = factor(numpy_linalg.matrices("qr_multiply", x), full_matrices=False)
    if conjugate:
        q = ma.conjugated(q)
    return (exact_matmul(y, q) if mode == "right" else exact_matmul(q, y), *rest)


@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: Literal[False] = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array]: ...
@overload
def eigh(
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    *,
    eigvals_only: Literal[True],
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> Array: ...
def eigh(  # noqa: PLR0913, PLR0917 (JAX's signature)
    a: ArrayLike,
    b: ArrayLike | None = None,
    lower: bool = True,
    eigvals_only: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    turbo: bool = True,
    eigvals: None = None,
    type: int = 1,
    check_finite: bool = True,
) -> tuple[Array, Array] | Array:
    """Return the eigenvalues and eigenvectors of Hermitian matrices, or of pairs of them.

    Args:
        a: shape ``(..., n, n)``.
        b: positive definite matrices of a generalised problem; their axes in front broadcast.
        lower: which triangles of ``a`` and ``b`` count.
        eigvals_only: whether to return the eigenvalues alone.
        overwrite_a: has no effect, nor have ``overwrite_b``, ``turbo`` and ``check_finite``.
        overwrite_b: has no effect.
        turbo: has no effect.
        eigvals: must be None: all are computed.
        type: of the generalised problem: 1, ``a x = w b x``; 2, ``a b x = w x``; or 3,
            ``b a x = w x``.
        check_finite: has no effect.

    Returns:
        The eigenvalues, ascending, and the eigenvectors ``v`` as columns; with ``b`` the product
        ``v^H b v`` is the identity, or ``v^H b^-1 v`` for type 3.

    Raises:
        ShapeError: ``a`` or ``b`` does not hold square matrices, or they do not fit.
        ArgumentError: ``eigvals`` is given, or another ``type``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> a, b = jnp.array([[6.0, 0.0], [0.0, 2.0]]), jnp.array([[2.0, 0.0], [0.0, 1.0]])
        >>> linalg.eigh(a, eigvals_only=True), jnp.round(linalg.eigh(a, b, eigvals_only=True), 3)
        (Array([2., 6.], dtype=float32), Array([2., 3.], dtype=float32))
    """
    if eigvals is not None:
        raise ArgumentError("eigh computes all eigenvalues: leave out eigvals, and take a part.")
    if not ints.is_one_of(type, (1, 2, 3)) or (b is None and type != 1):
        raise ArgumentError(
            f"eigh solves a x = w x, type 1, and with b types 1, 2 and 3, but type is {type}."
        )
    x = numpy_linalg.matrices("eigh", a, square=True)
    x = x if lower else ma.mH(x)
    if b is None:
        vectors, values = spectral.eigh(x, symmetrize_input=False)
        return values if eigvals_only else (values, vectors)
    y = numpy_linalg.matrices("eigh", b, square=True)
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError.got("eigh takes a and b of one size", x, y)
    x, y = numpy_linalg.systems("eigh", x, y, vector=False)
    root = triangular.cholesky(y if lower else ma.mH(y), symmetrize_input=False)
    whole = creation.tril(x) + ma.mH(creation.tril(x, -1))
    divided = partial(triangular.triangular_solve, root, left_side=True, lower=True)
    if type == 1:  # r^-1 a r^-H, as a is Hermitian
        standard = divided(ma.mH(divided(whole)))
    else:
        standard = exact_matmul(exact_matmul(ma.mH(root), whole), root)
    vectors, values = spectral.eigh(standard)
    if eigvals_only:
        return values
    if type == 3:
        return values, exact_matmul(root, vectors)
    return values, divided(vectors, transpose_a=True, conjugate_a=True)


@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: Literal[True] = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array]: ...
@overload
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    *,
    compute_uv: Literal[False],
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Array: ...
def svd(
    a: ArrayLike,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: bool = False,
    check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> tuple[Array, Array, Array] | Array:
    """Return ``U``, the singular values and ``V^H``; as ``tinyjax.numpy.linalg.svd``.

    Other arguments than ``full_matrices`` and ``compute_uv`` have no effect.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.svd(jnp.array([[0.0, 2.0], [3.0, 0.0]]), compute_uv=False)
        Array([3., 2.], dtype=float32)
    """
    x = numpy_linalg.matrices("svd", a)
    if not compute_uv:
        return spectral.singular_values(x)
    return spectral.svd(x, full_matrices=full_matrices)


# Matrices made and mapped


def block_diag(*arrs: ArrayLike) -> Array:
    """Return a matrix with the given matrices along its diagonal, and zeros elsewhere.

    Args:
        *arrs: matrices; vectors and scalars are matrices of one row.

    Raises:
        ShapeError: one has more than two axes.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.linalg as linalg
        >>> linalg.block_diag(jnp.array([[1, 2]]), 3)
        Array([[1, 2, 0],
               [0, 0, 3]], dtype=int32)
    """
    operands = [pm.array_of("block_diag", x) for x in arrs or (creation.zeros((1, 0)),)]
    xs = [pm.strong(x) for x in pm.promote_dtypes(*operands)]
    for x in xs:
        if x.ndim > 2:
            raise ShapeError.got("block_diag takes matrices", x)
    blocks = [x.reshape(1, x.size) if x.ndim < 2 else x for x in xs]
    width = sum(x.shape[1] for x in blocks)
    if replay.is_evaluating() and xs[0].dtype.kind in "biufc":
        fill, aval = _on_diagonal(tuple([x.shape for x in blocks]), xs[0].dtype)
        result = replay.by_host(fill, blocks, aval)
        if result is not None:
            return result
    rows, left = [], 0
    for x in blocks:
        right = width - left - x.shape[1]
        rows.append(pad(x, ((0, 0), (left, right))))
        left += x.shape[1]
    return concatenate(rows, 0)


@lru_cache(maxsize=64)
def _on_diagonal(
    shapes: tuple[tuple[int, ...], ...], dtype: dtypes.DType
) -> tuple[prim.Kernel, av.ShapedArray]:
    """Make what puts matrices of these shapes along a diagonal, and give the result's type."""
    places, top, left = [], 0, 0
    for height, width in shapes:
        below, right = top + height, left + width
        places.append((slice(top, below), slice(left, right)))
        top, left = below, right
    shape = (top, left)

    def fill(*blocks: dtypes.HostArray) -> dtypes.HostArray:
        out = np.zeros(shape, dtype)
        for place, x in zip(places, blocks, strict=True):
            out[place] = x
        return out

    return fill, av.ShapedArray(shape, dtype)


replay.replay_functions(globals())
