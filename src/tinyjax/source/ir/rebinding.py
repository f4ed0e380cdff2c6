"""Rebinding in place of changes to lists and dicts that one variable alone holds.

Containers of programs do not change. If nothing else can hold a list, ``xs.append(x)`` is
``xs = [*xs, x]``, and ``xs[i] = x`` binds a list with another item. The variable must be local to
the function, and be bound to new containers only. Its readers must take items or their number, and
keep no list: subscripts, loops, ``len``, ``sum`` and their kin, functions of modules such as
``np.array``, and ``return``.

In the same way ``x.shape = n`` is ``x = x.reshape(n)``, if the variable alone holds the array.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Set
from types import ModuleType
from typing import Any, Final, Literal

from tinyjax.source.ir.find import FunctionNode

Kind = Literal["list", "dict"]

#: Functions of Python that keep no container that they are given.
_READERS: Final = frozenset(
    ("len", "sum", "max", "min", "list", "tuple", "sorted", "any", "all", "set", "dict", "print")
)
#: Functions that go through a container later, when a loop asks for the next item.
_ITERATORS: Final = frozenset(("enumerate", "zip", "reversed", "map", "filter"))
#: NumPy's functions that may return an array that they are given.
_SAME_ARRAY: Final = frozenset(
    (
        *("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require", "unwrap"),
        *("atleast_1d", "atleast_2d", "atleast_3d", "nan_to_num", "real", "broadcast_arrays"),
    )
)
#: Packages whose functions keep none either.
_PACKAGES: Final = frozenset(("numpy", "scipy", "math", "cmath", "operator", "tinyjax", "jax"))
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def with_rebinding(node: FunctionNode, scope: Mapping[str, Any]) -> FunctionNode:
    """Return a function that binds other lists and dicts where it changed those of its own.

    Args:
        node: the function.
        scope: its global variables.
    """
    if isinstance(node, ast.Lambda) or not any(_changed(x) or _shaped(x) for x in ast.walk(node)):
        return node
    uses = Uses(node, scope)
    kinds, arrays = uses.held_alone(), uses.arrays_held_alone()
    if not kinds and not arrays:
        return node
    rebinding, result = _Rebinding(kinds, arrays), copy.deepcopy(node)
    rebinding.generic_visit(result)
    return result


class _Rebinding(ast.NodeTransformer):
    """Writes the statements, but not those of functions within, which are read by themselves."""

    def __init__(self, kinds: Mapping[str, Kind], arrays: Set[str]) -> None:
        self._kinds = kinds
        self._arrays = arrays

    def visit(self, node: ast.AST) -> Any:
        match node:
            case ast.FunctionDef():
                return node
            case ast.Expr() | ast.Assign() | ast.AugAssign():
                return self._rebound(node)
            case _:
                return self.generic_visit(node)

    def _rebound(self, node: ast.stmt) -> ast.stmt | list[ast.stmt]:
        """Return statements that bind another container, where this one changes its own."""
        if (names := _shaped(node)) and self._arrays >= {*names}:
            assert isinstance(node, ast.Assign), "shapes are assigned"
            return self._reshaped(names, node)
        name = _changed(node)
        if name is None or name not in self._kinds:
            return node
        before = ast.Name(name, ast.Load())
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[item])):
                made: ast.expr = ast.List([ast.Starred(before, ast.Load()), item], ast.Load())
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="extend"), args=[items])):
                parts = [ast.Starred(x, ast.Load()) for x in (before, items)]
                made = ast.List([*parts], ast.Load())
            case ast.Expr(value=ast.Call(args=args, keywords=keywords)):
                entries = [(None, x) for x in (before, *args)]
                named = [(k.arg and ast.Constant(k.arg), k.value) for k in keywords]
                keys, values = zip(*entries, *named, strict=True)
                made = ast.Dict([*keys], [*values])
            case ast.Assign(targets=[ast.Subscript(slice=place)], value=value):
                return self._with_item(node, name, place, value)
            case ast.AugAssign(target=ast.Subscript(slice=place), op=operation, value=value):
                return self._with_changed_item(node, name, place, operation, value)
            case _:
                return node
        return _bound(node, name, made)

    def _with_changed_item(
        self, node: ast.stmt, name: str, place: ast.expr, operation: ast.operator, value: ast.expr
    ) -> list[ast.stmt]:
        """Return statements that change an item, in place if it is an array, and bind it."""
        index, item = f"{name}.index", f"{name}.item"
        before = ast.Subscript(_read(name), _read(index), ast.Load())
        change = ast.AugAssign(ast.Name(item, ast.Store()), operation, value)
        return [
            _bound(node, index, self._place(name, place)),
            _bound(node, item, before),
            ast.fix_missing_locations(ast.copy_location(change, node)),
            _bound(node, name, self._container(name, _read(index), _read(item))),
        ]

    def _reshaped(self, names: list[str], node: ast.Assign) -> ast.stmt:
        """Return the statement that binds arrays of another shape."""
        shape = ast.Name(f"{names[0]}.shape", ast.Load())
        shapes = [ast.NamedExpr(ast.Name(shape.id, ast.Store()), node.value), *[shape] * len(names)]
        targets = [ast.Name(name, ast.Store()) for name in names]
        values = [
            ast.Call(ast.Attribute(ast.Name(x, ast.Load()), "reshape", ast.Load()), [by], [])
            for x, by in zip(names, shapes, strict=False)
        ]
        tuples = ast.Tuple([*targets], ast.Store()), ast.Tuple([*values], ast.Load())
        bound = ast.Assign([tuples[0]], tuples[1])
        return ast.fix_missing_locations(ast.copy_location(bound, node))

    def _with_item(self, node: ast.stmt, name: str, place: ast.expr, value: ast.expr) -> ast.stmt:
        """Return the statement that binds a container like another one but for one item."""
        index = ast.NamedExpr(ast.Name(f"{name}.index", ast.Store()), self._place(name, place))
        return _bound(node, name, self._container(name, index, value))

    def _place(self, name: str, place: ast.expr) -> ast.expr:
        """Return a key, or the place of an item of a list, counted from the front."""
        if self._kinds[name] == "dict":
            return place
        length = ast.Call(_read("len"), [_read(name)], [])
        return ast.Subscript(ast.Call(_read("range"), [length], []), place, ast.Load())

    def _container(self, name: str, index: ast.expr, value: ast.expr) -> ast.expr:
        """Return a container like another one but for one item."""
        if self._kinds[name] == "dict":
            # a dict's display evaluates each key before its value
            return ast.Dict([None, index], [_read(name), value])
        front = ast.Subscript(_read(name), ast.Slice(None, index, None), ast.Load())
        behind = ast.BinOp(_read(f"{name}.index"), ast.Add(), ast.Constant(1))
        back = ast.Subscript(_read(name), ast.Slice(behind, None, None), ast.Load())
        starred = [ast.Starred(x, ast.Load()) for x in (front, back)]
        return ast.List([starred[0], value, starred[1]], ast.Load())


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _bound(node: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    """Return the statement that binds a variable to a value, at the line of another one."""
    bound = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(bound, node))


def _changed(node: ast.AST) -> str | None:
    """Return the name of the variable whose container a statement changes."""
    match node:
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="append" | "extend"),
                args=[item],
                keywords=[],
            )
        ) if not isinstance(item, ast.Starred):
            return name
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update"), args=args)
        ) if len(args) <= 1:
            return name
        case (
            ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=place)])
            | ast.AugAssign(target=ast.Subscript(value=ast.Name(id=name), slice=place))
        ) if not isinstance(place, (ast.Slice, ast.Tuple)):
            return name
    return None


def _shaped(node: ast.AST) -> list[str]:
    """Return the names of the variables to whose arrays a statement gives another shape."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    names: list[str] = []
    for target in targets:
        match target:
            case ast.Attribute(value=ast.Name(id=name), attr="shape"):
                names.append(name)
            case _:
                return []
    return names


def _changes(node: ast.AST, name: str) -> bool:
    """Return whether a node changes the container of a variable, or of an attribute."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute() as owner, attr="append" | "extend")):
            return ast.unparse(owner) == name
        case _:
            return _changed(node) == name


class Uses:
    """The uses of a function's variables, and of their attributes.

    Args:
        node: the function.
        scope: its global variables.
    """

    def __init__(self, node: FunctionNode, scope: Mapping[str, Any]) -> None:
        self._scope = scope
        self._node = node
        self._parents: dict[ast.AST, ast.AST] = {}
        for outer in ast.walk(node):
            self._parents.update((inner, outer) for inner in ast.iter_child_nodes(outer))
        names = [x for x in self._parents if isinstance(x, ast.Name)]
        self._arguments = {x.arg for x in self._parents if isinstance(x, ast.arg)}
        functions = [
            x.name for x in self._parents if isinstance(x, (ast.FunctionDef, ast.ClassDef))
        ]
        assigned = [x.id for x in names if not isinstance(x.ctx, ast.Load)]
        #: The names that are the function's own.
        self._bound = {*functions, *assigned, *self._arguments}

    def held_alone(self) -> dict[str, Kind]:
        """Return the variables that alone hold a container that changes, and of which kind."""
        names = {name for x in ast.walk(self._node) if (name := _changed(x)) is not None}
        kinds: dict[str, Kind] = {}
        for name in names - self._arguments:
            uses = [x for x in ast.walk(self._node) if isinstance(x, ast.Name) and x.id == name]
            bound = {self._kind_bound(x) for x in uses if not isinstance(x.ctx, ast.Load)}
            if len(bound) != 1 or (kind := bound.pop()) is None or self._is_declared(name):
                continue
            if all(self.reads_items(x, kind) for x in uses if isinstance(x.ctx, ast.Load)):
                kinds[name] = kind
        return kinds

    def arrays_held_alone(self) -> set[str]:
        """Return the variables that alone hold an array whose shape changes."""
        nodes = [*ast.walk(self._node)]
        names = {name for x in nodes for name in _shaped(x)} - self._arguments
        return {
            name
            for name in names
            if not self._is_declared(name)
            and all(self._holds_alone(x) for x in nodes if isinstance(x, ast.Name) and x.id == name)
        }

    def _holds_alone(self, name: ast.Name) -> bool:
        """Return whether a use of a variable lets nothing else hold its array."""
        parent = self._parents[name]
        if self._is_inner(name):
            return False
        if not isinstance(name.ctx, ast.Load):
            match parent, self._parents[parent]:
                case ast.Assign(targets=[_], value=value) | ast.AnnAssign(value=value), _:
                    return value is None or self._is_new_array(value)
                case ast.Tuple(elts=parts), ast.Assign(targets=[_], value=value):
                    values = value.elts if isinstance(value, ast.Tuple) else [value] * len(parts)
                    return len(values) == len(parts) and all(map(self._is_new_array, values))
                case _:
                    return isinstance(parent, ast.AugAssign)
        match parent:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.Attribute() | ast.AugAssign():
                return True
            case ast.Return() | ast.Subscript():
                return True
            case ast.Tuple():
                return isinstance(self._parents[parent], (ast.Subscript, ast.Return))
            case ast.Call(func=function):
                is_own = isinstance(function, ast.Name) and function.id in ("abs", "len", "print")
                return is_own or self._function_of_package(function) is not None
            case _:
                return False

    def _is_new_array(self, value: ast.expr) -> bool:
        """Return whether an expression makes a new array, or a view of one."""
        match value:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                return True
            case ast.Call(func=function, keywords=keywords):
                is_new = self._function_of_package(function) not in (None, *_SAME_ARRAY)
                return is_new and all(keyword.arg != "out" for keyword in keywords)
            case ast.Subscript(value=ast.Name(id=name)):
                return any(name in _shaped(x) for x in ast.walk(self._node))
            case ast.Subscript(value=function):  # np.mgrid[...]
                return self._function_of_package(function) is not None
            case _:
                return False

    def _is_declared(self, name: str) -> bool:
        kinds = (ast.Global, ast.Nonlocal, ast.Try)
        declared = [x for x in ast.walk(self._node) if isinstance(x, kinds)]
        return any(isinstance(x, ast.Try) or name in x.names for x in declared)

    def _above(self, node: ast.AST) -> Iterator[ast.AST]:
        while node is not self._node:
            node = self._parents[node]
            yield node

    def _is_inner(self, node: ast.AST) -> bool:
        """Return whether a node is in a function within the function."""
        return any(isinstance(x, _FUNCTIONS) for x in self._above(node) if x is not self._node)

    def _kind_bound(self, name: ast.Name) -> Kind | None:
        """Return the kind of container that a variable is bound to, if it is made on the spot."""
        match self._parents[name]:
            case ast.Assign(targets=[target], value=value) if target is name:
                made = value
            case ast.AnnAssign(value=ast.expr() as value):
                made = value
            case ast.Tuple(elts=targets) as outer:
                match self._parents[outer]:
                    case ast.Assign(targets=[_], value=ast.Tuple(elts=values)) if len(
                        values
                    ) == len(targets):
                        made = values[targets.index(name)]
                    case _:
                        return None
            case _:
                return None
        match made:
            case _ if self._is_inner(name):
                return None
            case ast.List() | ast.ListComp() | ast.Call(func=ast.Name(id="list" | "sorted")):
                return "list"
            case ast.BinOp(left=x, op=ast.Mult(), right=y) if ast.List in (type(x), type(y)):
                return "list"
            case ast.Dict() | ast.DictComp() | ast.Call(func=ast.Name(id="dict")):
                return "dict"
            case _:
                return None

    def reads_items(self, name: ast.Name | ast.Attribute, kind: Kind) -> bool:
        """Return whether a use of a variable keeps nothing but items of its container."""
        parent = self._parents[name]
        if self._is_inner(name):
            return False
        match parent:
            case ast.Subscript(value=value, ctx=ast.Store()) if value is name:
                changed = self._parents[parent]
                return isinstance(name, ast.Name) and _changed(changed) == name.id
            case ast.Subscript(value=value, ctx=ast.Load()):
                return value is name
            case ast.Attribute(attr="append" | "extend"):
                return kind == "list" and self._is_statement(parent)
            case ast.Attribute(attr="update"):
                return kind == "dict" and self._is_statement(parent)
            case ast.Attribute(attr="get" | "index" | "count" | "copy"):
                return self._is_called(parent)
            case ast.Attribute(attr="items" | "keys" | "values"):
                return self._is_called(parent) and self._is_gone_through(
                    self._parents[parent], ast.unparse(name)
                )
            case ast.Return() | ast.Starred():
                return True
            case ast.Tuple() | ast.List():
                return isinstance(self._parents[parent], ast.Return)
            case ast.Dict(keys=keys, values=values):
                return name in values and keys[values.index(name)] is None
            case ast.IfExp(test=test):
                return test is name
            case ast.If() | ast.While() | ast.UnaryOp(op=ast.Not()) | ast.BinOp():
                return True
            case ast.Compare(ops=ops):
                return not any(isinstance(op, (ast.Is, ast.IsNot)) for op in ops)
            case _:
                return self._is_gone_through(name, ast.unparse(name))

    def is_returned(self, name: ast.Name | ast.Attribute) -> bool:
        """Return whether a use of a variable is in a statement that returns its container."""
        return isinstance(self._parents[name], (ast.Return, ast.Tuple, ast.List))

    def _is_called(self, method: ast.AST) -> bool:
        call = self._parents[method]
        return isinstance(call, ast.Call) and call.func is method

    def _is_statement(self, method: ast.AST) -> bool:
        return _changed(self._parents[self._parents[method]]) is not None

    def _is_gone_through(self, node: ast.AST, name: str) -> bool:
        """Return whether all items are read at once, or by a loop that changes nothing."""
        match self._parents[node]:
            case ast.For(iter=iterable, body=body) if iterable is node:
                return not any(_changes(x, name) for part in body for x in ast.walk(part))
            case ast.comprehension(iter=iterable) as clause if iterable is node:
                made = self._parents[clause]
                return not isinstance(made, ast.GeneratorExp) or self._is_reader(made)
            case ast.Call(func=ast.Name(id=function)) as call if (
                function in _ITERATORS and not self._is_bound(function)
            ):
                return node in call.args and self._is_gone_through(call, name)
            case _:
                return self._is_reader(node)

    def _is_reader(self, argument: ast.AST) -> bool:
        """Return whether a value is an argument of a function that does not keep it."""
        match self._parents[argument]:
            case ast.Call(func=ast.Name(id=function)):
                return function in _READERS and not self._is_bound(function)
            case ast.Call(func=function):
                return self._function_of_package(function) is not None
            case _:
                return False

    def _function_of_package(self, function: ast.expr) -> str | None:
        """Return the name of a function of a package that keeps no container; None for others."""
        root = function
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(function, ast.Attribute) or not isinstance(root, ast.Name):
            return None
        module = None if root.id in self._bound else self._scope.get(root.id)
        package = module.__name__ if isinstance(module, ModuleType) else ""
        return function.attr if package.partition(".")[0] in _PACKAGES else None

    def _is_bound(self, name: str) -> bool:
        """Return whether a name of Python's is another one's here."""
        return name in self._bound or name in self._scope
