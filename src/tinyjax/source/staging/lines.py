"""Where a variable is assigned: looked up in the syntax tree when a message is to say it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType

from tinyjax.source.ir.find import find_function


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
    chosen = [n for n in ast.walk(function) if isinstance(n, ast.If) and _spans(n.test, line)]
    if not chosen:
        return 0, 0
    node = chosen[-1]
    before = _last(function, name, line - 1) if name else 0
    after = _first_return(function, (node.end_lineno or line) + 1) if name is None else before
    body, otherwise = (max(_lines(part, name), default=0) for part in (node.body, node.orelse))
    return body or after, otherwise or after


def loop_lines(code: CodeType, line: int, name: str) -> tuple[int, int]:
    """The lines that give a variable its value before a loop, and in it; 0 where there is none."""
    function = find_function(code)
    loops = [
        n
        for n in ast.walk(function)
        if isinstance(n, (ast.While, ast.For)) and n.lineno <= line <= (n.end_lineno or 0)
    ]
    if not loops:
        return 0, 0
    inner = min(loops, key=lambda n: (n.end_lineno or 0) - n.lineno)
    outer = [n for n in loops if n.lineno == line]
    node = outer[0] if outer else inner
    return _last(function, name, node.lineno - 1), max(_lines(node.body, name), default=0)


def _spans(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _lines(nodes: Iterable[ast.AST], name: str | None) -> list[int]:
    """The lines of assignments to a name, or of returns."""
    inside = [n for node in nodes for n in ast.walk(node)]
    if name is None:
        return [n.lineno for n in inside if isinstance(n, ast.Return)]
    stored = [n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [n.lineno for n in stored if n.id == name]


def _last(function: ast.FunctionDef | ast.Lambda, name: str, line: int) -> int:
    """The last assignment to a name up to a line; the first line, if it is a parameter."""
    numbers = [n for n in _lines([function], name) if n <= line]
    args = function.args
    parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return max(numbers, default=function.lineno if any(a.arg == name for a in parameters) else 0)


def _first_return(function: ast.FunctionDef | ast.Lambda, line: int) -> int:
    return min((n for n in _lines([function], None) if n >= line), default=0)
