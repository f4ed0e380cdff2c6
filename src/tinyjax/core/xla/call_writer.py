"""Calls of compiled programs that are written out in Python for one signature.

A call in the usual way loops over its arguments, looks their types up, and puts its result
together. For a signature that has been called, a function is written and compiled, as attrs does
with ``__init__``: it takes apart containers of this structure, compares the types of the arguments
by identity, runs the program, and builds containers of the result's structure. A text is compiled
once for all programs of equal structure, and debuggers find it by ``linecache``.

NumPy arrays and numbers, when small, go into memory that the device sees already, made at an
earlier call, since a copy of a few bytes is ten times as fast as a transfer. The memory of calls
that have ended is used again. What tells that one has ended is its smallest result: all results of
a program are ready at once, when it has read its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache, partial
from itertools import count
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import attrs
from jaxlib._jax import collect_garbage
from numpy import ndarray

from tinyjax import config, frames, records, tree
from tinyjax.core import sharded_array as sa
from tinyjax.core.values import operands as opd
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.xla import backend, executable
from tinyjax.core.xla.interruptible import interruptible
from tinyjax.dtypes import PHYSICAL

if TYPE_CHECKING:
    from tinyjax.core.xla.sharded_executable import ShardedExecutable

#: A call by its positional and keyword arguments. It returns NotImplemented where these are of
#: other types, or where the program does not start, such as for an array that was donated; the call
#: has to be made in the usual way.
WrittenCall: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]

#: What an argument is.
_Kind: TypeAlias = Literal["array", "sharded", "host", "number"]
#: How a program gets it: as it lies, by way of memory that the device sees, or by a transfer.
_Way: TypeAlias = Literal["own", "staged", "sent"]

#: So many levels there may be in a tree. Python's compiler refuses 200 brackets one in another.
_DEEPEST: Final = 90
#: So many arguments and results there may be together: Python compiles some lines for each, which
#: takes 20 us, and those for a result in line twice as long.
_MOST_LEAVES: Final = 4000
_MOST_IN_LINE: Final = 64
#: Larger arrays are transferred: the copy costs more than the transfer.
_LARGEST_STAGED: Final = 16 * 1024
#: A result this small is kept to tell when its program has ended.
_LARGEST_WITNESS: Final = 4 * 1024


@attrs.frozen(eq=False, repr=False)
class _Program(records.Printed):
    """What a written call needs of a program.

    Attributes:
        run: runs it.
        finish: makes results of what it returns.
        consts: its first operands.
        results: what the results are made with.
        ways: how it gets each argument.
        senders: makes operands of the arguments that are sent.
        stage: makes host memory for one call, each piece with the device's view of it.
        lend: makes the buffers that arrays lack, and says whether there were any such.
        witness: which result tells that it has ended; None where it is on several devices.
    """

    run: Callable[..., Any]
    finish: Any
    consts: Sequence[Any]
    results: Sequence[Any]
    ways: tuple[_Way, ...]
    senders: Sequence[Callable[[Any], Any]]
    stage: Callable[[], list[Any]] | None = None
    lend: Callable[[Sequence[Any]], bool] | None = None
    witness: int | None = None


def written_call(
    program: executable.Executable | ShardedExecutable,
    consts: Sequence[Array],
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    leaves: Sequence[Any],
    static: Sequence[tuple[int | str, Any]],
    same_value: Callable[[Any, Any], bool],
) -> WrittenCall | None:
    """Return a function for calls whose arguments have the types of the present ones.

    None where containers are nested too deep.

    Args:
        program: the program; on one device, it neither takes donations nor calls Python.
        consts: its first operands.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        leaves: the arguments: arrays of ours, NumPy arrays and numbers.
        static: the static arguments, which ``in_tree`` is without, with their positions and names.
        same_value: says whether two static arguments are one.
    """
    kinds = tuple([_kind(x) for x in leaves])
    if isinstance(program, executable.Executable):
        parts = _on_one(program, consts, kinds)
    else:
        parts = _on_several(program, consts, leaves)
    # Of one structure are equal trees whose metadata is plain: their texts hold the same.
    write = _written if in_tree._shared and out_tree._shared else _written.__wrapped__
    places = tuple([(place, _is_itself(value)) for place, value in static])
    prepare = write(in_tree, out_tree, kinds, parts.ways, len(consts), parts.witness, places)
    if prepare is None:
        return None
    expected: list[Any] = []
    for leaf, kind in zip(leaves, kinds, strict=True):
        match kind:
            case "array":
                expected.append(leaf.aval)
            case "sharded":
                expected += [leaf.aval, leaf._sharding]
            case "host":
                expected += [leaf.dtype, leaf.shape]
            case "number":
                expected.append(type(leaf))
    for _, value in static:
        expected += [value, _difference(value, same_value)]
    call: WrittenCall = prepare(parts, expected)
    return call


def _kind(leaf: object) -> _Kind:
    kind = type(leaf)
    if kind is ConcreteArray:
        return "array"
    if kind is sa.ShardedArray:
        return "sharded"
    return "host" if kind is ndarray else "number"


def _on_one(
    program: executable.Executable, consts: Sequence[Array], kinds: Sequence[_Kind]
) -> _Program:
    on = program.backend
    in_avals = program.in_avals[len(consts) :]
    sizes = [a.nbytes for a in program.out_avals]
    has_witness = bool(sizes) and min(sizes) <= _LARGEST_WITNESS
    small = [
        has_witness and a.nbytes <= _LARGEST_STAGED and a.dtype not in PHYSICAL for a in in_avals
    ]
    ways: tuple[_Way, ...] = tuple(
        [
            "own" if kind == "array" else "staged" if is_small else "sent"
            for kind, is_small in zip(kinds, small, strict=True)
        ]
    )

    def stage() -> list[Any]:
        pieces: list[Any] = []
        for aval, way in zip(in_avals, ways, strict=True):
            if way == "staged":
                host = opd.aligned(aval.shape, aval.dtype)
                pieces += [host, on.put(host, aval)]
        return pieces

    run: Callable[[list[Any]], Any] = program.loaded.execute_sharded
    return _Program(
        interruptible(run) if config.settings().interruptible else run,
        on.handlers(program.out_avals),
        [backend.buffer_of(c, on) for c in consts],
        program.out_avals,
        ways,
        [lambda x: backend.buffer_of(opd.as_array(x), on)] * ways.count("sent"),
        stage,
        partial(_lend, on),
        sizes.index(min(sizes)) if sizes else 0,
    )


def _lend(on: backend.Backend, arrays: Sequence[Any]) -> bool:
    if any(type(x) is not ConcreteArray for x in arrays):
        return False
    lacking = [x for x in arrays if x._buffer is None]
    for x in lacking:
        backend.buffer_of(x, on)
    return bool(lacking)


def _on_several(
    program: ShardedExecutable, consts: Sequence[Array], leaves: Sequence[Any]
) -> _Program:
    # Needed where there are several devices only.
    from tinyjax.core.xla.sharded import moved  # noqa: PLC0415
    from tinyjax.core.xla.sharded_executable import result_of  # noqa: PLC0415

    first = len(consts)
    ins = program.placement.ins[:first]
    targets = program.moves([getattr(x, "_sharding", None) for x in leaves])
    return _Program(
        program.execute,
        result_of,
        [moved(x, sharding).shards for x, sharding in zip(consts, ins, strict=True)],
        program.results,
        tuple(["own" if to is None else "sent" for to in targets]),
        [_sender(moved, to) for to in targets if to is not None],
    )


def _sender(move: Callable[[Array, Any], Array], to: object) -> Callable[[object], Array]:
    return lambda x: move(opd.as_array(x), to)


# What is compared by value

#: Types whose values cannot become others.
_IMMUTABLE: Final = frozenset((bool, int, str, bytes, float, complex, NoneType))


def _is_itself(value: object) -> bool:
    """Whether one object is the same value in every call.

    An object whose hash is the user's may be changed, and then it is another.
    """
    kind = type(value)
    if kind is tuple:
        return all(map(_is_itself, value)) if isinstance(value, tuple) else False
    return (
        kind in _IMMUTABLE
        or isinstance(value, Enum)
        or (kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__)
    )


def _difference(value: Any, same: Callable[[Any, Any], bool]) -> Callable[[Any], bool]:
    """Return what tells whether another value is another."""
    try:
        number = hash(value)
    except TypeError:  # metadata without a hash, which equality alone tells apart
        return lambda other: not same(other, value)
    return lambda other: hash(other) != number or not same(other, value)


# Texts


class _TooDeepError(Exception):
    """A container is nested too deep to be written."""


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
        self.lines += [f"{part} = kwargs[{name!r}]" for name, part in by_name.items()]
        for node, name, first in (*positional, *keywords):
            self.take(node, name, first, 0)

    def take(self, node: tree.PyTreeDef, name: str, first: int, depth: int) -> None:
        """Take a container apart.

        Args:
            node: its structure.
            name: the variable that holds it.
            first: the number of its first leaf.
            depth: how many containers it is within.
        """
        kind = node.kind
        if kind is None:
            return
        if depth > _DEEPEST:
            raise _TooDeepError
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
            self.take(child, part, start, depth + 1)

    def differs(self, name: str, metadata: object) -> str:
        """Write whether a variable holds other metadata than this."""
        other = f"{self.constant(_difference(metadata, _is_equal))}({name})"
        if not _is_itself(metadata):
            return other
        return f"{name} is not {self.constant(metadata)} and {other}"

    def put(self, node: tree.PyTreeDef, leaves: Iterator[str], depth: int = 0) -> str:
        """Write an expression for a container whose leaves have these expressions."""
        kind = node.kind
        if kind is None:
            return next(leaves)
        if depth > _DEEPEST:
            raise _TooDeepError
        parts = [self.put(child, leaves, depth + 1) for child in node.children()]
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


def _is_equal(a: Any, b: Any) -> bool:
    return a is b or bool(a == b)


def _tuple(parts: Iterable[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


@lru_cache(maxsize=1024)
def _written(
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    kinds: tuple[_Kind, ...],
    ways: tuple[_Way, ...],
    num_consts: int,
    witness: int | None,
    static: tuple[tuple[int | str, bool], ...],
) -> Callable[[_Program, Sequence[Any]], WrittenCall] | None:
    """Write what makes calls of these structures, given a program and what is expected.

    Of static arguments it is given where they are, and whether one object is always the same.
    """
    writer = _Writer()
    size = out_tree.num_leaves
    if num_consts + len(kinds) + len(static) + size > _MOST_LEAVES:
        return None
    try:
        writer.take_arguments(in_tree, [place for place, _ in static])
        result = writer.put(out_tree, iter([f"r{i}" for i in range(size)]))
    except _TooDeepError:
        return None
    expected, conditions = _expected(kinds, static, witness is None)
    if conditions:
        writer.leave(" or ".join(conditions))
    staged = [i for i, way in enumerate(ways) if way == "staged"]
    if witness is None:
        run = _run_on_several(ways, num_consts, size)
    else:
        run = [
            "try:",
            *_indented(_stage(staged)),
            *_indented(_run_on_one(ways, num_consts, size)),
            *([f"    free.append((y{witness}, {_pieces(staged)}))"] if staged else []),
            "except (AttributeError, OverflowError, RuntimeError, ValueError):",
            "    return NotImplemented",
            "except TypeError:",  # an array has no buffer yet
            f"    lent = lend({_tuple([f'x{i}' for i, k in enumerate(kinds) if k == 'array'])})",
            "    return call(args, kwargs) if lent else NotImplemented",
        ]
    sent = [f"s{i}" for i, way in enumerate(ways) if way == "sent"]
    lines = [
        "def prepare(program, expected):",
        "    run, finish, stage, lend = program.run, program.finish, program.stage, program.lend",
        "    free = []",
        f"    {_tuple([f'c{i}' for i in range(num_consts)])} = program.consts",
        f"    {_tuple([f'u{i}' for i in range(size)])} = program.results",
        f"    {_tuple(sent)} = program.senders",
        f"    {_tuple(expected)} = expected",
        "    def call(args, kwargs):",
        "        try:",
        *_indented(_indented(_indented(writer.lines))),
        "        except Exception:",  # the usual way fails likewise
        "            return NotImplemented",
        *_indented(_indented(run)),
        f"        return {result}",
        "    return call",
    ]
    scope = _SCOPE | writer.scope
    frames.run_text("xla", "written", "\n".join(lines) + "\n", scope)
    prepare: Callable[[_Program, Sequence[Any]], WrittenCall] = scope["prepare"]
    return prepare


_SCOPE: Final[dict[str, Any]] = {
    "ndarray": ndarray,
    "is_release_due": executable.is_release_due,
    "collect_garbage": collect_garbage,
    "array": ConcreteArray,
    "sharded": sa.ShardedArray,
    "new": ConcreteArray.__new__,
}


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _expected(
    kinds: Sequence[_Kind], static: Sequence[tuple[int | str, bool]], may_be_elsewhere: bool
) -> tuple[list[str], list[str]]:
    """Return names of what is expected of the arguments, and conditions that they are others."""
    names: list[str] = []
    conditions: list[str] = []
    for i, kind in enumerate(kinds):
        names.append(f"t{i}")
        match kind:
            case "array":
                # elsewhere an array on devices has no buffer, and no other than that one can run
                is_other = f"type(x{i}) is not array or " if may_be_elsewhere else ""
                conditions.append(f"{is_other}x{i}._aval is not t{i}")
            case "sharded":
                names.append(f"l{i}")
                conditions.append(f"type(x{i}) is not sharded or x{i}._aval is not t{i}")
                conditions.append(f"x{i}._sharding is not l{i} and x{i}._sharding != l{i}")
            case "host":
                names.append(f"l{i}")
                conditions.append(f"type(x{i}) is not ndarray or x{i}.shape != l{i}")
                conditions.append(f"x{i}.dtype is not t{i} and x{i}.dtype != t{i}")
            case "number":
                conditions.append(f"type(x{i}) is not t{i}")
    for j, (_, is_itself) in enumerate(static):
        names += [f"v{j}", f"d{j}"]
        conditions.append(f"k{j} is not v{j} and d{j}(k{j})" if is_itself else f"d{j}(k{j})")
    return names, conditions


def _pieces(staged: Sequence[int]) -> str:
    return _tuple([name for i in staged for name in (f"h{i}", f"b{i}")])


def _stage(staged: Sequence[int]) -> list[str]:
    """Write what copies small arguments of the host to memory that the device sees."""
    if not staged:
        return []
    return [
        "try:",
        f"    last, {_pieces(staged)} = free.pop()",  # atomic: another thread takes another stage
        f"    if not last.is_ready(): {_pieces(staged)} = stage()",
        "except (IndexError, RuntimeError):",  # RuntimeError: the witness was donated since
        f"    {_pieces(staged)} = stage()",
        *[f"h{i}[...] = x{i}" for i in staged],
    ]


def _run_on_one(ways: Sequence[_Way], num_consts: int, size: int) -> list[str]:
    """Write what runs a program on one device, and makes arrays of its results."""
    operands = [f"c{i}" for i in range(num_consts)]
    texts = {"own": "x{}._buffer", "staged": "b{}", "sent": "s{0}(x{0})"}
    operands += [texts[way].format(i) for i, way in enumerate(ways)]
    buffers = [f"y{i}" for i in range(size)]
    lines = [
        "if is_release_due(): collect_garbage()",
        f"made = run([{', '.join(operands)}])",
        f"{_tuple(buffers)} = made.consume_with_handlers(finish)",
    ]
    if size > _MOST_IN_LINE:
        return [*lines, *[f"r{i} = array(None, u{i}, y{i})" for i in range(size)]]
    # faster than calling the class
    arrays = [
        f"r{i} = new(array); r{i}._host = None; r{i}._aval = u{i}; r{i}._buffer = y{i}"
        for i in range(size)
    ]
    return [*lines, *arrays]


def _run_on_several(ways: Sequence[_Way], num_consts: int, size: int) -> list[str]:
    """Write what runs a program on several devices, or on another than the first."""
    moved = [f"s{i}(x{i})" if way == "sent" else f"x{i}" for i, way in enumerate(ways)]
    consts = [f"c{i}" for i in range(num_consts)]
    shards = [*consts, *[f"a{i}.shards" for i in range(len(ways))]]
    arrays, buffers = (
        _tuple([f"{x}{i}" for i in range(n)]) for x, n in (("a", len(ways)), ("y", size))
    )
    return [
        *[f"a{i} = {text}" for i, text in enumerate(moved)],
        f"{buffers} = run({arrays}, [{', '.join(shards)}])",
        *[f"r{i} = finish(u{i}, y{i})" for i in range(size)],
    ]
