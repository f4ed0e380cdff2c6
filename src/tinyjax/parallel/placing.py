"""``with_sharding_constraint`` and ``reshard``: where a value lies, said inside a program.

The arguments ``in_shardings`` and ``out_shardings`` of ``jit`` are such constraints, of arguments
and of results, so that they hold in derivatives, under ``vmap`` and in programs within programs.
"""

from __future__ import annotations

from typing import Any, TypeVar

from tinyjax import errors, tree
from tinyjax.core import devices as dev
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.parallel import constraint as con

T = TypeVar("T")


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
        # Programs on one device need no meshes.
        from tinyjax.parallel.named_sharding import checked  # noqa: PLC0415

        array = opd.as_array(leaf)
        name = tree.path_str(what, path)
        pads = written == "staged" and tr.is_in_program()
        sharding = checked(where, array.shape, function, name, pads)
        con.check_inside(sharding)
        own = array.aval
        if checks and own.told is not None:
            sharding = sharding.beside(own.entries)
        asked = own.plain.lying(sharding)
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
