"""More operations of arrays: special functions, windows, updates, orders, transforms, matrices.

Arguments are kept inside of the domains, and away from kinks and from equal elements.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

import tinyjax
import tinyjax.numpy as jnp
from fuzz.algebra import adjoint, matrix
from fuzz.plain import F64, I32, MOST_ELEMENTS, axis_of, fitted, total, untied
from tinyjax import lax, scipy
from tinyjax.core.values.array import Array
from tinyjax.scipy import special as scipy_special


def special(x: Array, y: Array, k: int) -> Array:
    small = 0.7 * jnp.sin(x)
    far, other = 2.0 + jnp.sin(x), 2.0 + jnp.cos(fitted(y, x.shape))
    choices: list[Callable[[], Array]] = [
        lambda: lax.erf(x),
        lambda: lax.erfc(x),
        lambda: lax.erf_inv(small),
        lambda: lax.lgamma(far),
        lambda: lax.digamma(far),
        lambda: lax.polygamma(jnp.float64(1 + k % 3), far),
        lambda: lax.igamma(jnp.float64(1.7), other),
        lambda: lax.igammac(jnp.float64(2.3), far),
        lambda: lax.zeta(jnp.float64(2.3), far) if k % 2 else scipy_special.expit(x),
        lambda: jnp.logaddexp(x, fitted(y, x.shape)),
        lambda: jnp.exp2(jnp.sin(x)),
        lambda: jnp.cbrt(far),
        lambda: jnp.sinh(small) + jnp.cosh(other),
        lambda: jnp.tan(small),
        lambda: jnp.acos(small) * jnp.acosh(far),
        lambda: jnp.atanh(small),
        lambda: scipy_special.i0e(x) + scipy_special.i1e(other),
        lambda: scipy_special.ndtri(0.5 + 0.4 * jnp.sin(x)),
        lambda: scipy_special.xlogy(far, other) + scipy_special.xlog1py(other, far),
        lambda: scipy_special.logsumexp(jnp.stack([x, other]), axis=0),
        lambda: scipy_special.dawsn(x) if k % 2 else scipy_special.betaln(far, other),
        lambda: lax.reduce_precision(x, 11, 52),
        lambda: lax.optimization_barrier((x, other))[k % 2],
        lambda: jnp.hypot(far, other) + jnp.sinc(small),
        lambda: tinyjax.nn.gelu(x) + tinyjax.nn.softplus(other),
        lambda: tinyjax.nn.softmax(jnp.ravel(x))[..., None].sum(1) * 2,
    ]
    return jnp.sin(choices[(k + 7 * x.size + 3 * y.size) % len(choices)]())


def windows(x: Array, y: Array, k: int) -> Array:
    """Convolutions, and windows that slide."""
    line, other = jnp.ravel(x), jnp.ravel(y)
    if k % 3 == 0:
        strides, dilations = (1 + k // 3 % 2,), (1 + k // 6 % 2,)
        n, m = line.size, other.size
        out = lax.conv_general_dilated(
            line.reshape(1, 1, n) if k % 2 else jnp.stack([line, jnp.cos(line)])[:, None],
            other.reshape(1, 1, m),
            strides,
            [((m - 1) * dilations[0], k % 2)],
            lhs_dilation=(1 + k % 2,),
            rhs_dilation=dilations,
        )
        found = jnp.sin(jnp.ravel(out))
    elif k % 3 == 1:
        apart = untied(jnp.concatenate([line, jnp.cos(line), line[:1]]))
        folds: list[tuple[Callable[[Any, Any], Any], float]]
        folds = [(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf), (lax.mul, 1.0)]
        fold, start = folds[k % 4]
        padding = (k % 2, 1) if abs(start) <= 1 else (0, 0)
        found = lax.reduce_window(
            apart, start, fold, (2,), (1 + k // 4 % 2,), [padding], (1,), (1 + k // 8,)
        )
        found = jnp.sin(found)
    else:
        choices: list[Callable[[], Array]] = [
            lambda: jnp.convolve(line, other, mode="full"),
            lambda: jnp.correlate(line, other, mode="same"),
            lambda: jnp.interp(0.3 * jnp.sin(line), np.array([-1.0, 0.123, 1.0]), jnp.ones(3)),
            lambda: jnp.diff(line, prepend=0.0),
            lambda: jnp.asarray(jnp.gradient(jnp.concatenate([line, line[:1] + 1.0]))),
        ]
        found = jnp.sin(choices[k // 3 % len(choices)]())
    return found if 0 < found.size <= MOST_ELEMENTS else jnp.sum(found)


def updated(x: Array, y: Array, k: int) -> Array:
    """Updates of other kinds, and other ways to index."""
    if not x.ndim or not x.shape[0]:
        return jnp.cos(x)
    n = x.shape[0]
    once = np.roll(np.arange(n), k)[: max(1, n - 1)]
    several = np.array([k % n, 0, n + 2, k % n], np.int32)
    values = 1.5 + jnp.sin(fitted(y, (once.size, *x.shape[1:])))
    more = 1.5 + jnp.sin(fitted(y, (4, *x.shape[1:])))
    # of no two elements is it left to rounding which is greater
    more = untied(more)
    traced = jnp.astype(jnp.floor(2.9 * jnp.abs(jnp.sin(total(y)))), I32)
    choices: list[Callable[[], Array]] = [
        lambda: x.at[once].multiply(values, unique_indices=True),
        lambda: x.at[once].divide(values, unique_indices=True),
        lambda: untied(x).at[several].max(more),
        lambda: untied(x).at[several].min(more),
        lambda: x.at[several].subtract(more),
        lambda: x.at[once].apply(jnp.sin),
        lambda: (2.0 + jnp.sin(x)).at[once].power(values, unique_indices=True),
        lambda: x.at[several].add(more, mode="fill" if k % 2 else "clip"),
        lambda: x.at[several[:3]].get(mode="fill", fill_value=0.25),
        lambda: x.at[traced].set(values[0]),
        lambda: x.at[jnp.stack([traced, traced + 1])].add(1.0),
        lambda: x.at[..., ::-1].set(jnp.cos(x)),
        lambda: x.at[::2].add(jnp.sin(total(y))),
        lambda: jnp.take_along_axis(x, jnp.argsort(untied(x), 0), 0),
        lambda: jnp.take(x, jnp.stack([traced, -traced]), axis=0, mode="wrap"),
        lambda: lax.dynamic_index_in_dim(x, traced, 0, keepdims=False),
        lambda: lax.dynamic_update_slice_in_dim(x, values[:1], traced, 0),
        lambda: jnp.where((jnp.arange(n) == traced).reshape(n, *[1] * (x.ndim - 1)), x, 0.5),
        lambda: jnp.delete(x, k % n, axis=0) if n > 1 else x,
        lambda: jnp.roll(x, k, 0) + jnp.roll(x, traced, x.ndim - 1),
        lambda: jnp.insert(x, k % n, 0.5, axis=0),
        lambda: tinyjax.ops.segment_sum(x, np.arange(n) // 2, num_segments=2),
        lambda: x.at[several].mul(1.5 + np.sin(np.arange(more.size)).reshape(more.shape)),
    ]
    out = choices[(k + 5 * n + 3 * y.size) % len(choices)]()
    return out if 0 < out.size <= MOST_ELEMENTS else jnp.sin(x)


def ranked(x: Array, y: Array, k: int) -> Array:
    """Greatest elements, medians, orders by several keys."""
    if not x.ndim:
        return jnp.cos(x)
    axis, apart = axis_of(x, k), untied(x)
    other = fitted(y, x.shape)
    coarse = jnp.floor(2 * jnp.abs(jnp.sin(other)))
    choices: list[Callable[[], Array]] = [
        lambda: lax.top_k(apart, min(2, x.shape[-1]))[0],
        lambda: jnp.sin(jnp.astype(lax.top_k(apart, 1)[1], F64)) + x[..., :1],
        lambda: lax.cummin(apart, axis, reverse=k % 2 == 0),
        lambda: jnp.astype(jnp.argmin(apart, axis), F64) + jnp.min(apart, axis),
        lambda: jnp.median(apart, axis),
        lambda: jnp.quantile(apart, 0.3, axis=axis),
        lambda: lax.sort([coarse, apart, other], axis, num_keys=2)[2],
        lambda: jnp.sort(apart, axis, descending=True),
        lambda: jnp.ptp(apart, axis),
        lambda: jnp.take(jnp.ravel(x), jnp.lexsort([jnp.ravel(apart), jnp.ravel(coarse)])),
        lambda: jnp.max(apart, axis, keepdims=True, initial=0.31, where=coarse < 1),
        lambda: jnp.partition(apart, 0, axis),
    ]
    out = choices[(k + 5 * x.size + 3 * y.size) % len(choices)]()
    return out if 0 < out.size <= MOST_ELEMENTS else jnp.sin(x)


def combined(x: Array, y: Array, k: int) -> Array:
    """Products and shapes by functions that are made of several operations."""
    line, other = jnp.ravel(x)[:3], jnp.ravel(y)[:3]
    choices: list[Callable[[], Array]] = [
        lambda: jnp.outer(line, other),
        lambda: jnp.kron(line, other),
        lambda: jnp.einsum("i,j,j->i", line, other, other),
        lambda: jnp.einsum("...,i->...i", x, other[:1]),
        lambda: jnp.tensordot(line, line, 1) + other,
        lambda: jnp.vander(line, 3),
        lambda: jnp.tile(line, 2),
        lambda: jnp.repeat(line, 2),
        lambda: jnp.repeat(line, np.array([2, 0, 1])[: line.size], total_repeat_length=3),
        lambda: jnp.diag(line),
        lambda: jnp.tril(jnp.outer(line, line)),
        lambda: jnp.polyval(line, other),
        lambda: jnp.var(x) + jnp.std(jnp.concatenate([line, line + 1.0])),
        lambda: jnp.cross(jnp.resize(line, 3), jnp.resize(other, 3)),
        lambda: jnp.trapezoid(line) + jnp.nanmean(x),
        lambda: sum(jnp.split(jnp.resize(line, 4), 2), jnp.zeros(())),
        lambda: lax.select_n(jnp.astype(jnp.abs(2 * jnp.sin(line)), I32), line, line * 2, -line),
        lambda: jnp.moveaxis(x[None], 0, -1),
        lambda: jnp.swapaxes(x[None, None], 0, 1)[0],
        lambda: jnp.cov(jnp.stack([line, jnp.cos(line) * 2, line**2], 1)),
        lambda: jnp.block([[line, other], [other, line]]),
        lambda: jnp.apply_along_axis(jnp.sum, 0, jnp.stack([line, line])),
        lambda: jnp.piecewise(line, [line < 0.31], [jnp.sin, lambda v: v * 2]),
        lambda: jnp.ix_(line)[0],
        lambda: jnp.unwrap(line * 4.0) - line,
    ]
    out = choices[(k + 5 * x.size + 3 * y.size) % len(choices)]()
    return jnp.sin(out) if 0 < out.size <= MOST_ELEMENTS else jnp.cos(x)


def frequencies(x: Array, y: Array, k: int) -> Array:
    """Transforms of Fourier's, and other functions of complex numbers."""
    line = jnp.ravel(x)
    z = lax.complex(jnp.sin(line), jnp.cos(fitted(y, line.shape)))
    choices: list[Callable[[], Array]] = [
        lambda: jnp.fft.fft(z),
        lambda: jnp.fft.ifft(z, 4),
        lambda: jnp.fft.rfft(line),
        lambda: jnp.fft.irfft(z, 3 + k % 3) * 1j,
        lambda: jnp.fft.hfft(z, 4) + 0j,
        lambda: jnp.fft.fft2(z[:, None] * z),
        lambda: jnp.cumprod(z) + jnp.cumsum(z),
        lambda: jnp.prod(z, keepdims=True),
        lambda: jnp.vdot(z, z) * z,
        lambda: jnp.power(z + 3.0, 0.5 + 0.2j),
        lambda: jnp.exp(1j * jnp.angle(z + 3.0)),
        lambda: jnp.atan(z / 3) + jnp.asinh(z / 3),
        lambda: jnp.abs(z + 3.0) * (1 + 1j),
        lambda: jnp.conj(z).at[k % z.size].multiply(1j),
        lambda: jnp.where(line > 0.31, z, z * z),
        lambda: lax.cond(jnp.sum(line) > 0.31, lambda: z, lambda: z.real * 1j),
        lambda: jnp.fft.fftshift(z) * jnp.reciprocal(z + 3.0),
    ]
    out = choices[(k + 5 * x.size + 3 * y.size) % len(choices)]()
    found = jnp.sin(jnp.real(out) + 0.7 * jnp.imag(out))
    return found if 0 < found.size <= MOST_ELEMENTS else jnp.sum(found)


def of_matrix(x: Array, y: Array, k: int) -> Array:
    """Functions of a matrix that have no reference algorithm elsewhere."""
    a = matrix(x, y, k)
    positive = a @ adjoint(a)
    choices: list[Callable[[], Array]] = [
        lambda: scipy.linalg.expm(a / 4),
        lambda: scipy.linalg.sqrtm(a),
        lambda: jnp.linalg.matrix_power(a / 3, 3),
        lambda: jnp.linalg.pinv(a),
        lambda: jnp.linalg.svd(a, compute_uv=False),
        lambda: jnp.linalg.norm(a) + jnp.linalg.norm(a, 2),
        lambda: jnp.tril(scipy.linalg.lu_factor(a)[0]),
        lambda: jnp.linalg.lstsq(a, a[:, :1])[0],
        lambda: lax.linalg.symmetric_product(jnp.real(a), jnp.real(positive)),
        lambda: jnp.linalg.eigvalsh(positive),
        lambda: jnp.linalg.cond(a),
        lambda: scipy.linalg.cho_solve((jnp.linalg.cholesky(positive), True), a[:, 0]),
        lambda: scipy.linalg.block_diag(a[:1, :1], a[:2, :2]),
        lambda: scipy.linalg.toeplitz(a[:, 0]),
        lambda: jnp.linalg.multi_dot([a, adjoint(a), a]),
    ]
    out = choices[(k + 5 * x.size + 3 * y.size) % len(choices)]()
    return jnp.sin(jnp.real(out) + 0.7 * jnp.imag(out))


WIDER: Final[dict[str, Callable[[Array, Array, int], Array]]] = {
    "special": special,
    "windows": windows,
    "updated": updated,
    "ranked": ranked,
    "combined": combined,
    "frequencies": frequencies,
    "of_matrix": of_matrix,
}
#: Steps with kinks, these and those with a function inside.
KINKED_TOO: Final = (
    *("windows", "updated", "ranked", "combined", "frequencies", "of_matrix"),
    *("collective", "seen"),
)
