"""Fast dispatch of repeated calls, by the structure and the types of their arguments.

The slow path flattens arguments in Python. Here jaxlib's own tree functions, in C++, do it.
Arguments that they do not know are left to the slow path.
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

from tinyjax import config, dtypes, tree
from tinyjax._base import frames, pycode
from tinyjax._base.pycode import Name
from tinyjax.core import devices
from tinyjax.core.jit.signatures import ShortCall, same_value
from tinyjax.core.values import Array, ConcreteArray, avals as av, operands as opd
from tinyjax.core.values.concrete import PlacedArray
from tinyjax.core.xla import backend, executable, threads
from tinyjax.tree.node import KINDS

_registry: Final = pytree.PyTreeRegistry()
_registered: Final[set[type]] = set()


def call_key(
    args: tree.PyTree, kwargs: tree.PyTree, in_tree: tree.PyTreeDef | None
) -> tuple[list[Any], tuple[Hashable, ...]] | None:
    """Return the leaves of a call's arguments, and the key of its specialization.

    None where a leaf is not an array of ours, a NumPy array or a number, or where the structure is
    not one that jaxlib knows.

    Args:
        args: the positional arguments.
        kwargs: the others.
        in_tree: the structure of both, whose nodes are registered with jaxlib; None where they are.
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
    """Register the users' node types of a structure with jaxlib's tree functions.

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
        in_use: sets that programs may still read, with tokens of the programs' ends; the earliest
            first.
        notes: whether calls record the end of their programs. Those of small programs do not, which
            have ended when the call returns; a token takes 0.5 us.
    """

    __slots__ = ("__weakref__", "_avals", "_backend", "_nbytes", "free", "in_use", "notes")

    def __init__(self, target: backend.Backend) -> None:
        self._backend = target
        self._avals: list[av.ShapedArray] = []
        self._nbytes: int = 0
        self.free: list[list[Any]] = []
        self.in_use: deque[tuple[ShardedToken, list[Any]]] = deque()
        self.notes: bool = False

    def add(self, aval: av.ShapedArray) -> bool:
        """Add a piece for an argument, and return whether it may have one."""
        nbytes = self._nbytes + aval.nbytes
        if nbytes > _LARGEST or aval.dtype in dtypes.PHYSICAL:
            return False
        self._avals.append(aval)
        self._nbytes = nbytes
        return True

    def take(self) -> list[Any]:
        """Return a set where none is free: that of a call that has ended, or a new one.

        When the greatest allowed number of calls is under way, this waits for half of them: waiting
        for each one separately costs 20 us.
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
        return [x for host, aval in pairs for x in (host, self._backend.put(host, aval))]

    def clear(self) -> None:
        """Leave the memory to the programs that still read it."""
        self.free.clear()
        self.in_use.clear()


#: All memories, and how many bytes they have had made since what was made before was given up.
_memories: Final[WeakSet[ArgumentMemory]] = WeakSet()
_made: Final = [0]
_lock: Final = Lock()
threads.hold_at_forks(_lock)


def _spend(nbytes: int, added: ArgumentMemory) -> None:
    """Count a new set; drop all earlier ones if there are too many."""
    with _lock:
        _memories.add(added)
        _made[0] += nbytes
        if _made[0] > _MOST_OF_ALL:
            _made[0] = nbytes
            for memory in _memories:
                memory.clear()


# Calls of compiled programs that are specialized in Python to one signature.
#
# A call in the usual way loops over its arguments, looks their types up, and puts its result
# together. For a signature that has been called, a function is generated and compiled, as attrs
# does with ``__init__``: it takes apart containers of this structure, compares the types of the
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


class Conversion(Enum):
    """The conversion of an argument to an operand."""

    BUFFER = "the buffer of an array that has one"
    TAKEN = "the buffer of an array that is donated"
    COPIED = "memory that the argument is copied into"
    MOVED = "what moves it makes of it"
    AS_IT_IS = "the argument itself"

    def expression(self, i: int) -> pycode.Expression:
        """Write it for an argument, by its number."""
        x = Name(f"x{i}")
        match self:
            case Conversion.BUFFER:
                return x.attr("_buffer")
            case Conversion.COPIED:
                return Name(f"b{i}")
            case Conversion.AS_IT_IS:
                return x
            case Conversion.TAKEN | Conversion.MOVED:
                return pycode.call(f"m{i}", x)


class Argument(Enum):
    """The properties of an argument that later ones are compared with."""

    ARRAY = "an array on the host"
    ARRAY_HERE = "one that may be met by arrays elsewhere"
    PLACED = "an array elsewhere"
    NUMPY = "an array of NumPy's"
    NUMBER = "a number"

    def differs(self, i: int) -> list[pycode.Expression]:
        """Write in which cases an argument, by its number, is another."""
        x, kind, place = Name(f"x{i}"), Name(f"t{i}"), Name(f"l{i}")
        cls, is_of_type = pycode.call("type", x), x.attr("_aval").binary("is not", kind)
        match self:
            case Argument.ARRAY:  # for the first device, one that lies elsewhere has no buffer
                return [is_of_type]
            case Argument.ARRAY_HERE:
                return [cls.binary("is not", Name("array")), is_of_type]
            case Argument.PLACED:  # others have no such attributes, and are compared so, too
                return [is_of_type, _is_another(x.attr("_sharding"), place)]
            case Argument.NUMPY:
                is_shaped = x.attr("shape").binary("!=", place)
                typed = _is_another(x.attr("dtype"), kind)
                return [cls.binary("is not", Name("ndarray")), is_shaped, typed]
            case Argument.NUMBER:
                return [cls.binary("is not", kind)]


def _is_another(x: pycode.Expression, than: Name) -> pycode.Expression:
    return pycode.OperatorExpression("and", (x.binary("is not", than), x.binary("!=", than)))


#: The parts of a compiled program in a specialized call: the conversions of arguments to operands;
#: and what names in the call stand for. ``run`` runs it, and ``finish`` makes results of what it
#: returns and of ``u0``, ... ``c0``, ... are the constants, and ``m0``, ... make operands of
#: arguments. On one device there are ``memory``, what NumPy arguments are copied into;
#: ``run_noted``, which tells when a run has ended, too; ``lend``, which makes the buffers that
#: arrays lack, and says whether there were any such; and ``is_twice``: whether one of the arrays
#: that are donated, which are the first of these, is another of them, or closed over.
Parts: TypeAlias = tuple[tuple[Conversion, ...], dict[str, Any]]


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
) -> ShortCall | None:
    """Return a function for calls whose arguments have the types of the present ones.

    The function returns NotImplemented for other calls, and if the program does not start, as with
    an array that was donated.

    There is no function, but None, if there are too many arguments and results, if containers are
    nested too deep, or if a donated argument is no array of ours.

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
        operands, parts = devices.ops().call_parts(program, consts, leaves)
    compared = [_compared(x, on_several) for x in leaves]
    values = [value for _, value in static]
    parts |= numbered("t", [x for _, x, _ in compared]) | numbered("l", [x for *_, x in compared])
    parts |= numbered("v", values) | numbered("d", map(_difference, values))
    # Of one structure are equal trees whose metadata is plain: their texts hold the same.
    write = _call_maker if in_tree._shared and out_tree._shared else _call_maker.__wrapped__
    prepare = write(
        in_tree,
        out_tree,
        len(consts),
        tuple([argument for argument, *_ in compared]),
        operands,
        on_several,
        tuple([(place, _is_itself(value)) for place, value in static]),
        (*parts,),
    )
    return None if prepare is None else prepare(**parts)


def _compared(leaf: Any, may_be_elsewhere: bool) -> tuple[Argument, object, object]:
    """Return the kind of an argument, its type, and the value that others are compared with."""
    kind = type(leaf)
    if kind is ConcreteArray:
        return (Argument.ARRAY_HERE if may_be_elsewhere else Argument.ARRAY), leaf.aval, None
    if isinstance(leaf, PlacedArray):
        return Argument.PLACED, leaf.aval, leaf._sharding
    if kind is ndarray:
        return Argument.NUMPY, leaf.dtype, leaf.shape
    return Argument.NUMBER, kind, None


def _on_one(
    program: executable.DeviceExecutable, consts: Sequence[Array], leaves: Sequence[Any]
) -> Parts:
    on = program.backend
    memory = ArgumentMemory(on)
    operands: list[Conversion] = []
    for i, leaf in enumerate(leaves, len(consts)):
        if type(leaf) is ConcreteArray:
            operands.append(Conversion.TAKEN if i in program.donated else Conversion.BUFFER)
        else:
            is_copied = memory.add(program.in_avals[i])
            operands.append(Conversion.COPIED if is_copied else Conversion.MOVED)

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
    parts |= numbered("m", [program.take if x is Conversion.TAKEN else send for x in operands])
    return tuple(operands), parts | numbered("u", program.out_avals)


# What is compared by value

#: Types whose values cannot become others.
_IMMUTABLE: Final = frozenset((bool, int, str, bytes, float, complex, NoneType))


def _is_itself(value: object) -> bool:
    """Return whether one object is the same value in every call.

    An object with a hash defined by the user may be changed, and then it is another value.
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
    """Return an expression for whether a value differs from an earlier one."""
    try:
        number = hash(value)
    except TypeError:  # metadata without a hash, which equality alone tells apart
        return lambda other: not same_value(other, value)
    return lambda other: hash(other) != number or not same_value(other, value)


# Code


_NO_RESULT: Final = Name("NotImplemented")
_REFUSED: Final = pycode.returned(_NO_RESULT)


class _ContainerWriter:
    """A writer of code that flattens and rebuilds containers.

    Attributes:
        code: binds the leaves of the arguments, and leaves calls of other structures.
        scope: the values of the names in the code.
    """

    def __init__(self) -> None:
        self.code: list[pycode.StatementNode] = []
        self.scope: dict[str, Any] = {}
        self._nodes = count()

    def constant(self, value: object) -> pycode.Expression:
        """Name a value, or write it where it is a text."""
        if type(value) is str:
            return pycode.value(value)
        name = f"C{len(self.scope)}"
        self.scope[name] = value
        return Name(name)

    def leave(self, *conditions: pycode.Expression) -> None:
        """Leave calls for which one of some conditions holds."""
        test = (
            conditions[0] if len(conditions) == 1 else pycode.OperatorExpression("or", conditions)
        )
        self.code.append(pycode.If(test, [_REFUSED]))

    def bind(self, names: Sequence[Name], value: Name) -> None:
        if names:
            self.code.append(_bound(names, value))

    def children(self, node: tree.PyTreeDef, first: int) -> list[tuple[tree.PyTreeDef, Name, int]]:
        """Name the children of a node, the leaves by their numbers; with where these begin."""
        inner: list[tuple[tree.PyTreeDef, Name, int]] = []
        for child in node.children():
            name = f"x{first}" if child is tree.LEAF else f"n{next(self._nodes)}"
            inner.append((child, Name(name), first))
            first += child.num_leaves
        return inner

    def take_arguments(self, in_tree: tree.PyTreeDef, static: Sequence[int | str]) -> None:
        """Write the code that takes ``(args, kwargs)`` apart, which Python itself makes.

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
                parts.insert(place, Name(f"k{j}"))
            else:
                by_name[place] = Name(f"k{j}")
        given, named = Name("args"), Name("kwargs")
        self.leave(_has_not(given, len(parts)))
        self.bind(parts, given)
        self.leave(_has_not(named, len(by_name)) if by_name else named)
        for name, part in by_name.items():
            self.code.append(pycode.Assign(part, pycode.Subscript(named, pycode.value(name))))
        for node, name, first in (*positional, *keywords):
            self.take(node, name, first)

    def take(self, node: tree.PyTreeDef, name: Name, first: int) -> None:
        """Write the code that takes a container apart.

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
            self.leave(name.binary("is not", pycode.NONE))
        elif cls in (tuple, list, dict):
            is_other = pycode.call("type", name).binary("is not", Name(cls.__name__))
            self.leave(is_other, _has_not(name, len(parts)))
            if cls is dict:
                for part, key in zip(parts, node.metadata, strict=True):
                    item = pycode.Subscript(name, self.constant(key))
                    self.code.append(pycode.Assign(part, item))
            else:
                self.bind(parts, name)
        else:
            self.leave(pycode.call("type", name).binary("is not", self.constant(cls)))
            flat, metadata = Name("parts"), Name("metadata")
            taken = self.constant(kind.flatten).call(name)
            self.code.append(pycode.Assign(pycode.tuple_of([flat, metadata]), taken))
            self.leave(self.differs(metadata, node.metadata))
            self.bind(parts, flat)
        for child, part, start in inner:
            self.take(child, part, start)

    def differs(self, name: Name, metadata: object) -> pycode.Expression:
        """Write whether a variable holds other metadata than this."""
        other = self.constant(_difference(metadata)).call(name)
        if not _is_itself(metadata):
            return other
        is_not = name.binary("is not", self.constant(metadata))
        return pycode.OperatorExpression("and", (is_not, other))

    def put(self, node: tree.PyTreeDef, leaves: Iterator[pycode.Expression]) -> pycode.Expression:
        """Write a container that has these leaves."""
        kind = node.kind
        if kind is None:
            return next(leaves)
        parts = [self.put(child, leaves) for child in node.children()]
        cls = kind.node_type
        if cls is NoneType:
            return pycode.NONE
        if cls is tuple:
            return pycode.tuple_of(parts)
        if cls is list:
            return pycode.list_of(parts)
        if cls is dict:
            keys = map(self.constant, node.metadata)
            pairs = [pycode.Pair(key, x) for key, x in zip(keys, parts, strict=True)]
            return pycode.CollectionDisplay("{}", tuple(pairs))
        make, metadata = self.constant(kind.unflatten), self.constant(node.metadata)
        return make.call(metadata, pycode.tuple_of(parts))


def _has_not(container: Name, size: int) -> pycode.Expression:
    return pycode.call("len", container).binary("!=", pycode.value(size))


@lru_cache(maxsize=1024)
def _call_maker(
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    num_consts: int,
    arguments: tuple[Argument, ...],
    operands: tuple[Conversion, ...],
    on_several: bool,
    static: tuple[tuple[int | str, bool], ...],
    names: tuple[str, ...],
) -> Callable[..., ShortCall] | None:
    """Return a maker of calls of these structures, given the values of the names.

    Each static argument comes with its position, and with whether one object is always the same
    value.
    """
    writer = _ContainerWriter()
    size = out_tree.num_leaves
    many = num_consts + len(operands) + len(static) + size > _MOST_LEAVES
    if many or not _register_nodes(out_tree, _DEEPEST):
        return None
    writer.take_arguments(in_tree, [place for place, _ in static])
    result = writer.put(out_tree, iter(pycode.names("r", range(size))))
    differs = [x for i, argument in enumerate(arguments) for x in argument.differs(i)]
    for j, (_, is_itself) in enumerate(static):
        value, is_other = Name(f"k{j}"), pycode.call(f"d{j}", Name(f"k{j}"))
        is_not = value.binary("is not", Name(f"v{j}"))
        differs.append(
            pycode.OperatorExpression("and", (is_not, is_other)) if is_itself else is_other
        )
    if differs:
        writer.leave(*differs)
    run = _run_on_several if on_several else _run_on_one
    body = [
        pycode.Try(writer.code, (("Exception", [_REFUSED]),)),  # the usual way fails likewise
        *run(operands, num_consts, size),
        pycode.returned(result),
    ]
    call = pycode.FunctionDefinition("call", ("args", "kwargs"), body)
    made = pycode.FunctionDefinition("prepare", names, [call, pycode.returned(Name("call"))])
    scope = _SCOPE | writer.scope
    frames.run_text("xla", "written", str(pycode.printed([made])), scope)
    prepare: Callable[..., ShortCall] = scope["prepare"]
    return prepare


_SCOPE: Final[dict[str, Any]] = {
    "ndarray": ndarray,
    "is_release_due": executable.is_release_due,
    "collect_garbage": collect_garbage,
    "give_up_taken": executable.give_up_taken,
    "array": ConcreteArray,
    "new": ConcreteArray.__new__,
}


def _run_on_one(
    operands: Sequence[Conversion], num_consts: int, size: int
) -> list[pycode.StatementNode]:
    """Write the run of a program on one device, and the arrays of its results."""

    def arguments(kind: Conversion) -> tuple[Name, ...]:
        return pycode.names("x", [i for i, operand in enumerate(operands) if operand is kind])

    copied, own, taken = map(arguments, (Conversion.COPIED, Conversion.BUFFER, Conversion.TAKEN))
    buffers = [*pycode.names("c", range(num_consts)), *_operands(operands)]
    outs, results = Name("outs"), pycode.names("y", range(size))
    run: pycode.Expression = Name("run")
    code: list[pycode.StatementNode] = []
    if taken:
        code.append(pycode.If(pycode.call("is_twice", *taken, *own), [_REFUSED]))
    if copied:
        notes, pieces = Name("notes"), Name("pieces")
        free = pycode.call("memory.free.pop")  # atomic: another thread takes others
        hosts = [Name(f"h{x.name[1:]}") for x in copied]
        views = [Name(f"{letter}{x.name[1:]}") for x in copied for letter in "hb"]
        none_free = [pycode.Assign(pieces, pycode.call("memory.take"))]
        code += [
            pycode.Try([pycode.Assign(pieces, free)], (("IndexError", none_free),)),
            pycode.Assign(pycode.tuple_of(views), pieces),
            *[
                pycode.Assign(pycode.Subscript(host, pycode.Literal("...")), x)
                for host, x in zip(hosts, copied, strict=True)
            ],
            pycode.Assign(notes, Name("memory.notes")),  # once: another thread may change it
        ]
        run = pycode.Conditional(Name("run_noted"), notes, run)
    release = pycode.evaluated(pycode.call("collect_garbage"))
    finished = pycode.call("outs.consume_with_handlers", Name("finish"))
    code += [
        pycode.If(pycode.call("is_release_due"), [release]),
        pycode.Assign(outs, pycode.CallExpression(run, (pycode.list_of(buffers),))),
        _bound(results, finished),
    ]
    if copied:
        in_use = pycode.tuple_of([pycode.call("outs.consume_token"), Name("pieces")])
        noted = pycode.evaluated(pycode.call("memory.in_use.append", in_use))
        to_note = pycode.Assign(Name("memory.notes"), pycode.value(True))
        leave = pycode.If(Name("notes"), [noted], [to_note])
        if size:  # all results of a program are ready at once, when it has read its operands
            freed = pycode.evaluated(pycode.call("memory.free.append", Name("pieces")))
            leave = pycode.If(pycode.call("y0.is_ready"), [freed], [leave])
        code.append(leave)
    code += [pycode.evaluated(pycode.call("give_up_taken", x)) for x in taken]
    for i in range(size):
        code += _array(i) if size <= _MOST_IN_LINE else [_array_of_class(i)]
    again = pycode.call("call", Name("args"), Name("kwargs"))
    lent = pycode.Conditional(again, pycode.call("lend", *own), _NO_RESULT)
    return [
        pycode.Try(
            code,
            (
                ("(AttributeError, OverflowError, RuntimeError, ValueError)", [_REFUSED]),
                ("TypeError", [pycode.returned(lent)]),  # an array has no buffer yet
            ),
        )
    ]


def _array(i: int) -> list[pycode.StatementNode]:
    """Write the construction of a result's array, which is faster than calling the class."""
    array, aval, buffer = Name(f"r{i}"), Name(f"u{i}"), Name(f"y{i}")
    fields = {"_host": pycode.NONE, "_aval": aval, "_buffer": buffer}
    made = pycode.Assign(array, pycode.call("new", Name("array")))
    return [made, *[pycode.Assign(array.attr(name), x) for name, x in fields.items()]]


def _array_of_class(i: int) -> pycode.StatementNode:
    fields = (pycode.NONE, Name(f"u{i}"), Name(f"y{i}"))
    return pycode.Assign(Name(f"r{i}"), pycode.call("array", *fields))


def _run_on_several(
    operands: Sequence[Conversion], num_consts: int, size: int
) -> list[pycode.StatementNode]:
    """Write the run of a program on several devices, or on another than the first."""
    arrays, results = pycode.names("a", range(len(operands))), pycode.names("y", range(size))
    shards = [*pycode.names("c", range(num_consts)), *[x.attr("shards") for x in arrays]]
    run = pycode.call("run", pycode.tuple_of(arrays), pycode.list_of(shards))
    return [
        *map(pycode.Assign, arrays, _operands(operands)),
        _bound(results, run),
        *[
            pycode.Assign(Name(f"r{i}"), pycode.call("finish", Name(f"u{i}"), result))
            for i, result in enumerate(results)
        ],
    ]


def _bound(names: Sequence[Name], value: pycode.Expression) -> pycode.StatementNode:
    if not names:
        return pycode.evaluated(value)
    return pycode.Assign(pycode.tuple_of(names), value)


def _operands(operands: Sequence[Conversion]) -> list[pycode.Expression]:
    return [operand.expression(i) for i, operand in enumerate(operands)]
