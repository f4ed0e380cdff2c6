"""Functions whose derivatives are those of what they are made of.

The value is the function's own; the adjoint differentiates the composition that stands here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tinyjax.source.origins import refusal, write_function
from tinyjax.source.pullbacks import pull
from tinyjax.source.rules.registry import Function, R, Rule, inert, rules


def composition_of(*functions: Function) -> Callable[[R], R]:
    """Give functions the derivative of a Python function that computes the same."""

    def register(composed: R) -> R:
        name = f"{composed.__name__}_adjoint"
        text = (
            f"def {name}(ct, y, *args, **kwargs):\n"
            f"    return pull({composed.__name__}, *args, **kwargs)[1](ct)[1:]\n"
        )
        namespace = {"__name__": __name__, "pull": pull, composed.__name__: composed}
        globals()[name] = write_function(name, text, namespace)
        for fun in functions:
            rules[fun] = Rule(globals()[name])
        return composed

    return register


@composition_of(np.clip)
def np_clip(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    """As np.clip."""
    low = min if a_min is None else a_min
    high = max if a_max is None else a_max
    found = a if low is None else np.maximum(a, low)
    return found if high is None else np.minimum(found, high)


@composition_of(np.var)
def np_var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    """As np.var."""
    gaps = a - np.mean(a, axis, None, None, True)
    squares = np.abs(gaps) ** 2
    total = np.sum(squares, axis, None, None, keepdims)
    return total * (np.size(total) / (np.size(a) - ddof * np.size(total)))


@composition_of(np.std)
def np_std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
) -> Any:
    """As np.std."""
    return np.sqrt(np_var(a, axis, dtype, out, ddof, keepdims))


@composition_of(np.ptp)
def np_ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """As np.ptp."""
    return np.max(a, axis, None, keepdims) - np.min(a, axis, None, keepdims)


@composition_of(np.average)
def np_average(a: Any, axis: Any = None, weights: Any = None) -> Any:
    """As np.average."""
    if weights is None:
        return np.mean(a, axis)
    if np.ndim(weights) != np.ndim(a):
        shape = [1] * np.ndim(a)
        weights = np.moveaxis(np.reshape(weights, (*shape[1:], len(weights))), -1, axis)
    whole = np.broadcast_to(weights, np.shape(a))
    return np.sum(whole * a, axis) / np.sum(whole, axis)


@composition_of(np.quantile)
def np_quantile(a: Any, q: Any, axis: Any = None) -> Any:
    """As np.quantile, of one quantile."""
    if np.ndim(q):
        raise refusal("the derivative of np.quantile is that of one quantile. Loop over them.")
    ordered = np.sort(np.ravel(a)) if axis is None else np.moveaxis(np.sort(a, axis), axis, 0)
    place = q * (len(ordered) - 1)
    below = min(math.floor(place), len(ordered) - 2) if len(ordered) > 1 else 0
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


@composition_of(np.percentile)
def np_percentile(a: Any, q: Any, axis: Any = None) -> Any:
    """As np.percentile, of one percentile."""
    return np_quantile(a, q / 100, axis)


@composition_of(np.median)
def np_median(a: Any, axis: Any = None) -> Any:
    """As np.median."""
    return np_quantile(a, 0.5, axis)


@composition_of(np.diff)
def np_diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    """As np.diff."""
    moved = np.moveaxis(np.asarray(a), axis, 0)
    for _ in range(n):
        moved = moved[1:] - moved[:-1]
    return np.moveaxis(moved, 0, axis)


@composition_of(np.trapezoid)
def np_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """As np.trapezoid."""
    if x is not None:
        dx = np_diff(x) if np.ndim(x) == 1 else np.moveaxis(np_diff(x, 1, axis), axis, -1)
    heights = np.moveaxis(np.asarray(y), axis, -1)
    return np.sum((heights[..., 1:] + heights[..., :-1]) * dx / 2, -1)


@composition_of(np.nansum)
def np_nansum(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """As np.nansum."""
    return np.sum(np.where(np.isnan(a), 0.0, a), axis, None, None, keepdims)


@composition_of(np.nanmean)
def np_nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False
) -> Any:
    """As np.nanmean."""
    count = np.sum(~np.isnan(a), axis=axis, keepdims=keepdims)
    return np_nansum(a, axis, dtype, out, keepdims) / count


@composition_of(np.nan_to_num)
def np_nan_to_num(x: Any, copy: Any = True, nan: Any = 0.0) -> Any:
    """As np.nan_to_num."""
    return np.where(np.isfinite(x), x, nan)


@composition_of(np.sinc)
def np_sinc(x: Any) -> Any:
    """As np.sinc, by its series where the argument is small."""
    t = np.pi * np.asarray(x)
    small = np.abs(t) < 1e-2
    safe = np.where(small, 1.0, t)
    return np.where(small, 1 - t**2 / 6 + t**4 / 120 - t**6 / 5040, np.sin(safe) / safe)


@composition_of(np.angle)
def np_angle(z: Any) -> Any:
    """As np.angle."""
    return np.arctan2(np.imag(z), np.real(z))


@composition_of(np.full)
def np_full(shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    """As np.full."""
    return np.broadcast_to(fill_value, shape)


@composition_of(np.full_like)
def np_full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """As np.full_like."""
    return np.broadcast_to(fill_value, np.shape(a))


@composition_of(np.linspace)
def np_linspace(start: Any, stop: Any, num: int = 50, endpoint: Any = True) -> Any:
    """As np.linspace."""
    steps = np.arange(num) / max(num - 1 if endpoint else num, 1)
    steps = np.reshape(steps, (num, *[1 for _ in np.shape(start + stop)]))
    return start * (1 - steps) + stop * steps


@composition_of(np.meshgrid)
def np_meshgrid(*xi: Any, indexing: str = "xy") -> Any:
    """As np.meshgrid."""
    order = [*range(len(xi))]
    if indexing == "xy" and len(xi) > 1:
        order = [1, 0, *order[2:]]
    shape = [1 for _ in xi]
    found = [
        np.reshape(x, [np.size(x) if k == i else n for k, n in enumerate(shape)])
        for i, x in zip(order, xi, strict=True)
    ]
    whole = np.broadcast_shapes(*[np.shape(x) for x in found])
    return [np.broadcast_to(x, whole) for x in found]


@composition_of(np.broadcast_arrays)
def np_broadcast_arrays(*args: Any) -> Any:
    """As np.broadcast_arrays."""
    whole = np.broadcast_shapes(*[np.shape(x) for x in args])
    return tuple([np.broadcast_to(x, whole) for x in args])


@composition_of(np.append)
def np_append(arr: Any, values: Any, axis: Any = None) -> Any:
    """As np.append."""
    if axis is None:
        return np.concatenate([np.ravel(arr), np.ravel(values)])
    return np.concatenate([arr, values], axis)


@composition_of(np.dot)
def np_dot(a: Any, b: Any) -> Any:
    """As np.dot."""
    a, b = np.asarray(a), np.asarray(b)
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    if np.ndim(b) < 3:
        return np.matmul(a, b)
    return np_tensordot(a, b, (-1, -2))


@composition_of(np.select)
def np_select(condlist: Any, choicelist: Any, default: Any = 0.0) -> Any:
    """As np.select."""
    found = default
    for condition, choice in [*zip(condlist, choicelist, strict=True)][::-1]:
        found = np.where(condition, choice, found)
    return found


@composition_of(np.vdot)
def np_vdot(a: Any, b: Any) -> Any:
    """As np.vdot."""
    return np.sum(np.conj(np.ravel(a)) * np.ravel(b))


@composition_of(np.inner)
def np_inner(a: Any, b: Any) -> Any:
    """As np.inner."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return np.multiply(a, b)
    return np_tensordot(a, b, (-1, -1))


@composition_of(np.tensordot)
def np_tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """As np.tensordot."""
    return np.einsum(tensordot_subscripts(np.ndim(a), np.ndim(b), axes), a, b)


def tensordot_subscripts(first: int, second: int, axes: Any) -> str:
    """The subscripts of np.einsum that do what np.tensordot does."""
    if isinstance(axes, int):
        axes = ([*range(first - axes, first)], [*range(axes)])
    left, right = [[part] if isinstance(part, int) else [*part] for part in axes]
    a = [chr(ord("a") + i) for i in range(first)]
    b = [chr(ord("A") + i) for i in range(second)]
    for i, j in zip(left, right, strict=True):
        b[j] = a[i]
    kept = [c for c in a if c not in b] + [c for c in b if c not in a]
    return f"{''.join(a)},{''.join(b)}->{''.join(kept)}"


@composition_of(np.kron)
def np_kron(a: Any, b: Any) -> Any:
    """As np.kron."""
    rank = max(np.ndim(a), np.ndim(b))
    first = (*[1] * (rank - np.ndim(a)), *np.shape(a))
    second = (*[1] * (rank - np.ndim(b)), *np.shape(b))
    left = np.reshape(a, [n for size in first for n in (size, 1)])
    right = np.reshape(b, [n for size in second for n in (1, size)])
    return np.reshape(left * right, [m * n for m, n in zip(first, second, strict=True)])


@composition_of(np.cross)
def np_cross(a: Any, b: Any) -> Any:
    """As np.cross, of vectors along the last axis."""
    one, two = np.array([1, 2, 0]), np.array([2, 0, 1])
    a, b = np.asarray(a), np.asarray(b)
    return a[..., one] * b[..., two] - a[..., two] * b[..., one]


@composition_of(np.interp)
def np_interp(x: Any, xp: Any, fp: Any) -> Any:
    """As np.interp."""
    xp, fp = np.asarray(xp), np.asarray(fp)
    place = np.maximum(np.minimum(np.searchsorted(xp, x, "right") - 1, len(xp) - 2), 0)
    share = (x - xp[place]) / (xp[place + 1] - xp[place])
    inside = fp[place] + share * (fp[place + 1] - fp[place])
    return np.where(x < xp[0], fp[0], np.where(x > xp[-1], fp[-1], inside))


@composition_of(np.convolve)
def np_convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """As np.convolve."""
    a, v = np.asarray(a), np.asarray(v)
    if len(v) > len(a):
        a, v = v, a
    n, m = len(a), len(v)
    padded = np.pad(a, (m - 1, m - 1))
    whole = sum([v[i] * padded[m - 1 - i : 2 * m + n - 2 - i] for i in range(m)])
    if mode == "full":
        return whole
    if mode == "same":
        return whole[(m - 1) // 2 : (m - 1) // 2 + n]
    return whole[m - 1 : n]


@composition_of(np.polyval)
def np_polyval(p: Any, x: Any) -> Any:
    """As np.polyval."""
    y = np.asarray(x) * 0.0
    for c in p:
        y = y * x + c
    return y


@composition_of(np.fft.rfft)
def np_rfft(a: Any) -> Any:
    """As np.fft.rfft."""
    return np.fft.fft(a)[..., : np.shape(a)[-1] // 2 + 1]


@composition_of(np.linalg.norm)
def np_norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """As np.linalg.norm."""
    rank = np.ndim(x) if axis is None else np.size(axis)
    if ord is None or (ord == 2 and rank == 1) or ord == "fro":
        return np.sqrt(np.sum(np.abs(x) ** 2, axis, None, None, keepdims))
    if rank != 1:
        raise refusal(
            f"the derivative of the norm of order {ord!r} of a matrix is not known. Compute it "
            "from np.linalg.svd or from sums."
        )
    if ord in (math.inf, -math.inf):
        best = np.max if ord > 0 else np.min
        return best(np.abs(x), axis, None, keepdims)
    return np.sum(np.abs(x) ** ord, axis, None, None, keepdims) ** (1 / ord)


@composition_of(np.linalg.matrix_power)
def np_matrix_power(a: Any, n: int) -> Any:
    """As np.linalg.matrix_power."""
    if n < 0:
        a, n = np.linalg.inv(a), -n
    found = np.broadcast_to(np.eye(np.shape(a)[-1]), np.shape(a))
    for _ in range(n):
        found = found @ a
    return found


@composition_of(np.linalg.multi_dot)
def np_multi_dot(arrays: Any) -> Any:
    """As np.linalg.multi_dot."""
    found = arrays[0]
    for a in arrays[1:]:
        found = found @ a
    return found


inert.add(tensordot_subscripts)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Function:
        """The adjoints that are generated here, for the texts that import them."""
