"""``with_sharding_constraint`` and ``reshard``: where a value lies, said inside a program.

The arguments ``in_shardings`` and ``out_shardings`` of ``jit`` are such constraints, of arguments
and of results, so that they hold in derivatives, under ``vmap`` and in programs within programs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import attrs

from tinyjax import errors, tree
from tinyjax.core import devices as dev
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.parallel import constraint as con, named_sharding as ns, sharding as sd, types as ty

R = TypeVar("R")
T = TypeVar("T")


@attrs.frozen(eq=False, repr=False)
class PlacedCall:
    """Where the arguments and the results of a function that ``jit`` is given are to lie.

    Attributes:
        ins: of the positional arguments that are not static, a prefix of their tuple.
        outs: of the result, a prefix of its tree.
    """

    ins: Any
    outs: Any

    def around(self, fun: Callable[..., R]) -> Callable[..., R]:
        """The function with its arguments and results constrained."""

        def placed(*args: Any, **kwargs: Any) -> R:
            operands = constrained(args, self.ins, "jit's in_shardings", "args")
            return constrained(fun(*operands, **kwargs), self.outs, "jit's out_shardings", "result")

        return placed

    @property
    def options(self) -> Hashable:
        """What tells them from others."""
        leaves, structure = tree.flatten((self.ins, self.outs), dev.is_place)
        return tuple(leaves), structure


def placed_call(ins: Any, outs: Any) -> PlacedCall | None:
    """Return where arguments and results lie; None where that is the first device, or not said."""
    first = (None, dev.first_device(), sd.on_first())
    said = [
        None if all(where in first for where in tree.leaves(places, dev.is_place)) else places
        for places in (ins, outs)
    ]
    return None if all(places is None for places in said) else PlacedCall(*said)


def with_sharding_constraint(x: T, shardings: Any) -> T:
    """Return arrays that lie on devices as asked for; within programs, XLA is told so.

    Args:
        x: arrays in any containers.
        shardings: a sharding, a device, or a ``PartitionSpec`` of the mesh in force
            (``tinyjax.set_mesh``), or a tree of these, each of which speaks for all that is below
            it. None leaves arrays as they are, and ``PartitionSpec.UNCONSTRAINED`` leaves it to XLA
            how an axis is divided. Where the types of arrays say how they lie, along axes of a mesh
            that are ``Explicit``, nothing is moved: it must be what they say.

    Raises:
        ShardingError: an axis of an array cannot be divided so, or no mesh is in force.
        ShardingTypeError: the type of an array says that it lies otherwise.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P, lax
        >>> from tinyjax.sharding import AxisType
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("data",), AxisType.Auto), P("data"))
        >>> @tinyjax.jit
        ... def f(x):
        ...     return lax.with_sharding_constraint(jnp.sin(x), rows) + 1
        >>> f(jnp.zeros(4)).sharding.spec
        P()
    """
    return constrained(x, shardings, "with_sharding_constraint", checks=True, written="staged")


def reshard(xs: T, out_shardings: Any) -> T:
    """Return arrays that lie on devices as asked for, and whose types say so.

    In programs and outside of them, and in derivatives: a cotangent of the result lies as that, and
    is moved to where the argument lies.

    Args:
        xs: arrays in any containers.
        out_shardings: a sharding, or a ``PartitionSpec`` of the mesh in force, or a tree of these,
            each of which speaks for all that is below it. None leaves arrays as they are.

    Raises:
        ShardingError: an axis of an array cannot be divided so, or no mesh is in force.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import P
        >>> from tinyjax.sharding import AxisType
        >>> with tinyjax.set_mesh(tinyjax.make_mesh((1,), ("data",), AxisType.Explicit)):
        ...     print(tinyjax.typeof(tinyjax.reshard(jnp.ones((4, 2)), P("data"))))
        float32[4@data,2]
    """
    return constrained(xs, out_shardings, "reshard", "xs", written="typed")


def constrained(
    x: T,
    shardings: Any,
    function: str,
    what: str = "x",
    *,
    checks: bool = False,
    written: str = "given",
) -> T:
    """Return a tree whose arrays lie as a prefix of it says.

    Args:
        x: arrays in any containers.
        shardings: the prefix.
        function: the function that takes it, for messages.
        what: what messages call the tree.
        checks: whether arrays whose types say how they lie must lie so.
        written: how specifications are written that results have: as ``given``; as XLA or types
            tell them within programs, ``staged``; or as types do everywhere, ``typed``.

    Raises:
        ShardingTypeError: one does not.
    """
    treedef = tree.structure(x)
    places = tree.flatten_prefix(shardings, treedef, dev.is_place, "shardings")
    placed: list[Any] = []
    for (path, leaf), where in zip(tree.leaves_with_path(x), places, strict=True):
        if where is None:
            placed.append(leaf)
            continue
        array = opd.as_array(leaf)
        name = tree.path_str(what, path)
        pads = written == "staged" and tr.is_in_program()
        sharding = ns.checked(where, array.shape, function, name, pads)
        con.check_inside(sharding)
        own = array.aval
        if checks and own.told is not None:
            sharding = sharding.beside(ty.entries(own))
        asked = sharding.typed(own.plain)
        both_say = own.told is not None and asked.told is not None
        if checks and both_say and not av.lie_alike(own, asked):
            raise errors.ShardingTypeError(
                f"{function}: {name} is of type {own}, and was to be {asked}. It moves nothing "
                "whose type says how it lies: use tinyjax.reshard."
            )
        if written == "typed":
            sharding = con.as_typed(sharding, array.ndim)
        placed.append(con.constrain(array, sharding, as_given=written == "given"))
    result: T = tree.unflatten(treedef, placed)
    return result
