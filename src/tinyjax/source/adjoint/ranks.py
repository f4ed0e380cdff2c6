"""The ranks of a program's values: the number of axes of real arrays, as far as it is known.

A number has rank 0. The rank shows that an element of an array is a number, whose cotangent is one.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from tinyjax.source.adjoint.aliases import WRITING
from tinyjax.source.adjoint.kinds import Kind
from tinyjax.source.adjoint.rules import arrays, registry
from tinyjax.source.ir import analysis, program as ir, runtime, syntax

UNKNOWN: Final = -1
#: What a ``range`` has for a rank.
_RANGE: Final = -2
#: What a slice has, or an ellipsis.
_SLICE: Final = -3
#: What the dtype of an array of floats has.
_DTYPE: Final = -4
#: What the shape of a scalar has; that of a vector has one less, and so on.
_SHAPE: Final = -10
#: What is added to the rank of an array of integers, or of an integer; it has no derivative.
INTEGERS: Final = 20
#: What numbers have: of any kind, and integers.
_NUMBERS: Final = (0, INTEGERS)
#: What is added for a method that gives an array like its own, and for one that gives a number.
_LIKE: Final = 40
_REDUCING: Final = 60

_OF_KIND: Final[dict[Kind, int]] = {
    Kind.NUMBER: 0,
    Kind.FLOAT: 0,
    Kind.VECTOR: 1,
    Kind.MATRIX: 2,
    Kind.TENSOR: 3,
    Kind.INTEGERS: INTEGERS + 1,
    Kind.INTEGER_MATRIX: INTEGERS + 2,
}
_OF_ATTRIBUTE: Final[dict[str, int]] = {
    **dict.fromkeys(("copy", "clip", "round"), _LIKE),
    **dict.fromkeys(("max", "mean", "min", "prod", "std", "sum", "var"), _REDUCING),
}
_BROADCASTING: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
     operator.mod, operator.floordiv, builtins.abs, np.where, np.clip)
)  # fmt: skip
_COMPARING: Final = frozenset(syntax.COMPARISONS.values())
_PRODUCTS: Final = frozenset((operator.matmul, np.dot, np.matmul))
_REDUCTIONS: Final = frozenset((np.sum, np.max, np.min, np.mean, np.prod, np.vdot))
#: Functions that give the position of an element, and those that give an array like their own.
_INDICES: Final[frozenset[Any]] = frozenset((np.argmax, np.argmin))
_SAME: Final[frozenset[Any]] = frozenset((np.diff, np.ascontiguousarray, np.tril, np.triu))
_LIKENESSES: Final[frozenset[Any]] = frozenset(
    (np.zeros_like, np.ones_like, np.empty_like, np.copy, arrays.copied)
)
_MAKERS: Final[frozenset[Any]] = frozenset((np.zeros, np.ones, np.empty, np.ndarray))
_REAL: Final = (float, np.float64, np.float32)


def _of_constant(constant: ir.Constant) -> int:
    value = constant.value
    if isinstance(value, slice) or value is Ellipsis:
        return _SLICE
    return 0 if isinstance(value, (int, float)) and not isinstance(value, bool) else UNKNOWN


def _join(x: int, y: int) -> int:
    return x if x == y else UNKNOWN


def _of_atom(atom: ir.Atom) -> int:
    return _of_constant(atom) if isinstance(atom, ir.Constant) else UNKNOWN


class Ranks:
    """The ranks of a program's variables, found from the kinds of its arguments."""

    def __init__(self, program: ir.IR, arguments: tuple[Kind, ...]) -> None:
        self._calls = {s.variable: s.call for s in program.statements}
        self._tuples = {
            s.variable: s.call.args for s in program.statements if s.function is runtime.make_tuple
        }
        pairs = zip(program.blocks[0].arguments, arguments, strict=True)
        known = {v: _OF_KIND.get(kind, UNKNOWN) for v, kind in pairs}
        self._ranks: dict[ir.Atom, int] = dict(known.items())
        found = analysis.propagate(program, known, _of_constant, self._of_statement, _join)
        self._ranks = dict(found.items())

    def rank_of(self, atom: ir.Atom) -> int:
        """Return the rank of a value."""
        return self._ranks.get(atom, _of_atom(atom))

    def is_real(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly a real number or a real array of NumPy."""
        return 0 <= self.rank_of(atom) < INTEGERS

    def is_array(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly an array of NumPy, of real numbers or integers."""
        rank = self.rank_of(atom)
        return 0 < rank < _LIKE and rank % INTEGERS > 0

    def is_index(self, atom: ir.Atom) -> bool:
        """Return whether a value is an integer, or a slice or None."""
        if isinstance(atom, ir.Constant):
            return type(atom.value) in (int, slice, type(None)) or atom.value is Ellipsis
        return self.rank_of(atom) in (INTEGERS, _SLICE)

    def is_number(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly a number, a shape, a range or a slice."""
        rank = self.rank_of(atom)
        return rank in _NUMBERS or rank < UNKNOWN

    def has_derivative(self, variable: ir.Variable) -> bool:
        """Return whether, by its rank, a variable may be or hold an array with a derivative."""
        rank = self.rank_of(variable)
        return rank == UNKNOWN or 0 < rank < INTEGERS or rank >= _LIKE

    def kinds(self, variables: Iterable[ir.Variable]) -> dict[ir.Variable, Kind]:
        """Return the kinds of variables, where they follow from the ranks."""
        kinds: dict[ir.Variable, Kind] = {}
        for v in variables:
            rank = self.rank_of(v)
            if rank in _NUMBERS:
                kinds[v] = Kind.FLOAT if rank == 0 else Kind.NUMBER
            elif INTEGERS < rank < _LIKE or rank < UNKNOWN:
                kinds[v] = Kind.INERT
        return kinds

    def _of_statement(self, call: ir.Call, operands: list[int]) -> int:
        self._ranks.update(zip(call.atoms, operands, strict=True))
        rank = self._of_call(call, operands[1:], operands[0])
        return (
            rank
            if rank >= UNKNOWN or rank in (_RANGE, _SLICE, _DTYPE) or rank <= _SHAPE
            else UNKNOWN
        )

    def _of_call(self, call: ir.Call, args: list[int], method: int) -> int:
        function = ir.value_of(call.function)
        if function is None:
            return _of_method(method, call)
        if function is getattr and len(args) == 2:
            return _of_attribute(args[0], ir.value_of(call.args[1]))
        if function is operator.getitem or function in WRITING:
            return self._of_item(args[0], call.args[1])
        if function in (runtime.updated, runtime.augmented):
            return _broadcast(args[1:]) if args[1] in _NUMBERS else args[1]
        if function in (runtime.defined, runtime.fitting, runtime.items_of):
            return args[0]
        if function in (np.sum, np.max, np.min, np.mean) and call.keywords:
            axis = [x for name, x in call.keywords if name == "axis"]
            is_axis = len(args) == len(axis) == len(call.keywords) == 1
            known = is_axis and type(ir.value_of(axis[0])) is int and 0 < args[0] < INTEGERS
            return args[0] - 1 if known else UNKNOWN
        if function in (range, slice):
            return _RANGE if function is range else _SLICE
        if function is runtime.unpacked:
            return args[0] if args[0] <= _SHAPE else UNKNOWN
        if function in _LIKENESSES and not call.keywords:
            has_axes = len(args) == 1 and args[0] not in _NUMBERS
            return args[0] if has_axes else UNKNOWN  # what is made like a number is an array
        if function is np.full:
            is_real = len(args) == 2 and args[1] in _NUMBERS and not call.keywords
            return self._of_shape(args[:1], call) if is_real else UNKNOWN
        if function in _MAKERS:
            return self._of_shape(args, call)
        if function in (np.eye, np.identity) and self._is_of_floats(call):
            return 2
        if call.keywords:
            return UNKNOWN
        if function in (operator.pow, np.power) and args[0] in _NUMBERS and args[1] == 0:
            return 0 if self._is_scalar_array(call.args[0]) else _of_function(function, call, args)
        return _of_function(function, call, args)

    def _is_scalar_array(self, atom: ir.Atom) -> bool:
        """Return whether a number is certainly one of NumPy's, whose roots are real or NaN."""
        call = self._calls.get(atom) if isinstance(atom, ir.Variable) else None
        if call is None:
            return False
        function = ir.value_of(call.function)
        if function is operator.getitem:
            return 0 < self.rank_of(call.args[0]) < INTEGERS
        if runtime.is_in(function, _PRODUCTS) or runtime.is_in(function, _REDUCTIONS):
            return True
        if isinstance(function, np.ufunc):
            return True
        return function in _BROADCASTING and any(map(self._is_scalar_array, call.args))

    def _of_shape(self, args: list[int], call: ir.Call) -> int:
        """Return the rank of an array of a shape."""
        dtypes = [x for name, x in call.keywords if name == "dtype"]
        dtypes += call.args[1 : len(args)]
        types = [ir.value_of(x) for x in dtypes if self.rank_of(x) != _DTYPE]
        if len(call.keywords) > len(dtypes) or not all(kind in (*_REAL, int) for kind in types):
            return UNKNOWN
        if args[0] in _NUMBERS:
            rank = 1
        elif args[0] <= _SHAPE:
            rank = _SHAPE - args[0]
        else:
            sizes = self._parts(call.args[0])
            if sizes is None or any(size not in _NUMBERS for size in sizes):
                return UNKNOWN
            rank = len(sizes)
        if not rank:  # an array, not a number
            return UNKNOWN
        return rank + INTEGERS if int in types else rank

    def _is_of_floats(self, call: ir.Call) -> bool:
        """Return whether a call has no keyword arguments but a dtype of floats."""
        return all(
            name == "dtype" and (self.rank_of(x) == _DTYPE or ir.value_of(x) in _REAL)
            for name, x in call.keywords
        )

    def _of_item(self, rank: int, index: ir.Atom) -> int:
        """Return the rank of an item."""
        if rank == _RANGE or rank <= _SHAPE:
            return INTEGERS if self.rank_of(index) in _NUMBERS else UNKNOWN
        if not 0 < rank % INTEGERS <= 3 or rank >= _LIKE:
            return UNKNOWN
        parts = self._parts(index)
        if parts is None:
            parts = [self.rank_of(index)]
        if any(part not in (*_NUMBERS, _SLICE) for part in parts):
            vectors = [part for part in parts if part in (1, INTEGERS + 1)]
            return rank if len(parts) == len(vectors) == 1 else UNKNOWN
        count = len(parts) - parts.count(_SLICE)
        if rank % INTEGERS == count and _SLICE in parts:  # an ellipsis: an array without axes
            return UNKNOWN
        return rank - count if rank % INTEGERS >= count else UNKNOWN

    def is_basic(self, index: ir.Atom) -> bool:
        """Return whether an index is made of integers and slices."""
        parts = self._parts(index) or [self.rank_of(index)]
        return all(part in (*_NUMBERS, _SLICE) for part in parts)

    def _parts(self, atom: ir.Atom) -> list[int] | None:
        """Return the ranks of a tuple's items, if it is one that is known."""
        if isinstance(atom, ir.Constant):
            value = atom.value
            literals = [ir.literal(item) for item in value] if isinstance(value, tuple) else None
            return None if literals is None else [*map(_of_constant, literals)]
        items = self._tuples.get(atom)
        if items is None:
            return None
        return [*map(self.rank_of, items)]


def _of_method(method: int, call: ir.Call) -> int:
    """Return the rank of a method's result."""
    if call.args or call.keywords or method < _LIKE:
        return UNKNOWN
    return method - _LIKE if method < _REDUCING else 0


def _of_attribute(rank: int, name: Any) -> int:
    if rank < 0 or rank >= _LIKE:
        return UNKNOWN
    if name in ("size", "ndim"):
        return INTEGERS
    if name == "shape":
        return _SHAPE - rank % INTEGERS
    if name in ("T", "real"):
        return rank
    if name == "dtype":
        return _DTYPE if rank < INTEGERS else UNKNOWN
    return _OF_ATTRIBUTE[name] + rank % INTEGERS if name in _OF_ATTRIBUTE else UNKNOWN


def _broadcast(ranks: Sequence[int]) -> int:
    """Return the rank of an operation of several."""
    if not ranks or any(not 0 <= rank < _LIKE for rank in ranks):
        return UNKNOWN
    return max(rank % INTEGERS for rank in ranks)


def _of_function(function: Any, call: ir.Call, args: list[int]) -> int:
    if runtime.is_in(function, _PRODUCTS):
        known = all(1 <= rank <= 2 for rank in args) and len(args) == 2
        return sum(args) - 2 if known else UNKNOWN
    if runtime.is_in(function, _INDICES):
        return INTEGERS if len(args) == 1 else UNKNOWN
    if runtime.is_in(function, _SAME):
        return args[0] if len(args) == 1 and 0 < args[0] < _LIKE else UNKNOWN
    if function is np.searchsorted:
        return args[1] % INTEGERS + INTEGERS if len(args) == 2 and 0 <= args[1] < _LIKE else UNKNOWN
    if function is np.outer:
        return 2 if len(args) == 2 and all(0 <= rank < _LIKE for rank in args) else UNKNOWN
    if function is np.convolve:
        return 1 if len(args) == 2 and all(0 < rank < _LIKE for rank in args) else UNKNOWN
    if runtime.is_in(function, _REDUCTIONS):
        return 0 if args[:1] and len(args) == 1 + (function is np.vdot) else UNKNOWN
    if function in (operator.pow, np.power):
        is_whole = isinstance(ir.value_of(call.args[1]), int)
        return _broadcast(args) if is_whole or args[0] % INTEGERS > 0 else UNKNOWN
    if runtime.is_in(function, _COMPARING):
        return UNKNOWN
    if function in (len, int):
        return INTEGERS
    if function is float or getattr(function, "__module__", "") == "math":
        return 0
    if function in (min, max):
        return 0 if len(args) > 1 and all(rank in _NUMBERS for rank in args) else UNKNOWN
    rule = registry.rule_of(function)
    is_elementwise = isinstance(function, np.ufunc) and function.nout == 1 and rule is not None
    if is_elementwise and function.signature is None and rule is not None and rule.scalar:
        return _broadcast(args)
    return _broadcast(args) if runtime.is_in(function, _BROADCASTING) else UNKNOWN
