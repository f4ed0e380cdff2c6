"""Rules of ``numpy.linalg``."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyjax.source.cotangents import reduce_to
from tinyjax.source.rules.registry import adjoint_of, inert


def turned(x: Any) -> Any:
    """The transposed matrices."""
    return np.swapaxes(x, -1, -2)


@adjoint_of(np.linalg.inv)
def np_inv_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.inv."""
    return (-(turned(y) @ ct @ turned(y)),)


@adjoint_of(np.linalg.solve)
def np_solve_adjoint(ct: Any, y: Any, a: Any, b: Any) -> Any:
    """The derivative of np.linalg.solve."""
    found = np.linalg.solve(turned(a), ct)
    if np.ndim(b) == 1:
        return reduce_to(-(found[..., :, None] * y[..., None, :]), a), reduce_to(found, b)
    return reduce_to(-(found @ turned(y)), a), reduce_to(found, b)


@adjoint_of(np.linalg.det)
def np_det_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.det, of matrices that are not singular."""
    return ((ct * y)[..., None, None] * turned(np.linalg.inv(a)),)


@adjoint_of(np.linalg.slogdet)
def np_slogdet_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.slogdet."""
    parts = ct[1]
    if parts is None:
        return (None,)
    return (np.asarray(parts)[..., None, None] * turned(np.linalg.inv(a)),)


@adjoint_of(np.linalg.cholesky)
def np_cholesky_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.cholesky, of the symmetric part (Murray, 2016)."""
    size = np.shape(a)[-1]
    lower = np.tri(size) - 0.5 * np.eye(size)
    inner = (turned(y) @ ct) * lower
    inverse = np.linalg.inv(y)
    found = turned(inverse) @ inner @ inverse
    return (0.5 * (found + turned(found)),)


@adjoint_of(np.linalg.eigh)
def np_eigh_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.eigh, where the eigenvalues differ; of the symmetric part."""
    values, vectors = y[0], y[1]
    of_values = ct[0]
    of_vectors = ct[1]
    inner = 0.0 * vectors
    if of_values is not None:
        inner = inner + of_values[..., :, None] * np.eye(np.shape(a)[-1])
    if of_vectors is not None:
        same = np.eye(np.shape(a)[-1])
        gaps = values[..., None, :] - values[..., :, None] + same
        inner = inner + (turned(vectors) @ of_vectors) * ((1.0 - same) / gaps)
    found = vectors @ inner @ turned(vectors)
    return (0.5 * (found + turned(found)),)


@adjoint_of(np.linalg.eigvalsh)
def np_eigvalsh_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.eigvalsh."""
    vectors = np.linalg.eigh(a)[1]
    return ((vectors * ct[..., None, :]) @ turned(vectors),)


@adjoint_of(np.linalg.qr)
def np_qr_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.qr, of matrices that are at least as high as wide."""
    q, r = y[0], y[1]
    of_q = ct[0]
    of_r = ct[1]
    of_q = 0.0 * q if of_q is None else of_q
    of_r = 0.0 * r if of_r is None else of_r
    m = r @ turned(of_r) - turned(of_q) @ q
    lower = np.tril(m, -1)
    whole = of_q + q @ (np.tril(m) + turned(lower))
    return (turned(np.linalg.solve(r, turned(whole))),)


@adjoint_of(np.linalg.svd)
def np_svd_adjoint(
    ct: Any, y: Any, a: Any, full_matrices: Any = True, compute_uv: Any = True
) -> Any:
    """The derivative of np.linalg.svd, where the singular values differ and are not zero."""
    if not compute_uv:
        parts = np.linalg.svd(a, full_matrices=False)
        return (parts[0] * ct[..., None, :]) @ parts[2], None, None
    size = min(np.shape(a)[-2:])
    s = y[1]
    u, vt = y[0][..., :, :size], y[2][..., :size, :]
    of_u, of_s, of_vt = ct
    same = np.eye(size)
    gaps = s[..., None, :] ** 2 - s[..., :, None] ** 2 + same
    weights = (1.0 - same) / gaps
    inner = 0.0 * same if of_s is None else of_s[..., :, None] * same
    found = u @ inner @ vt
    if of_u is not None:
        of_u = of_u[..., :, :size]
        m = weights * (turned(u) @ of_u)
        found = found + u @ ((m + turned(m)) * s[..., None, :]) @ vt
        found = found + (of_u - u @ (turned(u) @ of_u)) / s[..., None, :] @ vt
    if of_vt is not None:
        of_v = turned(of_vt[..., :size, :])
        m = weights * (vt @ of_v)
        found = found + u @ (s[..., :, None] * (m + turned(m))) @ vt
        found = found + u @ (turned(of_v - turned(vt) @ (vt @ of_v)) / s[..., :, None])
    return found, None, None


@adjoint_of(np.linalg.pinv)
def np_pinv_adjoint(ct: Any, y: Any, a: Any) -> Any:
    """The derivative of np.linalg.pinv, of matrices of constant rank."""
    rows, columns = np.shape(a)[-2:]
    first = turned(y) @ ct @ turned(y)
    second = (np.eye(rows) - a @ y) @ turned(ct) @ y @ turned(y)
    third = turned(y) @ y @ turned(ct) @ (np.eye(columns) - y @ a)
    return (second + third - first,)


inert.add(np.linalg.matrix_rank)
