"""The kinds of a program's arrays and numbers, with the number of axes, as far as it is known.

They show that an element of an array is a number, whose cotangent is one.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import re
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from tinyjax.source import facts
from tinyjax.source.adjoint import kinds
from tinyjax.source.adjoint.aliases import WRITING
from tinyjax.source.adjoint.rules import arrays
from tinyjax.source.ir import analysis, program as ir, runtime, syntax

#: What gives its first argument, or a copy of it.
_SAME: Final = frozenset((runtime.defined, runtime.fitting, runtime.items_of, arrays.copied))
#: What gives one number of whatever it takes: neither several nor a truth value.
_NUMBERS: Final[dict[Any, kinds.Kind]] = {
    **{f: kinds.NUMBER for name, f in vars(math).items() if not re.match("_|is|modf|frexp", name)},
    **dict.fromkeys((len, int, ord), kinds.INTEGER),
    float: kinds.FLOAT,
}
_SCALARS: Final[dict[type | None, kinds.Kind]] = {int: kinds.INTEGER, float: kinds.FLOAT}
_OF_TYPE: Final = {**_SCALARS, slice: kinds.SLICE, type(...): kinds.SLICE}
#: The types of elements by the classes that are taken for dtypes.
_DTYPES: Final[dict[Any, type]] = {bool: bool, int: int, float: float} | dict.fromkeys(
    (np.float64, np.float32), float
)


def _of_constant(constant: ir.Constant) -> kinds.Kind:
    return _OF_TYPE.get(type(constant.value), kinds.ACTIVE)


def _join(x: kinds.Kind, y: kinds.Kind) -> kinds.Kind:
    if x is y:
        return x
    return kinds.NUMBER if x.numeric and y.numeric else kinds.ACTIVE


def _with_axes(axes: int, scalar: type) -> kinds.Kind:
    """Return the kind of an array, or of a number without axes."""
    return kinds.array(axes, scalar) if axes else _SCALARS.get(scalar, kinds.ACTIVE)


class Ranks:
    """The kinds of a program's variables, found from those of its arguments.

    A ``FLOAT`` is certainly a float, a ``NUMBER`` is a float or an integer, and a value of which
    nothing is known is ``ACTIVE``.
    """

    def __init__(self, program: ir.IR, arguments: tuple[kinds.Kind, ...]) -> None:
        self._calls: dict[ir.Atom, ir.Call] = program.calls
        pairs = zip(program.blocks[0].arguments, arguments, strict=True)
        known = {v: kind if kind.form in ("number", "array") else kinds.ACTIVE for v, kind in pairs}
        self._kinds: dict[ir.Atom, kinds.Kind] = dict(known.items())
        found = analysis.propagate(program, known, _of_constant, self._of_statement, _join)
        self._kinds = dict(found.items())

    def kind_of(self, atom: ir.Atom) -> kinds.Kind:
        """Return the kind of a value."""
        known = self._kinds.get(atom, kinds.ACTIVE)
        return _of_constant(atom) if isinstance(atom, ir.Constant) else known

    def is_real(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly a real number or an array of floats."""
        return self.kind_of(atom).is_real

    def is_array(self, atom: ir.Atom) -> bool:
        """Return whether a value is certainly an array of NumPy, of floats or integers."""
        return self.kind_of(atom).is_array

    def is_index(self, atom: ir.Atom) -> bool:
        """Return whether a value is an integer, or a slice or None."""
        return self.kind_of(atom).is_index or (isinstance(atom, ir.Constant) and atom.value is None)

    def is_basic(self, index: ir.Atom) -> bool:
        """Return whether an index is made of numbers and slices."""
        return all(part.numeric or part is kinds.SLICE for part in self._parts(index))

    def kinds_of(self, variables: Iterable[ir.Variable]) -> dict[ir.Variable, kinds.Kind]:
        """Return the kinds that variables have if they are active, where that is known."""
        pairs = [(v, self.kind_of(v)) for v in variables]
        return {
            v: kinds.FLOAT if kind is kinds.NUMBER else kind
            for v, kind in pairs
            if kind is not kinds.ACTIVE
        }

    def _of_statement(self, call: ir.Call, operands: list[kinds.Kind]) -> kinds.Kind:
        self._kinds.update(zip(call.atoms, operands, strict=True))
        args = operands[1 : 1 + len(call.args)]
        return self._of_call(ir.value_of(call.function), call, args)

    def _of_call(self, function: Any, call: ir.Call, args: list[kinds.Kind]) -> kinds.Kind:
        if function is None:
            return self._of_method(call, args)
        if function is getattr and len(args) == 2:
            return _of_attribute(args[0], ir.value_of(call.args[1]))
        if function is operator.getitem or function in WRITING:
            return self._of_item(args[0], call.args[1])
        if function in runtime.AUGMENTING:
            operation = ir.Call(call.args[0], call.args[1:])
            new = self._of_call(ir.value_of(call.args[0]), operation, args[1:])
            return args[1] if args[1].is_array else new
        if runtime.is_in(function, _SAME) or function is runtime.unpacked:
            return args[0] if function in _SAME or args[0].form == "shape" else kinds.ACTIVE
        if function in (range, slice):
            return kinds.RANGE if function is range else kinds.SLICE
        if runtime.is_in(function, facts.MAKERS):
            return self._of_maker(function, call, args)
        if facts.is_determined(function):
            return self._of_determined(function, call, args)
        if function in (min, max, round) and not call.keywords and all(x.numeric for x in args):
            is_chosen = function is not round and len(args) > 1
            return functools.reduce(_join, args) if is_chosen else kinds.NUMBER
        is_number = not call.keywords and runtime.is_in(function, _NUMBERS)
        return _NUMBERS[function] if is_number else kinds.ACTIVE

    def _of_method(self, call: ir.Call, args: list[kinds.Kind]) -> kinds.Kind:
        """Return the kind of the result of a method, that of the function of the same name."""
        method = self._calls.get(call.function)
        if method is None or not ir.is_attribute(method):
            return kinds.ACTIVE
        owner, name = method.args[0], ir.value_of(method.args[1])
        kind = self.kind_of(owner)
        function = getattr(np, name, None) if name in facts.FRESH_METHODS else None
        if kind.form != "array" or not facts.is_determined(function):
            return kinds.ACTIVE
        whole = ir.Call(ir.function(function), (owner, *call.args), call.keywords)
        return self._of_determined(function, whole, [kind, *args])

    def _of_determined(self, function: Any, call: ir.Call, args: list[kinds.Kind]) -> kinds.Kind:
        """Return the kind of what NumPy determines by the axes and the types of operands."""
        has_axis = call.names == ("axis",) and type(ir.value_of(call.keywords[0][1])) is int
        if call.keywords and not has_axis:
            return kinds.ACTIVE
        is_power = function in (operator.pow, np.power) and len(args) == 2
        if is_power and all(x.numeric for x in args):
            is_real = args[1].scalar is int or self._is_of_numpy(call.args[0])
            if not is_real:
                return kinds.ACTIVE
            return kinds.FLOAT if args[0] is kinds.FLOAT else kinds.NUMBER
        return _determined(function, tuple(args), has_axis=has_axis)

    def _is_of_numpy(self, atom: ir.Atom) -> bool:
        """Return whether a number is certainly one of NumPy's, whose roots are real or NaN."""
        call = self._calls.get(atom)
        if call is None:
            return False
        function = ir.value_of(call.function)
        if function is operator.getitem:
            return self.is_array(call.args[0])
        if runtime.is_in(function, syntax.ARITHMETIC):
            return any(self.is_array(x) or self._is_of_numpy(x) for x in call.args)
        return facts.is_determined(function)

    def _of_maker(self, function: Any, call: ir.Call, args: list[kinds.Kind]) -> kinds.Kind:
        """Return the kind of an array that is made of its shape."""
        axes: int | None = 2
        count = len([x for x in args if x.numeric])  # the arguments before a dtype
        if function not in facts.MATRICES:
            count = 1 + (function is np.full)
            axes = self._sizes(call.args[0])
        dtypes = [x for name, x in call.keywords if name == "dtype"]
        is_known = len(dtypes) == len(call.keywords)
        dtypes += call.args[count:]
        known = [float if self.kind_of(x) is kinds.DTYPE else ir.value_of(x) for x in dtypes]
        if function is np.full and not known:
            known = [args[1].scalar]
        is_known = is_known and len(known) <= 1 and all(runtime.is_in(x, _DTYPES) for x in known)
        if not axes or not is_known:
            return kinds.ACTIVE
        return kinds.array(axes, _DTYPES[known[0]] if known else float)

    def _sizes(self, atom: ir.Atom) -> int | None:
        """Return the number of sizes in a shape."""
        kind, parts = self.kind_of(atom), self._parts(atom)
        if kind.form == "shape":
            return kind.axes
        return len(parts) if all(part.numeric for part in parts) else None

    def _of_item(self, owner: kinds.Kind, index: ir.Atom) -> kinds.Kind:
        parts = self._parts(index)
        if owner.form in ("range", "shape"):
            return kinds.INTEGER if len(parts) == 1 and parts[0].numeric else kinds.ACTIVE
        if owner.form != "array" or owner.scalar is None:
            return kinds.ACTIVE
        if not self.is_basic(index):  # a vector of indices gives as many axes
            is_vector = len(parts) == 1 and parts[0].is_array and parts[0].axes == 1
            return owner if is_vector else kinds.ACTIVE
        axes = owner.axes - len(parts) + parts.count(kinds.SLICE)
        is_item = axes == 0 and kinds.SLICE not in parts  # an ellipsis leaves an array
        is_known = axes > 0 or is_item
        return _with_axes(axes, owner.scalar) if is_known else kinds.ACTIVE

    def _parts(self, atom: ir.Atom) -> list[kinds.Kind]:
        """Return the kinds of a tuple's items, or of the one part of another index."""
        return [*map(self.kind_of, ir.index_parts(atom, self._calls))]


def _of_attribute(owner: kinds.Kind, name: Any) -> kinds.Kind:
    if owner.form not in ("number", "array"):
        return kinds.ACTIVE
    if name in ("size", "ndim"):
        return kinds.INTEGER
    if name == "shape":
        return kinds.shape(owner.axes)
    if name in ("T", "real"):
        return owner
    is_of_floats = name == "dtype" and (owner is kinds.FLOAT or owner.is_real_array)
    return kinds.DTYPE if is_of_floats else kinds.ACTIVE


@functools.cache
def _determined(function: Any, args: tuple[kinds.Kind, ...], *, has_axis: bool) -> kinds.Kind:
    """Return the kind of a result from those of operands; one that is not known is any array."""
    results = [
        facts.result_of(function, operands, has_axis=has_axis)
        for operands in itertools.product(*map(_operands, args))
    ]
    kind = functools.reduce(_join, [kinds.ACTIVE if x is None else _with_axes(*x) for x in results])
    is_known = kind.numeric or all(x.form in ("number", "array") for x in args)
    return kind if is_known else kinds.ACTIVE


def _operands(kind: kinds.Kind) -> list[tuple[int, type]]:
    """Return what an operand of a kind may be: the number of axes, and the type of elements."""
    if kind.form not in ("number", "array"):
        return [(3, scalar) for scalar in (float, int, bool, complex)]
    return [(kind.axes, scalar) for scalar in ([kind.scalar] if kind.scalar else [int, float])]
