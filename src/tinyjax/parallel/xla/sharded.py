"""Programs and operations that run elsewhere than on the first device.

A program is called with its arguments as they lie: what lies otherwise than the program was
compiled for is moved first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Final

import attrs
import numpy as np

from tinyjax import config
from tinyjax.core.devices import CPU, platform_at
from tinyjax.core.lowering import Locate
from tinyjax.core.primitives.broadcast import broadcast_in_dim
from tinyjax.core.tracing.jaxpr import Jaxpr, ProgramTrace, eval_jaxpr
from tinyjax.core.tracing.primitive import P, Primitive
from tinyjax.core.tracing.staging import stage
from tinyjax.core.tracing.trace import EVAL, bind, eager, use_trace
from tinyjax.core.values.array import Array
from tinyjax.core.values.avals import ShapedArray
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import first_element, is_splat
from tinyjax.core.xla.compilation import Compilation, Flags
from tinyjax.core.xla.executable import Executable, compiled
from tinyjax.core.xla.options import flags_for
from tinyjax.parallel.placement import placement_by, placement_in, placement_of, undivided
from tinyjax.parallel.sharded_array import ShardedArray
from tinyjax.parallel.sharding import Sharding
from tinyjax.parallel.wishes import on_devices, on_host
from tinyjax.parallel.xla import moving
from tinyjax.parallel.xla.lowering import CallsPythonError, calls_from
from tinyjax.parallel.xla.planned import compile_planned
from tinyjax.parallel.xla.sharded_executable import ShardedExecutable, compile_sharded, result_of


def run_sharded(
    request: Compilation, args: Sequence[Array]
) -> tuple[list[Array], Executable | None]:
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
    return program(args), program


def _for_devices(request: Compilation) -> Executable | None:
    """Compile a program that has a placement; None if it calls Python, so that the host runs it."""
    calls_python, placement = _calls_python(request.jaxpr), placement_in(request)
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
    placement = placement_in(request)
    hosts = on_host(args)
    if placement_by(request.jaxpr, [None] * len(hosts)) is None:
        outs = compiled(attrs.evolve(request, donated=(), placement=None))(hosts)
    else:  # it has parts for each device, of which NumPy computes one after the other
        with use_trace(eager[ProgramTrace](inf)):
            outs = eval_jaxpr(request.jaxpr, hosts)
    whole = undivided(placement.ins, placement.ids)
    return [moving.put(x, lie or whole) for x, lie in zip(outs, placement.outs, strict=True)]


def compile_request(request: Compilation, flags: Flags, locate: Locate | None) -> Executable:
    """Compile a program that has a placement."""
    compile_for = compile_planned if placement_in(request).is_abstract else compile_sharded
    return compile_for(request, flags, locate)


def flags_of(request: Compilation) -> Flags:
    """Return the flags that a program with a placement is compiled with.

    What the settings say is of the processor alone.
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
    """Return what calls an executable with arguments that lie so."""
    if not isinstance(executable, ShardedExecutable):
        return executable
    execute, results, moves = executable.execute, executable.results, executable.moves(lie)

    def run(args: Sequence[Array]) -> list[Array]:
        at: list[Any] = [
            x if to is None else moving.moved(x, to) if x.ndim else _number_at(x, to)
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
