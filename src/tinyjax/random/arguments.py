"""Arguments that samplers share: keys, shapes, dtypes and parameters."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from tinyjax import dtypes
from tinyjax.config import settings
from tinyjax.core.array import Array, ArrayLike
from tinyjax.core.integers import SymbolicSize, one_or_more
from tinyjax.core.key_reuse import use
from tinyjax.core.operands import as_array, scalar
from tinyjax.core.replay import replayed
from tinyjax.core.result_placement import placed
from tinyjax.dtypes import DType, DTypeLike, default_float
from tinyjax.errors import ArgumentError, ConcretizationError, DtypeError, ShapeError, shortened
from tinyjax.numpy.promotion import broadcast_shapes, broadcast_to_shape
from tinyjax.primitives import elementwise as ew
from tinyjax.primitives.keys import random_unwrap
from tinyjax.random.generators import Generator, Key, named, of_keys
from tinyjax.stablehlo.types import check_axes

F = TypeVar("F", bound=Callable[..., Any])
Shape: TypeAlias = int | Sequence[int]
GumbelMode: TypeAlias = Literal["low", "high"]


def sampler(fun: F) -> F:
    """Decorate a function that draws: calls are replayed, and ``out_sharding`` is obeyed."""
    return replayed(placed(fun))


def default_generator() -> Generator:
    """Return the generator of raw keys, and of keys that are made without naming one."""
    return named(settings().default_prng_impl)


def one_key(name: str, key: ArrayLike, *, used: bool = True) -> Key:
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
        raise ArgumentError(
            f"{name} takes a key first: {name}(key, ...), where key is tinyjax.random.key(seed). "
            f"It got {key}, which looks like a shape."
        )
    found = as_array(key)
    if dtypes.is_key(found.dtype):
        if found.shape:
            raise ArgumentError(
                f"{name} takes one key, but got {found.aval}. Use vmap, or index one of them."
            )
        if used and settings().debug_key_reuse:
            use(found, name)
        return Key(of_keys(found.dtype), random_unwrap(found))
    generator = default_generator()
    count = generator.words
    if found.dtype != dtypes.uint32 or found.shape != (count,):
        if found.dtype == dtypes.uint32 and found.shape[-1:] == (count,):
            advice = "These are several keys: use vmap, or index one of them."
        elif dtypes.is_integer(found.dtype) and not found.shape:
            advice = "This looks like a seed: make a key of it with tinyjax.random.key(seed)."
        else:
            advice = "Make a key with tinyjax.random.key(seed)."
        raise ArgumentError(
            f"{name} takes a key: one of tinyjax.random.key(seed), or a uint32 array of shape "
            f"({count},), but got {found.aval}. {advice}"
        )
    return Key(generator, found)


def sizes_of(name: str, shape: Shape) -> tuple[int, ...]:
    """Return the sizes of a shape, which may be one size.

    Raises:
        ArgumentError: it is not a shape.
        ShapeError: it has more axes than an array of NumPy's has.
    """
    try:
        sizes = tuple(
            [
                n if isinstance(n, SymbolicSize) else operator.index(n)
                for n in one_or_more(shape, "shape")
            ]
        )
    except ConcretizationError:  # says to make the argument static
        raise
    except TypeError:
        sizes = (-1,)
    if any(n < 0 for n in sizes):
        raise ArgumentError(
            f"{name} takes a shape: a tuple of sizes, or one size, but got {shortened(shape)}."
        )
    check_axes(sizes)
    return sizes


def check_broadcast(name: str, shape: tuple[int, ...], *parameters: tuple[int, ...]) -> None:
    """Raise unless parameters of these shapes broadcast to ``shape``, without widening it."""
    if parameters and broadcast_shapes(shape, *parameters) != shape:
        raise ShapeError(
            f"{name} takes parameters that broadcast to its shape {shape}, but they have shapes "
            f"{' and '.join(map(str, parameters))}."
        )


def float_dtype(name: str, dtype: DTypeLike) -> DType:
    """Return the float type that a sampler is asked for: the default one if None.

    Raises:
        DtypeError: it is not a float type.
    """
    found = default_float() if dtype is None else dtypes.check(dtype)
    if not dtypes.is_float(found):
        raise DtypeError(f"{name} draws floats, but dtype is {found.name}.")
    return found


def converted(x: ArrayLike, dtype: DType) -> Array:
    """Make an array of a parameter; a Python number without a detour through the default float."""
    if isinstance(x, (bool, int, float)):
        return scalar(x, dtype)
    return ew.convert_element_type(as_array(x), dtype)


def parameters_of(
    name: str, shape: Shape | None, dtype: DTypeLike, *values: ArrayLike
) -> tuple[list[Array], tuple[int, ...], DType]:
    """Convert parameters to the dtype and the shape of the result."""
    found = float_dtype(name, dtype)
    given = [as_array(x) if not isinstance(x, (bool, int, float)) else x for x in values]
    for x in given:
        if isinstance(x, Array) and dtypes.is_complex(x.dtype):
            raise DtypeError(f"{name} takes real parameters, but got {x.aval}.")
    arrays = [converted(x, found) for x in given]
    shapes = [x.shape for x in arrays]
    if shape is None:
        sizes = broadcast_shapes(*shapes)
    else:
        sizes = sizes_of(name, shape)
        check_broadcast(name, sizes, *shapes)
    return [broadcast_to_shape(x, sizes) for x in arrays], sizes, found
