"""``with_sharding_constraint``: where a value lies, said inside a program.

The arguments ``in_shardings`` and ``out_shardings`` of ``jit`` are such constraints, of arguments
and of results, so that they hold in derivatives, under ``vmap`` and in programs within programs.
"""

from __future__ import annotations

from typing import Any, TypeVar

import attrs

from tinyjax import tree, xla
from tinyjax.core.array import Array, as_array
from tinyjax.core.devices import Sharding, is_place
from tinyjax.core.lowering import sharding_text
from tinyjax.core.primitive import (
    Arrays,
    Avals,
    BatchAxes,
    BatchResult,
    Hosts,
    MappedAxis,
    Params,
    Primitive,
)
from tinyjax.core.programs import SHARDINGS
from tinyjax.core.trace import bind1
from tinyjax.primitives.rules import def_linear, def_transposes
from tinyjax.stablehlo.lowering import Lowering
from tinyjax.stablehlo.types import Values

T = TypeVar("T")


@attrs.frozen(repr=False)
class ConstraintParams(Params):
    """Where the operand lies."""

    sharding: Sharding


sharding_constraint_p: Primitive[ConstraintParams] = Primitive(
    "sharding_constraint", ConstraintParams
)


@sharding_constraint_p.def_impl
def _impl(operands: Hosts, params: ConstraintParams) -> Hosts:
    return operands


@sharding_constraint_p.def_evaluate
def _evaluate(args: Arrays, params: ConstraintParams) -> Arrays:
    (x,) = args
    return [xla.put(x, params.sharding.decided(x.sharding))]


@sharding_constraint_p.def_abstract_eval
def _type(avals: Avals, params: ConstraintParams) -> Avals:
    (x,) = avals
    params.sharding.check(x.shape)
    return avals


@sharding_constraint_p.def_lowering
def _lowering(b: Lowering, operands: Values, params: ConstraintParams) -> Values:
    (x,) = operands
    text = sharding_text(b.module, params.sharding, x.ndim)
    if text is None:
        return operands
    return [b.op("sdy.sharding_constraint", x, sharding=f"#sdy.sharding{text}")]


sharding_constraint_p.def_rule(SHARDINGS)(lambda params: ((params.sharding,), (params.sharding,)))

def_linear(sharding_constraint_p)
def_transposes(
    sharding_constraint_p, lambda ct, x, params: bind1(sharding_constraint_p, (ct,), params)
)


@sharding_constraint_p.def_batch
def _batch(
    mapped: MappedAxis, values: Arrays, axes: BatchAxes, params: ConstraintParams
) -> BatchResult:
    (axis,) = axes
    assert axis is not None, "the operand is batched"
    # XLA divides the examples as it likes
    batched = ConstraintParams(params.sharding.batched(axis))
    return (bind1(sharding_constraint_p, values, batched),), axes


def constrain(x: Array, sharding: Sharding) -> Array:
    """Say where a value lies."""
    return bind1(sharding_constraint_p, (x,), ConstraintParams(sharding))


def with_sharding_constraint(x: T, shardings: Any) -> T:
    """Return arrays that lie on devices as asked for; within programs, XLA is told so.

    Args:
        x: arrays in any containers.
        shardings: a sharding, a device, or a ``PartitionSpec`` of the mesh in force
            (``tinyjax.set_mesh``), or a tree of these, each of which speaks for all that is below
            it. None leaves arrays as they are, and ``PartitionSpec.UNCONSTRAINED`` leaves it to XLA
            how an axis is divided.

    Raises:
        ShardingError: an axis of an array cannot be divided so, or no mesh is in force.

    Example:
        >>> import tinyjax, tinyjax.numpy as jnp
        >>> from tinyjax import NamedSharding, P, lax
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("data",)), P("data"))
        >>> @tinyjax.jit
        ... def f(x):
        ...     return lax.with_sharding_constraint(jnp.sin(x), rows) + 1
        >>> f(jnp.zeros(4)).sharding.spec
        P()
    """
    return constrained(x, shardings, "with_sharding_constraint")


def constrained(x: T, shardings: Any, function: str, what: str = "x") -> T:
    """Return a tree whose arrays lie as a prefix of it says.

    Args:
        x: arrays in any containers.
        shardings: the prefix.
        function: the function that takes it, for messages.
        what: what messages call the tree.
    """
    treedef = tree.structure(x)
    wanted = tree.flatten_prefix(shardings, treedef, is_place, "shardings")
    placed: list[Any] = []
    for (path, leaf), where in zip(tree.leaves_with_path(x), wanted, strict=True):
        if where is None:
            placed.append(leaf)
            continue
        # Programs on one device need no meshes.
        from tinyjax.core.sharding import checked  # noqa: PLC0415

        array = as_array(leaf)
        sharding = checked(where, array.shape, function, tree.path_str(what, path))
        placed.append(constrain(array, sharding))
    result: T = tree.unflatten(treedef, placed)
    return result
