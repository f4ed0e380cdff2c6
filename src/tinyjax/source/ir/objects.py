"""Objects of a function's own, whose attributes are variables of its program.

Objects of programs do not change. If a function alone holds an object that it has made, the
object's attributes are variables of the function, and the object itself is not there: scalar
replacement of aggregates. Its constructor, its methods and the functions that it is passed to are
inlined where they are called. So the attributes are carried through loops and joined after branches
as variables are. Where the object is used as a value, in a container for instance, the function is
read again without this.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from types import FunctionType, MemberDescriptorType
from typing import Any, Final, NoReturn
from weakref import WeakKeyDictionary

import attrs

from tinyjax import errors
from tinyjax._base import frames
from tinyjax.source.ir import blocks, expressions, find, plain_classes, rebinding, runtime, syntax
from tinyjax.source.ir.program import Atom, Call, Constant, literal

_MISSING: Final = object()
#: Stands for the result of a dataclass's factory.
_FACTORY: Final = object()
#: The same in the signature of a dataclass.
_DATACLASS_FACTORY: Final = inspect.signature(
    dataclasses.make_dataclass("_", [("x", list, dataclasses.field(default_factory=list))])
).parameters["x"].default  # fmt: skip
#: The types of attributes of classes that are values.
_DATA: Final = (bool, int, float, complex, str, bytes, type(None))


def has_members(members: Mapping[tuple[type, str], Any]) -> bool:
    """Return whether classes have what programs took of them."""
    return all(getattr(kind, name, _MISSING) is x for (kind, name), x in members.items())


#: So many calls are inlined in a program, at most.
_MOST_CALLS: Final = 1000
#: What makes lists.
_MAKING: Final = (runtime.make_list, runtime.collected, list)


class EscapeError(Exception):
    """A function uses an object of its own as a value.

    Attributes:
        error: the reason.
    """

    def __init__(self, error: errors.SourceError) -> None:
        super().__init__(error.message)
        self.error = error


#: Why objects of a class were no variables of the last function that made some, for messages.
REASONS: Final[WeakKeyDictionary[type, str]] = WeakKeyDictionary()


@attrs.define(eq=False)
class OwnObject:
    """An object of a function's own.

    Attributes:
        kind: its class.
        is_unique: whether one object is ever meant: it is constructed outside loops.
        names: the variables of its attributes.
        parts: the attributes that are such objects themselves.
        is_shared: whether several variables or attributes hold it.
        shared: the attributes whose values may be held by others.
        lists: the attributes that are lists which grow.
    """

    kind: type
    is_unique: bool
    names: dict[str, str] = attrs.field(factory=dict)
    parts: dict[str, OwnObject] = attrs.field(factory=dict)
    is_shared: bool = False
    shared: set[str] = attrs.field(factory=set)
    lists: set[str] = attrs.field(factory=set)


class Objects(expressions.Expressions):
    """Translation of objects whose attributes are variables."""

    def __init__(
        self, fun: FunctionType, node: find.FunctionNode, *, takes_objects: bool = False
    ) -> None:
        #: Those that there are, by the variables that hold them.
        self.objects: dict[str, OwnObject] = {}
        #: What the program takes of their classes, by class and name.
        self.members: dict[tuple[type, str], Any] = {}
        self.takes_objects = takes_objects
        self.calls: int = 0
        #: The uses of variables, by function.
        self.uses: dict[find.FunctionNode, rebinding.Uses] = {}
        super().__init__(fun, node)

    def escape(self, construct: str, instead: str, node: ast.AST | None = None) -> NoReturn:
        """Give up that objects are variables."""
        try:
            self.fail(construct, instead, node)
        except errors.SourceError as error:
            raise EscapeError(error) from None

    def object_of(self, node: ast.expr) -> OwnObject | None:
        """Return the object of the program's own that an expression names."""
        match node:
            case ast.Name(id=name) if self.objects and self.is_local(self.name_of(name)):
                return self.objects.get(self.name_of(name))
            case ast.Attribute(value=value, attr=attr) if owner := self.object_of(value):
                return owner.parts.get(attr)
            case _:
                return None

    def names_object(self, node: ast.expr) -> bool:
        """Return whether an expression is an object of the program's own, or ``super()`` of one."""
        match node:
            case ast.Call(func=ast.Name(id="super"), args=[]):
                return self.scope.fun is not None
            case _:
                return self.object_of(node) is not None

    def is_variable(self, target: ast.Name | ast.Attribute) -> bool:
        """Return whether a target is a variable, or an attribute that is one."""
        return isinstance(target, ast.Name) or self.object_of(target.value) is not None

    # What names mean

    def load(self, name: str) -> Atom:
        variable = self.name_of(name)
        if variable in self.objects and self.is_local(variable):
            self.escape(
                f"{name!r}, an object that changes, as a value",
                "use its attributes and methods, and pass it to functions only",
            )
        return super().load(name)

    def attribute(self, node: ast.Attribute) -> Atom:
        owner = self.object_of(node.value)
        if owner is None:
            return super().attribute(node)
        uses = self._uses()
        is_returned = self.scope.outer is not None and uses.is_returned(node)
        if is_returned or not uses.reads_items(node, "list"):
            self._share(owner, node.attr)
        return self.attribute_of(owner, node.attr)

    def _uses(self) -> rebinding.Uses:
        """Return the uses of variables in the function that is translated."""
        node = self.scope.node
        if node not in self.uses:
            self.uses[node] = rebinding.Uses(node, (self.scope.fun or self.fun).__globals__)
        return self.uses[node]

    def _share(self, owner: OwnObject, name: str) -> None:
        """Note that another may hold the value of an attribute, which then must not grow."""
        owner.shared.add(name)
        if name in owner.lists:
            self.escape(
                f"a list that grows, .{name}, as a value", "read its items, or copy it: list(...)"
            )

    def grow(self, owner: OwnObject, name: str, node: ast.Call) -> None:
        """Write ``append`` and ``extend`` of an attribute, if nothing else holds the list."""
        method, (item,) = ast.unparse(node.func).rpartition(".")[2], node.args
        if name in owner.shared or name not in owner.names:
            self.escape(
                f".{method}(), which changes an object in place,",
                f"write {syntax.MUTATORS[method]}",
                node,
            )
        owner.lists.add(name)
        before = self.emit(runtime.items_of, self.attribute_of(owner, name))
        if method == "append":
            items: Atom = self.emit(runtime.make_tuple, self.expression(item))
        else:
            items = self.iterable(item)
        longer = self.emit(list, self.emit(runtime.joined, before, items))
        self.write(self._variable(owner, name), longer)

    def attribute_of(self, owner: OwnObject, name: str) -> Atom:
        """Return the value of an object's attribute."""
        member = self._member(owner.kind, name)
        if isinstance(member, property) and isinstance(member.fget, FunctionType):
            return self.inlined_call(member.fget, owner, ast.Call(ast.Name(name), [], []))
        if name in owner.parts or (hasattr(member, "__get__") and not _is_slot(member)):
            self.escape(f"the attribute {name!r} of an object that changes", "call its methods")
        if name in owner.names or member is _MISSING or _is_slot(member):
            return self.load(self._variable(owner, name))
        return self._of_class(owner, name)

    def assign(self, target: ast.expr, value: Atom) -> None:
        owner = self.object_of(target.value) if isinstance(target, ast.Attribute) else None
        if owner is None or not isinstance(target, ast.Attribute):
            if isinstance(target, ast.Name) and self.name_of(target.id) in self.objects:
                self.escape(f"another value of {target.id!r}", "give it a name of its own", target)
            super().assign(target, value)
            return
        member = self._member(owner.kind, target.attr)
        is_plain = member is _MISSING or _is_slot(member) or target.attr in owner.names
        if target.attr in owner.parts or not is_plain:
            self.escape(f"an assignment to {target.attr!r}", "use a method", target)
        if not self._is_made_here(value):
            self._share(owner, target.attr)
        self.write(self._variable(owner, target.attr), value)

    def _is_made_here(self, value: Atom) -> bool:
        """Return whether a value is a list that the last statement has made."""
        last = self.draft.statements[-1:] if self.draft is not None else []
        return any(s.variable is value and s.function in _MAKING for s in last)

    def _member(self, kind: type, name: str) -> Any:
        """Return what a class has of a name; the program holds as long as the class has it."""
        member = inspect.getattr_static(kind, name, _MISSING)
        if not isinstance(member, _DATA):
            self.members[kind, name] = getattr(kind, name, _MISSING)
        return member

    def _of_class(self, owner: OwnObject, name: str) -> Atom:
        """Return what an object's class has of a name."""
        return self.emit(getattr, Constant(owner.kind, owner.kind.__name__), literal(name))

    def _variable(self, owner: OwnObject, attribute: str) -> str:
        """Return the variable of an attribute."""
        if attribute not in owner.names:
            owner.names[attribute] = name = self.hide(attribute)
            self.unsure.add(name)
        return owner.names[attribute]

    # Where objects come from

    def binds_object(self, node: ast.Assign) -> bool:
        """Write the assignment of an object of the program's own, if it is one."""
        if not self.takes_objects or len(node.targets) != 1 or self.draft is None:
            return False
        (target,) = node.targets
        if (instance := self.object_of(node.value)) is not None:
            self._hold(target, instance, node)
            return True
        kind = self._class_of(node.value)
        if kind is None or not isinstance(node.value, ast.Call):
            return False
        self._resolve(node.value.func)
        if isinstance(target, ast.Name) and not self._is_own(target.id, kind):
            return False
        if isinstance(target, ast.Attribute):
            owner = self.object_of(target.value)
            if owner is None or not (_changes(kind) or not _is_record(kind)):
                return False
        elif not isinstance(target, ast.Name):
            return False
        made = self.object_of(target)
        if made is None:
            made = OwnObject(kind, not self._is_repeated())
        elif made.kind is not kind or made.is_shared:
            self.escape("an object in place of another one", "give it a name of its own", node)
        else:
            made.is_unique = False
        self._construct(made, node.value)
        self._put(target, made)
        return True

    def _put(self, target: ast.expr, instance: OwnObject) -> None:
        match target:
            case ast.Name(id=name):
                self.objects[self.name_of(name)] = instance
            case ast.Attribute(value=value, attr=attr) if owner := self.object_of(value):
                if attr in owner.names or owner.parts.get(attr, instance) is not instance:
                    self.escape(f"another value of {attr!r}", "give it a name of its own", target)
                owner.parts[attr] = instance
            case _:
                self.escape("an object that changes, as a value", "use its attributes", target)

    def _hold(self, target: ast.expr, instance: OwnObject, node: ast.Assign) -> None:
        """Let another variable or attribute hold an object."""
        if not instance.is_unique:
            self.escape("another name of an object that is made several times", "use one", node)
        if isinstance(target, ast.Name):
            count = len([*self.assignments(target.id)])
            if count > 1 or target.id in find.parameters_of(self.scope.code):
                self.escape(f"another value of {target.id!r}", "give it a name of its own", target)
        instance.is_shared = True
        self._put(target, instance)

    def _resolve(self, node: ast.expr) -> None:
        """Let the program be read again when a global variable that it names has another value."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if isinstance(node, ast.Name):
            self.load(node.id)

    def _is_repeated(self) -> bool:
        """Return whether the current statement may run several times in a call of the program."""
        return any(s.loops or s.renamed[s.outer is not None :] for s in self._scopes())

    def _class_of(self, node: ast.expr) -> type | None:
        """Return the class that an expression makes an object of, if its attributes are plain."""
        if not isinstance(node, ast.Call):
            return None
        kind = self.global_value(node.func)
        if not isinstance(kind, type) or type(kind) not in (type, ABCMeta):
            return None
        plain: Any = object
        special = ("__new__", "__setattr__", "__getattribute__")
        if any(getattr(kind, name) is not getattr(plain, name) for name in special):
            return None
        if hasattr(kind, "__getattr__") or hasattr(kind, "__del__"):
            return None
        return kind if _is_written_by_user(kind) else None

    def _is_own(self, name: str, kind: type) -> bool:
        """Return whether a variable holds objects of one class that the function makes of it."""
        nodes = [*ast.walk(self.scope.node)]
        made: list[ast.Name] = []
        read: list[ast.Name] = []
        for node in nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=target) as bound], value=value)
                    | ast.AnnAssign(target=ast.Name(id=target) as bound, value=ast.expr() as value)
                ) if target == name and self._class_of(value) is kind:
                    made.append(bound)
                case ast.Name(id=target, ctx=ast.Load()) if target == name:
                    read.append(node)
                case _:
                    pass
        if len(made) != len([*self.assignments(name)]) or self.name_of(name) in self.shared:
            return False
        first = min(map(_position, made))
        if name in find.parameters_of(self.scope.code) or any(_position(x) < first for x in read):
            return False
        return not _is_record(kind) or _changes(kind) or self._is_changed(name, nodes)

    def _is_changed(self, name: str, nodes: Sequence[ast.AST]) -> bool:
        """Return whether the function assigns to the attributes of what a variable holds."""
        for node in nodes:
            match node:
                case ast.Attribute(value=ast.Name(id=owner), ctx=ast.Store()) if owner == name:
                    return True
                case ast.Call(func=func, args=args):
                    passed = any(isinstance(x, ast.Name) and x.id == name for x in args)
                    fun = self.global_value(func) if passed else None
                    if isinstance(fun, FunctionType) and any(True for _ in _stores(fun)):
                        return True
                case _:
                    pass
        return False

    def _construct(self, made: OwnObject, node: ast.Call) -> None:
        """Write the construction of an object."""
        kind: Any = made.kind
        self._member(kind, "__init__")
        init = kind.__init__ if isinstance(kind.__init__, FunctionType) else None
        if init is None and (node.args or node.keywords):
            self.escape(f"{kind.__name__} with arguments", "define its constructor", node)
        arguments = {} if init is None else self._bound(init, made, node)  # of the object before it
        for variable in made.names.values():
            self.write(variable, blocks.UNDEFINED)
        for name in dict.fromkeys(_stored_in(kind, self.scope.node)):
            if isinstance(inspect.getattr_static(kind, name, _MISSING), _DATA):
                self.write(self._variable(made, name), self._of_class(made, name))
        if plain_classes.has_generated_init(kind):
            self._store_fields(made, arguments, node)
        elif init is not None:
            self._inlined(init, arguments, node)

    def _store_fields(self, made: OwnObject, arguments: dict[str, Any], node: ast.Call) -> None:
        """Write what the constructor of a dataclass does."""
        kind: Any = made.kind
        for field in dataclasses.fields(kind):
            name = field.name
            value = arguments.get(name, _FACTORY)
            if value is _FACTORY and field.default_factory is not dataclasses.MISSING:
                value = self.emit_call(Call(Constant(field.default_factory, name), ()))
            if isinstance(value, OwnObject):
                self.escape("an object that changes, in a dataclass,", "write a constructor", node)
            if value is not _FACTORY:
                self.write(self._variable(made, name), value)
            if name in arguments and arguments[name] is not _FACTORY:
                self._share(made, name)
        if isinstance(after := getattr(kind, "__post_init__", None), FunctionType):
            self.inlined_call(after, made, ast.Call(node.func, [], []))

    # Functions that are inlined

    def call(self, node: ast.Call) -> Atom:
        match node.func:
            case _ if not self.objects:
                pass
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=attr):
                return self._call_of_base(attr, node)
            case ast.Attribute(value=value, attr=attr) if owner := self.object_of(value):
                member = self._member(owner.kind, attr)
                if isinstance(member, staticmethod):
                    return self.inlined_call(member.__func__, None, node)
                if isinstance(member, FunctionType):
                    return self.inlined_call(member, owner, node)
            case func if owner := self.object_of(func):
                return self.inlined_call(self._member(owner.kind, "__call__"), owner, node)
            case func if any(self.object_of(arg) for arg in _arguments(node)):
                self._resolve(func)
                return self.inlined_call(self._function(func), None, node)
            case _:
                pass
        return super().call(node)

    def _function(self, node: ast.expr) -> Any:
        """Return the function that an expression certainly names: of a module, or of a class."""
        if isinstance(node, ast.Attribute):
            kind = self.global_value(node.value)
            if isinstance(kind, type):
                return self._member(kind, node.attr)
        return self.global_value(node)

    def _call_of_base(self, name: str, node: ast.Call) -> Atom:
        """Write a call of a method of the next class that a class derives from."""
        fun = self.scope.fun
        first = self.scope.code.co_varnames[0] if self.scope.code.co_argcount else ""
        owner = self.object_of(ast.Name(first))
        if fun is None or owner is None or "__class__" not in fun.__code__.co_freevars:
            return super().call(node)
        order = owner.kind.__mro__
        rest = order[order.index(runtime.captured(fun, "__class__")) + 1 :]
        method = next((vars(base)[name] for base in rest if name in vars(base)), None)
        if name == "__init__" and method is object.__init__:
            return literal(None)
        return self.inlined_call(method, owner, node)

    def inlined_call(self, fun: Any, owner: OwnObject | None, node: ast.Call) -> Atom:
        """Inline a function that is called with objects of the program's own.

        Args:
            fun: the function.
            owner: its first argument, if it is a method.
            node: the call.
        """
        if not isinstance(fun, FunctionType):
            name = ast.unparse(node.func)
            self.escape(f"a call of {name} with an object that changes", "pass attributes", node)
        return self._inlined(fun, self._bound(fun, owner, node), node)

    def _inlined(self, fun: FunctionType, arguments: dict[str, Any], node: ast.Call) -> Atom:
        code = fun.__code__
        self.calls += 1
        if self.calls > _MOST_CALLS:
            self.escape(f"more than {_MOST_CALLS:,} calls with objects that change", "write a loop")
        is_recursive = any(scope.code is code for scope in self._scopes())
        if not _is_users(code.co_filename) or {*code.co_freevars} - {"__class__"} or is_recursive:
            name = ast.unparse(node.func)
            self.escape(f"a call of {name} with an object that changes", "pass attributes", node)
        is_elsewhere = code.co_filename != self.code.co_filename
        line, here = self.scope.line or (self.line if is_elsewhere else None), self.line
        try:
            definition = rebinding.with_rebinding(find.find_function(code), fun.__globals__)
            result = self.inline(definition, code, arguments, [], fun=fun, line=line)
        except errors.SourceError as error:
            raise EscapeError(error) from None
        self.line: int = here
        return result

    def _bound(self, fun: FunctionType, owner: OwnObject | None, node: ast.Call) -> dict[str, Any]:
        """Return the values of a function's parameters in a call."""
        name = ast.unparse(node.func)
        if syntax.is_spread(node):
            self.escape(f"a call of {name} with * or **", "write out the arguments", node)
        values = [self._argument(x) for x in node.args]
        keywords = {str(k.arg): self._argument(k.value) for k in node.keywords}
        signature = inspect.signature(fun, follow_wrapped=False)
        try:
            bound = signature.bind(*([] if owner is None else [owner]), *values, **keywords)
        except TypeError:
            self.escape(
                f"a call of {name} with arguments that its parameters do not take",
                "give one for each parameter",
                node,
            )
        arguments: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            empty: Any = () if parameter.kind is parameter.VAR_POSITIONAL else {}
            value = bound.arguments.get(name, empty if several else _MISSING)
            if isinstance(value, tuple) and any(isinstance(x, OwnObject) for x in value):
                self.escape(f"an object that changes, for *{name},", "name it", node)
            if value is _MISSING:
                arguments[name] = self._default(parameter, node)
            else:
                is_own = isinstance(value, OwnObject)
                arguments[name] = value if is_own else self.bound_value(value)
        return arguments

    def _argument(self, node: ast.expr) -> Atom | OwnObject:
        return self.object_of(node) or self.expression(node)

    def _default(self, parameter: inspect.Parameter, node: ast.Call) -> Any:
        """Return the default of a parameter."""
        value = parameter.default
        if value is _DATACLASS_FACTORY:
            return _FACTORY
        if isinstance(value, _DATA) or (
            isinstance(value, tuple) and all(isinstance(x, _DATA) for x in value)
        ):
            return literal(value)
        if runtime.is_static(value):
            return Constant(value, parameter.name)
        self.escape(f"the default of {parameter.name!r}", "pass it", node)

    def set_parameter(self, name: str, variable: str, arguments: dict[str, Any]) -> None:
        instance = arguments.get(name)
        if not isinstance(instance, OwnObject):
            super().set_parameter(name, variable, arguments)
            return
        if any(self.assignments(name)):
            self.escape(f"another value of {name!r}", "give it a name of its own")
        self.objects[variable] = instance

    def _scopes(self) -> Iterator[blocks.Scope]:
        scope: blocks.Scope | None = self.scope
        while scope is not None:
            yield scope
            scope = scope.outer


def _methods(kind: type) -> list[FunctionType]:
    """Return the methods of a class that are written in Python."""
    return [x for base in kind.__mro__ for x in vars(base).values() if isinstance(x, FunctionType)]


def _is_users(filename: str) -> bool:
    """Return whether a file is neither a library's nor this package's."""
    return not find.is_library(filename) and not filename.startswith(frames.PACKAGE_DIRECTORY)


def _is_written_by_user(kind: type) -> bool:
    """Return whether a class is neither a library's nor this package's."""
    if kind.__module__ == "__main__":  # whose file may be that of what runs a notebook
        return True
    return _is_users(getattr(sys.modules.get(kind.__module__), "__file__", None) or "")


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *[keyword.value for keyword in node.keywords]]


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _is_slot(member: object) -> bool:
    return isinstance(member, MemberDescriptorType)


def _is_record(kind: type) -> bool:
    """Return whether a constructor only stores its arguments, as far as can be read."""
    if plain_classes.has_generated_init(kind) or attrs.has(kind):
        return not hasattr(kind, "__post_init__") and not hasattr(kind, "__attrs_post_init__")
    return plain_classes.stored_by(kind) is not None


def _changes(kind: type) -> bool:
    """Return whether a method assigns to attributes of the object after its construction."""
    constructors = ("__init__", "__post_init__")
    return any(True for x in _methods(kind) if x.__name__ not in constructors for _ in _stores(x))


def _stored_in(kind: type, node: ast.AST) -> Iterator[str]:
    """Yield the attributes that methods of a class, or a function, assign to."""
    for fun in _methods(kind):
        yield from _stores(fun)
    yield from _stores_in(node)


def _stores(fun: FunctionType) -> Iterator[str]:
    """Yield the attributes that a function assigns to."""
    with suppress(errors.SourceError):
        yield from _stores_in(find.find_definition(fun.__code__))


def _stores_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
