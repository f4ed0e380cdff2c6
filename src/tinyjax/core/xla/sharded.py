"""Arrays on several devices: put there, moved, computed with.

A program is called with its arguments as they lie: what lies otherwise than the program was
compiled for is moved first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from math import inf
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from jaxlib.xla_client import ArrayCopySemantics, batched_copy_array_to_devices_with_sharding

from tinyjax import config, dtypes, errors
from tinyjax.core.devices import device_at
from tinyjax.core.platforms import CPU, platform_at
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing.jaxpr import Jaxpr, ProgramTrace, Var, eval_jaxpr
from tinyjax.core.tracing.primitive import P, Primitive
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import EVAL, bind, eager, raise_not_concrete, use_trace
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray, fetched, raise_donated
from tinyjax.core.values.operands import aligned, first_element, is_splat
from tinyjax.core.xla.backend import backend, backend_of, buffer_of, physical, result_handler
from tinyjax.core.xla.compilation import Compilation
from tinyjax.core.xla.executable import Executable, compiled, executable_for
from tinyjax.core.xla.lowering import CallsPythonError, calls_from
from tinyjax.core.xla.placement import Placement, on_devices, placement_by, placement_of, undivided
from tinyjax.core.xla.planned import PlannedExecutable
from tinyjax.core.xla.sharded_executable import ShardedExecutable, of_parts, placed, result_of
from tinyjax.parallel.named_sharding import NamedSharding
from tinyjax.parallel.sharded_array import ShardedArray
from tinyjax.parallel.sharding import Part, PartitionSpec, Sharding, on_first

_Compiled: TypeAlias = Executable | ShardedExecutable | PlannedExecutable


# Arrays


def put(x: Array, sharding: Sharding) -> Array:
    """Put an array with data where a sharding says.

    Raises:
        ShardingError: an array of its shape cannot lie so.
    """
    if not isinstance(x, ConcreteArray | ShardedArray):
        raise_not_concrete(x)
    sharding.check(x.shape)
    if sharding.is_abstract:
        raise errors.ShardingError(
            f"{sharding!r} names no devices, so that no array lies so. AbstractMesh is for "
            "programs that are lowered and compiled, but not run."
        )
    _check_memory(sharding)
    if sharding == on_first():
        local = x if isinstance(x, ConcreteArray) else x.gathered
        if local.aval is not local.aval.plain:
            local = ConcreteArray(local.host, local.aval.plain)
        buffer_of(local, backend())
        return local
    at = moved(x, sharding)
    return at if at.sharding is sharding else ShardedArray(x.aval, sharding, at.shards)


def _check_memory(sharding: Sharding) -> None:
    """Raise where an array is to lie in another memory of a device than its own."""
    kind, device = sharding.memory_kind, device_at(sharding.ids[0])
    if kind not in [memory.kind for memory in device.addressable_memories()]:
        raise errors.ShardingError(
            f"arrays on {device!r} lie in its own memory, but memory_kind is {kind!r}. Put them on "
            "the processor: tinyjax.device_put(x, tinyjax.devices('cpu')[0])."
        )


def moved(x: Array, sharding: Sharding) -> ShardedArray:
    """Return an array that lies as a sharding says, by this or by an equivalent one."""
    if isinstance(x, ShardedArray):
        if x.sharding.is_equivalent_to(sharding, x.ndim):
            return x
        if x.sharding.is_fully_addressable and sharding.is_fully_addressable:
            here, there = (platform_at(s.ids[0]) for s in (x.sharding, sharding))
            if here is there is not CPU:
                return _between_devices(x, sharding)
            # The processor's devices share its memory: a program that moves parts takes up to four
            # times as long. What goes between platforms goes by way of it.
            if not x.sharding.summed and not sharding.summed:
                return _recut(x, sharding)
        elif x.sharding.ids == sharding.ids:
            if x.sharding.summed and sharding.summed and isinstance(sharding, NamedSharding):
                x = _resharded(x, sharding.update(spec=sharding.spec.settled))
            return _resharded(x, sharding)
        elif not sharding.is_fully_addressable:
            x = _replicated(x)
        x = x.gathered
    if not isinstance(x, ConcreteArray):
        raise_not_concrete(x)
    if sharding == on_first():
        return ShardedArray(x.aval, sharding, buffer_of(x, backend()))
    return _divided(x.aval, sharding, x.host)


def _between_devices(x: ShardedArray, sharding: Sharding) -> ShardedArray:
    """Move an array between devices of a platform that have memories of their own."""
    if x.sharding.ids == sharding.ids:
        return _resharded(x, sharding)
    if len(x.sharding.ids) == len(sharding.ids) == 1:
        if x.shards.is_deleted():
            raise_donated(x)
        target = placed(sharding, x.ndim)
        devices = backend_of(sharding.ids).device_list(sharding.ids)
        shards: Any = x.shards
        (copy,) = batched_copy_array_to_devices_with_sharding(
            [shards], [devices], [target], [ArrayCopySemantics.ALWAYS_COPY]
        )
        return ShardedArray(x.aval, sharding, copy)
    return moved(x.gathered, sharding)


def _divided(aval: ShapedArray, sharding: Sharding, host: dtypes.HostArray) -> ShardedArray:
    """Put data of the host where a sharding says."""
    if aval.dtype in dtypes.PHYSICAL:
        host = dtypes.to_physical(host)
    copies: dict[str, dtypes.HostArray] = {}
    parts: list[dtypes.HostArray] = []
    slices, terms = sharding.parts(aval.shape), sharding.terms
    for place in sharding.addressable_places:
        if terms[place]:  # of a sum all of which the first device has
            shape = host[slices[place]].shape
            parts.append(np.zeros(shape, host.dtype))
            continue
        key = str(slices[place])
        part = copies.get(key)
        if part is None:
            part = np.asarray(host[slices[place]])  # of a number NumPy gives no array
            if not part.flags.c_contiguous:
                part = aligned(part.shape, part.dtype)
                part[...] = host[slices[place]]
            copies[key] = part
        parts.append(part)
    return of_parts(aval, sharding, parts)


def _recut(x: ShardedArray, sharding: Sharding) -> ShardedArray:
    """Divide an array otherwise, all of whose parts are in this process, by copying these."""
    if x.shards.is_deleted():
        raise_donated(x)
    dtype = physical(x.aval).dtype
    buffers = x.shards._arrays
    has = [fetched(buffer, dtype) for buffer in buffers]
    cuts, places = _cuts(x.sharding, sharding, x.shape)
    parts: list[dtypes.HostArray] = []
    for shape, pieces in cuts:
        part = aligned(shape, dtype)
        for there, source, here in pieces:
            part[there] = has[source][here]
        parts.append(part)
    return of_parts(x.aval, sharding, [parts[place] for place in places])


#: How one part is put together: its shape; and which of it comes from which part of the source.
_Cut: TypeAlias = tuple[tuple[int, ...], tuple[tuple[Part, int, Part], ...]]


@lru_cache(maxsize=4096)
def _cuts(
    source: Sharding, target: Sharding, shape: tuple[int, ...]
) -> tuple[Sequence[_Cut], Sequence[int]]:
    """How an array that is divided in one way is divided in another.

    Args:
        source: how it lies.
        target: how it is to lie.
        shape: its shape.

    Returns:
        What the target's parts are made of, each once; and which of them each device has.
    """

    def bounds(sharding: Sharding) -> list[tuple[tuple[int, int], ...]]:
        return [
            tuple([s.indices(n)[:2] for s, n in zip(part, shape, strict=True)])
            for part in sharding.parts(shape)
        ]

    sources = {part: place for place, part in enumerate(bounds(source))}  # others hold copies
    targets = bounds(target)
    distinct = [*dict.fromkeys(targets)]
    cuts: list[_Cut] = []
    for part in distinct:
        pieces: list[tuple[Part, int, Part]] = []
        for own, place in sources.items():
            there: list[slice] = []
            here: list[slice] = []
            for (start, stop), (first, last) in zip(part, own, strict=True):
                low, high = max(start, first), min(stop, last)
                there.append(slice(low - start, high - start))
                here.append(slice(low - first, high - first))
            if all(s.start < s.stop for s in there):
                pieces.append((tuple(there), place, tuple(here)))
        cuts.append((tuple([stop - start for start, stop in part]), tuple(pieces)))
    return cuts, [distinct.index(part) for part in targets]


def on_host(args: Sequence[Array]) -> list[Array]:
    """Return arrays that were put nowhere with their data on the host, for its first device."""
    return [x.gathered if isinstance(x, ShardedArray) else x for x in args]


def of_arrays(aval: ShapedArray, sharding: Sharding, arrays: Sequence[Array]) -> ShardedArray:
    """Make an array of arrays that lie on this process's devices, in their order, and are kept."""
    on = backend()
    buffers: list[Any] = [
        x.shards if isinstance(x, ShardedArray) else buffer_of(x, on) for x in arrays
    ]
    join = result_handler(physical(aval), placed(sharding, aval.ndim))
    return ShardedArray(aval, sharding, join(buffers))


def _resharded(x: ShardedArray, sharding: Sharding) -> ShardedArray:
    """Return an array divided otherwise over the same devices, by a program that does no more."""
    var = Var(x.aval)
    placement = Placement(sharding.ids, (x.sharding,), (sharding,))
    request = Compilation(Jaxpr((var,), (), (var,)), "reshard", placement=placement)
    (result,), _ = run_sharded(request, [x])
    assert isinstance(result, ShardedArray), "it lies on several devices"
    return result


def _replicated(x: ShardedArray) -> ShardedArray:
    """Return an array of which this process has all, by a program of all that have parts of it."""
    sharding = x.sharding
    if isinstance(sharding, NamedSharding) and not sharding.is_fully_addressable:
        return _resharded(x, sharding.update(spec=PartitionSpec()))
    return x


# Programs


def run_sharded(
    request: Compilation, args: Sequence[Array]
) -> tuple[list[Array], ShardedExecutable | None]:
    """Run a program that has a placement; its results may still be under way.

    What is returned with them is the compiled program; None where the host has run it.

    Args:
        request: the program.
        args: arrays with data, of the types of its parameters, wherever they lie.

    Raises:
        DonatedArrayError: one was donated to an earlier call.
        ShardingError: it calls Python functions, and not all of its devices are of this process.
    """
    program = _for_devices(request)
    if program is None:
        return _run_on_host(request, args), None
    outs = call_sharded(program, args)
    return outs, program if isinstance(program, ShardedExecutable) else None


def _for_devices(request: Compilation) -> _Compiled | None:
    """Compile a program that has a placement; None if it calls Python, so that the host runs it."""
    calls_python, placement = _calls_python(request.jaxpr), request.placement
    assert placement is not None, "only such programs are compiled for a placement"
    if calls_python and not calls_from(placement):
        return None
    try:
        return compiled(request)
    except CallsPythonError:
        if not all(x.is_fully_addressable for x in placement.ins) or placement.is_abstract:
            raise
        calls_python.append(True)
        return None


def _calls_python(jaxpr: Jaxpr) -> list[bool]:
    """What is known of whether a program calls Python functions: not empty where it does."""
    return jaxpr.derive("calls Python", list)


def _run_on_host(request: Compilation, args: Sequence[Array]) -> list[Array]:
    """Run a program that calls Python functions, and put its results where they are to lie.

    Functions are called once, with whole arrays, or within ``shard_map`` once for each device.
    """
    placement = request.placement
    assert placement is not None, "it has one"
    hosts = on_host(args)
    if placement_by(request.jaxpr, [None] * len(hosts)) is None:
        outs = executable_for(attrs.evolve(request, donated=(), placement=None))(hosts)
    else:  # it has parts for each device, of which NumPy computes one after the other
        with use_trace(eager[ProgramTrace](inf)):
            outs = eval_jaxpr(request.jaxpr, hosts)
    whole = undivided(placement.ins, placement.ids)
    return [put(x, lie or whole) for x, lie in zip(outs, placement.outs, strict=True)]


def call_sharded(executable: _Compiled, args: Sequence[Array]) -> list[Array]:
    """Run a compiled program that has a placement, as ``run_sharded`` does."""
    if isinstance(executable, PlannedExecutable):
        raise errors.ShardingError(
            f"'{executable.name}' is for an AbstractMesh, which has no devices to run it. Make "
            "the mesh by tinyjax.make_mesh."
        )
    assert isinstance(executable, ShardedExecutable), "it has a placement"
    ins = executable.placement.ins
    return executable([moved(x, sharding) for x, sharding in zip(args, ins, strict=True)])


# Operations outside of programs: each is a program

#: What runs an operation: by operands of which types, where they lie, with which settings.
_operations: Final[dict[tuple[object, ...], Callable[[Sequence[Array]], list[Array]]]] = {}
_MOST_OPERATIONS: Final = 1024


def evaluate(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Apply a primitive where its operands lie, by a program that is compiled once for the like."""
    avals = [x.aval for x in args]
    # What is one number everywhere goes to the devices as that number: True stands for such.
    lie = [
        x._sharding if type(x) is ShardedArray else is_splat(x) and x.ndim > 0 and x.size > 0
        for x in args
    ]
    key = (primitive, params, config.settings(), *avals, *lie)
    run = _operations.get(key)
    operands = args
    if bool in map(type, lie):
        args = [
            ConcreteArray(np.asarray(first_element(x.concrete("data"))), aval.with_shape(()))
            if how is True
            else x
            for x, aval, how in zip(args, avals, lie, strict=True)
        ]
    if run is None:
        jaxpr = _operation(primitive, params, avals, [how is True for how in lie])
        placement = placement_of(jaxpr, on_devices(args))
        if placement is None:
            return EVAL.process(primitive, on_host(operands), params)
        request = Compilation(jaxpr, primitive.name, placement=placement)
        program = _for_devices(request)
        if program is None:
            return _run_on_host(request, args)
        run = _run_by(program, lie)
        if len(_operations) >= _MOST_OPERATIONS:
            _operations.clear()
        _operations[key] = run
    return run(args)


#: Numbers that were sent to devices: by their types and where they lie, and their bytes.
_numbers: Final[dict[tuple[object, ...], ShardedArray]] = {}
_MOST_NUMBERS: Final = 256


def _number_at(x: Array, sharding: Sharding) -> ShardedArray:
    """Return an array of one number that lies as a sharding says: the one made before, if any.

    Most numbers are constants of the user's, as in ``x + 1``; sending one takes longer than that.
    """
    if type(x) is not ConcreteArray:
        return moved(x, sharding)
    key = (x.aval, sharding, x.host.tobytes())
    cached = _numbers.get(key)
    if cached is None:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        cached = _numbers[key] = moved(x, sharding)
    return cached


def _run_by(
    executable: _Compiled, lie: Sequence[object]
) -> Callable[[Sequence[Array]], list[Array]]:
    """Return what calls an executable with arguments that lie so."""
    if not isinstance(executable, ShardedExecutable):
        return partial(call_sharded, executable)
    execute, results, moves = executable.execute, executable.results, executable.moves(lie)

    def run(args: Sequence[Array]) -> list[Array]:
        at: list[Any] = [
            x if to is None else moved(x, to) if x.ndim else _number_at(x, to)
            for x, to in zip(args, moves, strict=True)
        ]
        outs = execute(args, [x.shards for x in at])
        return [result_of(how, out) for how, out in zip(results, outs, strict=True)]

    return run


def _operation(
    primitive: Primitive[P], params: P, avals: Sequence[ShapedArray], splats: Sequence[bool]
) -> Jaxpr:
    def operation(*values: Array) -> Sequence[Array]:
        operands = [
            broadcast_in_dim(x, aval.shape, ()) if splat else x
            for x, aval, splat in zip(values, avals, splats, strict=True)
        ]
        return bind(primitive, operands, params)

    types = [a.with_shape(()) if splat else a for a, splat in zip(avals, splats, strict=True)]
    return stage(operation, types).jaxpr
