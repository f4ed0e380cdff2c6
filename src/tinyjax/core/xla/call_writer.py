"""Calls of compiled programs that are written out in Python for one signature.

A general call loops over its arguments, looks their types up, and puts its result together. For a
program with few arguments and results a function is written and compiled, as attrs does with
``__init__``: it takes apart containers of this structure, compares the types of the arguments by
identity, runs the program, and builds containers of the result's structure. A
text is compiled once for all programs of equal structure, and debuggers find it by ``linecache``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache, partial
from itertools import count
from types import NoneType
from typing import Any, Final, Literal, TypeAlias

from jaxlib._jax import collect_garbage
from numpy import ndarray

from tinyjax import frames, tree
from tinyjax.core.values.array import Array
from tinyjax.core.values.concrete import ConcreteArray
from tinyjax.core.values.operands import aligned
from tinyjax.core.xla import backend, executable

#: A call by its positional and keyword arguments. It returns NotImplemented where these are of
#: other types, or where the program does not start.
WrittenCall: TypeAlias = Callable[[tuple[Any, ...], dict[str, Any]], Any]

_Kind: TypeAlias = Literal["array", "host", "number"]

#: So many arguments and results there may be together: Python has to compile lines for each.
_MOST_LEAVES: Final = 400
#: So many levels there may be in a tree. Python's compiler refuses 200 brackets one in another.
_DEEPEST: Final = 100


class _OtherError(Exception):
    """There is a container that is not written."""


def written_call(
    program: executable.Executable,
    consts: Sequence[Array],
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    leaves: Sequence[Any],
    witness: int,
    static: Sequence[tuple[int | str, Any]],
) -> WrittenCall | None:
    """Return a function for calls whose arguments have the types of the present ones.

    None where there are too many arguments and results, or containers other than dicts whose keys
    are texts, lists, tuples and None, or static arguments that a user's ``==`` compares.

    Args:
        program: the program; it neither takes donations nor calls Python.
        consts: its first operands.
        in_tree: the structure of ``(args, kwargs)``.
        out_tree: the structure of the result.
        leaves: the arguments: arrays of ours, and small NumPy arrays and numbers.
        witness: which result tells that the program has ended.
        static: the static arguments, which ``in_tree`` is without, with their positions and names.
    """
    if not all(_is_itself(value) for _, value in static):
        return None
    kinds = tuple([_kind(x) for x in leaves])
    places = tuple([(place, type(value) in _BY_VALUE) for place, value in static])
    prepare = _prepared(in_tree, out_tree, kinds, len(consts), witness, places)
    if prepare is None:
        return None
    on = program.backend
    in_avals = program.in_avals[len(consts) :]
    conditions: list[Any] = []
    for leaf, kind in zip(leaves, kinds, strict=True):
        if kind == "host":
            conditions += [leaf.dtype, leaf.shape]
        else:
            conditions.append(leaf.aval if kind == "array" else type(leaf))
    conditions += [value for _, value in static]

    def stage() -> list[Any]:
        """Make host memory for one call, each piece with the device's view of it."""
        pieces: list[Any] = []
        for aval, kind in zip(in_avals, kinds, strict=True):
            if kind != "array":
                host = aligned(aval.shape, aval.dtype)
                pieces += [host, on.put(host, aval)]
        return pieces

    call: WrittenCall = prepare(
        program.loaded.execute_sharded,
        on.handlers(program.out_avals),
        [backend.buffer_of(c, on) for c in consts],
        conditions,
        program.out_avals,
        stage,
        partial(_lend, on),
    )
    return call


#: Types whose values are the same if they are equal. 0.0 and -0.0 are not.
_BY_VALUE: Final = frozenset((bool, int, str, bytes))
_IMMUTABLE: Final = _BY_VALUE | {float, complex, NoneType}


def _is_itself(value: object) -> bool:
    """Whether one object is the same static argument in every call.

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


def _kind(leaf: object) -> _Kind:
    if type(leaf) is ConcreteArray:
        return "array"
    return "host" if type(leaf) is ndarray else "number"


def _lend(on: backend.Backend, arrays: Sequence[Any]) -> bool:
    """Make the buffers that arrays lack; say whether there were any such."""
    if any(type(x) is not ConcreteArray for x in arrays):
        return False
    lacking = [x for x in arrays if x._buffer is None]
    for x in lacking:
        backend.buffer_of(x, on)
    return bool(lacking)


@lru_cache(maxsize=1024)
def _prepared(
    in_tree: tree.PyTreeDef,
    out_tree: tree.PyTreeDef,
    kinds: tuple[_Kind, ...],
    consts: int,
    witness: int,
    static: tuple[tuple[int | str, bool], ...],
) -> Callable[..., WrittenCall] | None:
    """Write what makes calls of these structures, given a program and the types.

    Of static arguments it is given where they are, and whether equal ones are the same.
    """
    if consts + len(kinds) + len(static) + out_tree.num_leaves > _MOST_LEAVES:
        return None
    try:
        taken = _taken_apart(in_tree, [place for place, _ in static])
        shown = _put_together(out_tree, "r{}".format)
    except _OtherError:
        return None
    arrays = [i for i, kind in enumerate(kinds) if kind == "array"]
    hosts = [i for i, kind in enumerate(kinds) if kind != "array"]
    outs = range(out_tree.num_leaves)
    conditions: list[str] = []
    compared: list[str] = []
    for i, kind in enumerate(kinds):
        if kind == "array":
            conditions.append(f"t{i}")
            compared.append(f"x{i}._aval is not t{i}")
        elif kind == "host":
            conditions += [f"t{i}", f"s{i}"]
            compared.append(
                f"type(x{i}) is not ndarray or x{i}.dtype is not t{i} or x{i}.shape != s{i}"
            )
        else:
            conditions.append(f"t{i}")
            compared.append(f"type(x{i}) is not t{i}")
    for j, (_, by_value) in enumerate(static):
        conditions.append(f"v{j}")
        equal = f"type(k{j}) is type(v{j}) and k{j} == v{j}"
        compared.append(f"k{j} is not v{j}" + (f" and not ({equal})" if by_value else ""))
    operands = [f"c{i}" for i in range(consts)]
    operands += [f"x{i}._buffer" if kind == "array" else f"b{i}" for i, kind in enumerate(kinds)]
    pieces = _tuple([name for i in hosts for name in (f"h{i}", f"b{i}")])
    body = [*taken]
    body += [f"if {' or '.join(compared)}: return NotImplemented"] if compared else []
    if hosts:
        body += [
            "try:",
            f"    last, {pieces} = free.pop()",  # atomic: another thread takes another stage
            f"    if not last.is_ready(): {pieces} = stage()",
            "except (IndexError, RuntimeError):",  # RuntimeError: the witness was donated since
            f"    {pieces} = stage()",
            *[f"h{i}[...] = x{i}" for i in hosts],
        ]
    body += [
        "if is_release_due(): collect_garbage()",
        f"made = run([{', '.join(operands)}])",
        f"{_tuple([f'y{i}' for i in outs])} = made.consume_with_handlers(handlers)",
        *([f"free.append((y{witness}, {pieces}))"] if hosts else []),
    ]
    for i in outs:  # faster than calling the class
        body.append(f"r{i} = new(array); r{i}._host = None; r{i}._aval = u{i}; r{i}._buffer = y{i}")
    lines = [
        "def prepare(run, handlers, consts, wanted, results, stage, lend):",
        f"    {_tuple([f'c{i}' for i in range(consts)])} = consts",
        f"    {_tuple(conditions)} = wanted",
        f"    {_tuple([f'u{i}' for i in outs])} = results",
        *(["    free = []"] if hosts else []),
        "    def call(args, kwargs):",
        "        try:",
        *[f"            {line}" for line in body],
        f"            return {shown}",
        "        except (AttributeError, KeyError, OverflowError, RuntimeError, ValueError):",
        "            return NotImplemented",
        "        except TypeError:",  # an array has no buffer yet
        f"            lent = lend({_tuple([f'x{i}' for i in arrays])})",
        "            return call(args, kwargs) if lent else NotImplemented",
        "    return call",
    ]
    scope: dict[str, Any] = {
        "ndarray": ndarray,
        "is_release_due": executable.is_release_due,
        "collect_garbage": collect_garbage,
        "array": ConcreteArray,
        "new": ConcreteArray.__new__,
    }
    frames.run_text("xla", "written", "\n".join(lines) + "\n", scope)
    prepare: Callable[..., WrittenCall] = scope["prepare"]
    return prepare


@lru_cache(maxsize=1024)
def written_result(out_tree: tree.PyTreeDef) -> Callable[..., Any] | None:
    """Write a function that makes results of one structure.

    Returns:
        Takes the class of arrays and the results' types, and returns that function. None where
        there are many results, or containers as ``written_call`` does not take; what makes those
        is jaxlib's, and slower.
    """
    if out_tree.num_leaves > _MOST_LEAVES:
        return None
    try:
        shown = _put_together(out_tree, "array(None, t{0}, buffers[{0}])".format)
    except _OtherError:
        return None
    text = (
        "def results(array, types):\n"
        f"    {_tuple([f't{i}' for i in range(out_tree.num_leaves)])} = types\n"
        "    def result(buffers):\n"
        f"        return {shown}\n"
        "    return result\n"
    )
    scope: dict[str, Any] = {}
    frames.run_text("xla", "written", text, scope)
    results: Callable[..., Any] = scope["results"]
    return results


def _tuple(parts: Sequence[str]) -> str:
    return f"({''.join(f'{part}, ' for part in parts)})"


def _taken_apart(in_tree: tree.PyTreeDef, static: Sequence[int | str]) -> list[str]:
    """Write what binds the leaves of ``(args, kwargs)``, and leaves calls of other structures.

    Args:
        in_tree: the structure of ``(args, kwargs)``, without the static ones.
        static: the positions and names of these.
    """
    nodes = count()
    lines: list[str] = []

    def named(node: tree.PyTreeDef, first: int) -> list[tuple[tree.PyTreeDef, str, int]]:
        """Name the children of a node, the leaves by their numbers; with where these begin."""
        inner: list[tuple[tree.PyTreeDef, str, int]] = []
        for child in node.children():
            leaf = child is tree.LEAF
            inner.append((child, f"x{first}" if leaf else f"n{next(nodes)}", first))
            first += child.num_leaves
        return inner

    def bind(parts: Sequence[str], keys: Sequence[str], name: str, is_other: str) -> None:
        lines.append(f"if {is_other}: return NotImplemented")
        if keys:
            lines.extend(f"{x} = {name}[{key!r}]" for x, key in zip(parts, keys, strict=True))
        elif parts:
            lines.append(f"{_tuple(parts)} = {name}")

    def take_all(inner: Sequence[tuple[tree.PyTreeDef, str, int]], depth: int) -> None:
        for child, name, first in inner:
            if child is not tree.LEAF:
                take(child, name, first, depth)

    def take(node: tree.PyTreeDef, name: str, first: int, depth: int) -> None:
        kind, keys = _container(node, depth)
        if kind is NoneType:
            lines.append(f"if {name} is not None: return NotImplemented")
            return
        inner = named(node, first)
        is_other = f"type({name}) is not {kind.__name__} or len({name}) != {len(inner)}"
        bind([part for _, part, _ in inner], keys, name, is_other)
        take_all(inner, depth + 1)

    # Python itself makes args and kwargs
    args, kwargs = in_tree.children()
    positional, keywords = named(args, 0), named(kwargs, args.num_leaves)
    parts = [part for _, part, _ in positional]
    by_name = dict(zip(_container(kwargs, 1)[1], [part for _, part, _ in keywords], strict=True))
    for j, place in enumerate(static):
        if isinstance(place, int):
            parts.insert(place, f"k{j}")
        else:
            by_name[place] = f"k{j}"
    bind(parts, (), "args", f"len(args) != {len(parts)}")
    others = f"len(kwargs) != {len(by_name)}" if by_name else "kwargs"
    bind([*by_name.values()], [*by_name], "kwargs", others)
    take_all([*positional, *keywords], 2)
    return lines


def _put_together(out_tree: tree.PyTreeDef, leaf: Callable[[int], str]) -> str:
    """Write an expression for a result whose leaves have these expressions, by their numbers."""
    places = count()

    def shown(node: tree.PyTreeDef, depth: int) -> str:
        if node is tree.LEAF:
            return leaf(next(places))
        kind, keys = _container(node, depth)
        parts = [shown(child, depth + 1) for child in node.children()]
        if kind is NoneType:
            return "None"
        if kind is dict:
            return f"{{{', '.join(f'{k!r}: {p}' for k, p in zip(keys, parts, strict=True))}}}"
        return _tuple(parts) if kind is tuple else f"[{', '.join(parts)}]"

    return shown(out_tree, 0)


def _container(node: tree.PyTreeDef, depth: int) -> tuple[type, tuple[str, ...]]:
    """Return the type of a container, and a dict's keys.

    Raises:
        _OtherError: such a container is not written.
    """
    kind, keys = node.node_data() or (None, ())
    if kind is dict and depth <= _DEEPEST and all(type(key) is str for key in keys):
        return kind, keys
    if (kind is tuple or kind is list or kind is NoneType) and depth <= _DEEPEST:
        return kind, ()
    raise _OtherError
