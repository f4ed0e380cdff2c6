"""Expressions of numexpr's under capture, which are text: NumPy's functions evaluate them."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.source.capturing import ndarrays, runs

#: The functions of expressions that NumPy has under the same name, with the same meaning.
FUNCTIONS: Final = frozenset(
    {
        *("abs", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "ceil"),
        *("conj", "copysign", "cos", "cosh", "exp", "expm1", "floor", "fmod", "hypot", "imag"),
        *("isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "maximum", "minimum"),
        *("real", "round", "sign", "sin", "sinh", "sqrt", "sum", "prod", "tan", "tanh", "where"),
    }
)
#: Operators that are NumPy's for floats; those of integers differ.
_OPERATORS: Final = (
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd),
    *(ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.BitAnd, ast.BitOr, ast.Invert),
)
_SYNTAX: Final = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Name, ast.Load),
    *(ast.Constant, ast.keyword),
)


def evaluate(text: str, values: dict[str, Any]) -> Any:
    """Evaluate an expression of arrays.

    Raises:
        CaptureError: something in it may have another meaning than NumPy's.
    """
    tree = ast.parse(text.strip(), mode="eval")
    nodes = [*ast.walk(tree)]
    names = {node.id for node in nodes if isinstance(node, ast.Name)} - set(values)
    is_known = all(map(_is_known, nodes)) and names <= FUNCTIONS
    is_double = all(x.dtype.kind in "biu" or x.dtype in _DOUBLE for x in values.values())
    if not is_known or not is_double or any(_is_of_integers(node, values) for node in nodes):
        raise runs.refusal(f"numexpr.evaluate({text!r})", "Write the expression with NumPy.")
    scope = {"__builtins__": {}, **{name: getattr(np, name) for name in names}, **values}
    return eval(compile(tree, "<numexpr>", "eval"), scope)


#: In expressions of floats of other sizes, numbers have another type than NumPy's.
_DOUBLE: Final = (np.float64, np.complex128)


def _is_of_integers(node: ast.AST, values: dict[str, Any]) -> bool:
    """Return whether a node is a quotient or a power of integers, which are integers."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Div, ast.Pow)):
        return False
    return not isinstance(node.left, ast.Constant) and _is_integer(node, values)


def _is_integer(node: ast.AST, values: dict[str, Any]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in values and values[node.id].dtype.kind in "biu"
    if isinstance(node, ast.BinOp):
        return _is_integer(node.left, values) and _is_integer(node.right, values)
    if isinstance(node, ast.UnaryOp):
        return _is_integer(node.operand, values)
    return isinstance(node, ast.Constant) and type(node.value) is int


def _is_known(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) in (int, float, complex)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return False
    return isinstance(node, (*_OPERATORS, *_SYNTAX))


def _call(expression: Any, *args: Any, **options: Any) -> Any:
    """Call what numexpr has compiled an expression to, whose text is in its cache."""
    cache = vars(sys.modules["numexpr.necompiler"])["_numexpr_cache"].c
    texts = [key[0] for key, compiled in cache.items() if compiled is expression]
    if not texts:
        raise runs.refusal("an expression of numexpr's that is not in its cache")
    values = dict(zip(expression.input_names, args, strict=True))
    result = ndarrays.HANDLERS[np.asarray](evaluate(texts[0], values))
    out = options.get("out")
    if out is None:
        return result
    ndarrays.write(out, ..., result)
    return out


COUNTERPARTS: Final[dict[str, Callable[..., Any]]] = {"numexpr.NumExpr": _call}
