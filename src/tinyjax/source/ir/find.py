"""The syntax tree of a function: found in its file by what its code object says of its place."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType

from tinyjax.errors import SourceError
from tinyjax.frames import Location

FunctionNode = ast.FunctionDef | ast.Lambda


def find_function(code: CodeType) -> FunctionNode:
    """The definition that a code object was compiled from.

    Raises:
        SourceError: the source cannot be read, or the function is of a kind that is not taken.
    """
    here = Location(code.co_filename, code.co_firstlineno, code.co_qualname)
    lines = linecache.getlines(code.co_filename)
    if lines and code.co_flags & (
        inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    ):
        generates = bool(code.co_flags & inspect.CO_GENERATOR)
        kind = "a generator" if generates else "asynchronous"
        instead = "Return a list" if generates else "Define a regular function"
        raise SourceError(f"{code.co_qualname} is {kind}, which is not taken. {instead}.", here)
    return find_definition(code)


def find_definition(code: CodeType) -> FunctionNode:
    """The definition that a code object was compiled from, of whatever kind.

    Raises:
        SourceError: the source cannot be read.
    """
    here = Location(code.co_filename, code.co_firstlineno, code.co_qualname)
    lines = linecache.getlines(code.co_filename)
    if not lines:
        raise SourceError(
            f"the source of {code.co_qualname} cannot be read ({code.co_filename}). Define the "
            "function in a file or a notebook.",
            here,
        )
    candidates = [node for node in _functions("".join(lines)) if _is_of(node, code)]
    if not candidates:
        candidates = [node for node in _block(tuple(lines), code) if _is_of(node, code)]
    if not candidates:
        raise SourceError(
            f"{code.co_qualname} is not found in {code.co_filename}, which may have been changed "
            "since it was loaded.",
            here,
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
        return tuple(_functions_in(ast.parse(text)))
    except SyntaxError:
        return ()


def _functions_in(tree: ast.AST) -> Iterator[FunctionNode]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            yield node


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
    return tuple(_functions_in(tree))
