"""Functions rewritten so that their calls and operations are dispatch points.

The statement of a module that has a function is parsed, rewritten and compiled as a whole. The code
objects of both versions are paired in their order. So lambdas, methods, closures and comprehensions
are found without a search, and cells, defaults and decorators stay as they are. Dispatchers are
constants of the code: no name is added to the module.
"""

from __future__ import annotations
import __future__

import ast
import functools
import itertools
import linecache
import operator
import sys
import threading
import warnings
from collections.abc import Callable, Sequence, Set
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

import attrs

from tinyjax.source import facts
from tinyjax.source.ir import syntax

#: The dispatchers by name; set by the module that has them.
DISPATCHERS: Final[dict[str, Callable[..., Any]]] = {}
#: Rewritten code by the code of the user's function; None where there is no source.
_rewritten: Final[dict[CodeType, CodeType | None]] = {}
#: Code that was rewritten, and the user's, by its identity: without a dispatcher, both are equal.
_ours: Final[dict[int, tuple[CodeType, CodeType]]] = {}
#: Packages whose Python functions are called as they are.
AS_THEY_ARE: Final = {
    *("numpy", "tinyjax", "jax", "jaxlib", "pandas", "matplotlib", "numba", "llvmlite"),
    *(
        sys.stdlib_module_names
        - {"contextlib", "statistics", "functools", "numbers", "dataclasses", "random"}
    ),
}
#: Functions of NumPy's that call functions of the user's, in Python.
CAPTURED_OF_NUMPY: Final = ("numpy.polynomial", "numpy.ma", "numpy.lib._polynomial_impl")
_MARK: Final = "\0capture "


@attrs.frozen(eq=False)
class _Module:
    """A parsed file: its statements that are not rewritten yet, what it imports, and rebinds.

    Methods of names that a module imports are compiled otherwise than those of other names.
    """

    text: str
    statements: list[ast.stmt]
    imports: Sequence[ast.stmt]
    rebound: set[str]

    def statement_at(self, line: int) -> ast.stmt | None:
        """Return the statement of the module that has a line."""
        for statement in self.statements:
            if _first_line(statement) <= line <= (statement.end_lineno or statement.lineno):
                return statement
        return None


_modules: Final[dict[str, _Module | None]] = {}
_lock: Final = threading.Lock()
#: The flags of imports from ``__future__``, which compiled code inherits from its caller.
_FUTURE: Final = functools.reduce(
    operator.or_, [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
)


def module_of(fun: FunctionType) -> str:
    """Return the name of the module that a function is defined in; nothing for an example."""
    if fun.__code__.co_filename.startswith("<doctest "):  # which runs among the globals of a module
        return ""
    return fun.__globals__.get("__name__") or ""


#: Classes in C of what calls a function, and their attributes that are the function.
_INNER: Final[dict[Any, str]] = {
    MethodType: "__func__",
    functools.partial: "func",
    type(functools.lru_cache(len)): "__wrapped__",
}


def is_of_wrapt(kind: type) -> bool:
    """Return whether a class in C is of wrapt's decorators, whose source in Python is beside it."""
    return kind.__module__ == "_wrappers"


def is_captured_function(fun: Any) -> bool:
    """Return whether a value is a function of Python's that is called in its rewritten form."""
    while type(fun) is not FunctionType:
        kind: Any = type(fun)
        name = "__wrapped__" if is_of_wrapt(kind) else _INNER.get(kind)
        if name is None:
            return False
        fun = getattr(fun, name)
    module = module_of(fun)
    return module.partition(".")[0] not in AS_THEY_ARE or module.startswith(CAPTURED_OF_NUMPY)


def is_rewritten(code: CodeType) -> bool:
    """Return whether code has been rewritten."""
    return id(code) in _ours


def original(code: CodeType) -> CodeType:
    """Return the user's code of code that may be rewritten."""
    return _ours.get(id(code), (code, code))[1]


def rewritten_code(code: CodeType, scope: dict[str, Any]) -> CodeType | None:
    """Return the rewritten form of code; None where its source is not there."""
    if code in _rewritten:
        return _rewritten[code]
    with _lock:
        module = _module_of(code.co_filename, scope)
        statement = module.statement_at(code.co_firstlineno) if module is not None else None
        if module is not None and statement is not None:
            _rewrite(module, statement, code)
        return _rewritten.setdefault(code, None)


def rewritten(fun: Any) -> FunctionType | None:
    """Return a function with rewritten code and the same cells and defaults; None without source.

    Example:
        >>> from tinyjax.source.capturing import rewriting
        >>> rewriting.rewritten(eval("lambda x: x")) is None
        True
    """
    if type(fun) is not FunctionType:
        return None
    code = fun.__code__
    if is_rewritten(code):
        return fun
    new = rewritten_code(code, fun.__globals__)
    if new is None or new.co_freevars != code.co_freevars:
        return None
    made = with_code(fun, new)
    made.__module__, made.__qualname__ = fun.__module__, fun.__qualname__
    if fun.__dict__:
        made.__dict__.update(fun.__dict__)
    return made


def with_code(fun: FunctionType, code: CodeType) -> FunctionType:
    """Return a function with other code, and the same cells and defaults, to be called."""
    made = FunctionType(code, fun.__globals__, fun.__name__, fun.__defaults__, fun.__closure__)
    if fun.__kwdefaults__:
        made.__kwdefaults__ = fun.__kwdefaults__
    return made


def _module_of(filename: str, scope: dict[str, Any]) -> _Module | None:
    text = "".join(linecache.getlines(filename, scope))
    known = _modules.get(filename)
    if known is not None and known.text == text:
        return known
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text, filename)
    except (SyntaxError, ValueError, RecursionError):
        return None
    declared = [x.names for x in ast.walk(tree) if isinstance(x, (ast.Global, ast.Nonlocal))]
    rebound = {*itertools.chain(*declared)}
    module = _modules[filename] = _Module(text, tree.body, _imports(tree.body), rebound)
    return module


def _imports(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the imports at the level of the module, within ``if`` and ``try`` too."""
    imports: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            if getattr(statement, "module", "") != "__future__":
                imports.append(statement)
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            handlers = [handler.body for handler in getattr(statement, "handlers", [])]
            for block in (*blocks, *handlers):
                imports += _imports(block) if isinstance(block, list) else []
    return imports


def _first_line(statement: ast.stmt) -> int:
    nodes: list[ast.stmt | ast.expr] = [statement, *getattr(statement, "decorator_list", [])]
    return min(node.lineno for node in nodes)


def _rewrite(module: _Module, statement: ast.stmt, model: CodeType) -> None:
    """Compile the statement that has a code as it is and rewritten, and pair the code objects."""
    filename, flags = model.co_filename, model.co_flags & _FUTURE

    def compiled(body: ast.stmt) -> CodeType:
        tree = ast.fix_missing_locations(ast.Module([*module.imports, body], []))
        code: CodeType = compile(tree, filename, "exec", flags, dont_inherit=True)
        return code

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old = compiled(statement)
            module.statements.remove(statement)  # which is changed
            bound = _bound([*module.imports, statement]) - module.rebound
            new = _with_dispatchers(compiled(Rewriter(bound, module.rebound).visit(statement)))
    except (SyntaxError, ValueError, RecursionError):
        return
    _pair(old, new)


def _bound(nodes: Sequence[ast.AST]) -> set[str]:
    """Return the names that nodes bind."""
    bound: set[str] = set()
    for node in itertools.chain(*map(ast.walk, nodes)):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.alias):
            bound.add(node.asname or node.name.partition(".")[0])
    return bound


def _pair(old: CodeType, new: CodeType) -> None:
    _ours[id(new)] = new, old
    _rewritten[old] = new
    olds, news = inner(old), inner(new)
    if [code.co_name for code in olds] == [code.co_name for code in news]:
        for first, second in zip(olds, news, strict=True):
            _pair(first, second)


def inner(code: CodeType) -> list[CodeType]:
    """Return the code of the functions in a function."""
    return [const for const in code.co_consts if isinstance(const, CodeType)]


def _with_dispatchers(code: CodeType) -> CodeType:
    """Put the dispatchers where their names are, among the constants of code."""
    consts = tuple([_constant(const) for const in code.co_consts])
    return code.replace(co_consts=consts)


def _constant(const: Any) -> Any:
    if isinstance(const, CodeType):
        return _with_dispatchers(const)
    if isinstance(const, str) and const.startswith(_MARK):
        name, _, text = const.removeprefix(_MARK).partition(" ")
        return DISPATCHERS[name](text) if text else DISPATCHERS[name]
    return const


def _with_literal(op: ast.cmpop, node: ast.expr) -> ast.expr:
    """Return an operand of a chain of comparisons, where a literal is told from a key."""
    is_equality = COMPARISONS.get(type(op)) in EQUALITIES
    if not is_equality or not isinstance(node, ast.Constant) or type(node.value) is not float:
        return node
    return ast.copy_location(ast.Constant(f"{_MARK}literal {node.value!r}"), node)


#: Names of Python's operators, as those of their methods are.
OPERATORS: Final[dict[Any, str]] = {
    node: function.__name__.strip("_") for node, function in syntax.BINARY.items()
}
COMPARISONS: Final[dict[Any, str]] = {
    node: function.__name__
    for node, function in syntax.COMPARISONS.items()
    if hasattr(object, f"__{function.__name__}__")
}
#: Those that are true for a key of a cache, or false.
EQUALITIES: Final = {COMPARISONS[ast.Eq], COMPARISONS[ast.NotEq]}
UNARY: Final[dict[Any, str]] = {
    node: function.__name__ for node, function in syntax.UNARY.items() if node is not ast.Not
}
#: Methods and attributes of arrays that expressions have.
_OF_ARRAYS: Final = facts.FRESH_METHODS | facts.VIEW_ATTRIBUTES | facts.PLAIN_ATTRIBUTES
#: An expression of more operands is several of them.
_MOST_OPERANDS: Final = 16
#: Exceptions that say what an object is, has or contains.
_OF_OBJECTS: Final = {
    *("AttributeError", "ImportError", "IndexError", "KeyError", "LookupError", "NameError"),
    *("ModuleNotFoundError", "NotImplementedError", "OSError", "StopIteration", "TypeError"),
}
#: Functions that look at the frame of their caller.
_OF_FRAMES: Final = {"super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__"}


class _Dispatching(ast.NodeTransformer):
    """Replaces operators, attributes and calls by calls of their dispatchers."""

    #: The names that functions of the module bind again.
    rebound: Set[str] = frozenset()

    def _is_literal(self, node: ast.expr) -> bool:
        """Return whether an expression is a constant of the program, as ``-1`` or ``math.pi``."""
        if isinstance(node, ast.UnaryOp):
            return self._is_literal(node.operand)
        if isinstance(node, ast.Attribute):
            return isinstance(node.value, ast.Name) and node.value.id in ("math", "np", "numpy")
        if isinstance(node, ast.Name):
            return node.id.isupper() and node.id not in self.rebound
        return isinstance(node, ast.Constant)

    def _dispatch(
        self,
        node: ast.AST,
        dispatcher: str,
        args: Sequence[ast.expr],
        keywords: Sequence[ast.keyword] = (),
    ) -> ast.Call:
        called = ast.Call(ast.Constant(_MARK + dispatcher), [*args], [*keywords])
        return ast.copy_location(called, node)

    def _evaluate(self, node: ast.expr, dispatched: ast.Call) -> ast.expr:
        """Return what evaluates an expression whose parts have been visited."""
        return dispatched

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        name = OPERATORS[type(node.op)]
        return self._evaluate(node, self._dispatch(node, name, [node.left, node.right]))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        name = UNARY.get(type(node.op))
        if name is None or isinstance(node.operand, ast.Constant):
            return node
        return self._evaluate(node, self._dispatch(node, name, [node.operand]))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        is_literal = any(map(self._is_literal, (node.left, *node.comparators)))
        items = getattr(node.comparators[0], "elts", (node,))
        has_literals = self._is_literal(node.left) or all(map(self._is_literal, items))
        if len(node.ops) > 1:
            node.comparators = [*map(_with_literal, node.ops, node.comparators)]
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            operands = [node.left, node.comparators[0], ast.Constant(has_literals)]
            result = self._dispatch(node, "contains", operands)
            is_in = isinstance(node.ops[0], ast.In)
            return result if is_in else ast.copy_location(ast.UnaryOp(ast.Not(), result), node)
        if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and _is_truth(node.comparators[0]):
            compared = self._dispatch(node.left, "truth", [node.left])
            return ast.copy_location(ast.Compare(compared, node.ops, node.comparators), node)
        name = COMPARISONS.get(type(node.ops[0])) if len(node.ops) == 1 else None
        if name is None:
            return node
        operands = [node.left, *node.comparators]
        if name in EQUALITIES and not any(map(_is_constant, operands)):
            return self._dispatch(node, name if is_literal else f"{name}_of_values", operands)
        return self._evaluate(node, self._dispatch(node, name, operands))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        read = self._dispatch(node, "attribute", [node.value, ast.Constant(node.attr)])
        return self._evaluate(node, read)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        called = self._dispatch(node, "call", [node.func, *node.args], node.keywords)
        return self._evaluate(node, called)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        read = self._dispatch(node, "item", [node.value, self._key(node.slice)])
        return self._evaluate(node, read)

    def _key(self, key: ast.expr) -> ast.expr:
        """Write a slice as a call: a slice is no expression of its own."""
        if isinstance(key, ast.Slice):
            parts = [part or ast.Constant(None) for part in (key.lower, key.upper, key.step)]
            return self._dispatch(key, "slice", parts)
        if isinstance(key, ast.Tuple):
            return ast.copy_location(ast.Tuple([self._key(k) for k in key.elts], ast.Load()), key)
        return key


def by_parts(text: str, operands: Sequence[str]) -> Any:
    """Return the function of an expression that dispatches each of its operators and calls.

    Args:
        text: the expression.
        operands: the names of its operands.
    """
    tree = _Dispatching().visit(ast.parse(f"lambda {', '.join(operands)}: {text}", mode="eval"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(ast.fix_missing_locations(tree), __file__, "eval")
    return eval(_with_dispatchers(code), {"__name__": __name__})


class _Expression(ast.Call):
    """The call of the dispatcher of a whole expression, of an attribute or an item.

    Args:
        body: the expression, of operands.
        operands: the names of the operands in it, and what they are.
        dispatched: the call of the dispatcher of its outermost part.
    """

    def __init__(
        self,
        body: ast.expr,
        operands: Sequence[tuple[ast.Name, ast.expr]],
        dispatched: ast.Call,
    ) -> None:
        values = [value for _, value in operands]
        are_names = all(isinstance(value, ast.Name) for value in values)
        keys = [ast.dump(value) if are_names else i for i, value in enumerate(values)]
        unique = dict(zip(keys, values, strict=True))
        for key, (name, _) in zip(keys, operands, strict=True):
            name.id = f"x{[*unique].index(key)}"
        if not isinstance(body, (ast.Attribute, ast.Subscript)):
            text = ast.Constant(f"{_MARK}expression {ast.unparse(body)}")
            dispatched = ast.Call(ast.copy_location(text, dispatched), [*unique.values()], [])
        super().__init__(dispatched.func, dispatched.args, [])
        self.body = body
        self.operands = operands


class _Parts(ast.NodeTransformer):
    """Replaces the parts of an expression, among them those of indices and of displays in calls."""

    def __init__(self, whole: ast.expr, replace: Callable[[ast.expr], ast.expr]) -> None:
        displays = {ast.Call: (ast.Tuple, ast.List), ast.Subscript: (ast.Tuple, ast.Slice)}
        self._inner: tuple[type[ast.AST], ...] = displays.get(type(whole), ())
        self._replace = replace

    def visit(self, node: ast.AST) -> Any:
        """Replace a part."""
        if isinstance(node, (*self._inner, ast.keyword)):
            return self.generic_visit(node)
        return self._replace(node) if isinstance(node, ast.expr) else node


class Rewriter(_Dispatching):
    """Replaces calls and operations by calls of dispatchers.

    Args:
        bound: the names of the statement's own.
        rebound: those that functions of the module bind again.
    """

    def __init__(self, bound: set[str], rebound: Set[str]) -> None:
        self._bound = bound
        self.rebound = rebound
        self._local: set[str] = set()

    def _evaluate(self, node: ast.expr, dispatched: ast.Call) -> ast.expr:
        """Dispatch an expression as a whole; what else is in it is evaluated before it."""
        children: list[ast.expr] = []

        def collect(child: ast.expr) -> ast.expr:
            children.append(child)
            return child

        _Parts(node, collect).generic_visit(node)
        if isinstance(node, ast.Attribute):
            is_known = _is_attribute(node.value) or self._is_outer(node.value)
            if not is_known and node.attr not in _OF_ARRAYS:
                return dispatched
        if isinstance(node, ast.Call) and not _is_attribute(node.func):
            return dispatched
        has_out = any(keyword.arg in (None, "out") for keyword in dispatched.keywords)
        is_of_display = isinstance(getattr(node, "value", None), ast.Tuple)
        if has_out or is_of_display or any(isinstance(x, ast.Starred) for x in children):
            return dispatched
        parts: list[ast.expr] = []
        operands: list[tuple[ast.Name, ast.expr]] = []
        for i, child in enumerate(children):
            if _is_constant(child):
                parts.append(child)
            elif (
                isinstance(child, _Expression)
                and len(child.operands) < _MOST_OPERANDS
                and all(map(self._is_stable, children[i + 1 :]))
            ):
                parts.append(child.body)
                operands += child.operands
            else:
                name = ast.Name("", ast.Load())
                parts.append(name)
                operands.append((name, child))
        if not operands:
            return node
        remaining = iter(parts)
        _Parts(node, lambda child: next(remaining)).generic_visit(node)
        return ast.copy_location(_Expression(node, operands, dispatched), node)

    def _is_outer(self, node: ast.expr) -> bool:
        """Return whether an expression is a name from outside of the function, as of a module."""
        return isinstance(node, ast.Name) and node.id in self._bound - self._local

    def _is_stable(self, node: ast.expr) -> bool:
        """Return whether a part of an expression has its value before others are evaluated."""
        if isinstance(node, _Expression):
            return all(self._is_stable(value) for _, value in node.operands)
        return _is_constant(node) or (isinstance(node, ast.Name) and node.id in self._bound)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        if isinstance(function, ast.Name) and function.id in _OF_FRAMES:
            self.generic_visit(node)
            if function.id in ("eval", "exec") and node.args:
                node.args[0] = self._dispatch(node.args[0], "source_text", [node.args[0]])
            return node
        return super().visit_Call(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and not _is_mangled(node.attr):
            return super().visit_Attribute(node)
        self.generic_visit(node)
        return node if _is_mangled(node.attr) else self._in_place(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.ctx, ast.Load):
            return super().visit_Subscript(node)
        self.generic_visit(node)
        return self._in_place(node)

    def _in_place(self, node: ast.Attribute | ast.Subscript) -> ast.expr:
        """Make a target one of an object that dispatches what it is assigned, or its deletion."""
        node.value = self._dispatch(node.value, "place", [node.value])
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        (target, *others) = node.targets
        if not others and isinstance(target, ast.Subscript):
            value, owner, key = [self.visit(x) for x in (node.value, target.value, target.slice)]
            return self._statement(node, "set_item", [value, owner, self._key(key)])
        if not others and isinstance(target, ast.Attribute) and not _is_mangled(target.attr):
            value, owner = self.visit(node.value), self.visit(target.value)
            name = ast.Constant(target.attr)
            return self._statement(node, "set_attribute", [value, owner, name])
        self.generic_visit(node)
        is_unpacked = not others and isinstance(target, (ast.Tuple, ast.List))
        if is_unpacked and not isinstance(node.value, (ast.Tuple, ast.List)):
            node.value = self._dispatch(node.value, "iterate", [node.value])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        target, name = node.target, f"i{OPERATORS[type(node.op)]}"
        if isinstance(target, ast.Name):
            loaded = ast.Name(target.id, ast.Load())
            value = self._dispatch(node, name, [loaded, self.visit(node.value)])
            return ast.copy_location(ast.Assign([target], value), node)
        if isinstance(target, ast.Subscript):
            owner, key = self.visit(target.value), self.visit(target.slice)
            place = self._dispatch(target, "item_of", [owner, self._key(key)])
        elif not _is_mangled(target.attr):
            names = [self.visit(target.value), ast.Constant(target.attr)]
            place = self._dispatch(target, "attribute_of", names)
        else:
            self.generic_visit(node)
            return node
        operands = [place, self.visit(node.value), ast.Constant(_MARK + name)]
        return self._statement(node, "change", operands)

    def _statement(self, node: ast.stmt, dispatcher: str, args: Sequence[ast.expr]) -> ast.stmt:
        return ast.copy_location(ast.Expr(self._dispatch(node, dispatcher, args)), node)

    def _iterating(self, node: Any) -> Any:
        """Dispatch what a statement or an expression iterates over."""
        self.generic_visit(node)
        name = "iter" if hasattr(node, "iter") else "value"
        is_target = isinstance(getattr(node, "ctx", None), ast.Store)
        if not is_target and not getattr(node, "is_async", False):
            iterable = getattr(node, name)
            setattr(node, name, self._dispatch(iterable, "iterate", [iterable]))
        return node

    visit_For = visit_comprehension = visit_Starred = visit_YieldFrom = _iterating  # noqa: N815

    def visit_Try(self, node: ast.Try | ast.TryStar) -> ast.stmt:
        """Mark a block whose exceptions are caught, if functions may raise them for their data."""
        self.generic_visit(node)
        if not all(map(_is_of_objects, node.handlers)):
            handling = self._dispatch(node.body[0], "handling", [])
            marked = ast.With([ast.withitem(handling)], node.body)
            node.body = [ast.copy_location(marked, node.body[0])]
        return node

    visit_TryStar = visit_Try  # noqa: N815

    def visit_With(self, node: ast.With) -> ast.stmt:
        self.generic_visit(node)
        for item in node.items:
            item.context_expr = self._dispatch(item.context_expr, "enter", [item.context_expr])
        return node

    def visit_Global(self, node: ast.Global) -> list[ast.stmt]:
        """Note the variables of the module, which the function assigns to."""
        variables = ast.Call(ast.Name("globals", ast.Load()), [], [])
        return [node, self._statement(node, "note", [variables])]

    def _without_annotations(self, node: Any) -> Any:
        """Visit all but annotations, which may be text, and patterns, which are no expressions."""
        names = [name for name in ("annotation", "returns", "pattern") if hasattr(node, name)]
        kept = {name: node.__dict__.pop(name) for name in names}
        self.generic_visit(node)
        node.__dict__.update(kept)
        return node

    visit_match_case = visit_AnnAssign = visit_arg = _without_annotations  # noqa: N815

    def _function(self, node: Any) -> Any:
        """Visit a function, in which names of its own are those of no module."""
        outer, self._local = self._local, _bound([node])
        self._without_annotations(node)
        self._local = outer
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function  # noqa: N815


def _is_of_objects(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches only exceptions that no function raises for its data."""
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return all(isinstance(name, ast.Name) and name.id in _OF_OBJECTS for name in names)


def _is_constant(node: ast.expr) -> bool:
    """Return whether an expression is a number, or another constant, or is made of such."""
    if isinstance(node, ast.BinOp):
        return _is_constant(node.left) and _is_constant(node.right)
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _is_attribute(node: ast.expr) -> bool:
    return isinstance(node, _Expression) and isinstance(node.body, ast.Attribute)


def _is_truth(node: ast.expr) -> bool:
    """Return whether an expression is ``True`` or ``False``."""
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _is_mangled(name: str) -> bool:
    return name.startswith("__") and not name.endswith("__")
