"""Signatures as they stand in the source: with its defaults and names of types.

What a decorator or a family of functions made has no definition with its signature; then the
signature is the live object's. A type that is public goes by its public path, which Sphinx shows
by its last part, as a link.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any, Final

import attrs

#: A name with dots.
_DOTTED: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
#: Says by which path the value of an annotation is public; None where it is not.
Linker = Callable[[object], str | None]
Function = ast.FunctionDef | ast.AsyncFunctionDef


@attrs.frozen
class Place:
    """The place of a definition: a file, a line and the statement."""

    file: str
    line: int
    node: ast.stmt | None = attrs.field(default=None, eq=False, repr=False)


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


@cache
def _bodies(file: str) -> dict[str, list[ast.stmt]]:
    """The statements of a file by what they define, as ``name`` or ``Class.name``."""
    bodies: dict[str, list[ast.stmt]] = {}

    def visit(body: list[ast.stmt], inside: str) -> None:
        for node in body:
            for name in _defined(node):
                bodies.setdefault(inside + name, []).append(node)
            match node:
                case ast.ClassDef(name=name):
                    visit(node.body, f"{inside}{name}.")
                case ast.If():
                    visit([*node.body, *node.orelse], inside)
                case _:
                    pass

    visit(_tree(file).body, "")
    return bodies


def _defined(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=targets):
            inner = (x for t in targets for x in (t.elts if isinstance(t, ast.Tuple) else [t]))
            yield from (x.id for x in inner if isinstance(x, ast.Name))
        case _:
            pass


def place(module: str, name: str, value: object) -> Place | None:
    """Find where a module, or the code of a function, defines a name."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None or not module.startswith("tinyjax"):
        return None
    nodes = _bodies(file).get(name, [])
    if nodes:
        return Place(file, nodes[-1].lineno, nodes[-1])
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    if code is not None and code.co_filename == file:
        return Place(file, code.co_firstlineno)
    return Place(file, 1)


def defines(module: str, name: str) -> bool:
    """Tell whether the file of a module defines a name, as ``name`` or ``Class.name``."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and module.startswith("tinyjax") and name in _bodies(file)


def imported(module: str, name: str) -> tuple[str, str] | None:
    """Say from where a module imports a name, and as what."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is not None:
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if name == (alias.asname or alias.name):
                        return node.module, alias.name
    return None


#: A comment that stands as a heading between definitions.
_HEADING: Final = re.compile(r"^# ([A-Z][^.\n]*)\n\n", re.MULTILINE)


@cache
def _headings(file: str) -> list[tuple[int, str]]:
    text = Path(file).read_text(encoding="utf-8")
    return [(text.count("\n", 0, m.start()) + 1, m[1]) for m in _HEADING.finditer(text)]


def heading(place: Place) -> str:
    """Return the heading above a definition in its file; nothing where there is none."""
    above = [text for line, text in _headings(place.file) if line < place.line]
    return above[-1] if above else ""


def linked(annotation: str, scope: dict[str, Any], link: Linker) -> str:
    """Write the names of an annotation as public paths, or else without their modules."""

    def one(match: re.Match[str]) -> str:
        first, *others = match[0].split(".")
        value = scope.get(first)
        for part in others:
            value = getattr(value, part, None)
        path = None if value is None else link(value)
        whole = not others or first == "np" or others[-1] in ("args", "kwargs")
        return path or (match[0] if whole else others[-1])

    parts = re.split(r"(\"[^\"]*\"|'[^']*')", annotation)
    parts[::2] = [_DOTTED.sub(one, part) for part in parts[::2]]
    return "".join(parts)


def _render(
    arguments: ast.arguments, returns: str, bound: bool, scope: dict[str, Any], link: Linker
) -> str:
    """Write parameters and result; those of a method without the first."""
    everything = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*everything, arguments.vararg, arguments.kwarg):
        if argument is not None and argument.annotation is not None:
            text = linked(ast.unparse(argument.annotation), scope, link)
            argument.annotation = ast.Name(text)
    if bound:
        del (arguments.posonlyargs or arguments.args)[:1]
    arrow = f" -> {linked(returns, scope, link)}" if returns else ""
    return f"({ast.unparse(arguments)}){arrow}"


def _copied(node: Function, bound: bool, scope: dict[str, Any], link: Linker) -> str:
    copy = ast.parse(ast.unparse(ast.FunctionDef(**{**vars(node), "body": [ast.Pass()]}))).body[0]
    assert isinstance(copy, Function), copy
    returns = "" if copy.returns is None else ast.unparse(copy.returns)
    if any(ast.unparse(decorator) == "contextmanager" for decorator in node.decorator_list):
        returns = returns.replace("Iterator", "AbstractContextManager")
    return _render(copy.args, returns, bound, scope, link)


def of_function(value: Any, link: Linker, bound: bool = False) -> str:
    """Write the signature of a function or method."""
    function = inspect.unwrap(getattr(value, "__func__", value))
    code = getattr(function, "__code__", None)
    scope = getattr(function, "__globals__", {})
    if code is not None:
        definitions = _functions(code)
        at = [n for n in definitions if code.co_firstlineno in (n.lineno, _first_line(n))]
        made = function.__name__ != code.co_name  # by a family, from a pattern
        if at and not made and _parameters(at[0]) == _names(value):
            return _copied(at[0], bound, scope, link)
    return _live(value, scope, link)


def overloads(value: Any, link: Linker, bound: bool = False) -> list[str]:
    """Write the signatures by which type checkers tell calls of a function apart, if any."""
    function = inspect.unwrap(getattr(value, "__func__", value))
    code = getattr(function, "__code__", None)
    return [
        _copied(node, bound, function.__globals__, link)
        for node in ([] if code is None else _functions(code))
        if any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)
    ]


def _functions(code: CodeType) -> list[Function]:
    """List what the file of a function defines under its name."""
    if not code.co_filename.endswith(".py"):
        return []
    nodes = _bodies(code.co_filename).get(code.co_qualname, [])
    return [node for node in nodes if isinstance(node, Function)]


def _first_line(node: Function) -> int:
    return min((d.lineno for d in node.decorator_list), default=node.lineno)


def _parameters(node: Function) -> list[str]:
    a = node.args
    rest = [x for x in (a.vararg, *a.kwonlyargs, a.kwarg) if x is not None]
    return [x.arg for x in (*a.posonlyargs, *a.args, *rest)]


def _names(value: Any) -> list[str]:
    try:
        return [*inspect.signature(value).parameters]
    except (TypeError, ValueError):
        return []


class _Bare(str):
    """Text that a signature shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def _live(value: Any, scope: dict[str, Any], link: Linker) -> str:
    """Write the signature that Python knows."""
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):
        return "()"

    def text(annotation: Any) -> Any:
        if annotation is inspect.Parameter.empty:
            return annotation
        plain = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        plain = re.sub(r"ForwardRef\('([^']*)'\)", r"\1", plain).replace("~", "")
        return _Bare(linked(plain, scope, link))

    def default(value: Any) -> Any:
        if value is inspect.Parameter.empty or isinstance(value, bool | int | float | str | tuple):
            return value
        return _Bare("..." if value is ... or repr(value)[:1] == "<" else repr(value))

    parameters = [
        p.replace(annotation=text(p.annotation), default=default(p.default))
        for p in signature.parameters.values()
    ]
    result = text(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=result))


def of_class(value: type, link: Linker) -> str:
    """Write the signature by which a class is called; nothing where that is not of interest."""
    for kind in value.__mro__:
        made = vars(kind).get("__init__") or vars(kind).get("__new__")
        if made is None or kind is object:
            continue
        if not kind.__module__.startswith("tinyjax") or not inspect.isfunction(made):
            break
        if "__attrs_attrs__" in vars(kind):
            return _of_fields(kind, link)
        return re.sub(r" -> (None|Self|Any)$", "", of_function(made, link, True))
    return ""


def _of_fields(value: type, link: Linker) -> str:
    """Write the signature of a class of attrs, by the lines that declare its fields."""
    declared: dict[str, tuple[ast.AnnAssign, dict[str, Any]]] = {}
    for kind in reversed(value.__mro__):
        module = sys.modules.get(kind.__module__)
        file = getattr(module, "__file__", None) or ""
        if file.endswith(".py") and kind.__module__.startswith("tinyjax"):
            for name, nodes in _bodies(file).items():
                inside, _, field = name.rpartition(".")
                node = nodes[-1]
                if inside == kind.__qualname__ and isinstance(node, ast.AnnAssign):
                    declared[field] = node, vars(module)
    parameters: list[inspect.Parameter] = []
    for p in inspect.signature(value).parameters.values():
        field = p.name if p.name in declared else f"_{p.name}"
        if field not in declared:
            parameters.append(p)
            continue
        node, scope = declared[field]
        annotation = _Bare(linked(ast.unparse(node.annotation), scope, link))
        shown = p.default
        if shown is not inspect.Parameter.empty:
            shown = _Bare(_default(node.value, shown))
        parameters.append(p.replace(annotation=annotation, default=shown))
    return str(inspect.Signature(parameters))


def _default(value: ast.expr | None, live: object) -> str:
    """Write the default of a field as its line says, or ... where it is made anew."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="attrs")), keywords=keywords):
            options = {k.arg: k.value for k in keywords}
            return ast.unparse(options["default"]) if "default" in options else "..."
        case None | ast.Call():
            return repr(live) if isinstance(live, bool | int | float | str) else "..."
        case _:
            return ast.unparse(value)
