"""Compiled programs and operations that run elsewhere than on the first device."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from math import inf
from threading import Lock
from typing import Any, Final

import attrs
import numpy as np
from jaxlib import xla_client
from jaxlib.xla_client import CompileOptions, DeviceAssignment, HloSharding, LoadedExecutable

from tinyjax import config, errors
from tinyjax._base import forks, records
from tinyjax._extensions.callbacks.xla import programs
from tinyjax._extensions.host.xla import call_writer
from tinyjax._extensions.parallel import named_sharding, sharded_array
from tinyjax._extensions.parallel.communication import COLLECTIVES
from tinyjax._extensions.parallel.placement import (
    OriginalSpecs,
    Placement,
    on_devices,
    on_host,
    placement_by,
    placement_in,
    placement_of,
    undivided,
)
from tinyjax._extensions.parallel.sharding import Sharding, on_first
from tinyjax._extensions.parallel.xla import lowering, moving, plugins
from tinyjax.core.devices import CPU, PER_PLATFORM, PER_PROCESS, platform_at
from tinyjax.core.lowering import Locate
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.stablehlo.lowering import HostFunction
from tinyjax.core.tracing import Primitive, jaxpr as jx, staging, trace as tr
from tinyjax.core.tracing.primitive import P
from tinyjax.core.values import Array, ShapedArray, concrete, operands as opd
from tinyjax.core.values.operands import first_element, is_splat
from tinyjax.core.xla import backend, compilation, executable, threads
from tinyjax.core.xla.compilation import Compilation, Flags
from tinyjax.core.xla.executable import Executable, compiled
from tinyjax.core.xla.options import compile_options, flags_for

# Compiled programs on several devices.
#
# XLA checks nothing of where a program's arguments lie (``parallel.placement``), so that every
# argument is compared with what the program was compiled for.
#
# On CPU each of a program's devices occupies a thread of the client's while it waits for the
# others in a collective. It has few: with 28 devices of programs waiting at once some wait for
# devices that have no thread, nothing goes on, and after 40 seconds XLA ends the process. So of
# programs with collectives the devices are never more than ``_MOST_WAITING``, over all threads of
# the process, unless one program has more.


_WAITS: Final = re.compile(rf" ({'|'.join(COLLECTIVES)}|ragged-all-to-all)(-start)?[(]")
_MOST_WAITING: Final = 16
#: A token of each program with collectives that is under way, and how many devices it has.
_under_way: Final[deque[tuple[Any, int]]] = deque()
_lock: Final = Lock()


threads.hold_at_forks(_lock)
forks.register(after_in_child=_under_way.clear)  # they run in the other process


class ShardedExecutable(Executable):
    """A compiled program on several devices, or on another than the first.

    Attributes:
        name: the name of its module.
        loaded: XLA's executable.
        in_avals: the types of its parameters.
        out_avals: the types of its results.
        donated: the parameters whose memory may be given up, by position.
        placement: the shardings of parameters and results.
        results: the types of the results, and their shardings; None on the first device.
    """

    def __init__(
        self,
        loaded: LoadedExecutable,
        request: compilation.Compilation,
        placement: Placement,
        functions: Sequence[HostFunction] = (),
    ) -> None:
        jaxpr = request.jaxpr
        self.name: str = request.name
        self.loaded: LoadedExecutable = loaded
        self.in_avals: tuple[ShapedArray, ...] = jaxpr.in_avals
        self.out_avals: tuple[ShapedArray, ...] = jaxpr.out_avals
        self.donated: tuple[int, ...] = request.donated
        self.placement: Placement = placement
        self._functions = functions
        outs = [x for x in placement.outs if x is not None]
        self._devices = len(loaded.local_devices())
        #: whether its devices wait for each other, in threads of the processor
        self._waits = platform_at(placement.ids[0]) is CPU and any(
            _WAITS.search(m.to_string()) for m in loaded.hlo_modules()
        )
        self._handlers = [
            backend.result_handler(backend.physical(aval), moving.placed(sharding, aval.ndim))
            for aval, sharding in zip(self.out_avals, outs, strict=True)
        ]
        first = on_first()
        lie = [None if sharding == first else sharding for sharding in outs]
        self.results: list[tuple[ShapedArray, Sharding | None]] = self._typed(lie)

    def as_requested(self, request: compilation.Compilation) -> ShardedExecutable:
        """Return the same program with the results' shardings in the form that the request uses.

        A result without a specification has the form of the first argument's, if they are
        equivalent, as in JAX.
        """
        outs = _as_written(self.placement.outs, request)
        if all(x is y for x, y in zip(outs, self.placement.outs, strict=True)):
            return self
        result = copy(self)
        result.placement = attrs.evolve(self.placement, outs=tuple(outs))
        lie = [lies and to for (_, lies), to in zip(self.results, outs, strict=True)]
        result.results = result._typed(lie)
        return result

    def _typed(self, lie: Sequence[Sharding | None]) -> list[tuple[ShapedArray, Sharding | None]]:
        """Return the types of the results, which say how they lie where types do."""
        return [
            (aval if sharding is None else sharding.typed(aval), sharding)
            for aval, sharding in zip(self.out_avals, lie, strict=True)
        ]

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run the program, as ``execute`` does, on arrays that are moved to where it takes them."""
        placed: list[sharded_array.ShardedArray] = []
        for arg, aval, sharding in zip(args, self.in_avals, self.placement.ins, strict=True):
            x = moving.moved(arg, sharding)
            assert x.shape == aval.shape, "XLA would not notice"
            assert x.sharding.is_equivalent_to(sharding, x.ndim), "XLA would not notice"
            placed.append(x)
        outs = self.execute(placed, [x.shards for x in placed])
        return [result_of(how, out) for how, out in zip(self.results, outs, strict=True)]

    def moves(self, lie: Sequence[object]) -> list[Sharding | None]:
        """Return the sharding that each argument must first be moved to; None if it is there.

        Args:
            lie: the shardings of the last arguments; something else for those on the host.
        """
        first = len(self.in_avals) - len(lie)
        ins, avals = self.placement.ins[first:], self.in_avals[first:]
        return [
            None if isinstance(has, Sharding) and has.is_equivalent_to(to, aval.ndim) else to
            for has, to, aval in zip(lie, ins, avals, strict=True)
        ]

    def execute(self, args: Sequence[Array], buffers: list[Any]) -> list[Any]:
        """Run the program; the results may still be under way when this returns.

        Args:
            args: arrays of the types of the parameters.
            buffers: their shards, with the shardings of ``placement``.

        Returns:
            The shards of the results.

        Raises:
            DonatedArrayError: an array was donated to an earlier call, or is an argument twice.
        """
        threads.check_threads(self.name)
        try:
            return self._execute(args, buffers)
        except RuntimeError as error:
            concrete.raise_as_ours(error)

    def _execute(self, args: Sequence[Array], buffers: list[Any]) -> list[Any]:
        if self.donated:
            concrete.check_donated_once(buffers, self.donated, self.in_avals, self.name)
        if self._functions:  # outside of the lock: the functions may run programs
            concrete.check_donated(args)
            return programs.run_to_end(self.loaded, buffers, self._handlers)
        with _lock:
            concrete.check_donated(args)  # here, so that no other thread comes in between
            if not self._waits:  # a token takes a tenth of a small program's time
                return self.loaded.execute_sharded(buffers).consume_with_handlers(self._handlers)
            waiting = sum(count for _, count in _under_way)
            while _under_way and waiting + self._devices > _MOST_WAITING:
                token, count = _under_way.popleft()
                token.block_until_ready()
                waiting -= count
            results = self.loaded.execute_sharded(buffers, with_tokens=True)
            _under_way.append((results.consume_token(), self._devices))
            return results.consume_with_handlers(self._handlers)


def _as_written(outs: Sequence[Sharding | None], request: Compilation) -> Sequence[Sharding | None]:
    """Return how results lie, as arguments and the program write it."""
    how = placement_in(request).originals
    if how is None:
        return outs
    avals = request.jaxpr.out_avals
    return [
        _in_original_form(x, requested, how, aval)
        for x, requested, aval in zip(outs, how.outs, avals, strict=True)
    ]


def _in_original_form(
    x: Sharding | None, requested: Sharding | None, how: OriginalSpecs, aval: ShapedArray
) -> Sharding | None:
    """Return the sharding ``x`` of a result in the form that the program or its arguments use."""
    if not isinstance(x, named_sharding.NamedSharding):
        return x
    if (
        isinstance(requested, named_sharding.NamedSharding)
        and requested.stripped() is not requested
    ):
        return requested
    first = how.first
    if (
        not isinstance(first, named_sharding.NamedSharding)
        or how.ndim != aval.ndim
        or requested is x
    ):
        return x
    if aval.sharding_or_none is not None or first.mesh != x.mesh:
        return x
    return first if first.spec.stripped() == x.spec.stripped() else x


def result_of(how: tuple[ShapedArray, Sharding | None], buffer: Any) -> Array:
    """Make an array of a result's shards, given its type and how it lies."""
    aval, sharding = how
    if sharding is None:
        return concrete.ConcreteArray(None, aval, buffer)
    if 0 in aval.shape:  # XLA makes what has no elements without dividing it
        part = np.empty(sharding.shard_shape(aval.shape), backend.physical(aval).dtype)
        return moving.of_parts(aval, sharding, [part] * len(sharding.addressable_places))
    return sharded_array.ShardedArray(aval, sharding, buffer, is_typed=True)


def compile_placed(
    target: backend.Backend,
    request: compilation.Compilation,
    placement: Placement,
    flags: compilation.Flags,
    locate: Locate | None = None,
) -> tuple[LoadedExecutable, Placement, Sequence[HostFunction]]:
    """Compile a program, and return its results' shardings and its Python callbacks."""
    name = request.name
    text, functions = lowering.lowered_for(placement, request.jaxpr, name, request.donated, locate)
    options, devices = placed_options(flags, placement), target.device_list(placement.ids)
    guarded = [programs.guarded_from_devices(f) for f in functions]
    loaded = (
        programs.compile_with(target, text, guarded, name, flags, options, devices)
        if functions
        else executable.load_or_compile(target, text, name, flags, options, devices)[0]
    )
    outs = _read_back(loaded, request.jaxpr, placement)
    lie = (*placement.ins, *([] if placement.whole is None else [placement.whole]))
    whole = [undivided((a.sharding, *lie), placement.ids) for a in request.jaxpr.out_avals]
    shardings = tuple([alone if x is None else x for x, alone in zip(outs, whole, strict=True)])
    decided = attrs.evolve(placement, outs=shardings)
    if None in outs:
        return compile_placed(target, request, decided, flags, locate)
    return loaded, decided, functions


def placed_options(flags: compilation.Flags, placement: Placement) -> CompileOptions:
    """Return XLA's record of options with these flags, for programs on these devices."""
    options = compile_options(flags)
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 1
    options.num_partitions = build.num_partitions = len(placement.ids)
    build.use_spmd_partitioning = build.use_shardy_partitioner = True
    free = [sharding is None for sharding in placement.outs]
    build.allow_spmd_sharding_propagation_to_output = free or [True]
    assignment = DeviceAssignment.create(
        np.array([[i % PER_PLATFORM for i in placement.ids]], np.int32)
    )
    on_gpus = platform_at(placement.ids[0]).rules == "cuda"
    if on_gpus and (folder := plugins.toolkit()) is not None:
        build.debug_options.xla_gpu_cuda_data_dir = str(folder)
    options.device_assignment = build.device_assignment = assignment
    return options


def _read_back(
    loaded: LoadedExecutable, jaxpr: jx.Jaxpr, placement: Placement
) -> list[Sharding | None]:
    """Return the shardings of a program's results; None where no axes express XLA's choice."""
    if None not in placement.outs:
        return [*placement.outs]
    if len(placement.ids) == 1:
        return [undivided(placement.ins, placement.ids) if x is None else x for x in placement.outs]
    named = (*placement.ins, *placement.outs, placement.whole)
    meshes = [*dict.fromkeys([s for s in named if isinstance(s, named_sharding.NamedSharding)])]
    shardings: list[Sharding | None] = []
    chosen = loaded.get_output_shardings() or []
    for sharding, proto, aval in zip(placement.outs, chosen, jaxpr.out_avals, strict=True):
        text = str(HloSharding.from_proto(proto))
        own = aval.sharding if aval.sharding_or_none is not None else None
        names = (
            moving.by_axes(like, text, aval.shape)
            for like in ([own] if isinstance(own, named_sharding.NamedSharding) else meshes)
        )
        shardings.append(sharding or next((x for x in names if x is not None), None))
    return shardings


# Specialized calls of programs that run elsewhere than on the first device.


def call_parts(
    program: ShardedExecutable, consts: Sequence[Array], leaves: Sequence[Any]
) -> call_writer.Parts:
    """Return the parts of a program for a specialized call."""

    def sender(target: Any) -> Callable[[object], Array]:
        return lambda x: moving.moved(opd.as_array(x), target)

    ins = program.placement.ins
    targets = program.moves([getattr(x, "_sharding", None) for x in leaves])
    moved = [moving.moved(x, to).shards for x, to in zip(consts, ins, strict=False)]
    parts = {"run": program.execute, "finish": result_of} | call_writer.numbered("c", moved)
    parts |= call_writer.numbered("m", map(sender, targets))
    parts |= call_writer.numbered("u", program.results)
    operand = call_writer.Conversion
    return tuple([operand.AS_IT_IS if to is None else operand.MOVED for to in targets]), parts


# Programs compiled for meshes without devices: what they would take, and no more.
#
# XLA compiles for the devices of a client. So a client with as many devices as the mesh is made
# for the compilation, and dropped after it, for each of its devices has a thread.


@attrs.frozen(eq=False, repr=False)
class CompiledDescription(records.Record):
    """XLA's description of a compiled program."""

    _hlo: str
    _costs: dict[str, Any]
    _memory: Any

    def get_hlo_text(self) -> str:
        return self._hlo

    def cost_analysis(self) -> dict[str, Any]:
        return self._costs

    def get_compiled_memory_stats(self) -> Any:
        return self._memory


class PlannedExecutable(Executable):
    """A compiled program that has no devices to run.

    Attributes:
        placement: how parameters and results would lie.
    """

    def __init__(self, name: str, plan: CompiledDescription, placement: Placement) -> None:
        self.name: str = name
        self.loaded: CompiledDescription = plan
        self.placement: Placement = placement

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        raise errors.ShardingError(
            f"'{self.name}' is for an AbstractMesh, which has no devices to run it. Make "
            "the mesh by tinyjax.make_mesh."
        )


def compile_request(request: Compilation, flags: Flags, locate: Locate | None) -> Executable:
    """Compile a program for its arguments' devices, or for a mesh without devices.

    The shardings that XLA chooses for results are expressed by the names of a mesh's axes. If
    that is impossible, or an axis is not divisible, the program is compiled again with that result
    undivided.

    Raises:
        ShardingError: the mesh is larger than what XLA compiles for.
    """
    placement = placement_in(request)
    if not placement.is_abstract:
        on = backend.backend_of(placement.ids)
        loaded, decided, functions = compile_placed(on, request, placement, flags, locate)
        return ShardedExecutable(loaded, request, decided, functions)
    count = len(placement.ids)  # those with higher numbers XLA takes for another process's
    if count > PER_PROCESS:
        raise errors.ShardingError(
            f"XLA compiles programs on the CPU for {PER_PROCESS} devices at most, but the "
            f"AbstractMesh has {count}. Make its axes smaller, and scale what it tells."
        )
    on = backend.Backend(xla_client.make_cpu_client(asynchronous=True, num_devices=count))
    loaded, decided, _ = compile_placed(on, request, placement, flags, locate)
    costs = dict(loaded.cost_analysis())
    plan = CompiledDescription(loaded.get_hlo_text(), costs, loaded.get_compiled_memory_stats())
    return PlannedExecutable(request.name, plan, decided)


# Programs and operations that run elsewhere than on the first device.
#
# A program is called with its arguments as they lie: what lies otherwise than the program was
# compiled for is moved first.


def run_sharded(
    request: Compilation, args: Sequence[Array]
) -> tuple[list[Array], Executable | None]:
    """Run a program that has a placement; its results may still be under way.

    The compiled program is returned with them; None if the host has run it.

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
    return program(args), program


def _for_devices(request: Compilation) -> Executable | None:
    """Compile a program that has a placement; None if it calls Python, so that the host runs it."""
    calls_python, placement = _calls_python(request.jaxpr), placement_in(request)
    if calls_python and not lowering.calls_from(placement):
        return None
    try:
        return compiled(request)
    except lowering.CallsPythonError:
        if not all(x.is_fully_addressable for x in placement.ins) or placement.is_abstract:
            raise
        calls_python.append(True)
        return None


def _calls_python(jaxpr: jx.Jaxpr) -> list[bool]:
    """Return a record of whether a program calls Python functions: not empty where it does."""
    return jaxpr.derive("calls Python", list)


def _run_on_host(request: Compilation, args: Sequence[Array]) -> list[Array]:
    """Run a program that calls Python functions, and move its results to their devices.

    Functions are called once, with whole arrays, or within ``shard_map`` once for each device.
    """
    hosts = on_host(args)
    if placement_by(request.jaxpr, [None] * len(hosts)) is None:
        outs = compiled(attrs.evolve(request, donated=(), placement=None))(hosts)
    else:  # it has parts for each device, of which NumPy computes one after the other
        from tinyjax._extensions.host.plans import ProgramEvaluation  # noqa: PLC0415 (hardly ever)

        with tr.use_trace(ProgramEvaluation(inf)):
            outs = jx.eval_jaxpr(request.jaxpr, hosts)
    return put_results(request, outs)


def put_results(request: Compilation, outs: Sequence[Array]) -> list[Array]:
    """Put results that the host has computed where a program that has a placement says."""
    placement, first = placement_in(request), on_first()
    whole = undivided(placement.ins, placement.ids)
    lie = _as_written([x or whole for x in placement.outs], request)
    return [
        x if to is None or to == first else moving.put(x, to)
        for x, to in zip(outs, lie, strict=True)
    ]


def flags_of(request: Compilation) -> Flags:
    """Return the flags that a program with a placement is compiled with.

    The flags in the settings are for the processor alone.
    """
    on_processor = platform_at(placement_in(request).ids[0]) is CPU
    return flags_for(request) if on_processor else request.flags


# Operations outside of programs: each is a program

#: What runs an operation: by operands of which types, where they lie, with which settings.
_operations: Final[dict[tuple[object, ...], Callable[[Sequence[Array]], list[Array]]]] = {}
_MOST_OPERATIONS: Final = 1024


def evaluate(primitive: Primitive[P], args: Sequence[Array], params: P) -> Sequence[Array]:
    """Apply a primitive where its operands lie, by a program that is compiled once for the like."""
    avals = [x.aval for x in args]
    # An array of one number goes to the devices as that number: True marks such an array.
    lie = [
        x._sharding
        if type(x) is sharded_array.ShardedArray
        else is_splat(x) and x.ndim > 0 and x.size > 0
        for x in args
    ]
    key = (primitive, params, config.settings(), *avals, *lie)
    run = _operations.get(key)
    operands = args
    if bool in map(type, lie):
        args = [
            concrete.ConcreteArray(
                np.asarray(first_element(x.concrete("data"))), aval.with_shape(())
            )
            if how is True
            else x
            for x, aval, how in zip(args, avals, lie, strict=True)
        ]
    if run is None:
        jaxpr = _operation(primitive, params, avals, [how is True for how in lie])
        placement = placement_of(jaxpr, on_devices(args))
        if placement is None:
            return tr.EVAL.process(primitive, on_host(operands), params)
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
_numbers: Final[dict[tuple[object, ...], sharded_array.ShardedArray]] = {}
_MOST_NUMBERS: Final = 256


def _number_at(x: Array, sharding: Sharding) -> sharded_array.ShardedArray:
    """Return an array of one number with a sharding: the one made before, if any.

    Most numbers are constants of the user's, as in ``x + 1``; sending one takes longer than a
    lookup.
    """
    if type(x) is not concrete.ConcreteArray:
        return moving.moved(x, sharding)
    key = (x.aval, sharding, x.host.tobytes())
    cached = _numbers.get(key)
    if cached is None:
        if len(_numbers) >= _MOST_NUMBERS:
            _numbers.clear()
        cached = _numbers[key] = moving.moved(x, sharding)
    return cached


def _run_by(
    executable: Executable, lie: Sequence[object]
) -> Callable[[Sequence[Array]], list[Array]]:
    """Return a function that calls an executable with arguments of these shardings."""
    if not isinstance(executable, ShardedExecutable):
        return executable
    execute, results, moves = executable.execute, executable.results, executable.moves(lie)

    def run(args: Sequence[Array]) -> list[Array]:
        placed: list[Any] = [
            x if to is None else moving.moved(x, to) if x.ndim else _number_at(x, to)
            for x, to in zip(args, moves, strict=True)
        ]
        outs = execute(args, [x.shards for x in placed])
        return [result_of(how, out) for how, out in zip(results, outs, strict=True)]

    return run


def _operation(
    primitive: Primitive[P], params: P, avals: Sequence[ShapedArray], splats: Sequence[bool]
) -> jx.Jaxpr:
    def operation(*values: Array) -> Sequence[Array]:
        operands = [
            broadcast_in_dim(x, aval.shape, ()) if splat else x
            for x, aval, splat in zip(values, avals, splats, strict=True)
        ]
        return tr.bind(primitive, operands, params)

    types = [a.with_shape(()) if splat else a for a, splat in zip(avals, splats, strict=True)]
    return staging.stage(operation, types).jaxpr
