"""The place and time of computation: devices and platforms, mapped axes, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs

from tinyjax import errors, tree
from tinyjax._extensions.parallel import collective
from tinyjax._extensions.parallel.types import across
from tinyjax.core.devices import traced_platform
from tinyjax.core.values import Array, integers as ints, operands as opd
from tinyjax.lax.elementwise import optimization_barrier
from tinyjax.numpy.creation import zeros

T = TypeVar("T")


def pbroadcast(
    x: T, axis_name: collective.AxisName | Sequence[collective.AxisName], source: int
) -> T:
    """Return one example's values in every example.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several, of which the first varies slowest.
        source: the example's index.

    Raises:
        UnboundAxisError: no enclosing ``vmap`` has an axis of that name.
        IndexingError: there is no such example.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import lax
        >>> tinyjax.vmap(lambda x: lax.pbroadcast(x, "i", 1), axis_name="i")(jnp.array([1, 2]))
        Array([2, 2], dtype=int32)
    """
    place, count = ints.integer(source, "source"), collective.axis_size(axis_name)
    if not 0 <= place < count:
        raise errors.IndexingError(
            f"pbroadcast: source is {place}, but the examples go from 0 to {count - 1}."
        )
    picked: T = tree.map(
        lambda all_of_them: all_of_them[place], collective.all_gather(x, axis_name)
    )
    return picked


_CASTS = {("I", "V"), ("I", "R"), ("V", "U"), ("R", "V")}
_ADVICE = {
    ("I", "U"): " All devices have it, and their sum would be a multiple: make it varying first, "
    "if that is what you mean.",
}


def pcast(x: T, axis_name: collective.AxisName | Sequence[collective.AxisName], *, to: str) -> T:
    """Return arrays as values of which each device has its own, though they are still equal.

    Inside ``shard_map`` a derivative with respect to a value that all devices share is the sum of
    their contributions; with respect to what ``pcast`` returns, it is a device's own contribution.
    Loops and operations that need it cast by themselves, and what varies already stays as it is.

    Args:
        x: arrays in any containers.
        axis_name: the name of the axis, or several. An axis of ``vmap`` needs no cast.
        to: "varying"; "reduced", of a value that all devices have, of whose cotangent each has a
            part then; or "unreduced", of each device's own, which is its part of a sum then. The
            last two are "varying" where the mesh is not ``Explicit``, and all axes of it named.

    Raises:
        UnboundAxisError: there is no axis of that name.
        ArgumentError: ``to`` is another word.
        ShardingError: a value that all have is to be a part of a sum, or one that varies, or is a
            part of a sum, to be what all have.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P, lax
        >>> mesh = tinyjax.make_mesh((1,), ("i",))
        >>> loss = lambda w, x: jnp.sum(w * x)
        >>> @tinyjax.shard_map(mesh=mesh, in_specs=(P(), P("i")), out_specs=P())
        ... def mean_gradient(w, x):
        ...     own = tinyjax.grad(loss)(lax.pcast(w, "i", to="varying"), x)
        ...     return lax.pmean(own, "i")
        >>> mean_gradient(jnp.ones(3), jnp.arange(3.0))
        Array([0., 1., 2.], dtype=float32)
    """
    collective.axis_size(axis_name)
    if not ints.is_one_of(to, ("varying", "reduced", "unreduced")):
        raise errors.ArgumentError(
            f"pcast takes to='varying', 'reduced' or 'unreduced', but got {errors.shortened(to)}. "
            "Devices have the same after lax.psum, lax.pmax or lax.all_gather(..., to='invarying')."
        )
    axes = collective.axes_of_devices(axis_name)
    shared = collective.shared_axes(axis_name)

    def one(leaf: object) -> Array:
        array = collective.pvary(opd.as_array(leaf), axes.difference(shared))
        for name in shared:
            own, target = collective.shared_along(across(array.aval), name), to[0].upper()
            if own != target and (own, target) not in _CASTS:
                raise errors.ShardingError(
                    f"pcast: {array.aval} cannot be made {to} along {name!r}."
                    + _ADVICE.get((own, target), " Combine what devices have by lax.psum.")
                )
            array = collective.recast(array, name, target)
        return array

    varying: T = tree.map(one, x)
    return varying


# Tokens: values without data that say what comes after what


@attrs.frozen(eq=False, repr=False)
class Token:
    """A value without data; made by ``create_token``. It goes through all transformations.

    It is an array of no elements, so that it passes through ``jit``, ``vmap`` and derivatives like
    any other. Nothing here needs one: effects are ordered by ``ordered=True``.

    Example:
        >>> import tinyjax
        >>> from tinyjax import lax
        >>> token = lax.create_token()
        >>> isinstance(token, tinyjax.extend.core.Token)
        True
    """

    _buf: Array

    def block_until_ready(self) -> Token:
        """Wait until what it comes after is done.

        Example:
            >>> from tinyjax import lax
            >>> token = lax.create_token()
            >>> token.block_until_ready() is token
            True
        """
        self._buf.block_until_ready()
        return self


tree.register_pytree_node(Token, lambda token: ((token._buf,), None), lambda _, bufs: Token(*bufs))


def create_token(_: object = None) -> Token:
    """Return a token that comes after nothing, to begin an order of effects with.

    It holds no elements. Programs that were written for JAX hand it from one operation to the next.

    Example:
        >>> from tinyjax import lax, tree
        >>> tree.leaves(lax.after_all(lax.create_token(), lax.create_token()))
        [Array([], shape=(0,), dtype=bool)]
    """
    return Token(zeros(0, bool))


def after_all(*operands: Token) -> Token:
    """Return a token that comes after others, as what depends on it does.

    It is there for programs that were written for JAX with tokens; it orders values of one program,
    as what depends on them, and no effects.

    Example:
        >>> from tinyjax import lax
        >>> type(lax.after_all(lax.create_token(), lax.create_token())).__name__
        'Token'
    """
    return optimization_barrier((create_token(), *operands))[0]


# Platforms


R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])


def platform_dependent(
    *args: Any, default: Callable[..., R] | None = None, **per_platform: Callable[..., R]
) -> R:
    """Call the function that is for the platform on which programs run, such as "cpu" or "cuda".

    Args:
        args: what it is called with.
        default: the function for platforms that are not named.
        per_platform: functions by the names of platforms. The one for the platform of the default
            device is called, or, in a function that is exported, the one for each platform that it
            is exported for.

    Raises:
        ArgumentError: there is neither one for the platform nor a default.

    Example:
        >>> from tinyjax import lax
        >>> lax.platform_dependent(2, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
        3
    """
    platform = traced_platform()
    for name, branch in {**per_platform, "default": default}.items():
        if not callable(branch) and not (name == "default" and default is None):
            raise errors.ArgumentError(
                f"the '{name}' branch of platform_dependent must be a callable, but got "
                f"{errors.described(branch)}."
            )
    chosen = per_platform.get(platform, default)
    if chosen is None:
        raise errors.ArgumentError(
            f"platform_dependent has functions for {', '.join(per_platform) or 'no platform'}, but "
            f"none for '{platform}' and no default."
        )
    return chosen(*args)


def composite(decomposition: F, name: str, version: int = 0) -> F:
    """Return a function as it is; compilers of JAX's programs may know it by a name.

    Args:
        decomposition: the function.
        name: not used.
        version: not used.

    Example:
        >>> from tinyjax import lax
        >>> lax.composite(lambda x: x + 1, "my.increment")(1)
        2
    """
    return decomposition
