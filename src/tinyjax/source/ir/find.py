"""The syntax tree of a function: found in its file by what its code object says of its place.

Where a variable is assigned is looked up there when a message is to say it.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Iterable
from functools import lru_cache
from types import CodeType

from tinyjax import errors, frames

FunctionNode = ast.FunctionDef | ast.Lambda


def place_of(code: CodeType) -> frames.Location:
    """Where a function begins."""
    return frames.Location(code.co_filename, code.co_firstlineno, code.co_qualname)


def find_function(code: CodeType) -> FunctionNode:
    """The definition that a code object was compiled from.

    Raises:
        SourceError: the source cannot be read, or the function is of a kind that is not taken.
    """
    kind, instead = "", ""
    if code.co_flags & inspect.CO_GENERATOR:
        kind, instead = "a generator", "Return a list"
    elif code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        kind, instead = "asynchronous", "Define a regular function"
    if kind and linecache.getlines(code.co_filename):
        message = f"{code.co_qualname} is {kind}, which is not taken. {instead}."
        raise errors.SourceError(message, place_of(code))
    return find_definition(code)


def find_definition(code: CodeType) -> FunctionNode:
    """The definition that a code object was compiled from, of whatever kind.

    Raises:
        SourceError: the source cannot be read.
    """
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise errors.SourceError(
            f"the source of {code.co_qualname} cannot be read ({code.co_filename}). Define the "
            "function in a file or a notebook.",
            place_of(code),
        )
    candidates = [node for node in _functions("".join(lines)) if _is_of(node, code)]
    if not candidates:
        candidates = [node for node in _block(tuple(lines), code) if _is_of(node, code)]
    if not candidates:
        raise errors.SourceError(
            f"{code.co_qualname} is not found in {code.co_filename}, which may have been changed "
            "since it was loaded.",
            place_of(code),
        )
    return min(candidates, key=_extent)  # a lambda lies within others


def _extent(node: FunctionNode) -> tuple[int, int]:
    return (node.end_lineno or 0) - node.lineno, (node.end_col_offset or 0) - node.col_offset


def _is_of(node: FunctionNode, code: CodeType) -> bool:
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *[d.lineno for d in node.decorator_list]])
        return node.name == code.co_name and first == code.co_firstlineno
    if code.co_name != "<lambda>":
        return False
    body = node.body
    start = (body.lineno, body.col_offset)
    end = (body.end_lineno or 0, body.end_col_offset or 0)
    return all(
        start <= (line, column) and (end_line, end_column) <= end
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and column is not None and end_column  # what a call begins with: none
    )


@lru_cache(maxsize=64)
def _functions(text: str) -> tuple[FunctionNode, ...]:
    try:
        return _functions_in(ast.parse(text))
    except SyntaxError:
        return ()


def _functions_in(tree: ast.AST) -> tuple[FunctionNode, ...]:
    return tuple([n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))])


@lru_cache(maxsize=64)
def _block(lines: tuple[str, ...], code: CodeType) -> tuple[FunctionNode, ...]:
    """The function of a file that is no Python as a whole."""
    start = code.co_firstlineno - 1
    block = inspect.getblock(list(lines[start:]))
    indent = len(block[0]) - len(block[0].lstrip())
    try:
        tree = ast.parse(textwrap.dedent("".join(block)))
    except SyntaxError:
        return ()
    ast.increment_lineno(tree, start)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset += indent
            node.end_col_offset = (node.end_col_offset or 0) + indent
    return _functions_in(tree)


# Where a variable is assigned, for messages


def side_lines(code: CodeType, line: int, name: str | None) -> tuple[int, int]:
    """The lines that give a variable its value on the two sides of a condition.

    Args:
        code: the function.
        line: the line of the condition.
        name: the variable; None for what the function returns.

    Returns:
        The line for the case that the condition holds, and the other; 0 where there is none.
    """
    function = find_function(code)
    nodes = [n for n in ast.walk(function) if isinstance(n, ast.If) and _spans(n.test, line)]
    if not nodes:
        return 0, 0
    node = nodes[-1]
    if name is None:
        end = node.end_lineno or line
        after = min([n for n in _lines([function], None) if n > end], default=0)
    else:
        after = _last(function, name, line - 1)
    body, otherwise = (max(_lines(part, name), default=0) for part in (node.body, node.orelse))
    return body or after, otherwise or after


def loop_lines(code: CodeType, line: int, name: str) -> tuple[int, int]:
    """The lines that give a variable its value before a loop, and in it; 0 where there is none."""
    function = find_function(code)
    loops = [
        n for n in ast.walk(function) if isinstance(n, (ast.While, ast.For)) and _spans(n, line)
    ]
    if not loops:
        return 0, 0
    inner = min(loops, key=lambda n: (n.end_lineno or 0) - n.lineno)
    outer = [n for n in loops if n.lineno == line]
    node = outer[0] if outer else inner
    return _last(function, name, node.lineno - 1), max(_lines(node.body, name), default=0)


def _spans(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _lines(nodes: Iterable[ast.AST], name: str | None) -> list[int]:
    """The lines of assignments to a name, or of returns."""
    inside = [n for node in nodes for n in ast.walk(node)]
    if name is None:
        return [n.lineno for n in inside if isinstance(n, ast.Return)]
    stored = [n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [n.lineno for n in stored if n.id == name]


def _last(function: FunctionNode, name: str, line: int) -> int:
    """The last assignment to a name up to a line; the first line, if it is a parameter."""
    numbers = [n for n in _lines([function], name) if n <= line]
    args = function.args
    parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return max(numbers, default=function.lineno if any(a.arg == name for a in parameters) else 0)
