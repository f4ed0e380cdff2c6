"""Discrete distributions, random order, and choices among elements."""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np

import tinyjax.numpy as jnp
from tinyjax import dtypes, errors
from tinyjax._extensions.host import replay
from tinyjax._primitives import arg_extrema
from tinyjax._primitives.cumulative import cumsum
from tinyjax._primitives.sort import sort, top_k
from tinyjax.core import jit
from tinyjax.core.control_flow.scan import scan
from tinyjax.core.control_flow.while_loop import while_loop
from tinyjax.core.devices import Placement
from tinyjax.core.primitives import elementwise as ew, shape as sh, slicing
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.dtypes import DType, DTypeLike
from tinyjax.errors import ArgumentError, ShapeError
from tinyjax.numpy import promotion as pm
from tinyjax.random import continuous, generators, uniforms
from tinyjax.random.generators import Generator, Key
from tinyjax.random.uniforms import Shape

# Discrete distributions.


#: Up to this rate, arrivals are counted one by one.
_FEW_ARRIVALS: Final = 10
#: Up to this mean, successes are counted one by one.
_FEW_SUCCESSES: Final = 10.0
#: What Stirling's formula for the logarithm of n! lacks, for n from 1 to 10.
_STIRLING_TAILS: Final = [
    math.lgamma(n) - (n - 0.5) * math.log(n) + n - 0.5 * math.log(2 * math.pi) for n in range(1, 11)
]


@uniforms.sampler
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw how many trials it takes until the first success.

    The number is 1 at least; the mean is ``1 / p``.

    Args:
        key: a key.
        p: the probability of success in a trial; broadcasts to ``shape``.
        shape: the shape of the result; that of ``p`` if None.
        dtype: an integer type; the default int if None.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``p`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not an integer type.

    Example:
        >>> import tinyjax
        >>> bool((tinyjax.random.geometric(tinyjax.random.key(0), 0.2, (9,)) >= 1).all())
        True
    """
    own, kind = uniforms.one_key("geometric", key), uniforms.integer_dtype("geometric", dtype)
    probability = pm.precise(pm.promote_inexact(opd.as_operand(p))[0])
    sizes = uniforms.result_shape("geometric", shape, probability.shape)
    sample = uniforms.uniform_of("geometric", own, sizes, probability.dtype)
    sample = jnp.where(sample == 0, 1, sample)
    failure = pm.broadcast_to_shape(jnp.log1p(-probability), sizes)
    return ew.convert_element_type(jnp.floor(jnp.log(sample) / failure) + 1, kind)


@uniforms.sampler
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw the number of events in an interval in which ``lam`` are expected.

    By D. E. Knuth's multiplication of uniform numbers ("The Art of Computer Programming", volume 2,
    3.4.1) where ``lam < 10``, else by transformed rejection (W. Hormann, "The transformed rejection
    method for generating Poisson random variables", 1993).

    Args:
        key: a key of the generator ``threefry2x32``.
        lam: not negative; broadcasts to ``shape``. It is used in float32.
        shape: the shape of the result; that of ``lam`` if None.
        dtype: an integer type; the default int if None.
        out_sharding: where the result is to lie.

    Returns:
        Counts; -1 where ``lam`` is NaN.

    Raises:
        ArgumentError: ``key`` is not a key, or of another generator, or ``shape`` is not a shape.
        ShapeError: ``lam`` does not broadcast to ``shape``.
        DtypeError: ``dtype`` is not an integer type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.poisson(tinyjax.random.key(0), 30.0, (1000,))
        >>> abs(float(x.mean()) - 30) < 1
        True
    """
    own, kind = uniforms.one_key("poisson", key), uniforms.integer_dtype("poisson", dtype)
    if own.generator.name != "threefry2x32":
        raise errors.ArgumentError(
            f"poisson draws with keys of threefry2x32, but key is for {own.generator.name}."
        )
    rate = uniforms.converted(lam, dtypes.float32)
    sizes = uniforms.result_shape("poisson", shape, rate.shape)
    rate = pm.broadcast_to_shape(rate, sizes)
    sample: Array = _poisson(own.generator, kind, own.words, rate)
    return sample


# Loops are compiled in any case: as one program they are not staged anew at each call.
@partial(jit.jit, static_argnums=(0, 1))
def _poisson(generator: Generator, kind: DType, words: Array, rate: Array) -> Array:
    own = Key(generator, words)
    few = jnp.isnan(rate) | (rate < _FEW_ARRIVALS)
    counted = _arrivals(own, jnp.where(few, rate, 0.0), kind)
    tried = _poisson_by_rejection(own, jnp.where(few, 1e5, rate), kind)
    sample = jnp.where(few, counted, tried)
    return jnp.where(rate == 0, jnp.zeros_like(sample), sample)


def _rounds(dtype: DType) -> int:
    """Return how often is drawn at most: as often as the type can count."""
    return int(min(np.iinfo(dtype).max, np.iinfo(np.int32).max))


def _arrivals(own: Key, rate: Array, dtype: DType) -> Array:
    """Count exponential waiting times until their sum is beyond the rate."""
    most = _rounds(dtype)

    def is_short(state: tuple[Array, Array, Array, Array]) -> Array:
        iteration, _, _, log_product = state
        return (log_product > -rate).any() & (iteration < most)

    def wait(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        iteration, count, words, log_product = state
        after, now = own.child(words).children()
        count = jnp.where(log_product > -rate, count + 1, count)
        sample = uniforms.uniform_of("poisson", now, rate.shape, dtypes.float32)
        return iteration + 1, count, after.words, log_product + jnp.log(sample)

    start = (jnp.asarray(0), jnp.zeros(rate.shape, dtype), own.words, jnp.zeros_like(rate))
    return while_loop(is_short, wait, start)[1] - 1


def _poisson_by_rejection(own: Key, rate: Array, dtype: DType) -> Array:
    most = _rounds(dtype)
    b = 0.931 + 2.53 * jnp.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)

    def is_open(state: tuple[Array, Array, Array, Array]) -> Array:
        iteration, _, accepted, _ = state
        return (~accepted).any() & (iteration < most)

    def propose(state: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        iteration, proposals, accepted, words = state
        after, first, second = own.child(words).children(3)
        u = uniforms.uniform_of("poisson", first, rate.shape, rate.dtype) - 0.5
        v = uniforms.uniform_of("poisson", second, rate.shape, rate.dtype)
        distance = 0.5 - jnp.abs(u)
        k = jnp.floor((2 * a / distance + b) * u + rate + 0.43)
        s = jnp.log(v * inverse_alpha / (a / (distance * distance) + b))
        is_quick = (distance >= 0.07) & (v <= quick)
        rejected = (k < 0) | ((distance < 0.013) & (v > distance))
        accept = is_quick | (~rejected & (s <= _log_poisson(k, rate)))
        return iteration + 1, jnp.where(accept, k, proposals), accepted | accept, after.words

    start = (
        jnp.asarray(0),
        jnp.full(rate.shape, -1, rate.dtype),
        jnp.zeros(rate.shape, dtypes.bool_),
        own.words,
    )
    return ew.convert_element_type(while_loop(is_open, propose, start)[1], dtype)


@replay.replayed
def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
) -> Array:
    """Draw how many of ``n`` trials succeed.

    By geometric waiting times where at most 10 successes, or failures, are expected, else by
    transformed rejection (W. Hormann, "The generation of binomial random variates", Journal of
    Statistical Computation and Simulation 46, 1993, algorithm BTRS).

    Args:
        key: a key.
        n: numbers of trials, not negative; broadcasts to ``shape``.
        p: the probability of success in a trial; broadcasts to ``shape``.
        shape: the shape of the result; what the parameters broadcast to if None.
        dtype: a float type; the default float if None.

    Returns:
        Counts, as floats; NaN where ``n`` is negative or NaN, or ``p`` is not a probability.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: the parameters do not broadcast to ``shape``.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import tinyjax
        >>> x = tinyjax.random.binomial(tinyjax.random.key(0), 100, 0.3, (1000,))
        >>> abs(float(x.mean()) - 30) < 1
        True
    """
    own, kind = uniforms.one_key("binomial", key), uniforms.float_dtype("binomial", dtype)
    probability = pm.precise(pm.promote_inexact(opd.as_operand(p))[0])
    count = uniforms.converted(n, probability.dtype)
    sizes = uniforms.result_shape("binomial", shape, count.shape, probability.shape)
    count, probability = (pm.broadcast_to_shape(x, sizes) for x in (count, probability))
    sample: Array = _binomial(own.generator, kind, own.words, count, probability)
    return sample


@partial(jit.jit, static_argnums=(0, 1))
def _binomial(
    generator: Generator, dtype: DType, words: Array, count: Array, probability: Array
) -> Array:
    own = Key(generator, words)
    likely = ~(probability < 0.5)
    q = jnp.where(likely, 1.0 - probability, probability)
    no_count = jnp.isnan(count) | (count < 0.0)
    endless = jnp.isinf(count)
    not_a_number, negative = jnp.isnan(q), q < 0.0
    q = jnp.where(not_a_number | negative, 0.01, q)
    q = jnp.where(q == 0, 0.0, q)  # of -0.0 the waiting times would be infinitely negative
    few = no_count | endless | (count * q <= _FEW_SUCCESSES)
    count = jnp.floor(count)
    counted = _successes(own, jnp.where(few & ~endless, count, 0.0), q, dtype)
    tried = _binomial_by_rejection(own, jnp.where(few, 1e4, count), jnp.where(few, 0.5, q), dtype)
    sample = jnp.where(few, counted, tried)
    invalid = negative | not_a_number | no_count
    sample = jnp.where(invalid, np.nan, sample)
    sample = jnp.where(endless & ~invalid, np.inf, sample)
    complement = likely & ~(no_count | not_a_number | endless)
    return jnp.where(complement, ew.convert_element_type(count, dtype) - sample, sample)


def _successes(own: Key, count: Array, probability: Array, dtype: DType) -> Array:
    """Count geometric waiting times until their sum is beyond the number of trials."""
    failure = jnp.log1p(-probability)

    def is_within(state: tuple[Array, Array, Array]) -> Array:
        return (state[1] <= count).any()

    def wait(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        counted, trials, words = state
        now, after = own.child(words).children()
        counted = jnp.where(trials <= count, counted + 1, counted)
        sample = uniforms.uniform_of("binomial", now, count.shape, probability.dtype)
        return counted, trials + jnp.ceil(jnp.log(sample) / failure), after.words

    zero = jnp.zeros(count.shape, probability.dtype)
    successes = while_loop(is_within, wait, (zero, zero, own.words))[0]
    return ew.convert_element_type(successes - 1, dtype)


def _log_poisson(k: Array, mean: Array) -> Array:
    """Return the logarithm of Poisson's probability of a count, for positive means.

    By the deviance, whose terms do not cancel (C. Loader, "Fast and accurate computation of
    binomial probabilities", 2000), and Stirling's series.
    """
    n = jnp.maximum(k, 1)
    share = (n - mean) / (n + mean)
    squared = jnp.minimum(share * share, 0.01)
    series = jnp.zeros_like(squared)
    for order in range(15, 1, -2):
        series = (series + 1 / order) * squared
    near = (n - mean) * share + 2 * n * share * series
    far = n * jnp.log(n / mean) + mean - n
    deviance = jnp.where(jnp.abs(share) < 0.1, near, far)
    inverse = 1 / (n * n)
    tail = (1 / 12 - (1 / 360 - inverse / 1260) * inverse) / n
    small = jnp.asarray(_STIRLING_TAILS, n.dtype)[jnp.clip(n - 1, 0, 9).astype(dtypes.int32)]
    tail = jnp.where(n <= 10, small, tail)
    return jnp.where(k < 1, -mean, -deviance - tail - 0.5 * jnp.log(2 * math.pi * n))


def _binomial_by_rejection(own: Key, count: Array, probability: Array, dtype: DType) -> Array:
    deviation = jnp.sqrt(count * probability * (1 - probability))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * probability
    c = count * probability + 0.5
    quick = 0.92 - 4.2 / b
    alpha = (2.83 + 5.1 / b) * deviation

    def log_share(k: Array) -> Array:
        # Poisson numbers of these means whose sum is count are binomial
        mean, rest = count * probability, count * (1 - probability)
        return _log_poisson(k, mean) + _log_poisson(count - k, rest)

    greatest = log_share(jnp.floor((count + 1) * probability))

    def is_open(state: tuple[Array, Array, Array]) -> Array:
        return (~state[1]).any()

    def propose(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        proposals, accepted, words = state
        after, first, second = own.child(words).children(3)
        u = uniforms.uniform_of("binomial", first, count.shape, probability.dtype)
        v = uniforms.uniform_of("binomial", second, count.shape, probability.dtype)
        u = u - 0.5
        distance = 0.5 - jnp.abs(u)
        is_quick = (distance >= 0.07) & (v <= quick)
        k = jnp.floor((2 * a / distance + b) * u + c)
        rejected = (k < 0) | (k > count)
        level = jnp.log(v * alpha / (a / (distance * distance) + b))
        accept = is_quick | (~rejected & (level <= log_share(k) - greatest))
        return jnp.where(accept, k, proposals), accepted | accept, after.words

    start = (
        jnp.full(count.shape, -1, probability.dtype),
        jnp.zeros(count.shape, dtypes.bool_),
        own.words,
    )
    return ew.convert_element_type(while_loop(is_open, propose, start)[0], dtype)


@replay.replayed
def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    unroll: int | bool = 1,
) -> Array:
    """Draw how many of ``n`` trials have each of several outcomes.

    One outcome after the other is drawn from the binomial distribution of what is left.

    Args:
        key: a key.
        n: numbers of trials; broadcasts to ``shape[:-1]``.
        p: the outcomes' probabilities, along the last axis; broadcasts to ``shape``.
        shape: the shape of the result, whose last axis is that of the outcomes; that of ``p`` if
            None.
        dtype: a float type; the default float if None.
        unroll: how many outcomes are drawn in one iteration, as in ``lax.scan``.

    Returns:
        Counts, as floats, whose sums along the last axis are ``n``.

    Raises:
        ArgumentError: ``key`` is not a key, or ``shape`` is not a shape.
        ShapeError: ``p`` is a scalar, or a parameter does not broadcast.
        DtypeError: ``dtype`` is not a float type.

    Example:
        >>> import numpy as np, tinyjax
        >>> p = np.array([0.2, 0.3, 0.5], np.float32)
        >>> float(tinyjax.random.multinomial(tinyjax.random.key(0), 100, p).sum())
        100.0
    """
    own, kind = uniforms.one_key("multinomial", key), uniforms.float_dtype("multinomial", dtype)
    shares = pm.precise(opd.as_operand(p))
    trials, probabilities = map(pm.precise, pm.promote_inexact(opd.as_operand(n), shares))
    sizes = probabilities.shape if shape is None else uniforms.sizes_of("multinomial", shape)
    if not sizes or not probabilities.shape:
        raise errors.ShapeError(
            "multinomial takes the probabilities of several outcomes, along the last axis of p, "
            f"but got p of type {probabilities.aval} and the shape {sizes}."
        )
    uniforms.check_broadcast("multinomial", sizes, probabilities.shape)
    uniforms.check_broadcast("multinomial", sizes[:-1], trials.shape)
    trials = pm.broadcast_to_shape(trials, sizes[:-1])
    p_first = jnp.moveaxis(pm.broadcast_to_shape(probabilities, sizes), -1, 0)
    left = cumsum(p_first, 0, reverse=True)
    shares = jnp.clip(p_first / jnp.where(left == 0, 1, left), 0, 1)

    def draw(rest: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        share, words = step
        count = _binomial(own.generator, rest.dtype, words, rest, share)
        return rest - count, count

    _, counts = scan(draw, trials, (shares, own.split((sizes[-1],))), unroll=unroll)
    return ew.convert_element_type(jnp.moveaxis(counts, 0, -1), kind)


# Random order, and choices among elements.


_WORD: Final = 0xFFFFFFFF


@uniforms.sampler
def permutation(
    key: ArrayLike,
    x: int | ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Return an array with its elements in random order, or a random order of ``range(x)``.

    Of an array of several axes, slices along ``axis`` keep together, unless ``independent`` is
    true.

    Args:
        key: a key.
        x: an array of at least one axis, or an integer.
        axis: along which ``x`` is shuffled.
        independent: whether each line along the axis is shuffled in its own way, rather than all
            in the same.
        out_sharding: where the result is to lie.

    Raises:
        ArgumentError: ``key`` is not a key, or ``x`` is a scalar that is not an integer.
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.permutation(tinyjax.random.key(0), 6)
        Array([0, 1, 5, 4, 3, 2], dtype=int32)
    """
    own = uniforms.one_key("permutation", key)
    array = opd.as_array(x)
    axis = ints.canonical_axis(axis, array.ndim or 1)
    if not array.shape:
        if not dtypes.is_integer(array.dtype):
            raise ArgumentError(
                f"permutation takes an array or an integer, but got a scalar of type {array.aval}."
            )
        return _shuffle(own, sh.iota((max(int(array), 0),), dtypes.default_int(), 0), 0)
    if independent or array.ndim == 1:
        return _shuffle(own, array, axis)
    order = _shuffle(own, sh.iota((array.shape[axis],), dtypes.default_int(), 0), 0)
    return jnp.take(array, order, axis)


def _shuffle(own: generators.Key, x: Array, axis: int) -> Array:
    # Sorting by random keys of 32 bits; keys collide, so it is repeated until, with probability
    # 1 - 1/n, no two elements had equal keys every time.
    rounds = math.ceil(3 * math.log(max(1, x.size)) / math.log(_WORD))
    for _ in range(rounds):
        own, child = own.children()
        _, x = sort((child.bits(dtypes.uint32, x.shape), x), axis)
    return x


@replay.replayed
def choice(
    key: ArrayLike,
    a: int | ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: uniforms.GumbelMode | None = None,
) -> Array:
    """Draw elements of an array, or of ``range(a)``.

    Args:
        key: a key.
        a: an array of at least one axis, or an integer.
        shape: how many elements are drawn, in what shape.
        replace: whether an element can be drawn again.
        p: the elements' probabilities, of shape (n,), which sum to 1; equal if None.
        axis: of ``a``, along which is drawn.
        mode: of the Gumbel numbers by which is drawn with ``p`` and without replacement.

    Returns:
        ``a.shape`` with ``shape`` in place of the axis.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer elements than are to be drawn.
        ShapeError: ``p`` has not the shape (n,).
        AxisError: there is no such axis.

    Example:
        >>> import tinyjax
        >>> tinyjax.random.choice(tinyjax.random.key(0), 10, (3,), replace=False)
        Array([0, 1, 8], dtype=int32)
    """
    uniforms.one_key("choice", key, used=False)
    array, sizes = opd.as_array(a), uniforms.sizes_of("choice", shape)
    count = math.prod(sizes)
    if array.shape:
        axis = ints.canonical_axis(axis, array.ndim)
        size = array.shape[axis]
    else:
        size = ints.integer(array, "what choice draws from")
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    result_shape = (*before, *sizes, *after) if array.shape else sizes
    if count == 0:
        return sh.full(result_shape, 0, array.dtype)
    if size <= 0:
        raise ArgumentError(f"choice draws from at least one element, but a has {max(size, 0)}.")
    if not replace and count > size:
        raise ArgumentError(f"choice cannot draw {count} elements from {size} unless replace=True.")
    if p is None and not replace:
        shuffled = permutation(key, array if array.shape else size, axis)
        return sh.reshape(slicing.slice_in_dim(shuffled, 0, count, axis=axis), result_shape)
    indices = _choose(key, size, sizes, replace, p, mode)
    if array.shape:
        return sh.reshape(jnp.take(array, indices, axis), result_shape)
    return sh.reshape(indices, result_shape)


def _choose(
    key: ArrayLike,
    size: int,
    shape: tuple[int, ...],
    replace: bool,
    p: ArrayLike | None,
    mode: uniforms.GumbelMode | None,
) -> Array:
    """Draw indices."""
    if p is None:
        return uniforms.randint(key, shape, 0, size)
    # in few digits most elements would not be drawn
    weights = pm.precise(pm.promote_inexact(opd.as_operand(p))[0])
    if weights.shape != (size,):
        raise ShapeError.got(f"choice among {size} elements takes p of shape ({size},)", weights)
    if replace:
        cumulative = jnp.cumsum(weights)
        sample = uniforms.uniform(key, shape, cumulative.dtype)
        level = jnp.multiply(cumulative[-1], jnp.subtract(1, sample))
        return jnp.searchsorted(cumulative, level).astype(dtypes.default_int())
    # The greatest of log p plus Gumbel noise are a draw without replacement: T. Vieira, "Gumbel-max
    # trick and weighted reservoir sampling" (2014).
    noise = continuous.gumbel(key, (size,), weights.dtype, mode)
    _, indices = top_k(ew.add(noise, ew.log(weights)), math.prod(shape))
    return ew.convert_element_type(indices, dtypes.default_int())


@uniforms.sampler
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: uniforms.GumbelMode | None = None,
    *,
    out_sharding: Placement = None,
) -> Array:
    """Draw categories with probabilities ``softmax(logits)``.

    Logits need not be normalized, and -inf is never drawn. They lie along the last axis by default,
    which the result lacks. No derivative passes through.

    Args:
        key: a key.
        logits: unnormalised log probabilities; floats.
        axis: along which the categories lie.
        shape: the shape of the result: the shape of ``logits`` without the axis, with axes for
            further draws in front; no further draws if None.
        replace: whether the further draws can give the same category again.
        mode: of the Gumbel numbers by which is drawn.
        out_sharding: where the result is to lie.

    Returns:
        Indices along the axis, of the default int.

    Raises:
        ArgumentError: ``key`` is not a key, or there are fewer categories than are to be drawn.
        ShapeError: ``shape`` does not end in that of the logits without the axis.
        AxisError: there is no such axis.
        DtypeError: the logits are not floats.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> logits = jnp.log(jnp.array([0.2, 0.8]))
        >>> tinyjax.random.categorical(tinyjax.random.key(0), logits, shape=(5,))
        Array([1, 1, 1, 1, 0], dtype=int32)
    """
    uniforms.one_key("categorical", key, used=False)
    scores = opd.as_array(logits)
    uniforms.float_dtype("categorical", scores.dtype)
    # noise of few digits would be the same for many categories
    scores = pm.precise(scores)
    dtype = scores.dtype
    axis = ints.canonical_axis(axis, scores.ndim)
    batch = scores.shape[:axis] + scores.shape[axis + 1 :]
    sizes = uniforms.result_shape("categorical", shape, batch)
    prefix = sizes[: len(sizes) - len(batch)]
    if replace:
        rest = list(sizes[len(prefix) :])
        rest.insert(axis, scores.shape[axis])
        noisy = jnp.add(continuous.gumbel(key, (*prefix, *rest), dtype, mode), scores)
        return arg_extrema.argmax(noisy, len(prefix) + axis, dtypes.default_int())
    count = math.prod(prefix)
    if count > scores.shape[axis]:
        raise ArgumentError(
            f"categorical cannot draw {count} of {scores.shape[axis]} categories unless "
            "replace=True."
        )
    noisy = jnp.add(continuous.gumbel(key, scores.shape, dtype, mode), scores)
    _, indices = top_k(sh.moveaxis(noisy, axis, scores.ndim - 1), count)
    sample = sh.transpose(indices, (indices.ndim - 1, *range(indices.ndim - 1)))
    return ew.convert_element_type(sh.reshape(sample, sizes), dtypes.default_int())
