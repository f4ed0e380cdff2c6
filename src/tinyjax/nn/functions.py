"""Activations, elementwise, and normalisations over axes.

Where an activation has a kink, its derivative there is one of the two sides' and named in the
docstring. Integers become floats where the formula is not an integer's.
"""

from __future__ import annotations

import math
from typing import Literal

from tinyjax import dtypes, errors
from tinyjax._extensions.host import replay
from tinyjax._primitives.special import erfc
from tinyjax.core.primitives import elementwise as ew, identities, shape as sh, slicing
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.values import Array, ArrayLike, integers as ints, operands as opd
from tinyjax.dtypes import DTypeLike
from tinyjax.lax import DotDimensionNumbers, dot_general
from tinyjax.numpy import creation, elementwise, promotion as pm, reductions
from tinyjax.numpy.taking import repeat
from tinyjax.scipy.special.basic import log_minus_expm1, logsumexp, shifted

# Rectifiers


def identity(x: ArrayLike) -> Array:
    """Return ``x`` as an array, unchanged: an activation for a layer that has none.

    Args:
        x: array of any shape and dtype; Python numbers become arrays.

    Example:
        >>> from tinyjax import nn
        >>> float(nn.identity(3.0))
        3.0
    """
    return opd.as_array(x, "identity")


def relu(x: ArrayLike) -> Array:
    """Return ``max(x, 0)``, whose derivative at 0 is 0.

    ``jnp.maximum(x, 0)`` would share the derivative at 0 with the constant, and give 1/2 there.
    Integers stay integers, and NaN stays NaN.

    Args:
        x: real.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.relu(jnp.array([-1.0, 0.0, 2.0]))
        Array([0., 0., 2.], dtype=float32)
        >>> tinyjax.grad(nn.relu)(0.0), nn.relu(-3)
        (Array(0., dtype=float32, weak_type=True), Array(0, dtype=int32, weak_type=True))
    """
    a = pm.array_of("relu", x)
    # a selection and no maximum, whose derivative at 0 is a half; NaN passes through
    zero = sh.full_like(a, 0)
    return ew.select(ew.le(a, zero), zero, a)


def relu6(x: ArrayLike) -> Array:
    """Return ``min(max(x, 0), 6)``, whose derivative at 0 and 6 is 0.

    Networks for small devices use it, whose numbers are kept in few bits. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.relu6(jnp.array([-1.0, 2.0, 9.0]))
        Array([0., 2., 6.], dtype=float32)
    """
    a = pm.inexact(x, "relu6")
    return relu(elementwise.pick(a >= 6, 6.0, a))


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 1e-2) -> Array:
    """Return ``x`` where it is at least 0, ``negative_slope * x`` elsewhere.

    The derivative is 1 at 0, ``negative_slope`` below. Integers become floats.

    Args:
        x: real.
        negative_slope: broadcasts with ``x``.

    Example:
        >>> import tinyjax
        >>> from tinyjax import nn
        >>> float(nn.leaky_relu(-2.0, 0.5))
        -1.0
        >>> tinyjax.grad(nn.leaky_relu)(-1.0)
        Array(0.01, dtype=float32, weak_type=True)
    """
    a = pm.inexact(x, "leaky_relu")
    return elementwise.pick(ew.ge(a, sh.full_like(a, 0)), a, negative_slope * a)


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return ``x`` where it is positive, ``alpha (exp(x) - 1)`` elsewhere.

    It is smooth at 0 for ``alpha=1``, where the derivative is 1, and tends to ``-alpha`` on the
    left. Integers become floats.

    Args:
        x: real.
        alpha: broadcasts with ``x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> round(float(nn.elu(-1.0)), 4)
        -0.6321
        >>> nn.elu(jnp.array([-jnp.inf, 0.0, 2.0]))
        Array([-1.,  0.,  2.], dtype=float32)
    """
    a, scale = pm.floats("elu", x, alpha)
    positive = ew.gt(a, sh.full_like(a, 0.0))
    # the exponential of a large number would make its derivative inf * 0
    return elementwise.pick(positive, a, scale * ew.expm1(elementwise.pick(positive, 0.0, a)))


def selu(x: ArrayLike) -> Array:
    """Return a scaled ``elu`` that keeps mean 0 and variance 1 through layers.

    The constants are those of G. Klambauer et al., "Self-normalizing neural networks" (2017).

    Args:
        x: real.

    Example:
        >>> from tinyjax import nn
        >>> round(float(nn.selu(1.0)), 4)
        1.0507
    """
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """Return ``max(x, 0) + min(0, alpha (exp(x / alpha) - 1))``, smooth for every ``alpha``.

    Args:
        x: real.
        alpha: broadcasts with ``x``.

    Example:
        >>> from tinyjax import nn
        >>> round(float(nn.celu(-1.0, 2.0)), 4)
        -0.7869
    """
    a, scale = pm.floats("celu", x, alpha)
    return elementwise.maximum(a, 0.0) + scale * elementwise.expm1(
        elementwise.minimum(a, 0.0) / scale
    )


def hard_tanh(x: ArrayLike) -> Array:
    """Return ``min(max(x, -1), 1)``, whose derivative at -1 and 1 is 1.

    Integers stay integers, and NaN stays NaN. The derivative is 0 outside.

    Args:
        x: real.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.hard_tanh(3.0))
        1.0
        >>> nn.hard_tanh(jnp.array([-2.0, 0.3])), tinyjax.grad(nn.hard_tanh)(1.0)
        (Array([-1. ,  0.3], dtype=float32), Array(1., dtype=float32, weak_type=True))
    """
    a = pm.array_of("hard_tanh", x)
    at_most_one = elementwise.pick(ew.gt(a, sh.full_like(a, 1)), 1, a)
    if dtypes.kind(a.dtype) in "bu":
        return at_most_one
    return elementwise.pick(ew.lt(a, sh.full_like(a, -1)), -1, at_most_one)


def sparse_plus(x: ArrayLike) -> Array:
    """Return 0 up to -1, ``x`` from 1 on, and the parabola ``(x + 1)^2 / 4`` between.

    Args:
        x: real.

    Example:
        >>> from tinyjax import nn
        >>> float(nn.sparse_plus(0.0))
        0.25
    """
    a = pm.inexact(x, "sparse_plus")
    parabola = elementwise.square(a + 1.0) / 4
    return elementwise.pick(a <= -1.0, 0.0, elementwise.pick(a >= 1.0, a, parabola))


# Smooth activations


def sigmoid(x: ArrayLike) -> Array:
    """Return ``1 / (1 + exp(-x))``.

    It neither overflows nor underflows to NaN: 0 and 1 far out. The derivative is ``sigmoid(x)
    sigmoid(-x)``. Integers become floats. It is ``scipy.special.expit``.

    Args:
        x: real or complex.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.sigmoid(0.0))
        0.5
        >>> nn.sigmoid(jnp.array([-1000.0, 1000.0]))
        Array([0., 1.], dtype=float32)
    """
    return ew.logistic(pm.inexact(x, "sigmoid"))


def hard_sigmoid(x: ArrayLike) -> Array:
    """Return ``relu6(x + 3) / 6``.

    A ``sigmoid`` of three straight lines: 0 from -3 down, 1 from 3 up, the derivative 1/6 between
    them and 0 at the corners.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.hard_sigmoid(0.0))
        0.5
        >>> nn.hard_sigmoid(jnp.array([-3.0, 0.0, 5.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    return relu6(pm.inexact(x, "hard_sigmoid") + 3.0) / 6.0


def sparse_sigmoid(x: ArrayLike) -> Array:
    """Return ``(x + 1) / 2``, kept between 0 and 1; the derivative of ``sparse_plus``.

    The derivative is 1/2 within, 0 outside, and 1/4 at -1 and 1, where two values tie.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.sparse_sigmoid(0.5))
        0.75
        >>> nn.sparse_sigmoid(jnp.array([-2.0, 0.0, 2.0]))
        Array([0. , 0.5, 1. ], dtype=float32)
    """
    a = pm.inexact(x, "sparse_sigmoid")
    return 0.5 * elementwise.minimum(elementwise.maximum(a + 1.0, 0.0), 2.0)


def log_sigmoid(x: ArrayLike) -> Array:
    """Return ``log(sigmoid(x))``.

    It is computed as ``-softplus(-x)``, so that it keeps its digits where ``sigmoid`` rounds to 0
    or 1. The derivative is ``sigmoid(-x)``.

    Args:
        x: real.

    Example:
        >>> import tinyjax
        >>> from tinyjax import nn
        >>> float(nn.log_sigmoid(-1000.0))
        -1000.0
        >>> tinyjax.grad(nn.log_sigmoid)(-1000.0)
        Array(1., dtype=float32, weak_type=True)
    """
    return -softplus(-pm.inexact(x, "log_sigmoid"))


def softplus(x: ArrayLike) -> Array:
    """Return ``log(1 + exp(x))``.

    A smooth ``relu``, computed without overflow. The derivative is ``sigmoid(x)``. Integers become
    floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.softplus(1000.0))
        1000.0
        >>> nn.softplus(jnp.array([-1000.0, 0.0]))
        Array([0.       , 0.6931472], dtype=float32)
    """
    return elementwise.logaddexp(x, 0.0)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Array:
    """Return ``(x + sqrt(x^2 + b)) / 2``, an algebraic ``softplus``.

    ``b`` says how round the corner at 0 is: with 0 it is ``relu``. No exponential can overflow. The
    derivative at 0 is 1/2. Integers become floats.

    Args:
        x: real.
        b: broadcasts with ``x``.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.squareplus(0.0))
        1.0
        >>> nn.squareplus(jnp.array([-1000.0, 1000.0]), 0.0)
        Array([   0., 1000.], dtype=float32)
    """
    a, width = pm.floats("squareplus", x, b)
    # the root of squares that neither overflow nor vanish, whatever the scale
    tiny = float(dtypes.finfo(a.dtype).tiny)
    size = elementwise.maximum(ew.abs_(a), elementwise.sqrt(elementwise.abs(width)))
    scale = identities.stop_gradient(elementwise.maximum(size, tiny))
    root = scale * elementwise.sqrt(elementwise.square(a / scale) + width / scale / scale)
    # half of it and |a| is the greater root of two whose product is b / 4: nothing cancels so
    is_left = a < 0
    greater = elementwise.pick(is_left, -a, a) / 2 + root / 2
    lesser = width / 4 / elementwise.pick(greater == 0, 1.0, greater)
    return elementwise.pick(is_left, 0.0, a) + lesser


def soft_sign(x: ArrayLike) -> Array:
    """Return ``x / (|x| + 1)``.

    It tends to -1 and 1, more slowly than ``tanh``. The derivative is ``1 / (|x| + 1)^2``, at 0 it
    is 1. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.soft_sign(1.0))
        0.5
        >>> nn.soft_sign(jnp.array([-3.0, 1e30, jnp.inf]))
        Array([-0.75,  1.  ,  1.  ], dtype=float32)
    """
    a = pm.inexact(x, "soft_sign")
    # far out the derivative of the quotient would cancel
    size = ew.abs_(a)
    is_near = size < 1
    far = elementwise.pick(a < 0, -1.0, 1.0) * (1 - 1 / (size + 1))
    return elementwise.pick(is_near, elementwise.pick(is_near, a, 0.0) / (size + 1), far)


def log1mexp(x: ArrayLike) -> Array:
    """Return ``log(1 - exp(-x))`` to full precision, for ``x >= 0``.

    Args:
        x: real; below zero the result is NaN.

    Near zero it is computed as ``log(-expm1(-x))``, elsewhere as ``log1p(-exp(-x))`` (M. Mächler,
    "Accurately computing ``log(1 - exp(-|a|))``", 2012).

    Example:
        >>> from tinyjax import nn
        >>> round(float(nn.log1mexp(1e-20)), 3)
        -46.052
    """
    return log_minus_expm1(pm.inexact(x, "log1mexp"))


def silu(x: ArrayLike) -> Array:
    """Return ``x sigmoid(x)``, also known as swish.

    0 far to the left, ``x`` far to the right, and least (-0.28) at -1.28. The derivative at 0 is
    1/2. Integers become floats; ``nn.swish`` is the same function.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> round(float(nn.silu(1.0)), 4)
        0.7311
        >>> nn.silu(jnp.array([-1000.0, 0.0, 1000.0]))
        Array([  -0.,    0., 1000.], dtype=float32)
    """
    a = pm.inexact(x, "silu")
    return ew.mul(a, ew.logistic(a))


swish = silu


def hard_silu(x: ArrayLike) -> Array:
    """Return ``x hard_sigmoid(x)``.

    A ``silu`` without exponentials: 0 from -3 down, ``x`` from 3 up. Also known as hard swish;
    ``nn.hard_swish`` is the same function.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.hard_silu(3.0))
        3.0
        >>> nn.hard_silu(jnp.array([-4.0, -1.0, 4.0]))
        Array([-0.        , -0.33333334,  4.        ], dtype=float32)
    """
    a = pm.inexact(x, "hard_silu")
    return a * hard_sigmoid(a)


hard_swish = hard_silu


def mish(x: ArrayLike) -> Array:
    """Return ``x tanh(softplus(x))``.

    A smooth function much like ``silu``: 0 far to the left, ``x`` far to the right, least (-0.31)
    at -1.19. Integers become floats.

    Args:
        x: real.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> round(float(nn.mish(1.0)), 4)
        0.8651
        >>> nn.mish(jnp.array([-1000.0, 1000.0]))
        Array([  -0., 1000.], dtype=float32)
    """
    a = pm.inexact(x, "mish")
    return a * elementwise.tanh(softplus(a))


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """Return ``x`` times the standard normal distribution function of ``x``.

    D. Hendrycks, K. Gimpel, "Gaussian error linear units" (2016).

    Args:
        x: real.
        approximate: use the paper's formula in tanh instead of the error function.

    Example:
        >>> from tinyjax import nn
        >>> round(float(nn.gelu(1.0, approximate=False)), 4)
        0.8413
    """
    a = pm.inexact(x, "gelu")
    if approximate:
        # 1 + tanh(x) is twice the sigmoid of 2 x; beyond 30 it is 0 or 2, and cubes may overflow
        bound = sh.full_like(a, 30.0)
        y = ew.clamp(ew.neg(bound), a, bound)
        return a * ew.logistic(math.sqrt(8 / math.pi) * (y + 0.044715 * ew.integer_pow(y, 3)))
    return 0.5 * a * erfc(-a * math.sqrt(0.5))


def glu(x: ArrayLike, axis: int = -1) -> Array:
    """Return the first half along an axis times the sigmoid of the second half.

    Args:
        x: real.
        axis: of even size.

    Raises:
        AxisError: there is no such axis.
        ShapeError: its size is odd.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.glu(jnp.array([4.0, 0.0]))
        Array([2.], dtype=float32)
    """
    a = pm.inexact(x, "glu")
    axis = ints.canonical_axis(axis, a.ndim)
    half, odd = divmod(a.shape[axis], 2)
    if odd:
        raise errors.ShapeError(f"glu halves an axis, but axis {axis} of {a.aval} has an odd size.")
    value, gate = (slicing.slice_in_dim(a, i * half, (i + 1) * half, axis=axis) for i in range(2))
    return ew.mul(value, ew.logistic(gate))


# Normalisations


def softmax(x: ArrayLike, axis: ints.Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return ``exp(x) / sum(exp(x))``, without overflow.

    Args:
        x: real.
        axis: over which the result sums to 1: an axis, several, or None for all.
        where: bools that say which elements take part; the others are 0. They broadcast to ``x``.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.softmax(jnp.array([0.0, 0.0, 1000.0]))
        Array([0., 0., 1.], dtype=float32)
    """
    unnormalised = ew.exp(shifted("softmax", x, axis, where))
    out = unnormalised / reductions.sum(unnormalised, axis, keepdims=True, where=where)
    out = pm.convert(out, pm.inexact(x).dtype)
    return out if where is None else elementwise.pick(where, out, 0.0)


def log_softmax(x: ArrayLike, axis: ints.Axis = -1, where: ArrayLike | None = None) -> Array:
    """Return ``log(softmax(x))``, accurate where that is small.

    Args:
        x: real.
        axis: over which the result's exponential sums to 1: an axis, several, or None for all.
        where: bools that say which elements take part, and broadcast to ``x``; the others are -inf.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.log_softmax(jnp.array([0.0, 1000.0]))
        Array([-1000.,     0.], dtype=float32)
    """
    below = shifted("log_softmax", x, axis, where)
    total = reductions.sum(ew.exp(below), axis, keepdims=True, where=where)
    out = pm.convert(below - ew.log(total), pm.inexact(x).dtype)
    return out if where is None else elementwise.pick(where, out, -math.inf)


def logmeanexp(
    x: ArrayLike, axis: ints.Axis = None, where: ArrayLike | None = None, keepdims: bool = False
) -> Array:
    """Return ``log(mean(exp(x)))`` over axes, without overflow.

    Args:
        x: real or complex.
        axis: what is reduced: an axis, several, or None for all.
        where: bools that say which elements take part; they broadcast to ``x``.
        keepdims: keep the axes, with size one.

    Raises:
        AxisError: there is no such axis, or it is given twice.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> float(nn.logmeanexp(jnp.array([1000.0, 1000.0])))
        1000.0
    """
    operand = pm.strong(pm.inexact(x, "logmeanexp"))
    a = pm.precise(operand)
    summed = logsumexp(a, axis, keepdims=keepdims, where=where)
    count = reductions.sum(sh.full_like(a, 1.0), axis, keepdims=keepdims, where=where)
    return pm.convert(summed - ew.log(count), operand.dtype)


def standardize(
    x: ArrayLike,
    axis: ints.Axis = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: Literal["fast", "stable"] = "fast",
) -> Array:
    """Return ``(x - mean) / sqrt(variance + epsilon)``.

    Args:
        x: real.
        axis: over which mean and variance are taken: an axis, several, or None for all.
        mean: to be used instead of that of ``x``.
        variance: to be used instead of that of ``x``.
        epsilon: keeps the quotient finite.
        where: bools that say which elements mean and variance are taken of.
        algorithm: ``"fast"`` or ``"stable"``, as in JAX. Either takes the variance as the mean of
            squared differences, except about a given ``mean``: ``"fast"`` takes the mean square
            less the squared mean there.

    Raises:
        AxisError: there is no such axis, or it is given twice.
        ArgumentError: there is no such algorithm.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.standardize(jnp.array([-1.0, 1.0]), epsilon=0.0)
        Array([-1.,  1.], dtype=float32)
    """
    pm.check_option("standardize", "algorithm", algorithm, ("fast", "stable"))
    operand = pm.inexact(x, "standardize")
    a = pm.precise(operand)
    if mean is None:
        centre = _mean(a, axis, where)
    else:
        centre = pm.promote_inexact(a, pm.array_of("standardize", mean))[1]
    distance = elementwise.subtract(a, centre)
    if variance is None:
        if mean is None or algorithm == "stable":
            variance = _mean(elementwise.square(distance), axis, where)
        else:
            # a^2 - c^2, as a product; rounding can make the mean negative
            products = elementwise.multiply(distance, elementwise.add(a, centre))
            variance = elementwise.maximum(_mean(products, axis, where), 0)
    out = distance * ew.rsqrt(pm.inexact(elementwise.add(variance, epsilon), "standardize"))
    return pm.convert(out, operand.dtype) if a is not operand else out


def _mean(x: Array, axis: ints.Axis, where: ArrayLike | None) -> Array:
    return reductions.mean(x, axis, keepdims=True, where=where)


def one_hot(
    x: creation.Nested, num_classes: int, *, dtype: DTypeLike = None, axis: int = -1
) -> Array:
    """Return vectors that are 1 at the given places and 0 elsewhere.

    Args:
        x: integers, or lists of them; a place outside [0, num_classes) gives a vector of zeros.
        num_classes: the vectors' length.
        dtype: of the result; the default float if None.
        axis: of the result, along which the vectors lie.

    Returns:
        ``x.shape`` with ``num_classes`` inserted at ``axis``.

    Raises:
        AxisError: there is no such axis of the result.
        ArgumentError: ``num_classes`` is negative.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.one_hot(jnp.array([0, 2]), 3)
        Array([[1., 0., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    places, num_classes = creation.operand(x), ints.integer(num_classes, "num_classes")
    if num_classes < 0:
        raise errors.ArgumentError(
            f"one_hot needs num_classes of at least 0, but got {num_classes}."
        )
    result_dtype = dtypes.default_float() if dtype is None else dtypes.check(dtype)
    axis = ints.canonical_axis(axis, places.ndim + 1)
    shape = (*places.shape[:axis], num_classes, *places.shape[axis:])
    others = tuple(i for i in range(len(shape)) if i != axis)
    places = pm.strong(places)
    # a narrow dtype need not count to the number of classes
    places = pm.precise(places) if dtypes.is_inexact(places.dtype) else pm.counting(places)
    spread = broadcast_in_dim(places, shape, others)
    return ew.convert_element_type(ew.eq(spread, sh.iota(shape, places.dtype, axis)), result_dtype)


replay.replay_functions(globals(), plain="identity relu sigmoid")


# Products of matrices whose elements share scales, block by block.


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = dtypes.float32,
) -> Array:
    """Multiply matrices by transposed ones, each element times the scale of its block.

    The products are computed in float32.

    Args:
        lhs: shape ``(b, m, k)``; mostly of a dtype of 8 bits.
        rhs: shape ``(b, n, k)``.
        lhs_scales: shape ``(b, m, k / s)``, for blocks of ``s`` elements along the last axis.
        rhs_scales: shape ``(b, n, k / t)``, for blocks of ``t``.
        preferred_element_type: the dtype of the result.

    Returns:
        Shape ``(b, m, n)``.

    Raises:
        ShapeError: the shapes do not fit.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> x, y = jnp.array([[[1.0, 2.0, 3.0]]]), jnp.array([[[4.0, 5.0, 6.0]]])
        >>> nn.scaled_matmul(x, y, jnp.array([[[0.5]]]), jnp.array([[[2.0]]]))
        Array([[[32.]]], dtype=float32)
    """
    x, y = opd.as_array(lhs), opd.as_array(rhs)
    of_x, of_y = opd.as_array(lhs_scales), opd.as_array(rhs_scales)
    fits = (
        all(a.ndim == 3 for a in (x, y, of_x, of_y))
        and (x.shape[0], x.shape[2]) == (y.shape[0], y.shape[2])
        and x.shape[:2] == of_x.shape[:2]
        and y.shape[:2] == of_y.shape[:2]
        and all(a.shape[2] and x.shape[2] % a.shape[2] == 0 for a in (of_x, of_y))
    )
    if not fits:
        raise errors.ShapeError(
            "scaled_matmul takes shapes (b, m, k) and (b, n, k), and scales of shapes (b, m, k/s) "
            f"and (b, n, k/t), but got {', '.join(str(a.aval) for a in (x, y, of_x, of_y))}."
        )
    wide = [
        pm.convert(a, dtypes.float32)
        * repeat(pm.convert(scales, dtypes.float32), a.shape[2] // scales.shape[2], 2)
        for a, scales in ((x, of_x), (y, of_y))
    ]
    out = dot_general(wide[0], wide[1], (((2,), (2,)), ((0,), (0,))))
    return pm.convert(out, dtypes.check(preferred_element_type))


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: DotDimensionNumbers,
    preferred_element_type: DTypeLike = dtypes.float32,
    configs: None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Array:
    """Contract and batch two arrays, as ``lax.dot_general``, without rounding them by blocks.

    Args:
        lhs: any number.
        rhs: of the same dtype.
        dimension_numbers: as in ``lax.dot_general``.
        preferred_element_type: the dtype of the result.
        configs: must be None: how JAX rounds the operands, to dtypes that tinyjax does not have.
        implementation: not used.

    Raises:
        ArgumentError: ``configs`` are given.
        ShapeError: paired axes differ in size.
        DtypeError: the dtypes differ.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import nn
        >>> nn.scaled_dot_general(jnp.ones((2, 3)), jnp.ones(3), (((1,), (0,)), ((), ())))
        Array([3., 3.], dtype=float32)
    """
    if configs is not None:
        raise errors.ArgumentError(
            "scaled_dot_general takes no configs: their dtypes of scales are not there. "
            "scaled_matmul multiplies what has been rounded by blocks."
        )
    return dot_general(lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type)
