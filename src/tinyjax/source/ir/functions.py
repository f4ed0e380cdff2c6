"""Names, and functions defined in functions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any, NoReturn

from tinyjax import errors
from tinyjax.source.ir import blocks, find, program as ir, runtime, scopes, signature


def lookup(fun: FunctionType, name: str) -> Any:
    """A global variable or a built-in, or that there is none."""
    try:
        return runtime.global_value(fun, name)
    except NameError:
        return runtime.UNDEFINED


class Functions(blocks.BlocksBuilder):
    """Writes what names stand for, and the functions that a function defines."""

    def expression(self, node: ast.expr) -> ir.Atom:
        """Write an expression."""
        raise NotImplementedError

    def load(self, name: str) -> ir.Atom:
        if self.draft is None:
            return blocks.UNDEFINED
        name = self.name_of(name)
        if name in self.locals or "." in name:
            self.check_shared(name)
            value = self.read(name, self.draft)
            if name not in self.unsure:
                return value
            plain = name.partition(".")[0]
            return self.emit_call(ir.Call(blocks.DEFINED, (value, self.literal(plain))), plain)
        if name in self.code.co_freevars:
            return self.emit(runtime.captured, self.self_variable, self.literal(name), name=name)
        constant = lookup(self.fun, name)
        if constant is not runtime.UNDEFINED and runtime.is_static(constant):
            self.resolved[name] = constant
            return ir.Constant(constant, name)
        return self.emit(runtime.global_value, self.self_variable, self.literal(name), name=name)

    def check_shared(self, name: str) -> None:
        """See that a function that is to be written out where it is called is only called."""
        raise NotImplementedError

    def shares(self, node: find.FunctionNode) -> bool:
        """Whether a nested function assigns variables outside, or uses one that such a one does."""
        return any(self.name_of(name) in self.shared for name in self.code_of(node).co_freevars)

    def shared_function(self, node: ast.FunctionDef) -> None:
        """Define a function that is written out where it is called."""
        raise NotImplementedError

    def nested(self, node: ast.FunctionDef) -> None:
        if self.shares(node):
            self.shared_function(node)
            return
        value: ir.Atom = self.function(node, node.name)
        for decorator in reversed(node.decorator_list):
            value = self.emit_call(ir.Call(self.expression(decorator), (value,)))
        self.write(self.name_of(node.name), value)

    def group_at(self, statements: Sequence[ast.stmt], start: int) -> list[ast.FunctionDef]:
        """The functions defined one after the other of which an earlier one names a later one."""
        run: list[ast.FunctionDef] = []
        for statement in statements[start:]:
            if not isinstance(statement, ast.FunctionDef) or statement.decorator_list:
                break
            run.append(statement)
        names = [node.name for node in run]
        if len(set(names)) < len(names):
            return []
        end = 0
        for i, node in enumerate(run):
            if i <= end:
                free = self.code_of(node).co_freevars
                end = max([end, *[names.index(name) for name in names if name in free]])
        return run[: end + 1]

    def nested_group(self, group: list[ast.FunctionDef]) -> None:
        """Functions that call each other."""
        for node in group:
            if self.shares(node):
                self.shared_function(node)
        group = [node for node in group if not self.shares(node)]
        if len(group) < 2:
            for node in group:
                self.nested(node)
            return
        for node in group:
            self.check_captured(node.name, group[-1])
        group_value = self.make_functions(group)
        for i, node in enumerate(group):
            item = self.emit(operator.getitem, group_value, self.literal(i), name=node.name)
            self.write(self.name_of(node.name), item)

    def make_functions(self, nodes: Sequence[find.FunctionNode]) -> ir.Variable:
        """Write the making of functions that may call each other."""
        codes = tuple([self.code_of(node) for node in nodes])
        defaults = [self.defaults(node) for node in nodes]
        values: list[ir.Atom] = []
        for free in runtime.free_names(codes):
            for node, code in zip(nodes, codes, strict=True):
                if free in code.co_freevars:
                    self.check_captured(free, node)
            values.append(self.load(free))
        return self.emit(
            runtime.make_functions,
            self.self_variable,
            ir.Constant(codes, f"<code of {', '.join([code.co_name for code in codes])}>"),
            self.tuple_of([positional for positional, _ in defaults]),
            self.tuple_of([by_keyword for _, by_keyword in defaults]),
            *values,
        )

    def tuple_of(self, items: Sequence[ir.Atom]) -> ir.Atom:
        """Write a tuple, which is a constant if its items are."""
        known = [item.value for item in items if isinstance(item, ir.Constant)]
        if len(known) == len(items):
            return self.literal(tuple(known))
        return self.emit(runtime.make_tuple, *items)

    def defaults(self, node: find.FunctionNode) -> tuple[ir.Atom, ir.Atom]:
        """A function's defaults: a tuple, and a dict of those by keyword only."""
        positional = [self.expression(d) for d in node.args.defaults]
        by_keyword: list[ir.Atom] = []
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                by_keyword += [self.literal(parameter.arg), self.expression(default)]
        return (
            self.tuple_of(positional),
            self.emit(runtime.make_dict, *by_keyword) if by_keyword else self.literal({}),
        )

    def function(self, node: find.FunctionNode, name: str) -> ir.Variable:
        code = self.code_of(node)
        if self.shares(node):  # a lambda: it cannot assign any, but would see only the first value
            self.fail_shared(
                next(n for n in code.co_freevars if self.name_of(n) in self.shared), node
            )
        if isinstance(node, ast.FunctionDef) and node.decorator_list and name in code.co_freevars:
            self.fail(
                "a decorated function that calls itself, defined in a function,",
                "define it in the module",
                node,
            )
        return self.emit(operator.getitem, self.make_functions([node]), self.literal(0))

    def code_of(self, node: find.FunctionNode) -> CodeType:
        def search(code: CodeType) -> CodeType | None:
            for constant in code.co_consts:
                if isinstance(constant, CodeType):
                    if _same_place(constant, node):
                        return constant
                    if constant.co_name in scopes.COMPREHENSIONS:
                        inner = search(constant)
                        if inner is not None:
                            return inner
            return None

        nested = search(self.scope.code)
        if nested is None:
            if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
                self.fail("a generator", "return a list", node)
            self.fail("this nested function", "define it in the module", node)
        return nested

    def check_captured(self, name: str, node: find.FunctionNode) -> None:
        """Python looks up what a function closes over when it is called; here it is taken at once.

        The two differ where the variable is assigned again, and that is refused.
        """
        if self.name_of(name) in self.iterated:
            self.fail(
                f"a function that closes over the variable '{name}' of a comprehension",
                f"bind it as a default: lambda ..., {name}={name}: ...",
                node,
            )
        own = {id(n) for n in ast.walk(node)}
        repeated = {id(n) for n in ast.walk(self.loop_nodes[0])} if self.loop_nodes else set()
        for other in self.assignments(name):
            later = (other.lineno, other.col_offset) > (node.lineno, node.col_offset)
            if id(other) not in own and (later or id(other) in repeated):
                when = "again" if self.assigned_before(name, node) else "only later"
                self.fail(
                    f"a function that closes over '{name}', which line {other.lineno} assigns "
                    f"{when},",
                    f"pass it as an argument or bind it as a default ({name}={name})",
                    node,
                )

    def assignments(self, name: str) -> Iterator[ast.Name | ast.FunctionDef]:
        """Where the function assigns a variable, or defines a function of this name."""
        for node in ast.walk(self.scope.node):
            match node:
                case ast.Name(id=bound, ctx=ast.Store()) | ast.FunctionDef(name=bound):
                    if bound == name:
                        yield node
                case _:
                    pass

    def fail_shared(self, name: str, node: ast.AST | None = None) -> NoReturn:
        """Refuse a use of a shared variable or function that cannot be written out."""
        raise NotImplementedError

    def assigned_before(self, name: str, node: find.FunctionNode) -> bool:
        """Whether a variable has a value before a function is defined that closes over it."""
        return name in signature.parameters_of(self.scope.code) or any(
            isinstance(other, ast.Name)
            and (other.lineno, other.col_offset) < (node.lineno, node.col_offset)
            for other in self.assignments(name)
        )


def _same_place(code: CodeType, node: find.FunctionNode) -> bool:
    try:
        return find.find_function(code) is node
    except errors.SourceError:
        return False
