"""Expressions, and the targets that they are assigned to."""

from __future__ import annotations

import ast
import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tinyjax.source.ir import blocks, functions, program as ir, runtime, syntax


class Expressions(functions.Functions):
    """Writes expressions."""

    def expression(self, node: ast.expr) -> ir.Atom:
        self.line = node.lineno
        match node:
            case ast.Constant():
                return ir.literal(node.value)
            case ast.Name():
                return self.load(node.id)
            case ast.BinOp():
                left, right = self.expression(node.left), self.expression(node.right)
                return self.emit(syntax.BINARY[type(node.op)], left, right)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                return ir.literal(-number)
            case ast.UnaryOp():
                return self.emit(syntax.UNARY[type(node.op)], self.expression(node.operand))
            case ast.Compare(ops=[_]):
                return next(self.compared(node))
            case ast.Compare():
                return self.short_circuit(self.compared(node), len(node.ops), until=False)
            case ast.BoolOp():
                values = (self.expression(value) for value in node.values)
                return self.short_circuit(values, len(node.values), isinstance(node.op, ast.Or))
            case ast.IfExp():
                name = self.hide("")
                self.choose(
                    node.test,
                    lambda: self.write(name, self.expression(node.body)),
                    lambda: self.write(name, self.expression(node.orelse)),
                )
                return self.result(name)
            case ast.Call():
                if self.makes_iterator(node) and not self.generated:
                    self.fail("an iterator that is kept", "make it a list: list(...)", node)
                return self.call(node)
            case ast.Attribute():
                return self.attribute(node)
            case ast.Subscript():
                value, index = self.expression(node.value), self.expression(node.slice)
                if isinstance(value, ir.Constant) and runtime.is_in(value.value, runtime.JOINING):
                    return self.emit(runtime.JOINING[value.value], index)
                return self.emit(operator.getitem, value, index)
            case ast.Lambda():
                return self.function(node)
            case ast.NamedExpr():
                value = self.expression(node.value)
                self.write(self.name_of(node.target.id), value)
                return value
            case _:
                return self.display(node)

    def display(self, node: ast.expr) -> ir.Atom:
        """Return an expression that makes a container or a text of others."""
        match node:
            case ast.Slice():
                parts = (node.lower, node.upper, node.step)
                bounds = [self.expression(part) if part else ir.literal(None) for part in parts]
                return self.emit(slice, *bounds)
            case ast.Tuple():
                return self.sequence(node.elts)
            case ast.List():
                if any(isinstance(e, ast.Starred) for e in node.elts):
                    return self.emit(list, self.sequence(node.elts))
                return self.emit(runtime.make_list, *[self.expression(e) for e in node.elts])
            case ast.Dict():
                return self.dict(node)
            case ast.ListComp():
                return self.comprehension(node.elt, node.generators)
            case ast.DictComp():
                pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
                return self.emit(dict, self.comprehension(pair, node.generators))
            case ast.Set():
                return self.emit(set, self.sequence(node.elts))
            case ast.SetComp():
                return self.emit(set, self.comprehension(node.elt, node.generators))
            case ast.JoinedStr():
                return self.emit(runtime.text, *[self.expression(part) for part in node.values])
            case ast.FormattedValue():
                value = self.expression(node.value)
                spec = self.expression(node.format_spec) if node.format_spec else ir.literal("")
                return self.emit(runtime.formatted, value, ir.literal(node.conversion), spec)
            case _:
                self.refuse(node, type(node).__name__)

    def short_circuit(self, values: Iterator[ir.Atom], count: int, until: bool) -> ir.Atom:
        """Write so many values one by one, until one is as given; give the last."""
        name = self.hide("")
        after = self.new_block()
        for i, value in enumerate(values, 1):
            self.write(name, value)
            if i < count:
                rest = self.new_block()
                self.split(value, after if until else rest, rest if until else after)
                self.draft = self.seal(rest)
        self.jump(after)
        self.draft = self.seal(after)
        return self.result(name)

    def compared(self, node: ast.Compare) -> Iterator[ir.Atom]:
        """Write the comparisons of a chain one by one."""
        left = self.expression(node.left)
        for op, right in zip(node.ops, node.comparators, strict=True):
            value = self.expression(right)
            yield self.emit(syntax.COMPARISONS[type(op)], left, value)
            left = value

    def attribute(self, node: ast.Attribute) -> ir.Atom:
        value = self.expression(node.value)
        if isinstance(value, ir.Constant) and value.value is np.add and node.attr == "at":
            return ir.function(runtime.accumulate_at)
        if isinstance(value, ir.Constant) and isinstance(value.value, ModuleType):
            attribute = getattr(value.value, node.attr, runtime.UNDEFINED)
            if attribute is runtime.UNDEFINED or runtime.is_static(attribute):
                return ir.Constant(getattr(value.value, node.attr), f"{value.text}.{node.attr}")
        return self.emit(getattr, value, ir.literal(node.attr))

    def sequence(self, nodes: Sequence[ast.expr]) -> ir.Variable:
        """Return a tuple of expressions, some of them starred."""
        if not any(isinstance(node, ast.Starred) for node in nodes):
            return self.emit(runtime.make_tuple, *[self.expression(node) for node in nodes])
        parts: list[ir.Atom] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                parts.append(self.iterable(node.value))
            else:
                parts.append(self.emit(runtime.make_tuple, self.expression(node)))
        return self.emit(runtime.joined, *parts)

    def dict(self, node: ast.Dict) -> ir.Variable:
        parts: list[ir.Atom] = []
        items: list[ir.Atom] = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None:
                items += [self.expression(key), self.expression(value)]
                continue
            if items:
                parts.append(self.emit(runtime.make_dict, *items))
            parts.append(self.expression(value))
            items = []
        if items or not parts:
            parts.append(self.emit(runtime.make_dict, *items))
        if len(parts) == 1 and None not in node.keys and isinstance(parts[0], ir.Variable):
            return parts[0]
        return self.emit(runtime.merged, *parts)

    # Calls

    def call(self, node: ast.Call) -> ir.Atom:
        if isinstance(node.func, ast.Name) and self.name_of(node.func.id) in self.shared:
            return self.call_shared(node, self.name_of(node.func.id))
        function = self.expression(node.func)
        name = function.text.split(".")[-1] if isinstance(function, ir.Constant) else ""
        value = ir.value_of(function)
        if isinstance(function, ir.Constant) and runtime.is_in(value, runtime.WRITERS):
            return self.write_call(function, node)
        if runtime.is_in(value, syntax.REFUSED):
            self.fail(f"{name}()", syntax.REFUSED[value], node)
        if (option := overwriting(value, node)) is not None:
            self.fail(
                f"{option}= of {name}(), by which it may change an argument,",
                f"leave {option}= out",
                node,
            )
        if runtime.is_in(value, syntax.IN_PLACE) and len(node.args) == 2:
            applied = syntax.IN_PLACE[value]
            constant = ir.Constant(applied, f"operator.{applied.__name__}")
            return self.emit(runtime.augmented, constant, *map(self.expression, node.args))
        is_ufunc = isinstance(value, np.ufunc)
        if is_ufunc and any(keyword.arg == "where" for keyword in node.keywords):
            self.fail(f"where= of {name}()", "write np.where(mask, result, otherwise)", node)
        if (written := with_out(value, node)) is not None:
            call, out = written
            result = self.call(call)
            array = self.expression(out)
            fitting = self.emit(runtime.fitting, result, array, ir.literal(None))
            self.emit(runtime.exchange, array, ir.literal(...), fitting)
            return array
        if may_write(function, node):
            self.fail(f"out of {name or 'such a call'}", "assign the result: y[:] = ...", node)
        first = node.args[0] if len(node.args) == 1 else None
        if isinstance(first, ast.GeneratorExp) and name in syntax.CONSUMERS:
            args: list[ir.Atom] = [self.comprehension(first.elt, first.generators)]
        elif syntax.is_spread(node):
            return self.spread(function, node)
        else:
            args = [self.argument(arg, function) for arg in node.args]
        keywords = tuple([(k.arg or "", self.expression(k.value)) for k in node.keywords])
        self.line = node.lineno
        return self.emit_call(ir.Call(function, tuple(args), keywords))

    def write_call(self, function: ir.Constant, node: ast.Call) -> ir.Atom:
        """Write a call of a function that writes its second argument to the first."""
        if len(node.args) != 2 or node.keywords:
            self.fail(f"{function.text}() with other arguments", "assign to items", node)
        array, value = map(self.expression, node.args)
        index = self.emit(runtime.WRITERS[function.value], array)
        if function.value is np.copyto:
            value = self.emit(runtime.fitting, value, array, value)
        self.emit(runtime.exchange, array, index, value)
        return ir.literal(None)

    def argument(self, node: ast.expr, function: ir.Atom) -> ir.Atom:
        """Return an argument; of a built-in function that goes through an iterator, the items."""
        is_builtin = isinstance(function, ir.Constant) and not isinstance(
            function.value, FunctionType
        )
        if isinstance(node, ast.Call) and is_builtin and self.makes_iterator(node):
            return self.emit(runtime.items_of, self.call(node))
        return self.expression(node)

    def makes_iterator(self, node: ast.Call) -> bool:
        """Return whether a node calls zip() or its like, whose result is exhausted once."""
        function = self.global_value(node.func)
        return any(function is kind for kind in syntax.ITERATORS)

    def global_value(self, node: ast.expr) -> Any:
        """Return the global function or module that an expression names, before translation."""
        match node:
            case ast.Name(id=name) if name in self.imports:
                return self.imports[name].value
            case ast.Name(id=name) if self.name_of(name) == name and not self.is_local(name):
                fun = self.scope.fun or self.fun
                is_captured = name in fun.__code__.co_freevars
                static = None if is_captured else functions.lookup(fun, name)
                return static if runtime.is_static(static) else None
            case ast.Attribute(value=ast.Name() as value, attr=attribute):
                module = self.global_value(value)
                return getattr(module, attribute, None) if isinstance(module, ModuleType) else None
            case _:
                return None

    def spread(self, function: ir.Atom, node: ast.Call) -> ir.Variable:
        """Return a call with ``*args`` or ``**kwargs``."""
        args = self.sequence(node.args)
        keys: list[ast.expr | None] = [
            None if k.arg is None else ast.copy_location(ast.Constant(k.arg), k)
            for k in node.keywords
        ]
        kwargs = self.dict(ast.Dict(keys, [k.value for k in node.keywords]))
        return self.emit(runtime.apply, function, args, kwargs)

    # Conditions

    def choose(
        self, test: ast.expr, then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        yes, no, after = self.new_block(), self.new_block(), self.new_block()
        self.branch(test, yes, no)
        for draft, content in ((yes, then), (no, otherwise)):
            self.enter(draft)
            content()
            self.jump(after)
        self.enter(after)

    def branch(self, test: ast.expr, yes: blocks.OpenBlock, no: blocks.OpenBlock) -> None:
        """Jump to one of two blocks, without making values of ``and``, ``or`` and ``not``."""
        match test:
            case ast.BoolOp():
                for operand in test.values[:-1]:
                    rest = self.new_block()
                    conjunction = isinstance(test.op, ast.And)
                    self.branch(operand, *((rest, no) if conjunction else (yes, rest)))
                    self.draft = self.seal(rest)
                self.branch(test.values[-1], yes, no)
            case ast.UnaryOp(op=ast.Not()):
                self.branch(test.operand, no, yes)
            case ast.Compare() if len(test.ops) > 1:
                for i, comparison in enumerate(self.compared(test), 1):
                    rest = yes if i == len(test.ops) else self.new_block()
                    self.split(comparison, rest, no)
                    if rest is not yes:
                        self.draft = self.seal(rest)
            case _:
                self.split(self.expression(test), yes, no)

    def split(self, condition: ir.Atom, yes: blocks.OpenBlock, no: blocks.OpenBlock) -> None:
        if yes is no:
            self.jump(yes)
        else:
            self.leave(ir.Branch(no.index, unless=condition), ir.Branch(yes.index))

    # Comprehensions, and what loops share with them

    def assign(self, target: ast.expr, value: ir.Atom) -> None:
        match target:
            case ast.Name():
                self.write(self.name_of(target.id), value)
            case ast.Tuple() | ast.List():
                self.unpack(target.elts, value)
            case ast.Subscript():
                array, index = self.expression(target.value), self.expression(target.slice)
                self.emit(runtime.exchange, array, index, value)
            case ast.Attribute(attr=name) if name in syntax.VIEWS:
                self.emit(runtime.exchange, self.expression(target), ir.literal(...), value)
            case ast.Attribute(attr="shape"):
                subject = "another shape of an array that other names may hold"
                self.fail(subject, "write x = x.reshape(shape)", target)
            case ast.Attribute():
                self.refuse(target, "")
            case _:
                self.fail("this assignment", "assign to names", target)

    def unpack(self, targets: Sequence[ast.expr], value: ir.Atom) -> None:
        starred = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if starred:
            sizes = starred[0], len(targets) - starred[0] - 1
            items = self.emit(runtime.unpacked_star, value, *map(ir.literal, sizes))
        else:
            items = self.emit(runtime.unpacked, value, ir.literal(len(targets)))
        parts = [
            self.emit(operator.getitem, items, ir.literal(i), name=name_in(target))
            for i, target in enumerate(targets)
        ]
        for target, part in zip(targets, parts, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, part)

    def iterable(self, node: ast.expr) -> ir.Atom:
        self.line: int = node.lineno
        items = self.call(node) if isinstance(node, ast.Call) else self.expression(node)
        return self.emit(runtime.items_of, items)

    def for_each(
        self, items: ir.Atom, target: ast.expr, body: Callable[[blocks.OpenBlock], None]
    ) -> blocks.OpenBlock:
        """Write a loop over items; ``body`` is given the block that goes on with the next one.

        Returns:
            The block where the items are through, to be entered.
        """
        counter = self.hide("index")
        self.write(counter, ir.literal(0))
        head, inside, step, outside = (self.new_block() for _ in range(4))
        self.jump(head)
        self.draft: blocks.OpenBlock | None = head
        index = self.read(counter, head)
        self.split(self.emit(operator.lt, index, self.emit(len, items)), inside, outside)
        self.enter(inside)
        index = self.read(counter, inside)
        self.assign(target, self.emit(operator.getitem, items, index, name=name_in(target)))
        body(step)
        self.jump(step)
        self.enter(step)
        if self.draft is not None:
            index = self.read(counter, self.draft)
            self.write(counter, self.emit(operator.add, index, ir.literal(1)))
        self.jump(head)
        self.seal(head)
        return outside

    def comprehension(
        self, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> ir.Variable:
        chain = self.hide("chain")
        self.write(chain, ir.literal(None))
        self.scope.renamed.append({})
        self.generate(chain, element, generators)
        self.scope.renamed.pop()
        return self.emit(runtime.collected, self.result(chain))

    def generate(
        self, chain: str, element: ast.expr, generators: Sequence[ast.comprehension]
    ) -> None:
        if not generators:
            item = self.expression(element)
            self.write(chain, self.emit(runtime.make_tuple, self.result(chain), item))
            return
        first = generators[0]
        if first.is_async:
            self.fail("an asynchronous comprehension", "write a loop", element)
        items = self.iterable(first.iter)
        for target in ast.walk(first.target):
            if isinstance(target, ast.Name):
                hidden = self.scope.renamed[-1][target.id] = self.hide(target.id)
                self.iterated.add(hidden)

        def body(step: blocks.OpenBlock) -> None:
            for condition in first.ifs:
                inside = self.new_block()
                self.branch(condition, inside, step)
                self.enter(inside)
            self.generate(chain, element, generators[1:])

        self.enter(self.for_each(items, first.target, body))


def overwriting(value: Any, node: ast.Call) -> str | None:
    """Return the option of a call of NumPy's or SciPy's by which it may change an argument."""
    options = runtime.overwriting_options(value)
    if not options:
        return None
    arguments = dict(zip(inspect.signature(value).parameters, node.args, strict=False))
    arguments.update({keyword.arg or "": keyword.value for keyword in node.keywords})
    for name, neutral in options.items():
        option = arguments.get(name, ast.Constant(neutral))
        if not isinstance(option, ast.Constant) or bool(option.value) is not neutral:
            return name
    return None


def with_out(value: Any, node: ast.Call) -> tuple[ast.Call, ast.expr] | None:
    """Split a call of NumPy's that writes its result to an array, by ``out`` or by position.

    Returns:
        The call that returns the result, and the array; None for another call.
    """
    if not runtime.is_of_numpy(value):
        return None
    names = [keyword.arg for keyword in node.keywords]
    if "out" in names:
        if len(node.args) > (runtime.place_of_out(value) or len(node.args)):
            return None  # there are two
        out = node.keywords[names.index("out")]
        rest = [keyword for keyword in node.keywords if keyword is not out]
        return ast.copy_location(ast.Call(node.func, node.args, rest), node), out.value
    is_single = not isinstance(value, np.ufunc) or value.nout == 1
    place = runtime.place_of_out(value) if is_single else None
    if syntax.is_spread(node) or len(node.args) - 1 != place:
        return None
    *args, last = node.args
    return ast.copy_location(ast.Call(node.func, args, node.keywords), node), last


def may_write(function: ir.Atom, node: ast.Call) -> bool:
    """Return whether a call that is not split may write its result to an array."""
    place = runtime.place_of_out(ir.value_of(function))
    if isinstance(node.func, ast.Attribute) and not isinstance(function, ir.Constant):
        place = runtime.place_of_out_of_method(node.func.attr)
    names = [keyword.arg for keyword in node.keywords]
    return place is not None and ("out" in names or place < len(node.args))


def name_in(target: ast.expr) -> str | None:
    """Return the name that a target is."""
    return target.id if isinstance(target, ast.Name) else None
