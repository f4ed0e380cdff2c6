"""Calls of compiled programs at the least cost.

A call in the usual way takes its arguments apart, finds the program by their structure and types,
runs it and builds its result, all in Python. Here is the short way for calls like an earlier one.
jaxlib's own tree functions, in C++, take the arguments apart and build the result; and NumPy
arrays and numbers, when small, go into memory that the device sees already, made at an earlier
call, since a copy of a few bytes is ten times as fast as a transfer.

Whatever the short way does not know, it leaves to the usual one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
import numpy as np
from jaxlib._jax import pytree
from jaxlib.xla_client import ArrayImpl

from tinyjax.core import devices as dev, sharded_array as sa
from tinyjax.core.values import avals as av, operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla.backend import Backend, buffer_of
from tinyjax.core.xla.call_writer import WrittenCall, written_call, written_result
from tinyjax.core.xla.executable import Executable
from tinyjax.dtypes import PHYSICAL, HostArray
from tinyjax.records import Printed
from tinyjax.tree import PyTree, PyTreeDef, node

if TYPE_CHECKING:
    from tinyjax.core.xla.sharded_executable import ShardedExecutable

#: A call like an earlier one: takes the leaves of its arguments, returns its result. It returns
#: NotImplemented where the program does not start, such as for an array that was donated; the call
#: has to be made in the usual way.
Launch: TypeAlias = Callable[[Sequence[Any]], Any]

#: Larger arrays are transferred: the copy costs more than the transfer.
_LARGEST_STAGED: Final = 16 * 1024
#: A result this small is kept to tell when its program has ended.
_LARGEST_WITNESS: Final = 4 * 1024

_registry: Final = pytree.PyTreeRegistry()
_registered: Final[set[type]] = set()


def call_key(args: PyTree, kwargs: PyTree) -> tuple[list[Any], tuple[Hashable, ...]] | None:
    """Return the leaves of a call's arguments, and what a compiled program is found by.

    None where a leaf is not an array of ours, a NumPy array or a number, or where the structure is
    not one that jaxlib knows.
    """
    try:
        leaves, structure = _registry.flatten((args, kwargs))
    except (TypeError, ValueError):  # such as a dictionary whose keys cannot be sorted
        return None
    try:
        # Nearly always. A tracer has a type as well: the launch will not find its data.
        return leaves, (structure, *[leaf._aval or leaf.aval for leaf in leaves])
    except AttributeError:
        pass
    key: list[Any] = [structure]
    for leaf in leaves:
        kind = type(leaf)
        if kind is ConcreteArray or kind is sa.ShardedArray:
            key.append(leaf._aval or leaf.aval)
        elif kind is np.ndarray:
            key += (leaf.dtype, leaf.shape)
        elif kind in opd.PYTHON_NUMBERS:
            key.append(kind)
        else:
            return None
    return leaves, tuple(key)


def register_nodes(structure: PyTreeDef) -> bool:
    """Tell jaxlib's tree functions of the node types in a structure that users have registered.

    Returns:
        Whether these functions take such trees. In one that is too deep for Python's stack they
        fail, and leave Python without the rest of its stack.
    """
    pending = [(structure, 0)]
    while pending:
        treedef, depth = pending.pop()
        if depth > _DEEPEST:
            return False
        pending += [(child, depth + 1) for child in treedef.children()]
        node_type = treedef.node_type
        if node_type is None or node_type in _BUILT_IN or node_type in _registered:
            continue
        kind = node.KINDS[node_type]
        assert kind is not None, "a node has a kind"
        _registered.add(node_type)
        if not hasattr(node_type, "_fields"):  # jaxlib knows named tuples
            _registry.register_node(node_type, kind.flatten, kind.unflatten)
    return True


#: So many levels there may be in trees of arguments and results that jaxlib, or Python's compiler,
#: which refuses 200 brackets one in another, is given.
_DEEPEST: Final = 100

_BUILT_IN: Final = frozenset((tuple, list, dict, type(None)))


def _result(
    avals: Sequence[Any], out_tree: PyTreeDef, array: Callable[..., Array] = ConcreteArray
) -> Callable[[list[Any]], PyTree]:
    """Return the fastest function that makes a call's result from the program's.

    Args:
        avals: what ``array`` takes of each result.
        out_tree: the structure of the result.
        array: makes an array of None, of these and of a buffer.
    """
    build: Callable[[list[Any]], PyTree] = out_tree.unflatten
    if register_nodes(out_tree):
        written = written_result(out_tree)
        if written is not None:
            make: Callable[[list[Any]], PyTree] = written(array, avals)
            return make
        marks = [object() for _ in avals]
        leaves, structure = _registry.flatten(build(marks))
        if len(leaves) == len(marks) and all(a is b for a, b in zip(leaves, marks, strict=True)):
            build = structure.unflatten
    return lambda buffers: build(list(map(array, repeat(None), avals, buffers)))


def launch_arrays(program: Executable, consts: Sequence[Array], out_tree: PyTreeDef) -> Launch:
    """Return a launch for arguments that are all arrays of ours.

    Args:
        program: the program; it neither takes donations nor calls Python.
        consts: its first operands.
        out_tree: the structure of the result.
    """
    on, execute = program.backend, program.executing()
    fixed = [buffer_of(c, on) for c in consts]
    result = _result(program.out_avals, out_tree)

    def launch(args: Sequence[Array]) -> Any:
        buffers: list[Any] = []
        for x in args:  # a loop runs faster than a comprehension's frame
            buffers.append(x._buffer)  # noqa: PERF401
        try:
            outs = execute(fixed + buffers if fixed else buffers)
        except TypeError:  # an array has no buffer yet
            if any(type(x) is not ConcreteArray for x in args):
                return NotImplemented
            buffers = [buffer_of(x, on) for x in args]
            try:
                outs = execute(fixed + buffers)
            except (RuntimeError, TypeError, ValueError):
                return NotImplemented
        except (RuntimeError, ValueError):
            return NotImplemented
        return result(outs)

    return launch


def _witness(program: Executable) -> int:
    """Which result is the smallest."""
    sizes = [a.nbytes for a in program.out_avals]
    return sizes.index(min(sizes)) if sizes else 0


def short_call(
    program: Executable,
    consts: Sequence[Array],
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
    leaves: Sequence[Any],
    static: Sequence[tuple[int | str, Any]],
) -> WrittenCall | None:
    """Return the shortest way for calls like the present one, which can be launched.

    Args:
        program: as for ``launch_arrays``.
        consts: likewise.
        in_tree: the structure of the arguments.
        out_tree: likewise.
        leaves: the arguments.
        static: the static ones, which are not among these, with their positions and names.
    """
    if program.executing() is not program.execute:  # in another thread
        return None
    return written_call(program, consts, in_tree, out_tree, leaves, _witness(program), static)


def not_launched(args: Sequence[Any]) -> Any:
    """Leave a call to the usual way."""
    return NotImplemented


class PlacedLaunch:
    """A launch for arguments of given types, some of which lie on other devices than the first.

    Attributes:
        others: makes calls whose arguments lie otherwise than in any call so far.
    """

    def __init__(self, others: Launch) -> None:
        self.others: Launch = others
        self._programs: dict[tuple[dev.Sharding | type, ...], Launch] = {}

    def __call__(self, args: Sequence[Any]) -> Any:
        lie = tuple([x._sharding if type(x) is sa.ShardedArray else type(x) for x in args])
        return self._programs.get(lie, self.others)(args)

    def add(
        self,
        program: ShardedExecutable,
        consts: Sequence[Array],
        args: Sequence[Any],
        out_tree: PyTreeDef,
    ) -> None:
        """Take calls whose arguments lie as these do.

        Args:
            program: what was compiled for them.
            consts: its first operands.
            args: the others, which may be NumPy's, or numbers.
            out_tree: the structure of the result.
        """
        # Needed where there are several devices only.
        from tinyjax.core.xla.sharded import moved  # noqa: PLC0415
        from tinyjax.core.xla.sharded_executable import result_of  # noqa: PLC0415

        ins = program.placement.ins
        n = len(consts)
        fixed = [moved(x, sharding).shards for x, sharding in zip(consts, ins[:n], strict=True)]
        lie = tuple([x._sharding if type(x) is sa.ShardedArray else type(x) for x in args])
        targets = program.moves(lie)
        result = _result(program.results, out_tree, lambda _, how, out: result_of(how, out))
        execute = program.execute

        def launch(args: Sequence[Any]) -> Any:
            buffers = fixed.copy()
            arrays: list[sa.ShardedArray] = []
            for x, sharding in zip(args, targets, strict=True):
                at = x if sharding is None else moved(opd.as_array(x), sharding)
                arrays.append(at)
                buffers.append(at.shards)
            return result(execute(arrays, buffers))

        if len(self._programs) >= _MOST_PLACEMENTS:
            self._programs.clear()
        self._programs[lie] = launch


#: In how many ways the arguments of one signature may lie before all are forgotten.
_MOST_PLACEMENTS: Final = 256


@attrs.frozen(eq=False, repr=False)
class _Stage(Printed):
    """Host memory that the device sees, for the host arguments of one call at a time.

    Attributes:
        hosts: an array for each such argument.
        buffers: the operands of the program, with the device's view of ``hosts`` in their places.
    """

    hosts: list[HostArray]
    buffers: list[Any]


def launch_mixed(
    program: Executable,
    consts: Sequence[Array],
    out_tree: PyTreeDef,
    leaves: Sequence[Any],
) -> Launch | None:
    """Return a launch for arguments some of which are NumPy arrays or numbers.

    None where these are large, or all results are; or where a transfer makes a copy, so that the
    device would not see what is written later.

    The stages of calls that have ended are used again. What tells that one has ended is its
    smallest result: all results of a program are ready at once, when it has read its operands.

    Args:
        program: as for ``launch_arrays``.
        consts: likewise.
        out_tree: likewise.
        leaves: the arguments of the present call.
    """
    first = len(consts)
    in_avals = program.in_avals[first:]
    places = [i for i, x in enumerate(leaves) if type(x) is not ConcreteArray]
    arrays = [i for i, x in enumerate(leaves) if type(x) is ConcreteArray]
    sizes = [a.nbytes for a in program.out_avals]
    if (
        any(in_avals[i].nbytes > _LARGEST_STAGED for i in places)
        or any(in_avals[i].dtype in PHYSICAL for i in places)
        or not sizes
        or min(sizes) > _LARGEST_WITNESS
    ):
        return None
    witness = _witness(program)
    on, execute = program.backend, program.executing()
    fixed = [buffer_of(c, on) for c in consts]
    result = _result(program.out_avals, out_tree)
    free: list[tuple[_Stage, ArrayImpl]] = []

    def launch(leaves: Sequence[Any]) -> Any:
        try:
            stage, last = free.pop()  # atomic: another thread takes another stage
            if not last.is_ready():
                stage = _new_stage(on, fixed, in_avals, places)
        except (IndexError, RuntimeError):  # RuntimeError: the witness was donated since
            stage = _new_stage(on, fixed, in_avals, places)
        buffers = stage.buffers
        try:
            for host, i in zip(stage.hosts, places):  # noqa: B905
                host[...] = leaves[i]
            if arrays:
                buffers = buffers.copy()  # a stage keeps no argument alive
                for i in arrays:
                    buffers[first + i] = buffer_of(leaves[i], on)
            outs = execute(buffers)
        except (RuntimeError, TypeError, ValueError, OverflowError):
            return NotImplemented
        free.append((stage, outs[witness]))
        return result(outs)

    return launch


def _new_stage(
    on: Backend, fixed: list[Any], in_avals: Sequence[av.ShapedArray], places: Sequence[int]
) -> _Stage:
    buffers = [*fixed, *[None] * len(in_avals)]
    hosts: list[HostArray] = []
    for i in places:
        aval = in_avals[i]
        host = opd.aligned(aval.shape, aval.dtype)
        buffers[len(fixed) + i] = on.put(host, aval)
        hosts.append(host)
    return _Stage(hosts, buffers)
