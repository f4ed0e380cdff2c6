"""Special functions, Fourier transforms over several axes, and XLA generators of bits."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, IntEnum

from tinyjax import dtypes, errors
from tinyjax._library.special import bessel as _bessel, gamma
from tinyjax._primitives import bitcast, philox
from tinyjax._primitives.fft import FftKind, fft as _fft
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh
from tinyjax.core.tracing import bind1, primitive as prim
from tinyjax.core.values import Array, ArrayLike, array, integers as ints, operands as opd
from tinyjax.errors import ArgumentError, ShapeError, shortened
from tinyjax.lax.operands import pair
from tinyjax.numpy.creation import canonical_shape

# Special functions of one, two and three arrays, loaded at their first use.


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized incomplete beta function.

    Args:
        a: floats, at least 0.
        b: floats, at least 0.
        x: floats in [0, 1].

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.betainc(2.0, 3.0, 0.5)), 4)
        0.6875
    """
    operands = pair("betainc", a, b, x)
    return bind1(gamma.regularized_incomplete_beta, operands, prim.NO_PARAMS)


def igamma(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized lower incomplete gamma function.

    Args:
        a: floats, at least 0.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igamma(2.0, 1.0)), 6)
        0.264241
    """
    return bind1(gamma.igamma, pair("igamma", a, x), prim.NO_PARAMS)


def igammac(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized upper incomplete gamma function, ``1 - igamma(a, x)``.

    Args:
        a: floats, at least 0.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igammac(2.0, 1.0)), 6)
        0.735759
    """
    return bind1(gamma.igammac, pair("igammac", a, x), prim.NO_PARAMS)


def igamma_grad_a(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of ``igamma(a, x)`` in ``a``.

    Args:
        a: floats, at least 0; it has no derivative.
        x: floats, at least 0.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.igamma_grad_a(2.0, 1.0)), 6)
        -0.276196
    """
    return bind1(gamma.igamma_grad_a, pair("igamma_grad_a", a, x), prim.NO_PARAMS)


def random_gamma_grad(a: ArrayLike, x: ArrayLike, *, dtype: dtypes.DTypeLike = None) -> Array:
    """Return the derivative in ``a`` of a sample ``x`` of the gamma distribution.

    The derivative keeps ``igamma(a, x)`` constant.

    Args:
        a: floats above 0, the distribution's parameter.
        x: floats, at least 0: the sample.
        dtype: the dtype of the result; by default that of the operands.

    Raises:
        ShapeError: the shapes differ.
        DtypeError: the dtypes differ, or are not of floats.

    Example:
        >>> from tinyjax import lax
        >>> round(float(lax.random_gamma_grad(2.0, 1.0)), 6)
        0.750779
    """
    operands = pair("random_gamma_grad", a, x)
    out = bind1(gamma.random_gamma_grad, operands, prim.NO_PARAMS)
    return out if dtype is None else ew.convert_element_type(out, dtypes.check(dtype))


def bessel_i0e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 0, times ``exp(-abs(x))``.

    The factor keeps it finite for large ``x``, where the function itself overflows; it is even in
    ``x``, and 0 at infinity. The derivative holds in both modes.

    Args:
        x: floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> round(float(lax.bessel_i0e(1.0)), 6)
        0.46576
        >>> lax.bessel_i0e(jnp.array([0.0, jnp.inf]))
        Array([1., 0.], dtype=float32)
    """
    return bind1(_bessel.bessel_i0e, (opd.as_array(x),), prim.NO_PARAMS)


def bessel_i1e(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 1, times ``exp(-abs(x))``.

    The factor keeps it finite for large ``x``, where the function itself overflows; it is odd in
    ``x``, and 0 at infinity.

    Args:
        x: floats.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> round(float(lax.bessel_i1e(1.0)), 6)
        0.20791
        >>> lax.bessel_i1e(jnp.array([0.0, -1.0, jnp.inf]))
        Array([ 0.        , -0.20791042,  0.        ], dtype=float32)
    """
    return bind1(_bessel.bessel_i1e, (opd.as_array(x),), prim.NO_PARAMS)


# Fourier transforms over several axes, by XLA's names.


class FftType(Enum):
    """Name a transform: those of real numbers begin with R, and inverse ones with I.

    ``FFT`` and ``IFFT`` are of complex numbers; ``RFFT`` keeps the half of the last axis that
    determines the rest, and ``IRFFT`` is its inverse. ``lax.fft`` takes their names as strings,
    too.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.fft(jnp.array([1.0, 0.0, 0.0]), lax.FftType.RFFT, (3,))
        Array([1.+0.j, 1.+0.j], dtype=complex64)
        >>> list(lax.FftType.__members__)
        ['FFT', 'IFFT', 'RFFT', 'IRFFT']
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Return the Fourier transform over the last axes.

    Args:
        x: complex numbers; real ones for ``RFFT``. ``FFT`` and ``IFFT`` convert real numbers.
        fft_type: which transform.
        fft_lengths: the number of values in time along each of the last axes: the sizes of ``x``,
            except that for ``IRFFT`` the last axis of ``x`` holds ``n // 2 + 1`` of ``n`` values.

    Returns:
        The transform; for ``RFFT`` its last axis holds ``n // 2 + 1`` of ``n`` values.

    Raises:
        ShapeError: there are fewer axes than lengths, or the lengths do not fit.
        DtypeError: the dtype is not one of single or double precision, or complex for ``RFFT``.
        ArgumentError: there is no such transform.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> lax.fft(jnp.array([1.0, 0.0, 0.0, 0.0]), "RFFT", (4,))
        Array([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    requested: object = fft_type.name if isinstance(fft_type, FftType) else fft_type
    name = requested.upper() if isinstance(requested, str) else ""
    if name not in FftKind.__members__:
        raise errors.ArgumentError(
            "fft takes 'FFT', 'IFFT', 'RFFT' or 'IRFFT' for fft_type, "
            f"but got {errors.shortened(fft_type)}."
        )
    kind = FftKind[name]
    a = opd.as_array(x)
    lengths = ints.integers(fft_lengths, "fft_lengths")
    if kind is FftKind.RFFT and dtypes.is_complex(a.dtype):
        raise errors.DtypeError(f"RFFT takes real numbers, but got {a.dtype.name}.")
    if len(lengths) > a.ndim:
        raise errors.ShapeError.got(f"fft over {len(lengths)} axes needs an array of as many", a)
    if kind is not FftKind.RFFT and not dtypes.is_complex(a.dtype):
        a = ew.convert_element_type(a, dtypes.to_complex(a.dtype))
    if not lengths:
        return a
    first = a.ndim - len(lengths)
    expected = (*lengths[:-1], lengths[-1] // 2 + 1 if kind is FftKind.IRFFT else lengths[-1])
    if a.shape[first:] != expected:
        raise errors.ShapeError.got(
            f"{name} of lengths {lengths} takes an array whose last axes are {expected}", a
        )
    return _fft(a, kind, lengths)


# XLA's generator of random bits.


class RandomAlgorithm(IntEnum):
    """Name the algorithm of ``rng_bit_generator``.

    ``RNG_PHILOX`` is the one that there is, and ``RNG_DEFAULT``, too; ``RNG_THREE_FRY`` is refused,
    for ``tinyjax.random`` draws by it.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> key = jnp.zeros(4, jnp.uint32)
        >>> lax.rng_bit_generator(key, (2,), algorithm=lax.RandomAlgorithm.RNG_PHILOX)[1].dtype
        dtype('uint32')
        >>> list(lax.RandomAlgorithm.__members__)
        ['RNG_DEFAULT', 'RNG_THREE_FRY', 'RNG_PHILOX']
    """

    RNG_DEFAULT = 0
    RNG_THREE_FRY = 1
    RNG_PHILOX = 2

    def __str__(self) -> str:
        return self.name


def rng_bit_generator(
    key: ArrayLike,
    shape: Sequence[int],
    dtype: dtypes.DTypeLike = dtypes.uint32,
    algorithm: RandomAlgorithm | int = RandomAlgorithm.RNG_DEFAULT,
    *,
    out_sharding: Placement = None,
) -> tuple[Array, Array]:
    """Draw unsigned integers of random bits, by Philox-4x32.

    Most programs want the functions of ``tinyjax.random``. Under ``vmap`` all examples get the draw
    of the first key, as in JAX.

    Args:
        key: the generator's state: uint32 of shape (4,), or uint64 of shape (2,).
        shape: the shape of the draw.
        dtype: an unsigned integer type.
        algorithm: the default one or ``RNG_PHILOX``, which are the same.
        out_sharding: where the bits are to lie.

    Returns:
        The state afterwards, and the integers.

    Raises:
        ArgumentError: the algorithm is another.
        ShapeError: the state is not four words.
        DtypeError: the state or ``dtype`` is not of unsigned integers.

    Example:
        >>> import numpy as np
        >>> from tinyjax import lax
        >>> after, bits = lax.rng_bit_generator(np.arange(4, dtype=np.uint32), (2,))
        >>> after, bits
        (Array([0, 1, 3, 3], dtype=uint32), Array([ 895509795, 3230209149], dtype=uint32))
    """
    if not ints.is_one_of(algorithm, (RandomAlgorithm.RNG_DEFAULT, RandomAlgorithm.RNG_PHILOX)):
        raise ArgumentError(
            "rng_bit_generator draws by RNG_PHILOX, which is also RNG_DEFAULT, but got "
            f"{shortened(algorithm)}. tinyjax.random draws by Threefry."
        )
    state, sizes, kind = opd.as_array(key), canonical_shape(shape), dtypes.check(dtype)
    if state.dtype != dtypes.uint64:
        after, bits = philox.rng_bit_generator(state, sizes, kind)
        return after, array.put(bits, out_sharding, "rng_bit_generator")
    if state.shape != (2,):
        raise ShapeError.got("rng_bit_generator has a state of four words", state)
    words = sh.reshape(bitcast.bitcast_convert_type(state, dtypes.uint32), (4,))
    after, bits = philox.rng_bit_generator(words, sizes, kind)
    after = bitcast.bitcast_convert_type(sh.reshape(after, (2, 2)), dtypes.uint64)
    return after, array.put(bits, out_sharding, "rng_bit_generator")
