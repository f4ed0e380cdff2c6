"""``device_put`` and its kin: arrays and numbers that are put somewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinyjax import tree
from tinyjax.core import devices as dev
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray, PlacedArray, raise_donated
from tinyjax.parallel import constraint as con, named_sharding as ns, sharding as sd, types as ty
from tinyjax.parallel.collective import sharing
from tinyjax.parallel.parts_of_sums import keeping_sums
from tinyjax.parallel.xla import exchanging, moving


def put(leaf: Any, where: dev.Placement, function: str) -> Array:
    """Return an array or a number as an array that lies where it should.

    Args:
        leaf: the array.
        where: a device, a sharding or a memory; None for where it lies, and for data of the host
            for the default device.
        function: what the user called, for messages.

    Raises:
        ShardingError: it cannot be there.
    """
    array = opd.as_array(leaf)
    if array.is_deleted():
        raise_donated(array)
    holds_data = isinstance(array, ConcreteArray | PlacedArray)
    if where is None:
        if not isinstance(array, ConcreteArray):
            return array
        return moving.put(array, sd.default_place() or sd.on_first())
    if isinstance(where, sd.Space):
        kind = sd.KIND_OF.get(where)
        if kind is None or not holds_data:
            return array
        return moving.put(array, array.sharding.with_memory_kind(kind))
    sharding = ns.checked(where, array.shape, function, "the array")
    if not holds_data:
        return con.constrain(array, sharding)
    if isinstance(array, ConcreteArray) and not sharding.is_fully_addressable:
        exchanging.check_same(array, sharding)
    return moving.put(array, sharding)


def put_made(array: Array) -> Array:
    """Return an array that was made of data of the host where the default device is."""
    if type(array) is not ConcreteArray or not isinstance(tr.current_trace(), tr.PlacedTrace):
        return array
    return put(array, None, "default_device")


def put_like(
    array: Array, aval: ShapedArray, told: sd.Sharding | None, where: dev.Placement, function: str
) -> Array:
    """Return an array where it is wanted: by default as another lies, if it can lie so.

    Args:
        array: the array.
        aval: the type of the other.
        told: how the other lies, if that was said.
        where: where it is wanted; None for as the other lies.
        function: what the user called, for messages.
    """
    if ty.across(aval):
        array = sharing(array, ty.across(aval))
    if where is None:
        if array.shape == aval.shape:
            array = aval.laid(array)
            where = None if told is None or told.is_abstract else told
        elif isinstance(told, sd.SingleDeviceSharding):  # which divides no axes
            where = told
    return put(array, where, function)


def put_result(
    fun: Callable[..., Array],
    where: dev.Placement,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Array:
    """Apply a function and put its result where an argument of it says.

    So the types of the arguments need not say how the result lies, unless it is to stay a sum of
    which each device has a part.
    """
    spec = where.spec if isinstance(where, sd.Sharding) else where
    if isinstance(spec, sd.PartitionSpec) and spec.unreduced:
        with keeping_sums(spec.unreduced):
            out = fun(*args, **kwargs)
        return put(out, where, fun.__name__)
    operands = tree.map(lambda x: x.aval.untold(x) if isinstance(x, Array) else x, args)
    return put(fun(*operands, **kwargs), where, fun.__name__)
