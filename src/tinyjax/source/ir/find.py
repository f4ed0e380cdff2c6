"""Functions and their texts: those that are read, and those that are generated."""

from __future__ import annotations

import ast
import inspect
import linecache
import os
import site
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterable
from functools import lru_cache
from inspect import Parameter
from types import CodeType, FrameType, FunctionType
from typing import Any, Final, TypeAlias

import attrs

from tinyjax import errors
from tinyjax._base import frames

# Generated functions: their texts, and which of the user's lines each of their lines came from.


@attrs.frozen
class Origin:
    """The user's source of a generated function.

    Attributes:
        filename: the file of the user's function.
        function: its name.
        line: the line that it begins at.
        lines: the user's line for those lines of the text that have one.
    """

    filename: str
    function: str
    line: int
    lines: dict[int, int]


_origins: dict[str, Origin | None] = {}


def run_text(
    name: str, text: str, namespace: dict[str, Any], origin: Origin | None = None
) -> dict[str, Any]:
    """Run a text, register it for tracebacks and the front end, and return its definitions."""
    _origins[frames.run_text("source", name, text, namespace)] = origin
    return namespace


def origin_of(filename: str) -> Origin | None:
    """Return the user's source of the generated function of a file; None for other files."""
    return _origins.get(filename)


#: What is said of a function of ``functools.lru_cache`` with an argument that has a derivative.
OF_CACHE: Final = (
    "functools.lru_cache with an argument that has a derivative is not taken by tinyjax.source: "
    "what the cache has may change. Compute without the cache."
)


def refusal(message: str) -> errors.SourceError:
    """Return an error of something without a derivative, at the user's line that runs."""
    return errors.SourceError(message, program_location())


def program_location() -> frames.Location | None:
    """Return the innermost line of the user's programs that a generated function is at."""
    frame: FrameType | None = sys._getframe(1)
    library: frames.Location | None = None
    while frame is not None:
        origin, line = _origins.get(frame.f_code.co_filename), frame.f_lineno
        number: int | None = line
        while origin is not None and number is not None:  # an adjoint's adjoint is that of a text
            number = origin.lines.get(number)
            if number is not None and not origin.filename.startswith(frames.PACKAGE_DIRECTORY):
                here = frames.Location(origin.filename, number, origin.function)
                if not is_library(origin.filename):
                    return here
                library = library or here
            origin = _origins.get(origin.filename)
        frame = frame.f_back
    return library


def is_library(filename: str) -> bool:
    """Return whether a file belongs to Python's own library or to an installed one."""
    return filename.startswith(_LIBRARIES)


_LIBRARIES: Final = tuple(
    {
        os.path.join(os.path.abspath(path), "")
        for path in (
            *[sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")],
            *site.getsitepackages(),
        )
    }
)


# The syntax tree of a function: found in its file by what its code object says of its place.
#
# Where a variable is assigned is looked up there when a message is to say it.


FunctionNode = ast.FunctionDef | ast.Lambda


def place_of(code: CodeType) -> frames.Location:
    """Return the location of a function's first line."""
    return frames.Location(code.co_filename, code.co_firstlineno, code.co_qualname)


def find_function(code: CodeType) -> FunctionNode:
    """Return the definition that a code object was compiled from.

    Raises:
        SourceError: the source cannot be read, or functions of this kind are not supported.
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
    """Return the definition that a code object was compiled from, of whatever kind.

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
    return max(candidates, key=lambda node: (node.lineno, node.col_offset))  # the innermost


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
    """Return the function of a file that is no Python as a whole, such as a page of a document."""
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
    """Return the lines that give a variable its value on the two sides of a condition.

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
    """Return the lines that assign a variable before a loop and in it; 0 for none."""
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
    """Return the lines of assignments to a name, or of returns."""
    inside = [n for node in nodes for n in ast.walk(node)]
    if name is None:
        return [n.lineno for n in inside if isinstance(n, ast.Return)]
    stored = [n for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [n.lineno for n in stored if n.id == name]


def _last(function: FunctionNode, name: str, line: int) -> int:
    """Return the last assignment to a name up to a line; the first line, if it is a parameter."""
    numbers = [n for n in _lines([function], name) if n <= line]
    args = function.args
    parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    return max(numbers, default=function.lineno if any(a.arg == name for a in parameters) else 0)


# Calls of Python functions, their arguments brought in the order of the parameters.


#: For each argument of a call, the number of its parameter, and its place or name in the value of
#: that; None where it is the value.
Places: TypeAlias = tuple[tuple[int, int | str | None], ...]


@attrs.frozen
class Bound:
    """Arguments in the order of the parameters.

    Attributes:
        values: one for each parameter; a tuple for ``*args``, a dict for ``**kwargs``.
        places: the positions of the arguments among them; None if they are exactly these.
        defaults: the parameters whose defaults were used, with their numbers.
    """

    values: tuple[Any, ...]
    places: Places | None = None
    defaults: tuple[tuple[str, int], ...] = ()


def parameters_of(code: CodeType) -> tuple[str, ...]:
    """Return the names of a function's parameters, in the order in which frames hold them."""
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_varnames[:count]


def is_plain(fun: FunctionType, args: tuple[Any, ...]) -> bool:
    """Return whether positional arguments are exactly the values of a function's parameters."""
    code = fun.__code__
    return (
        len(args) == code.co_argcount
        and not code.co_kwonlyargcount
        and not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    )


def _own_signature(fun: FunctionType) -> inspect.Signature:
    """Return the signature of the code of a function, which may show another."""
    made = FunctionType(fun.__code__, {}, fun.__name__, fun.__defaults__, fun.__closure__)
    made.__kwdefaults__ = fun.__kwdefaults__
    return inspect.signature(made)


def bound(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Bound:
    """Bring the arguments of a call in the order of the parameters.

    Raises:
        TypeError: the arguments do not fit the function.
        SourceError: the function is one of this package, in place of another.
    """
    assert isinstance(fun, FunctionType), f"{fun!r} is no Python function"
    if not kwargs and is_plain(fun, args):
        return Bound(args)
    signature = _own_signature(fun)
    names = parameters_of(fun.__code__)
    numbers = {name: len(args) + i for i, name in enumerate(kwargs)}
    try:
        numbered = signature.bind(*range(len(args)), **numbers).arguments
    except TypeError as error:
        if not fun.__code__.co_filename.startswith(frames.PACKAGE_DIRECTORY):
            raise
        raise refusal(f"{fun.__name__} is not taken with these arguments: {error}.") from error
    places: dict[int, tuple[int, int | str | None]] = {}
    for i, name in enumerate(names):
        value = numbered.get(name, ())
        if isinstance(value, int):
            places[value] = i, None
        else:
            items = value.items() if isinstance(value, dict) else enumerate(value)
            places.update({number: (i, key) for key, number in items})
    taken = [(name, i) for i, name in enumerate(names) if name not in numbered]
    defaults = [d for d in taken if signature.parameters[d[0]].default is not Parameter.empty]
    arguments = signature.bind(*args, **kwargs)
    arguments.apply_defaults()
    values = tuple([arguments.arguments[name] for name in names])
    return Bound(values, tuple([places[n] for n in range(len(places))]), tuple(defaults))
