"""What calls like an earlier one are found by: the structure and the types of their arguments.

The usual way finds this in Python. Here jaxlib's own tree functions, in C++, take the arguments
apart; what they do not know is left to the usual way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache, partial
from itertools import count
from threading import Lock
from types import NoneType
from typing import Any, Final, TypeAlias
from weakref import WeakSet

import numpy as np
from jaxlib._jax import ShardedToken, collect_garbage, pytree
from numpy import ndarray

from tinyjax import config, dtypes, frames, tree
from tinyjax.core.names import Array, ConcreteArray, av, dev, opd, sig
from tinyjax.core.values.concrete import PlacedArray
from tinyjax.core.xla import backend, executable, threads
from tinyjax.tree.node import KINDS

_registry: Final = pytree.PyTreeRegistry()
_registered: Final[set[type]] = set()


def call_key(
    args: tree.PyTree, kwargs: tree.PyTree, in_tree: tree.PyTreeDef | None
) -> tuple[list[Any], tuple[Hashable, ...]] | None:
    """Return the leaves of a call's arguments, and what the call is found by.

    None where a leaf is not an array of ours, a NumPy array or a number, or where the structure is
    not one that jaxlib knows.

    Args:
        args: the positional arguments.
        kwargs: the others.
        in_tree: the structure of both, of whose nodes jaxlib is told; None where that was done.
    """
    if in_tree is not None and not _register_nodes(in_tree, _DEEPEST):
        return None
    try:
        leaves, structure = _registry.flatten((args, kwargs))
    except (TypeError, ValueError):  # such as a dictionary whose keys cannot be sorted
        return None
    avals = [leaf._aval or leaf.aval for leaf in leaves if type(leaf) is ConcreteArray]
    if len(avals) == len(leaves):
        return leaves, (structure, *avals)
    key: list[Any] = [structure]
    for leaf in leaves:
        kind = type(leaf)
        if kind is ConcreteArray:
            key.append(leaf._aval or leaf.aval)
        elif kind in PlacedArray.kinds:
            key += (leaf.aval, leaf._sharding)
        elif kind is np.ndarray:
            key += (leaf.dtype, leaf.shape)
        elif kind in opd.PYTHON_NUMBERS:
            key.append(kind)
        else:
            return None
    return leaves, tuple(key)


def _register_nodes(structure: tree.PyTreeDef, levels: int) -> bool:
    """Tell jaxlib's tree functions of the node types in a structure that users have registered.

    Returns:
        Whether it has at most so many levels. In a tree that is too deep for Python's stack these
        functions fail, and leave Python without the rest of its stack.
    """
    node_type = structure.node_type
    if node_type is not None and node_type not in _BUILT_IN and node_type not in _registered:
        kind = KINDS[node_type]
        assert kind is not None, "a node has a kind"
        _registered.add(node_type)
        if not hasattr(node_type, "_fields"):  # jaxlib knows named tuples
            _registry.register_node(node_type, kind.flatten, kind.unflatten)
    return levels > 0 and all(_register_nodes(child, levels - 1) for child in structure.children())


#: So many levels there may be in a tree. Python's compiler refuses 200 brackets one in another.
_DEEPEST: Final = 90

_BUILT_IN: Final = frozenset((tuple, list, dict, type(None)))


# Memory that NumPy arguments of compiled programs are copied into.
#
# Memory that the device sees already, made for an earlier call, takes a copy of 4 MB in 0.1 ms;
# fresh memory, whose pages the system has yet to provide, takes it in 0.7 ms, and a transfer makes
# another copy of what is not aligned. The memory of a call is used again when its program has
# ended, which its token tells.


_MIB: Final = 1024 * 1024
#: So many bytes the arguments of one call may have that are copied into such memory.
_LARGEST: Final = 8 * _MIB
#: So many bytes the calls of one program may have that are under way, or two calls: what stays in
#: the processor's cache is copied, and read, in half the time.
_IN_CACHE: Final = 2 * _MIB
#: So many calls XLA has under way before it makes the next one wait.
_MOST_CALLS: Final = 32
#: So many bytes all programs may have together.
_MOST_OF_ALL: Final = 64 * _MIB


class ArgumentMemory:
    """Memory for the arguments of one program's calls, in sets of a piece for each argument.

    Attributes:
        free: sets that no program reads: of each piece the host's view, then the device's.
        in_use: sets that programs may still read, with what says that these have ended; the
            earliest first.
        notes: whether calls note when their programs end. Those of small programs do not, which
            have ended when the call returns; a token takes 0.5 us.
    """

    __slots__ = ("__weakref__", "_avals", "_nbytes", "_on", "free", "in_use", "notes")

    def __init__(self, on: backend.Backend) -> None:
        self._on = on
        self._avals: list[av.ShapedArray] = []
        self._nbytes: int = 0
        self.free: list[list[Any]] = []
        self.in_use: deque[tuple[ShardedToken, list[Any]]] = deque()
        self.notes: bool = False

    def add(self, aval: av.ShapedArray) -> bool:
        """Have a piece for an argument, too; say whether it may have one."""
        nbytes = self._nbytes + aval.nbytes
        if nbytes > _LARGEST or aval.dtype in dtypes.PHYSICAL:
            return False
        self._avals.append(aval)
        self._nbytes = nbytes
        return True

    def take(self) -> list[Any]:
        """Return a set where none is free: that of a call that has ended, or a new one.

        With as many calls under way as may be, this waits for half of them: to wait for each alone
        takes the system 20 us.
        """
        most = max(2, min(_MOST_CALLS, _IN_CACHE // max(self._nbytes, 1)))
        if len(self.in_use) >= most:
            # another thread took them; a program failed
            with suppress(IndexError, RuntimeError):
                earliest = [self.in_use.popleft() for _ in range(most // 2)]
                for token, _ in reversed(earliest):
                    token.block_until_ready()
                self.free += [pieces for _, pieces in earliest]
                return self.free.pop()
        _spend(self._nbytes, self)
        hosts = [opd.aligned(aval.shape, aval.dtype) for aval in self._avals]
        pairs = zip(hosts, self._avals, strict=True)
        return [x for host, aval in pairs for x in (host, self._on.put(host, aval))]

    def clear(self) -> None:
        """Leave the memory to the programs that still read it."""
        self.free.clear()
        self.in_use.clear()


#: All memories, and how many bytes they have had made since what was made before was given up.
_memories: Final[WeakSet[ArgumentMemory]] = WeakSet()
_made: Final = [0]
_lock: Final = Lock()
threads.hold_at_forks(_lock)


def _spend(nbytes: int, by: ArgumentMemory) -> None:
    """Note that a set is made; where too many were, give up all that were made before."""
    with _lock:
        _memories.add(by)
        _made[0] += nbytes
        if _made[0] > _MOST_OF_ALL:
            _made[0] = nbytes
            for memory in _memories:
                memory.clear()


# Calls of compiled programs that are written out in Python for one signature.
#
# A call in the usual way loops over its arguments, looks their types up, and puts its result
# together. For a signature that has been called, a function is written and compiled, as attrs does
# with ``__init__``: it takes apart containers of this structure, compares the types of the
# arguments by identity, runs the program, and builds containers of the result's structure. A text
# is compiled once for all programs of equal structure, and debuggers find it by ``linecache``.
#
# NumPy arrays and numbers are copied into memory that the device sees already, made for an earlier
# call that has ended (``argument_memory``).


#: So many arguments and results there may be together: Python compiles some lines for each, which
#: takes 20 us, and those for a result in line twice as long.
_MOST_LEAVES: Final = 4000
_MOST_IN_LINE: Final = 64
_ARRAY: Final = frozenset((ConcreteArray,))
#: The operand of an array that is donated.
_TAKEN: Final = "(m{0}(x{0}))"


#: What a written call needs of a compiled program: the texts of the operands that are no constants,
#: in which {0} is an argument's number; and what names in the call stand for. ``run`` runs it, and
#: ``finish`` makes results of what it returns and of ``u0``, ... ``c0``, ... are the constants, and
#: ``m0``, ... make operands of arguments. On one device there are ``memory``, what NumPy arguments
#: are copied into; ``run_noted``, which tells when a run has ended, too; ``lend``, which makes the
#: buffers that arrays lack, and says whether there were any such; and ``is_twice``: whether one of
#: the arrays that are donated, which are the first of these, is another of them, or closed over.
Parts: TypeAlias = tuple[tuple[str, ...], dict[str, Any]]


def numbered(letter: str, values: Iterable[object]) -> dict[str, Any]:
    """Name values by a letter and their numbers."""
    return {f"{letter}{i}": x for i, x in enumerate(values)}


def written_call(
    program: executable.Executable,
    consts: Sequence[Array],
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    leaves: Sequence[Any],
    static: Sequence[tuple[int | str, Any]],
) -> sig.ShortCall | None:
    """Return a function for calls whose arguments have the types of the present ones.

    It returns NotImplemented for others, and where the program does not start, such as for an array
    that was donated.

    None where there are too many arguments and results, containers are nested too deep, or what is
    donated is no array of ours.

    Args:
        program: the program; on one device, it does not call Python.
        consts: its first operands.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        leaves: the arguments: arrays of ours, NumPy arrays and numbers.
        static: the static arguments, which ``in_tree`` is without, with their positions and names.
    """
    on_several = not isinstance(program, executable.DeviceExecutable)
    if isinstance(program, executable.DeviceExecutable):
        donated = program.donated and [leaves[i - len(consts)] for i in program.donated]
        if not _ARRAY.issuperset(map(type, donated)):
            return None
        operands, parts = _on_one(program, consts, leaves)
    else:
        operands, parts = dev.plane().call_parts(program, consts, leaves)
    compared = [_compared(x, on_several) for x in leaves]
    values = [value for _, value in static]
    parts |= numbered("t", [x for _, x, _ in compared]) | numbered("l", [x for *_, x in compared])
    parts |= numbered("v", values) | numbered("d", map(_difference, values))
    # Of one structure are equal trees whose metadata is plain: their texts hold the same.
    write = _written if in_tree._shared and out_tree._shared else _written.__wrapped__
    prepare = write(
        in_tree,
        out_tree,
        len(consts),
        tuple([condition for condition, *_ in compared]),
        operands,
        on_several,
        tuple([(place, _is_itself(value)) for place, value in static]),
        (*parts,),
    )
    return None if prepare is None else prepare(**parts)


def _compared(leaf: Any, may_be_elsewhere: bool) -> tuple[str, object, object]:
    """Write whether an argument is another than this, given what it is compared with."""
    kind = type(leaf)
    if kind is ConcreteArray:
        # for the first device, an array that lies elsewhere has no buffer
        is_other = "type(x{0}) is not array or " if may_be_elsewhere else ""
        return f"{is_other}x{{0}}._aval is not t{{0}}", leaf.aval, None
    if isinstance(leaf, PlacedArray):  # others have no such attributes, and are compared so, too
        lies = "x{0}._sharding is not l{0} and x{0}._sharding != l{0}"
        return f"x{{0}}._aval is not t{{0}} or {lies}", leaf.aval, leaf._sharding
    if kind is ndarray:
        is_other = "x{0}.shape != l{0} or x{0}.dtype is not t{0} and x{0}.dtype != t{0}"
        return f"type(x{{0}}) is not ndarray or {is_other}", leaf.dtype, leaf.shape
    return "type(x{0}) is not t{0}", kind, None


def _on_one(
    program: executable.DeviceExecutable, consts: Sequence[Array], leaves: Sequence[Any]
) -> Parts:
    on = program.backend
    memory = ArgumentMemory(on)
    operands: list[str] = []
    for i, leaf in enumerate(leaves, len(consts)):
        if type(leaf) is ConcreteArray:
            operands.append(_TAKEN if i in program.donated else "x{0}._buffer")
        else:
            operands.append("b{0}" if memory.add(program.in_avals[i]) else "m{0}(x{0})")

    def lend(*arrays: Any) -> bool:
        if not _ARRAY.issuperset(map(type, arrays)):
            return False
        lacking = [backend.buffer_of(x, on) for x in arrays if x._buffer is None]
        return bool(lacking)

    def is_twice(*arrays: Any) -> bool:
        ids = [*map(id, (*arrays, *consts))]
        donated = ids[: len(program.donated)]
        return len({*ids}) < len(ids) and any(ids.count(x) > 1 for x in donated)

    def send(x: object) -> Any:
        return backend.buffer_of(opd.as_array(x), on)

    run: Callable[..., Any] = program.loaded.execute_sharded
    run_noted: Callable[..., Any] = partial(run, with_tokens=True)
    if config.settings().interruptible:
        run, run_noted = threads.interruptible(run), threads.interruptible(run_noted)
    parts = {
        "run": run,
        "run_noted": run_noted,
        "finish": on.handlers(program.out_avals),
        "memory": memory,
        "lend": lend,
        "is_twice": is_twice,
    }
    parts |= numbered("c", [backend.buffer_of(c, on) for c in consts])
    parts |= numbered("m", [program.take if text == _TAKEN else send for text in operands])
    return tuple(operands), parts | numbered("u", program.out_avals)


# What is compared by value

#: Types whose values cannot become others.
_IMMUTABLE: Final = frozenset((bool, int, str, bytes, float, complex, NoneType))


def _is_itself(value: object) -> bool:
    """Whether one object is the same value in every call.

    An object whose hash is the user's may be changed, and then it is another.
    """
    kind = type(value)
    if type(value) is tuple:
        return all(map(_is_itself, value))
    return (
        kind in _IMMUTABLE
        or isinstance(value, Enum)
        or (kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__)
    )


def _difference(value: Any) -> Callable[[Any], bool]:
    """Return what tells whether another value is another."""
    try:
        number = hash(value)
    except TypeError:  # metadata without a hash, which equality alone tells apart
        return lambda other: not sig.same_value(other, value)
    return lambda other: hash(other) != number or not sig.same_value(other, value)


# Texts


class _Writer:
    """A text that takes containers apart and puts others together.

    Attributes:
        lines: what binds the leaves of the arguments, and leaves calls of other structures.
        scope: what names in the text stand for.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self._nodes = count()

    def constant(self, value: object) -> str:
        """Name a value, or write it where it is a text."""
        if type(value) is str:
            return repr(value)
        name = f"C{len(self.scope)}"
        self.scope[name] = value
        return name

    def leave(self, condition: str) -> None:
        self.lines.append(f"if {condition}: return NotImplemented")

    def bind(self, names: Sequence[str], value: str) -> None:
        if names:
            self.lines.append(f"{_tuple(names)} = {value}")

    def children(self, node: tree.PyTreeDef, first: int) -> list[tuple[tree.PyTreeDef, str, int]]:
        """Name the children of a node, the leaves by their numbers; with where these begin."""
        inner: list[tuple[tree.PyTreeDef, str, int]] = []
        for child in node.children():
            name = f"x{first}" if child is tree.LEAF else f"n{next(self._nodes)}"
            inner.append((child, name, first))
            first += child.num_leaves
        return inner

    def take_arguments(self, in_tree: tree.PyTreeDef, static: Sequence[int | str]) -> None:
        """Take ``(args, kwargs)`` apart, which Python itself makes.

        Args:
            in_tree: the structure of both, without the static ones.
            static: the positions and names of these.
        """
        args, kwargs = in_tree.children()
        positional, keywords = self.children(args, 0), self.children(kwargs, args.num_leaves)
        parts = [name for _, name, _ in positional]
        by_name = dict(zip(kwargs.metadata, [name for _, name, _ in keywords], strict=True))
        for j, place in enumerate(static):
            if isinstance(place, int):
                parts.insert(place, f"k{j}")
            else:
                by_name[place] = f"k{j}"
        self.leave(f"len(args) != {len(parts)}")
        self.bind(parts, "args")
        self.leave(f"len(kwargs) != {len(by_name)}" if by_name else "kwargs")
        for name, part in by_name.items():
            self.lines.append(f"{part} = kwargs[{name!r}]")
        for node, name, first in (*positional, *keywords):
            self.take(node, name, first)

    def take(self, node: tree.PyTreeDef, name: str, first: int) -> None:
        """Take a container apart.

        Args:
            node: its structure.
            name: the variable that holds it.
            first: the number of its first leaf.
        """
        kind = node.kind
        if kind is None:
            return
        inner = self.children(node, first)
        parts = [part for _, part, _ in inner]
        cls = kind.node_type
        if cls is NoneType:
            self.leave(f"{name} is not None")
        elif cls is tuple or cls is list:
            self.leave(f"type({name}) is not {cls.__name__} or len({name}) != {len(parts)}")
            self.bind(parts, name)
        elif cls is dict:
            self.leave(f"type({name}) is not dict or len({name}) != {len(parts)}")
            keys = map(self.constant, node.metadata)
            self.lines += [f"{x} = {name}[{key}]" for x, key in zip(parts, keys, strict=True)]
        else:
            self.leave(f"type({name}) is not {self.constant(cls)}")
            self.lines.append(f"parts, metadata = {self.constant(kind.flatten)}({name})")
            self.leave(self.differs("metadata", node.metadata))
            self.bind(parts, "parts")
        for child, part, start in inner:
            self.take(child, part, start)

    def differs(self, name: str, metadata: object) -> str:
        """Write whether a variable holds other metadata than this."""
        other = f"{self.constant(_difference(metadata))}({name})"
        if not _is_itself(metadata):
            return other
        return f"{name} is not {self.constant(metadata)} and {other}"

    def put(self, node: tree.PyTreeDef, leaves: Iterator[str]) -> str:
        """Write an expression for a container whose leaves have these expressions."""
        kind = node.kind
        if kind is None:
            return next(leaves)
        parts = [self.put(child, leaves) for child in node.children()]
        cls = kind.node_type
        if cls is NoneType:
            return "None"
        if cls is tuple:
            return _tuple(parts)
        if cls is list:
            return f"[{', '.join(parts)}]"
        if cls is dict:
            keys = map(self.constant, node.metadata)
            return f"{{{', '.join([f'{k}: {x}' for k, x in zip(keys, parts, strict=True)])}}}"
        make, metadata = self.constant(kind.unflatten), self.constant(node.metadata)
        return f"{make}({metadata}, {_tuple(parts)})"


def _tuple(parts: Iterable[str]) -> str:
    return f"({''.join([f'{part}, ' for part in parts])})"


@lru_cache(maxsize=1024)
def _written(
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    num_consts: int,
    conditions: tuple[str, ...],
    operands: tuple[str, ...],
    on_several: bool,
    static: tuple[tuple[int | str, bool], ...],
    names: tuple[str, ...],
) -> Callable[..., sig.ShortCall] | None:
    """Write what makes calls of these structures, given what the names stand for.

    Of static arguments it is told where they are, and whether one object is always the same.
    """
    writer = _Writer()
    size = out_tree.num_leaves
    many = num_consts + len(operands) + len(static) + size > _MOST_LEAVES
    if many or not _register_nodes(out_tree, _DEEPEST):
        return None
    writer.take_arguments(in_tree, [place for place, _ in static])
    result = writer.put(out_tree, iter(_numbered(["r{0}"] * size)))
    differs = _numbered(conditions)
    for j, (_, is_itself) in enumerate(static):
        differs.append(f"k{j} is not v{j} and d{j}(k{j})" if is_itself else f"d{j}(k{j})")
    if differs:
        writer.leave(" or ".join(differs))
    run = _run_on_several if on_several else _run_on_one
    lines = [
        f"def prepare({', '.join(names)}):",
        "    def call(args, kwargs):",
        "        try:",
        *[f"            {line}" for line in writer.lines],
        "        except Exception:",  # the usual way fails likewise
        "            return NotImplemented",
        *[f"        {line}" for line in run(operands, num_consts, size)],
        f"        return {result}",
        "    return call",
    ]
    scope = _SCOPE | writer.scope
    frames.run_text("xla", "written", "\n".join(lines) + "\n", scope)
    prepare: Callable[..., sig.ShortCall] = scope["prepare"]
    return prepare


_SCOPE: Final[dict[str, Any]] = {
    "ndarray": ndarray,
    "is_release_due": executable.is_release_due,
    "collect_garbage": collect_garbage,
    "give_up_taken": executable.give_up_taken,
    "array": ConcreteArray,
    "new": ConcreteArray.__new__,
}


def _run_on_one(operands: Sequence[str], num_consts: int, size: int) -> list[str]:
    """Write what runs a program on one device, and makes arrays of its results."""
    staged = [i for i, operand in enumerate(operands) if operand == "b{0}"]
    own = [i for i, operand in enumerate(operands) if operand == "x{0}._buffer"]
    take: list[str] = []
    give_up: list[str] = []
    if _TAKEN in operands:
        taken = [i for i, operand in enumerate(operands) if operand == _TAKEN]
        take = [f"if is_twice{_names('x', [*taken, *own])}: return NotImplemented"]
        give_up = [f"give_up_taken(x{i})" for i in taken]
    copy: list[str] = []
    run = "run"
    leave: list[str] = []
    if staged:
        copy = [
            "try:",
            "    pieces = memory.free.pop()",  # atomic: another thread takes others
            "except IndexError:",
            "    pieces = memory.take()",
            f"{_names('hb', staged)} = pieces",
            *[f"h{i}[...] = x{i}" for i in staged],
        ]
        run = "(run_noted if notes else run)"
        copy += ["notes = memory.notes"]  # once: another thread may change it
        leave = [
            "if notes: memory.in_use.append((outs.consume_token(), pieces))",
            "else: memory.notes = True",
        ]
        if size:  # all results of a program are ready at once, when it has read its operands
            leave = ["if y0.is_ready(): memory.free.append(pieces)", f"el{leave[0]}", leave[1]]
    buffers = [*[f"c{i}" for i in range(num_consts)], *_numbered(operands)]
    # faster than calling the class
    array = "r{0} = new(array); r{0}._host = None; r{0}._aval = u{0}; r{0}._buffer = y{0}"
    if size > _MOST_IN_LINE:
        array = "r{0} = array(None, u{0}, y{0})"
    lines = [
        *take,
        *copy,
        "if is_release_due(): collect_garbage()",
        f"outs = {run}([{', '.join(buffers)}])",
        f"{_names('y', range(size))} = outs.consume_with_handlers(finish)",
        *leave,
        *give_up,
        *_numbered([array] * size),
    ]
    return [
        "try:",
        *[f"    {line}" for line in lines],
        "except (AttributeError, OverflowError, RuntimeError, ValueError):",
        "    return NotImplemented",
        "except TypeError:",  # an array has no buffer yet
        f"    return call(args, kwargs) if lend{_names('x', own)} else NotImplemented",
    ]


def _run_on_several(operands: Sequence[str], num_consts: int, size: int) -> list[str]:
    """Write what runs a program on several devices, or on another than the first."""
    buffers = [f"c{i}" for i in range(num_consts)]
    buffers += [f"a{i}.shards" for i in range(len(operands))]
    arrays = _names("a", range(len(operands)))
    return [
        *_numbered([f"a{{0}} = {operand}" for operand in operands]),
        f"{_names('y', range(size))} = run({arrays}, [{', '.join(buffers)}])",
        *_numbered(["r{0} = finish(u{0}, y{0})"] * size),
    ]


def _numbered(texts: Sequence[str]) -> list[str]:
    return [text.format(i) for i, text in enumerate(texts)]


def _names(letters: str, numbers: Iterable[int]) -> str:
    """Write variables as a tuple, of each number one for each letter."""
    return _tuple([f"{letter}{i}" for i in numbers for letter in letters])
