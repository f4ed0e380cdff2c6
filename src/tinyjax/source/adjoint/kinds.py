"""Kinds of values in a differentiated program: which have a derivative.

A value is inert where it has no derivative: an integer, a string, the result of a comparison, and
whatever is made of such. Of an active value we know whether it is a float. The cotangent of a float
is a float, and nothing was broadcast.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Container, Mapping
from enum import IntEnum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.source.adjoint.rules import registry
from tinyjax.source.ir import analysis, program as ir, runtime, syntax


class Kind(IntEnum):
    """The kind of a value: whether it has a derivative, and whether it is a number or an array."""

    #: A number without a derivative.
    NUMBER = 0
    #: Anything without a derivative.
    INERT = 1
    #: A float with a derivative.
    FLOAT = 2
    #: Anything that may have a derivative.
    ACTIVE = 3
    #: An array of real numbers with one axis.
    VECTOR = 4
    #: One with two axes.
    MATRIX = 5
    #: One with three axes.
    TENSOR = 6
    #: Any other array with a derivative.
    ARRAY = 7
    #: An array of one real number, without axes.
    POINT = 8
    #: An array of integers with one axis.
    INTEGERS = -1
    #: One with two axes.
    INTEGER_MATRIX = -2

    @property
    def active(self) -> bool:
        """Return whether the value has a cotangent."""
        return self >= Kind.FLOAT

    @property
    def is_array(self) -> bool:
        """Return whether the value is an array of NumPy."""
        return self >= Kind.VECTOR or self < Kind.NUMBER

    @property
    def numeric(self) -> bool:
        """Return whether the value is a Python number or a NumPy scalar."""
        return self in (Kind.NUMBER, Kind.FLOAT)


def join(x: Kind, y: Kind) -> Kind:
    """Return the kind of a value that is of one of two kinds."""
    if x is y:
        return x
    if x.numeric and y.numeric:
        return Kind.FLOAT
    return Kind.ACTIVE if x.active or y.active else Kind.INERT


#: An enumeration's members take longer to look up.
_REAL: Final = {0: Kind.POINT, 1: Kind.VECTOR, 2: Kind.MATRIX, 3: Kind.TENSOR}
_INTEGERS: Final = {1: Kind.INTEGERS, 2: Kind.INTEGER_MATRIX}
_INERT: Final = Kind.INERT
#: Looked up first, since every argument of every call is looked up.
_BY_TYPE: Final[dict[type, Kind]] = {
    float: Kind.FLOAT,
    complex: Kind.ACTIVE,
    int: Kind.NUMBER,
    **dict.fromkeys((bool, str, bytes, type(None), range, slice), Kind.INERT),
}
_INERT_TYPES: Final = (str, bytes, type, ModuleType, np.dtype, np.bool_, np.ufunc)


def kind_of(value: Any) -> Kind:
    """Return the kind of an argument."""
    kind = type(value)
    if kind is np.ndarray:
        return _of_array(value)
    by_type = _BY_TYPE.get(kind)
    if by_type is not None:
        return by_type
    if kind is FunctionType:
        return _of_function(value)
    if isinstance(value, np.ndarray):
        return _of_dtype(value.dtype)
    if isinstance(value, np.floating):
        return Kind.FLOAT
    if isinstance(value, np.integer):
        return Kind.NUMBER
    if isinstance(value, _INERT_TYPES) or value is Ellipsis or value is runtime.UNDEFINED:
        return Kind.INERT
    if isinstance(value, BuiltinFunctionType):
        return Kind.ACTIVE if kind_of(value.__self__).active else Kind.INERT
    if isinstance(value, (tuple, list)):
        few = len(value) <= _FEW and not any(isinstance(item, (tuple, list)) for item in value)
        return Kind.INERT if few and not any(kind_of(i).active for i in value) else Kind.ACTIVE
    return Kind.ACTIVE


def _of_array(array: np.ndarray[Any, Any]) -> Kind:
    match array.dtype.kind:
        case "f":
            return _REAL.get(array.ndim, Kind.ARRAY)
        case "c":
            return Kind.ARRAY
        case "i" | "u":
            return _INTEGERS.get(array.ndim, Kind.INERT)
        case _:
            return _of_dtype(array.dtype)


def _of_dtype(dtype: np.dtype[Any]) -> Kind:
    return Kind.ACTIVE if dtype.kind in "fcO" else Kind.INERT


def _of_function(fun: FunctionType) -> Kind:
    """Return the kind of a function: active if it has closed-over values or active defaults."""
    if not fun.__closure__ and fun.__defaults__ is None and fun.__kwdefaults__ is None:
        return _INERT
    defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
    if fun.__closure__ or any(kind_of(value).active for value in defaults):
        return Kind.ACTIVE
    return Kind.INERT


#: Longer containers, and those of containers, are not looked through: a stack is a deep one.
_FEW: Final = 8


def literal_kind(value: Any) -> Kind:
    """Return the kind of a constant of a program, which has no derivative."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Kind.NUMBER if number else Kind.INERT


def with_points(program: ir.IR, arguments: tuple[Kind, ...]) -> tuple[Kind, ...]:
    """Return the kinds of arguments: arrays without axes are floats where they only compute.

    Computing with such an array gives numbers; the array itself may be written to elsewhere.
    """
    if Kind.POINT not in arguments:
        return arguments
    others: set[ir.Variable] = {v for block in program.blocks for v in block.used_at_end}
    for statement in program.statements:
        function = statement.function
        is_ufunc = isinstance(function, np.ufunc) and not statement.call.keywords
        if not (is_ufunc or function in syntax.ARITHMETIC):
            others.update(statement.call.variables)
    pairs = zip(program.blocks[0].arguments, arguments, strict=True)
    return tuple(
        [
            kind if kind is not Kind.POINT else Kind.ARRAY if v in others else Kind.FLOAT
            for v, kind in pairs
        ]
    )


_ARITHMETIC: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
     operator.mod, operator.floordiv, builtins.abs)
)  # fmt: skip
#: What gives a float of numbers. Looked up by hash, since ``jnp.float64 == float``.
_FLOATS: Final = frozenset((float, math.log, min, max))


def infer(
    program: ir.IR,
    arguments: tuple[Kind, ...],
    active: Container[ir.Variable] = (),
    assumed: Mapping[ir.Variable, Kind] | None = None,
) -> dict[ir.Variable, Kind]:
    """Find the kind of every variable of a program from those of its arguments.

    Args:
        program: the program.
        arguments: the kinds of its arguments.
        active: variables that are active whatever they are computed of.
        assumed: the kinds of some variables, if they are active.
    """
    pairs = zip(program.blocks[0].arguments, arguments, strict=True)
    given = {v: Kind.INERT if kind < 0 else kind for v, kind in pairs}
    pinned = {s.call for s in program.statements if s.variable in active}
    assumed = assumed or {}
    by_call = {s.call: assumed[s.variable] for s in program.statements if s.variable in assumed}

    def of_call(call: ir.Call, kinds: list[Kind]) -> Kind:
        kind = _of_call(call, kinds)
        if call in pinned and not kind.active:
            kind = Kind.ACTIVE
        return by_call.get(call, kind) if kind.active else kind

    return analysis.propagate(program, given, lambda x: literal_kind(x.value), of_call, join)


def _of_call(call: ir.Call, kinds: list[Kind]) -> Kind:
    """Return the kind of a result, from the kinds of the function and the arguments."""
    function = ir.value_of(call.function)
    args = kinds[1:]
    if function in (runtime.updated, runtime.augmented) and isinstance(call.args[0], ir.Constant):
        function, args = call.args[0].value, args[1:]
    if function is not None and registry.is_inert(function):
        whole = function in runtime.WHOLE or (
            function in (operator.floordiv, round) and all(kind.numeric for kind in args)
        )
        return Kind.NUMBER if whole else Kind.INERT
    if function is runtime.captured:
        return Kind.ACTIVE
    if function is runtime.defined:
        return args[0]
    if function is operator.getitem and call.args and args[0] is Kind.INERT and not args[1].active:
        return Kind.INERT
    if not any(kind.active for kind in kinds):
        scalar = function in _ARITHMETIC and all(kind.numeric for kind in args)
        return Kind.NUMBER if scalar else Kind.INERT
    if all(kind.numeric for kind in args) and not call.keywords:
        if function in (operator.pow, math.pow, np.power):
            exponent = call.args[-1]
            whole = isinstance(exponent, ir.Constant) and isinstance(exponent.value, int)
            return Kind.FLOAT if whole else Kind.ACTIVE
        rule = registry.rule_of(function)
        if (rule is not None and rule.scalar) or function in _FLOATS:
            return Kind.FLOAT
    return Kind.ACTIVE
