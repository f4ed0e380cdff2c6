"""Effects of calls besides returning a value.

Both sides of a traced condition are staged, whichever is taken, and a loop's body is staged once
for all iterations. So a call there must be staged itself, or have no effects. A function that is
read shows its effects call by call. Any other function is judged by its syntax tree: it may change
only objects that it has made itself, and call only functions without effects.
"""

from __future__ import annotations

import ast
import bisect
import builtins
import functools
import operator
import types
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.core.values import Array
from tinyjax.errors import SourceError
from tinyjax.source import facts
from tinyjax.source.ir import find, runtime, syntax
from tinyjax.source.staging.session import is_read
from tinyjax.source.staging.values import MutableArray

#: Modules whose functions only compute.
PURE_MODULES: Final = frozenset(
    ("abc", "attr", "attrs", "bisect", "builtins", "cmath", "collections", "contextlib", "copy",
     "dataclasses", "decimal", "enum", "fractions", "functools", "itertools", "math", "ml_dtypes",
     "numbers", "numpy", "operator", "re", "scipy", "statistics", "string", "tinyjax", "types",
     "typing")
)  # fmt: skip
#: Functions that change their first argument.
CHANGING: Final = facts.WRITERS | {
    *(*syntax.IN_PLACE, operator.setitem, operator.delitem, operator.iconcat),
    *(bisect.insort, bisect.insort_left),
}
#: Functions of these modules that have effects.
_IMPURE: Final = {
    *(*CHANGING, *facts.OUTSIDE, open, input, exec, eval, setattr, delattr, next, print),
    *(builtins.breakpoint, builtins.__import__),
}
_TYPES: Final = (str, bytes, tuple, list, dict, set, int, float, complex, range, np.ndarray)
_NAMES: Final = frozenset([name for kind in _TYPES for name in dir(kind)])
_READING: Final = (_NAMES | {"at", "set"}) - (syntax.WRITING - {"at"})
_DESCRIPTORS: Final = (
    types.MethodDescriptorType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)  # fmt: skip
#: Classes of which no attribute is computed by a property.
_NAMESPACES: Final = (ModuleType, type)


def check_effects(fun: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if a call under a traced condition may have effects.

    Raises:
        SourceError: it may do more, or it is not known that it does not.
    """
    if getattr(fun, "__module__", None) == runtime.__name__:
        return
    handed = () if fun is functools.partial else (*args, *kwargs.values())
    reasons = [effect_with(fun, args), *map(effect_of_argument, handed)]
    reason = next(filter(None, reasons), None)
    if reason is not None:
        raise refusal(name_of(fun), reason)


def refusal(name: str, reason: str) -> SourceError:
    """Return the error of a call under a traced condition that does more than compute."""
    return SourceError(
        f"{name} depends on a traced condition, and {reason}: it would do so once, when the "
        "program is staged, whatever the condition says and however many iterations the loop "
        "runs. Return what changes, or let the program do it when it runs "
        "(tinyjax.debug.callback)."
    )


def check_manager(manager: Any) -> None:
    """Raise if a ``with`` statement under a traced condition may have effects.

    Raises:
        SourceError: it may do more, or it is not known that it does not.
    """
    for name in ("__enter__", "__exit__"):
        check_effects(getattr(type(manager), name, None), (), {})


def effect_with(fun: Any, args: tuple[Any, ...]) -> str | None:
    """Return the effect of a call with these arguments, or None."""
    if not is_read(fun):
        return effect_of(fun)
    arguments = dict(zip(fun.__code__.co_varnames[: fun.__code__.co_argcount], args, strict=False))
    own = [name for name, x in arguments.items() if isinstance(x, (*_FIXED, MutableArray))]
    return _effect_of_function(fun, frozenset(), own, arguments)


def effect_of(fun: Any, seen: frozenset[object] = frozenset()) -> str | None:
    """Return the effect of calling a function besides its result, or None."""
    match fun:
        case functools.partial():
            return effect_of(fun.func, seen)
        case MethodType():
            return effect_of(fun.__func__, seen)
        case FunctionType() if is_read(fun):
            return None if fun.__code__ in seen else _effect_of_function(fun, seen)
        case operator.methodcaller():
            return "calls a method that may do more than return a value"
        case type():
            return _effect_of_class(fun, seen)
        case BuiltinFunctionType() if not isinstance(fun.__self__, (ModuleType, type(None))):
            if fun.__name__ in syntax.WRITING:
                name = type(fun.__self__).__name__
                return f"changes {'an' if name[0] in 'aeiou' else 'a'} {name}"
            return _effect_of_module(type(fun.__self__).__module__)
        case _ if isinstance(fun, _DESCRIPTORS):
            return "changes an object" if fun.__name__ in syntax.WRITING else None
        case _ if runtime.is_in(fun, _IMPURE):
            return "does more than return a value"
        case _ if isinstance(wrapped := getattr(fun, "__wrapped__", None), FunctionType):
            return effect_of(wrapped, seen)
        case FunctionType() | BuiltinFunctionType():
            return None if _is_generated(fun) else _effect_of_module(fun.__module__ or "builtins")
        case _:
            method = getattr(type(fun), "__call__", None)  # noqa: B004 - the class's own
            if is_read(method):
                return effect_of(method, seen)
            return _effect_of_module(type(fun).__module__)


def effect_of_argument(value: Any) -> str | None:
    """Return the effect of an argument that the callee may call, or None."""
    if isinstance(value, (FunctionType, MethodType, functools.partial)):
        return effect_of(value)
    return None


def property_of(value: Any, name: str) -> Any:
    """Return the function that computes an attribute, if it is a property."""
    attribute = getattr(type(value), name, None)
    return attribute.fget if isinstance(attribute, property) else None


def _effect_of_module(module: str) -> str | None:
    root = module.partition(".")[0].lstrip("_")
    if root in PURE_MODULES and "random" not in module:
        return None
    return "may do more than return a value"


def _effect_of_class(kind: type, seen: frozenset[object]) -> str | None:
    """Return the effect of making an object, whose constructor may change the object itself."""
    for name in ("__new__", "__init__", "__post_init__", "__attrs_post_init__"):
        method = getattr(kind, name, None)
        if is_read(method) and not _is_generated(method) and method.__code__ not in seen:
            reason = _effect_of_function(method, seen, own=method.__code__.co_varnames[:1])
            if reason is not None:
                return reason
    return None


def _is_generated(fun: Any) -> bool:
    """Return whether a method was made by attrs, dataclasses or NamedTuple."""
    filename = fun.__code__.co_filename if isinstance(fun, FunctionType) else ""
    return filename.startswith(("<attrs generated", "<string>"))


def name_of(fun: Any) -> str:
    """Return the name of a function as errors write it, as a call."""
    if isinstance(fun, functools.partial):
        return name_of(fun.func)
    name = getattr(fun, "__qualname__", None) or type(fun).__qualname__
    return f"{str(name).rpartition('<locals>.')[2]}()"


# Functions of the user's


def _effect_of_function(
    fun: FunctionType,
    seen: frozenset[object],
    own: Sequence[str] = (),
    arguments: Mapping[str, Any] = MappingProxyType({}),
) -> str | None:
    try:
        node = find.find_definition(fun.__code__)
    except SourceError:
        return "may do more than return a value, as its source cannot be read"
    body = FunctionBody(fun, node, seen | {fun.__code__}, own, arguments)
    for inner in body.nodes:
        effect = body.effect_of(inner)
        if effect is not None:
            place: Any = inner.context_expr if isinstance(inner, ast.withitem) else inner
            return f"{effect} in line {place.lineno}"
    return None


class FunctionBody:
    """The syntax tree of a function, and the values of its names.

    Attributes:
        fun: the function.
        nodes: its syntax tree.
        seen: the code of functions that are being looked at.
        arguments: the values of its parameters, as far as they are known.
        own: the variables whose values the function has made itself, or that are numbers.
        local: the variables that it assigns.
        defined: the functions that it defines.
    """

    def __init__(
        self,
        fun: FunctionType,
        node: ast.AST,
        seen: frozenset[object],
        own: Sequence[str],
        arguments: Mapping[str, Any],
    ) -> None:
        self.fun = fun
        self.arguments = arguments
        self.seen = seen
        parts = [node.body] if isinstance(node, ast.Lambda) else getattr(node, "body", [])
        self.nodes: list[ast.AST] = [inner for part in parts for inner in ast.walk(part)]
        code = fun.__code__
        self.local: set[str] = {*code.co_varnames, *code.co_cellvars}
        self.defined: set[str] = {n.name for n in self.nodes if isinstance(n, ast.FunctionDef)}
        bound: dict[str, list[ast.expr | None]] = {}
        for name in find.parameters_of(code):
            bound[name] = [] if name in own else [None]
        assigned = _assigned_values(self.nodes)
        for inner in self.nodes:
            if isinstance(inner, ast.Name) and inner in assigned:
                bound.setdefault(inner.id, []).append(assigned[inner])
            elif isinstance(inner, ast.arg):
                bound.setdefault(inner.arg, []).append(None)
        self.own: set[str] = {*bound}
        while lost := {n for n in self.own if not all(map(self.is_made, bound[n]))}:
            self.own -= lost

    def effect_of(self, node: ast.AST) -> str | None:
        """Return the effect of a node besides its value, or None."""
        match node:
            case ast.Global():
                return "assigns a global variable"
            case ast.Nonlocal() if not {*node.names} <= {*self.fun.__code__.co_cellvars}:
                return "assigns a nonlocal variable"
            case ast.Await() | ast.AsyncFor() | ast.AsyncWith():
                return "awaits something"
            case ast.Attribute(ctx=ast.Load()):
                getter = property_of(self.object_of(node.value), node.attr)
                return effect_of(getter, self.seen) if is_read(getter) else None
            case ast.Attribute():
                return None if self.is_own(node.value) else "assigns an attribute"
            case ast.Subscript(ctx=ast.Store() | ast.Del()) if not self.is_own(node.value):
                return "assigns an item"
            case ast.AugAssign(target=ast.Name() as target) if not self.is_own(target):
                return "may change something in place"
            case ast.Call():
                return self.effect_of_call(node)
            case ast.withitem(context_expr=expression):
                return self.effect_of_entering(expression)
            case _:
                return None

    def is_own(self, node: ast.expr) -> bool:
        """Return whether the changed object was made by the function itself."""
        return isinstance(node, ast.Name) and node.id in self.own

    def is_made(self, node: ast.expr | None) -> bool:
        """Return whether an expression makes a new object, rather than naming an existing one."""
        match node:
            case _ if isinstance(node, _FRESH):
                return True
            case ast.IfExp():
                return self.is_made(node.body) and self.is_made(node.orelse)
            case ast.Name(id=name):
                return name in self.own
            case ast.Call(func=func, args=args, keywords=keywords):
                function = self.value_of(func)
                names = [keyword.arg or "out" for keyword in keywords]
                if isinstance(function, type) or runtime.is_in(function, _MAKING):
                    return True
                if callable(function) and facts.is_fresh(function, len(args), names):
                    return True
                return getattr(function, "__module__", None) in ("math", "cmath")
            case _:
                return False

    def effect_of_call(self, node: ast.Call) -> str | None:
        function = node.func
        value = self.value_of(function)
        if value is not None:
            what = effect_of(value, self.seen)
        elif isinstance(function, ast.Name):
            what = None if function.id in self.defined else f"calls the variable {function.id}"
        elif isinstance(function, ast.Attribute):
            what = self.effect_of_method(function)
        else:
            what = None if isinstance(function, ast.Lambda) else "calls what it has computed"
        for arg in (*node.args, *[k.value for k in node.keywords]):
            what = what or effect_of_argument(self.value_of(arg))
        return what

    def effect_of_entering(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Call):
            kind = self.value_of(node.func)  # the call's own effect is looked up separately
            known = kind is not None
        else:
            manager = self.object_of(node)
            kind, known = type(manager), manager is not None
        methods = [getattr(kind, name, None) for name in ("__enter__", "__exit__")]
        reasons = [effect_of(method, self.seen) for method in methods if is_read(method)]
        return next(filter(None, reasons), None if known else "enters a context")

    def effect_of_method(self, node: ast.Attribute) -> str | None:
        known = node.attr in _READING
        if node.attr in syntax.WRITING:
            item = node.value.value if isinstance(node.value, ast.Subscript) else None
            updates = isinstance(item, ast.Attribute) and node.attr in _UPDATES
            known = updates or self.is_own(node.value)
        return None if known else f"calls .{node.attr}()"

    def object_of(self, node: ast.expr) -> Any:
        """Return the object that an expression names, or None where it is not known."""
        match node:
            case ast.Name(id=name) if name in self.local:
                return self.arguments.get(name)
            case ast.Name(id=name):
                try:
                    if name in self.fun.__code__.co_freevars:
                        return runtime.captured(self.fun, name)
                    return runtime.global_value(self.fun, name)
                except NameError:
                    return None
            case ast.Attribute(value=value, attr=attr):
                owner = self.object_of(value)
                return getattr(owner, attr, None) if isinstance(owner, _NAMESPACES) else None
            case _:
                return None

    def value_of(self, node: ast.expr) -> Any:
        """Return the function, class or module that an expression names, or None."""
        value = self.object_of(node)
        return value if isinstance(value, ModuleType) or callable(value) else None


#: Expressions that make something.
_FRESH: Final = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.JoinedStr, ast.BinOp, ast.UnaryOp, ast.Compare,
)  # fmt: skip
#: ``x.at[i].add(v)`` changes nothing.
_UPDATES: Final = frozenset(("add", "subtract"))
_MAKING: Final[frozenset[Any]] = frozenset((sorted, abs, min, max, sum, len, round, divmod))
#: Values that are not changed in place.
_FIXED: Final = (bool, int, float, complex, str, bytes, tuple, type(None), np.generic, Array)


def _assigned_values(nodes: Sequence[ast.AST]) -> dict[ast.AST, ast.expr | None]:
    """Return the assigned names, each with the assigned expression where there is one."""
    names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    values: dict[ast.AST, ast.expr | None] = dict.fromkeys(names)
    for node in nodes:
        if isinstance(node, ast.Assign):
            values.update(dict.fromkeys(node.targets, node.value))
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
            values[node.target] = node.value
        elif isinstance(node, ast.AugAssign):
            values.pop(node.target, None)
    return values
