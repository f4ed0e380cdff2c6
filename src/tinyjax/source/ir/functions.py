"""Names, and functions defined in functions.

Programs have no shared variables. So a nested function that assigns variables of the function
around it (``nonlocal``) is inlined where it is called: its statements then read and assign the
variables of the program around it, as in Python. The same holds for every function that uses such a
variable, or that uses such a function. It must be called by its name, since the variable's value is
not known where the function is handed on.
"""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
import operator
from collections.abc import Callable, Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any, Final, NoReturn

import attrs

from tinyjax import errors
from tinyjax.source.ir import blocks, find, program as ir, runtime, syntax


def lookup(fun: FunctionType, name: str) -> Any:
    """Return a global variable or a built-in, or a mark that there is neither."""
    try:
        return runtime.global_value(fun, name)
    except NameError:
        return runtime.UNDEFINED


@attrs.frozen(eq=False)
class InlinedFunction:
    """A function that is inlined where it is called.

    Attributes:
        node: its definition.
        code: its code.
        renamed: the variables of renamed names where it is defined.
        signature: its signature, whose defaults are the names under which their values are kept.
    """

    node: ast.FunctionDef
    code: CodeType
    renamed: list[dict[str, str]]
    signature: inspect.Signature


class Functions(blocks.BlocksBuilder):
    """Translation of names, and of the functions that a function defines."""

    def __init__(self, fun: FunctionType, node: find.FunctionNode) -> None:
        super().__init__(fun, node)
        self.inlined: dict[str, InlinedFunction] = {}
        self.find_shared(self.code)

    def expression(self, node: ast.expr) -> ir.Atom:
        """Write an expression."""
        raise NotImplementedError

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Write statements."""
        raise NotImplementedError

    def load(self, name: str) -> ir.Atom:
        if self.draft is None:
            return blocks.UNDEFINED
        name = self.name_of(name)
        if name in self.imports:
            return self.imports[name]
        if self.is_local(name):
            if name in self.inlined:  # it is only called
                self.fail_shared(name)
            value = self.read(name, self.draft)
            return self.defined(value, name.partition(".")[0]) if name in self.unsure else value
        fun = self.scope.fun or self.fun
        if name in fun.__code__.co_freevars:
            if fun is not self.fun:
                self.fail(f"{name!r}, which an inlined method closes over,", "pass it in")
            return self.emit(runtime.captured, self.self_variable, ir.literal(name), name=name)
        constant, is_own = lookup(fun, name), fun.__globals__ is self.fun.__globals__
        if constant is not runtime.UNDEFINED and runtime.is_static(constant):
            if is_own:
                self.resolved[name] = constant
            return ir.Constant(constant, name)
        if not is_own:
            self.fail(f"{name!r}, a variable of another module, in a method", "pass it in")
        return self.emit(runtime.global_value, self.self_variable, ir.literal(name), name=name)

    def is_local(self, name: str) -> bool:
        """Return whether what a name stands for here is one of the program's variables."""
        return "." in name or (self.scope.fun is None and name in self.locals)

    def shares(self, node: find.FunctionNode) -> bool:
        """Return whether a nested function uses variables that nested functions assign."""
        return any(self.name_of(name) in self.shared for name in self.code_of(node).co_freevars)

    def defined(self, value: ir.Atom, name: str) -> ir.Variable:
        """Check that a variable has a value."""
        return self.emit_call(ir.Call(blocks.DEFINED, (value, ir.literal(name))), name)

    def group_at(self, statements: Sequence[ast.stmt], start: int) -> list[ast.FunctionDef]:
        """Return the consecutive functions in which an earlier one names a later one."""
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

    def nested(self, group: list[ast.FunctionDef]) -> None:
        """Functions defined one after the other, which may call each other."""
        self.line = group[0].lineno
        for node in group:
            if self.shares(node):
                self.shared_function(node)
        group = [node for node in group if not self.shares(node)]
        if len(group) > 1:
            for node in group:
                self.check_captured(node.name, group[-1])
        functions = self.make_functions(group) if group else blocks.UNDEFINED
        for i, node in enumerate(group):
            value = self.emit(operator.getitem, functions, ir.literal(i), name=node.name)
            for decorator in reversed(node.decorator_list):
                value = self.emit_call(ir.Call(self.expression(decorator), (value,)))
            self.write(self.name_of(node.name), value)

    def make_functions(self, nodes: Sequence[find.FunctionNode]) -> ir.Variable:
        """Write the making of functions that may call each other."""
        codes = tuple([self.code_of(node) for node in nodes])
        for node, code in zip(nodes, codes, strict=True):
            if getattr(node, "decorator_list", ()) and code.co_name in code.co_freevars:
                self.fail(
                    "a decorated function that calls itself, defined in a function,",
                    "define it in the module",
                    node,
                )
        defaults = [self.defaults(node) for node in nodes]
        values: list[ir.Atom] = []
        for free in runtime.free_names(codes):
            for node, code in zip(nodes, codes, strict=True):
                if free in code.co_freevars:
                    self.check_captured(free, node)
            values.append(self.load(free))
        if self.scope.fun is not None and self.scope.fun.__globals__ is not self.fun.__globals__:
            self.fail("a function in a method of another module", "define it in the module")
        constant = ir.Constant(codes, f"<code of {', '.join([code.co_name for code in codes])}>")
        positional = self.tuple_of([values for values, _ in defaults])
        by_keyword = self.tuple_of([values for _, values in defaults])
        shared = (self.self_variable, constant, positional, by_keyword)
        return self.emit(runtime.make_functions, *shared, *values)

    def tuple_of(self, items: Sequence[ir.Atom]) -> ir.Atom:
        """Write a tuple, which is a constant if its items are."""
        constants = [item.value for item in items if isinstance(item, ir.Constant)]
        if len(constants) == len(items):
            return ir.literal(tuple(constants))
        return self.emit(runtime.make_tuple, *items)

    def defaults(self, node: find.FunctionNode) -> tuple[ir.Atom, ir.Atom]:
        """Return a function's defaults: a tuple, and a dict of those by keyword only."""
        positional = [self.expression(d) for d in node.args.defaults]
        by_keyword: list[ir.Atom] = []
        for parameter, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            if default is not None:
                by_keyword += [ir.literal(parameter.arg), self.expression(default)]
        args = self.tuple_of(positional)
        return args, self.emit(runtime.make_dict, *by_keyword) if by_keyword else ir.literal({})

    def function(self, node: ast.Lambda) -> ir.Variable:
        if self.shares(node):  # it cannot assign any, but would see only the first value
            names = self.code_of(node).co_freevars
            self.fail_shared(next(n for n in names if self.name_of(n) in self.shared), node)
        return self.emit(operator.getitem, self.make_functions([node]), ir.literal(0))

    def code_of(self, node: find.FunctionNode) -> CodeType:
        for code in nested_codes(self.scope.code):
            if _same_place(code, node):
                return code
        if any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(node)):
            self.fail("a generator", "return a list", node)
        self.fail("this nested function", "define it in the module", node)

    def check_captured(self, name: str, node: find.FunctionNode) -> None:
        """Refuse closed-over variables that are assigned again.

        Python looks up closed-over variables when a function is called; here their values are taken
        at once. The two differ where the variable is assigned again.
        """
        if self.name_of(name) in self.iterated:
            self.fail(
                f"a function that closes over the variable '{name}' of a comprehension",
                f"bind it as a default: lambda ..., {name}={name}: ...",
                node,
            )
        own = {id(n) for n in ast.walk(node)}
        loops = self.scope.loops
        repeated = {id(n) for n in ast.walk(loops[0].node)} if loops else set()
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
        """Yield the nodes that assign a variable or define a function of this name."""
        for node in ast.walk(self.scope.node):
            match node:
                case ast.Name(id=bound, ctx=ast.Store()) | ast.FunctionDef(name=bound):
                    if bound == name:
                        yield node
                case _:
                    pass

    def assigned_before(self, name: str, node: find.FunctionNode) -> bool:
        """Return whether a variable has a value before a function closes over it."""
        here = node.lineno, node.col_offset
        names = [other for other in self.assignments(name) if isinstance(other, ast.Name)]
        earlier = any((other.lineno, other.col_offset) < here for other in names)
        return earlier or name in find.parameters_of(self.scope.code)

    # Functions that are inlined where they are called

    def find_shared(self, code: CodeType) -> None:
        """Determine a function's own names that must be known where nested functions are called."""
        variables, functions = shared_names(code, lambda name: self.name_of(name) in self.shared)
        self.shared.update(self.name_of(name) for name in variables | functions)

    def fail_shared(self, name: str, node: ast.AST | None = None) -> NoReturn:
        """Refuse a use of a shared variable or function that cannot be inlined."""
        function = self.inlined.get(self.name_of(name))
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
        """Define a function that is inlined where it is called."""
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
        code, args = self.code_of(node), node.args
        fun = FunctionType(code, {}, closure=tuple([CellType() for _ in code.co_freevars]))
        fun.__defaults__ = tuple(map(self.save, args.defaults))
        by_keyword = zip(args.kwonlyargs, args.kw_defaults, strict=True)
        fun.__kwdefaults__ = {a.arg: self.save(default) for a, default in by_keyword if default}
        name = self.name_of(node.name)
        signature = inspect.signature(fun)
        self.inlined[name] = InlinedFunction(node, code, [*self.scope.renamed], signature)
        self.write(name, ir.literal(None))  # it is defined from here on

    def save(self, default: ast.expr) -> str:
        """Keep the value of a default under a name of its own."""
        name = self.hide("default")
        self.write(name, self.expression(default))
        return name

    def call_shared(self, node: ast.Call, name: str) -> ir.Atom:
        """Write out a function that is called."""
        function = self.inlined.get(name)
        if function is None:
            self.fail(f"a call of {name!r} before its definition", "define it first", node)
        if self.scope.is_within(function.node):
            self.fail(
                f"{function.node.name!r}, a function with nonlocal that calls itself,",
                "write a loop, or return what has become of the variable",
                node,
            )
        if self.draft is not None:
            self.defined(self.read(name, self.draft), function.node.name)
        arguments = self.bind(node, function)
        outer, renamed = self.scope, [*function.renamed]
        result = self.inline(
            function.node, function.code, arguments, renamed, fun=outer.fun, line=outer.line
        )
        self.line: int = node.lineno
        return result

    def inline(
        self,
        node: find.FunctionNode,
        code: CodeType,
        arguments: dict[str, Any],
        renamed: list[dict[str, str]],
        *,
        fun: Any,
        line: int | None,
    ) -> ir.Atom:
        """Write out a function, whose parameters are variables of names of their own.

        Args:
            node: its definition.
            code: its code.
            arguments: the values of its parameters.
            renamed: the variables of renamed names where it is defined.
            fun: the function whose global variables are seen, if it is another than the program's.
            line: the line of the call, if the function is in another file than the program's.
        """
        outer, after, result = self.scope, self.new_block(), self.hide("")
        names = {name: self.hide(name) for name in (*code.co_varnames, *code.co_cellvars)}
        self.scope: blocks.Scope = blocks.Scope(
            node, code, after, result, outer, [*renamed, names], fun=fun, line=line
        )
        self.find_shared(code)
        for name, variable in names.items():
            self.set_parameter(name, variable, arguments)
        if isinstance(node, ast.Lambda):
            self.write(result, self.expression(node.body))
        else:
            self.body(node.body)
            self.write(result, ir.literal(None))
        self.jump(after)
        self.scope = outer
        self.enter(after)
        return self.result(result)

    def set_parameter(self, name: str, variable: str, arguments: dict[str, Any]) -> None:
        """Give a variable of a function that is inlined its first value, if it has one."""
        if name not in arguments:
            self.unsure.add(variable)
        self.write(variable, arguments.get(name, blocks.UNDEFINED))

    def bind(self, node: ast.Call, function: InlinedFunction) -> dict[str, ir.Atom]:
        """Return the values of a function's parameters in a call."""
        name = function.node.name
        if syntax.is_spread(node):
            self.fail(
                f"a call of {name!r}, a function with nonlocal, with * or **",
                "write out the arguments",
                node,
            )
        values = [self.expression(arg) for arg in node.args]
        keywords = {str(k.arg): self.expression(k.value) for k in node.keywords}
        try:
            arguments = function.signature.bind(*values, **keywords)
        except TypeError:
            self.fail(
                f"a call of {name!r} with arguments that its parameters do not take",
                "give one for each parameter",
                node,
            )
        arguments.apply_defaults()
        return {name: self.bound_value(value) for name, value in arguments.arguments.items()}

    def bound_value(self, value: Any) -> ir.Atom:
        """Return the value of a parameter: an argument, a default, or several arguments."""
        match value:
            case str():
                return self.result(value)
            case tuple():
                return self.emit(runtime.make_tuple, *value)
            case dict():
                pairs = [(ir.literal(key), atom) for key, atom in value.items()]
                return self.emit(runtime.make_dict, *itertools.chain(*pairs))
            case _:
                atom: ir.Atom = value
                return atom


def _same_place(code: CodeType, node: find.FunctionNode) -> bool:
    try:
        return find.find_function(code) is node
    except errors.SourceError:
        return False


# Which variables of a function its nested functions share with it

#: Code that Python makes for what is no function of the user's.
COMPREHENSIONS: Final = frozenset(("<listcomp>", "<dictcomp>", "<setcomp>", "<genexpr>"))


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yield the functions that a function defines, those in its comprehensions included."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_name in COMPREHENSIONS:
                yield from nested_codes(constant)
            else:
                yield constant


def assigned_outside(code: CodeType) -> set[str]:
    """Return the outer variables that a function, or a function inside it, assigns."""
    steps = [i for i in dis.get_instructions(code) if i.opname in ("STORE_DEREF", "DELETE_DEREF")]
    names = {str(step.argval) for step in steps}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= assigned_outside(constant)
    return names.intersection(code.co_freevars)


def shared_names(code: CodeType, is_shared: Callable[[str], bool]) -> tuple[set[str], set[str]]:
    """Return a function's own names that must be known where its nested functions are called.

    Args:
        code: the function.
        is_shared: whether a variable from outside is such.

    Returns:
        The variables that nested functions assign, and the nested functions that use one.
    """
    nested = list(nested_codes(code))
    variables = {name for inner in nested for name in assigned_outside(inner)}
    variables.intersection_update(code.co_cellvars)
    functions: set[str] = set()
    while more := {
        inner.co_name
        for inner in nested
        if inner.co_name not in (*functions, "<lambda>")
        and any(
            name in variables | functions if name in code.co_cellvars else is_shared(name)
            for name in inner.co_freevars
        )
    }:
        functions |= more
    return variables, functions
