"""From Python to static single assignment form.

One walk over the syntax tree of a function writes the blocks of its program. Statements are here,
other nodes in ``expressions`` and ``functions``. Variables are resolved on the way (``blocks``).
"""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, Final

import attrs

from tinyjax import errors
from tinyjax.source.ir import (
    assembly,
    find,
    functions,
    objects,
    program as ir,
    rebinding,
    runtime,
    syntax,
)
from tinyjax.source.ir.blocks import UNDEFINED, LoopTargets, OpenBlock


def ir_of(fun: Callable[..., Any]) -> ir.IR:
    """Bring a Python function into static single assignment form.

    Args:
        fun: a function, a lambda or a method, whose source can be read.

    Returns:
        Its program; ``print`` shows the listing. The first parameter is the function itself.

    Raises:
        SourceError: the function uses an unsupported construct; the message names it, the line, and
            what to write instead.
        ArgumentError: ``fun`` is no Python function.

    Example:
        >>> import math
        >>> from tinyjax import source
        >>> def wave(x):
        ...     if x > 1:
        ...         return math.sin(x)
        ...     return 2 * x
        >>> source.ir_of(wave)
        1: (%1, %2)
          %3 = %2 > 1
          br 3 unless %3
        2:
          %4 = (math.sin)(%2)
          return %4
        3:
          %5 = 2 * %2
          return %5
    """
    if isinstance(fun, MethodType):
        fun = fun.__func__
    if not isinstance(fun, FunctionType):
        raise errors.ArgumentError(
            f"ir_of takes a Python function, but got {errors.type_name(fun)}. Functions written in "
            "C have no source."
        )
    return attrs.evolve(program_of(fun), function=fun)


def program_of(fun: FunctionType) -> ir.IR:
    """Return the program of a function, without the function, which may close over arrays."""
    program = known_program(fun)
    if program is None:
        node = rebinding.with_rebinding(find.find_function(fun.__code__), fun.__globals__)
        builder = Builder(fun, node, takes_objects=True)
        try:
            program = builder.build()
        except objects.EscapeError as reason:
            kinds = {instance.kind for instance in builder.objects.values()}
            objects.REASONS.update(dict.fromkeys(kinds, reason.error.message))
            builder = Builder(fun, node)
            try:
                program = builder.build()
            except errors.SourceError:
                raise reason.error from None
        _programs[fun.__code__] = program, tuple(builder.resolved.items()), builder.members
    return program


#: Programs by code object, with the functions and modules that their globals were when read, and
#: what classes had.
_programs: dict[CodeType, tuple[ir.IR, tuple[tuple[str, Any], ...], dict[Any, Any]]] = {}


_UNKNOWN: Final = (None, (), None)


def known_program(fun: FunctionType) -> ir.IR | None:
    """Return the program, if it was read; None if a global function or module is another since."""
    scope, (program, resolved, members) = fun.__globals__, _programs.get(fun.__code__, _UNKNOWN)
    for name, value in resolved:
        if scope.get(name, value) is not value or (
            name not in scope and functions.lookup(fun, name) is not value
        ):
            return None
    return program if not members or objects.has_members(members) else None


class Builder(objects.Objects):
    """Writes the program of one function."""

    def build(self) -> ir.IR:
        first = self.new_block(sealed=True)
        self.self_variable: ir.Variable = self.block_argument(first, None)
        for name in find.parameters_of(self.code):
            first.values[name] = self.block_argument(first, name)
        self.draft = first
        if isinstance(self.node, ast.Lambda):
            self.leave(ir.returning(self.expression(self.node.body)))
        else:
            self.body(self.node.body)
            self.leave(ir.returning(ir.NONE))
        program = assembly.assembled(self.code.co_name, self.finished(), self.code.co_filename)
        if not self.code.co_flags & inspect.CO_VARARGS:
            return program
        before = self.code.co_argcount + self.code.co_kwonlyargcount
        return attrs.evolve(program, variadic=1 + before)  # the function is the first

    def body(self, statements: Sequence[ast.stmt]) -> None:
        i = 0
        while i < len(statements) and self.draft is not None:
            group = self.group_at(statements, i)
            if group:
                self.nested(group)
            else:
                self.statement(statements[i])
            i += len(group) or 1

    def statement(self, node: ast.stmt) -> None:
        self.line: int = node.lineno
        match node:
            case ast.Expr():
                self.expression_statement(node)
            case ast.Return():
                value = self.expression(node.value) if node.value else ir.NONE
                self.return_(value)
            case ast.Assign():
                self.assignment(node)
            case ast.AnnAssign():
                if node.value is not None:
                    self.assignment(ast.copy_location(ast.Assign([node.target], node.value), node))
            case ast.AugAssign():
                self.augmented(node)
            case ast.If():
                self.choose(node.test, lambda: self.body(node.body), lambda: self.body(node.orelse))
            case ast.While():
                self.while_loop(node)
            case ast.For():
                self.for_loop(node)
            case ast.Break() | ast.Continue():
                loop = self.scope.loops[-1]
                self.clean_up(loop.cleanups)
                self.jump(loop.out if isinstance(node, ast.Break) else loop.again)
            case ast.Assert():
                self.assertion(node)
            case ast.Raise():
                self.throw(node)
            case ast.With():
                self.managed(node.items, node)
            case ast.Try():
                self.guarded(node)
            case ast.FunctionDef():
                self.nested([node])
            case ast.Import() | ast.ImportFrom():
                self.imported(node)
            case ast.Nonlocal(names=names) if all(self.is_local(self.name_of(x)) for x in names):
                pass
            case ast.Pass():
                pass
            case _:
                self.refuse(node, type(node).__name__.lower())

    def return_(self, value: ir.Atom) -> None:
        """Emit the end of the function, or of an inlined one."""
        if self.scope.after is not None:
            self.write(self.scope.result, value)
        self.clean_up(0)
        if self.scope.after is None:
            self.leave(ir.returning(value))
        else:
            self.jump(self.scope.after)

    def imported(self, node: ast.Import | ast.ImportFrom) -> None:
        """Execute an import of a function, once when it is read."""
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if isinstance(node, ast.Import):
                value: Any = importlib.import_module(alias.name)
                if alias.asname is None:
                    value = sys.modules[name]
            else:
                package = (self.scope.fun or self.fun).__globals__.get("__package__")
                module = importlib.import_module("." * node.level + (node.module or ""), package)
                value = getattr(module, alias.name)
            if not runtime.is_static(value):
                self.refuse(node, "")
            constant = ir.Constant(value, name)
            self.write(name, constant)
            stores = [x for x in dis.get_instructions(self.code) if x.opname.startswith("STORE")]
            if self.scope.fun is None and [x.argval for x in stores].count(name) == 1:
                self.imports[name] = constant

    def assignment(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign() if self.binds_object(node):
                pass
            case ast.Assign(
                targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)],
                value=ast.Tuple(elts=values),
            ) if _fit(targets, values):
                parts = [self.expression(part) for part in values]
                for target, part in zip(targets, parts, strict=True):
                    self.assign(target, part)
            case ast.Assign(
                targets=[ast.Tuple() | ast.List() as target], value=ast.Call() as call
            ) if self.makes_iterator(call):
                self.assign(target, self.iterable(call))
            case _:
                value = self.expression(node.value)
                for target in node.targets:
                    self.assign(target, value)

    def expression_statement(self, node: ast.Expr) -> None:
        match node.value:
            case ast.Constant():  # a docstring
                pass
            case ast.Call(
                func=ast.Attribute(
                    value=ast.Attribute(value=holder, attr=name), attr="append" | "extend"
                ),
                args=[_],
                keywords=[],
            ) if owner := self.object_of(holder):
                self.grow(owner, name, node.value)
            case ast.Call(func=ast.Attribute(value=owner)) if self.names_object(owner):
                self.expression(node.value)
            case ast.Call(func=ast.Attribute(value=array, attr="fill"), args=[value]):
                target, number = self.expression(array), self.expression(value)
                number = self.emit(runtime.fitting, number, target, ir.literal(0.0))
                self.emit(runtime.exchange, target, ir.literal(...), number)
            case ast.Call(func=ast.Attribute(attr=name)) if name in syntax.MUTATORS:
                self.fail(
                    f".{name}(), which changes an object in place,",
                    f"write {syntax.MUTATORS[name]}",
                    node,
                )
            case _:
                self.expression(node.value)

    def augmented(self, node: ast.AugAssign) -> None:
        operation = syntax.BINARY[type(node.op)]
        constant = ir.Constant(operation, f"operator.{operation.__name__}")
        match node.target:
            case ast.Name() | ast.Attribute() as target if self.is_variable(target):
                before, by = self.expression(target), self.expression(node.value)
                self.assign(target, self.emit(runtime.updated, constant, before, by))
            case ast.Subscript(value=container, slice=place):
                array, index = self.expression(container), self.expression(place)
                before = self.emit(operator.getitem, array, index)
                result = self.emit(operation, before, self.expression(node.value))
                fitting = self.emit(runtime.fitting, result, array, before)
                self.emit(runtime.exchange, array, index, fitting)
            case ast.Attribute(attr=name) if name in syntax.VIEWS:
                view = self.expression(node.target)
                self.emit(runtime.augmented, constant, view, self.expression(node.value))
            case _:
                self.assign(node.target, UNDEFINED)

    # Loops

    def while_loop(self, node: ast.While) -> None:
        head, inside, outside, out = (self.new_block() for _ in range(4))
        self.jump(head)
        self.draft: OpenBlock | None = head
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.jump(inside)
        else:
            self.branch(node.test, inside, outside)
        self.enter(inside)
        self.repeated(node, head, out)
        self.jump(head)
        self.seal(head)
        self.after_loop(node, outside, out)

    def for_loop(self, node: ast.For) -> None:
        outs: list[OpenBlock] = []

        def body(step: OpenBlock) -> None:
            outs.append(self.new_block())
            self.repeated(node, step, outs[0])

        outside = self.for_each(self.iterable(node.iter), node.target, body)
        self.after_loop(node, outside, outs[0])

    def repeated(self, node: ast.While | ast.For, again: OpenBlock, out: OpenBlock) -> None:
        """Write a loop's body, from which ``continue`` and ``break`` lead to two blocks."""
        loops = self.scope.loops
        loops.append(LoopTargets(node, again, out, len(self.scope.cleanups)))
        self.body(node.body)
        loops.pop()

    def after_loop(self, node: ast.While | ast.For, outside: OpenBlock, out: OpenBlock) -> None:
        """Write a loop's ``else`` clause, and go on behind it."""
        self.enter(outside)
        self.body(node.orelse)
        self.jump(out)
        self.enter(out)

    # Errors and clean-ups

    def assertion(self, node: ast.Assert) -> None:
        def fail() -> None:
            args = () if node.msg is None else (self.expression(node.msg),)
            self.raise_(self.emit(AssertionError, *args))

        self.choose(node.test, lambda: None, fail)

    def throw(self, node: ast.Raise) -> None:
        if node.exc is None:
            self.fail("raise without an exception", "name the exception", node)
        error = self.expression(node.exc)
        self.raise_(error, self.expression(node.cause) if node.cause else None)

    def raise_(self, error: ir.Atom, cause: ir.Atom | None = None) -> None:
        self.emit(runtime.thrown, error, cause or ir.literal(None))
        self.leave(ir.returning(ir.NONE))

    def clean_up(self, outside: int) -> None:
        """Write the clean-up of a jump out of ``with`` and ``try`` statements."""
        pending = self.scope.cleanups
        for i in range(len(pending) - 1, outside - 1, -1):
            self.scope.cleanups = pending[:i]
            pending[i]()
        self.scope.cleanups = pending

    def managed(self, items: Sequence[ast.withitem], node: ast.With) -> None:
        if not items:
            self.body(node.body)
            return
        manager = self.expression(items[0].context_expr)
        value = self.emit(runtime.enter, manager)
        if items[0].optional_vars is not None:
            self.assign(items[0].optional_vars, value)
        self.with_cleanup(
            lambda: self.managed(items[1:], node), lambda: self.emit(runtime.leave, manager)
        )

    def guarded(self, node: ast.Try) -> None:
        if node.handlers:
            self.fail("try with except", "test for the case with if", node)
        self.with_cleanup(lambda: self.body(node.body), lambda: self.body(node.finalbody))

    def with_cleanup(self, body: Callable[[], None], cleanup: Callable[[], object]) -> None:
        self.scope.cleanups = [*self.scope.cleanups, cleanup]
        body()
        self.scope.cleanups = self.scope.cleanups[:-1]
        if self.draft is not None:
            cleanup()


def _fit(targets: Sequence[ast.expr], values: Sequence[ast.expr]) -> bool:
    """Return whether a tuple is assigned item by item."""
    starred = any(isinstance(part, ast.Starred) for part in (*targets, *values))
    return len(targets) == len(values) and not starred
