"""Compiled programs on several devices.

XLA checks nothing of where a program's arguments lie (``parallel.placement``), so that every
argument is compared with what the program was compiled for.

On CPU each of a program's devices occupies a thread of the client's while it waits for the others
in a collective. It has few: with 28 devices of programs waiting at once some wait for devices that
have no thread, nothing goes on, and after 40 seconds XLA ends the process. So of programs with
collectives the devices are never more than ``_MOST_WAITING``, over all threads of the process,
unless one program has more.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Sequence
from copy import copy
from threading import Lock
from typing import Any, Final

import attrs
import numpy as np
from jaxlib.xla_client import (
    CompileOptions,
    DeviceAssignment,
    HloSharding,
    LoadedExecutable,
)

from tinyjax.callbacks.xla import programs
from tinyjax.core import devices as dev, lowering as low
from tinyjax.core.tracing import jaxpr as jx
from tinyjax.core.values import concrete as conc
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla import backend, compilation, executable, threads
from tinyjax.core.xla.executable import Executable
from tinyjax.core.xla.options import compile_options
from tinyjax.parallel.communication import COLLECTIVES
from tinyjax.parallel.named_sharding import NamedSharding
from tinyjax.parallel.placement import Placement, Written, placement_in, undivided
from tinyjax.parallel.sharded_array import ShardedArray
from tinyjax.parallel.sharding import Sharding, on_first
from tinyjax.parallel.xla import moving, plugins
from tinyjax.parallel.xla.lowering import lowered_for
from tinyjax.parallel.xla.xla_shardings import by_axes, of_parts, placed

_WAITS: Final = re.compile(rf" ({'|'.join(COLLECTIVES)}|ragged-all-to-all)(-start)?[(]")
_MOST_WAITING: Final = 16
#: A token of each program with collectives that is under way, and how many devices it has.
_under_way: Final[deque[tuple[Any, int]]] = deque()
_lock: Final = Lock()


threads.hold_at_forks(_lock)
os.register_at_fork(after_in_child=_under_way.clear)  # they run in the other process


class ShardedExecutable(Executable):
    """A compiled program on several devices, or on another than the first.

    Attributes:
        name: the name of its module.
        loaded: XLA's executable.
        in_avals: the types of its parameters.
        out_avals: the types of its results.
        donated: the parameters whose memory may be given up, by position.
        placement: how parameters and results lie.
        results: the types of the results, and how they lie; None on the first device.
    """

    __slots__ = (
        "_calls_python",
        "_devices",
        "_handlers",
        "_waits",
        "donated",
        "in_avals",
        "out_avals",
        "placement",
        "results",
    )

    def __init__(
        self,
        loaded: LoadedExecutable,
        request: compilation.Compilation,
        placement: Placement,
        calls_python: bool = False,
    ) -> None:
        jaxpr = request.jaxpr
        self.name: str = request.name
        self.loaded: LoadedExecutable = loaded
        self.in_avals: tuple[ShapedArray, ...] = jaxpr.in_avals
        self.out_avals: tuple[ShapedArray, ...] = jaxpr.out_avals
        self.donated: tuple[int, ...] = request.donated
        self.placement: Placement = placement
        self._calls_python = calls_python
        outs = [x for x in placement.outs if x is not None]
        self._devices = len(loaded.local_devices())
        #: whether its devices wait for each other, in threads of the processor
        self._waits = dev.platform_at(placement.ids[0]) is dev.CPU and any(
            _WAITS.search(m.to_string()) for m in loaded.hlo_modules()
        )
        self._handlers = [
            backend.result_handler(backend.physical(aval), placed(sharding, aval.ndim))
            for aval, sharding in zip(self.out_avals, outs, strict=True)
        ]
        first = on_first()
        lie = [None if sharding == first else sharding for sharding in outs]
        self.results: list[tuple[ShapedArray, Sharding | None]] = self._typed(lie)

    def as_requested(self, request: compilation.Compilation) -> ShardedExecutable:
        """Return the same program, whose results say where they lie as arguments and programs do.

        What was not said is written like the first argument, where it lies so, as in JAX.
        """
        how = placement_in(request).written
        if how is None:
            return self
        outs = [
            _written(x, said, how, aval)
            for x, said, aval in zip(self.placement.outs, how.outs, self.out_avals, strict=True)
        ]
        if all(x is y for x, y in zip(outs, self.placement.outs, strict=True)):
            return self
        result = copy(self)
        result.placement = attrs.evolve(self.placement, outs=tuple(outs))
        lie = [lies and to for (_, lies), to in zip(self.results, outs, strict=True)]
        result.results = result._typed(lie)
        return result

    def _typed(self, lie: Sequence[Sharding | None]) -> list[tuple[ShapedArray, Sharding | None]]:
        """The types of the results, which say how they lie where types do."""
        return [
            (aval if sharding is None else sharding.typed(aval), sharding)
            for aval, sharding in zip(self.out_avals, lie, strict=True)
        ]

    def __call__(self, args: Sequence[Array]) -> list[Array]:
        """Run the program, as ``execute`` does, on arrays that are moved to where it takes them."""
        at: list[ShardedArray] = []
        for arg, aval, sharding in zip(args, self.in_avals, self.placement.ins, strict=True):
            x = moving.moved(arg, sharding)
            assert x.shape == aval.shape, "XLA would not notice"
            assert x.sharding.is_equivalent_to(sharding, x.ndim), "XLA would not notice"
            at.append(x)
        outs = self.execute(at, [x.shards for x in at])
        return [result_of(how, out) for how, out in zip(self.results, outs, strict=True)]

    def moves(self, lie: Sequence[object]) -> list[Sharding | None]:
        """Where each argument is to be moved first, given how the last ones lie; None if nowhere.

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
            buffers: their shards, and others, which lie as ``placement`` says.

        Returns:
            The shards of the results.

        Raises:
            DonatedArrayError: an array was donated to an earlier call, or is an argument twice.
        """
        if self.donated:
            conc.check_donated_once(buffers, self.donated, self.in_avals, self.name)
        if self._calls_python:  # outside of the lock: the functions may run programs
            conc.check_donated(args)
            return programs.run_to_end(self.loaded, buffers, self._handlers)
        with _lock:
            conc.check_donated(args)  # here, so that no other thread comes in between
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


def _written(
    x: Sharding | None, said: Sharding | None, how: Written, aval: ShapedArray
) -> Sharding | None:
    """How a result is said to lie that lies as ``x`` says."""
    if not isinstance(x, NamedSharding):
        return x
    if isinstance(said, NamedSharding) and said.stripped() is not said:
        return said
    first = how.first
    if not isinstance(first, NamedSharding) or how.ndim != aval.ndim or said is x:
        return x
    if aval.told is not None or first.mesh != x.mesh:
        return x
    return first if first.spec.stripped() == x.spec.stripped() else x


def result_of(how: tuple[ShapedArray, Sharding | None], buffer: Any) -> Array:
    """Make an array of a result's shards, given its type and how it lies."""
    aval, sharding = how
    if sharding is None:
        return ConcreteArray(None, aval, buffer)
    if 0 in aval.shape:  # XLA makes what has no elements without dividing it
        part = np.empty(sharding.shard_shape(aval.shape), backend.physical(aval).dtype)
        return of_parts(aval, sharding, [part] * len(sharding.addressable_places))
    return ShardedArray.of_type(aval, sharding, buffer)


def compile_sharded(
    request: compilation.Compilation,
    flags: compilation.Flags,
    locate: low.Locate | None = None,
) -> ShardedExecutable:
    """Compile a program for where its arguments lie.

    What XLA chooses of its results is given the names of a mesh's axes. Where they do not express
    it, or an axis is not divisible, the program is compiled again with that result undivided.
    """
    placement = placement_in(request)
    on = backend.backend_of(placement.ids)
    loaded, decided, calls_python = compile_placed(on, request, placement, flags, locate)
    return ShardedExecutable(loaded, request, decided, calls_python)


def compile_placed(
    on: backend.Backend,
    request: compilation.Compilation,
    placement: Placement,
    flags: compilation.Flags,
    locate: low.Locate | None = None,
) -> tuple[LoadedExecutable, Placement, bool]:
    """Compile a program, and return how its results lie, and whether it calls Python."""
    name = request.name
    text, functions = lowered_for(placement, request.jaxpr, name, request.donated, locate)
    options, devices = placed_options(flags, placement), on.device_list(placement.ids)
    guarded = [programs.guarded_from_devices(f) for f in functions]
    loaded = (
        programs.compile_with(on, text, guarded, name, flags, options, devices)
        if functions
        else executable.load_or_compile(on, text, name, flags, options, devices)
    )
    outs = _read_back(loaded, request.jaxpr, placement)
    lie = (*placement.ins, *([] if placement.whole is None else [placement.whole]))
    whole = [undivided((a.sharding, *lie), placement.ids) for a in request.jaxpr.out_avals]
    shardings = tuple([alone if x is None else x for x, alone in zip(outs, whole, strict=True)])
    decided = attrs.evolve(placement, outs=shardings)
    if None in outs:
        return compile_placed(on, request, decided, flags, locate)
    return loaded, decided, bool(functions)


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
        np.array([[i % dev.PER_PLATFORM for i in placement.ids]], np.int32)
    )
    on_gpus = dev.platform_at(placement.ids[0]).rules == "cuda"
    if on_gpus and (folder := plugins.toolkit()) is not None:
        build.debug_options.xla_gpu_cuda_data_dir = str(folder)
    options.device_assignment = build.device_assignment = assignment
    return options


def _read_back(
    loaded: LoadedExecutable, jaxpr: jx.Jaxpr, placement: Placement
) -> list[Sharding | None]:
    """How a program's results lie; None where no axes of a mesh express what XLA has chosen."""
    if None not in placement.outs:
        return [*placement.outs]
    if len(placement.ids) == 1:
        return [undivided(placement.ins, placement.ids) if x is None else x for x in placement.outs]
    named = (*placement.ins, *placement.outs, placement.whole)
    meshes = [*dict.fromkeys([s for s in named if isinstance(s, NamedSharding)])]
    shardings: list[Sharding | None] = []
    chosen = loaded.get_output_shardings() or []
    for sharding, proto, aval in zip(placement.outs, chosen, jaxpr.out_avals, strict=True):
        text = str(HloSharding.from_proto(proto))
        own = aval.sharding if aval.told is not None else None
        names = (
            by_axes(like, text, aval.shape)
            for like in ([own] if isinstance(own, NamedSharding) else meshes)
        )
        shardings.append(sharding or next((x for x in names if x is not None), None))
    return shardings
