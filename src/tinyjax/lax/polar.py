"""Polar factors by iteration, without singular values."""

from __future__ import annotations

from tinyjax import dtypes, errors, numpy as jnp
from tinyjax.core.control_flow import while_loop as wl
from tinyjax.core.tracing import checking
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array, ArrayLike

_State = tuple[Array, Array, Array, Array]


@checking.checked
def qdwh(
    x: ArrayLike,
    *,
    is_hermitian: bool = False,
    max_iterations: int | None = None,
    eps: float | None = None,
    dynamic_shape: tuple[int, int] | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Return the polar factors of a matrix by Halley's iteration with dynamic weights.

    Each step takes a QR factorisation, and there are six of them in double precision. Where the
    singular values are wanted, or derivatives, ``scipy.linalg.polar`` is for this.

    Args:
        x: a matrix of full rank, of shape ``(m, n)`` with ``m >= n``, real or complex.
        is_hermitian: not used.
        max_iterations: how many steps there are at most; by default 10.
        eps: steps end when one changes the factor by less than ``(4 * eps) ** (1 / 3)`` of it; by
            default the dtype's.
        dynamic_shape: the rows and columns of ``x`` that count; the others are taken for zeros.

    Returns:
        ``(u, h, steps, converged)``: ``u`` of shape ``(m, n)`` with orthonormal columns, ``h`` of
        shape ``(n, n)``, Hermitian and positive semidefinite, with ``u @ h = x``, how many steps
        there were, and whether they were enough.

    Raises:
        ShapeError: ``x`` is no matrix, or has more columns than rows.

    Reference:
        Nakatsukasa, Bai and Gygi, Optimizing Halley's iteration for computing the matrix polar
        decomposition, SIAM Journal on Matrix Analysis and Applications 31 (2010).

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> u, h, steps, converged = lax.linalg.qdwh(jnp.array([[0.0, -2.0], [3.0, 0.0]]))
        >>> abs(h).round(5), bool(converged)
        (Array([[3., 0.],
               [0., 2.]], dtype=float32), True)
    """
    matrix = opd.as_array(x)
    if matrix.ndim != 2 or matrix.shape[0] < matrix.shape[1]:
        raise errors.ShapeError(
            f"qdwh takes a matrix with at least as many rows as columns: {matrix.aval}"
        )
    if dynamic_shape is not None:
        rows, columns = (
            jnp.arange(n) < k for n, k in zip(matrix.shape, dynamic_shape, strict=True)
        )
        matrix = jnp.where(rows[:, None] & columns, matrix, 0)
    m, n = matrix.shape
    precision = float(dtypes.finfo(matrix.dtype).eps) if eps is None else eps
    steps = 10 if max_iterations is None else max_iterations
    enough = (4.0 * precision) ** (1 / 3)
    magnitudes = jnp.abs(matrix)
    norms = magnitudes.sum(0).max() * magnitudes.sum(1).max()  # the square of the 2-norm's bound
    start = matrix / jnp.where(norms > 0, jnp.sqrt(norms), 1).astype(matrix.dtype)
    identity = jnp.eye(n, dtype=matrix.dtype)

    def goes_on(state: _State) -> Array:
        return (state[2] < steps) & ~state[3]

    def step(state: _State) -> _State:
        u, low, k, _ = state  # all singular values of u are between low and 1
        square = low * low
        d = jnp.cbrt(4.0 * (1.0 / square - 1.0) / square)
        root = jnp.sqrt(1.0 + d)
        a = root + jnp.sqrt(2.0 - d + 2.0 * (2.0 - square) / (square * root))
        b = (a - 1.0) ** 2 / 4.0
        c = a + b - 1.0
        stacked = jnp.concatenate([jnp.sqrt(c).astype(u.dtype) * u, identity])
        q = jnp.linalg.qr(stacked)[0]
        turned = q[:m] @ q[m:].conj().T
        weights = (b / c).astype(u.dtype), ((a - b / c) / jnp.sqrt(c)).astype(u.dtype)
        after = weights[0] * u + weights[1] * turned
        raised = jnp.minimum(low * (a + b * square) / (1.0 + c * square), 1.0)
        change = jnp.linalg.norm(after - u) <= enough * jnp.linalg.norm(after)
        return after, raised, k + 1, change & (1.0 - raised <= 10.0 * precision)

    lowest = jnp.asarray(precision, magnitudes.dtype)
    begin = (start, lowest, jnp.asarray(0), jnp.asarray(False))
    u, _, count, converged = wl.while_loop(goes_on, step, begin)
    h = u.conj().T @ matrix
    return u, (h + h.conj().T) / 2, count, converged
