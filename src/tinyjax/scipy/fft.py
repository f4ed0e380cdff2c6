"""Cosine and sine transforms by SciPy's names, of all four types, by Fourier transforms.

They are linear: derivatives and transposes are those of ``tinyjax.numpy.fft``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, ParamSpec, TypeAlias

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes
from tinyjax._base import frames, lazy
from tinyjax._extensions.host import replay
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm

lazy.answer_for(
    __name__,
    "fft fft2 fftfreq fftn fftshift ifft ifft2 ifftn ifftshift irfft irfftn rfft rfftfreq rfftn "
    "dct dctn dst idct idctn idst",
)

P = ParamSpec("P")
Type = Literal[1, 2, 3, 4]
Norm = Literal["backward", "ortho", "forward"] | None
Sizes: TypeAlias = int | Sequence[int] | None


def fftfreq(n: int, d: float = 1.0) -> Array:
    """Return the frequencies of the results of ``fft``, which take the dtype of what they meet.

    Example:
        >>> from tinyjax.scipy.fft import fftfreq
        >>> print(fftfreq(4))
        [ 0.    0.25 -0.5  -0.25]
    """
    wide = dtypes.allowed(dtypes.float64)
    return pm.convert(jnp.fft.fftfreq(n, d, dtype=wide), wide, True)


def rfftfreq(n: int, d: float = 1.0) -> Array:
    """Return the same for ``rfft``, none of them negative.

    Example:
        >>> from tinyjax.scipy.fft import rfftfreq
        >>> print(rfftfreq(4, d=0.5))
        [0.  0.5 1. ]
    """
    return abs(fftfreq(n, d)[: n // 2 + 1])


def _along_one(
    x: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: Norm = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: None = None,
) -> tuple[Any, ...]:
    return x, n, axis, norm


def _along_two(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: Norm = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: None = None,
) -> tuple[Any, ...]:
    return x, s, axes, norm


def _along_many(
    x: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = None,
    overwrite_x: bool = False,
    workers: int | None = None,
    *,
    plan: None = None,
) -> tuple[Any, ...]:
    return x, s, axes, norm


def _shifted(x: ArrayLike, axes: int | Sequence[int] | None = None) -> tuple[Any, ...]:
    return x, axes


def _of_numpy(name: str, parameters: Callable[P, tuple[Any, ...]]) -> Callable[P, Array]:
    """Give a transform of NumPy's the parameters of SciPy's; hints of speed have no effect."""
    transform = getattr(jnp.fft, name)

    def call(*args: P.args, **kwargs: P.kwargs) -> Array:
        result: Array = transform(*parameters(*args, **kwargs))
        return result

    call = frames.imitate(call, transform)
    call.__module__ = __name__
    call.__doc__ = re.sub(r"\ba: ", "x: ", transform.__doc__)
    return frames.like(parameters)(call)


fft, ifft = _of_numpy("fft", _along_one), _of_numpy("ifft", _along_one)
rfft, irfft = _of_numpy("rfft", _along_one), _of_numpy("irfft", _along_one)
fft2, ifft2 = _of_numpy("fft2", _along_two), _of_numpy("ifft2", _along_two)
fftn, ifftn = _of_numpy("fftn", _along_many), _of_numpy("ifftn", _along_many)
rfftn, irfftn = _of_numpy("rfftn", _along_many), _of_numpy("irfftn", _along_many)
fftshift, ifftshift = _of_numpy("fftshift", _shifted), _of_numpy("ifftshift", _shifted)


def _turns(x: Array, angles: dtypes.HostArray) -> Array:
    """Numbers on the unit circle, of the complex type that goes with ``x``."""
    return jnp.asarray(np.exp(1j * angles).astype(dtypes.to_complex(x.dtype)))


def _first(x: Array) -> Array:
    """The real part of the transform of ``x`` continued as an even function."""
    if x.shape[-1] < 2:
        raise ShapeError.got("dct of type 1 needs two values at least", x)
    return jnp.fft.rfft(jnp.concatenate([x, x[..., -2:0:-1]], -1)).real


def _second(x: Array) -> Array:
    """By one transform of the values in another order (J. Makhoul, IEEE ASSP 28(1), 1980)."""
    n = x.shape[-1]
    mixed = jnp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], -1)
    spectrum = jnp.fft.fft(mixed) * _turns(x, -np.pi * np.arange(n) / (2 * n))
    return 2 * spectrum.real


def _third(x: Array) -> Array:
    """``_second``, backwards."""
    n = x.shape[-1]
    weights = np.where(np.arange(n), 2.0, 1.0).astype(x.dtype)
    turned = x * weights * _turns(x, np.pi * np.arange(n) / (2 * n))
    mixed = n * jnp.fft.ifft(turned).real
    place = np.empty(n, np.int32)
    place[::2], place[1::2] = np.arange((n + 1) // 2), np.arange((n + 1) // 2, n)[::-1]
    return mixed[..., place]


def _fourth(x: Array) -> Array:
    n = x.shape[-1]
    turned = x * _turns(x, -np.pi * np.arange(n) / (2 * n))
    spectrum = jnp.fft.fft(turned, 2 * n)[..., :n]
    return 2 * (spectrum * _turns(x, -np.pi * (2 * np.arange(n) + 1) / (4 * n))).real


_TRANSFORMS: Final[dict[int, Callable[[Array], Array]]] = {
    1: _first,
    2: _second,
    3: _third,
    4: _fourth,
}


def _first_sine(x: Array) -> Array:
    """The imaginary part of the transform of ``x`` continued as an odd function, but for signs."""
    zero = jnp.zeros_like(x[..., :1])
    odd = jnp.concatenate([zero, x, zero, -x[..., ::-1]], -1)
    return -jnp.fft.rfft(odd).imag[..., 1:-1]


def _ends(n: int, indices: Sequence[int], factor: float) -> dtypes.HostArray:
    """Ones, but for some places."""
    weights = np.ones(n)
    weights[list(indices)] = factor
    return weights


def _along(name: str, x: Array, type: int, axis: int, norm: Norm) -> Array:
    """One transform along an axis; the inverse of type 2 is type 3, and the other way round."""
    pm.check_option(name, "type", type, _TRANSFORMS)
    pm.check_option(name, "norm", norm, (None, "backward", "ortho", "forward"))
    inverse, sine = name.startswith("i"), "dst" in name
    if inverse:
        type = {2: 3, 3: 2}.get(type, type)
    n = x.shape[axis]
    if not n:
        raise ShapeError(f"{name} needs a value along axis {axis} of shape {x.shape}.")
    x = jnp.moveaxis(x, axis, -1)
    full = 2 * (n + (1 if sine else -1)) if type == 1 else 2 * n
    ends = (() if sine else (0, -1)) if type == 1 else (0,)
    root = float(np.sqrt(2.0))
    transform = _first_sine if sine and type == 1 else _TRANSFORMS[type]
    signs = np.where(np.arange(n) % 2, -1, 1).astype(x.dtype)
    if sine and type > 1:  # a sine is the cosine of the values with signs, or in reverse order
        x = x * signs if type == 2 else x[..., ::-1]
    if norm == "ortho":
        if type in (1, 3):
            x = x * _ends(n, ends, root).astype(x.dtype)
        x = transform(x) / float(np.sqrt(full))
        if type in (1, 2):
            x = x * _ends(n, ends, 1 / root).astype(x.dtype)
    else:
        x = transform(x)
        if (norm == "forward") != inverse:
            x = x / full
    if sine and type > 1:
        x = x[..., ::-1] if type == 2 else x * signs
    return jnp.moveaxis(x, -1, axis)


def _prepared(name: str, x: ArrayLike) -> Array:
    return pm.strong(pm.inexact(x, name))


def _parts(x: Array, transform: Callable[[Array], Array]) -> Array:
    """A transform of real numbers, of complex ones."""
    if not dtypes.is_complex(x.dtype):
        return transform(x)
    return transform(x.real) + jnp.asarray(1j, x.dtype) * transform(x.imag)


def _resized(x: Array, axis: int, count: int) -> Array:
    """Cut, or continued by zeros."""
    if count < 1:
        raise ArgumentError(f"the length of a transform is at least 1, but got {count}.")
    missing = count - x.shape[axis]
    if missing <= 0:
        return x[(slice(None),) * axis + (slice(count),)]
    return jnp.pad(x, [(0, missing if i == axis else 0) for i in range(x.ndim)])


def _one(
    name: str, x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: Norm = None
) -> Array:
    a = _prepared(name, x)
    place = ints.canonical_axis(axis, a.ndim, f"{name}: axis")
    if n is not None:
        a = _resized(a, place, ints.integer(n, "n"))
    return _parts(a, lambda part: _along(name, part, type, place, norm))


def _several(
    name: str, x: ArrayLike, type: int = 2, s: Sizes = None, axes: Sizes = None, norm: Norm = None
) -> Array:
    a = _prepared(name, x)
    sizes = None if s is None else ints.integers(ints.one_or_more(s, "s"), "s")
    if axes is None:
        count = a.ndim if sizes is None else len(sizes)
        places = tuple(range(a.ndim - count, a.ndim))
    else:
        indices = ints.integers(ints.one_or_more(axes, "axes"), "axes")
        places = tuple(ints.canonical_axis(axis, a.ndim, f"{name}: axis") for axis in indices)
    if sizes is not None:
        if len(sizes) != len(places) or len(sizes) > a.ndim:
            raise ShapeError(
                f"{name} takes a length for each axis, but got {len(sizes)} lengths for axes "
                f"{places} of shape {a.shape}."
            )
        for axis, size in zip(places, sizes, strict=True):
            a = _resized(a, axis, size)

    def transform(part: Array) -> Array:
        for axis in places:
            part = _along(name, part, type, axis, norm)
        return part

    return _parts(a, transform)


def dct(
    x: ArrayLike, type: Type = 2, n: int | None = None, axis: int = -1, norm: Norm = None
) -> Array:
    """Return the discrete cosine transform along an axis.

    Args:
        x: any number; of complex ones each part is transformed.
        type: 1, 2, 3 or 4.
        n: how many values are taken; zeros are added.
        axis: along which.
        norm: ``"backward"`` (the default) leaves the transform as it is, ``"forward"`` divides it
            by what the inverse would otherwise, ``"ortho"`` makes it orthogonal.

    Returns:
        An array of the shape of ``x``, but for ``n``.

    Raises:
        ShapeError: there are no values, or one only for type 1.
        ArgumentError: there is no such type or norm.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.fft as fft
        >>> fft.dct(jnp.ones(4)).round(4)
        Array([8., 0., 0., 0.], dtype=float32)
    """
    return _one("dct", x, type, n, axis, norm)


@frames.like(dct)
def idct(*args: Any, **kwargs: Any) -> Array:
    """Return the inverse of ``dct``; the arguments and errors are those of ``dct``.

    With ``norm`` None it divides by twice the number of elements, by which ``dct`` multiplies; with
    "ortho" both directions are orthogonal.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.scipy.fft import idct
        >>> idct(jnp.array([8.0, 0.0, 0.0, 0.0])).round(4)
        Array([1., 1., 1., 1.], dtype=float32)
        >>> from tinyjax.scipy.fft import dct
        >>> jnp.round(idct(dct(jnp.array([1.0, 2.0, 3.0]))), 4)
        Array([1., 2., 3.], dtype=float32)
    """
    return _one("idct", *args, **kwargs)


@frames.like(dct)
def dst(*args: Any, **kwargs: Any) -> Array:
    """Return the discrete sine transform; the arguments and errors are those of ``dct``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.fft as fft
        >>> fft.dst(jnp.ones(1), type=1)
        Array([2.], dtype=float32)
    """
    return _one("dst", *args, **kwargs)


@frames.like(dct)
def idst(*args: Any, **kwargs: Any) -> Array:
    """Return the inverse of ``dst``; the arguments and errors are those of ``dct``.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.fft as fft
        >>> fft.idst(fft.dst(jnp.array([1.0, 2.0, 3.0]))).round(4)
        Array([1., 2., 3.], dtype=float32)
    """
    return _one("idst", *args, **kwargs)


def dctn(
    x: ArrayLike, type: Type = 2, s: Sizes = None, axes: Sizes = None, norm: Norm = None
) -> Array:
    """Return the discrete cosine transform along several axes.

    Args:
        x: any number; of complex ones each part is transformed.
        type: 1, 2, 3 or 4.
        s: how many values are taken along each axis; zeros are added.
        axes: along which; all by default, or the last ones where ``s`` is given.
        norm: as in ``dct``.

    Raises:
        ShapeError: there are no values, or ``s`` does not fit.
        ArgumentError: there is no such type or norm.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.fft as fft
        >>> fft.dctn(jnp.ones((2, 2)))
        Array([[16.,  0.],
               [ 0.,  0.]], dtype=float32)
    """
    return _several("dctn", x, type, s, axes, norm)


@frames.like(dctn)
def idctn(*args: Any, **kwargs: Any) -> Array:
    """Return the inverse of ``dctn``; the arguments and errors are those of ``dctn``.

    Over all axes by default. It divides by what ``dctn`` multiplies by; with ``norm="ortho"`` both
    are orthogonal.

    Example:
        >>> import tinyjax.numpy as jnp, tinyjax.scipy.fft as fft
        >>> jnp.round(fft.idctn(fft.dctn(jnp.array([[1.0, 2.0], [3.0, 4.0]]))), 3)
        Array([[1., 2.],
               [3., 4.]], dtype=float32)
    """
    return _several("idctn", *args, **kwargs)


replay.replay_functions(globals())
