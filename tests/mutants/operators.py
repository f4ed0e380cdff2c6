"""The table of mistakes: what each matches in a syntax tree, and what it writes instead."""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Final

#: Yields the replacements of a node, each of which is another mistake.
Operator = Callable[[ast.AST], Iterator[ast.AST]]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Functions that do not mind the order of their operands.
_SYMMETRIC: Final = _names(
    "add mul max maximum min minimum and_ or_ xor eq ne logical_and logical_or equal isinstance "
    "issubclass add_tangents add_arrays gcd allclose promote_types"
)
#: Functions whose result is of another kind than their argument: a program without them fails at
#: once, or means the same.
_CONVERSIONS: Final = _names(
    "isinstance issubclass len type range zip tuple list set dict frozenset map iter next id "
    "repr str int bool float sum any all min max getattr hasattr enumerate hash print sorted "
    "cast append extend add update pop get setdefault join format"
)
_AXES: Final = _names("axis dim bdim batch_dim batch_axis in_axis out_axis dimension dst source")
_DTYPES: Final = {
    "float32": "float64",
    "float64": "float32",
    "int32": "int64",
    "int64": "int32",
    "uint32": "int32",
    "complex64": "complex128",
    "complex128": "complex64",
    "bool_": "int32",
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _called(node: ast.AST) -> str:
    """The name of the function that a call calls, without its module or object."""
    if not isinstance(node, ast.Call):
        return ""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            pass
    return ""


def _first(node: ast.Call) -> Iterator[ast.expr]:
    if node.args and not isinstance(node.args[0], ast.Starred):
        yield node.args[0]


def _is_text(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_text(left) or _is_text(right)
        case _:
            pass
    return False


def _is_zero(node: ast.AST) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", None)
    return name == "ZERO"


def sign(node: ast.AST) -> Iterator[ast.AST]:
    """Lose a minus."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand
        case ast.Call() if _called(node) in ("neg", "negative", "negate"):
            yield from _first(node)


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """Use another operation: a sum for a difference, ``//`` for ``%``."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC and not _is_text(
            node
        ):
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)


def swap(node: ast.AST) -> Iterator[ast.AST]:
    """Exchange two operands, or two results."""
    match node:
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(
            op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr | ast.BitXor
        ) and not _is_text(node):
            yield ast.BinOp(right, op, left)
        case ast.Call(args=[ast.Name() as x, ast.Name() as y, *rest]) if (
            _called(node) not in _SYMMETRIC and x.id != y.id
        ):
            yield ast.Call(node.func, [y, x, *rest], node.keywords)
        case ast.Return(value=ast.Tuple(elts=[x, y])) if ast.dump(x) != ast.dump(y):
            if not isinstance(x, ast.Starred) and not isinstance(y, ast.Starred):
                yield ast.Return(ast.Tuple([y, x], ast.Load()))


def scale(node: ast.AST) -> Iterator[ast.AST]:
    """Lose a factor or a divisor."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div()):
            yield left
        case ast.Call(args=[x, y]) if _called(node) in ("mul", "div", "multiply", "true_divide"):
            yield x
            yield y


def conjugate(node: ast.AST) -> Iterator[ast.AST]:
    """Lose a conjugate."""
    match node:
        case ast.Call(func=ast.Attribute(value=value), args=[]) if _called(node) in (
            "conj",
            "conjugate",
        ):
            yield value
        case ast.Call() if "conj" in _called(node):
            yield from _first(node)


def number(node: ast.AST) -> Iterator[ast.AST]:
    """Be wrong by one."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.Constant(value=float() as value):
            yield ast.Constant(value + 1.0)
        case _:
            pass


def batch_axis(node: ast.AST) -> Iterator[ast.AST]:
    """Take an axis to be the first."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()) | ast.Attribute(attr=name, ctx=ast.Load()) if (
            name in _AXES
        ):
            yield ast.Constant(0)


def order(node: ast.AST) -> Iterator[ast.AST]:
    """Go the other way round."""
    match node:
        case ast.Call(args=[x]) if _called(node) == "reversed":
            yield x
        case ast.Subscript(
            value=value, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp())
        ) if isinstance(node.ctx, ast.Load):
            yield value


def lost_call(node: ast.AST) -> Iterator[ast.AST]:
    """Take an operand as it is, where a function should be applied to it."""
    match node:
        case ast.Call(args=[ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript(), *_]):
            name = _called(node)
            if name and name not in _CONVERSIONS and name[0].islower() and "conj" not in name:
                yield from _first(node)
        case _:
            pass


def dtype(node: ast.AST) -> Iterator[ast.AST]:
    """Use another dtype, or forget a conversion or a weak type."""
    match node:
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in _DTYPES:
            yield ast.Attribute(value, _DTYPES[name], ast.Load())
        case ast.Call(func=ast.Attribute(value=value, attr="astype")):
            yield value
        case ast.Attribute(attr="weak_type", ctx=ast.Load()):
            yield ast.UnaryOp(ast.Not(), node)
        case _:
            pass


def zero(node: ast.AST) -> Iterator[ast.AST]:
    """Take no symbolic zero for one, or every value."""
    match node:
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[right]) if _is_zero(right):
            yield ast.Constant(False)
            yield ast.Constant(True)


def comparison(node: ast.AST) -> Iterator[ast.AST]:
    """Compare otherwise: ``<`` for ``<=``, ``is not`` for ``is``."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if not _is_zero(right):
            yield ast.Compare(left, [_COMPARISONS[type(op)]()], [right])


def condition(node: ast.AST) -> Iterator[ast.AST]:
    """Turn a condition round, or lose a part of it."""
    match node:
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for i in range(len(values)):
                rest = values[:i] + values[i + 1 :]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.If(test=ast.Name() | ast.Attribute() | ast.Call() as test):
            changed = deepcopy(node)
            changed.test = ast.UnaryOp(ast.Not(), test)
            yield changed
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case _:
            pass


def keyword(node: ast.AST) -> Iterator[ast.AST]:
    """Forget a keyword argument."""
    match node:
        case ast.Call(func=func, args=args, keywords=keywords) if _called(node) != "field":
            for i, given in enumerate(keywords):
                if given.arg not in ("strict", "default", "stacklevel", None):
                    yield ast.Call(func, args, keywords[:i] + keywords[i + 1 :])


def cache_key(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out a part of a cache's key."""

    def shorter(key: ast.Tuple) -> Iterator[ast.Tuple]:
        for i in range(len(key.elts)):
            yield ast.Tuple(key.elts[:i] + key.elts[i + 1 :], ast.Load())

    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Tuple() as key) if "key" in name:
            for short in shorter(key):
                yield ast.Assign(node.targets, short)
        case ast.Call(func=func, args=[ast.Tuple() as key, *rest]) if _called(node) in (
            "derive",
            "get",
            "setdefault",
            "hash",
        ):
            for short in shorter(key):
                yield ast.Call(func, [short, *rest], node.keywords)
        case ast.FunctionDef(name=name, body=[*rest, ast.Return(value=ast.Tuple() as key)]) if any(
            word in name for word in ("key", "digest", "signature")
        ):
            for short in shorter(key):
                changed = deepcopy(node)
                changed.body = [*rest, ast.Return(short)]
                yield changed


def effect(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out what a statement does."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.With(items=items, body=body) if all(i.optional_vars is None for i in items):
            yield ast.If(ast.Constant(True), body, [])


def check(node: ast.AST) -> Iterator[ast.AST]:
    """Raise no error."""
    match node:
        case ast.Raise(exc=ast.expr()):
            yield ast.Pass()
        case _:
            pass


def jump(node: ast.AST) -> Iterator[ast.AST]:
    """Go on where a loop should end or begin anew, or a function return early."""
    match node:
        case ast.Break() | ast.Continue():
            yield ast.Pass()
        case ast.If(body=[*_, ast.Return()], orelse=[]):
            changed = deepcopy(node)
            changed.test = ast.Constant(False)
            yield changed
        case _:
            pass


OPERATORS: Final[dict[str, Operator]] = {
    operator.__name__: operator
    for operator in (
        sign,
        arithmetic,
        swap,
        scale,
        conjugate,
        number,
        batch_axis,
        order,
        lost_call,
        dtype,
        zero,
        comparison,
        condition,
        keyword,
        cache_key,
        effect,
        check,
        jump,
    )
}


def replacements(node: ast.AST, operator: str) -> list[ast.AST]:
    """Return the results of a mistake for a node, which stays as it is."""
    made = OPERATORS[operator](deepcopy(node))
    return [ast.fix_missing_locations(ast.copy_location(x, node)) for x in made]
