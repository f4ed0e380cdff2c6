"""Nested functions that assign variables of the function around them (``nonlocal``).

Programs have no variables that are shared, so such a function is written out where it is called:
its statements then read and assign the variables of the program around it, as in Python. That holds
for every function that uses such a variable, or a function that does. It must be called by its
name: what would become of the variable is not known where the function is handed on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType
from typing import NoReturn

import attrs

from tinyjax.source.ir import find, runtime, signature
from tinyjax.source.ir.blocks import DEFINED, UNDEFINED, OpenBlock, Scope
from tinyjax.source.ir.expressions import Expressions
from tinyjax.source.ir.program import Atom, Call
from tinyjax.source.ir.scopes import shared_names


@attrs.frozen(eq=False)
class WrittenOut:
    """A function that is written out where it is called.

    Attributes:
        node: its definition.
        code: its code.
        renamed: what names stand for where it is defined.
        defaults: the names under which the values of its defaults are kept, by parameter.
    """

    node: ast.FunctionDef
    code: CodeType
    renamed: list[dict[str, str]]
    defaults: dict[str, str]


@attrs.frozen(eq=False)
class LoopTargets:
    """Where ``continue`` and ``break`` lead, and how many clean-ups there were outside."""

    again: OpenBlock
    out: OpenBlock
    cleanups: int


class Inlining(Expressions):
    """Writes out nested functions."""

    def __init__(self, fun: FunctionType, node: find.FunctionNode) -> None:
        super().__init__(fun, node)
        self.written_out: dict[str, WrittenOut] = {}
        self.loops: list[LoopTargets] = []
        self.cleanups: list[Callable[[], None]] = []
        self.find_shared(self.code)

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Write statements."""
        raise NotImplementedError

    def find_shared(self, code: CodeType) -> None:
        """Find out what of a function's own must be known where its nested functions are called."""
        variables, functions = shared_names(code, lambda name: self.name_of(name) in self.shared)
        self.shared.update(self.name_of(name) for name in variables | functions)

    def check_shared(self, name: str) -> None:
        if name in self.written_out:
            self.fail_shared(name)

    def fail_shared(self, name: str, node: ast.AST | None = None) -> NoReturn:
        function = self.written_out.get(self.name_of(name))
        self.fail(
            f"{name.partition('.')[0]!r}, a function that uses variables assigned by nested "
            "functions (nonlocal), as a value"
            if function
            else f"a lambda that closes over {name!r}, which a nested function assigns (nonlocal),",
            "only call it, by its name, where it is defined; or return what has become of the "
            "variable"
            if function
            else "define it with def, and only call it",
            node,
        )

    def shared_function(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.fail(
                f"a decorated function ({node.name}) with nonlocal", "leave out the decorator", node
            )
        if any(other is not node for other in self.assignments(node.name)):
            self.fail(
                f"{node.name!r}, a function with nonlocal whose name is assigned again,",
                "give each a name of its own",
                node,
            )
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        expressions = dict(
            zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)
        )
        expressions |= {a: d for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d}
        defaults = {}
        for parameter, default in expressions.items():
            defaults[parameter.arg] = self.hide(parameter.arg)
            self.write(defaults[parameter.arg], self.expression(default))
        name = self.name_of(node.name)
        self.written_out[name] = WrittenOut(node, self.code_of(node), [*self.renamed], defaults)
        self.write(name, self.literal(None))  # it is defined from here on

    def call_shared(self, node: ast.Call, name: str) -> Atom:
        function = self.written_out.get(name)
        if function is None:
            self.fail(f"a call of {name!r} before its definition", "define it first", node)
        if self.scope.is_within(function.node):
            self.fail(
                f"{function.node.name!r}, a function with nonlocal that calls itself,",
                "write a loop, or return what has become of the variable",
                node,
            )
        if self.draft is not None:
            plain = self.literal(function.node.name)
            self.emit_call(Call(DEFINED, (self.read(name, self.draft), plain)), function.node.name)
        arguments = self.bind(node, function)
        before = self.scope, self.renamed, self.loops, self.cleanups, self.loop_nodes
        scope = Scope(function.node, function.code, self.new_block(), self.hide(""), self.scope)
        assert scope.after is not None, "it was just made"
        self.scope: Scope = scope
        self.loops, self.cleanups = [], []
        self.loop_nodes: list[ast.AST] = []
        names = {
            name: self.hide(name)
            for name in (*function.code.co_varnames, *function.code.co_cellvars)
        }
        self.renamed: list[dict[str, str]] = [*function.renamed, names]
        self.find_shared(function.code)
        for plain_name, hidden in names.items():
            if plain_name not in arguments:
                self.unsure.add(hidden)
            self.write(hidden, arguments.get(plain_name, UNDEFINED))
        self.body(function.node.body)
        self.write(scope.result, self.literal(None))
        self.jump(scope.after)
        self.scope, self.renamed, self.loops, self.cleanups, self.loop_nodes = before
        self.enter(scope.after)
        self.line: int = node.lineno
        return self.result(scope.result)

    def bind(self, node: ast.Call, function: WrittenOut) -> dict[str, Atom]:
        """The values of a function's parameters in a call."""
        name, args, code = function.node.name, function.node.args, function.code
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(
            keyword.arg is None for keyword in node.keywords
        ):
            self.fail(
                f"a call of {name!r}, a function with nonlocal, with * or **",
                "write out the arguments",
                node,
            )
        values: list[Atom] = [self.expression(arg) for arg in node.args]
        keywords = {str(k.arg): self.expression(k.value) for k in node.keywords}
        declared = signature.parameters_of(code)[: code.co_argcount + code.co_kwonlyargcount]
        arguments = dict(zip(declared[: code.co_argcount], values, strict=False))
        rest = values[code.co_argcount :]
        extra: dict[str, Atom] = {}
        for key, value in keywords.items():
            own = key in declared[code.co_posonlyargcount :]
            (arguments if own and key not in arguments else extra)[key] = value
        missing = [n for n in declared if n not in arguments and n not in function.defaults]
        if missing or (rest and not args.vararg) or (extra and not args.kwarg):
            self.fail(
                f"a call of {name!r} with arguments that its parameters do not take",
                "give one for each parameter",
                node,
            )
        for parameter, hidden in function.defaults.items():
            if parameter not in arguments:
                arguments[parameter] = self.result(hidden)
        if args.vararg:
            arguments[args.vararg.arg] = self.emit(runtime.make_tuple, *rest)
        if args.kwarg:
            items = [atom for key, value in extra.items() for atom in (self.literal(key), value)]
            arguments[args.kwarg.arg] = self.emit(runtime.make_dict, *items)
        return arguments
