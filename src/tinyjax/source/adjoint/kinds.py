"""What is known of the values of a program before it runs: which have cotangents, which are floats.

A value is inert where it has no derivative: an integer, a string, the result of a comparison, and
whatever is made of such. Of an active one it is known whether it is a float, since then its
cotangent is one, and nothing was broadcast.
"""

from __future__ import annotations

import builtins
import math
import operator
from enum import IntEnum
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from tinyjax.source.adjoint.rules.registry import is_inert, rule_of
from tinyjax.source.ir import runtime
from tinyjax.source.ir.analysis import propagate
from tinyjax.source.ir.program import IR, Call, Constant, Variable, value_of


class Kind(IntEnum):
    """What is known of a value."""

    #: A number without a derivative.
    NUMBER = 0
    #: Anything without a derivative.
    INERT = 1
    #: A float with a derivative.
    FLOAT = 2
    #: Anything that may have a derivative.
    ACTIVE = 3

    @property
    def active(self) -> bool:
        """Whether the value has a cotangent."""
        return self >= Kind.FLOAT

    @property
    def numeric(self) -> bool:
        """Whether the value is a Python number or a NumPy scalar."""
        return self in (Kind.NUMBER, Kind.FLOAT)


def join(x: Kind, y: Kind) -> Kind:
    """What is known of a value that is one or the other."""
    if x is y:
        return x
    if x.numeric and y.numeric:
        return Kind.FLOAT
    return Kind.ACTIVE if x.active or y.active else Kind.INERT


#: An enumeration's members take longer to look up.
_ACTIVE: Final = Kind.ACTIVE
_INERT: Final = Kind.INERT
#: Asked first, since it is asked of every argument of every call.
_BY_TYPE: Final[dict[type, Kind]] = {
    float: Kind.FLOAT,
    complex: Kind.ACTIVE,
    int: Kind.NUMBER,
    **dict.fromkeys((bool, str, bytes, type(None), range, slice), Kind.INERT),
}
_INERT_TYPES: Final = (str, bytes, type, ModuleType, np.dtype, np.bool_)


def kind_of(value: Any) -> Kind:
    """What is to be known of an argument."""
    kind = type(value)
    if kind is np.ndarray:
        return _ACTIVE if value.dtype.kind in "fcO" else _INERT
    by_type = _BY_TYPE.get(kind)
    if by_type is not None:
        return by_type
    if kind is FunctionType:
        return _of_function(value)
    if isinstance(value, np.ndarray):
        return Kind.ACTIVE if value.dtype.kind in "fcO" else Kind.INERT
    if isinstance(value, np.floating):
        return Kind.FLOAT
    if isinstance(value, np.integer):
        return Kind.NUMBER
    if isinstance(value, _INERT_TYPES) or value is Ellipsis or value is runtime.UNDEFINED:
        return Kind.INERT
    if isinstance(value, BuiltinFunctionType):
        owner = value.__self__
        return Kind.ACTIVE if owner is not None and kind_of(owner).active else Kind.INERT
    if isinstance(value, np.ufunc):
        return Kind.INERT
    if isinstance(value, (tuple, list)):
        few = len(value) <= _FEW and not any(isinstance(item, (tuple, list)) for item in value)
        return Kind.INERT if few and not any(kind_of(i).active for i in value) else Kind.ACTIVE
    return Kind.ACTIVE


def _of_function(fun: FunctionType) -> Kind:
    """A function has a derivative where it closes over anything, or has defaults that have one."""
    if fun.__closure__ is None and fun.__defaults__ is None and fun.__kwdefaults__ is None:
        return _INERT
    defaults = (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values())
    if fun.__closure__ is not None or any(kind_of(value).active for value in defaults):
        return Kind.ACTIVE
    return Kind.INERT


#: Longer containers, and those of containers, are not looked through: a stack is a deep one.
_FEW: Final = 8


def literal_kind(value: Any) -> Kind:
    """The kind of a constant of a program, which has no derivative."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return Kind.NUMBER if number else Kind.INERT


_ARITHMETIC: Final = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos,
     operator.mod, operator.floordiv, builtins.abs)
)  # fmt: skip
#: What gives a float of numbers. Looked up by hash, since ``jnp.float64 == float``.
_FLOATS: Final = frozenset((float, math.log, min, max))


def infer(ir: IR, arguments: tuple[Kind, ...]) -> dict[Variable, Kind]:
    """Find the kind of every variable of a program from those of its arguments."""
    known = dict(zip(ir.blocks[0].arguments, arguments, strict=True))
    return propagate(ir, known, lambda constant: literal_kind(constant.value), _of_call, join)


def _of_call(call: Call, kinds: list[Kind]) -> Kind:
    """The kind of a result, from the kinds of the function and the arguments."""
    function = value_of(call.function)
    args = kinds[1:]
    if function is runtime.updated and isinstance(call.args[0], Constant):
        function, args = call.args[0].value, args[1:]
    if function is not None and is_inert(function):
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
            whole = isinstance(exponent, Constant) and isinstance(exponent.value, int)
            return Kind.FLOAT if whole else Kind.ACTIVE
        rule = rule_of(function)
        if (rule is not None and rule.scalar) or function in _FLOATS:
            return Kind.FLOAT
    return Kind.ACTIVE
