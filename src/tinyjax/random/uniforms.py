"""Uniform numbers and bits, and the arguments that samplers share."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import config, dtypes, errors
from tinyjax._base import frames
from tinyjax._extensions.host.replay import replayed
from tinyjax._primitives import bitcast, random_bits, result_placement
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.stablehlo.types import check_axes
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.dtypes import DType, DTypeLike, default_float, default_int
from tinyjax.numpy import promotion as pm
from tinyjax.random import generators

# Arguments that samplers share: keys, shapes, dtypes and parameters.


F = TypeVar("F", bound=Callable[..., Any])
Shape: TypeAlias = int | Sequence[int]
GumbelMode: TypeAlias = Literal["low", "high"]


def sampler(fun: F) -> F:
    """Decorate a function that draws: calls are replayed, and ``out_sharding`` is obeyed."""
    return replayed(result_placement.placed(fun))


def precisely(fun: F) -> F:
    """Decorate a function that draws, to draw in float32 what is rounded to a narrower dtype.

    Uniform numbers of few digits would make infinite numbers, or few different ones.
    """
    place = [*inspect.signature(fun).parameters].index("dtype")

    def call(*args: Any, **kwargs: Any) -> Any:
        dtype = args[place] if len(args) > place else kwargs.get("dtype")
        kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
        if not dtypes.is_narrow_float(kind):
            return fun(*args, **kwargs)
        if len(args) > place:
            args = (*args[:place], dtypes.float32, *args[place + 1 :])
        else:
            kwargs["dtype"] = dtypes.float32
        return ew.convert_element_type(fun(*args, **kwargs), kind)

    wrapper: Any = frames.imitate(call, fun)
    precise: F = wrapper
    return precise


def default_generator() -> generators.Generator:
    """Return the generator of raw keys, and of keys that are made without naming one."""
    return generators.named(config.settings().default_prng_impl)


def one_key(name: str, key: ArrayLike, *, used: bool = True) -> generators.Key:
    """Return the key that a sampler is given, typed or raw.

    Args:
        name: the sampler.
        key: what it is given.
        used: whether it uses the key itself, rather than hand it to another one.

    Raises:
        ArgumentError: it is not a key, or there are several.
        KeyReuseError: it was used before, and the setting ``debug_key_reuse`` asks for that.
    """
    if isinstance(key, tuple):
        raise errors.ArgumentError(
            f"{name} takes a key first: {name}(key, ...), where key is tinyjax.random.key(seed). "
            f"It got {key}, which looks like a shape."
        )
    keys = opd.as_array(key)
    if dtypes.is_key(keys.dtype):
        if keys.shape:
            raise errors.ArgumentError(
                f"{name} takes one key, but got {keys.aval}. Use vmap, or index one of them."
            )
        if used and config.settings().debug_key_reuse:
            from tinyjax._extensions.state.key_reuse import use  # noqa: PLC0415 (few programs ask for it)

            use(keys, name)
        return generators.Key(generators.of_keys(keys.dtype), random_bits.random_unwrap(keys))
    generator = default_generator()
    count = generator.words
    if keys.dtype != dtypes.uint32 or keys.shape != (count,):
        if keys.dtype == dtypes.uint32 and keys.shape[-1:] == (count,):
            advice = "These are several keys: use vmap, or index one of them."
        elif dtypes.is_integer(keys.dtype) and not keys.shape:
            advice = "This looks like a seed: make a key of it with tinyjax.random.key(seed)."
        else:
            advice = "Make a key with tinyjax.random.key(seed)."
        raise errors.ArgumentError(
            f"{name} takes a key: one of tinyjax.random.key(seed), or a uint32 array of shape "
            f"({count},), but got {keys.aval}. {advice}"
        )
    return generators.Key(generator, keys)


def sizes_of(name: str, shape: Shape) -> tuple[int, ...]:
    """Return the sizes of a shape, which may be one size.

    Raises:
        ArgumentError: it is not a shape.
        ShapeError: it has more axes than an array of NumPy's has.
    """
    try:
        entries = ints.one_or_more(shape, "shape")
        whole = [n if isinstance(n, ints.SymbolicSize) else operator.index(n) for n in entries]
        sizes = tuple(whole)
    except errors.ConcretizationError:  # says to make the argument static
        raise
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise errors.ArgumentError(
            f"{name} takes a shape: a tuple of sizes, or one size, but got "
            f"{errors.shortened(shape)}."
        )
    check_axes(sizes)
    return sizes


def check_broadcast(name: str, shape: tuple[int, ...], *parameters: tuple[int, ...]) -> None:
    """Raise unless parameters of these shapes broadcast to ``shape``, without widening it."""
    if parameters and pm.broadcast_shapes(shape, *parameters) != shape:
        raise errors.ShapeError(
            f"{name} takes parameters that broadcast to its shape {shape}, but they have shapes "
            f"{' and '.join(map(str, parameters))}."
        )


def result_shape(name: str, shape: Shape | None, *parameters: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the result: the broadcast of the parameters, unless one is given."""
    if shape is None:
        return pm.broadcast_shapes(*parameters)
    sizes = sizes_of(name, shape)
    check_broadcast(name, sizes, *parameters)
    return sizes


def integer_dtype(name: str, dtype: DTypeLike) -> dtypes.DType:
    """Return the integer type requested from a sampler: the default one if None.

    Raises:
        DtypeError: it is no integer type.
    """
    kind = dtypes.default_int() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_integer(kind):
        raise errors.DtypeError(f"{name} draws integers, but dtype is {kind.name}.")
    return kind


def float_dtype(name: str, dtype: DTypeLike) -> dtypes.DType:
    """Return the float type requested from a sampler: the default one if None.

    Raises:
        DtypeError: it is not a float type.
    """
    kind = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_float(kind):
        raise errors.DtypeError(f"{name} draws floats, but dtype is {kind.name}.")
    return kind


def converted(x: ArrayLike, dtype: dtypes.DType) -> Array:
    """Make an array of a parameter; a Python number without a detour through the default float."""
    if isinstance(x, (bool, int, float)):
        return opd.scalar(x, dtype)
    return ew.convert_element_type(opd.as_array(x), dtype)


def drawing(
    name: str, key: ArrayLike, shape: Shape | None, dtype: DTypeLike, *values: ArrayLike
) -> tuple[generators.Key, list[Array], tuple[int, ...], dtypes.DType]:
    """Return the key, and the parameters, shape and dtype of the result as ``parameters_of``."""
    return one_key(name, key), *parameters_of(name, shape, dtype, *values)


def parameters_of(
    name: str, shape: Shape | None, dtype: DTypeLike, *values: ArrayLike
) -> tuple[list[Array], tuple[int, ...], dtypes.DType]:
    """Convert parameters to the dtype and the shape of the result."""
    kind = float_dtype(name, dtype)
    parameters = [opd.as_array(x) if not isinstance(x, (bool, int, float)) else x for x in values]
    for x in parameters:
        if isinstance(x, Array) and dtypes.is_complex(x.dtype):
            raise errors.DtypeError(f"{name} takes real parameters, but got {x.aval}.")
    arrays = [converted(x, kind) for x in parameters]
    sizes = result_shape(name, shape, *[x.shape for x in arrays])
    return [pm.broadcast_to_shape(x, sizes) for x in arrays], sizes, kind


# Bits, and numbers that are uniform: floats, integers, bools.


@sampler
def bits(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw unsigned integers, all of their bits random.

    They are uint32 by default. The same key gives the same bits, which are those that JAX gives for
    it.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: an unsigned integer type; by default as wide as the default int.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        DtypeError: ``dtype`` is not an unsigned integer type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.bits(tinyjax.random.key(0), (3,), "uint8")
        Array([167, 146,  40], dtype=uint8)
    """
    own = one_key("bits", key)
    kind = np.dtype(f"uint{default_int().itemsize * 8}") if dtype is None else dtypes.check(dtype)
    if kind not in dtypes.UNSIGNED:
        raise errors.DtypeError(f"bits draws unsigned integers, but dtype is {kind.name}.")
    return own.bits(kind, sizes_of("bits", shape))


@sampler
def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw floats that are uniform in [minval, maxval).

    ``minval`` itself may be drawn, ``maxval`` not. The same key gives the same numbers.

    Args:
        key: a key.
        shape: the shape of the result. For ``()`` the bounds may be arrays of one element, and the
            result has the shape of ``minval``.
        dtype: a float type; the default float if None.
        minval: broadcasts to ``shape``; differentiable, as is ``maxval``.
        maxval: broadcasts to ``shape``.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.uniform(tinyjax.random.key(0), (1000,), minval=-1.0)
        >>> bool((x >= -1).all()), bool((x < 1).all())
        (True, True)
    """
    own = one_key("uniform", key)
    kind, sizes = float_dtype("uniform", dtype), sizes_of("uniform", shape)
    return uniform_of("uniform", own, sizes, kind, minval, maxval)


def uniform_of(
    name: str,
    own: generators.Key,
    shape: tuple[int, ...],
    dtype: DType,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
) -> Array:
    """Draw from the two words of a key; see ``uniform``.

    Raises:
        DtypeError: the dtype is complex, as a parameter's may be that it is taken from.
    """
    if dtypes.is_complex(dtype):
        raise errors.DtypeError(f"{name} draws by real parameters, but got some of {dtype}.")
    floats = _floats(own, shape, dtype)
    if isinstance(minval, float) and isinstance(maxval, float) and (minval, maxval) == (0.0, 1.0):
        return floats
    low, high = converted(minval, dtype), converted(maxval, dtype)
    if not shape and (low.ndim or high.ndim) and low.size == high.size == 1:
        # One number between bounds that are arrays of one element: JAX shapes it like the lower.
        number = uniform_between(floats, jnp.reshape(low, ()), jnp.reshape(high, ()))
        return jnp.reshape(number, low.shape)
    check_broadcast(name, shape, low.shape, high.shape)
    return uniform_between(floats, low, high)


def positive_of(name: str, own: generators.Key, shape: tuple[int, ...], dtype: DType) -> Array:
    """Draw as ``uniform_of``; in place of 0, half of the least of the other numbers.

    A logarithm of 0, or of the least number there is, would be drawn far too often.
    """
    floats = uniform_of(name, own, shape, dtype, float(jnp.finfo(dtype).smallest_normal), 1.0)
    return ew.max_(floats, sh.full_like(floats, float(jnp.finfo(dtype).eps) / 2))


def _floats(own: generators.Key, shape: tuple[int, ...], dtype: DType) -> Array:
    """Draw floats that are uniform in [0, 1)."""
    if dtype == dtypes.float32:
        few = own.generator.few_floats(own.words, shape)
        if few is not None:
            return few
    digits = jnp.finfo(dtype).nmant
    # a mantissa of less than 8 digits is filled from a byte
    width = dtype.itemsize if digits >= 8 else 1
    sample = own.bits(np.dtype(f"u{width}"), shape)
    sample = ew.shift_right_logical(sample, sh.full_like(sample, width * 8 - digits))
    # The mantissa of a number between 1 and 2, from which 1 is taken: nothing is rounded, and it
    # compiles in half the time of a conversion of the integer.
    sample = ew.convert_element_type(sample, np.dtype(f"u{dtype.itemsize}"))
    one = int(np.ones((), dtype).view(sample.dtype))
    floats = bitcast.bitcast_convert_type(ew.or_(sample, sh.full_like(sample, one)), dtype)
    return ew.sub(floats, sh.full_like(floats, 1.0))


def two_of(
    name: str, own: generators.Key, shape: tuple[int, ...], dtype: DType
) -> tuple[Array, Array]:
    """Draw floats that are uniform in [0, 1), and further digits to add."""
    both = uniform_of(name, own, (2, *shape), dtype)
    coarse, fine = (sh.squeeze(slicing.slice_in_dim(both, i, i + 1), (0,)) for i in range(2))
    return coarse, ew.mul(fine, sh.full_like(fine, 2.0 ** -jnp.finfo(dtype).nmant))


def uniform_between(floats: Array, low: Array, high: Array) -> Array:
    """Spread floats that are uniform in [0, 1) over [low, high)."""
    shape = floats.shape
    span = pm.broadcast_to_shape(jnp.subtract(high, low), shape)
    low = pm.broadcast_to_shape(low, shape)
    return ew.max_(low, ew.add(ew.mul(floats, span), low))


@sampler
def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw integers that are uniform in [minval, maxval).

    Twice as many random bits are drawn as the type has, so that numbers in a range that does not
    divide a power of two are almost equally likely. Where ``maxval <= minval`` the result is
    ``minval``.

    Args:
        key: a key.
        shape: the shape of the result.
        minval: integers that broadcast to ``shape``; those out of the type's range mean its ends.
        maxval: the same; one more than the type's greatest number makes that one possible.
        dtype: an integer type; the default int if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the bounds do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not an integer type.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.randint(tinyjax.random.key(0), (5,), 0, 10)
        Array([9, 0, 2, 3, 1], dtype=int32)
    """
    own, sizes = one_key("randint", key), sizes_of("randint", shape)
    kind = integer_dtype("randint", dtype)
    # narrower types are drawn in 32 bits, for the sake of equal likelihood
    wide = kind if kind.itemsize >= 4 else dtypes.int32
    ends = np.iinfo(kind)
    low, _ = _bound(minval, wide, int(ends.min), int(ends.max))
    high, beyond = _bound(maxval, wide, int(ends.min), int(ends.max) + (wide != kind))
    check_broadcast("randint", sizes, low.shape, high.shape)
    inner = pm.broadcast_shapes(low.shape, high.shape)
    low, high, beyond = (pm.broadcast_to_shape(x, inner) for x in (low, high, beyond))

    unsigned = np.dtype(f"u{wide.itemsize}")
    empty = ew.le(high, low)
    one_more = ew.convert_element_type(ew.and_(beyond, ew.not_(empty)), unsigned)
    span = ew.add(ew.convert_element_type(ew.sub(high, low), unsigned), one_more)
    # An empty range has one number. All numbers there are make a span of 0, but a remainder by 0 is
    # no thing to compile: XLA's constant folding ends the process.
    everything = ew.and_(ew.not_(empty), ew.eq(span, sh.full_like(span, 0)))
    span = ew.select(ew.or_(empty, everything), sh.full_like(span, 1), span)
    # (first * 2^n + second) mod span, in n bits, by way of 2^n = (2^(n/2))^2
    root = ew.rem(sh.full_like(span, 1 << wide.itemsize * 4), span)
    power = ew.rem(ew.mul(root, root), span)

    first, second = own.bits_of_children(unsigned, sizes)
    span, power, low, everything = (
        pm.broadcast_to_shape(x, sizes) for x in (span, power, low, everything)
    )
    offset = ew.rem(ew.add(ew.mul(ew.rem(first, span), power), ew.rem(second, span)), span)
    offset = ew.select(everything, second, offset)
    sample = ew.add(low, ew.convert_element_type(offset, wide))
    return ew.convert_element_type(sample, kind)


def _bound(value: ArrayLike, dtype: DType, least: int, most: int) -> tuple[Array, Array]:
    """Convert a bound, kept in [least, most]; say where it exceeds the type's greatest number."""
    greatest = int(np.iinfo(dtype).max)
    if isinstance(value, (bool, int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise errors.ArgumentError(f"a bound of randint must be finite, but got {value}.")
        number = int(value)
        within = sh.full((), min(max(number, least), most), dtype)
        return within, sh.full((), number > greatest, dtypes.bool_)
    bound = opd.as_array(value)
    if not dtypes.is_integer(bound.dtype):
        bound = ew.convert_element_type(bound, default_int())
    ends = np.iinfo(bound.dtype)
    least, most = max(least, int(ends.min)), min(most, int(ends.max))
    if greatest < int(ends.max):
        beyond = ew.gt(bound, sh.full_like(bound, greatest))
    else:
        beyond = sh.full(bound.shape, False, dtypes.bool_)
    kept = ew.clamp(sh.full_like(bound, least), bound, sh.full_like(bound, most))
    return ew.convert_element_type(kept, dtype), beyond


@sampler
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: Literal["low", "high"] = "low",
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw bools that are True with probability ``p``.

    ``p`` may be an array, to whose shape the result is drawn if none is given.

    Args:
        key: a key.
        p: floats that broadcast to ``shape``.
        shape: the shape of the result; that of ``p`` if None.
        mode: ``"high"`` draws twice as many bits, which matters for very small ``p``.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, ``shape`` is not a shape, or there is no such mode.
        ShapeError: ``p`` does not broadcast to ``shape``.
        DtypeError: ``p`` is not a float.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> tinyjax.random.bernoulli(tinyjax.random.key(0), 0.3, (4,))
        Array([False, False, False, False], dtype=bool)
        >>> tinyjax.random.bernoulli(tinyjax.random.key(0), jnp.array([0.0, 1.0]))
        Array([False,  True], dtype=bool)
    """
    own = one_key("bernoulli", key)
    probability = opd.as_array(p)
    pm.check_option("bernoulli", "mode", mode, ("low", "high"))
    if not dtypes.is_float(probability.dtype):
        raise errors.DtypeError(f"bernoulli takes a float p, but got {probability.aval}.")
    # in few digits a small probability lies between two uniform numbers
    probability = pm.precise(probability)
    sizes, dtype = result_shape("bernoulli", shape, probability.shape), probability.dtype
    probability = pm.broadcast_to_shape(ew.convert_element_type(probability, dtype), sizes)
    if mode == "low":
        return ew.lt(uniform_of("bernoulli", own, sizes, dtype), probability)
    coarse, fine = two_of("bernoulli", own, sizes, dtype)
    return ew.lt(fine, ew.sub(probability, coarse))


@sampler
def rademacher(
    key: ArrayLike, shape: Shape = (), dtype: DTypeLike = None, *, out_sharding: Placement = None
) -> Array:
    """Draw -1 and 1 with equal probability.

    The result is int32 unless ``dtype`` says otherwise. The mean is 0 and the variance 1.

    Args:
        key: a key.
        shape: the shape of the result.
        dtype: any type of numbers; the default int if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.rademacher(tinyjax.random.key(0), (4,))
        Array([-1, -1,  1,  1], dtype=int32)
    """
    own, sizes = one_key("rademacher", key), sizes_of("rademacher", shape)
    return rademacher_of(own, sizes, default_int() if dtype is None else dtypes.check(dtype))


def rademacher_of(own: generators.Key, shape: tuple[int, ...], dtype: DType) -> Array:
    """Draw from the two words of a key; see ``rademacher``."""
    half = sh.full(shape, 0.5, default_float())
    heads = ew.lt(uniform_of("rademacher", own, shape, half.dtype), half)
    # twice minus one, in the type's own arithmetic, whose -1 may be its greatest number
    doubled = ew.convert_element_type(ew.convert_element_type(heads, dtypes.int32), dtype)
    return ew.sub(ew.add(doubled, doubled), sh.full_like(doubled, 1))
