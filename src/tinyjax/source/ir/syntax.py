"""Python's syntax in the front end: operators, and unsupported statements."""

from __future__ import annotations

import ast
import itertools
import operator
import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tinyjax.source.ir import runtime

_BINARY: Final[tuple[tuple[type[ast.operator], Callable[[Any, Any], Any], str], ...]] = (
    (ast.Add, operator.add, "+"),
    (ast.Sub, operator.sub, "-"),
    (ast.Mult, operator.mul, "*"),
    (ast.Div, operator.truediv, "/"),
    (ast.FloorDiv, operator.floordiv, "//"),
    (ast.Mod, operator.mod, "%"),
    (ast.Pow, operator.pow, "**"),
    (ast.MatMult, operator.matmul, "@"),
    (ast.LShift, operator.lshift, "<<"),
    (ast.RShift, operator.rshift, ">>"),
    (ast.BitAnd, operator.and_, "&"),
    (ast.BitOr, operator.or_, "|"),
    (ast.BitXor, operator.xor, "^"),
)
_COMPARISONS: Final[tuple[tuple[type[ast.cmpop], Callable[[Any, Any], Any], str], ...]] = (
    (ast.Lt, operator.lt, "<"),
    (ast.LtE, operator.le, "<="),
    (ast.Gt, operator.gt, ">"),
    (ast.GtE, operator.ge, ">="),
    (ast.Eq, operator.eq, "=="),
    (ast.NotEq, operator.ne, "!="),
    (ast.Is, operator.is_, "is"),
    (ast.IsNot, operator.is_not, "is not"),
    (ast.In, runtime.contains, "in"),
    (ast.NotIn, runtime.lacks, "not in"),
)
_UNARY: Final[tuple[tuple[type[ast.unaryop], Callable[[Any], Any], str], ...]] = (
    (ast.USub, operator.neg, "-"),
    (ast.UAdd, operator.pos, "+"),
    (ast.Invert, operator.invert, "~"),
    (ast.Not, operator.not_, "not "),
)
#: The functions that operators are calls of, by their nodes.
BINARY: Final = {node: function for node, function, _ in _BINARY}
COMPARISONS: Final = {node: function for node, function, _ in _COMPARISONS}
UNARY: Final = {node: function for node, function, _ in _UNARY}
#: The operators of these functions.
INFIX: Final = {function: text for _, function, text in (*_BINARY, *_COMPARISONS)}
PREFIX: Final = {function: text for _, function, text in _UNARY}
#: Operators that give numbers for numbers.
ARITHMETIC: Final = frozenset((*BINARY.values(), *UNARY.values(), abs))
#: The functions of augmented assignments, and the operators that these apply.
IN_PLACE: Final = {
    getattr(operator, f"i{function.__name__.strip('_')}"): function for function in BINARY.values()
}
#: All operators, those of comparisons included.
OPERATORS: Final = ARITHMETIC | {*COMPARISONS.values()}


def is_spread(node: ast.Call) -> bool:
    """Return whether a call has ``*args`` or ``**kwargs``."""
    starred = any(isinstance(arg, ast.Starred) for arg in node.args)
    return starred or any(keyword.arg is None for keyword in node.keywords)


#: Attributes of arrays that are views of them.
VIEWS: Final = frozenset(("T", "imag", "real"))
#: Attributes that hold all that an object does, or what a function closes over.
HOLDING: Final = ("__closure__", "__defaults__", "__dict__", "__kwdefaults__")
#: Methods that change what they belong to, whatever it is.
WRITING: Final = frozenset(
    ("__delattr__", "__delitem__", "__iadd__", "__iand__", "__imul__", "__ior__", "__isub__",
     "__ixor__", "__next__", "__setattr__", "__setitem__", "add", "append", "appendleft", "at",
     "byteswap", "clear", "difference_update", "discard", "extend", "extendleft", "fill",
     "insert", "intersection_update", "itemset", "move_to_end", "partition", "pop", "popitem",
     "popleft", "put", "remove", "resize", "reverse", "rotate", "send", "setdefault", "setfield",
     "setflags", "shuffle", "sort", "subtract", "symmetric_difference_update", "throw", "update")
)  # fmt: skip
#: What to write instead of those that return nothing.
MUTATORS: Final = {
    "append": "xs = [*xs, x]",
    "extend": "xs = [*xs, *ys]",
    "insert": "xs = [*xs[:i], x, *xs[i:]]",
    "remove": "a list comprehension",
    "sort": "xs = sorted(xs)",
    "reverse": "xs = xs[::-1]",
    "clear": "xs = []",
    "update": "d = {**d, **e}",
    "setdefault": "d = {**d, k: v}",
}
#: Calls that go through a generator to its end, so that a list does as well.
CONSUMERS: Final = frozenset(
    ("sum", "min", "max", "tuple", "list", "sorted", "prod", "fsum", "set", "any", "all", "dict")
)
#: What makes iterators, which can be gone through once only.
ITERATORS: Final = (
    zip, enumerate, reversed, map, filter, itertools.chain, itertools.pairwise,
    itertools.accumulate, itertools.starmap, itertools.product, itertools.combinations,
    itertools.permutations, itertools.zip_longest, itertools.islice,
)  # fmt: skip
#: What is not taken, and what to write instead.
UNSUPPORTED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Global: ("global", "pass the value in, and return what has become of it"),
    ast.Nonlocal: ("nonlocal", "pass the value in, and return what has become of it"),
    ast.Yield: ("yield", "return a list"),
    ast.YieldFrom: ("yield from", "return a list"),
    ast.Await: ("await", "await outside the function that is differentiated"),
    ast.AsyncFunctionDef: ("async def", "define a regular function"),
    ast.AsyncFor: ("async for", "loop outside the function that is differentiated"),
    ast.AsyncWith: ("async with", "enter outside the function that is differentiated"),
    ast.ClassDef: ("a class defined in a function", "define the class in the module"),
    ast.ImportFrom: (
        "an import of what is no module, class or function",
        "name it in its module: module.name",
    ),
    ast.Delete: ("del", "leave the variable as it is"),
    ast.Match: ("match", "write if and elif"),
    ast.TryStar: ("except*", "test for the case with if"),
    ast.Attribute: ("an assignment to an attribute", "build a new object (attrs.evolve)"),
    ast.GeneratorExp: ("a generator expression here", "write a list comprehension: [...]"),
}
#: Functions that are not taken, and what to write instead.
REFUSED: Final[dict[Any, str]] = {
    **dict.fromkeys(
        (np.put, np.place, np.putmask),
        "assign to items: a[index] = value",
    ),
    random.shuffle: "index with a permutation",
    exec: "write the statements",
    eval: "write the expression",
    setattr: "build a new object (attrs.evolve)",
    delattr: "build a new object",
    globals: "name the variable",
    locals: "name the variable",
    vars: "name the attribute",
    super: "name the class: Base.method(self, ...)",
    iter: "loop over the sequence itself",
    next: "index the sequence",
}
