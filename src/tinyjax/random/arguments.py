"""Arguments that samplers share: keys, shapes, dtypes and parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from tinyjax import config, dtypes, errors
from tinyjax.core.primitives import elementwise as ew
from tinyjax.core.stablehlo.types import check_axes
from tinyjax.core.values import integers as ints, operands as opd
from tinyjax.core.values.array import Array, ArrayLike
from tinyjax.dtypes import DTypeLike
from tinyjax.host.replay import replayed
from tinyjax.numpy import promotion as pm
from tinyjax.primitives import result_placement as placing
from tinyjax.primitives.keys import random_unwrap
from tinyjax.random import generators

F = TypeVar("F", bound=Callable[..., Any])
Shape: TypeAlias = int | Sequence[int]
GumbelMode: TypeAlias = Literal["low", "high"]


def sampler(fun: F) -> F:
    """Decorate a function that draws: calls are replayed, and ``out_sharding`` is obeyed."""
    return replayed(placing.placed(fun))


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
            from tinyjax.state.key_reuse import use  # noqa: PLC0415 (few programs ask for it)

            use(keys, name)
        return generators.Key(generators.of_keys(keys.dtype), random_unwrap(keys))
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
        sizes = tuple(
            [
                n if isinstance(n, ints.SymbolicSize) else operator.index(n)
                for n in ints.one_or_more(shape, "shape")
            ]
        )
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
    """Return the shape of the result: what the parameters broadcast to, unless one is given."""
    if shape is None:
        return pm.broadcast_shapes(*parameters)
    sizes = sizes_of(name, shape)
    check_broadcast(name, sizes, *parameters)
    return sizes


def integer_dtype(name: str, dtype: DTypeLike) -> dtypes.DType:
    """Return the integer type that a sampler is asked for: the default one if None.

    Raises:
        DtypeError: it is no integer type.
    """
    kind = dtypes.default_int() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_integer(kind):
        raise errors.DtypeError(f"{name} draws integers, but dtype is {kind.name}.")
    return kind


def float_dtype(name: str, dtype: DTypeLike) -> dtypes.DType:
    """Return the float type that a sampler is asked for: the default one if None.

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
