"""Placing arrays: on a device, over several, by one process or by each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar, overload

import numpy as np

from tinyjax import errors, tree
from tinyjax._extensions.parallel import named_sharding, xla
from tinyjax._extensions.parallel.collective import sharing
from tinyjax._extensions.parallel.constraint import constrain
from tinyjax._extensions.parallel.lowering import keeping_sums
from tinyjax._extensions.parallel.sharded_array import ShardedArray
from tinyjax._extensions.parallel.sharding import (
    KIND_OF,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    Space,
    default_place,
    on_first,
    places_of,
)
from tinyjax._extensions.parallel.types import across
from tinyjax.core import devices
from tinyjax.core.tracing import trace as tr
from tinyjax.core.values import Array, ArrayLike, ShapedArray, concrete, operands as opd
from tinyjax.core.values.integers import integers
from tinyjax.dtypes import PHYSICAL, DTypeLike, HostArray, to_physical

# ``device_put`` and its kin: arrays and numbers that are put somewhere.


def put(leaf: Any, where: devices.Placement, function: str) -> Array:
    """Return an array or a number as an array with the sharding of an argument.

    Args:
        leaf: the array.
        where: a device, a sharding or a memory. None keeps an array where it is, and puts data of
            the host on the default device.
        function: the function that the user called, for messages.

    Raises:
        ShardingError: it cannot be there.
    """
    if type(leaf) is np.ndarray and leaf.nbytes >= _LEAST_LENT:
        sent = _sent(leaf, where, function)
        if sent is not None:
            return sent
    array = opd.as_array(leaf)
    if array.is_deleted():
        concrete.raise_donated(array)
    holds_data = isinstance(array, concrete.ConcreteArray | concrete.PlacedArray)
    if where is None:
        if not isinstance(array, concrete.ConcreteArray):
            return array
        return xla.moving.put(array, default_place() or on_first())
    if isinstance(where, Space):
        kind = KIND_OF.get(where)
        if kind is None or not holds_data:
            return array
        return xla.moving.put(array, array.sharding.with_memory_kind(kind))
    sharding = named_sharding.checked(where, array.shape, function, "the array")
    if not holds_data:
        return constrain(array, sharding)
    if isinstance(array, concrete.ConcreteArray) and not sharding.is_fully_addressable:
        xla.moving.check_same(array, sharding)
    return xla.moving.put(array, sharding)


#: NumPy's arrays of at least so many bytes are sent to another platform without a copy.
_LEAST_LENT: Final = 1 << 18


def _sent(host: HostArray, where: devices.Placement, function: str) -> Array | None:
    """Return NumPy's data where it should lie; None where it stays in the host's memory."""
    sharding = default_place() if where is None else where
    if isinstance(sharding, Space | None):
        return None
    sharding = named_sharding.checked(sharding, host.shape, function, "the array")
    if (
        not isinstance(sharding, SingleDeviceSharding)
        or sharding.device.platform == devices.PLATFORM
    ):
        return None
    if not opd.may_be_lent(host):
        return None
    return xla.moving.lent(host, sharding)


def put_made(made: Array | HostArray) -> Array:
    """Return data of the host, or an array of NumPy's, as an array on the default device."""
    if isinstance(made, Array) and type(made) is not concrete.ConcreteArray:
        return made
    if not isinstance(tr.current_trace(), tr.PlacedTrace):
        return opd.as_array(made)
    return put(made, None, "default_device")


def put_like(
    array: Array, aval: ShapedArray, own: Sharding | None, where: devices.Placement, function: str
) -> Array:
    """Return an array with a given placement: by default that of another, if it fits.

    Args:
        array: the array.
        aval: the type of the other.
        own: the sharding of the other, if it has one.
        where: the placement; None for that of the other.
        function: the name of the user's function, for messages.
    """
    if across(aval):
        array = sharing(array, across(aval))
    if where is None:
        if array.shape == aval.shape:
            array = aval.with_layout_of(array)
            where = None if own is None or own.is_abstract else own
        elif isinstance(own, SingleDeviceSharding):  # which divides no axes
            where = own
    return put(array, where, function)


def put_result(
    fun: Callable[..., Array],
    where: devices.Placement,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Array:
    """Apply a function, and give its result the sharding of an argument of it.

    So the types of the arguments need not determine that sharding, unless the result is to remain
    partial sums.
    """
    spec = where.spec if isinstance(where, Sharding) else where
    if isinstance(spec, PartitionSpec) and spec.unreduced:
        with keeping_sums(spec.unreduced):
            out = fun(*args, **kwargs)
        return put(out, where, fun.__name__)
    operands = tree.map(lambda x: x.aval.without_sharding(x) if isinstance(x, Array) else x, args)
    return put(fun(*operands, **kwargs), where, fun.__name__)


# Arrays over several devices, made of what each process has for its own.


T = TypeVar("T")


def make_array_from_callback(
    shape: Sequence[int],
    sharding: Sharding,
    data_callback: Callable[[tuple[slice, ...]], Any],
    dtype: DTypeLike = None,
) -> Array:
    """Return an array over several devices whose parts a function returns.

    Each process calls the function for the parts on its own devices, once for each part.

    Args:
        shape: the shape of the whole.
        sharding: how it lies.
        data_callback: returns a part, given its slices.
        dtype: the dtype; by default that of the first part.

    Raises:
        ShardingError: an array of this shape cannot lie so, or a part has another shape.

    Example:
        >>> import numpy as np, tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("x",)), P("x"))
        >>> data = np.arange(6).reshape(3, 2)
        >>> tinyjax.make_array_from_callback((3, 2), rows, lambda index: data[index]).sharding.spec
        P('x',)
    """
    name = "make_array_from_callback"
    sizes = integers(shape, f"shape of {name}")
    resolved = named_sharding.checked(sharding, sizes, name, "the array")
    _check_no_sum(name, resolved)
    kind = None if dtype is None else np.dtype(dtype)
    by_part: dict[str, concrete.ConcreteArray] = {}
    parts: list[concrete.ConcreteArray] = []
    for part in resolved.addressable_devices_indices_map(sizes).values():
        if str(part) not in by_part:
            data = _on_host(data_callback(part), name)
            kind = data.dtype if kind is None else kind
            by_part[str(part)] = _on_host(data.astype(kind), name)
        parts.append(by_part[str(part)])
    if kind is None:
        raise _nothing_here(name, resolved)
    _check_parts(name, resolved, sizes, parts)
    aval = ShapedArray(sizes, kind)
    return xla.moving.of_parts(aval, resolved, [_contiguous(x.host, ...) for x in parts])


def make_array_from_single_device_arrays(
    shape: Sequence[int], sharding: Sharding, arrays: Sequence[Array], *, dtype: DTypeLike = None
) -> Array:
    """Return an array over several devices, made of one array on each of them.

    Nothing is copied.

    Args:
        shape: the shape of the whole.
        sharding: how it lies.
        arrays: the parts on the devices of this process, in any order.
        dtype: the dtype; by default that of the arrays.

    Raises:
        ShardingError: an array of this shape cannot lie so, or a device of this process has no
            array, or one of another shape or dtype.

    Example:
        >>> import numpy as np, tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("x",)), P("x"))
        >>> part = tinyjax.device_put(np.ones(3), tinyjax.local_devices()[0])
        >>> tinyjax.make_array_from_single_device_arrays((3,), rows, [part]).sharding.spec
        P('x',)
    """
    name = "make_array_from_single_device_arrays"
    sizes = integers(shape, f"shape of {name}")
    resolved = named_sharding.checked(sharding, sizes, name, "the array")
    by_device: dict[devices.Device, Array] = {}
    for array in arrays:
        if (
            not isinstance(array, concrete.ConcreteArray | ShardedArray)
            or len(array.devices()) != 1
        ):
            raise errors.ShardingError(
                f"{name} takes arrays that lie on one device each, but got "
                f"{errors.shortened(array)}."
            )
        by_device[array.devices().pop()] = array
    own = [devices.device_at(resolved.ids[place]) for place in resolved.addressable_places]
    if {*by_device} != {*own} or len(arrays) != len(own):
        raise errors.ShardingError(
            f"{name} takes one array for each device of this process that {resolved!r} has, {own}, "
            f"but got {len(arrays)} arrays on {[*by_device]}."
        )
    if not own:
        raise _nothing_here(name, resolved)
    parts = [by_device[device] for device in own]
    _check_parts(name, resolved, sizes, parts)
    kind = parts[0].dtype if dtype is None else np.dtype(dtype)
    for part in parts:
        if part.dtype != kind:
            raise errors.ShardingError(
                f"{name}: arrays of {kind.name} were expected, but got {part.aval}."
            )
    return xla.moving.of_arrays(ShapedArray(sizes, kind), resolved, parts)


@overload
def make_array_from_process_local_data(
    sharding: Any, local_data: ArrayLike, global_shape: Any = ...
) -> Array: ...
@overload
def make_array_from_process_local_data(
    sharding: Any, local_data: T, global_shape: Any = ...
) -> T: ...
def make_array_from_process_local_data(
    sharding: Any, local_data: Any, global_shape: Any = None
) -> Any:
    """Return arrays over several devices, of which each process has a part.

    So a batch is assembled from the data that each process has read. Along an axis that is divided
    over the processes, the data is that of this process's devices, one after the other. Along the
    other axes it is whole, and the same in all processes.

    Args:
        sharding: how each array lies, a tree that may end above the leaves of ``local_data``.
        local_data: arrays in any containers.
        global_shape: the shapes of the whole arrays, a tree likewise; by default they follow from
            the data. An axis as long as that of ``local_data`` is whole in each process.

    Returns:
        The same tree of arrays over several devices.

    Raises:
        ShardingError: the data does not have the shape of this process's part, or an array cannot
            lie so.

    Example:
        >>> import numpy as np, tinyjax
        >>> from tinyjax import NamedSharding, P
        >>> rows = NamedSharding(tinyjax.make_mesh((1,), ("x",)), P("x"))
        >>> tinyjax.make_array_from_process_local_data(rows, np.ones((3, 2))).shape
        (3, 2)
    """
    leaves, treedef = tree.flatten(local_data)
    places = tree.flatten_prefix(sharding, treedef, devices.is_place, "sharding")
    shapes = tree.flatten_prefix(global_shape, treedef, _is_shape, "global_shape")
    arrays = [_of_local(*each) for each in zip(places, leaves, shapes, strict=True)]
    return tree.unflatten(treedef, arrays)


def _of_local(where: object, leaf: Any, shape: Sequence[int] | None) -> Array:
    name = "make_array_from_process_local_data"
    local = _on_host(leaf, name)
    sharding = named_sharding.resolve(where, name)
    _check_no_sum(name, sharding)
    lengths = (None,) * local.ndim if shape is None else integers(shape, f"global_shape of {name}")
    if len(lengths) != local.ndim:
        raise errors.ShardingError(
            f"{name}: the array has the shape {local.shape}, and global_shape {shape} another "
            "number of axes."
        )
    axes = [_AxisDivision(sharding, axis, local.ndim) for axis in range(local.ndim)]
    sizes = [axis.size(n, of, name) for axis, n, of in zip(axes, local.shape, lengths, strict=True)]
    sharding.check(sizes, f"the array of {name}")
    host = local.host
    parts = [
        _contiguous(host, tuple([a.own(s, n) for a, s, n in zip(axes, part, sizes, strict=True)]))
        for part in sharding.addressable_devices_indices_map(sizes).values()
    ]
    return xla.moving.of_parts(ShapedArray(tuple(sizes), local.dtype), sharding, parts)


def _check_no_sum(name: str, sharding: Sharding) -> None:
    if sharding.summed:
        raise errors.ShardingError(
            f"{name} takes parts of an array, but by {sharding.spec} devices have parts of a sum. "
            "Make it without unreduced, and give tinyjax.reshard the specification; or make it of "
            "the devices' own, by make_array_from_single_device_arrays."
        )


class _AxisDivision:
    """The division of one axis of an array over processes."""

    def __init__(self, sharding: Sharding, axis: int, ndim: int) -> None:
        self._axis = axis
        # an array with one element in each part says by its slices which parts there are
        counts = [sharding.size_of(sharding.spec.axes(i)) for i in range(ndim)]
        self._count = counts[axis]
        numbers = [part[axis].start or 0 for part in sharding.parts(counts)]
        self._by_process = {
            process: sorted({numbers[i] for i in places_of(process, sharding.ids)})
            for process in {devices.device_at(i).process_index for i in sharding.ids}
        }
        self._own = sorted({numbers[i] for i in sharding.addressable_places})
        self._whole = False

    @property
    def _is_uniform(self) -> bool:
        """Return whether processes have as many parts each, either the same or disjoint ones."""
        every = [{*numbers} for numbers in self._by_process.values()]
        own = {*self._own}
        return all(len(x) == len(own) and (x == own or not x & own) for x in every)

    def size(self, local: int, expected: int | None, name: str) -> int:
        """Return the length of the axis where this process has so much of it.

        Args:
            local: the length of this process's data.
            expected: the length of the whole, where it is given.
            name: the function, for messages.

        Raises:
            ShardingError: this process has not as much as that.
        """
        implied = local * self._count // max(len(self._own), 1)
        if expected == local or (expected is None and len(self._own) == self._count):
            self._whole = True
            return local
        if self._is_uniform and expected in (None, implied):
            return implied
        raise errors.ShardingError(
            f"{name}: along axis {self._axis} this process has {len(self._own)} of {self._count} "
            f"parts, and data of the length {local}"
            + ("." if expected is None else f", but global_shape says {expected}.")
            + ("" if self._is_uniform else " Parts of processes overlap: give global_shape.")
        )

    def own(self, part: slice, size: int) -> slice:
        """Return the same part of this process's data."""
        if self._whole or part.start is None:
            return part
        length = size // self._count
        place = self._own.index(part.start // length) if length else 0
        return slice(place * length, (place + 1) * length)


def _is_shape(x: object) -> bool:
    return x is None or (
        isinstance(x, tuple | list) and all(isinstance(n, int | np.integer) for n in x)
    )


def _on_host(data: object, name: str) -> concrete.ConcreteArray:
    array = opd.as_array(data)
    if isinstance(array, ShardedArray):
        array = array.gathered
    if not isinstance(array, concrete.ConcreteArray):
        raise errors.ArgumentError(f"{name} takes data, but got the traced value {array}.")
    return array


def _contiguous(host: HostArray, part: Any) -> HostArray:
    """Return a part of data as XLA holds it, which nobody writes to."""
    piece = host[part]
    return np.asarray(to_physical(piece) if piece.dtype in PHYSICAL else piece, order="C")


def _check_parts(
    name: str, sharding: Sharding, shape: Sequence[int], parts: Sequence[Array]
) -> None:
    expected = sharding.shard_shape(shape)
    for part in parts:
        if part.shape != expected:
            raise errors.ShardingError(
                f"{name}: the parts of an array of the shape {tuple(shape)} have the shape "
                f"{expected}, but one has {part.shape}."
            )


def _nothing_here(name: str, sharding: Sharding) -> errors.ShardingError:
    return errors.ShardingError(f"{name}: no device of {sharding!r} is of this process.")
