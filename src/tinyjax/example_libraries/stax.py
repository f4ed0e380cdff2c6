"""Neural networks as pairs of functions, by the names of ``jax.example_libraries.stax``.

A layer is a pair ``(init_fun, apply_fun)``: ``init_fun(key, input_shape)`` returns the shape of the
output, in which -1 stands for a size that is not known yet, and the parameters; and
``apply_fun(parameters, inputs, **kwargs)`` returns the output. Layers that use random numbers take
``rng``, a key.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

import tinyjax.numpy as jnp
from tinyjax import errors, lax, nn, random
from tinyjax._base import lazy
from tinyjax.core.values import Array, ArrayLike, integers as ints
from tinyjax.dtypes import DType
from tinyjax.nn import initializers

Shape: TypeAlias = tuple[int, ...]
InitFun: TypeAlias = Callable[[ArrayLike, Any], tuple[Any, Any]]
ApplyFun: TypeAlias = Callable[..., Any]
Layer: TypeAlias = tuple[InitFun, ApplyFun]
Initializer: TypeAlias = Callable[..., Array]

lazy.answer_for(
    __name__,
    "AvgPool BatchNorm Conv Conv1DTranspose ConvTranspose Dense Dropout Elu Exp FanInConcat "
    "FanInSum FanOut Flatten Gelu GeneralConv GeneralConvTranspose Identity LeakyRelu LogSoftmax "
    "MaxPool Relu Selu Sigmoid Softmax Softplus SumPool Tanh elementwise elu gelu glorot "
    "glorot_normal leaky_relu log_softmax logsoftmax normal ones parallel randn relu selu serial "
    "shape_dependent sigmoid softmax softplus standardize zeros",
)

#: Functions of :mod:`tinyjax.nn` that programs call here, some by older names.
elu: Final = nn.elu
gelu: Final = nn.gelu
leaky_relu: Final = nn.leaky_relu
log_softmax: Final = nn.log_softmax
logsoftmax: Final = nn.log_softmax
relu: Final = nn.relu
selu: Final = nn.selu
sigmoid: Final = nn.sigmoid
softmax: Final = nn.softmax
softplus: Final = nn.softplus
standardize: Final = nn.standardize
glorot: Final = initializers.glorot_normal
glorot_normal: Final = initializers.glorot_normal
normal: Final = initializers.normal
ones: Final = initializers.ones
randn: Final = initializers.normal
zeros: Final = initializers.zeros


def Dense(
    out_dim: int, W_init: Initializer | None = None, b_init: Initializer | None = None
) -> Layer:
    """Make a layer that applies a matrix and adds a vector.

    Args:
        out_dim: the size of the output's last axis.
        W_init: draws the matrix; ``glorot_normal()`` by default.
        b_init: draws the vector; ``normal()`` by default.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2))
        >>> shape, parameters = init(tinyjax.random.key(0), (-1, 3))
        >>> shape, apply(parameters, jnp.ones((5, 3))).shape
        ((-1, 2), (5, 2))
    """
    draw_W, draw_b = W_init or glorot_normal(), b_init or normal()

    def init(rng: ArrayLike, input_shape: Shape) -> tuple[Shape, tuple[Array, Array]]:
        k1, k2 = random.split(rng)
        parameters = draw_W(k1, (input_shape[-1], out_dim)), draw_b(k2, (out_dim,))
        return (*input_shape[:-1], out_dim), parameters

    def apply(params: tuple[Array, Array], inputs: Array, **kwargs: Any) -> Array:
        W, b = params
        return jnp.dot(inputs, W) + b

    return init, apply


def _extent(n: int, window: int, step: int, padding: str) -> int:
    """Return how many windows there are along an axis; -1 where its size is not known."""
    return n if n < 0 else -(-(n if padding == "SAME" else n - window + 1) // step)


@attrs.frozen(eq=False)
class _Convolution:
    """Makes convolutions, which may be transposed."""

    transposed: bool

    def __call__(
        self,
        dimension_numbers: tuple[str, str, str],
        out_chan: int,
        filter_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        W_init: Initializer | None = None,
        b_init: Initializer | None = None,
    ) -> Layer:
        """Make a layer.

        Args:
            dimension_numbers: the axes of input, filter and output, such as
                ``("NHWC", "HWIO", "NHWC")``.
            out_chan: the number of channels of the output.
            filter_shape: the spatial sizes of the filter.
            strides: by default 1.
            padding: ``"VALID"`` or ``"SAME"``.
            W_init: draws the filter; Glorot's by default.
            b_init: draws the offset of each channel; normal by default.

        Example:
            >>> from tinyjax import random
            >>> from tinyjax.example_libraries import stax
            >>> numbers, key = ("NHWC", "HWIO", "NHWC"), random.key(0)
            >>> init, apply = stax.GeneralConv(numbers, 8, (3, 3), padding="SAME")
            >>> shape, params = init(key, (1, 6, 6, 3))
            >>> shape, params[0].shape
            ((1, 6, 6, 8), (3, 3, 3, 8))
            >>> init, apply = stax.GeneralConvTranspose(numbers, 8, (2, 2), (2, 2), "SAME")
            >>> init(key, (1, 6, 6, 3))[0]
            (1, 12, 12, 8)
        """
        lhs, rhs, out = dimension_numbers
        steps = tuple(strides or (1,) * len(filter_shape))
        draw_W = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))
        draw_b = b_init or normal(1e-6)

        def run(x: Array, W: Array) -> Array:
            if self.transposed:
                return lax.conv_transpose(x, W, steps, padding, dimension_numbers=dimension_numbers)
            return lax.conv_general_dilated(
                x, W, steps, padding, dimension_numbers=dimension_numbers
            )

        def size(n: int, k: int, step: int) -> int:
            if self.transposed and n >= 0:
                return n * step if padding == "SAME" else n * step + max(k - step, 0)
            return _extent(n, k, step, padding)

        def init(rng: ArrayLike, input_shape: Shape) -> tuple[Shape, tuple[Array, Array]]:
            spatial = iter(filter_shape)
            kernel = tuple(
                out_chan if c == "O" else input_shape[lhs.index("C")] if c == "I" else next(spatial)
                for c in rhs
            )
            places = [c for c in rhs if c not in "OI"]
            extents = {
                c: size(input_shape[lhs.index(c)], k, step)
                for c, k, step in zip(places, filter_shape, steps, strict=True)
            }
            extents |= {"N": input_shape[lhs.index("N")], "C": out_chan}
            k1, k2 = random.split(rng)
            bias = tuple(out_chan if c == "C" else 1 for c in out)
            return tuple(extents[c] for c in out), (draw_W(k1, kernel), draw_b(k2, bias))

        def apply(params: tuple[Array, Array], inputs: Array, **kwargs: Any) -> Array:
            W, b = params
            return run(inputs, W) + b

        return init, apply


GeneralConv: Final = _Convolution(transposed=False)
GeneralConvTranspose: Final = _Convolution(transposed=True)
Conv: Final = partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose: Final = partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))
ConvTranspose: Final = partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))


def BatchNorm(
    axis: Sequence[int] = (0, 1, 2),
    epsilon: float = 1e-5,
    center: bool = True,
    scale: bool = True,
    beta_init: Initializer = zeros,
    gamma_init: Initializer = ones,
) -> Layer:
    """Make a layer that gives the examples of a batch mean 0 and variance 1, and then its own.

    Args:
        axis: the axes over which mean and variance are taken.
        epsilon: is added to the variance.
        center: whether it has a mean of its own.
        scale: whether it has a scale of its own.
        beta_init: draws the mean.
        gamma_init: draws the scale.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.BatchNorm(axis=(0,))
        >>> shape, params = init(random.key(0), (-1, 1))
        >>> jnp.round(apply(params, jnp.array([[1.0], [3.0]])), 2)
        Array([[-1.],
               [ 1.]], dtype=float32)
    """
    axes = ints.integers(ints.one_or_more(axis, "axis"), "axis")

    def init(rng: ArrayLike, input_shape: Shape) -> tuple[Shape, tuple[Any, Any]]:
        shape = tuple(n for i, n in enumerate(input_shape) if i not in axes)
        k1, k2 = random.split(rng)
        beta = beta_init(k1, shape) if center else ()
        gamma = gamma_init(k2, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply(params: tuple[Any, Any], x: Array, **kwargs: Any) -> Array:
        beta, gamma = params
        wide = tuple(None if i in axes else slice(None) for i in range(x.ndim))
        z = standardize(x, axes, epsilon=epsilon)
        if scale:
            z = gamma[wide] * z
        return z + beta[wide] if center else z

    return init, apply


def _without_parameters(shape_of: Callable[[Any], Any], fun: Callable[[Any], Any]) -> Layer:
    """Make a layer from its effect on a shape, and on an input."""

    def init(rng: ArrayLike, input_shape: Any) -> tuple[Any, tuple[()]]:
        return shape_of(input_shape), ()

    def apply(params: tuple[()], inputs: Any, **kwargs: Any) -> Any:
        return fun(inputs)

    return init, apply


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """Make a layer that applies a function to its input.

    Args:
        fun: the function.
        fun_kwargs: arguments that it takes besides.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.elementwise(jnp.clip, min=0.0)
        >>> apply((), jnp.array([-1.0, 2.0]))
        Array([0., 2.], dtype=float32)
    """
    return _without_parameters(lambda shape: shape, lambda x: fun(x, **fun_kwargs))


Tanh: Final = elementwise(jnp.tanh)
Relu: Final = elementwise(relu)
Exp: Final = elementwise(jnp.exp)
LogSoftmax: Final = elementwise(log_softmax, axis=-1)
Softmax: Final = elementwise(softmax, axis=-1)
Softplus: Final = elementwise(softplus)
Sigmoid: Final = elementwise(sigmoid)
Elu: Final = elementwise(elu)
LeakyRelu: Final = elementwise(leaky_relu)
Selu: Final = elementwise(selu)
Gelu: Final = elementwise(gelu)
Identity: Final = elementwise(lambda x: x)  # of any tree


@attrs.frozen(eq=False)
class _Pooling:
    """Makes layers that reduce windows: by their greatest element, their sum, or their mean."""

    combine: Callable[[Any, Any], Any]
    start: Callable[[DType], Any]
    mean: bool = False

    def __call__(
        self,
        window_shape: Sequence[int],
        strides: Sequence[int] | None = None,
        padding: str = "VALID",
        spec: str = "NHWC",
    ) -> Layer:
        """Make a layer.

        Args:
            window_shape: the spatial sizes of a window.
            strides: by default 1.
            padding: ``"VALID"`` or ``"SAME"``.
            spec: the axes of the input.
        """
        steps, sizes = list(strides or (1,) * len(window_shape)), list(window_shape)
        for place in sorted(map(spec.index, "NC")):
            sizes.insert(place, 1)
            steps.insert(place, 1)
        windows = tuple(sizes), tuple(steps), padding

        def reduced(shape: Shape) -> Shape:
            extents = zip(shape, sizes, steps, strict=True)
            return tuple(_extent(n, k, step, padding) for n, k, step in extents)

        def pool(x: Array) -> Array:
            out: Array = lax.reduce_window(x, self.start(x.dtype), self.combine, *windows)
            if not self.mean:
                return out
            count: Array = lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, *windows)
            return out / count

        return _without_parameters(reduced, pool)


MaxPool: Final = _Pooling(lax.max, lambda dtype: np.array(-math.inf, dtype))
SumPool: Final = _Pooling(lax.add, lambda dtype: np.array(0, dtype))
AvgPool: Final = _Pooling(lax.add, lambda dtype: np.array(0, dtype), mean=True)


Flatten: Final = _without_parameters(
    lambda shape: (shape[0], math.prod(shape[1:])), lambda x: jnp.reshape(x, (x.shape[0], -1))
)


def FanOut(num: int) -> Layer:
    """Make a layer that hands its input on so many times, to ``parallel`` layers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.FanOut(2)
        >>> [float(x) for x in apply((), jnp.float32(3.0))]
        [3.0, 3.0]
    """
    return _without_parameters(lambda shape: [shape] * num, lambda x: [x] * num)


FanInSum: Final = _without_parameters(lambda shapes: shapes[0], lambda xs: reduce(operator.add, xs))


def FanInConcat(axis: int = -1) -> Layer:
    """Make a layer that joins its inputs along an axis.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.FanInConcat()
        >>> init(random.key(0), [(-1, 3), (-1, 4)])[0]
        (-1, 7)
        >>> apply((), [jnp.array([[1.0]]), jnp.array([[2.0]])])
        Array([[1., 2.]], dtype=float32)
    """

    def joined(shapes: Sequence[Shape]) -> Shape:
        place = axis % len(shapes[0])
        shape = list(shapes[0])
        shape[place] = sum(each[place] for each in shapes)
        return tuple(shape)

    return _without_parameters(joined, lambda xs: jnp.concatenate(xs, axis))


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Make a layer that sets elements to zero at random, and scales the others up.

    Args:
        rate: the probability that an element is kept.
        mode: ``"train"``; in any other it hands its input on.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.Dropout(0.5)
        >>> dropped = apply((), jnp.ones(100), rng=random.key(0))
        >>> jnp.unique(dropped)
        Array([0., 2.], dtype=float32)
    """

    def init(rng: ArrayLike, input_shape: Shape) -> tuple[Shape, tuple[()]]:
        return input_shape, ()

    def apply(params: tuple[()], inputs: ArrayLike, **kwargs: Any) -> Array:
        rng = kwargs.get("rng")
        if rng is None:
            raise errors.ArgumentError(
                "Dropout needs a key: call apply_fun(parameters, inputs, rng=key), also where it "
                "is not trained."
            )
        values = jnp.asarray(inputs)
        if mode != "train":
            return values
        keep = random.bernoulli(rng, rate, values.shape)
        return jnp.where(keep, values / rate, 0)

    return init, apply


def serial(*layers: Layer) -> Layer:
    """Put layers one after the other.

    Args:
        layers: the layers.

    Returns:
        A layer whose parameters are the list of theirs.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(2))
        >>> shape, params = init(random.key(0), (-1, 3))
        >>> shape, len(params), apply(params, jnp.ones((5, 3))).shape
        ((-1, 2), 3, (5, 2))
    """
    inits = [init for init, _ in layers]
    applies = [apply for _, apply in layers]

    def init(rng: ArrayLike, input_shape: Any) -> tuple[Any, list[Any]]:
        params = []
        for init_fun in inits:
            rng, own = random.split(rng)
            input_shape, param = init_fun(own, input_shape)
            params.append(param)
        return input_shape, params

    def apply(params: Sequence[Any], inputs: Any, **kwargs: Any) -> Any:
        for fun, param, rng in zip(applies, params, _keys(kwargs, len(layers)), strict=True):
            inputs = fun(param, inputs, rng=rng, **kwargs)
        return inputs

    return init, apply


def _keys(kwargs: dict[str, Any], count: int) -> Sequence[Any]:
    """Take a key for each layer out of the arguments."""
    rng = kwargs.pop("rng", None)
    return [None] * count if rng is None else list(random.split(rng, count))


def parallel(*layers: Layer) -> Layer:
    """Put layers beside each other: each takes one of the inputs and gives one of the outputs.

    Args:
        layers: the layers.

    Example:
        >>> import tinyjax.numpy as jnp
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> both = stax.parallel(stax.Dense(4), stax.Identity)
        >>> init, apply = stax.serial(stax.FanOut(2), both, stax.FanInConcat())
        >>> shape, params = init(random.key(0), (-1, 3))
        >>> shape, apply(params, jnp.ones((5, 3))).shape
        ((-1, 7), (5, 7))
    """
    inits = [init for init, _ in layers]
    applies = [apply for _, apply in layers]

    def init(rng: ArrayLike, input_shape: Sequence[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        keys = random.split(rng, len(layers))
        pairs = [f(key, shape) for f, key, shape in zip(inits, keys, input_shape, strict=True)]
        return [shape for shape, _ in pairs], tuple(params for _, params in pairs)

    def apply(params: Sequence[Any], inputs: Sequence[Any], **kwargs: Any) -> list[Any]:
        keys = _keys(kwargs, len(layers))
        return [
            f(param, x, rng=rng, **kwargs)
            for f, param, x, rng in zip(applies, params, inputs, keys, strict=True)
        ]

    return init, apply


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """Make a layer once the shape of its input is known.

    Args:
        make_layer: takes that shape, and returns the layer.

    Example:
        >>> from tinyjax import random
        >>> from tinyjax.example_libraries import stax
        >>> init, apply = stax.shape_dependent(lambda shape: stax.Dense(2 * shape[-1]))
        >>> init(random.key(0), (-1, 3))[0]
        (-1, 6)
    """

    def init(rng: ArrayLike, input_shape: Any) -> tuple[Any, Any]:
        return make_layer(input_shape)[0](rng, input_shape)

    def apply(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return make_layer(inputs.shape)[1](params, inputs, **kwargs)

    return init, apply
